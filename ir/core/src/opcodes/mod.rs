//! The table of IR operations: for each its documentation, its name in the text format, its group and its typing rule.

mod conditions;
mod memory;

use crate::types::Scalar;

pub use conditions::{AtomicOp, FloatCC, IntCC};
pub use memory::{MemAccess, Space};

/// Topic of an operation; the same names recur in the frontends' `lift`, in `backend::lower` and the tests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Group {
    /// Integer arithmetic and logic.
    Int,
    /// Float arithmetic and comparison.
    Float,
    /// Conversion between element types.
    Convert,
    /// Masks and cross-lane operations.
    Mask,
    /// Loads and stores.
    Memory,
    /// Atomics and locks.
    Atomic,
    /// Slots and calls.
    Control,
}

impl Group {
    /// Name as in file names and statistics.
    pub fn name(self) -> &'static str {
        match self {
            Group::Int => "int",
            Group::Float => "float",
            Group::Convert => "convert",
            Group::Mask => "mask",
            Group::Memory => "memory",
            Group::Atomic => "atomic",
            Group::Control => "control",
        }
    }
}

/// How far away the lanes are that a lane's result of an operation depends on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reach {
    /// The lane itself.
    Lane,
    /// The four lanes of its quad. A region can hold the operation if each chunk is of whole quads.
    Quad,
    /// Any lane of the warp. A region can hold the operation if it runs the whole warp at once.
    Warp,
}

/// Operand and result typing of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sig {
    /// No operands; the result's type is free (constants).
    Const,
    /// `n` operands of one type, the same result; the type is one of the list.
    Same(u8, &'static [Scalar]),
    /// Operands of the given types and a fixed result.
    Fixed(&'static [Scalar], Scalar),
    /// Two operands of one type of the list, result is a truth value.
    Compare(&'static [Scalar]),
    /// Truth value, then two operands of one type: the result's.
    Select,
    /// One operand of type one, the result of type two; any pair of the list.
    Convert(&'static [(Scalar, Scalar)]),
    /// Checked by its own rule in the verifier.
    Special,
}

use Scalar::{F32, F64, I1, I32, I64};
const INT: &[Scalar] = &[I32, I64];
const LOGIC: &[Scalar] = &[I1, I32, I64];
const FLOAT: &[Scalar] = &[F32, F64];
const ANY: &[Scalar] = &[I1, I32, I64, F32, F64];
const LANE: &[Scalar] = &[I32, I64, F32, F64];

macro_rules! opcodes {
    ($($(#[doc = $doc:literal])* $variant:ident, $name:literal, $group:ident, $sig:expr;)*) => {
        /// An IR operation. The semantics stand on each variant; `docs/ir.md` is the reference.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Opcode {
            $($(#[doc = $doc])* $variant,)*
        }

        impl Opcode {
            /// Every operation.
            pub const ALL: &'static [Opcode] = &[$(Opcode::$variant,)*];

            /// Name in the text format.
            pub fn name(self) -> &'static str {
                match self { $(Opcode::$variant => $name,)* }
            }

            /// What it does, as documented here.
            pub fn doc(self) -> &'static str {
                match self { $(Opcode::$variant => concat!($($doc, "\n"),*),)* }
            }

            /// Topic.
            pub fn group(self) -> Group {
                match self { $(Opcode::$variant => Group::$group,)* }
            }

            /// Typing rule.
            pub fn sig(self) -> Sig {
                match self { $(Opcode::$variant => $sig,)* }
            }
        }
    };
}

opcodes! {
    /// A constant; the bits are in the immediate.
    Const, "const", Int, Sig::Const;
    /// Sum, modulo the width.
    Iadd, "iadd", Int, Sig::Same(2, INT);
    /// Difference, modulo the width.
    Isub, "isub", Int, Sig::Same(2, INT);
    /// Product, modulo the width.
    Imul, "imul", Int, Sig::Same(2, INT);
    /// High half of the unsigned product.
    Umulhi, "umulhi", Int, Sig::Same(2, INT);
    /// High half of the signed product.
    Smulhi, "smulhi", Int, Sig::Same(2, INT);
    /// Bitwise and; of masks too.
    Iand, "iand", Int, Sig::Same(2, LOGIC);
    /// Bitwise or; of masks too.
    Ior, "ior", Int, Sig::Same(2, LOGIC);
    /// Bitwise exclusive or; of masks too.
    Ixor, "ixor", Int, Sig::Same(2, LOGIC);
    /// Bitwise complement; of masks too.
    Inot, "inot", Int, Sig::Same(1, LOGIC);
    /// Two's complement negation.
    Ineg, "ineg", Int, Sig::Same(1, INT);
    /// Shift left by the second operand modulo the width.
    Ishl, "ishl", Int, Sig::Same(2, INT);
    /// Logical shift right by the second operand modulo the width.
    Ushr, "ushr", Int, Sig::Same(2, INT);
    /// Arithmetic shift right by the second operand modulo the width.
    Sshr, "sshr", Int, Sig::Same(2, INT);
    /// Rotate left by the second operand modulo the width.
    Rotl, "rotl", Int, Sig::Same(2, INT);
    /// Unsigned minimum.
    Umin, "umin", Int, Sig::Same(2, INT);
    /// Unsigned maximum.
    Umax, "umax", Int, Sig::Same(2, INT);
    /// Signed minimum.
    Smin, "smin", Int, Sig::Same(2, INT);
    /// Signed maximum.
    Smax, "smax", Int, Sig::Same(2, INT);
    /// Set bits.
    Popcnt, "popcnt", Int, Sig::Same(1, INT);
    /// Leading zeros; the width for 0.
    Clz, "clz", Int, Sig::Same(1, INT);
    /// Trailing zeros; the width for 0.
    Ctz, "ctz", Int, Sig::Same(1, INT);
    /// Bits in reverse order.
    Bitrev, "bitrev", Int, Sig::Same(1, INT);
    /// Bytes in reverse order.
    Bswap, "bswap", Int, Sig::Same(1, INT);
    /// Integer comparison; the condition is in the immediate.
    Icmp, "icmp", Int, Sig::Compare(INT);
    /// Entry of a static table of 32-bit words: operand index, taken modulo the number of entries.
    Lookup, "lookup", Int, Sig::Fixed(&[I32], I32);
    /// Second operand where the first (a truth value) holds, else the third.
    Select, "select", Mask, Sig::Select;

    /// IEEE sum, nearest even. The bits of a NaN result are unspecified until [`Opcode::Fcanon`].
    /// With `ftz`, denormal operands and results count as zeros of their sign; a result is denormal if it is
    /// after rounding to 24 bits with unbounded exponent.
    Fadd, "fadd", Float, Sig::Same(2, FLOAT);
    /// IEEE difference, as [`Opcode::Fadd`].
    Fsub, "fsub", Float, Sig::Same(2, FLOAT);
    /// IEEE product, as [`Opcode::Fadd`].
    Fmul, "fmul", Float, Sig::Same(2, FLOAT);
    /// IEEE quotient, as [`Opcode::Fadd`].
    Fdiv, "fdiv", Float, Sig::Same(2, FLOAT);
    /// IEEE square root, as [`Opcode::Fadd`].
    Fsqrt, "fsqrt", Float, Sig::Same(1, FLOAT);
    /// Fused multiply-add, as [`Opcode::Fadd`].
    Fma, "fma", Float, Sig::Same(3, FLOAT);
    /// Multiply-add whose product is truncated to 24 bits with unbounded exponent, then added with one rounding
    /// to nearest; operands and result flush as with `ftz`. With a zero addend (after flushing) the product is rounded to
    /// nearest instead. (docs/hardware/tesla.md section 6.)
    FmadTrunc, "fmad_trunc", Float, Sig::Same(3, &[F32]);
    /// Sign bit flipped, NaN or not; never flushes.
    Fneg, "fneg", Float, Sig::Same(1, FLOAT);
    /// Sign bit cleared, NaN or not; never flushes.
    Fabs, "fabs", Float, Sig::Same(1, FLOAT);
    /// Round to an integer towards minus infinity.
    Ffloor, "ffloor", Float, Sig::Same(1, FLOAT);
    /// Round to an integer towards plus infinity.
    Fceil, "fceil", Float, Sig::Same(1, FLOAT);
    /// Round to an integer towards zero.
    Ftrunc, "ftrunc", Float, Sig::Same(1, FLOAT);
    /// Round to the nearest integer, ties to even.
    Fnearest, "fnearest", Float, Sig::Same(1, FLOAT);
    /// The lesser of two numbers, the other operand where one is a NaN. -0 is below +0, denormals are what they are. Where
    /// both are NaNs the result is one, whose bits are unspecified.
    Fmin, "fmin", Float, Sig::Same(2, FLOAT);
    /// The greater of two numbers, as [`Opcode::Fmin`].
    Fmax, "fmax", Float, Sig::Same(2, FLOAT);
    /// Whether one of the two operands is a signalling NaN: one whose highest fraction bit is 0.
    Fsignals, "fsignals", Float, Sig::Compare(FLOAT);
    /// Float comparison; the condition is in the immediate. With `ftz`, denormals count as zeros.
    Fcmp, "fcmp", Float, Sig::Compare(FLOAT);
    /// A denormal becomes the zero of its sign; anything else, NaN included, keeps its bits.
    Fflush, "fflush", Float, Sig::Same(1, FLOAT);
    /// A NaN becomes the bits of the immediate; anything else keeps its bits.
    Fcanon, "fcanon", Float, Sig::Same(1, FLOAT);

    /// Zero extension from 32 to 64 bits.
    Zext, "zext", Convert, Sig::Fixed(&[I32], I64);
    /// Sign extension from 32 to 64 bits.
    Sext, "sext", Convert, Sig::Fixed(&[I32], I64);
    /// Low 32 of 64 bits.
    Trunc, "trunc", Convert, Sig::Fixed(&[I64], I32);
    /// 0 or all ones of a truth value.
    Bmask, "bmask", Convert, Sig::Convert(&[(I1, I32), (I1, I64)]);
    /// Same bits, other type.
    Bitcast, "bitcast", Convert, Sig::Convert(&[(I32, F32), (F32, I32), (I64, F64), (F64, I64)]);
    /// Truncated signed integer; NaN gives 0, values out of range clamp.
    FcvtToSint, "fcvt_to_sint", Convert, Sig::Convert(&[(F32, I32), (F32, I64), (F64, I32), (F64, I64)]);
    /// Truncated unsigned integer; NaN and negatives give 0, values out of range clamp.
    FcvtToUint, "fcvt_to_uint", Convert, Sig::Convert(&[(F32, I32), (F32, I64), (F64, I32), (F64, I64)]);
    /// Signed integer to float, nearest even.
    FcvtFromSint, "fcvt_from_sint", Convert, Sig::Convert(&[(I32, F32), (I64, F32), (I32, F64), (I64, F64)]);
    /// Unsigned integer to float, nearest even.
    FcvtFromUint, "fcvt_from_uint", Convert, Sig::Convert(&[(I32, F32), (I64, F32), (I32, F64), (I64, F64)]);
    /// f32 to f64, exact; NaN bits unspecified; never flushes.
    Fpromote, "fpromote", Convert, Sig::Fixed(&[F32], F64);
    /// f64 to f32, nearest even; NaN bits unspecified; with `ftz` the result flushes.
    Fdemote, "fdemote", Convert, Sig::Fixed(&[F64], F32);
    /// Binary16 in the low half of an i32 to f32, exact, denormals kept; NaN bits unspecified.
    F16ToF32, "f16_to_f32", Convert, Sig::Fixed(&[I32], F32);
    /// f32 to binary16 in an i32 (high half 0), nearest even, denormals made; NaN gives 0x7e00 | sign.
    F32ToF16, "f32_to_f16", Convert, Sig::Fixed(&[F32], I32);

    /// Truth in a uniform value: whether any active lane's operand holds. Mask form: of the mask given.
    Any, "any", Mask, Sig::Special;
    /// Broadcasts: in each lane, whether the operand holds in any active lane. The result may be uniform. Cross-lane.
    VoteAny, "vote_any", Mask, Sig::Fixed(&[I1], I1);
    /// In each lane, whether the operand holds in all active lanes. The result may be uniform. Cross-lane.
    VoteAll, "vote_all", Mask, Sig::Fixed(&[I1], I1);
    /// One bit a lane: the active lanes where the operand holds. The result may be uniform. Cross-lane.
    Ballot, "ballot", Mask, Sig::Fixed(&[I1], I64);
    /// The operand's value in lane `imm` (0 to 3) of the own quad, active or not. Cross-lane.
    QuadLane, "quad_lane", Mask, Sig::Same(1, LANE);
    /// The first operand's value in the lane of index (second operand modulo the warp's lanes), active or not.
    /// The result may be uniform if the index is. Cross-lane.
    Shuffle, "shuffle", Mask, Sig::Special;

    /// Loads `mem.bytes` from `address + mem.offset`: operands address, then optionally the guard. Without the
    /// guard a lane reads nothing and its result is unspecified. Narrow values extend to i32.
    Load, "load", Memory, Sig::Special;
    /// Stores: operands address, value, then optionally the guard. Of lanes that store to one address the
    /// highest wins.
    Store, "store", Memory, Sig::Special;
    /// Atomic read-modify-write, lowest lane first; gives the old value: operands address, value, (for `cas`, `fcas`,
    /// `mskor` and `wrap`: new value), then optionally the guard. For `cas` the second operand is the value compared
    /// with. Cross-lane (order).
    Atomic, "atomic", Atomic, Sig::Special;
    /// Tries to take the lock of the word of shared or global memory at the address: operands address, optionally the guard; gives success.
    /// Cross-lane (order).
    Lock, "lock", Atomic, Sig::Special;
    /// Stores to a word of shared or global memory and frees its lock: operands address, value, optionally the guard. Cross-lane
    /// (order).
    UnlockStore, "unlock_store", Atomic, Sig::Special;
    /// A load that some lanes must not do: operands address, truth value, then optionally the guard. Where that holds
    /// in a lane that takes part it is a `memory` fault of the lowest one of such, or of one below that is not aligned.
    DenyLoad, "deny_load", Memory, Sig::Special;
    /// As `deny_load`, of a store or an atomic.
    DenyStore, "deny_store", Memory, Sig::Special;
    /// Translates the 64-bit guest address of a load for compiled code: operands address, then optionally the guard. The
    /// result is the address under which a `load` of the same width finds the memory. A lane that may not load is a `memory`
    /// fault, as the load would be. Lanes that take no part get an unspecified result. The interpreter gives the address as it is,
    /// because its memory takes guest addresses. See [`crate::passes::translate`].
    TranslateLoad, "translate_load", Memory, Sig::Special;
    /// As `translate_load`, of a store: operands address, value, then optionally the guard. The value is stored here where an
    /// access lies in two pieces of memory; the result is then a place that the `store` may write.
    TranslateStore, "translate_store", Memory, Sig::Special;
    /// Asks, before a load at a 64-bit address, whether the lanes may make it: operands address, then optionally the guard. A lane that may
    /// not is a `memory` fault, as the load would be. The load behind it has the same address and finds its memory there. The interpreter
    /// does nothing, because its memory asks by itself. See [`crate::passes::permit`].
    PermitLoad, "permit_load", Memory, Sig::Special;
    /// As `permit_load`, of a store: operands address, value, then optionally the guard. Where a lane may not store, the lanes below it
    /// have, and so have all of the stores whose permits stand directly in front of this one.
    PermitStore, "permit_store", Memory, Sig::Special;

    /// A hint that memory around 32-bit offsets in global memory is going to be read: of each four lanes those of the first and of the last.
    /// Nothing happens where there is no memory, and nothing depends on it.
    Prefetch, "prefetch", Memory, Sig::Special;

    /// Reads a slot.
    SlotGet, "slot.get", Control, Sig::Special;
    /// Writes a slot for the active lanes: operand value (mask form: value, mask; without the mask all that entered).
    SlotSet, "slot.set", Control, Sig::Special;
    /// Calls a registered pure function.
    CallPure, "call.pure", Control, Sig::Special;
    /// Calls a device ([`crate::device`]) for the active lanes: operand the guard, if there is one. Arguments and results are in
    /// local memory. Cross-lane (order).
    CallDevice, "call.device", Control, Sig::Special;
    /// A counter that never decreases within a warp. Cross-lane (order).
    Clock, "clock", Control, Sig::Fixed(&[], I32);
    /// The mask of the lanes that execute this (mask form: those that entered the region). The mask of the block in SPMD form.
    ActiveMask, "active", Mask, Sig::Fixed(&[], I1);
    /// In each lane, the bit of that lane in a uniform value: the inverse of `ballot`.
    LaneBit, "lane_bit", Mask, Sig::Fixed(&[I64], I1);
    /// Counts guest instructions, those of an entry of [`crate::Function::counted_lanes`], for the lanes where the
    /// operand holds. No effect but on statistics.
    CountLanes, "count_lanes", Control, Sig::Special;
    /// A uniform value as a varying one.
    Splat, "splat", Mask, Sig::Same(1, ANY);

    /// Mask form: one bit for each lane that runs together (a chunk, or the warp), those that entered and where the operand holds.
    /// Which bit is whose is known to the next three only. Cross-lane.
    ChunkBallot, "chunk_ballot", Mask, Sig::Fixed(&[I1], I64);
    /// Mask form: the lanes of a uniform value's bits, one or more of those of a `chunk_ballot`.
    ChunkMask, "chunk_mask", Mask, Sig::Fixed(&[I64], I1);
    /// Mask form: the operand, put where `chunk_value` finds a single lane's.
    ChunkSpread, "chunk_spread", Mask, Sig::Same(1, LANE);
    /// Mask form: the first operand, a `chunk_spread`, in the lane that the second one is the number of: that of its
    /// bit in `chunk_ballot`. Uniform. Cross-lane.
    ChunkValue, "chunk_value", Mask, Sig::Special;
}

impl Opcode {
    /// How far away the lanes are that a lane's result depends on.
    pub fn reach(self) -> Reach {
        use Opcode::*;
        match self {
            QuadLane => Reach::Quad,
            VoteAny | VoteAll | Ballot | Shuffle | ChunkBallot | ChunkValue => Reach::Warp,
            _ => Reach::Lane,
        }
    }

    /// Whether lanes execute it in an order that can be observed: the lowest lane first.
    pub fn has_lane_order(self) -> bool {
        use Opcode::*;
        matches!(self, Atomic | Lock | UnlockStore | Clock | CallDevice)
    }

    /// Whether the operation looks at other lanes or has an order between lanes, so that it stands in a block of
    /// its own in SPMD form and ends a lane region (atomics only where the order would be another).
    pub fn is_cross_lane(self) -> bool {
        self.reach() != Reach::Lane || self.has_lane_order()
    }

    /// Whether the operation does something besides giving its result, or gives another result each time.
    pub fn has_effect(self) -> bool {
        use Opcode::*;
        matches!(
            self,
            Store
                | Atomic
                | Lock
                | UnlockStore
                | DenyLoad
                | DenyStore
                | SlotSet
                | Clock
                | CountLanes
                | CallDevice
                | Prefetch
        ) || self.is_translation()
            || self.is_permit()
    }

    /// Whether the operation translates an address ([`crate::passes::translate`]).
    pub fn is_translation(self) -> bool {
        matches!(self, Opcode::TranslateLoad | Opcode::TranslateStore)
    }

    /// Whether the operation asks whether an access may be made ([`crate::passes::permit`]).
    pub fn is_permit(self) -> bool {
        matches!(self, Opcode::PermitLoad | Opcode::PermitStore)
    }

    /// Whether the operation reads memory or slots: not movable across effects.
    pub fn reads_state(self) -> bool {
        matches!(self, Opcode::Load | Opcode::SlotGet)
    }

    /// Whether the result depends on the operands only.
    pub fn is_pure(self) -> bool {
        !self.has_effect() && !self.reads_state() && !self.is_cross_lane() && self != Opcode::Any
    }

    /// Whether it is a cross-lane operation that a region can hold if it runs all lanes of the warp at once.
    pub fn is_in_whole_warp(self) -> bool {
        self.reach() != Reach::Lane && !matches!(self, Opcode::ChunkBallot | Opcode::ChunkValue)
    }

    /// Whether the result differs from lane to lane even if no operand does.
    pub fn differs_by_lane(self) -> bool {
        matches!(self, Opcode::ActiveMask | Opcode::LaneBit | Opcode::ChunkMask)
    }

    /// Whether exchanging the first two operands keeps the result.
    pub fn is_commutative(self) -> bool {
        use Opcode::*;
        matches!(
            self,
            Iadd | Imul
                | Umulhi
                | Smulhi
                | Iand
                | Ior
                | Ixor
                | Umin
                | Umax
                | Smin
                | Smax
                | Fadd
                | Fmul
                | Fma
                | FmadTrunc
                | Fmin
                | Fmax
                | Fsignals
        )
    }

    /// The operation called `name`.
    pub fn parse(name: &str) -> Option<Opcode> {
        Opcode::ALL.iter().copied().find(|o| o.name() == name)
    }
}

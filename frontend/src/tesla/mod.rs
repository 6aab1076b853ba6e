//! NVIDIA Tesla (G80 to GT218): table, decoder, disassembler and assembler.
//!
//! [`table`] holds one row per instruction form, in the words of the listing; the decoder (`decode`), the
//! printer (`disasm`) and the assembler (`asm`) all walk the same rows. The decoded form, [`Inst`], names
//! everything an instruction does, so that the lifter never looks at bits.

pub mod abi;
pub mod asm;
mod asm_field;
pub mod chip;
pub mod decode;
mod dialect;
pub mod disasm;
mod field;
pub mod front_end;
pub mod lift;
pub mod numeric;
mod operand;
pub mod program_state;
mod rows;
mod slots;
mod support;
pub mod table;

pub use crate::envydis::{Assembly, AtomOp, DecodeError, LogicOp, QuadLane, QuadOp, Rounding, Type};
pub use crate::isa::Stage;
pub use asm::assemble;
pub use chip::{Chip, Features, STAGES, Target};
pub use decode::{decode, decode_at, decode_word};
pub use disasm::{ListingLine, disasm, listing};
pub use operand::{AddOp, Address, Mods, Operand, RegWidth, Src};
pub use support::support_table;
pub use table::Row;

use std::fmt;

/// Instruction word class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Form {
    /// One word.
    Short,
    /// Two words that hold a 32-bit immediate.
    Imm,
    /// Two words: predicate, `$c` result and three sources.
    Long,
    /// One word of control flow.
    ShortControl,
    /// Two words of control flow.
    Control,
}

/// What a long instruction does after its own work. Both ignore the predicate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum End {
    /// Nothing.
    None,
    /// The threads end.
    Exit,
    /// The threads rejoin at the innermost `joinat`.
    Join,
}

/// A predicate other than "always".
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Predicate {
    /// Condition code, 0x00 (never) to 0x1f; 0x0f and the undefined codes do not occur.
    pub cond: u8,
    /// `$c` number.
    pub creg: u8,
}

macro_rules! ops {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What an instruction does, apart from its modifiers and types.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Op {
            $($(#[$doc])* $name,)*
        }

        impl Op {
            /// Every operation.
            pub const ALL: &'static [Op] = &[$(Op::$name,)*];
        }
    };
}

ops! {
    /// Move: register, immediate, `s[]`, `a[]`, `p[]`. Type b16 or b32; lane mask in `mods.lanes`.
    Mov,
    /// `mov $r $c`
    MovFromCreg,
    /// `mov $r $a`
    MovFromAreg,
    /// `mov $r $sr`
    MovFromSreg,
    /// `mov $c $r`: the low four bits.
    MovToCreg,
    /// `shl $a src imm`
    ShlToAreg,
    /// `add $a $a imm`
    AddAreg,
    /// `add sub subr addc` (`mods.add`), b16 or b32.
    IAdd,
    /// `set` of integers.
    ISet,
    /// `max` of integers.
    IMax,
    /// `min` of integers.
    IMin,
    /// `shl`
    Shl,
    /// `shr`; arithmetic for signed types.
    Shr,
    /// 16 x 16 to 32 bit multiply; each source has its type.
    IMul16,
    /// 24 x 24 bit multiply, low or (`mods.high`) bits 16-47.
    IMul24,
    /// Sum of absolute differences: `|a - b| + c`.
    Sad,
    /// 16-bit multiply and add (`mods.add`): sources a, b, c.
    IMad16,
    /// 24-bit multiply and add (`mods.add`): sources a, b, c.
    IMad24,
    /// `and or xor mov2` (`mods.logic`).
    Logic,
    /// Conversion from `srcs[0].ty` to `mods.ty`.
    Cvt,
    /// f32 add.
    FAdd,
    /// f32 multiply.
    FMul,
    /// f32 multiply-add, product truncated: sources a, b, c.
    FMad,
    /// f32 compare.
    FSet,
    /// f32 maximum.
    FMax,
    /// f32 minimum.
    FMin,
    /// Select by the sign of a float: sources a, b, selector.
    Slct,
    /// `quadop`: sources other, own.
    QuadOp,
    /// f64 add.
    DAdd,
    /// f64 multiply.
    DMul,
    /// f64 fused multiply-add.
    DFma,
    /// f64 minimum.
    DMin,
    /// f64 maximum.
    DMax,
    /// f64 compare.
    DSet,
    /// Reciprocal.
    Rcp,
    /// Reciprocal square root.
    Rsqrt,
    /// Logarithm to base 2.
    Lg2,
    /// Sine of a prepared argument.
    Sin,
    /// Cosine of a prepared argument.
    Cos,
    /// Power of 2 of a prepared argument.
    Ex2,
    /// Prepares the argument of sin and cos.
    PreSin,
    /// Prepares the argument of ex2.
    PreEx2,
    /// `ld b32 dst a[]` with an address register.
    LdAttr,
    /// `st b32 o[] src` with an address register: sources memory, value.
    StOut,
    /// Load from a constant space.
    LdConst,
    /// Load from shared memory.
    LdShared,
    /// Load from shared memory and lock the word; `$c` says if that worked.
    LdLock,
    /// Store to shared memory: sources memory, value. `mods.unlock`.
    StShared,
    /// Load from local memory.
    LdLocal,
    /// Store to local memory: sources memory, value.
    StLocal,
    /// Load from global memory.
    LdGlobal,
    /// Store to global memory: sources memory, value.
    StGlobal,
    /// Atomic operation without result: sources memory, value.
    Red,
    /// Atomic operation that returns the old value: sources memory, value, and for cas the new value.
    Atom,
    /// `vote any`, `vote all` of the predicate to a `$c`.
    Vote,
    /// Interpolate an attribute: source `v[]`, and a factor in the multiplying forms.
    Interp,
    /// Texture with automatic level of detail: sources texture, sampler, coordinates, three offsets.
    TexAuto,
    /// Texel fetch.
    TexFetch,
    /// Texture with level bias.
    TexBias,
    /// Texture with explicit level.
    TexLod,
    /// Texture size.
    TexSize,
    /// Cube coordinates for a texture that is no cube.
    TexPrep,
    /// Query of the level.
    TexQueryLod,
    /// Multisample fetch.
    TexCsaa,
    /// Gather four texels.
    TexGather,
    /// Emit a vertex.
    Emit,
    /// End the primitive.
    Restart,
    /// Nothing.
    Nop,
    /// Performance monitor event.
    PmEvent,
    /// Kill the fragment.
    Discard,
    /// Branch.
    Bra,
    /// Branch to an address in a constant space.
    BraIndirect,
    /// Call.
    Call,
    /// Return.
    Ret,
    /// Push the target of `break`.
    BreakAddr,
    /// Leave to the pushed target.
    Break,
    /// Enable all threads of the quad.
    QuadOn,
    /// Undo `quadon`.
    QuadPop,
    /// Barrier: sources number and warp count (count absent with `mods.all`).
    Bar,
    /// Trap.
    Trap,
    /// Push a join point.
    JoinAt,
    /// Breakpoint.
    Brkpt,
    /// Push a return address.
    PreRet,
}

/// A decoded instruction.
#[derive(Clone, Copy)]
pub struct Inst {
    /// Byte address.
    pub pc: u32,
    /// Length in bytes, 4 or 8.
    pub len: u8,
    /// Word 0, and word 1 in the high half.
    pub raw: u64,
    /// What it was decoded for.
    pub target: Target,
    /// The table row.
    pub row: &'static Row,
    /// The operation.
    pub op: Op,
    /// The word class.
    pub form: Form,
    /// Exit or join after the instruction.
    pub end: End,
    /// Predicate; `None` is "always".
    pub pred: Option<Predicate>,
    /// `$c` that gets the flags of the result (or the result itself).
    pub cdst: Option<u8>,
    /// Destination: `Reg`, `Out`, `Discard`, `Areg` or (textures) `Vec`.
    pub dst: Option<Operand>,
    /// Modifiers.
    pub mods: Mods,
    /// Set bits that the row does not know; the listing shows them, the hardware ignores them.
    pub unknown: u64,
    srcs: [Src; MAX_SRCS],
    src_count: u8,
}

/// The most sources a row has (textures).
pub const MAX_SRCS: usize = 6;

crate::envydis::inst_methods! {
    /// Source operands in text order. A carry read by `addc` is `mods.carry` and no source.
}

impl fmt::Debug for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inst")
            .field("pc", &self.pc)
            .field("op", &self.op)
            .field("form", &self.form)
            .field("end", &self.end)
            .field("pred", &self.pred)
            .field("cdst", &self.cdst)
            .field("dst", &self.dst)
            .field("mods", &self.mods)
            .field("srcs", &self.srcs())
            .field("text", &self.to_string())
            .finish()
    }
}

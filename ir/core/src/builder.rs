//! [`Builder`] appends instructions to a block and derives the types of their results. Frontends build kernels with it, passes
//! build replacements.

use crate::entities::{Block, Slot, Value};
use crate::function::{Function, Imm, Terminator};
use crate::opcodes::{AtomicOp, FloatCC, IntCC, MemAccess, Opcode};
use crate::pure::PureFn;
use crate::types::{Scalar, Type};
use crate::word_table::WordTable;

/// Appends to one block of a function at a time.
///
/// Results are varying when any operand is, else uniform; constants are uniform.
pub struct Builder<'a> {
    /// The function being built.
    pub func: &'a mut Function,
    /// The block appended to.
    pub block: Block,
    /// Guest address given to new instructions.
    pub pc: u32,
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident => $op:ident;)*) => {
        $($(#[$doc])* pub fn $name(&mut self, a: Value, b: Value) -> Value { self.same(Opcode::$op, &[a, b], Imm::None) })*
    };
}

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident => $op:ident;)*) => {
        $($(#[$doc])* pub fn $name(&mut self, a: Value) -> Value { self.same(Opcode::$op, &[a], Imm::None) })*
    };
}

impl<'a> Builder<'a> {
    /// A builder at the end of `block`.
    pub fn new(func: &'a mut Function, block: Block) -> Self {
        let pc = func.block(block).pc;
        Builder { func, block, pc }
    }

    /// Goes on at the end of another block.
    pub fn switch_to(&mut self, block: Block) {
        self.block = block;
    }

    /// Appends an instruction; `ty` is the type of its result if it has one.
    pub fn push(&mut self, op: Opcode, args: &[Value], imm: Imm, ty: Option<Type>) -> Option<Value> {
        let inst = self.func.make_inst(op, args, imm, ty, self.pc);
        self.func.block_mut(self.block).insts.push(inst);
        self.func.inst(inst).result
    }

    fn value(&mut self, op: Opcode, args: &[Value], imm: Imm, scalar: Scalar) -> Value {
        let uniform = args.iter().all(|&a| self.func.ty(a).uniform);
        self.push(op, args, imm, Some(Type { scalar, uniform })).expect("has a result")
    }

    /// Appends an operation whose result has the last operand's element type.
    pub fn same(&mut self, op: Opcode, args: &[Value], imm: Imm) -> Value {
        let scalar = self.func.ty(args[args.len() - 1]).scalar;
        self.value(op, args, imm, scalar)
    }

    /// A uniform constant of the given bits.
    pub fn constant(&mut self, scalar: Scalar, bits: u64) -> Value {
        self.push(Opcode::Const, &[], Imm::Bits(bits & scalar.bit_mask()), Some(Type::uniform(scalar)))
            .expect("has a result")
    }

    /// A 32-bit constant.
    pub fn i32(&mut self, bits: u32) -> Value {
        self.constant(Scalar::I32, u64::from(bits))
    }

    /// A 64-bit constant.
    pub fn i64(&mut self, bits: u64) -> Value {
        self.constant(Scalar::I64, bits)
    }

    /// A binary32 constant.
    pub fn f32(&mut self, value: f32) -> Value {
        self.constant(Scalar::F32, u64::from(value.to_bits()))
    }

    /// A binary64 constant.
    pub fn f64(&mut self, value: f64) -> Value {
        self.constant(Scalar::F64, value.to_bits())
    }

    /// A constant truth value.
    pub fn bool(&mut self, value: bool) -> Value {
        self.constant(Scalar::I1, u64::from(value))
    }

    binary! {
        /// Sum.
        iadd => Iadd;
        /// Difference.
        isub => Isub;
        /// Product.
        imul => Imul;
        /// High half of the unsigned product.
        umulhi => Umulhi;
        /// High half of the signed product.
        smulhi => Smulhi;
        /// Bitwise and.
        iand => Iand;
        /// Bitwise or.
        ior => Ior;
        /// Bitwise exclusive or.
        ixor => Ixor;
        /// Shift left, count modulo the width.
        ishl => Ishl;
        /// Logical shift right, count modulo the width.
        ushr => Ushr;
        /// Arithmetic shift right, count modulo the width.
        sshr => Sshr;
        /// Rotate left.
        rotl => Rotl;
        /// Unsigned minimum.
        umin => Umin;
        /// Unsigned maximum.
        umax => Umax;
        /// Signed minimum.
        smin => Smin;
        /// Signed maximum.
        smax => Smax;
        /// Lesser of two floats.
        fmin => Fmin;
        /// Greater of two floats.
        fmax => Fmax;
    }

    unary! {
        /// Bitwise complement.
        inot => Inot;
        /// Negation.
        ineg => Ineg;
        /// Set bits.
        popcnt => Popcnt;
        /// Leading zeros.
        clz => Clz;
        /// Trailing zeros.
        ctz => Ctz;
        /// Reversed bits.
        bitrev => Bitrev;
        /// Reversed bytes.
        bswap => Bswap;
        /// Flipped sign.
        fneg => Fneg;
        /// Cleared sign.
        fabs => Fabs;
        /// Round down.
        ffloor => Ffloor;
        /// Round up.
        fceil => Fceil;
        /// Round towards zero.
        ftrunc => Ftrunc;
        /// Round to nearest.
        fnearest => Fnearest;
        /// Denormals to zero.
        fflush => Fflush;
        /// Uniform to varying.
        splat_same => Splat;
    }

    /// The active lanes where `mask` holds, one bit a lane, uniform. Cross-lane.
    pub fn ballot(&mut self, mask: Value) -> Value {
        self.push(Opcode::Ballot, &[mask], Imm::None, Some(Type::uniform(Scalar::I64))).expect("has a result")
    }

    /// Whether `mask` holds in any lane, uniform; of lanes that are not active it must not hold.
    pub fn any(&mut self, mask: Value) -> Value {
        self.push(Opcode::Any, &[mask], Imm::None, Some(Type::uniform(Scalar::I1))).expect("has a result")
    }

    /// Whether `mask` holds in any active lane, uniform. Cross-lane.
    pub fn vote_any(&mut self, mask: Value) -> Value {
        self.push(Opcode::VoteAny, &[mask], Imm::None, Some(Type::uniform(Scalar::I1))).expect("has a result")
    }

    /// Whether `mask` holds in all active lanes, uniform. Cross-lane.
    pub fn vote_all(&mut self, mask: Value) -> Value {
        self.push(Opcode::VoteAll, &[mask], Imm::None, Some(Type::uniform(Scalar::I1))).expect("has a result")
    }

    /// `value` (no truth value) in the lane of a uniform index, uniform. Cross-lane.
    pub fn read_lane(&mut self, value: Value, lane: Value) -> Value {
        let scalar = self.func.ty(value).scalar;
        self.push(Opcode::Shuffle, &[value, lane], Imm::None, Some(Type::uniform(scalar)))
            .expect("has a result")
    }

    /// `value` in the lane that `index` names in each lane. Cross-lane.
    pub fn shuffle(&mut self, value: Value, index: Value) -> Value {
        let scalar = self.func.ty(value).scalar;
        self.push(Opcode::Shuffle, &[value, index], Imm::None, Some(Type::varying(scalar)))
            .expect("has a result")
    }

    /// In each lane its bit of a uniform i64.
    pub fn lane_bit(&mut self, bits: Value) -> Value {
        self.push(Opcode::LaneBit, &[bits], Imm::None, Some(Type::MASK)).expect("has a result")
    }

    /// A uniform value as a varying one; a varying one as it is.
    pub fn splat(&mut self, a: Value) -> Value {
        let ty = self.func.ty(a);
        if !ty.uniform {
            return a;
        }
        self.push(Opcode::Splat, &[a], Imm::None, Some(Type::varying(ty.scalar))).expect("has a result")
    }

    /// A float operation (`Fadd` ... `FmadTrunc`) with or without flushing.
    pub fn float(&mut self, op: Opcode, args: &[Value], ftz: bool) -> Value {
        self.same(op, args, Imm::Ftz(ftz))
    }

    /// NaN to the given bits.
    pub fn fcanon(&mut self, a: Value, nan_bits: u64) -> Value {
        self.same(Opcode::Fcanon, &[a], Imm::Bits(nan_bits))
    }

    /// Integer comparison.
    pub fn icmp(&mut self, cc: IntCC, a: Value, b: Value) -> Value {
        self.value(Opcode::Icmp, &[a, b], Imm::Int(cc), Scalar::I1)
    }

    /// Float comparison.
    pub fn fcmp(&mut self, cc: FloatCC, a: Value, b: Value, ftz: bool) -> Value {
        self.value(Opcode::Fcmp, &[a, b], Imm::FloatCmp(cc, ftz), Scalar::I1)
    }

    /// Whether one of two floats is a signalling NaN.
    pub fn fsignals(&mut self, a: Value, b: Value) -> Value {
        self.value(Opcode::Fsignals, &[a, b], Imm::None, Scalar::I1)
    }

    /// `a` where `cond` holds, else `b`.
    pub fn select(&mut self, cond: Value, a: Value, b: Value) -> Value {
        self.same(Opcode::Select, &[cond, a, b], Imm::None)
    }

    /// A conversion (any opcode of one operand whose result has its own type).
    pub fn convert(&mut self, op: Opcode, a: Value, to: Scalar) -> Value {
        self.value(op, &[a], Imm::None, to)
    }

    /// A conversion that flushes or not.
    pub fn convert_ftz(&mut self, op: Opcode, a: Value, to: Scalar, ftz: bool) -> Value {
        self.value(op, &[a], Imm::Ftz(ftz), to)
    }

    /// Same bits as another type; nothing if it is that type already.
    pub fn bitcast(&mut self, a: Value, to: Scalar) -> Value {
        if self.func.ty(a).scalar == to { a } else { self.convert(Opcode::Bitcast, a, to) }
    }

    /// Reads a slot.
    pub fn get(&mut self, slot: Slot) -> Value {
        let ty = self.func.slots[slot.index()].ty;
        self.push(Opcode::SlotGet, &[], Imm::Slot(slot), Some(ty)).expect("has a result")
    }

    /// Writes a slot for the active lanes.
    pub fn set(&mut self, slot: Slot, value: Value) {
        self.push(Opcode::SlotSet, &[value], Imm::Slot(slot), None);
    }

    /// Loads a value of type `scalar` (I32 for accesses up to 4 bytes, I64 for 8); varying.
    pub fn load(&mut self, mem: MemAccess, address: Value, guard: Option<Value>) -> Value {
        let scalar = if mem.bytes == 8 { Scalar::I64 } else { Scalar::I32 };
        let mut args = vec![address];
        args.extend(guard);
        self.push(Opcode::Load, &args, Imm::Mem(mem), Some(Type::varying(scalar))).expect("has a result")
    }

    /// Stores the low `mem.bytes` of an integer value.
    pub fn store(&mut self, mem: MemAccess, address: Value, value: Value, guard: Option<Value>) {
        let mut args = vec![address, value];
        args.extend(guard);
        self.push(Opcode::Store, &args, Imm::Mem(mem), None);
    }

    /// Atomic read-modify-write; `new` for compare-and-swap. Gives the old value, varying.
    pub fn atomic(
        &mut self,
        mem: MemAccess,
        op: AtomicOp,
        address: Value,
        value: Value,
        new: Option<Value>,
        guard: Option<Value>,
    ) -> Value {
        let scalar = if mem.bytes == 8 { Scalar::I64 } else { Scalar::I32 };
        let mut args = vec![address, value];
        args.extend(new);
        args.extend(guard);
        self.push(Opcode::Atomic, &args, Imm::Atomic(mem, op), Some(Type::varying(scalar)))
            .expect("has a result")
    }

    /// Calls a registered pure function.
    pub fn call_pure(&mut self, callee: &'static PureFn, args: &[Value]) -> Value {
        self.value(Opcode::CallPure, args, Imm::Pure(callee), callee.result)
    }

    /// Entry of a table.
    pub fn lookup(&mut self, table: &'static WordTable, index: Value) -> Value {
        self.value(Opcode::Lookup, &[index], Imm::Table(table), Scalar::I32)
    }

    /// Ends the block.
    pub fn terminate(&mut self, term: Terminator) {
        let pc = self.pc;
        let block = self.func.block_mut(self.block);
        block.term = Some(term);
        block.term_pc = pc;
    }
}

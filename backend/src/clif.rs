//! A thin layer over Cranelift's instruction builders. No other module names them, because Cranelift's API changes often.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{
    self, AtomicRmwOp, BlockArg, InstBuilder, InstructionData, MemFlagsData, Opcode as HostOpcode,
};
use cranelift_frontend::FunctionBuilder;
use warpjit_ir::types::Scalar;

pub(crate) use cranelift_codegen::ir::condcodes::{FloatCC as HostFloatCC, IntCC as HostIntCC};
pub(crate) use cranelift_codegen::ir::types::{
    F32, F32X4, F64, F64X2, I8, I8X16, I16X8, I32, I32X4, I64, I64X2,
};
pub(crate) use cranelift_codegen::ir::{Block as HostBlock, SigRef, StackSlot, Type as HostType, Value as V};

use crate::host::Host;

/// Appends host-independent code.
pub(crate) struct Emit<'b> {
    pub(crate) b: FunctionBuilder<'b>,
    pub(crate) host: Host,
    /// Whether what is computed of constants is not emitted. For scalar code, in which masks are constants; code of vectors has few such
    /// operations, and its registers are better left as they are allocated without it.
    pub(crate) folds: bool,
}

/// The type of one element.
pub(crate) fn element(scalar: Scalar) -> HostType {
    match scalar {
        Scalar::I1 => I8,
        Scalar::I32 => I32,
        Scalar::I64 => I64,
        Scalar::F32 => F32,
        Scalar::F64 => F64,
    }
}

/// The type of one vector; a mask's is words of 0 and -1.
pub(crate) fn vector(scalar: Scalar) -> HostType {
    match scalar {
        Scalar::I1 | Scalar::I32 => I32X4,
        Scalar::I64 => I64X2,
        Scalar::F32 => F32X4,
        Scalar::F64 => F64X2,
    }
}

/// The integer type with the same width and number of elements.
pub(crate) fn int_of(ty: HostType) -> HostType {
    match ty {
        F32 => I32,
        F64 => I64,
        F32X4 => I32X4,
        F64X2 => I64X2,
        t => t,
    }
}

macro_rules! emit {
    ($($name:ident($($arg:ident),*);)*) => {
        $(pub(crate) fn $name(&mut self, $($arg: V),*) -> V { self.b.ins().$name($($arg),*) })*
    };
}

macro_rules! emit_typed {
    ($($name:ident;)*) => {
        $(pub(crate) fn $name(&mut self, ty: HostType, x: V) -> V { self.b.ins().$name(ty, x) })*
    };
}

impl Emit<'_> {
    emit! {
        iadd(x, y); isub(x, y); imul(x, y); umulhi(x, y); smulhi(x, y);
        bxor(x, y); bnot(x); band_not(x, y);
        ishl(x, y); ushr(x, y); sshr(x, y); rotl(x, y);
        umin(x, y); umax(x, y); smin(x, y); smax(x, y);
        popcnt(x); clz(x); ctz(x); bitrev(x); bswap(x);
        fadd(x, y); fsub(x, y); fmul(x, y); fdiv(x, y); sqrt(x); fma(x, y, z); fmin(x, y); fmax(x, y);
        floor(x); ceil(x); trunc(x); nearest(x); fneg(x); fabs(x);
        fvpromote_low(x); fvdemote(x); vany_true(x);
        swiden_low(x); swiden_high(x); uwiden_low(x); uwiden_high(x);
        bitselect(c, x, y); snarrow(x, y); unarrow(x, y); swizzle(x, y);
    }
    emit_typed! {
        splat; scalar_to_vector; ireduce; sextend; fpromote; fdemote;
        fcvt_to_uint_sat; fcvt_to_sint_sat; fcvt_from_uint; fcvt_from_sint; x86_cvtt2dq; vhigh_bits;
    }

    /// The value of a scalar constant. Cranelift does not fold them here: it runs without optimisations.
    fn known(&self, v: V) -> Option<u64> {
        if !self.folds {
            return None;
        }
        let dfg = &self.b.func.dfg;
        match dfg.insts[dfg.value_def(v).inst()?] {
            InstructionData::UnaryImm { opcode: HostOpcode::Iconst, imm } => Some(imm.bits() as u64),
            _ => None,
        }
    }

    pub(crate) fn ineg(&mut self, x: V) -> V {
        match self.known(x) {
            Some(bits) => self.imm_like(x, bits.wrapping_neg()),
            None => self.b.ins().ineg(x),
        }
    }

    pub(crate) fn uextend(&mut self, ty: HostType, x: V) -> V {
        let low = u64::MAX >> (64 - self.ty(x).bits().min(64));
        match self.known(x) {
            Some(bits) => self.imm(ty, bits & low),
            None => self.b.ins().uextend(ty, x),
        }
    }

    pub(crate) fn band(&mut self, x: V, y: V) -> V {
        match (self.known(x), self.known(y)) {
            (Some(a), Some(b)) => self.imm_like(x, a & b),
            (Some(0), _) => x,
            (_, Some(0)) => y,
            _ => self.b.ins().band(x, y),
        }
    }

    pub(crate) fn bor(&mut self, x: V, y: V) -> V {
        match (self.known(x), self.known(y)) {
            (Some(a), Some(b)) => self.imm_like(x, a | b),
            (Some(0), _) => y,
            (_, Some(0)) => x,
            _ => self.b.ins().bor(x, y),
        }
    }

    pub(crate) fn select(&mut self, c: V, x: V, y: V) -> V {
        match self.known(c) {
            Some(0) => y,
            Some(_) => x,
            None => self.b.ins().select(c, x, y),
        }
    }

    /// If a value is 0 or not as another one, or the other way round: that one, and whether it is so.
    fn same_truth(&self, v: V) -> Option<(V, bool)> {
        let dfg = &self.b.func.dfg;
        let InstructionData::Ternary { opcode: HostOpcode::Select, args: [c, x, y] } =
            dfg.insts[dfg.value_def(v).inst()?]
        else {
            return None;
        };
        match (self.known(x)?, self.known(y)?) {
            (0, 0) => None,
            (_, 0) => Some((c, true)),
            (0, _) => Some((c, false)),
            _ => None,
        }
    }

    pub(crate) fn ty(&self, v: V) -> HostType {
        self.b.func.dfg.value_type(v)
    }

    pub(crate) fn is_vector(&self, v: V) -> bool {
        self.ty(v).is_vector()
    }

    /// A constant: `bits` in each element.
    pub(crate) fn imm(&mut self, ty: HostType, bits: u64) -> V {
        match ty {
            I8 => self.b.ins().iconst(I8, (bits & 0xff) as i64),
            I32 => self.b.ins().iconst(I32, (bits & 0xffff_ffff) as i64),
            I64 => self.b.ins().iconst(I64, bits as i64),
            F32 => self.b.ins().f32const(f32::from_bits(bits as u32)),
            F64 => self.b.ins().f64const(f64::from_bits(bits)),
            I64X2 | F64X2 => self.lanes(ty, &[bits, bits]),
            _ => self.lanes(ty, &[bits, bits, bits, bits]),
        }
    }

    /// A vector constant, element by element.
    pub(crate) fn lanes(&mut self, ty: HostType, lanes: &[u64]) -> V {
        let bytes = (ty.lane_bits() / 8) as usize;
        let data: Vec<u8> = lanes.iter().flat_map(|l| l.to_le_bytes()[..bytes].to_vec()).collect();
        let constant = self.b.func.dfg.constants.insert(data.into());
        self.b.ins().vconst(ty, constant)
    }

    /// The same bits as another type.
    pub(crate) fn cast(&mut self, v: V, ty: HostType) -> V {
        if self.ty(v) == ty {
            return v;
        }
        let flags = MemFlagsData::new().with_endianness(ir::Endianness::Little);
        self.b.ins().bitcast(ty, flags, v)
    }

    /// A constant operand of the same type as `like`.
    pub(crate) fn imm_like(&mut self, like: V, bits: u64) -> V {
        let ty = self.ty(like);
        self.imm(ty, bits)
    }

    pub(crate) fn extract(&mut self, v: V, lane: usize) -> V {
        self.b.ins().extractlane(v, lane as u8)
    }

    pub(crate) fn insert(&mut self, v: V, x: V, lane: usize) -> V {
        self.b.ins().insertlane(v, x, lane as u8)
    }

    /// Bytes of `a` (0 to 15) and `b` (16 to 31) by constant index, as type `ty`.
    pub(crate) fn shuffle(&mut self, ty: HostType, a: V, b: V, bytes: [u8; 16]) -> V {
        let (a, b) = (self.cast(a, I8X16), self.cast(b, I8X16));
        let mask = self.b.func.dfg.immediates.push(bytes.to_vec().into());
        let v = self.b.ins().shuffle(a, b, mask);
        self.cast(v, ty)
    }

    /// Words of `a` (0 to 3) and `b` (4 to 7) by constant index, as type `ty`.
    pub(crate) fn shuffle_words(&mut self, ty: HostType, a: V, b: V, words: [u8; 4]) -> V {
        let bytes = std::array::from_fn(|i| words[i / 4] * 4 + (i % 4) as u8);
        self.shuffle(ty, a, b, bytes)
    }

    pub(crate) fn icmp(&mut self, cc: IntCC, a: V, b: V) -> V {
        self.b.ins().icmp(cc, a, b)
    }

    pub(crate) fn icmp_imm(&mut self, cc: IntCC, a: V, bits: u64) -> V {
        let b = self.imm_like(a, bits);
        self.icmp(cc, a, b)
    }

    pub(crate) fn fcmp(&mut self, cc: FloatCC, a: V, b: V) -> V {
        self.b.ins().fcmp(cc, a, b)
    }

    pub(crate) fn band_imm(&mut self, a: V, bits: u64) -> V {
        let b = self.imm_like(a, bits);
        self.band(a, b)
    }

    pub(crate) fn bor_imm(&mut self, a: V, bits: u64) -> V {
        let b = self.imm_like(a, bits);
        self.bor(a, b)
    }

    pub(crate) fn bxor_imm(&mut self, a: V, bits: u64) -> V {
        let b = self.imm_like(a, bits);
        self.bxor(a, b)
    }

    pub(crate) fn iadd_imm(&mut self, a: V, bits: u64) -> V {
        if bits == 0 {
            return a;
        }
        let b = self.imm_like(a, bits);
        self.iadd(a, b)
    }

    /// Shift counts are scalars, even for vectors.
    fn count(&mut self, n: u32) -> V {
        self.imm(I32, u64::from(n))
    }

    pub(crate) fn shl(&mut self, a: V, n: u32) -> V {
        let n = self.count(n);
        self.ishl(a, n)
    }

    pub(crate) fn shr(&mut self, a: V, n: u32) -> V {
        let n = self.count(n);
        self.ushr(a, n)
    }

    pub(crate) fn sar(&mut self, a: V, n: u32) -> V {
        let n = self.count(n);
        self.sshr(a, n)
    }

    /// The complement of a truth value or mask.
    pub(crate) fn not(&mut self, c: V) -> V {
        if self.is_vector(c) { self.bnot(c) } else { self.bxor_imm(c, 1) }
    }

    /// `a` where `c` (a truth value, or a mask of elements as wide as those of `a`) holds, else `b`.
    pub(crate) fn sel(&mut self, c: V, a: V, b: V) -> V {
        if !self.is_vector(c) {
            return self.select(c, a, b);
        }
        let ty = self.ty(a);
        if !self.host.x86 {
            let c = self.cast(c, ty);
            return self.b.ins().bitselect(c, a, b);
        }
        // `blendv` is one instruction for any mask; `bitselect` becomes one only if Cranelift sees the comparison.
        let int = int_of(ty);
        let (c, a, b) = (self.cast(c, int), self.cast(a, int), self.cast(b, int));
        let v = self.b.ins().blendv(c, a, b);
        self.cast(v, ty)
    }

    /// Loads from memory that cannot fault.
    pub(crate) fn load(&mut self, ty: HostType, base: V, offset: i32) -> V {
        self.b.ins().load(ty, MemFlagsData::new().with_notrap(), base, offset)
    }

    pub(crate) fn store(&mut self, v: V, base: V, offset: i32) {
        self.b.ins().store(MemFlagsData::new().with_notrap(), v, base, offset);
    }

    /// Loads what other threads write: each time that code comes by.
    pub(crate) fn load_shared(&mut self, ty: HostType, place: V) -> V {
        self.b.ins().atomic_load(ty, MemFlagsData::trusted(), place)
    }

    /// Loads from guest memory. May fault, so it is not moved or removed.
    pub(crate) fn load_guest(&mut self, ty: HostType, base: V, offset: i32) -> V {
        self.b.ins().load(ty, MemFlagsData::new(), base, offset)
    }

    pub(crate) fn store_guest(&mut self, v: V, base: V, offset: i32) {
        self.b.ins().store(MemFlagsData::new(), v, base, offset);
    }

    /// Adds to a word of guest memory, with nobody in between; may fault, as the next two. The word is aligned. Only on x86-64 are they
    /// single instructions, of which it is known where they fault.
    pub(crate) fn fetch_and_add(&mut self, place: V, value: V) -> V {
        self.update(AtomicRmwOp::Add, place, value)
    }

    pub(crate) fn swap(&mut self, place: V, value: V) -> V {
        self.update(AtomicRmwOp::Xchg, place, value)
    }

    pub(crate) fn compare_and_swap(&mut self, place: V, old: V, new: V) -> V {
        self.b.ins().atomic_cas(MemFlagsData::new(), place, old, new)
    }

    fn update(&mut self, op: AtomicRmwOp, place: V, value: V) -> V {
        let ty = self.ty(value);
        self.b.ins().atomic_rmw(ty, MemFlagsData::new(), op, place, value)
    }

    /// Loads 1 or 2 bytes, extended to i32. `may_fault`: from guest memory that may be unmapped.
    pub(crate) fn load_narrow(
        &mut self,
        bytes: u8,
        signed: bool,
        base: V,
        offset: i32,
        may_fault: bool,
    ) -> V {
        let flags = MemFlagsData::new();
        let flags = if may_fault { flags } else { flags.with_notrap() };
        match (bytes, signed) {
            (1, false) => self.b.ins().uload8(I32, flags, base, offset),
            (1, true) => self.b.ins().sload8(I32, flags, base, offset),
            (_, false) => self.b.ins().uload16(I32, flags, base, offset),
            (_, true) => self.b.ins().sload16(I32, flags, base, offset),
        }
    }

    /// Loads a byte from memory that cannot fault, as i32.
    pub(crate) fn load_table(&mut self, place: V) -> V {
        self.b.ins().uload8(I32, MemFlagsData::new().with_notrap(), place, 0)
    }

    /// Stores the low 1 or 2 bytes of an i32; `may_fault` as of loads.
    pub(crate) fn store_narrow(&mut self, bytes: u8, v: V, base: V, offset: i32, may_fault: bool) {
        let flags = MemFlagsData::new();
        let flags = if may_fault { flags } else { flags.with_notrap() };
        match bytes {
            1 => self.b.ins().istore8(flags, v, base, offset),
            _ => self.b.ins().istore16(flags, v, base, offset),
        };
    }

    pub(crate) fn stack_addr(&mut self, slot: StackSlot) -> V {
        self.b.ins().stack_addr(I64, slot, 0)
    }

    pub(crate) fn call(&mut self, sig: SigRef, callee: V, args: &[V]) -> Option<V> {
        let call = self.b.ins().call_indirect(sig, callee, args);
        self.b.inst_results(call).first().copied()
    }

    pub(crate) fn block(&mut self) -> HostBlock {
        self.b.create_block()
    }

    pub(crate) fn cold_block(&mut self) -> HostBlock {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }

    pub(crate) fn param(&mut self, block: HostBlock, ty: HostType) -> V {
        self.b.append_block_param(block, ty)
    }

    pub(crate) fn switch_to(&mut self, block: HostBlock) {
        self.b.switch_to_block(block);
    }

    pub(crate) fn jump(&mut self, block: HostBlock, args: &[V]) {
        let args: Vec<BlockArg> = args.iter().map(|&v| v.into()).collect();
        self.b.ins().jump(block, &args);
    }

    pub(crate) fn brif(&mut self, c: V, taken: (HostBlock, &[V]), next: (HostBlock, &[V])) {
        match self.known(c) {
            Some(0) => return self.jump(next.0, next.1),
            Some(_) => return self.jump(taken.0, taken.1),
            None => {}
        }
        let (c, taken, next) = match self.same_truth(c) {
            Some((other, true)) => (other, taken, next),
            Some((other, false)) => (other, next, taken),
            None => (c, taken, next),
        };
        let list = |values: &[V]| -> Vec<BlockArg> { values.iter().map(|&v| v.into()).collect() };
        self.b.ins().brif(c, taken.0, &list(taken.1), next.0, &list(next.1));
    }

    /// Jumps to the block with number `index`; there is one. None of them has parameters.
    pub(crate) fn jump_table(&mut self, index: V, blocks: &[HostBlock]) {
        let calls: Vec<ir::BlockCall> =
            blocks.iter().map(|&block| self.b.func.dfg.block_call(block, &[])).collect();
        let table = self.b.create_jump_table(ir::JumpTableData::new(calls[0], &calls));
        self.b.ins().br_table(index, table);
    }

    pub(crate) fn ret(&mut self, v: V) {
        self.b.ins().return_(&[v]);
    }
}

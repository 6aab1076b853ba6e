//! Vectors of 256 bits for hosts without AVX-512: code for functions that do nothing but compute, load and set slots, as generated
//! samplers do.
//!
//! A chunk is eight lanes. A narrow value of all lanes is one register, a wide one two, a mask is a vector with all bits of a lane set or
//! none. What is the same in all lanes is in a general register, or is loaded where it is needed. Functions with anything else are refused
//! ([`Error::Refused`]): Cranelift's code does all.

use std::collections::HashMap;

use iced_x86::Code;
use regalloc2::RegClass;
use warpjit_ir::types::Scalar;
use warpjit_ir::{
    Block, BlockCall, FloatCC, Function, Imm, InstData, IntCC, MemAccess, Opcode, Space, Terminator, Value,
    WordTable,
};

use super::asm::{A, Asm, Mem, R, With};
use super::code::{Flags, Size, VCode};
use super::emit::{self, preg};
use super::scalar::{AND, SHL, SHR};
use crate::code::{FloatEnv, Listing, RegionCode};
use crate::context::at;
use crate::error::Error;
use crate::flow::Order;
use crate::operands::{MemoryOperands, arg, constant, malformed, result, wide};
use crate::options::Options;

/// Lanes of a chunk.
const LANES: u32 = 8;
/// Bytes of a vector.
const BYTES: i32 = 32;
/// Vectors of addresses that are on the stack at a time.
const BUFFERS: i32 = 4;
/// How many constants there may be in memory for one access: addresses have 16 bits.
const BANK_MASK: u32 = 0xffff;

/// Compiles a function.
pub(crate) fn compile(f: &Function, options: &Options) -> Result<RegionCode, Error> {
    let mut lower = Lower::new(f, options);
    lower.function()?;
    let Lower { a, tables, .. } = lower;
    let code = VCode::new(a.blocks, a.operands, a.vregs, emit::call_clobbers(), false);
    let emitted = emit::emit(&code, &a.pool, (BUFFERS * BYTES) as u32, options)?;
    Ok(RegionCode {
        code: emitted.code,
        traps: Vec::new(),
        pcs: Vec::new(),
        pures: Vec::new(),
        devices: Vec::new(),
        tables,
        returns: Vec::new(),
        shared_reach: 0,
        float_env: FloatEnv::Default,
        listing: Listing { clif: String::new(), assembly: emitted.listing },
    })
}

/// How a value is kept.
#[derive(Clone)]
enum Kept {
    Const(u64),
    /// The same in all lanes: 32 bits.
    General(R),
    /// The same in all lanes, and in memory that does not change.
    Memory(Mem),
    /// One register, or two of a wide value.
    Parts(Vec<R>),
}

struct Lower<'a> {
    f: &'a Function,
    options: &'a Options,
    a: Asm,
    kept: Vec<Option<Kept>>,
    blocks: Vec<regalloc2::Block>,
    tables: Vec<&'static WordTable>,
    offsets: Vec<u32>,
    context: R,
    /// Of the chunk: its frame, the mask of its lanes.
    frame: R,
    active: R,
    bank: R,
    image: R,
    /// Where a chunk ends.
    next: regalloc2::Block,
    /// Vectors and registers that values kept otherwise have been brought to in this block.
    vectors: HashMap<Value, Vec<R>>,
    generals: HashMap<Value, R>,
    buffer: i32,
}

fn refused(what: &str) -> Error {
    Error::Refused(what.into())
}

impl<'a> Lower<'a> {
    fn new(f: &'a Function, options: &'a Options) -> Lower<'a> {
        let mut a = Asm::new();
        let params = a.entry(&[preg(RegClass::Int, 7), preg(RegClass::Int, 6)]);
        Lower {
            f,
            options,
            a,
            kept: vec![None; f.values.len()],
            blocks: Vec::new(),
            tables: Vec::new(),
            offsets: f.frame_layout().0,
            context: params[0],
            frame: params[1],
            active: params[1],
            bank: params[1],
            image: params[1],
            next: regalloc2::Block::new(0),
            vectors: HashMap::new(),
            generals: HashMap::new(),
            buffer: 0,
        }
    }

    fn function(&mut self) -> Result<(), Error> {
        let order = Order::new(self.f);
        let ctx = self.context;
        let field = move |at: i32| Mem::at(ctx, at);
        let first = self.frame;
        self.bank = self.a.load64g(field(at::CONST_BANKS));
        self.image = self.a.load64g(field(at::GLOBAL_BASE));
        let start = self.a.imm(false, 0);
        let (head, body, end) = (self.a.block(), self.a.block(), self.a.block());
        self.next = self.a.block();
        let lane = self.a.param(head, RegClass::Int);
        self.a.jump(head, &[start]);

        self.a.switch_to(head);
        // A byte for each chunk.
        let chunk = self.a.shift(false, SHR, lane, LANES.trailing_zeros() as u8);
        let place = Mem::indexed(ctx, chunk, 1, at::ACTIVE);
        let bits = self.a.gload(Code::Movzx_r32_rm8, place, Size::D, None);
        self.a.test(false, bits, bits);
        self.a.branch(Flags::Equal, (self.next, &[]), (body, &[]));

        self.a.switch_to(self.next);
        let following = self.a.add_imm(false, lane, LANES.into());
        self.a.cmp_imm(false, following, self.f.lanes as i32);
        self.a.branch(Flags::Below, (head, &[following]), (end, &[]));
        self.a.switch_to(end);
        let zero = self.a.imm(false, 0);
        self.a.ret(zero, preg(RegClass::Int, 0));

        self.a.switch_to(body);
        self.frame = self.a.lea(true, Mem::indexed(first, lane, 4, 0));
        let bits = self.splat32(bits);
        let each = self.words(&std::array::from_fn(|lane| 1 << lane));
        let own = self.v3_pool(Code::VEX_Vpand_ymm_ymm_ymmm256, bits, each);
        self.active = self.v3_pool(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, own, each);
        for &block in &order.blocks {
            let b = self.a.block();
            self.blocks.resize(self.f.blocks.len(), b);
            self.blocks[block.index()] = b;
            for &value in &self.f.block(block).params {
                let ty = self.f.ty(value);
                let kept = if ty.uniform && ty.scalar == Scalar::I32 {
                    Kept::General(self.a.param(b, RegClass::Int))
                } else {
                    let count = if wide(ty.scalar) { 2 } else { 1 };
                    Kept::Parts((0..count).map(|_| self.a.param(b, RegClass::Float)).collect())
                };
                self.kept[value.index()] = Some(kept);
            }
        }
        let Some(&entry) = order.blocks.first() else { return Err(refused("no code")) };
        self.a.jump(self.blocks[entry.index()], &[]);
        for &block in &order.blocks {
            self.a.switch_to(self.blocks[block.index()]);
            self.vectors.clear();
            self.generals.clear();
            for &inst in &self.f.block(block).insts {
                self.inst(self.f.inst(inst))?;
            }
            self.terminate(block)?;
        }
        Ok(())
    }

    fn terminate(&mut self, block: Block) -> Result<(), Error> {
        let f = self.f;
        match f.term(block) {
            Terminator::Jump(call) => {
                let args = self.arguments(call)?;
                self.a.jump(self.blocks[call.block.index()], &args);
            }
            Terminator::BrAny { mask: cond, taken, next } | Terminator::BrIf { cond, taken, next } => {
                let lanes = self.vector(*cond)?;
                let (to, from) = (self.arguments(taken)?, self.arguments(next)?);
                let args = [A::Use(lanes, Size::Y), A::Use(lanes, Size::Y)];
                self.a.put(Code::VEX_Vtestps_ymm_ymmm256, &args, With::default());
                let (taken, next) = (self.blocks[taken.block.index()], self.blocks[next.block.index()]);
                self.a.branch(Flags::NotEqual, (taken, &to), (next, &from));
            }
            Terminator::Return { exited: None, cond: None, .. } => self.a.jump(self.next, &[]),
            _ => return Err(refused("a terminator")),
        }
        Ok(())
    }

    fn arguments(&mut self, call: &BlockCall) -> Result<Vec<R>, Error> {
        let f = self.f;
        let mut args = Vec::new();
        for (&param, &value) in f.block(call.block).params.iter().zip(&call.args) {
            let ty = f.ty(param);
            if ty.uniform && ty.scalar == Scalar::I32 {
                args.push(self.general(value)?);
            } else {
                args.extend(self.parts(value)?);
            }
        }
        Ok(args)
    }

    // Values.

    fn define(&mut self, value: Value, kept: Kept) {
        self.kept[value.index()] = Some(kept);
    }

    fn kept(&self, value: Value) -> Result<&Kept, Error> {
        self.kept[value.index()]
            .as_ref()
            .ok_or_else(|| Error::Malformed("a value used before it is made".into()))
    }

    /// A value of all lanes in registers.
    fn parts(&mut self, value: Value) -> Result<Vec<R>, Error> {
        let kept = self.kept(value)?.clone();
        if let Kept::Parts(parts) = kept {
            return Ok(parts);
        }
        if let Some(parts) = self.vectors.get(&value) {
            return Ok(parts.clone());
        }
        let scalar = self.f.ty(value).scalar;
        let is_wide = wide(scalar);
        let one = match kept {
            Kept::Parts(_) => return Err(refused("parts")),
            Kept::Const(bits) => {
                let entry = self.constant_entry(scalar, bits);
                let d = self.a.zmm();
                self.a.put(
                    Code::VEX_Vmovdqu_ymm_ymmm256,
                    &[A::Def(d, Size::Y), A::Pool(entry)],
                    With::default(),
                );
                d
            }
            Kept::General(r) => self.splat32(r),
            Kept::Memory(mem) => {
                let code = match is_wide {
                    true => Code::VEX_Vpbroadcastq_ymm_xmmm64,
                    false => Code::VEX_Vpbroadcastd_ymm_xmmm32,
                };
                let d = self.a.zmm();
                self.a.put(code, &[A::Def(d, Size::Y), A::Mem(mem)], With::default());
                d
            }
        };
        let parts = vec![one; if is_wide { 2 } else { 1 }];
        self.vectors.insert(value, parts.clone());
        Ok(parts)
    }

    /// A narrow value of all lanes.
    fn vector(&mut self, value: Value) -> Result<R, Error> {
        match self.parts(value)?[..] {
            [one] => Ok(one),
            _ => Err(refused("a wide value")),
        }
    }

    /// A value that is the same in all lanes, in a general register.
    fn general(&mut self, value: Value) -> Result<R, Error> {
        if let Some(&r) = self.generals.get(&value) {
            return Ok(r);
        }
        let r = match self.kept(value)?.clone() {
            Kept::General(r) => return Ok(r),
            Kept::Const(bits) => self.a.imm(false, bits & 0xffff_ffff),
            Kept::Memory(mem) if !wide(self.f.ty(value).scalar) => self.a.load32(mem),
            _ => return Err(refused("a vector as an address")),
        };
        self.generals.insert(value, r);
        Ok(r)
    }

    fn splat32(&mut self, bits: R) -> R {
        let (low, d) = (self.a.zmm(), self.a.zmm());
        self.a.put(Code::VEX_Vmovd_xmm_rm32, &[A::Def(low, Size::X), A::Use(bits, Size::D)], With::default());
        let args = [A::Def(d, Size::Y), A::Use(low, Size::X)];
        self.a.put(Code::VEX_Vpbroadcastd_ymm_xmmm32, &args, With::default());
        d
    }

    fn words(&mut self, words: &[u32; LANES as usize]) -> u32 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.a.pool.add(&bytes)
    }

    fn constant_entry(&mut self, scalar: Scalar, bits: u64) -> u32 {
        match scalar {
            Scalar::I1 => self.words(&[if bits == 0 { 0 } else { u32::MAX }; 8]),
            Scalar::I64 | Scalar::F64 => {
                let bytes: Vec<u8> = [bits; 4].iter().flat_map(|word| word.to_le_bytes()).collect();
                self.a.pool.add(&bytes)
            }
            _ => self.words(&[bits as u32; 8]),
        }
    }

    // Instructions.

    /// `code d, a, b`.
    fn v3(&mut self, code: Code, a: R, b: R) -> R {
        let d = self.a.zmm();
        self.a.put(code, &[A::Def(d, Size::Y), A::Use(a, Size::Y), A::Use(b, Size::Y)], With::default());
        d
    }

    fn v3_pool(&mut self, code: Code, a: R, entry: u32) -> R {
        let d = self.a.zmm();
        self.a.put(code, &[A::Def(d, Size::Y), A::Use(a, Size::Y), A::Pool(entry)], With::default());
        d
    }

    /// `code d, a, imm`.
    fn v2i(&mut self, code: Code, a: R, imm: u8) -> R {
        let d = self.a.zmm();
        self.a.put(code, &[A::Def(d, Size::Y), A::Use(a, Size::Y), A::I8(imm)], With::default());
        d
    }

    /// `code d, a`.
    fn v2(&mut self, code: Code, a: R, from: Size) -> R {
        let d = self.a.zmm();
        self.a.put(code, &[A::Def(d, Size::Y), A::Use(a, from)], With::default());
        d
    }

    /// `code d, a, b` of each part, `b` from memory where it is a constant.
    fn each(&mut self, code: Code, a: Value, b: Value) -> Result<Vec<R>, Error> {
        let left = self.parts(a)?;
        if let (Kept::Const(bits), false) = (self.kept(b)?.clone(), self.vectors.contains_key(&b)) {
            let entry = self.constant_entry(self.f.ty(b).scalar, bits);
            return Ok(left.iter().map(|&x| self.v3_pool(code, x, entry)).collect());
        }
        let right = self.parts(b)?;
        Ok(left.iter().zip(&right).map(|(&x, &y)| self.v3(code, x, y)).collect())
    }

    /// The same where the operands may change places.
    fn either(&mut self, code: Code, a: Value, b: Value) -> Result<Vec<R>, Error> {
        match self.kept(a)? {
            Kept::Const(_) => self.each(code, b, a),
            _ => self.each(code, a, b),
        }
    }

    /// The complement.
    fn complement(&mut self, a: R) -> R {
        let ones = self.words(&[u32::MAX; 8]);
        self.v3_pool(Code::VEX_Vpxor_ymm_ymm_ymmm256, a, ones)
    }

    /// `a` where the mask holds, else `b`.
    fn blend(&mut self, mask: R, a: R, b: R) -> R {
        let d = self.a.zmm();
        let args = [A::Def(d, Size::Y), A::Use(b, Size::Y), A::Use(a, Size::Y), A::Use(mask, Size::Y)];
        self.a.put(Code::VEX_Vblendvps_ymm_ymm_ymmm256_ymm, &args, With::default());
        d
    }

    fn inst(&mut self, data: &InstData) -> Result<(), Error> {
        match data.op {
            Opcode::Const => {
                let (r, bits) = constant(self.f, data)?;
                self.define(r, Kept::Const(bits));
                return Ok(());
            }
            Opcode::SlotSet => return self.set_slot(data),
            Opcode::Load => return self.load(data),
            Opcode::Bitcast | Opcode::Splat | Opcode::Bmask => {
                let (r, a) = (result(data)?, arg(data, 0)?);
                if wide(self.f.ty(r).scalar) != wide(self.f.ty(a).scalar) {
                    return Err(refused("a wide mask"));
                }
                let kept = match (data.op, self.kept(a)?) {
                    // All bits of truth values.
                    (Opcode::Bmask, _) => Kept::Parts(self.parts(a)?),
                    (_, kept) => kept.clone(),
                };
                self.define(r, kept);
                return Ok(());
            }
            _ => {}
        }
        let r = result(data)?;
        if self.f.ty(r).uniform && self.f.ty(r).scalar == Scalar::I32 && self.scalar(data, r)? {
            return Ok(());
        }
        let parts = self.compute(data, r)?;
        self.define(r, Kept::Parts(parts));
        Ok(())
    }

    /// Computes a value that is the same in all lanes in a general register. `false`: it has to be a vector.
    fn scalar(&mut self, data: &InstData, r: Value) -> Result<bool, Error> {
        let known =
            matches!(data.op, Opcode::Iadd | Opcode::Isub | Opcode::Imul | Opcode::Ishl | Opcode::Iand);
        let general = |kept: &Kept| matches!(kept, Kept::Const(_) | Kept::General(_) | Kept::Memory(_));
        if !known || !data.args.iter().all(|&v| self.kept(v).is_ok_and(general)) {
            return Ok(false);
        }
        let (a, b) = (arg(data, 0)?, arg(data, 1)?);
        let by = match self.kept(b)? {
            Kept::Const(bits) => Some(*bits as u32),
            _ => None,
        };
        let made = match (data.op, by) {
            (Opcode::Ishl, None) => return Ok(false),
            (Opcode::Ishl, Some(by)) => {
                let a = self.general(a)?;
                self.a.shift(false, SHL, a, (by & 31) as u8)
            }
            (Opcode::Iadd, Some(n)) => {
                let a = self.general(a)?;
                self.a.add_imm(false, a, (n as i32).into())
            }
            (op, _) => {
                let (a, b) = (self.general(a)?, self.general(b)?);
                match op {
                    Opcode::Iadd => self.a.add(false, a, b),
                    Opcode::Isub => self.a.g2(false, (Code::Sub_r32_rm32, Code::Sub_r64_rm64), a, b),
                    Opcode::Imul => self.a.g2(false, (Code::Imul_r32_rm32, Code::Imul_r64_rm64), a, b),
                    _ => self.a.g2(false, AND, a, b),
                }
            }
        };
        self.define(r, Kept::General(made));
        Ok(true)
    }

    fn compute(&mut self, data: &InstData, r: Value) -> Result<Vec<R>, Error> {
        use Opcode as O;
        let scalar = self.f.ty(data.args.first().copied().unwrap_or(r)).scalar;
        let is_wide = wide(scalar);
        if let Imm::Ftz(true) = data.imm {
            return Err(refused("a flush"));
        }
        let pick = |narrow: Code, double: Code| if is_wide { double } else { narrow };
        let narrow = |code: Code| if is_wide { Err(refused("a wide operation")) } else { Ok(code) };
        Ok(match data.op {
            O::ActiveMask => vec![self.active],
            O::SlotGet => {
                let Imm::Slot(slot) = data.imm else { return Err(malformed(data)) };
                let place = self.slot_place(slot.index())?;
                if self.f.ty(r).scalar != Scalar::I32 {
                    return Err(refused("a slot"));
                }
                vec![self.load32(place)]
            }
            O::Iadd => self.either(
                pick(Code::VEX_Vpaddd_ymm_ymm_ymmm256, Code::VEX_Vpaddq_ymm_ymm_ymmm256),
                data.args[0],
                data.args[1],
            )?,
            O::Isub => self.each(
                pick(Code::VEX_Vpsubd_ymm_ymm_ymmm256, Code::VEX_Vpsubq_ymm_ymm_ymmm256),
                data.args[0],
                data.args[1],
            )?,
            O::Imul => self.either(narrow(Code::VEX_Vpmulld_ymm_ymm_ymmm256)?, data.args[0], data.args[1])?,
            O::Iand => self.either(Code::VEX_Vpand_ymm_ymm_ymmm256, data.args[0], data.args[1])?,
            O::Ior => self.either(Code::VEX_Vpor_ymm_ymm_ymmm256, data.args[0], data.args[1])?,
            O::Ixor => self.either(Code::VEX_Vpxor_ymm_ymm_ymmm256, data.args[0], data.args[1])?,
            O::Inot => {
                let parts = self.parts(data.args[0])?;
                parts.iter().map(|&x| self.complement(x)).collect()
            }
            O::Smin => self.either(narrow(Code::VEX_Vpminsd_ymm_ymm_ymmm256)?, data.args[0], data.args[1])?,
            O::Smax => self.either(narrow(Code::VEX_Vpmaxsd_ymm_ymm_ymmm256)?, data.args[0], data.args[1])?,
            O::Umin => self.either(narrow(Code::VEX_Vpminud_ymm_ymm_ymmm256)?, data.args[0], data.args[1])?,
            O::Umax => self.either(narrow(Code::VEX_Vpmaxud_ymm_ymm_ymmm256)?, data.args[0], data.args[1])?,
            O::Ishl | O::Ushr | O::Sshr => self.shift(data, is_wide)?,
            O::Icmp => vec![self.icmp(data, is_wide)?],
            O::Fcmp => vec![self.fcmp(data, is_wide)?],
            O::Select => {
                if wide(self.f.ty(r).scalar) {
                    return Err(refused("a choice of wide values"));
                }
                let mask = self.vector(data.args[0])?;
                let (a, b) = (self.vector(data.args[1])?, self.vector(data.args[2])?);
                vec![self.blend(mask, a, b)]
            }
            O::Fadd => self.either(
                pick(Code::VEX_Vaddps_ymm_ymm_ymmm256, Code::VEX_Vaddpd_ymm_ymm_ymmm256),
                data.args[0],
                data.args[1],
            )?,
            O::Fsub => self.each(
                pick(Code::VEX_Vsubps_ymm_ymm_ymmm256, Code::VEX_Vsubpd_ymm_ymm_ymmm256),
                data.args[0],
                data.args[1],
            )?,
            O::Fmul => self.either(
                pick(Code::VEX_Vmulps_ymm_ymm_ymmm256, Code::VEX_Vmulpd_ymm_ymm_ymmm256),
                data.args[0],
                data.args[1],
            )?,
            O::Fdiv => self.each(
                pick(Code::VEX_Vdivps_ymm_ymm_ymmm256, Code::VEX_Vdivpd_ymm_ymm_ymmm256),
                data.args[0],
                data.args[1],
            )?,
            O::Fma => vec![self.fma(data, is_wide)?],
            O::Fsqrt => {
                let a = self.vector(data.args[0])?;
                vec![self.v2(narrow(Code::VEX_Vsqrtps_ymm_ymmm256)?, a, Size::Y)]
            }
            O::Ffloor | O::Fceil | O::Fnearest | O::Ftrunc => {
                // Downwards, upwards, to even, to zero; nothing is raised.
                let way = match data.op {
                    O::Ffloor => 9,
                    O::Fceil => 10,
                    O::Ftrunc => 11,
                    _ => 8,
                };
                let code = pick(Code::VEX_Vroundps_ymm_ymmm256_imm8, Code::VEX_Vroundpd_ymm_ymmm256_imm8);
                let parts = self.parts(data.args[0])?;
                parts.iter().map(|&x| self.v2i(code, x, way)).collect()
            }
            O::Fcanon => {
                let Imm::Bits(nan) = data.imm else { return Err(malformed(data)) };
                let a = self.vector(data.args[0])?;
                let odd = self.compare(Code::VEX_Vcmpps_ymm_ymm_ymmm256_imm8, a, a, 3);
                let entry = self.constant_entry(scalar, nan);
                let d = self.a.zmm();
                let args = [A::Def(d, Size::Y), A::Use(a, Size::Y), A::Pool(entry), A::Use(odd, Size::Y)];
                self.a.put(Code::VEX_Vblendvps_ymm_ymm_ymmm256_ymm, &args, With::default());
                vec![d]
            }
            O::FcvtFromSint if self.f.ty(r).scalar == Scalar::F32 => {
                let a = self.vector(data.args[0])?;
                vec![self.v2(Code::VEX_Vcvtdq2ps_ymm_ymmm256, a, Size::Y)]
            }
            O::Fpromote => {
                let a = self.vector(data.args[0])?;
                let high = self.high(a);
                [a, high].map(|half| self.v2(Code::VEX_Vcvtps2pd_ymm_xmmm128, half, Size::X)).to_vec()
            }
            O::Trunc => {
                let parts = self.parts(data.args[0])?;
                let d = self.a.zmm();
                let args =
                    [A::Def(d, Size::Y), A::Use(parts[0], Size::Y), A::Use(parts[1], Size::Y), A::I8(0x88)];
                self.a.put(Code::VEX_Vshufps_ymm_ymm_ymmm256_imm8, &args, With::default());
                vec![self.v2i(Code::VEX_Vpermq_ymm_ymmm256_imm8, d, 0xd8)]
            }
            O::Lookup => vec![self.lookup(data)?],
            op => return Err(refused(op.name())),
        })
    }

    fn shift(&mut self, data: &InstData, is_wide: bool) -> Result<Vec<R>, Error> {
        let (a, b) = (self.parts(data.args[0])?, data.args[1]);
        let left = data.op == Opcode::Ishl;
        if let Kept::Const(by) = *self.kept(b)? {
            let code = match (data.op, is_wide) {
                (Opcode::Ishl, false) => Code::VEX_Vpslld_ymm_ymm_imm8,
                (Opcode::Ushr, false) => Code::VEX_Vpsrld_ymm_ymm_imm8,
                (Opcode::Sshr, false) => Code::VEX_Vpsrad_ymm_ymm_imm8,
                (Opcode::Ishl, true) => Code::VEX_Vpsllq_ymm_ymm_imm8,
                (Opcode::Ushr, true) => Code::VEX_Vpsrlq_ymm_ymm_imm8,
                _ => return Err(refused("a wide shift")),
            };
            let by = by as u8 & if is_wide { 63 } else { 31 };
            return Ok(a.iter().map(|&x| self.v2i(code, x, by)).collect());
        }
        if is_wide {
            return Err(refused("a wide shift"));
        }
        let low = self.words(&[31; 8]);
        let by = self.vector(b)?;
        let by = self.v3_pool(Code::VEX_Vpand_ymm_ymm_ymmm256, by, low);
        let code = match (left, data.op == Opcode::Ushr) {
            (true, _) => Code::VEX_Vpsllvd_ymm_ymm_ymmm256,
            (false, true) => Code::VEX_Vpsrlvd_ymm_ymm_ymmm256,
            (false, false) => Code::VEX_Vpsravd_ymm_ymm_ymmm256,
        };
        Ok(vec![self.v3(code, a[0], by)])
    }

    fn compare(&mut self, code: Code, a: R, b: R, condition: u8) -> R {
        let d = self.a.zmm();
        let args = [A::Def(d, Size::Y), A::Use(a, Size::Y), A::Use(b, Size::Y), A::I8(condition)];
        self.a.put(code, &args, With::default());
        d
    }

    fn icmp(&mut self, data: &InstData, is_wide: bool) -> Result<R, Error> {
        let Imm::Int(cc) = data.imm else { return Err(malformed(data)) };
        if is_wide {
            return Err(refused("a comparison of wide values"));
        }
        let (a, b) = (self.vector(data.args[0])?, self.vector(data.args[1])?);
        let (equal, greater) = (Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, Code::VEX_Vpcmpgtd_ymm_ymm_ymmm256);
        let (least, most) = (Code::VEX_Vpminud_ymm_ymm_ymmm256, Code::VEX_Vpmaxud_ymm_ymm_ymmm256);
        // Of unsigned numbers: whether one is the smaller or larger of both.
        let is_end = |e: &mut Self, code: Code| {
            let end = e.v3(code, a, b);
            e.v3(equal, end, a)
        };
        let (holds, complement) = match cc {
            IntCC::Eq => (self.v3(equal, a, b), false),
            IntCC::Ne => (self.v3(equal, a, b), true),
            IntCC::Sgt => (self.v3(greater, a, b), false),
            IntCC::Sle => (self.v3(greater, a, b), true),
            IntCC::Slt => (self.v3(greater, b, a), false),
            IntCC::Sge => (self.v3(greater, b, a), true),
            IntCC::Ule => (is_end(self, least), false),
            IntCC::Ugt => (is_end(self, least), true),
            IntCC::Uge => (is_end(self, most), false),
            IntCC::Ult => (is_end(self, most), true),
        };
        Ok(if complement { self.complement(holds) } else { holds })
    }

    fn fcmp(&mut self, data: &InstData, is_wide: bool) -> Result<R, Error> {
        let Imm::FloatCmp(cc, false) = data.imm else { return Err(refused("a flush")) };
        if is_wide {
            return Err(refused("a comparison of wide values"));
        }
        let condition = match cc {
            FloatCC::Eq => 0x00,
            FloatCC::Lt => 0x11,
            FloatCC::Le => 0x12,
            FloatCC::Gt => 0x1e,
            FloatCC::Ge => 0x1d,
            FloatCC::Ne => 0x04,
            FloatCC::Uno => 0x03,
            _ => return Err(refused("a comparison")),
        };
        let (a, b) = (self.vector(data.args[0])?, self.vector(data.args[1])?);
        Ok(self.compare(Code::VEX_Vcmpps_ymm_ymm_ymmm256_imm8, a, b, condition))
    }

    /// `a * b + c`.
    fn fma(&mut self, data: &InstData, is_wide: bool) -> Result<R, Error> {
        if is_wide || !self.options.target.has_fma() {
            return Err(refused("a product and a sum at once"));
        }
        let (mut x, mut y) = (data.args[0], data.args[1]);
        if matches!(self.kept(x)?, Kept::Const(_)) {
            (x, y) = (y, x);
        }
        let c = self.vector(data.args[2])?;
        let x = self.vector(x)?;
        let d = self.a.zmm();
        let y = match self.kept(y)?.clone() {
            Kept::Const(bits) => A::Pool(self.constant_entry(Scalar::F32, bits)),
            _ => A::Use(self.vector(y)?, Size::Y),
        };
        // The sum's register is used up, since it is mostly needed nowhere else.
        let args = [A::Reuse(d, c, Size::Y), A::Use(x, Size::Y), y];
        self.a.put(Code::VEX_Vfmadd231ps_ymm_ymm_ymmm256, &args, With::default());
        Ok(d)
    }

    fn high(&mut self, a: R) -> R {
        let d = self.a.zmm();
        let args = [A::Def(d, Size::X), A::Use(a, Size::Y), A::I8(1)];
        self.a.put(Code::VEX_Vextracti128_xmmm128_ymm_imm8, &args, With::default());
        d
    }

    // Memory.

    fn slot_place(&self, slot: usize) -> Result<Mem, Error> {
        let offset = self.offsets.get(slot).ok_or_else(|| refused("a slot"))?;
        Ok(Mem::at(self.frame, *offset as i32))
    }

    fn load32(&mut self, place: Mem) -> R {
        let d = self.a.zmm();
        self.a.put(Code::VEX_Vmovdqu_ymm_ymmm256, &[A::Def(d, Size::Y), A::Mem(place)], With::default());
        d
    }

    fn set_slot(&mut self, data: &InstData) -> Result<(), Error> {
        let Imm::Slot(slot) = data.imm else { return Err(malformed(data)) };
        let (place, value) = (self.slot_place(slot.index())?, arg(data, 0)?);
        if self.f.ty(value).scalar != Scalar::I32 {
            return Err(refused("a slot"));
        }
        let value = self.vector(value)?;
        let lanes = match data.args.get(1) {
            Some(&guard) => self.vector(guard)?,
            None => self.active,
        };
        let old = self.load32(place);
        let new = self.blend(lanes, value, old);
        self.a.put(Code::VEX_Vmovdqu_ymmm256_ymm, &[A::Mem(place), A::Use(new, Size::Y)], With::default());
        Ok(())
    }

    fn load(&mut self, data: &InstData) -> Result<(), Error> {
        let MemoryOperands { mem, address, guard, .. } = MemoryOperands::of(data)?;
        let r = result(data)?;
        if guard.is_some() {
            return Err(refused("a guarded load"));
        }
        match mem.space {
            Space::Const(0) => {
                let uniform = self.f.ty(r).uniform && self.f.ty(address).uniform;
                if !uniform || mem.bytes < 4 || mem.far {
                    return Err(refused("a constant of a lane"));
                }
                let offset = mem.offset as u32;
                let place = match self.kept(address)?.clone() {
                    Kept::Const(bits) => {
                        let at = (bits as u32).wrapping_add(offset) & BANK_MASK;
                        Mem::at(self.bank, at as i32)
                    }
                    _ => {
                        let at = self.general(address)?;
                        let at = self.a.add_imm(false, at, mem.offset.into());
                        let at = self.a.g1(Code::Movzx_r32_rm16, at, Size::D, Size::W);
                        Mem::indexed(self.bank, at, 1, 0)
                    }
                };
                self.define(r, Kept::Memory(place));
                Ok(())
            }
            Space::Global(0) if self.options.open_loads && !self.f.ty(address).uniform => {
                let parts = self.gather(mem, address)?;
                self.define(r, Kept::Parts(parts));
                Ok(())
            }
            _ => Err(refused("a load")),
        }
    }

    /// The elements of a vector of eight indices, zero-extended.
    fn elements(&mut self, of: R) -> [R; LANES as usize] {
        let place = Mem::stack(self.buffer * BYTES);
        self.buffer = (self.buffer + 1) % BUFFERS;
        self.a.put(Code::VEX_Vmovdqu_ymmm256_ymm, &[A::Mem(place), A::Use(of, Size::Y)], With::default());
        std::array::from_fn(|lane| self.a.load32(place.plus(4 * lane as i32)))
    }

    fn gather(&mut self, mem: MemAccess, address: Value) -> Result<Vec<R>, Error> {
        let addresses = self.vector(address)?;
        let addresses = self.elements(addresses);
        let image = self.image;
        let places = addresses.map(|at| Mem::indexed(image, at, 1, mem.offset));
        Ok(match (mem.bytes, mem.signed) {
            (8, _) => {
                let mut parts = Vec::new();
                for four in places.chunks(4) {
                    let halves = [0, 2].map(|n| {
                        let (low, both) = (self.a.zmm(), self.a.zmm());
                        let args = [A::Def(low, Size::X), A::Mem(four[n])];
                        self.a.put(Code::VEX_Vmovq_xmm_rm64, &args, With::default());
                        let args =
                            [A::Def(both, Size::X), A::Use(low, Size::X), A::Mem(four[n + 1]), A::I8(1)];
                        self.a.put(Code::VEX_Vpinsrq_xmm_xmm_rm64_imm8, &args, With::default());
                        both
                    });
                    parts.push(self.join(halves[0], halves[1]));
                }
                parts
            }
            (4, _) => vec![self.collect(&places.map(A::Mem))],
            (bytes @ (1 | 2), false) => {
                let code = if bytes == 1 { Code::Movzx_r32_rm8 } else { Code::Movzx_r32_rm16 };
                let words = places.map(|place| A::Use(self.a.gload(code, place, Size::D, None), Size::D));
                vec![self.collect(&words)]
            }
            _ => return Err(refused("a load")),
        })
    }

    /// A vector of eight words in memory or registers.
    fn collect(&mut self, words: &[A; LANES as usize]) -> R {
        let halves = [0, 4].map(|first| {
            let mut all = self.a.zmm();
            self.a.put(Code::VEX_Vmovd_xmm_rm32, &[A::Def(all, Size::X), words[first]], With::default());
            for n in 1..4 {
                let more = self.a.zmm();
                let args = [A::Def(more, Size::X), A::Use(all, Size::X), words[first + n], A::I8(n as u8)];
                self.a.put(Code::VEX_Vpinsrd_xmm_xmm_rm32_imm8, &args, With::default());
                all = more;
            }
            all
        });
        self.join(halves[0], halves[1])
    }

    fn join(&mut self, low: R, high: R) -> R {
        let d = self.a.zmm();
        let args = [A::Def(d, Size::Y), A::Use(low, Size::Y), A::Use(high, Size::X), A::I8(1)];
        self.a.put(Code::VEX_Vinserti128_ymm_ymm_xmmm128_imm8, &args, With::default());
        d
    }

    fn lookup(&mut self, data: &InstData) -> Result<R, Error> {
        let Imm::Table(table) = data.imm else { return Err(malformed(data)) };
        let number = match self.tables.iter().position(|known| std::ptr::eq(*known, table)) {
            Some(number) => number,
            None => {
                self.tables.push(table);
                self.tables.len() - 1
            }
        };
        let tables = self.a.load64g(Mem::at(self.context, at::TABLES));
        let base = self.a.load64g(Mem::at(tables, 8 * number as i32));
        let index = self.vector(arg(data, 0)?)?;
        let mask = self.words(&[table.index_mask(); 8]);
        let index = self.v3_pool(Code::VEX_Vpand_ymm_ymm_ymmm256, index, mask);
        let indices = self.elements(index);
        Ok(self.collect(&indices.map(|at| A::Mem(Mem::indexed(base, at, 4, 0)))))
    }
}

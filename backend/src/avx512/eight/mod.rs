//! Vectors of 256 bits for hosts without AVX-512: code for functions that do nothing but compute, load and set slots, as generated
//! samplers do.
//!
//! A chunk is eight lanes. A narrow value of all lanes is one register, a wide one two, a mask is a vector with all bits of a lane set or
//! none. What is the same in all lanes is in a general register, or is loaded where it is needed. Functions with anything else are refused
//! ([`Error::Refused`]): Cranelift's code does all.

mod compute;
mod memory;

use foldhash::{HashMap, HashMapExt};
use iced_x86::Code;
use regalloc2::RegClass;
use warpjit_ir::types::Scalar;
use warpjit_ir::{Block, BlockCall, Function, Terminator, Value, WordTable};

use super::asm::{A, Asm, Mem, R, With};
use super::code::{Flags, Size, VCode};
use super::emit::{self, preg};
use super::scalar::SHR;
use crate::code::{FloatEnv, Listing, RegionCode};
use crate::context::at;
use crate::error::Error;
use crate::flow::Order;
use crate::operands::wide;
use crate::options::Options;

/// Lanes of a chunk.
const LANES: u32 = 8;

/// Compiles a function.
pub(crate) fn compile(f: &Function, options: &Options) -> Result<RegionCode, Error> {
    let mut lower = Lower::new(f, options);
    lower.function()?;
    let Lower { a, tables, .. } = lower;
    let code = VCode::new(a.blocks, a.operands, a.vregs, emit::call_clobbers(), false);
    let emitted = emit::emit(&code, &a.pool, 0, options)?;
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
}

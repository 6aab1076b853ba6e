//! Register allocation and encoding.

use std::sync::OnceLock;

use iced_x86::{Code, Encoder, Instruction, OpKind, Register, RoundingControl};
use regalloc2::{
    Algorithm, Allocation, Edit, InstOrEdit, MachineEnv, PReg, PRegSet, RegClass, RegallocOptions,
};

use super::code::{Arg, Flags, Kind, MInst, NO_SITE, Place, Size, VCode};
use crate::error::Error;
use crate::listing;
use crate::trap::HostPlace;

/// General registers that a call loses.
const CALLER_SAVED: [u8; 8] = [0, 1, 2, 6, 7, 8, 9, 10];
/// Those that the code must give back as they were.
const CALLEE_SAVED: [u8; 6] = [3, 5, 12, 13, 14, 15];
/// For the allocator's moves.
const SCRATCH: u8 = 11;
/// Vector registers that are given out; the last is for moves.
const VECTORS: u8 = 31;
/// The same of AVX2.
const MIDDLE_VECTORS: u8 = 15;

/// The register of a class by its number.
pub(super) const fn preg(class: RegClass, number: u8) -> PReg {
    PReg::new(number as usize, class)
}

fn set(class: RegClass, numbers: impl IntoIterator<Item = u8>) -> PRegSet {
    let mut set = PRegSet::empty();
    for n in numbers {
        set.add(preg(class, n));
    }
    set
}

fn machine(vectors: u8) -> &'static MachineEnv {
    static WIDE: OnceLock<MachineEnv> = OnceLock::new();
    static MIDDLE: OnceLock<MachineEnv> = OnceLock::new();
    let env = if vectors == VECTORS { &WIDE } else { &MIDDLE };
    env.get_or_init(|| MachineEnv {
        preferred_regs_by_class: [
            set(RegClass::Int, CALLER_SAVED),
            set(RegClass::Float, 0..vectors),
            // k0 is no write mask.
            set(RegClass::Vector, 1..8),
        ],
        non_preferred_regs_by_class: [set(RegClass::Int, CALLEE_SAVED), PRegSet::empty(), PRegSet::empty()],
        scratch_by_class: [
            Some(preg(RegClass::Int, SCRATCH)),
            Some(preg(RegClass::Float, vectors)),
            Some(preg(RegClass::Vector, 0)),
        ],
        fixed_stack_slots: Vec::new(),
    })
}

/// What a call loses.
pub(super) fn call_clobbers() -> PRegSet {
    let mut all = set(RegClass::Int, CALLER_SAVED);
    all.union_from(set(RegClass::Float, 0..VECTORS));
    all.union_from(set(RegClass::Vector, 1..8));
    all
}

/// An instruction that may trap.
pub(super) struct EmittedSite {
    pub offset: u32,
    /// Number of the site.
    pub site: u32,
    /// The registers that its address is made of.
    pub accessed: Option<HostPlace>,
}

/// Encoded code.
pub(super) struct Emitted {
    pub code: Vec<u8>,
    /// By offset.
    pub sites: Vec<EmittedSite>,
    /// Offset and guest address, where the latter changes.
    pub pcs: Vec<(u32, u32)>,
    pub listing: String,
}

/// Where short loops start: at multiples of so many bytes. They take 3 to 5 % longer where they start anywhere
/// (spmv_csr, switch_vm). Of long ones some take longer so (aes 2.04 and 2.29 ms; dgemm_naive 34 and, at multiples of
/// 64, 48).
const LOOP_START: usize = 32;
/// Most instructions of a short loop.
const SHORT_LOOP: usize = 32;

/// Constants behind the code: each aligned to its size.
#[derive(Default, Debug)]
pub(super) struct Pool {
    pub entries: Vec<Vec<u8>>,
}

impl Pool {
    /// The place of a constant.
    pub fn add(&mut self, bytes: &[u8]) -> u32 {
        let found = self.entries.iter().position(|e| e == bytes);
        found.unwrap_or_else(|| {
            self.entries.push(bytes.to_vec());
            self.entries.len() - 1
        }) as u32
    }
}

fn register(class: RegClass, number: usize, size: Size) -> Register {
    let n = number as u32;
    match (class, size) {
        (RegClass::Vector, _) => Register::K0 + n,
        (RegClass::Float, Size::X) => Register::XMM0 + n,
        (RegClass::Float, Size::Y) => Register::YMM0 + n,
        (RegClass::Float, _) => Register::ZMM0 + n,
        // AL, CL, DL, BL, AH, ...: the low bytes of the others come behind.
        (RegClass::Int, Size::B) => {
            if n < 4 {
                Register::AL + n
            } else {
                Register::SPL + (n - 4)
            }
        }
        (RegClass::Int, Size::W) => Register::AX + n,
        (RegClass::Int, Size::D) => Register::EAX + n,
        (RegClass::Int, _) => Register::RAX + n,
    }
}

struct Emitter<'a> {
    encoder: Encoder,
    vcode: &'a VCode,
    /// Offsets of the blocks' starts.
    starts: Vec<u32>,
    /// The block whose code comes behind that of each.
    behind: Vec<usize>,
    /// Branches: where the distance stands, and the block.
    jumps: Vec<(usize, usize)>,
    /// Where the distance to a constant stands, where the instruction ends, the constant.
    constants: Vec<(usize, usize, u32)>,
    saved: Vec<u8>,
    frame: i32,
    saved_sp: i32,
    /// Where what registers do not hold stands from the stack pointer on.
    slots: i32,
    sites: Vec<EmittedSite>,
    pcs: Vec<(u32, u32)>,
    /// Vectors have 256 bits.
    is_middle: bool,
    list: Option<String>,
    /// The guest address to be shown at the next instruction.
    shown: Option<u32>,
    at: usize,
    /// Where a block leads that is nothing but a jump; else the block itself.
    forward: Vec<usize>,
}

/// Allocates registers and encodes.
///
/// `buffer_bytes` of the stack frame are the code's own.
pub(super) fn emit(
    vcode: &VCode,
    pool: &Pool,
    buffer_bytes: u32,
    settings: &crate::Options,
) -> Result<Emitted, Error> {
    // Not Fastalloc: in 0.15.2 values that live through loops end up in other registers than it says, as regalloc2's own checker finds.
    let options = RegallocOptions {
        verbose_log: false,
        validate_ssa: cfg!(debug_assertions),
        algorithm: Algorithm::Ion,
    };
    let vectors = if settings.eight_lanes { MIDDLE_VECTORS } else { VECTORS };
    let out = regalloc2::run(vcode, machine(vectors), &options)
        .map_err(|e| Error::Codegen(format!("register allocation: {e:?}")))?;
    let mut saved = Vec::new();
    let mut note = |a: Allocation| {
        if let Some(r) = a.as_reg()
            && r.class() == RegClass::Int
            && CALLEE_SAVED.contains(&(r.hw_enc() as u8))
            && !saved.contains(&(r.hw_enc() as u8))
        {
            saved.push(r.hw_enc() as u8);
        }
    };
    out.allocs.iter().copied().for_each(&mut note);
    for (_, Edit::Move { from, to }) in &out.edits {
        note(*from);
        note(*to);
    }
    let spills = out.num_spillslots as u32 * 8;
    let saved_sp = (buffer_bytes.next_multiple_of(64) + spills) as i32;
    // The old stack pointer, up to a multiple of 64 bytes and as many to align the frame; registers of the caller.
    crate::code::check_stack(
        saved_sp as u32 + 8 + 2 * 64 + 8 * CALLEE_SAVED.len() as u32,
        settings.most_stack_bytes,
    )?;
    let mut e = Emitter {
        encoder: Encoder::new(64),
        vcode,
        starts: vec![0; vcode.ranges.len()],
        behind: vec![usize::MAX; vcode.ranges.len()],
        jumps: Vec::new(),
        constants: Vec::new(),
        saved,
        frame: (saved_sp as u32 + 8).next_multiple_of(64) as i32,
        saved_sp,
        slots: buffer_bytes.next_multiple_of(64) as i32,
        sites: Vec::new(),
        pcs: vec![(0, crate::NO_PC)],
        is_middle: settings.eight_lanes,
        list: settings.list.then(String::new),
        shown: None,
        at: 0,
        forward: Vec::new(),
    };
    e.prologue()?;
    let mut pc = None;
    // Blocks that are nothing but a jump.
    for block in 0..vcode.ranges.len() {
        let b = regalloc2::Block::new(block);
        let mut items = out.block_insts_and_edits(vcode, b);
        let jump = |i: regalloc2::Inst| vcode.insts[i.index()].kind == Kind::Jump;
        let empty = matches!(items.next(), Some(InstOrEdit::Inst(i)) if jump(i));
        e.forward.push(if empty { vcode.succs[block][0].index() } else { block });
    }
    let written: Vec<usize> =
        vcode.written.iter().copied().filter(|&b| e.forward[b] == b || b == 0).collect();
    for pair in written.windows(2) {
        e.behind[pair[0]] = pair[1];
    }
    let heads = e.loop_heads(&written);
    for block in written {
        if heads[block] {
            e.align();
        }
        e.starts[block] = e.at as u32;
        if let Some(text) = &mut e.list {
            text.push_str(&format!("block{block}:\n"));
        }
        for item in out.block_insts_and_edits(vcode, regalloc2::Block::new(block)) {
            match item {
                InstOrEdit::Edit(Edit::Move { from, to }) => e.move_between(*from, *to)?,
                InstOrEdit::Inst(inst) => {
                    let data = &vcode.insts[inst.index()];
                    if pc != Some(data.pc) {
                        pc = Some(data.pc);
                        let at = e.at as u32;
                        // What is of no bytes is of no instruction.
                        e.pcs.pop_if(|last| last.0 == at);
                        if e.pcs.last().is_none_or(|last| last.1 != data.pc) {
                            e.pcs.push((at, data.pc));
                        }
                        e.shown = Some(data.pc).filter(|&pc| pc != crate::NO_PC);
                    }
                    e.inst(block, data, out.inst_allocs(inst))?;
                }
            }
        }
    }
    e.finish(pool)
}

/// The registers that hold an instruction's operands.
fn reg_of(a: Allocation, size: Size) -> Result<Register, Error> {
    let r = a.as_reg().ok_or_else(|| Error::Codegen("operand without a register".into()))?;
    Ok(register(r.class(), r.hw_enc(), size))
}

impl Emitter<'_> {
    fn put(&mut self, inst: &Instruction) -> Result<usize, Error> {
        let n = self
            .encoder
            .encode(inst, self.at as u64)
            .map_err(|e| Error::Codegen(format!("{:?}: {e}", inst.code())))?;
        #[cfg(feature = "listings")]
        if let Some(text) = &mut self.list {
            use iced_x86::{Formatter, IntelFormatter};
            let mut line = String::new();
            let mut formatter = IntelFormatter::new();
            formatter.options_mut().set_space_after_operand_separator(true);
            formatter.format(inst, &mut line);
            let column = self.shown.take().map_or_else(String::new, |pc| format!("@{pc:#x}"));
            text.push_str(&format!("{column:10}{:5x}  {line}\n", self.at));
        }
        let start = self.at;
        self.at += n;
        Ok(start)
    }

    /// Makes the next instruction start where a loop should.
    fn align(&mut self) {
        const NOPS: [&[u8]; 9] = [
            &[0x90],
            &[0x66, 0x90],
            &[0x0f, 0x1f, 0x00],
            &[0x0f, 0x1f, 0x40, 0x00],
            &[0x0f, 0x1f, 0x44, 0x00, 0x00],
            &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00],
            &[0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00],
            &[0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
            &[0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
        ];
        let mut left = self.at.next_multiple_of(LOOP_START) - self.at;
        while left > 0 {
            let nop = NOPS[left.min(NOPS.len()) - 1];
            nop.iter().for_each(|&byte| self.encoder.write_u8(byte));
            self.at += nop.len();
            left -= nop.len();
        }
    }

    fn simple(&mut self, code: Code, regs: &[Register]) -> Result<(), Error> {
        let mut i = Instruction::new();
        i.set_code(code);
        for (n, &r) in regs.iter().enumerate() {
            i.set_op_kind(n as u32, OpKind::Register);
            i.set_op_register(n as u32, r);
        }
        self.put(&i).map(|_| ())
    }

    fn with_stack(&mut self, code: Code, reg: Register, store: bool, disp: i32) -> Result<(), Error> {
        let mut i = Instruction::new();
        i.set_code(code);
        let (r, m) = if store { (1, 0) } else { (0, 1) };
        i.set_op_kind(r, OpKind::Register);
        i.set_op_register(r, reg);
        i.set_op_kind(m, OpKind::Memory);
        stack_operand(&mut i, disp);
        self.put(&i).map(|_| ())
    }

    fn with_imm(&mut self, code: Code, reg: Register, imm: i32) -> Result<(), Error> {
        let mut i = Instruction::new();
        i.set_code(code);
        i.set_op_kind(0, OpKind::Register);
        i.set_op_register(0, reg);
        i.set_op_kind(1, OpKind::Immediate32to64);
        i.set_immediate32to64(i64::from(imm));
        self.put(&i).map(|_| ())
    }

    fn prologue(&mut self) -> Result<(), Error> {
        for n in self.saved.clone() {
            self.simple(Code::Push_r64, &[register(RegClass::Int, usize::from(n), Size::Q)])?;
        }
        let scratch = register(RegClass::Int, usize::from(SCRATCH), Size::Q);
        self.simple(Code::Mov_r64_rm64, &[scratch, Register::RSP])?;
        self.with_imm(Code::Sub_rm64_imm32, Register::RSP, self.frame)?;
        self.with_imm(Code::And_rm64_imm32, Register::RSP, -64)?;
        self.with_stack(Code::Mov_rm64_r64, scratch, true, self.saved_sp)
    }

    fn epilogue(&mut self) -> Result<(), Error> {
        self.with_stack(Code::Mov_r64_rm64, Register::RSP, false, self.saved_sp)?;
        for n in self.saved.clone().into_iter().rev() {
            self.simple(Code::Pop_r64, &[register(RegClass::Int, usize::from(n), Size::Q)])?;
        }
        self.simple(Code::VEX_Vzeroupper, &[])?;
        self.simple(Code::Retnq, &[])
    }

    /// Where a spilled value stands from the stack pointer on.
    fn slot(&self, a: Allocation) -> i32 {
        self.slots + a.as_stack().map_or(0, |s| s.index() as i32 * 8)
    }

    fn move_between(&mut self, from: Allocation, to: Allocation) -> Result<(), Error> {
        if from == to {
            return Ok(());
        }
        let is_middle = self.is_middle;
        let codes = |class: RegClass| match class {
            RegClass::Float if is_middle => {
                (Code::VEX_Vmovaps_ymm_ymmm256, Code::VEX_Vmovaps_ymmm256_ymm, Code::VEX_Vmovaps_ymm_ymmm256)
            }
            RegClass::Int => (Code::Mov_r64_rm64, Code::Mov_rm64_r64, Code::Mov_r64_rm64),
            RegClass::Float => (
                Code::EVEX_Vmovaps_zmm_k1z_zmmm512,
                Code::EVEX_Vmovaps_zmmm512_k1z_zmm,
                Code::EVEX_Vmovaps_zmm_k1z_zmmm512,
            ),
            RegClass::Vector => (Code::VEX_Kmovq_kr_km64, Code::VEX_Kmovq_m64_kr, Code::VEX_Kmovq_kr_km64),
        };
        let wide = |class: RegClass| match class {
            RegClass::Int => Size::Q,
            RegClass::Float if is_middle => Size::Y,
            _ => Size::Z,
        };
        match (from.as_reg(), to.as_reg()) {
            (Some(a), Some(b)) => {
                let (between, ..) = codes(a.class());
                let of = |r: PReg| register(r.class(), r.hw_enc(), wide(r.class()));
                self.simple(between, &[of(b), of(a)])
            }
            (Some(a), None) => {
                let (_, store, _) = codes(a.class());
                self.with_stack(store, register(a.class(), a.hw_enc(), wide(a.class())), true, self.slot(to))
            }
            (None, Some(b)) => {
                let (.., load) = codes(b.class());
                self.with_stack(
                    load,
                    register(b.class(), b.hw_enc(), wide(b.class())),
                    false,
                    self.slot(from),
                )
            }
            (None, None) => Err(Error::Codegen("a move between stack slots".into())),
        }
    }

    fn inst(&mut self, block: usize, data: &MInst, allocs: &[Allocation]) -> Result<(), Error> {
        match data.kind {
            Kind::Entry => Ok(()),
            Kind::Return => self.epilogue(),
            Kind::Jump => {
                let to = self.target(self.vcode.succs[block][0].index());
                self.jump(block, to)
            }
            Kind::Branch(condition) => {
                let way = |n: usize| self.target(self.vcode.succs[block][n].index());
                let (taken, next) = (way(0), way(1));
                if taken == self.next_of(block) {
                    self.jump_if(condition.jump().1, next)
                } else if next != self.next_of(block) && self.is_cold(taken) && !self.is_cold(block) {
                    self.jump_if(condition.jump().1, next)?;
                    self.jump(block, taken)
                } else {
                    self.jump_if(condition, taken)?;
                    self.jump(block, next)
                }
            }
            Kind::Call(offset) => {
                if data.clobbers {
                    // No vector is wanted behind it, and the function's may be of 128 bits, without VEX.
                    self.simple(Code::VEX_Vzeroupper, &[])?;
                }
                let mut i = Instruction::new();
                i.set_code(Code::Call_rm64);
                i.set_op_kind(0, OpKind::Memory);
                let base = reg_of(allocs[0], Size::Q)?;
                memory(&mut i, base, None, offset);
                self.put(&i).map(|_| ())
            }
            Kind::Host(code) => self.host(code, data, allocs),
        }
    }

    fn host(&mut self, code: Code, data: &MInst, allocs: &[Allocation]) -> Result<(), Error> {
        let mut i = Instruction::new();
        i.set_code(code);
        let mut constant = None;
        let mut accessed = None;
        for (n, arg) in data.args.iter().flatten().enumerate() {
            let n = n as u32;
            match *arg {
                Arg::Reg(at, _) if allocs[usize::from(at)].is_stack() => {
                    i.set_op_kind(n, OpKind::Memory);
                    stack_operand(&mut i, self.slot(allocs[usize::from(at)]));
                }
                Arg::Reg(at, size) => {
                    i.set_op_kind(n, OpKind::Register);
                    i.set_op_register(n, reg_of(allocs[usize::from(at)], size)?);
                }
                Arg::I8(x) => {
                    i.set_op_kind(n, OpKind::Immediate8);
                    i.set_immediate8(x);
                }
                Arg::I32(x) => {
                    i.set_op_kind(n, OpKind::Immediate32);
                    i.set_immediate32(x as u32);
                }
                Arg::I32to64(x) => {
                    i.set_op_kind(n, OpKind::Immediate32to64);
                    i.set_immediate32to64(i64::from(x));
                }
                Arg::I64(x) => {
                    i.set_op_kind(n, OpKind::Immediate64);
                    i.set_immediate64(x);
                }
                Arg::Mem(place) => {
                    i.set_op_kind(n, OpKind::Memory);
                    match place {
                        Place::Stack(index, disp) => {
                            let index = match index {
                                Some((at, size, scale)) => {
                                    Some((reg_of(allocs[usize::from(at)], size)?, scale))
                                }
                                None => None,
                            };
                            memory(&mut i, Register::RSP, index, disp);
                        }
                        Place::Pool(entry) => {
                            i.set_memory_base(Register::RIP);
                            i.set_memory_displ_size(8);
                            i.set_memory_displacement64(self.at as u64);
                            constant = Some(entry);
                        }
                        Place::At { base, index, disp } => {
                            let base = allocs[usize::from(base)];
                            let number = |of: Allocation| of.as_reg().map_or(0, |r| r.hw_enc() as u8);
                            let general = index
                                .filter(|&(_, size, _)| size == Size::Q)
                                .map(|(at, _, scale)| (number(allocs[usize::from(at)]), scale));
                            accessed = Some(HostPlace { base: number(base), index: general, disp });
                            let base = reg_of(base, Size::Q)?;
                            let index = match index {
                                Some((at, size, scale)) => {
                                    Some((reg_of(allocs[usize::from(at)], size)?, scale))
                                }
                                None => None,
                            };
                            memory(&mut i, base, index, disp);
                        }
                    }
                }
            }
        }
        if let Some(k) = data.mask {
            i.set_op_mask(reg_of(allocs[usize::from(k)], Size::K)?);
        }
        i.set_zeroing_masking(data.zeroing);
        i.set_is_broadcast(data.broadcast);
        i.set_has_lock_prefix(data.locked);
        if data.to_zero {
            i.set_rounding_control(RoundingControl::RoundTowardZero);
        }
        let start = self.put(&i)?;
        if data.site != NO_SITE {
            self.sites.push(EmittedSite { offset: start as u32, site: data.site, accessed });
        }
        if let Some(entry) = constant {
            let at = self.encoder.get_constant_offsets().displacement_offset();
            self.constants.push((start + at, self.at, entry));
            self.list.iter_mut().for_each(|text| listing::name_constant(text, entry));
        }
        Ok(())
    }

    /// A jump unless the block comes next.
    fn jump(&mut self, from: usize, to: usize) -> Result<(), Error> {
        if to == self.next_of(from) {
            return Ok(());
        }
        self.near(Code::Jmp_rel32_64, to)
    }

    /// Blocks that those written not far behind them jump to, as far as neither is cold.
    fn loop_heads(&self, written: &[usize]) -> Vec<bool> {
        let mut heads = vec![false; self.vcode.ranges.len()];
        // Instructions before each block, of those that have been looked at.
        let mut before: Vec<Option<usize>> = vec![None; self.vcode.ranges.len()];
        let mut count = 0;
        for &block in written {
            before[block] = Some(count);
            count += self.vcode.ranges[block].len();
            for to in &self.vcode.succs[block] {
                let to = self.target(to.index());
                let short = before[to].is_some_and(|start| count - start <= SHORT_LOOP);
                heads[to] |= short && !self.is_cold(block) && !self.is_cold(to);
            }
        }
        heads
    }

    /// Where a way leads in the end.
    fn target(&self, mut block: usize) -> usize {
        // A loop of nothing but jumps ends at one of them.
        for _ in 0..self.forward.len() {
            match self.forward[block] {
                b if b == block => break,
                b => block = b,
            }
        }
        block
    }

    /// Whether a block is one of those at the end.
    fn is_cold(&self, block: usize) -> bool {
        self.vcode.cold[block]
    }

    /// The block whose code comes behind that of another.
    fn next_of(&self, block: usize) -> usize {
        self.behind[block]
    }

    fn jump_if(&mut self, condition: Flags, to: usize) -> Result<(), Error> {
        self.near(condition.jump().0, to)
    }

    fn near(&mut self, code: Code, to: usize) -> Result<(), Error> {
        let mut i = Instruction::new();
        i.set_code(code);
        i.set_op_kind(0, OpKind::NearBranch64);
        // The distance is filled in later.
        i.set_near_branch64(self.at as u64);
        self.put(&i)?;
        if let Some(text) = &mut self.list {
            // In place of the distance, which is filled in later.
            let end = text.trim_end().rfind(' ').map_or(text.len(), |at| at + 1);
            text.replace_range(end.., &format!("block{to}\n"));
        }
        self.jumps.push((self.at - 4, to));
        Ok(())
    }

    fn finish(mut self, pool: &Pool) -> Result<Emitted, Error> {
        let mut code = self.encoder.take_buffer();
        for &(at, block) in &self.jumps {
            let distance = self.starts[block] as i64 - (at as i64 + 4);
            code[at..at + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        let mut order: Vec<usize> = (0..pool.entries.len()).collect();
        order.sort_by_key(|&n| std::cmp::Reverse(pool.entries[n].len()));
        let mut places = vec![0usize; pool.entries.len()];
        if !order.is_empty() {
            // Whole vectors do not cross lines of the cache: code stands at multiples of 64.
            let largest = pool.entries.iter().map(Vec::len).max().unwrap_or(0);
            code.resize(code.len().next_multiple_of(if largest < 32 { 16 } else { 64 }), 0xcc);
        }
        for n in order {
            places[n] = code.len();
            self.list.iter_mut().for_each(|text| listing::constant(text, n, code.len(), &pool.entries[n]));
            code.extend(&pool.entries[n]);
        }
        for &(at, end, entry) in &self.constants {
            let distance = places[entry as usize] as i64 - end as i64;
            code[at..at + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        self.sites.sort_unstable_by_key(|site| site.offset);
        Ok(Emitted { code, sites: self.sites, pcs: self.pcs, listing: self.list.unwrap_or_default() })
    }
}

fn stack_operand(i: &mut Instruction, disp: i32) {
    memory(i, Register::RSP, None, disp);
}

fn memory(i: &mut Instruction, base: Register, index: Option<(Register, u8)>, disp: i32) {
    i.set_memory_base(base);
    if let Some((index, scale)) = index {
        i.set_memory_index(index);
        i.set_memory_index_scale(u32::from(scale));
    }
    i.set_memory_displ_size(u32::from(disp != 0));
    i.set_memory_displacement64(i64::from(disp) as u64);
}

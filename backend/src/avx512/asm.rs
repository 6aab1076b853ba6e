//! Writing machine instructions: values are virtual registers in SSA, so each method gives a new one.

use foldhash::{HashSet, HashSetExt};
use iced_x86::{Code, EncodingKind};
use regalloc2::{Block, Operand, OperandConstraint, OperandKind, OperandPos, PReg, RegClass, VReg};

use super::code::{Arg, BlockData, Flags, Kind, MInst, NEVER, NO_SITE, Place, Size};
use super::emit::Pool;

/// A register.
pub(super) type R = VReg;

/// The last operand of a vector operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Src {
    /// A register.
    R(R),
    /// The same 32 bits in all elements.
    C32(u32),
    /// The same 64 bits.
    C64(u64),
    /// A vector of the pool.
    Pool(u32),
}

/// A place in memory: base, index and scale, displacement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mem {
    pub base: Base,
    pub index: Option<(R, u8)>,
    pub disp: i32,
}

/// What a place is counted from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Base {
    Reg(R),
    Stack,
}

impl Mem {
    pub fn at(base: R, disp: i32) -> Mem {
        Mem { base: Base::Reg(base), index: None, disp }
    }

    pub fn indexed(base: R, index: R, scale: u8, disp: i32) -> Mem {
        Mem { base: Base::Reg(base), index: Some((index, scale)), disp }
    }

    pub fn stack(disp: i32) -> Mem {
        Mem { base: Base::Stack, index: None, disp }
    }

    pub fn plus(self, more: i32) -> Mem {
        Mem { disp: self.disp.wrapping_add(more), ..self }
    }
}

/// An operand given to [`Asm::put`].
#[derive(Clone, Copy, Debug)]
pub(super) enum A {
    /// Result in a new register.
    Def(R, Size),
    /// Result in the register of the operand at that place of the list, which is read as well.
    Reuse(R, R, Size),
    Use(R, Size),
    Mem(Mem),
    /// Base and a vector of indices.
    Vsib(R, R, Size, u8, i32),
    Pool(u32),
    /// The register of an operand before, by its number.
    Again(u8, Size),
    I8(u8),
    I32(i32),
    I32to64(i32),
    I64(u64),
}

/// What may be said of an instruction besides its operands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct With {
    pub mask: Option<R>,
    /// The mask is used up: its remains go here.
    pub mask_left: Option<R>,
    pub zeroing: bool,
    pub broadcast: bool,
    pub to_zero: bool,
    /// Other processors see it as one.
    pub locked: bool,
    pub site: Option<u32>,
    /// [`MInst::steady`].
    pub steady: Option<u8>,
}

/// A function that is being written.
pub(super) struct Asm {
    pub blocks: Vec<BlockData>,
    pub operands: Vec<Operand>,
    pub vregs: usize,
    /// Registers that 32 bits were written to: the upper half is zero.
    short: HashSet<R>,
    pub pool: Pool,
    /// The block that is written.
    pub current: Block,
    /// Guest address of what is written.
    pub pc: u32,
    /// Whether new blocks are cold.
    pub cold: bool,
}

fn operand(v: R, constraint: OperandConstraint, kind: OperandKind, pos: OperandPos) -> Operand {
    Operand::new(v, constraint, kind, pos)
}

/// Whether an operand of 512 bits, or of 256 in code for AVX2, may be one in memory.
fn takes_memory(code: Code, operand: usize, size: Size) -> bool {
    use iced_x86::OpCodeOperandKind::{ymm_or_mem, zmm_or_mem};
    let (op, number) = (code.op_code(), operand as u32);
    match size {
        Size::Z => op.op_kind(number) == zmm_or_mem,
        Size::Y => op.op_kind(number) == ymm_or_mem && op.encoding() == EncodingKind::VEX,
        _ => false,
    }
}

impl Asm {
    pub fn new() -> Asm {
        Asm {
            blocks: vec![BlockData::default()],
            operands: Vec::new(),
            vregs: 0,
            short: HashSet::new(),
            pool: Pool::default(),
            current: Block::new(0),
            pc: crate::NO_PC,
            cold: false,
        }
    }

    pub fn reg(&mut self, class: RegClass) -> R {
        self.vregs += 1;
        VReg::new(self.vregs - 1, class)
    }

    /// Whether the upper half of a general register is known to be zero.
    pub fn is_short(&self, v: R) -> bool {
        self.short.contains(&v)
    }

    pub fn gpr(&mut self) -> R {
        self.reg(RegClass::Int)
    }

    pub fn zmm(&mut self) -> R {
        self.reg(RegClass::Float)
    }

    pub fn k(&mut self) -> R {
        self.reg(RegClass::Vector)
    }

    pub fn block(&mut self) -> Block {
        let cold = self.cold;
        self.blocks.push(BlockData { cold, ..BlockData::default() });
        Block::new(self.blocks.len() - 1)
    }

    pub fn cold_block(&mut self) -> Block {
        let b = self.block();
        self.blocks[b.index()].cold = true;
        b
    }

    /// Goes on in another block.
    pub fn switch_to(&mut self, b: Block) {
        self.current = b;
        self.cold = self.blocks[b.index()].cold;
    }

    pub fn param(&mut self, b: Block, class: RegClass) -> R {
        let v = self.reg(class);
        self.blocks[b.index()].params.push(v);
        v
    }

    fn push(&mut self, inst: MInst) {
        self.blocks[self.current.index()].insts.push(inst);
    }

    fn empty(&self, kind: Kind) -> MInst {
        let n = self.operands.len() as u32;
        MInst {
            kind,
            args: [None; 4],
            operands: (n, n),
            mask: None,
            zeroing: false,
            broadcast: false,
            to_zero: false,
            locked: false,
            site: NO_SITE,
            steady: NEVER,
            pc: self.pc,
            clobbers: false,
        }
    }

    /// An instruction.
    pub fn put(&mut self, code: Code, args: &[A], with: With) {
        use OperandConstraint::{Reg, Reuse};
        use OperandKind::{Def, Use};
        use OperandPos::{Early, Late};
        let mut inst = self.empty(Kind::Host(code));
        let first = inst.operands.0;
        let mut n = 0u8;
        let mut add = |operands: &mut Vec<Operand>, o: Operand| {
            operands.push(o);
            n += 1;
            n - 1
        };
        let list = &mut self.operands;
        for (at, arg) in args.iter().enumerate() {
            if let A::Def(v, Size::D) | A::Reuse(v, _, Size::D) = *arg {
                self.short.insert(v);
            }
            inst.args[at] = Some(match *arg {
                A::Def(v, size) => Arg::Reg(add(list, operand(v, Reg, Def, Late)), size),
                A::Reuse(v, old, size) => {
                    let old = add(list, operand(old, Reg, Use, Early));
                    Arg::Reg(add(list, operand(v, Reuse(usize::from(old)), Def, Late)), size)
                }
                A::Use(v, size) => {
                    let constraint = if !with.to_zero && takes_memory(code, at, size) {
                        OperandConstraint::Any
                    } else {
                        Reg
                    };
                    Arg::Reg(add(list, operand(v, constraint, Use, Early)), size)
                }
                A::Mem(mem) => {
                    let base = match mem.base {
                        Base::Stack => None,
                        Base::Reg(v) => Some(add(list, operand(v, Reg, Use, Early))),
                    };
                    let index = mem.index.map(|(v, scale)| {
                        let v = add(list, operand(v, Reg, Use, Early));
                        (v, Size::Q, scale)
                    });
                    Arg::Mem(match base {
                        Some(base) => Place::At { base, index, disp: mem.disp },
                        None => Place::Stack(index, mem.disp),
                    })
                }
                A::Vsib(base, index, size, scale, disp) => {
                    let base = add(list, operand(base, Reg, Use, Early));
                    let index = add(list, operand(index, Reg, Use, Late));
                    Arg::Mem(Place::At { base, index: Some((index, size, scale)), disp })
                }
                A::Pool(entry) => Arg::Mem(Place::Pool(entry)),
                A::Again(n, size) => Arg::Reg(n, size),
                A::I8(x) => Arg::I8(x),
                A::I32(x) => Arg::I32(x),
                A::I32to64(x) => Arg::I32to64(x),
                A::I64(x) => Arg::I64(x),
            });
        }
        if let Some(k) = with.mask {
            let old = add(list, operand(k, Reg, Use, Early));
            inst.mask = Some(match with.mask_left {
                Some(left) => add(list, operand(left, Reuse(usize::from(old)), Def, Late)),
                None => old,
            });
        }
        inst.operands = (first, self.operands.len() as u32);
        inst.zeroing = with.zeroing;
        inst.broadcast = with.broadcast;
        inst.to_zero = with.to_zero;
        inst.locked = with.locked;
        inst.site = with.site.unwrap_or(NO_SITE);
        inst.steady = with.steady.unwrap_or(NEVER);
        self.push(inst);
    }

    /// The function's operands, in these registers.
    pub fn entry(&mut self, registers: &[PReg]) -> Vec<R> {
        let mut inst = self.empty(Kind::Entry);
        let first = inst.operands.0;
        let params: Vec<R> = registers
            .iter()
            .map(|&p| {
                let v = self.reg(p.class());
                self.operands.push(Operand::reg_fixed_def(v, p));
                v
            })
            .collect();
        inst.operands = (first, self.operands.len() as u32);
        self.push(inst);
        params
    }

    /// Calls the function at an offset of `base`, operands in these registers.
    pub fn call(&mut self, base: R, offset: i32, args: &[(R, PReg)], clobbers: bool) {
        let mut inst = self.empty(Kind::Call(offset));
        let first = inst.operands.0;
        match args.iter().find(|(v, _)| *v == base) {
            // Already in a register by itself.
            Some(_) => {}
            None => self.operands.push(Operand::reg_use(base)),
        }
        let (own, others): (Vec<_>, Vec<_>) = args.iter().partition(|(v, _)| *v == base);
        for (v, p) in own.into_iter().chain(others) {
            self.operands.push(Operand::reg_fixed_use(v, p));
        }
        inst.operands = (first, self.operands.len() as u32);
        inst.clobbers = clobbers;
        self.push(inst);
    }

    pub fn ret(&mut self, value: R, register: PReg) {
        let mut inst = self.empty(Kind::Return);
        let first = inst.operands.0;
        self.operands.push(Operand::reg_fixed_use(value, register));
        inst.operands = (first, self.operands.len() as u32);
        self.push(inst);
    }

    pub fn jump(&mut self, to: Block, args: &[R]) {
        let inst = self.empty(Kind::Jump);
        self.push(inst);
        let data = &mut self.blocks[self.current.index()];
        data.succs.push(to);
        data.args.extend(args);
    }

    /// By the flags of the instruction before. A way with arguments gets a block of its own.
    pub fn branch(&mut self, condition: Flags, taken: (Block, &[R]), next: (Block, &[R])) {
        let from = self.current;
        let cold = |asm: &Asm, b: Block| asm.blocks[b.index()].cold;
        let edges: Vec<Block> = [taken, next]
            .iter()
            .map(|&(to, args)| {
                let edge = self.block();
                let is_cold = cold(self, to) || self.cold;
                self.blocks[edge.index()].cold = is_cold;
                self.current = edge;
                self.jump(to, args);
                edge
            })
            .collect();
        self.current = from;
        let inst = self.empty(Kind::Branch(condition));
        self.push(inst);
        self.blocks[from.index()].succs.extend(edges);
    }

    // Vectors.

    /// The operand as the instruction wants it: register, or memory with its way of reading.
    fn last(&mut self, src: Src, size: Size) -> (A, bool) {
        match src {
            Src::R(r) => (A::Use(r, size), false),
            Src::C32(x) => (A::Pool(self.pool.add(&x.to_le_bytes())), true),
            Src::C64(x) => (A::Pool(self.pool.add(&x.to_le_bytes())), true),
            Src::Pool(entry) => (A::Pool(entry), false),
        }
    }

    /// `code dst, a, b`.
    pub fn v3(&mut self, code: Code, a: R, b: Src) -> R {
        self.v3w(code, a, b, With::default())
    }

    pub fn v3w(&mut self, code: Code, a: R, b: Src, with: With) -> R {
        let d = self.zmm();
        let (b, broadcast) = self.last(b, Size::Z);
        self.put(code, &[A::Def(d, Size::Z), A::Use(a, Size::Z), b], With { broadcast, ..with });
        d
    }

    /// `code dst, a, b, imm`.
    pub fn v3i(&mut self, code: Code, a: R, b: R, imm: u8) -> R {
        let d = self.zmm();
        let args = [A::Def(d, Size::Z), A::Use(a, Size::Z), A::Use(b, Size::Z), A::I8(imm)];
        self.put(code, &args, With::default());
        d
    }

    /// `code dst{mask}, a, b`: elsewhere `old`.
    pub fn v3m(&mut self, code: Code, mask: R, old: R, a: R, b: Src) -> R {
        let d = self.zmm();
        let (b, broadcast) = self.last(b, Size::Z);
        let with = With { mask: Some(mask), broadcast, ..With::default() };
        self.put(code, &[A::Reuse(d, old, Size::Z), A::Use(a, Size::Z), b], with);
        d
    }

    /// `code dst, a` of any sizes.
    pub fn v2(&mut self, code: Code, a: Src, to: Size, from: Size) -> R {
        self.v2w(code, a, to, from, With::default())
    }

    pub fn v2w(&mut self, code: Code, a: Src, to: Size, from: Size, with: With) -> R {
        let d = self.zmm();
        let (a, broadcast) = self.last(a, from);
        self.put(code, &[A::Def(d, to), a], With { broadcast, ..with });
        d
    }

    /// `code dst, a, imm`.
    pub fn v2i(&mut self, code: Code, a: R, imm: u8) -> R {
        let d = self.zmm();
        self.put(code, &[A::Def(d, Size::Z), A::Use(a, Size::Z), A::I8(imm)], With::default());
        d
    }

    /// `code x, a, b` where `x` is read as well.
    pub fn v4(&mut self, code: Code, x: R, a: R, b: Src) -> R {
        let d = self.zmm();
        let (b, broadcast) = self.last(b, Size::Z);
        let with = With { broadcast, ..With::default() };
        self.put(code, &[A::Reuse(d, x, Size::Z), A::Use(a, Size::Z), b], with);
        d
    }

    /// Bitwise function of three: bit `4a + 2b + c` of the table.
    pub fn ternary(&mut self, table: u8, x: R, a: R, b: Src) -> R {
        let d = self.zmm();
        let (b, broadcast) = self.last(b, Size::Z);
        let with = With { broadcast, ..With::default() };
        let args = [A::Reuse(d, x, Size::Z), A::Use(a, Size::Z), b, A::I8(table)];
        self.put(Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8, &args, with);
        d
    }

    /// `code x, a, b, 0` where `x` is read as well.
    pub fn v4i(&mut self, code: Code, x: R, a: R, b: Src) -> R {
        let d = self.zmm();
        let (b, broadcast) = self.last(b, Size::Z);
        let args = [A::Reuse(d, x, Size::Z), A::Use(a, Size::Z), b, A::I8(0)];
        self.put(code, &args, With { broadcast, ..With::default() });
        d
    }

    /// A comparison into a mask.
    pub fn vcmp(&mut self, code: Code, a: R, b: Src, condition: u8) -> R {
        let d = self.k();
        let (b, broadcast) = self.last(b, Size::Z);
        let with = With { broadcast, ..With::default() };
        self.put(code, &[A::Def(d, Size::K), A::Use(a, Size::Z), b, A::I8(condition)], with);
        d
    }

    /// A test into a mask.
    pub fn vtest(&mut self, code: Code, a: R, b: Src) -> R {
        let d = self.k();
        let (b, broadcast) = self.last(b, Size::Z);
        let with = With { broadcast, ..With::default() };
        self.put(code, &[A::Def(d, Size::K), A::Use(a, Size::Z), b], with);
        d
    }

    /// A vector of one value in every element.
    pub fn constant(&mut self, wide: bool, bits: u64) -> R {
        let d = self.zmm();
        if bits == 0 {
            // Reads nothing.
            let args = [A::Def(d, Size::Z), A::Again(0, Size::Z), A::Again(0, Size::Z)];
            self.put(Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, &args, With::default());
            return d;
        }
        if bits == if wide { u64::MAX } else { u64::from(u32::MAX) } {
            let args = [A::Def(d, Size::Z), A::Again(0, Size::Z), A::Again(0, Size::Z), A::I8(0xff)];
            self.put(Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8, &args, With::default());
            return d;
        }
        let (code, entry) = match wide {
            true => (Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, self.pool.add(&bits.to_le_bytes())),
            false => (Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, self.pool.add(&(bits as u32).to_le_bytes())),
        };
        self.put(code, &[A::Def(d, Size::Z), A::Pool(entry)], With::default());
        d
    }

    /// The pool's vector of these elements.
    pub fn words(&mut self, words: &[u32; 16]) -> u32 {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.pool.add(&bytes)
    }

    pub fn doubles(&mut self, words: &[u64; 8]) -> u32 {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.pool.add(&bytes)
    }

    pub fn vload(&mut self, code: Code, mem: Mem, with: With) -> R {
        self.vload_of(code, Size::Z, mem, with)
    }

    /// A load of a part of a vector, that is zero elsewhere.
    pub fn vload_of(&mut self, code: Code, size: Size, mem: Mem, with: With) -> R {
        let d = self.zmm();
        self.put(code, &[A::Def(d, size), A::Mem(mem)], with);
        d
    }

    pub fn vstore(&mut self, code: Code, mem: Mem, value: R, size: Size, with: With) {
        self.put(code, &[A::Mem(mem), A::Use(value, size)], with);
    }

    /// All of a vector register, from and to memory.
    pub fn load64(&mut self, mem: Mem) -> R {
        self.vload(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, mem, With::default())
    }

    pub fn store64(&mut self, mem: Mem, value: R) {
        self.vstore(Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, mem, value, Size::Z, With::default());
    }

    /// The high half of a vector, as the low half of another.
    pub fn high_half(&mut self, a: R) -> R {
        let d = self.zmm();
        let args = [A::Def(d, Size::Y), A::Use(a, Size::Z), A::I8(1)];
        self.put(Code::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8, &args, With::default());
        d
    }

    /// Two low halves as one vector.
    pub fn join_halves(&mut self, low: R, high: R) -> R {
        let d = self.zmm();
        let args = [A::Def(d, Size::Z), A::Use(low, Size::Z), A::Use(high, Size::Y), A::I8(1)];
        self.put(Code::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8, &args, With::default());
        d
    }

    // Masks.

    pub fn k3(&mut self, code: Code, a: R, b: R) -> R {
        let d = self.k();
        let args = [A::Def(d, Size::K), A::Use(a, Size::K), A::Use(b, Size::K)];
        self.put(code, &args, With::default());
        d
    }

    pub fn k2(&mut self, code: Code, a: R) -> R {
        let d = self.k();
        self.put(code, &[A::Def(d, Size::K), A::Use(a, Size::K)], With::default());
        d
    }

    /// The mask of all lanes, or of none.
    pub fn k_const(&mut self, all: bool) -> R {
        let d = self.k();
        let code = if all { Code::VEX_Kxnorw_kr_kr_kr } else { Code::VEX_Kxorw_kr_kr_kr };
        let args = [A::Def(d, Size::K), A::Again(0, Size::K), A::Again(0, Size::K)];
        self.put(code, &args, With::default());
        d
    }

    pub fn kshr(&mut self, a: R, by: u8) -> R {
        let d = self.k();
        let args = [A::Def(d, Size::K), A::Use(a, Size::K), A::I8(by)];
        self.put(Code::VEX_Kshiftrw_kr_kr_imm8, &args, With::default());
        d
    }

    /// A mask of the low 16 bits of a general register.
    pub fn k_of(&mut self, bits: R) -> R {
        let d = self.k();
        self.put(Code::VEX_Kmovw_kr_r32, &[A::Def(d, Size::K), A::Use(bits, Size::D)], With::default());
        d
    }

    /// A mask of these bits, one for each byte of a vector.
    pub fn k_bits(&mut self, bits: u64) -> R {
        let bits = self.imm(true, bits);
        let d = self.k();
        self.put(Code::VEX_Kmovq_kr_r64, &[A::Def(d, Size::K), A::Use(bits, Size::Q)], With::default());
        d
    }

    /// The 16 bits of a mask.
    pub fn bits_of(&mut self, k: R) -> R {
        self.g1(Code::VEX_Kmovw_r32_kr, k, Size::D, Size::K)
    }

    /// Sets ZF if both are empty, CF if all 16 bits are set in one of them.
    pub fn kortest(&mut self, a: R, b: R) {
        self.put(Code::VEX_Kortestw_kr_kr, &[A::Use(a, Size::K), A::Use(b, Size::K)], With::default());
    }
}

impl Asm {
    /// All bits of a mask.
    pub fn kmov_bits(&mut self, code: Code, d: R, k: R, wide: bool) {
        self.put(code, &[A::Def(d, Self::size(wide)), A::Use(k, Size::K)], With::default());
    }
}

impl Asm {
    /// A test within a mask.
    pub fn vtestm(&mut self, code: Code, mask: R, a: R, b: Src) -> R {
        let d = self.k();
        let (b, broadcast) = self.last(b, Size::Z);
        let with = With { mask: Some(mask), broadcast, ..With::default() };
        self.put(code, &[A::Def(d, Size::K), A::Use(a, Size::Z), b], with);
        d
    }

    /// A comparison within a mask.
    pub fn vcmpm(&mut self, code: Code, mask: R, a: R, b: Src, condition: u8) -> R {
        let d = self.k();
        let (b, broadcast) = self.last(b, Size::Z);
        let with = With { mask: Some(mask), broadcast, ..With::default() };
        self.put(code, &[A::Def(d, Size::K), A::Use(a, Size::Z), b, A::I8(condition)], with);
        d
    }

    pub fn vload_pool(&mut self, entry: u32) -> R {
        let d = self.zmm();
        let args = [A::Def(d, Size::Z), A::Pool(entry)];
        self.put(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, &args, With::default());
        d
    }

    /// `(x & mask) ^ flip` of words.
    pub fn ternary_words(&mut self, x: R, mask: u32, flip: u32) -> R {
        let low = self.v3(Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, x, Src::C32(mask));
        self.v3(Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, low, Src::C32(flip))
    }
}

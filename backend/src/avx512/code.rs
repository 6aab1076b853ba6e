//! Machine instructions over virtual registers, and what the register allocator must know of them.

use iced_x86::Code;
use regalloc2::{Block, Function, Inst, InstRange, Operand, OperandKind, PRegSet, RegClass, VReg};
use warpjit_ir::graph;

/// No trap site.
pub(super) const NO_SITE: u32 = u32::MAX;

/// Of [`MInst::steady`]: nothing is known of the memory that is read.
pub(super) const NEVER: u8 = u8::MAX;

/// How many bits of a register an operand names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Size {
    B,
    W,
    D,
    Q,
    X,
    Y,
    Z,
    K,
}

/// What flags say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Flags {
    Equal,
    NotEqual,
    Below,
    AboveEqual,
    BelowEqual,
    Above,
    Negative,
    NotNegative,
    Less,
    GreaterEqual,
    LessEqual,
    Greater,
}

impl Flags {
    /// The jump, and the opposite.
    pub fn jump(self) -> (Code, Flags) {
        match self {
            Flags::Equal => (Code::Je_rel32_64, Flags::NotEqual),
            Flags::NotEqual => (Code::Jne_rel32_64, Flags::Equal),
            Flags::Below => (Code::Jb_rel32_64, Flags::AboveEqual),
            Flags::AboveEqual => (Code::Jae_rel32_64, Flags::Below),
            Flags::BelowEqual => (Code::Jbe_rel32_64, Flags::Above),
            Flags::Above => (Code::Ja_rel32_64, Flags::BelowEqual),
            Flags::Negative => (Code::Js_rel32_64, Flags::NotNegative),
            Flags::NotNegative => (Code::Jns_rel32_64, Flags::Negative),
            Flags::Less => (Code::Jl_rel32_64, Flags::GreaterEqual),
            Flags::GreaterEqual => (Code::Jge_rel32_64, Flags::Less),
            Flags::LessEqual => (Code::Jle_rel32_64, Flags::Greater),
            Flags::Greater => (Code::Jg_rel32_64, Flags::LessEqual),
        }
    }
}

/// A place of memory; registers are indices of the instruction's operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Place {
    /// Base, index with its size and scale, displacement.
    At { base: u8, index: Option<(u8, Size, u8)>, disp: i32 },
    /// Of the stack frame, with an index as above.
    Stack(Option<(u8, Size, u8)>, i32),
    /// A constant, by its place in the pool.
    Pool(u32),
}

/// An operand as the assembler writes it; registers are indices of the instruction's operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Arg {
    Reg(u8, Size),
    Mem(Place),
    /// An immediate of 8 bits.
    I8(u8),
    /// 32 bits.
    I32(i32),
    /// 32 bits, extended to 64.
    I32to64(i32),
    I64(u64),
}

/// What an instruction is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Kind {
    /// One of the host's.
    Host(Code),
    /// Defines its operands, which stand in fixed registers.
    Entry,
    /// A call of the function at this offset of the context, the first operand.
    Call(i32),
    /// To the first successor.
    Jump,
    /// To the first successor if the flags say so, else to the second.
    Branch(Flags),
    Return,
}

/// A machine instruction.
#[derive(Clone, Debug)]
pub(super) struct MInst {
    pub kind: Kind,
    pub args: [Option<Arg>; 4],
    /// First and behind the last of its operands.
    pub operands: (u32, u32),
    /// Operand that is the write mask.
    pub mask: Option<u8>,
    pub zeroing: bool,
    pub broadcast: bool,
    /// Rounds towards zero.
    pub to_zero: bool,
    /// Other processors see it as one.
    pub locked: bool,
    pub site: u32,
    /// Loops, counted from the outermost, in which the memory that is read may change; further in it does not, and the access cannot
    /// trap wherever it stands.
    pub steady: u8,
    /// Guest address.
    pub pc: u32,
    /// Whether all registers that calls do not preserve are lost.
    pub clobbers: bool,
}

/// A block under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockData {
    pub insts: Vec<MInst>,
    pub params: Vec<VReg>,
    pub succs: Vec<Block>,
    /// Arguments for the one successor.
    pub args: Vec<VReg>,
    /// Stands behind all that is executed often.
    pub cold: bool,
}

/// A function in virtual registers.
#[derive(Debug, Default)]
pub(super) struct VCode {
    pub insts: Vec<MInst>,
    pub operands: Vec<Operand>,
    pub ranges: Vec<InstRange>,
    pub params: Vec<Vec<VReg>>,
    pub succs: Vec<Vec<Block>>,
    pub preds: Vec<Vec<Block>>,
    pub args: Vec<Vec<VReg>>,
    pub vregs: usize,
    pub clobbers: PRegSet,
    /// The order in which blocks are written: those that are cold last.
    pub written: Vec<usize>,
    /// Which are.
    pub cold: Vec<bool>,
}

impl VCode {
    /// Orders the blocks, and drops those that nothing leads to.
    ///
    /// The allocator tells loops by jumps back. Where cold blocks stand behind all others, ways back from them count as loops, and what is
    /// deepest by that is not what runs most. With `in_order` they stand where the program has them, and the ways back of loops behind what
    /// the loops hold: good for functions whose innermost loop is small, while larger ones suffer from what cold blocks need (kmeans_assign
    /// took a third longer, collatz and transpose_lds a tenth less).
    pub fn new(
        mut blocks: Vec<BlockData>,
        mut operands: Vec<Operand>,
        mut vregs: usize,
        clobbers: PRegSet,
        in_order: bool,
    ) -> VCode {
        super::hoist::hoist(&mut blocks, &mut operands, &mut vregs);
        drop_unused(&mut blocks, &operands, vregs);
        let mut order = order_of(&blocks, in_order);
        if !in_order {
            let (hot, cold): (Vec<usize>, Vec<usize>) = order.into_iter().partition(|&b| !blocks[b].cold);
            order = hot.into_iter().chain(cold).collect();
        }
        let (hot, cold): (Vec<usize>, Vec<usize>) = (0..order.len()).partition(|&n| !blocks[order[n]].cold);
        let mut number = vec![Block::invalid(); blocks.len()];
        for (n, &b) in order.iter().enumerate() {
            number[b] = Block::new(n);
        }
        let mut blocks: Vec<Option<BlockData>> = blocks.into_iter().map(Some).collect();
        let written = hot.into_iter().chain(cold).collect();
        let mut code = VCode { operands, vregs, clobbers, written, ..VCode::default() };
        code.cold = order.iter().map(|&b| blocks[b].as_ref().is_some_and(|b| b.cold)).collect();
        code.preds = vec![Vec::new(); order.len()];
        for (n, &b) in order.iter().enumerate() {
            let data = blocks[b].take().unwrap_or_default();
            let start = Inst::new(code.insts.len());
            code.insts.extend(data.insts);
            code.ranges.push(InstRange::new(start, Inst::new(code.insts.len())));
            code.params.push(data.params);
            let succs: Vec<Block> = data.succs.iter().map(|s| number[s.index()]).collect();
            for s in &succs {
                code.preds[s.index()].push(Block::new(n));
            }
            code.succs.push(succs);
            code.args.push(data.args);
        }
        code
    }
}

/// Drops constants and copies that nothing uses: addresses and vectors are made before it is known how they are needed.
fn drop_unused(blocks: &mut [BlockData], operands: &[Operand], vregs: usize) {
    let mut uses = vec![0u32; vregs];
    let of = |inst: &MInst| &operands[inst.operands.0 as usize..inst.operands.1 as usize];
    for block in blocks.iter() {
        block.args.iter().for_each(|v| uses[v.vreg()] += 1);
        for inst in &block.insts {
            let read = of(inst).iter().filter(|o| o.kind() == OperandKind::Use);
            read.for_each(|o| uses[o.vreg().vreg()] += 1);
        }
    }
    for block in blocks.iter_mut().rev() {
        let mut kept: Vec<MInst> = Vec::with_capacity(block.insts.len());
        for inst in block.insts.drain(..).rev() {
            let unused = is_copy(&inst)
                && of(&inst).iter().all(|o| o.kind() == OperandKind::Use || uses[o.vreg().vreg()] == 0);
            if unused {
                let read = of(&inst).iter().filter(|o| o.kind() == OperandKind::Use);
                read.for_each(|o| uses[o.vreg().vreg()] -= 1);
            } else {
                kept.push(inst);
            }
        }
        kept.reverse();
        block.insts = kept;
    }
}

/// Whether an instruction does nothing but give a register: it changes neither flags nor memory, and cannot trap.
fn is_copy(inst: &MInst) -> bool {
    let from_memory = inst
        .args
        .iter()
        .flatten()
        .any(|arg| matches!(arg, Arg::Mem(Place::At { .. } | Place::Stack(Some(_), _))));
    let Kind::Host(code) = inst.kind else { return false };
    match code {
        Code::Lea_r32_m | Code::Lea_r64_m => true,
        // Nobody asks what these do to the flags.
        Code::Shl_rm32_imm8 | Code::Shl_rm64_imm8 | Code::Movsxd_r64_rm32 => !from_memory,
        Code::Mov_r32_imm32
        | Code::Mov_r64_imm64
        | Code::Mov_r32_rm32
        | Code::Movzx_r32_rm16
        | Code::Movzx_r32_rm8
        | Code::EVEX_Vpbroadcastd_zmm_k1z_r32
        | Code::EVEX_Vpbroadcastq_zmm_k1z_r64
        | Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32
        | Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64
        | Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32
        | Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32
        | Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8
        | Code::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8
        | Code::VEX_Kxorw_kr_kr_kr
        | Code::VEX_Kxnorw_kr_kr_kr
        | Code::VEX_Kandw_kr_kr_kr
        | Code::VEX_Knotw_kr_kr
        | Code::VEX_Kshiftrw_kr_kr_imm8
        | Code::VEX_Kmovw_kr_r32
        | Code::VEX_Kmovw_r32_kr => !from_memory,
        _ => false,
    }
}

/// Reverse postorder.
fn order_of(blocks: &[BlockData], through_fuel: bool) -> Vec<usize> {
    // Behind a block comes the way that stands first in the program: loops stay together.
    let next = |s: usize| match blocks[s].succs[..] {
        [to] if blocks[s].insts.len() == 1 => Some(to.index()),
        // Fuel taken on the way.
        [poll, to] if through_fuel && blocks[s].insts.len() == 2 => {
            let poll = blocks[poll.index()].cold;
            (poll && !blocks[to.index()].cold).then_some(to.index())
        }
        _ => None,
    };
    let target = |mut s: usize| {
        for _ in 0..3 {
            s = next(s).unwrap_or(s);
        }
        s
    };
    let successors = |b: &BlockData| {
        let mut list: Vec<usize> = b.succs.iter().map(|s| s.index()).collect();
        list.sort_by_key(|&s| target(s));
        list
    };
    let succs: Vec<Vec<usize>> = blocks.iter().map(successors).collect();
    graph::reverse_postorder_first_near(&succs, 0)
}

impl Function for VCode {
    fn num_insts(&self) -> usize {
        self.insts.len()
    }

    fn num_blocks(&self) -> usize {
        self.ranges.len()
    }

    fn entry_block(&self) -> Block {
        Block::new(0)
    }

    fn block_insns(&self, block: Block) -> InstRange {
        self.ranges[block.index()]
    }

    fn block_succs(&self, block: Block) -> &[Block] {
        &self.succs[block.index()]
    }

    fn block_preds(&self, block: Block) -> &[Block] {
        &self.preds[block.index()]
    }

    fn block_params(&self, block: Block) -> &[VReg] {
        &self.params[block.index()]
    }

    fn is_ret(&self, inst: Inst) -> bool {
        self.insts[inst.index()].kind == Kind::Return
    }

    fn is_branch(&self, inst: Inst) -> bool {
        matches!(self.insts[inst.index()].kind, Kind::Jump | Kind::Branch(_))
    }

    fn branch_blockparams(&self, block: Block, _: Inst, _: usize) -> &[VReg] {
        &self.args[block.index()]
    }

    fn inst_operands(&self, inst: Inst) -> &[Operand] {
        let (from, to) = self.insts[inst.index()].operands;
        &self.operands[from as usize..to as usize]
    }

    fn inst_clobbers(&self, inst: Inst) -> PRegSet {
        if self.insts[inst.index()].clobbers { self.clobbers } else { PRegSet::empty() }
    }

    fn num_vregs(&self) -> usize {
        self.vregs
    }

    fn spillslot_size(&self, class: RegClass) -> usize {
        if class == RegClass::Float { 8 } else { 1 }
    }
}

//! What a loop computes anew each time though nothing in it changes moves in front of it.
//!
//! The IR's own loops are cleared of that before they come here. But lowering makes loops (over the chunks of a warp, over warps and
//! blocks), and it makes values (bases, bounds, splats, masks) wherever they are needed. For the same reason scalars are computed more
//! than once: all but the first are left out.

use foldhash::{HashMap, HashMapExt};
use iced_x86::Code;
use regalloc2::{Operand, OperandKind, RegClass, VReg};
use warpjit_ir::graph::{
    LoopNest, dominates, immediate_dominators, natural_loops, predecessors, reverse_postorder,
};

use super::code::{Arg, BlockData, Kind, MInst, NEVER, NO_SITE, Place};

/// Values of a class that may be kept for a loop: beyond that they would be spilled, which costs what making them does.
fn budget(class: RegClass) -> u32 {
    match class {
        RegClass::Int => 32,
        RegClass::Float => 20,
        RegClass::Vector => 4,
    }
}

/// Masks of constants that may be kept besides.
const MASKS_OF_CONSTANTS: u32 = 2;

/// Whether an instruction depends on what the one before has done to the flags.
pub(super) fn reads_flags(inst: &MInst) -> bool {
    match inst.kind {
        Kind::Branch(_) => true,
        Kind::Host(code) => matches!(
            code,
            Code::Sete_rm8
                | Code::Setne_rm8
                | Code::Setb_rm8
                | Code::Setbe_rm8
                | Code::Seta_rm8
                | Code::Setae_rm8
                | Code::Setl_rm8
                | Code::Setle_rm8
                | Code::Setg_rm8
                | Code::Setge_rm8
                | Code::Cmove_r64_rm64
                | Code::Cmovne_r64_rm64
                | Code::Cmovb_r64_rm64
                | Code::Cmovbe_r64_rm64
                | Code::Cmova_r64_rm64
                | Code::Cmovae_r64_rm64
                | Code::Cmovl_r64_rm64
                | Code::Cmovle_r64_rm64
                | Code::Cmovg_r64_rm64
                | Code::Cmovge_r64_rm64
        ),
        _ => false,
    }
}

/// Comparisons: they give nothing but flags.
fn only_sets_flags(code: Code) -> bool {
    matches!(
        code,
        Code::Test_rm64_r64
            | Code::Test_rm32_r32
            | Code::Test_rm32_imm32
            | Code::Cmp_r64_rm64
            | Code::Cmp_r32_rm32
            | Code::Cmp_rm64_imm32
            | Code::Cmp_rm32_imm32
            | Code::VEX_Kortestw_kr_kr
    )
}

struct Hoist<'a> {
    blocks: &'a mut [BlockData],
    operands: &'a mut Vec<Operand>,
    vregs: &'a mut usize,
    nest: LoopNest<usize>,
    /// The block in front of a loop, if it leads nowhere else.
    before: Vec<Option<usize>>,
    /// The innermost loop in which a register is given its value.
    made_in: Vec<Option<usize>>,
    /// Constants, as the instruction that makes them.
    constants: HashMap<VReg, MInst>,
    /// What stands in front of loops, by what it computes.
    known: HashMap<Key, Vec<(usize, VReg)>>,
    /// Registers that are others by now.
    alias: Vec<Option<VReg>>,
    /// Values kept for a loop, by class.
    kept: Vec<[u32; 3]>,
    /// Immediate dominators.
    dominators: Vec<Option<usize>>,
}

/// What an instruction computes.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    insts: Vec<Shape>,
    uses: Vec<VReg>,
}

/// All of an instruction but its registers.
type Shape = (Kind, [Option<Arg>; 4], Option<u8>, [bool; 3], u8);

fn resolve(alias: &[Option<VReg>], mut v: VReg) -> VReg {
    while let Some(other) = alias[v.vreg()] {
        v = other;
    }
    v
}

/// Moves what loops do not change in front of them.
pub(super) fn hoist(blocks: &mut [BlockData], operands: &mut Vec<Operand>, vregs: &mut usize) {
    let mut alias = vec![None; *vregs];
    join_parameters(blocks, &mut alias);
    rename(blocks, operands, &alias);
    let succs: Vec<Vec<usize>> = blocks.iter().map(|b| b.succs.iter().map(|s| s.index()).collect()).collect();
    let Some(nest) = natural_loops(&succs, 0) else { return };
    let dominators = immediate_dominators(&succs, 0);
    let preds = predecessors(&succs);
    let order = reverse_postorder(&succs, 0);
    let mut reached = vec![false; blocks.len()];
    order.iter().for_each(|&b| reached[b] = true);
    let before = (0..nest.loops.len())
        .map(|l| {
            let preds = &preds[nest.loops[l].header];
            let mut outside = preds.iter().filter(|&&p| !nest.is_in(l, p) && reached[p]);
            match (outside.next(), outside.next()) {
                (Some(&p), None) if succs[p].len() == 1 => Some(p),
                _ => None,
            }
        })
        .collect();
    let mut made_in = vec![None; *vregs];
    for (n, block) in blocks.iter().enumerate() {
        let own = nest.innermost[n];
        block.params.iter().for_each(|p| made_in[p.vreg()] = own);
        for inst in &block.insts {
            let (from, to) = inst.operands;
            for o in &operands[from as usize..to as usize] {
                if o.kind() == OperandKind::Def {
                    made_in[o.vreg().vreg()] = own;
                }
            }
        }
    }
    let kept = vec![[0; 3]; nest.loops.len()];
    let alias = vec![None; *vregs];
    let constants = HashMap::new();
    let known = HashMap::new();
    let mut hoist =
        Hoist { blocks, operands, vregs, nest, before, made_in, constants, known, alias, kept, dominators };
    for b in order {
        hoist.block(b);
    }
    let Hoist { blocks, operands, alias, .. } = hoist;
    rename(blocks, operands, &alias);
}

/// Parameters of blocks with one predecessor are its arguments.
fn join_parameters(blocks: &mut [BlockData], alias: &mut [Option<VReg>]) {
    let mut preds: Vec<Vec<usize>> = vec![Vec::new(); blocks.len()];
    for (n, block) in blocks.iter().enumerate() {
        block.succs.iter().for_each(|s| preds[s.index()].push(n));
    }
    for (n, preds) in preds.iter().enumerate() {
        let &[p] = &preds[..] else { continue };
        if blocks[p].succs.len() != 1 || blocks[n].params.len() != blocks[p].args.len() {
            continue;
        }
        let params = std::mem::take(&mut blocks[n].params);
        let args = std::mem::take(&mut blocks[p].args);
        for (param, arg) in params.into_iter().zip(args) {
            let arg = resolve(alias, arg);
            if arg != param {
                alias[param.vreg()] = Some(arg);
            }
        }
    }
}

fn rename(blocks: &mut [BlockData], operands: &mut [Operand], alias: &[Option<VReg>]) {
    if alias.iter().all(Option::is_none) {
        return;
    }
    for o in operands.iter_mut() {
        let v = resolve(alias, o.vreg());
        if v != o.vreg() {
            *o = Operand::new(v, o.constraint(), o.kind(), o.pos());
        }
    }
    for block in blocks {
        block.args.iter_mut().for_each(|v| *v = resolve(alias, *v));
    }
}

impl Hoist<'_> {
    fn operands_of(&self, inst: &MInst) -> &[Operand] {
        &self.operands[inst.operands.0 as usize..inst.operands.1 as usize]
    }

    fn uses(&self, inst: &MInst) -> Vec<VReg> {
        let read = self.operands_of(inst).iter().filter(|o| o.kind() == OperandKind::Use);
        read.map(|o| resolve(&self.alias, o.vreg())).collect()
    }

    /// The one register that an instruction gives.
    fn result(&self, inst: &MInst) -> Option<VReg> {
        let mut defs = self.operands_of(inst).iter().filter(|o| o.kind() == OperandKind::Def);
        match (defs.next(), defs.next()) {
            (Some(o), None) => Some(o.vreg()),
            _ => None,
        }
    }

    /// Whether an instruction gives the same wherever it stands, flags apart, and does nothing else.
    fn is_pure(&self, inst: &MInst) -> bool {
        let Kind::Host(code) = inst.kind else { return false };
        let memory = inst.args.iter().flatten().any(|arg| match arg {
            Arg::Mem(Place::Stack(..)) => true,
            Arg::Mem(Place::At { .. }) => {
                !matches!(code, Code::Lea_r32_m | Code::Lea_r64_m) && inst.steady == NEVER
            }
            _ => false,
        });
        let stores = matches!(inst.args[0], Some(Arg::Mem(_)));
        !memory && !stores && inst.site == NO_SITE && !inst.clobbers && self.result(inst).is_some()
    }

    fn block(&mut self, b: usize) {
        let own = self.nest.innermost[b];
        let insts = std::mem::take(&mut self.blocks[b].insts);
        let mut left: Vec<MInst> = Vec::with_capacity(insts.len());
        let mut n = 0;
        while n < insts.len() {
            let inst = &insts[n];
            let next_reads = |n: usize| insts.get(n + 1).is_some_and(reads_flags);
            if self.is_pure(inst) && self.uses(inst).is_empty() && !reads_flags(inst) {
                // Made again where something that moves needs it.
                if let Some(v) = self.result(inst)
                    && inst.steady == NEVER
                {
                    self.constants.insert(v, inst.clone());
                }
            }
            if let Some(own) = own
                && !self.blocks[b].cold
            {
                let compares = matches!(inst.kind, Kind::Host(code) if only_sets_flags(code));
                let pair = compares && !touches_memory(inst) && next_reads(n) && !next_reads(n + 1);
                if pair && self.is_pure(&insts[n + 1]) {
                    if self.move_out(own, &insts[n..n + 2]) {
                        n += 2;
                        continue;
                    }
                } else if !next_reads(n)
                    && !reads_flags(inst)
                    && self.is_pure(inst)
                    && self.move_out(own, &insts[n..n + 1])
                {
                    n += 1;
                    continue;
                }
            }
            if !next_reads(n) && !reads_flags(inst) && self.is_known(b, inst) {
                n += 1;
                continue;
            }
            left.push(inst.clone());
            n += 1;
        }
        // What moved to the end of this block while it was written cannot be: loops come behind what stands in front of them.
        let moved = std::mem::replace(&mut self.blocks[b].insts, left);
        debug_assert!(moved.is_empty());
    }

    /// Whether a block that dominates this one, or this one itself, has computed a general register's value before; if not, it is noted.
    fn is_known(&mut self, b: usize, inst: &MInst) -> bool {
        let Some(result) = self.result(inst).filter(|r| r.class() == RegClass::Int) else { return false };
        if !self.is_pure(inst) || self.constants.contains_key(&result) {
            return false;
        }
        let key = self.key(std::slice::from_ref(inst));
        let list = self.known.entry(key).or_default();
        // What is rarely executed keeps nothing alive.
        let cold = self.blocks[b].cold;
        let good = |at: usize| at == b || !cold && dominates(&self.dominators, at, b);
        if let Some(&(_, same)) = list.iter().find(|(at, _)| good(*at)) {
            self.alias[result.vreg()] = Some(same);
            return true;
        }
        list.push((b, result));
        false
    }

    /// Moves instructions in front of the outermost loop that leaves their operands alone, if there is one.
    fn move_out(&mut self, own: usize, insts: &[MInst]) -> bool {
        let Some(last) = insts.last() else { return false };
        let Some(result) = self.result(last) else { return false };
        let mut uses: Vec<VReg> = insts.iter().flat_map(|i| self.uses(i)).collect();
        uses.retain(|v| !self.constants.contains_key(v));
        let made_of_general = last.kind == Kind::Host(Code::VEX_Kmovq_kr_r64);
        if uses.is_empty() && last.steady == NEVER && insts.len() == 1 && !made_of_general {
            // A constant: costs no more than keeping it.
            return false;
        }
        let floor = insts.iter().map(|i| if i.steady == NEVER { 0 } else { i.steady }).max().unwrap_or(0);
        let class = result.class() as usize;
        let mut target = None;
        let mut at = Some(own);
        while let Some(l) = at {
            let inside = |v: &VReg| {
                let made = self.made_in[v.vreg()];
                made.is_some_and(|m| m == l || self.is_inside(m, l))
            };
            if uses.iter().any(inside) || self.nest.loops[l].depth <= u32::from(floor) {
                break;
            }
            if let Some(p) = self.before[l]
                && !self.blocks[p].cold
            {
                target = Some((l, p));
            }
            at = self.nest.loops[l].parent;
        }
        let Some((l, place)) = target else { return false };
        // Some of the masks that are made of constants stay in memory, which is still shorter.
        let more = if made_of_general { MASKS_OF_CONSTANTS } else { 0 };
        if self.kept[own][class] >= budget(result.class()) + more {
            return false;
        }
        self.made_in[result.vreg()] = self.nest.loops[l].parent;
        if self.put(place, insts, result) {
            let mut at = Some(own);
            while let Some(x) = at {
                self.kept[x][class] += 1;
                if x == l {
                    break;
                }
                at = self.nest.loops[x].parent;
            }
        }
        true
    }

    /// Whether a loop is inside another.
    fn is_inside(&self, mut inner: usize, outer: usize) -> bool {
        while let Some(p) = self.nest.loops[inner].parent {
            if p == outer {
                return true;
            }
            inner = p;
        }
        false
    }

    /// Puts instructions at the end of a block, before its jump, unless what they give is there; says whether it was not.
    fn put(&mut self, place: usize, insts: &[MInst], result: VReg) -> bool {
        let mut copies = Vec::new();
        for inst in insts {
            let uses = self.uses(inst);
            for v in uses {
                if let Some(constant) = self.constants.get(&v).cloned() {
                    let fresh = self.constant_at(place, &constant, v);
                    copies.push((v, fresh));
                }
            }
        }
        let moved: Vec<MInst> = insts
            .iter()
            .map(|inst| {
                let mut inst = inst.clone();
                let start = self.operands.len() as u32;
                for n in inst.operands.0..inst.operands.1 {
                    let o = self.operands[n as usize];
                    let mut v = o.vreg();
                    if o.kind() == OperandKind::Use {
                        v = resolve(&self.alias, v);
                        v = copies.iter().find(|(old, _)| *old == v).map_or(v, |(_, fresh)| *fresh);
                    }
                    self.operands.push(Operand::new(v, o.constraint(), o.kind(), o.pos()));
                }
                inst.operands = (start, self.operands.len() as u32);
                inst
            })
            .collect();
        let key = self.key(&moved);
        if let Some(&(_, same)) =
            self.known.get(&key).and_then(|list| list.iter().find(|(at, _)| *at == place))
        {
            self.alias[result.vreg()] = Some(same);
            return false;
        }
        self.known.entry(key).or_default().push((place, result));
        self.append(place, moved);
        true
    }

    /// A constant in a block, made there if need be.
    fn constant_at(&mut self, place: usize, constant: &MInst, old: VReg) -> VReg {
        let key = self.key(std::slice::from_ref(constant));
        if let Some(&(_, same)) =
            self.known.get(&key).and_then(|list| list.iter().find(|(at, _)| *at == place))
        {
            return same;
        }
        let fresh = VReg::new(*self.vregs, old.class());
        *self.vregs += 1;
        self.alias.push(None);
        self.made_in.push(self.nest.innermost[place]);
        let mut copy = constant.clone();
        let start = self.operands.len() as u32;
        for n in constant.operands.0..constant.operands.1 {
            let o = self.operands[n as usize];
            let v = if o.kind() == OperandKind::Def { fresh } else { o.vreg() };
            self.operands.push(Operand::new(v, o.constraint(), o.kind(), o.pos()));
        }
        copy.operands = (start, self.operands.len() as u32);
        self.known.entry(key).or_default().push((place, fresh));
        self.append(place, vec![copy]);
        fresh
    }

    fn append(&mut self, place: usize, insts: Vec<MInst>) {
        let list = &mut self.blocks[place].insts;
        let at = list.len().saturating_sub(1);
        list.splice(at..at, insts);
    }

    fn key(&self, insts: &[MInst]) -> Key {
        let shape = |i: &MInst| (i.kind, i.args, i.mask, [i.zeroing, i.broadcast, i.to_zero], i.steady);
        Key {
            insts: insts.iter().map(shape).collect(),
            uses: insts.iter().flat_map(|i| self.uses(i)).collect(),
        }
    }
}

fn touches_memory(inst: &MInst) -> bool {
    inst.args.iter().flatten().any(|arg| matches!(arg, Arg::Mem(Place::At { .. } | Place::Stack(..))))
}

//! Which instructions a program can reach, and where its blocks begin.

use std::collections::{BTreeMap, BTreeSet};

use super::Options;
use super::{atomic, is_areg};
use crate::tesla::{DecodeError, End, Inst, Op, Operand, decode};

/// The reachable code.
pub(super) struct Graph {
    insts: BTreeMap<u32, Inst>,
    leaders: BTreeSet<u32>,
}

impl Graph {
    /// Follows the program from its entry.
    pub(super) fn explore(code: &[u8], options: &Options<'_>) -> Graph {
        let mut graph = Graph { insts: BTreeMap::new(), leaders: BTreeSet::new() };
        let mut work = vec![options.entry];
        graph.leaders.insert(options.entry);
        let mut any_target = false;
        while let Some(start) = work.pop() {
            let mut pc = start;
            while !graph.insts.contains_key(&pc) {
                let Some(inst) = decode_at(code, pc, options) else {
                    // The fault needs a block of its own only where something leads to it.
                    graph.leaders.insert(pc);
                    break;
                };
                let next = inst.next_pc();
                graph.insts.insert(pc, inst);
                let mut lead = |to: u32| {
                    if graph.leaders.insert(to) {
                        work.push(to);
                    }
                };
                if let Some(target) = inst.target_pc() {
                    lead(target);
                }
                if inst.op == Op::BraIndirect {
                    match fixed_targets(code, options, &inst) {
                        Some(targets) => targets.into_iter().for_each(&mut lead),
                        None if !any_target => {
                            any_target = true;
                            starts(code).for_each(&mut lead);
                        }
                        None => {}
                    }
                }
                if ends_block(&inst) {
                    if goes_on(&inst) {
                        lead(next);
                    }
                    break;
                }
                pc = next;
            }
        }
        graph
    }

    /// The instruction at an address, if there is one.
    pub(super) fn inst(&self, pc: u32) -> Option<&Inst> {
        self.insts.get(&pc)
    }

    /// Where blocks begin, in order.
    pub(super) fn leaders(&self) -> impl Iterator<Item = u32> + '_ {
        self.leaders.iter().copied()
    }
}

/// The instruction at `pc`, if the hardware would find one there.
fn decode_at(code: &[u8], pc: u32, options: &Options<'_>) -> Option<Inst> {
    if !is_start(code, pc) {
        return None;
    }
    let inst = match decode(code, pc, options.target) {
        Ok(inst) => inst,
        Err(DecodeError::Undefined { raw, .. }) => atomic::decode_odd(raw, pc, options.target)?,
        Err(_) => return None,
    };
    // Long instructions are aligned, and $a registers that are not there cannot be stepped.
    (inst.len == 4 || pc.is_multiple_of(8)).then_some(inst).filter(|inst| !steps_missing_areg(inst))
}

/// Whether an instruction begins at `pc`. Long ones only stand at multiples of eight, so looking at the word
/// before is enough.
fn is_start(code: &[u8], pc: u32) -> bool {
    let word_bit0 = |at: u32| code.get(at as usize).map(|byte| byte & 1);
    match pc % 8 {
        0 => (pc as usize) < code.len(),
        4 => word_bit0(pc).is_some() && word_bit0(pc - 4) == Some(0),
        _ => false,
    }
}

fn starts(code: &[u8]) -> impl Iterator<Item = u32> + '_ {
    (0..code.len().min(1 << 24) as u32).step_by(4).filter(|&pc| is_start(code, pc))
}

fn steps_missing_areg(inst: &Inst) -> bool {
    inst.srcs().iter().map(|src| src.operand).chain(inst.dst).any(|operand| match operand {
        Operand::Shared { addr, .. } | Operand::Const { addr, .. } | Operand::Local { addr } => {
            addr.post_increment.is_some() && !is_areg(addr.areg)
        }
        _ => false,
    })
}

/// What the words of a fixed bank can be as targets of a `bra c[]`.
fn fixed_targets(code: &[u8], options: &Options<'_>, inst: &Inst) -> Option<Vec<u32>> {
    let bank = inst.srcs().iter().find_map(|src| match src.operand {
        Operand::Const { space, .. } => Some(space),
        _ => None,
    })?;
    let (_, bytes) = options.const_banks.iter().find(|(index, _)| *index == bank)?;
    let words = bytes.windows(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    // Beyond the bank's end the space reads as zero.
    Some(words.chain([0]).filter(|&pc| is_start(code, pc)).collect())
}

/// Whether a block ends behind the instruction.
fn ends_block(inst: &Inst) -> bool {
    inst.end != End::None
        || matches!(
            inst.op,
            Op::Bra
                | Op::BraIndirect
                | Op::Call
                | Op::Ret
                | Op::BreakAddr
                | Op::Break
                | Op::QuadOn
                | Op::QuadPop
                | Op::Bar
                | Op::Trap
                | Op::JoinAt
                | Op::PreRet
        )
}

/// Whether execution can go on behind an instruction that ends a block.
fn goes_on(inst: &Inst) -> bool {
    match inst.op {
        Op::Trap | Op::BraIndirect => false,
        Op::Bra => inst.pred.is_some(),
        _ => true,
    }
}

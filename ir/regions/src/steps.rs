//! Bounds the number of instructions that a warp can execute, if the kernel has no cycles. If the bound is within `max_steps`, a
//! launch needs no step counting.

use foldhash::{HashMap, HashMapExt};
use warpjit_ir_core::entities::Block;
use warpjit_ir_core::function::{Function, LeaveKind, PushKind, Terminator};
use warpjit_ir_core::graph;

/// Limits on the states visited and on the entries of the stack. With more, the bound is unknown.
const MOST_STATES: usize = 1 << 14;
const MOST_DEPTH: usize = 32;

/// Where a lane is: a block and the entries on the stack, innermost last.
type State = (Block, Vec<(PushKind, Block)>);

/// The most instructions that a warp of a kernel in SPMD form can execute; `None` if it has loops, or if the bound is
/// unknown.
///
/// Without loops a lane visits each state at most once. In the worst case the lanes do so one by one, and the warp
/// executes each state once for each lane. In addition, lanes that wait at a join execute the joining instruction again
/// when others leave across it (docs/hardware/divergence.md, unwind).
pub fn most(func: &Function) -> Option<u64> {
    let mut index: HashMap<State, usize> = HashMap::new();
    let mut states: Vec<State> = vec![(func.entry, Vec::new())];
    index.insert(states[0].clone(), 0);
    let mut succs: Vec<Vec<usize>> = Vec::new();
    let mut steps = 0u64;
    while succs.len() < states.len() {
        let state = &states[succs.len()];
        steps += u64::from(func.block(state.0).guest_insts);
        let mut list = Vec::new();
        for next in successors(func, state)? {
            if next.1.len() > MOST_DEPTH || states.len() == MOST_STATES {
                return None;
            }
            list.push(*index.entry(next).or_insert_with_key(|next| {
                states.push(next.clone());
                states.len() - 1
            }));
        }
        succs.push(list);
    }
    let cyclic = |c: &Vec<usize>| c.len() > 1 || succs[c[0]].contains(&c[0]);
    let loops = graph::strongly_connected(&succs).iter().any(cyclic);
    (!loops).then_some(2 * steps * u64::from(func.lanes))
}

/// The states that a lane may reach next.
fn successors(func: &Function, (block, stack): &State) -> Option<Vec<State>> {
    let with = |kind, target| stack.iter().copied().chain([(kind, target)]).collect();
    Some(match func.term(*block) {
        Terminator::Push { kind, target, next } => vec![(*next, with(*kind, *target))],
        Terminator::Call { target, ret } => vec![(*target, with(PushKind::Call, *ret))],
        Terminator::Leave { kind, cond, next } => {
            let at = kind.entry().and_then(|kind| stack.iter().rposition(|entry| entry.0 == kind));
            let away = match (at, kind) {
                (Some(at), _) => Some((stack[at].1, stack[..at].to_vec())),
                // The thread ends.
                (None, LeaveKind::Exit | LeaveKind::Return) => None,
                _ => return None,
            };
            away.into_iter().chain(cond.map(|_| (*next, stack.clone()))).collect()
        }
        Terminator::Join { cond, next, at_target } => {
            let (&(PushKind::Join, target), below) = stack.split_last()? else { return None };
            let arrived = if *at_target { target } else { func.behind_join(*block, *next, target) };
            let mut list = vec![(arrived, below.to_vec())];
            // Lanes that wait here when others leave across the join continue at the target, and the entry stays on the
            // stack.
            if !at_target && target != *block {
                list.push((target, stack.clone()));
            }
            list.extend(cond.map(|_| (*next, stack.clone())));
            list
        }
        Terminator::BranchIndirect { .. } => return None,
        other => {
            let mut list = Vec::new();
            other.for_each_successor(|s| list.push((s, stack.clone())));
            list
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpjit_ir_core::function::Form;

    fn function(terms: Vec<Terminator>) -> Function {
        let mut func = Function::new("f", Form::Spmd, 32);
        let blocks: Vec<Block> = terms.iter().map(|_| func.add_block(0)).collect();
        for (block, term) in blocks.into_iter().zip(terms) {
            func.block_mut(block).guest_insts = 3;
            func.block_mut(block).term = Some(term);
        }
        func
    }

    fn jump(to: u32) -> Terminator {
        Terminator::Jump(Block(to).into())
    }

    fn leave(kind: LeaveKind) -> Terminator {
        Terminator::Leave { kind, cond: None, next: Block(0) }
    }

    #[test]
    fn code_without_loops_has_a_bound() {
        assert_eq!(most(&function(vec![jump(1), leave(LeaveKind::Exit)])), Some(64 * 6));
    }

    #[test]
    fn loops_have_none() {
        assert_eq!(most(&function(vec![jump(1), jump(0)])), None);
        // A continue goes back to what was pushed.
        let push = Terminator::Push { kind: PushKind::Continue, target: Block(0), next: Block(1) };
        assert_eq!(most(&function(vec![push, leave(LeaveKind::Continue)])), None);
    }

    #[test]
    fn functions_count_for_each_call() {
        let call = |ret| Terminator::Call { target: Block(2), ret: Block(ret) };
        let (exit, ret) = (leave(LeaveKind::Exit), leave(LeaveKind::Return));
        assert_eq!(most(&function(vec![call(1), exit.clone(), ret.clone()])), Some(64 * 9));
        assert_eq!(most(&function(vec![call(1), call(3), ret, exit])), Some(64 * 15));
        let recursive = Terminator::Call { target: Block(0), ret: Block(1) };
        assert_eq!(most(&function(vec![recursive, leave(LeaveKind::Return)])), None);
    }

    #[test]
    fn joins_take_what_was_pushed() {
        let push = |target, next| Terminator::Push {
            kind: PushKind::Join,
            target: Block(target),
            next: Block(next),
        };
        let join = |next, at_target| Terminator::Join { cond: None, next: Block(next), at_target };
        let exit = || leave(LeaveKind::Exit);
        // Two in sequence, on Tesla and on Fermi.
        let tesla = vec![push(1, 1), join(2, false), push(3, 3), join(4, false), exit()];
        assert_eq!(most(&function(tesla)), Some(64 * 15));
        let fermi = vec![push(2, 1), join(0, true), push(4, 3), join(0, true), exit()];
        assert_eq!(most(&function(fermi)), Some(64 * 15));
        // There is nothing to take; or lanes that wait begin again.
        assert_eq!(most(&function(vec![push(1, 1), join(2, false), join(3, false), exit()])), None);
        assert_eq!(most(&function(vec![push(1, 1), jump(2), join(3, false), exit()])), None);
    }
}

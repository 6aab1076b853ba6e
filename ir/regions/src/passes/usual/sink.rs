//! Moves what only second versions use to them.

use smallvec::SmallVec;
use warpjit_ir_core::analysis::Cfg;
use warpjit_ir_core::entities::{Block, Value};
use warpjit_ir_core::function::Function;

/// Most versions that have an operation of their own in place of a common one.
const MOST_COPIES: usize = 6;

/// Most operations that are moved.
const MOST_MOVED: usize = 2000;

/// Who uses a value.
#[derive(Clone)]
enum Users {
    /// Nobody but such versions.
    Versions(SmallVec<[Block; 2]>),
    /// Others, too, or too many.
    Others,
}

/// Moves operations to the blocks `slow` that nobody else needs. An operation that several of them use is then in each of them.
pub(super) fn run(func: &mut Function, slow: &[Block]) {
    let mut is_slow = vec![false; func.blocks.len()];
    slow.iter().for_each(|block| is_slow[block.index()] = true);
    let mut users = vec![Users::Versions(SmallVec::new()); func.values.len()];
    let order = Cfg::order(func);
    for &block in &order {
        func.term(block).for_each_use(|v| users[v.index()] = Users::Others);
    }
    for &block in slow {
        for &inst in &func.block(block).insts {
            func.inst(inst).args.iter().for_each(|&arg| add(&mut users, arg, block, &is_slow));
        }
    }
    let mut left = MOST_MOVED;
    // Uses come behind definitions, but around loops: what is used there stays.
    for &block in order.iter().rev().filter(|block| !is_slow[block.index()]) {
        let insts = std::mem::take(&mut func.block_mut(block).insts);
        let mut kept = Vec::with_capacity(insts.len());
        for inst in insts.into_iter().rev() {
            let data = func.inst(inst);
            let movable = data.op.is_pure() && !data.op.differs_by_lane();
            let to = match data.result.map(|r| (r, &users[r.index()])) {
                Some((r, Users::Versions(to))) if movable && left > 0 => (r, to.clone()),
                _ => {
                    data.args.iter().for_each(|&arg| add(&mut users, arg, block, &is_slow));
                    kept.push(inst);
                    continue;
                }
            };
            left -= 1;
            let (data, (result, to)) = (data.clone(), to);
            for &version in &to {
                let new = func.make_inst(data.op, &data.args, data.imm, Some(func.ty(result)), data.pc);
                let by = func.inst(new).result.unwrap_or(result);
                for &user in &func.block(version).insts.clone() {
                    func.inst_mut(user)
                        .args
                        .iter_mut()
                        .filter(|arg| **arg == result)
                        .for_each(|arg| *arg = by);
                }
                func.block_mut(version).insts.insert(0, new);
                data.args.iter().for_each(|&arg| add(&mut users, arg, version, &is_slow));
            }
        }
        kept.reverse();
        func.block_mut(block).insts = kept;
    }
}

/// Notes that a block uses a value.
fn add(users: &mut [Users], v: Value, block: Block, is_slow: &[bool]) {
    let Users::Versions(versions) = &mut users[v.index()] else { return };
    if !is_slow[block.index()] || versions.len() == MOST_COPIES && !versions.contains(&block) {
        users[v.index()] = Users::Others;
    } else if !versions.contains(&block) {
        versions.push(block);
    }
}

//! Turns a uniform loop-exit condition back into a branch.
//!
//! In mask form the condition narrows every mask of live lanes in each iteration. One branch is cheaper: on one side the narrowed
//! masks equal the originals, on the other they are empty. So no mask has to collect the lanes that leave by this condition
//! either.

use foldhash::{HashMap, HashMapExt};
use warpjit_ir_core::analysis::{Cfg, Dominators};
use warpjit_ir_core::entities::{Block, Value};
use warpjit_ir_core::function::{BlockCall, Form, Function, Imm, Terminator};
use warpjit_ir_core::opcodes::{Opcode, Space};
use warpjit_ir_core::passes::rewrite::values_cross_blocks;
use warpjit_ir_core::types::{Scalar, Type};

/// Runs the pass. In SPMD form it does nothing: there, masks are not values.
pub fn run(func: &mut Function) -> bool {
    if func.form == Form::Spmd || !values_cross_blocks(func) {
        return false;
    }
    let mut changed = false;
    for block in func.block_ids() {
        if let Some(end) = find(func, block) {
            part(func, block, &end);
            changed = true;
        }
    }
    changed
}

/// A loop exit that depends on a uniform condition.
struct End {
    /// The uniform condition.
    cond: Value,
    /// The masks that depend on it, in order, with what each is where the condition holds and where it does not.
    masks: Vec<(Value, [Restricted; 2])>,
    /// The masks of `masks` that are used after the loop; `dominated` are the blocks that use them.
    behind: Vec<Value>,
    dominated: Vec<Block>,
}

/// What a mask is on one side of the branch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Restricted {
    Empty,
    Is(Value),
    /// The union of both.
    Or(Value, Value),
}

/// The exit of the loop of one block, if a branch of its own for the condition is worthwhile.
fn find(func: &Function, block: Block) -> Option<End> {
    let Some(Terminator::BrAny { mask, taken, next }) = &func.block(block).term else { return None };
    if taken.block != block || next.block == block {
        return None;
    }
    let own = func.block(block);
    // Loops with gathers may be serialised (`super::lane_loops`), which needs loops of one block.
    let scattered = own.insts.iter().map(|&i| func.inst(i)).any(|data| {
        let global = matches!(data.imm, Imm::Mem(mem) if matches!(mem.space, Space::Global(_)));
        data.op == Opcode::Load && global && data.args.first().is_some_and(|&a| !func.ty(a).uniform)
    });
    let data = func.def_inst(*mask).filter(|data| data.op == Opcode::Iand)?;
    let uniform = |v: &&Value| func.ty(**v).uniform && func.as_const(**v).is_none();
    let cond = *data.args.iter().find(uniform)?;
    if scattered || func.ty(*mask).uniform || func.ty(cond).scalar != Scalar::I1 {
        return None;
    }
    let is = |v: Value| -> Option<bool> {
        let inverted = |a: Value, b: Value| {
            func.def_inst(a).is_some_and(|data| data.op == Opcode::Inot && data.args[0] == b)
        };
        match v {
            _ if v == cond => Some(true),
            _ if inverted(v, cond) || inverted(cond, v) => Some(false),
            _ => None,
        }
    };
    let mut masks: Vec<(Value, [Restricted; 2])> = Vec::new();
    for &inst in &own.insts {
        let data = func.inst(inst);
        let (Some(r), &[x, y]) = (data.result, &data.args[..]) else { continue };
        if func.ty(r).scalar != Scalar::I1 || func.ty(r).uniform {
            continue;
        }
        let known = |v: Value| masks.iter().find(|(known, _)| *known == v).map(|(_, sides)| *sides);
        let sides = match data.op {
            Opcode::Iand => {
                let (holds, v) = match (is(x), is(y)) {
                    (Some(holds), None) => (holds, y),
                    (None, Some(holds)) => (holds, x),
                    _ => continue,
                };
                let v = known(v).unwrap_or([Restricted::Is(v); 2]);
                if holds { [v[0], Restricted::Empty] } else { [Restricted::Empty, v[1]] }
            }
            Opcode::Ior if known(x).is_some() || known(y).is_some() => {
                let (x, y) =
                    (known(x).unwrap_or([Restricted::Is(x); 2]), known(y).unwrap_or([Restricted::Is(y); 2]));
                let Some(sides) = both([x[0], y[0]]).zip(both([x[1], y[1]])) else { continue };
                [sides.0, sides.1]
            }
            _ => continue,
        };
        masks.push((r, sides));
    }
    let cfg = Cfg::new(func);
    let dominators = Dominators::of(&cfg);
    if cfg.preds[next.block.index()] != [block] {
        return None;
    }
    let inside = |b: &Block| dominators.dominates(next.block, *b);
    let dominated: Vec<Block> = cfg.rpo.iter().copied().filter(inside).collect();
    // The loop has no other way out.
    let used: Vec<Value> = dominated.iter().flat_map(|&b| uses_of(func, b)).collect();
    let behind = masks.iter().map(|(v, _)| *v).filter(|v| used.contains(v)).collect();
    masks.iter().any(|(v, _)| v == mask).then_some(End { cond, masks, behind, dominated })
}

/// The union of the masks on both sides, if it is simple.
fn both(masks: [Restricted; 2]) -> Option<Restricted> {
    Some(match masks {
        [Restricted::Empty, x] | [x, Restricted::Empty] => x,
        [Restricted::Is(x), Restricted::Is(y)] if x == y => Restricted::Is(x),
        [Restricted::Is(x), Restricted::Is(y)] => Restricted::Or(x, y),
        _ => return None,
    })
}

/// The values that a block uses.
fn uses_of(func: &Function, block: Block) -> Vec<Value> {
    let mut used: Vec<Value> =
        func.block(block).insts.iter().flat_map(|&i| func.inst(i).args.iter().copied()).collect();
    if let Some(term) = &func.block(block).term {
        term.for_each_use(|v| used.push(v));
    }
    used
}

/// Puts a branch by the uniform condition before the branch by the mask.
fn part(func: &mut Function, block: Block, end: &End) {
    let Some(Terminator::BrAny { mask, taken, next }) = func.block_mut(block).term.take() else { return };
    let pc = func.block(block).term_pc;
    // Masks used after the loop become parameters, because they differ between the two ways out.
    let params: Vec<Value> = end.behind.iter().map(|_| func.add_param(next.block, Type::MASK)).collect();
    let renamed: HashMap<Value, Value> = end.behind.iter().copied().zip(params).collect();
    for &b in &end.dominated {
        for inst in func.block(b).insts.clone() {
            for arg in &mut func.inst_mut(inst).args {
                *arg = *renamed.get(arg).unwrap_or(arg);
            }
        }
        if let Some(term) = &mut func.block_mut(b).term {
            term.map_uses(|v| *renamed.get(&v).unwrap_or(&v));
        }
    }
    let [taken, next] = [0, 1].map(|side| {
        let aside = func.add_block(pc);
        let push = |func: &mut Function, op, args: &[Value], imm, ty| {
            let inst = func.make_inst(op, args, imm, Some(ty), pc);
            func.block_mut(aside).insts.push(inst);
            Value::new(func.values.len() - 1)
        };
        let mut values: HashMap<Value, Value> = HashMap::new();
        for (v, masks) in &end.masks {
            let value = match masks[side] {
                Restricted::Is(x) => x,
                Restricted::Or(x, y) => push(func, Opcode::Ior, &[x, y], Imm::None, Type::MASK),
                Restricted::Empty => push(func, Opcode::Const, &[], Imm::Bits(0), Type::uniform(Scalar::I1)),
            };
            values.insert(*v, value);
        }
        let of = |v: &Value| *values.get(v).unwrap_or(v);
        let mut leave = BlockCall { block: next.block, args: next.args.iter().map(of).collect() };
        leave.args.extend(end.behind.iter().map(of));
        let term = match of(&mask) {
            _ if side == 1 => Terminator::Jump(leave),
            left => {
                let again = BlockCall { block: taken.block, args: taken.args.iter().map(of).collect() };
                Terminator::BrAny { mask: left, taken: again, next: leave }
            }
        };
        let made = func.block_mut(aside);
        (made.term, made.term_pc) = (Some(term), pc);
        BlockCall { block: aside, args: Vec::new() }
    });
    func.block_mut(block).term = Some(Terminator::BrIf { cond: end.cond, taken, next });
}

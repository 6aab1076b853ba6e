//! Takes apart 64-bit values that advance by the same step in all lanes: into where they start, and how far they have come.
//!
//! A loop over memory carries a pointer: `p = start` before the loop, `p + step` behind an iteration. Where lanes start on a line, code
//! generators see that from how the start is computed, but a parameter of a block tells nothing. So if the step is uniform, the block
//! takes the distance `u` instead, a scalar: what is added to the start before the loop, `u + step` behind an iteration. The pointer is
//! `start + u`, in each lane and whatever wraps. A pointer that two loops move, one in the other, is carried as before.
//!
//! Only pointers that may start on a line are taken apart: for others this is one operation more.

use foldhash::{HashMap, HashMapExt};
use warpjit_ir_core::analysis::{Cfg, Dominators};
use warpjit_ir_core::entities::{Block, Value};
use warpjit_ir_core::function::{Form, Function, Imm, ValueDef};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::passes::rewrite::{Aliases, retain_params};
use warpjit_ir_core::types::{Scalar, Type};

/// Most rounds. A start may be seen only when another pointer has been taken apart.
const ROUNDS: usize = 4;

/// How many operations deep it is looked for what a start is made of.
const DEPTH: u32 = 12;

/// Most operations that are looked at for a start.
const MOST_OPERATIONS: u32 = 64;

/// Most uniform values that are added on the way to an edge.
const MOST_TERMS: usize = 8;

/// Runs the pass, on mask form only.
pub fn run(func: &mut Function) -> bool {
    if func.form != Form::Mask {
        return false;
    }
    let mut changed = false;
    for _ in 0..ROUNDS {
        if !round(func) {
            break;
        }
        changed = true;
    }
    changed
}

/// What is added to a value: uniform values, each with whether it is subtracted.
type Terms = Vec<(Value, bool)>;

/// What each edge to a block gives a parameter: itself or its start, plus something.
type Edges = Vec<(bool, Terms)>;

fn round(func: &mut Function) -> bool {
    let is_address = addresses(func);
    if !is_address.contains(&true) {
        return false;
    }
    let cfg = Cfg::new(func);
    let dominators = Dominators::of(&cfg);
    let homes = homes(func);
    let mut aliases = Aliases::new(func);
    let mut distances: HashMap<(Block, Edges), Value> = HashMap::new();
    // Inner loops first.
    let blocks: Vec<Block> = cfg.rpo.iter().rev().copied().filter(|&block| block != func.entry).collect();
    for block in blocks {
        for param in func.block(block).params.clone() {
            if !is_address[param.index()] {
                continue;
            }
            let Some((start, edges)) = apart(func, &cfg, &aliases, block, param) else { continue };
            let home = homes.get(start.index()).copied().flatten();
            if !home.is_some_and(|home| home != block && dominators.dominates(home, block))
                || !may_be_line(func, start, DEPTH, &mut MOST_OPERATIONS.clone())
            {
                continue;
            }
            let distance = match distances.get(&(block, edges.clone())) {
                Some(&known) => known,
                None => {
                    let distance = add_distance(func, &cfg, block, &edges);
                    distances.insert((block, edges), distance);
                    distance
                }
            };
            let pc = func.block(block).pc;
            let sum = func.make_inst(Opcode::Iadd, &[start, distance], Imm::None, Some(func.ty(param)), pc);
            func.block_mut(block).insts.insert(0, sum);
            aliases.set(param, Value::new(func.values.len() - 1));
        }
    }
    if !aliases.any() {
        return false;
    }
    retain_params(func, |param| aliases.get(param) == param);
    aliases.apply(func);
    true
}

/// By value: whether it is a varying 64-bit parameter from which addresses are computed.
fn addresses(func: &Function) -> Vec<bool> {
    let mut seen = vec![false; func.values.len()];
    let mut work: Vec<Value> = Vec::new();
    for &inst in func.blocks.iter().flat_map(|block| &block.insts) {
        let data = func.inst(inst);
        let accesses = matches!(data.op, Opcode::Load | Opcode::Store);
        if accesses || data.op.is_permit() || data.op.is_translation() {
            work.extend(data.args.first());
        }
    }
    let mut found = vec![false; func.values.len()];
    while let Some(v) = work.pop() {
        let ty = func.ty(v);
        if ty.uniform || ty.scalar != Scalar::I64 || std::mem::replace(&mut seen[v.index()], true) {
            continue;
        }
        match func.values[v.index()].def {
            ValueDef::Param(..) => found[v.index()] = true,
            ValueDef::Inst(inst) => {
                let data = func.inst(inst);
                if matches!(data.op, Opcode::Iadd | Opcode::Isub | Opcode::Ishl | Opcode::Sshr) {
                    work.extend(&data.args);
                }
            }
        }
    }
    found
}

/// The block that each value is made in.
fn homes(func: &Function) -> Vec<Option<Block>> {
    let mut homes = vec![None; func.values.len()];
    for block in func.block_ids() {
        let data = func.block(block);
        let results = data.insts.iter().filter_map(|&inst| func.inst(inst).result);
        data.params.iter().copied().chain(results).for_each(|v| homes[v.index()] = Some(block));
    }
    homes
}

/// A value without the uniform values that are added to it, and these; up to `stop`, if that is on the way.
fn without_terms(func: &Function, aliases: &Aliases, v: Value, stop: Value) -> (Value, Terms) {
    let mut v = aliases.get(v);
    let mut terms = Terms::new();
    while v != stop
        && terms.len() < MOST_TERMS
        && let Some(data) = func.def_inst(v)
    {
        let uniform = |n: usize| func.ty(data.args[n]).uniform;
        let (rest, term) = match data.op {
            Opcode::Iadd if uniform(1) => (data.args[0], (data.args[1], false)),
            Opcode::Iadd if uniform(0) => (data.args[1], (data.args[0], false)),
            Opcode::Isub if uniform(1) => (data.args[0], (data.args[1], true)),
            _ => break,
        };
        terms.push((aliases.get(term.0), term.1));
        v = aliases.get(rest);
    }
    (v, terms)
}

/// The one value from which a parameter starts, and what each edge adds to that or to the parameter; if one adds to the parameter.
fn apart(
    func: &Function,
    cfg: &Cfg,
    aliases: &Aliases,
    block: Block,
    param: Value,
) -> Option<(Value, Edges)> {
    let ValueDef::Param(_, place) = func.values[param.index()].def else { return None };
    let mut start = None;
    let mut edges = Edges::new();
    for &from in &cfg.preds[block.index()] {
        for call in func.term(from).calls().filter(|call| call.block == block) {
            let (root, terms) = without_terms(func, aliases, *call.args.get(place as usize)?, param);
            if root != param && *start.get_or_insert(root) != root {
                return None;
            }
            edges.push((root == param, terms));
        }
    }
    let start = start.filter(|&start| !func.ty(start).uniform)?;
    edges.iter().any(|(itself, terms)| *itself && !terms.is_empty()).then_some((start, edges))
}

/// Whether lanes may have a value that lies on a line: it is made of slots, words of such values, and what all lanes share.
fn may_be_line(func: &Function, v: Value, depth: u32, left: &mut u32) -> bool {
    if func.ty(v).uniform {
        return true;
    }
    let Some(rest) = left.checked_sub(1) else { return false };
    *left = rest;
    let data = match func.values[v.index()].def {
        // Those of 32 bits may advance on lines.
        ValueDef::Param(..) => return func.ty(v).scalar == Scalar::I32,
        ValueDef::Inst(inst) => func.inst(inst),
    };
    let mut all = || depth > 0 && data.args.iter().all(|&arg| may_be_line(func, arg, depth - 1, left));
    match data.op {
        Opcode::SlotGet | Opcode::Const => true,
        Opcode::Iadd | Opcode::Isub | Opcode::Ior | Opcode::Iand => all(),
        Opcode::Zext | Opcode::Sext | Opcode::Trunc | Opcode::Splat => all(),
        Opcode::Ishl | Opcode::Ushr | Opcode::Sshr | Opcode::Imul => all(),
        _ => false,
    }
}

/// Adds a parameter that says how far something has come, and what each edge gives it.
fn add_distance(func: &mut Function, cfg: &Cfg, block: Block, edges: &Edges) -> Value {
    let ty = Type::uniform(Scalar::I64);
    let distance = func.add_param(block, ty);
    let mut edges = edges.iter();
    for &from in &cfg.preds[block.index()] {
        let Some(mut term) = func.block_mut(from).term.take() else { continue };
        let pc = func.block(from).term_pc;
        term.for_each_call(|call| {
            if call.block != block {
                return;
            }
            let Some((itself, terms)) = edges.next() else { return };
            let mut push = |op, args: &[Value], imm| {
                let inst = func.make_inst(op, args, imm, Some(ty), pc);
                func.block_mut(from).insts.push(inst);
                Value::new(func.values.len() - 1)
            };
            let mut sum = itself.then_some(distance);
            // What is subtracted comes behind what is added.
            for subtracts in [false, true] {
                for &(term, _) in terms.iter().filter(|term| term.1 == subtracts) {
                    sum = Some(match (sum, subtracts) {
                        (Some(sum), false) => push(Opcode::Iadd, &[sum, term], Imm::None),
                        (Some(sum), true) => push(Opcode::Isub, &[sum, term], Imm::None),
                        (None, false) => term,
                        (None, true) => push(Opcode::Ineg, &[term], Imm::None),
                    });
                }
            }
            let sum = sum.unwrap_or_else(|| push(Opcode::Const, &[], Imm::Bits(0)));
            call.args.push(sum);
        });
        func.block_mut(from).term = Some(term);
    }
    distance
}

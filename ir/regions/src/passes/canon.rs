//! Removes `fcanon` operations, which give a NaN the guest's bits, where nothing can see those bits.
//!
//! Each use of a float is of one of three kinds. Arithmetic, comparisons, conversions to integers and `fcanon` itself treat every
//! NaN alike. `fneg`, `select`, `bitcast` and block parameters pass a NaN on: its bits are seen if a use of their result sees
//! them. Everything else sees the bits: stores, slots, integer arithmetic, pure functions. The analysis is optimistic: a value
//! that goes around a loop and meets only arithmetic needs no `fcanon`. An operation that treats every NaN alike always reads the
//! operand of an `fcanon`, so that it need not wait for the result.
//!
//! In mask form an `fcanon` can also move out of a loop. If a value used after the loop is made only from `fcanon`s, integers and
//! constants, it is made canonical after the loop, and nothing in the loop sees its bits any more.

use foldhash::{HashSet, HashSetExt};
use warpjit_ir_core::analysis::{Cfg, Dominators, Loops};
use warpjit_ir_core::entities::{Block, Inst, Value};
use warpjit_ir_core::function::{Form, Function, Imm, InstData, ValueDef};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::passes::rewrite::Aliases;
use warpjit_ir_core::types::{Scalar, Type};

/// What an operation does with the NaN bits of an operand.
#[derive(PartialEq)]
enum Use {
    /// Treats every NaN alike.
    Blind,
    /// Passes the bits on in its result.
    Passes,
    /// Makes the bits visible.
    Sees,
}

fn use_of(inst: &InstData) -> Use {
    use Opcode::*;
    match inst.op {
        CallPure if inst.special().is_some() => Use::Blind,
        Fadd | Fsub | Fmul | Fdiv | Fsqrt | Fma | FmadTrunc | Fmin | Fmax | Fcmp | Fcanon | Fpromote
        | Fdemote | FcvtToSint | FcvtToUint => Use::Blind,
        Fneg | Fabs | Fflush | Ffloor | Fceil | Ftrunc | Fnearest | Select | Splat | Bitcast => Use::Passes,
        _ => Use::Sees,
    }
}

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    let mut changed = look_through(func);
    changed |= func.form == Form::Mask && sink(func);
    let seen = nan_bits_seen(func);
    let mut aliases = Aliases::new(func);
    for block in func.block_ids() {
        let mut insts = std::mem::take(&mut func.block_mut(block).insts);
        insts.retain(|&inst| {
            let data = func.inst(inst);
            match (data.op, data.result) {
                (Opcode::Fcanon, Some(result)) if !seen[result.index()] => {
                    // In unreachable code a value may be defined by itself.
                    if aliases.get(data.args[0]) == result {
                        return true;
                    }
                    aliases.set(result, data.args[0]);
                    false
                }
                _ => true,
            }
        });
        func.block_mut(block).insts = insts;
    }
    aliases.apply(func);
    changed |= aliases.any();
    changed
}

fn look_through(func: &mut Function) -> bool {
    let mut changed = false;
    for block in func.block_ids() {
        for n in 0..func.block(block).insts.len() {
            let inst = func.block(block).insts[n];
            if use_of(func.inst(inst)) != Use::Blind {
                continue;
            }
            for n in 0..func.inst(inst).args.len() {
                let arg = func.inst(inst).args[n];
                if let Some(before) = func.def_inst(arg).filter(|d| d.op == Opcode::Fcanon) {
                    func.inst_mut(inst).args[n] = before.args[0];
                    changed = true;
                }
            }
        }
    }
    changed
}

/// For each value: whether anything can see its bits if it is a NaN.
pub fn nan_bits_seen(func: &Function) -> Vec<bool> {
    seen_values(func, &HashSet::new())
}

/// A use that shows bits: the instruction and the index of the operand.
type OperandUse = (Inst, usize);

/// Values whose NaN bits are seen. The uses in `but` are ignored.
fn seen_values(func: &Function, but: &HashSet<OperandUse>) -> Vec<bool> {
    let mut seen = vec![false; func.values.len()];
    let mut work: Vec<Value> = Vec::new();
    let mut feeds: Vec<Vec<Value>> = vec![Vec::new(); func.values.len()];
    for data in &func.blocks {
        for &inst in &data.insts {
            if use_of(func.inst(inst)) == Use::Sees {
                let args = func.inst(inst).args.iter().enumerate();
                work.extend(args.filter(|&(n, _)| !but.contains(&(inst, n))).map(|(_, v)| v));
            }
        }
        for call in data.term.iter().flat_map(|t| t.calls()) {
            for (&param, &arg) in func.block(call.block).params.iter().zip(&call.args) {
                feeds[param.index()].push(arg);
            }
        }
    }
    while let Some(value) = work.pop() {
        if std::mem::replace(&mut seen[value.index()], true) {
            continue;
        }
        match func.values[value.index()].def {
            ValueDef::Param(..) => work.extend(&feeds[value.index()]),
            ValueDef::Inst(inst) if use_of(func.inst(inst)) == Use::Passes => {
                work.extend(&func.inst(inst).args);
            }
            ValueDef::Inst(_) => {}
        }
    }
    seen
}

/// Inserts an `fcanon` at uses after a loop, if that makes one inside the loop redundant.
fn sink(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    let dom = Dominators::of(&cfg);
    let loops = Loops::new(&cfg, &dom);
    let has_canon = |b: &Block| func.block(*b).insts.iter().any(|&i| func.inst(i).op == Opcode::Fcanon);
    if !cfg.rpo.iter().any(|b| loops.depth(*b) > 0 && has_canon(b)) {
        return false;
    }
    let feeds = feeds(func);
    let bits = [Scalar::F32, Scalar::F64].map(|s| canonical_bits(func, s));
    let clean = clean_values(func, &feeds, bits);
    let depths = depths(func, &feeds, &loops);
    let mut uses: Vec<(Block, OperandUse, Vec<Value>)> = Vec::new();
    for &block in &cfg.rpo {
        let depth = loops.depth(block);
        for &inst in func.block(block).insts.iter().filter(|&&inst| use_of(func.inst(inst)) == Use::Sees) {
            for (n, &value) in func.inst(inst).args.iter().enumerate() {
                if clean[value.index()] && depths[value.index()] > depth {
                    let sources = sources(func, &feeds, value);
                    let deeper = sources.into_iter().filter(|v| depths[v.index()] > depth).collect();
                    uses.push((block, (inst, n), deeper));
                }
            }
        }
    }
    let all: HashSet<OperandUse> = uses.iter().map(|p| p.1).collect();
    let seen = seen_values(func, &all);
    uses.retain(|(_, _, deeper)| deeper.iter().any(|v| !seen[v.index()]));
    for (block, (inst, n), _) in &uses {
        canonical_at(func, *block, *inst, *n, bits);
    }
    !uses.is_empty()
}

/// Arguments that go to each parameter.
fn feeds(func: &Function) -> Vec<Vec<Value>> {
    let mut feeds: Vec<Vec<Value>> = vec![Vec::new(); func.values.len()];
    for data in &func.blocks {
        for call in data.term.iter().flat_map(|t| t.calls()) {
            for (&param, &arg) in func.block(call.block).params.iter().zip(&call.args) {
                feeds[param.index()].push(arg);
            }
        }
    }
    feeds
}

/// The NaN that the function's `fcanon`s of this type give, if all give one.
fn canonical_bits(func: &Function, scalar: Scalar) -> Option<u64> {
    let mut found = None;
    for &inst in func.blocks.iter().flat_map(|b| &b.insts) {
        let data = func.inst(inst);
        let (Opcode::Fcanon, Imm::Bits(bits), Some(result)) = (data.op, &data.imm, data.result) else {
            continue;
        };
        if func.ty(result).scalar != scalar {
            continue;
        }
        if found.is_some_and(|b| b != *bits) {
            return None;
        }
        found = Some(*bits);
    }
    found
}

/// Index of a type's NaN, by width: integers hold the bits of floats.
fn width_index(scalar: Scalar) -> Option<usize> {
    match scalar {
        Scalar::I32 | Scalar::F32 => Some(0),
        Scalar::I64 | Scalar::F64 => Some(1),
        Scalar::I1 => None,
    }
}

/// For each value: whether its bits, read as a float, are a number or the canonical NaN. Optimistic around loops.
fn clean_values(func: &Function, feeds: &[Vec<Value>], bits: [Option<u64>; 2]) -> Vec<bool> {
    let mut clean = vec![true; func.values.len()];
    loop {
        let mut changed = false;
        for n in 0..func.values.len() {
            if clean[n] && !is_clean(func, Value::new(n), feeds, &clean, bits) {
                clean[n] = false;
                changed = true;
            }
        }
        if !changed {
            return clean;
        }
    }
}

fn is_clean(
    func: &Function,
    value: Value,
    feeds: &[Vec<Value>],
    clean: &[bool],
    bits: [Option<u64>; 2],
) -> bool {
    let scalar = func.ty(value).scalar;
    let Some(canonical) = width_index(scalar).and_then(|n| bits[n]) else { return false };
    let ValueDef::Inst(inst) = func.values[value.index()].def else {
        return feeds[value.index()].iter().all(|v| clean[v.index()]);
    };
    let data = func.inst(inst);
    let all = |args: &[Value]| args.iter().all(|v| clean[v.index()]);
    match (data.op, &data.imm) {
        (Opcode::Const, Imm::Bits(b)) => {
            let nan = match width_index(scalar) {
                Some(0) => f32::from_bits(*b as u32).is_nan(),
                _ => f64::from_bits(*b).is_nan(),
            };
            !nan || *b == canonical
        }
        (Opcode::Fcanon | Opcode::FcvtFromSint | Opcode::FcvtFromUint, _) => true,
        (Opcode::Bitcast | Opcode::Splat, _) => all(&data.args),
        (Opcode::Select, _) => all(&data.args[1..]),
        _ => false,
    }
}

/// The values whose bits `value` takes over unchanged: operands of moves, selects and sign operations, or arguments of
/// a parameter.
fn handed_on<'a>(func: &'a Function, feeds: &'a [Vec<Value>], value: Value) -> &'a [Value] {
    let Some(data) = func.def_inst(value) else { return &feeds[value.index()] };
    match data.op {
        Opcode::Bitcast | Opcode::Splat => &data.args,
        Opcode::Select => &data.args[1..],
        _ => &[],
    }
}

/// For each value: the loop depth of the deepest `fcanon` that it comes from; 0 if none is in a loop.
fn depths(func: &Function, feeds: &[Vec<Value>], loops: &Loops) -> Vec<u32> {
    let mut depths = vec![0; func.values.len()];
    let mut users: Vec<Vec<Value>> = vec![Vec::new(); func.values.len()];
    for n in 0..func.values.len() {
        handed_on(func, feeds, Value::new(n)).iter().for_each(|v| users[v.index()].push(Value::new(n)));
    }
    let mut work = Vec::new();
    for block in func.block_ids() {
        for data in func.block(block).insts.iter().map(|&inst| func.inst(inst)) {
            if let (Opcode::Fcanon, Some(result)) = (data.op, data.result) {
                depths[result.index()] = loops.depth(block);
                work.push(result);
            }
        }
    }
    while let Some(value) = work.pop() {
        for &user in &users[value.index()] {
            if depths[user.index()] < depths[value.index()] {
                depths[user.index()] = depths[value.index()];
                work.push(user);
            }
        }
    }
    depths
}

/// The `fcanon`s that a value comes from.
fn sources(func: &Function, feeds: &[Vec<Value>], value: Value) -> Vec<Value> {
    let (mut found, mut seen, mut work) = (Vec::new(), HashSet::new(), vec![value]);
    while let Some(value) = work.pop() {
        if !seen.insert(value) {
            continue;
        }
        if func.def_inst(value).is_some_and(|data| data.op == Opcode::Fcanon) {
            found.push(value);
        }
        work.extend(handed_on(func, feeds, value));
    }
    found
}

/// Puts an `fcanon` before an instruction, for one of its operands.
fn canonical_at(func: &mut Function, block: Block, inst: Inst, n: usize, bits: [Option<u64>; 2]) {
    let value = func.inst(inst).args[n];
    let ty = func.ty(value);
    let Some(index) = width_index(ty.scalar) else { return };
    let Some(canonical) = bits[index] else { return };
    let float = Type { scalar: [Scalar::F32, Scalar::F64][index], ..ty };
    let pc = func.inst(inst).pc;
    let mut made = Vec::new();
    let mut make = |func: &mut Function, op, arg, imm, ty| {
        let inst = func.make_inst(op, &[arg], imm, Some(ty), pc);
        made.push(inst);
        Value::new(func.values.len() - 1)
    };
    let mut now = value;
    if ty != float {
        now = make(func, Opcode::Bitcast, now, Imm::None, float);
    }
    now = make(func, Opcode::Fcanon, now, Imm::Bits(canonical), float);
    if ty != float {
        now = make(func, Opcode::Bitcast, now, Imm::None, ty);
    }
    func.inst_mut(inst).args[n] = now;
    let insts = &mut func.block_mut(block).insts;
    let at = insts.iter().position(|&i| i == inst).unwrap_or(insts.len());
    insts.splice(at..at, made);
}

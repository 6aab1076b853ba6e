//! Merges two block parameters that are the words of one 64-bit value into one parameter of 64 bits.
//!
//! A guest with 32-bit registers keeps an address in two of them. [`fold`](warpjit_ir_core::passes::fold) joins the words within a block, but a
//! loop still carries both. If two parameters of a block are joined there, this pass carries the 64-bit value instead: each
//! predecessor joins its arguments, and the block takes the parameter apart. `fold` then removes the joins and splits that cancel
//! out.

use foldhash::{HashSet, HashSetExt};
use warpjit_ir_core::entities::{Block, Value};
use warpjit_ir_core::function::{Form, Function, Imm, InstData, ValueDef};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::passes::rewrite::{Aliases, retain_params};
use warpjit_ir_core::types::{Scalar, Type};

/// Most rounds. The words joined for an edge may be parameters of the predecessor, which the next round merges.
const ROUNDS: usize = 8;

/// Runs the pass. In SPMD form it does nothing: there, registers are slots between blocks.
pub fn run(func: &mut Function) -> bool {
    if func.form == Form::Spmd {
        return false;
    }
    let mut changed = false;
    for _ in 0..ROUNDS {
        let pairs = pairs(func);
        if pairs.is_empty() {
            break;
        }
        changed = true;
        let mut aliases = Aliases::new(func);
        for pair in &pairs {
            widen(func, pair, &mut aliases);
        }
        let halves: HashSet<Value> = pairs.iter().flat_map(|pair| [pair.low, pair.high]).collect();
        retain_params(func, |param| !halves.contains(&param));
        aliases.apply(func);
    }
    changed
}

/// Two parameters of a block that are words of one value.
struct Pair {
    block: Block,
    low: Value,
    high: Value,
}

/// The pairs of parameters that are joined somewhere. Each parameter is in at most one pair.
fn pairs(func: &Function) -> Vec<Pair> {
    let mut list: Vec<Pair> = Vec::new();
    let mut taken: HashSet<Value> = HashSet::new();
    for &inst in func.blocks.iter().flat_map(|block| &block.insts) {
        let Some((low, high)) = words(func, func.inst(inst)) else { continue };
        let param = |v: Value| match func.values[v.index()].def {
            ValueDef::Param(block, _) if block != func.entry => Some(block),
            _ => None,
        };
        let (Some(block), Some(other)) = (param(low), param(high)) else { continue };
        let alike = func.ty(low).uniform == func.ty(high).uniform;
        if block != other || low == high || !alike || [low, high].iter().any(|v| taken.contains(v)) {
            continue;
        }
        taken.extend([low, high]);
        list.push(Pair { block, low, high });
    }
    list
}

/// The low and the high word, if the instruction joins two words.
fn words(func: &Function, data: &InstData) -> Option<(Value, Value)> {
    let (Opcode::Ior, &[a, b]) = (data.op, &data.args[..]) else { return None };
    let of =
        |value: Value, op: Opcode| func.def_inst(value).filter(|data| data.op == op).map(|data| &data.args);
    [(a, b), (b, a)].into_iter().find_map(|(low, high)| {
        let low = of(low, Opcode::Zext)?[0];
        let shift = of(high, Opcode::Ishl)?;
        let high = of(shift[0], Opcode::Zext)?[0];
        (func.as_const(shift[1]) == Some(32)).then_some((low, high))
    })
}

/// Adds the 64-bit parameter for a pair to its block. The old parameters are removed once all pairs have theirs.
fn widen(func: &mut Function, pair: &Pair, aliases: &mut Aliases) {
    let uniform = func.ty(pair.low).uniform;
    let place = |v: Value| func.block(pair.block).params.iter().position(|&param| param == v);
    let (Some(low), Some(high)) = (place(pair.low), place(pair.high)) else { return };
    for from in func.block_ids() {
        let Some(mut term) = func.block_mut(from).term.take() else { continue };
        term.for_each_call(|call| {
            if call.block == pair.block {
                let whole = concat(func, from, call.args[low], call.args[high]);
                call.args.push(whole);
            }
        });
        func.block_mut(from).term = Some(term);
    }
    let ty = |scalar| Type { scalar, uniform };
    let whole = func.add_param(pair.block, ty(Scalar::I64));
    let pc = func.block(pair.block).pc;
    let mut insts = Vec::new();
    let mut push = |op, args: &[Value], imm, ty| {
        insts.push(func.make_inst(op, args, imm, Some(ty), pc));
        Value::new(func.values.len() - 1)
    };
    let by = push(Opcode::Const, &[], Imm::Bits(32), Type::uniform(Scalar::I64));
    let low = push(Opcode::Trunc, &[whole], Imm::None, ty(Scalar::I32));
    let high = push(Opcode::Ushr, &[whole, by], Imm::None, ty(Scalar::I64));
    let high = push(Opcode::Trunc, &[high], Imm::None, ty(Scalar::I32));
    func.block_mut(pair.block).insts.splice(0..0, insts);
    aliases.set(pair.low, low);
    aliases.set(pair.high, high);
}

/// Joins two words at the end of a block.
fn concat(func: &mut Function, block: Block, low: Value, high: Value) -> Value {
    let pc = func.block(block).term_pc;
    let mut push = |op, args: &[Value], imm| {
        let uniform = args.iter().all(|&arg| func.ty(arg).uniform);
        let inst = func.make_inst(op, args, imm, Some(Type { scalar: Scalar::I64, uniform }), pc);
        func.block_mut(block).insts.push(inst);
        Value::new(func.values.len() - 1)
    };
    let by = push(Opcode::Const, &[], Imm::Bits(32));
    let low = push(Opcode::Zext, &[low], Imm::None);
    let high = push(Opcode::Zext, &[high], Imm::None);
    let high = push(Opcode::Ishl, &[high, by], Imm::None);
    push(Opcode::Ior, &[high, low], Imm::None)
}

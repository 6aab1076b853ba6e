//! Folding: replaces an operation by a constant, an operand or a cheaper operation.
//!
//! Constants are evaluated by the interpreter's own kernels. The other rules are algebraic identities and consequences of known
//! bits and unsigned bounds ([`KnownBits`]). Each topic has a file: `int`, `compare`, `float`, `memory`, and for 64-bit values kept in
//! two words `wide` and `scattered`.

mod compare;
mod float;
mod int;
mod memory;
mod scattered;
mod wide;

use super::dce;
use super::rewrite::Aliases;
use crate::analysis::{Bits, Cfg, KnownBits, Uses};
use crate::entities::{Block, Inst, Value};
use crate::eval::eval_scalar;
use crate::function::{Args, Form, Function, Imm, InstData, ValueDef};
use crate::opcodes::Opcode;
use crate::types::{Scalar, Type};
use smallvec::smallvec;

/// Most sweeps over the function. A rule may enable another one in code that has been visited already: around a loop, mostly, so that code
/// without loops has one sweep.
const SWEEPS: usize = 5;
/// After a sweep that changed fewer than one instruction of so many there is no other: it would take as long. What is left is found when
/// the pass runs again; pipelines run it several times.
const WORTH_A_SWEEP: usize = 64;
/// Most rules applied to one instruction, so that rules cannot undo each other for ever.
const STEPS: usize = 12;

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    let mut changed = false;
    for _ in 0..SWEEPS {
        let sweep = sweep(func);
        changed |= sweep.changes > 0;
        if !sweep.loops || sweep.changes * WORTH_A_SWEEP < sweep.visited.max(1) {
            break;
        }
    }
    changed
}

/// Runs the pass with a single sweep, for pipelines that run it again soon.
pub fn run_once(func: &mut Function) -> bool {
    sweep(func).changes > 0
}

/// What a sweep did.
struct Sweep {
    /// Instructions visited.
    visited: usize,
    /// Rules that it applied.
    changes: usize,
    /// Whether the function has loops.
    loops: bool,
}

fn sweep(func: &mut Function) -> Sweep {
    let cfg = Cfg::new(func);
    let known = KnownBits::new(func, &cfg.rpo);
    let uses = Uses::by(func, dce::needed(func));
    let aliases = Aliases::new(func);
    let looks = func.insts.iter().any(|inst| inst.op == Opcode::QuadLane);
    let mut folder = Folder {
        func,
        known,
        uses,
        aliases,
        made: Vec::new(),
        pc: 0,
        sweep: Sweep { visited: 0, changes: 0, loops: cfg.has_loops() },
        looks,
        looked_at: None,
    };
    for &block in &cfg.rpo {
        let insts = std::mem::take(&mut folder.func.block_mut(block).insts);
        let mut kept = Vec::with_capacity(insts.len());
        folder.pc = folder.func.block(block).pc;
        for param in folder.func.block(block).params.clone() {
            if folder.uses.count(param) == 0 || folder.aliases.get(param) != param {
                continue;
            }
            // A parameter whose arguments are all one constant, or one value.
            let value = match folder.bits(param).constant() {
                Some(bits) => folder.constant(folder.scalar(param), bits),
                None => match folder.only_argument(&cfg, block, param) {
                    Some(value) => value,
                    None => continue,
                },
            };
            folder.aliases.set(param, value);
            folder.sweep.changes += 1;
        }
        kept.append(&mut folder.made);
        for inst in insts {
            let stays = folder.visit(inst);
            kept.append(&mut folder.made);
            if stays {
                kept.push(inst);
            }
        }
        folder.func.block_mut(block).insts = kept;
    }
    let Folder { aliases, sweep, .. } = folder;
    aliases.apply(func);
    sweep
}

/// What a rule makes of an instruction.
enum Act {
    /// The result is this value.
    Is(Value),
    /// The result is this constant.
    Const(u64),
    /// The instruction is another one with a result of the same element type.
    Now(Opcode, Args, Imm),
    /// The instruction does nothing.
    Gone,
}

struct Folder<'a> {
    func: &'a mut Function,
    known: KnownBits,
    /// Use counts before the sweep, without uses by dead code.
    uses: Uses,
    aliases: Aliases,
    /// Instructions made for the current one, to stand before it.
    made: Vec<Inst>,
    pc: u32,
    sweep: Sweep,
    /// Whether lanes look at others of their quad.
    looks: bool,
    /// A copy of the instruction that rules are tried on. It stays here for the next one's operands.
    looked_at: Option<InstData>,
}

impl Folder<'_> {
    /// The value of a parameter, if all edges pass the same one.
    fn only_argument(&self, cfg: &Cfg, block: Block, param: Value) -> Option<Value> {
        // In SPMD form values need not cross blocks.
        if self.func.form != Form::Mask {
            return None;
        }
        let ValueDef::Param(_, n) = self.func.values[param.index()].def else { return None };
        let mut only = None;
        for pred in cfg.preds[block.index()].iter().filter(|&&pred| cfg.is_reachable(pred)) {
            for call in self.func.block(*pred).term.iter().flat_map(|term| term.calls()) {
                if call.block != block {
                    continue;
                }
                let arg = self.aliases.get(*call.args.get(n as usize)?);
                if arg == param {
                    continue;
                }
                if only.replace(arg).is_some_and(|other| other != arg) {
                    return None;
                }
            }
        }
        only
    }

    /// Applies rules to an instruction; false if it is removed.
    fn visit(&mut self, inst: Inst) -> bool {
        self.sweep.visited += 1;
        self.pc = self.func.inst(inst).pc;
        for arg in &mut self.func.inst_mut(inst).args {
            *arg = self.aliases.get(*arg);
        }
        let mut stays = true;
        let mut copy = self.looked_at.take().unwrap_or_else(|| self.func.inst(inst).clone());
        for _ in 0..STEPS {
            copy.copy_from(self.func.inst(inst));
            let data = &copy;
            let Some(act) = self.step(data) else { break };
            self.sweep.changes += 1;
            match act {
                Act::Gone => stays = false,
                Act::Is(value) => {
                    if let Some(result) = data.result {
                        self.aliases.set(result, value);
                        stays = false;
                    }
                }
                Act::Const(bits) => {
                    if let Some(result) = data.result {
                        let ty = &mut self.func.values[result.index()].ty;
                        *ty = Type::uniform(ty.scalar);
                        let bits = bits & ty.scalar.bit_mask();
                        self.rewrite(inst, Opcode::Const, Args::new(), Imm::Bits(bits));
                        self.known.update(self.func, result);
                    }
                }
                Act::Now(op, args, imm) => {
                    self.rewrite(inst, op, args, imm);
                    if let Some(result) = data.result {
                        self.known.update(self.func, result);
                    }
                }
            }
            if !stays {
                break;
            }
        }
        self.looked_at = Some(copy);
        stays
    }

    fn rewrite(&mut self, inst: Inst, op: Opcode, args: Args, imm: Imm) {
        let data = self.func.inst_mut(inst);
        data.op = op;
        data.args = args;
        data.imm = imm;
    }

    fn step(&mut self, data: &InstData) -> Option<Act> {
        use Opcode::{Atomic, DenyLoad, DenyStore, Load, SlotSet, Store};
        let accesses = matches!(data.op, Load | Store | Atomic | SlotSet | DenyLoad | DenyStore);
        if accesses || data.op.is_translation() || data.op.is_permit() {
            return self.memory(data);
        }
        if data.op == Opcode::LaneBit {
            return self.lane_bit(data);
        }
        let result = data.result?;
        let computes = data.op.is_pure() && !data.op.differs_by_lane() || data.op == Opcode::Any;
        if !computes || data.op == Opcode::Const {
            return None;
        }
        if let Some(bits) = self.evaluate(data, self.func.ty(result).scalar) {
            return Some(Act::Const(bits));
        }
        if let Some(bits) = self.bits(result).constant() {
            return Some(Act::Const(bits));
        }
        // Constants stand on the right.
        if data.op.is_commutative() && self.c(data.args[0]).is_some() && self.c(data.args[1]).is_none() {
            let mut args = data.args.clone();
            args.swap(0, 1);
            return Some(Act::Now(data.op, args, data.imm));
        }
        self.int(data).or_else(|| self.compare(data)).or_else(|| self.float(data))
    }

    fn evaluate(&self, data: &InstData, result: Scalar) -> Option<u64> {
        if data.op == Opcode::Any {
            return self.c(data.args[0]);
        }
        let bits: Vec<u64> = data.args.iter().map(|&v| self.c(v)).collect::<Option<_>>()?;
        let types: Vec<Scalar> = data.args.iter().map(|&v| self.scalar(v)).collect();
        eval_scalar(data.op, &data.imm, &types, result, &bits)
    }

    /// The bits of a constant.
    fn c(&self, value: Value) -> Option<u64> {
        match self.def(value) {
            Some(InstData { op: Opcode::Const, imm: Imm::Bits(bits), .. }) => Some(*bits),
            Some(InstData { op: Opcode::Splat, args, .. }) => self.func.as_const(args[0]),
            _ => None,
        }
    }

    fn def(&self, value: Value) -> Option<&InstData> {
        self.func.def_inst(value)
    }

    /// The operands of a value that is the result of `op`.
    fn is(&self, value: Value, op: Opcode) -> Option<&[Value]> {
        self.def(value).filter(|d| d.op == op).map(|d| d.args.as_slice())
    }

    /// The operands of a value that is `op` of two.
    fn is2(&self, value: Value, op: Opcode) -> Option<(Value, Value)> {
        match *self.is(value, op)? {
            [a, b] => Some((a, b)),
            _ => None,
        }
    }

    /// The operands of a value that is `op` of a value and a constant.
    fn is_by(&self, value: Value, op: Opcode) -> Option<(Value, u64)> {
        let (a, b) = self.is2(value, op)?;
        Some((a, self.c(b)?))
    }

    fn scalar(&self, value: Value) -> Scalar {
        self.func.ty(value).scalar
    }

    fn bits(&self, value: Value) -> Bits {
        self.known.get(value)
    }

    /// Makes an instruction before the current one.
    fn make(&mut self, op: Opcode, args: &[Value], imm: Imm, scalar: Scalar) -> Value {
        let uniform = args.iter().all(|&a| self.func.ty(a).uniform);
        let inst = self.func.make_inst(op, args, imm, Some(Type { scalar, uniform }), self.pc);
        self.made.push(inst);
        let value = Value::new(self.func.values.len() - 1);
        self.known.update(self.func, value);
        value
    }

    fn constant(&mut self, scalar: Scalar, bits: u64) -> Value {
        self.make(Opcode::Const, &[], Imm::Bits(bits & scalar.bit_mask()), scalar)
    }

    /// `op` of a value and a constant.
    fn by(&mut self, op: Opcode, a: Value, bits: u64) -> Option<Act> {
        let b = self.constant(self.scalar(a), bits);
        Some(Act::Now(op, smallvec![a, b], Imm::None))
    }
}

//! The verifier. It holds for any function, however damaged, and never panics.
//!
//! *Structure*
//! - The warp has 16, 32 or 64 lanes; the entry block exists and has no parameters.
//! - Every block, slot, value and instruction that is named exists.
//! - An instruction stands in at most one block, once; results and parameters point back at what defines them.
//! - Every block ends in a terminator.
//! - `block_at` names existing blocks.
//!
//! *Slots*
//! - `umax` stands on integer slots only, `lane_mask` on one mask slot only, a builtin initial value on i32 slots only,
//!   an offset in a segment on integer slots only.
//! - `slot.get` gives the slot's type, or its uniform one where all lanes are known to agree; `slot.set` takes its element type, and a uniform slot takes uniform values.
//! - `slot.set` has no mask in SPMD form.
//!
//! *Types*
//! - Operands and results are as the operation's [`Sig`] says; the immediate is of the kind the operation wants.
//! - A constant has no bits beyond its type; the immediate of `fcanon` is a NaN, the lane of `quad_lane` below 4.
//! - `ftz` stands only on arithmetic that can flush.
//! - Loads and stores: addresses are i32, or i64 in global memory; 1, 2, 4 or 8 bytes, atomics and locks 4 or 8; 8 bytes
//!   go with i64, fewer with i32; alignments are powers of two; locks are in shared memory; guards are truth values.
//! - `call.pure` passes what the function takes and gives what it gives.
//!
//! *Uniform values*
//! - A result is varying if any operand is, but for `any`, `ballot` and votes, and for `shuffle` with a uniform index, whose results
//!   may be uniform. If no operand is, the result may be either.
//! - `lane_bit` takes a uniform value; `active`, `lane_bit`, `atomic`, `lock` and loads from local memory are varying whatever their operands.
//! - A varying value never goes where a uniform one is wanted (uniform parameters, uniform slots, the condition of `br_if`).
//!   A uniform value may stand for a varying one.
//!
//! *Control*
//! - The terminators after [`Terminator::Fault`] and up to it belong to their forms; `jump` to both.
//! - Edges carry one argument a parameter, of its element type; targets named without arguments have no parameters.
//! - Barriers have an index below 16, and arrive or wait.
//!
//! *Dominance*
//! - In reachable blocks, a value is defined before its use in the same block or in a block that dominates it.

/// Gives the rule if the condition does not hold. Only then is its text made.
macro_rules! ensure {
    ($condition:expr, format!($($text:tt)*) $(,)?) => {
        if $condition { Ok::<(), String>(()) } else { Err(format!($($text)*)) }
    };
    ($condition:expr, $rule:expr $(,)?) => {
        if $condition { Ok::<(), String>(()) } else { Err(String::from($rule)) }
    };
}

mod inst;

use std::fmt;

use crate::analysis::successors_by_hub;
use crate::entities::{Block, Inst, Value};
use crate::function::{BlockCall, Form, Function, Imm, InstData, SlotInit, Terminator, ValueDef};
use crate::graph::{self, DominatorTree};
use crate::opcodes::{AtomicOp, MemAccess, Opcode, Sig, Space};
use crate::types::{Scalar, Type};

/// A broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// What breaks it: a block, an instruction with its block, a slot, the function.
    pub entity: String,
    /// The rule.
    pub rule: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.entity, self.rule)
    }
}

/// A function that is not well formed: every broken rule.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("function @{name} is not well formed:{}", .violations.iter().map(|v| format!("\n  {v}")).collect::<String>())]
pub struct VerifyError {
    /// The function's name.
    pub name: String,
    /// What is wrong, at least one.
    pub violations: Vec<Violation>,
}

/// Checks a function against every rule of the module comment.
pub fn verify(func: &Function) -> Result<(), VerifyError> {
    let mut verifier = Verifier { func, violations: Vec::new(), place: vec![None; func.insts.len()] };
    verifier.structure();
    if verifier.violations.is_empty() {
        verifier.slots();
        for block in func.block_ids() {
            for &inst in &func.block(block).insts {
                verifier.inst(block, inst);
            }
            verifier.terminator(block);
        }
        verifier.dominance();
    }
    match verifier.violations {
        violations if violations.is_empty() => Ok(()),
        violations => Err(VerifyError { name: func.name.clone(), violations }),
    }
}

struct Verifier<'a> {
    func: &'a Function,
    violations: Vec<Violation>,
    /// Block and index of each instruction that stands in one.
    place: Vec<Option<(Block, usize)>>,
}

/// What a check of one instruction gives: the broken rule.
type Check = Result<(), String>;

fn names(scalars: &[Scalar]) -> String {
    scalars.iter().map(|s| s.name()).collect::<Vec<_>>().join(", ")
}

impl Verifier<'_> {
    fn report(&mut self, entity: impl fmt::Display, rule: impl Into<String>) {
        self.violations.push(Violation { entity: entity.to_string(), rule: rule.into() });
    }

    fn check(&mut self, entity: impl fmt::Display, check: Check) {
        if let Err(rule) = check {
            self.report(entity, rule);
        }
    }

    fn inst_name(&self, block: Block, inst: Inst) -> String {
        format!("{block}, `{}`", self.func.display_inst(self.func.inst(inst)))
    }

    /// Everything that later checks rely on to index tables.
    fn structure(&mut self) {
        let func = self.func;
        if !matches!(func.lanes, 16 | 32 | 64) {
            self.report("function", format!("a warp has 16, 32 or 64 lanes, not {}", func.lanes));
        }
        match func.blocks.get(func.entry.index()) {
            None => self.report("function", format!("the entry {} does not exist", func.entry)),
            Some(b) if !b.params.is_empty() => self.report(func.entry, "the entry has no parameters"),
            Some(_) => {}
        }
        for (pc, block) in &func.block_at {
            if block.index() >= func.blocks.len() {
                self.report("function", format!("{block} at {pc:#x} does not exist"));
            }
        }
        for block in func.block_ids() {
            let data = func.block(block);
            for (n, &param) in data.params.iter().enumerate() {
                let def = func.values.get(param.index()).map(|v| v.def);
                if def != Some(ValueDef::Param(block, n as u32)) {
                    self.report(block, format!("parameter {param} is not defined as this parameter"));
                }
            }
            for (index, &inst) in data.insts.iter().enumerate() {
                let Some(inst_data) = func.insts.get(inst.index()) else {
                    self.report(block, format!("{inst} does not exist"));
                    continue;
                };
                if self.place[inst.index()].replace((block, index)).is_some() {
                    self.report(block, format!("{inst} stands in a block twice"));
                }
                if let Some(result) = inst_data.result
                    && func.values.get(result.index()).map(|v| v.def) != Some(ValueDef::Inst(inst))
                {
                    self.report(block, format!("{result} is not defined as the result of {inst}"));
                }
                for &arg in &inst_data.args {
                    if !self.exists(arg) {
                        self.report(block, format!("{inst} uses {arg}, which does not exist"));
                    }
                }
                if let Imm::Slot(slot) = inst_data.imm
                    && slot.index() >= func.slots.len()
                {
                    self.report(block, format!("{inst} names {slot}, which does not exist"));
                }
            }
            let Some(term) = &data.term else {
                self.report(block, "the block has no terminator");
                continue;
            };
            term.for_each_use(|v| {
                if !self.exists(v) {
                    self.report(block, format!("the terminator uses {v}, which does not exist"));
                }
            });
            term.for_each_successor(|to| {
                if to.index() >= func.blocks.len() {
                    self.report(block, format!("the terminator names {to}, which does not exist"));
                }
            });
        }
    }

    fn exists(&self, value: Value) -> bool {
        match self.func.values.get(value.index()).map(|v| v.def) {
            None => false,
            Some(ValueDef::Inst(inst)) => inst.index() < self.func.insts.len(),
            Some(ValueDef::Param(block, n)) => {
                self.func.blocks.get(block.index()).is_some_and(|b| b.params.get(n as usize) == Some(&value))
            }
        }
    }

    fn slots(&mut self) {
        if let Some(slot) = self.func.lane_mask
            && self.func.slots.get(slot.index()).is_none_or(|data| data.ty != Type::MASK)
        {
            self.report("function", format!("its lane mask {slot} is no mask slot"));
        }
        for (i, slot) in self.func.slots.iter().enumerate() {
            let name = fmt::from_fn(|f| write!(f, "slot s{i} {}", slot.name));
            if slot.umax.is_some() && !slot.ty.scalar.is_int() {
                self.report(&name, "only integer slots have a `umax`");
            }
            if matches!(slot.init, SlotInit::Builtin(_)) && slot.ty.scalar != Scalar::I32 {
                self.report(&name, "a builtin initial value is an i32");
            }
            if matches!(slot.init, SlotInit::WarpOffset(_)) && !slot.ty.scalar.is_int() {
                self.report(&name, "an offset is an integer");
            }
        }
    }

    fn terminator(&mut self, block: Block) {
        let func = self.func;
        let Some(term) = &func.block(block).term else { return };
        let name = fmt::from_fn(|f| write!(f, "{block}, `{term}`"));
        use Terminator::*;
        let belongs = match term {
            // A lane region in SSA, before masks, has returns too.
            Jump(_) | Return { .. } => true,
            BrAny { .. } | BrIf { .. } => func.form == Form::Mask,
            _ => func.form == Form::Spmd,
        };
        if !belongs {
            let form = if func.form == Form::Spmd { "SPMD" } else { "mask" };
            self.report(&name, format!("the terminator does not stand in {form} form"));
        }
        match term {
            Jump(to) => self.edge(&name, to),
            Branch { cond, taken, next } | BrAny { mask: cond, taken, next } => {
                self.truth(&name, *cond);
                self.edge(&name, taken);
                self.edge(&name, next);
            }
            BrIf { cond, taken, next } => {
                self.truth(&name, *cond);
                if !func.ty(*cond).uniform {
                    self.report(&name, "the condition is uniform");
                }
                self.edge(&name, taken);
                self.edge(&name, next);
            }
            Leave { cond, .. } | Join { cond, .. } => {
                if let Some(cond) = cond {
                    self.truth(&name, *cond);
                }
                self.plain_targets(&name, term);
            }
            Return { exited, cond, .. } => {
                for &v in exited.iter().chain(cond) {
                    self.truth(&name, v);
                }
            }
            Barrier { spec, .. } => {
                if spec.index >= 16 {
                    self.report(&name, "a barrier's index is below 16");
                }
                let named = spec.from.and_then(|slot| func.slots.get(slot.index()));
                if spec.from.is_some() && named.is_none_or(|slot| slot.ty.scalar != Scalar::I32) {
                    self.report(&name, "a barrier is named by an i32 slot");
                }
                if !spec.arrive && !spec.wait {
                    self.report(&name, "a barrier arrives or waits");
                }
                self.plain_targets(&name, term);
            }
            BranchIndirect { address } => {
                if !matches!(func.ty(*address).scalar, Scalar::I32 | Scalar::I64) {
                    self.report(&name, "the address is an i32 or an i64");
                }
                for &to in func.block_at.values() {
                    if !func.block(to).params.is_empty() {
                        self.report(&name, format!("{to} has parameters"));
                    }
                }
            }
            Push { .. } | Call { .. } | QuadOn { .. } | QuadPop { .. } => self.plain_targets(&name, term),
            Fault(_) => {}
        }
    }

    fn truth(&mut self, name: &dyn fmt::Display, value: Value) {
        if self.func.ty(value).scalar != Scalar::I1 {
            self.report(name, format!("{value} is not a truth value"));
        }
    }

    fn plain_targets(&mut self, name: &dyn fmt::Display, term: &Terminator) {
        term.for_each_successor(|to| {
            if !self.func.block(to).params.is_empty() {
                self.report(name, format!("{to} has parameters"));
            }
        });
    }

    fn edge(&mut self, name: &dyn fmt::Display, call: &BlockCall) {
        let func = self.func;
        let params = &func.block(call.block).params;
        if params.len() != call.args.len() {
            let rule = format!("{} has {} parameters, not {}", call.block, params.len(), call.args.len());
            self.report(name, rule);
            return;
        }
        for (&arg, &param) in call.args.iter().zip(params) {
            let (from, to) = (func.ty(arg), func.ty(param));
            if from.scalar != to.scalar || (to.uniform && !from.uniform) {
                self.report(
                    name,
                    format!("{arg} is {from}, the parameter {param} of {} is {to}", call.block),
                );
            }
        }
    }

    fn dominance(&mut self) {
        let func = self.func;
        let (succs, indirect) = successors_by_hub(func);
        let order = graph::reverse_postorder_first_near(&succs, func.entry);
        let dom = DominatorTree::new(&succs, &order);
        for &block in order.iter().filter(|&&block| block != indirect) {
            let data = func.block(block);
            for (index, &inst) in data.insts.iter().enumerate() {
                for &arg in &func.inst(inst).args {
                    if !self.defined_before(&dom, arg, block, index) {
                        let name = self.inst_name(block, inst);
                        self.report(name, format!("{arg} is not defined on every path to this"));
                    }
                }
            }
            if let Some(term) = &data.term {
                term.for_each_use(|v| {
                    if !self.defined_before(&dom, v, block, data.insts.len()) {
                        let name = fmt::from_fn(|f| write!(f, "{block}, `{term}`"));
                        self.report(name, format!("{v} is not defined on every path to this"));
                    }
                });
            }
        }
    }

    fn defined_before(&self, dom: &DominatorTree<Block>, value: Value, block: Block, index: usize) -> bool {
        match self.func.values[value.index()].def {
            ValueDef::Param(at, _) => dom.dominates(at, block),
            ValueDef::Inst(inst) => match self.place[inst.index()] {
                Some((at, place)) if at == block => place < index,
                Some((at, _)) => dom.dominates(at, block),
                None => false,
            },
        }
    }
}

//! Removes masks from mask form that will run a single lane at a time.
//!
//! For one lane a mask is a truth value, and branches tell most of them: after a branch on a mask, the lane has it. The pass
//! follows truth values along branches and around loops and replaces each known one by a constant. Later passes remove what
//! depended on it, such as most of the guest's computation of EXEC.
//!
//! It begins with nothing reached and nothing seen, and follows only edges that can be taken (conditional constant propagation, after
//! Wegman and Zadeck). So a lane that enters without EXEC is known to stay without it around a loop, although code of the loop that such
//! a lane never comes to would give it back.

use warpjit_ir_core::analysis::{Cfg, Dominators};
use warpjit_ir_core::entities::{Block, Value};
use warpjit_ir_core::function::{BlockCall, Form, Function, Imm, InstData, Terminator};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::types::{Scalar, Type};

/// How many operations deep a truth value is searched for.
const MOST_DEPTH: u32 = 8;

/// Most walks over the code until the facts about loops are stable.
const MOST_ROUNDS: usize = 40;

/// Runs the pass, on mask form only. The result is right only for a chunk of a single lane, and that lane must be
/// active.
pub fn run(func: &mut Function) -> bool {
    if func.form != Form::Mask {
        return false;
    }
    let changed = activate(func);
    let order = Order::new(func, &Cfg::new(func));
    let facts = Facts::solve(func, &order, None);
    rewrite(func, &order, facts) || changed
}

/// The lane is active.
pub(super) fn activate(func: &mut Function) -> bool {
    let mut changed = false;
    for inst in func.insts.iter_mut().filter(|inst| inst.op == Opcode::ActiveMask) {
        changed = true;
        (inst.op, inst.imm) = (Opcode::Const, Imm::Bits(1));
        inst.args.clear();
    }
    changed
}

/// How a block is left where a value has a known truth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BlockExit {
    /// No lane comes here.
    Unreached,
    /// By any of its edges.
    Either,
    /// Its condition has this truth value.
    Decided(bool),
}

/// How a lane goes through the blocks if `v` is true, or false, by block.
pub(super) fn exits_if(func: &Function, v: Value, known: bool) -> Vec<BlockExit> {
    let order = Order::new(func, &Cfg::new(func));
    let mut facts = Facts::solve(func, &order, Some((v, known)));
    let mut exits = vec![BlockExit::Unreached; func.blocks.len()];
    let mut seen = true;
    order.visit(func, &mut facts, |facts, block| {
        exits[block.index()] = match func.term(block) {
            Terminator::BrIf { cond, .. } | Terminator::BrAny { mask: cond, .. } => {
                let truth = facts.of(func, *cond);
                seen &= truth != Truth::NotSeen;
                if let Truth::Known(known) = truth { BlockExit::Decided(known) } else { BlockExit::Either }
            }
            _ => BlockExit::Either,
        };
    });
    // Should a condition still be unseen, nothing is assumed of any block.
    if seen { exits } else { vec![BlockExit::Either; func.blocks.len()] }
}

fn is_truth(func: &Function, v: Value) -> bool {
    func.ty(v).scalar == Scalar::I1
}

/// What is known of a truth value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Truth {
    /// No value has reached it yet.
    NotSeen,
    Known(bool),
    Unknown,
}

impl Truth {
    fn meet(self, other: Truth) -> Truth {
        match (self, other) {
            (Truth::NotSeen, other) | (other, Truth::NotSeen) => other,
            (a, b) if a == b => a,
            _ => Truth::Unknown,
        }
    }
}

/// The facts known at a point in the code.
struct Facts {
    /// For each value that is a parameter and a truth value: what all edges that can be taken give it.
    params: Vec<Option<Truth>>,
    /// Blocks that an edge which can be taken leads to.
    reached: Vec<bool>,
    /// For each value: what was learned from branches on the path to this point.
    learned: Vec<Option<bool>>,
    /// What was learned, in order.
    trail: Vec<Value>,
}

impl Facts {
    /// Finds the facts about parameters and reached blocks, for a lane for which a value is known.
    fn solve(func: &Function, order: &Order, given: Option<(Value, bool)>) -> Facts {
        let values = func.values.len();
        let mut facts = Facts {
            params: vec![None; values],
            reached: vec![false; func.blocks.len()],
            learned: vec![None; values],
            trail: Vec::new(),
        };
        facts.reached[func.entry.index()] = true;
        if let Some((v, known)) = given {
            facts.learn(func, v, known, MOST_DEPTH);
        }
        for block in func.block_ids().filter(|&b| b != func.entry) {
            for &p in func.block(block).params.iter().filter(|&&p| is_truth(func, p)) {
                facts.params[p.index()] = Some(Truth::NotSeen);
            }
        }
        for _ in 0..MOST_ROUNDS {
            let mut changed = false;
            order.visit(func, &mut facts, |facts, block| {
                for_each_edge(func, facts, block, |facts, call| changed |= facts.arrive(func, call));
            });
            if !changed {
                return facts;
            }
        }
        // Not stable: nothing is known.
        facts.params.fill(None);
        facts.reached.fill(true);
        facts
    }

    /// Takes an edge. Whether that tells anything new.
    fn arrive(&mut self, func: &Function, call: &BlockCall) -> bool {
        let mut changed = !std::mem::replace(&mut self.reached[call.block.index()], true);
        for (&p, &arg) in func.block(call.block).params.iter().zip(&call.args) {
            let Some(before) = self.params[p.index()] else { continue };
            let now = before.meet(self.of(func, arg));
            changed |= now != before;
            self.params[p.index()] = Some(now);
        }
        changed
    }

    fn of(&self, func: &Function, v: Value) -> Truth {
        self.look(func, v, MOST_DEPTH)
    }

    fn look(&self, func: &Function, v: Value, depth: u32) -> Truth {
        if let Some(known) = self.learned[v.index()] {
            return Truth::Known(known);
        }
        if let Some(truth) = self.params[v.index()] {
            return truth;
        }
        let Some(data) = func.def_inst(v) else { return Truth::Unknown };
        if depth == 0 {
            return Truth::Unknown;
        }
        let of = |n: usize| self.look(func, data.args[n], depth - 1);
        match data.op {
            Opcode::Const => func.as_const(v).map_or(Truth::Unknown, |bits| Truth::Known(bits & 1 != 0)),
            Opcode::Any if data.args.len() == 1 => of(0),
            Opcode::Splat => of(0),
            Opcode::Inot => match of(0) {
                Truth::Known(known) => Truth::Known(!known),
                other => other,
            },
            Opcode::Iand | Opcode::Ior => {
                let alone = data.op == Opcode::Ior;
                match (of(0), of(1)) {
                    (Truth::Known(x), _) | (_, Truth::Known(x)) if x == alone => Truth::Known(alone),
                    (Truth::Known(_), Truth::Known(_)) => Truth::Known(!alone),
                    (Truth::Unknown, _) | (_, Truth::Unknown) => Truth::Unknown,
                    _ => Truth::NotSeen,
                }
            }
            Opcode::Ixor => match (of(0), of(1)) {
                (Truth::Known(a), Truth::Known(b)) => Truth::Known(a != b),
                (Truth::Unknown, _) | (_, Truth::Unknown) => Truth::Unknown,
                _ => Truth::NotSeen,
            },
            Opcode::Select => match of(0) {
                Truth::Known(true) => of(1),
                Truth::Known(false) => of(2),
                Truth::NotSeen => Truth::NotSeen,
                Truth::Unknown => of(1).meet(of(2)),
            },
            _ => Truth::Unknown,
        }
    }

    /// Records that `v` has this truth value from here on, and what follows for the values that it is computed from.
    fn learn(&mut self, func: &Function, v: Value, known: bool, depth: u32) {
        if self.learned[v.index()].is_some() {
            return;
        }
        self.learned[v.index()] = Some(known);
        self.trail.push(v);
        let Some(data) = func.def_inst(v).filter(|_| depth > 0) else { return };
        let alone = match data.op {
            Opcode::Any if data.args.len() == 1 => return self.learn(func, data.args[0], known, depth - 1),
            Opcode::Splat => return self.learn(func, data.args[0], known, depth - 1),
            Opcode::Inot => return self.learn(func, data.args[0], !known, depth - 1),
            Opcode::Iand => false,
            Opcode::Ior => true,
            _ => return,
        };
        let &[a, b] = &data.args[..] else { return };
        if known != alone {
            self.learn(func, a, known, depth - 1);
            self.learn(func, b, known, depth - 1);
            return;
        }
        // If one operand is known not to be the reason, the other one is.
        for (this, other) in [(a, b), (b, a)] {
            if self.of(func, this) == Truth::Known(!alone) {
                self.learn(func, other, alone, depth - 1);
            }
        }
    }

    /// Forgets what was learned since `mark`.
    fn forget(&mut self, mark: usize) {
        while self.trail.len() > mark {
            let v = self.trail.pop().expect("more than the mark");
            self.learned[v.index()] = None;
        }
    }
}

/// The dominator tree, and which blocks are entered by one edge only.
struct Order {
    children: Vec<Vec<Block>>,
    /// For a block with a single incoming edge: the condition of the branch there, and its truth value in the block.
    reason: Vec<Option<(Value, bool)>>,
    entry: Block,
}

impl Order {
    fn new(func: &Function, cfg: &Cfg) -> Order {
        let dominators = Dominators::of(cfg);
        let mut children = vec![Vec::new(); func.blocks.len()];
        let mut reason = vec![None; func.blocks.len()];
        for &b in &cfg.rpo {
            if b == func.entry {
                continue;
            }
            if let Some(above) = dominators.idom[b.index()] {
                children[above.index()].push(b);
            }
            if let &[from] = &cfg.preds[b.index()][..]
                && let Terminator::BrIf { cond, taken, next } | Terminator::BrAny { mask: cond, taken, next } =
                    func.term(from)
                && taken.block != next.block
            {
                reason[b.index()] = Some((*cond, taken.block == b));
            }
        }
        Order { children, reason, entry: func.entry }
    }

    /// Visits the reached blocks in the order of the dominator tree, with the facts known in each.
    fn visit(&self, func: &Function, facts: &mut Facts, mut at: impl FnMut(&mut Facts, Block)) {
        // Blocks to enter, and marks to return to after them.
        enum Step {
            Enter(Block),
            Leave(usize),
        }
        let mut work = vec![Step::Enter(self.entry)];
        while let Some(step) = work.pop() {
            match step {
                Step::Leave(mark) => facts.forget(mark),
                // What a block dominates is reached through it only.
                Step::Enter(block) if !facts.reached[block.index()] => {}
                Step::Enter(block) => {
                    work.push(Step::Leave(facts.trail.len()));
                    if let Some((cond, known)) = self.reason[block.index()] {
                        facts.learn(func, cond, known, MOST_DEPTH);
                    }
                    at(facts, block);
                    // The first child next: where paths meet comes last, when its edges are known.
                    work.extend(self.children[block.index()].iter().rev().map(|&b| Step::Enter(b)));
                }
            }
        }
    }
}

/// Passes each edge out of a block that can be taken to the callback, with the facts known on it.
fn for_each_edge(
    func: &Function,
    facts: &mut Facts,
    block: Block,
    mut edge: impl FnMut(&mut Facts, &BlockCall),
) {
    match func.term(block) {
        Terminator::Jump(call) => edge(facts, call),
        Terminator::BrIf { cond, taken, next } | Terminator::BrAny { mask: cond, taken, next } => {
            let truth = facts.of(func, *cond);
            for (call, side) in [(taken, true), (next, false)] {
                match truth {
                    Truth::Known(known) if known != side => continue,
                    Truth::NotSeen => continue,
                    _ => {}
                }
                let mark = facts.trail.len();
                facts.learn(func, *cond, side, MOST_DEPTH);
                edge(facts, call);
                facts.forget(mark);
            }
        }
        _ => {}
    }
}

/// Replaces known values by constants.
fn rewrite(func: &mut Function, order: &Order, mut facts: Facts) -> bool {
    let entry = func.entry;
    let types = [Type::MASK, Type::uniform(Scalar::I1)];
    let mut numbers: Vec<(Type, bool, Value)> = Vec::new();
    for ty in types {
        for known in [false, true] {
            let inst = func.make_inst(Opcode::Const, &[], Imm::Bits(known.into()), Some(ty), 0);
            func.block_mut(entry).insts.insert(0, inst);
            let value = func.inst(inst).result.expect("a constant");
            numbers.push((ty, known, value));
        }
    }
    let added = numbers.len();
    // Collect the changes first, because the facts are about the function as it is.
    enum Change {
        Arg(warpjit_ir_core::entities::Inst, usize, Value),
        Term(Block, Terminator),
    }
    let mut changes = Vec::new();
    let this: &Function = func;
    order.visit(this, &mut facts, |facts, block| {
        let number = |facts: &Facts, v: Value| {
            if !is_truth(this, v) || this.as_const(v).is_some() {
                return None;
            }
            let Truth::Known(known) = facts.of(this, v) else { return None };
            let ty = this.ty(v);
            numbers.iter().find(|n| (n.0, n.1) == (ty, known)).map(|n| n.2)
        };
        for &inst in &this.block(block).insts {
            let data: &InstData = this.inst(inst);
            for (n, &arg) in data.args.iter().enumerate() {
                if let Some(by) = number(facts, arg) {
                    changes.push(Change::Arg(inst, n, by));
                }
            }
        }
        let mut term = this.term(block).clone();
        match &mut term {
            Terminator::BrIf { cond, taken, next } | Terminator::BrAny { mask: cond, taken, next } => {
                let cond = *cond;
                if let Truth::Known(known) = facts.of(this, cond) {
                    let call = if known { taken.clone() } else { next.clone() };
                    term = Terminator::Jump(call);
                    term.map_uses(|v| number(facts, v).unwrap_or(v));
                } else {
                    for (call, side) in [(taken, true), (next, false)] {
                        let mark = facts.trail.len();
                        facts.learn(this, cond, side, MOST_DEPTH);
                        call.args.iter_mut().for_each(|v| *v = number(facts, *v).unwrap_or(*v));
                        facts.forget(mark);
                    }
                }
            }
            other => other.map_uses(|v| number(facts, v).unwrap_or(v)),
        }
        if term != *this.term(block) {
            changes.push(Change::Term(block, term));
        }
    });
    let changed = !changes.is_empty();
    if !changed {
        func.block_mut(entry).insts.drain(..added);
    }
    for change in changes {
        match change {
            Change::Arg(inst, n, by) => func.inst_mut(inst).args[n] = by,
            Change::Term(block, term) => func.block_mut(block).term = Some(term),
        }
    }
    changed
}

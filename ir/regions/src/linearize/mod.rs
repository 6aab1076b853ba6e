//! If-conversion: turns a region in SSA, whose branches may diverge, into mask form, whose branches are uniform.
//!
//! Blocks are laid out in a topological order that keeps loops together. Each block runs under a mask, the lanes that have
//! reached it; a branch becomes the masks of its two targets. A loop runs until no lane is left in it. A long block is skipped if
//! its mask is empty; a short one always runs. A value is blended by mask only where lanes that took different paths reach the
//! same parameter, or where lanes that have left a loop must keep a value while others iterate.

mod layout;
mod order;
mod values;

use super::promote::FAULT_EXIT;
use super::ssa::SsaBuilder;
use foldhash::{HashMap, HashMapExt};
use order::{Item, order_level};
use values::CrossUse;
use warpjit_ir_core::builder::Builder;
use warpjit_ir_core::entities::{Block, Value};
use warpjit_ir_core::function::{BlockCall, Form, Function, Terminator};
use warpjit_ir_core::graph::{self, LoopNest};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::passes::rewrite::single_arguments;
use warpjit_ir_core::types::Type;

/// The variables of emission, for SSA construction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Var {
    /// Lanes that have reached a block that has not run yet. For a loop header: lanes that enter the loop.
    Pending(usize),
    /// The mask under which a block ran.
    Mask(usize),
    /// Lanes that run the next iteration of a loop.
    Next(usize),
    /// A block parameter, as set by the edges emitted so far.
    Param(Value),
    /// A value used in other blocks.
    Value(Value),
    /// A value of a loop, for lanes that have left the loop.
    Held(Value),
    /// Lanes whose threads have ended.
    Exited,
}

/// Turns a region in SSA into mask form; `None` when its graph is irreducible.
pub fn to_mask(src: &Function) -> Option<Function> {
    let succs: Vec<Vec<usize>> = src
        .block_ids()
        .map(|b| {
            let mut list = Vec::new();
            src.term(b).for_each_successor(|s| {
                if !list.contains(&s.index()) {
                    list.push(s.index());
                }
            });
            list
        })
        .collect();
    let entry = src.entry.index();
    let nest = graph::natural_loops(&succs, entry)?;
    let mut reachable = vec![false; succs.len()];
    graph::reverse_postorder(&succs, entry).into_iter().for_each(|n| reachable[n] = true);
    let mut items = order_level(&succs, &nest, &reachable, None, entry);
    // Emit ends of threads first, because the exits need their lanes; then faults, then the exits that other lanes
    // take.
    items.sort_by_key(|item| match item {
        Item::Block(n) => match src.term(Block::new(*n)) {
            Terminator::Return { exit: 0, .. } => 1,
            Terminator::Return { exit, .. } if *exit >= FAULT_EXIT => 2,
            Terminator::Return { .. } => 3,
            _ => 0,
        },
        Item::Loop(..) => 0,
    });

    let mut out = Function::new(src.name.clone(), Form::Mask, src.lanes);
    out.slots = src.slots.clone();
    out.lane_mask = src.lane_mask;
    let start = out.add_block(src.block(src.entry).pc);
    let mut ssa = SsaBuilder::default();
    ssa.seal(&mut out, start);
    let mut lin = Linearizer {
        src,
        idom: graph::immediate_dominators(&succs, entry),
        pdom: graph::post_dominators(&succs),
        preds: graph::predecessors(&succs),
        nest,
        out,
        ssa,
        cur: start,
        pc: src.block(src.entry).pc,
        map: HashMap::new(),
        edges_into: HashMap::new(),
        cross_uses: HashMap::new(),
        nonempty: Vec::new(),
        returned: false,
        current: entry,
        def_of: HashMap::new(),
        active: Value(0),
        all_or_none: HashMap::new(),
    };
    lin.find_uses();
    lin.emit_all(&items, entry);
    let Linearizer { mut out, ssa, .. } = lin;
    ssa.finish(&mut out);
    single_arguments(&mut out);
    Some(out)
}

struct Linearizer<'a> {
    src: &'a Function,
    idom: Vec<Option<usize>>,
    pdom: Vec<Option<usize>>,
    preds: Vec<Vec<usize>>,
    nest: LoopNest<usize>,
    out: Function,
    ssa: SsaBuilder<Var>,
    cur: Block,
    /// Guest address of the code being emitted.
    pc: u32,
    /// Values of the block being emitted.
    map: HashMap<Value, Value>,
    /// Edges emitted so far into each block.
    edges_into: HashMap<usize, u32>,
    /// How each value is used outside its block.
    cross_uses: HashMap<Value, CrossUse>,
    /// Masks known to hold in at least one lane at the current position.
    nonempty: Vec<Value>,
    /// Whether the code from here on is unreachable.
    returned: bool,
    /// The block being emitted.
    current: usize,
    /// The block of each value.
    def_of: HashMap<Value, usize>,
    /// The region's mask.
    active: Value,
    /// Masks that are equal to another mask if a uniform condition holds, else empty. Maps to the condition and that
    /// mask.
    all_or_none: HashMap<Value, (Value, Value)>,
}

impl Linearizer<'_> {
    fn b(&mut self) -> Builder<'_> {
        let mut b = Builder::new(&mut self.out, self.cur);
        b.pc = self.pc;
        b
    }

    fn read(&mut self, var: Var, ty: Type) -> Value {
        self.ssa.declare(var, ty);
        self.ssa.read(&mut self.out, var, self.cur)
    }

    fn write(&mut self, var: Var, ty: Type, value: Value) {
        self.ssa.declare(var, ty);
        self.ssa.write(var, self.cur, value);
    }

    fn zero_mask(&mut self) -> Value {
        self.ssa.zero(&mut self.out, Type::MASK)
    }

    fn is_zero(&self, v: Value) -> bool {
        self.out.as_const(v) == Some(0)
    }

    fn terminate(&mut self, term: Terminator) {
        let from = self.cur;
        term.for_each_successor(|to| self.ssa.edge(from, to));
        let mut b = self.b();
        b.terminate(term);
    }

    /// Makes a new sealed block whose only predecessor is the current block.
    fn new_block(&mut self, pc: u32) -> Block {
        self.out.add_block(pc)
    }

    fn mask_and(&mut self, a: Value, b: Value) -> Value {
        match (self.out.as_const(a), self.out.as_const(b)) {
            (Some(0), _) | (_, Some(1)) => a,
            (_, Some(0)) | (Some(1), _) => b,
            _ if a == b => a,
            _ => {
                let v = self.b().iand(a, b);
                if self.out.ty(b).uniform {
                    self.all_or_none.insert(v, (a, b));
                }
                v
            }
        }
    }

    /// If a mask equals a mask known to be nonempty under a uniform condition, and is empty otherwise: the condition
    /// and that mask.
    fn uniform_entry(&self, mask: Value) -> Option<(Value, Value)> {
        self.all_or_none.get(&mask).copied().filter(|(all, _)| self.nonempty.contains(all))
    }

    /// Branches to `taken` if `mask` holds in any lane; returns the mask to use there.
    fn branch_if_any(&mut self, mask: Value, taken: Block, next: Block) -> Value {
        match self.uniform_entry(mask) {
            Some((all, cond)) => {
                self.terminate(Terminator::BrIf { cond, taken: taken.into(), next: next.into() });
                all
            }
            None => {
                self.terminate(Terminator::BrAny { mask, taken: taken.into(), next: next.into() });
                mask
            }
        }
    }

    fn mask_or(&mut self, a: Value, b: Value) -> Value {
        match (self.out.as_const(a), self.out.as_const(b)) {
            (Some(0), _) | (_, Some(1)) => b,
            (_, Some(0)) | (Some(1), _) => a,
            _ if a == b => a,
            _ => self.b().ior(a, b),
        }
    }

    fn emit_body(&mut self, n: usize, mask: Value) {
        let src = self.src;
        let data = src.block(Block::new(n));
        self.current = n;
        self.map.clear();
        self.write(Var::Mask(n), Type::MASK, mask);
        for &p in &data.params {
            let v = self.read(Var::Param(p), src.ty(p));
            self.map.insert(p, v);
            self.publish(p, mask);
        }
        for &i in &data.insts {
            self.emit_inst(i, mask);
        }
        self.emit_terminator(n, mask);
    }

    fn emit_inst(&mut self, i: warpjit_ir_core::entities::Inst, mask: Value) {
        let src = self.src;
        let data = src.inst(i);
        if data.op == Opcode::Const {
            return;
        }
        self.pc = data.pc;
        let mut args: Vec<Value> = data.args.iter().map(|a| self.use_value(*a)).collect();
        let operands = match data.op {
            Opcode::Load => Some(1),
            Opcode::Store => Some(2),
            Opcode::SlotSet => Some(1),
            Opcode::Atomic => Some(data.atomic_operands()),
            Opcode::CallDevice => Some(0),
            _ => None,
        };
        if let Some(operands) = operands {
            let guard = args.get(operands).copied();
            args.truncate(operands);
            let guard = match guard {
                Some(g) => Some(self.mask_and(mask, g)),
                None => (mask != self.active).then_some(mask),
            };
            args.extend(guard);
        }
        if data.op == Opcode::ActiveMask {
            // In SPMD form this is the mask of the block.
            if let Some(v) = data.result {
                self.map.insert(v, mask);
                self.publish(v, mask);
            }
            return;
        }
        let ty = data.result.map(|v| {
            let mut ty = src.ty(v);
            if data.op.is_pure() && data.op != Opcode::Splat {
                ty.uniform = args.iter().all(|a| self.out.ty(*a).uniform);
            }
            ty
        });
        let result = self.b().push(data.op, &args, data.imm, ty);
        if let (Some(v), Some(new)) = (data.result, result) {
            self.map.insert(v, new);
            self.publish(v, mask);
        }
    }

    fn emit_terminator(&mut self, n: usize, mask: Value) {
        let src = self.src;
        self.pc = src.block(Block::new(n)).term_pc;
        match src.term(Block::new(n)) {
            Terminator::Jump(call) => self.emit_edge(n, call, mask),
            Terminator::Branch { cond, taken, next } => {
                let cond = self.use_value(*cond);
                let taken_mask = self.mask_and(mask, cond);
                let not = match self.out.as_const(cond) {
                    Some(c) => self.b().bool(c == 0),
                    None => self.b().inot(cond),
                };
                let next_mask = self.mask_and(mask, not);
                self.emit_edge(n, taken, taken_mask);
                self.emit_edge(n, next, next_mask);
            }
            Terminator::Return { exit: 0, .. } => {
                let exited = self.read(Var::Exited, Type::MASK);
                let exited = self.mask_or(exited, mask);
                self.write(Var::Exited, Type::MASK, exited);
            }
            Terminator::Return { exit, cond, .. } => {
                let cond = cond.map(|c| self.use_value(c));
                self.emit_return(*exit, cond, Some(mask));
            }
            // A region in SSA has no other terminators.
            _ => {}
        }
    }

    fn emit_return(&mut self, exit: u32, cond: Option<Value>, mask: Option<Value>) {
        let exited = match mask {
            Some(mask) if exit >= FAULT_EXIT => mask,
            _ => self.read(Var::Exited, Type::MASK),
        };
        let mut b = self.b();
        let exited = b.splat(exited);
        let cond = cond.map(|c| b.splat(c));
        self.terminate(Terminator::Return { exit, exited: Some(exited), cond });
    }

    fn emit_edge(&mut self, from: usize, call: &BlockCall, mask: Value) {
        if self.is_zero(mask) {
            return;
        }
        let to = call.block.index();
        let header_of = self.nest.loops.iter().position(|l| l.header == to);
        let back = header_of.filter(|&l| self.nest.is_in(l, from));
        let level_from = self.nest.innermost[from];
        // Whether this is the first edge into the block, so that no earlier lanes' parameters must be kept.
        let first = {
            let count = self.edges_into.entry(to).or_default();
            *count += 1;
            *count == 1
        };
        let (var, plain) = match (back, header_of) {
            (Some(l), _) => {
                let backs = self.preds[to].iter().filter(|&&p| self.nest.is_in(l, p)).count();
                (Var::Next(l), backs == 1 && level_from == Some(l))
            }
            (None, Some(l)) => (Var::Pending(to), first && level_from == self.nest.loops[l].parent),
            (None, None) => (Var::Pending(to), first && level_from == self.nest.innermost[to]),
        };
        let params = self.src.block(call.block).params.clone();
        let args: Vec<Value> = call.args.iter().map(|a| self.use_value(*a)).collect();
        // Read all old values first, because a parameter may be another one's argument.
        let mut new = Vec::with_capacity(params.len());
        for (&p, &a) in params.iter().zip(&args) {
            let ty = self.src.ty(p);
            let holds = back.is_some() && self.uses_hold(p) && self.held_as_param(p);
            new.push(if plain && !holds {
                a
            } else {
                let old = self.read(Var::Param(p), ty);
                if old == a { a } else { self.b().select(mask, a, old) }
            });
        }
        for (&p, &v) in params.iter().zip(&new) {
            self.write(Var::Param(p), self.src.ty(p), v);
        }
        let old = self.read(var, Type::MASK);
        let all = self.mask_or(old, mask);
        self.write(var, Type::MASK, all);
    }
}

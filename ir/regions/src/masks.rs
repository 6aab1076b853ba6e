//! Relations between lane masks in mask form: whether one mask implies another, and whether two masks are disjoint.
//!
//! Both follow from how the masks were computed (`and`, `or`, `not`, `select`), and for block parameters by induction over the
//! edges: if a relation holds on every way into a loop and each iteration preserves it, it always holds. The search is bounded;
//! "no" means "not proved".

use warpjit_ir_core::analysis::{Cfg, Dominators};
use warpjit_ir_core::entities::{Block, Value};
use warpjit_ir_core::function::{Function, InstData, ValueDef};
use warpjit_ir_core::opcodes::Opcode;

/// Most pairs of values visited for one query.
const MOST_STEPS: u32 = 48;

/// An edge's arguments, with the block it leads to.
pub type Edge = (Block, Vec<Value>);

/// Answers queries about the masks of a function in mask form.
pub struct Masks<'a> {
    /// The function.
    pub func: &'a Function,
    dominators: Dominators,
    /// The block of each value.
    block_of: Vec<Block>,
    /// Edges into each block.
    pub edges: Vec<Vec<Edge>>,
}

impl<'a> Masks<'a> {
    /// Analyses a function as it is now.
    pub fn new(func: &'a Function) -> Self {
        let mut edges = vec![Vec::new(); func.blocks.len()];
        for call in func.blocks.iter().filter_map(|b| b.term.as_ref()).flat_map(|term| term.calls()) {
            edges[call.block.index()].push((call.block, call.args.clone()));
        }
        let mut block_of = vec![func.entry; func.values.len()];
        for block in func.block_ids() {
            let data = func.block(block);
            let results = data.insts.iter().filter_map(|&i| func.inst(i).result);
            results.chain(data.params.iter().copied()).for_each(|v| block_of[v.index()] = block);
        }
        Masks { func, dominators: Dominators::of(&Cfg::new(func)), block_of, edges }
    }

    /// Whether `mask` implies `of`: every lane of `mask` is a lane of `of`.
    pub fn implies(&self, mask: Value, of: Value) -> bool {
        mask == of || {
            let mut steps = MOST_STEPS;
            self.search(mask, of, &mut Vec::new(), &mut steps)
        }
    }

    /// Whether the masks are disjoint.
    pub fn are_disjoint(&self, a: Value, b: Value) -> bool {
        self.search_disjoint(a, b, &mut Vec::new(), &mut { MOST_STEPS })
    }

    /// Whether a value is computed before `block`, in a block that dominates it and is another one. So a back edge to
    /// `block` does not change it.
    pub fn is_older(&self, value: Value, block: Block) -> bool {
        let made = self.block_of[value.index()];
        made != block && self.dominators.dominates(made, block)
    }

    /// Whether, for each edge into a block, `holds` is true of the argument for a parameter and another mask.
    ///
    /// The argument belongs to another iteration. So the other mask must come from before the loop, or be a parameter
    /// itself, for which the same edge's argument is taken.
    fn holds_on_edges(
        &self,
        (block, n): (Block, u32),
        other: Value,
        mut holds: impl FnMut(Value, Value) -> bool,
    ) -> bool {
        let place = match self.func.values[other.index()].def {
            ValueDef::Param(of, n) if of == block => Some(n),
            _ if self.is_older(other, block) => None,
            _ => return false,
        };
        let edges = &self.edges[block.index()];
        !edges.is_empty()
            && edges.iter().all(|(_, args)| {
                let other = place.map_or(Some(other), |place| args.get(place as usize).copied());
                args.get(n as usize).zip(other).is_some_and(|(&arg, other)| holds(arg, other))
            })
    }

    fn search(&self, mask: Value, of: Value, seen: &mut Vec<(Value, Value)>, steps: &mut u32) -> bool {
        // A pair that is met again is assumed to hold, by induction: if the relation holds on entry to a loop and each
        // iteration preserves it, it always holds.
        if mask == of || seen.contains(&(mask, of)) {
            return true;
        }
        if *steps == 0 {
            return false;
        }
        *steps -= 1;
        // Implying one operand of a union suffices.
        if let Some(InstData { op: Opcode::Ior, args, .. }) = self.func.def_inst(of)
            && args.contains(&mask)
        {
            return true;
        }
        match self.func.values[mask.index()].def {
            ValueDef::Param(block, n) => {
                seen.push((mask, of));
                let all = self.holds_on_edges((block, n), of, |arg, of| self.search(arg, of, seen, steps));
                seen.pop();
                all
            }
            ValueDef::Inst(inst) => {
                let data = self.func.inst(inst);
                match data.op {
                    Opcode::Iand => data.args.iter().any(|&a| self.search(a, of, seen, steps)),
                    Opcode::Ior | Opcode::Ixor => data.args.iter().all(|&a| self.search(a, of, seen, steps)),
                    Opcode::Splat => self.search(data.args[0], of, seen, steps),
                    Opcode::Select => {
                        self.search(data.args[1], of, seen, steps)
                            && self.search(data.args[2], of, seen, steps)
                    }
                    Opcode::Const => self.func.as_const(mask) == Some(0),
                    _ => false,
                }
            }
        }
    }

    fn search_disjoint(&self, a: Value, b: Value, seen: &mut Vec<(Value, Value)>, steps: &mut u32) -> bool {
        if seen.contains(&(a, b)) || self.lacks(a, b) || self.lacks(b, a) {
            return true;
        }
        if *steps == 0 || a == b {
            return false;
        }
        *steps -= 1;
        self.is_disjoint_by(a, b, seen, steps) || self.is_disjoint_by(b, a, seen, steps)
    }

    /// Whether `mask` obviously excludes `other`: it is the complement, a conjunction with the complement, or empty.
    fn lacks(&self, mask: Value, other: Value) -> bool {
        match self.func.def_inst(mask) {
            Some(InstData { op: Opcode::Iand, args, .. }) => {
                args.iter().any(|&a| self.is_complement(a, other))
            }
            Some(InstData { op: Opcode::Const, .. }) => self.func.as_const(mask) == Some(0),
            _ => self.is_complement(mask, other),
        }
    }

    fn is_complement(&self, mask: Value, of: Value) -> bool {
        matches!(self.func.def_inst(mask), Some(InstData { op: Opcode::Inot, args, .. }) if args[0] == of)
    }

    /// Whether the definition of `mask` shows that it is disjoint from `other`.
    fn is_disjoint_by(
        &self,
        mask: Value,
        other: Value,
        seen: &mut Vec<(Value, Value)>,
        steps: &mut u32,
    ) -> bool {
        match self.func.values[mask.index()].def {
            ValueDef::Param(block, n) => {
                seen.push((mask, other));
                let all = self.holds_on_edges((block, n), other, |arg, other| {
                    self.search_disjoint(arg, other, seen, steps)
                });
                seen.pop();
                all
            }
            ValueDef::Inst(inst) => {
                let data = self.func.inst(inst);
                match data.op {
                    Opcode::Inot => self.search(other, data.args[0], &mut Vec::new(), steps),
                    Opcode::Iand => data.args.iter().any(|&a| self.search_disjoint(a, other, seen, steps)),
                    Opcode::Ior => data.args.iter().all(|&a| self.search_disjoint(a, other, seen, steps)),
                    Opcode::Splat => self.search_disjoint(data.args[0], other, seen, steps),
                    _ => false,
                }
            }
        }
    }
}

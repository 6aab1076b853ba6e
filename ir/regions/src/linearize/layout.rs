//! Lays blocks and loops out: the mask of each, and whether it is skipped where that is empty.

use super::order::Item;
use super::{Linearizer, Var};
use warpjit_ir_core::entities::{Block, Value};
use warpjit_ir_core::function::{Imm, Terminator};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::types::Type;

/// Blocks of at least this cost are skipped if their mask is empty; cheaper ones always run. A test and a branch cost
/// about 3, a mispredicted branch about 15 more.
const SKIP_COST: u32 = 32;

impl Linearizer<'_> {
    pub(super) fn emit_all(&mut self, items: &[Item], entry: usize) {
        let active =
            self.b().push(Opcode::ActiveMask, &[], Imm::None, Some(Type::MASK)).expect("has a result");
        self.nonempty.push(active);
        self.active = active;
        self.write(Var::Pending(entry), Type::MASK, active);
        let zero = self.zero_mask();
        self.write(Var::Exited, Type::MASK, zero);
        self.clear_masks(None, entry);
        self.emit_items(items);
        if !self.returned {
            self.emit_return(0, None, None);
        }
    }

    /// At the start of each iteration of a loop (or of the region), clears the masks of lanes waiting for its blocks.
    fn clear_masks(&mut self, level: Option<usize>, except: usize) {
        let zero = self.zero_mask();
        for n in 0..self.src.blocks.len() {
            if n != except && level.is_none_or(|l| self.nest.is_in(l, n)) {
                self.write(Var::Pending(n), Type::MASK, zero);
                self.write(Var::Mask(n), Type::MASK, zero);
            }
        }
    }

    fn emit_items(&mut self, items: &[Item]) {
        for item in items {
            if self.returned {
                return;
            }
            match item {
                Item::Block(n) => self.emit_block(*n, None),
                Item::Loop(l, inner) => self.emit_loop(*l, inner),
            }
        }
    }

    fn emit_loop(&mut self, l: usize, items: &[Item]) {
        let header = self.nest.loops[l].header;
        let pc = self.src.block(Block::new(header)).pc;
        let entering = self.entry_mask(header);
        if self.is_zero(entering) {
            return;
        }
        let body = self.new_block(pc);
        let after = self.new_block(pc);
        let known = self.nonempty.contains(&entering);
        let inside = self.uniform_entry(entering).map_or(entering, |(all, _)| all);
        self.write(Var::Next(l), Type::MASK, inside);
        if known {
            self.terminate(Terminator::Jump(body.into()));
        } else {
            self.branch_if_any(entering, body, after);
        }
        self.cur = body;
        let mask = self.read(Var::Next(l), Type::MASK);
        self.nonempty.push(mask);
        self.clear_masks(Some(l), header);
        let zero = self.zero_mask();
        self.write(Var::Next(l), Type::MASK, zero);
        for item in items {
            match item {
                Item::Block(n) => self.emit_block(*n, (*n == header).then_some(mask)),
                Item::Loop(inner, list) => self.emit_loop(*inner, list),
            }
        }
        let again = self.read(Var::Next(l), Type::MASK);
        if let Some((all, _)) = self.uniform_entry(again) {
            self.write(Var::Next(l), Type::MASK, all);
        }
        self.branch_if_any(again, body, after);
        self.nonempty.pop();
        self.ssa.seal(&mut self.out, body);
        self.ssa.seal(&mut self.out, after);
        self.cur = after;
    }

    /// The mask with which a block, or the loop that it heads, is entered.
    fn entry_mask(&mut self, n: usize) -> Value {
        // If exactly the lanes of a dominator in the same loop reach this block, use the dominator's mask.
        let level = if self.nest.loops.iter().any(|l| l.header == n) {
            self.nest.innermost[n].and_then(|l| self.nest.loops[l].parent)
        } else {
            self.nest.innermost[n]
        };
        let mut d = n;
        while let Some(up) = self.idom[d].filter(|&u| u != d) {
            d = up;
            if self.nest.innermost[d] == level && self.post_dominates(n, d) {
                return self.read(Var::Mask(d), Type::MASK);
            }
            if level.is_some_and(|l| !self.nest.is_in(l, d)) {
                break;
            }
        }
        self.read(Var::Pending(n), Type::MASK)
    }

    fn post_dominates(&self, a: usize, mut b: usize) -> bool {
        loop {
            if a == b {
                return true;
            }
            match self.pdom[b] {
                Some(p) if p != b => b = p,
                _ => return false,
            }
        }
    }

    fn cost(&self, n: usize) -> u32 {
        let block = self.src.block(Block::new(n));
        if matches!(block.term, Some(Terminator::Return { exit, .. }) if exit != 0) {
            return SKIP_COST;
        }
        block
            .insts
            .iter()
            .map(|i| match self.src.inst(*i).op {
                Opcode::Const => 0,
                Opcode::Store
                | Opcode::Atomic
                | Opcode::CallPure
                | Opcode::CallDevice
                | Opcode::Fdiv
                | Opcode::Fsqrt => SKIP_COST,
                Opcode::Load => SKIP_COST / 2,
                Opcode::FmadTrunc => 8,
                _ => 1,
            })
            .sum()
    }

    fn emit_block(&mut self, n: usize, loop_mask: Option<Value>) {
        let mask = loop_mask.unwrap_or_else(|| self.entry_mask(n));
        if self.is_zero(mask) {
            return;
        }
        let known = self.nonempty.contains(&mask);
        let pc = self.src.block(Block::new(n)).pc;
        if known || self.cost(n) < SKIP_COST {
            self.emit_body(n, mask);
            self.returned = self.returned_here();
            return;
        }
        let body = self.new_block(pc);
        let after = self.new_block(pc);
        let mask = self.branch_if_any(mask, body, after);
        self.ssa.seal(&mut self.out, body);
        self.cur = body;
        self.nonempty.push(mask);
        self.emit_body(n, mask);
        self.nonempty.pop();
        if !self.returned_here() {
            self.terminate(Terminator::Jump(after.into()));
        }
        self.ssa.seal(&mut self.out, after);
        self.cur = after;
    }

    /// Whether the current block has ended with a return.
    fn returned_here(&self) -> bool {
        self.out.block(self.cur).term.is_some()
    }
}

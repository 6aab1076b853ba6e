//! Values that are used in other blocks than their own, and those of loops, which lanes keep that have left the loop.

use super::{Linearizer, Var};
use foldhash::{HashMap, HashMapExt};
use warpjit_ir_core::entities::Value;
use warpjit_ir_core::function::ValueDef;
use warpjit_ir_core::types::Type;

/// How a value is used outside its block.
#[derive(Clone, Copy, Default, Debug)]
pub struct CrossUse {
    /// Used in another block of the same loop (or a loop inside it).
    pub near: bool,
    /// Used by lanes that have left the value's loop.
    pub far: bool,
    /// Used outside a loop around the value's loop too.
    pub farther: bool,
}

impl Linearizer<'_> {
    fn def_block(&self, v: Value, of_inst: &HashMap<u32, usize>) -> usize {
        match self.src.values[v.index()].def {
            ValueDef::Param(b, _) => b.index(),
            ValueDef::Inst(i) => of_inst[&i.0],
        }
    }

    pub(super) fn find_uses(&mut self) {
        let src = self.src;
        let mut of_inst: HashMap<u32, usize> = HashMap::new();
        for b in src.block_ids() {
            for i in &src.block(b).insts {
                of_inst.insert(i.0, b.index());
            }
        }
        let mut uses: Vec<(Value, usize)> = Vec::new();
        for b in src.block_ids() {
            for &i in &src.block(b).insts {
                uses.extend(src.inst(i).args.iter().map(|a| (*a, b.index())));
            }
            src.term(b).for_each_use(|v| uses.push((v, b.index())));
        }
        for (v, user) in uses {
            if src.as_const(v).is_some() {
                continue;
            }
            let def = self.def_block(v, &of_inst);
            if def == user {
                continue;
            }
            self.def_of.insert(v, def);
            let entry = self.cross_uses.entry(v).or_default();
            match self.nest.innermost[def] {
                Some(l) if !self.nest.is_in(l, user) => {
                    entry.far = true;
                    let mut parent = self.nest.loops[l].parent;
                    while let Some(p) = parent {
                        entry.farther |= !self.nest.is_in(p, user);
                        parent = self.nest.loops[p].parent;
                    }
                }
                _ => entry.near = true,
            }
        }
    }

    pub(super) fn use_value(&mut self, v: Value) -> Value {
        if let Some(&m) = self.map.get(&v) {
            return m;
        }
        let ty = self.src.ty(v);
        let new = if let Some(bits) = self.src.as_const(v) {
            self.b().constant(ty.scalar, bits)
        } else if self.uses_hold(v) && self.left_loop_of(v) {
            match self.held_as_param(v) {
                true => self.read(Var::Param(v), ty),
                false => self.read(Var::Held(v), ty),
            }
        } else {
            self.read(Var::Value(v), ty)
        };
        self.map.insert(v, new);
        new
    }

    pub(super) fn uses_hold(&self, v: Value) -> bool {
        self.cross_uses.get(&v).is_some_and(|u| u.far)
    }

    /// Whether the value is a parameter of a loop's header that can itself keep the values of lanes that have left,
    /// because the back edge does not change those lanes.
    pub(super) fn held_as_param(&self, v: Value) -> bool {
        let farther = self.cross_uses.get(&v).is_some_and(|u| u.farther);
        match self.src.values[v.index()].def {
            // A uniform parameter cannot keep values that differ between lanes that left and lanes that iterate.
            ValueDef::Param(b, _) => {
                !farther
                    && !self.src.ty(v).uniform
                    && self.nest.innermost[b.index()].is_some_and(|l| self.nest.loops[l].header == b.index())
            }
            ValueDef::Inst(_) => false,
        }
    }

    /// Whether the current block is outside the loop in which `v` is defined.
    fn left_loop_of(&self, v: Value) -> bool {
        self.def_of
            .get(&v)
            .and_then(|&def| self.nest.innermost[def])
            .is_some_and(|l| !self.nest.is_in(l, self.current))
    }

    /// Makes a value of the current block available to other blocks.
    pub(super) fn publish(&mut self, v: Value, mask: Value) {
        let Some(&CrossUse { near, far, .. }) = self.cross_uses.get(&v) else { return };
        let new = self.map[&v];
        let ty = self.src.ty(v);
        if near {
            self.write(Var::Value(v), ty, new);
        }
        if far && !self.held_as_param(v) {
            let ty = Type::varying(ty.scalar);
            let old = self.read(Var::Held(v), ty);
            let held = self.b().select(mask, new, old);
            self.write(Var::Held(v), ty, held);
        }
    }
}

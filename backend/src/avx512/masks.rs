//! Masks of lanes: halves, bits, guards.

use std::rc::Rc;

use iced_x86::Code;
use warpjit_ir::analysis::{Cfg, Dominators};
use warpjit_ir::function::ValueDef;
use warpjit_ir::{Args, Function, Opcode, Terminator, Value};

use super::asm::R;
use super::lower::{Kept, Lower};
use crate::error::Error;

/// Blocks that are reached only behind a test that has found all lanes of the chunk among those that entered and have a mask
/// ([`warpjit_ir::passes::whole`]), and those only where it has not. `all_enter`: all lanes enter anyway.
pub(super) fn versions(f: &Function, all_enter: bool) -> (Vec<bool>, Vec<bool>) {
    let cfg = Cfg::new(f);
    let dominators = Dominators::of(&cfg);
    let is = |v: Value, op: Opcode| f.def_inst(v).filter(|data| data.op == op).map(|data| &data.args);
    let of_all = |mask: Value| {
        let Some(both) = is(mask, Opcode::Inot).map(|args| args[0]) else { return false };
        let conditions = is(both, Opcode::Iand).cloned().unwrap_or_else(|| Args::from_slice(&[both]));
        all_enter || conditions.iter().any(|&v| is(v, Opcode::ActiveMask).is_some())
    };
    let (mut all, mut lacking) = (vec![false; f.blocks.len()], vec![false; f.blocks.len()]);
    for &from in &cfg.rpo {
        let Terminator::BrAny { mask, taken, next } = f.term(from) else { continue };
        if taken.block == next.block || !of_all(*mask) {
            continue;
        }
        let again = f.block(taken.block).insts.is_empty()
            && matches!(f.term(taken.block), Terminator::BrAny { taken, .. } if cfg.preds[taken.block.index()].len() == 1);
        for (to, list) in [(next.block, &mut all), (taken.block, &mut lacking)] {
            if cfg.preds[to.index()] == [from] && (again || to == next.block) {
                let inside = cfg.rpo.iter().filter(|&&b| dominators.dominates(to, b));
                inside.for_each(|b| list[b.index()] = true);
            }
        }
    }
    (all, lacking)
}

impl Lower<'_> {
    /// The upper eight of sixteen lanes of a mask, as the lower ones.
    pub fn upper(&mut self, k: R) -> R {
        if let Some(&h) = self.known.halves.get(&k) {
            return h;
        }
        let h = self.a.kshr(k, 8);
        if !self.aside {
            self.known.halves.insert(k, h);
        }
        h
    }

    /// Where any of some masks holds.
    pub fn any_of(&mut self, masks: impl IntoIterator<Item = R>) -> Option<R> {
        masks.into_iter().reduce(|a, b| self.a.k3(Code::VEX_Korw_kr_kr_kr, a, b))
    }

    /// Masks for the vectors of wide values.
    pub fn widen(&mut self, masks: &[R]) -> Vec<R> {
        masks.iter().flat_map(|&k| [k, self.upper(k)]).collect()
    }

    /// The masks of sixteen lanes from those of eight.
    pub fn narrow(&mut self, halves: &[R]) -> Vec<R> {
        halves.chunks(2).map(|h| self.a.k3(Code::VEX_Kunpckbw_kr_kr_kr, h[1], h[0])).collect()
    }

    /// A bit for each lane of the chunk.
    pub fn bits_of_masks(&mut self, masks: &[R]) -> R {
        match *masks {
            [k] => self.a.bits_of(k),
            [a, b] => {
                let k = self.a.k3(Code::VEX_Kunpckwd_kr_kr_kr, b, a);
                let d = self.a.gpr();
                self.a.kmov_bits(Code::VEX_Kmovd_r32_kr, d, k, false);
                d
            }
            _ => {
                let pairs: Vec<R> =
                    masks.chunks(2).map(|h| self.a.k3(Code::VEX_Kunpckwd_kr_kr_kr, h[1], h[0])).collect();
                let k = self.a.k3(Code::VEX_Kunpckdq_kr_kr_kr, pairs[1], pairs[0]);
                let d = self.a.gpr();
                self.a.kmov_bits(Code::VEX_Kmovq_r64_kr, d, k, true);
                d
            }
        }
    }

    /// The lanes of the chunk whose bits are set.
    pub fn masks_of_bits(&mut self, bits: R) -> Rc<[R]> {
        (0..self.groups)
            .map(|g| {
                let own = match g {
                    0 => bits,
                    _ => self.a.shift(true, (Code::Shr_rm32_imm8, Code::Shr_rm64_imm8), bits, 16 * g as u8),
                };
                self.a.k_of(own)
            })
            .collect()
    }

    /// Whether the value is the chunk's entry mask itself.
    pub fn is_active_mask(&self, v: Value) -> bool {
        match self.f.values[v.index()].def {
            ValueDef::Inst(i) => self.f.inst(i).op == Opcode::ActiveMask,
            ValueDef::Param(..) => false,
        }
    }

    /// Whether a guard leaves the lanes that entered as they are.
    pub fn is_entry(&self, guard: Option<Value>) -> bool {
        guard.is_none_or(|g| self.is_active_mask(g) || self.f.as_const(g) == Some(1))
    }

    /// Whether all lanes of the chunk have entered, wherever the current block runs.
    pub fn all_enter(&self) -> bool {
        self.options.all_enter
            || self.in_row.as_ref().is_some_and(|row| row.row.whole)
            || self.all_entered[self.blocks.current.index()]
    }

    /// Whether a guard holds for all lanes of the chunk, whatever they hold.
    pub fn takes_all(&self, guard: Option<Value>) -> bool {
        self.all_enter() && self.is_entry(guard)
    }

    /// The guard as masks, within the lanes that entered.
    pub fn guard(&mut self, guard: Option<Value>) -> Result<Rc<[R]>, Error> {
        let Some(guard) = guard.filter(|_| !self.is_entry(guard)) else { return Ok(self.active.clone()) };
        if let Some(k) = self.known.guards.get(&guard) {
            return Ok(k.clone());
        }
        let masks = self.masks(guard)?;
        if self.all_enter() {
            return Ok(masks);
        }
        let active = self.active.clone();
        let both: Rc<[R]> = masks
            .iter()
            .zip(active.iter())
            .map(|(&m, &a)| self.a.k3(Code::VEX_Kandw_kr_kr_kr, m, a))
            .collect();
        if !self.aside {
            self.known.guards.insert(guard, both.clone());
        }
        Ok(both)
    }

    /// A bit for each lane of the guard.
    pub fn guard_bits(&mut self, guard: Option<Value>) -> Result<R, Error> {
        let Some(guard) = guard.filter(|_| !self.is_entry(guard)) else { return Ok(self.bits) };
        if let Some(&bits) = self.known.mask_bits.get(&guard) {
            return Ok(bits);
        }
        if let Some(bits) = self.bits_of_guard(Some(guard)) {
            return Ok(bits);
        }
        let bits = match self.kept(guard)? {
            Kept::Bits(bits) => self.a.g2(true, super::scalar::AND, bits, self.bits),
            _ => {
                let masks = self.guard(Some(guard))?;
                self.bits_of_masks(&masks)
            }
        };
        if !self.aside {
            self.known.mask_bits.insert(guard, bits);
        }
        Ok(bits)
    }
}

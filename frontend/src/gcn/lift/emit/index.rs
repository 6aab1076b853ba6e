//! Vector registers whose number is computed at run time, as `v_movrel*` and the index mode of 1.2 and 1.4 have them
//! (docs/hardware/gcn.md section 5).

use warpjit_ir::{IntCC, Value};

use super::Emit;
use super::result::DST_INDEX;
use crate::gcn::lift::analysis::statics::IndexMode;
use crate::gcn::{Inst, Op};

impl Emit<'_> {
    /// Vector register `number`, or in index mode the one M0\[7:0\] behind it. `i` is the source's number,
    /// [`DST_INDEX`] for the destination.
    pub(in crate::gcn::lift) fn indexed_vgpr(&mut self, inst: &Inst, i: usize, number: u32) -> Value {
        match self.index(inst, i) {
            None => self.vgpr(number),
            Some(index) => self.vgpr_at(number, index),
        }
    }

    /// Writes vector register `number`, or in index mode the one behind it, in the lanes that the instruction writes.
    pub(in crate::gcn::lift) fn set_indexed_vgpr(&mut self, inst: &Inst, number: u32, value: Value) {
        match self.index(inst, DST_INDEX) {
            None => self.set_vgpr(number, value),
            Some(index) => self.set_vgpr_at(number, index, value),
        }
    }

    /// Vector register `base + index`, `index` uniform. Beyond the last one it is `v0`.
    pub(in crate::gcn::lift) fn vgpr_at(&mut self, base: u32, index: Value) -> Value {
        let mut value = self.vgpr(0);
        for number in base..self.own.options.vgprs.min(256) {
            let offset = self.b.i32(number - base);
            let here = self.b.icmp(IntCC::Eq, index, offset);
            let register = self.vgpr(number);
            value = self.b.select(here, register, value);
        }
        value
    }

    /// Writes vector register `base + index`, `index` uniform, in the active lanes. Nothing is beyond the last one.
    pub(in crate::gcn::lift) fn set_vgpr_at(&mut self, base: u32, index: Value, value: Value) {
        let mask = self.write_mask();
        for number in base..self.own.options.vgprs.min(256) {
            let offset = self.b.i32(number - base);
            let here = self.b.icmp(IntCC::Eq, index, offset);
            let mask = self.b.iand(mask, here);
            self.set_vgpr_where(mask, number, value);
        }
    }

    /// What is added to the number of a register, if anything.
    fn index(&mut self, inst: &Inst, i: usize) -> Option<Value> {
        if !is_indexed(inst) {
            return None;
        }
        let m0 = match self.own.statics.index_mode() {
            IndexMode::Off => return None,
            IndexMode::On(operands) if operands >> i & 1 == 0 => return None,
            _ => self.m0(),
        };
        let index = self.and_const(m0, 0xff);
        if matches!(self.own.statics.index_mode(), IndexMode::On(_)) {
            return Some(index);
        }
        let mode = self.mode_bits();
        let enabled = self.ushr_const(mode, 27);
        let operand = self.ushr_const(m0, 12 + i as u32);
        let both = self.b.iand(enabled, operand);
        let both = self.and_const(both, 1);
        Some(self.b.imul(index, both))
    }
}

/// Whether the index mode applies: to vector arithmetic, but for what names lanes and what has its own index.
fn is_indexed(inst: &Inst) -> bool {
    use crate::gcn::Format::*;
    matches!(inst.format, Vop1 | Vop2 | Vop3 | Vop3p | Vopc)
        && !matches!(
            inst.op,
            Op::V_READLANE_B32
                | Op::V_READFIRSTLANE_B32
                | Op::V_WRITELANE_B32
                | Op::V_MOVRELD_B32
                | Op::V_MOVRELS_B32
                | Op::V_MOVRELSD_B32
                | Op::V_SWAP_B32
        )
}

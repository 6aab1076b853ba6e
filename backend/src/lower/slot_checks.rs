//! Code that checks whether a warp's slots have lane patterns: those that a phase of grid-row code, or a link of a chain, assumes and that
//! do not follow from the code before it.

use warpjit_ir::Slot;

use super::Lower;
use crate::clif::{HostIntCC, I32, I32X4, I64, V};
use crate::shape::{Shape, SlotShape};

impl Lower<'_, '_> {
    /// Not 0 if some slot in the frame of a warp has not the pattern that `checks` says; `None` if nothing is to be checked. It is what the
    /// runtime checks before it enters code (`Assumption::holds`), but in all lanes.
    pub(super) fn mismatch(&mut self, checks: &[(Slot, SlotShape)], frame: V) -> Option<V> {
        let (mut differ, mut odd): (Option<V>, Option<V>) = (None, None);
        for &(slot, SlotShape { shape, lanes, .. }) in checks {
            let step = match shape {
                Shape::Uniform | Shape::Ones => 0,
                Shape::Affine(step) | Shape::Packed(step) => step,
                // Of warps as they start only.
                Shape::Lines { .. } => continue,
            };
            let place = self.slot_offsets[slot.index()] as i32;
            if lanes < 4 {
                // All ones in a uniform slot.
                let word = self.e.load(I32, frame, place);
                let not = self.e.icmp_imm(HostIntCC::NotEqual, word, u64::from(u32::MAX));
                let not = self.e.uextend(I32, not);
                odd = Some(odd.map_or(not, |odd| self.e.bor(odd, not)));
                continue;
            }
            for part in (0..self.f.lanes).step_by(lanes as usize) {
                let first = match shape {
                    Shape::Ones => self.e.imm(I32, u64::from(u32::MAX)),
                    _ => self.e.load(I32, frame, place + 4 * part as i32),
                };
                let all = self.e.splat(I32X4, first);
                for lane in (0..lanes).step_by(4) {
                    let mut v = self.e.load(I32X4, frame, place + 4 * (part + lane) as i32);
                    if step != 0 {
                        let steps: [u64; 4] = std::array::from_fn(|l| {
                            u64::from(step.wrapping_mul((lane as usize + l) as i32) as u32)
                        });
                        let steps = self.e.lanes(I32X4, &steps);
                        v = self.e.isub(v, steps);
                    }
                    let more = self.e.bxor(v, all);
                    differ = Some(differ.map_or(more, |differ| self.e.bor(differ, more)));
                }
                if let Shape::Packed(step) = shape {
                    // The low half may not carry into the high one.
                    let low = self.e.band_imm(first, 0xffff);
                    let low = self.e.uextend(I64, low);
                    let last = u64::from(step.wrapping_mul(lanes as i32 - 1) as u32);
                    let last = self.e.iadd_imm(low, last);
                    let over = self.e.shr(last, 16);
                    let over = self.e.ireduce(I32, over);
                    odd = Some(odd.map_or(over, |odd| self.e.bor(odd, over)));
                }
            }
        }
        if let Some(differ) = differ {
            let some = self.e.vany_true(differ);
            let some = self.e.uextend(I32, some);
            odd = Some(odd.map_or(some, |odd| self.e.bor(odd, some)));
        }
        odd
    }
}

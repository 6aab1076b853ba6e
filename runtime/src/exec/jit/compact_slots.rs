//! Finds the slots that grid-row code may keep in compact form between phases: of each 16 lanes, only lane 0 is stored.
//!
//! That is possible if every later reader knows the slot's stride and so can compute the other lanes. Most registers kept across
//! a barrier hold addresses or indices. When grid-row code returns early, the other lanes are filled in.

use warpjit_backend::{Shape, SlotUses, VECTOR_LANES, slot_uses};
use warpjit_ir::regions::Kernel;
use warpjit_ir::regions::liveness::SlotSet;
use warpjit_ir::{Scalar, Slot};

use super::phases::{Phase, Phases};

/// Finds the compact slots of each phase, from the phases' lane patterns and final regions. `devices`: there may be devices.
pub(super) fn find(kernel: &Kernel, phases: &mut Phases, devices: bool) {
    let uses_of = |phase: &Phase| slot_uses(&phase.region.mask, &phase.shapes, devices);
    let uses: Vec<SlotUses> = phases.list.iter().map(uses_of).collect();
    let live = phases.list.iter().map(|phase| kernel.live_in(phase.region.entry));
    // Liveness exists once the first region has been cut.
    let Some(live) = live.collect::<Option<Vec<&SlotSet>>>() else { return };
    // Blocks start with full frames: no slot is compact in the first phase.
    let mut firsts: Vec<SlotSet> = vec![SlotSet::empty(kernel.func.slots.len())];
    for (phase, (uses, live)) in phases.list.iter().zip(uses.iter().zip(&live)).skip(1) {
        let mut own = SlotSet::empty(kernel.func.slots.len());
        live.iter().filter(|&slot| may_be(kernel, phase, uses, slot)).for_each(|slot| {
            own.insert(slot);
        });
        firsts.push(own);
    }
    while fit(&phases.list, &uses, &live, &mut firsts) {}
    for (number, (phase, own)) in phases.list.iter_mut().zip(&firsts).enumerate() {
        phase.firsts = own.iter().filter_map(|slot| Some((slot, step(phase, slot)?))).collect();
        for (exit, successor) in phase.successors.iter().enumerate() {
            let behind: Vec<usize> = successor.phases().collect();
            let of_exit = uses[number].written.iter().filter(|(at, _)| *at as usize == exit);
            let written = of_exit.flat_map(|(_, slots)| slots.iter().map(|(slot, _)| *slot));
            let told = written.filter(|&slot| behind.iter().any(|&to| firsts[to].contains(slot)));
            phase.by_firsts[exit] = told.collect();
        }
    }
}

/// The stride of a slot at the start of a phase, if it is known within each 16 lanes.
fn step(phase: &Phase, slot: Slot) -> Option<i32> {
    let known =
        phase.shapes.get(slot.index()).copied().flatten().filter(|known| known.lanes >= VECTOR_LANES)?;
    match known.shape {
        Shape::Uniform => Some(0),
        Shape::Affine(step) | Shape::Packed(step) => Some(step),
        Shape::Ones | Shape::Lines { .. } => None,
    }
}

/// Whether lane 0 of each 16 is all that a phase needs of a slot.
fn may_be(kernel: &Kernel, phase: &Phase, uses: &SlotUses, slot: Slot) -> bool {
    let ty = kernel.func.slots[slot.index()].ty;
    let word = !ty.uniform && ty.scalar == Scalar::I32;
    let looked_at = phase.checks.iter().any(|(known, _)| *known == slot);
    word && step(phase, slot).is_some()
        && !looked_at
        && !uses.mixed.contains(&slot)
        && !uses.read_whole.contains(&slot)
}

/// Removes slots that one phase would leave in a form in which its successor does not expect them. Returns whether
/// there were any.
fn fit(list: &[Phase], uses: &[SlotUses], live: &[&SlotSet], firsts: &mut [SlotSet]) -> bool {
    let mut changed = false;
    for (number, phase) in list.iter().enumerate() {
        for (exit, written) in &uses[number].written {
            let Some(successor) = phase.successors.get(*exit as usize) else { continue };
            let behind: Vec<usize> = successor.phases().collect();
            for slot in behind.iter().flat_map(|&to| live[to].iter()) {
                let readers = || behind.iter().copied().filter(|&to| live[to].contains(slot));
                let any = readers().any(|to| firsts[to].contains(slot));
                let all = readers().all(|to| firsts[to].contains(slot));
                let own = written.iter().find(|(known, _)| *known == slot);
                // A slot that is not written keeps the form it had at the start of the phase.
                let leaves = own.map_or(firsts[number].contains(slot), |(_, told)| *told);
                if own.is_none() && leaves && !all {
                    firsts[number].remove(slot);
                    changed = true;
                }
                if any && !(all && leaves) {
                    readers().for_each(|to| firsts[to].remove(slot));
                    changed = true;
                }
            }
        }
    }
    changed
}

//! Turns what a launch did into what the user sees of it: the fault, the counts, the registers.
//!
//! In: the [`Outcome`] of the launch's blocks, and its [`Plan`]. Out: the parts of a [`crate::Report`].

use std::collections::BTreeMap;

use warpjit_ir::interp;

use crate::exec::setup::{FLAG_PARTS, Plan, alias_value};
use crate::exec::{BlockFault, Outcome, Tiers};
use crate::memory::window_access;
use crate::{Fault, FaultKind, Program, Stats, TierShares};

/// A fault as the user sees it.
pub(crate) fn describe(program: &Program, plan: &Plan, block: u64, found: &BlockFault) -> Fault {
    let kind = match found.fault.map(|fault| fault.kind) {
        None => FaultKind::Barrier,
        Some(interp::FaultKind::Memory) => FaultKind::Memory,
        Some(interp::FaultKind::Illegal) => FaultKind::Illegal,
        Some(interp::FaultKind::Trap) => FaultKind::Trap,
        Some(interp::FaultKind::Stack) => FaultKind::Stack,
        Some(interp::FaultKind::Timeout) => FaultKind::Timeout,
        Some(interp::FaultKind::Texture(..)) => FaultKind::Texture,
    };
    let fault = found.fault;
    let (slot, reason) = match fault.map(|fault| fault.kind) {
        Some(interp::FaultKind::Texture(slot, reason)) => (slot, Some(reason)),
        _ => (None, None),
    };
    // Compiled code reports an address in the address space; convert it back to the window's.
    let address_of =
        |fault: interp::Fault| match (fault.address, fault.space.and_then(window_access::through)) {
            (Some(address), Some(window)) => Some(plan.windows.back(window, address)),
            (Some(target), None) if kind == FaultKind::Illegal => Some(program.jump_target(target)),
            (address, _) => address,
        };
    Fault {
        kind,
        pc: program.address_of(found.pc),
        block: plan.coordinates(block),
        warp: found.warp,
        lane: found.lane,
        address: fault.and_then(address_of),
        space: fault.and_then(|fault| fault.space).map(|space| space.name().to_owned()),
        store: fault.is_some_and(|fault| fault.store),
        bytes: if kind == FaultKind::Illegal { program.instruction_bytes(found.pc) } else { Vec::new() },
        slot,
        reason,
    }
}

/// The counts of a launch.
pub(crate) fn stats(plan: &Plan, outcome: &Outcome, warps: u64, counted: bool) -> Stats {
    let (warp_instructions, threads) = outcome.steps;
    let counts = &outcome.counts;
    let (thread_instructions, lane_slots) = match counted {
        true => counts.lanes,
        false => (threads, warp_instructions * u64::from(plan.lanes)),
    };
    let groups = interp::Stats::GROUPS.iter().zip(counts.interp.groups);
    let traffic = interp::Stats::SPACES.iter().zip(counts.interp.traffic);
    Stats {
        blocks: outcome.blocks,
        warps,
        warp_instructions,
        thread_instructions,
        groups: groups.map(|(group, count)| (group.name(), count)).collect(),
        traffic: traffic.map(|(space, bytes)| (*space, bytes)).collect(),
        lane_slots,
        counted,
        tiers: TierShares::of(counts.threads),
        jit_share: TierShares::of(counts.threads).compiled,
        ..Stats::default()
    }
}

/// The slots of the only warp by name. Condition registers are put together from their flags.
pub(crate) fn registers(
    program: &Program,
    plan: &Plan,
    tiers: &Tiers,
    outcome: &Outcome,
) -> BTreeMap<String, Vec<u64>> {
    let mut registers: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let Some(warp) = outcome.last.as_ref().and_then(|block| block.first_warp()) else { return registers };
    let lanes = if plan.full_warps { plan.lanes } else { plan.threads };
    for alias in &program.image().aliases {
        let value = alias_value(alias, plan.lanes, |slot, lane| {
            let scalar = tiers.function().slots.get(slot.index()).map(|data| data.ty.scalar);
            scalar.map_or(0, |scalar| warp.frame.read(tiers.slot_offset(slot), scalar, lane))
        });
        registers.insert(alias.name.clone(), vec![value]);
    }
    for (number, slot) in tiers.function().slots.iter().enumerate() {
        // Slots whose name starts with `#` are internal; the guest has no such register.
        if slot.name.starts_with('#') {
            continue;
        }
        let offset = tiers.slot_offset(warpjit_ir::Slot::new(number));
        let lane_of = |lane: u32| if slot.ty.uniform { 0 } else { lane };
        let values = (0..lanes).map(|lane| warp.frame.read(offset, slot.ty.scalar, lane_of(lane)));
        let flag = slot
            .name
            .split_once('.')
            .and_then(|(register, part)| Some((register, FLAG_PARTS.iter().position(|&name| name == part)?)));
        match flag {
            Some((register, bit)) => {
                let whole = registers.entry(register.to_owned()).or_default();
                whole.resize(lanes as usize, 0);
                whole.iter_mut().zip(values).for_each(|(whole, value)| *whole |= value << bit);
            }
            None => {
                registers.insert(slot.name.clone(), values.collect());
            }
        }
    }
    registers
}

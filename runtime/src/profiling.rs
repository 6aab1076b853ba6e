//! Makes the profile of a launch: resolves the host addresses of samples to guest addresses, and adds what the interpreter has counted.

use crate::exec::Tiers;
use crate::exec::samples::RawSamples;
use crate::vm::sampler::{Activity, Sample};
use crate::{AccessProfile, BlockProfile, InstructionProfile, Profile, Program, Samples};
use std::collections::BTreeMap;
use warpjit_ir::interp;

/// Builds the profile of a launch.
pub(crate) fn profile(
    program: &Program,
    tiers: &Tiers,
    raw: &RawSamples,
    counts: Option<&interp::Profile>,
) -> Profile {
    let mut profile =
        Profile { samples: samples(program, tiers, raw), lanes: tiers.code().lanes(), ..Profile::default() };
    let Some(counts) = counts else { return profile };
    let (code, function) = (tiers.code(), tiers.function());
    let has_lane_register = function.lane_mask.is_some();
    for (block, seen) in function.block_ids().zip(&counts.blocks) {
        if seen.executions == 0 {
            continue;
        }
        for &pc in code.block_pcs(block) {
            let sum = profile
                .instructions
                .entry(program.address_of(pc))
                .or_insert(InstructionProfile { executions: 0, lanes: Some(0) });
            sum.executions += seen.executions;
            sum.lanes = sum.lanes.filter(|_| !has_lane_register).map(|lanes| lanes + seen.lanes);
        }
        let data = function.block(block);
        if data.guest_insts == 0 {
            continue;
        }
        let conditional = data.term.as_ref().is_some_and(interp::profile::is_conditional);
        profile.blocks.push(BlockProfile {
            pc: program.address_of(data.pc),
            term_pc: program.address_of(data.term_pc),
            instructions: data.guest_insts,
            executions: seen.executions,
            lanes: seen.lanes,
            taken: conditional.then_some(seen.taken),
            parted: seen.parted,
        });
    }
    profile.blocks.sort_by_key(|block| (block.pc, block.term_pc));
    for (&pc, &(_, lanes)) in &counts.masked {
        if let Some(instruction) = profile.instructions.get_mut(&program.address_of(pc)) {
            instruction.lanes = Some(lanes);
        }
    }
    profile.accesses = counts
        .accesses
        .iter()
        .map(|(&(pc, kind), &counts)| AccessProfile {
            pc: program.address_of(pc),
            space: interp::Stats::SPACES[usize::from(kind.space)],
            direction: kind.direction,
            bytes: kind.bytes,
            counts,
        })
        .collect();
    profile
}

fn samples(program: &Program, tiers: &Tiers, raw: &RawSamples) -> Samples {
    let mut samples =
        Samples { lost: raw.lost, busy: raw.busy, failed: raw.failed.clone(), ..Samples::default() };
    let index = tiers.code_index();
    let mut blocks: BTreeMap<u32, u64> = BTreeMap::new();
    for (&sample, &count) in &raw.samples {
        match sample {
            Sample::Code(at) => match index.guest_pc(at) {
                Some(pc) => *samples.compiled.entry(program.address_of(pc)).or_default() += count,
                None => samples.between += count,
            },
            Sample::Helper(at) => match index.guest_pc(at) {
                Some(pc) => *samples.helpers.entry(program.address_of(pc)).or_default() += count,
                None => samples.between += count,
            },
            Sample::Activity(Activity::Compiler) => samples.compiling += count,
            Sample::Activity(Activity::Runtime) => samples.runtime += count,
            Sample::Activity(Activity::Interpreter(block)) => *blocks.entry(block).or_default() += count,
        }
    }
    for (block, count) in blocks {
        let block = warpjit_ir::Block::new(block as usize);
        if block.index() >= tiers.function().blocks.len() {
            samples.runtime += count;
            continue;
        }
        let mut pcs: Vec<u32> = tiers.code().block_ops(block).collect();
        if pcs.is_empty() {
            pcs.push(tiers.function().block(block).term_pc);
        }
        for &pc in &pcs {
            *samples.interpreted.entry(program.address_of(pc)).or_default() +=
                count as f64 / pcs.len() as f64;
        }
    }
    samples
}

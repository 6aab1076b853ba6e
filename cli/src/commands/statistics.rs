//! The statistics that `-v` prints.

use warpjit::launch_file::LaunchFile;
use warpjit_runtime::{Engine, Stats, Tier};

use super::first_run;
use crate::args::EngineArgs;

/// Fills in counts: instructions by group, lanes, memory traffic.
///
/// The interpreter counts them in a run of its own, with memory as it was at first, unless it has run the launch
/// anyway. What it counts is what compiled code does: both tiers execute the same instructions. So the launch that is
/// timed counts nothing.
pub(super) fn complete(stats: &mut Stats, file: &LaunchFile, options: &EngineArgs) -> anyhow::Result<()> {
    let grouped: u64 = stats.groups.values().sum();
    if stats.counted && grouped == stats.warp_instructions {
        return Ok(());
    }
    let engine = Engine::new(options.config().tier(Tier::Interp).count(true))?;
    let exact = first_run::run(&mut first_run::session(file, &engine, options)?)?.stats;
    stats.groups = exact.groups;
    stats.traffic = exact.traffic;
    stats.warp_instructions = exact.warp_instructions;
    stats.thread_instructions = exact.thread_instructions;
    stats.lane_slots = exact.lane_slots;
    stats.counted = true;
    Ok(())
}

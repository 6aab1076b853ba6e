//! Runs one program of a draw, such as its vertex or pixel program, over a batch of inputs.
//!
//! In: the program's code and registers ([`Stage`]), its interface, and a [`Batch`] with input and output arrays. It is loaded, or found
//! in the card's cache, and launched on the card's engine. Out: the batch's output arrays are filled. If the first program of a draw jumps
//! to an address that was not known when it was loaded, it is loaded again with that address, and run again.

use super::state::Code;
use super::{Around, Problem};
use crate::execute::describe;
use crate::fence::lock;
use warpjit_runtime::stage::{Batch, StageInterface};
use warpjit_runtime::{FaultKind, Isa, Launch, ProgramOptions, TextureTables, WarpRing};

/// A program, and what it runs with.
pub(super) struct Stage<'a> {
    pub name: &'static str,
    pub code: &'a Code,
    /// Bytes of LDS.
    pub shared: Option<u32>,
    pub border_colors: Option<u64>,
    /// The scalar register with the offset of the wave's scratch memory, if it has some, and how that is shared out.
    pub scratch: u32,
    pub scratch_ring: WarpRing,
}

/// Most targets of computed jumps that are kept for a program.
const MOST_TARGETS: usize = 16;

/// Runs it. What goes wrong is said on standard error.
///
/// # Errors
/// The program cannot be run, or has done what it may not.
pub(super) fn run(
    around: &Around<'_>,
    stage: &Stage<'_>,
    mut interface: StageInterface,
    batch: &mut Batch<'_>,
) -> Result<(), Problem> {
    let Stage { name, code, shared, border_colors, scratch, scratch_ring } = *stage;
    let has_scratch = code.rsrc2 & 1 != 0;
    let card = around.card;
    let memory = if has_scratch { around.space.scratch_memory() } else { around.space.memory() };
    interface.scratch = has_scratch.then_some(scratch as u8);
    let options = ProgramOptions::new(Isa::Gcn)
        .chip(Some(card.model))
        .raw(true)
        .rsrc1(Some(code.rsrc1))
        .rsrc2(Some(code.rsrc2))
        .shared(shared)
        .stage(Some(interface));
    let cannot = |error: &dyn std::fmt::Display| {
        card.reporter.say(&format!("the {name} program at {:#x} cannot be run: {error}", code.address));
        Problem::Failed
    };
    let chip = card.chip();
    let old = chip.generation < 9;
    let launch = Launch::default()
        .scratch_ring(has_scratch.then_some(scratch_ring))
        .user_data(code.user_data.clone())
        .textures(TextureTables {
            tile_modes: old.then(|| Box::new(chip.tile_modes())),
            macrotile_modes: old.then(|| Box::new(chip.macrotile_modes())),
            address_config: Some(chip.address_config),
            border_colors,
            ..TextureTables::default()
        });
    let launch = launch.cancel(Some(around.space.ended().clone()));
    let engine = card.engine().map_err(|error| cannot(&error))?;
    // Those that this run has led to.
    let mut led: Vec<u64> = Vec::new();
    loop {
        let known = lock(&card.jumps).get(&code.address).cloned().unwrap_or_default();
        let found = card.programs.get(memory, code.address, &options.clone().jump_targets(known.clone()));
        let program = match found {
            // Other code is there now.
            Err(_) if !known.is_empty() => {
                lock(&card.jumps).remove(&code.address);
                continue;
            }
            found => found.map_err(|error| cannot(&error))?,
        };
        let report = engine.run_stage(&program, memory, &launch, batch).map_err(|error| cannot(&error))?;
        if let Some(reason) = &report.stats.not_compiled {
            card.reporter.once(&format!("some code is interpreted: {reason}"));
        }
        let fault = match &report.fault {
            None if report.cancelled => return Err(Problem::Failed),
            None => return Ok(()),
            Some(fault) => fault,
        };
        // RADV's programs of vertices may begin with a part that fetches, and jumps to an address in memory. Nothing has been written then.
        // From gfx9 on that part may be of a geometry or control program. Other stages are not run again, as they may have stored
        // something.
        let is_first = matches!(name, "vertex" | "export") || matches!(name, "geometry" | "control") && !old;
        let target = fault.address.filter(|_| is_first && fault.kind == FaultKind::Illegal);
        if let Some(target) = target.filter(|target| led.len() < MOST_TARGETS && !led.contains(target)) {
            led.push(target);
            let mut jumps = lock(&card.jumps);
            let known = jumps.entry(code.address).or_default();
            if !known.contains(&target) {
                // The oldest may be of code that is no longer there.
                if known.len() >= MOST_TARGETS {
                    known.remove(0);
                }
                known.push(target);
            }
            continue;
        }
        let what = describe(card, memory, &program, fault);
        card.reporter.say(&format!("{name} program: {what}"));
        return Err(Problem::Failed);
    }
}

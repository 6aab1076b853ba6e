//! `warpjit ir`: prints the stages of compilation, each with guest addresses.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Range;

use anyhow::anyhow;
use warpjit::outcome::Status;
use warpjit_backend::{Generator, Options, Shape, Target, list_region};
use warpjit_frontend::container::Selection;
use warpjit_ir::function::SlotData;
use warpjit_ir::meter::{Budget, Meter, Task, Usage};
use warpjit_ir::passes::fast;
use warpjit_ir::regions::SlotFacts;
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::regions::{ChunkLimits, Kernel, Region, RegionOptions};
use warpjit_ir::{Block, Builtin, Function, Scalar, Slot, SlotInit};

use super::code::Code;
use super::launched::launched;
use super::print::print;
use crate::args::{Form, IrArgs, NumericsName};

pub(super) fn ir(args: &IrArgs) -> anyhow::Result<Status> {
    if args.launched {
        return launched(args);
    }
    let code = Code::load(&args.program, Selection::All)?;
    let mut options = Options::new(Target::host(args.host)?);
    let groups: Option<u8> = args.chunk.as_deref().and_then(|c| c.parse().ok());
    // Cranelift's IR is there only where it generates the code.
    options.wide_vectors = options.target.has_wide_vectors()
        && args.form != Form::Clif
        && groups.is_none_or(|groups| groups > MOST_NARROW);
    options.single = groups == Some(0);
    options.chunk_groups = match groups {
        Some(0) => 1,
        Some(groups) => groups,
        None if options.wide_vectors => MOST_NARROW,
        None => options.chunk_groups,
    };
    let generator = Generator::of(&options);
    let regions = RegionOptions {
        chunks: match generator.chunk_limits(None) {
            limits if options.single => ChunkLimits { whole: 0, ..limits },
            limits => limits,
        },
        ..RegionOptions::default()
    };
    let listed = |region: &Region, shapes: &[Option<Shape>]| {
        let mut options = Options { slot_shapes: shapes.to_vec(), ..options.clone() };
        let warp = region.mask.lanes.div_ceil(4) as u8;
        options.chunk_groups = if region.whole { warp } else { options.chunk_groups.min(warp) };
        list_region(&region.mask, &options).map_err(|error| anyhow!("{}: {error}", region.entry))
    };
    let mut text = String::new();
    for program in code.programs()? {
        let mut function = program.image().function.clone();
        if args.numerics == NumericsName::Fast {
            fast::run(&mut function);
        }
        let read_only = program.image().abi.read_only();
        let budget = args.program.budget.budget();
        let settings = Settings { regions, generator, budget, read_only: &read_only, single: options.single };
        let function = &function;
        match args.form {
            Form::Spmd => text += &function.to_string(),
            Form::Regions => {
                show_regions(&mut text, function, settings, |region, _| Ok(region.ssa.to_string()))?
            }
            Form::Mask => {
                show_regions(&mut text, function, settings, |region, _| Ok(region.mask.to_string()))?
            }
            Form::Clif => {
                show_regions(
                    &mut text,
                    function,
                    settings,
                    |region, shapes| Ok(listed(region, shapes)?.clif),
                )?
            }
            Form::Host => {
                show_regions(&mut text, function, settings, |region, shapes| {
                    Ok(listed(region, shapes)?.assembly)
                })?;
            }
        }
    }
    print(&text)?;
    Ok(Status::Ok)
}

/// Most groups of four lanes that vectors of 128 bits are taken for.
const MOST_NARROW: u8 = 4;

/// What holds when a warp starts in a block that is at least a warp wide: registers are zero, thread
/// numbers count up along x, everything else is the same in all lanes.
fn shapes_at_start(function: &Function) -> Vec<Option<Shape>> {
    let shape = |slot: &SlotData| match slot.init {
        SlotInit::Builtin(Builtin::Tid(0)) => Some(Shape::Packed(1)),
        SlotInit::Builtin(Builtin::LaneId | Builtin::LinearTid) => Some(Shape::Affine(1)),
        _ => Some(Shape::Uniform),
    };
    let of_words = |slot: &SlotData| slot.ty.scalar == Scalar::I32 && !slot.ty.uniform;
    function.slots.iter().map(|slot| if of_words(slot) { shape(slot) } else { None }).collect()
}

/// How regions are made that are shown.
#[derive(Clone, Copy)]
struct Settings<'a> {
    regions: RegionOptions,
    generator: Generator,
    budget: Budget,
    /// As [`Kernel::within`] wants it.
    read_only: &'a [Range<u64>],
    /// One lane after another.
    single: bool,
}

/// Every region that a run can come to, with what `show` says of it; blocks that run in the
/// interpreter are named.
///
/// The first region is shown as the runtime compiles it for a warp that starts, with what is known of
/// its registers; the others as they are where nothing is known.
fn show_regions(
    text: &mut String,
    function: &Function,
    settings: Settings<'_>,
    show: impl Fn(&Region, &[Option<Shape>]) -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let meter = Meter::new(Task::Compiling, settings.budget, Usage::default());
    let kernel = Kernel::within(function.clone(), settings.regions, settings.read_only, &meter)?;
    let start = shapes_at_start(&kernel.func);
    let mut todo = vec![kernel.func.entry];
    let mut seen = BTreeSet::new();
    while let Some(entry) = todo.pop() {
        if !seen.insert(entry) {
            continue;
        }
        let pc = |block: Block| kernel.func.block(block).pc;
        let after = |block: Block, todo: &mut Vec<Block>| {
            kernel.func.term(block).for_each_successor(|next| todo.push(next));
        };
        let shapes = if entry == kernel.func.entry { start.as_slice() } else { &[] };
        let mut known = SlotFacts::none(kernel.func.slots.len());
        for (slot, shape) in shapes.iter().enumerate() {
            if *shape == Some(Shape::Uniform) {
                known.uniform.insert(Slot::new(slot));
            }
        }
        meter.set_region(Some(pc(entry)));
        let Some(mut region) = kernel.region_within(entry, &known, &meter)? else {
            let _ = writeln!(text, "; {entry} at {:#x} runs in the interpreter\n", pc(entry));
            after(entry, &mut todo);
            continue;
        };
        let _ = writeln!(text, "; {}", region.outline(&kernel.func));
        for exit in region.outline_of_exits(&kernel.func) {
            let _ = writeln!(text, "; {exit}");
        }
        for exit in &region.exits {
            match *exit {
                ExitKind::Ended => {}
                ExitKind::Terminator(block) => after(block, &mut todo),
                ExitKind::Enter(block) => todo.push(block),
            }
        }
        match settings.single {
            true => settings.generator.optimize_one_lane(&mut region, &meter)?,
            false => settings.generator.optimize(&mut region, &meter)?,
        }
        let _ = writeln!(text, "{}", show(&region, shapes)?);
    }
    Ok(())
}

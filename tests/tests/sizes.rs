//! Tests that time and memory, from the bytes of a file to the first result, grow at most as n log n with the size of the code.
//!
//! Each shape of [`warpjit_tests::sizes`] is run at four sizes, each twice the one before. The test compares increases, so that
//! constant parts cancel out: the increase of the last doubling divided by that of the doubling before. Linear growth gives 2, n
//! log n a little more, quadratic growth 4. (An increase may be small by chance, so the square root of the last one divided by
//! the first counts instead if it is less.) No clock is read. The measures are allocations, their bytes, and the units of work
//! that a [`Meter`] counts (blocks, instructions and edges visited).

use std::alloc::System;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Sub;
use std::sync::{Mutex, PoisonError};

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use warpjit::session::{Session, program_options};
use warpjit_backend::{Generator, HostLevel, Options, Target, compile_region};
use warpjit_frontend::container::{self, Selection};
use warpjit_frontend::image::{CodeOptions, KernelImage};
use warpjit_ir::interp::Code;
use warpjit_ir::meter::{Meter, Task, Usage};
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::regions::{Kernel, Region, RegionOptions, SlotFacts};
use warpjit_ir::{Block, Budget};
use warpjit_runtime::{Config, Engine, Program, Tier};
use warpjit_tests::sizes::{Sample, Shape, Unit, shapes};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The allocator counts for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A doubling may add so many times what the one before it adds.
const BOUND: f64 = 2.6;

/// What something took.
#[derive(Clone, Copy, Default, Debug)]
struct Taken {
    allocations: i64,
    bytes: i64,
    work: i64,
}

impl Sub for Taken {
    type Output = Taken;

    fn sub(self, other: Taken) -> Taken {
        Taken {
            allocations: self.allocations - other.allocations,
            bytes: self.bytes - other.bytes,
            work: self.work - other.work,
        }
    }
}

/// Less than that is no growth: tables that double at some size, the test's own threads.
const LITTLE: Taken = Taken { allocations: 500, bytes: 1 << 17, work: 4000 };

/// Counts what `run` allocates; it returns the units of work.
fn measure(run: impl FnOnce() -> u64) -> Taken {
    let before = ALLOCATOR.stats();
    let work = run();
    let after = ALLOCATOR.stats();
    Taken {
        allocations: (after.allocations + after.reallocations - before.allocations - before.reallocations)
            as i64,
        bytes: (after.bytes_allocated - before.bytes_allocated) as i64,
        work: work as i64,
    }
}

/// One stage for one shape, at all sizes.
struct Row {
    text: String,
    holds: bool,
}

fn row(name: &str, stage: &str, taken: [Taken; 4]) -> Row {
    let steps = [0, 1, 2].map(|n| taken[n + 1] - taken[n]);
    // Some step may be small by chance: the last one is held against the one before, or against the first one by two steps.
    let growth = |of: fn(&Taken) -> i64| {
        let [first, second, last] = steps.map(|step| of(&step).max(of(&LITTLE)) as f64);
        (last / second).min((last / first).sqrt())
    };
    let all = [growth(|t| t.allocations), growth(|t| t.bytes), growth(|t| t.work)];
    let holds = all.iter().all(|&growth| growth <= BOUND);
    let mut text = format!("{name:<40} {stage:<12}");
    for (growth, what) in all.iter().zip(["allocations", "bytes", "work"]) {
        let _ = write!(text, " {what} x{growth:.2}");
    }
    let _ = write!(text, "   {}", if holds { "" } else { "TOO MUCH" });
    for of in [|t: &Taken| t.allocations, |t: &Taken| t.bytes, |t: &Taken| t.work] {
        let _ = write!(text, "  {:?}", taken.each_ref().map(of));
    }
    Row { text, holds }
}

/// A stage that a sample goes through: its name, and what it takes.
type Stage = (&'static str, fn(&Sample) -> Taken);

/// Takes shapes through stages; each gets the sample and a name.
fn check(least: usize, wanted: impl Fn(&Shape) -> bool, stages: &[Stage]) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut bad = String::new();
    for shape in shapes().into_iter().filter(wanted) {
        let name = format!("{}: {}", shape.of, shape.name);
        let samples = [1, 2, 4, 8].map(|times| (shape.make)(times * least));
        for (stage, run) in stages {
            // What is made once for the process is there already.
            if shape.unit == Unit::Words {
                run(&samples[0]);
            }
            let row = row(&name, stage, [0, 1, 2, 3].map(|n| run(&samples[n])));
            println!("{}", row.text);
            if !row.holds {
                bad += &format!("{}\n", row.text);
            }
        }
    }
    assert!(bad.is_empty(), "a doubling adds more than {BOUND} times what the one before it does:\n{bad}");
}

fn meter(task: Task) -> Meter {
    Meter::new(task, Budget::default(), Usage::default())
}

/// The kernel of a sample, with the work that took.
fn lift(sample: &Sample, all: bool) -> (KernelImage, u64) {
    let file = sample.launch_file();
    let options = program_options(&file);
    let meter = meter(Task::Loading);
    let selection = if all { Selection::All } else { Selection::Kernel(options.kernel.as_deref()) };
    let module = if options.raw {
        container::raw::load(&file.program.code, options.isa)
    } else {
        container::load_within(&file.program.code, options.isa, selection, &meter)
    };
    let module = module.expect("a container");
    let kernel = module.kernel(options.kernel.as_deref()).expect("a kernel");
    let chip = options.chip.or(module.chip).expect("a chip");
    let code = CodeOptions {
        raw: options.raw,
        entry: options.entry,
        registers: options.registers,
        sgprs: options.sgprs,
        shared: options.shared,
        local: options.local,
        rsrc1: options.rsrc1,
        rsrc2: options.rsrc2,
        ..CodeOptions::default()
    };
    let image = chip.target().lift(&module, kernel, &code, &meter).expect("code");
    (image, meter.work())
}

fn load(sample: &Sample) -> Taken {
    measure(|| lift(sample, false).1)
}

fn load_all(sample: &Sample) -> Taken {
    measure(|| lift(sample, true).1)
}

/// What both tiers need of a kernel: liveness and the other analyses of the whole kernel, the interpreter's code.
fn make_ready(sample: &Sample) -> Taken {
    let function = lift(sample, false).0.function;
    measure(|| {
        let meter = meter(Task::Compiling);
        let kernel =
            Kernel::within(function, RegionOptions::default(), &[], &meter).expect("within the budget");
        Code::new(&kernel.func).expect("valid code");
        // With the first region come the analyses of the whole kernel.
        let known = SlotFacts::none(kernel.func.slots.len());
        kernel.single_block(kernel.func.entry, &known, &meter).expect("within the budget");
        meter.work()
    })
}

/// What it takes to make a program of a kernel that nobody vouches for.
fn check_image(sample: &Sample) -> Taken {
    let image = lift(sample, false).0;
    measure(|| {
        Program::from_image(image).expect("a valid image");
        0
    })
}

/// What regions took, and how many they are.
#[derive(Clone, Copy, Default, Debug)]
struct Regions {
    taken: Taken,
    count: usize,
    nodes: usize,
    /// Before optimisation.
    insts: usize,
}

impl Regions {
    fn add(&mut self, kernel: &Kernel, region: &Region, taken: Taken) {
        self.taken = Taken {
            allocations: self.taken.allocations + taken.allocations,
            bytes: self.taken.bytes + taken.bytes,
            work: self.taken.work + taken.work,
        };
        self.count += 1;
        self.nodes += region.blocks.len();
        self.insts += region.blocks.iter().map(|&block| kernel.func.block(block).insts.len()).sum::<usize>();
    }

    /// Regions, blocks and instructions together, by the time that each takes.
    fn units(&self) -> f64 {
        (64 * self.count + self.nodes) as f64 + self.insts as f64 / 4.0
    }
}

/// Most regions of a kernel that are compiled here.
const MOST_COMPILED: usize = 48;

/// All regions that a run can come to, and compiles some of them. Gives what both took, and the size of the kernel.
fn all_regions(sample: &Sample, level: HostLevel) -> ([Regions; 2], usize) {
    let mut options = Options::new(Target::host(level).expect("a host"));
    options.wide_vectors = options.target.has_wide_vectors();
    if options.wide_vectors {
        options.chunk_groups = 4;
    }
    let generator = Generator::of(&options);
    let settings = RegionOptions { chunks: generator.chunk_limits(None), ..RegionOptions::default() };
    let meter = meter(Task::Compiling);
    let function = lift(sample, false).0.function;
    let kernel = Kernel::within(function, settings, &[], &meter).expect("within the budget");
    let blocks = &kernel.func.blocks;
    let size = blocks.iter().map(|block| 1 + block.insts.len() / 16).sum();
    let known = SlotFacts::none(kernel.func.slots.len());
    // Analyses of the whole kernel are made with the first region.
    kernel.region_within(kernel.func.entry, &known, &meter).expect("within the budget");
    let mut todo = vec![kernel.func.entry];
    let mut seen = BTreeSet::new();
    let mut built = Regions::default();
    let mut some = Vec::new();
    while let Some(entry) = todo.pop() {
        if !seen.insert(entry) {
            continue;
        }
        let mut region = None;
        let before = meter.work();
        let taken = measure(|| {
            region = kernel.region_within(entry, &known, &meter).expect("within the budget");
            meter.work() - before
        });
        let after = |block, todo: &mut Vec<Block>| {
            kernel.func.term(block).for_each_successor(|next| todo.push(next));
        };
        let Some(region) = region else {
            after(entry, &mut todo);
            continue;
        };
        built.add(&kernel, &region, taken);
        for exit in &region.exits {
            match *exit {
                ExitKind::Ended => {}
                ExitKind::Terminator(block) => after(block, &mut todo),
                ExitKind::Enter(block) => todo.push(block),
            }
        }
        some.push(region);
        if some.len() == 2 * MOST_COMPILED {
            let mut number = 0;
            some.retain(|_| (number % 2 == 0, number += 1).0);
        }
    }
    let mut compiled = Regions::default();
    for mut region in some {
        let mut options = options.clone();
        if region.whole {
            options.chunk_groups = region.mask.lanes.div_ceil(4) as u8;
        }
        let before = meter.work();
        let taken = measure(|| {
            generator.optimize(&mut region, &meter).expect("within the budget");
            compile_region(&region.mask, &options).expect("compiles");
            meter.work() - before
        });
        compiled.add(&kernel, &region, taken);
    }
    ([built, compiled], size)
}

/// A region takes as long in a large kernel as in a small one, and all of them are in proportion to the kernel.
fn check_regions(level: HostLevel, wanted: impl Fn(&Shape) -> bool) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut bad = String::new();
    for shape in shapes().into_iter().filter(|shape| shape.unit == Unit::Words && wanted(shape)) {
        let sizes = [500, 4000];
        let taken = sizes.map(|size| all_regions(&(shape.make)(size), level));
        for (n, stage) in ["regions", "compile"].iter().enumerate() {
            let [(small, _), (large, size)] = taken;
            let (small, large) = (small[n], large[n]);
            let mut text = format!("{:<40} {stage:<12}", format!("{}: {}", shape.of, shape.name));
            let mut holds = true;
            for (what, of) in
                [("allocations", (|t: &Taken| t.allocations) as fn(&Taken) -> i64), ("bytes", |t| t.bytes)]
            {
                let each = |regions: &Regions| of(&regions.taken) as f64 / regions.units();
                let growth = each(&large) / each(&small);
                holds &= growth <= MOST_EACH;
                let _ = write!(text, " {what} x{growth:.2}");
            }
            let Regions { count, nodes, insts, taken } = large;
            holds &= nodes <= 20 * size + 50_000 && taken.work as usize <= 2000 * size + 3_000_000;
            let _ = write!(
                text,
                "  {count} regions, {nodes} nodes, {insts} instructions for a kernel of {size}{}",
                if holds { "" } else { "  TOO MUCH" }
            );
            println!("{text}");
            if !holds {
                bad += &format!("{text}\n");
            }
        }
    }
    assert!(bad.is_empty(), "more than {MOST_EACH} times as much each, or too many:\n{bad}");
}

/// Eight times the size adds nothing to what a region takes. But regions are not all the same: this is still far from eight times.
const MOST_EACH: f64 = 3.0;

/// From the launch file to the end of the run.
fn run(sample: &Sample, tier: Tier) -> Taken {
    measure(|| {
        let file = sample.launch_file();
        let engine =
            Engine::new(Config::default().threads(1).tier(tier).hot_after(Some(1))).expect("an engine");
        let mut session = Session::new(&file, &engine).expect("a launch");
        let report = session.run().expect("a run");
        assert!(report.stats.not_compiled.is_none(), "{:?}", report.stats.not_compiled);
        engine.wait_for_compiler();
        0
    })
}

#[test]
fn loading() {
    // All kernels of a cubin with their functions are as many copies of these.
    let few = |shape: &Shape| shape.name != "functions";
    check(1000, |_| true, &[("load", load), ("check", check_image), ("make ready", make_ready)]);
    check(1000, |shape| shape.unit == Unit::Entries && few(shape), &[("load all", load_all)]);
}

#[test]
fn interpreting() {
    check(500, |_| true, &[("interp", |sample| run(sample, Tier::Interp))]);
}

/// Shapes of which a run comes to many regions, few instructions each. Of others a run comes to a few large ones, and
/// how many changes with the size by leaps; [`all_regions`] has these.
fn has_small_regions(shape: &Shape) -> bool {
    const NAMES: [&str; 9] = [
        "computed",
        "calls",
        "pushes",
        "barriers",
        "atomics",
        "exchanges",
        "faults",
        "forks",
        "returns anywhere",
    ];
    NAMES.contains(&shape.name)
}

#[test]
fn compiling_on_the_way() {
    check(500, has_small_regions, &[("jit", |sample| run(sample, Tier::Jit))]);
}

#[test]
fn compiling_meanwhile() {
    check(500, has_small_regions, &[("auto", |sample| run(sample, Tier::Auto))]);
}

/// Regions are the same for both generators, so that the one for vectors of 512 bits has a part of the shapes.
#[test]
fn regions() {
    check_regions(HostLevel::Avx2, |_| true);
    if warpjit_backend::host_has_wide_vectors() {
        check_regions(HostLevel::Native, |shape| shape.of == "gcn");
    }
}

//! Compiled lane regions: compiles them, chooses the version that fits a warp, and runs it.
//!
//! A region is compiled when a warp first reaches its entry. The code is specialised for the *lane patterns* that the warp's
//! slots have at that time, such as uniform or affine, because then addresses and conditions become scalars. Before each run the
//! patterns are checked. A warp that does not have them gets another version, and after several versions one that assumes
//! nothing. All versions give the same results.

mod ahead;
mod assumptions;
mod background;
mod block_class;
mod chain;
mod compact_slots;
mod compiled;
mod cut_phases;
mod first_chain;
mod listing;
mod phases;
mod rows;
mod run_row;
mod sample_block;
#[cfg_attr(not(feature = "cache"), path = "not_stored.rs")]
mod stored;
mod versions;

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::memory::{rebase, window_access};
use warpjit_backend::{self as backend, FloatEnv, Generator, Options, RegionCode, Shape, Target, TrapSite};
use warpjit_ir::interp::Warp;
use warpjit_ir::meter::Usage;
use warpjit_ir::passes::permit;
use warpjit_ir::passes::translate;
use warpjit_ir::passes::translate::Translation;
use warpjit_ir::regions::liveness::SlotSet;
use warpjit_ir::regions::{Kernel, Region, SlotFacts, full, skip_empty};
use warpjit_ir::{Block, Function, Imm, Meter, Opcode, Stopped};

use crate::cache::CacheConfig;
#[cfg(feature = "cache")]
use crate::cache::{Key, Store};
use crate::debug::{self, Announced};
use crate::exec::limits::Limits;
use crate::exec::strategy::Strategy;
use crate::fork::{Guard, Mutex};
use crate::variant::Variant;
use crate::vm::{self, CodeMemory, FloatMode};
use crate::{Budget, CancelToken, CodeListing, CompileError, ConfigError, Error};

use assumptions::{Assumption, StartShapes};
pub use background::Ready;
pub use chain::Chain;
use chain::Chains;
use compiled::CodeFacts;
pub use compiled::{CodeIndex, Compiled, KnownShapes, Needed, RegionFlow};
use phases::Phases;
pub use rows::{Make, RowFacts};
pub use run_row::{Parted, RowFlow};
use sample_block::BlockClasses;
pub use sample_block::SampleBlock;
use versions::{MOST_START_VERSIONS, MOST_VERSIONS, Versions};

/// How a region is cut out of a kernel.
type Cut = fn(&Kernel, Block, &SlotFacts, &Meter) -> Result<Option<Region>, Stopped>;

/// Time in which at least one thread was compiling.
#[derive(Debug, Default)]
struct Compiling {
    threads: u32,
    since: Option<Instant>,
    total: Duration,
}

impl Compiling {
    fn begin(&mut self) {
        self.threads += 1;
        self.since.get_or_insert_with(Instant::now);
    }

    fn end(&mut self) {
        self.threads -= 1;
        if self.threads == 0
            && let Some(since) = self.since.take()
        {
            self.total += since.elapsed();
        }
    }
}

/// A version that fits a warp.
struct Fitting {
    code: Arc<Compiled>,
    /// It assumes everything that can be assumed of the warp.
    suits: bool,
}

/// The compiled regions of a kernel, shared by all threads.
#[derive(Debug)]
pub struct Jit {
    kernel: Arc<Kernel>,
    target: Target,
    generator: Generator,
    variant: Variant,
    memory: CodeMemory,
    versions: Vec<Mutex<Versions>>,
    /// Grid-row code, one version for each block class.
    rows: Mutex<Versions>,
    kinds: Mutex<BlockClasses>,
    /// Where the kernel's phases start, once asked for; and the phases themselves, until they are compiled.
    starts: OnceLock<Vec<Block>>,
    found: Mutex<Option<Phases>>,
    facts: RowFacts,
    offsets: Vec<u32>,
    /// Regions joined, and how often warps have gone from one to the next.
    chains: Chains,
    /// Limits for compiling, and what has been used of them.
    budget: Budget,
    spent: Mutex<Usage>,
    compiling: Mutex<Compiling>,
    /// The first reason why the code generator rejected a region.
    refusal: Mutex<Option<String>>,
    /// How often each block has been interpreted, up to the count at which it is compiled.
    heat: Vec<AtomicU32>,
    /// Blocks inside compiled regions. Few warps start there.
    covered: Vec<AtomicBool>,
    /// Nanoseconds that engines' compiler threads have spent compiling.
    behind: AtomicU64,
    /// The cache on disk and the key in it, if there is a cache.
    #[cfg(feature = "cache")]
    store: Option<(Store, Key)>,
    /// Whether something was compiled since the last save.
    unsaved: AtomicBool,
    /// The generation of the process (`fork.rs`) in which a job waits that saves it, and one; 0 if none does.
    saving: AtomicU64,
    /// Number of regions loaded from the cache.
    loaded: AtomicU64,
    /// The strategy that was found to be the best for the kernel, as [`Strategy::stored`]; 0 if none was.
    strategy: AtomicU8,
    /// Compiled code as text, if kept.
    listings: Mutex<Vec<Arc<CodeListing>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> Guard<'_, T> {
    mutex.lock()
}

impl Jit {
    /// Makes it, without code yet.
    pub fn new(
        kernel: Arc<Kernel>,
        variant: Variant,
        facts: RowFacts,
        cache: Option<&CacheConfig>,
        budget: Budget,
        spent: Usage,
    ) -> Result<Jit, Error> {
        let target =
            Target::host(variant.host).map_err(|error| ConfigError::Host { reason: error.to_string() })?;
        let (offsets, _) = kernel.func.frame_layout();
        let generator = variant.generator().on(&target);
        let mut jit = Jit {
            target,
            generator,
            variant,
            memory: CodeMemory::new(),
            versions: kernel.func.blocks.iter().map(|_| Mutex::default()).collect(),
            rows: Mutex::default(),
            kinds: Mutex::default(),
            starts: OnceLock::new(),
            found: Mutex::default(),
            facts,
            heat: kernel.func.blocks.iter().map(|_| AtomicU32::new(0)).collect(),
            covered: kernel.func.blocks.iter().map(|_| AtomicBool::new(false)).collect(),
            offsets,
            chains: Chains::default(),
            budget,
            spent: Mutex::new(spent),
            compiling: Mutex::default(),
            refusal: Mutex::default(),
            behind: AtomicU64::new(0),
            #[cfg(feature = "cache")]
            store: None,
            unsaved: AtomicBool::new(false),
            saving: AtomicU64::new(0),
            loaded: AtomicU64::new(0),
            strategy: AtomicU8::new(0),
            listings: Mutex::default(),
            kernel,
        };
        // Code from the cache has no text.
        if let Some(cache) = cache.filter(|_| !variant.listings) {
            jit.load_from(cache);
        }
        Ok(jit)
    }

    /// The strategy that was found to be the best for the kernel, by this process or an earlier one.
    pub fn strategy(&self) -> Option<Strategy> {
        Strategy::of_stored(self.strategy.load(Ordering::Relaxed))
    }

    /// Notes the strategy that was found, for the cache.
    pub fn note_strategy(&self, found: Option<Strategy>) {
        let Some(number) = found.map(Strategy::stored) else { return };
        if self.strategy.swap(number, Ordering::Relaxed) != number {
            self.unsaved.store(true, Ordering::Relaxed);
        }
    }

    /// Bytes of compiled code, and of what is kept for each block.
    pub fn bytes_used(&self) -> usize {
        let of_block = size_of::<Mutex<Versions>>() + size_of::<AtomicU32>() + size_of::<AtomicBool>();
        self.memory.used_bytes() + self.versions.len() * of_block + self.chains.bytes_kept()
    }

    /// Time in which at least one thread of a launch was compiling.
    pub fn compile_time(&self) -> Duration {
        lock(&self.compiling).total
    }

    /// Whether code runs one lane after another. Warps so small that one chunk holds them always use vectors.
    fn is_single(&self) -> bool {
        self.variant.single && !self.kernel.whole_warps()
    }

    /// What holds of all regions, if nothing is known of slots.
    fn nothing_known(&self) -> SlotFacts {
        SlotFacts { one_lane: self.is_single(), ..SlotFacts::none(self.kernel.func.slots.len()) }
    }

    /// Why the code generator rejected a region, if it did. The interpreter runs such a region.
    pub fn refusal(&self) -> Option<String> {
        lock(&self.refusal).clone()
    }

    /// Runs `work` for the region at a block within the rest of the budget; the token can cancel it.
    fn metered<T>(
        &self,
        at: Block,
        cancel: Option<&CancelToken>,
        work: impl FnOnce(&Meter) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let before = *lock(&self.spent);
        let meter = Limits { budget: self.budget, cancel }.meter(before);
        meter.set_region(Some(self.kernel.func.block(at).pc));
        meter.stage("start")?;
        let result = work(&meter);
        // Other threads may have used some of the budget meanwhile.
        let after = meter.spent();
        let mut spent = lock(&self.spent);
        spent.time += after.time.saturating_sub(before.time);
        spent.bytes = spent.bytes.saturating_add(after.bytes.saturating_sub(before.bytes));
        result
    }

    /// Code for the region at the warp's block that fits the warp, compiled now if need be; `None` where the interpreter must
    /// run it, or the launch was cancelled meanwhile.
    pub fn region(&self, warp: &Warp, cancel: Option<&CancelToken>) -> Option<Arc<Compiled>> {
        let at = warp.block;
        if self.is_single() && !*lock(&self.chains.first_tried) {
            lock(&self.compiling).begin();
            self.make_first_chain(at, cancel);
            lock(&self.compiling).end();
        }
        let mut versions = lock(&self.versions[at.index()]);
        let found = match self.fitting(&versions, warp) {
            Some(Fitting { code, suits: true }) => return Some(code),
            found => found.map(|found| found.code),
        };
        let may_assume = !self.variant.single && self.may_assume(&versions, at);
        if versions.impossible || found.is_some() && !may_assume {
            return found;
        }
        self.unsaved.store(true, Ordering::Relaxed);
        lock(&self.compiling).begin();
        let frame = may_assume.then(|| warp.frame.words());
        let made = vm::on_stack_for_compiler(|| {
            self.metered(at, cancel, |meter| self.make(at, frame.as_slice(), meter))
        });
        lock(&self.compiling).end();
        if matches!(made, Err(Error::Cancelled)) {
            return found;
        }
        let added = versions.add(made, !may_assume, |code| self.announce(at, code));
        added
            .unwrap_or_else(|error| {
                self.refuse(&error);
                None
            })
            .or(found)
    }

    /// A version of a region that fits a warp, preferably one that was made for such warps.
    fn fitting(&self, versions: &Versions, warp: &Warp) -> Option<Fitting> {
        let mut fitting = versions.list.iter().filter(|code| code.fits(warp));
        let suits = |code: &Arc<Compiled>| self.suits(code, warp);
        let of = |suits| move |code: &Arc<Compiled>| Fitting { code: code.clone(), suits };
        fitting.clone().find(|code| suits(code)).map(of(true)).or_else(|| fitting.next().map(of(false)))
    }

    /// Whether the next version of a region may assume something.
    fn may_assume(&self, versions: &Versions, at: Block) -> bool {
        let most = if self.is_start(at) { MOST_START_VERSIONS } else { MOST_VERSIONS };
        !versions.full && versions.list.len() < most
    }

    /// Number of regions loaded from the cache.
    pub fn loaded(&self) -> u64 {
        self.loaded.load(Ordering::Relaxed)
    }

    /// Notes why a region is not compiled.
    fn refuse(&self, error: &Error) {
        lock(&self.refusal).get_or_insert_with(|| error.to_string());
    }

    /// Announces new code to profilers and debuggers, and adds it to the listings.
    fn announce(&self, at: Block, code: &mut Compiled) -> Announced {
        let func = &self.kernel.func;
        let (kernel, pc) = (func.name.as_str(), func.block(at).pc);
        let kind = match (&code.facts.row, code.link) {
            (Some(_), _) => "rows",
            (None, Some(_)) => "chain",
            (None, None) => "",
        };
        let version = code.number;
        let region =
            debug::FunctionCode { kernel, pc, kind, version, code: &code.code, pcs: &code.facts.pcs };
        if let Some(listing) = code.listing.take() {
            lock(&self.listings).push(Arc::new(CodeListing { name: region.name(), ..*listing }));
        }
        debug::announce(&region, self.variant.perf)
    }

    /// The host addresses of all compiled code.
    pub fn index(&self) -> CodeIndex {
        let mut index = CodeIndex::default();
        for versions in self.versions.iter().chain([&self.rows]) {
            let list = &lock(versions).list;
            index.0.extend(list.iter().map(|code| (code.code.start() as usize, code.clone())));
        }
        for chain in self.chains.all() {
            index.0.extend(chain.codes().map(|code| (code.code.start() as usize, code.clone())));
        }
        index.0.sort_by_key(|(start, _)| *start);
        index
    }

    /// Compiles the region at a block for the lane patterns that all of the frames have. If that code would need too
    /// much stack, compiles the block alone.
    fn make(&self, at: Block, frames: &[&[u32]], meter: &Meter) -> Result<Option<Compiled>, Error> {
        self.make_of(at, frames, Kernel::region_within, meter).or_else(|error| match error {
            Error::Budget(_) | Error::Cancelled => Err(error),
            error => {
                let alone = self.make_of(at, frames, Kernel::single_block, meter);
                alone.map_err(|other| if other == Error::Cancelled { other } else { error })
            }
        })
    }

    /// The same, for the region that `cut` finds.
    fn make_of(
        &self,
        at: Block,
        frames: &[&[u32]],
        cut: Cut,
        meter: &Meter,
    ) -> Result<Option<Compiled>, Error> {
        let kernel = &*self.kernel;
        let known = self.nothing_known();
        let region = match self.already_cut(at) {
            Some(region) => Some(region),
            None => cut(kernel, at, &known, meter)?,
        };
        let Some(region) = region else { return Ok(None) };
        let groups = self.chunk_groups(&region);
        let chunk_lanes = if self.is_single() { 1 } else { u32::from(groups) * 4 };
        let mut assumptions = Vec::new();
        let mut start = None;
        if !frames.is_empty() {
            let at_start = self.is_start(at);
            let shapes = self.shapes(kernel, &region, frames, (chunk_lanes, at_start), meter)?;
            assumptions = shapes.list;
            start = at_start.then(|| StartShapes::new(shapes.looked_at, chunk_lanes, &assumptions));
        }
        let Some((region, options)) = self.ready_to_compile(region, &assumptions, cut, meter)? else {
            return Ok(None);
        };
        self.compile_ready(region, options, assumptions, start, meter).map(Some)
    }

    /// Compiles a region that is ready for the backend. `start`: if warps start there, the lane patterns that were looked for.
    fn compile_ready(
        &self,
        region: Region,
        options: Options,
        assumptions: Vec<Assumption>,
        start: Option<StartShapes>,
        meter: &Meter,
    ) -> Result<Compiled, Error> {
        let chunk_lanes = if options.single { 1 } else { u32::from(options.chunk_groups) * 4 };
        meter.stage("generating its code")?;
        let mut made = backend::compile_region(&region.mask, &options).map_err(CompileError::from)?;
        meter.hold(made.code.len() + made.traps.len() * size_of::<(u32, TrapSite)>())?;
        let listing = options.list.then(|| self.list_region(&region, &assumptions, chunk_lanes, &mut made));
        let mut code = self.compiled(made, region.entry)?;
        self.cover(&region);
        code.listing = listing;
        (code.facts.exits, code.facts.faults) = (region.exits[..].into(), region.faults[..].into());
        (code.facts.assumptions, code.facts.start) = (assumptions, start);
        (code.facts.written, code.facts.steps) = (written_slots(&region.mask), region.steps);
        code.facts.waits = if region.may_wait { chunk_lanes } else { 0 };
        code.source = Mutex::new(self.source(region, options));
        Ok(code)
    }

    /// The region at a block as the backend gets it, and how it is compiled: cut for what is assumed of slots, optimised. `region` is the
    /// one for which nothing is assumed. `None` if code cannot access its memory.
    fn ready_to_compile(
        &self,
        mut region: Region,
        assumptions: &[Assumption],
        cut: Cut,
        meter: &Meter,
    ) -> Result<Option<(Region, Options)>, Error> {
        let groups = self.chunk_groups(&region);
        let chunk_lanes = if self.is_single() { 1 } else { u32::from(groups) * 4 };
        let mut known = self.nothing_known();
        for a in assumptions {
            match a.known.shape {
                Shape::Uniform if a.known.is_whole(chunk_lanes) => known.uniform.insert(a.slot),
                Shape::Ones => known.ones.insert(a.slot),
                _ => continue,
            };
        }
        if known != self.nothing_known()
            && let Some(better) = cut(&self.kernel, region.entry, &known, meter)?
        {
            region = better;
        }
        if !self.locate_memory(&mut region) {
            return Ok(None);
        }
        let mut options = self.options_of(&region, groups);
        if options.all_enter {
            full::all_enter(&mut region.mask);
        }
        if self.is_single() {
            self.generator.optimize_one_lane(&mut region, meter)?;
        } else {
            self.generator.optimize(&mut region, meter)?;
            if self.generator.joins_regions() && chunk_lanes < self.kernel.func.lanes {
                skip_empty(&mut region.mask, meter)?;
            }
        }
        self.generator.specialize(&mut region, options.all_enter, self.is_single());
        options.single = self.is_single();
        for a in assumptions {
            options.slot_shapes[a.slot.index()] = Some(a.known.shape);
            options.apart[a.slot.index()] = a.known.apart_in(chunk_lanes);
        }
        Ok(Some((region, options)))
    }

    /// Whether code takes it as known that all lanes enter: lanes of a wave never part.
    fn all_enter(&self) -> bool {
        self.facts.full_warps && self.kernel.is_wave()
    }

    /// Whether code must not run a warp, because it takes lanes as active that are not: a wave of which some lanes have ended. That takes
    /// another thread, which stores what a scalar load of the wave reads while its chunks run, so that they go different paths.
    #[inline]
    pub fn lacks_lanes(&self, warp: &Warp) -> bool {
        warp.active.count_ones() < self.kernel.func.lanes && self.all_enter()
    }

    /// What the variant and the kernel say of all code.
    fn settings(&self) -> Options {
        let mut options = Options::new(self.target.clone());
        self.generator.choose(&mut options);
        options.checked_memory = self.variant.checked_memory;
        options.translated = self.variant.translates();
        options.permits = self.variant.permits;
        options.local_bytes = self.facts.local_bytes;
        (options.pcs, options.list) = (self.variant.pcs, self.variant.listings);
        options
    }

    /// How a region is compiled with chunks of that many groups of four lanes, if nothing is assumed.
    fn options_of(&self, region: &Region, groups: u8) -> Options {
        let mut options = self.settings();
        options.chunk_groups = groups;
        options.may_wait = region.may_wait;
        // Calls of regions that wait are split by lanes.
        options.all_enter = self.all_enter() && !region.may_wait;
        options.slot_shapes = vec![None; region.mask.slots.len()];
        options.apart = vec![None; region.mask.slots.len()];
        options
    }

    /// Adapts a region to the launch's global memory: replaces accesses through windows, and adds address translations.
    /// `false` if code does not support one of the windows; the interpreter runs the region then.
    fn locate_memory(&self, region: &mut Region) -> bool {
        if !self.variant.windows.is_none_or(|kinds| window_access::run(&mut region.mask, &kinds)) {
            return false;
        }
        let Variant { rebase, ignored_bits, .. } = self.variant;
        if self.variant.permits {
            return permit::run_with(&mut region.mask, ignored_bits);
        }
        if rebase && !rebase::run(&mut region.mask, ignored_bits) {
            return false;
        }
        if self.variant.translate {
            // Addresses that were made relative have no bits left that are ignored.
            let ignored = if rebase { 0 } else { ignored_bits };
            translate::run_with(
                &mut region.mask,
                Translation { narrow: self.variant.checked_memory, ignored },
            );
        }
        true
    }

    /// Places the backend's code into executable memory. The caller fills in the rest.
    fn compiled(&self, made: RegionCode, at: Block) -> Result<Compiled, Error> {
        Ok(Compiled {
            announced: Announced::default(),
            code: Arc::new(self.memory.add(&made.code)?),
            tables: made.tables.iter().map(|&table| table.into()).collect(),
            facts: CodeFacts {
                pcs: made.pcs.into(),
                traps: made.traps.into(),
                pures: made.pures.into(),
                devices: made.devices.into(),
                table_names: made.tables.into(),
                returns: made.returns.into(),
                mode: match made.float_env {
                    FloatEnv::FlushAll => FloatMode::Flush,
                    FloatEnv::Default => FloatMode::Ieee,
                },
                exits: Arc::new([]),
                faults: Arc::new([]),
                assumptions: Vec::new(),
                start: None,
                written: SlotSet::empty(self.kernel.func.slots.len()),
                steps: 0,
                waits: 0,
                row: None,
            },
            at,
            link: None,
            lanes: self.kernel.func.lanes as usize,
            number: 0,
            listing: None,
            source: Mutex::default(),
        })
    }
}

impl Drop for Jit {
    fn drop(&mut self) {
        self.save();
    }
}

/// Slots that a region writes.
fn written_slots(func: &Function) -> SlotSet {
    let mut slots = SlotSet::empty(func.slots.len());
    for inst in func.insts.iter().filter(|inst| inst.op == Opcode::SlotSet) {
        if let Imm::Slot(slot) = inst.imm {
            slots.insert(slot);
        }
    }
    slots
}

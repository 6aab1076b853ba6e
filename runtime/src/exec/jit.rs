//! Compiled lane regions: compiles them, chooses the version that fits a warp, and runs it.
//!
//! A region is compiled when a warp first reaches its entry. The code is specialised for the *lane patterns* that the warp's
//! slots have at that time, such as uniform or affine, because then addresses and conditions become scalars. Before each run the
//! patterns are checked. A warp that does not have them gets another version, and after several versions one that assumes
//! nothing. All versions give the same results.

mod ahead;
mod behind;
mod firsts;
mod listing;
mod looks;
mod pieces;
mod rows;
mod shapes;
#[cfg_attr(not(feature = "cache"), path = "jit/not_stored.rs")]
mod stored;
mod width;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use warpjit_backend::{
    self as backend, Context, FloatEnv, Options, RegionCode, Returns, Shape, SlotShape, TablePointer, Target,
    TrapSite,
};
use warpjit_ir::interp::{self, Fault, FaultKind, Warp};
use warpjit_ir::meter::Spent;
use warpjit_ir::passes::translate::Translation;
use warpjit_ir::passes::{translate, windows};
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::regions::liveness::SlotSet;
use warpjit_ir::regions::promote::{FAULT_EXIT, RegionFault};
use warpjit_ir::regions::{Kernel, Region, SlotFacts, one_lane, optimize_within, part_lanes, versions};
use warpjit_ir::{
    Block, DeviceSite, Function, GuestFault, Imm, Meter, Opcode, PureFn, Slot, Space, Stopped, WordTable,
};

use crate::cache::CacheConfig;
#[cfg(feature = "cache")]
use crate::cache::{Key, Store};
use crate::debug::{self, Announced};
use crate::exec::carried;
use crate::exec::memory::Rights;
use crate::exec::tiers::Limits;
use crate::fork::{self, Guard, Mutex};
use crate::program::Variant;
use crate::vm::{self, CodeMemory, FloatMode};
use crate::{Budget, CancelToken, CodeListing, Error};

pub use behind::Ready;
pub use looks::BlockLook;
use looks::Kinds;
use pieces::Pieces;
use rows::RowNeeds;
pub use rows::{Make, Parted, RowFacts, RowFlow};
use shapes::{Assumption, StartShapes};

/// How a region is cut out of a kernel.
type Cut = fn(&Kernel, Block, &SlotFacts, &Meter) -> Result<Option<Region>, Stopped>;

/// Most versions of a region with assumptions. After these comes the one without.
const MOST_VERSIONS: usize = 3;

/// The same for regions at which warps start. Their lane patterns depend on the block size.
const MOST_START_VERSIONS: usize = 8;

/// Machine code of a region.
#[derive(Debug)]
pub struct Compiled {
    /// Dropped before the code.
    announced: Announced,
    code: vm::Code,
    /// Code offsets with guest addresses ([`RegionCode::pcs`]), if asked for.
    pcs: Vec<(u32, u32)>,
    traps: Vec<(u32, TrapSite)>,
    pures: Vec<&'static PureFn>,
    devices: Vec<DeviceSite>,
    tables: Vec<TablePointer>,
    table_names: Vec<&'static WordTable>,
    /// The values that it may return; for grid-row code, of each phase.
    returns: Vec<Returns>,
    mode: FloatMode,
    exits: Vec<ExitKind>,
    faults: Vec<RegionFault>,
    assumptions: Vec<Assumption>,
    /// The lane patterns it was made for, if warps start at this region.
    start: Option<StartShapes>,
    /// For grid-row code: what it needs besides its assumptions.
    row: Option<RowNeeds>,
    /// Slots that it writes.
    written: SlotSet,
    /// See [`Region::steps`].
    steps: u32,
    /// Lanes of its chunks, if it may wait for others ([`Region::may_wait`]); else 0.
    waits: u32,
    /// Where its region starts.
    at: Block,
    /// Lanes of a warp.
    lanes: usize,
    /// Which of the versions of its region this is.
    number: u32,
    /// The code as text, if kept, until it is announced.
    listing: Option<Box<CodeListing>>,
}

/// Compiled code by host address.
#[derive(Debug, Default)]
pub struct CodeIndex(Vec<(usize, Arc<Compiled>)>);

impl CodeIndex {
    /// The guest instruction that the code at a host address belongs to, if any.
    pub fn guest_pc(&self, at: usize) -> Option<u32> {
        let next = self.0.partition_point(|(start, _)| *start <= at);
        let (_, code) = self.0.get(next.checked_sub(1)?)?;
        backend::guest_pc(&code.pcs, code.code.offset_of(at)?)
    }
}

/// The versions of the region that starts at a block.
#[derive(Debug, Default)]
struct Versions {
    list: Vec<Arc<Compiled>>,
    /// The code generator rejected the region, or the block must run in the interpreter.
    impossible: bool,
    /// If another version is being compiled or waits to be: in which process ([`fork::generation`]).
    queued: Option<u64>,
    /// Another version could not be compiled, so there will be no more.
    full: bool,
}

impl Versions {
    /// Whether another version is being compiled, or waits to be.
    fn is_queued(&self) -> bool {
        self.queued == Some(fork::generation())
    }

    /// Sets whether another version has been asked for.
    fn set_queued(&mut self, queued: bool) {
        self.queued = queued.then(fork::generation);
    }

    /// Adds a compiled version. `last`: no other one can be made.
    fn add(
        &mut self,
        made: Result<Option<Compiled>, Error>,
        last: bool,
        announce: impl FnOnce(&mut Compiled) -> Announced,
    ) -> Result<Option<Arc<Compiled>>, Error> {
        let refused = !matches!(made, Ok(Some(_)));
        self.impossible |= refused && (last || self.list.is_empty());
        self.full |= refused;
        let Some(mut code) = made? else { return Ok(None) };
        code.number = self.list.len() as u32;
        code.announced = announce(&mut code);
        let code = Arc::new(code);
        self.list.push(code.clone());
        Ok(Some(code))
    }
}

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
    /// Vectors of 512 bits.
    wide: bool,
    variant: Variant,
    memory: CodeMemory,
    versions: Vec<Mutex<Versions>>,
    /// Grid-row code, one version for each block class.
    rows: Mutex<Versions>,
    kinds: Mutex<Kinds>,
    /// Where the kernel's phases start, once asked for; and the phases themselves, until they are compiled.
    starts: OnceLock<Vec<Block>>,
    found: Mutex<Option<Pieces>>,
    facts: RowFacts,
    offsets: Vec<u32>,
    /// Limits for compiling, and what has been used of them.
    budget: Budget,
    spent: Mutex<Spent>,
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
    /// Number of regions loaded from the cache.
    loaded: AtomicU64,
    /// Compiled code as text, if kept.
    listings: Mutex<Vec<Arc<CodeListing>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> Guard<'_, T> {
    mutex.lock()
}

/// How a run of a region ended.
#[derive(Debug)]
pub enum RegionFlow {
    /// It took this exit. With it: lanes whose threads ended, and the lanes where the condition of the exit's
    /// terminator holds.
    Exit(ExitKind, u64, u64),
    /// The guest faulted.
    Fault(Fault),
    /// The poll function asked to stop.
    Stopped,
}

impl Jit {
    /// Makes it, without code yet.
    pub fn new(
        kernel: Arc<Kernel>,
        variant: Variant,
        facts: RowFacts,
        cache: Option<&CacheConfig>,
        budget: Budget,
        spent: Spent,
    ) -> Result<Jit, Error> {
        let target = Target::host(variant.host.into()).map_err(|e| Error::Config(e.to_string()))?;
        let (offsets, _) = kernel.func.frame_layout();
        let wide = variant.wide_vectors() && target.has_wide_vectors();
        let mut jit = Jit {
            target,
            wide,
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
            budget,
            spent: Mutex::new(spent),
            compiling: Mutex::default(),
            refusal: Mutex::default(),
            behind: AtomicU64::new(0),
            #[cfg(feature = "cache")]
            store: None,
            unsaved: AtomicBool::new(false),
            loaded: AtomicU64::new(0),
            listings: Mutex::default(),
            kernel,
        };
        // Code from the cache has no text.
        if let Some(cache) = cache.filter(|_| !variant.listings) {
            jit.load_from(cache);
        }
        Ok(jit)
    }

    /// Bytes of compiled code, and of what is kept for each block.
    pub fn bytes_used(&self) -> usize {
        let of_block = size_of::<Mutex<Versions>>() + size_of::<AtomicU32>() + size_of::<AtomicBool>();
        self.memory.used_bytes() + self.versions.len() * of_block
    }

    /// Time in which at least one thread of a launch was compiling.
    pub fn compile_time(&self) -> Duration {
        lock(&self.compiling).total
    }

    /// Whether code runs one lane after another. Warps so small that one chunk holds them always use vectors.
    fn is_single(&self) -> bool {
        self.variant.single && !self.kernel.whole_warps()
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
        let (rows, version) = (code.row.is_some(), code.number);
        let region = debug::Region { kernel, pc, rows, version, code: &code.code, pcs: &code.pcs };
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
        let mut known = SlotFacts::none(kernel.func.slots.len());
        let Some(mut region) = cut(kernel, at, &known, meter)? else { return Ok(None) };
        let groups = self.groups(&region);
        let chunk_lanes = if self.is_single() { 1 } else { u32::from(groups) * 4 };
        let mut assumptions = Vec::new();
        let mut start = None;
        if !frames.is_empty() {
            let at_start = self.is_start(at);
            let shapes = self.shapes(kernel, &region, frames, (chunk_lanes, at_start), meter)?;
            assumptions = shapes.list;
            start = at_start.then(|| StartShapes::new(shapes.looked_at, chunk_lanes, &assumptions));
            for a in &assumptions {
                match a.known.shape {
                    Shape::Uniform if a.known.is_whole(chunk_lanes) => known.uniform.insert(a.slot),
                    Shape::Ones => known.ones.insert(a.slot),
                    _ => continue,
                };
            }
            if let Some(better) = cut(kernel, at, &known, meter)? {
                region = better;
            }
        }
        if !self.locate_memory(&mut region) {
            return Ok(None);
        }
        optimize_within(&mut region, self.wide, meter)?;
        if self.wide {
            // A loop with serialised lanes has no full mask, so no full-mask versions.
            if !part_lanes(&mut region.mask) {
                versions(&mut region, false);
            }
        }
        if self.is_single() {
            one_lane(&mut region.mask, meter)?;
        }
        let mut options = Options::new(self.target.clone());
        options.groups = groups;
        options.single = self.is_single();
        options.may_wait = region.may_wait;
        options.wide_vectors = self.wide;
        options.checked_memory = self.variant.checked_memory;
        options.translated = self.variant.translate;
        (options.pcs, options.list) = (self.variant.pcs, self.variant.listings);
        options.slot_shapes = vec![None; region.mask.slots.len()];
        options.apart = vec![None; region.mask.slots.len()];
        for a in &assumptions {
            options.slot_shapes[a.slot.index()] = Some(a.known.shape);
            options.apart[a.slot.index()] = a.known.apart_in(chunk_lanes);
        }
        meter.stage("generating its code")?;
        let mut made =
            backend::compile_region(&region.mask, &options).map_err(|e| Error::Compile(e.to_string()))?;
        meter.hold(made.code.len() + made.traps.len() * size_of::<(u32, TrapSite)>())?;
        let listing = options.list.then(|| self.list_region(&region, &assumptions, chunk_lanes, &mut made));
        let mut code = self.compiled(made, at)?;
        self.cover(&region);
        code.listing = listing;
        (code.exits, code.faults) = (region.exits, region.faults);
        (code.assumptions, code.start) = (assumptions, start);
        (code.written, code.steps) = (written_slots(&region.mask), region.steps);
        code.waits = if region.may_wait { chunk_lanes } else { 0 };
        Ok(Some(code))
    }

    /// Adapts a region to the launch's global memory: replaces accesses through windows, and adds address translations.
    /// `false` if code does not support one of the windows; the interpreter runs the region then.
    fn locate_memory(&self, region: &mut Region) -> bool {
        if !self.variant.windows.is_none_or(|kinds| windows::run(&mut region.mask, &kinds)) {
            return false;
        }
        if self.variant.translate {
            let narrow = self.variant.checked_memory;
            let how = Translation { narrow, ignored: self.variant.ignored_bits };
            translate::run_with(&mut region.mask, how);
        }
        true
    }

    /// Places the backend's code into executable memory. The caller fills in the rest.
    fn compiled(&self, made: RegionCode, at: Block) -> Result<Compiled, Error> {
        Ok(Compiled {
            announced: Announced::default(),
            pcs: made.pcs,
            code: self.memory.add(&made.code)?,
            traps: made.traps,
            pures: made.pures,
            devices: made.devices,
            tables: made.tables.iter().map(|&table| table.into()).collect(),
            table_names: made.tables,
            returns: made.returns,
            mode: match made.float_env {
                FloatEnv::FlushAll => FloatMode::Flush,
                FloatEnv::Default => FloatMode::Ieee,
            },
            row: None,
            exits: Vec::new(),
            faults: Vec::new(),
            assumptions: Vec::new(),
            start: None,
            written: SlotSet::empty(self.kernel.func.slots.len()),
            steps: 0,
            waits: 0,
            at,
            lanes: self.kernel.func.lanes as usize,
            number: 0,
            listing: None,
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

/// Lane patterns that all warps of a block are known to have, while they run together.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct KnownShapes(Vec<(Slot, SlotShape)>);

impl KnownShapes {
    /// Keeps the patterns that still hold after all warps have run `code`.
    pub fn after(&mut self, code: &Compiled) {
        self.0.retain(|(slot, ..)| !code.written.contains(*slot));
    }

    /// Adds what `code` assumes, after it was found to hold for all warps.
    pub fn learn(&mut self, code: &Compiled) {
        for a in &code.assumptions {
            if !self.0.contains(&(a.slot, a.known)) {
                self.0.push((a.slot, a.known));
            }
        }
    }
}

/// Default chunk size for Cranelift, in vectors of four lanes.
const DEFAULT_GROUPS: u8 = 2;

/// Lanes of a 512-bit vector.
const WIDE_LANES: u32 = 16;

/// An assumption of code that is still to be checked.
#[derive(Debug)]
pub struct Needed {
    assumption: Assumption,
    lanes: usize,
}

impl Needed {
    /// Whether it holds for a warp.
    #[inline]
    pub fn holds(&self, warp: &Warp) -> bool {
        let start = self.assumption.offset as usize / 4;
        self.assumption.holds(&warp.frame.words()[start..start + self.lanes], warp.active)
    }
}

impl Compiled {
    /// Whether the code may write a slot.
    pub fn writes(&self, slot: Slot) -> bool {
        self.written.contains(slot)
    }

    /// Instructions that a warp must have left to enter it, if they are limited.
    #[inline]
    pub fn steps(&self) -> u64 {
        self.steps.into()
    }

    /// Lanes of its chunks, if it may wait for others, so that it runs on a stack of its own ([`Compiled::begin`]); else 0.
    #[inline]
    pub fn waits(&self) -> u32 {
        self.waits
    }

    /// Whether it assumes less than could be assumed of some warps that it fits.
    #[inline]
    pub fn assumes_little(&self) -> bool {
        self.start.as_ref().is_some_and(|start| start.little)
    }

    /// Whether the code's assumptions hold for the warp.
    #[inline]
    pub fn fits(&self, warp: &Warp) -> bool {
        let (words, lanes) = (warp.frame.words(), self.lanes);
        self.assumptions.iter().all(|assumption| {
            let start = assumption.offset as usize / 4;
            assumption.holds(&words[start..start + lanes], warp.active)
        })
    }

    /// Whether the code's assumptions hold for all of the warps. `known` need not be checked.
    #[inline]
    pub fn fits_all<'w>(&self, warps: impl Iterator<Item = &'w Warp> + Clone, known: &KnownShapes) -> bool {
        self.assumptions.iter().filter(|a| !known.0.contains(&(a.slot, a.known))).all(|assumption| {
            let start = assumption.offset as usize / 4;
            warps.clone().all(|warp| {
                let words = &warp.frame.words()[start..start + self.lanes];
                assumption.holds(words, warp.active)
            })
        })
    }

    /// The assumptions that `known` does not imply.
    pub fn needed(&self, known: &KnownShapes) -> Vec<Needed> {
        let unknown = self.assumptions.iter().filter(|a| !known.0.contains(&(a.slot, a.known)));
        unknown.map(|&assumption| Needed { assumption, lanes: self.lanes }).collect()
    }

    /// Which of the versions of its region this is.
    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Runs the region for the warp's active lanes. The context's memory must be the launch's.
    pub fn run(&self, context: &mut Context, warp: &mut Warp, rights: &Rights<'_>) -> RegionFlow {
        context.active = warp.active;
        context.exited = 0;
        context.cond = 0;
        context.pures = self.pures.as_ptr();
        context.devices = self.devices.as_ptr();
        context.tables = self.tables.as_ptr();
        let frame = warp.frame.as_mut_ptr().cast::<u8>();
        // SAFETY: the code was made by the backend for this kernel, whose frame this is; the context's pointers
        // are to memory that lives through the call (see `Stepper::step`), and what it calls does not unwind.
        let result = unsafe { vm::enter(self.code.start(), (&raw mut *context).cast(), frame, self.mode) };
        match result {
            Ok(result) => self.outcome(result, &self.faults, context, rights),
            Err(raw) => self.signal(&raw, context, rights),
        }
    }

    /// Prepares a call of the region, for some of the warp's active lanes, on a stack of its own. The context's memory
    /// must be the launch's. The context, the frame, the memory and `self` must outlive the call, or the call must be
    /// dropped before them.
    pub fn begin(&self, fiber: &mut vm::Fiber, context: &mut Context, warp: &mut Warp, lanes: u64) {
        (context.active, context.exited, context.cond, context.split) = (lanes, 0, 0, 0);
        context.pures = self.pures.as_ptr();
        context.devices = self.devices.as_ptr();
        context.tables = self.tables.as_ptr();
        let frame = warp.frame.as_mut_ptr().cast::<u8>();
        // SAFETY: as in `run`; only `poll` suspends, which holds nothing.
        unsafe { fiber.start(self.code.start(), (&raw mut *context).cast(), frame, self.mode) };
    }

    /// How a call made by [`Compiled::begin`] ended: its exit, with the lanes that ended and the condition, or an
    /// exception.
    pub fn came_out(
        &self,
        result: Result<u64, Box<vm::RawFault>>,
        context: &mut Context,
        rights: &Rights<'_>,
    ) -> Result<(u64, u64, u64), RegionFlow> {
        match result {
            Ok(exit) if exit < u64::from(FAULT_EXIT) => Ok((exit, context.exited, context.cond)),
            Ok(result) => Err(self.outcome(result, &self.faults, context, rights)),
            Err(raw) => Err(self.signal(&raw, context, rights)),
        }
    }

    /// Runs the region for warps in the order of `calls`, as long as each takes exit `wanted`. A call holds the frame
    /// and active lanes; on return, the ended lanes and the condition. Returns the last call that ran, and in `ended`
    /// its exception if it had one. The context's memory must be that of all the warps.
    pub fn run_all(
        &self,
        context: &mut Context,
        calls: &mut [vm::Call],
        wanted: u64,
        ended: &mut Option<Box<vm::RawFault>>,
    ) -> usize {
        // What `enter_all` puts into and takes from the context.
        const {
            assert!(std::mem::offset_of!(Context, active) == 0);
            assert!(std::mem::offset_of!(Context, exited) == 8);
            assert!(std::mem::offset_of!(Context, cond) == 16);
        }
        context.pures = self.pures.as_ptr();
        context.devices = self.devices.as_ptr();
        context.tables = self.tables.as_ptr();
        let pointer = (&raw mut *context).cast::<u8>();
        // SAFETY: as in `run`, for each frame of `calls`, which the caller's warps own.
        unsafe { vm::enter_all(self.code.start(), pointer, calls, wanted, self.mode, ended) }
    }

    /// How the last call of [`Compiled::run_all`] ended.
    pub fn flow_of(
        &self,
        context: &mut Context,
        call: Option<&vm::Call>,
        ended: Option<Box<vm::RawFault>>,
        rights: &Rights<'_>,
    ) -> RegionFlow {
        let result = call.map_or(backend::STOPPED, |call| call.result);
        match ended {
            Some(raw) => self.signal(&raw, context, rights),
            None => self.outcome(result, &self.faults, context, rights),
        }
    }

    /// Where an exit leads.
    pub fn exit(&self, number: u64) -> Option<ExitKind> {
        self.exits.get(usize::try_from(number).ok()?).copied()
    }

    /// Decodes a result of the code. `faults` are the faults of the region that ran.
    fn outcome(
        &self,
        result: u64,
        faults: &[RegionFault],
        context: &mut Context,
        rights: &Rights<'_>,
    ) -> RegionFlow {
        match result {
            backend::FAULT if context.device_fault.is_some() => {
                carried::throw_again();
                let fault = context.device_fault.take().expect("looked at");
                RegionFlow::Fault(interp::fault_of_device(context.fault.pc, fault))
            }
            backend::FAULT => {
                carried::throw_again();
                let (space, bytes, store) = access_of(&context.fault);
                let denied = |address| rights.first_denied(space, address, bytes, store);
                RegionFlow::Fault(fault_of(&context.lowest_fault(denied)))
            }
            backend::STOPPED => RegionFlow::Stopped,
            exit if exit >= u64::from(FAULT_EXIT) => {
                let found = faults[(exit - u64::from(FAULT_EXIT)) as usize];
                RegionFlow::Fault(Fault {
                    kind: match found.kind {
                        GuestFault::Illegal => FaultKind::Illegal,
                        GuestFault::Trap => FaultKind::Trap,
                    },
                    pc: found.pc,
                    lane: if context.exited == 0 { 0 } else { context.exited.trailing_zeros() },
                    address: None,
                    space: None,
                    store: false,
                })
            }
            exit => RegionFlow::Exit(self.exits[exit as usize], context.exited, context.cond),
        }
    }

    /// The guest fault that a host exception of the code stands for.
    fn signal(&self, raw: &vm::RawFault, context: &Context, rights: &Rights<'_>) -> RegionFlow {
        let site = self.code.offset_of(raw.pc).and_then(|offset| {
            self.traps.binary_search_by_key(&offset, |t| t.0).ok().map(|i| self.traps[i].1)
        });
        let Some(site) = site else {
            panic!("signal {} in compiled code at {:#x}, which accesses no guest memory", raw.signal, raw.pc);
        };
        let mut record = site.fault(context, raw.address as u64, &raw.registers);
        let (space, bytes, store) = access_of(&record);
        // Code finds memory outside of the windows, and private host memory, where the runtime has said.
        if let Space::Global(_) = space
            && let Some(address) = rights.memory.named(context.global_base.addr(), record.address)
        {
            record.address = address;
        }
        record.address = rights.first_denied(space, record.address, bytes, store).unwrap_or(record.address);
        RegionFlow::Fault(fault_of(&record))
    }
}

/// Space, bytes and direction of an access that has faulted.
fn access_of(record: &backend::FaultRecord) -> (Space, u8, bool) {
    (record.space(), record.bytes as u8, record.store != 0)
}

fn fault_of(record: &backend::FaultRecord) -> Fault {
    Fault {
        kind: FaultKind::Memory,
        pc: record.pc,
        lane: record.lane,
        address: Some(record.address),
        space: Some(record.space()),
        store: record.store != 0,
    }
}

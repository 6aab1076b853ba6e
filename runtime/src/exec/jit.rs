//! Compiled lane regions: making them, choosing the one that fits a warp, running it.
//!
//! A region is compiled when a warp first stands at its entry, for the shapes that the warp's registers have then
//! (the same in all lanes of a chunk, or growing evenly from lane to lane): that makes scalar code and vector
//! accesses of it. Before each run the shapes are checked; a warp that does not have them gets another version, in the
//! end one that assumes nothing. All versions give the same results.

mod behind;
mod stored;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use warpjit_backend::{self as backend, Context, FloatEnv, Options, Shape, TablePointer, Target, TrapSite};
use warpjit_ir::graph::on_cycle;
use warpjit_ir::interp::{Fault, FaultKind, Warp};
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::regions::liveness::SlotSet;
use warpjit_ir::regions::promote::{FAULT_EXIT, RegionFault};
use warpjit_ir::regions::{Kernel, Region, optimize};
use warpjit_ir::{
    Block, BlockCall, Function, Group, GuestFault, Imm, Opcode, PureFn, Scalar, Slot, Space, Terminator,
    Value, WordTable,
};

use crate::cache::{CacheConfig, Key, Store};
use crate::debug::{self, Announced};
use crate::program::Variant;
use crate::vm::{self, CodeMemory, FloatMode};
use crate::{Error, HostLevel};

pub use behind::Ready;

/// Versions of one region with assumptions; after that comes the one without.
const MOST_VERSIONS: usize = 3;

/// Most lanes of a chunk.
const MOST_LANES: usize = 64;

/// What a region assumes of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Assumption {
    slot: Slot,
    /// Byte offset in the frame.
    offset: u32,
    shape: Shape,
    /// What each lane of a chunk has more than the first.
    steps: [u32; MOST_LANES],
    /// Whether the low half may not carry into the high one.
    packed: bool,
    /// Lanes of the chunk, or of the parts of it, of which each has the shape.
    lanes: u32,
}

impl Assumption {
    fn new(slot: Slot, offset: u32, shape: Shape, lanes: u32) -> Self {
        let (step, packed) = match shape {
            Shape::Uniform => (0, false),
            Shape::Affine(step) => (step as u32, false),
            Shape::Packed(step) => (step as u32, true),
        };
        let steps = std::array::from_fn(|lane| step.wrapping_mul(lane as u32));
        Assumption { slot, offset, shape, steps, packed, lanes }
    }

    /// Whether the lanes of each chunk that has an active one have the shape.
    #[inline]
    fn holds(&self, words: &[u32], active: u64) -> bool {
        match self.lanes {
            4 => self.holds_in::<4>(words, active),
            8 => self.holds_in::<8>(words, active),
            16 => self.holds_in::<16>(words, active),
            32 => self.holds_in::<32>(words, active),
            _ => self.holds_in::<64>(words, active),
        }
    }

    #[inline]
    fn holds_in<const LANES: usize>(&self, words: &[u32], active: u64) -> bool {
        let (chunks, _) = words.as_chunks::<LANES>();
        let steps: &[u32; LANES] = self.steps.first_chunk().unwrap_or(&[0; LANES]);
        // What lanes differ by from what they should be, over all chunks, lane by lane: vectors for the compiler.
        let mut odd = [0; LANES];
        let mut carries = 0;
        for (number, chunk) in chunks.iter().enumerate() {
            if active >> (number * LANES) & (u64::MAX >> (64 - LANES)) == 0 {
                continue;
            }
            let first = chunk[0];
            for lane in 0..LANES {
                odd[lane] |= chunk[lane].wrapping_sub(steps[lane]) ^ first;
            }
            carries |= (u64::from(first & 0xffff) + u64::from(steps[LANES - 1])) >> 16;
        }
        odd.iter().fold(0, |all, lane| all | lane) == 0 && (carries == 0 || !self.packed)
    }
}

/// Machine code of a region.
#[derive(Debug)]
pub struct Compiled {
    /// Goes before the code does.
    announced: Announced,
    code: vm::Code,
    /// Which code is of which guest instruction, if that was asked for.
    pcs: Vec<(u32, u32)>,
    traps: Vec<(u32, TrapSite)>,
    pures: Vec<&'static PureFn>,
    tables: Vec<TablePointer>,
    table_names: Vec<&'static WordTable>,
    mode: FloatMode,
    exits: Vec<ExitKind>,
    faults: Vec<RegionFault>,
    assumptions: Vec<Assumption>,
    /// Slots that it writes.
    written: SlotSet,
    /// Lanes of a warp.
    lanes: usize,
    /// Which of the versions of its region this is.
    number: u32,
}

/// Compiled code by host address.
#[derive(Debug, Default)]
pub struct CodeIndex(Vec<(usize, Arc<Compiled>)>);

impl CodeIndex {
    /// The guest instruction of the code at a host address, if it is of one.
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
    /// The code generator refused, or the block must run in the interpreter.
    impossible: bool,
    /// Another version is being made, or waits for that.
    queued: bool,
}

impl Versions {
    /// The version that fits a warp.
    fn fitting(&self, warp: &Warp) -> Option<Arc<Compiled>> {
        self.list.iter().find(|code| code.fits(warp)).cloned()
    }

    /// Whether the next version may assume something.
    fn may_assume(&self) -> bool {
        self.list.len() < MOST_VERSIONS
    }

    /// Adds what compiling has given.
    fn add(
        &mut self,
        made: Result<Option<Compiled>, Error>,
        announce: impl FnOnce(&Compiled) -> Announced,
    ) -> Result<Option<Arc<Compiled>>, Error> {
        self.impossible |= !matches!(made, Ok(Some(_)));
        let Some(mut code) = made? else { return Ok(None) };
        code.number = self.list.len() as u32;
        code.announced = announce(&code);
        let code = Arc::new(code);
        self.list.push(code.clone());
        Ok(Some(code))
    }
}

/// How long any thread has compiled: threads that do it at the same time count once.
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
    offsets: Vec<u32>,
    compiling: Mutex<Compiling>,
    /// The first reason why the code generator refused a region.
    refusal: Mutex<Option<String>>,
    /// How often each block has been interpreted, up to what makes it worth compiling.
    heat: Vec<AtomicU32>,
    /// Nanoseconds in which an engine's own thread was compiling.
    behind: AtomicU64,
    /// Where code is kept, if it is.
    store: Option<(Store, Key)>,
    /// Something was compiled since it was stored.
    unsaved: AtomicBool,
    /// Regions that came from there.
    loaded: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a region came out.
#[derive(Debug)]
pub enum RegionFlow {
    /// Ran: by this exit, these lanes' threads ended, the condition for the exit's terminator.
    Exit(ExitKind, u64, u64),
    /// The guest faulted.
    Fault(Fault),
    /// The poll function asked to stop.
    Stopped,
}

impl Jit {
    /// Without code yet.
    pub fn new(kernel: Arc<Kernel>, variant: Variant, cache: Option<&CacheConfig>) -> Result<Jit, Error> {
        let level = match variant.host {
            HostLevel::Native => backend::HostLevel::Native,
            HostLevel::Sse41 => backend::HostLevel::Sse41,
        };
        let target = Target::host(level).map_err(|e| Error::Config(e.to_string()))?;
        let (offsets, _) = kernel.func.frame_layout();
        let wide = variant.wide_vectors() && target.has_wide_vectors();
        let mut jit = Jit {
            target,
            wide,
            variant,
            memory: CodeMemory::new(),
            versions: kernel.func.blocks.iter().map(|_| Mutex::default()).collect(),
            heat: kernel.func.blocks.iter().map(|_| AtomicU32::new(0)).collect(),
            offsets,
            compiling: Mutex::default(),
            refusal: Mutex::default(),
            behind: AtomicU64::new(0),
            store: None,
            unsaved: AtomicBool::new(false),
            loaded: AtomicU64::new(0),
            kernel,
        };
        if let Some(cache) = cache {
            let (store, key) = (Store::new(cache.clone()), jit.key());
            jit.load(&store, key);
            jit.store = Some((store, key));
        }
        Ok(jit)
    }

    /// Time in which some thread of a launch was compiling.
    pub fn compile_time(&self) -> Duration {
        lock(&self.compiling).total
    }

    /// Why the code generator refused a region, if it did; the interpreter runs that.
    pub fn refusal(&self) -> Option<String> {
        lock(&self.refusal).clone()
    }

    /// Code for the region at the warp's block that fits the warp, compiled now if need be; `None` where the interpreter must
    /// run it.
    pub fn region(&self, warp: &Warp) -> Option<Arc<Compiled>> {
        let at = warp.block;
        let mut versions = lock(&self.versions[at.index()]);
        if versions.impossible {
            return None;
        }
        if let Some(found) = versions.fitting(warp) {
            return Some(found);
        }
        self.unsaved.store(true, Ordering::Relaxed);
        lock(&self.compiling).begin();
        let made = self.compile(at, versions.may_assume().then(|| warp.frame.words()));
        lock(&self.compiling).end();
        versions.add(made, |code| self.announce(at, code)).unwrap_or_else(|error| {
            self.refuse(&error);
            None
        })
    }

    /// Regions that were not compiled but came from the cache.
    pub fn loaded(&self) -> u64 {
        self.loaded.load(Ordering::Relaxed)
    }

    /// Notes why a region is not compiled.
    fn refuse(&self, error: &Error) {
        lock(&self.refusal).get_or_insert_with(|| error.to_string());
    }

    /// Tells tools outside of new code.
    fn announce(&self, at: Block, code: &Compiled) -> Announced {
        let func = &self.kernel.func;
        let (kernel, pc) = (func.name.as_str(), func.block(at).pc);
        let region = debug::Region { kernel, pc, version: code.number, code: &code.code, pcs: &code.pcs };
        debug::announce(&region, self.variant.perf)
    }

    /// Where the code of all regions lies.
    pub fn index(&self) -> CodeIndex {
        let mut index = CodeIndex::default();
        for versions in &self.versions {
            let list = &lock(versions).list;
            index.0.extend(list.iter().map(|code| (code.code.start() as usize, code.clone())));
        }
        index.0.sort_by_key(|(start, _)| *start);
        index
    }

    /// Compiles the region at a block, for the shapes in the frame of a warp if there is one.
    fn compile(&self, at: Block, frame: Option<&[u32]>) -> Result<Option<Compiled>, Error> {
        let kernel = &*self.kernel;
        let mut groups = match self.variant.chunk_groups {
            _ if kernel.whole_warps() => kernel.func.lanes.div_ceil(4) as u8,
            Some(groups) => groups.min(kernel.func.lanes.div_ceil(4) as u8),
            None if self.wide => WIDE_GROUPS,
            None => DEFAULT_GROUPS,
        };
        let none = SlotSet::empty(kernel.func.slots.len());
        let Some(mut region) = kernel.region(at, &none) else { return Ok(None) };
        if self.wide && self.variant.chunk_groups.is_none() && !region.whole && computes(&region.mask) {
            groups = (2 * WIDE_GROUPS).min(kernel.func.lanes.div_ceil(4) as u8);
        }
        let chunk_lanes = u32::from(groups) * 4;
        if !self.variant.flat_global && has_global(&region.mask) {
            // Windows that are not the whole address space are the interpreter's.
            return Ok(None);
        }
        let mut assumptions = Vec::new();
        if let Some(frame) = frame {
            assumptions = self.shapes(kernel, &region, frame, chunk_lanes);
            let mut uniform = none;
            for a in assumptions.iter().filter(|a| a.shape == Shape::Uniform && a.lanes == chunk_lanes) {
                uniform.insert(a.slot);
            }
            if let Some(better) = kernel.region(at, &uniform) {
                region = better;
            }
        }
        optimize(&mut region);
        let mut options = Options::new(self.target.clone());
        options.groups = groups;
        options.wide_vectors = self.wide;
        options.checked_memory = self.variant.checked_memory;
        options.pcs = self.variant.pcs;
        options.slot_shapes = vec![None; region.mask.slots.len()];
        for a in &assumptions {
            options.slot_shapes[a.slot.index()] = Some(a.shape);
        }
        let made =
            backend::compile_region(&region.mask, &options).map_err(|e| Error::Compile(e.to_string()))?;
        Ok(Some(Compiled {
            announced: Announced::default(),
            pcs: made.pcs,
            code: self.memory.add(&made.code)?,
            traps: made.traps,
            pures: made.pures,
            tables: made.tables.iter().map(|&table| table.into()).collect(),
            table_names: made.tables,
            mode: match made.float_env {
                FloatEnv::FlushAll => FloatMode::Flush,
                FloatEnv::Default => FloatMode::Ieee,
            },
            exits: region.exits,
            faults: region.faults,
            assumptions,
            written: written_slots(&region.mask),
            lanes: kernel.func.lanes as usize,
            number: 0,
        }))
    }

    /// What can be assumed of the slots that steer a region, judging by the frame of one warp.
    fn shapes(&self, kernel: &Kernel, region: &Region, frame: &[u32], chunk_lanes: u32) -> Vec<Assumption> {
        let mut list = Vec::new();
        for slot in steering_slots(&region.ssa).iter() {
            let Some(data) = kernel.func.slots.get(slot.index()) else { continue };
            if data.ty.uniform || data.ty.scalar != Scalar::I32 {
                continue;
            }
            let offset = self.offsets[slot.index()];
            let words = &frame[offset as usize / 4..][..kernel.func.lanes as usize];
            let step = words[1].wrapping_sub(words[0]) as i32;
            // Packed coordinates are affine, too; the first that fits says most. Where vectors have sixteen lanes, what is the same
            // in each of them is worth knowing too.
            let parts = if self.wide { chunk_lanes.min(WIDE_LANES) } else { chunk_lanes };
            let shapes = [
                (Shape::Uniform, chunk_lanes),
                (Shape::Uniform, parts),
                (Shape::Packed(step), parts),
                (Shape::Affine(step), parts),
            ];
            let fits = shapes
                .into_iter()
                .map(|(shape, lanes)| Assumption::new(slot, offset, shape, lanes))
                .find(|assumption| assumption.holds(words, u64::MAX));
            list.extend(fits);
        }
        list
    }
}

impl Drop for Jit {
    fn drop(&mut self) {
        self.save();
    }
}

/// Slots that addresses or branch conditions of a region are computed from by integer operations: those whose shape
/// makes a difference worth a test at each entry.
fn steering_slots(ssa: &Function) -> SlotSet {
    let mut slots = SlotSet::empty(ssa.slots.len());
    let mut seen = vec![false; ssa.values.len()];
    let mut work: Vec<Value> = Vec::new();
    // Arguments by parameter.
    let mut arguments: HashMap<Value, Vec<Value>> = HashMap::new();
    for block in ssa.block_ids() {
        for &inst in &ssa.block(block).insts {
            let data = ssa.inst(inst);
            if ssa.mem_access(inst).is_some() {
                work.extend(data.args.first());
            }
        }
        let mut edge = |call: &BlockCall| {
            for (&param, &arg) in ssa.block(call.block).params.iter().zip(&call.args) {
                arguments.entry(param).or_default().push(arg);
            }
        };
        match &ssa.block(block).term {
            Some(Terminator::Jump(call)) => edge(call),
            Some(Terminator::Branch { cond, taken, next }) => {
                work.push(*cond);
                edge(taken);
                edge(next);
            }
            _ => {}
        }
    }
    while let Some(value) = work.pop() {
        if std::mem::replace(&mut seen[value.index()], true) {
            continue;
        }
        let Some(inst) = ssa.def_inst(value) else {
            work.extend(arguments.get(&value).into_iter().flatten());
            continue;
        };
        match (inst.op, inst.imm) {
            (Opcode::SlotGet, Imm::Slot(slot)) => {
                slots.insert(slot);
            }
            (Opcode::Fcmp | Opcode::CallPure, _) => {}
            // By a mask in a register, which has no shape, nothing even is chosen.
            (Opcode::Select, _) if is_register(ssa, inst.args[0]) => {}
            (op, _) if op.is_pure() && op.group() != Group::Float => work.extend(&inst.args),
            _ => {}
        }
    }
    slots
}

/// Instructions for each access of lanes to global memory from which on a region mostly computes.
const MOSTLY: usize = 24;

/// Whether a region mostly computes, so that two vectors in flight pay: they hide what each waits for. Loops over memory are better
/// off with one, as fewer lines are in use at a time.
fn computes(func: &Function) -> bool {
    let succs: Vec<Vec<usize>> = func
        .block_ids()
        .map(|b| {
            let mut list = Vec::new();
            func.term(b).for_each_successor(|s| list.push(s.index()));
            list
        })
        .collect();
    let in_loop = on_cycle(&succs);
    let (mut insts, mut accesses) = (0, 0);
    for block in func.block_ids() {
        for &inst in &func.block(block).insts {
            insts += 1;
            let of_lanes = func.inst(inst).args.first().is_some_and(|&a| !func.ty(a).uniform);
            if of_lanes && matches!(func.mem_access(inst), Some(m) if matches!(m.space, Space::Global(_))) {
                accesses += 1;
                if in_loop[block.index()] {
                    return false;
                }
            }
        }
    }
    insts >= MOSTLY * accesses
}

/// Whether a value is what a slot of lanes held.
fn is_register(ssa: &Function, value: Value) -> bool {
    !ssa.ty(value).uniform && ssa.def_inst(value).is_some_and(|inst| inst.op == Opcode::SlotGet)
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

/// Shapes of slots that all warps of a block are known to have, as long as they run together.
#[derive(Debug, Default)]
pub struct KnownShapes(Vec<(Slot, Shape, u32)>);

impl KnownShapes {
    /// Nothing is known any more.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// What is left after all warps have run code.
    pub fn after(&mut self, code: &Compiled) {
        self.0.retain(|(slot, ..)| !code.written.contains(*slot));
    }

    /// All warps have what code assumes.
    pub fn learn(&mut self, code: &Compiled) {
        for a in &code.assumptions {
            if !self.0.contains(&(a.slot, a.shape, a.lanes)) {
                self.0.push((a.slot, a.shape, a.lanes));
            }
        }
    }
}

/// Groups of four lanes where nothing else is asked for.
const DEFAULT_GROUPS: u8 = 2;

/// Where vectors have 512 bits.
const WIDE_GROUPS: u8 = 4;

/// Lanes of such a vector.
const WIDE_LANES: u32 = 16;

fn has_global(func: &Function) -> bool {
    func.blocks
        .iter()
        .flat_map(|b| &b.insts)
        .any(|&i| matches!(func.mem_access(i), Some(m) if matches!(m.space, Space::Global(_))))
}

impl Compiled {
    /// Whether the warp has what the code assumes.
    #[inline]
    pub fn fits(&self, warp: &Warp) -> bool {
        let (words, lanes) = (warp.frame.words(), self.lanes);
        self.assumptions.iter().all(|assumption| {
            let start = assumption.offset as usize / 4;
            assumption.holds(&words[start..start + lanes], warp.active)
        })
    }

    /// Whether all of the warps have what the code assumes, some shapes of all being known.
    #[inline]
    pub fn fits_all<'w>(&self, warps: impl Iterator<Item = &'w Warp> + Clone, known: &KnownShapes) -> bool {
        self.assumptions.iter().filter(|a| !known.0.contains(&(a.slot, a.shape, a.lanes))).all(|assumption| {
            let start = assumption.offset as usize / 4;
            warps.clone().all(|warp| {
                let words = &warp.frame.words()[start..start + self.lanes];
                assumption.holds(words, warp.active)
            })
        })
    }

    /// Which of the versions of its region this is.
    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Runs the region for the warp's active lanes. The context's memory must be the launch's.
    pub fn run(&self, context: &mut Context, warp: &mut Warp) -> RegionFlow {
        context.active = warp.active;
        context.exited = 0;
        context.cond = 0;
        context.pures = self.pures.as_ptr();
        context.tables = self.tables.as_ptr();
        let frame = warp.frame.as_mut_ptr().cast::<u8>();
        // SAFETY: the code was made by the backend for this kernel, whose frame this is; the context's pointers
        // are to memory that lives through the call (see `Stepper::step`), and what it calls does not unwind.
        let result = unsafe { vm::enter(self.code.start(), (&raw mut *context).cast(), frame, self.mode) };
        match result {
            Ok(result) => self.outcome(result, context),
            Err(raw) => self.signal(raw, context),
        }
    }

    /// Runs the region for warps in the order of `calls` (frames and active lanes in, ended lanes and condition out), while
    /// each comes out by exit `wanted`. Gives the last that ran and how that came out. The context's memory must
    /// be that of all of them.
    pub fn run_all(&self, context: &mut Context, calls: &mut [vm::Call], wanted: u64) -> (usize, RegionFlow) {
        // What `enter_all` puts into and takes from the context.
        const {
            assert!(std::mem::offset_of!(Context, active) == 0);
            assert!(std::mem::offset_of!(Context, exited) == 8);
            assert!(std::mem::offset_of!(Context, cond) == 16);
        }
        context.pures = self.pures.as_ptr();
        context.tables = self.tables.as_ptr();
        let pointer = (&raw mut *context).cast::<u8>();
        // SAFETY: as in `run`, for each frame of `calls`, which the caller's warps own.
        let (last, raw) = unsafe { vm::enter_all(self.code.start(), pointer, calls, wanted, self.mode) };
        let flow = match raw {
            Some(raw) => self.signal(raw, context),
            None => self.outcome(calls.get(last).map_or(backend::STOPPED, |call| call.result), context),
        };
        (last, flow)
    }

    /// Where an exit leads.
    pub fn exit(&self, number: u64) -> Option<ExitKind> {
        self.exits.get(usize::try_from(number).ok()?).copied()
    }

    /// What a result of the code means.
    fn outcome(&self, result: u64, context: &Context) -> RegionFlow {
        match result {
            backend::FAULT => RegionFlow::Fault(fault_of(&context.fault)),
            backend::STOPPED => RegionFlow::Stopped,
            exit if exit >= u64::from(FAULT_EXIT) => {
                let found = self.faults[(exit - u64::from(FAULT_EXIT)) as usize];
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

    /// The guest fault that an exception of the code is.
    fn signal(&self, raw: vm::RawFault, context: &Context) -> RegionFlow {
        let site = self.code.offset_of(raw.pc).and_then(|offset| {
            self.traps.binary_search_by_key(&offset, |t| t.0).ok().map(|i| self.traps[i].1)
        });
        let Some(site) = site else {
            panic!("signal {} in compiled code at {:#x}, which accesses no guest memory", raw.signal, raw.pc);
        };
        RegionFlow::Fault(fault_of(&site.fault(context, raw.address as u64)))
    }
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

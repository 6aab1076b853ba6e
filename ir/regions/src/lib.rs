//! Lane regions: parts of a kernel that run one chunk of lanes at a time, without the divergence stack (docs/design.md).
//!
//! [`Kernel::new`] prepares a kernel in SPMD form once. [`Kernel::region`] finds the region that starts at a block ([`explore`]),
//! turns its slots into SSA values ([`promote`]) and its divergent branches into masks ([`linearize`]; or [`wave`], where lanes
//! never diverge), and optimises it ([`mod@optimize`]). The result is a [`Region`], which the backend compiles.
//!
//! What depends on the host is data that the code generator gives: [`ChunkLimits`], [`passes::schedule::HostModel`].
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod explore;
pub mod flow;
pub mod full;
mod kernel_facts;
mod lanes;
pub mod linearize;
pub mod liveness;
mod masks;
pub mod optimize;
pub mod passes;
pub mod plan;
pub mod promote;
pub mod shapes;
pub mod sizes;
pub mod split;
pub mod ssa;
pub mod steps;
mod taint;
pub mod uniform;
mod unread;
pub mod votes;
mod waiting;
pub mod wave;
mod wave_memory;

pub use optimize::{
    optimize, optimize_one_lane, optimize_within, serialize_lanes, skip_empty, usual_accesses, versions,
};

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use explore::ExitKind;
use kernel_facts::{KernelFacts, Mode};
use liveness::{SlotLiveness, SlotSet};
use plan::Plan;
use promote::RegionFault;
use sizes::Sizes;
use split::Order;
use warpjit_ir_core::entities::{Block, Slot, Value};
use warpjit_ir_core::function::{Function, SlotInit};
use warpjit_ir_core::lane_counts;
use warpjit_ir_core::meter::{Meter, Stopped};
use warpjit_ir_core::traffic::{self, Counter};
use warpjit_ir_core::types::{Scalar, Type};
use wave_memory::WaveLoads;

/// Name of the slot with the steps that a warp has left. A counted region reads it at its start and writes the rest at
/// its exits.
pub const STEPS_SLOT: &str = "#steps";

/// How regions are made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RegionOptions {
    /// Global memory is ordered between the lanes of a warp too.
    pub lockstep: bool,
    /// The registers are captured when threads have ended.
    pub keep_registers: bool,
    /// Regions execute the kernel's `count_lanes`, which sum up in the slots of [`Kernel::lane_slots`] in how many
    /// lanes instructions took effect, and sum up in those of [`Kernel::traffic`] what they load and store.
    pub count: bool,
    /// Regions count the warp's steps, so that `max_steps` is exact. If one chunk holds the whole warp, regions keep
    /// the steps left in [`STEPS_SLOT`], and lanes do not diverge in them. Otherwise every region is a single block.
    pub exact_steps: bool,
    /// Every region ends within bounded time, whatever its loops do. If one chunk holds the whole warp, regions count
    /// their steps as for `exact_steps`, and leave when they have used what they were given. Otherwise no region
    /// contains a loop.
    pub bounded: bool,
    /// How many lanes a chunk may have.
    pub chunks: ChunkLimits,
    /// Chunks hold whole quads. Then regions may contain operations on quads.
    pub by_quads: bool,
    /// Devices may answer accesses to global memory, so each lane that loads may find something else, also at one address.
    pub devices: bool,
}

/// How many lanes a chunk may have. The code generator knows ([`RegionOptions::chunks`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkLimits {
    /// Warps of up to so many lanes are always one chunk: their values fit the registers of every host.
    pub always: u32,
    /// The most lanes of a chunk that may contain cross-lane operations. 0: only warps of up to [`ChunkLimits::always`] lanes are one
    /// chunk.
    pub whole: u32,
    /// Set if a chunk of that many lanes is slow, because its values do not fit the registers. Then it is used only if smaller
    /// chunks would end their regions after a few instructions, within these limits.
    pub slow: Option<SlowChunks>,
}

/// Limits of kernels that use a chunk for the whole warp although that is slow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlowChunks {
    /// Limit on instructions times lanes / 4.
    pub max_work: usize,
    /// Up to this many lanes, such a chunk is faster than regions that end at each read of another lane's store.
    pub max_lanes: u32,
}

impl ChunkLimits {
    /// Up to so many lanes, of which none is slow.
    pub const fn up_to(whole: u32) -> ChunkLimits {
        ChunkLimits { always: 16, whole, slow: None }
    }
}

/// Cross-lane operations are only in chunks of the smallest warps.
impl Default for ChunkLimits {
    fn default() -> ChunkLimits {
        ChunkLimits::up_to(0)
    }
}

/// A kernel in SPMD form, ready to be run by the interpreter and to be cut into regions.
#[derive(Debug)]
pub struct Kernel {
    /// The code.
    pub func: Function,
    options: RegionOptions,
    /// Which memory accesses are ordered between the lanes of a warp.
    order: Order,
    lane_slots: Option<[Slot; 2]>,
    traffic: Vec<Counter>,
    steps: Option<Slot>,
    /// Lanes never diverge ([`wave`]).
    wave: bool,
    whole: bool,
    /// Made when the first region is requested, because the interpreter does not need it.
    analysis: OnceLock<Analysis>,
    /// Held while the analysis is made.
    analysing: Mutex<()>,
    sizes: Sizes,
}

/// The analyses needed to cut a kernel into regions.
#[derive(Debug)]
struct Analysis {
    /// The code after votes were made the chunks' own ([`votes`]) and lane counts were expanded, if that changed
    /// anything.
    func: Option<Function>,
    facts: KernelFacts,
    live: SlotLiveness,
    /// Whether values are used outside their block. Then there are no regions, because only slots are passed between
    /// blocks.
    crosses: bool,
}

/// What is known whenever a region runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotFacts {
    /// It runs one lane at a time: [`optimize_one_lane`] comes next.
    pub one_lane: bool,
    /// Slots that hold one value in all lanes of a chunk.
    pub uniform: SlotSet,
    /// Slots whose bits are all ones: an integer -1, or a mask that holds in all lanes of a chunk.
    pub ones: SlotSet,
}

impl SlotFacts {
    /// Nothing known, for `slots` slots.
    pub fn none(slots: usize) -> SlotFacts {
        SlotFacts { one_lane: false, uniform: SlotSet::empty(slots), ones: SlotSet::empty(slots) }
    }
}

/// A lane region.
#[derive(Clone, Debug)]
pub struct Region {
    /// The block it starts at.
    pub entry: Block,
    /// Its code in SSA, before masks.
    pub ssa: Function,
    /// Its code in mask form.
    pub mask: Function,
    /// Its exits, by exit number. Exit 0 is the end of all threads.
    pub exits: Vec<ExitKind>,
    /// Guest faults by exit number minus [`promote::FAULT_EXIT`].
    pub faults: Vec<RegionFault>,
    /// Blocks of the kernel that it covers, in the order of the plan.
    pub blocks: Vec<Block>,
    /// Whether one chunk must hold all lanes of the warp ([`Kernel::whole_warps`]).
    pub whole: bool,
    /// The most guest instructions on any path through it that takes no back edge. If the kernel has
    /// [`Kernel::steps_slot`], a warp must have that many steps left to enter it.
    pub steps: u32,
    /// Whether it counts its steps.
    ///
    /// Lanes must not diverge then, since a limit counts instructions of the warp: where they would, the region exits, and pushes, calls
    /// and unconditional leaves and joins end it. A back edge exits if less is left than [`Region::steps`]. With vectors of 128 bits this
    /// is only for loops of short blocks; other regions with a limit are single blocks.
    pub counted: bool,
    /// Whether one of its loops may wait for other warps, or for other lanes of this one. After it has run for long,
    /// the runtime must suspend it.
    pub may_wait: bool,
}

impl Region {
    /// Where it starts and what it covers, in words; `func` is the kernel that it was cut from.
    pub fn outline(&self, func: &Function) -> String {
        let blocks: Vec<_> = self.blocks.iter().map(|&b| format!("{b} ({:#x})", func.block(b).pc)).collect();
        let waits = if self.may_wait { "; may wait for others" } else { "" };
        format!(
            "region from {} at {:#x}: {}{waits}",
            self.entry,
            func.block(self.entry).pc,
            blocks.join(", ")
        )
    }

    /// Its exits in words, as [`Region::outline`].
    pub fn outline_of_exits(&self, func: &Function) -> Vec<String> {
        let what = |exit: &ExitKind| match *exit {
            ExitKind::Ended => "all threads have ended".to_owned(),
            ExitKind::Terminator(block) => {
                format!("the terminator of {block} ({:#x}) comes next", func.block(block).term_pc)
            }
            ExitKind::Enter(block) => format!("{block} ({:#x}) comes next", func.block(block).pc),
        };
        self.exits.iter().enumerate().map(|(n, exit)| format!("exit {n}: {}", what(exit))).collect()
    }
}

/// Whether a kernel uses chunks that hold all lanes of a warp, if code can.
///
/// With vectors of 512 bits ([`ChunkLimits::slow`] is none): if lanes exchange data ([`split::lanes_exchange_data`]: shared memory, atomics in
/// loops, cross-lane operations of waves), if steps are counted, or if a wave has votes that chunks cannot take. ([`Kernel::within`] adds
/// waves whose scalar loads meet stores, and warps that are always one chunk.)
///
/// With vectors of 128 bits so many vectors are mostly spilled. So it is for short kernels only: if warps that are small enough read
/// shared memory that they stored since the last barrier, if loops have atomics that depend on the order of lanes, or if steps are
/// counted and loops are short.
fn runs_whole(func: &Function, wave: bool, options: RegionOptions, meter: &Meter) -> Result<bool, Stopped> {
    let RegionOptions { lockstep, keep_registers, .. } = options;
    let exact_steps = options.exact_steps || options.bounded;
    let Some(slow) = options.chunks.slow else {
        return Ok(exact_steps
            || split::lanes_exchange_data(func, wave)
            || wave && votes::some_stay(func, keep_registers, meter)?);
    };
    Ok(func.insts.len() * func.lanes as usize / 4 <= slow.max_work
        && (exact_steps && split::loops_are_short(func)
            || func.lanes <= slow.max_lanes && split::stores_are_read(func, lockstep)
            || split::has_atomics_in_loops(func)))
}

impl Kernel {
    /// Prepares a kernel as a frontend lifts it, without limits.
    pub fn new(func: Function, options: RegionOptions) -> Kernel {
        Kernel::within(func, options, &[], &Meter::unlimited()).expect("there are no limits")
    }

    /// Readies a kernel as a frontend lifts it. `read_only` are addresses of global memory to which nobody stores while the kernel runs.
    ///
    /// # Errors
    /// When the meter's budget is used up or the work is cancelled.
    pub fn within(
        mut func: Function,
        options: RegionOptions,
        read_only: &[Range<u64>],
        meter: &Meter,
    ) -> Result<Kernel, Stopped> {
        meter.stage("cutting the kernel into blocks")?;
        let before = func.bytes();
        meter.step(func.insts.len() / 8)?;
        let wave = wave::is_wave(&func);
        // If one chunk holds all lanes, they are in lock step anyway.
        let small = wave && func.lanes <= options.chunks.always;
        let fits = func.lanes <= options.chunks.whole;
        if wave && !options.keep_registers && split::lanes_exchange_data(&func, wave) {
            unread::drop_unread(&mut func, meter)?;
        }
        let mut order = Order::of_lanes(options.lockstep);
        if wave && !small {
            order.wave = WaveLoads::find(&func, read_only, meter)?;
        }
        let meets_stores = split::wave_loads_may_alias_stores(&func, &order);
        let whole = small
            || fits
                && (meets_stores && options.chunks.slow.is_none()
                    || runs_whole(&func, wave, options, meter)?);
        if whole {
            order.wave = WaveLoads::default();
        } else {
            split::split_hazards(&mut func, &order);
        }
        split::split_long(&mut func, sizes::MAX_INSTS);
        meter.hold(func.bytes().saturating_sub(before))?;
        let counts = options.count && func.lane_mask.is_some();
        let lane_slots = counts.then(|| lane_counts::add_slots(&mut func));
        let traffic = if options.count { traffic::add_slots(&mut func) } else { Vec::new() };
        let steps = ((options.exact_steps || options.bounded) && whole)
            .then(|| func.add_slot(STEPS_SLOT, Type::uniform(Scalar::I32), SlotInit::Zero));
        let analysis = OnceLock::new();
        let sizes = Sizes::new(&func);
        let analysing = Mutex::new(());
        Ok(Kernel {
            func,
            options,
            order,
            lane_slots,
            traffic,
            steps,
            wave,
            whole,
            analysis,
            analysing,
            sizes,
        })
    }

    fn analysis(&self, meter: &Meter) -> Result<&Analysis, Stopped> {
        let _alone = self.analysing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(analysis) = self.analysis.get() {
            return Ok(analysis);
        }
        let analysis = self.analyse(meter)?;
        Ok(self.analysis.get_or_init(|| analysis))
    }

    fn analyse(&self, meter: &Meter) -> Result<Analysis, Stopped> {
        let RegionOptions { keep_registers, exact_steps, .. } = self.options;
        let mut func = self.options.count.then(|| {
            let mut counts = self.func.clone();
            if let Some(slots) = self.lane_slots {
                lane_counts::expand(&mut counts, slots);
            }
            traffic::expand(&mut counts, &self.traffic);
            counts
        });
        let mut live = SlotLiveness::compute(func.as_ref().unwrap_or(&self.func), keep_registers, meter)?;
        if keep_registers && exact_steps {
            live = live.keep_everywhere();
        }
        let (mut taken, mut left) = Default::default();
        if self.wave && !self.whole {
            let mut changed = func.as_ref().unwrap_or(&self.func).clone();
            left = votes::at_exits(&changed);
            taken = votes::localize(&mut changed, &live, meter)?;
            votes::leave_to_exits(&mut changed, left.keys());
            func = if taken.is_empty() && left.is_empty() { func } else { Some(changed) };
        }
        meter.hold(func.as_ref().map_or(0, Function::bytes))?;
        let mode = Mode {
            whole: self.whole,
            across: self.whole && self.wave,
            alone: self.whole && self.func.lanes <= self.options.chunks.always,
            counted: self.steps.is_some(),
            wave: self.wave,
            by_quads: self.options.by_quads,
            cut_loops: self.options.bounded,
            // For a device, code calls once a lane.
            stores_once: self.whole && !self.options.devices,
        };
        let order = self.order.clone();
        let facts =
            KernelFacts::compute(func.as_ref().unwrap_or(&self.func), mode, order, (taken, left), meter)?;
        let crosses = crosses_blocks(func.as_ref().unwrap_or(&self.func));
        Ok(Analysis { func, facts, live, crosses })
    }

    /// The slots live at the start of a block; `None` before the first region has been requested.
    pub fn live_in(&self, block: Block) -> Option<&SlotSet> {
        self.analysis.get().map(|analysis| analysis.live.live_in(block))
    }

    /// Whether a block is known to be the head of a loop that certainly waits. No region contains such a loop.
    pub fn surely_waits(&self, block: Block) -> bool {
        self.analysis.get().is_some_and(|analysis| analysis.facts.surely_waits(block))
    }

    /// Whether a block ends with a branch on a vote whose condition regions give as a mask. Known once the first region has been requested.
    pub fn votes_at_exit(&self, block: Block) -> bool {
        self.analysis.get().is_some_and(|analysis| analysis.facts.votes_at_exit(block))
    }

    /// Whether one chunk must hold all lanes of the warp in its regions, because they may contain cross-lane
    /// operations.
    pub fn whole_warps(&self) -> bool {
        self.whole
    }

    /// Whether the lanes of a warp never part ([`wave`]): all that are active at its start are, until it ends.
    pub fn is_wave(&self) -> bool {
        self.wave
    }

    /// If regions count lanes: the slot with each lane's sum, and the slot with the number of instructions
    /// ([`lane_counts`]).
    pub fn lane_slots(&self) -> Option<[Slot; 2]> {
        self.lane_slots
    }

    /// The slots with the bytes that lanes have loaded and stored, if regions count them ([`traffic`]).
    pub fn traffic(&self) -> &[Counter] {
        &self.traffic
    }

    /// The slot of [`STEPS_SLOT`], if regions count their warp's steps.
    pub fn steps_slot(&self) -> Option<Slot> {
        self.steps
    }

    /// The region that starts at `entry`, without limits. See [`Kernel::region_within`].
    pub fn region(&self, entry: Block, known: &SlotFacts) -> Option<Region> {
        self.region_within(entry, known, &Meter::unlimited()).expect("there are no limits")
    }

    /// The region that starts at `entry`; `None` when that block must run in the interpreter, as all blocks must of a
    /// function where a value is used in another block than its own. The same arguments give the same region each time;
    /// how large it is may depend on which blocks were asked for before the first time ([`sizes`]).
    ///
    /// The caller sees to it that `known` is so.
    ///
    /// # Errors
    /// When the meter's budget is used up or the work is cancelled.
    pub fn region_within(
        &self,
        entry: Block,
        known: &SlotFacts,
        meter: &Meter,
    ) -> Result<Option<Region>, Stopped> {
        let Analysis { func, facts, crosses, .. } = self.analysis(meter)?;
        if *crosses {
            return Ok(None);
        }
        let func = func.as_ref().unwrap_or(&self.func);
        let plan = if self.options.exact_steps && self.steps.is_none() {
            explore::single_block(func, facts, entry)
        } else {
            let (size, first) = self.sizes.of(entry);
            let before = meter.work();
            let plan = explore::explore(func, facts, entry, size, meter)?;
            if first {
                let nodes = plan.as_ref().map_or(&[][..], |plan| &plan.nodes);
                let insts = nodes.iter().filter_map(|node| Some(func.block(node.block?).insts.len()));
                self.sizes.spend(meter.work() - before, nodes.len(), insts.sum());
            }
            plan
        };
        let Some(plan) = plan else { return Ok(None) };
        match self.build(entry, plan, known, meter)? {
            Some(region) => Ok(Some(region)),
            None => self.single_block(entry, known, meter),
        }
    }

    /// The region of nothing but the block, for where [`Kernel::region_within`]'s cannot be compiled.
    ///
    /// # Errors
    /// When the meter's budget is used up or the work is cancelled.
    pub fn single_block(
        &self,
        entry: Block,
        known: &SlotFacts,
        meter: &Meter,
    ) -> Result<Option<Region>, Stopped> {
        let Analysis { func, facts, crosses, .. } = self.analysis(meter)?;
        if *crosses {
            return Ok(None);
        }
        match explore::single_block(func.as_ref().unwrap_or(&self.func), facts, entry) {
            Some(plan) => self.build(entry, plan, known, meter),
            None => Ok(None),
        }
    }

    /// The region of nothing but a block of a wave that [`Kernel::region_within`] leaves to the interpreter because it needs all lanes: for
    /// a chunk of the whole wave. `None` if the interpreter is needed for something else.
    ///
    /// # Errors
    /// When the meter's budget is used up or the work is cancelled.
    pub fn whole_block(&self, entry: Block, meter: &Meter) -> Result<Option<Region>, Stopped> {
        let Analysis { func, facts, crosses, .. } = self.analysis(meter)?;
        if *crosses || !self.wave {
            return Ok(None);
        }
        let none = SlotFacts::none(self.func.slots.len());
        let region = match explore::whole_block(func.as_ref().unwrap_or(&self.func), facts, entry) {
            Some(plan) => self.build(entry, plan, &none, meter)?,
            None => None,
        };
        Ok(region.map(|region| Region { whole: true, ..region }))
    }

    fn build(
        &self,
        entry: Block,
        plan: Plan,
        known: &SlotFacts,
        meter: &Meter,
    ) -> Result<Option<Region>, Stopped> {
        let Analysis { func, live, .. } = self.analysis(meter)?;
        meter.stage("building it")?;
        let (mut ssa, faults) =
            promote::promote(func.as_ref().unwrap_or(&self.func), &plan, live, &known.ones, self.steps);
        meter.step(ssa.insts.len() / 8)?;
        // What is no wave still gets masks from its branches, which cost more the less is folded.
        optimize::optimize_ssa(&mut ssa, known.one_lane && self.wave, meter)?;
        let mask = if self.wave || self.steps.is_some() {
            wave::to_mask(&ssa, &known.uniform)
        } else {
            shapes::infer_uniform(&mut ssa, &known.uniform, self.options.devices);
            let Some(mask) = linearize::to_mask(&ssa) else { return Ok(None) };
            mask
        };
        meter.step(mask.insts.len() / 8)?;
        let blocks = plan.nodes.iter().filter_map(|n| n.block).collect();
        let steps = plan.steps(&self.func);
        let may_wait = plan.may_wait;
        Ok(Some(Region {
            entry,
            ssa,
            mask,
            exits: plan.exits,
            faults,
            blocks,
            whole: self.whole,
            steps,
            counted: self.steps.is_some(),
            may_wait,
        }))
    }
}

/// Whether a value is used outside the block that defines it.
fn crosses_blocks(func: &Function) -> bool {
    let mut home = vec![None; func.values.len()];
    for block in func.block_ids() {
        let data = func.block(block);
        data.params.iter().for_each(|p| home[p.index()] = Some(block));
        let results = data.insts.iter().filter_map(|&i| func.inst(i).result);
        results.for_each(|r| home[r.index()] = Some(block));
    }
    func.block_ids().any(|block| {
        let away = |v: Value| home[v.index()] != Some(block);
        let mut found = func.block(block).insts.iter().any(|&i| func.inst(i).args.iter().any(|&v| away(v)));
        func.term(block).for_each_use(|v| found |= away(v));
        found
    })
}

#[cfg(test)]
pub(crate) mod random;
#[cfg(test)]
mod random_wave;
#[cfg(test)]
mod tests;

//! Lane regions: parts of a kernel that run one chunk of lanes at a time, without the divergence stack (docs/design.md).
//!
//! [`Kernel::new`] prepares a kernel in SPMD form once. [`Kernel::region`] finds the region that starts at a block ([`explore`]),
//! turns its slots into SSA values ([`promote`]) and its divergent branches into masks ([`linearize`]; or [`wave`], where lanes
//! never diverge), and optimises it ([`mod@optimize`]). The result is a [`Region`], which the backend compiles.

pub mod explore;
pub mod flow;
pub mod full;
mod lanes;
pub mod linearize;
pub mod liveness;
pub mod optimize;
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

pub use optimize::{one_lane, optimize, optimize_within, part_lanes, versions};

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::entities::{Block, Slot, Value};
use crate::function::{Function, SlotInit};
use crate::lane_counts;
use crate::meter::{Meter, Stopped};
use crate::types::{Scalar, Type};
use explore::{ExitKind, KernelFacts, Plan};
use liveness::{SlotLiveness, SlotSet};
use promote::RegionFault;
use sizes::Sizes;
use split::Order;
use wave_memory::WaveLoads;

/// Name of the slot in which a region finds the steps that its warp has left, and leaves those behind it.
pub const STEPS_SLOT: &str = "#steps";

/// How regions are made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RegionOptions {
    /// Global memory is ordered between the lanes of a warp too.
    pub lockstep: bool,
    /// Registers are wanted when threads have ended.
    pub keep_registers: bool,
    /// Regions count the lanes that a register has for instructions, in the slots of [`Kernel::lane_slots`], where the kernel's `count_lanes`
    /// say so.
    pub count: bool,
    /// Regions count the warp's steps, so that `max_steps` is exact: where all lanes of the warp run at once regions have the steps
    /// that are left in [`STEPS_SLOT`], and lanes stay together in them; else every region is a single block.
    pub exact_steps: bool,
    /// Most lanes that code can run at once, operations across lanes included; 0: those of the smallest warps.
    pub whole_lanes: u32,
    /// It is slower to run them at once than a few after the others: done only where those would go from cut to cut.
    pub whole_is_slow: bool,
}

/// A kernel in SPMD form, ready to be run by the interpreter and to be cut into regions.
#[derive(Debug)]
pub struct Kernel {
    /// The code.
    pub func: Function,
    options: RegionOptions,
    /// What order accesses have between the lanes of a warp.
    order: Order,
    lane_slots: Option<[Slot; 2]>,
    steps: Option<Slot>,
    /// Lanes never part ([`wave`]).
    wave: bool,
    whole: bool,
    /// Made when the first region is asked for: running in the interpreter needs none of it.
    analysis: OnceLock<Analysis>,
    /// Held by who makes it.
    analysing: Mutex<()>,
    sizes: Sizes,
}

/// What cutting a kernel into regions needs.
#[derive(Debug)]
struct Analysis {
    /// The code with the votes that chunks take for themselves ([`votes`]), and with lanes counted, where there is any of that.
    func: Option<Function>,
    facts: KernelFacts,
    live: SlotLiveness,
    /// Values are used in other blocks than their own: regions know slots only, as front ends use them.
    crosses: bool,
}

/// Name of the slot in which a guest keeps the lanes that instructions are for, where it has such a register.
pub const EXEC_SLOT: &str = "exec";

/// What is known of slots whenever a region is run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotFacts {
    /// They hold one value in all lanes of a chunk.
    pub uniform: SlotSet,
    /// They hold nothing but ones: -1, or in all lanes of a chunk a truth value that holds.
    pub ones: SlotSet,
}

impl SlotFacts {
    /// Nothing is known, of so many slots.
    pub fn none(slots: usize) -> SlotFacts {
        SlotFacts { uniform: SlotSet::empty(slots), ones: SlotSet::empty(slots) }
    }
}

/// Most instructions of a kernel, for four lanes each, that is run for all lanes at once where that is slow: it takes long to compile, too.
const MOST_SLOW: usize = 16_000;

/// Lanes up to which regions from a store to the next read are worth less than a whole warp that is slow: reductions take a tenth of the time
/// with 32, while GCN's scan takes 1.3 times as long with 64.
const FEW_LANES: u32 = 32;

/// Most lanes that compiled code keeps in registers at once.
pub const MAX_CHUNK_LANES: u32 = 16;

/// Most lanes that code runs at once where it must be a whole warp: those of the largest. With vectors of 128 bits it does so slowly
/// ([`RegionOptions::whole_is_slow`]): each value is several vectors, and more than the host has registers for.
pub const MOST_WHOLE_LANES: u32 = 64;

/// A lane region.
#[derive(Clone, Debug)]
pub struct Region {
    /// The block it starts at.
    pub entry: Block,
    /// Its code in SSA, before masks.
    pub ssa: Function,
    /// Its code in mask form.
    pub mask: Function,
    /// Where it comes out, by exit number; 0 is the end of all threads.
    pub exits: Vec<ExitKind>,
    /// Guest faults by exit number minus [`promote::FAULT_EXIT`].
    pub faults: Vec<RegionFault>,
    /// Blocks of the kernel that it covers, in the order of the plan.
    pub blocks: Vec<Block>,
    /// Whether it must be run for all lanes of the warp at once ([`Kernel::whole_warps`]).
    pub whole: bool,
    /// The most guest instructions of a way through it that goes through no loop twice: so many must be left where it begins
    /// if the kernel has [`Kernel::steps_slot`].
    pub steps: u32,
    /// Whether it counts its steps.
    pub counted: bool,
    /// Whether one of its loops may wait for other warps, or for other lanes of this one: when it has run for long, others must have a turn.
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

/// Whether a kernel is run for all lanes of a warp at once where code can.
fn runs_whole(func: &Function, wave: bool, options: RegionOptions, meter: &Meter) -> Result<bool, Stopped> {
    let RegionOptions { lockstep, keep_registers, exact_steps, whole_is_slow, .. } = options;
    if !whole_is_slow {
        return Ok(exact_steps
            || split::lanes_meet(func, wave)
            || wave && votes::some_stay(func, keep_registers, meter)?);
    }
    Ok(func.insts.len() * func.lanes as usize / 4 <= MOST_SLOW
        && (exact_steps && split::loops_are_short(func)
            || func.lanes <= FEW_LANES && split::stores_are_read(func, lockstep)
            || split::has_atomics_in_loops(func)))
}

impl Kernel {
    /// Readies a kernel as a frontend lifts it, without limits.
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
        // Lanes that are all run at once are in lock step as they are.
        let small = wave && func.lanes <= MAX_CHUNK_LANES;
        let fits = func.lanes <= options.whole_lanes;
        if wave && !options.keep_registers && split::lanes_meet(&func, wave) {
            unread::drop_unread(&mut func, meter)?;
        }
        let mut order = Order::of_lanes(options.lockstep);
        if wave && !small {
            order.wave = WaveLoads::find(&func, read_only, meter)?;
        }
        let meets_stores = split::wave_loads_meet_stores(&func, &order);
        let whole = small
            || fits && (meets_stores && !options.whole_is_slow || runs_whole(&func, wave, options, meter)?);
        if whole {
            order.wave = WaveLoads::default();
        } else {
            split::split_hazards(&mut func, &order);
        }
        split::split_long(&mut func, sizes::MAX_INSTS);
        meter.hold(func.bytes().saturating_sub(before))?;
        let counts = options.count && lane_counts::has_lane_register(&func);
        let lane_slots = counts.then(|| lane_counts::add_slots(&mut func));
        let steps = (options.exact_steps && whole)
            .then(|| func.add_slot(STEPS_SLOT, Type::uniform(Scalar::I32), SlotInit::Zero));
        let analysis = OnceLock::new();
        let sizes = Sizes::new(&func);
        let analysing = Mutex::new(());
        Ok(Kernel { func, options, order, lane_slots, steps, wave, whole, analysis, analysing, sizes })
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
        let mut func = self.lane_slots.map(|slots| {
            let mut counts = self.func.clone();
            lane_counts::expand(&mut counts, slots);
            counts
        });
        let mut live = SlotLiveness::compute(func.as_ref().unwrap_or(&self.func), keep_registers, meter)?;
        if keep_registers && exact_steps {
            live = live.keep_everywhere();
        }
        let mut taken = Default::default();
        if self.wave && !self.whole {
            let mut changed = func.as_ref().unwrap_or(&self.func).clone();
            taken = votes::localize(&mut changed, &live, meter)?;
            func = if taken.is_empty() { func } else { Some(changed) };
        }
        meter.hold(func.as_ref().map_or(0, Function::bytes))?;
        let run = explore::Run {
            whole: self.whole,
            across: self.whole && self.wave,
            alone: self.whole && self.func.lanes <= MAX_CHUNK_LANES,
            counted: self.steps.is_some(),
            wave: self.wave,
        };
        let order = self.order.clone();
        let facts = KernelFacts::compute(func.as_ref().unwrap_or(&self.func), run, order, taken, meter)?;
        let crosses = crosses_blocks(func.as_ref().unwrap_or(&self.func));
        Ok(Analysis { func, facts, live, crosses })
    }

    /// Slots whose values at the start of a block matter behind it; none where no region has been asked for yet.
    pub fn live_in(&self, block: Block) -> Option<&SlotSet> {
        self.analysis.get().map(|analysis| analysis.live.live_in(block))
    }

    /// Whether a loop that surely waits for others is known to begin at a block, which no region goes round.
    pub fn surely_waits(&self, block: Block) -> bool {
        self.analysis.get().is_some_and(|analysis| analysis.facts.surely_waits(block))
    }

    /// Whether its regions must be run for all lanes of the warp at once: they may look across lanes.
    pub fn whole_warps(&self) -> bool {
        self.whole
    }

    /// If regions count the lanes of instructions: the slot with the sum of each lane, and that with the number of instructions
    /// ([`lane_counts`]).
    pub fn lane_slots(&self) -> Option<[Slot; 2]> {
        self.lane_slots
    }

    /// The slot of [`STEPS_SLOT`], if regions count their warp's steps.
    pub fn steps_slot(&self) -> Option<Slot> {
        self.steps
    }

    /// The region that starts at `entry`, without limits. See [`Kernel::region_within`].
    pub fn region(&self, entry: Block, known: &SlotFacts) -> Option<Region> {
        self.region_within(entry, known, &Meter::unlimited()).expect("there are no limits")
    }

    /// The region that starts at `entry`; `None` when that block must run in the interpreter, as all blocks must of a function where
    /// a value is used in another block than its own. The same arguments give the same region each time; how large it is may depend on which
    /// blocks were asked for before the first time ([`sizes`]).
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
        optimize::optimize_ssa(&mut ssa, meter)?;
        let mask = if self.wave || self.steps.is_some() {
            wave::to_mask(&ssa, &known.uniform)
        } else {
            shapes::infer_uniform(&mut ssa, &known.uniform);
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

/// Whether a value is used in another block than the one that makes it.
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

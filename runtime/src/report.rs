//! What a launch gives back: the fault that ended it, what was executed, and what was asked for besides.

use crate::{Fault, Listings, Profile, SavedLaunch};
use std::collections::BTreeMap;

/// What a launch did.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Report {
    /// The fault that ended the launch, if one did: that of the lowest block that faulted. Memory keeps what was stored
    /// before.
    pub fault: Option<Fault>,
    /// What was executed.
    pub stats: Stats,
    /// Registers at the end by name, one value a lane, if asked for.
    pub registers: BTreeMap<String, Vec<u64>>,
    /// Shared memory of the only block at the end, if asked for.
    pub shared: Vec<u8>,
    /// Whether the launch was cancelled.
    pub cancelled: bool,
    /// The launch between two of its regions, if [`crate::Launch::save`] has stopped it before its end. Then the other fields tell of
    /// the blocks that have ended.
    pub saved: Option<Box<SavedLaunch>>,
    /// The profile, if [`crate::Observe`] asks for one.
    pub profile: Option<Box<Profile>>,
    /// All code compiled so far for the program with the engine's settings, if [`crate::Observe::listings`] asks for
    /// it.
    pub listings: Option<Box<Listings>>,
}

impl Report {
    /// Adds what a later launch of the same batch did.
    pub(crate) fn add(&mut self, more: Report) {
        let (own, other) = (&mut self.stats, &more.stats);
        let (before, after) = (own.thread_instructions as f64, other.thread_instructions as f64);
        let share = |one: f64, two: f64| (one * before + two * after) / (before + after).max(1.0);
        own.tiers.interpreted = share(own.tiers.interpreted, other.tiers.interpreted);
        own.tiers.compiled = share(own.tiers.compiled, other.tiers.compiled);
        own.jit_share = own.tiers.compiled;
        own.blocks += other.blocks;
        own.warps += other.warps;
        own.warp_instructions += other.warp_instructions;
        own.thread_instructions += other.thread_instructions;
        own.lane_slots += other.lane_slots;
        own.counted = other.counted;
        own.compile += other.compile;
        own.compile_behind += other.compile_behind;
        own.run += other.run;
        own.cached_regions = own.cached_regions.max(other.cached_regions);
        for (group, count) in &other.groups {
            *own.groups.entry(group).or_default() += count;
        }
        for (space, (loaded, stored)) in &other.traffic {
            let sum = own.traffic.entry(space).or_default();
            *sum = (sum.0 + loaded, sum.1 + stored);
        }
        self.cancelled |= more.cancelled;
        self.fault = self.fault.take().or(more.fault);
        self.stats.not_compiled = self.stats.not_compiled.take().or(more.stats.not_compiled);
        // Those of the last one that has any.
        if !more.registers.is_empty() {
            self.registers = more.registers;
        }
        if !more.shared.is_empty() {
            self.shared = more.shared;
        }
        self.saved = more.saved.or(self.saved.take());
        self.profile = more.profile.or(self.profile.take());
        self.listings = more.listings.or(self.listings.take());
    }
}

/// What a launch executed. Counts are exact in the interpreter; see [`crate::Config::count`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Blocks that were run to their end.
    pub blocks: u64,
    /// Warps of these.
    pub warps: u64,
    /// Guest instructions executed by warps.
    pub warp_instructions: u64,
    /// Thread instructions: each instruction that a warp executed, times its lanes. On Tesla, Fermi and VP1 these are
    /// the active lanes, whatever the instruction's predicate. On GCN they are the lanes in EXEC for a vector
    /// instruction, and none for a scalar instruction.
    pub thread_instructions: u64,
    /// Whether instructions were counted ([`crate::Config::count`]). Otherwise `warp_instructions`,
    /// `thread_instructions` and `lane_slots` are estimates.
    pub counted: bool,
    /// Time in which at least one thread of the launch was compiling.
    pub compile: std::time::Duration,
    /// Time that the engine's compiler thread spent on regions that became ready while the launch ran
    /// ([`crate::Tier::Auto`]).
    pub compile_behind: std::time::Duration,
    /// Time from start to end, compiling excluded.
    pub run: std::time::Duration,
    /// Operations executed by warps, by topic.
    pub groups: BTreeMap<&'static str, u64>,
    /// Bytes loaded and stored by lanes, by space: those of accesses, whether or not lanes access the same memory. What a warp accesses
    /// once (scalar instructions of GCN) counts once, an atomic as loaded and as stored. On GCN a read of LDS counts for all lanes of the
    /// wave, and what image instructions access is not there. Zero unless counted ([`crate::Config::count`]).
    pub traffic: BTreeMap<&'static str, (u64, u64)>,
    /// What [`Stats::thread_instructions`] would be if every such instruction had all lanes of the warp.
    pub lane_slots: u64,
    /// Number of regions loaded from the cache ([`crate::Config::cache`]) for the program with these settings.
    pub cached_regions: u64,
    /// The share of each tier.
    pub tiers: TierShares,
    /// Equal to [`TierShares::compiled`] of `tiers`.
    pub jit_share: f64,
    /// Why the interpreter ran code that should have been compiled, if that happened: a limit of the code generator was
    /// reached.
    pub not_compiled: Option<String>,
}

/// The share of thread instructions that each tier executed, from 0 to 1. Both are 0 if none was executed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct TierShares {
    /// The interpreter.
    pub interpreted: f64,
    /// Compiled code.
    pub compiled: f64,
}

impl TierShares {
    /// Computed from the instructions that the interpreter and compiled code have executed.
    pub(crate) fn of((interpreted, compiled): (u64, u64)) -> Self {
        let all = (interpreted + compiled).max(1) as f64;
        TierShares { interpreted: interpreted as f64 / all, compiled: compiled as f64 / all }
    }
}

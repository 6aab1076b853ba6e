//! The settings on which compiled code depends: from the engine's configuration, the launch and its memory.
//!
//! Each combination is compiled separately, and is part of the key under which code is cached.

use crate::memory::window::kinds;
use crate::memory::window_access::{WINDOWS, Window};
use crate::observe::Observe;
use crate::{Config, HostLevel, Launch, Memory, Numerics, Tier};
use warpjit_backend::Generator;
use warpjit_ir::regions::{ChunkLimits, RegionOptions};

/// Settings that compiled code depends on. Each combination has code of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Variant {
    pub tier: Tier,
    pub hot_after: u32,
    pub join_after: Option<u32>,
    pub chunk_groups: Option<u8>,
    /// One lane after another, in scalar code.
    pub single: bool,
    /// Whole warps also where they are slow.
    pub whole: bool,
    pub checked_memory: bool,
    pub lockstep: bool,
    pub numerics: Numerics,
    pub host: HostLevel,
    pub count: bool,
    pub keep_registers: bool,
    pub exact_steps: bool,
    /// Whether code leaves its region within bounded time, for launches that may be paused.
    pub bounded: bool,
    /// The kinds of the launch's windows to global memory; `None` if each window is the whole address space.
    pub windows: Option<[Window; WINDOWS]>,
    /// Whether code translates the 64-bit addresses of loads and stores; with `checked_memory`, also 32-bit ones.
    pub translate: bool,
    /// How many of the highest bits of a 64-bit address are ignored.
    pub ignored_bits: u32,
    /// Whether code finds memory in the range that a space of the host's own addresses hands out: it subtracts where that begins from each
    /// address. With `translate` it asks the runtime for addresses elsewhere.
    pub rebase: bool,
    /// Whether code asks before accesses to global memory: in such a space, if there is much memory elsewhere.
    pub permits: bool,
    /// Whether several warps of a stage run as one.
    pub joined: bool,
    /// Whether code comes with a table of guest addresses.
    pub pcs: bool,
    /// Whether code is announced to perf.
    pub perf: bool,
    /// Whether code is kept as text.
    pub listings: bool,
}

/// What a memory needs of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needs {
    /// It checks pages.
    pub checks: bool,
    /// It translates addresses.
    pub translation: bool,
    /// It asks before accesses. What checks pages need not.
    pub permits: bool,
}

impl Needs {
    /// Of a memory as it is now.
    pub fn of(memory: &Memory) -> Needs {
        Needs {
            checks: memory.needs_checks(),
            translation: memory.needs_translation(),
            permits: memory.needs_permits(),
        }
    }

    /// The same for code that checks pages anyway if a configuration says so.
    pub fn with(config: &Config, memory: &Memory) -> Needs {
        let needs = Needs::of(memory);
        Needs { checks: needs.checks || config.checked_memory, ..needs }
    }

    /// Whether code for this is good for a memory that has other needs.
    pub fn covers(self, other: Needs) -> bool {
        (self.checks || !other.checks)
            && (self.translation || !other.translation)
            && (self.permits || self.checks || !other.permits)
    }

    /// What both need.
    pub fn and(self, other: Needs) -> Needs {
        Needs {
            checks: self.checks || other.checks,
            translation: self.translation || other.translation,
            permits: self.permits || other.permits,
        }
    }
}

/// See [`Config::hot_after`].
const HOT_AFTER: u32 = 16;

impl Variant {
    pub(crate) fn new(config: &Config, launch: &Launch, translate: bool) -> Self {
        Variant {
            tier: match config.tier {
                Tier::Auto if !cfg!(feature = "jit") => Tier::Interp,
                tier => tier,
            },
            hot_after: config.hot_after.unwrap_or(HOT_AFTER),
            join_after: config.join_after,
            chunk_groups: config.chunk_groups,
            single: config.chunk_groups == Some(0),
            whole: false,
            checked_memory: config.checked_memory,
            lockstep: config.lockstep,
            numerics: config.numerics,
            host: config.host,
            count: config.count || config.observe.count,
            keep_registers: launch.capture_registers,
            // Counting instructions needs the same exact counts as a limit.
            exact_steps: launch.max_steps != 0 || config.count,
            bounded: false,
            windows: kinds(&launch.globals),
            translate,
            ignored_bits: 0,
            rebase: false,
            permits: false,
            joined: false,
            pcs: config.observe.needs_pcs(),
            perf: config.observe.perf,
            listings: config.observe.listings,
        }
    }

    pub(crate) fn region_options(&self) -> RegionOptions {
        RegionOptions {
            lockstep: self.lockstep,
            keep_registers: self.keep_registers,
            count: self.count,
            exact_steps: self.exact_steps,
            bounded: self.bounded,
            chunks: match self.generator().chunk_limits(self.chunk_groups) {
                limits if self.single => ChunkLimits { whole: 0, ..limits },
                limits if self.whole => ChunkLimits { slow: None, ..limits },
                limits => limits,
            },
            by_quads: !self.single,
            devices: self.has_devices(),
        }
    }

    /// Settles how code accesses a memory.
    pub(crate) fn settle_memory(&mut self, memory: &Memory, needs: Needs) {
        let checked = needs.checks;
        self.ignored_bits = memory.ignored_bits();
        let is_identity = memory.is_identity();
        let is_fast = is_identity && !checked && self.windows.is_none();
        self.permits = is_fast && needs.permits;
        self.rebase = is_fast && !self.permits;
        // All of the process is at its addresses.
        self.checked_memory = checked || is_identity && !is_fast;
        self.translate |= is_identity && !is_fast;
        self.translate &= !self.permits;
    }

    /// Whether the addresses of loads and stores are translated.
    pub(crate) fn translates(&self) -> bool {
        self.translate || self.permits
    }

    /// Whether devices may answer accesses to global memory: the code is for a careful space.
    pub(crate) fn has_devices(&self) -> bool {
        self.checked_memory && self.translate
    }

    /// The same settings for one lane after another.
    pub(crate) fn lane_by_lane(mut self) -> Variant {
        self.single = true;
        self
    }

    /// The same settings for whole warps of that many lanes.
    pub(crate) fn whole_warps(mut self, lanes: u32) -> Variant {
        match self.generator().chunk_limits(None).slow {
            Some(_) => self.whole = true,
            // Regions with cross-lane operations have whole warps in any case; now the others have, too.
            None => self.chunk_groups = Some(lanes.div_ceil(4) as u8),
        }
        self
    }

    /// The same settings for vectors of 128 bits.
    pub(crate) fn narrow(mut self) -> Variant {
        self.host = HostLevel::Avx2;
        self
    }

    /// Whether blocks may run with other strategies than vectors if that is faster ([`crate::exec::strategy`]).
    pub(crate) fn may_choose(&self, config: &Config) -> bool {
        let Observe { perf, sample_rate, count, listings } = config.observe;
        self.tier != Tier::Interp
            && self.chunk_groups.is_none()
            && !(self.keep_registers || self.exact_steps || self.bounded || self.count)
            && !(perf || sample_rate > 0 || count || listings)
    }

    /// The code generator.
    pub(crate) fn generator(&self) -> Generator {
        Generator::of_host(self.host, self.chunk_groups, self.single, self.checked_memory)
    }
}

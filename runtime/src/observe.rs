//! What to record of launches and of compiled code.

/// What to record of launches and compiled code. By default nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Observe {
    /// Announce compiled code to Linux perf: /tmp/perf-PID.map and /tmp/jit-PID.dump.
    pub perf: bool,
    /// Samples per second of each thread for [`crate::Profile::samples`]; 0: none.
    pub sample_rate: u32,
    /// Whether the interpreter counts blocks, lanes and accesses, for [`crate::Profile::blocks`] and the fields after it. Use
    /// it with [`crate::Tier::Interp`], because compiled code counts none of this.
    pub count: bool,
    /// Whether to keep compiled code as text, for [`crate::Report::listings`]. Then the code cache is not used.
    pub listings: bool,
}

crate::setters::setters! {
    Observe {
        perf: bool,
        sample_rate: u32,
        count: bool,
        listings: bool,
    }
}

impl Observe {
    /// Whether code needs a table of guest addresses.
    pub(crate) fn needs_pcs(self) -> bool {
        self.perf || self.sample_rate > 0 || crate::debug::ALWAYS_TELLS
    }
}

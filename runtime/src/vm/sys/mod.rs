//! Everything that depends on the operating system or the processor. To port the runtime, edit only here.

mod alt_stack;
pub mod fiber;
pub mod guarded;
mod pages;
pub mod sampler;
mod signals;
mod stack;
mod stacks;
mod stores;
mod unix;

#[cfg(not(target_os = "linux"))]
compile_error!("signals and memory are done for Linux so far");

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("compiled code exists for x86-64 and AArch64");

#[cfg(test)]
pub use arch::control;
pub(super) use pages::{Pages, page_bytes};
pub use signals::ensure;
#[cfg(test)]
pub use signals::install as init;
pub use stack::{on_enough_stack, on_new_stack_for_compiler, on_stack_for_compiler};
pub use stores::mend_with as mend_stores_with;
#[cfg(not(target_arch = "x86_64"))]
pub use unix::enter as enter_within;
#[cfg(target_arch = "x86_64")]
pub use unix::enter_within;
pub use unix::{Call, RawFault, enter, enter_all, handle_signal};

/// The floating-point environment of compiled code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FloatMode {
    /// As Rust assumes it: round to nearest, denormals kept.
    #[default]
    Ieee,
    /// Round to nearest, denormal inputs and results become zero.
    Flush,
}

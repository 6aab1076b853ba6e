//! Stores that fault although they are allowed: memory protects pages to see the first store to each. The signal handler asks here.

use std::sync::OnceLock;

/// Whether the store at a host address may be executed again. Async-signal-safe.
type Mend = fn(usize) -> bool;

static MEND: OnceLock<Mend> = OnceLock::new();

/// Says who is asked; the first caller's is kept.
pub fn mend_with(mend: Mend) {
    MEND.get_or_init(|| mend);
}

/// Whether the fault at a host address was such a store, which can be executed again now.
pub fn mend(address: usize) -> bool {
    MEND.get().is_some_and(|mend| mend(address))
}

//! The compiled versions of a region, or of a kernel's grid-row code: each assumes something else of the slots.

use std::sync::Arc;

use super::Compiled;
use crate::Error;
use crate::debug::Announced;
use crate::fork;

/// Most versions of a region with assumptions. After these comes the one without.
pub(super) const MOST_VERSIONS: usize = 3;

/// The same for regions at which warps start. Their lane patterns depend on the block size.
pub(super) const MOST_START_VERSIONS: usize = 8;

/// The versions of the region that starts at a block.
#[derive(Debug, Default)]
pub(super) struct Versions {
    pub list: Vec<Arc<Compiled>>,
    /// The code generator rejected the region, or the block must run in the interpreter.
    pub impossible: bool,
    /// If another version is being compiled or waits to be: in which process ([`fork::generation`]).
    pub queued: Option<u64>,
    /// Another version could not be compiled, so there will be no more.
    pub full: bool,
}

impl Versions {
    /// Whether another version is being compiled, or waits to be.
    pub fn is_queued(&self) -> bool {
        self.queued == Some(fork::generation())
    }

    /// Sets whether another version has been asked for.
    pub fn set_queued(&mut self, queued: bool) {
        self.queued = queued.then(fork::generation);
    }

    /// Adds a compiled version. `last`: no other one can be made.
    pub fn add(
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

//! Regions compiled behind the back of launches: those ask, go on in the interpreter, and find the code later.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use warpjit_ir::Block;
use warpjit_ir::interp::Warp;
use warpjit_ir::regions::Region;

use super::{BlockLook, Compiled, Fitting, Jit, Versions, lock};
use crate::exec::background::Background;
use crate::fork::{Mutex, Section};

/// What there is for a warp at a block.
#[derive(Debug)]
pub enum Ready {
    /// Code that fits it.
    Code(Arc<Compiled>),
    /// Nothing yet: the interpreter runs the block meanwhile.
    Later,
    /// The interpreter must run the block, now and later.
    Never,
}

/// The right to add one version to a region; given back when it is used or dropped.
struct Ticket {
    jit: Weak<Jit>,
    at: Block,
    /// It is for code for rows of blocks: of whole warps, of so many threads along each axis.
    rows: Option<(bool, [u32; 3])>,
    /// Compiling has begun and not ended.
    begun: bool,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Some(jit) = self.jit.upgrade() else { return };
        let mut versions = lock(self.versions(&jit));
        versions.set_queued(false);
        if self.begun {
            // A code generator that panics does it again: the interpreter runs this.
            versions.impossible = true;
            drop(versions);
            lock(&jit.refusal).get_or_insert_with(|| "the code generator panicked".into());
        }
    }
}

/// How many times as often a block must be interpreted if a region that has been compiled covers it. Such a block has been hot while that
/// region was being compiled; from then on warps run it inside of that region, unless they come to it in another way. Without this each
/// block of a large region would get a region of its own, and compiling would take time by the square of the code.
const COVERED_TIMES: u32 = 16;

impl Jit {
    /// Whether a block has been interpreted so often that it gets a region of its own.
    fn is_hot(&self, at: Block) -> bool {
        let hot_after = self.variant.hot_after;
        let covered = self.covered[at.index()].load(Ordering::Relaxed);
        let needed = if covered { hot_after.max(1).saturating_mul(COVERED_TIMES) } else { hot_after };
        self.heat[at.index()].load(Ordering::Relaxed) >= needed
    }

    /// Notes what a region that has been compiled covers. Blocks in it are counted anew.
    pub(super) fn cover(&self, region: &Region) {
        for block in region.blocks.iter().filter(|&&block| block != region.entry) {
            self.covered[block.index()].store(true, Ordering::Relaxed);
            self.heat[block.index()].store(0, Ordering::Relaxed);
        }
    }

    /// Code for the region at the warp's block that fits the warp, if it is there; once the block has been interpreted some
    /// times it is asked for.
    pub fn ready(self: &Arc<Self>, warp: &Warp, background: &Background) -> Ready {
        let at = warp.block;
        let mut versions = lock(&self.versions[at.index()]);
        let assume = self.may_assume(&versions, at);
        let enough = versions.impossible || versions.is_queued() || !assume;
        let later = match self.fitting(&versions, warp) {
            Some(Fitting { code, suits }) if suits || enough => return Ready::Code(code),
            None if versions.impossible => return Ready::Never,
            Some(found) => Ready::Code(found.code),
            None if versions.is_queued() => return Ready::Later,
            None if !self.is_hot(at) => {
                self.heat[at.index()].fetch_add(1, Ordering::Relaxed);
                return Ready::Later;
            }
            None => Ready::Later,
        };
        // The warp goes on at once: its shapes are taken from a copy of what it has now.
        let queued = background.push(|| {
            let ticket = Ticket { jit: Arc::downgrade(self), at, rows: None, begun: false };
            let frame = assume.then(|| Box::<[u32]>::from(warp.frame.words()));
            Box::new(move || ticket.compile(frame.as_deref().as_slice()))
        });
        versions.set_queued(queued);
        later
    }

    /// Has code for rows of blocks compiled for what the frames of a block's warps hold; whether there was room for that.
    pub(super) fn compile_rows_behind(
        self: &Arc<Self>,
        at: Block,
        look: BlockLook<'_>,
        background: &Background,
    ) -> bool {
        background.push(|| {
            let ticket = Ticket {
                jit: Arc::downgrade(self),
                at,
                rows: Some((look.whole, look.threads)),
                begun: false,
            };
            let frames: Vec<Box<[u32]>> = look.frames.iter().map(|&frame| frame.into()).collect();
            Box::new(move || ticket.compile(&frames.iter().map(|frame| &**frame).collect::<Vec<_>>()))
        })
    }

    /// Has what is not in the cache yet stored there behind the back of launches. What the queue has no room for is stored in
    /// the end.
    pub fn save_behind(self: &Arc<Self>, background: &Background) {
        if self.is_unsaved() {
            let jit = Arc::downgrade(self);
            background.push(|| Box::new(move || jit.upgrade().iter().for_each(|jit| jit.save())));
        }
    }

    /// Time in which an engine's own thread was compiling for launches.
    pub fn background_time(&self) -> Duration {
        Duration::from_nanos(self.behind.load(Ordering::Relaxed))
    }
}

impl Ticket {
    fn versions<'a>(&self, jit: &'a Jit) -> &'a Mutex<Versions> {
        if self.rows.is_some() { &jit.rows } else { &jit.versions[self.at.index()] }
    }

    /// Compiles the region, if the program still exists.
    fn compile(mut self, frames: &[&[u32]]) {
        let Some(jit) = self.jit.upgrade() else { return };
        // A region compiled since it was asked for covers it: dropping the ticket takes the request back.
        if self.rows.is_none() && lock(self.versions(&jit)).list.is_empty() && !jit.is_hot(self.at) {
            return;
        }
        // A process does not fork in the midst of it.
        let section = Section::enter();
        let start = Instant::now();
        self.begun = true;
        let look = self.rows.map(|(whole, threads)| BlockLook { frames, shared: 0, whole, threads });
        // No launch waits for it, so none cancels it.
        let made = jit.metered(self.at, None, |meter| match look {
            Some(look) => jit.make_rows(self.at, look, meter),
            None => jit.make(self.at, frames, meter),
        });
        self.begun = false;
        let time = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        jit.behind.fetch_add(time, Ordering::Relaxed);
        let mut versions = lock(self.versions(&jit));
        if let Some(look) = look {
            jit.add_rows(&mut versions, made, look);
        } else if let Err(error) = versions.add(made, frames.is_empty(), |code| jit.announce(self.at, code)) {
            jit.refuse(&error);
        }
        drop(versions);
        drop(section);
        jit.unsaved.store(true, Ordering::Relaxed);
    }
}

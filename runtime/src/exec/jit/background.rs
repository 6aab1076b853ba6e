//! Compiles regions in the background: a launch asks for a region, goes on in the interpreter, and finds the code later.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use warpjit_ir::Block;
use warpjit_ir::interp::Warp;
use warpjit_ir::regions::Region;

use super::{Compiled, Fitting, Jit, SampleBlock, Versions, lock};
use crate::exec::compiler_threads::{Background, Job, Saver};
use crate::fork::{self, Mutex, Section};

/// What is available for a warp at a block.
#[derive(Debug)]
pub enum Ready {
    /// Code that fits it.
    Code(Arc<Compiled>),
    /// Nothing yet: the interpreter runs the block meanwhile.
    Later,
    /// The interpreter must run the block, now and later.
    Never,
}

/// The right to add one version to a region, released when used or dropped.
struct Ticket {
    jit: Weak<Jit>,
    at: Block,
    /// For grid-row code: whether all warps are full, and the threads of a block along each axis.
    rows: Option<(bool, [u32; 3])>,
    /// Whether compiling has begun and not ended.
    begun: bool,
    /// Where the code is to be stored from: there may be no later launch that sees to it.
    saver: Saver,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Some(jit) = self.jit.upgrade() else { return };
        let mut versions = lock(self.versions(&jit));
        versions.set_queued(false);
        if self.begun {
            // The code generator has panicked and would again, so the interpreter runs this region.
            versions.impossible = true;
            drop(versions);
            lock(&jit.refusal).get_or_insert_with(|| "the code generator panicked".into());
        }
    }
}

/// Factor on the interpretation count for a block that is inside a compiled region.
///
/// Such a block became hot while that region was being compiled. From then on warps run it inside the region, unless
/// they reach it in another way. Without the factor each block of a large region would get a region of its own, and
/// compile time would grow with the square of the code.
const COVERED_TIMES: u32 = 16;

impl Jit {
    /// Whether a block has been interpreted often enough to get a region of its own.
    fn is_hot(&self, at: Block) -> bool {
        let hot_after = self.variant.hot_after;
        let covered = self.covered[at.index()].load(Ordering::Relaxed);
        let needed = if covered { hot_after.max(1).saturating_mul(COVERED_TIMES) } else { hot_after };
        self.heat[at.index()].load(Ordering::Relaxed) >= needed
    }

    /// Records the blocks that a compiled region covers, and resets their counts.
    pub(super) fn cover(&self, region: &Region) {
        for block in region.blocks.iter().filter(|&&block| block != region.entry) {
            self.covered[block.index()].store(true, Ordering::Relaxed);
            self.heat[block.index()].store(0, Ordering::Relaxed);
        }
    }

    /// Code for the region at the warp's block that fits the warp, if there is some. Once the block has been
    /// interpreted often enough, code is requested.
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
        // The warp goes on at once, so the job gets a copy of its frame.
        let saver = background.saver();
        let queued = background.push(|| {
            let ticket = Ticket { jit: Arc::downgrade(self), at, rows: None, begun: false, saver };
            let frame = assume.then(|| Box::<[u32]>::from(warp.frame.words()));
            Box::new(move || ticket.compile(frame.as_deref().as_slice()))
        });
        versions.set_queued(queued);
        if queued {
            return later;
        }
        // The queue is as long as it may be: nothing is dropped, so this thread does it.
        drop(versions);
        self.region(warp, None).map_or(later, Ready::Code)
    }

    /// Requests grid-row code for the lane patterns of a block's frames. Returns whether the queue had room.
    pub(super) fn compile_rows_behind(
        self: &Arc<Self>,
        at: Block,
        sample: SampleBlock<'_>,
        background: &Background,
    ) -> bool {
        let saver = background.saver();
        background.push(|| {
            let ticket = Ticket {
                jit: Arc::downgrade(self),
                at,
                rows: Some((sample.whole, sample.threads)),
                begun: false,
                saver,
            };
            let frames: Vec<Box<[u32]>> = sample.frames.iter().map(|&frame| frame.into()).collect();
            Box::new(move || ticket.compile(&frames.iter().map(|frame| &**frame).collect::<Vec<_>>()))
        })
    }

    /// Saves new code to the cache in the background, once no launch waits for code. If there is no thread, it is saved when the
    /// program is dropped.
    pub fn save_behind(self: &Arc<Self>, background: &Background) {
        self.ask_to_save(|save| background.push_save(save));
    }

    /// Has new code saved by a job, unless one waits already.
    fn ask_to_save(self: &Arc<Self>, push: impl FnOnce(Job) -> bool) {
        // A job that waits in a parent of this process does not run here.
        let mine = fork::generation() + 1;
        if !self.is_unsaved() || self.saving.swap(mine, Ordering::Relaxed) == mine {
            return;
        }
        let asked = Asked(Arc::downgrade(self));
        push(Box::new(move || {
            let jit = asked.0.upgrade();
            drop(asked);
            if let Some(jit) = jit {
                jit.save();
            }
        }));
    }

    /// Time that engines' compiler threads have spent compiling.
    pub fn background_time(&self) -> Duration {
        Duration::from_nanos(self.behind.load(Ordering::Relaxed))
    }
}

/// A job that saves a program's code waits. When it is dropped, run or not, another one may be asked for.
struct Asked(Weak<Jit>);

impl Drop for Asked {
    fn drop(&mut self) {
        if let Some(jit) = self.0.upgrade() {
            jit.saving.store(0, Ordering::Relaxed);
        }
    }
}

impl Ticket {
    fn versions<'a>(&self, jit: &'a Jit) -> &'a Mutex<Versions> {
        if self.rows.is_some() { &jit.rows } else { &jit.versions[self.at.index()] }
    }

    /// Compiles the region, if the program still exists.
    fn compile(mut self, frames: &[&[u32]]) {
        let Some(jit) = self.jit.upgrade() else { return };
        // A region compiled since the request covers this block. Dropping the ticket withdraws the request.
        if self.rows.is_none() && lock(self.versions(&jit)).list.is_empty() && !jit.is_hot(self.at) {
            return;
        }
        // The process must not fork while this runs.
        let section = Section::enter();
        let start = Instant::now();
        self.begun = true;
        let sample = self.rows.map(|(whole, threads)| SampleBlock { frames, shared: 0, whole, threads });
        // No launch waits for it, so none cancels it.
        if self.rows.is_none() && jit.is_single() {
            if jit.make_first_chain(self.at, None) {
                jit.took_ahead(start);
            }
            if !lock(self.versions(&jit)).list.is_empty() {
                self.begun = false;
                drop(section);
                jit.ask_to_save(|save| self.saver.push(save));
                return;
            }
        }
        let made = jit.metered(self.at, None, |meter| match sample {
            Some(sample) => jit.make_rows(self.at, sample, meter),
            None => jit.make(self.at, frames, meter),
        });
        self.begun = false;
        let time = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        jit.behind.fetch_add(time, Ordering::Relaxed);
        let mut versions = lock(self.versions(&jit));
        if let Some(sample) = sample {
            jit.add_rows(&mut versions, made, sample);
        } else if let Err(error) = versions.add(made, frames.is_empty(), |code| jit.announce(self.at, code)) {
            jit.refuse(&error);
        }
        drop(versions);
        drop(section);
        jit.unsaved.store(true, Ordering::Relaxed);
        jit.ask_to_save(|save| self.saver.push(save));
    }
}

//! Compiles regions before any launch needs them ([`crate::Compilation`]).

use std::sync::atomic::Ordering;
use std::time::Instant;

use warpjit_ir::Block;
use warpjit_ir::interp::Warp;
use warpjit_ir::regions::explore::ExitKind;

use super::{Jit, SampleBlock, lock};
use crate::fork::Section;
use crate::{CancelToken, Error};

impl Jit {
    /// Compiles what a launch needs whose warps start as these: the region at the start for the lane patterns that they have, code for
    /// rows of blocks if `sample` is a block of it, and the regions that are reached from there, for any lane patterns.
    /// `false`: it was cancelled.
    pub fn compile_ahead(
        &self,
        warps: &[&Warp],
        sample: Option<SampleBlock<'_>>,
        cancel: Option<&CancelToken>,
    ) -> bool {
        let is_cancelled = || cancel.is_some_and(CancelToken::is_cancelled);
        if let Some(warp) = warps.first() {
            let _section = Section::enter();
            let start = Instant::now();
            if self.make_first_chain(warp.block, cancel) {
                self.took_ahead(start);
            }
        }
        for warp in warps {
            if is_cancelled() {
                return false;
            }
            self.region_ahead(warp.block, Some(warp), cancel);
        }
        if let Some(sample) = sample
            && !is_cancelled()
        {
            self.rows_ahead(sample, cancel);
        }
        let mut seen = vec![false; self.kernel.func.blocks.len()];
        let mut left: Vec<Block> = warps.iter().map(|warp| warp.block).collect();
        while let Some(at) = left.pop() {
            if std::mem::replace(&mut seen[at.index()], true) {
                continue;
            }
            if is_cancelled() {
                return false;
            }
            self.region_ahead(at, None, cancel);
            for code in &lock(&self.versions[at.index()]).list {
                for exit in code.facts.exits.iter() {
                    match *exit {
                        ExitKind::Ended => {}
                        ExitKind::Enter(block) => left.push(block),
                        ExitKind::Terminator(block) => {
                            self.kernel.func.term(block).for_each_successor(|next| left.push(next));
                        }
                    }
                }
            }
        }
        !is_cancelled()
    }

    /// Compiles the region at a block, for a warp or for any, unless there is such code.
    fn region_ahead(&self, at: Block, warp: Option<&Warp>, cancel: Option<&CancelToken>) {
        let mut versions = lock(&self.versions[at.index()]);
        let may_assume = !self.variant.single && self.may_assume(&versions, at);
        let assumed = warp.filter(|_| may_assume);
        let there = match assumed {
            Some(warp) => self.fitting(&versions, warp).is_some_and(|found| found.suits),
            None => !versions.list.is_empty(),
        };
        if there || versions.impossible || versions.is_queued() {
            return;
        }
        // Launches need not wait: they find it being compiled.
        versions.set_queued(true);
        drop(versions);
        let _section = Section::enter();
        let start = Instant::now();
        let frame = assumed.map(|warp| warp.frame.words());
        let made = self.metered(at, cancel, |meter| self.make(at, frame.as_slice(), meter));
        self.took_ahead(start);
        let mut versions = lock(&self.versions[at.index()]);
        versions.set_queued(false);
        if matches!(made, Err(Error::Cancelled)) {
            return;
        }
        // Lane by lane there is only one version.
        let last = self.variant.single;
        if let Err(error) = versions.add(made, last, |code| self.announce(at, code)) {
            self.refuse(&error);
        }
    }

    /// Compiles code for rows of such blocks, unless there is some for their class.
    fn rows_ahead(&self, sample: SampleBlock<'_>, cancel: Option<&CancelToken>) {
        let entry = self.kernel.func.entry;
        let mut versions = lock(&self.rows);
        let kind = self.class_of(sample);
        let is_own = |code: &super::Compiled| code.facts.row.as_ref().is_some_and(|needs| needs.kind == kind);
        if versions.impossible
            || versions.is_queued()
            || versions.list.iter().any(|code| is_own(code))
            || !lock(&self.kinds).may_try(kind)
        {
            return;
        }
        versions.set_queued(true);
        drop(versions);
        let _section = Section::enter();
        let start = Instant::now();
        let made = self.metered(entry, cancel, |meter| self.make_rows(entry, sample, meter));
        self.took_ahead(start);
        let mut versions = lock(&self.rows);
        versions.set_queued(false);
        if !matches!(made, Err(Error::Cancelled)) {
            self.add_rows(&mut versions, made, sample);
        }
    }

    /// Counts time of compiling for which no launch waits.
    pub(super) fn took_ahead(&self, start: Instant) {
        let time = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.behind.fetch_add(time, Ordering::Relaxed);
        self.unsaved.store(true, Ordering::Relaxed);
    }
}

//! Makes a kernel's first chain ([`super::chain`]) before its regions run, where code runs one lane at a time.
//!
//! Such code has one version of each region, which assumes nothing. So what the exits of a region lead to can be cut and optimised without
//! a warp that comes there, and all of it is compiled at once, as one function. Compiled one by one and then joined, each region would go
//! through the code generator twice, and a warp would hop from one to the next meanwhile.
//!
//! It begins at the block for which code is wanted first: the kernel's start, or with `--tier auto` the first block that was interpreted
//! often. Its links are the versions of their regions. Regions that may wait are compiled when a warp comes to them, as ever. A kernel too
//! long for this is compiled region by region; so is one with a single region.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::regions::{Kernel, Region};
use warpjit_ir::{Block, Meter};

use super::chain::{Chain, MOST_LINKS, Part, insts_of};
use super::compiled::Source;
use super::{Jit, lock};
use crate::{CancelToken, Error, vm};

/// Most instructions of a kernel, and of its regions once they are optimised. A warp may come to little of it, so compiling all of it must
/// not take long.
const MOST_KERNEL_INSTS: usize = 9_000;
const MOST_INSTS: usize = 3_000;

impl Jit {
    /// Whether the first chain may be made: lane by lane, unless somebody says when regions are to be joined.
    fn may_have_first_chain(&self) -> bool {
        self.is_single()
            && self.variant.join_after.is_none()
            && self.kernel.func.insts.len() <= MOST_KERNEL_INSTS
            && self.may_join()
    }

    /// Makes the chain of what a block leads to, if no code has been made yet, and says whether it has compiled something. Other threads
    /// wait.
    pub(super) fn make_first_chain(&self, at: Block, cancel: Option<&CancelToken>) -> bool {
        let mut tried = lock(&self.chains.first_tried);
        if std::mem::replace(&mut *tried, true)
            || !self.may_have_first_chain()
            || self.versions.iter().any(|versions| !lock(versions).list.is_empty())
        {
            return false;
        }
        let make = |meter: &Meter| {
            let parts = self.all_parts(at, meter)?;
            self.first_code(parts, meter)
        };
        let made = vm::on_stack_for_compiler(|| self.metered(at, cancel, make));
        if made.is_err() {
            lock(&self.chains.set_aside).clear();
        }
        match made {
            Ok(()) => {
                self.unsaved.store(true, Ordering::Relaxed);
                true
            }
            Err(error) => {
                // Otherwise there may be code region by region, or else a reason why not.
                *tried = error != Error::Cancelled;
                false
            }
        }
    }

    /// The regions that a chain may have of those that `start` leads to, and blocks for all lanes; none if they are too long.
    fn all_parts(&self, start: Block, meter: &Meter) -> Result<Vec<Part>, Error> {
        let known = self.nothing_known();
        let (mut parts, mut insts) = (Vec::new(), 0);
        let mut seen = vec![false; self.kernel.func.blocks.len()];
        let mut left = vec![start];
        while let Some(at) = left.pop() {
            if std::mem::replace(&mut seen[at.index()], true) {
                continue;
            }
            let cut = Kernel::region_within;
            let source = match cut(&self.kernel, at, &known, meter)? {
                Some(region) => {
                    for &exit in &region.exits {
                        match exit {
                            ExitKind::Ended => {}
                            ExitKind::Enter(block) => left.push(block),
                            ExitKind::Terminator(block) => {
                                self.kernel.func.term(block).for_each_successor(|next| left.push(next));
                            }
                        }
                    }
                    if region.may_wait || self.kernel.surely_waits(at) {
                        insts += insts_of(&region);
                        lock(&self.chains.set_aside).push((at, region));
                        if insts > MOST_INSTS {
                            return Ok(Vec::new());
                        }
                        continue;
                    }
                    let ready = self.ready_to_compile(region, &[], cut, meter)?;
                    ready.map(|(region, options)| Source { region, options })
                }
                None => {
                    self.kernel.func.term(at).for_each_successor(|next| left.push(next));
                    self.whole_part(at, meter)?
                }
            };
            let Some(source) = source else { continue };
            insts += source.weight();
            if parts.len() == MOST_LINKS || insts > MOST_INSTS {
                return Ok(Vec::new());
            }
            parts.push(Part { at, code: None, source: Arc::new(source) });
        }
        Ok(parts)
    }

    /// The region at a block, if it was cut for the first chain, which cannot have it.
    pub(super) fn already_cut(&self, at: Block) -> Option<Region> {
        let mut set_aside = lock(&self.chains.set_aside);
        let place = set_aside.iter().position(|(block, _)| *block == at)?;
        Some(set_aside.swap_remove(place).1)
    }

    /// Compiles the parts: as a chain, if there are several.
    fn first_code(&self, mut parts: Vec<Part>, meter: &Meter) -> Result<(), Error> {
        if parts.len() < 2 {
            let Some(Part { at, source, .. }) = parts.pop() else { return Ok(()) };
            let Some(Source { region, options }) = Arc::into_inner(source).filter(|of| of.options.single)
            else {
                return Ok(());
            };
            let code = self.compile_ready(region, options, Vec::new(), None, meter)?;
            lock(&self.versions[at.index()]).add(Ok(Some(code)), true, |code| self.announce(at, code))?;
            return Ok(());
        }
        let Some(chain) = self.chain_of(&parts, meter)? else { return Ok(()) };
        for (Part { source, .. }, (_, code)) in parts.into_iter().zip(chain.links()) {
            self.cover(&source.region);
            // The next chain may be made of it.
            let source = Arc::into_inner(source).and_then(|of| self.source(of.region, of.options));
            *lock(&code.source) = source;
        }
        self.add_first_chain(chain);
        Ok(())
    }

    /// Takes a chain into use whose links assume nothing: where there are no versions of their regions, they are those.
    pub(super) fn add_first_chain(&self, chain: Chain) {
        for (at, code) in chain.links() {
            let mut versions = lock(&self.versions[at.index()]);
            if versions.list.is_empty() {
                versions.list.push(code.clone());
            }
        }
        self.chains.made.fetch_add(1, Ordering::Relaxed);
        self.add_chain(chain);
    }

    /// Takes a chain into use.
    pub(super) fn add_chain(&self, chain: Chain) {
        lock(&self.chains.list).push(Arc::new(chain));
        self.chains.number.fetch_add(1, Ordering::Release);
    }
}

//! Makes a kernel's first chain ([`super::chain`]) before its regions run, where code runs one lane at a time.
//!
//! Such code has one version of each region, which assumes nothing. So what the exits of a region lead to can be cut and optimised without
//! a warp that comes there, and all of it is compiled at once, as one function. Compiled one by one and then joined, each region would go
//! through the code generator twice, and a warp would hop from one to the next meanwhile.
//!
//! It begins at the block for which code is wanted first: the kernel's start, or with `--tier auto` the first block that was interpreted
//! often. Its links are the versions of their regions. A kernel too long for this is compiled region by region; so is one with a single
//! region, and one with loops that may wait for other warps.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::regions::{Kernel, Region};
use warpjit_ir::{Block, Meter};

use super::chain::{Chain, MOST_LINKS, Part};
use super::compiled::Source;
use super::{Jit, lock};
use crate::{CancelToken, Error, vm};

/// Most instructions of a kernel, and of its regions once they are optimised. A warp may come to little of it, so compiling all of it must
/// not take long.
const MOST_KERNEL_INSTS: usize = 9_000;
const MOST_INSTS: usize = 3_000;

/// Regions that lead to one another, and blocks among them that have none.
type Found = (Vec<(Block, Region)>, Vec<Block>);

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

    /// The regions that `start` leads to, and blocks for all lanes, as parts of a chain. None if they are too long, or if a loop among them
    /// may wait for other warps: a chain looks less often whether its warp waits. What was cut serves region by region then.
    fn all_parts(&self, start: Block, meter: &Meter) -> Result<Vec<Part>, Error> {
        let (regions, others) = self.all_regions(start, meter)?;
        let insts =
            |regions: &[(Block, Region)]| regions.iter().map(|(_, of)| of.mask.insts.len()).sum::<usize>();
        let waits = |(at, region): &(Block, Region)| region.may_wait || self.kernel.surely_waits(*at);
        if regions.len() + others.len() > MOST_LINKS
            || insts(&regions) > MOST_KERNEL_INSTS
            || regions.iter().any(waits)
            || others.iter().any(|&at| self.kernel.surely_waits(at))
        {
            *lock(&self.chains.set_aside) = regions;
            return Ok(Vec::new());
        }
        let mut sources = Vec::new();
        for (at, region) in regions {
            let ready = self.ready_to_compile(region, &[], Kernel::region_within, meter)?;
            sources.extend(ready.map(|(region, options)| (at, Source { region, options })));
        }
        for at in others {
            sources.extend(self.whole_part(at, meter)?.map(|source| (at, source)));
        }
        if sources.iter().map(|(_, source)| source.weight()).sum::<usize>() > MOST_INSTS {
            return Ok(Vec::new());
        }
        let part = |(at, source)| Part { at, code: None, source: Arc::new(source) };
        Ok(sources.into_iter().map(part).collect())
    }

    /// The regions that `start` leads to, and the blocks there that have none.
    fn all_regions(&self, start: Block, meter: &Meter) -> Result<Found, Error> {
        let known = self.nothing_known();
        let (mut regions, mut others) = (Vec::new(), Vec::new());
        let mut seen = vec![false; self.kernel.func.blocks.len()];
        let mut left = vec![start];
        let mut insts = 0;
        while let Some(at) = left.pop() {
            if std::mem::replace(&mut seen[at.index()], true) {
                continue;
            }
            let Some(region) = Kernel::region_within(&self.kernel, at, &known, meter)? else {
                self.kernel.func.term(at).for_each_successor(|next| left.push(next));
                others.push(at);
                continue;
            };
            for &exit in &region.exits {
                match exit {
                    ExitKind::Ended => {}
                    ExitKind::Enter(block) => left.push(block),
                    ExitKind::Terminator(block) => {
                        self.kernel.func.term(block).for_each_successor(|next| left.push(next));
                    }
                }
            }
            insts += region.mask.insts.len();
            regions.push((at, region));
            // What is cut in vain must not take long.
            if regions.len() > MOST_LINKS || insts > MOST_KERNEL_INSTS {
                break;
            }
        }
        Ok((regions, others))
    }

    /// The region at a block, if it was cut for a first chain that was not made.
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

//! Joins compiled regions to a *chain*: one function that goes from one region to the next by itself.
//!
//! Where regions are short, the driver between them takes longer than they do: it looks up the next region, checks its assumptions and
//! enters it. So once warps have gone from region to region often enough, the versions that exist by then are compiled again, together
//! ([`warpjit_backend::compile_chain`]). Lane by lane, the first chain is made before that ([`super::first_chain`]). A warp enters the chain
//! at any of its regions and leaves it where only the driver can go on (barriers, branches on which lanes disagree, blocks of the
//! interpreter, regions that may wait), or when it has run for long enough. Between two regions its state is in its frame as it always is,
//! so everything else stays as it was: the chain's versions stand for the single ones, with their numbers and assumptions.
//!
//! - A *link* is a version of a region, as it was cut and optimised, with its loop over chunks. That is kept with the version
//!   ([`Source`]), or else made again. After the loop, code does what the driver
//!   would: it tells the exit, decides a branch by its condition in all lanes, checks what the next link assumes of slots and does not
//!   know from the link before, and jumps there. If the check fails, it tries the region's other versions.
//! - `Context::chain_left` holds the guest instructions that a call may run: what the time slice leaves, and less where it must be
//!   checked whether the warp waits (`repeats.rs`). So waiting loops are found as without chains.
//! - Blocks of a wave that the interpreter runs because they need all lanes (`v_readfirstlane_b32`) are links of one chunk, if they are
//!   short.
//! - A chain is worth it when the driver has taken as long as compiling will take. It is made again, with what was compiled since, when
//!   as much time has come together outside it. [`crate::Config::join_after`] sets the number of hops instead. With `--tier auto` it is
//!   made in the background.
//! - The cache on disk keeps the last chain whose links assume nothing, which is so lane by lane ([`Chain::blocks`]). Else regions from the
//!   cache are joined again. With limits, counts or pauses there are none, because the driver looks after each region then.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use warpjit_backend::{self as backend, Link, LinkExit, Options, Passage, Returns, Shape, SlotShape};
use warpjit_ir::passes::renumber;
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::regions::liveness::SlotSet;
use warpjit_ir::regions::promote::{FAULT_EXIT, RegionFault};
use warpjit_ir::regions::{Kernel, Region, full};
use warpjit_ir::{Block, Form, Function, Meter, Slot, Terminator};

use super::compiled::Source;
use super::{Assumption, CodeFacts, Compiled, Cut, Jit, StartShapes, lock, written_slots};
use crate::exec::compiler_threads::Background;
use crate::fork::{Mutex, Section};
use crate::vm;
use crate::{CancelToken, CompileError, Error};

/// What the driver takes between two regions, and what compiling a byte of code takes, in nanoseconds: a chain is made when the first
/// have come to as much as the second.
const HOP_NANOS: u64 = 200;
const BYTE_NANOS: u64 = 500;
/// A chain is made again, with what was compiled since, so many times at most. Each time needs twice as many hops.
const MOST_CHAINS: u32 = 4;
/// Most regions and instructions of a chain: the longest work that cannot be stopped.
pub(super) const MOST_LINKS: usize = 512;
const MOST_INSTS: usize = 24_000;
/// Most instructions of a block that runs in one chunk of the whole warp, as its values do not fit the registers.
const MOST_WHOLE_INSTS: usize = 48;

/// Regions joined to one function.
#[derive(Debug)]
pub struct Chain {
    /// By block: for the versions of the region there, code that starts with it.
    links: Vec<(Block, Arc<Compiled>)>,
}

impl Chain {
    /// Code that starts with the regions at blocks, in their order and that of their versions.
    pub fn links(&self) -> impl Iterator<Item = (Block, &Arc<Compiled>)> {
        self.links.iter().map(|(at, code)| (*at, code))
    }

    /// The chain of some code, which starts with its first link: of links at these blocks that assume nothing.
    pub(super) fn of_blocks(first: Compiled, blocks: &[Block]) -> Chain {
        Chain::new(first, blocks.iter().map(|&at| (at, Vec::new(), None, 0)))
    }

    /// The chain of some code, which starts with its first link. By link: its block, what it assumes and was made for, and which of the
    /// versions of its region it is.
    fn new(
        mut first: Compiled,
        links: impl Iterator<Item = (Block, Vec<Assumption>, Option<StartShapes>, u32)>,
    ) -> Chain {
        let mut announced = Some(std::mem::take(&mut first.announced));
        let links = links.zip(0..).map(|((at, assumptions, start, number), link)| {
            let code = Compiled {
                announced: announced.take().unwrap_or_default(),
                code: first.code.clone(),
                facts: CodeFacts { assumptions, start, ..first.facts.clone() },
                tables: first.tables.clone(),
                at,
                link: Some(link),
                lanes: first.lanes,
                number,
                listing: None,
                source: Mutex::default(),
            };
            (at, Arc::new(code))
        });
        Chain { links: links.collect() }
    }

    /// Its blocks, if each has one link that assumes nothing, as the cache on disk keeps a chain.
    pub(super) fn blocks(&self) -> Option<Vec<Block>> {
        let plain = |code: &Compiled| code.number == 0 && code.facts.assumptions.is_empty();
        self.links.iter().map(|(at, code)| plain(code).then_some(*at)).collect()
    }

    /// The function, once.
    pub(super) fn codes(&self) -> impl Iterator<Item = &Arc<Compiled>> {
        self.links.iter().map(|(_, code)| code).take(1)
    }
}

/// What a kernel has of chains.
#[derive(Debug, Default)]
pub(super) struct Chains {
    /// How often warps have gone from one region to another one by the driver.
    hops: AtomicU64,
    /// How many hops are worth a chain; 0 before that is known.
    enough: AtomicU64,
    /// How many have been made, or tried.
    pub(super) made: AtomicU32,
    /// Changes with `list`.
    pub(super) number: AtomicU32,
    /// All, the last one last: warps may still run in earlier ones.
    pub(super) list: Mutex<Vec<Arc<Chain>>>,
    /// Whether the first chain was made, or tried, before any region ran ([`super::first_chain`]).
    pub(super) first_tried: Mutex<bool>,
    /// Regions that were cut for it, which was not made: until they are compiled.
    pub(super) set_aside: Mutex<Vec<(Block, Region)>>,
    /// Instructions of the regions that are kept to be joined ([`Source`]), and the bytes that they take.
    kept: AtomicUsize,
    kept_bytes: AtomicUsize,
}

impl Chains {
    /// All that have been made.
    pub(super) fn all(&self) -> Vec<Arc<Chain>> {
        lock(&self.list).clone()
    }

    /// The one made last.
    pub(super) fn last(&self) -> Option<Arc<Chain>> {
        lock(&self.list).last().cloned()
    }

    /// Bytes of what is kept to be joined or compiled.
    pub(super) fn bytes_kept(&self) -> usize {
        let set_aside = lock(&self.set_aside);
        let of = |(_, region): &(Block, Region)| region.ssa.bytes() + region.mask.bytes();
        self.kept_bytes.load(Ordering::Relaxed) + set_aside.iter().map(of).sum::<usize>()
    }
}

/// A region that becomes a link.
pub(super) struct Part {
    pub at: Block,
    /// The version that there is of it; none if the interpreter runs its block, or none has been compiled yet.
    pub code: Option<Arc<Compiled>>,
    pub source: Arc<Source>,
}

impl Part {
    fn assumptions(&self) -> &[Assumption] {
        self.code.as_ref().map_or(&[], |code| &code.facts.assumptions)
    }

    /// What must hold of a warp's slots to enter its code.
    fn checks(&self) -> Vec<(Slot, SlotShape)> {
        self.assumptions().iter().map(|a| (a.slot, a.known)).collect()
    }
}

impl Jit {
    /// Whether regions may be joined.
    pub(super) fn may_join(&self) -> bool {
        let counts = self.variant.count || self.variant.exact_steps || self.variant.bounded;
        let never = self.variant.join_after == Some(u32::MAX);
        self.generator.joins_regions() && !never && !counts && self.kernel.steps_slot().is_none()
    }

    /// What is kept of a region that was compiled. `None` where no other region follows, where nothing is joined any more, and where a chain
    /// has no room for it. Listings show a region's SSA, which is not kept.
    pub(super) fn source(&self, mut region: Region, options: Options) -> Option<Arc<Source>> {
        let leads_on = region.exits.iter().any(|&exit| exit != ExitKind::Ended);
        let more = self.chains.made.load(Ordering::Relaxed) < MOST_CHAINS;
        if !self.may_join() || !more || !leads_on || options.list || options.may_wait {
            return None;
        }
        let insts = insts_of(&region);
        let room = |kept: usize| (kept + insts <= MOST_INSTS).then_some(kept + insts);
        self.chains.kept.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok()?;
        region.ssa = Function::new("", Form::Spmd, region.mask.lanes);
        renumber::run(&mut region.mask);
        self.chains.kept_bytes.fetch_add(region.mask.bytes(), Ordering::Relaxed);
        Some(Arc::new(Source { region, options }))
    }

    /// Drops what is kept: no further chain is made.
    fn drop_sources(&self) {
        for versions in &self.versions {
            lock(versions).list.iter().for_each(|code| *lock(&code.source) = None);
        }
        self.chains.kept_bytes.store(0, Ordering::Relaxed);
    }

    /// How many hops are told at a time: `usual`, or each where the configuration says how many are enough.
    pub fn hops_at_a_time(&self, usual: u64) -> u64 {
        if self.variant.join_after.is_some_and(|after| after < u32::MAX) { 1 } else { usual }
    }

    /// Notes that warps have gone from one region to another one by the driver. Whether it pays to join them now.
    pub fn hopped(&self, hops: u64) -> bool {
        let chains = &self.chains;
        let so_far = chains.hops.fetch_add(hops, Ordering::Relaxed).saturating_add(hops);
        let made = chains.made.load(Ordering::Relaxed);
        if made >= MOST_CHAINS {
            return false;
        }
        let enough = match (chains.enough.load(Ordering::Relaxed), self.variant.join_after) {
            (_, Some(u32::MAX)) => return false,
            (_, Some(enough)) => u64::from(enough) << made,
            (0, None) => {
                let bytes: usize =
                    self.versions.iter().map(|versions| code_bytes(&lock(versions).list)).sum();
                let enough = ((bytes as u64).saturating_mul(BYTE_NANOS) / HOP_NANOS) << made;
                chains.enough.store(enough.max(1), Ordering::Relaxed);
                enough
            }
            (enough, None) => enough,
        };
        so_far > enough
    }

    /// The chain, if it is another than the one with number `known`, which is changed then.
    #[inline]
    pub fn new_chain(&self, known: &mut u32) -> Option<Arc<Chain>> {
        let number = self.chains.number.load(Ordering::Acquire);
        if number == *known {
            return None;
        }
        *known = number;
        lock(&self.chains.list).last().cloned()
    }

    /// Joins the regions compiled so far: at once, or in the background.
    pub fn join(self: &Arc<Self>, behind: Option<&Background>, cancel: Option<&CancelToken>) {
        if !self.may_join() {
            self.chains.made.store(MOST_CHAINS, Ordering::Relaxed);
            return;
        }
        // Hops count from here.
        self.chains.hops.store(0, Ordering::Relaxed);
        match behind {
            None => {
                lock(&self.compiling).begin();
                vm::on_stack_for_compiler(|| self.make_chain(cancel));
                lock(&self.compiling).end();
            }
            Some(background) => {
                let jit: Weak<Jit> = Arc::downgrade(self);
                background.push(|| {
                    Box::new(move || {
                        let Some(jit) = jit.upgrade() else { return };
                        // The process must not fork while this runs.
                        let _section = Section::enter();
                        let start = Instant::now();
                        jit.make_chain(None);
                        let time = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
                        jit.behind.fetch_add(time, Ordering::Relaxed);
                    })
                });
            }
        }
    }

    fn make_chain(&self, cancel: Option<&CancelToken>) {
        // Nobody else meanwhile, and not again if the generator panics.
        let before = self.chains.made.swap(MOST_CHAINS, Ordering::Relaxed);
        if before >= MOST_CHAINS {
            return;
        }
        let entry = self.kernel.func.entry;
        let compile = |whole| self.metered(entry, cancel, |meter| self.compile_chain(whole, meter));
        // Blocks that need all lanes may be what the generator refuses.
        let made = match compile(true) {
            Err(Error::Compile(_)) => compile(false),
            made => made,
        };
        self.chains.enough.store(0, Ordering::Relaxed);
        match made {
            Ok(Some(chain)) => {
                self.add_chain(chain);
                // Lane by lane it is kept on disk.
                self.unsaved.fetch_or(self.is_single(), Ordering::Relaxed);
                self.chains.made.store(before + 1, Ordering::Relaxed);
            }
            Err(Error::Cancelled) => self.chains.made.store(before, Ordering::Relaxed),
            // There may be more to join later.
            Ok(None) => self.chains.made.store(before + 1, Ordering::Relaxed),
            // The single regions serve.
            Err(_) => {}
        }
        if self.chains.made.load(Ordering::Relaxed) >= MOST_CHAINS {
            self.drop_sources();
        }
    }

    /// Compiles a chain of all versions that may be in one, `whole`: with blocks that need all lanes.
    fn compile_chain(&self, whole: bool, meter: &Meter) -> Result<Option<Chain>, Error> {
        let parts = self.parts(whole, meter)?;
        if parts.len() < 2 { Ok(None) } else { self.chain_of(&parts, meter) }
    }

    /// Compiles the chain of these regions.
    pub(super) fn chain_of(&self, parts: &[Part], meter: &Meter) -> Result<Option<Chain>, Error> {
        let mut exits = vec![ExitKind::Ended];
        let mut faults: Vec<RegionFault> = Vec::new();
        let mut number = |exit: ExitKind| {
            let known = exits.iter().position(|&known| known == exit);
            known.unwrap_or_else(|| {
                exits.push(exit);
                exits.len() - 1
            }) as u32
        };
        let mut links = Vec::with_capacity(parts.len());
        for (place, part) in parts.iter().enumerate() {
            let (region, options) = (&part.source.region, &part.source.options);
            let written = written_slots(&region.mask);
            let passage = |to: Block| {
                let to = parts.iter().position(|other| other.at == to)?;
                let checks = parts[to].checks();
                let holds = |(slot, known): &(Slot, SlotShape)| {
                    let assumed = |a: &Assumption| a.slot == *slot && a.known == *known;
                    !written.contains(*slot) && part.assumptions().iter().any(assumed)
                };
                Some(Passage { to, checks: checks.into_iter().filter(|check| !holds(check)).collect() })
            };
            let exits =
                region.exits.iter().map(|&exit| self.link_exit(exit, number(exit), &passage)).collect();
            let first_fault = faults.len() as u32;
            faults.extend(region.faults.iter().copied());
            links.push(Link {
                func: &region.mask,
                options: options.clone(),
                // Parts of blocks have none, and a loop of such links must end as well.
                insts: self.kernel.func.block(part.at).guest_insts.max(1),
                exits,
                first_fault,
                checks: part.checks(),
                otherwise: parts[place + 1..].first().filter(|next| next.at == part.at).map(|_| place + 1),
                enter: number(ExitKind::Enter(part.at)),
            });
        }
        if FAULT_EXIT as usize + faults.len() > i32::MAX as usize {
            return Ok(None);
        }
        meter.stage("generating its code")?;
        let options = parts[0].source.options.clone();
        let mut made = backend::compile_chain(&links, &options).map_err(CompileError::from)?;
        // Its own numbers are the chain's.
        made.returns = vec![Returns { exits: exits.len() as u32, faults: faults.len() as u32 }];
        meter.hold(made.code.len())?;
        let listing = options.list.then(|| {
            let parts = parts.iter().map(|part| {
                let Source { region, options } = &*part.source;
                (region, part.assumptions(), options)
            });
            self.list_chain(parts, &mut made)
        });
        let mut written = SlotSet::empty(self.kernel.func.slots.len());
        for part in parts {
            written.union(&written_slots(&part.source.region.mask));
        }
        let mut first = self.compiled(made, self.kernel.func.entry)?;
        (first.listing, first.link) = (listing, Some(0));
        first.announced = self.announce(parts[0].at, &mut first);
        (first.facts.exits, first.facts.faults, first.facts.written) = (exits.into(), faults.into(), written);
        let links = parts.iter().map(|part| {
            let start = part.code.as_ref().and_then(|code| code.facts.start.clone());
            let number = part.code.as_ref().map_or(0, |code| code.number);
            (part.at, part.assumptions().to_vec(), start, number)
        });
        Ok(Some(Chain::new(first, links)))
    }

    /// The regions to join, by block and version, cut and optimised as they were compiled.
    fn parts(&self, whole: bool, meter: &Meter) -> Result<Vec<Part>, Error> {
        let (mut parts, mut insts) = (Vec::new(), 0);
        for at in self.kernel.func.block_ids() {
            let (list, none) = {
                let versions = lock(&self.versions[at.index()]);
                (versions.list.clone(), versions.impossible && versions.list.is_empty())
            };
            if whole
                && none
                && let Some(source) = self.whole_part(at, meter)?
            {
                insts += source.weight();
                if parts.len() == MOST_LINKS || insts > MOST_INSTS {
                    return Ok(parts);
                }
                parts.push(Part { at, code: None, source: Arc::new(source) });
            }
            for code in list {
                if code.facts.waits != 0 || self.kernel.surely_waits(at) || !can_be_checked(&code) {
                    continue;
                }
                let kept = lock(&code.source).clone();
                debug_assert!(kept.as_ref().is_none_or(|kept| self.is_made_again(kept, &code)));
                let source = match kept {
                    Some(source) => Some(source),
                    None => self.again(&code, meter)?.map(Arc::new),
                };
                let Some(source) = source.filter(|of| whole || of.options.single || !code.is_chain()) else {
                    continue;
                };
                insts += source.weight();
                if parts.len() == MOST_LINKS || insts > MOST_INSTS {
                    return Ok(parts);
                }
                parts.push(Part { at, code: Some(code), source });
            }
        }
        Ok(parts)
    }

    /// A block that the interpreter runs because it needs all lanes, for one chunk of the whole warp: in a chain it is not worth leaving.
    pub(super) fn whole_part(&self, at: Block, meter: &Meter) -> Result<Option<Source>, Error> {
        if self.kernel.func.block(at).insts.len() > MOST_WHOLE_INSTS {
            return Ok(None);
        }
        let Some(mut region) = self.kernel.whole_block(at, meter)? else { return Ok(None) };
        if !self.locate_memory(&mut region) {
            return Ok(None);
        }
        let groups = self.kernel.func.lanes.div_ceil(4) as u8;
        let options = self.options_of(&region, groups);
        if options.all_enter {
            full::all_enter(&mut region.mask);
        }
        self.generator.optimize(&mut region, meter)?;
        self.generator.specialize(&mut region, options.all_enter, false);
        Ok(Some(Source { region, options }))
    }

    /// Whether a version's region is the same when it is cut and optimised again.
    fn is_made_again(&self, kept: &Source, code: &Compiled) -> bool {
        self.again(code, &Meter::unlimited()).is_ok_and(|made| {
            made.is_some_and(|mut made| {
                renumber::run(&mut made.region.mask);
                made.region.mask == kept.region.mask && made.options.slot_shapes == kept.options.slot_shapes
            })
        })
    }

    /// The region that a version was compiled from.
    fn again(&self, code: &Compiled, meter: &Meter) -> Result<Option<Source>, Error> {
        let none = self.nothing_known();
        let cuts: [Cut; 2] = [Kernel::region_within, Kernel::single_block];
        if code.is_chain()
            && self.is_single()
            && Kernel::region_within(&self.kernel, code.at, &none, meter)?.is_none()
        {
            return self.whole_part(code.at, meter);
        }
        for cut in cuts {
            let Some(region) = cut(&self.kernel, code.at, &none, meter)? else { continue };
            let made = self.ready_to_compile(region, &code.facts.assumptions, cut, meter)?;
            // A link knows those of its whole chain.
            if let Some((region, options)) = made
                && (code.is_chain()
                    || *region.exits == *code.facts.exits && *region.faults == *code.facts.faults)
                && !region.may_wait
            {
                return Ok(Some(Source { region, options }));
            }
        }
        Ok(None)
    }

    /// Where an exit leads, by its number in the chain.
    fn link_exit(
        &self,
        exit: ExitKind,
        number: u32,
        passage: &impl Fn(Block) -> Option<Passage>,
    ) -> LinkExit {
        let ends = LinkExit { exit: number, next: None, taken: None, branches: false, any: false };
        let block = match exit {
            ExitKind::Ended => return ends,
            ExitKind::Enter(block) => return LinkExit { next: passage(block), ..ends },
            ExitKind::Terminator(block) => block,
        };
        let func = &self.kernel.func;
        match func.term(block) {
            Terminator::Jump(to) => LinkExit { next: passage(to.block), ..ends },
            Terminator::Branch { cond, taken, next } => LinkExit {
                next: passage(next.block),
                taken: passage(taken.block),
                branches: true,
                any: func.ty(*cond).uniform,
                ..ends
            },
            _ => ends,
        }
    }
}

impl Source {
    /// Its instructions; of many vectors, more of them.
    pub(super) fn weight(&self) -> usize {
        let vectors = if self.options.single { 1 } else { usize::from(self.options.chunk_groups.max(2) / 2) };
        insts_of(&self.region) * vectors
    }
}

/// Instructions of a region.
fn insts_of(region: &Region) -> usize {
    region.mask.blocks.iter().map(|block| block.insts.len()).sum()
}

/// Whether a chain can check all that code assumes.
fn can_be_checked(code: &Compiled) -> bool {
    code.facts
        .assumptions
        .iter()
        .all(|a| a.known.apart.is_none() && !matches!(a.known.shape, Shape::Lines { .. }))
}

fn code_bytes(list: &[Arc<Compiled>]) -> usize {
    // The links of a chain have one function.
    list.iter().filter(|code| code.link.is_none_or(|link| link == 0)).map(|code| code.code.len()).sum()
}

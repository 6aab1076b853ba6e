//! A cache of programs that lie in guest memory: by their address, by their contents, and by the options that change code.
//!
//! Nothing of the embedder is called while the cache is locked: code is read, compared and lifted outside, and what was found is put in
//! afterwards. Threads that miss the same program at the same time each lift it, and all get the first one's, so it is compiled once.
//!
//! A program in whose lifting no address was asked for (`Code::address`, `bound`) is the same at any address: its clones share everything
//! and have a shift. An invalidation only makes the next [`ProgramCache::get`] compare the code.

use crate::fork::Mutex;
use crate::{Budget, CodeMap, CodeSource, Error, Program, ProgramOptions};
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

/// How many first bytes of programs are hashed to find equal ones: the most that lie in one piece.
const HEADS: [usize; 3] = [64, 16, 4];
/// Host memory for a program at an address.
const LOADED_BYTES: usize = size_of::<Loaded>() + 3 * size_of::<u64>();

/// Programs in guest memory, for an embedder whose guest names its code by address. Clones share the contents. It can be used by several
/// engines and threads at the same time.
///
/// [`ProgramCache::get`] loads a program when it is first asked for, and again when its code has changed. The cache does not see changes
/// by itself: tell it by [`ProgramCache::invalidate`] or [`ProgramCache::flush`] when the guest flushes instruction caches. A program that
/// was got before runs on as it was: a launch uses the old code or the new, never a mix.
///
/// Code with the same bytes and options is one program, compiled once, if it is at the same address again, or if nothing in it depends on
/// its address.
///
/// ```
/// use warpjit_runtime::{CodeAt, Isa, ProgramCache, ProgramOptions};
///
/// let cache = ProgramCache::new(64 << 20);
/// let options = ProgramOptions::new(Isa::Gcn).chip(Some("polaris10".parse()?));
/// let end = 0xbf81_0000_u32.to_le_bytes();
/// let source = CodeAt { address: 0x1000, bytes: &end };
/// cache.get(&source, 0x1000, &options)?;
/// cache.get(&source, 0x1000, &options)?;
/// // The guest has written other code, and flushes its instruction caches.
/// let nop = [0xbf80_0000_u32.to_le_bytes(), end].concat();
/// let source = CodeAt { address: 0x1000, bytes: &nop };
/// cache.invalidate(0x1000..0x2000);
/// assert_eq!(cache.get(&source, 0x1000, &options)?.code_ranges(), [0x1000..0x1008]);
/// let statistics = cache.statistics();
/// assert_eq!((statistics.hits, statistics.loads), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ProgramCache(Arc<Shared>);

/// What a [`ProgramCache`] has done and holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramCacheStats {
    /// Programs that were there, without a look at their code.
    pub hits: u64,
    /// Programs that were there, after their code was compared: the first time after an invalidation.
    pub confirmed: u64,
    /// Programs that were there for another address, or for what had been at this address before.
    pub shared: u64,
    /// Programs that were lifted.
    pub loads: u64,
    /// Programs that were dropped because the limit was reached.
    pub evictions: u64,
    /// Programs now.
    pub programs: usize,
    /// Bytes of host memory that they took when each was last got ([`Program::bytes_used`]).
    pub bytes: usize,
}

struct Shared {
    max_bytes: usize,
    budget: Budget,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By options, without the segment.
    families: HashMap<ProgramOptions, Family>,
    entries: HashMap<u64, Entry>,
    /// Numbers the uses of entries; entries are called by the number of their first.
    clock: u64,
    /// Invalidations so far, and how many there had been after the last of all addresses.
    changes: u64,
    flushed: u64,
    statistics: ProgramCacheStats,
}

/// Programs with the same options.
#[derive(Default)]
struct Family {
    loaded: HashMap<Address, Loaded>,
    /// By a hash of the first bytes.
    heads: HashMap<u64, Vec<u64>>,
}

/// Where a program is asked for: what its positions count from, and its entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Address {
    base: u64,
    entry: u64,
}

/// A program at an address.
struct Loaded {
    entry: u64,
    program: Program,
    /// The invalidations when its code was read; `None` if it must be looked at again.
    read: Option<u64>,
}

struct Entry {
    /// As it was loaded.
    program: Program,
    at: Address,
    options: ProgramOptions,
    head: u64,
    addresses: Vec<Address>,
    used: u64,
    bytes: usize,
}

impl Entry {
    fn code(&self) -> &CodeMap {
        &self.program.image().code
    }

    /// How far behind it an address is, if the program can be there.
    fn shift(&self, to: Address) -> Option<u64> {
        let shift = to.base.wrapping_sub(self.at.base);
        let same = to.entry.wrapping_sub(self.at.entry) == shift;
        (same && (shift == 0 || self.code().is_movable())).then_some(shift)
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// The hash by which a program is found.
fn head(program: &Program) -> u64 {
    let image = program.image();
    let bytes = image.code.bytes_at(image.function.block(image.function.entry).pc);
    let most = HEADS.into_iter().find(|&most| most <= bytes.len()).unwrap_or(0);
    hash(&bytes[..most])
}

impl Default for ProgramCache {
    /// A cache of up to 1 GiB.
    fn default() -> Self {
        ProgramCache::new(1 << 30)
    }
}

impl fmt::Debug for ProgramCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramCache")
            .field("max_bytes", &self.0.max_bytes)
            .field("statistics", &self.statistics())
            .finish_non_exhaustive()
    }
}

impl ProgramCache {
    /// An empty cache. When its programs, with what has been compiled of them, take more than `max_bytes`, those that were not got for
    /// the longest time are dropped; the one that was got last stays. Programs that somebody holds live on outside of the cache.
    pub fn new(max_bytes: usize) -> Self {
        ProgramCache::with_budget(max_bytes, Budget::default())
    }

    /// The same with a budget for each loading.
    pub fn with_budget(max_bytes: usize, budget: Budget) -> Self {
        ProgramCache(Arc::new(Shared { max_bytes, budget, state: Mutex::default() }))
    }

    /// The program whose first instruction is at a guest address, as [`Program::load_at`] loads it.
    ///
    /// `source` must be the same memory in all calls, or [`ProgramCache::flush`] must come between.
    ///
    /// # Errors
    /// As [`Program::load_at`]. Errors are not kept.
    pub fn get(
        &self,
        source: &dyn CodeSource,
        address: u64,
        options: &ProgramOptions,
    ) -> Result<Program, Error> {
        let at = Address { base: options.segment.unwrap_or(address), entry: address };
        let owned;
        let family = if options.segment.is_some() {
            owned = ProgramOptions { segment: None, ..options.clone() };
            &owned
        } else {
            options
        };
        let (found, changes) = {
            let mut state = self.0.state.lock();
            (state.find(family, at, self.0.max_bytes), state.changes)
        };
        match found {
            Some((program, true)) => return Ok(program),
            Some((program, false)) if program.is_current(source) => {
                let mut state = self.0.state.lock();
                state.statistics.confirmed += 1;
                state.confirm(family, at, changes);
                return Ok(program);
            }
            _ => {}
        }
        let mut bytes = [0; HEADS[0]];
        let count = source.read(address, &mut bytes).min(bytes.len());
        let heads = HEADS.iter().filter(|&&most| most <= count).map(|&most| hash(&bytes[..most]));
        let candidates = self.0.state.lock().candidates(family, at, heads);
        for (entry, program) in candidates {
            if program.is_current(source) {
                let mut state = self.0.state.lock();
                // It may have been dropped meanwhile.
                if state.put(family, at, entry, &program, changes, self.0.max_bytes) {
                    state.statistics.shared += 1;
                    return Ok(program);
                }
            }
        }
        let loaded = Program::load_at_within(source, address, options, self.0.budget, None)?;
        let mut state = self.0.state.lock();
        state.statistics.loads += 1;
        Ok(state.add(family, at, loaded, changes, self.0.max_bytes))
    }

    /// The guest may have changed the code in a range of addresses: programs that depend on it are compared with memory when they are
    /// next got. Takes time in proportion to the addresses of programs.
    pub fn invalidate(&self, range: Range<u64>) {
        let mut state = self.0.state.lock();
        state.changes += 1;
        for loaded in state.families.values_mut().flat_map(|family| family.loaded.values_mut()) {
            let touched = |code: &Range<u64>| code.start < range.end && range.start < code.end;
            if loaded.read.is_some() && loaded.program.code_ranges().iter().any(touched) {
                loaded.read = None;
            }
        }
    }

    /// The guest may have changed any code: each program is compared with memory when it is next got. Costs nothing by itself.
    pub fn flush(&self) {
        let mut state = self.0.state.lock();
        state.changes += 1;
        state.flushed = state.changes;
    }

    /// Drops all programs.
    pub fn clear(&self) {
        // Compiled code is freed outside of the lock.
        let (families, entries) = {
            let mut state = self.0.state.lock();
            state.changes += 1;
            state.statistics.bytes = 0;
            (std::mem::take(&mut state.families), std::mem::take(&mut state.entries))
        };
        drop((families, entries));
    }

    /// What the cache has done and holds.
    pub fn statistics(&self) -> ProgramCacheStats {
        let state = self.0.state.lock();
        ProgramCacheStats { programs: state.entries.len(), ..state.statistics }
    }
}

impl State {
    /// The program at an address, and whether it need not be looked at.
    fn find(&mut self, options: &ProgramOptions, at: Address, max_bytes: usize) -> Option<(Program, bool)> {
        let loaded = self.families.get(options)?.loaded.get(&at)?;
        let (entry, program) = (loaded.entry, loaded.program.clone());
        let known = loaded.read.is_some_and(|read| read >= self.flushed);
        self.statistics.hits += u64::from(known);
        self.touch(entry);
        self.shrink(entry, at, max_bytes);
        Some((program, known))
    }

    /// Its code was compared after so many changes.
    fn confirm(&mut self, options: &ProgramOptions, at: Address, changes: u64) {
        let read = (self.changes == changes).then_some(changes);
        if let Some(loaded) = self.families.get_mut(options).and_then(|family| family.loaded.get_mut(&at)) {
            loaded.read = read;
        }
    }

    /// Programs that may be what is at an address.
    fn candidates(
        &self,
        options: &ProgramOptions,
        at: Address,
        heads: impl Iterator<Item = u64>,
    ) -> Vec<(u64, Program)> {
        let Some(family) = self.families.get(options) else { return Vec::new() };
        let numbers = heads.filter_map(|head| family.heads.get(&head)).flatten();
        let entries = numbers.filter_map(|number| Some((*number, self.entries.get(number)?)));
        entries.filter_map(|(number, entry)| Some((number, entry.program.moved(entry.shift(at)?)))).collect()
    }

    /// Notes that an entry is used now, and how large it is.
    fn touch(&mut self, number: u64) {
        self.clock += 1;
        if let Some(entry) = self.entries.get_mut(&number) {
            let bytes = entry.program.bytes_used() + entry.addresses.len() * LOADED_BYTES;
            self.statistics.bytes = self.statistics.bytes - entry.bytes + bytes;
            (entry.used, entry.bytes) = (self.clock, bytes);
        }
    }

    /// Puts a program that is there at an address. `false` if it is not there any more.
    fn put(
        &mut self,
        options: &ProgramOptions,
        at: Address,
        number: u64,
        program: &Program,
        changes: u64,
        max_bytes: usize,
    ) -> bool {
        let Some(entry) = self.entries.get_mut(&number) else { return false };
        let loaded = Loaded {
            entry: number,
            program: program.clone(),
            read: (self.changes == changes).then_some(changes),
        };
        entry.addresses.push(at);
        let before = match self.families.get_mut(options) {
            Some(family) => family.loaded.insert(at, loaded),
            None => self.families.entry(options.clone()).or_default().loaded.insert(at, loaded),
        };
        if let Some(before) = before.and_then(|before| self.entries.get_mut(&before.entry)) {
            // Where it was before, which may be this one.
            if let Some(old) = before.addresses.iter().position(|&address| address == at) {
                before.addresses.swap_remove(old);
            }
        }
        self.touch(number);
        self.shrink(number, at, max_bytes);
        true
    }

    /// Adds a program that was loaded, unless somebody else has added the same meanwhile; gives that which counts.
    fn add(
        &mut self,
        options: &ProgramOptions,
        at: Address,
        loaded: Program,
        changes: u64,
        max_bytes: usize,
    ) -> Program {
        let head = head(&loaded);
        let code = &loaded.image().code;
        let known = self.candidates(options, at, std::iter::once(head)).into_iter().find(|(number, _)| {
            let entry = &self.entries[number];
            entry.shift(at).is_some_and(|shift| entry.code().is_same(code, shift))
        });
        let (number, program) = known.unwrap_or_else(|| {
            self.clock += 1;
            let number = self.clock;
            let entry = Entry {
                program: loaded.clone(),
                at,
                options: options.clone(),
                head,
                addresses: Vec::new(),
                used: number,
                bytes: 0,
            };
            self.entries.insert(number, entry);
            self.families.entry(options.clone()).or_default().heads.entry(head).or_default().push(number);
            (number, loaded)
        });
        self.put(options, at, number, &program, changes, max_bytes);
        program
    }

    /// Drops the programs that were not used for the longest time, until the limit holds; of `kept` all addresses but one.
    fn shrink(&mut self, kept: u64, at: Address, max_bytes: usize) {
        while self.statistics.bytes > max_bytes && self.entries.len() > 1 {
            let others = self.entries.iter().filter(|&(&number, _)| number != kept);
            let Some((&oldest, _)) = others.min_by_key(|(_, entry)| entry.used) else { break };
            self.evict(oldest);
        }
        if self.statistics.bytes <= max_bytes {
            return;
        }
        if let Some(entry) = self.entries.get_mut(&kept) {
            let dropped: Vec<_> = entry.addresses.iter().copied().filter(|&address| address != at).collect();
            entry.addresses.retain(|&address| address == at);
            if let Some(family) = self.families.get_mut(&entry.options) {
                dropped.iter().for_each(|address| drop(family.loaded.remove(address)));
            }
            let bytes = dropped.len() * LOADED_BYTES;
            entry.bytes -= bytes;
            self.statistics.bytes -= bytes;
        }
    }

    fn evict(&mut self, number: u64) {
        let Some(entry) = self.entries.remove(&number) else { return };
        self.statistics.bytes -= entry.bytes;
        self.statistics.evictions += 1;
        let Some(family) = self.families.get_mut(&entry.options) else { return };
        entry.addresses.iter().for_each(|address| drop(family.loaded.remove(address)));
        if let Some(list) = family.heads.get_mut(&entry.head) {
            list.retain(|&other| other != number);
            if list.is_empty() {
                family.heads.remove(&entry.head);
            }
        }
        if family.loaded.is_empty() && family.heads.is_empty() {
            self.families.remove(&entry.options);
        }
    }
}

//! Loads compiled code from the cache on disk and saves it there: one file a kernel. `regions` has the form of a region in the file.

mod regions;

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use warpjit_frontend::registry;
use warpjit_ir::Block;

use super::rows::MOST_ROW_VERSIONS;
use super::versions::{MOST_START_VERSIONS, MOST_VERSIONS, Versions};
use super::{Chain, Compiled, Jit, lock};
use crate::Tier;
use crate::bytes::{Reader, Writer};
use crate::cache::{CacheConfig, Key, Store};
use crate::debug::Announced;
use crate::digest::Digest;
use crate::exec::strategy::Strategy;
use crate::fork::Mutex;
use crate::variant::Variant;

use regions::{Names, Stored};

/// The contents of a cache file.
#[derive(Debug, Default)]
struct Contents<'a> {
    /// Blocks that the interpreter must run.
    never: Vec<Block>,
    /// Whether the kernel cannot have grid-row code.
    no_rows: bool,
    /// The best strategy, as [`Strategy::stored`]; 0 if it is not known.
    strategy: u8,
    regions: Vec<Stored<'a>>,
}

impl Jit {
    /// The cache key of the kernel's code: a digest of everything that the code depends on. The target stands for the
    /// host and its features; target and settings determine the code generator.
    pub(super) fn key(&self) -> Key {
        let mut digest = Digest::new();
        (env!("CARGO_PKG_VERSION"), env!("WARPJIT_BUILD")).hash(&mut digest);
        // Settings that do not change the code are left out.
        Variant { tier: Tier::Jit, hot_after: 0, join_after: None, perf: false, ..self.variant }
            .hash(&mut digest);
        self.generator.hash_with(&self.target, &mut digest);
        self.kernel.func.hash(&mut digest);
        self.facts.hash(&mut digest);
        Key(digest.value())
    }

    /// Loads the code that a cache has, and keeps the cache for what is compiled.
    pub(super) fn load_from(&mut self, cache: &CacheConfig) {
        let (store, key) = (Store::new(cache.clone()), self.key());
        self.load(&store, key);
        self.store = Some((store, key));
    }

    /// Loads the code stored under a key.
    pub(super) fn load(&self, store: &Store, key: Key) {
        let Some(bytes) = store.load(key) else { return };
        let Some(contents) = self.read(&bytes) else { return };
        for block in contents.never {
            lock(&self.versions[block.index()]).impossible = true;
        }
        lock(&self.rows).impossible |= contents.no_rows;
        self.strategy.store(contents.strategy, Ordering::Relaxed);
        // If there is no memory for code, nothing is loaded; compiling will try again.
        let codes: Vec<&[u8]> = contents.regions.iter().map(|region| region.code).collect();
        let Ok(codes) = self.memory.add_all(&codes) else { return };
        for (stored, code) in contents.regions.into_iter().zip(codes) {
            let mut made = Compiled {
                announced: Announced::default(),
                code: Arc::new(code),
                tables: stored.facts.table_names.iter().map(|&table| table.into()).collect(),
                facts: stored.facts,
                listing: None,
                source: Mutex::default(),
                at: stored.at,
                link: None,
                lanes: self.kernel.func.lanes as usize,
                number: 0,
            };
            if !stored.links.is_empty() {
                // Where the program says when regions are joined, chains are made then.
                if self.variant.join_after.is_none() {
                    made.link = Some(0);
                    made.announced = self.announce(stored.at, &mut made);
                    self.loaded.fetch_add(stored.links.len() as u64, Ordering::Relaxed);
                    self.add_first_chain(Chain::of_blocks(made, &stored.links));
                }
                continue;
            }
            let mut versions = match &made.facts.row {
                Some(row) => {
                    lock(&self.kinds).learn(row.size, row.kind);
                    lock(&self.rows)
                }
                None => lock(&self.versions[stored.at.index()]),
            };
            let _ = versions.add(Ok(Some(made)), false, |code| self.announce(stored.at, code));
            self.loaded.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether there is something to store.
    pub fn is_unsaved(&self) -> bool {
        self.store.is_some() && self.unsaved.load(Ordering::Relaxed)
    }

    /// Saves compiled code, and keeps what others have saved meanwhile: other processes, other programs with this kernel, and other
    /// threads that save this one.
    pub fn save(&self) {
        let Some((store, key)) = &self.store else { return };
        if !self.unsaved.swap(false, Ordering::Relaxed) {
            return;
        }
        store.update(*key, |before| self.merged(before));
    }

    /// The bytes to store where a file holds `before`.
    fn merged(&self, before: Option<&[u8]>) -> Vec<u8> {
        let before = before.and_then(|bytes| self.read(bytes)).unwrap_or_default();
        let mut never = Vec::new();
        let mut kept = Vec::new();
        let refused = self.refusal().is_some();
        for (number, versions) in self.versions.iter().enumerate() {
            let at = Block::new(number);
            let Versions { list, impossible, .. } = &*lock(versions);
            // What the code generator rejected is not saved as impossible, so that each process reports the reason.
            if *impossible && !refused {
                never.push(at);
            }
            kept.extend(list.iter().filter(|code| !code.is_chain()).map(|code| (at, code.clone())));
        }
        kept.extend(lock(&self.rows).list.iter().map(|code| (code.at, code.clone())));
        let chain = if self.is_single() { self.chains.last() } else { None };
        let mut regions: Vec<Stored<'_>> = kept.iter().map(|(at, code)| Stored::of(*at, code)).collect();
        regions.extend(chain.as_deref().and_then(Stored::of_chain));
        for other in before.regions {
            let like = || regions.iter().filter(|region| region.is_like(&other));
            let room = like().count() < self.most_like(&other);
            if room
                && like().all(|r| {
                    (&r.facts.assumptions, &r.facts.row) != (&other.facts.assumptions, &other.facts.row)
                })
            {
                regions.push(other);
            }
        }
        // A version without assumptions fits every warp, so it must come last.
        // Where there are both, the code of a region comes before a chain's.
        regions.sort_by_key(|r| (!r.links.is_empty(), r.at, r.facts.assumptions.is_empty()));
        if !refused {
            never.extend(before.never.into_iter().filter(|block| !never.contains(block)).collect::<Vec<_>>());
        }
        let mut out = Writer::default();
        out.u64(self.frame_bytes());
        out.list(never.iter(), |out, block| out.u32(block.0));
        out.u8((!refused && lock(&self.rows).impossible || before.no_rows).into());
        let own = self.strategy.load(Ordering::Relaxed);
        out.u8(if own == 0 { before.strategy } else { own });
        out.list(regions.iter(), |out, region| region.write(out));
        out.0
    }

    /// Size of the frame, as a check that the file belongs to this kernel.
    fn frame_bytes(&self) -> u64 {
        self.kernel.func.frame_layout().1.into()
    }

    /// Parses and checks a file's bytes; `None` if they do not fit this kernel.
    fn read<'a>(&self, bytes: &'a [u8]) -> Option<Contents<'a>> {
        let mut from = Reader(bytes);
        if from.u64()? != self.frame_bytes() {
            return None;
        }
        let never = from.list(|from| self.block(from))?;
        let no_rows = match from.u8()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let strategy = from.u8()?;
        if strategy != 0 && Strategy::of_stored(strategy).is_none() {
            return None;
        }
        let mut pures = Names { find: |name: &str| self.find_pure(name), known: Vec::new() };
        let mut tables = Names { find: registry::table, known: Vec::new() };
        let regions = from.list(|from| self.read_region(from, &mut pures, &mut tables))?;
        let most = |region: &Stored<'_>| {
            regions.iter().filter(|other| other.is_like(region)).count() <= self.most_like(region)
        };
        (from.is_empty() && regions.iter().all(most)).then_some(Contents {
            never,
            no_rows,
            strategy,
            regions,
        })
    }

    /// The most versions that the stored region may have.
    fn most_like(&self, region: &Stored<'_>) -> usize {
        match region.facts.row {
            None if !region.links.is_empty() => 1,
            Some(_) => MOST_ROW_VERSIONS,
            None if self.is_start(region.at) => MOST_START_VERSIONS + 1,
            None => MOST_VERSIONS + 1,
        }
    }
}

#[cfg(test)]
#[path = "stored_tests.rs"]
mod tests;

//! Serialises compiled regions for the cache on disk, and reads them back with every field checked.

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use warpjit_backend::{
    HostPlace, Returns, Shape, SlotShape, TrapLane, TrapSite, VECTOR_LANES, decode_space, encode_space,
};
use warpjit_frontend::registry;
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::regions::liveness::SlotSet;
use warpjit_ir::regions::promote::RegionFault;
use warpjit_ir::{Block, DeviceSite, GuestFault, Imm, PureFn, Scalar, Slot, Terminator, WordTable};

use super::assumptions::{Assumption, MOST_LANES, StartShapes};
use super::rows::{MOST_ROW_VERSIONS, PhaseExits, RowNeeds};
use super::{Compiled, Jit, MOST_START_VERSIONS, MOST_VERSIONS, Versions, lock};
use crate::Tier;
use crate::bytes::{Reader, Writer};
use crate::cache::{CacheConfig, Key, Store};
use crate::debug::Announced;
use crate::digest::Digest;
use crate::variant::Variant;
use crate::vm::FloatMode;

/// A compiled region, its code wherever it lies.
#[derive(Debug)]
struct Stored<'a> {
    at: Block,
    code: &'a [u8],
    /// See [`RegionCode::pcs`](warpjit_backend::RegionCode::pcs); empty if not asked for.
    pcs: Vec<(u32, u32)>,
    traps: Vec<(u32, TrapSite)>,
    pures: Vec<&'static PureFn>,
    devices: Vec<DeviceSite>,
    tables: Vec<&'static WordTable>,
    returns: Vec<Returns>,
    mode: FloatMode,
    exits: Vec<ExitKind>,
    faults: Vec<RegionFault>,
    assumptions: Vec<Assumption>,
    start: Option<StartShapes>,
    written: SlotSet,
    steps: u32,
    waits: u32,
    row: Option<RowNeeds>,
}

/// The contents of a cache file.
#[derive(Debug, Default)]
struct Contents<'a> {
    /// Blocks that the interpreter must run.
    never: Vec<Block>,
    /// Whether the kernel cannot have grid-row code.
    no_rows: bool,
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
        // If there is no memory for code, nothing is loaded; compiling will try again.
        let codes: Vec<&[u8]> = contents.regions.iter().map(|region| region.code).collect();
        let Ok(codes) = self.memory.add_all(&codes) else { return };
        for (stored, code) in contents.regions.into_iter().zip(codes) {
            let mut versions = match &stored.row {
                Some(row) => {
                    lock(&self.kinds).learn(row.size, row.kind);
                    lock(&self.rows)
                }
                None => lock(&self.versions[stored.at.index()]),
            };
            let made = Compiled {
                announced: Announced::default(),
                code: Arc::new(code),
                pcs: stored.pcs.into(),
                traps: stored.traps.into(),
                pures: stored.pures.into(),
                devices: stored.devices.into(),
                tables: stored.tables.iter().map(|&table| table.into()).collect(),
                table_names: stored.tables,
                returns: stored.returns,
                mode: stored.mode,
                exits: stored.exits.into(),
                faults: stored.faults.into(),
                assumptions: stored.assumptions,
                start: stored.start,
                written: stored.written,
                steps: stored.steps,
                waits: stored.waits,
                row: stored.row,
                listing: None,
                at: stored.at,
                link: None,
                lanes: self.kernel.func.lanes as usize,
                number: 0,
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
            kept.extend(list.iter().map(|code| (at, code.clone())));
        }
        kept.extend(lock(&self.rows).list.iter().map(|code| (code.at, code.clone())));
        let mut regions: Vec<Stored<'_>> = kept.iter().map(|(at, code)| Stored::of(*at, code)).collect();
        for other in before.regions {
            let like = || regions.iter().filter(|region| region.is_like(&other));
            let room = like().count() < self.most_like(&other);
            if room && like().all(|r| (&r.assumptions, &r.row) != (&other.assumptions, &other.row)) {
                regions.push(other);
            }
        }
        // A version without assumptions fits every warp, so it must come last.
        regions.sort_by_key(|region| (region.at, region.assumptions.is_empty()));
        if !refused {
            never.extend(before.never.into_iter().filter(|block| !never.contains(block)).collect::<Vec<_>>());
        }
        let mut out = Writer::default();
        out.u64(self.frame_bytes());
        out.list(never.iter(), |out, block| out.u32(block.0));
        out.u8((!refused && lock(&self.rows).impossible || before.no_rows).into());
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
        let mut pures = Names { find: |name: &str| self.find_pure(name), known: Vec::new() };
        let mut tables = Names { find: registry::table, known: Vec::new() };
        let regions = from.list(|from| self.read_region(from, &mut pures, &mut tables))?;
        let most = |region: &Stored<'_>| {
            regions.iter().filter(|other| other.is_like(region)).count() <= self.most_like(region)
        };
        (from.is_empty() && regions.iter().all(most)).then_some(Contents { never, no_rows, regions })
    }

    /// The most versions that the stored region may have.
    fn most_like(&self, region: &Stored<'_>) -> usize {
        match region.row {
            Some(_) => MOST_ROW_VERSIONS,
            None if self.is_start(region.at) => MOST_START_VERSIONS + 1,
            None => MOST_VERSIONS + 1,
        }
    }

    fn block(&self, from: &mut Reader<'_>) -> Option<Block> {
        let block = Block(from.u32()?);
        (block.index() < self.kernel.func.blocks.len()).then_some(block)
    }

    fn slot(&self, from: &mut Reader<'_>) -> Option<Slot> {
        let slot = Slot(from.u32()?);
        (slot.index() < self.kernel.func.slots.len()).then_some(slot)
    }

    /// Finds a pure function by name: a frontend's, or one that the kernel calls.
    fn find_pure(&self, name: &str) -> Option<&'static PureFn> {
        registry::pure(name).or_else(|| {
            self.kernel.func.insts.iter().find_map(|inst| match inst.imm {
                Imm::Pure(callee) if callee.name == name => Some(callee),
                _ => None,
            })
        })
    }

    fn read_exits(&self, from: &mut Reader<'_>) -> Option<Vec<ExitKind>> {
        from.list(|from| {
            Some(match from.u8()? {
                0 => ExitKind::Ended,
                1 => ExitKind::Terminator(self.block(from)?),
                2 => ExitKind::Enter(self.block(from)?),
                _ => return None,
            })
        })
    }

    /// Reads faults and checks that the kernel has them.
    fn read_faults(&self, from: &mut Reader<'_>) -> Option<Vec<RegionFault>> {
        from.list(|from| {
            let kind = match from.u8()? {
                0 => GuestFault::Illegal,
                1 => GuestFault::Trap,
                _ => return None,
            };
            let fault = RegionFault { kind, pc: from.u32()? };
            let mut blocks = self.kernel.func.blocks.iter();
            blocks
                .any(|b| {
                    b.term_pc == fault.pc && matches!(b.term, Some(Terminator::Fault(own)) if own == kind)
                })
                .then_some(fault)
        })
    }

    fn read_region<'a>(
        &self,
        from: &mut Reader<'a>,
        pures: &mut Names<'a, PureFn, impl Fn(&str) -> Option<&'static PureFn>>,
        tables: &mut Names<'a, WordTable, impl Fn(&str) -> Option<&'static WordTable>>,
    ) -> Option<Stored<'a>> {
        let func = &self.kernel.func;
        let at = self.block(from)?;
        let mode = match from.u8()? {
            0 => FloatMode::Ieee,
            1 => FloatMode::Flush,
            _ => return None,
        };
        let code = from.bytes()?;
        let traps = from.list(|from| {
            let offset = from.u32()?;
            ((offset as usize) < code.len()).then_some((offset, read_site(from)?))
        })?;
        if !traps.is_sorted_by_key(|trap| trap.0) || code.is_empty() {
            return None;
        }
        let pcs = from.list(|from| Some((from.u32()?, from.u32()?)))?;
        if !pcs.is_sorted_by(|a, b| a.0 < b.0) || pcs.is_empty() == self.variant.pcs {
            return None;
        }
        // The code refers to functions and tables by their index in these lists.
        let named = [from.u32()?, from.u32()?, from.u32()?];
        let pures = from.list(|from| pures.get(from.text()?))?;
        let tables = from.list(|from| tables.get(from.text()?))?;
        let devices = from.list(|from| {
            let callee = registry::device(from.text()?)?;
            Some(DeviceSite { callee, params: from.u64()?, mailbox: from.u32()? })
        })?;
        if named.map(|count| count as usize) != [pures.len(), tables.len(), devices.len()] {
            return None;
        }
        let returns = from.list(|from| Some(Returns { exits: from.u32()?, faults: from.u32()? }))?;
        let exits = self.read_exits(from)?;
        let faults = self.read_faults(from)?;
        let assumptions = from.list(|from| {
            let slot = self.slot(from)?;
            let ty = func.slots[slot.index()].ty;
            // Check the sizes that `Assumption::holds` relies on.
            let lanes = from.u32()?;
            let possible =
                (4..=func.lanes.min(MOST_LANES as u32)).contains(&lanes) && lanes.is_power_of_two();
            let even = !ty.uniform && ty.scalar == Scalar::I32 && possible;
            let whole = lanes == if ty.uniform { 1 } else { func.lanes };
            let shape = match (from.u8()?, from.u32()? as i32) {
                (0, 0) if even => Shape::Uniform,
                (1, step) if even => Shape::Affine(step),
                (2, step) if even => Shape::Packed(step),
                (3, 0) if whole => Shape::Ones,
                (4, step) if even => {
                    let (of, apart, packed) = (from.u8()?, from.u32()? as i32, flag(from.u8()?)?);
                    if !matches!(of, 4 | 8) || lanes < VECTOR_LANES {
                        return None;
                    }
                    Shape::Lines { lanes: of, step, apart, packed }
                }
                _ => return None,
            };
            let known = match (from.u8()?, from.u32()? as i32) {
                (0, 0) => SlotShape::new(shape, lanes),
                (1, apart) if !matches!(shape, Shape::Ones | Shape::Lines { .. }) && lanes > VECTOR_LANES => {
                    SlotShape::apart(shape, lanes, apart)
                }
                _ => return None,
            };
            Some(Assumption::new(slot, self.offsets[slot.index()], known))
        })?;
        let start = match from.u8()? {
            0 => None,
            1 => {
                let slots = from.list(|from| self.slot(from))?;
                let of_lanes = |slot: &Slot| {
                    let ty = func.slots[slot.index()].ty;
                    !ty.uniform && ty.scalar == Scalar::I32
                };
                let lanes = from.u32()?;
                let possible = (4..=MOST_LANES as u32).contains(&lanes) && lanes.is_power_of_two();
                if !possible || !slots.iter().all(of_lanes) {
                    return None;
                }
                Some(StartShapes::new(slots, lanes, &assumptions))
            }
            _ => return None,
        };
        let mut written = SlotSet::empty(func.slots.len());
        for slot in from.list(|from| self.slot(from))? {
            written.insert(slot);
        }
        let steps = from.u32()?;
        let waits = from.u32()?;
        if waits != 0 && !((4..=MOST_LANES as u32).contains(&waits) && waits.is_power_of_two()) {
            return None;
        }
        let row = match from.u8()? {
            0 => None,
            1 => Some(RowNeeds {
                kind: from.u64()?,
                size: ([from.u32()?, from.u32()?, from.u32()?], flag(from.u8()?)?),
                same: from.list(|from| self.slot(from))?,
                shared: from.u32()?,
                whole: flag(from.u8()?)?,
                copies_shared: flag(from.u8()?)?,
                warps: match from.u8()? {
                    0 => None,
                    1 => Some(from.u32()?),
                    _ => return None,
                },
                phases: from.list(|from| {
                    let at = self.block(from)?;
                    let (exits, faults) = (self.read_exits(from)?, self.read_faults(from)?);
                    let firsts =
                        from.list(|from| Some(self.firsts_of(self.slot(from)?, from.u32()? as i32)))?;
                    let next = from.list(|from| from.list(Reader::u32))?;
                    Some(PhaseExits { at, exits, faults, firsts, next })
                })?,
            })
            .filter(|row| !row.phases.is_empty()),
            _ => return None,
        };
        // Every value that the code may return must be a known exit or fault.
        let knows = |returns: &Returns, exits: &[ExitKind], faults: &[RegionFault]| {
            returns.exits as usize <= exits.len() && returns.faults as usize <= faults.len()
        };
        let is_known = match &row {
            None => matches!(&returns[..], [returns] if knows(returns, &exits, &faults)),
            Some(row) => {
                let phases = || returns.iter().zip(&row.phases);
                returns.len() == row.phases.len()
                    && phases().all(|(returns, phase)| knows(returns, &phase.exits, &phase.faults))
            }
        };
        if !is_known {
            return None;
        }
        Some(Stored {
            at,
            code,
            pcs,
            traps,
            pures,
            devices,
            tables,
            returns,
            mode,
            exits,
            faults,
            assumptions,
            start,
            written,
            steps,
            waits,
            row,
        })
    }
}

impl<'a> Stored<'a> {
    fn of(at: Block, compiled: &'a Compiled) -> Self {
        // Names every field, so that a new one cannot be forgotten here.
        let Compiled {
            announced: _,
            code,
            pcs,
            traps,
            pures,
            devices,
            tables: _,
            table_names,
            returns,
            mode,
            exits,
            faults,
            assumptions,
            start,
            written,
            steps,
            waits,
            row,
            at: _,
            link: _,
            lanes: _,
            number: _,
            listing: _,
        } = compiled;
        Stored {
            at,
            code: code.bytes(),
            pcs: pcs.to_vec(),
            traps: traps.to_vec(),
            pures: pures.to_vec(),
            devices: devices.to_vec(),
            tables: table_names.clone(),
            returns: returns.clone(),
            mode: *mode,
            exits: exits.to_vec(),
            faults: faults.to_vec(),
            assumptions: assumptions.clone(),
            start: start.clone(),
            written: written.clone(),
            steps: *steps,
            waits: *waits,
            row: row.clone(),
        }
    }

    /// Whether both are versions of one thing.
    fn is_like(&self, other: &Stored<'_>) -> bool {
        self.at == other.at && self.row.is_some() == other.row.is_some()
    }

    fn write(&self, out: &mut Writer) {
        out.u32(self.at.0);
        out.u8(match self.mode {
            FloatMode::Ieee => 0,
            FloatMode::Flush => 1,
        });
        out.bytes(self.code);
        out.list(self.traps.iter(), |out, (offset, site)| {
            out.u32(*offset);
            write_site(out, site);
        });
        out.list(self.pcs.iter(), |out, (offset, pc)| {
            out.u32(*offset);
            out.u32(*pc);
        });
        out.u32(self.pures.len() as u32);
        out.u32(self.tables.len() as u32);
        out.u32(self.devices.len() as u32);
        out.list(self.pures.iter(), |out, pure| out.bytes(pure.name.as_bytes()));
        out.list(self.tables.iter(), |out, table| out.bytes(table.name().as_bytes()));
        out.list(self.devices.iter(), |out, site| {
            out.bytes(site.callee.name.as_bytes());
            out.u64(site.params);
            out.u32(site.mailbox);
        });
        out.list(self.returns.iter(), |out, returns| {
            out.u32(returns.exits);
            out.u32(returns.faults);
        });
        write_exits(out, &self.exits, &self.faults);
        out.list(self.assumptions.iter(), |out, assumption| {
            let (shape, step) = match assumption.known.shape {
                Shape::Uniform => (0, 0),
                Shape::Affine(step) => (1, step),
                Shape::Packed(step) => (2, step),
                Shape::Ones => (3, 0),
                Shape::Lines { step, .. } => (4, step),
            };
            out.u32(assumption.slot.0);
            out.u32(assumption.known.lanes);
            out.u8(shape);
            out.u32(step as u32);
            if let Shape::Lines { lanes, apart, packed, .. } = assumption.known.shape {
                out.u8(lanes);
                out.u32(apart as u32);
                out.u8(packed.into());
            }
            out.u8(assumption.known.apart.is_some().into());
            out.u32(assumption.known.apart.unwrap_or(0) as u32);
        });
        out.u8(self.start.is_some().into());
        if let Some(start) = &self.start {
            out.list(start.slots.iter(), |out, slot| out.u32(slot.0));
            out.u32(start.chunk_lanes);
        }
        let written: Vec<Slot> = self.written.iter().collect();
        out.list(written.iter(), |out, slot| out.u32(slot.0));
        out.u32(self.steps);
        out.u32(self.waits);
        out.u8(self.row.is_some().into());
        if let Some(row) = &self.row {
            let (threads, whole) = row.size;
            out.u64(row.kind);
            threads.into_iter().for_each(|threads| out.u32(threads));
            out.u8(whole.into());
            out.list(row.same.iter(), |out, slot| out.u32(slot.0));
            out.u32(row.shared);
            out.u8(row.whole.into());
            out.u8(row.copies_shared.into());
            out.u8(row.warps.is_some().into());
            row.warps.iter().for_each(|&warps| out.u32(warps));
            out.list(row.phases.iter(), |out, phase| {
                out.u32(phase.at.0);
                write_exits(out, &phase.exits, &phase.faults);
                out.list(phase.firsts.iter(), |out, firsts| {
                    out.u32(firsts.slot.0);
                    out.u32(firsts.step as u32);
                });
                out.list(phase.next.iter(), |out, next| out.list(next.iter(), |out, &to| out.u32(to)));
            });
        }
    }
}

/// Reads a truth value; only 0 and 1 are valid.
fn flag(byte: u8) -> Option<bool> {
    (byte < 2).then_some(byte == 1)
}

fn write_exits(out: &mut Writer, exits: &[ExitKind], faults: &[RegionFault]) {
    out.list(exits.iter(), |out, exit| match exit {
        ExitKind::Ended => out.u8(0),
        ExitKind::Terminator(block) => {
            out.u8(1);
            out.u32(block.0);
        }
        ExitKind::Enter(block) => {
            out.u8(2);
            out.u32(block.0);
        }
    });
    out.list(faults.iter(), |out, fault| {
        out.u8(match fault.kind {
            GuestFault::Illegal => 0,
            GuestFault::Trap => 1,
        });
        out.u32(fault.pc);
    });
}

fn write_site(out: &mut Writer, site: &TrapSite) {
    let TrapSite { pc, lane, space, store, bytes } = *site;
    out.u32(pc);
    let (kind, lane, flags) = match lane {
        TrapLane::Lane(lane) => (0, lane, [false; 2]),
        TrapLane::Vector { first } => (1, first, [false; 2]),
        TrapLane::First { guarded } => (2, 0, [guarded, false]),
        TrapLane::Run { first, guarded, .. } => (3, first, [guarded, false]),
        TrapLane::Gather { first, wide, guarded } => (4, first, [guarded, wide]),
        TrapLane::Single => (5, 0, [false; 2]),
        TrapLane::One { lane, guarded, .. } => (6, lane, [guarded, false]),
    };
    out.u8(kind);
    out.u8(lane);
    flags.into_iter().for_each(|flag| out.u8(flag.into()));
    if let TrapLane::Run { lanes, step, .. } = site.lane {
        out.u8(lanes);
        out.u8(step as u8);
    }
    if let TrapLane::Run { place, .. } | TrapLane::One { place, .. } = site.lane {
        let (index, scale) = place.index.unwrap_or((0, 0));
        [place.base, index, scale].into_iter().for_each(|byte| out.u8(byte));
        out.u32(place.disp as u32);
    }
    out.u32(encode_space(space));
    out.u8(store.into());
    out.u8(bytes);
}

fn read_place(from: &mut Reader<'_>) -> Option<HostPlace> {
    let mut register = || from.u8().filter(|&register| register < 16);
    let (base, index, scale) = (register()?, register()?, register()?);
    Some(HostPlace { base, index: (scale != 0).then_some((index, scale)), disp: from.u32()? as i32 })
}

fn read_site(from: &mut Reader<'_>) -> Option<TrapSite> {
    let pc = from.u32()?;
    let (kind, first) = (from.u8()?, from.u8()?);
    let (guarded, other) = (flag(from.u8()?)?, flag(from.u8()?)?);
    let lane = match kind {
        0 => TrapLane::Lane(first),
        1 => TrapLane::Vector { first },
        2 => TrapLane::First { guarded },
        3 => TrapLane::Run {
            first,
            guarded,
            lanes: from.u8()?,
            step: from.u8()? as i8,
            place: read_place(from)?,
        },
        4 => TrapLane::Gather { first, wide: other, guarded },
        5 => TrapLane::Single,
        6 => TrapLane::One { lane: first, guarded, place: read_place(from)? },
        _ => return None,
    };
    let space = from.u32()?;
    let (space, known) = (decode_space(space), space);
    let (store, bytes) = (flag(from.u8()?)?, from.u8()?);
    (encode_space(space) == known && bytes.is_power_of_two()).then_some(TrapSite {
        pc,
        lane,
        space,
        store,
        bytes,
    })
}

/// Finds statics by name, each only once a file.
struct Names<'a, T: 'static, F> {
    find: F,
    known: Vec<(&'a str, &'static T)>,
}

impl<'a, T, F: Fn(&str) -> Option<&'static T>> Names<'a, T, F> {
    fn get(&mut self, name: &'a str) -> Option<&'static T> {
        if let Some((_, found)) = self.known.iter().find(|(known, _)| *known == name) {
            return Some(found);
        }
        let found = (self.find)(name)?;
        self.known.push((name, found));
        Some(found)
    }
}

#[cfg(test)]
#[path = "stored_tests.rs"]
mod tests;

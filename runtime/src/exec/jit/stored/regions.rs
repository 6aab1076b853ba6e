//! The form of one compiled region in a file of the cache. What is read is checked field by field: a file may hold anything.

use warpjit_backend::{
    HostPlace, Returns, Shape, SlotShape, TrapLane, TrapSite, VECTOR_LANES, decode_space, encode_space,
};
use warpjit_frontend::registry;
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::regions::liveness::SlotSet;
use warpjit_ir::regions::promote::RegionFault;
use warpjit_ir::{Block, DeviceSite, GuestFault, Imm, PureFn, Scalar, Slot, Terminator, WordTable};

use crate::bytes::{Reader, Writer};
use crate::exec::jit::assumptions::{Assumption, MOST_LANES, StartShapes};
use crate::exec::jit::compiled::CodeFacts;
use crate::exec::jit::rows::{PhaseExits, RowNeeds};
use crate::exec::jit::{Chain, Compiled, Jit};
use crate::vm::FloatMode;

/// A compiled region, or a chain of regions that assume nothing, its code wherever it lies.
#[derive(Debug)]
pub(super) struct Stored<'a> {
    pub at: Block,
    /// Of a chain: the blocks of its links.
    pub links: Vec<Block>,
    pub code: &'a [u8],
    pub facts: CodeFacts,
}

impl Jit {
    pub(super) fn block(&self, from: &mut Reader<'_>) -> Option<Block> {
        let block = Block(from.u32()?);
        (block.index() < self.kernel.func.blocks.len()).then_some(block)
    }

    pub(super) fn slot(&self, from: &mut Reader<'_>) -> Option<Slot> {
        let slot = Slot(from.u32()?);
        (slot.index() < self.kernel.func.slots.len()).then_some(slot)
    }

    /// Finds a pure function by name: a frontend's, or one that the kernel calls.
    pub(super) fn find_pure(&self, name: &str) -> Option<&'static PureFn> {
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

    pub(super) fn read_region<'a>(
        &self,
        from: &mut Reader<'a>,
        pures: &mut Names<'a, PureFn, impl Fn(&str) -> Option<&'static PureFn>>,
        tables: &mut Names<'a, WordTable, impl Fn(&str) -> Option<&'static WordTable>>,
    ) -> Option<Stored<'a>> {
        let func = &self.kernel.func;
        let at = self.block(from)?;
        let links = from.list(|from| self.block(from))?;
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
        let may_be_chain = self.is_single() && assumptions.is_empty() && row.is_none() && waits == 0;
        if !is_known || !links.is_empty() && !may_be_chain {
            return None;
        }
        let facts = CodeFacts {
            pcs: pcs.into(),
            traps: traps.into(),
            pures: pures.into(),
            devices: devices.into(),
            table_names: tables.into(),
            returns: returns.into(),
            mode,
            exits: exits.into(),
            faults: faults.into(),
            assumptions,
            start,
            written,
            steps,
            waits,
            row,
        };
        Some(Stored { at, links, code, facts })
    }
}

impl<'a> Stored<'a> {
    pub fn of(at: Block, compiled: &'a Compiled) -> Self {
        Stored { at, links: Vec::new(), code: compiled.code.bytes(), facts: compiled.facts.clone() }
    }

    /// A chain, if it has the form that is kept.
    pub fn of_chain(chain: &'a Chain) -> Option<Self> {
        let (at, first) = chain.links().next()?;
        Some(Stored { links: chain.blocks()?, ..Stored::of(at, first) })
    }

    /// Whether both are versions of one thing.
    pub fn is_like(&self, other: &Stored<'_>) -> bool {
        let kind = |of: &Stored<'_>| (of.facts.row.is_some(), !of.links.is_empty());
        kind(self) == kind(other) && (self.at == other.at || !self.links.is_empty())
    }

    pub fn write(&self, out: &mut Writer) {
        // Names every field, so that a new one cannot be forgotten here.
        let CodeFacts {
            pcs,
            traps,
            pures,
            devices,
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
        } = &self.facts;
        out.u32(self.at.0);
        out.list(self.links.iter(), |out, at| out.u32(at.0));
        out.u8(match mode {
            FloatMode::Ieee => 0,
            FloatMode::Flush => 1,
        });
        out.bytes(self.code);
        out.list(traps.iter(), |out, (offset, site)| {
            out.u32(*offset);
            write_site(out, site);
        });
        out.list(pcs.iter(), |out, (offset, pc)| {
            out.u32(*offset);
            out.u32(*pc);
        });
        out.u32(pures.len() as u32);
        out.u32(table_names.len() as u32);
        out.u32(devices.len() as u32);
        out.list(pures.iter(), |out, pure| out.bytes(pure.name.as_bytes()));
        out.list(table_names.iter(), |out, table| out.bytes(table.name().as_bytes()));
        out.list(devices.iter(), |out, site| {
            out.bytes(site.callee.name.as_bytes());
            out.u64(site.params);
            out.u32(site.mailbox);
        });
        out.list(returns.iter(), |out, returns| {
            out.u32(returns.exits);
            out.u32(returns.faults);
        });
        write_exits(out, exits, faults);
        out.list(assumptions.iter(), |out, assumption| {
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
        out.u8(start.is_some().into());
        if let Some(start) = start {
            out.list(start.slots.iter(), |out, slot| out.u32(slot.0));
            out.u32(start.chunk_lanes);
        }
        let written: Vec<Slot> = written.iter().collect();
        out.list(written.iter(), |out, slot| out.u32(slot.0));
        out.u32(*steps);
        out.u32(*waits);
        out.u8(row.is_some().into());
        if let Some(row) = row {
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

pub(super) fn write_site(out: &mut Writer, site: &TrapSite) {
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

pub(super) fn read_site(from: &mut Reader<'_>) -> Option<TrapSite> {
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
pub(super) struct Names<'a, T: 'static, F> {
    pub find: F,
    pub known: Vec<(&'a str, &'static T)>,
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

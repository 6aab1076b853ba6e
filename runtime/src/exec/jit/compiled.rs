//! Compiled code of a region: what it assumes of a warp, what it needs to run, and how a run ends.

use std::sync::Arc;

use warpjit_backend::{self as backend, Context, Options, Returns, SlotShape, TablePointer, TrapSite};
use warpjit_ir::interp::{self, Fault, FaultKind, Warp};
use warpjit_ir::regions::Region;
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::regions::liveness::SlotSet;
use warpjit_ir::regions::promote::{FAULT_EXIT, RegionFault};
use warpjit_ir::{Block, DeviceSite, GuestFault, PureFn, Slot, Space, WordTable};

use super::assumptions::{Assumption, StartShapes};
use super::rows::RowNeeds;
use crate::CodeListing;
use crate::debug::Announced;
use crate::exec::carried;
use crate::exec::memory::Rights;
use crate::fork::Mutex;
use crate::vm::{self, FloatMode};

/// Machine code of a region.
#[derive(Debug)]
pub struct Compiled {
    /// Dropped before the code.
    pub(super) announced: Announced,
    pub(super) code: Arc<vm::Code>,
    /// What is known of the code.
    pub(super) facts: CodeFacts,
    /// The tables that it looks things up in.
    pub(super) tables: Arc<[TablePointer]>,
    /// Where its region starts.
    pub(super) at: Block,
    /// If its code is that of a chain ([`super::chain`]): the link that it starts with.
    pub(super) link: Option<u32>,
    /// Lanes of a warp.
    pub(super) lanes: usize,
    /// Which of the versions of its region this is.
    pub(super) number: u32,
    /// The code as text, if kept, until it is announced.
    pub(super) listing: Option<Box<CodeListing>>,
    /// What it was made from, until no further chain is made.
    pub(super) source: Mutex<Option<Arc<Source>>>,
}

/// What a version was compiled from: its region as the backend got it. A chain need not cut and optimise it again.
#[derive(Debug)]
pub(super) struct Source {
    /// Without its SSA.
    pub region: Region,
    pub options: Options,
}

/// What is known of a region's code besides its bytes: what it refers to, what it assumes, and how it ends. The cache on disk keeps all of
/// it ([`super::stored`]).
#[derive(Debug, Clone)]
pub(super) struct CodeFacts {
    /// Code offsets with guest addresses ([`RegionCode::pcs`]), if asked for.
    pub pcs: Arc<[(u32, u32)]>,
    pub traps: Arc<[(u32, TrapSite)]>,
    pub pures: Arc<[&'static PureFn]>,
    pub devices: Arc<[DeviceSite]>,
    pub table_names: Arc<[&'static WordTable]>,
    /// The values that it may return; for grid-row code, of each phase.
    pub returns: Arc<[Returns]>,
    pub mode: FloatMode,
    pub exits: Arc<[ExitKind]>,
    pub faults: Arc<[RegionFault]>,
    pub assumptions: Vec<Assumption>,
    /// The lane patterns it was made for, if warps start at this region.
    pub start: Option<StartShapes>,
    /// Slots that it writes.
    pub written: SlotSet,
    /// See [`Region::steps`].
    pub steps: u32,
    /// Lanes of its chunks, if it may wait for others ([`Region::may_wait`]); else 0.
    pub waits: u32,
    /// For grid-row code: what it needs besides its assumptions.
    pub row: Option<RowNeeds>,
}

/// Compiled code by host address.
#[derive(Debug, Default)]
pub struct CodeIndex(pub(super) Vec<(usize, Arc<Compiled>)>);

impl CodeIndex {
    /// The guest instruction that the code at a host address belongs to, if any.
    pub fn guest_pc(&self, at: usize) -> Option<u32> {
        let next = self.0.partition_point(|(start, _)| *start <= at);
        let (_, code) = self.0.get(next.checked_sub(1)?)?;
        backend::guest_pc(&code.facts.pcs, code.code.offset_of(at)?)
    }
}

/// How a run of a region ended.
#[derive(Debug)]
pub enum RegionFlow {
    /// It took this exit. With it: lanes whose threads ended, and the lanes where the condition of the exit's
    /// terminator holds.
    Exit(ExitKind, u64, u64),
    /// The guest faulted.
    Fault(Fault),
    /// The poll function asked to stop.
    Stopped,
}

/// Lane patterns that all warps of a block are known to have, while they run together.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct KnownShapes(pub(super) Vec<(Slot, SlotShape)>);

impl KnownShapes {
    /// Keeps the patterns that still hold after all warps have run `code`.
    pub fn after(&mut self, code: &Compiled) {
        self.0.retain(|(slot, ..)| !code.facts.written.contains(*slot));
    }

    /// Adds what `code` assumes, after it was found to hold for all warps.
    pub fn learn(&mut self, code: &Compiled) {
        for a in &code.facts.assumptions {
            if !self.0.contains(&(a.slot, a.known)) {
                self.0.push((a.slot, a.known));
            }
        }
    }
}

/// An assumption of code that is still to be checked.
#[derive(Debug)]
pub struct Needed {
    pub(super) assumption: Assumption,
    pub(super) lanes: usize,
}

impl Needed {
    /// Whether it holds for a warp.
    #[inline]
    pub fn holds(&self, warp: &Warp) -> bool {
        let start = self.assumption.offset as usize / 4;
        self.assumption.holds(&warp.frame.words()[start..start + self.lanes], warp.active)
    }
}

impl Compiled {
    /// Whether the code may write a slot.
    pub fn writes(&self, slot: Slot) -> bool {
        self.facts.written.contains(slot)
    }

    /// Instructions that a warp must have left to enter it, if they are limited.
    #[inline]
    pub fn steps(&self) -> u64 {
        self.facts.steps.into()
    }

    /// Lanes of its chunks, if it may wait for others, so that it runs on a stack of its own ([`Compiled::begin`]); else 0.
    #[inline]
    pub fn waits(&self) -> u32 {
        self.facts.waits
    }

    /// Whether it goes on from region to region by itself ([`super::chain`]).
    #[inline]
    pub fn is_chain(&self) -> bool {
        self.link.is_some()
    }

    /// Whether it assumes less than could be assumed of some warps that it fits.
    #[inline]
    pub fn assumes_little(&self) -> bool {
        self.facts.start.as_ref().is_some_and(|start| start.little)
    }

    /// Whether the code's assumptions hold for the warp.
    #[inline]
    pub fn fits(&self, warp: &Warp) -> bool {
        let (words, lanes) = (warp.frame.words(), self.lanes);
        self.facts.assumptions.iter().all(|assumption| {
            let start = assumption.offset as usize / 4;
            assumption.holds(&words[start..start + lanes], warp.active)
        })
    }

    /// Whether the code's assumptions hold for all of the warps. `known` need not be checked.
    #[inline]
    pub fn fits_all<'w>(&self, warps: impl Iterator<Item = &'w Warp> + Clone, known: &KnownShapes) -> bool {
        self.facts.assumptions.iter().filter(|a| !known.0.contains(&(a.slot, a.known))).all(|assumption| {
            let start = assumption.offset as usize / 4;
            warps.clone().all(|warp| {
                let words = &warp.frame.words()[start..start + self.lanes];
                assumption.holds(words, warp.active)
            })
        })
    }

    /// The assumptions that `known` does not imply.
    pub fn needed(&self, known: &KnownShapes) -> Vec<Needed> {
        let unknown = self.facts.assumptions.iter().filter(|a| !known.0.contains(&(a.slot, a.known)));
        unknown.map(|&assumption| Needed { assumption, lanes: self.lanes }).collect()
    }

    /// Which of the versions of its region this is.
    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Runs the region for the warp's active lanes, for [`Compiled::came_back`]. The context's memory must be the launch's.
    pub fn enter(&self, context: &mut Context, warp: &mut Warp) -> Result<u64, Box<vm::RawFault>> {
        context.active = warp.active;
        context.exited = 0;
        context.cond = 0;
        context.pures = self.facts.pures.as_ptr();
        context.devices = self.facts.devices.as_ptr();
        context.tables = self.tables.as_ptr();
        context.link = self.link.unwrap_or(0);
        let frame = warp.frame.as_mut_ptr().cast::<u8>();
        // SAFETY: the code was made by the backend for this kernel, whose frame this is; the context's pointers
        // are to memory that lives through the call (see `Stepper::step`), and what it calls does not unwind.
        unsafe { vm::enter(self.code.start(), (&raw mut *context).cast(), frame, self.facts.mode) }
    }

    /// How the region has ended, by what [`Compiled::enter`] has returned.
    pub fn came_back(
        &self,
        result: Result<u64, Box<vm::RawFault>>,
        context: &mut Context,
        rights: &Rights<'_>,
    ) -> RegionFlow {
        match result {
            Ok(result) => self.outcome(result, &self.facts.faults, context, rights),
            Err(raw) => self.signal(&raw, context, rights),
        }
    }

    /// Prepares a call of the region, for some of the warp's active lanes, on a stack of its own. The context's memory
    /// must be the launch's. The context, the frame, the memory and `self` must outlive the call, or the call must be
    /// dropped before them.
    pub fn begin(&self, fiber: &mut vm::Fiber, context: &mut Context, warp: &mut Warp, lanes: u64) {
        (context.active, context.exited, context.cond, context.split) = (lanes, 0, 0, 0);
        context.pures = self.facts.pures.as_ptr();
        context.devices = self.facts.devices.as_ptr();
        context.tables = self.tables.as_ptr();
        let frame = warp.frame.as_mut_ptr().cast::<u8>();
        // SAFETY: as in `run`; only `poll` suspends, which holds nothing.
        unsafe { fiber.start(self.code.start(), (&raw mut *context).cast(), frame, self.facts.mode) };
    }

    /// How a call made by [`Compiled::begin`] ended: its exit, with the lanes that ended and the condition, or an
    /// exception.
    pub fn came_out(
        &self,
        result: Result<u64, Box<vm::RawFault>>,
        context: &mut Context,
        rights: &Rights<'_>,
    ) -> Result<(u64, u64, u64), RegionFlow> {
        match result {
            Ok(exit) if exit < u64::from(FAULT_EXIT) => Ok((exit, context.exited, context.cond)),
            Ok(result) => Err(self.outcome(result, &self.facts.faults, context, rights)),
            Err(raw) => Err(self.signal(&raw, context, rights)),
        }
    }

    /// Runs the region for warps in the order of `calls`, as long as each takes exit `wanted`. A call holds the frame
    /// and active lanes; on return, the ended lanes and the condition. Returns the last call that ran, and in `ended`
    /// its exception if it had one. The context's memory must be that of all the warps.
    pub fn run_all(
        &self,
        context: &mut Context,
        calls: &mut [vm::Call],
        wanted: u64,
        ended: &mut Option<Box<vm::RawFault>>,
    ) -> usize {
        // What `enter_all` puts into and takes from the context.
        const {
            assert!(std::mem::offset_of!(Context, active) == 0);
            assert!(std::mem::offset_of!(Context, exited) == 8);
            assert!(std::mem::offset_of!(Context, cond) == 16);
        }
        context.pures = self.facts.pures.as_ptr();
        context.devices = self.facts.devices.as_ptr();
        context.tables = self.tables.as_ptr();
        context.link = self.link.unwrap_or(0);
        let pointer = (&raw mut *context).cast::<u8>();
        // SAFETY: as in `run`, for each frame of `calls`, which the caller's warps own.
        unsafe { vm::enter_all(self.code.start(), pointer, calls, wanted, self.facts.mode, ended) }
    }

    /// How the last call of [`Compiled::run_all`] ended.
    pub fn flow_of(
        &self,
        context: &mut Context,
        call: Option<&vm::Call>,
        ended: Option<Box<vm::RawFault>>,
        rights: &Rights<'_>,
    ) -> RegionFlow {
        let result = call.map_or(backend::STOPPED, |call| call.result);
        match ended {
            Some(raw) => self.signal(&raw, context, rights),
            None => self.outcome(result, &self.facts.faults, context, rights),
        }
    }

    /// Where an exit leads.
    pub fn exit(&self, number: u64) -> Option<ExitKind> {
        self.facts.exits.get(usize::try_from(number).ok()?).copied()
    }

    /// Decodes a result of the code. `faults` are the faults of the region that ran.
    pub(super) fn outcome(
        &self,
        result: u64,
        faults: &[RegionFault],
        context: &mut Context,
        rights: &Rights<'_>,
    ) -> RegionFlow {
        match result {
            backend::FAULT if context.device_fault.is_some() => {
                carried::throw_again();
                let fault = context.device_fault.take().expect("looked at");
                RegionFlow::Fault(interp::fault_of_device(context.fault.pc, fault))
            }
            backend::FAULT => {
                carried::throw_again();
                let (space, bytes, store) = access_of(&context.fault);
                let denied = |address| rights.first_denied(space, address, bytes, store);
                RegionFlow::Fault(fault_of(&context.lowest_fault(denied)))
            }
            backend::STOPPED => RegionFlow::Stopped,
            exit if exit >= u64::from(FAULT_EXIT) => {
                let found = faults[(exit - u64::from(FAULT_EXIT)) as usize];
                RegionFlow::Fault(Fault {
                    kind: match found.kind {
                        GuestFault::Illegal => FaultKind::Illegal,
                        GuestFault::Trap => FaultKind::Trap,
                    },
                    pc: found.pc,
                    lane: if context.exited == 0 { 0 } else { context.exited.trailing_zeros() },
                    address: None,
                    space: None,
                    store: false,
                })
            }
            exit => RegionFlow::Exit(self.facts.exits[exit as usize], context.exited, context.cond),
        }
    }

    /// The guest fault that a host exception of the code stands for.
    pub(super) fn signal(&self, raw: &vm::RawFault, context: &Context, rights: &Rights<'_>) -> RegionFlow {
        let site = self.code.offset_of(raw.pc).and_then(|offset| {
            self.facts.traps.binary_search_by_key(&offset, |t| t.0).ok().map(|i| self.facts.traps[i].1)
        });
        let Some(site) = site else {
            panic!("signal {} in compiled code at {:#x}, which accesses no guest memory", raw.signal, raw.pc);
        };
        let mut record = site.fault(context, raw.address as u64, &raw.registers);
        let (space, bytes, store) = access_of(&record);
        // Code finds memory outside of the windows, and private host memory, where the runtime has said.
        if let Space::Global(_) = space
            && let Some(address) = rights.memory.named(context.global_base.addr(), record.address)
        {
            record.address = address;
        }
        record.address = rights.first_denied(space, record.address, bytes, store).unwrap_or(record.address);
        RegionFlow::Fault(fault_of(&record))
    }
}

/// Space, bytes and direction of an access that has faulted.
pub(super) fn access_of(record: &backend::FaultRecord) -> (Space, u8, bool) {
    (record.space(), record.bytes(), record.is_store())
}

pub(super) fn fault_of(record: &backend::FaultRecord) -> Fault {
    Fault {
        kind: FaultKind::Memory,
        pc: record.pc,
        lane: record.lane,
        address: Some(record.address),
        space: Some(record.space()),
        store: record.is_store(),
    }
}

//! What a generator makes: machine code of a region with what the runtime must know of it, and how it is entered.

use warpjit_ir::regions::promote::FAULT_EXIT;
use warpjit_ir::{DeviceSite, Function, PureFn, Terminator, WordTable};

use crate::context::Context;
use crate::error::Error;
use crate::trap::TrapSite;

/// The float environment that code must run in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloatEnv {
    /// MXCSR.FTZ and MXCSR.DAZ set; only on x86-64.
    FlushAll,
    /// No flushing; rounds to nearest even.
    Default,
}

/// Entry of compiled code. Takes the context and the warp's frame; returns the number of the exit taken,
/// [`crate::FAULT`] or [`crate::STOPPED`].
pub type Entry = unsafe extern "C" fn(*mut Context, *mut u8) -> u64;

/// The values that a region's code may return: exit numbers below `exits`, and [`FAULT_EXIT`] plus a number below
/// `faults`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Returns {
    /// Number of exits.
    pub exits: u32,
    /// Number of guest faults.
    pub faults: u32,
}

impl Returns {
    /// The return values of a function in mask form.
    pub(crate) fn of(func: &Function) -> Returns {
        let mut returns = Returns::default();
        for block in &func.blocks {
            match block.term {
                Some(Terminator::Return { exit, .. }) if exit >= FAULT_EXIT => {
                    returns.faults = returns.faults.max(exit - FAULT_EXIT + 1);
                }
                Some(Terminator::Return { exit, .. }) => returns.exits = returns.exits.max(exit + 1),
                _ => {}
            }
        }
        returns
    }
}

/// Machine code of a region. It has no relocations and may lie anywhere, aligned to 16.
#[derive(Debug)]
pub struct RegionCode {
    /// The code; its entry is the first byte, of type [`Entry`].
    pub code: Vec<u8>,
    /// Instructions that may trap, by offset.
    pub traps: Vec<(u32, TrapSite)>,
    /// Functions that the code calls: [`Context::pures`] must point to them.
    pub pures: Vec<&'static PureFn>,
    /// Device calls of the code: [`Context::devices`] must point to them.
    pub devices: Vec<DeviceSite>,
    /// Tables that the code looks up: [`Context::tables`] must point to a [`crate::TablePointer`] of each.
    pub tables: Vec<&'static WordTable>,
    /// For each function that was compiled (a region, or each phase): the values that the code may return.
    pub returns: Vec<Returns>,
    /// Fewest bytes of shared memory with which the code may run: grid-row code reads so many without a test.
    pub shared_reach: u32,
    /// Environment it runs in.
    pub float_env: FloatEnv,
    /// If `Options::pcs` asks for it: code offsets in ascending order, each with a guest address. The code from an
    /// offset to the next one belongs to the guest instruction at that address; [`NO_PC`]: to none.
    pub pcs: Vec<(u32, u32)>,
    /// The code as text, if `Options::list` asks for it; else empty.
    pub listing: Listing,
}

/// In [`RegionCode::pcs`]: code that belongs to no guest instruction, such as the loop over chunks, or loading and
/// storing slots.
pub const NO_PC: u32 = u32::MAX;

impl RegionCode {
    /// The instruction at this offset, if it accesses guest memory.
    pub fn trap(&self, offset: u32) -> Option<&TrapSite> {
        self.traps.binary_search_by_key(&offset, |t| t.0).ok().map(|i| &self.traps[i].1)
    }
}

/// Looks up the guest address of the code at `offset` in a table such as [`RegionCode::pcs`].
pub fn guest_pc(pcs: &[(u32, u32)], offset: u32) -> Option<u32> {
    let next = pcs.partition_point(|&(start, _)| start <= offset);
    let (_, pc) = *pcs.get(next.checked_sub(1)?)?;
    (pc != NO_PC).then_some(pc)
}

/// Code of a region as text.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Cranelift's IR, if Cranelift made the code.
    pub clif: String,
    /// Host instructions.
    pub assembly: String,
}

/// Most bytes of stack that compiled code may use. It does not probe the stack, so whoever enters it must ensure that
/// so many bytes are left, plus what the functions need that it calls.
pub const MOST_STACK_BYTES: u32 = 1 << 18;

/// Rejects code that needs more stack than `most` bytes ([`crate::Options::most_stack_bytes`]).
pub(crate) fn check_stack(bytes: u32, most: u32) -> Result<(), Error> {
    if bytes > most.min(MOST_STACK_BYTES) {
        return Err(Error::Codegen(format!("{bytes} bytes of stack for what registers do not hold")));
    }
    Ok(())
}

//! Saved launches: a launch that was stopped between regions, as a value and as bytes.
//!
//! The bytes say which version of the format they have, and have digests of program and launch, so that a state is only
//! continued by the launch that it is of. Nothing in them is trusted: they may come from anywhere, and be made to look right.
//! Reading them allocates in proportion to their length, and [`crate::Engine::resume`] checks every number that code will rely
//! on, such as blocks of code, lanes, and bounds of registers (`exec/block_state.rs`).
//!
//! - **Stopping.** After each block or region the driver asks the token (`StopPoll::pause`, only if `Plan::may_pause`). Each thread
//!   suspends its block and leaves (`exec/schedule/pausing.rs`). If a block has faulted, the launch goes on instead, so that the lowest
//!   fault is known.
//! - **What is saved** is what the kernel *as it was lifted* has: a warp's block, stack, masks and the slots that the kernel writes;
//!   barriers, locks, shared and local memory; parts of scratch with their contents; indices of blocks not started. Cutting depends on
//!   the settings, and adds blocks and slots, so a warp in a part of a block is interpreted to that block's end first
//!   (`exec/block/state.rs`). Frames have no part in it: each tier writes its own.
//! - **Regions end soon.** A call suspended in the middle is in host registers, and a region with an endless loop does not end. So
//!   kernels with loops get code of their own for launches with a token (`RegionOptions::bounded`), without grid-row code and choice of
//!   strategies. Launches without a token run the code that they always ran.
//! - **Integers** of a state must be within the bounds of their slots (`SlotData::umax`), since compiled code leaves out tests because of
//!   them. Lane patterns are checked before each run in any case. Stages cannot be saved.

mod format;
#[cfg(test)]
mod tests;

use crate::bytes::{Reader, Writer};
use crate::digest::{BYTES, Digest};
use crate::exec::LaunchState;
use crate::exec::setup::Plan;
use crate::{Access, Config, Error, Launch, Memory, Numerics, Program, StateError};
use std::fmt;
use std::hash::Hash;

/// Which program and launch a state is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    program: [u8; BYTES],
    launch: [u8; BYTES],
}

impl Identity {
    /// That of a launch that is not running yet.
    pub fn new(program: &Program, plan: &Plan, launch: &Launch, config: &Config) -> Identity {
        let digest = |add: &dyn Fn(&mut Digest)| {
            let mut digest = Digest::new();
            add(&mut digest);
            digest.value()
        };
        let fast = config.numerics == Numerics::Fast;
        Identity {
            program: digest(&|into| program.image().function.hash(into)),
            launch: digest(&|into| {
                plan.digest(into);
                (launch.max_steps, launch.capture_registers, launch.capture_shared, fast).hash(into);
            }),
        }
    }
}

/// A buffer of guest memory with its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Buffer {
    address: u64,
    access: Access,
    bytes: Vec<u8>,
}

/// A launch that was stopped before its end, to be continued by [`crate::Engine::resume`]: with the same engine or another one,
/// with other settings, in another process, or on another kind of host.
///
/// It has what belongs to the launch: the blocks that have started, with their registers, barriers, shared and local memory; the
/// indices of those that have not; and the memory that the launch itself provides, such as scratch. Guest memory is not part of
/// it. Either the embedder keeps that itself, or takes it along in the bytes ([`SavedLaunch::to_bytes_with`]).
///
/// ```
/// use warpjit_frontend::tesla::{Chip, Target, assemble};
/// use warpjit_runtime::{Access, Arg, Config, Engine, Isa, Launch, Program, ProgramOptions, SaveToken, SavedLaunch, Tier};
///
/// // Each thread counts to ten, and stores the count.
/// let source = "
///     and b32 $r1 $r0 0xffff
///     shl b32 $r2 $r1 0x2
///     add b32 $r2 b32 s[0x10] $r2
///     mov b32 $r3 0x0
///     mov b32 $r4 0xa
/// again:
///     add b32 $r3 $r3 0x1
///     set $c0 # l u32 $r3 $r4
///     (lg $c0) bra #again
///     exit st b32 g14[$r2] $r3
/// ";
/// let assembly = assemble(source, Target::compute(Chip::G80))?;
/// let options = ProgramOptions::new(Isa::Tesla).chip(Some("g80".parse()?)).registers(Some(8));
/// let program = Program::load(&assembly.code, &options)?;
///
/// let engine = Engine::new(Config::default().threads(1).tier(Tier::Interp))?;
/// let memory = engine.memory()?;
/// let out = memory.map(None, 64 * 4, Access::ReadWrite)?;
/// let launch = Launch::default()
///     .grid([1, 1, 1])
///     .block([64, 1, 1])
///     .args(vec![Arg::u32(out as u32)])
///     .save(Some(SaveToken::after(5)));
/// let report = engine.run(&program, &memory, &launch)?;
/// let saved = report.saved.expect("stopped before its end");
/// let bytes = saved.to_bytes_with(&memory)?;
///
/// // Elsewhere.
/// let engine = Engine::new(Config::default().tier(Tier::Jit))?;
/// let saved = SavedLaunch::from_bytes(&bytes)?;
/// let memory = engine.memory()?;
/// saved.restore_memory(&memory)?;
/// let report = engine.resume(&program, &memory, &launch.save(None), &saved)?;
/// assert!(report.fault.is_none() && report.saved.is_none());
///
/// let mut word = [0; 4];
/// memory.read(out + 4 * 5, &mut word)?;
/// assert_eq!(u32::from_le_bytes(word), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SavedLaunch {
    of: Identity,
    state: LaunchState,
    memory: Option<Vec<Buffer>>,
}

impl fmt::Debug for SavedLaunch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedLaunch")
            .field("blocks", &self.state.blocks.len())
            .field("unstarted", &self.state.unstarted)
            .field("has_memory", &self.memory.is_some())
            .finish_non_exhaustive()
    }
}

impl SavedLaunch {
    pub(crate) fn new(of: Identity, state: LaunchState) -> Self {
        SavedLaunch { of, state, memory: None }
    }

    /// The state, if it is of this launch.
    pub(crate) fn state_of(&self, identity: &Identity) -> Result<&LaunchState, Error> {
        if self.of.program != identity.program {
            return Err(StateError::OtherProgram.into());
        }
        if self.of.launch != identity.launch {
            return Err(StateError::OtherLaunch.into());
        }
        Ok(&self.state)
    }

    /// Blocks that have not ended.
    pub fn blocks_left(&self) -> u64 {
        self.state.blocks_left()
    }

    /// Whether guest memory is part of it: it was made from bytes of [`SavedLaunch::to_bytes_with`].
    pub fn has_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// The launch as bytes, without guest memory: that must be as it is now when the launch goes on.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer::default();
        format::write(&mut to, self);
        to.u8(0);
        format::seal(&to.0)
    }

    /// The launch as bytes, together with all buffers of its memory and what they contain now. They come back as buffers of their
    /// own: of aliases, files, host memory and pages that were protected since, only the contents are kept. Devices are left out:
    /// who restores the memory maps them again.
    ///
    /// # Errors
    /// [`Error::Memory`] if a part of a buffer cannot be read, as of one with [`Access::None`]; or if the embedder maps the memory by
    /// itself ([`Memory::over`]), who then keeps the contents, too.
    pub fn to_bytes_with(&self, memory: &Memory) -> Result<Vec<u8>, Error> {
        let buffers = memory.buffers_with_contents()?;
        let mut to = Writer::default();
        format::write(&mut to, self);
        to.u8(1);
        to.length(buffers.len());
        for (address, bytes, access) in buffers {
            to.u64(address);
            to.u8(format::access_code(access));
            to.u64(bytes);
            let start = to.0.len();
            to.0.resize(start + bytes as usize, 0);
            memory.read(address, &mut to.0[start..])?;
        }
        Ok(format::seal(&to.0))
    }

    /// Reads what [`SavedLaunch::to_bytes`] or [`SavedLaunch::to_bytes_with`] has written. What the bytes say of their launch is
    /// checked by [`crate::Engine::resume`].
    ///
    /// # Errors
    /// [`Error::State`] if these are no such bytes, or of another version of the format, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let body = format::unseal(bytes)?;
        format::read(&mut Reader(body)).ok_or_else(|| StateError::Contradiction.into())
    }

    /// Maps the buffers that were saved, where they are not mapped, and fills them with what they contained.
    ///
    /// # Errors
    /// [`Error::State`] if memory is not part of it; [`Error::Memory`] if a buffer cannot be mapped. Some may be restored then.
    pub fn restore_memory(&self, memory: &Memory) -> Result<(), Error> {
        let Some(buffers) = &self.memory else {
            return Err(StateError::NoMemory.into());
        };
        for buffer in buffers {
            let own = (buffer.address, buffer.bytes.len() as u64, buffer.access);
            if !memory.buffers().any(|known| known == own) {
                memory.map(Some(own.0), own.1, own.2)?;
            }
            memory.write(buffer.address, &buffer.bytes)?;
        }
        Ok(())
    }
}

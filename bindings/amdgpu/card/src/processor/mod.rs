//! The command processor of one ring: walks command buffers, keeps registers, and does what packets say.

mod context;
mod data;
mod draws;
mod events;
mod predicate;

use crate::Card;
use crate::dispatch::Dispatch;
use crate::draw::Counts;
use crate::execute;
use crate::memory::AddressSpace;
use crate::pm4::{NoPacket, Packet, decode, name, op};
use std::fmt;
use std::sync::Arc;
use warpjit_runtime::Denied;

/// Registers by dword address: configuration from 0x2000, programs from 0x2c00, context from 0xa000, more configuration from 0xc000.
const REGISTERS: usize = 0x1_0000;
const CONFIG: u32 = 0x2000;
const PROGRAMS: u32 = 0x2c00;
const CONTEXT: u32 = 0xa000;
const USER_CONFIG: u32 = 0xc000;

/// On gfx9: user data that all stages of graphics get, and where they have it.
const COMMON: u32 = 0xb530 / 4;
const USER_DATA: [u32; 4] = [0xb030 / 4, 0xb130 / 4, 0xb330 / 4, 0xb430 / 4];

/// Most buffers that one submission may go through, and most words of them: more than any driver sends, so that endless chains end.
const MOST_BUFFERS: u32 = 1 << 16;
/// See [`MOST_BUFFERS`].
const MOST_WORDS: u64 = 1 << 28;
/// Most buffers that are called one in the other.
const MOST_CALLS: u32 = 8;

/// Why a ring cannot go on with a submission. The context is lost then.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Packets that are none, or name memory that is not there: what, and where.
    Commands(String),
    /// A dispatch failed, and the reporter has said so.
    Dispatch,
}

impl From<NoPacket> for Stop {
    fn from(bad: NoPacket) -> Stop {
        Stop::Commands(bad.to_string())
    }
}

impl From<Denied> for Stop {
    fn from(denied: Denied) -> Stop {
        Stop::Commands(denied.to_string())
    }
}

impl From<warpjit_runtime::Error> for Stop {
    fn from(error: warpjit_runtime::Error) -> Stop {
        Stop::Commands(error.to_string())
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Commands(what) => f.write_str(what),
            Stop::Dispatch => f.write_str("a dispatch failed"),
        }
    }
}

/// A ring's processor. What packets set stays from submission to submission.
pub(crate) struct Processor {
    card: Arc<Card>,
    space: Arc<AddressSpace>,
    /// Whether it is the graphics ring's.
    graphics: bool,
    registers: Box<[u32]>,
    /// SET_BASE 1: where indirect arguments are.
    indirect_base: u64,
    /// What SET_PREDICATION has found.
    predicate: bool,
    /// Threads that dispatches have begun, for statistics queries.
    invocations: u64,
    /// What draws have done, for queries.
    drawn: Counts,
    draws: draws::DrawSettings,
    buffers: u32,
    words: u64,
}

impl Processor {
    /// A processor whose registers are those of a clear state.
    pub fn new(card: Arc<Card>, space: Arc<AddressSpace>, graphics: bool) -> Processor {
        let mut processor = Processor {
            card,
            space,
            graphics,
            registers: vec![0; REGISTERS].into(),
            indirect_base: 0,
            predicate: true,
            invocations: 0,
            drawn: Counts::default(),
            draws: draws::DrawSettings { instances: 1, ..draws::DrawSettings::default() },
            buffers: 0,
            words: 0,
        };
        processor.clear_context();
        processor
    }

    /// Begins a submission.
    pub fn begin(&mut self) {
        (self.buffers, self.words) = (0, 0);
        self.predicate = true;
        // Drivers write code by the processor's own mapping, and say nothing but flushes in between.
        self.card.programs.flush();
    }

    /// Runs a command buffer to its end, with all that it calls or chains.
    ///
    /// # Errors
    /// What stopped it.
    pub fn run(&mut self, address: u64, words: u32) -> Result<(), Stop> {
        let address = address & 0xffff_ffff_ffff;
        let buffer = self.fetch(address, words)?;
        self.buffer(address, buffer, 0)
    }

    /// The same with a command buffer whose words have been read already.
    ///
    /// # Errors
    /// What stopped it.
    pub fn run_words(&mut self, address: u64, words: Vec<u32>) -> Result<(), Stop> {
        self.buffer(address & 0xffff_ffff_ffff, words, 0)
    }

    fn fetch(&mut self, address: u64, words: u32) -> Result<Vec<u32>, Stop> {
        self.buffers += 1;
        self.words += u64::from(words);
        if self.buffers > MOST_BUFFERS || self.words > MOST_WORDS {
            let (buffers, words) = (self.buffers, self.words);
            return Err(Stop::Commands(format!(
                "the submission goes through {buffers} command buffers of {words} words and has no end"
            )));
        }
        Ok(self.space.words(address, words)?)
    }

    fn buffer(&mut self, mut address: u64, mut buffer: Vec<u32>, calls: u32) -> Result<(), Stop> {
        let mut at = 0;
        while at < buffer.len() {
            let place = |bad: Stop| match bad {
                Stop::Commands(what) => {
                    Stop::Commands(format!("{what} (command at {:#x})", address + 4 * at as u64))
                }
                stop => stop,
            };
            let (packet, taken) = decode(&buffer[at..]).map_err(|bad| place(bad.into()))?;
            let Some(packet) = packet else {
                at += taken;
                continue;
            };
            if packet.predicated && !self.predicate {
                at += taken;
                continue;
            }
            if matches!(packet.op, op::INDIRECT_BUFFER | op::INDIRECT_BUFFER_CONST) {
                let (to, control) = (packet.address(0)? & !3, packet.word(2)?);
                let words = control & 0xf_ffff;
                if control >> 20 & 1 != 0 {
                    // A chain does not come back.
                    buffer = self.fetch(to, words).map_err(place)?;
                    (address, at) = (to, 0);
                    continue;
                }
                if calls == MOST_CALLS {
                    return Err(place(Stop::Commands(
                        "command buffers call one another without an end".into(),
                    )));
                }
                let called = self.fetch(to, words).map_err(place)?;
                self.buffer(to, called, calls + 1)?;
                at += taken;
                continue;
            }
            let skipped = self.packet(&packet).map_err(place)?;
            at += taken + skipped;
        }
        Ok(())
    }

    /// Executes a packet; gives how many words behind it are skipped.
    fn packet(&mut self, packet: &Packet<'_>) -> Result<usize, Stop> {
        match packet.op {
            op::SET_CONFIG_REG => self.set(CONFIG, packet)?,
            op::SET_CONTEXT_REG => self.set(CONTEXT, packet)?,
            op::SET_SH_REG | op::SET_SH_REG_INDEX => self.set(PROGRAMS, packet)?,
            op::SET_UCONFIG_REG | op::SET_UCONFIG_REG_INDEX => self.set(USER_CONFIG, packet)?,
            op::CONTEXT_REG_RMW => {
                let (at, mask, value) = (packet.word(0)?, packet.word(1)?, packet.word(2)?);
                let at = (CONTEXT + (at & 0xffff)) & 0xffff;
                let old = self.register(at);
                self.registers[at as usize] = old & !mask | value & mask;
            }
            op::LOAD_CONTEXT_REG | op::LOAD_CONTEXT_REG_INDEX => self.load_context(packet)?,
            op::SET_BASE if packet.word(0)? == 1 => self.indirect_base = packet.address(1)?,
            op::DISPATCH_DIRECT => {
                let size = [packet.word(0)?, packet.word(1)?, packet.word(2)?];
                self.dispatch(size, packet.word(3)?)?;
            }
            op::DISPATCH_INDIRECT => self.dispatch_indirect(packet)?,
            op::SET_PREDICATION => self.set_predication(packet)?,
            op::COND_EXEC => return self.cond_exec(packet),
            op::WRITE_DATA => self.write_data(packet)?,
            op::COPY_DATA => self.copy_data(packet)?,
            op::CP_DMA => self.cp_dma(packet)?,
            op::DMA_DATA => self.dma_data(packet)?,
            op::WAIT_REG_MEM => self.wait_reg_mem(packet)?,
            op::EVENT_WRITE => self.event_write(packet)?,
            op::EVENT_WRITE_EOP => self.end_of_pipe(packet, packet.word(2)?, packet.address(1)?, 3)?,
            op::RELEASE_MEM => self.end_of_pipe(packet, packet.word(1)?, packet.address(2)?, 4)?,
            op::EVENT_WRITE_EOS => self.end_of_shader(packet)?,
            op::ACQUIRE_MEM | op::SURFACE_SYNC => {
                // Caches of instructions are invalidated.
                if packet.word(0)? >> 29 & 1 != 0 {
                    self.card.programs.flush();
                }
            }
            op::DRAW_INDEX_AUTO => self.draw_auto(packet)?,
            op::DRAW_INDEX_2 => self.draw_indices(packet)?,
            op::DRAW_INDEX_OFFSET_2 => self.draw_offset(packet)?,
            op::DRAW_INDIRECT => self.draw_indirect(packet, false)?,
            op::DRAW_INDEX_INDIRECT => self.draw_indirect(packet, true)?,
            op::DRAW_INDIRECT_MULTI => self.draw_indirect_multi(packet, false)?,
            op::DRAW_INDEX_INDIRECT_MULTI => self.draw_indirect_multi(packet, true)?,
            op::INDEX_TYPE => self.draws.index_type = packet.word(0)?,
            op::INDEX_BASE => self.draws.index_base = packet.address(0)?,
            op::INDEX_BUFFER_SIZE => self.draws.index_count = packet.word(0)?,
            op::NUM_INSTANCES => self.draws.instances = packet.word(0)?,
            op::CLEAR_STATE => self.clear_context(),
            op::STRMOUT_BUFFER_UPDATE => self.update_stream(packet)?,
            // Caches and contexts.
            op::NOP | op::SET_BASE | op::OCCLUSION_QUERY | op::CONTEXT_CONTROL | op::PFP_SYNC_ME => {}
            other => {
                self.card.reporter.once(&format!("packet {} is not known and does nothing", name(other)))
            }
        }
        Ok(0)
    }

    fn set(&mut self, base: u32, packet: &Packet<'_>) -> Result<(), Stop> {
        let first = base + (packet.word(0)? & 0xffff);
        let nine = self.card.chip().generation >= 9;
        for (at, value) in (first..).zip(&packet.body[1..]) {
            if let Some(register) = self.registers.get_mut(at as usize) {
                *register = *value;
            }
            // User data of all stages of graphics.
            if nine && base == PROGRAMS && (COMMON..COMMON + 32).contains(&at) {
                USER_DATA.iter().for_each(|first| self.registers[(first + at - COMMON) as usize] = *value);
            }
        }
        Ok(())
    }

    fn load_context(&mut self, packet: &Packet<'_>) -> Result<(), Stop> {
        let (from, first, count) =
            (packet.address(0)? & !3, packet.word(2)? & 0xffff, packet.word(3)? & 0x3fff);
        for index in 0..count {
            let value = self.load(from + u64::from(4 * index), 4)?;
            if let Some(register) = self.registers.get_mut((CONTEXT + first + index) as usize) {
                *register = value as u32;
            }
        }
        Ok(())
    }

    /// A register by its dword address.
    fn register(&self, at: u32) -> u32 {
        self.registers.get(at as usize).copied().unwrap_or(0)
    }

    fn load(&self, address: u64, bytes: u8) -> Result<u64, Stop> {
        Ok(self.space.memory().load(address, bytes)?)
    }

    fn store(&self, address: u64, bytes: u8, value: u64) -> Result<(), Stop> {
        Ok(self.space.memory().store(address, bytes, value)?)
    }

    fn dispatch_indirect(&mut self, packet: &Packet<'_>) -> Result<(), Stop> {
        let (at, initiator) = if self.graphics {
            (self.indirect_base + u64::from(packet.word(0)?), packet.word(1)?)
        } else {
            (packet.address(0)?, packet.word(2)?)
        };
        let mut size = [0; 3];
        for (index, size) in size.iter_mut().enumerate() {
            *size = self.load((at & !3) + 4 * index as u64, 4)? as u32;
        }
        self.dispatch(size, initiator)
    }

    fn dispatch(&mut self, size: [u32; 3], initiator: u32) -> Result<(), Stop> {
        let Some(dispatch) = Dispatch::new(self.card.chip(), size, initiator, |at| self.register(at)) else {
            return Ok(());
        };
        self.invocations = self.invocations.wrapping_add(dispatch.threads());
        execute::run(&self.card, &self.space, &dispatch).map_err(|()| Stop::Dispatch)
    }
}

#[cfg(test)]
mod draw_tests;
#[cfg(test)]
mod tests;

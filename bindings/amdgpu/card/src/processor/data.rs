//! Packets that move data: copies, fills, words, waits for memory.

use super::{Processor, Stop};
use crate::fence::card_clock;
use crate::pm4::Packet;
use std::time::Duration;

/// Bytes that are copied at a time.
const COPIED_BYTES: usize = 1 << 16;

/// Where DMA reads.
enum Source {
    Memory(u64),
    Word(u32),
}

impl Processor {
    /// CP_DMA of gfx6.
    pub(super) fn cp_dma(&mut self, packet: &Packet<'_>) -> Result<(), Stop> {
        let control = packet.word(1)?;
        let bytes = packet.word(4)? & 0x1f_ffff;
        self.dma((control >> 29 & 3, control >> 20 & 3), packet, (0, 2), bytes)
    }

    /// DMA_DATA of later chips.
    pub(super) fn dma_data(&mut self, packet: &Packet<'_>) -> Result<(), Stop> {
        let control = packet.word(0)?;
        let most = if self.card.chip().generation >= 9 { 0x3ff_ffff } else { 0x1f_ffff };
        let bytes = packet.word(5)? & most;
        self.dma((control >> 29 & 3, control >> 20 & 3), packet, (1, 3), bytes)
    }

    fn dma(
        &mut self,
        (source, target): (u32, u32),
        packet: &Packet<'_>,
        (from, to): (usize, usize),
        bytes: u32,
    ) -> Result<(), Stop> {
        // To nowhere: code or descriptors are fetched into caches.
        if target == 2 || bytes == 0 {
            return Ok(());
        }
        let source = match source {
            2 => Source::Word(packet.word(from)?),
            1 => {
                self.card.reporter.once("DMA from shared data (GDS) is not done");
                return Ok(());
            }
            _ => Source::Memory(packet.address(from)?),
        };
        if target == 1 {
            self.card.reporter.once("DMA to shared data (GDS) is not done");
            return Ok(());
        }
        self.card.reporter.count_copy(bytes.into());
        self.transfer(&source, packet.address(to)?, bytes as usize)
    }

    fn transfer(&self, source: &Source, mut to: u64, bytes: usize) -> Result<(), Stop> {
        let memory = self.space.memory();
        let mut buffer = vec![0; bytes.min(COPIED_BYTES)];
        if let Source::Word(word) = source {
            for chunk in buffer.chunks_mut(4) {
                chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
            }
        }
        let mut left = bytes;
        while left > 0 {
            let count = left.min(COPIED_BYTES);
            if let Source::Memory(from) = source {
                memory.read(from + (bytes - left) as u64, &mut buffer[..count])?;
            }
            memory.write(to, &buffer[..count])?;
            to += count as u64;
            left -= count;
        }
        Ok(())
    }

    /// WRITE_DATA: words to memory or to registers.
    pub(super) fn write_data(&mut self, packet: &Packet<'_>) -> Result<(), Stop> {
        let control = packet.word(0)?;
        let (to, stays) = (control >> 8 & 15, control >> 16 & 1 != 0);
        let (address, data) = (packet.address(1)?, packet.body.get(3..).unwrap_or(&[]));
        for (index, value) in data.iter().enumerate() {
            if to == 0 {
                let at = (address as usize + if stays { 0 } else { index }) & 0xffff;
                self.registers[at] = *value;
            } else {
                let offset = if stays { 0 } else { 4 * index as u64 };
                self.store((address & !3) + offset, 4, u64::from(*value))?;
            }
        }
        Ok(())
    }

    /// COPY_DATA: one word or two, between registers, memory, the packet and the clock.
    pub(super) fn copy_data(&mut self, packet: &Packet<'_>) -> Result<(), Stop> {
        let control = packet.word(0)?;
        let bytes = if control >> 16 & 1 != 0 { 8 } else { 4 };
        let value = match control & 15 {
            0 => u64::from(self.register(packet.word(1)? & 0xffff)),
            1 | 2 => self.load(packet.address(1)? & !3, bytes)?,
            5 => packet.wide(1)?,
            9 => card_clock(),
            other => {
                self.card.reporter.once(&format!("COPY_DATA from source {other} is not done"));
                return Ok(());
            }
        };
        match control >> 8 & 15 {
            0 => self.registers[packet.word(3)? as usize & 0xffff] = value as u32,
            1 | 2 | 5 => self.store(packet.address(3)? & !3, bytes, value)?,
            other => self.card.reporter.once(&format!("COPY_DATA to target {other} is not done")),
        }
        Ok(())
    }

    /// WAIT_REG_MEM: waits until a word of memory compares. Registers always have what is waited for.
    pub(super) fn wait_reg_mem(&mut self, packet: &Packet<'_>) -> Result<(), Stop> {
        let control = packet.word(0)?;
        if control >> 4 & 1 == 0 {
            return Ok(());
        }
        let (address, wanted, mask) = (packet.address(1)? & !3, packet.word(3)?, packet.word(4)?);
        let mut looks = 0_u32;
        loop {
            let value = self.load(address, 4)? as u32 & mask;
            let holds = match control & 7 {
                1 => value < wanted,
                2 => value <= wanted,
                3 => value == wanted,
                4 => value != wanted,
                5 => value >= wanted,
                6 => value > wanted,
                _ => true,
            };
            if holds {
                return Ok(());
            }
            if self.space.ended().is_cancelled() {
                return Err(Stop::Dispatch);
            }
            looks = looks.saturating_add(1);
            match looks {
                0..200 => std::hint::spin_loop(),
                200..400 => std::thread::yield_now(),
                _ => std::thread::sleep(Duration::from_micros(u64::from(looks - 399).min(500))),
            }
        }
    }
}

//! Packets that draw.

use super::{PROGRAMS, Processor, Stop};
use crate::draw::{Around, Call, Problem, Registers, Streams, draw};
use crate::pm4::Packet;

/// Most vertices of a draw: more than any program draws at a time.
const MOST_VERTICES: u32 = 1 << 24;
/// VGT_MULTI_PRIM_IB_RESET_INDX.
const RESTART_INDEX: u32 = 0x2840c / 4;

/// What packets say of draws that come.
#[derive(Debug, Default)]
pub(super) struct DrawSettings {
    /// INDEX_TYPE, before gfx9.
    pub index_type: u32,
    /// INDEX_BASE and INDEX_BUFFER_SIZE.
    pub index_base: u64,
    pub index_count: u32,
    /// NUM_INSTANCES.
    pub instances: u32,
    /// Stream output.
    pub streams: Streams,
}

impl Processor {
    /// DRAW_INDEX_AUTO: vertices from 0 on.
    pub(super) fn draw_auto(&mut self, packet: &Packet<'_>) -> Result<(), Stop> {
        let count = packet.word(0)?;
        self.draw_vertices(0, count, self.draws.instances)
    }

    /// DRAW_INDEX_2: the packet has the place of the indices.
    pub(super) fn draw_indices(&mut self, packet: &Packet<'_>) -> Result<(), Stop> {
        let (most, address, count) = (packet.word(0)?, packet.address(1)?, packet.word(3)?);
        self.draw_indexed(address, most, count, self.draws.instances)
    }

    /// DRAW_INDEX_OFFSET_2: the indices begin in the middle of the buffer.
    pub(super) fn draw_offset(&mut self, packet: &Packet<'_>) -> Result<(), Stop> {
        let (most, first, count) = (packet.word(0)?, packet.word(1)?, packet.word(2)?);
        let address = self.draws.index_base + u64::from(first) * self.index_bytes();
        self.draw_indexed(address, most.saturating_sub(first), count, self.draws.instances)
    }

    /// DRAW_INDIRECT and DRAW_INDEX_INDIRECT: one draw whose numbers are in memory.
    pub(super) fn draw_indirect(&mut self, packet: &Packet<'_>, indexed: bool) -> Result<(), Stop> {
        let registers = [packet.word(1)?, packet.word(2)?];
        self.draw_from(self.indirect_base + u64::from(packet.word(0)?), registers, None, indexed)
    }

    /// The same for several draws, whose number may be in memory, too.
    pub(super) fn draw_indirect_multi(&mut self, packet: &Packet<'_>, indexed: bool) -> Result<(), Stop> {
        let registers = [packet.word(1)?, packet.word(2)?];
        let (control, mut count) = (packet.word(3)?, packet.word(4)?);
        if control >> 30 & 1 != 0 {
            count = count.min(self.load(packet.address(5)? & !3, 4)? as u32);
        }
        let stride = u64::from(packet.word(7)?);
        let first = self.indirect_base + u64::from(packet.word(0)?);
        for number in 0..count {
            let own = (control >> 31 != 0).then_some((control & 0xffff, number));
            self.draw_from(first + stride * u64::from(number), registers, own, indexed)?;
        }
        Ok(())
    }

    /// A draw whose numbers are at an address. The registers get the first vertex and instance; `number`: a register gets the number of the
    /// draw.
    fn draw_from(
        &mut self,
        address: u64,
        registers: [u32; 2],
        number: Option<(u32, u32)>,
        indexed: bool,
    ) -> Result<(), Stop> {
        let words = self.space.words(address & !3, if indexed { 5 } else { 4 })?;
        let (base, start) = if indexed { (words[3], words[4]) } else { (words[2], words[3]) };
        let values = [(registers[0], base), (registers[1], start)];
        for (register, value) in values.into_iter().chain(number) {
            if let Some(place) = self.registers.get_mut((PROGRAMS + (register & 0xffff)) as usize) {
                *place = value;
            }
        }
        if !indexed {
            return self.draw_vertices(0, words[0], words[1]);
        }
        let at = self.draws.index_base + u64::from(words[2]) * self.index_bytes();
        let most = self.draws.index_count.saturating_sub(words[2]);
        self.draw_indexed(at, most, words[0], words[1])
    }

    fn index_type(&self) -> u32 {
        match self.card.chip().generation {
            ..9 => self.draws.index_type & 3,
            _ => self.register(0x3_090c / 4) & 3,
        }
    }

    /// Bytes of an index.
    fn index_bytes(&self) -> u64 {
        [2, 4, 1, 4][self.index_type() as usize]
    }

    fn check_count(&self, count: u32, instances: u32) -> Result<bool, Stop> {
        if count > MOST_VERTICES {
            return Err(Stop::Commands(format!("a draw of {count} vertices")));
        }
        Ok(count > 0 && instances > 0)
    }

    fn draw_vertices(&mut self, first: u32, count: u32, instances: u32) -> Result<(), Stop> {
        if !self.check_count(count, instances)? {
            return Ok(());
        }
        let vertices = (0..count).map(|n| Some(first.wrapping_add(n))).collect();
        self.draw(&Call { vertices, instances })
    }

    /// Draws vertices by `count` indices, of which `most` are in the buffer; those behind it are 0.
    fn draw_indexed(&mut self, address: u64, most: u32, count: u32, instances: u32) -> Result<(), Stop> {
        if !self.check_count(count, instances)? {
            return Ok(());
        }
        let bytes = self.index_bytes();
        let mut indices = vec![0; (u64::from(most.min(count)) * bytes) as usize];
        self.space.memory().read(address, &mut indices)?;
        let enable = if self.card.chip().generation < 9 { 0x28a94 / 4 } else { 0x3_092c / 4 };
        let restarts = self.register(enable) & 1 != 0;
        let mask = if bytes < 4 { (1 << (8 * bytes)) - 1 } else { u32::MAX };
        let restart = self.register(RESTART_INDEX) & mask;
        let number = |index: &[u8]| index.iter().rev().fold(0, |all: u32, byte| all << 8 | u32::from(*byte));
        let mut vertices: Vec<Option<u32>> = indices
            .chunks_exact(bytes as usize)
            .map(|index| Some(number(index)).filter(|index| !restarts || *index != restart))
            .collect();
        vertices.resize(count as usize, Some(0));
        self.draw(&Call { vertices, instances })
    }

    /// STRMOUT_BUFFER_UPDATE: stores how full a buffer of stream output is, or sets it. In memory it is in bytes.
    pub(super) fn update_stream(&mut self, packet: &Packet<'_>) -> Result<(), Stop> {
        let control = packet.word(0)?;
        let number = (control >> 8 & 3) as usize;
        if control & 1 != 0 {
            let filled = self.draws.streams.filled[number].wrapping_mul(4);
            self.store(packet.address(1)? & !3, 4, filled.into())?;
        }
        match control >> 1 & 3 {
            0 => self.draws.streams.filled[number] = packet.word(3)?,
            2 => self.draws.streams.filled[number] = self.load(packet.address(3)? & !3, 4)? as u32 / 4,
            _ => {}
        }
        Ok(())
    }

    fn draw(&mut self, call: &Call) -> Result<(), Stop> {
        let around = Around { card: &self.card, space: &self.space };
        let (mut counts, mut streams) = (self.drawn, self.draws.streams);
        let result = draw(&around, Registers(&self.registers), call, &mut counts, &mut streams);
        (self.drawn, self.draws.streams) = (counts, streams);
        let is_done = !matches!(result, Err(Problem::Refused(_)));
        self.card.reporter.count_draw(is_done, call.vertices.len(), call.instances);
        match result {
            Ok(()) => Ok(()),
            Err(Problem::Refused(what)) => {
                let what =
                    format!("a draw is left out, what it would change stays as it is: {} not done", what.0);
                self.card.reporter.once(&what);
                Ok(())
            }
            Err(Problem::Denied(denied)) => Err(Stop::Commands(format!("a draw: {denied}"))),
            Err(Problem::Failed) => Err(Stop::Dispatch),
        }
    }
}

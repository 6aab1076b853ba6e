//! Events: fences at the end of work, timestamps, queries.

use super::{Processor, Stop};
use crate::fence::card_clock;
use crate::pm4::Packet;

/// A counter of queries is valid.
const VALID: u64 = 1 << 63;

impl Processor {
    /// EVENT_WRITE: those with an address write counters of queries.
    pub(super) fn event_write(&mut self, packet: &Packet<'_>) -> Result<(), Stop> {
        if packet.body.len() < 3 {
            return Ok(());
        }
        let address = packet.address(1)? & !7;
        match packet.word(0)? >> 8 & 15 {
            // Occlusion: a counter of each render backend.
            1 => {
                // The first has counted all.
                for backend in 0..u64::from(self.card.chip().backends) {
                    let samples = if backend == 0 { self.drawn.samples } else { 0 };
                    self.store(address + 16 * backend, 8, VALID | samples)?;
                }
            }
            2 => {
                let drawn = self.drawn;
                let statistics = [
                    drawn.pixel_invocations,
                    drawn.drawn,
                    drawn.needed,
                    drawn.vertex_invocations,
                    drawn.geometry_invocations,
                    drawn.geometry_primitives,
                    drawn.primitives,
                    drawn.vertices,
                    drawn.patches,
                    drawn.evaluations,
                    self.invocations,
                ];
                for (number, value) in (0..).zip(statistics) {
                    self.store(address + 8 * number, 8, value)?;
                }
            }
            // Stream output: all primitives, and those that were written.
            3 => {
                for (number, count) in (0..).zip([self.drawn.needed, self.drawn.written]) {
                    self.store(address + 8 * number, 8, VALID | count)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// EVENT_WRITE_EOP and RELEASE_MEM: stores something when all before it has ended, which it has.
    pub(super) fn end_of_pipe(
        &mut self,
        packet: &Packet<'_>,
        select: u32,
        address: u64,
        data: usize,
    ) -> Result<(), Stop> {
        match select >> 29 {
            1 => self.store(address & !3, 4, packet.word(data)?.into()),
            2 => self.store(address & !7, 8, packet.wide(data)?),
            3 | 4 => self.store(address & !7, 8, card_clock()),
            _ => Ok(()),
        }
    }

    /// EVENT_WRITE_EOS: stores a word.
    pub(super) fn end_of_shader(&mut self, packet: &Packet<'_>) -> Result<(), Stop> {
        if packet.word(2)? >> 29 == 2 {
            self.store(packet.address(1)? & !3, 4, packet.word(3)?.into())?;
        }
        Ok(())
    }
}

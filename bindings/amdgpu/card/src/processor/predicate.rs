//! Packets that are executed only if something holds.

use super::{Processor, Stop};
use crate::pm4::Packet;

impl Processor {
    /// COND_EXEC: how many words are skipped, because a word of memory is 0.
    pub(super) fn cond_exec(&mut self, packet: &Packet<'_>) -> Result<usize, Stop> {
        let value = self.load(packet.address(0)? & !3, 4)?;
        let count = packet.word(if self.card.chip().generation >= 7 { 3 } else { 2 })?;
        Ok(if value == 0 { (count & 0x3fff) as usize } else { 0 })
    }

    /// SET_PREDICATION: whether predicated packets are executed from now on.
    pub(super) fn set_predication(&mut self, packet: &Packet<'_>) -> Result<(), Stop> {
        // gfx9 has a word for the operation; before, it shares one with the upper bits of the address.
        let (control, address) = if self.card.chip().generation >= 9 {
            (packet.word(0)?, packet.address(1)?)
        } else {
            (packet.word(1)?, packet.wide(0)? & 0xff_ffff_ffff)
        };
        let address = address & !7;
        let found = match control >> 16 & 7 {
            0 => {
                self.predicate = true;
                return Ok(());
            }
            // Samples passed: counters of the render backends before and after.
            1 => {
                let mut passed = false;
                for backend in 0..u64::from(self.card.chip().backends) {
                    let at = address + 16 * backend;
                    passed |= (self.load(at, 8)? ^ self.load(at + 8, 8)?) << 1 != 0;
                }
                passed
            }
            3 => self.load(address, 8)? != 0,
            4 => self.load(address, 4)? != 0,
            other => {
                self.card.reporter.once(&format!(
                    "predication of kind {other} is not done: what depends on it is executed"
                ));
                self.predicate = true;
                return Ok(());
            }
        };
        let wanted = control >> 8 & 1 != 0;
        self.predicate = found == wanted;
        Ok(())
    }
}

//! Words of shared memory that are in vectors still because the lanes have just stored them, side by side.
//!
//! The last rounds of a reduction store a row of words and load it again a few words further on. Host processors do not forward such
//! stores: each load waits until two of them have reached the cache. What a lane loads is what another
//! one has stored, so it comes out of the vectors by a shift over lanes; only what lies behind them is loaded.

use iced_x86::Code;
use warpjit_ir::{Imm, Opcode, Space, Value};

use super::asm::{A, Mem, R, With};
use super::code::Size;
use super::lower::Lower;
use super::memory::{Access, Address, Row};
use crate::error::Error;
use crate::operands::arg;

/// A row of words: all lanes of a chunk side by side.
#[derive(Clone)]
pub(super) struct Held {
    address: Value,
    far: bool,
    /// Where the row starts, from the address on.
    start: i32,
    /// What memory holds there, sixteen words each.
    words: Vec<R>,
    /// Words behind the row, and how many.
    behind: Option<(R, i32)>,
    /// Whether the instruction that is written has stored them.
    fresh: bool,
}

/// What a load of lanes may lie further on, in words.
const MOST_STEPS: i32 = 16;

impl Lower<'_> {
    /// How many words a row at the same address lies further on than one that starts at `start`, if that is near.
    fn steps(&self, x: &Access<'_>, address: Value, far: bool, start: i32) -> Option<i32> {
        let distance = x.mem.offset.checked_sub(start)?;
        let alike = x.data.args.first() == Some(&address) && x.mem.far == far;
        let near = distance % 4 == 0 && (0..=4 * MOST_STEPS).contains(&distance);
        (alike && near && self.is_row(x)).then_some(distance / 4)
    }

    /// Whether an access is of words side by side over all lanes of a chunk.
    fn is_row(&self, x: &Access<'_>) -> bool {
        let one = x.data.args.first().is_some_and(|&a| self.f.as_const(a).is_none() && self.spans(a) == 1);
        one && x.mem.space == Space::Shared && x.mem.bytes == 4 && matches!(x.address, Address::Affine(_, 4))
    }

    /// Whether something behind in the block loads what a store stores, near enough.
    pub fn is_loaded_again(&self, x: &Access<'_>) -> bool {
        let (Some(&a), true) = (x.data.args.first(), self.is_row(x)) else { return false };
        let insts = &self.f.block(self.blocks.current).insts;
        let behind = insts.iter().map(|&i| self.f.inst(i)).skip_while(|data| !std::ptr::eq(*data, x.data));
        for data in behind.skip(1) {
            let (Imm::Mem(mem) | Imm::Atomic(mem, _)) = data.imm else { continue };
            if mem.space != Space::Shared {
                continue;
            }
            if data.op != Opcode::Load {
                return false;
            }
            let near = Access::new(data, mem, None, None, x.address.clone());
            if self.steps(&near, a, x.mem.far, x.mem.offset).is_some() {
                return true;
            }
        }
        false
    }

    /// Remembers what a store has put where its row starts.
    pub fn hold(&mut self, x: &Access<'_>, words: Vec<R>) -> Result<(), Error> {
        let address = arg(x.data, 0)?;
        let (far, start) = (x.mem.far, x.mem.offset);
        let before = self.known.held.take();
        let same = before.filter(|held| (held.address, held.far, held.start) == (address, far, start));
        let behind = same.and_then(|held| held.behind);
        self.known.held = Some(Held { address, far, start, words, behind, fresh: true });
        Ok(())
    }

    /// Forgets what another access than that of [`Lower::hold`] has changed.
    pub fn forget_held(&mut self) {
        self.known.held.take_if(|held| !std::mem::replace(&mut held.fresh, false));
    }

    /// What a load gives, if that is held.
    pub fn load_held(&mut self, x: &Access<'_>, row: &Row) -> Option<Vec<R>> {
        let held = self.known.held.clone()?;
        let steps = self.steps(x, held.address, held.far, held.start)?;
        let mut words = held.words.clone();
        if steps > 0 {
            words.push(self.behind_held(&held, row, steps));
        }
        let vectors = words.windows(2).map(|pair| match steps {
            MOST_STEPS => pair[1],
            n => {
                let d = self.a.zmm();
                let args =
                    [A::Def(d, Size::Z), A::Use(pair[1], Size::Z), A::Use(pair[0], Size::Z), A::I8(n as u8)];
                self.a.put(Code::EVEX_Valignd_zmm_k1z_zmm_zmmm512b32_imm8, &args, With::default());
                d
            }
        });
        Some(if steps == 0 { words } else { vectors.collect() })
    }

    /// The first words behind a row: no store that is under way has them.
    fn behind_held(&mut self, held: &Held, row: &Row, count: i32) -> R {
        if let Some((words, enough)) = held.behind
            && enough >= count
        {
            return words;
        }
        let place = Mem::at(row.place, held.start + 4 * self.lanes() as i32);
        // No more of them: memory may end there.
        let mask = (count < MOST_STEPS).then(|| self.a.k_bits((1 << count) - 1));
        let with = With { mask, zeroing: mask.is_some(), ..With::default() };
        let words = self.a.vload(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, place, with);
        if let Some(held) = &mut self.known.held {
            held.behind = Some((words, count));
        }
        words
    }

    /// What memory holds at the places of a store that has just been written.
    pub fn stored(&mut self, x: &Access<'_>, places: &[Mem], masked: bool) -> Result<Vec<R>, Error> {
        match x.value {
            Some(v) if !masked => Ok(self.regs(v)?.to_vec()),
            _ => Ok(places.iter().map(|&place| self.a.load64(place)).collect()),
        }
    }
}

//! Memory of functions in vectors of 256 bits: slots, constants, texels, tables.

use iced_x86::Code;
use warpjit_ir::types::Scalar;
use warpjit_ir::{Imm, InstData, MemAccess, Space, Value};

use super::super::asm::{A, Mem, R, With};
use super::super::code::Size;
use super::super::scalar::SHR;
use super::{Kept, LANES, Lower, refused};
use crate::context::at;
use crate::error::Error;
use crate::operands::{MemoryOperands, arg, malformed, result};

/// Addresses of constants have 16 bits.
const BANK_MASK: u32 = 0xffff;

impl Lower<'_> {
    pub(super) fn slot_place(&self, slot: usize) -> Result<Mem, Error> {
        let offset = self.offsets.get(slot).ok_or_else(|| refused("a slot"))?;
        Ok(Mem::at(self.frame, *offset as i32))
    }

    pub(super) fn load32(&mut self, place: Mem) -> R {
        let d = self.a.zmm();
        self.a.put(Code::VEX_Vmovdqu_ymm_ymmm256, &[A::Def(d, Size::Y), A::Mem(place)], With::default());
        d
    }

    /// Replaces a slot in the lanes of a guard, or of the chunk.
    pub(super) fn set_slot(&mut self, data: &InstData) -> Result<(), Error> {
        let Imm::Slot(slot) = data.imm else { return Err(malformed(data)) };
        let (place, value) = (self.slot_place(slot.index())?, arg(data, 0)?);
        if self.f.ty(value).scalar != Scalar::I32 {
            return Err(refused("a slot"));
        }
        let value = self.vector(value)?;
        let lanes = match data.args.get(1) {
            Some(&guard) => self.vector(guard)?,
            None => self.active,
        };
        let old = self.load32(place);
        let new = self.blend(lanes, value, old);
        self.a.put(Code::VEX_Vmovdqu_ymmm256_ymm, &[A::Mem(place), A::Use(new, Size::Y)], With::default());
        Ok(())
    }

    /// Loads a constant or texels.
    pub(super) fn load(&mut self, data: &InstData) -> Result<(), Error> {
        let MemoryOperands { mem, address, guard, .. } = MemoryOperands::of(data)?;
        let r = result(data)?;
        if guard.is_some() {
            return Err(refused("a guarded load"));
        }
        match mem.space {
            Space::Const(0) => {
                let uniform = self.f.ty(r).uniform && self.f.ty(address).uniform;
                if !uniform || mem.bytes < 4 || mem.far {
                    return Err(refused("a constant of a lane"));
                }
                let offset = mem.offset as u32;
                let place = match self.kept(address)?.clone() {
                    Kept::Const(bits) => {
                        let at = (bits as u32).wrapping_add(offset) & BANK_MASK;
                        Mem::at(self.bank, at as i32)
                    }
                    _ => {
                        let at = self.general(address)?;
                        let at = self.a.add_imm(false, at, mem.offset.into());
                        let at = self.a.g1(Code::Movzx_r32_rm16, at, Size::D, Size::W);
                        Mem::indexed(self.bank, at, 1, 0)
                    }
                };
                self.define(r, Kept::Memory(place));
                Ok(())
            }
            Space::Global(0) if self.options.open_loads && !self.f.ty(address).uniform => {
                let parts = self.gather(mem, address)?;
                self.define(r, Kept::Parts(parts));
                Ok(())
            }
            _ => Err(refused("a load")),
        }
    }

    /// Asks for what is at unsigned 32-bit offsets in the image, of the first and the last of each four lanes.
    pub(super) fn prefetch(&mut self, data: &InstData) -> Result<(), Error> {
        let offsets = self.vector(arg(data, 0)?)?;
        let offsets = self.elements(offsets);
        for lane in [0, 3, 4, 7] {
            let place = A::Mem(Mem::indexed(self.image, offsets[lane], 1, 0));
            self.a.put(Code::Prefetcht0_m8, &[place], With::default());
        }
        Ok(())
    }

    /// The elements of a vector of eight indices, zero-extended. They come by way of general registers: to store the vector and to load its
    /// elements takes hosts twice as long.
    fn elements(&mut self, of: R) -> [R; LANES as usize] {
        let high = self.high(of);
        let pairs = [of, high].map(|half| {
            let first = self.a.g1(Code::VEX_Vmovq_rm64_xmm, half, Size::Q, Size::X);
            let second = self.a.gpr();
            let args = [A::Def(second, Size::Q), A::Use(half, Size::X), A::I8(1)];
            self.a.put(Code::VEX_Vpextrq_rm64_xmm_imm8, &args, With::default());
            [first, second]
        });
        std::array::from_fn(|lane| {
            let pair = pairs[lane / 4][lane / 2 % 2];
            match lane % 2 {
                0 => self.a.g1(Code::Mov_r32_rm32, pair, Size::D, Size::D),
                _ => self.a.shift(true, SHR, pair, 32),
            }
        })
    }

    fn gather(&mut self, mem: MemAccess, address: Value) -> Result<Vec<R>, Error> {
        let addresses = self.vector(address)?;
        let addresses = self.elements(addresses);
        let image = self.image;
        let places = addresses.map(|at| Mem::indexed(image, at, 1, mem.offset));
        Ok(match (mem.bytes, mem.signed) {
            (8, _) => {
                let mut parts = Vec::new();
                for four in places.chunks(4) {
                    let halves = [0, 2].map(|n| {
                        let (low, both) = (self.a.zmm(), self.a.zmm());
                        let args = [A::Def(low, Size::X), A::Mem(four[n])];
                        self.a.put(Code::VEX_Vmovq_xmm_rm64, &args, With::default());
                        let args =
                            [A::Def(both, Size::X), A::Use(low, Size::X), A::Mem(four[n + 1]), A::I8(1)];
                        self.a.put(Code::VEX_Vpinsrq_xmm_xmm_rm64_imm8, &args, With::default());
                        both
                    });
                    parts.push(self.join(halves[0], halves[1]));
                }
                parts
            }
            (4, _) => vec![self.collect(&places.map(A::Mem))],
            (bytes @ (1 | 2), false) => {
                let code = if bytes == 1 { Code::Movzx_r32_rm8 } else { Code::Movzx_r32_rm16 };
                let words = places.map(|place| A::Use(self.a.gload(code, place, Size::D, None), Size::D));
                vec![self.collect(&words)]
            }
            _ => return Err(refused("a load")),
        })
    }

    /// A vector of eight words in memory or registers.
    fn collect(&mut self, words: &[A; LANES as usize]) -> R {
        let halves = [0, 4].map(|first| {
            let mut all = self.a.zmm();
            self.a.put(Code::VEX_Vmovd_xmm_rm32, &[A::Def(all, Size::X), words[first]], With::default());
            for n in 1..4 {
                let more = self.a.zmm();
                let args = [A::Def(more, Size::X), A::Use(all, Size::X), words[first + n], A::I8(n as u8)];
                self.a.put(Code::VEX_Vpinsrd_xmm_xmm_rm32_imm8, &args, With::default());
                all = more;
            }
            all
        });
        self.join(halves[0], halves[1])
    }

    fn join(&mut self, low: R, high: R) -> R {
        let d = self.a.zmm();
        let args = [A::Def(d, Size::Y), A::Use(low, Size::Y), A::Use(high, Size::X), A::I8(1)];
        self.a.put(Code::VEX_Vinserti128_ymm_ymm_xmmm128_imm8, &args, With::default());
        d
    }

    /// Entries of a table.
    pub(super) fn lookup(&mut self, data: &InstData) -> Result<R, Error> {
        let Imm::Table(table) = data.imm else { return Err(malformed(data)) };
        let number = match self.tables.iter().position(|known| std::ptr::eq(*known, table)) {
            Some(number) => number,
            None => {
                self.tables.push(table);
                self.tables.len() - 1
            }
        };
        let tables = self.a.load64g(Mem::at(self.context, at::TABLES));
        let base = self.a.load64g(Mem::at(tables, 8 * number as i32));
        let index = self.vector(arg(data, 0)?)?;
        let mask = self.words(&[table.index_mask(); 8]);
        let index = self.v3_pool(Code::VEX_Vpand_ymm_ymm_ymmm256, index, mask);
        let indices = self.elements(index);
        Ok(self.collect(&indices.map(|at| A::Mem(Mem::indexed(base, at, 4, 0)))))
    }
}

//! Double words of shared memory that many lanes of a chunk load from one place: a tile that rows or columns of lanes share.
//!
//! A gather costs as much for one place as for eight. Where a block loads several times at some distance from one address, it is told
//! once whether all sixteen lanes have what the other sixteens have, or each eight have one place, and whether all is inside:
//! then each load is a gather for all sixteens, or a broadcast for each eight.

use iced_x86::Code;
use regalloc2::RegClass;
use warpjit_ir::{Imm, Opcode, Scalar, Space, Value};

use super::asm::{Mem, R, Src, With};
use super::code::Flags;
use super::lower::Lower;
use super::memory::{Access, Address};
use crate::error::Error;
use crate::operands::malformed;

/// Loads at one address in a block that are worth looking at it.
const FEWEST: usize = 4;
/// Offsets that are looked at.
const MOST_OFFSET: i32 = 1 << 16;

/// What the lanes of an address have in common.
#[derive(Clone)]
pub(super) struct Alike {
    address: Value,
    /// Bytes behind the address that are inside, if anything is in common.
    reach: i32,
    /// 0 where all sixteens are alike.
    sixteens: R,
    /// 0 where the lanes of each eight are.
    eights: R,
    /// Host addresses of each eight's first.
    firsts: Vec<R>,
}

impl Lower<'_> {
    /// How a load's lanes are alike, if that may be worth while.
    pub fn alike(&mut self, x: &Access<'_>) -> Result<Option<Alike>, Error> {
        let Address::Lanes(parts) = &x.address else { return Ok(None) };
        let plain = |op: Opcode, mem: warpjit_ir::MemAccess| {
            let small = mem.offset >= 0 && mem.offset < MOST_OFFSET;
            op == Opcode::Load && mem.space == Space::Shared && mem.far && mem.bytes == 8 && small
        };
        if self.groups < 2 || !plain(x.data.op, x.mem) || self.aside {
            return Ok(None);
        }
        let address = *x.data.args.first().ok_or_else(|| malformed(x.data))?;
        if self.scalar_of(address) != Scalar::I32 {
            return Ok(None);
        }
        if let Some(known) = self.known.alike.iter().find(|known| known.address == address) {
            return Ok((x.mem.offset + 8 <= known.reach).then(|| known.clone()));
        }
        let loads = self.f.block(self.blocks.current).insts.iter().filter_map(|&inst| {
            let data = self.f.inst(inst);
            match data.imm {
                Imm::Mem(mem) if data.args.first() == Some(&address) && plain(data.op, mem) => {
                    Some(mem.offset)
                }
                _ => None,
            }
        });
        let loads: Vec<i32> = loads.collect();
        if loads.len() < FEWEST {
            return Ok(None);
        }
        let reach = loads.iter().fold(0, |most, &offset| most.max(offset + 8));
        let parts = parts.clone();
        let made = self.look_at(address, &parts, reach)?;
        self.known.alike.push(made.clone());
        Ok(Some(made))
    }

    fn look_at(&mut self, address: Value, parts: &[R], reach: i32) -> Result<Alike, Error> {
        let base = self.base(Space::Shared);
        let size = self.space_bytes(Space::Shared).ok_or_else(|| Error::Malformed("no bounds".into()))?;
        let last = self.a.add_imm(false, size, -i64::from(reach));
        let last = self.a.splat(false, last);
        self.a.cmp_imm(false, size, reach);
        let small = self.a.set_if(Code::Setb_rm8);
        let firsts_of_eight = self.a.words(&std::array::from_fn(|lane| 8 * (lane as u32 / 8)));
        let (mut beyond, mut sixteens, mut eights) = (None, None, None);
        let differ = |l: &mut Self, all: &mut Option<R>, a: R, b: R, condition: u8| {
            let k = l.a.vcmp(Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8, a, Src::R(b), condition);
            *all = Some(match *all {
                Some(before) => l.a.k3(Code::VEX_Korw_kr_kr_kr, before, k),
                None => k,
            });
        };
        let mut firsts = Vec::new();
        let index = self.a.vload_pool(firsts_of_eight);
        for (g, &part) in parts.iter().enumerate() {
            differ(self, &mut beyond, part, last, 6);
            if g > 0 {
                differ(self, &mut sixteens, part, parts[0], 4);
            }
            let one = self.a.v3(Code::EVEX_Vpermd_zmm_k1z_zmm_zmmm512b32, index, Src::R(part));
            differ(self, &mut eights, part, one, 4);
            let high = self.a.high_half(part);
            for half in [part, high] {
                let first = self.a.first32(half);
                firsts.push(self.a.add(true, base, first));
            }
        }
        let mut told = |k: Option<R>| {
            let k = [k, beyond].into_iter().flatten().reduce(|a, b| self.a.k3(Code::VEX_Korw_kr_kr_kr, a, b));
            let k = k.ok_or_else(|| Error::Malformed("a chunk without lanes".into()))?;
            let bits = self.a.bits_of(k);
            Ok::<_, Error>(self.a.g2(false, super::scalar::OR, bits, small))
        };
        let (sixteens, eights) = (told(sixteens)?, told(eights)?);
        Ok(Alike { address, reach, sixteens, eights, firsts })
    }

    /// Loads as lanes are alike; `anywhere` writes it for lanes that are not.
    pub fn load_alike(
        &mut self,
        x: &Access<'_>,
        alike: &Alike,
        anywhere: impl FnOnce(&mut Self) -> Result<Vec<R>, Error>,
    ) -> Result<Vec<R>, Error> {
        let base = self.base(Space::Shared);
        let Address::Lanes(parts) = &x.address else { return Err(malformed(x.data)) };
        let first = parts[0];
        let (same, not_same, each, slow, end) =
            (self.a.block(), self.a.block(), self.a.block(), self.a.cold_block(), self.a.block());
        self.a.test(false, alike.sixteens, alike.sixteens);
        self.a.branch(Flags::Equal, (same, &[]), (not_same, &[]));

        self.a.switch_to(same);
        let index = match x.offset() {
            0 => first,
            n => self.a.v3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, first, Src::C32(n)),
        };
        let ones = self.a.k_const(true);
        let pair = self.aside(|l| l.gather64(base, index, ones, None));
        let all: Vec<R> = (0..self.groups).flat_map(|_| pair).collect();
        self.a.jump(end, &all);

        self.a.switch_to(not_same);
        self.a.test(false, alike.eights, alike.eights);
        self.a.branch(Flags::Equal, (each, &[]), (slow, &[]));
        self.a.switch_to(each);
        let code = Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64;
        let offset = x.offset() as i32;
        let load = |l: &mut Self, &first: &R| l.a.vload(code, Mem::at(first, offset), With::default());
        let all: Vec<R> = alike.firsts.iter().map(|first| load(self, first)).collect();
        self.a.jump(end, &all);

        self.a.switch_to(slow);
        let all = self.aside(anywhere)?;
        self.a.jump(end, &all);
        let params = all.iter().map(|_| self.a.param(end, RegClass::Float)).collect();
        self.a.switch_to(end);
        Ok(params)
    }
}

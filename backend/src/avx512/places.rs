//! Loads and stores at 64-bit addresses of global memory: side by side where analysis or a test as the code runs says so, else
//! each lane at its own place.

use iced_x86::Code;
use regalloc2::{Block as HostBlock, RegClass};
use warpjit_ir::{InstData, MemAccess, Opcode, Space, Value};

use super::asm::{Mem, R, Src, With};
use super::code::{Flags, Size};
use super::int::NOT_EQUAL;
use super::lower::Lower;
use super::memory::{Access, Address};
use super::permit::{Asked, Slow};
use crate::affine::Form;
use crate::context::{FAULT_AT_PLACE, at};
use crate::error::Error;
use crate::even_address::{
    EvenAddress, access_word, bytes_together, is_even_as_first, is_join, is_tried_as_line, step_of,
    without_ignored,
};
use crate::operands::MemoryOperands;

/// Farthest that an access may be from an address that is known to be one of the space: less than what lies beyond it unmapped.
pub(super) const MOST_OFFSET: i64 = 1 << 30;

/// Farthest that the last sixteen of a chunk may be from the first: much less than that.
pub(super) const MOST_APART: i64 = 1 << 24;

/// Where the lanes of an even address start.
#[derive(Clone)]
pub(super) struct Start {
    root: Value,
    space: Space,
    /// The guest's address of the first lane: of each sixteen, or of the first.
    firsts: Vec<R>,
    /// The same for the host.
    places: Vec<R>,
    /// Not 0 where it is beyond the space, or a word in it wraps within these lanes; `None`: it never is.
    bad: Option<R>,
    /// Bytes from each sixteen to the next, where the first's tells all.
    apart: Option<i32>,
}

impl Start {
    /// What is not 0 where something is wrong with it; the first lanes' addresses; how far the last of so many sixteens is from the first,
    /// where the first's address tells all.
    pub fn parts(&self, groups: usize) -> (Option<R>, Vec<R>, i64) {
        let far = self.apart.map_or(0, |apart| i64::from(apart) * (groups as i64 - 1));
        (self.bad, self.firsts.clone(), far)
    }
}

impl<'a> Lower<'a> {
    /// A load or store whose address is an i64.
    pub fn wide_memory(&mut self, data: &InstData, operands: MemoryOperands) -> Result<(), Error> {
        let mut asked = self.asked.take();
        let MemoryOperands { mem, address: a, value, guard } = operands;
        // The address is dealt with here.
        let mut x = Access::new(data, mem, value, guard, Address::Lanes(Vec::new()));
        let offset = i64::from(mem.offset);
        let is_fixed = self.is_fixed(data, mem, a, guard);
        if is_fixed || self.forms.of(a) == Form::Uniform {
            self.ask_now(&mut asked)?;
        }
        if is_fixed {
            let place = Mem::at(self.base(mem.space), 0);
            let address = self.a.imm(true, self.f.as_const(a).unwrap_or(0).wrapping_add(offset as u64));
            let place = Mem { index: Some((address, 1)), ..place };
            let loaded = self.load_steady(&x, place, 0);
            return self.define_one(&x, vec![loaded]);
        }
        if self.forms.of(a) == Form::Uniform {
            let count = self.spans(a);
            let addresses = self.each_group(count, |l| {
                let s = l.general(a)?;
                Ok(l.a.add_imm(true, s, offset))
            })?;
            if value.is_none_or(|v| self.forms.of(v) == Form::Uniform) {
                let led =
                    self.single.led.iter().find(|led| std::ptr::eq(self.f.inst(led.inst), data)).copied();
                if let Some(led) = led {
                    let leader = self.general(led.leader)?;
                    let place = Mem::indexed(led.base, leader, led.scale, mem.offset);
                    return self.uniform_at(&x, &[place]);
                }
                let walked = self.is_walked(data);
                for (g, &s) in addresses.iter().enumerate().filter(|_| !walked) {
                    self.check_one(&x, s, (count > 1).then_some(g))?;
                }
                return self.uniform_global(&x, &addresses);
            }
            let splats: Vec<R> = addresses.iter().map(|&s| self.a.splat(true, s)).collect();
            let parts = super::lower::spread(&splats, 2 * self.groups);
            let loaded = self.wide_lanes(&x, &parts)?;
            return self.give(&x, loaded);
        }
        if let Some(v) = value {
            // Made here, so that it is good behind.
            self.regs(v)?;
        }
        self.make_guard(guard)?;
        self.guard_bits(guard)?;
        let step = step_of(self.f, &self.forms, a);
        let even = step.filter(|&step| is_even_as_first(mem, step));
        let loaded = if let Some(step) = even {
            x.step = step as i8;
            x.rest = self.accessed_behind(&x, true);
            self.make_values(&x)?;
            if x.step > 0 && self.along_sixteens(a) {
                self.ask_now(&mut asked)?;
                let loaded = self.by_lines(&x, a, offset, |l| {
                    let parts = l.address_parts_of(a)?;
                    Ok(l.moved(&parts, offset))
                })?;
                return self.give(&x, loaded);
            }
            let (root, more) = self.without_constants(a);
            let (root, more) =
                if (offset + more).abs() < MOST_OFFSET { (root, offset + more) } else { (a, offset) };
            let start = self.start_of(root, mem.space)?;
            self.side_by_side(&x, &start, more, asked.take(), |l| {
                let parts = l.address_parts_of(a)?;
                Ok(l.moved(&parts, offset))
            })?
        } else if is_tried_as_line(self.f, &self.forms, a, mem) {
            let start = self.tried_start(a, mem)?;
            self.side_by_side(&x, &start, offset, asked.take(), |l| {
                let parts = l.address_parts_of(a)?;
                Ok(l.moved(&parts, offset))
            })?
        } else {
            let together = self.bytes_together(data);
            let word = access_word(data, together, &self.forms, self.f).filter(|_| !self.lanes_part());
            let parts = |l: &mut Self| {
                let parts = l.address_parts_of(a)?;
                Ok::<_, Error>(l.moved(&parts, offset))
            };
            if let Some((word, step, bytes)) = word {
                x.step = bytes as i8;
                x.rest = self.accessed_behind(&x, true);
                self.make_values(&x)?;
                let words = self.regs(word)?;
                if let Some(x) = self.along_lines(&x, word, step) {
                    self.ask_now(&mut asked)?;
                    let loaded = self.by_lines(&x, a, offset, parts)?;
                    return self.give(&x, loaded);
                }
                let firsts = |l: &mut Self, any| l.word_evenness(a, step, &words, guard, offset, any);
                // With none of the word, the address is a buffer's start.
                let nowhere = matches!(mem.space, Space::Global(_)) && !self.has_base(a);
                self.tried_side_by_side(&x, (firsts, nowhere), asked.take(), parts)?
            } else {
                let parts = parts(self)?;
                if (4..=8).contains(&mem.bytes)
                    && mem.align <= mem.bytes
                    && step.is_none()
                    && !self.lanes_part()
                {
                    let firsts = |l: &mut Self, any| l.evenness(&parts, guard, mem.bytes, any);
                    self.tried_side_by_side(&x, (firsts, true), asked.take(), |_| Ok(parts.clone()))?
                } else {
                    self.ask_now(&mut asked)?;
                    self.wide_lanes(&x, &parts)?
                }
            }
        };
        if asked.is_some() {
            return Err(Error::Malformed("an access that has not asked".into()));
        }
        self.give(&x, loaded)
    }

    /// Asks before an access that does not ask by itself.
    fn ask_now(&mut self, asked: &mut Option<Asked<'a>>) -> Result<(), Error> {
        asked.take().map_or(Ok(()), |asked| self.ask(&asked))
    }

    /// Bytes that a guest instruction accesses for a lane, of which `data` is a part, in the current block.
    fn bytes_together(&self, data: &InstData) -> u8 {
        let insts = &self.f.block(self.blocks.current).insts;
        let at = insts.iter().position(|&inst| std::ptr::eq(self.f.inst(inst), data));
        at.map_or(0, |at| bytes_together(self.f, insts, at))
    }

    /// Addresses so many bytes further.
    pub fn moved(&mut self, parts: &[R], offset: i64) -> Vec<R> {
        if offset == 0 {
            return parts.to_vec();
        }
        parts
            .iter()
            .map(|&p| self.a.v3(Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, p, Src::C64(offset as u64)))
            .collect()
    }

    /// Bits of a scalar address that must not be set: beyond the address space, or misaligned.
    pub fn bad_bits(&mut self, address: R, mem: MemAccess) -> R {
        let inside = self.looks_for_itself();
        if mem.align <= 1 && inside {
            return self.a.imm(true, 0);
        }
        let mut beyond = None;
        if !inside {
            let high = self.a.load_fixed(true, Mem::at(self.context, at::GLOBAL_HIGH));
            let bad = self.a.g2(true, super::scalar::AND, high, address);
            if mem.align <= 1 {
                return bad;
            }
            beyond = Some(bad);
        }
        let whole = self.a.add_imm(true, address, -i64::from(mem.align_offset));
        let low = self.a.g2i(false, super::scalar::AND_IMM, whole, i32::from(mem.align - 1));
        match beyond {
            Some(bad) => self.a.g2(true, super::scalar::OR, bad, low),
            None => low,
        }
    }

    /// Whether no address is beyond the space: what has been permitted is inside, and translations look for themselves.
    fn looks_for_itself(&self) -> bool {
        self.options.permits || self.options.translated
    }

    /// Faults where the one address of all lanes is none.
    pub fn check_one(&mut self, x: &Access<'_>, address: R, group: Option<usize>) -> Result<(), Error> {
        if x.mem.align <= 1 && self.looks_for_itself() {
            return Ok(());
        }
        let (cold, go_on) = (self.a.cold_block(), self.a.block());
        if x.mem.align <= 1 {
            let high = self.a.load_fixed(true, Mem::at(self.context, at::GLOBAL_HIGH));
            self.a.test(true, address, high);
        } else {
            let bad = self.bad_bits(address, x.mem);
            self.a.test(true, bad, bad);
        }
        self.a.branch(Flags::NotEqual, (cold, &[]), (go_on, &[]));
        self.a.switch_to(cold);
        let mut bits = self.aside(|l| l.guard_bits(x.guard))?;
        if let Some(g) = group {
            let own = self.bits_of_group(bits, g);
            bits = self.a.shift(true, super::scalar::SHL, own, 16 * g as u8);
        }
        let faulting = self.a.cold_block();
        self.a.test(true, bits, bits);
        self.a.branch(Flags::NotEqual, (faulting, &[]), (go_on, &[]));
        self.a.switch_to(faulting);
        let lane = self.a.g1(Code::Tzcnt_r64_rm64, bits, Size::Q, Size::Q);
        let what = self.a.imm(false, FAULT_AT_PLACE.into());
        self.a.store32(Mem::at(self.context, at::FAULT_LANES), what);
        self.jump_to_fault(x.data, x.mem, lane, address);
        self.a.switch_to(go_on);
        Ok(())
    }

    /// The first lane's address of each sixteen, and whether others that take part do not follow it side by side (0 or not). With `any`
    /// the first lane's address is what the first of them that takes part says.
    fn evenness(
        &mut self,
        addresses: &[R],
        guard: Option<Value>,
        bytes: u8,
        any: bool,
    ) -> Result<(Vec<R>, R), Error> {
        let guard = self.guard(guard)?;
        let guard = self.widen(&guard);
        let mut odd: Option<R> = None;
        let mut firsts = Vec::new();
        let steps = [0, 1].map(|half| {
            let steps = std::array::from_fn(|l| (8 * half + l) as u64 * u64::from(bytes));
            Src::Pool(self.a.doubles(&steps))
        });
        for (pair, masks) in addresses.chunks(2).zip(guard.chunks(2)) {
            let first = match any {
                true => {
                    let [low, high] = [0, 1]
                        .map(|n| self.a.v3(Code::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64, pair[n], steps[n]));
                    let both = self.blend(true, masks[0], Src::R(low), high);
                    let some = self.a.k3(Code::VEX_Korw_kr_kr_kr, masks[0], masks[1]);
                    let with = With { mask: Some(some), zeroing: true, ..With::default() };
                    let pressed = self.a.v2w(
                        Code::EVEX_Vpcompressq_zmmm512_k1z_zmm,
                        Src::R(both),
                        Size::Z,
                        Size::Z,
                        with,
                    );
                    self.a.first64(pressed)
                }
                false => self.a.first64(pair[0]),
            };
            let splat = self.a.splat(true, first);
            firsts.push(first);
            for (n, (&a, &k)) in pair.iter().zip(masks).enumerate() {
                let want = self.a.v3(Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, splat, steps[n]);
                let differs =
                    self.a.vcmpm(Code::EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8, k, a, Src::R(want), NOT_EQUAL);
                odd = Some(match odd {
                    Some(o) => self.a.k3(Code::VEX_Korw_kr_kr_kr, o, differs),
                    None => differs,
                });
            }
        }
        let odd = odd.ok_or_else(|| Error::Malformed("no addresses".into()))?;
        let odd = self.a.bits_of(odd);
        Ok((firsts, odd))
    }

    /// As [`Lower::evenness`], from the one word that the address depends on, which grows so much from lane to lane.
    fn word_evenness(
        &mut self,
        address: Value,
        step: u32,
        words: &[R],
        guard: Option<Value>,
        offset: i64,
        any: bool,
    ) -> Result<(Vec<R>, R), Error> {
        let guard = self.guard(guard)?;
        let steps = std::array::from_fn(|l| l as u32 * step);
        let steps = Src::Pool(self.a.words(&steps));
        let mut odd: Option<R> = None;
        let mut wraps: Option<(Opcode, R)> = None;
        let firsts = self.each_group(self.groups, |l| {
            let (w, k) = (words[l.group], guard[l.group]);
            let from = match any {
                true => {
                    let back = l.a.v3(Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, w, steps);
                    let with = With { mask: Some(k), zeroing: true, ..With::default() };
                    l.a.v2w(Code::EVEX_Vpcompressd_zmmm512_k1z_zmm, Src::R(back), Size::Z, Size::Z, with)
                }
                false => w,
            };
            let first = l.a.first32(from);
            let splat = l.a.splat(false, first);
            let want = l.a.v3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, splat, steps);
            let differs =
                l.a.vcmpm(Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8, k, w, Src::R(want), NOT_EQUAL);
            odd = Some(match odd {
                Some(o) => l.a.k3(Code::VEX_Korw_kr_kr_kr, o, differs),
                None => differs,
            });
            let whole = l.first_with(address, (first, i64::from(step)), &mut wraps)?;
            Ok(l.a.add_imm(true, whole, offset))
        })?;
        let odd = odd.ok_or_else(|| Error::Malformed("no addresses".into()))?;
        let odd = self.a.bits_of(odd);
        let odd = match wraps {
            Some((Opcode::Zext, lasts)) => {
                let high = self.a.shift(true, super::scalar::SHR, lasts, 32);
                self.a.g2(true, super::scalar::OR, odd, high)
            }
            Some((_, below)) => {
                let inside = self.a.shift(true, super::scalar::SHR, below, 63);
                let outside = self.a.g2i(true, super::scalar::XOR_IMM, inside, 1);
                self.a.g2(true, super::scalar::OR, odd, outside)
            }
            None => odd,
        };
        Ok((firsts, odd))
    }

    /// An address with a word as given. Adds to what tells whether the word of a last lane, in 64 bits, is none of 32: for zext the last
    /// lanes' words, or-ed; for sext how far they are below 2^31, and-ed.
    fn first_with(&mut self, v: Value, given: (R, i64), wraps: &mut Option<(Opcode, R)>) -> Result<R, Error> {
        let mut word = |l: &mut Self, op: Opcode| {
            let first = l.extend(op, given.0);
            let (more, code) = match op {
                Opcode::Zext => (0, super::scalar::OR),
                _ => (-1 << 31, super::scalar::AND),
            };
            let last = l.a.add_imm(true, first, 15 * given.1 + more);
            let all = match *wraps {
                Some((_, before)) => l.a.g2(true, code, before, last),
                None => last,
            };
            *wraps = Some((op, all));
            Some(first)
        };
        let made = self.made_with(v, &mut word)?;
        made.ok_or_else(|| Error::Malformed("an address of nothing".into()))
    }

    /// An address of one word, with what `word` makes of that word's extension; none where that is all and it makes none.
    pub fn made_with(
        &mut self,
        v: Value,
        word: &mut dyn FnMut(&mut Self, Opcode) -> Option<R>,
    ) -> Result<Option<R>, Error> {
        if self.forms.of(v) == Form::Uniform {
            return self.general(v).map(Some);
        }
        let Some(data) = self.f.def_inst(v) else {
            return Err(Error::Malformed("an address from nowhere".into()));
        };
        Ok(match data.op {
            Opcode::Zext | Opcode::Sext => word(self, data.op),
            Opcode::Iadd | Opcode::Isub => {
                let (a, b) = (self.made_with(data.args[0], word)?, self.made_with(data.args[1], word)?);
                match (a, b) {
                    (Some(a), Some(b)) => Some(self.sum(data.op, a, b)),
                    (None, Some(b)) if data.op == Opcode::Isub => {
                        Some(self.a.g1r(true, (Code::Neg_rm32, Code::Neg_rm64), b))
                    }
                    (a, b) => a.or(b),
                }
            }
            Opcode::Ishl => {
                let by = self.f.as_const(data.args[1]).unwrap_or(0) as u8;
                self.made_with(data.args[0], word)?.map(|a| self.shift_left(a, by))
            }
            op => return Err(Error::Malformed(format!("{} in an address of one word", op.name()))),
        })
    }

    /// Whether something that all lanes share, and that the code does not tell, is added to an address of one word.
    fn has_base(&self, v: Value) -> bool {
        if self.forms.of(v) == Form::Uniform {
            return self.f.as_const(v).is_none();
        }
        self.f.def_inst(v).is_some_and(|data| match data.op {
            Opcode::Iadd => data.args.iter().any(|&a| self.has_base(a)),
            Opcode::Isub => self.has_base(data.args[0]),
            _ => false,
        })
    }

    /// An address without the constants added to it, and their sum.
    pub fn without_constants(&self, mut v: Value) -> (Value, i64) {
        let mut sum = 0i64;
        while let Some(data) = self.f.def_inst(v).filter(|data| data.op == Opcode::Iadd) {
            let (other, constant) = match (self.f.as_const(data.args[0]), self.f.as_const(data.args[1])) {
                (_, Some(c)) => (data.args[0], c as i64),
                (Some(c), _) => (data.args[1], c as i64),
                _ => break,
            };
            let Some(more) = sum.checked_add(constant).filter(|s| s.abs() < MOST_OFFSET) else { break };
            (v, sum) = (other, more);
        }
        (v, sum)
    }

    /// How far the sixteens of an even address are from each other, if that is known and not far, and no word in it
    /// turns back within a chunk.
    fn sixteens_apart(&self, v: Value) -> Option<i32> {
        let apart = self.bytes_apart(v)?;
        (apart.checked_mul(self.groups as i64)?.abs() < MOST_APART).then_some(apart as i32)
    }

    pub fn bytes_apart(&self, v: Value) -> Option<i64> {
        if self.forms.of(v) == Form::Uniform {
            return self.apart[v.index()].filter(|&apart| apart == 0).map(i64::from);
        }
        let data = self.f.def_inst(v)?;
        let of = |n: usize| self.bytes_apart(data.args[n]);
        match data.op {
            Opcode::Zext | Opcode::Sext => {
                let word = data.args[0];
                let apart = self.apart[word.index()]?;
                (self.stride_of(word).signum() * apart.signum() >= 0).then_some(apart.into())
            }
            Opcode::Iadd => of(0)?.checked_add(of(1)?),
            Opcode::Ior if is_join(self.f, data) => of(0)?.checked_add(of(1)?),
            Opcode::Isub => of(0)?.checked_sub(of(1)?),
            Opcode::Ishl => {
                let count = self.f.as_const(data.args[1]).filter(|&count| count < 63)?;
                of(0)?.checked_mul(1 << count)
            }
            Opcode::Sshr => {
                let (whole, _) = without_ignored(self.f, data)?;
                let (step, apart) = (step_of(self.f, &self.forms, whole)?, self.bytes_apart(whole)?);
                (step.signum() * apart.signum() >= 0).then_some(apart)
            }
            _ => None,
        }
    }

    /// Where the lanes of an even address start: computed once for all accesses of a block at some offset from it.
    pub fn start_of(&mut self, root: Value, space: Space) -> Result<Start, Error> {
        let apart = self.sixteens_apart(root);
        self.start_apart(root, space, apart)
    }

    /// The same where it is known how far the sixteens are from each other.
    fn start_apart(&mut self, root: Value, space: Space, apart: Option<i32>) -> Result<Start, Error> {
        let is_it = |s: &&Start| s.root == root && s.space == space && s.apart == apart;
        if let Some(start) = self.known.starts.iter().find(is_it) {
            return Ok(start.clone());
        }
        let mut wraps = None;
        let count = if apart.is_some() { 1 } else { self.groups };
        self.span_groups = self.groups - count;
        let firsts = self.each_group(count, |l| {
            let span = l.span(root)?;
            wraps = match (wraps, span.wraps) {
                (Some(a), Some(b)) => Some(l.a.g2(true, super::scalar::OR, a, b)),
                (a, b) => a.or(b),
            };
            Ok(span.first)
        })?;
        let bad = match wraps {
            wraps if self.looks_for_itself() => wraps,
            wraps => {
                let all = firsts.iter().copied().reduce(|a, b| self.a.g2(true, super::scalar::OR, a, b));
                let all = all.ok_or_else(|| Error::Malformed("no addresses".into()))?;
                let high = self.a.load_fixed(true, Mem::at(self.context, at::GLOBAL_HIGH));
                let beyond = self.a.g2(true, super::scalar::AND, high, all);
                Some(match wraps {
                    Some(wraps) => self.a.g2(true, super::scalar::OR, wraps, beyond),
                    None => beyond,
                })
            }
        };
        let places = firsts.iter().map(|&first| self.host_address(space, first)).collect();
        let start = Start { root, space, firsts, places, bad, apart };
        if !self.aside {
            self.known.starts.push(start.clone());
        }
        Ok(start)
    }

    /// The same of an address whose stride is computed: something is wrong with it where lanes do not lie side by side.
    pub fn tried_start(&mut self, address: Value, mem: MemAccess) -> Result<Start, Error> {
        // The stride is compared with what it is to be.
        let apart = self.is_line_of_chunk(address).then_some(16 * i32::from(mem.bytes));
        let start = self.start_apart(address, mem.space, apart)?;
        let mut bad = start.bad;
        for step in self.each_group(self.strides(address), |l| l.step(address))? {
            let differs = self.a.g2i(true, super::scalar::XOR_IMM, step, mem.bytes.into());
            bad = Some(match bad {
                Some(bad) => self.a.g2(true, super::scalar::OR, bad, differs),
                None => differs,
            });
        }
        Ok(Start { bad, ..start })
    }

    /// Whether lanes of an address are on a line over all of the chunk, if nothing wraps.
    fn is_line_of_chunk(&self, v: Value) -> bool {
        if self.forms.of(v) == Form::Uniform {
            return self.is_one(v);
        }
        let Some(data) = self.f.def_inst(v) else { return false };
        match data.op {
            Opcode::Zext | Opcode::Sext => !self.is_by_sixteen(data.args[0]),
            _ => data.args.iter().all(|&arg| self.is_line_of_chunk(arg)),
        }
    }

    /// How many strides a line has: one, or one for each sixteen, where what lanes share differs between them.
    fn strides(&self, v: Value) -> usize {
        let Some(data) = self.f.def_inst(v) else { return 1 };
        let of = |&v: &Value| match self.forms.of(v) {
            Form::Uniform if data.op == Opcode::Imul => self.spans(v),
            Form::Uniform => 1,
            _ => self.strides(v),
        };
        match data.op {
            Opcode::Iadd | Opcode::Isub | Opcode::Imul => data.args.iter().map(of).max().unwrap_or(1),
            Opcode::Ishl | Opcode::Sshr => of(&data.args[0]),
            _ => 1,
        }
    }

    /// Vectors where the lanes lie side by side from where they start on, so many bytes further, which they do if
    /// nothing is wrong with that; else lane by lane, with the addresses that `parts` makes.
    ///
    /// Whether an address is one of the space is asked without the offset: beyond the space there is nothing for farther than that.
    fn side_by_side(
        &mut self,
        x: &Access<'_>,
        start: &Start,
        offset: i64,
        asked: Option<Asked<'a>>,
        parts: impl FnOnce(&mut Self) -> Result<Vec<R>, Error>,
    ) -> Result<Vec<R>, Error> {
        let (places, bad) = self.side_by_side_at(x, start, offset, start.bad);
        if bad.is_none() && asked.is_none() {
            return self.run(x, &places);
        }
        let (quick, slow) = (self.a.block(), self.a.cold_block());
        match bad {
            Some(bad) => {
                self.a.test(true, bad, bad);
                self.a.branch(Flags::NotEqual, (slow, &[]), (quick, &[]));
            }
            None => self.a.jump(quick, &[]),
        }
        self.a.switch_to(quick);
        let asked = match asked {
            Some(asked) => {
                let (_, firsts, far) = start.parts(self.groups);
                let from_address = i64::from(x.mem.offset) - offset;
                Some(self.ask_of_firsts(asked, &firsts, (from_address, x.step.into(), far))?)
            }
            None => None,
        };
        self.quick_and_slow(x, (&places, true), (slow, asked), parts)
    }

    /// Where each sixteen of an access begin, and not 0 where `bad` is not or lanes are not aligned as they must be.
    pub fn side_by_side_at(
        &mut self,
        x: &Access<'_>,
        start: &Start,
        offset: i64,
        mut bad: Option<R>,
    ) -> (Vec<Mem>, Option<R>) {
        let mem = as_whole(x);
        if mem.align > 1 {
            for &first in &start.firsts {
                let whole = self.a.add_imm(true, first, offset - i64::from(mem.align_offset));
                let low = self.a.g2i(false, super::scalar::AND_IMM, whole, i32::from(mem.align - 1));
                bad = Some(match bad {
                    Some(bad) => self.a.g2(true, super::scalar::OR, low, bad),
                    None => low,
                });
            }
            if start.apart.is_some_and(|apart| apart % i32::from(mem.align) != 0) && self.groups > 1 {
                // The others are not aligned as the first.
                bad = Some(self.a.imm(true, 1));
            }
        }
        let place = |g: usize| match start.apart {
            Some(apart) => Mem::at(start.places[0], offset as i32 + g as i32 * apart),
            None => Mem::at(start.places[g], offset as i32),
        };
        ((0..self.groups).map(place).collect(), bad)
    }

    /// The same start with its places so much further.
    pub fn moved_start(&mut self, start: &Start, by: &[R]) -> Start {
        let places = start.places.iter().zip(by).map(|(&place, &by)| self.a.add(true, place, by)).collect();
        Start { places, ..start.clone() }
    }

    /// As [`Lower::side_by_side`], where `firsts` tells the first lanes' addresses and whether others are odd: from the first lanes
    /// themselves where they take part, else from any lane that does. `nowhere`: where none of a sixteen does, that is no place in memory.
    fn tried_side_by_side(
        &mut self,
        x: &Access<'_>,
        (firsts, nowhere): (impl Fn(&mut Self, bool) -> Result<(Vec<R>, R), Error>, bool),
        asked: Option<Asked<'a>>,
        parts: impl FnOnce(&mut Self) -> Result<Vec<R>, Error>,
    ) -> Result<Vec<R>, Error> {
        self.base(x.mem.space);
        let bits = self.guard_bits(x.guard)?;
        let (quick, slow) = (self.a.block(), self.a.cold_block());
        let (by_first, by_any) = (self.a.block(), self.a.cold_block());
        let each = (0..self.groups).fold(0, |bits, g| bits | 1u64 << (16 * g));
        let each = self.a.imm(true, each);
        let there = self.a.g2(true, super::scalar::AND, bits, each);
        self.a.cmp(true, there, each);
        self.a.branch(Flags::NotEqual, (by_any, &[]), (by_first, &[]));
        for (block, any) in [(by_first, false), (by_any, true)] {
            self.a.switch_to(block);
            if any {
                // Nor is there an address for nobody.
                let some = self.a.block();
                self.a.test(true, bits, bits);
                self.a.branch(Flags::Equal, (slow, &[]), (some, &[]));
                self.a.switch_to(some);
            }
            let found = self.aside(|l| {
                let (mut found, odd) = firsts(l, any)?;
                // What is asked for is asked of all sixteens.
                if any && (nowhere || l.options.permits) {
                    l.lend_firsts(x.guard, &mut found)?;
                }
                let bad = l.bad_firsts(x, &found, Some(odd));
                l.a.test(true, bad, bad);
                Ok::<_, Error>(found)
            })?;
            self.a.branch(Flags::NotEqual, (slow, &[]), (quick, &found));
        }
        let given: Vec<R> = (0..self.groups).map(|_| self.a.param(quick, RegClass::Int)).collect();
        self.a.switch_to(quick);
        let asked = match asked {
            Some(asked) => {
                Some(self.ask_of_firsts(asked, &given, (x.mem.offset.into(), x.step.into(), 0))?)
            }
            None => None,
        };
        let places: Vec<Mem> =
            given.iter().map(|&first| Mem::at(self.host_address(x.mem.space, first), 0)).collect();
        self.quick_and_slow(x, (&places, false), (slow, asked), parts)
    }

    /// The host's address of an address of a space.
    pub fn host_address(&mut self, space: Space, address: R) -> R {
        if self.is_of_host(space) {
            return address;
        }
        let base = self.base(space);
        self.a.add(true, base, address)
    }

    /// Whether addresses of a space are the host's: those that permits are asked for.
    pub fn is_of_host(&self, space: Space) -> bool {
        self.options.permits && matches!(space, Space::Global(_))
    }

    /// Gives sixteens of which no lane takes part the first address of another: a masked vector of nothing takes
    /// hundreds of cycles where no memory is (Zen 5).
    fn lend_firsts(&mut self, guard: Option<Value>, firsts: &mut [R]) -> Result<(), Error> {
        let Some((&first, others @ [_, ..])) = firsts.split_first() else { return Ok(()) };
        let masks = self.guard(guard)?;
        let mut lent = first;
        for (&of, &mask) in others.iter().zip(&masks[1..]) {
            self.a.kortest(mask, mask);
            lent = self.a.pick_if(Code::Cmovne_r64_rm64, of, lent);
        }
        for (first, &mask) in firsts.iter_mut().zip(masks.iter()) {
            self.a.kortest(mask, mask);
            *first = self.a.pick_if(Code::Cmove_r64_rm64, lent, *first);
        }
        Ok(())
    }

    /// The two ways of an access: vectors from the places of each sixteen's first lane on, written to the current
    /// block, or lane by lane; `known`: these mostly lie side by side.
    fn quick_and_slow(
        &mut self,
        x: &Access<'_>,
        (places, known): (&[Mem], bool),
        (slow, asked): (HostBlock, Option<Slow<'a>>),
        parts: impl FnOnce(&mut Self) -> Result<Vec<R>, Error>,
    ) -> Result<Vec<R>, Error> {
        let end = self.a.block();
        let loaded = self.aside(|l| l.run(x, places))?;
        self.a.jump(end, &loaded);
        self.a.switch_to(slow);
        let lanes = self.aside(|l| {
            if let Some(asked) = asked {
                l.ask_slowly(asked)?;
            }
            let parts = parts(l)?;
            if known { l.each_by_lanes(x, &parts) } else { l.runs_or_lanes(x, &parts) }
        })?;
        self.a.jump(end, &lanes);
        let params = lanes.iter().map(|_| self.a.param(end, RegClass::Float)).collect();
        self.a.switch_to(end);
        Ok(params)
    }

    /// An access and those of [`Lower::accessed_behind`], each lane at its own place.
    pub fn each_by_lanes(&mut self, x: &Access<'_>, parts: &[R]) -> Result<Vec<R>, Error> {
        let mut lanes = Vec::new();
        for (n, one) in self.each_of(x).into_iter().enumerate() {
            let parts = self.moved(parts, n as i64 * i64::from(x.mem.bytes));
            lanes.extend(self.wide_lanes(&one, &parts)?);
        }
        Ok(lanes)
    }

    /// Zero unless `odd` is not, or a first lane's address is none for an access.
    pub fn bad_firsts(&mut self, x: &Access<'_>, firsts: &[R], odd: Option<R>) -> R {
        let mut bad = odd;
        let any = |l: &mut Self, found: &[R]| -> Option<R> {
            found.iter().copied().reduce(|a, b| l.a.g2(true, super::scalar::OR, a, b))
        };
        let mem = as_whole(x);
        let beyond = match mem.align {
            // The bits of all at once.
            0 | 1 => any(self, firsts).map(|all| self.bad_bits(all, mem)),
            _ => {
                let each: Vec<R> = firsts.iter().map(|&first| self.bad_bits(first, mem)).collect();
                any(self, &each)
            }
        };
        if let Some(beyond) = beyond {
            bad = Some(match bad {
                Some(bad) => self.a.g2(true, super::scalar::OR, bad, beyond),
                None => beyond,
            });
        }
        bad.unwrap_or_else(|| self.a.imm(true, 0))
    }
}

/// An access as it must be aligned for what is done with it to be done at once.
pub(super) fn as_whole(x: &Access<'_>) -> MemAccess {
    match x.rest.is_empty() {
        true => x.mem,
        false => MemAccess { align: x.step.unsigned_abs(), align_offset: 0, ..x.mem },
    }
}

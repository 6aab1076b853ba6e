//! Atomics: the lanes that take part do theirs one after the other, the lowest first.
//!
//! Operations that the host has are a loop over the lanes, with instructions that lock in global memory; that all addresses are good is
//! tested before. Else, and for other operations, a function does all lanes ([`crate::atomics`]).

use iced_x86::Code;
use regalloc2::RegClass;
use warpjit_ir::{AtomicOp, Imm, InstData, MemAccess, Space, Value};

use super::asm::{A, Mem, R, Src, With};
use super::code::{Flags, Size};
use super::int::{CMPU, TEST};
use super::lower::Lower;
use super::memory::{Access, Address};
use super::scalar::{AND, OR, SUB, XOR};
use crate::alignment::AlignmentTest;
use crate::atomics::{DEVICE_ACCESS, describe, device_access, is_possible, may_fault};
use crate::context::at;
use crate::error::Error;
use crate::operands::{arg, malformed, wide};
use crate::trap::TrapLane;

/// Not below.
const NOT_LESS: u8 = 5;

/// An atomic on its way.
struct Update<'a> {
    data: &'a InstData,
    mem: MemAccess,
    op: AtomicOp,
    value: Value,
    new: Option<Value>,
    guard: Option<Value>,
    /// Vectors of addresses, with the offset.
    addresses: Vec<R>,
    wide_address: bool,
    /// Lanes that take part, a bit each.
    bits: R,
    /// The result, if anything looks at it.
    wanted: Option<Value>,
}

impl Update<'_> {
    fn is_global(&self) -> bool {
        matches!(self.mem.space, Space::Global(_))
    }

    /// Whether the host has instructions for it.
    fn is_of_host(&self) -> bool {
        use AtomicOp::*;
        // Across a line of the cache, instructions that lock are very slow.
        let aligned = self.mem.align >= self.mem.bytes;
        match self.mem.space {
            // What is asked of addresses before is only that they are multiples.
            _ if self.mem.align_offset != 0 => false,
            Space::Global(_) if !aligned => false,
            Space::Global(_) if self.wanted.is_some() => matches!(self.op, Add | Exch),
            Space::Global(_) => matches!(self.op, Add | Exch | And | Or | Xor),
            Space::Shared => {
                matches!(self.op, Add | Exch | And | Or | Xor | Umax | Umin | Smax | Smin | Rsub | Cas)
            }
            Space::Local | Space::Const(_) => false,
        }
    }
}

impl Lower<'_> {
    /// An atomic of any memory.
    pub fn atomic(&mut self, data: &InstData) -> Result<(), Error> {
        let Imm::Atomic(mem, op) = data.imm else { return Err(malformed(data)) };
        let (a, value) = (arg(data, 0)?, arg(data, 1)?);
        let wide_address = wide(self.scalar_of(a));
        if !is_possible(data, mem, wide_address) {
            return Err(Error::CrossLane(data.op));
        }
        let new = if op.takes_two() { Some(arg(data, 2)?) } else { None };
        let guard = data.args.get(data.atomic_operands()).copied();
        let addresses = self.regs(a)?.to_vec();
        let mut addresses = match wide_address {
            true => self.moved(&addresses, mem.offset.into()),
            false => {
                let x = Access::new(data, mem, Some(value), guard, Address::Lanes(addresses));
                self.address_parts(&x)
            }
        };
        if !matches!(mem.space, Space::Global(_)) && !mem.far {
            let low = |&p: &R| self.a.v3(Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, p, Src::C32(0xffff));
            addresses = addresses.iter().map(low).collect();
        }
        let bits = self.guard_bits(guard)?;
        let wanted = data.result.filter(|&r| self.uses.count(r) > 0);
        let x = Update { data, mem, op, value, new, guard, addresses, wide_address, bits, wanted };
        // Made here, so that they are good behind.
        let count = self.regs(value)?.len();
        new.map(|new| self.regs(new)).transpose()?;
        let masks = self.guard(guard)?;
        let of_host = x.is_of_host();
        let inside = if x.mem.space == Space::Shared { self.limit(x.mem.space, x.mem.bytes) } else { None };
        let base = if of_host { Some(self.base(mem.space)) } else { None };
        let (go, end) = (self.a.block(), self.a.block());
        let none = match wanted {
            Some(_) => vec![self.a.constant(false, 0); count],
            None => Vec::new(),
        };
        // Where branches have become masks, often no lane takes part.
        self.a.test(true, bits, bits);
        self.a.branch(Flags::NotEqual, (go, &[]), (end, &none));
        self.a.switch_to(go);
        self.note_addresses(&x.addresses);
        self.a.store64g(Mem::at(self.context, at::GUARD_LANES), bits);
        if let Some(base) = base {
            let slow = self.a.cold_block();
            if let Some(bad) = self.aside(|l| l.bad_lanes(&x, &masks, inside))? {
                let quick = self.a.block();
                self.test_any(&[bad]);
                self.a.branch(Flags::NotEqual, (slow, &[]), (quick, &[]));
                self.a.switch_to(quick);
            }
            self.aside(|l| l.one_by_one(&x, base))?;
            let old = self.old_values(&x);
            self.a.jump(end, &old);
            self.a.switch_to(slow);
        }
        self.aside(|l| l.by_function(&x))?;
        let old = self.old_values(&x);
        self.a.jump(end, &old);
        let old = old.iter().map(|_| self.a.param(end, RegClass::Float)).collect();
        self.a.switch_to(end);
        if let Some(r) = wanted {
            self.define_vectors(r, old);
        }
        Ok(())
    }

    fn old_values(&mut self, x: &Update<'_>) -> Vec<R> {
        if x.wanted.is_some() { self.lane_values(x.mem.bytes) } else { Vec::new() }
    }

    /// Puts something of each lane where it is found lane by lane.
    fn note_lanes(&mut self, place: i32, v: Value) -> Result<(), Error> {
        for (n, &p) in self.regs(v)?.iter().enumerate() {
            self.a.store64(Mem::at(self.context, place + 64 * n as i32), p);
        }
        Ok(())
    }

    /// Lanes that take part whose addresses are none for the access, as far as code must ask before it makes it: not 0 if there are any.
    fn bad_lanes(&mut self, x: &Update<'_>, masks: &[R], inside: Option<R>) -> Result<Option<R>, Error> {
        let masks = if x.wide_address { self.widen(masks) } else { masks.to_vec() };
        let size = usize::from(x.wide_address);
        let mut bad: Option<R> = None;
        let mut add = |l: &mut Self, k: R| {
            bad = Some(match bad {
                Some(before) => l.a.k3(Code::VEX_Korw_kr_kr_kr, before, k),
                None => k,
            });
        };
        if AlignmentTest::of(self.f, x.data, x.mem, x.guard)?.is_some() {
            let low = u32::from(x.mem.align - 1);
            let low = if x.wide_address { Src::C64(low.into()) } else { Src::C32(low) };
            for (&p, &k) in x.addresses.iter().zip(&masks) {
                let k = self.a.vtestm(TEST[size], k, p, low);
                add(self, k);
            }
        }
        if x.wide_address && self.options.permits {
            for k in self.atomics_outside(&x.addresses, &masks, x.mem.bytes)? {
                add(self, k);
            }
        } else if x.wide_address {
            let high = self.a.load_fixed(true, Mem::at(self.context, at::WINDOW_HIGH));
            let high = self.a.splat(true, high);
            for (&p, &k) in x.addresses.iter().zip(&masks) {
                let k = self.a.vtestm(TEST[1], k, p, Src::R(high));
                add(self, k);
            }
        }
        if let Some(inside) = inside {
            let limit = self.a.splat(false, inside);
            for (&p, &k) in x.addresses.iter().zip(&masks) {
                let k = self.a.vcmpm(CMPU[0], k, p, Src::R(limit), NOT_LESS);
                add(self, k);
            }
        }
        Ok(bad)
    }

    /// A loop over the lanes that take part, the addresses being in the context.
    fn one_by_one(&mut self, x: &Update<'_>, base: R) -> Result<(), Error> {
        let double = x.mem.bytes == 8;
        let of_all = if self.is_one(x.value) { Some(self.general(x.value)?) } else { None };
        if of_all.is_none() {
            self.note_lanes(at::LANE_VALUES, x.value)?;
        }
        if let Some(new) = x.new {
            self.note_lanes(at::LANE_OTHERS, new)?;
        }
        let (head, end) = (self.a.block(), self.a.block());
        let left = self.a.param(head, RegClass::Int);
        self.a.jump(head, &[x.bits]);
        self.a.switch_to(head);
        let lane = self.a.g1(Code::Tzcnt_r64_rm64, left, Size::Q, Size::Q);
        let of_lane = |l: &mut Self, is_double: bool, place: i32| {
            let place = Mem::indexed(l.context, lane, if is_double { 8 } else { 4 }, place);
            if is_double { l.a.load64g(place) } else { l.a.load32(place) }
        };
        let address = of_lane(self, x.wide_address, at::LANE_ADDRESSES);
        let value = match of_all {
            Some(value) => value,
            None => of_lane(self, double, at::LANE_VALUES),
        };
        let new = x.new.map(|_| of_lane(self, double, at::LANE_OTHERS));
        let there = Mem::indexed(base, address, 1, 0);
        let old = match x.is_global() {
            true => self.locked(x, there, value),
            false => self.unlocked(x, there, value, new),
        };
        if let (Some(old), Some(_)) = (old, x.wanted) {
            let own = Mem::indexed(self.context, lane, if double { 8 } else { 4 }, at::LANE_VALUES);
            if double { self.a.store64g(own, old) } else { self.a.store32(own, old) }
        }
        let rest = self.a.gpr();
        self.a.put(Code::VEX_Blsr_r64_rm64, &[A::Def(rest, Size::Q), A::Use(left, Size::Q)], With::default());
        self.a.test(true, rest, rest);
        self.a.branch(Flags::NotEqual, (head, &[rest]), (end, &[]));
        self.a.switch_to(end);
        Ok(())
    }

    /// An instruction that no other thread comes between.
    fn locked(&mut self, x: &Update<'_>, there: Mem, value: R) -> Option<R> {
        let double = x.mem.bytes == 8;
        let size = if double { Size::Q } else { Size::D };
        // The page tells the lane: a lower one of the same page would have trapped before.
        let lane = TrapLane::Gather { first: 0, wide: x.wide_address, guarded: true };
        let with = With { site: self.site(x.data, lane), locked: true, ..With::default() };
        let returning = match x.op {
            AtomicOp::Exch => Some((Code::Xchg_rm32_r32, Code::Xchg_rm64_r64)),
            AtomicOp::Add if x.wanted.is_some() => Some((Code::Xadd_rm32_r32, Code::Xadd_rm64_r64)),
            _ => None,
        };
        if let Some(codes) = returning {
            let old = self.a.gpr();
            let code = if double { codes.1 } else { codes.0 };
            self.a.put(code, &[A::Mem(there), A::Reuse(old, value, size)], with);
            return Some(old);
        }
        self.a.put(in_memory(x.op, double), &[A::Mem(there), A::Use(value, size)], with);
        None
    }

    /// The same for memory that no other thread uses.
    fn unlocked(&mut self, x: &Update<'_>, there: Mem, value: R, new: Option<R>) -> Option<R> {
        use AtomicOp::*;
        let double = x.mem.bytes == 8;
        let size = if double { Size::Q } else { Size::D };
        if x.wanted.is_none() && matches!(x.op, Add | And | Or | Xor) {
            self.a.put(in_memory(x.op, double), &[A::Mem(there), A::Use(value, size)], With::default());
            return None;
        }
        let old = if double { self.a.load64g(there) } else { self.a.load32(there) };
        let pick = |l: &mut Self, code: Code| {
            l.a.cmp(double, old, value);
            l.a.pick_if(code, old, value)
        };
        let result = match x.op {
            Add => self.a.add(double, old, value),
            And => self.a.g2(double, AND, old, value),
            Or => self.a.g2(double, OR, old, value),
            Xor => self.a.g2(double, XOR, old, value),
            Rsub => self.a.g2(double, SUB, value, old),
            Umax => pick(self, Code::Cmova_r64_rm64),
            Umin => pick(self, Code::Cmovb_r64_rm64),
            Smax => pick(self, Code::Cmovg_r64_rm64),
            Smin => pick(self, Code::Cmovl_r64_rm64),
            Cas => {
                self.a.cmp(double, old, value);
                self.a.pick_if(Code::Cmove_r64_rm64, new.unwrap_or(value), old)
            }
            _ => value,
        };
        if double {
            self.a.store64g(there, result)
        } else {
            self.a.store32(there, result)
        }
        Some(old)
    }

    /// All lanes through the function, the addresses and the guard being in the context.
    fn by_function(&mut self, x: &Update<'_>) -> Result<(), Error> {
        self.note_lanes(at::LANE_VALUES, x.value)?;
        if let Some(new) = x.new {
            self.note_lanes(at::LANE_OTHERS, new)?;
        }
        if self.options.permits {
            let site = if x.is_of_host() { self.own_site as i32 + 1 } else { 0 };
            self.a.store_imm32(Mem::at(self.context, at::PERMIT_SITE), site);
        }
        let (access, atomic) = describe(x.mem, x.op, x.wide_address, self.f.lanes);
        self.a.store_imm32(Mem::at(self.context, at::ACCESS), access as i32);
        self.a.store_imm32(Mem::at(self.context, at::ATOMIC), atomic as i32);
        self.call_preserving(at::ATOMIC_WIDE);
        if may_fault(x.mem) {
            self.fault_if_odd(x.data, x.mem);
        }
        Ok(())
    }

    /// A device call: the runtime serves the lanes that take part.
    pub fn call_device(&mut self, data: &InstData) -> Result<(), Error> {
        let Imm::Device(site) = data.imm else { return Err(malformed(data)) };
        let bits = self.guard_bits(data.args.first().copied())?;
        let (go, end) = (self.a.block(), self.a.block());
        self.a.test(true, bits, bits);
        self.a.branch(Flags::NotEqual, (go, &[]), (end, &[]));
        self.a.switch_to(go);
        self.a.store64g(Mem::at(self.context, at::GUARD_LANES), bits);
        let access = device_access(&mut self.devices, site);
        self.a.store_imm32(Mem::at(self.context, at::ACCESS), access as i32);
        self.call_often(at::ATOMIC_LANES);
        self.fault_if_odd(data, DEVICE_ACCESS);
        self.a.jump(end, &[]);
        self.a.switch_to(end);
        Ok(())
    }

    /// Faults with the lane that a function of the runtime has named in the context, if it has named one.
    pub fn fault_if_odd(&mut self, data: &InstData, mem: MemAccess) {
        let odd = self.a.load32(Mem::at(self.context, at::ODD_LANE));
        let (cold, go_on) = (self.a.cold_block(), self.a.block());
        self.a.test(false, odd, odd);
        self.a.branch(Flags::NotEqual, (cold, &[]), (go_on, &[]));
        self.a.switch_to(cold);
        let lane = self.a.add_imm(false, odd, -1);
        let address = self.a.load64g(Mem::at(self.context, at::FAULT_ADDRESS));
        self.jump_to_fault(data, mem, lane, address);
        self.a.switch_to(go_on);
    }
}

/// The instruction that does an operation in memory.
fn in_memory(op: AtomicOp, double: bool) -> Code {
    let codes = match op {
        AtomicOp::And => (Code::And_rm32_r32, Code::And_rm64_r64),
        AtomicOp::Or => (Code::Or_rm32_r32, Code::Or_rm64_r64),
        AtomicOp::Xor => (Code::Xor_rm32_r32, Code::Xor_rm64_r64),
        _ => (Code::Add_rm32_r32, Code::Add_rm64_r64),
    };
    if double { codes.1 } else { codes.0 }
}

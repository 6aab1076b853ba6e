//! Generates random regions: accesses to all spaces, integers, chains of multiply-adds, masks, a loop.

use warpjit_backend::Shape;
use warpjit_ir::function::BlockCall;
use warpjit_ir::{
    AtomicOp, Builder, FloatCC, Form, Function, Imm, IntCC, MemAccess, Opcode, Scalar, SlotInit, Space,
    Terminator, Type, Value,
};

use super::common::Random;
use super::{GLOBAL, SHARED};

struct Gen {
    random: Random,
    func: Function,
    /// Values of the current block by kind.
    ints: Vec<Value>,
    longs: Vec<Value>,
    masks: Vec<Value>,
    /// Addresses: value, alignment that is sure.
    addresses: Vec<Value>,
    /// Accesses are in bounds and aligned.
    tame: bool,
    shapes: Vec<Option<Shape>>,
}

const SLOTS: [(&str, Type, Option<Shape>); 10] = [
    ("lane", Type::I32, Some(Shape::Affine(1))),
    ("uni", Type::I32, Some(Shape::Uniform)),
    ("packed", Type::I32, Some(Shape::Packed(4))),
    ("r0", Type::I32, None),
    ("r1", Type::I32, None),
    ("d0", Type::I64, None),
    ("m0", Type::MASK, None),
    ("o0", Type::I32, None),
    ("o1", Type::I64, None),
    ("o2", Type::MASK, None),
];

/// What a condition compares.
#[derive(Clone, Copy, PartialEq)]
enum Tested {
    Word,
    /// Bits of a word: constant ones, another word's; of a double word.
    Bits,
    OwnBits,
    WideBits,
}

impl Gen {
    fn pick(&mut self, list: &[Value]) -> Value {
        list[self.random.below(list.len())]
    }

    fn int(&mut self) -> Value {
        let list = self.ints.clone();
        self.pick(&list)
    }

    fn b(&mut self) -> Builder<'_> {
        let block = warpjit_ir::Block::new(self.func.blocks.len() - 1);
        let mut b = Builder::new(&mut self.func, block);
        b.pc = b.func.insts.len() as u32 * 8;
        b
    }

    fn guard(&mut self) -> Option<Value> {
        match self.random.below(4) {
            0 => None,
            1 => Some(self.masks[0]),
            _ => {
                let list = self.masks.clone();
                Some(self.pick(&list))
            }
        }
    }

    /// An address: a base of some shape, cut to what is mapped when tame.
    fn address(&mut self, limit: u32, align: u32) -> Value {
        let slots: Vec<_> = (0..3).map(warpjit_ir::Slot::new).collect();
        let kind = self.random.below(9);
        let n = self.random.next() as u32;
        let int = self.int();
        let old = if self.addresses.is_empty() {
            None
        } else {
            Some(self.addresses[n as usize % self.addresses.len()])
        };
        let tame = self.tame;
        let mut b = self.b();
        let (lane, uni, packed) = (b.get(slots[0]), b.get(slots[1]), b.get(slots[2]));
        let low = limit.saturating_sub(600).next_power_of_two() / 2 - 1;
        let cut = b.i32(low & !(align - 1));
        let start = b.iand(uni, cut);
        let two = b.i32(align.trailing_zeros());
        let step = b.ishl(lane, two);
        let v = match kind {
            0 => start,
            1..=3 => b.iadd(step, start),
            4 => {
                let k = b.i32(12);
                let x = b.imul(lane, k);
                let x = b.iadd(x, start);
                let m = b.i32(!(align - 1));
                b.iand(x, m)
            }
            5 => {
                let m = b.i32(0xffff);
                let x = b.iand(packed, m);
                if tame { b.iand(x, cut) } else { x }
            }
            6 => {
                let x = b.iadd(step, start);
                let m = b.i32(0xffff);
                b.iand(x, m)
            }
            _ => b.iand(int, cut),
        };
        if !tame {
            if let (Some(old), 0) = (old, n >> 8 & 3) {
                return old;
            }
            if n >> 10 & 7 == 0 {
                let k = self.b().i32(n >> 20 & 3);
                let v = self.b().iadd(v, k);
                self.addresses.push(v);
                return v;
            }
        }
        self.addresses.push(v);
        v
    }

    fn access(&mut self) {
        let space = [Space::Global(3), Space::Shared, Space::Local, Space::Const(2)][self.random.below(4)];
        let mut store = self.random.below(2) == 0 && !matches!(space, Space::Const(_));
        let bytes = [1, 2, 4, 4, 4, 8][self.random.below(6)];
        let limit = match space {
            Space::Global(_) => GLOBAL as u32,
            Space::Shared => SHARED as u32,
            Space::Local => 1200,
            Space::Const(_) => 65536,
        };
        let align = if self.tame { bytes } else { [1, bytes, 4.max(bytes), 8][self.random.below(4)] };
        // What the interpreter does where it matters: lanes below the bad one have stored, so a store ends the test.
        store &= self.tame || !matches!(space, Space::Global(_)) || self.random.below(4) == 0;
        // Several accesses at one address with other offsets.
        let again = !self.addresses.is_empty() && self.random.below(2) == 0;
        let a = if again && !matches!(space, Space::Global(_)) {
            let list = self.addresses.clone();
            self.pick(&list)
        } else {
            self.address(limit, 8)
        };
        let offset = match self.random.below(3) {
            0 => 0,
            // Words a few lanes further on, too.
            1 if bytes == 4 && self.tame => 4 * self.random.below(18) as i32,
            1 => 8 * self.random.below(8) as i32,
            _ if self.tame && matches!(space, Space::Global(_)) => 16,
            _ => -16,
        };
        let signed = bytes < 4 && self.random.below(2) == 0;
        let mem = MemAccess {
            space,
            bytes,
            signed,
            offset,
            align,
            far: matches!(space, Space::Shared) && self.random.below(2) == 0,
            align_offset: if align == 8 && bytes == 4 { 4 } else { 0 },
        };
        let mem = if self.tame { MemAccess { align_offset: 0, ..mem } } else { mem };
        let guard = self.guard();
        if store {
            let list = if bytes == 8 { self.longs.clone() } else { self.ints.clone() };
            let v = self.pick(&list);
            self.b().store(mem, a, v, guard);
            return;
        }
        let v = self.b().load(mem, a, guard);
        // What lanes outside the guard get is unspecified.
        let zero = self.b().constant(if bytes == 8 { Scalar::I64 } else { Scalar::I32 }, 0);
        let all = self.masks[0];
        let seen = match guard {
            Some(g) => self.b().iand(g, all),
            None => all,
        };
        let v = self.b().select(seen, v, zero);
        if bytes == 8 { self.longs.push(v) } else { self.ints.push(v) }
    }

    /// An atomic on words that lanes share, now and then where there is nothing or memory cannot be written.
    fn atomic(&mut self) {
        let space = [Space::Global(3), Space::Shared, Space::Local][self.random.below(3)];
        let bytes = [4, 4, 8][self.random.below(3)];
        let limit = match space {
            Space::Global(_) => GLOBAL as u32,
            Space::Shared => SHARED as u32,
            _ => 1200,
        };
        let align = if self.tame { bytes } else { [1, bytes][self.random.below(2)] };
        let a = self.address(limit, 8);
        let far = space == Space::Shared && self.random.below(2) == 0;
        let offset = 8 * self.random.below(3) as i32;
        let mem = MemAccess { space, bytes, signed: false, offset, align, far, align_offset: 0 };
        let op = AtomicOp::ALL[self.random.below(AtomicOp::ALL.len())];
        let list = if bytes == 8 { self.longs.clone() } else { self.ints.clone() };
        let (v, new) = (self.pick(&list), self.pick(&list));
        let guard = self.guard();
        let old = self.b().atomic(mem, op, a, v, op.takes_two().then_some(new), guard);
        if self.random.below(3) == 0 {
            return;
        }
        // What lanes get that it is not for is unspecified.
        let zero = self.b().constant(if bytes == 8 { Scalar::I64 } else { Scalar::I32 }, 0);
        let all = self.masks[0];
        let seen = match guard {
            Some(g) => self.b().iand(g, all),
            None => all,
        };
        let v = self.b().select(seen, old, zero);
        if bytes == 8 { self.longs.push(v) } else { self.ints.push(v) }
    }

    /// A float of middling size in most lanes, one of the awkward ones in a few or in all.
    fn float(&mut self, exponents: &[u32]) -> Value {
        const AWKWARD: [u32; 20] = [
            0,
            0x8000_0000,
            1,
            0x807f_ffff,
            0x0080_0000,
            0x8100_0000,
            0x0cff_ffff,
            0x0d80_0000,
            0x0f80_0001,
            0x2000_0000,
            0x1fff_ffff,
            0x5fff_ffff,
            0xe000_0000,
            0x71ff_ffff,
            0x7200_0000,
            0x7f7f_ffff,
            0xff7f_ffff,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_1234,
        ];
        let (x, which) = (self.int(), self.int());
        let exponent = exponents[self.random.below(exponents.len())];
        let awkward = AWKWARD[self.random.below(AWKWARD.len())];
        let one_in = [1, 4, 32, 32, 1024][self.random.below(5)] - 1;
        let n = self.random.next() as u32 & one_in;
        let mut b = self.b();
        let (keep, exponent) = (b.i32(0x80ff_ffff), b.i32(exponent << 23));
        let x = b.iand(x, keep);
        let x = b.iadd(x, exponent);
        let (one_in, n, awkward) = (b.i32(one_in), b.i32(n), b.i32(awkward));
        let which = b.iand(which, one_in);
        let is = b.icmp(IntCC::Eq, which, n);
        let x = b.select(is, awkward, x);
        b.push(Opcode::Bitcast, &[x], Imm::None, Some(Type::F32)).expect("result")
    }

    /// Multiply-adds of each other's sums, other operations between.
    fn multiply_adds(&mut self) {
        // Products of middling size, such as are too small and matter to a small addend, and such as are too large.
        const SIZES: [&[u32]; 4] = [
            &[124, 126, 127, 130, 100, 60, 150],
            &[124, 126, 127],
            &[56, 60, 62, 64, 66, 18, 22, 25],
            &[180, 190, 200, 250],
        ];
        let sizes = SIZES[self.random.below(4)];
        let mut floats: Vec<Value> = (0..3).map(|_| self.float(sizes)).collect();
        if self.random.below(8) == 0 {
            // The host may not flush then.
            let b = &mut self.b();
            let x = b.push(Opcode::Fadd, &[floats[0], floats[1]], Imm::Ftz(false), Some(Type::F32));
            floats.push(b.same(Opcode::Fcanon, &[x.expect("result")], Imm::Bits(0x7fff_ffff)));
        }
        for _ in 0..self.random.below(12) + 1 {
            let last = floats[floats.len() - 1];
            let [x, y, z] = [(); 3].map(|()| self.pick(&floats));
            let v = match self.random.below(16) {
                13 => self.b().fmin(x, last),
                14 => self.b().fmax(last, y),
                15 => {
                    let all = self.masks[0];
                    let mut b = self.b();
                    let signals = b.fsignals(x, y);
                    let signals = b.iand(all, signals);
                    self.masks.push(signals);
                    self.float(sizes)
                }
                0 => self.b().same(Opcode::Fneg, &[x], Imm::None),
                1 => self.b().same(Opcode::Fabs, &[last], Imm::None),
                2 => self.b().same(Opcode::Fcanon, &[last], Imm::Bits(0x7fff_ffff)),
                3 => self.b().same(Opcode::Fmul, &[x, y], Imm::Ftz(true)),
                4 => {
                    let bits = [0, 0x3f80_0000, 0x0380_0000][self.random.below(3)];
                    self.b().constant(Scalar::F32, bits)
                }
                5 => {
                    let (all, gt) = (self.masks[0], Imm::FloatCmp(FloatCC::Gt, true));
                    let mut b = self.b();
                    let over = b.push(Opcode::Fcmp, &[x, last], gt, Some(Type::MASK));
                    let over = b.iand(all, over.expect("result"));
                    self.masks.push(over);
                    self.float(sizes)
                }
                6 => {
                    self.access();
                    self.float(sizes)
                }
                7 => {
                    let mut b = self.b();
                    let zero = b.constant(Scalar::F32, 0);
                    let zero = b.same(Opcode::Fmul, &[z, zero], Imm::Ftz(true));
                    b.same(Opcode::FmadTrunc, &[x, y, zero], Imm::None)
                }
                8 => self.b().same(Opcode::FmadTrunc, &[x, y, z], Imm::None),
                _ => self.b().same(Opcode::FmadTrunc, &[x, y, last], Imm::None),
            };
            floats.push(v);
        }
        for _ in 0..2 {
            let x = self.pick(&floats[3..]);
            let mut b = self.b();
            let x = b.same(Opcode::Fcanon, &[x], Imm::Bits(0x7fff_ffff));
            let x = b.push(Opcode::Bitcast, &[x], Imm::None, Some(Type::I32)).expect("result");
            self.ints.push(x);
        }
    }

    /// Words of tables and others, put together by exclusive or in some order.
    fn lookups(&mut self) {
        let mut words = Vec::new();
        for _ in 0..self.random.below(5) + 2 {
            let int = self.int();
            let kind = self.random.below(4);
            let offset = [0, 0x400, 0x7ffc, 0xfffc][self.random.below(4)];
            let mut b = self.b();
            let by = b.i32(6);
            let place = if kind == 0 { b.ushr(int, by) } else { int };
            let mask = b.i32(0x3fc);
            let place = if kind == 1 { place } else { b.iand(place, mask) };
            let space = Space::Const(2);
            let mem =
                MemAccess { space, bytes: 4, signed: false, offset, align: 1, far: false, align_offset: 0 };
            words.push(b.load(mem, place, None));
            if self.random.below(3) == 0 {
                let other = self.int();
                words.push(other);
            }
        }
        // One of them may be used elsewhere, too.
        let seen = words[self.random.below(words.len())];
        if self.random.below(4) == 0 {
            self.ints.push(seen);
        }
        while words.len() > 1 {
            let x = words.remove(self.random.below(words.len()));
            let y = words.remove(self.random.below(words.len()));
            words.push(self.b().same(Opcode::Ixor, &[x, y], Imm::None));
        }
        self.ints.extend(words);
    }

    /// Rounds of a reduction: each lane adds to its word the one some lanes further on.
    fn rounds(&mut self) {
        let slots: Vec<_> = (0..2).map(warpjit_ir::Slot::new).collect();
        let start = self.random.next() as u32 & 0xfc;
        let mut b = self.b();
        let (lane, uni) = (b.get(slots[0]), b.get(slots[1]));
        let (two, some, start) = (b.i32(2), b.i32(0xfc), b.i32(start));
        let row = b.iand(uni, some);
        let row = b.iadd(row, start);
        let lane = b.ishl(lane, two);
        let address = b.iadd(lane, row);
        let guard = self.guard();
        let first = 4 * self.random.below(20) as i32;
        for _ in 0..self.random.below(6) + 1 {
            let further = [0, 1, 2, 3, 4, 8, 8, 13, 15, 16, 16, 17][self.random.below(12)];
            let word = |offset| MemAccess {
                space: Space::Shared,
                bytes: 4,
                signed: false,
                offset,
                align: 1,
                far: false,
                align_offset: 0,
            };
            let mut b = self.b();
            let theirs = b.load(word(first + 4 * further), address, None);
            let own = b.load(word(first), address, None);
            let sum = b.iadd(own, theirs);
            b.store(word(first), address, sum, guard);
            self.ints.push(theirs);
            if self.random.below(8) == 0 {
                let (odd, v) = (4 * self.random.below(24) as i32, self.int());
                self.b().store(word(odd), address, v, None);
            }
        }
    }

    fn step(&mut self) {
        match self.random.below(9) {
            0 => {
                let (a, c) = (self.int(), self.int());
                let cc = IntCC::ALL[self.random.below(10)];
                let list = self.masks.clone();
                let (all, within) = (self.masks[0], self.pick(&list));
                let odd = self.random.below(16) == 0;
                let kind = self.random.below(4);
                let longs = self.longs.clone();
                let wide = self.pick(&longs);
                // A few bits.
                let mask = (0..4).fold(u64::MAX, |bits, _| bits & self.random.next());
                let tested =
                    [Tested::Word, Tested::Bits, Tested::OwnBits, Tested::WideBits][self.random.below(4)];
                let mut b = self.b();
                let same = if kind.is_multiple_of(2) { IntCC::Eq } else { IntCC::Ne };
                let m = match tested {
                    Tested::Word => b.icmp(cc, a, c),
                    Tested::Bits | Tested::OwnBits => {
                        let bits = if tested == Tested::Bits { b.i32(mask as u32) } else { c };
                        let (bits, zero) = (b.iand(a, bits), b.i32(0));
                        b.icmp(same, bits, zero)
                    }
                    Tested::WideBits => {
                        let bits = b.constant(Scalar::I64, mask);
                        let (bits, zero) = (b.iand(wide, bits), b.constant(Scalar::I64, 0));
                        b.icmp(same, bits, zero)
                    }
                };
                let has = b.iand(m, within);
                // What lacks it within the same lanes, or within others.
                let lacks = b.same(Opcode::Inot, &[m], Imm::None);
                let lacks = b.iand(if odd { all } else { within }, lacks);
                match kind {
                    0 => self.masks.push(has),
                    1 => self.masks.push(lacks),
                    _ => self.masks.extend([has, lacks]),
                }
            }
            1 => {
                let (a, c) = (self.int(), self.int());
                let op = [Opcode::Iadd, Opcode::Ixor, Opcode::Imul, Opcode::Ushr][self.random.below(4)];
                let v = self.b().same(op, &[a, c], Imm::None);
                self.ints.push(v);
            }
            2 => self.multiply_adds(),
            3 => self.lookups(),
            4 => self.rounds(),
            5 if self.random.below(2) == 0 => self.atomic(),
            _ => self.access(),
        }
    }
}

/// Some straight code, a loop whose lanes leave it one by one, some more code.
pub fn random_region(seed: u64, tame: bool) -> (Function, Vec<Option<Shape>>) {
    let mut func = Function::new(format!("random{seed}"), Form::Mask, 32);
    let slots: Vec<_> = SLOTS.iter().map(|&(name, ty, _)| func.add_slot(name, ty, SlotInit::Zero)).collect();
    let mut g = Gen {
        random: Random(seed),
        func,
        ints: vec![],
        longs: vec![],
        masks: vec![],
        addresses: vec![],
        tame,
        shapes: SLOTS.iter().map(|s| s.2).collect(),
    };
    if seed.is_multiple_of(3) {
        g.shapes.iter_mut().for_each(|s| *s = None);
    }
    let entry = g.func.add_block(0);
    let active = g.b().push(Opcode::ActiveMask, &[], Imm::None, Some(Type::MASK)).expect("result");
    let m0 = g.b().get(slots[6]);
    let m0 = g.b().iand(m0, active);
    g.masks = vec![active, m0];
    for slot in [0, 1, 3, 4] {
        let v = g.b().get(slots[slot]);
        g.ints.push(v);
    }
    let k = g.b().i32(77);
    g.ints.push(k);
    let d = g.b().get(slots[5]);
    g.longs.push(d);
    for _ in 0..g.random.below(8) + 2 {
        g.step();
    }
    let before = (g.ints.clone(), g.longs.clone(), g.masks.clone());
    // The loop: counter, its mask, an accumulator.
    let (zero, start) = (g.b().i32(0), g.int());
    let body = warpjit_ir::Block::new(g.func.blocks.len());
    g.b().terminate(Terminator::Jump(BlockCall { block: body, args: vec![zero, active, start] }));
    assert_eq!(entry.index() + 1, body.index());
    g.func.add_block(0x100);
    let i = g.func.add_param(body, Type::I32);
    let going = g.func.add_param(body, Type::MASK);
    let sum = g.func.add_param(body, Type::I32);
    g.ints.extend([i, sum]);
    g.masks.push(going);
    g.addresses.clear();
    for _ in 0..g.random.below(4) + 1 {
        g.step();
    }
    let x = g.int();
    let lane = slots[0];
    let mut b = g.b();
    let next_sum = b.iadd(sum, x);
    let next_sum = b.select(going, next_sum, sum);
    let one = b.i32(1);
    let next = b.iadd(i, one);
    let l = b.get(lane);
    let three = b.i32(3);
    let l = b.iand(l, three);
    let more = b.icmp(IntCC::Ult, next, l);
    let again = b.iand(more, going);
    let after = warpjit_ir::Block::new(body.index() + 1);
    b.terminate(Terminator::BrAny {
        mask: again,
        taken: BlockCall { block: body, args: vec![next, again, next_sum] },
        next: after.into(),
    });
    g.func.add_block(0x200);
    (g.ints, g.longs, g.masks) = before;
    g.ints.push(next_sum);
    g.masks.push(again);
    for _ in 0..g.random.below(4) {
        g.step();
    }
    let (int, long, masks) = (g.int(), g.longs[g.longs.len() - 1], g.masks.clone());
    let (mask, cond) = (g.pick(&masks), g.pick(&masks));
    let mut b = g.b();
    for (slot, v) in [(slots[7], int), (slots[8], long), (slots[9], mask)] {
        b.push(Opcode::SlotSet, &[v, mask], Imm::Slot(slot), None);
    }
    b.terminate(Terminator::Return { exit: 3, exited: Some(mask), cond: Some(cond) });
    (g.func, g.shapes)
}

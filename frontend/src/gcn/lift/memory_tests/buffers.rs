//! Tests the addresses and bounds of buffer accesses.

use super::*;

/// A resource and how an instruction uses it.
#[derive(Clone, Copy, Debug)]
struct Case {
    generation: Generation,
    base: u64,
    stride: u32,
    swizzle: bool,
    records: u32,
    element: u32,
    group: u32,
    lanes: bool,
    data_format: u32,
    idxen: bool,
    offen: bool,
    offset: u32,
    soffset: u32,
}

impl Case {
    fn random(generation: Generation, random: &mut Random) -> Case {
        let swizzle = random.below(3) == 0;
        let stride = if random.below(2) == 0 { 0 } else { 4 * random.below(12) };
        let lanes = random.below(3) == 0;
        Case {
            generation,
            base: BASE + u64::from(4 * random.below(64)),
            stride,
            swizzle,
            records: match random.below(4) {
                0 => 0,
                1 => 0x1000,
                2 => random.below(64),
                _ => random.below(0x400),
            },
            element: random.below(4),
            group: random.below(4),
            lanes,
            data_format: if lanes || random.below(8) == 0 { 0 } else { 4 },
            idxen: random.below(2) == 0,
            offen: random.below(2) == 0,
            offset: 4 * random.below(8),
            soffset: if random.below(2) == 0 { 0 } else { 4 * random.below(16) },
        }
    }

    fn words(&self) -> [u32; 4] {
        [
            self.base as u32,
            (self.base >> 32) as u32 | self.stride << 16 | u32::from(self.swizzle) << 31,
            self.records,
            self.data_format << 15 | self.element << 19 | self.group << 21 | u32::from(self.lanes) << 23,
        ]
    }

    /// The address of a byte of a lane, and whether `bytes` from there on may be accessed.
    fn place(&self, lane: u32, index: u32, offset: u32, at: u32, bytes: u32) -> (u64, bool) {
        let index = if self.idxen { index } else { 0 } + if self.lanes { lane } else { 0 };
        let first = self.offset + if self.offen { offset } else { 0 };
        let (idx, off) = (u64::from(index), u64::from(first + at));
        let element = if self.generation == Generation::Gfx9 { 1 } else { self.element };
        let (stride, istr, esz) = (u64::from(self.stride), 8u64 << self.group, 2u64 << element);
        let place = if self.swizzle {
            ((idx / istr) * stride + (off / esz) * esz) * istr + (idx % istr) * esz + off % esz
        } else {
            idx * stride + off
        };
        let records = u64::from(self.records);
        let end = off + u64::from(bytes);
        let inside = match self.generation {
            _ if self.stride == 0 && self.generation != Generation::Gfx9 => end <= records,
            Generation::Gfx8 if !self.swizzle => idx * stride + end <= records,
            Generation::Gfx9 if self.stride == 0 || !(self.idxen || self.lanes) => {
                end + u64::from(self.soffset) <= records
            }
            _ => idx < records,
        };
        // Without a data format nothing is there; with lanes counted it is not one from 1.2 on.
        let valid = self.data_format != 0 || self.lanes && self.generation >= Generation::Gfx8;
        (self.base + u64::from(self.soffset) + place, inside && valid)
    }

    /// The instructions that make the resource: of constants, of constants and a carry (0, but the lifter does not know
    /// that), or none, the registers being set before.
    fn prepare(&self, m: &mut Machine, way: usize) -> Vec<Inst> {
        let words = self.words();
        m.set("s20", words[0]);
        m.set("s24", self.soffset);
        if way == 2 {
            (1..4).for_each(|n| m.set(format!("s{}", 20 + n), words[n]));
            return Vec::new();
        }
        let mut program: Vec<Inst> = (1..4).map(|n| s_mov(20 + n as u8, words[n])).collect();
        if way == 1 {
            let mut carry = inst(Op::S_ADDC_U32, Format::Sop2);
            carry.dst = Some(Arg::new(Operand::Sgpr(21), Type::U32, 1));
            carry.srcs[0] = Arg::new(Operand::Sgpr(21), Type::U32, 1);
            carry.src_count = 2;
            program.push(carry);
        }
        program
    }

    fn inst(&self, op: Op) -> Inst {
        let mut buffer = inst(op, Format::Mubuf);
        let registers = u8::from(self.idxen) + u8::from(self.offen);
        buffer.mem.addr = (registers != 0).then(|| v(1, registers)).flatten();
        buffer.mem.base = s(20, 4);
        buffer.mem.soffset = s(24, 1);
        (buffer.mem.idxen, buffer.mem.offen) = (self.idxen, self.offen);
        buffer.mem.offset = self.offset as i32;
        buffer
    }

    /// Index and offset of a lane.
    fn registers(&self, m: &Machine, lane: usize) -> (u32, u32) {
        let first = m.vgprs[1][lane];
        (first, if self.idxen { m.vgprs[2][lane] } else { first })
    }
}

fn machine(case: &Case, random: &mut Random) -> Machine {
    let mut m = Machine::new(case.generation, random);
    m.vgprs[1] = random.lanes(|r| if case.idxen { r.below(40) } else { 4 * r.below(100) });
    m.vgprs[2] = random.lanes(|r| 4 * r.below(12));
    m
}

#[test]
fn loads_of_random_resources() {
    let mut random = Random(20);
    for n in 0..600 {
        let generation = Generation::ALL[n % 4];
        let case = Case::random(generation, &mut random);
        let (op, bytes, words) = [
            (Op::BUFFER_LOAD_DWORD, 4, 1),
            (Op::BUFFER_LOAD_DWORDX3, 4, 3),
            (Op::BUFFER_LOAD_UBYTE, 1, 1),
            (Op::BUFFER_LOAD_SSHORT, 2, 1),
        ][n / 4 % 4];
        let mut m = machine(&case, &mut random);
        let mut program = case.prepare(&mut m, n % 3);
        let before = m.clone();
        let mut load = case.inst(op);
        load.dst = v(8, words);
        program.push(load);
        m.run(&program);
        for lane in 0..64 {
            let (index, offset) = case.registers(&before, lane);
            for word in 0..words {
                let at = 4 * u32::from(word);
                let (address, inside) = case.place(lane as u32, index, offset, at, bytes);
                let mut want = if inside { before.global_at(address, bytes) as u32 } else { 0 };
                if op == Op::BUFFER_LOAD_SSHORT {
                    want = want as i16 as u32;
                }
                let register = usize::from(8 + word);
                let want = if before.active(lane) { want } else { before.vgprs[register][lane] };
                assert_eq!(m.vgprs[register][lane], want, "{n} {op:?} lane {lane} word {word} {case:?}");
            }
        }
    }
}

#[test]
fn stores_and_atomics_of_random_resources() {
    let mut random = Random(21);
    for n in 0..400 {
        let mut case = Case::random(Generation::ALL[n % 4], &mut random);
        let atomic = n / 4 % 2 == 0;
        // Atomics have to be aligned, and elements of two bytes would not be.
        case.element = case.element.max(u32::from(atomic));
        let mut m = machine(&case, &mut random);
        let mut program = case.prepare(&mut m, n % 3);
        let before = m.clone();
        let mut want = m.clone();
        for lane in (0..64).filter(|&lane| before.active(lane)) {
            let (index, offset) = case.registers(&before, lane);
            let (address, inside) = case.place(lane as u32, index, offset, 0, 4);
            let old = if inside { want.global_at(address, 4) } else { 0 };
            let data = before.vgprs[8][lane];
            let new = if atomic { (old as u32).wrapping_sub(data) } else { data };
            if atomic {
                want.vgprs[8][lane] = old as u32;
            }
            if inside {
                want.store_global(address, 4, new.into());
            }
        }
        let mut store = case.inst(if atomic { Op::BUFFER_ATOMIC_SUB } else { Op::BUFFER_STORE_DWORD });
        store.mem.data = v(8, 1);
        store.mem.glc = atomic;
        store.dst = v(8, 1).filter(|_| atomic);
        program.push(store);
        m.run(&program);
        assert!(m.global == want.global, "{n} {case:?}");
        assert_eq!(m.vgprs, want.vgprs, "{n} {case:?}");
    }
}

/// Compare-and-swap has the new value first.
#[test]
fn compare_and_swap() {
    let mut random = Random(22);
    let mut m = Machine::new(Generation::Gfx8, &mut random);
    let mut program = Vec::new();
    for (n, word) in [BASE as u32, (BASE >> 32) as u32, u32::MAX, 4 << 15].into_iter().enumerate() {
        program.push(s_mov(20 + n as u8, word));
    }
    m.vgprs[1] = std::array::from_fn(|lane| 8 * lane as u32);
    let before = m.clone();
    for lane in (0..64).step_by(2) {
        let word = before.global_at(BASE + 8 * lane as u64, 8);
        (m.vgprs[10][lane], m.vgprs[11][lane]) = (word as u32, (word >> 32) as u32);
    }
    let data = m.clone();
    let mut cas = inst(Op::BUFFER_ATOMIC_CMPSWAP_X2, Format::Mubuf);
    (cas.mem.addr, cas.mem.base, cas.mem.data) = (v(1, 1), s(20, 4), v(8, 4));
    (cas.mem.offen, cas.mem.glc) = (true, true);
    cas.dst = v(8, 2);
    program.push(cas);
    m.run(&program);
    for lane in (0..64).filter(|&lane| before.active(lane)) {
        let at = BASE + 8 * lane as u64;
        let old = before.global_at(at, 8);
        let pair = |n: usize| u64::from(data.vgprs[n][lane]) | u64::from(data.vgprs[n + 1][lane]) << 32;
        assert_eq!(m.global_at(at, 8), if pair(10) == old { pair(8) } else { old });
        assert_eq!(u64::from(m.vgprs[8][lane]) | u64::from(m.vgprs[9][lane]) << 32, old);
    }
}

/// With 64-bit addresses nothing is checked, and a base near the end of 48 bits is a small negative number.
#[test]
fn wide_addresses_wrap() {
    let mut random = Random(23);
    for constants in [false, true] {
        let mut m = Machine::new(Generation::Gfx6, &mut random);
        let words = [-64i32 as u32, 0xffff, 0, 0xf000];
        let mut program = Vec::new();
        for (n, &word) in words.iter().enumerate() {
            if constants {
                program.push(s_mov(20 + n as u8, word));
            } else {
                m.set(format!("s{}", 20 + n), word);
            }
        }
        let address = |lane: usize| BASE + 16 * lane as u64;
        m.vgprs[1] = std::array::from_fn(|lane| (address(lane) + 64 - 8) as u32);
        m.vgprs[2] = std::array::from_fn(|lane| ((address(lane) + 64 - 8) >> 32) as u32);
        let before = m.clone();
        let mut load = inst(Op::BUFFER_LOAD_DWORDX2, Format::Mubuf);
        (load.mem.addr, load.mem.base, load.dst) = (v(1, 2), s(20, 4), v(8, 2));
        (load.mem.addr64, load.mem.offset) = (true, 8);
        program.push(load);
        m.run(&program);
        for lane in (0..64).filter(|&lane| before.active(lane)) {
            assert_eq!(u64::from(m.vgprs[8][lane]), before.global_at(address(lane), 4));
            assert_eq!(u64::from(m.vgprs[9][lane]), before.global_at(address(lane) + 4, 4));
        }
    }
}

/// Loads into LDS and stores from there.
#[test]
fn lds_in_place_of_registers() {
    let mut random = Random(24);
    let mut m = Machine::new(Generation::Gfx8, &mut random);
    m.set("m0", 0x5_0100);
    let words = [BASE as u32, (BASE >> 32) as u32, 0x200, 4 << 15];
    let program = |op: Op, offset: i32| {
        let mut program: Vec<Inst> = (0..4).map(|n| s_mov(20 + n as u8, words[n])).collect();
        let mut dma = inst(op, Format::Mubuf);
        (dma.mem.addr, dma.mem.base, dma.mem.offen) = (v(1, 1), s(20, 4), true);
        (dma.mem.lds, dma.mem.offset) = (op == Op::BUFFER_LOAD_DWORD, offset);
        program.push(dma);
        program
    };
    m.vgprs[1] = std::array::from_fn(|lane| 12 * lane as u32);
    let before = m.clone();
    m.run(&program(Op::BUFFER_LOAD_DWORD, 16));
    for lane in (0..64).filter(|&lane| before.active(lane)) {
        let offset = 12 * lane as u64 + 16;
        let want = if offset + 4 <= 0x200 { before.global_at(BASE + offset, 4) } else { 0 };
        assert_eq!(read(&m.lds, 0x110 + 4 * lane as u64, 4), want);
    }
    let middle = m.clone();
    m.run(&program(Op::BUFFER_STORE_LDS_DWORD, 0x20));
    for lane in (0..64).filter(|&lane| before.active(lane)) {
        let offset = 12 * lane as u64 + 0x20;
        let stored = read(&middle.lds, 0x120 + 4 * lane as u64, 4);
        let want = if offset + 4 <= 0x200 { stored } else { middle.global_at(BASE + offset, 4) };
        assert_eq!(m.global_at(BASE + offset, 4), want);
    }
}

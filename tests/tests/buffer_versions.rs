//! Tests loads and stores through descriptors that only the launch knows: with and without swizzling, with and without the lane's number,
//! of records and of bytes, and with ranges that end within the words of a lane. What is stored must be what the hardware's formula
//! for addresses and bounds gives, in the interpreter and in compiled code with chunks of all widths, wherever the memory is.
//!
//! `WARPJIT_RANDOM=N` runs N programs, `WARPJIT_SEED=S` the one of that seed alone.

use std::collections::BTreeMap;

use warpjit_frontend::Isa;
use warpjit_frontend::gcn::{Generation, assemble};
use warpjit_runtime::{Access, Config, Engine, HostLevel, Launch, Program, ProgramOptions, Report, Tier};
use warpjit_tests::engines::{Named, named};
use warpjit_tests::random::rng::Random;
use warpjit_tests::random::seeds::{all_agree, seeds};

/// Bytes of each of the two pieces of memory, with nothing mapped behind them.
const BYTES: u64 = 0x2_0000;

/// Where the first is: in the window of compiled code, beside it, and in the upper half.
const PLACES: [u64; 3] = [0x10_0000, 0x7654_0000_0000 - 0x1_0000, 0xffff_8000_0010_0000];

/// From the first piece's start to the second's.
const APART: u64 = 0x10_0000;

const LANES: u32 = 64;

/// A descriptor and how an instruction uses it.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    /// From the start of the memory.
    base: u64,
    stride: u32,
    swizzles: bool,
    records: u32,
    element: u32,
    group: u32,
    adds_lane: bool,
    format: u32,
    idxen: bool,
    offen: bool,
    offset: u32,
}

/// A program: a load, something done with what is loaded, and a store.
#[derive(Clone, Debug)]
struct Case {
    generation: Generation,
    load: Buffer,
    store: Buffer,
    /// Dwords of a lane.
    words: u32,
    /// Bytes from a lane's offset to the next one's.
    step: u32,
    blocks: u32,
    /// Whether what is loaded is stored as it is.
    copies: bool,
    /// Lanes from this number of the block on take no part.
    lanes: u32,
    /// Whether the descriptors are loaded from memory.
    from_memory: bool,
}

impl Buffer {
    fn random(random: &mut Random, generation: Generation, plain: bool, all: u32) -> Buffer {
        let swizzles = !plain && random.below(2) == 0;
        let adds_lane = !plain && random.below(2) == 0;
        let idxen = !plain && random.below(3) == 0;
        let records = match random.below(5) {
            0 => all - 4 * (1 + random.below(5)),
            1 => all - 1 - random.below(9),
            2 => random.below(all),
            3 => random.below(80),
            _ => all,
        };
        // The last byte within bounds is the last one that there is.
        let base = if swizzles || adds_lane || idxen { 0x100 } else { BYTES - u64::from(records) };
        Buffer {
            base,
            stride: if plain || random.below(3) == 0 { 0 } else { 4 * random.below(9) },
            swizzles,
            records,
            element: 1 + random.below(3),
            group: random.below(4),
            adds_lane,
            // Part of the stride from 1.2 on where lanes are counted.
            format: if adds_lane && generation >= Generation::Gfx8 { 0 } else { 4 * random.below(16).min(1) },
            idxen,
            offen: !idxen || random.below(2) == 0,
            offset: if random.below(3) == 0 { 4 * random.below(4) } else { 0 },
        }
    }

    fn words(&self, start: u64) -> [u32; 4] {
        let base = start + self.base;
        [
            base as u32,
            (base >> 32) as u32 & 0xffff | self.stride << 16 | u32::from(self.swizzles) << 31,
            self.records,
            self.format << 15 | self.element << 19 | self.group << 21 | u32::from(self.adds_lane) << 23,
        ]
    }

    /// Where a dword of a lane is, from the start of the memory, if it is within bounds. As documented in docs/hardware/gcn.md section 5.
    fn place(&self, generation: Generation, (index, offset): (u32, u32), lane: u32, at: u32) -> Option<u64> {
        let index = if self.idxen { index } else { 0 } + if self.adds_lane { lane } else { 0 };
        let first = self.offset + if self.offen { offset } else { 0 };
        let high = if self.adds_lane && generation >= Generation::Gfx8 { self.format << 14 } else { 0 };
        let stride = u64::from(self.stride | high);
        let (index, offset) = (u64::from(index), u64::from(first + at));
        let (element, group) =
            (if generation == Generation::Gfx9 { 4 } else { 2u64 << self.element }, 8u64 << self.group);
        let place = match self.swizzles {
            true => {
                let row = (index / group) * stride + offset / element * element;
                row * group + index % group * element + offset % element
            }
            false => index * stride + offset,
        };
        let records = u64::from(self.records);
        let by_bytes = offset + 4 <= records;
        let inside = match generation {
            _ if stride == 0 => by_bytes,
            Generation::Gfx8 if !self.swizzles => index * stride + offset + 4 <= records,
            Generation::Gfx9 if !(self.idxen || self.adds_lane) => by_bytes,
            _ => index < records,
        };
        let valid = self.format != 0 || self.adds_lane && generation >= Generation::Gfx8;
        (inside && valid).then_some(self.base + place)
    }
}

impl Case {
    fn random(seed: u64) -> Case {
        let mut random = Random::new(seed);
        loop {
            let random = &mut random;
            let words = [1, 2, 3, 4, 4, 4][random.below(6) as usize];
            let step = [4 * words, 4 * words, 16, 4, 20][random.below(5) as usize].max(4 * words);
            let blocks = 1 + random.below(3);
            let all = step * LANES * blocks;
            let plain = random.below(3) == 0;
            let generation = random.pick(&Generation::ALL);
            let case = Case {
                generation,
                load: Buffer::random(random, generation, plain, all),
                store: Buffer::random(random, generation, plain, all),
                words,
                step,
                blocks,
                copies: random.below(2) == 0,
                lanes: if random.below(3) == 0 { 1 + random.below(64) } else { LANES },
                from_memory: random.below(2) == 0,
            };
            if case.model(&vec![0; BYTES as usize]).is_some() {
                return case;
            }
        }
    }

    fn source(&self) -> String {
        let add = if self.generation == Generation::Gfx9 { "v_add_co_u32" } else { "v_add_u32" };
        let add = if self.generation < Generation::Gfx8 { "v_add_i32" } else { add };
        let Case { words, step, lanes, .. } = self;
        let last = 7 + words;
        let width = ["dword", "dwordx2", "dwordx3", "dwordx4"][*words as usize - 1];
        let access = |op: &str, buffer: &Buffer, resource: &str| {
            let (idxen, offen) = (buffer.idxen, buffer.offen);
            let address = match (idxen, offen) {
                (true, true) => "v[4:5]",
                (true, false) => "v4",
                _ => "v5",
            };
            let flags = format!("{}{}", if idxen { " idxen" } else { "" }, if offen { " offen" } else { "" });
            let data = if *words == 1 { "v8".into() } else { format!("v[8:{last}]") };
            format!("buffer_{op}_{width} {data}, {address}, {resource}, 0{flags} offset:{}\n", buffer.offset)
        };
        let mut text = String::new();
        if self.from_memory {
            text += "s_load_dwordx4 s[12:15], s[0:1], 0\n";
            text += &format!(
                "s_load_dwordx4 s[16:19], s[0:1], {}\n",
                if self.generation < Generation::Gfx8 { 4 } else { 16 }
            );
            text += "s_waitcnt lgkmcnt(0)\n";
        } else {
            (0..8).for_each(|n| text += &format!("s_mov_b32 s{}, s{n}\n", 12 + n));
        }
        text += &format!(
            "s_lshl_b32 s9, s8, 6\n{add} v4, vcc, s9, v0\nv_mul_u32_u24 v5, {step}, v4\nv_cmp_gt_u32 vcc, {lanes}, v0\n\
             s_and_b64 exec, exec, vcc\n"
        );
        (0..*words).for_each(|n| text += &format!("v_mov_b32 v{}, 7\n", 8 + n));
        text += &access("load", &self.load, "s[12:15]");
        text += "s_waitcnt vmcnt(0)\n";
        if !self.copies {
            (0..*words).for_each(|n| text += &format!("v_xor_b32 v{}, v4, v{}\n", 8 + n, 8 + n));
        }
        text + &access("store", &self.store, "s[16:19]") + "s_endpgm\n"
    }

    /// What is in the second piece of memory behind it, byte by byte, if it was zeros before; `None` if lanes store to one place, or something
    /// is beyond the memory.
    fn model(&self, from: &[u8]) -> Option<BTreeMap<u64, u8>> {
        let mut to = BTreeMap::new();
        for thread in (0..LANES * self.blocks).filter(|thread| thread % LANES < self.lanes) {
            let registers = (thread, thread * self.step);
            for word in 0..self.words {
                let place =
                    |buffer: &Buffer| buffer.place(self.generation, registers, thread % LANES, 4 * word);
                let mut value = 0;
                if let Some(place) = place(&self.load) {
                    let bytes = from.get(place as usize..place as usize + 4)?;
                    value = u32::from_le_bytes(bytes.try_into().ok()?);
                }
                if !self.copies {
                    value ^= thread;
                }
                let Some(place) = place(&self.store) else { continue };
                if place + 4 > BYTES {
                    return None;
                }
                for (at, byte) in (place..).zip(value.to_le_bytes()) {
                    if to.insert(at, byte).is_some() {
                        return None;
                    }
                }
            }
        }
        Some(to)
    }

    /// Runs it: the report, and what the second piece of memory holds behind it.
    fn run(&self, engine: &Engine, start: u64) -> Result<(Report, Vec<u8>), String> {
        let source = self.source();
        let code = assemble(&source, self.generation).map_err(|error| format!("{error}\n{source}"))?.code;
        let options = ProgramOptions::new(Isa::Gcn)
            .raw(true)
            .chip(Some(self.generation.into()))
            .rsrc1(Some(3 | 3 << 6))
            .rsrc2(Some(8 << 1 | 1 << 7));
        let program = Program::load(&code, &options).map_err(|error| format!("{error}\n{source}"))?;
        let memory = engine.memory().map_err(|error| error.to_string())?;
        let (other, tables) = (start + APART, 0x8000_0000);
        for (place, bytes) in [(start, BYTES), (other, BYTES), (tables, 0x1000)] {
            memory.map(Some(place), bytes, Access::ReadWrite).map_err(|error| error.to_string())?;
        }
        memory.write(start, &contents()).map_err(|error| error.to_string())?;
        let words = [self.load.words(start), self.store.words(other)].concat();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.write(tables, &bytes).map_err(|error| error.to_string())?;
        let mut user_data = words;
        if self.from_memory {
            user_data[..2].copy_from_slice(&[tables as u32, 0]);
        }
        let launch = Launch::default().grid([self.blocks, 1, 1]).block([LANES, 1, 1]).user_data(user_data);
        let report = engine.run(&program, &memory, &launch).map_err(|error| error.to_string())?;
        let mut got = vec![0; BYTES as usize];
        memory.read(other, &mut got).map_err(|error| error.to_string())?;
        Ok((report, got))
    }

    fn check(&self, engine: &Named, start: u64) -> Result<f64, String> {
        let (name, engine) = engine;
        let (report, got) = self.run(engine, start)?;
        let context = || format!("{name} at {start:#x}\n{self:#x?}\n{}", self.source());
        if let Some(fault) = report.fault {
            return Err(format!("{fault:?} {}", context()));
        }
        let want = self.model(&contents()).ok_or("no model")?;
        for (at, &byte) in got.iter().enumerate() {
            let want = want.get(&(at as u64)).copied().unwrap_or(0);
            if want != byte {
                return Err(format!("byte {at:#x}: {byte:x} and not {want:x} {}", context()));
            }
        }
        Ok(report.stats.jit_share)
    }
}

/// What the first piece of memory holds.
fn contents() -> Vec<u8> {
    (0..BYTES / 4).flat_map(|word| (word as u32).wrapping_mul(0x9e37_79b9).to_le_bytes()).collect()
}

/// The interpreter, and compiled code for hosts of all kinds with chunks of all widths.
fn engines() -> Vec<Named> {
    let jit = Config::default().tier(Tier::Jit);
    let mut configs = vec![("interp".to_owned(), Config::default().tier(Tier::Interp))];
    for host in [HostLevel::Native, HostLevel::Avx2, HostLevel::Sse41] {
        configs.push((format!("jit {host:?}"), jit.clone().host(host)));
        for groups in [0, 1, 2, 4, 8, 16] {
            configs
                .push((format!("jit {host:?} {groups}"), jit.clone().host(host).chunk_groups(Some(groups))));
        }
        configs.push((format!("jit {host:?} checked"), jit.clone().host(host).checked_memory(true)));
        configs.push((format!("jit {host:?} joined"), jit.clone().host(host).join_after(Some(1))));
    }
    configs.into_iter().filter_map(|(name, config)| named(name, config)).collect()
}

/// A copy as drivers make it.
fn copy(generation: Generation, records: u32) -> Case {
    let buffer = Buffer {
        base: BYTES - u64::from(records),
        stride: 0,
        swizzles: false,
        records,
        element: 1,
        group: 3,
        adds_lane: false,
        format: 4,
        idxen: false,
        offen: true,
        offset: 0,
    };
    let (load, store) = (buffer, Buffer { records: records - 2, ..buffer });
    Case {
        generation,
        load,
        store,
        words: 4,
        step: 16,
        blocks: 5,
        copies: true,
        lanes: LANES,
        from_memory: false,
    }
}

/// Copies whose ranges end before a lane, within its words, and within a word of it.
#[test]
fn copies_end_where_their_ranges_end() {
    let engines = engines();
    for less in [0, 1, 4, 6, 12, 15, 16, 17, 700, 1024, 5000] {
        for generation in [Generation::Gfx6, Generation::Gfx8, Generation::Gfx9] {
            let case = copy(generation, 5 * 64 * 16 - less);
            for engine in &engines {
                case.check(engine, PLACES[0]).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }
}

/// Ranges that go on where there is no memory: the lowest lane that is there faults, at its first byte, by the load or by the store.
#[test]
fn faults_are_of_the_lowest_lane_beyond_the_memory() {
    for (block, beyond) in [(0, 3), (2, 17), (4, 63)] {
        for of_store in [false, true] {
            let mut case = copy(Generation::Gfx8, 5 * 64 * 16);
            // The memory ends where that lane begins.
            let end = u64::from(block * LANES + beyond) * 16;
            let buffer = if of_store { &mut case.store } else { &mut case.load };
            (buffer.base, buffer.records) = (BYTES - end, 5 * 64 * 16);
            for engine in engines() {
                let (name, engine) = &engine;
                let (report, _) = case.run(engine, PLACES[0]).unwrap_or_else(|error| panic!("{error}"));
                let fault = report.fault.unwrap_or_else(|| panic!("{name}: no fault"));
                let at = PLACES[0] + if of_store { APART } else { 0 } + BYTES;
                let got = (fault.block[0], fault.lane, fault.address, fault.store);
                assert_eq!(got, (block, beyond, Some(at), of_store), "{name}");
            }
        }
    }
}

#[test]
fn descriptors_known_at_run_time_are_compiled_as_they_are_interpreted() {
    let engines = engines();
    let seeds = seeds(0, 24);
    let count = seeds.end - seeds.start;
    let stored = std::cell::Cell::new(0);
    let compiled = all_agree(seeds, |seed| {
        let case = Case::random(seed);
        let is_any = case.model(&contents()).is_some_and(|bytes| bytes.values().any(|&byte| byte != 0));
        stored.set(stored.get() + u64::from(is_any));
        let mut share = 0.0;
        for engine in &engines {
            share = case.check(engine, PLACES[0])?;
        }
        for place in &PLACES[1..] {
            for engine in
                engines.iter().filter(|(name, _)| !name.contains(char::is_numeric) || name.ends_with(" 2"))
            {
                case.check(engine, *place)?;
            }
        }
        Ok(share)
    });
    assert!(compiled > 0.5 * count as f64, "of {count} programs {compiled} were compiled");
    assert!(count < 20 || stored.get() > count / 2, "of {count} programs {} stored anything", stored.get());
}

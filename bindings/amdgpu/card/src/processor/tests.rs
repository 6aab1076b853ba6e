//! Tests with packets written by hand.

use super::*;
use crate::chip::Chip;
use crate::memory::Buffers;
use crate::pm4::header;
use crate::settings::{Settings, StatsTo};
use warpjit_frontend::Stage;
use warpjit_runtime::Tier;

/// Where the tests have memory, and how much.
const MEMORY: u64 = 0x20_0000;
const BYTES: u64 = 1 << 20;
/// Where they put commands, code and data.
const COMMANDS: u64 = MEMORY;
pub(super) const CODE: u64 = MEMORY + 0x4_0000;
pub(super) const DATA: u64 = MEMORY + 0x8_0000;
/// An address where nothing is.
const WILD: u64 = 0x12_3456_7000;

pub(super) struct Fixture {
    pub processor: Processor,
    pub space: Arc<AddressSpace>,
    words: Vec<u32>,
}

impl Fixture {
    pub fn new(chip: &str, graphics: bool) -> Fixture {
        Fixture::with(chip, graphics, Settings::default())
    }

    fn with(chip: &str, graphics: bool, settings: Settings) -> Fixture {
        let settings = Settings { chip: Chip::find(chip).unwrap(), threads: 1, ..settings };
        let space = Arc::new(AddressSpace::new(settings.chip.generation >= 9).unwrap());
        let buffers = Buffers::new(BYTES).unwrap();
        let handle = buffers.create(BYTES, 0, 4, 0).unwrap();
        let offset = buffers.get(handle).unwrap().offset;
        space.map(buffers.file(), (MEMORY, BYTES), Some((handle, offset)), 0xe, false).unwrap();
        let processor = Processor::new(Card::new(settings), space.clone(), graphics);
        Fixture { processor, space, words: Vec::new() }
    }

    pub fn packet(&mut self, op: u8, body: &[u32]) -> &mut Self {
        self.words.push(header(op, body.len()));
        self.words.extend(body);
        self
    }

    fn raw(&mut self, words: &[u32]) -> &mut Self {
        self.words.extend(words);
        self
    }

    pub fn put(&self, address: u64, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.space.memory().write(address, &bytes).unwrap();
    }

    pub fn get(&self, address: u64) -> u32 {
        self.space.memory().load(address, 4).unwrap() as u32
    }

    fn try_run(&mut self) -> Result<(), String> {
        let words = std::mem::take(&mut self.words);
        self.put(COMMANDS, &words);
        self.processor.begin();
        self.processor.run(COMMANDS, words.len() as u32).map_err(|stop| stop.to_string())
    }

    pub fn run(&mut self) {
        self.try_run().unwrap();
    }

    pub fn error(&mut self) -> String {
        self.try_run().expect_err("must stop")
    }
}

pub(super) fn low(address: u64) -> u32 {
    address as u32
}

fn high(address: u64) -> u32 {
    (address >> 32) as u32
}

#[test]
fn data_moves() {
    let mut card = Fixture::new("polaris10", true);
    card.put(DATA, &[1, 2, 3, 4]);
    let to = DATA + 0x100;
    card.packet(op::WRITE_DATA, &[5 << 8, low(to), 0, 7, 8])
        .packet(op::COPY_DATA, &[1 | 5 << 8 | 1 << 16, low(DATA + 8), 0, low(to + 8), 0])
        .packet(op::DMA_DATA, &[0, low(DATA), 0, low(to + 16), 0, 12])
        .packet(op::DMA_DATA, &[2 << 29, 0x1111_2222, 0, low(to + 32), 0, 6])
        .packet(op::DMA_DATA, &[2 << 20, low(WILD), high(WILD), 0, 0, 64])
        .packet(op::COPY_DATA, &[5, 0x77, 0, 0x2e00, 0])
        .packet(op::COPY_DATA, &[2 << 8, 0x2e00, 0, low(to + 40), 0])
        .packet(op::EVENT_WRITE_EOP, &[0, low(to + 44), 1 << 29, 0x55, 0])
        .packet(op::RELEASE_MEM, &[0, 2 << 29, low(to + 48), 0, 0x66, 0x67, 0])
        .packet(op::EVENT_WRITE, &[0x15 | 1 << 8, low(to + 0x80), 0]);
    card.run();
    let found: Vec<u32> = (0..14).map(|index| card.get(to + 4 * index)).collect();
    assert_eq!(found, [7, 8, 3, 4, 1, 2, 3, 0, 0x1111_2222, 0x2222, 0x77, 0x55, 0x66, 0x67]);
    // Eight render backends, 16 bytes apart.
    assert_eq!(
        [card.get(to + 0x84), card.get(to + 0x80 + 7 * 16 + 4), card.get(to + 0x80 + 8 * 16 + 4)],
        [1 << 31, 1 << 31, 0]
    );
}

#[test]
fn gfx6_copies() {
    let mut card = Fixture::new("tahiti", true);
    card.put(DATA, &[1, 2]);
    card.packet(op::CP_DMA, &[low(DATA), 0, low(DATA + 64), 0, 8])
        .packet(op::CP_DMA, &[9, 2 << 29, low(DATA + 72), 0, 4]);
    card.run();
    assert_eq!([card.get(DATA + 64), card.get(DATA + 68), card.get(DATA + 72)], [1, 2, 9]);
}

#[test]
fn conditions() {
    let mut card = Fixture::new("polaris10", true);
    let write = |card: &mut Fixture, at: u64, predicated: bool| {
        card.raw(&[header(op::WRITE_DATA, 4) | u32::from(predicated), 5 << 8, low(DATA + at), 0, 1]);
    };
    card.put(DATA + 0x40, &[0, 0, 1, 0]);
    card.packet(op::COND_EXEC, &[low(DATA + 0x40), 0, 0, 5]);
    write(&mut card, 0, false);
    card.packet(op::COND_EXEC, &[low(DATA + 0x48), 0, 0, 5]);
    write(&mut card, 4, false);
    // The value is 1; executed if it is not 0, then if it is.
    card.packet(op::SET_PREDICATION, &[low(DATA + 0x48), 3 << 16 | 1 << 8]);
    write(&mut card, 8, true);
    card.packet(op::SET_PREDICATION, &[low(DATA + 0x48), 3 << 16]);
    write(&mut card, 12, true);
    write(&mut card, 16, false);
    card.packet(op::SET_PREDICATION, &[0, 0]);
    write(&mut card, 20, true);
    card.run();
    assert_eq!([0, 4, 8, 12, 16, 20].map(|at| card.get(DATA + at)), [0, 1, 1, 0, 1, 1]);
}

#[test]
fn waits_for_the_host() {
    let mut card = Fixture::new("vega10", false);
    card.packet(op::WAIT_REG_MEM, &[3 | 1 << 4, low(DATA), 0, 5, 0xff, 4])
        .packet(op::WRITE_DATA, &[5 << 8, low(DATA + 4), 0, 1]);
    let space = card.space.clone();
    let host = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(5));
        space.memory().store(DATA, 4, 0x105).unwrap();
    });
    card.run();
    host.join().unwrap();
    assert_eq!(card.get(DATA + 4), 1);
}

#[test]
fn chains_and_calls() {
    let mut card = Fixture::new("polaris10", true);
    let other = COMMANDS + 0x1000;
    card.put(other, &[header(op::WRITE_DATA, 4), 5 << 8, low(DATA), 0, 1]);
    let third = COMMANDS + 0x2000;
    card.put(third, &[header(op::WRITE_DATA, 4), 5 << 8, low(DATA + 4), 0, 2]);
    card.packet(op::INDIRECT_BUFFER, &[low(other), 0, 5])
        .raw(&[0x8000_0000, 0xffff_1000])
        .packet(op::INDIRECT_BUFFER, &[low(third), 0, 5 | 1 << 20])
        .packet(op::WRITE_DATA, &[5 << 8, low(DATA + 8), 0, 3]);
    card.run();
    assert_eq!([card.get(DATA), card.get(DATA + 4), card.get(DATA + 8)], [1, 2, 0]);
}

#[test]
fn what_has_no_end_ends() {
    let mut card = Fixture::new("polaris10", true);
    card.packet(op::INDIRECT_BUFFER, &[low(COMMANDS), 0, 4 | 1 << 20]);
    assert!(card.error().contains("has no end"));
    card.packet(op::INDIRECT_BUFFER, &[low(COMMANDS), 0, 4]);
    assert!(card.error().contains("without an end"));
    // It can go on with what follows.
    card.packet(op::WRITE_DATA, &[5 << 8, low(DATA), 0, 1]);
    card.run();
}

#[test]
fn wild_addresses_and_cut_packets() {
    for chip in ["tahiti", "polaris10", "vega10"] {
        let mut card = Fixture::new(chip, true);
        let wild = [low(WILD), high(WILD)];
        let nine = chip == "vega10";
        let packets: &[(u8, &[u32])] = &[
            (op::WRITE_DATA, &[5 << 8, wild[0], wild[1], 1]),
            (op::COPY_DATA, &[1 | 5 << 8, wild[0], wild[1], low(DATA), 0]),
            (op::COPY_DATA, &[5 | 5 << 8, 0, 0, wild[0], wild[1]]),
            (op::DMA_DATA, &[0, wild[0], wild[1], low(DATA), 0, 4]),
            (op::DMA_DATA, &[0, low(DATA), 0, wild[0], wild[1], 4]),
            (op::DMA_DATA, &[0, low(DATA), 0, low(DATA), 0, 0x1f_ffff]),
            (op::CP_DMA, &[low(DATA), 0, wild[0], wild[1], 4]),
            (op::WAIT_REG_MEM, &[3 | 1 << 4, wild[0], wild[1], 0, 0, 4]),
            (op::COND_EXEC, &[wild[0], wild[1], 0, 1]),
            (op::INDIRECT_BUFFER, &[wild[0], wild[1], 64]),
            (op::INDIRECT_BUFFER, &[wild[0], wild[1], 64 | 1 << 20]),
            (op::INDIRECT_BUFFER, &[low(DATA), 0, 0xf_ffff]),
            (op::EVENT_WRITE, &[1 << 8, wild[0], wild[1]]),
            (op::EVENT_WRITE_EOP, &[0, wild[0], wild[1] | 1 << 29, 0, 0]),
            (op::RELEASE_MEM, &[0, 1 << 29, wild[0], wild[1], 0, 0]),
            (op::LOAD_CONTEXT_REG_INDEX, &[wild[0], wild[1], 0, 3]),
            (op::DISPATCH_INDIRECT, &[0xffff_fff0, 1]),
            (
                op::SET_PREDICATION,
                if nine { &[3 << 16, wild[0], wild[1]] } else { &[wild[0], wild[1] | 3 << 16] },
            ),
        ];
        for (op, body) in packets {
            card.packet(*op, body);
            assert!(card.error().contains("not mapped"), "{chip}: {}", name(*op));
            // Cut by a word: the words that are missing are told, or nothing was wanted of them.
            for count in 1..body.len() {
                card.packet(*op, &body[..count]);
                let _ = card.try_run();
            }
            card.packet(*op, body);
            card.words.pop();
            assert!(card.error().contains("longer than the rest"), "{chip}: {}", name(*op));
        }
        card.raw(&[0x1234]);
        assert!(card.error().contains("no header"));
        // Registers beyond the last.
        card.packet(op::SET_CONTEXT_REG, &[0xffff, 1, 2]).packet(op::CONTEXT_REG_RMW, &[0xffff, 1, 2]);
        card.packet(op::COPY_DATA, &[0, 0xffff_ffff, 0, 0xffff_ffff, 0])
            .packet(op::WRITE_DATA, &[0, 0xffff_ffff, 0, 1, 2]);
        card.run();
    }
}

/// Packets that start a program of two user words, and its words, for the tests of dispatches.
fn program(card: &mut Fixture, chip: &str, source: &str) {
    let chip: warpjit_runtime::Chip = chip.parse().unwrap();
    // GCN 1.2 has another name for the same addition.
    let source =
        if chip.name() == "polaris10" { source.replace("v_add_i32", "v_add_u32") } else { source.to_owned() };
    let code = chip.target().assemble(&source, Stage::Compute).unwrap();
    card.space.memory().write(CODE, &code).unwrap();
    let at = |register: u32| register / 4 - PROGRAMS;
    card.packet(op::SET_SH_REG, &[at(0xb81c), 64, 1, 1])
        .packet(op::SET_SH_REG, &[at(0xb830), (CODE >> 8) as u32, 0])
        // 4 vector registers, 16 scalar ones; two words of user data and the workgroup's x.
        .packet(op::SET_SH_REG, &[at(0xb848), 1 << 6, 2 << 1 | 1 << 7])
        .packet(op::SET_SH_REG, &[at(0xb900), low(DATA), high(DATA)]);
}

/// `data[group * 64 + thread] = thread`.
const NUMBERS: &str = "
    s_lshl_b32 s2, s2, 8
    s_add_u32 s0, s0, s2
    s_addc_u32 s1, s1, 0
    v_lshlrev_b32 v1, 2, v0
    v_add_i32 v1, vcc, s0, v1
    v_mov_b32 v2, s1
    v_addc_u32 v2, vcc, 0, v2, vcc
    flat_store_dword v[1:2], v0
    s_endpgm
";

#[test]
fn dispatches() {
    for (chip, graphics) in [("bonaire", true), ("polaris10", true), ("polaris10", false)] {
        let mut card = Fixture::new(chip, graphics);
        program(&mut card, chip, NUMBERS);
        card.packet(op::DISPATCH_DIRECT, &[2, 1, 1, 1 | 1 << 2]);
        card.run();
        assert_eq!(
            [card.get(DATA + 4 * 63), card.get(DATA + 4 * 127), card.get(DATA + 4 * 129)],
            [63, 63, 0]
        );
        // Registers stay from submission to submission. The size lies in memory.
        card.put(DATA + 0x1000, &[3, 1, 1]);
        if graphics {
            card.packet(op::SET_BASE, &[1, low(DATA), 0])
                .packet(op::DISPATCH_INDIRECT, &[0x1000, 1 | 1 << 2]);
        } else {
            card.packet(op::DISPATCH_INDIRECT, &[low(DATA + 0x1000), 0, 1 | 1 << 2]);
        }
        card.run();
        assert_eq!(card.get(DATA + 4 * 191), 63);
    }
}

/// Statistics tell what a kernel has stored: a word for each thread, whether the interpreter or compiled code has run it.
#[test]
fn statistics_have_bytes() {
    for tier in [Tier::Interp, Tier::Jit, Tier::Auto] {
        let file = std::env::temp_dir().join(format!("warpjit-bytes-{}-{tier:?}.json", std::process::id()));
        let settings = Settings { tier, stats: Some(StatsTo::File(file.clone())), ..Settings::default() };
        let mut card = Fixture::with("polaris10", true, settings);
        program(&mut card, "polaris10", NUMBERS);
        for _ in 0..3 {
            card.packet(op::DISPATCH_DIRECT, &[100, 1, 1, 1 | 1 << 2]);
        }
        card.run();
        card.processor.card.reporter.submission("", 1, 1);
        card.processor.card.reporter.finish();
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let kernel = &json["kernels"][0];
        let numbers =
            ["dispatches", "bytes_loaded", "bytes_stored"].map(|field| kernel[field].as_u64().unwrap());
        assert_eq!(numbers, [3, 0, 3 * 100 * 64 * 4], "{tier:?}: {text}");
    }
}

#[test]
fn code_that_changes_is_seen() {
    let mut card = Fixture::new("polaris10", false);
    program(&mut card, "polaris10", NUMBERS);
    card.packet(op::DISPATCH_DIRECT, &[1, 1, 1, 1 | 1 << 2]);
    card.run();
    let zeros = NUMBERS.replace("flat_store", "v_mov_b32 v0, 7\n flat_store");
    program(&mut card, "polaris10", &zeros);
    card.packet(op::DISPATCH_DIRECT, &[1, 1, 1, 1 | 1 << 2]);
    card.run();
    assert_eq!(card.get(DATA + 4 * 63), 7);
}

#[test]
fn faults_end_the_submission() {
    let mut card = Fixture::new("polaris10", true);
    program(&mut card, "polaris10", NUMBERS);
    let at = 0xb900 / 4 - PROGRAMS;
    card.packet(op::SET_SH_REG, &[at, low(WILD), high(WILD)])
        .packet(op::DISPATCH_DIRECT, &[1, 1, 1, 1])
        .packet(op::WRITE_DATA, &[5 << 8, low(DATA), 0, 1]);
    assert_eq!(card.error(), "a dispatch failed");
    assert_eq!(card.get(DATA), 0);
    // No code at all, and registers that say nothing that can be.
    for (register, value) in [(0xb830, 0x77_0000), (0xb848, 0x3c0), (0xb84c, 31 << 1)] {
        program(&mut card, "polaris10", NUMBERS);
        card.packet(op::SET_SH_REG, &[register / 4 - PROGRAMS, value])
            .packet(op::DISPATCH_DIRECT, &[1, 1, 1, 1]);
        assert_eq!(card.error(), "a dispatch failed", "{register:#x}");
    }
}

#[test]
fn draws_are_left_out() {
    let mut card = Fixture::new("polaris10", true);
    card.packet(op::DRAW_INDEX_AUTO, &[3, 2])
        .packet(0xee, &[1])
        .packet(op::WRITE_DATA, &[5 << 8, low(DATA), 0, 1]);
    card.run();
    assert_eq!(card.get(DATA), 1);
}

//! Programs of random words, of rows of the instruction tables with random fields, and mutated programs of the corpus.

use std::sync::LazyLock;

use warpjit_frontend::{Chip, Isa, container, fermi, gcn, tesla, vp1};
use warpjit_tests::corpus;
use warpjit_tests::random::rng::{Random, SplitMix};

use super::mutate;
use crate::Guest;
use crate::guest::{Buffer, Faults, Rules};

/// Where memory is.
const OWN: u64 = 0x10_0000;
/// What may only be read.
const GIVEN: u64 = 0x10_2000;
/// Bytes of each.
const BYTES: usize = 0x1000;
/// Code of the corpus that is longer has too much that is the same.
const MOST_BYTES: usize = 4096;

/// A raw program of the corpus.
struct Sample {
    chip: Chip,
    code: Vec<u8>,
}

static SAMPLES: LazyLock<Vec<Vec<Sample>>> = LazyLock::new(|| {
    let mut samples: Vec<Vec<Sample>> = Isa::ALL.iter().map(|_| Vec::new()).collect();
    for cases in [corpus::tesla(), corpus::fermi(), corpus::gcn(), corpus::vp1()] {
        for case in cases.unwrap_or_default() {
            let Ok(file) = case.load() else { continue };
            let program = file.program;
            let isa = program.isa;
            let chip = program.chip.unwrap_or(isa.front_end().default_chip());
            let code = match container::load(&program.code, isa) {
                Ok(module) if !program.raw => match module.kernel(program.kernel.as_deref()) {
                    Ok(kernel) => kernel.code.to_vec(),
                    Err(_) => continue,
                },
                _ => program.code,
            };
            if !code.is_empty() && code.len() <= MOST_BYTES {
                samples[isa as usize].push(Sample { chip, code });
            }
        }
    }
    samples
});

/// The guest of a seed.
pub fn guest(seed: u64) -> Option<Guest> {
    let mut random = SplitMix::new(seed);
    let isa = random.pick(&[Isa::Tesla, Isa::Fermi, Isa::Gcn, Isa::Gcn, Isa::Vp1]);
    let samples = &SAMPLES[isa as usize];
    let (chip, mut code) = if random.one_in(2) && !samples.is_empty() {
        let sample = &samples[random.below(samples.len() as u64) as usize];
        let mut code = sample.code.clone();
        mutate::bytes(&mut code, &mut random);
        (sample.chip, code)
    } else {
        let chip = any_chip(isa, &mut random);
        let mut code = Vec::new();
        for _ in 0..2 + random.below(24) {
            code.extend(instruction(chip, &mut random));
        }
        code.extend(end(isa));
        (chip, code)
    };
    let word = if isa == Isa::Fermi { 8 } else { 4 };
    code.truncate(code.len() / word * word);
    if code.is_empty() {
        return None;
    }
    let mut guest = Guest::new(chip, code);
    guest.max_steps = 1_500;
    // Lanes may meet in memory, and be bad in any of the instructions, in loops as well.
    guest.rules = Rules { lockstep: true, faults: Faults::Any, ..Rules::PLAIN };
    let mut words = Random::new(seed);
    let mut contents =
        |bytes: usize| -> Vec<u8> { (0..bytes / 4).flat_map(|_| words.word().to_le_bytes()).collect() };
    if isa == Isa::Vp1 {
        guest.buffers = vec![Buffer { name: "ds".into(), address: 0, data: contents(8192), writable: true }];
        return Some(guest);
    }
    guest.buffers = vec![
        Buffer { name: "own".into(), address: OWN, data: contents(BYTES), writable: true },
        Buffer { name: "given".into(), address: GIVEN, data: contents(BYTES), writable: false },
    ];
    guest.shared = Some(0x800);
    match isa {
        Isa::Gcn if random.one_in(3) => gcn_dispatch(&mut guest, &mut random),
        Isa::Gcn => gcn_launch(&mut guest, &mut random),
        _ => {
            guest.registers = Some(32);
            guest.local = Some(256);
            guest.args = [OWN, GIVEN, 5, 64].map(|word| (word as u32).to_le_bytes().to_vec()).into();
            guest.consts = [0, 1, 2, 5].map(|bank| (bank, contents(512))).into();
            for n in 0..16 {
                guest.init.push((format!("r{n}"), lanes(32, &mut random, &mut words)));
            }
        }
    }
    Some(guest)
}

/// Registers of a wave: data, addresses, descriptors of memory.
fn gcn_launch(guest: &mut Guest, random: &mut SplitMix) {
    guest.registers = Some(32);
    guest.sgprs = Some(48);
    let mut words = Random::new(random.bits());
    for n in 0..24 {
        guest.init.push((format!("v{n}"), lanes(64, random, &mut words)));
    }
    let resource = [OWN as u32, 0x0004_0000 * random.below(2) as u32, BYTES as u32, 0x0002_4fac];
    for n in 0..32u32 {
        let value = match n {
            4..8 => resource[n as usize - 4],
            8 | 10 => [OWN as u32, GIVEN as u32][n as usize / 2 - 4],
            9 | 11 => 0,
            16..20 => resource[n as usize - 16],
            _ => words.word(),
        };
        guest.init.push((format!("s{n}"), vec![value.into()]));
    }
    guest.rules.registers = true;
}

/// A dispatch as the hardware makes it, by its registers: a grid, waves that are not full, user data.
fn gcn_dispatch(guest: &mut Guest, random: &mut SplitMix) {
    let user = random.below(17) as u32;
    // 32 vector registers, 48 scalar ones (64 on 1.4), any MODE without FP16_OVFL.
    let rsrc1 = 7 | 6 << 6 | (random.bits() as u32 & 0xff) << 12 | (random.bits() as u32 & 0xa0_0000);
    let loaded = (random.bits() as u32 & 0xf) << 7 | (random.below(3) as u32) << 11;
    let rsrc2 = user << 1 | loaded | 4 << 15;
    guest.rsrc = Some((rsrc1, rsrc2));
    guest.shared = None;
    guest.grid = [1 + random.below(3) as u32, 1 + random.below(2) as u32, 1];
    guest.block = random.pick(&[[64, 1, 1], [33, 1, 1], [8, 8, 1], [5, 3, 2]]);
    let words = [OWN as u32, 0, BYTES as u32, 0x0002_4fac, GIVEN as u32, 0, BYTES as u32, 0x0002_4fac];
    guest.user_data = (0..user).map(|n| words[n as usize % words.len()]).collect();
    // Blocks of one wave each. Where there are several, which one stores first is chance.
    guest.buffers[0].writable = guest.grid == [1; 3];
}

/// A register's values: the same in all lanes, counting, addresses, anything.
fn lanes(count: u64, random: &mut SplitMix, words: &mut Random) -> Vec<u64> {
    let base = random.pick(&[OWN, GIVEN, 0, OWN + 0xff0]);
    let step = random.pick(&[0, 1, 4, 4, 8, 16]);
    match random.below(5) {
        0 => vec![words.word().into(); count as usize],
        1 | 2 => (0..count).map(|lane| base + step * lane).collect(),
        3 => (0..count).map(|_| OWN + random.below(BYTES as u64 / 4) * 4).collect(),
        _ => (0..count).map(|_| words.word().into()).collect(),
    }
}

fn any_chip(isa: Isa, random: &mut SplitMix) -> Chip {
    match isa {
        Isa::Tesla => {
            random.pick(&[tesla::Chip::G80, tesla::Chip::G92, tesla::Chip::G200, tesla::Chip::Gt215]).into()
        }
        Isa::Fermi => random.pick(&[fermi::Chip::Gf100, fermi::Chip::Gk104]).into(),
        Isa::Gcn => random.pick(&gcn::Generation::ALL).into(),
        Isa::Vp1 => random.pick(&[vp1::Chip::Nv41, vp1::Chip::Nv44, vp1::Chip::G80]).into(),
    }
}

/// A row of the table with random fields, or just bits.
fn instruction(chip: Chip, random: &mut SplitMix) -> Vec<u8> {
    let noise = random.bits();
    if random.one_in(12) {
        return noise.to_le_bytes().to_vec();
    }
    // Registers that the launch has.
    let few = |word: u64, at: u32, bits: u32, random: &mut SplitMix| {
        let mask = ((1u64 << bits) - 1) << at;
        word & !mask | random.below(32) << at & mask
    };
    match chip {
        Chip::Tesla(_) => {
            let row = &tesla::table::rows()[random.below(tesla::table::rows().len() as u64) as usize];
            let mut word = noise;
            for at in [2, 9, 16, 46] {
                word = few(word, at, 7, random);
            }
            // Mostly without a predicate, and not the last instruction.
            if !random.one_in(4) {
                word = word & !(0x1f << 39) | 0xf << 39;
            }
            if !random.one_in(8) {
                word &= !(3 << 32);
            }
            word = word & !row.mask | row.value;
            if word & 1 == 0 { (word as u32).to_le_bytes().to_vec() } else { word.to_le_bytes().to_vec() }
        }
        Chip::Fermi(_) => {
            let row = &fermi::table::rows()[random.below(fermi::table::rows().len() as u64) as usize];
            let mut word = noise;
            for at in [14, 20, 26, 49] {
                word = few(word, at, 6, random);
            }
            if !random.one_in(4) {
                word = word & !(0xf << 10) | 7 << 10;
            }
            (word & !row.mask | row.value).to_le_bytes().to_vec()
        }
        Chip::Gcn(chip) => loop {
            let rows = gcn::table::rows();
            let row = &rows[random.below(rows.len() as u64) as usize];
            let Some(bytes) = gcn_instruction(row, chip, random) else { continue };
            break bytes;
        },
        Chip::Vp1(_) => {
            let row = &vp1::table::rows()[random.below(vp1::table::rows().len() as u64) as usize];
            ((noise & !row.mask | row.value) as u32).to_le_bytes().to_vec()
        }
    }
}

/// An instruction of a row: random bits of its format until they decode to it.
fn gcn_instruction(row: &gcn::Row, chip: gcn::Chip, random: &mut SplitMix) -> Option<Vec<u8>> {
    use gcn::Format::*;
    let generation = chip.generation();
    let code = u64::from(row.code(generation)?);
    let old = generation <= gcn::Generation::Gfx7;
    let (head, shift): (u64, u32) = match row.format {
        Sop2 => (0x8000_0000, 23),
        Sopk => (0xb000_0000, 23),
        Sop1 => (0xbe80_0000, 8),
        Sopc => (0xbf00_0000, 16),
        Sopp => (0xbf80_0000, 16),
        Vop2 => (0, 25),
        Vop1 => (0x7e00_0000, 9),
        Vopc => (0x7c00_0000, 17),
        Vop3 => (0xd000_0000, if old { 17 } else { 16 }),
        Ds => (0xd800_0000, if old { 18 } else { 17 }),
        Mubuf => (0xe000_0000, 18),
        Mtbuf => (0xe800_0000, if old { 16 } else { 15 }),
        Mimg => (0xf000_0000, 18),
        Flat => (0xdc00_0000, 18),
        _ => (0, 0),
    };
    for _ in 0..24 {
        let mut word = random.bits();
        // Fields of registers are small.
        for at in [0u32, 9, 17, 32, 40, 41, 48, 50, 56] {
            if random.one_in(2) {
                word = word & !(0x7f << at) | random.below(32) << at;
            }
        }
        if shift != 0 {
            let low = word & 0xffff_ffff & ((1 << shift) - 1);
            word = word >> 32 << 32 | head | code << shift | low;
        }
        let bytes = word.to_le_bytes();
        if let Ok(inst) = gcn::decode(&bytes, 0, chip)
            && inst.op == row.op
        {
            return Some(bytes[..usize::from(inst.len).min(8)].to_vec());
        }
    }
    None
}

/// What ends a program.
fn end(isa: Isa) -> Vec<u8> {
    match isa {
        Isa::Tesla => 0xe000_0781_f000_0001_u64.to_le_bytes().to_vec(),
        Isa::Fermi => 0x8000_0000_0000_1de7_u64.to_le_bytes().to_vec(),
        Isa::Gcn => 0xbf81_0000_u32.to_le_bytes().to_vec(),
        Isa::Vp1 => [0xff00_0000u32, 0x4f00_0000, 0x4f00_0000, 0x4f00_0000]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect(),
    }
}

//! Structured random programs with a defined result. `warpjit_tests` makes the programs; this module gives them a launch.

use warpjit_frontend::vp1;
use warpjit_tests::fermi::random as fermi_random;
use warpjit_tests::gcn::memory::{self, MemoryCase};
use warpjit_tests::gcn::scalar::ScalarCase;
use warpjit_tests::gcn::vector::{self, VectorCase};
use warpjit_tests::random::rng::Random;
use warpjit_tests::random::{Family, Loaded, tesla as random_tesla};
use warpjit_tests::vp1::random as vp1_random;

use super::Context;
use crate::guest::{Buffer, Faults, Rules};
use crate::{Finding, Guest};

/// Where memory begins that a program knows by its arguments.
const BASE: u64 = 0x10_0000;

/// A Tesla program of one of the families.
pub fn families(seed: u64) -> Option<Guest> {
    let family = [Family::Arithmetic, Family::Divergence, Family::Memory][(seed % 3) as usize];
    let program = warpjit_tests::random::program(family, seed);
    let loaded = Loaded::new(&program, seed);
    let launch = loaded.launch();
    let shape = &program.shape;
    let mut guest = Guest::new(shape.chip, program.code().bytes);
    guest.registers = Some(Loaded::REGISTERS);
    guest.local = Some(shape.local);
    guest.grid = launch.grid;
    guest.block = launch.block;
    guest.dynamic_shared = launch.dynamic_shared;
    guest.max_steps = launch.max_steps;
    guest.args = launch.args.iter().map(|arg| arg.bytes.clone()).collect();
    guest.consts = launch.consts.clone();
    guest.buffers = loaded
        .memory_parts()
        .enumerate()
        .map(|(n, (address, bytes, writable, content))| {
            let mut data = content.to_vec();
            data.resize(bytes as usize, 0);
            Buffer { name: format!("b{n}"), address: address.into(), data, writable }
        })
        .collect();
    guest.rules = Rules { lockstep: shape.lockstep, registers: shape.capture, ..Rules::PLAIN };
    Some(guest)
}

/// A Tesla program of random encodings, which may be wild or see memory through windows.
pub fn tesla(seed: u64) -> Option<Guest> {
    let seed = seed & (random_tesla::WILD | random_tesla::WINDOWED | 0xffff_ffff);
    let (chip, code) = random_tesla::generate(seed);
    let wild = random_tesla::is_wild(seed);
    let setting = random_tesla::Setting::new(seed, BASE);
    let mut guest = Guest::new(chip, code);
    guest.registers = Some(random_tesla::REGISTERS);
    guest.shared = Some(1024);
    guest.local = Some(256);
    guest.block = [setting.threads, 1, 1];
    guest.max_steps = 200_000;
    guest.args = setting.args.iter().map(|arg| arg.bytes.clone()).collect();
    guest.consts = setting.consts;
    // Windows begin where buffers do: the picture has its own.
    let (bytes, picture) = setting.data.split_at(random_tesla::BYTES as usize);
    let buffer = |name: &str, address, data: &[u8]| Buffer {
        name: name.into(),
        address,
        data: data.to_vec(),
        writable: true,
    };
    guest.buffers =
        vec![buffer("bytes", BASE, bytes), buffer("picture", BASE + random_tesla::BYTES, picture)];
    guest.globals = setting.globals;
    let faults = if wild { Faults::Any } else { Faults::Exact };
    guest.rules = Rules { faults, racy: wild, ..Rules::PLAIN };
    Some(guest)
}

/// A Fermi program of random encodings.
pub fn fermi(seed: u64) -> Option<Guest> {
    let program = fermi_random::program(seed);
    let mut random = Random::new(!seed);
    let bytes = program.threads * fermi_random::OWN_BYTES + fermi_random::COMMON_BYTES;
    let data: Vec<u8> = (0..bytes / 4).flat_map(|_| random.word().to_le_bytes()).collect();
    let mut guest = Guest::new(program.chip, program.code);
    guest.registers = Some(16);
    guest.shared = Some(fermi_random::SPACE_BYTES);
    guest.local = Some(fermi_random::SPACE_BYTES);
    guest.block = [program.threads, 1, 1];
    guest.max_steps = 200_000;
    guest.args = vec![(BASE as u32).to_le_bytes().to_vec()];
    guest.consts = (1..18).map(|bank| (bank, data[64 * bank as usize..][..512].to_vec())).collect();
    guest.buffers = vec![Buffer { name: "own".into(), address: BASE, data, writable: true }];
    Some(guest)
}

/// GCN vector instructions.
pub fn gcn_vector(seed: u64) -> Option<Guest> {
    let case = VectorCase::new(seed);
    let mut guest = Guest::new(case.generation, case.code);
    guest.registers = Some(vector::REGISTERS);
    guest.sgprs = Some(vector::REGISTERS + 8);
    guest.init = case.registers;
    guest.rules.registers = true;
    Some(guest)
}

/// GCN memory instructions, with memory somewhere in the address space.
pub fn gcn_memory(seed: u64) -> Option<Guest> {
    let case = MemoryCase::new(seed);
    let start = match seed % 3 {
        0 => memory::ELSEWHERE[case.elsewhere],
        _ => memory::LOW,
    };
    let mut guest = Guest::new(case.generation, case.code());
    guest.registers = Some(memory::VGPRS);
    guest.shared = Some(memory::LDS_BYTES);
    guest.init = case.registers_for(start);
    guest.buffers = vec![Buffer { name: "memory".into(), address: start, data: case.memory, writable: true }];
    // Lanes meet in memory: their order is that of the hardware only in lock step. Several instructions may be bad, each for other lanes.
    guest.rules = Rules {
        lockstep: true,
        faults: Faults::ByChunks,
        after_fault: true,
        registers: true,
        shared: true,
        ..Rules::PLAIN
    };
    Some(guest)
}

/// GCN scalar programs, compared with the model of their instructions.
///
/// # Errors
///
/// What differs from the model.
pub fn gcn_scalar(seed: u64, context: &mut Context) -> Result<(), Box<Finding>> {
    let case = ScalarCase::new(seed);
    match case.check() {
        Ok(share) => {
            context.coverage.count("compiled code ran", if share > 0.0 { "yes" } else { "no" });
            Ok(())
        }
        // The generator cannot know which loops end.
        Err(text) if text.contains("too long") => Ok(()),
        Err(text) => Err(Box::new(Finding::new("model", format!("{text}\n{}", case.reduced())))),
    }
}

/// VP1 bundles, with the processor's whole state.
pub fn vp1(seed: u64) -> Option<Guest> {
    let mut random = Random::new(seed);
    let chip = random.pick(&[vp1::Chip::Nv41, vp1::Chip::Nv44, vp1::Chip::G80]);
    let groups = 2 + random.below(12);
    let anywhere = random.chance(40);
    let words = vp1_random::random_program(&mut random, groups, anywhere);
    let mut state = vp1_random::random_state(&mut random, chip);
    if anywhere {
        state.uc0 = random.below(4 * groups);
    }
    let mut guest = Guest::new(chip, words.iter().flat_map(|word| word.to_le_bytes()).collect());
    guest.max_steps = 1_000;
    guest.init = state.registers();
    guest.buffers = vec![Buffer { name: "ds".into(), address: 0, data: state.ds.to_vec(), writable: true }];
    guest.rules.registers = true;
    Some(guest)
}

//! Lifts random code: the lifter must accept anything and make IR that verifies, which the interpreter must run to an end.

use warpjit_ir::Meter;
use warpjit_ir::Space;
use warpjit_ir::interp::{Code, Denied, Flow, Scratch, Warp, WarpMemory};
use warpjit_ir::verify::verify;
use warpjit_ir::{DeviceFault, DeviceSite};

use crate::simt::stage::Plan;
use crate::stage::{InputPlace, OutputPlace, Per, StageInput, StageInterface, StageOutput};
use crate::tesla::lift::{Options, explore, lift_graph, needs};
use crate::tesla::{Chip, Op, STAGES, Stage, Target, decode_word, table};
use crate::testing::Random;

/// A memory that takes everything and holds noise.
struct Noise;

impl WarpMemory for Noise {
    fn load(&mut self, _: Space, lane: u32, address: u64, bytes: u8) -> Result<u64, Denied> {
        let noise = (address ^ u64::from(lane)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
        Ok(if bytes == 8 { noise } else { noise & ((1 << (8 * bytes)) - 1) })
    }

    fn store(&mut self, _: Space, _: u32, _: u64, _: u8, _: u64) -> Result<(), Denied> {
        Ok(())
    }

    fn lock(&mut self, lane: u32, _: u64) -> bool {
        lane == 0
    }

    fn call_device(&mut self, _: &DeviceSite, _: u64) -> Result<(), DeviceFault> {
        Ok(())
    }
}

/// Words that mostly are instructions of the target.
fn code(random: &mut Random, words: u64, target: Target) -> Vec<u8> {
    let rows: Vec<_> = table::rows().iter().filter(|row| row.available(target)).collect();
    let mut code = Vec::new();
    while (code.len() as u64) < words * 4 {
        let row = rows[random.below(rows.len() as u64) as usize];
        // What ends a program at once is rarer than the rest.
        let ends = matches!(row.op, Op::Trap | Op::Ret | Op::Break | Op::TexCsaa);
        if ends && random.below(64) != 0 {
            continue;
        }
        let mut word = row.value | random.next() & !row.mask;
        if row.len_bytes() == 4 {
            word &= 0xffff_ffff & !1;
        } else if row.mask & 2 != 0 && row.value & 2 != 0 {
            // Control flow: the target within the code, now and then just outside.
            let to = random.below(words + 2) << 11;
            word = word & !0x000f_c000_07ff_f800 | to;
        } else if random.below(8) != 0 {
            // Rarely exit or join.
            word &= !(3 << 32) | row.value;
        }
        if random.below(4) != 0 {
            // Without post-increment, which mostly names registers that are not there.
            word &= !(1 << 25) | row.mask;
        }
        if random.below(64) != 0 && decode_word(word, 0, target).is_err() {
            continue;
        }
        if row.len_bytes() == 8 && !code.len().is_multiple_of(8) && random.below(64) != 0 {
            code.extend_from_slice(&0x1000_8000u32.to_le_bytes());
        }
        code.extend_from_slice(&word.to_le_bytes()[..row.len_bytes().into()]);
    }
    code
}

/// Inputs and outputs.
fn interface(random: &mut Random, stage: Stage) -> StageInterface {
    let kinds: &[Per] = match stage {
        Stage::Fragment => &[Per::Plane, Per::Pixel, Per::Primitive, Per::Launch],
        Stage::Geometry => &[Per::Vertex, Per::Vertex, Per::Primitive],
        _ => &[Per::Vertex, Per::Launch],
    };
    let inputs = (0..random.below(5)).map(|n| StageInput {
        place: InputPlace::Address(64 * n as u32 + 4 * random.below(3) as u32),
        words: 1 + random.below(12) as u32,
        per: kinds[random.below(kinds.len() as u64) as usize],
    });
    let inputs = inputs.collect();
    let outputs = (0..random.below(4)).map(|n| StageOutput {
        place: match stage {
            Stage::Fragment => OutputPlace::Register(4 * n as u32),
            _ => OutputPlace::Address(16 * n as u32),
        },
        words: 1 + random.below(4) as u32,
    });
    let outputs = outputs.collect();
    let base = StageInterface::default();
    StageInterface { stage, vertices: 3, invocations: 1, max_vertices: 5, inputs, outputs, ..base }
}

/// The seeds to try: 300 from 1 on, as many as `WARPJIT_RANDOM` says, or the one in `WARPJIT_SEED`.
fn seeds() -> std::ops::RangeInclusive<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    match number("WARPJIT_SEED") {
        Some(seed) => seed..=seed,
        None => 1..=number("WARPJIT_RANDOM").unwrap_or(300),
    }
}

#[test]
fn random_code_lifts_and_ends() {
    let (mut steps, mut count) = (0, 0);
    for seed in seeds() {
        count += 1;
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let words = 1 + random.below(120);
        let chip = Chip::ALL[random.below(Chip::ALL.len() as u64) as usize];
        let target = Target { chip, stage: STAGES[random.below(STAGES.len() as u64) as usize] };
        let interface = interface(&mut random, target.stage);
        let code = code(&mut random, words, target);
        let base = random.below(3) as u32 * 8;
        let mut options = Options {
            name: "random",
            target,
            base,
            entry: base + random.below(words) as u32 / 2 * 8,
            registers: random.below(130) as u32,
            const_banks: &[],
            plan: None,
            mailbox: 0x1000,
        };
        let graph =
            explore(&crate::code::Code::of_file(&code, options.base, 0), &options, &Meter::unlimited())
                .expect("no limits");
        let needs = needs(&graph);
        let plan = (target.stage != Stage::Compute)
            .then(|| Plan::new(&interface, &needs.uses, 0x1100, target.stage == Stage::Geometry).unwrap());
        options.plan = plan.as_ref();
        let func = lift_graph(&graph, &options, &Meter::unlimited()).expect("no limits");
        if let Err(error) = verify(&func) {
            panic!("seed {seed} on {chip}: {error}");
        }
        let Ok(code) = Code::new(&func) else {
            panic!("seed {seed} on {chip} is refused");
        };
        let mut warp = Warp::new(&code, 0xffff_ffff, |_, lane| lane);
        let mut scratch = Scratch::new(&code);
        scratch.max_steps = 2000;
        while warp.steps < 5000 {
            match code.run_block(&mut scratch, &mut warp, &mut Noise) {
                Flow::Next | Flow::Barrier(_) => {}
                Flow::Ended | Flow::Fault(_) => break,
            }
        }
        steps += warp.steps;
    }
    eprintln!("{count} programs, {steps} warp instructions");
    assert!(count < 100 || steps > 10 * count, "programs end too early to test anything");
}

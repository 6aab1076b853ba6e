//! Lifts random code: the lifter must accept anything and make well-formed IR, which the interpreter must run to an end.

use warpjit_ir::Meter;
use warpjit_ir::interp::{Code, FaultKind};
use warpjit_ir::verify::verify;

use super::{Ran, file, options, run_code, run_function};
use crate::gcn::lift::{lift, lift_plainly};
use crate::gcn::{Generation, Op, decode};
use crate::testing::Random;

/// Encodings of the scalar and vector unit (docs/hardware/gcn.md section 1): fixed bits and which they are.
const SHORT: [(u32, u32); 8] = [
    (0x8000_0000, 0xc000_0000),
    (0xb000_0000, 0xf000_0000),
    (0xbe80_0000, 0xff80_0000),
    (0xbf00_0000, 0xff80_0000),
    (0xbf80_0000, 0xff80_0000),
    (0x0000_0000, 0x8000_0000),
    (0x7c00_0000, 0xfe00_0000),
    (0x7e00_0000, 0xfe00_0000),
];

/// Words of which most begin an instruction; branches stay near.
fn code(random: &mut Random, generation: Generation, count: usize) -> Vec<u8> {
    let mut words: Vec<u32> = Vec::new();
    while words.len() < count {
        let (value, mask) = SHORT[random.below(8) as usize];
        let mut word = value | random.next() as u32 & !mask;
        if random.below(4) == 0 {
            word = random.next() as u32;
        }
        if word >> 23 == 0x17f || word >> 28 == 0xb && random.below(2) == 0 {
            word = word & !0xffff | (random.below(24) as u32).wrapping_sub(8) & 0xffff;
        }
        let next = random.next() as u32;
        let bytes: Vec<u8> = [word, next].iter().flat_map(|word| word.to_le_bytes()).collect();
        match decode(&bytes, 0, generation) {
            // What ends a program at once is rarer than the rest.
            Ok(inst) if inst.ends_block_for_all() && random.below(8) != 0 => {}
            Ok(inst) => words.extend(&[word, next][..usize::from(inst.len) / 4]),
            Err(_) if random.below(16) == 0 => words.push(word),
            Err(_) => {}
        }
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn programs() -> u64 {
    std::env::var("WARPJIT_RANDOM").ok().and_then(|count| count.parse().ok()).unwrap_or(60)
}

#[test]
fn random_programs_run_to_an_end() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for n in 0..programs() {
        for generation in Generation::ALL {
            let code = code(&mut random, generation, 60);
            let mut options = options(generation);
            options.observed = n % 2 == 0;
            options.vgprs = 12;
            let address = if n % 3 == 0 { 0 } else { 0x1_0000_0000 };
            let placed = crate::code::Code::of_file(&code, 0, address);
            let func = lift(&placed, &options, &Meter::unlimited()).expect("no limits").function;
            if let Err(error) = verify(&func) {
                panic!("{generation} {code:02x?}: {error}");
            }
            Code::new(&func).unwrap();
            if options.observed {
                let registers = [("s0", random.next() as u32), ("s8", random.next() as u32), ("s2", 8)];
                run_code(&code, &options, &registers, random.next());
            }
        }
    }
}

/// What is known of masks, of SCC and of EXEC makes no difference.
#[test]
fn analyses_change_nothing() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for n in 0..programs() {
        for generation in Generation::ALL {
            let code = masks(&mut random, generation, 60);
            let options = options(generation);
            let mut values: Vec<(String, u32)> =
                (0..8).map(|n| (format!("s{n}"), random.next() as u32 >> (16 * (n & 1)))).collect();
            values.push(("vcc_lo".into(), random.next() as u32));
            values.push(("v1".into(), random.below(64) as u32));
            let registers: Vec<(&str, u32)> =
                values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            let launched = random.next() | 1;
            let want = run_function(lift_plainly(&file(&code), &options), &registers, launched);
            let got = run_code(&code, &options, &registers, launched);
            // Where a wave that never ends is stopped depends on how blocks are cut.
            let ended = |ran: &Ran| {
                ran.fault.map(|fault| (fault.kind, fault.pc)).filter(|fault| fault.0 != FaultKind::Timeout)
            };
            assert_eq!(ended(&want), ended(&got), "{n} {generation} {code:02x?}");
            if want.fault.is_some() {
                continue;
            }
            for number in 0..8 {
                assert_eq!(want.s(number), got.s(number), "{n} {generation} s{number} {code:02x?}");
                (0..64).for_each(|lane| {
                    assert_eq!(
                        want.v(number, lane),
                        got.v(number, lane),
                        "{n} {generation} v{number} {code:02x?}"
                    );
                });
            }
            for name in ["vcc_lo", "vcc_hi", "exec_lo", "exec_hi"] {
                assert_eq!(want.named(name), got.named(name), "{n} {generation} {name} {code:02x?}");
            }
        }
    }
}

/// Scalar operations on pairs, compares, branches and selects over few registers.
fn masks(random: &mut Random, generation: Generation, count: usize) -> Vec<u8> {
    let mut words: Vec<u32> = Vec::new();
    let pair = |random: &mut Random| match random.below(8) {
        0 | 1 => 106,
        2 => 126,
        n => 2 * ((n as u32 - 3) & 3),
    };
    while words.len() < count {
        let dst = pair(random);
        let source = |random: &mut Random| match random.below(8) {
            0 => 128,
            1 => 193,
            2 => 126,
            _ => pair(random),
        };
        let (a, b) = (source(random), source(random));
        let word = match random.below(12) {
            // Any SOP2 and SOP1 operation, on numbers or pairs.
            0..=3 => 0x8000_0000 | (random.below(32) as u32) << 23 | dst << 16 | b << 8 | a,
            4 | 5 => 0xbe80_0000 | dst << 16 | (random.below(50) as u32) << 8 | a,
            6 => 0xbf00_0000 | (random.below(20) as u32) << 16 | b << 8 | a,
            // Branches forward, now and then back.
            7 | 8 => {
                let distance =
                    if random.below(12) == 0 { 0u32.wrapping_sub(4) } else { random.below(7) as u32 };
                0xbf80_0000 | (4 + random.below(6) as u32) << 16 | distance & 0xffff
            }
            // v_cndmask_b32, VOP2 others, VOPC.
            9 => {
                (random.below(8) as u32) << 17
                    | (random.below(4) as u32) << 9
                    | 0x100
                    | random.below(4) as u32
            }
            10 => {
                (random.below(0x20) as u32) << 25
                    | (random.below(8) as u32) << 17
                    | (random.below(4) as u32) << 9
                    | a
            }
            _ => {
                0x7c00_0000
                    | (random.below(256) as u32) << 17
                    | (random.below(4) as u32) << 9
                    | 0x100
                    | random.below(4) as u32
            }
        };
        let bytes: Vec<u8> = [word, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
        if let Ok(inst) = decode(&bytes, 0, generation)
            && inst.len == 4
            && !inst.ends_block_for_all()
            && !matches!(inst.op, Op::S_TRAP | Op::S_CBRANCH_G_FORK | Op::S_CBRANCH_JOIN | Op::S_SETVSKIP)
        {
            words.push(word);
        }
    }
    // Branches near the end go to one of these.
    words.extend([0xbf81_0000; 8]);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn words_of_any_kind_lift() {
    let mut random = Random(7);
    for _ in 0..programs() {
        let code: Vec<u8> = (0..100 + random.below(4)).map(|_| random.next() as u8).collect();
        for generation in Generation::ALL {
            verify(
                &lift(&file(&code), &options(generation), &Meter::unlimited()).expect("no limits").function,
            )
            .unwrap();
        }
    }
}

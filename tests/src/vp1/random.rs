//! Makes random states and programs of VP1.

use warpjit_frontend::vp1::Chip;

use super::State;
use crate::random::rng::Random;

/// A random state, with small numbers and extremes among the others.
pub fn random_state(random: &mut Random, chip: Chip) -> State {
    let mut state = State::new();
    let word = |random: &mut Random| match random.below(4) {
        0 => random.below(32),
        1 => random.word() & !(0x7f << (8 * random.below(4))),
        _ => random.word(),
    };
    state.r.iter_mut().chain(&mut state.a).chain(&mut state.x).for_each(|value| *value = word(random));
    state.m.iter_mut().chain(&mut state.vc).for_each(|value| *value = word(random));
    let mask = if chip == Chip::G80 { 0x27ff } else { 0x273f };
    state.c.iter_mut().for_each(|value| *value = random.word() & mask | 0x8000);
    state.l.iter_mut().for_each(|value| *value = random.word() & 0x0303);
    let byte = |random: &mut Random| {
        let any = random.word() as u8;
        random.pick(&[0, 0x7f, 0x80, 0xff, any, any])
    };
    state.v.as_flattened_mut().iter_mut().chain(&mut state.vx).for_each(|value| *value = byte(random));
    state.va.iter_mut().for_each(|value| *value = random.word() & 0x0fff_ffff);
    state.uc16 = random.below(2);
    state.ds.iter_mut().for_each(|value| *value = random.word() as u8);
    state
}

/// A random program of `groups` groups of four words. Branches go forward, but where `anywhere`; the last group exits.
pub fn random_program(random: &mut Random, groups: u32, anywhere: bool) -> Vec<u32> {
    let mut code: Vec<u32> = (0..4 * groups)
        .map(|at| {
            let mut word = random.word();
            if random.chance(70) {
                // Bundles of all units are more telling than what chance gives.
                word = word & 0x00ff_ffff
                    | match at % 4 {
                        0 => 0xc0 | random.below(32),
                        1 => random.below(128),
                        2 => 0x80 | random.below(64),
                        _ => 0xe0 | random.below(32),
                    } << 24;
            }
            let group = at / 4;
            match word >> 24 {
                0xff => 0xef00_0000,
                0xe8 | 0xea if !anywhere => 0xef00_0000,
                0xea => 0xea00_0000 | random.below(groups),
                0xe0..=0xe7 => {
                    let by = if anywhere {
                        random.below(groups) as i32 - group as i32
                    } else {
                        1 + random.below(groups - group) as i32
                    };
                    word & 0xff00_01ff | (by as u32 & 0x7fff) << 9
                }
                _ => word,
            }
        })
        .collect();
    code.extend([0xff00_0000, 0x4f00_0000, 0x4f00_0000, 0x4f00_0000]);
    code.extend([0xff00_0001, 0x4f00_0000, 0x4f00_0000, 0x4f00_0000]);
    code
}

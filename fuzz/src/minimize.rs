//! Minimises guests that fail: fewer threads, fewer instructions, simpler memory, as long as they still fail.

use std::time::{Duration, Instant};

use warpjit_frontend::{Chip, Isa};

use crate::Guest;

/// The smallest guest that still fails, found within some time.
pub fn minimize(guest: &Guest, within: Duration, mut fails: impl FnMut(&Guest) -> bool) -> Guest {
    let started = Instant::now();
    let mut best = guest.clone();
    let mut attempt = |best: &mut Guest, change: &dyn Fn(&mut Guest)| {
        let mut smaller = best.clone();
        change(&mut smaller);
        if started.elapsed() > within || !fails(&smaller) {
            return false;
        }
        *best = smaller;
        true
    };
    attempt(&mut best, &|guest| guest.grid = [1; 3]);
    if guest.chip.isa() != Isa::Vp1 {
        attempt(&mut best, &|guest| guest.block = [guest.block[0].min(32), 1, 1]);
    }
    // Many instructions at once, then few, then each by itself.
    let places = places(&best);
    let mut step = places.len().div_ceil(2).max(1);
    loop {
        let mut changed = false;
        for some in places.chunks(step) {
            let is_nop = |guest: &Guest| {
                some.iter().all(|&(at, bytes)| guest.code[at..at + bytes] == *nop(guest.chip, bytes))
            };
            if !is_nop(&best) {
                changed |= attempt(&mut best, &|guest| {
                    for &(at, bytes) in some {
                        let nop = nop(guest.chip, bytes);
                        guest.code[at..at + bytes].copy_from_slice(&nop);
                    }
                });
            }
        }
        match (step, changed) {
            (1, false) => break,
            (1, true) => {}
            _ => step = step.div_ceil(2),
        }
        if started.elapsed() > within {
            break;
        }
    }
    // Registers and banks that make no difference.
    for n in (0..best.init.len()).rev() {
        attempt(&mut best, &|guest| drop(guest.init.remove(n)));
    }
    for n in (0..best.consts.len()).rev() {
        attempt(&mut best, &|guest| drop(guest.consts.remove(n)));
    }
    for n in 0..best.buffers.len() {
        attempt(&mut best, &|guest| guest.buffers[n].data.fill(0));
    }
    best
}

/// Where instructions are, and their lengths.
fn places(guest: &Guest) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    let mut at = 0;
    while at < guest.code.len() {
        let rest = guest.code.len() - at;
        let bytes = length(guest, at).clamp(1, rest);
        places.push((at, bytes));
        at += bytes;
    }
    places
}

/// The length of the instruction at a place; a word where there is none.
fn length(guest: &Guest, at: usize) -> usize {
    let code = &guest.code;
    match guest.chip {
        Chip::Tesla(_) => {
            if code[at] & 1 == 0 {
                4
            } else {
                8
            }
        }
        Chip::Fermi(_) => {
            if code[at] & 8 == 0 {
                8
            } else {
                4
            }
        }
        Chip::Gcn(chip) => {
            warpjit_frontend::gcn::decode(&code[at..], at as u64, chip).map_or(4, |inst| inst.len.into())
        }
        Chip::Vp1(_) => 4,
    }
}

/// So many bytes of code that does nothing.
fn nop(chip: Chip, bytes: usize) -> Vec<u8> {
    let mut code = Vec::new();
    while code.len() < bytes {
        let whole = bytes - code.len() >= 8;
        match chip.isa() {
            Isa::Tesla if whole => code.extend(0xe000_0000_f000_0001_u64.to_le_bytes()),
            Isa::Tesla => code.extend(0x1000_8000_u32.to_le_bytes()),
            Isa::Fermi if whole => code.extend(0x4000_0000_0000_1de4_u64.to_le_bytes()),
            Isa::Fermi => code.extend(0x0000_0008_u32.to_le_bytes()),
            Isa::Gcn => code.extend(0xbf80_0000_u32.to_le_bytes()),
            Isa::Vp1 => code.extend(0x4f00_0000_u32.to_le_bytes()),
        }
    }
    code.truncate(bytes);
    code
}

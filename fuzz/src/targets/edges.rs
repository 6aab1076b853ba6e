//! Loads, stores and atomics at the ends of memory: between buffers, at read-only pages, at multiples of 4 GiB, and at the end of
//! the window that compiled code accesses directly. The lanes' addresses are contiguous, strided, equal, or random.

use warpjit_frontend::{fermi, gcn, tesla};
use warpjit_tests::random::rng::{Random, SplitMix};

use crate::Guest;
use crate::guest::{Buffer, Faults, Rules};

const PAGE: u64 = 4096;

/// Where memory is on GCN and Fermi: the low part, ends of windows, multiples of 4 GiB, the upper half.
const STARTS: [u64; 10] = [
    0x1_0000,
    0x10_0000,
    0xffff_0000,
    0xffff_f000,
    0xff_ffff_0000,
    0x7654_0000_0000 - PAGE,
    0xffff_8000_0010_0000,
    0xffff_8000_0000_0000,
    0xffff_8100_0000_0000 - PAGE,
    0xffff_ffff_fff0_0000,
];

/// The guest of a seed.
///
/// # Panics
///
/// If the generator writes what does not assemble.
pub fn guest(seed: u64) -> Option<Guest> {
    let mut random = SplitMix::new(seed);
    match random.below(4) {
        0 => Some(tesla(&mut random)),
        1 => Some(fermi(&mut random)),
        _ => Some(gcn(&mut random)),
    }
}

/// Two to four buffers from `start` on, with gaps between some, and whether lanes may meet in them.
fn memory(guest: &mut Guest, start: u64, random: &mut SplitMix) -> Vec<u64> {
    let mut words = Random::new(random.bits());
    let mut at = start;
    let mut borders = vec![start];
    for n in 0..2 + random.below(3) {
        let pages = 1 + random.below(2);
        let bytes =
            if random.one_in(3) { pages * PAGE - random.pick(&[4, 8, 16, 64, 100]) } else { pages * PAGE };
        let data = (0..bytes).map(|_| words.bits() as u8).collect();
        guest.buffers.push(Buffer { name: format!("b{n}"), address: at, data, writable: !random.one_in(4) });
        borders.push(at + bytes);
        at += pages * PAGE;
        if random.one_in(3) {
            at += PAGE;
            borders.push(at);
        }
        // A buffer does not go round the end of an address space.
        if at.checked_add(4 * PAGE).is_none() {
            break;
        }
    }
    borders
}

/// An address of each lane, and the even way to it if there is one: a first address and a step.
fn addresses(borders: &[u64], lanes: u64, random: &mut SplitMix) -> (Vec<u64>, Option<(u64, i64)>) {
    let border = random.pick(borders);
    let near = |random: &mut SplitMix| border.wrapping_add(random.below(0x120)).wrapping_sub(0x90);
    let step: i64 = random.pick(&[0, 1, 2, 4, 4, 8, 8, 12, 16, 16, 20, 32, 64, -4, -8, -16, 100]);
    let align = random.pick(&[1, 4, 4, 4, 16, 16]);
    let first = near(random).wrapping_sub((step as u64).wrapping_mul(random.below(lanes))) & !(align - 1);
    let even = |lane: u64| first.wrapping_add((step as u64).wrapping_mul(lane));
    match random.below(4) {
        0 => {
            let any: Vec<u64> = (0..lanes).map(|_| near(random) & !(align - 1)).collect();
            (any, None)
        }
        // All but one lane in a row.
        1 => {
            let odd = random.below(lanes);
            let other = near(random);
            ((0..lanes).map(|lane| if lane == odd { other } else { even(lane) }).collect(), None)
        }
        _ => ((0..lanes).map(even).collect(), Some((first, step))),
    }
}

/// What must be the same: stores and atomics of the same bytes need an order. `parted` says that some access
/// is made in parts, dwords of which only a later one may be bad.
fn rules(parted: bool) -> Rules {
    let faults = match parted {
        true => Faults::Any,
        // One that does not decode may follow what faults in other lanes only.
        false => Faults::OfInstruction,
    };
    Rules { lockstep: true, faults, registers: true, ..Rules::PLAIN }
}

fn tesla(random: &mut SplitMix) -> Guest {
    let start = random.pick(&[0x1_0000, 0x10_0000, 0xfff0_0000, 0xffff_0000]);
    let chip = random.pick(&[tesla::Chip::G80, tesla::Chip::G200, tesla::Chip::Gt215]);
    let mut guest = Guest::new(chip, Vec::new());
    let borders = memory(&mut guest, start, random);
    let (lanes, even) = addresses(&borders, 32, random);
    let mut text = String::new();
    if let Some((first, step)) = even {
        // As code comes to it: from the thread's number.
        text += &format!(
            "and b32 $r0 $r0 0xffff\nmov b32 $r1 {:#x}\nlong mul $r2 s16 $r0l s16 $r1l\nmov b32 $r3 {:#x}\nadd b32 $r2 $r2 $r3\n",
            step as i16 as u16, first as u32
        );
    }
    for _ in 0..1 + random.below(3) {
        let (width, register) = random.pick(&[
            ("u8", "$r4"),
            ("s8", "$r4"),
            ("u16", "$r4"),
            ("b32", "$r4"),
            ("b64", "$r4d"),
            ("b128", "$r4q"),
        ]);
        let g = random.pick(&[0, 3, 14]);
        text += &match random.below(5) {
            0 | 1 => format!("ld {width} {register} g{g}[$r2]\n"),
            2 | 3 => format!("st {} g{g}[$r2] {register}\n", width.replace("s8", "u8")),
            _ if chip == tesla::Chip::G80 => format!("ld b32 $r4 g{g}[$r2]\n"),
            _ => format!("red add u32 g{g}[$r2] $r4\n"),
        };
    }
    text += "exit nop\n";
    let target = tesla::Target::compute(chip);
    guest.code = tesla::assemble(&text, target).unwrap_or_else(|error| panic!("{error}\n{text}")).code;
    guest.registers = Some(8);
    if even.is_none() {
        set_words(&mut guest, &["r2"], &lanes);
    }
    set_random(&mut guest, "r", 4, 32, random);
    guest.rules = rules(false);
    guest
}

/// Gives registers the words of numbers, the lowest first, one number a lane.
fn set_words(guest: &mut Guest, registers: &[&str], numbers: &[u64]) {
    for (n, &register) in registers.iter().enumerate() {
        let word = |number: &u64| number >> (32 * n) & 0xffff_ffff;
        guest.init.push((register.into(), numbers.iter().map(word).collect()));
    }
}

/// Gives the four registers of a file from the `first` on, which programs store, some bits.
fn set_random(guest: &mut Guest, file: &str, first: u32, lanes: usize, random: &mut SplitMix) {
    for n in first..first + 4 {
        let bits = (0..lanes).map(|_| random.bits() & 0xffff_ffff).collect();
        guest.init.push((format!("{file}{n}"), bits));
    }
}

fn fermi(random: &mut SplitMix) -> Guest {
    let wide = random.one_in(2);
    let start = if wide { random.pick(&STARTS[..5]) } else { random.pick(&STARTS[..3]) };
    let chip = random.pick(&[fermi::Chip::Gf100, fermi::Chip::Gk104]);
    let mut guest = Guest::new(chip, Vec::new());
    let borders = memory(&mut guest, start, random);
    let (lanes, even) = addresses(&borders, 32, random);
    let mut text = String::new();
    if let Some((first, step)) = even {
        text += &format!(
            "mov b32 $r0 $tidx\nmov b32 $r3 {:#x}\nmov b32 $r8 {:#x}\nmov b32 $r9 {:#x}\n\
             add $r8 $c (mul s32 $r0 s32 $r3) $r8\nadd $r9 (mul high s32 $r0 s32 $r3) $r9 $c\n",
            step as u32,
            first as u32,
            (first >> 32) as u32
        );
    }
    let pair = if wide { "$r8d" } else { "$r8" };
    for _ in 0..1 + random.below(3) {
        let (width, register) =
            random.pick(&[("u8", "$r4"), ("s16", "$r4"), ("b32", "$r4"), ("b64", "$r4d"), ("b128", "$r4q")]);
        text += &match random.below(5) {
            0 | 1 => format!("ld {width} {register} ca g[{pair}]\n"),
            2 | 3 => format!("st {} wb g[{pair}] {register}\n", width.replace("s16", "u16")),
            _ => format!("red add u32 g[{pair}] $r4\n"),
        };
    }
    text += "exit\n";
    // GK104's hints have a place of their own: one of each eight words.
    let lines: Vec<String> = text.lines().map(|line| format!("long {line}")).collect();
    let text = match chip {
        fermi::Chip::Gk104 => lines
            .chunks(7)
            .map(|some| format!("sched 0x20 0x20 0x20 0x20 0x20 0x20 0x20\n{}\n", some.join("\n")))
            .collect(),
        _ => lines.join("\n") + "\n",
    };
    guest.code = fermi::assemble(&text, chip).unwrap_or_else(|error| panic!("{error}\n{text}")).code;
    guest.registers = Some(12);
    if even.is_none() {
        set_words(&mut guest, &["r8", "r9"], &lanes);
    }
    set_random(&mut guest, "r", 4, 32, random);
    guest.rules = rules(false);
    guest
}

fn gcn(random: &mut SplitMix) -> Guest {
    let generation = random.pick(&[gcn::Generation::Gfx7, gcn::Generation::Gfx8, gcn::Generation::Gfx9]);
    let start = random.pick(&STARTS);
    let mut guest = Guest::new(generation, Vec::new());
    let borders = memory(&mut guest, start, random);
    let (lanes, even) = addresses(&borders, 64, random);
    let mut text = String::new();
    if let Some((first, step)) = even {
        let carry = if generation == gcn::Generation::Gfx9 {
            ("v_add_co_u32", "v_addc_co_u32")
        } else {
            ("v_add_u32", "v_addc_u32")
        };
        let carry = if generation == gcn::Generation::Gfx7 { ("v_add_i32", "v_addc_u32") } else { carry };
        text += &format!(
            "v_mul_i32_i24 v8, {step}, v0\nv_ashrrev_i32 v9, 31, v8\n{} v8, vcc, s4, v8\nv_mov_b32 v10, s5\n{} v9, vcc, v10, v9, vcc\n",
            carry.0, carry.1
        );
        // An index that begins near the end of words, so that it wraps at some lane if it is not sign-extended.
        let index = match random.below(3) {
            0 => (random.below(70) as i64).wrapping_mul(step).wrapping_neg() as u32,
            1 => (1u32 << 31).wrapping_sub((random.below(70) as u32).wrapping_mul(step as u32)),
            _ => 0,
        };
        let signed = index == 0 || random.one_in(2);
        if index != 0 {
            let extend = if signed { "v_ashrrev_i32 v9, 31, v8" } else { "v_mov_b32 v9, 0" };
            text =
                text.replace("v_ashrrev_i32 v9, 31, v8", &format!("{} v8, vcc, s6, v8\n{extend}", carry.0));
        }
        let wide = if signed { index as i32 as i64 as u64 } else { index.into() };
        let base = first.wrapping_sub(wide);
        set_words(&mut guest, &["s4", "s5"], &[base]);
        set_words(&mut guest, &["s6", "s7"], &[index.into()]);
        if step.unsigned_abs() > 16 {
            text = text.replace(
                &format!("v_mul_i32_i24 v8, {step}, v0"),
                &format!("v_mul_i32_i24 v8, {:#x}, v0", step as u32),
            );
        }
    }
    // Some lanes only.
    if random.one_in(3) {
        text += &format!(
            "s_mov_b32 exec_lo, {:#x}\ns_mov_b32 exec_hi, {:#x}\n",
            random.bits() as u32,
            random.bits() as u32
        );
    }
    let mut parted = false;
    for _ in 0..1 + random.below(3) {
        let (size, data) = random.pick(&[
            ("ubyte", "v12"),
            ("sshort", "v12"),
            ("dword", "v12"),
            ("dwordx2", "v[12:13]"),
            ("dwordx3", "v[12:14]"),
            ("dwordx4", "v[12:15]"),
        ]);
        let act = random.below(5);
        parted |= act < 4 && data.contains(':');
        text += &match act {
            0 | 1 => format!("flat_load_{size} {data}, v[8:9]\n"),
            2 | 3 => {
                let size = size.replace("ubyte", "byte").replace("sshort", "short");
                format!("flat_store_{size} v[8:9], {data}\n")
            }
            _ => "flat_atomic_add v[8:9], v12\n".into(),
        };
    }
    text += "s_endpgm\n";
    guest.code = gcn::assemble(&text, generation).unwrap_or_else(|error| panic!("{error:?}\n{text}")).code;
    guest.registers = Some(16);
    guest.sgprs = Some(16);
    guest.init.push(("v0".into(), (0..64).collect()));
    if even.is_none() {
        set_words(&mut guest, &["v8", "v9"], &lanes);
    }
    set_random(&mut guest, "v", 12, 64, random);
    guest.rules = rules(parted);
    guest
}

//! Tests of draws with programs and registers written by hand.

use super::tests::{CODE, DATA, Fixture, low};
use super::*;
use warpjit_frontend::Stage;

/// A rectangle over all of the target, or the corners -1, -1 and -1, 1 and 1, -1 of a triangle. Its parameter is the position.
const VERTEX: &str = "
    v_mov_b32 v1, -1.0
    v_mov_b32 v5, 1.0
    v_mov_b32 v4, 0.5
    v_cmp_eq_u32 vcc, 2, v0
    v_cndmask_b32 v2, v1, v5, vcc
    v_cmp_eq_u32 vcc, 1, v0
    v_cndmask_b32 v3, v1, v5, vcc
    exp pos0 v2, v3, v4, v5 done
    exp param0 v2, v3, v4, v5
    s_endpgm
";
/// The interpolated position as a colour.
const PIXEL: &str = "
    v_interp_p1_f32 v2, v0, attr0.x
    v_interp_p2_f32 v2, v1, attr0.x
    v_interp_p1_f32 v3, v0, attr0.y
    v_interp_p2_f32 v3, v1, attr0.y
    v_mov_b32 v4, 0.5
    v_mov_b32 v5, 1.0
    exp mrt0 v2, v3, v4, v5 done vm
    s_endpgm
";
const SIZE: u32 = 16;
/// Kinds of primitives.
const TRIANGLES: u32 = 4;
const RECTANGLES: u32 = 0x11;
/// Where depths are.
const DEPTHS: u64 = DATA + 0x2_0000;

fn set(card: &mut Fixture, address: u32, values: &[u32]) {
    let (op, base) = match address {
        0x8000..0xb000 => (op::SET_CONFIG_REG, 0x8000),
        0xb000..0x2_8000 => (op::SET_SH_REG, 0xb000),
        0x2_8000..0x3_0000 => (op::SET_CONTEXT_REG, 0x2_8000),
        _ => (op::SET_UCONFIG_REG, 0x3_0000),
    };
    let body: Vec<u32> = std::iter::once((address - base) / 4).chain(values.iter().copied()).collect();
    card.packet(op, &body);
}

fn floats(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// A card with programs, and a target with four floats a pixel.
fn card(name: &str, primitive: u32) -> Fixture {
    let mut card = Fixture::new(name, true);
    let chip: warpjit_runtime::Chip = name.parse().unwrap();
    for (place, source, register) in [(CODE, VERTEX, 0xb120), (CODE + 0x1000, PIXEL, 0xb020)] {
        let code = chip.target().assemble(source, Stage::Compute).unwrap();
        card.space.memory().write(place, &code).unwrap();
        // 8 vector registers, 16 scalar ones.
        set(&mut card, register, &[(place >> 8) as u32, 0, 1 | 1 << 6, 0]);
    }
    set(&mut card, if name == "tahiti" { 0x8958 } else { 0x3_0908 }, &[primitive]);
    let half = SIZE as f32 / 2.0;
    set(&mut card, 0x2843c, &floats(&[half, half, half, half, 1.0, 0.0]));
    set(&mut card, 0x28818, &[0x43f]);
    set(&mut card, 0x28810, &[1 << 19]);
    set(&mut card, 0x286c4, &[0]);
    set(&mut card, 0x2870c, &[4, 0, 9]);
    set(&mut card, 0x286cc, &[1 << 1, 1 << 1]);
    set(&mut card, 0x286d8, &[1]);
    set(&mut card, 0x28808, &[0xcc << 16 | 1 << 4]);
    set(&mut card, 0x28238, &[0xf, 0xf]);
    target(&mut card, name, 14 << 2 | 7 << 8);
    card
}

/// A linear target by CB_COLOR_INFO.
fn target(card: &mut Fixture, name: &str, info: u32) {
    let base = (DATA >> 8) as u32;
    if name == "vega10" {
        set(card, 0x28c60, &[base, 0, (SIZE - 1) | (SIZE - 1) << 14, 0, info, 1 << 28]);
        set(card, 0x287a0, &[SIZE - 1]);
    } else {
        set(card, 0x28c60, &[base, SIZE / 8 - 1, SIZE * SIZE / 64 - 1, 0, info, 8]);
    }
}

/// A depth target of 32-bit floats.
fn depth_target(card: &mut Fixture, name: &str) {
    let base = (DEPTHS >> 8) as u32;
    if name == "vega10" {
        set(card, 0x2801c, &[(SIZE - 1) | (SIZE - 1) << 16]);
        set(card, 0x28038, &[3, 0, base, 0, 0, 0, base, 0, 0, 0]);
        set(card, 0x28068, &[SIZE - 1]);
    } else {
        set(
            card,
            0x28040,
            &[3 | 4 << 20, 0, base, 0, base, 0, (SIZE / 8 - 1) | (SIZE / 8 - 1) << 11, SIZE * SIZE / 64 - 1],
        );
    }
}

/// Where the depth of a pixel is.
fn depth_at(name: &str, x: u32, y: u32) -> u64 {
    let number = match name {
        // Tiles of 8 x 8 in rows; in a tile bits of x and y take turns.
        "tahiti" => {
            let bits = (0..3).map(|bit| (x >> bit & 1) << (2 * bit) | (y >> bit & 1) << (2 * bit + 1));
            (y / 8 * (SIZE / 8) + x / 8) * 64 + bits.sum::<u32>()
        }
        _ => SIZE * y + x,
    };
    DEPTHS + u64::from(4 * number)
}

fn pixel(card: &Fixture, x: u32, y: u32) -> [f32; 4] {
    let at = DATA + u64::from(16 * (SIZE * y + x));
    [0, 4, 8, 12].map(|offset| f32::from_bits(card.get(at + offset)))
}

/// Pixels in which something was drawn.
fn drawn(card: &Fixture) -> Vec<(u32, u32)> {
    let all = (0..SIZE).flat_map(|y| (0..SIZE).map(move |x| (x, y)));
    all.filter(|&(x, y)| pixel(card, x, y) != [0.0; 4]).collect()
}

const CHIPS: [&str; 3] = ["tahiti", "polaris10", "vega10"];

#[test]
fn rectangles_fill_what_they_span() {
    for chip in CHIPS {
        let mut card = card(chip, RECTANGLES);
        card.packet(op::DRAW_INDEX_AUTO, &[3, 2]);
        card.run();
        for y in 0..SIZE {
            for x in 0..SIZE {
                let at = |pixel: u32| (pixel as f32 + 0.5) / (SIZE as f32 / 2.0) - 1.0;
                assert_eq!(pixel(&card, x, y), [at(x), at(y), 0.5, 1.0], "{chip} {x} {y}");
            }
        }
        assert_eq!(card.processor.drawn.samples, u64::from(SIZE * SIZE));
    }
}

#[test]
fn triangles_scissors_and_culling() {
    let mut card = card("polaris10", TRIANGLES);
    // Scissor without the first four columns.
    set(&mut card, 0x28204, &[4, SIZE | SIZE << 16]);
    card.packet(op::DRAW_INDEX_AUTO, &[3, 2]);
    card.run();
    let wanted: Vec<(u32, u32)> =
        (0..SIZE).flat_map(|y| (4..SIZE).map(move |x| (x, y))).filter(|(x, y)| x + y < SIZE - 1).collect();
    assert_eq!(drawn(&card), wanted);
    // Its corners go against the clock: it is seen from its front, and front faces are culled.
    card.put(DATA, &[0; 4 * (SIZE * SIZE) as usize]);
    set(&mut card, 0x28814, &[1]);
    card.packet(op::DRAW_INDEX_AUTO, &[3, 2]);
    card.run();
    assert!(drawn(&card).is_empty());
    set(&mut card, 0x28814, &[2]);
    card.packet(op::DRAW_INDEX_AUTO, &[3, 2]);
    card.run();
    assert_eq!(drawn(&card), wanted);
}

#[test]
fn indices_and_indirect_draws() {
    for chip in CHIPS {
        let indices = DATA + 0x3_0000;
        let mut card = card(chip, TRIANGLES);
        // 16-bit indices; the last one is beyond the buffer, and so 0: the triangle is the same.
        card.put(indices, &[1 | 2 << 16, 7]);
        if chip == "vega10" {
            set(&mut card, 0x3_090c, &[0]);
        }
        card.packet(op::INDEX_TYPE, &[0]).packet(op::DRAW_INDEX_2, &[2, low(indices), 0, 3, 0]);
        card.run();
        let once = drawn(&card);
        assert_eq!(once.len() as u32, SIZE * (SIZE - 1) / 2, "{chip}");
        card.put(DATA, &[0; 4 * (SIZE * SIZE) as usize]);
        // Three indices from the second on, base vertex 5, instance 6: these go to registers.
        card.put(indices, &[9 | 1 << 16, 2]);
        card.put(indices + 0x100, &[3, 1, 1, 5, 6]);
        card.packet(op::INDEX_BASE, &[low(indices), 0])
            .packet(op::INDEX_BUFFER_SIZE, &[16])
            .packet(op::SET_BASE, &[1, low(indices), 0])
            .packet(op::DRAW_INDEX_INDIRECT, &[0x100, 0x4e, 0x4f, 0]);
        card.run();
        assert_eq!(drawn(&card), once, "{chip}");
        let user_data = |word: u32| card.processor.register(0xb130 / 4 + word);
        assert_eq!([user_data(2), user_data(3)], [5, 6]);
    }
}

#[test]
fn depths_are_tested_and_written() {
    for chip in CHIPS {
        let mut card = card(chip, RECTANGLES);
        depth_target(&mut card, chip);
        for row in 0..SIZE {
            let value = if row == 3 { 0.25f32 } else { 0.75 };
            (0..SIZE).for_each(|x| card.put(depth_at(chip, x, row), &[value.to_bits()]));
        }
        // Z_ENABLE, Z_WRITE_ENABLE, less.
        set(&mut card, 0x28800, &[1 << 1 | 1 << 2 | 1 << 4]);
        card.packet(op::DRAW_INDEX_AUTO, &[3, 2]);
        card.run();
        assert_eq!(drawn(&card).len() as u32, SIZE * (SIZE - 1), "{chip}");
        assert_eq!(pixel(&card, 5, 3), [0.0; 4]);
        let depth = |row: u32| f32::from_bits(card.get(depth_at(chip, 7, row)));
        assert_eq!([depth(2), depth(3), depth(4)], [0.5, 0.25, 0.5], "{chip}");
        assert_eq!(card.processor.drawn.samples, u64::from(SIZE * (SIZE - 1)));
    }
}

#[test]
fn masks_and_blending() {
    let mut card = card("polaris10", RECTANGLES);
    // Green and alpha of 8_8_8_8, added to what is there.
    target(&mut card, "polaris10", 10 << 2 | 1 << 15);
    set(&mut card, 0x28238, &[0b1010]);
    set(&mut card, 0x28780, &[1 << 30 | 1 | 1 << 8]);
    card.put(DATA, &[0x8010_4020; (SIZE * SIZE) as usize]);
    card.packet(op::DRAW_INDEX_AUTO, &[3, 2]);
    card.run();
    // The last row has 15/16 of green.
    let last = card.get(DATA + u64::from(4 * (SIZE * (SIZE - 1))));
    assert_eq!(last, 0xff10_ff20, "{last:#x}");
    let first = card.get(DATA);
    assert_eq!(first, 0xff10_4020, "{first:#x}");
}

/// Four samples a pixel, of which a side through the middles of pixels covers three; and their means.
#[test]
fn several_samples_and_their_means() {
    for chip in CHIPS {
        let mut card = card(chip, TRIANGLES);
        // Gfx9: blocks of 64 KB. Before: tiles of 8 x 8.
        let tiled = card.processor.card.chip().tile_modes();
        let tiled = (8..31).find(|index: &usize| tiled[*index] >> 2 & 15 == 2);
        let info = 14 << 2 | 7 << 8;
        let target = |card: &mut Fixture, number: u32, address: u64, samples: u32| {
            let base = (address >> 8) as u32;
            let first = 0x28c60 + 0x3c * number;
            let attributes = samples << 12 | samples << 15;
            if chip == "vega10" {
                let swizzle = if samples > 0 { 9 << 18 } else { 0 };
                let size = (SIZE - 1) | (SIZE - 1) << 14;
                set(card, first, &[base, 0, size, 0, info, attributes | swizzle | 1 << 28]);
                set(card, 0x287a0 + 4 * number, &[SIZE - 1]);
            } else {
                let index = if samples > 0 { tiled.unwrap() as u32 } else { 8 };
                let size = [SIZE / 8 - 1, SIZE * SIZE / 64 - 1];
                set(card, first, &[base, size[0], size[1], 0, info, attributes | index]);
            }
        };
        target(&mut card, 0, DATA, 2);
        set(&mut card, 0x28be0, &[2]);
        set(&mut card, 0x28a48, &[1]);
        // In 1/16 of a pixel from the middle: (-4, -4), (4, 4), (-4, 2), (2, -4).
        for pixel in 0..4 {
            set(&mut card, 0x28bf8 + 16 * pixel, &[0xc22c_44cc]);
        }
        card.packet(op::DRAW_INDEX_AUTO, &[3, 2]);
        card.run();
        let inside = SIZE * (SIZE - 1) / 2;
        assert_eq!(card.processor.drawn.samples, u64::from(4 * inside + 3 * SIZE), "{chip}");
        // The second target, in lines.
        let results = DATA + 0x1_0000;
        target(&mut card, 1, results, 0);
        set(&mut card, 0x28808, &[0xcc << 16 | 3 << 4]);
        set(&mut card, if chip == "tahiti" { 0x8958 } else { 0x3_0908 }, &[RECTANGLES]);
        card.packet(op::DRAW_INDEX_AUTO, &[3, 2]);
        card.run();
        for (x, y) in (0..SIZE).flat_map(|y| (0..SIZE).map(move |x| (x, y))) {
            let at = results + u64::from(16 * (SIZE * y + x));
            let [blue, alpha] = [8, 12].map(|offset| f32::from_bits(card.get(at + offset)));
            let share = match x + y {
                ..15 => 1.0,
                15 => 0.75,
                _ => 0.0,
            };
            assert_eq!([blue, alpha], [0.5 * share, share], "{chip} {x} {y}");
        }
    }
}

#[test]
fn outlines_and_corners() {
    for (kind, inside) in [(0, false), (1, false), (2, true)] {
        let mut card = card("polaris10", TRIANGLES);
        // Points are two pixels wide.
        set(&mut card, 0x28a00, &[16 | 16 << 16]);
        set(&mut card, 0x28814, &[1 << 3 | kind << 5 | kind << 8]);
        card.packet(op::DRAW_INDEX_AUTO, &[3, 2]);
        card.run();
        let drawn = drawn(&card);
        assert_eq!(drawn.contains(&(3, 3)), inside, "{kind}");
        // A side between two columns of pixels has none of their middles in it.
        assert_eq!(drawn.contains(&(0, 0)), kind != 1, "{kind}");
        // The middles of these pixels are on a side.
        let side = (1..15).filter(|x| drawn.contains(&(*x, 15 - x))).count();
        assert_eq!(side == 14, kind == 1, "{kind}: {side}");
    }
}

/// A vertex program that writes the number of each vertex to a buffer: a strip of two triangles gives six, behind what was there.
#[test]
fn stream_output() {
    const STREAM: &str = "
        s_mov_b64 s[6:7], exec
        s_bfe_u32 s5, s2, 0x70010
        v_mbcnt_lo_u32_b32 v1, -1, 0
        v_mbcnt_hi_u32_b32 v1, -1, v1
        v_cmp_gt_u32 vcc, s5, v1
        s_and_b64 exec, exec, vcc
        v_add_u32 v2, vcc, s3, v1
        v_add_u32 v2, vcc, s4, v2
        v_lshlrev_b32 v2, 2, v2
        v_add_u32 v2, vcc, s0, v2
        v_mov_b32 v3, s1
        flat_store_dword v[2:3], v0
        s_mov_b64 exec, s[6:7]
        v_mov_b32 v1, 1.0
        exp pos0 v1, v1, v1, v1 done
        exp param0 v1, v1, v1, v1
        s_endpgm
    ";
    const STRIP: u32 = 6;
    let mut card = card("polaris10", STRIP);
    let code = card.processor.card.model.target().assemble(STREAM, Stage::Compute).unwrap();
    card.space.memory().write(CODE, &code).unwrap();
    let buffer = DATA + 0x1_0000;
    set(&mut card, 0xb12c, &[2 << 1 | 1 << 8 | 1 << 12, low(buffer), 0]);
    set(&mut card, 0x28ad0, &[8, 1]);
    set(&mut card, 0x28b94, &[1, 1]);
    // Three words are there already, for five there is room: one triangle fits.
    card.packet(op::STRMOUT_BUFFER_UPDATE, &[0, 0, 0, 3, 0]);
    card.packet(op::DRAW_INDEX_AUTO, &[4, 2]);
    card.run();
    let words = |card: &Fixture| (3..9).map(|n| card.get(buffer + 4 * n)).collect::<Vec<u32>>();
    assert_eq!(words(&card), [0, 1, 2, 0, 0, 0]);
    assert_eq!((card.processor.drawn.needed, card.processor.drawn.written), (2, 1));
    // From what memory says, and back to it, in bytes.
    card.put(DATA + 0x2_0000, &[12]);
    set(&mut card, 0x28ad0, &[64]);
    card.packet(op::STRMOUT_BUFFER_UPDATE, &[2 << 1, 0, 0, low(DATA + 0x2_0000), 0]);
    card.packet(op::DRAW_INDEX_AUTO, &[4, 2]);
    card.packet(op::STRMOUT_BUFFER_UPDATE, &[1 | 3 << 1, low(DATA + 0x2_0000), 0, 0, 0]);
    card.run();
    assert_eq!(words(&card), [0, 1, 2, 1, 3, 2]);
    assert_eq!(card.get(DATA + 0x2_0000), 36);
}

/// A vertex program whose first part jumps to the second, whose address is in memory.
#[test]
fn programs_in_two_parts() {
    const FIRST: &str = "
        s_load_dwordx2 s[4:5], s[0:1], 0x0
        s_waitcnt lgkmcnt(0)
        s_setpc_b64 s[4:5]
    ";
    let mut card = card("polaris10", RECTANGLES);
    let (second, place) = (CODE + 0x800, DATA + 0x3_0000);
    for (at, source) in [(CODE, FIRST), (second, VERTEX)] {
        let code = card.processor.card.model.target().assemble(source, Stage::Compute).unwrap();
        card.space.memory().write(at, &code).unwrap();
    }
    card.put(place, &[low(second), 0]);
    set(&mut card, 0xb12c, &[2 << 1, low(place), 0]);
    card.packet(op::DRAW_INDEX_AUTO, &[3, 2]);
    card.run();
    assert_eq!(drawn(&card).len() as u32, SIZE * SIZE);
    assert_eq!(pixel(&card, 0, 0), [-0.9375, -0.9375, 0.5, 1.0]);
    // Where no code is it goes wrong.
    card.put(place, &[0x77_0000, 0]);
    card.packet(op::DRAW_INDEX_AUTO, &[3, 2]);
    card.error();
}

/// Values that radeonsi leaves out behind CLEAR_STATE where it wants them: those of the kernel's clear state.
#[test]
fn a_clear_state_is_what_drivers_take_it_for() {
    for name in ["bonaire", "polaris10", "vega10"] {
        let mut card = card(name, RECTANGLES);
        card.packet(op::CLEAR_STATE, &[0]);
        card.run();
        for (address, value) in [
            (0x2_86d8, 2),
            (0x2_8810, 0x9_0000),
            (0x2_8814, 4),
            (0x2_823c, u32::MAX),
            (0x2_8be4, 5),
            (0x2_8be8, 0x3f80_0000),
            (0x2_8c3c, u32::MAX),
            (0x2_86c4, 0),
        ] {
            assert_eq!(card.processor.register(address / 4), value, "{name} {address:#x}");
        }
    }
}

#[test]
fn user_data_of_all_stages() {
    for (name, wanted) in [("vega10", 7), ("polaris10", 0)] {
        let mut card = Fixture::new(name, true);
        set(&mut card, 0xb534, &[7]);
        card.run();
        for first in [0xb030, 0xb130, 0xb330, 0xb430] {
            assert_eq!(card.processor.register(first / 4 + 1), wanted, "{name} {first:#x}");
        }
    }
}

#[test]
fn what_cannot_be_drawn_changes_nothing() {
    let refused: &[(u32, u32)] = &[(0x28b54, 1 << 3), (0x28808, 4 << 4), (0x28c70, 31 << 2)];
    for (register, value) in refused {
        let mut card = card("polaris10", RECTANGLES);
        set(&mut card, *register, &[*value]);
        card.packet(op::DRAW_INDEX_AUTO, &[3, 2]);
        card.run();
        assert!(drawn(&card).is_empty(), "{register:#x}");
    }
}

#[test]
fn wild_draws_end_the_submission() {
    // Programs that are not there, and targets; scratch memory without a ring of it.
    for (register, value) in [(0xb120, 0x77_0000), (0xb020, 0x77_0000), (0x28c60, 0x77_0000), (0xb02c, 1)] {
        let mut card = card("polaris10", RECTANGLES);
        set(&mut card, register, &[value]);
        card.packet(op::DRAW_INDEX_AUTO, &[3, 2]);
        card.error();
    }
    let mut card = card("polaris10", RECTANGLES);
    card.packet(op::DRAW_INDEX_2, &[64, 0x5000_0000, 0, 64, 0]);
    assert!(card.error().contains("not mapped"));
    card.packet(op::DRAW_INDEX_AUTO, &[u32::MAX, 2]);
    assert!(card.error().contains("a draw of 4294967295 vertices"));
}

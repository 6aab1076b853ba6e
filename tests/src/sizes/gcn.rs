//! Shapes of GCN programs.

use std::ops::Range;

use warpjit_frontend::gcn::{Generation, assemble};

use super::{Sample, Shape, Text, Unit};

const fn shape(name: &'static str, make: fn(usize) -> Sample) -> Shape {
    Shape { of: "gcn", name, make, unit: Unit::Words }
}

pub(super) const SHAPES: &[Shape] = &[
    shape("straight", |words| sample(&straight(words))),
    shape("diamonds", |words| sample(&diamonds(words))),
    shape("branches", |words| sample(&branches(words))),
    shape("loops", |words| sample(&loops(words))),
    shape("lane loops", |words| sample(&lane_loops(words))),
    shape("nested diamonds", |words| sample(&nested_diamonds(words))),
    shape("nested branches", |words| sample(&nested_branches(words))),
    shape("nested loops", |words| sample(&nested_loops(words))),
    shape("jumps", |words| sample(&jumps(words))),
    shape("exits", |words| sample(&exits(words))),
    shape("computed", |words| sample(&computed(words))),
    shape("getpc", |words| sample(&getpc(words))),
    shape("calls", |words| sample(&calls(words))),
    shape("forks", |words| sample(&forks(words))),
    shape("exchanges", |words| sample(&exchanges(words))),
    shape("atomics", |words| sample(&atomics(words))),
    shape("barriers", |words| sample(&barriers(words))),
];

/// What the code of a source of so many bytes is launched with.
fn sample(text: &Text) -> Sample {
    let code = assemble(&text.0, Generation::Gfx8).unwrap_or_else(|errors| panic!("{errors:?}")).code;
    // Where the last instruction stands, for those who jump to a register's.
    let end = 0xf_0000_0000 + code.len() as u64 - 4;
    let lanes: Vec<String> = (0..64).map(|lane| format!("{lane}")).collect();
    let addresses: Vec<String> = (0..64).map(|lane| format!("{}", 4 * lane)).collect();
    let rest = format!(
        "registers = 28\nsgprs = 48\nshared = 1024\n[launch]\ngrid = [1, 1, 1]\nblock = [64, 1, 1]\n\
         [[buffer]]\nname = \"b\"\nbytes = 65536\naddress = 0x10000\n\
         [registers]\nv0 = [{}]\nv24 = [{}]\ns16 = 0x10000\ns17 = 0\ns18 = 65536\ns19 = 0x24fac\n\
         s0 = {}\ns1 = {}\n",
        lanes.join(", "),
        addresses.join(", "),
        end as u32,
        end >> 32
    );
    Sample::raw("gcn", "fiji", code, &rest)
}

fn add(n: usize) -> String {
    format!("v_add_u32_e32 v{}, vcc, v{}, v{}", 1 + n % 7, (5 * n + 1) % 8, (3 * n + 2) % 8)
}

fn compare(n: usize) -> String {
    format!("v_cmp_gt_u32_e32 vcc, v{}, v{}", n % 8, (n + 1) % 8)
}

fn begun() -> Text {
    let mut text = Text::default();
    text.add("s_mov_b32 m0, -1");
    text
}

/// Stores the registers and ends: what comes before is not in vain.
fn ended(mut text: Text) -> Text {
    (0..8).for_each(|n| {
        text.add(format!("buffer_store_dword v{n}, v24, s[16:19], 0 offen offset:{}", 256 * n))
    });
    text.add("s_endpgm");
    text
}

fn straight(words: usize) -> Text {
    let mut text = begun();
    (0..words).for_each(|n| text.add(add(n)));
    ended(text)
}

fn diamonds(words: usize) -> Text {
    let mut text = begun();
    for n in 0..words / 6 {
        text.add(format!("{}\ns_and_saveexec_b64 s[4:5], vcc\ns_cbranch_execz L{n}", compare(n)));
        // More than what the lifter runs without the branch.
        text.add(format!("{}\nv_readlane_b32 s6, v{}, 0", add(n), n % 8));
        text.add(format!("L{n}:\ns_or_b64 exec, exec, s[4:5]"));
    }
    ended(text)
}

fn branches(words: usize) -> Text {
    let mut text = begun();
    for n in 0..words / 3 {
        text.add(format!(
            "s_cmp_lg_u32 s{}, s{}\ns_cbranch_scc1 L{n}\n{}\nL{n}:",
            20 + n % 8,
            21 + n % 8,
            add(n)
        ));
    }
    ended(text)
}

fn loops(words: usize) -> Text {
    let mut text = begun();
    for n in 0..words / 6 {
        text.add(format!("s_mov_b32 s20, 2\nT{n}:\n{}\n{}", add(n), add(n + 1)));
        text.add(format!("s_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 T{n}"));
    }
    ended(text)
}

fn lane_loops(words: usize) -> Text {
    let mut text = begun();
    for n in 0..words / 9 {
        text.add(format!("v_and_b32_e32 v25, 3, v{}\ns_mov_b64 s[4:5], 0\nL{n}:\n{}", n % 8, add(n)));
        text.add(
            "v_cmp_eq_u32_e32 vcc, 0, v25\ns_or_b64 s[4:5], vcc, s[4:5]\nv_subrev_u32_e32 v25, vcc, 1, v25",
        );
        text.add(format!(
            "s_andn2_b64 exec, exec, s[4:5]\ns_cbranch_execnz L{n}\ns_or_b64 exec, exec, s[4:5]"
        ));
    }
    ended(text)
}

/// Levels of a nest, over and over: a branch reaches 32768 words, so the largest code is a few nests in a row.
fn nests(words: usize, words_of_a_level: usize) -> impl Iterator<Item = Range<usize>> {
    let (levels, most) = (words / words_of_a_level, 30_000 / words_of_a_level);
    (0..levels).step_by(most).map(move |first| first..levels.min(first + most))
}

fn nested_diamonds(words: usize) -> Text {
    let mut text = begun();
    for levels in nests(words, 7) {
        for n in levels.clone() {
            let saved = 20 + 2 * (n % 12);
            text.add(format!("{}\ns_and_saveexec_b64 s[{saved}:{}], vcc", compare(n), saved + 1));
            text.add(format!("s_cbranch_execz L{n}\n{}\nv_readlane_b32 s6, v{}, 0", add(n), n % 8));
        }
        for n in levels.rev() {
            let saved = 20 + 2 * (n % 12);
            text.add(format!("L{n}:\ns_or_b64 exec, exec, s[{saved}:{}]", saved + 1));
        }
    }
    ended(text)
}

fn nested_branches(words: usize) -> Text {
    let mut text = begun();
    for levels in nests(words, 4) {
        for n in levels.clone() {
            let (one, other) = (20 + n % 8, 21 + n % 8);
            text.add(format!("s_cmp_lg_u32 s{one}, s{other}\ns_cbranch_scc1 L{n}\n{}", add(n)));
        }
        levels.rev().for_each(|n| text.add(format!("L{n}:\n{}", add(n))));
    }
    ended(text)
}

fn nested_loops(words: usize) -> Text {
    let mut text = begun();
    for levels in nests(words, 5) {
        levels.clone().for_each(|n| text.add(format!("T{n}:\n{}", add(n))));
        for n in levels.rev() {
            text.add(format!("{}\ns_add_u32 s{}, s{}, 1", add(n + 1), 20 + n % 16, 20 + n % 16));
            text.add(format!("s_cmp_eq_u32 s{}, 0\ns_cbranch_scc1 T{n}", 20 + n % 16));
        }
    }
    ended(text)
}

fn jumps(words: usize) -> Text {
    let mut text = begun();
    (0..words / 2).for_each(|n| text.add(format!("s_branch L{n}\nL{n}:\n{}", add(n))));
    ended(text)
}

/// Branches that all lead to one place; the offset of a branch has 16 bits.
fn exits(words: usize) -> Text {
    let mut text = begun();
    let count = (words / 3).max(1);
    for n in 0..count {
        text.add(format!("s_cmp_lg_u32 s{}, 0\ns_cbranch_scc1 E{}\n{}", 20 + n % 8, n / 8000, add(n)));
        if n % 8000 == 7999 && n + 1 < count {
            text.add(format!("s_branch R{n}\nE{}:\ns_endpgm\nR{n}:", n / 8000));
        }
    }
    text.add(format!("E{}:", (count - 1) / 8000));
    ended(text)
}

/// Branches round jumps to where a register says: to the end.
fn computed(words: usize) -> Text {
    let mut text = begun();
    for n in 0..words / 3 {
        text.add(format!("s_cbranch_scc1 L{n}\ns_setpc_b64 s[0:1]\nL{n}:\n{}", add(n)));
    }
    ended(text)
}

/// Jumps to known distances.
fn getpc(words: usize) -> Text {
    let mut text = begun();
    for n in 0..words / 7 {
        text.add(
            "s_getpc_b64 s[20:21]\ns_add_u32 s20, s20, 20\ns_addc_u32 s21, s21, 0\ns_setpc_b64 s[20:21]",
        );
        text.add(format!("s_endpgm\ns_endpgm\n{}", add(n)));
    }
    ended(text)
}

/// Words between the calls and the functions.
const GAP: usize = 20;

/// Functions that are called from two places each, so that where they return to is no constant.
fn calls(words: usize) -> Text {
    let mut text = begun();
    let count = (words / 14).max(1);
    for at in 0..2 * count {
        // From behind s_getpc. The gap before the functions keeps it from being an inline constant, which is a word shorter.
        let distance = 4 * (10 * count + GAP + 2 * (at % count) - 5 * at);
        text.add(format!(
            "s_getpc_b64 s[20:21]\ns_add_u32 s20, s20, {distance:#x}\ns_addc_u32 s21, s21, 0\n\
             s_swappc_b64 s[22:23], s[20:21]"
        ));
    }
    text.add("s_endpgm");
    (1..GAP).for_each(|_| text.add("s_nop 0"));
    (0..count).for_each(|n| text.add(format!("{}\ns_setpc_b64 s[22:23]", add(n))));
    ended(text)
}

/// Forks and joins, which are not come to.
fn forks(words: usize) -> Text {
    let mut text = begun();
    text.add("s_cbranch_scc1 START\ns_endpgm\nSTART:");
    for n in 0..words / 5 {
        text.add(format!(
            "s_cbranch_i_fork vcc, L{n}\n{}\ns_cbranch_join s4\nL{n}:\n{}\ns_cbranch_join s4",
            add(n),
            add(n + 1)
        ));
    }
    ended(text)
}

fn exchanges(words: usize) -> Text {
    let mut text = begun();
    for n in 0..words / 6 {
        text.add(format!("ds_write_b32 v24, v{} offset:{}", n % 8, n % 64));
        text.add(format!(
            "ds_read_b32 v{}, v24 offset:{}\ns_waitcnt lgkmcnt(0)\n{}",
            1 + n % 7,
            7 * n % 64,
            add(n)
        ));
    }
    ended(text)
}

fn atomics(words: usize) -> Text {
    let mut text = begun();
    for n in 0..words / 3 {
        text.add(format!("buffer_atomic_add v{}, v24, s[16:19], 0 offen\n{}", n % 8, add(n)));
    }
    ended(text)
}

fn barriers(words: usize) -> Text {
    let mut text = begun();
    (0..words / 2).for_each(|n| text.add(format!("s_barrier\n{}", add(n))));
    ended(text)
}

//! Shapes of Fermi programs.

use warpjit_frontend::fermi::{Chip, assemble};

use super::{Sample, Shape, Text, Unit};

const fn shape(name: &'static str, make: fn(usize) -> Sample) -> Shape {
    Shape { of: "fermi", name, make, unit: Unit::Words }
}

pub(super) const SHAPES: &[Shape] = &[
    shape("straight", |words| sample(&straight(words), "")),
    shape("diamonds", |words| sample(&diamonds(words), "")),
    shape("loops", |words| sample(&loops(words), "")),
    shape("nested diamonds", |words| sample(&nested_diamonds(words), "")),
    shape("nested loops", |words| sample(&nested_loops(words), "")),
    shape("jumps", |words| sample(&jumps(words), "")),
    shape("exits", |words| sample(&exits(words), "")),
    shape("calls", |words| sample(&calls(words), "")),
    shape("pushes", |words| sample(&pushes(words), "")),
    shape("computed", computed),
    shape("exchanges", |words| sample(&exchanges(words), "")),
    shape("atomics", |words| sample(&atomics(words), "")),
    shape("barriers", |words| sample(&barriers(words), "")),
];

const BUFFER: &str = "[[buffer]]\nname = \"b\"\nbytes = 65536\naddress = 0x10000\n";

/// The code of a source.
pub(super) fn code(text: &Text) -> Vec<u8> {
    assemble(&text.0, Chip::Gf100).unwrap_or_else(|errors| panic!("{errors:?}")).code
}

fn sample(text: &Text, rest: &str) -> Sample {
    let code = code(text);
    let launch = "registers = 16\nshared = 1024\n[launch]\ngrid = [1, 1, 1]\nblock = [32, 1, 1]\n";
    Sample::raw("fermi", "gf100", code, &format!("{launch}{BUFFER}{rest}"))
}

/// `$r0` gets the thread's number.
fn begun() -> Text {
    let mut text = Text::default();
    text.add("long mov b32 $r0 $tidx");
    text
}

/// Stores the registers and ends: what comes before is not in vain.
fn ended(mut text: Text) -> Text {
    text.add("long mov b32 $r9 0x10000");
    (0..8).for_each(|n| text.add(format!("long st b32 wb g[$r9+{:#x}] $r{n}", 4 * n)));
    text.add("long exit");
    text
}

fn add(n: usize) -> String {
    format!("long add b32 $r{} $r{} $r{}", 1 + n % 7, (5 * n + 1) % 8, (3 * n + 2) % 8)
}

fn compare(n: usize) -> String {
    format!("long set $p0 0x1 lt u32 $r{} $r{}", n % 8, (n + 1) % 8)
}

/// A predicate that no lane has.
const NEVER: &str = "long set $p1 0x1 lt u32 $r0 0x0";

pub(super) fn straight(words: usize) -> Text {
    let mut text = begun();
    (0..words / 2).for_each(|n| text.add(add(n)));
    ended(text)
}

fn diamonds(words: usize) -> Text {
    let mut text = begun();
    for n in 0..words / 12 {
        text.add(format!("long joinat #j{n}\n{}\nlong $p0 bra #e{n}", compare(n)));
        text.add(format!("{}\ne{n}:\n{}\nlong join nop\nj{n}:", add(n), add(n + 1)));
    }
    ended(text)
}

fn loops(words: usize) -> Text {
    let mut text = begun();
    for n in 0..words / 16 {
        text.add(format!("long mov b32 $r10 0x2\nlong prebrk #b{n}\nt{n}:\n{}\n{}", add(n), add(n + 1)));
        text.add("long sub b32 $r10 $r10 0x1\nlong set $p1 0x1 eq u32 $r10 0x0");
        text.add(format!("long $p1 brk\nlong bra #t{n}\nb{n}:"));
    }
    ended(text)
}

fn nested_diamonds(words: usize) -> Text {
    let mut text = begun();
    let depth = words / 10;
    text.add(NEVER);
    for n in 0..depth {
        let guard = if n < 4 { "$p0" } else { "(not $p1)" };
        text.add(format!("long joinat #j{n}\n{}\nlong {guard} bra #k{n}\n{}", compare(n), add(n)));
    }
    (0..depth).rev().for_each(|n| text.add(format!("k{n}:\nlong join nop\nj{n}:")));
    ended(text)
}

fn nested_loops(words: usize) -> Text {
    let mut text = begun();
    let depth = words / 10;
    text.add(NEVER);
    (0..depth).for_each(|n| text.add(format!("t{n}:\n{}\nlong $p1 bra #o{n}", add(n))));
    for n in (0..depth).rev() {
        text.add(format!(
            "o{n}:\n{}\nlong set $p2 0x1 lt u32 $r{} 0x0\nlong $p2 bra #t{n}",
            add(n + 1),
            n % 8
        ));
    }
    ended(text)
}

fn jumps(words: usize) -> Text {
    let mut text = begun();
    (0..words / 4).for_each(|n| text.add(format!("long bra #x{n}\nx{n}:\n{}", add(n))));
    ended(text)
}

fn exits(words: usize) -> Text {
    let mut text = begun();
    for n in 0..words / 6 {
        text.add(format!("long set $p2 0x1 lt u32 $r{} 0x0\nlong $p2 bra #end\n{}", n % 8, add(n)));
    }
    text.add("end:");
    ended(text)
}

fn calls(words: usize) -> Text {
    let mut text = begun();
    let count = words / 6;
    (0..count).for_each(|n| text.add(format!("long call #f{n}")));
    text = ended(text);
    (0..count).for_each(|n| text.add(format!("f{n}:\n{}\nlong ret", add(n))));
    text
}

fn pushes(words: usize) -> Text {
    let mut text = begun();
    let count = words / 12;
    text.add(NEVER);
    for n in 0..count {
        text.add(format!("long (not $p1) bra #s{n}\nlong prebrk #t{n}\n{}\ns{n}:", add(n)));
    }
    text = ended(text);
    (0..count).for_each(|n| text.add(format!("t{n}:\nlong $p1 brk\nlong exit")));
    text
}

/// Jumps through banks that the launch fills, each to the place behind it. An instruction reaches the first half of a bank.
fn computed(words: usize) -> Sample {
    const REACH: usize = 1 << 13;
    let count = words / 4;
    let mut text = begun();
    (0..count).for_each(|n| {
        text.add(format!("long bra c{}[{:#x}]\n{}", 1 + n / REACH, 4 * (n % REACH), add(n)));
    });
    let mut banks = String::new();
    for (bank, first) in (1..).zip((0..count).step_by(REACH)) {
        let end = count.min(first + REACH);
        let targets: Vec<String> = (first..end).map(|n| format!("{}", 16 * n + 16)).collect();
        banks += &format!("[[const]]\nindex = {bank}\nu32 = [{}]\n", targets.join(", "));
    }
    sample(&ended(text), &banks)
}

fn exchanges(words: usize) -> Text {
    let mut text = begun();
    for n in 0..words / 6 {
        let (to, from) = (4 * (n % 64), 4 * (7 * n % 64));
        text.add(format!("long st b32 s[{to:#x}] $r{}", 1 + n % 7));
        text.add(format!("long ld b32 $r{} s[{from:#x}]\n{}", 1 + n % 5, add(n)));
    }
    ended(text)
}

fn atomics(words: usize) -> Text {
    let mut text = begun();
    text.add("long mov b32 $r9 0x10000");
    (0..words / 4).for_each(|n| text.add(format!("long red add u32 g[$r9] $r{}\n{}", 1 + n % 7, add(n))));
    ended(text)
}

fn barriers(words: usize) -> Text {
    let mut text = begun();
    (0..words / 4).for_each(|n| text.add(format!("long bar popc 0x1 0x0 0x0 0x0 0x1\n{}", add(n))));
    ended(text)
}

//! Shapes of Tesla programs.

use warpjit_frontend::tesla::{Chip, Target, assemble};

use super::{Sample, Shape, Text, Unit};

const fn shape(name: &'static str, make: fn(usize) -> Sample) -> Shape {
    Shape { of: "tesla", name, make, unit: Unit::Words }
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
    shape("faults", |words| sample(&faults(words), "")),
];

const BUFFER: &str = "[[buffer]]\nname = \"b\"\nbytes = 65536\naddress = 0x10000\n";

/// The code of a source.
pub(super) fn code(text: &Text) -> Vec<u8> {
    let assembly = assemble(&text.0, Target::compute(Chip::G200));
    assembly.unwrap_or_else(|errors| panic!("{errors:?}")).code
}

fn sample(text: &Text, rest: &str) -> Sample {
    let launch = "registers = 16\nshared = 1024\n[launch]\ngrid = [1, 1, 1]\nblock = [32, 1, 1]\n";
    Sample::raw("tesla", "g200", code(text), &format!("{launch}{BUFFER}{rest}"))
}

/// An addition; what it adds differs from lane to lane.
fn add(n: usize) -> String {
    format!("add b32 $r{} $r{} $r{}", 1 + n % 7, (5 * n + 1) % 8, (3 * n + 2) % 8)
}

/// Sets `$c0` by a comparison on which lanes disagree.
fn compare(n: usize) -> String {
    format!("set $c0 # l u32 $r{} $r{}", n % 8, (n + 1) % 8)
}

/// Stores the registers and ends: what comes before is not in vain.
fn ended(mut text: Text) -> Text {
    text.add("mov b32 $r9 0x10000");
    (0..8).for_each(|n| text.add(format!("st b32 g14[$r9] $r{n}\nadd b32 $r9 $r9 0x80")));
    text.add("exit nop");
    text
}

pub(super) fn straight(words: usize) -> Text {
    let mut text = Text::default();
    (0..words / 2).for_each(|n| text.add(add(n)));
    ended(text)
}

fn diamonds(words: usize) -> Text {
    let mut text = Text::default();
    for n in 0..words / 12 {
        text.add(format!(
            "joinat #j{n}\n{}\n(lg $c0) bra #e{n}\n{}\ne{n}:\n{}",
            compare(n),
            add(n),
            add(n + 1)
        ));
        text.add(format!("j{n}:\njoin nop"));
    }
    ended(text)
}

fn loops(words: usize) -> Text {
    let mut text = Text::default();
    for n in 0..words / 16 {
        text.add(format!("mov b32 $r10 0x2\nbreakaddr #b{n}\nt{n}:\n{}\n{}", add(n), add(n + 1)));
        text.add("add b32 $r10 $r10 0xffffffff\nset $c1 # e u32 $r10 $r127");
        text.add(format!("(lg $c1) break\nbra #t{n}\nb{n}:"));
    }
    ended(text)
}

fn nested_diamonds(words: usize) -> Text {
    let mut text = Text::default();
    let depth = words / 10;
    for n in 0..depth {
        // All but the first few are passed by: the stack of the hardware holds no more.
        let go = if n < 4 { compare(n) } else { "set $c0 # e u32 $r127 $r127".to_owned() };
        text.add(format!("joinat #j{n}\n{go}\n(lg $c0) bra #j{n}\n{}", add(n)));
    }
    (0..depth).rev().for_each(|n| text.add(format!("j{n}:\njoin nop")));
    ended(text)
}

fn nested_loops(words: usize) -> Text {
    let mut text = Text::default();
    let depth = words / 14;
    for n in 0..depth {
        text.add(format!("t{n}:\n{}\nset $c1 # e u32 $r127 $r127", add(n)));
        text.add(format!("(lg $c1) bra #o{n}"));
    }
    for n in (0..depth).rev() {
        text.add(format!("o{n}:\n{}\nset $c1 # l u32 $r{} $r127\n(lg $c1) bra #t{n}", add(n + 1), 1 + n % 7));
    }
    ended(text)
}

fn jumps(words: usize) -> Text {
    let mut text = Text::default();
    (0..words / 4).for_each(|n| text.add(format!("bra #x{n}\nx{n}:\n{}", add(n))));
    ended(text)
}

/// Branches that all lead to one place.
fn exits(words: usize) -> Text {
    let mut text = Text::default();
    for n in 0..words / 6 {
        text.add(format!("set $c0 # l u32 $r{} $r127\n(lg $c0) bra #end\n{}", n % 8, add(n)));
    }
    text.add("end:");
    ended(text)
}

fn calls(words: usize) -> Text {
    let mut text = Text::default();
    let count = words / 6;
    (0..count).for_each(|n| text.add(format!("call #f{n}")));
    text = ended(text);
    (0..count).for_each(|n| text.add(format!("f{n}:\n{}\nret", add(n))));
    text
}

/// Entries pushed, of which each leads elsewhere.
fn pushes(words: usize) -> Text {
    let mut text = Text::default();
    let count = words / 12;
    for n in 0..count {
        text.add(format!("set $c0 # e u32 $r127 $r127\n(lg $c0) bra #s{n}"));
        text.add(format!("breakaddr #t{n}\n{}\ns{n}:", add(n)));
    }
    text = ended(text);
    (0..count).for_each(|n| text.add(format!("t{n}:\n(lg $c0) break\nexit nop")));
    text
}

/// Jumps through a bank that the launch fills, each to the place behind it.
fn computed(words: usize) -> Sample {
    let count = (words / 4).min(1 << 14);
    let mut text = Text::default();
    (0..count).for_each(|n| text.add(format!("bra c1[{:#x}]\n{}", 4 * n, add(n))));
    let targets: Vec<String> = (0..count).map(|n| format!("{}", 16 * n + 8)).collect();
    sample(&ended(text), &format!("[[const]]\nindex = 1\nu32 = [{}]\n", targets.join(", ")))
}

/// Words that lanes exchange.
fn exchanges(words: usize) -> Text {
    let mut text = Text::default();
    for n in 0..words / 6 {
        let (to, from) = (0x10 + 4 * (n % 64), 0x10 + 4 * (7 * n % 64));
        text.add(format!(
            "st b32 s[{to:#x}] $r{}\nld $r{} b32 s[{from:#x}]\n{}",
            1 + n % 7,
            1 + n % 5,
            add(n)
        ));
    }
    ended(text)
}

fn atomics(words: usize) -> Text {
    let mut text = Text::default();
    text.add("mov b32 $r9 0x10000");
    (0..words / 4).for_each(|n| text.add(format!("red add u32 g14[$r9] $r{}\n{}", 1 + n % 7, add(n))));
    ended(text)
}

/// Instructions that are none, each behind a branch round it.
fn faults(words: usize) -> Text {
    let mut text = Text::default();
    for n in 0..words / 8 {
        text.add(format!("set $c0 # e u32 $r127 $r127\n(e $c0) bra #s{n}\ntrap\ns{n}:\n{}", add(n)));
    }
    ended(text)
}

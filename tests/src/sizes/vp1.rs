//! Shapes of VP1 programs.

use warpjit_frontend::vp1::{Chip, assemble};

use super::{Sample, Shape, Text, Unit};

const fn shape(name: &'static str, make: fn(usize) -> Sample) -> Shape {
    Shape { of: "vp1", name, make, unit: Unit::Words }
}

pub(super) const SHAPES: &[Shape] = &[
    shape("straight", |words| sample(&straight(words))),
    shape("bundles", |words| sample(&bundles(words))),
    shape("branches", |words| sample(&branches(words))),
    shape("loops", |words| sample(&loops(words))),
    shape("nested branches", |words| sample(&nested_branches(words))),
    // At one depth, what makes it ready takes more than twice as much, once; before and after it grows as the code does. With half the
    // sizes that would be the last step.
    shape("nested loops", |words| sample(&nested_loops(2 * words))),
    shape("jumps", |words| sample(&jumps(words))),
    shape("exits", |words| sample(&exits(words))),
    shape("calls", |words| sample(&calls(words))),
    shape("delayed returns", |words| sample(&delayed_returns(words))),
    shape("delayed branches", |words| sample(&delayed_branches(words))),
    shape("returns anywhere", |words| sample(&returns_anywhere(words))),
];

fn sample(text: &Text) -> Sample {
    let code = assemble(&text.0, Chip::G80).unwrap_or_else(|errors| panic!("{errors:?}")).code;
    Sample::raw("vp1", "g80", code, "[launch]\n")
}

fn add(n: usize) -> String {
    format!("add $r{} $r{} $r{}", 1 + n % 7, (5 * n + 1) % 8, (3 * n + 2) % 8)
}

/// Stores the registers and ends: what comes before is not in vain.
fn ended(mut text: Text) -> Text {
    text.add(".align\nend: snop");
    (0..8).for_each(|n| text.add(format!("stas $r{n} $a0 0x10")));
    text.add("exit 0x0");
    text
}

/// Goes to the end at once, so that what follows is reached by no run, but by analyses.
fn skipped() -> Text {
    let mut text = Text::default();
    text.add("bra $c0 not $c0 zf #end\nsnop");
    text
}

fn straight(words: usize) -> Text {
    let mut text = Text::default();
    (0..words).for_each(|n| text.add(add(n)));
    ended(text)
}

/// Two instructions in each.
fn bundles(words: usize) -> Text {
    let mut text = Text::default();
    for n in 0..words / 2 {
        text.add(format!("{{ setlo $a{} {:#x} | {} }}", n % 8, n % 256, add(n)));
    }
    ended(text)
}

fn branches(words: usize) -> Text {
    let mut text = Text::default();
    for n in 0..words / 8 {
        text.add(format!(".align\n{}\nbra $c0 $c0 zf #l{n}\n{}\n{}", add(n), add(n + 1), add(n + 2)));
        text.add(format!(".align\nl{n}: {}", add(n + 3)));
    }
    ended(text)
}

fn loops(words: usize) -> Text {
    let mut text = Text::default();
    for n in 0..words / 8 {
        text.add(format!("mov $l0 $c0 2\n.align\nt{n}: {}", add(n)));
        text.add(format!("{{ {} | bra loop $l0 $c0 $l0 not $c0 lzf #t{n} }}\nsnop", add(n + 1)));
    }
    ended(text)
}

fn nested_branches(words: usize) -> Text {
    let mut text = Text::default();
    let depth = words / 8;
    for n in 0..depth {
        text.add(format!(".align\n{}\nbra $c0 $c0 zf #l{n}\n{}\n{}", add(n), add(n + 1), add(n + 2)));
    }
    (0..depth).rev().for_each(|n| text.add(format!(".align\nl{n}: {}", add(n + 3))));
    ended(text)
}

fn nested_loops(words: usize) -> Text {
    let mut text = Text::default();
    let depth = words / 8;
    (0..depth).for_each(|n| text.add(format!(".align\nt{n}: {}", add(n))));
    for n in (0..depth).rev() {
        text.add(format!(".align\n{}\nbra $c0 $c1 zf #t{n}\n{}", add(n + 1), add(n + 2)));
    }
    ended(text)
}

fn jumps(words: usize) -> Text {
    let mut text = Text::default();
    (0..words / 4)
        .for_each(|n| text.add(format!(".align\nl{n}: {}\nbra #l{}\n{}", add(n), n + 1, add(n + 1))));
    text.add(format!(".align\nl{}: snop", words / 4));
    ended(text)
}

/// Branches that all lead to one place.
fn exits(words: usize) -> Text {
    let mut text = Text::default();
    (0..words / 4)
        .for_each(|n| text.add(format!("{}\nbra $c0 $c1 zf #end\n{}\n{}", add(n), add(n + 1), add(n + 2))));
    ended(text)
}

fn calls(words: usize) -> Text {
    let mut text = Text::default();
    let count = words / 8;
    (0..count).for_each(|n| text.add(format!("{}\ncall #f{n}\n{}\n{}", add(n), add(n + 1), add(n + 2))));
    text.add("bra #end\nsnop");
    (0..count).for_each(|n| text.add(format!(".align\nf{n}: {}\nret\n{}", add(n), add(n + 3))));
    ended(text)
}

/// Functions that return to one of many places, with a branch in the delay slot of the return.
fn delayed_returns(words: usize) -> Text {
    let mut text = skipped();
    let count = words / 12;
    (0..count).for_each(|n| text.add(format!("{}\ncall #f{n}\n{}\n{}", add(n), add(n + 1), add(n + 2))));
    text.add("bra #end\nsnop");
    for n in 0..count {
        text.add(format!(".align\nf{n}: {}\nret\nbra #l{n}\n.align\nl{n}: {}", add(n), add(n + 3)));
    }
    ended(text)
}

/// Branches in delay slots: every one of half of them while every one of the other half is pending.
fn delayed_branches(words: usize) -> Text {
    let mut text = skipped();
    let count = words / 20;
    for n in 0..count {
        text.add(format!(".align\nbra $c0 $c1 zf #s{n}\nsnop\nbra #q0\nbra #p{n}\n.align\ns{n}: snop"));
    }
    text.add("bra #end\nsnop");
    for n in 0..count {
        text.add(format!(".align\nq{n}: bra #q{}\n.align\np{n}: bra #p{}", (n + 1) % count, (n + 7) % count));
    }
    ended(text)
}

/// A return to wherever a register says at the start, in much code.
fn returns_anywhere(words: usize) -> Text {
    let mut text = skipped();
    text.add("bra $c0 $c1 zf #far\nsnop\nret\nbra #far");
    (0..words / 2).for_each(|n| text.add(add(n)));
    text.add(".align\nfar: snop");
    (0..words / 2).for_each(|n| text.add(add(n)));
    ended(text)
}

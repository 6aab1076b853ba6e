//! Tests of how many vectors a chunk gets.

use std::fmt::Write;

use warpjit_ir::Function;
use warpjit_ir::text::parse_function;

use super::{narrow_groups, smallest_groups, vectors};

/// A loop that `rounds` says the end of, over `live` values of lanes, with so many accesses to global memory in it.
fn looping(live: usize, accesses: usize, divergent: bool) -> Function {
    let mut text = String::from(
        "function @f mask lanes 64 {\n    slot s0: i32 a\n    slot s1: i32 n\n    slot s2: ui32 u\n\nblock0 at 0x0:\n",
    );
    let (mut next, mut values) = (0, Vec::new());
    let mut make = |text: &mut String, what: String| {
        let _ = writeln!(text, "    v{next}: {what}");
        next += 1;
        next - 1
    };
    let (a, n) = (make(&mut text, "i32 = slot.get s0".into()), make(&mut text, "i32 = slot.get s1".into()));
    let u = make(&mut text, "ui32 = slot.get s2".into());
    let mut last = a;
    for _ in 0..live {
        last = make(&mut text, format!("i32 = iadd v{last}, v{n}"));
        values.push(last);
    }
    text += "    jump block1\n\nblock1 at 0x8:\n";
    let mut sum = a;
    for &value in &values {
        sum = make(&mut text, format!("i32 = ixor v{value}, v{sum}"));
    }
    for _ in 0..accesses {
        let _ = writeln!(text, "    store.u32 global0[v{sum}], v{sum} align 4");
    }
    if divergent {
        let cond = make(&mut text, format!("mask = icmp ult v{sum}, v{n}"));
        let _ = writeln!(text, "    br_any v{cond}, block1, block2");
    } else {
        let cond = make(&mut text, format!("ui1 = icmp ult v{u}, v{u}"));
        let _ = writeln!(text, "    br_if v{cond}, block1, block2");
    }
    text += "\nblock2 at 0x10:\n    return 0\n}\n";
    parse_function(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Vectors of a chunk by what is live, by loops that lanes leave one by one, and by accesses to memory.
#[test]
fn widths() {
    // Few values live: as many vectors as there are. More than a quarter of the 32 registers: two.
    assert_eq!(vectors(&looping(3, 0, false)), 4);
    assert_eq!(vectors(&looping(20, 0, false)), 2);
    // Lanes that are done wait for fewer others.
    assert_eq!(vectors(&looping(3, 0, true)), 2);
    assert_eq!(vectors(&looping(3, 1, true)), 1);
    assert_eq!(vectors(&looping(3, 1, false)), 4);
}

/// A pass over memory: each lane's word of three arrays, with so many operations on what is loaded; `shuffled` takes them at places that no
/// sums and products give.
fn pass(operations: usize, shuffled: bool) -> Function {
    let mut text = String::from(
        "function @f mask lanes 64 {\n    slot s0: i32 a\n    slot s1: ui32 u\n\nblock0 at 0x0:\n",
    );
    text += "    v0: i32 = slot.get s0\n    v1: ui32 = slot.get s1\n    v2: ui32 = const 0x2\n    v3: i32 = splat v1\n    v4: i32 = splat v2\n";
    text += "    v5: i32 = ishl v0, v2\n    v6: i32 = iadd v5, v3\n    v7: i32 = ixor v6, v5\n";
    let address = if shuffled { "v7" } else { "v6" };
    let _ = writeln!(text, "    v8: i32 = load.u32 global0[{address}] align 4");
    let mut last = 8;
    for _ in 0..operations {
        let _ = writeln!(text, "    v{}: i32 = ixor v{last}, v8", last + 1);
        last += 1;
    }
    let _ = writeln!(text, "    store.u32 global0[v6], v{last} align 4\n    return 0\n}}");
    parse_function(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Groups of four lanes by what a pass over memory computes, by where its words lie, and by loops.
#[test]
fn narrow_widths() {
    let all = |_| true;
    assert_eq!(narrow_groups(&pass(4, false), all), 8);
    assert_eq!(narrow_groups(&pass(100, false), all), 4);
    assert_eq!(narrow_groups(&pass(4, true), all), 2);
    // Nothing is known of the slot that the address is made of.
    assert_eq!(narrow_groups(&pass(4, false), |_| false), 2);
    // Loops that compute only, or that lanes leave one by one.
    assert_eq!(narrow_groups(&looping(3, 0, false), all), 2);
    assert_eq!(narrow_groups(&looping(3, 0, true), all), 2);
}

/// Long code gets a single vector a chunk, whatever it computes; code that is a little shorter keeps two.
#[test]
fn long_code_has_one_vector() {
    assert_eq!(smallest_groups(&pass(1400, false)), 2);
    assert_eq!(smallest_groups(&pass(1500, false)), 1);
    assert_eq!(smallest_groups(&looping(1400, 0, true)), 1);
    assert_eq!(smallest_groups(&looping(3, 1, true)), 2);
}

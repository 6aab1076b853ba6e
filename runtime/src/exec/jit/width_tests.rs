use std::fmt::Write;

use warpjit_ir::Function;
use warpjit_ir::text::parse_function;

use super::vectors;

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

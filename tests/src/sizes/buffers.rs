//! Shapes of guest memory: launches with many buffers.

use std::fmt::Write;

use warpjit_frontend::gcn::{Generation, assemble};

use super::{Sample, Shape, Text, Unit, tesla};

const fn shape(name: &'static str, make: fn(usize) -> Sample) -> Shape {
    Shape { of: "buffers", name, make, unit: Unit::Buffers }
}

pub(super) const SHAPES: &[Shape] = &[
    shape("anywhere", |count| sample(count, |_| String::new())),
    // With a page between, so that none can be one mapping with the next.
    shape("scattered", |count| sample(count, |n| format!("address = {:#x}\n", 0x10_0000 + 0x2000 * n))),
    shape("adjacent", |count| sample(count, |n| format!("address = {:#x}\n", 0x10_0000 + 0x1000 * n))),
    shape("of one page", |count| sample(count, |n| format!("address = {:#x}\n", 0x10_0000 + 0x10 * n))),
    shape("read-only by turns", |count| sample(count, |n| format!("access = \"{}\"\n", ["rw", "r"][n % 2]))),
    shape("beyond the window", beyond_the_window),
];

/// So many buffers, of which the kernel stores to the first.
fn sample(count: usize, more: impl Fn(usize) -> String) -> Sample {
    let mut text = Text::default();
    text.add("mov b32 $r1 b32 s[0x10]\nst b32 g14[$r1] $r0\nexit nop");
    let mut rest = String::from(
        "registers = 16\n[launch]\ngrid = [1, 1, 1]\nblock = [32, 1, 1]\n[[arg]]\nbuffer = \"b0\"\n",
    );
    for n in 0..count {
        let _ = write!(rest, "[[buffer]]\nname = \"b{n}\"\nbytes = 16\n{}", more(n));
    }
    let code = tesla::code(&text);
    Sample::raw("tesla", "g200", code, &rest)
}

/// So many buffers where drivers have theirs, of which the kernel stores to the first: its lanes' numbers.
fn beyond_the_window(count: usize) -> Sample {
    const START: u64 = 0xffff_8000_0010_0000;
    let source = "v_lshlrev_b32_e32 v2, 2, v0\nv_add_co_u32_e32 v2, vcc, s0, v2\nv_mov_b32_e32 v3, s1\n\
                  global_store_dword v[2:3], v0, off\ns_endpgm\n";
    let code = assemble(source, Generation::Gfx9).unwrap_or_else(|errors| panic!("{errors:?}")).code;
    let lanes: Vec<String> = (1..65).map(|lane| lane.to_string()).collect();
    let mut rest = format!(
        "registers = 8\nsgprs = 16\n[launch]\ngrid = [1, 1, 1]\nblock = [64, 1, 1]\n[registers]\nv0 = [{}]\ns0 = {}\ns1 = {}\n",
        lanes.join(", "),
        START as u32,
        START >> 32
    );
    for n in 0..count as u64 {
        let address = START + 0x2000 * n;
        let _ = write!(rest, "[[buffer]]\nname = \"b{n}\"\nbytes = 256\naddress = \"{address:#x}\"\n");
    }
    Sample::raw("gcn", "vega10", code, &rest)
}

//! Compares the functions with hardware results, from the corpus of one-instruction kernels.
//!
//! Each folder of `tesla-op` has the instruction's words in the first line of its launch file, its
//! inputs in `a.bin`, `b.bin`, `c.bin` and the hardware's results beside them.

use super::convert::{Convert, Form, Kind};
use super::{Rounding, f32, f64, sfu, sfu_tables};
use crate::testing::corpus::{Files, packed};

fn words(files: &Files, name: &str) -> Option<Vec<u32>> {
    let bytes = files.get(name)?;
    Some(bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect())
}

/// One lane's inputs.
struct Lane {
    a: u64,
    b: u64,
    c: u64,
}

struct Outcome {
    bits: u64,
    condition: Option<u32>,
    width: u32,
}

fn single(x: u32) -> Option<Outcome> {
    Some(Outcome { bits: x.into(), condition: Some(f32::condition(x)), width: 32 })
}

fn double(x: u64) -> Option<Outcome> {
    Some(Outcome { bits: x, condition: Some(f64::condition(x)), width: 64 })
}

fn truth(holds: bool) -> Option<Outcome> {
    let bits = if holds { 0xffff_ffff } else { 0 };
    Some(Outcome { bits, condition: Some(2 - u32::from(!holds)), width: 32 })
}

fn modified(x: u32, absolute: bool, negate: bool) -> u32 {
    let x = if absolute { x & !f32::SIGN } else { x };
    if negate { x ^ f32::SIGN } else { x }
}

fn convert_form(w1: u32) -> Option<Convert> {
    let bit = |n: u32| w1 >> n & 1 != 0;
    let int = |bits: u32, signed: bool| match (bits, signed) {
        (8, false) => Kind::U8,
        (8, true) => Kind::S8,
        (16, false) => Kind::U16,
        (16, true) => Kind::S16,
        (32, false) => Kind::U32,
        (32, true) => Kind::S32,
        (_, false) => Kind::U64,
        (_, true) => Kind::S64,
    };
    let (kind, wide) = (w1 >> 30, bit(22));
    let from_bits = match (wide, bit(14)) {
        (true, true) => 64,
        (true, false) | (false, true) => 32,
        _ => 16,
    };
    let to_bits = match (wide, bit(26)) {
        (true, true) => 64,
        (true, false) | (false, true) => 32,
        _ => 16,
    };
    let float = |bits| match bits {
        16 => Kind::F16,
        32 => Kind::F32,
        _ => Kind::F64,
    };
    let from = if kind >= 2 { float(from_bits) } else { int(if bit(15) { 8 } else { from_bits }, bit(16)) };
    let to = if kind & 1 != 0 {
        float(to_bits)
    } else {
        int(if kind == 0 && bit(19) { 8 } else { to_bits }, bit(27))
    };
    let form = Form {
        to,
        from,
        rounding: Rounding::from_field(w1 >> 17),
        integral: kind == 3 && bit(27),
        absolute: bit(20),
        negate: bit(29),
        saturate: kind & 1 != 0 && bit(19),
    };
    Some(Convert { form, width: to_bits })
}

fn short(w0: u32, s1: u32, s2: u32, s3: u32) -> Option<Outcome> {
    let (n1, n2) = (w0 >> 15 & 1 != 0, w0 >> 22 & 1 != 0);
    let sat = |x| if w0 >> 8 & 1 != 0 { f32::saturate(x) } else { x };
    let nearest = Rounding::Nearest;
    single(match w0 >> 28 {
        0xb => sat(f32::add(modified(s1, false, n1), modified(s2, false, n2), nearest)),
        0xc => sat(f32::mul(modified(s1, false, n1), modified(s2, false, n2), nearest)),
        0xe => sat(f32::mad(modified(s1, false, n1), s2, modified(s3, false, n2))),
        0x9 => sfu::rcp(modified(s1, n1, n2)),
        _ => return None,
    })
}

fn evaluate(w0: u32, w1: Option<u32>, lane: &Lane) -> Option<Outcome> {
    let (s1, s2, s3) = (lane.a as u32, lane.b as u32, lane.c as u32);
    let Some(w1) = w1 else { return short(w0, s1, s2, s3) };
    if w1 & 3 == 3 {
        let immediate = w0 >> 16 & 0x3f | (w1 >> 2 & 0x03ff_ffff) << 6;
        return short(w0, s1, immediate, s3);
    }
    let bit = |n: u32| w1 >> n & 1 != 0;
    let sat = |on: bool, x| if on { f32::saturate(x) } else { x };
    let (m1, m2) = (|x| modified(x, bit(20), bit(26)), |x| modified(x, bit(19), bit(27)));
    let (n1, n2) = (|x| modified(x, false, bit(26)), |x| modified(x, false, bit(27)));
    let (d1, d2) = (|x| f64::modify(x, bit(20), bit(26)), |x| f64::modify(x, bit(19), bit(27)));
    match (w0 >> 28, w1 >> 29) {
        (0xa, _) => {
            let form = convert_form(w1)?;
            assert_eq!(Convert::decode(form.encode()), form);
            Some(Outcome {
                bits: form.apply(lane.a),
                condition: Some(form.condition(lane.a)),
                width: form.width,
            })
        }
        (0xb, 0 | 1) => single(sat(bit(29), f32::add(n1(s1), n2(s3), Rounding::from_field(w0 >> 16)))),
        (0xb, 3) => truth(f32::compare(m1(s1), m2(s2)).holds(w1 >> 14)),
        (0xb, 4) => single(f32::max(m1(s1), m2(s2))),
        (0xb, 5) => single(f32::min(m1(s1), m2(s2))),
        (0xb, 6) if bit(14) => Some(Outcome { bits: sfu::preex2(m1(s1)).into(), condition: None, width: 32 }),
        (0xb, 6) => Some(Outcome { bits: sfu::presin(m1(s1)).into(), condition: None, width: 32 }),
        (0xc, 0) => single(sat(bit(20), f32::mul(n1(s1), n2(s2), Rounding::from_field(w1 >> 14)))),
        (0xe, 0 | 1) => single(sat(bit(29), f32::mad(n1(s1), s2, n2(s3)))),
        (0x9, 0) => single(sfu::rcp(m1(s1))),
        (0x9, 2) => single(sfu::rsqrt(m1(s1))),
        (0x9, 3) => single(sfu::lg2(m1(s1))),
        (0x9, 4) => single(sfu::sin(s1)),
        (0x9, 5) => single(sfu::cos(s1)),
        (0x9, 6) => single(sat(bit(27), sfu::ex2(s1))),
        (0xe, 2) => double(f64::fma(
            f64::modify(lane.a, false, bit(26)),
            lane.b,
            f64::modify(lane.c, false, bit(27)),
            Rounding::from_field(w1 >> 22),
        )),
        (0xe, 3) => double(f64::add(
            f64::modify(lane.a, false, bit(26)),
            f64::modify(lane.c, false, bit(27)),
            Rounding::from_field(w0 >> 16),
        )),
        (0xe, 4) => double(f64::mul(d1(lane.a), lane.b, Rounding::from_field(w1 >> 17))),
        (0xe, 5) => double(f64::min(d1(lane.a), d2(lane.b))),
        (0xe, 6) => double(f64::max(d1(lane.a), d2(lane.b))),
        (0xe, 7) => truth(f64::compare(d1(lane.a), d2(lane.b)).holds(w1 >> 14)),
        _ => None,
    }
}

/// The words of the instruction in `# name: [text;] 00000000: w0 [w1]  text`.
fn instruction(comment: &str) -> Option<(u32, Option<u32>)> {
    let rest = comment.split("00000000: ").nth(1)?;
    let w0 = u32::from_str_radix(rest.get(0..8)?, 16).ok()?;
    let w1 = rest.get(9..17).and_then(|t| u32::from_str_radix(t, 16).ok());
    Some((w0, w1))
}

#[test]
fn functions_agree_with_the_corpus() {
    let mut failures = Vec::new();
    let (mut families, mut lanes) = (0, 0);
    for (name, files) in packed("tesla-op") {
        let toml = String::from_utf8_lossy(&files["launch.toml"]);
        let comment = toml.lines().next().unwrap_or("");
        // More than one instruction, or one that needs its neighbours: the lifter's business.
        if comment.contains(" | ") || name.starts_with("quadop") {
            continue;
        }
        let Some((w0, w1)) = instruction(comment) else { continue };
        let Some(a) = words(&files, "a.bin") else { continue };
        let b = words(&files, "b.bin").unwrap_or_default();
        let c = words(&files, "c.bin").unwrap_or_default();
        let Some(out) = words(&files, "out.expect.bin") else { continue };
        let conditions = words(&files, "ccout.expect.bin").unwrap_or_default();
        let count = if conditions.is_empty() { a.len() } else { conditions.len() };
        let input = |data: &[u32], n: usize| -> u64 {
            if data.len() == 2 * count {
                u64::from(data[2 * n]) | u64::from(data[2 * n + 1]) << 32
            } else {
                data.get(n).copied().unwrap_or(0).into()
            }
        };
        let mut used = false;
        for n in 0..a.len().min(count) {
            let lane = Lane { a: input(&a, n), b: input(&b, n), c: input(&c, n) };
            let Some(outcome) = evaluate(w0, w1, &lane) else { break };
            used = true;
            lanes += 1;
            let wanted = input(&out, n) & (u64::MAX >> (64 - outcome.width));
            let wanted_condition = conditions.get(n).copied();
            // Short and immediate forms write no $c: the kernel stores the 15 it set before.
            let writes = wanted_condition.is_some() && w1.is_some_and(|w1| w1 & 3 != 3);
            let condition = outcome.condition.filter(|_| writes);
            if outcome.bits != wanted || condition.is_some() && condition != wanted_condition {
                failures.push(format!(
                    "{name}[{n}] {:x} {:x} {:x}: {:x}/{:?}, want {wanted:x}/{wanted_condition:?}",
                    lane.a, lane.b, lane.c, outcome.bits, condition
                ));
                if failures.len() > 400 {
                    break;
                }
            }
        }
        families += usize::from(used);
    }
    eprintln!("{families} families, {lanes} lanes");
    assert!(
        failures.is_empty(),
        "{} failures\n{}",
        failures.len(),
        failures[..failures.len().min(60)].join("\n")
    );
    assert!(families > 300, "only {families} families were found");
}

/// The rows of the tables of the model that was run against chips.
#[test]
fn tables_are_those_of_the_model() {
    let text = include_str!("../../../tests/tables/g80_sfu_tables.json");
    let tables = text.split_once("\"tables\": {").expect("the file has the tables").1;
    let check = |name: &str, rows: &[[i32; 3]]| {
        let start = format!("\"{name}\": [[");
        let table = tables.split_once(&start).unwrap_or_else(|| panic!("no table {name}")).1;
        let table = table.split_once("]]").expect("an end").0;
        let numbers = table.split([',', '[', ']', ' ']).filter(|number| !number.is_empty());
        let numbers: Vec<i32> = numbers.map(|number| number.parse().unwrap()).collect();
        assert_eq!(numbers, rows.concat(), "{name}");
    };
    check("rcp", &sfu_tables::RCP);
    check("rsqrt", &sfu_tables::RSQRT);
    check("sin", &sfu_tables::SIN);
    check("ex2", &sfu_tables::EX2);
    check("lg2", &sfu_tables::LG2);
}

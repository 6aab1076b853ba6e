//! Compares memory and registers after a run with what a launch file expects.

use serde_json::{Value, json};

use crate::launch_file::Unit;

/// The first element that differs from what was expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Index of the element, counted from where the comparison starts.
    pub index: usize,
    /// How many elements differ.
    pub count: usize,
    /// How many were compared.
    pub of: usize,
    /// Its bits as found.
    pub got: u64,
    /// Its expected bits.
    pub wanted: u64,
    /// What it is.
    pub unit: Unit,
}

/// How far a float may be from the expected one; either distance suffices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance {
    /// Units in the last place. If not zero, any NaN equals any NaN.
    pub max_ulp: u64,
    /// Absolute distance.
    pub max_abs: f64,
}

/// Compares two runs of bytes of the same length element by element.
pub fn compare(got: &[u8], wanted: &[u8], unit: Unit, tolerance: Tolerance) -> Option<Difference> {
    if got == wanted {
        return None;
    }
    let size = unit.bytes();
    let mut first = None;
    let mut count = 0;
    for (index, (got, wanted)) in got.chunks_exact(size).zip(wanted.chunks_exact(size)).enumerate() {
        if got != wanted {
            let (got, wanted) = (bits(got), bits(wanted));
            if !close(got, wanted, unit, tolerance) {
                count += 1;
                first.get_or_insert((index, got, wanted));
            }
        }
    }
    let of = wanted.len() / size;
    first.map(|(index, got, wanted)| Difference { index, count, of, got, wanted, unit })
}

fn bits(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Whether two different elements are near enough to each other.
fn close(got: u64, wanted: u64, unit: Unit, tolerance: Tolerance) -> bool {
    let (a, b, ulps) = match unit {
        Unit::F32 => {
            let (got, wanted) = (got as u32, wanted as u32);
            let ulps = u64::from(order32(got).abs_diff(order32(wanted)));
            (f64::from(f32::from_bits(got)), f64::from(f32::from_bits(wanted)), ulps)
        }
        Unit::F64 => (f64::from_bits(got), f64::from_bits(wanted), order64(got).abs_diff(order64(wanted))),
        Unit::U8 | Unit::U32 => return got == wanted,
    };
    if a.is_nan() || b.is_nan() {
        return a.is_nan() && b.is_nan() && tolerance.max_ulp > 0;
    }
    // A difference of infinities is NaN, which is not below anything.
    tolerance.max_ulp > 0 && ulps <= tolerance.max_ulp
        || tolerance.max_abs > 0.0 && (a - b).abs() <= tolerance.max_abs
}

/// Integers in the order of the floats; both zeros are 0.
fn order32(bits: u32) -> i32 {
    let magnitude = (bits & 0x7fff_ffff) as i32;
    if bits >> 31 == 0 { magnitude } else { -magnitude }
}

fn order64(bits: u64) -> i64 {
    let magnitude = (bits & (u64::MAX >> 1)) as i64;
    if bits >> 63 == 0 { magnitude } else { -magnitude }
}

/// An element as text, in its type.
pub fn show(bits: u64, unit: Unit) -> String {
    match unit {
        Unit::U8 => format!("{bits:#04x}"),
        Unit::U32 => format!("{bits:#010x} ({bits})"),
        Unit::F32 => format!("{:?} ({bits:#010x})", f32::from_bits(bits as u32)),
        Unit::F64 => format!("{:?} ({bits:#018x})", f64::from_bits(bits)),
    }
}

/// An element as JSON: a number, or a string for floats that JSON has no number for.
pub fn show_json(bits: u64, unit: Unit) -> Value {
    let float = |x: f64, text: String| if x.is_finite() { json!(x) } else { json!(text) };
    match unit {
        Unit::U8 | Unit::U32 => json!(bits),
        Unit::F32 => {
            let x = f32::from_bits(bits as u32);
            float(x.into(), x.to_string())
        }
        Unit::F64 => {
            let x = f64::from_bits(bits);
            float(x, x.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32s(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn differs(a: f32, b: f32, max_ulp: u64, max_abs: f64) -> bool {
        compare(&f32s(&[a]), &f32s(&[b]), Unit::F32, Tolerance { max_ulp, max_abs }).is_some()
    }

    #[test]
    fn first_difference_is_found_in_its_type() {
        let got = f32s(&[1.0, 2.0, 3.5, 4.0]);
        let wanted = f32s(&[1.0, 2.0, 3.0, 5.0]);
        let d = compare(&got, &wanted, Unit::F32, Tolerance::default()).unwrap();
        assert_eq!((d.index, d.count, d.of), (2, 2, 4));
        assert_eq!(show(d.got, d.unit), "3.5 (0x40600000)");
        assert_eq!(show(d.wanted, d.unit), "3.0 (0x40400000)");
    }

    #[test]
    fn without_tolerance_every_bit_counts() {
        assert!(differs(0.0, -0.0, 0, 0.0));
        assert!(differs(f32::NAN, f32::from_bits(0x7fff_ffff), 0, 0.0));
        assert!(!differs(f32::NAN, f32::NAN, 0, 0.0));
    }

    #[test]
    fn ulps_count_across_zero_and_nans_are_equal() {
        let tiny = f32::from_bits(1);
        assert!(!differs(0.0, -0.0, 1, 0.0));
        assert!(!differs(tiny, -tiny, 2, 0.0));
        assert!(differs(tiny, -tiny, 1, 0.0));
        assert!(!differs(f32::NAN, f32::from_bits(0xffff_ffff), 1, 0.0));
        assert!(differs(f32::NAN, 1.0, u64::MAX, f64::INFINITY));
        assert!(!differs(1.0, 1.0 + 4.0 * f32::EPSILON, 4, 0.0));
        assert!(differs(1.0, 1.0 + 4.0 * f32::EPSILON, 3, 0.0));
    }

    #[test]
    fn either_distance_suffices() {
        assert!(!differs(1000.0, 1000.5, 0, 0.5));
        assert!(differs(1000.0, 1000.75, 1, 0.5));
        assert!(differs(f32::INFINITY, f32::NEG_INFINITY, 0, 1e300));
        let a = 1.0f64.to_le_bytes();
        let b = f64::from_bits(1.0f64.to_bits() + 3).to_le_bytes();
        assert_eq!(compare(&a, &b, Unit::F64, Tolerance { max_ulp: 3, max_abs: 0.0 }), None);
        assert!(compare(&a, &b, Unit::F64, Tolerance { max_ulp: 2, max_abs: 0.0 }).is_some());
    }
}

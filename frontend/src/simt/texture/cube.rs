//! Face and point on it of a cube's direction, as `texprep cube` gives them; docs/hardware/textures-nv.md section 9.

/// The face, and the point on it from 0 to 1.
pub(super) fn face_point(direction: [f32; 3]) -> (u32, [f32; 2]) {
    let [x, y, z] = direction.map(|c| if c.is_finite() { c } else { 0.0 });
    let [ax, ay, az] = [x, y, z].map(f32::abs);
    // Of equal ones z counts before y before x.
    let (face, s, t, m) = if az >= ax && az >= ay {
        if z >= 0.0 { (4, x, -y, az) } else { (5, -x, -y, az) }
    } else if ay >= ax {
        if y >= 0.0 { (2, x, z, ay) } else { (3, x, -z, ay) }
    } else if x >= 0.0 {
        (0, -z, -y, ax)
    } else {
        (1, z, -y, ax)
    };
    let on = |c: f32| if m == 0.0 { 0.5 } else { (c / m + 1.0) * 0.5 };
    (face, [on(s), on(t)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces() {
        assert_eq!(face_point([2.0, 0.0, 0.0]), (0, [0.5, 0.5]));
        assert_eq!(face_point([-1.0, 0.5, 0.0]), (1, [0.5, 0.25]));
        assert_eq!(face_point([1.0, 1.0, 1.0]), (4, [1.0, 0.0]));
        assert_eq!(face_point([0.0; 3]), (4, [0.5, 0.5]));
    }
}

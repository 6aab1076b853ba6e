//! Faces of cubes: which one a direction meets and where, and what lies beyond its edges; docs/hardware/textures-nv.md section 9,
//! docs/hardware/graphics-gcn.md section 5.3.

use std::ops::Neg;

/// `[s, t, m]` of a vector on a face: m along the face's axis, positive in front.
fn axes<T: Neg<Output = T>>(face: u32, [x, y, z]: [T; 3]) -> [T; 3] {
    match face {
        0 => [-z, -y, x],
        1 => [z, -y, -x],
        2 => [x, z, y],
        3 => [x, -z, -y],
        4 => [x, -y, z],
        _ => [-x, -y, -z],
    }
}

/// The vector with these `[s, t, m]` on a face.
fn vector(face: u32, [s, t, m]: [i64; 3]) -> [i64; 3] {
    match face {
        0 => [m, -t, -s],
        1 => [-m, -t, s],
        2 => [s, m, t],
        3 => [s, -m, -t],
        4 => [s, -t, m],
        _ => [-s, -t, -m],
    }
}

/// The face in whose direction a vector points; of equal components z counts before y before x.
fn face(magnitude: [f64; 3], negative: [bool; 3]) -> u32 {
    let [x, y, z] = magnitude;
    let axis = if z >= x && z >= y {
        2
    } else if y >= x {
        1
    } else {
        0
    };
    2 * axis + u32::from(negative[axis as usize])
}

/// A direction on its face.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Projected {
    pub face: u32,
    s: f64,
    t: f64,
    m: f64,
}

impl Projected {
    /// Where a direction meets the cube. Components that are no finite numbers count as 0.
    pub fn new(direction: [f32; 3]) -> Self {
        let d = direction.map(|c| if c.is_finite() { f64::from(c) } else { 0.0 });
        let face = face(d.map(f64::abs), d.map(|c| c < 0.0));
        let [s, t, m] = axes(face, d);
        Projected { face, s, t, m }
    }

    /// The place on the face, 0 to 1; that of no direction is its middle.
    pub fn place(&self) -> [f64; 2] {
        if self.m == 0.0 {
            return [0.5; 2];
        }
        [self.s, self.t].map(|c| (c / self.m + 1.0) / 2.0)
    }

    /// How the place changes with the direction.
    pub fn derivative(&self, change: [f32; 3]) -> [f64; 2] {
        let [ds, dt, dm] = axes(self.face, change.map(f64::from));
        [(self.s, ds), (self.t, dt)].map(|(c, dc)| (dc * self.m - c * dm) / (2.0 * self.m * self.m))
    }
}

/// Face and texel that lie where a face's texel (i, j) would be, one of whose numbers is outside of 0 to n - 1.
pub(super) fn neighbour(of: u32, i: i64, j: i64, n: u32) -> (u32, [u32; 2]) {
    // Twice the distance of a texel from the middle of the face, whose edges are at n. A texel beyond one edge is as far down the
    // neighbour as it was out.
    let n = i64::from(n.max(1));
    let middle = |i: i64| 2 * i + 1 - n;
    let (s, t) = (middle(i), middle(j));
    let inner = |c: i64| c.clamp(1 - n, n - 1);
    let down = |c: i64| inner(2 * n - c.abs());
    let v = if s.abs() >= n {
        vector(of, [n * s.signum(), inner(t), down(s)])
    } else {
        vector(of, [inner(s), n * t.signum(), down(t)])
    };
    let face = face(v.map(|c| c.abs() as f64), v.map(|c| c < 0));
    let [s, t, _] = axes(face, v);
    (face, [s, t].map(|c| ((inner(c) + n - 1) / 2) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of docs/hardware/textures-nv.md section 9: at 1, 0.5, 0.25 (largest, then the other two in order).
    #[test]
    fn faces() {
        let table = [
            ([1.0, 0.5, 0.25], 0, [-0.25, -0.5]),
            ([-1.0, 0.5, 0.25], 1, [0.25, -0.5]),
            ([0.5, 1.0, 0.25], 2, [0.5, 0.25]),
            ([0.5, -1.0, 0.25], 3, [0.5, -0.25]),
            ([0.5, 0.25, 1.0], 4, [0.5, -0.25]),
            ([0.5, 0.25, -1.0], 5, [-0.5, -0.25]),
        ];
        for (direction, face, st) in table {
            for scale in [1.0, 8.0] {
                let projected = Projected::new(direction.map(|c: f32| c * scale));
                assert_eq!((projected.face, projected.place()), (face, st.map(|c| (c + 1.0) / 2.0)));
            }
        }
    }

    #[test]
    fn ties_and_what_is_no_direction() {
        assert_eq!(Projected::new([1.0, 1.0, 1.0]).face, 4);
        assert_eq!(Projected::new([1.0, -1.0, -1.0]).face, 5);
        assert_eq!(Projected::new([1.0, -1.0, 0.5]).face, 3);
        for nothing in [[0.0; 3], [-0.0; 3], [f32::NAN; 3], [f32::INFINITY; 3]] {
            let projected = Projected::new(nothing);
            assert_eq!((projected.face, projected.place()), (4, [0.5, 0.5]));
        }
    }

    #[test]
    fn derivatives() {
        let at = [4.0, 1.0, -2.0];
        let change = [0.001, 0.002, 0.003];
        let moved: [f32; 3] = std::array::from_fn(|k| at[k] + change[k]);
        let (here, there) = (Projected::new(at), Projected::new(moved));
        let (from, to) = (here.place(), there.place());
        for (k, derivative) in here.derivative(change).into_iter().enumerate() {
            assert!((to[k] - from[k] - derivative).abs() < 1e-6);
        }
        assert!(Projected::new([0.0; 3]).derivative([1.0; 3])[0].is_nan());
    }

    /// A texel beyond an edge is the one whose direction is nearest to that of the place outside.
    #[test]
    fn neighbours_are_continuous() {
        let n = 4i64;
        for of in 0..6 {
            for along in 0..n {
                for (i, j) in [(-1, along), (n, along), (along, -1), (along, n)] {
                    let (face, [x, y]) = neighbour(of, i, j, n as u32);
                    assert_ne!(face, of);
                    let middle = |i: i64| 2 * i + 1 - n;
                    let outside = vector(of, [middle(i), middle(j), n]);
                    let texel = vector(face, [middle(x.into()), middle(y.into()), n]);
                    // Both are within one texel of the common edge, and at the same place along it.
                    let distance: i64 = (0..3).map(|k| (outside[k] - texel[k]).pow(2)).sum();
                    assert_eq!(distance, 2, "{of} ({i}, {j}) is {face} ({x}, {y})");
                }
            }
        }
        assert_eq!(neighbour(0, 4, 1, 4), (5, [0, 1]));
        for (i, j) in [(i64::from(i32::MIN), 0), (0, 1 << 50)] {
            for n in [0, 1, u32::MAX] {
                let (face, texel) = neighbour(2, i, j, n);
                assert!(face < 6 && texel.iter().all(|&c| c < n.max(1)));
            }
        }
    }
}

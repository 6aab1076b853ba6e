//! Clipping in clip space. What is left of a triangle is a polygon, whose corners say how much of the triangle's corners is in them.

/// Which planes clip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clipping {
    pub enabled: bool,
    pub near: bool,
    pub far: bool,
    /// Depths in front of the near plane are below 0, not below -w.
    pub zero_to_one: bool,
}

/// A corner of a polygon: its position, and the weights of the triangle's corners.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Corner {
    pub position: [f64; 4],
    pub weights: [f64; 3],
}

/// The least w: points behind the eye are not on the screen.
const LEAST_W: f64 = 1e-9;

impl Corner {
    /// A corner of the triangle itself.
    pub fn of(number: usize, position: [f32; 4]) -> Corner {
        let mut weights = [0.0; 3];
        weights[number] = 1.0;
        Corner { position: position.map(f64::from), weights }
    }

    /// The sum of three numbers of the triangle's corners.
    pub fn mix(&self, values: [f64; 3]) -> f64 {
        self.weights
            .iter()
            .zip(values)
            .map(|(weight, value)| if *weight == 0.0 { 0.0 } else { weight * value })
            .sum()
    }

    fn between(&self, other: &Corner, share: f64) -> Corner {
        let part = |a: f64, b: f64| a + (b - a) * share;
        Corner {
            position: std::array::from_fn(|n| part(self.position[n], other.position[n])),
            weights: std::array::from_fn(|n| part(self.weights[n], other.weights[n])),
        }
    }
}

/// Keeps what is at a distance of at least 0 from a plane.
fn cut(polygon: &mut Vec<Corner>, distance: impl Fn(&Corner) -> f64) {
    let distances: Vec<f64> = polygon.iter().map(&distance).collect();
    // A distance that is no number is outside.
    let inside = |distance: f64| distance >= 0.0;
    if distances.iter().all(|distance| inside(*distance)) {
        return;
    }
    let mut kept = Vec::with_capacity(polygon.len() + 1);
    for (n, corner) in polygon.iter().enumerate() {
        let next = (n + 1) % polygon.len();
        let (here, there) = (distances[n], distances[next]);
        if inside(here) {
            kept.push(*corner);
        }
        if inside(here) != inside(there) && here.is_finite() && there.is_finite() {
            // From inside to outside in both directions, so that neighbours get the same point.
            let (from, to, a, b) = match inside(here) {
                true => (corner, &polygon[next], here, there),
                false => (&polygon[next], corner, there, here),
            };
            kept.push(from.between(to, a / (a - b)));
        }
    }
    *polygon = kept;
}

impl Clipping {
    /// Clips a polygon. `guard`: how far X and Y may be from 0, in w. `distances`: of the triangle's corners from further planes.
    pub fn clip(&self, polygon: &mut Vec<Corner>, guard: Option<[f64; 2]>, distances: &[[f64; 3]]) {
        cut(polygon, |corner| corner.position[3] - LEAST_W);
        if self.enabled {
            let low = if self.zero_to_one { 0.0 } else { 1.0 };
            if self.near {
                cut(polygon, |corner| corner.position[2] + low * corner.position[3]);
            }
            if self.far {
                cut(polygon, |corner| corner.position[3] - corner.position[2]);
            }
            for values in distances {
                cut(polygon, |corner| corner.mix(*values));
            }
        }
        for (axis, most) in guard.into_iter().flatten().enumerate() {
            cut(polygon, |corner| most * corner.position[3] - corner.position[axis]);
            cut(polygon, |corner| most * corner.position[3] + corner.position[axis]);
        }
        if polygon.iter().any(|corner| corner.position.iter().any(|part| !part.is_finite())) {
            polygon.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Clipping = Clipping { enabled: true, near: true, far: true, zero_to_one: true };

    fn clipped(corners: [[f32; 4]; 3], clipping: Clipping, distances: &[[f64; 3]]) -> Vec<Corner> {
        let mut polygon: Vec<Corner> =
            corners.iter().enumerate().map(|(n, position)| Corner::of(n, *position)).collect();
        clipping.clip(&mut polygon, Some([64.0; 2]), distances);
        polygon
    }

    #[test]
    fn near_and_far() {
        let inside = [[0.0, 0.0, 0.5, 1.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 1.0]];
        assert_eq!(clipped(inside, ALL, &[]).len(), 3);
        let before = [[0.0, 0.0, -0.5, 1.0], [1.0, 0.0, 0.5, 1.0], [0.0, 1.0, 0.5, 1.0]];
        let polygon = clipped(before, ALL, &[]);
        assert_eq!(polygon.len(), 4);
        assert!(polygon.iter().all(|corner| corner.position[2] >= 0.0));
        for corner in &polygon {
            let sum: f64 = corner.weights.iter().sum();
            assert!((sum - 1.0).abs() < 1e-12);
            assert!((corner.mix([-0.5, 0.5, 0.5]) - corner.position[2]).abs() < 1e-12);
        }
        assert_eq!(clipped(before, Clipping { near: false, ..ALL }, &[]).len(), 3);
        assert_eq!(clipped(before, Clipping { zero_to_one: false, ..ALL }, &[]).len(), 3);
    }

    #[test]
    fn behind_the_eye_and_far_out() {
        let behind = [[0.0, 0.0, 0.5, -1.0]; 3];
        assert!(clipped(behind, Clipping { enabled: false, ..ALL }, &[]).is_empty());
        let wide = [[-1e9, 0.0, 0.5, 1.0], [1e9, 0.0, 0.5, 1.0], [0.0, 1.0, 0.5, 1.0]];
        assert!(clipped(wide, ALL, &[]).iter().all(|corner| corner.position[0].abs() <= 64.001));
        let nan = [[f32::NAN, 0.0, 0.5, 1.0], [1.0, 0.0, 0.5, 1.0], [0.0, 1.0, 0.5, 1.0]];
        assert!(
            clipped(nan, Clipping { enabled: false, ..ALL }, &[])
                .iter()
                .all(|corner| corner.position[0].is_finite())
        );
    }

    #[test]
    fn further_planes() {
        let inside = [[0.0, 0.0, 0.5, 1.0], [1.0, 0.0, 0.5, 1.0], [0.0, 1.0, 0.5, 1.0]];
        assert_eq!(clipped(inside, ALL, &[[-1.0, 1.0, 1.0]]).len(), 4);
        assert!(clipped(inside, ALL, &[[-1.0; 3]]).is_empty());
    }
}

//! Derivatives of cube coordinates where the lanes of a quad are on different faces: the places of all lanes are moved to one face.

/// Places on faces, 0 to 1, as places on the first one's face, which reaches beyond its edges there: a quad that crosses an edge
/// has the changes that the direction has. Documents do not say what hardware does; pictures show no seams.
pub(super) fn on_first(places: [(u32, [f32; 3]); 3]) -> [[f32; 3]; 3] {
    let (face, _) = places[0];
    places.map(|(other, at)| if other == face { at } else { project(face, direction(other, at)) })
}

/// The direction of a place, the greatest component being 1 or -1.
fn direction(face: u32, [s, t, _]: [f32; 3]) -> [f32; 3] {
    let (s, t) = (2.0 * s - 1.0, 2.0 * t - 1.0);
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

/// Where a direction meets the plane of a face. One that leads away from it is far outside.
fn project(face: u32, [x, y, z]: [f32; 3]) -> [f32; 3] {
    const LEAST: f32 = 1.0 / 256.0;
    let (s, t, along) = match face {
        0 => (-z, -y, x),
        1 => (z, -y, -x),
        2 => (x, z, y),
        3 => (x, -z, -y),
        4 => (x, -y, z),
        _ => (-x, -y, -z),
    };
    let along = along.max(LEAST);
    [0.5 * (s / along + 1.0), 0.5 * (t / along + 1.0), 0.0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_come_back() {
        for face in 0..6 {
            assert_eq!(project(face, direction(face, [0.25, 0.875, 0.0])), [0.25, 0.875, 0.0]);
        }
    }

    /// Two pixels at both sides of an edge are near each other.
    #[test]
    fn edges_have_no_step() {
        for first in 0..6 {
            for k in 0..4 {
                let edge = [[0.99, 0.3, 0.0], [0.01, 0.3, 0.0], [0.3, 0.99, 0.0], [0.3, 0.01, 0.0]][k];
                let beyond = [[1.01, 0.3, 0.0], [-0.01, 0.3, 0.0], [0.3, 1.01, 0.0], [0.3, -0.01, 0.0]][k];
                // The direction beyond the edge as the neighbour's place: of the face with the greatest component.
                let d = direction(first, beyond);
                let axis = (0..3).max_by(|&a, &b| d[a].abs().total_cmp(&d[b].abs())).unwrap();
                let other = 2 * axis as u32 + u32::from(d[axis] < 0.0);
                assert_ne!(other, first);
                let place = project(other, d);
                let [_, back, _] = on_first([(first, edge), (other, place), (first, edge)]);
                for axis in 0..2 {
                    assert!((back[axis] - beyond[axis]).abs() < 1e-5, "{first} {k} {back:?}");
                }
            }
        }
    }

    #[test]
    fn one_face_stays_as_it_is() {
        let places = [(3, [0.1, 0.2, 0.0]), (3, [0.3, 0.2, 0.0]), (3, [f32::NAN, 0.5, 0.0])];
        let found = on_first(places);
        assert_eq!(found[..2], [[0.1, 0.2, 0.0], [0.3, 0.2, 0.0]]);
        assert!(found[2][0].is_nan());
    }
}

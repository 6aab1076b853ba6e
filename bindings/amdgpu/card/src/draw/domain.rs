//! The fixed part of tessellation: from factors to points of a patch, and primitives between them.
//!
//! Where parts of unequal length are, and which diagonals are taken, is left open by OpenGL and Vulkan. Here the two short parts of a side
//! with a fractional factor are its first and its last.

use std::collections::HashMap;

/// How a side is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spacing {
    Integer,
    PowersOfTwo,
    Odd,
    Even,
}

/// What a patch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Domain {
    Lines,
    Triangle,
    Quad,
}

/// Points of a patch, and the corners of its primitives: one, two or three, as the kind of primitives has them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Mesh {
    pub points: Vec<[f32; 2]>,
    pub primitives: Vec<Vec<u32>>,
    /// The numbers of points.
    places: HashMap<[u32; 2], u32>,
}

impl Spacing {
    /// A factor as it counts, and the parts of a side.
    fn parts(self, factor: f32) -> (f32, usize) {
        let (least, most) = match self {
            Spacing::Integer | Spacing::PowersOfTwo => (1.0, 64.0),
            Spacing::Odd => (1.0, 63.0),
            Spacing::Even => (2.0, 64.0),
        };
        let factor = factor.max(least).min(most);
        let whole = factor.ceil();
        let parts = match self {
            Spacing::Integer => whole as usize,
            Spacing::PowersOfTwo => (whole as usize).next_power_of_two(),
            Spacing::Odd => whole as usize / 2 * 2 + 1,
            Spacing::Even => (whole as usize).next_multiple_of(2),
        };
        (factor, parts)
    }

    /// The cuts of a side, both ends included. What is at t and at 1 - t is alike.
    fn cuts(self, factor: f32) -> Vec<f32> {
        let (factor, parts) = self.parts(factor);
        let equal = match self {
            Spacing::Integer | Spacing::PowersOfTwo => 1.0 / parts as f32,
            Spacing::Odd | Spacing::Even => 1.0 / factor,
        };
        let at = |n: usize| match n {
            0 => 0.0,
            _ if 2 * n == parts => 0.5,
            // From the middle: all parts but the first and the last are equal.
            _ => 0.5 - (parts as f32 / 2.0 - n as f32) * equal,
        };
        (0..=parts).map(|n| if 2 * n <= parts { at(n) } else { 1.0 - at(parts - n) }).collect()
    }

    /// The cuts inside a patch some of whose sides are cut: there are at least two parts then.
    fn inner(self, factor: f32, is_cut: bool) -> Vec<f32> {
        let factor = if is_cut { factor.max(1.0 + f32::EPSILON) } else { factor };
        self.cuts(factor)
    }
}

/// A point on the way from one point to another.
fn between(from: [f32; 2], to: [f32; 2], share: f32) -> [f32; 2] {
    [0, 1].map(|axis| if share == 1.0 { to[axis] } else { from[axis] + (to[axis] - from[axis]) * share })
}

impl Mesh {
    fn point(&mut self, point: [f32; 2]) -> u32 {
        let next = self.points.len() as u32;
        let place = *self.places.entry(point.map(f32::to_bits)).or_insert(next);
        if place == next {
            self.points.push(point);
        }
        place
    }

    /// A triangle, counter-clockwise with u to the right and v up; none if it has no area.
    fn triangle(&mut self, corners: [u32; 3]) {
        let [a, b, c] = corners.map(|corner| self.points[corner as usize].map(f64::from));
        let area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
        let [a, b, c] = corners;
        if area.abs() > 1e-12 {
            self.primitives.push(if area > 0.0 { vec![a, b, c] } else { vec![a, c, b] });
        }
    }

    /// Triangles between two rows of points, which lie side by side; with each point its place along the rows.
    fn strip(&mut self, one: &[(u32, f32)], other: &[(u32, f32)]) {
        let (mut i, mut j) = (0, 0);
        while i + 1 < one.len() || j + 1 < other.len() {
            let middle = |row: &[(u32, f32)], at: usize| (row[at].1 + row[at + 1].1) / 2.0;
            let is_one = j + 1 == other.len() || i + 1 < one.len() && middle(one, i) <= middle(other, j);
            if is_one {
                self.triangle([one[i].0, one[i + 1].0, other[j].0]);
                i += 1;
            } else {
                self.triangle([one[i].0, other[j + 1].0, other[j].0]);
                j += 1;
            }
        }
    }

    /// Points from one corner to another.
    fn side(&mut self, from: [f32; 2], to: [f32; 2], cuts: &[f32]) -> Vec<(u32, f32)> {
        cuts.iter().map(|cut| (self.point(between(from, to, *cut)), *cut)).collect()
    }
}

/// The inner points of a side, as shares of the way between its outermost ones; of places along the whole side.
fn middle(cuts: &[f32], ring: usize) -> Vec<(f32, f32)> {
    let own = &cuts[ring..cuts.len() - ring];
    let (first, last) = (own[0], own[own.len() - 1]);
    let share = |cut: f32| if last > first { (cut - first) / (last - first) } else { 0.0 };
    own.iter().map(|cut| (share(*cut), *cut)).collect()
}

fn triangle(spacing: Spacing, outer: [f32; 3], inner: f32) -> Mesh {
    let mut mesh = Mesh::default();
    // Corners at u = 1, v = 1, w = 1. The side without u is between the latter two, and so on.
    let corners = |inwards: f32| {
        let (far, near) = (1.0 - 4.0 * inwards / 3.0, 2.0 * inwards / 3.0);
        [[far, near], [near, far], [near, near]]
    };
    let sides = [(1, 2), (2, 0), (0, 1)];
    let outer = outer.map(|factor| spacing.cuts(factor));
    let is_cut = outer.iter().any(|cuts| cuts.len() > 2) || spacing.parts(inner).1 > 1;
    let cuts = spacing.inner(inner, is_cut);
    let whole = corners(0.0);
    if !is_cut {
        let [a, b, c] = whole.map(|corner| mesh.point(corner));
        mesh.triangle([a, b, c]);
        return mesh;
    }
    let parts = cuts.len() - 1;
    let mut rows: Vec<Vec<(u32, f32)>> =
        sides.iter().zip(&outer).map(|(&(from, to), cuts)| mesh.side(whole[from], whole[to], cuts)).collect();
    for ring in 1..=parts / 2 {
        // All corners meet in the middle.
        let own = if 2 * ring == parts { [[1.0 / 3.0; 2]; 3] } else { corners(cuts[ring]) };
        let shares = middle(&cuts, ring);
        let next: Vec<Vec<(u32, f32)>> = sides
            .iter()
            .map(|&(from, to)| {
                let place =
                    |(share, cut): &(f32, f32)| (mesh.point(between(own[from], own[to], *share)), *cut);
                shares.iter().map(place).collect()
            })
            .collect();
        rows.iter().zip(&next).for_each(|(row, next)| mesh.strip(row, next));
        rows = next;
    }
    // With an odd number of parts a triangle is left.
    if parts % 2 == 1 {
        let [a, b, c] = [0, 1, 2].map(|side: usize| rows[side][0].0);
        mesh.triangle([a, b, c]);
    }
    mesh
}

fn quad(spacing: Spacing, outer: [f32; 4], inner: [f32; 2]) -> Mesh {
    let mut mesh = Mesh::default();
    let outer = outer.map(|factor| spacing.cuts(factor));
    let is_cut =
        outer.iter().any(|cuts| cuts.len() > 2) || inner.iter().any(|factor| spacing.parts(*factor).1 > 1);
    if !is_cut {
        let [a, b, c, d] = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]].map(|point| mesh.point(point));
        mesh.triangle([a, b, c]);
        mesh.triangle([a, c, d]);
        return mesh;
    }
    let [across, up] = inner.map(|factor| spacing.inner(factor, true));
    let (columns, rows) = (across.len() - 1, up.len() - 1);
    // Sides without u, without v, and those across from them.
    let around = [
        mesh.side([0.0, 0.0], [0.0, 1.0], &outer[0]),
        mesh.side([0.0, 0.0], [1.0, 0.0], &outer[1]),
        mesh.side([1.0, 0.0], [1.0, 1.0], &outer[2]),
        mesh.side([0.0, 1.0], [1.0, 1.0], &outer[3]),
    ];
    let mut grid: Vec<Vec<(u32, f32)>> = Vec::new();
    for v in &up[1..rows] {
        grid.push(across[1..columns].iter().map(|u| (mesh.point([*u, *v]), *u)).collect());
    }
    let edge = |column: usize| -> Vec<(u32, f32)> {
        grid.iter().zip(&up[1..rows]).map(|(row, v)| (row[column].0, *v)).collect()
    };
    let inside = [edge(0), grid[0].clone(), edge(columns - 2), grid[rows - 2].clone()];
    around.iter().zip(&inside).for_each(|(side, inside)| mesh.strip(side, inside));
    grid.windows(2).for_each(|rows| mesh.strip(&rows[0], &rows[1]));
    mesh
}

/// Lines: so many, of so many parts each.
fn lines(spacing: Spacing, parts: f32, count: f32) -> Mesh {
    let mut mesh = Mesh::default();
    let count = Spacing::Integer.parts(count).1;
    let cuts = spacing.cuts(parts);
    for number in 0..count {
        let v = number as f32 / count as f32;
        let line = mesh.side([0.0, v], [1.0, v], &cuts);
        mesh.primitives.extend(line.windows(2).map(|ends| vec![ends[0].0, ends[1].0]));
    }
    mesh
}

impl Domain {
    /// Factors of a patch, as programs write them: those of the sides, then those inside.
    pub fn factors(self) -> usize {
        match self {
            Domain::Lines => 2,
            Domain::Triangle => 4,
            Domain::Quad => 6,
        }
    }

    /// What becomes of a patch. Triangles are counter-clockwise with u to the right and v up.
    pub fn mesh(self, spacing: Spacing, factors: &[f32]) -> Mesh {
        let at = |n: usize| factors.get(n).copied().unwrap_or(0.0);
        let sides = match self {
            Domain::Lines => 2,
            Domain::Triangle => 3,
            Domain::Quad => 4,
        };
        // Also those that are no number.
        if !(0..sides).all(|side| at(side) > 0.0) {
            return Mesh::default();
        }
        match self {
            Domain::Lines => lines(spacing, at(0), at(1)),
            Domain::Triangle => triangle(spacing, [at(0), at(1), at(2)], at(3)),
            Domain::Quad => quad(spacing, [at(0), at(1), at(2), at(3)], [at(4), at(5)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The area that triangles cover; all of them are counter-clockwise.
    fn area(mesh: &Mesh) -> f64 {
        let corner = |corner: &u32| mesh.points[*corner as usize].map(f64::from);
        let of = |corners: &Vec<u32>| {
            let [a, b, c] = [corner(&corners[0]), corner(&corners[1]), corner(&corners[2])];
            let area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
            assert!(area > 0.0);
            area / 2.0
        };
        mesh.primitives.iter().map(of).sum()
    }

    /// Sides that only one triangle has lie on the patch's own sides.
    fn is_closed(mesh: &Mesh, is_border: impl Fn([f32; 2], [f32; 2]) -> bool) {
        let mut sides = std::collections::BTreeMap::new();
        for corners in &mesh.primitives {
            for n in 0..3 {
                *sides.entry((corners[n], corners[(n + 1) % 3])).or_insert(0) += 1;
            }
        }
        for (&(from, to), &count) in &sides {
            assert_eq!(count, 1);
            if !sides.contains_key(&(to, from)) {
                assert!(is_border(mesh.points[from as usize], mesh.points[to as usize]));
            }
        }
    }

    #[test]
    fn cuts_of_sides() {
        assert_eq!(Spacing::Integer.cuts(3.2), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(Spacing::PowersOfTwo.cuts(5.0).len(), 9);
        assert_eq!(Spacing::Odd.cuts(1.0), [0.0, 1.0]);
        assert_eq!(Spacing::Even.cuts(0.5), [0.0, 0.5, 1.0]);
        assert_eq!(Spacing::Even.cuts(4.0), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(Spacing::Odd.cuts(2.0), [0.0, 0.25, 0.75, 1.0]);
        assert_eq!(Spacing::Integer.cuts(1e9).len(), 65);
        for spacing in [Spacing::Integer, Spacing::PowersOfTwo, Spacing::Odd, Spacing::Even] {
            for factor in 1..640 {
                let cuts = spacing.cuts(factor as f32 / 10.0);
                assert!(cuts.windows(2).all(|pair| pair[0] < pair[1]), "{spacing:?} {factor}: {cuts:?}");
                let turned: Vec<f32> = cuts.iter().rev().map(|cut| 1.0 - cut).collect();
                assert!(turned.iter().zip(&cuts).all(|(one, other)| (one - other).abs() < 1e-6));
            }
        }
    }

    #[test]
    fn patches_are_covered_once() {
        let factors = [1.0, 1.3, 2.0, 3.0, 4.7, 7.0, 12.0, 64.0];
        for spacing in [Spacing::Integer, Spacing::PowersOfTwo, Spacing::Odd, Spacing::Even] {
            for (n, &one) in factors.iter().enumerate() {
                for &inner in &factors {
                    let other = factors[(n + 3) % 8];
                    let mesh = Domain::Triangle.mesh(spacing, &[one, other, 2.0, inner]);
                    assert!((area(&mesh) - 0.5).abs() < 1e-5, "{spacing:?} {one} {other} {inner}");
                    is_closed(&mesh, |a, b| {
                        let of = |[u, v]: [f32; 2]| [u, v, 1.0 - u - v];
                        of(a).iter().zip(of(b)).any(|(a, b)| a.abs() < 1e-6 && b.abs() < 1e-6)
                    });
                    let mesh = Domain::Quad.mesh(spacing, &[one, other, 3.0, 1.0, inner, other]);
                    assert!((area(&mesh) - 1.0).abs() < 1e-5, "{spacing:?} {one} {other} {inner}");
                    is_closed(&mesh, |a, b| (0..2).any(|n| a[n] == b[n] && (a[n] == 0.0 || a[n] == 1.0)));
                }
            }
        }
    }

    #[test]
    fn known_patches() {
        let single = Domain::Triangle.mesh(Spacing::Integer, &[1.0; 4]);
        assert_eq!((single.points.len(), single.primitives.len()), (3, 1));
        // Six triangles around the middle.
        let two = Domain::Triangle.mesh(Spacing::Integer, &[2.0; 4]);
        assert_eq!((two.points.len(), two.primitives.len()), (7, 6));
        assert!(two.points.iter().any(|point| point.iter().all(|part| (part - 1.0 / 3.0).abs() < 1e-6)));
        let grid = Domain::Quad.mesh(Spacing::Integer, &[4.0; 6]);
        assert_eq!((grid.points.len(), grid.primitives.len()), (25, 32));
        let single = Domain::Quad.mesh(Spacing::Integer, &[1.0; 6]);
        assert_eq!((single.points.len(), single.primitives.len()), (4, 2));
        let lines = Domain::Lines.mesh(Spacing::Integer, &[3.0, 2.0]);
        assert_eq!((lines.points.len(), lines.primitives.len()), (8, 6));
        assert_eq!(lines.points[4], [0.0, 0.5]);
        for factors in [[0.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, 1.0], [1.0, 1.0, f32::NAN, 1.0]] {
            assert_eq!(Domain::Triangle.mesh(Spacing::Integer, &factors), Mesh::default());
        }
    }
}

//! Primitives from lists of vertices.

use super::Refused;

/// What is drawn by a primitive's corners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Triangle,
    /// The rectangle around three corners.
    Rectangle,
    Line,
    Point,
}

/// A primitive: the numbers of its vertices. The first one gives flat attributes. Lines and points repeat their last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Primitive {
    pub shape: Shape,
    pub corners: [u32; 3],
}

impl Primitive {
    /// Its corners in the order in which vertices came, as numbers of corners.
    pub fn order(&self, last_provokes: bool) -> Vec<usize> {
        match (self.shape, last_provokes) {
            (Shape::Triangle, true) => vec![1, 2, 0],
            (Shape::Triangle | Shape::Rectangle, _) => vec![0, 1, 2],
            (Shape::Line, true) => vec![1, 0],
            (Shape::Line, false) => vec![0, 1],
            (Shape::Point, _) => vec![0],
        }
    }
}

/// The vertices of primitives for geometry programs, which get those of their neighbours, too; and how many each has.
///
/// # Errors
/// The kind of primitives is not known.
pub(super) fn lists(
    kind: u32,
    vertices: &[Option<u32>],
    last_provokes: bool,
) -> Result<(Vec<u32>, usize), Refused> {
    let runs =
        || vertices.split(Option::is_none).map(|run| run.iter().flatten().copied().collect::<Vec<u32>>());
    let whole = |each: usize| runs().flat_map(|run| run[..run.len() / each * each].to_vec()).collect();
    Ok(match kind {
        kind::LINES_ADJACENCY => (whole(4), 4),
        kind::TRIANGLES_ADJACENCY => (whole(6), 6),
        kind::LINE_STRIP_ADJACENCY => {
            (runs().flat_map(|run| run.windows(4).flatten().copied().collect::<Vec<u32>>()).collect(), 4)
        }
        kind::STRIP_ADJACENCY => return Err(Refused("strips of triangles with neighbours")),
        _ => {
            let primitives = assemble(kind, vertices, last_provokes)?;
            let each = primitives.first().map_or(1, |primitive| primitive.order(last_provokes).len());
            let corners = |primitive: &Primitive| {
                let order = primitive.order(last_provokes);
                order.into_iter().map(|corner| primitive.corners[corner]).collect::<Vec<u32>>()
            };
            (primitives.iter().flat_map(corners).collect(), each)
        }
    })
}

/// Kinds of primitives by VGT_PRIMITIVE_TYPE.
mod kind {
    pub const POINTS: u32 = 1;
    pub const LINES: u32 = 2;
    pub const LINE_STRIP: u32 = 3;
    pub const TRIANGLES: u32 = 4;
    pub const FAN: u32 = 5;
    pub const STRIP: u32 = 6;
    pub const LINES_ADJACENCY: u32 = 0xa;
    pub const LINE_STRIP_ADJACENCY: u32 = 0xb;
    pub const TRIANGLES_ADJACENCY: u32 = 0xc;
    pub const STRIP_ADJACENCY: u32 = 0xd;
    pub const RECTANGLES: u32 = 0x11;
    pub const LINE_LOOP: u32 = 0x12;
    pub const QUADS: u32 = 0x13;
    pub const QUAD_STRIP: u32 = 0x14;
    pub const POLYGON: u32 = 0x15;
}

/// Puts primitives together. `vertices` has the numbers of vertices; `None` ends a strip. `last_provokes`: the last vertex of a primitive
/// gives flat attributes.
///
/// # Errors
/// The kind of primitives is not known.
pub(super) fn assemble(
    kind: u32,
    vertices: &[Option<u32>],
    last_provokes: bool,
) -> Result<Vec<Primitive>, Refused> {
    let mut out = Vec::new();
    for run in vertices.split(Option::is_none) {
        let run: Vec<u32> = run.iter().flatten().copied().collect();
        strip(kind, &run, last_provokes, &mut out)?;
    }
    Ok(out)
}

/// Primitives of vertices that belong together.
fn strip(kind: u32, run: &[u32], last: bool, out: &mut Vec<Primitive>) -> Result<(), Refused> {
    // A triangle with the number of the corner that gives flat attributes. Turning it keeps its direction.
    let mut triangle = |corners: [u32; 3], provoking: usize| {
        let [a, b, c] = corners;
        let corners = [[a, b, c], [b, c, a], [c, a, b]][provoking];
        out.push(Primitive { shape: Shape::Triangle, corners });
    };
    let odd = |n: usize| n % 2 == 1;
    match kind {
        kind::TRIANGLES => {
            run.chunks_exact(3).for_each(|c| triangle([c[0], c[1], c[2]], if last { 2 } else { 0 }));
        }
        kind::TRIANGLES_ADJACENCY => {
            run.chunks_exact(6).for_each(|c| triangle([c[0], c[2], c[4]], if last { 2 } else { 0 }));
        }
        kind::STRIP | kind::STRIP_ADJACENCY => {
            let run: Vec<u32> = match kind {
                kind::STRIP => run.to_vec(),
                _ => run.iter().step_by(2).copied().collect(),
            };
            for (n, c) in run.windows(3).enumerate() {
                match (odd(n), last) {
                    (false, _) => triangle([c[0], c[1], c[2]], if last { 2 } else { 0 }),
                    (true, _) => triangle([c[0], c[2], c[1]], if last { 1 } else { 0 }),
                }
            }
        }
        kind::FAN | kind::POLYGON => {
            let Some((&first, rest)) = run.split_first() else { return Ok(()) };
            for c in rest.windows(2) {
                // The first corner of a polygon gives flat attributes to all of it.
                let provoking = match (kind, last) {
                    (kind::POLYGON, _) => 0,
                    (_, false) => 1,
                    (_, true) => 2,
                };
                triangle([first, c[0], c[1]], provoking);
            }
        }
        kind::QUADS => {
            for c in run.chunks_exact(4) {
                if last {
                    triangle([c[0], c[1], c[3]], 2);
                    triangle([c[1], c[2], c[3]], 2);
                } else {
                    triangle([c[0], c[1], c[2]], 0);
                    triangle([c[0], c[2], c[3]], 0);
                }
            }
        }
        kind::QUAD_STRIP => {
            for c in run.windows(4).step_by(2) {
                if last {
                    triangle([c[0], c[1], c[3]], 2);
                    triangle([c[2], c[0], c[3]], 2);
                } else {
                    triangle([c[0], c[1], c[3]], 0);
                    triangle([c[0], c[3], c[2]], 0);
                }
            }
        }
        kind::RECTANGLES => out.extend(
            run.chunks_exact(3).map(|c| Primitive { shape: Shape::Rectangle, corners: [c[0], c[1], c[2]] }),
        ),
        kind::POINTS => {
            out.extend(run.iter().map(|&v| Primitive { shape: Shape::Point, corners: [v; 3] }));
        }
        _ => {
            let line = |a: u32, b: u32| {
                let (a, b) = if last { (b, a) } else { (a, b) };
                Primitive { shape: Shape::Line, corners: [a, b, b] }
            };
            match kind {
                kind::LINES => out.extend(run.chunks_exact(2).map(|c| line(c[0], c[1]))),
                kind::LINES_ADJACENCY => out.extend(run.chunks_exact(4).map(|c| line(c[1], c[2]))),
                kind::LINE_STRIP => out.extend(run.windows(2).map(|c| line(c[0], c[1]))),
                kind::LINE_STRIP_ADJACENCY => out.extend(run.windows(4).map(|c| line(c[1], c[2]))),
                kind::LINE_LOOP => {
                    out.extend(run.windows(2).map(|c| line(c[0], c[1])));
                    if let [first, .., end] = run {
                        out.push(line(*end, *first));
                    }
                }
                _ => return Err(Refused("a kind of primitives")),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corners(kind: u32, vertices: &[i32], last: bool) -> Vec<[u32; 3]> {
        let vertices: Vec<Option<u32>> = vertices.iter().map(|&n| u32::try_from(n).ok()).collect();
        assemble(kind, &vertices, last).unwrap().iter().map(|primitive| primitive.corners).collect()
    }

    #[test]
    fn triangles() {
        assert_eq!(corners(4, &[0, 1, 2, 3, 4, 5, 6], false), [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(corners(4, &[0, 1, 2], true), [[2, 0, 1]]);
        assert_eq!(corners(6, &[0, 1, 2, 3], false), [[0, 1, 2], [1, 3, 2]]);
        assert_eq!(corners(6, &[0, 1, 2, 3], true), [[2, 0, 1], [3, 2, 1]]);
        assert_eq!(corners(6, &[0, 1, 2, -1, 3, 4, -1, 5, 6, 7], false), [[0, 1, 2], [5, 6, 7]]);
        assert_eq!(corners(5, &[0, 1, 2, 3], false), [[1, 2, 0], [2, 3, 0]]);
        assert_eq!(corners(0x11, &[3, 4, 5], true), [[3, 4, 5]]);
        assert_eq!(corners(0x13, &[0, 1, 2, 3], true), [[3, 0, 1], [3, 1, 2]]);
        assert_eq!(corners(0x14, &[0, 1, 2, 3], true), [[3, 0, 1], [3, 2, 0]]);
        assert_eq!(corners(0x15, &[0, 1, 2, 3], true), [[0, 1, 2], [0, 2, 3]]);
        assert_eq!(corners(0xc, &[0, 9, 1, 9, 2, 9], false), [[0, 1, 2]]);
        assert!(corners(5, &[], false).is_empty());
    }

    #[test]
    fn lists_for_geometry_programs() {
        let list = |kind: u32, count: u32, last: bool| {
            let vertices: Vec<Option<u32>> = (0..count).map(Some).collect();
            lists(kind, &vertices, last).unwrap()
        };
        assert_eq!(list(4, 7, true), (vec![0, 1, 2, 3, 4, 5], 3));
        assert_eq!(list(6, 4, false), (vec![0, 1, 2, 1, 3, 2], 3));
        assert_eq!(list(6, 4, true), (vec![0, 1, 2, 2, 1, 3], 3));
        assert_eq!(list(3, 3, true), (vec![0, 1, 1, 2], 2));
        assert_eq!(list(0xb, 5, true), (vec![0, 1, 2, 3, 1, 2, 3, 4], 4));
        assert_eq!(list(0xc, 13, true).0.len(), 12);
        assert_eq!(list(1, 2, false), (vec![0, 1], 1));
        assert!(lists(0xd, &[Some(0)], false).is_err());
    }

    #[test]
    fn lines_and_points() {
        assert_eq!(corners(1, &[7, 8], false), [[7; 3], [8; 3]]);
        assert_eq!(corners(2, &[0, 1, 2], false), [[0, 1, 1]]);
        assert_eq!(corners(3, &[0, 1, 2], true), [[1, 0, 0], [2, 1, 1]]);
        assert_eq!(corners(0x12, &[0, 1, 2], false), [[0, 1, 1], [1, 2, 2], [2, 0, 0]]);
        assert_eq!(corners(0xb, &[0, 1, 2, 3], false), [[1, 2, 2]]);
        assert!(assemble(0x1f, &[Some(0)], false).is_err());
    }
}

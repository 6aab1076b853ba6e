//! Which pixels a primitive covers, and what is linear over it.

use super::samples::Samples;
use super::state::Bounds;
use warpjit_runtime::stage::Quad;

/// Steps of a pixel that positions are rounded to.
const STEPS: f64 = 256.0;
/// The farthest that a position may be from 0, in pixels.
pub(super) const FARTHEST: f64 = 32_000.0;

/// A value that is linear on the screen: at a point, and what a pixel to the right and one down add.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Plane {
    at: f64,
    by_x: f64,
    by_y: f64,
}

/// A corner on the screen: where, and the values that are linear.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Point {
    pub x: f64,
    pub y: f64,
    pub depth: f64,
    /// 1 / w.
    pub over_w: f64,
    /// How much of the second and third corner of the primitive is in it.
    pub weights: [f64; 2],
}

impl Point {
    /// With its position rounded to the steps of the rasteriser.
    pub fn rounded(self) -> Point {
        let round = |value: f64| (value * STEPS).round_ties_even() / STEPS;
        Point { x: round(self.x), y: round(self.y), ..self }
    }
}

/// What is the same for all pixels of a covered area.
#[derive(Debug, Clone)]
pub(super) struct Area {
    /// Sides: how much a step right and down add, and the value at 0. Points with no negative values are inside.
    sides: Vec<[i64; 3]>,
    /// The smallest rectangle around it.
    around: Bounds,
    origin: [f64; 2],
    depth: Plane,
    over_w: Plane,
    perspective: [Plane; 2],
    linear: [Plane; 2],
    /// Where a pixel's centre is.
    center: f64,
    pub is_front: bool,
    pub layer: u32,
    pub depths: [f32; 2],
    /// The numbers of its three vertices.
    pub corners: [u32; 3],
    /// Whether attributes are those of the first vertex, and weights go over the area: points.
    pub is_sprite: bool,
}

/// What an area gives a pixel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Values {
    pub depth: f64,
    pub over_w: f64,
    /// Weights of the second and third vertex, with perspective and without.
    pub perspective: [f64; 2],
    pub linear: [f64; 2],
}

impl Area {
    /// The area inside of an outline, which goes clockwise (rows go down) or against it. What is linear is given at three points that are
    /// not in a line. `None` if there is no area.
    pub fn new(points: [Point; 3], outline: &[[f64; 2]], center: f64) -> Option<Area> {
        let [a, b, c] = points;
        let (dx, dy) = ([b.x - a.x, c.x - a.x], [b.y - a.y, c.y - a.y]);
        let twice = dx[0] * dy[1] - dx[1] * dy[0];
        if twice == 0.0 || !twice.is_finite() {
            return None;
        }
        let plane = |value: fn(&Point) -> f64| {
            let at = value(&a);
            let (first, second) = (value(&b) - at, value(&c) - at);
            Plane {
                at,
                by_x: (first * dy[1] - second * dy[0]) / twice,
                by_y: (second * dx[0] - first * dx[1]) / twice,
            }
        };
        let whole = |value: f64| (value * STEPS).round_ties_even() as i64;
        let mut corners: Vec<[i64; 2]> = outline.iter().map(|[x, y]| [whole(*x), whole(*y)]).collect();
        let turns = |corners: &[[i64; 2]]| -> i64 {
            let next = corners.iter().cycle().skip(1);
            corners.iter().zip(next).map(|([x, y], [u, v])| x * v - u * y).sum()
        };
        match turns(&corners) {
            0 => return None,
            negative if negative < 0 => corners.reverse(),
            _ => {}
        }
        let next = corners.iter().cycle().skip(1);
        let sides = corners.iter().zip(next).filter(|(from, to)| from != to).map(|([x, y], [u, v])| {
            let (right, down) = (u - x, v - y);
            // Points on upper and left sides are inside, others are not.
            let is_inside = down < 0 || down == 0 && right > 0;
            [-down, right, down * x - right * y - i64::from(!is_inside)]
        });
        let sides = sides.collect();
        let low = |axis: usize| corners.iter().map(|corner| corner[axis]).min().unwrap_or(0);
        let high = |axis: usize| corners.iter().map(|corner| corner[axis]).max().unwrap_or(0);
        let (first, last) = (|steps: i64| (steps >> 8) as i32 - 1, |steps: i64| (steps >> 8) as i32 + 2);
        Some(Area {
            sides,
            around: Bounds {
                left: first(low(0)),
                top: first(low(1)),
                right: last(high(0)),
                bottom: last(high(1)),
            },
            origin: [a.x, a.y],
            depth: plane(|point| point.depth),
            over_w: plane(|point| point.over_w),
            perspective: [
                plane(|point| point.weights[0] * point.over_w),
                plane(|point| point.weights[1] * point.over_w),
            ],
            linear: [plane(|point| point.weights[0]), plane(|point| point.weights[1])],
            center,
            is_front: true,
            layer: 0,
            depths: [0.0, 1.0],
            corners: [0; 3],
            is_sprite: false,
        })
    }

    /// Moves its depths, as polygon offset says: by a factor of how steep it is, and by a number.
    pub fn move_depth(&mut self, factor: f64, number: f64, clamp: f64) {
        let steep = self.depth.by_x.abs().max(self.depth.by_y.abs());
        let mut by = steep * factor + number;
        if clamp > 0.0 {
            by = by.min(clamp);
        } else if clamp < 0.0 {
            by = by.max(clamp);
        }
        self.depth.at += by;
    }

    /// What a pixel has in its middle.
    pub fn values(&self, x: u32, y: u32) -> Values {
        self.values_at(x, y, [self.center; 2])
    }

    /// What a pixel has at a place in it.
    pub fn values_at(&self, x: u32, y: u32, place: [f64; 2]) -> Values {
        let (x, y) = (f64::from(x) + place[0] - self.origin[0], f64::from(y) + place[1] - self.origin[1]);
        let of = |plane: &Plane| plane.at + plane.by_x * x + plane.by_y * y;
        let over_w = of(&self.over_w);
        Values {
            depth: of(&self.depth),
            over_w,
            perspective: [0, 1].map(|n| of(&self.perspective[n]) / over_w),
            linear: [0, 1].map(|n| of(&self.linear[n])),
        }
    }

    /// A pixel's depth, clamped to the viewport's.
    pub fn depth(&self, values: &Values) -> f32 {
        let [low, high] = self.depths;
        (values.depth as f32).max(low).min(high)
    }

    /// Calls a function for each quad with covered samples inside of a rectangle: its place, and which samples of its pixels are covered.
    ///
    /// # Errors
    /// What the function returns.
    pub fn quads<E>(
        &self,
        inside: Bounds,
        samples: &Samples,
        mut each: impl FnMut(Quad, [u32; 4]) -> Result<(), E>,
    ) -> Result<(), E> {
        let all = Bounds { left: 0, top: 0, right: 1 << 15, bottom: 1 << 15 };
        let around = self.around.and(inside).and(all);
        if around.is_empty() {
            return Ok(());
        }
        let count = samples.count as usize;
        let at = |side: &[i64; 3], pixel: [i32; 2], place: [i32; 2]| {
            let steps = |axis: usize| (i64::from(pixel[axis]) << 8) + i64::from(place[axis]);
            side[0] * steps(0) + side[1] * steps(1) + side[2]
        };
        for y in (around.top & !1..around.bottom).step_by(2) {
            for x in (around.left & !1..around.right).step_by(2) {
                let mut covered = [0; 4];
                for (lane, covered) in (0..).zip(&mut covered) {
                    let (column, row) = (x + (lane & 1), y + (lane >> 1));
                    let is_there = column >= around.left
                        && column < around.right
                        && row >= around.top
                        && row < around.bottom;
                    if !is_there {
                        continue;
                    }
                    for (sample, position) in samples.positions[lane as usize][..count].iter().enumerate() {
                        if self.sides.iter().all(|side| at(side, [column, row], *position) >= 0) {
                            *covered |= 1 << sample;
                        }
                    }
                    *covered &= samples.mask[lane as usize];
                }
                if covered != [0; 4] {
                    each(Quad { x: x as u32, y: y as u32, primitive: 0, mask: 0 }, covered)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const SCREEN: Bounds = Bounds { left: 0, top: 0, right: 16, bottom: 16 };

    fn point(x: f64, y: f64) -> Point {
        Point { x, y, over_w: 1.0, ..Point::default() }
    }

    fn triangle(corners: [[f64; 2]; 3]) -> Area {
        Area::new(corners.map(|[x, y]| point(x, y)), &corners, 0.5).unwrap()
    }

    fn pixels(area: &Area, inside: Bounds) -> BTreeSet<(u32, u32)> {
        let mut pixels = BTreeSet::new();
        let position = (area.center * STEPS) as i32;
        let samples = Samples {
            count: 1,
            positions: [[[position; 2]; 16]; 4],
            mask: [1; 4],
            runs: 1,
            alpha_to_mask: false,
        };
        area.quads(inside, &samples, |quad, covered| {
            for lane in (0..4).filter(|lane| covered[*lane as usize] != 0) {
                assert!(pixels.insert((quad.x + (lane & 1), quad.y + (lane >> 1))));
            }
            Ok::<(), ()>(())
        })
        .unwrap();
        pixels
    }

    #[test]
    fn triangles_that_share_a_side_share_no_pixel() {
        let square = [[1.0, 1.0], [9.5, 1.5], [8.5, 10.5], [2.5, 9.5]];
        for turn in 0..4 {
            let corner = |n: usize| square[(n + turn) % 4];
            let first = pixels(&triangle([corner(0), corner(1), corner(2)]), SCREEN);
            let second = pixels(&triangle([corner(2), corner(0), corner(3)]), SCREEN);
            assert!(first.is_disjoint(&second));
            let points = [square[0], square[1], square[2]].map(|[x, y]| point(x, y));
            let whole = pixels(&Area::new(points, &square, 0.5).unwrap(), SCREEN);
            assert_eq!(first.union(&second).copied().collect::<BTreeSet<_>>(), whole);
        }
    }

    #[test]
    fn rectangles_and_scissors() {
        let outline = [[2.5, 2.5], [6.5, 2.5], [6.5, 5.5], [2.5, 5.5]];
        let area = Area::new([point(2.5, 2.5), point(2.5, 5.5), point(6.5, 2.5)], &outline, 0.5).unwrap();
        let wanted: BTreeSet<_> = (2..6).flat_map(|x| (2..5).map(move |y| (x, y))).collect();
        assert_eq!(pixels(&area, SCREEN), wanted, "centres on the left and upper side are inside");
        let cut = Bounds { left: 3, top: 3, right: 5, bottom: 16 };
        assert_eq!(pixels(&area, cut).len(), 4);
        assert!(pixels(&area, Bounds { right: 3, ..cut }).is_empty());
        let line = [[1.0, 1.0], [3.0, 3.0], [5.0, 5.0]];
        assert!(Area::new(line.map(|[x, y]| point(x, y)), &line, 0.5).is_none());
    }

    #[test]
    fn values_with_perspective() {
        let mut points = [point(0.0, 0.0), point(8.0, 0.0), point(0.0, 8.0)];
        points[1].weights = [1.0, 0.0];
        points[2].weights = [0.0, 1.0];
        points[1].over_w = 0.5;
        points[2].depth = 1.0;
        let corners = points.map(|point| [point.x, point.y]);
        let area = Area::new(points, &corners, 0.0).unwrap();
        let values = area.values(4, 0);
        assert_eq!((values.over_w, values.linear), (0.75, [0.5, 0.0]));
        assert_eq!(values.perspective, [1.0 / 3.0, 0.0]);
        assert_eq!(area.values(0, 4).depth, 0.5);
    }
}

//! From clip space to the screen: clips primitives, culls them, and makes areas of pixels of them.

use super::Problem;
use super::assemble::Shape;
use super::clip::Corner;
use super::pixels::Pixels;
use super::raster::{Area, FARTHEST, Point};
use super::state::{Fill, State, Viewport};
use super::vertices::Exports;

/// Brings a primitive to the screen. Gives whether anything of it is left.
///
/// # Errors
/// As [`Pixels::shade`].
pub(super) fn add(
    state: &State,
    exports: &Exports,
    shape: Shape,
    corners: [u32; 3],
    pixels: &mut Pixels<'_>,
) -> Result<bool, Problem> {
    let extra = state.exports.extra.map(|export| exports.position_bits(export, corners[0]));
    let [size, _, layer, viewport] = extra.unwrap_or_default();
    // Gfx9 has the viewport's number above the layer's.
    let number = if state.exports.has_viewport { viewport | layer >> 16 } else { 0 };
    let layer = if state.exports.has_layer { layer & 0x7ff } else { 0 };
    let Some(viewport) = state.viewports.get((number & 15) as usize) else { return Ok(false) };
    let place = ScreenPrimitive { state, viewport, corners, layer };
    let positions = corners.map(|vertex| exports.position(0, vertex));
    let distances = place.distances(exports);
    let Some(clipped) = distances else { return Ok(false) };
    let points = match shape {
        Shape::Triangle | Shape::Rectangle => 3,
        Shape::Line => 2,
        Shape::Point => 1,
    };
    let mut polygon: Vec<Corner> =
        positions[..points].iter().enumerate().map(|(n, position)| Corner::of(n, *position)).collect();
    let whole = polygon.len();
    match shape {
        Shape::Point => {
            let before = polygon[0];
            state.clipping.clip(&mut polygon, place.guard(), &clipped);
            // A point is there or not: cutting it makes no corners.
            if polygon.is_empty() {
                return Ok(false);
            }
            polygon = vec![before];
        }
        // Rectangles are in screen space.
        _ => state.clipping.clip(&mut polygon, place.guard(), &clipped),
    }
    let points: Vec<Point> = polygon.iter().map(|corner| place.point(corner)).collect();
    let areas = match shape {
        Shape::Rectangle if points.len() == whole => place.rectangle(&points),
        Shape::Triangle => match place.fill(&points) {
            None | Some(Fill::All) => place.polygon(&points),
            Some(fill) => place.outline(positions, fill, &clipped, f32::from_bits(size)),
        },
        Shape::Rectangle => place.polygon(&points),
        Shape::Line => place.line(&points),
        Shape::Point => place.sprite(&points, f32::from_bits(size)),
    };
    let any = !areas.is_empty();
    for area in areas {
        pixels.add(area, viewport.scissor)?;
    }
    Ok(any)
}

/// A primitive on its way to the screen.
struct ScreenPrimitive<'a> {
    state: &'a State,
    viewport: &'a Viewport,
    corners: [u32; 3],
    layer: u32,
}

impl ScreenPrimitive<'_> {
    /// Distances of the corners from the planes that clip. `None`: all are behind a plane that culls.
    fn distances(&self, exports: &Exports) -> Option<Vec<[f64; 3]>> {
        let own = self.state.exports;
        let of = |plane: u32| -> Option<[f64; 3]> {
            let export = own.distances[(plane / 4) as usize]?;
            Some(self.corners.map(|vertex| exports.position(export, vertex)[(plane % 4) as usize].into()))
        };
        let planes = |mask: u8| (0..8).filter(move |plane| mask >> plane & 1 != 0);
        let outside =
            |distances: [f64; 3]| distances.iter().all(|distance| *distance < 0.0 || distance.is_nan());
        if planes(own.cull).filter_map(of).any(outside) {
            return None;
        }
        Some(planes(own.clip).filter_map(of).collect())
    }

    /// How far from the middle positions may be, in w, so that they are not too far from the screen.
    fn guard(&self) -> Option<[f64; 2]> {
        if self.state.is_window_space {
            return Some([FARTHEST; 2]);
        }
        Some([0, 1].map(|axis| {
            let (scale, offset) = (self.viewport.scale[axis].abs(), self.viewport.offset[axis].abs());
            ((FARTHEST - offset).max(1.0) / scale.max(1e-6)).max(1.0)
        }))
    }

    fn point(&self, corner: &Corner) -> Point {
        let [x, y, z, w] = corner.position;
        let over_w = 1.0 / w;
        let by_w = if self.state.is_window_space { 1.0 } else { over_w };
        let Viewport { scale, offset, .. } = self.viewport;
        Point {
            x: x * by_w * scale[0] + offset[0],
            y: y * by_w * scale[1] + offset[1],
            depth: z * by_w * scale[2] + offset[2],
            over_w,
            weights: [corner.weights[1], corner.weights[2]],
        }
        .rounded()
    }

    /// An area with what all areas of the primitive have in common.
    fn area(&self, points: [Point; 3], outline: &[[f64; 2]]) -> Option<Area> {
        let mut area = Area::new(points, outline, self.state.center)?;
        area.layer = self.layer;
        area.depths = self.viewport.depths;
        area.corners = self.corners;
        Some(area)
    }

    /// Whether a polygon is seen from its front; `None`: it is not seen.
    fn is_front(&self, points: &[Point]) -> Option<bool> {
        let faces = self.state.faces;
        let next = points.iter().cycle().skip(1);
        let turns: f64 = points.iter().zip(next).map(|(a, b)| a.x * b.y - b.x * a.y).sum();
        let is_front = (turns > 0.0) == faces.clockwise_is_front;
        let is_culled = if is_front { faces.cull_front } else { faces.cull_back };
        (points.len() >= 3 && turns != 0.0 && !is_culled).then_some(is_front)
    }

    /// What is drawn of a triangle, if anything.
    fn fill(&self, points: &[Point]) -> Option<Fill> {
        self.is_front(points).map(|is_front| self.state.faces.fill[usize::from(!is_front)])
    }

    /// The sides or the corners of a triangle.
    fn outline(&self, positions: [[f32; 4]; 3], fill: Fill, distances: &[[f64; 3]], size: f32) -> Vec<Area> {
        let corners = [0, 1, 2].map(|n| Corner::of(n, positions[n]));
        let mut areas = Vec::new();
        for n in 0..3 {
            let mut part = match fill {
                Fill::Corners => vec![corners[n]],
                _ => vec![corners[n], corners[(n + 1) % 3]],
            };
            self.state.clipping.clip(&mut part, self.guard(), distances);
            let points: Vec<Point> = part.iter().map(|corner| self.point(corner)).collect();
            areas.extend(match fill {
                Fill::Corners => self.sprite(&points, size),
                _ => self.line(&points),
            });
        }
        areas
    }

    fn polygon(&self, points: &[Point]) -> Vec<Area> {
        let Some(is_front) = self.is_front(points) else { return Vec::new() };
        let mut areas = Vec::new();
        for n in 1..points.len() - 1 {
            let corners = [points[0], points[n], points[n + 1]];
            let Some(mut area) = self.area(corners, &corners.map(|point| [point.x, point.y])) else {
                continue;
            };
            area.is_front = is_front;
            if let Some(bias) = self.state.bias[usize::from(!is_front)] {
                let step = self.depth_step(&corners);
                area.move_depth(bias.scale, bias.offset * step, bias.clamp);
            }
            areas.push(area);
        }
        areas
    }

    /// The least difference between depths that are stored.
    fn depth_step(&self, corners: &[Point; 3]) -> f64 {
        let depth = &self.state.depth;
        if !depth.is_float {
            return 0.5f64.powi(depth.bits as i32);
        }
        let largest = corners.iter().fold(0.0, |most: f64, point| most.max(point.depth.abs()));
        // 23 bits behind the first of the largest depth.
        if largest > 0.0 { largest.log2().floor().exp2() * 0.5f64.powi(23) } else { 0.0 }
    }

    /// The rectangle around three corners.
    fn rectangle(&self, points: &[Point]) -> Vec<Area> {
        let low = |value: fn(&Point) -> f64| points.iter().map(value).fold(f64::INFINITY, f64::min);
        let high = |value: fn(&Point) -> f64| points.iter().map(value).fold(f64::NEG_INFINITY, f64::max);
        let (left, right) = (low(|point| point.x), high(|point| point.x));
        let (top, bottom) = (low(|point| point.y), high(|point| point.y));
        let outline = [[left, top], [right, top], [right, bottom], [left, bottom]];
        self.area([points[0], points[1], points[2]], &outline).into_iter().collect()
    }

    /// A line as wide as it is said along the axis that it is not along.
    fn line(&self, points: &[Point]) -> Vec<Area> {
        // Cutting goes around: where a line is cut, there are two of the same point.
        let mut points = points.to_vec();
        points.dedup();
        if points.len() > 2 && points.first() == points.last() {
            points.pop();
        }
        let [a, b] = &points[..] else { return Vec::new() };
        let half = self.state.half_line.max(0.5);
        let is_steep = (b.y - a.y).abs() > (b.x - a.x).abs();
        let side = if is_steep { [half, 0.0] } else { [0.0, half] };
        let moved = |point: &Point, by: f64| [point.x + by * side[0], point.y + by * side[1]];
        let outline = [moved(a, -1.0), moved(b, -1.0), moved(b, 1.0), moved(a, 1.0)];
        let third = Point { x: a.x + side[0], y: a.y + side[1], ..*a };
        self.area([*a, *b, third], &outline).into_iter().collect()
    }

    fn sprite(&self, points: &[Point], size: f32) -> Vec<Area> {
        let [point] = points else { return Vec::new() };
        let state = self.state;
        let mut half = state.half_point;
        if state.exports.has_point_size && size.is_finite() {
            half = [f64::from(size) / 2.0; 2];
        }
        let [least, most] = state.point_limits;
        let half = half.map(|half| half.max(least).min(most.max(least)).min(FARTHEST / 4.0));
        let corner = |x: f64, y: f64, weights: [f64; 2]| {
            Point { x: point.x + x * half[0], y: point.y + y * half[1], weights, ..*point }.rounded()
        };
        let corners =
            [corner(-1.0, -1.0, [0.0; 2]), corner(1.0, -1.0, [1.0, 0.0]), corner(-1.0, 1.0, [0.0, 1.0])];
        let far = corner(1.0, 1.0, [1.0; 2]);
        let at = |point: &Point| [point.x, point.y];
        let outline = [at(&corners[0]), at(&corners[1]), at(&far), at(&corners[2])];
        let mut areas: Vec<Area> = self.area(corners, &outline).into_iter().collect();
        areas.iter_mut().for_each(|area| area.is_sprite = true);
        areas
    }
}

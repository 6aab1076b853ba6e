//! The fixed part of a GPU between the two programs: clips triangles, finds the pixels they cover, and tests depth.
//!
//! It hands on *quads* of 2 x 2 pixels, because pixel programs run on quads: differences between neighbours are how a GPU knows which mip
//! level to sample. How a program gets its inputs differs between families, so a [`Primitive`] has what all can be made of.

use warpjit_runtime::stage::Quad;

use crate::scene::Mesh;

/// What a vertex program leaves beside the position: a normal and a texture coordinate.
pub const VARYINGS: usize = 5;

/// What a vertex program leaves: the position in clip space, then the varyings.
pub type ShadedVertex = [f32; 4 + VARYINGS];

/// A value that is linear on the screen: at x = y = 0, its change by x, its change by y.
pub type Plane = [f64; 3];

/// Subpixels of a pixel along each axis.
const SUBPIXELS: f64 = 256.0;

/// Farthest point of a triangle from the screen's corner, in subpixels.
const GUARD_BAND: i64 = 1 << 29;

/// A triangle on the screen.
#[derive(Debug, Clone, Copy)]
pub struct Primitive {
    /// Varyings of the three vertices.
    pub varyings: [[f32; VARYINGS]; 3],
    /// How much each vertex weighs at a pixel, divided by its w.
    pub weights: [Plane; 3],
}

impl Primitive {
    /// 1/w. On the screen that is linear, and so is everything divided by w.
    pub fn one_over_w(&self) -> Plane {
        self.sum([1.0; 3])
    }

    /// A varying divided by w.
    pub fn over_w(&self, varying: usize) -> Plane {
        self.sum(self.varyings.map(|vertex| vertex[varying]))
    }

    fn sum(&self, values: [f32; 3]) -> Plane {
        std::array::from_fn(|k| {
            (0..3).map(|vertex| f64::from(values[vertex]) * self.weights[vertex][k]).sum()
        })
    }
}

/// The value of a plane at the centre of a pixel.
pub fn at_pixel([start, by_x, by_y]: Plane, x: u32, y: u32) -> f64 {
    start + by_x * (f64::from(x) + 0.5) + by_y * (f64::from(y) + 0.5)
}

/// The pixels of a draw call that wait for the pixel program.
#[derive(Debug, Default)]
pub struct Fragments {
    /// Quads, in the order of their triangles.
    pub quads: Vec<Quad>,
    /// Depth of the pixels of each quad.
    pub depths: Vec<[f32; 4]>,
    /// The triangles that quads belong to.
    pub primitives: Vec<Primitive>,
}

impl Fragments {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.quads.clear();
        self.depths.clear();
        self.primitives.clear();
    }
}

/// The depth of what has been drawn so far, for each pixel.
#[derive(Debug)]
pub struct DepthBuffer {
    width: u32,
    height: u32,
    depths: Vec<f32>,
}

impl DepthBuffer {
    /// One in which everything is at the far end. Width and height are even.
    pub fn new(width: u32, height: u32) -> Self {
        DepthBuffer { width, height, depths: vec![1.0; width as usize * height as usize] }
    }

    /// Whether something at that depth is in front; if it is, and `writes` is set, it is remembered.
    pub fn test(&mut self, x: u32, y: u32, depth: f32, writes: bool) -> bool {
        let stored = &mut self.depths[(y * self.width + x) as usize];
        let is_in_front = depth < *stored;
        if is_in_front && writes {
            *stored = depth;
        }
        is_in_front
    }
}

/// Clips and rasterises the triangles of a mesh. Depth is tested early, before the pixel program. With `writes_early` it is also written
/// early; a draw whose program discards pixels has to wait with that.
pub fn draw(
    mesh: &Mesh,
    vertices: &[ShadedVertex],
    culls: bool,
    (depth, writes_early): (&mut DepthBuffer, bool),
    out: &mut Fragments,
) {
    for triangle in mesh.indices.chunks_exact(3) {
        let corners = [0, 1, 2].map(|k| vertices[triangle[k] as usize]);
        let polygon = clip(&corners);
        for k in 1..polygon.len().saturating_sub(1) {
            rasterise([polygon[0], polygon[k], polygon[k + 1]], culls, (depth, writes_early), out);
        }
    }
}

/// The part of a triangle behind the near plane, where z >= 0: nothing, a triangle or a quadrilateral.
fn clip(corners: &[ShadedVertex; 3]) -> Vec<ShadedVertex> {
    let mut polygon = Vec::with_capacity(4);
    for (k, &from) in corners.iter().enumerate() {
        let to = corners[(k + 1) % 3];
        let (z_from, z_to) = (from[2], to[2]);
        if z_from >= 0.0 {
            polygon.push(from);
        }
        if (z_from >= 0.0) != (z_to >= 0.0) {
            let t = z_from / (z_from - z_to);
            polygon.push(std::array::from_fn(|n| from[n] + (to[n] - from[n]) * t));
        }
    }
    polygon
}

/// A point on the screen, in subpixels.
type Point = [i64; 2];

/// Twice the area of a triangle; positive if a, b, c are clockwise on the screen, where y grows downwards.
fn area(a: Point, b: Point, c: Point) -> i64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

fn rasterise(
    mut corners: [ShadedVertex; 3],
    culls: bool,
    (depth, writes): (&mut DepthBuffer, bool),
    out: &mut Fragments,
) {
    let (width, height) = (depth.width, depth.height);
    // The viewport: x and y from -1 to 1 become pixels, and pixels become subpixels.
    let to_screen = |corner: &ShadedVertex| -> Point {
        let [x, y, _, w] = [0, 1, 2, 3].map(|k| f64::from(corner[k]));
        let x = (x / w * 0.5 + 0.5) * f64::from(width);
        let y = (0.5 - y / w * 0.5) * f64::from(height);
        [(x * SUBPIXELS).round() as i64, (y * SUBPIXELS).round() as i64]
    };
    let mut points = [0, 1, 2].map(|k| to_screen(&corners[k]));
    // What a program leaves may be anything. A GPU clips at a guard band; here such a triangle is left out, so that areas fit their type.
    if points.as_flattened().iter().any(|at| !(-GUARD_BAND..GUARD_BAND).contains(at)) {
        return;
    }
    let mut twice_area = area(points[0], points[1], points[2]);
    if twice_area == 0 || (twice_area > 0 && culls) {
        return;
    }
    // From here on they are clockwise.
    if twice_area < 0 {
        corners.swap(1, 2);
        points.swap(1, 2);
        twice_area = -twice_area;
    }
    let edges = [0, 1, 2].map(|k| Edge::new(points[(k + 1) % 3], points[(k + 2) % 3]));
    let shares = edges.map(|edge| edge.plane(twice_area));
    let one_over_w = corners.map(|corner| 1.0 / f64::from(corner[3]));
    let weights = [0, 1, 2].map(|k| shares[k].map(|share| share * one_over_w[k]));
    let z_plane: Plane = std::array::from_fn(|n| {
        (0..3).map(|k| shares[k][n] * f64::from(corners[k][2]) * one_over_w[k]).sum()
    });

    // The quads that its bounding box touches, as far as they are on the screen.
    let pixels = |axis: usize, end: u32| {
        let least = points.iter().map(|point| point[axis]).min().unwrap_or(0) >> 8;
        let most = points.iter().map(|point| point[axis]).max().unwrap_or(0) >> 8;
        let last = i64::from(end) - 1;
        (least.clamp(0, last) as u32 & !1)..=(most.clamp(-1, last) + 1).max(0) as u32
    };
    let primitive = out.primitives.len() as u32;
    let first = out.quads.len();
    for y in pixels(1, height).step_by(2).filter(|&y| y < height) {
        for x in pixels(0, width).step_by(2).filter(|&x| x < width) {
            let mut quad = Quad { x, y, primitive, mask: 0 };
            let mut depths = [0.0; 4];
            for lane in 0..4 {
                let (x, y) = (x + lane % 2, y + lane / 2);
                let centre = [i64::from(x) * 256 + 128, i64::from(y) * 256 + 128];
                if !edges.iter().all(|edge| edge.has_inside(centre)) {
                    continue;
                }
                let z = at_pixel(z_plane, x, y) as f32;
                depths[lane as usize] = z;
                if depth.test(x, y, z, writes) {
                    quad.mask |= 1 << lane;
                }
            }
            if quad.mask != 0 {
                out.quads.push(quad);
                out.depths.push(depths);
            }
        }
    }
    if out.quads.len() > first {
        let varyings = corners.map(|corner| std::array::from_fn(|k| corner[4 + k]));
        out.primitives.push(Primitive { varyings, weights });
    }
}

/// A side of a clockwise triangle. The inside is to its right.
#[derive(Clone, Copy)]
struct Edge {
    from: Point,
    to: Point,
    /// Whether pixel centres on it belong to the triangle: those on a top or left side do, so that a pixel between two
    /// triangles is drawn once.
    has_border: bool,
}

impl Edge {
    fn new(from: Point, to: Point) -> Edge {
        let is_top = to[1] == from[1] && to[0] > from[0];
        let is_left = to[1] < from[1];
        Edge { from, to, has_border: is_top || is_left }
    }

    fn has_inside(&self, point: Point) -> bool {
        let side = area(self.from, self.to, point);
        side > 0 || (side == 0 && self.has_border)
    }

    /// The share of the opposite vertex: 0 at this side, 1 at the vertex.
    fn plane(&self, twice_area: i64) -> Plane {
        let ([x, y], [to_x, to_y]) = (self.from, self.to);
        let scale = 1.0 / twice_area as f64;
        let start = (to_y - y) * x - (to_x - x) * y;
        [start as f64 * scale, (y - to_y) as f64 * SUBPIXELS * scale, (to_x - x) as f64 * SUBPIXELS * scale]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vertex(x: f32, y: f32, z: f32, w: f32) -> ShadedVertex {
        [x, y, z, w, x, y, 0.0, 0.0, 0.0]
    }

    fn pixels(fragments: &Fragments) -> u32 {
        fragments.quads.iter().map(|quad| quad.mask.count_ones()).sum()
    }

    #[test]
    fn two_triangles_cover_each_pixel_once() {
        let corners = [vertex(-1.0, -1.0, 0.5, 1.0), vertex(1.0, -1.0, 0.5, 1.0), vertex(1.0, 1.0, 0.5, 1.0)];
        let last = vertex(-1.0, 1.0, 0.5, 1.0);
        let mesh = Mesh { vertices: Vec::new(), indices: vec![0, 1, 2, 0, 2, 3] };
        let vertices = [corners[0], corners[1], corners[2], last];
        let (mut depth, mut out) = (DepthBuffer::new(16, 16), Fragments::default());
        draw(&mesh, &vertices, true, (&mut depth, false), &mut out);
        assert_eq!(pixels(&out), 256);
        assert_eq!(out.primitives.len(), 2);
        // Now with depth written: the same again is not in front of itself.
        draw(&mesh, &vertices, true, (&mut depth, true), &mut out);
        assert_eq!(pixels(&out), 512);
        draw(&mesh, &vertices, true, (&mut depth, true), &mut out);
        assert_eq!(pixels(&out), 512);
    }

    #[test]
    fn planes_give_the_vertices_back() {
        let corners = [vertex(-1.0, -1.0, 0.5, 1.0), vertex(3.0, -3.0, 0.5, 3.0), vertex(0.0, 2.0, 0.5, 2.0)];
        let mesh = Mesh { vertices: Vec::new(), indices: vec![0, 1, 2] };
        let (mut depth, mut out) = (DepthBuffer::new(64, 64), Fragments::default());
        draw(&mesh, &corners, false, (&mut depth, true), &mut out);
        let primitive = out.primitives[0];
        for quad in &out.quads {
            // The first varying is x of clip space: divided by w it is where the pixel is.
            let x = at_pixel(primitive.over_w(0), quad.x, quad.y);
            assert!((x - ((f64::from(quad.x) + 0.5) / 32.0 - 1.0)).abs() < 1e-9);
        }
    }

    #[test]
    fn any_vertex_may_come() {
        let mesh = Mesh { vertices: Vec::new(), indices: vec![0, 1, 2] };
        for bad in [f32::NAN, f32::INFINITY, f32::MAX, 0.0, -1.0] {
            let corners =
                [vertex(-1.0, bad, 0.5, 1.0), vertex(3.0, -3.0, 0.5, bad), vertex(bad, 2.0, bad, 2.0)];
            let (mut depth, mut out) = (DepthBuffer::new(16, 16), Fragments::default());
            draw(&mesh, &corners, false, (&mut depth, true), &mut out);
        }
    }

    #[test]
    fn the_near_plane_cuts() {
        let corners = [vertex(0.0, 0.0, 1.0, 1.0), vertex(1.0, 0.0, -1.0, 1.0), vertex(0.0, 1.0, 1.0, 1.0)];
        let polygon = clip(&corners);
        assert_eq!(polygon.len(), 4);
        assert!(polygon.iter().all(|corner| corner[2] >= 0.0));
        assert_eq!(clip(&[corners[1]; 3]).len(), 0);
    }
}

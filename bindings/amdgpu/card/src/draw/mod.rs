//! Draws: vertices, primitives, pixels, targets.
//!
//! The vertex and pixel programs are those that the driver has sent; they run as stages of the runtime. What is fixed on a GPU is done here:
//!
//! | module | does |
//! |---|---|
//! | `registers` | registers by address, layouts by tiling index |
//! | `state` | what a draw is done with |
//! | `tessellation`, `domain` | runs tessellation programs, cuts patches |
//! | `geometry` | runs geometry programs |
//! | `vertices` | runs the vertex program |
//! | `stream` | which vertices go to buffers |
//! | `assemble` | puts primitives together |
//! | `clip`, `screen`, `raster` | brings them to the screen and finds their pixels |
//! | `samples` | where the samples of a pixel are |
//! | `pixels` | runs the pixel program |
//! | `depth`, `target`, `blend` | tests depth and stencil, writes colours |
//!
//! Colours and depths are as drivers lay them out: in lines or tiles before gfx9, swizzled on gfx9. Nothing is compressed.

mod assemble;
mod blend;
mod clip;
mod depth;
mod domain;
mod geometry;
mod launch;
mod pixels;
mod raster;
mod registers;
mod samples;
mod screen;
mod state;
mod stream;
mod target;
mod tessellation;
mod vertices;

pub(crate) use registers::Registers;

use crate::Card;
use crate::memory::AddressSpace;
use assemble::{Primitive, assemble};
use geometry::Geometry;
use pixels::Pixels;
use state::State;
pub(crate) use stream::Streams;
use vertices::Vertex;
use warpjit_runtime::Denied;

/// What draws are done with.
pub(crate) struct Around<'a> {
    pub card: &'a Card,
    pub space: &'a AddressSpace,
}

/// What is not done: a few words for a line on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused(pub &'static str);

/// Why a draw has not been done.
#[derive(Debug)]
pub(crate) enum Problem {
    /// It cannot be done.
    Refused(Refused),
    /// Something is not mapped.
    Denied(Denied),
    /// A program has failed, and it has been said.
    Failed,
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Problem {
        Problem::Refused(refused)
    }
}

impl From<Denied> for Problem {
    fn from(denied: Denied) -> Problem {
        Problem::Denied(denied)
    }
}

/// What a draw asks for.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The numbers of vertices; `None` ends a strip.
    pub vertices: Vec<Option<u32>>,
    /// How often all are drawn.
    pub instances: u32,
}

/// What draws have done, for queries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Pixels that have passed all tests.
    pub samples: u64,
    /// Vertices and primitives that were fetched.
    pub vertices: u64,
    pub primitives: u64,
    /// Runs of the vertex and of the pixel program.
    pub vertex_invocations: u64,
    pub pixel_invocations: u64,
    /// Primitives that were not clipped away.
    pub drawn: u64,
    /// Primitives that geometry programs got, and emitted.
    pub geometry_invocations: u64,
    pub geometry_primitives: u64,
    /// Patches that control programs got, and runs of the evaluation program.
    pub patches: u64,
    pub evaluations: u64,
    /// Primitives that stream output got, and wrote.
    pub needed: u64,
    pub written: u64,
}

/// Primitives that are done at a time, of all instances.
const MOST_PRIMITIVES: u64 = 1 << 14;

/// Draws, and adds to counts what it has done.
///
/// # Errors
/// It cannot be done, or fails on the way.
pub(crate) fn draw(
    around: &Around<'_>,
    registers: Registers<'_>,
    call: &Call,
    counts: &mut Counts,
    streams: &mut Streams,
) -> Result<(), Problem> {
    let state = State::new(around.card.chip(), registers)?;
    // The places of vertices in the list, as primitives name them.
    let places: Vec<Option<u32>> =
        (0..).zip(&call.vertices).map(|(place, vertex)| vertex.map(|_| place)).collect();
    let offset = registers.at(if around.card.chip().generation < 9 { 0x28408 } else { 0x3_0928 });
    let vertex = |place: u32, instance: u32, primitive: u32| Vertex {
        number: call.vertices[place as usize].unwrap_or(0).wrapping_add(offset),
        instance,
        primitive,
        fourth: instance,
    };
    // DX_RASTERIZATION_KILL
    let end = End { around, state: &state, kills: registers.bit(0x28810, 22) };
    let last = state.faces.last_provokes;
    counts.vertices += call.vertices.len() as u64 * u64::from(call.instances);
    if let Some(tessellation) = &state.tessellation {
        let each = tessellation.vertices_in;
        let whole = |run: &[Option<u32>]| -> Vec<u32> {
            run[..run.len() / each * each].iter().flatten().copied().collect()
        };
        let list: Vec<u32> = places.split(Option::is_none).flat_map(whole).collect();
        let most = tessellation.patches();
        for instance in 0..call.instances {
            counts.primitives += (list.len() / each) as u64;
            for (part, list) in list.chunks(most * each).enumerate() {
                let vertices: Vec<Vertex> = list.iter().map(|place| vertex(*place, instance, 0)).collect();
                counts.vertex_invocations += vertices.len() as u64;
                counts.patches += (vertices.len() / each) as u64;
                let points = tessellation.run(around, &state, &vertices, (part * most) as u32)?;
                end.points(tessellation.kind(), &points, counts, streams)?;
            }
        }
        return Ok(());
    }
    if let Some(geometry) = &state.geometry {
        let (list, each) = assemble::lists(state.primitive, &places, last)?;
        let most = geometry.most_primitives(each as u32)? as usize;
        for instance in 0..call.instances {
            counts.primitives += (list.len() / each) as u64;
            for (part, list) in list.chunks(most * each).enumerate() {
                let vertices: Vec<Vertex> = list.iter().map(|place| vertex(*place, instance, 0)).collect();
                counts.vertex_invocations += vertices.len() as u64;
                end.geometry(geometry, &vertices, each, (part * most) as u32, counts, streams)?;
            }
        }
        return Ok(());
    }
    let primitives = assemble(state.primitive, &places, last)?;
    // VGT_PRIMITIVEID_EN: vertices are then of one primitive each.
    let has_number = registers.bit(0x28a84, 0);
    let each = primitives.len() as u64;
    let all = each * u64::from(call.instances);
    counts.primitives += all;
    for first in (0..all).step_by(MOST_PRIMITIVES as usize) {
        let mut list: Vec<[Vertex; 3]> = Vec::new();
        for use_of in first..all.min(first + MOST_PRIMITIVES) {
            let (instance, number) = ((use_of / each) as u32, (use_of % each) as u32);
            list.push(
                primitives[number as usize]
                    .corners
                    .map(|place| vertex(place, instance, if has_number { number } else { 0 })),
            );
        }
        // Each vertex is shaded once.
        let mut unique = list.as_flattened().to_vec();
        unique.sort_unstable();
        unique.dedup();
        counts.vertex_invocations += unique.len() as u64;
        let own: Vec<Primitive> = (first..)
            .zip(&list)
            .map(|(use_of, corners)| Primitive {
                shape: primitives[(use_of % each) as usize].shape,
                corners: corners.map(|vertex| unique.binary_search(&vertex).unwrap_or(0) as u32),
            })
            .collect();
        end.draw(&own, Vertex::columns(&unique).to_vec(), counts, streams)?;
    }
    Ok(())
}

/// What is behind the programs that make primitives.
struct End<'a> {
    around: &'a Around<'a>,
    state: &'a State,
    kills: bool,
}

impl End<'_> {
    /// Runs geometry programs over primitives of `each` vertices, of which the first has a number, and draws what they emit.
    fn geometry(
        &self,
        geometry: &Geometry,
        vertices: &[Vertex],
        each: usize,
        first: u32,
        counts: &mut Counts,
        streams: &mut Streams,
    ) -> Result<(), Problem> {
        counts.geometry_invocations += (vertices.len() / each) as u64 * u64::from(geometry.invocations);
        let strips = geometry.run(self.around, self.state, vertices, each, first)?;
        let places: Vec<Option<u32>> =
            (0..).zip(&strips).map(|(place, vertex)| vertex.map(|_| place)).collect();
        let primitives = assemble(geometry.kind, &places, self.state.faces.last_provokes)?;
        counts.geometry_primitives += primitives.len() as u64;
        let column = strips.iter().map(|vertex| vertex.unwrap_or(0)).collect();
        self.draw(&primitives, vec![column], counts, streams)
    }

    /// Draws what has become of patches: points of primitives of a kind.
    fn points(
        &self,
        kind: u32,
        points: &[Vertex],
        counts: &mut Counts,
        streams: &mut Streams,
    ) -> Result<(), Problem> {
        let mut unique = points.to_vec();
        unique.sort_unstable();
        unique.dedup();
        counts.evaluations += unique.len() as u64;
        if let Some(geometry) = &self.state.geometry {
            // Points, lines, triangles.
            let each = [1, 2, 3][(kind / 2) as usize % 3];
            let most = geometry.most_primitives(each as u32)? as usize;
            for part in points.chunks(most * each) {
                self.geometry(geometry, part, each, 0, counts, streams)?;
            }
            return Ok(());
        }
        let place = |point: &Vertex| Some(unique.binary_search(point).unwrap_or(0) as u32);
        let places: Vec<Option<u32>> = points.iter().map(place).collect();
        let primitives = assemble(kind, &places, self.state.faces.last_provokes)?;
        self.draw(&primitives, Vertex::columns(&unique).to_vec(), counts, streams)
    }

    /// Runs the vertex program over vertices, whose registers are in columns, writes to buffers, and draws primitives of them.
    fn draw(
        &self,
        primitives: &[Primitive],
        columns: Vec<Vec<u32>>,
        counts: &mut Counts,
        streams: &mut Streams,
    ) -> Result<(), Problem> {
        let (around, state) = (self.around, self.state);
        counts.needed += primitives.len() as u64;
        if primitives.is_empty() {
            return Ok(());
        }
        let mut corners: Vec<[u32; 3]> = primitives.iter().map(|primitive| primitive.corners).collect();
        let (mut columns, mut streamed) = (columns, None);
        if let Some(stream) = &state.stream {
            // Primitives have vertices of their own, in the order in which they came.
            let orders: Vec<Vec<usize>> =
                primitives.iter().map(|primitive| primitive.order(state.faces.last_provokes)).collect();
            let each = orders[0].len() as u32;
            let order: Vec<u32> = primitives
                .iter()
                .zip(&orders)
                .flat_map(|(primitive, order)| order.iter().map(|corner| primitive.corners[*corner]))
                .collect();
            columns = columns
                .iter()
                .map(|column| order.iter().map(|vertex| column[*vertex as usize]).collect())
                .collect();
            for ((first, corners), order) in (0..).step_by(each as usize).zip(&mut corners).zip(&orders) {
                let place = |corner: usize| order.iter().position(|own| *own == corner).unwrap_or(0);
                let places = [0, 1, 2].map(place);
                *corners = places.map(|place| first + place as u32);
                // Lines and points repeat their last.
                if each < 3 {
                    corners[2] = corners[each as usize - 1];
                    corners[1] = corners[each as usize - 1];
                }
            }
            let (taken, written) = stream.take(streams, primitives.len() as u32, each);
            counts.written += u64::from(written);
            streamed = Some(taken);
        }
        let exports = vertices::shade(around, state, &columns, streamed)?;
        if self.kills {
            return Ok(());
        }
        let mut pixels = Pixels::new(around, state, &exports);
        for (primitive, corners) in primitives.iter().zip(&corners) {
            counts.drawn += u64::from(screen::add(state, &exports, primitive.shape, *corners, &mut pixels)?);
        }
        pixels.shade()?;
        counts.samples += pixels.samples;
        counts.pixel_invocations += pixels.invocations;
        Ok(())
    }
}

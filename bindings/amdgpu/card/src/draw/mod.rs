//! Draws: vertices, primitives, pixels, targets.
//!
//! The vertex and pixel programs are those that the driver has sent; they run as stages of the runtime. What is fixed on a GPU is done here:
//!
//! | module | does |
//! |---|---|
//! | `registers` | registers by address, layouts by tiling index |
//! | `state` | what a draw is done with |
//! | `vertices` | runs the vertex program |
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
mod launch;
mod pixels;
mod raster;
mod registers;
mod samples;
mod screen;
mod state;
mod target;
mod vertices;

pub(crate) use registers::Registers;

use crate::Card;
use crate::memory::AddressSpace;
use assemble::assemble;
use pixels::Pixels;
use state::State;
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
) -> Result<(), Problem> {
    let state = State::new(around.card.chip(), registers)?;
    // The places of vertices in the list, as primitives name them.
    let places: Vec<Option<u32>> =
        (0..).zip(&call.vertices).map(|(place, vertex)| vertex.map(|_| place)).collect();
    let primitives = assemble(state.primitive, &places, state.faces.last_provokes)?;
    // VGT_PRIMITIVEID_EN: vertices are then of one primitive each.
    let has_number = registers.bit(0x28a84, 0);
    let offset = registers.at(if around.card.chip().generation < 9 { 0x28408 } else { 0x3_0928 });
    // DX_RASTERIZATION_KILL
    let kills = registers.bit(0x28810, 22);
    let each = primitives.len() as u64;
    let all = each * u64::from(call.instances);
    counts.vertices += call.vertices.len() as u64 * u64::from(call.instances);
    counts.primitives += all;
    for first in (0..all).step_by(MOST_PRIMITIVES as usize) {
        let mut list: Vec<[Vertex; 3]> = Vec::new();
        for use_of in first..all.min(first + MOST_PRIMITIVES) {
            let (instance, number) = ((use_of / each) as u32, (use_of % each) as u32);
            list.push(primitives[number as usize].corners.map(|place| Vertex {
                number: call.vertices[place as usize].unwrap_or(0).wrapping_add(offset),
                instance,
                primitive: if has_number { number } else { 0 },
            }));
        }
        // Each vertex is shaded once.
        let mut unique = list.as_flattened().to_vec();
        unique.sort_unstable();
        unique.dedup();
        let exports = vertices::shade(around, &state, &unique)?;
        counts.vertex_invocations += unique.len() as u64;
        if kills {
            continue;
        }
        let mut pixels = Pixels::new(around, &state, &exports);
        for (use_of, corners) in (first..).zip(&list) {
            let shape = primitives[(use_of % each) as usize].shape;
            let corners = corners.map(|vertex| unique.binary_search(&vertex).unwrap_or(0) as u32);
            counts.drawn += u64::from(screen::add(&state, &exports, shape, corners, &mut pixels)?);
        }
        pixels.shade()?;
        counts.samples += pixels.samples;
        counts.pixel_invocations += pixels.invocations;
    }
    Ok(())
}

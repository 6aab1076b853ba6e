//! Batches of graphics stages: the embedder's arrays go into programs and come out of them.
//!
//! One call of [`Engine::run_stage`](crate::Engine::run_stage) runs one stage over a [`Batch`]: so many vertices, patches, primitives or
//! quads of pixels. What a lane gets and gives are *rows* of arrays that the embedder owns ([`Rows`], [`RowsMut`]); which rows is said at
//! each kind of [`Work`]. The program's [`StageInterface`] says where it finds and leaves them.
//!
//! A batch runs as a grid whose blocks are single warps. Before a block starts, its inputs are copied into the warp's
//! local memory, and when it has ended, its outputs are copied out of it (`fill`, `collect`).

mod collect;
mod fill;
mod interface;
mod owned;
mod picture;
mod run;

use std::marker::PhantomData;

pub use warpjit_frontend::Stage;
pub use warpjit_frontend::stage::{
    ExportTarget, InputArea, InputPlace, LaneWord, MOST_STREAMS, OutputArea, OutputPlace, Per, STREAM_SHIFT,
    StageInput, StageInterface, StageLayout, StageOutput,
};

pub use owned::{OwnedBatch, OwnedRows, OwnedWork};

pub(crate) use fill::Filled;
pub(crate) use interface::StageProgram;
pub(crate) use picture::Canvas;
pub(crate) use run::StageRun;

/// What one call runs a stage over, with the arrays of its inputs and outputs. It can be used again for the next call.
#[derive(Debug)]
pub struct Batch<'a> {
    /// How many of what.
    pub work: Work<'a>,
    /// The rows of each of [`StageInterface::inputs`], in that order.
    pub inputs: Vec<Rows<'a>>,
    /// The rows of each of [`StageInterface::outputs`], in that order.
    pub outputs: Vec<RowsMut<'a>>,
    /// Fragments: a byte for each pixel row. It becomes 1 if the pixel is covered and has not been discarded, and 0 if it has been
    /// discarded. That of a pixel which is not covered stays on Tesla and Fermi, and becomes 0 on GCN.
    pub coverage: Option<&'a mut [u8]>,
    /// Geometry: how many vertices were emitted, and where strips end.
    pub emitted: Option<Emitted<'a>>,
    /// A row for each warp, of as many bytes as the program has shared memory: what that is when the warp starts, and, when the warp has
    /// ended, what it has become. Without it, shared memory starts as zeros and is lost.
    pub shared: Option<RowsMut<'a>>,
}

impl<'a> Batch<'a> {
    /// A batch without inputs and outputs.
    pub fn new(work: Work<'a>) -> Self {
        Batch { work, inputs: Vec::new(), outputs: Vec::new(), coverage: None, emitted: None, shared: None }
    }
}

/// What a stage runs over.
#[derive(Debug, Clone, Copy)]
pub enum Work<'a> {
    /// So many vertices: a lane and a row each.
    Vertices(u32),
    /// Tessellation control: so many patches. The lanes of a patch are never in two warps. Input rows are `patch *
    /// vertices + vertex`, output rows `patch * invocations + invocation`, those of patch space one a patch.
    Patches(u32),
    /// Tessellation evaluation. A lane and an output row is `patch * points + point`.
    Points {
        /// Patches.
        patches: u32,
        /// Points of each.
        points: u32,
    },
    /// Geometry: so many primitives. A lane is `primitive * invocations + invocation`, and its rows begin at `lane * max_vertices`.
    Primitives(u32),
    /// Fragments: any quads. Pixel rows are `quad * 4 + lane`, the lanes in the order of [`Quad::mask`].
    Quads(&'a [Quad]),
    /// Fragments: any quads, as parts of a picture. Pixel rows, coverage included, are those of the rectangle, which must hold all quads.
    /// What quads have in common is what they leave one after another.
    Picture(&'a [Quad], Rect),
    /// Fragments: all pixels of a rectangle, all of primitive 0, quads in row order. Pixel rows are `y * width + x`.
    Rect(Rect),
}

/// Four pixels that run side by side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Quad {
    /// Column of the left two pixels, an even number.
    pub x: u32,
    /// Row of the upper two pixels, an even number.
    pub y: u32,
    /// The primitive that has the pixels: which rows of `plane` and `primitive` inputs they get.
    pub primitive: u32,
    /// Which pixels are covered: bit 0 top left, 1 top right, 2 bottom left, 3 bottom right. The others run as helpers.
    pub mask: u32,
}

/// A rectangle of pixels; all its numbers are even.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rect {
    /// The first column.
    pub x: u32,
    /// The first row.
    pub y: u32,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// Rows of an input: arrays of the embedder that are read where they are. Words are little endian, at any alignment.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    bytes: &'a [u8],
    /// Bytes from row to row; 0: rows follow each other.
    stride: usize,
}

impl<'a> Rows<'a> {
    /// Rows that follow each other.
    pub fn new(bytes: &'a [u8]) -> Self {
        Rows { bytes, stride: 0 }
    }

    /// Rows that begin `stride` bytes after each other, such as one attribute of an array of vertices. A row may not be longer than
    /// that.
    pub fn every(self, stride: usize) -> Self {
        Rows { stride, ..self }
    }
}

/// Rows of an output: an array of the embedder, or columns of one. Threads of the launch write to it.
#[derive(Debug)]
pub struct RowsMut<'a> {
    start: *mut u8,
    /// Bytes from there to the array's end.
    bytes: usize,
    /// Bytes from row to row; 0: rows follow each other.
    stride: usize,
    /// Most bytes of a row.
    width: usize,
    array: PhantomData<&'a mut [u8]>,
}

// SAFETY: it stands for a mutable slice of bytes, or for columns of one that no other has.
unsafe impl Send for RowsMut<'_> {}
// SAFETY: as above; nothing can be read or written by a shared reference.
unsafe impl Sync for RowsMut<'_> {}

impl<'a> RowsMut<'a> {
    /// Rows that follow each other.
    pub fn new(bytes: &'a mut [u8]) -> Self {
        RowsMut {
            start: bytes.as_mut_ptr(),
            bytes: bytes.len(),
            stride: 0,
            width: usize::MAX,
            array: PhantomData,
        }
    }

    /// Rows in `bytes` bytes from `start` on, which begin `stride` bytes after each other; 0: they follow each other.
    ///
    /// # Safety
    /// While the result lives, the bytes can be written, and nobody else uses those of the rows: other outputs may be columns of the same
    /// array.
    pub unsafe fn at(start: *mut u8, bytes: usize, stride: usize) -> Self {
        let width = if stride == 0 { usize::MAX } else { stride };
        RowsMut { start, bytes, stride, width, array: PhantomData }
    }

    /// Rows that begin `stride` bytes after each other. A row may not be longer than that.
    pub fn every(self, stride: usize) -> Self {
        RowsMut { stride, width: self.width.min(stride), ..self }
    }

    /// Several outputs in one array of structures of `stride` bytes: the column of each begins at one of `offsets`, which ascend, and ends
    /// where the next one begins, or the structure ends. `None` if offsets do not ascend or are not inside of the structure.
    pub fn columns(bytes: &'a mut [u8], stride: usize, offsets: &[usize]) -> Option<Vec<Self>> {
        let ends = offsets.iter().skip(1).copied().chain([stride]);
        let (start, all) = (bytes.as_mut_ptr(), bytes.len());
        offsets
            .iter()
            .zip(ends)
            .map(|(&offset, end)| {
                let width = end.checked_sub(offset).filter(|&width| width > 0)?;
                // An array without structures has no columns to point to.
                let inside = offset.min(all);
                Some(RowsMut {
                    start: start.wrapping_add(inside),
                    bytes: all - inside,
                    stride,
                    width,
                    array: PhantomData,
                })
            })
            .collect()
    }
}

/// What a geometry program emits besides rows. Both are indexed as its outputs are.
#[derive(Debug)]
pub struct Emitted<'a> {
    /// Number of vertices that each lane emitted.
    pub counts: &'a mut [u32],
    /// For each row: bit 0 is set if the strip was cut behind that vertex. If the program has several streams
    /// ([`StageInterface::streams`]), bits 8 and 9 are the number of the vertex's stream. The rest is 0.
    pub cuts: &'a mut [u32],
}

/// Arrays of plain numbers as rows.
macro_rules! rows_of {
    ($($number:ty),*) => {$(
        impl<'a> From<&'a [$number]> for Rows<'a> {
            fn from(words: &'a [$number]) -> Self {
                // SAFETY: the memory of plain numbers, which may be looked at as bytes.
                Rows::new(unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) })
            }
        }

        impl<'a> From<&'a mut [$number]> for RowsMut<'a> {
            fn from(words: &'a mut [$number]) -> Self {
                let bytes = size_of_val(words);
                // SAFETY: the memory of plain numbers, which may be written as bytes.
                RowsMut::new(unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), bytes) })
            }
        }
    )*};
}

rows_of!(u32, i32, f32);

impl<'a> From<&'a [u8]> for Rows<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Rows::new(bytes)
    }
}

impl<'a> From<&'a mut [u8]> for RowsMut<'a> {
    fn from(bytes: &'a mut [u8]) -> Self {
        RowsMut::new(bytes)
    }
}

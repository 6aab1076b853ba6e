//! Batches of graphics stages: what one call runs a program over, with the arrays of the caller.

use std::ffi::c_void;

use warpjit_runtime::stage::{
    Batch, Emitted, OwnedBatch, OwnedRows, OwnedWork, Quad, Rect, Rows, RowsMut, StageInterface, Work,
};

use crate::handle::Draft;
use crate::pointers::{array, array_mut, put_handle};
use crate::status::{Failure, warpjit_status};
use crate::{entry, handle, object};

/// Four pixels that run side by side.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct warpjit_quad {
    /// Column of the left two pixels, an even number.
    pub x: u32,
    /// Row of the upper two pixels, an even number.
    pub y: u32,
    /// The primitive that has the pixels: which rows of inputs per plane and per primitive they get.
    pub primitive: u32,
    /// Which pixels are covered: bit 0 top left, 1 top right, 2 bottom left, 3 bottom right. The others run as helpers.
    pub mask: u32,
}

const _: () = assert!(size_of::<warpjit_quad>() == size_of::<Quad>());

/// What one call runs a stage over, with the arrays of its inputs and outputs. They are the caller's, and must exist when a call runs the
/// batch (warpjit_engine_run_stage), not before. A batch can be run again.
pub struct warpjit_batch {
    _private: [u8; 0],
}

object!(Draft<Arrays>, 10, "warpjit_batch", warpjit_batch);

/// A pointer of the caller.
#[derive(Clone, Copy)]
struct Pointer<T>(*mut T);

// SAFETY: it is followed in calls that run the batch only, whose caller has promised that the array is there for all threads.
unsafe impl<T> Send for Pointer<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Pointer<T> {}

/// An array of rows.
#[derive(Clone, Copy)]
struct Column {
    start: Pointer<u8>,
    bytes: usize,
    stride: usize,
}

#[derive(Clone, Copy)]
enum Over {
    Vertices(u32),
    Patches(u32),
    Points(u32, u32),
    Primitives(u32),
    Quads(Pointer<Quad>, usize),
    Picture(Pointer<Quad>, usize, Rect),
    Rect(Rect),
}

/// An array that a submission gives back, with the bytes of its rows.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    column: Column,
    row: usize,
}

impl Target {
    /// Copies the rows to where C wants them.
    ///
    /// # Safety
    /// The array is there, and nobody else uses its rows.
    unsafe fn fill(&self, rows: &[u8]) {
        let bytes = self.column.bytes.min(rows.len());
        let stride = if self.column.stride == 0 { self.row } else { self.column.stride };
        for at in (0..bytes).step_by(stride.max(1)) {
            let count = self.row.min(bytes - at);
            // SAFETY: inside of the array, which is the caller's.
            unsafe { std::ptr::copy_nonoverlapping(rows[at..].as_ptr(), self.column.start.0.add(at), count) };
        }
    }
}

/// A batch as C has described it.
#[derive(Clone)]
pub(crate) struct Arrays {
    over: Over,
    inputs: Vec<Column>,
    outputs: Vec<Column>,
    coverage: Option<(Pointer<u8>, usize)>,
    emitted: Option<[(Pointer<u32>, usize); 2]>,
}

impl Arrays {
    /// The batch.
    ///
    /// # Safety
    /// The arrays exist, and nobody else uses them, while the result lives.
    pub unsafe fn batch(&self) -> Result<Batch<'_>, Failure> {
        // SAFETY: the caller's promise, in all calls below.
        unsafe {
            let work = match self.over {
                Over::Vertices(count) => Work::Vertices(count),
                Over::Patches(count) => Work::Patches(count),
                Over::Points(patches, points) => Work::Points { patches, points },
                Over::Primitives(count) => Work::Primitives(count),
                Over::Quads(quads, count) => Work::Quads(array(quads.0, count, "the array of quads")?),
                Over::Picture(quads, count, rect) => {
                    Work::Picture(array(quads.0, count, "the array of quads")?, rect)
                }
                Over::Rect(rect) => Work::Rect(rect),
            };
            let mut batch = Batch::new(work);
            for column in &self.inputs {
                let rows = Rows::new(array(column.start.0, column.bytes, "an array of inputs")?);
                batch.inputs.push(rows.every(column.stride));
            }
            for column in &self.outputs {
                array::<u8>(column.start.0, column.bytes, "an array of outputs")?;
                batch.outputs.push(RowsMut::at(column.start.0, column.bytes, column.stride));
            }
            if let Some((start, bytes)) = self.coverage {
                batch.coverage = Some(array_mut(start.0, bytes, "the array of coverage")?);
            }
            if let Some([counts, cuts]) = self.emitted {
                batch.emitted = Some(Emitted {
                    counts: array_mut(counts.0.0, counts.1, "the array of counts")?,
                    cuts: array_mut(cuts.0.0, cuts.1, "the array of cuts")?,
                });
            }
            Ok(batch)
        }
    }
}

impl Arrays {
    /// A batch with copies of all arrays.
    ///
    /// # Safety
    /// As [`Arrays::batch`], until this returns.
    pub unsafe fn owned(&self, interface: &StageInterface) -> Result<(OwnedBatch, Vec<Target>), Failure> {
        // SAFETY: the caller's promise, in all calls below.
        unsafe {
            let work = match self.over {
                Over::Vertices(count) => OwnedWork::Vertices(count),
                Over::Patches(count) => OwnedWork::Patches(count),
                Over::Points(patches, points) => OwnedWork::Points { patches, points },
                Over::Primitives(count) => OwnedWork::Primitives(count),
                Over::Quads(quads, count) => {
                    OwnedWork::Quads(array(quads.0, count, "the array of quads")?.to_vec())
                }
                Over::Picture(quads, count, rect) => {
                    OwnedWork::Picture(array(quads.0, count, "the array of quads")?.to_vec(), rect)
                }
                Over::Rect(rect) => OwnedWork::Rect(rect),
            };
            let copy = |column: &Column| {
                let bytes = array::<u8>(column.start.0, column.bytes, "an array")?.to_vec();
                Ok::<_, Failure>(OwnedRows::new(bytes).every(column.stride))
            };
            let mut batch = OwnedBatch::new(work);
            batch.inputs = self.inputs.iter().map(copy).collect::<Result<_, _>>()?;
            batch.outputs = self.outputs.iter().map(copy).collect::<Result<_, _>>()?;
            if let Some((start, bytes)) = self.coverage {
                batch.coverage = Some(array(start.0, bytes, "the array of coverage")?.to_vec());
            }
            if let Some([counts, cuts]) = self.emitted {
                let words = |(start, count): (Pointer<u32>, usize)| {
                    Ok::<_, Failure>(array(start.0, count, "an array of emitted vertices")?.to_vec())
                };
                batch.emitted = Some((words(counts)?, words(cuts)?));
            }
            let rows = interface.outputs.iter().map(|output| output.words as usize * 4);
            let targets = self.outputs.iter().zip(rows).map(|(&column, row)| Target { column, row });
            Ok((batch, targets.collect()))
        }
    }

    /// Copies what a batch of [`Arrays::owned`] has left to the arrays.
    ///
    /// # Safety
    /// As [`Arrays::batch`], until this returns.
    pub unsafe fn take(&self, batch: &OwnedBatch, targets: &[Target]) {
        // SAFETY: the caller's promise, in all calls below; arrays have the sizes that they had when they were copied.
        unsafe {
            for (target, rows) in targets.iter().zip(&batch.outputs) {
                target.fill(&rows.bytes);
            }
            if let (Some((to, _)), Some(from)) = (self.coverage, &batch.coverage) {
                std::ptr::copy_nonoverlapping(from.as_ptr(), to.0, from.len());
            }
            if let (Some([counts, cuts]), Some(from)) = (self.emitted, &batch.emitted) {
                std::ptr::copy_nonoverlapping(from.0.as_ptr(), counts.0.0, from.0.len());
                std::ptr::copy_nonoverlapping(from.1.as_ptr(), cuts.0.0, from.1.len());
            }
        }
    }
}

fn edit_batch(batch: *const warpjit_batch, work: impl FnOnce(&mut Arrays)) -> Result<(), Failure> {
    handle::get::<Draft<Arrays>>(batch)?.edit(work);
    Ok(())
}

/// Makes a batch of nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_batch_new(batch: *mut *mut warpjit_batch) -> warpjit_status {
    entry!({
        let arrays = Arrays {
            over: Over::Vertices(0),
            inputs: Vec::new(),
            outputs: Vec::new(),
            coverage: None,
            emitted: None,
        };
        put_handle(batch, Draft::new(arrays))?
    })
}

/// Runs over so many vertices: a lane and a row each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_batch_set_vertices(batch: *mut warpjit_batch, count: u32) -> warpjit_status {
    entry!({ edit_batch(batch, |batch| batch.over = Over::Vertices(count))? })
}

/// Tessellation control: runs over so many patches. Input rows are `patch * vertices + vertex`, output rows `patch * invocations +
/// invocation`, those of patch space one a patch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_batch_set_patches(batch: *mut warpjit_batch, count: u32) -> warpjit_status {
    entry!({ edit_batch(batch, |batch| batch.over = Over::Patches(count))? })
}

/// Tessellation evaluation: runs over so many points of each of so many patches. A lane and an output row is `patch * points + point`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_batch_set_points(
    batch: *mut warpjit_batch,
    patches: u32,
    points: u32,
) -> warpjit_status {
    entry!({ edit_batch(batch, |batch| batch.over = Over::Points(patches, points))? })
}

/// Geometry: runs over so many primitives. A lane is `primitive * invocations + invocation`, and its rows begin at `lane * max_vertices`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_batch_set_primitives(
    batch: *mut warpjit_batch,
    count: u32,
) -> warpjit_status {
    entry!({ edit_batch(batch, |batch| batch.over = Over::Primitives(count))? })
}

/// Fragments: runs over any quads. Pixel rows are `quad * 4 + lane`, the lanes in the order of the mask. The array is not copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_batch_set_quads(
    batch: *mut warpjit_batch,
    quads: *const warpjit_quad,
    count: usize,
) -> warpjit_status {
    entry!({ edit_batch(batch, |batch| batch.over = Over::Quads(Pointer(quads.cast_mut().cast()), count))? })
}

/// Fragments: runs over any quads as parts of a picture. Pixel rows, coverage included, are those of the rectangle, which must hold all
/// quads; its numbers are even. What quads have in common is what they leave one after another. The array is not copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_batch_set_picture(
    batch: *mut warpjit_batch,
    quads: *const warpjit_quad,
    count: usize,
    x: u32,
    y: u32,
    width: u32,
    height: u32,
) -> warpjit_status {
    entry!({
        let rect = Rect { x, y, width, height };
        edit_batch(batch, |batch| batch.over = Over::Picture(Pointer(quads.cast_mut().cast()), count, rect))?
    })
}

/// Fragments: runs over all pixels of a rectangle, all of primitive 0. Pixel rows are `row * width + column`. The numbers are even.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_batch_set_rect(
    batch: *mut warpjit_batch,
    x: u32,
    y: u32,
    width: u32,
    height: u32,
) -> warpjit_status {
    entry!({ edit_batch(batch, |batch| batch.over = Over::Rect(Rect { x, y, width, height }))? })
}

/// Removes all inputs and outputs, coverage, and emitted vertices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_batch_clear(batch: *mut warpjit_batch) -> warpjit_status {
    entry!({
        edit_batch(batch, |batch| {
            batch.inputs.clear();
            batch.outputs.clear();
            batch.coverage = None;
            batch.emitted = None;
        })?
    })
}

/// Adds the rows of an input, in the order of the program's inputs. Words are little endian, at any alignment. `stride`: bytes from row to
/// row, so that attributes of an array of structures can be used where they are; 0: rows follow each other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_batch_add_input(
    batch: *mut warpjit_batch,
    rows: *const c_void,
    bytes: usize,
    stride: usize,
) -> warpjit_status {
    entry!({
        let start = Pointer(rows.cast_mut().cast());
        edit_batch(batch, |batch| batch.inputs.push(Column { start, bytes, stride }))?
    })
}

/// Adds the rows of an output, in the order of the program's outputs. `bytes`: from the first row to the end of the array. `stride` as of
/// inputs. Outputs may be columns of one array; rows may not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_batch_add_output(
    batch: *mut warpjit_batch,
    rows: *mut c_void,
    bytes: usize,
    stride: usize,
) -> warpjit_status {
    entry!({
        let start = Pointer(rows.cast());
        edit_batch(batch, |batch| batch.outputs.push(Column { start, bytes, stride }))?
    })
}

/// Fragments: a byte for each pixel row. It becomes 1 if the pixel is covered and has not been discarded, and 0 if it has been discarded.
/// That of a pixel which is not covered stays on Tesla and Fermi, and becomes 0 on GCN. NULL: not wanted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_batch_set_coverage(
    batch: *mut warpjit_batch,
    coverage: *mut u8,
    bytes: usize,
) -> warpjit_status {
    entry!({
        let coverage = (!coverage.is_null()).then_some((Pointer(coverage), bytes));
        edit_batch(batch, |batch| batch.coverage = coverage)?
    })
}

/// Geometry: `counts` gets the number of vertices that each lane emitted; `cuts`, for each row, 1 if the strip was cut behind that vertex,
/// else 0; with several streams, plus 256 times the vertex's stream. Both may be NULL: not wanted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_batch_set_emitted(
    batch: *mut warpjit_batch,
    counts: *mut u32,
    count_of_counts: usize,
    cuts: *mut u32,
    count_of_cuts: usize,
) -> warpjit_status {
    entry!({
        let emitted = [(Pointer(counts), count_of_counts), (Pointer(cuts), count_of_cuts)];
        let is_wanted = !counts.is_null() || !cuts.is_null();
        edit_batch(batch, |batch| batch.emitted = is_wanted.then_some(emitted))?
    })
}

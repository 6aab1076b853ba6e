//! Graphics stages: what programs give and take, and batches with the arrays of the caller.

use std::ffi::{c_char, c_void};

use warpjit_frontend::fermi::program_header::{ProgramHeader, Surroundings};
use warpjit_frontend::{Chip, Stage};
use warpjit_runtime::stage::{
    Batch, Emitted, ExportTarget, InputPlace, OutputPlace, OwnedBatch, OwnedRows, OwnedWork, Per, Quad, Rect,
    Rows, RowsMut, StageInput, StageInterface, StageOutput, Work,
};

use crate::handle::Draft;
use crate::pointers::{array, array_mut, chip, put, put_handle};
use crate::status::{Failure, WARPJIT_ERROR_NOT_FOUND, warpjit_status};
use crate::{entry, handle, object};

/// A stage of the pipeline: WARPJIT_STAGE_... .
pub type warpjit_stage_kind = u32;
/// One thread a vertex.
pub const WARPJIT_STAGE_VERTEX: warpjit_stage_kind = 0;
/// Tessellation control: one thread an output vertex of a patch.
pub const WARPJIT_STAGE_TESS_CONTROL: warpjit_stage_kind = 1;
/// Tessellation evaluation: one thread a point of a patch.
pub const WARPJIT_STAGE_TESS_EVAL: warpjit_stage_kind = 2;
/// One thread a primitive, or an invocation of one.
pub const WARPJIT_STAGE_GEOMETRY: warpjit_stage_kind = 3;
/// One thread a pixel, quads side by side.
pub const WARPJIT_STAGE_FRAGMENT: warpjit_stage_kind = 4;
/// Blocks of threads in a grid.
pub const WARPJIT_STAGE_COMPUTE: warpjit_stage_kind = 5;

pub(crate) fn stage_of(kind: warpjit_stage_kind) -> Result<Stage, Failure> {
    let stage = Stage::ALL.get(kind as usize).copied();
    stage.ok_or_else(|| Failure::argument(format!("{kind} is no stage")))
}

/// Where a program of a stage finds an input: WARPJIT_INPUT_... .
pub type warpjit_input_place = u32;
/// At a byte address in the stage's input space (Tesla, Fermi).
pub const WARPJIT_INPUT_ADDRESS: warpjit_input_place = 0;
/// In vector registers from a number on (GCN).
pub const WARPJIT_INPUT_REGISTER: warpjit_input_place = 1;
/// In a parameter that interpolation reads, by number (GCN).
pub const WARPJIT_INPUT_ATTRIBUTE: warpjit_input_place = 2;

/// What has a row of an input for itself: WARPJIT_PER_... .
pub type warpjit_per = u32;
/// Each vertex; of geometry and tessellation, each input vertex of each primitive or patch.
pub const WARPJIT_PER_VERTEX: warpjit_per = 0;
/// Each primitive or patch; of a fragment, the primitive of its quad.
pub const WARPJIT_PER_PRIMITIVE: warpjit_per = 1;
/// All have one row.
pub const WARPJIT_PER_LAUNCH: warpjit_per = 2;
/// Tessellation evaluation: each point.
pub const WARPJIT_PER_POINT: warpjit_per = 3;
/// Tessellation evaluation: each patch, in patch space.
pub const WARPJIT_PER_PATCH: warpjit_per = 4;
/// Each pixel.
pub const WARPJIT_PER_PIXEL: warpjit_per = 5;
/// The primitive of a fragment's quad, as a plane: three floats a word (value at x = y = 0, change by x, change by y).
pub const WARPJIT_PER_PLANE: warpjit_per = 6;

/// Where a program leaves an output: WARPJIT_OUTPUT_... .
pub type warpjit_output_place = u32;
/// At a byte address in o[] (Tesla, Fermi).
pub const WARPJIT_OUTPUT_ADDRESS: warpjit_output_place = 0;
/// At a byte address in patch space (tessellation control).
pub const WARPJIT_OUTPUT_PATCH: warpjit_output_place = 1;
/// In general registers from a number on, at the end (fragment programs of Tesla and Fermi).
pub const WARPJIT_OUTPUT_REGISTER: warpjit_output_place = 2;
/// GCN export: colour, 0 to 7.
pub const WARPJIT_OUTPUT_MRT: warpjit_output_place = 3;
/// GCN export: depth, stencil, sample mask. The number is 0.
pub const WARPJIT_OUTPUT_MRTZ: warpjit_output_place = 4;
/// GCN export: position, 0 to 3.
pub const WARPJIT_OUTPUT_POSITION: warpjit_output_place = 5;
/// GCN export: parameter, 0 to 31.
pub const WARPJIT_OUTPUT_PARAMETER: warpjit_output_place = 6;

/// Inputs and outputs of a program of a graphics stage.
pub struct warpjit_stage {
    _private: [u8; 0],
}

object!(Draft<StageInterface>, 9, "warpjit_stage", warpjit_stage);

fn edit(stage: *const warpjit_stage, work: impl FnOnce(&mut StageInterface)) -> Result<(), Failure> {
    handle::get::<Draft<StageInterface>>(stage)?.edit(work);
    Ok(())
}

/// Makes the interface of a stage, without inputs and outputs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_stage_new(
    kind: warpjit_stage_kind,
    stage: *mut *mut warpjit_stage,
) -> warpjit_status {
    entry!({
        let interface = StageInterface { stage: stage_of(kind)?, ..StageInterface::default() };
        put_handle(stage, Draft::new(interface))?
    })
}

/// Tessellation and geometry: input vertices of a primitive or patch; threads of a patch or primitive; most vertices that a thread of a
/// geometry program emits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_stage_set_primitive(
    stage: *mut warpjit_stage,
    vertices: u32,
    invocations: u32,
    max_vertices: u32,
) -> warpjit_status {
    entry!({
        edit(stage, |stage| {
            stage.vertices = vertices;
            stage.invocations = invocations;
            stage.max_vertices = max_vertices;
        })?
    })
}

/// Adds an input of so many consecutive words or registers. `at`: the address or number that goes with the place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_stage_add_input(
    stage: *mut warpjit_stage,
    place: warpjit_input_place,
    at: u32,
    words: u32,
    per: warpjit_per,
) -> warpjit_status {
    entry!({
        let place = match place {
            WARPJIT_INPUT_ADDRESS => InputPlace::Address(at),
            WARPJIT_INPUT_REGISTER => InputPlace::Register(at),
            WARPJIT_INPUT_ATTRIBUTE => InputPlace::Attribute(at),
            other => return Err(Failure::argument(format!("{other} is no place of an input"))),
        };
        let per = match per {
            WARPJIT_PER_VERTEX => Per::Vertex,
            WARPJIT_PER_PRIMITIVE => Per::Primitive,
            WARPJIT_PER_LAUNCH => Per::Launch,
            WARPJIT_PER_POINT => Per::Point,
            WARPJIT_PER_PATCH => Per::Patch,
            WARPJIT_PER_PIXEL => Per::Pixel,
            WARPJIT_PER_PLANE => Per::Plane,
            other => return Err(Failure::argument(format!("{other} has no rows"))),
        };
        edit(stage, |stage| stage.inputs.push(StageInput { place, words, per }))?
    })
}

/// Adds an output of so many consecutive words. `at`: the address or number that goes with the place. `compressed`, of exports: those of
/// two halves are written as the four floats of their halves. Ask for no more outputs than are used: others are not computed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_stage_add_output(
    stage: *mut warpjit_stage,
    place: warpjit_output_place,
    at: u32,
    words: u32,
    compressed: bool,
) -> warpjit_status {
    entry!({
        let export = |target| OutputPlace::Export(target, compressed);
        let place = match place {
            WARPJIT_OUTPUT_ADDRESS => OutputPlace::Address(at),
            WARPJIT_OUTPUT_PATCH => OutputPlace::Patch(at),
            WARPJIT_OUTPUT_REGISTER => OutputPlace::Register(at),
            WARPJIT_OUTPUT_MRT => export(ExportTarget::Mrt(at)),
            WARPJIT_OUTPUT_MRTZ => export(ExportTarget::Mrtz),
            WARPJIT_OUTPUT_POSITION => export(ExportTarget::Pos(at)),
            WARPJIT_OUTPUT_PARAMETER => export(ExportTarget::Param(at)),
            other => return Err(Failure::argument(format!("{other} is no place of an output"))),
        };
        edit(stage, |stage| stage.outputs.push(StageOutput { place, words }))?
    })
}

/// Makes the interface that Fermi's shader program header describes: the 80 bytes ahead of a program's code. What is not in the header:
/// the chip; `vertices`, input vertices of a primitive or patch (tessellation, geometry), and `patch_words`, words of patch space (tessellation
/// evaluation).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_stage_from_fermi_header(
    chip_name: *const c_char,
    header: *const u8,
    bytes: usize,
    vertices: u32,
    patch_words: u32,
    stage: *mut *mut warpjit_stage,
) -> warpjit_status {
    entry!({
        put(stage, std::ptr::null_mut())?;
        let header = ProgramHeader::parse(array(header, bytes, "the header")?)?;
        let Chip::Fermi(chip) = chip(chip_name)? else {
            return Err(Failure::argument("the chip is none of Fermi"));
        };
        let interface = header.interface(chip, &Surroundings { vertices, patch_words });
        put_handle(stage, Draft::new(interface))?
    })
}

/// Input number `index` of an interface, as warpjit_stage_add_input describes it. WARPJIT_ERROR_NOT_FOUND: there are fewer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_stage_get_input(
    stage: *const warpjit_stage,
    index: usize,
    place: *mut warpjit_input_place,
    at: *mut u32,
    words: *mut u32,
    per: *mut warpjit_per,
) -> warpjit_status {
    entry!({
        let interface = handle::get::<Draft<StageInterface>>(stage)?.now();
        let Some(input) = interface.inputs.get(index) else {
            return Err(Failure::new(WARPJIT_ERROR_NOT_FOUND, format!("there is no input {index}")));
        };
        let (kind, number) = match input.place {
            InputPlace::Address(at) => (WARPJIT_INPUT_ADDRESS, at),
            InputPlace::Register(at) => (WARPJIT_INPUT_REGISTER, at),
            InputPlace::Attribute(at) => (WARPJIT_INPUT_ATTRIBUTE, at),
        };
        put(place, kind)?;
        put(at, number)?;
        put(words, input.words)?;
        let rows = match input.per {
            Per::Vertex => WARPJIT_PER_VERTEX,
            Per::Primitive => WARPJIT_PER_PRIMITIVE,
            Per::Launch => WARPJIT_PER_LAUNCH,
            Per::Point => WARPJIT_PER_POINT,
            Per::Patch => WARPJIT_PER_PATCH,
            Per::Pixel => WARPJIT_PER_PIXEL,
            Per::Plane => WARPJIT_PER_PLANE,
        };
        put(per, rows)?
    })
}

/// Output number `index` of an interface, as warpjit_stage_add_output describes it. WARPJIT_ERROR_NOT_FOUND: there are fewer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_stage_get_output(
    stage: *const warpjit_stage,
    index: usize,
    place: *mut warpjit_output_place,
    at: *mut u32,
    words: *mut u32,
) -> warpjit_status {
    entry!({
        let interface = handle::get::<Draft<StageInterface>>(stage)?.now();
        let Some(output) = interface.outputs.get(index) else {
            return Err(Failure::new(WARPJIT_ERROR_NOT_FOUND, format!("there is no output {index}")));
        };
        let (kind, number) = match output.place {
            OutputPlace::Address(at) => (WARPJIT_OUTPUT_ADDRESS, at),
            OutputPlace::Patch(at) => (WARPJIT_OUTPUT_PATCH, at),
            OutputPlace::Register(at) => (WARPJIT_OUTPUT_REGISTER, at),
            OutputPlace::Export(ExportTarget::Mrt(at), _) => (WARPJIT_OUTPUT_MRT, at),
            OutputPlace::Export(ExportTarget::Mrtz, _) => (WARPJIT_OUTPUT_MRTZ, 0),
            OutputPlace::Export(ExportTarget::Pos(at), _) => (WARPJIT_OUTPUT_POSITION, at),
            OutputPlace::Export(ExportTarget::Param(at), _) => (WARPJIT_OUTPUT_PARAMETER, at),
        };
        put(place, kind)?;
        put(at, number)?;
        put(words, output.words)?
    })
}

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
/// else 0. Both may be NULL: not wanted.
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

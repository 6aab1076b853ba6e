//! Graphics stages: what programs give and take.

use std::ffi::c_char;

use warpjit_frontend::{Chip, Stage};
use warpjit_runtime::stage::{
    ExportTarget, InputPlace, OutputPlace, Per, StageInput, StageInterface, StageOutput,
};

use crate::handle::Draft;
use crate::pointers::{array, chip, put, put_handle};
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

/// Geometry: the number of vertex streams, at most 4. With 0 or 1, only vertices of the first stream count; with more, vertices of all
/// streams have rows, and the flags of `warpjit_batch_set_emitted` say which stream a row is of.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_stage_set_streams(
    stage: *mut warpjit_stage,
    streams: u32,
) -> warpjit_status {
    entry!({ edit(stage, |stage| stage.streams = streams)? })
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
        let Chip::Fermi(chip) = chip(chip_name)? else {
            return Err(Failure::argument("the chip is none of Fermi"));
        };
        let header = array(header, bytes, "the header")?;
        put_handle(stage, Draft::new(interface_of(header, chip, vertices, patch_words)?))?
    })
}

#[cfg(feature = "fermi")]
fn interface_of(
    header: &[u8],
    chip: warpjit_frontend::fermi::Chip,
    vertices: u32,
    patch_words: u32,
) -> Result<StageInterface, Failure> {
    use warpjit_frontend::fermi::program_header::{ProgramHeader, Surroundings};
    Ok(ProgramHeader::parse(header)?.interface(chip, &Surroundings { vertices, patch_words }))
}

#[cfg(not(feature = "fermi"))]
fn interface_of(
    _header: &[u8],
    _chip: warpjit_frontend::fermi::Chip,
    _vertices: u32,
    _patch_words: u32,
) -> Result<StageInterface, Failure> {
    Err(Failure::new(crate::status::WARPJIT_ERROR_CONFIG, "this build has no Fermi"))
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

//! Checks a batch against its program, and says which lane of which warp has what.

use std::sync::Arc;

use super::interface::{StageProgram, parts};
use super::{Batch, Canvas, ExportTarget, OutputPlace, Per, Quad, Rect, Rows, RowsMut, Stage, Work};
use crate::{Error, LaunchError, RowsError};

/// Lanes of a batch at most, so that their numbers are words.
const MOST_LANES: u64 = u32::MAX as u64;
/// Most lanes of a warp.
pub(super) const WARP: usize = 64;
/// Quads of the widest warp.
pub(super) const WARP_QUADS: usize = WARP / 4;

/// A checked batch: what blocks start with and leave.
///
/// It has no lifetime, because what it points to outlives it: [`StageRun::new`].
#[derive(Debug)]
pub(crate) struct StageRun {
    pub(super) program: Arc<StageProgram>,
    pub(super) items: Items,
    /// Lanes of a warp.
    pub(super) lanes: usize,
    /// Lanes with something to do, of a full warp and of all.
    pub(super) per_warp: usize,
    total: u64,
    /// Of each input of the interface that the program reads.
    pub(super) inputs: Vec<Source>,
    pub(super) outputs: Vec<Target>,
    pub(super) coverage: Option<*mut u8>,
    pub(super) emitted: Option<(*mut u32, *mut u32)>,
    /// Rows of shared memory.
    pub(super) shared: Option<Target>,
}

// SAFETY: its pointers are to arrays that are only read, and to rows that one thread each writes: that of the block
// which has the row's lane.
unsafe impl Send for StageRun {}
// SAFETY: as above.
unsafe impl Sync for StageRun {}

/// What lanes stand for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Items {
    /// So many lanes for each vertex, patch or primitive.
    Lanes(usize),
    /// The quads of an array. If they are parts of a picture, its rectangle.
    Quads(*const Quad, Option<Rect>),
    /// All quads of a rectangle.
    Rect(Rect),
}

/// Rows of an input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    /// Its number in the interface.
    pub index: usize,
    pub start: *const u8,
    pub stride: usize,
}

/// Rows of an output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub start: *mut u8,
    pub stride: usize,
    /// If it is kept for a picture: for each row, which of its words were written.
    pub masks: Option<*mut u64>,
}

/// What a warp stands for.
#[derive(Debug, Default)]
pub(crate) struct Lot {
    /// The first of its lanes that stand for something, of those of all warps.
    pub first: usize,
    /// How many there are.
    pub count: usize,
    /// The quads, if they are pixels; those of others behind them. Not there where `run` says all of a rectangle's.
    pub quads: [Quad; WARP_QUADS],
    /// Its quads lie side by side from this pixel on.
    pub run: Option<(u32, u32)>,
    /// Lanes with covered pixels.
    pub covered: u64,
    /// The primitive of all of its quads, if it is one.
    pub primitive: Option<u32>,
}

impl Rect {
    pub(super) fn pixels(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// The row of a pixel that is inside.
    #[inline]
    pub(super) fn row(self, x: u32, y: u32) -> usize {
        (y - self.y) as usize * self.width as usize + (x - self.x) as usize
    }

    fn holds(self, quad: &Quad) -> bool {
        let inside = |at: u32, from: u32, size: u32| {
            at >= from && u64::from(at) + 1 < u64::from(from) + u64::from(size)
        };
        inside(quad.x, self.x, self.width) && inside(quad.y, self.y, self.height)
    }

    fn check(self) -> Result<(), Error> {
        let Rect { x, y, width, height } = self;
        let fits = |from: u32, size: u32| size > 0 && from.checked_add(size - 1).is_some();
        if [x, y, width, height].iter().any(|n| !n.is_multiple_of(2)) || !fits(x, width) || !fits(y, height) {
            return Err(LaunchError::Rect { x, y, width, height }.into());
        }
        Ok(())
    }
}

/// The word that names an output.
fn name_of(place: OutputPlace) -> String {
    match place {
        OutputPlace::Address(address) => format!("o[{address:#x}]"),
        OutputPlace::Patch(address) => format!("patch[{address:#x}]"),
        OutputPlace::Register(number) => format!("r{number}"),
        OutputPlace::Export(ExportTarget::Mrt(n), _) => format!("mrt{n}"),
        OutputPlace::Export(ExportTarget::Mrtz, _) => "mrtz".into(),
        OutputPlace::Export(ExportTarget::Pos(n), _) => format!("pos{n}"),
        OutputPlace::Export(ExportTarget::Param(n), _) => format!("param{n}"),
    }
}

/// Rows of a work, by what has them.
struct Counts {
    /// Lanes.
    lanes: u64,
    /// Vertices of all primitives or patches; primitives or patches.
    vertices: u64,
    primitives: u64,
    /// Pixel rows of inputs and of outputs.
    pixels: u64,
}

/// Counts a work's rows and checks it.
fn count(program: &StageProgram, work: &Work<'_>) -> Result<(Items, Counts), Error> {
    let interface = &program.interface;
    let each = u64::from(interface.invocations.max(1));
    let plain = |n: u32, lanes: u64, vertices: u64| {
        let counts = Counts {
            lanes: u64::from(n).saturating_mul(lanes),
            vertices: u64::from(n) * vertices,
            primitives: n.into(),
            pixels: 0,
        };
        (Items::Lanes(lanes as usize), counts)
    };
    let (vertices, stage) = (u64::from(interface.vertices), interface.stage);
    let (items, counts) = match (*work, stage) {
        (Work::Vertices(n), Stage::Vertex) => plain(n, 1, 1),
        (Work::Patches(n), Stage::TessControl) => plain(n, each, vertices),
        (Work::Points { patches, points }, Stage::TessEval) => {
            if points == 0 {
                return Err(LaunchError::NoPoints.into());
            }
            plain(patches, points.into(), vertices)
        }
        (Work::Primitives(n), Stage::Geometry) => plain(n, each, vertices),
        (Work::Quads(quads) | Work::Picture(quads, _), Stage::Fragment) => {
            let image = if let Work::Picture(_, image) = *work { Some(image) } else { None };
            if let Some(image) = image {
                image.check()?;
            }
            let mut most = 0;
            for (number, quad) in quads.iter().enumerate() {
                let Quad { x, y, mask, .. } = *quad;
                if !x.is_multiple_of(2) || !y.is_multiple_of(2) || mask > 15 {
                    return Err(LaunchError::Quad { number, x, y, mask }.into());
                }
                if let Some(image) = image.filter(|image| !image.holds(quad)) {
                    let Rect { x: left, y: top, width, height } = image;
                    return Err(LaunchError::QuadOutside { number, x, y, left, top, width, height }.into());
                }
                most = most.max(u64::from(quad.primitive) + 1);
            }
            let lanes = quads.len() as u64 * 4;
            let counts =
                Counts { lanes, vertices: 0, primitives: most, pixels: image.map_or(lanes, Rect::pixels) };
            (Items::Quads(quads.as_ptr(), image), counts)
        }
        (Work::Rect(rect), Stage::Fragment) => {
            rect.check()?;
            let lanes = rect.pixels();
            (Items::Rect(rect), Counts { lanes, vertices: 0, primitives: 1, pixels: lanes })
        }
        (work, stage) => {
            let what = match work {
                Work::Vertices(_) => "vertices",
                Work::Patches(_) => "patches",
                Work::Points { .. } => "points of patches",
                Work::Primitives(_) => "primitives",
                Work::Quads(_) | Work::Picture(..) => "quads",
                Work::Rect(_) => "a rectangle of pixels",
            };
            return Err(LaunchError::BatchKind { what, stage: stage.name() }.into());
        }
    };
    if counts.lanes > MOST_LANES {
        return Err(LaunchError::BatchLanes { found: counts.lanes, limit: MOST_LANES }.into());
    }
    Ok((items, counts))
}

impl StageRun {
    /// Checks a batch. What quads of a picture leave goes to the canvas. `join`: warps that may run as one do.
    ///
    /// # Safety
    ///
    /// While this exists, the arrays of the batch and the canvas exist, and nothing else writes them or reads what this writes.
    pub unsafe fn new(
        program: &Arc<StageProgram>,
        batch: &mut Batch<'_>,
        canvas: Option<&mut Canvas>,
        join: bool,
    ) -> Result<Self, Error> {
        let StageProgram { interface, layout, lanes, .. } = &**program;
        let (items, counts) = count(program, &batch.work)?;
        let lanes = if join { *lanes * layout.joined.max(1) as usize } else { *lanes };
        let per_warp = match interface.stage {
            Stage::TessControl => (layout.patches_per_warp * interface.invocations) as usize,
            _ => lanes,
        };
        if batch.inputs.len() != interface.inputs.len() || batch.outputs.len() != interface.outputs.len() {
            return Err(LaunchError::BatchArrays {
                inputs: batch.inputs.len(),
                outputs: batch.outputs.len(),
                wanted_inputs: interface.inputs.len(),
                wanted_outputs: interface.outputs.len(),
            }
            .into());
        }
        let mut inputs = Vec::with_capacity(batch.inputs.len());
        for (index, (input, rows)) in interface.inputs.iter().zip(&batch.inputs).enumerate() {
            let needed = match input.per {
                Per::Vertex => counts.vertices,
                Per::Primitive | Per::Plane | Per::Patch => counts.primitives,
                Per::Launch => counts.lanes.min(1),
                Per::Point => counts.lanes,
                Per::Pixel => counts.pixels,
            };
            let row = input.words as usize * parts(input) * 4;
            let source = source(index, rows, row, needed).map_err(|source| LaunchError::Rows {
                of: format!("input {index} ({:x?})", input.place),
                source,
            })?;
            if layout.inputs[index].is_some() {
                inputs.push(source);
            }
        }
        let is_geometry = interface.stage == Stage::Geometry;
        let rows_each = if is_geometry { u64::from(interface.max_vertices) } else { 1 };
        let mut outputs = Vec::with_capacity(batch.outputs.len());
        for (output, rows) in interface.outputs.iter().zip(&mut batch.outputs) {
            let needed = match (output.place, interface.stage) {
                (OutputPlace::Patch(_), _) => counts.primitives,
                (_, Stage::Fragment) => counts.pixels,
                _ => counts.lanes.saturating_mul(rows_each),
            };
            let target = target(rows, output.words as usize * 4, needed).map_err(|source| {
                LaunchError::Rows { of: format!("output {}", name_of(output.place)), source }
            })?;
            outputs.push(target);
        }
        let mut coverage = None;
        if let Some(bytes) = &mut batch.coverage {
            if interface.stage != Stage::Fragment {
                return Err(
                    LaunchError::NotOfStage { what: "coverage", stage: interface.stage.name() }.into()
                );
            }
            if (bytes.len() as u64) < counts.pixels {
                let (found, wanted) = (bytes.len(), counts.pixels);
                return Err(LaunchError::Coverage { found, wanted }.into());
            }
            coverage = Some(bytes.as_mut_ptr());
        }
        let mut emitted = None;
        if let Some(arrays) = &mut batch.emitted {
            if !is_geometry {
                return Err(LaunchError::NotOfStage {
                    what: "emitted vertices",
                    stage: interface.stage.name(),
                }
                .into());
            }
            let (has, cuts) = (arrays.counts.len() as u64, arrays.cuts.len() as u64);
            let rows = counts.lanes.saturating_mul(rows_each);
            if has < counts.lanes || cuts < rows {
                return Err(LaunchError::Emitted { counts: has, cuts, lanes: counts.lanes, rows }.into());
            }
            emitted = Some((arrays.counts.as_mut_ptr(), arrays.cuts.as_mut_ptr()));
        }
        let mut shared = None;
        if let Some(rows) = batch.shared.as_mut().filter(|_| program.shared_bytes > 0) {
            let warps = counts.lanes.div_ceil(per_warp.max(1) as u64);
            let target = target(rows, program.shared_bytes, warps)
                .map_err(|source| LaunchError::Rows { of: "shared memory".into(), source })?;
            shared = Some(target);
        }
        if let Some(canvas) = canvas {
            canvas.redirect(interface, counts.lanes as usize, &mut outputs, &mut coverage)?;
        }
        Ok(StageRun {
            program: program.clone(),
            items,
            lanes,
            per_warp,
            total: counts.lanes,
            inputs,
            outputs,
            coverage,
            emitted,
            shared,
        })
    }

    /// Lanes of a warp.
    pub fn lanes(&self) -> u32 {
        self.lanes as u32
    }

    /// Lanes of a warp of the chip, of which one warp may stand for several.
    pub fn guest_lanes(&self) -> u32 {
        self.program.lanes as u32
    }

    /// Whether one warp stands for several of the chip's.
    pub fn is_joined(&self) -> bool {
        self.lanes > self.program.lanes
    }

    /// Warps of the batch.
    pub fn warps(&self) -> u32 {
        self.total.div_ceil(self.per_warp as u64) as u32
    }

    /// The row of a warp's shared memory.
    fn shared_row(&self, warp: u64) -> Option<*mut u8> {
        let target = self.shared.as_ref()?;
        Some(target.start.wrapping_add(warp as usize * target.stride))
    }

    /// Makes shared memory what the warp starts with.
    pub fn fill_shared(&self, shared: &mut [u8], warp: u64) {
        let shared = shared.get_mut(..self.program.shared_bytes);
        if let (Some(row), Some(shared)) = (self.shared_row(warp), shared) {
            // SAFETY: there is a row of so many bytes for each warp, which only this warp uses.
            unsafe { row.copy_to_nonoverlapping(shared.as_mut_ptr(), shared.len()) };
        }
    }

    /// Writes what shared memory has become.
    pub(super) fn collect_shared(&self, shared: &[u8], warp: u64) {
        let shared = shared.get(..self.program.shared_bytes);
        if let (Some(row), Some(shared)) = (self.shared_row(warp), shared) {
            // SAFETY: as above.
            unsafe { row.copy_from_nonoverlapping(shared.as_ptr(), shared.len()) };
        }
    }

    /// Finds what a warp stands for.
    pub(super) fn find_lot(&self, warp: u64, lot: &mut Lot) {
        let first = warp as usize * self.per_warp;
        let count = self.per_warp.min((self.total as usize).saturating_sub(first));
        (lot.first, lot.count) = (first, count);
        let from = first / 4;
        match self.items {
            Items::Lanes(_) => (lot.run, lot.covered, lot.primitive) = (None, 0, None),
            Items::Quads(list, _) => {
                let some = &mut lot.quads[..count / 4];
                // SAFETY: the array has four lanes' worth of quads each, `total` lanes in all.
                some.copy_from_slice(unsafe { std::slice::from_raw_parts(list.add(from), some.len()) });
                lot.look_at_quads();
            }
            Items::Rect(rect) => {
                let across = (rect.width / 2) as usize;
                let (mut column, mut row) = (from % across, from / across);
                let place = |column: usize, row: usize| (rect.x + 2 * column as u32, rect.y + 2 * row as u32);
                if column + count / 4 <= across {
                    lot.run = Some(place(column, row));
                    (lot.covered, lot.primitive) = (lot.present(), Some(0));
                    return;
                }
                for quad in &mut lot.quads[..count / 4] {
                    let (x, y) = place(column, row);
                    *quad = Quad { x, y, primitive: 0, mask: 15 };
                    column += 1;
                    if column == across {
                        (column, row) = (0, row + 1);
                    }
                }
                lot.look_at_quads();
            }
        }
    }
}

impl Lot {
    /// Lanes that stand for something.
    pub fn present(&self) -> u64 {
        if self.count >= 64 { u64::MAX } else { (1 << self.count) - 1 }
    }

    /// Notes what its quads have in common.
    fn look_at_quads(&mut self) {
        let quads = &self.quads[..self.count / 4];
        let Quad { x, y, primitive, .. } = quads.first().copied().unwrap_or_default();
        let (mut is_run, mut is_one, mut covered) = (true, true, 0);
        for (number, quad) in quads.iter().enumerate() {
            is_run &= quad.y == y && x.checked_add(2 * number as u32) == Some(quad.x);
            is_one &= quad.primitive == primitive;
            covered |= u64::from(quad.mask & 15) << (4 * number);
        }
        self.run = is_run.then_some((x, y));
        self.primitive = is_one.then_some(primitive);
        self.covered = covered;
    }
}

/// Checks the rows of an input.
fn source(index: usize, rows: &Rows<'_>, row: usize, needed: u64) -> Result<Source, RowsError> {
    let stride = if rows.stride == 0 { row } else { rows.stride };
    let has = there(rows.bytes.len(), row, stride)?;
    if has < needed {
        return Err(RowsError::TooFewRows { found: has, row, wanted: needed });
    }
    Ok(Source { index, start: rows.bytes.as_ptr(), stride })
}

/// Checks the rows of an output.
fn target(rows: &mut RowsMut<'_>, row: usize, needed: u64) -> Result<Target, RowsError> {
    let stride = if rows.stride == 0 { row } else { rows.stride };
    if row > rows.width {
        return Err(RowsError::NarrowRows { row, width: rows.width });
    }
    let has = there(rows.bytes, row, stride)?;
    if has < needed {
        return Err(RowsError::TooFewRows { found: has, row, wanted: needed });
    }
    Ok(Target { start: rows.start, stride, masks: None })
}

/// Number of rows in an array.
fn there(bytes: usize, row: usize, stride: usize) -> Result<u64, RowsError> {
    if row > stride {
        return Err(RowsError::OverlappingRows { row, stride });
    }
    Ok(bytes.checked_sub(row).map_or(0, |rest| rest / stride + 1) as u64)
}

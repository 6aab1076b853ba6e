//! Reads what a launch of a graphics stage runs over: the keys of `[launch]` that only such a launch has, and `[fragments]`.

use warpjit_frontend::container::text::is_text_cubin;
use warpjit_frontend::{Isa, Stage};
use warpjit_runtime::stage::{MOST_STREAMS, Quad, Rect};

use super::context::Context;
use super::error::Result;
use super::program::{Program, read_file};
use super::reader::{Table, Value};
use super::rows::{StageInput, StageOutputs};

/// A launch of a graphics stage.
#[derive(Clone, Debug)]
pub struct StageLaunch {
    /// The stage.
    pub stage: Stage,
    /// What it runs over.
    pub work: StageWork,
    /// Geometry, tessellation: input vertices of a primitive or patch.
    pub vertices: u32,
    /// Tessellation control, geometry: threads of a patch or primitive. 1 elsewhere.
    pub invocations: u32,
    /// Geometry: most vertices that a thread emits.
    pub max_vertices: u32,
    /// Geometry: vertex streams.
    pub streams: u32,
    /// `[[input]]`.
    pub inputs: Vec<StageInput>,
    /// `[[output]]`.
    pub outputs: StageOutputs,
}

/// What a stage runs over.
#[derive(Clone, Debug)]
pub enum StageWork {
    /// So many vertices, patches or primitives; of tessellation evaluation, each with so many points (1 elsewhere).
    Count(u32, u32),
    /// Quads; the rectangle that is their picture.
    Quads(Vec<Quad>, Option<Rect>),
    /// All pixels of a rectangle.
    Rect(Rect),
}

/// Keys of `[launch]` that only graphics stages have.
const KEYS: [&str; 6] = ["count", "vertices", "invocations", "points", "max_vertices", "streams"];

/// Complains about keys of graphics stages in a launch that is none.
pub(super) fn refuse(t: &Table<'_>) -> Result<()> {
    t.refuse(&KEYS, "only graphics stages have it, which `type` names")
}

/// The keys of `[launch]` that only graphics stages have. Rows are read later.
pub(super) fn read_stage(t: &Table<'_>, stage: Stage, program: &Program) -> Result<StageLaunch> {
    let name = stage.name();
    if let Some(kind) = t.get("type")
        && !program.raw
        && (program.code.starts_with(b"\x7fELF") || is_text_cubin(&program.code))
    {
        return Err(kind
            .error(format!("is {name:?}; only raw code is of a graphics stage, not a container's kernel")));
    }
    let why = format!("a {name} launch has none; it runs over a batch");
    t.refuse(&["grid", "block", "grid_start", "last_block", "dynamic_shared", "tmpring_size"], &why)?;
    if program.rsrc.is_none() {
        t.refuse(&["user_data"], "only raw gcn code with `rsrc1` and `rsrc2` has it")?;
    }
    t.refuse(&["c0"], "graphics launches write nothing into c0[] as it is")?;
    let has_primitives = matches!(stage, Stage::TessControl | Stage::TessEval | Stage::Geometry);
    let number = |key: &'static str, has: bool, most: u32, what: &str| {
        if !has {
            t.refuse(&[key], &format!("a {name} launch has none"))?;
            return Ok(None);
        }
        t.need(key, what)?.u32(1, most).map(Some)
    };
    let vertices = number("vertices", has_primitives, 32, "the input vertices of a primitive or patch")?;
    let points = number("points", stage == Stage::TessEval, 1 << 16, "the points of a patch")?;
    let max_vertices =
        number("max_vertices", stage == Stage::Geometry, 1024, "the most vertices that a thread emits")?;
    let invocations = if stage == Stage::Geometry && program.isa == Isa::Fermi {
        t.get("invocations").map(|v| v.u32(1, 32)).transpose()?
    } else {
        number("invocations", stage == Stage::TessControl, 32, "the threads of a patch")?
    };
    let streams = if stage == Stage::Geometry && program.isa != Isa::Tesla {
        t.get("streams").map(|v| v.u32(1, MOST_STREAMS)).transpose()?
    } else {
        t.refuse(&["streams"], &format!("a {name} launch has none"))?;
        None
    };
    let (points, invocations) = (points.unwrap_or(1), invocations.unwrap_or(1));
    let work = if stage == Stage::Fragment {
        t.refuse(&["count"], "a fragment launch has [fragments] instead")?;
        StageWork::Quads(Vec::new(), None)
    } else {
        let what = match stage {
            Stage::Vertex => "vertices",
            Stage::Geometry => "primitives",
            _ => "patches",
        };
        let count = t.need("count", &format!("the number of {what}"))?;
        let number = count.u32(1, u32::MAX)?;
        let rows = u64::from(points) * u64::from(invocations) * u64::from(max_vertices.unwrap_or(1));
        if u64::from(number) * rows > u32::MAX.into() {
            return Err(
                count.error(format!("is {number}, with {rows} rows each: more than {} in all", u32::MAX))
            );
        }
        StageWork::Count(number, points)
    };
    Ok(StageLaunch {
        stage,
        work,
        vertices: vertices.unwrap_or(0),
        invocations,
        max_vertices: max_vertices.unwrap_or(0),
        streams: streams.unwrap_or(1),
        inputs: Vec::new(),
        outputs: StageOutputs::default(),
    })
}

/// `[fragments]`.
pub(super) fn read_fragments(t: &Table<'_>, context: &Context<'_>) -> Result<StageWork> {
    let given = t.one_of(&["quads", "rect"])?;
    let image = t.get("image");
    t.finish()?;
    match given {
        None => Err(t.error("needs `quads` or `rect`")),
        Some(("rect", value)) => {
            if let Some(image) = image {
                return Err(
                    image.error("only with `quads`; rows of `rect` are those of the rectangle already")
                );
            }
            Ok(StageWork::Rect(rect(&value)?))
        }
        Some((_, value)) => {
            let image = image.map(|v| rect(&v)).transpose()?;
            let (_, bytes) = read_file(&value, context.files)?;
            Ok(StageWork::Quads(quads(&value, &bytes, image)?, image))
        }
    }
}

/// Four even numbers: x, y, width, height.
fn rect(value: &Value<'_>) -> Result<Rect> {
    let list = value.list("a list of x, y, width and height")?;
    let [x, y, width, height] = list.as_slice() else {
        return Err(value.error(format!("has {} numbers, must have four: x, y, width, height", list.len())));
    };
    let even = |v: &Value<'_>, min| {
        let n = v.u32(min, 1 << 24)?;
        if n.is_multiple_of(2) {
            Ok(n)
        } else {
            Err(v.error(format!("is {n}, must be even: quads are not cut")))
        }
    };
    let rect = Rect { x: even(x, 0)?, y: even(y, 0)?, width: even(width, 2)?, height: even(height, 2)? };
    if u64::from(rect.width) * u64::from(rect.height) > u32::MAX.into() {
        return Err(value.error(format!("has more than {} pixels", u32::MAX)));
    }
    Ok(rect)
}

fn quads(value: &Value<'_>, bytes: &[u8], image: Option<Rect>) -> Result<Vec<Quad>> {
    let (rest, has) = (bytes.len() % 16, bytes.len());
    if rest != 0 || has == 0 {
        return Err(
            value.error(format!("has {has} bytes, must have 16 for each quad, and at least one quad"))
        );
    }
    let word = |quad: &[u8], n: usize| u32::from_le_bytes([quad[n], quad[n + 1], quad[n + 2], quad[n + 3]]);
    let quads: Vec<Quad> = bytes
        .chunks_exact(16)
        .map(|quad| Quad {
            x: word(quad, 0),
            y: word(quad, 4),
            primitive: word(quad, 8),
            mask: word(quad, 12),
        })
        .collect();
    for (number, quad) in quads.iter().enumerate() {
        let Quad { x, y, mask, .. } = *quad;
        if !x.is_multiple_of(2) || !y.is_multiple_of(2) {
            return Err(value.error(format!("quad {number} is at ({x}, {y}); both must be even")));
        }
        if mask > 15 {
            return Err(value.error(format!("quad {number} has mask {mask:#x}; four bits are pixels")));
        }
        let Some(image) = image else { continue };
        let inside = |at: u32, from: u32, size: u32| at >= from && at - from < size;
        if !inside(x, image.x, image.width) || !inside(y, image.y, image.height) {
            return Err(value.error(format!("quad {number} is at ({x}, {y}), which is not in `image`")));
        }
    }
    if quads.len() as u64 * 4 > u32::MAX.into() {
        return Err(value.error("has too many quads"));
    }
    Ok(quads)
}

/// Rows that a launch has of each kind.
pub(super) struct RowCounts {
    /// Rows of vertices that go in.
    pub vertices: u64,
    /// Primitives or patches.
    pub primitives: u64,
    /// Lanes: vertices, patch vertices, points, threads of primitives.
    pub lanes: u64,
    /// Pixel rows.
    pub pixels: u64,
}

impl StageLaunch {
    /// Counts its rows.
    pub(super) fn rows(&self) -> RowCounts {
        match &self.work {
            StageWork::Count(count, points) => {
                let count = u64::from(*count);
                RowCounts {
                    vertices: count * u64::from(self.vertices.max(1)),
                    primitives: count,
                    lanes: count * u64::from(*points) * u64::from(self.invocations),
                    pixels: 0,
                }
            }
            StageWork::Quads(quads, image) => {
                let primitives = quads.iter().map(|quad| u64::from(quad.primitive) + 1).max().unwrap_or(0);
                let lanes = quads.len() as u64 * 4;
                let pixels = image.map_or(lanes, |i| u64::from(i.width) * u64::from(i.height));
                RowCounts { vertices: 0, primitives, lanes, pixels }
            }
            StageWork::Rect(rect) => {
                let pixels = u64::from(rect.width) * u64::from(rect.height);
                RowCounts { vertices: 0, primitives: 1, lanes: pixels, pixels }
            }
        }
    }
}

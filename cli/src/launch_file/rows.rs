//! Reads `[[input]]` and `[[output]]`: the rows that a graphics stage takes and gives.

use warpjit_frontend::{Isa, Stage};
use warpjit_runtime::stage::{ExportTarget, InputPlace, OutputPlace, Per};

use super::context::Context;
use super::error::Result;
use super::memory::{Buffers, DATA_KEYS, read_data};
use super::program::Program;
use super::reader::{Table, Value};
use super::stage::StageLaunch;

/// `[[input]]`.
#[derive(Clone, Debug)]
pub struct StageInput {
    /// Where the program finds it.
    pub place: InputPlace,
    /// Words or registers.
    pub words: u32,
    /// What has a row.
    pub per: Per,
    /// The rows.
    pub data: Vec<u8>,
}

/// `[[output]]`: rows.
#[derive(Clone, Debug)]
pub struct StageOutput {
    /// Where the program leaves it.
    pub place: OutputPlace,
    /// Words.
    pub words: u32,
    /// Index of the buffer.
    pub buffer: usize,
}

/// All that a stage gives.
#[derive(Clone, Debug, Default)]
pub struct StageOutputs {
    /// Rows.
    pub rows: Vec<StageOutput>,
    /// Index of the buffer of coverage.
    pub coverage: Option<usize>,
    /// Index of the buffer of emitted vertices.
    pub emitted: Option<usize>,
}

/// What may have rows of inputs.
const PER: [(&str, Per); 7] = [
    ("vertex", Per::Vertex),
    ("primitive", Per::Primitive),
    ("launch", Per::Launch),
    ("point", Per::Point),
    ("patch", Per::Patch),
    ("pixel", Per::Pixel),
    ("plane", Per::Plane),
];

/// What may have rows in a stage.
fn allowed(stage: Stage) -> &'static [Per] {
    match stage {
        Stage::Vertex => &[Per::Vertex, Per::Launch],
        Stage::TessControl | Stage::Geometry => &[Per::Vertex, Per::Primitive, Per::Launch],
        Stage::TessEval => &[Per::Vertex, Per::Primitive, Per::Launch, Per::Point, Per::Patch],
        Stage::Fragment => &[Per::Pixel, Per::Plane, Per::Primitive, Per::Launch],
        Stage::Compute => &[],
    }
}

/// The first of `count` numbers behind `letter` that start below `end`.
fn numbered(value: &Value<'_>, letter: &str, words: u32, end: u32) -> Result<u32> {
    let wanted = format!("a register from {letter}0 to {letter}{}", end - 1);
    let text = value.name(&wanted)?;
    let digits = text.strip_prefix(letter).filter(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()));
    let number = digits.and_then(|digits| digits.parse::<u32>().ok()).filter(|&n| n < end);
    let number = number.ok_or_else(|| value.error(format!("is {text:?}, must be {wanted}")))?;
    if number + words > end {
        let last = number + words - 1;
        return Err(value.error(format!(
            "is {text:?}: {words} words end with {letter}{last}, the last is {letter}{}",
            end - 1
        )));
    }
    Ok(number)
}

/// A byte address below `end` with room for so many words.
fn address(value: &Value<'_>, words: u32, end: u32) -> Result<u32> {
    let at = value.u32(0, u32::MAX)?;
    if !at.is_multiple_of(4) {
        return Err(value.error(format!("is {at:#x}, must be a multiple of 4")));
    }
    if u64::from(at) + 4 * u64::from(words) > end.into() {
        return Err(
            value.error(format!("is {at:#x}: {words} words do not fit below {end:#x}, where the space ends"))
        );
    }
    Ok(at)
}

/// Whether two runs of words share one.
fn overlap(a: u32, a_size: u32, b: u32, b_size: u32) -> bool {
    a < b + b_size && b < a + a_size
}

pub(super) fn read_inputs(
    tables: &[Table<'_>],
    launch: &StageLaunch,
    program: &Program,
    context: &Context<'_>,
) -> Result<Vec<StageInput>> {
    let (stage, isa) = (launch.stage, program.isa);
    let counts = launch.rows();
    let mut inputs: Vec<StageInput> = Vec::new();
    for t in tables {
        let given = t.one_of(&["at", "register", "attribute"])?;
        let words = t.need("words", "the number of words of a row")?.u32(1, 256)?;
        let per_value = t.need("per", "what has a row")?;
        let names: Vec<&str> =
            PER.iter().filter(|(_, per)| allowed(stage).contains(per)).map(|(name, _)| *name).collect();
        let word = names[per_value.word(&names)?];
        let per = PER.iter().find(|(name, _)| *name == word).map_or(Per::Launch, |(_, per)| *per);
        let data = t.one_of(&DATA_KEYS)?;
        t.finish()?;
        let Some((key, place)) = given else {
            return Err(t.error("needs `at`, `register` or `attribute`: where the program finds it"));
        };
        let is_gcn = isa == Isa::Gcn;
        if (key == "at") == is_gcn {
            let has = if is_gcn { "`register` or `attribute`" } else { "`at`" };
            return Err(place.error(format!("{isa} programs have no such inputs, only {has}")));
        }
        let found = match key {
            "at" => InputPlace::Address(address(&place, words, input_end(isa, stage, per))?),
            "register" => InputPlace::Register(numbered(
                &place,
                "v",
                words,
                program.registers.unwrap_or(256).clamp(1, 256),
            )?),
            _ => {
                if stage != Stage::Fragment {
                    return Err(place.error("only fragment programs interpolate"));
                }
                if per != Per::Primitive {
                    return Err(
                        per_value.error(format!("is {word:?}, must be \"primitive\" for an attribute"))
                    );
                }
                if words > 4 {
                    return Err(t.error_at("words", format!("is {words}; an attribute has at most 4")));
                }
                InputPlace::Attribute(place.u32(0, 32)?)
            }
        };
        if is_gcn && matches!(per, Per::Plane) {
            return Err(per_value.error("is \"plane\"; registers have no planes, give an `attribute`"));
        }
        if let Some(other) = inputs.iter().find(|other| share(other, found, words, per, isa, stage)) {
            return Err(place.error(format!("shares words with the input at {}", name_of(other.place))));
        }
        let Some((key, value)) = data else {
            return Err(t.error(format!("has no rows; needs one of {}", DATA_KEYS.join(", "))));
        };
        let data = read_data(key, &value, context)?;
        let parts = if per == Per::Plane || matches!(found, InputPlace::Attribute(_)) { 3 } else { 1 };
        let row = u64::from(words) * 4 * parts;
        let needed = match per {
            Per::Vertex => counts.vertices,
            Per::Primitive | Per::Plane | Per::Patch => counts.primitives,
            Per::Launch => 1,
            Per::Point => counts.lanes,
            Per::Pixel => counts.pixels,
        };
        let has = data.len() as u64;
        if !has.is_multiple_of(row) || has / row < needed {
            return Err(value.error(format!(
                "has {has} bytes, must have {needed} rows of {row} bytes: {words} words per {word}"
            )));
        }
        inputs.push(StageInput { place: found, words, per, data });
    }
    Ok(inputs)
}

/// Where a space of inputs ends.
fn input_end(isa: Isa, stage: Stage, per: Per) -> u32 {
    match (isa, stage, per) {
        (Isa::Tesla, Stage::Geometry, Per::Primitive | Per::Launch) => 0x1c,
        (Isa::Tesla, Stage::Vertex | Stage::Geometry, _) => 0x200,
        _ => 0x400,
    }
}

fn name_of(place: InputPlace) -> String {
    match place {
        InputPlace::Address(at) => format!("{at:#x}"),
        InputPlace::Register(n) => format!("v{n}"),
        InputPlace::Attribute(n) => format!("attribute {n}"),
    }
}

/// Whether an input has a word of one before it.
fn share(other: &StageInput, place: InputPlace, words: u32, per: Per, isa: Isa, stage: Stage) -> bool {
    // Spaces of their own: patches, points, and on tesla the primitives of a geometry program.
    let space = |per: Per| match per {
        Per::Patch => 1,
        Per::Point => 2,
        Per::Primitive | Per::Launch if (isa, stage) == (Isa::Tesla, Stage::Geometry) => 3,
        _ => 0,
    };
    match (other.place, place) {
        (InputPlace::Address(a), InputPlace::Address(b)) => {
            space(other.per) == space(per) && overlap(a, 4 * other.words, b, 4 * words)
        }
        (InputPlace::Register(a), InputPlace::Register(b)) => overlap(a, other.words, b, words),
        (InputPlace::Attribute(a), InputPlace::Attribute(b)) => a == b,
        _ => false,
    }
}

pub(super) fn read_outputs(
    tables: &[Table<'_>],
    launch: &StageLaunch,
    program: &Program,
    buffers: &Buffers,
) -> Result<StageOutputs> {
    let stage = launch.stage;
    let counts = launch.rows();
    let mut outputs = StageOutputs::default();
    let mut taken: Vec<usize> = Vec::new();
    let mut take = |value: &Value<'_>, bytes: u64, what: &str| {
        let index = buffers.index(value)?;
        let (has, name) = (buffers.list[index].bytes, &buffers.list[index].name);
        if has < bytes {
            return Err(value.error(format!("buffer {name:?} has {has} bytes, {what} take {bytes}")));
        }
        if taken.contains(&index) {
            return Err(value.error(format!("buffer {name:?} has the rows of another output")));
        }
        taken.push(index);
        Ok(index)
    };
    for t in tables {
        let Some((key, value)) = t.one_of(&["at", "register", "export", "coverage", "emitted"])? else {
            return Err(t.error("needs one of at, register, export, coverage, emitted"));
        };
        if matches!(key, "coverage" | "emitted") {
            t.refuse(&["words", "buffer", "format", "per"], &format!("does not go with `{key}`"))?;
            t.finish()?;
            let (wanted, seen) = match key {
                "coverage" => (Stage::Fragment, outputs.coverage),
                _ => (Stage::Geometry, outputs.emitted),
            };
            if stage != wanted {
                return Err(value.error(format!("only {} launches have it", wanted.name())));
            }
            if seen.is_some() {
                return Err(value.error("given a second time"));
            }
            if key == "coverage" {
                let what = format!("{} bytes for pixels", counts.pixels);
                outputs.coverage = Some(take(&value, counts.pixels, &what)?);
            } else {
                let words = counts.lanes * (1 + u64::from(launch.max_vertices));
                let what = format!("counts and flags of {} threads", counts.lanes);
                outputs.emitted = Some(take(&value, 4 * words, &what)?);
            }
            continue;
        }
        let words = t.need("words", "the number of words of a row")?.u32(1, 256)?;
        let buffer = t.need("buffer", "the name of the buffer for the rows")?;
        let format = t.get("format");
        let halves = format.as_ref().map(|v| v.word(&["f16"])).transpose()?.is_some();
        let per = t.get("per");
        let is_patch = per.as_ref().map(|v| v.word(&["patch"])).transpose()?.is_some();
        t.finish()?;
        if let Some(format) = format.filter(|_| key != "export") {
            return Err(format.error("only exports have a format"));
        }
        if let Some(per) = per.filter(|_| stage != Stage::TessControl || key != "at") {
            return Err(per.error("only tess_control launches write patch space, `at` an address"));
        }
        let place = output_place(key, &value, words, (is_patch, halves), launch, program)?;
        if let Some(other) = outputs.rows.iter().find(|other| share_output(other, place, words)) {
            return Err(value.error(format!(
                "shares words with the output of buffer {:?}",
                buffers.list[other.buffer].name
            )));
        }
        let rows = match stage {
            Stage::Fragment => counts.pixels,
            _ if is_patch => counts.primitives,
            Stage::Geometry => counts.lanes * u64::from(launch.max_vertices),
            _ => counts.lanes,
        };
        let bytes = rows * u64::from(words) * 4;
        let buffer = take(&buffer, bytes, &format!("{rows} rows of {} bytes", words * 4))?;
        outputs.rows.push(StageOutput { place, words, buffer });
    }
    Ok(outputs)
}

fn output_place(
    key: &str,
    value: &Value<'_>,
    words: u32,
    (is_patch, halves): (bool, bool),
    launch: &StageLaunch,
    program: &Program,
) -> Result<OutputPlace> {
    let (stage, isa) = (launch.stage, program.isa);
    let is_fragment = stage == Stage::Fragment;
    let wanted = match (isa, is_fragment) {
        (Isa::Gcn, _) => "export",
        (_, true) => "register",
        (_, false) => "at",
    };
    if key != wanted {
        let name = stage.name();
        return Err(value.error(format!("{name} programs of {isa} have no such outputs, only `{wanted}`")));
    }
    Ok(match key {
        "at" if is_patch => OutputPlace::Patch(address(value, words, 0x400)?),
        "at" => OutputPlace::Address(address(value, words, if isa == Isa::Tesla { 0x200 } else { 0x400 })?),
        "register" => OutputPlace::Register(numbered(
            value,
            "r",
            words,
            program.registers.unwrap_or(128).clamp(1, 128),
        )?),
        _ => {
            let names =
                if is_fragment { "mrt0 to mrt7 or mrtz" } else { "pos0 to pos3 or param0 to param31" };
            let text = value.name(names)?;
            let target = export_target(text)
                .filter(|target| matches!(target, ExportTarget::Mrt(_) | ExportTarget::Mrtz) == is_fragment);
            let Some(target) = target else {
                return Err(value.error(format!("is {text:?}, must be {names} in a {} launch", stage.name())));
            };
            if words > 4 {
                return Err(value.error(format!("{words} words; an export has at most 4")));
            }
            OutputPlace::Export(target, halves)
        }
    })
}

/// The target of that name.
fn export_target(text: &str) -> Option<ExportTarget> {
    let number = |prefix: &str, count: u32| {
        let digits = text.strip_prefix(prefix)?;
        let is_plain =
            digits == "0" || !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
        digits.parse::<u32>().ok().filter(|&n| is_plain && n < count)
    };
    if text == "mrtz" {
        return Some(ExportTarget::Mrtz);
    }
    let mrt = number("mrt", 8).map(ExportTarget::Mrt);
    mrt.or(number("pos", 4).map(ExportTarget::Pos)).or(number("param", 32).map(ExportTarget::Param))
}

/// Whether an output has a word of one before it.
fn share_output(other: &StageOutput, place: OutputPlace, words: u32) -> bool {
    match (other.place, place) {
        (OutputPlace::Address(a), OutputPlace::Address(b))
        | (OutputPlace::Patch(a), OutputPlace::Patch(b)) => overlap(a, 4 * other.words, b, 4 * words),
        (OutputPlace::Register(a), OutputPlace::Register(b)) => overlap(a, other.words, b, words),
        (OutputPlace::Export(a, _), OutputPlace::Export(b, _)) => a == b,
        _ => false,
    }
}

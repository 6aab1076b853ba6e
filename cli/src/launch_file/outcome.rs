//! Reads `[[expect]]` and `[[save]]`: what must hold after the run, and what is written to files.

use std::path::PathBuf;

use super::context::Context;
use super::error::Result;
use super::memory::{Buffers, DATA_KEYS, read_data};
use super::program::register_value;
use super::reader::Table;

/// `[[expect]]`: one thing that must hold after the run.
#[derive(Clone, Debug)]
pub enum Expect {
    /// Content of a buffer.
    Buffer(ExpectBuffer),
    /// A register of the only warp.
    Register(ExpectRegister),
    /// The run ends in a fault.
    Fault(ExpectFault),
}

/// What a buffer must hold.
#[derive(Clone, Debug)]
pub struct ExpectBuffer {
    /// Index of the buffer.
    pub buffer: usize,
    /// Byte at which the comparison starts.
    pub offset: u64,
    /// What must stand there.
    pub data: Vec<u8>,
    /// The unit compared and shown.
    pub unit: Unit,
    /// Floats: distance allowed in units in the last place; if not zero, all NaNs are equal.
    pub max_ulp: u64,
    /// Floats: absolute distance allowed.
    pub max_abs: f64,
}

/// The unit of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    U8,
    /// Words.
    U32,
    /// Single-precision numbers.
    F32,
    /// Double-precision numbers.
    F64,
}

impl Unit {
    const NAMES: [&'static str; 4] = ["u8", "u32", "f32", "f64"];
    const ALL: [Unit; 4] = [Unit::U8, Unit::U32, Unit::F32, Unit::F64];

    /// The name in a launch file.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Size of one element.
    pub fn bytes(self) -> usize {
        [1, 4, 4, 8][self as usize]
    }

    /// Whether the elements are floating-point numbers.
    pub fn is_float(self) -> bool {
        matches!(self, Unit::F32 | Unit::F64)
    }
}

/// What a register must hold.
#[derive(Clone, Debug)]
pub struct ExpectRegister {
    /// Name of the register.
    pub name: String,
    /// One value for every lane, or one a lane.
    pub values: Vec<u64>,
}

/// The fault that must end the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectFault {
    /// Its kind.
    pub kind: FaultName,
    /// Guest pc, compared where given.
    pub pc: Option<u64>,
    /// Lane, compared where given.
    pub lane: Option<u32>,
    /// Texture: what the instruction names, compared where given.
    pub slot: Option<u32>,
}

/// Kinds of fault, as launch files name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultName {
    /// An access that memory does not allow.
    Memory,
    /// An instruction that the program may not execute.
    Illegal,
    /// A trap instruction.
    Trap,
    /// A barrier that can never be complete.
    Barrier,
    /// Divergence stack overflow or underflow.
    Stack,
    /// `max_steps` ran out.
    Timeout,
    /// What a texture instruction needs is missing or undefined.
    Texture,
}

impl FaultName {
    const NAMES: [&'static str; 7] = ["memory", "illegal", "trap", "barrier", "stack", "timeout", "texture"];
    const ALL: [FaultName; 7] = [
        FaultName::Memory,
        FaultName::Illegal,
        FaultName::Trap,
        FaultName::Barrier,
        FaultName::Stack,
        FaultName::Timeout,
        FaultName::Texture,
    ];

    /// The name in a launch file.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// `[[save]]`: a buffer written to a file after the run.
#[derive(Clone, Debug)]
pub struct Save {
    /// Index of the buffer.
    pub buffer: usize,
    /// The file, relative to the launch file or to the directory of `--save`.
    pub file: PathBuf,
    /// The picture it is written as; none: raw bytes.
    pub picture: Option<Picture>,
}

/// How a buffer is a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Form of a pixel.
    pub format: PictureFormat,
}

/// Form of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// One byte of grey.
    Gray8,
    /// Four bytes: red, green, blue, alpha.
    Rgba8,
    /// A float from 0 (black) to 1 (white).
    Gray32f,
    /// A word, from 0 (black) to the largest in the picture (white).
    U32,
    /// Four floats from 0 to 1: red, green, blue, alpha.
    Rgba32f,
}

impl PictureFormat {
    const NAMES: [&'static str; 5] = ["gray8", "rgba8", "gray32f", "u32", "rgba32f"];
    const ALL: [PictureFormat; 5] = [
        PictureFormat::Gray8,
        PictureFormat::Rgba8,
        PictureFormat::Gray32f,
        PictureFormat::U32,
        PictureFormat::Rgba32f,
    ];

    /// Bytes of a pixel.
    pub fn bytes(self) -> usize {
        [1, 4, 4, 4, 16][self as usize]
    }
}

pub(super) fn read_expects(
    tables: &[Table<'_>],
    context: &Context<'_>,
    buffers: &Buffers,
) -> Result<Vec<Expect>> {
    let mut expects = Vec::new();
    for t in tables {
        let kinds = ["buffer", "register", "fault"];
        let Some((kind, subject)) = t.one_of(&kinds)? else {
            return Err(t.error("is empty; needs one of buffer, register, fault"));
        };
        let why = format!("does not go with `{kind}`");
        let refuse = |keys: &[&'static str]| t.refuse(keys, &why);
        if kind != "buffer" {
            refuse(&DATA_KEYS)?;
            refuse(&["offset", "type", "max_ulp", "max_abs"])?;
        }
        if kind != "register" {
            refuse(&["value", "values"])?;
        }
        if kind != "fault" {
            refuse(&["pc", "lane", "slot"])?;
        }
        let expect = match kind {
            "buffer" => Expect::Buffer(read_expect_buffer(t, buffers.index(&subject)?, context, buffers)?),
            "register" => {
                let name = subject.name("the name of a register")?.to_owned();
                let values = match t.one_of(&["value", "values"])? {
                    None => return Err(t.error("needs `value`, or `values` with one a lane")),
                    Some(("value", v)) => vec![register_value(&v, context)?],
                    Some((_, v)) => {
                        let list = v.list("a list with one value a lane")?;
                        if list.is_empty() || list.len() > 64 {
                            return Err(
                                v.error(format!("has {} values, must have 1 to 64: one a lane", list.len()))
                            );
                        }
                        list.iter().map(|v| register_value(v, context)).collect::<Result<_>>()?
                    }
                };
                Expect::Register(ExpectRegister { name, values })
            }
            _ => {
                if expects.iter().any(|e| matches!(e, Expect::Fault(_))) {
                    return Err(subject.error("a second fault is expected; a run ends with at most one"));
                }
                let kind = FaultName::ALL[subject.word(&FaultName::NAMES)?];
                let pc = t.get("pc").map(|v| v.u64()).transpose()?;
                let max_lane = context.rules.lanes - 1;
                let lane = t.get("lane").map(|v| v.u32(0, max_lane)).transpose()?;
                if kind != FaultName::Texture {
                    t.refuse(&["slot"], "only a texture fault has one")?;
                }
                let slot = t.get("slot").map(|v| v.u32(0, u32::MAX)).transpose()?;
                Expect::Fault(ExpectFault { kind, pc, lane, slot })
            }
        };
        t.finish()?;
        expects.push(expect);
    }
    Ok(expects)
}

fn read_expect_buffer(
    t: &Table<'_>,
    buffer: usize,
    context: &Context<'_>,
    buffers: &Buffers,
) -> Result<ExpectBuffer> {
    let Some((key, value)) = t.one_of(&DATA_KEYS)? else {
        return Err(t.error(format!("says nothing about the content; needs one of {}", DATA_KEYS.join(", "))));
    };
    let unit = Unit::ALL[t.get("type").map(|v| v.word(&Unit::NAMES)).transpose()?.unwrap_or(0)];
    if !unit.is_float() {
        t.refuse(&["max_ulp", "max_abs"], "only type f32 and f64 have a tolerance")?;
    }
    let max_ulp = t.get("max_ulp").map(|v| v.u64()).transpose()?.unwrap_or(0);
    let max_abs = match t.get("max_abs") {
        None => 0.0,
        Some(v) => {
            let max_abs = v.f64()?;
            if max_abs.is_nan() || max_abs < 0.0 {
                return Err(v.error("must not be negative or nan"));
            }
            max_abs
        }
    };
    let offset = t.get("offset").map(|v| v.u64()).transpose()?.unwrap_or(0);
    let data = read_data(key, &value, context)?;
    if data.is_empty() || !data.len().is_multiple_of(unit.bytes()) {
        let (bytes, unit) = (unit.bytes(), unit.as_str());
        return Err(
            value.error(format!("has {} bytes, must have a multiple of {bytes}: type is {unit}", data.len()))
        );
    }
    let size = buffers.list[buffer].bytes;
    if offset.checked_add(data.len() as u64).is_none_or(|end| end > size) {
        let name = &buffers.list[buffer].name;
        return Err(value.error(format!(
            "has {} bytes, which at offset {offset} reach beyond the {size} of buffer {name:?}",
            data.len()
        )));
    }
    Ok(ExpectBuffer { buffer, offset, data, unit, max_ulp, max_abs })
}

pub(super) fn read_saves(tables: &[Table<'_>], buffers: &Buffers) -> Result<Vec<Save>> {
    let mut saves = Vec::new();
    for t in tables {
        let buffer = t.need("buffer", "the name of the buffer to write")?;
        let file = t.need("file", "the name of the file to write")?;
        let (width, height, format) = (t.get("width"), t.get("height"), t.get("format"));
        t.finish()?;
        let index = buffers.index(&buffer)?;
        let path = PathBuf::from(file.name("the name of a file")?);
        let side = |v: &super::reader::Value<'_>| v.u32(1, 1 << 20);
        // Checked even for raw files, where they are allowed and say nothing.
        let width = width.as_ref().map(side).transpose()?;
        let height = height.as_ref().map(side).transpose()?;
        let format = format.map(|v| v.word(&PictureFormat::NAMES)).transpose()?;
        let is_png = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png"));
        let picture = match (is_png, width, height, format) {
            (false, ..) => None,
            (true, Some(width), Some(height), Some(format)) => {
                let format = PictureFormat::ALL[format];
                let bytes = u64::from(width) * u64::from(height) * format.bytes() as u64;
                let has = buffers.list[index].bytes;
                if bytes > has {
                    return Err(file.error(format!(
                        "a picture of {width} by {height} takes {bytes} bytes, the buffer has {has}"
                    )));
                }
                Some(Picture { width, height, format })
            }
            _ => {
                let formats = PictureFormat::NAMES.join(", ");
                return Err(
                    file.error(format!("a picture needs width, height and format (one of {formats})"))
                );
            }
        };
        saves.push(Save { buffer: index, file: path, picture });
    }
    Ok(saves)
}

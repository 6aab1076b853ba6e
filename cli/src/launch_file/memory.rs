//! Reads `[[buffer]]`, `[[arg]]`, `[[const]]`, `[[global]]`, and the data lists that they share.

use std::collections::{BTreeMap, HashMap};

use super::context::Context;
use super::error::Result;
use super::program::{hex, read_file};
use super::reader::{Table, Value};

/// `[[buffer]]`: guest memory.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Name, by which the other sections refer to it.
    pub name: String,
    /// Initial content, as far as the file gives it.
    pub data: Vec<u8>,
    /// Size; at least that of the content.
    pub bytes: u64,
    /// What is behind the content.
    pub fill: u8,
    /// Guest address, or wherever the runtime likes.
    pub address: Option<u64>,
    /// A store to it faults.
    pub read_only: bool,
}

/// `[[arg]]`: one kernel argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// The address of a buffer.
    Buffer {
        /// Index of the buffer.
        index: usize,
        /// Bytes of the pointer, 4 or 8.
        size: usize,
    },
    /// Bytes as they stand.
    Bytes {
        /// The bytes.
        bytes: Vec<u8>,
        /// Natural alignment.
        align: usize,
    },
    /// GCN: a pointer to so many bytes of dynamic LDS.
    Local(u32),
}

/// `[[const]]`: a constant bank.
#[derive(Clone, Debug)]
pub struct Const {
    /// The bank's number.
    pub index: u32,
    /// Its content.
    pub data: Vec<u8>,
}

/// `[[global]]`: one `g[]` space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// The space's number.
    pub index: u32,
    /// Index of the buffer it shows.
    pub buffer: usize,
    /// How addresses map to it.
    pub mode: GlobalMode,
}

/// How a `g[]` space maps addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobalMode {
    /// One byte after the other.
    Linear,
    /// Two-dimensional tiles: x and y in the halves of the address.
    Tiled2d {
        /// Bytes from row to row.
        pitch: u32,
        /// Width in bytes.
        width: u32,
        /// Rows.
        height: u32,
        /// Binary logarithm of a tile's rows, less two.
        tile_mode: u32,
    },
}

/// Keys that give data: a file or a list.
pub(super) const DATA_KEYS: [&str; 7] = ["data", "u32", "i32", "f32", "f64", "u64", "u8"];

/// The data that one of [`DATA_KEYS`] gives.
pub(super) fn read_data(key: &str, value: &Value<'_>, context: &Context<'_>) -> Result<Vec<u8>> {
    if key == "data" {
        return Ok(read_file(value, context.files)?.1);
    }
    let mut out = Vec::new();
    for v in value.list("a list of numbers")? {
        match key {
            "u32" => out.extend((v.integer(0, u32::MAX.into())? as u32).to_le_bytes()),
            "i32" => out.extend((v.integer(i32::MIN.into(), i32::MAX.into())? as i32).to_le_bytes()),
            "u64" => out.extend(v.u64()?.to_le_bytes()),
            "u8" => out.push(v.integer(0, 255)? as u8),
            "f32" => out.extend(v.f32()?.to_le_bytes()),
            _ => out.extend(v.f64()?.to_le_bytes()),
        }
    }
    Ok(out)
}

/// Most names that an error lists.
const MOST_NAMES: usize = 20;

/// The buffers of a file, found by name and by address: a file may have very many.
#[derive(Default)]
pub(super) struct Buffers {
    /// In the order of the file.
    pub list: Vec<Buffer>,
    by_name: HashMap<String, usize>,
    by_address: BTreeMap<u64, usize>,
}

impl Buffers {
    fn push(&mut self, buffer: Buffer) {
        let index = self.list.len();
        self.by_name.insert(buffer.name.clone(), index);
        if let Some(address) = buffer.address {
            self.by_address.insert(address, index);
        }
        self.list.push(buffer);
    }

    /// One that shares bytes with `bytes` bytes at `address`. Those that are there share none with each other, so the last one that begins
    /// below the end decides.
    fn overlapping(&self, address: u64, bytes: u64) -> Option<&Buffer> {
        let last = address.checked_add(bytes.checked_sub(1)?)?;
        let (&start, &index) = self.by_address.range(..=last).next_back()?;
        let buffer = &self.list[index];
        (u128::from(start) + u128::from(buffer.bytes) > u128::from(address)).then_some(buffer)
    }

    /// Index of the buffer that a value names.
    pub fn index(&self, value: &Value<'_>) -> Result<usize> {
        let name = value.name("the name of a buffer")?;
        self.by_name.get(name).copied().ok_or_else(|| {
            let mut names: Vec<_> = self.list.iter().take(MOST_NAMES).map(|b| b.name.as_str()).collect();
            if self.list.len() > names.len() {
                names.push("...");
            }
            let known = if names.is_empty() {
                "there are none".to_owned()
            } else {
                format!("there are {}", names.join(", "))
            };
            value.error(format!("no buffer is called {name:?}; {known}"))
        })
    }
}

pub(super) fn read_buffers(tables: &[Table<'_>], context: &Context<'_>) -> Result<Buffers> {
    let mut buffers = Buffers::default();
    for t in tables {
        let name = t.need("name", "the name that other tables use")?;
        let bytes = t.get("bytes").map(|v| v.integer(1, 1 << 32)).transpose()?.map(|n| n as u64);
        let address = t.get("address");
        let access = t.get("access").map(|v| v.word(&["rw", "r"])).transpose()?;
        let fill = t.get("fill");
        let data = t.one_of(&DATA_KEYS)?;
        t.finish()?;

        if let (Some(fill), Some((key, _))) = (&fill, &data) {
            return Err(fill.error(format!("given beside `{key}`; only one initial content is allowed")));
        }
        let mut content = match &data {
            Some((key, value)) => read_data(key, value, context)?,
            None => Vec::new(),
        };
        if let (Some(bytes), Some(("data", _))) = (bytes, &data) {
            // A file may serve buffers of many sizes, each with its first bytes.
            content.truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
        let bytes = match bytes {
            Some(bytes) if content.len() as u64 > bytes => {
                return Err(t.error_at(
                    "bytes",
                    format!("is {bytes}, but the initial content has {} bytes", content.len()),
                ));
            }
            Some(bytes) => bytes,
            None if content.is_empty() => {
                return Err(t.error_at(
                    "bytes",
                    "missing; a buffer without initial content needs a size of at least 1",
                ));
            }
            None => content.len() as u64,
        };
        let fill = fill.map(|v| v.u32(0, 255)).transpose()?.unwrap_or(0) as u8;

        let text = name.name("a name")?.to_owned();
        if buffers.by_name.contains_key(&text) {
            return Err(name.error(format!("a second buffer is called {text:?}")));
        }
        if context.rules.address_bits == 0
            && let Some(only) = context.rules.shared_buffer.filter(|only| *only != text)
        {
            return Err(name.error(format!("is {text:?}; the only memory of {} is {only:?}", context.isa)));
        }
        let address = address.map(|v| check_address(&v, bytes, context, &buffers)).transpose()?;
        buffers.push(Buffer {
            name: text,
            data: content,
            bytes,
            fill,
            address,
            read_only: access == Some(1),
        });
    }
    Ok(buffers)
}

/// A buffer's address: inside the address space and clear of the buffers before it.
fn check_address(value: &Value<'_>, bytes: u64, context: &Context<'_>, before: &Buffers) -> Result<u64> {
    if context.rules.address_bits == 0 {
        let isa = context.isa;
        return Err(value.error(format!("{isa} has no memory beside its data store, which has no address")));
    }
    let address = value.u64()?;
    let (bits, last) = (context.rules.address_bits, address.checked_add(bytes - 1));
    if context.rules.signed_addresses {
        let unused = 64 - bits;
        let is_extended = |a: u64| ((a << unused) as i64 >> unused) as u64 == a;
        if !last.is_some_and(|last| is_extended(address) && is_extended(last) && (address ^ last) >> 63 == 0)
        {
            return Err(value.error(format!(
                "is {address:#x}: {bytes} bytes do not lie in addresses of {bits} bits, sign-extended"
            )));
        }
    } else if last.is_none_or(|last| last >> bits != 0) {
        let space = 1u64 << bits;
        return Err(value.error(format!("is {address:#x}: {bytes} bytes do not fit below {space:#x}")));
    }
    if let Some(other) = before.overlapping(address, bytes) {
        return Err(value.error(format!("is {address:#x}: overlaps buffer {:?}", other.name)));
    }
    Ok(address)
}

const ARG_KEYS: [&str; 13] =
    ["buffer", "local", "hex", "u32", "i32", "u64", "i64", "f32", "f64", "u16", "i16", "u8", "i8"];

pub(super) fn read_args(tables: &[Table<'_>], context: &Context<'_>, buffers: &Buffers) -> Result<Vec<Arg>> {
    let mut args = Vec::new();
    for t in tables {
        if !context.rules.has_grid {
            return Err(t.error(format!("{} programs have no arguments", context.isa)));
        }
        let given = t.one_of(&ARG_KEYS)?;
        let (size, align) = (t.get("size"), t.get("align"));
        t.finish()?;
        let Some((key, value)) = given else {
            return Err(t.error(format!("is empty; needs one of {}", ARG_KEYS.join(", "))));
        };
        if let Some(align) = &align
            && matches!(key, "buffer" | "local")
        {
            return Err(align.error(format!("only a value has an alignment of its own, not `{key}`")));
        }
        if let Some(size) = &size
            && key != "buffer"
        {
            return Err(size.error(format!("only a buffer's pointer has a size, not `{key}`")));
        }
        args.push(match key {
            "buffer" => {
                let index = buffers.index(&value)?;
                let least = context.rules.pointer_bytes;
                let size = match size {
                    None => least,
                    Some(v) => match v.u32(4, 8)? {
                        4 if !context.rules.short_pointers => {
                            return Err(v.error(format!("is 4; pointers are 8 bytes on {}", context.isa)));
                        }
                        n @ (4 | 8) => n as usize,
                        n => return Err(v.error(format!("is {n}, must be 4 or 8"))),
                    },
                };
                Arg::Buffer { index, size }
            }
            "local" => {
                if !context.rules.local_args {
                    return Err(value.error(format!("{} has no arguments that point to LDS", context.isa)));
                }
                Arg::Local(value.u32(1, 1 << 16)?)
            }
            _ => {
                let (bytes, own) = value_bytes(key, &value)?;
                Arg::Bytes { bytes, align: align.map_or(Ok(own), |v| alignment(&v))? }
            }
        });
    }
    Ok(args)
}

/// The bytes of a value and its natural alignment. A list is a structure of equal members, or a vector, and is aligned as they are.
/// Bytes in hexadecimal are a structure of words if they are whole words.
fn value_bytes(key: &str, value: &Value<'_>) -> Result<(Vec<u8>, usize)> {
    if key == "hex" {
        let bytes = hex(value)?;
        if bytes.is_empty() {
            return Err(value.error("is empty; needs at least one byte"));
        }
        let align = [4, 2].into_iter().find(|align| bytes.len().is_multiple_of(*align)).unwrap_or(1);
        return Ok((bytes, align));
    }
    if !value.is_list() {
        let bytes = scalar(key, value)?;
        let align = bytes.len();
        return Ok((bytes, align));
    }
    let members = value.list("a number or a list of numbers")?;
    let members: Vec<Vec<u8>> = members.iter().map(|member| scalar(key, member)).collect::<Result<_>>()?;
    let Some(first) = members.first() else {
        return Err(value.error("is empty; needs at least one number"));
    };
    Ok((members.concat(), first.len()))
}

/// An alignment that a file gives.
fn alignment(value: &Value<'_>) -> Result<usize> {
    let align = value.u32(1, 64)?;
    if !align.is_power_of_two() {
        return Err(value.error(format!("is {align}, must be 1, 2, 4, 8, 16, 32 or 64")));
    }
    Ok(align as usize)
}

fn scalar(key: &str, v: &Value<'_>) -> Result<Vec<u8>> {
    Ok(match key {
        "u8" => vec![v.integer(0, 255)? as u8],
        "i8" => vec![v.integer(-128, 127)? as i8 as u8],
        "u16" => (v.integer(0, 65535)? as u16).to_le_bytes().into(),
        "i16" => (v.integer(-32768, 32767)? as i16).to_le_bytes().into(),
        "u32" => v.u32(0, u32::MAX)?.to_le_bytes().into(),
        "i32" => (v.integer(i32::MIN.into(), i32::MAX.into())? as i32).to_le_bytes().into(),
        "u64" => v.u64()?.to_le_bytes().into(),
        "i64" => (v.integer(i64::MIN.into(), i64::MAX.into())? as i64).to_le_bytes().into(),
        "f32" => v.f32()?.to_le_bytes().into(),
        _ => v.f64()?.to_le_bytes().into(),
    })
}

pub(super) fn read_consts(tables: &[Table<'_>], context: &Context<'_>) -> Result<Vec<Const>> {
    let mut consts: Vec<Const> = Vec::new();
    for t in tables {
        let Some(max) = context.rules.const_banks.checked_sub(1) else {
            return Err(t.error(format!("{} has no constant banks", context.isa)));
        };
        let index = t.need("index", "the number of the bank")?;
        let data = t.one_of(&DATA_KEYS)?;
        t.finish()?;
        let Some((key, value)) = data else {
            return Err(t.error(format!("has no content; needs one of {}", DATA_KEYS.join(", "))));
        };
        let data = read_data(key, &value, context)?;
        if data.len() > 1 << 16 {
            return Err(value.error(format!("has {} bytes; a constant bank holds at most 65536", data.len())));
        }
        let number = index.u32(0, max)?;
        if consts.iter().any(|c| c.index == number) {
            return Err(index.error(format!("bank {number} is bound twice")));
        }
        consts.push(Const { index: number, data });
    }
    Ok(consts)
}

pub(super) fn read_globals(
    tables: &[Table<'_>],
    context: &Context<'_>,
    buffers: &Buffers,
) -> Result<Vec<Global>> {
    let mut globals: Vec<Global> = Vec::new();
    for t in tables {
        let Some(max) = context.rules.global_windows.checked_sub(1) else {
            return Err(t.error(format!("{} has no g[] spaces", context.isa)));
        };
        let index = t.need("index", "the number of the space, from 0")?;
        let buffer = t.need("buffer", "the name of the buffer that the space shows")?;
        let tiled = t.get("mode").map(|v| v.word(&["linear", "tiled2d"])).transpose()?.unwrap_or(0) == 1;
        let mode = if tiled {
            let need = |key, max| t.need(key, "mode tiled2d needs it")?.u32(1, max);
            // The address of a tiled space holds x and y in 16 bits each.
            let (pitch, width, height) =
                (need("pitch", 1 << 24)?, need("width", 65536)?, need("height", 65536)?);
            if width > pitch {
                return Err(t.error_at("width", format!("is {width}, more than the pitch of {pitch}")));
            }
            let tile_mode = t.need("tile_mode", "mode tiled2d needs it")?.u32(0, 5)?;
            GlobalMode::Tiled2d { pitch, width, height, tile_mode }
        } else {
            t.refuse(&["pitch", "width", "height", "tile_mode"], "only mode tiled2d has it")?;
            GlobalMode::Linear
        };
        t.finish()?;
        let number = index.u32(0, max)?;
        if globals.iter().any(|g| g.index == number) {
            return Err(index.error(format!("space {number} is given twice")));
        }
        globals.push(Global { index: number, buffer: buffers.index(&buffer)?, mode });
    }
    Ok(globals)
}

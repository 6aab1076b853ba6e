//! Parses the metadata of code objects: YAML in version 2, msgpack in versions 3 to 6. Both become the same tree. Its keys are
//! msgpack's, so version 2's `ValueKind: GlobalBuffer` becomes `.value_kind: global_buffer`.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser};

use super::{ArgKind, KernelArg, error};
use crate::container::limits;
use crate::error::ContainerError;

/// Deepest nesting; metadata has five levels.
const MOST_DEPTH: usize = 16;
/// Most bytes of values that a byte of metadata becomes, while it is read: an element of a list, and its copies.
pub(super) const BYTES_OF_A_BYTE: usize = 160;

/// What the metadata of a file says.
#[derive(Default)]
pub(super) struct Metadata {
    /// By name.
    pub kernels: HashMap<String, Described>,
    /// `amdgcn-amd-amdhsa--gfx803`.
    pub target: Option<String>,
}

/// What it says of a kernel.
pub(super) struct Described {
    pub args: Vec<KernelArg>,
    pub kernarg_bytes: u32,
    /// Threads of a block along each axis, if it must have so many.
    pub block: Option<[u32; 3]>,
}

/// A value.
enum Node {
    Text(String),
    Number(u64),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
    Other,
}

impl Node {
    fn get(&self, key: &str) -> Option<&Node> {
        match self {
            Node::Map(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Node::Number(number) => Some(*number),
            Node::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    fn list(&self) -> Option<&[Node]> {
        match self {
            Node::List(list) => Some(list),
            _ => None,
        }
    }
}

/// `GlobalOffsetX` as `global_offset_x`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// Reads note AMDGPU/32.
pub(super) fn msgpack(bytes: &[u8], at: u64) -> Result<Metadata, ContainerError> {
    let mut rest = bytes;
    let value = match rmpv::decode::read_value_with_max_depth(&mut rest, MOST_DEPTH) {
        Ok(value) => value,
        Err(bad) => {
            let here = at + (bytes.len() - rest.len()) as u64;
            return error(here, format!("the metadata is no msgpack: {bad}"));
        }
    };
    let root = from_msgpack(value);
    let Some(list) = root.get("amdhsa.kernels").and_then(Node::list) else {
        return error(at, "the metadata has no list `amdhsa.kernels`");
    };
    let kernels = list.iter().map(|kernel| described(kernel, at)).collect::<Result<_, _>>()?;
    let target = root.get("amdhsa.target").and_then(Node::text).map(str::to_owned);
    Ok(Metadata { kernels, target })
}

fn from_msgpack(value: rmpv::Value) -> Node {
    match value {
        rmpv::Value::String(text) => text.into_str().map_or(Node::Other, Node::Text),
        rmpv::Value::Integer(number) => number.as_u64().map_or(Node::Other, Node::Number),
        rmpv::Value::Array(list) => Node::List(list.into_iter().map(from_msgpack).collect()),
        rmpv::Value::Map(entries) => Node::Map(
            entries
                .into_iter()
                .filter_map(|(key, value)| Some((key.as_str()?.to_owned(), from_msgpack(value))))
                .collect(),
        ),
        _ => Node::Other,
    }
}

fn described(kernel: &Node, at: u64) -> Result<(String, Described), ContainerError> {
    let Some(name) = kernel.get(".name").and_then(Node::text) else {
        return error(at, "the metadata has a kernel without a name");
    };
    let mut args = Vec::new();
    let mut end = 0;
    for (number, arg) in kernel.get(".args").and_then(Node::list).unwrap_or(&[]).iter().enumerate() {
        let bad =
            |what: &str| error(at, format!("the metadata of `{name}` says no {what} of argument {number}"));
        let Some(bytes) = arg.get(".size").and_then(Node::number) else { return bad("size") };
        let Some(kind) = arg.get(".value_kind").and_then(Node::text) else { return bad("kind") };
        let offset = match (arg.get(".offset"), arg.get(".align")) {
            (Some(offset), _) => offset.number(),
            // Version 2 has no offsets: arguments follow one another.
            (None, Some(align)) => align
                .number()
                .filter(|align| align.is_power_of_two() && *align <= limits::KERNARG.into())
                .map(|align| u64::next_multiple_of(end, align)),
            (None, None) => None,
        };
        let Some(offset) = offset else { return bad("place") };
        let whole = offset.checked_add(bytes).filter(|&whole| whole <= limits::KERNARG.into());
        let Some(whole) = whole else {
            let reason = format!("{bytes:#x} bytes at {offset:#x} of the arguments of `{name}`");
            return error(at, format!("{reason} are beyond {:#x}", limits::KERNARG));
        };
        end = whole;
        let kind = match kind {
            "by_value" => ArgKind::ByValue,
            "global_buffer" => ArgKind::Global,
            "dynamic_shared_pointer" => ArgKind::DynamicShared,
            other => match other.strip_prefix("hidden_") {
                Some(hidden) => ArgKind::Hidden(hidden.to_owned()),
                None => ArgKind::Other(other.to_owned()),
            },
        };
        let name = arg.get(".name").and_then(Node::text).unwrap_or_default().to_owned();
        args.push(KernelArg { name, offset: offset as u32, bytes: bytes as u32, kind });
    }
    let kernarg = kernel.get(".kernarg_segment_size").and_then(Node::number).unwrap_or(0);
    let Some(kernarg_bytes) = u32::try_from(kernarg).ok().filter(|&bytes| bytes <= limits::KERNARG) else {
        return error(at, format!("`{name}` has {kernarg:#x} bytes of arguments"));
    };
    // Version 2 has it among the attributes.
    let wanted = kernel.get(".reqd_workgroup_size");
    let wanted = wanted.or_else(|| kernel.get(".attrs")?.get(".reqd_work_group_size"));
    let wanted = wanted.and_then(Node::list).and_then(|list| <&[Node; 3]>::try_from(list).ok());
    let block = wanted.and_then(|sizes| {
        let [x, y, z] = sizes.each_ref().map(|size| size.number().and_then(|size| u32::try_from(size).ok()));
        Some([x?, y?, z?])
    });
    Ok((name.to_owned(), Described { args, kernarg_bytes, block }))
}

/// Reads note AMD/10.
pub(super) fn yaml(bytes: &[u8], at: u64) -> Result<Metadata, ContainerError> {
    // It may end in zeros.
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let text = match std::str::from_utf8(&bytes[..end]) {
        Ok(text) => text,
        Err(bad) => return error(at + bad.valid_up_to() as u64, "the metadata is no text"),
    };
    let root = from_yaml(text, at)?;
    let Some(list) = root.get(".kernels").and_then(Node::list) else {
        return error(at, "the metadata has no list `Kernels`");
    };
    let mut kernels = HashMap::new();
    for kernel in list {
        let (name, mut found) = described(kernel, at)?;
        let properties = kernel.get(".code_props");
        let kernarg = properties.and_then(|p| p.get(".kernarg_segment_size")).and_then(Node::number);
        let kernarg = kernarg.filter(|&bytes| bytes <= limits::KERNARG.into()).unwrap_or(0);
        found.kernarg_bytes = found.kernarg_bytes.max(kernarg as u32);
        kernels.insert(name, found);
    }
    Ok(Metadata { kernels, target: None })
}

fn from_yaml(text: &str, at: u64) -> Result<Node, ContainerError> {
    let mut open: Vec<Builder> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|bad| {
            let at = at + bad.marker().index() as u64;
            ContainerError::Elf { offset: at, reason: format!("the metadata is no YAML: {}", bad.info()) }
        })?;
        let here = at + span.start.index() as u64;
        let value = match event {
            Event::Scalar(text, ..) => Node::Text(text.into_owned()),
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.len() >= MOST_DEPTH {
                    return error(here, "the metadata is nested too deeply");
                }
                let map = matches!(event, Event::MappingStart(..));
                open.push(Builder { map, key: None, list: Vec::new(), entries: Vec::new() });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(done) if done.map => Node::Map(done.entries),
                Some(done) => Node::List(done.list),
                None => return error(here, "the metadata ends what has not begun"),
            },
            Event::Alias(_) => Node::Other,
            _ => continue,
        };
        match open.last_mut() {
            Some(builder) => builder.add(value),
            None => return Ok(value),
        }
    }
    error(at, "the metadata is empty")
}

/// A list or map that is being read.
struct Builder {
    map: bool,
    key: Option<String>,
    list: Vec<Node>,
    entries: Vec<(String, Node)>,
}

impl Builder {
    fn add(&mut self, value: Node) {
        if !self.map {
            self.list.push(value);
            return;
        }
        match self.key.take() {
            None => self.key = Some(format!(".{}", snake(value.text().unwrap_or_default()))),
            Some(key) => {
                let value = match value {
                    // The kinds are written like the keys.
                    Node::Text(text) if key == ".value_kind" => Node::Text(snake(&text)),
                    value => value,
                };
                self.entries.push((key, value));
            }
        }
    }
}

//! The texture unit: serves the calls of texture instructions.

use warpjit_ir::device::TextureEntry;
use warpjit_ir::{DeviceAccess, DeviceCall, DeviceFault, DeviceFn};
use warpjit_texture::sample::{Coordinates, CubeSize, Detail, Gather, Lod, LodQuery, Prepared, query_size};
use warpjit_texture::{Error, Kind, Memory, Sampler, Texel, View};

use super::generated;
use super::request::{Family, Level, Operation, Request};
use super::{
    CHANGES, COORDINATES, HANDLE, LAYER, LEVEL, OFFSETS, ORIGIN, REFERENCE, RESULTS, SAMPLE, WORDS, cube,
    descriptor, query, samples,
};

/// Texture instructions of Tesla.
pub(crate) static TESLA: DeviceFn = DeviceFn { name: "tesla.texture", stores: |_| false, run };
/// Those of Fermi and GK104.
pub(crate) static FERMI: DeviceFn = DeviceFn { name: "fermi.texture", stores: |_| false, run };

/// Guest memory as the texture library wants it.
pub(crate) struct Guest<'a>(pub(crate) &'a mut dyn DeviceAccess);

impl Memory for Guest<'_> {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), u64> {
        self.0.read(address, bytes)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), u64> {
        self.0.write(address, bytes)
    }

    fn update(&mut self, address: u64, bytes: u8, update: &dyn Fn(u64) -> u64) -> Result<u64, u64> {
        self.0.update(address, bytes, update)
    }
}

/// The texture and the sampler that a lane uses: slots, or entries of GK104.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Names {
    texture: u32,
    sampler: u32,
}

/// What is wrong, but for the lane.
struct Wrong {
    slot: u32,
    reason: &'static str,
    address: Option<u64>,
}

impl Wrong {
    fn at(self, lane: u32) -> DeviceFault {
        let Wrong { slot, reason, address } = self;
        DeviceFault::Texture { lane, slot: Some(slot), reason, address }
    }
}

fn run(call: &mut DeviceCall<'_>) -> Result<(), DeviceFault> {
    let request = Request::decode(call.params);
    let mut lanes = call.each_lane().peekable();
    let mut first_of_call = true;
    while let Some(&first) = lanes.peek() {
        // Mostly all lanes name the same texture.
        let names = names(call, &request, first);
        let header = header(call, &request, names.texture).map_err(|wrong| wrong.at(first))?;
        let entry = sampler_entry(call, &request, names.sampler);
        let complete = entry.is_ok() || !request.needs_sampler();
        if first_of_call && complete && one_name(call, &request, names) {
            let entry = entry.as_ref().ok();
            let describe = || {
                let view = decoded_view(&request, &header).ok()?;
                Some((view, sampler(&request, entry, &header)))
            };
            if generated::serve(call, &request, &header, entry, describe) {
                return Ok(());
            }
        }
        first_of_call = false;
        let view = view(call, &request, &header, names.texture).map_err(|wrong| wrong.at(first))?;
        let entry =
            if request.needs_sampler() { entry.map_err(|wrong| wrong.at(first))?.into() } else { entry.ok() };
        let sampler = sampler(&request, entry.as_ref(), &header);
        let mut prepared = Prepared::new(&view, &sampler);
        while let Some(lane) = lanes.next_if(|&lane| self::names(call, &request, lane) == names) {
            let words = call.args(lane, 0);
            let mut arguments = request.arguments(&words, &view, &sampler);
            if request.samples {
                arguments.choose_sample(samples::mode(&header), words[SAMPLE as usize]);
            }
            let found = match request.operation {
                Operation::Query(query) => {
                    Ok(query::results(query, &header, entry.as_ref(), &sampler, arguments.level))
                }
                _ => execute(&request, &arguments, &view, &mut prepared, &mut Guest(&mut *call.access)),
            };
            let results = found.map_err(|error| {
                let (Error::Unmapped(address) | Error::NotWritable(address)) = error;
                let reason = "a texel is not in memory";
                Wrong { slot: names.texture, reason, address: Some(address) }.at(lane)
            })?;
            for (n, result) in (0..).zip(results) {
                call.set(lane, RESULTS + n, result);
            }
        }
    }
    Ok(())
}

/// Whether all lanes name one texture.
fn one_name(call: &DeviceCall<'_>, request: &Request, names: Names) -> bool {
    !request.named_by_lanes() || call.each_lane().all(|lane| self::names(call, request, lane) == names)
}

/// What a lane names.
fn names(call: &DeviceCall<'_>, request: &Request, lane: u32) -> Names {
    request.names(|n| call.arg(lane, n))
}

/// Bytes of an entry of a table.
const ENTRY_BYTES: u64 = 32;

/// An entry of a table in guest memory; `None` if it is beyond the end.
fn entry_of(
    access: &mut dyn DeviceAccess,
    (address, bytes): (u64, u64),
    entry: u32,
) -> Result<Option<TextureEntry>, u64> {
    let at = u64::from(entry) * ENTRY_BYTES;
    if at + ENTRY_BYTES > bytes {
        return Ok(None);
    }
    let mut raw = [0; ENTRY_BYTES as usize];
    access.read(address.wrapping_add(at), &mut raw)?;
    Ok(Some(std::array::from_fn(|n| {
        u32::from_le_bytes([raw[4 * n], raw[4 * n + 1], raw[4 * n + 2], raw[4 * n + 3]])
    })))
}

/// The entry of a slot: given with it, or the one that it is bound to. GK104 names entries.
fn entry(
    call: &mut DeviceCall<'_>,
    request: &Request,
    slot: u32,
    textures: bool,
) -> Result<Option<TextureEntry>, Wrong> {
    let tables = call.access.textures();
    let (given, table, bindings) = match textures {
        true => (&tables.textures, tables.header_table, &tables.texture_bindings),
        false => (&tables.samplers, tables.sampler_table, &tables.sampler_bindings),
    };
    let of = |list: &[(u32, TextureEntry)]| list.iter().find(|(n, _)| *n == slot).map(|(_, entry)| *entry);
    let Some(table) = table else { return Ok(of(given)) };
    let number = match request.family {
        Family::Gk104 => Some(slot),
        _ => bindings.iter().find(|(n, _)| *n == slot).map(|(_, entry)| *entry),
    };
    let Some(number) = number else { return Ok(of(given)) };
    let reason = "the table is not in memory";
    entry_of(call.access, table, number).map_err(|address| Wrong { slot, reason, address: Some(address) })
}

fn header(call: &mut DeviceCall<'_>, request: &Request, slot: u32) -> Result<TextureEntry, Wrong> {
    let found = entry(call, request, slot, true)?.filter(|header| header.iter().any(|&word| word != 0));
    found.ok_or(Wrong { slot, reason: "no texture header", address: None })
}

fn sampler_entry(call: &mut DeviceCall<'_>, request: &Request, slot: u32) -> Result<TextureEntry, Wrong> {
    // A fetch of Tesla looks at sampler 0.
    let fetches = request.operation == Operation::Fetch && request.family != Family::Gk104;
    let slot = if fetches { 0 } else { slot };
    entry(call, request, slot, false)?.ok_or(Wrong { slot, reason: "no sampler", address: None })
}

/// The view that a header is for a request.
fn decoded_view(request: &Request, header: &TextureEntry) -> Result<View, &'static str> {
    let mut view = descriptor::view(header, request.family)?;
    // Behind `texprep cube` programs of Tesla name a layer that is a face.
    let is_tesla = matches!(request.family, Family::G80 | Family::Tesla);
    if is_tesla && view.kind == Kind::CubeArray && request.operation == Operation::Sample && !request.cube {
        view.kind = Kind::D2Array;
    }
    if request.samples {
        let [x, y] = samples::mode(header).log2;
        view.size = [view.size[0] << x.min(2), view.size[1] << y.min(1), view.size[2]];
    }
    Ok(view)
}

fn view(
    call: &mut DeviceCall<'_>,
    request: &Request,
    header: &TextureEntry,
    slot: u32,
) -> Result<View, Wrong> {
    let view = decoded_view(request, header).map_err(|reason| Wrong { slot, reason, address: None })?;
    let reads = matches!(request.operation, Operation::Sample | Operation::Fetch | Operation::Gather);
    if reads && let Err(address) = call.access.read(view.address, &mut [0]) {
        return Err(Wrong { slot, reason: "the texture is not in memory", address: Some(address) });
    }
    Ok(view)
}

fn sampler(request: &Request, entry: Option<&TextureEntry>, header: &TextureEntry) -> Sampler {
    let Some(entry) = entry else { return Sampler::default() };
    let sampler = descriptor::sampler(entry, header, request.family);
    let compares = match request.family {
        // The sampler alone says it.
        Family::G80 | Family::Tesla => request.operation != Operation::Fetch,
        _ => request.shadow,
    };
    Sampler { compare: sampler.compare.filter(|_| compares), ..sampler }
}

/// What a lane asks for.
struct LaneArguments {
    coordinates: [u32; 3],
    layer: u32,
    reference: f32,
    level: u32,
    offset: [i32; 3],
    /// For each result of a gather.
    offsets: Option<[[i32; 2]; 4]>,
    changes: [[f32; 3]; 2],
}

impl LaneArguments {
    /// Names the texel of a sample; none, if there is no such sample.
    fn choose_sample(&mut self, mode: samples::Mode, sample: u32) {
        for (axis, within) in mode.texel(sample).into_iter().enumerate() {
            let texel = self.coordinates[axis].wrapping_add_signed(self.offset[axis]);
            let first = texel.checked_mul(1 << mode.log2[axis]).filter(|_| sample < mode.count());
            self.coordinates[axis] = first.map_or(u32::MAX, |first| first + within);
            self.offset[axis] = 0;
        }
    }
}

/// Coordinates of a texture: its axes, three of a cube.
pub(super) fn coordinates_of(kind: Kind) -> usize {
    match kind {
        Kind::Cube | Kind::CubeArray => 3,
        kind => kind.axes(),
    }
}

/// Sign extension of the low bits.
fn signed(word: u32, at: u32, bits: u32) -> i32 {
    (word >> at << (32 - bits)) as i32 >> (32 - bits)
}

impl Request {
    fn needs_sampler(&self) -> bool {
        matches!(self.operation, Operation::Sample | Operation::Gather | Operation::QueryLevel)
    }

    /// Whether each lane says what it names.
    pub(super) fn named_by_lanes(&self) -> bool {
        self.family == Family::Gk104 || self.indirect
    }

    /// What a lane names, whose mailbox has these words.
    fn names(&self, word: impl Fn(u32) -> u32) -> Names {
        match self.family {
            Family::Gk104 => {
                let handle = word(HANDLE);
                Names { texture: handle & 0xf_ffff, sampler: handle >> 20 }
            }
            Family::Gf100 if self.indirect => {
                let layer = word(LAYER);
                Names { texture: layer >> 23, sampler: layer >> 16 & 0x7f }
            }
            _ => Names { texture: self.texture.into(), sampler: self.sampler.into() },
        }
    }

    fn arguments(&self, words: &[u32; WORDS], view: &View, sampler: &Sampler) -> LaneArguments {
        let word = |n: u32| words[n as usize];
        // Words of axes that the texture does not have are what another instruction has left.
        let axes = coordinates_of(view.kind) as u32;
        let three = |first: u32| [0, 1, 2].map(|n| if n < axes { word(first + n) } else { 0 });
        let mut arguments = LaneArguments {
            coordinates: three(COORDINATES),
            layer: if view.kind.has_layers() { word(LAYER) & 0xffff } else { 0 },
            reference: f32::from_bits(word(REFERENCE)),
            level: word(LEVEL),
            offset: self.offset.map(i32::from),
            offsets: None,
            changes: CHANGES.map(|first| {
                let (to, from) = (three(first), three(ORIGIN));
                [0, 1, 2].map(|n| f32::from_bits(to[n]) - f32::from_bits(from[n]))
            }),
        };
        if matches!(self.family, Family::G80 | Family::Tesla) {
            self.in_order(words, view, sampler, &mut arguments);
            return arguments;
        }
        let offsets = [word(OFFSETS), word(OFFSETS + 1)];
        match (self.offset_words, self.operation) {
            (0, _) => {}
            (1, Operation::Gather) => {
                arguments.offset = [signed(offsets[0], 0, 8), signed(offsets[0], 8, 8), 0];
            }
            (1, _) => arguments.offset = [0, 4, 8].map(|at| signed(offsets[0], at, 4)),
            _ => {
                let pair = |n: u32| [0, 8].map(|at| signed(offsets[n as usize / 2], n % 2 * 16 + at, 8));
                arguments.offsets = Some([pair(0), pair(1), pair(2), pair(3)]);
            }
        }
        arguments
    }

    /// Tesla's sources in order: what each is, the texture and the sampler say.
    fn in_order(&self, words: &[u32; WORDS], view: &View, sampler: &Sampler, arguments: &mut LaneArguments) {
        let mut list = words[..usize::from(self.sources).min(4)].iter().copied();
        let mut next = || list.next().unwrap_or(0);
        if self.operation == Operation::QuerySize {
            arguments.level = next();
            return;
        }
        let mut coordinates = [0; 3];
        coordinates[..coordinates_of(view.kind)].fill_with(&mut next);
        arguments.coordinates = coordinates;
        arguments.layer =
            if view.kind.has_layers() || self.operation == Operation::CubeFace { next() } else { 0 };
        if sampler.compare.is_some() {
            arguments.reference = f32::from_bits(next());
        }
        if self.bias || self.level == Level::Given {
            arguments.level = next();
        }
    }
}

fn execute(
    request: &Request,
    arguments: &LaneArguments,
    view: &View,
    prepared: &mut Prepared<'_>,
    memory: &mut Guest<'_>,
) -> Result<Texel, Error> {
    let given = f32::from_bits(arguments.level);
    let lod = match request.level {
        Level::Lowest => Lod::Lowest,
        Level::Zero => Lod::Level(0.0),
        Level::Given => Lod::Level(given),
        Level::Changes => Lod::Gradients { dx: arguments.changes[0], dy: arguments.changes[1] },
    };
    let detail = Detail { lod, bias: if request.bias { given } else { 0.0 }, clamp: None };
    let at = Coordinates {
        at: arguments.coordinates.map(f32::from_bits),
        layer: arguments.layer,
        offset: arguments.offset,
        reference: arguments.reference,
        ..Coordinates::default()
    };
    match request.operation {
        Operation::Sample => prepared.sample(&at, &detail, memory),
        Operation::Gather => {
            let component = request.component;
            let gather = Gather { component, offsets: arguments.offsets, detail: Detail::LOWEST };
            prepared.gather(&at, &gather, memory)
        }
        Operation::Fetch => {
            let level = if request.level == Level::Given { arguments.level } else { 0 };
            let mut texel = arguments.coordinates;
            for (axis, offset) in texel.iter_mut().zip(arguments.offset) {
                *axis = axis.wrapping_add_signed(offset);
            }
            prepared.fetch(texel, arguments.layer, level, memory)
        }
        Operation::QueryLevel => {
            let LodQuery { raw, used } = prepared.query_lod(&at, &detail);
            let raw = raw.clamp(i16::MIN.into(), i16::MAX.into());
            Ok([raw as u32, used.clamp(0, 0xffff) as u32, 0, 0])
        }
        Operation::QuerySize => Ok(query_size(view, arguments.level, CubeSize::Cubes)),
        Operation::Query(_) => Ok([0; 4]),
        Operation::CubeFace => {
            let (face, [u, v]) = cube::face_point(at.at);
            Ok([u.to_bits(), v.to_bits(), at.layer.wrapping_mul(6).wrapping_add(face), 0])
        }
    }
}

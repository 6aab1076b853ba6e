//! The image unit: a device that executes image instructions (`DEVICE`); docs/hardware/graphics-gcn.md sections 2 to 6.
//!
//! The lifter leaves descriptors, addresses and data in each lane's mailbox. `op` says what an instruction's word means, `descriptor`
//! decodes descriptors, `address` takes operands apart. The crate `warpjit-texture` does the rest.
//!
//! For implicit derivatives a mailbox also has the coordinates of the first three lanes of the quad, as they are, whatever EXEC is.
//!
//! Where documents do not say: a slice of a cube that an access names is its face plus eight times the cube's number, as for samples.

mod address;
mod descriptor;
mod faces;
mod generated;
mod op;

use warpjit_ir::interp::atomic_result;
use warpjit_ir::{DeviceAccess, DeviceCall, DeviceFault, DeviceFn, TextureTables};
use warpjit_texture::format::{Number, Packing};
use warpjit_texture::layout::{gcn::Surface, gfx9};
use warpjit_texture::sample::{self, Coordinates, CubeCoordinates, Detail, Gather, Lod, Prepared};
use warpjit_texture::{Error, Format, Layout, Memory, Texel, View};

use self::address::Address;
use self::descriptor::{Border, Image, sampler};
pub(crate) use self::op::{Action, Form, Level, Shape, Word};
use crate::gcn::{Chip, texel};

/// Words of a mailbox, from its start on: the image's descriptor, the sampler's, address registers, then data, or
/// coordinates of lanes of the quad. Results overwrite the first ones.
pub(crate) const SAMPLER: u32 = 8;
pub(crate) const ADDRESS: u32 = 12;
pub(crate) const DATA: u32 = ADDRESS + ADDRESS_WORDS as u32;
/// The most address registers of an instruction.
pub(crate) const ADDRESS_WORDS: usize = 12;
/// All.
pub(crate) const WORDS: u32 = DATA + 9;
/// Registers of coordinates along axes, at most: what there is of each lane of the quad.
pub(crate) const QUAD_WORDS: u32 = 3;

/// The device. Its parameter is a [`Word`].
pub(crate) static DEVICE: DeviceFn = DeviceFn {
    name: "gcn.image",
    stores: |params| {
        let word = Word::of(params);
        word.is_ordered() || word.shape().is_some_and(|shape| shape.writes())
    },
    run,
};

/// Devices, for those who look them up by name.
pub static ALL: &[&DeviceFn] = &[&DEVICE];

/// Guest memory, as the texture crate wants it.
struct Guest<'a>(&'a mut dyn DeviceAccess);

impl Memory for Guest<'_> {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), u64> {
        self.0.read(address, bytes)
    }

    fn word(&mut self, address: u64) -> Result<u32, u64> {
        self.0.word(address)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), u64> {
        self.0.write(address, bytes)
    }

    fn update(&mut self, address: u64, bytes: u8, update: &dyn Fn(u64) -> u64) -> Result<u64, u64> {
        self.0.update(address, bytes, update)
    }
}

/// What went wrong in a lane.
fn fault(lane: u32, error: Error) -> DeviceFault {
    let (address, store) = match error {
        Error::Unmapped(address) => (address, false),
        Error::NotWritable(address) => (address, true),
    };
    DeviceFault::Memory { lane, address, store }
}

/// Executes an instruction.
fn run(call: &mut DeviceCall<'_>) -> Result<(), DeviceFault> {
    let Some(first) = call.each_lane().next() else { return Ok(()) };
    let refused = |reason| DeviceFault::Texture { lane: first, slot: None, reason, address: None };
    let word = Word::of(call.params);
    let shape = word.shape().ok_or(refused("there is no such image instruction"))?;
    let words: [u32; 8] = call.args(first, 0);
    if generated::serve(call, word, &shape, &words, first) {
        return Ok(());
    }
    let chip = word.chip();
    let image = Image::read(&words, chip.generation(), word.short(), word.array()).map_err(refused)?;
    let Some(image) = image else {
        let lanes = call.each_lane();
        lanes.for_each(|lane| give(call, lane, word, &Results { texel: [0; 4], all: false }, None));
        return Ok(());
    };
    let mut view = view(&image, chip, call.access.textures()).map_err(refused)?;
    if shape.samples() {
        force_curve(&mut view, &image, &call.args(first, SAMPLER));
    }
    let unit = Unit { word, shape, image: &image, view: &view };
    if shape.samples() { unit.samples(call, first) } else { unit.accesses(call) }
}

/// An image as the texture crate wants it.
fn view(image: &Image, chip: Chip, tables: &TextureTables) -> Result<View, &'static str> {
    let layout = descriptor::layout(image, chip, tables)?;
    Ok(View {
        kind: image.kind,
        size: image.size,
        first_level: image.first_level,
        last_level: image.last_level.max(image.first_level),
        first_layer: image.first_layer,
        layers: (image.last_layer + 1).saturating_sub(image.first_layer).max(1),
        min_lod: image.min_lod.saturating_sub(256 * image.first_level),
        format: image.format,
        sources: image.sources,
        normalized: true,
        layout,
        address: image.address,
    })
}

/// Gives a view sRGB's curve, if the sampler forces that and the format can have it.
fn force_curve(view: &mut View, image: &Image, sampler: &[u32; 4]) {
    if let (Some(curved), true) = (image.curved, descriptor::forces_curve(sampler)) {
        view.format = curved;
    }
}

/// A border's colour, as the components of the format take it, from the first one on.
fn placed(image: &Image, color: [u32; 4]) -> [u32; 4] {
    let places = match image.border_swizzle {
        1 => [0, 3, 1, 2],
        2 => [3, 2, 1, 0],
        3 => [3, 0, 1, 2],
        4 => [2, 1, 0, 3],
        5 => [1, 0, 3, 2],
        _ => [0, 1, 2, 3],
    };
    places.map(|place: usize| color[place])
}

/// The colour of a border whose components are 0 or 1.
fn fixed_border(image: &Image, view: &View, components: [u8; 4]) -> [u32; 4] {
    let one = if view.format.is_integer() { 1 } else { 1f32.to_bits() };
    placed(image, components.map(|component| if component == 0 { 0 } else { one }))
}

/// What an instruction gives: components by `dmask`, or `all` four.
struct Results {
    texel: Texel,
    all: bool,
}

/// Puts results into a lane's mailbox, in 16 bits if the instruction says so: `format` says how.
fn give(call: &mut DeviceCall<'_>, lane: u32, word: Word, results: &Results, format: Option<&Format>) {
    let integer = format.is_some_and(Format::is_integer);
    let mut at = 0;
    for (n, value) in results.texel.into_iter().enumerate() {
        if !results.all && word.dmask() >> n & 1 == 0 {
            continue;
        }
        let value = match word.half_data() {
            false => value,
            true if integer => value & 0xffff,
            true => texel::to_f16(value),
        };
        call.set(lane, at, value);
        at += 1;
    }
    // What tfe and lwe tell: all is resident.
    call.set(lane, at, 0);
}

/// An instruction with the image that it names.
struct Unit<'a> {
    word: Word,
    shape: Shape,
    image: &'a Image,
    view: &'a View,
}

impl Unit<'_> {
    fn address(&self, call: &DeviceCall<'_>, lane: u32) -> Address {
        Address::read(
            call.args(lane, ADDRESS),
            &self.shape,
            self.word,
            self.image.kind,
            self.image.samples > 1,
        )
    }

    /// Samples, gathers and levels of detail, of all lanes.
    fn samples(&self, call: &mut DeviceCall<'_>, first: u32) -> Result<(), DeviceFault> {
        let words = std::array::from_fn(|n| call.arg(first, SAMPLER + n as u32));
        let (mut sampler, border) = sampler(&words, self.word.chip().generation());
        if !self.shape.compare {
            sampler.compare = None;
        }
        sampler.unnormalized |= self.word.unnormalized();
        sampler.border = self.border(call, border).map_err(|error| fault(first, error))?;
        let mut prepared = Prepared::new(self.view, &sampler);
        let mut quad: Option<(u32, [[f32; 3]; 2])> = None;
        for lane in call.each_lane() {
            let address = self.address(call, lane);
            let lod = match self.shape.level {
                Level::Zero => Lod::Lowest,
                Level::Given => Lod::Level(address.level),
                Level::Gradients => {
                    let [dx, dy] = address.gradients;
                    Lod::Gradients { dx, dy }
                }
                Level::Implicit => {
                    let [dx, dy] = match quad {
                        Some((number, changes)) if number == lane / 4 => changes,
                        _ => self.changes(call, lane),
                    };
                    quad = Some((lane / 4, [dx, dy]));
                    Lod::Gradients { dx, dy }
                }
            };
            let detail = Detail { lod, bias: address.bias, clamp: self.shape.clamp.then_some(address.level) };
            let results = self.sample(&mut prepared, &address, &detail, &mut Guest(&mut *call.access));
            let results = results.map_err(|error| fault(lane, error))?;
            give(call, lane, self.word, &results, Some(&self.view.format));
        }
        Ok(())
    }

    fn sample(
        &self,
        prepared: &mut Prepared<'_>,
        address: &Address,
        detail: &Detail,
        memory: &mut Guest<'_>,
    ) -> Result<Results, Error> {
        let at = Coordinates {
            at: address.place(self.image.kind),
            layer: address.layer(self.image.kind),
            offset: address.offset,
            reference: address.reference,
            cube: CubeCoordinates::Face,
        };
        Ok(match self.shape.action {
            Action::Gather => {
                let request = Gather { component: self.component(), offsets: None, detail: *detail };
                Results { texel: prepared.gather(&at, &request, memory)?, all: true }
            }
            Action::GatherRow => {
                let request = Gather { component: self.component(), offsets: None, detail: *detail };
                Results { texel: prepared.gather_row(&at, &request, memory)?, all: true }
            }
            Action::GatherRaw(count) => {
                let elements = prepared.gather_elements(&at, detail, count.into(), memory)?;
                Results { texel: words_of(&elements), all: true }
            }
            Action::Lod => {
                let query = prepared.query_lod(&at, detail);
                let levels = [query.used_levels(), query.raw_levels(), 0.0, 0.0];
                Results { texel: levels.map(f32::to_bits), all: false }
            }
            _ => Results { texel: prepared.sample(&at, detail, memory)?, all: false },
        })
    }

    /// The component that a gather gives.
    fn component(&self) -> u8 {
        self.word.dmask().trailing_zeros().min(3) as u8
    }

    /// How coordinates change in the quad of a lane: along x and along y.
    fn changes(&self, call: &DeviceCall<'_>, lane: u32) -> [[f32; 3]; 2] {
        let first = self.shape.words_before();
        let [base, x, y] = [0, 1, 2].map(|other| {
            let words = std::array::from_fn(|n| match n.checked_sub(first) {
                Some(n) if n < QUAD_WORDS as usize => call.arg(lane, DATA + QUAD_WORDS * other + n as u32),
                _ => 0,
            });
            Address::read(words, &self.shape, self.word, self.image.kind, false)
        });
        let kind = self.image.kind;
        let places = match kind.is_cube() {
            true => faces::on_first([&base, &x, &y].map(|at| (at.face(), at.place(kind)))),
            false => [&base, &x, &y].map(|at| at.place(kind)),
        };
        let [base, x, y] = places;
        [x, y].map(|other| std::array::from_fn(|k| other[k] - base[k]))
    }

    /// The border's colour.
    fn border(&self, call: &mut DeviceCall<'_>, border: Border) -> Result<[u32; 4], Error> {
        let color = match (border, call.access.textures().border_colors) {
            (Border::Fixed(components), _) => return Ok(fixed_border(self.image, self.view, components)),
            (Border::Entry(_), None) => [0; 4],
            (Border::Entry(entry), Some(table)) => {
                let mut bytes = [0; 16];
                let address = table.wrapping_add(16 * u64::from(entry));
                call.access.read(address, &mut bytes).map_err(Error::Unmapped)?;
                std::array::from_fn(|n| u32::from_le_bytes(std::array::from_fn(|byte| bytes[4 * n + byte])))
            }
        };
        Ok(placed(self.image, color))
    }

    /// Loads, stores and atomics, of all lanes.
    fn accesses(&self, call: &mut DeviceCall<'_>) -> Result<(), DeviceFault> {
        for lane in call.each_lane() {
            let address = self.address(call, lane);
            let data: Texel = std::array::from_fn(|n| call.arg(lane, DATA + n as u32));
            let texel = self.access(&address, data, &mut Guest(&mut *call.access));
            let texel = texel.map_err(|error| fault(lane, error))?;
            let format = Some(&self.view.format);
            match self.shape.action {
                Action::Load(_) => give(call, lane, self.word, &Results { texel, all: false }, format),
                Action::Atomic(..) => (0..).zip(texel).for_each(|(n, value)| call.set(lane, n, value)),
                _ => {}
            }
        }
        Ok(())
    }

    fn access(&self, address: &Address, data: Texel, memory: &mut Guest<'_>) -> Result<Texel, Error> {
        let at = address.texel;
        let of_sample;
        let view = match (&self.view.layout, self.image.samples) {
            (_, 1) => self.view,
            (_, samples) if address.sample >= samples => return Ok([0; 4]),
            (Layout::Gcn(surface), _) => {
                let layout = Layout::Gcn(Surface { sample: address.sample, ..*surface });
                of_sample = View { layout, ..self.view.clone() };
                &of_sample
            }
            (Layout::Gfx9(surface), _) => {
                let layout = Layout::Gfx9(gfx9::Surface { sample: address.sample, ..*surface });
                of_sample = View { layout, ..self.view.clone() };
                &of_sample
            }
            _ => self.view,
        };
        let Some(layer) = address.slice(self.image.kind) else { return Ok([0; 4]) };
        let level = address.mip;
        match self.shape.action {
            Action::Load(Form::Converted) => sample::fetch(view, at, layer, level, memory),
            Action::Load(form) => {
                let element = sample::load_raw(view, at, layer, level, memory)?;
                let mut words = words_of(&element);
                if form == Form::Signed {
                    words[0] = match view.format.bytes {
                        1 => words[0] as u8 as i8 as u32,
                        2 => words[0] as u16 as i16 as u32,
                        _ => words[0],
                    };
                }
                Ok(words)
            }
            Action::Store(Form::Converted) => {
                let texel = if self.word.half_data() { self.widened(data) } else { data };
                sample::store(view, at, layer, level, texel, 15, memory)?;
                Ok([0; 4])
            }
            Action::Store(_) => {
                let mut element = [0; 16];
                for (bytes, word) in element.chunks_exact_mut(4).zip(data) {
                    bytes.copy_from_slice(&word.to_le_bytes());
                }
                sample::store_raw(view, at, layer, level, &element, memory)?;
                Ok([0; 4])
            }
            Action::Atomic(op, negate) => {
                let words = self.word.dmask().count_ones();
                let wide = words >= if op.takes_two() { 4 } else { 2 };
                let bytes: u8 = if wide { 8 } else { 4 };
                let number = |n: usize| match wide {
                    true => u64::from(data[2 * n]) | u64::from(data[2 * n + 1]) << 32,
                    false => data[n].into(),
                };
                let (value, new) = if op.takes_two() { (number(1), number(0)) } else { (number(0), 0) };
                let mask = u64::MAX >> (64 - 8 * u32::from(bytes));
                let value = if negate { value.wrapping_neg() & mask } else { value };
                let update = |old| atomic_result(op, bytes, old, value, new);
                let old = sample::atomic(view, at, layer, level, bytes, &update, memory)?;
                Ok([old as u32, (old >> 32) as u32, 0, 0])
            }
            _ => Ok([0; 4]),
        }
    }

    /// 16-bit data of a store as its format takes them.
    fn widened(&self, data: Texel) -> Texel {
        let signed = matches!(self.view.format.packing, Packing::Fields(fields) if fields.iter().any(|field| {
            field.bits > 0 && field.number == Number::Sint
        }));
        data.map(|half| match (self.view.format.is_integer(), signed) {
            (true, true) => half as u16 as i16 as u32,
            (true, false) => half & 0xffff,
            _ => address::float_of(half as u16).to_bits(),
        })
    }
}

fn words_of(element: &[u8; 16]) -> Texel {
    std::array::from_fn(|n| u32::from_le_bytes(std::array::from_fn(|byte| element[4 * n + byte])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpjit_texture::format::gcn;

    /// Serves lane 1 with the words of a mailbox; the first results.
    fn serve(
        access: &mut crate::testing::DeviceMemory,
        raw: u64,
        chip: &str,
        words: &[(u32, u32)],
    ) -> Result<Texel, DeviceFault> {
        for &(word, value) in words {
            access.set_local(1, 4 * word, value);
        }
        let params = Word::new(raw, Chip::parse(chip).unwrap(), false).params();
        run(&mut DeviceCall { params, mailbox: 0, lanes: 2, access })?;
        Ok([0, 1, 2, 3].map(|n| access.local(1, 4 * n)))
    }

    /// The number of an operation in an instruction's word.
    fn opcode(chip: &str, op: crate::gcn::Op) -> u64 {
        let chip = Chip::parse(chip).unwrap();
        let table = crate::gcn::table::table();
        let found = (0..128)
            .find(|&code| table.find(chip, crate::gcn::Format::Mimg, code).is_some_and(|row| row.op == op));
        u64::from(found.expect("the chip has it")) << 18 | 0xf000_0000
    }

    /// An image of 8 x 8 texels of 32 bits with four samples in one micro tile: samples are 64 texels each.
    #[test]
    fn loads_of_samples() {
        for chip in ["tahiti", "bonaire", "fiji"] {
            let mut access = crate::testing::DeviceMemory::new(0x1000);
            for n in 0..256usize {
                access.memory[4 * n..][..4].copy_from_slice(&(1000 + n as u32).to_le_bytes());
            }
            let load = opcode(chip, crate::gcn::Op::IMAGE_LOAD) | 1 << 8;
            let place = |x, y, sample| {
                let image = [
                    0x10,
                    4 << 20 | 4 << 26,
                    7 | 7 << 14,
                    4 | 2 << 16 | 13 << 20 | 14 << 28,
                    7 << 13,
                    0,
                    0,
                    0,
                ];
                let mut words: Vec<(u32, u32)> = (0..).zip(image).collect();
                words.extend([(ADDRESS, x), (ADDRESS + 1, y), (ADDRESS + 2, sample)]);
                words
            };
            // Element number 3 of a micro tile is (1, 1).
            for (x, y, sample, wanted) in [(0, 0, 0, 1000), (1, 1, 0, 1003), (1, 1, 2, 1131), (7, 7, 3, 1255)]
            {
                assert_eq!(
                    serve(&mut access, load, chip, &place(x, y, sample)).unwrap()[0],
                    wanted,
                    "{chip} {x} {y} {sample}"
                );
            }
            assert_eq!(serve(&mut access, load, chip, &place(0, 0, 4)).unwrap()[0], 0);
            assert_eq!(serve(&mut access, load, chip, &place(8, 0, 0)).unwrap()[0], 0);
        }
    }

    /// sRGB's curve by the sampler: 188 of 255 is about a half.
    #[test]
    fn forced_curve() {
        let mut access = crate::testing::DeviceMemory::new(0x400);
        access.memory[..4].copy_from_slice(&[188, 0, 255, 188]);
        for (chip, forced) in [("tahiti", false), ("fiji", true), ("vega10", true)] {
            let tiling = if chip == "vega10" { 0 } else { 8 };
            let sample = opcode(chip, crate::gcn::Op::IMAGE_SAMPLE_LZ) | 15 << 8;
            let image = [0x10, 10 << 20, 0, 0xfac | tiling << 20 | 9 << 28, 63 << 13, 0, 0, 0];
            let mut words: Vec<(u32, u32)> = (0..).zip(image).collect();
            words.extend([
                (SAMPLER, u32::from(forced) << 20),
                (SAMPLER + 1, 0),
                (SAMPLER + 2, 0),
                (SAMPLER + 3, 0),
            ]);
            words.extend([(ADDRESS, 0.5f32.to_bits()), (ADDRESS + 1, 0.5f32.to_bits())]);
            let found = serve(&mut access, sample, chip, &words).unwrap().map(f32::from_bits);
            let red = if forced { ((188.0 / 255.0 + 0.055) / 1.055f32).powf(2.4) } else { 188.0 / 255.0 };
            assert!(
                (found[0] - red).abs() < 1e-4 && found[1..] == [0.0, 1.0, 188.0 / 255.0],
                "{chip} {found:?}"
            );
        }
    }

    /// Four and eight texels of a row, from the first one of a gather on.
    #[test]
    fn gathers_of_rows() {
        let mut access = crate::testing::DeviceMemory::new(0x400);
        access.memory[..16].copy_from_slice(&std::array::from_fn::<u8, 16, _>(|n| n as u8));
        // 16 texels of eight bits, an unsigned number each.
        let image = [0x10, 1 << 20 | 4 << 26, 15, 0xfac | 9 << 28, 255 << 13, 0, 0, 0];
        let mut words: Vec<(u32, u32)> = (0..).zip(image).collect();
        let place = [(SAMPLER, 0), (SAMPLER + 1, 0), (SAMPLER + 2, 0), (SAMPLER + 3, 0)];
        words.extend(place);
        words.extend([(ADDRESS, (3.0f32 / 16.0).to_bits()), (ADDRESS + 1, 0.5f32.to_bits())]);
        use crate::gcn::Op;
        for (op, wanted) in [
            (Op::IMAGE_GATHER4H, [2, 3, 4, 5]),
            (Op::IMAGE_GATHER4H_PCK, [0x0504_0302, 0, 0, 0]),
            (Op::IMAGE_GATHER8H_PCK, [0x0504_0302, 0x0908_0706, 0, 0]),
        ] {
            let gather = opcode("vega10", op) | 1 << 8;
            assert_eq!(serve(&mut access, gather, "vega10", &words).unwrap(), wanted, "{op:?}");
        }
    }

    /// Code that accesses linear images and the device that accesses others agree on every format, but for stores with sRGB's curve.
    #[test]
    fn formats_agree_with_those_of_code() {
        let mut random = 1u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            random >> 32 ^ random << 20
        };
        let mut count = 0;
        for (data, number) in (0..64).flat_map(|data| (0..16).map(move |number| (data, number))) {
            let (Some(_), Some(format)) = (texel::formats(data, number), gcn(data, number, false)) else {
                continue;
            };
            count += 1;
            for _ in 0..200 {
                let (low, high) = (next(), next());
                let mut element = [0; 16];
                element[..8].copy_from_slice(&low.to_le_bytes());
                element[8..].copy_from_slice(&high.to_le_bytes());
                element[usize::from(format.bytes)..].fill(0);
                let half = |n: usize| u64::from_le_bytes(std::array::from_fn(|byte| element[8 * n + byte]));
                let loaded: Texel = std::array::from_fn(|n| {
                    let packed = texel::pack_format(data, number, n as u32 + 4, false);
                    (texel::LOAD.eval)(&[packed.into(), half(0), half(1)]) as u32
                });
                assert_eq!(format.decode(&element, 0, 0), loaded, "load {data} {number} {element:x?}");
                let mut values = words_of(&element);
                if next() & 1 == 0 {
                    values = values.map(|word| ((word as i32 as f32) / 1e9).to_bits());
                }
                let Some(stored) = format.encode(values) else {
                    assert_eq!(number, 9);
                    continue;
                };
                let packed = texel::pack_format(data, number, texel::IDENTITY, false);
                let [a, b, c, d] = values.map(u64::from);
                let words: Texel = std::array::from_fn(|n| {
                    (texel::STORE.eval)(&[(packed | (n as u32) << 25).into(), a | b << 32, c | d << 32])
                        as u32
                });
                assert_eq!(words_of(&stored), words, "store {data} {number} {values:x?}");
            }
        }
        assert!(count > 150, "{count}");
    }
}

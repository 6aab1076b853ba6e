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
fn border_components(image: &Image, color: [u32; 4]) -> [u32; 4] {
    let order = match image.border_swizzle {
        1 => [0, 3, 1, 2],
        2 => [3, 2, 1, 0],
        3 => [3, 0, 1, 2],
        4 => [2, 1, 0, 3],
        5 => [1, 0, 3, 2],
        _ => [0, 1, 2, 3],
    };
    order.map(|component: usize| color[component])
}

/// The colour of a border whose components are 0 or 1.
fn fixed_border(image: &Image, view: &View, components: [u8; 4]) -> [u32; 4] {
    let one = if view.format.is_integer() { 1 } else { 1f32.to_bits() };
    border_components(image, components.map(|component| if component == 0 { 0 } else { one }))
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
            at: address.on_axes(self.image.kind),
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
        let points = match kind.is_cube() {
            true => faces::on_first([&base, &x, &y].map(|at| (at.face(), at.on_axes(kind)))),
            false => [&base, &x, &y].map(|at| at.on_axes(kind)),
        };
        let [base, x, y] = points;
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
        Ok(border_components(self.image, color))
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
mod tests;

//! Random requests, and what the general engine makes of them. Tests of compiled code use them too.

use warpjit_texture::format::{self, Number};
use warpjit_texture::layout::gcn::{Surface, TileTables};
use warpjit_texture::layout::{gfx9, nvidia};
use warpjit_texture::sample::{
    Compare, Coordinates, CubeCoordinates, Detail, Filter, Lod, Mip, Prepared, Reduction, Rounding, Sampler,
    Ties, Wrap,
};
use warpjit_texture::{Format, Kind, Layout, Memory, Source, Texel, View};

use super::api::{Action, Generated, Input, Level, Request, Results};

/// xorshift64*
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 33) % limit
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// A float of no great size.
    fn float(&mut self, most: f32) -> f32 {
        (self.below(1 << 24) as f32 / (1 << 23) as f32 - 1.0) * most
    }
}

/// Words of a lane's mailbox.
pub const WORDS: usize = 24;
const LAYER: u8 = 3;
const REFERENCE: u8 = 4;
const LOD: u8 = 5;
const BIAS: u8 = 6;
const CLAMP: u8 = 7;
const OFFSETS: u8 = 8;
const CHANGES: u8 = 10;
pub const RESULTS: u8 = 17;

/// Bytes of an image.
pub struct Image {
    pub address: u64,
    pub bytes: Vec<u8>,
}

impl Memory for Image {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), u64> {
        let at = address.wrapping_sub(self.address) as usize;
        let from = at.checked_add(bytes.len()).and_then(|end| self.bytes.get(at..end)).ok_or(address)?;
        bytes.copy_from_slice(from);
        Ok(())
    }

    fn write(&mut self, address: u64, _: &[u8]) -> Result<(), u64> {
        Err(address)
    }

    fn update(&mut self, address: u64, _: u8, _: &dyn Fn(u64) -> u64) -> Result<u64, u64> {
        Err(address)
    }
}

/// A request with its texture.
pub struct Case {
    pub view: View,
    pub sampler: Sampler,
    pub request: Request,
    pub generated: Generated,
    pub image: Image,
    /// The mailbox of each lane.
    pub mailboxes: Vec<[u32; WORDS]>,
}

fn formats() -> Vec<Format> {
    use Number::{Float, Sint, Snorm, SnormNoZero, Srgb, Sscaled, Uint, Unorm, Uscaled};
    let even = |bits: u8, count: u8, number: Number| {
        let fields: Vec<_> = (0..count).map(|n| (n * bits, bits, number)).collect();
        Format::fields(bits / 8 * count, &fields)
    };
    let mut formats = Vec::new();
    for number in [Unorm, Snorm, SnormNoZero, Uscaled, Sscaled, Uint, Sint, Srgb] {
        formats.extend([1, 2, 4].map(|count| even(8, count, number)));
        if number != Srgb {
            formats.extend([1, 2, 4].map(|count| even(16, count, number)));
        }
    }
    for number in [Float, Uint, Sint] {
        formats.extend([1, 2, 3, 4].map(|count| even(32, count, number)));
    }
    formats.extend([1, 2, 4].map(|count| even(16, count, Float)));
    let bgra = [(16, 8, Unorm), (8, 8, Unorm), (0, 8, Unorm), (24, 8, Unorm)];
    formats.push(Format::fields(4, &bgra));
    formats.push(Format::fields(4, &[(0, 10, Unorm), (10, 10, Unorm), (20, 10, Unorm), (30, 2, Unorm)]));
    formats.push(Format::fields(4, &[(0, 10, Snorm), (10, 10, Snorm), (20, 10, Snorm), (30, 2, Snorm)]));
    formats.push(Format::fields(2, &[(0, 5, Unorm), (5, 6, Unorm), (11, 5, Unorm)]));
    formats.push(Format::fields(2, &[(0, 5, Unorm), (5, 5, Unorm), (10, 5, Unorm), (15, 1, Unorm)]));
    formats.push(Format::fields(2, &[(12, 4, Unorm), (8, 4, Unorm), (4, 4, Unorm), (0, 4, Unorm)]));
    formats.push(Format::fields(4, &[(0, 11, Float), (11, 11, Float), (22, 10, Float)]));
    formats.push(Format::fields(4, &[(0, 24, Unorm), (24, 8, Uint)]));
    formats.push(Format::fields(8, &[(0, 32, Float), (32, 8, Uint)]));
    // Components of different types: the bits of integers are filtered as floats.
    formats.push(Format::fields(4, &[(0, 8, Snorm), (8, 8, Snorm), (16, 8, Sint), (24, 8, Unorm)]));
    formats.push(Format::fields(16, &[(0, 32, Float), (32, 32, Uint), (64, 32, Sint), (96, 32, Float)]));
    formats.push(Format { bytes: 4, packing: format::Packing::SharedExponent });
    for kind in 1..=5 {
        let bytes = if matches!(kind, 1 | 4) { 8 } else { 16 };
        for (signed, srgb) in [(false, false), (kind > 3, kind < 4)] {
            formats.push(Format { bytes, packing: format::Packing::Bc { kind, signed, srgb } });
        }
    }
    for (signed, srgb) in [(false, false), (true, true)] {
        formats.push(Format { bytes: 16, packing: format::Packing::Bc { kind: 7, signed: false, srgb } });
        formats.push(Format { bytes: 16, packing: format::Packing::Bc6 { signed } });
    }
    formats
}

const WRAPS: [Wrap; 8] = [
    Wrap::Wrap,
    Wrap::Mirror,
    Wrap::ClampToEdge,
    Wrap::Border,
    Wrap::ClampHalfBorder,
    Wrap::MirrorOnceEdge,
    Wrap::MirrorOnceBorder,
    Wrap::MirrorOnceHalfBorder,
];

fn layout(random: &mut Random, kind: Kind, size: [u32; 3], bytes: u8, levels: u32, layers: u32) -> Layout {
    let choice = if bytes == 12 || kind == Kind::Buffer { 0 } else { random.below(5) };
    match choice {
        1 | 2 => Layout::BlockLinear(nvidia::BlockLinear {
            gob_rows: 2 + random.below(2) as u8,
            block_height: random.below(5) as u8,
            block_depth: if kind == Kind::D3 { random.below(4) as u8 } else { 0 },
            levels,
            shrink: !random.one_in(8),
        }),
        3 => {
            let (chip, gfx6) = random.of(&[("tahiti", true), ("bonaire", false), ("fiji", false)]);
            let tables = TileTables::of_chip(chip).unwrap();
            let mode = tables.mode(random.below(32) as u32, bytes.into(), gfx6);
            let pitch = size[0].next_multiple_of(64).next_power_of_two();
            Layout::Gcn(Surface { mode, pitch, slices: layers, pow2_pad: levels > 1, sample: 0 })
        }
        4 => {
            let swizzle = random.of(&[0, 1, 2, 5, 6, 8, 9, 10, 16, 17, 21, 22, 24, 25, 26, 27]);
            let pitch = if levels > 1 { 2048 } else { size[0].next_multiple_of(256) };
            Layout::Gfx9(gfx9::Surface {
                swizzle,
                pitch,
                levels,
                gb_addr_config: 0x2a11_4042,
                samples: 1,
                sample: 0,
            })
        }
        _ => {
            let pitch = (u64::from(size[0]) * u64::from(bytes)).next_multiple_of(32);
            Layout::Pitch { pitch, layer: pitch * u64::from(size[1]) }
        }
    }
}

impl Case {
    /// A random case; `None` if nothing is generated for it.
    pub fn random(random: &mut Random, lanes: u8) -> Option<Case> {
        let kinds = [
            Kind::D2,
            Kind::D2,
            Kind::D2,
            Kind::D2Array,
            Kind::D1,
            Kind::D1Array,
            Kind::D3,
            Kind::Cube,
            Kind::CubeArray,
            Kind::Buffer,
        ];
        let kind = random.of(&kinds);
        let n = random.of(&[1, 3, 8, 16, 29, 64]);
        let m = if random.one_in(2) { n } else { random.of(&[1, 5, 32, 40]) };
        let size: [u32; 3] = match kind {
            Kind::Cube | Kind::CubeArray => [n, n, 1],
            Kind::D1 | Kind::D1Array | Kind::Buffer => [n * 3, 1, 1],
            Kind::D3 => [n, m, random.of(&[1, 2, 7, 16])],
            _ => [n, m, 1],
        };
        let format = random.of(&formats());
        let most = size[0].max(size[1]).max(size[2]).ilog2() + 1;
        let levels = if kind == Kind::Buffer || random.one_in(3) { 1 } else { most };
        let all_layers = match kind {
            Kind::Cube => 6,
            Kind::CubeArray => 18,
            Kind::D1Array | Kind::D2Array => 5,
            _ => 1,
        };
        let layout = layout(random, kind, size, format.bytes, levels, all_layers);
        let levels = if matches!(layout, Layout::Pitch { .. }) { 1 } else { levels };
        let first_layer = if kind == Kind::D2Array { random.below(3) as u32 } else { 0 };
        let first_level = random.below(levels.into()) as u32 / 2;
        let any = |random: &mut Random| match random.below(8) {
            0 => Source::Zero,
            1 => Source::OneFloat,
            n => Source::Component(n as u8 & 3),
        };
        let plain = random.one_in(2);
        let sources: [Source; 4] =
            std::array::from_fn(|k| if plain { Source::Component(k as u8) } else { any(random) });
        let view = View {
            kind,
            size,
            first_level,
            last_level: levels - 1,
            first_layer,
            layers: all_layers - first_layer,
            min_lod: random.of(&[0, 0, 100, 300]),
            format,
            sources,
            normalized: !random.one_in(6),
            layout,
            address: 0x1234_0000 + 256 * random.below(16),
        };
        let filters = [Filter::Nearest, Filter::Linear, Filter::Linear];
        let wrap = random.of(&WRAPS);
        let one_wrap = random.one_in(2);
        let sampler = Sampler {
            wrap: std::array::from_fn(|_| if one_wrap { wrap } else { random.of(&WRAPS) }),
            mag: random.of(&filters),
            min: random.of(&filters),
            z: random.of(&[None, None, Some(Filter::Nearest), Some(Filter::Linear)]),
            mip: random.of(&[Mip::None, Mip::Nearest, Mip::Linear]),
            min_lod: random.of(&[0, 0, 77, 256]),
            max_lod: random.of(&[0xfff, 0xfff, 300]),
            bias: random.of(&[0, 0, -300, 128]),
            compare: if random.one_in(4) {
                Some(random.of(&[
                    Compare::Never,
                    Compare::Less,
                    Compare::Equal,
                    Compare::LessEqual,
                    Compare::Greater,
                    Compare::NotEqual,
                    Compare::GreaterEqual,
                    Compare::Always,
                ]))
            } else {
                None
            },
            border: std::array::from_fn(|_| random.of(&[0, 1f32.to_bits(), 0x7fc0_1234, 0.3f32.to_bits()])),
            border_sources: random.one_in(2),
            unnormalized: random.one_in(10),
            seamless: random.one_in(4),
            max_anisotropy: random.of(&[1, 1, 2, 3, 16]),
            reduction: Reduction::Blend,
            nearest: random.of(&[Rounding::Trunc, Rounding::Trunc, Rounding::Rounded]),
            mip_ties: random.of(&[Ties::Down, Ties::Up]),
            srgb: !random.one_in(8),
            integer_gathers_nearest: random.one_in(2),
        };
        let request = request(random, kind, lanes);
        let generated = Generated::of(&view, &sampler, request)?;
        let data = generated.data();
        let mut image = Image { address: data.address(), bytes: vec![0; data.bytes() as usize] };
        image.bytes.fill_with(|| random.next() as u8);
        if let format::Packing::Bc { kind: 7, .. } = view.format.packing {
            // Each mode is as frequent as no mode.
            for block in image.bytes.chunks_mut(16) {
                let mode = random.below(9) as u32;
                block[0] = (u32::from(block[0]) << (mode + 1) | 1 << mode) as u8;
            }
        }
        let fetch = request.action == Action::Fetch;
        let texels = !view.normalized || sampler.unnormalized;
        let mailboxes = (0..lanes).map(|_| mailbox(random, &view, fetch, texels)).collect();
        Some(Case { view, sampler, request, generated, image, mailboxes })
    }

    /// Panics where a lane's mailbox is not what was expected.
    #[track_caller]
    pub fn compare(&self, round: u64, lane: usize, found: [u32; WORDS], expected: [u32; WORDS]) {
        let differ: Vec<_> = (0..WORDS)
            .filter(|&n| found[n] != expected[n])
            .map(|n| (n, f32::from_bits(found[n]), f32::from_bits(expected[n])))
            .collect();
        assert!(
            differ.is_empty(),
            "round {round} lane {lane}: {differ:?}\n{:?}\n{:?}\n{:?}\n{:x?}",
            self.view,
            self.sampler,
            self.request,
            self.mailboxes[lane]
        );
    }

    /// The results of the general engine for a lane, as its mailbox has them then.
    pub fn expected(&mut self, lane: usize) -> [u32; WORDS] {
        let mut words = self.mailboxes[lane];
        let texel = self.engine(lane);
        let Results { first, mask, zero_behind } = self.request.results;
        let mask = if matches!(self.request.action, Action::Gather { .. }) { 15 } else { mask };
        let mut at = usize::from(first);
        for (k, value) in texel.into_iter().enumerate() {
            if mask >> k & 1 != 0 {
                words[at] = value;
                at += 1;
            }
        }
        if zero_behind {
            words[at] = 0;
        }
        words
    }

    fn engine(&mut self, lane: usize) -> Texel {
        let words = self.mailboxes[lane];
        let request = &self.request;
        let input = |input: &Input| value(&words, input);
        let float = |of: &Input| f32::from_bits(input(of));
        let lod = match &request.level {
            Level::Lowest => Lod::Lowest,
            Level::Given(level) => Lod::Level(float(level)),
            Level::Changes([dx, dy]) => {
                Lod::Gradients { dx: dx.each_ref().map(float), dy: dy.each_ref().map(float) }
            }
        };
        let clamp = (request.clamp != Input::None).then(|| float(&request.clamp));
        let detail = Detail { lod, bias: float(&request.bias), clamp };
        let offset = request.offset.each_ref().map(|of| input(of) as i32);
        let at = Coordinates {
            at: request.at.each_ref().map(float),
            layer: input(&request.layer),
            offset,
            reference: float(&request.reference),
            cube: request.cube,
        };
        let mut prepared = Prepared::new(&self.view, &self.sampler);
        let result = match &request.action {
            Action::Sample => prepared.sample(&at, &detail, &mut self.image),
            Action::Gather { component, offsets } => {
                let offsets = offsets.map(|all| all.map(|pair| pair.map(|of| input(&of) as i32)));
                let gather = warpjit_texture::sample::Gather { component: *component, offsets, detail };
                prepared.gather(&at, &gather, &mut self.image)
            }
            Action::Fetch => {
                let mut place = request.at.each_ref().map(input);
                place.iter_mut().zip(offset).for_each(|(axis, by)| *axis = axis.wrapping_add_signed(by));
                let level = match &request.level {
                    Level::Given(level) => input(level),
                    _ => 0,
                };
                prepared.fetch(place, at.layer, level, &mut self.image)
            }
        };
        result.unwrap_or_else(|error| panic!("{error:?}: {:?} {:?}", self.view, self.request))
    }
}

/// The value of an argument.
fn value(words: &[u32; WORDS], input: &Input) -> u32 {
    let sum = |word: u8, add: i8| {
        let x = f32::from_bits(words[usize::from(word)]);
        if add == 0 { x } else { x + f32::from(add) }
    };
    let whole = |word: u8| f32::from_bits(words[usize::from(word)]).round_ties_even() as u32;
    match *input {
        Input::None => 0,
        Input::Bits(bits) => bits,
        Input::Word(word) => words[usize::from(word)],
        Input::Field { word, low, bits, signed } => {
            let high = words[usize::from(word)] << (32 - low - bits);
            if signed { (high as i32 >> (32 - bits)) as u32 } else { high >> (32 - bits) }
        }
        Input::Sum(word, add) => sum(word, add).to_bits(),
        Input::Change { to, from, add } => (sum(to, add) - sum(from, add)).to_bits(),
        Input::Rounded(word) => whole(word),
        Input::Face(word) => 6 * (whole(word) >> 3) + (whole(word) & 7).min(5),
    }
}

fn request(random: &mut Random, kind: Kind, lanes: u8) -> Request {
    let fetch = kind == Kind::Buffer || random.one_in(6);
    let field = |low| Input::Field { word: OFFSETS, low, bits: 4, signed: true };
    let offset_of = |random: &mut Random, n: u8| match random.below(3) {
        0 => Input::None,
        1 => Input::Bits((random.below(16) as u32).wrapping_sub(8)),
        _ => field(4 * n),
    };
    let action = match random.below(5) {
        _ if fetch => Action::Fetch,
        0 => Action::Gather {
            component: random.below(4) as u8,
            offsets: random.one_in(3).then(|| {
                std::array::from_fn(|k| std::array::from_fn(|n| field((8 * (k & 1) + 4 * n) as u8)))
            }),
        },
        _ => Action::Sample,
    };
    let level = match random.below(4) {
        0 if fetch => Level::Lowest,
        _ if fetch => Level::Given(Input::Word(LOD)),
        0 => Level::Lowest,
        1 => Level::Given(Input::Word(LOD)),
        2 => Level::Changes([0, 3].map(|n| std::array::from_fn(|k| Input::Word(CHANGES + n + k as u8)))),
        _ => Level::Changes([0, 3].map(|n| {
            std::array::from_fn(|k| Input::Change { to: k as u8, from: CHANGES + n + k as u8, add: 0 })
        })),
    };
    let maybe =
        |random: &mut Random, word: u8| if random.one_in(2) { Input::Word(word) } else { Input::None };
    let layer = match random.below(2) {
        _ if !(kind.has_layers() || kind.is_cube()) => Input::None,
        _ if fetch => Input::Word(LAYER),
        0 => Input::Field { word: LAYER, low: 0, bits: 16, signed: false },
        _ if kind.is_cube() => Input::Face(REFERENCE),
        _ => Input::Rounded(REFERENCE),
    };
    let sum = random.one_in(4) && !fetch;
    let offsets = !kind.is_cube();
    Request {
        lanes,
        action,
        at: [0, 1, 2].map(|n| if sum { Input::Sum(n, -1) } else { Input::Word(n) }),
        layer,
        reference: Input::Word(REFERENCE),
        level,
        bias: if fetch { Input::None } else { maybe(random, BIAS) },
        clamp: if fetch { Input::None } else { maybe(random, CLAMP) },
        offset: [0, 1, 2].map(|n| if offsets { offset_of(random, n) } else { Input::None }),
        cube: CubeCoordinates::Face,
        results: Results {
            first: RESULTS,
            mask: random.of(&[15, 15, 7, 1, 10]),
            zero_behind: random.one_in(4),
        },
    }
}

fn mailbox(random: &mut Random, view: &View, fetch: bool, texels: bool) -> [u32; WORDS] {
    let odd = [0.0, -0.0, 1.0, -1e-30, 0.5, -0.5, 1e9, -1e9, f32::INFINITY, f32::NAN, 0.999_999_94, 2.0];
    let mut words: [u32; WORDS] = std::array::from_fn(|_| random.next() as u32);
    for (word, &n) in words.iter_mut().zip(&view.size) {
        let size = n as f32;
        let range = if random.one_in(2) { 1.0 } else { 3.0 };
        let coordinate = match random.below(8) {
            0 => random.of(&odd),
            // At edges and middles of texels.
            1 => random.below(4 * u64::from(n)) as f32 / (2.0 * size),
            2 => (random.below(512 * u64::from(n)) as f32 + 0.5) / (256.0 * size),
            _ => random.float(range),
        };
        let coordinate = if texels { coordinate * size } else { coordinate };
        *word = match fetch {
            true if random.one_in(8) => random.next() as u32,
            true => random.below(u64::from(n) + 2) as u32,
            false => coordinate.to_bits(),
        };
    }
    words[usize::from(LAYER)] = random.below(u64::from(view.layers) + 3) as u32;
    words[usize::from(REFERENCE)] = match random.below(4) {
        0 => random.of(&odd),
        1 => random.below(20) as f32,
        _ => random.float(1.5),
    }
    .to_bits();
    let lod = |random: &mut Random| if random.one_in(8) { random.of(&odd) } else { random.float(6.0) };
    words[usize::from(LOD)] = if fetch { random.below(8) as u32 } else { lod(random).to_bits() };
    words[usize::from(BIAS)] = lod(random).to_bits();
    words[usize::from(CLAMP)] = lod(random).to_bits();
    for n in 0..6 {
        let scale = random.of(&[0.001, 0.02, 0.3]);
        let change = if random.one_in(12) { random.of(&odd) } else { random.float(scale) };
        let at = usize::from(CHANGES) + n;
        words[at] = change.to_bits();
        if random.one_in(2) {
            words[at] = (f32::from_bits(words[n % 3]) + change).to_bits();
        }
    }
    words
}

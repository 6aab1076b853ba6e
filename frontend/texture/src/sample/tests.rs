//! Whole requests, on small textures.

use super::*;
use crate::format::{Field, Number, Packing};
use crate::layout::nvidia::BlockLinear;
use crate::{Kind, Layout};

/// Memory with one texture in it.
struct Bytes(Vec<u8>);

const BASE: u64 = 0x1000;

impl Bytes {
    fn floats(floats: impl IntoIterator<Item = f32>) -> Self {
        Bytes(floats.into_iter().flat_map(f32::to_le_bytes).collect())
    }

    fn range(&self, address: u64, len: usize) -> Result<std::ops::Range<usize>, u64> {
        let start = address.checked_sub(BASE).ok_or(address)?;
        let end = start.checked_add(len as u64).filter(|&end| end <= self.0.len() as u64).ok_or(address)?;
        Ok(start as usize..end as usize)
    }
}

impl Memory for Bytes {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), u64> {
        let range = self.range(address, bytes.len())?;
        bytes.copy_from_slice(&self.0[range]);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), u64> {
        let range = self.range(address, bytes.len())?;
        self.0[range].copy_from_slice(bytes);
        Ok(())
    }

    fn update(&mut self, address: u64, bytes: u8, update: &dyn Fn(u64) -> u64) -> Result<u64, u64> {
        let mut word = [0; 8];
        let range = self.range(address, bytes.into())?;
        word[..bytes.into()].copy_from_slice(&self.0[range.clone()]);
        let old = u64::from_le_bytes(word);
        self.0[range].copy_from_slice(&update(old).to_le_bytes()[..bytes.into()]);
        Ok(old)
    }
}

/// Memory that is everywhere, and zero.
struct Everywhere;

impl Memory for Everywhere {
    fn read(&mut self, _: u64, bytes: &mut [u8]) -> Result<(), u64> {
        bytes.fill(0);
        Ok(())
    }

    fn write(&mut self, _: u64, _: &[u8]) -> Result<(), u64> {
        Ok(())
    }

    fn update(&mut self, _: u64, _: u8, update: &dyn Fn(u64) -> u64) -> Result<u64, u64> {
        update(0);
        Ok(0)
    }
}

fn format(bytes: u8, fields: &[(u8, u8, Number)]) -> Format {
    let none = Field { bit: 0, bits: 0, number: fields[0].2 };
    let mut packed = [none; 4];
    for (packed, &(bit, bits, number)) in packed.iter_mut().zip(fields) {
        *packed = Field { bit, bits, number };
    }
    Format { bytes, packing: Packing::Fields(packed) }
}

fn float() -> Format {
    format(4, &[(0, 32, Number::Float)])
}

fn rgba8(number: Number) -> Format {
    format(4, &[(0, 8, number), (8, 8, number), (16, 8, number), (24, 8, number)])
}

const X: Source = Source::Component(0);

fn view(kind: Kind, format: Format, size: [u32; 3], layers: u32, levels: u32) -> View {
    let pitch = u64::from(size[0]) * u64::from(format.bytes);
    View {
        kind,
        size,
        first_level: 0,
        last_level: levels - 1,
        first_layer: 0,
        layers,
        min_lod: 0,
        format,
        sources: [X, Source::Component(1), Source::Component(2), Source::Component(3)],
        normalized: true,
        layout: Layout::Pitch { pitch, layer: pitch.wrapping_mul(size[1].into()) },
        address: BASE,
    }
}

fn bilinear() -> Sampler {
    Sampler { mag: Filter::Linear, min: Filter::Linear, ..Sampler::default() }
}

fn at(at: [f32; 3]) -> Coordinates {
    Coordinates { at, ..Coordinates::default() }
}

/// The first result of a sample as a float.
fn first(view: &View, sampler: &Sampler, at: [f32; 3], detail: &Detail, memory: &mut Bytes) -> f32 {
    f32::from_bits(sample(view, sampler, &self::at(at), detail, memory).expect("all texels are there")[0])
}

fn lowest(view: &View, sampler: &Sampler, at: [f32; 3], memory: &mut Bytes) -> f32 {
    first(view, sampler, at, &Detail::LOWEST, memory)
}

#[test]
fn nearest_and_linear() {
    let view = view(Kind::D2, float(), [4, 2, 1], 1, 1);
    let mut memory = Bytes::floats([0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0]);
    let nearest = Sampler::default();
    assert_eq!(lowest(&view, &nearest, [0.6, 0.7, 0.0], &mut memory), 12.0);
    assert_eq!(lowest(&view, &bilinear(), [2.25 / 4.0, 0.5, 0.0], &mut memory), 6.75);
    let offset = Coordinates { offset: [-2, -1, 7], ..at([0.6, 0.7, 0.0]) };
    assert_eq!(sample(&view, &nearest, &offset, &Detail::LOWEST, &mut memory).unwrap()[0], 0f32.to_bits());
    let texels = Sampler { unnormalized: true, ..nearest };
    assert_eq!(lowest(&view, &texels, [2.6, 1.7, 0.0], &mut memory), 12.0);
    for nothing in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(lowest(&view, &nearest, [nothing, 0.7, 0.0], &mut memory), 10.0);
        let wrap = Sampler { wrap: [Wrap::Wrap; 3], ..bilinear() };
        assert_eq!(lowest(&view, &wrap, [nothing, 0.25, 0.0], &mut memory), 1.5);
    }
}

#[test]
fn three_axes() {
    let view = view(Kind::D3, float(), [2, 2, 2], 1, 1);
    let mut memory = Bytes::floats((0..8).map(|k| k as f32));
    assert_eq!(lowest(&view, &bilinear(), [0.5, 0.5, 0.5], &mut memory), 3.5);
    let flat = Sampler { z: Some(Filter::Nearest), ..bilinear() };
    assert_eq!(lowest(&view, &flat, [0.5, 0.5, 0.5], &mut memory), 5.5);
    let max = Sampler { reduction: Reduction::Max, ..bilinear() };
    assert_eq!(lowest(&view, &max, [0.3, 0.3, 0.25], &mut memory), 3.0);
}

#[test]
fn borders() {
    let mut view = view(Kind::D1, float(), [2, 1, 1], 1, 1);
    view.sources = [X, Source::Zero, Source::OneFloat, X];
    let mut memory = Bytes::floats([4.0, 8.0]);
    let sampler = Sampler {
        wrap: [Wrap::Border; 3],
        border: [10f32, 20.0, 30.0, 40.0].map(f32::to_bits),
        ..bilinear()
    };
    let mut all = |sampler: &Sampler, u: f32| {
        sample(&view, sampler, &at([u, 0.0, 0.0]), &Detail::LOWEST, &mut memory).unwrap().map(f32::from_bits)
    };
    assert_eq!(all(&sampler, 0.0), [7.0, 10.0, 15.5, 22.0]);
    assert_eq!(all(&sampler, -1.0), [10.0, 20.0, 30.0, 40.0]);
    assert_eq!(all(&Sampler { wrap: [Wrap::ClampHalfBorder; 3], ..sampler }, -1.0), [7.0, 10.0, 15.5, 22.0]);
    assert_eq!(all(&Sampler { border_sources: true, ..sampler }, 0.0), [7.0, 0.0, 1.0, 7.0]);
    let compare = Sampler { compare: Some(Compare::Less), ..sampler };
    let reference = Coordinates { reference: 9.0, ..at([0.0; 3]) };
    let result = sample(&view, &compare, &reference, &Detail::LOWEST, &mut memory).unwrap();
    assert_eq!(result.map(f32::from_bits), [0.5, 0.0, 1.0, 0.5]);
}

/// A row of 256 texels that hold their numbers. Its levels begin at one address, so that texel k of any level is k.
fn ramp() -> (View, Bytes) {
    (view(Kind::D1, float(), [256, 1, 1], 1, 4), Bytes::floats((0..256).map(|k| k as f32)))
}

#[test]
fn levels_of_detail() {
    let (view, mut memory) = ramp();
    let mut at =
        |sampler: Sampler, detail: Detail| first(&view, &sampler, [0.3, 0.0, 0.0], &detail, &mut memory);
    let none = Sampler::default();
    let nearest = Sampler { mip: Mip::Nearest, ..none };
    let linear = Sampler { mip: Mip::Linear, ..none };
    // Texel 0.3 of 256, 128, 64 and 32.
    let [l0, l1, l2, l3] = [76.0, 38.0, 19.0, 9.0];
    assert_eq!(at(none, Detail::level(2.0)), l0);
    assert_eq!(
        [0.4, 0.6, 1.5, 2.0, 9.0, f32::INFINITY].map(|lod| at(nearest, Detail::level(lod))),
        [l0, l1, l1, l2, l3, l3]
    );
    assert_eq!(at(Sampler { mip_ties: Ties::Up, ..nearest }, Detail::level(1.5)), l2);
    assert_eq!(
        [-1.0, 0.5, 1.25, 3.5, f32::NAN].map(|lod| at(linear, Detail::level(lod))),
        [l0, (l0 + l1) / 2.0, l1 + (l2 - l1) / 4.0, l3, l0]
    );
    assert_eq!(at(Sampler { min_lod: 512, ..linear }, Detail::level(0.0)), l2);
    assert_eq!(at(Sampler { max_lod: 256, ..linear }, Detail::level(3.0)), l1);
    assert_eq!(at(Sampler { bias: -256, ..linear }, Detail { bias: -1.0, ..Detail::level(3.0) }), l1);
    assert_eq!(at(linear, Detail { clamp: Some(2.0), ..Detail::level(0.0) }), l2);
    assert_eq!(at(Sampler { bias: 512, min_lod: 512, ..linear }, Detail::LOWEST), l0);
    let gradients = |x: f32, y: f32| Detail::gradients([x / 256.0, 0.0, 0.0], [y / 256.0, 0.0, 0.0]);
    assert_eq!(at(linear, gradients(-4.0, 2.0)), l2);
    assert_eq!(at(linear, gradients(0.0, 0.0)), l0);
    assert_eq!(at(linear, gradients(f32::NAN, 8.0)), l0);
    assert_eq!(at(linear, gradients(f32::INFINITY, 8.0)), l3);
    assert_eq!(at(Sampler { unnormalized: true, ..linear }, gradients(-4.0, 2.0)), 0.0);
}

#[test]
fn levels_of_views() {
    let (mut view, mut memory) = ramp();
    let linear = Sampler { mip: Mip::Linear, ..Sampler::default() };
    (view.first_level, view.last_level) = (1, 2);
    let mut at = |view: &View, lod| first(view, &linear, [0.3, 0.0, 0.0], &Detail::level(lod), &mut memory);
    assert_eq!([0.0, 1.0, 2.0].map(|lod| at(&view, lod)), [38.0, 19.0, 19.0]);
    view.min_lod = 128;
    assert_eq!(at(&view, 0.0), 28.5);
    assert_eq!(query_size(&view, 1, CubeSize::Cubes), [64, 1, 1, 2]);
    assert_eq!(query_size(&view, 2, CubeSize::Cubes), [0, 0, 0, 2]);
    let query = |detail| query_lod(&view, &linear, &self::at([0.3, 0.0, 0.0]), &detail);
    assert_eq!(query(Detail::level(0.25)), LodQuery { raw: 64, used: 128 });
    assert_eq!(query(Detail::level(5.0)), LodQuery { raw: 1280, used: 256 });
    // Of the view's first level, 128 texels.
    let dx = [2.0 / 128.0, 0.0, 0.0];
    assert_eq!(query(Detail::gradients(dx, [0.0; 3])).raw_levels(), 1.0);
    assert_eq!(query(Detail::LOWEST).used, 128);
}

#[test]
fn magnification_and_minification() {
    let (view, mut memory) = ramp();
    let sampler = Sampler { min: Filter::Linear, ..Sampler::default() };
    let mut at = |lod| first(&view, &sampler, [10.0 / 256.0, 0.0, 0.0], &Detail::level(lod), &mut memory);
    assert_eq!([0.0, 0.001, 0.01].map(&mut at), [10.0, 10.0, 9.5]);
    // A view of one level has both filters.
    let mut one = view.clone();
    one.last_level = 0;
    assert_eq!(first(&one, &sampler, [10.0 / 256.0, 0.0, 0.0], &Detail::level(2.0), &mut memory), 9.5);
}

#[test]
fn layers() {
    let mut view = view(Kind::D2Array, float(), [1, 1, 1], 3, 1);
    let mut memory = Bytes::floats([0.0, 1.0, 2.0, 3.0]);
    view.first_layer = 1;
    let mut layer = |view: &View, layer| {
        let at = Coordinates { layer, ..at([0.5, 0.5, 0.0]) };
        f32::from_bits(sample(view, &Sampler::default(), &at, &Detail::LOWEST, &mut memory).unwrap()[0])
    };
    assert_eq!([0, 2, 3, u32::MAX].map(|number| layer(&view, number)), [1.0, 3.0, 3.0, 3.0]);
    view.kind = Kind::D2;
    assert_eq!(layer(&view, 2), 1.0);
    assert_eq!(query_size(&view, 0, CubeSize::Cubes), [1, 1, 1, 1]);
}

#[test]
fn cubes() {
    let view = view(Kind::CubeArray, float(), [1, 1, 1], 12, 1);
    let mut memory = Bytes::floats((0..12).map(|k| k as f32));
    let mut at = |at: [f32; 3], layer, cube| {
        let at = Coordinates { at, layer, cube, ..Coordinates::default() };
        f32::from_bits(sample(&view, &Sampler::default(), &at, &Detail::LOWEST, &mut memory).unwrap()[0])
    };
    use CubeCoordinates::{Direction, Face};
    for (face, direction) in [
        [2.0, 1.0, 1.0],
        [-2.0, 1.0, 1.0],
        [1.0, 2.0, 1.0],
        [1.0, -2.0, 1.0],
        [1.0, 1.0, 2.0],
        [1.0, 1.0, -2.0],
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(at(direction, 0, Direction), face as f32);
        assert_eq!(at(direction, 1, Direction), face as f32 + 6.0);
        assert_eq!(at(direction, 9, Direction), face as f32 + 6.0);
        assert_eq!(at([0.5, 0.5, 0.0], face as u32 + 6, Face), face as f32 + 6.0);
        assert_eq!(at([0.5, 0.5, 0.0], face as u32 + 18, Face), face as f32 + 6.0);
    }
    assert_eq!(query_size(&view, 0, CubeSize::Cubes), [1, 1, 2, 1]);
    assert_eq!(query_size(&view, 0, CubeSize::Faces), [1, 1, 12, 1]);
}

#[test]
fn cube_gradients() {
    let view = view(Kind::Cube, float(), [8, 8, 1], 6, 4);
    let lod = |cube, place, dx| {
        let at = Coordinates { cube, ..at(place) };
        query_lod(&view, &Sampler::default(), &at, &Detail::gradients(dx, [0.0; 3])).raw
    };
    // On +x, u changes by half of what -z / x does.
    assert_eq!(lod(CubeCoordinates::Direction, [2.0, 0.0, 0.0], [0.0, 0.0, 1.0]), 256);
    assert_eq!(lod(CubeCoordinates::Face, [0.5, 0.5, 0.0], [0.25, 0.0, 9.0]), 256);
}

#[test]
fn cube_seams() {
    // Faces of 2 x 2 texels: face * 4 + y * 2 + x.
    let view = view(Kind::Cube, float(), [2, 2, 1], 6, 1);
    let mut memory = Bytes::floats((0..24).map(|k| k as f32));
    let seamless = Sampler { seamless: true, ..bilinear() };
    // Right edge of +x, t down to the middle of the upper texels: beyond is -z, at its left.
    let mut at = |sampler: &Sampler, u: f32, v: f32| {
        let at = Coordinates { cube: CubeCoordinates::Face, ..at([u, v, 0.0]) };
        f32::from_bits(sample(&view, sampler, &at, &Detail::LOWEST, &mut memory).unwrap()[0])
    };
    assert_eq!(at(&seamless, 1.0, 0.25), (1.0 + 20.0) / 2.0);
    assert_eq!(at(&bilinear(), 1.0, 0.25), 1.0);
    let nearest = Sampler { seamless: true, ..Sampler::default() };
    assert_eq!(at(&nearest, 1.0, 0.25), 1.0);
    // The corner of +x (1), -z (20) and +y (its texel at x = 1, z = 0: 9).
    assert_eq!(at(&seamless, 1.0, 0.0), 10.0);
}

#[test]
fn gathers() {
    let mut view = view(Kind::D2, rgba8(Number::Uint), [4, 4, 1], 1, 1);
    view.sources[1] = Source::Component(2);
    view.sources[3] = Source::OneInt;
    let mut memory = Bytes((0..16u8).flat_map(|k| [k, 100, 50 + k, 3]).collect());
    let sampler = Sampler::default();
    // The footprint of (1, 1) to (2, 2).
    let at = at([0.5, 0.5, 0.0]);
    let mut gather = |component, offsets| {
        let request = Gather { component, offsets, detail: Detail::LOWEST };
        super::gather(&view, &sampler, &at, &request, &mut memory).unwrap()
    };
    assert_eq!(gather(0, None), [9, 10, 6, 5]);
    assert_eq!(gather(1, None), [59, 60, 56, 55]);
    assert_eq!(gather(3, None), [1; 4]);
    assert_eq!(gather(0, Some([[0, 0], [1, 0], [0, 2], [-5, 9]])), [5, 6, 13, 12]);
    let moved = Coordinates { offset: [1, -1, 0], ..at };
    let request = Gather { component: 0, offsets: None, detail: Detail::LOWEST };
    assert_eq!(super::gather(&view, &sampler, &moved, &request, &mut memory), Ok([6, 7, 3, 2]));
    // From the nearest texel on, (2, 2).
    let sampler = Sampler { integer_gathers_nearest: true, ..sampler };
    assert_eq!(super::gather(&view, &sampler, &at, &request, &mut memory), Ok([14, 15, 11, 10]));
}

#[test]
fn comparisons() {
    // Stencil below depth, as in S8 Z24; the depth is what the first source names.
    let s8z24 = format(4, &[(0, 8, Number::Uint), (8, 24, Number::Unorm)]);
    let mut view = view(Kind::D2, s8z24, [2, 2, 1], 1, 1);
    view.sources = [Source::Component(1), Source::Component(1), Source::Zero, Source::OneFloat];
    let depths = [0u32, 0x7f_ffff, 0xc0_0000, 0xff_ffff];
    let mut memory = Bytes(depths.iter().flat_map(|depth| (depth << 8 | 0x55).to_le_bytes()).collect());
    let mut result = |function, reference| {
        let sampler = Sampler { compare: Some(function), ..bilinear() };
        let at = Coordinates { reference, ..at([0.5, 0.5, 0.0]) };
        let sampled = sample(&view, &sampler, &at, &Detail::LOWEST, &mut memory).unwrap().map(f32::from_bits);
        assert_eq!(sampled[1..], [sampled[0], 0.0, 1.0]);
        let request = Gather { component: 0, offsets: None, detail: Detail::LOWEST };
        let gathered =
            super::gather(&view, &sampler, &at, &request, &mut memory).unwrap().map(f32::from_bits);
        assert_eq!(gathered.iter().sum::<f32>() / 4.0, sampled[0]);
        (sampled[0], gathered)
    };
    assert_eq!(result(Compare::Less, 0.6), (0.5, [1.0, 1.0, 0.0, 0.0]));
    assert_eq!(result(Compare::GreaterEqual, 0.6), (0.5, [0.0, 0.0, 1.0, 1.0]));
    assert_eq!(result(Compare::Greater, 0.2).0, 0.25);
    // References are clamped to what the format has.
    assert_eq!(result(Compare::LessEqual, 7.0).0, 0.25);
    assert_eq!(result(Compare::Equal, f32::INFINITY).0, 0.25);
    assert_eq!(result(Compare::Equal, -1.0).0, 0.25);
    assert_eq!(result(Compare::Equal, f32::NAN).0, 0.25);
    assert_eq!(result(Compare::NotEqual, 0.0).0, 0.75);
    assert_eq!(result(Compare::Always, 0.0).0, 1.0);
    assert_eq!(result(Compare::Never, 0.0).0, 0.0);
    // Depths are filtered, stencils are not.
    let mut middle = |view: &View| {
        sample(view, &bilinear(), &at([0.5, 0.5, 0.0]), &Detail::LOWEST, &mut memory).unwrap()[0]
    };
    assert!((f32::from_bits(middle(&view)) - 0.5625).abs() < 1e-6);
    view.sources = [X, Source::Zero, Source::Zero, Source::OneInt];
    assert_eq!(middle(&view), 0x55);
}

#[test]
fn integers_are_not_filtered() {
    let view = view(Kind::D2, rgba8(Number::Uint), [2, 1, 1], 1, 1);
    let mut memory = Bytes(vec![1, 2, 3, 4, 5, 6, 7, 8]);
    let at = at([0.6, 0.5, 0.0]);
    assert_eq!(sample(&view, &bilinear(), &at, &Detail::LOWEST, &mut memory), Ok([5, 6, 7, 8]));
}

#[test]
fn srgb_can_be_off() {
    let view = view(Kind::D2, rgba8(Number::Srgb), [1, 1, 1], 1, 1);
    let mut memory = Bytes(vec![51; 4]);
    let sampler = Sampler { srgb: false, ..Sampler::default() };
    let texel = sample(&view, &sampler, &at([0.0; 3]), &Detail::LOWEST, &mut memory);
    assert_eq!(texel, Ok([0.2f32.to_bits(); 4]));
    assert_eq!(Prepared::new(&view, &sampler).fetch([0; 3], 0, 0, &mut memory), texel);
}

#[test]
fn fetches() {
    let mut view = view(Kind::D2Array, float(), [4, 2, 1], 2, 2);
    view.sources = [X, Source::OneFloat, Source::OneFloat, Source::OneFloat];
    let mut memory = Bytes::floats((0..16).map(|k| k as f32));
    let mut at = |view: &View, at, layer, level| {
        let texel = fetch(view, at, layer, level, &mut memory).unwrap();
        let prepared = Prepared::new(view, &Sampler::default()).fetch(at, layer, level, &mut memory);
        assert_eq!(prepared, Ok(texel));
        texel.map(f32::from_bits)
    };
    assert_eq!(at(&view, [3, 1, 9], 1, 0), [15.0, 1.0, 1.0, 1.0]);
    assert_eq!(at(&view, [1, 0, 0], 0, 1), [1.0, 1.0, 1.0, 1.0]);
    for (place, layer, level) in [
        ([4, 0, 0], 0, 0),
        ([0, 2, 0], 0, 0),
        ([-1i32 as u32, 0, 0], 0, 0),
        ([0, 0, 0], 2, 0),
        ([0, 0, 0], 0, 2),
        ([2, 0, 0], 0, 1),
        ([0, 0, 0], 0, -1i32 as u32),
    ] {
        assert_eq!(at(&view, place, layer, level), [0.0; 4]);
    }
    view.kind = Kind::Buffer;
    view.layers = 1;
    view.size[0] = 16;
    assert_eq!(at(&view, [15, 7, 7], 0, 5)[0], 15.0);
    assert_eq!(at(&view, [16, 0, 0], 0, 0), [0.0; 4]);
    assert_eq!(query_size(&view, 3, CubeSize::Cubes), [16, 1, 1, 1]);
}

#[test]
fn blocks_of_texels() {
    let bc4 = Format { bytes: 8, packing: Packing::Bc { kind: 4, signed: false, srgb: false } };
    let mut view = view(Kind::D2, bc4, [8, 4, 1], 1, 1);
    view.layout = Layout::Pitch { pitch: 16, layer: 16 };
    // Two blocks side by side: all 1, all 0, but for the last texel.
    let mut memory = Bytes(vec![255, 0, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0x20]);
    assert_eq!(lowest(&view, &Sampler::default(), [3.5 / 8.0, 0.9, 0.0], &mut memory), 1.0);
    assert_eq!(lowest(&view, &bilinear(), [4.0 / 8.0, 0.9, 0.0], &mut memory), 0.5);
    let corner = fetch(&view, [7, 3, 0], 0, 0, &mut memory).unwrap().map(f32::from_bits);
    assert_eq!(corner, [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(address(&view, [7, 3, 0], 0, 0), Some(BASE + 8));
    assert_eq!(store(&view, [7, 3, 0], 0, 0, [0; 4], 15, &mut memory), Ok(()));
    assert_eq!(fetch(&view, [8, 3, 0], 0, 0, &mut memory), Ok([0; 4]));
}

/// Section 4's example of docs/hardware/textures-nv.md: levels are where the layout has them.
#[test]
fn block_linear_levels() {
    let mut view = view(Kind::D2, rgba8(Number::Uint), [40, 20, 1], 1, 5);
    view.layout = Layout::BlockLinear(BlockLinear {
        gob_rows: 3,
        block_height: 2,
        block_depth: 0,
        levels: 5,
        shrink: true,
    });
    assert_eq!(address(&view, [39, 19, 0], 0, 0), Some(BASE + 0x14dc));
    assert_eq!(address(&view, [0, 0, 0], 0, 3), Some(BASE + 0x2200));
    let mut memory = Bytes(vec![0; 0x2600]);
    memory.0[0x2200] = 7;
    let sampler = Sampler { mip: Mip::Linear, ..Sampler::default() };
    let sampled = sample(&view, &sampler, &at([0.0; 3]), &Detail::level(3.0), &mut memory);
    assert_eq!(sampled, Ok([7, 0, 0, 0]));
}

#[test]
fn stores_and_atomics() {
    let mut view = view(Kind::D2, rgba8(Number::Unorm), [2, 2, 1], 1, 1);
    let mut memory = Bytes(vec![9; 16]);
    let texel = [1.0, 0.2, 2.0, 0.4].map(f32::to_bits);
    assert_eq!(store(&view, [1, 1, 0], 0, 0, texel, 0b1111, &mut memory), Ok(()));
    assert_eq!(memory.0[12..], [255, 51, 255, 102]);
    assert_eq!(store(&view, [1, 0, 0], 0, 0, texel, 0b1001, &mut memory), Ok(()));
    assert_eq!(memory.0[4..8], [255, 0, 0, 102]);
    view.sources.swap(0, 2);
    assert_eq!(store(&view, [1, 1, 0], 0, 0, texel, 0b0011, &mut memory), Ok(()));
    assert_eq!(memory.0[12..], [0, 51, 255, 0]);
    assert_eq!(store(&view, [2, 0, 0], 0, 0, texel, 0b1111, &mut memory), Ok(()));
    assert_eq!(memory.0[..4], [9; 4]);

    let element = load_raw(&view, [1, 1, 0], 0, 0, &mut memory).unwrap();
    assert_eq!(element, [0, 51, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(load_raw(&view, [1, 2, 0], 0, 0, &mut memory), Ok([0; 16]));
    assert_eq!(store_raw(&view, [0, 1, 0], 0, 0, &[7; 16], &mut memory), Ok(()));
    assert_eq!(memory.0[8..], [7, 7, 7, 7, 0, 51, 255, 0]);
    assert_eq!(address(&view, [1, 1, 0], 0, 0), Some(BASE + 12));
    assert_eq!(address(&view, [1, 1, 0], 1, 0), None);

    let mut add = |at, bytes| atomic(&view, at, 0, 0, bytes, &|old| old + 1, &mut memory);
    assert_eq!(add([0, 1, 0], 4), Ok(0x0707_0707));
    assert_eq!(add([0, 1, 0], 4), Ok(0x0707_0708));
    assert_eq!(add([0, 2, 0], 4), Ok(0));
    assert_eq!(add([0, 1, 0], 8), Ok(0));
    assert_eq!(memory.0[8..12], [9, 7, 7, 7]);
}

#[test]
fn memory_that_is_not_there() {
    // The second of two rows, and the last texel of the first, are not there.
    let view = view(Kind::D2, float(), [4, 2, 1], 1, 1);
    let mut memory = Bytes::floats([1.0, 2.0, 3.0]);
    let missing = Err(Error::Unmapped(BASE + 12));
    // At the middle of texel (2, 0) the others have no weight.
    assert_eq!(lowest(&view, &bilinear(), [2.5 / 4.0, 0.25, 0.0], &mut memory), 3.0);
    let beside = at([2.75 / 4.0, 0.25, 0.0]);
    assert_eq!(sample(&view, &bilinear(), &beside, &Detail::LOWEST, &mut memory), missing);
    let request = Gather { component: 0, offsets: None, detail: Detail::LOWEST };
    assert!(gather(&view, &bilinear(), &at([2.5 / 4.0, 0.25, 0.0]), &request, &mut memory).is_err());
    assert_eq!(fetch(&view, [3, 0, 0], 0, 0, &mut memory), missing);
    let unwritable = Error::NotWritable(BASE + 12);
    assert_eq!(store(&view, [3, 0, 0], 0, 0, [0; 4], 15, &mut memory), Err(unwritable));
    assert_eq!(atomic(&view, [3, 0, 0], 0, 0, 4, &|old| old, &mut memory), Err(unwritable));
    assert_eq!(fetch(&view, [4, 0, 0], 0, 0, &mut memory), Ok([0; 4]));
}

/// Numbers that make no sense give some result.
#[test]
fn absurd_requests() {
    let kinds = [Kind::D1, Kind::D2, Kind::D3, Kind::Cube, Kind::D1Array, Kind::CubeArray, Kind::Buffer];
    let wraps = [Wrap::Wrap, Wrap::Mirror, Wrap::MirrorOnceHalfBorder, Wrap::ClampHalfBorder, Wrap::Border];
    let numbers = [0.0, -0.0, 1.0, -1e-45, f32::MAX, f32::MIN, f32::INFINITY, f32::NAN, -3.7e9];
    for kind in kinds {
        for size in [0, 1, 3, u32::MAX] {
            for extreme in [0, u32::MAX] {
                let mut view = view(kind, float(), [size; 3], 1, 1);
                (view.first_level, view.last_level) = (extreme / 2, extreme);
                (view.first_layer, view.layers, view.min_lod) = (extreme, extreme, extreme);
                view.address = u64::from(extreme) << 32;
                for (k, &u) in numbers.iter().enumerate() {
                    for &v in &numbers {
                        let sampler = Sampler {
                            wrap: [wraps[k % wraps.len()]; 3],
                            mip: Mip::Linear,
                            seamless: k % 2 == 0,
                            min_lod: i32::MIN,
                            max_lod: i32::MAX,
                            bias: if v > 0.0 { i32::MAX } else { i32::MIN },
                            ..bilinear()
                        };
                        let offset = if v > 0.0 { i32::MIN } else { i32::MAX };
                        let at = Coordinates {
                            at: [u, v, u],
                            layer: extreme,
                            offset: [offset; 3],
                            reference: v,
                            cube: [CubeCoordinates::Direction, CubeCoordinates::Face][k % 2],
                        };
                        for detail in [Detail::level(v), Detail::gradients([u, v, v], [v, u, u])] {
                            let detail = Detail { bias: u, clamp: Some(v), ..detail };
                            assert!(sample(&view, &sampler, &at, &detail, &mut Everywhere).is_ok());
                            let request = Gather { component: 255, offsets: Some([[offset; 2]; 4]), detail };
                            assert!(gather(&view, &sampler, &at, &request, &mut Everywhere).is_ok());
                            query_lod(&view, &sampler, &at, &detail);
                        }
                    }
                }
                for number in [0, size.wrapping_sub(1), u32::MAX] {
                    assert!(fetch(&view, [number; 3], number, number, &mut Everywhere).is_ok());
                    let stored = store(&view, [number; 3], number, 0, [number; 4], 255, &mut Everywhere);
                    assert_eq!(stored, Ok(()));
                    query_size(&view, number, CubeSize::Faces);
                }
            }
        }
    }
}

/// Samples that go the quick way are those of the general way.
#[test]
fn the_quick_way_gives_the_same() {
    let mut random = 1u64;
    let mut next = move |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let bytes = Field { bit: 0, bits: 8, number: Number::Unorm };
    let fields = [0, 8, 16, 24].map(|bit| Field { bit, ..bytes });
    let mut memory = Bytes((0..0x4000).map(|_| next(256) as u8).collect());
    let mut quick = 0;
    for _ in 0..4000 {
        let wraps = [Wrap::Wrap, Wrap::Mirror, Wrap::ClampToEdge, Wrap::Border, Wrap::MirrorOnceHalfBorder];
        let filters = [Filter::Nearest, Filter::Linear];
        let sampler = Sampler {
            wrap: std::array::from_fn(|_| wraps[next(5) as usize]),
            mag: filters[next(2) as usize],
            min: filters[next(2) as usize],
            mip: [Mip::None, Mip::Nearest, Mip::Linear][next(3) as usize],
            max_lod: 15 << 8,
            border: [1f32, 0.5, 0.25, 2.0].map(f32::to_bits),
            border_sources: next(2) == 0,
            ..Sampler::default()
        };
        let source = |n: u64| match n {
            0 => Source::Zero,
            1 => Source::OneFloat,
            n => Source::Component((n & 3) as u8),
        };
        let view = View {
            kind: [Kind::D2, Kind::D2Array][next(2) as usize],
            size: [1 + next(20) as u32, 1 + next(20) as u32, 1],
            first_level: 0,
            last_level: 3,
            first_layer: 0,
            layers: 2,
            min_lod: 0,
            format: Format { bytes: 4, packing: Packing::Fields(fields) },
            sources: std::array::from_fn(|_| source(next(6))),
            normalized: next(4) != 0,
            layout: Layout::BlockLinear(BlockLinear {
                gob_rows: 2,
                block_height: 1,
                block_depth: 0,
                levels: 4,
                shrink: true,
            }),
            address: BASE,
        };
        let mut float = |span: f32| (next(1 << 16) as f32 / 32768.0 - 1.0) * span;
        let span = if view.normalized { 1.5 } else { 20.0 };
        let at = Coordinates {
            at: [float(span), float(span), 0.0],
            layer: next(3) as u32,
            offset: [next(5) as i32 - 2, next(5) as i32 - 2, 0],
            ..Coordinates::default()
        };
        let detail = Detail::level(next(1024) as f32 / 256.0 - 0.5);
        let mut prepared = Prepared::new(&view, &sampler);
        assert!(prepared.quick);
        let found = prepared.sample(&at, &detail, &mut memory);
        let selection = prepared.select(&at, &detail);
        quick += usize::from(matches!(prepared.sample_quickly(&at, &selection, &mut memory), Ok(Some(_))));
        prepared.quick = false;
        assert_eq!(
            found,
            prepared.sample(&at, &detail, &mut memory),
            "{view:?} {sampler:?} {at:?} {detail:?}"
        );
    }
    assert!(quick > 1000, "{quick}");
}

/// Several probes: the mean of what samples without anisotropy give at places along the longer change, with a level of detail that fits
/// a part of it.
#[test]
fn probes_of_anisotropy() {
    let view = view(Kind::D2, float(), [64, 64, 1], 1, 4);
    let mut memory = Bytes::floats((0..4096).map(|n| ((n % 64 * 7 + n / 64 * 3) % 31) as f32));
    let isotropic = Sampler { mip: Mip::Linear, wrap: [Wrap::Wrap; 3], ..bilinear() };
    let size = view.size.map(|n| n as f32);
    for most in [2u8, 3, 4, 16] {
        let sampler = Sampler { max_anisotropy: most, ..isotropic };
        // Texels of the first level that change along x and y.
        for (dx, dy) in [
            ([8.0f32, 0.0], [0.0, 2.0]),
            ([0.0, 1.0], [3.0, 4.0]),
            ([1.0, 0.0], [0.0, 1.0]),
            ([0.25, 0.0], [0.0, 0.125]),
        ] {
            let change = |d: [f32; 2]| [d[0] / size[0], d[1] / size[1], 0.0];
            let length = |d: [f32; 2]| d[0].hypot(d[1]);
            let (long, short) = if length(dy) > length(dx) { (dy, dx) } else { (dx, dy) };
            let parts = (length(long) / length(short).max(1.0)).ceil().clamp(1.0, most.into());
            let lod = (length(long) / parts).log2();
            let middle = [0.4f32, 0.3];
            let mut mean = 0.0;
            for k in 0..parts as u32 {
                let place = (k as f32 + 0.5) / parts - 0.5;
                let long = change(long);
                let at = [middle[0] + long[0] * place, middle[1] + long[1] * place, 0.0];
                mean += first(&view, &isotropic, at, &Detail::level(lod), &mut memory) / parts;
            }
            let detail = Detail::gradients(change(dx), change(dy));
            let found = first(&view, &sampler, [middle[0], middle[1], 0.0], &detail, &mut memory);
            assert!(
                (found - mean).abs() < 0.01 * mean.abs().max(1.0),
                "{most} {dx:?} {dy:?}: {found} {mean}"
            );
            if parts == 1.0 {
                assert_eq!(
                    found,
                    first(&view, &isotropic, [middle[0], middle[1], 0.0], &detail, &mut memory)
                );
            }
        }
    }
}

/// Four texels in a row, as numbers and as bits.
#[test]
fn gathers_of_rows() {
    let view = view(Kind::D2, format(1, &[(0, 8, Number::Uint)]), [8, 4, 1], 1, 1);
    let mut memory = Bytes((0..32).collect());
    let sampler = Sampler { wrap: [Wrap::Wrap; 3], ..bilinear() };
    let mut prepared = Prepared::new(&view, &sampler);
    // Between texels 5 and 6, and rows 1 and 2: the first is (5, 1).
    let at = at([6.0 / 8.0, 2.0 / 4.0, 0.0]);
    let request = Gather { component: 0, offsets: None, detail: Detail::LOWEST };
    assert_eq!(prepared.gather_row(&at, &request, &mut memory), Ok([13, 14, 15, 8]));
    let elements = prepared.gather_elements(&at, &Detail::LOWEST, 8, &mut memory).unwrap();
    assert_eq!(elements[..9], [13, 14, 15, 8, 9, 10, 11, 12, 0]);
    let elements = prepared.gather_elements(&at, &Detail::LOWEST, 4, &mut memory).unwrap();
    assert_eq!(elements[..5], [13, 14, 15, 8, 0]);
}

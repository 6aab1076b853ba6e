//! Tests of the texture unit: headers, the ways to name one, faults.

use warpjit_ir::device::{TextureEntry, TextureTables};
use warpjit_ir::{DeviceAccess, DeviceCall, DeviceFault};
use warpjit_texture::sample::{Filter, Mip, Wrap};
use warpjit_texture::{Kind, Layout};

use super::request::{Family, Level, Operation, Query, Request};
use super::{CHANGES, COORDINATES, FERMI, HANDLE, LAYER, LEVEL, ORIGIN, RESULTS, SAMPLE, TESLA, descriptor};
use crate::testing::DeviceMemory;

/// Examples of docs/hardware/textures-nv.md section 14.
const IMAGE: TextureEntry =
    [0x2c69_2488, 0x1000_0000, 0xc080_5000, 0x0030_0000, 0x8000_0028, 0x4001_0014, 0x0300_0000, 0x40];
const PITCH: TextureEntry = [0x380b_ffcf, 0x1000, 0x4005_d000, 0x40, 0xa, 0x0001_0006, 0, 0];
const BUFFER: TextureEntry = [0x2c6a_4901, 0x1000, 0x4005_9000, 0, 0x32, 0, 0, 0];
const LINEAR: TextureEntry = [0x0002_6090, 0xe2, 0x00f0_0000, 0, 0, 0, 0, 0];

/// Serves lane 2 with these words of the mailbox; the first result.
fn call(access: &mut DeviceMemory, request: Request, words: &[(u32, u32)]) -> Result<u32, DeviceFault> {
    for &(word, value) in words {
        access.set_local(2, 4 * word, value);
    }
    let device = if matches!(request.family, Family::G80 | Family::Tesla) { &TESLA } else { &FERMI };
    (device.run)(&mut DeviceCall { params: request.encode(), mailbox: 0, lanes: 4, access })?;
    Ok(access.local(2, 4 * RESULTS))
}

fn fault(access: &mut DeviceMemory, request: Request) -> (Option<u32>, &'static str, Option<u64>) {
    match call(access, request, &[(COORDINATES, 0), (COORDINATES + 1, 0)]) {
        Err(DeviceFault::Texture { lane: 2, slot, reason, address }) => (slot, reason, address),
        other => panic!("{other:?}"),
    }
}

/// A fetch of two coordinates and a level.
fn fetch(family: Family) -> Request {
    Request { level: Level::Given, texture: 3, sources: 3, ..Request::new(family, Operation::Fetch) }
}

#[test]
fn headers() {
    let view = descriptor::view(&IMAGE, Family::Tesla).unwrap();
    assert_eq!((view.kind, view.size, view.first_level, view.last_level), (Kind::D2, [40, 20, 1], 0, 4));
    assert!(view.normalized);
    let Layout::BlockLinear(layout) = &view.layout else { panic!("{:?}", view.layout) };
    assert_eq!((layout.gob_rows, layout.block_height, layout.block_depth, layout.levels), (2, 2, 0, 5));
    let mut narrowed = IMAGE;
    narrowed[7] = 0x0100_0021;
    let view = descriptor::view(&narrowed, Family::Gf100).unwrap();
    assert_eq!((view.first_level, view.last_level, view.min_lod), (1, 2, 0x100));
    // The word has no meaning there.
    let view = descriptor::view(&narrowed, Family::G80).unwrap();
    assert_eq!((view.first_level, view.last_level, view.min_lod), (0, 4, 0));
    let view = descriptor::view(&PITCH, Family::Gf100).unwrap();
    assert_eq!(
        (view.size, view.layout, view.normalized),
        ([10, 6, 1], Layout::Pitch { pitch: 64, layer: 0 }, false)
    );
    let view = descriptor::view(&BUFFER, Family::Gf100).unwrap();
    assert_eq!((view.kind, view.size, view.format.bytes), (Kind::Buffer, [50, 1, 1], 16));
    assert_eq!(descriptor::view(&[0x2c69_241c, 0, 0, 0, 0, 0, 0, 0], Family::Tesla), Err("unknown format"));
}

#[test]
fn samplers() {
    let sampler = descriptor::sampler(&LINEAR, &IMAGE, Family::Tesla);
    assert_eq!(sampler.wrap, [Wrap::Wrap, Wrap::ClampToEdge, Wrap::ClampToEdge]);
    assert_eq!((sampler.mag, sampler.min, sampler.mip), (Filter::Linear, Filter::Linear, Mip::Linear));
    assert_eq!((sampler.min_lod, sampler.max_lod, sampler.bias, sampler.compare), (0, 0xf00, 0, None));
    let mut biased = LINEAR;
    biased[1] |= 0x1f80 << 12;
    assert_eq!(descriptor::sampler(&biased, &IMAGE, Family::Tesla).bias, -128);
    let mut header = IMAGE;
    header[3] |= 1 << 29;
    header[6] = 0x40 << 5;
    assert_eq!(descriptor::sampler(&biased, &header, Family::Tesla).bias, 64);
}

/// A texture of three dimensions, looked at before, has left its third coordinate.
#[test]
fn words_of_axes_that_a_texture_lacks_say_nothing() {
    for family in [Family::Gf100, Family::Gk104] {
        let request = Request { level: Level::Changes, ..Request::new(family, Operation::QueryLevel) };
        let mut access = DeviceMemory::new(0);
        access.tables.textures = vec![(0, IMAGE)];
        access.tables.samplers = vec![(0, LINEAR)];
        // Two texels from pixel to pixel: the second level.
        let words =
            [(CHANGES[0], 0.05_f32), (CHANGES[1] + 1, 0.1)].map(|(word, value)| (word, value.to_bits()));
        let left = [COORDINATES + 2, CHANGES[0] + 2, CHANGES[1] + 2, ORIGIN + 2]
            .map(|word| (word, 0x4200_0000 + (word << 20)));
        let with_left = [&words[..], &left].concat();
        let (found, expected) = (call(&mut access, request, &with_left), Ok(0x100));
        assert_eq!(found, expected, "{family:?}");
    }
}

#[test]
fn ways_to_name_a_texture() {
    let mut access = DeviceMemory::new(0x800);
    // Texel (2, 1), and a table behind the texels with the header as its second entry.
    access.memory[64 + 8..64 + 12].copy_from_slice(&7u32.to_le_bytes());
    for (n, word) in PITCH.into_iter().enumerate() {
        access.memory[0x400 + 32 + 4 * n..][..4].copy_from_slice(&word.to_le_bytes());
    }
    let place = [(COORDINATES, 2), (COORDINATES + 1, 1), (COORDINATES + 2, 0), (LEVEL, 0)];
    access.tables.textures = vec![(3, PITCH)];
    assert_eq!(call(&mut access, fetch(Family::Tesla), &place), Ok(7));
    assert_eq!(call(&mut access, fetch(Family::Gf100), &place), Ok(7));
    let indirect = Request { indirect: true, texture: 0, ..fetch(Family::Gf100) };
    let named = [&place[..], &[(LAYER, 3 << 23 | 5 << 16)]].concat();
    assert_eq!(call(&mut access, indirect, &named), Ok(7));
    let named = [&place[..], &[(HANDLE, 0xfff0_0003)]].concat();
    assert_eq!(call(&mut access, fetch(Family::Gk104), &named), Ok(7));
    access.tables = TextureTables {
        header_table: Some((0x1400, 64)),
        texture_bindings: vec![(3, 1), (4, 2)],
        ..TextureTables::default()
    };
    assert_eq!(call(&mut access, fetch(Family::Tesla), &place), Ok(7));
    let named = [&place[..], &[(HANDLE, 1)]].concat();
    assert_eq!(call(&mut access, fetch(Family::Gk104), &named), Ok(7));
    // An entry beyond the table's end, an entry of zeros, a slot without one.
    let no_header = "no texture header";
    assert_eq!(
        fault(&mut access, Request { texture: 4, ..fetch(Family::Tesla) }),
        (Some(4), no_header, None)
    );
    access.tables.texture_bindings = vec![(3, 0)];
    assert_eq!(fault(&mut access, fetch(Family::Tesla)), (Some(3), no_header, None));
    assert_eq!(
        fault(&mut access, Request { texture: 9, ..fetch(Family::Tesla) }),
        (Some(9), no_header, None)
    );
}

#[test]
fn faults() {
    let mut access = DeviceMemory::new(0x40);
    let mut elsewhere = PITCH;
    elsewhere[1] = 0x9000;
    access.tables.textures = vec![(3, PITCH), (4, elsewhere)];
    let away = Request { texture: 4, ..fetch(Family::Tesla) };
    assert_eq!(fault(&mut access, away), (Some(4), "the texture is not in memory", Some(0x9000)));
    let below = [(COORDINATES, 0), (COORDINATES + 1, 2)];
    let found = call(&mut access, fetch(Family::Tesla), &below);
    let texel = DeviceFault::Texture {
        lane: 2,
        slot: Some(3),
        reason: "a texel is not in memory",
        address: Some(0x1080),
    };
    assert_eq!(found, Err(texel));
    let sample =
        Request { texture: 3, sampler: 6, sources: 2, ..Request::new(Family::Tesla, Operation::Sample) };
    assert_eq!(fault(&mut access, sample), (Some(6), "no sampler", None));
    // A query needs neither sampler nor memory.
    let size = Request { texture: 4, sources: 1, ..Request::new(Family::Tesla, Operation::QuerySize) };
    assert_eq!(call(&mut access, size, &[(COORDINATES, 0)]), Ok(10));
}

/// Samples of a pixel are texels of an image that is wider and higher: four are two by two, eight four by two.
#[test]
fn fetches_of_samples() {
    for (mode, log2, count) in [(1, [1, 0], 2), (2, [1, 1], 4), (3, [2, 1], 8)] {
        let mut access = DeviceMemory::new(0x1000);
        // 16 x 8 texels of 32 bits, in gobs of 16 x 8.
        for n in 0..128u32 {
            access.memory[4 * n as usize..][..4].copy_from_slice(&(0x1000 + n).to_le_bytes());
        }
        let (width, height) = (16 >> log2[0], 8 >> log2[1]);
        let header: TextureEntry = [
            0x300a_490f,
            0x1000,
            0x0000_5000 | 1 << 14,
            0x0030_0000,
            0x8000_0000 | width,
            1 << 16 | height,
            0x0300_0000,
            mode << 12,
        ];
        access.tables.textures = vec![(3, header)];
        let request = Request { samples: true, ..fetch(Family::Gf100) };
        for (x, y, sample) in [(0, 0, 0), (1, 2, count - 1), (width - 1, height - 1, 1)] {
            let place =
                [(COORDINATES, x), (COORDINATES + 1, y), (COORDINATES + 2, 0), (LEVEL, 0), (SAMPLE, sample)];
            // Pairs of samples beside each other, pairs of them below, then the next four.
            let column = (x << log2[0]) + [0, 1, 0, 1, 2, 3, 2, 3][sample as usize];
            let row = (y << log2[1]) + [0, 0, 1, 1, 0, 0, 1, 1][sample as usize];
            assert_eq!(
                call(&mut access, request, &place),
                Ok(0x1000 + 16 * row + column),
                "{mode} {x} {y} {sample}"
            );
        }
        // No such sample; no such pixel.
        let outside = |x, sample| [(COORDINATES, x), (COORDINATES + 1, 0), (LEVEL, 0), (SAMPLE, sample)];
        assert_eq!(call(&mut access, request, &outside(0, count)), Ok(0));
        assert_eq!(call(&mut access, request, &outside(width, 0)), Ok(0));
        let count_of = Request { texture: 3, ..Request::new(Family::Gf100, Operation::Query(Query::Type)) };
        call(&mut access, count_of, &[]).unwrap();
        assert_eq!(access.local(2, 4 * (RESULTS + 2)), count);
    }
}

/// What queries tell are the fields of the entries.
#[test]
fn queries() {
    let mut access = DeviceMemory::new(0x100);
    let mut entry = LINEAR;
    entry[0] |= 2 << 20;
    entry[2] = 0x0030_0080;
    entry[4..].copy_from_slice(&[1, 2, 3, 4]);
    access.tables.textures = vec![(3, IMAGE)];
    access.tables.samplers = vec![(5, entry)];
    let mut ask = |query| {
        let request =
            Request { texture: 3, sampler: 5, ..Request::new(Family::Gf100, Operation::Query(query)) };
        call(&mut access, request, &[(LEVEL, 0)]).unwrap();
        [0, 1, 2, 3].map(|n| access.local(2, 4 * (RESULTS + n)))
    };
    assert_eq!(ask(Query::Type), [1, 2, 1, 0]);
    assert_eq!(ask(Query::Filter), [2, 2, 3, 4]);
    assert_eq!(ask(Query::Wrap), [0, 2, 2, 0]);
    assert_eq!(ask(Query::Level), [0.5f32.to_bits(), 3f32.to_bits(), 0, 0]);
    assert_eq!(ask(Query::Border), [1, 2, 3, 4]);
    assert_eq!(ask(Query::SamplePosition), [0; 4]);
}

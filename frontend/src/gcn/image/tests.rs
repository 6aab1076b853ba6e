//! Tests of the texture unit of GCN as a device: what instructions get for descriptors, samplers and coordinates.

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
            let image =
                [0x10, 4 << 20 | 4 << 26, 7 | 7 << 14, 4 | 2 << 16 | 13 << 20 | 14 << 28, 7 << 13, 0, 0, 0];
            let mut words: Vec<(u32, u32)> = (0..).zip(image).collect();
            words.extend([(ADDRESS, x), (ADDRESS + 1, y), (ADDRESS + 2, sample)]);
            words
        };
        // Element number 3 of a micro tile is (1, 1).
        for (x, y, sample, wanted) in [(0, 0, 0, 1000), (1, 1, 0, 1003), (1, 1, 2, 1131), (7, 7, 3, 1255)] {
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
        assert!((found[0] - red).abs() < 1e-4 && found[1..] == [0.0, 1.0, 188.0 / 255.0], "{chip} {found:?}");
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
                let texel = u128::from(half(0)) | u128::from(half(1)) << 64;
                texel::load(data, number, n as u32 + 4, false, false, texel)
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
            let texel = texel::store(data, number, texel::IDENTITY, false, values);
            let words: Texel = std::array::from_fn(|n| (texel >> (32 * n)) as u32);
            assert_eq!(words_of(&stored), words, "store {data} {number} {values:x?}");
        }
    }
    assert!(count > 150, "{count}");
}

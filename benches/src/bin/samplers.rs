//! Nanoseconds a sample: the general engine of textures, and generated code, on one thread.
//!
//! `cargo run --release -p warpjit-benches --bin samplers [--host native|avx2|sse4.1] [--groups 1|2|4|8]`

use std::sync::Arc;
use std::time::Instant;

use warpjit_frontend::sampling::{Action, Generated, Input, Level, Request};
use warpjit_runtime::{BoundSampler, HostLevel, Sampler as Code};
use warpjit_texture::format::Number::{Float, Srgb, Unorm};
use warpjit_texture::layout::{gfx9, nvidia};
use warpjit_texture::sample::{Compare, Coordinates, Detail, Filter, Lod, Mip, Prepared, Sampler, Wrap};
use warpjit_texture::{Format, Kind, Layout, Memory, Source, View};

const LANES: usize = 32;
const WORDS: usize = 16;
/// Warps with coordinates of their own.
const WARPS: usize = 256;
const SIZE: u32 = 256;

struct Image<'a>(&'a [u8]);

impl Memory for Image<'_> {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), u64> {
        let at = address as usize;
        bytes.copy_from_slice(self.0.get(at..at + bytes.len()).ok_or(address)?);
        Ok(())
    }

    fn write(&mut self, address: u64, _: &[u8]) -> Result<(), u64> {
        Err(address)
    }

    fn update(&mut self, address: u64, _: u8, _: &dyn Fn(u64) -> u64) -> Result<u64, u64> {
        Err(address)
    }
}

/// Nanoseconds of each of `count` samples: the least of some tries.
fn time(count: usize, mut work: impl FnMut()) -> f64 {
    work();
    let mut least = f64::INFINITY;
    for _ in 0..15 {
        let start = Instant::now();
        work();
        least = least.min(start.elapsed().as_nanos() as f64 / count as f64);
    }
    least
}

fn even(bits: u8, count: u8, number: warpjit_texture::format::Number) -> Format {
    let fields: Vec<_> = (0..count).map(|n| (n * bits, bits, number)).collect();
    Format::fields(bits / 8 * count, &fields)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let after = |name: &str| arguments.iter().position(|a| a == name).and_then(|n| arguments.get(n + 1));
    let level = after("--host").map_or_else(HostLevel::default, |name| {
        HostLevel::of_name(name)
            .unwrap_or_else(|| panic!("--host is one of {:?}", HostLevel::ALL.map(HostLevel::name)))
    });
    let groups = after("--groups").and_then(|n| n.parse().ok());
    let pitch = |format: &Format| {
        let pitch = u64::from(SIZE) * u64::from(format.bytes);
        Layout::Pitch { pitch, layer: pitch * u64::from(SIZE) }
    };
    let gobs = |levels| {
        Layout::BlockLinear(nvidia::BlockLinear {
            gob_rows: 3,
            block_height: 3,
            block_depth: 0,
            levels,
            shrink: true,
        })
    };
    let swizzled = |levels| {
        let pitch = if levels > 1 { 384 } else { SIZE };
        Layout::Gfx9(gfx9::Surface {
            swizzle: 25,
            pitch,
            levels,
            gb_addr_config: 0x2a11_4042,
            samples: 1,
            sample: 0,
        })
    };
    let rgba8 = even(8, 4, Unorm);
    let srgb = Format::fields(4, &[(0, 8, Srgb), (8, 8, Srgb), (16, 8, Srgb), (24, 8, Unorm)]);
    let half = even(16, 4, Float);
    let depth = even(32, 1, Float);
    let (nearest, linear) = (Filter::Nearest, Filter::Linear);
    let fetch = Action::Fetch;
    let sample = Action::Sample;
    let cases = [
        ("nearest, RGBA8, rows", rgba8, pitch(&rgba8), 1, nearest, Mip::None, sample, false),
        ("nearest, RGBA8, gobs", rgba8, gobs(1), 1, nearest, Mip::None, sample, false),
        ("bilinear, RGBA8, rows", rgba8, pitch(&rgba8), 1, linear, Mip::None, sample, false),
        ("bilinear, RGBA8, gobs", rgba8, gobs(1), 1, linear, Mip::None, sample, false),
        ("bilinear, RGBA8, gfx9 25", rgba8, swizzled(1), 1, linear, Mip::None, sample, false),
        ("bilinear, sRGB8, gobs", srgb, gobs(1), 1, linear, Mip::None, sample, false),
        ("bilinear, RGBA16F, gobs", half, gobs(1), 1, linear, Mip::None, sample, false),
        ("bilinear, R32F compared", depth, gobs(1), 1, linear, Mip::None, sample, true),
        ("bilinear + mip, RGBA8, gobs", rgba8, gobs(9), 9, linear, Mip::Nearest, sample, false),
        ("trilinear, RGBA8, gobs", rgba8, gobs(9), 9, linear, Mip::Linear, sample, false),
        ("trilinear, RGBA8, gfx9 25", rgba8, swizzled(9), 9, linear, Mip::Linear, sample, false),
        ("fetch, RGBA8, rows", rgba8, pitch(&rgba8), 1, nearest, Mip::None, fetch, false),
        ("fetch, RGBA8, gobs", rgba8, gobs(1), 1, nearest, Mip::None, fetch, false),
    ];
    println!("{:30} {:>10} {:>10} {:>10} {:>12}", "", "general", "generated", "bytes", "compiled in");
    for (name, format, layout, levels, filter, mip, action, compare) in cases {
        let view = View {
            kind: Kind::D2,
            size: [SIZE, SIZE, 1],
            first_level: 0,
            last_level: levels - 1,
            first_layer: 0,
            layers: 1,
            min_lod: 0,
            format,
            sources: [0, 1, 2, 3].map(Source::Component),
            normalized: true,
            layout,
            address: 0,
        };
        let sampler = Sampler {
            wrap: [Wrap::Wrap; 3],
            mag: filter,
            min: filter,
            mip,
            compare: compare.then_some(Compare::LessEqual),
            ..Sampler::default()
        };
        let input = |n| Input::Word(n);
        let mut request = Request::new(LANES as u8, action);
        request.at = [input(0), input(1), Input::None];
        request.reference = input(2);
        request.results.first = 10;
        request.results.mask = if compare { 1 } else { 15 };
        if mip != Mip::None {
            request.level =
                Level::Changes([[input(4), input(5), Input::None], [input(6), input(7), Input::None]]);
        }
        let generated = Generated::of(&view, &sampler, request).expect("code is made for it");
        let start = Instant::now();
        let code = Code::new(generated.key(), level, groups).expect("it compiles");
        let compiled = start.elapsed();
        let code_bytes = code.code_bytes();
        let mut seed = 1u32;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed
        };
        let bytes: Vec<u8> = (0..generated.data().bytes()).map(|_| (random() >> 24) as u8).collect();

        // Tiles of 8 x 4 pixels, somewhat larger than texels.
        let mut mailboxes = vec![vec![0u32; WORDS * LANES]; WARPS];
        for mailbox in &mut mailboxes {
            let [u, v] = [random(), random()].map(|x| (x >> 8) as f32 / (1 << 24) as f32);
            for lane in 0..LANES {
                let (x, y) = ((lane & 1) | (lane >> 1 & 6), (lane >> 1 & 1) | (lane >> 3 & 2));
                let step = 1.3 / SIZE as f32;
                let at = [u + x as f32 * step, v + y as f32 * step];
                for k in 0..2 {
                    mailbox[k * LANES + lane] = match action {
                        Action::Fetch => ((at[k] * SIZE as f32) as u32) % SIZE,
                        _ => at[k].to_bits(),
                    };
                }
                mailbox[2 * LANES + lane] = 0.5f32.to_bits();
                mailbox[4 * LANES + lane] = step.to_bits();
                mailbox[7 * LANES + lane] = step.to_bits();
            }
        }
        let count = WARPS * LANES;
        let mut prepared = Prepared::new(&view, &sampler);
        let mut memory = Image(&bytes);
        let mut sum = 0u32;
        let general = time(count, || {
            for mailbox in &mailboxes {
                for lane in 0..LANES {
                    let word = |n: usize| mailbox[n * LANES + lane];
                    let float = |n: usize| f32::from_bits(word(n));
                    let at = Coordinates {
                        at: [float(0), float(1), 0.0],
                        reference: float(2),
                        ..Coordinates::default()
                    };
                    let texel = match action {
                        Action::Fetch => prepared.fetch([word(0), word(1), 0], 0, 0, &mut memory),
                        _ => {
                            let lod = match mip {
                                Mip::None => Lod::Lowest,
                                _ => Lod::Gradients {
                                    dx: [float(4), float(5), 0.0],
                                    dy: [float(6), float(7), 0.0],
                                },
                            };
                            prepared.sample(&at, &Detail { lod, ..Detail::LOWEST }, &mut memory)
                        }
                    };
                    sum = sum.wrapping_add(texel.expect("in memory")[0]);
                }
            }
        });
        let mut bound = BoundSampler::new(Arc::new(code), &generated, &bytes).expect("they fit");
        let fast = time(count, || {
            for mailbox in &mut mailboxes {
                bound.run(mailbox, u64::MAX >> (64 - LANES));
            }
        });
        println!("{name:30} {general:>10.1} {fast:>10.1} {code_bytes:>10} {compiled:>12.1?} {}", sum & 1);
    }
}

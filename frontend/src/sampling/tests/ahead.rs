//! What code asks for ahead is what later pixels take.

use warpjit_ir::function::Imm;
use warpjit_ir::interp::{Code, Denied, Frame, Scratch, WarpMemory, run_mask_function};
use warpjit_ir::verify::verify;
use warpjit_ir::{Function, MemAccess, Opcode, Scalar, Space, Type};
use warpjit_texture::format::Number;
use warpjit_texture::layout::{gfx9, nvidia};
use warpjit_texture::sample::{Filter, Mip, Sampler, Wrap};
use warpjit_texture::{Format, Kind, Layout, Source, View};

use super::super::{Action, Generated, Input, Level, Request, generate};

const LANES: u32 = 64;
const WIDTH: u32 = 512;
const HEIGHT: u32 = 512;

/// The data of a sampler, and an image of zeros that notes where single bytes are read: hints, made loads of such.
struct Noted<'a> {
    data: &'a [u32],
    bytes: u64,
    hints: Vec<u64>,
}

impl WarpMemory for Noted<'_> {
    fn load(&mut self, space: Space, _: u32, address: u64, bytes: u8) -> Result<u64, Denied> {
        match space {
            Space::Const(0) => {
                let word = |n: usize| self.data.get(n).copied().map(u64::from).ok_or(Denied);
                let at = address as usize / 4;
                Ok(if bytes == 8 { word(at)? | word(at + 1)? << 32 } else { word(at)? })
            }
            Space::Global(0) if address + u64::from(bytes) <= self.bytes => {
                if bytes == 1 {
                    self.hints.push(address);
                }
                Ok(0)
            }
            _ => Err(Denied),
        }
    }

    fn store(&mut self, _: Space, _: u32, _: u64, _: u8, _: u64) -> Result<(), Denied> {
        Err(Denied)
    }
}

/// Makes hints loads of a byte; gives how many there are.
fn load_hints(func: &mut Function) -> usize {
    let mut count = 0;
    let bytes = MemAccess {
        space: Space::Global(0),
        bytes: 1,
        signed: false,
        offset: 0,
        far: false,
        align: 1,
        align_offset: 0,
    };
    for block in func.block_ids().collect::<Vec<_>>() {
        for n in 0..func.block(block).insts.len() {
            let inst = func.block(block).insts[n];
            if func.inst(inst).op == Opcode::Prefetch {
                let args = func.inst(inst).args.clone();
                let load =
                    func.make_inst(Opcode::Load, &args, Imm::Mem(bytes), Some(Type::varying(Scalar::I32)), 0);
                func.block_mut(block).insts[n] = load;
                count += 1;
            }
        }
    }
    count
}

fn request(level: Level) -> Request {
    let mut request = Request::new(LANES as u8, Action::Sample);
    request.at = [Input::Word(0), Input::Word(1), Input::None];
    request.level = level;
    request.results.first = 6;
    request
}

/// Words 2 to 5 are the changes.
const CHANGES: Level = Level::Changes([
    [Input::Word(2), Input::Word(3), Input::None],
    [Input::Word(4), Input::Word(5), Input::None],
]);

fn view(layout: Layout, levels: u32) -> View {
    View {
        kind: Kind::D2,
        size: [WIDTH, HEIGHT, 1],
        first_level: 0,
        last_level: levels - 1,
        first_layer: 0,
        layers: 1,
        min_lod: 0,
        format: Format::fields(4, &[0u8, 8, 16, 24].map(|bit| (bit, 8, Number::Unorm))),
        sources: [0u8, 1, 2, 3].map(Source::Component),
        normalized: true,
        layout,
        address: 0x1000_0000,
    }
}

/// Where a pixel of a warp of quads side by side has its sample, in textures; `turned`: along both axes.
fn place(x: f64, y: f64, turned: bool) -> [f64; 2] {
    let (x, y) = (x + 0.5, y + 0.5);
    let [u, v] = if turned { [x * 0.8 - y * 0.6, x * 0.5 + y * 0.9] } else { [x * 1.3, y * 1.3] };
    [(u + 20.0) / f64::from(WIDTH), (v + 9.0) / f64::from(HEIGHT)]
}

/// Pixel of a lane.
fn pixel(lane: u32) -> [f64; 2] {
    [f64::from(lane / 4 * 2 + lane % 2), f64::from(lane / 2 % 2)]
}

#[test]
fn texels_of_later_pixels_are_asked_for() {
    let block = |gob_rows| {
        Layout::BlockLinear(nvidia::BlockLinear {
            gob_rows,
            block_height: 2,
            block_depth: 0,
            levels: 4,
            shrink: true,
        })
    };
    let swizzled = Layout::Gfx9(gfx9::Surface {
        swizzle: 9,
        pitch: WIDTH,
        levels: 1,
        gb_addr_config: 0x2a11_4042,
        samples: 1,
        sample: 0,
    });
    let rows = Layout::Pitch { pitch: 2048, layer: 2048 * 512 };
    let layouts = [(rows, 1), (block(3), 1), (block(3), 4), (block(2), 4), (swizzled, 1)];
    for (layout, levels) in layouts {
        for (wrap, turned, fused) in [
            (Wrap::Wrap, false, true),
            (Wrap::Wrap, true, false),
            (Wrap::ClampToEdge, false, true),
            (Wrap::Border, true, true),
        ] {
            let view = view(layout.clone(), levels);
            let sampler = Sampler {
                wrap: [wrap; 3],
                mag: Filter::Linear,
                min: Filter::Linear,
                mip: if levels > 1 { Mip::Linear } else { Mip::None },
                max_lod: 0xfff,
                ..Sampler::default()
            };
            let generated = Generated::of(&view, &sampler, request(CHANGES)).unwrap();
            let mut func = generate(generated.key(), fused).unwrap();
            verify(&func).unwrap();
            assert_eq!(load_hints(&mut func), if levels > 1 { 2 } else { 1 });
            verify(&func).unwrap();
            let code = Code::new(&func).unwrap();
            let (offsets, _) = func.frame_layout();
            let mut frame = Frame::new(code.frame_bytes());
            let [origin, right, below] =
                [place(0.0, 0.0, turned), place(1.0, 0.0, turned), place(0.0, 1.0, turned)];
            for lane in 0..LANES {
                let [x, y] = pixel(lane);
                let [u, v] = place(x, y, turned);
                let changes =
                    [right[0] - origin[0], right[1] - origin[1], below[0] - origin[0], below[1] - origin[1]];
                let words = [u, v].into_iter().chain(changes);
                for (&at, word) in offsets.iter().zip(words) {
                    frame.write(at, Scalar::I32, lane, (word as f32).to_bits().into());
                }
            }
            let data = generated.data();
            let mut memory = Noted { data: data.words(), bytes: data.bytes().into(), hints: Vec::new() };
            let mut scratch = Scratch::new(&code);
            run_mask_function(&code, &mut scratch, &mut frame, u64::MAX, &mut memory).unwrap();

            // Of each level that is taken.
            let hints: Vec<_> = memory.hints.chunks(LANES as usize).collect();
            assert_eq!(hints.len(), if levels > 1 { 2 } else { 1 });
            for (level, hints) in (0..).zip(&hints) {
                let [width, height, _] = view.level_size(level);
                for (lane, &hint) in (0..).zip(*hints) {
                    // 24 pixels later, and half a row.
                    let [x, y] = pixel(lane);
                    let [u, v] = place(x + 24.0, y + 0.5, turned);
                    let texel = |at: f64, size: u32| -> Vec<u32> {
                        // The second texel of a linear filter; where the place is at an edge of two, either.
                        let at = at * f64::from(size);
                        let all = [at - 0.01, at + 0.01].map(|at| at.round() as i64);
                        let wrapped = |n: i64| match wrap {
                            Wrap::Wrap => n.rem_euclid(i64::from(size)),
                            _ => n.clamp(0, i64::from(size) - 1),
                        };
                        all.map(|n| wrapped(n) as u32).to_vec()
                    };
                    let line = |address: u64| (address - view.address) / 64;
                    let lines: Vec<u64> = texel(u, width)
                        .into_iter()
                        .flat_map(|x| texel(v, height).into_iter().map(move |y| (x, y)))
                        .map(|(x, y)| line(view.element_address(level, x, y, 0, 0)))
                        .collect();
                    assert!(
                        lines.contains(&(hint / 64)),
                        "{layout:?} {wrap:?} {turned} level {level} lane {lane}: {hint:#x}, not in {lines:x?}"
                    );
                }
            }
        }
    }
}

#[test]
fn nothing_is_asked_for_where_changes_are_unknown() {
    let view = view(Layout::Pitch { pitch: 2048, layer: 2048 * 512 }, 1);
    for level in [Level::Lowest, Level::Given(Input::Word(2))] {
        let generated = Generated::of(&view, &Sampler::default(), request(level)).unwrap();
        let mut func = generate(generated.key(), true).unwrap();
        assert_eq!(load_hints(&mut func), 0);
    }
    // The filter does not depend on the level of detail, but what comes next does on the changes.
    let generated = Generated::of(&view, &Sampler::default(), request(CHANGES)).unwrap();
    let mut func = generate(generated.key(), true).unwrap();
    assert_eq!(load_hints(&mut func), 1);
    // A small image stays in the caches.
    let small = View { size: [WIDTH, HEIGHT / 4, 1], ..view };
    let generated = Generated::of(&small, &Sampler::default(), request(CHANGES)).unwrap();
    let mut func = generate(generated.key(), true).unwrap();
    assert_eq!(load_hints(&mut func), 0);
}

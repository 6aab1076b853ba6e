//! Tests batches of graphics stages: which lane gets which rows, and which rows get what lanes leave. Programs are made by hand and run
//! on every tier.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use support::{abi, image, settings, told};
use warpjit_ir::KernelAbi;
use warpjit_runtime::stage::*;
use warpjit_runtime::{
    Config, Device, Engine, Error, FaultKind, ImageError, KernelImage, Launch, Program, QueueOptions, Report,
    Submission, Tier,
};

/// What reads and writes words of local memory: loads give `w` and their number, from v10 on.
struct Body {
    text: String,
    next: u32,
}

impl Body {
    fn new() -> Body {
        let text = "block0 at 0x0 insts 4:\n    v0: ui32 = const 0\n    v1: i32 = splat v0\n".into();
        Body { text, next: 10 }
    }

    /// A value of a lane, from an expression without its name.
    fn value(&mut self, expression: &str) -> u32 {
        self.text += &format!("    v{}: i32 = {expression}\n", self.next);
        self.next += 1;
        self.next - 1
    }

    fn load(&mut self, address: u32) -> u32 {
        self.value(&format!("load.u32 local[v1 + {address:#x}] align 4"))
    }

    fn store(&mut self, address: u32, value: u32) -> &mut Body {
        self.text += &format!("    store.u32 local[v1 + {address:#x}], v{value} align 4\n");
        self
    }

    /// Loads a word and stores it at another place.
    fn copy(&mut self, from: u32, to: u32) -> &mut Body {
        let value = self.load(from);
        self.store(to, value)
    }

    fn add(&mut self, a: u32, b: u32) -> u32 {
        self.value(&format!("iadd v{a}, v{b}"))
    }

    fn end(&self) -> String {
        format!("{}    jump block1\nblock1 at 0x20 insts 1:\n    leave.exit -> block1\n", self.text)
    }
}

fn input(place: u32, words: u32, per: Per) -> StageInput {
    StageInput { place: InputPlace::Address(place), words, per }
}

fn output(place: OutputPlace, words: u32) -> StageOutput {
    StageOutput { place, words }
}

/// Inputs of which word n is at `start + 4 * n`.
fn area(start: u32) -> Option<InputArea> {
    Some(InputArea { start, word_stride: 4, vertex_stride: 0 })
}

fn left(start: u32) -> OutputArea {
    OutputArea { shared: false, start, word_stride: 4, row_stride: 0, written: None }
}

fn stage(interface: StageInterface, layout: StageLayout, body: &str) -> Program {
    stage_of(KernelImage { stage: Some(layout), local_bytes: 0x200, ..image(body) }, interface)
}

fn stage_of(image: KernelImage, interface: StageInterface) -> Program {
    Program::from_stage_image(image, interface).expect("a program")
}

/// Runs a batch that `run` makes with every setting; what it returns must be the same.
fn on_all<T: PartialEq + std::fmt::Debug>(run: impl Fn(&Engine) -> T) -> T {
    let auto = Config::default().tier(Tier::Auto).hot_after(Some(0));
    let mut first = None;
    for config in settings().into_iter().chain([auto]) {
        let engine = Engine::new(config.clone()).expect("engine");
        for _ in 0..2 {
            let got = run(&engine);
            match &first {
                None => first = Some(got),
                Some(first) => assert_eq!(&got, first, "with {}", told(&config)),
            }
            engine.wait_for_compiler();
        }
    }
    first.expect("some settings")
}

fn run(engine: &Engine, program: &Program, batch: &mut Batch<'_>) -> Report {
    let memory = engine.memory().expect("memory");
    let report = engine.run_stage(program, &memory, &Launch::default(), batch).expect("launch");
    assert_eq!(report.stats.not_compiled, None);
    report
}

/// Vertices: two words each and one for all; out come a sum, a word, whether the lane is present, and what l[] held.
fn vertices() -> Program {
    let interface = StageInterface {
        stage: Stage::Vertex,
        inputs: vec![input(0x10, 2, Per::Vertex), input(0x80, 1, Per::Launch), input(0x90, 1, Per::Vertex)],
        outputs: vec![output(OutputPlace::Address(0x70), 2), output(OutputPlace::Address(0), 2)],
        ..StageInterface::default()
    };
    let layout = StageLayout {
        lane_words: vec![(LaneWord::Present, 0x40)],
        inputs: vec![area(0x50), area(0x60), None],
        outputs: vec![left(0x80), left(0xa0)],
        ..StageLayout::default()
    };
    let mut body = Body::new();
    let (a, all) = (body.load(0x50), body.load(0x60));
    let sum = body.add(a, all);
    body.store(0x80, sum).copy(0x54, 0x84).copy(0x40, 0xa0).copy(0x10, 0xa4);
    body.store(0x10, sum);
    stage(interface, layout, &body.end())
}

#[test]
fn vertices_come_from_structures_and_go_to_columns() {
    let program = vertices();
    let structures: Vec<u32> = (0..100 * 5).collect();
    let got = on_all(|engine| {
        let (mut out, mut rest) = (vec![7_u32; 100 * 6], vec![9_u32; 99]);
        {
            // SAFETY is the library's: columns of one array.
            let bytes: Vec<u8> = out.iter().flat_map(|word| word.to_le_bytes()).collect();
            let mut bytes = bytes;
            let outputs = RowsMut::columns(&mut bytes, 24, &[4, 16]).expect("columns");
            let unread = [0_u32; 99];
            let vertices = Rows::from(&structures[..]).every(20);
            let inputs = vec![vertices, Rows::from(&[1000_u32][..]), Rows::from(&unread[..])];
            let mut batch = Batch { inputs, outputs, ..Batch::new(Work::Vertices(99)) };
            let report = run(engine, &program, &mut batch);
            assert_eq!((report.fault, report.stats.blocks, report.stats.warps), (None, 4, 4));
            for (word, bytes) in out.iter_mut().zip(bytes.chunks_exact(4)) {
                *word = u32::from_le_bytes(bytes.try_into().expect("four"));
            }
        }
        rest[0] = 1;
        (out, rest)
    });
    let row = |n: u32| [7, 1000 + 5 * n, 5 * n + 1, 7, u32::MAX, 0];
    let want: Vec<u32> = (0..99).flat_map(row).chain([7; 6]).collect();
    assert_eq!(got.0, want);
}

/// A device: a load gives a function of the offset, stores are added up.
#[derive(Default)]
struct Registers(AtomicU64);

impl Device for Registers {
    fn load(&self, offset: u64, _: u8) -> u64 {
        1000 + offset
    }

    fn store(&self, offset: u64, _: u8, value: u64) {
        self.0.fetch_add(offset << 32 | value, Ordering::SeqCst);
    }
}

#[test]
fn stages_access_devices() {
    const AT: u32 = 0x10_0000;
    let interface = StageInterface {
        stage: Stage::Vertex,
        inputs: vec![input(0x10, 1, Per::Vertex)],
        outputs: vec![output(OutputPlace::Address(0x70), 2)],
        ..StageInterface::default()
    };
    let layout =
        StageLayout { inputs: vec![area(0x50)], outputs: vec![left(0x80)], ..StageLayout::default() };
    let mut body = Body::new();
    let at = body.load(0x50);
    let own = body.value(&format!("load.u32 global0[v{at}] align 4"));
    let same = body.value(&format!("load.u32 global0[v1 + {:#x}] align 4", AT + 8));
    body.store(0x80, own).store(0x84, same);
    body.text += &format!("    store.u32 global0[v{at}], v{own} align 4\n");
    let program = stage(interface, layout, &body.end());
    let got = on_all(|engine| {
        let memory = engine.memory().expect("memory");
        let registers = Arc::new(Registers::default());
        memory.map_device(Some(AT.into()), 4096, registers.clone()).expect("mapped");
        let places: Vec<u32> = (0..64).map(|n| AT + 4 * n).collect();
        let mut out = vec![0_u32; 128];
        let mut batch = Batch {
            inputs: vec![Rows::from(&places[..])],
            outputs: vec![RowsMut::from(&mut out[..])],
            ..Batch::new(Work::Vertices(64))
        };
        let report = engine.run_stage(&program, &memory, &Launch::default(), &mut batch).expect("launch");
        assert_eq!(report.fault, None);
        drop(batch);
        (out, registers.0.load(Ordering::SeqCst))
    });
    let want: Vec<u32> = (0..64).flat_map(|n| [1000 + 4 * n, 1008]).collect();
    let sum = (0..64).map(|n| (4 * n) << 32 | (1000 + 4 * n)).sum();
    assert_eq!(got, (want, sum));
}

#[test]
fn each_warp_has_the_inputs_that_the_one_before_has_overwritten() {
    for how in ["not at all", "at a constant address", "at one that is loaded"] {
        let interface = StageInterface {
            stage: Stage::Vertex,
            inputs: vec![input(0x10, 1, Per::Launch)],
            outputs: vec![output(OutputPlace::Address(0x70), 3)],
            ..StageInterface::default()
        };
        let layout =
            StageLayout { inputs: vec![area(0x60)], outputs: vec![left(0x80)], ..StageLayout::default() };
        let mut body = Body::new();
        let (given, nothing) = (body.load(0x60), body.load(0x64));
        let twice = body.add(given, given);
        // No input, so that it begins as 0.
        body.store(0x80, given).store(0x84, nothing).store(0x88, twice).store(0x64, twice);
        match how {
            "not at all" => {}
            "at a constant address" => {
                body.store(0x60, twice);
            }
            _ => body.text += &format!("    store.u32 local[v{nothing} + 0x60], v{twice} align 4\n"),
        }
        let program = stage(interface, layout, &body.end());
        let got = on_all(|engine| {
            let mut out = vec![7_u32; 99 * 3];
            let mut batch = Batch {
                inputs: vec![Rows::from(&[1000_u32][..])],
                outputs: vec![RowsMut::from(&mut out[..])],
                ..Batch::new(Work::Vertices(99))
            };
            assert_eq!(run(engine, &program, &mut batch).stats.blocks, 4);
            drop(batch);
            out
        });
        assert_eq!(got, [1000, 0, 2000].repeat(99), "overwritten {how}");
    }
}

#[test]
fn rows_of_many_words_come_out_of_whole_and_partial_warps() {
    let interface = StageInterface {
        stage: Stage::Vertex,
        inputs: vec![input(0x10, 5, Per::Vertex)],
        outputs: vec![output(OutputPlace::Address(0x70), 5)],
        ..StageInterface::default()
    };
    let layout =
        StageLayout { inputs: vec![area(0x60)], outputs: vec![left(0x80)], ..StageLayout::default() };
    let mut body = Body::new();
    for word in 0..5 {
        body.copy(0x60 + 4 * word, 0x80 + 4 * word);
    }
    let program = stage(interface, layout, &body.end());
    let words: Vec<u32> = (0..99 * 5).collect();
    let got = on_all(|engine| {
        let mut out = vec![7_u32; 100 * 5];
        let mut batch = Batch {
            inputs: vec![Rows::from(&words[..])],
            outputs: vec![RowsMut::from(&mut out[..])],
            ..Batch::new(Work::Vertices(99))
        };
        run(engine, &program, &mut batch);
        drop(batch);
        out
    });
    assert_eq!(got, [&words[..], &[7; 5]].concat());
}

#[test]
fn planes_are_those_of_each_quads_primitive_from_warp_to_warp() {
    // Whole warps of one primitive one behind the other, a mixed one, another primitive's, and a shorter warp of the first one.
    let primitives = [[0; 8], [0; 8], [0, 0, 1, 1, 0, 1, 0, 1], [1; 8], [1; 8], [0; 8]];
    let quad = |(n, &primitive): (usize, &u32)| Quad { x: 2 * n as u32, y: 2, primitive, mask: 15 };
    let quads: Vec<Quad> =
        primitives.as_flattened()[..43].iter().enumerate().map(|(n, p)| quad((n, p))).collect();
    let words = vec![0; quads.len() * 4];
    for lanes in [32, 64] {
        let program = pixels(lanes);
        let got = on_all(|engine| {
            let mut colour = vec![7; quads.len() * 24];
            let mut covered = vec![7; quads.len() * 4];
            let mut batch = pixel_batch(Work::Quads(&quads), &PLANES, &PRIMITIVES, &words);
            batch.outputs = vec![RowsMut::from(&mut colour[..]), RowsMut::from(&mut covered[..])];
            run(engine, &program, &mut batch);
            drop(batch);
            colour
        });
        for (row, got) in got.chunks_exact(6).enumerate() {
            let (quad, lane) = (quads[row / 4], row as u32 & 3);
            let mut want = pixel_row(quad.x + (lane & 1), quad.y + (lane >> 1), quad.primitive, 0);
            if lanes == 64 {
                want[2] = 7;
            }
            assert_eq!(got, want, "row {row} of warps of {lanes}");
        }
    }
}

#[test]
fn a_batch_is_used_again_and_may_be_empty() {
    let program = vertices();
    let engine = support::engine(Tier::Jit, 1);
    let (input, unread) = ([1_u32, 2], [0_u32]);
    let (mut first, mut second) = ([0_u32; 2], [0_u32; 2]);
    let mut batch = Batch::new(Work::Vertices(0));
    batch.inputs = vec![Rows::from(&input[..]), Rows::from(&[5_u32][..]), Rows::from(&unread[..])];
    batch.outputs = vec![RowsMut::from(&mut first[..]), RowsMut::from(&mut second[..])];
    assert_eq!(run(&engine, &program, &mut batch).stats.blocks, 0);
    for _ in 0..3 {
        batch.work = Work::Vertices(1);
        assert_eq!(run(&engine, &program, &mut batch).stats.blocks, 1);
    }
    drop(batch);
    assert_eq!((first, second), ([6, 2], [u32::MAX, 0]));
}

/// Pixels: place, primitive, plane and pixel words; those whose pixel word is 3 are discarded.
fn pixels(lanes: u32) -> Program {
    let interface = StageInterface {
        stage: Stage::Fragment,
        inputs: vec![input(0, 1, Per::Plane), input(0x10, 1, Per::Primitive), input(0x20, 1, Per::Pixel)],
        outputs: vec![output(OutputPlace::Register(0), 6), output(OutputPlace::Register(8), 1)],
        ..StageInterface::default()
    };
    let written = (lanes == 64).then_some(0xc0);
    let layout = StageLayout {
        lane_words: vec![(LaneWord::Covered, 0), (LaneWord::PixelX, 4), (LaneWord::PixelY, 8)],
        inputs: vec![area(0x10), area(0x20), area(0x24)],
        outputs: vec![
            OutputArea { written, ..left(0x80) },
            OutputArea { written: written.map(|w| w + 0x20), ..left(0xa0) },
        ],
        alive: Some(0x40),
        ..StageLayout::default()
    };
    let mut body = Body::new();
    let (covered, pixel) = (body.load(0), body.load(0x24));
    let three = body.value("splat v2");
    body.text = body.text.replacen("    v1:", "    v2: ui32 = const 3\n    v1:", 1);
    body.text += &format!("    v3: mask = icmp ne v{pixel}, v{three}\n");
    let zero = body.value("splat v0");
    let alive = body.value(&format!("select v3, v{covered}, v{zero}"));
    body.store(0x40, alive);
    for (from, to) in
        [(4, 0x80), (8, 0x84), (0x10, 0x88), (0x18, 0x8c), (0x20, 0x90), (0x24, 0x94), (0, 0xa0)]
    {
        body.copy(from, to);
    }
    // Of GCN's first output all words but the third are written where a pixel is alive.
    for word in [0, 1, 3, 4, 5, 8] {
        body.store(0xc0 + 4 * word, alive);
    }
    let text = body.end();
    let abi = KernelAbi { warp_lanes: lanes, full_warps: lanes == 64, ..abi() };
    let body = image(&text);
    let mut function = body.function.clone();
    if lanes == 64 {
        let text = format!("function @test spmd lanes 64 {{\n{text}\n}}\n");
        function = warpjit_ir::text::parse_function(&text, &[]).expect("parses");
    }
    stage_of(KernelImage { stage: Some(layout), local_bytes: 0x200, abi, function, ..body }, interface)
}

/// Two primitives; nine quads, so that warps are not full.
fn quads() -> Vec<Quad> {
    let quad = |n: u32| Quad { x: 2 * n, y: 2 * (n % 3), primitive: n & 1, mask: [15, 6, 0][n as usize % 3] };
    (0..9).map(quad).collect()
}

fn pixel_batch<'a>(work: Work<'a>, planes: &'a [f32], primitives: &'a [u32], words: &'a [u32]) -> Batch<'a> {
    Batch { inputs: vec![Rows::from(planes), Rows::from(primitives), Rows::from(words)], ..Batch::new(work) }
}

const PLANES: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
const PRIMITIVES: [u32; 2] = [100, 200];

/// The row of a pixel, if it is alive.
fn pixel_row(x: u32, y: u32, primitive: u32, word: u32) -> [u32; 6] {
    let plane = &PLANES[3 * primitive as usize..];
    let centre = |n: u32| (n as f32 + 0.5).to_bits();
    let (base, by_y) = (plane[0].to_bits(), plane[2].to_bits());
    [centre(x), centre(y), base, by_y, PRIMITIVES[primitive as usize], word]
}

#[test]
fn quads_have_rows_where_pixels_live() {
    let (quads, words): (_, Vec<u32>) = (quads(), (0..36).map(|n| n % 7).collect());
    for lanes in [32, 64] {
        let program = pixels(lanes);
        let got = on_all(|engine| {
            let (mut colour, mut covered, mut coverage) = ([7; 36 * 6], [7; 36], [5_u8; 37]);
            let mut batch = pixel_batch(Work::Quads(&quads), &PLANES, &PRIMITIVES, &words);
            batch.outputs = vec![RowsMut::from(&mut colour[..]), RowsMut::from(&mut covered[..])];
            batch.coverage = Some(&mut coverage);
            let report = run(engine, &program, &mut batch);
            assert_eq!(report.stats.blocks, if lanes == 32 { 2 } else { 1 });
            (colour.to_vec(), covered.to_vec(), coverage.to_vec())
        });
        let mut want = (vec![7; 36 * 6], vec![7; 36], vec![if lanes == 32 { 5 } else { 0 }; 36]);
        want.2.push(5);
        for row in 0..36_usize {
            let (quad, lane) = (quads[row / 4], row as u32 & 3);
            if quad.mask >> lane & 1 == 0 {
                continue;
            }
            want.2[row] = 0;
            if words[row] == 3 {
                continue;
            }
            let pixel = pixel_row(quad.x + (lane & 1), quad.y + (lane >> 1), quad.primitive, words[row]);
            want.0[row * 6..][..6].copy_from_slice(&pixel);
            if lanes == 64 {
                want.0[row * 6 + 2] = 7;
            }
            (want.1[row], want.2[row]) = (u32::MAX, 1);
        }
        assert_eq!(got, want, "{lanes}");
    }
}

#[test]
fn rectangles_have_rows_by_pixels() {
    let program = pixels(32);
    let rect = Rect { x: 4, y: 2, width: 6, height: 14 };
    let words: Vec<u32> = (0..84).map(|n| n + 10).collect();
    let got = on_all(|engine| {
        let (mut colour, mut covered, mut coverage) = (vec![7; 84 * 6], vec![7; 84], vec![5_u8; 84]);
        let mut batch = pixel_batch(Work::Rect(rect), &PLANES[..3], &PRIMITIVES[..1], &words);
        batch.outputs = vec![RowsMut::from(&mut colour[..]), RowsMut::from(&mut covered[..])];
        batch.coverage = Some(&mut coverage);
        assert_eq!(run(engine, &program, &mut batch).stats.blocks, 3);
        (colour, covered, coverage)
    });
    let rows = (0..84).flat_map(|row| pixel_row(4 + row % 6, 2 + row / 6, 0, words[row as usize]));
    assert_eq!(got, (rows.collect(), vec![u32::MAX; 84], vec![1; 84]));
}

#[test]
fn quads_are_painted_one_after_another() {
    // All on one place, in turns of primitives; the last that covers a pixel and is alive there stays.
    let quad = |n: u32| Quad { x: 2, y: 0, primitive: n & 1, mask: [15, 2, 4, 8][n as usize % 4] };
    let quads: Vec<Quad> = (0..20).map(quad).collect();
    let rect = Rect { x: 0, y: 0, width: 4, height: 4 };
    for (lanes, others) in [(32, 5), (64, 0)] {
        let program = pixels(lanes);
        // The pixel at (3, 1), row 7, is always discarded.
        let words: Vec<u32> = (0..16).map(|row| if row == 7 { 3 } else { row + 10 }).collect();
        let got = on_all(|engine| {
            let (mut colour, mut covered, mut coverage) = (vec![7; 16 * 6], vec![7; 16], vec![5_u8; 16]);
            let mut batch = pixel_batch(Work::Picture(&quads, rect), &PLANES, &PRIMITIVES, &words);
            batch.outputs = vec![RowsMut::from(&mut colour[..]), RowsMut::from(&mut covered[..])];
            batch.coverage = Some(&mut coverage);
            run(engine, &program, &mut batch);
            (colour, covered, coverage)
        });
        let mut want = (vec![7; 16 * 6], vec![7; 16], vec![others; 16]);
        for (row, primitive) in [(2_u32, 0_u32), (3, 1), (6, 0)] {
            let place = &mut want.0[row as usize * 6..][..6];
            place.copy_from_slice(&pixel_row(row % 4, row / 4, primitive, row + 10));
            if lanes == 64 {
                place[2] = 7;
            }
            (want.1[row as usize], want.2[row as usize]) = (u32::MAX, 1);
        }
        want.2[7] = 0;
        assert_eq!(got, want, "{lanes}");
    }
}

#[test]
fn patches_are_never_in_two_warps() {
    let interface = StageInterface {
        stage: Stage::TessControl,
        vertices: 2,
        invocations: 6,
        inputs: vec![input(0x80, 1, Per::Vertex), input(0x40, 1, Per::Primitive)],
        outputs: vec![
            output(OutputPlace::Address(0x70), 3),
            output(OutputPlace::Address(0x80), 1),
            output(OutputPlace::Patch(0x10), 2),
        ],
        ..StageInterface::default()
    };
    let shared = |start, row_stride| OutputArea { shared: true, row_stride, ..left(start) };
    let layout = StageLayout {
        lane_words: vec![(LaneWord::Invocation, 0), (LaneWord::PatchInWarp, 4), (LaneWord::Present, 8)],
        inputs: vec![Some(InputArea { start: 0x10, word_stride: 4, vertex_stride: 8 }), area(0x20)],
        outputs: vec![left(0x40), shared(0x100, 8), shared(0x300, 16)],
        patches_per_warp: 5,
        ..StageLayout::default()
    };
    let mut body = Body::new();
    // Sum of vertices, primitive word, invocation; the lane's and the patch's words of shared memory.
    let (a, b) = (body.load(0x10), body.load(0x18));
    let sum = body.add(a, b);
    body.store(0x40, sum).copy(0x20, 0x44).copy(0, 0x48);
    let (invocation, patch, primitive) = (body.load(0), body.load(4), body.load(0x20));
    body.text = body.text.replacen(
        "    v1:",
        "    v2: ui32 = const 48\n    v3: ui32 = const 8\n    v4: ui32 = const 16\n    v1:",
        1,
    );
    let by_lane = [body.value("splat v2"), body.value("splat v3"), body.value("splat v4")];
    let patches = body.value(&format!("imul v{patch}, v{}", by_lane[0]));
    let threads = body.value(&format!("imul v{invocation}, v{}", by_lane[1]));
    let lane = body.add(patches, threads);
    let row = body.value(&format!("imul v{patch}, v{}", by_lane[2]));
    // Lanes without a patch would write those of patch 0.
    let present = body.load(8);
    let zero = body.value("splat v0");
    body.text += &format!("    v5: mask = icmp ne v{present}, v{zero}\n    branch v5, block1, block2\n");
    body.text += &format!(
        "block1 at 0x10 insts 1:\n    store.u32 shared[v{lane} + 0x100], v{invocation} align 4\n    \
         store.u32 shared[v{row} + 0x300], v{primitive} align 4\n    store.u32 shared[v{row} + 0x304], v{patch} align 4\n"
    );
    let text =
        body.end().replace("jump block1\nblock1", "jump block2\nblock2").replace("-> block1", "-> block2");
    let program = stage(interface, layout, &text);
    let vertices: Vec<u32> = (0..22).map(|n| n * n).collect();
    let primitives: Vec<u32> = (0..11).map(|n| 500 + n).collect();
    let got = on_all(|engine| {
        let (mut own, mut threads, mut patches) = ([7_u32; 66 * 3], [7_u32; 66], [7_u32; 22]);
        let mut batch = Batch::new(Work::Patches(11));
        batch.inputs = vec![Rows::from(&vertices[..]), Rows::from(&primitives[..])];
        batch.outputs = vec![
            RowsMut::from(&mut own[..]),
            RowsMut::from(&mut threads[..]),
            RowsMut::from(&mut patches[..]),
        ];
        assert_eq!(run(engine, &program, &mut batch).stats.blocks, 3);
        (own.to_vec(), threads.to_vec(), patches.to_vec())
    });
    let sum = |patch: usize| vertices[2 * patch] + vertices[2 * patch + 1];
    let own = (0..66).flat_map(|lane| [sum(lane / 6), 500 + lane as u32 / 6, lane as u32 % 6]);
    assert_eq!(got.0, own.collect::<Vec<_>>());
    assert_eq!(got.1, (0..66).map(|lane| lane % 6).collect::<Vec<_>>());
    assert_eq!(got.2, (0..11).flat_map(|patch| [500 + patch, patch % 5]).collect::<Vec<_>>());
}

#[test]
fn points_have_rows_of_their_own_and_of_patches() {
    let interface = StageInterface {
        stage: Stage::TessEval,
        vertices: 3,
        invocations: 1,
        inputs: vec![input(0x70, 1, Per::Vertex), input(0x2f0, 1, Per::Point), input(0, 2, Per::Patch)],
        outputs: vec![output(OutputPlace::Address(0x70), 6)],
        ..StageInterface::default()
    };
    let layout = StageLayout {
        inputs: vec![
            Some(InputArea { start: 0x10, word_stride: 4, vertex_stride: 4 }),
            area(0x20),
            area(0x30),
        ],
        outputs: vec![left(0x40)],
        ..StageLayout::default()
    };
    let mut body = Body::new();
    for (n, from) in [0x10, 0x14, 0x18, 0x20, 0x30, 0x34].into_iter().enumerate() {
        body.copy(from, 0x40 + 4 * n as u32);
    }
    let program = stage(interface, layout, &body.end());
    let [vertices, points, patches]: [Vec<u32>; 3] = [(0..15), (100..145), (200..210)].map(Iterator::collect);
    let got = on_all(|engine| {
        let mut out = [7_u32; 45 * 6];
        let mut batch = Batch::new(Work::Points { patches: 5, points: 9 });
        batch.inputs = [&vertices, &points, &patches].map(|rows| Rows::from(&rows[..])).into();
        batch.outputs = vec![RowsMut::from(&mut out[..])];
        run(engine, &program, &mut batch);
        out.to_vec()
    });
    let row = |lane: u32| {
        let patch = lane / 9;
        [3 * patch, 3 * patch + 1, 3 * patch + 2, 100 + lane, 200 + 2 * patch, 201 + 2 * patch]
    };
    assert_eq!(got, (0..45).flat_map(row).collect::<Vec<_>>());
}

#[test]
fn emitted_vertices_have_rows() {
    let interface = StageInterface {
        stage: Stage::Geometry,
        vertices: 1,
        invocations: 2,
        max_vertices: 3,
        inputs: vec![input(0x60, 1, Per::Primitive)],
        outputs: vec![output(OutputPlace::Address(0x70), 2)],
        ..StageInterface::default()
    };
    let layout = StageLayout {
        lane_words: vec![(LaneWord::Invocation, 0)],
        inputs: vec![area(0x10)],
        outputs: vec![OutputArea { row_stride: 8, ..left(0x40) }],
        emitted: Some(0x20),
        cuts: Some(0x60),
        ..StageLayout::default()
    };
    // Each thread emits as many as the primitive says; of each row the number of the thread and of the row; cut behind 1.
    let mut body = Body::new();
    body.text = body.text.replacen("    v1:", "    v2: ui32 = const 1\n    v1:", 1);
    let one = body.value("splat v2");
    let mut number = body.value("splat v0");
    for row in 0..3 {
        body.copy(0, 0x40 + 8 * row).store(0x44 + 8 * row, number);
        number = body.add(number, one);
    }
    body.copy(0x10, 0x20).store(0x64, one);
    let program = stage(interface, layout, &body.end());
    let primitives: Vec<u32> = (0..20).map(|n| n % 4).collect();
    let (out, counts, cuts) = on_all(|engine| {
        let (mut out, mut counts, mut cuts) = ([7_u32; 240], [7_u32; 40], [7_u32; 120]);
        let mut batch = Batch::new(Work::Primitives(20));
        batch.inputs = vec![Rows::from(&primitives[..])];
        batch.outputs = vec![RowsMut::from(&mut out[..])];
        batch.emitted = Some(Emitted { counts: &mut counts, cuts: &mut cuts });
        run(engine, &program, &mut batch);
        (out.to_vec(), counts.to_vec(), cuts.to_vec())
    });
    assert_eq!(counts, (0..40).map(|lane| lane / 2 % 4).collect::<Vec<_>>());
    let is_there = |row: u32| row % 3 < row / 6 % 4;
    assert_eq!(cuts, (0..120).map(|row| u32::from(is_there(row) && row % 3 == 1)).collect::<Vec<_>>());
    let row = |row: u32| if is_there(row) { [row / 3 % 2, row % 3] } else { [7, 7] };
    assert_eq!(out, (0..120).flat_map(row).collect::<Vec<_>>());
}

/// Programs of two stages that one wave runs: what the first leaves in shared memory, the second finds.
#[test]
fn shared_memory_goes_in_and_comes_out() {
    let interface = StageInterface {
        stage: Stage::Vertex,
        inputs: vec![input(0, 1, Per::Vertex)],
        outputs: vec![output(OutputPlace::Address(0), 1)],
        ..StageInterface::default()
    };
    let layout =
        StageLayout { inputs: vec![area(0x10)], outputs: vec![left(0x20)], ..StageLayout::default() };
    // A lane's input is an address: the word there goes out, and the address takes its place.
    let mut body = Body::new();
    let address = body.load(0x10);
    let value = body.value(&format!("load.u32 shared[v{address}] align 4"));
    body.store(0x20, value);
    body.text += &format!("    store.u32 shared[v{address}], v{address} align 4\n");
    let image = image(&body.end());
    let image = KernelImage { stage: Some(layout), local_bytes: 0x200, shared_bytes: 1024, ..image };
    let program = stage_of(image, interface);
    let places: Vec<u32> = (0..128).map(|lane| 1020 - 4 * (lane % 64)).collect();
    let lanes_of_a_warp = program_lanes(&program, &places);
    let warps = 128_usize.div_ceil(lanes_of_a_warp);
    let (out, shared, lost) = on_all(|engine| {
        let (mut out, mut lost) = ([7_u32; 128], [7_u32; 128]);
        let mut shared: Vec<u32> = (0..256 * warps as u32).collect();
        let mut batch = Batch::new(Work::Vertices(128));
        batch.inputs = vec![Rows::from(&places[..])];
        batch.outputs = vec![RowsMut::from(&mut out[..])];
        batch.shared = Some(RowsMut::from(&mut shared[..]));
        run(engine, &program, &mut batch);
        let mut batch = Batch::new(Work::Vertices(128));
        batch.inputs = vec![Rows::from(&places[..])];
        batch.outputs = vec![RowsMut::from(&mut lost[..])];
        run(engine, &program, &mut batch);
        (out.to_vec(), shared, lost.to_vec())
    });
    let word = |lane: usize| lane / lanes_of_a_warp * 256 + places[lane] as usize / 4;
    let mut wanted: Vec<u32> = (0..256 * warps as u32).collect();
    for lane in 0..128 {
        assert_eq!(out[lane] as usize, word(lane), "{lane}");
        wanted[word(lane)] = places[lane];
    }
    assert_eq!((shared, lost), (wanted, vec![0; 128]));
    let mut few = [0_u32; 255];
    let mut out = [0_u32; 128];
    let mut batch = Batch::new(Work::Vertices(128));
    batch.inputs = vec![Rows::from(&places[..])];
    batch.outputs = vec![RowsMut::from(&mut out[..])];
    batch.shared = Some(RowsMut::from(&mut few[..]));
    let error = error_of(&program, &Launch::default(), &mut batch);
    assert!(error.contains("shared memory: has 0 rows of 1024 bytes"), "{error}");
}

/// Lanes of a program's warps, by the number of blocks that it takes.
fn program_lanes(program: &Program, places: &[u32]) -> usize {
    let engine = support::engine(Tier::Interp, 1);
    let mut out = [0_u32; 64];
    let mut batch = Batch::new(Work::Vertices(64));
    batch.inputs = vec![Rows::from(&places[..64])];
    batch.outputs = vec![RowsMut::from(&mut out[..])];
    64 / run(&engine, program, &mut batch).stats.blocks as usize
}

#[test]
fn blocks_before_a_fault_have_written() {
    // Loads from the address that each vertex gives.
    let interface = StageInterface {
        stage: Stage::Vertex,
        inputs: vec![input(0, 1, Per::Vertex)],
        outputs: vec![output(OutputPlace::Address(0), 1)],
        ..StageInterface::default()
    };
    let layout =
        StageLayout { inputs: vec![area(0x10)], outputs: vec![left(0x20)], ..StageLayout::default() };
    let mut body = Body::new();
    let address = body.load(0x10);
    let value = body.value(&format!("load.u32 global14[v{address}] align 4"));
    body.store(0x20, value);
    let program = stage(interface, layout, &body.end());
    let addresses: Vec<u32> = (0..96).map(|n| if n == 70 { 0x500_0000 } else { 0x1_0000 }).collect();
    let got = on_all(|engine| {
        let mut out = [7_u32; 96];
        let memory = engine.memory().expect("memory");
        memory.map(Some(0x1_0000), 4096, warpjit_runtime::Access::ReadWrite).expect("mapped");
        let mut batch = Batch::new(Work::Vertices(96));
        batch.inputs = vec![Rows::from(&addresses[..])];
        batch.outputs = vec![RowsMut::from(&mut out[..])];
        let report = engine.run_stage(&program, &memory, &Launch::default(), &mut batch).expect("runs");
        let fault = report.fault.expect("a fault");
        assert_eq!((fault.kind, fault.block, fault.lane), (FaultKind::Memory, [2, 0, 0], 6));
        out.to_vec()
    });
    assert_eq!(got, [vec![0; 64], vec![7; 32]].concat());
}

#[test]
fn a_range_of_warps() {
    let program = vertices();
    let words: Vec<u32> = (0..400).collect();
    let got = on_all(|engine| {
        let (mut out, mut rest) = ([7_u32; 200], [7_u32; 200]);
        let mut batch = Batch::new(Work::Vertices(100));
        batch.inputs = vec![Rows::from(&words[..]), Rows::from(&[0_u32][..]), Rows::from(&words[..])];
        batch.outputs = vec![RowsMut::from(&mut out[..]), RowsMut::from(&mut rest[..])];
        let launch = Launch::default().blocks(Some(1..3));
        let memory = engine.memory().expect("memory");
        engine.run_stage(&program, &memory, &launch, &mut batch).expect("runs");
        out.to_vec()
    });
    let want = (0..200).map(|n| if (64..192).contains(&n) { n } else { 7 });
    assert_eq!(got, want.collect::<Vec<_>>());
}

fn error_of(program: &Program, launch: &Launch, batch: &mut Batch<'_>) -> String {
    let engine = support::engine(Tier::Interp, 1);
    let memory = engine.memory().expect("memory");
    match engine.run_stage(program, &memory, launch, batch) {
        Err(Error::Launch(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn batches_that_do_not_fit() {
    let program = vertices();
    let words = [0_u32; 64];
    let (mut a, mut b) = ([0_u32; 64], [0_u32; 64]);
    let plain = Launch::default();
    let mut batch = Batch::new(Work::Vertices(4));
    let text = error_of(&program, &plain, &mut batch);
    assert_eq!(text, "a batch of 0 inputs and 0 outputs, the program has 3 and 2");
    let rows = Rows::from(&words[..]);
    batch.inputs = vec![rows, Rows::new(&[]), rows];
    batch.outputs = vec![RowsMut::from(&mut a[..]), RowsMut::from(&mut b[..])];
    let text = error_of(&program, &plain, &mut batch);
    assert_eq!(text, "input 1 (Address(80)): has 0 rows of 4 bytes, the batch needs 1");
    batch.inputs = vec![rows.every(4), rows, rows];
    assert!(error_of(&program, &plain, &mut batch).ends_with("rows of 8 bytes that are 4 bytes apart"));
    batch.inputs = vec![rows; 3];
    batch.work = Work::Vertices(33);
    assert!(error_of(&program, &plain, &mut batch).contains("has 32 rows of 8 bytes, the batch needs 33"));
    batch.work = Work::Primitives(1);
    assert_eq!(error_of(&program, &plain, &mut batch), "a batch of primitives for a vertex program");
    batch.work = Work::Vertices(4);
    let args = Launch::default().args(vec![warpjit_runtime::Arg::u32(1)]);
    assert!(error_of(&program, &args, &mut batch).ends_with("takes no arguments"));
    let mut none = [0_u8; 4];
    batch.coverage = Some(&mut none);
    assert_eq!(error_of(&program, &plain, &mut batch), "coverage of a vertex program");
    batch.coverage = None;
    let mut column = [0_u8; 64];
    batch.outputs[0] = RowsMut::columns(&mut column, 12, &[0, 4]).expect("columns").remove(0);
    assert_eq!(error_of(&program, &plain, &mut batch), "output o[0x70]: a row of 8 bytes, there are 4");
    assert!(RowsMut::columns(&mut [0; 8], 8, &[4, 0]).is_none());
    assert!(RowsMut::columns(&mut [0; 8], 8, &[8]).is_none());

    let program = pixels(32);
    let quad = |x, mask| [Quad { x, mask, ..Quad::default() }];
    let (odd, full) = (quad(1, 15), quad(0, 16));
    let mut batch = pixel_batch(Work::Quads(&odd), &PLANES, &PRIMITIVES, &words);
    let (mut a, mut b) = ([0_u32; 64], [0_u32; 64]);
    batch.outputs = vec![RowsMut::from(&mut a[..]), RowsMut::from(&mut b[..])];
    assert!(error_of(&program, &plain, &mut batch).starts_with("quad 0 at (1, 0) with mask 0xf"));
    batch.work = Work::Quads(&full);
    assert!(error_of(&program, &plain, &mut batch).starts_with("quad 0 at (0, 0) with mask 0x10"));
    let rect = |width, height| Rect { x: 0, y: 0, width, height };
    batch.work = Work::Rect(rect(3, 2));
    assert!(error_of(&program, &plain, &mut batch).starts_with("a rectangle of 3 by 2 pixels"));
    let outside = quad(4, 15);
    batch.work = Work::Picture(&outside, rect(4, 4));
    assert!(error_of(&program, &plain, &mut batch).starts_with("quad 0 at (4, 0) is outside of the picture"));
    let far = [Quad { primitive: 2, mask: 15, ..Quad::default() }];
    batch.work = Work::Quads(&far);
    assert!(error_of(&program, &plain, &mut batch).contains("has 2 rows of 12 bytes, the batch needs 3"));
    batch.work = Work::Rect(rect(1 << 17, 1 << 17));
    assert!(error_of(&program, &plain, &mut batch).starts_with("a batch of 17179869184 lanes"));
}

#[test]
fn grids_and_batches_are_not_mixed_up() {
    let engine = support::engine(Tier::Interp, 1);
    let memory = engine.memory().expect("memory");
    let error = engine.run(&vertices(), &memory, &support::launch(1, 32)).expect_err("a vertex program");
    assert_eq!(error.to_string(), "launch: a vertex program runs over a batch, not over a grid");
    let compute = support::program(&Body::new().end());
    let text = error_of(&compute, &Launch::default(), &mut Batch::new(Work::Vertices(1)));
    assert_eq!(text, "a compute program runs over a grid, not over a batch");
}

#[test]
fn layouts_beyond_memory_are_no_programs() {
    let interface = StageInterface {
        stage: Stage::Vertex,
        inputs: vec![input(0, 1, Per::Vertex)],
        outputs: vec![output(OutputPlace::Address(0), 2)],
        ..StageInterface::default()
    };
    let layout =
        StageLayout { inputs: vec![area(0x10)], outputs: vec![left(0x20)], ..StageLayout::default() };
    let text = Body::new().end();
    let made = |interface: &StageInterface, layout: &StageLayout| {
        let image = KernelImage { stage: Some(layout.clone()), ..image(&text) };
        Program::from_stage_image(image, interface.clone()).map(|_| ())
    };
    assert_eq!(made(&interface, &layout), Ok(()));
    let error = |change: &dyn Fn(&mut StageInterface, &mut StageLayout)| {
        let (mut interface, mut layout) = (interface.clone(), layout.clone());
        change(&mut interface, &mut layout);
        made(&interface, &layout).expect_err("no program")
    };
    let bad = |change: &dyn Fn(&mut StageInterface, &mut StageLayout)| error(change).to_string();
    // What is wrong is data.
    let two = error(&|_, layout| layout.lane_words = vec![(LaneWord::Present, 0x10)]);
    let beneath = std::error::Error::source(&two).expect("a source").downcast_ref();
    assert_eq!(beneath, Some(&ImageError::TwoInputs { address: 0x10 }));
    assert_eq!((two.kind(), two.number("address")), ("TwoInputs", Some(0x10)));
    let words = error(&|interface, _| interface.outputs[0].words = 1 << 20);
    assert_eq!(
        (words.kind(), words.number("words"), words.number("limit")),
        ("Words", Some(1 << 20), Some(1 << 14))
    );
    // Local memory has 64 bytes.
    assert!(bad(&|_, layout| layout.outputs[0].start = 0x3c).contains("beyond the memory of the lanes"));
    assert!(bad(&|_, layout| layout.inputs[0] = area(0x40)).contains("beyond the memory of the lanes"));
    assert!(bad(&|_, layout| layout.alive = Some(2)).contains("beyond the memory of the lanes"));
    assert!(
        bad(&|_, layout| layout.lane_words = vec![(LaneWord::Present, 0x10)]).contains("two inputs at 0x10")
    );
    assert!(bad(&|_, layout| layout.inputs.clear()).contains("its layout is not of this interface"));
    assert!(bad(&|interface, _| interface.inputs[0].per = Per::Pixel).contains("no inputs per Pixel"));
    assert!(bad(&|interface, _| interface.inputs[0].words = 0).contains("an input or output of 0 words"));
    assert!(bad(&|interface, _| interface.stage = Stage::Geometry).contains("at least one vertex"));
}

#[test]
fn a_batch_that_owns_its_arrays_goes_through_a_queue() {
    let program = vertices();
    let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let got = on_all(|engine| {
        let memory = engine.memory().expect("memory");
        let queue = engine.queue(QueueOptions::new());
        let structures: Vec<u32> = (0..50 * 5).collect();
        let batch = OwnedBatch::new(OwnedWork::Vertices(50))
            .input(OwnedRows::new(bytes(&structures)).every(20))
            .input(OwnedRows::new(bytes(&[1000])))
            .input(OwnedRows::new(bytes(&[0; 50])))
            .output(OwnedRows::new(vec![0; 50 * 8]))
            .output(OwnedRows::new(vec![0; 50 * 8]));
        let ticket = queue.submit(Submission::stage(&program, &memory, Launch::default(), batch.clone()));
        assert_eq!(ticket.wait().expect("launch").fault, None);
        let done = ticket.take_batch().expect("its arrays");
        assert!(ticket.take_batch().is_none());
        // A wrong one says so.
        let mut wrong = batch;
        wrong.outputs.clear();
        let ticket = queue.submit(Submission::stage(&program, &memory, Launch::default(), wrong));
        assert!(matches!(ticket.wait(), Err(Error::Launch(_))));
        (done.outputs[0].bytes.clone(), done.outputs[1].bytes.clone())
    });
    let sums: Vec<u32> = (0..50).flat_map(|n| [1000 + 5 * n, 5 * n + 1]).collect();
    assert_eq!(got, (bytes(&sums), bytes(&[u32::MAX, 0].repeat(50))));
}

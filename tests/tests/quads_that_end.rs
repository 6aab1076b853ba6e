//! Tests quads of fragment programs of which some lanes end early: by `exit`, by `discard`, or out of EXEC. What derivatives, textures,
//! stores and outputs do then is in docs/hardware/graphics-nv.md (1, 2.6, 2.7, 3.7) and graphics-gcn.md (5.2, 9); the expectations are
//! computed here, lane by lane.

use warpjit_frontend::isa::Stage;
use warpjit_frontend::{fermi, gcn, tesla};
use warpjit_runtime::stage::{
    Batch, ExportTarget, InputPlace, OutputPlace, Per, Quad, Rows, RowsMut, StageInput, StageInterface,
    StageOutput, Work,
};
use warpjit_runtime::{Access, Chip, Launch, Program, ProgramOptions, TextureTables};
use warpjit_tests::engines::interpreter_and_compiled;

/// Where pixels store a word each.
const STORES: u64 = 0x20_0000;
/// A texture whose first level is 0 and whose other levels are 1.
const TEXTURE: u64 = 0x1000_0000;
/// 32 x 32 texels of four bytes.
const FIRST_LEVEL: usize = 4096;
/// What rows hold that nobody has written.
const UNTOUCHED: u32 = 0x7777_7777;
const ONE: u32 = 0x3f80_0000;

/// What a pixel's program is given.
#[derive(Clone, Copy, Debug)]
struct Pixel {
    /// A small whole number.
    x: f32,
    /// Whether, or when, the pixel leaves.
    leaves: u32,
}

/// Quads of all masks with pixels of which some leave: more than fill a warp.
struct Pixels {
    quads: Vec<Quad>,
    pixels: Vec<Pixel>,
}

impl Pixels {
    /// `leaves` says when a lane leaves, by its number.
    fn new(leaves: impl Fn(usize) -> u32) -> Pixels {
        let quads = (0..37).map(|n| Quad { x: 2 * n, y: 4, primitive: 0, mask: (n * 7 + 15) & 15 }).collect();
        let pixels = (0..37 * 4).map(|n| Pixel { x: (n * n * 3 % 101) as f32, leaves: leaves(n) }).collect();
        Pixels { quads, pixels }
    }

    fn covered(&self, lane: usize) -> bool {
        self.quads[lane / 4].mask >> (lane % 4) & 1 != 0
    }

    /// Whether any pixel of the lane's quad is covered.
    fn quad_is_covered(&self, lane: usize) -> bool {
        self.quads[lane / 4].mask != 0
    }

    /// The rows of the input: x, when the pixel leaves, where it stores.
    fn rows(&self) -> Vec<u32> {
        let row =
            |(n, pixel): (usize, &Pixel)| [pixel.x.to_bits(), pixel.leaves, STORES as u32 + 4 * n as u32];
        self.pixels.iter().enumerate().flat_map(row).collect()
    }
}

/// What a batch leaves: two words a pixel, the coverage, and the stored words.
#[derive(Debug, PartialEq)]
struct Left {
    rows: Vec<[u32; 2]>,
    alive: Vec<u8>,
    stored: Vec<u32>,
}

fn program(code: &[u8], chip: Chip, interface: StageInterface) -> Program {
    let options =
        ProgramOptions::new(chip.isa()).raw(true).chip(Some(chip)).registers(Some(32)).stage(Some(interface));
    Program::load(code, &options).unwrap()
}

fn interface(inputs: Vec<StageInput>, output: OutputPlace) -> StageInterface {
    let outputs = vec![StageOutput { place: output, words: 2 }];
    StageInterface { stage: Stage::Fragment, inputs, outputs, ..StageInterface::default() }
}

/// Runs a program on every engine, and compares what it leaves.
fn check(what: &str, program: &Program, launch: &Launch, pixels: &Pixels, expected: &Left) {
    let input = pixels.rows();
    let count = pixels.pixels.len();
    for (name, engine) in interpreter_and_compiled() {
        let memory = engine.memory().unwrap();
        memory.map(Some(STORES), 4096, Access::ReadWrite).unwrap();
        memory.map(Some(TEXTURE), 0x1_0000, Access::ReadWrite).unwrap();
        memory.write(STORES, &UNTOUCHED.to_le_bytes().repeat(count)).unwrap();
        memory.write(TEXTURE + FIRST_LEVEL as u64, &[255; 0x1_0000 - FIRST_LEVEL]).unwrap();
        let mut rows = vec![UNTOUCHED; 2 * count];
        let mut alive = vec![7; count];
        let mut batch = Batch::new(Work::Quads(&pixels.quads));
        batch.inputs = vec![Rows::from(&input[..])];
        batch.outputs = vec![RowsMut::from(&mut rows[..])];
        batch.coverage = Some(&mut alive);
        let report = engine.run_stage(program, &memory, launch, &mut batch).unwrap();
        assert_eq!(report.fault, None, "{what}, {name}");
        let mut bytes = vec![0; 4 * count];
        memory.read(STORES, &mut bytes).unwrap();
        let stored = bytes.chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let rows = rows.chunks(2).map(|row| [row[0], row[1]]).collect();
        assert_eq!(Left { rows, alive, stored }, *expected, "{what}, {name}");
    }
}

/// The differences of a quad's registers: right minus left in both lanes of a row, lower minus upper in both of a column.
fn differences(quad: [f32; 4]) -> [[f32; 2]; 4] {
    std::array::from_fn(|lane| [quad[lane | 1] - quad[lane & 2], quad[lane | 2] - quad[lane & 1]])
}

/// The differences of all lanes.
fn all_differences(values: &[f32]) -> Vec<[f32; 2]> {
    values.chunks(4).flat_map(|quad| differences([quad[0], quad[1], quad[2], quad[3]])).collect()
}

// ---- Tesla, Fermi

/// A chip of NVIDIA's, and how programs for it are written. `$r10` is the pixel's number, `$r11` when it leaves, `$r12` where it stores.
struct Family {
    name: &'static str,
    chip: Chip,
    assemble: fn(&str) -> Vec<u8>,
    texts: fn(What) -> &'static str,
    input: u32,
    stores: bool,
    coverage_of_uncovered: u8,
}

/// The programs.
#[derive(Clone, Copy, Debug)]
enum What {
    /// Lanes exit, the others double their number and take differences.
    Exit,
    /// Lanes are discarded, then all double their number, take differences and store.
    Discard,
    /// As `Exit`, in a loop that lanes leave after different rounds.
    Loop,
    /// Whole quads are discarded and exit; the others take differences.
    Both,
    /// Lanes exit, the others sample.
    Sample,
}

fn fermi_text(what: What) -> &'static str {
    match what {
        What::Exit => {
            "mov b32 $r0 0x3f800000\nmov b32 $r1 0x0\nset $p0 0x1 ne u32 $r11 0x0\n$p0 exit\n\
             add ftz rn f32 $r10 $r10 $r10\nquadop ftz rn f32 sub subr sub subr $r0 dall dx $r10 $r10\n\
             quadop ftz rn f32 sub sub subr subr $r1 dall dy $r10 $r10\nexit"
        }
        What::Discard => {
            "set $p0 0x1 ne u32 $r11 0x0\n$p0 discard\nadd ftz rn f32 $r10 $r10 $r10\n\
             quadop ftz rn f32 sub subr sub subr $r0 dall dx $r10 $r10\n\
             quadop ftz rn f32 sub sub subr subr $r1 dall dy $r10 $r10\nst b32 wb g[$r12] $r10\nexit"
        }
        What::Loop => {
            "mov b32 $r0 0x0\nmov b32 $r1 0x0\nmov b32 $r4 0x0\nagain:\nset $p0 0x1 eq u32 $r11 $r4\n$p0 exit\n\
             add ftz rn f32 $r10 $r10 $r10\nadd b32 $r4 $r4 0x1\n\
             quadop ftz rn f32 sub subr sub subr $r5 dall dx $r10 $r10\n\
             quadop ftz rn f32 sub sub subr subr $r6 dall dy $r10 $r10\n\
             add ftz rn f32 $r0 $r0 $r5\nadd ftz rn f32 $r1 $r1 $r6\nbra #again"
        }
        What::Both => {
            "mov b32 $r0 0x0\nmov b32 $r1 0x0\nset $p0 0x1 ne u32 $r11 0x0\n$p0 discard\n$p0 exit\n\
             quadop ftz rn f32 sub subr sub subr $r0 dall dx $r10 $r10\n\
             quadop ftz rn f32 sub sub subr subr $r1 dall dy $r10 $r10\nst b32 wb g[$r12] $r10\nexit"
        }
        What::Sample => {
            "mov b32 $r0 0x3e800000\nmov b32 $r1 0x0\nmov b32 $r4 0x0\nmov b32 $r5 0x0\n\
             set $p0 0x1 ne u32 $r11 0x0\n$p0 exit\nadd ftz rn f32 $r4 $r4 0x41000000\n\
             tex p lauto all dfp $r0:$r1:#:# t2d $t0 $s0 $r4:$r5 ()\nexit"
        }
    }
}

/// `exit` is not for the lanes of a predicate, but for all: `ret` ends some.
fn tesla_text(what: What) -> &'static str {
    match what {
        What::Exit => {
            "mov b32 $r0 0x3f800000\nmov b32 $r1 0x0\nset $c0 # lg u32 $r11 $r63\n(lg $c0) ret\n\
             add rn f32 $r10 $r10 $r10\nquadop f32 sub subr sub subr $r0 dx $r10 $r10\n\
             quadop f32 sub sub subr subr $r1 dy $r10 $r10\nexit nop"
        }
        What::Discard => {
            "set $c0 # lg u32 $r11 $r63\n(lg $c0) discard\nadd rn f32 $r10 $r10 $r10\n\
             quadop f32 sub subr sub subr $r0 dx $r10 $r10\nexit quadop f32 sub sub subr subr $r1 dy $r10 $r10"
        }
        What::Loop => {
            "mov b32 $r0 0x0\nmov b32 $r1 0x0\nmov b32 $r4 0x0\nmov b32 $r7 0x1\nagain:\nset $c0 # e u32 $r11 $r4\n\
             (lg $c0) ret\nadd rn f32 $r10 $r10 $r10\nadd b32 $r4 $r4 $r7\n\
             quadop f32 sub subr sub subr $r5 dx $r10 $r10\nquadop f32 sub sub subr subr $r6 dy $r10 $r10\n\
             add rn f32 $r0 $r0 $r5\nadd rn f32 $r1 $r1 $r6\nbra #again"
        }
        What::Both => {
            "mov b32 $r0 0x0\nmov b32 $r1 0x0\nset $c0 # lg u32 $r11 $r63\n(lg $c0) discard\n(e $c0) bra #stays\nexit nop\nstays:\n\
             quadop f32 sub subr sub subr $r0 dx $r10 $r10\nexit quadop f32 sub sub subr subr $r1 dy $r10 $r10"
        }
        What::Sample => {
            "mov b32 $r0 0x3e800000\nmov b32 $r1 0x0\nmov b32 $r4 0x0\nmov b32 $r5 0x0\nmov b32 $r7 0x41000000\n\
             set $c0 # lg u32 $r11 $r63\n(lg $c0) ret\nadd rn f32 $r4 $r4 $r7\nmov b32 $r5 $r63\n\
             texauto all $r4:$r5:$r6:$r7 $t0 $s0 $r4:$r5 0x0 0x0 0x0\nmov b32 $r0 $r4\nexit mov b32 $r1 $r5"
        }
    }
}

fn fermi_code(chip: fermi::Chip, text: &str) -> Vec<u8> {
    let start = "interp pass f32 $r10 a[0x80] 0x0 0x0\ninterp flat f32 $r11 a[0x84] 0x0 0x0\n\
                 interp flat f32 $r12 a[0x88] 0x0 0x0\n";
    let mut whole = String::new();
    let mut words = 0;
    for line in format!("{start}{text}").lines().map(str::trim) {
        if line.ends_with(':') {
            whole += &format!("{line}\n");
            continue;
        }
        if chip == fermi::Chip::Gk104 && words % 8 == 0 {
            whole += "sched 0x28 0x28 0x28 0x28 0x28 0x28 0x28\n";
            words += 1;
        }
        whole += &format!("long {line}\n");
        words += 1;
    }
    let text = whole;
    fermi::assemble(&text, chip).unwrap_or_else(|error| panic!("{error}\n{text}")).code
}

fn tesla_code(chip: tesla::Chip, text: &str) -> Vec<u8> {
    let start = "interp $r10 v[0x80]\ninterp $r11 flat v[0x84]\n";
    let text = format!("{start}{text}\n");
    let target = tesla::Target { chip, stage: Stage::Fragment };
    tesla::assemble(&text, target).unwrap_or_else(|error| panic!("{error}\n{text}")).code
}

fn families() -> Vec<Family> {
    let fermi = |name, chip, assemble| Family {
        name,
        chip,
        assemble,
        texts: fermi_text,
        input: 0x80,
        stores: true,
        coverage_of_uncovered: 7,
    };
    let tesla =
        |name, chip, assemble| Family { texts: tesla_text, stores: false, ..fermi(name, chip, assemble) };
    vec![
        fermi("gf100", fermi::Chip::Gf100.into(), |text| fermi_code(fermi::Chip::Gf100, text)),
        fermi("gk104", fermi::Chip::Gk104.into(), |text| fermi_code(fermi::Chip::Gk104, text)),
        tesla("g80", tesla::Chip::G80.into(), |text| tesla_code(tesla::Chip::G80, text)),
        tesla("gt215", tesla::Chip::Gt215.into(), |text| tesla_code(tesla::Chip::Gt215, text)),
    ]
}

/// Header and sampler of the texture: 32 x 32 texels of 8_8_8_8 with all levels, as in the corpus.
fn textures() -> TextureTables {
    let header =
        [0x2c69_2488, TEXTURE as u32, 0xc080_5000, 0x30_0000, 0x8000_0020, 0x5001_0020, 0x300_0000, 0x50];
    let sampler = [0x2_6000, 0x91, 0xf0_0000, 0, 0, 0, 0, 0];
    TextureTables { textures: vec![(0, header)], samplers: vec![(0, sampler)], ..TextureTables::default() }
}

/// Runs a program of Tesla and Fermi. `row` gives what a lane leaves in its two registers; `lives` whether a covered lane is written,
/// `stores` what it stores.
fn check_families(
    what: What,
    pixels: &Pixels,
    row: impl Fn(usize) -> [u32; 2],
    lives: impl Fn(usize) -> bool,
    stores: impl Fn(usize) -> Option<u32>,
) {
    for family in families() {
        let input = StageInput { place: InputPlace::Address(family.input), words: 3, per: Per::Pixel };
        let code = (family.assemble)((family.texts)(what));
        let program = program(&code, family.chip, interface(vec![input], OutputPlace::Register(0)));
        let lanes = 0..pixels.pixels.len();
        let written = |lane: usize| pixels.covered(lane) && lives(lane);
        let expected = Left {
            rows: lanes.clone().map(|lane| if written(lane) { row(lane) } else { [UNTOUCHED; 2] }).collect(),
            alive: lanes
                .clone()
                .map(
                    |lane| {
                        if pixels.covered(lane) { lives(lane).into() } else { family.coverage_of_uncovered }
                    },
                )
                .collect(),
            stored: lanes
                .map(|lane| stores(lane).filter(|_| family.stores && written(lane)).unwrap_or(UNTOUCHED))
                .collect(),
        };
        let launch = Launch::default().textures(textures());
        check(&format!("{what:?}, {}", family.name), &program, &launch, pixels, &expected);
    }
}

#[test]
fn registers_of_lanes_that_have_exited_stay() {
    let pixels = Pixels::new(|lane| u32::from(lane * 11 % 5 < 2));
    let values: Vec<f32> = pixels
        .pixels
        .iter()
        .map(|pixel| if pixel.leaves == 0 { pixel.x + pixel.x } else { pixel.x })
        .collect();
    let differences = all_differences(&values);
    let row = |lane: usize| match pixels.pixels[lane].leaves {
        0 => differences[lane].map(f32::to_bits),
        _ => [ONE, 0],
    };
    check_families(What::Exit, &pixels, row, |_| true, |_| None);
}

#[test]
fn discarded_lanes_go_on_and_store_nothing() {
    let pixels = Pixels::new(|lane| u32::from(lane * 11 % 5 < 2));
    let values: Vec<f32> = pixels.pixels.iter().map(|pixel| pixel.x + pixel.x).collect();
    let differences = all_differences(&values);
    let lives = |lane: usize| pixels.pixels[lane].leaves == 0;
    let row = |lane: usize| differences[lane].map(f32::to_bits);
    check_families(What::Discard, &pixels, row, lives, |lane| Some(values[lane].to_bits()));
}

#[test]
fn lanes_exit_from_a_loop_one_after_another() {
    let pixels = Pixels::new(|lane| (lane * 13 % 6) as u32);
    let mut values: Vec<f32> = pixels.pixels.iter().map(|pixel| pixel.x).collect();
    let mut sums = vec![[0.0_f32; 2]; values.len()];
    for round in 0..6 {
        let stays = |lane: usize| pixels.pixels[lane].leaves > round;
        for lane in (0..values.len()).filter(|&lane| stays(lane)) {
            values[lane] *= 2.0;
        }
        let differences = all_differences(&values);
        for lane in (0..values.len()).filter(|&lane| stays(lane)) {
            for n in 0..2 {
                sums[lane][n] += differences[lane][n];
            }
        }
    }
    check_families(What::Loop, &pixels, |lane| sums[lane].map(f32::to_bits), |_| true, |_| None);
}

#[test]
fn quads_end_early_and_others_go_on() {
    // Every third quad is discarded as a whole, and ends; the first warp but for one quad, too.
    let pixels = Pixels::new(|lane| u32::from((lane / 4).is_multiple_of(3) || lane < 28));
    let values: Vec<f32> = pixels.pixels.iter().map(|pixel| pixel.x).collect();
    let differences = all_differences(&values);
    let lives = |lane: usize| pixels.pixels[lane].leaves == 0;
    let row = |lane: usize| differences[lane].map(f32::to_bits);
    check_families(What::Both, &pixels, row, lives, |lane| Some(values[lane].to_bits()));
}

#[test]
fn levels_count_lanes_that_have_exited() {
    // The upper left pixel of every other quad exits with the coordinate that the others have moved by eight textures: a level behind
    // the first one. Quads without such a pixel take the first level.
    let pixels = Pixels::new(|lane| u32::from(lane.is_multiple_of(8)));
    let row = |lane: usize| match (pixels.pixels[lane].leaves, lane / 4 % 2) {
        (0, 0) => [ONE; 2],
        (0, _) => [0, 0],
        _ => [0x3e80_0000, 0],
    };
    check_families(What::Sample, &pixels, row, |_| true, |_| None);
}

// ---- GCN

/// Lanes that leave are taken out of EXEC, while helpers live. The others double v4, and ask both neighbours for theirs by `swap`.
fn gcn_text(swap: &str, end: &str) -> String {
    format!(
        "s_mov_b64 s[20:21], exec\ns_wqm_b64 exec, exec\nv_mov_b32 v4, v0\nv_mov_b32 v10, 1.0\nv_mov_b32 v11, 2.0\n\
         v_cmp_eq_u32 vcc, 0, v1\ns_and_b64 s[22:23], s[20:21], vcc\ns_and_b64 exec, exec, vcc\n\
         s_cbranch_execz over\nv_add_f32 v4, v4, v4\n{swap}\nover:\ns_mov_b64 exec, s[22:23]\n{end}\n\
         exp mrt0 v10, v11, off, off done vm\ns_endpgm\n"
    )
}

const GCN: [gcn::Generation; 4] =
    [gcn::Generation::Gfx6, gcn::Generation::Gfx7, gcn::Generation::Gfx8, gcn::Generation::Gfx9];

/// Runs a program of GCN. `row` gives what a lane exports that has not left.
fn check_gcn(
    text: &str,
    generation: gcn::Generation,
    launch: &Launch,
    pixels: &Pixels,
    row: impl Fn(usize) -> [u32; 2],
    stores: impl Fn(usize) -> Option<u32>,
) {
    let code = gcn::assemble(text, generation).unwrap_or_else(|error| panic!("{error}\n{text}")).code;
    let input = StageInput { place: InputPlace::Register(0), words: 3, per: Per::Pixel };
    let output = OutputPlace::Export(ExportTarget::Mrt(0), false);
    let program = program(&code, generation.into(), interface(vec![input], output));
    let lanes = 0..pixels.pixels.len();
    let written = |lane: usize| pixels.covered(lane) && pixels.pixels[lane].leaves == 0;
    let expected = Left {
        rows: lanes.clone().map(|lane| if written(lane) { row(lane) } else { [UNTOUCHED; 2] }).collect(),
        alive: lanes.clone().map(|lane| written(lane).into()).collect(),
        stored: lanes.map(|lane| stores(lane).filter(|_| written(lane)).unwrap_or(UNTOUCHED)).collect(),
    };
    check(&format!("{generation:?}"), &program, launch, pixels, &expected);
}

/// A lane's v4 if it is in EXEC when neighbours are asked.
fn in_exec(pixels: &Pixels, lane: usize) -> Option<f32> {
    let pixel = pixels.pixels[lane];
    (pixels.quad_is_covered(lane) && pixel.leaves == 0).then_some(pixel.x + pixel.x)
}

#[test]
fn swizzles_give_zero_of_lanes_that_have_left() {
    let swap =
        "ds_swizzle_b32 v10, v4 offset:0x80b1\nds_swizzle_b32 v11, v4 offset:0x804e\ns_waitcnt lgkmcnt(0)";
    // Whole quads leave, single lanes, and all of the second wave.
    for leaves in [|lane: usize| u32::from(lane * 11 % 5 < 2), |lane: usize| u32::from(lane / 64 == 1)] {
        let pixels = Pixels::new(leaves);
        let other = |lane: usize| in_exec(&pixels, lane).unwrap_or(0.0).to_bits();
        for generation in GCN {
            let store = match generation {
                gcn::Generation::Gfx9 => "v_mov_b32 v3, 0\nglobal_store_dword v[2:3], v4, off",
                _ => {
                    "s_mov_b32 s4, 0\ns_mov_b32 s5, 0\ns_mov_b32 s6, -1\ns_mov_b32 s7, 0x24fac\n\
                      buffer_store_dword v4, v2, s[4:7], 0 offen"
                }
            };
            check_gcn(
                &gcn_text(swap, store),
                generation,
                &Launch::default(),
                &pixels,
                |lane| [other(lane ^ 1), other(lane ^ 2)],
                |lane| in_exec(&pixels, lane).map(f32::to_bits),
            );
        }
    }
}

#[test]
fn lanes_that_have_left_are_no_source_of_dpp() {
    let swap = "s_nop 4\nv_mov_b32_dpp v10, v4 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n\
                v_mov_b32_dpp v11, v4 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf bound_ctrl:0";
    let pixels = Pixels::new(|lane| u32::from(lane * 11 % 5 < 2));
    // Without bound_ctrl the register stays, with it 0 comes.
    let other = |lane: usize, without: f32| in_exec(&pixels, lane).unwrap_or(without).to_bits();
    for generation in [gcn::Generation::Gfx8, gcn::Generation::Gfx9] {
        let row = |lane: usize| [other(lane ^ 1, 1.0), other(lane ^ 2, 0.0)];
        check_gcn(&gcn_text(swap, ""), generation, &Launch::default(), &pixels, row, |_| None);
    }
}

#[test]
fn levels_of_gcn_count_lanes_that_have_left() {
    // As on the other families; the image is linear, so that levels follow each other.
    let swap = "v_mov_b32 v6, 8.0\nv_mov_b32 v7, 0\nimage_sample v[10:11], v[6:7], s[0:7], s[8:11] dmask:0x3\n\
                s_waitcnt vmcnt(0)";
    let text = gcn_text(swap, "");
    let text = text.replacen("v_mov_b32 v4, v0\n", "v_mov_b32 v4, v0\nv_mov_b32 v6, 0\nv_mov_b32 v7, 0\n", 1);
    let text = text.replacen("v_mov_b32 v6, 8.0\nv_mov_b32 v7, 0\n", "v_mov_b32 v6, 0x41000000\n", 1);
    let pixels = Pixels::new(|lane| u32::from(lane.is_multiple_of(8)));
    let row = |lane: usize| [if lane / 4 % 2 == 0 { ONE } else { 0 }; 2];
    for generation in GCN {
        let tiling = if generation == gcn::Generation::Gfx9 { 0 } else { 8 };
        let descriptor = [
            (TEXTURE >> 8) as u32,
            10 << 20,
            31 | 31 << 14,
            0xfac | 5 << 16 | tiling << 20 | 9 << 28,
            if tiling == 0 { 31 << 13 } else { 31 << 13 },
            if tiling == 0 { 5 << 28 } else { 0 },
            0,
            0,
        ];
        let sampler = [0, 0xf0_0000, 1 << 26, 0];
        let words = descriptor.into_iter().chain(sampler);
        let register = |(n, word): (usize, u32)| (format!("s{n}"), vec![u64::from(word)]);
        let registers = words.enumerate().map(register).collect();
        let launch = Launch::default().registers(registers);
        check_gcn(&text, generation, &launch, &pixels, row, |_| None);
    }
}

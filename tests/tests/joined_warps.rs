//! Tests that two warps of a Fermi stage that run as one are what two warps are: limits of steps, ranges of blocks, faults, registers, and
//! what the memory of a lane begins as.

use warpjit_frontend::fermi;
use warpjit_frontend::isa::Stage;
use warpjit_runtime::stage::{
    Batch, InputPlace, OutputPlace, Per, Quad, Rows, RowsMut, StageInput, StageInterface, StageOutput, Work,
};
use warpjit_runtime::{Error, Isa, Launch, LaunchError, Program, ProgramOptions, Report};
use warpjit_tests::engines::interpreter_and_compiled;

/// A fragment program with a word a pixel in `$r10`, which leaves `$r0`.
fn program(text: &str) -> Program {
    let text = format!("interp flat f32 $r10 a[0x80] 0x0 0x0\n{text}");
    let code =
        fermi::assemble(&text, fermi::Chip::Gf100).unwrap_or_else(|error| panic!("{error}\n{text}")).code;
    let interface = StageInterface {
        stage: Stage::Fragment,
        inputs: vec![StageInput { place: InputPlace::Address(0x80), words: 1, per: Per::Pixel }],
        outputs: vec![StageOutput { place: OutputPlace::Register(0), words: 1 }],
        ..StageInterface::default()
    };
    let options = ProgramOptions::new(Isa::Fermi)
        .raw(true)
        .chip(Some(fermi::Chip::Gf100.into()))
        .registers(Some(32))
        .stage(Some(interface));
    Program::load(&code, &options).unwrap()
}

/// Runs it for pixels with these words on every engine.
fn each_engine(
    program: &Program,
    launch: &Launch,
    words: &[u32],
    check: impl Fn(&str, Result<Report, Error>, &[u32]),
) {
    let quads: Vec<Quad> =
        (0..words.len() as u32 / 4).map(|n| Quad { x: 2 * n, y: 0, primitive: 0, mask: 15 }).collect();
    for (name, engine) in interpreter_and_compiled() {
        // The second run has what the first one has left in the memory of lanes.
        for _ in 0..2 {
            let memory = engine.memory().unwrap();
            let mut rows = vec![7; words.len()];
            let mut batch = Batch::new(Work::Quads(&quads));
            batch.inputs = vec![Rows::from(words)];
            batch.outputs = vec![RowsMut::from(&mut rows[..])];
            let report = engine.run_stage(program, &memory, launch, &mut batch);
            check(&name, report, &rows);
        }
    }
}

/// Twice 32 pixels that take different ways of 20 instructions each.
fn two_ways() -> (Program, Vec<u32>) {
    let way = |step: u32| format!("add b32 $r0 $r0 {step:#x}\n").repeat(20);
    let text = format!(
        "mov b32 $r0 0x0\nset $p0 0x1 ne u32 $r10 0x0\n$p0 bra #other\n{}exit\nother:\n{}exit\n",
        way(1),
        way(2)
    );
    (program(&text), (0..64).map(|lane| lane / 32).collect())
}

#[test]
fn each_warp_has_its_own_steps() {
    let (program, words) = two_ways();
    let expected: Vec<u32> = words.iter().map(|word| 20 + 20 * word).collect();
    for launch in [Launch::default(), Launch::default().max_steps(30)] {
        each_engine(&program, &launch, &words, |name, report, rows| {
            assert_eq!((report.unwrap().fault, rows), (None, &expected[..]), "{name}");
        });
    }
    each_engine(&program, &Launch::default().max_steps(20), &words, |name, report, _| {
        assert!(report.unwrap().fault.is_some(), "{name}");
    });
}

#[test]
fn blocks_are_the_chips_warps() {
    let (program, words) = two_ways();
    for (blocks, expected) in [(0..1, [20, 7]), (1..2, [7, 40]), (1..1, [7, 7]), (0..2, [20, 40])] {
        let launch = Launch::default().blocks(Some(blocks.clone()));
        each_engine(&program, &launch, &words, |name, report, rows| {
            assert_eq!(report.unwrap().fault, None, "{name}");
            assert_eq!([rows[0], rows[63]], expected, "{name}, {blocks:?}");
        });
    }
    let launch = Launch::default().capture_registers(true);
    each_engine(&program, &launch, &words, |name, report, _| {
        assert!(matches!(report, Err(Error::Launch(LaunchError::CapturedWarps))), "{name}: {report:?}");
    });
    each_engine(&program, &launch, &words[..32], |name, report, _| {
        assert_eq!(report.unwrap().registers["r0"], vec![20; 32], "{name}");
    });
}

#[test]
fn faults_name_the_chips_warp_and_lane() {
    let program = program("mov b32 $r0 0x0\nset $p0 0x1 ne u32 $r10 0x0\n$p0 ld b32 $r0 ca g[$r10]\nexit\n");
    for lane in [0, 5, 31, 32, 37, 63, 64, 100] {
        let words: Vec<u32> = (0..128).map(|n| if n == lane { 0xdead_0000 } else { 0 }).collect();
        each_engine(&program, &Launch::default(), &words, |name, report, _| {
            let fault = report.unwrap().fault.expect("a wild address");
            assert_eq!((fault.block, fault.warp, fault.lane), ([lane / 32, 0, 0], 0, lane % 32), "{name}");
        });
    }
}

/// The word is none of the guest's own memory, which ends before it.
#[test]
fn a_lane_finds_nothing_that_another_has_left() {
    let words: Vec<u32> = (0..1024).collect();
    for address in (0x400..0x440).step_by(4) {
        let text = format!("mov b32 $r1 {address:#x}\nld b32 $r2 ca l[$r1]\nadd b32 $r0 $r2 0x1\nexit\n");
        let program = program(&text);
        let first = std::cell::RefCell::new(None::<Vec<u32>>);
        each_engine(&program, &Launch::default(), &words, |name, report, rows| {
            assert_eq!(report.unwrap().fault, None, "{name}");
            let mut first = first.borrow_mut();
            let first = first.get_or_insert_with(|| rows.to_vec());
            assert_eq!(rows, &first[..], "{name}, {address:#x}");
        });
    }
}

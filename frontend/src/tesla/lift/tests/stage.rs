//! Runs programs of graphics stages: pointers to vertices, emitted vertices, halves of outputs, ends of attribute spaces.

use warpjit_ir::Meter;
use warpjit_ir::interp::{Fault, FaultKind};

use crate::isa::Stage;
use crate::simt::stage::Plan;
use crate::stage::{InputPlace, OutputPlace, Per, StageInput, StageInterface, StageLayout, StageOutput};
use crate::tesla::lift::{Options, explore, lift_graph, needs};
use crate::tesla::{Chip, Target, assemble};
use crate::testing::{StageMemory, run_warp};

/// Address of the first instruction.
const BASE: u32 = 0x7ff00;

/// Runs a program; `fill` gives it what it reads.
fn run(
    text: &str,
    stage: Stage,
    inputs: &[(u32, u32, Per)],
    output: (OutputPlace, u32),
    fill: impl Fn(&mut StageMemory, &StageLayout),
) -> (Result<(), Fault>, StageMemory, StageLayout) {
    let interface = StageInterface {
        stage,
        vertices: 3,
        invocations: 1,
        max_vertices: 2,
        inputs: inputs
            .iter()
            .map(|&(at, words, per)| StageInput { place: InputPlace::Address(at), words, per })
            .collect(),
        outputs: vec![StageOutput { place: output.0, words: output.1 }],
        ..StageInterface::default()
    };
    let target = Target { chip: Chip::G80, stage };
    let code = assemble(text, target).unwrap_or_else(|error| panic!("{error}")).code;
    let mut options = Options {
        name: "test",
        target,
        base: BASE,
        entry: BASE,
        registers: 16,
        const_banks: &[],
        plan: None,
        mailbox: 0,
    };
    let graph =
        explore(&crate::code::Code::of_file(&code, options.base, 0), &options, &Meter::unlimited()).unwrap();
    let needs = needs(&graph);
    let plan = Plan::new(&interface, &needs.uses, 0, stage == Stage::Geometry).unwrap();
    options.plan = Some(&plan);
    let func = lift_graph(&graph, &options, &Meter::unlimited()).unwrap();
    let mut memory = StageMemory::new(&plan.layout);
    fill(&mut memory, &plan.layout);
    let outcome = run_warp(&func, &mut memory, "r0").map(drop);
    (outcome, memory, plan.layout.clone())
}

#[test]
fn vertices_by_pointers() {
    // The third vertex's second word, by a pointer and by a computed address; a fourth vertex reads 0; only two are emitted.
    let text = "shl $a1 a[0x8] 0x0\nmov b32 $r1 p[$a1+0x4]\nst b32 o[0x0] $r1\nmov b32 $r2 a[0x8]\n\
        add b32 $r2 $r2 0x20\nshl $a2 $r2 0x0\nmov b32 $r3 p[$a2]\nst b32 o[0x4] $r3\nemit\nrestart\n\
        shl $a1 a[0xc] 0x0\nmov b32 $r1 p[$a1]\nmov b32 $r4 a[0x18]\nadd b32 $r4 $r4 $r1\nst b32 o[0x0] $r4\nemit\n\
        st b32 o[0x0] $r3\nemit\nexit restart\n";
    let inputs = [(0, 2, Per::Vertex), (0x18, 1, Per::Primitive)];
    let (outcome, memory, layout) =
        run(text, Stage::Geometry, &inputs, (OutputPlace::Address(0), 2), |memory, layout| {
            let area = layout.inputs[0].unwrap();
            for n in 0..6 {
                let at = area.start + n / 2 * area.vertex_stride + n % 2 * area.word_stride;
                memory.set(7, at, 100 + n);
            }
            memory.set(7, layout.inputs[1].unwrap().start, 44);
        });
    outcome.unwrap();
    let rows = layout.outputs[0];
    let row = |n: u32| [0, 4].map(|at| memory.word(7, rows.start + n * rows.row_stride + at));
    assert_eq!([row(0), row(1)], [[105, 105], [44, 0]]);
    assert_eq!(memory.word(7, layout.emitted.unwrap()), 2);
    assert_eq!([0, 4].map(|at| memory.word(7, layout.cuts.unwrap() + at)), [1; 2]);
}

#[test]
fn spaces_end() {
    let text = "shl $a1 a[0x0] 0x2\nld b32 $r1 a[$a1+0x4]\nexit st b32 o[$a1] $r1\n";
    let at = |index: u32| {
        let inputs = [(0, 1, Per::Vertex)];
        let place = (OutputPlace::Address(0), 1);
        run(text, Stage::Vertex, &inputs, place, |memory, layout| {
            memory.set(30, layout.inputs[0].unwrap().start, index);
        })
        .0
    };
    assert!(at(0x7e).is_ok());
    let fault = at(0x7f).unwrap_err();
    let expected = (FaultKind::Memory, BASE + 8, 30, Some(0x200), false);
    assert_eq!((fault.kind, fault.pc, fault.lane, fault.address, fault.store), expected);
}

#[test]
fn registers_at_every_end() {
    // Lanes end at different places, one by a return.
    let text = "interp $r1 flat v[0x0]\nmov b32 $r0 0x1\nset $c0 # e u32 $r1 $r0\n(lg $c0) ret\nmov b32 $r0 0x2\nexit nop\n";
    let text = text.replace("(lg $c0)", "(e $c0)");
    let inputs = [(0, 1, Per::Primitive)];
    let place = (OutputPlace::Register(0), 1);
    let (outcome, memory, layout) = run(&text, Stage::Fragment, &inputs, place, |memory, layout| {
        memory.set(3, layout.inputs[0].unwrap().start, 1);
    });
    outcome.unwrap();
    let out = |lane| memory.word(lane, layout.outputs[0].start);
    assert_eq!([out(2) + out(3), out(4)], [3, out(2)]);
}

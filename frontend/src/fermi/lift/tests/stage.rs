//! Runs programs of graphics stages: emitted vertices, patches, helpers, ends of attribute spaces.

use warpjit_ir::Meter;
use warpjit_ir::interp::{Fault, FaultKind};

use crate::fermi::lift::{Options, lift, needs};
use crate::fermi::{Chip, assemble};
use crate::isa::Stage;
use crate::simt::stage::Plan;
use crate::stage::{
    InputPlace, LaneWord, OutputPlace, Per, StageInput, StageInterface, StageLayout, StageOutput,
};
use crate::testing::{StageMemory, run_warp};

fn interface(stage: Stage, inputs: &[(u32, u32, Per)], outputs: &[(OutputPlace, u32)]) -> StageInterface {
    StageInterface {
        stage,
        vertices: 3,
        invocations: if stage == Stage::TessControl { 4 } else { 1 },
        max_vertices: 3,
        inputs: inputs
            .iter()
            .map(|&(at, words, per)| StageInput { place: InputPlace::Address(at), words, per })
            .collect(),
        outputs: outputs.iter().map(|&(place, words)| StageOutput { place, words }).collect(),
        ..StageInterface::default()
    }
}

/// Runs a program; `fill` gives it what it reads.
fn run(
    text: &str,
    interface: &StageInterface,
    fill: impl Fn(&mut StageMemory, &StageLayout),
) -> (Result<(), Fault>, StageMemory, StageLayout) {
    let code = assemble(text, Chip::Gf100).unwrap_or_else(|error| panic!("{error}")).code;
    let mut options = Options { stage: interface.stage, ..Options::compute("test", Chip::Gf100, 16) };
    let needs =
        needs(&crate::code::Code::of_file(&code, options.base, 0), &options, &Meter::unlimited()).unwrap();
    let plan = Plan::new(interface, &needs.uses, 0, false).unwrap();
    options.plan = Some(&plan);
    let func = lift(&code, &options, &Meter::unlimited()).unwrap();
    let mut memory = StageMemory::new(&plan.layout);
    fill(&mut memory, &plan.layout);
    let outcome = run_warp(&func, &mut memory, "r0").map(drop);
    (outcome, memory, plan.layout.clone())
}

fn nothing(_: &mut StageMemory, _: &StageLayout) {}

#[test]
fn vertices_beyond_the_most_are_dropped() {
    // Each vertex has the number of those before it, and only the first the second word.
    let text = "mov b32 $r1 0x0\nmov b32 $r2 0x7\nst b32 a[0x74] $r2 0x0 unk39\n\
        st b32 a[0x70] $r1 0x0 unk39\nout restart $r3 $r3 0x0\nout emit $r3 $r3 0x0\nout emit $r3 $r3 0x1\n\
        add b32 $r1 $r1 0x1\nst b32 a[0x70] $r1 0x0 unk39\nout emit restart $r3 $r3 0x0\n\
        out restart $r3 $r3 0x0\nout emit $r3 $r3 0x0\nout emit $r3 $r3 0x0\nout restart $r3 $r3 0x0\nexit\n";
    let interface = interface(Stage::Geometry, &[], &[(OutputPlace::Address(0x70), 2)]);
    let (outcome, memory, layout) = run(text, &interface, nothing);
    outcome.unwrap();
    let rows = layout.outputs[0];
    let row = |n: u32| [0, 4].map(|at| memory.word(5, rows.start + n * rows.row_stride + at));
    assert_eq!(memory.word(5, layout.emitted.unwrap()), 3);
    assert_eq!([row(0), row(1), row(2)], [[0, 7], [1, 0], [0, 0]]);
    let cuts = [0, 4, 8].map(|at| memory.word(5, layout.cuts.unwrap() + at) != 0);
    assert_eq!(cuts, [false, true, true]);
}

#[test]
fn streams_have_strips_of_their_own() {
    // Vertices of streams 0, 2, 3 (which the interface does not have), 1 and 2; each has its number. Strips are cut of stream 2 behind its
    // first vertex, when a vertex of none has followed, of stream 0 behind later vertices of others, and of stream 1 together with its
    // vertex.
    let text = "mov b32 $r1 0x1\nmov b32 $r2 0x2\nst b32 a[0x70] $r1 0x0 unk39\nout emit $r3 $r3 0x0\n\
        out restart $r3 $r3 0x1\nadd b32 $r1 $r1 0x1\nst b32 a[0x70] $r1 0x0 unk39\nout emit $r3 $r3 $r2\n\
        out restart $r3 $r3 $r2\nadd b32 $r1 $r1 0x1\nst b32 a[0x70] $r1 0x0 unk39\nout emit $r3 $r3 0x3\n\
        out restart $r3 $r3 0x3\nout emit restart $r3 $r3 0x1\nout restart $r3 $r3 0x0\nout emit $r3 $r3 0x2\nexit\n";
    let mut interface = interface(Stage::Geometry, &[], &[(OutputPlace::Address(0x70), 1)]);
    (interface.streams, interface.max_vertices) = (3, 5);
    let (outcome, memory, layout) = run(text, &interface, nothing);
    outcome.unwrap();
    let rows = layout.outputs[0];
    let row = |n: u32| memory.word(5, rows.start + n * rows.row_stride);
    assert_eq!(memory.word(5, layout.emitted.unwrap()), 4);
    // A vertex of a stream that is not there is none, so that its word stays for the next one.
    assert_eq!([row(0), row(1), row(2), row(3)], [1, 2, 3, 0]);
    let flags = [0, 4, 8, 12, 16].map(|at| memory.word(5, layout.cuts.unwrap() + at));
    assert_eq!(flags, [1, 0x201, 0x101, 0x200, 0]);
}

#[test]
fn patches_share_outputs() {
    // Each thread reads what the next one of its patch has written, and all write one word of the patch.
    let text = "mov b32 $r0 $invoc\nst b32 a[0x90] $r0 0x0 unk39\nbar sync 0x0 0x0\nmov b32 $r1 $laneid\n\
        sub b32 $r1 $r1 $r0\nadd b32 $r2 $r0 0x1\nand b32 $r2 $r2 0x3\nadd b32 $r1 $r1 $r2\n\
        ld b32 $r3 out a[0x90] $r1 unk39\nst b32 a[0x94] $r3 0x0 unk39\n\
        st patch b32 a[0x20] $r0 0x0 unk39\nbar sync 0x0 0x0\nld patch out b32 $r4 a[0x20] 0x0 unk39\n\
        st b32 a[0x98] $r4 0x0 unk39\nexit\n";
    let text = text
        .replace("bar sync 0x0 0x0", "bar popc 0x1 0x0 0x0 0x0 0x1")
        .replace("ld patch out b32 $r4 a", "ld patch b32 $r4 a");
    let places = [(OutputPlace::Address(0x90), 3), (OutputPlace::Patch(0x20), 1)];
    let interface = interface(Stage::TessControl, &[], &places);
    let (outcome, memory, layout) = run(&text, &interface, |memory, layout| {
        for lane in 0..32 {
            memory.set_lane_word(layout, lane, LaneWord::Invocation, lane % 4);
            memory.set_lane_word(layout, lane, LaneWord::PatchInWarp, lane / 4);
        }
    });
    outcome.unwrap();
    assert_eq!(layout.patches_per_warp, 8);
    let [own, patch] = [layout.outputs[0], layout.outputs[1]];
    let word =
        |lane: u32, n: u32| memory.shared_word(own.start + n * own.word_stride + lane * own.row_stride);
    for lane in 0..32 {
        assert_eq!([word(lane, 0), word(lane, 1), word(lane, 2)], [lane % 4, (lane + 1) % 4, 3], "{lane}");
    }
    assert_eq!(memory.shared_word(patch.start + 5 * patch.row_stride), 3);
}

#[test]
fn helpers_store_nothing() {
    // Lanes 4 on are helpers, lane 1 is discarded.
    let text = "mov b32 $r1 $laneid\nset $p0 0x1 eq u32 $r1 0x1\n$p0 discard\nmov b32 $r0 $thread_kill\n\
        st b32 wb g[$r1] $r1\nexit\n";
    let text = text.replace("g[$r1] $r1", "g[$r2] $r1");
    let interface = interface(Stage::Fragment, &[], &[(OutputPlace::Register(0), 1)]);
    let (outcome, memory, layout) = run(&text, &interface, |memory, layout| {
        for lane in 4..32 {
            memory.set_lane_word(layout, lane, LaneWord::Covered, 0);
        }
    });
    outcome.unwrap();
    let stored: Vec<u32> = memory.stores.iter().map(|&(lane, ..)| lane).collect();
    assert_eq!(stored, [0, 2, 3]);
    let killed = |lane| memory.word(lane, layout.outputs[0].start) != 0;
    assert_eq!([0, 1, 2, 3, 4].map(killed), [false, true, false, false, true]);
    assert_ne!(
        layout.alive,
        Some(layout.lane_words.iter().find(|(word, _)| *word == LaneWord::Covered).unwrap().1)
    );
    assert_eq!([0, 1, 4].map(|lane| memory.word(lane, layout.alive.unwrap()) != 0), [true, false, false]);
}

#[test]
fn interpolation_at_an_offset() {
    // 1 + 2x + 4y at the centre (10.5, 20.5), at (10.25, 20.75); what is no plane is itself.
    let text = "interp pass f32 $r0 a[0x80] 0x0 0x0\nmov b32 $r4 0x0400fc00\n\
        interp pass f32 $r1 off a[0x80] 0x0 $r4\ninterp flat f32 $r2 a[0x80] 0x0 0x0\n\
        interp pass f32 $r3 a[0x90] 0x0 0x0\nexit\n";
    let inputs = [(0x80, 1, Per::Plane), (0x90, 1, Per::Pixel)];
    let interface = interface(Stage::Fragment, &inputs, &[(OutputPlace::Register(0), 4)]);
    let (outcome, memory, layout) = run(text, &interface, |memory, layout| {
        memory.set_lane_word(layout, 0, LaneWord::PixelX, 10.5f32.to_bits());
        memory.set_lane_word(layout, 0, LaneWord::PixelY, 20.5f32.to_bits());
        let plane = layout.inputs[0].unwrap();
        for (n, value) in (0..).zip([1.0f32, 2.0, 4.0]) {
            memory.set(0, plane.start + 4 * n, value.to_bits());
        }
        // No arithmetic touches it.
        memory.set(0, layout.inputs[1].unwrap().start, 0x7f80_0001);
    });
    outcome.unwrap();
    let words = [0, 4, 8, 12].map(|at| memory.word(0, layout.outputs[0].start + at));
    assert_eq!(words, [104.0f32.to_bits(), 104.5f32.to_bits(), 1.0f32.to_bits(), 0x7f80_0001]);
}

#[test]
fn spaces_end() {
    let text = "ld b32 $r0 a[0x80] 0x0 unk39\nld b32 $r1 a[$r0+0x80] 0x0 unk39\nexit\n";
    let interface = interface(Stage::Vertex, &[(0x80, 1, Per::Vertex)], &[]);
    let at = |offset: u32| {
        run(text, &interface, |memory, layout| {
            memory.set(9, layout.inputs[0].unwrap().start, offset);
        })
        .0
    };
    assert!(at(0x37c).is_ok());
    let fault = at(0x380).unwrap_err();
    assert_eq!((fault.kind, fault.pc, fault.lane, fault.address), (FaultKind::Memory, 8, 9, Some(0x400)));
}

#[test]
fn what_no_table_gives() {
    let text = "ld b32 $r0 a[0x84] 0x0 unk39\nst b32 a[0x70] $r0 0x0 unk39\nexit\n";
    let interface = interface(Stage::Vertex, &[(0x80, 1, Per::Vertex)], &[(OutputPlace::Address(0x70), 1)]);
    let (outcome, memory, layout) = run(text, &interface, nothing);
    outcome.unwrap();
    assert_eq!((layout.missing, layout.inputs), (vec![0x84], vec![None]));
    assert_eq!(memory.word(3, layout.outputs[0].start), 0);
}

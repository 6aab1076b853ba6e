//! Tests geometry programs with several vertex streams, as drivers for transform feedback use them: rows of all streams stand in the order
//! of emission, and each row's flags tell its stream and whether its strip was cut behind it.

use warpjit_frontend::isa::Stage;
use warpjit_frontend::{fermi, gcn};
use warpjit_runtime::stage::{
    Batch, Emitted, InputPlace, OutputPlace, Per, Rows, RowsMut, StageInput, StageInterface, StageOutput,
    Work,
};
use warpjit_runtime::{Chip, Launch, Program, ProgramOptions};
use warpjit_tests::engines::interpreter_and_compiled;

/// More than a warp and a wave.
const PRIMITIVES: u32 = 70;
const MOST: usize = 4;

fn interface(place: InputPlace, outputs: Vec<StageOutput>, streams: u32) -> StageInterface {
    StageInterface {
        stage: Stage::Geometry,
        vertices: 1,
        invocations: 1,
        max_vertices: MOST as u32,
        streams,
        inputs: vec![StageInput { place, words: 1, per: Per::Primitive }],
        outputs,
        ..StageInterface::default()
    }
}

fn program(code: &[u8], chip: Chip, interface: StageInterface) -> Program {
    let options =
        ProgramOptions::new(chip.isa()).raw(true).chip(Some(chip)).registers(Some(32)).stage(Some(interface));
    Program::load(code, &options).unwrap()
}

/// What a program emits from a primitive: the number that each vertex has, its stream, and whether its strip is cut there.
fn check(program: &Program, what: &str, emits: impl Fn(u32) -> Vec<(u32, u32, bool)>) {
    let words: Vec<u32> = (0..PRIMITIVES).collect();
    let (mut want_counts, mut want_flags, mut want_rows) = (Vec::new(), Vec::new(), Vec::new());
    let outputs = program.interface().unwrap().outputs.len();
    for &primitive in &words {
        let vertices = emits(primitive);
        want_counts.push(vertices.len() as u32);
        for row in 0..MOST {
            let flags = vertices.get(row).map_or(0, |&(_, stream, cut)| stream << 8 | u32::from(cut));
            want_flags.push(flags);
            want_rows.push(vertices.get(row).map_or(7, |&(number, ..)| primitive << 8 | number));
        }
    }
    for (name, engine) in interpreter_and_compiled() {
        let lanes = PRIMITIVES as usize;
        let (mut counts, mut cuts, mut rows) =
            (vec![7; lanes], vec![7; MOST * lanes], vec![7_u32; MOST * lanes]);
        let memory = engine.memory().unwrap();
        let mut batch = Batch::new(Work::Primitives(PRIMITIVES));
        batch.inputs = vec![Rows::from(&words[..])];
        batch.outputs = std::iter::once(RowsMut::from(&mut rows[..])).take(outputs).collect();
        batch.emitted = Some(Emitted { counts: &mut counts, cuts: &mut cuts });
        let report = engine.run_stage(program, &memory, &Launch::default(), &mut batch).unwrap();
        assert_eq!(report.fault, None, "{what}, {name}");
        assert_eq!((&counts, &cuts), (&want_counts, &want_flags), "{what}, {name}");
        if outputs > 0 {
            assert_eq!(rows, want_rows, "{what}, {name}");
        }
    }
}

/// Even primitives emit a vertex of stream 3 and one of the stream that their number's second bit says; then all cut stream 3, and
/// emit a vertex of stream 0 that ends a strip.
fn fermi_text() -> String {
    let vertex = "st b32 a[0x70] $r5 $r3 unk39";
    let next = "add b32 $r5 $r5 0x1";
    let text = format!(
        "ld b32 $r4 a[0x60] $r63\nshl b32 $r5 $r4 clamp 0x8\nmov b32 $r3 0x0\nshr u32 $r6 $r4 clamp 0x1\n\
         and b32 $r6 $r6 0x1\nand b32 $r7 $r4 0x1\nset $p0 0x1 ne u32 $r7 0x0\n$p0 bra #odd\n\
         {vertex}\nout emit $r3 $r3 0x3\n{next}\n{vertex}\nout emit $r3 $r3 $r6\n{next}\nodd:\n\
         out restart $r3 $r3 0x3\n{vertex}\nout emit restart $r3 $r3 0x0\nexit"
    );
    text.lines()
        .map(|line| if line.ends_with(':') { format!("{line}\n") } else { format!("long {line}\n") })
        .collect()
}

#[test]
fn streams_of_fermi() {
    let text = fermi_text();
    let code =
        fermi::assemble(&text, fermi::Chip::Gf100).unwrap_or_else(|error| panic!("{error}\n{text}")).code;
    let output = StageOutput { place: OutputPlace::Address(0x70), words: 1 };
    for streams in [4, 2] {
        let interface = interface(InputPlace::Address(0x60), vec![output], streams);
        let program = program(&code, fermi::Chip::Gf100.into(), interface);
        check(&program, &format!("{streams} streams"), |primitive| match (primitive % 2, streams) {
            (0, 4) => vec![(0, 3, true), (1, primitive >> 1 & 1, false), (2, 0, true)],
            // The fourth stream's vertex is none, and its word is written again.
            (0, _) => vec![(1, primitive >> 1 & 1, false), (2, 0, true)],
            _ => vec![(0, 0, true)],
        });
    }
}

#[test]
fn streams_of_gcn() {
    let text = "v_and_b32 v1, 1, v0\nv_cmp_eq_u32 vcc, 0, v1\ns_mov_b64 s[0:1], exec\ns_and_b64 exec, exec, vcc\n\
                s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT, 3)\ns_sendmsg sendmsg(MSG_GS, GS_OP_EMIT, 1)\n\
                s_mov_b64 exec, s[0:1]\ns_sendmsg sendmsg(MSG_GS, GS_OP_CUT, 3)\n\
                s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT_CUT, 0)\ns_sendmsg sendmsg(MSG_GS_DONE, GS_OP_NOP)\ns_endpgm\n";
    use gcn::Generation::{Gfx6, Gfx7, Gfx8, Gfx9};
    for generation in [Gfx6, Gfx7, Gfx8, Gfx9] {
        let code = gcn::assemble(text, generation).unwrap_or_else(|error| panic!("{error}")).code;
        for streams in [4, 1] {
            let interface = interface(InputPlace::Register(0), Vec::new(), streams);
            let program = program(&code, generation.into(), interface);
            check(&program, &format!("{generation:?}, {streams}"), |primitive| {
                match (primitive % 2, streams) {
                    (0, 4) => vec![(0, 3, true), (1, 1, false), (2, 0, true)],
                    _ => vec![(0, 0, true)],
                }
            });
        }
    }
}

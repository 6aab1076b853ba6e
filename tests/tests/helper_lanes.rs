//! Tests lanes that run but store nothing: helpers of fragment programs, which fill up quads, and pixels that were discarded. They compute
//! and load as the others do; stores, atomics and locks of memory that others see are not for them, in any tier and with any chunk.

use warpjit_frontend::isa::Stage;
use warpjit_frontend::{fermi, gcn};
use warpjit_runtime::stage::{
    Batch, InputPlace, OutputPlace, Per, Quad, Rows, RowsMut, StageInput, StageInterface, StageOutput, Work,
};
use warpjit_runtime::{Access, Chip, Launch, Program, ProgramOptions};
use warpjit_tests::engines::interpreter_and_compiled;

/// Where the programs store.
const AT: u64 = 0x1_0000;
/// Words for each pixel: `number + 1`, and after some have been discarded again.
const FIRST: usize = 0;
const SECOND: usize = 0x400 / 4;
/// Counters of pixels: all, those that are left, those by an atomic that returns what was there.
const COUNTERS: usize = 0x800 / 4;
const WORDS: usize = 0xa00 / 4;

/// More than a warp and a wave; every combination of covered pixels.
fn quads() -> Vec<Quad> {
    (0..37).map(|n| Quad { x: 2 * n, y: 0, primitive: 0, mask: (n * 7 + 3) % 16 }).collect()
}

fn program(code: &[u8], chip: Chip, input: InputPlace, outputs: Vec<StageOutput>) -> Program {
    let interface = StageInterface {
        stage: Stage::Fragment,
        inputs: vec![StageInput { place: input, words: 1, per: Per::Pixel }],
        outputs,
        ..StageInterface::default()
    };
    let options =
        ProgramOptions::new(chip.isa()).raw(true).chip(Some(chip)).registers(Some(32)).stage(Some(interface));
    Program::load(code, &options).expect("a program")
}

/// Runs a program with every setting: the words that it leaves must be `want`.
fn check(what: &str, program: &Program, want: &[u32]) {
    let quads = quads();
    let numbers: Vec<u32> = (0..4 * quads.len() as u32).collect();
    for (name, engine) in interpreter_and_compiled() {
        let memory = engine.memory().expect("memory");
        memory.map(Some(AT), 4 * WORDS as u64, Access::ReadWrite).expect("mapped");
        let mut out = vec![0u32; numbers.len()];
        let mut batch = Batch::new(Work::Quads(&quads));
        batch.inputs = vec![Rows::from(&numbers[..])];
        if !program.interface().expect("a stage").outputs.is_empty() {
            batch.outputs = vec![RowsMut::from(&mut out[..])];
        }
        // A lock that a helper has taken would never be free again.
        let launch = Launch::default().max_steps(100_000);
        let report = engine.run_stage(program, &memory, &launch, &mut batch).expect("it runs");
        assert_eq!(report.fault, None, "{what}, {name}");
        let mut bytes = vec![0; 4 * WORDS];
        memory.read(AT, &mut bytes).expect("read");
        let got: Vec<u32> = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        for (n, (got, want)) in got.iter().zip(want).enumerate() {
            assert_eq!(got, want, "{what}, {name}: word {n:#x}");
        }
    }
}

/// What the programs leave if only covered pixels store, and those for which `left` holds store the second time.
fn wanted(left: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut want = vec![0; WORDS];
    for (quad, n) in quads().iter().zip(0u32..) {
        for number in (0..4).filter(|lane| quad.mask >> lane & 1 != 0).map(|lane| 4 * n + lane) {
            want[FIRST + number as usize] = number + 1;
            want[COUNTERS] += 1;
            want[COUNTERS + 2] += number;
            if left(number) {
                want[SECOND + number as usize] = number + 1;
                want[COUNTERS + 1] += 1;
            }
        }
    }
    want
}

fn fermi_program(text: &str) -> Program {
    let code =
        fermi::assemble(text, fermi::Chip::Gf100).unwrap_or_else(|error| panic!("{error}\n{text}")).code;
    let output = StageOutput { place: OutputPlace::Register(0), words: 1 };
    program(&code, fermi::Chip::Gf100.into(), InputPlace::Address(0x80), vec![output])
}

#[test]
fn helpers_of_fermi_store_nothing() {
    let text = "interp pass f32 $r0 a[0x80] 0x0 0x0\nshl b32 $r1 $r0 clamp 0x2\nadd b32 $r1 $r1 0x10000\n\
                add b32 $r2 $r0 0x1\nmov b32 $r3 0x10800\nmov b32 $r4 0x1\n\
                st b32 wb g[$r1] $r2\nred add u32 g[$r3] $r4\nld add u32 $r5 g[$r3+0x8] $r0\n\
                and b32 $r6 $r0 0x3\nset $p0 0x1 eq u32 $r6 0x1\n$p0 discard\n\
                st b32 wb g[$r1+0x400] $r2\nred add u32 g[$r3+0x4] $r4\nexit\n";
    check("Fermi", &fermi_program(text), &wanted(|number| number % 4 != 1));
}

/// A critical section that helpers enter, too: they store nothing in it, so they must not have its lock.
#[test]
fn helpers_take_no_locks() {
    let text = "interp pass f32 $r0 a[0x80] 0x0 0x0\nlong mov b32 $r5 0x10800\nagain:\n\
                long ld lock b32 $p1 $r6 g[$r5]\nlong $p1 add b32 $r6 $r6 0x1\n\
                long $p1 st unlock b32 g[$r5] $r6\nlong (not $p1) bra #again\nlong exit\n";
    let mut want = vec![0; WORDS];
    want[COUNTERS] = wanted(|_| true)[COUNTERS];
    check("locks", &fermi_program(text), &want);
}

#[test]
fn helpers_of_gcn_store_nothing() {
    // The program brings the helpers to life, and takes pixels out that are to be discarded.
    let text = "s_mov_b32 s4, 0x10000\ns_mov_b32 s5, 0\ns_mov_b32 s6, 0xa00\ns_mov_b32 s7, 0x27fac\n\
                s_mov_b64 s[0:1], exec\ns_wqm_b64 exec, exec\nv_lshlrev_b32 v1, 2, v0\nv_add_u32 v2, vcc, 1, v0\n\
                v_mov_b32 v3, 0x800\nv_mov_b32 v4, 1\nv_mov_b32 v5, v0\n\
                buffer_store_dword v2, v1, s[4:7], 0 offen\nbuffer_atomic_add v4, v3, s[4:7], 0 offen\n\
                buffer_atomic_add v5, v3, s[4:7], 0 offen offset:8 glc\n\
                v_and_b32 v6, 3, v0\nv_cmp_ne_u32 vcc, 1, v6\ns_and_b64 exec, exec, vcc\n\
                buffer_store_dword v2, v1, s[4:7], 0 offen offset:1024\n\
                buffer_atomic_add v4, v3, s[4:7], 0 offen offset:4\n\
                s_and_b64 exec, exec, s[0:1]\nexp mrt0 v0, v0, v0, v0 done vm\ns_endpgm\n";
    let code = gcn::assemble(text, gcn::Generation::Gfx8).unwrap_or_else(|error| panic!("{error}")).code;
    let program = program(&code, gcn::Generation::Gfx8.into(), InputPlace::Register(0), Vec::new());
    check("GCN", &program, &wanted(|number| number % 4 != 1));
}

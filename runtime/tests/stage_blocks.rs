//! Tests what warps of a stage have for themselves where many run one after the other in the same storage: local and shared memory,
//! registers, ends of local memory, faults.

mod support;

use support::{image, settings, told};
use warpjit_runtime::stage::*;
use warpjit_runtime::{Config, Engine, FaultKind, KernelImage, Launch, Program, Tier};

/// Lanes of a warp.
const WARP: u32 = 32;
/// More warps than run without a look at anything else.
const WARPS: u32 = 300;

/// A vertex program whose word of input is at l[0x10], and whose outputs are at l[0x20].
fn program(local_bytes: u32, words: u32, slots: &str, body: &str) -> Program {
    let interface = StageInterface {
        stage: Stage::Vertex,
        inputs: vec![StageInput { place: InputPlace::Address(0), words: 1, per: Per::Vertex }],
        outputs: vec![StageOutput { place: OutputPlace::Address(0), words }],
        ..StageInterface::default()
    };
    let area = |start| OutputArea { shared: false, start, word_stride: 4, row_stride: 0, written: None };
    let layout = StageLayout {
        inputs: vec![Some(InputArea { start: 0x10, word_stride: 4, vertex_stride: 0 })],
        outputs: vec![area(0x20)],
        ..StageLayout::default()
    };
    let text = format!(
        "{slots}block0 at 0x0 insts 4:\n    v0: ui32 = const 0\n    v1: i32 = splat v0\n{body}    jump block1\n\
         block1 at 0x20 insts 1:\n    leave.exit -> block1\n"
    );
    let image = KernelImage { stage: Some(layout), local_bytes, ..image(&text) };
    Program::from_stage_image(image, interface).expect("a program")
}

/// Runs a batch of `count` vertices with every setting, twice: the rows are what `check` wants.
fn on_all(
    program: &Program,
    inputs: &[u32],
    words: u32,
    check: impl Fn(&str, &[u32], Option<(FaultKind, u32, u32)>),
) {
    let auto = Config::default().tier(Tier::Auto).hot_after(Some(0));
    for config in settings().into_iter().chain([auto]) {
        let engine = Engine::new(config.clone()).expect("engine");
        let memory = engine.memory().expect("memory");
        for _ in 0..2 {
            let mut out = vec![7_u32; inputs.len() * words as usize];
            let mut batch = Batch::new(Work::Vertices(inputs.len() as u32));
            batch.inputs = vec![Rows::from(inputs)];
            batch.outputs = vec![RowsMut::from(&mut out[..])];
            let report = engine.run_stage(program, &memory, &Launch::default(), &mut batch).expect("runs");
            let fault = report.fault.map(|fault| (fault.kind, fault.block[0], fault.lane));
            check(&told(&config), &out, fault);
            engine.wait_for_compiler();
        }
    }
}

#[test]
fn a_warp_finds_nothing_of_the_one_before() {
    // Local memory, shared memory and a register begin as 0, whatever the warp before has left there.
    let body = "    v2: i32 = load.u32 local[v1 + 0x10] align 4\n    v3: i32 = load.u32 local[v1 + 0x80] align 4\n    \
                v4: i32 = load.u32 shared[v1 + 0x40] align 4\n    v5: i32 = slot.get s0\n    \
                store.u32 local[v1 + 0x20], v2 align 4\n    store.u32 local[v1 + 0x24], v3 align 4\n    \
                store.u32 local[v1 + 0x28], v4 align 4\n    store.u32 local[v1 + 0x2c], v5 align 4\n    \
                v6: i32 = iadd v2, v1\n    v7: i32 = inot v6\n    store.u32 local[v1 + 0x80], v7 align 4\n    \
                store.u32 shared[v1 + 0x40], v7 align 4\n    slot.set s0, v7\n";
    let program = program(0x100, 4, "    slot s0: i32 own\n", body);
    // The last warp has a part of its lanes.
    let inputs: Vec<u32> = (0..WARP * WARPS + 5).collect();
    on_all(&program, &inputs, 4, |setting, out, fault| {
        assert_eq!(fault, None, "{setting}");
        for (n, row) in (0..).zip(out.chunks(4)) {
            assert_eq!(row, [n, 0, 0, 0], "{setting}");
        }
    });
}

#[test]
fn local_memory_ends_where_the_image_says() {
    // Words at the end of local memory and behind it, at constant addresses and at ones that vertices give. Behind the end stores do
    // nothing and loads give 0, also of the words of the next lane or of another warp.
    for end in [0x60_u32, 0x64, 0x100, 0x7f0] {
        let last = end - 4;
        let body = format!(
            "    v2: i32 = load.u32 local[v1 + 0x10] align 4\n    \
             store.u32 local[v1 + {last:#x}], v2 align 4\n    store.u32 local[v1 + {end:#x}], v2 align 4\n    \
             store.u32 local[v1 + {:#x}], v2 align 4\n    \
             v3: i32 = load.u32 local[v1 + {last:#x}] align 4\n    v4: i32 = load.u32 local[v1 + {end:#x}] align 4\n    \
             v5: i32 = load.u32 local[v1 + {:#x}] align 4\n    \
             v6: i32 = load.u32 local[v2 + {last:#x}] align 4\n    \
             store.u32 local[v1 + 0x20], v3 align 4\n    store.u32 local[v1 + 0x24], v4 align 4\n    \
             store.u32 local[v1 + 0x28], v5 align 4\n    store.u32 local[v1 + 0x2c], v6 align 4\n",
            end + 4,
            end + 4,
        );
        let program = program(end, 4, "", &body);
        let inputs: Vec<u32> = (0..WARP * 70 + 9).map(|n| n % 3 * 4).collect();
        on_all(&program, &inputs, 4, |setting, out, fault| {
            assert_eq!(fault, None, "{setting}");
            for (row, &n) in out.chunks(4).zip(&inputs) {
                // The word at the end is the vertex's, and the one that it names is that if it names none behind.
                assert_eq!(row, [n, 0, 0, 0], "{n}, {end:#x}, {setting}");
            }
        });
    }
}

#[test]
fn a_fault_far_behind_is_the_first_one() {
    // Vertices load from where they say; two of them from where nothing is. All warps before have written.
    let body = "    v2: i32 = load.u32 local[v1 + 0x10] align 4\n    v3: i32 = load.u32 global14[v2] align 4\n    \
                store.u32 local[v1 + 0x20], v3 align 4\n";
    let program = program(0x100, 1, "", body);
    let (first, second) = (WARP * 130 + 3, WARP * 131 + 1);
    let inputs: Vec<u32> =
        (0..WARP * WARPS).map(|n| if n == first || n == second { 0x500_0000 } else { 0x1_0000 }).collect();
    for config in settings() {
        let engine = Engine::new(config.clone()).expect("engine");
        let memory = engine.memory().expect("memory");
        memory.map(Some(0x1_0000), 4096, warpjit_runtime::Access::ReadWrite).expect("mapped");
        memory.write(0x1_0000, &5_u32.to_le_bytes()).expect("written");
        let mut out = vec![7_u32; inputs.len()];
        let mut batch = Batch::new(Work::Vertices(inputs.len() as u32));
        batch.inputs = vec![Rows::from(&inputs[..])];
        batch.outputs = vec![RowsMut::from(&mut out[..])];
        let report = engine.run_stage(&program, &memory, &Launch::default(), &mut batch).expect("runs");
        let fault = report.fault.expect("a fault");
        assert_eq!(
            (fault.kind, fault.block, fault.lane),
            (FaultKind::Memory, [130, 0, 0], 3),
            "{}",
            told(&config)
        );
        let before = (WARP * 130) as usize;
        assert!(out[..before].iter().all(|&word| word == 5), "{}", told(&config));
        assert!(out[before..before + WARP as usize].iter().all(|&word| word == 7), "{}", told(&config));
    }
}

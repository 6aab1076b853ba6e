//! Tests memory segments that a launch provides: their contents, their addresses in slots and in memory, and segments divided
//! among warps.

mod support;

use support::{abi, engine, launch, run, settings, told};
use warpjit_ir::{Builtin, HeaderField, ParamSpace, Segment, SegmentSize, Space};
use warpjit_runtime::{Arg, Engine, FaultKind, Memory, Program, Tier};

/// Segment 0: arguments and sizes; 1: constants; 2: memory of each warp.
///
/// out[ctaid * 64 + tid] = arg + constant + grid threads + (sum of what the warp left in its memory) + dynamic shared.
const BODY: &str = "
    slot s0: i32 tid = tid.x
    slot s1: i32 bid = ctaid.x
    slot s2: ui64 args = 0xe0000000
    slot s3: ui32 low = 0xe0020000
    slot s4: ui32 mine = segment 2
    slot s5: i32 seven = 0x7
    slot s6: i32 lane = laneid
block0 at 0x0 insts 4:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: ui64 = slot.get s2
    v3: i64 = splat v2
    v4: i32 = load.u32 global0[v3 + 0x0] align 4
    v5: i64 = load.u64 global0[v3 + 0x8] align 8
    v6: i32 = load.u32 global0[v5 + 0x4] align 4
    v7: i32 = load.u8 global0[v3 + 0x10] align 1
    v8: i32 = load.u32 global0[v3 + 0x4] align 4
    v9: i32 = iadd v4, v6
    v10: i32 = iadd v9, v7
    v11: i32 = iadd v10, v8
    v12: ui32 = slot.get s3
    v13: ui32 = slot.get s4
    v14: ui32 = iadd v12, v13
    v15: i32 = slot.get s6
    v16: ui32 = const 2
    v17: i32 = ishl v15, v16
    v18: i32 = iadd v17, v14
    v19: i32 = load.u32 global0[v18 + 0x0] align 4
    v20: i32 = iadd v11, v19
    store.u32 global0[v18 + 0x0], v20 align 4
    v21: i32 = load.u32 global0[v18 + 0x0] align 4
    v26: i32 = slot.get s5
    v27: i32 = iadd v21, v26
    v28: ui32 = const 6
    v29: i32 = ishl v1, v28
    v30: i32 = iadd v29, v0
    v31: i32 = ishl v30, v16
    store.u32 global0[v31 + 0x10000], v27 align 4
    jump block1
block1 at 0x20 insts 1:
    leave.exit -> block1
";

fn segmented() -> Program {
    let mut image = support::image(BODY);
    let field = |offset, value| HeaderField { space: Space::Global(0), offset, bytes: 1, value };
    image.abi = abi();
    image.abi.header = vec![field(0x10, Builtin::GridThreads(0)), field(0x12, Builtin::Axes)];
    image.abi.params = ParamSpace { space: Space::Global(0), offset: 0, max_bytes: 8, pointer_bytes: 8 };
    let segment =
        |name, address, size| Segment { name, address, size, writable: false, contents: Vec::new() };
    let pointer = 0xe001_0004_u64.to_le_bytes();
    image.abi.segments = vec![
        Segment {
            contents: vec![(8, pointer.into())],
            ..segment("arguments", 0xe000_0000, SegmentSize::Bytes(0x20))
        },
        Segment {
            contents: vec![(8, [0xe8, 3].into())],
            ..segment("constants", 0xe001_0000, SegmentSize::Bytes(12))
        },
        Segment { writable: true, ..segment("scratch", 0xe002_0000, SegmentSize::PerWarp(128)) },
    ];
    Program::from_image(image).expect("a program")
}

#[test]
fn kernels_find_what_is_provided() {
    let program = segmented();
    for config in settings() {
        let engine = Engine::new(config.clone()).unwrap();
        let launch = launch(3, 64).args(vec![Arg::u32(5), Arg::shared(40)]);
        let memory = engine.memory().unwrap();
        memory.map(Some(0x1_0000), 4096, warpjit_runtime::Access::ReadWrite).unwrap();
        for _ in 0..2 {
            let report = engine.run(&program, &memory, &launch).unwrap();
            assert_eq!(report.fault, None);
            // The kernel's own shared memory ends at 1024; 192 threads.
            let want = 5 + 1000 + 192 + 1024 + 7;
            assert_eq!(support::words_of(&memory, 192), vec![want; 192], "{}", told(&config));
        }
        assert_eq!(mapped(&memory), [(0x1_0000, 4096)], "what was provided is gone");
    }
}

fn mapped(memory: &Memory) -> Vec<(u64, u64)> {
    memory.buffers().map(|(address, bytes, _)| (address, bytes)).collect()
}

#[test]
fn segments_need_room() {
    let program = segmented();
    let engine = engine(Tier::Interp, 1);
    let launch = launch(3, 64).args(vec![Arg::u32(5)]);
    let memory = engine.memory().unwrap();
    memory.map(Some(0xe001_0000), 4096, warpjit_runtime::Access::ReadWrite).unwrap();
    let error = engine.run(&program, &memory, &launch).unwrap_err().to_string();
    assert!(error.starts_with("launch: no room for the constants: "), "{error}");
    assert_eq!(mapped(&memory), [(0xe001_0000, 4096)]);
}

#[test]
fn segments_may_be_read_only() {
    let mut image = segmented().image().clone();
    image.abi.segments[2].writable = false;
    let program = Program::from_image(image).expect("a program");
    for config in settings() {
        let launch = launch(3, 64).args(vec![Arg::u32(5)]);
        let (report, _) = run(&Engine::new(config).unwrap(), &program, &launch, 16).unwrap();
        let fault = report.fault.expect("a fault");
        assert_eq!((fault.kind, fault.store), (FaultKind::Memory, true));
    }
}

#[test]
fn pointers_to_shared_memory_count() {
    let program = segmented();
    let engine = engine(Tier::Interp, 1);
    let too_much = launch(1, 64).args(vec![Arg::shared(1), Arg::shared(15361 - 16)]);
    let error = run(&engine, &program, &too_much, 1024).unwrap_err().to_string();
    assert_eq!(error, "launch: test needs 16385 bytes of shared memory, the chip has 16384");
    let plain = support::program("block0 at 0x0 insts 1:\n leave.exit -> block0\n");
    let error = run(&engine, &plain, &launch(1, 1).args(vec![Arg::shared(4)]), 4).unwrap_err();
    assert_eq!(error.to_string(), "launch: test takes no pointers to shared memory");
}

//! Tests lane serialisation in launches (`warpjit_ir::passes::lane_loops`): loops that lanes leave at different times.

mod support;

use std::time::Duration;

use support::{fault_of, launch, program, run_all, settings, told};
use warpjit_runtime::{Access, CancelToken, Engine, FaultKind};

/// Each thread of a block of 70 keeps 3 tid + 1 and 5 tid + 2 in two words, and in (5 tid & 63) + 1 turns makes a sum
/// of them and of the turns left, which it stores to the first; a thread looks at 0x70000000 in its last turn instead.
fn kernel(wild: u32) -> String {
    format!(
        "
    slot s0: i32 tid = tid.x
    slot s1: i32 at
    slot s2: i32 left
    slot s3: i32 sum
    slot s4: i32 own
block0 at 0x8 insts 8:
    v0: i32 = slot.get s0
    v1: ui32 = const 3
    v2: i32 = ishl v0, v1
    v3: ui32 = const 0x10000
    v4: i32 = iadd v2, v3
    v5: i32 = imul v0, v1
    v6: ui32 = const 1
    v7: i32 = iadd v5, v6
    store.u32 global14[v4], v7 align 4
    v8: ui32 = const 5
    v9: i32 = imul v0, v8
    v10: ui32 = const 2
    v11: i32 = iadd v9, v10
    store.u32 global14[v4 + 0x4], v11 align 4
    v12: ui32 = const 63
    v13: i32 = iand v9, v12
    v14: i32 = iadd v13, v6
    v15: ui32 = const 0
    v16: i32 = splat v15
    slot.set s1, v4
    slot.set s4, v4
    slot.set s2, v14
    slot.set s3, v16
    push.break block3 -> block1
block1 at 0x10 insts 5:
    v20: i32 = slot.get s1
    v21: i32 = slot.get s2
    v22: i32 = slot.get s3
    v23: i32 = slot.get s0
    v24: ui32 = const {wild}
    v25: mask = icmp eq v23, v24
    v26: ui32 = const 1
    v27: mask = icmp eq v21, v26
    v28: mask = iand v25, v27
    v29: ui32 = const 0x70000000
    v30: i32 = select v28, v29, v20
    @0x18 v31: i32 = load.u32 global14[v30] align 4
    v32: ui32 = const 3
    v33: i32 = imul v22, v32
    v34: i32 = iadd v33, v31
    v35: i32 = iadd v34, v21
    v36: ui32 = const 4
    v37: i32 = ixor v20, v36
    v38: ui32 = const 0xffffffff
    v39: i32 = iadd v21, v38
    slot.set s1, v37
    slot.set s2, v39
    slot.set s3, v35
    v40: ui32 = const 0
    v41: mask = icmp eq v39, v40
    @0x20 leave.break if v41 -> block2
block2 at 0x28 insts 1:
    jump block1
block3 at 0x30 insts 1:
    v50: i32 = slot.get s4
    v51: i32 = slot.get s3
    store.u32 global14[v50], v51 align 4
    leave.exit -> block3
"
    )
}

#[test]
fn each_lane_has_its_turns() {
    let (report, out) = run_all(&kernel(1000), &launch(1, 70), 140);
    assert_eq!(report.fault, None);
    for tid in 0..70u32 {
        let words = [3 * tid + 1, 5 * tid + 2];
        let turns = ((5 * tid) & 63) + 1;
        let mut sum = 0u32;
        for turn in 0..turns {
            sum = sum.wrapping_mul(3).wrapping_add(words[turn as usize % 2]).wrapping_add(turns - turn);
        }
        assert_eq!(out[2 * tid as usize], sum, "{tid}");
        assert_eq!(out[2 * tid as usize + 1], words[1], "{tid}");
    }
}

#[test]
fn a_fault_is_that_of_its_lane() {
    // Lanes with many turns, with few, and the one in the warp with the most.
    for thread in [12, 25, 38, 13, 51, 63] {
        let fault = fault_of(&kernel(thread), &launch(1, 70));
        assert_eq!((fault.kind, fault.pc, fault.store), (FaultKind::Memory, 0x18, false), "{thread}");
        assert_eq!((fault.warp, fault.lane), (thread / 32, thread % 32), "{thread}");
        assert_eq!(fault.address, Some(0x7000_0000), "{thread}");
    }
}

/// The first thread of each block but the first adds 2^38 bytes from 2^32 on, the others one.
const ADDS: &str = "
    slot s0: i32 tid = tid.x
    slot s1: i64 at
    slot s2: i32 bid = ctaid.x
    slot s3: i64 end
    slot s4: i32 sum
block0 at 0x8 insts 4:
    v0: i32 = slot.get s0
    v1: ui32 = const 0
    v2: mask = icmp eq v0, v1
    v3: i32 = slot.get s2
    v4: mask = icmp ne v3, v1
    v5: mask = iand v2, v4
    v6: ui64 = const 0x100000000
    v7: ui64 = const 0x10000
    v8: i64 = select v5, v6, v7
    slot.set s1, v8
    v9: ui64 = const 0x4100000000
    v10: ui64 = const 0x10001
    v11: i64 = select v5, v9, v10
    slot.set s3, v11
    push.break block3 -> block1
block1 at 0x10 insts 3:
    v20: i64 = slot.get s1
    @0x18 v21: i32 = load.u8 global0[v20] align 1
    v22: ui64 = const 1
    v23: i64 = iadd v20, v22
    slot.set s1, v23
    v24: i32 = slot.get s4
    v25: i32 = iadd v24, v21
    slot.set s4, v25
    v26: i64 = slot.get s3
    v27: mask = icmp eq v23, v26
    @0x20 leave.break if v27 -> block2
block2 at 0x28 insts 1:
    jump block1
block3 at 0x30 insts 1:
    v50: i32 = slot.get s4
    v51: i32 = slot.get s0
    v52: ui32 = const 2
    v53: i32 = ishl v51, v52
    store.u32 global14[v53 + 0x10010], v50 align 4
    leave.exit -> block3
";

#[test]
fn a_lane_that_walks_over_all_of_memory_is_stopped() {
    for config in settings() {
        let engine = Engine::new(config.clone()).expect("an engine");
        let memory = engine.memory().expect("memory");
        memory.map(Some(0x1_0000), 4096, Access::ReadWrite).expect("mapped");
        memory.write(0x1_0000, &[1; 16]).expect("there");
        // To its end takes minutes.
        memory.map(Some(1 << 32), 1 << 38, Access::ReadOnly).expect("mapped");
        let cancel = CancelToken::default();
        let launch = launch(64, 32).cancel(Some(cancel.clone()));
        let report = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                cancel.cancel();
            });
            engine.run(&program(ADDS), &memory, &launch).expect("runs")
        });
        assert_eq!((report.cancelled, report.fault), (true, None), "{}", told(&config));
    }
}

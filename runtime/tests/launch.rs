//! Tests whole launches of kernels in IR text: scheduling, barriers, faults, limits.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use support::{engine, fault_of, launch, program, run, run_all};
use warpjit_runtime::{Access, Arg, CancelToken, FaultKind, GlobalMode, GlobalSpace, Tier};

/// out[ctaid * ntid + tid] = arg + tid, with the arguments in shared memory.
const STORE: &str = "
    slot s0: i32 tid = tid.x
    slot s1: i32 bid = ctaid.x
    slot s2: i32 n = ntid.x
block0 at 0x0 insts 4:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: i32 = slot.get s2
    v3: i32 = imul v1, v2
    v4: i32 = iadd v3, v0
    v5: ui32 = const 2
    v6: i32 = ishl v4, v5
    v7: ui32 = const 0x10
    v8: i32 = splat v7
    v9: i32 = load.u32 shared[v8] align 4
    v10: i32 = iadd v9, v0
    store.u32 global14[v6 + 0x10000], v10 align 4
    jump block1
block1 at 0x20 insts 1:
    leave.exit -> block1
";

#[test]
fn stores_by_every_thread() {
    let launch = launch(5, 70).args(vec![Arg::u32(1000)]);
    let (report, out) = run_all(STORE, &launch, 350);
    let want: Vec<u32> = (0..5).flat_map(|_| (0..70).map(|tid| 1000 + tid)).collect();
    assert_eq!(out, want);
    assert_eq!(report.fault, None);
    let stats = report.stats;
    assert_eq!((stats.blocks, stats.warps), (5, 15));
    assert_eq!((stats.warp_instructions, stats.thread_instructions), (75, 5 * 5 * 70));
    assert_eq!(stats.lane_slots, 75 * 32);
}

#[test]
fn some_blocks_only() {
    let launch = launch(4, 2).blocks(Some(1..3)).args(vec![Arg::u32(1)]);
    let (report, out) = run_all(STORE, &launch, 8);
    assert_eq!(out, [0, 0, 1, 2, 1, 2, 0, 0]);
    assert_eq!(report.stats.blocks, 2);
}

#[test]
fn progress_and_cancel() {
    let told = Arc::new(AtomicU64::new(0));
    let last = told.clone();
    let mut launch = launch(50, 4).args(vec![Arg::u32(0)]);
    launch.progress = Some(Arc::new(move |done, of| {
        assert_eq!(of, 50);
        last.fetch_max(done, Ordering::Relaxed);
    }));
    let program = program(STORE);
    let (report, _) = run(&engine(Tier::Interp, 2), &program, &launch, 200).unwrap();
    assert!(!report.cancelled);
    assert_eq!(told.load(Ordering::Relaxed), 50);
    let token = CancelToken::new();
    token.cancel();
    launch.cancel = Some(token);
    let (report, out) = run(&engine(Tier::Interp, 2), &program, &launch, 200).unwrap();
    assert!(report.cancelled && report.stats.blocks == 0);
    assert!(out.iter().all(|&word| word == 0));
}

/// Also on several threads at once, of which some are on their way out.
#[test]
fn a_panic_in_progress_ends_the_launch() {
    let mut launch = launch(40, 4).args(vec![Arg::u32(0)]);
    launch.progress = Some(Arc::new(|_, _| panic!("expected")));
    let program = program(STORE);
    for tier in [Tier::Interp, Tier::Jit] {
        let engine = engine(tier, 3);
        for _ in 0..20 {
            let run = || run(&engine, &program, &launch, 160);
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
            assert_eq!(panicked.unwrap_err().downcast_ref::<&str>(), Some(&"expected"));
        }
    }
}

const FOREVER: &str = "
block0 at 0x8 insts 3:
    jump block0
";

#[test]
fn an_endless_loop_can_be_cancelled() {
    for config in support::settings() {
        let engine = warpjit_runtime::Engine::new(config).unwrap();
        let token = CancelToken::new();
        let launch = launch(3, 64).cancel(Some(token.clone()));
        let report = std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(30));
                token.cancel();
            });
            run(&engine, &program(FOREVER), &launch, 1).unwrap().0
        });
        assert!(report.cancelled);
        assert_eq!(report.fault, None);
    }
}

#[test]
fn max_steps_is_exact() {
    let mut steps = launch(2, 40);
    steps.max_steps = 1000;
    let fault = fault_of(FOREVER, &steps);
    assert_eq!((fault.kind, fault.block, fault.warp), (FaultKind::Timeout, [0, 0, 0], 0));
    // Five instructions a warp: five may be executed, four are too few.
    let exact = |max_steps| launch(2, 40).max_steps(max_steps).args(vec![Arg::u32(0)]);
    assert_eq!(run_all(STORE, &exact(5), 80).0.fault, None);
    let fault = fault_of(STORE, &exact(4));
    assert_eq!((fault.kind, fault.pc), (FaultKind::Timeout, 0x20));
}

/// Block 0 spins until block 2 has set a flag. `b` is the block that waits, `f` the one that sets.
const FLAG: &str = "
    slot s0: i32 bid = ctaid.x
block0 at 0x0 insts 2:
    v0: i32 = slot.get s0
    v1: ui32 = const 0
    v2: mask = icmp eq v0, v1
    branch v2, block1, block2
block1 at 0x10 insts 2:
    v3: ui32 = const 0x10000
    v4: i32 = splat v3
    v5: i32 = load.u32 global0[v4] align 4
    v6: ui32 = const 0
    v7: mask = icmp eq v5, v6
    branch v7, block1, block3
block2 at 0x20 insts 2:
    v8: i32 = slot.get s0
    v9: ui32 = const 19
    v10: mask = icmp eq v8, v9
    branch v10, block4, block3
block3 at 0x30 insts 1:
    leave.exit -> block3
block4 at 0x38 insts 1:
    v11: ui32 = const 0x10000
    v12: i32 = splat v11
    v13: ui32 = const 7
    v14: i32 = splat v13
    store.u32 global0[v12], v14 align 4
    jump block3
";

#[test]
fn a_block_that_waits_for_a_later_one_makes_progress() {
    let (report, out) = run_all(FLAG, &launch(20, 32), 1);
    assert_eq!((report.fault, out), (None, vec![7]));
    assert_eq!(report.stats.blocks, 20);
}

/// Warp 1 spins on shared memory until warp 0, which comes later in its turn, has written; then both meet.
const SPIN: &str = "
    slot s0: i32 wid = warpid
    slot s1: i32 tid = tid.x
block0 at 0x0 insts 2:
    v0: i32 = slot.get s0
    v1: ui32 = const 0
    v2: mask = icmp eq v0, v1
    branch v2, block1, block2
block1 at 0x10 insts 2:
    v3: ui32 = const 0x40
    v4: i32 = splat v3
    v5: i32 = load.u32 shared[v4] align 4
    v6: ui32 = const 0
    v7: mask = icmp eq v5, v6
    branch v7, block1, block3
block2 at 0x20 insts 1:
    v8: ui32 = const 0x40
    v9: i32 = splat v8
    v10: ui32 = const 1
    v11: i32 = splat v10
    store.u32 shared[v9], v11 align 4
    jump block3
block3 at 0x28 insts 1:
    barrier 0 arrive wait -> block4
block4 at 0x30 insts 2:
    v12: i32 = slot.get s1
    v13: ui32 = const 2
    v14: i32 = ishl v12, v13
    store.u32 global0[v14 + 0x10000], v12 align 4
    jump block5
block5 at 0x40 insts 1:
    leave.exit -> block5
";

#[test]
fn warps_that_spin_let_others_run() {
    let (report, out) = run_all(SPIN, &launch(1, 64), 64);
    assert_eq!(report.fault, None);
    assert_eq!(out, (0..64).collect::<Vec<u32>>());
}

/// Warp 0 waits at a barrier for a count of 3 that nobody reaches; the others end.
const DEADLOCK: &str = "
    slot s0: i32 wid = warpid
block0 at 0x0 insts 2:
    v0: i32 = slot.get s0
    v1: ui32 = const 1
    v2: mask = icmp eq v0, v1
    branch v2, block1, block2
block1 at 0x10 insts 1:
    barrier 3 arrive wait warps 3 -> block2
block2 at 0x18 insts 1:
    leave.exit -> block2
";

#[test]
fn a_barrier_that_cannot_open_is_a_fault() {
    let fault = fault_of(DEADLOCK, &launch(2, 96));
    assert_eq!(
        (fault.kind, fault.pc, fault.block, fault.warp, fault.lane),
        (FaultKind::Barrier, 0x10, [0; 3], 1, 0)
    );
    // A warp that has ended is not waited for.
    let all = DEADLOCK.replace(" warps 3", "");
    assert_eq!(run_all(&all, &launch(2, 96), 1).0.fault, None);
}

/// Lane 5 of block 3 and lane 9 of block 1 store where nothing is mapped.
fn bad_store(address: &str, align: u32) -> String {
    format!(
        "
    slot s0: i32 tid = tid.x
    slot s1: i32 bid = ctaid.x
block0 at 0x0 insts 3:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: ui32 = const 3
    v3: mask = icmp eq v1, v2
    v4: ui32 = const 5
    v5: mask = icmp eq v0, v4
    v6: mask = iand v3, v5
    v7: ui32 = const 1
    v8: mask = icmp eq v1, v7
    v9: ui32 = const 41
    v10: mask = icmp eq v0, v9
    v11: mask = iand v8, v10
    v12: mask = ior v6, v11
    v13: ui32 = const {address}
    v14: ui32 = const 0x10000
    v15: i32 = select v12, v13, v14
    jump block1
block1 at 0x20 insts 1:
    v20: i32 = slot.get s0
    v21: i32 = slot.get s1
    v22: ui32 = const 3
    v23: mask = icmp eq v21, v22
    v24: ui32 = const 5
    v25: mask = icmp eq v20, v24
    v26: mask = iand v23, v25
    v27: ui32 = const 1
    v28: mask = icmp eq v21, v27
    v29: ui32 = const 41
    v30: mask = icmp eq v20, v29
    v31: mask = iand v28, v30
    v32: mask = ior v26, v31
    v33: ui32 = const {address}
    v34: ui32 = const 0x10000
    v35: i32 = select v32, v33, v34
    @0x24 store.u32 global14[v35], v20 align {align}
    jump block2
block2 at 0x28 insts 1:
    leave.exit -> block2
"
    )
}

#[test]
fn the_fault_of_the_lowest_block_is_reported() {
    let fault = fault_of(&bad_store("0x500", 4), &launch(8, 64));
    assert_eq!((fault.kind, fault.pc), (FaultKind::Memory, 0x24));
    assert_eq!((fault.block, fault.warp, fault.lane), ([1, 0, 0], 1, 9));
    assert_eq!((fault.address, fault.space.as_deref(), fault.store), (Some(0x500), Some("global"), true));
    assert_eq!(
        fault.to_string(),
        "memory fault at pc 0x24, block (1, 0, 0), warp 1, lane 9: store to global 0x500"
    );
}

#[test]
fn misaligned_is_a_memory_fault() {
    let fault = fault_of(&bad_store("0x10002", 4), &launch(8, 64));
    assert_eq!((fault.kind, fault.lane, fault.address), (FaultKind::Memory, 9, Some(0x10002)));
    assert_eq!(run_all(&bad_store("0x10002", 2), &launch(8, 64), 8).0.fault, None);
}

#[test]
fn read_only_buffers_are() {
    let body = bad_store("0x20008", 4);
    for config in support::settings() {
        for checked_memory in [false, true] {
            let config = config.clone().checked_memory(checked_memory);
            let engine = warpjit_runtime::Engine::new(config).unwrap();
            let memory = engine.memory().unwrap();
            memory.map(Some(0x1_0000), 16, Access::ReadWrite).unwrap();
            memory.map(Some(0x2_0000), 16, Access::ReadOnly).unwrap();
            let report = engine.run(&program(&body), &memory, &launch(2, 64)).unwrap();
            let fault = report.fault.expect("fault");
            assert_eq!((fault.kind, fault.lane, fault.address), (FaultKind::Memory, 9, Some(0x20008)));
            // What was stored before stays.
            assert_ne!(support::words_of(&memory, 1), [0]);
        }
    }
}

#[test]
fn windows_to_global_memory() {
    let body = "
    slot s0: i32 tid = tid.x
block0 at 0x0 insts 1:
    v0: i32 = slot.get s0
    v1: ui32 = const 2
    v2: i32 = ishl v0, v1
    store.u32 global3[v2], v0 align 4
    jump block1
block1 at 0x8 insts 1:
    leave.exit -> block1
";
    let window = |bytes| GlobalSpace { index: 3, address: 0x1_0008, bytes, mode: GlobalMode::Linear };
    let with = |bytes| launch(1, 4).globals(vec![window(bytes)]);
    let (report, out) = run_all(body, &with(16), 8);
    assert_eq!((report.fault, out), (None, vec![0, 0, 0, 1, 2, 3, 0, 0]));
    let fault = fault_of(body, &with(12));
    assert_eq!((fault.kind, fault.lane, fault.address), (FaultKind::Memory, 3, Some(12)));
}

#[test]
fn trap_illegal_and_stack() {
    let fault = fault_of("block0 at 0x10 insts 1:\n    fault trap\n", &launch(1, 32));
    assert_eq!((fault.kind, fault.pc, fault.bytes.len()), (FaultKind::Trap, 0x10, 0));
    let fault = fault_of("block0 at 0x12 insts 1:\n    fault illegal\n", &launch(1, 32));
    assert_eq!((fault.kind, fault.bytes.as_slice()), (FaultKind::Illegal, [0xcc, 0xdd].as_slice()));
    let push = "block0 at 0x0 insts 1:\n    push.join block0 -> block0\n";
    assert_eq!(fault_of(push, &launch(1, 32)).kind, FaultKind::Stack);
    let call = "block0 at 0x0 insts 1:\n    call block0 -> block0\n";
    assert_eq!(fault_of(call, &launch(1, 32)).kind, FaultKind::Stack);
}

#[test]
fn registers_in_and_out() {
    let body = "
    slot s0: i32 r1
    slot s1: i32 r2
    slot s2: mask c0.z
    slot s3: mask c0.s
    slot s4: mask c0.c
    slot s5: mask c0.o
block0 at 0x0 insts 1:
    v0: i32 = slot.get s0
    v1: ui32 = const 5
    v2: i32 = iadd v0, v1
    slot.set s1, v2
    v3: mask = slot.get s2
    slot.set s4, v3
    jump block1
block1 at 0x8 insts 1:
    leave.exit -> block1
";
    let registers = vec![("r1".to_owned(), (0..32).collect()), ("c0".to_owned(), vec![3])];
    let launch = launch(1, 3).registers(registers).capture_registers(true);
    let (report, _) = run_all(body, &launch, 1);
    assert_eq!(report.registers["r2"], [5, 6, 7]);
    assert_eq!(report.registers["c0"], [7, 7, 7]);
    let two = launch.block([64, 1, 1]);
    let error = run(&engine(Tier::Interp, 1), &program(body), &two, 1).unwrap_err();
    assert_eq!(error.to_string(), "launch: registers can be captured of one warp only");
}

#[test]
fn local_memory_is_the_lanes_own() {
    // local[4 * i] = tid + i for i = 0, 4; out = local[4] + local[beyond the end]
    let body = "
    slot s0: i32 tid = tid.x
block0 at 0x0 insts 3:
    v0: i32 = slot.get s0
    v1: ui32 = const 4
    v2: i32 = splat v1
    store.u32 local[v2], v0 align 4
    store.u32 local[v2 + 100], v2 align 4
    v3: i32 = load.u32 local[v2] align 4
    v4: i32 = load.u32 local[v2 + 100] align 4
    v5: i32 = iadd v3, v4
    v6: i32 = load.u8 local[v2] align 1
    v7: i32 = iadd v5, v6
    v8: ui32 = const 2
    v9: i32 = ishl v0, v8
    store.u32 global0[v9 + 0x10000], v7 align 4
    jump block1
block1 at 0x8 insts 1:
    leave.exit -> block1
";
    let (_, out) = run_all(body, &launch(2, 40), 40);
    assert_eq!(out, (0..40).map(|tid| 2 * tid).collect::<Vec<u32>>());
}

#[test]
fn atomics_add_up() {
    let body = "
block0 at 0x0 insts 1:
    v0: ui32 = const 0x10000
    v1: i32 = splat v0
    v2: ui32 = const 1
    v3: i32 = splat v2
    v4: i32 = atomic.u32 add global0[v1], v3 align 4
    jump block1
block1 at 0x8 insts 1:
    leave.exit -> block1
";
    assert_eq!(run_all(body, &launch(100, 96), 1).1, [9600]);
}

#[test]
fn counts() {
    for tier in [Tier::Interp, Tier::Jit, Tier::Auto] {
        let config = warpjit_runtime::Config::default().tier(tier).count(true);
        let engine = warpjit_runtime::Engine::new(config).unwrap();
        let launch = launch(2, 32).args(vec![Arg::u32(0)]);
        let (report, _) = run(&engine, &program(STORE), &launch, 64).unwrap();
        assert_eq!(report.stats.traffic["global"], (0, 256), "{tier:?}");
        assert_eq!(report.stats.traffic["shared"], (256, 0), "{tier:?}");
        if tier == Tier::Interp {
            assert_eq!(report.stats.groups.values().sum::<u64>(), report.stats.warp_instructions);
        }
    }
}

#[test]
fn bad_configurations() {
    let refuse = |config| warpjit_runtime::Engine::new(config).unwrap_err().to_string();
    let config = warpjit_runtime::Config::default().chunk_groups(Some(3));
    assert_eq!(refuse(config), "configuration: chunk of 3 groups, possible are 0, 1, 2, 4, 8 and 16");
    let config = warpjit_runtime::Config::default().threads(100_000);
    assert_eq!(refuse(config), "configuration: 100000 threads, possible are up to 4096");
}

/// Warps below the block's index end at once, the others meet at a barrier and store.
const SOME_END: &str = "
    slot s0: i32 wid = warpid
    slot s1: i32 bid = ctaid.x
    slot s2: i32 tid = tid.x
block0 at 0x0 insts 2:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: mask = icmp ult v0, v1
    branch v2, block3, block1
block1 at 0x10 insts 1:
    barrier 0 arrive wait -> block2
block2 at 0x18 insts 1:
    v3: i32 = slot.get s1
    v4: ui32 = const 128
    v5: i32 = imul v3, v4
    v6: i32 = slot.get s2
    v7: i32 = iadd v5, v6
    v8: ui32 = const 2
    v9: i32 = ishl v7, v8
    v10: ui32 = const 1
    v11: i32 = iadd v7, v10
    store.u32 global0[v9 + 0x10000], v11 align 4
    jump block3
block3 at 0x28 insts 1:
    leave.exit -> block3
";

#[test]
fn warps_of_a_block_part() {
    let (report, out) = run_all(SOME_END, &launch(6, 128), 6 * 128);
    assert_eq!(report.fault, None);
    for (at, word) in out.into_iter().enumerate() {
        let (block, warp) = (at / 128, at % 128 / 32);
        assert_eq!(word as usize, if warp < block { 0 } else { at + 1 }, "{at}");
    }
}

/// Some lanes of warp 0 wait at barrier 1 while the others go round it; warp 1 waits at barrier 2.
const ROUND: &str = "
    slot s0: i32 wid = warpid
    slot s1: i32 tid = tid.x
block0 at 0x0 insts 2:
    v0: i32 = slot.get s0
    v1: ui32 = const 0
    v2: mask = icmp eq v0, v1
    branch v2, block1, block3
block1 at 0x10 insts 2:
    v3: i32 = slot.get s1
    v4: ui32 = const 7
    v5: mask = icmp ult v3, v4
    branch v5, block2, block4
block2 at 0x20 insts 1:
    barrier 1 arrive wait -> block4
block3 at 0x28 insts 1:
    barrier 2 arrive wait -> block4
block4 at 0x30 insts 1:
    leave.exit -> block4
";

#[test]
fn a_warp_that_parts_round_a_barrier() {
    // Some lanes of warp 0 stand at a barrier that nobody else will come to.
    let fault = fault_of(ROUND, &launch(1, 64));
    assert_eq!((fault.kind, fault.pc, fault.warp, fault.lane), (FaultKind::Barrier, 0x20, 0, 0));
    // A warp arrives as a whole, whichever of its lanes do.
    assert_eq!(run_all(&ROUND.replace("barrier 2", "barrier 1"), &launch(1, 64), 1).0.fault, None);
}

//! Tests grid-row code of kernels of a single phase: block indices from slots and from shared memory, warps with missing lanes,
//! faults in the middle of a row, background compilation.

mod support;

use support::{engine, fault_of, launch, program, run, run_all};
use warpjit_runtime::{Arg, FaultKind, Launch, Tier};

/// out[linear block * 70 + thread] = thread + 1000 x + 100000 y (indices by slots, and once more by the header) + parameter; a block and
/// thread may store to `wild` instead.
fn kernel(wild: &str) -> String {
    format!(
        "
    slot s0: i32 tid = tid.x
    slot s1: i32 x = ctaid.x
    slot s2: i32 y = ctaid.y
    slot s3: i32 block = linearctaid
    slot s4: i32 place
    slot s5: i32 value
block0 at 0x8 insts 4:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: i32 = slot.get s2
    v3: i32 = slot.get s3
    v4: ui32 = const 0xc
    v5: i32 = splat v4
    v6: i32 = load.u16 shared[v5] align 2
    v7: i32 = load.u16 shared[v5 + 0x2] align 2
    v8: i32 = load.u32 shared[v5 + 0x4] align 4
    v9: i32 = iadd v1, v6
    v10: ui32 = const 500
    v11: i32 = imul v9, v10
    v12: i32 = iadd v2, v7
    v13: ui32 = const 50000
    v14: i32 = imul v12, v13
    v15: i32 = iadd v11, v14
    v16: i32 = iadd v15, v0
    v17: i32 = iadd v16, v8
    v18: ui32 = const 70
    v19: i32 = imul v3, v18
    v20: i32 = iadd v19, v0
    v21: ui32 = const 2
    v22: i32 = ishl v20, v21
    v23: ui32 = const {wild}
    v24: mask = icmp eq v20, v23
    v25: ui32 = const 0x70000000
    v26: i32 = select v24, v25, v22
    slot.set s4, v26
    slot.set s5, v17
    jump block1
block1 at 0x10 insts 1:
    v30: i32 = slot.get s4
    v31: i32 = slot.get s5
    @0x10 store.u32 global14[v30 + 0x10000], v31 align 4
    jump block2
block2 at 0x18 insts 1:
    leave.exit -> block2
"
    )
}

fn grid(x: u32, y: u32) -> Launch {
    launch(1, 70).grid([x, y, 1]).args(vec![Arg::u32(7)])
}

fn want(x: u32, y: u32) -> Vec<u32> {
    let blocks = (0..y).flat_map(|y| (0..x).map(move |x| (x, y)));
    blocks.flat_map(|(x, y)| (0..70).map(move |thread| thread + 1000 * x + 100_000 * y + 7)).collect()
}

#[test]
fn each_block_has_its_indices() {
    for (x, y) in [(1, 1), (5, 3), (200, 2), (1, 90)] {
        let (report, out) = run_all(&kernel("0xffffffff"), &grid(x, y), (x * y * 70) as usize);
        assert_eq!(report.fault, None);
        assert_eq!(out, want(x, y), "{x} {y}");
        assert_eq!(report.stats.warps, u64::from(x * y * 3));
    }
}

#[test]
fn a_part_of_the_grid_runs() {
    let part = grid(5, 3).blocks(Some(4..12));
    let (_, out) = run_all(&kernel("0xffffffff"), &part, 5 * 3 * 70);
    let all = want(5, 3);
    for (at, (&got, &want)) in out.iter().zip(&all).enumerate() {
        assert_eq!(got, if (4 * 70..12 * 70).contains(&at) { want } else { 0 }, "{at}");
    }
}

#[test]
fn a_fault_within_a_row_is_that_of_its_block() {
    // Thread 41 of block (3, 1) of a grid of 5 by 3.
    let fault = fault_of(&kernel(&(8 * 70 + 41).to_string()), &grid(5, 3));
    assert_eq!((fault.kind, fault.pc, fault.store), (FaultKind::Memory, 0x10, true));
    assert_eq!((fault.block, fault.warp, fault.lane), ([3, 1, 0], 1, 9));
    assert_eq!(fault.address, Some(0x7001_0000));
}

#[test]
fn launches_that_compile_behind_come_to_the_same() {
    let (engine, kernel) = (engine(Tier::Auto, 1), program(&kernel("0xffffffff")));
    for _ in 0..4 {
        let (report, out) = run(&engine, &kernel, &grid(100, 2), 100 * 2 * 70).unwrap();
        assert_eq!((report.fault, out), (None, want(100, 2)));
        engine.wait_for_compiler();
    }
    // Another block size, for which what was compiled may not be made.
    let narrow = grid(100, 2).block([33, 1, 1]);
    let (_, out) = run(&engine, &kernel, &narrow, 100 * 2 * 70).unwrap();
    let wanted = want(100, 2);
    assert!(out.iter().enumerate().all(|(at, &got)| got == if at % 70 < 33 { wanted[at] } else { 0 }));
}

/// As [`want`], of blocks of so many threads.
fn want_of(threads: usize, x: u32, y: u32) -> Vec<u32> {
    let all = want(x, y).into_iter().enumerate();
    all.map(|(at, value)| if at % 70 < threads { value } else { 0 }).collect()
}

#[test]
fn code_for_whole_warps_is_not_for_others() {
    // On one engine, so that what was compiled for one launch is there for the next.
    for order in [[64, 70, 64, 33], [70, 64, 32, 64], [64, 33, 1, 96]] {
        let (engine, kernel) = (engine(Tier::Jit, 1), program(&kernel("0xffffffff")));
        for threads in order {
            let sized = grid(5, 3).block([threads, 1, 1]);
            let (report, out) = run(&engine, &kernel, &sized, 6 * 3 * 70).unwrap();
            assert_eq!(report.fault, None);
            if threads <= 70 {
                assert_eq!(out[..5 * 3 * 70], want_of(threads as usize, 5, 3), "{threads} of {order:?}");
            }
        }
    }
}

#[test]
fn a_fault_of_whole_warps_is_that_of_its_block() {
    // Thread 41 of block (3, 1) of a grid of 5 by 3, and the last thread of block (3, 2).
    let of_64 = grid(5, 3).block([64, 1, 1]);
    for (place, want) in [(8 * 70 + 41, ([3, 1, 0], 1, 9)), (13 * 70 + 63, ([3, 2, 0], 1, 31))] {
        let fault = fault_of(&kernel(&place.to_string()), &of_64);
        assert_eq!((fault.kind, fault.pc, fault.store), (FaultKind::Memory, 0x10, true));
        assert_eq!((fault.block, fault.warp, fault.lane), want);
        assert_eq!(fault.address, Some(0x7001_0000));
    }
}

#[test]
fn values_that_cross_blocks_are_the_interpreters() {
    // No front end makes such functions, but they are valid.
    let body = "
    slot s0: i32 tid = tid.x
block0 at 0x8 insts 1:
    v0: i32 = slot.get s0
    v1: ui32 = const 2
    v2: i32 = ishl v0, v1
    jump block1
block1 at 0x10 insts 1:
    store.u32 global14[v2 + 0x10000], v0 align 4
    jump block2
block2 at 0x18 insts 1:
    leave.exit -> block2
";
    let (_, out) = run_all(body, &launch(1, 70), 70);
    assert_eq!(out, (0..70).collect::<Vec<_>>());
}

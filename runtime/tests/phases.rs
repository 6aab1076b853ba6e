//! Tests grid-row code of kernels with barriers: the initial state of each block, loops over barriers, and blocks that must
//! continue warp by warp because their warps diverge, fault, wait for others, or have other lane patterns.

mod support;

use support::{engine, fault_of, launch, program, run, run_all};
use warpjit_runtime::{FaultKind, Tier};

/// Enough of them that a thread takes several at a time.
const BLOCKS: u32 = 96;
const THREADS: u32 = 70;
const WORDS: usize = (BLOCKS * THREADS) as usize;
/// Threads of blocks, of which some take part in the last warp, or all: then registers have shapes, and frames only first lanes of them.
const SOME_AND_WHOLE: [u32; 2] = [THREADS, 64];

/// Each thread adds up what four others have left in shared memory, with a barrier before and behind. `sum` starts with
/// what shared memory and two registers hold that nobody has written. `before` stands in front of the loop, with the
/// thread in v60, the block in v61.
fn kernel(before: &str) -> String {
    // Blocks of its own stand at the end.
    let (before, behind) = before
        .split_once("\nblock8 at")
        .map_or((before, String::new()), |(own, more)| (own, format!("block8 at{more}")));
    format!(
        "
    slot s0: i32 tid = tid.x
    slot s1: i32 bid = ctaid.x
    slot s2: i32 i
    slot s3: i32 sum
    slot s4: i32 place
    slot s5: i32 from
    slot s6: i32 own
block0 at 0x8 insts 4:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: ui32 = const 2
    v3: i32 = ishl v0, v2
    v4: i32 = load.u32 shared[v3 + 0x80] align 4
    v5: i32 = slot.get s3
    v6: i32 = iadd v4, v5
    slot.set s3, v6
    slot.set s4, v3
    slot.set s5, v3
    v7: ui32 = const 3
    v8: i32 = imul v0, v7
    v9: i32 = iadd v8, v1
    store.u32 shared[v3 + 0x80], v9 align 4
    jump block1
block1 at 0x10 insts 2:
    v60: i32 = slot.get s0
    v61: i32 = slot.get s1
{before}
block2 at 0x20 insts 1:
    barrier 0 arrive wait -> block3
block3 at 0x28 insts 4:
    v20: i32 = slot.get s5
    v21: i32 = load.u32 shared[v20 + 0x80] align 4
    v22: i32 = slot.get s3
    v23: i32 = iadd v22, v21
    slot.set s3, v23
    jump block4
block4 at 0x30 insts 1:
    barrier 0 arrive wait -> block5
block5 at 0x38 insts 4:
    v30: i32 = slot.get s4
    v31: i32 = slot.get s3
    store.u32 shared[v30 + 0x80], v31 align 4
    v32: i32 = slot.get s2
    v33: ui32 = const 1
    v34: i32 = iadd v32, v33
    slot.set s2, v34
    v35: ui32 = const 4
    v36: mask = icmp ult v34, v35
    branch v36, block2, block6
block6 at 0x40 insts 4:
    v40: i32 = slot.get s0
    v41: i32 = slot.get s1
    v42: ui32 = const {THREADS}
    v43: i32 = imul v41, v42
    v44: i32 = iadd v43, v40
    v45: ui32 = const 2
    v46: i32 = ishl v44, v45
    v47: i32 = slot.get s3
    store.u32 global14[v46 + 0x10000], v47 align 4
    jump block7
block7 at 0x50 insts 1:
    leave.exit -> block7
{behind}
"
    )
}

/// What the kernel leaves if the threads of a block that `runs` names run, each taking words from where `from` says.
fn model(from: impl Fn(u32, u32) -> u32, runs: impl Fn(u32, u32) -> bool) -> Vec<u32> {
    model_of_sums(|_, _| 0, from, runs)
}

/// The same, where sums start with what `first` says.
fn model_of_sums(
    first: impl Fn(u32, u32) -> u32,
    from: impl Fn(u32, u32) -> u32,
    runs: impl Fn(u32, u32) -> bool,
) -> Vec<u32> {
    let mut out = vec![0; WORDS];
    for block in 0..BLOCKS {
        let threads: Vec<u32> = (0..THREADS).filter(|&thread| runs(block, thread)).collect();
        let mut shared: Vec<u32> = (0..THREADS).map(|thread| 3 * thread + block).collect();
        let mut sums: Vec<u32> = (0..THREADS).map(|thread| first(block, thread)).collect();
        for _ in 0..4 {
            for &thread in &threads {
                sums[thread as usize] =
                    sums[thread as usize].wrapping_add(shared[from(block, thread) as usize]);
            }
            for &thread in &threads {
                shared[thread as usize] = sums[thread as usize];
            }
        }
        for &thread in &threads {
            out[(block * THREADS + thread) as usize] = sums[thread as usize];
        }
    }
    out
}

fn own(_: u32, thread: u32) -> u32 {
    thread
}

fn all(_: u32, _: u32) -> bool {
    true
}

#[test]
fn each_block_starts_as_the_first() {
    let (report, out) = run_all(&kernel("    jump block2"), &launch(BLOCKS, THREADS), WORDS);
    assert_eq!((report.fault, out), (None, model(own, all)));
}

#[test]
fn whole_warps_do_the_same() {
    let (_, out) = run_all(&kernel("    jump block2"), &launch(BLOCKS, 64), WORDS);
    let want = model(own, |_, thread| thread < 64);
    assert_eq!(out, want);
}

/// Words come from the thread turned round by 3 in odd blocks: registers have another shape there than in the block that ran first.
#[test]
fn registers_of_another_shape_are_seen() {
    let before = "
    v10: ui32 = const 1
    v11: i32 = iand v61, v10
    v12: ui32 = const 3
    v13: i32 = imul v11, v12
    v14: i32 = ixor v60, v13
    v15: ui32 = const 2
    v16: i32 = ishl v14, v15
    slot.set s5, v16
    jump block2";
    for threads in [64, 32] {
        let (_, out) = run_all(&kernel(before), &launch(BLOCKS, threads), WORDS);
        let from = |block: u32, thread: u32| if block % 2 == 1 { thread ^ 3 } else { thread };
        assert_eq!(out, model(from, |_, thread| thread < threads), "{threads}");
    }
}

/// The register that a block's index is in holds something else for a while.
#[test]
fn block_indices_that_kernels_change_are_each_blocks_own() {
    let before = "
    v10: ui32 = const 1000
    v11: i32 = iadd v61, v10
    slot.set s1, v11
    jump block8
block8 at 0x60 insts 1:
    barrier 0 arrive wait -> block9
block9 at 0x68 insts 2:
    v12: i32 = slot.get s1
    v13: ui32 = const 1000
    v14: i32 = isub v12, v13
    slot.set s1, v14
    jump block2";
    for threads in SOME_AND_WHOLE {
        let (_, out) = run_all(&kernel(before), &launch(BLOCKS, threads), WORDS);
        assert_eq!(out, model(own, |_, thread| thread < threads), "{threads}");
    }
}

/// Behind a barrier, quads take what their third lanes have written. Of the last quad that lane has no thread: it has what it started with.
#[test]
fn lanes_without_a_thread_keep_their_registers() {
    let before = "
    v10: ui32 = const 3
    v11: i32 = imul v60, v10
    slot.set s6, v11
    jump block8
block8 at 0x60 insts 1:
    barrier 0 arrive wait -> block9
block9 at 0x68 insts 4:
    v12: i32 = slot.get s6
    v13: i32 = quad_lane v12, 2
    v14: ui32 = const 31
    v15: i32 = iand v13, v14
    v16: ui32 = const 2
    v17: i32 = ishl v15, v16
    slot.set s5, v17
    jump block2";
    let (_, out) = run_all(&kernel(before), &launch(BLOCKS, THREADS), WORDS);
    let from = |_: u32, thread: u32| if thread >= 68 { 0 } else { (3 * (thread & !3 | 2)) & 31 };
    assert_eq!(out, model(from, all));
}

/// Two numbers in one register, of which only frames tell that they are even: in odd blocks the lower one carries into the upper one, from
/// thread 12 on.
#[test]
fn halves_that_carry_are_seen() {
    let before = "
    v10: ui32 = const 1
    v11: i32 = iand v61, v10
    v12: ui32 = const 0xffd0
    v13: i32 = imul v11, v12
    v14: ui32 = const 0x300
    v62: ui32 = load.u32 shared[v14] align 4
    v63: ui32 = const 4
    v64: ui32 = iadd v62, v63
    v15: i32 = imul v60, v64
    v16: i32 = iadd v13, v15
    slot.set s6, v16
    jump block8
block8 at 0x60 insts 1:
    barrier 0 arrive wait -> block9
block9 at 0x68 insts 4:
    v70: i32 = slot.get s6
    v71: ui32 = const 16
    v72: i32 = ushr v70, v71
    v73: ui32 = const 12
    v74: i32 = imul v72, v73
    v75: i32 = slot.get s4
    v76: i32 = ixor v75, v74
    v77: i32 = load.u32 shared[v76 + 0x80] align 4
    slot.set s3, v77
    jump block2";
    for threads in [32, 64] {
        let (_, out) = run_all(&kernel(before), &launch(BLOCKS, threads), WORDS);
        let from = |block: u32, thread: u32| if block % 2 == 1 && thread >= 12 { thread ^ 3 } else { thread };
        let first = |block, thread| 3 * from(block, thread) + block;
        assert_eq!(out, model_of_sums(first, own, |_, thread| thread < threads), "{threads}");
    }
}

/// Of block 5 all warps but the first meet the others at a barrier of their own.
#[test]
fn warps_that_part_meet_again() {
    let before = "
    v10: ui32 = const 5
    v11: mask = icmp eq v61, v10
    v12: ui32 = const 31
    v13: mask = icmp ugt v60, v12
    v14: mask = iand v11, v13
    branch v14, block8, block2
block8 at 0x60 insts 1:
    barrier 0 arrive wait -> block3";
    for threads in SOME_AND_WHOLE {
        let (_, out) = run_all(&kernel(before), &launch(BLOCKS, threads), WORDS);
        assert_eq!(out, model(own, |_, thread| thread < threads), "{threads}");
    }
}

/// Of blocks 7 and 8 the threads from 32 on, or from 40 on, end before the barrier.
#[test]
fn threads_that_end_are_not_waited_for() {
    let before = "
    v10: ui32 = const 7
    v11: i32 = isub v61, v10
    v12: ui32 = const 2
    v13: mask = icmp ult v11, v12
    v14: ui32 = const 3
    v15: i32 = ishl v11, v14
    v16: ui32 = const 32
    v17: i32 = iadd v15, v16
    v18: mask = icmp uge v60, v17
    v19: mask = iand v13, v18
";
    // By a branch, and by an exit that some lanes take.
    let ends = [
        "    branch v19, block8, block2\nblock8 at 0x60 insts 1:\n    leave.exit -> block8",
        "    leave.exit if v19 -> block2",
    ];
    for (threads, end) in SOME_AND_WHOLE.into_iter().flat_map(|threads| ends.map(|end| (threads, end))) {
        let (_, out) = run_all(&kernel(&format!("{before}{end}")), &launch(BLOCKS, threads), WORDS);
        let runs = |block: u32, thread: u32| match block {
            7 => thread < 32,
            8 => thread < 40,
            _ => thread < threads,
        };
        assert_eq!(out, model(own, runs), "{threads}, {end}");
    }
}

/// The end of a reduction: one warp is left, adds up without barriers, and one thread stores the word at a constant address.
#[test]
fn the_last_warp_adds_up_without_barriers() {
    let offsets = [32u32, 16, 8, 4, 2, 1];
    let mut rounds = String::new();
    for (n, offset) in offsets.into_iter().enumerate() {
        let v = 30 + 3 * n;
        rounds += &format!(
            "    v{v}: i32 = load.u32 shared[v21 + {:#x}] align 4\n    v{}: i32 = load.u32 shared[v21 + 0x80] align 4\n    \
             v{}: i32 = iadd v{v}, v{}\n    store.u32 shared[v21 + 0x80], v{} align 4\n",
            0x80 + 4 * offset,
            v + 1,
            v + 2,
            v + 1,
            v + 2
        );
    }
    let body = format!(
        "
    slot s0: i32 tid = tid.x
    slot s1: i32 bid = ctaid.x
    slot s2: i32 place
block0 at 0x8 insts 4:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: ui32 = const 2
    v3: i32 = ishl v0, v2
    v4: i32 = imul v0, v0
    v5: i32 = iadd v4, v1
    store.u32 shared[v3 + 0x80], v5 align 4
    slot.set s2, v3
    jump block1
block1 at 0x20 insts 1:
    barrier 0 arrive wait -> block2
block2 at 0x28 insts 2:
    v10: i32 = slot.get s0
    v11: ui32 = const 32
    v12: mask = icmp uge v10, v11
    leave.exit if v12 -> block3
block3 at 0x30 insts 18:
    v21: i32 = slot.get s2
{rounds}    v22: i32 = slot.get s0
    v23: ui32 = const 0
    v24: mask = icmp ne v22, v23
    leave.exit if v24 -> block4
block4 at 0x40 insts 2:
    v60: ui32 = const 0x80
    v61: i32 = load.u32 shared[v60] align 4
    v62: i32 = slot.get s1
    v63: ui32 = const 2
    v64: i32 = ishl v62, v63
    store.u32 global14[v64 + 0x10000], v61 align 4
    jump block5
block5 at 0x50 insts 1:
    leave.exit -> block5
"
    );
    let sum = |block: u32| {
        let mut shared: Vec<u32> = (0..64).map(|thread| thread * thread + block).collect();
        for offset in offsets {
            let read: Vec<u32> = (0..32).map(|lane| shared[lane] + shared[lane + offset as usize]).collect();
            shared[..32].copy_from_slice(&read);
        }
        shared[0]
    };
    let (report, out) = run_all(&body, &launch(BLOCKS, 64), BLOCKS as usize);
    assert_eq!((report.fault, out), (None, (0..BLOCKS).map(sum).collect()));
}

#[test]
fn a_fault_behind_a_barrier_is_that_of_its_block() {
    // Thread 41 of block 9 loads from where nothing is.
    let before = "
    v10: ui32 = const 70
    v11: i32 = imul v61, v10
    v12: i32 = iadd v11, v60
    v13: ui32 = const 671
    v14: mask = icmp eq v12, v13
    v15: ui32 = const 0x70000000
    v16: ui32 = const 0
    v17: i32 = select v14, v15, v16
    slot.set s5, v17
    jump block8
block8 at 0x60 insts 1:
    barrier 0 arrive wait -> block9
block9 at 0x68 insts 2:
    v18: i32 = slot.get s5
    @0x6c v19: i32 = load.u32 global14[v18 + 0x10000] align 4
    slot.set s5, v19
    jump block2";
    let fault = fault_of(&kernel(before), &launch(BLOCKS, THREADS));
    assert_eq!((fault.kind, fault.pc, fault.store), (FaultKind::Memory, 0x6c, false));
    assert_eq!((fault.block, fault.warp, fault.lane), ([9, 0, 0], 1, 9));
    assert_eq!(fault.address, Some(0x7001_0000));
}

/// All blocks but the first wait for a word that the last one stores. What a thread finds in a register behind the
/// loop's barrier, and nowhere else, is its own number and the block's; else it would count.
#[test]
fn blocks_may_wait_for_later_ones() {
    let before = format!(
        "
    v10: ui32 = const {}
    v11: mask = icmp eq v61, v10
    v12: ui32 = const 1
    v13: i32 = splat v12
    v14: ui32 = const {}
    v15: i32 = splat v14
    store.u32 global14[v15 + 0x10000], v13 align 4 if v11
    jump block8
block8 at 0x60 insts 3:
    v64: ui32 = const 2
    v65: i32 = slot.get s0
    v66: i32 = slot.get s1
    v67: i32 = ishl v66, v64
    v68: i32 = iadd v65, v67
    slot.set s6, v68
    jump block9
block9 at 0x64 insts 1:
    barrier 0 arrive wait -> block10
block10 at 0x68 insts 3:
    v73: i32 = slot.get s0
    v74: i32 = slot.get s1
    v75: ui32 = const 2
    v76: i32 = ishl v74, v75
    v77: i32 = iadd v73, v76
    v69: i32 = slot.get s6
    v70: i32 = isub v69, v77
    v71: i32 = slot.get s3
    v72: i32 = iadd v71, v70
    slot.set s3, v72
    v16: ui32 = const {}
    v17: i32 = splat v16
    v18: i32 = load.u32 global14[v17 + 0x10000] align 4
    v19: ui32 = const 0
    v50: mask = icmp eq v18, v19
    v51: i32 = slot.get s1
    v52: mask = icmp ne v51, v19
    v53: mask = iand v50, v52
    branch v53, block8, block2",
        BLOCKS - 1,
        4 * WORDS,
        4 * WORDS,
    );
    for threads in SOME_AND_WHOLE {
        let (_, mut out) = run_all(&kernel(&before), &launch(BLOCKS, threads), WORDS + 1);
        assert_eq!(out.pop(), Some(1), "{threads}");
        assert_eq!(out, model(own, |_, thread| thread < threads), "{threads}");
    }
}

#[test]
fn what_compiles_behind_comes_to_the_same() {
    let (engine, kernel) = (engine(Tier::Auto, 2), program(&kernel("    jump block2")));
    for _ in 0..6 {
        let (report, out) = run(&engine, &kernel, &launch(BLOCKS, THREADS), WORDS).unwrap();
        assert_eq!((report.fault, out), (None, model(own, all)));
        engine.wait_for_compiler();
    }
    // Another block size, for which what was compiled may not be made.
    let narrow = launch(BLOCKS, THREADS).block([33, 1, 1]);
    let (_, out) = run(&engine, &kernel, &narrow, WORDS).unwrap();
    assert_eq!(out, model(own, |_, thread| thread < 33));
}

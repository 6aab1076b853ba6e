//! Tests atomics in whole launches, on every tier and with every width of code: their order, faulting lanes, locks.

mod support;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use support::{launch, program, words_of};
use warpjit_runtime::{
    Access, CancelToken, Config, Engine, Fault, FaultKind, HostLevel, Launch, Program, Tier,
};

const OUT: u64 = 0x1_0000;
/// Two pages that can be written, then one that can only be read, then nothing.
const WORDS: usize = 2048;
const READ_ONLY: u32 = 0x1_2000;
const UNMAPPED: u32 = 0x1_3000;

/// The interpreter, then compiled code: as it comes, with vectors of 128 bits of several widths, with checked memory.
fn engines(threads: usize) -> Vec<(String, Engine)> {
    let interp = Config::default().tier(Tier::Interp).threads(threads);
    let jit = interp.clone().tier(Tier::Jit);
    let mut list = vec![
        ("interp".to_owned(), interp),
        ("jit".to_owned(), jit.clone()),
        ("checked".to_owned(), jit.clone().checked_memory(true)),
    ];
    for groups in [0, 1, 2, 4, 8, 16] {
        list.push((format!("chunk {groups}"), jit.clone().chunk_groups(Some(groups))));
    }
    // What has no vectors of 512 bits takes fewer lanes.
    let eight = jit.chunk_groups(Some(8));
    list.push(("chunk 8, checked".into(), eight.clone().checked_memory(true)));
    list.push(("chunk 8, SSE4.1".into(), eight.host(HostLevel::Sse41)));
    list.into_iter().map(|(name, config)| (name, Engine::new(config).expect("engine"))).collect()
}

fn run(engine: &Engine, program: &Program, launch: &Launch) -> (Option<Fault>, Vec<u32>) {
    let memory = engine.memory().expect("memory");
    memory.map(Some(OUT), WORDS as u64 * 4, Access::ReadWrite).expect("room");
    memory.map(Some(READ_ONLY.into()), 0x1000, Access::ReadOnly).expect("room");
    let report = engine.run(program, &memory, launch).expect("launch");
    assert_eq!(report.stats.not_compiled, None);
    (report.fault, words_of(&memory, WORDS))
}

/// The same everywhere. Where a fault ends the launch, the words that atomics are on: of what comes behind, lanes of other chunks may have
/// done more or less.
fn same(body: &str, launch: &Launch) -> (Option<Fault>, Vec<u32>) {
    let program = program(body);
    let all = engines(1);
    let want = run(&all[0].1, &program, launch);
    for (name, engine) in &all[1..] {
        let got = run(engine, &program, launch);
        assert_eq!(got.0, want.0, "{name}");
        let compared = if want.0.is_some() { 64 } else { WORDS };
        let differs = got.1.iter().zip(&want.1).take(compared).position(|(a, b)| a != b);
        assert_eq!(differs, None, "{name}");
    }
    want
}

/// Block 0 leaves the lane's index among all threads in s3 and four times that in s2.
const START: &str = "
    slot s0: i32 tid = tid.x
    slot s1: i32 bid = ctaid.x
    slot s2: i32 own
    slot s3: i32 n
    slot s4: i32 a
    slot s5: i32 b
    slot s6: i32 c
    slot s7: mask m
    slot s8: i32 ntid = ntid.x
block0 at 0x0 insts 1:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: i32 = slot.get s8
    v3: i32 = imul v1, v2
    v4: i32 = iadd v3, v0
    v5: ui32 = const 2
    v6: i32 = ishl v4, v5
    slot.set s2, v6
    slot.set s3, v4
    jump block1
";

/// An atomic in a block of its own that goes on to the next: `what` without the address, which is the constant.
fn atomic(number: u32, what: &str, address: u32, to: &str) -> String {
    let first = 100 * number;
    let [v, a, b, c] = [0, 1, 2, 3].map(|n| format!("v{}", first + n));
    let result = match to {
        "" => String::new(),
        slot => format!("    slot.set {slot}, {v}\n"),
    };
    format!(
        "block{number} at {pc:#x} insts 1:\n    {a}: ui32 = const {address:#x}\n    {b}: i32 = splat {a}\n    \
         {c}: i32 = slot.get s3\n    {v}: i32 = atomic.u32 {what} global0[{b}], {c} align 4\n{result}    jump block{next}\n",
        pc = 8 * number,
        next = number + 1,
    )
}

/// Stores s4 and s5 at 0x10100 and 0x10900, a word a thread, and ends.
fn store_both(number: u32) -> String {
    let v = |n: u32| format!("v{}", 100 * number + n);
    format!(
        "block{number} at {pc:#x} insts 1:\n    {o}: i32 = slot.get s2\n    {a}: i32 = slot.get s4\n    {b}: i32 = slot.get s5\n    \
         store.u32 global0[{o} + 0x10100], {a} align 4\n    store.u32 global0[{o} + 0x10900], {b} align 4\n    jump block{next}\n\
         block{next} at {end:#x} insts 1:\n    leave.exit -> block{next}\n",
        pc = 8 * number,
        o = v(0),
        a = v(1),
        b = v(2),
        next = number + 1,
        end = 8 * number + 8,
    )
}

#[test]
fn results_are_in_the_order_of_lanes() {
    // Two sums on one word: all lanes of a warp have done the first before any does the second.
    let body =
        [START, &atomic(1, "add", 0x10000, "s4"), &atomic(2, "add", 0x10000, "s5"), &store_both(3)].concat();
    let (fault, out) = same(&body, &launch(1, 32));
    assert_eq!(fault, None);
    let before = |lane: u32| lane * lane.saturating_sub(1) / 2;
    for lane in 0..32 {
        assert_eq!(out[64 + lane as usize], before(lane), "lane {lane}");
        assert_eq!(out[64 + 512 + lane as usize], before(32) + before(lane), "lane {lane}");
    }
    // Several warps and blocks: each thread has a ticket of its own.
    let body =
        [START, &atomic(1, "inc", 0x10000, "s4"), &atomic(2, "add", 0x10004, ""), &store_both(3)].concat();
    let body = body.replace("v103: i32 = slot.get s3", "v103: i32 = const 0x7fffffff");
    let program = program(&body);
    for (name, engine) in engines(3) {
        let (fault, out) = run(&engine, &program, &launch(5, 96));
        assert_eq!((fault, out[0], out[1]), (None, 480, 480 * 479 / 2), "{name}");
        let tickets: BTreeSet<u32> = out[64..64 + 480].iter().copied().collect();
        assert_eq!(tickets, (0..480).collect(), "{name}");
    }
}

/// An atomic at an address in s4, which is 0x10000 plus four times a third of the lane, but for one thread.
fn with_a_bad_lane(op: &str, thread: u32, address: u32, used: bool) -> String {
    let result = if used { "    slot.set s5, v25\n" } else { "" };
    format!(
        "{START}block1 at 0x8 insts 1:
    v10: i32 = slot.get s3
    v11: ui32 = const {thread}
    v12: mask = icmp eq v10, v11
    v13: ui32 = const {address:#x}
    v14: ui32 = const 28
    v15: i32 = iand v10, v14
    v16: ui32 = const 0x10000
    v17: i32 = iadd v15, v16
    v18: i32 = select v12, v13, v17
    slot.set s4, v18
    jump block2
block2 at 0x10 insts 1:
    v20: i32 = slot.get s4
    v21: i32 = slot.get s3
    v22: ui32 = const 5
    v23: i32 = iadd v21, v22
    @0x14 v25: i32 = atomic.u32 {op} global0[v20], v23 align 4
{result}    jump block3
{}",
        store_both(3)
    )
}

#[test]
fn a_lane_that_faults_is_the_same_and_those_before_it_have_done_theirs() {
    for op in ["add", "exch", "xor", "umax", "inc", "fadd"] {
        for used in [false, true] {
            for (address, kind) in [
                (UNMAPPED, "nothing"),
                (READ_ONLY, "read-only"),
                (0x10002, "misaligned"),
                (0xffff_fff0, "nothing"),
            ] {
                // In the first warp, and in the second: the first has run to its end then.
                for thread in [0, 13, 21, 45] {
                    let (fault, out) = same(&with_a_bad_lane(op, thread, address, used), &launch(1, 64));
                    let fault = fault.unwrap_or_else(|| panic!("{op} {kind} {thread}"));
                    assert_eq!((fault.kind, fault.pc), (FaultKind::Memory, 0x14));
                    assert_eq!((fault.warp, fault.lane), (thread / 32, thread % 32), "{op} {kind}");
                    assert_eq!((fault.address, fault.store), (Some(address.into()), true));
                    if op == "add" {
                        let sum: u32 = out[..8].iter().sum();
                        assert_eq!(sum, (0..thread).map(|n| n + 5).sum::<u32>(), "{kind} {thread}");
                    }
                }
            }
        }
    }
}

/// Each warp takes a lock with one lane, counts without an atomic, and gives the lock back; so often.
fn lock(turns: u32) -> String {
    format!(
        "{START}block1 at 0x8 insts 1:
    v10: i32 = slot.get s0
    v11: ui32 = const 31
    v12: i32 = iand v10, v11
    v13: ui32 = const 0
    v14: mask = icmp ne v12, v13
    leave.exit if v14 -> block2
block2 at 0x10 insts 1:
    jump block3
block3 at 0x18 insts 1:
    jump block4
block4 at 0x20 insts 1:
    v40: ui32 = const 0x10000
    v41: i32 = splat v40
    v42: ui32 = const 0
    v43: i32 = splat v42
    v44: ui32 = const 1
    v45: i32 = splat v44
    v46: i32 = atomic.u32 cas global0[v41], v43, v45 align 4
    slot.set s4, v46
    jump block5
block5 at 0x28 insts 1:
    v50: i32 = slot.get s4
    v51: ui32 = const 0
    v52: mask = icmp ne v50, v51
    branch v52, block3, block6
block6 at 0x30 insts 1:
    v60: ui32 = const 0x10004
    v61: i32 = splat v60
    v62: i32 = load.u32 global0[v61] align 4
    v63: ui32 = const 1
    v64: i32 = iadd v62, v63
    store.u32 global0[v61], v64 align 4
    jump block7
block7 at 0x38 insts 1:
    v70: ui32 = const 0x10000
    v71: i32 = splat v70
    v72: ui32 = const 0
    v73: i32 = splat v72
    v74: i32 = atomic.u32 exch global0[v71], v73 align 4
    jump block8
block8 at 0x40 insts 1:
    v80: i32 = slot.get s5
    v81: ui32 = const 1
    v82: i32 = iadd v80, v81
    slot.set s5, v82
    v83: ui32 = const {turns}
    v84: mask = icmp ult v82, v83
    branch v84, block3, block9
block9 at 0x48 insts 1:
    leave.exit -> block9
"
    )
}

#[test]
fn locks_are_taken_in_turns() {
    let program = program(&lock(50));
    for threads in [1, 3] {
        for (name, engine) in engines(threads) {
            let (fault, out) = run(&engine, &program, &launch(4, 96));
            assert_eq!((fault, out[0], out[1]), (None, 0, 4 * 3 * 50), "{name}, {threads} threads");
        }
    }
}

/// All warps but the first wait, with atomics that may or may not decide anything, for what the first warp of the last block does.
fn wait(by_branch: bool) -> String {
    // The word is looked at by an atomic; the loop ends by its result, or by a register that a branch on its result sets.
    let (test, done) = match by_branch {
        true => (
            "branch v52, block7, block6",
            "    v60: ui32 = const 1\n    v61: i32 = splat v60\n    slot.set s6, v61\n",
        ),
        false => ("jump block6", "    v60: i32 = slot.get s4\n    slot.set s6, v60\n"),
    };
    format!(
        "{START}block1 at 0x8 insts 1:
    v10: i32 = slot.get s3
    v11: ui32 = const 160
    v12: mask = icmp eq v10, v11
    slot.set s7, v12
    jump block2
block2 at 0x10 insts 1:
    v20: ui32 = const 0x10000
    v21: i32 = splat v20
    v22: ui32 = const 1
    v23: i32 = splat v22
    v24: mask = slot.get s7
    v25: i32 = atomic.u32 exch global0[v21], v23 align 4 if v24
    jump block3
block3 at 0x18 insts 1:
    jump block4
block4 at 0x20 insts 1:
    v40: ui32 = const 0x10000
    v41: i32 = splat v40
    v42: ui32 = const 0
    v43: i32 = splat v42
    v44: i32 = atomic.u32 or global0[v41], v43 align 4
    slot.set s4, v44
    jump block5
block5 at 0x28 insts 1:
    v50: i32 = slot.get s4
    v51: ui32 = const 0
    v52: mask = icmp eq v50, v51
    {test}
block6 at 0x30 insts 1:
{done}    jump block7
block7 at 0x38 insts 1:
    v70: i32 = slot.get s6
    v71: ui32 = const 0
    v72: mask = icmp eq v70, v71
    branch v72, block3, block8
block8 at 0x40 insts 1:
    v80: i32 = slot.get s2
    v81: i32 = slot.get s3
    store.u32 global0[v80 + 0x10100], v81 align 4
    jump block9
block9 at 0x48 insts 1:
    leave.exit -> block9
"
    )
}

#[test]
fn waiting_warps_let_others_go_on() {
    for by_branch in [false, true] {
        let program = program(&wait(by_branch));
        for threads in [1, 3] {
            for (name, engine) in engines(threads) {
                let (fault, out) = run(&engine, &program, &launch(3, 64));
                assert_eq!(fault, None, "{name}, {threads} threads");
                assert_eq!(out[64..64 + 192], (0..192).collect::<Vec<u32>>(), "{name}, {threads} threads");
            }
        }
    }
}

/// A wave of a guest with uniform branches that waits with a vote on what an atomic of `space` returns, which the last
/// warp that comes by sets.
fn wave_that_waits(space: &str, address: u32, warps: u32) -> String {
    format!(
        "
    slot s0: i32 tid = tid.x
    slot s1: ui32 turns
    slot s2: ui1 none
    slot s3: i32 seen
    slot s4: mask m
block0 at 0x0 insts 1:
    v0: i32 = slot.get s0
    v1: ui32 = const 31
    v2: i32 = iand v0, v1
    v3: ui32 = const 0
    v4: mask = icmp eq v2, v3
    slot.set s4, v4
    jump block1
block1 at 0x8 insts 1:
    v10: ui32 = const {address:#x}
    v11: i32 = splat v10
    v12: ui32 = const 1
    v13: i32 = splat v12
    v14: mask = slot.get s4
    v15: i32 = atomic.u32 add {space}[v11], v13 align 4 if v14
    jump block2
block2 at 0x10 insts 1:
    v20: ui32 = const {address:#x}
    v21: i32 = splat v20
    v22: ui32 = const 0
    v23: i32 = splat v22
    v24: i32 = atomic.u32 add {space}[v21], v23 align 4
    slot.set s3, v24
    jump block3
block3 at 0x18 insts 1:
    v30: i32 = slot.get s3
    v31: ui32 = const {warps}
    v32: mask = icmp ult v30, v31
    v33: ui1 = vote_any v32
    slot.set s2, v33
    jump block4
block4 at 0x20 insts 1:
    v40: ui1 = slot.get s2
    v41: ui32 = slot.get s1
    v42: ui32 = const 1
    v43: ui32 = iadd v41, v42
    slot.set s1, v43
    branch v40, block2, block5
block5 at 0x28 insts 1:
    v50: i32 = slot.get s0
    v51: ui32 = const 2
    v52: i32 = ishl v50, v51
    store.u32 global0[v52 + 0x10100], v50 align 4
    jump block6
block6 at 0x30 insts 1:
    leave.exit -> block6
"
    )
}

#[test]
fn waiting_waves_let_others_go_on() {
    for (space, address, blocks) in [("global0", 0x10000, 3), ("shared", 0x80, 1)] {
        let program = program(&wave_that_waits(space, address, 4 * blocks));
        for (name, engine) in engines(1) {
            let (fault, out) = run(&engine, &program, &launch(blocks, 128));
            assert_eq!(fault, None, "{name}");
            assert_eq!(out[64..64 + 128], (0..128).collect::<Vec<u32>>(), "{name}");
        }
    }
}

/// Sums for ever, in a loop that no result of an atomic ends.
const FOR_EVER: &str = "
    slot s0: i32 tid = tid.x
    slot s1: i32 n
block0 at 0x0 insts 1:
    jump block1
block1 at 0x8 insts 1:
    v10: ui32 = const 0x10000
    v11: i32 = splat v10
    v12: ui32 = const 1
    v13: i32 = splat v12
    v14: i32 = atomic.u32 add global0[v11], v13 align 4
    jump block2
block2 at 0x10 insts 1:
    v20: i32 = slot.get s1
    v21: ui32 = const 1
    v22: i32 = iadd v20, v21
    slot.set s1, v22
    v23: ui32 = const 0xffffffff
    v24: mask = icmp ult v22, v23
    branch v24, block1, block3
block3 at 0x18 insts 1:
    leave.exit -> block3
";

#[test]
fn loops_with_atomics_are_stopped() {
    let program = program(FOR_EVER);
    for (name, engine) in engines(1) {
        let steps = launch(1, 32).max_steps(1000);
        let (fault, out) = run(&engine, &program, &steps);
        assert_eq!(fault.map(|f| f.kind), Some(FaultKind::Timeout), "{name}");
        // As many turns of three blocks as the interpreter takes.
        assert_eq!(out[0], 500 * 32, "{name}");
    }
    for (name, engine) in engines(2) {
        let cancel = CancelToken::new();
        let told = Arc::new(AtomicU64::new(0));
        let launch = launch(2, 64).cancel(Some(cancel.clone()));
        let memory = engine.memory().expect("memory");
        memory.map(Some(OUT), WORDS as u64 * 4, Access::ReadWrite).expect("room");
        std::thread::scope(|scope| {
            let seen = told.clone();
            scope.spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(20));
                seen.store(1, Ordering::SeqCst);
                cancel.cancel();
            });
            let report = engine.run(&program, &memory, &launch);
            assert_eq!(told.load(Ordering::SeqCst), 1, "{name}");
            assert!(report.expect("launched").cancelled, "{name}");
        });
    }
}

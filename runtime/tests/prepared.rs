//! Launches that are prepared once and run many times.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use support::{engine, image, launch, program, words_of};
use warpjit_frontend::image::ConstPart;
use warpjit_runtime::{
    Access, Arg, CancelToken, Config, Dispatch, Engine, FaultKind, Launch, Memory, Prepared, Program,
    QueueOptions, Tier,
};

/// out[block.x * 32 + tid] = argument 0 + c3[0] + grid threads read from c3 bank neighbours.
const SUM: &str = "
    slot s0: i32 tid = tid.x
    slot s1: i32 block = ctaid.x
block0 at 0x0 insts 2:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: ui32 = const 5
    v3: i32 = ishl v1, v2
    v4: i32 = iadd v3, v0
    v5: ui32 = const 2
    v6: i32 = ishl v4, v5
    v7: ui32 = const 0
    v8: i32 = splat v7
    v9: i32 = load.u32 shared[v8 + 0x10] align 4
    v10: i32 = load.u32 const3[v8 + 0x8] align 4
    v11: i32 = iadd v9, v10
    store.u32 global14[v6 + 0x10000], v11 align 4
    jump block1
block1 at 0x28 insts 1:
    leave.exit -> block1
";

/// Runs as many steps as argument 0 says, or for ever if that is 0.
const LOOP: &str = "
    slot s0: i32 n
block0 at 0x0 insts 1:
    v0: ui32 = const 0
    v1: i32 = splat v0
    v2: i32 = load.u32 shared[v1 + 0x10] align 4
    slot.set s0, v2
    jump block1
block1 at 0x10 insts 2:
    v3: i32 = slot.get s0
    v4: ui32 = const 1
    v5: i32 = isub v3, v4
    slot.set s0, v5
    v6: ui32 = const 0
    v7: i32 = splat v6
    v8: mask = icmp eq v5, v7
    branch v8, block2, block1
block2 at 0x28 insts 1:
    leave.exit -> block2
";

fn memory(engine: &Engine, words: u64) -> Memory {
    let memory = engine.memory().unwrap();
    memory.map(Some(0x1_0000), words * 4, Access::ReadWrite).unwrap();
    memory
}

fn with_arg(blocks: u32, threads: u32, arg: u32) -> Launch {
    launch(blocks, threads).args(vec![Arg::u32(arg)])
}

/// Tiers, with the number of threads.
fn all() -> impl Iterator<Item = Config> {
    let tiers = [Tier::Interp, Tier::Jit, Tier::Auto];
    tiers.into_iter().flat_map(|tier| {
        [1, 2].map(|threads| Config::default().tier(tier).threads(threads).hot_after(Some(2)))
    })
}

fn run(prepared: &mut Prepared) {
    assert_eq!(prepared.run().unwrap().fault, None);
}

#[test]
fn each_run_has_the_arguments_that_were_set() {
    for config in all() {
        for blocks in [1, 3] {
            let engine = Engine::new(config.clone()).unwrap();
            let memory = memory(&engine, 1024);
            let program = program(SUM);
            let mut prepared = engine.prepare(&program, &memory, &with_arg(blocks, 32, 7)).unwrap();
            assert_eq!(prepared.args_bytes(), 4);
            run(&mut prepared);
            assert_eq!(words_of(&memory, 32), [7; 32]);
            for value in 0..40_u32 {
                prepared.set_args(0, &value.to_le_bytes()).unwrap();
                prepared.set_const(3, 8, &(value * 1000).to_le_bytes()).unwrap();
                run(&mut prepared);
                assert_eq!(words_of(&memory, 32 * blocks as usize), vec![value * 1001; 32 * blocks as usize]);
            }
            // Half an argument.
            prepared.set_args(1, &[0xff]).unwrap();
            run(&mut prepared);
            assert_eq!(words_of(&memory, 1)[0], 39 * 1000 + (39 | 0xff00));
            prepared.set_args(3, &[0, 0]).unwrap_err();
            prepared.set_args(usize::MAX, &[0]).unwrap_err();
            prepared.set_const(3, 65533, &[0; 4]).unwrap_err();
            prepared.set_const(99, 0, &[0; 4]).unwrap_err();
            prepared.set_user_data(0, &[1]).unwrap_err();
        }
    }
}

#[test]
fn the_grid_and_the_blocks_can_be_changed() {
    for config in all() {
        let engine = Engine::new(config).unwrap();
        let memory = memory(&engine, 1024);
        let program = program(SUM);
        let mut prepared = engine.prepare(&program, &memory, &with_arg(1, 32, 1)).unwrap();
        let sum = || words_of(&memory, 1024).iter().sum::<u32>();
        run(&mut prepared);
        assert_eq!(sum(), 32);
        prepared.set_grid([5, 1, 1]).unwrap();
        run(&mut prepared);
        assert_eq!(sum(), 5 * 32);
        prepared.set_args(0, &2_u32.to_le_bytes()).unwrap();
        prepared.set_blocks(Some(3..5)).unwrap();
        run(&mut prepared);
        assert_eq!(sum(), 7 * 32);
        prepared.set_blocks(Some(1..2)).unwrap();
        run(&mut prepared);
        assert_eq!(words_of(&memory, 1024)[..96], [[1_u32; 32], [2; 32], [1; 32]].concat());
        prepared.set_grid([1, 1, 1]).unwrap();
        run(&mut prepared);
        assert_eq!(sum(), 9 * 32);
        prepared.set_blocks(Some(0..2)).unwrap_err();
        prepared.set_grid([0, 1, 1]).unwrap_err();
        prepared.set_grid([70000, 1, 1]).unwrap_err();
        // What was refused changes nothing.
        run(&mut prepared);
        assert_eq!(sum(), 9 * 32);
    }
}

#[test]
fn the_report_is_that_of_an_ordinary_launch() {
    for config in all() {
        for blocks in [1, 4] {
            let engine = Engine::new(config.clone().count(true)).unwrap();
            let memory = memory(&engine, 1024);
            let program = program(SUM);
            let launch = with_arg(blocks, 50, 7);
            let want = engine.run(&program, &memory, &launch).unwrap();
            let mut prepared = engine.prepare(&program, &memory, &launch).unwrap();
            for _ in 0..3 {
                let report = prepared.run().unwrap();
                let of = |stats: &warpjit_runtime::Stats| {
                    (
                        stats.blocks,
                        stats.warps,
                        stats.warp_instructions,
                        stats.thread_instructions,
                        stats.lane_slots,
                    )
                };
                assert_eq!(of(&report.stats), of(&want.stats));
            }
            // Uncounted, what is exact is the same.
            let engine = Engine::new(config.clone()).unwrap();
            let report = engine.prepare(&program, &memory, &launch).unwrap().run().unwrap();
            assert_eq!((report.stats.blocks, report.stats.warps), (want.stats.blocks, want.stats.warps));
            assert!(!report.stats.counted && report.stats.thread_instructions > 0);
        }
    }
}

#[test]
fn a_fault_ends_one_run_only() {
    for config in all() {
        for blocks in [1, 3] {
            let engine = Engine::new(config.clone()).unwrap();
            let memory = engine.memory().unwrap();
            let program = program(SUM);
            let launch = with_arg(blocks, 32, 7);
            let mut prepared = engine.prepare(&program, &memory, &launch).unwrap();
            for _ in 0..3 {
                let fault = prepared.run().unwrap().fault.expect("nothing is mapped");
                assert_eq!(Some(&fault), engine.run(&program, &memory, &launch).unwrap().fault.as_ref());
                assert_eq!((fault.kind, fault.address), (FaultKind::Memory, Some(0x1_0000)));
            }
            memory.map(Some(0x1_0000), 4096, Access::ReadWrite).unwrap();
            run(&mut prepared);
            assert_eq!(words_of(&memory, 32), [7; 32]);
            memory.unmap(0x1_0000).unwrap();
            assert!(prepared.run().unwrap().fault.is_some());
        }
    }
}

#[test]
fn it_goes_on_when_the_memory_needs_other_code() {
    for config in all() {
        let engine = Engine::new(config).unwrap();
        let memory = memory(&engine, 1024);
        let program = program(SUM);
        let mut prepared = engine.prepare(&program, &memory, &with_arg(1, 32, 7)).unwrap();
        run(&mut prepared);
        prepared.set_args(0, &9_u32.to_le_bytes()).unwrap();
        prepared.set_const(3, 8, &1_u32.to_le_bytes()).unwrap();
        // Memory outside of the window: addresses have to be translated from now on.
        memory.map(Some(0x7000_0000_0000), 4096, Access::ReadWrite).unwrap();
        run(&mut prepared);
        assert_eq!(words_of(&memory, 32), [10; 32]);
        memory.unmap(0x7000_0000_0000).unwrap();
        run(&mut prepared);
    }
}

#[test]
fn clones_run_side_by_side_with_arguments_of_their_own() {
    for config in all() {
        let engine = Engine::new(config).unwrap();
        let program = program(SUM);
        let memory = memory(&engine, 1024);
        let mut first = engine.prepare(&program, &memory, &with_arg(4, 32, 7)).unwrap();
        first.set_const(3, 8, &3_u32.to_le_bytes()).unwrap();
        std::thread::scope(|scope| {
            for number in 0..4_u64 {
                let mut own = first.clone();
                let memory = &memory;
                scope.spawn(move || {
                    own.set_blocks(Some(number..number + 1)).unwrap();
                    for turn in 0..200_u32 {
                        let value = turn * 10 + number as u32;
                        own.set_args(0, &value.to_le_bytes()).unwrap();
                        run(&mut own);
                        let mut bytes = [0; 4];
                        memory.read(0x1_0000 + number * 128, &mut bytes).unwrap();
                        assert_eq!(u32::from_le_bytes(bytes), value + 3);
                    }
                });
            }
        });
        // The first one still has its own.
        run(&mut first);
        assert_eq!(words_of(&memory, 128), [10; 128]);
    }
}

#[test]
fn a_token_cancels_a_run_and_the_next_one_goes_on() {
    for config in all() {
        for blocks in [1, 3] {
            let engine = Engine::new(config.clone()).unwrap();
            let memory = engine.memory().unwrap();
            let program = program(LOOP);
            let mut prepared = engine.prepare(&program, &memory, &with_arg(blocks, 32, 0)).unwrap();
            let cancel = CancelToken::new();
            prepared.set_cancel(Some(cancel.clone()));
            let report = std::thread::scope(|scope| {
                let running = scope.spawn(|| prepared.run());
                std::thread::sleep(std::time::Duration::from_millis(5));
                cancel.cancel();
                running.join().unwrap().unwrap()
            });
            assert!(report.cancelled && report.stats.blocks == 0);
            prepared.set_cancel(None);
            prepared.set_args(0, &5_u32.to_le_bytes()).unwrap();
            let report = prepared.run().unwrap();
            assert!(!report.cancelled && report.stats.blocks == u64::from(blocks));
        }
    }
}

#[test]
fn what_a_launch_may_not_be_is_refused() {
    let engine = engine(Tier::Auto, 1);
    let memory = engine.memory().unwrap();
    let program = program(SUM);
    let bad = |launch: &Launch| engine.prepare(&program, &memory, launch).unwrap_err();
    let same = |launch: &Launch| assert_eq!(bad(launch), engine.run(&program, &memory, launch).unwrap_err());
    same(&launch(0, 32));
    same(&launch(1, 5000));
    same(&launch(2, 32).capture_registers(true));
    same(&launch(1, 32).args(vec![Arg::bytes(vec![0; 1000], 4)]));
    same(&launch(1, 32).consts(vec![(50, vec![1])]));
}

#[test]
fn captures_are_those_of_an_ordinary_launch() {
    for config in all() {
        let engine = Engine::new(config).unwrap();
        let memory = memory(&engine, 64);
        let program = program(SUM);
        let launch = with_arg(1, 32, 7).capture_registers(true).capture_shared(true);
        let want = engine.run(&program, &memory, &launch).unwrap();
        let mut prepared = engine.prepare(&program, &memory, &launch).unwrap();
        for _ in 0..2 {
            let report = prepared.run().unwrap();
            assert_eq!((&report.registers, &report.shared), (&want.registers, &want.shared));
        }
    }
}

#[test]
fn a_panic_in_progress_comes_out_and_harms_nothing() {
    for config in all() {
        for blocks in [1, 3] {
            let engine = Engine::new(config.clone()).unwrap();
            let memory = memory(&engine, 1024);
            let program = program(SUM);
            let times = Arc::new(AtomicU32::new(0));
            let counted = times.clone();
            let progress: warpjit_runtime::Progress = Arc::new(move |done, all| {
                if done == all && counted.fetch_add(1, Ordering::Relaxed) == 0 {
                    panic!("expected");
                }
            });
            let launch = with_arg(blocks, 32, 7).progress(Some(progress));
            let mut prepared = engine.prepare(&program, &memory, &launch).unwrap();
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| prepared.run()));
            assert_eq!(panicked.unwrap_err().downcast_ref::<&str>(), Some(&"expected"));
            run(&mut prepared);
            assert_eq!(times.load(Ordering::Relaxed), 2);
        }
    }
}

#[test]
fn what_the_container_has_in_its_bank_stays() {
    let mut image = image(SUM);
    image.consts = vec![ConstPart { bank: 3, offset: 8, bytes: 500_u32.to_le_bytes().to_vec().into() }];
    image.compiler_bank = Some(3);
    let program = Program::from_image(image).unwrap();
    for config in all() {
        let engine = Engine::new(config).unwrap();
        let memory = memory(&engine, 64);
        let mut prepared = engine.prepare(&program, &memory, &with_arg(1, 32, 7)).unwrap();
        prepared.set_const(3, 0, &[1; 32]).unwrap();
        run(&mut prepared);
        assert_eq!(words_of(&memory, 1), [507]);
    }
}

/// out[tid] = the first word of user data, to which the second one is added in a register that the kernel changes.
const USER: &str = "
    slot s0: ui32 first = user0
    slot s1: ui32 second = user1
    slot s2: i32 tid = tid.x
block0 at 0x0 insts 3:
    v0: ui32 = slot.get s0
    v1: ui32 = slot.get s1
    v2: ui32 = iadd v0, v1
    slot.set s1, v2
    jump block1
block1 at 0x10 insts 2:
    v3: ui32 = slot.get s1
    v4: i32 = splat v3
    v5: i32 = slot.get s2
    v6: ui32 = const 2
    v7: i32 = ishl v5, v6
    store.u32 global14[v7 + 0x10000], v4 align 4
    jump block2
block2 at 0x28 insts 1:
    leave.exit -> block2
";

#[test]
fn user_data_is_that_of_each_run() {
    for config in all() {
        for blocks in [1, 3] {
            let engine = Engine::new(config.clone()).unwrap();
            let memory = memory(&engine, 1024);
            let program = program(USER);
            let launch = launch(blocks, 32).user_data(vec![5, 1]);
            let mut prepared = engine.prepare(&program, &memory, &launch).unwrap();
            assert_eq!(prepared.user_data_words(), 2);
            for turn in 0..30_u32 {
                run(&mut prepared);
                let want = if turn == 0 { 6 } else { (turn - 1) * 11 + 10 };
                assert_eq!(words_of(&memory, 32), [want; 32]);
                prepared.set_user_data(0, &[turn * 10]).unwrap();
                prepared.set_user_data(1, &[turn + 10]).unwrap();
            }
            let mut other = prepared.clone();
            other.set_user_data(0, &[1, 2]).unwrap();
            run(&mut other);
            assert_eq!(words_of(&memory, 32), [3; 32]);
            run(&mut prepared);
            assert_eq!(words_of(&memory, 32), [29 * 11 + 10; 32]);
            prepared.set_user_data(1, &[1, 2]).unwrap_err();
        }
    }
}

#[test]
fn a_dispatch_has_no_user_data_of_an_earlier_one() {
    for config in all() {
        for blocks in [1, 3] {
            let engine = Engine::new(config.clone()).unwrap();
            let memory = memory(&engine, 1024);
            let queue = engine.queue(QueueOptions::new());
            let prepared = engine.prepare(&program(USER), &memory, &launch(blocks, 32)).unwrap();
            let set = Dispatch::of(&prepared).user_data(0, &[1, 2]);
            queue.submit_batch(&[set]).unwrap().wait().unwrap();
            assert_eq!(words_of(&memory, 32), [3; 32]);
            queue.submit_batch(&[set, Dispatch::of(&prepared)]).unwrap().wait().unwrap();
            assert_eq!(words_of(&memory, 32), [0; 32]);
            let second = Dispatch::of(&prepared).user_data(1, &[9]);
            queue.submit_batch(&[set, second]).unwrap().wait().unwrap();
            assert_eq!(words_of(&memory, 32), [9; 32]);
        }
    }
}

#[test]
fn words_that_are_known_fill_gaps_in_user_data() {
    let mut image = image(USER);
    image.known_user_data = vec![(0, 5)];
    let program = Program::from_image(image).unwrap();
    for config in all() {
        let engine = Engine::new(config).unwrap();
        let memory = memory(&engine, 1024);
        let mut prepared = engine.prepare(&program, &memory, &launch(1, 32)).unwrap();
        let dispatch = Dispatch::of(&prepared).user_data(1, &[4]);
        let queue = engine.queue(QueueOptions::new());
        queue.submit_batch(&[dispatch]).unwrap().wait().unwrap();
        assert_eq!(words_of(&memory, 32), [9; 32]);
        prepared.set_user_data(1, &[2]).unwrap();
        run(&mut prepared);
        assert_eq!(words_of(&memory, 32), [7; 32]);
        // And where a launch gives none.
        engine.run(&program, &memory, &launch(1, 32)).unwrap();
        assert_eq!(words_of(&memory, 32), [5; 32]);
    }
}

//! Tests background compilation: code that a running launch starts to use, code that is given up, and code that nobody waits for
//! any more.

mod support;

use std::time::Duration;
use support::{engine as engine_of, launch, program, run};
use warpjit_runtime::{Arg, CancelToken, CodeKind, Config, Engine, FaultKind, Launch, Observe, Tier};

fn auto(hot_after: Option<u32>, threads: usize) -> Engine {
    Engine::new(Config::default().tier(Tier::Auto).hot_after(hot_after).threads(threads)).expect("an engine")
}

/// out[thread] = sum of squares below `arg`, plus the thread's number; a barrier between.
const SUM: &str = "
    slot s0: i32 tid = tid.x
    slot s1: i32 bid = ctaid.x
    slot s2: i32 n = ntid.x
    slot s3: i32 i
    slot s4: i32 sum
block0 at 0x0 insts 2:
    v0: ui32 = const 0
    v1: i32 = splat v0
    slot.set s3, v1
    slot.set s4, v1
    jump block1
block1 at 0x10 insts 3:
    v2: i32 = slot.get s3
    v3: i32 = slot.get s4
    v4: i32 = imul v2, v2
    v5: i32 = iadd v3, v4
    slot.set s4, v5
    v6: ui32 = const 1
    v7: i32 = iadd v2, v6
    slot.set s3, v7
    v8: ui32 = const 0x10
    v9: i32 = splat v8
    v10: i32 = load.u32 shared[v9] align 4
    v11: mask = icmp ult v7, v10
    branch v11, block1, block2
block2 at 0x30 insts 1:
    barrier 0 arrive wait -> block3
block3 at 0x38 insts 2:
    v12: i32 = slot.get s0
    v13: i32 = slot.get s1
    v14: i32 = slot.get s2
    v15: i32 = imul v13, v14
    v16: i32 = iadd v15, v12
    v17: ui32 = const 2
    v18: i32 = ishl v16, v17
    v19: i32 = slot.get s4
    v20: i32 = iadd v19, v16
    store.u32 global14[v18 + 0x10000], v20 align 4
    jump block4
block4 at 0x48 insts 1:
    leave.exit -> block4
";

fn sums(threads: u32, below: u32) -> Vec<u32> {
    let sum = (0..below).map(|i| i.wrapping_mul(i)).fold(0, u32::wrapping_add);
    (0..threads).map(|thread| sum.wrapping_add(thread)).collect()
}

fn sum_launch(below: u32) -> Launch {
    launch(6, 70).args(vec![Arg::u32(below)])
}

#[test]
fn launches_go_over_to_compiled_code() {
    let program = program(SUM);
    let engine = auto(None, 2);
    let mut shares = Vec::new();
    for _ in 0..8 {
        let (report, out) = run(&engine, &program, &sum_launch(50), 420).unwrap();
        assert_eq!(report.fault, None);
        assert_eq!(out, sums(420, 50));
        assert_eq!(report.stats.not_compiled, None);
        // Nobody waits for the compiler.
        assert_eq!(report.stats.compile, Duration::ZERO);
        let tiers = report.stats.tiers;
        assert!((tiers.interpreted + tiers.compiled - 1.0).abs() < 1e-9, "{tiers:?}");
        assert_eq!(tiers.compiled, report.stats.jit_share);
        shares.push(tiers.compiled);
        engine.wait_for_compiler();
    }
    // The barrier is the interpreter's, the rest is not.
    assert!(shares[7] > 0.9, "{shares:?}");
    assert!(shares[0] < shares[7], "{shares:?}");
}

#[test]
fn a_long_launch_takes_code_up_while_it_runs() {
    let (report, out) = run(&auto(Some(0), 1), &program(SUM), &sum_launch(300_000), 420).unwrap();
    assert_eq!(out, sums(420, 300_000));
    let tiers = report.stats.tiers;
    assert!(tiers.compiled > 0.5 && tiers.interpreted > 0.0, "{tiers:?}");
    assert!(report.stats.compile_behind > Duration::ZERO);
}

#[test]
fn cold_code_stays_in_the_interpreter() {
    let engine = auto(Some(u32::MAX), 1);
    for _ in 0..3 {
        let (report, _) = run(&engine, &program(SUM), &sum_launch(20), 420).unwrap();
        engine.wait_for_compiler();
        assert_eq!((report.stats.tiers.interpreted, report.stats.tiers.compiled), (1.0, 0.0));
    }
}

#[test]
fn faults_are_the_same_after_the_code_was_taken_up() {
    // Threads of block 8 store where nothing is mapped.
    let program = program(SUM);
    let engine = auto(Some(0), 1);
    let mut faults = Vec::new();
    for _ in 0..4 {
        let (report, _) = run(&engine, &program, &launch(40, 128), 1024).unwrap();
        faults.push(report.fault.expect("a fault"));
        engine.wait_for_compiler();
    }
    for tier in [Tier::Interp, Tier::Jit] {
        let (report, _) = run(&engine_of(tier, 1), &program, &launch(40, 128), 1024).unwrap();
        faults.push(report.fault.expect("a fault"));
    }
    assert_eq!(faults[0].kind, FaultKind::Memory);
    assert!(faults.windows(2).all(|pair| pair[0] == pair[1]), "{faults:?}");
}

#[test]
fn an_engine_is_dropped_with_jobs_that_wait() {
    let program = program(SUM);
    for _ in 0..20 {
        let engine = auto(Some(0), 1);
        run(&engine, &program, &sum_launch(3), 420).unwrap();
    }
    // What was asked for and not done is asked for again by the next engine.
    let engine = auto(Some(0), 1);
    for _ in 0..6 {
        run(&engine, &program, &sum_launch(3), 420).unwrap();
        engine.wait_for_compiler();
    }
    let (report, out) = run(&engine, &program, &sum_launch(3), 420).unwrap();
    assert_eq!(out, sums(420, 3));
    assert!(report.stats.tiers.compiled > 0.5, "{:?}", report.stats.tiers);
}

#[test]
fn a_program_is_dropped_while_it_is_compiled() {
    let engine = auto(Some(0), 1);
    for _ in 0..50 {
        // Each has code of its own to be compiled.
        let (_, out) = run(&engine, &program(SUM), &sum_launch(5), 420).unwrap();
        assert_eq!(out, sums(420, 5));
    }
    engine.wait_for_compiler();
}

#[test]
fn a_launch_is_cancelled_while_code_is_compiled() {
    for millis in [0, 1, 3, 10] {
        let engine = auto(Some(0), 2);
        let token = CancelToken::new();
        let endless = sum_launch(u32::MAX).cancel(Some(token.clone()));
        let report = std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(millis));
                token.cancel();
            });
            run(&engine, &program(SUM), &endless, 420).unwrap().0
        });
        assert!(report.cancelled);
        assert_eq!(report.fault, None);
    }
}

#[test]
fn engines_and_threads_share_a_program() {
    let program = program(SUM);
    let engines = [auto(Some(0), 1), auto(Some(0), 2), auto(Some(4), 1)];
    std::thread::scope(|scope| {
        for engine in &engines {
            for below in [1, 40] {
                let program = &program;
                scope.spawn(move || {
                    for _ in 0..20 {
                        let (_, out) = run(engine, program, &sum_launch(below), 420).unwrap();
                        assert_eq!(out, sums(420, below));
                    }
                });
            }
        }
    });
}

/// A block of a region that is compiled already gets a region of its own only if warps go on coming to it, so that compiling takes time in
/// proportion to the code.
#[test]
fn blocks_inside_of_a_region_get_no_regions_of_their_own() {
    const DIAMONDS: usize = 20;
    let mut text = String::from(
        "slot s0: i32 tid = tid.x\nslot s1: i32 sum\n\
         block0 at 0x0 insts 1:\n v0: ui32 = const 0\n v1: i32 = splat v0\n slot.set s1, v1\n jump block1\n",
    );
    let mut value = 2;
    for diamond in 0..DIAMONDS {
        let (at, block) = (0x10 + 0x20 * diamond, 1 + 2 * diamond);
        let [a, b, c, d, e, f, g] = std::array::from_fn(|n| value + n);
        let (then, behind) = (block + 1, block + 2);
        text += &format!(
            "block{block} at {at:#x} insts 1:\n v{a}: i32 = slot.get s0\n v{b}: ui32 = const {diamond}\n \
             v{c}: i32 = splat v{b}\n v{d}: mask = icmp ult v{a}, v{c}\n branch v{d}, block{then}, block{behind}\n\
             block{then} at {:#x} insts 1:\n v{e}: i32 = slot.get s0\n v{f}: i32 = slot.get s1\n \
             v{g}: i32 = iadd v{e}, v{f}\n slot.set s1, v{g}\n jump block{behind}\n",
            at + 0x10,
        );
        value += 7;
    }
    let (last, end) = (1 + 2 * DIAMONDS, 2 + 2 * DIAMONDS);
    let [a, b, c, d] = std::array::from_fn(|n| value + n);
    text += &format!(
        "block{last} at 0x1000 insts 1:\n v{a}: i32 = slot.get s0\n v{b}: ui32 = const 2\n v{c}: i32 = ishl v{a}, v{b}\n \
         v{d}: i32 = slot.get s1\n store.u32 global14[v{c} + 0x10000], v{d} align 4\n jump block{end}\n\
         block{end} at 0x1010 insts 1:\n leave.exit -> block{end}\n",
    );
    let observe = Observe::default().listings(true);
    let config = Config::default().tier(Tier::Auto).hot_after(Some(0)).threads(1).observe(observe);
    let engine = Engine::new(config).expect("an engine");
    let program = program(&text);
    let wanted: Vec<u32> = (0..32).map(|tid| tid * (DIAMONDS as u32).saturating_sub(tid + 1)).collect();
    for launches in 0..3 {
        let (report, out) = run(&engine, &program, &launch(1, 32), 32).unwrap();
        assert_eq!(out, wanted);
        engine.wait_for_compiler();
        let functions = report.listings.expect("asked for").functions;
        let regions = functions.iter().filter(|function| function.kind == CodeKind::Region).count();
        assert!(regions <= 2, "{regions} regions after {launches} launches");
    }
}

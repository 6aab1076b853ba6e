//! Compiling ahead of launches, and the compiler's threads.

mod support;

use support::{launch, program, words_of};
use warpjit_runtime::{Access, Config, Engine, Error, HostLevel, Launch, Memory, Program, Tier};

/// out[tid] = number, with a barrier and a loop.
fn source(number: u32) -> String {
    format!(
        "
    slot s0: i32 tid = tid.x
    slot s1: i32 n
block0 at 0x0 insts 1:
    v0: ui32 = const 3
    v1: i32 = splat v0
    slot.set s1, v1
    jump block1
block1 at 0x8 insts 1:
    v2: i32 = slot.get s1
    v3: ui32 = const 1
    v4: i32 = isub v2, v3
    slot.set s1, v4
    v5: ui32 = const 0
    v6: i32 = splat v5
    v7: mask = icmp eq v4, v6
    branch v7, block2, block1
block2 at 0x10 insts 1:
    barrier 0 arrive wait -> block3
block3 at 0x18 insts 2:
    v8: i32 = slot.get s0
    v9: ui32 = const 2
    v10: i32 = ishl v8, v9
    v11: ui32 = const {number}
    v12: i32 = splat v11
    store.u32 global14[v10 + 0x10000], v12 align 4
    jump block4
block4 at 0x28 insts 1:
    leave.exit -> block4
"
    )
}

fn memory(engine: &Engine) -> Memory {
    let memory = engine.memory().unwrap();
    memory.map(Some(0x1_0000), 4096, Access::ReadWrite).unwrap();
    memory
}

fn run(engine: &Engine, program: &Program, memory: &Memory, launch: &Launch, number: u32) -> f64 {
    let report = engine.run(program, memory, launch).unwrap();
    assert_eq!(report.fault, None);
    assert_eq!(words_of(memory, 32), [number; 32]);
    report.stats.tiers.compiled
}

#[test]
fn launches_find_what_was_compiled_ahead() {
    for tier in [Tier::Interp, Tier::Jit, Tier::Auto] {
        for compiler_threads in [0, 2] {
            for (blocks, threads) in [(1, 32), (1, 64), (8, 64), (3, 40)] {
                // So high that launches ask for nothing.
                let hot_after = Some(1_000_000);
                let engine = Engine::new(
                    Config::default().tier(tier).compiler_threads(compiler_threads).hot_after(hot_after),
                );
                let engine = engine.unwrap();
                let (memory, launch) = (memory(&engine), launch(blocks, threads));
                let programs: Vec<Program> = (0..6).map(|n| program(&source(n))).collect();
                let compilation = engine.precompile(&memory, programs.iter().map(|p| (p, &launch)));
                compilation.wait().unwrap();
                assert_eq!(compilation.progress(), (6, 6));
                assert!(compilation.wait_timeout(std::time::Duration::ZERO));
                for (program, number) in programs.iter().zip(0..) {
                    let compiled = run(&engine, program, &memory, &launch, number);
                    assert!(
                        tier == Tier::Interp || compiled > 0.99,
                        "{tier:?} {blocks} {threads}: {compiled}"
                    );
                    assert!(tier != Tier::Interp || compiled == 0.0);
                }
            }
        }
    }
}

/// out[tid] = number, in one region.
fn straight(number: u32) -> String {
    format!(
        "
    slot s0: i32 tid = tid.x
block0 at 0x0 insts 2:
    v0: i32 = slot.get s0
    v1: ui32 = const 2
    v2: i32 = ishl v0, v1
    v3: ui32 = const {number}
    v4: i32 = splat v3
    store.u32 global14[v2 + 0x10000], v4 align 4
    jump block1
block1 at 0x10 insts 1:
    leave.exit -> block1
"
    )
}

#[test]
fn first_launches_compile_nothing_after_that() {
    for kernel in [straight, source] {
        for (blocks, threads) in [(1, 32), (1, 64), (1, 40), (8, 64), (3, 40)] {
            for host in [HostLevel::Native, HostLevel::Avx2, HostLevel::Sse41] {
                let engine = Engine::new(Config::default().tier(Tier::Jit).host(host)).unwrap();
                let (memory, launch) = (memory(&engine), launch(blocks, threads));
                let program = program(&kernel(5));
                program.precompile(&engine, &memory, std::slice::from_ref(&launch)).wait().unwrap();
                for turn in 0..3 {
                    let report = engine.run(&program, &memory, &launch).unwrap();
                    let compile = report.stats.compile;
                    assert!(
                        compile.is_zero(),
                        "{blocks} blocks of {threads}, {host:?}, turn {turn}: {compile:?}"
                    );
                }
                assert_eq!(words_of(&memory, 32), [5; 32]);
            }
        }
    }
}

#[test]
fn errors_come_out_where_it_is_waited_for() {
    let engine = Engine::new(Config::default()).unwrap();
    let (memory, program) = (memory(&engine), program(&source(1)));
    let launches = [launch(1, 32), launch(0, 32), launch(2, 32)];
    let compilation = program.precompile(&engine, &memory, &launches);
    assert!(matches!(compilation.wait(), Err(Error::Launch(_))));
    assert_eq!(compilation.progress(), (3, 3));
    program.precompile(&engine, &memory, &[]).wait().unwrap();
}

#[test]
fn it_can_be_cancelled_and_ends_with_the_engine() {
    let engine = Engine::new(Config::default()).unwrap();
    let (memory, launch) = (memory(&engine), launch(1, 32));
    let programs: Vec<Program> = (0..50).map(|n| program(&source(n))).collect();
    let all = || programs.iter().map(|program| (program, &launch));
    let compilation = engine.precompile(&memory, all());
    compilation.cancel();
    assert!(matches!(compilation.wait(), Err(Error::Cancelled)));
    assert_eq!(compilation.progress(), (50, 50));
    let compilation = engine.precompile(&memory, all());
    drop(engine);
    let _ = compilation.wait();
    assert_eq!(compilation.progress(), (50, 50));
    // The programs are as good as before.
    let engine = Engine::new(Config::default()).unwrap();
    run(&engine, &programs[7], &memory, &launch, 7);
}

#[test]
fn nothing_that_launches_have_asked_for_is_dropped() {
    for (compiler_threads, compiler_queue) in [(0, None), (3, None), (1, Some(0)), (1, Some(5))] {
        let config = Config::default()
            .tier(Tier::Auto)
            .threads(1)
            .hot_after(Some(1))
            .compiler_threads(compiler_threads)
            .compiler_queue(compiler_queue)
            .compiler_nice(5);
        let engine = Engine::new(config).unwrap();
        let (memory, launch) = (memory(&engine), launch(1, 32));
        let programs: Vec<Program> = (0..200).map(|n| program(&source(n))).collect();
        for (program, number) in programs.iter().zip(0..) {
            for _ in 0..4 {
                run(&engine, program, &memory, &launch, number);
            }
        }
        engine.wait_for_compiler();
        for (program, number) in programs.iter().zip(0..) {
            let compiled = run(&engine, program, &memory, &launch, number);
            assert!(compiled > 0.5, "{compiler_threads} threads, queue {compiler_queue:?}: {compiled}");
        }
    }
}

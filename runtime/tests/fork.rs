//! Tests that a process may fork while it runs guests: parent and child both go on. Python's multiprocessing with start method
//! `fork` needs that. Each case runs in a child process: this test binary starts itself with an environment variable set. A
//! forked child reports by its exit status, and an alarm ends it if it hangs.

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use support::{child, launch, program, run};
use warpjit_runtime::{
    Access, Arg, CacheConfig, CancelToken, Config, Engine, FaultKind, Launch, Memory, Program, Tier,
};

const CASE: &str = "WARPJIT_FORK_CASE";
/// Seconds after which a process hangs.
const TIME_LIMIT: u32 = 60;

/// out[thread] = arg + thread + more.
fn adds(more: u32) -> Program {
    program(&format!(
        "
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
    v10: i32 = iadd v9, v4
    v11: ui32 = const {more:#x}
    v12: i32 = iadd v10, v11
    store.u32 global14[v6 + 0x10000], v12 align 4
    jump block1
block1 at 0x40 insts 1:
    leave.exit -> block1
"
    ))
}

/// Goes round for ever.
const FOR_EVER: &str = "
    slot s0: i32 n
block0 at 0x0 insts 2:
    v0: i32 = slot.get s0
    v1: i32 = iadd v0, v0
    slot.set s0, v1
    jump block0
";

fn launch_of(blocks: u32) -> Launch {
    launch(blocks, 64).args(vec![Arg::u32(1000)])
}

/// Runs a program and looks at what it has stored.
fn is_right(engine: &Engine, kernel: &Program, more: u32) -> bool {
    let Ok((report, out)) = run(engine, kernel, &launch_of(4), 256) else { return false };
    report.fault.is_none() && (0..256).all(|thread| out[thread as usize] == 1000 + thread + more)
}

/// Forks; the child does `work` and ends: 0 where that gives `true`.
fn fork(work: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child does `work`, which is what is tested, and ends without running anything else.
    unsafe {
        let pid = libc::fork();
        if pid == 0 {
            libc::alarm(TIME_LIMIT);
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            libc::_exit(match done {
                Ok(true) => 0,
                Ok(false) => 1,
                Err(_) => 2,
            });
        }
        pid
    }
}

/// Waits for a process that was forked; whether it has ended with 0.
fn ended_well(pid: i32) -> bool {
    let mut status = 0;
    // SAFETY: a child of this process; the pointer is to a local.
    let waited = unsafe { libc::waitpid(pid, &mut status, 0) };
    if waited != pid || status != 0 {
        eprintln!("{pid}: status {status:#x}");
    }
    waited == pid && status == 0
}

fn settings(tier: Tier, cache: Option<&Path>) -> Config {
    let cache = cache.map(CacheConfig::new);
    Config::default().tier(tier).threads(2).hot_after(Some(0)).cache(cache)
}

/// What a process does of everything: runs what there is, compiles and drops more, faults.
fn goes_on(engine: &Engine, known: &[Program], first: u32) -> bool {
    let known_are_right = || known.iter().zip(0..).all(|(kernel, more)| is_right(engine, kernel, more));
    let new_are_right = (first..first + 4).all(|more| is_right(engine, &adds(more), more));
    let faults = |report: &warpjit_runtime::Report| report.fault.as_ref().map(|fault| fault.kind);
    let beyond = run(engine, &known[0], &launch_of(64), 256)
        .is_ok_and(|(report, _)| faults(&report) == Some(FaultKind::Memory));
    known_are_right() && new_are_right && beyond && known_are_right()
}

/// Many forks while another thread launches, compiles and drops programs.
fn while_others_work(tier: Tier, cache: Option<&Path>, forks: u32) {
    let engine = Engine::new(settings(tier, cache)).expect("an engine");
    let known: Vec<Program> = (0..4).map(adds).collect();
    assert!(known.iter().zip(0..).all(|(kernel, more)| is_right(&engine, kernel, more)));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut first = 1000;
            while !over.load(Ordering::Relaxed) {
                assert!(goes_on(&engine, &known, first));
                first += 4;
            }
        });
        for number in 0..forks {
            let pid = fork(|| {
                // The engine of the parent, and one of its own; both end here.
                let own = Engine::new(settings(tier, cache)).expect("an engine");
                let right =
                    goes_on(&engine, &known, 1_000_000 + 100 * number) && goes_on(&own, &known, 2_000_000);
                engine.wait_for_compiler();
                drop((own, known.clone()));
                right
            });
            // The parent goes on meanwhile, and now and then without the child's end.
            assert!(goes_on(&engine, &known, 3_000_000 + 100 * number));
            assert!(ended_well(pid), "fork {number}");
        }
        over.store(true, Ordering::Relaxed);
        worker.join().expect("works");
    });
    // A child drops what its parent has made.
    let pid = fork(|| {
        drop((engine.clone(), known.clone()));
        true
    });
    assert!(ended_well(pid));
    assert!(known.iter().zip(0..).all(|(kernel, more)| is_right(&engine, kernel, more)));
}

/// What a child frees and compiles must not be what its parent runs.
fn code_of_one_and_the_other() {
    let engine = Engine::new(settings(Tier::Jit, None)).expect("an engine");
    let mut known: Vec<Program> = (0..4).map(adds).collect();
    assert!(known.iter().zip(0..).all(|(kernel, more)| is_right(&engine, kernel, more)));
    let (mut tell, mut told) = ([0; 2], [0; 2]);
    // SAFETY: pointers to locals.
    unsafe { assert_eq!((libc::pipe(tell.as_mut_ptr()), libc::pipe(told.as_mut_ptr())), (0, 0)) };
    let say = |pipe: [i32; 2]| {
        // SAFETY: a byte of a static.
        assert_eq!(unsafe { libc::write(pipe[1], b"x".as_ptr().cast(), 1) }, 1);
    };
    let hear = |pipe: [i32; 2]| {
        let mut byte = 0u8;
        // SAFETY: a pointer to a local.
        assert_eq!(unsafe { libc::read(pipe[0], (&raw mut byte).cast(), 1) }, 1);
    };
    let pid = fork(|| {
        // The code of these is the child's to free; others come where it was.
        drop(std::mem::take(&mut known));
        let others: Vec<Program> = (10..30).map(adds).collect();
        let right = others.iter().zip(10..).all(|(kernel, more)| is_right(&engine, kernel, more));
        say(tell);
        hear(told);
        right && others.iter().zip(10..).all(|(kernel, more)| is_right(&engine, kernel, more))
    });
    hear(tell);
    // The parent's code is as it was, and it compiles and frees code, too.
    let are_right =
        |list: &[Program]| list.iter().zip(0..).all(|(kernel, more)| is_right(&engine, kernel, more));
    let right = are_right(&known);
    let again: Vec<Program> = (0..20).map(adds).collect();
    let right = right && are_right(&again) && are_right(&known);
    drop(known);
    say(told);
    assert!(ended_well(pid));
    assert!(right && are_right(&again));
}

/// A launch runs in another thread, for as long as the child is there.
fn while_a_launch_runs() {
    for tier in [Tier::Jit, Tier::Auto, Tier::Interp] {
        let engine = Engine::new(settings(tier, None)).expect("an engine");
        let cancel = CancelToken::default();
        let kernel = adds(5);
        std::thread::scope(|scope| {
            let endless = scope.spawn(|| {
                let launch = launch(4, 64).cancel(Some(cancel.clone()));
                run(&engine, &program(FOR_EVER), &launch, 16).expect("runs").0.cancelled
            });
            std::thread::sleep(std::time::Duration::from_millis(100));
            for _ in 0..4 {
                let pid = fork(|| (0..20).all(|_| is_right(&engine, &kernel, 5)));
                assert!(ended_well(pid), "{tier:?}");
            }
            cancel.cancel();
            assert!(endless.join().expect("ends"));
        });
        assert!(is_right(&engine, &kernel, 5));
    }
}

/// Guest memory is the child's own: each sees what it writes, and not what the other does.
fn memory_of_its_own() {
    let engine = Engine::new(settings(Tier::Jit, None)).expect("an engine");
    let memory = engine.memory().expect("memory");
    memory.map(Some(0x1_0000), 1024, Access::ReadWrite).expect("mapped");
    let (first, second) = (adds(1), adds(2));
    let holds = |memory: &Memory, more: u32| {
        support::words_of(memory, 256).iter().zip(0..).all(|(&word, thread)| word == 1000 + thread + more)
    };
    engine.run(&first, &memory, &launch_of(4)).expect("runs");
    let pid = fork(|| {
        let before = holds(&memory, 1);
        engine.run(&second, &memory, &launch_of(4)).expect("runs");
        before && holds(&memory, 2)
    });
    assert!(ended_well(pid));
    assert!(holds(&memory, 1));
}

/// A function of the embedder's that a launch calls forks. The child's launch cannot go on, for its helpers are gone; it says so.
fn in_a_launch() {
    let engine = Engine::new(settings(Tier::Jit, None)).expect("an engine");
    let kernel = adds(3);
    let parent = std::process::id();
    let child = Arc::new(AtomicI32::new(0));
    let has_forked = AtomicBool::new(false);
    let launch = launch_of(4000).progress(Some(Arc::new({
        let child = child.clone();
        move |_, _| {
            // Once, by whichever thread comes first.
            if has_forked.swap(true, Ordering::SeqCst) {
                return;
            }
            // SAFETY: both go on as this function's caller does.
            match unsafe { libc::fork() } {
                // SAFETY: ends this process where it hangs.
                0 => drop(unsafe { libc::alarm(TIME_LIMIT) }),
                pid => child.store(pid, Ordering::SeqCst),
            }
        }
    })));
    let memory = engine.memory().expect("memory");
    memory.map(Some(0x1_0000), 4000 * 256, Access::ReadWrite).expect("mapped");
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        engine.run(&kernel, &memory, &launch).expect("runs")
    }));
    if std::process::id() != parent {
        // Where this thread has forked. What has been launched is lost; everything else is not.
        let right = ran.is_err() && is_right(&engine, &kernel, 3);
        // SAFETY: ends the process.
        unsafe { libc::_exit(i32::from(!right)) };
    }
    assert!(ran.is_ok_and(|report| report.fault.is_none()));
    // A helper may be the one that forks: its child is that thread alone, which has nothing to go on with, and ends.
    let pid = child.load(Ordering::SeqCst);
    assert!(pid > 0);
    let mut status = 0;
    // SAFETY: a child of this process; the pointer is to a local.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    assert_eq!(status, 0);
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fork-{}", std::process::id()))
}

fn misbehave(case: &str) {
    // SAFETY: ends this process where it hangs.
    unsafe { libc::alarm(3 * TIME_LIMIT) };
    match case {
        "jit" => while_others_work(Tier::Jit, None, 24),
        "auto" => while_others_work(Tier::Auto, None, 24),
        "cache" => {
            let folder = folder();
            while_others_work(Tier::Jit, Some(&folder), 12);
            std::fs::remove_dir_all(folder).expect("there");
        }
        "code" => code_of_one_and_the_other(),
        "launch" => while_a_launch_runs(),
        "memory" => memory_of_its_own(),
        _ => in_a_launch(),
    }
    std::process::exit(0);
}

macro_rules! cases {
    ($($test:ident = $case:literal;)*) => {
        $(
            #[test]
            fn $test() {
                if let Ok(case) = std::env::var(CASE) {
                    misbehave(&case);
                }
                let status = child(stringify!($test), CASE, $case);
                assert!(status.success(), "{status:?}");
            }
        )*
    };
}

cases! {
    parent_and_child_go_on = "jit";
    parent_and_child_go_on_with_code_compiled_behind = "auto";
    parent_and_child_go_on_with_one_cache = "cache";
    neither_touches_the_code_of_the_other = "code";
    a_process_forks_while_a_launch_runs = "launch";
    guest_memory_is_copied = "memory";
    a_launch_in_which_its_thread_forks_ends = "progress";
}

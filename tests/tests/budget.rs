//! Tests budgets of loading and compiling ([`Budget`]), and cancelling both ([`CancelToken`]).
//!
//! No test depends on a clock: time budgets are zero or unlimited, and the work done after a cancel is measured in allocations.

use std::alloc::System;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use warpjit::session::{Session, program_options};
use warpjit_runtime::{Budget, CancelToken, Config, Engine, Error, Program, Report, Tier};
use warpjit_tests::sizes::{Sample, Unit, shapes};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The allocator counts for the whole process: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn sample(of: &str, name: &str, size: usize) -> Sample {
    let shape = shapes().into_iter().find(|shape| shape.of == of && shape.name == name);
    (shape.expect("a shape").make)(size)
}

fn load(sample: &Sample, budget: Budget, cancel: Option<&CancelToken>) -> Result<Program, Error> {
    let file = sample.launch_file();
    Program::load_within(&file.program.code, &program_options(&file), budget, cancel)
}

fn engine(tier: Tier, budget: Budget) -> Engine {
    Engine::new(Config::default().threads(1).tier(tier).budget(budget).hot_after(Some(1))).expect("an engine")
}

/// Runs a sample whose program is loaded without limits.
fn run(sample: &Sample, tier: Tier, budget: Budget, cancel: Option<CancelToken>) -> anyhow::Result<Report> {
    let (file, engine) = (sample.launch_file(), engine(tier, budget));
    let program = load(sample, Budget::UNLIMITED, None)?;
    let mut session = Session::with_program(&file, &engine, program)?;
    cancel.into_iter().for_each(|token| session.set_cancel(token));
    session.run()
}

fn bytes(bytes: u64) -> Budget {
    Budget { bytes, ..Budget::UNLIMITED }
}

const NO_TIME: Budget = Budget { time: Duration::ZERO, ..Budget::UNLIMITED };

#[test]
fn loading_ends_with_what_was_exceeded() {
    let _alone = alone();
    for shape in shapes().into_iter().filter(|shape| shape.unit != Unit::Buffers) {
        let sample = (shape.make)(1000);
        let what = format!("{}: {}", shape.of, shape.name);
        let error = |budget| match load(&sample, budget, None) {
            Err(Error::Budget(error)) => error.to_string(),
            other => panic!("{what}: {other:?}"),
        };
        let text = error(bytes(1000));
        assert!(text.starts_with("loading ran over the budget of 1000 bytes: "), "{what}: {text}");
        let text = error(NO_TIME);
        assert!(text.starts_with("loading ran over the budget of 0 s: "), "{what}: {text}");
    }
}

#[test]
fn making_ready_ends_with_what_was_exceeded() {
    let _alone = alone();
    for (of, name) in [("tesla", "diamonds"), ("fermi", "loops"), ("gcn", "diamonds"), ("vp1", "branches")] {
        let sample = sample(of, name, 4000);
        for tier in [Tier::Interp, Tier::Jit, Tier::Auto] {
            let error = |budget| {
                let error = run(&sample, tier, budget, None).expect_err("too little");
                assert!(matches!(error.downcast_ref(), Some(Error::Budget(_))), "{error:#}");
                error.root_cause().to_string()
            };
            let text = error(bytes(1 << 10));
            assert!(
                text.starts_with("compiling ran over the budget of 1024 bytes: "),
                "{of} {tier:?}: {text}"
            );
            let text = error(NO_TIME);
            assert!(text.starts_with("compiling ran over the budget of 0 s: "), "{of} {tier:?}: {text}");
        }
    }
}

/// What is not compiled within the budget is interpreted, and gives the same.
#[test]
fn regions_over_the_budget_are_interpreted() {
    let _alone = alone();
    for (of, name) in [("tesla", "calls"), ("fermi", "diamonds"), ("gcn", "lane loops"), ("vp1", "calls")] {
        let sample = sample(of, name, 4000);
        let file = sample.launch_file();
        let launch = |budget| -> anyhow::Result<(Report, Vec<Vec<u8>>)> {
            let engine = engine(Tier::Jit, budget);
            let mut session = Session::with_program(&file, &engine, load(&sample, Budget::UNLIMITED, None)?)?;
            let report = session.run()?;
            let buffers = 0..file.buffers.len();
            let contents = buffers.map(|n| session.read(n, 0, file.buffers[n].bytes as usize));
            Ok((report, contents.collect::<anyhow::Result<_>>()?))
        };
        let (whole, wanted) = launch(Budget::UNLIMITED).expect("a run");
        assert!(whole.stats.not_compiled.is_none());
        // The least that makes it ready: nothing is left for a region then.
        let (mut little, mut ready) = (0, 1 << 30);
        while ready - little > 1 {
            let middle = (little + ready) / 2;
            if launch(bytes(middle)).is_ok() { ready = middle } else { little = middle }
        }
        let mut shares = Vec::new();
        for more in (0..30).map(|log| if log == 0 { 0 } else { 1 << (8 + log) }) {
            let (report, contents) = launch(bytes(ready + more)).expect("a run");
            assert_eq!(contents, wanted, "{of} {more}");
            shares.push(report.stats.jit_share);
            let Some(reason) = report.stats.not_compiled else { break };
            let budget = "compiling ran over the budget of ";
            assert!(reason.starts_with(budget) && reason.contains("region at 0x"), "{of} {more}: {reason}");
        }
        assert_eq!((shares[0], *shares.last().unwrap()), (0.0, whole.stats.jit_share), "{of}");
        assert!(shares.len() > 2, "{of}: {shares:?}");
    }
}

#[test]
fn a_used_token_ends_loading_and_launches_at_once() {
    let _alone = alone();
    let token = CancelToken::new();
    token.cancel();
    for shape in shapes().into_iter().filter(|shape| shape.unit != Unit::Buffers) {
        let result = load(&(shape.make)(1000), Budget::default(), Some(&token));
        assert_eq!(result.err(), Some(Error::Cancelled), "{}: {}", shape.of, shape.name);
    }
    for tier in [Tier::Interp, Tier::Jit, Tier::Auto] {
        let sample = sample("tesla", "diamonds", 4000);
        let report = run(&sample, tier, Budget::default(), Some(token.clone())).expect("no error");
        assert!(report.cancelled && report.stats.warp_instructions == 0, "{tier:?}");
    }
}

/// Where the work that counts begins, in bytes allocated so far.
static BEGIN: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The work that counts begins.
fn begin() {
    BEGIN.store(ALLOCATOR.stats().bytes_allocated, Ordering::Relaxed);
}

/// Bytes allocated by `work` since it has called [`begin`]; it gets a token, which is used when that are `after`.
fn cancelled_after(after: usize, work: impl FnOnce(CancelToken) -> bool) -> (usize, bool) {
    let token = CancelToken::new();
    let ended = AtomicBool::new(false);
    let taken = || ALLOCATOR.stats().bytes_allocated.saturating_sub(BEGIN.load(Ordering::Relaxed));
    BEGIN.store(usize::MAX, Ordering::Relaxed);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) && taken() < after {
                std::hint::spin_loop();
            }
            token.cancel();
        });
        let cancelled = work(token.clone());
        let taken = taken();
        ended.store(true, Ordering::Relaxed);
        (taken, cancelled)
    })
}

/// A token that is used in the midst of the work ends it there. Another thread uses it, which the system may let wait: one of many tries is
/// enough.
#[track_caller]
fn ends_early(what: &str, work: impl Fn(CancelToken) -> bool) {
    let (all, cancelled) = cancelled_after(usize::MAX, &work);
    assert!(!cancelled, "{what}: nobody cancels it");
    let mut tries = (0..1000).map(|_| cancelled_after(all / 4, &work));
    let ends = tries.any(|(taken, cancelled)| cancelled && taken < all / 4 * 3);
    assert!(ends, "{what} goes on");
}

#[test]
fn a_token_ends_loading_in_its_midst() {
    let _alone = alone();
    for (of, name, size) in [
        ("tesla", "diamonds", 12_000),
        ("fermi", "diamonds", 12_000),
        ("gcn", "diamonds", 12_000),
        ("vp1", "delayed returns", 12_000),
        ("cubin", "kernels and a bank", 1500),
        ("text cubin", "kernels and constants", 1500),
        ("code object", "kernels", 1500),
    ] {
        let file = sample(of, name, size).launch_file();
        let options = program_options(&file);
        ends_early(&format!("{of}: {name}"), |token| {
            begin();
            let result = Program::load_within(&file.program.code, &options, Budget::default(), Some(&token));
            matches!(result, Err(Error::Cancelled))
        });
    }
}

#[test]
fn a_token_ends_compiling_in_its_midst() {
    let _alone = alone();
    for (of, name) in [("tesla", "diamonds"), ("fermi", "loops"), ("gcn", "branches"), ("vp1", "calls")] {
        let sample = sample(of, name, 12_000);
        let file = sample.launch_file();
        for tier in [Tier::Interp, Tier::Jit] {
            let engine = engine(tier, Budget::default());
            ends_early(&format!("{of}: {name} {tier:?}"), |token| {
                let program = load(&sample, Budget::default(), None).expect("a program");
                let mut session = Session::with_program(&file, &engine, program).expect("a launch");
                session.set_cancel(token);
                begin();
                session.run().expect("no error").cancelled
            });
        }
    }
}

/// A launch that waits for what another one makes does not end with that one.
#[test]
fn a_cancelled_launch_takes_no_other_with_it() {
    let _alone = alone();
    let sample = sample("tesla", "diamonds", 6_000);
    let file = sample.launch_file();
    for _ in 0..4 {
        let program = load(&sample, Budget::default(), None).expect("a program");
        let token = CancelToken::new();
        let launch = |token: Option<CancelToken>| {
            let engine = engine(Tier::Interp, Budget::default());
            let mut session = Session::with_program(&file, &engine, program.clone()).expect("a launch");
            token.into_iter().for_each(|token| session.set_cancel(token));
            session.run().expect("no error").cancelled
        };
        std::thread::scope(|scope| {
            scope.spawn(|| launch(Some(token.clone())));
            let others = [(); 2].map(|()| scope.spawn(|| launch(None)));
            token.cancel();
            others.into_iter().for_each(|other| assert!(!other.join().expect("no panic")));
        });
    }
}

/// Launch files with as many buffers as a process may have mappings, and more: in the window, beside it, in turns of rights.
#[test]
fn a_hundred_thousand_buffers() {
    let _alone = alone();
    for name in ["anywhere", "scattered", "read-only by turns", "beyond the window"] {
        let sample = sample("buffers", name, 100_000);
        let file = sample.launch_file();
        let mut results = Vec::new();
        for tier in [Tier::Interp, Tier::Jit] {
            let engine = engine(tier, Budget::default());
            let mut session = Session::new(&file, &engine).expect("a launch");
            let report = session.run().expect("a run");
            assert!(report.fault.is_none() && report.stats.not_compiled.is_none(), "{name}: {report:?}");
            results.push(session.read(0, 0, 16).expect("memory"));
        }
        assert_ne!(results[0], [0; 16], "{name}: nothing is stored");
        assert_eq!(results[0], results[1], "{name}");
    }
}

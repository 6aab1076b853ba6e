//! Tests samples and counts of launches, and that observing a launch changes nothing.

mod support;

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;

use support::{child, launch, program, run};
use warpjit_runtime::{CacheConfig, Config, Direction, Engine, Observe, Profile, Report, Tier};

/// Each thread goes round as often as its number says and stores the sum of what it counted.
const ROUNDS: &str = "
    slot s0: i32 tid = tid.x
    slot s1: i32 bid = ctaid.x
    slot s2: i32 i
    slot s3: i32 sum
block0 at 0x0 insts 1:
    push.break block3 -> block1
block1 at 0x10 insts 2:
    @0x10 v0: i32 = slot.get s2
    @0x10 v1: i32 = slot.get s0
    @0x10 v2: mask = icmp uge v0, v1
    leave.break if v2 -> block2
block2 at 0x20 insts 3:
    @0x20 v3: i32 = slot.get s3
    @0x20 v4: i32 = slot.get s2
    @0x20 v5: i32 = iadd v3, v4
    @0x20 slot.set s3, v5
    @0x28 v6: ui32 = const 1
    @0x28 v7: i32 = iadd v4, v6
    @0x28 slot.set s2, v7
    jump block1
block3 at 0x40 insts 2:
    @0x40 v8: i32 = slot.get s0
    @0x40 v9: ui32 = const 2
    @0x40 v10: i32 = ishl v8, v9
    @0x40 v11: i32 = slot.get s3
    @0x40 store.u32 global14[v10 + 0x10000], v11 align 4
    jump block4
block4 at 0x50 insts 1:
    leave.exit -> block4
";

fn observed(
    tier: Tier,
    threads: usize,
    observe: Observe,
    blocks: u32,
    lanes: u32,
) -> (Vec<u32>, Option<Profile>) {
    let engine = Engine::new(Config::default().tier(tier).threads(threads).observe(observe)).expect("engine");
    let (report, out) = run(&engine, &program(ROUNDS), &launch(blocks, lanes), 512).expect("launch");
    assert_eq!(report.fault, None);
    (out, report.profile.map(|profile| *profile))
}

#[test]
fn the_interpreter_counts_blocks_lanes_and_accesses() {
    let count = Observe::default().count(true);
    for threads in [1, 3] {
        let (_, profile) = observed(Tier::Interp, threads, count, 5, 8);
        let profile = profile.expect("a profile");
        assert_eq!(profile.lanes, 32);
        // Thread n tests n + 1 times and adds n times; a warp as often as its thread 7.
        let of = |pc: u64| profile.blocks.iter().find(|b| b.pc == pc).expect("executed");
        assert_eq!((of(0x10).executions, of(0x10).lanes), (5 * 8, 5 * 36));
        assert_eq!((of(0x20).executions, of(0x20).lanes), (5 * 7, 5 * 28));
        // All leave once; after each round but the last some lanes go on and one leaves.
        assert_eq!((of(0x10).taken, of(0x10).parted), (Some(5 * 8), 5 * 7));
        assert_eq!((of(0x20).taken, of(0x20).parted), (None, 0));
        let of = |pc: u64| profile.instructions[&pc];
        assert_eq!((of(0x28).executions, of(0x28).lanes), (5 * 7, Some(5 * 28)));
        let [store] = profile.accesses[..] else { panic!("{:?}", profile.accesses) };
        assert_eq!(
            (store.pc, store.space, store.direction, store.bytes),
            (0x40, "global", Direction::Store, 4)
        );
        assert_eq!((store.counts.contiguous, store.counts.executions(), store.counts.lanes), (5, 5, 40));
        assert_eq!(profile.samples.total(), 0);
    }
}

#[test]
fn watching_changes_nothing_and_unwatched_launches_have_no_profile() {
    for tier in [Tier::Interp, Tier::Jit, Tier::Auto] {
        let (plain, none) = observed(tier, 2, Observe::default(), 3, 70);
        assert!(none.is_none());
        let all = Observe::default().count(true).sample_rate(20_000);
        let (out, profile) = observed(tier, 2, all, 3, 70);
        assert_eq!(out, plain, "{tier:?}");
        assert_eq!(profile.expect("a profile").samples.failed, None);
        let sum = |n: u32| (0..n).sum::<u32>();
        assert_eq!(out[..70], (0..70).map(sum).collect::<Vec<_>>());
    }
}

#[test]
fn samples_are_of_guest_instructions_and_of_all_threads() {
    let sampled = Observe::default().sample_rate(10_000);
    for tier in [Tier::Interp, Tier::Jit] {
        let mut seen = BTreeSet::new();
        let mut busy = std::time::Duration::ZERO;
        // As long as it takes on a machine that others use.
        for _ in 0..2000 {
            let (_, profile) = observed(tier, 2, sampled, 300, 512);
            let samples = profile.expect("a profile").samples;
            seen.extend(samples.compiled.keys().copied());
            seen.extend(samples.interpreted.keys().copied());
            assert!(samples.compiled.is_empty() || tier == Tier::Jit, "{:x?}", samples.compiled);
            busy += samples.busy;
            if seen.len() >= 3 {
                break;
            }
        }
        assert!(seen.len() >= 3 && busy > std::time::Duration::ZERO, "{tier:?}: {seen:x?} {busy:?}");
        let all = [0x0, 0x10, 0x20, 0x28, 0x40, 0x50];
        assert!(seen.iter().all(|pc| all.contains(pc)), "{tier:?}: {seen:x?}");
        // The loop is two instructions; which of them a sample is of depends on the code generator.
        assert!(seen.contains(&0x20) || seen.contains(&0x28), "{tier:?}: {seen:x?}");
    }
}

#[test]
fn what_is_compiled_is_kept_as_text_only_where_asked_for() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("observe-listings");
    let _ = std::fs::remove_dir_all(&folder);
    let observe = Observe::default().listings(true);
    let cache = Some(CacheConfig::new(&folder));
    let engine = |tier, observe| {
        Engine::new(Config::default().tier(tier).threads(1).observe(observe).cache(cache.clone()))
            .expect("engine")
    };
    let test = program(ROUNDS);
    let go = |engine: &Engine| run(engine, &test, &launch(3, 70), 512).expect("launch");
    let plain = engine(Tier::Jit, Observe::default());
    let (report, out) = go(&plain);
    assert!(report.listings.is_none());
    plain.wait_for_compiler();

    // What the cache holds has no text: it is not looked at.
    let listed = engine(Tier::Jit, observe);
    let (first, same) = go(&listed);
    assert_eq!((same, first.stats.cached_regions), (out, 0));
    let names = |report: &Report| -> Vec<String> {
        let listings = report.listings.as_ref().expect("listings");
        assert!(listings.interpreted.is_empty());
        listings.functions.iter().map(|function| function.name.clone()).collect()
    };
    assert!(names(&first)[0].starts_with("warpjit::test@0x0#"), "{:?}", names(&first));
    assert_eq!(names(&first), names(&go(&listed).0));
    for function in &first.listings.expect("listings").functions {
        let spans: Vec<_> = function.parts.iter().flat_map(|part| part.spans.clone()).collect();
        assert!([0x0, 0x10, 0x28, 0x40, 0x50].iter().all(|pc| spans.iter().any(|span| span.contains(pc))));
        assert!(function.host.contains("@0x40 ") && function.bytes > 0, "{}", function.host);
        assert!(function.parts.iter().all(|part| part.regions.contains("store.u32 global14")));
        assert!(function.parts.iter().all(|part| part.mask.contains("store.u32 global14")));
    }
    // The interpreter compiles nothing.
    assert!(names(&go(&engine(Tier::Interp, observe)).0).is_empty());
}

const CASE: &str = "WARPJIT_SIGPROF_CASE";

unsafe extern "C" fn handler(_: i32) {
    // SAFETY: ends the process; allowed in a handler.
    unsafe { libc::_exit(43) }
}

/// SIGPROF that is none of ours does what it would have done: in a child, with a handler and without one.
#[test]
fn foreign_sigprof_reaches_the_handler_that_was_there() {
    if let Ok(case) = std::env::var(CASE) {
        if case == "handler" {
            // SAFETY: a zeroed sigaction with a handler of the type without flags.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handler as *const () as usize;
                assert_eq!(libc::sigaction(libc::SIGPROF, &action, std::ptr::null_mut()), 0);
            }
        }
        observed(Tier::Jit, 1, Observe::default().sample_rate(10_000), 300, 512);
        // SAFETY: sends a signal to this thread.
        unsafe { libc::raise(libc::SIGPROF) };
        std::process::exit(1);
    }
    let run = |case: &str| child("foreign_sigprof_reaches_the_handler_that_was_there", CASE, case);
    assert_eq!(run("handler").code(), Some(43));
    assert_eq!(run("default").signal(), Some(libc::SIGPROF));
}

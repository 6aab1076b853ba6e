//! Tests that memory use is steady: loading, running and dropping programs many times in one process leaves nothing behind.
//! (`benches/src/bin/steady.rs` does it 10,000 times.)
#![cfg(target_os = "linux")]

mod support;

use std::path::Path;
use support::{launch, program, run};
use warpjit_runtime::{CacheConfig, Config, Engine, Tier};

const BODY: &str = "
    slot s0: i32 tid = tid.x
    slot s1: i32 sum
block0 at 0x0 insts 2:
    v0: i32 = slot.get s0
    v1: ui32 = const NUMBER
    v2: i32 = splat v1
    v3: i32 = iadd v0, v2
    slot.set s1, v3
    jump block1
block1 at 0x10 insts 1:
    barrier 0 arrive wait -> block2
block2 at 0x18 insts 2:
    v4: i32 = slot.get s0
    v5: ui32 = const 2
    v6: i32 = ishl v4, v5
    v7: i32 = slot.get s1
    store.u32 global14[v6 + 0x10000], v7 align 4
    jump block3
block3 at 0x28 insts 1:
    leave.exit -> block3
";

/// Resident KiB, pieces of mapped code, mappings, threads, open files.
fn held() -> [usize; 5] {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap()
    };
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    // Nothing else is memory without a file or a name that is executable.
    let is_code = |line: &&str| line.contains("r-xp") && line.split_whitespace().count() == 5;
    let code = maps.lines().filter(is_code).count();
    let files = std::fs::read_dir("/proc/self/fd").unwrap().count();
    [field("VmRSS:"), code, maps.lines().count(), field("Threads:"), files]
}

/// One test, so that nothing else runs in this process.
#[test]
fn programs_that_come_and_go_leave_nothing_behind() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("steady-{}", std::process::id()));
    for (tier, cached) in [(Tier::Auto, false), (Tier::Auto, true), (Tier::Jit, false), (Tier::Jit, true)] {
        let cache = cached.then(|| CacheConfig::new(&folder).max_bytes(100_000));
        let config = Config::default().tier(tier).cache(cache).threads(2).hot_after(Some(0));
        let engine = Engine::new(config).unwrap();
        if tier == Tier::Jit {
            let alive = program(&BODY.replace("NUMBER", "5"));
            run(&engine, &alive, &launch(3, 70), 70).unwrap();
            assert_ne!(held()[1], 0, "code is seen");
        }
        let round = |first: u32, count: u32| {
            for number in first..first + count {
                // Each twice: with a cache, the second finds what the first has left.
                let body = BODY.replace("NUMBER", &(number / 2).to_string());
                let (_, out) = run(&engine, &program(&body), &launch(3, 70), 70).unwrap();
                assert!((0..70).all(|thread| out[thread as usize] == thread + number / 2));
            }
            engine.wait_for_compiler();
            held()
        };
        let before = round(0, 200);
        let after = round(200, 600);
        let what = format!("{tier:?}, cache {cached}: {before:?}, then {after:?}");
        assert!(after[0] < before[0] + 4096, "resident memory: {what}");
        // No program is left, so no code is.
        assert_eq!((before[1], after[1]), (0, 0), "{what}");
        assert!(after[2] <= before[2] + 16, "mappings: {what}");
        assert!(after[3] <= before[3] && after[4] <= before[4], "threads or files: {what}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

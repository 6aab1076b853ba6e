//! Tests the code cache through the library: the same results, without compiling.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use support::{launch, program, run};
use warpjit_runtime::{Arg, CacheConfig, Config, Engine, FaultKind, Launch, Tier};

/// A folder of its own for each test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cache-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    fn engine(&self, tier: Tier) -> Engine {
        let cache = Some(CacheConfig::new(&self.0));
        Engine::new(Config::default().tier(tier).threads(2).cache(cache).hot_after(Some(0)))
            .expect("an engine")
    }

    fn files(&self) -> Vec<PathBuf> {
        fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// out[thread] = arg + thread for threads below 400, others store where nothing is; the block in between ends a region.
const STORE: &str = "
    slot s0: i32 tid = tid.x
    slot s1: i32 bid = ctaid.x
    slot s2: i32 n = ntid.x
    slot s3: i32 sum
block0 at 0x0 insts 4:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: i32 = slot.get s2
    v3: i32 = imul v1, v2
    v4: i32 = iadd v3, v0
    slot.set s3, v4
    jump block1
block1 at 0x18 insts 1:
    barrier 0 arrive wait -> block2
block2 at 0x20 insts 4:
    v5: i32 = slot.get s3
    v6: ui32 = const 2
    v7: i32 = ishl v5, v6
    v8: ui32 = const 0x10
    v9: i32 = splat v8
    v10: i32 = load.u32 shared[v9] align 4
    v11: i32 = iadd v10, v5
    store.u32 global14[v7 + 0x10000], v11 align 4
    jump block3
block3 at 0x40 insts 1:
    leave.exit -> block3
";

fn store(blocks: u32) -> Launch {
    launch(blocks, 70).args(vec![Arg::u32(1000)])
}

#[test]
fn a_program_starts_with_what_was_compiled_before() {
    let folder = Folder::new("starts");
    let want: Vec<u32> = (0..350).map(|thread| 1000 + thread).collect();
    // Each engine and program is new, as in another process.
    let once = |tier| {
        let (report, out) = run(&folder.engine(tier), &program(STORE), &store(5), 350).unwrap();
        assert_eq!((report.fault, &out), (None, &want));
        report.stats
    };
    let first = once(Tier::Jit);
    assert_eq!(first.cached_regions, 0);
    assert!(first.compile > Duration::ZERO);
    assert_eq!(folder.files().len(), 1);
    for tier in [Tier::Jit, Tier::Auto] {
        let second = once(tier);
        assert_eq!((second.compile, second.compile_behind), (Duration::ZERO, Duration::ZERO), "{tier:?}");
        // All of it is one piece of code, for rows of blocks, where the host has vectors of 512 bits; else the regions round the barrier.
        assert!(second.cached_regions >= 1);
        // The barrier's block is the interpreter's in any case.
        assert_eq!(second.tiers, first.tiers, "{tier:?}");
    }
    assert_eq!(once(Tier::Interp).cached_regions, 0);
}

#[test]
fn faults_of_kept_code_are_the_same() {
    let folder = Folder::new("faults");
    let faults: Vec<_> = [Tier::Interp, Tier::Jit, Tier::Jit, Tier::Auto]
        .into_iter()
        .map(|tier| {
            let (report, _) = run(&folder.engine(tier), &program(STORE), &store(30), 1024).unwrap();
            report.fault.expect("a fault")
        })
        .collect();
    assert_eq!((faults[0].kind, faults[0].pc), (FaultKind::Memory, 0x20));
    assert!(faults.windows(2).all(|pair| pair[0] == pair[1]), "{faults:?}");
}

#[test]
fn what_is_compiled_behind_is_kept() {
    let folder = Folder::new("behind");
    let engine = folder.engine(Tier::Auto);
    let kernel = program(STORE);
    for _ in 0..6 {
        run(&engine, &kernel, &store(5), 350).unwrap();
        engine.wait_for_compiler();
    }
    // It is there before program and engine are gone.
    let (report, _) = run(&folder.engine(Tier::Jit), &program(STORE), &store(5), 350).unwrap();
    assert!(report.stats.cached_regions >= 2, "{:?}", report.stats);
}

#[test]
fn bad_files_are_replaced() {
    let folder = Folder::new("bad");
    let once = || run(&folder.engine(Tier::Jit), &program(STORE), &store(5), 350).unwrap();
    let (_, want) = once();
    let file = folder.files().pop().unwrap();
    let right = fs::read(&file).unwrap();
    for at in (0..right.len()).step_by(right.len() / 40) {
        let mut flipped = right.clone();
        flipped[at] ^= 0x80;
        for bad in [&flipped, &right[..at]] {
            fs::write(&file, bad).unwrap();
            let (report, out) = once();
            assert_eq!((report.stats.cached_regions, &out), (0, &want), "byte {at}");
            assert_eq!(fs::read(&file).unwrap().len(), right.len());
        }
    }
    assert!(once().0.stats.cached_regions > 0);
}

#[test]
fn the_folder_stays_within_its_size() {
    let folder = Folder::new("size");
    let cache = CacheConfig::new(&folder.0).max_bytes(20_000);
    let config = Config::default().tier(Tier::Jit).threads(1).cache(Some(cache));
    let engine = Engine::new(config).unwrap();
    for number in 0..30 {
        // Programs that differ.
        let body = STORE.replace("const 0x10\n", &format!("const {:#x}\n", 0x10 + 4 * number));
        let (report, _) = run(&engine, &program(&body), &store(5), 350).unwrap();
        assert_eq!(report.stats.cached_regions, 0);
    }
    // What is compiled behind may be on its way to the folder still.
    engine.wait_for_compiler();
    let sizes = folder.files().into_iter().filter_map(|file| fs::metadata(file).ok());
    let bytes: u64 = sizes.map(|data| data.len()).sum();
    assert!(folder.files().len() > 2 && bytes <= 20_000, "{bytes}");
    // The last ones are those that are left.
    let body = STORE.replace("const 0x10\n", &format!("const {:#x}\n", 0x10 + 4 * 29));
    let (report, _) = run(&engine, &program(&body), &store(5), 350).unwrap();
    assert!(report.stats.cached_regions > 0);
}

#[test]
fn without_a_folder_nothing_is_written() {
    assert_eq!(Config::default().cache, None);
    // One that cannot be made harms nobody.
    let folder = Folder::new("file");
    fs::write(&folder.0, b"").unwrap();
    let (report, _) = run(&folder.engine(Tier::Jit), &program(STORE), &store(5), 350).unwrap();
    assert_eq!((report.fault, report.stats.cached_regions), (None, 0));
    fs::remove_file(&folder.0).unwrap();
}

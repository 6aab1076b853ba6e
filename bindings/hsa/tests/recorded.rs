//! Recorded dispatches: each is a launch file that `warpjit run` runs, with what the dispatch left as its expectation.

// Other tests use the rest.
#[allow(dead_code, unused_imports)]
#[path = "calls/support.rs"]
mod support;

use std::path::{Path, PathBuf};
use support::{Buffer, Dispatch, Executable, Queue, RECORD, arguments, corpus};
use warpjit::launch_file::LaunchFile;
use warpjit::outcome::Status;
use warpjit::session::Session;
use warpjit_hsa::memory::Pool;
use warpjit_runtime::{Config, Engine, Tier};

/// How a launch file ends.
fn run(file: &Path, tier: Tier) -> Status {
    let file = LaunchFile::load(file).unwrap_or_else(|error| panic!("{error}"));
    let engine = Engine::new(Config::default().tier(tier).threads(2)).unwrap();
    let mut session = Session::new(&file, &engine).unwrap_or_else(|error| panic!("{error:#}"));
    let report = session.run().unwrap_or_else(|error| panic!("{error:#}"));
    session.check(report).unwrap().status
}

/// The folders with launches, in the order of their dispatches.
fn folders(all: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(all).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn dispatches_run_again() {
    let all = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hsa-recorded");
    let _ = std::fs::remove_dir_all(&all);
    RECORD.set(all.to_str().unwrap().to_owned()).unwrap();

    // A last workgroup that is not full; scratch; LDS that the packet says, and device variables that keep what is counted.
    let queue = Queue::new(64);
    let saxpy = Executable::new(&corpus("saxpy/vega10.co"));
    let (x, y) = (Buffer::with(&corpus("saxpy/x.in.bin")), Buffer::with(&corpus("saxpy/y.in.bin")));
    let before = y.get();
    let given = arguments(&[&y.pointer(), &x.pointer(), &2.5_f32.to_le_bytes(), &1000_i32.to_le_bytes()]);
    let (group, grid, dynamic) = ([64, 1, 1], [1000, 1, 1], 0);
    Dispatch { executable: &saxpy, kernel: "saxpy.kd", group, grid, dynamic, kernarg: &given }.run(&queue);
    assert_ne!(y.get(), before);

    let sort = Executable::new(&corpus("private_sort/vega10.co"));
    let (from, to) = (Buffer::with(&corpus("private_sort/in.in.bin")), Buffer::new(Pool::Device, 8064));
    let given = arguments(&[&from.pointer(), &to.pointer(), &20_i32.to_le_bytes()]);
    let (group, grid) = ([32, 1, 1], [96, 1, 1]);
    Dispatch { executable: &sort, kernel: "private_sort.kd", group, grid, dynamic, kernarg: &given }
        .run(&queue);

    let tree = Executable::new(&corpus("reduce_tree/vega10.co"));
    let values: Vec<u8> = (0..4096_u32).flat_map(u32::to_le_bytes).collect();
    let (from, to) = (Buffer::with(&values), Buffer::new(Pool::Device, 16));
    let given = arguments(&[&from.pointer(), &to.pointer(), &0_u32.to_le_bytes(), &4096_i32.to_le_bytes()]);
    let (group, grid, dynamic) = ([256, 1, 1], [1024, 1, 1], 1024);
    Dispatch { executable: &tree, kernel: "reduce_tree.kd", group, grid, dynamic, kernarg: &given }
        .run(&queue);

    let folders = folders(&all);
    let names: Vec<&str> = folders.iter().map(|folder| folder.to_str().unwrap()).collect();
    assert_eq!(names.len(), 3);
    assert!(names[0].ends_with("-00000-saxpy") && names[1].ends_with("-00001-private_sort"), "{names:?}");
    for folder in &folders {
        let file = folder.join("launch.toml");
        for tier in [Tier::Interp, Tier::Jit] {
            assert_eq!(run(&file, tier), Status::Ok, "{folder:?}");
        }
        // What must hold afterwards is looked at.
        let changed = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let after: Vec<PathBuf> =
            changed.filter(|path| path.to_str().unwrap().ends_with(".after.bin")).collect();
        assert!(!after.is_empty());
        let mut bytes = std::fs::read(&after[0]).unwrap();
        bytes[0] ^= 1;
        std::fs::write(&after[0], bytes).unwrap();
        assert_eq!(run(&file, Tier::Interp), Status::Mismatch, "{folder:?}");
    }
    drop((saxpy, sort, tree));
}

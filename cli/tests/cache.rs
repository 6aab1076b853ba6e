//! Tests the `warpjit` binary with code cached on disk.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use common::{IOTA, LAUNCH, command, folder, json, warpjit};

const EXPECT: &str = "[[expect]]\nbuffer = 'out'\nu32 = [0, 1, 2, 3]\ntype = 'u32'\n";
const RUN: [&str; 5] = ["run", "launch.toml", "--tier", "jit", "-v"];

/// Runs, which must succeed; gives the regions that came from the cache.
fn cached(folder: &Path, more: &[&str]) -> u64 {
    let (status, object) = json(folder, &[&RUN[..], more].concat());
    assert_eq!(status, 0, "{object}");
    assert_eq!(object["stats"]["tiers"]["jit"], 1.0, "{object}");
    object["stats"]["cached_regions"].as_u64().unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map_or_else(|_| Vec::new(), |list| list.map(|entry| entry.unwrap().path()).collect())
}

#[test]
fn the_second_run_starts_with_the_code_of_the_first() {
    let folder = folder("cache-second", IOTA, &format!("{LAUNCH}{EXPECT}"));
    let kept = folder.join("cache/warpjit");
    assert_eq!(cached(&folder, &["--no-cache"]), 0);
    assert_eq!(files(&kept), [] as [PathBuf; 0]);
    assert_eq!(cached(&folder, &[]), 0);
    assert_eq!(files(&kept).len(), 1);
    assert!(cached(&folder, &[]) > 0);
    // Other settings have code of their own.
    assert_eq!(cached(&folder, &["--chunk", "1"]), 0);
    assert_eq!(files(&kept).len(), 2);
    assert_eq!(cached(&folder, &["--no-cache"]), 0);
    // Tiers share it.
    let (status, object) = json(&folder, &["run", "launch.toml", "--tier", "auto", "-v"]);
    assert_eq!((status, &object["stats"]["tiers"]["jit"]), (0, &1.0.into()));
}

#[test]
fn another_folder_can_be_named() {
    let folder = folder("cache-named", IOTA, &format!("{LAUNCH}{EXPECT}"));
    assert_eq!(cached(&folder, &["--cache-dir", "mine"]), 0);
    assert!(cached(&folder, &["--cache-dir", "mine"]) > 0);
    assert_eq!((files(&folder.join("mine")).len(), folder.join("cache").exists()), (1, false));
    let (status, _, err) = warpjit(&folder, &["run", "launch.toml", "--no-cache", "--cache-dir", "mine"]);
    assert_eq!(status, 2, "{err}");
    // One that cannot be made is as good as none.
    assert_eq!(cached(&folder, &["--cache-dir", "launch.toml/below"]), 0);
}

#[test]
fn a_bad_file_is_replaced() {
    let folder = folder("cache-bad", IOTA, &format!("{LAUNCH}{EXPECT}"));
    let kept = folder.join("cache/warpjit");
    cached(&folder, &[]);
    let file = files(&kept).pop().unwrap();
    let right = fs::read(&file).unwrap();
    let mut flipped = right.clone();
    flipped[right.len() / 2] ^= 0x10;
    for bad in [&right[..right.len() / 3], &flipped, &[], b"something else"] {
        fs::write(&file, bad).unwrap();
        assert_eq!(cached(&folder, &[]), 0);
        assert!(cached(&folder, &[]) > 0, "the file was replaced");
    }
}

#[test]
fn processes_share_a_folder() {
    let folder = folder("cache-share", IOTA, &format!("{LAUNCH}{EXPECT}"));
    for _ in 0..3 {
        // As `cached` runs: text with `-v` counts more, and has code of its own for that.
        let run = [&RUN[..], &["--json"]].concat();
        let start = || command(&folder, &run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let processes: Vec<_> = (0..6).map(|_| start()).collect();
        for mut process in processes {
            assert!(process.wait().unwrap().success());
        }
        assert!(cached(&folder, &[]) > 0);
    }
    assert_eq!(files(&folder.join("cache/warpjit")).len(), 1);
}

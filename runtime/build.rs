//! Computes a digest of the sources that generated code depends on. It is part of the key of the code cache, so that code from
//! another build of the compiler is not used.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Folders of the crates that generated code and the cache format depend on, relative to this crate.
const SOURCES: [&str; 8] = [
    "src",
    "../backend/src",
    "../frontend/src",
    "../frontend/texture/src",
    "../ir/src",
    "../ir/core/src",
    "../ir/interp/src",
    "../ir/regions/src",
];

/// Says which versions of other crates were built.
const LOCK: &str = "../Cargo.lock";

fn main() {
    let mut files = vec![PathBuf::from(LOCK)];
    for folder in SOURCES {
        collect(Path::new(folder), &mut files);
    }
    // As a package this crate has no neighbours. A missing path would make Cargo build it anew each time.
    for path in SOURCES.into_iter().chain([LOCK, "build.rs"]).filter(|path| Path::new(path).exists()) {
        println!("cargo:rerun-if-changed={path}");
    }
    files.sort();
    let mut hash = DefaultHasher::new();
    for file in files {
        // In a package of this crate alone, the other folders and the lock file are missing. Then the package's version, which is part
        // of the key too, stands for them: a package depends on one version of each of those crates (Cargo.toml).
        if let Ok(text) = std::fs::read(&file) {
            (file, text).hash(&mut hash);
        }
    }
    println!("cargo:rustc-env=WARPJIT_BUILD={:016x}", hash.finish());
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

//! Names the build for the code cache: code that another version of the compiler made must not be used.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The crates that code and the meaning of stored code depend on, from this one's folder.
const SOURCES: [&str; 4] = ["src", "../backend/src", "../frontend/src", "../ir/src"];

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
        // A package depends on one version of each neighbour (Cargo.toml), so its own version, which the cache's key has, stands for them.
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

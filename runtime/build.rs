//! Names the build for the code cache: code that another version of the compiler made must not be used.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The crates that code and the meaning of stored code depend on, from this one's folder.
const SOURCES: [&str; 4] = ["src", "../backend/src", "../frontend/src", "../ir/src"];

fn main() {
    let mut files = vec![PathBuf::from("../Cargo.lock")];
    for folder in SOURCES {
        collect(Path::new(folder), &mut files);
        println!("cargo:rerun-if-changed={folder}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../Cargo.lock");
    files.sort();
    let mut hash = DefaultHasher::new();
    for file in files {
        // Packaged alone, there are no neighbours: their version numbers say what they are then.
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

//! `docs/unsafe.md` names every place of the workspace that has `unsafe`, and no place that has none.

use std::fs;
use std::path::{Path, PathBuf};

/// What is built for tests, benchmarks and examples only, or is the page's own exception.
const OTHERS: [&str; 6] = ["tests/", "benches/", "examples/", "fuzz/", "target/", "/tests/"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files of Rust under a folder, relative to the root.
fn sources(folder: &Path, to: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        let inside = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        let is_other =
            |other: &&str| inside.starts_with(other.trim_end_matches('/')) || inside.contains(*other);
        if name.to_str().is_some_and(|name| name.starts_with('.')) || OTHERS.iter().any(is_other) {
            continue;
        }
        if path.is_dir() {
            sources(&path, to);
        } else if inside.ends_with(".rs") {
            to.push(inside);
        }
    }
}

/// Whether code that is not for tests has the keyword.
fn is_unsafe(text: &str) -> bool {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).any(|line| {
        let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        words.any(|word| word == "unsafe") && !line.contains("deny(") && !line.contains("allow(")
    })
}

/// The rooms of the table: folders, which end with a slash, and files.
fn rooms() -> Vec<String> {
    let page = fs::read_to_string(root().join("docs/unsafe.md")).unwrap();
    let mut rooms: Vec<String> = Vec::new();
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let mut folder = String::new();
        for name in line.split('|').nth(1).unwrap().split('`').skip(1).step_by(2) {
            // What is no path from the root is beside the first one of the line, or below it.
            let is_path = root().join(name).exists();
            let path = if is_path { name.to_owned() } else { format!("{folder}{name}") };
            assert!(root().join(&path).exists(), "docs/unsafe.md names {path}, which is not there");
            if is_path {
                folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
            }
            let is_folder = root().join(&path).is_dir() && !path.ends_with('/');
            rooms.push(if is_folder { format!("{path}/") } else { path });
        }
    }
    rooms
}

#[test]
fn every_unsafe_place_is_named() {
    let rooms = rooms();
    assert!(rooms.len() > 15, "{rooms:?}");
    let mut files = Vec::new();
    sources(&root(), &mut files);
    let with: Vec<&String> =
        files.iter().filter(|file| is_unsafe(&fs::read_to_string(root().join(file)).unwrap())).collect();
    assert!(with.len() > 30, "{with:?}");
    let holds =
        |room: &String, file: &str| if room.ends_with('/') { file.starts_with(room) } else { file == room };
    let missing: Vec<_> = with.iter().filter(|file| !rooms.iter().any(|room| holds(room, file))).collect();
    assert!(missing.is_empty(), "docs/unsafe.md does not name {missing:?}");
    let empty: Vec<_> = rooms.iter().filter(|room| !with.iter().any(|file| holds(room, file))).collect();
    assert!(empty.is_empty(), "docs/unsafe.md names {empty:?}, which have no unsafe");
}

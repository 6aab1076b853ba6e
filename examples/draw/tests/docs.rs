//! The excerpts in docs/software-gpu.md stand in the example: each block marked `rust` or `asm` is a run of lines of a
//! file, but for the blanks at the beginnings of lines.

use std::fs;
use std::path::Path;

/// Lines without indentation; empty ones are left out.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// All files below a folder.
fn files(folder: &Path, out: &mut Vec<(String, Vec<String>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "s") {
            out.push((path.display().to_string(), lines(&fs::read_to_string(&path).unwrap())));
        }
    }
}

#[test]
fn excerpts_stand_in_the_example() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Vec::new();
    files(&example.join("src"), &mut sources);
    files(&example.join("programs"), &mut sources);
    let text = fs::read_to_string(example.join("../../docs/software-gpu.md")).unwrap();
    let mut count = 0;
    for block in text.split("\n```").skip(1).step_by(2) {
        let (kind, excerpt) = block.split_once('\n').unwrap();
        if !matches!(kind, "rust" | "asm") {
            continue;
        }
        let excerpt = lines(excerpt);
        let is_in = |file: &[String]| file.windows(excerpt.len()).any(|part| part == excerpt);
        assert!(sources.iter().any(|(_, file)| is_in(file)), "in no file: {}", excerpt.join("\n"));
        count += 1;
    }
    assert!(count >= 15, "only {count} excerpts were found");
}

//! The README's examples of the command: each is run, and must print what the README shows. Its Rust examples are
//! documentation tests of the crate `warpjit-tests`.
//!
//! # What the README may hold
//!
//! A line `$ COMMAND` in a block marked `console` is a command; the lines below it, up to the next command or the end
//! of the block, are what it prints. Commands are run from top to bottom, in a folder that has the repository's files.
//! Blocks marked otherwise (`sh`, `toml`, `text`) are not run.
//!
//! - `warpjit ARGUMENTS` and `cargo run --release -- ARGUMENTS` run the command that Cargo has built for this test.
//! - `cat FILE` is done here: it prints the file.
//! - Commands that begin as one of [`NOT_RUN`] are not run; that list says why. Any other command fails the test.
//! - Arguments are separated by blanks. Quotes, pipes and whatever else needs a shell fail the test.
//!
//! A command must end with exit status 0, and with 2 where the README shows a line that begins with `error: `.
//!
//! # How output is compared
//!
//! What the command prints (standard output, then standard error) and what the README shows are compared line by line,
//! without blanks at the ends of lines, with three exceptions:
//!
//! - a number before ` ms` is equal to any other number: times differ from run to run;
//! - `...` in a line stands for any text in it, also for none;
//! - a line that is `...` alone stands for any number of lines, also for none.
//!
//! Where nothing is shown below a command, its output is not compared.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How commands begin that are not run, and why.
const NOT_RUN: [(&str, &str); 2] = [
    ("cargo test", "it would run this test, and all others, once more"),
    ("cargo install", "it builds the command once more and puts it into the user's folder"),
];

/// Characters of arguments that only a shell could make sense of.
const FOR_SHELLS: &str = "'\"|<>&;$*?()[]{}`\\";

/// Fewest commands that must have been run: the README has not lost its blocks, and the test still finds them.
const FEWEST_RUN: usize = 8;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// A command of the README.
struct Example {
    /// The line it stands in, from 1 on.
    line: usize,
    /// Without the `$ `.
    command: String,
    /// The lines shown below it.
    shown: Vec<String>,
}

/// The commands of all blocks marked `console`.
fn examples(text: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    // Which kind of block this line is in.
    let mut block: Option<String> = None;
    let mut has_command = false;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(kind) = line.strip_prefix("```") {
            block = if block.is_some() { None } else { Some(kind.trim().to_owned()) };
            has_command = false;
        } else if block.as_deref() == Some("console") {
            if let Some(command) = line.strip_prefix("$ ") {
                has_command = true;
                found.push(Example { line: number, command: command.trim().to_owned(), shown: Vec::new() });
            } else {
                assert!(has_command, "README.md:{number}: a console block begins with a command, `$ ...`");
                found.last_mut().unwrap().shown.push(line.to_owned());
            }
        }
    }
    assert!(block.is_none(), "README.md: the last block has no end");
    found
}

/// A folder like the repository's for commands that write beside what they read. What is only read is the repository's own.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let root = root().canonicalize().unwrap();
    for name in ["benches", "docs", "tests"] {
        symlink(root.join(name), folder.join(name)).unwrap();
    }
    // The example saves a picture beside its launch file.
    copy(&root.join("examples"), &folder.join("examples"));
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Runs a command in the folder: exit status and all it has printed. `None`: it is one of those that are not run.
fn run(command: &str, folder: &Path) -> Option<(i32, String)> {
    if NOT_RUN.iter().any(|(start, _)| command.starts_with(start)) {
        return None;
    }
    assert!(!command.contains(|c| FOR_SHELLS.contains(c)), "needs a shell: mark the block `sh`");
    if let Some(file) = command.strip_prefix("cat ") {
        return Some((0, fs::read_to_string(folder.join(file)).unwrap()));
    }
    let args = command.strip_prefix("warpjit ").or_else(|| command.strip_prefix("cargo run --release -- "));
    let args = args.expect("neither the command nor in the list of those that are not run");
    // What the user has in the cache must not change what is printed.
    let output = Command::new(env!("CARGO_BIN_EXE_warpjit"))
        .args(args.split_whitespace())
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    Some((output.status.code().unwrap_or(-1), text))
}

/// The line with `#` in place of each number before ` ms`, without blanks at its end.
fn without_times(line: &str) -> String {
    let mut parts = line.trim_end().split(" ms").peekable();
    let mut text = String::new();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            text += part;
            break;
        }
        let number = part.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        if number.len() < part.len() {
            // In tables the width of a number moves the blanks before it.
            text += number.trim_end();
            text += " #";
        } else {
            text += part;
        }
        text += " ms";
    }
    text
}

/// Whether a line is as shown, where `...` stands for any text.
fn line_matches(shown: &str, line: &str) -> bool {
    let (shown, line) = (without_times(shown), without_times(line));
    let parts: Vec<&str> = shown.split("...").collect();
    let [first, middle @ .., last] = parts.as_slice() else { return shown == line };
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether lines are as shown, where a line `...` stands for any lines.
fn lines_match(shown: &[&str], lines: &[&str]) -> bool {
    match (shown, lines) {
        ([], []) => true,
        (["...", later @ ..], _) => (0..=lines.len()).any(|skipped| lines_match(later, &lines[skipped..])),
        ([first, later @ ..], [line, rest @ ..]) => line_matches(first, line) && lines_match(later, rest),
        _ => false,
    }
}

/// What is wrong with an example, if anything is.
fn problem(example: &Example, status: i32, printed: &str) -> Option<String> {
    let shown: Vec<&str> = example.shown.iter().map(|line| line.trim_end()).collect();
    let wanted = if shown.iter().any(|line| line.starts_with("error: ")) { 2 } else { 0 };
    let what = if status != wanted {
        format!("ended with exit status {status}, not {wanted}")
    } else if !shown.is_empty() && !lines_match(&shown, &printed.lines().collect::<Vec<_>>()) {
        format!("prints something else than the README shows:\n{}\n", shown.join("\n"))
    } else {
        return None;
    };
    Some(format!("README.md:{}: `{}` {what}\nprinted:\n{printed}", example.line, example.command))
}

#[test]
fn commands_print_what_the_readme_shows() {
    let folder = folder();
    let mut problems = Vec::new();
    let mut count = 0;
    for example in examples(&readme()) {
        println!("README.md:{}: {}", example.line, example.command);
        let Some((status, printed)) = run(&example.command, &folder) else { continue };
        count += 1;
        problems.extend(problem(&example, status, &printed));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(count >= FEWEST_RUN, "only {count} commands were found to run");
}

#[test]
fn links_lead_to_files() {
    let text = readme();
    // Every `](` begins a link's target, but for those in code, of which the README has none.
    for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        let path = target.split('#').next().unwrap();
        if !path.is_empty() && !path.starts_with("https://") {
            assert!(root().join(path).exists(), "README.md links to {target}, which does not exist");
        }
    }
}

#[test]
fn times_and_dots_stand_for_anything() {
    assert!(line_matches(
        "ok: 2 blocks in 19.673 ms (compile 4 ms)",
        "ok: 2 blocks in 0.1 ms (compile 0.000 ms)"
    ));
    assert!(!line_matches("ok: 2 blocks in 19.673 ms", "ok: 3 blocks in 19.673 ms"));
    assert!(line_matches("  97.1%     19.571 ms  code", "  97.1%  1119.571 ms  code"));
    assert!(!line_matches("a ms", "b ms"));
    assert!(line_matches("from ... to ...", "from here to there"));
    assert!(!line_matches("from ... to ...", "from here"));
    assert!(lines_match(&["a", "...", "c"], &["a", "c"]));
    assert!(lines_match(&["a", "...", "c", "..."], &["a", "b", "b", "c", "d"]));
    assert!(!lines_match(&["a", "..."], &["b", "a"]));
    assert!(!lines_match(&["a"], &["a", "b"]));
}

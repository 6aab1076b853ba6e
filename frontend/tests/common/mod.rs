//! What the tests of this crate share.
#![allow(dead_code, reason = "each test uses its part")]

pub mod corpus;

use std::path::{Path, PathBuf};

use warpjit_frontend::{SourceErrors, fermi};

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Programs that are not ours to pass on, where they are: `corpus/third-party` in the folder that `WARPJIT_SHARED` names, or in `shared`
/// beside the repository or beside the folder its worktrees lie in.
pub fn third_party() -> Option<PathBuf> {
    let named = std::env::var_os("WARPJIT_SHARED").map(PathBuf::from);
    let beside = ["../shared", "../../shared"].map(|path| root().join(path));
    let folder = |path: PathBuf| path.join("corpus/third-party");
    named.into_iter().chain(beside).map(folder).find(|path| path.is_dir())
}

/// Small seeded generator (xorshift64*).
pub struct Random(u64);

impl Random {
    /// A generator; equal seeds give equal numbers.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound.max(1)
    }
}

/// Fields of a `Debug` text that differ from those of another one.
pub fn differing(text: &str, default: &str) -> String {
    // Fields are split at top-level commas.
    let fields = |text: &str| {
        let inside = text.trim_start_matches("Mods { ").trim_end_matches(" }").to_string();
        let mut depth = 0;
        let mut found = vec![String::new()];
        for c in inside.chars() {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                ',' if depth == 0 => {
                    found.push(String::new());
                    continue;
                }
                _ => {}
            }
            if let Some(last) = found.last_mut() {
                last.push(c);
            }
        }
        found.iter().map(|field| field.trim().to_string()).collect::<Vec<_>>()
    };
    let default = fields(default);
    fields(text).into_iter().filter(|field| !default.contains(field)).collect::<Vec<_>>().join(", ")
}

/// Checks a fixture of this folder: lines, each followed by indented ones, which `each` writes. Empty lines and comments stand for
/// themselves; comments go to `each` as well. `BLESS` writes the file anew.
pub fn check_lines(file: &str, mut each: impl FnMut(&str, &mut String)) {
    let path = root().join("frontend/tests").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut out = String::new();
    for line in text.lines().filter(|line| !line.starts_with(' ')) {
        out.push_str(line);
        out.push('\n');
        if !line.is_empty() {
            each(line, &mut out);
        }
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &out).unwrap();
        return;
    }
    for (got, wanted) in out.lines().zip(text.lines()) {
        assert_eq!(got, wanted);
    }
    assert_eq!(out.lines().count(), text.lines().count());
}

/// Assembles sources of the repository with up to twelve characters changed, `rounds` times each: errors must say where and why.
/// Gives what assembles to `assembled`.
pub fn mutate_sources<A>(
    folder: &str,
    names: &[&str],
    letters: &str,
    rounds: usize,
    assemble: impl Fn(&str) -> Result<A, SourceErrors>,
    assembled: impl Fn(A),
) {
    let mut random = Random::new(5);
    let letters: Vec<char> = letters.chars().collect();
    for name in names {
        let source = std::fs::read_to_string(root().join(folder).join(name)).unwrap();
        for _ in 0..rounds {
            let mut text: Vec<char> = source.chars().collect();
            for _ in 0..=random.below(12) {
                let at = random.below(text.len());
                match random.below(3) {
                    0 => {
                        text.remove(at);
                    }
                    1 => text.insert(at, letters[random.below(letters.len())]),
                    _ => text[at] = letters[random.below(letters.len())],
                }
            }
            let text: String = text.into_iter().collect();
            match assemble(&text) {
                Ok(assembly) => assembled(assembly),
                Err(errors) => {
                    for error in errors.0 {
                        assert!(error.line >= 1 && error.line <= text.lines().count(), "{error}");
                        assert!(error.column >= 1 && !error.reason.is_empty(), "{error}");
                    }
                }
            }
        }
    }
}

/// Assembles the text of every instruction of a listing alone, at its address.
pub fn fermi_lines_assemble(text: &str, code: &[u8], chip: fermi::Chip) -> usize {
    let mut exact = 0;
    for line in text.lines().filter(|line| !line.is_empty() && !line.ends_with("??")) {
        let pc = u32::from_str_radix(&line[..8], 16).unwrap();
        let inst = fermi::decode(code, pc, chip).unwrap();
        let long = if inst.len == 4 { "" } else { "long " };
        // A listing's first line says where the code begins.
        let before = if pc == 0 { String::new() } else { format!("{:08x}: 00000008\n", pc - 4) };
        let text = format!("{before}{long}{}", &line[32..]);
        let assembly = fermi::assemble(&text, chip).unwrap_or_else(|errors| panic!("{text}: {errors}"));
        let word = &assembly.code[if pc == 0 { 0 } else { 4 }..];
        assert_eq!(word, &inst.canonical().to_le_bytes()[..inst.len as usize], "{text}");
        exact += usize::from(inst.canonical() == inst.raw);
    }
    exact
}

//! What the tests of this crate share.
#![allow(dead_code, reason = "each test uses its part")]

use std::path::{Path, PathBuf};

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder shared between checkouts, where there is one: `WARPJIT_SHARED`, or `shared` beside the
/// repository or beside the folder its worktrees lie in. It holds programs that are not ours to pass on.
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

//! The text format: [`print`] writes it, `parse` reads it back.
//!
//! ```text
//! function @saxpy spmd lanes 32 {
//!     slot s0: i32 r0 = tid.x umax 0x1ff
//!     slot s1: mask c0.z
//!
//! block0 at 0x0 insts 2:
//!              v0: i32 = slot.get s0  ; r0
//!     @0x8     v1: ui32 = const 0x4
//!              v2: mask = icmp ult v0, v1
//!              slot.set s1, v2  ; c0.z
//!              branch v2, block1, block0
//!
//! block1 at 0x10:
//!              leave.exit -> block1
//! }
//! ```
//!
//! A guest address `@0x8` holds until the next one in its block; a block starts at its own. `at` says that the block
//! is what an indirect branch to that address finds, `pc` that it is not. Everything behind `;` is a comment.
//! Printing what was parsed gives the same text again.

mod lexer;
mod parse;
mod print;

pub use parse::{ParseError, Registry, parse_function, parse_function_in, parse_functions};

use crate::function::{LeaveKind, PushKind};

/// Kinds of stack entries by name.
const PUSH_KINDS: [(PushKind, &str); 5] = [
    (PushKind::Join, "join"),
    (PushKind::Break, "break"),
    (PushKind::Continue, "continue"),
    (PushKind::Call, "call"),
    (PushKind::Long, "long"),
];

/// Ways to leave by name.
const LEAVE_KINDS: [(LeaveKind, &str); 5] = [
    (LeaveKind::Break, "break"),
    (LeaveKind::Continue, "continue"),
    (LeaveKind::Return, "return"),
    (LeaveKind::Long, "long"),
    (LeaveKind::Exit, "exit"),
];

/// Whether `c` may stand in a bare word.
fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$')
}

#[cfg(test)]
mod tests {
    use super::{ParseError, Registry, parse_function_in};
    use crate::types::Scalar;
    use crate::{Function, PureFn, WordTable};

    static DEVICE: crate::DeviceFn =
        crate::DeviceFn { name: "test.device", run: |_| Ok(()), stores: |_| false };
    static TWICE: PureFn = PureFn {
        name: "test.twice",
        params: &[Scalar::I32],
        result: Scalar::I32,
        eval: |a| a[0] << 1,
        expand: None,
        fast: None,
        special: None,
    };

    static TABLE: WordTable = WordTable::new("test.table", &[1; 16]);

    fn parse(text: &str) -> Result<Function, ParseError> {
        parse_function_in(text, Registry { pures: &[&TWICE], tables: &[&TABLE], devices: &[&DEVICE] })
    }

    const EVERYTHING: &str = include_str!("everything.ir");

    #[test]
    fn round_trip_is_exact() {
        for text in EVERYTHING.split("\n\n\n") {
            let func = parse(text).unwrap();
            assert_eq!(func.to_string().trim(), text.trim());
        }
    }

    #[test]
    fn damaged_text_is_an_error_or_another_function() {
        // Every line left out once, and every byte replaced by one that is likely to matter.
        for text in EVERYTHING.split("\n\n\n") {
            let lines: Vec<&str> = text.lines().collect();
            for skip in 0..lines.len() {
                let cut: Vec<&str> =
                    lines.iter().enumerate().filter(|(i, _)| *i != skip).map(|(_, l)| *l).collect();
                if let Ok(func) = parse(&cut.join("\n")) {
                    let _ = crate::verify::verify(&func);
                }
            }
            for at in 0..text.len() {
                for with in ['9', '(', 'v', '-', '"', ' '] {
                    let mut damaged = text.to_string();
                    damaged.replace_range(at..at + 1, &with.to_string());
                    if let Ok(func) = parse(&damaged) {
                        let _ = crate::verify::verify(&func);
                        let again = func.to_string();
                        assert_eq!(parse(&again).unwrap().to_string(), again);
                    }
                }
            }
        }
    }
}

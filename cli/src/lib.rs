//! The library behind the `warpjit` command, which runs GPU machine code on the CPU.
//!
//! It holds what tests and other tools share with the command: reading launch files, running them, comparing results, writing
//! pictures.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod compare;
pub mod launch_file;
pub mod outcome;
pub mod picture;
pub mod profile;
pub mod session;
pub mod stage;
pub mod suite;

/// The text of an error and of what is beneath it, each said once: some texts of the library end with that of their source.
pub fn whole_text(error: &anyhow::Error) -> String {
    let mut whole = String::new();
    for part in error.chain().map(ToString::to_string) {
        match whole.is_empty() {
            true => whole = part,
            false if whole.ends_with(&part) => {}
            false => whole = format!("{whole}: {part}"),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_said_once() {
        let error = warpjit_runtime::Memory::new().unwrap().read(0x10_0000, &mut [0; 4]).unwrap_err();
        let error = anyhow::Error::from(error).context("t.toml");
        let text = "t.toml: guest memory: read of 4 bytes at 0x100000: load from 0x100000 is not mapped";
        assert_eq!(whole_text(&error), text);
    }
}

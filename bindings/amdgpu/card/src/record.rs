//! Recorded dispatches: each becomes a launch file with its memory, which `warpjit run` runs.

use crate::Card;
use crate::dispatch::{Dispatch, hash};
use crate::launch_folder::{LaunchFolder, Part, images_text};
use crate::memory::AddressSpace;
use std::fmt::Write as _;
use std::path::Path;
use warpjit_runtime::{Access, Program};

/// Writes what a dispatch starts with. `None`: it could not be written, which is said once.
pub(crate) fn before(
    card: &Card,
    space: &AddressSpace,
    dispatch: &Dispatch,
    program: &Program,
    folder: &Path,
) -> Option<LaunchFolder> {
    let number = card.next_record();
    let name = format!("{}-{number:05}-{:016x}", std::process::id(), hash(space.memory(), program));
    let ranges = space.mappings().into_iter().map(|(start, mapping)| {
        let part = if mapping.access == Access::ReadOnly { Part::ReadOnly } else { Part::Changes };
        (start..mapping.end, part)
    });
    let text = program_text(card, space, dispatch);
    said(card, LaunchFolder::begin(folder.join(name), text, space.memory(), ranges))
}

/// Writes what it has changed.
pub(crate) fn after(card: &Card, space: &AddressSpace, folder: LaunchFolder) {
    said(card, folder.end(space.memory()));
}

fn said<T>(card: &Card, made: std::io::Result<T>) -> Option<T> {
    made.inspect_err(|error| card.reporter.once(&format!("dispatches cannot be recorded: {error}"))).ok()
}

fn program_text(card: &Card, space: &AddressSpace, dispatch: &Dispatch) -> String {
    let chip = card.chip();
    let mut text = format!(
        "# Recorded by warpjit exec.\n[program]\nisa = \"gcn\"\nchip = \"{}\"\nat = {:#x}\n\
         rsrc1 = {:#x}\nrsrc2 = {:#x}\n\n[launch]\ngrid = {:?}\nblock = {:?}\n",
        chip.name, dispatch.code, dispatch.rsrc1, dispatch.rsrc2, dispatch.grid, dispatch.block
    );
    if dispatch.start != [0; 3] {
        let _ = writeln!(text, "grid_start = {:?}", dispatch.start);
    }
    if dispatch.last_block != [0; 3] {
        let axes = [0, 1, 2].map(|axis| match dispatch.last_block[axis] {
            0 => dispatch.block[axis],
            part => part,
        });
        let _ = writeln!(text, "last_block = {axes:?}");
    }
    if !dispatch.user_data.is_empty() {
        let words: Vec<String> = dispatch.user_data.iter().map(|word| format!("{word:#x}")).collect();
        let _ = writeln!(text, "user_data = [{}]", words.join(", "));
    }
    if dispatch.has_scratch() {
        let _ = writeln!(text, "tmpring_size = {:#x}", dispatch.tmpring_size);
        let ignored = space.ignored_bits();
        if ignored > 0 {
            let _ = writeln!(text, "ignored_address_bits = {ignored}");
        }
    }
    text + &images_text(chip)
}

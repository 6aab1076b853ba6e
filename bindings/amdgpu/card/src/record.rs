//! Recorded dispatches: each becomes a launch file with its memory, which `warpjit run` runs.

use crate::Card;
use crate::dispatch::{Dispatch, hash};
use crate::memory::AddressSpace;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use warpjit_runtime::{Access, Program};

/// A dispatch whose memory before it has been written.
pub(crate) struct Recording {
    folder: PathBuf,
    text: String,
    /// Name, address and contents of each buffer.
    buffers: Vec<(String, u64, Vec<u8>)>,
}

/// Writes what a dispatch starts with. `None`: it could not be written, which is said once.
pub(crate) fn before(
    card: &Card,
    space: &AddressSpace,
    dispatch: &Dispatch,
    program: &Program,
    folder: &Path,
) -> Option<Recording> {
    let number = card.next_record();
    let name = format!("{}-{number:05}-{:016x}", std::process::id(), hash(space.memory(), program));
    let made = write_before(card, space, dispatch, folder.join(name));
    made.inspect_err(|error| card.reporter.once(&format!("dispatches cannot be recorded: {error}"))).ok()
}

fn write_before(
    card: &Card,
    space: &AddressSpace,
    dispatch: &Dispatch,
    folder: PathBuf,
) -> std::io::Result<Recording> {
    std::fs::create_dir_all(&folder)?;
    let mappings = space.mappings();
    let mut text = program_text(card, space, dispatch);
    let mut buffers = Vec::new();
    for (index, (start, mapping)) in mappings.iter().enumerate() {
        let name = format!("m{index}");
        let mut data = vec![0; (mapping.end - start) as usize];
        // What is unmapped meanwhile counts as zeros.
        let _ = space.memory().read(*start, &mut data);
        let used = data.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let _ =
            writeln!(text, "\n[[buffer]]\nname = \"{name}\"\naddress = {start:#x}\nbytes = {}", data.len());
        if used > 0 {
            let _ = writeln!(text, "data = \"{name}.bin\"");
            std::fs::write(folder.join(format!("{name}.bin")), &data[..used])?;
        }
        if mapping.access == Access::ReadOnly {
            text += "access = \"r\"\n";
        } else {
            buffers.push((name, *start, data));
        }
    }
    std::fs::write(folder.join("launch.toml"), &text)?;
    Ok(Recording { folder, text, buffers })
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
    let _ = writeln!(text, "\n[images]\ngb_addr_config = {:#x}", chip.address_config);
    if chip.generation < 9 {
        let _ = writeln!(
            text,
            "tile_modes = {:?}\nmacrotile_modes = {:?}",
            chip.tile_modes(),
            chip.macrotile_modes()
        );
    }
    text
}

impl Recording {
    /// Writes what has changed, as what must hold afterwards.
    pub fn after(mut self, card: &Card, space: &AddressSpace) {
        if let Err(error) = self.write_after(space) {
            card.reporter.once(&format!("dispatches cannot be recorded: {error}"));
        }
    }

    fn write_after(&mut self, space: &AddressSpace) -> std::io::Result<()> {
        for (name, start, before) in &self.buffers {
            let mut after = vec![0; before.len()];
            if space.memory().read(*start, &mut after).is_err() || after == *before {
                continue;
            }
            let same = before.iter().zip(&after).take_while(|(one, two)| one == two).count();
            let end =
                before.iter().zip(&after).rposition(|(one, two)| one != two).map_or(same, |last| last + 1);
            let file = format!("{name}.after.bin");
            std::fs::write(self.folder.join(&file), &after[same..end])?;
            let _ =
                writeln!(self.text, "\n[[expect]]\nbuffer = \"{name}\"\noffset = {same}\ndata = \"{file}\"");
        }
        std::fs::write(self.folder.join("launch.toml"), &self.text)
    }
}

//! Launches as folders: a launch file with the memory that it starts with, and what must hold afterwards. `warpjit run` runs it.

use crate::chip::Chip;
use std::fmt::Write as _;
use std::io::Result;
use std::ops::Range;
use std::path::PathBuf;
use warpjit_runtime::Memory;

/// What a folder has of a range of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What it holds, and afterwards what has changed.
    Changes,
    /// What it holds. Others change it at the same time.
    Shared,
    /// What it holds, which nobody may change.
    ReadOnly,
    /// That it is there.
    Place,
}

/// A launch whose start has been written.
#[derive(Debug)]
pub struct LaunchFolder {
    folder: PathBuf,
    text: String,
    /// Name, address and contents of each buffer that is looked at again.
    buffers: Vec<(String, u64, Vec<u8>)>,
}

impl LaunchFolder {
    /// Writes what a launch starts with. `text` is its launch file without the memory.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn begin(
        folder: PathBuf,
        mut text: String,
        memory: &Memory,
        ranges: impl IntoIterator<Item = (Range<u64>, Part)>,
    ) -> Result<LaunchFolder> {
        std::fs::create_dir_all(&folder)?;
        let mut buffers = Vec::new();
        for (index, (range, part)) in ranges.into_iter().enumerate() {
            let (name, start, bytes) = (format!("m{index}"), range.start, range.end - range.start);
            let _ = writeln!(text, "\n[[buffer]]\nname = \"{name}\"\naddress = {start:#x}\nbytes = {bytes}");
            if part == Part::ReadOnly {
                text += "access = \"r\"\n";
            }
            if part == Part::Place {
                continue;
            }
            let mut data = vec![0; bytes as usize];
            // What is unmapped meanwhile counts as zeros.
            let _ = memory.read(start, &mut data);
            let used = data.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            if used > 0 {
                let _ = writeln!(text, "data = \"{name}.bin\"");
                std::fs::write(folder.join(format!("{name}.bin")), &data[..used])?;
            }
            if part == Part::Changes {
                buffers.push((name, start, data));
            }
        }
        std::fs::write(folder.join("launch.toml"), &text)?;
        Ok(LaunchFolder { folder, text, buffers })
    }

    /// Writes what has changed, as what must hold afterwards.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn end(mut self, memory: &Memory) -> Result<()> {
        for (name, start, before) in &self.buffers {
            let mut after = vec![0; before.len()];
            if memory.read(*start, &mut after).is_err() || after == *before {
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

/// What a launch file says of a chip's images.
pub fn images_text(chip: &Chip) -> String {
    let mut text = format!("\n[images]\ngb_addr_config = {:#x}\n", chip.address_config);
    if chip.generation < 9 {
        let (tile_modes, macrotile_modes) = (chip.tile_modes(), chip.macrotile_modes());
        let _ = writeln!(text, "tile_modes = {tile_modes:?}\nmacrotile_modes = {macrotile_modes:?}");
    }
    text
}

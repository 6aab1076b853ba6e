//! Recorded dispatches: each becomes a launch file with its memory, which `warpjit run` runs.

use crate::dispatch::{Dispatch, MOST_GROUP_BYTES};
use crate::system::System;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use warpjit_card::launch_folder::{LaunchFolder, Part, images_text};
use warpjit_frontend::gcn::abi::GDS_ADDRESS;

static RECORDS: AtomicU64 = AtomicU64::new(0);

/// Writes what a dispatch starts with. `None`: it could not be written, which is said once.
pub(crate) fn before(system: &System, dispatch: &Dispatch<'_>, folder: &Path) -> Option<LaunchFolder> {
    let number = RECORDS.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}-{number:05}-{}", std::process::id(), file_name(&dispatch.kernel.name));
    let memory = &system.shared.memory;
    let ranges = ranges(system);
    said(system, LaunchFolder::begin(folder.join(name), text(system, dispatch), memory, ranges))
}

/// Writes what it has changed.
pub(crate) fn after(system: &System, folder: LaunchFolder) {
    said(system, folder.end(&system.shared.memory));
}

fn said<T>(system: &System, made: std::io::Result<T>) -> Option<T> {
    let say = |error: &std::io::Error| {
        system.reporter.once(&format!("dispatches cannot be recorded: {error}"));
    };
    made.inspect_err(say).ok()
}

/// A kernel's name as part of a file's: names of templates are long and may have any characters.
fn file_name(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' };
    name.chars().take(40).map(plain).collect()
}

/// The memory that kernels see.
fn ranges(system: &System) -> Vec<(Range<u64>, Part)> {
    let (data, scratch) = (system.shared.ranges(), system.queues.scratch());
    let is_data = |start: u64| {
        data.contains(&start)
            || start == GDS_ADDRESS
            || system.executables.all().iter().any(|all| all.holds(start))
    };
    let part = |start: u64| match start {
        // It holds nothing when a wave begins.
        _ if scratch.contains(&start) => Part::Place,
        _ if is_data(start) => Part::Changes,
        // Signals, queues, packets.
        _ => Part::Shared,
    };
    let buffers = system.shared.memory.buffers();
    buffers.map(|(start, bytes, _)| (start..start + bytes, part(start))).collect()
}

fn text(system: &System, dispatch: &Dispatch<'_>) -> String {
    let Dispatch { kernel, shape, groups, last, words, .. } = dispatch;
    let card = system.device.as_ref().map(|device| device.card);
    let mut text = format!(
        "# Recorded by warpjit exec: {}\n[program]\nisa = \"gcn\"\nchip = \"{}\"\nat = {:#x}\nrsrc1 = {:#x}\n",
        kernel.name,
        card.map_or("", |card| card.name),
        kernel.entry,
        kernel.rsrc1,
    );
    // What the packet says of LDS counts.
    let group_bytes = kernel.own_group_bytes().saturating_add(shape.dynamic).min(MOST_GROUP_BYTES);
    let rsrc2 = kernel.rsrc2 & !(0x1ff << 15) | group_bytes.div_ceil(512) << 15;
    let _ = writeln!(text, "rsrc2 = {rsrc2:#x}");
    let targets = kernel.jump_targets();
    if !targets.is_empty() {
        let targets: Vec<String> = targets.iter().map(|target| format!("{target:#x}")).collect();
        let _ = writeln!(text, "jump_targets = [{}]", targets.join(", "));
    }
    if kernel.knows_apertures() {
        text += "flat_apertures = \"known\"\n";
    }
    let _ = writeln!(
        text,
        "data_share = \"given\"\n\n[launch]\ngrid = {groups:?}\nblock = {:?}\nignored_address_bits = {}",
        shape.group,
        crate::memory::TAG_BITS
    );
    if *last != [0; 3] {
        let axes: [u32; 3] =
            std::array::from_fn(|axis| if last[axis] == 0 { shape.group[axis] } else { last[axis] });
        let _ = writeln!(text, "last_block = {axes:?}");
    }
    let words: Vec<String> = words.iter().map(|word| format!("{word:#x}")).collect();
    let _ = writeln!(text, "user_data = [{}]", words.join(", "));
    if let Some(ring) = shape.ring {
        let _ = writeln!(text, "tmpring_size = {:#x}", (ring.warp_bytes / 1024) << 12 | ring.warps);
    }
    text + &card.map_or_else(String::new, images_text)
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_of_folders() {
        assert_eq!(file_name("_Z3addPf"), "_Z3addPf");
        assert_eq!(file_name("../a b/c"), "---a-b-c");
        assert_eq!(file_name(&"x".repeat(900)).len(), 40);
    }
}

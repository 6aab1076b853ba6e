//! The line on standard error for a fault of a dispatch: kernel, pc and instruction, block, wave and lane, and the access.

use std::fmt::Write as _;
use warpjit_frontend::gcn;
use warpjit_runtime::{Fault, FaultKind, Memory};

/// A fault in one line: kernel, place, instruction, who, and what he did. `chip`: its name.
pub fn describe(chip: &str, memory: &Memory, kernel: &str, fault: &Fault) -> String {
    let [x, y, z] = fault.block;
    let mut line = format!(
        "{} fault in kernel {kernel} at pc {:#x} ({}): block ({x}, {y}, {z}), wave {}, lane {}",
        fault.kind,
        fault.pc,
        instruction(chip, memory, fault.pc),
        fault.warp,
        fault.lane,
    );
    if let Some(reason) = fault.reason {
        let _ = write!(line, ": {reason}");
    }
    if let Some(address) = fault.address {
        let space = fault.space.as_deref().unwrap_or("memory");
        let _ = match (fault.kind, fault.store) {
            (FaultKind::Illegal, _) => write!(line, ": jump to {address:#x}"),
            (_, true) => write!(line, ": store to {space} {address:#x}"),
            (_, false) => write!(line, ": load from {space} {address:#x}"),
        };
    }
    line
}

/// The text of the instruction at an address.
fn instruction(chip: &str, memory: &Memory, pc: u64) -> String {
    let mut bytes = [0; 8];
    if memory.read(pc, &mut bytes).is_err() {
        return "no code".to_owned();
    }
    let lines = gcn::Chip::parse(chip).map(|chip| gcn::disasm(&bytes, pc, chip));
    let inst = lines.and_then(|lines| lines.first()?.inst.ok());
    inst.map_or_else(|| format!("{:#010x}", crate::uapi::u32_at(&bytes, 0)), |inst| inst.to_string())
}

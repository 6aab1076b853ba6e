//! What instructions do outside of the processor: transfers, and registers that are not part of its state. The embedder handles them.

use crate::vp1::{Inst, Op};

/// Something that a bundle does outside of the processor. Without anybody to ask, writes and transfers do nothing, waits
/// end at once, and reads leave their destination as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outside {
    /// Reads register `index` of a register file (`RFILE` of docs/hardware/vp1.md section 3; 8 `$sr`, 9 `$mi`, 10 `$uc`, 22 `$d`,
    /// 23 `$f`, others unknown).
    Read {
        /// The file.
        file: u32,
        /// The register.
        index: u32,
    },
    /// Writes it with `$r[source]`.
    Write {
        /// The file.
        file: u32,
        /// The register.
        index: u32,
        /// The register of the scalar unit that is written there.
        source: u32,
    },
    /// A transfer or barrier (`xdld`, `xdst`, `xdbar`, `xdwait`, opcode db): the instruction.
    Transfer {
        /// Its word.
        word: u32,
    },
}

/// What an instruction does outside of the processor, if it does.
pub fn outside_of(inst: Inst) -> Option<Outside> {
    let word = inst.word;
    let (file, dst, src1) = (word >> 3 & 31, word >> 19 & 31, word >> 14 & 31);
    match inst.op() {
        Op::Dma | Op::AUnknown => Some(Outside::Transfer { word }),
        Op::MovTo if is_outside(file, dst, inst) => Some(Outside::Write { file, index: dst, source: src1 }),
        Op::MovFrom if is_outside(file, src1, inst) => Some(Outside::Read { file, index: src1 }),
        _ => None,
    }
}

/// Whether a register is not part of the state.
fn is_outside(file: u32, index: u32, inst: Inst) -> bool {
    match file {
        0..=3 | 0x0b | 0x0c | 0x14 | 0x15 => false,
        0x0a => !matches!(index, 0 | 16),
        // Read only, and a second name for writing a part of $v.
        0x0d => inst.op() == Op::MovTo,
        0x12 => inst.op() == Op::MovFrom,
        // Only G80 has $x, and rows for them.
        0x18 => !inst.row.g80_only(),
        _ => true,
    }
}

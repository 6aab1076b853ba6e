//! Makes random arithmetic instructions from the rows of the instruction table.

use warpjit_frontend::tesla::{Address, Chip, Inst, Op, Operand, RegWidth, Row, Target, decode_word, table};

use super::program::{Item, SHARED_WARP};
use super::rng::Random;

/// Registers that random instructions may write: `$r0` to `$r15`.
pub const DATA_REGISTERS: u8 = 16;
const LONG_END: u64 = 3 << 32;

/// What arithmetic of a program may do.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Shared memory may be read at any address.
    pub any_shared: bool,
}

/// Rows of arithmetic that the chip has.
pub fn rows(chip: Chip) -> Vec<&'static Row> {
    let target = Target::compute(chip);
    table::rows().iter().filter(|row| row.available(target) && is_arithmetic(row.op)).collect()
}

fn is_arithmetic(op: Op) -> bool {
    matches!(
        op,
        Op::Mov
            | Op::MovFromCreg
            | Op::MovFromAreg
            | Op::MovFromSreg
            | Op::MovToCreg
            | Op::ShlToAreg
            | Op::AddAreg
            | Op::IAdd
            | Op::ISet
            | Op::IMax
            | Op::IMin
            | Op::Shl
            | Op::Shr
            | Op::IMul16
            | Op::IMul24
            | Op::Sad
            | Op::IMad16
            | Op::IMad24
            | Op::Logic
            | Op::Cvt
            | Op::FAdd
            | Op::FMul
            | Op::FMad
            | Op::FSet
            | Op::FMax
            | Op::FMin
            | Op::Slct
            | Op::QuadOp
            | Op::DAdd
            | Op::DMul
            | Op::DFma
            | Op::DMin
            | Op::DMax
            | Op::DSet
            | Op::Rcp
            | Op::Rsqrt
            | Op::Lg2
            | Op::Sin
            | Op::Cos
            | Op::Ex2
            | Op::PreSin
            | Op::PreEx2
            | Op::LdConst
            | Op::LdShared
            | Op::Vote
            | Op::Nop
            | Op::PmEvent
    )
}

/// A random instruction of a row; `end` is 1 for exit and 2 for join behind it (long rows).
pub fn instruction(random: &mut Random, row: &Row, chip: Chip, limits: Limits, end: u64) -> Option<Item> {
    let target = Target::compute(chip);
    let len = row.len_bytes();
    for _ in 0..60 {
        let mut word = row.value | random.bits() & !row.mask;
        let free = |bits: u64| bits & !row.mask;
        if len == 4 {
            word &= 0xffff_ffff;
        } else if row.mask & LONG_END != LONG_END {
            word = word & !LONG_END | end << 32;
            if random.chance(60) {
                // No predicate.
                word = word & !free(0x1f << 39) | free(0xf << 39);
            }
        }
        // Low registers and offsets; never a high destination.
        word &= !free(0x1c0);
        for field in [9, 16, 46] {
            if random.chance(75) {
                word &= !free(0x70 << field);
            }
        }
        // Rarely $o, post-increment.
        if random.chance(95) {
            word &= !free(1 << 35);
        } else if random.chance(70) {
            word |= free(1 << 35 | 0x1fc);
        }
        if random.chance(80) {
            word &= !free(1 << 25);
        }
        let Ok(inst) = decode_word(word, 0, target) else { continue };
        if inst.cdst == Some(3) {
            word &= !free(1 << 37);
            if decode_word(word, 0, target).is_ok_and(|inst| allowed(&inst, limits)) {
                return Some(Item::Inst { word, len, target: None });
            }
        } else if allowed(&inst, limits) {
            return Some(Item::Inst { word, len, target: None });
        }
    }
    None
}

fn allowed(inst: &Inst, limits: Limits) -> bool {
    if inst.cdst == Some(3) {
        return false;
    }
    let writable = match inst.dst {
        Some(Operand::Reg { num, width }) => {
            let count = if let RegWidth::B64 = width { 2 } else { 1 };
            num + count <= DATA_REGISTERS
        }
        Some(Operand::Areg(number)) => matches!(number, 0 | 1 | 4 | 5),
        _ => true,
    };
    writable && inst.srcs().iter().all(|src| readable(src.operand, limits))
}

fn readable(operand: Operand, limits: Limits) -> bool {
    // Those that the program needs keep their value; those that cannot be written make the instruction illegal.
    let moves_kept = |addr: Address| addr.post_increment.is_some() && !matches!(addr.areg, 1 | 4 | 7);
    match operand {
        // The clock differs from run to run.
        Operand::Sreg(number) => number != 1,
        Operand::Shared { addr, .. } => {
            let own = addr.areg == 0 && addr.offset_bytes < 0x7c
                || addr.areg == 2 && addr.offset_bytes < SHARED_WARP - 3;
            !moves_kept(addr) && (limits.any_shared || own)
        }
        Operand::Const { addr, .. } => !moves_kept(addr),
        _ => true,
    }
}

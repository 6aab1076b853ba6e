//! Makes random encodings of Fermi instructions that cannot fault and give the same result on every run.

use warpjit_frontend::fermi::modifier::ConstMode;
use warpjit_frontend::fermi::{Chip, Form, Inst, Op, Operand, Row, decode_word, table};

use crate::random::encodings::Encoding;
use crate::random::rng::Random;

/// `$r0` to `$r11` are the program's.
pub const FREE: u32 = 12;

/// Operations that give the same on every run and cannot fault.
fn wanted(op: Op) -> bool {
    use Op::*;
    op.is_video()
        || matches!(
            op,
            FMinMax
                | FSet
                | FSetP
                | FFma
                | FSlct
                | QuadOp
                | FAdd
                | FMul
                | PreSin
                | PreEx2
                | Cos
                | Sin
                | Ex2
                | Lg2
                | Rcp
                | Rsqrt
                | Rcp64h
                | Rsqrt64h
                | DMinMax
                | DSet
                | DSetP
                | DFma
                | DAdd
                | DMul
                | IMadTyped
                | IMinMax
                | ISet
                | ISetP
                | IMad
                | Ins
                | ISlct
                | Sad
                | IScAdd
                | IAdd
                | IMul
                | Shr
                | Shl
                | Logic
                | Ext
                | BFind
                | CSet
                | CSetP
                | PSet
                | PSetP
                | Cvt
                | Selp
                | Prmt
                | Mov
                | MovFromSreg
                | MovFromFlags
                | MovToFlags
                | Nop
                | Lepc
                | Vote
                | Shfl
                | Popc
                | LdConst
                | Membar
                | TexBar
        )
}

/// Rows of an operation of its long forms, or of its short ones.
fn rows(op: Op, short: bool) -> Vec<&'static Row> {
    let form = |row: &Row| if short { row.form == Form::Short } else { matches!(row.form, Form::Long(_)) };
    table::rows().iter().filter(|row| row.op == op && form(row)).collect()
}

/// A random instruction, or two short ones.
pub fn random_word(random: &mut Random, chip: Chip) -> u64 {
    if random.below(8) == 0 {
        return instruction(random, chip, true) | instruction(random, chip, true) << 32;
    }
    instruction(random, chip, false)
}

fn instruction(random: &mut Random, chip: Chip, short: bool) -> u64 {
    loop {
        let op = random.pick(Op::ALL);
        let rows = rows(op, short);
        if !wanted(op) || rows.is_empty() {
            continue;
        }
        // Some rows are other chips', some bits no instruction: try again, with another operation after a while.
        for _ in 0..64 {
            let row = random.pick(&rows);
            let word = if short { short_candidate(random, row) } else { candidate(random, row) };
            let good = |inst: Inst| (!short || inst.len == 4) && acceptable(&inst);
            if decode_word(word, 0, chip).is_ok_and(good) {
                return word;
            }
        }
    }
}

fn candidate(random: &mut Random, row: &Row) -> u64 {
    let mut word = Encoding::new(row.value, row.mask, random.bits());
    // No join; most often no guard; mostly registers as operands, pairs even.
    word.set(1, 4, 0);
    if random.below(4) != 0 {
        word.set(15, 10, 7);
    }
    for shift in [14, 20, 49] {
        if random.below(8) != 0 {
            word.set(0x3f, shift, u64::from(random.below(FREE / 2)) * 2);
        }
    }
    if random.below(2) == 0 {
        word.set(3, 46, 0);
        word.set(0xf_ffff, 26, u64::from(random.below(FREE / 2)) * 2);
    }
    word.word
}

fn short_candidate(random: &mut Random, row: &Row) -> u64 {
    let mut word = Encoding::new(row.value, row.mask | !0xffff_ffff, random.bits());
    for shift in [14, 20, 26] {
        if random.below(8) != 0 {
            word.set(0x3f, shift, random.below(FREE).into());
        }
    }
    word.word
}

fn acceptable(inst: &Inst) -> bool {
    let free = |operand: Operand| match operand {
        Operand::Reg { num: 63, .. } => true,
        Operand::Reg { num, width } => {
            let count = width.bytes().div_ceil(4) as u8;
            num % count == 0 && u32::from(num + count) <= FREE
        }
        Operand::Const { space, base, .. } => space < 18 && (base == 63 || u32::from(base) < FREE),
        // Not the clock and what counts events.
        Operand::Sreg(number) => !matches!(number, 4..=11 | 64..),
        _ => true,
    };
    // Modes of `ld c[]` that are illegal.
    let known = !inst.mods.has(ConstMode::Il) && !inst.mods.has(ConstMode::Isl);
    !inst.join
        && known
        && inst.dst.is_none_or(free)
        && inst.srcs().iter().all(|src| free(src.operand))
        && inst.pdst != Some(6)
        && inst.pdst2 != Some(6)
        && wanted(inst.op)
}

//! Text of memory instructions.

use super::{Text, access, cache, operand, space, type_name, wide};
use crate::envydis::{AtomOp, Type};
use crate::fermi::modifier::{CacheKind, CacheOp, ConstMode, Modifier};
use crate::fermi::operand::MemSpace;
use crate::fermi::{Family, Inst, Op};

fn atomic(op: AtomOp) -> &'static str {
    match op {
        AtomOp::Add => "ADD",
        AtomOp::Exch => "EXCH",
        AtomOp::Cas => "CAS",
        AtomOp::Inc => "INC",
        AtomOp::Dec => "DEC",
        AtomOp::Max => "MAX",
        AtomOp::Min => "MIN",
        AtomOp::And => "AND",
        AtomOp::Or => "OR",
        AtomOp::Xor => "XOR",
    }
}

/// Loads, stores, atomics and cache control.
pub(super) fn describe(inst: &Inst, text: &mut Text) {
    let mods = &inst.mods;
    let extended = wide(inst.src(0));
    let letter = match space(inst) {
        Some(MemSpace::Shared) => "S",
        Some(MemSpace::Local) => "L",
        _ => "",
    };
    match inst.op {
        Op::Red | Op::Atom => {
            text.name = if inst.op == Op::Red { "RED" } else { "ATOM" }.into();
            text.flag(extended, "E").suffix(atomic(mods.atom));
            match mods.ty {
                Some(Type::F32) => text.suffix("F32.FTZ.RN"),
                Some(Type::S32) => text.suffix("S32"),
                Some(Type::U64) => text.suffix("U64"),
                Some(Type::B64) => text.suffix("64"),
                _ => text,
            };
            if inst.op == Op::Atom {
                text.dst(inst);
            }
            text.srcs(inst, 0);
        }
        Op::Ld | Op::Ldu | Op::LdConst => {
            text.name = match inst.op {
                Op::Ldu => "LDU".into(),
                Op::LdConst => "LDC".into(),
                _ => format!("LD{letter}"),
            };
            text.flag(extended, "E").suffix(cache(mods.cache));
            match mods.get() {
                None => {}
                Some(ConstMode::Il) => _ = text.suffix("IL"),
                Some(ConstMode::Is) => _ = text.suffix("IS"),
                Some(ConstMode::Isl) => _ = text.suffix("ISL"),
            }
            text.suffix(&access(mods.ty));
            text.dst(inst).srcs(inst, 0);
        }
        Op::St => {
            text.name = format!("ST{letter}");
            text.flag(extended, "E").suffix(cache(mods.cache)).suffix(&access(mods.ty)).srcs(inst, 0);
        }
        Op::LdLock => {
            text.name = format!("LD{letter}LK");
            text.flag(extended, "E").suffix(&access(mods.ty)).pdst(inst).dst(inst).srcs(inst, 0);
        }
        Op::StUnlock => {
            // GK104's says whether it held the lock.
            let checked = letter == "S" && inst.chip.family() == Family::Gk104;
            text.name = if checked { "STSCUL".into() } else { format!("ST{letter}UL") };
            text.flag(extended, "E").suffix(&access(mods.ty));
            if checked {
                text.pdst(inst);
            }
            text.srcs(inst, 0);
        }
        Op::LdLdu => {
            text.name = format!("LD{letter}_LDU");
            let second = inst.src(1);
            text.flag(extended, "E").flag(wide(second) && !extended, "LDE");
            text.suffix(&type_name(mods.ty)).suffix(&type_name(second.and_then(|src| src.ty)));
            text.dst(inst).src(inst, 0);
            text.operands.extend(inst.dst2.map(|dst| operand(dst, None)));
            text.src(inst, 1);
        }
        _ => {
            text.name = if letter == "L" { "CCTLL" } else { "CCTL" }.into();
            text.flag(extended, "E");
            // `.U`, `.C`, `.I` stand in front of the operation.
            let kind = mods.get::<CacheKind>().map(Modifier::CacheKind);
            let op = mods.get::<CacheOp>().map(Modifier::CacheOp);
            for modifier in kind.into_iter().chain(op) {
                text.suffix(&modifier.name().to_ascii_uppercase());
            }
            text.dst(inst).srcs(inst, 0);
        }
    }
}

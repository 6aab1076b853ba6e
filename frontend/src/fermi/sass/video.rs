//! Text of video instructions.

use super::{Text, source};
use crate::envydis::Type;
use crate::fermi::operand::{AddOp, Merge, Operand, Select, Src};
use crate::fermi::{Inst, Op};

/// `U8`, `S16` ...: the width follows from what is selected. Immediates count as bytes.
fn type_of(inst: &Inst, src: Src) -> String {
    let sign = if src.ty.is_some_and(Type::is_signed) { 'S' } else { 'U' };
    let bits = match (inst.video_lanes, src.select, src.operand) {
        (1, _, Operand::Imm(_)) => 8,
        (1, Select::Byte(_), _) => 8,
        (1, Select::Half(_), _) => 16,
        (1, ..) => 32,
        (2, ..) => 16,
        _ => 8,
    };
    format!("{sign}{bits}")
}

/// `.B1023`, `.H10` of the forms on lanes, unless they are plain.
fn lanes_of(index: usize, select: Select) -> String {
    match (index, select) {
        (0, Select::Bytes([0, 1, 2, 3]) | Select::Halves([0, 1])) => String::new(),
        (1, Select::Bytes([4, 5, 6, 7]) | Select::Halves([2, 3])) => String::new(),
        (_, Select::Bytes(bytes)) => bytes.iter().fold(".B".into(), |text, byte| format!("{text}{byte}")),
        (_, Select::Halves(halves)) => halves.iter().fold(".H".into(), |text, half| format!("{text}{half}")),
        _ => String::new(),
    }
}

fn merge(merge: Merge) -> &'static str {
    match merge {
        Merge::None => "",
        Merge::H1 => "MRG_16H",
        Merge::H0 => "MRG_16L",
        Merge::B0 => "MRG_8B0",
        Merge::B2 => "MRG_8B2",
        Merge::Add => "ACC",
        Merge::Min => "MIN",
        Merge::Max => "MAX",
        Merge::SimdMin => "SIMD_MIN",
        Merge::SimdMax => "SIMD_MAX",
    }
}

const COMPARISONS: [&str; 16] =
    ["F", "LT", "EQ", "LE", "GT", "NE", "GE", "T", "F", "LT", "EQ", "LE", "GT", "NE", "GE", "T"];

pub(super) fn describe(inst: &Inst, text: &mut Text) {
    let mods = &inst.mods;
    text.name = match inst.op {
        Op::VAdd => "VADD",
        Op::VAvg => "VAVRG",
        Op::VMin => "VMIN",
        Op::VMax => "VMAX",
        Op::VAbsDiff => "VABSDIFF",
        Op::VSet => "VSET",
        Op::VSetP => "VSETP",
        Op::VShr => "VSHR",
        Op::VShl => "VSHL",
        Op::VMad => "VMAD",
        _ => "VSEL",
    }
    .into();
    if inst.video_lanes != 1 {
        text.name.push_str(&inst.video_lanes.to_string());
    }
    if matches!(inst.op, Op::VSet | Op::VSetP) {
        text.suffix(if mods.compare == 15 { "T" } else { COMPARISONS[usize::from(mods.compare & 7)] });
    }
    text.flag(mods.ty.is_some_and(|ty| !ty.is_signed()), "UD");
    for src in inst.srcs().iter().take(2) {
        text.suffix(&type_of(inst, *src));
    }
    text.flag(mods.wrap, "W").flag(mods.add == AddOp::AddPo, "PO").flag(mods.sat, "SAT");
    if mods.shift_right != 0 {
        text.suffix(&format!("SHR_{}", mods.shift_right));
    }
    text.suffix(merge(mods.merge));
    if inst.op == Op::VSetP {
        text.suffix(super::logic(mods.set_logic)).pdsts(inst);
    } else {
        text.dst(inst);
        let all = (1 << inst.video_lanes) - 1;
        if let Some(dst) = text.operands.last_mut()
            && mods.lane_mask != all
        {
            let lanes = "XYZW".chars().enumerate().filter(|(lane, _)| mods.lane_mask >> lane & 1 != 0);
            dst.push('.');
            dst.extend(lanes.map(|(_, name)| name));
        }
    }
    for (index, src) in inst.srcs().iter().enumerate() {
        // A multiply-add joins the product and source 3, the others both sources.
        let second = if inst.op == Op::VMad { 2 } else { 1 };
        let negate = match mods.add {
            AddOp::Sub => index == second,
            AddOp::Subr => index == 0,
            AddOp::Add | AddOp::AddPo => false,
        };
        let src = Src { neg: src.neg != negate, ..*src };
        text.operand(format!("{}{}", source(src), lanes_of(index, src.select)));
    }
    if matches!(inst.op, Op::VSel | Op::VSetP) {
        text.pred(inst);
    }
}

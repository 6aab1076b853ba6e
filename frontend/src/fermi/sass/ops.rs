//! How each instruction is written in NVIDIA's syntax (SASS): its mnemonic, its modifiers and the order of its operands.
//!
//! In: a decoded [`Inst`]. Out: the text without guard and `.S`, which the caller adds. The printer of single operands is [`super`]'s.

use super::{
    Text, condition, int_rounding, logic, memory, operand, register, rounding, source, texture, type_name,
    video,
};
use crate::envydis::{QuadLane, QuadOp, Type};
use crate::fermi::operand::{
    AddOp, BarOp, MembarLevel, MinMaxPart, Operand, PredSrc, PrmtMode, Select, ShflOp, Src, VoteOp, ZERO_REG,
};
use crate::fermi::{Form, Inst, Op};

/// Writes an instruction without its guard and `.S`.
pub(super) fn describe(inst: &Inst, text: &mut Text) {
    use Op::*;
    match inst.op {
        FMinMax | DMinMax | IMinMax | FSet | FSetP | DSet | DSetP | ISet | ISetP | FSlct | ISlct | CSet
        | CSetP | PSet | PSetP => compare(inst, text),
        FAdd | FMul | FFma | DAdd | DMul | DFma | QuadOp | PreSin | PreEx2 | Cos | Sin | Ex2 | Lg2 | Rcp
        | Rsqrt | Rcp64h | Rsqrt64h => float(inst, text),
        IAdd | IMul | IMad | IMadTyped | IMadSd | IScAdd | Sad | Shl | Shr | Logic | Ext | Ins | BFind
        | Popc => integer(inst, text),
        Cvt => convert(inst, text),
        Selp | Prmt | Mov | MovFromSreg | MovFromFlags | MovToFlags | BarRead | Nop | PmEvent | Lepc
        | Vote | Bar | Membar | Shfl | Sched | TexBar => miscellaneous(inst, text),
        VAdd | VAvg | VMin | VMax | VAbsDiff | VSet | VSetP | VShr | VShl | VMad | VSel => {
            video::describe(inst, text);
        }
        Red | Atom | Ld | Ldu | St | LdLock | StUnlock | LdLdu | Cctl | LdConst => {
            memory::describe(inst, text)
        }
        SuClamp | SuBfm | SuEau | SuLdGB | SuLdB | SuRedP | SuStGB | SuStGP | SuStB | SuStP | SuQ | SuLea
        | Interp | LdVertex | LdAttr | StAttr | Al2p | PixInfo | Out | Tex | TexFetch | TexGather
        | TexQueryLod | TexQuery | TexCsaa | TexGrad => texture::describe(inst, text),
        Bra | BraIndirect | Call | PreLongjmp | JoinAt | PreBrk | PreCont | PreRet | Exit | Longjmp | Ret
        | Discard | Rtt | Brk | Cont | QuadOn | QuadPop | Bpt => control(inst, text),
    }
}

/// True for class 2, whose mnemonics end in `32I`.
fn has_long_immediate(inst: &Inst) -> bool {
    inst.row.form == Form::Long(2)
}

fn named(inst: &Inst, name: &str) -> String {
    if has_long_immediate(inst) { format!("{name}32I") } else { name.to_string() }
}

const COMPARISONS: [&str; 16] =
    ["F", "LT", "EQ", "LE", "GT", "NE", "GE", "NUM", "NAN", "LTU", "EQU", "LEU", "GTU", "NEU", "GEU", "T"];

fn compare(inst: &Inst, text: &mut Text) {
    let mods = &inst.mods;
    let comparison = COMPARISONS[usize::from(mods.compare & 15)];
    let ty = inst.src(0).and_then(|src| src.ty);
    text.name = match inst.op {
        Op::FMinMax => "FMNMX",
        Op::DMinMax => "DMNMX",
        Op::IMinMax => "IMNMX",
        Op::FSet => "FSET",
        Op::FSetP => "FSETP",
        Op::DSet => "DSET",
        Op::DSetP => "DSETP",
        Op::ISet => "ISET",
        Op::ISetP => "ISETP",
        Op::FSlct => "FCMP",
        Op::ISlct => "ICMP",
        Op::CSet => "CSET",
        Op::CSetP => "CSETP",
        Op::PSet => "PSET",
        _ => "PSETP",
    }
    .into();
    match inst.op {
        Op::FMinMax | Op::DMinMax | Op::IMinMax => {
            text.flag(mods.ty == Some(Type::U32), "U32").flag(mods.ftz, "FTZ");
            text.suffix(match mods.part {
                MinMaxPart::Whole => "",
                MinMaxPart::Low => "XLO",
                MinMaxPart::Med => "XMED",
                MinMaxPart::High => "XHI",
            });
            text.dst(inst).srcs(inst, 0).pred(inst);
        }
        Op::FSlct | Op::ISlct => {
            let ty = inst.src(2).and_then(|src| src.ty);
            text.suffix(comparison).flag(ty == Some(Type::U32), "U32").flag(mods.ftz, "FTZ");
            text.dst(inst).srcs(inst, 0);
        }
        _ => {
            let to_register = matches!(inst.op, Op::FSet | Op::DSet | Op::ISet | Op::CSet | Op::PSet);
            text.flag(to_register && mods.ty == Some(Type::F32), "BF");
            match inst.op {
                Op::CSet | Op::CSetP => text.suffix(condition(mods.compare)),
                Op::PSet | Op::PSetP => text.suffix(logic(mods.logic)),
                _ => text.suffix(comparison),
            };
            text.flag(ty == Some(Type::U32), "U32").flag(mods.ftz, "FTZ").flag(mods.carry_in, "X");
            text.suffix(logic(mods.set_logic));
            if to_register {
                text.dst(inst);
            } else {
                text.pdsts(inst);
            }
            if matches!(inst.op, Op::CSet | Op::CSetP) {
                text.operand("CC");
            }
            text.srcs(inst, 0).pred(inst);
        }
    }
}

fn float(inst: &Inst, text: &mut Text) {
    let mods = &inst.mods;
    let function = |name: &str| format!("MUFU.{name}");
    text.name = match inst.op {
        Op::FAdd => named(inst, "FADD"),
        Op::FMul => named(inst, "FMUL"),
        Op::FFma => named(inst, "FFMA"),
        Op::DAdd => "DADD".into(),
        Op::DMul => "DMUL".into(),
        Op::DFma => "DFMA".into(),
        Op::PreSin => "RRO.SINCOS".into(),
        Op::PreEx2 => "RRO.EX2".into(),
        Op::Cos => function("COS"),
        Op::Sin => function("SIN"),
        Op::Ex2 => function("EX2"),
        Op::Lg2 => function("LG2"),
        Op::Rcp => function("RCP"),
        Op::Rsqrt => function("RSQ"),
        Op::Rcp64h => function("RCP64H"),
        Op::Rsqrt64h => function("RSQ64H"),
        _ => "FSWZ".into(),
    };
    if inst.op == Op::QuadOp {
        text.suffix(match mods.quad_lane {
            QuadLane::Lane(0) => "0000",
            QuadLane::Lane(1) => "1111",
            QuadLane::Lane(2) => "2222",
            QuadLane::Lane(_) => "3333",
            QuadLane::Dx => "1032",
            QuadLane::Dy => "2301",
        });
        text.flag(mods.dall, "ALL");
    }
    if mods.scale != 0 {
        let direction = if mods.scale > 0 { 'M' } else { 'D' };
        text.suffix(&format!("{direction}{}", 1 << mods.scale.unsigned_abs()));
    }
    text.flag(mods.ftz, "FTZ").flag(mods.fmz, "FMZ").suffix(rounding(mods.rounding)).flag(mods.sat, "SAT");
    text.dst(inst);
    if mods.neg {
        // The product is negated: one factor is.
        let factor = inst.src(0).map(|src| source(Src { neg: !src.neg, ..src }));
        text.operands.extend(factor);
        text.srcs(inst, 1);
    } else {
        text.srcs(inst, 0);
    }
    if inst.op == Op::QuadOp {
        let lanes = mods.quad.iter().map(|op| match op {
            QuadOp::Add => "PP",
            QuadOp::Subr => "NP",
            QuadOp::Sub => "PN",
            QuadOp::Mov2 => "ZP",
        });
        text.operand(lanes.collect::<String>());
    }
}

/// A source that `sub`, `subr` negate.
fn maybe_negated(inst: &Inst, index: usize, negate: bool) -> Option<String> {
    let src = inst.src(index)?;
    Some(source(Src { neg: src.neg != negate, ..src }))
}

fn integer(inst: &Inst, text: &mut Text) {
    let mods = &inst.mods;
    let unsigned = mods.ty == Some(Type::U32);
    text.name = match inst.op {
        Op::IAdd => named(inst, "IADD"),
        Op::IMul => named(inst, "IMUL"),
        Op::IMad => named(inst, "IMAD"),
        Op::IMadTyped => "IMADSP".into(),
        Op::IMadSd => "IMADSP.SD".into(),
        Op::IScAdd => named(inst, "ISCADD"),
        Op::Sad => "ISAD".into(),
        Op::Shl => "SHL".into(),
        Op::Shr => "SHR".into(),
        Op::Logic => named(inst, "LOP"),
        Op::Ext => "BFE".into(),
        Op::Ins => "BFI".into(),
        Op::BFind => "FLO".into(),
        _ => "POPC".into(),
    };
    match inst.op {
        Op::IMul | Op::IMad => {
            // Signed by signed is the plain form.
            let types = [inst.src(0).and_then(|src| src.ty), inst.src(1).and_then(|src| src.ty)];
            if types.contains(&Some(Type::U32)) {
                text.suffix(&type_name(types[0])).suffix(&type_name(types[1]));
            }
            text.flag(mods.high, "HI");
        }
        Op::IMadTyped => {
            for src in inst.srcs() {
                let half = match src.select {
                    Select::Half(num) => format!("H{num}"),
                    _ => String::new(),
                };
                text.suffix(&format!("{}{half}", type_name(src.ty)));
            }
            // The types say which half is meant.
            text.dst(inst);
            for src in inst.srcs() {
                text.operand(operand(src.operand, None));
            }
            return;
        }
        Op::Sad | Op::Shr | Op::Ext | Op::BFind => {
            text.flag(unsigned, "U32");
        }
        Op::Logic => {
            text.suffix(logic(mods.logic));
        }
        _ => {}
    }
    text.flag(mods.wrap, "W").flag(mods.reverse, "BREV").flag(mods.shift_amount, "SH");
    text.flag(mods.add == AddOp::AddPo, "PO").flag(mods.sat, "SAT").flag(mods.carry_in, "X");
    text.dst(inst);
    // Of a multiply-add the second operand of the addition is the third source.
    let addend = if inst.op == Op::IMad { 2 } else { 1 };
    for index in 0..inst.srcs().len() {
        let negate = match mods.add {
            AddOp::Sub => index == addend,
            AddOp::Subr => index == 0,
            AddOp::Add | AddOp::AddPo => false,
        };
        text.operands.extend(maybe_negated(inst, index, negate));
    }
    if inst.op == Op::IScAdd {
        text.operand(format!("{:#x}", mods.shift));
    }
}

fn convert(inst: &Inst, text: &mut Text) {
    let mods = &inst.mods;
    let from = inst.src(0).and_then(|src| src.ty);
    let is_float = |ty: Option<Type>| ty.is_some_and(Type::is_float);
    text.name = match (is_float(from), is_float(mods.ty)) {
        (true, true) => "F2F",
        (true, false) => "F2I",
        (false, true) => "I2F",
        (false, false) => "I2I",
    }
    .into();
    text.flag(mods.ftz, "FTZ").suffix(&type_name(mods.ty)).suffix(&type_name(from));
    // Of conversions to integers rounding to nearest is the plain form.
    if let Some(direction) = mods.int_rounding {
        let name = int_rounding(direction);
        text.flag(is_float(mods.ty) || name != "ROUND", name);
    }
    text.suffix(rounding(mods.rounding)).flag(mods.sat, "SAT");
    text.dst(inst).srcs(inst, 0);
}

fn miscellaneous(inst: &Inst, text: &mut Text) {
    let mods = &inst.mods;
    match inst.op {
        Op::Selp => {
            text.name = "SEL".into();
            text.dst(inst).srcs(inst, 0).pred(inst);
        }
        Op::Prmt => {
            text.name = "PRMT".into();
            text.suffix(match mods.prmt {
                PrmtMode::Index => "",
                PrmtMode::F4e => "F4E",
                PrmtMode::B4e => "B4E",
                PrmtMode::Rc8 => "RC8",
                PrmtMode::Ecl => "ECL",
                PrmtMode::Ecr => "ECR",
                PrmtMode::Rc16 => "RC16",
            });
            text.dst(inst).srcs(inst, 0);
        }
        Op::Mov => {
            text.name = named(inst, "MOV");
            text.dst(inst).srcs(inst, 0);
            if mods.lanes != 0xf {
                text.operand(format!("{:#x}", mods.lanes));
            }
        }
        Op::MovFromSreg => {
            text.name = "S2R".into();
            text.dst(inst).srcs(inst, 0);
        }
        Op::MovFromFlags => {
            text.name = "P2R".into();
            text.dst(inst).operand(if mods.high { "PR.H1" } else { "PR" });
            if inst.srcs().len() == 1 {
                text.operand(register(ZERO_REG));
            }
            text.srcs(inst, 0);
        }
        Op::MovToFlags => {
            text.name = "R2P".into();
            text.operand(if mods.high { "PR.H1" } else { "PR" }).srcs(inst, 0);
        }
        Op::BarRead => {
            text.name = "B2R".into();
            text.dst(inst).srcs(inst, 0);
        }
        Op::Nop | Op::PmEvent | Op::TexBar => {
            text.name = match inst.op {
                Op::Nop => "NOP",
                Op::PmEvent => "NOP.TRIG",
                _ => "TEXDEPBAR",
            }
            .into();
            if let Some(code) = inst.cond {
                text.operand(format!("CC.{}", condition(code)));
            }
            text.srcs(inst, 0);
        }
        Op::Lepc => {
            text.name = "LEPC".into();
            text.dst(inst);
        }
        Op::Vote => {
            text.name = "VOTE".into();
            text.suffix(match mods.vote {
                VoteOp::All => "ALL",
                VoteOp::Any => "ANY",
                VoteOp::Uni => "EQ",
            });
            text.dst(inst).pdst(inst).pred(inst);
        }
        Op::Bar => barrier(inst, text),
        Op::Membar => {
            text.name = "MEMBAR".into();
            text.suffix(match mods.membar {
                MembarLevel::Cta => "CTA",
                MembarLevel::Gl => "GL",
                MembarLevel::Sys => "SYS",
            });
        }
        Op::Shfl => {
            text.name = "SHFL".into();
            text.suffix(match mods.shfl {
                ShflOp::Idx => "IDX",
                ShflOp::Up => "UP",
                ShflOp::Down => "DOWN",
                ShflOp::Bfly => "BFLY",
            });
            text.pdst(inst).dst(inst).srcs(inst, 0);
        }
        _ => {
            text.name = "SCHI".into();
            text.srcs(inst, 0);
        }
    }
}

fn barrier(inst: &Inst, text: &mut Text) {
    let mods = &inst.mods;
    let is_zero = |src: Option<Src>| {
        matches!(src.map(|src| src.operand), None | Some(Operand::Reg { num: ZERO_REG, .. }))
    };
    let no_result = inst.pdst.is_none()
        && matches!(inst.dst, None | Some(Operand::Reg { num: ZERO_REG, .. }))
        && mods.pred == PredSrc::TRUE;
    let plain = match mods.bar {
        BarOp::Popc | BarOp::Sync if no_result => Some("BAR.SYNC"),
        BarOp::Arrive if no_result => Some("BAR.ARV"),
        _ => None,
    };
    match plain {
        Some(name) => text.name = name.into(),
        None => {
            text.name = "BAR.RED".into();
            text.suffix(match mods.bar {
                BarOp::Popc | BarOp::Sync => "POPC",
                BarOp::And => "AND",
                BarOp::Or => "OR",
                BarOp::Arrive => "ARV",
            });
            text.pdst(inst).dst(inst);
        }
    }
    // The zero register names barrier 0.
    if is_zero(inst.src(0)) {
        text.operand("0x0");
    } else {
        text.src(inst, 0);
    }
    if !is_zero(inst.src(1)) {
        text.src(inst, 1);
    }
    if plain.is_none() {
        text.pred(inst);
    }
}

fn control(inst: &Inst, text: &mut Text) {
    let mods = &inst.mods;
    let short = inst.row.form == Form::Short;
    let absolute = !short && inst.raw >> 62 == 0;
    text.name = match (inst.op, absolute) {
        (Op::Bra, false) => "BRA",
        (Op::Bra, true) => "JMP",
        (Op::BraIndirect, false) => "BRX",
        (Op::BraIndirect, true) => "JMX",
        (Op::Call, false) => "CAL",
        (Op::Call, true) => "JCAL",
        (Op::PreLongjmp, _) => "PLONGJMP",
        (Op::JoinAt, _) => "SSY",
        (Op::PreBrk, _) => "PBK",
        (Op::PreCont, _) => "PCNT",
        (Op::PreRet, _) => "PRET",
        (Op::Exit, _) => "EXIT",
        (Op::Longjmp, _) => "LONGJMP",
        (Op::Ret, _) => "RET",
        (Op::Discard, _) => "KIL",
        (Op::Rtt, _) => "RTT",
        (Op::Brk, _) => "BRK",
        (Op::Cont, _) => "CONT",
        (Op::QuadOn, _) => "QUADON",
        (Op::QuadPop, _) => "QUADPOP",
        _ => "BPT",
    }
    .into();
    match inst.op {
        Op::Call | Op::PreRet => {
            text.flag(!mods.lim, "NOINC");
        }
        _ => {
            text.flag(mods.allwarp, "U").flag(mods.lim, "LMT").flag(mods.terminate, "TERMINATE");
        }
    }
    for modifier in mods.listed() {
        text.suffix(&modifier.name().to_ascii_uppercase());
    }
    if let Some(code) = inst.cond {
        text.operand(format!("CC.{}", condition(code)));
    }
    text.srcs(inst, 0);
}

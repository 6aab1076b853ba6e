//! Prints the decoded form in the syntax of the vendor's cuobjdump and of asfermi (`IADD.X R0.CC, -R1, c[0x0][0x20]`). This is
//! Fermi's second syntax; the first is envydis's.
//!
//! Mnemonics, modifiers and their order are those of asfermi's pages for what asfermi has (seed 004 and docs/hardware/fermi.md section
//! 7), and otherwise the names in the vendor's documents. Instructions that neither names (surfaces of GF100, graphics, half of
//! the video instructions) follow the same patterns.

mod memory;
mod ops;
mod texture;
mod video;

use std::fmt;

use super::disasm::ListingLine;
use super::operand::{Cache, MemSpace, Operand, PredSrc, Select, Src, TRUE_PRED, ZERO_REG};
use super::{Chip, Inst, disasm};
use crate::envydis::{LogicOp, Rounding, Type};

/// An instruction in that syntax.
#[derive(Clone, Copy, Debug)]
pub struct Sass<'a>(pub &'a Inst);

impl fmt::Display for Sass<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inst = self.0;
        match inst.guard {
            None => {}
            Some(guard) => write!(f, "@{} ", predicate(guard))?,
        }
        let mut text = Text { name: String::new(), operands: Vec::new() };
        ops::describe(inst, &mut text);
        f.write_str(&text.name)?;
        if inst.join {
            f.write_str(".S")?;
        }
        for (index, operand) in text.operands.iter().enumerate() {
            f.write_str(if index == 0 { " " } else { ", " })?;
            f.write_str(operand)?;
        }
        Ok(())
    }
}

/// A listing line in that syntax; address and words are as in the other one.
struct SassLine<'a>(&'a ListingLine);

impl fmt::Display for SassLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_head(f)?;
        match &self.0.inst {
            Ok(inst) => Sass(inst).fmt(f),
            Err(_) => f.write_str("??"),
        }
    }
}

/// The listing of code that stands at `base`, in that syntax, a newline after each line.
pub fn sass_listing(code: &[u8], base: u32, chip: Chip) -> String {
    disasm(code, base, chip).iter().map(|line| format!("{}\n", SassLine(line))).collect()
}

/// What an instruction is printed as.
struct Text {
    /// Mnemonic with modifiers.
    name: String,
    operands: Vec<String>,
}

impl Text {
    /// Adds a modifier.
    fn suffix(&mut self, suffix: &str) -> &mut Text {
        if !suffix.is_empty() {
            self.name.push('.');
            self.name.push_str(suffix);
        }
        self
    }

    /// Adds a modifier if it is there.
    fn flag(&mut self, set: bool, suffix: &str) -> &mut Text {
        self.suffix(if set { suffix } else { "" })
    }

    fn operand(&mut self, operand: impl Into<String>) -> &mut Text {
        self.operands.push(operand.into());
        self
    }

    /// The register destination, with `.CC`.
    fn dst(&mut self, inst: &Inst) -> &mut Text {
        let mut dst = inst.dst.map_or("RZ".into(), |dst| operand(dst, None));
        if inst.cc_out {
            dst.push_str(".CC");
        }
        self.operand(dst)
    }

    /// Both predicate destinations.
    fn pdsts(&mut self, inst: &Inst) -> &mut Text {
        self.operand(predicate_number(inst.pdst)).operand(predicate_number(inst.pdst2))
    }

    /// One predicate destination.
    fn pdst(&mut self, inst: &Inst) -> &mut Text {
        self.operand(predicate_number(inst.pdst))
    }

    /// A source, if it is there.
    fn src(&mut self, inst: &Inst, index: usize) -> &mut Text {
        if let Some(src) = inst.src(index) {
            self.operand(source(src));
        }
        self
    }

    /// Sources from `first` on.
    fn srcs(&mut self, inst: &Inst, first: usize) -> &mut Text {
        for src in inst.srcs().iter().skip(first) {
            self.operand(source(*src));
        }
        self
    }

    /// The predicate beside the sources.
    fn pred(&mut self, inst: &Inst) -> &mut Text {
        self.operand(predicate(inst.mods.pred))
    }
}

/// `P0`, `!PT`
fn predicate(pred: PredSrc) -> String {
    let number = predicate_number((pred.num != TRUE_PRED).then_some(pred.num));
    if pred.not { format!("!{number}") } else { number }
}

fn predicate_number(num: Option<u8>) -> String {
    num.map_or("PT".into(), |num| format!("P{num}"))
}

fn register(num: u8) -> String {
    if num == ZERO_REG { "RZ".into() } else { format!("R{num}") }
}

/// `R1+0x10`, `R1+-0x4`, `0x20`
fn address(base: u8, offset: i32) -> String {
    let hex = if offset < 0 { format!("-{:#x}", offset.unsigned_abs()) } else { format!("{offset:#x}") };
    match (base, offset) {
        (ZERO_REG, _) => hex,
        (_, 0) => register(base),
        _ => format!("{}+{hex}", register(base)),
    }
}

/// An immediate, floats as decimal numbers.
fn immediate(value: u64, ty: Option<Type>) -> String {
    let float = |text: String, nan: bool, infinite: bool, negative: bool| match (nan, infinite) {
        (true, _) => format!("{}QNAN", if negative { "-" } else { "+" }),
        (_, true) => format!("{}INF", if negative { "-" } else { "+" }),
        _ => text,
    };
    match ty {
        Some(Type::F32) => {
            let number = f32::from_bits(value as u32);
            // Plain digits for what is near one, an exponent else.
            let plain = number == 0.0 || (1e-5..1e10).contains(&number.abs());
            let text = if plain { format!("{number}") } else { format!("{number:e}") };
            float(text, number.is_nan(), number.is_infinite(), number.is_sign_negative())
        }
        Some(Type::F64) => {
            let number = f64::from_bits(value);
            let plain = number == 0.0 || (1e-5..1e10).contains(&number.abs());
            let text = if plain { format!("{number}") } else { format!("{number:e}") };
            float(text, number.is_nan(), number.is_infinite(), number.is_sign_negative())
        }
        Some(Type::S64 | Type::U64) => format!("{value:#x}"),
        _ => {
            let number = value as u32 as i32;
            // Small negative numbers read better with a sign.
            if (-0x8_0000..0).contains(&number) {
                format!("-{:#x}", number.unsigned_abs())
            } else {
                format!("{:#x}", value as u32)
            }
        }
    }
}

/// An operand without its modifiers.
fn operand(operand: Operand, ty: Option<Type>) -> String {
    match operand {
        Operand::Reg { num, .. } => register(num),
        Operand::Vec { base, .. } => register(base),
        Operand::Pred(num) => predicate(PredSrc { num, not: false }),
        Operand::Const { space, base, offset } => format!("c[{space:#x}][{}]", address(base, offset)),
        Operand::Mem { space: MemSpace::Attr, base, offset, .. } => format!("a[{}]", address(base, offset)),
        Operand::Mem { space: MemSpace::Vertex, base, offset, .. } => format!("p[{}]", address(base, offset)),
        Operand::Mem { base, offset, .. } => format!("[{}]", address(base, offset)),
        Operand::Image(num) => format!("g[{num:#x}]"),
        Operand::ImageReg(num) => format!("g[{}]", register(num)),
        Operand::Surface(num) => format!("g[{num:#x}]"),
        Operand::Imm(value) => immediate(value, ty),
        Operand::Sreg(num) => special(num),
        Operand::Target(pc) => format!("{pc:#x}"),
        Operand::Tex(num) | Operand::Sampler(num) => format!("{num:#x}"),
    }
}

/// A source with its modifiers.
fn source(src: Src) -> String {
    let mut text = operand(src.operand, src.ty);
    match src.select {
        Select::All | Select::Byte(0) | Select::Half(0) | Select::Bytes(_) | Select::Halves(_) => {}
        Select::Byte(num) => text.push_str(&format!(".B{num}")),
        Select::Half(num) => text.push_str(&format!(".H{num}")),
    }
    if src.abs {
        text = format!("|{text}|");
    }
    match (src.neg, src.not, src.operand) {
        (true, ..) => format!("-{text}"),
        (_, true, Operand::Pred(_)) => format!("!{text}"),
        (_, true, _) => format!("~{text}"),
        _ => text,
    }
}

/// Special registers as asfermi names them.
#[rustfmt::skip]
const SPECIAL: &[(u8, &str)] = &[
    (0, "LaneId"), (2, "VirtCfg"), (3, "VirtId"), (4, "PM0"), (5, "PM1"), (6, "PM2"), (7, "PM3"), (8, "PM4"),
    (9, "PM5"), (10, "PM6"), (11, "PM7"), (16, "PRIM_TYPE"), (17, "INVOCATION_ID"), (18, "Y_DIRECTION"),
    (24, "MACHINE_ID_0"), (25, "MACHINE_ID_1"), (26, "MACHINE_ID_2"), (27, "MACHINE_ID_3"), (28, "AFFINITY"),
    (32, "Tid"), (33, "Tid_X"), (34, "Tid_Y"), (35, "Tid_Z"), (36, "CTAParam"), (37, "CTAid_X"), (38, "CTAid_Y"),
    (39, "CTAid_Z"), (40, "NTid"), (41, "NTid_X"), (42, "NTid_Y"), (43, "NTid_Z"), (44, "GridParam"),
    (45, "NCTAid_X"), (46, "NCTAid_Y"), (47, "NCTAid_Z"), (48, "SWinLo"), (49, "SWINSZ"), (50, "SMemSz"),
    (51, "SMemBanks"), (52, "LWinLo"), (53, "LWINSZ"), (54, "LMemLoSz"), (55, "LMemHiOff"), (56, "EqMask"),
    (57, "LtMask"), (58, "LeMask"), (59, "GtMask"), (60, "GeMask"), (80, "ClockLo"), (81, "ClockHi"),
];

fn special(num: u8) -> String {
    match SPECIAL.iter().find(|(special, _)| *special == num) {
        Some((_, name)) => format!("SR_{name}"),
        None => format!("SR{num}"),
    }
}

/// Conditions of `$c` as asfermi names them.
const CONDITIONS: [&str; 24] = [
    "F", "LT", "EQ", "LE", "GT", "NE", "GE", "NUM", "NAN", "LTU", "EQU", "LEU", "GTU", "NEU", "GEU", "T",
    "OFF", "LO", "SFF", "LS", "HI", "SFT", "HS", "OFT",
];

fn condition(code: u8) -> &'static str {
    CONDITIONS.get(usize::from(code)).copied().unwrap_or("T")
}

fn logic(op: LogicOp) -> &'static str {
    match op {
        LogicOp::And => "AND",
        LogicOp::Or => "OR",
        LogicOp::Xor => "XOR",
        LogicOp::Mov2 => "PASS_B",
    }
}

/// `.RM` and its like; to nearest is not shown.
fn rounding(rounding: Option<Rounding>) -> &'static str {
    match rounding {
        None | Some(Rounding::Nearest) => "",
        Some(Rounding::Down) => "RM",
        Some(Rounding::Up) => "RP",
        Some(Rounding::Zero) => "RZ",
    }
}

/// Rounding to an integer.
fn int_rounding(rounding: Rounding) -> &'static str {
    match rounding {
        Rounding::Nearest => "ROUND",
        Rounding::Down => "FLOOR",
        Rounding::Up => "CEIL",
        Rounding::Zero => "TRUNC",
    }
}

/// Name of a type; bits count as unsigned.
fn type_name(ty: Option<Type>) -> String {
    let name = ty.unwrap_or(Type::U32).name().to_ascii_uppercase();
    name.strip_prefix('B').map(String::from).unwrap_or(name)
}

/// Size of an access; 32 bits are not shown.
fn access(ty: Option<Type>) -> String {
    match ty {
        None | Some(Type::B32) => String::new(),
        _ => type_name(ty),
    }
}

/// Cache operation; the default of loads and stores is not shown.
fn cache(cache: Option<Cache>) -> &'static str {
    match cache {
        None | Some(Cache::Ca | Cache::Wb) => "",
        Some(Cache::Cg) => "CG",
        Some(Cache::Cs) => "CS",
        Some(Cache::Cv) => "CV",
        Some(Cache::Wt) => "WT",
    }
}

/// True if the address of a memory operand is in a pair of registers (`.E`).
fn wide(src: Option<Src>) -> bool {
    matches!(src.map(|src| src.operand), Some(Operand::Mem { wide: true, .. }))
}

/// The memory that the first source reaches.
fn space(inst: &Inst) -> Option<MemSpace> {
    match inst.src(0)?.operand {
        Operand::Mem { space, .. } => Some(space),
        _ => None,
    }
}

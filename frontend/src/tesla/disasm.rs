//! Listings.

use std::collections::HashMap;
use std::fmt;

use super::decode::{DecodeError, decode_word, fetch};
use super::operand::{Address, Operand, RegWidth};
use super::table::{Piece, table};
use super::{Inst, Op, Target};

impl fmt::Display for Inst {
    /// The text of a listing line, without address and words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut result = Ok(());
        let mut space = false;
        let mut put = |f: &mut fmt::Formatter<'_>, piece: Piece| -> fmt::Result {
            if space && !matches!(piece, Piece::Close) {
                f.write_str(" ")?;
            }
            space = !matches!(piece, Piece::Open);
            match piece {
                Piece::Word(name) => f.write_str(name),
                Piece::MemType(ty) => f.write_str(ty.name()),
                Piece::Open => f.write_str("("),
                Piece::Close => f.write_str(")"),
                Piece::Operand(operand) => operand.fmt(f),
            }
        };
        table().walk(self.row, self.raw, self.target, &mut |piece| {
            if result.is_ok() {
                result = put(f, piece);
            }
        });
        result?;
        if self.unknown != 0 {
            write!(f, " [unknown: {:08x}", self.unknown & 0xffff_ffff)?;
            if self.len == 8 {
                write!(f, " {:08x}", self.unknown >> 32)?;
            }
            f.write_str("]")?;
        }
        Ok(())
    }
}

/// Names of special registers; number 2 has none.
pub(super) const SPECIAL: [&str; 9] =
    ["physid", "clock", "", "vstride", "pm0", "pm1", "pm2", "pm3", "sampleid"];

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Operand::Reg { num, width } => match width {
                RegWidth::B16 { high: false } => write!(f, "$r{num}l"),
                RegWidth::B16 { high: true } => write!(f, "$r{num}h"),
                RegWidth::B32 => write!(f, "$r{num}"),
                RegWidth::B64 => write!(f, "$r{num}d"),
                RegWidth::B128 => write!(f, "$r{num}q"),
            },
            Operand::Vec { base, count, mask } => {
                let mut register = u32::from(base);
                for component in 0..count {
                    if component != 0 {
                        f.write_str(":")?;
                    }
                    if mask >> component & 1 != 0 {
                        write!(f, "$r{register}")?;
                        register += 1;
                    } else {
                        f.write_str("#")?;
                    }
                }
                Ok(())
            }
            Operand::Discard => f.write_str("#"),
            Operand::Out { addr, .. } => write!(f, "o[{addr}]"),
            Operand::Shared { addr, .. } => write!(f, "s[{addr}]"),
            Operand::Const { space, addr, .. } => write!(f, "c{space}[{addr}]"),
            Operand::Local { addr } => write!(f, "l[{addr}]"),
            Operand::Global { space, reg } => write!(f, "g{space}[$r{reg}]"),
            Operand::Attr { addr } => write!(f, "a[{addr}]"),
            Operand::Prim { addr } => write!(f, "p[{addr}]"),
            Operand::Varying { addr } => write!(f, "v[{addr}]"),
            Operand::Imm(value) | Operand::Target(value) => write!(f, "{value:#x}"),
            Operand::Areg(0) => f.write_str("0x0"),
            Operand::Areg(num) => write!(f, "$a{num}"),
            Operand::Creg(num) => write!(f, "$c{num}"),
            Operand::Sreg(num) => match SPECIAL.get(usize::from(num)) {
                Some(name) if !name.is_empty() => write!(f, "${name}"),
                _ => write!(f, "$sr{num}"),
            },
            Operand::Tex(num) => write!(f, "$t{num}"),
            Operand::Sampler(num) => write!(f, "$s{num}"),
            Operand::TexOffset(value) if value < 0 => write!(f, "-{:#x}", value.unsigned_abs()),
            Operand::TexOffset(value) => write!(f, "{value:#x}"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.areg, self.post_increment) {
            (0, None) => write!(f, "{:#x}", self.offset_bytes),
            (areg, None) if self.offset_bytes == 0 => write!(f, "$a{areg}"),
            (areg, None) => write!(f, "$a{areg}+{:#x}", self.offset_bytes),
            (areg, Some(increment)) => {
                match areg {
                    0 => f.write_str("0x0")?,
                    _ => write!(f, "$a{areg}")?,
                }
                let sign = if increment < 0 { "-" } else { "" };
                write!(f, "++{sign}{:#x}", increment.unsigned_abs())
            }
        }
    }
}

/// One line of a listing: an instruction or what stands in its place.
#[derive(Clone, Copy, Debug)]
pub struct ListingLine {
    /// Address.
    pub pc: u32,
    /// The words, or the bytes that are left at the end of the code.
    pub raw: u64,
    /// Length in bytes: 4 or 8, less at the end of cut code.
    pub len: u8,
    /// A branch goes here, or a pushed target is here.
    pub branch_target: bool,
    /// A call goes here.
    pub call_target: bool,
    /// The instruction.
    pub inst: Result<Inst, DecodeError>,
}

impl fmt::Display for ListingLine {
    /// The line without a newline at the end; an empty line stands before what is called.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.call_target {
            writeln!(f)?;
        }
        let first = usize::from(self.len.min(4));
        let second = usize::from(self.len.saturating_sub(4));
        write!(f, "{:08x}: {:0width$x}", self.pc, self.raw & 0xffff_ffff, width = 2 * first)?;
        match second {
            0 => write!(f, "{:blank$}", "", blank = 9 + 8 - 2 * first)?,
            _ => {
                write!(
                    f,
                    " {:0width$x}{:blank$}",
                    self.raw >> 32,
                    "",
                    width = 2 * second,
                    blank = 8 - 2 * second
                )?;
            }
        }
        let call = if self.call_target { 'C' } else { ' ' };
        let branch = if self.branch_target { 'B' } else { ' ' };
        write!(f, "  {call}{branch} ")?;
        match &self.inst {
            Ok(inst) => inst.fmt(f),
            Err(_) => f.write_str("??"),
        }
    }
}

/// The listing of code that stands at `base`.
pub fn disasm(code: &[u8], base: u32, target: Target) -> Vec<ListingLine> {
    let mut lines = Vec::new();
    let mut marks: HashMap<u32, (bool, bool)> = HashMap::new();
    let mut offset = 0;
    while offset < code.len() {
        let pc = base.wrapping_add(offset as u32);
        let (raw, len, inst) = match fetch(code, offset as u32) {
            Ok((raw, len)) => (raw, len, decode_word(raw, pc, target)),
            Err(_) => {
                let rest = &code[offset..];
                let mut bytes = [0; 8];
                let len = rest.len().min(8);
                bytes[..len].copy_from_slice(&rest[..len]);
                (u64::from_le_bytes(bytes), len as u8, Err(DecodeError::Truncated { pc }))
            }
        };
        if let Ok(inst) = &inst
            && let Some(to) = inst.target_pc()
        {
            let mark = marks.entry(to).or_default();
            if inst.op == Op::Call {
                mark.0 = true;
            } else {
                mark.1 = true;
            }
        }
        lines.push(ListingLine { pc, raw, len, branch_target: false, call_target: false, inst });
        offset += usize::from(len);
    }
    for line in &mut lines {
        if let Some(&(call, branch)) = marks.get(&line.pc) {
            line.call_target = call;
            line.branch_target = branch;
        }
    }
    lines
}

/// The text of [`disasm`], a newline after each line.
pub fn listing(code: &[u8], base: u32, target: Target) -> String {
    disasm(code, base, target).iter().map(|line| format!("{line}\n")).collect()
}

//! Prints compiled regions as text, each line with the guest address that it came from.

use std::fmt::Write;

use cranelift_codegen::CompiledCode;
use cranelift_codegen::ir::SourceLoc;
use cranelift_codegen::isa::TargetIsa;

use crate::trap::TrapSite;

/// Source locations from here on are guest addresses; lower ones are numbers of trap sites. Guest addresses are only
/// recorded for listings and for code that is profiled or debugged.
const ADDRESSES: u32 = 0x8000_0000;

/// Width of the address column.
const WIDTH: usize = 10;

/// The source location of code at a guest address.
pub(crate) fn location(pc: u32) -> SourceLoc {
    SourceLoc::new(ADDRESSES | pc)
}

/// The guest address of a source location.
pub(crate) fn guest_address(bits: u32, sites: &[TrapSite]) -> Option<u32> {
    match bits {
        u32::MAX => None,
        ADDRESSES.. => Some(bits - ADDRESSES),
        _ => sites.get(bits as usize).map(|site| site.pc),
    }
}

fn column(pc: Option<u32>) -> String {
    pc.map_or_else(String::new, |pc| format!("@{pc:#x}"))
}

/// Cranelift's text with guest addresses in place of source locations.
pub(crate) fn clif(text: &str, sites: &[TrapSite]) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let location = line.strip_prefix('@').and_then(|rest| {
            let (hex, code) = rest.split_once(' ')?;
            Some((u32::from_str_radix(hex, 16).ok()?, code))
        });
        let (pc, code) = match location {
            Some((bits, code)) => (guest_address(bits, sites), code),
            None => (None, line),
        };
        // Cranelift's own indentation depends on the location's width.
        let code = code.trim_start();
        let is_inside = location.is_some() || line.starts_with(' ') && !code.ends_with(':');
        let indentation = if is_inside { "    " } else { "" };
        let _ = writeln!(out, "{}", format!("{:WIDTH$}{indentation}{code}", column(pc)).trim_end());
    }
    out
}

/// Disassembles host instructions, if this build can. Constants after the code are listed only if they decode as instructions.
#[cfg(feature = "listings")]
pub(crate) fn host(
    compiled: &CompiledCode,
    code: &[u8],
    isa: &dyn TargetIsa,
    sites: &[TrapSite],
) -> Option<String> {
    let disassembler = isa.to_capstone().ok()?;
    let locations = compiled.buffer.get_srclocs_sorted();
    let instructions = disassembler.disasm_all(code, 0).ok()?;
    let mut out = String::new();
    let mut last = None;
    for instruction in instructions.iter() {
        let offset = instruction.address() as u32;
        let next = locations.partition_point(|l| l.start <= offset);
        let found = next.checked_sub(1).map(|i| &locations[i]).filter(|l| offset < l.end);
        let pc = found.and_then(|l| guest_address(l.loc.bits(), sites));
        let shown = if pc == last { None } else { pc };
        last = pc;
        let (name, operands) = (instruction.mnemonic().unwrap_or("?"), instruction.op_str().unwrap_or(""));
        let _ = writeln!(out, "{:WIDTH$}{offset:5x}  {name:<12} {operands}", column(shown));
    }
    Some(out)
}

/// Disassembles host instructions, if this build can.
#[cfg(not(feature = "listings"))]
pub(crate) fn host(_: &CompiledCode, _: &[u8], _: &dyn TargetIsa, _: &[TrapSite]) -> Option<String> {
    None
}

/// Replaces the address in the listing's last instruction by a constant's name, because the address is known only at
/// the end.
pub(crate) fn name_constant(text: &mut String, number: u32) {
    let line = text.trim_end().rfind('\n').map_or(0, |at| at + 1);
    if let Some((start, end)) = text[line..].rfind('[').zip(text[line..].rfind(']')).filter(|(a, b)| a < b) {
        text.replace_range(line + start + 1..line + end, &format!("constant{number}"));
    }
}

/// Appends a constant after the code, as 32-bit values.
pub(crate) fn constant(text: &mut String, number: usize, place: usize, bytes: &[u8]) {
    /// 32-bit values in a vector.
    const MOST: usize = 16;
    let word = |word: &[u8]| word.iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>();
    let words: Vec<String> = bytes.chunks(4).take(MOST).map(word).collect();
    let more = if bytes.len() > 4 * MOST { format!(" ... {} bytes", bytes.len()) } else { String::new() };
    let _ = writeln!(text, "constant{number}: {place:x}  {}{more}", words.join(" "));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_names() {
        let mut text = "@0x8   8f  vpaddd zmm3, zmm1, [8Fh]\n".to_owned();
        name_constant(&mut text, 3);
        text += "       99  vptestmd k3{k1}, zmm3, dword ptr [99h]{1to16}\n";
        name_constant(&mut text, 12);
        assert_eq!(
            text,
            "@0x8   8f  vpaddd zmm3, zmm1, [constant3]\n       99  vptestmd k3{k1}, zmm3, dword ptr [constant12]{1to16}\n"
        );
        // A line of another kind stays as it is.
        let mut other = "[8Fh]\n   8f  ret\n".to_owned();
        name_constant(&mut other, 1);
        assert_eq!(other, "[8Fh]\n   8f  ret\n");
    }

    #[test]
    fn constants_are_shown_as_words() {
        let mut text = String::new();
        constant(&mut text, 0, 0x40, &[0x78, 0x56, 0x34, 0x12]);
        constant(&mut text, 1, 0x80, &[1; 68]);
        let ones = ["01010101"; 16].join(" ");
        assert_eq!(text, format!("constant0: 40  12345678\nconstant1: 80  {ones} ... 68 bytes\n"));
    }
}

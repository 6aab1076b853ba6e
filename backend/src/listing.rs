//! Compiled regions as text, with guest addresses beside it.

use std::fmt::Write;

use cranelift_codegen::CompiledCode;
use cranelift_codegen::ir::SourceLoc;
use cranelift_codegen::isa::TargetIsa;

use crate::compile::TrapSite;

/// Source locations from here on are guest addresses, those below numbers of trap sites. Only listings and code that is to be
/// observed have the former: otherwise the runtime needs nothing but the sites.
const ADDRESSES: u32 = 0x8000_0000;

/// Columns that an address takes.
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

/// Host instructions. Constants behind the code are left out where they are no instructions.
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

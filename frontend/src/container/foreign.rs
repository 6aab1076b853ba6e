//! Recognises files that hold something else than code of the chips here, so that they are refused by name and not read as words.

use crate::error::ContainerError;

/// How a file begins, what it is, and what its owner can do.
const KINDS: &[(&[u8], &str, &str)] = &[
    (b"\x03\x02\x23\x07", "SPIR-V", COMPILE),
    (b"\x07\x23\x02\x03", "SPIR-V", COMPILE),
    (b"DXBC", "DXBC or DXIL", COMPILE),
    (b"BC\xc0\xde", "LLVM bitcode", COMPILE),
    (b"\xde\xc0\x17\x0b", "LLVM bitcode", COMPILE),
    (b"MTLB", "a Metal library", COMPILE),
    (
        b"__CLANG_OFFLOAD_BUNDLE__",
        "a bundle of code objects",
        "`clang-offload-bundler --unbundle` takes one out",
    ),
    (b"CCOB", "a compressed bundle of code objects", "`clang-offload-bundler --unbundle` takes one out"),
    (b"!<arch>\n", "an archive of object files", "`ar x` takes them out"),
    (b"MZ", "a program for Windows or DOS", NOT_A_GPU),
    (b"\xfe\xed\xfa", "a Mach-O program", NOT_A_GPU),
    (b"\xce\xfa\xed\xfe", "a Mach-O program", NOT_A_GPU),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program", NOT_A_GPU),
    (b"\x1f\x8b\x08", "a gzip file", "`gunzip` unpacks it"),
    (b"PK\x03\x04", "a zip file", "`unzip` unpacks it"),
    (b"\x89PNG", "a picture", NOT_A_GPU),
];

const COMPILE: &str = "it is no machine code: a driver or compiler makes that of it, for a chip";
const NOT_A_GPU: &str = "it is no code of a GPU";

/// Bytes at the beginning by which text is told from words.
const LOOKED_AT: usize = 4096;

/// Refuses a file that is known to be something else.
pub(super) fn refuse(bytes: &[u8]) -> Result<(), ContainerError> {
    let known =
        KINDS.iter().find(|(magic, ..)| bytes.starts_with(magic)).map(|&(_, what, help)| (what, help));
    match known.or_else(|| text(bytes)) {
        Some((what, help)) => Err(ContainerError::Foreign { what: what.into(), help: help.into() }),
        None => Ok(()),
    }
}

/// What a text is. Words of code are hardly ever all printable.
fn text(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    // A character may be cut.
    let head = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(bad) if bad.error_len().is_none() => std::str::from_utf8(&head[..bad.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    let printable = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    if head.len() < 16 || !head.contains('\n') || !head.chars().all(printable) {
        return None;
    }
    let has = |word: &str| head.contains(word);
    Some(if has(".version") && has(".target") {
        ("PTX", "`ptxas` makes machine code of it")
    } else if has("[program]") {
        ("a launch file", "`warpjit run` runs it, and `disasm` lists its program if its name ends in .toml")
    } else if has("; ModuleID") || has("target triple") {
        ("LLVM's text", COMPILE)
    } else {
        (
            "text",
            "`warpjit asm` makes code of a listing or an assembler's source; other sources need their compiler",
        )
    })
}

/// The name of an ELF file's machine, with its number.
pub(super) fn machine(number: u16) -> String {
    let name = match number {
        3 => "x86",
        8 => "MIPS",
        20 | 21 => "PowerPC",
        40 => "ARM",
        62 => "x86-64",
        183 => "AArch64",
        190 => "CUDA",
        224 => "AMD GPU",
        243 => "RISC-V",
        247 => "BPF",
        _ => return format!("ELF machine {number}"),
    };
    format!("ELF machine {number} ({name})")
}

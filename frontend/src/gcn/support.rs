//! The generated table of instructions.

use std::fmt::Write as _;

use super::table::rows;
use super::{Format, Generation};

/// Formats and what they are called in the document.
const FORMATS: [(Format, &str); 18] = [
    (Format::Sop2, "SOP2: scalar, two sources"),
    (Format::Sopk, "SOPK: scalar, 16-bit constant"),
    (Format::Sop1, "SOP1: scalar, one source"),
    (Format::Sopc, "SOPC: scalar compares"),
    (Format::Sopp, "SOPP: program control"),
    (Format::Smem, "SMRD, SMEM: scalar memory"),
    (Format::Vop2, "VOP2: vector, two sources"),
    (Format::Vop1, "VOP1: vector, one source"),
    (Format::Vopc, "VOPC: vector compares"),
    (Format::Vop3, "VOP3: vector, long form only"),
    (Format::Vop3p, "VOP3P: packed"),
    (Format::Vintrp, "VINTRP: interpolation"),
    (Format::Ds, "DS: LDS and GDS"),
    (Format::Flat, "FLAT, GLOBAL, SCRATCH"),
    (Format::Mubuf, "MUBUF: buffers"),
    (Format::Mtbuf, "MTBUF: typed buffers"),
    (Format::Mimg, "MIMG: images"),
    (Format::Exp, "EXP: exports"),
];

/// A markdown table of every row: `docs/support-gcn.md`.
pub fn support_table() -> String {
    let mut out = String::from(
        "# GCN instructions\n\n\
         Generated from the instruction table (`frontend/src/gcn/rows/`); do not edit. `BLESS=1 cargo test -p \
         warpjit-frontend --test gcn_table` writes it anew.\n\n\
         Every row decodes, prints and assembles on the generations that have an opcode for it. Opcodes are \
         hexadecimal. VOP1, VOP2 and VOPC rows have the long form (VOP3) too, where they have no constant of their \
         own; on 1.2 and 1.4 those of 32 and 16 bits have SDWA and DPP forms. On 1.4 FLAT rows are also the `global_` \
         and (but for atomics) the `scratch_` operations. What the words for operands mean is said in \
         `frontend/src/gcn/rows/mod.rs`.\n\n\
         | format | 1.0 | 1.1 | 1.2 | 1.4 |\n|---|---|---|---|---|\n",
    );
    let count = |format: Format, generation: Generation| {
        rows().iter().filter(|row| row.format == format && row.code(generation).is_some()).count()
    };
    // Writing to a string cannot fail.
    for (format, title) in FORMATS {
        let counts: Vec<_> =
            Generation::ALL.iter().map(|generation| count(format, *generation).to_string()).collect();
        let _ = writeln!(out, "| {title} | {} |", counts.join(" | "));
    }
    for (format, title) in FORMATS {
        let _ = write!(
            out,
            "\n## {title}\n\n| instruction | operands | 1.0 | 1.1 | 1.2 | 1.4 |\n|---|---|---|---|---|---|\n"
        );
        for row in rows().iter().filter(|row| row.format == format) {
            let mut names: Vec<_> = row.generations().map(|generation| row.name(generation)).collect();
            names.dedup();
            let codes = row.codes.map(|code| code.map_or("-".into(), |code| format!("{code:x}")));
            let operands = row.text.split(" @").next().unwrap_or(row.text);
            let _ = writeln!(out, "| `{}` | `{operands}` | {} |", names.join("`, `"), codes.join(" | "));
        }
    }
    out
}

//! Generates the table of supported GCN instructions in docs/.

use std::fmt::Write as _;

#[cfg(test)]
use super::Op;
use super::table::rows;
use super::{Chip, Features, Format, Generation, Row};
use crate::prose::wrapped;

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

/// Operations that are `illegal` when a program gets to them, by the beginnings of their names, and why.
const NOT_RUN: &[(&[&str], &str)] = &[
    (&["V_INTERP", "EXP"], "they belong to graphics programs, where they run"),
    (&["DS_ORDERED_COUNT"], "only a dispatch of a graphics queue numbers its waves"),
    (&["S_RFE"], "they belong to trap handlers"),
];

/// Why an operation does not run, if it does not.
#[cfg(test)]
pub(super) fn not_run(op: Op) -> Option<&'static str> {
    let begins = |names: &[&str]| names.iter().any(|name| op.name().starts_with(name));
    NOT_RUN.iter().find(|(names, _)| begins(names)).map(|(_, why)| *why)
}

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
         `frontend/src/gcn/rows/mod.rs`. Where the code of each is: docs/add-an-instruction.md, \"How to find an \
         instruction's code\".\n\n",
    );
    out += "All of them run, but for these, which are `illegal` when a program gets to them:\n\n";
    for (names, why) in NOT_RUN {
        let names: Vec<_> = names.iter().map(|name| format!("`{}*`", name.to_lowercase())).collect();
        let _ = writeln!(out, "- {}: {why};", names.join(", "));
    }
    out += "\nImages have one, two or three dimensions, or are arrays or cubes, linear or tiled as the chip's tables say (those of its driver, or \
            those of the launch). Loads, stores and atomics of linear ones are compiled; all else, sampling too, is done by a device. A \
            resource is a `texture` fault if it is compressed (DCC, HTILE), or has a type, swizzle mode or \
            format that is not known. Levels are counted from `base_level` on to `last_level`, slices from `base_array` \
            on to the last one. Texels, slices and levels outside read as 0 and are not written. 5_9_9_9 can be stored, as \
            OpenGL defines it. A cube's slice is the face plus eight times the number of the cube. Anisotropic filters take \
            several probes along the longer change of the coordinates (docs/textures.md); thresholds and biases of anisotropy \
            have no effect. Images with several samples a texel are loaded and stored by sample, up to 1.2 in thin tiles; on 1.4 as \
            the data equations of AMD's address library have them: samples are the highest bits of a block, of depths the lowest \
            (no source says whether they turn pipes and banks: those of colours do not). `image_gather4h` gives one component of four texels side by \
            side, from the first texel of an `image_gather4` on, the `_pck` forms the bits of four or eight texels' elements; no \
            source says where the row begins. A sampler's `force_degamma` gives unorms of 8 bits, and block compression 1 to 3 and 7, \
            sRGB's curve. \
            GDS has 64 KiB for each launch, zero at its \
            start; barriers and semaphores beside it (`ds_gws_*`) work between all workgroups of a launch.\n\n\
            Where only some chips of a generation have an instruction, its row names them: one for each kind of chip.\n\n";
    out.push_str("| format | 1.0 | 1.1 | 1.2 | 1.4 |\n|---|---|---|---|---|\n");
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
            let _ = writeln!(
                out,
                "| `{}`{} | `{}` | {} |",
                names.join("`, `"),
                only_on(row),
                operands(row),
                codes.join(" | ")
            );
        }
    }
    wrapped(&out)
}

/// The text of a row without names and features.
fn operands(row: &Row) -> &str {
    row.text.split(['@', '[']).next().unwrap_or(row.text).trim_end()
}

/// The kinds of chips that have a row, if not all of its generations do.
fn only_on(row: &Row) -> String {
    if row.features == Features::NONE {
        return String::new();
    }
    let chips: Vec<_> = Chip::kinds().filter(|&chip| row.is_on(chip)).map(Chip::name).collect();
    format!(" ({})", chips.join(", "))
}

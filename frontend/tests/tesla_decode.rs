//! Tests the decoded form of instructions, as the lifter sees it. `tesla_decode.txt` holds instructions and, indented, what they
//! decode to (`BLESS=1` rewrites the latter).

mod common;

use std::fmt::Write as _;

use common::differing;
use warpjit_frontend::tesla::{Chip, Inst, Mods, Stage, Target, assemble, decode};

/// Everything but the text.
fn describe(inst: &Inst) -> String {
    let mut out = String::new();
    let mods = differing(&format!("{:?}", inst.mods), &format!("{:?}", Mods::default()));
    let first = format!("    {:?} {:?} end {:?} {mods}", inst.op, inst.form, inst.end);
    let _ = writeln!(out, "{}", first.trim_end());
    let _ = writeln!(out, "    pred {:?} cdst {:?} dst {:?}", inst.pred, inst.cdst, inst.dst);
    for src in inst.srcs() {
        let flags = [(src.neg, " neg"), (src.abs, " abs"), (src.not, " not")];
        let flags: String = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).collect();
        let ty = src.ty.map_or("-", |ty| ty.name());
        let _ = writeln!(out, "    src {ty} {:?}{flags}", src.operand);
    }
    out
}

#[test]
fn decoded_form() {
    let mut target = Target::compute(Chip::G200);
    common::check_lines("tesla_decode.txt", |line, out| {
        if let Some(program) = line.strip_prefix("# program ") {
            target.stage = Stage::parse(program).unwrap();
        }
        if line.starts_with('#') {
            return;
        }
        let assembly = assemble(line, target).unwrap_or_else(|errors| panic!("{line}: {errors}"));
        let inst = decode(&assembly.code, 0, target).unwrap();
        out.push_str(&describe(&inst));
    });
}

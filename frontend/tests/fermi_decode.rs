//! Tests the decoded form of instructions, as the lifter sees it. `fermi_decode.txt` holds instructions and, indented, what they
//! decode to (`BLESS=1` rewrites the latter).

mod common;

use std::fmt::Write as _;

use common::differing;
use warpjit_frontend::fermi::{Chip, Inst, Mods, Select, assemble, decode};

/// Everything but the text.
fn describe(inst: &Inst) -> String {
    let mut out = String::new();
    let mods = differing(&format!("{:?}", inst.mods), &format!("{:?}", Mods::default()));
    let first = format!("    {:?} {} bytes {mods}", inst.op, inst.len);
    let _ = writeln!(out, "{}", first.trim_end());
    if inst.guard.is_some() || inst.cond.is_some() || inst.join {
        let _ = writeln!(out, "    guard {:?} cond {:?} join {}", inst.guard, inst.cond, inst.join);
    }
    let lanes = if inst.video_lanes == 1 { String::new() } else { format!(" lanes {}", inst.video_lanes) };
    let cc = if inst.cc_out { " cc" } else { "" };
    let _ = writeln!(out, "    dst {:?}{cc}{lanes}", inst.dst);
    if inst.dst2.is_some() {
        let _ = writeln!(out, "    dst2 {:?}", inst.dst2);
    }
    if inst.pdst.is_some() || inst.pdst2.is_some() {
        let _ = writeln!(out, "    pdst {:?} {:?}", inst.pdst, inst.pdst2);
    }
    for src in inst.srcs() {
        let flags = [(src.neg, " neg"), (src.abs, " abs"), (src.not, " not")];
        let flags: String = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).collect();
        let ty = src.ty.map_or("-", |ty| ty.name());
        let select = if src.select == Select::All { String::new() } else { format!(" {:?}", src.select) };
        let _ = writeln!(out, "    src {ty} {:?}{select}{flags}", src.operand);
    }
    out
}

#[test]
fn decoded_form() {
    let mut chip = Chip::Gf100;
    common::check_lines("fermi_decode.txt", |line, out| {
        if let Some(name) = line.strip_prefix("# chip ") {
            chip = Chip::parse(name).unwrap();
        }
        if line.starts_with('#') {
            return;
        }
        let assembly = assemble(line, chip).unwrap_or_else(|errors| panic!("{line}: {errors}"));
        let inst = decode(&assembly.code, 0, chip).unwrap();
        assert_eq!(inst.to_string(), line.trim_start_matches("long "));
        out.push_str(&describe(&inst));
    });
}

//! Compares the GCN table with llvm-mc 14, if that is installed, on random words of every format.
//!
//! `GCN_WORDS` is the number of words for each format and generation (default 3000).

mod common;
mod gcn_words;
#[path = "../../tests/src/needs.rs"]
mod needs;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};

use common::Random;
use gcn_words::{FORMATS, opcodes, word};
use libtest_mimic::Arguments;
use warpjit_frontend::gcn::{Chip, Generation, assemble, decode};

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let (llvm, what) = (installed(), "llvm-mc 14");
    let trials = vec![
        needs::trial("disassembly_is_that_of_llvm", llvm, what, |()| disassembly_is_that_of_llvm()),
        needs::trial("text_assembles_with_llvm_to_the_same_words", llvm, what, |()| {
            text_assembles_with_llvm_to_the_same_words()
        }),
    ];
    libtest_mimic::run(&args, trials).exit_code()
}

fn words() -> usize {
    std::env::var("GCN_WORDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3000)
}

/// Runs llvm-mc 14; `None` if it is not there.
fn llvm_mc(arguments: &[&str], input: &str) -> Option<(String, String)> {
    let mut child = Command::new("llvm-mc")
        .args(arguments)
        .env("LLVM_DISABLE_SYMBOLIZATION", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take()?;
    let text = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().ok()?;
    let _ = writer.join();
    Some((
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    ))
}

/// Whether llvm-mc of version 14 is there. Other versions know other names.
fn installed() -> Option<()> {
    llvm_mc(&["--version"], "").filter(|(text, _)| text.contains("version 14.")).map(|_| ())
}

/// What stands between the instructions, to tell them apart.
const MARK: [u8; 4] = [0x55, 0x55, 0x80, 0xbf];
const MARK_TEXT: &str = "s_nop 0x5555";
const MARK_DECIMAL: &str = "s_nop 21845";

/// Disassembles each piece of code; the first line only. `None` where LLVM finds no instruction.
fn llvm_disassemble(pieces: &[Vec<u8>], chip: &str) -> Vec<Option<String>> {
    let block = |bytes: &[u8]| {
        let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:#04x}")).collect();
        format!("[{}]\n", bytes.join(","))
    };
    let input: String = pieces.iter().map(|piece| block(piece) + &block(&MARK)).collect();
    let (text, errors) =
        llvm_mc(&["--triple=amdgcn", &format!("-mcpu={chip}"), "--disassemble"], &input).unwrap();
    let mut found = Vec::new();
    let mut current = None;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != ".text") {
        if line == MARK_TEXT || line == MARK_DECIMAL {
            found.push(current.take());
        } else if current.is_none() {
            current = Some(line.to_owned());
        }
    }
    if found.len() != pieces.len() {
        // Some fields that mean nothing make it crash. Find them.
        assert!(errors.contains("bug report"), "{errors}");
        if pieces.len() == 1 {
            return vec![Some(CRASH.to_owned())];
        }
        let (a, b) = pieces.split_at(pieces.len() / 2);
        return [llvm_disassemble(a, chip), llvm_disassemble(b, chip)].concat();
    }
    found
}

/// What stands for the text where llvm-mc crashes.
const CRASH: &str = "crash";

/// Operations that LLVM 14 does not know; CLRX does (docs/hardware/gcn.md section 7).
const UNKNOWN_TO_LLVM: [&str; 16] = [
    "buffer_atomic_rsub",
    "buffer_atomic_rsub_x2",
    "s_getreg_regrd_b32",
    "s_mov_regrd_b32",
    "s_mov_fed_b32",
    "v_mov_fed_b32",
    "v_mov_prsv_b32",
    "v_writelane_regwr_b32",
    "v_mac_legacy_f32",
    "v_readlane_regrd_b32",
    "ds_nop",
    "ds_condxchg32_rtn_b128",
    "buffer_store_lds_dword",
    "image_gather4h",
    "image_gather4h_pck",
    "image_gather8h_pck",
];

/// Why a difference is not one of ours, if it is a known one.
fn excused(ours: &str, llvm: &str, word: u64, generation: Generation) -> Option<&'static str> {
    let name = ours.split(' ').next().unwrap_or("");
    let plain = name.trim_end_matches("_e32").trim_end_matches("_e64");
    let operands = |text: &str| {
        text.replace([',', '|', ')', '('], " ").split(' ').map(str::to_owned).collect::<Vec<_>>()
    };
    let named =
        |text: &str, word: &str| operands(text).iter().any(|found| found.trim_start_matches('-') == word);
    if llvm.contains("/*") || llvm.contains("invalid_param") {
        return Some("LLVM says itself that it is not valid");
    }
    if ours == "none" && named(llvm, "null") {
        return Some("code 125 is a register of gfx10 only");
    }
    let apertures = ["shared_base", "shared_limit", "private_base", "private_limit", "pops_exiting_wave_id"];
    if ours == "none"
        && generation == Generation::Gfx8
        && apertures.iter().any(|name| named(llvm, &format!("src_{name}")))
    {
        return Some("1.2 has no aperture registers (docs/hardware/gcn.md section 3)");
    }
    if llvm == "none" && UNKNOWN_TO_LLVM.contains(&plain) {
        return Some("not in LLVM's table");
    }
    if ours == "none"
        && llvm.starts_with("flat_")
        && generation == Generation::Gfx8
        && llvm.contains(" offset:")
    {
        return Some("1.2 has no offset in FLAT (docs/hardware/gcn.md section 2)");
    }
    let same_but_last = |last: usize| ours.starts_with(&llvm[..last]) && llvm[last..].contains('.');
    if plain.ends_with("_class_f16") && llvm.rfind(' ').is_some_and(same_but_last) {
        return Some(
            "LLVM takes a float as the mask of a class test for 32 bits; both forms are the same word",
        );
    }
    if llvm == "none" && word as u32 >> 23 == 0x17f && !ours.contains(' ') {
        return Some("nothing looks at simm16 of operations without an operand");
    }
    let low = word as u32;
    // Bits that no field has. LLVM minds some of them in some instructions.
    let reserved = match low >> 26 {
        0x36 => 0x0200_0000,
        0x37 => 0xffff_ff00_0200_1000,
        0x38 => 0x0060_0000_0200_8000,
        0x3a => 0x0020_0000_0000_0000,
        0x3c => 0x7fe0_0000_0000_00ff,
        _ => 0,
    };
    let clean = decode(&(word & !reserved).to_le_bytes(), 0, generation).map(|inst| inst.to_string());
    if word & reserved != 0
        && (llvm == "none" || clean.is_ok_and(|clean| clean == llvm) || llvm.contains("_g16 "))
    {
        return Some("reserved bits");
    }
    let four = ["tba", "tma", "xnack_mask", "vcc", "exec", "flat_scratch"];
    let memory = matches!(low >> 26, 0x30 | 0x38 | 0x3a | 0x3c);
    if ours == "none" && memory && four.iter().any(|name| named(llvm, name)) {
        return Some("groups of four have no such names: LLVM does not look at the width");
    }
    let ends = ["[0:15]", "[8:15]", "[12:15]", "[12:13]", "[14:15]"];
    if ours == "none"
        && generation == Generation::Gfx8
        && ends.iter().any(|end| llvm.contains(&format!("ttmp{end}")))
    {
        return Some("1.2 has twelve trap temporaries (docs/hardware/gcn.md section 3)");
    }
    if ours == "none"
        && [
            "v_readlane_b32",
            "v_writelane_b32",
            "v_nop",
            "v_clrexcp",
            "s_getpc_b64",
            "s_dcache",
            "s_memtime",
            "s_memrealtime",
            "buffer_wbinvl1",
        ]
        .iter()
        .any(|name| llvm.starts_with(name))
    {
        return Some("LLVM does not look at unused fields");
    }
    if ours == "none" && llvm.starts_with("v_swap_b32") {
        return Some("a swap of a scalar register makes no sense");
    }
    if ours == "none" && llvm.starts_with("flat_") && word & 0x1000 != 0 {
        return Some("offsets of FLAT have 12 bits (docs/hardware/gcn.md section 2)");
    }
    if ours == "none" && llvm.starts_with("v_readfirstlane") && word >> 24 & 1 != 0 {
        return Some("scalar destinations have seven bits");
    }
    if llvm.starts_with("image_gather4") && llvm.contains("tfe") && llvm.contains("d16") {
        return Some("two dwords of halves and a status word are three; LLVM has no such form");
    }
    if ours == "none" && low >> 26 == 0x3c && word >> 40 & 0xff > 250 {
        return Some("the data does not fit: LLVM shows the smallest form");
    }
    if low >> 31 == 0
        && low & 0x1ff == 0xff
        && (llvm.starts_with("v_madmk_f16") || llvm.starts_with("v_madak_f16"))
    {
        return Some("LLVM shows the constant in full where it is also the first source");
    }
    let vop3 = word as u32 >> 26 == 0x34;
    if ours == "none" && vop3 && llvm.starts_with("v_cmp") && word & 0x80 != 0 {
        return Some("scalar destinations have seven bits");
    }
    if (vop3 || low & 0x1ff == 0xfa) && llvm.contains("sext(") {
        return Some("VOP3 and DPP have no sign extension: LLVM shows the negation of an integer so");
    }
    let carries = ["v_addc", "v_subb", "v_cndmask"].iter().any(|name| llvm.starts_with(name));
    if ours == "none" && vop3 && carries && word >> 58 & 1 != 0 {
        return Some("carries are scalar pairs");
    }
    if generation == Generation::Gfx9 && word as u32 >> 26 == 0x30 && word >> 14 & 1 != 0 {
        return Some("LLVM 14 does not know the scalar offset of 1.4 (docs/hardware/gcn.md section 2)");
    }
    None
}

fn disassembly_is_that_of_llvm() {
    let mut random = Random::new(11);
    let mut wrong: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for chip in ["fiji", "gfx900", "gfx904", "gfx906"] {
        let target = Chip::parse(chip).unwrap();
        let generation = target.generation();
        for format in FORMATS {
            let codes = opcodes(format, generation);
            let mut found = 0;
            let words: Vec<u64> =
                (0..words()).filter_map(|_| word(format, generation, &codes, &mut random)).collect();
            let pieces: Vec<Vec<u8>> = words.iter().map(|word| word.to_le_bytes().to_vec()).collect();
            let theirs = llvm_disassemble(&pieces, chip);
            for (word, theirs) in words.iter().zip(theirs) {
                let ours = decode(&word.to_le_bytes(), 0, target).map(|inst| inst.to_string());
                let ours = ours.unwrap_or_else(|_| "none".into());
                let theirs = theirs.unwrap_or_else(|| "none".into());
                found += usize::from(theirs != "none");
                if ours == theirs || theirs == CRASH || excused(&ours, &theirs, *word, generation).is_some() {
                    continue;
                }
                let shown = if theirs == "none" { &ours } else { &theirs };
                let name = shown.split(' ').next().unwrap_or("");
                let kind = match (ours.as_str(), theirs.as_str()) {
                    ("none", _) => "missing",
                    (_, "none") => "too much",
                    _ => "differs",
                };
                let key = format!("{target} {format:?} {kind} {name}");
                let entry =
                    wrong.entry(key).or_insert((0, format!("{word:016x}\n   ours {ours}\n   llvm {theirs}")));
                entry.0 += 1;
            }
            eprintln!("{target} {format:?}: {} words, {found} of them instructions", words.len());
        }
    }
    let report: String =
        wrong.iter().map(|(key, (count, text))| format!("{key} x{count}: {text}\n")).collect();
    assert!(wrong.is_empty(), "{} kinds of differences:\n{report}", wrong.len());
}

/// Assembles each line with llvm-mc: the bytes, or what it says is wrong.
fn llvm_assemble(lines: &[String], chip: &str) -> Vec<Result<Vec<u8>, String>> {
    let input: String = lines.iter().map(|line| format!("{line}\n{MARK_TEXT}\n")).collect();
    let (text, errors) =
        llvm_mc(&["--triple=amdgcn", &format!("-mcpu={chip}"), "--show-encoding"], &input).unwrap();
    let mut found: Vec<Result<Vec<u8>, String>> = Vec::new();
    let mut current = None;
    for line in text.lines() {
        let Some((shown, bytes)) = line.split_once("encoding: [") else { continue };
        if shown.trim().starts_with("s_nop") && bytes.starts_with("0x55,0x55") {
            found.push(current.take().ok_or(String::new()));
        } else if current.is_none() {
            let bytes = bytes.split(']').next().unwrap_or("").split(',');
            current =
                bytes.map(|byte| u8::from_str_radix(byte.trim().trim_start_matches("0x"), 16).ok()).collect();
        }
    }
    assert_eq!(found.len(), lines.len(), "{errors}");
    for line in errors.lines() {
        let mut parts = line.splitn(4, ':');
        let (Some(_), Some(number), Some(_), Some(message)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        // Every second line is a mark.
        let index = number.parse().ok().and_then(|number: usize| found.get_mut(number.wrapping_sub(1) / 2));
        if let (Some(Err(reason)), Some(message)) = (index, message.trim().strip_prefix("error: ")) {
            *reason = message.to_owned();
        }
    }
    found
}

/// Why LLVM's assembler does not take our text, if that is a known difference.
fn excused_error(text: &str, reason: &str, generation: Generation) -> Option<&'static str> {
    let name = text.split(' ').next().unwrap_or("");
    let plain = name.trim_end_matches("_e32").trim_end_matches("_e64");
    let says = |word: &str| text.contains(word);
    if UNKNOWN_TO_LLVM.contains(&plain) {
        return Some("not in LLVM's table");
    }
    if reason.contains("constant bus") {
        return Some("random operands do not keep to one scalar register or literal");
    }
    if reason.contains("dmask") || reason.contains("data and tfe") || reason.contains("d16") {
        return Some("LLVM checks the size of image data");
    }
    if says("addr64") && (says("offen") || says("idxen")) {
        return Some("a 64-bit address has no offset or index register");
    }
    if says("lds_direct") {
        return Some("LLVM knows lds_direct from 1.4 on");
    }
    if says("invalid_target") {
        return Some("there is no such export target");
    }
    if reason.contains("register not available") && (says("xnack_mask") || says(":103]")) {
        return Some("XNACK_MASK is on APUs only; groups end with s101 from 1.2 on");
    }
    if reason.contains("integer clamping") || reason.contains("destination must be different") {
        return Some("bits that mean nothing good, but are there");
    }
    if name.ends_with("lane_b32_e64") && generation.is_old() {
        return Some("LLVM has the short form only (tables/gcn_opcodes.csv has both)");
    }
    if says("lds") && ["x2 ", "x3 ", "x4 "].iter().any(|size| says(size)) {
        return Some("LLVM prints loads of several dwords to LDS and does not take them");
    }
    if reason.contains("literal operands") && name.contains("f32_f16") && generation.is_old() {
        return Some("LLVM takes no integer constants of f16 where there is no f16 arithmetic");
    }
    if name.starts_with("image_gather4") && says("d16") && says("tfe") {
        return Some("two dwords of halves and a status word are three; LLVM has no such form");
    }
    if name.starts_with("s_") && ["m0", "exec", "exec_lo", "exec_hi", "offset:"].iter().any(|word| says(word))
    {
        return Some("LLVM loads into plain registers only, and 14 does not know the two offsets of 1.4");
    }
    if name == "v_mqsad_u32_u8" {
        return Some("LLVM wants vector registers");
    }
    if reason.contains("only 4-bit values") {
        return Some("LLVM prints index modes that it does not take");
    }
    if reason.contains("20-bit unsigned offset") {
        return Some("buffers have no negative offset; LLVM prints one");
    }
    if name == "v_qsad_u8" {
        return Some("LLVM has v_qsad_pk_u16_u8 from 1.1 on only");
    }
    if reason.contains("literal operands are not supported") && !generation.is_old() {
        return Some(
            "LLVM prints a float constant of a 16-bit integer operand as a number that it does not take",
        );
    }
    if reason.contains("invalid operand") {
        let vector = ["v_movrel", "v_readfirstlane_b32", "v_readlane_b32"];
        if vector.iter().any(|start| name.starts_with(start)) {
            return Some("LLVM wants a vector register");
        }
        let register =
            ["s_cbranch_join", "s_cbranch_g_fork", "s_movrels_", "s_setpc_b64", "s_swappc_b64", "s_rfe_b64"];
        if register.iter().any(|start| name.starts_with(start)) {
            return Some("LLVM wants a register");
        }
        if name.starts_with("v_mac_") && name.ends_with("_sdwa") {
            return Some("LLVM prints this and does not take it");
        }
        if ["v_madak", "v_madmk", "v_addc", "v_subb", "v_cndmask"].iter().any(|start| name.starts_with(start))
        {
            return Some("the constant or VCC is the one scalar operand: LLVM takes vector registers only");
        }
    }
    None
}

fn text_assembles_with_llvm_to_the_same_words() {
    let mut random = Random::new(12);
    let mut wrong: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for chip in ["tahiti", "hawaii", "fiji", "gfx900", "gfx904", "gfx906"] {
        let target = Chip::parse(chip).unwrap();
        let generation = target.generation();
        for format in FORMATS {
            let codes = opcodes(format, generation);
            let words = (0..words()).filter_map(|_| word(format, generation, &codes, &mut random));
            let known: Vec<(String, Vec<u8>)> = words
                .filter_map(|word| {
                    let text = decode(&word.to_le_bytes(), 0, target).ok()?.to_string();
                    // Where the text does not say all, this is what it says.
                    let bytes = assemble(&text, target).unwrap().code;
                    Some((text, bytes))
                })
                .collect();
            let lines: Vec<String> = known.iter().map(|(text, _)| text.clone()).collect();
            let theirs = llvm_assemble(&lines, chip);
            let mut same = 0;
            for ((text, bytes), theirs) in known.iter().zip(theirs) {
                let kind = match &theirs {
                    Ok(theirs) if theirs == bytes => {
                        same += 1;
                        continue;
                    }
                    // LLVM takes the constants of one register for two components each.
                    Ok(_) if text.contains(" compr") => continue,
                    // LLVM makes 0 of a float here, and of a constant that is interpolated.
                    Ok(_) if text.starts_with("s_setreg_imm32") && text.contains('.') => continue,
                    Ok(_) if text.starts_with("v_interp_") => continue,
                    Ok(_) => "differs",
                    Err(reason) if excused_error(text, reason, generation).is_some() => continue,
                    Err(_) => "error",
                };
                let key = format!("{target} {format:?} {kind} {}", text.split(' ').next().unwrap_or(""));
                let theirs = theirs.map(|bytes| format!("{bytes:02x?}")).unwrap_or_else(|reason| reason);
                let shown = format!("`{text}`\n   ours {bytes:02x?}\n   llvm {theirs}");
                wrong.entry(key).or_insert((0, shown)).0 += 1;
            }
            eprintln!("{target} {format:?}: {} instructions, {same} the same", known.len());
        }
    }
    let report: String =
        wrong.iter().map(|(key, (count, text))| format!("{key} x{count}: {text}\n")).collect();
    assert!(wrong.is_empty(), "{} kinds of differences:\n{report}", wrong.len());
}

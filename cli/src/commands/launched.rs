//! `warpjit ir --launched`: prints the code that the runtime compiled for a launch.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Range;

use anyhow::{Context, bail};
use warpjit::launch_file::LaunchFile;
use warpjit::outcome::Status;
use warpjit::profile::{ListedLine, parse_listing};
use warpjit_frontend::container::Selection;
use warpjit_runtime::{CodeKind, CodeListing, CodePart, Engine, KnownSlot, Report};

use super::code::Code;
use super::first_run;
use super::print::print;
use crate::args::{Form, IrArgs};

/// Groups of four lanes for Cranelift where nothing else is asked for, as in the runtime.
const CRANELIFT_GROUPS: &str = "2";

pub(super) fn launched(args: &IrArgs) -> anyhow::Result<Status> {
    let path = &args.program.file;
    if path.extension().is_none_or(|e| e != "toml") {
        bail!("--launched runs a launch file, and {} is no launch file (*.toml)", path.display());
    }
    if args.form == Form::Spmd {
        bail!("--launched: no launch changes --form spmd; there are regions, mask, clif and host");
    }
    let mut options = args.engine();
    if args.form == Form::Clif {
        // Cranelift's IR is there only where it generates the code.
        let groups = options.chunk.get_or_insert_with(|| CRANELIFT_GROUPS.to_owned());
        if !matches!(groups.as_str(), "0" | "1" | "2" | "4") {
            bail!("--chunk {groups}: --form clif has chunks of 0, 1, 2 and 4 groups of lanes");
        }
    }
    let file = LaunchFile::load(path)?;
    let config = options.config();
    let observe = config.observe.listings(true);
    let engine = Engine::new(config.observe(observe))?;
    let mut session = first_run::session(&file, &engine, &options)?;
    let report = first_run::run_for(&mut session, args.seconds)?;

    let code = Code::load(&args.program, Selection::All)?;
    let image = session.program().image();
    let front_end = code.module.isa.front_end();
    let (bytes, base) = image.code.file().unwrap_or_default();
    let guest = code.chip.target().listing(bytes, base, code.stage);
    let guest = parse_listing(&guest, front_end.listing_unit());
    let mut text = heading(&report, args);
    let listings = report.listings.unwrap_or_default();
    for pc in &listings.interpreted {
        let _ = writeln!(text, "; the block at {pc:#x} runs in the interpreter");
    }
    for function in &listings.functions {
        text.push('\n');
        show(&mut text, function, args.form, &guest).context("writing a listing")?;
    }
    print(&text)?;
    Ok(Status::Ok)
}

/// What was run.
fn heading(report: &Report, args: &IrArgs) -> String {
    let count = report.listings.as_ref().map_or(0, |listings| listings.functions.len());
    let mut text = format!(
        "; {}: {} blocks run, {count} functions compiled\n",
        args.program.file.display(),
        report.stats.blocks
    );
    if report.cancelled {
        let _ = writeln!(text, "; stopped after {} s, see --seconds", args.seconds);
    }
    if let Some(fault) = &report.fault {
        let _ = writeln!(text, "; ended by a {fault}");
    }
    if let Some(reason) = &report.stats.not_compiled {
        let _ = writeln!(text, "; not compiled: {reason}");
    }
    text
}

/// A function in one of its forms, under what is known of it.
fn show(text: &mut String, function: &CodeListing, form: Form, guest: &[ListedLine]) -> std::fmt::Result {
    let phases = match function.parts.len() {
        1 => "1 phase".to_owned(),
        count => format!("{count} phases"),
    };
    let kind = match function.kind {
        CodeKind::Region => "a region".to_owned(),
        CodeKind::Chain => format!("regions joined, {}", function.parts.len()),
        CodeKind::Rows { whole: true } => {
            format!("grid rows, {phases}, all lanes of every warp are active")
        }
        CodeKind::Rows { whole: false } => format!("grid rows, {phases}"),
        _ => phases,
    };
    writeln!(text, "; {}: {kind}, {} bytes", function.name, function.bytes)?;
    show_slots(text, "assumed", &function.assumed)?;
    let spans = |part: &CodePart| part.spans.clone();
    for (number, part) in function.parts.iter().enumerate() {
        let phase =
            if function.kind == CodeKind::Region { String::new() } else { format!("phase {number}: ") };
        writeln!(text, "; {phase}{}; chunks of {} lanes", part.outline, part.lanes)?;
        part.exits.iter().try_for_each(|exit| writeln!(text, "; {exit}"))?;
        show_slots(text, "known", &part.known)?;
        show_slots(text, "checked for each warp", &part.looked_at)?;
        match form {
            Form::Regions => show_body(text, &part.regions, &spans(part), guest)?,
            Form::Mask => show_body(text, &part.mask, &spans(part), guest)?,
            Form::Spmd | Form::Clif | Form::Host => {}
        }
    }
    let all: Vec<_> = function.parts.iter().flat_map(spans).collect();
    match form {
        Form::Clif => show_body(text, &function.clif, &all, guest),
        Form::Host => show_body(text, &function.host, &all, guest),
        Form::Spmd | Form::Regions | Form::Mask => Ok(()),
    }
}

fn show_slots(text: &mut String, what: &str, slots: &[KnownSlot]) -> std::fmt::Result {
    if slots.is_empty() {
        return Ok(());
    }
    let all: Vec<_> = slots.iter().map(|known| format!("{} {}", known.slot, known.what)).collect();
    writeln!(text, "; {what}: {}", all.join("; "))
}

/// Code, under the guest instructions among those of `spans` that nothing of it is of.
fn show_body(text: &mut String, body: &str, spans: &[Range<u64>], guest: &[ListedLine]) -> std::fmt::Result {
    let shown = addresses(body);
    let covered = |line: &&ListedLine| spans.iter().any(|span| span.contains(&line.pc));
    let mut absent = guest.iter().filter(covered).filter(|line| !shown.contains(&line.pc)).peekable();
    if absent.peek().is_some() {
        writeln!(text, "; no instruction of their own:")?;
    }
    absent.try_for_each(|line| writeln!(text, ";   {:#06x}  {}", line.pc, line.text))?;
    text.push_str(body);
    if !body.ends_with('\n') {
        text.push('\n');
    }
    Ok(())
}

/// Guest addresses that lines of a listing are of: those beside them (`@0x18`), or where these stand only where they
/// change, those of lines or headings of blocks before.
fn addresses(body: &str) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    let mut last = None;
    for line in body.lines() {
        if let Some((_, pc)) = block_heading(line) {
            last = Some(pc);
            continue;
        }
        let own = line.trim_start().strip_prefix('@').and_then(|rest| rest.split_whitespace().next());
        last = own.and_then(hex).or(last);
        if line.starts_with([' ', '@']) {
            found.extend(last);
        }
    }
    found
}

/// The block and address of a heading in the IR's text (`block1(v83: i32) pc 0xd0 insts 5:`).
fn block_heading(line: &str) -> Option<(&str, u64)> {
    let line = line.strip_suffix(':').filter(|line| line.starts_with("block"))?;
    let (block, rest) = line.rsplit_once(" pc ").or_else(|| line.rsplit_once(" at "))?;
    Some((block, hex(rest.split(' ').next()?)?))
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_all_forms_are_found() {
        let ir = "function @k mask lanes 32 {\n    slot s0: i32 r0\n\nblock0 at 0x0:\n    @0x8     v1: i32 = const 1\n\
                  \n             return 0\n\nblock1(v2: i32) pc 0x20 insts 2:\n             v3: i32 = const 1\n}\n";
        assert_eq!(addresses(ir), BTreeSet::from([0x8, 0x20]));
        let host = "              0  push rbp\n@0x8         10  vmovups zmm0,[rdi]\n             1f  ret\n@0xd0        20  ret\n";
        assert_eq!(addresses(host), BTreeSet::from([0x8, 0xd0]));
        assert_eq!(addresses(""), BTreeSet::new());
    }
}

//! `warpjit profile`: samples and counts a launch file's runs, and shows both beside its listing.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use warpjit::launch_file::LaunchFile;
use warpjit::outcome::{Outcome, Status};
use warpjit::profile::{Parts, Profile, Setting, parse_listing, to_html, to_text};
use warpjit::suite::Host;
use warpjit_frontend::container::Selection;
use warpjit_runtime::{CodePiece, Engine, Observe, Samples, Tier};

use super::code::Code;
use super::first_run;
use super::print::print;
use crate::args::{DisasmArgs, ProfileArgs};

pub(super) fn profile(args: &ProfileArgs) -> anyhow::Result<Status> {
    let options = &args.engine;
    // A page that cannot be written is better known before the runs than after them.
    if let Some(html) = &args.html {
        let folder = html.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() || html.is_dir() {
            anyhow::bail!(
                "--html {}: cannot be written: its folder does not exist, or it is a folder itself",
                html.display()
            );
        }
    }
    let file = LaunchFile::load(&args.file)?;
    let code = Code::load(&DisasmArgs::of_launch_file(&args.file), Selection::All)?;
    let mut setting = Setting {
        file: args.file.display().to_string(),
        isa: code.module.isa.name().to_owned(),
        chip: code.chip.name().to_owned(),
        tier: options.tier.name().to_owned(),
        threads: options.thread_count(),
        cpu: Host::this().cpu,
        sample_rate: args.rate,
        ..Setting::default()
    };
    let (outcome, samples) = sample(args, &file, &mut setting)?;
    if outcome.status != Status::Ok {
        // Where a run went wrong, its time says nothing.
        let text =
            if options.json { format!("{}\n", outcome.to_json(false)) } else { outcome.to_text(false) };
        print(&text)?;
        return Ok(outcome.status);
    }
    let counted = count(args, &file)?;
    let image = counted.program.image();
    setting.kernel.clone_from(&image.function.name);
    let front_end = code.module.isa.front_end();
    let mut listing = Vec::new();
    for part in parts_to_list(&code, image, &counted.profile) {
        let text = code.chip.target().listing(part.words, part.listed_at, code.stage);
        let mut lines = parse_listing(&text, front_end.listing_unit());
        lines.iter_mut().for_each(|line| line.pc = line.pc.wrapping_add(part.shift));
        listing.extend(lines);
    }
    let profile = Profile::new(Parts {
        setting,
        listing: &listing,
        samples: &samples,
        counts: &counted.profile,
        counted_blocks: counted.blocks,
        complete: counted.complete,
    });
    if let Some(html) = &args.html {
        std::fs::write(html, to_html(&profile)).with_context(|| format!("--html {}", html.display()))?;
    }
    if options.json {
        print(&format!("{}\n", serde_json::to_string(&profile)?))?;
    } else {
        print(&to_text(&profile))?;
    }
    Ok(Status::Ok)
}

/// A run of code to list.
struct Part<'c> {
    words: &'c [u8],
    /// The address that its listing begins with.
    listed_at: u32,
    /// How far the guest addresses, which profiles count by, are from those of the listing.
    shift: u64,
}

/// What to list: of code that is all of a container its kernels, without headers and data, unless something else was executed. Of code in
/// guest memory all that was read.
fn parts_to_list<'c>(
    code: &'c Code,
    image: &'c warpjit_runtime::KernelImage,
    profile: &warpjit_runtime::Profile,
) -> Vec<Part<'c>> {
    let Some((bytes, base)) = image.code.file() else {
        return image.code.pieces().iter().map(part_in_memory).collect();
    };
    let in_file = |(words, listed_at)| Part { words, listed_at, shift: 0 };
    let mut parts: Vec<(&[u8], u32)> = Vec::new();
    for kernel in &code.module.kernels {
        let behind = kernel.address.checked_sub(base).map(|start| start as usize);
        let inside =
            behind.and_then(|start| bytes.get(start..)).is_some_and(|at| at.starts_with(&kernel.code));
        if inside && parts.iter().all(|&(_, start)| start != kernel.address) {
            parts.push((&kernel.code, kernel.address));
        }
    }
    let holds =
        |pc: u64| parts.iter().any(|(code, start)| pc.wrapping_sub(u64::from(*start)) < code.len() as u64);
    let parts = if profile.instructions.keys().all(|&pc| holds(pc)) { parts } else { vec![(bytes, base)] };
    parts.into_iter().map(in_file).collect()
}

/// Listings have 32-bit addresses: the lower half of the guest's, so that targets of branches are found, unless it wraps within the code.
fn part_in_memory(piece: &CodePiece) -> Part<'_> {
    let low = piece.address as u32;
    let wraps = u64::from(low) + piece.bytes.len() as u64 > u64::from(u32::MAX);
    let listed_at = if wraps { piece.position } else { low };
    Part { words: &piece.bytes, listed_at, shift: piece.address.wrapping_sub(listed_at.into()) }
}

/// Runs until there is enough to say, but for the run that compiles.
fn sample(
    args: &ProfileArgs,
    file: &LaunchFile,
    setting: &mut Setting,
) -> anyhow::Result<(Outcome, Samples)> {
    let options = &args.engine;
    let config = options.config();
    let observe = config.observe.sample_rate(args.rate);
    let engine = Engine::new(config.observe(observe))?;
    let mut session = first_run::session(file, &engine, options)?;
    let report = first_run::run(&mut session)?;
    setting.not_compiled.clone_from(&report.stats.not_compiled);
    let mut outcome = session.check(report)?;
    if options.tier == Tier::Auto && outcome.status == Status::Ok {
        first_run::finish_compiling(&mut session, &engine)?;
    }
    let mut samples = Samples::default();
    let start = Instant::now();
    let enough = Duration::from_secs_f64(args.seconds);
    while outcome.status == Status::Ok && (setting.runs == 0 || start.elapsed() < enough) {
        session.restore()?;
        let mut report = session.run()?;
        if let Some(profile) = report.profile.take() {
            samples.add(&profile.samples);
        }
        outcome = session.check(report)?;
        setting.runs += 1;
    }
    Ok((outcome, samples))
}

/// What the interpreter has counted.
struct Count {
    program: warpjit_runtime::Program,
    profile: warpjit_runtime::Profile,
    blocks: u64,
    complete: bool,
}

/// Lets the interpreter count, for so long at most.
fn count(args: &ProfileArgs, file: &LaunchFile) -> anyhow::Result<Count> {
    let options = &args.engine;
    let config = options.config().tier(Tier::Interp);
    let engine = Engine::new(config.observe(Observe::default().count(true)))?;
    let mut session = first_run::session(file, &engine, options)?;
    let report = first_run::run_for(&mut session, args.count_seconds)?;
    Ok(Count {
        program: session.program().clone(),
        profile: report.profile.map(|profile| *profile).unwrap_or_default(),
        blocks: report.stats.blocks,
        complete: !report.cancelled,
    })
}

//! `warpjit bench --suite`: times every launch file of a folder, saves the results as JSON, compares them with a baseline.

use std::path::Path;

use anyhow::bail;
use serde_json::json;
use warpjit::launch_file::LaunchFile;
use warpjit::outcome::{Outcome, Status};
use warpjit::suite::{CaseResult, Comparison, FORMAT, Host, Results, SuiteFile, Table, launch_files};

use super::bench::{Counting, measure};
use super::print::print;
use crate::args::BenchArgs;

pub(super) fn suite(args: &BenchArgs, folder: &Path) -> anyhow::Result<Status> {
    let options = &args.engine;
    // What can be wrong is found before the runs take their time.
    let baseline = args.baseline.as_deref().map(Results::load).transpose()?;
    if let Some(save) = &args.save {
        let home = save.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !home.is_dir() || save.is_dir() {
            bail!(
                "--save {}: cannot be written: its folder does not exist, or it is a folder itself",
                save.display()
            );
        }
    }
    let files = launch_files(folder)?;
    let table = Table::new(files.iter().map(|file| file.name.as_str()));
    let host = Host::this();
    if !options.json {
        let load = host.load.map_or_else(String::new, |load| format!(", load average {load}"));
        let (tier, threads) = (options.tier.name(), options.thread_count());
        print(&format!(
            "{} ({} processors{load}), tier {tier}, {threads} threads, {} runs each\n{}\n",
            host.cpu,
            host.processors,
            args.runs,
            table.heading()
        ))?;
    }
    let (mut rows, mut status) = (Vec::new(), Status::Ok);
    for file in &files {
        let (row, of_row) = run(args, file);
        if !options.json {
            print(&format!("{}\n", table.row(&row)))?;
        }
        rows.push(row);
        status = graver(status, of_row);
    }
    let results =
        Results { format: FORMAT.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), host, rows };
    let comparison = baseline.map(|baseline| Comparison::new(&results.rows, &baseline.rows));
    if comparison.as_ref().is_some_and(Comparison::failed) {
        status = graver(status, Status::Mismatch);
    }
    if let Some(save) = &args.save {
        results.save(save)?;
    }
    if options.json {
        let mut object = serde_json::to_value(&results)?;
        object["status"] = json!(status.as_str());
        object["comparison"] = json!(comparison);
        print(&format!("{object}\n"))?;
    } else if let Some(comparison) = &comparison {
        print(&format!("\n{}", table.comparison(comparison, &results.rows)))?;
    }
    Ok(status)
}

/// The one of two ends that the whole suite has.
fn graver(a: Status, b: Status) -> Status {
    let rank = |status| match status {
        Status::Ok => 0,
        Status::Mismatch => 1,
        Status::Fault => 2,
        Status::Error => 3,
        Status::Interrupted => 4,
    };
    if rank(b) > rank(a) { b } else { a }
}

/// Times one launch file. One that is bad is a row as well: the others are still worth something.
fn run(args: &BenchArgs, file: &SuiteFile) -> (CaseResult, Status) {
    let options = &args.engine;
    let mut row = CaseResult {
        name: file.name.clone(),
        status: String::new(),
        message: None,
        blocks: 0,
        warps: 0,
        warp_instructions: 0,
        thread_instructions: 0,
        lanes_active: 0.0,
        jit_share: 0.0,
        compile_ms: 0.0,
        timing: Default::default(),
        tier: options.tier.name().to_owned(),
        threads: options.thread_count(),
        options: options.unusual(),
    };
    let measured =
        LaunchFile::load(&file.path).map_err(Into::into).and_then(|f| measure(&f, args, Counting::Threads));
    let status = match measured {
        Ok((outcome, timing)) => {
            let stats = &outcome.stats;
            (row.blocks, row.warps) = (stats.blocks, stats.warps);
            (row.warp_instructions, row.thread_instructions) =
                (stats.warp_instructions, stats.thread_instructions);
            if stats.lane_slots > 0 {
                row.lanes_active = stats.thread_instructions as f64 / stats.lane_slots as f64;
            }
            row.jit_share = stats.jit_share;
            row.compile_ms = stats.compile.as_secs_f64() * 1e3;
            row.message = message(&outcome);
            row.timing = timing;
            outcome.status
        }
        Err(error) => {
            row.message = Some(warpjit::whole_text(&error));
            Status::Error
        }
    };
    row.status = status.as_str().to_owned();
    (row, status)
}

/// What is wrong with a run, in a line.
fn message(outcome: &Outcome) -> Option<String> {
    match (outcome.status, &outcome.fault, outcome.mismatches.first()) {
        (Status::Ok, ..) => None,
        (Status::Fault, Some(fault), _) => Some(fault.to_string()),
        (_, _, Some(mismatch)) => Some(mismatch.to_string()),
        _ => Some(outcome.status.as_str().to_owned()),
    }
}

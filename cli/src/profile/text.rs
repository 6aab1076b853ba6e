//! Writes a profile as text for the terminal.

use std::fmt::Write;

use super::{Profile, Shape};

/// Lines of each table.
const MOST: usize = 20;

/// The profile as text.
pub fn to_text(profile: &Profile) -> String {
    let mut text = String::new();
    let s = &profile.setting;
    let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let _ = writeln!(text, "{}: kernel {}, {} {}", s.file, s.kernel, s.isa, s.chip);
    let _ = writeln!(
        text,
        "{:.3} ms of processor time a run; {} and {}, tier {}, {}",
        profile.run_ms,
        plural(s.runs as usize, "run"),
        plural(s.samples as usize, "sample"),
        s.tier,
        plural(s.threads, "thread"),
    );
    for (what, problem) in [("not sampled", &s.not_sampled), ("not compiled", &s.not_compiled)] {
        if let Some(problem) = problem {
            let _ = writeln!(text, "{what}: {problem}");
        }
    }
    if s.lost_samples > 0 {
        let _ = writeln!(text, "{} samples lost", s.lost_samples);
    }
    text += "\nwhere the time goes:\n";
    for part in profile.time.iter().filter(|part| part.ms > 0.0) {
        let _ = writeln!(text, "  {:>5.1}% {:>10.3} ms  {}", part.share * 100.0, part.ms, part.what);
    }
    counted(&mut text, profile);
    hot(&mut text, profile);
    accesses(&mut text, profile);
    branches(&mut text, profile);
    text
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1}%", share * 100.0))
}

fn counted(text: &mut String, profile: &Profile) {
    let c = &profile.counted;
    let part = if c.complete { "" } else { " (a part: counting was stopped)" };
    let _ = writeln!(text, "\ncounted by the interpreter in {} blocks{part}:", c.blocks);
    let _ = writeln!(
        text,
        "  {} warp instructions, {} of lanes active",
        c.warp_instructions,
        percent(c.lanes_active)
    );
    let _ = writeln!(text, "  {} accesses: {}", c.accesses, shape(&c.shape));
}

/// Shares that are not 0.
fn shape(shape: &Shape) -> String {
    let parts = shape.parts();
    let shown: Vec<_> = parts
        .iter()
        .filter(|part| part.1 > 0.0)
        .map(|(name, share, _)| format!("{:.0}% {name}", share * 100.0))
        .collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

fn more(text: &mut String, all: usize) {
    if all > MOST {
        let _ = writeln!(text, "  ... {} more", all - MOST);
    }
}

fn hot(text: &mut String, profile: &Profile) {
    let all = profile.hottest(usize::MAX);
    if all.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\nhot instructions:\n  {:>6} {:>10} {:>13} {:>7}",
        "time", "ms", "executions", "lanes"
    );
    for line in all.iter().take(MOST) {
        let _ = writeln!(
            text,
            "  {:>5.1}% {:>10.3} {:>13} {:>7}  {:#06x}  {}",
            line.share * 100.0,
            line.ms,
            line.executions.map_or_else(|| "-".to_owned(), |n| n.to_string()),
            percent(line.lanes_active),
            line.pc,
            line.text
        );
    }
    more(text, all.len());
}

fn accesses(text: &mut String, profile: &Profile) {
    if profile.accesses.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\nmemory accesses:\n  {:>13} {:>7} {:>12}  addresses of lanes",
        "executions", "lanes", "lines"
    );
    let mut sorted: Vec<_> = profile.accesses.iter().collect();
    sorted.sort_by(|a, b| b.share.total_cmp(&a.share).then(b.executions.cmp(&a.executions)));
    for access in sorted.iter().take(MOST) {
        let lines = format!("{:.1} of {:.1}", access.lines, access.ideal_lines);
        let _ = writeln!(
            text,
            "  {:>13} {:>7} {lines:>12}  {:#06x}  {} {} of {} bytes: {}",
            access.executions,
            percent(Some(access.lanes_active)),
            access.pc,
            access.space,
            access.direction,
            access.bytes,
            shape(&access.shape),
        );
    }
    more(text, sorted.len());
}

fn branches(text: &mut String, profile: &Profile) {
    let mut sorted: Vec<_> = profile.blocks.iter().filter_map(|block| Some((block, block.branch?))).collect();
    if sorted.is_empty() {
        return;
    }
    sorted.sort_by_key(|(block, _)| std::cmp::Reverse(block.executions));
    let _ =
        writeln!(text, "\nbranches:\n  {:>13} {:>7} {:>7} {:>7}", "executions", "lanes", "taken", "parted");
    for (block, branch) in sorted.iter().take(MOST) {
        let line = profile.line(block.end_pc).map_or("", |line| line.text.as_str());
        let _ = writeln!(
            text,
            "  {:>13} {:>7} {:>7} {:>7}  {:#06x}  {line}",
            block.executions,
            percent(block.lanes_active),
            percent(Some(branch.taken)),
            percent(Some(branch.parted)),
            block.end_pc,
        );
    }
    more(text, sorted.len());
}

//! Results of a bench suite: one for each launch file, saved as JSON and compared with a baseline.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use crate::launch_file::read_plain;

/// What the first member of the JSON says, so that another file is not taken for one.
pub const FORMAT: &str = "warpjit-bench 1";

/// A launch file of a suite.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SuiteFile {
    /// Its path below the suite's folder without what all of them are called: `saxpy` for
    /// `saxpy/launch.toml`, `gcn/fiji` for `gcn/fiji.launch.toml`.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// The launch files in a folder and below: `launch.toml` and `NAME.launch.toml`, by name.
pub fn launch_files(folder: &Path) -> anyhow::Result<Vec<SuiteFile>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        let shown = || at.display().to_string();
        for entry in std::fs::read_dir(&at).with_context(shown)? {
            let entry = entry.with_context(shown)?;
            let path = entry.path();
            // Links to folders are not followed: they may lead back.
            if entry.file_type().with_context(|| path.display().to_string())?.is_dir() {
                folders.push(path);
                continue;
            }
            let below = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
            let name = match below.strip_suffix("launch.toml") {
                Some("") => "launch",
                Some(rest) => match rest.strip_suffix('/').or(rest.strip_suffix('.')) {
                    Some(name) => name,
                    None => continue,
                },
                None => continue,
            };
            found.push(SuiteFile { name: name.to_owned(), path });
        }
    }
    if found.is_empty() {
        bail!("{}: holds no launch file (launch.toml or NAME.launch.toml)", folder.display());
    }
    found.sort();
    Ok(found)
}

/// Times of several runs, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Each run, in order.
    pub runs_ms: Vec<f64>,
    /// The middle one.
    pub median_ms: f64,
    /// The shortest.
    pub min_ms: f64,
    /// Longest less shortest, as a share of the median.
    pub spread: f64,
}

impl Timing {
    /// Sums up runs; zeros where there are none.
    pub fn new(runs_ms: Vec<f64>) -> Timing {
        let mut sorted = runs_ms.clone();
        sorted.sort_by(f64::total_cmp);
        let (Some(&min_ms), Some(&max_ms)) = (sorted.first(), sorted.last()) else {
            return Timing::default();
        };
        let middle = sorted.len() / 2;
        let median_ms = match sorted.len() % 2 {
            1 => sorted[middle],
            _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
        };
        let spread = if median_ms > 0.0 { (max_ms - min_ms) / median_ms } else { 0.0 };
        Timing { runs_ms, median_ms, min_ms, spread }
    }
}

/// One launch file's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// [`SuiteFile::name`].
    pub name: String,
    /// How the runs ended: `ok`, `mismatch`, `fault` or `error`.
    pub status: String,
    /// What is wrong, where something is.
    pub message: Option<String>,
    /// Blocks run.
    pub blocks: u64,
    /// Warps of them.
    pub warps: u64,
    /// Guest instructions executed by warps, as the tier counts them.
    pub warp_instructions: u64,
    /// Guest instructions times active lanes: the same in all tiers, so runs are compared by it.
    pub thread_instructions: u64,
    /// Share of lanes that are active in an executed instruction.
    pub lanes_active: f64,
    /// Share of the instructions that compiled code executed.
    pub jit_share: f64,
    /// Time in which some thread was compiling, before the timed runs.
    pub compile_ms: f64,
    /// The timed runs.
    #[serde(flatten)]
    pub timing: Timing,
    /// Which tier was asked for.
    pub tier: String,
    /// Host threads.
    pub threads: usize,
    /// Other options that change times, as text.
    #[serde(default)]
    pub options: String,
}

/// Where a suite was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// The processor's name for itself.
    pub cpu: String,
    /// Processors that this process may use.
    pub processors: usize,
    /// Architecture and operating system.
    pub platform: String,
    /// Load average of the last minute, before the runs.
    pub load: Option<f64>,
}

impl Host {
    /// This machine, as far as it says.
    pub fn this() -> Host {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let cpu = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        let load = std::fs::read_to_string("/proc/loadavg").ok();
        Host {
            cpu: cpu.map_or_else(|| "unknown".to_owned(), |(_, name)| name.trim().to_owned()),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            platform: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
            load: load.and_then(|text| text.split_whitespace().next()?.parse().ok()),
        }
    }
}

/// What `warpjit bench --suite` writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`FORMAT`].
    pub format: String,
    /// Version of warpjit.
    pub version: String,
    /// Where it ran.
    pub host: Host,
    /// By name.
    pub rows: Vec<CaseResult>,
}

impl Results {
    /// Reads what [`Results::save`] wrote.
    pub fn load(path: &Path) -> anyhow::Result<Results> {
        let shown = path.display();
        let text = read_plain(path).with_context(|| format!("baseline {shown}"))?;
        #[derive(Deserialize)]
        struct Head {
            format: Option<String>,
        }
        let head: Head =
            serde_json::from_slice(&text).with_context(|| format!("baseline {shown}: broken"))?;
        match head.format.as_deref() {
            Some(FORMAT) => {}
            Some(other) => bail!("baseline {shown}: its format is {other:?}, not {FORMAT:?}"),
            None => bail!("baseline {shown}: is not what `warpjit bench --suite --save` writes"),
        }
        serde_json::from_slice(&text).with_context(|| format!("baseline {shown}: broken"))
    }

    /// Writes the results as JSON.
    pub fn save(&self, path: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        std::fs::write(path, text + "\n").with_context(|| format!("saving {}", path.display()))
    }
}

/// A result and its baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// Which row.
    pub name: String,
    /// The baseline's median.
    pub baseline_ms: f64,
    /// The baseline's median over this one: above 1 is faster than before. None where the two are no runs
    /// of the same thing.
    pub ratio: Option<f64>,
    /// Why not.
    pub error: Option<String>,
    /// What differs in the settings, for the reader.
    pub note: Option<String>,
}

/// A comparison of a suite's results with a baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Rows that both have, in the order of the suite.
    pub rows: Vec<Compared>,
    /// Geometric mean of the ratios, if there is any.
    pub geometric_mean: Option<f64>,
    /// Rows that the baseline does not have.
    pub new: Vec<String>,
    /// Rows that only the baseline has.
    pub gone: Vec<String>,
}

impl Comparison {
    /// Compares by name. Rows whose instruction counts differ are errors: they did not do the same.
    pub fn new(now: &[CaseResult], baseline: &[CaseResult]) -> Comparison {
        let before = |name: &str| baseline.iter().find(|row| row.name == name);
        let rows: Vec<_> =
            now.iter().filter_map(|row| Some(Compared::new(row, before(&row.name)?))).collect();
        let ratios: Vec<f64> = rows.iter().filter_map(|row| row.ratio).collect();
        let names = |rows: &[CaseResult], others: &[CaseResult]| {
            let missing = rows.iter().filter(|row| others.iter().all(|other| other.name != row.name));
            missing.map(|row| row.name.clone()).collect()
        };
        Comparison {
            geometric_mean: geometric_mean(&ratios),
            new: names(now, baseline),
            gone: names(baseline, now),
            rows,
        }
    }

    /// Whether a row could not be compared, or there is none to compare.
    pub fn failed(&self) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|row| row.error.is_some())
    }
}

impl Compared {
    fn new(now: &CaseResult, before: &CaseResult) -> Compared {
        let differ = |what: &str, now: u64, before: u64| {
            (now != before).then(|| format!("{what} differ: {now} here, {before} in the baseline"))
        };
        let error = if now.status != "ok" {
            Some(format!("{} here", now.status))
        } else if before.status != "ok" {
            Some(format!("{} in the baseline", before.status))
        } else {
            differ("thread instructions", now.thread_instructions, before.thread_instructions)
                .or_else(|| differ("warp instructions", now.warp_instructions, before.warp_instructions))
                .or_else(|| differ("blocks", now.blocks, before.blocks))
                .or_else(|| differ("warps", now.warps, before.warps))
        };
        let comparable = error.is_none() && now.timing.median_ms > 0.0 && before.timing.median_ms > 0.0;
        let mut notes = Vec::new();
        if now.tier != before.tier {
            notes.push(format!("tier {} in the baseline", before.tier));
        }
        if now.threads != before.threads {
            notes.push(format!("{} threads in the baseline", before.threads));
        }
        if now.options != before.options {
            let shown =
                |options: &str| if options.is_empty() { "none".to_owned() } else { options.to_owned() };
            notes.push(format!(
                "options: {}; in the baseline {}",
                shown(&now.options),
                shown(&before.options)
            ));
        }
        Compared {
            name: now.name.clone(),
            baseline_ms: before.timing.median_ms,
            ratio: comparable.then(|| before.timing.median_ms / now.timing.median_ms),
            error,
            note: (!notes.is_empty()).then(|| notes.join(", ")),
        }
    }
}

fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let logs: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (!ratios.is_empty()).then(|| (logs / ratios.len() as f64).exp())
}

/// Lays out rows as lines of a table whose first column is `name_width` wide.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Characters of the longest name.
    pub name_width: usize,
}

impl Table {
    /// For rows of these names.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Table {
        Table { name_width: names.into_iter().map(|name| name.chars().count()).fold(4, usize::max) }
    }

    /// The line above the rows.
    pub fn heading(self) -> String {
        format!(
            "{:width$} {:>15} {:>6} {:>5} {:>10} {:>10} {:>7} {:>10}",
            "name",
            "thread insts",
            "lanes",
            "jit",
            "median ms",
            "min ms",
            "spread",
            "compile ms",
            width = self.name_width
        )
    }

    /// A row.
    pub fn row(self, row: &CaseResult) -> String {
        let width = self.name_width;
        if row.status != "ok" {
            let message = row.message.as_deref().unwrap_or("");
            return format!("{:width$} {}: {message}", row.name, row.status);
        }
        format!(
            "{:width$} {:>15} {:>5.1}% {:>4.0}% {:>10.3} {:>10.3} {:>6.1}% {:>10.3}",
            row.name,
            row.thread_instructions,
            row.lanes_active * 100.0,
            row.jit_share * 100.0,
            row.timing.median_ms,
            row.timing.min_ms,
            row.timing.spread * 100.0,
            row.compile_ms,
        )
    }

    /// The table of a comparison, a newline after each line.
    pub fn comparison(self, comparison: &Comparison, now: &[CaseResult]) -> String {
        let width = self.name_width;
        let mut text = format!("{:width$} {:>12} {:>10} {:>8}\n", "name", "baseline ms", "now ms", "faster");
        for row in &comparison.rows {
            let _ = write!(text, "{:width$} ", row.name);
            let _ = match (&row.error, row.ratio) {
                (Some(error), _) => write!(text, "error: {error}"),
                (None, Some(ratio)) => {
                    let median =
                        now.iter().find(|other| other.name == row.name).map_or(0.0, |r| r.timing.median_ms);
                    write!(text, "{:>12.3} {median:>10.3} {ratio:>7.2}x", row.baseline_ms)
                }
                (None, None) => write!(text, "{:>12.3} too short to compare", row.baseline_ms),
            };
            if let Some(note) = &row.note {
                let _ = write!(text, "  ({note})");
            }
            text.push('\n');
        }
        for (names, what) in
            [(&comparison.new, "not in the baseline"), (&comparison.gone, "only in the baseline")]
        {
            for name in names {
                let _ = writeln!(text, "{name:width$} {what}");
            }
        }
        if comparison.rows.is_empty() {
            text += "error: no row is in both\n";
        }
        if let Some(mean) = comparison.geometric_mean {
            let count = comparison.rows.iter().filter(|row| row.ratio.is_some()).count();
            let _ = writeln!(text, "geometric mean of {count}: {mean:.3} times as fast as the baseline");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, thread_instructions: u64, median_ms: f64) -> CaseResult {
        CaseResult {
            name: name.to_owned(),
            status: "ok".to_owned(),
            message: None,
            blocks: 1,
            warps: 1,
            warp_instructions: 1,
            thread_instructions,
            lanes_active: 1.0,
            jit_share: 1.0,
            compile_ms: 0.0,
            timing: Timing::new(vec![median_ms]),
            tier: "jit".to_owned(),
            threads: 1,
            options: String::new(),
        }
    }

    #[test]
    fn timing_sums_up_runs() {
        let odd = Timing::new(vec![3.0, 1.0, 2.0]);
        assert_eq!((odd.median_ms, odd.min_ms, odd.spread), (2.0, 1.0, 1.0));
        assert_eq!(Timing::new(vec![4.0, 1.0, 2.0, 3.0]).median_ms, 2.5);
        assert_eq!(Timing::new(Vec::new()), Timing::default());
    }

    #[test]
    fn ratios_are_of_medians_and_their_mean_is_geometric() {
        let now = [row("a", 5, 1.0), row("b", 6, 8.0), row("c", 7, 1.0)];
        let before = [row("a", 5, 4.0), row("b", 6, 2.0), row("d", 7, 1.0)];
        let compared = Comparison::new(&now, &before);
        let ratios: Vec<_> = compared.rows.iter().map(|row| row.ratio).collect();
        assert_eq!(ratios, [Some(4.0), Some(0.25)]);
        assert!((compared.geometric_mean.unwrap() - 1.0).abs() < 1e-12);
        assert_eq!((compared.new, compared.gone), (vec!["c".to_owned()], vec!["d".to_owned()]));
    }

    #[test]
    fn other_instruction_counts_are_an_error() {
        let compared = Comparison::new(&[row("a", 5, 1.0)], &[row("a", 6, 4.0)]);
        assert!(compared.failed());
        assert_eq!(compared.rows[0].ratio, None);
        assert_eq!(compared.geometric_mean, None);
        let error = compared.rows[0].error.as_deref();
        assert_eq!(error, Some("thread instructions differ: 5 here, 6 in the baseline"));
        let bad = CaseResult { status: "mismatch".to_owned(), ..row("a", 5, 1.0) };
        assert!(Comparison::new(std::slice::from_ref(&bad), &[row("a", 5, 1.0)]).failed());
        assert!(!Comparison::new(&[row("a", 5, 1.0)], &[row("a", 5, 1.0)]).failed());
    }

    #[test]
    fn other_settings_are_said() {
        let mut now = row("a", 5, 1.0);
        let note = |now: &CaseResult, before: &CaseResult| {
            let rows = Comparison::new(std::slice::from_ref(now), std::slice::from_ref(before)).rows;
            rows[0].note.clone().unwrap_or_default()
        };
        assert_eq!(note(&now, &row("a", 5, 1.0)), "");
        now.options = "fast numerics".to_owned();
        assert_eq!(note(&now, &row("a", 5, 1.0)), "options: fast numerics; in the baseline none");
        (now.options, now.threads) = (String::new(), 2);
        assert_eq!(note(&now, &row("a", 5, 1.0)), "1 threads in the baseline");
        // Files of before there were options.
        let mut old = serde_json::to_value(row("a", 5, 1.0)).unwrap();
        old.as_object_mut().unwrap().remove("options");
        assert_eq!(serde_json::from_value::<CaseResult>(old).unwrap(), row("a", 5, 1.0));
    }

    #[test]
    fn results_survive_their_json() {
        let results = Results {
            format: FORMAT.to_owned(),
            version: "0".to_owned(),
            host: Host::this(),
            rows: vec![row("a", 5, 1.25)],
        };
        let text = serde_json::to_string(&results).unwrap();
        assert_eq!(serde_json::from_str::<Results>(&text).unwrap(), results);
    }
}

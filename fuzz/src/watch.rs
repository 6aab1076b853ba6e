//! Watches the workers. A worker that crashes or hangs is a finding of the case that it had begun; a new worker continues after
//! that case.

use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use crate::Finding;
use crate::coverage::Coverage;
use crate::time_limit::TimeLimit;

/// A case that takes longer hangs; waiting for a processor does not count.
pub const TIME_LIMIT: Duration = Duration::from_secs(150);

/// A finding with the case that it is of.
#[derive(Clone, Debug)]
pub struct Found {
    /// The target's name.
    pub target: String,
    /// The case's seed.
    pub seed: u64,
    /// What does not hold.
    pub finding: Finding,
}

/// What all workers have done.
#[derive(Debug, Default)]
pub struct Seen {
    /// Cases begun.
    pub cases: u64,
    /// What does not hold.
    pub found: Vec<Found>,
    /// What was covered.
    pub coverage: Coverage,
}

/// A worker's process and what is known of it.
struct Worker {
    child: Child,
    /// Begins anew with each of its lines.
    limit: TimeLimit,
    /// Target and seed of the case it has begun.
    case: Option<(String, u64)>,
    /// Cases it has begun.
    cases: u64,
    /// It has been told to end because it hung.
    hung: bool,
}

/// A line of the worker with that number; none: it has closed its output.
type Line = (usize, Option<String>);

fn start(command: &mut Command, number: usize, limit: Duration, lines: &Sender<Line>) -> io::Result<Worker> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let lines = lines.clone();
    if let Some(out) = child.stdout.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(out).split(b'\n') {
                let Ok(line) = line else { break };
                if lines.send((number, Some(String::from_utf8_lossy(&line).into_owned()))).is_err() {
                    return;
                }
            }
            let _ = lines.send((number, None));
        });
    }
    let limit = TimeLimit::new(child.id(), limit);
    Ok(Worker { child, limit, case: None, cases: 0, hung: false })
}

/// Runs `jobs` workers to their end. `command` makes the command of a worker: its number, and how many cases it is to
/// leave out because workers before it have done them; none if there is nothing left to do.
///
/// # Errors
///
/// Where a worker cannot be started.
pub fn watch(
    jobs: usize,
    limit: Duration,
    mut command: impl FnMut(usize, u64) -> Option<Command>,
    mut found: impl FnMut(&Found),
) -> io::Result<Seen> {
    let (sender, lines): (Sender<Line>, Receiver<Line>) = mpsc::channel();
    let mut seen = Seen::default();
    let mut workers: Vec<Option<Worker>> = Vec::new();
    let mut done = vec![0; jobs];
    for number in 0..jobs {
        let worker =
            command(number, 0).map(|mut command| start(&mut command, number, limit, &sender)).transpose()?;
        workers.push(worker);
    }
    while workers.iter().any(Option::is_some) {
        let line = lines.recv_timeout(Duration::from_millis(200));
        for worker in workers.iter_mut().flatten() {
            if !worker.hung && worker.limit.is_over() {
                worker.hung = true;
                worker.child.kill()?;
            }
        }
        let Ok((number, line)) = line else { continue };
        let Some(worker) = workers[number].as_mut() else { continue };
        worker.limit = TimeLimit::new(worker.child.id(), limit);
        let mut report = |seen: &mut Seen, case: &Option<(String, u64)>, finding: Finding| {
            let (target, seed) = case.clone().unwrap_or_default();
            seen.found.push(Found { target, seed, finding });
            seen.found.last().map(&mut found);
        };
        let Some(line) = line else {
            let status = worker.child.wait()?;
            done[number] += worker.cases;
            let finding = match (status.success(), worker.hung) {
                (true, _) => None,
                (_, true) => {
                    Some(Finding::new("hang", format!("took longer than {} seconds", limit.as_secs())))
                }
                (_, false) => Some(Finding::new("crash", format!("the process ended with {status}"))),
            };
            let goes_on = finding.is_some();
            if let Some(finding) = finding {
                report(&mut seen, &worker.case, finding);
            }
            workers[number] = match command(number, done[number]).filter(|_| goes_on) {
                Some(mut command) => Some(start(&mut command, number, limit, &sender)?),
                None => None,
            };
            continue;
        };
        match line.split_once(' ') {
            Some(("begin", case)) => {
                seen.cases += 1;
                worker.cases += 1;
                worker.case = case.split_once(' ').map(|(target, seed)| (target.to_owned(), parse(seed)));
            }
            Some(("found", json)) => match serde_json::from_str(json) {
                Ok(finding) => report(&mut seen, &worker.case, finding),
                Err(error) => {
                    report(&mut seen, &worker.case, Finding::new("line", format!("{error}: {json}")))
                }
            },
            Some(("covered", json)) => {
                if let Ok(coverage) = serde_json::from_str(json) {
                    seen.coverage.merge(coverage);
                }
            }
            _ => {}
        }
    }
    Ok(seen)
}

/// A seed as workers print it.
fn parse(seed: &str) -> u64 {
    match seed.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap_or(0),
        None => seed.parse().unwrap_or(0),
    }
}

/// Runs a command that is expected to end; whether it crashed or hung.
pub fn crashes(command: &mut Command, limit: Duration) -> bool {
    let Ok(mut child) = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    else {
        return false;
    };
    let limit = TimeLimit::new(child.id(), limit);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.code().is_none(),
            Ok(None) if limit.is_over() => {
                let _ = child.kill();
                let _ = child.wait();
                return true;
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            Err(_) => return false,
        }
    }
}

//! The `warpjit` command: parses the arguments and calls the library.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod args;
mod commands;

use std::any::Any;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;

use clap::Parser;
use clap::error::ErrorKind;
use warpjit::outcome::Status;

use args::Cli;

/// Where and why the last panic happened: the hook knows the place, the unwinding does not.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

fn main() -> ExitCode {
    // Before parsing, so that a bad command line is reported as asked.
    let json = std::env::args_os().any(|a| a == "--json");
    std::panic::set_hook(Box::new(|info| {
        if let Ok(mut place) = PANIC.lock() {
            *place = info.location().map(ToString::to_string);
        }
    }));
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error, json),
    };
    match catch_unwind(AssertUnwindSafe(|| commands::run(&cli))) {
        Ok(Ok(status)) => ExitCode::from(status as u8),
        Ok(Err(error)) => fail(&warpjit::whole_text(&error), json),
        Err(panic) => fail(&format!("internal error: {}", panic_text(&*panic)), json),
    }
}

/// Reports a bad command line, or prints the help that was asked for.
fn usage(error: &clap::Error, json: bool) -> ExitCode {
    if json && !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return fail(error.to_string().trim_end(), true);
    }
    let printed = error.print();
    ExitCode::from(if printed.is_ok() { error.exit_code() as u8 } else { Status::Error as u8 })
}

/// Reports an error on standard error, and on standard output where JSON is read there.
fn fail(message: &str, json: bool) -> ExitCode {
    // Nothing is left to do where even these cannot be written: the exit status says it.
    let _ = writeln!(std::io::stderr(), "error: {}", message.strip_prefix("error: ").unwrap_or(message));
    if json {
        let object = serde_json::json!({ "status": Status::Error.as_str(), "message": message });
        let _ = writeln!(std::io::stdout(), "{object}");
    }
    ExitCode::from(Status::Error as u8)
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_else(|| "panic without a message".to_owned());
    match PANIC.lock().ok().and_then(|mut place| place.take()) {
        Some(place) => format!("{text} ({place})"),
        None => text,
    }
}

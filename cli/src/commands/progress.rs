//! The progress bar. It appears on a terminal, for launches longer than a second.

use std::io::IsTerminal;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use warpjit::session::Progress;

/// Launches shorter than this show nothing.
const DELAY: Duration = Duration::from_secs(1);

/// A bar for one launch; it is wiped when dropped.
pub struct Bar(Arc<OnceLock<ProgressBar>>);

impl Bar {
    /// The bar and what the engine calls, where standard error is a terminal.
    pub fn new() -> Option<(Bar, Progress)> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let bar: Arc<OnceLock<ProgressBar>> = Arc::default();
        let (shown, start) = (bar.clone(), Instant::now());
        let progress = move |done: u64, of: u64| {
            if shown.get().is_none() && start.elapsed() < DELAY {
                return;
            }
            let bar = shown.get_or_init(|| {
                let bar = ProgressBar::new(of).with_elapsed(start.elapsed());
                let style = ProgressStyle::with_template(
                    "{elapsed_precise} {wide_bar} {pos}/{len} blocks, {eta} left",
                );
                style.map(|style| bar.with_style(style)).unwrap_or_else(|_| ProgressBar::new(of))
            });
            bar.set_position(done);
        };
        Some((Bar(bar), Arc::new(progress)))
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.0.get() {
            bar.finish_and_clear();
        }
    }
}

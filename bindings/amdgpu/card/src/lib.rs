//! A pretend AMD card.
//!
//! A program that has no AMD card loads Mesa's drivers, which ask the kernel's amdgpu driver for one. This crate answers in the kernel's place
//! ([`File::ioctl`]), and does what the card's command processor does with the command buffers that the drivers submit. Dispatches run on
//! `warpjit-runtime`. docs/exec.md describes the whole.
//!
//! | module | is |
//! |---|---|
//! | [`chip`] | what drivers are told about each card |
//! | `ioctl`, `file` | ioctls, and what an open render node has: contexts, lists |
//! | `info` | the ioctl INFO |
//! | `memory` | buffer objects, and what is mapped where for the card |
//! | `host_pages` | memory of the program that the card uses |
//! | `fence`, `syncobj` | fences, waiting, synchronisation objects |
//! | `submit`, `ring` | submissions, and the threads that run them |
//! | `pm4`, `processor` | packets, and what they do |
//! | `dispatch` | from registers to a launch |
//! | `draw` | draws: vertices, rasteriser, pixels, targets |
//! | `report`, [`kernels`], [`fault`] | lines on standard error, statistics, faults in words |
//! | `record`, [`launch_folder`] | recorded dispatches |
//! | [`settings`] | what the environment says |
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod chip;
mod dispatch;
mod draw;
mod execute;
pub mod fault;
mod fence;
mod file;
mod host_pages;
mod info;
mod ioctl;
pub mod kernels;
pub mod launch_folder;
mod memory;
mod pm4;
mod processor;
mod record;
mod report;
mod ring;
pub mod settings;
mod submit;
mod syncobj;
mod uapi;

pub use file::File;
pub use rustix::io::Errno;
pub use uapi::User;

use chip::Chip;
use report::Reporter;
use settings::Settings;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use warpjit_runtime::{Engine, Error, ProgramCache};

/// A card. Several files may have it open; each has memory of its own.
pub struct Card {
    pub(crate) settings: Settings,
    pub(crate) model: warpjit_runtime::Chip,
    pub(crate) reporter: Reporter,
    pub(crate) programs: ProgramCache,
    /// Where computed jumps of programs of stages were seen to lead, by the program's address.
    pub(crate) jumps: Mutex<HashMap<u64, Vec<u64>>>,
    /// Made for the first dispatch: programs that only look for cards need no threads.
    engine: OnceLock<Result<Engine, Error>>,
    records: AtomicU64,
}

/// At the end of a process that began `age` ago: what it has asked the compiler for is compiled and stored for the next start, if there is a
/// cache. That keeps the process from ending for ten seconds at most, and no longer than twice the time that it has run. What is left then
/// the next start compiles, and waits for at its own end.
pub fn store_code(settings: &Settings, engine: &Engine, age: Duration) {
    const MOST: Duration = Duration::from_secs(10);
    if settings.cache.is_some() {
        engine.settle((2 * age).min(MOST));
    }
}

impl Card {
    /// A card that nobody has used.
    pub fn new(settings: Settings) -> Arc<Card> {
        Arc::new(Card {
            model: settings.chip.model(),
            reporter: Reporter::new(&settings),
            programs: ProgramCache::default(),
            jumps: Mutex::default(),
            engine: OnceLock::new(),
            records: AtomicU64::new(0),
            settings,
        })
    }

    /// What card it is.
    pub fn chip(&self) -> &'static Chip {
        self.settings.chip
    }

    /// Says something on standard error, in the name of the card.
    pub fn say(&self, what: &str) {
        self.reporter.say(what);
    }

    /// Submissions that ended in a panic, which should be none.
    pub fn internal_errors(&self) -> u64 {
        self.reporter.internal_errors()
    }

    /// The program ends: writes statistics, if they were asked for, and stores compiled code for the next start.
    pub fn finish(&self) {
        self.reporter.finish();
        if let Some(Ok(engine)) = self.engine.get() {
            store_code(&self.settings, engine, self.reporter.age());
        }
    }

    pub(crate) fn engine(&self) -> Result<&Engine, Error> {
        let made = self.engine.get_or_init(|| self.settings.engine(self.reporter.counts()));
        made.as_ref().map_err(Clone::clone)
    }

    pub(crate) fn next_record(&self) -> u64 {
        self.records.fetch_add(1, Ordering::Relaxed)
    }
}

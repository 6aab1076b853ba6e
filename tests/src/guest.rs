//! Small guest programs that are written in a test: assembles them, launches them in all tiers and settings, and compares.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpjit::launch_file::{FilesInMemory, LaunchFile};
use warpjit::outcome::Outcome;
use warpjit::session::Session;
use warpjit_frontend::tesla::{Chip, Target, assemble};
use warpjit_runtime::{Config, Engine, Fault, Tier};

/// A Tesla program with its launch.
#[derive(Clone, Debug)]
pub struct Guest {
    /// The chip.
    pub chip: Chip,
    /// The code.
    pub code: Vec<u8>,
    /// `[launch]` and what follows it in the launch file.
    pub launch: String,
}

impl Guest {
    /// Assembles `source` for a G84, launched as `launch` says.
    ///
    /// # Panics
    ///
    /// Where the source is wrong: it is part of the test.
    pub fn new(source: &str, launch: &str) -> Guest {
        let chip = Chip::G84;
        let code = assemble(source, Target::compute(chip)).unwrap_or_else(|e| panic!("{e}")).code;
        Guest { chip, code, launch: launch.to_owned() }
    }

    /// The launch file.
    ///
    /// # Panics
    ///
    /// Where it is wrong.
    pub fn file(&self) -> LaunchFile {
        let files = BTreeMap::from([(PathBuf::from("code.bin"), self.code.clone())]);
        let files = FilesInMemory { files: Arc::new(files), folder: PathBuf::new() };
        let text = format!(
            "[program]\nisa = 'tesla'\nchip = '{}'\nfile = 'code.bin'\nformat = 'raw'\nregisters = 16\n{}",
            self.chip, self.launch
        );
        LaunchFile::parse(&text, &files, Path::new("guest.toml")).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Runs it once.
    pub fn run(&self, config: Config) -> anyhow::Result<Outcome> {
        let file = self.file();
        let engine = Engine::new(config)?;
        let mut session = Session::new(&file, &engine)?;
        let report = session.run()?;
        session.check(report)
    }

    /// Runs it on both tiers, compiled code with signals and with checked accesses.
    ///
    /// # Panics
    ///
    /// Where the ways differ in status, fault or mismatches.
    #[track_caller]
    pub fn run_everywhere(&self) -> Outcome {
        let way = |tier, checked_memory, chunk_groups| {
            let config = Config::default()
                .tier(tier)
                .checked_memory(checked_memory)
                .chunk_groups(chunk_groups)
                .threads(1);
            self.run(config).unwrap_or_else(|e| panic!("{tier:?}: {e:#}"))
        };
        let wanted = way(Tier::Interp, false, None);
        for (checked, chunk) in
            [(false, None), (true, None), (false, Some(0)), (false, Some(1)), (true, Some(4))]
        {
            let got = way(Tier::Jit, checked, chunk);
            let context = format!("compiled, checked memory {checked}, chunk {chunk:?}");
            assert_eq!(got.fault, wanted.fault, "{context}");
            if chunk == Some(0) && wanted.fault.is_some() {
                // Lanes above the one that faults have not begun.
                continue;
            }
            assert_eq!((got.status, &got.mismatches), (wanted.status, &wanted.mismatches), "{context}");
        }
        wanted
    }

    /// The fault that ends it, the same everywhere.
    ///
    /// # Panics
    ///
    /// Where there is none, or the tiers differ.
    #[track_caller]
    pub fn fault(&self) -> Fault {
        self.run_everywhere().fault.expect("the guest must fault")
    }

    /// Why it cannot be launched.
    ///
    /// # Panics
    ///
    /// Where it can.
    #[track_caller]
    pub fn refusal(&self) -> String {
        let refused = |tier| match self.run(Config::default().tier(tier)) {
            Ok(outcome) => panic!("was launched: {}", outcome.to_text(false)),
            Err(error) => format!("{error:#}"),
        };
        let reason = refused(Tier::Interp);
        assert_eq!(refused(Tier::Jit), reason);
        reason
    }
}

//! What the environment says about the card. `warpjit exec` sets these variables from its options.

use crate::chip::Chip;
use std::path::{Path, PathBuf};
use warpjit_runtime::{CacheConfig, Config, Engine, Error, HostLevel, Tier};

/// Name of the card ([`Chip::find`]).
pub const CHIP: &str = "WARPJIT_EXEC_CHIP";
/// Host threads for dispatches; 0 or nothing: one for each processor.
pub const THREADS: &str = "WARPJIT_EXEC_THREADS";
/// How code is executed: the name of a [`Tier`].
pub const TIER: &str = "WARPJIT_EXEC_TIER";
/// The newest instructions of the host's processor that compiled code uses: the name of a [`HostLevel`].
pub const HOST: &str = "WARPJIT_EXEC_HOST";
/// A file for statistics, or `-` for a table on standard error.
pub const STATS: &str = "WARPJIT_EXEC_STATS";
/// `1`: each submission and dispatch is logged on standard error.
pub const TRACE: &str = "WARPJIT_EXEC_TRACE";
/// A folder for recorded dispatches.
pub const RECORD: &str = "WARPJIT_EXEC_RECORD";
/// A part of a kernel's name: only its dispatches are recorded.
pub const RECORD_KERNEL: &str = "WARPJIT_EXEC_RECORD_KERNEL";
/// The folder for compiled code; empty: none. Unset: the user's.
pub const CACHE: &str = "WARPJIT_EXEC_CACHE";
/// Bytes of the card's memory, in MiB. Unset: half of the machine's.
pub const MEMORY: &str = "WARPJIT_EXEC_MEMORY_MIB";
/// `1`: nothing is said on standard error but what was asked for. For tests with bad input.
pub const QUIET: &str = "WARPJIT_EXEC_QUIET";
/// Process number of the program that `warpjit exec` became: its statistics have the name that [`STATS`] gives, those of other processes
/// have their number in the name.
pub const PROGRAM: &str = "WARPJIT_EXEC_PROGRAM";

/// Where statistics go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatsTo {
    /// A table on standard error.
    Stderr,
    /// A JSON file.
    File(PathBuf),
}

/// Settings of the card.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What card it is.
    pub chip: &'static Chip,
    /// Host threads for dispatches; 0: one for each processor.
    pub threads: usize,
    /// How dispatches are executed.
    pub tier: Tier,
    /// The newest instructions that compiled code uses.
    pub host: HostLevel,
    /// Where statistics go, if anywhere.
    pub stats: Option<StatsTo>,
    /// Whether submissions and dispatches are logged.
    pub trace: bool,
    /// The folder for recorded dispatches.
    pub record: Option<PathBuf>,
    /// A part of the names of kernels whose dispatches are recorded; nothing: of all.
    pub record_kernel: String,
    /// Compiled code on disk.
    pub cache: Option<CacheConfig>,
    /// Bytes of the card's memory.
    pub memory: u64,
    /// Nothing is said on standard error: for tests with bad input.
    pub quiet: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            chip: Chip::usual(),
            threads: 0,
            tier: Tier::Auto,
            host: HostLevel::Native,
            stats: None,
            trace: false,
            record: None,
            record_kernel: String::new(),
            cache: None,
            memory: 2 << 30,
            quiet: false,
        }
    }
}

impl Settings {
    /// The folder for a kernel's recorded dispatches, if they are recorded.
    pub fn record_folder(&self, kernel: impl FnOnce() -> String) -> Option<&Path> {
        let folder = self.record.as_deref()?;
        let is_wanted = self.record_kernel.is_empty() || kernel().contains(&self.record_kernel);
        is_wanted.then_some(folder)
    }

    /// An engine that runs dispatches as they say. `counts`: with counts of instructions.
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn engine(&self, counts: bool) -> Result<Engine, Error> {
        let config = Config::default().threads(self.threads).tier(self.tier).host(self.host);
        Engine::new(config.cache(self.cache.clone()).count(counts))
    }

    /// What the environment says, by a function that gives its variables.
    ///
    /// # Errors
    /// A text that names the variable whose value is not possible.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Settings, String> {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        let number = |name: &str| match given(name) {
            None => Ok(None),
            Some(value) => {
                value.parse::<u64>().map(Some).map_err(|_| format!("{name} is {value:?}, which is no number"))
            }
        };
        let tier = given(TIER).map_or(Ok(Tier::default()), |name| {
            Tier::of_name(&name).ok_or_else(|| impossible(TIER, &name, Tier::ALL.map(Tier::name)))
        })?;
        let host = given(HOST).map_or(Ok(HostLevel::default()), |name| {
            HostLevel::of_name(&name)
                .ok_or_else(|| impossible(HOST, &name, HostLevel::ALL.map(HostLevel::name)))
        })?;
        Ok(Settings {
            chip: given(CHIP).map_or(Ok(Chip::usual()), |name| Chip::find(&name))?,
            threads: number(THREADS)?.unwrap_or(0) as usize,
            tier,
            host,
            stats: given(STATS).map(|to| match to.as_str() {
                "-" => StatsTo::Stderr,
                file => StatsTo::File(file.into()),
            }),
            trace: given(TRACE).is_some_and(|value| value != "0"),
            record: given(RECORD).map(PathBuf::from),
            record_kernel: given(RECORD_KERNEL).unwrap_or_default(),
            cache: match variable(CACHE) {
                None => CacheConfig::of_user(),
                Some(folder) if folder.is_empty() => None,
                Some(folder) => Some(CacheConfig::new(folder)),
            },
            memory: number(MEMORY)?.map_or_else(machine_memory, |mib| mib.clamp(64, 1 << 20) << 20),
            quiet: given(QUIET).is_some_and(|value| value != "0"),
        })
    }
}

/// Half of the machine's memory, in whole 256 MiB.
fn machine_memory() -> u64 {
    const UNIT: u64 = 256 << 20;
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(4 << 20);
    ((kib << 10) / 2 / UNIT).clamp(1, 64 << 30 >> 28) * UNIT
}

/// What is wrong with a variable that has a name which is none of the possible ones.
fn impossible(variable: &str, name: &str, [first, second, last]: [&str; 3]) -> String {
    format!("{variable} is {name:?}; possible are {first}, {second} and {last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_are_recorded() {
        let of = |record: Option<&str>, kernel: &str| Settings {
            record: record.map(PathBuf::from),
            record_kernel: kernel.to_owned(),
            ..Settings::default()
        };
        let name = || "_Z3addPf".to_owned();
        assert_eq!(of(Some("/a"), "").record_folder(name), Some(Path::new("/a")));
        assert_eq!(of(Some("/a"), "add").record_folder(name), Some(Path::new("/a")));
        assert_eq!(of(Some("/a"), "mul").record_folder(name), None);
        assert_eq!(of(None, "add").record_folder(name), None);
    }

    #[test]
    fn variables() {
        let read = |pairs: &[(&str, &str)]| {
            Settings::read(|name| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let usual = read(&[(CACHE, "")]).unwrap();
        assert_eq!((usual.chip.name, usual.threads, usual.tier), ("polaris10", 0, Tier::Auto));
        assert!(usual.stats.is_none() && usual.cache.is_none() && !usual.trace);
        assert_eq!(usual.host, HostLevel::Native);
        let said = read(&[
            (CHIP, "gfx906"),
            (THREADS, "3"),
            (TIER, "jit"),
            (HOST, "sse4.1"),
            (STATS, "-"),
            (TRACE, "1"),
            (MEMORY, "512"),
        ])
        .unwrap();
        assert_eq!(
            (said.chip.name, said.threads, said.tier, said.memory),
            ("vega20", 3, Tier::Jit, 512 << 20)
        );
        assert_eq!((said.stats, said.host), (Some(StatsTo::Stderr), HostLevel::Sse41));
        for (pair, error) in [
            ((CHIP, "voodoo"), "voodoo"),
            ((THREADS, "many"), THREADS),
            ((TIER, "fast"), "interp, jit"),
            ((HOST, "sse2"), "native, avx2"),
        ] {
            assert!(read(&[pair]).unwrap_err().contains(error));
        }
    }
}

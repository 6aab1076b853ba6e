//! The cache of compiled code on disk, so that a program that has run before starts with its code.
//!
//! A file holds all compiled regions of one kernel for one set of options. Its name is the key: a digest of the lifted kernel, of
//! the options that code depends on, of the code generator, of the host and its features, and of the build of this compiler (a
//! hash of its sources and of `Cargo.lock`, made by `build.rs`). A file has a checksum; a truncated or changed file, or one of
//! another version, counts as missing and is replaced when there is something to write. A file is written under another name and
//! then renamed, so that other processes see a complete file or none. If the folder exceeds its size limit, the least recently
//! used files are removed.
//!
//! A file is read once, when a program first meets an engine (`exec/jit/stored.rs`); nothing is analysed or compiled then. Pure functions
//! and tables are stored by name (`warpjit_frontend::registry`). New code is stored in the background once no launch waits for code, at
//! the latest when the program is dropped, or by `Engine::settle` where a process ends without dropping any. A file that is there is
//! read, added to and replaced under a lock of the process's threads and of processes (`Store::update`), so that of two who store at the
//! same time neither loses its code. Another process that keeps the lock is waited for only a moment.

#[cfg(feature = "cache")]
mod store;

use std::path::PathBuf;

#[cfg(feature = "cache")]
pub(crate) use store::{Key, Store};

/// The folder and the size limit of the code cache ([`crate::Config::cache`]).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CacheConfig {
    /// The folder. It is created when needed, accessible only to this user. It is not used if it is a link, belongs to
    /// another user, or is writable for others.
    pub folder: PathBuf,
    /// Most bytes of all files in it.
    pub max_bytes: u64,
}

crate::setters::setters! {
    CacheConfig {
        folder: PathBuf,
        max_bytes: u64,
    }
}

impl CacheConfig {
    /// A cache of 256 MiB in a folder.
    pub fn new(folder: impl Into<PathBuf>) -> CacheConfig {
        CacheConfig { folder: folder.into(), max_bytes: 256 << 20 }
    }

    /// A cache in `warpjit` under the user's cache folder: `$XDG_CACHE_HOME`, or else `~/.cache` (`~/Library/Caches` on
    /// macOS). `None` if the environment names neither.
    pub fn of_user() -> Option<CacheConfig> {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let below_home = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
        let caches = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(below_home)))?;
        Some(CacheConfig::new(caches.join("warpjit")))
    }
}

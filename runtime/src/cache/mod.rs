//! Compiled code on disk, so that a program that has run before starts with it.
//!
//! A file holds all compiled regions of one kernel with one set of options. Its name is the key: a digest of the kernel as it was
//! lifted, of the options that code depends on, of the code generator, of the host and its features, and of the build of this compiler (a hash of its
//! sources and of `Cargo.lock`, made by `build.rs`). A file has a checksum; one that is cut, changed or of another version is
//! as good as none, and is replaced when there is something to write. Files are written beside and renamed, so that
//! other processes see a whole file or none. Beyond a size, what was not used for longest goes.

pub(crate) mod bytes;
pub(crate) mod digest;
mod store;

use std::path::PathBuf;

pub(crate) use store::{Key, Store};

/// Where compiled code is kept, and how much of it ([`crate::Config::cache`]).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CacheConfig {
    /// The folder; made when it is needed, for this user alone. It is not used if it is a link, belongs to another user or may be written to by
    /// others.
    pub folder: PathBuf,
    /// Most bytes that the files in it may take together.
    pub max_bytes: u64,
}

impl CacheConfig {
    /// 256 MiB in a folder.
    pub fn new(folder: impl Into<PathBuf>) -> CacheConfig {
        CacheConfig { folder: folder.into(), max_bytes: 256 << 20 }
    }

    /// `warpjit` in the user's folder for caches: `$XDG_CACHE_HOME`, or else `~/.cache` (`~/Library/Caches` on macOS). `None`
    /// where the environment names neither.
    pub fn of_user() -> Option<CacheConfig> {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let below_home = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
        let caches = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(below_home)))?;
        Some(CacheConfig::new(caches.join("warpjit")))
    }
}

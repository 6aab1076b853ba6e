//! The files of the cache.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::CacheConfig;
use super::bytes::{Reader, Writer};
use super::digest::checksum;

/// What a file begins with.
const MAGIC: u64 = u64::from_le_bytes(*b"warpjit\x01");
/// Bytes before the contents: magic, key, length, checksum.
const HEADER: usize = 40;
/// Larger files are none of ours.
const MOST_BYTES: u64 = 1 << 30;
/// How old a file must be that somebody began to write, before it is taken for abandoned.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Numbers files that are being written, within this process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// What a file is found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub [u64; 2]);

/// A folder of cached code. It fails in silence: without a cache everything works, only slower.
#[derive(Debug)]
pub struct Store {
    config: CacheConfig,
}

impl Store {
    /// In the configured folder, which need not exist.
    pub fn new(config: CacheConfig) -> Store {
        Store { config }
    }

    fn path(&self, key: Key) -> PathBuf {
        self.config.folder.join(format!("{:016x}{:016x}.code", key.0[0], key.0[1]))
    }

    /// What is stored under a key, if it is whole; it counts as used.
    pub fn load(&self, key: Key) -> Option<Vec<u8>> {
        if !is_ours(&self.config.folder) {
            return None;
        }
        let mut file = open(&self.path(key))?;
        let length = file.metadata().ok()?.len();
        if length > MOST_BYTES {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(length).ok()? + 1);
        file.read_to_end(&mut bytes).ok()?;
        check(&bytes, key)?;
        bytes.drain(..HEADER);
        // What was used last stays longest.
        let _ = file.set_modified(SystemTime::now());
        Some(bytes)
    }

    /// Stores contents under a key, in place of what is there.
    pub fn save(&self, key: Key, contents: &[u8]) {
        let bytes = (contents.len() + HEADER) as u64;
        // Beyond the limit of the process for files, writing would end it by a signal.
        let most = rustix::process::getrlimit(rustix::process::Resource::Fsize).current.unwrap_or(u64::MAX);
        if bytes > self.config.max_bytes.min(MOST_BYTES).min(most) {
            return;
        }
        let folder = &self.config.folder;
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        if !is_ours(folder) {
            return;
        }
        let mut header = Writer::default();
        header.u64(MAGIC);
        header.u64(key.0[0]);
        header.u64(key.0[1]);
        header.length(contents.len());
        header.u64(checksum(contents));
        // Before it is written, so that the folder does not grow beyond its size meanwhile.
        self.evict(bytes);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let beside = folder.join(format!("{}-{number}.tmp", std::process::id()));
        let write = || -> std::io::Result<()> {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
            file.write_all(&header.0)?;
            file.write_all(contents)?;
            drop(file);
            // An empty folder of that name, which a file cannot replace, is nobody's.
            let _ = fs::remove_dir(self.path(key));
            fs::rename(&beside, self.path(key))
        };
        if write().is_err() {
            let _ = fs::remove_file(&beside);
        }
        // Others may have written too.
        self.evict(0);
    }

    /// Removes what was not used for longest until the rest and `more` bytes fit.
    fn evict(&self, more: u64) {
        let Ok(entries) = fs::read_dir(&self.config.folder) else { return };
        let mut files = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(data) = entry.metadata() else { continue };
            let modified = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("code") if data.is_file() => files.push((modified, data.len(), path)),
                Some("tmp") if modified.elapsed().is_ok_and(|age| age > ABANDONED) => {
                    let _ = fs::remove_file(path);
                }
                _ => {}
            }
        }
        let mut all = more + files.iter().map(|file| file.1).sum::<u64>();
        if all <= self.config.max_bytes {
            return;
        }
        files.sort();
        for (_, bytes, path) in files {
            if all <= self.config.max_bytes {
                break;
            }
            // Another process may have been faster: it is gone either way.
            let _ = fs::remove_file(path);
            all -= bytes;
        }
    }
}

/// Whether a folder belongs to this user, and nobody else may write there: what lies in it is executed.
fn is_ours(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|data| {
        data.is_dir() && data.uid() == rustix::process::geteuid().as_raw() && data.mode() & 0o022 == 0
    })
}

/// Opens a plain file, not what a link leads to.
fn open(path: &Path) -> Option<File> {
    let file =
        OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}

/// Whether a file is whole and what was asked for.
fn check(file: &[u8], key: Key) -> Option<()> {
    let (header, contents) = file.split_at_checked(HEADER)?;
    let mut header = Reader(header);
    let mut is = |wanted: u64| header.u64().filter(|&found| found == wanted);
    is(MAGIC)?;
    is(key.0[0])?;
    is(key.0[1])?;
    is(contents.len() as u64)?;
    is(checksum(contents))?;
    Some(())
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;

//! The files of the cache.
//!
//! What lies in the folder is executed, so all goes through its descriptor: it is opened once for each thing that is done, not through a link at its
//! end, and must belong to this user, with no rights to write for others. Files are opened, made, renamed and removed in that very
//! folder, whatever its name means meanwhile, and are looked at by their descriptors: plain ones, this user's, with one name.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, open, openat, renameat, statat, unlinkat};

use super::CacheConfig;
use super::bytes::{Reader, Writer};
use super::digest::{self, checksum};

/// What a file begins with.
const MAGIC: u64 = u64::from_le_bytes(*b"warpjit\x02");
/// Bytes before the contents: magic, key, length, checksum.
const HEADER: usize = 16 + 2 * digest::BYTES;
/// Larger files are none of ours.
const MOST_BYTES: u64 = 1 << 30;
/// How old a file must be that somebody began to write, before it is taken for abandoned.
const ABANDONED: Duration = Duration::from_secs(3600);
/// Rights of others to write.
const OTHERS_WRITE: u32 = 0o022;

/// Numbers files that are being written, within this process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// What a file is found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub [u8; digest::BYTES]);

impl Key {
    /// The name of the file.
    fn name(&self) -> String {
        let hex: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        hex + ".code"
    }
}

/// A folder of cached code. It fails in silence: without a cache everything works, only slower.
#[derive(Debug)]
pub struct Store {
    config: CacheConfig,
}

/// The folder while something is done in it.
struct Folder(OwnedFd);

impl Store {
    /// In the configured folder, which need not exist.
    pub fn new(config: CacheConfig) -> Store {
        Store { config }
    }

    /// What is stored under a key, if it is whole; it counts as used.
    pub fn load(&self, key: Key) -> Option<Vec<u8>> {
        let folder = Folder::open(&self.config)?;
        let (mut file, data) = folder.file(&key.name())?;
        if data.len() > MOST_BYTES {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(data.len()).ok()? + 1);
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
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(&self.config.folder);
        let Some(folder) = Folder::open(&self.config) else { return };
        let mut header = Writer::default();
        header.u64(MAGIC);
        header.0.extend(key.0);
        header.length(contents.len());
        header.0.extend(checksum(&key.0, contents));
        // Before it is written, so that the folder does not grow beyond its size meanwhile.
        folder.evict(self.config.max_bytes, bytes);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let beside = format!("{}-{number}.tmp", std::process::id());
        let write = || -> std::io::Result<()> {
            let mut file = folder.new_file(&beside)?;
            file.write_all(&header.0)?;
            file.write_all(contents)?;
            drop(file);
            // An empty folder of that name, which a file cannot replace, is nobody's.
            let _ = unlinkat(&folder.0, key.name(), AtFlags::REMOVEDIR);
            Ok(renameat(&folder.0, &beside, &folder.0, key.name())?)
        };
        if write().is_err() {
            folder.remove(beside.as_ref());
        }
        // Others may have written too.
        folder.evict(self.config.max_bytes, 0);
    }
}

/// Whether a file or folder belongs to this user, and nobody else may write there.
fn is_ours(data: &fs::Metadata) -> bool {
    data.uid() == rustix::process::geteuid().as_raw() && data.mode() & OTHERS_WRITE == 0
}

impl Folder {
    /// Opens the folder, if it is one of this user's that nobody else may write to, and no link.
    fn open(config: &CacheConfig) -> Option<Folder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Behind a name that ends in a slash or a dot the system follows a link.
        let path: PathBuf = config.folder.components().collect();
        let folder = File::from(open(&path, flags, Mode::empty()).ok()?);
        let data = folder.metadata().ok()?;
        (data.is_dir() && is_ours(&data)).then(|| Folder(folder.into()))
    }

    /// Opens a plain file of this user's that has no other name; what it is.
    fn file(&self, name: &str) -> Option<(File, fs::Metadata)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&self.0, name, flags, Mode::empty()).ok()?);
        let data = file.metadata().ok()?;
        (data.is_file() && is_ours(&data) && data.nlink() == 1).then_some((file, data))
    }

    /// Makes a file that is not there yet.
    fn new_file(&self, name: &str) -> std::io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// Removes a file. Another process may have been faster: it is gone either way.
    fn remove(&self, name: &OsStr) {
        let _ = unlinkat(&self.0, name, AtFlags::empty());
    }

    /// Removes what was not used for longest until the rest and `more` bytes fit.
    fn evict(&self, max_bytes: u64, more: u64) {
        let Ok(entries) = Dir::read_from(&self.0) else { return };
        let mut files = Vec::new();
        for entry in entries.flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
            let kind = name.as_bytes().rsplit(|&byte| byte == b'.').next();
            if !matches!(kind, Some(b"code" | b"tmp")) {
                continue;
            }
            let Ok(data) = statat(&self.0, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if FileType::from_raw_mode(data.st_mode) != FileType::RegularFile {
                continue;
            }
            let since = Duration::new(data.st_mtime.try_into().unwrap_or(0), data.st_mtime_nsec as u32);
            let modified = SystemTime::UNIX_EPOCH + since;
            match kind {
                Some(b"code") => files.push((modified, data.st_size as u64, name)),
                _ if modified.elapsed().is_ok_and(|age| age > ABANDONED) => self.remove(&name),
                _ => {}
            }
        }
        let mut all = files.iter().fold(more, |all, file| all.saturating_add(file.1));
        if all <= max_bytes {
            return;
        }
        files.sort();
        for (_, bytes, name) in files {
            if all <= max_bytes {
                break;
            }
            self.remove(&name);
            all = all.saturating_sub(bytes);
        }
    }
}

/// Whether a file is whole and what was asked for.
fn check(file: &[u8], key: Key) -> Option<()> {
    let (header, contents) = file.split_at_checked(HEADER)?;
    let mut header = Reader(header);
    let is = |right: bool| right.then_some(());
    is(header.u64()? == MAGIC)?;
    is(*header.array()? == key.0)?;
    is(header.u64()? == contents.len() as u64)?;
    is(*header.array()? == checksum(&key.0, contents))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;

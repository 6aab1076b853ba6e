//! The files of the cache, and the checks that nobody else has written them.
//!
//! The contents of the folder are executed. So every operation opens the folder once and then uses its descriptor. The folder
//! must not be a link, must belong to this user, and nobody else may have the right to write to it. Files are opened, created,
//! renamed and removed relative to the descriptor, whatever the folder's path means meanwhile. A file must be a regular file of
//! this user's with a single name.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, open, openat, renameat, statat, unlinkat,
};

use super::CacheConfig;
use crate::bytes::{Reader, Writer};
use crate::digest::{self, checksum};
use crate::fork::Mutex;

/// First bytes of a file.
const MAGIC: u64 = u64::from_le_bytes(*b"warpjit\x02");
/// Bytes before the contents: magic, key, length, checksum.
const HEADER: usize = 16 + 2 * digest::BYTES;
/// Larger files are ignored.
const MOST_BYTES: u64 = 1 << 30;
/// Age at which a partly written file counts as abandoned.
const ABANDONED: Duration = Duration::from_secs(3600);
/// How long a change waits for one of another process, which may have been stopped. Without the lock, one of two may lose what the other
/// has stored.
const TIME_LIMIT: Duration = Duration::from_millis(500);
/// Permission bits that let others write.
const OTHERS_WRITE: u32 = 0o022;

/// Makes names of temporary files unique within this process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Held by the thread of this process that changes a file by what is in it.
static CHANGE: Mutex<()> = Mutex::new(());

/// The key of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub [u8; digest::BYTES]);

impl Key {
    /// The name of the file.
    fn name(&self) -> String {
        let hex: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        hex + ".code"
    }
}

/// A folder of cached code. Errors are ignored, because without a cache everything works, only slower.
#[derive(Debug)]
pub struct Store {
    config: CacheConfig,
}

/// The folder, opened for one operation.
struct Folder(OwnedFd);

impl Store {
    /// A store in the configured folder, which need not exist.
    pub fn new(config: CacheConfig) -> Store {
        Store { config }
    }

    /// The contents stored under a key, if complete. Marks them as used.
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
        // The time of the last use decides what is evicted first.
        let _ = file.set_modified(SystemTime::now());
        Some(bytes)
    }

    /// Stores what `change` makes of the contents under a key. Meanwhile no other thread or process changes a file in this way, so nothing
    /// is lost of what two make at the same time.
    pub fn update(&self, key: Key, change: impl FnOnce(Option<&[u8]>) -> Vec<u8>) {
        let _one = CHANGE.lock();
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(&self.config.folder);
        // Unlocked when its descriptor is closed.
        let folder = Folder::open(&self.config);
        if let Some(folder) = &folder {
            folder.lock();
        }
        let before = self.load(key);
        self.save(key, &change(before.as_deref()));
    }

    /// Stores contents under a key, replacing what is there.
    fn save(&self, key: Key, contents: &[u8]) {
        let bytes = (contents.len() + HEADER) as u64;
        // Writing beyond the process's file size limit would raise a signal that ends the process.
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
        // Make room before writing, so that the folder never exceeds its limit.
        folder.evict(self.config.max_bytes, bytes);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let beside = format!("{}-{number}.tmp", std::process::id());
        let write = || -> std::io::Result<()> {
            let mut file = folder.new_file(&beside)?;
            file.write_all(&header.0)?;
            file.write_all(contents)?;
            drop(file);
            // A rename cannot replace a folder, so remove an empty folder of that name.
            let _ = unlinkat(&folder.0, key.name(), AtFlags::REMOVEDIR);
            Ok(renameat(&folder.0, &beside, &folder.0, key.name())?)
        };
        if write().is_err() {
            folder.remove(beside.as_ref());
        }
        // Other processes may have written meanwhile.
        folder.evict(self.config.max_bytes, 0);
    }
}

/// Whether a file or folder belongs to this user and is not writable for others.
fn is_ours(data: &fs::Metadata) -> bool {
    data.uid() == rustix::process::geteuid().as_raw() && data.mode() & OTHERS_WRITE == 0
}

impl Folder {
    /// Opens the folder, if it is not a link, belongs to this user and is not writable for others.
    fn open(config: &CacheConfig) -> Option<Folder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // The system follows a link if the path ends in a slash or a dot, so remove these.
        let path: PathBuf = config.folder.components().collect();
        let folder = File::from(open(&path, flags, Mode::empty()).ok()?);
        let data = folder.metadata().ok()?;
        (data.is_dir() && is_ours(&data)).then(|| Folder(folder.into()))
    }

    /// Keeps other processes from changing files by what is in them, if they give way in time.
    fn lock(&self) {
        let start = Instant::now();
        // Any other error: the file system has no locks.
        while flock(&self.0, FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK)
            && start.elapsed() < TIME_LIMIT
        {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Opens a regular file of this user's with a single name; returns it with its metadata.
    fn file(&self, name: &str) -> Option<(File, fs::Metadata)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&self.0, name, flags, Mode::empty()).ok()?);
        let data = file.metadata().ok()?;
        (data.is_file() && is_ours(&data) && data.nlink() == 1).then_some((file, data))
    }

    /// Creates a file that must not exist yet.
    fn new_file(&self, name: &str) -> std::io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// Removes a file. It does not matter if another process was faster.
    fn remove(&self, name: &OsStr) {
        let _ = unlinkat(&self.0, name, AtFlags::empty());
    }

    /// Removes the least recently used files until the rest and `more` bytes fit.
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

/// Checks that a file is complete and belongs to the key.
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

//! Reads the files that a launch file names.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A place that holds a launch file and the files it names.
///
/// Paths are relative to the launch file. The packed corpus of the tests is one such place, a
/// directory is another.
pub trait Files {
    /// The content of the file at `path`.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
}

/// Most bytes of a file: the largest buffer is filled by one.
const MOST_BYTES: u64 = 1 << 32;

/// The content of a plain file: as much of it as it says that it has. A device or a pipe may have no end, and neither
/// may a file of the system's that says it has none.
///
/// # Errors
///
/// Of the file system; where it is no plain file, or larger than the largest buffer.
pub fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for its other end.
    let is_plain = |kind: &std::fs::Metadata| match kind.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file")),
    };
    is_plain(&std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    let kind = file.metadata()?;
    is_plain(&kind)?;
    if kind.len() > MOST_BYTES {
        let text = format!("{} bytes are more than {MOST_BYTES}", kind.len());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    let mut content = Vec::new();
    file.take(kind.len()).read_to_end(&mut content)?;
    Ok(content)
}

/// A directory of the file system. Only plain files in it are read.
#[derive(Clone, Debug)]
pub struct Directory(pub PathBuf);

impl Files for Directory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        read_plain(&self.0.join(path))
    }
}

/// Files in memory, by path, seen from one of its folders.
#[derive(Clone, Debug, Default)]
pub struct FilesInMemory {
    /// The content of each file, by its path from the root.
    pub files: Arc<BTreeMap<PathBuf, Vec<u8>>>,
    /// The folder that relative paths start from.
    pub folder: PathBuf,
}

impl Files for FilesInMemory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut whole = PathBuf::new();
        for part in self.folder.join(path).components() {
            match part {
                Component::ParentDir => {
                    whole.pop();
                }
                Component::CurDir => {}
                other => whole.push(other),
            }
        }
        let found = self.files.get(&whole);
        found.cloned().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such file"))
    }
}

//! Reads the corpus of the repository: folders of files, packed or not.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

/// The files of a folder by their names.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A part of the corpus by its name below `tests/corpus`.
fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus").join(name)
}

/// The folders of a packed part, `NAME.tar.gz`.
pub fn packed(name: &str) -> BTreeMap<String, Files> {
    let path = place(&format!("{name}.tar.gz"));
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    let mut folders: BTreeMap<String, Files> = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().into_owned();
        let (Some(folder), Some(file)) = (path.parent(), path.file_name()) else { continue };
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        let files = folders.entry(folder.to_string_lossy().into_owned()).or_default();
        files.insert(file.to_string_lossy().into_owned(), content);
    }
    folders
}

/// The folders of a part that is not packed.
pub fn unpacked(name: &str) -> BTreeMap<String, Files> {
    let path = place(name);
    let entries = fs::read_dir(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut folders = BTreeMap::new();
    for entry in entries {
        let folder = entry.unwrap().path();
        let mut files = Files::new();
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            files.insert(entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap());
        }
        folders.insert(folder.file_name().unwrap().to_string_lossy().into_owned(), files);
    }
    folders
}

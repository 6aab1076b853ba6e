//! Finds and reads the launch files of the corpus.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use warpjit::launch_file::{Directory, Files, FilesInMemory, LaunchFile, LaunchFileError};

/// One launch file and the place it stands in.
#[derive(Clone)]
pub struct Case {
    /// Name for the list of tests, such as `tesla/mandelbrot`.
    pub name: String,
    /// Where its files are read from.
    pub files: Arc<dyn Files + Send + Sync>,
    /// The launch file's name in that place.
    pub launch: PathBuf,
}

impl Case {
    /// Reads the launch file.
    pub fn load(&self) -> Result<LaunchFile, LaunchFileError> {
        LaunchFile::load_from(&*self.files, &self.launch, &Path::new(&self.name).join(&self.launch))
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder with the corpus that belongs to the project.
pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// What tests with programs of others need, in words.
pub const THIRD_PARTY: &str = "../shared/corpus/third-party";

/// A part of the programs of others, where it is: `corpus/third-party/PART` in the folder that `WARPJIT_SHARED` names, or in `../shared`
/// seen from the repository, or from the folder that worktrees lie in.
pub fn third_party(part: &str) -> Option<PathBuf> {
    let named = std::env::var_os("WARPJIT_SHARED").map(PathBuf::from);
    let beside = ["../shared", "../../shared"].map(|p| root().join(p));
    let folder = |shared: PathBuf| shared.join("corpus/third-party").join(part);
    named.into_iter().chain(beside).map(folder).find(|folder| folder.is_dir())
}

/// All launch files in the folders below `folder`; `prefix` starts their names.
pub fn in_folder(folder: &Path, prefix: &str) -> io::Result<Vec<Case>> {
    let mut cases = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(|e| e.file_name());
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            cases.extend(in_folder(&path, &format!("{prefix}/{name}"))?);
        } else if let Some(case) = case_name(prefix, &name) {
            cases.push(Case {
                name: case,
                files: Arc::new(Directory(folder.to_path_buf())),
                launch: name.into(),
            });
        }
    }
    Ok(cases)
}

/// What the launch file called `name` in a folder is called in the list of tests, if it is one: the folder for
/// `launch.toml`, and `NAME` in it for `NAME.launch.toml`.
fn case_name(folder: &str, name: &str) -> Option<String> {
    let stem = name.strip_suffix("launch.toml")?;
    Some(match stem.strip_suffix('.') {
        Some(stem) => format!("{folder}/{stem}"),
        None => folder.to_owned(),
    })
}

/// The launch files of a packed corpus; `prefix` starts their names.
pub fn in_archive(archive: &Path, prefix: &str) -> io::Result<Vec<Case>> {
    let files = Arc::new(unpack(archive)?);
    let case = |path: &PathBuf| {
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let launch = path.file_name()?;
        let name = case_name(&format!("{prefix}/{}", folder.display()), &launch.to_string_lossy())?;
        Some(Case {
            name,
            files: Arc::new(FilesInMemory { files: files.clone(), folder }),
            launch: launch.into(),
        })
    };
    Ok(files.keys().filter_map(case).collect())
}

/// Every launch file for GCN: compiled kernels, families of single instructions, a driver's shaders, accesses to images.
pub fn gcn() -> io::Result<Vec<Case>> {
    let mut cases = in_folder(&corpus().join("gcn"), "gcn")?;
    for archive in ["gcn-asm", "gcn-radv", "gcn-images"] {
        cases.extend(in_archive(&corpus().join(format!("{archive}.tar.gz")), archive)?);
    }
    Ok(cases)
}

/// Every launch file for Tesla: the project's own, and third-party ones where they exist.
pub fn tesla() -> io::Result<Vec<Case>> {
    let mut cases = in_folder(&corpus().join("tesla"), "tesla")?;
    cases.extend(in_archive(&corpus().join("tesla-op.tar.gz"), "tesla-op")?);
    cases.extend(in_folder(&corpus().join("tesla-words"), "tesla-words")?);
    if let Some(folder) = third_party("tesla") {
        cases.extend(in_folder(&folder, "third-party/tesla")?);
    }
    Ok(cases)
}

/// Every launch file for Fermi: the project's own, and third-party ones where they exist.
pub fn fermi() -> io::Result<Vec<Case>> {
    let mut cases = in_folder(&corpus().join("fermi"), "fermi")?;
    if let Some(folder) = third_party("fermi") {
        cases.extend(in_folder(&folder, "third-party/fermi")?);
    }
    Ok(cases)
}

/// Every launch file of graphics stages and textures.
pub fn graphics() -> io::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for archive in
        ["tesla-graphics", "fermi-graphics", "gcn-graphics", "gcn-radv-graphics", "nouveau-graphics"]
    {
        cases.extend(in_archive(&corpus().join(format!("{archive}.tar.gz")), archive)?);
    }
    Ok(cases)
}

/// Every launch file for VP1.
pub fn vp1() -> io::Result<Vec<Case>> {
    in_archive(&corpus().join("vp1-op.tar.gz"), "vp1-op")
}

/// Reads all files of a packed corpus.
pub fn unpack(archive: &Path) -> io::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut tar = tar::Archive::new(GzDecoder::new(File::open(archive)?));
    for entry in tar.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        files.insert(path, content);
    }
    Ok(files)
}

/// Packs all files below `folder` into `archive`. The same files give the same archive.
pub fn pack(folder: &Path, archive: &Path) -> io::Result<usize> {
    let mut files = Vec::new();
    list(folder, Path::new(""), &mut files)?;
    files.sort();
    let gzip = GzEncoder::new(File::create(archive)?, Compression::best());
    let mut tar = tar::Builder::new(gzip);
    for path in &files {
        let content = fs::read(folder.join(path))?;
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        tar.append_data(&mut header, path, content.as_slice())?;
    }
    tar.into_inner()?.finish()?.flush()?;
    Ok(files.len())
}

fn list(root: &Path, folder: &Path, out: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() { list(root, &path, out)? } else { out.push(path) }
    }
    Ok(())
}

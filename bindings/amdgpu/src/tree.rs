//! The folder that stands for `/dev/dri` and for what `/sys` says of the card: plain files, the same for all processes of a user. Also for
//! what rocminfo looks at before it asks HSA: that the kernel has the driver's module, and that `/dev/kfd` can be opened.

use std::ffi::{CStr, CString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use warpjit_card::chip::Chip;

/// Device numbers: those of the kernel's DRM devices, the first card's node and its render node.
pub const MAJOR: u32 = 226;
/// The render node's minor number; that of the card's own is 0.
pub const RENDER: u32 = 128;

/// What the paths of the pretended files begin with.
const BEGINNINGS: [&[u8]; 2] = [b"/dev/dri", b"/sys/dev/char/226:"];

/// Files that are pretended by themselves.
const FILES: [&[u8]; 2] = [KFD, b"/proc/modules"];
const KFD: &[u8] = b"/dev/kfd";

/// Whether a path is one of the pretended files, or of their folders.
pub fn is_pretended(path: &CStr) -> bool {
    let path = path.to_bytes();
    FILES.contains(&path)
        || BEGINNINGS.iter().any(|beginning| {
            let rest = path.strip_prefix(*beginning);
            rest.is_some_and(|rest| beginning.ends_with(b":") || rest.is_empty() || rest[0] == b'/')
        })
}

/// The minor number of the node that a path names, if it names one.
pub fn node(path: &CStr) -> Option<u32> {
    match path.to_bytes() {
        b"/dev/dri/card0" => Some(0),
        b"/dev/dri/renderD128" => Some(RENDER),
        _ => None,
    }
}

/// The folder.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// The folder for a card. It is made if it is not there.
    ///
    /// # Errors
    /// A text that says what could not be made. The folder must be this user's, and nobody else may write there.
    pub fn of(chip: &Chip) -> Result<Tree, String> {
        let variable =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let own = rustix::process::geteuid().as_raw();
        let caches = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
        let folders = caches.map(|caches| caches.join("warpjit-cards"));
        let other = std::env::temp_dir().join(format!("warpjit-cards-{own}"));
        let mut reasons = Vec::new();
        for folder in folders.into_iter().chain([other]) {
            match make(&folder, own, chip) {
                Ok(root) => return Ok(Tree { root }),
                Err(error) => reasons.push(format!("{}: {error}", folder.display())),
            }
        }
        Err(format!("the card's files cannot be made ({})", reasons.join("; ")))
    }

    /// Where a pretended file is.
    pub fn real_path(&self, path: &CStr) -> CString {
        let mut real = self.root.clone().into_os_string().into_vec();
        real.extend(path.to_bytes());
        // Neither half has a zero.
        CString::new(real).unwrap_or_default()
    }
}

fn make(folder: &Path, own: u32, chip: &Chip) -> std::io::Result<PathBuf> {
    let private = |path: &Path| fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    private(folder)?;
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() || found.uid() != own || found.mode() & 0o022 != 0 {
        return Err(std::io::Error::other("it belongs to another user, or others may write there"));
    }
    let root = folder.join(chip.name);
    let below = |path: &str| root.join(path);
    private(&below("dev/dri"))?;
    for name in ["card0", "renderD128"] {
        put(&below("dev/dri").join(name), "")?;
    }
    // Nobody writes there: HSA's library is ours, and asks no driver.
    put(&below("dev/kfd"), "")?;
    private(&below("proc"))?;
    put(&below("proc/modules"), "amdgpu 9912320 0 - Live 0x0000000000000000\n")?;
    for minor in [0, RENDER] {
        let device = below(&format!("sys/dev/char/{MAJOR}:{minor}/device"));
        for name in ["card0", "renderD128"] {
            private(&device.join("drm").join(name))?;
        }
        let id = chip.device_id;
        let event = format!(
            "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:{id:04X}\nPCI_SUBSYS_ID=1002:0001\nPCI_SLOT_NAME=0000:01:00.0\n"
        );
        put(&device.join("uevent"), &event)?;
        put(&device.join("vendor"), "0x1002\n")?;
        put(&device.join("device"), &format!("{id:#06x}\n"))?;
        put(&device.join("revision"), &format!("{:#04x}\n", chip.pci_revision))?;
        put(&device.join("subsystem_vendor"), "0x1002\n")?;
        put(&device.join("subsystem_device"), "0x0001\n")?;
        let bus = device.join("subsystem");
        if fs::read_link(&bus).is_ok_and(|target| target.as_os_str().as_bytes() == b"/sys/bus/pci") {
            continue;
        }
        match symlink("/sys/bus/pci", &bus) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(root)
}

/// Writes a file unless it is there as it should be. Others may read it meanwhile, so it is renamed into its place.
fn put(path: &Path, text: &str) -> std::io::Result<()> {
    if fs::read(path).is_ok_and(|found| found == text.as_bytes()) {
        return Ok(());
    }
    let new = path.with_extension(format!("{}.new", std::process::id()));
    fs::write(&new, text)?;
    fs::rename(new, path)
}

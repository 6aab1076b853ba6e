//! `warpjit exec`: starts a program that finds a pretended AMD card, and HSA's library for it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use warpjit::outcome::Status;
use warpjit_card::chip::Chip;
use warpjit_card::settings;

use crate::args::ExecArgs;

/// A library that the program is started with.
struct Library {
    /// The file.
    name: &'static str,
    /// Names the file, if it is not where it is looked for.
    variable: &'static str,
    /// The package that it is built from.
    package: &'static str,
}

/// The card, for Vulkan, OpenGL and OpenCL.
const CARD: Library =
    Library { name: "libwarpjit_amdgpu.so", variable: "WARPJIT_EXEC_LIBRARY", package: "warpjit-amdgpu" };
/// AMD's HSA runtime, for HIP. Its name for the loader (SONAME) is that of AMD's, so who wants that finds this one, which is loaded
/// already.
const HSA: Library =
    Library { name: "libwarpjit_hsa.so", variable: "WARPJIT_EXEC_HSA_LIBRARY", package: "warpjit-hsa" };
/// Folders with the manifests of Vulkan drivers.
const VULKAN_FOLDERS: [&str; 3] =
    ["/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d"];
/// Switches of Mesa's drivers: no compressed colours and depths, whose contents only the graphics engine could read and write. And windows'
/// pictures are not copied by the DMA engine, which the card does not have: RADV else uses it from gfx9 on, without asking whether it is
/// there.
const RADV_DEBUG: &str = "nodcc,nohiz,nofastclears,nofmask,nodma";
/// See [`RADV_DEBUG`]. And shaders are compiled where they are used: radeonsi else compiles them on threads of its own, which crash in LLVM
/// if the program ends meanwhile.
const AMD_DEBUG: &str = "nodcc,nohyperz,nofmask,mono";
/// Windows get their pictures from the CPU: there is no card that the X server could share.
const WINDOWS: &str = "sw";

/// Becomes the program.
pub(super) fn exec(args: &ExecArgs) -> anyhow::Result<Status> {
    let chip = args.chip.as_deref().map(Chip::find).transpose().map_err(anyhow::Error::msg)?;
    let libraries = joined(CARD.find()?, Some(HSA.find()?.into()), ":");
    let (program, rest) = args.program.split_first().context("no program is given")?;
    let mut command = Command::new(program);
    command.args(rest);
    command.env("LD_PRELOAD", joined(libraries, env::var_os("LD_PRELOAD"), ":"));
    // The card and HSA have different usual chips.
    if let Some(chip) = chip {
        command.env(settings::CHIP, chip.name);
    }
    command.env(settings::THREADS, args.threads.to_string());
    command.env(settings::TIER, args.tier.name());
    command.env(settings::HOST, args.host.name());
    command.env(settings::PROGRAM, std::process::id().to_string());
    if args.trace {
        command.env(settings::TRACE, "1");
    }
    if let Some(to) = &args.stats {
        command.env(settings::STATS, absolute(to)?);
    }
    if let Some(folder) = &args.record {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        command.env(settings::RECORD, absolute(folder)?);
    }
    if let Some(kernel) = &args.record_kernel {
        command.env(settings::RECORD_KERNEL, kernel);
    }
    match &args.cache_dir {
        _ if args.no_cache => _ = command.env(settings::CACHE, ""),
        Some(folder) => _ = command.env(settings::CACHE, absolute(folder)?),
        None => {}
    }
    for (name, switches) in
        [("RADV_DEBUG", RADV_DEBUG), ("AMD_DEBUG", AMD_DEBUG), ("MESA_VK_WSI_DEBUG", WINDOWS)]
    {
        command.env(name, joined(switches, env::var_os(name), ","));
    }
    if env::var_os("VK_ICD_FILENAMES").is_none() && env::var_os("VK_DRIVER_FILES").is_none() {
        // Newer loaders read the second, older ones the first.
        if let Some(manifest) = vulkan_driver() {
            command.env("VK_ICD_FILENAMES", &manifest).env("VK_DRIVER_FILES", &manifest);
        }
    }
    let error = command.exec();
    Err(error).with_context(|| format!("{} cannot be started", program.display()))
}

/// `first`, and what there is already behind it.
fn joined(first: impl AsRef<OsStr>, more: Option<OsString>, separator: &str) -> OsString {
    let mut all = first.as_ref().to_owned();
    if let Some(more) = more.filter(|more| !more.is_empty()) {
        all.push(separator);
        all.push(more);
    }
    all
}

/// The program may change its folder. `-` is standard error.
fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    if path == Path::new("-") {
        return Ok(path.to_owned());
    }
    std::path::absolute(path).with_context(|| path.display().to_string())
}

impl Library {
    /// Where it is: beside the command, where Cargo puts both, or where an installed tree has libraries.
    fn find(&self) -> anyhow::Result<PathBuf> {
        let Library { name, variable, package } = self;
        if let Some(path) = env::var_os(variable).map(PathBuf::from) {
            if path.is_file() {
                return absolute(&path);
            }
            bail!("{variable} is {}, which is no file", path.display());
        }
        let command = env::current_exe().and_then(std::fs::canonicalize).context("where the command is")?;
        let folder = command.parent().unwrap_or(Path::new("/"));
        let places =
            [folder.join(name), folder.join("../lib").join(name), folder.join("../lib/warpjit").join(name)];
        match places.iter().find(|place| place.is_file()) {
            Some(place) => std::fs::canonicalize(place).with_context(|| place.display().to_string()),
            None => bail!(
                "{name} is not beside the command ({}), nor in ../lib or ../lib/warpjit: build it with `cargo build --release -p \
                 {package}`, or name it in {variable}",
                folder.display()
            ),
        }
    }
}

/// The manifest of Mesa's driver for AMD cards, if it is installed.
fn vulkan_driver() -> Option<PathBuf> {
    let wanted = format!("radeon_icd.{}.json", env::consts::ARCH);
    VULKAN_FOLDERS
        .iter()
        .flat_map(|folder| [Path::new(folder).join(&wanted), Path::new(folder).join("radeon_icd.json")])
        .find(|path| path.is_file())
}

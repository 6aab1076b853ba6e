//! Programs that nobody here wrote, with drivers that nobody here changed, on the pretended card. Each test says on standard error that it is
//! skipped where its program or driver is not installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The preload library, which Cargo builds beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("where the test is");
    test.with_file_name("libwarpjit_amdgpu.so")
}

/// Where Mesa's driver is installed, if it is.
fn driver() -> Option<PathBuf> {
    let manifest = format!("/usr/share/vulkan/icd.d/radeon_icd.{}.json", std::env::consts::ARCH);
    Some(PathBuf::from(manifest)).filter(|path| path.is_file())
}

/// A program on a card. The code cache is not the user's.
fn on_card(chip: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", library()).env("WARPJIT_EXEC_CHIP", chip).env("WARPJIT_EXEC_CACHE", "");
    command.env("RADV_DEBUG", "nodcc,nohiz,nofastclears,nofmask,nodma");
    command.env("AMD_DEBUG", "nodcc,nohyperz,nofmask,mono");
    if let Some(driver) = driver() {
        command.env("VK_ICD_FILENAMES", &driver).env("VK_DRIVER_FILES", &driver);
    }
    command
}

fn has_program(name: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(name).is_file())
}

fn skipped(what: &str) {
    eprintln!("skipped: {what} is not installed");
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn vulkaninfo_lists_each_card() {
    if driver().is_none() || !has_program("vulkaninfo") {
        return skipped("vulkaninfo or Mesa's driver for AMD cards");
    }
    for (chip, name) in
        [("tahiti", "TAHITI"), ("hawaii", "HAWAII"), ("polaris10", "POLARIS10"), ("vega20", "VEGA20")]
    {
        let output = on_card(chip, "vulkaninfo").arg("--summary").output().expect("starts");
        let text = text(&output);
        assert!(output.status.success() && text.contains(name), "{chip}: {text}");
    }
}

/// Compiles a program of this folder that uses Vulkan; `None`, and it is said, where something is missing.
fn vulkan_program(name: &str) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name).with_extension("c");
    let program = std::env::temp_dir().join(format!("warpjit-{name}-{}", std::process::id()));
    let compiled = Command::new("cc")
        .arg("-O1")
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .args(["-lvulkan", "-lpthread"])
        .output();
    if driver().is_none() || !compiled.is_ok_and(|output| output.status.success()) {
        skipped("Mesa's driver for AMD cards, a C compiler or Vulkan's headers");
        return None;
    }
    Some(program)
}

#[test]
fn vulkan_client() {
    let Some(program) = vulkan_program("vulkan") else { return };
    for chip in ["tahiti", "bonaire", "polaris10", "vega10"] {
        for family in ["0", "1"] {
            let output = on_card(chip, &program).arg(family).output().expect("starts");
            let text = text(&output);
            assert!(output.status.success() && text.contains("all right"), "{chip}, family {family}: {text}");
        }
    }
    std::fs::remove_file(program).expect("removed");
}

#[test]
fn images_by_the_graphics_queue() {
    let Some(program) = vulkan_program("draws") else { return };
    for chip in ["tahiti", "bonaire", "polaris10", "vega10"] {
        let output = on_card(chip, &program).output().expect("starts");
        let text = text(&output);
        assert!(output.status.success() && text.contains("all right"), "{chip}: {text}");
        assert!(!text.contains("left out"), "{chip}: {text}");
    }
    std::fs::remove_file(program).expect("removed");
}

/// Faults of shaders come out as OpenGL says: the context is lost, which it tells of, and a new one works.
#[test]
fn resets_of_opengl() {
    let folder = env!("CARGO_MANIFEST_DIR");
    let program = std::env::temp_dir().join(format!("warpjit-reset-{}", std::process::id()));
    let mut compiler = Command::new("cc");
    compiler.arg("-O1").arg("-o").arg(&program).arg(Path::new(folder).join("tests/reset.c")).arg("-ldl");
    let has_driver =
        Path::new(&format!("/usr/lib/{}-linux-gnu/dri/radeonsi_dri.so", std::env::consts::ARCH)).is_file();
    if !has_driver || !compiler.output().is_ok_and(|output| output.status.success()) {
        return skipped("radeonsi or a C compiler");
    }
    for chip in ["tahiti", "bonaire", "polaris10", "vega10"] {
        let output = on_card(chip, &program).output().expect("starts");
        let text = text(&output);
        if output.status.code() == Some(77) {
            return skipped("libEGL.so.1");
        }
        assert!(output.status.success() && text.contains("all right"), "{chip}: {text}");
        assert_eq!(text.matches("memory fault in kernel").count(), 1, "{chip}: {text}");
    }
    std::fs::remove_file(program).expect("removed");
}

#[test]
fn opencl_client() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/opencl.c");
    let program = std::env::temp_dir().join(format!("warpjit-opencl-{}", std::process::id()));
    let compiled =
        Command::new("cc").arg("-O1").arg("-o").arg(&program).arg(&source).arg("-lOpenCL").output();
    if !compiled.is_ok_and(|output| output.status.success()) {
        return skipped("a C compiler or OpenCL's headers and library");
    }
    for chip in ["tahiti", "bonaire", "polaris10", "vega10"] {
        let output = on_card(chip, &program).output().expect("starts");
        let text = text(&output);
        if output.status.code() == Some(77) {
            return skipped("Clover");
        }
        assert!(output.status.success() && text.contains("all right"), "{chip}: {text}");
    }
    std::fs::remove_file(program).expect("removed");
}

//! Programs of AMD's own on the library: rocminfo, and programs of `bindings/hsa/clients` as hipcc compiles them. Each test says on standard
//! error that it is skipped where they are not installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What Cargo builds beside this test.
fn library(name: &str) -> PathBuf {
    std::env::current_exe().expect("where the test is").with_file_name(name)
}

/// A program with the library. The code cache is not the user's.
fn on_device(chip: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", library("libwarpjit_hsa.so"));
    command.env("WARPJIT_EXEC_CHIP", chip).env("WARPJIT_EXEC_CACHE", "");
    command
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Chips and what HSA calls them.
const CHIPS: [(&str, &str); 3] = [
    ("polaris10", "amdgcn-amd-amdhsa--gfx803"),
    ("vega10", "amdgcn-amd-amdhsa--gfx900:xnack-"),
    ("vega20", "amdgcn-amd-amdhsa--gfx906:sramecc-:xnack-"),
];

#[test]
fn rocminfo_lists_each_device() {
    let card = library("libwarpjit_amdgpu.so");
    // It looks for the driver's module first, which the other library pretends. Cargo builds that for tests of the whole workspace.
    let has_program = Command::new("rocminfo").output().is_ok();
    if !has_program || !card.is_file() {
        return eprintln!("skipped: rocminfo is not installed, or the other library is not built");
    }
    for (chip, name) in CHIPS {
        let mut command = on_device(chip, "rocminfo");
        let libraries = [card.clone(), library("libwarpjit_hsa.so")].map(|path| path.display().to_string());
        let output = command.env("LD_PRELOAD", libraries.join(":")).output().expect("starts");
        let text = text(&output);
        assert!(output.status.success(), "{chip}: {text}");
        assert!(
            text.lines().any(|line| line.trim_start().starts_with("Name:") && line.contains(name)),
            "{chip}: {text}"
        );
    }
}

/// Compiles a program of `clients` for the three instruction sets; `None` where hipcc is missing.
fn compiled(name: &str) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(format!("{name}.hip.cpp"));
    let program = std::env::temp_dir().join(format!("warpjit-hip-{name}-{}", std::process::id()));
    let mut compiler = Command::new("hipcc");
    compiler.args(["-w", "-std=c++17", "-O2"]);
    compiler.args(["gfx803", "gfx900", "gfx906"].map(|isa| format!("--offload-arch={isa}")));
    let output = compiler.arg(source).arg("-o").arg(&program).output();
    let is_made = output.is_ok_and(|output| output.status.success());
    if !is_made {
        eprintln!("skipped: {name}: hipcc is not installed, or has no libraries");
    }
    is_made.then_some(program)
}

/// Runs a program on each device. It compares its results with the CPU's, and says so.
fn is_right(name: &str) {
    let Some(program) = compiled(name) else { return };
    for (chip, _) in CHIPS {
        let output = on_device(chip, &program).output().expect("starts");
        let text = text(&output);
        assert!(output.status.success() && text.contains("ok ("), "{name} on {chip}: {text}");
    }
    std::fs::remove_file(program).expect("removed");
}

#[test]
fn vector_add() {
    is_right("vector_add");
}

#[test]
fn printf() {
    is_right("printf");
}

#[test]
fn lanes() {
    is_right("lanes");
}

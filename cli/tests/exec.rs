//! `warpjit exec` becomes the program: its exit status, its signals, its children are the program's. What the preload libraries do is
//! tested where they are (bindings/amdgpu, bindings/hsa); here an empty one takes their place.
#![cfg(unix)]

mod common;

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use warpjit_runtime::{HostLevel, Tier};

/// An empty shared library. `None` without a C compiler.
fn library(name: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let (source, library) = (folder.join("empty.c"), folder.join("empty.so"));
    std::fs::write(&source, "int warpjit_test_library = 1;\n").unwrap();
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).output();
    let is_made = made.is_ok_and(|output| output.status.success());
    if !is_made {
        eprintln!("skipped: a C compiler is not installed");
    }
    is_made.then_some(library)
}

/// Runs the command with a library in place of the real ones.
fn exec(library: &PathBuf, options: &[&str], program: &[&str]) -> Output {
    let folder = library.parent().unwrap();
    let mut command = common::command(folder, &["exec"]);
    command
        .args(options)
        .arg("--")
        .args(program)
        .env("WARPJIT_EXEC_LIBRARY", library)
        .env("WARPJIT_EXEC_HSA_LIBRARY", library);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_end_is_the_programs() {
    let Some(library) = library("exec-end") else { return };
    for status in [0, 1, 3, 126, 255] {
        let output = exec(&library, &[], &["sh", "-c", &format!("exit {status}")]);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    }
    for (name, number) in [("KILL", 9), ("TERM", 15), ("ABRT", 6), ("SEGV", 11), ("INT", 2)] {
        let output = exec(&library, &[], &["sh", "-c", &format!("kill -{name} $$")]);
        assert_eq!(output.status.signal(), Some(number), "{output:?}");
    }
}

#[test]
fn it_becomes_the_program() {
    let Some(library) = library("exec-becomes") else { return };
    let folder = library.parent().unwrap();
    let mut command = common::command(folder, &["exec", "--", "sh", "-c", "echo $$; exec sleep 60"]);
    command
        .env("WARPJIT_EXEC_LIBRARY", &library)
        .env("WARPJIT_EXEC_HSA_LIBRARY", &library)
        .stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line)
        .unwrap();
    assert_eq!(line.trim().parse(), Ok(child.id()), "no process stands between");
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[test]
fn arguments_and_streams_are_the_programs() {
    let Some(library) = library("exec-arguments") else { return };
    let output =
        exec(&library, &[], &["sh", "-c", "printf '%s|' \"$@\"; echo error >&2", "x", "--chip", "a b", ""]);
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("--chip|a b||".into(), "error\n".into()));
}

#[test]
fn children_inherit_what_is_set() {
    let Some(library) = library("exec-children") else { return };
    let script = "sh -c 'echo $WARPJIT_EXEC_CHIP $WARPJIT_EXEC_THREADS $WARPJIT_EXEC_TIER $WARPJIT_EXEC_HOST; echo $LD_PRELOAD'; (exit 7)";
    let options = ["--chip", "gfx900", "--threads", "3", "--tier", "interp", "--host", "avx2"];
    let output = exec(&library, &options, &["sh", "-c", script]);
    // Both libraries, which are one here.
    let wanted = format!("vega10 3 interp avx2\n{0}:{0}\n", library.display());
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(7), wanted));
    // What is set already stays behind what is added.
    let folder = library.parent().unwrap();
    let mut command = common::command(
        folder,
        &[
            "exec",
            "--",
            "sh",
            "-c",
            "echo $AMD_DEBUG; echo $LD_PRELOAD; echo $MESA_VK_WSI_DEBUG; echo $RADV_DEBUG",
        ],
    );
    command
        .env("WARPJIT_EXEC_LIBRARY", &library)
        .env("WARPJIT_EXEC_HSA_LIBRARY", &library)
        .env("AMD_DEBUG", "info")
        .env("RADV_DEBUG", "nocache")
        .env("LD_PRELOAD", &library);
    let out = text(&command.output().unwrap().stdout);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("nodcc") && lines[0].ends_with(",info"), "{out}");
    assert_eq!(lines[1..3], [format!("{0}:{0}:{0}", library.display()), "sw".into()]);
    // The card has no DMA engine, which RADV else uses for pictures of windows from gfx9 on.
    let switches: Vec<&str> = lines[3].split(',').collect();
    assert!(switches.contains(&"nodma") && switches.last() == Some(&"nocache"), "{out}");
}

#[test]
fn programs_that_are_not_there() {
    let Some(library) = library("exec-missing") else { return };
    let output = exec(&library, &[], &["/nowhere/program"]);
    assert!(!output.status.success() && text(&output.stderr).contains("/nowhere/program cannot be started"));
    let output = exec(&library, &["--chip", "raven"], &["true"]);
    assert!(!output.status.success() && text(&output.stderr).contains("polaris10"), "{output:?}");
    let missing = library.with_file_name("missing.so");
    let output = exec(&missing, &[], &["true"]);
    assert!(!output.status.success() && text(&output.stderr).contains("which is no file"), "{output:?}");
}

/// The library that Cargo has built beside the tests, which it does for tests of the whole workspace.
fn real(name: &str) -> Option<PathBuf> {
    let place = std::env::current_exe().unwrap().with_file_name(name);
    place.is_file().then_some(place)
}

/// An installed tree: the command in `bin`, the libraries in `lib` or `lib/warpjit`, nothing in the environment. The command finds them by
/// its own place, also if it is called by a link, and with the real libraries the program finds a card.
#[test]
fn an_installed_tree_works_anywhere() {
    let Some(empty) = library("exec-installed") else { return };
    let names = ["libwarpjit_amdgpu.so", "libwarpjit_hsa.so"];
    let found = names.map(real);
    let has_card = found.iter().all(Option::is_some);
    for below in ["lib", "lib/warpjit"] {
        let tree = empty.parent().unwrap().join(below.replace('/', "-"));
        let (bin, libraries) = (tree.join("bin"), tree.join(below));
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::create_dir_all(&libraries).unwrap();
        let command = bin.join("warpjit");
        std::fs::copy(env!("CARGO_BIN_EXE_warpjit"), &command).unwrap();
        let link = tree.join("link");
        std::os::unix::fs::symlink(&command, &link).unwrap();
        let run = |command: &PathBuf| {
            let mut command = Command::new(command);
            command.args(["exec", "--", "/bin/sh", "-c", "echo \"$LD_PRELOAD\"; echo /dev/dri/*"]);
            command.env_clear().current_dir("/").output().unwrap()
        };
        let output = run(&command);
        assert!(!output.status.success() && text(&output.stderr).contains(names[0]), "{output:?}");
        for (name, found) in names.iter().zip(&found) {
            std::fs::copy(found.as_ref().unwrap_or(&empty), libraries.join(name)).unwrap();
        }
        for command in [&command, &link] {
            let output = run(command);
            let wanted = names.map(|name| libraries.join(name).canonicalize().unwrap().display().to_string());
            let out = text(&output.stdout);
            assert!(output.status.success() && out.starts_with(&wanted.join(":")), "{output:?}");
            assert!(output.stderr.is_empty(), "{output:?}");
            assert!(!has_card || out.contains("/dev/dri/renderD128"), "{output:?}");
        }
        std::fs::remove_dir_all(&tree).unwrap();
    }
}

#[test]
fn the_page_names_all_tiers_and_host_levels() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/exec.md")).unwrap();
    for (option, names) in
        [("--tier T", Tier::ALL.map(Tier::name)), ("--host H", HostLevel::ALL.map(HostLevel::name))]
    {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{option}`"))).unwrap();
        let listed = names.map(|name| format!("`{name}`")).join(", ");
        assert!(row.contains(&format!("| {listed}:")), "{row}");
    }
}

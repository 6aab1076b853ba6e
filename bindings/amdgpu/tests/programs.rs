//! Programs of all kinds with the preload library: with children, and those that never look for a card. No driver is needed.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The preload library, which Cargo builds beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("where the test is");
    test.with_file_name("libwarpjit_amdgpu.so")
}

fn run(program: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).env("LD_PRELOAD", library()).env("WARPJIT_EXEC_CACHE", "");
    command.output().expect("starts")
}

/// Compiles a C program; `None` without a compiler.
fn compile(name: &str, source: &Path) -> Option<PathBuf> {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiled = Command::new("cc").arg("-O1").arg("-o").arg(&program).arg(source).output();
    let is_compiled = compiled.is_ok_and(|output| output.status.success());
    if !is_compiled {
        eprintln!("skipped: a C compiler is not installed");
    }
    is_compiled.then_some(program)
}

#[test]
fn children_have_cards_of_their_own() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/node.c");
    let Some(program) = compile("node", &source) else { return };
    for status in [0, 17, 42] {
        let output = run(&program, &[&status.to_string()]);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
}

#[test]
fn programs_that_never_look_for_a_card() {
    for (program, arguments) in [
        ("/bin/echo", &["a", "b"][..]),
        ("/bin/ls", &["/"]),
        ("/bin/sh", &["-c", "cat /etc/passwd | wc -l; ls /sys/class > /dev/null; exit 5"]),
        ("/bin/sh", &["-c", "kill -TERM $$"]),
    ] {
        if !Path::new(program).is_file() {
            continue;
        }
        let plain = Command::new(program).args(arguments).output().expect("starts");
        let with = run(Path::new(program), arguments);
        assert_eq!((with.status, &with.stdout), (plain.status, &plain.stdout));
        assert!(with.stderr.is_empty(), "{with:?}");
    }
    let killed = run(Path::new("/bin/sh"), &["-c", "kill -SEGV $$"]);
    assert_eq!(killed.status.signal(), Some(11));
}

#[test]
fn a_card_that_is_not_known() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/node.c");
    let Some(program) = compile("node-unknown", &source) else { return };
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", library()).env("WARPJIT_EXEC_CHIP", "sm_20");
    let output = command.output().expect("starts");
    assert_eq!(output.status.code(), Some(99), "the program finds no card: {output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("there is no card") && said.contains("polaris10"), "{said}");
}

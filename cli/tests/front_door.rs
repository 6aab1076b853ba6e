//! Tests what a stranger meets first: files that are no launch files, launch files made for kernels, and Ctrl-C.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{IOTA, LAUNCH, command, folder, warpjit};

/// A folder with nothing but this file.
fn with(name: &str, file: &str, bytes: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(file), bytes).unwrap();
    folder
}

fn corpus(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus").join(path)
}

#[test]
fn what_is_no_code_is_refused_by_name() {
    let ptx = b".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry a() { ret; }\n";
    let cases: &[(&[u8], &str)] = &[
        (b"\x03\x02\x23\x07\0\0\x01\0", "SPIR-V"),
        (b"\x07\x23\x02\x03\0\x01\0\0", "SPIR-V"),
        (b"DXBC0123456789ab", "DXBC or DXIL"),
        (b"BC\xc0\xde1234", "LLVM bitcode"),
        (ptx, "PTX"),
        (b"__kernel void a(__global int *p)\n{ *p = 1; }\n", "text"),
        (b"__CLANG_OFFLOAD_BUNDLE__", "a bundle of code objects"),
        (b"!<arch>\n", "an archive of object files"),
        (b"MZ\x90\0\x03\0\0\0", "a program for Windows or DOS"),
    ];
    for (bytes, what) in cases {
        let folder = with("foreign", "file", bytes);
        for args in [&["disasm", "file"][..], &["disasm", "file", "--chip", "fiji"], &["new", "file"]] {
            let (status, out, error) = warpjit(&folder, args);
            assert_eq!((status, out.as_str()), (2, ""), "{what}");
            assert!(error.starts_with(&format!("error: file: this is {what}: ")), "{error}");
        }
    }
    // Words that say of themselves that they are words.
    let folder = with("words", "file", b"\x03\x02\x23\x07\0\0\x01\0");
    assert_eq!(warpjit(&folder, &["disasm", "file", "--raw", "--chip", "fiji"]).0, 0);
    // A program of this machine.
    let own = fs::read(env!("CARGO_BIN_EXE_warpjit")).unwrap();
    let (status, _, error) = warpjit(&with("own", "program", &own), &["disasm", "program"]);
    assert_eq!(status, 2);
    assert!(
        error.contains("ELF machine 62 (x86-64)") || error.contains("ELF machine 183 (AArch64)"),
        "{error}"
    );
}

#[test]
fn words_without_a_chip_are_said_to_be_taken_for_one() {
    let folder = folder("words_of", IOTA, LAUNCH);
    let (status, out, error) = warpjit(&folder, &["disasm", "code.bin"]);
    assert_eq!(error, "code.bin: raw words, taken for g80's (tesla); --chip names another\n");
    assert_eq!((status, out, String::new()), warpjit(&folder, &["disasm", "code.bin", "--chip", "g80"]));
}

#[test]
fn a_code_object_is_no_launch_file() {
    let object = fs::read(corpus("gcn/mandelbrot/fiji.co")).unwrap();
    let folder = with("object", "kernel.co", &object);
    let (status, _, error) = warpjit(&folder, &["run", "kernel.co"]);
    assert_eq!(status, 2);
    assert!(error.contains("`warpjit new kernel.co > launch.toml`"), "{error}");
}

/// Every kernel of GCN's corpus: the file that is made for it can be run. What nothing says is 0, so some fault.
#[test]
fn a_launch_file_is_made_for_a_kernel() {
    let (mut made, mut blocks) = (0, 0);
    for sample in fs::read_dir(corpus("gcn")).unwrap() {
        let path = sample.unwrap().path().join("fiji.co");
        let Ok(object) = fs::read(&path) else { continue };
        let folder = with("made", "kernel.co", &object);
        let kernels: Vec<Option<String>> = match warpjit(&folder, &["new", "kernel.co"]) {
            (0, ..) => vec![None],
            (_, _, error) => {
                let (_, names) =
                    error.trim().split_once("none is named; kernels: ").expect("several kernels");
                names.split(' ').map(|name| Some(name.to_owned())).collect()
            }
        };
        for kernel in kernels {
            let mut args = vec!["new", "kernel.co"];
            args.extend(kernel.iter().flat_map(|name| ["--kernel", name]));
            let (status, text, error) = warpjit(&folder, &args);
            assert_eq!((status, error.as_str()), (0, ""));
            fs::write(folder.join("launch.toml"), &text).unwrap();
            let (status, out, error) = warpjit(&folder, &["run", "launch.toml", "--tier", "interp"]);
            assert!([0, 3].contains(&status), "{}: {out}{error}{text}", path.display());
            blocks += usize::from(text.contains("block = [64, 1, 1]"));
            made += 1;
        }
    }
    assert!(made > 30 && blocks > 10 && blocks < made, "{made} {blocks}");
    // What it looks like.
    let object = fs::read(corpus("gcn/mandelbrot/fiji.co")).unwrap();
    let (_, text, _) = warpjit(&with("made_one", "kernel.co", &object), &["new", "kernel.co"]);
    for line in ["isa = \"gcn\"", "chip = \"fiji\"", "kernel = \"mandelbrot\"", "[[arg]] # at 0x0, 8 bytes"] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn what_is_not_linked_can_be_listed() {
    let mut object = fs::read(corpus("gcn/vars/fiji.o")).unwrap();
    // The symbol of the function `mix` is of another file.
    let symbol = 0x520 + 24;
    object[symbol + 6..symbol + 8].fill(0);
    let folder = with("unlinked", "vars.o", &object);
    let (status, out, error) = warpjit(&folder, &["disasm", "vars.o"]);
    assert_eq!((status, error.as_str()), (0, ""));
    assert!(out.contains("s_endpgm"), "{out}");
    let (status, _, error) = warpjit(&folder, &["ir", "vars.o"]);
    assert_eq!(status, 2);
    assert!(error.contains("needs `mix` of another file"), "{error}");
}

/// A grid that takes for ever stops at Ctrl-C with a report. The command may need a while to get there.
#[test]
fn ctrl_c_stops_a_launch_with_a_report() {
    let folder = folder("for_ever", "l:\nbra #l\nexit nop\n", LAUNCH);
    for tier in ["interp", "auto"] {
        let stopped = (1..=6).any(|attempt| {
            let args = ["run", "launch.toml", "--tier", tier];
            let child =
                command(&folder, &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(300 << attempt >> 1));
            let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
            assert!(kill.success());
            let output = child.wait_with_output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            output.status.code() == Some(130) && text.starts_with("stopped: 0 of 1 blocks done\n")
        });
        assert!(stopped, "{tier}");
    }
}

//! Tests the `warpjit` binary: exit statuses, text and JSON output, saved files.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{IOTA, LAUNCH, folder, json, warpjit};
use serde_json::Value;

#[test]
fn good_run_is_status_0() {
    let expect = format!("{LAUNCH}[[expect]]\nbuffer = 'out'\nu32 = [0, 1, 2, 3]\ntype = 'u32'\n");
    let folder = folder("good", IOTA, &expect);
    let (status, out, err) = warpjit(&folder, &["run", "launch.toml"]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(out.starts_with("ok: 1 blocks, 1 warps"), "{out}");
    for tier in ["interp", "jit", "auto"] {
        let (status, object) = json(&folder, &["run", "launch.toml", "--tier", tier, "--threads", "1"]);
        assert_eq!(status, 0);
        assert_eq!(object["status"], "ok");
        assert_eq!(object["fault"], Value::Null);
        assert_eq!(object["mismatches"], Value::Array(vec![]));
        assert_eq!(object["stats"]["blocks"], 1);
        assert_eq!(object["stats"]["warps"], 1);
        assert_eq!(object["stats"]["warp_instructions"], 5, "{tier}");
        assert_eq!(object["stats"]["thread_instructions"], 20, "{tier}");
        assert!(object["stats"]["run_ms"].is_f64() && object["stats"]["compile_ms"].is_f64());
    }
}

#[test]
fn mismatch_is_status_1_and_shows_the_first_difference() {
    let expect = format!("{LAUNCH}[[expect]]\nbuffer = 'out'\nu32 = [1, 7, 3]\noffset = 4\ntype = 'u32'\n");
    let folder = folder("mismatch", IOTA, &expect);
    let (status, out, _) = warpjit(&folder, &["run", "launch.toml"]);
    assert_eq!(status, 1);
    let line = "mismatch: buffer \"out\" element 1 (u32 at byte 0x8): got 0x00000002 (2), wanted 0x00000007 (7); 1 of 3 differ\n";
    assert!(out.starts_with(line), "{out}");
    let (status, object) = json(&folder, &["run", "launch.toml"]);
    assert_eq!((status, &object["status"]), (1, &"mismatch".into()));
    let mismatch = &object["mismatches"][0];
    assert_eq!(mismatch["index"], 1);
    assert_eq!((&mismatch["got"], &mismatch["wanted"]), (&2.into(), &7.into()));
}

#[test]
fn absent_fault_is_status_1() {
    let folder = folder("absent", IOTA, &format!("{LAUNCH}[[expect]]\nfault = 'trap'\npc = 8\n"));
    let (status, out, _) = warpjit(&folder, &["run", "launch.toml"]);
    assert_eq!(status, 1);
    assert!(out.starts_with("mismatch: fault: got none, wanted trap at pc 0x8\n"), "{out}");
}

#[test]
fn unexpected_fault_is_status_3() {
    let folder = folder("fault", "trap\nexit nop\n", LAUNCH);
    let (status, out, _) = warpjit(&folder, &["run", "launch.toml"]);
    assert_eq!(status, 3);
    assert!(out.starts_with("trap fault at pc 0x0, block (0, 0, 0), warp 0, lane 0\n"), "{out}");
    let (status, object) = json(&folder, &["run", "launch.toml"]);
    assert_eq!((status, &object["status"]), (3, &"fault".into()));
    assert_eq!(object["fault"]["kind"], "trap");
    assert_eq!(object["fault"]["block"], serde_json::json!([0, 0, 0]));
}

#[test]
fn expected_fault_is_status_0_and_its_place_is_compared() {
    let text = |pc: &str| format!("{LAUNCH}[[expect]]\nfault = 'trap'\npc = {pc}\n");
    assert_eq!(warpjit(&folder("named", "trap\nexit nop\n", &text("0")), &["run", "launch.toml"]).0, 0);
    let (status, out, _) =
        warpjit(&folder("elsewhere", "trap\nexit nop\n", &text("8")), &["run", "launch.toml"]);
    assert_eq!(status, 1);
    assert!(out.starts_with("mismatch: fault: got trap at pc 0x0 lane 0, wanted trap at pc 0x8\n"), "{out}");
}

#[test]
fn bad_files_and_command_lines_are_status_2() {
    let folder = folder("bad", IOTA, &format!("{LAUNCH}colour = 'red'\n"));
    let (status, out, err) = warpjit(&folder, &["run", "launch.toml"]);
    assert_eq!((status, out.as_str()), (2, ""));
    assert_eq!(
        err,
        "error: launch.toml:15: arg[0].colour: unknown key; allowed are align, buffer, f32, f64, hex, i16, i32, i64, i8, local, size, u16, u32, u64, u8\n"
    );
    let (status, object) = json(&folder, &["run", "launch.toml"]);
    assert_eq!((status, &object["status"]), (2, &"error".into()));
    assert!(object["message"].as_str().unwrap().starts_with("launch.toml:15: arg[0].colour: unknown key"));
    let (status, _, err) = warpjit(&folder, &["run", "none.toml"]);
    assert_eq!(
        (status, err.as_str()),
        (2, "error: none.toml: cannot be read: No such file or directory (os error 2)\n")
    );
    let (status, object) = json(&folder, &["run", "launch.toml", "--tier", "turbo"]);
    assert_eq!((status, &object["status"]), (2, &"error".into()));
    assert_eq!(warpjit(&folder, &["run"]).0, 2);
    assert_eq!(warpjit(&folder, &["dance"]).0, 2);
    assert_eq!(warpjit(&folder, &["--help"]).0, 0);
}

#[test]
fn unsupported_isa_and_stage_are_status_2() {
    let folder = folder("isa", IOTA, LAUNCH);
    let text = fs::read_to_string(folder.join("launch.toml")).unwrap();
    fs::write(folder.join("arm.toml"), text.replace("'tesla'", "'arm'")).unwrap();
    let (status, _, err) = warpjit(&folder, &["run", "arm.toml"]);
    assert_eq!(status, 2);
    assert!(err.starts_with("error: arm.toml:2: program.isa: is \"arm\", must be one of tesla"), "{err}");
    fs::write(folder.join("tess.toml"), text.replace("[launch]", "[launch]\ntype = 'tess_eval'")).unwrap();
    let (status, _, err) = warpjit(&folder, &["run", "tess.toml"]);
    assert_eq!(status, 2);
    let reason = "launch.type: is \"tess_eval\", must be one of vertex, geometry, fragment, compute\n";
    assert!(err.starts_with("error: tess.toml:") && err.ends_with(reason), "{err}");
}

#[test]
fn blocks_limits_the_grid() {
    let expect = format!(
        "{}[[expect]]\nbuffer = 'out'\nu32 = [0]\ntype = 'u32'\n",
        LAUNCH.replace("[1, 1, 1]", "[4, 1, 1]")
    );
    // Each block stores its number in its word.
    let source = "cvt u32 $r0 u16 u16 s[0xc]\nshl b32 $r1 $r0 0x2\nlong add b32 $r1 b32 s[0x10] $r1\n\
                  st b32 g14[$r1] $r0\nexit nop\n";
    let folder = folder("blocks", source, &format!("{expect}[[save]]\nbuffer = 'out'\nfile = 'out.bin'\n"));
    let (status, out, err) =
        warpjit(&folder, &["run", "launch.toml", "--blocks", "1..3", "--save", "saved/here"]);
    assert_eq!(status, 0, "{out}{err}");
    assert!(out.starts_with("ok: 2 blocks"), "{out}");
    let saved = fs::read(folder.join("saved/here/out.bin")).unwrap();
    assert_eq!(saved, [0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    assert!(!folder.join("out.bin").exists());
    let (status, _, err) = warpjit(&folder, &["run", "launch.toml", "--blocks", "1..5"]);
    assert_eq!((status, err.as_str()), (2, "error: --blocks 1..5: the grid has blocks 0..4\n"));
}

#[test]
fn files_are_saved_beside_the_launch_file_whatever_the_outcome() {
    let save = "[[save]]\nbuffer = 'out'\nfile = 'out.png'\nwidth = 2\nheight = 2\nformat = 'u32'\n";
    let folder = folder("save", IOTA, &format!("{LAUNCH}[[expect]]\nfault = 'trap'\n{save}"));
    assert_eq!(warpjit(Path::new("/"), &["run", folder.join("launch.toml").to_str().unwrap()]).0, 1);
    let png = fs::read(folder.join("out.png")).unwrap();
    assert_eq!(&png[1..4], b"PNG");
    fs::write(folder.join("occupied"), "a file, not a folder").unwrap();
    let (status, _, err) = warpjit(&folder, &["run", "launch.toml", "--save", "occupied"]);
    assert_eq!(status, 2);
    assert!(err.starts_with("error: saving occupied/out.png: "), "{err}");
}

#[test]
fn bench_times_runs() {
    let folder = folder("bench", IOTA, &format!("{LAUNCH}[[expect]]\nbuffer = 'out'\nu32 = [0, 1, 2, 3]\n"));
    let (status, object) =
        json(&folder, &["bench", "launch.toml", "--runs", "3", "--threads", "2", "--tier", "jit"]);
    assert_eq!((status, &object["status"]), (0, &"ok".into()));
    assert_eq!(object["runs_ms"].as_array().unwrap().len(), 3);
    assert!(object["median_ms"].as_f64().unwrap() >= 0.0);
    assert_eq!((&object["tier"], &object["threads"]), (&"jit".into(), &2.into()));
    assert_eq!(object["stats"]["warp_instructions"], 5);
    let (status, out, _) = warpjit(&folder, &["bench", "launch.toml", "-v"]);
    assert_eq!(status, 0);
    assert!(out.contains("median ") && out.contains("divergence efficiency: 12.5% of lanes active"), "{out}");
    assert_eq!(warpjit(&folder, &["bench", "launch.toml", "--runs", "0"]).0, 2);
}

#[test]
fn disasm_and_asm_are_inverse() {
    let folder = folder("text", IOTA, LAUNCH);
    let (status, listing, _) = warpjit(&folder, &["disasm", "code.bin", "--chip", "g80"]);
    assert_eq!(status, 0);
    assert!(listing.starts_with("00000000: d03f0001 00000fff     and b32 $r0 $r0 0xffff\n"), "{listing}");
    // A launch file stands for its program.
    assert_eq!(warpjit(&folder, &["disasm", "launch.toml"]).1, listing);
    fs::write(folder.join("listing.txt"), listing).unwrap();
    for source in ["listing.txt", "source.txt"] {
        assert_eq!(warpjit(&folder, &["asm", source, "-o", "again.bin"]).0, 0);
        assert_eq!(fs::read(folder.join("again.bin")).unwrap(), fs::read(folder.join("code.bin")).unwrap());
    }
    fs::write(folder.join("bad.txt"), "nop\nfrobnicate $r1\n").unwrap();
    let (status, _, err) = warpjit(&folder, &["asm", "bad.txt", "-o", "bad.bin"]);
    assert_eq!(status, 2);
    assert!(err.starts_with("error: bad.txt:2:1: "), "{err}");
    assert!(!folder.join("bad.bin").exists());
    assert_eq!(warpjit(&folder, &["asm", "source.txt", "-o", "x.bin", "--chip", "gf100"]).0, 2);
    assert_eq!(warpjit(&folder, &["disasm", "none.bin"]).0, 2);
}

#[test]
fn listings_come_in_the_syntaxes_of_the_isa() {
    let folder = folder("syntax", IOTA, LAUNCH);
    fs::write(folder.join("fermi.txt"), "long mov b32 $r1 $tidx\nlong exit\n").unwrap();
    assert_eq!(warpjit(&folder, &["asm", "fermi.txt", "-o", "fermi.bin", "--chip", "gf100"]).0, 0);
    let disasm =
        |syntax: &[&str]| warpjit(&folder, &[&["disasm", "fermi.bin", "--chip", "gf100"], syntax].concat());
    let envydis = disasm(&[]).1;
    assert!(envydis.starts_with("00000000: 84005c04 2c000000     mov b32 $r1 $tidx\n"), "{envydis}");
    assert_eq!(disasm(&["--syntax", "envydis"]).1, envydis);
    let sass = disasm(&["--syntax", "sass"]).1;
    assert!(sass.starts_with("00000000: 84005c04 2c000000     S2R R1, SR_Tid_X\n"), "{sass}");
    let (status, _, err) = disasm(&["--syntax", "intel"]);
    assert_eq!(
        (status, err.contains("fermi has no syntax intel; syntaxes: envydis sass")),
        (2, true),
        "{err}"
    );
    assert_eq!(warpjit(&folder, &["disasm", "code.bin", "--chip", "g80", "--syntax", "sass"]).0, 2);
}

#[test]
fn every_stage_is_shown() {
    let folder = folder("ir", IOTA, LAUNCH);
    for form in ["spmd", "mask", "regions", "clif", "host"] {
        let (status, out, err) = warpjit(&folder, &["ir", "launch.toml", "--form", form]);
        assert_eq!((status, err.as_str()), (0, ""), "{form}");
        assert!(out.lines().count() > 5, "{form}: {out}");
        // The store's address stands beside what it has become.
        assert!(out.lines().any(|line| line.trim_start().starts_with("@0x18 ")), "{form}: {out}");
    }
    // A chunk wider than the warp is as wide as the warp.
    for form in ["clif", "host"] {
        let with = |chunk| warpjit(&folder, &["ir", "launch.toml", "--form", form, "--chunk", chunk]);
        for chunk in ["0", "1", "2", "4", "8"] {
            assert_eq!(with(chunk).0, 0, "{form} {chunk}");
        }
        assert_eq!(with("16"), with("8"), "{form}");
    }
    assert_eq!(warpjit(&folder, &["ir", "launch.toml", "--form", "poem"]).0, 2);
}

#[test]
#[cfg(unix)]
fn closed_pipe_is_reported() {
    let folder = folder("pipe", IOTA, LAUNCH);
    let script = format!("{} disasm code.bin | true; exit ${{PIPESTATUS[0]}}", env!("CARGO_BIN_EXE_warpjit"));
    let output = Command::new("bash").args(["-c", &script]).current_dir(&folder).output().unwrap();
    // Whether the pipe was closed in time is chance; a panic would be neither.
    assert!(matches!(output.status.code(), Some(0 | 2)), "{output:?}");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
}

/// With room for no guards that an index of 32 bits cannot pass, then with room for all: the same results.
#[cfg(target_os = "linux")]
#[test]
fn little_address_space_is_enough() {
    let home = folder("little_space", IOTA, LAUNCH);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus/gcn/spmv_csr/fiji.launch.toml");
    for kilobytes in [80_000_000u64, 120_000_000] {
        let script =
            format!("ulimit -v {kilobytes}; exec \"$0\" run --tier jit --threads 1 --no-cache \"$1\"");
        let output = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_warpjit"), file.to_str().unwrap()])
            .current_dir(&home)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.starts_with("ok: "), "{kilobytes}: {text} {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Devices and pipes may have no end.
#[test]
fn what_is_no_plain_file_is_not_read() {
    // The system says that this one is plain and has no bytes.
    let endless = "[[buffer]]\nname = 'more'\nbytes = 64\ndata = '/proc/self/pagemap'\n";
    let endless = folder("endless", IOTA, &format!("{LAUNCH}{endless}"));
    assert_eq!(warpjit(&endless, &["run", "launch.toml"]).0, 0);
    let (status, _, err) = warpjit(&endless, &["disasm", "/dev/zero"]);
    assert!(status == 2 && err.contains("not a plain file"), "{err}");
    for arguments in [
        ["run", "launch.toml", "--resume", "/dev/zero"].as_slice(),
        &["run", "launch.toml", "--resume", "."],
        &["bench", "--suite", ".", "--baseline", "/dev/zero"],
    ] {
        let (status, _, err) = warpjit(&endless, arguments);
        assert!(status == 2 && err.contains("not a plain file"), "{err}");
    }
    for (key, place) in [
        ("data", "[[buffer]]\nname = 'more'\nbytes = 64\ndata = '/dev/zero'\n"),
        ("data", "[[buffer]]\nname = 'more'\ndata = '.'\n"),
    ] {
        let folder = folder("device", IOTA, &format!("{LAUNCH}{place}"));
        let (status, _, err) = warpjit(&folder, &["run", "launch.toml"]);
        assert_eq!(status, 2);
        assert!(err.contains(&format!("buffer[1].{key}")) || err.contains(key), "{err}");
        assert!(err.contains("not a plain file"), "{err}");
    }
}

/// A number is not made into an infinity that the file does not name.
#[test]
fn numbers_too_large_for_their_type_are_errors() {
    for (values, right) in [
        ("f32 = [3.5e38]", false),
        ("f32 = [1.0, -1e50]", false),
        ("f32 = [3.4028235e38, inf, -inf, +inf, nan, 1e-60]", true),
        ("f64 = [1.8e308]", false),
        ("f64 = [1.7976931348623157e308, inf, -inf]", true),
    ] {
        let folder = folder("large", IOTA, &format!("{LAUNCH}[[buffer]]\nname = 'more'\n{values}\n"));
        let (status, _, err) = warpjit(&folder, &["run", "launch.toml"]);
        assert_eq!(status, if right { 0 } else { 2 }, "{values}: {err}");
        assert!(right || err.contains("must be at most"), "{values}: {err}");
    }
}

#[test]
fn nothing_is_saved_outside_of_the_folder() {
    for (name, file) in
        [("up", "../out.bin"), ("down", "a/../../out.bin"), ("root", "/tmp/warpjit-outside.bin")]
    {
        let save = format!("{LAUNCH}[[save]]\nbuffer = 'out'\nfile = '{file}'\n");
        let folder = folder(&format!("outside-{name}"), IOTA, &save);
        let (status, _, err) = warpjit(&folder, &["run", "launch.toml", "--save", "saved"]);
        assert_eq!(status, 2, "{err}");
        assert!(err.contains(&format!("save.file {file} is not in saved")), "{err}");
        assert!(!folder.join("out.bin").exists() && !folder.join("saved").exists());
    }
}

//! Tests `warpjit profile` and `--perf`.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{IOTA, LAUNCH, folder, json, warpjit};
use serde_json::Value;

/// The lines with a text that begins so.
fn lines<'a>(profile: &'a Value, text: &str) -> Vec<&'a Value> {
    let all = profile["lines"].as_array().unwrap().iter();
    all.filter(|line| line["text"].as_str().unwrap().starts_with(text)).collect()
}

fn shape(access: &Value) -> [f64; 4] {
    ["contiguous", "same", "strided", "scattered"].map(|name| access["shape"][name].as_f64().unwrap())
}

#[test]
fn counts_stand_beside_the_listing() {
    let folder = folder("profile_counts", IOTA, &LAUNCH.replace("grid = [1", "grid = [3"));
    let (status, profile) = json(&folder, &["profile", "launch.toml", "--seconds", "0", "--threads", "1"]);
    assert_eq!(status, 0, "{profile}");
    let counted = &profile["counted"];
    assert_eq!((&counted["blocks"], &counted["complete"]), (&3.into(), &true.into()));
    // Five instructions of three warps with 4 of 32 lanes.
    assert_eq!((&counted["warp_instructions"], &counted["lanes_active"]), (&15.into(), &0.125.into()));
    assert_eq!(profile["setting"]["runs"], 1);
    assert_eq!((&profile["setting"]["isa"], &profile["setting"]["chip"]), (&"tesla".into(), &"g80".into()));
    assert_eq!(profile["lines"].as_array().unwrap().len(), 5);
    for line in profile["lines"].as_array().unwrap() {
        assert_eq!((&line["executions"], &line["lanes_active"]), (&3.into(), &0.125.into()), "{line}");
    }
    let accesses = profile["accesses"].as_array().unwrap();
    let store = accesses.iter().find(|a| a["direction"] == "store").unwrap();
    assert_eq!(
        (&store["space"], &store["bytes"], &store["executions"]),
        (&"global".into(), &4.into(), &3.into())
    );
    assert_eq!(shape(store), [1.0, 0.0, 0.0, 0.0]);
    assert_eq!((&store["lines"], &store["ideal_lines"]), (&1.0.into(), &1.0.into()));
    // The argument: one word for all.
    let load = accesses.iter().find(|a| a["space"] == "shared").unwrap();
    assert_eq!(shape(load), [0.0, 1.0, 0.0, 0.0]);
}

#[test]
fn lanes_that_part_are_counted_by_block_and_branch() {
    // Of 32 threads the first 8 take the branch and store to words 16 apart; the others skip that.
    let source = "
        and b32 $r0 $r0 0xffff
        mov b32 $r2 0x8
        set $c0 # ge u32 $r0 $r2
        joinat #end
        (lg $c0) bra #end
        shl b32 $r1 $r0 0x6
        long add b32 $r1 b32 s[0x10] $r1
        st b32 g14[$r1] $r0
        end:
        join nop
        exit nop
    ";
    let launch = LAUNCH.replace("block = [4", "block = [32").replace("bytes = 16", "bytes = 4096");
    let folder = folder("profile_part", source, &launch);
    let (status, profile) = json(&folder, &["profile", "launch.toml", "--seconds", "0"]);
    assert_eq!(status, 0, "{profile}");
    let store = lines(&profile, "st b32")[0];
    assert_eq!((&store["executions"], &store["lanes_active"]), (&1.into(), &0.25.into()));
    let blocks = profile["blocks"].as_array().unwrap();
    let branch = blocks.iter().find(|b| !b["branch"].is_null()).unwrap();
    assert_eq!((&branch["branch"]["taken"], &branch["branch"]["parted"]), (&0.75.into(), &1.0.into()));
    assert_eq!(branch["lanes_active"], 1.0);
    let access = profile["accesses"].as_array().unwrap().iter().find(|a| a["direction"] == "store").unwrap();
    assert_eq!(shape(access), [0.0, 0.0, 1.0, 0.0]);
    assert_eq!((&access["lines"], &access["ideal_lines"]), (&8.0.into(), &1.0.into()));
}

/// Adds 300,000 times in each of 32 threads.
const LOOP: &str = "
    and b32 $r0 $r0 0xffff
    mov b32 $r4 0x493e0
    mov b32 $r2 0x0
    mov b32 $r1 $r0
    again:
    mul $r3 u16 $r1l u16 $r0l
    add b32 $r1 $r1 $r3
    add b32 $r2 $r2 0x1
    set $c0 # l u32 $r2 $r4
    (lg $c0) bra #again
    shl b32 $r3 $r0 0x2
    long add b32 $r3 b32 s[0x10] $r3
    st b32 g14[$r3] $r1
    exit nop
";

#[test]
fn time_is_found_where_it_goes() {
    let launch = LAUNCH.replace("block = [4", "block = [32").replace("bytes = 16", "bytes = 128");
    let folder = folder("profile_time", LOOP, &launch);
    for (tier, member) in [("jit", None), ("interp", Some("interpreter_ms"))] {
        let seconds = if tier == "jit" { "0.3" } else { "0" };
        let args = ["profile", "launch.toml", "--tier", tier, "--threads", "1", "--seconds", seconds];
        let (status, profile) = json(&folder, &args);
        assert_eq!(status, 0, "{profile}");
        assert!(profile["setting"]["samples"].as_u64().unwrap() > 20, "{tier}: {}", profile["setting"]);
        let all = profile["lines"].as_array().unwrap();
        let share = |line: &Value| line["share"].as_f64().unwrap();
        let in_loop: f64 = all[4..9].iter().map(share).sum();
        assert!(in_loop > 0.6, "{tier}: {in_loop} {all:?}");
        let sum: f64 = profile["time"].as_array().unwrap().iter().map(share).sum();
        assert!((sum - 1.0).abs() < 1e-6, "{tier}: {sum}");
        if let Some(member) = member {
            assert!(all[5][member].as_f64().unwrap() > 0.0, "{:?}", all[5]);
        }
    }
}

#[test]
fn the_page_needs_nothing_else() {
    let folder = folder("profile_page", IOTA, LAUNCH);
    let (status, out, err) =
        warpjit(&folder, &["profile", "launch.toml", "--seconds", "0", "--html", "page.html"]);
    assert_eq!((status, err.as_str()), (0, ""));
    for part in
        ["where the time goes:", "counted by the interpreter in 1 blocks", "memory accesses:", "global store"]
    {
        assert!(out.contains(part), "{part}: {out}");
    }
    let page = fs::read_to_string(folder.join("page.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    for outside in ["http:", "https:", "src=", "<link", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    for part in [
        "st b32 g14[$r1] $r0",
        "light-dark(",
        "id=\"pc18\"",
        "href=\"#pc18\"",
        "12.5&thinsp;%",
        "Memory accesses",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

/// Instructions of several blocks of IR, as atomics and votes are, and such as leave no operation count once, in the line that they are.
#[test]
fn lines_are_executed_as_often_as_was_counted() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus");
    let home = folder("profile_counts", IOTA, "");
    // And whether there are atomics.
    for (name, has_atomics) in [
        ("tesla/atom_red/launch.toml", true),
        ("tesla/vote_any_all/launch.toml", false),
        ("tesla/shared_reduce_sum/launch.toml", false),
        ("fermi/gk104_shfl/launch.toml", false),
        ("fermi/div_nested_join/launch.toml", false),
        ("gcn/nbody/fiji.launch.toml", false),
        ("gcn/xorshift64/fiji.launch.toml", false),
        ("gcn/histogram/hawaii.launch.toml", true),
    ] {
        let file = corpus.join(name);
        let file = file.to_str().unwrap();
        let (status, profile) = json(&home, &["profile", file, "--seconds", "0", "--no-cache"]);
        assert_eq!(status, 0, "{name}: {profile}");
        let lines = profile["lines"].as_array().unwrap();
        let accesses = profile["accesses"].as_array().unwrap();
        let executed = |line: &Value| line["executions"].as_u64().unwrap_or(0);
        let all: u64 = lines.iter().map(executed).sum();
        assert_eq!(profile["counted"]["warp_instructions"], all, "{name}");
        // The listing is that of the kernel, not of its container.
        let seen = lines.iter().filter(|line| executed(line) > 0).count();
        assert!(lines.len() < 4 * seen, "{name}: {} lines, {seen} of them executed", lines.len());
        let is_atomic = |line: &&Value| {
            accesses.iter().any(|access| access["pc"] == line["pc"] && access["direction"] == "atomic")
        };
        let atomics: u64 = lines.iter().filter(is_atomic).map(executed).sum();
        assert_eq!(atomics > 0, has_atomics, "{name}");
        let (_, run) = json(&home, &["run", file, "-v", "--tier", "interp", "--no-cache"]);
        assert_eq!(run["stats"]["groups"]["atomic"], atomics, "{name}");
    }
}

#[test]
fn all_instruction_sets_have_profiles() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus");
    let vp1 = folder("profile_vp1", IOTA, "");
    let code = warpjit_frontend::Chip::from(warpjit_frontend::vp1::Chip::G80)
        .target()
        .assemble("add $r1 $r2 0x5\nadd $r1 $r1 0x7\nexit 0x0\n", warpjit_frontend::Stage::Compute)
        .unwrap_or_else(|e| panic!("{e}"));
    fs::write(vp1.join("code.bin"), code).unwrap();
    fs::write(
        vp1.join("launch.toml"),
        "[program]\nisa = 'vp1'\nchip = 'g80'\nfile = 'code.bin'\nformat = 'raw'\n[launch]\n[registers]\nr2 = 1\n\
         [[expect]]\nregister = 'r1'\nvalue = 13\n",
    )
    .unwrap();
    for (isa, file) in [
        ("tesla", corpus.join("../../examples/mandelbrot/launch.toml")),
        ("fermi", corpus.join("fermi/mesa_loop/launch.toml")),
        ("gcn", corpus.join("gcn/histogram/fiji.launch.toml")),
        ("vp1", vp1.join("launch.toml")),
    ] {
        let args = ["profile", file.to_str().unwrap(), "--seconds", "0", "--count-seconds", "2"];
        let (status, profile) = json(&vp1, &args);
        assert_eq!(status, 0, "{isa}: {profile}");
        assert_eq!(profile["setting"]["isa"], isa);
        let all = profile["lines"].as_array().unwrap();
        let executed = all.iter().filter(|line| line["executions"].as_u64().unwrap_or(0) > 0);
        assert!(executed.clone().count() > 1, "{isa}: {all:?}");
        assert!(executed.clone().all(|line| !line["text"].as_str().unwrap().is_empty()), "{isa}");
        // Every block and access stands at an instruction of the listing.
        for table in ["blocks", "accesses"] {
            for row in profile[table].as_array().unwrap() {
                assert!(all.iter().any(|line| line["pc"] == row["pc"]), "{isa}: {row}");
            }
        }
        assert!(profile["counted"]["lanes_active"].as_f64().unwrap() > 0.0, "{isa}");
    }
}

/// As drivers have it, and `warpjit exec --record` writes it: above 4 GiB, in two places.
#[test]
fn code_in_memory_is_listed_where_it_lies() {
    let home = folder("profile_memory", IOTA, "");
    let chip = warpjit_frontend::Chip::from(warpjit_frontend::gcn::Generation::Gfx8);
    let target = chip.target();
    let assemble = |source| {
        target.assemble(source, warpjit_frontend::Stage::Compute).unwrap_or_else(|e| panic!("{source}: {e}"))
    };
    let caller = "s_mov_b32 s6, 1\ns_swappc_b64 s[4:5], s[2:3]\ns_add_u32 s6, s6, 100\ns_endpgm\n";
    fs::write(home.join("caller.bin"), assemble(caller)).unwrap();
    fs::write(home.join("called.bin"), assemble("s_add_u32 s6, s6, 41\ns_setpc_b64 s[4:5]\n")).unwrap();
    let launch = "[program]\nisa = 'gcn'\nchip = 'fiji'\nat = 0x712345100\nknown_user_data = [2, 3]\nrsrc1 = 0x2c0043\n\
                  rsrc2 = 0x8\n[launch]\ngrid = [3, 1, 1]\nblock = [64, 1, 1]\nuser_data = [8, 9, 0x3000, 0x9a]\n\
                  [[buffer]]\nname = 'caller'\naddress = 0x712345100\ndata = 'caller.bin'\naccess = 'r'\n\
                  [[buffer]]\nname = 'called'\naddress = 0x9a00003000\ndata = 'called.bin'\naccess = 'r'\n";
    fs::write(home.join("launch.toml"), launch).unwrap();
    let (status, profile) = json(&home, &["profile", "launch.toml", "--seconds", "0"]);
    assert_eq!(status, 0, "{profile}");
    for (pc, text) in [
        (0x7_1234_5100_u64, "s_mov_b32 s6, 1"),
        (0x7_1234_5104, "s_swappc_b64 s[4:5], s[2:3]"),
        (0x7_1234_5108, "s_add_u32 s6, s6, 0x64"),
        (0x7_1234_5110, "s_endpgm"),
        (0x9a_0000_3000, "s_add_u32 s6, s6, 41"),
        (0x9a_0000_3004, "s_setpc_b64 s[4:5]"),
    ] {
        let line = profile["lines"].as_array().unwrap().iter().find(|line| line["pc"] == pc);
        let line = line.unwrap_or_else(|| panic!("{text}: {profile}"));
        // Once for each of the three warps.
        assert_eq!((&line["text"], &line["executions"]), (&text.into(), &3.into()));
    }
}

/// Counted by hand: eight lanes of 64 go into the branch.
#[test]
fn lanes_of_exec_are_those_of_vector_instructions_comparisons_too() {
    let home = folder("profile_exec", IOTA, "");
    let source = "v_lshlrev_b32_e32 v1, 2, v0\nv_cmp_gt_u32_e32 vcc, 8, v0\ns_and_saveexec_b64 s[4:5], vcc\n\
                  v_mul_u32_u24_e32 v2, 5, v0\nv_cmp_class_f32_e64 s[6:7], v2, 3\ns_andn2_b64 s[6:7], exec, s[6:7]\n\
                  s_or_b64 exec, exec, s[4:5]\nv_cndmask_b32_e64 v2, v1, v2, s[6:7]\nbuffer_store_dword v2, v1, s[16:19], 0 offen\ns_endpgm\n";
    let code = warpjit_frontend::Chip::from(warpjit_frontend::gcn::Generation::Gfx8)
        .target()
        .assemble(source, warpjit_frontend::Stage::Compute)
        .unwrap_or_else(|e| panic!("{e}"));
    fs::write(home.join("code.bin"), code).unwrap();
    let lanes: Vec<String> = (0..64).map(|lane| lane.to_string()).collect();
    let launch = format!(
        "[program]\nisa = 'gcn'\nchip = 'fiji'\nfile = 'code.bin'\nformat = 'raw'\nregisters = 4\nsgprs = 32\n\
         [launch]\ngrid = [1, 1, 1]\nblock = [64, 1, 1]\n[[buffer]]\nname = 'out'\nbytes = 256\naddress = 0x10000\n\
         [registers]\nv0 = [{}]\ns16 = 0x10000\ns18 = 256\ns19 = 0x24fac\n",
        lanes.join(", ")
    );
    fs::write(home.join("launch.toml"), launch).unwrap();
    let (status, profile) = json(&home, &["profile", "launch.toml", "--seconds", "0"]);
    assert_eq!(status, 0, "{profile}");
    for (text, active) in [
        ("v_lshlrev", Some(1.0)),
        ("v_cmp_gt", Some(1.0)),
        ("s_and_saveexec", None),
        ("v_mul", Some(0.125)),
        ("v_cmp_class", Some(0.125)),
        ("s_andn2", None),
        ("s_or", None),
        ("v_cndmask", Some(1.0)),
        ("buffer_store", Some(1.0)),
    ] {
        let line = lines(&profile, text)[0];
        assert_eq!(line["executions"], 1, "{line}");
        assert_eq!(line["lanes_active"].as_f64(), active, "{line}");
    }
    let all = profile["counted"]["lanes_active"].as_f64().unwrap();
    assert!((all - (4.0 * 64.0 + 2.0 * 8.0) / (6.0 * 64.0)).abs() < 1e-9, "{all}");
}

#[test]
fn bad_profiles_have_the_status_of_run() {
    let home = folder(
        "profile_bad",
        IOTA,
        &format!("{LAUNCH}[[expect]]\nbuffer = 'out'\nu32 = [7]\ntype = 'u32'\n"),
    );
    let (status, out, _) = warpjit(&home, &["profile", "launch.toml"]);
    assert_eq!(status, 1);
    assert!(out.starts_with("mismatch: buffer"), "{out}");
    let faulty = folder("profile_fault", "trap\nexit nop\n", LAUNCH);
    let (status, object) = json(&faulty, &["profile", "launch.toml"]);
    assert_eq!((status, &object["status"]), (3, &"fault".into()));
    let fails = |args: &[&str], wanted: &str| {
        let (status, out, err) = warpjit(&home, &[&["profile"], args].concat());
        assert_eq!((status, out.as_str()), (2, ""), "{args:?}");
        assert!(err.contains(wanted), "{args:?}: {err}");
    };
    fails(&[], "required arguments");
    fails(&["none.toml"], "error: none.toml: cannot be read");
    fails(&["launch.toml", "--html", "none/page.html"], "error: --html none/page.html: cannot be written");
    fails(&["launch.toml", "--html", "."], "error: --html .: cannot be written");
    fails(&["launch.toml", "--rate", "0"], "--rate");
    fails(&["launch.toml", "--seconds=-1"], "must be a number of seconds");
    fails(&["launch.toml", "--seconds", "nan"], "must be a number of seconds");
    fails(&["launch.toml", "--blocks", "1..9"], "the grid has blocks 0..1");
    let (status, out, _) = warpjit(&home, &["profile", "--help"]);
    assert!(status == 0 && out.contains("--html") && out.contains("divergence"), "{out}");
}

/// Runs with `--perf`: the map's text and the dump's bytes.
fn perf_files(folder: &Path, args: &[&str]) -> (String, Vec<u8>) {
    let child = Command::new(env!("CARGO_BIN_EXE_warpjit"))
        .args(args)
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id();
    assert!(child.wait_with_output().unwrap().status.success());
    let take = |path: PathBuf| {
        let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        fs::remove_file(path).unwrap();
        bytes
    };
    let map = take(format!("/tmp/perf-{pid}.map").into());
    let dump = [PathBuf::from("/tmp"), folder.to_owned()]
        .into_iter()
        .map(|home| home.join(format!("jit-{pid}.dump")))
        .find(|path| path.exists())
        .unwrap();
    (String::from_utf8(map).unwrap(), take(dump))
}

#[test]
fn perf_is_told_of_compiled_code() {
    let folder = folder("perf", IOTA, LAUNCH);
    let (map, dump) = perf_files(&folder, &["run", "launch.toml", "--perf", "--tier", "jit"]);
    let fields: Vec<_> = map.lines().next().unwrap().splitn(3, ' ').collect();
    let start = u64::from_str_radix(fields[0], 16).unwrap();
    let bytes = u64::from_str_radix(fields[1], 16).unwrap();
    // It is code for rows of blocks where the host has vectors of 512 bits.
    assert!(["warpjit::kernel@0x0#0", "warpjit::kernel@0x0#rows0"].contains(&fields[2]), "{map}");

    let u32_at = |at: usize| u32::from_le_bytes(dump[at..at + 4].try_into().unwrap());
    let u64_at = |at: usize| u64::from_le_bytes(dump[at..at + 8].try_into().unwrap());
    assert_eq!((&dump[..4], u32_at(4), u32_at(8)), (&b"DTiJ"[..], 1, 40));
    // Records follow each other to the end: where guest addresses are, then the code.
    let (mut at, mut kinds, mut pcs) = (40, Vec::new(), Vec::new());
    while at < dump.len() {
        kinds.push(u32_at(at));
        match u32_at(at) {
            2 => {
                assert_eq!(u64_at(at + 16), start);
                let mut entry = at + 32;
                for _ in 0..u64_at(at + 24) {
                    assert!((start..start + bytes).contains(&u64_at(entry)));
                    pcs.push(u32_at(entry + 8));
                    let name = dump[entry + 16..].split(|&byte| byte == 0).next().unwrap();
                    assert_eq!(name, b"kernel");
                    entry += 16 + name.len() + 1;
                }
                assert_eq!(entry, at + u32_at(at + 4) as usize);
            }
            _ => {
                assert_eq!([24, 32, 40].map(|field| u64_at(at + field)), [start, start, bytes]);
                let name = dump[at + 56..].split(|&byte| byte == 0).next().unwrap();
                assert_eq!(name, fields[2].as_bytes());
                assert_eq!(u32_at(at + 4) as u64, 56 + name.len() as u64 + 1 + bytes);
            }
        }
        at += u32_at(at + 4) as usize;
    }
    assert_eq!((at, kinds), (dump.len(), vec![2, 0]));
    assert!(pcs.contains(&0x18) && pcs.iter().all(|&pc| pc < 0x28), "{pcs:x?}");
    // Nothing is compiled in the interpreter.
    assert_eq!(perf_files(&folder, &["run", "launch.toml", "--perf", "--tier", "interp"]).0, "");
}

//! Tests that `run`, `bench` and `profile` count the same instructions and lanes in all tiers, against counts made by hand.

mod common;

use std::fs;
use std::path::PathBuf;

use common::{IOTA, folder, json, warpjit};
use serde_json::{Value, json as value};

/// Lane n goes through the loop n times, lane 0 once.
const LOOP: &str = "s_mov_b64 s[4:5], exec\nv_mov_b32_e32 v1, 0\nv_add_u32_e32 v1, vcc, 1, v1\n\
                    v_cmp_lt_u32_e32 vcc, v1, v0\ns_and_b64 exec, exec, vcc\ns_cbranch_execnz -4\n\
                    s_mov_b64 exec, s[4:5]\nv_lshlrev_b32_e32 v2, 2, v0\n\
                    buffer_store_dword v1, v2, s[16:19], 0 offen\ns_endpgm\n";

/// Times that lanes go through the loop: of the whole wave, and of all lanes.
const TURNS: (u64, u64) = (63, 1 + 63 * 64 / 2);
/// Two instructions before the loop, four in it, four behind it.
const WARP: u64 = 2 + 4 * TURNS.0 + 4;
/// One vector instruction before, two in the loop, two behind.
const THREADS: u64 = 64 + 2 * TURNS.1 + 2 * 64;
const SLOTS: u64 = 64 * (1 + 2 * TURNS.0 + 2);

/// Two waves of the program, one a block, in `suite/`.
fn home(name: &str) -> PathBuf {
    let home = folder(name, IOTA, "");
    let generation = warpjit_frontend::gcn::Generation::Gfx8;
    let code = warpjit_frontend::gcn::assemble(LOOP, generation).unwrap_or_else(|e| panic!("{e}")).code;
    fs::create_dir_all(home.join("suite")).unwrap();
    fs::write(home.join("suite/code.bin"), code).unwrap();
    let lanes: Vec<String> = (0..64).map(|lane: u32| lane.to_string()).collect();
    let wanted: Vec<String> = (0..64).map(|lane: u32| lane.max(1).to_string()).collect();
    let launch = format!(
        "[program]\nisa = 'gcn'\nchip = 'fiji'\nfile = 'code.bin'\nformat = 'raw'\nregisters = 4\nsgprs = 32\n\
         [launch]\ngrid = [2, 1, 1]\nblock = [64, 1, 1]\n[[buffer]]\nname = 'out'\nbytes = 256\naddress = 0x10000\n\
         [registers]\nv0 = [{}]\ns16 = 0x10000\ns18 = 256\ns19 = 0x24fac\n\
         [[expect]]\nbuffer = 'out'\nu32 = [{}]\ntype = 'u32'\n",
        lanes.join(", "),
        wanted.join(", ")
    );
    fs::write(home.join("suite/launch.toml"), launch).unwrap();
    home
}

const TIERS: [&[&str]; 5] = [
    &["--tier", "interp"],
    &["--tier", "jit"],
    &["--tier", "jit", "--host", "avx2"],
    &["--tier", "jit", "--chunk", "4"],
    &[],
];

#[test]
fn run_bench_and_profile_give_one_answer() {
    let home = home("counts_one_answer");
    let share = THREADS as f64 / SLOTS as f64;
    let same = |stats: &Value| {
        assert_eq!(
            (&stats["warp_instructions"], &stats["thread_instructions"]),
            (&(2 * WARP).into(), &(2 * THREADS).into()),
            "{stats}"
        );
    };
    for tier in TIERS {
        let launch = [&["run", "suite/launch.toml", "--no-cache"], tier].concat();
        let (status, object) = json(&home, &launch);
        assert_eq!(status, 0, "{object}");
        same(&object["stats"]);
        let (status, object) = json(&home, &[&launch[..], &["-v"]].concat());
        assert_eq!((status, &object["stats"]["efficiency"]), (0, &share.into()), "{object}");
        same(&object["stats"]);
        let (status, out, _) = warpjit(&home, &[&launch[..], &["-v"]].concat());
        assert_eq!(status, 0);
        for line in [
            format!("2 warps, {} warp instructions in", 2 * WARP),
            format!("thread instructions: {}\n", 2 * THREADS),
            format!("divergence efficiency: {:.1}% of lanes active\n", 100.0 * share),
        ] {
            assert!(out.contains(&line), "{line}: {out}");
        }
        let bench = [&["bench", "--suite", "suite", "--runs", "1", "--no-cache"], tier].concat();
        let (status, object) = json(&home, &bench);
        assert_eq!((status, &object["rows"][0]["lanes_active"]), (0, &share.into()), "{object}");
        same(&object["rows"][0]);
        // What is not counted is not told.
        let (status, out, _) = warpjit(&home, &launch);
        assert!(status == 0 && !out.contains("instructions"), "{out}");
    }
    let (status, profile) = json(&home, &["profile", "suite/launch.toml", "--seconds", "0"]);
    assert_eq!((status, &profile["counted"]["lanes_active"]), (0, &share.into()), "{profile}");
    assert_eq!(profile["counted"]["warp_instructions"], 2 * WARP);
}

/// Whatever the tiers do with a launch, a baseline is one for all of them.
#[test]
fn a_baseline_holds_in_every_tier() {
    let home = home("counts_baseline");
    let bench = ["bench", "--suite", "suite", "--runs", "1", "--no-cache"];
    assert_eq!(warpjit(&home, &[&bench[..], &["--save", "base.json"]].concat()).0, 0);
    for tier in TIERS {
        for _ in 0..2 {
            let args = [&bench[..], &["--baseline", "base.json"], tier].concat();
            let (status, object) = json(&home, &args);
            assert_eq!((status, &object["status"]), (0, &value!("ok")), "{tier:?} {object}");
        }
    }
}

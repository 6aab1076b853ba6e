//! Tests the fuzzer itself: targets run; differences, crashes and hangs are detected; guests are minimised; findings are launch
//! files.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use warpjit_frontend::gcn::{Generation, assemble};
use warpjit_fuzz::guest::{Buffer, Faults, Guest, Rules};
use warpjit_fuzz::oracle::{self, Engines, Setting};
use warpjit_fuzz::targets::{self, Context};
use warpjit_fuzz::{Finding, case_seed, minimize, repeat, save, watch};
use warpjit_runtime::{HostLevel, Tier};

/// A folder of the test's own, empty.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

#[test]
fn every_target_holds_on_some_seeds() {
    let mut context = Context::default();
    for target in targets::ALL {
        for number in 0..6 {
            let seed = case_seed(1, number);
            if let Err(finding) = target.run(seed, &mut context) {
                panic!("{}:{seed:#x}: {}: {}", target.name, finding.kind, finding.text);
            }
        }
        assert_eq!(context.coverage.counted("cases", target.name), 6);
    }
    let text = context.coverage.text();
    for isa in ["tesla", "fermi", "gcn", "vp1"] {
        assert!(text.contains(&format!("{isa}: ")), "{text}");
    }
    assert!(context.coverage.counted("compiled code ran", "yes") > 20, "{text}");
}

#[test]
fn the_same_seed_makes_the_same_guest() {
    for target in targets::ALL {
        for number in 0..4 {
            let seed = case_seed(2, number);
            let (a, b) = (target.guest(seed), target.guest(seed));
            assert_eq!(format!("{a:?}"), format!("{b:?}"), "{}", target.name);
        }
    }
}

/// Waves that write their number into one word: which one is last, is chance with two threads.
fn guest(text: &str) -> Guest {
    let code = assemble(text, Generation::Gfx9).expect("it assembles").code;
    let mut guest = Guest::new(Generation::Gfx9, code);
    guest.registers = Some(8);
    guest.sgprs = Some(16);
    guest.init = vec![
        ("v1".into(), vec![0x10_0000; 64]),
        ("v2".into(), vec![0; 64]),
        ("v3".into(), (0..64).collect()),
        ("s4".into(), vec![7]),
    ];
    guest.buffers =
        vec![Buffer { name: "out".into(), address: 0x10_0000, data: vec![0; 256], writable: true }];
    guest.rules = Rules { registers: true, ..Rules::PLAIN };
    guest
}

const STORE: &str = "s_nop 0\nv_add_u32 v4, s4, v3\ns_nop 0\nv_mov_b32 v5, 1\nglobal_store_dword v[1:2], v4, off\n\
                     s_nop 0\nv_mov_b32 v6, 3\ns_endpgm\n";

const COMPILED: Setting = Setting {
    tier: Tier::Jit,
    groups: None,
    threads: 1,
    host: HostLevel::Avx2,
    checked: false,
    count: false,
    lockstep: false,
};

#[test]
fn differences_are_seen() {
    let mut engines = Engines::default();
    let guest = guest(STORE);
    let (_, wanted) = oracle::reference(&guest, &mut engines).expect("it runs");
    assert_eq!(oracle::difference(&guest, &wanted, &wanted), None);
    let kind = |change: &dyn Fn(&mut warpjit_fuzz::guest::Left), rules: Rules| {
        let mut got = wanted.clone();
        change(&mut got);
        let guest = Guest { rules, ..guest.clone() };
        oracle::difference(&guest, &wanted, &got).map(|(kind, _)| kind)
    };
    let memory = |left: &mut warpjit_fuzz::guest::Left| left.buffers[0][17] ^= 1;
    let register = |left: &mut warpjit_fuzz::guest::Left| {
        left.report.registers.get_mut("v6").expect("it is given")[63] = 4;
    };
    let hang = |left: &mut warpjit_fuzz::guest::Left| left.report.cancelled = true;
    let plain = Rules { registers: true, ..Rules::PLAIN };
    assert_eq!(kind(&memory, plain), Some("memory"));
    assert_eq!(kind(&memory, Rules { racy: true, ..plain }), None);
    assert_eq!(kind(&register, plain), Some("register"));
    assert_eq!(kind(&register, Rules::PLAIN), None);
    assert_eq!(kind(&hang, plain), Some("hang"));
}

#[test]
fn faults_are_compared_as_the_rules_say() {
    let mut engines = Engines::default();
    let mut bad = guest(STORE);
    bad.init[0].1[5] = 0x20_0000;
    let (_, wanted) = oracle::reference(&bad, &mut engines).expect("it runs");
    let mut other = wanted.clone();
    let fault = other.report.fault.as_mut().expect("lane 5 faults");
    assert_eq!(fault.lane, 5);
    fault.lane = 6;
    let kind = |rules, other: &_| {
        oracle::difference(&Guest { rules, ..bad.clone() }, &wanted, other).map(|(kind, _)| kind)
    };
    let of = |faults| Rules { faults, ..Rules::PLAIN };
    assert_eq!(kind(of(Faults::Exact), &other), Some("fault"));
    assert_eq!(kind(of(Faults::OfInstruction), &other), Some("fault"));
    assert_eq!(kind(of(Faults::Any), &other), None);
    other.report.fault.as_mut().expect("it is there").pc += 4;
    assert_eq!(kind(of(Faults::OfInstruction), &other), None);
    // A later instruction faults first for lower lanes only.
    assert_eq!(kind(of(Faults::ByChunks), &other), Some("fault"));
    other.report.fault.as_mut().expect("it is there").lane = 4;
    assert_eq!(kind(of(Faults::ByChunks), &other), None);
    other.report.fault.as_mut().expect("it is there").pc -= 8;
    assert_eq!(kind(of(Faults::ByChunks), &other), Some("fault"));
    other.report.fault = None;
    assert_eq!(kind(of(Faults::Any), &other), Some("fault"));
}

#[test]
fn guests_get_as_small_as_they_may() {
    let guest = guest(STORE);
    // It fails as long as the store is there.
    let store = &guest.code[guest.code.len() - 20..][..8];
    let small = minimize::minimize(&guest, Duration::from_secs(60), |guest| {
        guest.code.windows(8).any(|bytes| bytes == store)
    });
    let text = small.listing();
    assert_eq!(text.matches("s_nop").count(), text.lines().count() - 1, "{text}");
    assert!(small.init.is_empty());
}

#[test]
fn findings_are_launch_files_that_hold_in_all_ways() {
    let mut engines = Engines::default();
    let folder = folder("findings");
    let mut cases = 0;
    for target in targets::ALL {
        for number in 0..3 {
            let Some(guest) = target.guest(case_seed(3, number)) else { continue };
            let Ok((_, left)) = oracle::reference(&guest, &mut engines) else { continue };
            let files = save::files(&guest, Some(&left), "a case");
            let finding = Finding { kind: "none".into(), text: String::new(), files };
            let place =
                save::write(&folder, &format!("{}-{number}", target.name), &finding).expect("it is written");
            let wrong = repeat::repeat(&place.join("launch.toml"), 4).expect("it can be read");
            assert!(wrong.is_empty(), "{}: {wrong:#?}", place.display());
            cases += 1;
        }
    }
    assert!(cases > 18, "{cases}");
}

#[test]
fn a_saved_difference_is_found_again() {
    let guest = guest(STORE);
    let (_, mut left) = oracle::reference(&guest, &mut Engines::default()).expect("it runs");
    left.buffers[0][3] ^= 0x80;
    let files = save::files(&guest, Some(&left), "not what it does");
    let finding = Finding { kind: "memory".into(), text: String::new(), files };
    let place = save::write(&folder("again"), "case", &finding).expect("it is written");
    let wrong = repeat::repeat(&place.join("launch.toml"), 20).expect("it can be read");
    assert!(wrong.len() > 10, "{wrong:?}");
    assert_eq!(oracle::differs(&guest, COMPILED, &mut Engines::default()), None);
}

/// Watches one worker that is a shell script, until it has been started as often as there are scripts.
fn watched(scripts: &[&str], limit: Duration) -> watch::Seen {
    let mut scripts = scripts.iter();
    let command = |_, _| {
        let mut command = Command::new("sh");
        command.args(["-c", scripts.next()?]);
        Some(command)
    };
    watch::watch(1, limit, command, |_| {}).expect("there is a shell")
}

#[test]
fn a_worker_that_crashes_or_hangs_is_a_finding_of_its_case() {
    let long = Duration::from_secs(60);
    let seen = watched(&["echo begin words 0x12; kill -SEGV $$", "echo begin edges 0x13"], long);
    let found: Vec<_> =
        seen.found.iter().map(|f| (f.target.as_str(), f.seed, f.finding.kind.as_str())).collect();
    assert_eq!(found, [("words", 0x12, "crash")]);
    assert_eq!(seen.cases, 2, "another worker goes on");
    let seen = watched(&["echo begin tesla 0x5; exec sleep 1000"], Duration::from_secs(1));
    assert_eq!(seen.found.len(), 1);
    assert_eq!((seen.found[0].seed, seen.found[0].finding.kind.as_str()), (5, "hang"));
    let seen = watched(&["echo begin tesla 0x5; exit 3"], long);
    assert_eq!(seen.found[0].finding.kind, "crash");
}

#[test]
fn what_workers_find_and_cover_is_taken_up() {
    let line = serde_json::to_string(&Finding::new("memory", "a difference")).expect("it is plain");
    let script = format!(
        "echo begin words 1; echo 'found {line}'; echo 'covered {{\"counts\":{{\"cases\":{{\"words\":1}}}},\"operations\":{{}}}}'"
    );
    let seen = watched(&[&script], Duration::from_secs(60));
    assert_eq!(seen.found[0].finding.text, "a difference");
    assert_eq!(seen.coverage.counted("cases", "words"), 1);
}

#[test]
fn the_command_repeats_a_run_by_its_seed() {
    let run = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpjit-fuzz"));
        command.args([
            "--seed",
            "0x77",
            "--cases",
            "8",
            "--jobs",
            "1",
            "--seconds",
            "300",
            "--target",
            "gcn-vector",
        ]);
        command.arg("--save").arg(folder("command"));
        let out = command.output().expect("it runs");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
        String::from_utf8_lossy(&out.stdout)
            .lines()
            .filter(|line| !line.contains("seconds"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let text = run();
    assert!(text.contains("cases: gcn-vector 8") && text.contains("0 findings"), "{text}");
    assert_eq!(text, run());
}

#[test]
fn bad_arguments_are_errors() {
    for args in [
        &["--only", "words:zz"][..],
        &["--only", "words:0xfffffffffffffffff"],
        &["--only", "nothing:1"],
        &["--jobs", "100000000"],
        &["--target", "nothing"],
        &["--save", "/proc/nothing", "--cases", "1"],
        &["--repeat", "/dev/zero"],
    ] {
        let out = Command::new(env!("CARGO_BIN_EXE_warpjit-fuzz")).args(args).output().expect("it runs");
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert!(!out.stderr.is_empty());
    }
}

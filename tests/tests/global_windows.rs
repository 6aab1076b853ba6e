//! Tests Tesla's windows to global memory: which accesses are inside, which ones fault and with which address, in the interpreter
//! and in compiled code with all settings.

use warpjit::outcome::Status;
use warpjit_frontend::tesla::{Chip, Target, assemble};
use warpjit_runtime::{Access, Config, GlobalMode, GlobalSpace, Isa, Launch, Program, ProgramOptions, Tier};
use warpjit_tests::engines::interpreter_and_compiled;
use warpjit_tests::guest::Guest;

/// g0[] shows 64 bytes of words 100, 101, ...; g1[] 256 bytes that are written; g2[] a picture of 96 bytes by 6 rows in tiles of 64 by 4;
/// the 256 bytes behind g1[] are nobody's.
const LAUNCH: &str = "[launch]\ngrid = [1, 1, 1]\nblock = [32, 1, 1]\n\
    [[buffer]]\nname = 'words'\naddress = 0x10000100\n\
    u32 = [100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115]\n\
    [[buffer]]\nname = 'out'\naddress = 0x10010000\nbytes = 256\n\
    [[buffer]]\nname = 'rest'\naddress = 0x10010100\nbytes = 256\n\
    [[buffer]]\nname = 'picture'\naddress = 0x10020000\nbytes = 1024\n\
    [[global]]\nindex = 0\nbuffer = 'words'\nmode = 'linear'\n\
    [[global]]\nindex = 1\nbuffer = 'out'\nmode = 'linear'\n\
    [[global]]\nindex = 2\nbuffer = 'picture'\nmode = 'tiled2d'\npitch = 128\nwidth = 96\nheight = 6\ntile_mode = 0\n";

/// `$r0` the lane's number, `$r1` four times that.
const LANES: &str = "and b32 $r0 $r0 0x1f\nshl b32 $r1 $r0 0x2\n";

fn guest(source: &str, expects: &str) -> Guest {
    Guest::new(&format!("{LANES}{source}\nexit nop\n"), &format!("{LAUNCH}{expects}"))
}

#[track_caller]
fn holds(source: &str, expects: &str) {
    let guest = guest(source, expects);
    let outcome = guest.run_everywhere();
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.to_text(false));
    let compiled = guest.run(Config::default().tier(Tier::Jit).threads(1)).unwrap();
    assert_eq!(compiled.stats.tiers.interpreted, 0.0, "the interpreter has run it");
}

/// The last instruction faults.
#[track_caller]
fn faults(source: &str, text: &str) {
    let fault = guest(source, "").fault();
    assert_eq!(fault.to_string(), text);
}

fn at(pc: u32, lane: u32, what: &str) -> String {
    format!("memory fault at pc {pc:#x}, block (0, 0, 0), warp 0, lane {lane}: {what}")
}

fn words(list: impl IntoIterator<Item = u32>) -> String {
    let list: Vec<String> = list.into_iter().map(|word| word.to_string()).collect();
    format!("[[expect]]\ntype = 'u32'\nu32 = [{}]\nbuffer = ", list.join(", "))
}

#[test]
fn words_side_by_side_and_anywhere() {
    // Words of pairs of lanes, stored in reverse order; the lanes' numbers behind them.
    let source = "shr u32 $r2 $r0 0x1\nshl b32 $r2 $r2 0x2\nld b32 $r3 g0[$r2]\nmov b32 $r4 0x7c\n\
        sub b32 $r4 $r4 $r1\nst b32 g1[$r4] $r3\nadd b32 $r5 $r1 0x80\nst b32 g1[$r5] $r0";
    let out = words((0..32).map(|n| 100 + (31 - n) / 2).chain(0..32));
    holds(source, &format!("{out}'out'\n{}'rest'\n", words([0; 64])));
}

#[test]
fn the_last_bytes_are_inside() {
    // One byte, a half, a word and a double word that end where the window does, the same for all lanes.
    let source = "mov b32 $r2 0x3f\nld u8 $r3 g0[$r2]\nmov b32 $r2 0x3e\nld u16 $r4 g0[$r2]\n\
        mov b32 $r2 0x3c\nld b32 $r5 g0[$r2]\nmov b32 $r2 0x38\nld b64 $r6d g0[$r2]\n\
        add b32 $r3 $r3 $r4\nadd b32 $r3 $r3 $r5\nadd b32 $r3 $r3 $r6\nadd b32 $r3 $r3 $r7\n\
        st b32 g1[$r1] $r3";
    let out = words(std::iter::repeat_n(115 + 114 + 115, 32));
    holds(source, &format!("{out}'out'\n"));
}

#[test]
fn atomics() {
    let source = "mov b32 $r2 0x8\nmov b32 $r3 0x1\nred add u32 g1[$r2] $r3\n\
        and b32 $r4 $r0 0x3\nshl b32 $r4 $r4 0x2\nadd b32 $r4 $r4 0x10\nred add u32 g1[$r4] $r0";
    let mut out = [0; 64];
    out[2] = 32;
    (0..32).for_each(|lane| out[4 + lane % 4] += lane as u32);
    holds(source, &format!("{}'out'\n", words(out)));
}

#[test]
fn tiles() {
    // Each lane's number at x = 64 * (n & 1) + 4 * (n / 12), y = n / 2 % 6.
    let at = |n: u32| (64 * (n & 1) + 4 * (n / 12), n / 2 % 6);
    let source = "and b32 $r2 $r0 0x1\nshl b32 $r2 $r2 0x6\nshr u32 $r3 $r0 0x1\n\
        mov b32 $r4 0x2ab\nmul $r4 u16 $r3l u16 $r4l\nshr u32 $r4 $r4 0xc\nshl b32 $r5 $r4 0x2\nadd b32 $r2 $r2 $r5\n\
        mov b32 $r5 0x6\nmul $r5 u16 $r4l u16 $r5l\nsub b32 $r3 $r3 $r5\nshl b32 $r3 $r3 0x10\nor b32 $r2 $r2 $r3\n\
        add b32 $r6 $r0 0x1\nst b32 g2[$r2] $r6\nld b32 $r7 g2[$r2]\nst b32 g1[$r1] $r7";
    let mut picture = [0; 256];
    for n in 0..32 {
        let (x, y) = at(n);
        let tile = 2 * (y / 4) + x / 64;
        picture[(tile * 256 + y % 4 * 64 + x % 64) as usize / 4] = n + 1;
    }
    holds(source, &format!("{}'picture'\n{}'out'\n", words(picture), words(1..=32)));
}

#[test]
fn lanes_that_take_no_part_may_point_anywhere() {
    let source = "mov b32 $r4 0x10\nset $c0 # l u32 $r0 $r4\nmov b32 $r3 0x7\n(lg $c0) ld b32 $r3 g0[$r1]\nst b32 g1[$r1] $r3\n\
        mov b32 $r4 0xfffffffc\n(e $c0) mov b32 $r1 $r4\n(lg $c0) st b32 g1[$r1] $r0\n(lg $c0) ld b32 $r2 g2[$r1]";
    let out = words((0..32).map(|n| if n < 16 { n } else { 7 }));
    holds(source, &format!("{out}'out'\n"));
}

/// Windows of less than a double word, or that begin anywhere, are the interpreter's, whatever the tier.
#[test]
fn windows_that_code_is_not_made_for() {
    let launch = LAUNCH
        .replace("0x10000100", "0x10000104")
        .replace("bytes = 256\n[[buffer]]\nname = 'rest'", "bytes = 4\n[[buffer]]\nname = 'rest'");
    assert_ne!(launch, LAUNCH);
    let source =
        |lanes: &str| format!("{lanes}ld b32 $r3 g0[$r1]\nmov b32 $r2 0x0\nst b32 g1[$r2] $r3\nexit nop\n");
    // Of lanes that store to one word the highest wins: it has the last word.
    let inside = Guest::new(
        &source("and b32 $r0 $r0 0xf\nshl b32 $r1 $r0 0x2\n"),
        &format!("{launch}{}'out'\n", words([115])),
    );
    assert_eq!(inside.run_everywhere().status, Status::Ok);
    let fault = Guest::new(&source(LANES), &launch).fault().to_string();
    assert_eq!(fault, at(0x10, 16, "load from global 0x40"));
}

#[test]
fn what_is_outside_faults() {
    // Lanes side by side, the first one outside; the address is the window's.
    faults("ld b32 $r2 g0[$r1]", &at(0x10, 16, "load from global 0x40"));
    faults("add b32 $r1 $r1 0xa0\nst b32 g1[$r1] $r0", &at(0x18, 24, "store to global 0x100"));
    // A part of an access; a wider one than what is left.
    faults("add b32 $r1 $r1 0xfe\nld u8 $r2 g1[$r1]", &at(0x18, 1, "load from global 0x102"));
    faults("shl b32 $r1 $r1 0x1\nld b64 $r2d g0[$r1]", &at(0x18, 8, "load from global 0x40"));
    // The same for all, beyond, and where it would come back to the window from behind.
    faults("mov b32 $r2 0x40\nld b32 $r3 g0[$r2]", &at(0x18, 0, "load from global 0x40"));
    faults("mov b32 $r2 0xfffffffc\nst b32 g1[$r2] $r0", &at(0x18, 0, "store to global 0xfffffffc"));
    faults("mov b32 $r2 0xf0000000\nst b32 g1[$r2] $r0", &at(0x18, 0, "store to global 0xf0000000"));
    // Anywhere: squares.
    faults("mul $r2 u16 $r0l u16 $r1l\nst b32 g1[$r2] $r0", &at(0x18, 8, "store to global 0x100"));
    faults("mul $r2 u16 $r0l u16 $r1l\nred add u32 g1[$r2] $r0", &at(0x18, 8, "store to global 0x100"));
    // Misaligned, inside.
    faults("add b32 $r1 $r1 0x2\nld b32 $r2 g0[$r1]", &at(0x18, 0, "load from global 0x2"));
    // Windows that are not given.
    faults("ld b32 $r2 g3[$r1]", &at(0x10, 0, "load from global 0x0"));
    faults("red add u32 g15[$r1] $r0", &at(0x10, 0, "store to global 0x0"));
}

#[test]
fn what_is_outside_of_a_picture_faults() {
    faults("ld b32 $r2 g2[$r1]", &at(0x10, 24, "load from global 0x60"));
    faults("shl b32 $r1 $r0 0x10\nst b32 g2[$r1] $r0", &at(0x18, 6, "store to global 0x60000"));
    faults("add b32 $r1 $r1 0x2\nst b32 g2[$r1] $r0", &at(0x18, 0, "store to global 0x2"));
    faults("mov b32 $r2 0x50002\nld b32 $r2 g2[$r2]", &at(0x18, 0, "load from global 0x50002"));
}

/// Windows may show what is not mapped, or must not be written: an access there has the window's address, too.
#[test]
fn what_memory_refuses_faults_at_the_address_in_the_window() {
    const START: u64 = 0x1002_0000;
    let tiled = GlobalMode::Tiled2d { pitch: 128, width: 128, height: 64, tile_mode: 3 };
    // One page can be written, the next one only read, a third one is not there.
    for (mode, addresses, wanted) in [
        (
            GlobalMode::Linear,
            "add b32 $r1 $r1 0xfe0",
            ["lane 8: store to global 0x1000", "lane 8: load from global 0x2000"],
        ),
        // Tiles of 64 by 32: two pages are four of them, the two rows of tiles.
        (
            tiled,
            "shl b32 $r1 $r0 0x11",
            ["lane 16: store to global 0x200000", "lane 0: load from global 0x0"],
        ),
    ] {
        let second = if mode == GlobalMode::Linear { "add b32 $r1 $r1 0x1000\n" } else { "" };
        for (access, text) in ["st b32 g5[$r1] $r0", "ld b32 $r2 g5[$r1]"].into_iter().zip(wanted) {
            let load = access.starts_with("ld");
            let more = if load { second } else { "" };
            let source = format!("{LANES}{addresses}\n{more}{access}\nexit nop\n");
            let code = assemble(&source, Target::compute(Chip::G84)).expect("assembles").code;
            let options = ProgramOptions::new(Isa::Tesla).raw(true).chip(Some("g84".parse().unwrap()));
            let program = Program::load(&code, &options).expect("loads");
            for (name, engine) in interpreter_and_compiled() {
                let memory = engine.memory().expect("memory");
                memory.map(Some(START), 4096, Access::ReadWrite).expect("room");
                memory.map(Some(START + 4096), 4096, Access::ReadOnly).expect("room");
                // The picture's second launch begins where nothing is.
                let start = if load && mode != GlobalMode::Linear { START + 8192 } else { START };
                let window = GlobalSpace { index: 5, address: start, bytes: 3 * 4096, mode };
                let launch = Launch::default().grid([1, 1, 1]).block([32, 1, 1]).globals(vec![window]);
                let report = engine.run(&program, &memory, &launch).expect("runs");
                let fault = report.fault.expect("faults").to_string();
                assert!(fault.ends_with(text), "{name}, {mode:?}: {fault}, want {text}");
            }
        }
    }
}

//! Tests that all that a launch file can set reaches the guest (registers, constants, windows, arguments, shared and local
//! memory), and that the expectations on its results are checked.

use warpjit::launch_file::{Expect, ExpectBuffer, LaunchFile, Unit};
use warpjit::outcome::Status;
use warpjit::session::{Session, load_program};
use warpjit_frontend::tesla::{Chip, Target, assemble};
use warpjit_runtime::{Access, Arg, CancelToken, Config, Engine, Isa, Launch, Program, ProgramOptions, Tier};
use warpjit_tests::corpus;
use warpjit_tests::guest::Guest;

const ONE_WARP: &str = "[launch]\ngrid = [1, 1, 1]\nblock = [32, 1, 1]\n";

#[track_caller]
fn holds(source: &str, launch: &str) {
    let outcome = Guest::new(source, launch).run_everywhere();
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.to_text(false));
}

#[track_caller]
fn mismatches(source: &str, launch: &str, text: &str) {
    let outcome = Guest::new(source, launch).run_everywhere();
    assert_eq!(outcome.status, Status::Mismatch);
    let got: Vec<_> = outcome.mismatches.iter().map(ToString::to_string).collect();
    assert_eq!(got, [text]);
}

/// A test that cannot fail is none: with one bit changed, no expectation of the corpus holds.
#[test]
fn every_expectation_of_the_corpus_can_fail() {
    let engine = Engine::new(Config::default().tier(Tier::Interp).threads(1)).unwrap();
    let mut changed = 0;
    for case in corpus::tesla().unwrap() {
        let mut file = case.load().unwrap();
        let expects = std::mem::take(&mut file.expects);
        for expect in expects {
            let Expect::Buffer(mut buffer) = expect else { continue };
            let Some(last) = buffer.data.last_mut().filter(|_| buffer.max_ulp == 0 && buffer.max_abs == 0.0)
            else {
                continue;
            };
            *last ^= 0x80;
            changed += 1;
            file.expects.push(Expect::Buffer(buffer));
        }
        let wrong = file.expects.len();
        if wrong == 0 {
            continue;
        }
        let mut session = Session::new(&file, &engine).unwrap();
        let report = session.run().unwrap();
        let outcome = session.check(report).unwrap();
        assert_eq!((outcome.status, outcome.mismatches.len()), (Status::Mismatch, wrong), "{}", case.name);
    }
    assert!(changed > 827, "{changed}");
}

/// The corpus allows the special functions an error; the hardware's own results are there as well.
#[test]
fn special_functions_are_exact() {
    let folder = corpus::corpus().join("tesla/sfu_functions");
    let mut file = LaunchFile::load(&folder.join("launch.toml")).unwrap();
    let data = std::fs::read(folder.join("o_hw.bin")).unwrap();
    let buffer = file.buffers.iter().position(|b| b.name == "o").unwrap();
    let exact = ExpectBuffer { buffer, offset: 0, data, unit: Unit::U32, max_ulp: 0, max_abs: 0.0 };
    file.expects = vec![Expect::Buffer(exact)];
    for tier in [Tier::Interp, Tier::Jit] {
        let engine = Engine::new(Config::default().tier(tier).threads(1)).unwrap();
        let mut session = Session::new(&file, &engine).unwrap();
        let report = session.run().unwrap();
        let outcome = session.check(report).unwrap();
        assert_eq!(outcome.status, Status::Ok, "{tier:?}: {}", outcome.to_text(false));
    }
}

/// The picture of the README: its program is what its source says, and rows of it are what a model says.
#[test]
fn the_example_holds() {
    let folder = corpus::root().join("examples/mandelbrot");
    let file = LaunchFile::load(&folder.join("launch.toml")).unwrap();
    let source = std::fs::read_to_string(folder.join("source.txt")).unwrap();
    let assembly = assemble(&source, Target::compute(Chip::G80)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(assembly.code, file.program.code);
    let engine = Engine::new(Config::default()).unwrap();
    let mut session = Session::new(&file, &engine).unwrap();
    let report = session.run().unwrap();
    let outcome = session.check(report).unwrap();
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.to_text(false));
    assert_eq!(file.expects.len(), 2);
    let saved = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("example");
    session.save(Some(&saved)).unwrap();
    assert!(std::fs::metadata(saved.join("mandelbrot.png")).unwrap().len() > 100_000);
}

#[test]
fn registers_are_set_and_compared() {
    let lanes: Vec<String> = (0..32).map(|n| (n * 3).to_string()).collect();
    let doubled: Vec<String> = (0..32).map(|n| (n * 3 + 5).to_string()).collect();
    let source = "add b32 $r3 $r1 $r2\nset $c1 $r4 e u32 $r1 $r1\nexit nop\n";
    let launch = format!(
        "{ONE_WARP}[registers]\nr1 = [{}]\nr2 = 5\n[[expect]]\nregister = 'r3'\nvalues = [{}]\n\
         [[expect]]\nregister = 'r2'\nvalue = 5\n[[expect]]\nregister = 'r4'\nvalue = -1\n\
         [[expect]]\nregister = 'c1'\nvalue = 2\n[[expect]]\nregister = 'r9'\nvalue = 0\n",
        lanes.join(","),
        doubled.join(",")
    );
    holds(source, &launch);
    let launch = format!("{ONE_WARP}[registers]\nr1 = 1\n[[expect]]\nregister = 'r3'\nvalue = 2\n");
    mismatches(source, &launch, "register r3 lane 0: got 0x1, wanted 0x2");
    let launch = format!("{ONE_WARP}[[expect]]\nregister = 'q3'\nvalue = 2\n");
    assert_eq!(
        Guest::new(source, &launch).refusal(),
        "guest.toml: expect.register: the program has no register \"q3\""
    );
}

#[test]
fn constants_reach_every_bank() {
    for bank in [0, 1, 7, 15] {
        let source = format!(
            "and b32 $r0 $r0 0xffff\nshl b32 $r1 $r0 0x2\nshl $a1 $r1 0x0\nld $r2 b32 c{bank}[$a1+0x4]\n\
             long add b32 $r1 b32 s[0x10] $r1\nst b32 g14[$r1] $r2\nexit nop\n"
        );
        let launch = format!(
            "{}[[buffer]]\nname = 'out'\nbytes = 8\n[[arg]]\nbuffer = 'out'\n\
             [[const]]\nindex = {bank}\ni32 = [1, -2, 3]\n[[expect]]\nbuffer = 'out'\ni32 = [-2, 3]\ntype = 'u32'\n",
            ONE_WARP.replace("32", "2")
        );
        holds(&source, &launch);
    }
}

#[test]
fn windows_show_their_buffer_and_no_more() {
    let source = "mov b32 $r1 0x8\nld b32 $r2 g3[$r1]\nmov b32 $r1 0x0\nst b32 g5[$r1] $r2\nexit nop\n";
    let launch = format!(
        "{ONE_WARP}[[buffer]]\nname = 'in'\nu32 = [1, 2, 77]\n[[buffer]]\nname = 'out'\nbytes = 4\n\
         [[global]]\nindex = 3\nbuffer = 'in'\n[[global]]\nindex = 5\nbuffer = 'out'\nmode = 'linear'\n"
    );
    holds(source, &format!("{launch}[[expect]]\nbuffer = 'out'\nu32 = [77]\ntype = 'u32'\n"));
    // Just behind the buffer, and a window that nobody opened.
    for source in
        ["mov b32 $r1 0xc\nld b32 $r2 g3[$r1]\nexit nop\n", "mov b32 $r1 0x0\nld b32 $r2 g4[$r1]\nexit nop\n"]
    {
        holds(source, &format!("{launch}[[expect]]\nfault = 'memory'\npc = 8\nlane = 0\n"));
    }
}

#[test]
fn arguments_are_laid_out_with_their_alignment() {
    // u8, u16, u32, u64, f32, hex: at 0x10, 0x12, 0x14, 0x18, 0x20, 0x24; then a pointer of 8 bytes at 0x28.
    let words = [0x10, 0x14, 0x18, 0x1c, 0x20, 0x24, 0x2c];
    let mut source = String::from("mov b32 $r1 b32 s[0x28]\nmov b32 $r3 0x4\n");
    for offset in words {
        source += &format!("mov b32 $r2 b32 s[{offset:#x}]\nst b32 g14[$r1] $r2\nadd b32 $r1 $r1 $r3\n");
    }
    source += "exit nop\n";
    let launch = format!(
        "{}[[buffer]]\nname = 'out'\nbytes = 28\n[[arg]]\nu8 = 0xab\n[[arg]]\nu16 = 0x1234\n[[arg]]\nu32 = 0xdeadbeef\n\
         [[arg]]\ni64 = -2\n[[arg]]\nf32 = 1.5\n[[arg]]\nhex = '01020304'\n[[arg]]\nbuffer = 'out'\nsize = 8\n\
         [[expect]]\nbuffer = 'out'\ntype = 'u32'\n\
         u32 = [0x123400ab, 0xdeadbeef, 0xfffffffe, 0xffffffff, 0x3fc00000, 0x04030201, 0]\n",
        ONE_WARP.replace("32", "1")
    );
    holds(&source, &launch);
}

#[test]
fn shared_and_local_memory_have_the_size_asked_for() {
    // Loads beyond the end give zero, stores there are dropped.
    let source = "mov b32 $r2 0x63\nmov b32 $r1 b32 s[0x10]\nst b32 s[0x40] $r2\nst b32 l[0x0] $r2\n\
                  ld b32 $r3 s[0x40]\nst b32 g14[$r1] $r3\nadd b32 $r1 $r1 0x4\nld b32 $r3 l[0x0]\n\
                  st b32 g14[$r1] $r3\nexit nop\n";
    let source = source.replace("ld b32 $r3 s[0x40]", "ld $r3 b32 s[0x40]");
    let launch = |dynamic: u32, wanted: &str| {
        format!(
            "{}dynamic_shared = {dynamic}\n[[buffer]]\nname = 'out'\nbytes = 8\n[[arg]]\nbuffer = 'out'\n\
             [[expect]]\nbuffer = 'out'\ntype = 'u32'\nu32 = {wanted}\n",
            ONE_WARP.replace("32", "1")
        )
    };
    // Header and one parameter take 0x14 bytes; the program has no local memory.
    holds(&source, &launch(0x30, "[0x63, 0]"));
    holds(&source, &launch(0x20, "[0, 0]"));
}

#[test]
fn every_thread_of_a_grid_runs_once() {
    // Every thread adds one to its block's word; the grid has two dimensions.
    let source = "cvt u32 $r1 u16 u16 s[0xc]\ncvt u32 $r2 u16 u16 s[0xe]\nshl b32 $r2 $r2 0x1\nadd b32 $r1 $r1 $r2\n\
                  shl b32 $r1 $r1 0x2\nlong add b32 $r1 b32 s[0x10] $r1\nmov b32 $r2 0x1\nred add u32 g14[$r1] $r2\nexit nop\n";
    let launch = "[launch]\ngrid = [2, 3, 1]\nblock = [8, 5, 2]\n[[buffer]]\nname = 'out'\nbytes = 24\n[[arg]]\nbuffer = 'out'\n\
                  [[expect]]\nbuffer = 'out'\nu32 = [80, 80, 80, 80, 80, 80]\ntype = 'u32'\n";
    holds(source, launch);
}

#[test]
fn floats_are_compared_as_the_file_says() {
    let source = "mov b32 $r1 b32 s[0x10]\nmov b32 $r2 0x3f800001\nst b32 g14[$r1] $r2\nexit nop\n";
    let launch = |more: &str| {
        format!(
            "{ONE_WARP}[[buffer]]\nname = 'o'\nbytes = 4\n[[arg]]\nbuffer = 'o'\n[[expect]]\nbuffer = 'o'\nf32 = [1.0]\n{more}"
        )
    };
    holds(source, &launch("type = 'f32'\nmax_ulp = 1\n"));
    holds(source, &launch("type = 'f32'\nmax_abs = 0.001\n"));
    mismatches(
        source,
        &launch("type = 'f32'\n"),
        "buffer \"o\" element 0 (f32 at byte 0x0): got 1.0000001 (0x3f800001), wanted 1.0 (0x3f800000); 1 of 1 differ",
    );
    mismatches(
        source,
        &launch(""),
        "buffer \"o\" element 0 (u8 at byte 0x0): got 0x01, wanted 0x00; 1 of 4 differ",
    );
}

#[test]
fn buffers_may_be_large_and_are_filled() {
    let source = "ld b32 $r2 g14[$r1]\nexit nop\n";
    let launch = |bytes: u64, r1: u64, wanted: u64| {
        format!(
            "{ONE_WARP}[[buffer]]\nname = 'a'\nbytes = {bytes}\naddress = 0x10000\nu32 = [7]\n\
             [[buffer]]\nname = 'b'\nbytes = 100000\nfill = 0xab\naddress = 0xff000000\n\
             [registers]\nr1 = {r1}\n[[expect]]\nregister = 'r2'\nvalue = {wanted}\n"
        )
    };
    holds(source, &launch(3 << 30, 0x10000, 7));
    holds(source, &launch(3 << 30, 0xc000_0000, 0));
    holds(source, &launch(4, 0xff00_0000 + 99_996, 0xabab_abab));
    let all = format!("{ONE_WARP}[[buffer]]\nname = 'a'\nbytes = 4294967296\n");
    let refusal = Guest::new(source, &all).refusal();
    assert!(refusal.starts_with("guest.toml: buffer \"a\": guest memory: "), "{refusal}");
}

#[test]
fn buffers_without_an_address_keep_clear_of_those_with_one() {
    let source = "mov b32 $r1 b32 s[0x10]\nmov b32 $r2 0x5\nst b32 g14[$r1] $r2\nexit nop\n";
    let launch = format!(
        "{ONE_WARP}[[buffer]]\nname = 'free'\nbytes = 4\n[[buffer]]\nname = 'fixed'\nbytes = 4096\naddress = 0x10000\n\
         [[arg]]\nbuffer = 'free'\n[[expect]]\nbuffer = 'free'\nu32 = [5]\ntype = 'u32'\n\
         [[expect]]\nbuffer = 'fixed'\nu32 = [0]\ntype = 'u32'\n"
    );
    holds(source, &launch);
}

/// Pages that a launch has mapped for itself (here GCN's arguments) are retained for the next one, and nobody else's: compiled code faults
/// at them as the interpreter does.
#[test]
fn what_a_launch_maps_for_itself_is_not_there_for_others() {
    let file = LaunchFile::load(&corpus::corpus().join("gcn/fft2_pass/fiji.launch.toml")).unwrap();
    let gcn = load_program(&file).unwrap();
    let code = warpjit_tests::fermi::code(
        "long mov b32 $r6 0x10000000\nlong mov b32 $r7 0xf\nlong ld b32 $r4 ca g[$r6d]\nlong exit",
        warpjit_frontend::fermi::Chip::Gf100,
    );
    let options =
        ProgramOptions::new(Isa::Fermi).raw(true).chip(Some("gf100".parse().unwrap())).registers(Some(16));
    let wild = Program::load(&code, &options).unwrap();
    for tier in [Tier::Interp, Tier::Jit] {
        let engine = Engine::new(Config::default().tier(tier).threads(1)).unwrap();
        let memory = engine.memory().unwrap();
        let buffers: Vec<u64> = (0..3).map(|_| memory.map(None, 4096, Access::ReadWrite).unwrap()).collect();
        let args = buffers.iter().map(|&b| Arg::u64(b)).chain([Arg::u32(4), Arg::u32(256)]).collect();
        let fft = Launch::default().grid([2, 1, 1]).block([64, 1, 1]).args(args);
        for _ in 0..2 {
            assert_eq!(engine.run(&gcn, &memory, &fft).unwrap().fault, None, "{tier:?}");
            assert_eq!(memory.buffers().count(), 3);
            let one = Launch::default().grid([1; 3]).block([32, 1, 1]);
            let fault = engine.run(&wild, &memory, &one).unwrap().fault.expect("a fault");
            assert_eq!((fault.pc, fault.address), (0x10, Some(0xf_1000_0000)), "{tier:?}");
        }
    }
}

/// As many blocks as a launch can have take longer than anybody waits.
#[test]
fn the_largest_grids_are_cancelled() {
    let code =
        warpjit_frontend::gcn::assemble("s_endpgm\n", warpjit_frontend::gcn::Generation::Gfx9).unwrap().code;
    let options = ProgramOptions::new(Isa::Gcn)
        .raw(true)
        .chip(Some("vega10".parse().unwrap()))
        .rsrc1(Some(0x2c_0043))
        .rsrc2(Some(0x8c));
    let program = Program::load(&code, &options).unwrap();
    for tier in [Tier::Interp, Tier::Jit] {
        let engine = Engine::new(Config::default().tier(tier).threads(2)).unwrap();
        let memory = engine.memory().unwrap();
        let token = CancelToken::new();
        let launch = Launch::default().grid([u32::MAX; 3]).block([64, 1, 1]).cancel(Some(token.clone()));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(50));
                token.cancel();
            });
            match engine.run(&program, &memory, &launch) {
                Ok(report) => assert!(report.cancelled, "{tier:?}"),
                // More blocks than can be counted are refused.
                Err(error) => assert!(error.to_string().contains("grid"), "{error}"),
            }
        });
        let launch = launch.grid([u32::MAX, 1 << 20, 1]).cancel(Some(CancelToken::new()));
        let token = launch.cancel.clone().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(50));
                token.cancel();
            });
            assert!(engine.run(&program, &memory, &launch).unwrap().cancelled, "{tier:?}");
        });
    }
}

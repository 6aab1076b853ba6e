//! Programs where they lie in guest memory: what control flow reaches, far away too; what an address is; what a program depends on.

#![allow(clippy::single_range_in_vec_init)] // Lists of ranges are what is compared.

mod support;

use support::settings;
use warpjit_frontend::Stage;
use warpjit_frontend::stage::{
    ExportTarget, InputPlace, OutputPlace, Per, StageInput, StageInterface, StageOutput,
};
use warpjit_runtime::stage::{Batch, Rows, RowsMut, Work};
use warpjit_runtime::{
    Access, Chip, CodeAt, Config, Engine, Fault, FaultKind, Isa, Launch, Memory, Observe, Program,
    ProgramOptions, Report, Tier,
};

/// Where the tests have code: in no 32 bits.
const CODE: u64 = 0x7_1234_5000;
/// More than 4 GiB from there.
const FAR: u64 = 0x9a_0000_3000;

fn chip(name: &str) -> Chip {
    name.parse().expect("a chip")
}

fn assemble(chip_name: &str, text: &str) -> Vec<u8> {
    chip(chip_name)
        .target()
        .assemble(text, Stage::Compute)
        .unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn gcn(text: &str) -> Vec<u8> {
    assemble("polaris10", text)
}

fn options() -> ProgramOptions {
    ProgramOptions::new(Isa::Gcn).chip(Some(chip("polaris10"))).sgprs(Some(32))
}

/// One wave, whose registers are returned.
fn wave() -> Launch {
    Launch::default().grid([1; 3]).block([64, 1, 1]).capture_registers(true)
}

/// A memory with pieces of code, each in pages of its own.
fn memory_with(engine: &Engine, pieces: &[(u64, &[u8])]) -> Memory {
    let memory = engine.memory().expect("memory");
    for &(address, code) in pieces {
        let page = address & !0xfff;
        let bytes = (address - page + code.len() as u64).next_multiple_of(4096);
        memory.map(Some(page), bytes, Access::ReadWrite).expect("mapped");
        memory.write(address, code).expect("written");
    }
    memory
}

fn run(config: &Config, pieces: &[(u64, &[u8])], options: &ProgramOptions, launch: &Launch) -> Report {
    let engine = Engine::new(config.clone()).expect("engine");
    let memory = memory_with(&engine, pieces);
    let program = Program::load_at(&memory, pieces[0].0, options).expect("loads");
    engine.run(&program, &memory, launch).expect("runs")
}

/// The fault of a program, the same in all tiers.
fn fault(pieces: &[(u64, &[u8])], options: &ProgramOptions) -> Fault {
    let faults = settings().into_iter().map(|config| run(&config, pieces, options, &wave()).fault);
    let faults: Vec<_> = faults.map(|fault| fault.expect("a fault")).collect();
    assert!(faults.iter().all(|fault| *fault == faults[0]), "{faults:?}");
    faults[0].clone()
}

fn scalar(report: &Report, name: &str) -> u64 {
    assert_eq!(report.fault, None);
    report.registers[name][0]
}

#[test]
fn getpc_is_the_guests_address_and_literals_are_read_from_its_memory() {
    let code = gcn("
        s_nop 0
        s_getpc_b64 s[0:1]
        s_load_dword s2, s[0:1], 0x10
        s_waitcnt lgkmcnt(0)
        s_endpgm
    ");
    assert_eq!(code.len(), 24);
    for config in settings() {
        let engine = Engine::new(config).expect("engine");
        let memory = memory_with(&engine, &[(CODE, &[code.as_slice(), &[42, 0, 0, 0]].concat())]);
        let buffers = memory.buffers().count();
        let program = Program::load_at(&memory, CODE, &options()).expect("loads");
        let report = engine.run(&program, &memory, &wave()).expect("runs");
        assert_eq!((scalar(&report, "s0"), scalar(&report, "s1")), ((CODE + 8) & 0xffff_ffff, CODE >> 32));
        assert_eq!(scalar(&report, "s2"), 42);
        // The literal is data: it can change, and the program does not depend on it.
        memory.write(CODE + 24, &[7, 0, 0, 0]).expect("written");
        assert!(program.is_current(&memory));
        assert_eq!(scalar(&engine.run(&program, &memory, &wave()).expect("runs"), "s2"), 7);
        assert_eq!(memory.buffers().count(), buffers, "a launch maps nothing");
        assert_eq!(program.code_ranges(), [CODE..CODE + 24]);
        memory.write(CODE, &[1, 0]).expect("written");
        assert!(!program.is_current(&memory));
    }
}

/// A function somewhere else: it adds 41 to `s6` and returns by `s[4:5]`.
const CALLED: &str = "
    s_add_u32 s6, s6, 41
    s_setpc_b64 s[4:5]
";

#[test]
fn a_fetch_shader_far_away_is_called_by_user_data() {
    let caller = gcn("
        s_mov_b32 s6, 1
        s_swappc_b64 s[4:5], s[2:3]
        s_add_u32 s6, s6, 100
        s_endpgm
    ");
    let called = gcn(CALLED);
    // 4 user SGPRs, 16 VGPRs, 16 SGPRs.
    let options = options()
        .rsrc1(Some(0x2c_0043))
        .rsrc2(Some(4 << 1))
        .sgprs(None)
        .known_user_data(vec![(2, FAR as u32), (3, (FAR >> 32) as u32)]);
    let launch = wave().user_data(vec![8, 9, FAR as u32, (FAR >> 32) as u32]);
    for config in settings() {
        let report = run(&config, &[(CODE, &caller), (FAR, &called)], &options, &launch);
        assert_eq!(scalar(&report, "s6"), 142);
        assert_eq!((scalar(&report, "s0"), scalar(&report, "s2")), (8, FAR & 0xffff_ffff));
        assert_eq!((scalar(&report, "s4"), scalar(&report, "s5")), ((CODE + 8) & 0xffff_ffff, CODE >> 32));
    }
    // Where it goes was decided at load.
    let engine = Engine::new(Config::default()).expect("engine");
    let memory = memory_with(&engine, &[(CODE, &caller), (FAR, &called)]);
    let program = Program::load_at(&memory, CODE, &options).expect("loads");
    assert_eq!(program.code_ranges(), [CODE..CODE + caller.len() as u64, FAR..FAR + 8]);
    let other = wave().user_data(vec![0, 0, 1, 2]);
    let error = engine.run(&program, &memory, &other).expect_err("refused").to_string();
    assert!(error.contains("word 2 of user data is 0x1, the program was loaded for 0x3000"), "{error}");
    let none = engine.run(&program, &memory, &wave()).expect("the known words need not be given");
    assert_eq!(scalar(&none, "s6"), 142);
}

#[test]
fn calls_relative_to_the_pc_reach_libraries_on_both_sides() {
    for far in [FAR, 0x8_0000, 0xffff_8000_0001_0000] {
        let distance = far.wrapping_sub(CODE + 4);
        let caller = gcn(&format!(
            "
            s_getpc_b64 s[2:3]
            s_add_u32 s2, s2, {:#x}
            s_addc_u32 s3, s3, {:#x}
            s_mov_b32 s6, 1
            s_swappc_b64 s[4:5], s[2:3]
            s_add_u32 s6, s6, 100
            s_swappc_b64 s[4:5], s[2:3]
            s_endpgm
            ",
            distance as u32,
            distance >> 32
        ));
        for config in settings() {
            let report = run(&config, &[(CODE, &caller), (far, &gcn(CALLED))], &options(), &wave());
            assert_eq!(scalar(&report, "s6"), 183, "{far:#x}");
        }
    }
}

#[test]
fn a_target_that_is_not_known_is_named_by_the_fault() {
    let caller = gcn("
        s_nop 0
        s_load_dwordx2 s[2:3], s[0:1], 0x0
        s_waitcnt lgkmcnt(0)
        s_swappc_b64 s[4:5], s[2:3]
        s_endpgm
    ");
    for target in [FAR, 0x1000, 0xffff_8000_0000_0000, CODE + 4, CODE + 0x1000_0000_0000] {
        let pool: Vec<u8> = target.to_le_bytes().into();
        let launch = wave().registers(vec![
            ("s0".into(), vec![CODE as u32 as u64 + 0x100]),
            ("s1".into(), vec![CODE >> 32]),
        ]);
        let mut code = caller.clone();
        code.resize(0x100, 0);
        code.extend(pool);
        for config in settings() {
            let report = run(&config, &[(CODE, &code), (FAR, &gcn(CALLED))], &options(), &launch);
            let fault = report.fault.expect("a fault");
            assert_eq!((fault.kind, fault.pc), (FaultKind::Illegal, CODE + 16), "{target:#x}");
            assert_eq!(fault.address, Some(target), "{target:#x}");
        }
    }
}

#[test]
fn code_that_runs_out_of_memory_or_is_cut_faults_there() {
    let nop = gcn("s_nop 0\n");
    let end = CODE + 0x1000;
    let found = fault(&[(end - 4, &nop)], &options());
    assert_eq!((found.kind, found.pc, found.bytes), (FaultKind::Illegal, end, vec![]));
    assert_eq!(found.address, None);
    // The first half of a long instruction.
    let long = gcn("s_mov_b32 s0, 0x12345678\n");
    let found = fault(&[(end - 8, &[&nop[..], &long[..4]].concat())], &options());
    assert_eq!((found.kind, found.pc), (FaultKind::Illegal, end - 4));
    assert_eq!(found.bytes, long[..4]);
    // A branch to what is not mapped, and one to a word that is no instruction.
    let branch = 0xbf82_1fff_u32.to_le_bytes();
    let found = fault(&[(CODE, &branch)], &options());
    assert_eq!((found.kind, found.pc), (FaultKind::Illegal, CODE + 0x8000));
    let found = fault(&[(CODE, &[&nop[..], &[0xff; 8]].concat())], &options());
    assert_eq!((found.kind, found.pc, found.bytes), (FaultKind::Illegal, CODE + 4, vec![0xff; 4]));
    // A memory fault names the instruction's address, too.
    let load = gcn("s_nop 0\ns_load_dword s2, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_endpgm\n");
    let found = fault(&[(CODE, &load)], &options());
    assert_eq!((found.kind, found.pc, found.address), (FaultKind::Memory, CODE + 4, Some(0)));
    assert!(found.to_string().starts_with("memory fault at pc 0x712345004, "), "{found}");
}

#[test]
fn what_is_no_place_for_code_is_an_error() {
    let engine = Engine::new(Config::default()).expect("engine");
    let memory = memory_with(&engine, &[(CODE, &gcn("s_endpgm\n"))]);
    let error = |address: u64, change: &dyn Fn(&mut ProgramOptions)| {
        let mut options = options();
        change(&mut options);
        Program::load_at(&memory, address, &options).expect_err("refused").to_string()
    };
    assert!(error(CODE + 2, &|_| ()).contains("entry 0x712345002 is not at a multiple of 4"));
    assert!(error(CODE + 0x1000, &|_| ()).contains("no code can be read at 0x712346000"));
    assert!(error(u64::MAX - 3, &|_| ()).contains("no code can be read at 0xfffffffffffffffc"));
    assert!(error(CODE, &|o| o.entry = 4).contains("entry and base are of code in a file"));
    assert!(error(CODE, &|o| o.segment = Some(0)).contains("gcn has no code segments"));
    assert!(error(CODE, &|o| o.chip = None).contains("raw code needs a chip"));
    assert!(error(CODE, &|o| o.chip = Some(chip("g80"))).contains("g80 is a chip of tesla"));
    let vp1 = ProgramOptions::new(Isa::Vp1).chip(Some(chip("nv41")));
    assert!(Program::load_at(&memory, CODE, &vp1).is_err());
}

#[test]
fn what_could_not_be_read_counts_among_what_a_program_depends_on() {
    let nop = gcn("s_nop 0\n");
    let source = CodeAt { address: CODE, bytes: &nop };
    let program = Program::load_at(&source, CODE, &options()).expect("loads");
    assert!(program.is_current(&source));
    // Something is mapped behind it now.
    let more = gcn("s_nop 0\ns_endpgm\n");
    assert!(!program.is_current(&CodeAt { address: CODE, bytes: &more }));
    assert!(program.bytes_used() > 100);
}

#[test]
fn profiles_and_listings_have_guest_addresses() {
    let code = gcn("s_mov_b32 s0, 5\ns_add_u32 s0, s0, 1\ns_endpgm\n");
    let launch = wave().capture_registers(false);
    let with = |tier, observe| {
        let config = Config::default().tier(tier).observe(observe);
        run(&config, &[(CODE, &code)], &options(), &launch)
    };
    let report = with(Tier::Interp, Observe::default().count(true));
    let profile = report.profile.expect("counted");
    assert_eq!(profile.instructions.keys().copied().collect::<Vec<_>>(), [CODE, CODE + 4, CODE + 8]);
    assert_eq!((profile.blocks[0].pc, profile.blocks[0].term_pc), (CODE, CODE + 8));
    let report = with(Tier::Jit, Observe::default().listings(true));
    let spans = report.listings.expect("kept").functions[0].parts[0].spans.clone();
    assert!(spans.iter().all(|span| (CODE..=CODE + 12).contains(&span.start)), "{spans:x?}");
}

/// A segment as drivers have it: programs at its top, and what they call at its bottom.
#[test]
fn code_segments_of_tesla_and_fermi_are_used_in_place() {
    const SEGMENT: u64 = 0x2000_0000;
    const ENTRY: u64 = 0x7_ff00;
    const LIBRARY: u64 = 0x80;
    let cases = [
        (
            "g84",
            Isa::Tesla,
            "mov b32 $r1 0x5\ncall 0x80\nadd b32 $r1 $r1 0x100\nexit nop\n",
            "add b32 $r1 $r1 0x10\nret\n",
        ),
        (
            "gf100",
            Isa::Fermi,
            "mov b32 $r1 0x5\ncall abs 0x80\nadd b32 $r1 $r1 0x100\nexit\n",
            "add b32 $r1 $r1 0x10\nret\n",
        ),
    ];
    for (name, isa, caller, library) in cases {
        let options =
            ProgramOptions::new(isa).chip(Some(chip(name))).registers(Some(8)).segment(Some(SEGMENT));
        let (caller, library) = (assemble(name, caller), assemble(name, library));
        let pieces: [(u64, &[u8]); 2] = [(SEGMENT + ENTRY, &caller), (SEGMENT + LIBRARY, &library)];
        let launch = wave().block([32, 1, 1]);
        for config in settings() {
            let report = run(&config, &pieces, &options, &launch);
            assert_eq!(report.fault, None, "{name}");
            assert_eq!(report.registers["r1"], [0x115; 32], "{name}");
        }
        let engine = Engine::new(Config::default()).expect("engine");
        let memory = memory_with(&engine, &pieces);
        let program = Program::load_at(&memory, pieces[0].0, &options).expect("loads");
        let ranges = program.code_ranges();
        assert_eq!(ranges[0].start, SEGMENT + LIBRARY, "{name}");
        // What is behind the ends of programs is not theirs.
        let ends = [SEGMENT + LIBRARY + library.len() as u64, SEGMENT + ENTRY + caller.len() as u64];
        assert_eq!(
            (ranges[1].start, ranges[0].end, ranges[1].end),
            (SEGMENT + ENTRY, ends[0], ends[1]),
            "{name}"
        );
        // Without what it calls.
        memory.unmap(SEGMENT).expect("was mapped");
        assert!(!program.is_current(&memory));
        let program = Program::load_at(&memory, pieces[0].0, &options).expect("loads");
        let report = engine.run(&program, &memory, &launch).expect("runs");
        let fault = report.fault.expect("a fault");
        assert_eq!((fault.kind, fault.pc), (FaultKind::Illegal, SEGMENT + LIBRARY), "{name}");
        // Not in the segment.
        let error = Program::load_at(&memory, SEGMENT - 8, &options).expect_err("refused").to_string();
        assert!(error.contains("is not in the 4 GiB from 0x20000000 on"), "{error}");
        let error =
            Program::load_at(&memory, SEGMENT + ENTRY + 2, &options).expect_err("refused").to_string();
        assert!(error.contains("not at a multiple of"), "{error}");
    }
}

#[test]
fn literals_are_of_the_code_as_it_was_loaded() {
    // Immediates are code: a change of theirs needs another load, and the old program goes on as it was.
    let (old, new) = (gcn("s_movk_i32 s0, 1\ns_endpgm\n"), gcn("s_movk_i32 s0, 2\ns_endpgm\n"));
    let engine = Engine::new(Config::default()).expect("engine");
    let memory = memory_with(&engine, &[(CODE, &old)]);
    let first = Program::load_at(&memory, CODE, &options()).expect("loads");
    memory.write(CODE, &new).expect("written");
    let second = Program::load_at(&memory, CODE, &options()).expect("loads");
    for (program, value) in [(&first, 1), (&second, 2), (&first, 1)] {
        let report = engine.run(program, &memory, &wave()).expect("runs");
        assert_eq!(report.registers["s0"][0], value);
    }
}

/// RSRC1 and RSRC2 of a vertex program: MODE's denormals and DX10_CLAMP, and user data.
#[test]
fn programs_of_stages_start_as_their_registers_say() {
    let code = gcn("
        v_mov_b32 v1, s1
        v_add_f32 v1, 0, v1
        v_mov_b32 v2, s0
        v_add_f32_e64 v2, v2, v2 clamp
        exp param0 v1, v2, v0, v0
        s_endpgm
    ");
    const NAN: u32 = 0x7fc0_0000;
    const DENORMAL: u32 = 0x0001_2345;
    // Denormals of f32 are kept or not, a clamped NaN is zero or not.
    let cases =
        [(3 << 16 | 1 << 21, [DENORMAL, 0]), (3 << 16, [DENORMAL, NAN]), (1 << 21, [0, 0]), (0, [0, NAN])];
    let interface = StageInterface {
        stage: Stage::Vertex,
        inputs: vec![StageInput { place: InputPlace::Register(0), words: 1, per: Per::Vertex }],
        outputs: vec![StageOutput { place: OutputPlace::Export(ExportTarget::Param(0), false), words: 3 }],
        ..StageInterface::default()
    };
    for (mode, wanted) in cases {
        let options = options()
            .sgprs(None)
            .rsrc1(Some(3 | 1 << 6 | mode))
            .rsrc2(Some(2 << 1))
            .stage(Some(interface.clone()));
        for config in settings() {
            let engine = Engine::new(config).expect("engine");
            let memory = memory_with(&engine, &[(CODE, &code)]);
            let program = Program::load_at(&memory, CODE, &options).expect("loads");
            let rows: Vec<u8> = (0..70_u32).flat_map(|n| (n + 5).to_le_bytes()).collect();
            let mut out = vec![0; 70 * 12];
            let mut batch = Batch::new(Work::Vertices(70));
            batch.inputs = vec![Rows::new(&rows)];
            batch.outputs = vec![RowsMut::new(&mut out)];
            let launch = Launch::default().user_data(vec![NAN, DENORMAL]);
            let report = engine.run_stage(&program, &memory, &launch, &mut batch).expect("runs");
            assert_eq!(report.fault, None);
            drop(batch);
            for (n, row) in out.chunks_exact(12).enumerate() {
                let words: Vec<u32> = row
                    .chunks_exact(4)
                    .map(|word| u32::from_le_bytes(word.try_into().expect("four")))
                    .collect();
                assert_eq!(words, [wanted[0], wanted[1], n as u32 + 5], "{mode:#x}");
            }
        }
    }
    let error = |rsrc1, rsrc2| {
        let options =
            options().sgprs(None).rsrc1(Some(rsrc1)).rsrc2(Some(rsrc2)).stage(Some(interface.clone()));
        Program::load_at(&CodeAt { address: CODE, bytes: &code }, CODE, &options)
            .expect_err("refused")
            .to_string()
    };
    assert!(error(3, 1).contains("enables scratch, the interface has no register for its offset"));
    assert!(error(3, 17 << 1).contains("loads 17 SGPRs, rsrc1 0x3 gives a wave 8"));
    assert!(error(3, 9 << 1).contains("loads 9 SGPRs, rsrc1 0x3 gives a wave 8"));
}

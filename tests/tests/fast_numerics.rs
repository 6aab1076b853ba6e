//! Tests approximate numerics: both tiers give the same bits on all hosts, including NaNs and the flags of comparisons. It runs
//! the programs of the corpus that compute with floats, on zeros, denormals, infinities and NaNs of all kinds, and single
//! operations of each instruction set on every pair of such numbers.

use warpjit::session::{Session, load_program};
use warpjit_runtime::{Access, Arg, Config, Engine, HostLevel, Isa, Launch, Numerics, Program, Tier};
use warpjit_tests::arrays::{assembled, some_of};
use warpjit_tests::corpus::{self, Case};

/// The interpreter first.
fn engines() -> Vec<(String, Engine)> {
    let kinds = [
        (Tier::Interp, HostLevel::Native, None),
        (Tier::Jit, HostLevel::Native, None),
        (Tier::Jit, HostLevel::Native, Some(1)),
        (Tier::Jit, HostLevel::Avx2, None),
        (Tier::Jit, HostLevel::Sse41, None),
    ];
    let engine = |(tier, host, chunk_groups)| {
        let numerics = Numerics::Fast;
        let config =
            Config::default().tier(tier).host(host).chunk_groups(chunk_groups).numerics(numerics).threads(1);
        (format!("{tier:?} {host:?} chunk {chunk_groups:?}"), Engine::new(config).unwrap())
    };
    kinds.into_iter().map(engine).collect()
}

/// Whole programs of all instruction sets, and the instruction forms that have to do with floats.
fn cases() -> Vec<Case> {
    let folder = |isa: &str| corpus::in_folder(&corpus::corpus().join(isa), isa).unwrap();
    let archive =
        |name: &str| corpus::in_archive(&corpus::corpus().join(format!("{name}.tar.gz")), name).unwrap();
    let integer = ["i", "imm-i", "short-i", "logop", "imm-logop", "shl", "shr", "pred"];
    let of_floats = |case: &Case| {
        let name = case.name.rsplit('/').next().unwrap_or(&case.name);
        !integer.iter().any(|prefix| name.starts_with(prefix))
    };
    let mut list: Vec<Case> = ["tesla", "fermi", "gcn"].into_iter().flat_map(folder).collect();
    list.extend(archive("tesla-op").into_iter().filter(of_floats));
    list.extend(archive("gcn-asm").into_iter().filter(|case| !case.name.contains("raw_")));
    list
}

#[test]
fn programs_leave_the_same_bits() {
    let engines = engines();
    let mut compared = 0;
    // A part of the corpus: every operation is in several programs.
    for case in some_of(cases(), 7) {
        let file = case.load().unwrap();
        let program = load_program(&file).unwrap();
        let run = |engine: &Engine| {
            let mut session = Session::with_program(&file, engine, program.clone()).unwrap();
            let report = session.run().unwrap();
            let read = |n: usize| session.read(n, 0, file.buffers[n].bytes as usize).unwrap();
            let buffers: Vec<Vec<u8>> = (0..file.buffers.len()).map(read).collect();
            (report, buffers)
        };
        let (wanted, buffers) = run(&engines[0].1);
        // What a fault leaves is not specified; long programs are for other tests.
        if wanted.fault.is_some() || wanted.stats.warp_instructions > 40_000 {
            continue;
        }
        compared += 1;
        for (kind, engine) in &engines[1..] {
            let (got, others) = run(engine);
            assert_eq!(got.registers, wanted.registers, "{}, {kind}", case.name);
            for (n, (got, wanted)) in others.iter().zip(&buffers).enumerate() {
                let wrong = got.iter().zip(wanted).position(|(a, b)| a != b);
                assert_eq!(wrong, None, "{}, buffer {:?}, {kind}", case.name, file.buffers[n].name);
            }
        }
    }
    assert!(compared > 70, "{compared}");
}

/// Numbers of all kinds, with both signs: zeros, denormals, the least and the greatest normal ones, others, infinities,
/// NaNs that signal and do not.
fn numbers() -> Vec<u32> {
    let list = [
        0,
        1,
        0x7f_ffff,
        0x80_0000,
        0x80_0001,
        0x2f80_0000,
        0x3f00_0000,
        0x3f80_0000,
        0x3fc9_0fdb,
        0x4016_8000,
        0x4b7f_ffff,
        0x5f80_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7f80_0001,
        0x7fa0_1234,
        0x7fc0_0000,
        0x7fff_ffff,
    ];
    list.into_iter().flat_map(|x| [x, x | 1 << 31]).collect()
}

/// Code that computes `op` of $r4, $r5 and $r6 (v4 and on), which it loads by the thread's number, and stores $r7 and $r8.
fn program(isa: Isa, op: &str) -> Program {
    let (text, chip) = match isa {
        Isa::Tesla => {
            let text = format!(
                "cvt u32 $r0 u16 $r0l\nshl b32 $r1 $r0 0x2\nadd b32 $r2 b32 s[0x10] $r1\nld b32 $r4 g14[$r2]\n\
                 add b32 $r2 b32 s[0x14] $r1\nld b32 $r5 g14[$r2]\nadd b32 $r2 b32 s[0x18] $r1\nld b32 $r6 g14[$r2]\n\
                 mov b32 $r8 0x0\n{op}\nadd b32 $r2 b32 s[0x1c] $r1\nst b32 g14[$r2] $r7\n\
                 add b32 $r2 b32 s[0x20] $r1\nst b32 g14[$r2] $r8\nexit nop\n"
            );
            (text, "gt218")
        }
        Isa::Fermi => {
            let load = |register: u32, place: u32| {
                format!("add b32 $r2 $r1 c0[{place:#x}]\nld b32 $r{register} ca g[$r2]\n")
            };
            let text = format!(
                "mov b32 $r0 $tidx\nshl b32 $r1 $r0 0x2\n{}{}{}mov b32 $r8 0x0\n{op}\n\
                 add b32 $r2 $r1 c0[0x2c]\nst b32 wb g[$r2] $r7\nadd b32 $r2 $r1 c0[0x30]\nst b32 wb g[$r2] $r8\nexit\n",
                load(4, 0x20),
                load(5, 0x24),
                load(6, 0x28)
            );
            (text, "gf100")
        }
        _ => (format!("v_mov_b32 v8, 0\n{op}\ns_endpgm\n"), "gfx900"),
    };
    assembled(&text, chip, 16, None)
}

/// What a program gives for so many operands, as [`program`] says, 64 at a time.
fn run(engine: &Engine, program: &Program, isa: Isa, operands: &[[u32; 3]]) -> Vec<[u32; 2]> {
    let mut results = Vec::new();
    for operands in operands.chunks(64) {
        let column = |n: usize| operands.iter().map(move |operands| operands[n]);
        let lanes = operands.len() as u32;
        let memory = engine.memory().unwrap();
        let mut launch = Launch::default().grid([1; 3]).block([lanes, 1, 1]);
        if isa == Isa::Gcn {
            let registers = (0..3).map(|n| {
                let mut values: Vec<u64> = column(n).map(u64::from).collect();
                values.resize(64, 0);
                (format!("v{}", n + 4), values)
            });
            launch = launch.block([64, 1, 1]).registers(registers.collect()).capture_registers(true);
        } else {
            for n in 0..5 {
                let at = memory.map(None, 256, Access::ReadWrite).unwrap();
                if n < 3 {
                    let bytes: Vec<u8> = column(n).flat_map(u32::to_le_bytes).collect();
                    memory.write(at, &bytes).unwrap();
                }
                launch.args.push(Arg::u32(at as u32));
            }
        }
        let places: Vec<u64> = launch
            .args
            .iter()
            .map(|arg| u32::from_le_bytes(arg.bytes[..4].try_into().unwrap()).into())
            .collect();
        let report = engine.run(program, &memory, &launch).unwrap();
        assert_eq!(report.fault, None);
        let result = |n: usize, lane: usize| match isa {
            Isa::Gcn => report.registers[&format!("v{}", n + 7)][lane] as u32,
            _ => {
                let mut word = [0; 4];
                memory.read(places[3 + n] + 4 * lane as u64, &mut word).unwrap();
                u32::from_le_bytes(word)
            }
        };
        results.extend((0..operands.len()).map(|lane| [0, 1].map(|n| result(n, lane))));
    }
    results
}

#[test]
fn operations_on_numbers_of_all_kinds_give_the_same_bits() {
    let engines = engines();
    let numbers = numbers();
    let third = |a: usize, b: usize| numbers[(7 * a + 3 * b + 5) % numbers.len()];
    let each = |a: usize| (0..numbers.len()).map(move |b| (a, b));
    let operands: Vec<[u32; 3]> =
        (0..numbers.len()).flat_map(each).map(|(a, b)| [numbers[a], numbers[b], third(a, b)]).collect();
    // Chains as well: what one makes of NaNs another one takes up.
    let programs = [
        (Isa::Tesla, "add f32 $r7 $r4 $r5"),
        (Isa::Tesla, "add sat f32 $r7 $r4 neg $r5"),
        (Isa::Tesla, "mul rn f32 $r7 $r4 $r5\nset $c0 # le f32 $r7 $r6\n(lg $c0) mov b32 $r8 $r7"),
        (Isa::Tesla, "add f32 $r7 (mul $r4 $r5) $r6"),
        (Isa::Tesla, "add f32 $r7 (mul $r4 $r5) $r6\nadd f32 $r7 (mul $r7 $r7) $r4\nxor b32 $r8 $r7 $r5"),
        (Isa::Tesla, "min f32 $r7 $r4 $r5\nmax f32 $r8 $r4 $r6"),
        (Isa::Tesla, "rcp f32 $r7 $r4\nmul f32 $r8 $r7 $r5"),
        (Isa::Tesla, "add rn f32 $r7 $r4 $r5\nrsqrt f32 $r7 $r7\nlg2 f32 $r8 $r4"),
        (Isa::Tesla, "mul rn f32 $r7 $r4 $r5\npreex2 f32 $r8 $r7\nex2 f32 $r7 $r8"),
        (Isa::Tesla, "add rn f32 $r7 $r4 $r5\npresin f32 $r8 $r7\nsin f32 $r7 $r8\ncos f32 $r8 $r8"),
        (Isa::Fermi, "add rn f32 $r7 $r4 $r5\nadd ftz rn f32 $r8 $r4 neg $r5"),
        (Isa::Fermi, "fma rn f32 $r7 $r4 $r5 $r6\nmul ftz sat rn f32 $r8 $r4 $r5"),
        (Isa::Fermi, "rcp f32 $r7 $r4\nrsqrt f32 $r8 $r5\nadd rn f32 $r8 $r8 $r7"),
        (Isa::Fermi, "mul rn f32 $r7 $r4 $r5\nlg2 f32 $r8 $r7\nsin f32 $r7 $r4"),
        (Isa::Fermi, "preex2 f32 $r7 $r4\nex2 f32 $r7 $r7\ncos f32 $r8 $r4"),
        (Isa::Gcn, "v_add_f32 v7, v4, v5\nv_mul_f32 v8, v4, v6"),
        (Isa::Gcn, "v_mad_f32 v7, v4, v5, v6\nv_fma_f32 v8, v4, -v5, v6"),
        (Isa::Gcn, "v_mac_f32 v8, v4, v5\nv_max_f32 v7, v8, v6"),
        (Isa::Gcn, "v_add_f32 v8, v4, v5\nv_exp_f32 v7, v8\nv_log_f32 v8, v4"),
        (Isa::Gcn, "v_mul_f32 v8, v4, v5\nv_sin_f32 v7, v8\nv_cos_f32 v8, v8"),
        (Isa::Gcn, "v_rcp_f32 v7, v4\nv_rsq_f32 v8, v5\nv_sub_f32 v8, v8, v7"),
        (Isa::Gcn, "v_sqrt_f32 v7, v4\nv_cmp_lt_f32 vcc, v7, v5\nv_cndmask_b32 v8, v4, v7, vcc"),
    ];
    for (isa, op) in programs {
        let program = program(isa, op);
        let wanted = run(&engines[0].1, &program, isa, &operands);
        for (kind, engine) in &engines[1..] {
            let got = run(engine, &program, isa, &operands);
            for ((got, wanted), operands) in got.iter().zip(&wanted).zip(&operands) {
                assert_eq!(got, wanted, "{op:?} of {operands:x?}, {kind}");
            }
        }
        // Arithmetic never gives a NaN that is not the guest's.
        let first = op.split('\n').next().unwrap_or(op);
        let is_sum =
            ["add f32", "add rn", "v_add"].iter().any(|name| first.starts_with(name)) && !op.contains('\n');
        for ([result, _], operands) in wanted.iter().zip(&operands).filter(|_| is_sum) {
            let nan = if isa == Isa::Gcn { 0x7fc0_0000 } else { 0x7fff_ffff };
            assert!(
                !f32::from_bits(*result).is_nan() || *result == nan,
                "{op:?} of {operands:x?}: {result:x}"
            );
        }
    }
}

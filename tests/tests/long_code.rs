//! Tests code that is too long for one function of the code generator: it is compiled in parts, not left to the interpreter.

use warpjit_frontend::gcn::{Generation, assemble};
use warpjit_runtime::{Access, Config, Engine, Isa, Launch, Program, ProgramOptions, Tier};

/// Rounds in which lanes exchange words, with much that is kept in registers between.
fn kernel(rounds: u32) -> String {
    let mut text = String::from("s_mov_b32 m0, -1\n");
    let mut seed = 1u32;
    let mut random = |limit: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) % limit
    };
    for _ in 0..rounds {
        for _ in 0..12 {
            let (dst, a, b) = (random(24), random(24), random(24));
            text += &match random(3) {
                0 => format!("v_xor_b32_e32 v{dst}, v{a}, v{b}\n"),
                1 => format!("v_lshlrev_b32_e32 v{dst}, {}, v{a}\n", b % 31),
                _ => format!("v_fma_f32 v{dst}, v{a}, v{b}, v{dst}\n"),
            };
        }
        let (from, to, back) = (random(24), random(24), random(24));
        text += &format!("ds_write_b32 v24, v{from} offset:{back}\n");
        text += &format!("ds_read_b32 v{to}, v24 offset:{from}\ns_waitcnt lgkmcnt(0)\n");
    }
    (1..24).for_each(|n| text += &format!("v_xor_b32_e32 v0, v{n}, v0\n"));
    text + "buffer_store_dword v0, v24, s[16:19], 0 offen\ns_endpgm\n"
}

#[test]
fn what_one_function_cannot_hold_is_compiled_in_parts() {
    const RESULTS: u64 = 0x1_0000;
    let code = assemble(&kernel(530), Generation::Gfx8).expect("assembles").code;
    let options = ProgramOptions::new(Isa::Gcn)
        .raw(true)
        .chip(Some("fiji".parse().unwrap()))
        .registers(Some(25))
        .sgprs(Some(32))
        .shared(Some(512));
    let mut registers: Vec<(String, Vec<u64>)> = (0..24)
        .map(|n| (format!("v{n}"), (0..64).map(|lane| 0x3f80_0000 + 977 * lane * n).collect()))
        .collect();
    registers.push(("v24".into(), (0..64).map(|lane| 4 * lane).collect()));
    let resource = [RESULTS, 0, 256, 0x0002_4fac];
    registers.extend((16..).zip(resource).map(|(n, word)| (format!("s{n}"), vec![word])));
    let launch = Launch::default().grid([1; 3]).block([64, 1, 1]).registers(registers);
    let program = Program::load(&code, &options).expect("loads");
    let run = |tier| {
        let engine = Engine::new(Config::default().tier(tier).threads(1)).expect("an engine");
        let memory = engine.memory().expect("memory");
        memory.map(Some(RESULTS), 256, Access::ReadWrite).expect("maps");
        let report = engine.run(&program, &memory, &launch).expect("runs");
        assert!(report.fault.is_none(), "{:?}", report.fault);
        let mut results = vec![0; 256];
        memory.read(RESULTS, &mut results).expect("mapped");
        (results, report.stats)
    };
    let (wanted, _) = run(Tier::Interp);
    let (got, stats) = run(Tier::Jit);
    assert_eq!(stats.not_compiled, None);
    assert_eq!(stats.jit_share, 1.0);
    assert_eq!(got, wanted);
}

//! Runs one wave of GFX9 code in every setting, and compares the memory that it leaves.

use warpjit_frontend::gcn::{Generation, assemble};
use warpjit_runtime::{Access, Config, Engine, HostLevel, Isa, Launch, Program, ProgramOptions, Stats, Tier};

/// Where the data are.
pub const DATA: u64 = 0x10_0000;
const WORDS: usize = 256;

/// All settings in which [`check`] runs it.
fn settings() -> Vec<Config> {
    let base = |tier| Config::default().tier(tier).threads(1);
    let mut settings = vec![base(Tier::Interp), base(Tier::Jit), base(Tier::Auto).hot_after(Some(0))];
    // Regions joined to one function.
    for (chunk_groups, join_after) in [(None, 0), (Some(0), 1), (Some(1), 2), (Some(2), 0), (Some(4), 1)] {
        let joined = base(Tier::Jit).host(HostLevel::Avx2).join_after(Some(join_after));
        settings.push(joined.chunk_groups(chunk_groups));
    }
    for host in [HostLevel::Native, HostLevel::Avx2, HostLevel::Sse41] {
        for chunk_groups in [0, 1, 2, 4] {
            for lockstep in [false, true] {
                settings.push(base(Tier::Jit).host(host).chunk_groups(Some(chunk_groups)).lockstep(lockstep));
            }
        }
    }
    settings
}

/// The program that [`check`] describes.
pub fn program(text: &str) -> Program {
    let setup = "s_mov_b32 s4, s0
        s_mov_b32 s5, s1
        s_movk_i32 s6, 0x400
        s_mov_b32 s7, 0x27fac
        v_lshlrev_b32 v1, 2, v0\n";
    let source = format!("{setup}{text}\ns_endpgm\n");
    let code = assemble(&source, Generation::Gfx9).unwrap_or_else(|error| panic!("{error}\n{source}")).code;
    let options = ProgramOptions::new(Isa::Gcn)
        .raw(true)
        .chip(Some(Generation::Gfx9.into()))
        .rsrc1(Some(3 | 6 << 6))
        .rsrc2(Some(2 << 1));
    Program::load(&code, &options).expect("valid code")
}

/// Its launch: one wave, with the address of the data.
pub fn launch() -> Launch {
    Launch::default().grid([1, 1, 1]).block([64, 1, 1]).user_data(vec![DATA as u32, 0])
}

/// The instructions of all lanes that were counted, interpreted and compiled for each host.
pub fn counts(text: &str) -> Vec<u64> {
    all_stats(text).iter().map(|stats| stats.thread_instructions).collect()
}

/// The bytes that were loaded from global memory, and those that were stored there, in the same settings.
pub fn bytes(text: &str) -> Vec<(u64, u64)> {
    all_stats(text).iter().map(|stats| stats.traffic["global"]).collect()
}

fn all_stats(text: &str) -> Vec<Stats> {
    let (program, launch) = (program(text), launch());
    let base = |tier| Config::default().tier(tier).threads(1).count(true);
    let hosts = [HostLevel::Native, HostLevel::Avx2, HostLevel::Sse41];
    let settings = [base(Tier::Interp)].into_iter().chain(hosts.map(|host| base(Tier::Jit).host(host)));
    settings
        .map(|config| {
            let engine = Engine::new(config).expect("an engine");
            let memory = engine.memory().expect("memory");
            memory.map(Some(DATA), 4 * WORDS as u64, Access::ReadWrite).expect("mapped");
            let report =
                engine.run(&program, &memory, &launch).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert!(report.fault.is_none(), "{:?}", report.fault);
            report.stats
        })
        .collect()
}

/// Runs one wave of code for GFX9 in every setting; `s[0:1]` is the address of the data, word `n` of which is `1000 + n`,
/// `s[4:7]` a resource of it, `v0` the lane's number, `v1` four times that. `expected` says what a word holds at the
/// end.
#[track_caller]
pub fn check(text: &str, expected: impl Fn(u32) -> u32) {
    let (program, launch) = (program(text), launch());
    let before: Vec<u8> = (0..WORDS as u32).flat_map(|n| (1000 + n).to_le_bytes()).collect();
    for config in settings() {
        let name = format!("{config:?}");
        let engine = Engine::new(config).expect("an engine");
        let memory = engine.memory().expect("memory");
        memory.map(Some(DATA), before.len() as u64, Access::ReadWrite).expect("mapped");
        memory.write(DATA, &before).expect("writable");
        let report = engine.run(&program, &memory, &launch).unwrap_or_else(|error| panic!("{error}: {name}"));
        assert!(report.fault.is_none(), "{:?}: {name}", report.fault);
        let mut after = vec![0; before.len()];
        memory.read(DATA, &mut after).expect("readable");
        for (n, word) in after.chunks_exact(4).enumerate() {
            let word = u32::from_le_bytes(word.try_into().expect("four bytes"));
            assert_eq!(word, expected(n as u32), "word {n}, {name}\n{text}");
        }
    }
}

/// Every lane stores `s8` behind the 64 words that programs change.
pub const SHOW: &str = "v_mov_b32 v3, s8
    buffer_store_dword v3, v1, s[4:7], 0 offen offset:256\n";

/// What a word holds that only [`SHOW`] has stored to.
pub fn shown(n: u32, value: u32) -> u32 {
    if (64..128).contains(&n) { value } else { 1000 + n }
}

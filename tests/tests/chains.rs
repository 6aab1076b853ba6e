//! Tests regions that are joined to one function (`Config::join_after`): random programs of a wave, whose regions end at votes, ballots,
//! atomics and loops, leave the same memory as in the interpreter; faults in the midst of a chain are the interpreter's.

use std::fmt::Write;

use warpjit_runtime::{
    Access, CacheConfig, Config, Engine, FaultKind, HostLevel, Memory, Program, Stats, Tier,
};
use warpjit_tests::gcn::one_wave::{DATA, launch, program};
use warpjit_tests::random::rng::Random;
use warpjit_tests::random::seeds::seeds;

const BYTES: usize = 4 * 256;

/// Every width of chunks and host level, joined soon and later, and never. The interpreter is the first.
fn settings() -> Vec<Config> {
    let base = |tier| Config::default().tier(tier).threads(1);
    let mut settings =
        vec![base(Tier::Interp), base(Tier::Jit).host(HostLevel::Avx2).join_after(Some(u32::MAX))];
    for join_after in [Some(0), Some(5)] {
        settings.push(base(Tier::Auto).hot_after(Some(0)).host(HostLevel::Avx2).join_after(join_after));
        for host in [HostLevel::Native, HostLevel::Avx2] {
            for groups in [None, Some(0), Some(1), Some(2), Some(4)] {
                settings.push(base(Tier::Jit).host(host).chunk_groups(groups).join_after(join_after));
            }
        }
    }
    // The first chain, before any region runs.
    for host in [HostLevel::Native, HostLevel::Avx2] {
        settings.push(base(Tier::Jit).host(host).chunk_groups(Some(0)));
        settings.push(base(Tier::Auto).host(host).hot_after(Some(0)).chunk_groups(Some(0)));
    }
    settings.push(base(Tier::Jit).chunk_groups(Some(0)).checked_memory(true));
    settings.push(base(Tier::Jit).chunk_groups(Some(2)).checked_memory(true).join_after(Some(1)));
    settings.push(base(Tier::Jit).chunk_groups(Some(2)).lockstep(true).join_after(Some(1)));
    settings
}

fn memory(engine: &Engine, content: &[u8]) -> Memory {
    let memory = engine.memory().expect("memory");
    memory.map(Some(DATA), BYTES as u64, Access::ReadWrite).expect("mapped");
    memory.write(DATA, content).expect("writable");
    memory
}

/// What memory holds after a run that does not fault, and what the run says of it.
fn after(engine: &Engine, program: &Program, content: &[u8], name: &str) -> (Vec<u8>, Stats) {
    let memory = memory(engine, content);
    let report = engine.run(program, &memory, &launch()).unwrap_or_else(|e| panic!("{e}: {name}"));
    assert!(report.fault.is_none(), "{:?}: {name}", report.fault);
    let mut after = vec![0; BYTES];
    memory.read(DATA, &mut after).expect("readable");
    (after, report.stats)
}

/// Random code. `v1` is the lane's place; `v2` to `v7` are data.
struct Writer {
    random: Random,
    text: String,
    labels: u32,
}

impl Writer {
    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.random.below(from.len() as u32) as usize]
    }

    fn data(&mut self) -> u32 {
        2 + self.random.below(6)
    }

    fn line(&mut self, line: String) {
        writeln!(self.text, "{line}").expect("a string");
    }

    fn body(&mut self, depth: u32) {
        for _ in 0..2 + self.random.below(3) {
            let (a, b, c) = (self.data(), self.data(), self.data());
            match self.random.below(18) {
                0..4 => {
                    let op = self.pick(&[
                        "v_add_u32",
                        "v_xor_b32",
                        "v_sub_u32",
                        "v_mul_lo_u32",
                        "v_max_u32",
                        "v_max_f32",
                        "v_min_f32",
                        "v_add_f32",
                        "v_mul_f32",
                    ]);
                    self.line(format!("{op} v{a}, v{b}, v{c}"));
                }
                4 | 5 if depth < 3 => {
                    let (save, label) = (30 + 4 * depth, self.label());
                    let op = self.pick(&["v_cmp_lt_u32", "v_cmp_lt_i32", "v_cmp_ne_u32", "v_cmp_lt_f32"]);
                    self.line(format!("v_and_b32 v9, 3, v{c}\nv_and_b32 v10, 3, v{b}\n{op} vcc, v9, v10"));
                    self.line(format!("s_and_saveexec_b64 s[{save}:{}], vcc", save + 1));
                    if self.random.below(4) > 0 {
                        self.line(format!("s_cbranch_execz l{label}"));
                    }
                    self.body(depth + 1);
                    self.line(format!("l{label}:\ns_or_b64 exec, exec, s[{save}:{}]", save + 1));
                }
                6 | 7 if depth < 2 => {
                    let (save, label, counter) = (30 + 4 * depth, self.label(), 12 + depth);
                    let (left, end) = (save + 2, save + 3);
                    self.line(format!(
                        "v_and_b32 v{counter}, 7, v{a}\ns_mov_b64 s[{save}:{}], exec",
                        save + 1
                    ));
                    self.line(format!("s_mov_b64 s[{left}:{end}], 0\nl{label}:"));
                    self.body(depth + 1);
                    self.line(format!(
                        "v_cmp_eq_u32 vcc, 0, v{counter}\nv_subrev_u32 v{counter}, 1, v{counter}"
                    ));
                    self.line(format!("s_or_b64 s[{left}:{end}], vcc, s[{left}:{end}]"));
                    self.line(format!("s_andn2_b64 exec, exec, s[{left}:{end}]\ns_cbranch_execnz l{label}"));
                    self.line(format!("s_mov_b64 exec, s[{save}:{}]", save + 1));
                }
                8 | 9 => {
                    // The old value tells the order of the lanes.
                    let op = self.pick(&["add", "swap", "xor", "umax", "sub"]);
                    self.line(format!("v_and_b32 v9, 0x3c, v{a}\nv_mov_b32 v10, v{b}"));
                    self.line(format!("buffer_atomic_{op} v10, v9, s[4:7], 0 offen offset:256 glc"));
                    self.line(format!("s_waitcnt vmcnt(0)\nv_xor_b32 v{c}, v{c}, v10"));
                }
                10 => {
                    self.line(format!("v_cmp_lt_u32 s[20:21], v{a}, v{b}\ns_bcnt1_i32_b64 s8, s[20:21]"));
                    self.line(format!("v_add_u32 v{c}, s8, v{c}"));
                }
                11 => self.line(format!("v_readfirstlane_b32 s8, v{a}\nv_xor_b32 v{c}, s8, v{c}")),
                12 if depth < 3 => {
                    // Two sides, one after the other.
                    let save = 30 + 4 * depth;
                    self.line(format!(
                        "v_cmp_lt_i32 vcc, v{a}, v{b}\ns_and_saveexec_b64 s[{save}:{}], vcc",
                        save + 1
                    ));
                    self.body(depth + 1);
                    self.line(format!("s_xor_b64 exec, exec, s[{save}:{}]", save + 1));
                    self.body(depth + 1);
                    self.line(format!("s_or_b64 exec, exec, s[{save}:{}]", save + 1));
                }
                13 => {
                    // Lanes by the bits of scalars; there may be none.
                    let (low, high) = (self.random.word() & self.random.word(), self.random.word());
                    let high = if self.random.below(2) == 0 { 0 } else { high };
                    self.line(format!(
                        "s_mov_b32 s26, {low:#x}\ns_mov_b32 s27, {high:#x}\ns_mov_b64 s[24:25], exec"
                    ));
                    let op = self.pick(&["s_and_b64", "s_andn2_b64", "s_mov_b64"]);
                    match op {
                        "s_mov_b64" => self.line("s_mov_b64 exec, 0".into()),
                        _ => self.line(format!("{op} exec, exec, s[26:27]")),
                    }
                    self.line(format!("v_and_b32 v9, 0x3c, v{a}\nv_mov_b32 v10, v{b}"));
                    self.line("buffer_atomic_add v10, v9, s[4:7], 0 offen offset:256 glc".into());
                    self.line(format!(
                        "s_waitcnt vmcnt(0)\nv_add_u32 v{c}, v{c}, v10\ns_mov_b64 exec, s[24:25]"
                    ));
                }
                14 => self.line(format!("s_add_u32 s9, s9, {}\nv_add_u32 v{c}, s9, v{c}", 1 + a)),
                15 => {
                    // Masks that are kept as registers.
                    let op = self.pick(&["s_or_b64", "s_xor_b64", "s_andn2_b64", "s_and_b64"]);
                    self.line(format!(
                        "v_cmp_lt_u32 s[22:23], v{a}, v{b}\n{op} s[28:29], s[22:23], s[28:29]"
                    ));
                    self.line(format!("v_cndmask_b32 v{c}, v{a}, v{c}, s[28:29]"));
                }
                _ => {
                    self.line(format!("buffer_store_dword v{a}, v1, s[4:7], 0 offen"));
                    self.line(format!("buffer_load_dword v{b}, v1, s[4:7], 0 offen\ns_waitcnt vmcnt(0)"));
                }
            }
        }
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }
}

fn random_text(seed: u64) -> String {
    let mut writer = Writer { random: Random::new(seed), text: String::new(), labels: 0 };
    writer.line("s_mov_b32 s9, 3\ns_mov_b64 s[28:29], 0".into());
    writer.line("buffer_load_dword v2, v1, s[4:7], 0 offen\ns_waitcnt vmcnt(0)".into());
    for register in 3..8 {
        writer.line(format!("v_mul_lo_u32 v{register}, v{}, v{}", register - 1, register - 1));
        writer.line(format!("v_add_u32 v{register}, v{register}, v0"));
    }
    writer.body(0);
    writer.body(0);
    for register in 2..8 {
        let offset = if register % 2 == 0 { 512 } else { 768 };
        writer.line(format!("buffer_atomic_add v{register}, v1, s[4:7], 0 offen offset:{offset}"));
    }
    writer.text
}

#[test]
fn random_waves_leave_the_same_memory() {
    for seed in seeds(0, 12) {
        let text = random_text(seed);
        let program = program(&text);
        let mut random = Random::new(seed + 1000);
        let content: Vec<u8> = (0..BYTES / 4).flat_map(|_| random.word().to_le_bytes()).collect();
        let mut wanted: Option<Vec<u8>> = None;
        for config in settings() {
            let name = format!("seed {seed}, {config:?}\n{text}");
            let engine = Engine::new(config).expect("an engine");
            // What the first run has compiled, the second one finds.
            for run in 0..2 {
                let (after, _) = after(&engine, &program, &content, &name);
                let wanted = wanted.get_or_insert_with(|| after.clone());
                let differs = after.iter().zip(wanted.iter()).position(|(a, b)| a != b);
                assert_eq!(differs, None, "run {run}, {name}");
            }
        }
    }
}

/// Regions that come from the disk have nothing kept to be joined from: they are cut and optimised again.
#[test]
fn regions_from_the_cache_are_joined() {
    for seed in seeds(100, 4) {
        let text = random_text(seed);
        let mut random = Random::new(seed + 1000);
        let content: Vec<u8> = (0..BYTES / 4).flat_map(|_| random.word().to_le_bytes()).collect();
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("chains-{seed}-{}", std::process::id()));
        for groups in [Some(0), Some(2)] {
            let mut wanted: Option<Vec<u8>> = None;
            // Interpreted; compiled and saved; loaded.
            for (tier, join_after) in
                [(Tier::Interp, None), (Tier::Jit, Some(u32::MAX)), (Tier::Jit, Some(0))]
            {
                let name = format!("seed {seed}, {groups:?}, {tier:?}, {join_after:?}\n{text}");
                let config =
                    Config::default().tier(tier).threads(1).host(HostLevel::Avx2).chunk_groups(groups);
                let cache = Some(CacheConfig::new(&folder));
                let engine = Engine::new(config.join_after(join_after).cache(cache)).expect("an engine");
                let program = program(&text);
                for run in 0..2 {
                    let (after, stats) = after(&engine, &program, &content, &name);
                    assert_eq!(stats.cached_regions > 0, join_after == Some(0), "{name}");
                    let wanted = wanted.get_or_insert_with(|| after.clone());
                    assert!(after == *wanted, "run {run}, {name}");
                }
            }
            let _ = std::fs::remove_dir_all(&folder);
        }
    }
}

/// The chain that is made before any region runs is stored, and a second process compiles nothing.
#[test]
fn the_first_chain_comes_from_the_cache() {
    for seed in seeds(200, 4) {
        let text = random_text(seed);
        let mut random = Random::new(seed + 1000);
        let content: Vec<u8> = (0..BYTES / 4).flat_map(|_| random.word().to_le_bytes()).collect();
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("first-chain-{seed}-{}", std::process::id()));
        let config = |tier| {
            let cache = Some(CacheConfig::new(&folder));
            Config::default().tier(tier).threads(1).chunk_groups(Some(0)).cache(cache)
        };
        let mut wanted: Option<Vec<u8>> = None;
        // Interpreted; compiled and saved; loaded.
        for (number, tier) in [Tier::Interp, Tier::Jit, Tier::Jit].into_iter().enumerate() {
            let name = format!("seed {seed}, start {number}\n{text}");
            let engine = Engine::new(config(tier)).expect("an engine");
            let program = program(&text);
            for _ in 0..2 {
                let (after, stats) = after(&engine, &program, &content, &name);
                assert_eq!(stats.cached_regions > 0, number == 2, "{name}");
                assert!(number < 2 || stats.compile.is_zero(), "{:?}: {name}", stats.compile);
                assert!(after == *wanted.get_or_insert_with(|| after.clone()), "{name}");
            }
        }
        let _ = std::fs::remove_dir_all(&folder);
    }
}

/// In its fifth turn, a loop of several regions loads from nowhere in some lanes; the sum of what is in front of it is there.
#[test]
fn a_fault_in_a_chain_is_of_its_lane_and_address() {
    let text = "s_mov_b32 s8, 0
        s_mov_b32 s20, s0
        s_mov_b32 s21, 0
    again:
        v_mov_b32 v4, s8
        buffer_atomic_add v4, v1, s[4:7], 0 offen offset:256 glc
        s_waitcnt vmcnt(0)
        v_cmp_lt_u32 vcc, 40, v0
        s_and_saveexec_b64 s[30:31], vcc
        s_cbranch_execz skip
        s_cmp_eq_u32 s8, 5
        s_cselect_b32 s9, 0x10000, 0
        v_mov_b32 v6, s20
        v_mov_b32 v7, 0
        v_add_u32 v6, s9, v6
        v_add_u32 v6, v6, v1
        global_load_dword v5, v[6:7], off
        s_waitcnt vmcnt(0)
    skip:
        s_or_b64 exec, exec, s[30:31]
        s_add_u32 s8, s8, 1
        s_cmp_lt_u32 s8, 9
        s_cbranch_scc1 again\n";
    let program = program(text);
    for config in settings() {
        let name = format!("{config:?}");
        let engine = Engine::new(config).expect("an engine");
        for _ in 0..2 {
            let memory = memory(&engine, &[0; BYTES]);
            let report = engine.run(&program, &memory, &launch()).unwrap_or_else(|e| panic!("{e}: {name}"));
            let fault = report.fault.unwrap_or_else(|| panic!("no fault: {name}"));
            assert_eq!(fault.kind, FaultKind::Memory, "{name}");
            assert_eq!((fault.lane, fault.address), (41, Some(DATA + 0x10000 + 4 * 41)), "{name}");
            let mut sum = [0; 4];
            memory.read(DATA + 256 + 8, &mut sum).expect("readable");
            // 0 + 1 + 2 + 3 + 4 + 5
            assert_eq!(u32::from_le_bytes(sum), 15, "{name}");
        }
    }
}

//! Tests scalar loads and stores of GCN that devices answer: a wave makes each of them once, however many lanes compiled code runs at a
//! time, and all of its lanes get one answer.

use std::sync::{Arc, Mutex};
use warpjit_frontend::gcn::{Generation, assemble};
use warpjit_runtime::{
    Access, Config, Device, Engine, HostLevel, Isa, Launch, Memory, PAGE_BYTES, Program, ProgramOptions,
    Report, SaveToken, SavedLaunch, Tier,
};

const DATA: u64 = 0x10_0000;
const DEVICE: u64 = 0x80_0000;

/// All ways to run code of waves.
fn ways() -> Vec<Config> {
    let base = |tier| Config::default().tier(tier).threads(1);
    let mut ways = vec![base(Tier::Interp), base(Tier::Jit), base(Tier::Auto).hot_after(Some(0))];
    for host in [HostLevel::Native, HostLevel::Avx2, HostLevel::Sse41] {
        ways.push(base(Tier::Jit).host(host));
        for chunk_groups in [0, 1, 2, 4] {
            ways.push(base(Tier::Jit).host(host).chunk_groups(Some(chunk_groups)));
        }
    }
    ways
}

/// What a device is asked: offset and bytes, and what is stored.
type Access3 = (u64, u8, Option<u64>);

/// A device that answers each load with another number, 1000 and up, and notes all that it is asked.
#[derive(Default)]
struct Numbers {
    asked: Mutex<Vec<Access3>>,
    /// Asks to save the launch at a load.
    save: Option<(usize, SaveToken)>,
}

impl Numbers {
    fn taken(&self) -> Vec<Access3> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl Device for Numbers {
    fn load(&self, offset: u64, bytes: u8) -> u64 {
        let mut asked = self.asked.lock().unwrap();
        asked.push((offset, bytes, None));
        if let Some((at, token)) = &self.save
            && *at == asked.len()
        {
            token.save();
        }
        999 + asked.len() as u64
    }

    fn store(&self, offset: u64, bytes: u8, value: u64) {
        self.asked.lock().unwrap().push((offset, bytes, Some(value)));
    }
}

/// Code whose lanes have their number in v0, four times their number in the grid in v1; `s[0:1]` is the address of the data, of which
/// `s[8:11]` is a resource, `s[2:3]` that of the device.
fn program(text: &str) -> Program {
    let source = format!(
        "s_lshl_b32 s4, s4, 8
        v_add_u32 v1, vcc, s4, v0
        v_lshlrev_b32 v1, 2, v1
        s_mov_b32 s8, s0
        s_mov_b32 s9, s1
        s_movk_i32 s10, 0x4000
        s_mov_b32 s11, 0x27fac
        {text}
        s_endpgm\n"
    );
    let code = assemble(&source, Generation::Gfx8).unwrap_or_else(|error| panic!("{error}\n{source}")).code;
    let options = ProgramOptions::new(Isa::Gcn)
        .raw(true)
        .chip(Some(Generation::Gfx8.into()))
        .rsrc1(Some(3 | 3 << 6 | 0xc0 << 12))
        // Four words of user data, and the block's number.
        .rsrc2(Some(4 << 1 | 1 << 7));
    Program::load(&code, &options).expect("valid code")
}

fn launch(grid: u32, block: u32) -> Launch {
    let user_data = vec![DATA as u32, (DATA >> 32) as u32, DEVICE as u32, (DEVICE >> 32) as u32];
    Launch::default().grid([grid, 1, 1]).block([block, 1, 1]).user_data(user_data)
}

fn memory(device: &Arc<Numbers>) -> Memory {
    let memory = Memory::new().unwrap();
    memory.map(Some(DATA), 4 * PAGE_BYTES, Access::ReadWrite).unwrap();
    memory.map_device(Some(DEVICE), PAGE_BYTES, device.clone()).unwrap();
    memory
}

fn words(memory: &Memory, count: u32) -> Vec<u32> {
    let mut bytes = vec![0; 4 * count as usize];
    memory.read(DATA, &mut bytes).unwrap();
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Runs one wave; its memory, and the device in it.
#[track_caller]
fn run(config: Config, program: &Program) -> (Arc<Numbers>, Memory) {
    let name = format!("{config:?}");
    let device = Arc::new(Numbers::default());
    let memory = memory(&device);
    let report = Engine::new(config).unwrap().run(program, &memory, &launch(1, 64)).unwrap();
    assert_eq!(report.fault, None, "{name}");
    (device, memory)
}

/// Runs one wave in every way, and compares what the device is asked, in order, and words of memory.
#[track_caller]
fn check(text: &str, asked: &[Access3], expected: impl Fn(u32) -> u32, count: u32) {
    let program = program(text);
    for config in ways() {
        let name = format!("{config:?}\n{text}");
        let (device, memory) = run(config, &program);
        assert_eq!(device.taken(), asked, "{name}");
        let expected: Vec<u32> = (0..count).map(&expected).collect();
        assert_eq!(words(&memory, count), expected, "{name}");
    }
}

const STORE_S12: &str = "v_mov_b32 v2, s12
    buffer_store_dword v2, v1, s[8:11], 0 offen\n";

#[test]
fn a_wave_loads_once() {
    let text = "s_load_dword s12, s[2:3], 0x10
        s_waitcnt lgkmcnt(0)\n";
    check(&(text.to_owned() + STORE_S12), &[(0x10, 4, None)], |_| 1000, 64);
}

#[test]
fn a_wave_without_lanes_loads_once() {
    let text = "s_mov_b64 exec, 0
        s_load_dword s12, s[2:3], 0x10
        s_waitcnt lgkmcnt(0)
        s_mov_b64 exec, -1\n";
    check(&(text.to_owned() + STORE_S12), &[(0x10, 4, None)], |_| 1000, 64);
}

#[test]
fn each_word_of_a_wide_load_is_asked_for_once() {
    let source = "s_load_dwordx4 s[12:15], s[2:3], 0x20
        s_waitcnt lgkmcnt(0)\n";
    let program = program(&(source.to_owned() + STORE_S12));
    let mut all = Vec::new();
    for config in ways() {
        let (device, _) = run(config, &program);
        let asked = device.taken();
        let bytes: Vec<u64> = asked.iter().flat_map(|&(at, bytes, _)| at..at + u64::from(bytes)).collect();
        assert_eq!(bytes, (0x20..0x30).collect::<Vec<u64>>(), "{asked:?}");
        all.push(asked);
    }
    // In all ways by words of the same size.
    assert!(all.windows(2).all(|two| two[0] == two[1]));
}

#[test]
fn each_iteration_has_an_answer_of_its_own() {
    let text = "s_mov_b32 s16, 0
        L0:
        s_load_dword s12, s[2:3], 0x0
        s_waitcnt lgkmcnt(0)
        v_mov_b32 v2, s12
        buffer_store_dword v2, v1, s[8:11], 0 offen
        v_add_u32 v1, vcc, 0x100, v1
        s_add_u32 s16, s16, 1
        s_cmp_lt_u32 s16, 5
        s_cbranch_scc1 L0\n";
    check(text, &[(0, 4, None); 5], |n| 1000 + n / 64, 320);
}

#[test]
fn loads_before_and_after_one_that_few_lanes_come_to() {
    let text = "s_load_dword s12, s[2:3], 0x0
        s_waitcnt lgkmcnt(0)
        v_mov_b32 v2, s12
        v_mov_b32 v4, 0
        v_cmp_lt_u32 vcc, 39, v0
        s_and_saveexec_b64 s[16:17], vcc
        s_cbranch_execz L0
        s_load_dword s13, s[2:3], 0x4
        s_waitcnt lgkmcnt(0)
        v_mov_b32 v4, s13
        L0:
        s_mov_b64 exec, s[16:17]
        s_load_dword s14, s[2:3], 0x8
        s_waitcnt lgkmcnt(0)
        v_mov_b32 v5, s14
        buffer_store_dword v2, v1, s[8:11], 0 offen
        buffer_store_dword v4, v1, s[8:11], 0 offen offset:256
        buffer_store_dword v5, v1, s[8:11], 0 offen offset:512\n";
    let program = program(text);
    for config in ways() {
        let name = format!("{config:?}");
        let (device, memory) = run(config, &program);
        let asked = device.taken();
        // Chunks of lanes run one after another, so a later one may be the first that comes to the load in the middle.
        let number = |at: u64| 1000 + asked.iter().position(|one| one.0 == at).unwrap() as u32;
        assert_eq!(asked.len(), 3, "{name}: {asked:?}");
        let found = words(&memory, 192);
        for lane in 0..64 {
            assert_eq!(found[lane], number(0), "{name}");
            assert_eq!(found[64 + lane], if lane > 39 { number(4) } else { 0 }, "{name}");
            assert_eq!(found[128 + lane], number(8), "{name}");
        }
    }
}

#[test]
fn a_wave_stores_once() {
    let text = "s_movk_i32 s12, 0x77
        s_mov_b32 s13, 5
        s_store_dword s12, s[2:3], 0x10
        s_store_dwordx2 s[12:13], s[2:3], 0x18
        s_waitcnt lgkmcnt(0)\n";
    let program = program(&(text.to_owned() + STORE_S12));
    for config in ways() {
        let (device, _) = run(config, &program);
        let asked = device.taken();
        let wide = [(0x10, 4, Some(0x77)), (0x18, 8, Some(5 << 32 | 0x77))];
        let words = [(0x10, 4, Some(0x77)), (0x18, 4, Some(0x77)), (0x1c, 4, Some(5))];
        assert!(asked == wide || asked == words, "{asked:?}");
    }
}

#[test]
fn each_wave_of_a_grid_asks_once() {
    let text = "s_load_dword s12, s[2:3], 0x10
        s_waitcnt lgkmcnt(0)\n";
    let program = program(&(text.to_owned() + STORE_S12));
    for config in ways() {
        let name = format!("{config:?}");
        let device = Arc::new(Numbers::default());
        let memory = memory(&device);
        let report = Engine::new(config).unwrap().run(&program, &memory, &launch(4, 256)).unwrap();
        assert_eq!(report.fault, None);
        assert_eq!(device.taken().len(), 16, "{name}");
        let found = words(&memory, 1024);
        let mut answers: Vec<u32> = found.chunks(64).map(|wave| wave[0]).collect();
        assert!(found.chunks(64).all(|wave| wave.iter().all(|&word| word == wave[0])), "{name}");
        answers.sort_unstable();
        assert!(answers.into_iter().eq(1000..1016), "{name}");
    }
}

#[test]
fn a_saved_launch_asks_for_no_answer_again() {
    let text = "v_mov_b32 v2, 0
        s_mov_b32 s16, 0
        L0:
        s_load_dword s12, s[2:3], 0x0
        s_waitcnt lgkmcnt(0)
        v_add_u32 v2, vcc, s12, v2
        s_add_u32 s16, s16, 1
        s_cmp_lt_u32 s16, 200
        s_cbranch_scc1 L0
        buffer_store_dword v2, v1, s[8:11], 0 offen\n";
    let program = program(text);
    for (n, config) in ways().into_iter().enumerate() {
        let token = SaveToken::new();
        let device = Arc::new(Numbers { save: Some((50, token.clone())), ..Numbers::default() });
        let memory = memory(&device);
        let launch = launch(1, 64).save(Some(token));
        let mut report: Report = Engine::new(config).unwrap().run(&program, &memory, &launch).unwrap();
        let launch = launch.save(None);
        if let Some(saved) = report.saved.take() {
            let saved = SavedLaunch::from_bytes(&saved.to_bytes()).unwrap();
            let others = ways();
            let other = Engine::new(others[(n + 3) % others.len()].clone()).unwrap();
            report = other.resume(&program, &memory, &launch, &saved).unwrap();
        }
        assert_eq!(report.fault, None);
        assert_eq!(device.taken().len(), 200);
        // 1000 and up.
        assert!(words(&memory, 64).iter().all(|&word| word == 200 * 1000 + 199 * 200 / 2));
    }
}

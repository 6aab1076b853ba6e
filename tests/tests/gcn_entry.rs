//! Tests the state in which raw GCN code starts: registers, EXEC, MODE and LDS as COMPUTE_PGM_RSRC1 and RSRC2 say, user data,
//! scratch rings; and the workgroup's info of kernels in code objects.
//!
//! The programs store what they find. The expected values are computed here, independently of the front end, from the register
//! layouts and the entry state in LLVM's AMDGPU guide and Mesa's `sid.h`.
//!
//! `WARPJIT_RANDOM=N` runs N random settings, `WARPJIT_SEED=S` those of that seed alone.

use warpjit_frontend::gcn::{Generation, assemble};
use warpjit_runtime::{
    Access, Arg, CancelToken, Config, Engine, FaultKind, HostLevel, Isa, Launch, Program, ProgramOptions,
    Report, Tier, WarpRing,
};
use warpjit_tests::gcn::object::fiji_object;
use warpjit_tests::random::rng::SplitMix;
use warpjit_tests::random::seeds::seeds;

const OUT: u64 = 0x10_0000;
const OUT_BYTES: usize = 0x4_0000;
/// The last word of a buffer resource: one dword an element, all channels.
const FORMAT: u32 = 0x27_fac;
/// Bytes that a wave writes, behind those that waves are counted in.
const RECORD: usize = 1024;
const COUNTER: usize = 64;
/// Scalar registers that a record has room for.
const SCALARS: usize = 24;

/// All ways to run.
fn ways() -> Vec<Config> {
    let base = |tier| Config::default().tier(tier).threads(1);
    vec![
        base(Tier::Interp),
        base(Tier::Interp).threads(2),
        base(Tier::Jit),
        base(Tier::Jit).threads(5),
        base(Tier::Jit).host(HostLevel::Avx2),
        base(Tier::Jit).chunk_groups(Some(4)),
        base(Tier::Auto).hot_after(Some(0)),
    ]
}

/// Stores what a wave starts with. `s[0:3]` are the resource of the output. Registers above `s24` and `v8` are not loaded.
fn dump() -> String {
    let mut text = String::from(
        "s_mov_b64 s[40:41], exec
         s_mov_b64 exec, 1
         v_mov_b32 v8, 1
         buffer_atomic_add v8, off, s[0:3], 0 glc
         s_waitcnt vmcnt(0)
         v_readfirstlane_b32 s42, v8
         s_mov_b64 exec, s[40:41]
         s_mulk_i32 s42, 0x400
         s_add_u32 s42, s42, 64
         v_mbcnt_lo_u32_b32_e64 v8, -1, 0
         v_mbcnt_hi_u32_b32_e64 v8, -1, v8
         v_lshlrev_b32 v8, 2, v8
         s_getreg_b32 s43, hwreg(HW_REG_MODE, 0, 32)
         s_getreg_b32 s44, hwreg(HW_REG_LDS_ALLOC, 0, 32)
         s_getreg_b32 s45, hwreg(HW_REG_GPR_ALLOC, 0, 32)\n",
    );
    for axis in 0..3 {
        text += &format!("buffer_store_dword v{axis}, v8, s[0:3], s42 offen offset:{}\n", 256 * axis);
    }
    for (n, register) in (0..24).chain([40, 41, 43, 44, 45]).enumerate() {
        text += &format!("v_mov_b32 v9, s{register}\n");
        text += &format!("buffer_store_dword v9, off, s[0:3], s42 offset:{}\n", 768 + 4 * n);
    }
    text + "s_endpgm\n"
}

/// A setting of the registers, and a launch.
#[derive(Clone, Debug)]
struct Setting {
    generation: Generation,
    rsrc1: u32,
    rsrc2: u32,
    user_data: Vec<u32>,
    grid: [u32; 3],
    block: [u32; 3],
    /// The first block, and the sizes of the last ones; 0: as all others.
    start: [u32; 3],
    last: [u32; 3],
    ring: WarpRing,
}

/// What a wave finds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Record {
    scalars: Vec<u32>,
    exec: u64,
    mode: u32,
    lds: u32,
    registers: u32,
    /// By lane, the thread's numbers that are loaded.
    threads: Vec<Vec<u32>>,
}

impl Setting {
    fn random(seed: u64) -> Setting {
        let mut random = SplitMix::new(seed);
        let generation = random.pick(&Generation::ALL);
        let users = 4 + random.below(13) as u32;
        let bits = random.bits() as u32;
        // 16 VGPRs; 56 SGPRs, or 64 on 1.4; MODE's bits.
        let rsrc1 = 3 | 6 << 6 | (bits & 0xff) << 12 | (bits >> 8 & 1) << 21 | (bits >> 9 & 1) << 23;
        let lds = random.below(65) as u32;
        let enabled = (bits >> 10 & 1) | (bits >> 11 & 15) << 7 | (random.below(3) as u32) << 11;
        let rsrc2 = users << 1 | enabled | lds << 15 | (bits >> 15 & 0x7f) << 24;
        let mut user_data = vec![OUT as u32, 0, OUT_BYTES as u32, FORMAT];
        user_data.extend((4..random.below(u64::from(users) + 1) as u32).map(|_| random.bits() as u32));
        let mut axis = |most: u64| 1 + random.below(most) as u32;
        let grid = [axis(4), axis(3), axis(3)];
        let mut block = [axis(100), axis(9), axis(5)];
        while block.iter().product::<u32>() > 320 {
            block[block.iter().position(|&n| n > 1).unwrap_or(0)] /= 2;
        }
        let ring = WarpRing { warps: 5 + axis(40), warp_bytes: 1024 * axis(9) };
        let block = block.map(|n| n.max(1));
        let (start, last) = ([0; 3], [0; 3]);
        Setting { generation, rsrc1, rsrc2, user_data, grid, block, start, last, ring }
    }

    /// Forty workgroups of a wave each that use scratch, for so many of which there is room.
    fn with_scratch(generation: Generation, warps: u32) -> Setting {
        Setting {
            generation,
            rsrc1: 3 | 6 << 6,
            rsrc2: 1 | 8 << 1 | 1 << 7,
            user_data: vec![OUT as u32, 0, OUT_BYTES as u32, FORMAT],
            grid: [40, 1, 1],
            block: [64, 1, 1],
            start: [0; 3],
            last: [0; 3],
            ring: WarpRing { warps, warp_bytes: 1024 },
        }
    }

    /// The records of all waves, without order; the offset in scratch as 0.
    fn expected(&self) -> Vec<Record> {
        let bit = |n: u32| self.rsrc2 >> n & 1 != 0;
        let users = (self.rsrc2 >> 1 & 31) as usize;
        let mut records = Vec::new();
        for group in 0..self.grid.iter().product::<u32>() {
            let [x, y, _] = self.grid;
            let ids = [group % x, group / x % y, group / x / y];
            // The last group of an axis may have another size.
            let size: [u32; 3] = std::array::from_fn(|axis| {
                let partial = ids[axis] == self.grid[axis] - 1 && self.last[axis] != 0;
                if partial { self.last[axis] } else { self.block[axis] }
            });
            let threads: u32 = size.iter().product();
            let waves = threads.div_ceil(64);
            for wave in 0..waves {
                let mut scalars = self.user_data.clone();
                scalars.resize(users, 0);
                scalars.extend(
                    (0..3).filter(|&axis| bit(7 + axis as u32)).map(|axis| ids[axis] + self.start[axis]),
                );
                if bit(10) {
                    scalars.push(waves | wave << 6 | u32::from(wave == 0) << 31);
                }
                if bit(0) {
                    scalars.push(0);
                }
                let lanes = (threads - 64 * wave).min(64);
                let [x, y, _] = size;
                let axes = (self.rsrc2 >> 11 & 3) as usize + 1;
                let thread = |n: u32| vec![n % x, n / x % y, n / x / y][..axes].to_vec();
                let granule = if self.generation == Generation::Gfx6 { 64 } else { 128 };
                let sgprs = if self.generation == Generation::Gfx9 { 64 / 16 - 1 } else { 56 / 8 - 1 };
                records.push(Record {
                    scalars,
                    exec: if lanes == 64 { u64::MAX } else { (1 << lanes) - 1 },
                    mode: self.rsrc1 >> 12 & 0xff
                        | (self.rsrc1 >> 21 & 1) << 8
                        | (self.rsrc1 >> 23 & 1) << 9
                        | (self.rsrc2 >> 24 & 0x7f) << 12,
                    lds: ((self.rsrc2 >> 15 & 0x1ff) * granule / 64) << 12,
                    registers: (16 / 4 - 1) << 8 | sgprs << 24,
                    threads: (64 * wave..64 * wave + lanes).map(thread).collect(),
                });
            }
        }
        records
    }

    fn program(&self, source: &str) -> Program {
        let code = assemble(source, self.generation).unwrap_or_else(|e| panic!("{e}\n{source}")).code;
        let options = ProgramOptions::new(Isa::Gcn)
            .raw(true)
            .chip(Some(self.generation.into()))
            .rsrc1(Some(self.rsrc1))
            .rsrc2(Some(self.rsrc2));
        Program::load(&code, &options).unwrap()
    }

    fn launch(&self) -> Launch {
        Launch::default()
            .grid(self.grid)
            .block(self.block)
            .grid_start(self.start)
            .last_block(self.last)
            .user_data(self.user_data.clone())
            .scratch_ring(Some(self.ring))
    }

    /// Runs the dump in one way and gives what waves found.
    fn found(&self, config: Config) -> Result<Vec<Record>, String> {
        let bytes = run(&self.program(&dump()), &self.launch(), config)?;
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let enabled = |n: u32| (self.rsrc2 >> n & 1) as usize;
        let loaded =
            (self.rsrc2 >> 1 & 31) as usize + enabled(7) + enabled(8) + enabled(9) + enabled(10) + enabled(0);
        let axes = (self.rsrc2 >> 11 & 3) as usize + 1;
        let record = |n: u32| {
            let at = COUNTER + RECORD * n as usize;
            let extra = |n: usize| word(at + 768 + 4 * (SCALARS + n));
            let mut scalars: Vec<u32> = (0..loaded).map(|n| word(at + 768 + 4 * n)).collect();
            if enabled(0) != 0 {
                let offset = std::mem::take(&mut scalars[loaded - 1]);
                let WarpRing { warps, warp_bytes } = self.ring;
                if !offset.is_multiple_of(warp_bytes) || offset / warp_bytes >= warps {
                    return Err(format!("scratch at {offset:#x} of {:?}", self.ring));
                }
            }
            let exec = u64::from(extra(1)) << 32 | u64::from(extra(0));
            let lane = |lane: usize| (0..axes).map(|axis| word(at + 256 * axis + 4 * lane)).collect();
            Ok(Record {
                scalars,
                exec,
                mode: extra(2),
                lds: extra(3),
                registers: extra(4),
                threads: (0..64).filter(|lane| exec >> lane & 1 != 0).map(lane).collect(),
            })
        };
        (0..word(0)).map(record).collect()
    }

    fn check(&self) -> Result<(), String> {
        let mut wanted = self.expected();
        wanted.sort();
        for config in ways() {
            let way = format!("{:?} {:?} threads {}", config.tier, config.host, config.threads);
            let mut found = self.found(config).map_err(|error| format!("{way}: {error}"))?;
            found.sort();
            if let Some((found, wanted)) = found.iter().zip(&wanted).find(|(found, wanted)| found != wanted) {
                return Err(format!("{way}: {found:x?}, wanted {wanted:x?}"));
            }
            if found.len() != wanted.len() {
                return Err(format!("{way}: {} waves, wanted {}", found.len(), wanted.len()));
            }
        }
        Ok(())
    }
}

/// Runs a program on the output, twice: the second launch uses what the first has made.
fn run(program: &Program, launch: &Launch, config: Config) -> Result<Vec<u8>, String> {
    let engine = Engine::new(config).unwrap();
    let memory = engine.memory().unwrap();
    memory.map(Some(OUT), OUT_BYTES as u64, Access::ReadWrite).unwrap();
    for _ in 0..2 {
        memory.write(OUT, &vec![0; OUT_BYTES]).unwrap();
        let report = engine.run(program, &memory, launch).map_err(|error| error.to_string())?;
        if let Some(fault) = report.fault {
            return Err(fault.to_string());
        }
    }
    let mut bytes = vec![0; OUT_BYTES];
    memory.read(OUT, &mut bytes).unwrap();
    Ok(bytes)
}

#[test]
fn waves_start_as_the_registers_say() {
    for seed in seeds(0, 24) {
        let setting = Setting::random(seed);
        setting.check().unwrap_or_else(|error| panic!("seed {seed}: {setting:x?}\n{error}"));
    }
}

/// COMPUTE_START moves the groups' numbers, and NUM_THREAD_PARTIAL makes the last group of an axis smaller.
#[test]
fn grids_start_anywhere_and_end_with_partial_groups() {
    for seed in seeds(500, 24) {
        let mut setting = Setting::random(seed);
        let mut random = SplitMix::new(!seed);
        setting.start = std::array::from_fn(|_| random.below(3) as u32 * (random.bits() as u32 >> 3));
        setting.last = setting.block.map(|n| random.below(u64::from(n) + 1) as u32);
        if seed % 3 == 0 {
            // Some axes have one group only, or full ones.
            (setting.grid[0], setting.last[1]) = (1, setting.block[1]);
        }
        setting.check().unwrap_or_else(|error| panic!("seed {seed}: {setting:x?}\n{error}"));
    }
    // With scratch.
    let setting =
        Setting { block: [96, 1, 1], last: [17, 0, 0], ..Setting::with_scratch(Generation::Gfx8, 6) };
    setting.check().unwrap();
}

#[test]
fn starts_and_last_groups_are_checked() {
    let mut setting = Setting::random(3);
    (setting.grid, setting.block) = ([2, 1, 1], [64, 1, 1]);
    setting.last = [65, 0, 0];
    let error = setting.check().unwrap_err();
    assert!(error.contains("the last blocks along x have 65 threads, all others 64"), "{error}");
    (setting.last, setting.start) = ([0; 3], [u32::MAX - 1, 0, 0]);
    let error = setting.check().unwrap_err();
    assert!(error.contains("ends at 4294967296 along x, allowed are 4294967295"), "{error}");
}

/// A part of a launch's blocks, by their numbers in the whole grid.
#[test]
fn ranges_of_blocks_keep_their_sizes() {
    let mut setting = Setting::random(8);
    (setting.rsrc2, setting.grid, setting.block) = (4 << 1 | 7 << 7 | 2 << 11, [3, 2, 2], [20, 3, 2]);
    (setting.start, setting.last) = ([5, 6, 7], [7, 2, 1]);
    setting.user_data = vec![OUT as u32, 0, OUT_BYTES as u32, FORMAT];
    let all = setting.expected();
    let waves = |records: &[Record]| records.iter().map(|r| (r.scalars.clone(), r.exec)).collect::<Vec<_>>();
    // In the order of the grid, and how many waves each group has.
    let group = |n: usize| {
        all.iter().map(|r| r.scalars[4..7].to_vec()).fold(Vec::new(), |mut seen: Vec<Vec<u32>>, id| {
            if !seen.contains(&id) {
                seen.push(id);
            }
            seen
        })[n]
            .clone()
    };
    for range in [0..12, 1..5, 2..3, 5..12, 4..4] {
        let program = setting.program(&dump());
        let launch = setting.launch().blocks(Some(range.start as u64..range.end as u64));
        for config in ways() {
            let bytes = run(&program, &launch, config).unwrap();
            let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            let mut found: Vec<Vec<u32>> = (0..word(0) as usize)
                .map(|n| (4..7).map(|s| word(COUNTER + RECORD * n + 768 + 4 * s)).collect())
                .collect();
            let mut wanted: Vec<Vec<u32>> = range
                .clone()
                .flat_map(|n| {
                    let id = group(n);
                    let count = waves(&all).iter().filter(|(scalars, _)| scalars[4..7] == id[..]).count();
                    vec![id; count]
                })
                .collect();
            found.sort();
            wanted.sort();
            assert_eq!(found, wanted, "{range:?}");
        }
    }
}

/// Which blocks and threads there are makes no difference for kernels that code for grid rows runs: no scratch, many blocks.
#[test]
fn rows_of_blocks_start_alike() {
    for generation in Generation::ALL {
        // s4: x, s5: workgroup's info. Each thread stores both at its place.
        let source = "v_mov_b32 v4, s4
             v_mov_b32 v5, s5
             s_mul_i32 s6, s4, 1200
             v_lshlrev_b32 v6, 3, v0
             v_mul_u32_u24 v7, 160, v1
             v_add_i32 v6, vcc, v6, v7
             buffer_store_dwordx2 v[4:5], v6, s[0:3], s6 offen
             s_endpgm\n";
        let source = if generation == Generation::Gfx9 {
            source.replace("v_add_i32 v6, vcc,", "v_add_u32 v6,")
        } else if generation == Generation::Gfx8 {
            source.replace("v_add_i32", "v_add_u32")
        } else {
            source.to_owned()
        };
        let setting = Setting {
            generation,
            rsrc1: 3 | 6 << 6,
            rsrc2: 4 << 1 | 1 << 7 | 1 << 10 | 1 << 11,
            user_data: vec![OUT as u32, 0, OUT_BYTES as u32, FORMAT],
            grid: [170, 1, 1],
            block: [20, 7, 1],
            start: [0; 3],
            last: [0; 3],
            ring: WarpRing { warps: 1, warp_bytes: 0 },
        };
        // As they are, and with a last group of 20 by 4 threads, which has two waves.
        for (config, last) in ways().into_iter().flat_map(|config| [(config.clone(), 7), (config, 4)]) {
            let setting = Setting { last: [0, last, 0], ..setting.clone() };
            let bytes = run(&setting.program(&source), &setting.launch(), config.clone()).unwrap();
            for block in 0..170u32 {
                for thread in 0..140u32 {
                    let at = (block * 1200 + thread % 20 * 8 + thread / 20 * 160) as usize;
                    let words =
                        [at, at + 4].map(|at| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
                    let wave = thread / 64;
                    let waves = if last == 4 { 2 } else { 3 };
                    let info = waves | wave << 6 | u32::from(wave == 0) << 31;
                    let wanted = if thread < 20 * last { [block, info] } else { [0, 0] };
                    assert_eq!(words, wanted, "{generation} {block} {thread} {last} {:?}", config.tier);
                }
            }
        }
    }
}

/// Registers that the launch has no words for are zero; more words than there are registers are an error.
#[test]
fn user_data_of_a_launch() {
    let mut setting = Setting::random(3);
    (setting.rsrc2, setting.grid, setting.block) = (6 << 1, [1; 3], [64, 1, 1]);
    setting.user_data = vec![OUT as u32, 0, OUT_BYTES as u32, FORMAT];
    setting.check().unwrap();
    setting.user_data.extend([7, 8, 9]);
    let error = setting.check().unwrap_err();
    assert!(error.ends_with("7 words of user data, the program takes 6"), "{error}");
    // A program of which nothing is said takes none.
    let code = assemble("s_endpgm\n", setting.generation).unwrap().code;
    let chip = Some(setting.generation.into());
    let program = Program::load(&code, &ProgramOptions::new(Isa::Gcn).raw(true).chip(chip)).unwrap();
    let error = run(&program, &setting.launch(), Config::default()).unwrap_err();
    assert_eq!(error, "launch: 7 words of user data, the program takes 0");
}

#[test]
fn what_takes_no_rsrc() {
    let options = |isa, chip: &str| {
        ProgramOptions::new(isa).raw(true).chip(Some(chip.parse().unwrap())).rsrc1(Some(0)).rsrc2(Some(0))
    };
    for (isa, chip) in [(Isa::Tesla, "g80"), (Isa::Fermi, "gf100")] {
        let error = Program::load(&[0; 8], &options(isa, chip)).unwrap_err().to_string();
        assert_eq!(error, "rsrc1 and rsrc2 are for raw code of gcn only");
    }
    let object = std::fs::read(format!("{}/corpus/gcn/saxpy/fiji.co", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let options = options(Isa::Gcn, "fiji").raw(false);
    let error = Program::load(&object, &options).unwrap_err().to_string();
    assert_eq!(error, "rsrc1 and rsrc2 are for raw code of gcn only");
}

const RING: u64 = 0x40_0000;

/// Each lane fills an array of 16 words in scratch with numbers of its own, waits for the others of the block, and sums them up. `s[0:3]`
/// is the output, `s[4:7]` the swizzled resource of scratch, `s8` the block, `s9` the wave's offset in scratch.
fn scratch_source(generation: Generation) -> String {
    let add = match generation {
        Generation::Gfx9 => "v_add_u32",
        Generation::Gfx8 => "v_add_u32 VCC",
        _ => "v_add_i32 VCC",
    };
    let add = |dst: &str, a: &str, b: &str| match add.split_once(' ') {
        Some((name, _)) => format!("{name} {dst}, vcc, {a}, {b}\n"),
        None => format!("{add} {dst}, {a}, {b}\n"),
    };
    let mut text = String::from("s_mul_i32 s10, s8, 128\n");
    text += &add("v1", "s10", "v0");
    text += "v_lshlrev_b32 v2, 8, v1\n";
    for word in 0..16 {
        text += &add("v3", &word.to_string(), "v2");
        text += &format!("buffer_store_dword v3, off, s[4:7], s9 offset:{}\n", 4 * word);
    }
    text += "s_waitcnt vmcnt(0)\ns_barrier\nv_mov_b32 v4, 0\n";
    for word in 0..16 {
        text += &format!("buffer_load_dword v3, off, s[4:7], s9 offset:{}\ns_waitcnt vmcnt(0)\n", 4 * word);
        text += &add("v4", "v3", "v4");
    }
    text + "v_lshlrev_b32 v2, 2, v1\nbuffer_store_dword v4, v2, s[0:3], 0 offen\ns_endpgm\n"
}

/// Blocks of two waves share a ring with room for a few of them: whoever runs at a time has scratch of its own.
#[test]
fn waves_share_a_scratch_ring_out() {
    const BLOCKS: u32 = 200;
    for generation in Generation::ALL {
        for waves in [2, 5] {
            let old = matches!(generation, Generation::Gfx6 | Generation::Gfx7);
            let format = if old { 0xf000 } else { 0 };
            let ring = WarpRing { warps: waves, warp_bytes: 4096 };
            let swizzle = 1 << 31;
            let setting = Setting {
                generation,
                start: [0; 3],
                last: [0; 3],
                rsrc1: 3 | 6 << 6,
                rsrc2: 1 | 8 << 1 | 1 << 7,
                user_data: vec![
                    OUT as u32,
                    0,
                    OUT_BYTES as u32,
                    FORMAT,
                    RING as u32,
                    swizzle,
                    u32::MAX,
                    1 << 19 | 3 << 21 | 1 << 23 | format,
                ],
                grid: [BLOCKS, 1, 1],
                block: [128, 1, 1],
                ring,
            };
            let program = setting.program(&scratch_source(generation));
            for config in ways() {
                let engine = Engine::new(config.clone()).unwrap();
                let memory = engine.memory().unwrap();
                memory.map(Some(OUT), OUT_BYTES as u64, Access::ReadWrite).unwrap();
                // No more than the ring says: accesses behind it would fault.
                memory.map(Some(RING), u64::from(waves) * 4096, Access::ReadWrite).unwrap();
                let report = engine.run(&program, &memory, &setting.launch()).unwrap();
                assert_eq!(report.fault, None, "{generation} {waves} {:?}", config.tier);
                assert_eq!(report.stats.blocks, u64::from(BLOCKS));
                let mut bytes = vec![0; 4 * 128 * BLOCKS as usize];
                memory.read(OUT, &mut bytes).unwrap();
                for (thread, word) in bytes.chunks(4).enumerate() {
                    let wanted = 16 * (thread as u32) * 256 + (0..16).sum::<u32>();
                    let word = u32::from_le_bytes(word.try_into().unwrap());
                    assert_eq!(
                        word, wanted,
                        "{generation} {waves} waves, thread {thread}, {:?}",
                        config.tier
                    );
                }
            }
        }
    }
}

/// Blocks that wait for others, in a ring with room for just as many as must be there together; and rings that are too small.
#[test]
fn blocks_that_wait_for_each_other_find_room() {
    // Block n waits until n - 1 of its pair has come: even blocks wait for the odd ones behind them.
    let source = "s_and_b32 s10, s8, 1
         s_lshr_b32 s11, s8, 1
         s_lshl_b32 s11, s11, 2
         v_mov_b32 v1, s11
         v_mov_b32 v2, 1
         s_cmp_eq_u32 s10, 1
         s_cbranch_scc1 come
         wait:
         buffer_load_dword v3, v1, s[0:3], 0 offen glc
         s_waitcnt vmcnt(0)
         v_readfirstlane_b32 s12, v3
         s_cmp_eq_u32 s12, 0
         s_cbranch_scc1 wait
         s_endpgm
         come:
         s_mov_b64 exec, 1
         buffer_atomic_add v2, v1, s[0:3], 0 offen
         s_endpgm\n";
    for generation in [Generation::Gfx7, Generation::Gfx9] {
        let mut setting = Setting::with_scratch(generation, 2);
        let program = setting.program(source);
        for config in ways() {
            let bytes = run(&program, &setting.launch(), config).unwrap();
            for pair in bytes[..80].chunks(4) {
                assert_eq!(pair, [1, 0, 0, 0]);
            }
        }
        setting.block = [200, 1, 1];
        let error = run(&program, &setting.launch(), Config::default()).unwrap_err();
        assert_eq!(error, "launch: the scratch ring has room for 2 warps, a block has 4");
        let launch = setting.launch().scratch_ring(None);
        let error = run(&program, &launch, Config::default()).unwrap_err();
        assert_eq!(error, "launch: the program uses scratch: the launch has to say how it is shared out");
    }
}

/// A launch that is cancelled while blocks wait for room ends, and so does one that faults.
#[test]
fn full_rings_end_with_their_launch() {
    let setting = Setting::with_scratch(Generation::Gfx8, 1);
    let report = |source: &str, cancel: Option<CancelToken>, config: Config| -> Report {
        let engine = Engine::new(config).unwrap();
        let memory = engine.memory().unwrap();
        memory.map(Some(OUT), OUT_BYTES as u64, Access::ReadWrite).unwrap();
        let launch = setting.launch().cancel(cancel);
        engine.run(&setting.program(source), &memory, &launch).unwrap()
    };
    for config in ways() {
        let token = CancelToken::new();
        let other = token.clone();
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(30));
            other.cancel();
        });
        let ended = report("again:\ns_branch again\n", Some(token), config.clone());
        assert!(ended.cancelled);
        canceller.join().unwrap();
        let fault =
            report("s_cmp_lt_u32 s8, 3\ns_cbranch_scc1 end\ns_trap 2\nend:\ns_endpgm\n", None, config);
        let fault = fault.fault.unwrap();
        assert_eq!((fault.kind, fault.block), (FaultKind::Trap, [3, 0, 0]));
    }
}

/// Kernels of code objects find the same word: each wave stores it at its place.
#[test]
fn workgroup_info_of_a_code_object() {
    // s[0:1]: arguments, s2: x, s5: workgroup's info, v0: x.
    let source = "s_load_dwordx2 s[6:7], s[0:1], 0
         s_waitcnt lgkmcnt(0)
         s_mul_i32 s8, s2, 1024
         v_lshlrev_b32 v1, 2, v0
         v_add_u32 v1, vcc, s8, v1
         v_mov_b32 v2, s7
         v_add_u32 v1, vcc, s6, v1
         v_addc_u32 v2, vcc, 0, v2, vcc
         v_mov_b32 v3, s5
         flat_store_dword v[1:2], v3
         s_endpgm\n";
    let code = assemble(source, Generation::Gfx8).unwrap().code;
    let mut object = fiji_object(&code, 0, 8);
    // TG_SIZE_EN of rsrc2.
    object[256 + 52 + 1] |= 4;
    let program = Program::load(&object, &ProgramOptions::new(Isa::Gcn)).unwrap();
    for (threads, waves) in [(64, 1), (130, 3), (256, 4)] {
        let launch = Launch::default().grid([60, 1, 1]).block([threads, 1, 1]).args(vec![Arg::u64(OUT)]);
        for config in ways() {
            let tier = config.tier;
            let bytes = run(&program, &launch, config).unwrap();
            for block in 0..60 {
                for thread in 0..threads {
                    let at = (1024 * block + 4 * thread) as usize;
                    let (found, wave) =
                        (u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()), thread / 64);
                    assert_eq!(
                        found,
                        waves | wave << 6 | u32::from(wave == 0) << 31,
                        "{tier:?} {block} {thread}"
                    );
                }
            }
        }
    }
}

/// Registers with any bits set load, or are refused; so do launches of any size with them. Nothing panics.
#[test]
fn registers_of_all_kinds_do_no_harm() {
    let engine = Engine::new(Config::default().tier(Tier::Interp).threads(1)).unwrap();
    let memory = engine.memory().unwrap();
    let mut random = SplitMix::new(9);
    let (mut loaded, mut ran) = (0, 0);
    for _ in 0..3000 {
        let generation = random.pick(&Generation::ALL);
        let bits = random.bits();
        // Fewer bits now and then, so that some can be had.
        let mask = if random.one_in(2) { random.bits() & random.bits() } else { u64::MAX };
        let (rsrc1, rsrc2) = ((bits & mask) as u32, (bits >> 32 & mask >> 32) as u32);
        let options = ProgramOptions::new(Isa::Gcn)
            .raw(true)
            .chip(Some(generation.into()))
            .rsrc1(Some(rsrc1))
            .rsrc2(Some(rsrc2))
            .local(random.one_in(2).then_some(random.bits() as u32 >> random.below(32)));
        let Ok(program) = Program::load(&0xbf81_0000u32.to_le_bytes(), &options) else { continue };
        loaded += 1;
        let launch = Launch::default()
            .grid([1 + random.below(3) as u32, 1, 1])
            .block([1 + random.below(1100) as u32, 1, 1])
            .user_data(vec![7; random.below(18) as usize])
            .scratch_ring(random.one_in(2).then(|| WarpRing {
                warps: random.below(40) as u32,
                warp_bytes: random.bits() as u32 >> (bits >> 60),
            }));
        ran += u32::from(engine.run(&program, &memory, &launch).is_ok_and(|report| report.fault.is_none()));
    }
    assert!(loaded > 100 && ran > 30, "{loaded} {ran}");
}

//! A space whose addresses are the host's, with a program in it, and the engines that run it.

#![allow(dead_code, reason = "each program of tests uses some of it")]

pub mod own;

use std::sync::atomic::{AtomicU64, Ordering};
use warpjit_frontend::gcn::{Generation, assemble};
use warpjit_runtime::{
    Access, Config, Engine, FaultKind, HostLevel, Isa, Launch, Memory, MemoryOptions, PAGE_BYTES, Program,
    ProgramOptions, Tier,
};

pub const PAGE: u64 = PAGE_BYTES;

pub fn engines() -> Vec<Engine> {
    let of = |tier, host, chunk_groups| {
        Config::default().tier(tier).host(host).chunk_groups(chunk_groups).threads(1).hot_after(Some(1))
    };
    let mut configs =
        vec![of(Tier::Interp, HostLevel::Native, None), of(Tier::Auto, HostLevel::Native, None)];
    for host in [HostLevel::Native, HostLevel::Avx2, HostLevel::Sse41] {
        for chunk_groups in [None, Some(0), Some(1), Some(4), Some(16)] {
            configs.push(of(Tier::Jit, host, chunk_groups));
        }
    }
    configs.push(of(Tier::Jit, HostLevel::Native, None).checked_memory(true));
    configs.push(of(Tier::Jit, HostLevel::Native, None).lockstep(true));
    configs.into_iter().map(|config| Engine::new(config).unwrap()).collect()
}

/// See [`Space::add_much_elsewhere`].
pub fn add_much_elsewhere(memory: &Memory) -> u64 {
    memory.map(Some(chosen()), 40 * PAGE, Access::ReadWrite).unwrap()
}

/// An address at which the system puts nothing by itself, with room behind it, that no other test has.
pub fn chosen() -> u64 {
    static USED: AtomicU64 = AtomicU64::new(0);
    0x2e00_0000_0000 + (USED.fetch_add(1, Ordering::Relaxed) << 24)
}

/// A space with a program in it. The program has two addresses in `s[0:1]` and `s[2:3]`, the first plus four times the thread's number in
/// the grid in `v[2:3]`, the second in the same way in `v[4:5]`, and that number in v1.
pub struct Space {
    pub memory: Memory,
    pub program: Program,
}

impl Space {
    pub fn new(text: &str) -> Space {
        Space::with(text, &MemoryOptions::new().identity())
    }

    pub fn with(text: &str, options: &MemoryOptions) -> Space {
        let source = format!(
            "s_lshl_b32 s4, s4, 6
            v_add_u32 v1, vcc, s4, v0
            v_lshlrev_b32 v6, 2, v1
            v_add_u32 v2, vcc, s0, v6
            v_mov_b32 v3, s1
            v_addc_u32 v3, vcc, 0, v3, vcc
            v_add_u32 v4, vcc, s2, v6
            v_mov_b32 v5, s3
            v_addc_u32 v5, vcc, 0, v5, vcc
            {text}
            s_endpgm"
        );
        Space::of(&source, options, 0)
    }

    /// A space with a program of its own, whose lanes have as many coordinates of theirs beside x, in v0 and behind.
    pub fn of(source: &str, options: &MemoryOptions, more_coordinates: u32) -> Space {
        let code =
            assemble(source, Generation::Gfx8).unwrap_or_else(|error| panic!("{error}\n{source}")).code;
        let memory = Memory::with(options).unwrap();
        let at = memory.map(None, PAGE, Access::ReadOnly).unwrap();
        memory.write(at, &code).unwrap();
        let options = ProgramOptions::new(Isa::Gcn)
            .raw(true)
            .chip(Some(Generation::Gfx8.into()))
            .rsrc1(Some(3 | 2 << 6 | 0xc0 << 12))
            .rsrc2(Some(4 << 1 | 1 << 7 | more_coordinates << 11));
        let program = Program::load_at(&memory, at, &options).unwrap();
        Space { memory, program }
    }

    /// Maps more than a little memory at addresses of its own choice, so that code asks before it makes accesses; gives where.
    pub fn add_much_elsewhere(&self) -> u64 {
        add_much_elsewhere(&self.memory)
    }

    pub fn launch(blocks: u32, one: u64, two: u64) -> Launch {
        let user_data = [one, two].iter().flat_map(|&at| [at as u32, (at >> 32) as u32]).collect();
        Launch::default().grid([blocks, 1, 1]).block([64, 1, 1]).user_data(user_data)
    }

    /// Runs it, and gives the fault: address, lane, and whether it was a store.
    pub fn run(&self, engine: &Engine, blocks: u32, one: u64, two: u64) -> Option<(u64, u32, bool)> {
        let report = engine.run(&self.program, &self.memory, &Self::launch(blocks, one, two)).unwrap();
        report.fault.map(|fault| {
            assert_eq!(fault.kind, FaultKind::Memory);
            (fault.address.unwrap(), fault.lane, fault.store)
        })
    }

    pub fn words(&self, at: u64, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * count];
        self.memory.read(at, &mut bytes).unwrap();
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    pub fn fill(&self, at: u64, words: impl Iterator<Item = u32>) {
        self.memory.write(at, &words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()).unwrap();
    }
}

/// Kinds of accesses to `v[2:3]` or `s[0:1]`: the code, and whether it stores.
pub const KINDS: [(&str, bool); 9] = [
    ("flat_load_dword v7, v[2:3]", false),
    ("flat_load_dwordx4 v[8:11], v[2:3]", false),
    ("flat_load_ubyte v7, v[2:3]", false),
    ("flat_store_dword v[2:3], v1", true),
    ("flat_store_short v[2:3], v1", true),
    ("flat_atomic_add v[2:3], v1", true),
    ("flat_atomic_cmpswap v7, v[2:3], v[8:9] glc", true),
    ("s_load_dword s6, s[0:1], 0x0", false),
    ("s_load_dwordx4 s[8:11], s[0:1], 0x0", false),
];

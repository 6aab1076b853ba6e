//! What calls of guest memory cost: mapping, copies, recorded stores, and kernels in spaces of each form. Prints a
//! table; the yardsticks are run in turn with what they are compared to. `memory identity` (`careful`, `usual`, `registered`; `far`: with
//! memory outside of the window) runs the kernels in such a space alone; `memory identity avx2` without AVX-512, and a third argument
//! lists the code (`memory registered native list`).

use anyhow::Result;
use std::time::{Duration, Instant};
use warpjit_frontend::gcn::{Generation, assemble};
use warpjit_runtime::{
    Access, Config, Engine, HostLevel, Isa, Launch, Memory, MemoryOptions, PAGE_BYTES, Program,
    ProgramOptions, Tier,
};

/// Rounds of each measurement, of which the quickest counts.
const ROUNDS: usize = 9;
/// Bytes that are copied.
const BYTES: usize = 64 << 20;
/// Pages that are written.
const PAGES: u64 = 4096;

/// The quickest of some rounds.
fn quickest(mut work: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}

fn main() -> Result<()> {
    // For a profiler: only the kernel, in one form of space.
    if let Some(form) = std::env::args().nth(1) {
        let is_avx2 = std::env::args().nth(2).is_some_and(|level| level == "avx2");
        let host = if is_avx2 { HostLevel::Avx2 } else { HostLevel::Native };
        let lists = std::env::args().nth(3).is_some();
        let config = Config::default().tier(Tier::Jit).threads(1).host(host);
        let observe = config.observe.listings(lists);
        let engine = Engine::new(config.observe(observe))?;
        let memory = Memory::with(&options_of(&form))?;
        if form == "far" {
            memory.map(Some(0x1234_5000_0000), PAGE_BYTES, Access::ReadWrite)?;
        }
        for kernel in &KERNELS {
            let ready = Ready::new(&engine, &memory, kernel, form == "registered")?;
            println!("{}, {form}: {:?}", kernel.name, quickest(|| ready.run())?);
            if lists {
                let report = engine.run(&ready.program, &memory, &ready.launch)?;
                for function in report.listings.unwrap_or_default().functions {
                    println!("{:?}, {}:\n{}{}", function.kind, function.name, function.clif, function.host);
                }
            }
        }
        return Ok(());
    }
    let memory = Memory::new()?;
    let rounds = 1000;
    let mapped = quickest(|| {
        for _ in 0..rounds {
            let at = memory.map(None, 64 << 10, Access::ReadWrite)?;
            memory.unmap(at)?;
        }
        Ok(())
    })?;
    println!("map and unmap 64 KiB: {:.2} us", mapped.as_secs_f64() * 1e6 / f64::from(rounds));

    let at = memory.map(None, BYTES as u64, Access::ReadWrite)?;
    let (from, mut to) = (vec![1_u8; BYTES], vec![2_u8; BYTES]);
    memory.write(at, &from)?;
    let copied = quickest(|| {
        to.copy_from_slice(std::hint::black_box(&from));
        Ok(())
    })?;
    let written = quickest(|| Ok(memory.write(at, &from)?))?;
    let read = quickest(|| Ok(memory.read(at, &mut to)?))?;
    let ratio = |time: Duration| time.as_secs_f64() / copied.as_secs_f64();
    println!("write 64 MiB: {:.2} of a copy between vectors; read: {:.2}", ratio(written), ratio(read));

    let pages = at..at + PAGES * PAGE_BYTES;
    let touch = || -> Result<()> {
        for page in pages.clone().step_by(PAGE_BYTES as usize) {
            memory.store(page, 4, 1)?;
        }
        Ok(())
    };
    let plain = quickest(touch)?;
    let mut looked = Duration::MAX;
    let tracked = quickest(|| {
        let start = Instant::now();
        memory.take_dirty(pages.clone())?;
        looked = looked.min(start.elapsed());
        touch()
    })?;
    let each = |time: Duration| time.as_secs_f64() * 1e6 / PAGES as f64;
    println!(
        "recorded stores: {:.3} us for the first store to a page (a plain one: {:.3}), of which take_dirty: {:.4}",
        each(tracked),
        each(plain),
        each(looked)
    );

    for host in [HostLevel::Avx2, HostLevel::Native] {
        let config = Config::default().tier(Tier::Jit).threads(1).host(host);
        let engine = Engine::new(config)?;
        for kernel in &KERNELS {
            let new =
                |form: &str| Ok::<_, anyhow::Error>((Memory::with(&options_of(form))?, form == "registered"));
            let spaces: Vec<(Memory, bool)> = FORMS.iter().map(|form| new(form)).collect::<Result<_>>()?;
            let ready: Vec<Ready<'_>> = spaces
                .iter()
                .map(|(memory, registers)| Ready::new(&engine, memory, kernel, *registers))
                .collect::<Result<_>>()?;
            // In turn, so that whatever else the machine does meets all of them.
            let mut best = vec![Duration::MAX; ready.len()];
            for _ in 0..ROUNDS {
                for (ready, best) in ready.iter().zip(&mut best) {
                    let start = Instant::now();
                    ready.run()?;
                    *best = start.elapsed().min(*best);
                }
            }
            let ratio = |time: Duration| time.as_secs_f64() / best[0].as_secs_f64();
            let each = FORMS.iter().zip(&best).skip(1);
            let each: Vec<String> = each.map(|(form, &time)| format!("{form} {:.2}", ratio(time))).collect();
            let (name, of) = (kernel.name, each.join(", "));
            println!("{name}, {host:?}: {of} of the usual space's {:.2} ms", best[0].as_secs_f64() * 1e3);
        }
    }
    Ok(())
}

/// Forms of spaces.
const FORMS: [&str; 4] = ["usual", "careful", "identity", "registered"];

fn options_of(form: &str) -> MemoryOptions {
    match form {
        "careful" => MemoryOptions::new().careful(),
        "identity" | "registered" => MemoryOptions::new().identity(),
        _ => MemoryOptions::new(),
    }
}

/// Raw GCN code, which finds a buffer at `s[0:1]`, another as large at `s[2:3]`, what the thread has there at `v[2:3]` and `v[4:5]`, a word
/// each, and its number in the grid in v1.
struct Kernel {
    name: &'static str,
    text: &'static str,
}

const KERNELS: [Kernel; 5] = [
    Kernel {
        name: "loads, adds and stores",
        text: "flat_load_dword v6, v[2:3]
            s_waitcnt vmcnt(0) lgkmcnt(0)
            v_add_u32 v6, vcc, 1, v6
            flat_store_dword v[2:3], v6",
    },
    Kernel {
        name: "structures of four words",
        text: "v_lshlrev_b32 v6, 4, v1
            v_and_b32 v6, 0x3fffff, v6
            v_add_u32 v2, vcc, s0, v6
            v_mov_b32 v3, s1
            v_addc_u32 v3, vcc, 0, v3, vcc
            flat_load_dwordx4 v[8:11], v[2:3]
            s_waitcnt vmcnt(0) lgkmcnt(0)
            v_add_u32 v8, vcc, v8, v11
            flat_store_dwordx4 v[2:3], v[8:11]",
    },
    Kernel {
        name: "one address for all",
        text: "v_mov_b32 v2, s0
            v_mov_b32 v3, s1
            s_mov_b32 s6, 32
            v_mov_b32 v7, 0
            again:
            flat_load_dword v6, v[2:3]
            s_load_dword s8, s[2:3], 0x0
            s_waitcnt vmcnt(0) & lgkmcnt(0)
            v_add_u32 v7, vcc, v7, v6
            v_add_u32 v7, vcc, s8, v7
            v_add_u32 v2, vcc, 4, v2
            s_sub_u32 s6, s6, 1
            s_cmp_lg_u32 s6, 0
            s_cbranch_scc1 again
            flat_store_dword v[4:5], v7",
    },
    Kernel {
        name: "gathers",
        text: "v_mul_lo_u32 v6, v1, s5
            v_and_b32 v6, 0x3ffffc, v6
            v_add_u32 v2, vcc, s0, v6
            v_mov_b32 v3, s1
            v_addc_u32 v3, vcc, 0, v3, vcc
            flat_load_dword v7, v[2:3]
            s_waitcnt vmcnt(0) lgkmcnt(0)
            flat_store_dword v[4:5], v7",
    },
    Kernel {
        name: "words along a loaded index",
        text: "flat_load_dword v6, v[4:5]
            s_waitcnt vmcnt(0) lgkmcnt(0)
            v_and_b32 v6, 0xfffff, v6
            v_lshlrev_b32 v6, 2, v6
            v_add_u32 v2, vcc, s0, v6
            v_mov_b32 v3, s1
            v_addc_u32 v3, vcc, 0, v3, vcc
            flat_load_dword v7, v[2:3]
            s_waitcnt vmcnt(0) lgkmcnt(0)
            v_add_u32 v7, vcc, 1, v7
            flat_store_dword v[2:3], v7",
    },
];

/// Threads of a launch, in waves.
const WAVES: u32 = 16384;

/// A kernel with its memory, to be run.
struct Ready<'a> {
    engine: &'a Engine,
    memory: &'a Memory,
    program: Program,
    launch: Launch,
    /// Whose memory is registered here, and where.
    owner: Option<(Memory, u64)>,
}

impl Ready<'_> {
    fn new<'a>(
        engine: &'a Engine,
        memory: &'a Memory,
        kernel: &Kernel,
        registers: bool,
    ) -> Result<Ready<'a>> {
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
            s_mov_b32 s5, 0x9e3779b4
            {}
            s_endpgm",
            kernel.text
        );
        let code = assemble(&source, Generation::Gfx8).map_err(|error| anyhow::anyhow!("{error:?}"))?.code;
        let options = ProgramOptions::new(Isa::Gcn)
            .raw(true)
            .chip(Some(Generation::Gfx8.into()))
            .rsrc1(Some(3 | 2 << 6 | 0xc0 << 12))
            // Four words of user data, and the block's number.
            .rsrc2(Some(4 << 1 | 1 << 7));
        let place = memory.map(None, PAGE_BYTES, Access::ReadOnly)?;
        memory.write(place, &code)?;
        let program = Program::load_at(memory, place, &options)?;
        let bytes = 256 * u64::from(WAVES);
        // What is registered is another space's, so that all forms have pages of the same size.
        let owner = registers.then(|| Memory::with(&options_of("identity"))).transpose()?;
        let at = owner.as_ref().unwrap_or(memory).map(None, 2 * bytes, Access::ReadWrite)?;
        if registers {
            let start = std::ptr::with_exposed_provenance_mut(at as usize);
            // SAFETY: its owner lives as long as this, and only the guest accesses it.
            unsafe { memory.map_host(None, start, 2 * bytes, Access::ReadWrite) }?;
        }
        let words = (0..2 * bytes / 4).flat_map(|n| (n as u32).wrapping_mul(0x9e37_79b5).to_le_bytes());
        memory.write(at, &words.collect::<Vec<u8>>())?;
        let user_data = [at, at + bytes].iter().flat_map(|&at| [at as u32, (at >> 32) as u32]).collect();
        let launch = Launch::default().grid([WAVES, 1, 1]).block([64, 1, 1]).user_data(user_data);
        let ready = Ready { engine, memory, program, launch, owner: owner.map(|owner| (owner, at)) };
        ready.run()?;
        Ok(ready)
    }

    fn run(&self) -> Result<()> {
        let report = self.engine.run(&self.program, self.memory, &self.launch)?;
        anyhow::ensure!(report.fault.is_none(), "{:?}", report.fault);
        Ok(())
    }
}

impl Drop for Ready<'_> {
    fn drop(&mut self) {
        if let Some((_, at)) = &self.owner {
            // A failure leaves it registered with nobody to use it.
            let _ = self.memory.unmap(*at);
        }
    }
}

//! What calls of guest memory cost: mapping, copies, recorded stores, and kernels in spaces of each form. Prints a
//! table; the yardsticks are run in turn with what they are compared to. `memory identity` (`careful`, `usual`; `far`: with memory
//! outside of the window) runs the kernel in such a space alone, with a second argument without AVX-512.

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
        let options = MemoryOptions::new();
        let options = match form.as_str() {
            "careful" => options.careful(),
            "identity" => options.identity(),
            _ => options,
        };
        let host = if std::env::args().nth(2).is_some() { HostLevel::Avx2 } else { HostLevel::Native };
        let engine = Engine::new(Config::default().tier(Tier::Jit).threads(1).host(host))?;
        let memory = Memory::with(&options)?;
        if form == "far" {
            memory.map(Some(0x1234_5000_0000), PAGE_BYTES, Access::ReadWrite)?;
        }
        for _ in 0..20 {
            println!("{form}: {:?}", kernel_in(&engine, &memory)?);
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
        let usual = kernel_in(&engine, &Memory::new()?)?;
        let careful = kernel_in(&engine, &Memory::with(&MemoryOptions::new().careful())?)?;
        let identity = kernel_in(&engine, &Memory::with(&MemoryOptions::new().identity())?)?;
        let ratio = |time: Duration| time.as_secs_f64() / usual.as_secs_f64();
        println!(
            "a kernel that loads, adds and stores, {host:?}: careful {:.2}, identity {:.2} of the usual space's time",
            ratio(careful),
            ratio(identity)
        );
    }
    Ok(())
}

/// Raw GCN code in a memory: adds one to a word for each thread of a grid along x; the buffer's address is in `s[0:1]`.
fn increments(memory: &Memory) -> Result<Program> {
    let source = "
        s_lshl_b32 s2, s2, 8
        v_lshlrev_b32 v1, 2, v0
        v_add_u32 v1, vcc, s2, v1
        v_add_u32 v2, vcc, s0, v1
        v_mov_b32 v3, s1
        v_addc_u32 v3, vcc, 0, v3, vcc
        flat_load_dword v6, v[2:3]
        s_waitcnt vmcnt(0) lgkmcnt(0)
        v_add_u32 v6, vcc, 1, v6
        flat_store_dword v[2:3], v6
        s_endpgm
    ";
    let code = assemble(source, Generation::Gfx8).map_err(|error| anyhow::anyhow!("{error:?}"))?.code;
    let options = ProgramOptions::new(Isa::Gcn)
        .raw(true)
        .chip(Some(Generation::Gfx8.into()))
        .rsrc1(Some(3 | 2 << 6 | 0xc0 << 12))
        // Two words of user data, and the block's number.
        .rsrc2(Some(2 << 1 | 1 << 7));
    let at = memory.map(None, PAGE_BYTES, Access::ReadOnly)?;
    memory.write(at, &code)?;
    Ok(Program::load_at(memory, at, &options)?)
}

fn kernel_in(engine: &Engine, memory: &Memory) -> Result<Duration> {
    let kernel = increments(memory)?;
    let blocks = 16384;
    let at = memory.map(None, 256 * u64::from(blocks), Access::ReadWrite)?;
    let launch = Launch::default()
        .grid([blocks, 1, 1])
        .block([64, 1, 1])
        .user_data(vec![at as u32, (at >> 32) as u32]);
    let run = || -> Result<()> {
        let report = engine.run(&kernel, memory, &launch)?;
        anyhow::ensure!(report.fault.is_none(), "{:?}", report.fault);
        Ok(())
    };
    run()?;
    quickest(run)
}

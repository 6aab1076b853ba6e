//! Measures the cost of small launches: programs of a few instructions, launched again and again.
//!
//! ```text
//! cargo run --release -p warpjit-benches --bin launches [-- TIMES [avx2]]
//! ```
//!
//! The first table has single launches: medians and 99th percentiles in microseconds over TIMES launches (default 10,000), after a fifth
//! as many that are not timed. The second one has frames of 5,000 dispatches of one wave on one thread, in milliseconds: the best and the
//! median of 20. The third one has the first launch of each of 500 programs, as it is and after they were compiled ahead. The fourth
//! one has launches that are saved while they run: how long the launch takes to stop, what its state takes as bytes, and to go on.
//! With `avx2`, code uses nothing newer.
#![warn(missing_docs)]

use std::time::Instant;

use warpjit_frontend::gcn::{self, Generation};
use warpjit_frontend::tesla::{Chip, Target, assemble};
use warpjit_runtime::{
    Access, Arg, Config, Dispatch, Engine, HostLevel, Idle, Isa, Launch, Memory, Prepared, Program,
    ProgramOptions, QueueOptions, SaveToken, SavedLaunch, Tier,
};

/// Stores three times the number of each thread.
const SOURCE: &str = "
    and b32 $r1 $r0 0xffff
    shl b32 $r2 $r1 0x2
    add b32 $r2 b32 s[0x10] $r2
    add b32 $r3 $r1 $r1
    add b32 $r3 $r3 $r1
    exit st b32 g14[$r2] $r3
";

/// The same for GCN: the address is in the first two words of user data.
const GCN: &str = "
    v_lshlrev_b32 v1, 2, v0
    v_add_u32 v1, vcc, s0, v1
    v_mov_b32 v2, s1
    v_addc_u32 v2, vcc, 0, v2, vcc
    v_mul_u32_u24 v3, 3, v0
    flat_store_dword v[1:2], v3
    s_endpgm
";

fn tesla() -> anyhow::Result<(Vec<u8>, ProgramOptions)> {
    let code = assemble(SOURCE, Target::compute(Chip::G80))?.code;
    let options =
        ProgramOptions::new(Isa::Tesla).chip(Some("g80".parse().expect("a chip"))).registers(Some(4));
    Ok((code, options))
}

fn gcn() -> anyhow::Result<(Vec<u8>, ProgramOptions)> {
    let code = gcn::assemble(GCN, Generation::Gfx8)?.code;
    let options = ProgramOptions::new(Isa::Gcn)
        .chip(Some("fiji".parse().expect("a chip")))
        .raw(true)
        .rsrc1(Some(0x002c_0043))
        // Two words of user data, and the number of the group.
        .rsrc2(Some(0x84));
    Ok((code, options))
}

/// Settings for the level of the host that the command line asks for.
fn config() -> Config {
    let host = if std::env::args().nth(2).is_some() { HostLevel::Avx2 } else { HostLevel::Native };
    Config::default().host(host)
}

/// A launch of one of the programs that writes at `out`.
fn launch_of(isa: Isa, blocks: u32, block: u32, out: u64) -> Launch {
    let launch = Launch::default().grid([blocks, 1, 1]).block([block, 1, 1]);
    match isa {
        Isa::Gcn => launch.user_data(vec![out as u32, (out >> 32) as u32]),
        _ => launch.args(vec![Arg::u32(out as u32)]),
    }
}

/// Median and 99th percentile of `times` calls, in microseconds.
fn times_of(times: usize, mut run: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<String> {
    for _ in 0..times.div_ceil(5) {
        run()?;
    }
    let mut all = Vec::with_capacity(times);
    for _ in 0..times {
        let start = Instant::now();
        run()?;
        all.push(start.elapsed().as_secs_f64() * 1e6);
    }
    all.sort_by(f64::total_cmp);
    Ok(format!(" {:.2} / {:.2} |", all[all.len() / 2], all[all.len() * 99 / 100]))
}

/// What all measurements of one kind run with.
struct Setup {
    program: Program,
    engine: Engine,
    memory: Memory,
    launch: Launch,
    out: u64,
}

impl Setup {
    fn new(isa: Isa, tier: Tier, threads: usize, blocks: u32, block: u32) -> anyhow::Result<Setup> {
        Self::with(isa, blocks, block, config().tier(tier).threads(threads))
    }

    fn with(isa: Isa, blocks: u32, block: u32, config: Config) -> anyhow::Result<Setup> {
        let (code, options) = if isa == Isa::Gcn { gcn()? } else { tesla()? };
        let program = Program::load(&code, &options)?;
        let engine = Engine::new(config)?;
        let memory = engine.memory()?;
        let out = memory.map(None, 64 * 4, Access::ReadWrite)?;
        Ok(Setup { program, engine, memory, launch: launch_of(isa, blocks, block, out), out })
    }

    /// Where programs store.
    fn out(&self) -> u32 {
        self.out as u32
    }

    fn run(&self) -> anyhow::Result<()> {
        let report = self.engine.run(&self.program, &self.memory, &self.launch)?;
        anyhow::ensure!(report.fault.is_none(), "{:?}", report.fault);
        Ok(())
    }

    fn prepare(&self) -> anyhow::Result<Prepared> {
        Ok(self.engine.prepare(&self.program, &self.memory, &self.launch)?)
    }
}

fn single(times: usize) -> anyhow::Result<()> {
    println!("| launch (us, median / p99) | interp | jit | auto |");
    println!("|---|---|---|---|");
    for (what, isa, blocks, block, threads) in [
        ("Tesla, 1 warp, 1 thread", Isa::Tesla, 1, 32, 1),
        ("Tesla, 2 warps, 1 thread", Isa::Tesla, 1, 64, 1),
        ("Tesla, 8 blocks of 2 warps, 1 thread", Isa::Tesla, 8, 64, 1),
        ("Tesla, 8 blocks of 2 warps, 2 threads", Isa::Tesla, 8, 64, 2),
        ("GCN raw, 1 wave, 1 thread", Isa::Gcn, 1, 64, 1),
    ] {
        let (mut plain, mut again) = (format!("| {what} |"), format!("| {what}, prepared |"));
        for tier in [Tier::Interp, Tier::Jit, Tier::Auto] {
            let setup = Setup::new(isa, tier, threads, blocks, block)?;
            plain += &times_of(times, || setup.run())?;
            let (mut prepared, bytes) = (setup.prepare()?, setup.out().to_le_bytes());
            again += &times_of(times, || {
                match isa {
                    Isa::Gcn => prepared.set_user_data(0, &setup.launch.user_data)?,
                    _ => prepared.set_args(0, &bytes)?,
                }
                let report = prepared.run()?;
                anyhow::ensure!(report.fault.is_none(), "{:?}", report.fault);
                Ok(())
            })?;
        }
        println!("{plain}\n{again}");
    }
    Ok(())
}

/// Dispatches of a frame.
const DISPATCHES: usize = 5_000;
/// Frames that are timed.
const FRAMES: usize = 20;

/// The best and the median of all frames, in milliseconds.
fn frames_of(mut frame: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<String> {
    frame()?;
    let mut all = Vec::new();
    for _ in 0..FRAMES {
        let start = Instant::now();
        frame()?;
        all.push(start.elapsed().as_secs_f64() * 1e3);
    }
    all.sort_by(f64::total_cmp);
    Ok(format!("{:.2} / {:.2}", all[0], all[FRAMES / 2]))
}

/// Frames of many dispatches, each with arguments of its own, in one thread.
fn frames() -> anyhow::Result<()> {
    println!(
        "\n| {DISPATCHES} dispatches (ms, best / median of {FRAMES}) | Tesla, 1 warp | GCN raw, 1 wave |"
    );
    println!("|---|---|---|");
    let mut rows: [String; 4] = [
        "| `Engine::run` |".into(),
        "| `Prepared::run` |".into(),
        "| `Queue::submit_batch`, the embedder's thread |".into(),
        "| `Queue::submit_batch`, the engine's thread |".into(),
    ];
    for isa in [Isa::Tesla, Isa::Gcn] {
        let setup = Setup::new(isa, Tier::Auto, 1, 1, if isa == Isa::Gcn { 64 } else { 32 })?;
        for _ in 0..100 {
            setup.run()?;
        }
        setup.engine.wait_for_compiler();
        let mut launch = setup.launch.clone();
        let plain = frames_of(|| {
            for turn in 0..DISPATCHES as u32 {
                match isa {
                    Isa::Gcn => launch.user_data[1] = 0,
                    _ => launch.dynamic_shared = turn & 1,
                }
                let report = setup.engine.run(&setup.program, &setup.memory, &launch)?;
                anyhow::ensure!(report.fault.is_none(), "{:?}", report.fault);
            }
            Ok(())
        })?;
        rows[0] += &format!(" {plain} |");
        let (mut prepared, bytes) = (setup.prepare()?, setup.out().to_le_bytes());
        let prepared_frames = frames_of(|| {
            for _ in 0..DISPATCHES {
                match isa {
                    Isa::Gcn => prepared.set_user_data(0, &setup.launch.user_data)?,
                    _ => prepared.set_args(0, &bytes[..4])?,
                }
                let report = prepared.run()?;
                anyhow::ensure!(report.fault.is_none(), "{:?}", report.fault);
            }
            Ok(())
        })?;
        rows[1] += &format!(" {prepared_frames} |");
        for (row, idle) in [(2, Idle::Embedder), (3, Idle::Adaptive)] {
            let setup =
                Setup::with(isa, 1, if isa == Isa::Gcn { 64 } else { 32 }, config().threads(1).idle(idle))?;
            for _ in 0..100 {
                setup.run()?;
            }
            setup.engine.wait_for_compiler();
            let (prepared, bytes) = (setup.prepare()?, setup.out().to_le_bytes());
            let queue = setup.engine.queue(QueueOptions::new());
            let frame: Vec<Dispatch<'_>> = (0..DISPATCHES)
                .map(|_| match isa {
                    Isa::Gcn => Dispatch::of(&prepared).user_data(0, &setup.launch.user_data),
                    _ => Dispatch::of(&prepared).args(0, &bytes[..4]),
                })
                .collect();
            let batch = frames_of(|| {
                let report = queue.submit_batch(&frame)?.wait()?;
                anyhow::ensure!(report.stats.blocks == DISPATCHES as u64, "{report:?}");
                Ok(())
            })?;
            rows[row] += &format!(" {batch} |");
        }
    }
    rows.iter().for_each(|row| println!("{row}"));
    Ok(())
}

/// Programs of the last table.
const PROGRAMS: u32 = 500;

/// The first launch of many programs.
fn first() -> anyhow::Result<()> {
    let (_, options) = tesla()?;
    let programs = || -> anyhow::Result<Vec<Program>> {
        (0..PROGRAMS)
            .map(|number| {
                let source = SOURCE.replace("add b32 $r3 $r3 $r1", &format!("add b32 $r3 $r3 {number:#x}"));
                let code = assemble(&source, Target::compute(Chip::G80))?.code;
                Ok(Program::load(&code, &options)?)
            })
            .collect()
    };
    println!("\n| first launch of {PROGRAMS} programs (us, median / p99) | interp | jit | auto |");
    println!("|---|---|---|---|");
    let mut rows: [String; 2] = ["| as they come |".into(), "| compiled ahead |".into()];
    let mut ahead_time = Vec::new();
    for tier in [Tier::Interp, Tier::Jit, Tier::Auto] {
        for (number, row) in rows.iter_mut().enumerate() {
            let setup = Setup::with(Isa::Tesla, 1, 64, config().tier(tier).threads(1))?;
            let programs = programs()?;
            if number == 1 {
                let start = Instant::now();
                let launches = programs.iter().map(|program| (program, &setup.launch));
                setup.engine.precompile(&setup.memory, launches).wait()?;
                ahead_time.push(format!("{:.0} ms", start.elapsed().as_secs_f64() * 1e3));
            }
            let mut all = Vec::new();
            for program in &programs {
                let start = Instant::now();
                let report = setup.engine.run(program, &setup.memory, &setup.launch)?;
                all.push(start.elapsed().as_secs_f64() * 1e6);
                anyhow::ensure!(report.fault.is_none(), "{:?}", report.fault);
            }
            all.sort_by(f64::total_cmp);
            *row += &format!(" {:.1} / {:.1} |", all[all.len() / 2], all[all.len() * 99 / 100]);
        }
    }
    rows.iter().for_each(|row| println!("{row}"));
    println!("| compiling all ahead | {} |", ahead_time.join(" | "));
    Ok(())
}

/// Counts to the number in `s2`, then stores it.
const COUNTS: &str = "
    s_mov_b32 s3, 0
    v_mov_b32 v3, 0
    L0:
    v_add_u32 v3, vcc, 1, v3
    s_add_u32 s3, s3, 1
    s_cmp_lt_u32 s3, s2
    s_cbranch_scc1 L0
    v_mov_b32 v1, s0
    v_mov_b32 v2, s1
    flat_store_dword v[1:2], v3
    s_endpgm
";

/// Launches that are saved while they run.
fn saves() -> anyhow::Result<()> {
    let code = gcn::assemble(COUNTS, Generation::Gfx8)?.code;
    let options = gcn()?.1.rsrc2(Some(3 << 1));
    let program = Program::load(&code, &options)?;
    println!("\n| saving a launch that runs (us, median of {FRAMES}) | interp | jit |");
    println!("|---|---|---|");
    let mut rows: Vec<String> = Vec::new();
    for blocks in [1_u32, 64] {
        let names = ["stops after", "`to_bytes`", "bytes", "`from_bytes`", "goes on and stops at once"];
        let mut own: Vec<String> = names.map(|name| format!("| {blocks} waves: {name} |")).into();
        for tier in [Tier::Interp, Tier::Jit] {
            let engine = Engine::new(config().tier(tier).threads(1))?;
            let memory = engine.memory()?;
            let out = memory.map(None, 4096, Access::ReadWrite)?;
            let launch = |count: u32| {
                let user_data = vec![out as u32, (out >> 32) as u32, count];
                Launch::default().grid([blocks, 1, 1]).block([64, 1, 1]).user_data(user_data)
            };
            let mut times = vec![Vec::new(); names.len()];
            for _ in 0..FRAMES {
                let token = SaveToken::new();
                let asked = std::sync::Mutex::new(Instant::now());
                let report = std::thread::scope(|scope| {
                    scope.spawn(|| {
                        std::thread::sleep(std::time::Duration::from_millis(3));
                        *asked.lock().expect("a time") = Instant::now();
                        token.save();
                    });
                    engine.run(&program, &memory, &launch(u32::MAX).save(Some(token.clone())))
                })?;
                times[0].push(asked.lock().expect("a time").elapsed().as_secs_f64() * 1e6);
                let saved = report.saved.ok_or_else(|| anyhow::anyhow!("it was not saved"))?;
                let start = Instant::now();
                let bytes = saved.to_bytes();
                times[1].push(start.elapsed().as_secs_f64() * 1e6);
                times[2].push(bytes.len() as f64);
                let start = Instant::now();
                let saved = SavedLaunch::from_bytes(&bytes)?;
                times[3].push(start.elapsed().as_secs_f64() * 1e6);
                let again = launch(u32::MAX).save(Some(SaveToken::after(1)));
                let start = Instant::now();
                engine.resume(&program, &memory, &again, &saved)?;
                times[4].push(start.elapsed().as_secs_f64() * 1e6);
            }
            for (row, times) in own.iter_mut().zip(&mut times) {
                times.sort_by(f64::total_cmp);
                *row += &format!(" {:.1} |", times[times.len() / 2]);
            }
        }
        rows.extend(own);
    }
    // What it costs that a launch may be saved.
    let mut row = String::from("| 1 wave, 100,000 rounds: with a token, of the time without |");
    for tier in [Tier::Interp, Tier::Jit] {
        let engine = Engine::new(config().tier(tier).threads(1))?;
        let memory = engine.memory()?;
        let out = memory.map(None, 4096, Access::ReadWrite)?;
        let user_data = vec![out as u32, (out >> 32) as u32, 100_000];
        let launch = Launch::default().grid([1, 1, 1]).block([64, 1, 1]).user_data(user_data);
        let timed = |launch: &Launch| -> anyhow::Result<f64> {
            engine.run(&program, &memory, launch)?;
            let mut best = f64::MAX;
            for _ in 0..FRAMES {
                let start = Instant::now();
                engine.run(&program, &memory, launch)?;
                best = best.min(start.elapsed().as_secs_f64());
            }
            Ok(best)
        };
        let without = timed(&launch)?;
        row += &format!(" {:.2} |", timed(&launch.clone().save(Some(SaveToken::new())))? / without);
    }
    rows.push(row);
    rows.iter().for_each(|row| println!("{row}"));
    Ok(())
}

fn main() -> anyhow::Result<()> {
    let times: usize = std::env::args().nth(1).map_or(Ok(10_000), |times| times.parse())?;
    single(times)?;
    frames()?;
    first()?;
    saves()
}

//! Measures whether compile time is proportional to the size of the code: synthetic straight-line kernels of growing length,
//! compiled and run for one wave.
//!
//! ```text
//! cargo run --release -p warpjit-benches --bin straight [-- most [groups]]
//! ```
//!
//! Prints microseconds per instruction, the minimum of three runs, for loading with lifting, for compiling, and for everything up
//! to the end of the first launch, compiled and interpreted. `most` is the largest kernel in instructions. `groups` is the value
//! of `--chunk`; 2 selects Cranelift's code on hosts that have AVX-512.
#![warn(missing_docs)]

use std::fmt::Write;
use std::time::Instant;

use anyhow::{Context, ensure};
use warpjit_frontend::gcn::{Generation, assemble};
use warpjit_runtime::{Access, Config, Engine, Isa, Launch, Program, ProgramOptions, Tier};

/// Straight, with branches of the whole wave, with branches and loops of lanes as compilers make them, with words that lanes exchange.
const SHAPES: [&str; 5] = ["straight", "branches", "lanes", "loops", "exchanges"];

/// Where results go.
const RESULTS: u64 = 0x1_0000;

/// Source code of about `count` instructions. What it computes does not matter, but every result is used.
fn kernel(shape: &str, count: usize) -> (String, usize) {
    let (mut text, mut made, mut labels, mut seed) = (String::new(), 0, 0, 1u32);
    let mut random = |limit: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) % limit
    };
    while made < count {
        for _ in 0..12 {
            let (dst, a, b) = (random(24), random(24), random(24));
            let _ = match random(6) {
                0 => writeln!(text, "v_add_f32_e32 v{dst}, v{a}, v{b}"),
                1 => writeln!(text, "v_mul_f32_e32 v{dst}, v{a}, v{b}"),
                2 => writeln!(text, "v_xor_b32_e32 v{dst}, v{a}, v{b}"),
                3 => writeln!(text, "v_lshlrev_b32_e32 v{dst}, {}, v{a}", b % 31),
                4 => writeln!(text, "v_fma_f32 v{dst}, v{a}, v{b}, v{dst}"),
                _ => writeln!(text, "s_add_u32 s{0}, s{0}, {a}", 8 + dst % 8),
            };
            made += 1;
        }
        labels += 1;
        let (dst, a, b) = (random(24), random(24), random(8));
        match shape {
            "straight" => continue,
            "exchanges" => {
                let _ = writeln!(
                    text,
                    "ds_write_b32 v24, v{dst} offset:{a}\nds_read_b32 v{a}, v24 offset:{b}\ns_waitcnt lgkmcnt(0)"
                );
                made += 3;
                continue;
            }
            "loops" => {
                let _ = writeln!(
                    text,
                    "v_and_b32_e32 v25, 3, v{a}\ns_mov_b64 s[4:5], 0\nL{labels}:\nv_add_f32_e32 v{dst}, v{b}, v{dst}\n\
                     v_cmp_eq_u32_e32 vcc, 0, v25\ns_or_b64 s[4:5], vcc, s[4:5]\nv_subrev_u32_e32 v25, vcc, 1, v25\n\
                     s_andn2_b64 exec, exec, s[4:5]\ns_cbranch_execnz L{labels}\ns_or_b64 exec, exec, s[4:5]"
                );
                made += 9;
                continue;
            }
            "branches" => {
                let _ = writeln!(text, "s_cmp_lt_u32 s{}, {a}\ns_cbranch_scc1 L{labels}", 8 + b);
            }
            _ => {
                let _ = writeln!(
                    text,
                    "v_cmp_lt_u32_e32 vcc, v{dst}, v{a}\ns_and_saveexec_b64 s[4:5], vcc\ns_cbranch_execz L{labels}"
                );
            }
        }
        let _ =
            writeln!(text, "v_add_f32_e32 v{dst}, v{a}, v{b}\nv_xor_b32_e32 v{a}, v{b}, v{dst}\nL{labels}:");
        made += 5;
        if shape == "lanes" {
            let _ = writeln!(text, "s_or_b64 exec, exec, s[4:5]");
            made += 1;
        }
    }
    // Results: each lane's sum of all registers.
    (1..24).for_each(|n| {
        let _ = writeln!(text, "v_xor_b32_e32 v0, v{n}, v0");
    });
    text += "buffer_store_dword v0, v24, s[16:19], 0 offen\ns_endpgm\n";
    (text, made)
}

fn main() -> anyhow::Result<()> {
    let most: usize = std::env::args().nth(1).map_or(Ok(32_000), |text| text.parse())?;
    let chunk_groups = std::env::args().nth(2).map(|text| text.parse()).transpose()?;
    println!(
        "| shape | instructions | load | compile | first launch | run by compiled code | first launch, interpreter |"
    );
    println!("|---|---|---|---|---|---|---|");
    for shape in SHAPES {
        for count in [500, 2000, 8000, 32_000].into_iter().filter(|&count| count <= most) {
            let (text, made) = kernel(shape, count);
            let code = assemble(&text, Generation::Gfx8).context("the kernel's text")?.code;
            let options = ProgramOptions::new(Isa::Gcn)
                .raw(true)
                .chip(Some("fiji".parse().unwrap()))
                .registers(Some(26))
                .sgprs(Some(32))
                .shared(Some(512));
            // Something in the registers, and results that are looked at.
            let mut registers: Vec<(String, Vec<u64>)> = (0..24)
                .map(|n| (format!("v{n}"), (0..64).map(|lane| 0x3f80_0000 + 977 * lane * n).collect()))
                .collect();
            registers.push(("v24".into(), (0..64).map(|lane| 4 * lane).collect()));
            let resource = [RESULTS, 0, 256, 0x0002_4fac];
            registers.extend((16..).zip(resource).map(|(n, word)| (format!("s{n}"), vec![word])));
            let launch = Launch::default().grid([1; 3]).block([64, 1, 1]).registers(registers);
            let mut times = Vec::new();
            let mut share = 0.0;
            let mut compile = f64::MAX;
            let mut load = f64::MAX;
            for tier in [Tier::Jit, Tier::Interp] {
                let mut least = f64::MAX;
                for _ in 0..3 {
                    let engine =
                        Engine::new(Config::default().tier(tier).threads(1).chunk_groups(chunk_groups))?;
                    let start = Instant::now();
                    let program = Program::load(&code, &options)?;
                    load = load.min(start.elapsed().as_secs_f64());
                    let memory = engine.memory()?;
                    memory.map(Some(RESULTS), 256, Access::ReadWrite)?;
                    let report = engine.run(&program, &memory, &launch)?;
                    ensure!(report.fault.is_none(), "{:?}", report.fault);
                    least = least.min(start.elapsed().as_secs_f64());
                    if tier == Tier::Jit {
                        compile = compile.min(report.stats.compile.as_secs_f64());
                        share = report.stats.jit_share;
                        if let Some(why) = report.stats.not_compiled {
                            eprintln!("{shape} {made}: {why}");
                        }
                    }
                }
                times.push(least);
            }
            let each = |seconds: f64| format!("{:.2}", seconds * 1e6 / made as f64);
            println!(
                "| {shape} | {made} | {} | {} | {} | {:.0} % | {} |",
                each(load),
                each(compile),
                each(times[0]),
                100.0 * share,
                each(times[1])
            );
        }
    }
    Ok(())
}

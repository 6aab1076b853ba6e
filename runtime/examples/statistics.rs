//! What a launch executed: instructions, lanes, traffic, tiers.
//!
//! `cargo run --release -p warpjit-runtime --example statistics`

use std::error::Error;
use warpjit_frontend::tesla::{Chip, Target, assemble};
use warpjit_runtime::{Access, Arg, Config, Engine, Isa, Launch, Program, ProgramOptions, Tier};

fn main() -> Result<(), Box<dyn Error>> {
    // Half of the lanes do more: out[tid] = tid odd ? 2 * tid : tid.
    let source = "
        and b32 $r1 $r0 0xffff
        shl b32 $r2 $r1 0x2
        add b32 $r2 b32 s[0x10] $r2
        and b32 $p0|$o127 $r1 0x1
        mov b32 $r3 $r1
        $p0 ne add b32 $r3 $r1 $r1
        exit st b32 g14[$r2] $r3
    ";
    let code = assemble(source, Target::compute(Chip::G80))?.code;
    let options = ProgramOptions::new(Isa::Tesla).chip(Some("g80".parse()?)).registers(Some(4));
    let program = Program::load(&code, &options)?;
    for tier in [Tier::Interp, Tier::Jit] {
        let engine = Engine::new(Config::default().tier(tier).count(true).threads(1))?;
        let memory = engine.memory()?;
        let out = memory.map(None, 256 * 64 * 4, Access::ReadWrite)?;
        let launch = Launch::default().grid([64, 1, 1]).block([256, 1, 1]).args(vec![Arg::u32(out as u32)]);
        let stats = engine.run(&program, &memory, &launch)?.stats;
        println!("{tier:?}: {} blocks, {} warps", stats.blocks, stats.warps);
        println!(
            "  {} warp instructions, {} thread instructions, {:.1} % of lanes active",
            stats.warp_instructions,
            stats.thread_instructions,
            100.0 * stats.thread_instructions as f64 / stats.lane_slots.max(1) as f64
        );
        println!("  compiled code ran {:.0} % of them", 100.0 * stats.tiers.compiled);
        for (space, (loaded, stored)) in &stats.traffic {
            println!("  {space}: {loaded} bytes loaded, {stored} stored");
        }
    }
    Ok(())
}

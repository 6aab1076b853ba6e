//! A loading screen: compiles the programs of a level before the first frame, and shows how far it is.
//!
//! ```text
//! cargo run --release -p warpjit-runtime --example precompile [PROGRAMS]
//! ```

use std::error::Error;
use std::time::{Duration, Instant};
use warpjit_frontend::tesla::{Chip, Target, assemble};
use warpjit_runtime::{Access, Arg, Config, Engine, Isa, Launch, Program, ProgramOptions, Tier};

fn main() -> Result<(), Box<dyn Error>> {
    let count: u32 = std::env::args().nth(1).map_or(Ok(100), |count| count.parse())?;
    let options = ProgramOptions::new(Isa::Tesla).chip(Some("g80".parse()?)).registers(Some(4));
    let mut programs = Vec::new();
    for number in 0..count {
        let source = format!(
            "and b32 $r1 $r0 0xffff\nshl b32 $r2 $r1 0x2\nadd b32 $r2 b32 s[0x10] $r2\nmov b32 $r3 {number:#x}\n\
             exit st b32 g14[$r2] $r3\n"
        );
        programs.push(Program::load(&assemble(&source, Target::compute(Chip::G80))?.code, &options)?);
    }
    // One thread compiles, with less right to a processor than the game.
    let config = Config::default().tier(Tier::Auto).compiler_threads(1).compiler_nice(5);
    let engine = Engine::new(config)?;
    let memory = engine.memory()?;
    let out = memory.map(None, 4096, Access::ReadWrite)?;
    let launch = Launch::default().grid([1, 1, 1]).block([64, 1, 1]).args(vec![Arg::u32(out as u32)]);

    let start = Instant::now();
    let compilation = engine.precompile(&memory, programs.iter().map(|program| (program, &launch)));
    while !compilation.wait_timeout(Duration::from_millis(50)) {
        let (done, all) = compilation.progress();
        println!("loading: {done} of {all}");
    }
    compilation.wait()?;
    println!("{count} programs in {:.0?}", start.elapsed());

    let start = Instant::now();
    let mut compiled = 0.0;
    for program in &programs {
        compiled += engine.run(program, &memory, &launch)?.stats.tiers.compiled;
    }
    let each = start.elapsed() / count.max(1);
    println!(
        "first launches: {each:.1?} each, {:.0} % in compiled code",
        100.0 * compiled / f64::from(count.max(1))
    );
    Ok(())
}

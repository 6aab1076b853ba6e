//! Two queues of one engine, side by side in one memory: a graphics queue that goes first, and a compute queue. The second half submits a
//! frame of small dispatches as one batch.
//!
//! ```text
//! cargo run --release -p warpjit-runtime --example queue
//! ```

use std::error::Error;
use std::time::Instant;
use warpjit_frontend::tesla::{Chip, Target, assemble};
use warpjit_runtime::{
    Access, Arg, Config, Dispatch, Engine, Isa, Launch, Priority, Program, ProgramOptions, QueueOptions,
    Submission,
};

/// `out[thread] = value`
const SOURCE: &str = "
    and b32 $r1 $r0 0xffff
    shl b32 $r2 $r1 0x2
    add b32 $r2 b32 s[0x10] $r2
    mov b32 $r3 b32 s[0x14]
    exit st b32 g14[$r2] $r3
";

fn main() -> Result<(), Box<dyn Error>> {
    let code = assemble(SOURCE, Target::compute(Chip::G80))?.code;
    let options = ProgramOptions::new(Isa::Tesla).chip(Some("g80".parse()?)).registers(Some(4));
    let program = Program::load(&code, &options)?;
    let engine = Engine::new(Config::default())?;
    let memory = engine.memory()?;
    let out = memory.map(None, 4096, Access::ReadWrite)?;
    let launch = |offset: u64, value: u32| {
        Launch::default()
            .grid([1, 1, 1])
            .block([32, 1, 1])
            .args(vec![Arg::u32((out + offset) as u32), Arg::u32(value)])
    };

    // Compute waits for graphics, which goes first where both could run.
    let graphics = engine.queue(QueueOptions::new().priority(Priority::High));
    let compute = engine.queue(QueueOptions::new());
    let drawn = graphics.submit(Submission::launch(&program, &memory, launch(0, 1)));
    let computed = compute.submit(
        Submission::launch(&program, &memory, launch(0, 2))
            .after(&[drawn])
            .on_complete(|done| println!("compute is done: {}", done.is_ok())),
    );
    let report = computed.wait()?;
    println!("{} warp, fault: {:?}", report.stats.warps, report.fault);

    // A frame: set up once, submitted with other arguments again and again.
    let prepared = engine.prepare(&program, &memory, &launch(0, 0))?;
    let values: Vec<[u8; 4]> = (0..5000_u32).map(u32::to_le_bytes).collect();
    let frame: Vec<Dispatch<'_>> =
        values.iter().map(|value| Dispatch::of(&prepared).args(4, value)).collect();
    for number in 0..3 {
        let start = Instant::now();
        let ticket = graphics.submit_batch(&frame)?;
        let report = ticket.wait()?;
        println!("frame {number}: {} dispatches in {:.2?}", report.stats.blocks, start.elapsed());
    }
    let mut word = [0; 4];
    memory.read(out, &mut word)?;
    println!("the last one stored {}", u32::from_le_bytes(word));
    Ok(())
}

//! What a guest does wrong comes back as data: a store beyond a buffer, and what the report says of it.
//!
//! `cargo run --release -p warpjit-runtime --example faults`

use std::error::Error;
use warpjit_frontend::tesla::{Chip, Target, assemble};
use warpjit_runtime::{Access, Arg, Config, Engine, FaultKind, Isa, Launch, Program, ProgramOptions};

fn main() -> Result<(), Box<dyn Error>> {
    // out[tid] = tid.
    let source = "
        and b32 $r1 $r0 0xffff
        shl b32 $r2 $r1 0x2
        add b32 $r2 b32 s[0x10] $r2
        exit st b32 g14[$r2] $r1
    ";
    let code = assemble(source, Target::compute(Chip::G80))?.code;
    let options = ProgramOptions::new(Isa::Tesla).chip(Some("g80".parse()?)).registers(Some(4));
    let program = Program::load(&code, &options)?;
    let engine = Engine::new(Config::default())?;
    let memory = engine.memory()?;
    // One page, and a launch that writes a page and a half.
    let out = memory.map(None, 4096, Access::ReadWrite)?;
    let launch = Launch::default().grid([1, 1, 1]).block([384, 1, 1]).args(vec![Arg::u32(out as u32 + 3072)]);
    let report = engine.run(&program, &memory, &launch)?;
    let Some(fault) = report.fault else { return Err("the launch should have faulted".into()) };
    println!("{fault}");
    println!("kind {}, block {:?}, warp {}, lane {}", fault.kind, fault.block, fault.warp, fault.lane);
    if let (FaultKind::Memory, Some(address)) = (fault.kind, fault.address) {
        println!("{:#x} is {} bytes behind the buffer's begin", address, address - out);
    }
    // The engine, the program and the memory are as good as before.
    let launch = launch.args(vec![Arg::u32(out as u32)]);
    println!("again: {:?}", engine.run(&program, &memory, &launch)?.fault);
    Ok(())
}

//! A device in guest memory: a kernel reads a register of it and rings its doorbell, and a page fault brings a buffer in.
//!
//! `cargo run --release -p warpjit-runtime --example device`

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use warpjit_frontend::tesla::{Chip, Target, assemble};
use warpjit_runtime::{
    Access, Arg, Config, Device, Engine, Isa, Launch, Memory, PAGE_BYTES, PageFault, Pager, Program,
    ProgramOptions,
};

/// Registers of a card: register 0 has its number, a store to any other is a doorbell.
#[derive(Default)]
struct Card {
    rings: AtomicU64,
}

impl Device for Card {
    fn load(&self, offset: u64, _bytes: u8) -> u64 {
        if offset == 0 { 42 } else { 0 }
    }

    fn store(&self, offset: u64, bytes: u8, value: u64) {
        self.rings.fetch_add(1, Ordering::SeqCst);
        if offset == 4 {
            println!("the first doorbell: {bytes} bytes, {value}");
        }
    }
}

/// Brings pages in when the guest first touches them.
struct OnDemand;

impl Pager for OnDemand {
    fn page_fault(&self, memory: &Memory, fault: &PageFault) -> bool {
        let page = fault.address & !(PAGE_BYTES - 1);
        println!("the guest touches {:#x}: mapped", fault.address);
        memory.map(Some(page), PAGE_BYTES, Access::ReadWrite).is_ok()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // out[tid] = number + tid, then doorbell[1 + tid] = number + tid.
    let source = "
        and b32 $r1 $r0 0xffff
        shl b32 $r2 $r1 0x2
        add b32 $r3 b32 s[0x10] $r2
        add b32 $r4 b32 s[0x14] $r2
        mov b32 $r5 s[0x14]
        ld b32 $r6 g14[$r5]
        add b32 $r6 $r6 $r1
        st b32 g14[$r3] $r6
        mov b32 $r7 0x4
        add b32 $r4 $r4 $r7
        exit st b32 g14[$r4] $r6
    ";
    let code = assemble(source, Target::compute(Chip::G80))?.code;
    let options = ProgramOptions::new(Isa::Tesla).chip(Some("g80".parse()?)).registers(Some(8));
    let program = Program::load(&code, &options)?;

    let engine = Engine::new(Config::default())?;
    let memory = engine.memory()?;
    let card = Arc::new(Card::default());
    let registers = memory.map_device(Some(0xf000_0000), PAGE_BYTES, card.clone())?;
    memory.set_pager(Some(Arc::new(OnDemand)))?;

    let out = 0x20_0000;
    let launch = Launch::default()
        .grid([1, 1, 1])
        .block([64, 1, 1])
        .args(vec![Arg::u32(out as u32), Arg::u32(registers as u32)]);
    let report = engine.run(&program, &memory, &launch)?;
    if let Some(fault) = report.fault {
        return Err(fault.to_string().into());
    }
    println!("out[10] = {}", memory.load(out + 40, 4)?);
    println!("{} doorbells", card.rings.load(Ordering::SeqCst));
    Ok(())
}

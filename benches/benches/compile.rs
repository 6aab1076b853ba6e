//! Benchmarks the way from a program that has just been lifted to the end of one block: regions, passes, code generation, and the
//! run. Lifting is in `lift.rs`; loading the file and filling buffers are not timed.

use criterion::{Criterion, criterion_group, criterion_main};
use warpjit::session::Session;
use warpjit_benches::groups;
use warpjit_runtime::{Config, Engine, Tier};

fn bench(criterion: &mut Criterion) {
    let engine = Engine::new(Config::default().tier(Tier::Jit).threads(1)).expect("an engine");
    groups::timed_programs(criterion, "compile", |file| {
        let mut session = Session::new(file, &engine).expect("the launch");
        session.set_blocks(0..1).expect("a block");
        groups::timed(&mut session)
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);

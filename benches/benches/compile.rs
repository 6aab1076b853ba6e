//! Regions, passes and code of a program that has just been lifted, and the run of one block with it. Lifting has a group of its
//! own; loading, mapping and filling buffers are left out.

use criterion::{Criterion, criterion_group, criterion_main};
use warpjit::session::Session;
use warpjit_benches::groups;
use warpjit_runtime::{Config, Engine, Tier};

fn bench(criterion: &mut Criterion) {
    let engine = Engine::new(Config { tier: Tier::Jit, threads: 1, ..Config::default() }).expect("an engine");
    groups::timed_programs(criterion, "compile", |file| {
        let mut session = Session::new(file, &engine).expect("the launch");
        session.set_blocks(0..1).expect("a block");
        groups::timed(&mut session)
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);

//! From bytes to the end of the first block's run: lifting, regions, passes, code, and one block of guest code.

use criterion::{Criterion, criterion_group, criterion_main};
use warpjit::session::Session;
use warpjit_benches::groups;
use warpjit_runtime::{Config, Engine, Tier};

fn bench(criterion: &mut Criterion) {
    let engine = Engine::new(Config { tier: Tier::Jit, threads: 1, ..Config::default() }).expect("an engine");
    groups::programs(criterion, "compile", |file| {
        let mut session = Session::new(file, &engine).expect("the launch");
        session.set_blocks(0..1).expect("a block");
        session.run().expect("a run");
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);

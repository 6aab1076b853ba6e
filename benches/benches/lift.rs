//! Benchmarks the way from bytes to lifted code: container, decoder, lifter, verifier.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use warpjit::session::load_program;
use warpjit_benches::groups;

fn bench(criterion: &mut Criterion) {
    groups::programs(criterion, "lift", |file| {
        black_box(load_program(black_box(file)).expect("a program"));
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);

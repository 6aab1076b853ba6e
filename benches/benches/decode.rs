//! Benchmarks the decoder on the code of each kernel.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use warpjit_benches::{groups, suite};

fn bench(criterion: &mut Criterion) {
    groups::programs(criterion, "decode", |file| {
        black_box(suite::instruction_count(black_box(file)));
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);

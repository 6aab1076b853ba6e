//! Benchmarks kernels whose lanes diverge.

use criterion::{Criterion, criterion_group, criterion_main};
use warpjit_benches::groups;

fn bench(criterion: &mut Criterion) {
    groups::kernels(criterion, "divergence", |entry| entry.kernel().starts_with("mandelbrot"));
}

criterion_group!(benches, bench);
criterion_main!(benches);

//! Benchmarks kernels that compute in registers.

use criterion::{Criterion, criterion_group, criterion_main};
use warpjit_benches::groups;

fn bench(criterion: &mut Criterion) {
    groups::kernels(criterion, "alu", |entry| matches!(entry.kernel(), "md5" | "black_scholes"));
}

criterion_group!(benches, bench);
criterion_main!(benches);

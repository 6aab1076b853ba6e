//! Benchmarks kernels limited by memory or table lookups.

use criterion::{Criterion, criterion_group, criterion_main};
use warpjit_benches::groups;

fn bench(criterion: &mut Criterion) {
    groups::kernels(criterion, "memory", |entry| matches!(entry.kernel(), "saxpy" | "aes"));
}

criterion_group!(benches, bench);
criterion_main!(benches);

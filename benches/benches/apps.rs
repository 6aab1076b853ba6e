//! Benchmarks all kernels that no other group has, including new folders in `benches/kernels/`.

use criterion::{Criterion, criterion_group, criterion_main};
use warpjit_benches::groups;

fn bench(criterion: &mut Criterion) {
    groups::kernels(criterion, "apps", |entry| {
        let elsewhere = ["md5", "black_scholes", "saxpy", "aes", "mandelbrot", "mandelbrot_mad"];
        !elsewhere.contains(&entry.kernel())
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);

//! All other kernels, and those dropped into the folder.

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

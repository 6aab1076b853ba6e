//! What the criterion benchmarks share: one benchmark of a kernel as native code, compiled and interpreted.

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use warpjit::session::Session;
use warpjit_runtime::{Config, Engine, Tier};

use crate::suite::{self, Entry};

/// Benchmarks kernels natively (128 bits), compiled and interpreted (a few blocks). Elements are threads.
///
/// # Panics
///
/// If a kernel cannot be loaded or run.
pub fn kernels(criterion: &mut Criterion, group: &str, take: impl Fn(&Entry) -> bool) {
    let engine = |tier| Engine::new(Config::default().tier(tier).threads(1)).expect("an engine");
    let (jit, interp) = (engine(Tier::Jit), engine(Tier::Interp));
    let mut group = criterion.benchmark_group(group);
    group.sample_size(10);
    for entry in suite::entries().expect("the folder of kernels").into_iter().filter(take) {
        let inputs = entry.bench.as_ref().map(|bench| bench.inputs()).unwrap_or_default();
        let file = entry.with_inputs(&inputs).expect("the launch file");
        let blocks: u64 = file.launch.grid.iter().map(|&count| u64::from(count)).product();
        let threads: u64 = file.launch.block.iter().map(|&count| u64::from(count)).product();

        group.throughput(Throughput::Elements(blocks * threads));
        if let Some(bench) = &entry.bench {
            let mut native = bench.native(&inputs);
            for build in native.builds().into_iter().filter(|build| build.bits == 128) {
                let id = format!("{}/native-128x{}", entry.name, build.unroll);
                group.bench_function(id, |bencher| bencher.iter(|| native.run(build)));
            }
        }
        let mut session = Session::new(&file, &jit).expect("the launch");
        group.bench_function(format!("{}/jit", entry.name), |bencher| {
            bencher.iter_custom(|runs| (0..runs).map(|_| timed(&mut session)).sum());
        });

        let some = blocks.min(8);
        group.throughput(Throughput::Elements(some * threads));
        let mut session = Session::new(&file, &interp).expect("the launch");
        session.set_blocks(0..some).expect("these blocks");
        group.bench_function(format!("{}/interp", entry.name), |bencher| {
            bencher.iter_custom(|runs| (0..runs).map(|_| timed(&mut session)).sum());
        });
    }
    group.finish();
}

/// The time of a run on memory as it is at first.
///
/// # Panics
///
/// If the run fails.
pub fn timed(session: &mut Session<'_>) -> Duration {
    session.restore().expect("the buffers");
    let start = Instant::now();
    let report = session.run().expect("a run");
    let time = start.elapsed();
    assert!(report.fault.is_none(), "{:?}", report.fault);
    time
}

/// Runs a benchmark for the code of each kernel known here. Elements are guest instructions.
///
/// # Panics
///
/// If a kernel cannot be loaded.
pub fn programs(
    criterion: &mut Criterion,
    group: &str,
    mut run: impl FnMut(&warpjit::launch_file::LaunchFile),
) {
    timed_programs(criterion, group, |file| {
        let start = Instant::now();
        run(file);
        start.elapsed()
    });
}

/// As [`programs`], with a benchmark that says itself how long it took.
///
/// # Panics
///
/// If a kernel cannot be loaded.
pub fn timed_programs(
    criterion: &mut Criterion,
    group: &str,
    mut run: impl FnMut(&warpjit::launch_file::LaunchFile) -> Duration,
) {
    let mut group = criterion.benchmark_group(group);
    group.sample_size(20);
    for entry in suite::entries().expect("the folder of kernels") {
        let file = entry.launch_file().expect("the launch file");
        let count = suite::instruction_count(&file);
        group.throughput(Throughput::Elements(count.max(1) as u64));
        group.bench_function(entry.name.as_str(), |bencher| {
            bencher.iter_custom(|runs| (0..runs).map(|_| run(&file)).sum());
        });
    }
    group.finish();
}

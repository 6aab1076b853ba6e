//! Benchmarks how long it takes from a loaded program to executable code, without and with code cached on disk. Each launch is
//! cancelled before its first block.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use warpjit::session::{Session, load_program};
use warpjit_benches::suite;
use warpjit_runtime::{CacheConfig, CancelToken, Config, Engine, Tier};

fn bench(criterion: &mut Criterion) {
    let folder = std::env::temp_dir().join(format!("warpjit-bench-start-{}", std::process::id()));
    let engine =
        |tier, cache| Engine::new(Config::default().tier(tier).cache(cache).threads(1)).expect("an engine");
    let ways = [
        ("interp", engine(Tier::Auto, None)),
        ("cached", engine(Tier::Jit, Some(CacheConfig::new(&folder)))),
    ];
    let mut group = criterion.benchmark_group("start");
    group.sample_size(20);
    for entry in suite::entries().expect("the folder of kernels") {
        let file = entry.launch_file().expect("the launch file");
        group.throughput(Throughput::Elements(suite::instruction_count(&file).max(1) as u64));
        for (name, engine) in &ways {
            let session = || {
                let program = load_program(&file).expect("a program");
                let mut session = Session::with_program(&file, engine, program).expect("the launch");
                session.set_blocks(0..1).expect("a block");
                session
            };
            // What is on disk afterwards.
            session().run().expect("a run");
            let cancelled = || {
                let (mut session, token) = (session(), CancelToken::new());
                token.cancel();
                session.set_cancel(token);
                session
            };
            group.bench_function(format!("{}/{name}", entry.name), |bencher| {
                bencher.iter_batched_ref(
                    cancelled,
                    |session| session.run().expect("a run"),
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
    let _ = std::fs::remove_dir_all(folder);
}

criterion_group!(benches, bench);
criterion_main!(benches);

//! Benchmarks the fixed cost of a launch: two blocks of a GCN kernel whose code and arguments are in memory, with the same
//! arguments as in the previous launch and with other ones.

use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use warpjit::launch_file::LaunchFile;
use warpjit::session::load_program;
use warpjit_runtime::{Access, Arg, Config, Engine, Launch, Tier};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/corpus/gcn/fft2_pass/hawaii.launch.toml");

fn bench(criterion: &mut Criterion) {
    let engine = Engine::new(Config::default().tier(Tier::Jit).threads(1)).expect("an engine");
    let file = LaunchFile::load(Path::new(FILE)).expect("the launch file");
    let program = load_program(&file).expect("a program");
    let memory = engine.memory().expect("memory");
    let buffers: Vec<u64> =
        (0..3).map(|_| memory.map(None, 4096, Access::ReadWrite).expect("a buffer")).collect();
    let launch = |step: u32| {
        Launch::default()
            .grid([2, 1, 1])
            .block([64, 1, 1])
            .args(buffers.iter().map(|&b| Arg::u64(b)).chain([Arg::u32(step), Arg::u32(256)]).collect())
    };
    let mut group = criterion.benchmark_group("launch");
    for (name, steps) in [("same arguments", [4, 4]), ("other arguments", [4, 2])] {
        let mut launches = steps.map(launch).into_iter().cycle();
        group.bench_function(format!("fft2_pass/{name}"), |bencher| {
            bencher.iter(|| {
                let launch = launches.next().expect("endless");
                let report = engine.run(&program, &memory, &launch).expect("a run");
                assert!(report.fault.is_none(), "{:?}", report.fault);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);

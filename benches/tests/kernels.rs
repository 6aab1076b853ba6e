//! Tests that the committed kernels match their sources and models, and that they run.

use warpjit_benches::suite;
use warpjit_runtime::{Config, Engine, Tier};

#[test]
fn code_is_that_of_the_sources() {
    for entry in suite::entries().unwrap() {
        let Some(bench) = &entry.bench else { continue };
        let folder = entry.path.parent().unwrap();
        let text = std::fs::read_to_string(folder.join("source.txt")).unwrap();
        if let Some(source) = bench.source() {
            assert!(text == source, "{}: run the program `generate`", entry.name);
        }
        let code = suite::assemble(&text, bench.guest()).unwrap();
        assert!(code == std::fs::read(folder.join("code.bin")).unwrap(), "{}: run `generate`", entry.name);
        for (name, bytes) in bench.const_files() {
            assert!(bytes == std::fs::read(folder.join(name)).unwrap(), "{name}: run `generate`");
        }
    }
}

/// The launch files hold with compiled code (the interpreter would take a minute).
#[test]
fn launch_files_hold() {
    let engine = Engine::new(Config::default().tier(Tier::Jit)).unwrap();
    for entry in suite::entries().unwrap() {
        entry.check_file(&engine).unwrap();
    }
}

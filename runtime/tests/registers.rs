//! Tests registers that a launch sets, and registers that it returns.

use warpjit_frontend::Isa;
use warpjit_runtime::{Config, Engine, Launch, Program, ProgramOptions};

/// `exit nop`
const EXIT: [u8; 8] = [0x01, 0, 0, 0xf0, 0x81, 0x07, 0, 0xe0];

fn r0(registers: Vec<(String, Vec<u64>)>) -> Vec<u64> {
    let mut options = ProgramOptions::new(Isa::Tesla);
    (options.chip, options.raw, options.registers) = (Some("g80".parse().unwrap()), true, Some(4));
    let program = Program::load(&EXIT, &options).unwrap();
    let engine = Engine::new(Config::default()).unwrap();
    let memory = engine.memory().unwrap();
    let launch =
        Launch::default().grid([1, 1, 1]).block([8, 2, 2]).registers(registers).capture_registers(true);
    let report = engine.run(&program, &memory, &launch).unwrap();
    assert!(report.fault.is_none(), "{:?}", report.fault);
    report.registers["r0"].clone()
}

#[test]
fn thread_index_is_in_r0_unless_the_launch_sets_it() {
    let index = r0(Vec::new());
    assert_eq!(
        index[..32],
        (0..32).map(|n| (n % 8) | ((n / 8 % 2) << 16) | ((n / 16) << 26)).collect::<Vec<u64>>()
    );
    assert_eq!(r0(vec![("r0".into(), vec![5])])[..32], [5; 32]);
}

//! Limits of steps: compiled code counts a warp's instructions as the interpreter does, whatever its regions are, and ends where that ends.

use warpjit::launch_file::LaunchFile;
use warpjit::outcome::Status;
use warpjit::session::{Session, load_program};
use warpjit_runtime::{Config, Engine, FaultKind, HostLevel, Program, Report, Tier};
use warpjit_tests::corpus::{self, Case};

/// More than any launch here takes, and more than regions are told of at once.
const NEVER: u64 = 1 << 40;

fn engine(tier: Tier, host: HostLevel) -> Engine {
    Engine::new(Config { tier, host, threads: 1, ..Config::default() }).unwrap()
}

/// A file's launch with a limit; whether its expectations hold, and the report.
fn run((file, program): (&mut LaunchFile, &Program), engine: &Engine, max_steps: u64) -> (Status, Report) {
    file.launch.max_steps = max_steps;
    let mut session = Session::with_program(file, engine, program.clone()).unwrap();
    let report = session.run().unwrap();
    (session.check(report.clone()).unwrap().status, report)
}

/// The project's own programs: kernels, not single instructions.
fn kernels() -> Vec<Case> {
    let of = |isa: &str| corpus::in_folder(&corpus::corpus().join(isa), isa).unwrap();
    ["tesla", "fermi", "gcn"].into_iter().flat_map(of).collect()
}

#[test]
fn compiled_code_counts_what_the_interpreter_counts() {
    counts_as_the_interpreter(HostLevel::Native);
}

#[test]
fn so_does_code_without_vectors_of_512_bits() {
    counts_as_the_interpreter(HostLevel::Avx2);
}

fn counts_as_the_interpreter(host: HostLevel) {
    let (interp, jit) = (engine(Tier::Interp, host), engine(Tier::Jit, host));
    let (mut limited, mut skipped) = (0, 0);
    for case in kernels() {
        let mut file = case.load().unwrap();
        let program = load_program(&file).unwrap();
        let (_, wanted) = run((&mut file, &program), &interp, NEVER);
        if wanted.fault.is_some() || wanted.stats.warp_instructions > 60_000 {
            skipped += 1;
            continue;
        }
        assert_eq!(run((&mut file, &program), &jit, NEVER).0, Status::Ok, "{}", case.name);
        // A limit that is not reached, but that the code without its data does not exclude.
        let each = wanted.stats.warp_instructions / wanted.stats.warps.max(1);
        let near = |factor: u64| each * factor / 2 + 1;
        let enough =
            (2..64).map(near).find(|&n| run((&mut file, &program), &interp, n).1.fault.is_none()).unwrap();
        let (status, got) = run((&mut file, &program), &jit, enough);
        assert_eq!(status, Status::Ok, "{} with {enough}", case.name);
        let counts = |report: &Report| (report.stats.warp_instructions, report.stats.thread_instructions);
        assert_eq!(counts(&got), counts(&wanted), "{} with {enough}", case.name);
        // Somewhere within, so that warps end in loops, behind barriers and on ways of a few lanes.
        for max_steps in [1, each / 5, each / 2, each - each / 7, each, each + 1] {
            let (_, wanted) = run((&mut file, &program), &interp, max_steps.max(1));
            let (_, got) = run((&mut file, &program), &jit, max_steps.max(1));
            let place =
                |report: &Report| report.fault.as_ref().map(|f| (f.kind, f.pc, f.block, f.warp, f.lane));
            assert_eq!(place(&got), place(&wanted), "{} with {max_steps}", case.name);
            limited += u32::from(got.fault.is_some_and(|fault| fault.kind == FaultKind::Timeout));
        }
    }
    assert!(limited > 300 && skipped < 40, "{limited} limited, {skipped} skipped");
}

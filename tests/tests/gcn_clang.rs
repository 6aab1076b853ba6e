//! Tests OpenCL kernels from source: compiles them with clang for all generations and code object versions that it knows,
//! launches them, and compares with the same computation in Rust. Without an installed clang with lld it tests nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::Arguments;
use warpjit_runtime::{Access, Arg, Config, Engine, Isa, Launch, Program, ProgramOptions, Tier};
use warpjit_tests::needs;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/opencl/kernels.cl");

/// Chips for clang, one a generation.
const CHIPS: [&str; 4] = ["tahiti", "hawaii", "fiji", "gfx900"];

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let trial = needs::trial(
        "kernels_from_source_run",
        clang(),
        "a clang for amdgcn, with lld",
        kernels_from_source_run,
    );
    libtest_mimic::run(&args, vec![trial]).exit_code()
}

/// A clang that compiles the kernels.
fn clang() -> Option<String> {
    let named = std::env::var("CLANG").ok();
    let usual = ["clang"].map(str::to_owned).into_iter().chain((14..=22).rev().map(|n| format!("clang-{n}")));
    named.into_iter().chain(usual).find(|clang| compile(clang, "fiji", None).is_some())
}

/// The code object, if clang makes one.
fn compile(clang: &str, chip: &str, version: Option<u32>) -> Option<Vec<u8>> {
    let out = out_file(chip, version);
    let mut command = Command::new(clang);
    command.args(["-target", "amdgcn-amd-amdhsa", "-x", "cl", "-cl-std=CL1.2", "-O2", "-nogpulib"]);
    command.arg(format!("-mcpu={chip}"));
    if let Some(version) = version {
        command.arg(format!("-mcode-object-version={version}"));
    }
    let done = command.arg(SOURCE).arg("-o").arg(&out).output().ok()?;
    let bytes = done.status.success().then(|| std::fs::read(&out).ok()).flatten();
    let _ = std::fs::remove_file(&out);
    bytes
}

fn out_file(chip: &str, version: Option<u32>) -> PathBuf {
    let version = version.map_or("default".into(), |version| version.to_string());
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kernels.{chip}.{version}.co"))
}

/// Launches a kernel with an input and an output buffer, and gives the output.
fn run(
    object: &[u8],
    kernel: &str,
    tier: Tier,
    shape: (u32, u32),
    input: &[u8],
    out_bytes: usize,
    args: impl Fn(u64, u64) -> Vec<Arg>,
) -> Vec<u8> {
    let options = ProgramOptions::new(Isa::Gcn).kernel(Some(kernel.into()));
    let program = Program::load(object, &options).unwrap_or_else(|error| panic!("{kernel}: {error}"));
    let engine = Engine::new(Config::default().tier(tier).threads(2)).unwrap();
    let memory = engine.memory().unwrap();
    let from = memory.map(None, input.len().max(1) as u64, Access::ReadOnly).unwrap();
    memory.write(from, input).unwrap();
    let to = memory.map(None, out_bytes as u64, Access::ReadWrite).unwrap();
    let (blocks, threads) = shape;
    let launch = Launch::default().grid([blocks, 1, 1]).block([threads, 1, 1]).args(args(from, to));
    let report = engine.run(&program, &memory, &launch).unwrap();
    assert_eq!(report.fault, None, "{kernel}");
    let mut out = vec![0; out_bytes];
    memory.read(to, &mut out).unwrap();
    out
}

fn bytes_of<const N: usize>(numbers: impl IntoIterator<Item = [u8; N]>) -> Vec<u8> {
    numbers.into_iter().flatten().collect()
}

fn steps(mut n: u32) -> u32 {
    let mut count = 0;
    while n > 1 {
        n = if n & 1 != 0 { n.wrapping_mul(3).wrapping_add(1) } else { n / 2 };
        count += 1;
    }
    count
}

fn root(a: f64, b: i32, which: u32, id: u32) -> f64 {
    let x = a + f64::from(((which + id) & 15) as i32 * b) + f64::from(id);
    let mut y = x;
    for _ in 0..6 {
        y = 0.5 * (y + x / y);
    }
    y
}

fn kernels_from_source_run(clang: String) {
    let mut compiled = 0;
    for chip in CHIPS {
        for version in [None, Some(2), Some(3), Some(4), Some(5), Some(6)] {
            // No clang knows all of them.
            let Some(object) = compile(&clang, chip, version) else { continue };
            compiled += 1;
            for tier in [Tier::Interp, Tier::Jit] {
                check(&object, tier, &format!("{chip}, version {version:?}, {tier:?}"));
            }
        }
    }
    assert!(compiled >= 4, "{compiled} objects were compiled");
}

fn check(object: &[u8], tier: Tier, what: &str) {
    let numbers: Vec<u32> = (0..192).map(|n| n * 37 % 1000).collect();
    let pointers = |from, to| vec![Arg::u64(from), Arg::u64(to)];
    let input = bytes_of(numbers.iter().map(|n| n.to_le_bytes()));
    let out = run(object, "steps", tier, (3, 64), &input, 192 * 4, pointers);
    assert_eq!(out, bytes_of(numbers.iter().map(|&n| steps(n).to_le_bytes())), "steps: {what}");

    let parts: Vec<i32> = (0..512).map(|n| n * n % 97 - 40).collect();
    let input = bytes_of(parts.iter().map(|n| n.to_le_bytes()));
    let out = run(object, "sums", tier, (4, 128), &input, 16, pointers);
    let wanted = parts.chunks(128).map(|part| part.iter().sum::<i32>().to_le_bytes());
    assert_eq!(out, bytes_of(wanted), "sums: {what}");

    let pair = |_, to: u64| {
        let mut bytes = 2.5_f64.to_le_bytes().to_vec();
        bytes.extend(3_i64.to_le_bytes());
        vec![Arg::u64(to), Arg { bytes, align: 8, shared: None }, Arg::u32(5)]
    };
    let out = run(object, "roots", tier, (2, 64), &[], 128 * 8, pair);
    assert_eq!(out, bytes_of((0..128).map(|id| root(2.5, 3, 5, id).to_le_bytes())), "roots: {what}");
}

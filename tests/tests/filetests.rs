//! Text fixtures: every file under `tests/filetests` is a test.
//!
//! A fixture starts with its command in a comment. Then come the input, `; expect:`, and the expected output, each line after `;
//! `. `BLESS=1 cargo test -p warpjit-tests --test filetests` rewrites the expectations. As with any test, an argument selects
//! fixtures by a part of their names. Commands:
//!
//! - `test parse`: the function as printed, or the parser's error.
//! - `test verify`: `ok`, or every broken rule.
//! - `test pass NAME...`: the function after the passes, which must leave it well formed.
//! - `test decode CHIP`: Tesla words (hexadecimal) as the disassembler lists them.
//! - `test disasm CHIP`: Tesla text, assembled and listed; listing that again must give the same code.
//! - `test lift CHIP REGISTERS [STAGE PLACE...]`: the blocks that assembled code lifts to, without the slots and the entry. Programs of
//!   graphics stages name their inputs and outputs (`in=0x80:4:plane`, `out=r0:4`).
//! - `test entry CHIP REGISTERS`: the entry, which is the same for all code.
//! - `test mask CHIP REGISTERS`: the lane region at the code's start in mask form, without the slots.
//! - `test region CHIP REGISTERS`: the same after the passes, as it is compiled.
//! - `test run CHIP THREADS WHAT...`: what the code leaves, one warp of it, in registers (`r1`, ...) and in the first N words of
//!   global memory at 0x10000 (`out=N`). The interpreter and compiled code with every chunk width must agree.

#[path = "filetests/lift.rs"]
mod lift;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use similar::TextDiff;
use warpjit_backend::{SCHEDULE, few_lanes};
use warpjit_frontend::{registry, tesla};
use warpjit_ir::text::Registry;
use warpjit_ir::{DeviceFn, Function, PureFn, Scalar, WordTable, passes, regions, text, verify};
use warpjit_runtime::window_access::{self, WINDOWS, Window};
use warpjit_runtime::{Access, Config, Engine, Isa, Launch, Program, ProgramOptions, Tier};

/// Passes that fixtures run with data of others: those that depend on the host, with the numbers of the code generator; and `windows`,
/// with windows 0 and 1 and none else.
static WITH_DATA: [(&str, passes::Pass); 3] = [
    ("lane_loops", |func| passes::lane_loops::run(func, few_lanes)),
    ("schedule", |func| passes::schedule::run(func, &SCHEDULE)),
    ("windows", |func| {
        let mut windows = [Window::None; WINDOWS];
        (windows[0], windows[1]) = (Window::Linear, Window::Tiled);
        window_access::run(func, &windows)
    }),
];

/// Tables that fixtures may look up.
static TEST_TABLES: [&WordTable; 1] =
    [&WordTable::new("test.primes", &[2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53])];
/// Functions that fixtures may call besides the frontends'.
static TEST_FUNCTIONS: [PureFn; 2] = [
    PureFn {
        name: "test.twice",
        params: &[Scalar::I32],
        result: Scalar::I32,
        eval: |a| (a[0] << 1) & 0xffff_ffff,
        expand: None,
        fast: None,
        special: None,
    },
    PureFn {
        name: "test.half",
        params: &[Scalar::F32],
        result: Scalar::F32,
        eval: |a| u64::from((f32::from_bits(a[0] as u32) * 0.5).to_bits()),
        expand: None,
        fast: None,
        special: None,
    },
];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let trials = files.into_iter().map(|path| {
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        Trial::test(name, move || run_file(&path))
    });
    let topics = Trial::test("every_topic_has_a_fixture", lift::every_topic_has_a_fixture);
    libtest_mimic::run(&Arguments::from_args(), trials.chain([topics]).collect()).exit();
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// A fixture's input and what its output should be.
struct Fixture<'a> {
    command: Vec<&'a str>,
    /// Everything before the expectation.
    input: &'a str,
    expected: String,
}

const EXPECT: &str = "; expect:\n";

fn split(content: &str) -> Result<Fixture<'_>, Failed> {
    let (input, expectation) = match content.find(EXPECT) {
        Some(at) => (&content[..at], &content[at + EXPECT.len()..]),
        None => (content, ""),
    };
    let first = input.lines().next().unwrap_or("");
    let Some(command) = first.strip_prefix("; test ") else {
        return Err("the first line is no `; test COMMAND`".into());
    };
    let mut expected = String::new();
    for line in expectation.lines() {
        expected.push_str(line.strip_prefix("; ").unwrap_or_else(|| line.trim_start_matches(';')));
        expected.push('\n');
    }
    Ok(Fixture { command: command.split_whitespace().collect(), input, expected })
}

fn run_file(path: &Path) -> Result<(), Failed> {
    let content = fs::read_to_string(path)?;
    let fixture = split(&content)?;
    let mut output = run(&fixture)?;
    output.truncate(output.trim_end().len());
    output.push('\n');
    if output == fixture.expected {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        let mut blessed = format!("{}\n\n{EXPECT}", fixture.input.trim_end());
        for line in output.lines() {
            let space = if line.is_empty() { "" } else { " " };
            let _ = writeln!(blessed, ";{space}{line}");
        }
        fs::write(path, blessed)?;
        return Ok(());
    }
    let diff = TextDiff::from_lines(&fixture.expected, &output);
    Err(format!("output (+) is not what is expected (-)\n{}", diff.unified_diff()).into())
}

fn run(fixture: &Fixture) -> Result<String, Failed> {
    match fixture.command.as_slice() {
        ["parse"] => Ok(match parse(fixture.input) {
            Ok(funcs) => show(&funcs)?,
            Err(error) => error.to_string(),
        }),
        ["verify"] => {
            let mut out = String::new();
            for func in parse(fixture.input)? {
                match verify::verify(&func) {
                    Ok(()) => writeln!(out, "@{}: ok", func.name)?,
                    Err(error) => writeln!(out, "{error}")?,
                }
            }
            Ok(out)
        }
        ["pass", names @ ..] => {
            let mut funcs = parse(fixture.input)?;
            for func in &mut funcs {
                verify::verify(func)?;
                for name in names {
                    let Some((_, pass)) = passes::ALL.iter().chain(&WITH_DATA).find(|(n, _)| n == name)
                    else {
                        return Err(format!("no pass is called {name}").into());
                    };
                    let before = func.to_string();
                    let changed = pass(func);
                    verify::verify(func).map_err(|e| format!("after {name}: {e}\n{func}"))?;
                    if changed != (func.to_string() != before) {
                        return Err(format!("{name} says changed = {changed}, which is wrong\n{func}").into());
                    }
                }
            }
            show(&funcs)
        }
        ["decode", chip] => decode(fixture.input, chip),
        ["disasm", chip] => disasm(fixture.input, chip),
        ["mask", chip, registers] => region(fixture.input, chip, registers.parse()?, false),
        ["region", chip, registers] => region(fixture.input, chip, registers.parse()?, true),
        ["run", chip, threads, what @ ..] => run_program(fixture.input, chip, threads.parse()?, what),
        ["lift", chip, registers, stage @ ..] => {
            blocks(&lift::lift(fixture.input, chip, registers.parse()?, stage)?, false)
        }
        ["entry", chip, registers] => {
            blocks(&lift::lift(fixture.input, chip, registers.parse()?, &[])?, true)
        }
        command => Err(format!("no command `test {}`", command.join(" ")).into()),
    }
}

fn target(chip: &str) -> Result<tesla::Target, Failed> {
    Ok(tesla::Target::compute(tesla::Chip::parse(chip).ok_or("no such chip")?))
}

fn decode(input: &str, chip: &str) -> Result<String, Failed> {
    let mut code = Vec::new();
    for word in input.lines().map(|l| l.split(';').next().unwrap_or("")).flat_map(str::split_whitespace) {
        code.extend(u32::from_str_radix(word, 16)?.to_le_bytes());
    }
    Ok(tesla::listing(&code, 0, target(chip)?))
}

fn disasm(input: &str, chip: &str) -> Result<String, Failed> {
    let target = target(chip)?;
    let code = tesla::assemble(input, target)?.code;
    let listing = tesla::listing(&code, 0, target);
    // A line is address, words, text.
    if tesla::assemble(&listing, target).is_ok_and(|again| again.code != code) {
        return Err("assembling the listing gives other code".into());
    }
    Ok(listing)
}

/// A function without its slots, which are the same everywhere.
fn without_slots(func: &Function) -> Result<String, Failed> {
    show(std::slice::from_ref(func))?;
    let text = func.to_string();
    Ok(text.lines().filter(|line| !line.trim_start().starts_with("slot s")).collect::<Vec<_>>().join("\n"))
}

/// The entry, or the blocks behind it. VP1's programs have no entry of their own.
fn blocks(func: &Function, entry: bool) -> Result<String, Failed> {
    let text = without_slots(func)?;
    if func.lanes == 16 {
        return Ok(text);
    }
    let (before, blocks) = text.split_once("\nblock0").ok_or("no entry")?;
    let (own, others) = blocks.split_once("\n\n").ok_or("nothing behind the entry")?;
    Ok(if entry {
        format!("{before}\nblock0{own}\n")
    } else {
        others.trim_end().trim_end_matches('}').into()
    })
}

fn region(input: &str, chip: &str, registers: u32, optimized: bool) -> Result<String, Failed> {
    let kernel =
        regions::Kernel::new(lift::lift(input, chip, registers, &[])?, regions::RegionOptions::default());
    let slots = regions::SlotFacts::none(kernel.func.slots.len());
    let entry = kernel.func.entry;
    let mut region = kernel.region(entry, &slots).ok_or("the first block is the interpreter's")?;
    if optimized {
        regions::optimize(&mut region, false);
    }
    verify::verify(&region.mask)?;
    without_slots(&region.mask)
}

/// Address of what `test run` shows of global memory, and its size.
const OUT: (u64, u64) = (0x10000, 0x10000);

fn run_program(input: &str, chip: &str, threads: u32, what: &[&str]) -> Result<String, Failed> {
    let code = tesla::assemble(input, target(chip)?)?.code;
    let options = ProgramOptions::new(Isa::Tesla).raw(true).chip(Some(chip.parse().unwrap()));
    let program = Program::load(&code, &options)?;
    let launch =
        Launch::default().grid([1; 3]).block([threads, 1, 1]).max_steps(100_000).capture_registers(true);
    let jit = |groups| Config::default().tier(Tier::Jit).chunk_groups(Some(groups));
    let interp = Config::default().tier(Tier::Interp);
    let mut wanted: Option<String> = None;
    for config in [interp, jit(1), jit(2), jit(4)] {
        let name = format!("{:?} {:?}", config.tier, config.chunk_groups);
        let engine = Engine::new(config.threads(1))?;
        let memory = engine.memory()?;
        memory.map(Some(OUT.0), OUT.1, Access::ReadWrite)?;
        let report = engine.run(&program, &memory, &launch)?;
        let mut out = String::new();
        if let Some(fault) = &report.fault {
            writeln!(out, "fault {} at {:#x}, lane {}", fault.kind.name(), fault.pc, fault.lane)?;
        }
        for &what in what {
            let words: Vec<u64> = match what.strip_prefix("out=") {
                Some(count) => {
                    let mut bytes = vec![0; count.parse::<usize>()? * 4];
                    memory.read(OUT.0, &mut bytes)?;
                    let (words, _) = bytes.as_chunks::<4>();
                    words.iter().map(|w| u64::from(u32::from_le_bytes(*w))).collect()
                }
                None => report.registers.get(what).ok_or(format!("no register {what}"))?.clone(),
            };
            // Lanes that were not launched hold nothing of interest.
            let count = if what.starts_with("out=") { words.len() } else { threads as usize };
            for (n, line) in words[..count.min(words.len())].chunks(8).enumerate() {
                let line: Vec<String> = line.iter().map(|w| format!("{w:08x}")).collect();
                writeln!(out, "{:<6} {}", if n == 0 { what } else { "" }, line.join(" "))?;
            }
        }
        match &wanted {
            None => wanted = Some(out),
            Some(wanted) if *wanted != out => {
                let diff = TextDiff::from_lines(wanted, &out).unified_diff().to_string();
                return Err(format!("{name} gives (+) other than the interpreter (-)\n{diff}").into());
            }
            Some(_) => {}
        }
    }
    Ok(wanted.unwrap_or_default())
}

fn parse(input: &str) -> Result<Vec<Function>, text::ParseError> {
    let pures: Vec<&'static PureFn> = TEST_FUNCTIONS.iter().chain(registry::pures()).collect();
    let tables: Vec<&'static WordTable> = TEST_TABLES.into_iter().chain(registry::tables()).collect();
    let devices: Vec<&'static DeviceFn> = registry::devices().collect();
    text::parse_functions(input, Registry { pures: &pures, tables: &tables, devices: &devices })
}

/// The functions as text, which must parse to the same.
fn show(funcs: &[Function]) -> Result<String, Failed> {
    let out = funcs.iter().map(Function::to_string).collect::<Vec<_>>().join("\n");
    let again: Vec<String> = parse(&out)?.iter().map(Function::to_string).collect();
    if again.join("\n") != out {
        return Err("printing what was parsed gives another text".into());
    }
    Ok(out)
}

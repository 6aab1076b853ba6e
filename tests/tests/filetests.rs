//! Text fixtures: every file under `tests/filetests` is a test.
//!
//! A fixture starts with its command in a comment, then holds the input, then `; expect:` and the expected output, each line
//! behind `; `. `BLESS=1 cargo test -p warpjit-tests --test filetests` rewrites the expectations; the command line takes
//! part of a name as any test does. Commands:
//!
//! - `test parse`: the function as printed, or the parser's error.
//! - `test verify`: `ok`, or every broken rule.
//! - `test pass NAME...`: the function after the passes, which must leave it well formed.
//! - `test lift CHIP REGISTERS`: the blocks that assembled Tesla code lifts to, without the slots.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use similar::TextDiff;
use warpjit_frontend::tesla;
use warpjit_ir::{Function, PureFn, Scalar, passes, text, verify};

/// Functions that fixtures may call besides the frontends'.
static TEST_FUNCTIONS: [PureFn; 2] = [
    PureFn {
        name: "test.twice",
        params: &[Scalar::I32],
        result: Scalar::I32,
        eval: |a| (a[0] << 1) & 0xffff_ffff,
    },
    PureFn {
        name: "test.half",
        params: &[Scalar::F32],
        result: Scalar::F32,
        eval: |a| u64::from((f32::from_bits(a[0] as u32) * 0.5).to_bits()),
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
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
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
                    let Some((_, pass)) = passes::ALL.iter().find(|(n, _)| n == name) else {
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
        ["lift", chip, registers] => lift(fixture.input, chip, registers.parse()?),
        command => Err(format!("no command `test {}`", command.join(" ")).into()),
    }
}

/// Assembles, lifts, and prints the blocks; the slots are the same everywhere.
fn lift(input: &str, chip: &str, registers: u32) -> Result<String, Failed> {
    let chip = tesla::Chip::parse(chip).ok_or("no such chip")?;
    let target = tesla::Target::compute(chip);
    let code = tesla::assemble(input, target)?.code;
    let options = tesla::lift::Options { name: "kernel", target, entry: 0, registers, const_banks: &[] };
    let func = tesla::lift::lift(&code, &options);
    verify::verify(&func)?;
    show(std::slice::from_ref(&func))?;
    let text = func.to_string();
    Ok(text.lines().filter(|line| !line.trim_start().starts_with("slot s")).collect::<Vec<_>>().join("\n"))
}

fn parse(input: &str) -> Result<Vec<Function>, text::ParseError> {
    let registry: Vec<&'static PureFn> =
        TEST_FUNCTIONS.iter().chain(tesla::numeric::pure::ALL.iter().copied()).collect();
    text::parse_functions(input, &registry)
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

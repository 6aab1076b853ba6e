//! What the tests of the command share.
#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use warpjit_frontend::tesla::{Chip, Target, assemble};

/// A folder of its own for each test, with a program and a launch file.
pub fn folder(name: &str, source: &str, launch: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let code = assemble(source, Target::compute(Chip::G80)).unwrap_or_else(|e| panic!("{e}")).code;
    fs::write(folder.join("code.bin"), code).unwrap();
    fs::write(folder.join("source.txt"), source).unwrap();
    let program =
        "[program]\nisa = 'tesla'\nchip = 'g80'\nfile = 'code.bin'\nformat = 'raw'\nregisters = 16\n";
    fs::write(folder.join("launch.toml"), format!("{program}{launch}")).unwrap();
    folder
}

/// Runs the command in a folder, which is also where it keeps code: exit status, standard output, standard error.
pub fn warpjit(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let output: Output = command(folder, args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// The command in a folder.
pub fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpjit"));
    command.args(args).current_dir(folder).env("XDG_CACHE_HOME", folder.join("cache"));
    command
}

/// Runs with `--json`: exit status and the object.
pub fn json(folder: &Path, args: &[&str]) -> (i32, Value) {
    let mut all = args.to_vec();
    all.push("--json");
    let (status, out, err) = warpjit(folder, &all);
    let object = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out:?} {err:?}"));
    (status, object)
}

/// Stores the number of each thread.
pub const IOTA: &str = "and b32 $r0 $r0 0xffff\nshl b32 $r1 $r0 0x2\nlong add b32 $r1 b32 s[0x10] $r1\n\
                    st b32 g14[$r1] $r0\nexit nop\n";
/// One block of four threads, whose numbers go to `out`.
pub const LAUNCH: &str = "[launch]\ngrid = [1, 1, 1]\nblock = [4, 1, 1]\n\
                      [[buffer]]\nname = 'out'\nbytes = 16\n[[arg]]\nbuffer = 'out'\n";

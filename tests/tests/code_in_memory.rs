//! Launch files whose code is in a buffer (`at`), as consoles and drivers have it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpjit::launch_file::{FilesInMemory, LaunchFile};
use warpjit::outcome::Status;
use warpjit::session::Session;
use warpjit_frontend::{Chip, Stage};
use warpjit_runtime::{Config, Engine, Tier};

fn assemble(chip: &str, text: &str) -> Vec<u8> {
    let chip: Chip = chip.parse().expect("a chip");
    chip.target().assemble(text, Stage::Compute).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// A launch file beside `a.bin` and `b.bin`.
fn parse(text: &str, [a, b]: [Vec<u8>; 2]) -> Result<LaunchFile, String> {
    let files = BTreeMap::from([(PathBuf::from("a.bin"), a), (PathBuf::from("b.bin"), b)]);
    let files = FilesInMemory { files: Arc::new(files), folder: PathBuf::new() };
    LaunchFile::parse(text, &files, Path::new("t.toml")).map_err(|error| error.to_string())
}

#[track_caller]
fn holds(file: &LaunchFile) {
    for tier in [Tier::Interp, Tier::Jit, Tier::Auto] {
        let engine = Engine::new(Config::default().tier(tier)).unwrap();
        let mut session = Session::new(file, &engine).unwrap();
        let report = session.run().unwrap();
        let outcome = session.check(report).unwrap();
        assert_eq!(outcome.status, Status::Ok, "{tier:?}: {}", outcome.to_text(false));
    }
}

const GCN: &str = "
[program]
isa = 'gcn'
chip = 'polaris10'
at = 0x712345100
known_user_data = [2, 3]
rsrc1 = 0x2c0043
rsrc2 = 0x8
[launch]
grid = [1, 1, 1]
block = [64, 1, 1]
user_data = [8, 9, 0x3000, 0x9a]
[[buffer]]
name = 'caller'
address = 0x712345100
data = 'a.bin'
access = 'r'
[[buffer]]
name = 'called'
address = 0x9a00003000
data = 'b.bin'
[[expect]]
register = 's6'
value = 142
";

fn gcn_code() -> [Vec<u8>; 2] {
    let caller = "s_mov_b32 s6, 1\ns_swappc_b64 s[4:5], s[2:3]\ns_add_u32 s6, s6, 100\ns_endpgm\n";
    [caller, "s_add_u32 s6, s6, 41\ns_setpc_b64 s[4:5]\n"].map(|text| assemble("polaris10", text))
}

#[test]
fn a_program_calls_another_one_by_an_address_in_user_data() {
    let file = parse(GCN, gcn_code()).unwrap();
    holds(&file);
    assert_eq!(file.code_place(), "t.toml: code at 0x712345100");
    // Without the known words, the call leads to no code that was found.
    let unknown = GCN.replace("known_user_data = [2, 3]\n", "");
    let expect = "[[expect]]\nregister = 's6'\nvalue = 142\n";
    let fault = "[[expect]]\nfault = 'illegal'\n";
    holds(&parse(&unknown.replace(expect, fault), gcn_code()).unwrap());
}

#[test]
fn code_segments_have_calls_to_absolute_addresses() {
    for (isa, chip, call, exit) in
        [("tesla", "g84", "call 0x80", "exit nop"), ("fermi", "gf100", "call abs 0x80", "exit")]
    {
        let caller = assemble(chip, &format!("mov b32 $r1 0x5\n{call}\nadd b32 $r1 $r1 0x100\n{exit}\n"));
        let library = assemble(chip, "add b32 $r1 $r1 0x10\nret\n");
        let text = format!(
            "
[program]
isa = '{isa}'
chip = '{chip}'
at = 0x2007ff00
segment = 0x20000000
registers = 8
[launch]
grid = [1, 1, 1]
block = [32, 1, 1]
[[buffer]]
name = 'main'
address = 0x2007ff00
data = 'a.bin'
[[buffer]]
name = 'library'
address = 0x20000080
data = 'b.bin'
[[expect]]
register = 'r1'
value = 0x115
"
        );
        holds(&parse(&text, [caller, library]).unwrap());
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let cases = [
        ("at = 0x712345100", "at = 0x100", "program.at: no buffer is at 0x100"),
        ("chip = 'polaris10'\n", "", "program.chip: missing; code in memory does not say it"),
        ("at =", "entry = 4\nat =", "program.entry: given beside `at`, which says where the code is"),
        ("at =", "file = 'a.bin'\nat =", "program.file: given beside `at`, which says where the code is"),
        ("at =", "segment = 4\nat =", "program.segment: gcn has no code segments"),
        ("[2, 3]\n", "[2, 4]\n", "program.known_user_data: user_data has 4 words, there is no word 4"),
        ("at = 0x712345100", "file = 'a.bin'", "program.known_user_data: only for code in memory (`at`)"),
    ];
    for (from, to, message) in cases {
        let error = parse(&GCN.replacen(from, to, 1), gcn_code()).expect_err(message);
        assert!(error.ends_with(message), "{error}");
    }
}

/// Mesa's compiler gives addresses of scratch ones in the upper bits, where the hardware has them in the upper half.
#[test]
fn high_bits_of_addresses_may_be_ignored() {
    let text = "
[program]
isa = 'gcn'
chip = 'vega10'
at = 0x100000
rsrc1 = 0x2c0043
rsrc2 = 0x8
[launch]
grid = [1, 1, 1]
block = [64, 1, 1]
user_data = [0x200000, 0xffff0000]
ignored_address_bits = 16
[[buffer]]
name = 'code'
address = 0x100000
data = 'a.bin'
[[buffer]]
name = 'data'
address = 0x200000
u32 = [7]
[[expect]]
register = 's2'
value = 7
";
    let code = assemble("vega10", "s_load_dword s2, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_endpgm\n");
    holds(&parse(text, [code.clone(), Vec::new()]).unwrap());
    let without = text.replace("ignored_address_bits = 16\n", "");
    let fault = without.replace("register = 's2'\nvalue = 7\n", "fault = 'memory'\n");
    holds(&parse(&fault, [code, Vec::new()]).unwrap());
    let tesla = "[program]\nisa = 'tesla'\nfile = 'a.bin'\n[launch]\ngrid = [1, 1, 1]\nblock = [1, 1, 1]\nignored_address_bits = 1\n";
    let error = parse(tesla, [vec![0; 8], Vec::new()]).expect_err("no such addresses");
    assert!(error.ends_with("launch.ignored_address_bits: tesla has no addresses of 64 bits"), "{error}");
}

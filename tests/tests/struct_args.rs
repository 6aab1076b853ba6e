//! Tests structures passed by value: as lists and as bytes in launch files, with and without a container that describes the
//! parameters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpjit::launch_file::{FilesInMemory, LaunchFile};
use warpjit::outcome::Status;
use warpjit::session::Session;
use warpjit_frontend::{fermi, gcn, tesla};
use warpjit_runtime::{Config, Engine, HostLevel, Tier};
use warpjit_tests::fermi::cubin::Cubin;
use warpjit_tests::gcn::object::fiji_object;

/// Runs a launch file in all tiers, whose program is `code`; gives what is wrong, or else the words of the buffer `out`.
fn run(program: &str, code: &[u8], rest: &str) -> Result<Vec<u32>, String> {
    let text = format!(
        "[program]\n{program}\nfile = 'code.bin'\n[launch]\ngrid = [1, 1, 1]\nblock = [1, 1, 1]\n\
         [[buffer]]\nname = 'out'\nbytes = 128\naddress = 0x100000\n[[arg]]\nbuffer = 'out'\n{rest}"
    );
    let files = BTreeMap::from([(PathBuf::from("code.bin"), code.to_vec())]);
    let files = FilesInMemory { files: Arc::new(files), folder: PathBuf::new() };
    let file = LaunchFile::parse(&text, &files, Path::new("t.toml")).map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for (tier, host) in [
        (Tier::Interp, HostLevel::Native),
        (Tier::Jit, HostLevel::Native),
        (Tier::Jit, HostLevel::Avx2),
        (Tier::Auto, HostLevel::Native),
    ] {
        let engine = Engine::new(Config::default().tier(tier).host(host)).unwrap();
        let mut session = Session::new(&file, &engine).map_err(|error| format!("{error:#}"))?;
        let report = session.run().map_err(|error| format!("{error:#}"))?;
        let bytes = session.read(0, 0, 128).unwrap();
        let outcome = session.check(report).unwrap();
        assert_eq!(outcome.status, Status::Ok, "{}", outcome.to_text(false));
        let words = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        all.push(words.collect::<Vec<u32>>());
    }
    assert!(all.iter().all(|words| *words == all[0]));
    Ok(all.swap_remove(0))
}

/// Stores so many words of the parameters, from the first on.
fn tesla_copy(words: u32) -> Vec<u8> {
    let mut text = String::from("mov b32 $r0 b32 s[0x10]\n");
    for word in 0..words {
        text +=
            &format!("mov b32 $r1 b32 s[{:#x}]\nst b32 g14[$r0] $r1\nadd b32 $r0 $r0 0x4\n", 0x10 + 4 * word);
    }
    let target = tesla::Target::compute(tesla::Chip::G80);
    tesla::assemble(&(text + "exit nop\n"), target).unwrap_or_else(|error| panic!("{error}")).code
}

fn fermi_copy(words: u32) -> Vec<u8> {
    let mut text = String::from("long mov b32 $r0 c0[0x20]\n");
    for word in 0..words {
        text += &format!(
            "long mov b32 $r1 c0[{:#x}]\nlong st b32 wb g[$r0+{:#x}] $r1\n",
            0x20 + 4 * word,
            4 * word
        );
    }
    fermi::assemble(&(text + "long exit\n"), fermi::Chip::Gf100)
        .unwrap_or_else(|error| panic!("{error}"))
        .code
}

/// The kernel of [`fiji_object`], whose arguments are at the address in `s[0:1]`.
fn gcn_copy(words: u32) -> Vec<u8> {
    let mut text = String::from(
        "s_load_dwordx2 s[6:7], s[0:1], 0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v0, s6\nv_mov_b32 v1, s7\n",
    );
    for word in 0..words {
        text += &format!(
            "s_load_dword s8, s[0:1], {:#x}\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v2, s8\nflat_store_dword v[0:1], v2\n\
             v_add_u32 v0, vcc, 4, v0\n",
            4 * word
        );
    }
    let code = gcn::assemble(&(text + "s_endpgm\n"), gcn::Generation::Gfx8);
    fiji_object(&code.unwrap_or_else(|error| panic!("{error}")).code, 0, 64)
}

const RAW_TESLA: &str = "isa = 'tesla'\nchip = 'g80'\nformat = 'raw'\nregisters = 4";
const RAW_FERMI: &str = "isa = 'fermi'\nchip = 'gf100'\nformat = 'raw'\nregisters = 4";

/// Members of all types, one structure behind the other at the alignment of its members.
const STRUCTURES: &str = "[[arg]]\nf32 = [1.0, -2.5, 3.0]\n[[arg]]\nu8 = [1, 2, 3]\n[[arg]]\ni16 = [-1, 2]\n\
                          [[arg]]\nf64 = [0.5]\n[[arg]]\nhex = '0102030405060708'\n[[arg]]\ni8 = [-1]\n[[arg]]\nu32 = [9]\nalign = 16\n";

fn structures(behind_pointer: usize) -> Vec<u8> {
    let mut bytes = vec![0; behind_pointer];
    let mut put = |align: usize, data: &[u8]| {
        bytes.resize(bytes.len().next_multiple_of(align), 0);
        bytes.extend_from_slice(data);
    };
    put(4, &[1.0f32, -2.5, 3.0].map(f32::to_le_bytes).concat());
    put(1, &[1, 2, 3]);
    put(2, &[0xff, 0xff, 2, 0]);
    put(8, &0.5f64.to_le_bytes());
    put(4, &[1, 2, 3, 4, 5, 6, 7, 8]);
    put(1, &[0xff]);
    put(16, &[9, 0, 0, 0]);
    bytes
}

#[test]
fn without_a_layout_members_say_the_alignment() {
    let words = |behind: usize| -> Vec<u32> {
        let bytes = structures(behind);
        bytes[behind..].chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    };
    // A pointer has 4 bytes on these, 8 on GCN.
    let count = structures(4).len() as u32 / 4;
    for (program, code) in [(RAW_TESLA, tesla_copy(count)), (RAW_FERMI, fermi_copy(count))] {
        let found = run(program, &code, STRUCTURES).unwrap();
        assert_eq!(found[1..count as usize], words(4), "{program}");
    }
    let count = structures(8).len() as u32 / 4;
    let found = run("isa = 'gcn'", &gcn_copy(count), STRUCTURES).unwrap();
    assert_eq!(found[2..count as usize], words(8));
}

/// A container's layout says where a structure is and how large it has to be.
#[test]
fn layouts_of_containers() {
    let mut file = Cubin::new(20);
    file.text("k", &fermi_copy(8), 16);
    // A pointer, a structure of three words at 12, a byte behind it.
    file.params("k", &[(0, 4), (12, 12), (24, 1)], 25);
    let bytes = file.bytes();
    let run = |args: &str| run("isa = 'fermi'", &bytes, args);
    let found = run("[[arg]]\nf32 = [1.0, 2.0, 4.0]\n[[arg]]\nu8 = 7\n").unwrap();
    assert_eq!(found[1..8], [0, 0, 1f32.to_bits(), 2f32.to_bits(), 4f32.to_bits(), 7, 0]);
    // The same bytes, however they are written; alignments of a file do not matter here.
    let hex = run("[[arg]]\nhex = '0000803f 00000040 00008040'\nalign = 64\n[[arg]]\nhex = '07'\n").unwrap();
    assert_eq!(hex, found);
    let error = run("[[arg]]\nf32 = [1.0, 2.0]\n[[arg]]\nu8 = 7\n").unwrap_err();
    assert!(error.ends_with("argument 1 has 8 bytes, k takes 12 there"), "{error}");
    let error = run("[[arg]]\nf32 = [1.0, 2.0, 3.0, 4.0]\n[[arg]]\nu8 = 7\n").unwrap_err();
    assert!(error.ends_with("argument 1 has 16 bytes, k takes 12 there"), "{error}");
    let error = run("[[arg]]\nf32 = [1.0, 2.0, 3.0]\n").unwrap_err();
    assert!(error.ends_with("too few arguments: k takes 3, these are 2"), "{error}");
}

#[test]
fn what_is_no_structure() {
    let error = |arg: &str| run(RAW_TESLA, &tesla_copy(1), &format!("[[arg]]\n{arg}\n")).unwrap_err();
    assert_eq!(error("f32 = []"), "t.toml:17: arg[1].f32: is empty; needs at least one number");
    assert_eq!(error("u8 = [1, 256]"), "t.toml:17: arg[1].u8[1]: is 256, must be an integer from 0 to 255");
    assert_eq!(error("i8 = -129"), "t.toml:17: arg[1].i8: is -129, must be an integer from -128 to 127");
    assert_eq!(
        error("u32 = [1]\nalign = 3"),
        "t.toml:18: arg[1].align: is 3, must be 1, 2, 4, 8, 16, 32 or 64"
    );
    assert_eq!(
        error("buffer = 'out'\nalign = 8"),
        "t.toml:18: arg[1].align: only a value has an alignment of its own, not `buffer`"
    );
}

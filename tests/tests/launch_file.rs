//! Tests launch files: what is read from valid ones, and the messages for invalid ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpjit::launch_file::{Arg, Expect, FilesInMemory, LaunchFile, PictureFormat, Unit};
use warpjit_tests::corpus;

fn parse(text: &str) -> Result<LaunchFile, String> {
    let files = BTreeMap::from([
        (PathBuf::from("code.bin"), vec![0; 8]),
        (PathBuf::from("six.bin"), vec![1, 2, 3, 4, 5, 6]),
        (PathBuf::from("a.cubin"), b"architecture {sm_10}\ncode {\n".to_vec()),
    ]);
    let files = FilesInMemory { files: Arc::new(files), folder: PathBuf::new() };
    LaunchFile::parse(text, &files, Path::new("t.toml")).map_err(|e| e.to_string())
}

const TESLA: &str = "[program]\nisa = 'tesla'\nfile = 'code.bin'\nformat = 'raw'\n\
                     [launch]\ngrid = [1, 1, 1]\nblock = [32, 1, 1]\n";
const GCN: &str =
    "[program]\nisa = 'gcn'\nfile = 'code.bin'\n[launch]\ngrid = [1, 1, 1]\nblock = [64, 1, 1]\n";

/// A good Tesla file with `more` after it.
fn tesla(more: &str) -> Result<LaunchFile, String> {
    parse(&format!("{TESLA}{more}"))
}

#[track_caller]
fn refused(more: &str, message: &str) {
    assert_eq!(tesla(more).err().as_deref(), Some(message), "for: {more}");
}

#[track_caller]
fn refused_whole(text: &str, message: &str) {
    assert_eq!(parse(text).err().as_deref(), Some(message), "for: {text}");
}

#[test]
fn every_launch_file_of_the_corpus_is_accepted() {
    let mut cases = corpus::tesla().unwrap();
    cases.extend(corpus::fermi().unwrap());
    cases.extend(corpus::gcn().unwrap());
    cases.extend(corpus::vp1().unwrap());
    cases.extend(corpus::graphics().unwrap());
    assert!(cases.len() >= 1926, "only {} launch files were found", cases.len());
    let failed: Vec<_> = cases.iter().filter_map(|c| c.load().err()).map(|e| e.to_string()).collect();
    assert!(failed.is_empty(), "{} of {}: {:#?}", failed.len(), cases.len(), &failed[..failed.len().min(20)]);
}

#[test]
fn all_kinds_of_data_are_read() {
    let file = tesla(
        "[[buffer]]\nname = 'a'\nf32 = [0.1, nan, -inf, 3, 1_0.5e+1]\n\
         [[buffer]]\nname = 'b'\nu64 = [0xffff_ffff_ffff_ffff]\nbytes = 12\naddress = 0x1_0000\naccess = 'r'\n\
         [[buffer]]\nname = 'c'\nfill = 0xab\nbytes = 3\n\
         [[buffer]]\nname = 'd'\ni32 = [-1, +2]\n[[buffer]]\nname = 'e'\nf64 = [-0.0]\n\
         [[buffer]]\nname = 'f'\ndata = 'six.bin'\nbytes = 8\n\
         [[const]]\nindex = 1\nu8 = [1, 255]\n\
         [[arg]]\nbuffer = 'b'\n[[arg]]\nbuffer = 'a'\nsize = 8\n[[arg]]\nu16 = 7\n[[arg]]\ni64 = -2\n[[arg]]\nhex = '00ff 1234'\n",
    )
    .unwrap();
    let data: Vec<_> = file.buffers.iter().map(|b| b.data.clone()).collect();
    let words: Vec<u8> = [0x3dcccccdu32, 0x7fc00000, 0xff800000, 0x40400000, 0x42d20000]
        .iter()
        .flat_map(|w| w.to_le_bytes())
        .collect();
    assert_eq!(data[0], words);
    assert_eq!((&data[1][..], file.buffers[1].bytes), (&[255; 8][..], 12));
    assert_eq!((file.buffers[1].address, file.buffers[1].read_only), (Some(0x10000), true));
    assert_eq!((data[2].len(), file.buffers[2].bytes, file.buffers[2].fill), (0, 3, 0xab));
    assert_eq!(data[3], [255, 255, 255, 255, 2, 0, 0, 0]);
    assert_eq!(data[4], (-0.0f64).to_le_bytes());
    assert_eq!((&data[5][..], file.buffers[5].bytes), (&[1, 2, 3, 4, 5, 6][..], 8));
    assert_eq!(file.consts[0].data, [1, 255]);
    assert_eq!(file.args[0], Arg::Buffer { index: 1, size: 4 });
    assert_eq!(file.args[1], Arg::Buffer { index: 0, size: 8 });
    assert_eq!(file.args[2], Arg::Bytes { bytes: vec![7, 0], align: 2 });
    assert_eq!(file.args[3], Arg::Bytes { bytes: (-2i64).to_le_bytes().to_vec(), align: 8 });
    assert_eq!(file.args[4], Arg::Bytes { bytes: vec![0, 255, 0x12, 0x34], align: 4 });
}

#[test]
fn expectations_and_saves_are_read() {
    let file = tesla(
        "[[buffer]]\nname = 'a'\nbytes = 64\n\
         [[expect]]\nbuffer = 'a'\nf32 = [1.0]\ntype = 'f32'\nmax_ulp = 2\nmax_abs = 0.5\noffset = 60\n\
         [[expect]]\nregister = 'r3'\nvalues = [1, -1]\n\
         [[expect]]\nfault = 'memory'\npc = 0x18\nlane = 31\n\
         [[save]]\nbuffer = 'a'\nfile = 'x.PNG'\nwidth = 4\nheight = 4\nformat = 'u32'\n\
         [[save]]\nbuffer = 'a'\nfile = 'x.bin'\nwidth = 4\n",
    )
    .unwrap();
    let [Expect::Buffer(buffer), Expect::Register(register), Expect::Fault(fault)] = file.expects.as_slice()
    else {
        panic!("{:?}", file.expects)
    };
    assert_eq!((buffer.unit, buffer.max_ulp, buffer.max_abs, buffer.offset), (Unit::F32, 2, 0.5, 60));
    assert_eq!(register.values, [1, 0xffff_ffff]);
    assert_eq!((fault.kind.as_str(), fault.pc, fault.lane), ("memory", Some(0x18), Some(31)));
    assert_eq!(file.saves[0].picture.unwrap().format, PictureFormat::U32);
    assert!(file.saves[1].picture.is_none());
}

#[test]
fn every_isa_is_read() {
    let gcn = parse(&format!("{GCN}[[buffer]]\nname = 'a'\nbytes = 4\naddress = 0xffff_ffff_ffff_0000\n[[arg]]\nbuffer = 'a'\n[[arg]]\nlocal = 256\n")).unwrap();
    assert_eq!(gcn.args, [Arg::Buffer { index: 0, size: 8 }, Arg::Local(256)]);
    let vp1 = parse("[program]\nisa = 'vp1'\nchip = 'nv41'\nfile = 'code.bin'\n[registers]\nr1 = 5\nvx = '000102030405060708090a0b0c0d0e0f'\n").unwrap();
    assert_eq!(vp1.registers[1].values, (0..16).collect::<Vec<u64>>());
    for chip in ["tahiti", "gfx600", "gfx906", "polaris10"] {
        assert!(
            parse(&GCN.replace("isa = 'gcn'", &format!("isa = 'gcn'\nchip = '{chip}'"))).is_ok(),
            "{chip}"
        );
    }
}

/// Registers of a dispatch, and what does not go with them.
#[test]
fn registers_of_a_dispatch() {
    let file = |program: &str, launch: &str| {
        parse(
            &GCN.replace("[launch]", &format!("{program}[launch]\n{launch}"))
                .replace("isa = 'gcn'", "isa = 'gcn'\nchip = 'ps4'"),
        )
    };
    let rsrc = "rsrc1 = 0x2c0043\nrsrc2 = 0x8c\n";
    let good = file(rsrc, "user_data = [0x0, 0x100000, 0xffff_ffff]\ntmpring_size = 0x4020\n").unwrap();
    assert_eq!(good.program.rsrc, Some((0x2c_0043, 0x8c)));
    assert_eq!(good.launch.user_data, [0, 0x10_0000, u32::MAX]);
    assert_eq!(good.launch.tmpring_size, Some(0x4020));
    assert_eq!(file(rsrc, "").unwrap().launch.user_data, [0; 0]);
    let error = |program: &str, launch: &str| file(program, launch).unwrap_err();
    let one = "missing; rsrc1 and rsrc2 go together";
    assert_eq!(error("rsrc1 = 1\n", ""), format!("t.toml:1: program.rsrc2: {one}"));
    assert_eq!(error("rsrc2 = 1\n", ""), format!("t.toml:1: program.rsrc1: {one}"));
    for (key, by) in [("registers", "rsrc1"), ("sgprs", "rsrc1"), ("shared", "rsrc2")] {
        let text = format!("{rsrc}{key} = 4\n");
        assert_eq!(error(&text, ""), format!("t.toml:7: program.{key}: given beside `{by}`, which says it"));
    }
    assert_eq!(
        error(rsrc, "user_data = [1, 2, 3, 4, 5, 6, 7]\n"),
        "t.toml:8: launch.user_data: has 7 words; rsrc2 0x8c has 6 user SGPRs"
    );
    assert_eq!(
        error(rsrc, "dynamic_shared = 4\n"),
        "t.toml:8: launch.dynamic_shared: given beside `rsrc2`, which says how much LDS a block has"
    );
    for key in ["user_data = [1]", "tmpring_size = 1"] {
        let name = key.split(' ').next().unwrap();
        let wanted = format!("t.toml:6: launch.{name}: only raw gcn code with `rsrc1` and `rsrc2` has it");
        assert_eq!(error("", &format!("{key}\n")), wanted);
    }
    refused_whole(
        "[program]\nisa = 'tesla'\nfile = 'code.bin'\nrsrc1 = 1\nrsrc2 = 1\n",
        "t.toml:4: program.rsrc1: tesla has no such register",
    );
}

#[test]
fn unknown_keys_are_refused() {
    refused_whole(
        "[prgram]\n",
        "t.toml:1: prgram: unknown key; allowed are arg, bind, buffer, const, expect, fragments, global, image, images, input, launch, output, program, registers, sampler, save, texture, textures",
    );
    refused(
        "max_step = 5\n",
        "t.toml:8: launch.max_step: unknown key; allowed are block, c0, count, dynamic_shared, grid, grid_start, ignored_address_bits, invocations, last_block, max_steps, max_vertices, points, streams, tmpring_size, type, user_data, vertices",
    );
    refused(
        "[[buffer]]\nname = 'a'\nbytes = 4\n[[buffer]]\nname = 'b'\nsize = 4\n",
        "t.toml:13: buffer[1].size: unknown key; allowed are access, address, bytes, data, f32, f64, fill, i32, name, u32, u64, u8",
    );
    refused(
        "[[arg]]\nu3 = 4\n",
        "t.toml:9: arg[0].u3: unknown key; allowed are align, buffer, f32, f64, hex, i16, i32, i64, i8, local, size, u16, u32, u64, u8",
    );
}

#[test]
fn broken_toml_names_the_line() {
    let error = tesla("[[buffer]\nname = 'a'\n").unwrap_err();
    assert!(error.starts_with("t.toml:8: not TOML: "), "{error}");
    assert_eq!(
        LaunchFile::load(Path::new("/nowhere/launch.toml")).unwrap_err().to_string(),
        "/nowhere/launch.toml: cannot be read: No such file or directory (os error 2)"
    );
}

#[test]
fn bad_programs_are_refused() {
    refused_whole("", "t.toml:1: program: missing; every launch file has this table");
    refused_whole(
        "[program]\nisa = 'g80'\n",
        "t.toml:2: program.isa: is \"g80\", must be one of tesla, fermi, gcn, vp1",
    );
    refused_whole(
        "[program]\nisa = 'tesla'\nchip = 'gf100'\n",
        "t.toml:3: program.chip: \"gf100\" is no tesla chip; allowed are g80, g84, g86, g92, g94, g96, g98, g200, mcp77, mcp79, gt215, gt216, gt218",
    );
    refused_whole(
        "[program]\nisa = 'tesla'\nfile = 'none.bin'\n",
        "t.toml:3: program.file: none.bin cannot be read: no such file; paths are relative to the launch file",
    );
    refused_whole(
        "[program]\nisa = 'tesla'\nsgprs = 4\nfile = 'code.bin'\n",
        "t.toml:3: program.sgprs: tesla has no scalar registers of that kind",
    );
    refused_whole(
        "[program]\nisa = 'tesla'\nformat = 'raw'\nkernel = 'k'\nfile = 'code.bin'\n",
        "t.toml:4: program.kernel: raw code has no symbols; only a container has kernels",
    );
    refused_whole(
        "[program]\nisa = 'tesla'\nregisters = 129\nfile = 'code.bin'\n",
        "t.toml:3: program.registers: is 129, must be an integer from 0 to 128",
    );
}

#[test]
fn containers_say_what_raw_code_needs() {
    refused_whole(
        "[program]\nisa = 'tesla'\nfile = 'a.cubin'\nkernel = 'k'\nregisters = 4\n",
        "t.toml:5: program.registers: only for raw code; the container says it",
    );
}

#[test]
fn bad_launches_are_refused() {
    let launch = |text: &str| format!("[program]\nisa = 'tesla'\nfile = 'code.bin'\n[launch]\n{text}");
    let bad = |text: &str, message: &str| refused_whole(&launch(text), message);
    bad("block = [1, 1, 1]\n", "t.toml:4: launch.grid: missing; the number of blocks in x, y and z");
    bad(
        "grid = [0, 1, 1]\nblock = [1, 1, 1]\n",
        "t.toml:5: launch.grid[0]: is 0, must be an integer from 1 to 65535",
    );
    bad(
        "grid = [65536, 1, 1]\nblock = [1, 1, 1]\n",
        "t.toml:5: launch.grid[0]: is 65536, must be an integer from 1 to 65535",
    );
    bad(
        "grid = [1, 1, 2]\nblock = [1, 1, 1]\n",
        "t.toml:5: launch.grid[2]: is 2, must be an integer from 1 to 1",
    );
    bad(
        "grid = [1, 1, 1]\nblock = [0, 1, 1]\n",
        "t.toml:6: launch.block[0]: is 0, must be an integer from 1 to 512",
    );
    bad(
        "grid = [1, 1, 1]\nblock = [64, 16, 1]\n",
        "t.toml:6: launch.block: has 1024 threads; a tesla block has at most 512",
    );
    bad(
        "grid = [1, 1]\nblock = [1, 1, 1]\n",
        "t.toml:5: launch.grid: has 2 elements, must have three: x, y and z",
    );
    bad("grid = 4\nblock = [1, 1, 1]\n", "t.toml:5: launch.grid: is 4, must be an array of three integers");
    refused_whole(
        "[program]\nisa = 'vp1'\nfile = 'code.bin'\n[launch]\ngrid = [1, 1, 1]\n",
        "t.toml:5: launch.grid: a vp1 launch has only max_steps",
    );
}

#[test]
fn a_file_may_be_longer_than_the_buffer() {
    let file = tesla("[[buffer]]\nname = 'a'\ndata = 'six.bin'\nbytes = 4\n").unwrap();
    assert_eq!((file.buffers[0].bytes, file.buffers[0].data.len()), (4, 4));
}

#[test]
fn bad_buffers_are_refused() {
    refused("[[buffer]]\nbytes = 4\n", "t.toml:8: buffer[0].name: missing; the name that other tables use");
    refused(
        "[[buffer]]\nname = 'a'\n",
        "t.toml:8: buffer[0].bytes: missing; a buffer without initial content needs a size of at least 1",
    );
    refused(
        "[[buffer]]\nname = 'a'\nbytes = 0\n",
        "t.toml:10: buffer[0].bytes: is 0, must be an integer from 1 to 4294967296",
    );
    refused(
        "[[buffer]]\nname = 'a'\nu8 = [1, 2, 3, 4, 5, 6]\nbytes = 4\n",
        "t.toml:8: buffer[0].bytes: is 4, but the initial content has 6 bytes",
    );
    refused(
        "[[buffer]]\nname = 'a'\nu8 = [1]\nu32 = [1]\n",
        "t.toml:10: buffer[0].u8: given beside `u32`; only one of data, u32, i32, f32, f64, u64, u8 is allowed",
    );
    refused(
        "[[buffer]]\nname = 'a'\nu8 = [256]\n",
        "t.toml:10: buffer[0].u8[0]: is 256, must be an integer from 0 to 255",
    );
    refused(
        "[[buffer]]\nname = 'a'\nu32 = [1.5]\n",
        "t.toml:10: buffer[0].u32[0]: is 1.5, must be an integer from 0 to 0xffffffff",
    );
    refused("[[buffer]]\nname = 'a'\nu32 = 5\n", "t.toml:10: buffer[0].u32: is 5, must be a list of numbers");
    refused(
        "[[buffer]]\nname = 'a'\nf32 = ['x']\n",
        "t.toml:10: buffer[0].f32[0]: is \"x\", must be a number",
    );
    refused(
        "[[buffer]]\nname = 'a'\nbytes = 4\naccess = 'w'\n",
        "t.toml:11: buffer[0].access: is \"w\", must be one of rw, r",
    );
    refused(
        "[[buffer]]\nname = 'a'\nbytes = 4\naddress = 0xffff_ffff\n",
        "t.toml:11: buffer[0].address: is 0xffffffff: 4 bytes do not fit below 0x100000000",
    );
    refused(
        "[[buffer]]\nname = 'a'\nbytes = 4096\naddress = 0x1000\n[[buffer]]\nname = 'b'\nbytes = 4096\naddress = 0x1800\n",
        "t.toml:15: buffer[1].address: is 0x1800: overlaps buffer \"a\"",
    );
    refused(
        "[[buffer]]\nname = 'a'\nbytes = 4\n[[buffer]]\nname = 'a'\nbytes = 4\n",
        "t.toml:12: buffer[1].name: a second buffer is called \"a\"",
    );
    refused(
        "[buffer]\nname = 'a'\n",
        "t.toml:8: buffer: is a value of type table, must be an array of tables",
    );
}

#[test]
fn bad_arguments_constants_and_spaces_are_refused() {
    refused(
        "[[arg]]\n",
        "t.toml:8: arg[0]: is empty; needs one of buffer, local, hex, u32, i32, u64, i64, f32, f64, u16, i16, u8, i8",
    );
    refused("[[arg]]\nbuffer = 'a'\n", "t.toml:9: arg[0].buffer: no buffer is called \"a\"; there are none");
    refused("[[arg]]\nu32 = -1\n", "t.toml:9: arg[0].u32: is -1, must be an integer from 0 to 0xffffffff");
    refused(
        "[[arg]]\nu32 = 1\nsize = 8\n",
        "t.toml:10: arg[0].size: only a buffer's pointer has a size, not `u32`",
    );
    refused(
        "[[buffer]]\nname = 'a'\nbytes = 4\n[[arg]]\nbuffer = 'a'\nsize = 6\n",
        "t.toml:13: arg[0].size: is 6, must be 4 or 8",
    );
    refused("[[arg]]\nlocal = 4\n", "t.toml:9: arg[0].local: tesla has no arguments that point to LDS");
    refused(
        "[[arg]]\nhex = '123'\n",
        "t.toml:9: arg[0].hex: must be a string of hexadecimal digits, two a byte",
    );
    refused(
        "[[const]]\nindex = 16\nu8 = [0]\n",
        "t.toml:9: const[0].index: is 16, must be an integer from 0 to 15",
    );
    refused(
        "[[const]]\nindex = 1\n",
        "t.toml:8: const[0]: has no content; needs one of data, u32, i32, f32, f64, u64, u8",
    );
    let buffer = "[[buffer]]\nname = 'a'\nbytes = 64\n";
    refused(
        &format!("{buffer}[[global]]\nindex = 14\nbuffer = 'a'\npitch = 64\n"),
        "t.toml:14: global[0].pitch: only mode tiled2d has it",
    );
    refused(
        &format!("{buffer}[[global]]\nindex = 14\nbuffer = 'a'\nmode = 'tiled2d'\n"),
        "t.toml:11: global[0].pitch: missing; mode tiled2d needs it",
    );
    refused(
        &format!("{buffer}[[global]]\nindex = 1\nbuffer = 'a'\n[[global]]\nindex = 1\nbuffer = 'a'\n"),
        "t.toml:15: global[1].index: space 1 is given twice",
    );
}

#[test]
fn bad_expectations_and_saves_are_refused() {
    let with = |more: &str| format!("[[buffer]]\nname = 'a'\nbytes = 64\n{more}");
    let bad = |more: &str, message: &str| refused(&with(more), message);
    bad("[[expect]]\n", "t.toml:11: expect[0]: is empty; needs one of buffer, register, fault");
    bad(
        "[[expect]]\nbuffer = 'a'\n",
        "t.toml:11: expect[0]: says nothing about the content; needs one of data, u32, i32, f32, f64, u64, u8",
    );
    bad(
        "[[expect]]\nbuffer = 'a'\nf32 = [1]\nmax_ulp = 1\n",
        "t.toml:14: expect[0].max_ulp: only type f32 and f64 have a tolerance",
    );
    bad(
        "[[expect]]\nbuffer = 'a'\ndata = 'six.bin'\ntype = 'u32'\n",
        "t.toml:13: expect[0].data: has 6 bytes, must have a multiple of 4: type is u32",
    );
    bad(
        "[[expect]]\nbuffer = 'a'\nu8 = [1, 2]\noffset = 63\n",
        "t.toml:13: expect[0].u8: has 2 bytes, which at offset 63 reach beyond the 64 of buffer \"a\"",
    );
    bad("[[expect]]\nbuffer = 'a'\nu8 = [1]\npc = 3\n", "t.toml:14: expect[0].pc: does not go with `buffer`");
    bad(
        "[[expect]]\nfault = 'segv'\n",
        "t.toml:12: expect[0].fault: is \"segv\", must be one of memory, illegal, trap, barrier, stack, timeout, texture",
    );
    bad(
        "[[expect]]\nfault = 'trap'\n[[expect]]\nfault = 'stack'\n",
        "t.toml:14: expect[1].fault: a second fault is expected; a run ends with at most one",
    );
    bad("[[expect]]\nregister = 'r1'\n", "t.toml:11: expect[0]: needs `value`, or `values` with one a lane");
    bad(
        "[[expect]]\nbuffer = 'a'\nfault = 'trap'\n",
        "t.toml:13: expect[0].fault: given beside `buffer`; only one of buffer, register, fault is allowed",
    );
    bad(
        "[[save]]\nbuffer = 'a'\nfile = 'a.png'\nwidth = 4\n",
        "t.toml:13: save[0].file: a picture needs width, height and format (one of gray8, rgba8, gray32f, u32, rgba32f)",
    );
    bad(
        "[[save]]\nbuffer = 'a'\nfile = 'a.png'\nwidth = 8\nheight = 8\nformat = 'rgba8'\n",
        "t.toml:13: save[0].file: a picture of 8 by 8 takes 256 bytes, the buffer has 64",
    );
}

/// Damaged launch files are read or refused, each refusal with the file's name; nothing panics.
#[test]
fn mutated_launch_files_do_no_harm() {
    let mut state = 3u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as usize % below
    };
    let cases = corpus::in_folder(&corpus::corpus().join("tesla"), "tesla").unwrap();
    let words: [&[u8]; 14] = [
        b"-1",
        b"0",
        b"0xffffffffffffffff",
        b"99999999999999999999999999999999999999999999",
        b"nan",
        b"-inf",
        b"1e999",
        b"''",
        b"[]",
        b"{}",
        b"[[",
        b"true",
        b"1979-05-27",
        b"\xff",
    ];
    for case in &cases {
        let text = case.files.read(&case.launch).unwrap();
        for _ in 0..100 {
            let mut text = text.clone();
            for _ in 0..=random(3) {
                let at = random(text.len());
                match random(4) {
                    0 => text[at] = random(256) as u8,
                    1 => {
                        text.remove(at);
                    }
                    2 => text.truncate(at + 1),
                    // Another value for a key.
                    _ => {
                        let end = text[at..].iter().position(|&b| b == b'\n').map_or(text.len(), |n| at + n);
                        let value =
                            text[..end].iter().rposition(|&b| b == b'=').map_or(end, |n| n + 1).min(end);
                        text.splice(value..end, words[random(words.len())].iter().copied());
                    }
                }
            }
            if let Ok(text) = String::from_utf8(text)
                && let Err(error) = LaunchFile::parse(&text, &*case.files, Path::new("t.toml"))
            {
                assert!(error.to_string().starts_with("t.toml"), "{error}");
                assert!(!error.reason.is_empty());
            }
        }
    }
    for nested in ["[", "{a=", "[[a.b.c.d]]\n"] {
        assert!(parse(&format!("{TESLA}x = {}", nested.repeat(100_000))).is_err());
    }
}

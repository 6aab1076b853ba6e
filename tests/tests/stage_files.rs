//! Tests launch files of graphics stages: what is read from valid ones, and the messages for invalid ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpjit::launch_file::{FilesInMemory, LaunchFile, StageWork};
use warpjit::session::program_options;
use warpjit_runtime::stage::{ExportTarget, InputPlace, OutputPlace, Per, Quad, Rect, Stage};

fn parse(text: &str) -> Result<LaunchFile, String> {
    let quads = |quads: &[[u32; 4]]| quads.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    let files = BTreeMap::from([
        (PathBuf::from("code.bin"), vec![0; 8]),
        (PathBuf::from("a.cubin"), b"architecture {sm_10}\ncode {\n".to_vec()),
        (PathBuf::from("quads.bin"), quads(&[[0, 0, 0, 15], [2, 4, 1, 6]])),
        (PathBuf::from("odd.bin"), quads(&[[0, 0, 0, 15], [2, 3, 0, 15]])),
        (PathBuf::from("mask.bin"), quads(&[[0, 0, 0, 16]])),
        (PathBuf::from("cut.bin"), vec![0; 24]),
        (PathBuf::from("none.bin"), Vec::new()),
    ]);
    let files = FilesInMemory { files: Arc::new(files), folder: PathBuf::new() };
    LaunchFile::parse(text, &files, Path::new("t.toml")).map_err(|error| error.to_string())
}

/// A file of a program and a launch, with a buffer for outputs, and more.
fn text(isa: &str, launch: &str, more: &str) -> String {
    let chip = match isa {
        "fermi" => "gf100",
        "gcn" => "tahiti",
        _ => "g80",
    };
    format!(
        "[program]\nisa = '{isa}'\nchip = '{chip}'\nfile = 'code.bin'\nformat = 'raw'\nregisters = 16\n\
         [launch]\n{launch}\n[[buffer]]\nname = 'out'\nbytes = 64\n[[buffer]]\nname = 'b'\nbytes = 64\n{more}"
    )
}

/// The error without file and line.
#[track_caller]
fn refused(isa: &str, launch: &str, more: &str, message: &str) {
    let text = text(isa, launch, more);
    let error = parse(&text).expect_err(&text);
    let (_, rest) = error.strip_prefix("t.toml:").expect("the file").split_once(": ").expect("the line");
    assert_eq!(rest, message, "for: {text}");
}

const VERTEX: &str = "type = 'vertex'\ncount = 2";
const GEOMETRY: &str = "type = 'geometry'\ncount = 2\nvertices = 3\nmax_vertices = 2";
const CONTROL: &str = "type = 'tess_control'\ncount = 2\nvertices = 1\ninvocations = 2";
const EVAL: &str = "type = 'tess_eval'\ncount = 2\nvertices = 1\npoints = 2";
const FRAGMENT: &str = "type = 'fragment'\n[fragments]\nrect = [0, 0, 2, 4]";

#[test]
fn rows_are_read() {
    let file = parse(&text(
        "fermi",
        "type = 'geometry'\ncount = 2\nvertices = 3\nmax_vertices = 1\ninvocations = 2\nstreams = 3",
        "[[input]]\nat = 0x70\nwords = 2\nper = 'vertex'\nf32 = [0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]\n\
         [[input]]\nat = 0x60\nwords = 1\nper = 'primitive'\nu32 = [1, 2]\n\
         [[output]]\nat = 0x70\nwords = 4\nbuffer = 'out'\n[[output]]\nemitted = 'b'\n",
    ))
    .unwrap();
    let stage = file.stage.as_ref().unwrap();
    assert_eq!(file.launch.stage, Stage::Geometry);
    assert!(matches!(stage.work, StageWork::Count(2, 1)));
    assert_eq!((stage.vertices, stage.invocations, stage.max_vertices, stage.streams), (3, 2, 1, 3));
    assert_eq!(stage.inputs[0].data.len(), 48);
    assert_eq!((stage.outputs.rows[0].buffer, stage.outputs.emitted), (0, Some(1)));
    let interface = program_options(&file).stage.unwrap();
    assert_eq!((interface.stage, interface.inputs[1].per), (Stage::Geometry, Per::Primitive));
    assert_eq!(interface.streams, 3);
    assert_eq!(interface.inputs[0].place, InputPlace::Address(0x70));

    let file = parse(&text(
        "gcn",
        "type = 'fragment'",
        "[fragments]\nquads = 'quads.bin'\nimage = [0, 0, 4, 6]\n\
         [[input]]\nattribute = 1\nwords = 1\nper = 'primitive'\nf32 = [0, 1, 2, 3, 4, 5]\n\
         [[input]]\nregister = 'v2'\nwords = 1\nper = 'launch'\nu32 = [9]\n\
         [[output]]\nexport = 'mrt1'\nwords = 4\nbuffer = 'big'\nformat = 'f16'\n\
         [[output]]\ncoverage = 'out'\n[[buffer]]\nname = 'big'\nbytes = 384\n",
    ))
    .unwrap();
    let stage = file.stage.as_ref().unwrap();
    let StageWork::Quads(quads, image) = &stage.work else { panic!() };
    assert_eq!(quads[1], Quad { x: 2, y: 4, primitive: 1, mask: 6 });
    assert_eq!(*image, Some(Rect { x: 0, y: 0, width: 4, height: 6 }));
    assert_eq!(stage.inputs[0].place, InputPlace::Attribute(1));
    assert_eq!(stage.inputs[1].place, InputPlace::Register(2));
    assert_eq!(stage.outputs.rows[0].place, OutputPlace::Export(ExportTarget::Mrt(1), true));
    assert_eq!(stage.outputs.coverage, Some(0));

    let patches = "[[output]]\nat = 0\nwords = 1\nbuffer = 'out'\n\
                   [[output]]\nat = 0\nwords = 1\nper = 'patch'\nbuffer = 'b'\n";
    let file = parse(&text("fermi", CONTROL, patches)).unwrap();
    assert_eq!(file.stage.unwrap().outputs.rows[1].place, OutputPlace::Patch(0));
    let spaces = "[[input]]\nat = 0\nwords = 1\nper = 'patch'\nu32 = [1, 2]\n\
                  [[input]]\nat = 0\nwords = 1\nper = 'point'\nu32 = [1, 2, 3, 4]\n\
                  [[input]]\nat = 0\nwords = 1\nper = 'vertex'\nu32 = [1, 2]\n";
    assert_eq!(parse(&text("fermi", EVAL, spaces)).unwrap().stage.unwrap().inputs.len(), 3);
}

#[test]
fn segments_and_banks_are_read() {
    let with = |isa: &str, program: &str, launch: &str| {
        let launch = format!("grid = [1, 1, 1]\nblock = [32, 1, 1]\n{launch}");
        parse(&text(isa, &launch, "").replace("format = 'raw'\n", &format!("format = 'raw'\n{program}")))
    };
    let file = with("fermi", "base = 0x1000\n", "c0 = 'given'").unwrap();
    let options = program_options(&file);
    assert_eq!((options.base, options.entry, options.c0_given), (0x1000, 0x1000, true));
    let file = with("tesla", "base = 0x1000\nentry = 0x1004\n", "").unwrap();
    let options = program_options(&file);
    assert_eq!((options.base, options.entry, options.c0_given), (0x1000, 0x1004, false));
    let error = |isa, program, launch| with(isa, program, launch).unwrap_err();
    assert!(error("tesla", "", "c0 = 'given'").ends_with("launch.c0: only fermi launches write into c0[]"));
    assert!(error("fermi", "", "c0 = 'no'").ends_with("is \"no\", must be one of launch, given"));
    assert!(
        error("gcn", "base = 4\n", "")
            .ends_with("program.base: code of gcn has no segment that addresses count in")
    );
    let beyond = "program.base: is 0xfffffff9: 8 bytes of code do not fit below 2^32";
    assert!(error("tesla", "base = 0xfffffff9\n", "").ends_with(beyond));
}

#[test]
fn launches_of_other_stages_have_other_keys() {
    let bad = |launch: &str, message: &str| refused("fermi", launch, "", message);
    bad("type = 'vertex'", "launch.count: missing; the number of vertices");
    bad("type = 'vertex'\ncount = 0", "launch.count: is 0, must be an integer from 1 to 0xffffffff");
    bad(
        &format!("{VERTEX}\ngrid = [1, 1, 1]"),
        "launch.grid: a vertex launch has none; it runs over a batch",
    );
    bad(&format!("{VERTEX}\nvertices = 3"), "launch.vertices: a vertex launch has none");
    bad(&format!("{VERTEX}\ninvocations = 3"), "launch.invocations: a vertex launch has none");
    bad(&format!("{VERTEX}\npoints = 3"), "launch.points: a vertex launch has none");
    bad(&format!("{VERTEX}\nmax_vertices = 3"), "launch.max_vertices: a vertex launch has none");
    bad(&format!("{VERTEX}\nstreams = 2"), "launch.streams: a vertex launch has none");
    bad(&format!("{GEOMETRY}\nstreams = 5"), "launch.streams: is 5, must be an integer from 1 to 4");
    refused("tesla", &format!("{GEOMETRY}\nstreams = 2"), "", "launch.streams: a geometry launch has none");
    bad(&format!("{VERTEX}\nc0 = 'given'"), "launch.c0: graphics launches write nothing into c0[] as it is");
    bad(
        "type = 'geometry'\ncount = 1",
        "launch.vertices: missing; the input vertices of a primitive or patch",
    );
    bad(
        "type = 'tess_control'\ncount = 1\nvertices = 3",
        "launch.invocations: missing; the threads of a patch",
    );
    bad("type = 'tess_eval'\ncount = 1\nvertices = 3", "launch.points: missing; the points of a patch");
    bad(
        "type = 'geometry'\ncount = 0xffffffff\nvertices = 1\nmax_vertices = 2",
        "launch.count: is 4294967295, with 2 rows each: more than 4294967295 in all",
    );
    bad(
        "type = 'fragment'\ncount = 3\n[fragments]\nrect = [0, 0, 2, 2]",
        "launch.count: a fragment launch has [fragments] instead",
    );
    bad(&format!("{VERTEX}\n[fragments]\nrect = [0, 0, 2, 2]"), "fragments: only fragment launches have it");
    let compute = "grid = [1, 1, 1]\nblock = [32, 1, 1]";
    bad(&format!("{compute}\ncount = 1"), "launch.count: only graphics stages have it, which `type` names");
    bad(&format!("{compute}\n[[input]]\nat = 0"), "input[0]: only launches of graphics stages have it");
    bad(&format!("{compute}\n[[output]]\nat = 0"), "output[0]: only launches of graphics stages have it");
    bad(&format!("{VERTEX}\n[[arg]]\nu32 = 1"), "arg[0]: vertex programs take no arguments");
    refused(
        "tesla",
        &format!("{GEOMETRY}\ninvocations = 2"),
        "",
        "launch.invocations: a geometry launch has none",
    );
    refused(
        "tesla",
        "type = 'tess_eval'",
        "",
        "launch.type: is \"tess_eval\", must be one of vertex, geometry, fragment, compute",
    );
    let error = parse(&text("fermi", "type = 'fragment'", "")).unwrap_err();
    assert_eq!(error, "t.toml:1: fragments: missing; it gives the quads of a fragment launch");
    let container = text("tesla", VERTEX, "").replace("format = 'raw'\nregisters = 16\n", "");
    let error = parse(&container.replace("code.bin", "a.cubin")).unwrap_err();
    assert!(error.contains("launch.type: is \"vertex\"; only raw code is of a graphics stage"), "{error}");
    // The words of user data are those of RSRC2; on 1.4 bit 27 is one of their number.
    let rsrc = |rsrc2: &str, launch: &str| {
        let launch = format!("{VERTEX}\nuser_data = {launch}");
        parse(&text("gcn", &launch, "").replace("registers = 16", &format!("rsrc1 = 0\nrsrc2 = {rsrc2}")))
    };
    assert_eq!(rsrc("4", "[1, 2]").unwrap().launch.user_data, [1, 2]);
    let error = rsrc("4", "[1, 2, 3]").unwrap_err();
    assert!(error.contains("launch.user_data: has 3 words; rsrc2 0x4 has 2 user SGPRs"), "{error}");
    let error = parse(&text("gcn", &format!("{VERTEX}\nuser_data = [1]"), "")).unwrap_err();
    assert!(error.contains("launch.user_data: only raw gcn code with `rsrc1` and `rsrc2` has it"), "{error}");
    let error = parse(&text("gcn", &format!("{VERTEX}\ngrid_start = [1, 0, 0]"), "")).unwrap_err();
    assert!(error.contains("launch.grid_start: a vertex launch has none"), "{error}");
}

#[test]
fn bad_fragments_are_refused() {
    let bad = |fragments: &str, message: &str| {
        refused("fermi", &format!("type = 'fragment'\n[fragments]\n{fragments}"), "", message);
    };
    bad("", "fragments: needs `quads` or `rect`");
    bad(
        "quads = 'quads.bin'\nrect = [0, 0, 2, 2]",
        "fragments.rect: given beside `quads`; only one of quads, rect is allowed",
    );
    bad("rect = [0, 0, 2]", "fragments.rect: has 3 numbers, must have four: x, y, width, height");
    bad("rect = [0, 1, 2, 2]", "fragments.rect[1]: is 1, must be even: quads are not cut");
    bad("rect = [0, 0, 0, 2]", "fragments.rect[2]: is 0, must be an integer from 2 to 16777216");
    bad("rect = [0, 0, 3, 2]", "fragments.rect[2]: is 3, must be even: quads are not cut");
    bad("rect = [0, 0, 0x10000, 0x10000]", "fragments.rect: has more than 4294967295 pixels");
    bad(
        "rect = [0, 0, 2, 2]\nimage = [0, 0, 2, 2]",
        "fragments.image: only with `quads`; rows of `rect` are those of the rectangle already",
    );
    bad(
        "quads = 'cut.bin'",
        "fragments.quads: has 24 bytes, must have 16 for each quad, and at least one quad",
    );
    bad(
        "quads = 'none.bin'",
        "fragments.quads: has 0 bytes, must have 16 for each quad, and at least one quad",
    );
    bad("quads = 'odd.bin'", "fragments.quads: quad 1 is at (2, 3); both must be even");
    bad("quads = 'mask.bin'", "fragments.quads: quad 0 has mask 0x10; four bits are pixels");
    bad(
        "quads = 'quads.bin'\nimage = [0, 0, 4, 4]",
        "fragments.quads: quad 1 is at (2, 4), which is not in `image`",
    );
}

#[test]
fn bad_inputs_are_refused() {
    let bad = |isa: &str, launch: &str, input: &str, message: &str| {
        refused(isa, launch, &format!("[[input]]\n{input}"), message);
    };
    let rows = "u32 = [1, 2]";
    bad(
        "fermi",
        VERTEX,
        "words = 1\nper = 'vertex'\nu32 = [1, 2]",
        "input[0]: needs `at`, `register` or `attribute`: where the program finds it",
    );
    bad(
        "fermi",
        VERTEX,
        "at = 0\nper = 'vertex'\nu32 = [1, 2]",
        "input[0].words: missing; the number of words of a row",
    );
    bad(
        "fermi",
        VERTEX,
        "at = 0\nwords = 0\nper = 'vertex'\nu32 = [1, 2]",
        "input[0].words: is 0, must be an integer from 1 to 256",
    );
    bad("fermi", VERTEX, "at = 0\nwords = 1\nu32 = [1, 2]", "input[0].per: missing; what has a row");
    bad(
        "fermi",
        VERTEX,
        "at = 0\nwords = 1\nper = 'pixel'\nu32 = [1, 2]",
        "input[0].per: is \"pixel\", must be one of vertex, launch",
    );
    bad(
        "fermi",
        FRAGMENT,
        "at = 0\nwords = 1\nper = 'vertex'\nu32 = [1, 2]",
        "input[0].per: is \"vertex\", must be one of primitive, launch, pixel, plane",
    );
    bad(
        "fermi",
        GEOMETRY,
        "at = 0\nwords = 1\nper = 'patch'\nu32 = [1, 2]",
        "input[0].per: is \"patch\", must be one of vertex, primitive, launch",
    );
    bad(
        "fermi",
        VERTEX,
        "at = 0\nwords = 1\nper = 'vertex'",
        "input[0]: has no rows; needs one of data, u32, i32, f32, f64, u64, u8",
    );
    bad(
        "fermi",
        VERTEX,
        "at = 0\nwords = 2\nper = 'vertex'\nu32 = [1, 2]",
        "input[0].u32: has 8 bytes, must have 2 rows of 8 bytes: 2 words per vertex",
    );
    bad(
        "fermi",
        VERTEX,
        "at = 0\nwords = 1\nper = 'vertex'\nu8 = [1, 2, 3, 4, 5, 6, 7, 8, 9]",
        "input[0].u8: has 9 bytes, must have 2 rows of 4 bytes: 1 words per vertex",
    );
    bad(
        "fermi",
        FRAGMENT,
        "at = 0\nwords = 1\nper = 'plane'\nf32 = [1, 2]",
        "input[0].f32: has 8 bytes, must have 1 rows of 12 bytes: 1 words per plane",
    );
    bad(
        "fermi",
        FRAGMENT,
        "at = 0\nwords = 1\nper = 'pixel'\nf32 = [1, 2]",
        "input[0].f32: has 8 bytes, must have 8 rows of 4 bytes: 1 words per pixel",
    );
    bad(
        "fermi",
        VERTEX,
        &format!("at = 6\nwords = 1\nper = 'vertex'\n{rows}"),
        "input[0].at: is 0x6, must be a multiple of 4",
    );
    bad(
        "fermi",
        VERTEX,
        &format!("at = 0x3fc\nwords = 2\nper = 'vertex'\n{rows}"),
        "input[0].at: is 0x3fc: 2 words do not fit below 0x400, where the space ends",
    );
    bad(
        "tesla",
        VERTEX,
        &format!("at = 0x200\nwords = 1\nper = 'vertex'\n{rows}"),
        "input[0].at: is 0x200: 1 words do not fit below 0x200, where the space ends",
    );
    bad(
        "tesla",
        GEOMETRY,
        &format!("at = 0x18\nwords = 2\nper = 'primitive'\n{rows}"),
        "input[0].at: is 0x18: 2 words do not fit below 0x1c, where the space ends",
    );
    bad(
        "fermi",
        VERTEX,
        &format!("register = 'v0'\nwords = 1\nper = 'vertex'\n{rows}"),
        "input[0].register: fermi programs have no such inputs, only `at`",
    );
    bad(
        "gcn",
        VERTEX,
        &format!("at = 0\nwords = 1\nper = 'vertex'\n{rows}"),
        "input[0].at: gcn programs have no such inputs, only `register` or `attribute`",
    );
    bad(
        "gcn",
        VERTEX,
        &format!("register = 's0'\nwords = 1\nper = 'vertex'\n{rows}"),
        "input[0].register: is \"s0\", must be a register from v0 to v15",
    );
    bad(
        "gcn",
        VERTEX,
        &format!("register = 'v15'\nwords = 2\nper = 'vertex'\n{rows}"),
        "input[0].register: is \"v15\": 2 words end with v16, the last is v15",
    );
    bad(
        "gcn",
        VERTEX,
        &format!("attribute = 0\nwords = 1\nper = 'vertex'\n{rows}"),
        "input[0].attribute: only fragment programs interpolate",
    );
    bad(
        "gcn",
        FRAGMENT,
        &format!("attribute = 0\nwords = 1\nper = 'launch'\n{rows}"),
        "input[0].per: is \"launch\", must be \"primitive\" for an attribute",
    );
    bad(
        "gcn",
        FRAGMENT,
        &format!("attribute = 0\nwords = 5\nper = 'primitive'\n{rows}"),
        "input[0].words: is 5; an attribute has at most 4",
    );
    bad(
        "gcn",
        FRAGMENT,
        &format!("register = 'v0'\nwords = 1\nper = 'plane'\n{rows}"),
        "input[0].per: is \"plane\"; registers have no planes, give an `attribute`",
    );
    bad(
        "fermi",
        VERTEX,
        &format!("at = 0\nwords = 1\nper = 'vertex'\nbytes = 8\n{rows}"),
        "input[0].bytes: unknown key; allowed are at, attribute, data, f32, f64, i32, per, register, u32, u64, u8, words",
    );
    let twice = format!(
        "at = 0x10\nwords = 1\nper = 'vertex'\n{rows}\n[[input]]\nat = 0xc\nwords = 2\nper = 'launch'\n{rows}"
    );
    bad("fermi", VERTEX, &twice, "input[1].at: shares words with the input at 0x10");
}

#[test]
fn bad_outputs_are_refused() {
    let bad = |isa: &str, launch: &str, output: &str, message: &str| {
        refused(isa, launch, &format!("[[output]]\n{output}"), message);
    };
    bad(
        "fermi",
        VERTEX,
        "words = 1\nbuffer = 'out'",
        "output[0]: needs one of at, register, export, coverage, emitted",
    );
    bad("fermi", VERTEX, "at = 0\nbuffer = 'out'", "output[0].words: missing; the number of words of a row");
    bad(
        "fermi",
        VERTEX,
        "at = 0\nwords = 1",
        "output[0].buffer: missing; the name of the buffer for the rows",
    );
    bad(
        "fermi",
        VERTEX,
        "at = 0\nwords = 1\nbuffer = 'no'",
        "output[0].buffer: no buffer is called \"no\"; there are out, b",
    );
    bad(
        "fermi",
        VERTEX,
        "at = 0\nwords = 9\nbuffer = 'out'",
        "output[0].buffer: buffer \"out\" has 64 bytes, 2 rows of 36 bytes take 72",
    );
    bad(
        "tesla",
        VERTEX,
        "at = 0x1fc\nwords = 2\nbuffer = 'out'",
        "output[0].at: is 0x1fc: 2 words do not fit below 0x200, where the space ends",
    );
    bad(
        "fermi",
        VERTEX,
        "register = 'r0'\nwords = 1\nbuffer = 'out'",
        "output[0].register: vertex programs of fermi have no such outputs, only `at`",
    );
    bad(
        "fermi",
        FRAGMENT,
        "at = 0\nwords = 1\nbuffer = 'out'",
        "output[0].at: fragment programs of fermi have no such outputs, only `register`",
    );
    bad(
        "fermi",
        FRAGMENT,
        "register = 'r14'\nwords = 4\nbuffer = 'out'",
        "output[0].register: is \"r14\": 4 words end with r17, the last is r15",
    );
    bad(
        "gcn",
        VERTEX,
        "at = 0\nwords = 1\nbuffer = 'out'",
        "output[0].at: vertex programs of gcn have no such outputs, only `export`",
    );
    bad(
        "gcn",
        VERTEX,
        "export = 'mrt0'\nwords = 1\nbuffer = 'out'",
        "output[0].export: is \"mrt0\", must be pos0 to pos3 or param0 to param31 in a vertex launch",
    );
    bad(
        "gcn",
        FRAGMENT,
        "export = 'mrt8'\nwords = 1\nbuffer = 'out'",
        "output[0].export: is \"mrt8\", must be mrt0 to mrt7 or mrtz in a fragment launch",
    );
    bad(
        "gcn",
        VERTEX,
        "export = 'pos0'\nwords = 5\nbuffer = 'out'",
        "output[0].export: 5 words; an export has at most 4",
    );
    bad(
        "gcn",
        VERTEX,
        "export = 'pos0'\nwords = 1\nbuffer = 'out'\nformat = 'f32'",
        "output[0].format: is \"f32\", must be one of f16",
    );
    bad(
        "fermi",
        VERTEX,
        "at = 0\nwords = 1\nbuffer = 'out'\nformat = 'f16'",
        "output[0].format: only exports have a format",
    );
    bad(
        "fermi",
        VERTEX,
        "at = 0\nwords = 1\nbuffer = 'out'\nper = 'patch'",
        "output[0].per: only tess_control launches write patch space, `at` an address",
    );
    bad("fermi", VERTEX, "coverage = 'out'", "output[0].coverage: only fragment launches have it");
    bad("fermi", VERTEX, "emitted = 'out'", "output[0].emitted: only geometry launches have it");
    bad("fermi", FRAGMENT, "coverage = 'out'\nwords = 1", "output[0].words: does not go with `coverage`");
    bad(
        "fermi",
        FRAGMENT,
        "coverage = 'out'\n[[output]]\ncoverage = 'b'",
        "output[1].coverage: given a second time",
    );
    let large = "type = 'fragment'\n[fragments]\nrect = [0, 0, 10, 8]";
    bad(
        "fermi",
        large,
        "coverage = 'out'",
        "output[0].coverage: buffer \"out\" has 64 bytes, 80 bytes for pixels take 80",
    );
    let many = "type = 'geometry'\ncount = 6\nvertices = 3\nmax_vertices = 2";
    bad(
        "fermi",
        many,
        "emitted = 'out'",
        "output[0].emitted: buffer \"out\" has 64 bytes, counts and flags of 6 threads take 72",
    );
    let two = |a: &str, b: &str| {
        format!("{a}\nwords = 2\nbuffer = 'out'\n[[output]]\n{b}\nwords = 2\nbuffer = 'b'")
    };
    bad(
        "fermi",
        VERTEX,
        &two("at = 0", "at = 4"),
        "output[1].at: shares words with the output of buffer \"out\"",
    );
    bad(
        "gcn",
        VERTEX,
        &two("export = 'pos1'", "export = 'pos1'"),
        "output[1].export: shares words with the output of buffer \"out\"",
    );
    let one = two("at = 0", "at = 8").replace("'b'", "'out'");
    bad("fermi", VERTEX, &one, "output[1].buffer: buffer \"out\" has the rows of another output");
}

const COMPUTE: &str = "grid = [1, 1, 1]\nblock = [32, 1, 1]";

#[test]
fn textures_are_read() {
    let entry = "[1, 2, 3, 4, 5, 6, 7, 8]";
    let more = format!(
        "[[texture]]\nslot = 3\nwords = {entry}\n[[sampler]]\nslot = 1\nwords = {entry}\n\
         [textures]\ntic = 'b'\ntsc = 'out'\n[[bind]]\ntexture = 0\ntic = 5\n[[bind]]\nsampler = 0\ntsc = 2\n"
    );
    for isa in ["tesla", "fermi"] {
        let textures = parse(&text(isa, COMPUTE, &more)).unwrap().textures;
        assert_eq!(textures.headers, [(3, [1, 2, 3, 4, 5, 6, 7, 8])]);
        assert_eq!(textures.samplers, [(1, [1, 2, 3, 4, 5, 6, 7, 8])]);
        assert_eq!((textures.header_table, textures.sampler_table), (Some(1), Some(0)));
        assert_eq!((textures.texture_bindings, textures.sampler_bindings), (vec![(0, 5)], vec![(0, 2)]));
    }
    let surface = "[[image]]\nslot = 2\nwords = [1, 2, 3, 4, 5, 6]\n";
    let textures = parse(&text("fermi", COMPUTE, surface)).unwrap().textures;
    assert_eq!(textures.surfaces, [(2, [1, 2, 3, 4, 5, 6, 0, 0])]);
    let handles = text("fermi", COMPUTE, "[textures]\nhandles = 7\n").replace("gf100", "gk104");
    let file = parse(&handles).unwrap();
    assert_eq!((file.textures.handles, program_options(&file).texture_handles), (Some(7), Some(7)));
    let words = |n: u32| format!("{:?}", (0..n).collect::<Vec<_>>());
    let images = format!(
        "[images]\ntile_modes = {}\nmacrotile_modes = {}\ngb_addr_config = 0x12\nborder_colors = 'b'\n",
        words(32),
        words(16)
    );
    let textures = parse(&text("gcn", COMPUTE, &images)).unwrap().textures;
    assert_eq!(textures.tile_modes.unwrap()[31], 31);
    assert_eq!(textures.macrotile_modes.unwrap()[15], 15);
    assert_eq!((textures.address_config, textures.border_colors), (Some(0x12), Some(1)));
}

#[test]
fn bad_textures_are_refused() {
    let bad = |isa: &str, more: &str, message: &str| refused(isa, COMPUTE, more, message);
    let entry = "words = [0, 0, 0, 0, 0, 0, 0, 0]";
    bad("gcn", &format!("[[texture]]\nslot = 0\n{entry}"), "texture[0]: gcn has no such tables");
    bad("gcn", "[textures]\ntic = 'b'", "textures: gcn has no such tables");
    bad("fermi", "[images]\ngb_addr_config = 0", "images: fermi has no such registers, only gcn");
    bad("tesla", "[[image]]\nslot = 0", "image[0]: only chips from gf100 to gf119 have such surfaces");
    bad("fermi", "[[texture]]\nslot = 0", "texture[0].words: missing; the 8 words of the entry");
    bad(
        "fermi",
        &format!("[[texture]]\n{entry}"),
        "texture[0].slot: missing; the number that instructions name",
    );
    bad("fermi", "[[texture]]\nslot = 0\nwords = [1]", "texture[0].words: has 1 words, must have 8");
    bad(
        "fermi",
        &format!("[[image]]\nslot = 8\n{entry}"),
        "image[0].slot: is 8, must be an integer from 0 to 7",
    );
    bad("fermi", &format!("[[image]]\nslot = 7\n{entry}"), "image[0].words: has 8 words, must have 6");
    let twice = format!("[[sampler]]\nslot = 1\n{entry}\n[[sampler]]\nslot = 1\n{entry}");
    bad("fermi", &twice, "sampler[1].slot: slot 1 is given twice");
    bad(
        "fermi",
        "[textures]\nhandles = 3",
        "textures.handles: only chips from gk104 on have texture handles",
    );
    bad("fermi", "[textures]\ntic = 'no'", "textures.tic: no buffer is called \"no\"; there are out, b");
    bad("fermi", "[[bind]]\ntic = 0", "bind[0]: needs `texture` with `tic`, or `sampler` with `tsc`");
    bad(
        "fermi",
        "[[bind]]\ntexture = 0\ntic = 0",
        "bind[0].texture: there is no table; [textures] names none as `tic`",
    );
    bad(
        "fermi",
        "[textures]\ntsc = 'b'\n[[bind]]\nsampler = 0\ntic = 0",
        "bind[0].tic: does not go with `sampler`",
    );
    let both =
        format!("[[texture]]\nslot = 1\n{entry}\n[textures]\ntic = 'b'\n[[bind]]\ntexture = 1\ntic = 0");
    bad("fermi", &both, "bind[0].texture: slot 1 is given twice");
    bad("gcn", "[images]\ntile_modes = [1]", "images.tile_modes: has 1 words, must have 32");
    bad("gcn", "[[expect]]\nfault = 'memory'\nslot = 1", "expect[0].slot: only a texture fault has one");
    assert!(parse(&text("fermi", COMPUTE, "[[expect]]\nfault = 'texture'\nslot = 1\npc = 8")).is_ok());
    bad(
        "fermi",
        "[[save]]\nbuffer = 'out'\nfile = 'a.png'\nwidth = 4\nheight = 2\nformat = 'rgba32f'",
        "save[0].file: a picture of 4 by 2 takes 128 bytes, the buffer has 64",
    );
}

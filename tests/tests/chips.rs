//! Tests names of chips: different spellings of one chip run the same; instructions that only some chips have are `illegal` on
//! the others.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use warpjit::launch_file::{FilesInMemory, LaunchFile};
use warpjit_frontend::gcn::assemble;
use warpjit_frontend::{Chip, gcn};
use warpjit_runtime::{Config, Engine, FaultKind, Isa, Launch, Program, ProgramOptions, Report, Tier};

/// Runs raw code of one wave on a chip of that name, with some registers set, and gives what it did.
fn run(chip: &str, code: &[u8], registers: &[(&str, u32)]) -> Report {
    let options = ProgramOptions::new(Isa::Gcn)
        .raw(true)
        .chip(Some(Isa::Gcn.chip(chip).unwrap()))
        .registers(Some(8))
        .sgprs(Some(16));
    let program = Program::load(code, &options).unwrap();
    let launch = Launch::default()
        .grid([1; 3])
        .block([64, 1, 1])
        .registers(registers.iter().map(|&(name, value)| (name.into(), vec![value.into()])).collect())
        .capture_registers(true);
    let run = |tier| {
        let engine = Engine::new(Config::default().tier(tier)).unwrap();
        engine.run(&program, &engine.memory().unwrap(), &launch).unwrap()
    };
    let (interpreted, compiled) = (run(Tier::Interp), run(Tier::Jit));
    assert_eq!(interpreted.registers, compiled.registers);
    interpreted
}

/// `a * a - c`, whose product has more bits than a float: fused it is 2^-24, rounded twice it is 0.
#[test]
fn mixed_multiply_adds_are_fused_on_a_chip_however_it_is_written() {
    let (a, c) = (1.0f32 + 2f32.powi(-12), 1.0f32 + 2f32.powi(-11));
    let fused = "v_fma_mix_f32 v0, v1, v1, v2\ns_endpgm\n";
    let code = assemble(fused, gcn::Chip::parse("gfx906").unwrap()).unwrap().code;
    let registers = [("v1", a.to_bits()), ("v2", (-c).to_bits())];
    let result = |chip: &str| f32::from_bits(run(chip, &code, &registers).registers["v0"][17] as u32);
    for chip in [
        "gfx906",
        "gfx906:xnack-",
        "gfx906:sramecc+:xnack-",
        "Vega20",
        "VEGA20",
        "amdgcn-amd-amdhsa--gfx906",
        "Radeon VII",
        "gfx904",
        "vega12",
        "gfx907",
    ] {
        assert_eq!(result(chip), 2f32.powi(-24), "{chip}");
    }
    for chip in ["gfx900", "gfx900:xnack+", "Vega10", "gfx902", "gfx90c", "RX Vega 64"] {
        assert_eq!(result(chip), 0.0, "{chip}");
    }
}

/// Signs and halves of the sources, against exact products of small numbers.
#[test]
fn sources_of_mixed_multiply_adds() {
    // Halves of v1: 3 below, -2 above. Of v2: -0.5 below, 8 above.
    let registers = [("v1", 0xc000_4200), ("v2", 0x4800_b800), ("v3", (-100f32).to_bits())];
    for (sources, wanted) in [
        ("v1, v2, v3 op_sel_hi:[1,1,0]", 3.0 * -0.5 - 100.0),
        ("-v1, v2, v3 op_sel_hi:[1,1,0]", -3.0 * -0.5 - 100.0),
        ("v1, v2, -v3 op_sel_hi:[1,1,0]", 3.0 * -0.5 + 100.0),
        ("v1, |v2|, |v3| op_sel_hi:[1,1,0]", 3.0 * 0.5 + 100.0),
        ("-|v1|, v2, -|v3| op_sel:[1,1,0] op_sel_hi:[1,1,0]", -2.0 * 8.0 - 100.0),
        ("v3, v2, -v1 op_sel:[0,1,1] op_sel_hi:[0,1,1]", -100.0 * 8.0 + 2.0),
    ] {
        for (chip, name) in [("gfx900", "v_mad_mix_f32"), ("gfx906", "v_fma_mix_f32")] {
            let code =
                assemble(&format!("{name} v0, {sources}\ns_endpgm\n"), gcn::Chip::parse(chip).unwrap());
            let report = run(chip, &code.unwrap().code, &registers);
            assert_eq!(f32::from_bits(report.registers["v0"][5] as u32), wanted, "{chip} {sources}");
        }
    }
}

/// Listings and assemblers call the instruction what it is on the chip.
#[test]
fn rows_of_chips() {
    let target = |chip: &str| Chip::parse(chip).unwrap();
    let listing = |chip: &str, code: &[u8]| target(chip).target().listing(code, 0, Default::default());
    let code = |chip: &str, text: &str| target(chip).target().assemble(text, Default::default());
    let fused = "v_fma_mixhi_f16 v0, v1, v2, v3\n";
    let twice = "v_mad_mixhi_f16 v0, v1, v2, v3\n";
    let words = code("GFX906:xnack-", fused).unwrap();
    assert_eq!(code("gfx900", twice).unwrap(), words);
    assert!(listing("vega12", &words).contains(fused.trim()), "{}", listing("vega12", &words));
    assert!(listing("raven", &words).contains(twice.trim()), "{}", listing("raven", &words));
    let error = code("gfx900", fused).unwrap_err().to_string();
    assert_eq!(error, "1:1: vega10 has no `v_fma_mixhi_f16`; vega12 has");
    let error = code("vega12", "v_dot4_i32_i8 v0, v1, v2, v3\n").unwrap_err().to_string();
    assert_eq!(error, "1:1: vega12 has no `v_dot4_i32_i8`; vega20 has");
}

/// What gfx906 added is undefined on others.
#[test]
fn additions_of_one_chip() {
    let source = "v_dot4_u32_u8 v0, v1, v2, v3\nv_fmac_f32_e32 v4, v1, v2\ns_endpgm\n";
    let vega20 = gcn::Chip::parse("vega20").unwrap();
    let code = assemble(source, vega20).unwrap().code;
    let registers = [("v1", 0x0102_0304), ("v2", 0x0506_0708), ("v3", 9)];
    let report = run("gfx906", &code, &registers);
    assert_eq!(report.fault, None);
    assert_eq!(report.registers["v0"][0], 5 + 12 + 21 + 32 + 9);
    for chip in ["gfx900", "gfx904", "renoir"] {
        let fault = run(chip, &code, &registers).fault.unwrap();
        assert_eq!((fault.kind, fault.pc, fault.bytes.len()), (FaultKind::Illegal, 0, 8), "{chip}");
    }
}

/// Launch files know every name that the library knows.
#[test]
fn launch_files_know_all_names() {
    let chip = |isa: &str, chip: &str| {
        let text = format!(
            "[program]\nisa = '{isa}'\nchip = '{chip}'\nfile = 'a.bin'\nformat = 'raw'\n\
             [launch]\ngrid = [1, 1, 1]\nblock = [1, 1, 1]\n"
        );
        let files = BTreeMap::from([("a.bin".into(), vec![0u8; 8])]);
        let files = FilesInMemory { files: Arc::new(files), folder: PathBuf::new() };
        LaunchFile::parse(&text, &files, "a.toml".as_ref()).map(|file| file.program.chip.unwrap().name())
    };
    assert_eq!(chip("tesla", "sm_11").unwrap(), "g84");
    assert_eq!(chip("tesla", "GTX 280").unwrap(), "g200");
    assert_eq!(chip("fermi", "SM_21").unwrap(), "gf104");
    assert_eq!(chip("gcn", "Ellesmere").unwrap(), "polaris10");
    assert_eq!(chip("gcn", "liverpool").unwrap(), "liverpool");
    assert_eq!(chip("gcn", "gfx906:xnack-").unwrap(), "vega20");
    assert!(chip("gcn", "gfx1030").is_err());
    assert!(chip("tesla", "sm_20").is_err());
}

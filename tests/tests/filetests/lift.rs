//! `test lift` and `test entry`: assembles code of any instruction set and lifts it. Each topic of each lifter must have a fixture.

use std::fs;
use std::path::Path;

use libtest_mimic::Failed;
use warpjit_frontend::container;
use warpjit_frontend::image::CodeOptions;
use warpjit_frontend::stage::{ExportTarget, InputPlace, OutputPlace, Per, StageInput, StageOutput};
use warpjit_frontend::{Chip, Isa, Stage, StageInterface};
use warpjit_ir::{Function, Meter, verify};

/// Lifts raw code. After the chip and the registers come the stage of a graphics program, its inputs and its outputs: `fragment
/// in=0x80:4:plane out=r0:4`. A program without a stage is for compute.
pub fn lift(input: &str, chip: &str, registers: u32, stage: &[&str]) -> Result<Function, Failed> {
    let chip = Chip::parse(chip).ok_or("no such chip")?;
    let interface = match stage {
        [] => None,
        [stage, places @ ..] => Some(interface(stage, places)?),
    };
    let stage = interface.as_ref().map_or(Stage::Compute, |interface| interface.stage);
    let code = chip.target().assemble(input, stage)?;
    let module = container::raw::load(&code, chip.isa())?;
    // All registers of VP1 exist.
    let registers = (chip.isa() != Isa::Vp1).then_some(registers);
    let options = CodeOptions { raw: true, registers, stage: interface, ..CodeOptions::default() };
    let kernel = module.kernel(None)?;
    let mut function = chip.target().lift(&module, kernel, &options, &Meter::unlimited())?.function;
    function.name = "kernel".into();
    verify::verify(&function)?;
    Ok(function)
}

fn interface(stage: &str, places: &[&str]) -> Result<StageInterface, Failed> {
    let stage = Stage::parse(stage).ok_or("no such stage")?;
    let mut interface = StageInterface {
        stage,
        vertices: 3,
        invocations: 1,
        max_vertices: 3,
        streams: 1,
        inputs: Vec::new(),
        outputs: Vec::new(),
        scratch: None,
    };
    for place in places {
        let (direction, rest) = place.split_once('=').ok_or("inputs and outputs have a `=`")?;
        let parts: Vec<&str> = rest.split(':').collect();
        match (direction, parts.as_slice()) {
            ("in", [place, words, per]) => interface.inputs.push(StageInput {
                place: input_place(place)?,
                words: words.parse()?,
                per: match *per {
                    "vertex" => Per::Vertex,
                    "primitive" => Per::Primitive,
                    "patch" => Per::Patch,
                    "pixel" => Per::Pixel,
                    "plane" => Per::Plane,
                    _ => return Err(format!("nothing has an input `{per}`").into()),
                },
            }),
            ("out", [place, words]) => {
                interface.outputs.push(StageOutput { place: output_place(place)?, words: words.parse()? });
            }
            _ => return Err(format!("`{place}` is no input and no output").into()),
        }
    }
    Ok(interface)
}

fn input_place(place: &str) -> Result<InputPlace, Failed> {
    Ok(if let Some(address) = place.strip_prefix("0x") {
        InputPlace::Address(u32::from_str_radix(address, 16)?)
    } else if let Some(number) = place.strip_prefix("attr") {
        InputPlace::Attribute(number.parse()?)
    } else if let Some(number) = place.strip_prefix('v') {
        InputPlace::Register(number.parse()?)
    } else {
        return Err(format!("no input is at `{place}`").into());
    })
}

fn output_place(place: &str) -> Result<OutputPlace, Failed> {
    Ok(if let Some(address) = place.strip_prefix("0x") {
        OutputPlace::Address(u32::from_str_radix(address, 16)?)
    } else if let Some(number) = place.strip_prefix("mrt") {
        OutputPlace::Export(ExportTarget::Mrt(number.parse()?), false)
    } else if let Some(number) = place.strip_prefix("pos") {
        OutputPlace::Export(ExportTarget::Pos(number.parse()?), false)
    } else if let Some(number) = place.strip_prefix('r') {
        OutputPlace::Register(number.parse()?)
    } else {
        return Err(format!("no output is at `{place}`").into());
    })
}

/// Each file of a lifter's topics has a fixture of that name, and each folder of fixtures is an instruction set's.
pub fn every_topic_has_a_fixture() -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut missing = Vec::new();
    let mut topics = 0;
    for isa in Isa::ALL.iter().map(|isa| isa.name().to_ascii_lowercase()) {
        for file in fs::read_dir(root.join(format!("../frontend/src/{isa}/lift/topics")))? {
            let path = file?.path();
            let topic = path.file_stem().and_then(|stem| stem.to_str()).ok_or("a file without a name")?;
            if path.extension().is_none_or(|extension| extension != "rs") || topic == "mod" {
                continue;
            }
            topics += 1;
            if !root.join(format!("filetests/lift/{isa}/{topic}.s")).exists() {
                missing.push(format!("{isa}/{topic}"));
            }
        }
    }
    if topics < 50 {
        return Err(format!("only {topics} topics found").into());
    }
    if !missing.is_empty() {
        return Err(format!("topics without a fixture: {}", missing.join(", ")).into());
    }
    Ok(())
}

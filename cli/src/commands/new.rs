//! `warpjit new`: writes a launch file for a kernel.

use std::fmt::Write;
use std::path::Path;

use warpjit::outcome::Status;
use warpjit_frontend::Isa;
use warpjit_frontend::container::Selection;
use warpjit_frontend::module::{ArgKind, Kernel, KernelArg};

use super::code::Code;
use super::print::print;
use crate::args::{DisasmArgs, NewArgs};

/// Bytes of a buffer whose size nothing says.
const BUFFER_BYTES: u32 = 1 << 20;
/// Bytes of dynamic LDS behind an argument.
const LOCAL_BYTES: u32 = 1024;
/// Threads of a block, if the kernel does not say.
const BLOCK: [u32; 3] = [64, 1, 1];

pub(super) fn new(args: &NewArgs) -> anyhow::Result<Status> {
    let code = Code::load(
        &DisasmArgs {
            file: args.file.clone(),
            chip: args.chip.clone(),
            isa: args.isa.clone(),
            kernel: args.kernel.clone(),
            r#type: None,
            syntax: None,
            raw: args.raw,
            budget: args.budget,
        },
        Selection::All,
    )?;
    let kernel = code.module.kernel(args.kernel.as_deref().filter(|_| code.module.kernels.len() > 1))?;
    print(&launch_file(&args.file, &code, kernel, args.raw))?;
    Ok(Status::Ok)
}

/// A text in TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn launch_file(file: &Path, code: &Code, kernel: &Kernel, raw: bool) -> String {
    let mut text = String::from("# docs/launch-file.md says what may stand here.\n[program]\n");
    let mut line = |line: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{line}");
    };
    let isa = code.chip.isa();
    line(format_args!("isa = {}", quoted(isa.name())));
    line(format_args!("chip = {}", quoted(code.chip.name())));
    line(format_args!("file = {}", quoted(&file.to_string_lossy())));
    if raw {
        line(format_args!("format = \"raw\""));
    }
    let is_raw = kernel.name.is_empty();
    match is_raw {
        false => line(format_args!("kernel = {}", quoted(&kernel.name))),
        true if isa != Isa::Vp1 => line(format_args!("registers = 32 # of a thread; raw code does not say")),
        true => {}
    }
    if isa == Isa::Vp1 {
        return text;
    }
    let [x, y, z] = kernel.code_object.as_ref().and_then(|object| object.block).unwrap_or(BLOCK);
    line(format_args!("\n[launch]\ngrid = [1, 1, 1]\nblock = [{x}, {y}, {z}]"));
    let args = arguments(kernel);
    let buffers = args.iter().enumerate().filter(|(_, arg)| matches!(arg.kind, ArgKind::Global));
    for (number, arg) in buffers {
        line(format_args!("\n[[buffer]]\nname = {}\nbytes = {BUFFER_BYTES}", quoted(&name_of(number, arg))));
    }
    for (number, arg) in args.iter().enumerate() {
        let KernelArg { name, offset, bytes, kind } = arg;
        let called = if name.is_empty() { String::new() } else { format!(" {name:?}") };
        line(format_args!("\n[[arg]] #{called} at {offset:#x}, {bytes} bytes"));
        match kind {
            ArgKind::Global => {
                line(format_args!("buffer = {}\nsize = {bytes}", quoted(&name_of(number, arg))));
            }
            ArgKind::DynamicShared => line(format_args!("local = {LOCAL_BYTES}")),
            ArgKind::Other(what) => {
                line(format_args!("hex = {} # {what}", quoted(&"00".repeat(*bytes as usize))));
            }
            ArgKind::ByValue | ArgKind::Hidden(_) => {
                let ty = match bytes {
                    1 => "u8",
                    2 => "u16",
                    4 => "u32",
                    8 => "u64",
                    _ => "",
                };
                match ty {
                    "" => line(format_args!("hex = {}", quoted(&"00".repeat(*bytes as usize)))),
                    _ => line(format_args!("{ty} = 0")),
                }
            }
        }
    }
    if is_raw && isa == Isa::Gcn {
        line(format_args!(
            "\n# With rsrc1 and rsrc2 in [program] and user_data in [launch] it starts as the hardware starts it."
        ));
    }
    line(format_args!(
        "\n# What is expected, or where a buffer is saved:\n# [[expect]]\n# buffer = \"...\"\n# u32 = [1, 2, 3]\n# [[save]]\n# buffer = \"...\"\n# file = \"result.bin\""
    ));
    text
}

/// The name of a pointer's buffer.
fn name_of(number: usize, arg: &KernelArg) -> String {
    if arg.name.is_empty() { format!("arg{number}") } else { arg.name.clone() }
}

/// The arguments that a launch gives. Of cubins sizes are all that is known: 4 or 8 bytes may be a pointer.
fn arguments(kernel: &Kernel) -> Vec<KernelArg> {
    let by_value = |offset, bytes| KernelArg { name: String::new(), offset, bytes, kind: ArgKind::ByValue };
    match (&kernel.code_object, &kernel.params) {
        (Some(object), _) => match &object.args {
            Some(args) => {
                args.iter().filter(|arg| !matches!(arg.kind, ArgKind::Hidden(_))).cloned().collect()
            }
            None if object.kernarg_bytes > 0 => vec![by_value(0, object.kernarg_bytes)],
            None => Vec::new(),
        },
        (None, Some(params)) => {
            params.params.iter().map(|param| by_value(param.offset, param.bytes)).collect()
        }
        (None, None) => Vec::new(),
    }
}

//! Launch files: TOML files that describe one run of a guest program.
//!
//! A launch file holds the code, the launch, the contents of memory before it, and what memory must hold after it.
//! [`LaunchFile::load`] reads one and checks all that can be checked without the program. Unknown keys, missing files, values out
//! of range and wrong combinations are errors that name the file, the line, the key and what is allowed.
//!
//! | module | what |
//! |---|---|
//! | `reader` | typed access to TOML tables |
//! | `program` | `[program]`, `[launch]`, `[registers]` |
//! | `memory` | `[[buffer]]`, `[[arg]]`, `[[const]]`, `[[global]]`, lists of data |
//! | `outcome` | `[[expect]]`, `[[save]]` |
//! | `stage` | what a launch of a graphics stage runs over, `[fragments]` |
//! | `rows` | `[[input]]`, `[[output]]` |
//! | `textures` | `[[texture]]`, `[[sampler]]`, `[[image]]`, `[textures]`, `[[bind]]`, `[images]` |
//! | `files` | where the named files come from |

mod context;
mod error;
mod files;
mod memory;
mod outcome;
mod program;
mod reader;
mod rows;
mod stage;
mod textures;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

pub use error::LaunchFileError;
pub use files::{Directory, Files, FilesInMemory, read_plain};
pub use memory::{Arg, Buffer, Const, Global, GlobalMode};
pub use outcome::{
    Expect, ExpectBuffer, ExpectFault, ExpectRegister, FaultName, Picture, PictureFormat, Save, Unit,
};
pub use program::{Launch, Program, RegisterInit};
pub use rows::{StageInput, StageOutput, StageOutputs};
pub use stage::{StageLaunch, StageWork};
pub use textures::{Entry, Textures};
pub use warpjit_frontend::Stage;

use warpjit_frontend::CodeSource;

use context::Context;
use error::Result;
use reader::{Source, Table};

/// A launch file, read and checked.
#[derive(Clone, Debug)]
pub struct LaunchFile {
    /// Where it was read from, for messages.
    pub path: PathBuf,
    /// The code.
    pub program: Program,
    /// The size and kind of the launch.
    pub launch: Launch,
    /// What it runs over, if it is of a graphics stage.
    pub stage: Option<StageLaunch>,
    /// Textures, samplers, surfaces.
    pub textures: Textures,
    /// Guest memory.
    pub buffers: Vec<Buffer>,
    /// Kernel arguments in order.
    pub args: Vec<Arg>,
    /// Constant banks bound by the file.
    pub consts: Vec<Const>,
    /// Windows of the `g[]` spaces; empty: all sixteen are the whole address space.
    pub globals: Vec<Global>,
    /// Initial registers.
    pub registers: Vec<RegisterInit>,
    /// What must hold afterwards.
    pub expects: Vec<Expect>,
    /// What is written to files afterwards.
    pub saves: Vec<Save>,
}

/// Memory as it is before the run, as far as buffers have addresses.
impl CodeSource for LaunchFile {
    fn read(&self, address: u64, out: &mut [u8]) -> usize {
        let mut done = 0;
        // One buffer may begin where another one ends.
        while done < out.len() {
            let Some(at) = address.checked_add(done as u64) else { break };
            let inside = self.buffers.iter().find_map(|buffer| {
                let offset = at.checked_sub(buffer.address?)?;
                (offset < buffer.bytes).then_some((buffer, offset))
            });
            let Some((buffer, offset)) = inside else { break };
            let count = (out.len() - done).min((buffer.bytes - offset).try_into().unwrap_or(usize::MAX));
            let given = buffer.data.get(offset as usize..).unwrap_or_default();
            let given = &given[..given.len().min(count)];
            out[done..][..given.len()].copy_from_slice(given);
            out[done + given.len()..done + count].fill(buffer.fill);
            done += count;
        }
        done
    }
}

impl LaunchFile {
    /// Reads the launch file at `path`, and the files it names beside it.
    pub fn load(path: &Path) -> Result<LaunchFile> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let name = path.file_name().unwrap_or(OsStr::new(""));
        LaunchFile::load_from(&Directory(folder.to_path_buf()), Path::new(name), path)
    }

    /// Reads the launch file called `name` in `files`; messages call it `shown`.
    pub fn load_from(files: &dyn Files, name: &Path, shown: &Path) -> Result<LaunchFile> {
        let whole = |reason: String| LaunchFileError {
            file: shown.to_path_buf(),
            line: None,
            key: String::new(),
            reason,
        };
        let bytes = files.read(name).map_err(|e| whole(format!("cannot be read: {e}")))?;
        let text = String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            let advice = format!("`warpjit new {} > launch.toml` writes one", shown.display());
            match e.as_bytes().starts_with(b"\x7fELF") {
                true => whole(format!(
                    "is an ELF file, not a launch file, which is TOML that names the code (docs/launch-file.md); {advice}"
                )),
                false => whole(format!(
                    "is not UTF-8 text (byte {at:#x}); a launch file is TOML that names the code (docs/launch-file.md); {advice}"
                )),
            }
        })?;
        LaunchFile::parse(&text, files, shown)
    }

    /// Reads a launch file from its text; messages call it `shown`.
    pub fn parse(text: &str, files: &dyn Files, shown: &Path) -> Result<LaunchFile> {
        let source = Source { file: shown, text };
        let parsed = DeTable::parse(text).map_err(|e| {
            let reason = format!("not TOML: {}", e.message().replace('\n', "; "));
            source.error(e.span(), "", reason)
        })?;
        let root = Table::new(source, String::new(), 0..0, parsed.get_ref());
        let file = read_root(&root, files, shown)?;
        Ok(file)
    }

    /// Where the code is: the name of its file, or of the launch file with the address.
    pub fn code_place(&self) -> String {
        match &self.program.in_memory {
            None => self.path.with_file_name(&self.program.file).display().to_string(),
            Some(code) => format!("{}: code at {:#x}", self.path.display(), code.address),
        }
    }

    /// The buffer called `name`.
    pub fn buffer(&self, name: &str) -> Option<&Buffer> {
        self.buffers.iter().find(|b| b.name == name)
    }
}

fn read_root(root: &Table<'_>, files: &dyn Files, shown: &Path) -> Result<LaunchFile> {
    // All keys first, so that a misspelt section is named before a key missing from it.
    let program = root.table("program")?;
    let launch = root.table("launch")?;
    let registers = root.table("registers")?;
    let [buffers, args, consts, globals, expects, saves] =
        ["buffer", "arg", "const", "global", "expect", "save"].map(|key| root.tables(key));
    let [inputs, outputs] = ["input", "output"].map(|key| root.tables(key));
    let [textures, samplers, surfaces, binds] =
        ["texture", "sampler", "image", "bind"].map(|key| root.tables(key));
    let [fragments, tables, images] = ["fragments", "textures", "images"].map(|key| root.table(key));
    root.finish()?;

    let table =
        program.ok_or_else(|| root.error_at("program", "missing; every launch file has this table"))?;
    let program = program::read_program(&table, files)?;
    let (isa, rules, has_handles) = (program.isa, program.rules(), program.has_handles());
    let context = Context { files, isa, rules, has_handles };
    let (launch, mut stage) = program::read_launch(launch, root, &program)?;
    let registers = registers.map(|t| program::read_registers(&t, &context)).transpose()?.unwrap_or_default();
    let buffers = memory::read_buffers(&buffers?, &context)?;
    if let Some(code) = &program.in_memory {
        let holds = |buffer: &Buffer| {
            let start = buffer.address?;
            (start..start.saturating_add(buffer.bytes)).contains(&code.address).then_some(())
        };
        if !buffers.list.iter().any(|buffer| holds(buffer).is_some()) {
            return Err(table.error_at("at", format!("no buffer is at {:#x}", code.address)));
        }
        let words = launch.user_data.len();
        if let Some(beyond) = code.known_user_data.iter().find(|&&word| usize::from(word) >= words) {
            let reason = format!("user_data has {words} words, there is no word {beyond}");
            return Err(table.error_at("known_user_data", reason));
        }
    }
    let args = args?;
    if let (Some(arg), Some(stage)) = (args.first(), &stage) {
        return Err(arg.error(format!("{} programs take no arguments", stage.stage.name())));
    }
    let args = memory::read_args(&args, &context, &buffers)?;
    let consts = memory::read_consts(&consts?, &context)?;
    let globals = memory::read_globals(&globals?, &context, &buffers)?;
    let (inputs, outputs, fragments) = (inputs?, outputs?, fragments?);
    match &mut stage {
        None => {
            if let Some(t) = fragments.iter().chain(&inputs).chain(&outputs).next() {
                return Err(t.error("only launches of graphics stages have it"));
            }
        }
        Some(stage) => {
            match (&fragments, stage.stage) {
                (Some(t), Stage::Fragment) => stage.work = stage::read_fragments(t, &context)?,
                (Some(t), _) => return Err(t.error("only fragment launches have it")),
                (None, Stage::Fragment) => {
                    return Err(
                        root.error_at("fragments", "missing; it gives the quads of a fragment launch")
                    );
                }
                (None, _) => {}
            }
            stage.inputs = rows::read_inputs(&inputs, stage, &program, &context)?;
            stage.outputs = rows::read_outputs(&outputs, stage, &program, &buffers)?;
        }
    }
    let textures = textures::TextureTables {
        textures: textures?,
        samplers: samplers?,
        surfaces: surfaces?,
        binds: binds?,
        tables: tables?,
        images: images?,
    };
    let textures = textures.read(&context, &buffers)?;
    let expects = outcome::read_expects(&expects?, &context, &buffers)?;
    let saves = outcome::read_saves(&saves?, &buffers)?;
    Ok(LaunchFile {
        path: shown.to_path_buf(),
        program,
        launch,
        stage,
        textures,
        buffers: buffers.list,
        args,
        consts,
        globals,
        registers,
        expects,
        saves,
    })
}

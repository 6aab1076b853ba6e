//! Reads `[program]`, `[launch]` and `[registers]`.

use std::path::PathBuf;

use warpjit_frontend::container::text::is_text_cubin;
use warpjit_frontend::fermi::chip::Family;
use warpjit_frontend::gcn::abi::{stage_user_words, user_words};
use warpjit_frontend::{Chip, Isa, LaunchRules, Stage};

use super::context::Context;
use super::error::Result;
use super::files::Files;
use super::reader::{Table, Value};
use super::stage::{self, StageLaunch};

/// `[program]`: the code.
#[derive(Clone, Debug)]
pub struct Program {
    /// The instruction set.
    pub isa: Isa,
    /// The chip, where the file names one.
    pub chip: Option<Chip>,
    /// The name of the code's file, relative to the launch file. Empty for code in memory.
    pub file: PathBuf,
    /// Content of that file.
    pub code: Vec<u8>,
    /// Where the code is, if it is in the launch's memory.
    pub in_memory: Option<InMemory>,
    /// `format = "raw"`: do not look for a container.
    pub raw: bool,
    /// Symbol in a container.
    pub kernel: Option<String>,
    /// Raw code of tesla and fermi: address of the first byte in the code segment.
    pub base: u32,
    /// Raw code: byte offset of the first instruction, or its address if there is a base.
    pub entry: Option<u32>,
    /// Raw code: registers per thread.
    pub registers: Option<u32>,
    /// Raw GCN code: scalar registers per wave.
    pub sgprs: Option<u32>,
    /// Raw code: static shared bytes per block.
    pub shared: Option<u32>,
    /// Raw code: local bytes per thread.
    pub local: Option<u32>,
    /// Raw GCN code: COMPUTE_PGM_RSRC1 and COMPUTE_PGM_RSRC2.
    pub rsrc: Option<(u32, u32)>,
}

/// Code that is in a buffer of the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InMemory {
    /// Guest address of the first instruction.
    pub address: u64,
    /// Tesla and Fermi: guest address of the code segment.
    pub segment: Option<u64>,
    /// GCN: which words of user data the program may take for constants.
    pub known_user_data: Vec<u8>,
    /// GCN: guest addresses of functions, to which jumps may lead whose targets are not known.
    pub jump_targets: Vec<u64>,
    /// GCN: the program knows where LDS and scratch are among flat addresses, whatever the chip.
    pub flat_apertures: bool,
    /// GCN: the global data share is a buffer of the launch file.
    pub data_share_given: bool,
}

impl Program {
    /// What a launch of it may say.
    pub fn rules(&self) -> LaunchRules {
        rules(self.isa, self.chip)
    }

    /// Whether the chip's textures have handles, in a const bank.
    pub(super) fn has_handles(&self) -> bool {
        matches!(self.chip, Some(Chip::Fermi(chip)) if chip.family() == Family::Gk104)
    }
}

/// `[launch]`: stage, size and limits.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The stage.
    pub stage: Stage,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Shared bytes per block beyond the program's own.
    pub dynamic_shared: u32,
    /// Warp instructions that one warp may run; 0: no limit.
    pub max_steps: u64,
    /// Raw GCN code with `rsrc2`: coordinates of the first block.
    pub grid_start: [u32; 3],
    /// Raw GCN code with `rsrc2`: threads of the last block along each axis; 0: as many as all others have.
    pub last_block: [u32; 3],
    /// Raw GCN code with `rsrc2`: the first scalar registers.
    pub user_data: Vec<u32>,
    /// Raw GCN code with `rsrc2`: COMPUTE_TMPRING_SIZE.
    pub tmpring_size: Option<u32>,
    /// Fermi: the launch writes nothing into c0[].
    pub c0_given: bool,
    /// GCN: so many of the highest bits of an address are ignored.
    pub ignored_address_bits: u32,
}

/// One entry of `[registers]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterInit {
    /// The register's name.
    pub name: String,
    /// One value for all lanes, or one a lane (or component).
    pub values: Vec<u64>,
}

/// What a launch on a chip may say; of the instruction set's usual chip where none is named.
fn rules(isa: Isa, chip: Option<Chip>) -> LaunchRules {
    chip.unwrap_or(isa.front_end().default_chip()).target().launch_rules()
}

pub(super) fn read_program(t: &Table<'_>, files: &dyn Files) -> Result<Program> {
    let names: Vec<&str> = Isa::ALL.iter().map(|isa| isa.name()).collect();
    let isa = Isa::ALL[t.need("isa", &format!("one of {}", names.join(", ")))?.word(&names)?];
    let front_end = isa.front_end();
    let chip = match t.get("chip") {
        None => None,
        Some(v) => {
            let chip = v.name("the name of a chip")?;
            let found = front_end.parse_chip(chip).ok_or_else(|| {
                let known = front_end.chips().join(", ");
                v.error(format!("{chip:?} is no {isa} chip; allowed are {known}"))
            })?;
            Some(found)
        }
    };
    let in_memory = read_in_memory(t, isa, chip)?;
    let file = match in_memory {
        None => Some(t.need("file", "the name of the file with the code")?),
        Some(_) => None,
    };
    let raw = t.get("format").map(|v| v.word(&["auto", "raw"])).transpose()?.unwrap_or(0) == 1;
    let raw = raw || in_memory.is_some();
    let kernel = t.get("kernel");
    if raw && let Some(kernel) = &kernel {
        return Err(kernel.error("raw code has no symbols; only a container has kernels"));
    }
    let kernel = kernel.map(|v| v.name("the name of a kernel").map(str::to_owned)).transpose()?;
    let number = |key, max| t.get(key).map(|v| v.u32(0, max)).transpose();
    if !matches!(isa, Isa::Tesla | Isa::Fermi) {
        t.refuse(&["base"], &format!("code of {isa} has no segment that addresses count in"))?;
    }
    let base = t.get("base");
    let first = number("base", u32::MAX)?.unwrap_or(0);
    // Without an entry, the first byte.
    let entry = number("entry", u32::MAX)?.or(base.as_ref().map(|_| first));
    let rules = rules(isa, chip);
    let registers = number("registers", rules.max_registers)?;
    if rules.max_sgprs == 0 {
        t.refuse(&["sgprs"], &format!("{isa} has no scalar registers of that kind"))?;
    }
    let sgprs = number("sgprs", rules.max_sgprs)?;
    let shared = number("shared", 1 << 16)?;
    let local = number("local", 1 << 24)?;
    if !rules.has_grid {
        t.refuse(&["registers", "shared", "local"], &format!("{isa} has none"))?;
    }
    if !rules.has_rsrc {
        t.refuse(&["rsrc1", "rsrc2"], &format!("{isa} has no such register"))?;
    }
    let rsrc = match (number("rsrc1", u32::MAX)?, number("rsrc2", u32::MAX)?) {
        (None, None) => None,
        (Some(rsrc1), Some(rsrc2)) => Some((rsrc1, rsrc2)),
        (Some(_), None) => return Err(t.error_at("rsrc2", "missing; rsrc1 and rsrc2 go together")),
        (None, Some(_)) => return Err(t.error_at("rsrc1", "missing; rsrc1 and rsrc2 go together")),
    };
    if rsrc.is_some() {
        t.refuse(&["registers", "sgprs"], "given beside `rsrc1`, which says it")?;
        t.refuse(&["shared"], "given beside `rsrc2`, which says it")?;
    }
    t.finish()?;
    let (file, code) = file.map(|file| read_file(&file, files)).transpose()?.unwrap_or_default();
    if !raw && (code.starts_with(b"\x7fELF") || is_text_cubin(&code)) {
        t.refuse(
            &["base", "entry", "registers", "sgprs", "shared", "local", "rsrc1", "rsrc2"],
            "only for raw code; the container says it",
        )?;
    }
    if let Some(base) = base.filter(|_| u64::from(first) + code.len() as u64 > 1 << 32) {
        return Err(base.error(format!("is {first:#x}: {} bytes of code do not fit below 2^32", code.len())));
    }
    let base = first;
    Ok(Program {
        isa,
        chip,
        file,
        code,
        in_memory,
        raw,
        kernel,
        base,
        entry,
        registers,
        sgprs,
        shared,
        local,
        rsrc,
    })
}

/// What only GCN code in memory has.
const OF_GCN: [&str; 4] = ["known_user_data", "jump_targets", "flat_apertures", "data_share"];

/// `at` and what goes with it.
fn read_in_memory(t: &Table<'_>, isa: Isa, chip: Option<Chip>) -> Result<Option<InMemory>> {
    let Some(at) = t.get("at") else {
        t.refuse(&["segment"], "only for code in memory (`at`)")?;
        t.refuse(&OF_GCN, "only for code in memory (`at`)")?;
        return Ok(None);
    };
    t.refuse(
        &["file", "format", "kernel", "base", "entry"],
        "given beside `at`, which says where the code is",
    )?;
    if isa == Isa::Vp1 {
        return Err(at.error("code of vp1 is not in memory"));
    }
    if chip.is_none() {
        return Err(t.error_at("chip", "missing; code in memory does not say it"));
    }
    match isa {
        Isa::Gcn => t.refuse(&["segment"], "gcn has no code segments")?,
        _ => t.refuse(&OF_GCN, &format!("{isa} has no such thing"))?,
    }
    let address = at.u64()?;
    let segment = t.get("segment").map(|v| v.u64()).transpose()?;
    let known = t.get("known_user_data").map(|v| v.list("a list of numbers of words")).transpose()?;
    let known = known.unwrap_or_default();
    let known_user_data = known.iter().map(|v| Ok(v.u32(0, 31)? as u8)).collect::<Result<_>>()?;
    let targets =
        t.get("jump_targets").map(|v| v.list("a list of addresses")).transpose()?.unwrap_or_default();
    let jump_targets = targets.iter().map(Value::u64).collect::<Result<_>>()?;
    let word = |key, words: [&str; 2]| Ok(t.get(key).map(|v| v.word(&words)).transpose()? == Some(1));
    let flat_apertures = word("flat_apertures", ["unknown", "known"])?;
    let data_share_given = word("data_share", ["launch", "given"])?;
    Ok(Some(InMemory { address, segment, known_user_data, jump_targets, flat_apertures, data_share_given }))
}

/// Name and content of a file named by a key.
pub(super) fn read_file(value: &Value<'_>, files: &dyn Files) -> Result<(PathBuf, Vec<u8>)> {
    let name = PathBuf::from(value.name("the name of a file")?);
    let bytes = files.read(&name).map_err(|e| {
        value.error(format!("{} cannot be read: {e}; paths are relative to the launch file", name.display()))
    })?;
    Ok((name, bytes))
}

pub(super) fn read_launch(
    t: Option<Table<'_>>,
    root: &Table<'_>,
    program: &Program,
) -> Result<(Launch, Option<StageLaunch>)> {
    let isa = program.isa;
    let rules = program.rules();
    // What a launch without a grid has.
    let mut launch = Launch {
        stage: Stage::Compute,
        grid: [1; 3],
        block: [1; 3],
        dynamic_shared: 0,
        max_steps: 0,
        grid_start: [0; 3],
        last_block: [0; 3],
        user_data: Vec::new(),
        tmpring_size: None,
        c0_given: false,
        ignored_address_bits: 0,
    };
    if !rules.has_grid {
        if let Some(t) = t {
            t.refuse(
                &[
                    "type",
                    "grid",
                    "block",
                    "grid_start",
                    "last_block",
                    "dynamic_shared",
                    "user_data",
                    "tmpring_size",
                ],
                &format!("a {isa} launch has only max_steps"),
            )?;
            launch.max_steps = t.get("max_steps").map(|v| v.u64()).transpose()?.unwrap_or(0);
            t.finish()?;
        }
        return Ok((launch, None));
    }
    let t = t.ok_or_else(|| root.error_at("launch", "missing; it gives grid and block"))?;
    let stages = program.isa.front_end().stages();
    let names: Vec<&str> = stages.iter().map(|stage| stage.name()).collect();
    let stage = t.get("type").map(|v| v.word(&names)).transpose()?.map_or(Stage::Compute, |n| stages[n]);
    let ignored_address_bits = match isa {
        Isa::Gcn => t.get("ignored_address_bits").map(|v| v.u32(0, 32)).transpose()?.unwrap_or(0),
        _ => {
            t.refuse(&["ignored_address_bits"], &format!("{isa} has no addresses of 64 bits"))?;
            0
        }
    };
    if stage != Stage::Compute {
        launch.stage = stage;
        launch.ignored_address_bits = ignored_address_bits;
        launch.max_steps = t.get("max_steps").map(|v| v.u64()).transpose()?.unwrap_or(0);
        if let (Some((_, rsrc2)), Some(v)) = (program.rsrc, t.get("user_data")) {
            launch.user_data = user_data(&v, rsrc2, stage_words(program, rsrc2))?;
        }
        let stage = stage::read_stage(&t, stage, program)?;
        t.finish()?;
        return Ok((launch, Some(stage)));
    }
    let grid = t.need("grid", "the number of blocks in x, y and z")?;
    let block = t.need("block", "the number of threads of a block in x, y and z")?;
    let dynamic_shared = t.get("dynamic_shared").map(|v| v.u32(0, 1 << 16)).transpose()?.unwrap_or(0);
    let max_steps = t.get("max_steps").map(|v| v.u64()).transpose()?.unwrap_or(0);
    let places = (t.get("grid_start"), t.get("last_block"));
    let (user_data, tmpring_size) = match program.rsrc {
        Some((_, rsrc2)) => {
            t.refuse(&["dynamic_shared"], "given beside `rsrc2`, which says how much LDS a block has")?;
            let user_data = t
                .get("user_data")
                .map(|v| user_data(&v, rsrc2, user_words(rsrc2)))
                .transpose()?
                .unwrap_or_default();
            (user_data, t.get("tmpring_size").map(|v| v.u32(0, u32::MAX)).transpose()?)
        }
        None => {
            t.refuse(
                &["user_data", "tmpring_size", "grid_start", "last_block"],
                "only raw gcn code with `rsrc1` and `rsrc2` has it",
            )?;
            (Vec::new(), None)
        }
    };
    let c0_given = if isa == Isa::Fermi {
        t.get("c0").map(|v| v.word(&["launch", "given"])).transpose()? == Some(1)
    } else {
        t.refuse(&["c0"], "only fermi launches write into c0[]")?;
        false
    };
    stage::refuse(&t)?;
    t.finish()?;

    let grid = dimensions(&grid, rules.max_grid)?;
    let size = dimensions(&block, rules.max_block)?;
    let threads: u64 = size.iter().map(|&n| u64::from(n)).product();
    if threads > rules.max_threads.into() {
        let most = rules.max_threads;
        return Err(block.error(format!("has {threads} threads; a {isa} block has at most {most}")));
    }
    let most_start = std::array::from_fn(|axis| rules.max_grid[axis] - grid[axis]);
    let grid_start = places.0.map(|v| three(&v, 0, most_start)).transpose()?.unwrap_or_default();
    let last_block = places.1.map(|v| three(&v, 1, size)).transpose()?.unwrap_or_default();
    let launch = Launch {
        stage,
        grid,
        block: size,
        grid_start,
        last_block,
        dynamic_shared,
        max_steps,
        user_data,
        tmpring_size,
        c0_given,
        ignored_address_bits,
    };
    Ok((launch, None))
}

/// The words of user data, no more than `rsrc2` has loaded.
fn user_data(value: &Value<'_>, rsrc2: u32, most: u32) -> Result<Vec<u32>> {
    let list = value.list("a list of words")?;
    let most = most as usize;
    if list.len() > most {
        let given = list.len();
        return Err(value.error(format!("has {given} words; rsrc2 {rsrc2:#x} has {most} user SGPRs")));
    }
    list.iter().map(|v| v.u32(0, u32::MAX)).collect()
}

/// Words of user data of a graphics stage.
fn stage_words(program: &Program, rsrc2: u32) -> u32 {
    match program.chip {
        Some(Chip::Gcn(chip)) => stage_user_words(rsrc2, chip.generation()),
        _ => user_words(rsrc2),
    }
}

fn dimensions(value: &Value<'_>, max: [u32; 3]) -> Result<[u32; 3]> {
    three(value, 1, max)
}

fn three(value: &Value<'_>, least: u32, max: [u32; 3]) -> Result<[u32; 3]> {
    let list = value.list("an array of three integers")?;
    let [x, y, z] = list.as_slice() else {
        return Err(value.error(format!("has {} elements, must have three: x, y and z", list.len())));
    };
    Ok([x.u32(least, max[0])?, y.u32(least, max[1])?, z.u32(least, max[2])?])
}

pub(super) fn read_registers(t: &Table<'_>, context: &Context<'_>) -> Result<Vec<RegisterInit>> {
    let mut registers = Vec::new();
    for (name, value) in t.entries() {
        let values = if value.is_list() {
            let list = value.list("a list")?;
            if list.is_empty() || list.len() > 64 {
                return Err(value.error(format!("has {} values, must have 1 to 64: one a lane", list.len())));
            }
            list.iter().map(|v| register_value(v, context)).collect::<Result<_>>()?
        } else if value.is_str() && !context.rules.has_grid {
            let bytes = hex(&value)?;
            if bytes.len() != 16 {
                return Err(value.error("must have 32 hexadecimal digits, component 0 first"));
            }
            bytes.into_iter().map(u64::from).collect()
        } else {
            vec![register_value(&value, context)?]
        };
        registers.push(RegisterInit { name: name.to_owned(), values });
    }
    Ok(registers)
}

/// A register's value: negative numbers are two's complement of 32 bits.
pub(super) fn register_value(value: &Value<'_>, context: &Context<'_>) -> Result<u64> {
    let max = u64::MAX >> (64 - context.rules.register_bits);
    let n = value.integer(i32::MIN.into(), max.into())?;
    Ok(if n < 0 { u64::from(n as i32 as u32) } else { n as u64 })
}

/// The bytes of a string of hexadecimal digits.
pub(super) fn hex(value: &Value<'_>) -> Result<Vec<u8>> {
    let wanted = "a string of hexadecimal digits, two a byte";
    let text: Vec<u8> = value.str(wanted)?.bytes().filter(|b| !matches!(b, b' ' | b'_')).collect();
    let digit = |b: u8| (b as char).to_digit(16);
    let pair = |p: &[u8]| Some((digit(p[0])? << 4 | digit(*p.get(1)?)?) as u8);
    text.chunks(2)
        .map(pair)
        .collect::<Option<Vec<u8>>>()
        .ok_or_else(|| value.error(format!("must be {wanted}")))
}

//! Prepares a launch file for an engine: loads its program, maps its memory, builds its launch.

use std::ops::Range;
use std::path::{Component, Path};
use std::sync::Arc;

use anyhow::{Context, bail};
use warpjit_frontend::gcn::abi::tmpring;
use warpjit_runtime as runtime;
use warpjit_runtime::{Engine, Memory, Report};

use crate::launch_file::{Arg, Expect, GlobalMode, LaunchFile};
use crate::outcome::Outcome;

/// Called with the number of blocks done, and of all.
pub type Progress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// Bytes of padding that are written at a time.
const PADDING_BYTES: u64 = 1 << 16;

/// A launch file made ready to run.
pub struct Session<'a> {
    file: &'a LaunchFile,
    engine: &'a Engine,
    program: runtime::Program,
    memory: Memory,
    /// Guest address of each buffer, in the order of the file.
    addresses: Vec<u64>,
    /// The buffer that is shared memory, if there is one, and its content after the last run.
    shared: Option<usize>,
    shared_after: Vec<u8>,
    launch: runtime::Launch,
    /// What runs continue, instead of beginning.
    saved: Option<runtime::SavedLaunch>,
}

/// What a launch file says about its program.
pub fn program_options(file: &LaunchFile) -> runtime::ProgramOptions {
    let program = &file.program;
    let in_memory = program.in_memory.as_ref();
    let known = in_memory.map_or(&[][..], |code| &code.known_user_data).iter();
    let known = known.filter_map(|&word| Some((word, *file.launch.user_data.get(usize::from(word))?)));
    runtime::ProgramOptions::new(program.isa)
        .chip(program.chip)
        .raw(program.raw)
        .kernel(program.kernel.clone())
        .entry(program.entry.unwrap_or(0))
        .registers(program.registers)
        .sgprs(program.sgprs)
        .shared(program.shared)
        .local(program.local)
        .rsrc1(program.rsrc.map(|(rsrc1, _)| rsrc1))
        .rsrc2(program.rsrc.map(|(_, rsrc2)| rsrc2))
        .base(program.base)
        .segment(in_memory.and_then(|code| code.segment))
        .known_user_data(known.collect())
        .jump_targets(in_memory.map_or_else(Vec::new, |code| code.jump_targets.clone()))
        .flat_apertures(in_memory.is_some_and(|code| code.flat_apertures))
        .data_share_given(in_memory.is_some_and(|code| code.data_share_given))
        .c0_given(file.launch.c0_given)
        .texture_handles(file.textures.handles)
        .stage(file.stage.as_ref().map(crate::stage::interface))
}

/// Loads the program of a launch file, with the usual budget.
pub fn load_program(file: &LaunchFile) -> anyhow::Result<runtime::Program> {
    load_program_within(file, runtime::Budget::default())
}

/// Loads the program of a launch file.
pub fn load_program_within(file: &LaunchFile, budget: runtime::Budget) -> anyhow::Result<runtime::Program> {
    let options = program_options(file);
    let loaded = match &file.program.in_memory {
        None => runtime::Program::load_within(&file.program.code, &options, budget, None),
        // Raw code does not look like a container by its bytes.
        Some(code) => {
            let options = options.raw(false);
            runtime::Program::load_at_within(file, code.address, &options, budget, None)
        }
    };
    loaded.with_context(|| file.code_place())
}

impl<'a> Session<'a> {
    /// Loads the program within the engine's budget, maps the buffers and fills them.
    pub fn new(file: &'a LaunchFile, engine: &'a Engine) -> anyhow::Result<Session<'a>> {
        Session::with_program(file, engine, load_program_within(file, engine.config().budget)?)
    }

    /// As [`Session::new`], with the program loaded before.
    pub fn with_program(
        file: &'a LaunchFile,
        engine: &'a Engine,
        program: runtime::Program,
    ) -> anyhow::Result<Session<'a>> {
        let whole = || file.path.display().to_string();
        let form = runtime::MemoryOptions::new().ignore_high_bits(file.launch.ignored_address_bits);
        let memory = Memory::with(&form).with_context(whole)?;
        let mut addresses = vec![0; file.buffers.len()];
        // Those with an address first: the others must not be put in their way.
        let name = file.program.rules().shared_buffer;
        let shared = file.buffers.iter().position(|buffer| Some(buffer.name.as_str()) == name);
        let mapped = file.buffers.iter().enumerate().filter(|(index, _)| Some(*index) != shared);
        let (fixed, free): (Vec<_>, Vec<_>) = mapped.partition(|(_, b)| b.address.is_some());
        for (index, buffer) in fixed.into_iter().chain(free) {
            let access =
                if buffer.read_only { runtime::Access::ReadOnly } else { runtime::Access::ReadWrite };
            addresses[index] = memory
                .map(buffer.address, buffer.bytes, access)
                .with_context(|| format!("{}: buffer {:?}", whole(), buffer.name))?;
        }
        let mut launch = make_launch(file, &addresses);
        if let Some(index) = shared {
            let (buffer, most) = (&file.buffers[index], program.image().shared_bytes);
            if buffer.bytes > most.into() {
                bail!("{}: buffer {:?} has {} bytes, there are {most}", whole(), buffer.name, buffer.bytes);
            }
            launch.shared = buffer.data.clone();
            launch.shared.resize(buffer.bytes as usize, buffer.fill);
            launch.capture_shared = true;
        }
        let shared_after = launch.shared.clone();
        let mut session =
            Session { file, engine, program, memory, addresses, shared, shared_after, launch, saved: None };
        session.fill(true)?;
        Ok(session)
    }

    /// Runs only these blocks of the grid, in linear order.
    pub fn set_blocks(&mut self, blocks: Range<u64>) -> anyhow::Result<()> {
        let count = match &self.file.stage {
            None => self.launch.grid.iter().fold(1u64, |count, &n| count.saturating_mul(n.into())),
            Some(stage) => crate::stage::warps(stage, &self.program),
        };
        if blocks.start >= blocks.end || blocks.end > count {
            let what = if self.file.stage.is_some() { "batch has warps" } else { "grid has blocks" };
            bail!("--blocks {}..{}: the {what} 0..{count}", blocks.start, blocks.end);
        }
        self.launch.blocks = Some(blocks);
        Ok(())
    }

    /// Tells `progress` how many blocks are done.
    pub fn set_progress(&mut self, progress: Progress) {
        self.launch.progress = Some(progress);
    }

    /// The program.
    pub fn program(&self) -> &runtime::Program {
        &self.program
    }

    /// Tells nobody any more.
    pub fn clear_progress(&mut self) {
        self.launch.progress = None;
    }

    /// Lets a token end runs early.
    pub fn set_cancel(&mut self, token: runtime::CancelToken) {
        self.launch.cancel = Some(token);
    }

    /// Blocks that a run has, if it is not of a stage.
    pub fn block_count(&self) -> u64 {
        let all = || self.launch.grid.iter().fold(1_u64, |all, &n| all.saturating_mul(n.into()));
        self.launch.blocks.as_ref().map_or_else(all, |blocks| blocks.end - blocks.start)
    }

    /// Lets a token stop runs, so that they can be saved.
    pub fn set_save(&mut self, token: runtime::SaveToken) {
        self.launch.save = Some(token);
    }

    /// Lets runs continue a launch that was saved with its memory, and puts that memory back.
    pub fn set_saved(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let saved = runtime::SavedLaunch::from_bytes(bytes)?;
        saved.restore_memory(&self.memory)?;
        self.saved = Some(saved);
        Ok(())
    }

    /// A launch that a run has stopped, with its memory, as bytes.
    pub fn saved_bytes(&self, saved: &runtime::SavedLaunch) -> anyhow::Result<Vec<u8>> {
        Ok(saved.to_bytes_with(&self.memory)?)
    }

    /// Puts the initial content back into every buffer.
    pub fn restore(&mut self) -> anyhow::Result<()> {
        self.fill(false)
    }

    /// Memory that is `fresh` holds zeros.
    fn fill(&mut self, fresh: bool) -> anyhow::Result<()> {
        for (index, (buffer, &address)) in self.file.buffers.iter().zip(&self.addresses).enumerate() {
            if Some(index) == self.shared {
                continue;
            }
            let write = |memory: &Memory| -> Result<(), runtime::Error> {
                memory.write(address, &buffer.data)?;
                if fresh && buffer.fill == 0 {
                    return Ok(());
                }
                let mut at = buffer.data.len() as u64;
                let padding = vec![buffer.fill; PADDING_BYTES.min(buffer.bytes - at) as usize];
                while at < buffer.bytes {
                    let part = &padding[..(buffer.bytes - at).min(PADDING_BYTES) as usize];
                    memory.write(address + at, part)?;
                    at += PADDING_BYTES;
                }
                Ok(())
            };
            write(&self.memory).with_context(|| format!("buffer {:?}", buffer.name))?;
        }
        Ok(())
    }

    /// Runs the launch once.
    pub fn run(&mut self) -> anyhow::Result<Report> {
        let report = match (&self.file.stage, &self.saved) {
            (None, Some(saved)) => self.engine.resume(&self.program, &self.memory, &self.launch, saved),
            (None, None) => self.engine.run(&self.program, &self.memory, &self.launch),
            (Some(stage), _) => {
                let with = (self.engine, &self.program);
                crate::stage::run(self.file, stage, &self.addresses, with, &self.memory, &self.launch)
            }
        };
        let mut report = report.with_context(|| self.file.path.display().to_string())?;
        self.shared_after = std::mem::take(&mut report.shared);
        Ok(report)
    }

    /// So many bytes at `offset` of the buffer with that index.
    pub fn read(&self, buffer: usize, offset: u64, bytes: usize) -> anyhow::Result<Vec<u8>> {
        let mut data = vec![0; bytes];
        if Some(buffer) == self.shared {
            let there = self.shared_after.get(offset as usize..).unwrap_or_default();
            let there = &there[..there.len().min(bytes)];
            data[..there.len()].copy_from_slice(there);
            return Ok(data);
        }
        self.memory.read(self.addresses[buffer] + offset, &mut data)?;
        Ok(data)
    }

    /// Holds memory, registers and fault against the expectations of the file.
    pub fn check(&self, report: Report) -> anyhow::Result<Outcome> {
        let read = |buffer, offset, bytes| self.read(buffer, offset, bytes);
        let mut outcome = Outcome::check(self.file, report, read)?;
        if let Some(layout) = &self.program.image().stage {
            outcome.missing = layout.missing.clone();
        }
        Ok(outcome)
    }

    /// Writes the files that the launch file's `[[save]]` tables name into `folder`, or beside
    /// the launch file. Nothing is written outside of a `folder`.
    pub fn save(&self, folder: Option<&Path>) -> anyhow::Result<()> {
        let beside = self.file.path.parent().unwrap_or(Path::new(""));
        let leaves = |path: &Path| {
            !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        };
        if let Some(folder) = folder
            && let Some(save) = self.file.saves.iter().find(|save| leaves(&save.file))
        {
            bail!(
                "{}: save.file {} is not in {}",
                self.file.path.display(),
                save.file.display(),
                folder.display()
            );
        }
        for save in &self.file.saves {
            let path = folder.unwrap_or(beside).join(&save.file);
            let data = self.read(save.buffer, 0, self.file.buffers[save.buffer].bytes as usize)?;
            let write = || -> anyhow::Result<()> {
                if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
                    std::fs::create_dir_all(parent)?;
                }
                match save.picture {
                    None => std::fs::write(&path, data)?,
                    Some(picture) => {
                        let mut png = Vec::new();
                        crate::picture::write_png(&mut png, picture, &data)?;
                        std::fs::write(&path, png)?;
                    }
                }
                Ok(())
            };
            write().with_context(|| format!("saving {}", path.display()))?;
        }
        Ok(())
    }
}

fn make_launch(file: &LaunchFile, addresses: &[u64]) -> runtime::Launch {
    let arg = |arg: &Arg| match arg {
        Arg::Buffer { index, size } => {
            let bytes = addresses[*index].to_le_bytes()[..*size].to_vec();
            runtime::Arg { bytes, align: *size, shared: None }
        }
        Arg::Bytes { bytes, align } => runtime::Arg { bytes: bytes.clone(), align: *align, shared: None },
        Arg::Local(bytes) => runtime::Arg::shared(*bytes),
    };
    let global = |g: &crate::launch_file::Global| runtime::GlobalSpace {
        index: g.index,
        address: addresses[g.buffer],
        bytes: file.buffers[g.buffer].bytes,
        mode: match g.mode {
            GlobalMode::Linear => runtime::GlobalMode::Linear,
            GlobalMode::Tiled2d { pitch, width, height, tile_mode } => {
                runtime::GlobalMode::Tiled2d { pitch, width, height, tile_mode }
            }
        },
    };
    runtime::Launch::default()
        .grid(file.launch.grid)
        .block(file.launch.block)
        .grid_start(file.launch.grid_start)
        .last_block(file.launch.last_block)
        .dynamic_shared(file.launch.dynamic_shared)
        .max_steps(file.launch.max_steps)
        .args(file.args.iter().map(arg).collect())
        .consts(file.consts.iter().map(|c| (c.index, c.data.clone())).collect())
        .globals(file.globals.iter().map(global).collect())
        .user_data(file.launch.user_data.clone())
        .scratch_ring(file.launch.tmpring_size.map(tmpring))
        .registers(file.registers.iter().map(|r| (r.name.clone(), r.values.clone())).collect())
        .capture_registers(file.expects.iter().any(|e| matches!(e, Expect::Register(_))))
        .textures(textures(file, addresses))
}

/// What the file says about textures, with the addresses of its tables.
fn textures(file: &LaunchFile, addresses: &[u64]) -> runtime::TextureTables {
    let textures = &file.textures;
    let table = |index: Option<usize>| index.map(|index| (addresses[index], file.buffers[index].bytes));
    runtime::TextureTables {
        textures: textures.headers.clone(),
        samplers: textures.samplers.clone(),
        surfaces: textures.surfaces.clone(),
        header_table: table(textures.header_table),
        sampler_table: table(textures.sampler_table),
        texture_bindings: textures.texture_bindings.clone(),
        sampler_bindings: textures.sampler_bindings.clone(),
        handles: textures.handles,
        tile_modes: textures.tile_modes.clone(),
        macrotile_modes: textures.macrotile_modes.clone(),
        address_config: textures.address_config,
        border_colors: textures.border_colors.map(|index| addresses[index]),
    }
}

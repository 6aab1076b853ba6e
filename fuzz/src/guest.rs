//! A guest: a program with its launch and its memory.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use warpjit_frontend::{Chip, Isa};
use warpjit_runtime::{
    Access, Arg, CancelToken, Engine, Error, GlobalSpace, Launch, Memory, Program, ProgramOptions, Report,
};

use crate::time_limit::TimeLimit;

/// A buffer in guest memory.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its name in launch files.
    pub name: String,
    /// Where it is.
    pub address: u64,
    /// Its contents.
    pub data: Vec<u8>,
    /// Whether the guest may store to it.
    pub writable: bool,
}

/// What must be the same of a fault. docs/design.md, "Faults", says why some are not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Faults {
    /// All of it.
    Exact,
    /// All of it where the same instruction faults. Compiled code runs chunk after chunk: a later instruction may fault first, for a lower
    /// lane. Of straight code.
    ByChunks,
    /// All of it where the same instruction faults. Which one does is chance: several instructions are bad, each for other lanes.
    OfInstruction,
    /// That there is one.
    Any,
}

/// What must be the same in all ways to run a guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Accesses of a warp's lanes to global memory are in lock step. Lanes may meet in memory then.
    pub lockstep: bool,
    /// What must be the same of faults.
    pub faults: Faults,
    /// Memory behind a fault is the same, too.
    pub after_fault: bool,
    /// What is in memory is chance.
    pub racy: bool,
    /// Registers behind the run are compared.
    pub registers: bool,
    /// Shared memory behind the run is compared.
    pub shared: bool,
}

impl Rules {
    /// Faults and memory must be the same, except after a fault: what other lanes did before it is undefined.
    pub const PLAIN: Rules = Rules {
        lockstep: false,
        faults: Faults::Exact,
        after_fault: false,
        racy: false,
        registers: false,
        shared: false,
    };
}

/// A raw program with all that a run of it needs.
#[derive(Clone, Debug)]
pub struct Guest {
    /// The chip.
    pub chip: Chip,
    /// The code.
    pub code: Vec<u8>,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// GCN: scalar registers of a wave.
    pub sgprs: Option<u32>,
    /// Bytes of shared memory.
    pub shared: Option<u32>,
    /// Bytes of local memory of a thread.
    pub local: Option<u32>,
    /// GCN: COMPUTE_PGM_RSRC1 and 2.
    pub rsrc: Option<(u32, u32)>,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// More bytes of shared memory.
    pub dynamic_shared: u32,
    /// Instructions of a warp until it is stopped.
    pub max_steps: u64,
    /// GCN: words of `s0` on.
    pub user_data: Vec<u32>,
    /// Global memory.
    pub buffers: Vec<Buffer>,
    /// Arguments: their bytes, aligned to their number.
    pub args: Vec<Vec<u8>>,
    /// Const banks.
    pub consts: Vec<(u32, Vec<u8>)>,
    /// Windows; none: all show everything.
    pub globals: Vec<GlobalSpace>,
    /// Registers before.
    pub init: Vec<(String, Vec<u64>)>,
    /// What is compared.
    pub rules: Rules,
}

/// What a run has left.
#[derive(Clone, Debug)]
pub struct Left {
    /// The report.
    pub report: Report,
    /// Contents of all buffers.
    pub buffers: Vec<Vec<u8>>,
}

impl Guest {
    /// A program without memory, one warp of it.
    pub fn new(chip: impl Into<Chip>, code: Vec<u8>) -> Guest {
        let chip = chip.into();
        Guest {
            chip,
            code,
            registers: None,
            sgprs: None,
            shared: None,
            local: None,
            rsrc: None,
            grid: [1; 3],
            block: [
                match chip.isa() {
                    Isa::Gcn => 64,
                    Isa::Vp1 => 1,
                    _ => 32,
                },
                1,
                1,
            ],
            dynamic_shared: 0,
            max_steps: 20_000,
            user_data: Vec::new(),
            buffers: Vec::new(),
            args: Vec::new(),
            consts: Vec::new(),
            globals: Vec::new(),
            init: Vec::new(),
            rules: Rules::PLAIN,
        }
    }

    /// Loads the program.
    ///
    /// # Errors
    ///
    /// As [`Program::load`].
    pub fn load(&self) -> Result<Program, Error> {
        let options = ProgramOptions::new(self.chip.isa())
            .raw(true)
            .chip(Some(self.chip))
            .registers(self.registers)
            .sgprs(self.sgprs)
            .shared(self.shared)
            .local(self.local)
            .rsrc1(self.rsrc.map(|(rsrc1, _)| rsrc1))
            .rsrc2(self.rsrc.map(|(_, rsrc2)| rsrc2));
        Program::load(&self.code, &options)
    }

    /// Runs the program, for `limit` at most.
    ///
    /// # Errors
    ///
    /// As [`Memory::map`] and [`Engine::run`].
    pub fn run(&self, program: &Program, engine: &Engine, limit: Duration) -> Result<Left, Error> {
        let memory: Memory = engine.memory()?;
        // VP1's only memory is its data store, which is shared memory.
        let is_vp1 = self.chip.isa() == Isa::Vp1;
        let store = self.buffers.first().filter(|_| is_vp1).map(|buffer| buffer.data.clone());
        for buffer in self.buffers.iter().filter(|_| !is_vp1) {
            let access = if buffer.writable { Access::ReadWrite } else { Access::ReadOnly };
            memory.map(Some(buffer.address), buffer.data.len() as u64, access)?;
            memory.write(buffer.address, &buffer.data)?;
        }
        let arg = |bytes: &Vec<u8>| Arg { bytes: bytes.clone(), align: bytes.len(), shared: None };
        let cancel = CancelToken::new();
        let launch = Launch::default()
            .grid(self.grid)
            .block(self.block)
            .dynamic_shared(self.dynamic_shared)
            .max_steps(self.max_steps)
            .args(self.args.iter().map(arg).collect())
            .consts(self.consts.clone())
            .globals(self.globals.clone())
            .user_data(self.user_data.clone())
            .registers(self.init.clone())
            .capture_registers(self.rules.registers)
            .capture_shared(self.rules.shared || is_vp1)
            .shared(store.unwrap_or_default())
            .cancel(Some(cancel.clone()));
        let report = within(limit, cancel, || engine.run(program, &memory, &launch))?;
        if is_vp1 {
            return Ok(Left { buffers: vec![report.shared.clone()], report });
        }
        let mut buffers = Vec::new();
        for buffer in &self.buffers {
            let mut data = vec![0; buffer.data.len()];
            memory.read(buffer.address, &mut data)?;
            buffers.push(data);
        }
        Ok(Left { report, buffers })
    }

    /// The program as text.
    pub fn listing(&self) -> String {
        match self.chip {
            Chip::Tesla(chip) => warpjit_frontend::tesla::listing(
                &self.code,
                0,
                warpjit_frontend::tesla::Target::compute(chip),
            ),
            Chip::Fermi(chip) => warpjit_frontend::fermi::listing(&self.code, 0, chip),
            Chip::Gcn(chip) => warpjit_frontend::gcn::listing(&self.code, 0, chip),
            Chip::Vp1(chip) => warpjit_frontend::vp1::listing(&self.code, 0, chip),
        }
    }
}

/// Does some work, and cancels it when the limit is reached.
pub fn within<T>(limit: Duration, cancel: CancelToken, work: impl FnOnce() -> T) -> T {
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let limit = TimeLimit::new(std::process::id(), limit);
        while wait.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
            if limit.is_over() {
                cancel.cancel();
                break;
            }
        }
    });
    let result = work();
    drop(done);
    let _ = watch.join();
    result
}

//! Runs a random program in all tiers and settings and compares the results.

use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

use warpjit_frontend::Isa;
use warpjit_runtime::{
    Access, Arg, CancelToken, Config, Engine, Error, Fault, HostLevel, Launch, Memory, Program,
    ProgramOptions, Report, SaveToken, SavedLaunch, Tier,
};

use super::program::{
    CONSTANTS, CONSTANTS_BYTES, COUNTERS, INPUT, OWN, PLANES, RandomProgram, SHARED_START, Shape, TABLE_BANK,
};
use super::rng::Random;

/// Bytes of [`COUNTERS`] and [`super::program::COMMON`] together.
const COUNTERS_BYTES: u64 = 0x2000;

/// What a run left.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Effect {
    /// The fault.
    pub fault: Option<Fault>,
    /// All that the guest can write, from `COUNTERS` on.
    pub memory: Vec<u8>,
    /// Registers, where they were asked for.
    pub registers: Vec<(String, Vec<u64>)>,
    /// Instructions of threads, where they were counted.
    pub threads: u64,
    /// It took too long.
    pub hangs: bool,
    /// A panic's message: a bug of ours.
    pub panic: Option<String>,
}

impl Effect {
    /// How they differ, if they do.
    pub fn difference(&self, other: &Effect) -> Option<String> {
        if let Some(panic) = self.panic.as_ref().or(other.panic.as_ref()) {
            return Some(format!("panic: {panic}"));
        }
        if self.hangs != other.hangs {
            return Some(format!("hangs: {} and {}", self.hangs, other.hangs));
        }
        if self.fault != other.fault {
            let text = |fault: &Option<Fault>| {
                fault.as_ref().map_or("no fault".into(), |f| format!("{f} ({:?} {:?})", f.space, f.bytes))
            };
            return Some(format!("fault: {}\n   and: {}", text(&self.fault), text(&other.fault)));
        }
        if self.fault.is_some() || self.hangs {
            // Other lanes may be ahead or behind.
            return None;
        }
        let mut lines: Vec<String> = Vec::new();
        let words = |effect: &Effect| -> Vec<u32> {
            effect.memory.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
        };
        let mut add = |line: String| lines.push(line);
        for (n, (a, b)) in words(self).into_iter().zip(words(other)).enumerate() {
            let address = COUNTERS + n as u32 * 4;
            if a != b && (OWN..PLANES).contains(&address) {
                let (thread, offset) = ((address - OWN) / 256, address % 256);
                let what = match offset {
                    0x80..0xc0 => format!("$r{}", (offset - 0x80) / 4),
                    0xc0.. => ["$c0", "$c1", "$c2", "$a1", "$a4"]
                        .get((offset as usize - 0xc0) / 4)
                        .map_or("?".into(), ToString::to_string),
                    _ => format!("own+{offset:#x}"),
                };
                add(format!("thread {thread} {what}: {a:#x} and {b:#x}\n"));
            } else if a != b {
                add(format!("memory {address:#x}: {a:#x} and {b:#x}\n"));
            }
        }
        for ((name, a), (_, b)) in self.registers.iter().zip(&other.registers) {
            for (lane, (a, b)) in a.iter().zip(b).enumerate() {
                if a != b {
                    add(format!("register {name} lane {lane}: {a:#x} and {b:#x}\n"));
                }
            }
        }
        if self.registers.len() != other.registers.len() {
            add(format!("{} and {} registers\n", self.registers.len(), other.registers.len()));
        }
        if self.threads != other.threads {
            add(format!("thread instructions: {} and {}\n", self.threads, other.threads));
        }
        lines.truncate(16);
        (!lines.is_empty()).then(|| lines.concat())
    }
}

/// A setting to run compiled code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The tier.
    pub tier: Tier,
    /// Groups of lanes.
    pub groups: Option<u8>,
    /// Host threads.
    pub threads: usize,
    /// Host instructions.
    pub host: HostLevel,
    /// Checked accesses.
    pub checked: bool,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setting { tier, groups, threads, host, checked } = self;
        write!(f, "{tier:?}, groups {groups:?}, threads {threads}, {host:?}, checked {checked}")
    }
}

impl Setting {
    /// The interpreter.
    pub const REFERENCE: Setting =
        Setting { tier: Tier::Interp, groups: None, threads: 1, host: HostLevel::Native, checked: true };

    /// All combinations for compiled code, one after the other in an order that changes everything early.
    pub fn rotate(number: u64) -> Setting {
        let groups = [Some(1), Some(2), Some(0), Some(4), None][(number % 5) as usize];
        let checked = (number / 2) & 1 != 0;
        let host = [HostLevel::Native, HostLevel::Avx2, HostLevel::Sse41][(number % 3) as usize];
        let threads = if (number / 5).is_multiple_of(2) { 1 } else { 2 };
        let tier = if number % 11 == 10 { Tier::Auto } else { Tier::Jit };
        Setting { tier, groups, threads, host, checked }
    }
}

/// A program that is ready to run.
pub struct Loaded {
    program: Program,
    launch: Launch,
    memory: Vec<(u32, u32, Access, Vec<u8>)>,
    lockstep: bool,
    count: bool,
}

impl Loaded {
    /// Registers of a thread.
    pub const REGISTERS: u32 = 32;

    /// The launch.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Memory: address, bytes, whether it may be written, what it begins with.
    pub fn memory_parts(&self) -> impl Iterator<Item = (u32, u32, bool, &[u8])> {
        self.memory.iter().map(|(address, bytes, access, content)| {
            (*address, *bytes, *access == Access::ReadWrite, content.as_slice())
        })
    }

    /// Makes code of a program, and its memory by the seed.
    ///
    /// # Panics
    ///
    /// Where the runtime refuses the program.
    pub fn new(program: &RandomProgram, seed: u64) -> Loaded {
        let shape = &program.shape;
        let code = program.code();
        let mut random = Random::new(seed.wrapping_mul(3) + 1);
        let options = ProgramOptions::new(Isa::Tesla)
            .raw(true)
            .chip(Some(shape.chip.into()))
            .registers(Some(Loaded::REGISTERS))
            .local(Some(shape.local));
        let mut words =
            |count: u32| -> Vec<u8> { (0..count).flat_map(|_| random.word().to_le_bytes()).collect() };
        let mut consts: Vec<(u32, Vec<u8>)> = [0, 1, 2, 5, 15].map(|bank| (bank, words(128))).into();
        let table = program.table.iter().flat_map(|label| code.labels.get(label).unwrap_or(&0).to_le_bytes());
        consts.push((TABLE_BANK, table.collect()));
        let threads = shape.threads() * shape.blocks();
        let memory = vec![
            (CONSTANTS, CONSTANTS_BYTES, Access::ReadOnly, words(CONSTANTS_BYTES / 4)),
            (INPUT, threads * 64, Access::ReadOnly, words(threads * 16)),
            (COUNTERS, COUNTERS_BYTES as u32, Access::ReadWrite, words(0x80)),
            (OWN, threads * 256, Access::ReadWrite, Vec::new()),
            (PLANES, shape.plane_bytes() * 5, Access::ReadWrite, Vec::new()),
        ];
        let argument = words(1);
        let launch = Launch::default()
            .grid(shape.grid)
            .block(shape.block)
            .dynamic_shared(shape.shared_bytes() - 0x14)
            .max_steps(shape.max_steps)
            .args(vec![Arg { bytes: argument, align: 4, shared: None }])
            .consts(consts)
            .capture_registers(shape.capture);
        let count = program.countable && seed.is_multiple_of(4);
        let program = Program::load(&code.bytes, &options).expect("random code is code");
        Loaded { program, launch, memory, lockstep: shape.lockstep, count }
    }

    fn memory(&self) -> Memory {
        let memory = Memory::new().expect("there is address space");
        for (address, bytes, access, content) in &self.memory {
            memory.map(Some((*address).into()), (*bytes).into(), *access).expect("areas are apart");
            memory.write((*address).into(), content).expect("it is mapped");
        }
        memory
    }

    /// Runs it; gives what it did, and the share of compiled code.
    pub fn run(&self, setting: Setting, patience: Duration) -> (Effect, f64) {
        match catch_unwind(AssertUnwindSafe(|| self.try_run(setting, patience))) {
            Ok(result) => result,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
                (Effect { panic: Some(text.unwrap_or_default()), ..Effect::default() }, 0.0)
            }
        }
    }

    fn config(&self, setting: Setting) -> Config {
        Config::default()
            .threads(setting.threads)
            .tier(setting.tier)
            .chunk_groups(setting.groups)
            .checked_memory(setting.checked)
            .lockstep(self.lockstep)
            .host(setting.host)
            .count(self.count)
            // Compiled code comes while the program runs, wherever it is then.
            .hot_after(Some(0))
    }

    /// Runs it in the settings of some numbers: in each for a while, then saves it and goes on in the next, and to its end in the
    /// last. Gives what it did, and how often it was saved.
    pub fn run_in_pieces(&self, numbers: Range<u64>, patience: Duration) -> (Effect, u64) {
        let mut memory = self.memory();
        let mut saved: Option<SavedLaunch> = None;
        let (mut threads, mut pieces) = (0, 0);
        loop {
            let number = numbers.start + pieces;
            let last = number + 1 >= numbers.end;
            let engine = Engine::new(self.config(Setting::rotate(number))).expect("a config that exists");
            let save = (!last).then(|| SaveToken::after(1 + (number + pieces * pieces * 5) % 61));
            let launch = self.launch.clone().save(save);
            let report = cancelled_after(patience, launch, |launch| match &saved {
                None => engine.run(&self.program, &memory, launch),
                Some(saved) => engine.resume(&self.program, &memory, launch, saved),
            });
            threads += report.stats.thread_instructions;
            let Some(state) = &report.saved else {
                let mut effect = self.effect(&memory, report);
                effect.threads = if self.count { threads } else { 0 };
                return (effect, pieces);
            };
            let bytes = state.to_bytes_with(&memory).expect("it is mapped");
            let state = SavedLaunch::from_bytes(&bytes).expect("just written");
            memory = Memory::new().expect("there is address space");
            state.restore_memory(&memory).expect("areas are apart");
            saved = Some(state);
            pieces += 1;
        }
    }

    fn try_run(&self, setting: Setting, patience: Duration) -> (Effect, f64) {
        let engine = Engine::new(self.config(setting)).expect("a config that exists");
        let memory = self.memory();
        let report = cancelled_after(patience, self.launch.clone(), |launch| {
            engine.run(&self.program, &memory, launch)
        });
        let share = report.stats.jit_share;
        (self.effect(&memory, report), share)
    }

    fn effect(&self, memory: &Memory, report: Report) -> Effect {
        let mut bytes = Vec::new();
        for (address, size, access, _) in &self.memory {
            if *access == Access::ReadWrite {
                bytes.resize((*address - COUNTERS) as usize, 0);
                let mut part = vec![0; *size as usize];
                memory.read((*address).into(), &mut part).expect("it is mapped");
                bytes.extend(part);
            }
        }
        Effect {
            fault: report.fault,
            memory: bytes,
            registers: report.registers.into_iter().collect(),
            threads: if self.count { report.stats.thread_instructions } else { 0 },
            hangs: report.cancelled,
            panic: None,
        }
    }
}

/// Runs a launch that is cancelled if it takes too long.
fn cancelled_after(
    patience: Duration,
    launch: Launch,
    run: impl FnOnce(&Launch) -> Result<Report, Error>,
) -> Report {
    let cancel = CancelToken::new();
    let launch = launch.cancel(Some(cancel.clone()));
    let (done, wait) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if wait.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Timeout) {
            cancel.cancel();
        }
    });
    let report = run(&launch);
    drop(done);
    let _ = watch.join();
    report.expect("the launch is right")
}

/// Checks that the areas of a shape do not run into each other.
pub fn fits(shape: &Shape) -> bool {
    shape.threads() * shape.blocks() * 256 <= PLANES - OWN
        && shape.threads() * shape.blocks() * 64 <= COUNTERS - INPUT
        && shape.exchange() > SHARED_START
}

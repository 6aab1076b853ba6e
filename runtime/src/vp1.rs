//! The VP1 video processor as a machine: load a program, set registers and the data store, run until it exits or for a
//! number of bundles, read everything back, go on.
//!
//! What lies outside of the processor is the embedder's: it gives an [`Outside`]. Without one ([`Nobody`]), reads of
//! `$sr`, `$mi`, `$d`, `$f`, most `$uc` and of register files that nobody knows leave their destination as it is, writes
//! to them do nothing, transfers (`xdld`, `xdst`) move nothing, and waits (`xdbar`, `xdwait`) are over at once.
//!
//! ```
//! use warpjit_frontend::vp1::{Chip, assemble};
//! use warpjit_runtime::Config;
//! use warpjit_runtime::vp1::{Machine, Outside, Stop};
//!
//! // Sums three values that the host gives in $sr5, into component 0 to 3 of $v1.
//! let source = "
//!     mov $l0 $c0 2
//!     .align
//! again:
//!     mov $r1 $sr5
//!     { add $r0 $r0 $r1 | bra loop $l0 $c0 $l0 not $c0 lzf #again }
//!     snop
//!     mov $v1 0 $r0
//!     exit intr 0x7
//! ";
//! struct Host(u32);
//! impl Outside for Host {
//!     fn read(&mut self, file: u32, index: u32) -> Option<u32> {
//!         assert_eq!((file, index), (8, 5));
//!         self.0 += 1;
//!         Some(self.0)
//!     }
//! }
//!
//! let code = assemble(source, Chip::G80)?.code;
//! let mut machine = Machine::new(&code, Chip::G80, &Config::default())?;
//! machine.set_r(0, 100)?;
//! let mut host = Host(0);
//! // Two bundles first, then the rest.
//! assert_eq!(machine.run(Some(2), &mut host)?, Stop::Limit);
//! assert_eq!(machine.run(None, &mut host)?, Stop::Exit { code: 7, interrupt: true });
//! assert_eq!(machine.r(0), 100 + 1 + 2 + 3);
//! assert_eq!(machine.v(1)[0], 106);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod outside;

use std::collections::BTreeMap;
use std::sync::Arc;

use warpjit_frontend::image::RegisterAlias;
use warpjit_frontend::vp1::front_end::image;
use warpjit_frontend::vp1::lift::{
    DATA_STORE_BYTES, EXIT_ILLEGAL, EXIT_INTERRUPT, EXIT_OUTSIDE, LANES, Lifted, Node, Options, lift,
    outside_of,
};
use warpjit_frontend::vp1::{Inst, bundle_len, decode};
use warpjit_ir::interp::{Flow, Frame, Warp};
use warpjit_ir::meter::{Meter, Task, Usage};
use warpjit_ir::{Block, Function, Slot, Terminator};

pub use outside::{Nobody, Outside, Transfer};
pub use warpjit_frontend::vp1::Chip;
pub use warpjit_frontend::vp1::lift::Outside as OutsideAccess;

use crate::exec::compiler_threads::Background;
use crate::exec::memory::{Local, Shared, View};
use crate::exec::setup::{Plan, alias_value, frame_bits, register_slots};
use crate::exec::tiers::{Hint, Step, Stepper, StepperParts, StopPoll, Tiers, Watch};
use crate::exec::{Limits, RowFacts};
use crate::fork::Section;
use crate::variant::Variant;
use crate::{Budget, CancelToken, Config, Error, Launch, Memory, Program, ProgramError};

/// Why a machine stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The program has executed an `exit`. Running again continues after it.
    Exit {
        /// Its code.
        code: u16,
        /// Whether it asks for an interrupt.
        interrupt: bool,
    },
    /// The bundles that were asked for have been executed.
    Limit,
    /// There is no code at [`Machine::pc`].
    Illegal,
    /// The token of [`Machine::set_cancel`] was used. Running again with another token continues.
    Cancelled,
}

/// A program in the form that runs.
struct Loaded {
    lifted: Lifted,
    /// By number of the block.
    nodes: Vec<Option<Node>>,
    offsets: Vec<u32>,
    aliases: Vec<RegisterAlias>,
    plan: Plan,
    /// Without and with a limit of bundles; made when first needed.
    tiers: [Option<Arc<Tiers>>; 2],
}

/// Bundles between two checks of a machine's token.
const BUNDLES_AT_A_TIME: u64 = 1 << 16;

/// A processor with a program.
pub struct Machine {
    code: Vec<u8>,
    chip: Chip,
    config: Config,
    memory: Memory,
    background: Background,
    /// Word addresses that execution has begun at.
    entries: Vec<u32>,
    loaded: Loaded,
    warp: Warp,
    shared: Shared,
    at: Node,
    /// The token that can end runs.
    cancel: Option<CancelToken>,
    /// Budget used by all loads of the program together.
    spent: Usage,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("chip", &self.chip).field("at", &self.at).finish_non_exhaustive()
    }
}

/// How a run ended.
enum Inside {
    /// The program has: the value of its slot `exit`.
    Stop(u32),
    /// At the limit.
    Limit,
    /// At a place that only now has turned out to be reached.
    GoOn,
}

/// Nobody stops a machine in the midst of compiled code, where registers are not what the program has made of them.
struct NeverStop;

impl StopPoll for NeverStop {
    fn stop(&self) -> bool {
        false
    }

    fn is_late(&self) -> bool {
        false
    }
}

/// Lifts a program, of whose budget some is spent; gives what is spent then. Tables of an earlier load are gone, so only time adds up.
fn load(
    code: &[u8],
    chip: Chip,
    entries: &[u32],
    budget: Budget,
    before: Usage,
    cancel: Option<&CancelToken>,
) -> Result<(Loaded, Usage), Error> {
    // Tables of the front end are made when they are first needed.
    let _section = Section::enter();
    let mut meter = Meter::new(Task::Loading, budget, Usage { bytes: 0, ..before });
    if let Some(cancel) = cancel {
        meter = meter.cancelled_by(cancel.flag());
    }
    let (&entry, more_entries) = entries.split_last().unwrap_or((&0, &[]));
    let options = Options { name: "program", chip, entry, more_entries, resumable: true };
    let lifted = lift(code, &options, &meter)?;
    let mut nodes = vec![None; lifted.function.blocks.len()];
    for (&node, &block) in &lifted.nodes {
        nodes[block.index()] = Some(node);
    }
    let image = image(lifted.function.clone(), &lifted.slots, chip, code);
    let program = Program::lifted(image.clone(), false, None)?;
    let launch = Launch { grid: [1; 3], block: [1; 3], ..Launch::default() };
    let plan = Plan::new(&program.needs(), &lifted.function, &launch, None)?;
    let offsets = lifted.function.frame_layout().0;
    let loaded = Loaded { lifted, nodes, offsets, aliases: image.aliases, plan, tiers: [None, None] };
    Ok((loaded, meter.spent()))
}

impl Loaded {
    fn function(&self) -> &Function {
        &self.lifted.function
    }

    /// The code for runs without or with a limit.
    fn tiers(
        &mut self,
        limited: bool,
        config: &Config,
        cancel: Option<&CancelToken>,
    ) -> Result<Arc<Tiers>, Error> {
        if let Some(tiers) = &self.tiers[usize::from(limited)] {
            return Ok(tiers.clone());
        }
        let launch = Launch { max_steps: limited.into(), capture_registers: true, ..Launch::default() };
        let config = Config { count: false, ..config.clone() };
        let tiers = Arc::new({
            let variant = Variant::new(&config, &launch, false);
            let limits = Limits { budget: config.budget, cancel };
            let cache = config.code_cache();
            Tiers::new(self.function().clone(), variant, RowFacts::default(), cache, limits)?
        });
        self.tiers[usize::from(limited)] = Some(tiers.clone());
        Ok(tiers)
    }

    fn warp(&mut self, config: &Config, cancel: Option<&CancelToken>) -> Result<Warp, Error> {
        // Its frame has a slot more at the end, for the steps that are left.
        let tiers = self.tiers(true, config, cancel)?;
        let plan = &self.plan;
        Ok(Warp::new(tiers.code(), plan.lane_mask(0), |value, lane| plan.builtin(value, 0, 0, lane)))
    }
}

impl Machine {
    /// A machine with all registers and the data store zero, which stands at the first word of `code`: little-endian
    /// words. Of the settings, tier and host level matter.
    pub fn new(code: &[u8], chip: Chip, config: &Config) -> Result<Machine, Error> {
        Machine::new_within(code, chip, config, None)
    }

    /// As [`Machine::new`]; a token that is used meanwhile ends it with [`Error::Cancelled`]. It is the machine's token from then on
    /// ([`Machine::set_cancel`]).
    pub fn new_within(
        code: &[u8],
        chip: Chip,
        config: &Config,
        cancel: Option<CancelToken>,
    ) -> Result<Machine, Error> {
        config.ensure_handlers()?;
        let (mut loaded, spent) = load(code, chip, &[0], config.budget, Usage::default(), cancel.as_ref())?;
        let warp = loaded.warp(config, cancel.as_ref())?;
        let shared = Shared::new(&loaded.plan, 0);
        Ok(Machine {
            code: code.to_vec(),
            chip,
            config: config.clone(),
            memory: Memory::new()?,
            background: Background::default(),
            entries: vec![0],
            loaded,
            warp,
            shared,
            at: Node::at(0),
            cancel,
            spent,
        })
    }

    /// A token that ends [`Machine::run`] when it is used, also while the machine runs; none: nothing does. The machine stops between two
    /// bundles then, and can go on from there. With a token it runs as fast as with a limit.
    pub fn set_cancel(&mut self, token: Option<CancelToken>) {
        self.cancel = token;
    }

    /// Where the machine stands: the word address of the next bundle.
    pub fn pc(&self) -> u32 {
        self.at.pc
    }

    /// Continues at a word address. A pending branch is dropped.
    pub fn set_pc(&mut self, pc: u32) {
        self.at = Node::at(pc);
    }

    /// The data store in its raw layout: byte `16 * row + bank`.
    pub fn data_store(&self) -> &[u8] {
        &self.shared.bytes()[..DATA_STORE_BYTES as usize]
    }

    /// The data store, to be changed.
    pub fn data_store_mut(&mut self) -> &mut [u8] {
        &mut self.shared.contents()[..DATA_STORE_BYTES as usize]
    }

    /// A register by its name in launch files: one value, or one a component. `None` where there is no such register.
    pub fn register(&self, name: &str) -> Option<Vec<u64>> {
        let function = self.loaded.function();
        if let Some(alias) = self.loaded.aliases.iter().find(|alias| alias.name == name) {
            return Some(vec![alias_value(alias, LANES, |slot, lane| self.read(slot, lane))]);
        }
        let slot = function.slots.iter().position(|slot| slot.name == name && !name.starts_with('#'))?;
        let lanes = if function.slots[slot].ty.uniform { 1 } else { LANES };
        Some((0..lanes).map(|lane| self.read(Slot::new(slot), lane)).collect())
    }

    /// Sets a register by its name in launch files: one value, or one a component.
    pub fn set_register(&mut self, name: &str, values: &[u64]) -> Result<(), Error> {
        let (function, aliases) = (self.loaded.function(), &self.loaded.aliases);
        for (slot, values) in register_slots(function, aliases, LANES, name, values)? {
            for lane in 0..LANES {
                let value = values.get(lane as usize).or(values.first()).copied().unwrap_or(0);
                self.write(slot, lane, value);
            }
        }
        Ok(())
    }

    /// `$r[index]`; 0 for those that do not exist, as for `$r31`.
    pub fn r(&self, index: usize) -> u32 {
        self.loaded.lifted.slots.r.get(index).map_or(0, |&slot| self.read(slot, 0) as u32)
    }

    /// Sets `$r[index]`.
    pub fn set_r(&mut self, index: usize, value: u32) -> Result<(), Error> {
        self.set_register(&format!("r{index}"), &[value.into()])
    }

    /// `$a[index]`; 0 for those that do not exist.
    pub fn a(&self, index: usize) -> u32 {
        self.loaded.lifted.slots.a.get(index).map_or(0, |&slot| self.read(slot, 0) as u32)
    }

    /// Sets `$a[index]`.
    pub fn set_a(&mut self, index: usize, value: u32) -> Result<(), Error> {
        self.set_register(&format!("a{index}"), &[value.into()])
    }

    /// `$v[index]`, component 0 first; zeros for those that do not exist.
    pub fn v(&self, index: usize) -> [u8; 16] {
        let slot = self.loaded.lifted.slots.v.get(index);
        std::array::from_fn(|lane| slot.map_or(0, |&slot| self.read(slot, lane as u32) as u8))
    }

    /// Sets `$v[index]`.
    pub fn set_v(&mut self, index: usize, value: [u8; 16]) -> Result<(), Error> {
        self.set_register(&format!("v{index}"), &value.map(u64::from))
    }

    /// Runs until the program exits, there is no code, or `bundles` bundles have been executed.
    ///
    /// With a limit the machine stops exactly there, also before the delay slot of a branch. Without one it is faster.
    pub fn run(&mut self, bundles: Option<u64>, outside: &mut dyn Outside) -> Result<Stop, Error> {
        self.config.ensure_handlers()?;
        let mut left = bundles;
        loop {
            if left == Some(0) {
                return Ok(Stop::Limit);
            }
            if self.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
                return Ok(Stop::Cancelled);
            }
            // Where a token may end the run, it is a row of runs with a limit.
            let most = match self.cancel {
                Some(_) => Some(left.unwrap_or(BUNDLES_AT_A_TIME).min(BUNDLES_AT_A_TIME)),
                None => left,
            };
            let mut rest = most;
            let inside = crate::vm::on_enough_stack(|| self.run_inside(&mut rest))?;
            if let (Some(left), Some(most), Some(rest)) = (&mut left, most, rest) {
                *left -= most - rest;
            }
            let stop = match inside {
                Inside::Stop(stop) => stop,
                Inside::Limit | Inside::GoOn => continue,
            };
            if stop & EXIT_OUTSIDE != 0 {
                // The bundle has not been executed yet.
                if left != Some(0) {
                    self.reach_outside(outside);
                    self.at.resumed = true;
                }
                continue;
            }
            if stop & EXIT_ILLEGAL != 0 {
                return Ok(Stop::Illegal);
            }
            return Ok(Stop::Exit { code: stop as u16, interrupt: stop & EXIT_INTERRUPT != 0 });
        }
    }

    /// Runs to what ends the program.
    fn run_inside(&mut self, left: &mut Option<u64>) -> Result<Inside, Error> {
        let block = self.block_at()?;
        let tiers = self.loaded.tiers(left.is_some(), &self.config, self.cancel.as_ref())?;
        self.warp.restart(block, u64::MAX);
        self.loaded.plan.max_steps = left.unwrap_or(0);
        let plan = &self.loaded.plan;
        let mut local = Local::new(plan, false);
        let mut stepper = Stepper::new(StepperParts {
            tiers: &tiers,
            plan,
            memory: &self.memory,
            background: &self.background,
            cancel: None,
            watch: Watch::default(),
        });
        let mut hint = Hint::default();
        let mut midway = None;
        let flow = loop {
            let mut view = View { plan, memory: &self.memory, shared: &mut self.shared, local: &mut local };
            match stepper.step(&mut self.warp, &mut midway, &mut view, &mut hint, &NeverStop, None) {
                // There are no barriers, and nobody stops compiled code.
                Step::Flow(Flow::Next | Flow::Barrier(_)) | Step::Suspended | Step::Stopped => {}
                Step::Flow(flow) => break flow,
            }
        };
        drop(stepper);
        if let Some(left) = left {
            *left = left.saturating_sub(self.warp.steps);
        }
        let slots = &self.loaded.lifted.slots;
        let gone = self.read(slots.gone, 0) as u32;
        let Flow::Ended = flow else {
            let at = self.node_of(self.warp.block);
            if let Flow::Fault(fault) = flow
                && fault.kind == warpjit_ir::interp::FaultKind::Timeout
            {
                self.at = at;
                return Ok(Inside::Limit);
            }
            // A `ret` has gone to where no bundle was expected. What was pending behind it is lost.
            self.at = Node::at(gone);
            let known = self.loaded.lifted.nodes.contains_key(&self.at);
            let there = (gone as usize) < self.code.len() / 4;
            return Ok(if there && !known { Inside::GoOn } else { Inside::Stop(EXIT_ILLEGAL) });
        };
        let stop = self.read(slots.exit, 0) as u32;
        let block = Block::new(self.read(slots.exit_at, 0) as usize);
        let ended = self.node_of(block);
        self.at = match self.loaded.function().blocks.get(block.index()).and_then(|data| data.term.as_ref()) {
            _ if stop & (EXIT_OUTSIDE | EXIT_ILLEGAL) != 0 => ended,
            // Behind an exit in the delay slot of a `ret`.
            _ if ended.pending.is_noted() => Node::at(gone),
            Some(&Terminator::Leave { next, .. }) => self.node_of(next),
            _ => ended,
        };
        Ok(Inside::Stop(stop))
    }

    /// The block of the bundle that the machine stands at. Lifts the program again if there is none.
    fn block_at(&mut self) -> Result<Block, Error> {
        if let Some(&block) = self.loaded.lifted.nodes.get(&self.at) {
            return Ok(block);
        }
        // Only a bundle without anything pending can be new.
        self.at = Node::at(self.at.pc);
        self.entries.retain(|&pc| pc != self.at.pc);
        self.entries.push(self.at.pc);
        let cancel = self.cancel.as_ref();
        let (loaded, spent) =
            load(&self.code, self.chip, &self.entries, self.config.budget, self.spent, cancel)?;
        (self.loaded, self.spent) = (loaded, spent);
        let old = std::mem::replace(&mut self.warp, self.loaded.warp(&self.config, self.cancel.as_ref())?);
        let from: &Frame = &old.frame;
        let words = self.warp.frame.words_mut();
        let len = words.len().min(from.words().len());
        words[..len].copy_from_slice(&from.words()[..len]);
        self.loaded
            .lifted
            .nodes
            .get(&self.at)
            .copied()
            .ok_or_else(|| ProgramError::NoBundle { word: self.at.pc }.into())
    }

    fn node_of(&self, block: Block) -> Node {
        self.loaded.nodes.get(block.index()).copied().flatten().unwrap_or(self.at)
    }

    /// Does what the bundle at which the machine stands does outside.
    fn reach_outside(&mut self, outside: &mut dyn Outside) {
        let slots = self.loaded.lifted.slots.clone();
        let insts = self.bundle();
        let mut input = None;
        for access in insts.iter().copied().filter_map(outside_of) {
            match access {
                OutsideAccess::Read { file, index } => input = outside.read(file, index),
                OutsideAccess::Write { file, index, source } => {
                    // A store of the address unit shares the port.
                    let source = stored_register(&insts).unwrap_or(source);
                    let value = self.r(source as usize);
                    outside.write(file, index, value);
                }
                OutsideAccess::Transfer { word } => {
                    let a = slots.a.map(|slot| self.read(slot, 0) as u32);
                    let data_store = &mut self.shared.contents()[..DATA_STORE_BYTES as usize];
                    outside.transfer(Transfer { word, a, data_store });
                }
            }
        }
        self.write(slots.input, 0, input.unwrap_or(0).into());
        self.write(slots.has_input, 0, input.is_some().into());
    }

    /// The instructions of the bundle at which the machine stands.
    fn bundle(&self) -> Vec<Inst> {
        let word = |pc: u32| {
            let bytes = self.code.get(pc as usize * 4..)?.first_chunk()?;
            Some(u32::from_le_bytes(*bytes))
        };
        let pc = self.at.pc;
        let words = pc..pc + bundle_len(pc, word);
        words.filter_map(|pc| Some(decode(word(pc)?, pc, self.chip))).collect()
    }

    fn read(&self, slot: Slot, lane: u32) -> u64 {
        let ty = self.loaded.function().slots[slot.index()].ty;
        self.warp.frame.read(self.loaded.offsets[slot.index()], ty.scalar, lane)
    }

    fn write(&mut self, slot: Slot, lane: u32, value: u64) {
        let ty = self.loaded.function().slots[slot.index()].ty;
        let value = frame_bits(ty.scalar, value);
        self.warp.frame.write(self.loaded.offsets[slot.index()], ty.scalar, lane, value);
    }

    /// Why the interpreter ran code that should have been compiled, if that happened: a limit of the code generator was
    /// reached.
    pub fn not_compiled(&self) -> Option<String> {
        self.loaded.tiers.iter().flatten().find_map(|tiers| tiers.not_compiled())
    }

    /// All registers by their names in launch files.
    pub fn registers(&self) -> BTreeMap<String, Vec<u64>> {
        let function = self.loaded.function();
        let own = function.slots.iter().map(|slot| &slot.name).filter(|name| !name.starts_with('#'));
        let all = own.chain(self.loaded.aliases.iter().map(|alias| &alias.name));
        all.filter_map(|name| Some((name.clone(), self.register(name)?))).collect()
    }
}

/// The register that a store of a word in a bundle stores.
fn stored_register(insts: &[Inst]) -> Option<u32> {
    use warpjit_frontend::vp1::Op;
    let store = insts.iter().find(|inst| inst.op() == Op::AStore && inst.opcode() & 3 == 2)?;
    Some(store.word >> 14 & 31)
}

//! Checks a launch and turns it into a [`Plan`]: everything that blocks start with. An invalid launch is an error here.

use super::locks::Locks;
use super::parts::{Part, parts};
use super::samplers::Samplers;
use super::segments::Segments;
use crate::memory::window::Windows;
use crate::memory::window_access;
use crate::stage::StageRun;
use crate::{Arg, ConstPart, Error, Launch};
use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use warpjit_frontend::image::{AliasParts, RegisterAlias};
use warpjit_ir::{Builtin, Function, HeaderField, KernelAbi, Scalar, Slot, SlotInit, Space, TextureTables};

#[path = "arguments.rs"]
mod arguments;

pub use arguments::{UserWords, extend_user_data, user_words};

/// Bytes of a const bank; what is not bound reads as zero.
pub const CONST_BYTES: usize = 1 << 16;
/// Const banks that a guest can name.
pub const CONST_BANKS: usize = warpjit_backend::CONST_BANKS;
/// Bytes after the end of a space that compiled code may read with an access that begins inside.
pub const SLACK_BYTES: usize = 8;

/// Alignment of what an argument points to in shared memory.
const SHARED_ARG_ALIGN: u64 = 16;

/// A const bank of [`CONST_BYTES`] plus [`SLACK_BYTES`]. Most banks are empty and share one static array, without a
/// reference count, because launches are short.
#[derive(Debug, Clone)]
pub enum Bank {
    /// Zeros.
    Empty,
    /// Contents, which clones of a prepared launch share until one writes to them.
    Filled(Arc<Vec<u8>>),
}

impl Bank {
    /// A bank with these contents, padded with zeros.
    fn new(mut bytes: Vec<u8>) -> Bank {
        if bytes.is_empty() {
            return Bank::Empty;
        }
        bytes.resize(CONST_BYTES + SLACK_BYTES, 0);
        Bank::Filled(Arc::new(bytes))
    }

    /// The contents with the slack.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // Aligned to a cache line.
        #[repr(align(64))]
        struct Zeros([u8; CONST_BYTES + SLACK_BYTES]);
        static EMPTY: Zeros = Zeros([0; CONST_BYTES + SLACK_BYTES]);
        match self {
            Bank::Empty => &EMPTY.0,
            Bank::Filled(bytes) => bytes,
        }
    }
}

/// What a kernel needs, from its container or from the options of raw code.
#[derive(Debug, Clone)]
pub struct Needs<'a> {
    /// Name for messages.
    pub name: &'a str,
    /// The chip's interface and limits.
    pub abi: &'a KernelAbi,
    /// Registers of a thread.
    pub registers: u32,
    /// Shared memory of its own.
    pub shared_bytes: u32,
    /// Local memory of a thread.
    pub local_bytes: u32,
    /// Offset and bytes of each parameter, from the start of all, if the container says.
    pub params: Option<&'a [(u32, u32)]>,
    /// What the container puts in const banks.
    pub consts: &'a [ConstPart],
    /// The bank in which the container's contents override the launch's.
    pub compiler_bank: Option<u32>,
    /// Registers that do not correspond to one slot each.
    pub aliases: &'a [RegisterAlias],
    /// Words of user data that the code depends on.
    pub known_user_data: &'a [(u8, u32)],
}

/// A checked launch, with everything that its blocks start with.
#[derive(Debug)]
pub struct Plan {
    /// Blocks along each axis.
    pub grid: [u32; 3],
    /// Threads of a block along each axis, as guests are told.
    pub block: [u32; 3],
    /// The parts of the grid that are to run, and the one that is described here.
    pub parts: Vec<Part>,
    /// Coordinates of the first block of the grid and of the part, and blocks along each axis of the part.
    start: [u32; 3],
    first: [u32; 3],
    pub extent: [u32; 3],
    /// Threads of a block of the part along each axis.
    pub size: [u32; 3],
    /// Threads of a block.
    pub threads: u32,
    /// Lanes of a warp.
    pub lanes: u32,
    /// Whether all lanes of a warp are active for any block size.
    pub full_warps: bool,
    /// Warps of a block.
    pub warps: u32,
    /// Blocks to run.
    pub blocks: Range<u64>,
    /// Initial shared memory of a block, except for [`Plan::block_fields`].
    pub shared: Vec<u8>,
    /// Header fields in shared memory that differ from block to block.
    block_fields: Vec<HeaderField>,
    /// Local memory of a thread.
    pub local_bytes: u32,
    /// Const banks by number.
    pub consts: Vec<Bank>,
    /// Windows to global memory.
    pub windows: Windows,
    /// Memory segments that the launch provides.
    pub segments: Segments,
    /// Locks of words of global memory.
    pub locks: Locks,
    /// The launch's user data, by number.
    user_data: Vec<u32>,
    /// Slots that the launch sets: one value, or one for each lane.
    pub slots: Vec<(Slot, Vec<u64>)>,
    /// What the launch says about textures.
    pub textures: TextureTables,
    /// Code for samplers.
    pub samplers: Samplers,
    /// Warp instructions of one warp before it times out.
    pub max_steps: u64,
    /// The batch, if the program is of a graphics stage. Then blocks are single warps.
    pub stage: Option<StageRun>,
    /// Bytes of the arguments.
    args_bytes: usize,
    /// Whether somebody may ask that the launch stop to be saved ([`Launch::save`]).
    pub may_pause: bool,
}

fn product(axes: [u32; 3]) -> u64 {
    axes.iter().fold(1, |all, &axis| u64::from(axis).saturating_mul(all))
}

fn check_axes(what: &str, unit: &str, axes: [u32; 3], most: [u32; 3]) -> Result<(), Error> {
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        if axes[axis] == 0 || axes[axis] > most[axis] {
            return Err(Error::Launch(format!(
                "{what} {axes:?}: {} {unit} along {name}, allowed are 1 to {}",
                axes[axis], most[axis]
            )));
        }
    }
    Ok(())
}

/// Lays arguments out: where the container says, or in order, each at its natural alignment.
fn lay_out(args: &[Arg], needs: &Needs<'_>) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    if let Some(params) = needs.params {
        if args.len() != params.len() {
            let few = if args.len() < params.len() { "few" } else { "many" };
            return Err(Error::Launch(format!(
                "too {few} arguments: {} takes {}, these are {}",
                needs.name,
                params.len(),
                args.len()
            )));
        }
        for (number, (arg, &(offset, size))) in args.iter().zip(params).enumerate() {
            if arg.bytes.len() != size as usize {
                return Err(Error::Launch(format!(
                    "argument {number} has {} bytes, {} takes {size} there",
                    arg.bytes.len(),
                    needs.name
                )));
            }
            let start = offset as usize;
            bytes.resize(bytes.len().max(start + arg.bytes.len()), 0);
            bytes[start..start + arg.bytes.len()].copy_from_slice(&arg.bytes);
        }
        return Ok(bytes);
    }
    for (number, arg) in args.iter().enumerate() {
        if !arg.align.is_power_of_two() || arg.align > 64 {
            return Err(Error::Launch(format!(
                "argument {number}: alignment {} is not a power of two up to 64",
                arg.align
            )));
        }
        bytes.resize(bytes.len().next_multiple_of(arg.align), 0);
        bytes.extend_from_slice(&arg.bytes);
    }
    Ok(bytes)
}

/// Gives arguments that point to dynamic shared memory their addresses, after the kernel's own shared memory. Returns
/// the arguments and the end of shared memory.
fn place_in_shared<'a>(args: &'a [Arg], needs: &Needs<'_>) -> Result<(Cow<'a, [Arg]>, u64), Error> {
    let mut end = u64::from(needs.shared_bytes);
    if args.iter().all(|arg| arg.shared.is_none()) {
        return Ok((Cow::Borrowed(args), end));
    }
    if needs.abi.params.space == Space::Shared {
        return Err(Error::Launch(format!("{} takes no pointers to shared memory", needs.name)));
    }
    let mut placed = args.to_vec();
    for arg in &mut placed {
        if let Some(bytes) = arg.shared {
            end = end.next_multiple_of(SHARED_ARG_ALIGN);
            arg.bytes = (end as u32).to_le_bytes().into();
            end += u64::from(bytes);
        }
    }
    Ok((Cow::Owned(placed), end))
}

impl Plan {
    /// Checks a launch against the chip and the kernel. A batch of a graphics stage says itself how many warps there are.
    pub fn new(
        needs: &Needs<'_>,
        function: &Function,
        launch: &Launch,
        stage: Option<StageRun>,
    ) -> Result<Self, Error> {
        let abi = needs.abi;
        let (grid, block) = match &stage {
            None => (launch.grid, launch.block),
            Some(stage) => ([stage.warps(), 1, 1], [stage.lanes(), 1, 1]),
        };
        if stage.is_none() {
            check_axes("grid", "blocks", grid, abi.max_grid)?;
            check_axes("block", "threads", block, abi.max_block)?;
        } else if !launch.args.is_empty() {
            return Err(Error::Launch(format!(
                "{} is of a graphics stage, which takes no arguments",
                needs.name
            )));
        }
        // A graphics stage finds nothing in its memory but inputs.
        let header_fields: &[HeaderField] = if stage.is_none() { &abi.header } else { &[] };
        let threads = product(block);
        if threads > u64::from(abi.max_threads) {
            return Err(Error::Launch(format!(
                "block {:?} has {threads} threads, the chip allows {}",
                block, abi.max_threads
            )));
        }
        let threads = threads as u32;
        // If the guest reads the number of threads in the grid, it must fit into 32 bits.
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            let threads = u64::from(grid[axis]) * u64::from(block[axis]);
            let read = header_fields.iter().any(|field| matches!(field.value, Builtin::GridThreads(_)));
            if read && threads > u32::MAX.into() {
                return Err(Error::Launch(format!(
                    "grid {grid:?}: {threads} threads along {name}, allowed are {}",
                    u32::MAX
                )));
            }
        }
        let (grid_start, last) = match &stage {
            None => (launch.grid_start, last_block(launch)?),
            Some(_) => ([0; 3], block),
        };
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            let (end, most) = (u64::from(grid_start[axis]) + u64::from(grid[axis]), abi.max_grid[axis]);
            if end > most.into() {
                return Err(Error::Launch(format!(
                    "grid {grid:?} from {grid_start:?} on ends at {end} along {name}, allowed are {most}"
                )));
            }
        }
        let total = product(grid);
        let blocks = launch.blocks.clone().unwrap_or(0..total);
        if blocks.start > blocks.end || blocks.end > total {
            return Err(Error::Launch(format!(
                "blocks {}..{} of a grid of {total}",
                blocks.start, blocks.end
            )));
        }
        let limit = |what: &str, need: u64, most: u32, unit: &str| {
            if need > u64::from(most) {
                let name = needs.name;
                return Err(Error::Launch(format!("{name} needs {need} {unit} {what}, the chip has {most}")));
            }
            Ok(())
        };
        limit("of a thread", needs.registers.into(), abi.max_registers, "registers")?;
        limit("of local memory a thread", needs.local_bytes.into(), abi.max_local_bytes, "bytes")?;

        let (launch_args, shared_end) = place_in_shared(&launch.args, needs)?;
        let args = lay_out(&launch_args, needs)?;
        if args.len() > abi.params.max_bytes as usize {
            return Err(Error::Launch(format!(
                "arguments take {} bytes, there is room for {}",
                args.len(),
                abi.params.max_bytes
            )));
        }

        let consts = bind_consts(needs, launch)?;
        let end_of = |field: &HeaderField| field.offset as usize + usize::from(field.bytes);
        let header = header_fields.iter().filter(|field| field.space == Space::Shared).map(end_of).max();
        let params_end = abi.params.offset as usize + args.len();
        let in_shared = abi.params.space == Space::Shared;
        let own = (needs.shared_bytes as usize).max(header.unwrap_or(0)).max(if in_shared {
            params_end
        } else {
            0
        });
        let shared_bytes = (own as u64).max(shared_end) + u64::from(launch.dynamic_shared);
        limit("of shared memory", shared_bytes, abi.max_shared_bytes, "bytes")?;

        let mut plan = Plan {
            grid,
            block,
            parts: parts(grid, block, last, &blocks),
            start: grid_start,
            first: grid_start,
            extent: grid,
            size: block,
            threads,
            lanes: abi.warp_lanes,
            full_warps: abi.full_warps,
            warps: threads.div_ceil(abi.warp_lanes),
            blocks,
            shared: vec![0; shared_bytes as usize],
            block_fields: Vec::new(),
            local_bytes: needs.local_bytes,
            consts: Vec::new(),
            windows: Windows::new(&launch.globals)?,
            segments: Segments::new(needs, function, threads.div_ceil(abi.warp_lanes), launch.scratch_ring)?,
            locks: Locks::default(),
            user_data: user_data(needs, function, launch)?,
            slots: named_slots(function, needs.aliases, abi.warp_lanes, launch)?,
            textures: launch.textures.clone(),
            samplers: Samplers::default(),
            max_steps: launch.max_steps,
            stage,
            args_bytes: args.len(),
            may_pause: launch.save.is_some(),
        };
        let mut banks = consts;
        let mut put = |plan: &mut Plan, space: Space, offset: usize, bytes: &[u8]| {
            let target = match space {
                Space::Shared => Some(&mut plan.shared),
                Space::Const(bank) => banks.get_mut(usize::from(bank)),
                Space::Global(segment) => return plan.segments.put(segment, offset, bytes),
                Space::Local => None,
            };
            // Fields beyond the end of a space are dropped, as on the hardware.
            if let Some(place) = target.and_then(|bytes_of| {
                if bytes_of.len() < offset + bytes.len() && matches!(space, Space::Const(_)) {
                    bytes_of.resize((offset + bytes.len()).min(CONST_BYTES), 0);
                }
                bytes_of.get_mut(offset..offset + bytes.len())
            }) {
                place.copy_from_slice(bytes);
            }
        };
        for field in header_fields {
            if field.space == Space::Shared && depends_on_block(field.value) {
                plan.block_fields.push(*field);
            } else {
                let value = plan.builtin(field.value, 0, 0, 0).to_le_bytes();
                let bytes = &value[..usize::from(field.bytes).min(4)];
                put(&mut plan, field.space, field.offset as usize, bytes);
            }
        }
        put(&mut plan, abi.params.space, abi.params.offset as usize, &args);
        if launch.shared.len() > plan.shared.len() {
            let (given, most) = (launch.shared.len(), plan.shared.len());
            return Err(Error::Launch(format!("{given} bytes for shared memory, there are {most}")));
        }
        plan.shared[..launch.shared.len()].copy_from_slice(&launch.shared);
        if let Some(words) = plan.windows.words() {
            banks[usize::from(window_access::BANK)] = words;
        }
        plan.consts = banks.into_iter().map(Bank::new).collect();
        if let [part] = &plan.parts[..] {
            let part = part.clone();
            plan.go_to(&part);
        }
        Ok(plan)
    }

    /// Adds to a digest everything that blocks start with and that tells what they find. What is the host's is left out.
    pub fn digest(&self, into: &mut impl Hasher) {
        (self.grid, self.block, self.threads, self.lanes, self.full_warps, self.warps).hash(into);
        (&self.blocks, &self.shared, self.local_bytes, &self.user_data, &self.slots).hash(into);
        (self.start, self.first, self.extent, self.size).hash(into);
        for field in &self.block_fields {
            (field.space, field.offset, field.bytes, field.value).hash(into);
        }
        self.consts.iter().for_each(|bank| match bank {
            Bank::Empty => 0u8.hash(into),
            Bank::Filled(bytes) => bytes.hash(into),
        });
        self.windows.digest(into);
        self.segments.digest(into);
        // Plain data of numbers, whose text says all of it.
        format!("{:?}", self.textures).hash(into);
    }

    /// Describes another part of the grid.
    pub fn go_to(&mut self, part: &Part) {
        self.first = std::array::from_fn(|axis| self.start[axis] + part.first[axis]);
        (self.extent, self.size, self.blocks) = (part.extent, part.size, part.blocks.clone());
        self.threads = product(part.size) as u32;
        self.warps = self.threads.div_ceil(self.lanes);
    }

    /// Coordinates of a block.
    pub fn coordinates(&self, block: u64) -> [u32; 3] {
        let [x, y, _] = self.extent.map(u64::from);
        let own = [(block % x) as u32, (block / x % y) as u32, (block / x / y) as u32];
        std::array::from_fn(|axis| self.first[axis] + own[axis])
    }

    /// The blocks of the part from a block to the end of its row.
    pub fn row_left(&self, block: u64) -> u64 {
        let x = u64::from(self.extent[0]);
        x - block % x
    }

    /// The index of a block in the whole grid.
    pub fn linear(&self, block: u64) -> u64 {
        let at = self.coordinates(block);
        let [x, y, z] = std::array::from_fn(|axis| u64::from(at[axis] - self.start[axis]));
        x + u64::from(self.grid[0]) * (y + u64::from(self.grid[1]) * z)
    }

    /// Writes the initial shared memory of a block.
    pub fn init_shared(&self, block: u64, shared: &mut [u8]) {
        shared[..self.shared.len()].copy_from_slice(&self.shared);
        shared[self.shared.len()..].fill(0);
        for field in &self.block_fields {
            let value = self.builtin(field.value, block, 0, 0).to_le_bytes();
            let start = field.offset as usize;
            let bytes = usize::from(field.bytes).min(4);
            if let Some(place) = shared.get_mut(start..start + bytes) {
                place.copy_from_slice(&value[..bytes]);
            }
        }
    }

    /// Lanes of a warp that are active at the start.
    pub fn lane_mask(&self, warp: u32) -> u64 {
        if self.full_warps { lanes_below(self.lanes) } else { self.launched(warp) }
    }

    /// Whether all lanes of every warp take part.
    pub fn all_lanes(&self) -> bool {
        (0..self.warps).all(|warp| self.lane_mask(warp) == lanes_below(self.lanes))
    }

    /// Lanes of a warp that have threads.
    pub fn launched(&self, warp: u32) -> u64 {
        let first = warp * self.lanes;
        let count = self.threads.saturating_sub(first).min(self.lanes);
        lanes_below(count)
    }

    /// A coordinate of a lane without a thread. It continues those of the threads before it, so that the last warp has
    /// the same lane patterns as the others.
    fn behind_last(&self, thread: u32, axis: u8) -> u32 {
        let last = self.threads - 1;
        let more = self.size.iter().position(|&n| n > 1).unwrap_or(0);
        let own = self.builtin(Builtin::Tid(axis), 0, 0, last);
        if usize::from(axis) == more { own + (thread - last) } else { own }
    }

    /// A coordinate of a thread in its block. Computed for each lane of each warp that starts, so it avoids divisions
    /// where possible.
    #[inline]
    fn place_of(&self, thread: u32, axis: u8) -> u32 {
        let [x, y, _] = self.size;
        let row = |thread: u32| if thread < x { 0 } else { thread / x };
        match axis {
            0 if thread < x => thread,
            0 => thread % x,
            1 => Some(row(thread)).filter(|&row| row < y).unwrap_or_else(|| row(thread) % y),
            2 => Some(row(thread)).filter(|&row| row >= y).map_or(0, |row| row / y),
            _ => 0,
        }
    }

    /// A launch value.
    pub fn builtin(&self, value: Builtin, block: u64, warp: u32, lane: u32) -> u32 {
        let thread = warp * self.lanes + lane;
        let axis = |axes: [u32; 3], axis: u8| axes.get(usize::from(axis)).copied().unwrap_or(0);
        match value {
            Builtin::Tid(n) if thread >= self.threads => self.behind_last(thread, n),
            Builtin::Tid(n) => self.place_of(thread, n),
            Builtin::Ctaid(n) => axis(self.coordinates(block), n),
            Builtin::Ntid(n) => axis(self.block, n),
            Builtin::Nctaid(n) => axis(self.grid, n),
            Builtin::LaneId => lane,
            Builtin::WarpId => warp,
            Builtin::NumWarps => self.warps,
            Builtin::LinearTid => thread,
            Builtin::LinearCtaid => self.linear(block) as u32,
            Builtin::Launched(half) => (self.launched(warp) >> (32 * u32::from(half & 1))) as u32,
            Builtin::GridThreads(n) => axis(self.grid, n).wrapping_mul(axis(self.block, n)),
            Builtin::Axes => {
                (1..3).rev().find(|&n| self.grid[n] > 1 || self.block[n] > 1).map_or(1, |n| n as u32 + 1)
            }
            Builtin::SharedBytes => self.shared.len() as u32,
            Builtin::UserData(n) => self.user_data.get(usize::from(n)).copied().unwrap_or(0),
        }
    }
}

/// The sizes of the last blocks along each axis.
fn last_block(launch: &Launch) -> Result<[u32; 3], Error> {
    let mut last = launch.block;
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        let own = launch.last_block[axis];
        if own > last[axis] {
            return Err(Error::Launch(format!(
                "the last blocks along {name} have {own} threads, all others {}",
                last[axis]
            )));
        }
        last[axis] = if own == 0 { last[axis] } else { own };
    }
    Ok(last)
}

/// Checks that the launch gives no more user data than the program takes.
fn user_data(needs: &Needs<'_>, function: &Function, launch: &Launch) -> Result<Vec<u32>, Error> {
    let numbers = function.slots.iter().filter_map(|slot| match slot.init {
        SlotInit::Builtin(Builtin::UserData(number)) => Some(usize::from(number) + 1),
        _ => None,
    });
    let known = needs.known_user_data.iter().map(|&(number, _)| usize::from(number) + 1);
    let most = numbers.chain(known).max().unwrap_or(0);
    let (given, name) = (launch.user_data.len(), needs.name);
    if given > most {
        return Err(Error::Launch(format!("{given} words of user data, {name} takes {most}")));
    }
    for &(number, known) in needs.known_user_data {
        let given = launch.user_data.get(usize::from(number)).copied().unwrap_or(known);
        if given != known {
            return Err(Error::Launch(format!(
                "word {number} of user data is {given:#x}, {name} was loaded for {known:#x}"
            )));
        }
    }
    let mut words = launch.user_data.clone();
    // A word that the program was loaded for and the launch does not give has that value all the same.
    let known = needs.known_user_data.iter().map(|&(number, _)| usize::from(number) + 1);
    extend_user_data(needs, &mut words, 0, known.max().unwrap_or(0));
    Ok(words)
}

/// The first `count` lanes.
fn lanes_below(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

fn depends_on_block(value: Builtin) -> bool {
    matches!(value, Builtin::Ctaid(_) | Builtin::LinearCtaid)
}

/// The contents of all banks, without padding. The launch's banks override the container's parts, except in the
/// compiler's bank, where it is the other way round.
fn bind_consts(needs: &Needs<'_>, launch: &Launch) -> Result<Vec<Vec<u8>>, Error> {
    let mut banks = vec![Vec::new(); CONST_BANKS];
    let mut put = |index: u32, offset: u32, bytes: &[u8]| {
        let bad = |reason: String| Err(Error::Launch(format!("const bank c{index}[]: {reason}")));
        let bank: Option<&mut Vec<u8>> = usize::try_from(index).ok().and_then(|index| banks.get_mut(index));
        let Some(bank) = bank else {
            return bad(format!("there are {CONST_BANKS}, 0 to {}", CONST_BANKS - 1));
        };
        let start = offset as usize;
        if start + bytes.len() > CONST_BYTES {
            return bad(format!("{} bytes, largest is {CONST_BYTES}", start + bytes.len()));
        }
        bank.resize(bank.len().max(start + bytes.len()), 0);
        bank[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    };
    let own = |part: &&ConstPart| Some(part.bank) == needs.compiler_bank;
    for part in needs.consts.iter().filter(|part| !own(part)) {
        put(part.bank, part.offset, &part.bytes)?;
    }
    for (index, bytes) in &launch.consts {
        put(*index, 0, bytes)?;
    }
    for part in needs.consts.iter().filter(own) {
        put(part.bank, part.offset, &part.bytes)?;
    }
    Ok(banks)
}

/// Slots by the names of [`Launch::registers`].
fn named_slots(
    function: &Function,
    aliases: &[RegisterAlias],
    lanes: u32,
    launch: &Launch,
) -> Result<Vec<(Slot, Vec<u64>)>, Error> {
    let mut slots = Vec::new();
    for (name, values) in &launch.registers {
        slots.extend(register_slots(function, aliases, lanes, name, values)?);
    }
    Ok(slots)
}

/// The slot values for a register's values. The name of a register with parts (`c0` for `c0.z`, `c0.s`, `c0.c`, `c0.o`)
/// sets the parts from its bits, the lowest bit first in that order.
pub fn register_slots(
    function: &Function,
    aliases: &[RegisterAlias],
    lanes: u32,
    name: &str,
    values: &[u64],
) -> Result<Vec<(Slot, Vec<u64>)>, Error> {
    let find = |name: &str| function.slots.iter().position(|slot| slot.name == name).map(Slot::new);
    let bad = |reason: String| Error::Launch(format!("register {name}: {reason}"));
    let check = |bits: u32| match values.iter().find(|&&value| bits < 64 && value >> bits != 0) {
        Some(value) => Err(bad(format!("{value:#x} has more than {bits} bits"))),
        None => Ok(()),
    };
    let one = || match values {
        &[value] => Ok(value),
        values => Err(bad(format!("{} values, a scalar register has one", values.len()))),
    };
    if let Some(alias) = aliases.iter().find(|alias| alias.name == *name) {
        let value = one()?;
        check(alias.bits)?;
        return Ok(alias_slots(alias, value, lanes));
    }
    if values.len() != 1 && values.len() != lanes as usize {
        return Err(bad(format!("{} values, needs one or one a lane ({lanes})", values.len())));
    }
    // Slots whose name starts with `#` are internal; the guest has no such register.
    if let Some(slot) = find(name).filter(|_| !name.starts_with('#')) {
        let data = &function.slots[slot.index()];
        check(data.ty.scalar.bits())?;
        if let Some(value) = values.iter().find(|&&value| data.umax.is_some_and(|max| value > max.into())) {
            return Err(bad(format!("{value:#x} is more than {:#x}", data.umax.unwrap_or_default())));
        }
        if data.ty.uniform {
            one()?;
        }
        return Ok(vec![(slot, values.to_vec())]);
    }
    let parts: Vec<Slot> = FLAG_PARTS.iter().filter_map(|part| find(&format!("{name}.{part}"))).collect();
    if parts.len() != FLAG_PARTS.len() {
        return Err(bad("the program has no such register".into()));
    }
    check(FLAG_PARTS.len() as u32)?;
    let of = |bit: usize| values.iter().map(|value| value >> bit & 1).collect();
    Ok(parts.into_iter().enumerate().map(|(bit, part)| (part, of(bit))).collect())
}

/// The slot values of an alias for a value of its register.
fn alias_slots(alias: &RegisterAlias, value: u64, lanes: u32) -> Vec<(Slot, Vec<u64>)> {
    let value = value & alias.writable;
    match &alias.parts {
        AliasParts::Slot(slot) => vec![(*slot, vec![value])],
        AliasParts::LaneBits(masks) => {
            let bit = |bit: u32| if bit < 64 { value >> bit & 1 } else { 0 };
            let of = |mask: usize| (0..lanes).map(|lane| bit(mask as u32 * lanes + lane)).collect();
            masks.iter().enumerate().map(|(mask, &slot)| (slot, of(mask))).collect()
        }
    }
}

/// The register value of an alias. `read` returns a slot's value in a lane.
pub fn alias_value(alias: &RegisterAlias, lanes: u32, read: impl Fn(Slot, u32) -> u64) -> u64 {
    let value = match &alias.parts {
        AliasParts::Slot(slot) => read(*slot, 0),
        AliasParts::LaneBits(masks) => {
            let bits = masks.iter().flat_map(|&mask| (0..lanes).map(move |lane| (mask, lane)));
            let bits = bits.take(64).enumerate();
            bits.fold(0, |all, (bit, (mask, lane))| all | (read(mask, lane) & 1) << bit)
        }
    };
    value & alias.writable | alias.always
}

/// Flags of a condition register, lowest bit first (docs/hardware/tesla.md section 6).
pub const FLAG_PARTS: [&str; 4] = ["z", "s", "c", "o"];

/// How a value of a scalar type is stored in the frame: a truth value is 0 or -1.
pub fn frame_bits(scalar: Scalar, value: u64) -> u64 {
    match scalar {
        Scalar::I1 => {
            if value & 1 != 0 {
                0xffff_ffff
            } else {
                0
            }
        }
        other => value & other.bit_mask(),
    }
}

#[cfg(test)]
#[path = "setup_tests.rs"]
mod tests;

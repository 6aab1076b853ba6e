//! Checks a launch and turns it into a [`Plan`]: everything that blocks start with. An invalid launch is an error here.

use super::locks::Locks;
use super::parts::{Part, parts};
use super::samplers::Samplers;
use crate::memory::window::Windows;
use crate::memory::window_access;
use crate::stage::StageRun;
use crate::{Axis, Error, Launch, LaunchError};
use std::hash::{Hash, Hasher};
use std::ops::Range;
use warpjit_ir::{Builtin, Function, HeaderField, Slot, Space, TextureTables};

mod arguments;
mod banks;
mod blocks;
mod needs;
mod registers;
mod segments;

pub use arguments::{UserWords, extend_user_data, user_words};
use arguments::{lay_out, place_in_shared, user_data};
use banks::bind_consts;
pub use banks::{Bank, CONST_BYTES, SLACK_BYTES};
use blocks::depends_on_block;
pub use needs::Needs;
use registers::named_slots;
pub use registers::{FLAG_PARTS, alias_value, frame_bits, register_slots};
pub use segments::SegmentPart;
use segments::Segments;

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

fn check_axes(what: &'static str, unit: &'static str, size: [u32; 3], most: [u32; 3]) -> Result<(), Error> {
    for (number, axis) in Axis::ALL.into_iter().enumerate() {
        let (found, limit) = (size[number], most[number]);
        if found == 0 || found > limit {
            return Err(LaunchError::Size { what, unit, size, axis, found, limit }.into());
        }
    }
    Ok(())
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
            return Err(LaunchError::StageArguments { name: needs.name.to_owned() }.into());
        }
        // A graphics stage finds nothing in its memory but inputs.
        let header_fields: &[HeaderField] = if stage.is_none() { &abi.header } else { &[] };
        let threads = product(block);
        let lanes = stage.as_ref().map_or(abi.warp_lanes, StageRun::lanes);
        if stage.is_none() && threads > u64::from(abi.max_threads) {
            return Err(LaunchError::BlockThreads { block, threads, limit: abi.max_threads }.into());
        }
        let threads = threads as u32;
        // If the guest reads the number of threads in the grid, it must fit into 32 bits.
        for (axis, name) in Axis::ALL.into_iter().enumerate() {
            let threads = u64::from(grid[axis]) * u64::from(block[axis]);
            let read = header_fields.iter().any(|field| matches!(field.value, Builtin::GridThreads(_)));
            if read && threads > u32::MAX.into() {
                return Err(LaunchError::GridThreads { grid, axis: name, threads, limit: u32::MAX }.into());
            }
        }
        let (grid_start, last) = match &stage {
            None => (launch.grid_start, last_block(launch)?),
            Some(_) => ([0; 3], block),
        };
        for (axis, name) in Axis::ALL.into_iter().enumerate() {
            let (end, most) = (u64::from(grid_start[axis]) + u64::from(grid[axis]), abi.max_grid[axis]);
            if end > most.into() {
                return Err(
                    LaunchError::GridEnd { grid, start: grid_start, axis: name, end, limit: most }.into()
                );
            }
        }
        let total = product(grid);
        let blocks = launch.blocks.clone().unwrap_or(0..total);
        if blocks.start > blocks.end || blocks.end > total {
            let Range { start, end } = blocks;
            return Err(LaunchError::Blocks { start, end, total }.into());
        }
        let limit = |what: &'static str, found: u64, limit: u32, unit: &'static str| {
            if found > u64::from(limit) {
                let name = needs.name.to_owned();
                return Err(LaunchError::Resource { name, what, unit, found, limit });
            }
            Ok(())
        };
        limit("of a thread", needs.registers.into(), abi.max_registers, "registers")?;
        limit("of local memory a thread", needs.local_bytes.into(), abi.max_local_bytes, "bytes")?;

        let (launch_args, shared_end) = place_in_shared(&launch.args, needs)?;
        let args = lay_out(&launch_args, needs)?;
        if args.len() > abi.params.max_bytes as usize {
            let (bytes, limit) = (args.len(), abi.params.max_bytes);
            return Err(LaunchError::ArgumentBytes { bytes, limit }.into());
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
            lanes,
            full_warps: abi.full_warps,
            warps: threads.div_ceil(lanes),
            blocks,
            shared: vec![0; shared_bytes as usize],
            block_fields: Vec::new(),
            local_bytes: needs.local_bytes,
            consts: Vec::new(),
            windows: Windows::new(&launch.globals)?,
            segments: Segments::new(needs, function, threads.div_ceil(lanes), launch.scratch_ring)?,
            locks: Locks::default(),
            user_data: user_data(needs, function, launch)?,
            slots: named_slots(function, needs.aliases, lanes, launch)?,
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
            let (found, limit) = (launch.shared.len(), plan.shared.len());
            return Err(LaunchError::SharedBytes { found, limit }.into());
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
}

/// The sizes of the last blocks along each axis.
fn last_block(launch: &Launch) -> Result<[u32; 3], Error> {
    let mut last = launch.block;
    for (axis, name) in Axis::ALL.into_iter().enumerate() {
        let own = launch.last_block[axis];
        if own > last[axis] {
            return Err(LaunchError::LastBlock { axis: name, found: own, limit: last[axis] }.into());
        }
        last[axis] = if own == 0 { last[axis] } else { own };
    }
    Ok(last)
}

#[cfg(test)]
mod tests;

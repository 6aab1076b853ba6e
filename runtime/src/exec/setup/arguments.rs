//! Arguments and user data of a launch: checks them, lays them out, and changes those of a launch that has been set up (for launches that
//! are prepared once and run many times).

use super::banks::{Bank, CONST_BANKS, CONST_BYTES, SLACK_BYTES};
use super::blocks::depends_on_block;
use super::{HeaderField, Locks, Needs, Plan, check_axes, product};
use crate::memory::window_access;
use crate::{Arg, Axis, ConstPart, Error, Launch, LaunchError};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use warpjit_ir::{Builtin, Function, SlotInit, Space};

/// Alignment of what an argument points to in shared memory.
const SHARED_ARG_ALIGN: u64 = 16;

/// Lays arguments out: where the container says, or in order, each at its natural alignment.
pub(super) fn lay_out(args: &[Arg], needs: &Needs<'_>) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    if let Some(params) = needs.params {
        if args.len() != params.len() {
            let (name, wanted, found) = (needs.name.to_owned(), params.len(), args.len());
            return Err(LaunchError::ArgumentCount { name, wanted, found }.into());
        }
        for (number, (arg, &(offset, size))) in args.iter().zip(params).enumerate() {
            if arg.bytes.len() != size as usize {
                let (name, found) = (needs.name.to_owned(), arg.bytes.len());
                return Err(LaunchError::ArgumentSize { name, number, wanted: size, found }.into());
            }
            let start = offset as usize;
            bytes.resize(bytes.len().max(start + arg.bytes.len()), 0);
            bytes[start..start + arg.bytes.len()].copy_from_slice(&arg.bytes);
        }
        return Ok(bytes);
    }
    for (number, arg) in args.iter().enumerate() {
        if !arg.align.is_power_of_two() || arg.align > 64 {
            return Err(LaunchError::ArgumentAlign { number, align: arg.align }.into());
        }
        bytes.resize(bytes.len().next_multiple_of(arg.align), 0);
        bytes.extend_from_slice(&arg.bytes);
    }
    Ok(bytes)
}

/// Gives arguments that point to dynamic shared memory their addresses, after the kernel's own shared memory. Returns
/// the arguments and the end of shared memory.
pub(super) fn place_in_shared<'a>(
    args: &'a [Arg],
    needs: &Needs<'_>,
) -> Result<(Cow<'a, [Arg]>, u64), Error> {
    let mut end = u64::from(needs.shared_bytes);
    if args.iter().all(|arg| arg.shared.is_none()) {
        return Ok((Cow::Borrowed(args), end));
    }
    if needs.abi.params.space == Space::Shared {
        return Err(LaunchError::SharedPointers { name: needs.name.to_owned() }.into());
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

/// Checks that the launch gives no more user data than the program takes.
pub(super) fn user_data(needs: &Needs<'_>, function: &Function, launch: &Launch) -> Result<Vec<u32>, Error> {
    let numbers = function.slots.iter().filter_map(|slot| match slot.init {
        SlotInit::Builtin(Builtin::UserData(number)) => Some(usize::from(number) + 1),
        _ => None,
    });
    let known = needs.known_user_data.iter().map(|&(number, _)| usize::from(number) + 1);
    let most = numbers.chain(known).max().unwrap_or(0);
    let (given, name) = (launch.user_data.len(), needs.name);
    if given > most {
        return Err(LaunchError::UserData { name: name.to_owned(), found: given, limit: most }.into());
    }
    for &(number, known) in needs.known_user_data {
        let given = launch.user_data.get(usize::from(number)).copied().unwrap_or(known);
        if given != known {
            return Err(LaunchError::UserDataWord {
                name: name.to_owned(),
                number,
                found: given,
                wanted: known,
            }
            .into());
        }
    }
    let mut words = launch.user_data.clone();
    // A word that the program was loaded for and the launch does not give has that value all the same.
    let known = needs.known_user_data.iter().map(|&(number, _)| usize::from(number) + 1);
    extend_user_data(needs, &mut words, 0, known.max().unwrap_or(0));
    Ok(words)
}

/// Words of a warp's frame that hold a word of user data at the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserWords {
    /// The number of the word of user data.
    pub number: usize,
    /// Where it is in the frame.
    pub frame: Range<usize>,
}

/// Where a kernel has its user data at the start.
pub fn user_words(function: &Function) -> Vec<UserWords> {
    let (offsets, _) = function.frame_layout();
    let slots = function.slots.iter().zip(&offsets);
    slots
        .filter_map(|(slot, &offset)| match slot.init {
            SlotInit::Builtin(Builtin::UserData(number)) => {
                let lanes = if slot.ty.uniform { 1 } else { function.lanes as usize };
                let start = offset as usize / 4;
                let words = slot.ty.scalar.frame_bytes() / 4 * lanes;
                Some(UserWords { number: number.into(), frame: start..start + words })
            }
            _ => None,
        })
        .collect()
}

/// Extends user data, which is in `words` from `start` on, to `count` words: those that the program was loaded for, else 0.
pub fn extend_user_data(needs: &Needs<'_>, words: &mut Vec<u32>, start: usize, count: usize) {
    let end = start.saturating_add(count);
    let had = words.len();
    if had >= end {
        return;
    }
    words.resize(end, 0);
    for &(number, known) in needs.known_user_data {
        let at = start + usize::from(number);
        if (had..end).contains(&at) {
            words[at] = known;
        }
    }
}

impl Plan {
    /// A plan of the same launch with the same arguments, of which nothing is mapped. Not for graphics stages, whose batches are
    /// another's.
    pub fn again(&self) -> Plan {
        Plan {
            grid: self.grid,
            block: self.block,
            threads: self.threads,
            lanes: self.lanes,
            full_warps: self.full_warps,
            warps: self.warps,
            blocks: self.blocks.clone(),
            shared: self.shared.clone(),
            block_fields: self.block_fields.clone(),
            local_bytes: self.local_bytes,
            consts: self.consts.clone(),
            windows: self.windows.clone(),
            segments: self.segments.again(),
            locks: Locks::default(),
            user_data: self.user_data.clone(),
            slots: self.slots.clone(),
            textures: self.textures.clone(),
            samplers: crate::exec::samplers::Samplers::default(),
            max_steps: self.max_steps,
            stage: None,
            args_bytes: self.args_bytes,
            parts: self.parts.clone(),
            start: self.start,
            first: self.first,
            extent: self.extent,
            size: self.size,
            may_pause: self.may_pause,
        }
    }

    /// Bytes of the arguments, as they were laid out.
    pub fn args_bytes(&self) -> usize {
        self.args_bytes
    }

    /// The user data.
    pub fn user_data(&self) -> &[u32] {
        &self.user_data
    }

    /// Overwrites bytes in memory that a launch sets up. What is beyond the end of a space is dropped, as in [`Plan::new`].
    fn rewrite(&mut self, space: Space, offset: usize, bytes: &[u8]) {
        let place = match space {
            Space::Shared => self.shared.get_mut(offset..offset + bytes.len()),
            Space::Const(bank) => {
                let Some(bank) = self.consts.get_mut(usize::from(bank)) else { return };
                let end = (offset + bytes.len()).min(CONST_BYTES);
                bank.contents().get_mut(offset..end).filter(|place| place.len() == bytes.len())
            }
            Space::Global(segment) => return self.segments.put(segment, offset, bytes),
            Space::Local => None,
        };
        if let Some(place) = place {
            place.copy_from_slice(bytes);
        }
    }

    /// Overwrites a part of the arguments, by its offset from their start.
    pub fn set_args(&mut self, needs: &Needs<'_>, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        if offset.checked_add(bytes.len()).is_none_or(|end| end > self.args_bytes) {
            let (bytes, limit) = (bytes.len(), self.args_bytes);
            return Err(LaunchError::PreparedArguments { offset, bytes, limit }.into());
        }
        let params = &needs.abi.params;
        self.rewrite(params.space, params.offset as usize + offset, bytes);
        Ok(())
    }

    /// Appends the arguments to `out`.
    pub fn read_args(&self, needs: &Needs<'_>, out: &mut Vec<u8>) {
        let end = out.len() + self.args_bytes;
        let start = needs.abi.params.offset as usize;
        let range = start..start + self.args_bytes;
        let place = match needs.abi.params.space {
            Space::Shared => self.shared.get(range),
            Space::Const(bank) => self.consts.get(usize::from(bank)).and_then(|bank| bank.bytes().get(range)),
            Space::Global(segment) => self.segments.initial(segment).and_then(|bytes| bytes.get(range)),
            Space::Local => None,
        };
        out.extend_from_slice(place.unwrap_or(&[]));
        out.resize(end, 0);
    }

    /// Overwrites words of user data. `most` is how many the program takes.
    pub fn set_user_data(
        &mut self,
        needs: &Needs<'_>,
        first: usize,
        words: &[u32],
        most: usize,
    ) -> Result<(), Error> {
        let end = first.saturating_add(words.len());
        if end > most {
            return Err(LaunchError::PreparedUserData { end, limit: most }.into());
        }
        for &(number, known) in needs.known_user_data {
            let at = usize::from(number).checked_sub(first);
            let given = at.and_then(|at| words.get(at)).copied().unwrap_or(known);
            if given != known {
                let name = needs.name.to_owned();
                return Err(LaunchError::UserDataWord { name, number, found: given, wanted: known }.into());
            }
        }
        extend_user_data(needs, &mut self.user_data, 0, end);
        self.user_data[first..end].copy_from_slice(words);
        Ok(())
    }

    /// Overwrites a part of a const bank. What the launch itself and the container put there stays.
    pub fn set_const(
        &mut self,
        needs: &Needs<'_>,
        bank: u32,
        offset: u32,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let Some(number) = u8::try_from(bank).ok().filter(|&bank| usize::from(bank) < CONST_BANKS) else {
            return Err(LaunchError::NoConstBank { bank, limit: CONST_BANKS }.into());
        };
        let end = (offset as usize).saturating_add(bytes.len());
        if end > CONST_BYTES {
            return Err(LaunchError::ConstBytes { bank, bytes: end, limit: CONST_BYTES }.into());
        }
        if number == window_access::BANK && self.windows.words().is_some() {
            return Err(LaunchError::ConstOfWindows { bank }.into());
        }
        let mut args = Vec::new();
        if needs.abi.params.space == Space::Const(number) {
            self.read_args(needs, &mut args);
        }
        self.rewrite(Space::Const(number), offset as usize, bytes);
        let own = |part: &&ConstPart| part.bank == bank && needs.compiler_bank == Some(bank);
        for part in needs.consts.iter().filter(own) {
            self.rewrite(Space::Const(number), part.offset as usize, &part.bytes);
        }
        if self.stage.is_none() {
            let fields = needs.abi.header.iter().filter(|field| field.space == Space::Const(number));
            for field in fields {
                self.write_header(field);
            }
        }
        self.rewrite(needs.abi.params.space, needs.abi.params.offset as usize, &args);
        Ok(())
    }

    /// Writes a header field that is the same in all blocks.
    fn write_header(&mut self, field: &HeaderField) {
        let value = self.builtin(field.value, 0, 0, 0).to_le_bytes();
        let bytes = &value[..usize::from(field.bytes).min(4)];
        self.rewrite(field.space, field.offset as usize, bytes);
    }

    /// Checks a grid against the chip.
    pub fn check_grid(&self, needs: &Needs<'_>, grid: [u32; 3]) -> Result<(), Error> {
        let abi = needs.abi;
        check_axes("grid", "blocks", grid, abi.max_grid)?;
        for (axis, &limit) in abi.max_grid.iter().enumerate() {
            let end = u64::from(self.start[axis]) + u64::from(grid[axis]);
            if end > limit.into() {
                let axis = Axis::ALL[axis];
                return Err(LaunchError::GridEnd { grid, start: self.start, axis, end, limit }.into());
            }
        }
        for (axis, name) in Axis::ALL.into_iter().enumerate() {
            let threads = u64::from(grid[axis]) * u64::from(self.block[axis]);
            let read = abi.header.iter().any(|field| matches!(field.value, Builtin::GridThreads(_)));
            if read && threads > u32::MAX.into() {
                return Err(LaunchError::GridThreads { grid, axis: name, threads, limit: u32::MAX }.into());
            }
        }
        Ok(())
    }

    /// Changes the grid, and which of its blocks are run (`None`: all).
    pub fn set_grid(
        &mut self,
        needs: &Needs<'_>,
        grid: [u32; 3],
        blocks: Option<Range<u64>>,
    ) -> Result<(), Error> {
        let abi = needs.abi;
        self.check_grid(needs, grid)?;
        let total = product(grid);
        let blocks = blocks.unwrap_or(0..total);
        if blocks.start > blocks.end || blocks.end > total {
            let Range { start, end } = blocks;
            return Err(LaunchError::Blocks { start, end, total }.into());
        }
        (self.grid, self.extent, self.first, self.blocks) = (grid, grid, self.start, blocks);
        for field in &abi.header {
            if field.space != Space::Shared || !depends_on_block(field.value) {
                self.write_header(field);
            }
        }
        Ok(())
    }
}

impl Bank {
    /// The contents with the slack, to write them. They are copied if others share them.
    fn contents(&mut self) -> &mut [u8] {
        if let Bank::Empty = self {
            *self = Bank::Filled(Arc::new(vec![0; CONST_BYTES + SLACK_BYTES]));
        }
        match self {
            Bank::Filled(bytes) => Arc::make_mut(bytes).as_mut_slice(),
            Bank::Empty => &mut [],
        }
    }
}

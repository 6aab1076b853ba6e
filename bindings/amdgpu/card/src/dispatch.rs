//! Compute dispatches: reads from the card's registers what a dispatch packet starts, and makes a [`Launch`] of it.
//!
//! In: the COMPUTE registers and the words of the packet. Out: a [`Dispatch`] (grid, code address, resources, user data), and from that
//! the launch that the runtime runs.

use crate::Card;
use crate::chip::Chip;
use warpjit_frontend::gcn::abi::tmpring;
use warpjit_runtime::{Isa, Launch, Memory, Program, ProgramOptions, TextureTables};

/// Registers of dispatches, by dword address.
mod register {
    pub const START: u32 = 0xb810 / 4;
    pub const THREADS: u32 = 0xb81c / 4;
    pub const CODE: u32 = 0xb830 / 4;
    pub const RSRC1: u32 = 0xb848 / 4;
    pub const RSRC2: u32 = 0xb84c / 4;
    pub const TMPRING_SIZE: u32 = 0xb860 / 4;
    pub const USER_DATA: u32 = 0xb900 / 4;
    /// Border colours of dispatches: address / 256. Gfx6 has it elsewhere.
    pub const BORDER_COLORS: u32 = 0x3_0e00 / 4;
    pub const BORDER_COLORS_6: u32 = 0x950c / 4;
}

/// Bits of the initiator.
const PARTIAL_GROUPS: u32 = 1 << 1;
const START_AT_0: u32 = 1 << 2;
const SIZE_IN_THREADS: u32 = 1 << 5;

/// What a dispatch starts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dispatch {
    /// Groups along each axis.
    pub grid: [u32; 3],
    /// Coordinates of the first.
    pub start: [u32; 3],
    /// Threads of a group.
    pub block: [u32; 3],
    /// Threads of the last group along each axis; 0: as many as of all others.
    pub last_block: [u32; 3],
    /// Address of the first instruction.
    pub code: u64,
    /// COMPUTE_PGM_RSRC1.
    pub rsrc1: u32,
    /// COMPUTE_PGM_RSRC2.
    pub rsrc2: u32,
    /// COMPUTE_TMPRING_SIZE.
    pub tmpring_size: u32,
    /// COMPUTE_USER_DATA.
    pub user_data: Vec<u32>,
    /// Where border colours are, if anywhere.
    pub border_colors: Option<u64>,
}

impl Dispatch {
    /// By registers. `None`: it has no groups.
    pub fn new(
        chip: &Chip,
        size: [u32; 3],
        initiator: u32,
        register: impl Fn(u32) -> u32,
    ) -> Option<Dispatch> {
        let axes = [0, 1, 2];
        let threads = axes.map(|axis| register(register::THREADS + axis));
        let block = threads.map(|threads| threads & 0xffff);
        let mut last_block = threads.map(|threads| threads >> 16);
        if initiator & PARTIAL_GROUPS == 0 {
            last_block = [0; 3];
        }
        let start = match initiator & START_AT_0 {
            0 => axes.map(|axis| register(register::START + axis)),
            _ => [0; 3],
        };
        // The packet gives the end along each axis.
        let mut grid = [0; 3];
        for axis in 0..3 {
            let mut end = size[axis];
            if initiator & SIZE_IN_THREADS != 0 && block[axis] != 0 {
                let rest = end % block[axis];
                if rest != 0 {
                    last_block[axis] = rest;
                }
                end = end.div_ceil(block[axis]);
            }
            grid[axis] = end.saturating_sub(start[axis]);
            if last_block[axis] >= block[axis] {
                last_block[axis] = 0;
            }
        }
        if grid.contains(&0) || block.contains(&0) {
            return None;
        }
        let rsrc2 = register(register::RSRC2);
        let users = (rsrc2 >> 1 & 31).min(16);
        let low = register(register::CODE);
        let high = register(register::CODE + 1) & 0xff;
        let colors = if chip.generation == 6 { register::BORDER_COLORS_6 } else { register::BORDER_COLORS };
        let colors = register(colors);
        Some(Dispatch {
            grid,
            start,
            block,
            last_block,
            code: u64::from(low) << 8 | u64::from(high) << 40,
            rsrc1: register(register::RSRC1),
            rsrc2,
            tmpring_size: register(register::TMPRING_SIZE),
            user_data: (0..users).map(|word| register(register::USER_DATA + word)).collect(),
            border_colors: (colors != 0).then_some(u64::from(colors) << 8),
        })
    }

    /// Whether waves have scratch memory.
    pub fn has_scratch(&self) -> bool {
        self.rsrc2 & 1 != 0
    }

    /// Threads of whole groups.
    pub fn threads(&self) -> u64 {
        self.grid.iter().chain(&self.block).fold(1, |count: u64, &n| count.saturating_mul(n.into()))
    }

    /// How its program is loaded.
    pub fn options(&self, card: &Card) -> ProgramOptions {
        ProgramOptions::new(Isa::Gcn)
            .chip(Some(card.model))
            .raw(true)
            .rsrc1(Some(self.rsrc1))
            .rsrc2(Some(self.rsrc2))
    }

    /// The launch that it is.
    pub fn launch(&self, card: &Card) -> Launch {
        let old = card.chip().generation < 9;
        Launch::default()
            .grid(self.grid)
            .block(self.block)
            .grid_start(self.start)
            .last_block(self.last_block)
            .user_data(self.user_data.clone())
            .scratch_ring(self.has_scratch().then(|| tmpring(self.tmpring_size)))
            .textures(TextureTables {
                tile_modes: old.then(|| Box::new(card.chip().tile_modes())),
                macrotile_modes: old.then(|| Box::new(card.chip().macrotile_modes())),
                address_config: Some(card.chip().address_config),
                border_colors: self.border_colors,
                ..TextureTables::default()
            })
    }
}

/// A number that the code of a program gives: kernels are called by it.
pub(crate) fn hash(memory: &Memory, program: &Program) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for range in program.code_ranges() {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        // Code that has gone meanwhile counts as zeros.
        let _ = memory.read(range.start, &mut bytes);
        for byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::CHIPS;

    fn dispatch(size: [u32; 3], initiator: u32, more: &[(u32, u32)]) -> Option<Dispatch> {
        let usual = [
            (register::THREADS, 64 | 10 << 16),
            (register::THREADS + 1, 1 | 1 << 16),
            (register::THREADS + 2, 1 | 1 << 16),
        ];
        let find = |at| {
            more.iter().chain(&usual).find(|(register, _)| *register == at).map_or(0, |(_, value)| *value)
        };
        Dispatch::new(&CHIPS[3], size, initiator, find)
    }

    #[test]
    fn grids() {
        let whole = dispatch([3, 1, 1], 1 | START_AT_0, &[]).unwrap();
        assert_eq!((whole.grid, whole.block, whole.last_block), ([3, 1, 1], [64, 1, 1], [0; 3]));
        let partial = dispatch([3, 1, 1], 1 | PARTIAL_GROUPS, &[]).unwrap();
        assert_eq!(partial.last_block, [10, 0, 0]);
        let later = dispatch([3, 1, 1], 1, &[(register::START, 2)]).unwrap();
        assert_eq!((later.start, later.grid), ([2, 0, 0], [1, 1, 1]));
        let threads = dispatch([130, 1, 1], 1 | SIZE_IN_THREADS, &[]).unwrap();
        assert_eq!((threads.grid, threads.last_block), ([3, 1, 1], [2, 0, 0]));
        assert_eq!(dispatch([0, 1, 1], 1, &[]), None);
        assert_eq!(dispatch([1, 1, 1], 1, &[(register::START, 1)]), None);
    }

    #[test]
    fn registers() {
        let more = [
            (register::CODE, 0x1234),
            (register::CODE + 1, 0xff_ff01),
            (register::RSRC2, 2 << 1 | 1),
            (register::USER_DATA + 1, 7),
            (register::USER_DATA + 2, 8),
        ];
        let dispatch = dispatch([1, 1, 1], 1, &more).unwrap();
        assert_eq!(dispatch.code, 0x100_0012_3400);
        assert_eq!(dispatch.user_data, [0, 7]);
        assert!(dispatch.has_scratch());
    }
}

//! What the blocks of a launch are told: their coordinates, the active lanes of their warps, launch values, initial shared memory.

use warpjit_ir::Builtin;

use super::{Part, Plan, product};

impl Plan {
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
    fn coordinate(&self, thread: u32, axis: u8) -> u32 {
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
            Builtin::Tid(n) => self.coordinate(thread, n),
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

/// The first `count` lanes.
fn lanes_below(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

pub(super) fn depends_on_block(value: Builtin) -> bool {
    matches!(value, Builtin::Ctaid(_) | Builtin::LinearCtaid)
}

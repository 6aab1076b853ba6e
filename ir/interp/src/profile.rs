//! Counts for a profile: how often each block ran and with how many lanes, and which address patterns its memory accesses had.
//!
//! The counts of a block are taken after its body has run, when the values of all its operations are still in the scratch array.
//! So the body itself costs nothing more where no profile is wanted.

use std::collections::BTreeMap;

use super::code::{Access, BlockCode, Kind, Op};
use super::{Code, effects};
use warpjit_ir_core::entities::Block;
use warpjit_ir_core::eval::pack;
use warpjit_ir_core::function::Terminator;
use warpjit_ir_core::opcodes::Space;

/// What [`super::Scratch::profile`] counts.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Counts of each block.
    pub blocks: Vec<BlockCounts>,
    /// For each instruction whose lanes are given by a lane mask (GCN's EXEC): executions and lanes.
    pub masked: BTreeMap<u32, (u64, u64)>,
    /// Memory accesses, by instruction, space and direction.
    pub accesses: BTreeMap<(u32, AccessKind), AccessCounts>,
}

/// Executions of a block.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct BlockCounts {
    /// By warps.
    pub executions: u64,
    /// Active lanes of all executions.
    pub lanes: u64,
    /// Lanes for which the condition of the terminator held, if it has one.
    pub taken: u64,
    /// Executions after which lanes diverged.
    pub parted: u64,
}

/// The space, direction and width of an access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct AccessKind {
    /// Index of the space in [`super::Stats::SPACES`].
    pub space: u8,
    /// Load, store or both.
    pub direction: Direction,
    /// Bytes of a lane.
    pub bytes: u8,
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes, one lane after the other.
    Atomic,
}

/// Executions of an access by what the addresses of the active lanes are to each other.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AccessCounts {
    /// Side by side in the order of lanes: one vector.
    pub contiguous: u64,
    /// The same in all lanes: one scalar.
    pub same: u64,
    /// Evenly apart, but not side by side.
    pub strided: u64,
    /// Anything else.
    pub scattered: u64,
    /// By no lane at all.
    pub idle: u64,
    /// Executions under a guard, those by no lane among them.
    pub guarded: u64,
    /// Lanes of all executions.
    pub lanes: u64,
    /// Stretches of 64 bytes touched, summed over executions.
    pub lines: u64,
    /// The same if the lanes' bytes lay side by side, those at one address once.
    pub ideal_lines: u64,
}

/// Bytes of a cache line.
const LINE: u64 = 64;

impl AccessCounts {
    /// Executions with at least one lane.
    pub fn executions(&self) -> u64 {
        self.contiguous + self.same + self.strided + self.scattered
    }

    /// Counts one execution with the addresses of its active lanes, as (lane, address) in the order of lanes.
    fn count(&mut self, active: &[(u64, u64)], space: Space, bytes: u8) {
        let bytes = u64::from(bytes);
        let Some(&(first_lane, first)) = active.first() else {
            self.idle += 1;
            return;
        };
        self.lanes += active.len() as u64;
        // Each lane has local memory of its own: what is at one address lies side by side.
        let own = space == Space::Local;
        let apart = |step: u64| {
            active
                .iter()
                .all(|&(lane, at)| at.wrapping_sub(first) == lane.wrapping_sub(first_lane).wrapping_mul(step))
        };
        let step = active.get(1).map_or(0, |&(lane, at)| {
            (at.wrapping_sub(first) as i64).checked_div((lane - first_lane) as i64).unwrap_or(0) as u64
        });
        let kind = if apart(0) {
            if own { &mut self.contiguous } else { &mut self.same }
        } else if apart(bytes) && !own {
            &mut self.contiguous
        } else if apart(step) {
            &mut self.strided
        } else {
            &mut self.scattered
        };
        *kind += 1;
        let mut distinct: Vec<u64> = active.iter().map(|&(_, at)| at).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let count = if own { active.len() } else { distinct.len() } as u64;
        let ideal = (count * bytes).div_ceil(LINE);
        self.ideal_lines += ideal;
        if own {
            self.lines += distinct.len() as u64 * ideal;
            return;
        }
        let mut lines: Vec<u64> =
            distinct.iter().flat_map(|&at| [at / LINE, at.wrapping_add(bytes - 1) / LINE]).collect();
        lines.dedup();
        self.lines += lines.len() as u64;
    }

    /// Adds other executions.
    pub fn add(&mut self, other: &AccessCounts) {
        let AccessCounts { contiguous, same, strided, scattered, idle, guarded, lanes, lines, ideal_lines } =
            other;
        self.contiguous += contiguous;
        self.same += same;
        self.strided += strided;
        self.scattered += scattered;
        self.idle += idle;
        self.guarded += guarded;
        self.lanes += lanes;
        self.lines += lines;
        self.ideal_lines += ideal_lines;
    }
}

impl Profile {
    /// For a function's blocks.
    pub fn new(code: &Code) -> Profile {
        Profile { blocks: vec![BlockCounts::default(); code.blocks.len()], ..Profile::default() }
    }

    /// Adds another thread's counts.
    pub fn add(&mut self, other: &Profile) {
        self.blocks.resize(self.blocks.len().max(other.blocks.len()), BlockCounts::default());
        for (sum, more) in self.blocks.iter_mut().zip(&other.blocks) {
            sum.executions += more.executions;
            sum.lanes += more.lanes;
            sum.taken += more.taken;
            sum.parted += more.parted;
        }
        for (&pc, more) in &other.masked {
            let sum = self.masked.entry(pc).or_default();
            *sum = (sum.0 + more.0, sum.1 + more.1);
        }
        for (&access, more) in &other.accesses {
            self.accesses.entry(access).or_default().add(more);
        }
    }

    /// Counts an execution of a block by the active lanes, whose operations have left `values`; `cond` are the lanes where the
    /// terminator's condition holds, if it has one.
    pub(super) fn count(
        &mut self,
        at: Block,
        block: &BlockCode,
        lanes: usize,
        values: &[u64],
        active: u64,
        cond: Option<u64>,
    ) {
        let line = |offset: u32| &values[offset as usize..offset as usize + lanes];
        if let Some(counts) = self.blocks.get_mut(at.index()) {
            counts.executions += 1;
            counts.lanes += u64::from(active.count_ones());
            counts.taken += cond.map_or(0, |cond| u64::from((cond & active).count_ones()));
            let parted = match (&block.term, cond) {
                (Terminator::BranchIndirect { .. }, _) => block.term_args[0].is_some_and(|offset| {
                    let targets = line(offset);
                    let mut taken = lanes_of(active).map(|lane| targets[lane as usize]);
                    let first = taken.next();
                    taken.any(|target| Some(target) != first)
                }),
                (_, Some(cond)) => cond & active != 0 && !cond & active != 0,
                (_, None) => false,
            };
            counts.parted += u64::from(parted);
        }
        for counted in &block.lane_counts {
            let lanes = u64::from((pack(line(counted.lanes)) & active).count_ones());
            for &pc in &counted.pcs {
                let counts = self.masked.entry(pc).or_default();
                counts.0 += 1;
                counts.1 += lanes;
            }
        }
        for op in &block.ops {
            let Some((access, direction, guard)) = access_of(op) else { continue };
            let mem = access.mem;
            let kind =
                AccessKind { space: super::Stats::space_index(mem.space) as u8, direction, bytes: mem.bytes };
            let concerned = guard.map_or(active, |offset| active & pack(line(offset)));
            let mut all = [0; effects::MAX_LANES];
            // Whether they are aligned does not matter: where not, the block has not come to its end.
            effects::addresses(access, line(op.args[0]), concerned, &mut all);
            let active: Vec<_> = lanes_of(concerned).map(|lane| (lane, all[lane as usize])).collect();
            let counts = self.accesses.entry((op.pc, kind)).or_default();
            counts.guarded += u64::from(guard.is_some());
            counts.count(&active, mem.space, mem.bytes);
        }
    }
}

/// Whether a terminator has a condition or target for each lane.
pub fn is_conditional(term: &Terminator) -> bool {
    matches!(
        term,
        Terminator::Branch { .. }
            | Terminator::BranchIndirect { .. }
            | Terminator::Leave { cond: Some(_), .. }
            | Terminator::Join { cond: Some(_), .. }
    )
}

/// The lanes of a set in order.
fn lanes_of(set: u64) -> impl Iterator<Item = u64> {
    (0..64).filter(move |lane| set >> lane & 1 != 0)
}

/// The access that an operation is, with the offset of its guard.
fn access_of(op: &Op) -> Option<(Access, Direction, Option<u32>)> {
    let (access, direction, guarded, at) = match op.kind {
        Kind::Load(access, guarded) => (access, Direction::Load, guarded, 1),
        Kind::Store(access, guarded) => (access, Direction::Store, guarded, 2),
        Kind::Atomic(access, atomic, guarded) if atomic.takes_two() => {
            (access, Direction::Atomic, guarded, 3)
        }
        Kind::Atomic(access, _, guarded) => (access, Direction::Atomic, guarded, 2),
        Kind::Lock(access, guarded) => (access, Direction::Atomic, guarded, 1),
        Kind::UnlockStore(access, guarded) => (access, Direction::Store, guarded, 2),
        _ => return None,
    };
    Some((access, direction, guarded.then(|| op.args[at])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(addresses: &[(u64, u64)], space: Space, bytes: u8) -> AccessCounts {
        let mut counts = AccessCounts::default();
        counts.count(addresses, space, bytes);
        counts
    }

    fn kinds(c: AccessCounts) -> [u64; 5] {
        [c.contiguous, c.same, c.strided, c.scattered, c.idle]
    }

    fn global(addresses: &[(u64, u64)]) -> AccessCounts {
        counted(addresses, Space::Global(0), 4)
    }

    #[test]
    fn accesses_are_told_apart_by_the_addresses_of_lanes() {
        assert_eq!(kinds(global(&[(0, 8), (1, 12), (2, 16)])), [1, 0, 0, 0, 0]);
        // Lanes that do not take part leave gaps.
        assert_eq!(kinds(global(&[(1, 12), (5, 28)])), [1, 0, 0, 0, 0]);
        assert_eq!(kinds(global(&[(0, 8), (7, 8)])), [0, 1, 0, 0, 0]);
        assert_eq!(kinds(global(&[(3, 8)])), [0, 1, 0, 0, 0]);
        assert_eq!(kinds(global(&[(0, 0), (1, 16), (3, 48)])), [0, 0, 1, 0, 0]);
        assert_eq!(kinds(global(&[(0, 100), (1, 96), (2, 92)])), [0, 0, 1, 0, 0]);
        assert_eq!(kinds(global(&[(0, 8), (1, 4), (2, 12)])), [0, 0, 0, 1, 0]);
        assert_eq!(kinds(global(&[])), [0, 0, 0, 0, 1]);
        assert_eq!(kinds(counted(&[(0, 4), (1, 4)], Space::Local, 4)), [1, 0, 0, 0, 0]);
        assert_eq!(kinds(counted(&[(0, 4), (1, 8)], Space::Local, 4)), [0, 0, 1, 0, 0]);
    }

    #[test]
    fn lines_are_counted_against_what_they_could_be() {
        let lines = |c: AccessCounts| (c.lines, c.ideal_lines, c.lanes);
        let row: Vec<_> = (0..32).map(|lane| (lane, 4096 + 4 * lane)).collect();
        assert_eq!(lines(global(&row)), (2, 2, 32));
        let odd: Vec<_> = row.iter().map(|&(lane, at)| (lane, at + 4)).collect();
        assert_eq!(lines(global(&odd)), (3, 2, 32));
        let column: Vec<_> = (0..32).map(|lane| (lane, 4096 * lane)).collect();
        assert_eq!(lines(global(&column)), (32, 2, 32));
        assert_eq!(lines(global(&[(0, 62)])), (2, 1, 1));
        assert_eq!(lines(counted(&[(0, 4), (1, 4)], Space::Local, 4)), (1, 1, 2));
    }
}

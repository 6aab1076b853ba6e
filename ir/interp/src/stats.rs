//! Optional counts of what the interpreter executed: instructions by group, bytes by address space.

use warpjit_ir_core::opcodes::{Group, Space};

/// Counts gathered where [`super::Scratch::stats`] asks for them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    /// Warp instructions by [`Group`]; a guest instruction counts once, for the operation that says most of it.
    pub groups: [u64; Stats::GROUPS.len()],
    /// Bytes loaded and stored by all lanes, by [`Stats::space_index`]. An atomic counts as both, what the warp accesses once counts
    /// once.
    pub traffic: [(u64, u64); Stats::SPACES.len()],
}

impl Stats {
    /// The groups in the order of [`Stats::groups`].
    pub const GROUPS: [Group; 7] =
        [Group::Int, Group::Float, Group::Convert, Group::Mask, Group::Memory, Group::Atomic, Group::Control];

    /// Names of the spaces in the order of [`Stats::traffic`].
    pub const SPACES: [&'static str; 4] = ["global", "shared", "local", "const"];

    /// Place of a group in [`Stats::groups`].
    pub fn group_index(group: Group) -> usize {
        group as usize
    }

    /// Place of a space in [`Stats::traffic`].
    pub fn space_index(space: Space) -> usize {
        match space {
            Space::Global(_) => 0,
            Space::Shared => 1,
            Space::Local => 2,
            Space::Const(_) => 3,
        }
    }

    /// Adds another thread's counts.
    pub fn add(&mut self, other: &Stats) {
        self.groups.iter_mut().zip(&other.groups).for_each(|(a, b)| *a += b);
        for (a, b) in self.traffic.iter_mut().zip(&other.traffic) {
            a.0 += b.0;
            a.1 += b.1;
        }
    }
}

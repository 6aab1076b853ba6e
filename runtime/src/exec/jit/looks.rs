//! What the blocks of launches look like, as far as code for rows of them is made for that.
//!
//! Code that assumes little fits blocks of many sizes, and what was made for blocks twelve wide would serve those of 64 badly. So blocks are
//! told apart by what would be assumed of them, and each kind has code of its own, as long as there are few.

use std::hash::{Hash, Hasher};

use warpjit_ir::{Scalar, Slot, SlotInit};

use super::shapes::MOST_LANES;
use super::{Jit, WIDE_LANES, lock};
use crate::cache::digest::Digest;

/// Sizes of blocks that are remembered with their kinds.
const MOST_SIZES: usize = 64;

/// Kinds that code is made for, or tried to be, by one process.
const MOST_TRIED: usize = 16;

/// What the blocks of a launch are like, as one of them says.
#[derive(Clone, Copy)]
pub struct BlockLook<'a> {
    /// Frames of its warps, as they start.
    pub frames: &'a [&'a [u32]],
    /// Bytes of shared memory.
    pub shared: usize,
    /// All lanes of every warp take part.
    pub whole: bool,
    /// Threads along each axis. The frames of one size are the same but for what all warps have in common.
    pub threads: [u32; 3],
}

/// Threads along each axis, and whether all lanes of all warps take part: blocks of one size are of one kind.
pub(super) type BlockSize = ([u32; 3], bool);

/// Kinds of blocks that there have been.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    of: Vec<(BlockSize, u64)>,
    /// Those that code was made for, or could not be.
    tried: Vec<u64>,
}

impl BlockLook<'_> {
    pub(super) fn size(&self) -> BlockSize {
        (self.threads, self.whole)
    }
}

impl Kinds {
    /// Blocks of this size are of that kind.
    pub fn learn(&mut self, size: BlockSize, kind: u64) {
        if self.of.len() >= MOST_SIZES {
            self.of.clear();
        }
        self.of.push((size, kind));
    }

    /// Whether code may be made for blocks of a kind: it has not been tried, nor have many others.
    pub fn may_try(&self, kind: u64) -> bool {
        self.tried.len() < MOST_TRIED && !self.tried.contains(&kind)
    }

    /// Code for blocks of a kind has been made, or could not be.
    pub fn has_tried(&mut self, kind: u64) {
        self.tried.push(kind);
    }
}

impl Jit {
    /// The kind of blocks: the same for all of which the same is known, whatever the size of a chunk.
    pub(super) fn kind_of(&self, look: BlockLook<'_>) -> u64 {
        if let Some(known) = self.known_kind(look.size()) {
            return known;
        }
        let mut digest = Digest::new();
        look.whole.hash(&mut digest);
        for (number, data) in self.kernel.func.slots.iter().enumerate() {
            if !matches!(data.init, SlotInit::Builtin(_)) {
                continue;
            }
            let slot = Slot::new(number);
            self.is_same(slot, look.frames).hash(&mut digest);
            if data.ty.uniform || data.ty.scalar != Scalar::I32 {
                continue;
            }
            // Lanes that chunks may have.
            let mut lanes = if self.wide { WIDE_LANES } else { 4 };
            while lanes <= self.kernel.func.lanes.min(MOST_LANES as u32) {
                self.shape_of(slot, look.frames, (lanes, true)).map(|found| found.known).hash(&mut digest);
                lanes *= 2;
            }
        }
        let kind = digest.finish();
        lock(&self.kinds).learn(look.size(), kind);
        kind
    }

    /// The kind of blocks of such a size, if there have been any.
    pub(super) fn known_kind(&self, size: BlockSize) -> Option<u64> {
        lock(&self.kinds).of.iter().find(|(known, _)| *known == size).map(|(_, kind)| *kind)
    }
}

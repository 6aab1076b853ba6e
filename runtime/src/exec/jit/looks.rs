//! Groups block sizes into classes: two sizes are in one class if their warps start with the same lane patterns.
//!
//! Each class gets its own grid-row code, up to a limit. Code specialised for 64-wide blocks cannot run 12-wide ones, and code
//! that fits both is slow.

use std::hash::{Hash, Hasher};

use warpjit_ir::{Scalar, Slot, SlotInit};

use super::shapes::MOST_LANES;
use super::{Jit, lock};
use crate::cache::digest::Digest;

/// Most block sizes whose class is remembered.
const MOST_SIZES: usize = 64;

/// Most classes for which one process tries to make code.
const MOST_TRIED: usize = 16;

/// A sample block of a launch, from which the class of all its blocks is found.
#[derive(Clone, Copy)]
pub struct BlockLook<'a> {
    /// The initial frames of its warps.
    pub frames: &'a [&'a [u32]],
    /// Bytes of shared memory.
    pub shared: usize,
    /// Whether all lanes of every warp are active.
    pub whole: bool,
    /// Threads along each axis. The initial frames of blocks of one size differ only in values that all their warps
    /// share.
    pub threads: [u32; 3],
}

/// Threads along each axis, and whether all lanes of all warps are active. Blocks of one size are in one class.
pub(super) type BlockSize = ([u32; 3], bool);

/// The block classes seen so far.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    of: Vec<(BlockSize, u64)>,
    /// Classes for which code was made or could not be made.
    tried: Vec<u64>,
}

impl BlockLook<'_> {
    pub(super) fn size(&self) -> BlockSize {
        (self.threads, self.whole)
    }
}

impl Kinds {
    /// Remembers the class of a block size.
    pub fn learn(&mut self, size: BlockSize, kind: u64) {
        if self.of.len() >= MOST_SIZES {
            self.of.clear();
        }
        self.of.push((size, kind));
    }

    /// Whether code may be made for a class: it has not been tried, and neither have too many others.
    pub fn may_try(&self, kind: u64) -> bool {
        self.tried.len() < MOST_TRIED && !self.tried.contains(&kind)
    }

    /// Records that code for a class was made or could not be made.
    pub fn has_tried(&mut self, kind: u64) {
        self.tried.push(kind);
    }
}

impl Jit {
    /// The class of a block, a digest of its lane patterns for every possible chunk size.
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
            // Every chunk size, in lanes.
            let mut lanes = self.generator.min_chunk_lanes();
            while lanes <= self.kernel.func.lanes.min(MOST_LANES as u32) {
                self.shape_of(slot, look.frames, (lanes, true)).map(|found| found.known).hash(&mut digest);
                lanes *= 2;
            }
        }
        let kind = digest.finish();
        lock(&self.kinds).learn(look.size(), kind);
        kind
    }

    /// The class of blocks of a size, if it is remembered.
    pub(super) fn known_kind(&self, size: BlockSize) -> Option<u64> {
        lock(&self.kinds).of.iter().find(|(known, _)| *known == size).map(|(_, kind)| *kind)
    }
}

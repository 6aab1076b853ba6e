//! Groups block sizes into classes: two sizes are in one class if their warps start with the same lane patterns.
//!
//! Each class gets its own grid-row code, up to a limit. Code specialised for 64-wide blocks cannot run 12-wide ones, and code
//! that fits both is slow.

use std::hash::{Hash, Hasher};

use warpjit_ir::{Scalar, Slot, SlotInit};

use super::assumptions::MOST_LANES;
use super::sample_block::{BlockSize, SampleBlock};
use super::{Jit, lock};
use crate::digest::Digest;

impl Jit {
    /// The class of a block, a digest of its lane patterns for every possible chunk size.
    pub(super) fn class_of(&self, sample: SampleBlock<'_>) -> u64 {
        if let Some(known) = self.known_class(sample.size()) {
            return known;
        }
        let mut digest = Digest::new();
        sample.whole.hash(&mut digest);
        for (number, data) in self.kernel.func.slots.iter().enumerate() {
            if !matches!(data.init, SlotInit::Builtin(_)) {
                continue;
            }
            let slot = Slot::new(number);
            self.is_same(slot, sample.frames).hash(&mut digest);
            if data.ty.uniform || data.ty.scalar != Scalar::I32 {
                continue;
            }
            // Every chunk size, in lanes.
            let mut lanes = self.generator.min_chunk_lanes();
            while lanes <= self.kernel.func.lanes.min(MOST_LANES as u32) {
                self.shape_of(slot, sample.frames, (lanes, true)).map(|found| found.known).hash(&mut digest);
                lanes *= 2;
            }
        }
        let kind = digest.finish();
        lock(&self.kinds).learn(sample.size(), kind);
        kind
    }

    /// The class of blocks of a size, if it is remembered.
    pub(super) fn known_class(&self, size: BlockSize) -> Option<u64> {
        lock(&self.kinds).of(size)
    }
}

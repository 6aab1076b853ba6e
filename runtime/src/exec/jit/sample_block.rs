//! Sample blocks of a launch, and the block classes that were seen. `block_class.rs` finds the class of a block.

/// Most block sizes whose class is remembered.
const MOST_SIZES: usize = 64;

/// Most classes for which one process tries to make code.
const MOST_TRIED: usize = 16;

/// A sample block of a launch, from which the class of all its blocks is found.
#[derive(Clone, Copy)]
pub struct SampleBlock<'a> {
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
pub(super) struct BlockClasses {
    of: Vec<(BlockSize, u64)>,
    /// Classes for which code was made or could not be made.
    tried: Vec<u64>,
}

impl SampleBlock<'_> {
    pub(super) fn size(&self) -> BlockSize {
        (self.threads, self.whole)
    }
}

impl BlockClasses {
    /// The class of a block size, if it is remembered.
    pub fn of(&self, size: BlockSize) -> Option<u64> {
        self.of.iter().find(|(known, _)| *known == size).map(|(_, kind)| *kind)
    }

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

//! What the caller chooses: the host, the chunk, what it knows of slots, how rows of blocks are run.

use std::ops::Range;

use warpjit_ir::{Function, Slot, Value};

use crate::host::Target;
use crate::shape::{Shape, SlotShape};

/// Code for all warps of the blocks of a row: those that differ in their index along the first axis only.
///
/// A kernel comes as pieces ([`Piece`]): regions that all warps of a block run, one warp after the other, before any of them goes
/// on to the next piece. The code's second argument is the first [`crate::RowWarp`] of a block instead of a frame; rows, warps and the
/// block that runs are in the context. It goes on as long as all warps take the same way, all threads of them; where they do not it
/// returns [`crate::PARTED`].
#[derive(Clone, Debug, Default)]
pub struct BlockRow {
    /// By slot; missing ones are [`RowSlot::OfWarp`]. Others than that are written by no piece.
    pub slots: Vec<RowSlot>,
    /// Where shared memory has the block's index.
    pub fields: Vec<RowField>,
    /// Guest addresses that can be read and that nobody writes.
    pub fixed: Vec<Range<u64>>,
    /// Bytes of the frame that each block finds as [`crate::RowWarp::first`] has them: whole words.
    pub restored: Vec<Range<u32>>,
    /// Bytes of the frame that hold the block's index in each word when a block starts, the linear one or that along the row.
    pub indexed: Vec<(Range<u32>, bool)>,
    /// Each block finds shared memory as [`crate::Context::shared_first`] has it, but for `fields`.
    pub copies_shared: bool,
    /// Lanes without a thread keep what their slots hold.
    pub keeps_lanes: bool,
    /// All lanes of every warp take part: nothing asks for [`crate::RowWarp::lanes`].
    pub whole: bool,
}

/// A part of a kernel that all warps of a block run.
#[derive(Clone, Debug)]
pub struct Piece<'a> {
    /// The region, in mask form.
    pub func: &'a Function,
    /// As [`Options::groups`].
    pub groups: u8,
    /// As [`Options::slot_shapes`].
    pub slot_shapes: Vec<Option<Shape>>,
    /// As [`Options::apart`].
    pub apart: Vec<Option<i32>>,
    /// By exit: slots of which only the first lane of each sixteen is stored there. All pieces that follow know a shape of them, and take
    /// the other lanes from that; whoever else wants to see the frame has to put them there. Missing exits have none.
    pub by_firsts: Vec<Vec<Slot>>,
    /// Guest instructions that it counts for.
    pub insts: u32,
    /// By exit, where all warps go that come out there.
    pub ways: Vec<Way>,
    /// Shapes of slots that nothing but a look at each warp can tell, and the lanes of the parts of the warp of which each has it: where
    /// one has not, the code returns [`crate::UNFIT`]. With [`BlockRow::whole`] and without [`SlotShape::apart`] only.
    pub checks: Vec<(Slot, SlotShape)>,
}

/// Where warps go behind an exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// All threads have ended.
    Ended,
    /// To a piece.
    Next(usize),
    /// To one of two pieces, by the exit's condition.
    Branch {
        /// Where it holds in all lanes.
        taken: usize,
        /// Where it holds in none.
        next: usize,
    },
}

impl Way {
    /// The pieces that it leads to.
    pub fn pieces(self) -> impl Iterator<Item = usize> {
        let (first, second) = match self {
            Way::Ended => (None, None),
            Way::Next(n) => (Some(n), None),
            Way::Branch { taken, next } => (Some(taken), Some(next)),
        };
        first.into_iter().chain(second)
    }
}

/// What a slot holds when a block of a row starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RowSlot {
    /// What the frame of the warp says.
    #[default]
    OfWarp,
    /// The same in all warps and lanes of the row.
    Same,
    /// The block's index along the row; an i32.
    Block,
    /// The block's linear index in the grid; an i32.
    LinearBlock,
}

/// A field of shared memory that differs from block to block of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowField {
    /// First byte.
    pub offset: u32,
    /// 1, 2 or 4.
    pub bytes: u8,
    /// The block's linear index, not that along the row.
    pub linear: bool,
}

/// How a region is compiled.
#[derive(Clone, Debug)]
pub struct Options {
    /// For which host.
    pub target: Target,
    /// Vectors of four lanes in a chunk: 1, 2 or 4; with `wide_vectors` 4, 8 or 16.
    pub groups: u8,
    /// One lane is a chunk, its values in scalars; the region is made for that ([`warpjit_ir::passes::one_lane`]). `groups` is 1.
    pub single: bool,
    /// Vectors of 512 bits ([`Target::has_wide_vectors`]); unchecked memory only.
    pub wide_vectors: bool,
    /// Test global accesses against the page table instead of relying on signals.
    pub checked_memory: bool,
    /// The region translates the 64-bit addresses of its loads and stores ([`warpjit_ir::passes::translate`]): with `checked_memory`, the translation
    /// checks them.
    pub translated: bool,
    /// Most bytes of stack that code may take; [`crate::MOST_STACK_BYTES`] unless less is wanted. Where more are needed, there is no code.
    pub most_stack_bytes: u32,
    /// The region may wait for others: behind each chunk its code looks whether the rest of them has been given to another call
    /// ([`crate::Context::split`]).
    pub may_wait: bool,
    /// Count guest instructions.
    pub count: bool,
    /// Tell which code is of which guest instruction ([`crate::RegionCode::pcs`]).
    pub pcs: bool,
    /// Give the code as text too ([`crate::RegionCode::listing`]).
    pub list: bool,
    /// By slot; missing ones are unknown.
    pub slot_shapes: Vec<Option<Shape>>,
    /// By slot with a shape: what each sixteen lanes of a chunk have more than the sixteen before them, modulo 2^32, where that is known.
    /// What grows by `n` from lane to lane over the whole chunk has `16 * n`.
    pub apart: Vec<Option<i32>>,
    /// By block: the lanes that execute it, for `count`; missing ones are not counted.
    pub block_masks: Vec<Option<Value>>,
}

impl Options {
    /// Two groups, unchecked memory, nothing known.
    pub fn new(target: Target) -> Options {
        Options {
            target,
            groups: 2,
            single: false,
            wide_vectors: false,
            checked_memory: false,
            translated: false,
            most_stack_bytes: crate::MOST_STACK_BYTES,
            may_wait: false,
            count: false,
            pcs: false,
            list: false,
            slot_shapes: Vec::new(),
            apart: Vec::new(),
            block_masks: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_shapes_have_in_common_what_both_say() {
        let (even, same) = (Shape::Affine(4), Shape::Uniform);
        let whole = SlotShape::new(even, 32);
        let (near, far) = (SlotShape::apart(even, 32, 0), SlotShape::apart(even, 32, 128));
        let parts = SlotShape::new(even, 16);
        assert_eq!(SlotShape::apart(even, 32, 64), whole);
        for (a, b, want) in [
            (whole, whole, Some(whole)),
            (near, near, Some(near)),
            (near, far, Some(parts)),
            (near, whole, Some(parts)),
            (near, parts, Some(parts)),
            (whole, SlotShape::new(even, 64), Some(whole)),
            // What holds over more lanes holds over fewer.
            (near, SlotShape::apart(even, 64, 0), Some(near)),
            (whole, SlotShape::apart(Shape::Packed(4), 32, 0), Some(parts)),
            (SlotShape::new(Shape::Packed(4), 32), whole, Some(whole)),
            (whole, SlotShape::new(same, 32), None),
            (SlotShape::new(even, 8), near, Some(SlotShape::new(even, 8))),
        ] {
            assert_eq!((a.meet(b), b.meet(a)), (want, want), "{a} and {b}");
        }
        assert_eq!([whole, near, parts].map(|shape| shape.apart_in(32)), [Some(64), Some(0), None]);
        assert_eq!(near.apart_in(64), None);
        assert_eq!([whole, near, parts].map(|shape| shape.is_whole(32)), [true, false, false]);
    }
}

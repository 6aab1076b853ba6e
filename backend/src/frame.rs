//! The size of the warp's frame as compiled code sees it: slot-major, `frame[slot][lane]`, see
//! [`warpjit_ir::Function::frame_layout`].
//!
//! A mask is a word of 0 or -1. A uniform slot's value is in lane 0. Code reads and writes whole vectors, so a frame must be as
//! long as the layout says. Lanes that do not enter keep their values.

use warpjit_ir::Function;

/// Bytes of the frame that a function's code runs on.
pub fn frame_bytes(func: &Function) -> usize {
    func.frame_layout().1 as usize
}

//! The warp's frame as compiled code sees it: slot-major, `frame[slot][lane]`, see
//! [`warpjit_ir::Function::frame_layout`].
//!
//! Masks are words of 0 or -1. A uniform slot's value is its first element. Code reads and writes whole vectors:
//! a frame must be as long as the layout says, and lanes that do not enter keep their values.

use warpjit_ir::Function;

/// Bytes of the frame that a function's code runs on.
pub fn frame_bytes(func: &Function) -> usize {
    func.frame_layout().1 as usize
}

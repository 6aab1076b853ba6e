//! Select, and conversions between masks and words with one bit a lane.

use super::{Kernel, k1};
use crate::function::Imm;
use crate::opcodes::Opcode;
use crate::types::Scalar;

pub(super) fn kernel(op: Opcode, _imm: &Imm, _scalar: Scalar) -> Option<(Kernel, u64)> {
    fn select(d: &mut [u64], cond: &[u64], yes: &[u64], no: &[u64], _: u64) {
        for (((d, &c), &y), &n) in d.iter_mut().zip(cond).zip(yes).zip(no) {
            *d = if c & 1 != 0 { y } else { n };
        }
    }
    match op {
        Opcode::Select => Some((select, 0)),
        Opcode::Splat | Opcode::ChunkSpread => Some((k1!(u64, |a| a), 0)),
        _ => None,
    }
}

/// The set of lanes whose truth value holds.
#[inline]
pub fn pack(lanes: &[u64]) -> u64 {
    lanes.iter().enumerate().fold(0, |set, (lane, &v)| set | (v & 1) << lane)
}

/// All lanes of a warp of 32 or 64 (or fewer) as a set.
#[inline]
pub fn lane_mask(lanes: u32) -> u64 {
    if lanes >= 64 { u64::MAX } else { (1 << lanes) - 1 }
}

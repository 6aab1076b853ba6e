//! Helpers for the tests of all lifters: random numbers, the corpus, and a warp that runs lifted code.

#[path = "../tests/common/corpus.rs"]
pub(crate) mod corpus;

use warpjit_ir::Builtin;
use warpjit_ir::Function;
use warpjit_ir::interp::{Code, Fault, FaultKind, Flow, Scratch, Warp, WarpMemory};
use warpjit_ir::verify::verify;

/// xorshift64*
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 33) % limit
    }
}

/// Verifies a function, runs it with 32 lanes and gives the low words of a slot.
pub(crate) fn run_warp(func: &Function, memory: &mut impl WarpMemory, slot: &str) -> Result<Vec<u32>, Fault> {
    verify(func).unwrap();
    let code = Code::new(func).unwrap();
    let builtin =
        |which: Builtin, lane| if which == Builtin::Tid(0) || which == Builtin::LaneId { lane } else { 0 };
    let mut warp = Warp::new(&code, 0xffff_ffff, builtin);
    let mut scratch = Scratch::new(&code);
    scratch.max_steps = 2000;
    loop {
        match code.run_block(&mut scratch, &mut warp, memory) {
            Flow::Next | Flow::Barrier(_) => {}
            Flow::Ended => break,
            Flow::Fault(fault) => return Err(fault),
        }
    }
    let (offsets, _) = func.frame_layout();
    let at = func.slots.iter().position(|data| data.name == slot).unwrap();
    let scalar = func.slots[at].ty.scalar;
    Ok((0..32).map(|lane| warp.frame.read(offsets[at], scalar, lane) as u32).collect())
}

/// Where a warp met what is no instruction.
pub(crate) fn illegal_at(outcome: Result<Vec<u32>, Fault>) -> u32 {
    let fault = outcome.expect_err("a fault");
    assert_eq!(fault.kind, FaultKind::Illegal);
    fault.pc
}

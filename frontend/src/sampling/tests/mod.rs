//! Generated code in the interpreter against the general engine.

mod ahead;
mod cases;

use warpjit_ir::interp::{Code, Denied, Frame, Scratch, WarpMemory, run_mask_function};
use warpjit_ir::verify::verify;
use warpjit_ir::{Scalar, Space};

use cases::{Case, Random, WORDS};

use super::generate;

/// What the cases take from this crate.
mod api {
    pub use super::super::{Action, Generated, Input, Level, Request, Results};
}

/// An image at address 0 and a sampler's data.
struct Memory<'a> {
    image: &'a [u8],
    data: &'a [u32],
}

impl WarpMemory for Memory<'_> {
    fn load(&mut self, space: Space, _: u32, address: u64, bytes: u8) -> Result<u64, Denied> {
        let mut value = [0; 8];
        for (n, byte) in (address as usize..).zip(&mut value[..usize::from(bytes)]) {
            *byte = match space {
                Space::Global(0) => *self.image.get(n).ok_or(Denied)?,
                Space::Const(0) => self.data.get(n / 4).ok_or(Denied)?.to_le_bytes()[n % 4],
                _ => return Err(Denied),
            };
        }
        Ok(u64::from_le_bytes(value))
    }

    fn store(&mut self, _: Space, _: u32, _: u64, _: u8, _: u64) -> Result<(), Denied> {
        Err(Denied)
    }
}

#[test]
fn code_does_as_the_engine() {
    let rounds = std::env::var("WARPJIT_RANDOM").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let seed = std::env::var("WARPJIT_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut made = 0;
    for round in 0..rounds {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (round + seed * 1_000_003));
        let lanes = if round % 3 == 0 { 64 } else { 32 };
        let Some(mut case) = Case::random(&mut random, lanes) else { continue };
        made += 1;
        let func = generate(case.generated.key(), random.next() & 1 != 0).unwrap();
        verify(&func).unwrap_or_else(|error| panic!("{error}: {:?}", case.generated));
        let code = Code::new(&func).unwrap();
        let (offsets, _) = func.frame_layout();
        let mut frame = Frame::new(code.frame_bytes());
        for (lane, words) in (0..).zip(&case.mailboxes) {
            for (&at, &word) in offsets.iter().zip(words) {
                frame.write(at, Scalar::I32, lane, word.into());
            }
        }
        let active = random.next() | 1;
        let mut memory = Memory { image: &case.image.bytes, data: case.generated.data().words() };
        let mut scratch = Scratch::new(&code);
        let exit = run_mask_function(&code, &mut scratch, &mut frame, active, &mut memory);
        assert!(exit.is_ok(), "round {round}: {exit:?} {:?} {:?}", case.view, case.request);
        for lane in 0..u32::from(lanes) {
            let expected = match active >> lane & 1 {
                0 => case.mailboxes[lane as usize],
                _ => case.expected(lane as usize),
            };
            let found: [u32; WORDS] = std::array::from_fn(|n| match offsets.get(n) {
                Some(&at) => frame.read(at, Scalar::I32, lane) as u32,
                None => case.mailboxes[lane as usize][n],
            });
            case.compare(round, lane as usize, found, expected);
        }
    }
    assert!(made > rounds / 2, "{made} of {rounds}");
}

//! Lifts small programs, runs them in the interpreter, and compares with results worked out by hand from docs/hardware/gcn.md.

mod control;
mod corpus;
mod effects;
mod illegal;
mod lanes;
mod mask;
mod mode;
mod random;
mod scalar;
mod stage;

use std::collections::BTreeMap;

use warpjit_ir::Meter;
use warpjit_ir::interp::{Code, Denied, Fault, Flow, Scratch, Warp, WarpMemory};
use warpjit_ir::verify::verify;
use warpjit_ir::{Builtin, Function, Space};

use super::{Options, lift};
use crate::gcn::front_end::decode_at;
use crate::gcn::{self, Chip, Generation, decode};

/// Memory whose bytes are the low bits of their address; it takes no stores.
pub(super) struct Counting;

impl WarpMemory for Counting {
    fn load(&mut self, _: Space, _: u32, address: u64, bytes: u8) -> Result<u64, Denied> {
        Ok((0..u64::from(bytes)).map(|n| ((address + n) & 0xff) << (8 * n)).sum())
    }

    fn store(&mut self, _: Space, _: u32, _: u64, _: u8, _: u64) -> Result<(), Denied> {
        Ok(())
    }
}

/// Code at an address that is not the offset.
pub(super) fn file(code: &[u8]) -> crate::code::Code<'_> {
    crate::code::Code::of_file(code, 0, 0x1_0000_0000)
}

pub(super) fn options(chip: impl Into<Chip>) -> Options<'static> {
    Options {
        name: "test",
        decode: decode_at,
        chip: chip.into(),
        entry: 0,
        vgprs: 24,
        sgprs: 102,
        mode: 0x3c0,
        lds_bytes: 0,
        scratch_bytes: 0,
        shared_aperture: 0x1000_0000,
        private_aperture: 0x2000_0000,
        preload: &[],
        observed: true,
        jump_targets: &[],
        stage: None,
    }
}

/// A wave that has run.
pub(super) struct Ran {
    func: Function,
    warp: Warp,
    pub(super) fault: Option<Fault>,
}

impl Ran {
    fn at(&self, slot: &str) -> (u32, warpjit_ir::Scalar) {
        let (offsets, _) = self.func.frame_layout();
        let n = self.func.slots.iter().position(|data| data.name == slot);
        let n = n.unwrap_or_else(|| panic!("no slot {slot}"));
        (offsets[n], self.func.slots[n].ty.scalar)
    }

    /// A scalar register.
    pub(super) fn s(&self, number: u32) -> u32 {
        self.named(&format!("s{number}"))
    }

    /// A scalar register of that name.
    pub(super) fn named(&self, name: &str) -> u32 {
        let (at, scalar) = self.at(name);
        self.warp.frame.read(at, scalar, 0) as u32
    }

    /// Two scalar registers.
    pub(super) fn pair(&self, number: u32) -> u64 {
        u64::from(self.s(number + 1)) << 32 | u64::from(self.s(number))
    }

    /// A vector register in a lane.
    pub(super) fn v(&self, number: u32, lane: u32) -> u32 {
        let (at, scalar) = self.at(&format!("v{number}"));
        self.warp.frame.read(at, scalar, lane) as u32
    }
}

/// Assembles and runs a program with registers set before; `v0` is the lane unless it is set.
pub(super) fn run_on(chip: impl Into<Chip>, text: &str, registers: &[(&str, u32)], launched: u64) -> Ran {
    let chip = chip.into();
    run_code(&assemble(chip, text), &options(chip), registers, launched)
}

/// Assembles and runs on all lanes.
pub(super) fn run(chip: impl Into<Chip>, text: &str, registers: &[(&str, u32)]) -> Ran {
    run_on(chip, text, registers, u64::MAX)
}

/// Lifts, verifies and runs a program.
pub(super) fn run_code(code: &[u8], options: &Options<'_>, registers: &[(&str, u32)], launched: u64) -> Ran {
    run_function(
        lift(&file(code), options, &Meter::unlimited()).expect("no limits").function,
        registers,
        launched,
    )
}

/// Verifies and runs a program.
pub(super) fn run_function(func: Function, registers: &[(&str, u32)], launched: u64) -> Ran {
    verify(&func).unwrap();
    let code = Code::new(&func).unwrap();
    let builtin = |which: Builtin, lane| match which {
        Builtin::LaneId => lane,
        Builtin::Launched(0) => launched as u32,
        Builtin::Launched(_) => (launched >> 32) as u32,
        _ => 0,
    };
    let warp = Warp::new(&code, u64::MAX, builtin);
    let mut ran = Ran { func, warp, fault: None };
    let mut values: BTreeMap<String, Vec<u32>> = BTreeMap::from([("v0".into(), (0..64).collect())]);
    for (name, value) in registers {
        values.insert((*name).into(), vec![*value; 64]);
    }
    for (name, value) in values {
        let (at, scalar) = ran.at(&name);
        for (lane, value) in value.into_iter().enumerate() {
            ran.warp.frame.write(at, scalar, lane as u32, value.into());
        }
    }
    let mut scratch = Scratch::new(&code);
    scratch.max_steps = 20_000;
    loop {
        match code.run_block(&mut scratch, &mut ran.warp, &mut Counting) {
            Flow::Next | Flow::Barrier(_) => {}
            Flow::Ended => break,
            Flow::Fault(fault) => {
                ran.fault = Some(fault);
                break;
            }
        }
    }
    ran
}

/// Runs on every generation from the first one named.
pub(super) fn run_from(first: Generation, text: &str, registers: &[(&str, u32)], check: impl Fn(&Ran)) {
    for generation in Generation::ALL.into_iter().filter(|&generation| generation >= first) {
        check(&run(generation, text, registers));
    }
}

pub(super) fn assemble(chip: impl Into<Chip>, text: &str) -> Vec<u8> {
    gcn::assemble(text, chip).unwrap_or_else(|error| panic!("{error}\n{text}")).code
}

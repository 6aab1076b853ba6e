//! Tests code that turns the host's treatment of denormals on and off, against the interpreter: random operations that flush
//! with a few that must not in between, on operands that are often denormal.

mod common;

use common::{Executable, Random, all_options, context, frame};
use warpjit_ir::interp::{Code, Denied, Frame, Scratch, WarpMemory, run_mask_function};
use warpjit_ir::types::Scalar;
use warpjit_ir::{
    Block, Builder, FloatCC, Form, Function, Imm, Opcode, Slot, SlotInit, Space, Terminator, Type, Value,
};

const INPUTS: usize = 4;
const OPERATIONS: usize = 60;

/// No memory.
struct Nothing;

impl WarpMemory for Nothing {
    fn load(&mut self, _: Space, _: u32, _: u64, _: u8) -> Result<u64, Denied> {
        Err(Denied)
    }

    fn store(&mut self, _: Space, _: u32, _: u64, _: u8, _: u64) -> Result<(), Denied> {
        Err(Denied)
    }
}

/// A function of random operations whose results go to slots of their own. One in `keeping` does not flush.
fn function(random: &mut Random, scalar: Scalar, uniform: bool, keeping: usize) -> Function {
    let ty = Type { scalar, uniform };
    let nan = if scalar == Scalar::F64 { 0x7ff8_0000_0000_0000 } else { 0x7fc0_0000 };
    let mut func = Function::new("denormals", Form::Mask, 32);
    let inputs: Vec<Slot> = (0..INPUTS).map(|n| func.add_slot(format!("a{n}"), ty, SlotInit::Zero)).collect();
    let outputs: Vec<Slot> =
        (0..OPERATIONS).map(|n| func.add_slot(format!("r{n}"), ty, SlotInit::Zero)).collect();
    let block = func.add_block(0);
    let mut b = Builder::new(&mut func, block);
    let mut values: Vec<Value> = inputs.iter().map(|&slot| b.get(slot)).collect();
    let mut truths: Vec<Value> = Vec::new();
    let mut made = Vec::new();
    for _ in 0..OPERATIONS {
        let ftz = random.below(keeping) != 0;
        let [x, y, z] = [(); 3].map(|()| values[random.below(values.len())]);
        let cc = FloatCC::ALL[random.below(FloatCC::ALL.len())];
        let value = match random.below(12) {
            0 => b.float(Opcode::Fadd, &[x, y], ftz),
            1 => b.float(Opcode::Fsub, &[x, y], ftz),
            2 | 3 => b.float(Opcode::Fmul, &[x, y], ftz),
            4 => b.float(Opcode::Fdiv, &[x, y], ftz),
            5 => b.same(Opcode::Fma, &[x, y, z], Imm::Ftz(ftz)),
            6 => b.fmin(x, y),
            7 => b.fmax(x, y),
            // Between what is compared, and between others; now and then by an older comparison.
            8 | 9 => {
                let truth = b.fcmp(cc, x, y, ftz);
                truths.push(truth);
                let truth = truths[random.below(truths.len())];
                if random.below(2) == 0 { b.select(truth, x, y) } else { b.select(truth, z, x) }
            }
            10 => b.same(Opcode::Fflush, &[x], Imm::None),
            _ => b.same(Opcode::Fneg, &[x], Imm::None),
        };
        let value = b.fcanon(value, nan);
        values.push(value);
        made.push(value);
    }
    for (slot, value) in outputs.into_iter().zip(made) {
        b.set(slot, value);
    }
    b.func.block_mut(Block(0)).term = Some(Terminator::Return { exit: 0, exited: None, cond: None });
    func
}

/// Bits of a number, often a denormal or one whose products are.
fn bits(random: &mut Random, scalar: Scalar) -> u64 {
    let (fraction, exponents) = if scalar == Scalar::F64 { (52, 0x7ff) } else { (23, 0xff) };
    let middle = exponents / 2;
    let r = random.next();
    let low = r & ((1 << fraction) - 1);
    let sign = (r >> 63) << if scalar == Scalar::F64 { 63 } else { 31 };
    let exponent = match random.below(8) {
        0..=2 => 0,
        3 => 1 + random.below(30) as u64,
        4 => middle / 2 + random.below(4) as u64,
        5 => middle + random.below(4) as u64,
        6 => return random.element(scalar),
        _ => random.below(exponents as usize + 1) as u64,
    };
    sign | exponent << fraction | if random.below(6) == 0 { 0 } else { low }
}

fn check(seed: u64, scalar: Scalar, uniform: bool, keeping: usize) {
    let mut random = Random(seed);
    let func = function(&mut random, scalar, uniform, keeping);
    warpjit_ir::verify::verify(&func).unwrap_or_else(|e| panic!("{e}\n{func}"));
    let interpreter = Code::new(&func).expect("valid");
    for options in all_options() {
        let code = Executable::compile(&func, &options);
        for _ in 0..4 {
            let mut words = frame(&func);
            for slot in 0..INPUTS {
                for lane in 0..if uniform { 1 } else { 32 } {
                    let value = bits(&mut random, scalar);
                    common::write(&func, &mut words, slot, lane, value);
                }
            }
            let mut wanted = Frame::new(words.len() * 4);
            wanted.words_mut().copy_from_slice(&words);
            let active = u64::from(u32::MAX);
            run_mask_function(
                &interpreter,
                &mut Scratch::new(&interpreter),
                &mut wanted,
                active,
                &mut Nothing,
            )
            .expect("no fault");
            assert_eq!(code.run(&mut context(), &mut words), 0);
            for slot in 0..func.slots.len() {
                for lane in 0..if uniform { 1 } else { 32 } {
                    let want = common::read(&func, wanted.words(), slot, lane);
                    let got = common::read(&func, &words, slot, lane);
                    assert_eq!(
                        got, want,
                        "seed {seed}: slot {slot}, lane {lane}: {got:x}, not {want:x}; {options:?}\n{func}"
                    );
                }
            }
        }
    }
}

#[test]
fn operations_that_flush_and_few_that_do_not() {
    for seed in 0..8 {
        check(100 + seed, Scalar::F32, false, 12);
        check(200 + seed, Scalar::F64, false, 12);
    }
}

#[test]
fn scalars_that_flush_and_few_that_do_not() {
    for seed in 0..8 {
        check(300 + seed, Scalar::F32, true, 12);
        check(400 + seed, Scalar::F64, true, 12);
    }
}

#[test]
fn as_many_of_both() {
    for seed in 0..6 {
        check(500 + seed, Scalar::F32, seed % 2 == 0, 2);
    }
}

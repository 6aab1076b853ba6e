//! Tests float minimum and maximum against a model, with operands of more or less known classes, in code that flushes denormals
//! and code that does not.

mod common;

use common::{Executable, Random, all_options, context, frame, read, write};
use warpjit_backend::{FloatEnv, Options, list_region};
use warpjit_ir::types::Scalar;
use warpjit_ir::{Block, Builder, FloatCC, Form, Function, Opcode, Slot, SlotInit, Terminator, Type, Value};

/// What an operand is made of, so that code knows something of it.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Operand {
    /// Anything.
    Raw,
    /// No denormal.
    Flushed,
    /// Not below zero.
    Magnitude,
    /// Not above zero.
    Below,
    /// No signalling NaN.
    Canonical,
    /// No denormal, no signalling NaN.
    FlushedCanonical,
    /// No NaN, not below +0.
    AtLeastZero,
    /// No NaN, no denormal.
    FlushedNumber,
    Const(u64),
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Test {
    Fmin,
    Fmax,
    Signals,
    /// Chooses between both by a comparison: the condition, and whether the first one is chosen where it holds.
    Select(FloatCC, bool),
}

/// The same of bits, for either format.
#[derive(Clone, Copy)]
struct Model {
    scalar: Scalar,
    fraction: u32,
}

impl Model {
    fn new(scalar: Scalar) -> Model {
        Model { scalar, fraction: if scalar == Scalar::F64 { 52 } else { 23 } }
    }

    fn sign(self) -> u64 {
        1 << (self.scalar.bits() - 1)
    }

    fn infinity(self) -> u64 {
        (self.sign() - 1) >> self.fraction << self.fraction
    }

    fn nan(self) -> u64 {
        self.infinity() | 1 << (self.fraction - 1)
    }

    fn is_nan(self, x: u64) -> bool {
        x & !self.sign() > self.infinity()
    }

    fn signals(self, x: u64) -> bool {
        self.is_nan(x) && x >> (self.fraction - 1) & 1 == 0
    }

    fn flush(self, x: u64) -> u64 {
        if x & self.infinity() == 0 { x & self.sign() } else { x }
    }

    /// A number's place among numbers, -0 before +0.
    fn order(self, x: u64) -> i128 {
        let magnitude = i128::from(x & !self.sign());
        if x & self.sign() != 0 { -1 - magnitude } else { magnitude }
    }

    fn extreme(self, a: u64, b: u64, greater: bool) -> u64 {
        match (self.is_nan(a), self.is_nan(b)) {
            (true, true) => self.nan(),
            (true, false) => b,
            (false, true) => a,
            _ if greater == (self.order(a) > self.order(b)) => a,
            _ => b,
        }
    }

    fn operand(self, kind: Operand, x: u64) -> u64 {
        let canonical = |x| if self.is_nan(x) { self.nan() } else { x };
        match kind {
            Operand::Raw => x,
            Operand::Flushed => self.flush(x),
            Operand::Magnitude => x & !self.sign(),
            Operand::Below => x | self.sign(),
            Operand::Canonical => canonical(x),
            Operand::FlushedCanonical => canonical(self.flush(x)),
            Operand::AtLeastZero => self.extreme(x, 0, true),
            Operand::FlushedNumber => self.extreme(self.flush(x), self.infinity(), false),
            Operand::Const(bits) => bits,
        }
    }

    fn less(self, a: u64, b: u64) -> bool {
        let zero = |x: u64| if x & !self.sign() == 0 { 0 } else { x };
        !self.is_nan(a) && !self.is_nan(b) && self.order(zero(a)) < self.order(zero(b))
    }

    fn result(self, test: Test, ftz: bool, a: u64, b: u64) -> u64 {
        match test {
            Test::Fmin => self.extreme(a, b, false),
            Test::Fmax => self.extreme(a, b, true),
            Test::Signals => u64::from(self.signals(a) || self.signals(b)),
            Test::Select(cc, first) => {
                let [x, y] = [a, b].map(|x| if ftz { self.flush(x) } else { x });
                let holds = match cc {
                    FloatCC::Lt => self.less(x, y),
                    FloatCC::Gt => self.less(y, x),
                    FloatCC::Uge => !self.less(x, y),
                    _ => !self.less(y, x),
                };
                if holds == first { a } else { b }
            }
        }
    }
}

fn operand(b: &mut Builder<'_>, model: Model, kind: Operand, raw: Value) -> Value {
    let infinity = b.constant(model.scalar, model.infinity());
    let zero = b.constant(model.scalar, 0);
    match kind {
        Operand::Raw => raw,
        Operand::Flushed => b.fflush(raw),
        Operand::Magnitude => b.fabs(raw),
        Operand::Below => {
            let magnitude = b.fabs(raw);
            b.fneg(magnitude)
        }
        Operand::Canonical => b.fcanon(raw, model.nan()),
        Operand::FlushedCanonical => {
            let flushed = b.fflush(raw);
            b.fcanon(flushed, model.nan())
        }
        Operand::AtLeastZero => b.fmax(raw, zero),
        Operand::FlushedNumber => {
            let flushed = b.fflush(raw);
            b.fmin(flushed, infinity)
        }
        Operand::Const(bits) => b.constant(model.scalar, bits),
    }
}

/// A function that makes some tests of its two slots; results go to slots of their own.
fn function(model: Model, tests: &[(Test, Operand, Operand)], ftz: bool, uniform: bool) -> Function {
    let ty = Type { scalar: model.scalar, uniform };
    let mut func = Function::new("extremes", Form::Mask, 32);
    let inputs = ["a", "b"].map(|name| func.add_slot(name, ty, SlotInit::Zero));
    let outputs: Vec<Slot> =
        (0..tests.len()).map(|n| func.add_slot(format!("r{n}"), ty, SlotInit::Zero)).collect();
    let dummy = func.add_slot("dummy", Type::F32, SlotInit::Zero);
    let block = func.add_block(0);
    let mut b = Builder::new(&mut func, block);
    let raw = inputs.map(|slot| b.get(slot));
    for (&(test, x, y), &out) in tests.iter().zip(&outputs) {
        let (x, y) = (operand(&mut b, model, x, raw[0]), operand(&mut b, model, y, raw[1]));
        let value = match test {
            Test::Fmin => b.fmin(x, y),
            Test::Fmax => b.fmax(x, y),
            Test::Signals => {
                let signals = b.fsignals(x, y);
                let (one, zero) = (b.constant(model.scalar, 1), b.constant(model.scalar, 0));
                b.select(signals, one, zero)
            }
            Test::Select(cc, first) => {
                let holds = b.fcmp(cc, x, y, ftz);
                if first { b.select(holds, x, y) } else { b.select(holds, y, x) }
            }
        };
        b.set(out, value);
    }
    // Whether the host may flush is for this to say.
    let x = b.get(dummy);
    let sum = b.float(Opcode::Fadd, &[x, x], ftz);
    b.set(dummy, sum);
    b.func.block_mut(Block(0)).term = Some(Terminator::Return { exit: 0, exited: None, cond: None });
    func
}

fn edges(model: Model) -> Vec<u64> {
    let unit = 1u64 << model.fraction;
    let one = (model.infinity() >> model.fraction >> 1) << model.fraction;
    let infinity = model.infinity();
    let mut all = vec![0, 1, 2, unit - 1, unit, one, one + 1, infinity - 1, infinity];
    all.extend([infinity | 1, infinity | unit >> 2, model.nan(), model.nan() | 5]);
    all.extend(all.clone().iter().map(|bits| bits | model.sign()));
    all
}

fn check(options: &Options, model: Model, tests: &[(Test, Operand, Operand)], ftz: bool, uniform: bool) {
    let func = function(model, tests, ftz, uniform);
    warpjit_ir::verify::verify(&func).unwrap_or_else(|e| panic!("{e}\n{func}"));
    let code = Executable::compile(&func, options);
    if ftz && cfg!(target_arch = "x86_64") {
        assert_eq!(code.code.float_env, FloatEnv::FlushAll);
    }
    let edges = edges(model);
    let mut pairs: Vec<[u64; 2]> = edges.iter().flat_map(|&a| edges.iter().map(move |&b| [a, b])).collect();
    let mut random = Random(9);
    pairs.resize_with(pairs.len().next_multiple_of(32) + 64, || {
        [(); 2].map(|()| random.element(model.scalar))
    });
    if uniform {
        // A pair a run.
        pairs = (0..120).map(|_| pairs[random.below(pairs.len())]).collect();
    }
    for group in pairs.chunks(if uniform { 1 } else { 32 }) {
        let mut words = frame(&func);
        for lane in 0..32 {
            let pair = group[lane % group.len()];
            (0..2).for_each(|k| write(&func, &mut words, k, lane, pair[k]));
        }
        assert_eq!(code.run(&mut context(), &mut words), 0);
        for (lane, &[a, b]) in group.iter().enumerate() {
            for (n, &(test, x, y)) in tests.iter().enumerate() {
                let (p, q) = (model.operand(x, a), model.operand(y, b));
                let want = model.result(test, ftz, p, q);
                let got = read(&func, &words, 2 + n, lane);
                let any_nan = matches!(test, Test::Fmin | Test::Fmax) && model.is_nan(want);
                assert!(
                    got == want || any_nan && model.is_nan(got),
                    "{test:?} {x:?} {y:?} of {a:x} {b:x}: {got:x}, not {want:x}; ftz {ftz} uniform {uniform} {options:?}\n{}",
                    list_region(&function(model, &tests[n..=n], ftz, uniform), options)
                        .expect("compiles")
                        .clif
                );
            }
        }
    }
}

fn all_tests(model: Model) -> Vec<(Test, Operand, Operand)> {
    use Operand::*;
    let one = (model.infinity() >> model.fraction >> 1) << model.fraction;
    let kinds = [
        Raw,
        Flushed,
        Magnitude,
        Below,
        Canonical,
        FlushedCanonical,
        AtLeastZero,
        FlushedNumber,
        Const(0),
        Const(one),
        Const(model.sign()),
        Const(one | model.sign()),
        Const(1),
        Const(model.infinity() | 1),
    ];
    let mut all = Vec::new();
    for x in kinds {
        for y in kinds {
            all.extend([Test::Fmin, Test::Fmax].map(|test| (test, x, y)));
        }
        all.push((Test::Signals, x, Raw));
        all.push((Test::Signals, Canonical, x));
        for cc in [FloatCC::Lt, FloatCC::Gt, FloatCC::Uge, FloatCC::Ule] {
            for first in [false, true] {
                all.push((Test::Select(cc, first), x, Raw));
                all.push((Test::Select(cc, first), FlushedCanonical, x));
            }
        }
    }
    all
}

#[test]
fn the_shortest_form_gives_what_the_operation_means() {
    for options in
        all_options().into_iter().filter(|options| options.chunk_groups <= 2 || options.wide_vectors)
    {
        for scalar in [Scalar::F32, Scalar::F64] {
            let model = Model::new(scalar);
            for part in all_tests(model).chunks(60) {
                for ftz in [false, true] {
                    check(&options, model, part, ftz, false);
                    if options.chunk_groups == 2 {
                        check(&options, model, part, ftz, true);
                    }
                }
            }
        }
    }
}

/// Limits that are constants take one instruction each, in code that flushes as well.
#[test]
fn a_number_is_clamped_with_two_instructions() {
    let target =
        warpjit_backend::Target::triple("x86_64-unknown-linux-gnu", warpjit_backend::HostLevel::Native);
    let options = Options { chunk_groups: 1, ..Options::new(target.expect("target")) };
    for (ftz, kind) in [(false, Operand::Raw), (true, Operand::Flushed)] {
        let model = Model::new(Scalar::F32);
        let mut func = function(model, &[], ftz, false);
        let out = func.add_slot("out", Type::F32, SlotInit::Zero);
        let term = func.block_mut(Block(0)).term.take();
        let mut b = Builder::new(&mut func, Block(0));
        let x = b.get(Slot(0));
        let x = operand(&mut b, model, kind, x);
        let (zero, one) = (b.f32(0.0), b.f32(1.0));
        let above = b.fmax(x, zero);
        let clamped = b.fmin(above, one);
        b.set(out, clamped);
        func.block_mut(Block(0)).term = term;
        let text = list_region(&func, &options).expect("compiles").assembly;
        let count = |name: &str| text.matches(name).count();
        assert_eq!((count("maxps"), count("minps"), count("cmpps")), (1, 1, 0), "{text}");
    }
}

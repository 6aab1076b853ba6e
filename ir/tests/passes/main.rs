//! Runs random functions in mask form with and without each pass: the results must be equal.

mod words;

use warpjit_ir::builder::Builder;
use warpjit_ir::entities::{Block, Slot, Value};
use warpjit_ir::function::{BlockCall, Form, Function, Imm, SlotInit, Terminator};
use warpjit_ir::interp::{Code, Denied, Fault, Frame, MaskExit, Scratch, WarpMemory, run_mask_function};
use warpjit_ir::opcodes::{FloatCC, IntCC, MemAccess, Opcode, Space};
use warpjit_ir::passes::schedule::{Cost, HostModel};
use warpjit_ir::passes::{self, ALL, Pass};
use warpjit_ir::types::{Scalar, Type};

/// A host with two units.
const MODEL: HostModel = HostModel {
    vectors: 2,
    registers: 14,
    units: 2,
    dispatched: 3,
    window: 24,
    moves_per_cycle: 2,
    max_wait: 20,
    cost: |op, _| Cost { operations: 1, latency: if op.is_pure() { 3 } else { 5 }, divides: 0 },
};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// The seeds to try: `count` of them from 1 on, as many as `WARPJIT_RANDOM` says, or the one in `WARPJIT_SEED`.
fn seeds(count: u64) -> std::ops::RangeInclusive<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    match number("WARPJIT_SEED") {
        Some(seed) => seed..=seed,
        None => 1..=number("WARPJIT_RANDOM").unwrap_or(count),
    }
}

/// Const space holds a mixture of its address; nothing else is accessed.
struct ConstMemory;

impl WarpMemory for ConstMemory {
    fn load(&mut self, _: Space, _: u32, address: u64, bytes: u8) -> Result<u64, Denied> {
        let word = (address & 0xffff).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Ok(if bytes == 8 { word } else { word & ((1 << (bytes * 8)) - 1) })
    }

    fn store(&mut self, _: Space, _: u32, _: u64, _: u8, _: u64) -> Result<(), Denied> {
        Ok(())
    }
}

const POOL: [Scalar; 4] = [Scalar::I1, Scalar::I32, Scalar::I64, Scalar::F32];

/// Makes functions: values in scope by type, blocks nested as `if` and bounded loops.
struct Maker<'a> {
    func: &'a mut Function,
    random: Random,
    at: Block,
    scope: Vec<Vec<Value>>,
    outputs: Vec<Slot>,
}

impl Maker<'_> {
    fn pool(scalar: Scalar) -> usize {
        POOL.iter().position(|&s| s == scalar).unwrap()
    }

    fn pick(&mut self, scalar: Scalar) -> Value {
        let list = &self.scope[Self::pool(scalar)];
        // New values more often than old ones.
        let back = self.random.below(list.len()).min(self.random.below(list.len()));
        list[list.len() - 1 - back]
    }

    fn constant(&mut self, scalar: Scalar) -> u64 {
        let bits = match self.random.below(6) {
            0 => self.random.of(&[0, 1, 2, 4, 8, 16, 24, 31, 32, 63]),
            1 => self.random.of(&[0xff, 0xffff, 0xffff_0000, 0x8000_0000, 0x7fff_ffff, 0xffff_ffff]),
            2 => u64::MAX,
            3 if scalar == Scalar::F32 => u64::from(
                self.random
                    .of(&[1.0f32, -1.0, 2.0, 0.5, 0.0, -0.0, f32::NAN, f32::INFINITY, 1e-40])
                    .to_bits(),
            ),
            3 => u64::MAX << self.random.below(64),
            _ => self.random.next() >> self.random.below(40),
        };
        bits & scalar.bit_mask()
    }

    fn emit(&mut self, op: Opcode, args: &[Value], imm: Imm, result: Scalar) {
        let uniform = args.iter().all(|&a| self.func.ty(a).uniform);
        let mut b = Builder::new(self.func, self.at);
        let value = b.push(op, args, imm, Some(Type { scalar: result, uniform })).unwrap();
        // NaN bits of arithmetic are unspecified until they are made canonical.
        let nan_unspecified = matches!(
            op,
            Opcode::Fadd
                | Opcode::Fsub
                | Opcode::Fmul
                | Opcode::Fdiv
                | Opcode::Fsqrt
                | Opcode::Fma
                | Opcode::FmadTrunc
                | Opcode::Fmin
                | Opcode::Fmax
                | Opcode::Ffloor
                | Opcode::Fceil
                | Opcode::Ftrunc
                | Opcode::Fnearest
                | Opcode::F16ToF32
        );
        let value = if nan_unspecified { b.fcanon(value, 0x7fff_ffff) } else { value };
        self.scope[Self::pool(result)].push(value);
    }

    fn inst(&mut self) {
        use Opcode::*;
        let word = self.random.of(&[Scalar::I32, Scalar::I32, Scalar::I64]);
        match self.random.below(20) {
            0..=2 => {
                let scalar = self.random.of(&POOL);
                let bits = self.constant(scalar);
                self.emit(Const, &[], Imm::Bits(bits), scalar);
            }
            3..=6 => {
                let op = self.random.of(&[
                    Iadd, Isub, Imul, Iand, Ior, Ixor, Ishl, Ushr, Sshr, Rotl, Umin, Umax, Smin, Smax,
                    Umulhi, Smulhi,
                ]);
                let (a, b) = (self.pick(word), self.pick(word));
                self.emit(op, &[a, b], Imm::None, word);
            }
            7..=9 => {
                // By a constant: what most rules are for.
                let op = self
                    .random
                    .of(&[Iadd, Isub, Imul, Iand, Iand, Ior, Ixor, Ishl, Ishl, Ushr, Ushr, Sshr, Umin]);
                let bits = match op {
                    Ishl | Ushr | Sshr => self.random.of(&[1, 8, 16, 16, 16, 24, 31, 32, 40]),
                    _ => self.constant(word),
                };
                self.emit(Const, &[], Imm::Bits(bits), word);
                let b = *self.scope[Self::pool(word)].last().unwrap();
                let a = self.pick(word);
                self.emit(op, &[a, b], Imm::None, word);
            }
            10 => {
                let op = self.random.of(&[Inot, Ineg, Popcnt, Clz, Ctz, Bitrev, Bswap]);
                let a = self.pick(word);
                self.emit(op, &[a], Imm::None, word);
            }
            11 | 12 => {
                let cc = self.random.of(IntCC::ALL);
                let a = self.pick(word);
                let b = if self.random.below(2) == 0 {
                    let bits = self.constant(word);
                    self.emit(Const, &[], Imm::Bits(bits), word);
                    *self.scope[Self::pool(word)].last().unwrap()
                } else {
                    self.pick(word)
                };
                self.emit(Icmp, &[a, b], Imm::Int(cc), Scalar::I1);
            }
            13 => {
                let op = self.random.of(&[Iand, Ior, Ixor, Inot]);
                let (a, b) = (self.pick(Scalar::I1), self.pick(Scalar::I1));
                let args = [a, b];
                self.emit(op, if op == Inot { &args[..1] } else { &args }, Imm::None, Scalar::I1);
            }
            14 => {
                let scalar = self.random.of(&POOL);
                let (c, a, b) = (self.pick(Scalar::I1), self.pick(scalar), self.pick(scalar));
                self.emit(Select, &[c, a, b], Imm::None, scalar);
            }
            15 => {
                let (op, from, to) = self.random.of(&[
                    (Zext, Scalar::I32, Scalar::I64),
                    (Sext, Scalar::I32, Scalar::I64),
                    (Trunc, Scalar::I64, Scalar::I32),
                    (Bmask, Scalar::I1, Scalar::I32),
                    (Bmask, Scalar::I1, Scalar::I64),
                    (Bitcast, Scalar::I32, Scalar::F32),
                    (Bitcast, Scalar::F32, Scalar::I32),
                    (FcvtFromSint, Scalar::I32, Scalar::F32),
                    (FcvtFromUint, Scalar::I64, Scalar::F32),
                    (FcvtToSint, Scalar::F32, Scalar::I32),
                    (F16ToF32, Scalar::I32, Scalar::F32),
                    (F32ToF16, Scalar::F32, Scalar::I32),
                ]);
                let a = self.pick(from);
                self.emit(op, &[a], Imm::None, to);
            }
            16 | 17 => {
                let (op, n) = self.random.of(&[
                    (Fadd, 2),
                    (Fsub, 2),
                    (Fmul, 2),
                    (Fmul, 2),
                    (Fdiv, 2),
                    (Fsqrt, 1),
                    (Fma, 3),
                    (FmadTrunc, 3),
                ]);
                let ftz = self.random.below(2) == 0;
                let args: Vec<Value> = (0..n).map(|_| self.pick(Scalar::F32)).collect();
                self.emit(op, &args, Imm::Ftz(ftz), Scalar::F32);
            }
            18 if self.random.below(3) == 0 => {
                let op = self.random.of(&[Fmin, Fmax, Fmin, Fmax, Fsignals]);
                let (a, b) = (self.pick(Scalar::F32), self.pick(Scalar::F32));
                self.emit(op, &[a, b], Imm::None, if op == Fsignals { Scalar::I1 } else { Scalar::F32 });
            }
            18 => {
                let op = self.random.of(&[Fneg, Fabs, Fflush, Ffloor, Fceil, Ftrunc, Fnearest]);
                let a = self.pick(Scalar::F32);
                self.emit(op, &[a], Imm::None, Scalar::F32);
            }
            _ => match self.random.below(4) {
                0 => {
                    let cc = self.random.of(FloatCC::ALL);
                    let ftz = self.random.below(2) == 0;
                    let (a, b) = (self.pick(Scalar::F32), self.pick(Scalar::F32));
                    self.emit(Fcmp, &[a, b], Imm::FloatCmp(cc, ftz), Scalar::I1);
                }
                1 => {
                    let mem = MemAccess {
                        space: Space::Const(0),
                        bytes: self.random.of(&[1, 2, 4]),
                        signed: self.random.below(2) == 0,
                        offset: 16,
                        align: 1,
                        far: false,
                        align_offset: 0,
                    };
                    let a = self.pick(Scalar::I32);
                    self.emit(Load, &[a], Imm::Mem(mem), Scalar::I32);
                }
                2 => {
                    let a = self.pick(Scalar::I1);
                    let value = Builder::new(self.func, self.at)
                        .push(Any, &[a], Imm::None, Some(Type::uniform(Scalar::I1)))
                        .unwrap();
                    self.scope[0].push(value);
                }
                _ => {
                    let slot = self.random.of(&self.outputs.clone());
                    let scalar = self.func.slots[slot.index()].ty.scalar;
                    let value = self.pick(scalar);
                    let mask = self.pick(Scalar::I1);
                    let args = [value, mask];
                    let n = 1 + self.random.below(2);
                    let mut b = Builder::new(self.func, self.at);
                    b.push(SlotSet, &args[..n], Imm::Slot(slot), None);
                    let read = b.get(slot);
                    self.scope[Self::pool(scalar)].push(read);
                }
            },
        }
    }

    fn marks(&self) -> Vec<usize> {
        self.scope.iter().map(Vec::len).collect()
    }

    fn leave_scope(&mut self, marks: &[usize]) {
        for (list, &mark) in self.scope.iter_mut().zip(marks) {
            list.truncate(mark);
        }
    }

    fn body(&mut self, depth: usize) {
        for _ in 0..1 + self.random.below(3) {
            for _ in 0..self.random.below(14) {
                self.inst();
            }
            if depth == 0 {
                continue;
            }
            match self.random.below(3) {
                0 => self.branch(depth),
                1 => self.repeat(depth),
                _ => {}
            }
        }
    }

    fn finish(&mut self, term: Terminator) {
        Builder::new(self.func, self.at).terminate(term);
    }

    /// Two sides that meet with one value of each type.
    fn branch(&mut self, depth: usize) {
        let (taken, next, meet) = (self.func.add_block(0), self.func.add_block(0), self.func.add_block(0));
        let cond = self.pick(Scalar::I1);
        let term = if self.func.ty(cond).uniform {
            Terminator::BrIf { cond, taken: taken.into(), next: next.into() }
        } else {
            Terminator::BrAny { mask: cond, taken: taken.into(), next: next.into() }
        };
        self.finish(term);
        let marks = self.marks();
        for side in [taken, next] {
            self.at = side;
            self.body(depth - 1);
            let args = POOL.map(|s| self.pick(s)).to_vec();
            self.finish(Terminator::Jump(BlockCall { block: meet, args }));
            self.leave_scope(&marks);
        }
        self.at = meet;
        for scalar in POOL {
            let param = self.func.add_param(meet, Type::varying(scalar));
            self.scope[Self::pool(scalar)].push(param);
        }
    }

    /// A loop of a few rounds that carries one value of each type.
    fn repeat(&mut self, depth: usize) {
        let (body, after) = (self.func.add_block(0), self.func.add_block(0));
        let mut b = Builder::new(self.func, self.at);
        let zero = b.i32(0);
        let start = b.f32(0.0);
        let mut args = vec![zero];
        args.extend(POOL.map(|s| self.pick(s)));
        if self.random.below(2) == 0 {
            // A sum that starts with a constant.
            args[1 + Self::pool(Scalar::F32)] = start;
        }
        self.finish(Terminator::Jump(BlockCall { block: body, args }));
        let marks = self.marks();
        self.at = body;
        let count = self.func.add_param(body, Type::varying(Scalar::I32));
        self.scope[1].push(count);
        for scalar in POOL {
            let param = self.func.add_param(body, Type::varying(scalar));
            self.scope[Self::pool(scalar)].push(param);
        }
        self.body(depth - 1);
        let rounds = 1 + self.random.below(4) as u32;
        let mut b = Builder::new(self.func, self.at);
        let one = b.i32(1);
        let next = b.iadd(count, one);
        let limit = b.i32(rounds);
        let more = b.icmp(IntCC::Slt, next, limit);
        let mut args = vec![next];
        args.extend(POOL.map(|s| self.pick(s)));
        let out = POOL.map(|s| self.pick(s)).to_vec();
        self.finish(Terminator::BrAny {
            mask: more,
            taken: BlockCall { block: body, args },
            next: BlockCall { block: after, args: out },
        });
        self.leave_scope(&marks);
        self.at = after;
        for scalar in POOL {
            let param = self.func.add_param(after, Type::varying(scalar));
            self.scope[Self::pool(scalar)].push(param);
        }
    }
}

/// A function of the seed; slots named `in` are read, those named `out` written.
fn make(seed: u64) -> Function {
    let mut func = Function::new(format!("seed{seed}"), Form::Mask, 32);
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut inputs = Vec::new();
    let mut outputs = Vec::new();
    for scalar in POOL {
        for n in 0..3 {
            let slot = func.add_slot(format!("in{n}"), Type::varying(scalar), SlotInit::Zero);
            if scalar.is_int() && n > 0 {
                func.slots[slot.index()].umax = Some((random.next() as u32) >> random.of(&[8, 16, 24, 31]));
            }
            inputs.push(slot);
            outputs.push(func.add_slot(format!("out{n}"), Type::varying(scalar), SlotInit::Zero));
        }
    }
    let entry = func.add_block(0);
    let mut maker =
        Maker { func: &mut func, random, at: entry, scope: vec![Vec::new(); POOL.len()], outputs };
    for slot in inputs {
        let value = Builder::new(maker.func, entry).get(slot);
        let scalar = maker.func.ty(value).scalar;
        maker.scope[Maker::pool(scalar)].push(value);
    }
    maker.body(3);
    for slot in maker.outputs.clone() {
        let value = maker.pick(maker.func.slots[slot.index()].ty.scalar);
        Builder::new(maker.func, maker.at).set(slot, value);
    }
    let (exited, cond) = (maker.pick(Scalar::I1), maker.pick(Scalar::I1));
    maker.finish(Terminator::Return { exit: 3, exited: Some(exited), cond: Some(cond) });
    func
}

/// Runs a function on inputs of the seed: how it ended and the frame.
fn execute(func: &Function, seed: u64) -> (Result<MaskExit, Fault>, Vec<u32>) {
    execute_with(func, seed, false)
}

/// The same; all lanes may have the `same` inputs.
fn execute_with(func: &Function, seed: u64, same: bool) -> (Result<MaskExit, Fault>, Vec<u32>) {
    let code = Code::new(func).unwrap_or_else(|e| panic!("{e}\n{func}"));
    let mut frame = Frame::new(code.frame_bytes());
    let mut random = Random(seed | 1);
    let (offsets, _) = func.frame_layout();
    for (slot, &offset) in func.slots.iter().zip(&offsets) {
        for lane in 0..32 {
            let bits = match random.below(4) {
                0 => random.next() & 0xff,
                1 => random.next() | 0xffff_0000_0000_0000,
                _ => random.next() << random.below(40),
            };
            let bits = match slot.umax {
                Some(max) => bits % (u64::from(max) + 1),
                None => bits & slot.ty.scalar.bit_mask(),
            };
            let first = frame.read(offset, slot.ty.scalar, 0);
            let bits = if same && lane > 0 { first } else { bits };
            frame.write(offset, slot.ty.scalar, lane, bits);
        }
    }
    let mut scratch = Scratch::new(&code);
    scratch.max_steps = 100_000;
    let exit = run_mask_function(&code, &mut scratch, &mut frame, u64::from(u32::MAX), &mut ConstMemory);
    (exit, frame.words().to_vec())
}

fn check(seed: u64, passes: &[(&str, Pass)]) {
    check_function(make(seed), seed, passes);
}

fn check_function(before: Function, seed: u64, passes: &[(&str, Pass)]) {
    warpjit_ir::verify::verify(&before).unwrap_or_else(|e| panic!("{e}\n{before}"));
    let mut func = before.clone();
    let wanted = execute(&before, seed);
    for (name, pass) in passes {
        let previous = func.clone();
        let changed = pass(&mut func);
        if let Err(error) = warpjit_ir::verify::verify(&func) {
            panic!("seed {seed}, {name}: {error}\n{previous}\n{func}");
        }
        assert_eq!(changed, func.to_string() != previous.to_string(), "seed {seed}: {name} says {changed}");
        if execute(&func, seed) != wanted {
            panic!("seed {seed}: {name} changes what the function gives\n{previous}\n{func}");
        }
    }
}

/// The passes that change no result: `fast` is for who does not ask for that, `one_lane` for a single lane.
fn exact() -> Vec<(&'static str, Pass)> {
    ALL.iter().copied().filter(|(name, _)| !["fast", "one_lane"].contains(name)).collect()
}

#[test]
fn each_pass_keeps_what_functions_give() {
    for seed in seeds(60) {
        for pass in exact() {
            check(seed, &[pass]);
        }
    }
}

#[test]
fn passes_in_random_order_keep_what_functions_give() {
    for seed in seeds(60) {
        let mut random = Random(seed.wrapping_mul(0x1234_5678_9abc_def1) | 1);
        let passes: Vec<(&str, Pass)> = (0..10).map(|_| random.of(&exact())).collect();
        check(seed, &passes);
    }
}

#[test]
fn one_lane_keeps_what_functions_give_in_a_single_lane() {
    for seed in seeds(60) {
        let before = make(seed);
        let mut func = before.clone();
        for round in 0..2 {
            let previous = func.to_string();
            let changed = passes::one_lane::run(&mut func);
            assert_eq!(changed, func.to_string() != previous, "seed {seed}, round {round}");
            warpjit_ir::verify::verify(&func)
                .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{before}\n{func}"));
            // Where all lanes are alike, each is as if it were alone.
            let (wanted, got) = (execute_with(&before, seed, true), execute_with(&func, seed, true));
            assert!(wanted == got, "seed {seed}, round {round}\n{before}\n{func}");
            passes::pipeline(&mut func, &[passes::fold::run, passes::simplify_cfg::run, passes::dce::run]);
        }
    }
}

/// Most random blocks are too short for the pass to look at.
#[test]
fn blocks_in_the_order_of_starts_keep_what_functions_give() {
    for seed in seeds(100) {
        check(seed, &[("schedule", |func| passes::schedule::run_always(func, &MODEL))]);
    }
}

//! Tests 64-bit values in two words, as guests with 32-bit registers compute them under a lane mask, through branches and loops.

use super::*;
use warpjit_ir::passes::{dce, demand, fold, gvn, licm, pairs, simplify_cfg};

/// What carries words together.
const PASSES: &[(&str, Pass)] = &[
    ("pairs", pairs::run),
    ("fold", fold::run),
    ("gvn", gvn::run),
    ("simplify_cfg", simplify_cfg::run),
    ("demand", demand::run),
    ("fold", fold::run),
    ("pairs", pairs::run),
    ("fold", fold::run),
    ("licm", licm::run),
    ("gvn", gvn::run),
    ("demand", demand::run),
    ("dce", dce::run),
];

/// A low and a high word.
type Words = [Value; 2];

struct Guest<'a> {
    func: &'a mut Function,
    random: Random,
    at: Block,
    registers: Vec<Words>,
    /// The lanes that run.
    exec: Value,
}

impl Guest<'_> {
    fn b(&mut self) -> Builder<'_> {
        Builder::new(self.func, self.at)
    }

    fn wide(&mut self, [low, high]: Words) -> Value {
        let mut b = self.b();
        let (low, high) =
            (b.convert(Opcode::Zext, low, Scalar::I64), b.convert(Opcode::Zext, high, Scalar::I64));
        let by = b.i64(32);
        let high = b.ishl(high, by);
        b.ior(high, low)
    }

    fn split(&mut self, whole: Value) -> Words {
        let mut b = self.b();
        let low = b.convert(Opcode::Trunc, whole, Scalar::I32);
        let by = b.i64(32);
        let high = b.ushr(whole, by);
        [low, b.convert(Opcode::Trunc, high, Scalar::I32)]
    }

    /// Registers, and now and then constants.
    fn operand(&mut self) -> Words {
        let n = self.random.below(self.registers.len() + 2);
        match self.registers.get(n) {
            Some(&words) => words,
            None => {
                let bits = self.random.of(&[0, 1, 3, 4, 8, 0xffff_ffff, u64::MAX, 0x2545_f491_4f6c_dd1d]);
                let mut b = self.b();
                [b.i32(bits as u32), b.i32((bits >> 32) as u32)]
            }
        }
    }

    fn carry(&mut self, cond: Value) -> Value {
        let mut b = self.b();
        let (one, zero) = (b.i32(1), b.i32(0));
        b.select(cond, one, zero)
    }

    fn compute(&mut self) -> Words {
        let ([a, p], [c, q]) = (self.operand(), self.operand());
        match self.random.below(11) {
            9 => self.three(),
            10 => {
                // The halves of one value, added apart: the high one to the high word of another, the low one behind that.
                let x = self.wide([a, p]);
                let [low, high] = self.split(x);
                let base = self.operand();
                let mut b = self.b();
                let [low, high] = [low, b.iadd(base[1], high)];
                let joined = self.wide([base[0], high]);
                let other = self.wide([c, q]);
                let mut b = self.b();
                let low = b.convert(Opcode::Zext, low, Scalar::I64);
                let sum = b.iadd(other, joined);
                let sum = b.iadd(sum, low);
                self.split(sum)
            }
            0..=2 => {
                let low = self.b().iadd(a, c);
                let from = self.random.of(&[a, c]);
                let cond = self.b().icmp(IntCC::Ult, low, from);
                let carry = self.carry(cond);
                let order = self.random.below(3);
                let mut b = self.b();
                let high = match order {
                    0 => [p, q, carry],
                    1 => [p, carry, q],
                    _ => [carry, q, p],
                };
                let sum = b.iadd(high[0], high[1]);
                [low, b.iadd(sum, high[2])]
            }
            3 => {
                let low = self.b().isub(a, c);
                let cond = self.b().icmp(IntCC::Ult, a, c);
                let borrow = self.carry(cond);
                let mut b = self.b();
                let high = b.isub(p, q);
                [low, b.isub(high, borrow)]
            }
            4 => {
                let mut b = self.b();
                let low = b.imul(a, c);
                let (x, y) =
                    (b.convert(Opcode::Zext, a, Scalar::I64), b.convert(Opcode::Zext, c, Scalar::I64));
                let whole = b.imul(x, y);
                let by = b.i64(32);
                let high = b.ushr(whole, by);
                let high = b.convert(Opcode::Trunc, high, Scalar::I32);
                let (s, t) = (b.imul(a, q), b.imul(c, p));
                let cross = b.iadd(s, t);
                [low, b.iadd(high, cross)]
            }
            5 => {
                let whole = self.wide([a, p]);
                let count = self.random.of(&[1, 2, 12, 25, 31, 32, 33, 63]);
                let by = self.b().i64(count);
                let op = self.random.of(&[Opcode::Ishl, Opcode::Ushr, Opcode::Sshr]);
                let shifted = self.b().same(op, &[whole, by], Imm::None);
                self.split(shifted)
            }
            6 => {
                let op = self.random.of(&[Opcode::Iand, Opcode::Ior, Opcode::Ixor]);
                [self.b().same(op, &[a, c], Imm::None), self.b().same(op, &[p, q], Imm::None)]
            }
            7 => {
                let by = self.b().i32(31);
                [a, self.b().sshr(a, by)]
            }
            _ => {
                let (x, y) = (self.wide([a, p]), self.wide([c, q]));
                let cc = self.random.of(IntCC::ALL);
                let cond = self.b().icmp(cc, x, y);
                let carry = self.carry(cond);
                [carry, self.b().i32(0)]
            }
        }
    }

    /// The sum of three, whose high words and carries are added in any order.
    fn three(&mut self) -> Words {
        let [a, b, c] = [0; 3].map(|_| self.operand());
        let first = self.b().iadd(a[0], b[0]);
        let over = self.b().icmp(IntCC::Ult, first, a[0]);
        let over = self.carry(over);
        let low = self.b().iadd(first, c[0]);
        let again = self.b().icmp(IntCC::Ult, low, first);
        let again = self.carry(again);
        let mut words = vec![a[1], b[1], c[1], over, again];
        while words.len() > 1 {
            let (n, m) = (self.random.below(words.len()), self.random.below(words.len() - 1));
            let x = words.swap_remove(n);
            let y = words.swap_remove(m);
            words.push(self.b().iadd(x, y));
        }
        [low, words[0]]
    }

    /// A register changes in the lanes that run.
    fn step(&mut self) {
        let words = self.compute();
        let n = self.random.below(self.registers.len());
        for (half, new) in words.into_iter().enumerate() {
            let (exec, old) = (self.exec, self.registers[n][half]);
            self.registers[n][half] = self.b().select(exec, new, old);
        }
    }

    fn arguments(&self) -> Vec<Value> {
        self.registers.iter().flatten().copied().collect()
    }

    fn enter(&mut self, block: Block) {
        self.at = block;
        for n in 0..self.registers.len() {
            self.registers[n] = [0; 2].map(|_| self.func.add_param(block, Type::varying(Scalar::I32)));
        }
    }

    fn finish(&mut self, term: Terminator) {
        self.b().terminate(term);
    }

    fn body(&mut self, depth: usize) {
        for _ in 0..1 + self.random.below(3) {
            for _ in 0..1 + self.random.below(4) {
                self.step();
            }
            if depth != 0 {
                if self.random.below(2) == 0 { self.when(depth) } else { self.repeat(depth) }
            }
        }
    }

    fn condition(&mut self) -> Value {
        let (x, y) = (self.operand(), self.operand());
        let (x, y) = (self.wide(x), self.wide(y));
        let cc = self.random.of(IntCC::ALL);
        self.b().icmp(cc, x, y)
    }

    /// Some lanes run a block; all go on behind it.
    fn when(&mut self, depth: usize) {
        let (cond, all) = (self.condition(), self.exec);
        let mask = self.b().iand(all, cond);
        let (body, after) = (self.func.add_block(0), self.func.add_block(0));
        let args = self.arguments();
        let mut around = vec![mask];
        around.extend(&args);
        let next = BlockCall { block: after, args: around };
        self.finish(Terminator::BrAny { mask, taken: body.into(), next });
        (self.at, self.exec) = (body, mask);
        self.body(depth - 1);
        let mut args = vec![self.exec];
        args.extend(self.arguments());
        self.finish(Terminator::Jump(BlockCall { block: after, args }));
        let ran = self.func.add_param(after, Type::varying(Scalar::I1));
        self.enter(after);
        self.exec = self.b().ior(ran, all);
    }

    /// Lanes leave a loop one after the other.
    fn repeat(&mut self, depth: usize) {
        let all = self.exec;
        let (body, after) = (self.func.add_block(0), self.func.add_block(0));
        let zero = self.b().i32(0);
        let mut args = vec![zero, all];
        args.extend(self.arguments());
        self.finish(Terminator::Jump(BlockCall { block: body, args }));
        let count = self.func.add_param(body, Type::uniform(Scalar::I32));
        self.exec = self.func.add_param(body, Type::varying(Scalar::I1));
        self.enter(body);
        self.body(depth - 1);
        let cond = self.condition();
        let rounds = self.random.below(4) as u32;
        let mut b = self.b();
        let (one, limit) = (b.i32(1), b.i32(rounds));
        let next = b.iadd(count, one);
        let more = b.icmp(IntCC::Ult, count, limit);
        let exec = self.exec;
        let stay = self.b().iand(exec, cond);
        let stay = self.b().iand(stay, more);
        let out = self.arguments();
        let mut args = vec![next, stay];
        args.extend(&out);
        self.finish(Terminator::BrAny {
            mask: stay,
            taken: BlockCall { block: body, args },
            next: BlockCall { block: after, args: out },
        });
        self.enter(after);
        self.exec = all;
    }
}

fn guest(seed: u64) -> Function {
    let mut func = Function::new(format!("words{seed}"), Form::Mask, 32);
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let count = 2 + random.below(3);
    let slot = |func: &mut Function, name: String, scalar| {
        func.add_slot(name, Type::varying(scalar), SlotInit::Zero)
    };
    let slots: Vec<[Slot; 2]> = (0..count)
        .map(|n| [0, 1].map(|half| slot(&mut func, format!("v{}", 2 * n + half), Scalar::I32)))
        .collect();
    let wide: Vec<Slot> = (0..count).map(|n| slot(&mut func, format!("wide{n}"), Scalar::I64)).collect();
    let lanes = slot(&mut func, "exec".into(), Scalar::I1);
    let at = func.add_block(0);
    let mut b = Builder::new(&mut func, at);
    let exec = b.get(lanes);
    let registers = slots.iter().map(|words| words.map(|slot| b.get(slot))).collect();
    let mut guest = Guest { func: &mut func, random, at, registers, exec };
    guest.body(2);
    for (n, slot) in wide.into_iter().enumerate() {
        // Seen where the program has run, as an address would be, or everywhere.
        let whole = guest.wide(guest.registers[n]);
        let args = [whole, exec];
        let seen = 1 + guest.random.below(2);
        guest.b().push(Opcode::SlotSet, &args[..seen], Imm::Slot(slot), None);
    }
    guest.finish(Terminator::Return { exit: 1, exited: None, cond: None });
    func
}

#[test]
fn words_together_are_what_they_were_apart() {
    for seed in seeds(150) {
        check_function(guest(seed), seed, PASSES);
    }
}

/// That the programs are what the passes are for: most have words left over before, and parameters of 64 bits after.
#[test]
fn programs_have_pairs() {
    let mut widened = 0;
    for seed in 1..=50 {
        let mut func = guest(seed);
        PASSES.iter().for_each(|(_, pass)| _ = pass(&mut func));
        let params = func.blocks.iter().flat_map(|block| &block.params);
        widened += u32::from(params.into_iter().any(|&v| func.ty(v).scalar == Scalar::I64));
    }
    assert!(widened > 30, "{widened} of 50");
}

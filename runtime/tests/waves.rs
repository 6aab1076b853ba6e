//! Runs random programs for a machine with a scalar unit (uniform registers, uniform branches, a lane mask as data), in the
//! interpreter and compiled: both must leave the same memory.

mod support;

use support::{abi, words_of};
use warpjit_ir::verify::verify;
use warpjit_ir::{
    Block, Builder, Builtin, Form, Function, IntCC, KernelAbi, LeaveKind, MemAccess, Opcode, Scalar, Slot,
    SlotInit, Space, Terminator, Type, Value,
};
use warpjit_runtime::{Access, CodeMap, Config, Engine, KernelImage, Launch, Program, Tier};

/// xorshift64*.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % n
    }
}

const WORDS: usize = 4096;
/// Where 64-bit addresses go, less the offset of the accesses.
const FAR: u64 = 0x12_3456_0000;
const REGS: usize = 4;

struct Gen {
    rng: Rng,
    func: Function,
    cur: Block,
    scalars: Vec<Slot>,
    vectors: Vec<Slot>,
    exec: Slot,
    vcc: Slot,
    /// Masks that are gathered over a while, as a compiler keeps truth values of lanes.
    kept: [Slot; 2],
    wide: Slot,
    tid: Slot,
    counters: u32,
    /// Lanes look at memory that other lanes write.
    lockstep: bool,
}

impl Gen {
    fn b(&mut self) -> Builder<'_> {
        Builder::new(&mut self.func, self.cur)
    }

    fn block(&mut self) -> Block {
        let pc = self.func.blocks.len() as u32 * 8;
        let block = self.func.add_block(pc);
        self.func.block_mut(block).guest_insts = 1;
        block
    }

    fn go(&mut self, term: Terminator, next: Block) {
        self.b().terminate(term);
        self.cur = next;
    }

    fn pick(&mut self, of: &[Slot]) -> Slot {
        of[self.rng.below(of.len() as u64) as usize]
    }

    fn scalar(&mut self) -> Slot {
        let all = self.scalars.clone();
        self.pick(&all)
    }

    fn vector(&mut self) -> Slot {
        let all = self.vectors.clone();
        self.pick(&all)
    }

    /// Writes a vector register in the lanes of EXEC.
    fn write(&mut self, slot: Slot, value: Value) {
        let exec = self.exec;
        let mut b = self.b();
        let (mask, old) = (b.get(exec), b.get(slot));
        let new = b.select(mask, value, old);
        let new = b.splat(new);
        b.set(slot, new);
    }

    fn arithmetic(&mut self, a: Value, b: Value) -> Value {
        let op = [Opcode::Iadd, Opcode::Isub, Opcode::Imul, Opcode::Ixor, Opcode::Umin, Opcode::Ushr]
            [self.rng.below(6) as usize];
        self.b().same(op, &[a, b], warpjit_ir::Imm::None)
    }

    fn statement(&mut self, depth: u32) {
        let (s, t, v, w) = (self.scalar(), self.scalar(), self.vector(), self.vector());
        let (exec, vcc, wide) = (self.exec, self.vcc, self.wide);
        match self.rng.below(if depth > 2 { 10 } else { 17 }) {
            0 => {
                let (a, b) = {
                    let mut b = self.b();
                    (b.get(s), b.get(t))
                };
                let sum = self.arithmetic(a, b);
                self.b().set(s, sum);
            }
            1 | 2 => {
                let (a, b) = {
                    let mut b = self.b();
                    (b.get(v), b.get(w))
                };
                let sum = self.arithmetic(a, b);
                self.write(v, sum);
            }
            3 => {
                let (a, b) = {
                    let mut b = self.b();
                    (b.get(v), b.get(s))
                };
                let sum = self.arithmetic(a, b);
                self.write(w, sum);
            }
            4 => {
                // EXEC becomes a part of itself, or all lanes again.
                let mut b = self.b();
                let (mask, x, y) = (b.get(exec), b.get(v), b.get(w));
                let less = b.icmp(IntCC::Ult, x, y);
                let part = b.iand(mask, less);
                b.set(vcc, part);
                b.set(exec, part);
            }
            5 => {
                let mut b = self.b();
                let all = b.bool(true);
                let all = b.splat(all);
                b.set(exec, all);
            }
            6 => {
                // Cross-lane, in a block of its own: scalars from masks and lanes.
                let (own, next) = (self.block(), self.block());
                self.go(Terminator::Jump(own.into()), own);
                let mut b = self.b();
                let (mask, x, lane) = (b.get(vcc), b.get(v), b.get(s));
                let bits = b.ballot(mask);
                b.set(wide, bits);
                let one = b.read_lane(x, lane);
                b.set(t, one);
                self.go(Terminator::Jump(next.into()), next);
            }
            7 => {
                let mut b = self.b();
                let bits = b.get(wide);
                let mask = b.lane_bit(bits);
                b.set(exec, mask);
            }
            8 => self.access(),
            9 => self.keep(),
            10 => {
                let (then, other, end) = (self.block(), self.block(), self.block());
                let mut b = self.b();
                let (x, y) = (b.get(s), b.get(t));
                let cond = b.icmp(IntCC::Slt, x, y);
                self.go(Terminator::Branch { cond, taken: then.into(), next: other.into() }, then);
                self.body(depth + 1);
                self.go(Terminator::Jump(end.into()), other);
                self.body(depth + 1);
                self.go(Terminator::Jump(end.into()), end);
            }
            11 => {
                // A counted loop.
                let counter = self.func.add_slot(
                    format!("n{}", self.counters),
                    Type::uniform(Scalar::I32),
                    SlotInit::Zero,
                );
                self.counters += 1;
                let (head, end) = (self.block(), self.block());
                let times = self.rng.below(4) as u32 + 1;
                let mut b = self.b();
                let zero = b.i32(0);
                b.set(counter, zero);
                self.go(Terminator::Jump(head.into()), head);
                self.body(depth + 1);
                let mut b = self.b();
                let (n, one, most) = (b.get(counter), b.i32(1), b.i32(times));
                let n = b.iadd(n, one);
                b.set(counter, n);
                let cond = b.icmp(IntCC::Ult, n, most);
                self.go(Terminator::Branch { cond, taken: head.into(), next: end.into() }, end);
            }
            12 | 13 => self.divergent_loop(depth),
            14 | 15 => self.divergent_if(depth),
            _ => {
                // Skipped if no lane is left, as a compiler's divergent if.
                let (vote, then, end) = (self.block(), self.block(), self.block());
                self.go(Terminator::Jump(vote.into()), vote);
                let mut b = self.b();
                let mask = b.get(exec);
                let cond = b.vote_any(mask);
                self.go(Terminator::Branch { cond, taken: then.into(), next: end.into() }, then);
                self.body(depth + 1);
                self.go(Terminator::Jump(end.into()), end);
            }
        }
    }

    /// Writes a mask that is kept, in EXEC's lanes or with anything in the others, or picks by one in EXEC's lanes.
    fn keep(&mut self) {
        let kept = self.kept[self.rng.below(2) as usize];
        let (v, w, exec, what) = (self.vector(), self.vector(), self.exec, self.rng.below(7));
        let mut b = self.b();
        let (mask, old, x, y) = (b.get(exec), b.get(kept), b.get(v), b.get(w));
        let cond = b.icmp(IntCC::Ult, x, y);
        let (all, here) = (b.bool(true), b.iand(mask, cond));
        let new = match what {
            0 => cond,
            1 => here,
            2 | 3 => {
                let others = b.inot(mask);
                let others = b.iand(old, others);
                b.ior(others, here)
            }
            4 => b.ior(old, here),
            5 => b.splat(all),
            _ => {
                let picked = b.select(old, x, y);
                self.write(w, picked);
                return;
            }
        };
        b.set(kept, new);
    }

    /// A part of the lanes does something, by a condition or by a mask that was kept; it is left out where that are none.
    fn divergent_if(&mut self, depth: u32) {
        let saved = self.func.add_slot(format!("i{}", self.counters), Type::MASK, SlotInit::Zero);
        self.counters += 1;
        let (kept, v, w, exec) =
            (self.kept[self.rng.below(2) as usize], self.vector(), self.vector(), self.exec);
        let (by_kept, as_it_was) = (self.rng.below(2) == 0, self.rng.below(2) == 0);
        let (vote, then, end) = (self.block(), self.block(), self.block());
        let mut b = self.b();
        let (mask, x, y, cond) = (b.get(exec), b.get(v), b.get(w), b.get(kept));
        let cond = if by_kept { cond } else { b.icmp(IntCC::Ult, x, y) };
        let part = b.iand(mask, cond);
        b.set(saved, mask);
        b.set(exec, part);
        self.go(Terminator::Jump(vote.into()), vote);
        let mut b = self.b();
        let mask = b.get(exec);
        let cond = b.vote_any(mask);
        self.go(Terminator::Branch { cond, taken: then.into(), next: end.into() }, then);
        self.body(depth + 1);
        self.go(Terminator::Jump(end.into()), end);
        let mut b = self.b();
        let (mask, before) = (b.get(exec), b.get(saved));
        let mask = if as_it_was { before } else { b.ior(mask, before) };
        b.set(exec, mask);
    }

    /// Runs until no lane is left, as a compiler's loop with a condition that lanes disagree on. What is inside may break that.
    fn divergent_loop(&mut self, depth: u32) {
        let n = self.counters;
        self.counters += 1;
        let count = self.func.add_slot(format!("c{n}"), Type::I32, SlotInit::Zero);
        let saved = self.func.add_slot(format!("m{n}"), Type::MASK, SlotInit::Zero);
        let (exec, tid) = (self.exec, self.tid);
        let (head, vote, end) = (self.block(), self.block(), self.block());
        let mut b = self.b();
        let (mask, zero) = (b.get(exec), b.i32(0));
        let zero = b.splat(zero);
        b.set(saved, mask);
        b.set(count, zero);
        self.go(Terminator::Jump(head.into()), head);
        self.body(depth + 1);
        let mut b = self.b();
        let (n, id, one, three) = (b.get(count), b.get(tid), b.i32(1), b.i32(3));
        let (next, limit) = (b.iadd(n, one), b.iand(id, three));
        b.set(count, next);
        let (mask, more) = (b.get(exec), b.icmp(IntCC::Ult, next, limit));
        let mask = b.iand(mask, more);
        b.set(exec, mask);
        self.go(Terminator::Jump(vote.into()), vote);
        let mut b = self.b();
        let mask = b.get(exec);
        let cond = b.vote_any(mask);
        self.go(Terminator::Branch { cond, taken: head.into(), next: end.into() }, end);
        let mut b = self.b();
        let mask = b.get(saved);
        b.set(exec, mask);
    }

    /// A load or store: at a 32-bit address or a 64-bit one; side by side, mixed, uniform or anywhere.
    fn access(&mut self) {
        let (s, v, w, tid, exec) = (self.scalar(), self.vector(), self.vector(), self.tid, self.exec);
        let (pattern, is_wide, is_store, bytes) = (
            self.rng.below(if self.lockstep { 5 } else { 2 }),
            self.rng.below(3) > 0,
            self.rng.below(2) == 0,
            [4, 4, 1, 2][self.rng.below(4) as usize],
        );
        let is_signed = self.rng.below(2) == 0;
        let mut b = self.b();
        let (mask, id, x, y) = (b.get(exec), b.get(tid), b.get(v), b.get(s));
        let (most, two) = (b.i32(127), b.i32(2));
        let index = match pattern {
            0 | 1 => id,
            2 => {
                let five = b.i32(5);
                b.ixor(id, five)
            }
            3 => b.iand(y, most),
            _ => b.iand(x, most),
        };
        let mut address = b.ishl(index, two);
        let access = MemAccess {
            space: Space::Global(0),
            bytes,
            signed: false,
            offset: 0x1_0000,
            align: bytes,
            far: false,
            align_offset: 0,
        };
        if is_wide {
            let far = b.i64(FAR);
            let low = if is_signed {
                let (index, two) = (b.convert(Opcode::Sext, index, Scalar::I64), b.i64(2));
                b.ishl(index, two)
            } else {
                b.convert(Opcode::Zext, address, Scalar::I64)
            };
            address = b.iadd(far, low);
        }
        if is_store {
            b.store(access, address, x, Some(mask));
        } else {
            let x = b.load(access, address, Some(mask));
            self.write(w, x);
        }
    }

    fn body(&mut self, depth: u32) {
        for _ in 0..self.rng.below(6) + 1 {
            self.statement(depth);
        }
    }
}

/// Whether a program is run with global memory ordered between lanes.
fn is_lockstep(seed: u64) -> bool {
    seed % 4 < 2
}

fn program_of(seed: u64, lanes: u32) -> Function {
    let mut func = Function::new("wave", Form::Spmd, lanes);
    let cur = func.add_block(0);
    func.entry = cur;
    let uniform = Type::uniform(Scalar::I32);
    let scalars = (0..REGS)
        .map(|n| {
            let init = if n == 0 { SlotInit::Builtin(Builtin::Ctaid(0)) } else { SlotInit::Zero };
            func.add_slot(format!("s{n}"), uniform, init)
        })
        .collect();
    let vectors = (0..REGS)
        .map(|n| {
            let init = [
                SlotInit::Builtin(Builtin::Tid(0)),
                SlotInit::Zero,
                SlotInit::Builtin(Builtin::LaneId),
                SlotInit::Zero,
            ];
            func.add_slot(format!("v{n}"), Type::I32, init[n])
        })
        .collect();
    let exec = func.add_slot("exec", Type::MASK, SlotInit::Zero);
    func.lane_mask = Some(exec);
    let vcc = func.add_slot("vcc", Type::MASK, SlotInit::Zero);
    let kept = ["k0", "k1"].map(|name| func.add_slot(name, Type::MASK, SlotInit::Zero));
    let wide = func.add_slot("wide", Type::uniform(Scalar::I64), SlotInit::Zero);
    let tid = func.add_slot("tid", Type::I32, SlotInit::Builtin(Builtin::LinearTid));
    let rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut g = Gen {
        rng,
        func,
        cur,
        scalars,
        vectors,
        exec,
        vcc,
        kept,
        wide,
        tid,
        counters: 0,
        lockstep: is_lockstep(seed),
    };
    let mut b = g.b();
    let all = b.bool(true);
    let all = b.splat(all);
    b.set(exec, all);
    for n in 0..REGS {
        let (s, k) = (g.scalars[n], g.rng.below(1000) as u32);
        let mut b = g.b();
        let (x, k) = (b.get(s), b.i32(k));
        let x = b.iadd(x, k);
        b.set(s, x);
    }
    for _ in 0..6 {
        g.body(0);
    }
    // Everything goes to memory behind what the program uses.
    for n in 0..2 * REGS + 1 {
        let mut b = Builder::new(&mut g.func, g.cur);
        let access = MemAccess {
            space: Space::Global(0),
            bytes: 4,
            signed: false,
            offset: 0x1_0000 + 1024 * (n as i32 + 1),
            align: 4,
            far: false,
            align_offset: 0,
        };
        let value = match n {
            n if n < REGS => b.get(g.scalars[n]),
            n if n < 2 * REGS => b.get(g.vectors[n - REGS]),
            _ => {
                let mask = b.get(exec);
                b.convert(Opcode::Bmask, mask, Scalar::I32)
            }
        };
        let (id, two) = (b.get(tid), b.i32(2));
        let address = b.ishl(id, two);
        b.store(access, address, value, None);
    }
    let end = g.block();
    g.go(Terminator::Jump(end.into()), end);
    g.b().terminate(Terminator::Leave { kind: LeaveKind::Exit, cond: None, next: end });
    g.func
}

fn image(function: Function, lanes: u32) -> KernelImage {
    KernelImage {
        name: "wave".into(),
        function,
        abi: KernelAbi { warp_lanes: lanes, full_warps: true, ..abi() },
        registers: 16,
        shared_bytes: 1024,
        local_bytes: 0,
        params: None,
        consts: vec![],
        compiler_bank: None,
        code: CodeMap::default(),
        known_user_data: vec![],
        instruction_bytes: |_| 4,
        aliases: Vec::new(),
        stage: None,
    }
}

#[test]
fn compiled_waves_do_what_the_interpreter_does() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let seeds = match number("WARPJIT_SEED") {
        Some(seed) => seed..=seed,
        None => 1..=number("WARPJIT_RANDOM").unwrap_or(60),
    };
    for seed in seeds {
        let lanes = if seed % 2 == 0 { 32 } else { 64 };
        let function = program_of(seed, lanes);
        if let Err(error) = verify(&function) {
            panic!("seed {seed}: {error}\n{function}");
        }
        let program = Program::from_image(image(function.clone(), lanes)).expect("a program");
        // What other warps store may be there or not: lanes look at each other's memory within one only.
        let (grid, block) = if is_lockstep(seed) { (1, lanes - 3) } else { (2, 100) };
        let launch = Launch::default().grid([grid, 1, 1]).block([block, 1, 1]);
        let result = |tier, chunk_groups, checked_memory| {
            let config = Config::default()
                .tier(tier)
                .threads(1)
                .chunk_groups(chunk_groups)
                .checked_memory(checked_memory)
                .lockstep(is_lockstep(seed));
            let engine = Engine::new(config).expect("engine");
            let memory = engine.memory().expect("memory");
            for address in [0x1_0000, FAR + 0x1_0000] {
                memory.map(Some(address), WORDS as u64 * 4, Access::ReadWrite).expect("mapped");
            }
            let report = engine.run(&program, &memory, &launch).expect("launch");
            assert_eq!(report.fault, None, "seed {seed}");
            assert_eq!(report.stats.not_compiled, None, "seed {seed}");
            let mut words = words_of(&memory, WORDS);
            let mut far = [0; 512];
            memory.read(FAR + 0x1_0000, &mut far).expect("mapped");
            words.extend(far.map(u32::from));
            words
        };
        let want = result(Tier::Interp, None, false);
        for (chunk, checked) in
            [(Some(0), false), (Some(1), false), (Some(2), false), (Some(4), false), (None, true)]
        {
            let got = result(Tier::Jit, chunk, checked);
            let differ = want.iter().zip(&got).position(|(a, b)| a != b);
            if let Some(at) = differ {
                panic!(
                    "seed {seed}, {chunk:?} groups: word {at} is {:#x}, wanted {:#x}\n{function}",
                    got[at], want[at]
                );
            }
        }
    }
}

//! Runs random kernels block by block on the divergence stack and as lane regions: memory and registers must be equal.

use std::collections::BTreeMap;

use super::SlotFacts;
use super::promote::FAULT_EXIT;
use super::split;
use super::steps;
use super::{ChunkLimits, Kernel, RegionOptions};
use warpjit_ir_core::abi::Builtin;
use warpjit_ir_core::builder::Builder;
use warpjit_ir_core::device::{DeviceAccess, DeviceCall, DeviceFault, DeviceFn, DeviceSite};
use warpjit_ir_core::entities::{Block, Slot, Value};
use warpjit_ir_core::function::{Form, Function, LeaveKind, PushKind, SlotInit, Terminator};
use warpjit_ir_core::opcodes::{AtomicOp, IntCC, MemAccess, Opcode, Space};
use warpjit_ir_core::types::{Scalar, Type};
use warpjit_ir_core::verify::verify;
use warpjit_ir_interp::{Code, Denied, Flow, Scratch, Warp, WarpMemory, run_mask_function};

/// A small generator of numbers (xorshift64*).
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// The seeds to try: `count` of them from 1 on, as many as `WARPJIT_RANDOM` says, or the one in `WARPJIT_SEED`.
pub(crate) fn seeds(count: u64) -> std::ops::RangeInclusive<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    match number("WARPJIT_SEED") {
        Some(seed) => seed..=seed,
        None => 1..=number("WARPJIT_RANDOM").unwrap_or(count),
    }
}

const REGS: usize = 5;

struct Gen {
    rng: Rng,
    func: Function,
    cur: Block,
    regs: Vec<Slot>,
    lane: Slot,
    budget: u32,
    /// Blocks that a call may target.
    callees: Vec<Block>,
    depth: u32,
    in_loop: bool,
}

impl Gen {
    fn b(&mut self) -> Builder<'_> {
        Builder::new(&mut self.func, self.cur)
    }

    fn term(&mut self, term: Terminator, next: Block) {
        self.func.block_mut(self.cur).guest_insts += 1;
        self.b().terminate(term);
        self.cur = next;
    }

    fn block(&mut self) -> Block {
        let pc = self.func.blocks.len() as u32 * 8;
        self.func.add_block(pc)
    }

    fn reg(&mut self) -> Slot {
        let n = self.rng.below(REGS as u64) as usize;
        self.regs[n]
    }

    fn read(&mut self) -> Value {
        let slot = self.reg();
        self.b().get(slot)
    }

    fn cond(&mut self) -> Value {
        let (a, b) = (self.read(), self.read());
        let k = self.rng.below(8) as u32;
        let pick = self.rng.below(4);
        let lane = self.lane;
        let mut b2 = self.b();
        match pick {
            0 => b2.icmp(IntCC::Ult, a, b),
            1 => {
                let m = b2.i32(7);
                let x = b2.iand(a, m);
                let k = b2.i32(k);
                b2.icmp(IntCC::Eq, x, k)
            }
            2 => {
                let l = b2.get(lane);
                let k = b2.i32(k * 4);
                b2.icmp(IntCC::Uge, l, k)
            }
            _ => {
                let k = b2.i32(k);
                let one = b2.i32(1);
                let x = b2.ushr(a, k);
                let x = b2.iand(x, one);
                b2.icmp(IntCC::Eq, x, one)
            }
        }
    }

    fn mem(space: Space, offset: i32) -> MemAccess {
        let far = space == Space::Shared && offset % 8 == 0;
        MemAccess { space, bytes: 4, signed: false, offset, align: 4, far, align_offset: 0 }
    }

    fn simple(&mut self) {
        let d = self.reg();
        match self.rng.below(11) {
            0..=4 => {
                let (a, b) = (self.read(), self.read());
                let op = [Opcode::Iadd, Opcode::Isub, Opcode::Imul, Opcode::Ixor, Opcode::Umin]
                    [self.rng.below(5) as usize];
                let v = self.b().same(op, &[a, b], warpjit_ir_core::function::Imm::None);
                self.b().set(d, v);
            }
            5 => {
                let k = self.rng.below(1000) as u32;
                let v = self.b().i32(k);
                self.b().set(d, v);
            }
            6 => {
                let (c, a, b) = (self.cond(), self.read(), self.read());
                let v = self.b().select(c, a, b);
                self.b().set(d, v);
            }
            7 => {
                // The lane's own words of global memory.
                let lane = self.lane;
                let (v, guard) = (self.read(), self.cond());
                let offset = 4096 + self.rng.below(4) as i32 * 4;
                let mut b = self.b();
                let l = b.get(lane);
                let sixteen = b.i32(16);
                let a = b.imul(l, sixteen);
                b.store(Self::mem(Space::Global(14), offset), a, v, Some(guard));
            }
            8 => {
                let lane = self.lane;
                let offset = 4096 + self.rng.below(4) as i32 * 4;
                let mut b = self.b();
                let l = b.get(lane);
                let sixteen = b.i32(16);
                let a = b.imul(l, sixteen);
                let v = b.load(Self::mem(Space::Global(14), offset), a, None);
                b.set(d, v);
            }
            9 => {
                // Any lane's word of shared memory.
                let (a, v) = (self.read(), self.read());
                let mut b = self.b();
                let m = b.i32(0x3c);
                let a = b.iand(a, m);
                b.store(Self::mem(Space::Shared, 0), a, v, None);
            }
            _ => {
                let a = self.read();
                let mut b = self.b();
                let m = b.i32(0x3c);
                let a = b.iand(a, m);
                let v = b.load(Self::mem(Space::Shared, 0), a, None);
                b.set(d, v);
            }
        }
        self.func.block_mut(self.cur).guest_insts += 1;
    }

    fn stmts(&mut self, count: u64) {
        for _ in 0..count {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            self.stmt();
        }
    }

    fn stmt(&mut self) {
        let kind = if self.depth >= 4 { 0 } else { self.rng.below(24) };
        self.depth += 1;
        match kind {
            0..=8 => self.simple(),
            9..=11 => self.if_joined(),
            12 => self.if_plain(),
            13..=14 => self.counted_loop(),
            15 => {
                let cond = self.cond();
                let next = self.block();
                let kind = if self.rng.chance(50) { LeaveKind::Exit } else { LeaveKind::Return };
                if self.rng.chance(40) {
                    self.term(Terminator::Leave { kind, cond: Some(cond), next }, next);
                } else {
                    self.term(Terminator::Jump(next.into()), next);
                }
            }
            16 if self.in_loop => {
                let cond = self.cond();
                let next = self.block();
                self.term(Terminator::Leave { kind: LeaveKind::Break, cond: Some(cond), next }, next);
            }
            17 if !self.callees.is_empty() => {
                let n = self.rng.below(self.callees.len() as u64) as usize;
                let (target, ret) = (self.callees[n], self.block());
                self.term(Terminator::Call { target, ret }, ret);
            }
            18 => {
                // A vote in a block of its own.
                let slot = self.reg();
                let vote = self.block();
                self.term(Terminator::Jump(vote.into()), vote);
                let d = self.reg();
                let mut b = self.b();
                let v = b.get(slot);
                let seven = b.i32(7);
                let x = b.iand(v, seven);
                let c = b.icmp(IntCC::Ult, x, seven);
                let any = b
                    .push(Opcode::VoteAll, &[c], warpjit_ir_core::function::Imm::None, Some(Type::MASK))
                    .expect("result");
                let v = b.convert(Opcode::Bmask, any, Scalar::I32);
                b.set(d, v);
                let next = self.block();
                self.term(Terminator::Jump(next.into()), next);
            }
            19..=20 => self.atomic(),
            21 => self.quad(),
            22 => self.device(),
            _ => self.simple(),
        }
        self.depth -= 1;
    }

    /// An atomic in a block of its own, on words that many lanes share; mostly of one operation, and often nobody looks at the result.
    fn atomic(&mut self) {
        let (address, value) = (self.reg(), self.reg());
        let block = self.block();
        self.term(Terminator::Jump(block.into()), block);
        let d = self.reg();
        let ops =
            [AtomicOp::Add, AtomicOp::Add, AtomicOp::Add, AtomicOp::Exch, AtomicOp::Cas, AtomicOp::Umax];
        let op = ops[self.rng.below(6) as usize];
        let space = if self.rng.chance(70) { Space::Global(14) } else { Space::Shared };
        let offset = if space == Space::Shared { 0 } else { 20_000 };
        let (guarded, used) = (self.rng.chance(40), self.rng.chance(40));
        let mut b = self.b();
        let (a, v) = (b.get(address), b.get(value));
        let m = b.i32(0xc);
        let at = b.iand(a, m);
        let new = op.takes_two().then_some(a);
        let guard = guarded.then(|| b.icmp(IntCC::Ult, v, a));
        let old = b.atomic(Self::mem(space, offset), op, at, v, new, guard);
        if used {
            // What it returns to lanes that it is not for is not specified.
            let before = b.get(d);
            let kept = guard.map_or(old, |guard| b.select(guard, old, before));
            b.set(d, kept);
        }
        self.func.block_mut(self.cur).guest_insts += 1;
        let next = self.block();
        self.term(Terminator::Jump(next.into()), next);
    }

    /// A difference between lanes of a quad, in a block of its own.
    fn quad(&mut self) {
        let (slot, d) = (self.reg(), self.reg());
        let block = self.block();
        self.term(Terminator::Jump(block.into()), block);
        let lanes = [self.rng.below(4), self.rng.below(4)];
        let mut b = self.b();
        let v = b.get(slot);
        let [x, y] = lanes.map(|lane| {
            b.push(Opcode::QuadLane, &[v], warpjit_ir_core::function::Imm::Bits(lane), Some(Type::I32))
                .expect("result")
        });
        let x = b.isub(x, y);
        b.set(d, x);
        self.func.block_mut(self.cur).guest_insts += 1;
        let next = self.block();
        self.term(Terminator::Jump(next.into()), next);
    }

    /// A device call in a block of its own, with a word of local memory that it replaces.
    fn device(&mut self) {
        let (slot, d) = (self.reg(), self.reg());
        let block = self.block();
        self.term(Terminator::Jump(block.into()), block);
        let (params, guarded) = (self.rng.below(4), self.rng.chance(40));
        let mut b = self.b();
        let v = b.get(slot);
        let (zero, m) = (b.i32(0), b.i32(9));
        let guard = guarded.then(|| {
            let x = b.iand(v, m);
            b.icmp(IntCC::Ult, x, m)
        });
        b.store(Self::mem(Space::Local, 16), zero, v, None);
        let site = DeviceSite { callee: &DEVICE, params, mailbox: 16 };
        let args: Vec<Value> = guard.into_iter().collect();
        b.push(Opcode::CallDevice, &args, warpjit_ir_core::function::Imm::Device(site), None);
        let v = b.load(Self::mem(Space::Local, 16), zero, None);
        b.set(d, v);
        self.func.block_mut(self.cur).guest_insts += 1;
        let next = self.block();
        self.term(Terminator::Jump(next.into()), next);
    }

    fn if_joined(&mut self) {
        let (body, join, after) = (self.block(), self.block(), self.block());
        let first = self.block();
        self.term(Terminator::Push { kind: PushKind::Join, target: join, next: first }, first);
        let cond = self.cond();
        let other = if self.rng.chance(50) { self.block() } else { join };
        self.term(Terminator::Branch { cond, taken: other.into(), next: body.into() }, body);
        let n = self.rng.below(4) + 1;
        self.stmts(n);
        if other != join {
            // A join of its own stands for a jump to the one that the entry names.
            let to_join = match self.rng.chance(30) {
                true => Terminator::Join { cond: None, next: other, at_target: false },
                false => Terminator::Jump(join.into()),
            };
            self.term(to_join, other);
            let n = self.rng.below(4) + 1;
            self.stmts(n);
        }
        self.term(Terminator::Jump(join.into()), join);
        if self.rng.chance(30) {
            self.simple();
        }
        self.term(Terminator::Join { cond: None, next: after, at_target: false }, after);
    }

    /// A branch that no join follows: lanes stay apart.
    fn if_plain(&mut self) {
        let (body, after) = (self.block(), self.block());
        let cond = self.cond();
        self.term(Terminator::Branch { cond, taken: after.into(), next: body.into() }, body);
        let n = self.rng.below(3) + 1;
        self.stmts(n);
        self.term(Terminator::Jump(after.into()), after);
    }

    fn counted_loop(&mut self) {
        let counter = self.func.add_slot(format!("i{}", self.func.slots.len()), Type::I32, SlotInit::Zero);
        let uniform = self.rng.chance(40);
        let (first, head, done) = (self.block(), self.block(), self.block());
        let zero = self.b().i32(0);
        self.b().set(counter, zero);
        let with_break = self.rng.chance(70);
        if with_break {
            self.term(Terminator::Push { kind: PushKind::Break, target: done, next: first }, first);
        } else {
            self.term(Terminator::Jump(first.into()), first);
        }
        self.term(Terminator::Jump(head.into()), head);
        let outer = std::mem::replace(&mut self.in_loop, with_break);
        let n = self.rng.below(5) + 1;
        self.stmts(n);
        self.in_loop = outer;
        let limit = self.rng.below(6) as u32 + 1;
        let lane = self.lane;
        let mut b = self.b();
        let (i, one) = (b.get(counter), b.i32(1));
        let i = b.iadd(i, one);
        b.set(counter, i);
        let mut limit = b.i32(limit);
        if !uniform {
            let l = b.get(lane);
            let three = b.i32(3);
            let l = b.iand(l, three);
            limit = b.iadd(limit, l);
        }
        let again = b.icmp(IntCC::Ult, i, limit);
        let out = self.block();
        self.term(Terminator::Branch { cond: again, taken: head.into(), next: out.into() }, out);
        if with_break {
            self.term(Terminator::Leave { kind: LeaveKind::Break, cond: None, next: done }, done);
        } else {
            self.term(Terminator::Jump(done.into()), done);
        }
    }
}

/// Computes with a word; calls with odd constants count as stores.
static DEVICE: DeviceFn = DeviceFn {
    name: "test.random",
    run: |call| {
        for lane in call.each_lane() {
            let word = call.arg(lane, 0).wrapping_mul(5).wrapping_add(lane + call.params as u32);
            call.set(lane, 0, word);
        }
        Ok(())
    },
    stores: |params| params % 2 == 1,
};

/// A random kernel that stores its registers at its end.
pub fn random_kernel(seed: u64) -> Function {
    let mut func = Function::new("random", Form::Spmd, 32);
    let lane = func.add_slot("lane", Type::I32, SlotInit::Builtin(Builtin::LaneId));
    let regs = (0..REGS).map(|n| func.add_slot(format!("r{n}"), Type::I32, SlotInit::Zero)).collect();
    let entry = func.add_block(0);
    let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    rng.next();
    let mut g =
        Gen { rng, func, cur: entry, regs, lane, budget: 60, callees: Vec::new(), depth: 0, in_loop: false };
    // One function to call, then the main program.
    let callee = g.block();
    g.cur = callee;
    g.depth = 2;
    g.stmts(3);
    let end = g.block();
    g.term(Terminator::Leave { kind: LeaveKind::Return, cond: None, next: end }, end);
    g.term(Terminator::Leave { kind: LeaveKind::Exit, cond: None, next: end }, end);
    g.depth = 0;
    if g.rng.chance(50) {
        g.callees.push(callee);
    }
    g.cur = entry;
    for n in 0..REGS {
        let (slot, lane) = (g.regs[n], g.lane);
        let mut b = g.b();
        let l = b.get(lane);
        let k = b.i32(n as u32 * 37 + 5);
        let v = b.imul(l, k);
        b.set(slot, v);
    }
    let n = g.rng.below(10) + 4;
    g.stmts(n);
    for n in 0..REGS {
        let (slot, lane) = (g.regs[n], g.lane);
        let mut b = g.b();
        let l = b.get(lane);
        let k = b.i32(32);
        let a = b.imul(l, k);
        let v = b.get(slot);
        b.store(Gen::mem(Space::Global(14), 8192 + n as i32 * 4), a, v, None);
    }
    let end = g.block();
    g.term(Terminator::Leave { kind: LeaveKind::Exit, cond: None, next: end }, end);
    g.cur = end;
    g.term(Terminator::Leave { kind: LeaveKind::Exit, cond: None, next: end }, end);
    g.func
}

#[derive(Default, Clone, PartialEq, Debug)]
struct Memory(BTreeMap<(Space, u32, u64), u64>);

impl WarpMemory for Memory {
    fn load(&mut self, space: Space, lane: u32, address: u64, _: u8) -> Result<u64, Denied> {
        let lane = if space == Space::Local { lane } else { 0 };
        Ok(self.0.get(&(space, lane, address)).copied().unwrap_or(0))
    }

    fn store(&mut self, space: Space, lane: u32, address: u64, _: u8, value: u64) -> Result<(), Denied> {
        let lane = if space == Space::Local { lane } else { 0 };
        self.0.insert((space, lane, address), value);
        Ok(())
    }

    fn lock(&mut self, _: u32, _: u64) -> bool {
        true
    }

    fn call_device(&mut self, site: &DeviceSite, lanes: u64) -> Result<(), DeviceFault> {
        let mut call = DeviceCall { params: site.params, mailbox: site.mailbox, lanes, access: self };
        (site.callee.run)(&mut call)
    }
}

impl DeviceAccess for Memory {
    fn lanes(&self) -> u32 {
        64
    }

    fn local(&self, lane: u32, address: u32) -> u32 {
        self.0.get(&(Space::Local, lane, address.into())).copied().unwrap_or(0) as u32
    }

    fn set_local(&mut self, lane: u32, address: u32, value: u32) {
        self.0.insert((Space::Local, lane, address.into()), value.into());
    }

    fn read(&mut self, address: u64, _: &mut [u8]) -> Result<(), u64> {
        Err(address)
    }

    fn write(&mut self, address: u64, _: &[u8]) -> Result<(), u64> {
        Err(address)
    }

    fn update(&mut self, address: u64, _: u8, _: &dyn Fn(u64) -> u64) -> Result<u64, u64> {
        Err(address)
    }

    fn textures(&self) -> &warpjit_ir_core::TextureTables {
        unreachable!("the test's device asks for none")
    }
}

/// Steps that a region of a kernel with [`Kernel::steps_slot`] is given: it often has to come out of a loop.
const FEW_STEPS: u64 = 60;

/// What a run has come to.
struct Ran {
    memory: Memory,
    /// Of the warp, and of its threads.
    steps: (u64, u64),
    /// Regions that were run.
    by_region: u64,
}

/// How a kernel is run.
#[derive(Clone, Copy, PartialEq, Debug)]
enum By {
    Blocks,
    Regions,
    OptimizedRegions,
}

/// Runs to the end; `None` when it takes too long.
fn run(kernel: &Kernel, launched: u64, by: By) -> Option<Ran> {
    let code = Code::new(&kernel.func).expect("valid code");
    let mut scratch = Scratch::new(&code);
    let mut warp = Warp::new(&code, launched, |_, lane| lane);
    let mut memory = Memory::default();
    let mut cache: BTreeMap<(Block, String), Option<(super::Region, Code)>> = BTreeMap::new();
    let mut by_region = 0;
    // A chunk is a narrow warp.
    let lanes = if kernel.whole_warps() { 32 } else { 4 };
    let steps_at = kernel.steps_slot().map(|slot| kernel.func.frame_layout().0[slot.index()]);
    for _ in 0..20_000 {
        let compiled = (by != By::Blocks)
            .then(|| {
                // What holds in this warp now; the runtime checks it per chunk.
                let mut known = SlotFacts::none(kernel.func.slots.len());
                for s in 0..kernel.func.slots.len() {
                    let line = &warp.frame.words()[s * 32..s * 32 + 32];
                    if line.chunks(lanes).all(|c| c.iter().all(|w| *w == c[0])) {
                        known.uniform.insert(Slot::new(s));
                    }
                    if line.iter().all(|w| *w == u32::MAX) {
                        known.ones.insert(Slot::new(s));
                    }
                }
                cache.entry((warp.block, format!("{known:?}"))).or_insert_with(|| {
                    let mut region = kernel.region(warp.block, &known)?;
                    verify(&region.ssa).expect("valid SSA");
                    if by == By::OptimizedRegions {
                        super::optimize(&mut region, false);
                        super::versions(&mut region, false, &crate::passes::schedule::tests::MODEL);
                    }
                    verify(&region.mask).expect("valid mask form");
                    let code = Code::new(&region.mask).expect("valid code");
                    Some((region, code))
                })
            })
            .and_then(|r| r.as_ref())
            .filter(|(region, _)| steps_at.is_none() || u64::from(region.steps) <= FEW_STEPS);
        let flow = match compiled {
            Some((region, region_code)) => {
                by_region += 1;
                if let Some(at) = steps_at {
                    warp.frame.write(at, Scalar::I32, 0, FEW_STEPS);
                }
                let mut scratch = Scratch::new(region_code);
                let (mut exit, mut exited, mut cond) = (0, 0, 0);
                for first in (0..32).step_by(lanes) {
                    let mask = warp.active & (u64::MAX >> (64 - lanes)) << first;
                    if mask == 0 {
                        continue;
                    }
                    let out =
                        run_mask_function(region_code, &mut scratch, &mut warp.frame, mask, &mut memory)
                            .expect("no fault");
                    assert!(out.exit < FAULT_EXIT);
                    exit = exit.max(out.exit);
                    exited |= out.exited & mask;
                    cond |= out.cond.unwrap_or(0) & mask;
                }
                if let Some(at) = steps_at {
                    let left = warp.frame.read(at, Scalar::I32, 0);
                    assert!(left <= FEW_STEPS, "more steps than were left:\n{}\n{}", region.ssa, region.mask);
                    warp.count(FEW_STEPS - left);
                }
                code.finish_region(&mut warp, region.exits[exit as usize], exited, Some(cond))
            }
            None => code.run_block(&mut scratch, &mut warp, &mut memory),
        };
        match flow {
            Flow::Ended => {
                return Some(Ran { memory, steps: (warp.steps, warp.thread_steps), by_region });
            }
            Flow::Next => {}
            other => panic!("{other:?}"),
        }
    }
    None
}

fn check(seed: u64, options: RegionOptions) -> bool {
    check_kernel(seed, random_kernel(seed), options)
}

/// Holds a kernel's regions against its blocks; whether it ends.
pub(crate) fn check_kernel(seed: u64, func: Function, options: RegionOptions) -> bool {
    if let Err(e) = verify(&func) {
        panic!("seed {seed}: {e}");
    }
    // Some programs are compiled with their blocks cut at every few instructions.
    let mut cut = func.clone();
    if seed % 4 == 1 {
        split::split_long(&mut cut, 1 + seed as usize % 5);
    }
    let kernel = Kernel::new(func, options);
    let cut = Kernel::new(cut, options);
    // All lanes of a wave are there, whatever EXEC says.
    let some = seed.is_multiple_of(3) && !super::wave::is_wave(&kernel.func);
    let launched = if some { 0x0ffe_f0ff } else { 0xffff_ffff };
    let Some(wanted) = run(&kernel, launched, By::Blocks) else { return false };
    if let Some(most) = steps::most(&kernel.func) {
        assert!(
            wanted.steps.0 <= most,
            "seed {seed}: {} steps, {most} at most\n{}",
            wanted.steps.0,
            kernel.func
        );
    }
    for by in [By::Regions, By::OptimizedRegions] {
        let Some(ran) = run(&cut, launched, by) else { panic!("seed {seed}: {by:?} do not end") };
        assert!(ran.by_region > 0 || cut.steps_slot().is_some());
        if cut.steps_slot().is_some() {
            assert_eq!(ran.steps, wanted.steps, "seed {seed}: steps of {by:?}\n{}", cut.func);
        }
        let (want, got) = (&wanted.memory, &ran.memory);
        if want != got {
            let differ: Vec<_> = want.0.iter().filter(|(k, v)| got.0.get(k) != Some(v)).take(8).collect();
            let more = got.0.keys().filter(|k| !want.0.contains_key(k)).count();
            panic!("seed {seed} {options:?} {by:?}: {differ:?} wanted, {more} words too many\n{}", cut.func);
        }
    }
    true
}

#[test]
fn regions_do_what_the_stack_does() {
    let (mut ran, mut all) = (0, 0);
    for seed in seeds(300) {
        all += 1;
        ran += u64::from(check(seed, RegionOptions { by_quads: true, ..Default::default() }));
        check(seed, RegionOptions::default());
        check(seed, RegionOptions { chunks: ChunkLimits::up_to(32), ..Default::default() });
        if seed.is_multiple_of(8) {
            check(seed, RegionOptions { lockstep: true, ..Default::default() });
            check(seed, RegionOptions { exact_steps: true, ..Default::default() });
        }
        check(
            seed,
            RegionOptions {
                exact_steps: true,
                chunks: ChunkLimits::up_to(32),
                by_quads: true,
                ..Default::default()
            },
        );
    }
    assert!(all < 20 || ran > all / 2, "only {ran} of {all} programs ended");
}

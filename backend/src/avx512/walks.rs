//! Moves the test of an address out of a loop that runs a single lane, if the address grows by the same amount in each iteration.
//!
//! The last lanes of a loop run one after another ([`super::single`]). An address in such a loop is tested once, before the first
//! iteration. That is enough if the loop accesses it in every iteration and it grows by a small constant: after the end of the address
//! space no page is mapped for farther than one such step, so the access itself traps there. The alignment stays the same, too. The loop
//! still takes fuel, because it may run over terabytes before that.

use regalloc2::Block as HostBlock;
use warpjit_ir::types::Scalar;
use warpjit_ir::{Block, Imm, Inst, InstData, Opcode, Space, Terminator, Value};

use super::lower::{Kept, Lower};
use super::memory::{Access, Address};
use super::scalar::{SHL, SUB};
use super::single::Led;
use crate::affine::Form;
use crate::error::Error;
use crate::flow::Flow;
use crate::operands::{MemoryOperands, wide};

/// Most that an address grows by in a turn, and most that an access is beside it.
const MOST_STEP: i64 = 1 << 16;

/// What a loop walks along.
pub(super) struct Walks {
    list: Vec<Walk>,
    /// Where the loop's own jumps go, behind the tests.
    inner: HostBlock,
}

/// A word that a loop counts in.
#[derive(Clone, Copy)]
struct Counter {
    param: Value,
    /// What it is in the next turn.
    next: Value,
    /// What addresses grow by for each that it counts.
    scale: u8,
}

/// An access along a walk.
struct Walk {
    inst: Inst,
    /// The loop's parameter that its address comes from, and how far it is from it.
    param: Value,
    offset: i64,
    /// What it grows by in a turn.
    step: i64,
}

impl Lower<'_> {
    /// Before a block is made: makes what a single lane's loop goes back to. It has the lower number, so it stays with the loop.
    pub fn expect_walks(&mut self, b: Block) {
        let list = if self.single.is_loop(b) { self.walks(b) } else { Vec::new() };
        if !list.is_empty() {
            let inner = self.a.block();
            self.single.walks.insert(b, Walks { list, inner });
        }
    }

    /// Where a single lane's loop begins: tests the first addresses of its walks, and starts the loop proper behind that.
    pub fn begin_walks(&mut self, b: Block) -> Result<(), Error> {
        let Some(walks) = self.single.walks.remove(&b) else { return Ok(()) };
        for walk in &walks.list {
            let data = self.f.inst(walk.inst);
            let MemoryOperands { mem, value, guard, .. } = MemoryOperands::of(data)?;
            let x = Access::new(data, mem, value, guard, Address::Lanes(Vec::new()));
            let first = self.general(walk.param)?;
            let first = self.a.add_imm(true, first, walk.offset);
            self.a.pc = data.pc;
            self.check_one(&x, first, None)?;
        }
        self.go_together(b, &walks.list)?;
        let inner = walks.inner;
        self.single.walks.insert(b, walks);
        self.go_on_in(b, inner)
    }

    /// Walks that grow alike need one register: others are as far from the first as they were at the beginning. Where
    /// the loop counts turns, that is the counter's, of which addresses are multiples.
    fn go_together(&mut self, b: Block, walks: &[Walk]) -> Result<(), Error> {
        let first = &walks[0];
        let counter = self.counter(b, first.step).filter(|_| self.only_walks(b, first));
        let (leader, scale) = match counter {
            Some(Counter { param, next, scale }) => {
                self.single.far.extend([param, next]);
                (param, scale)
            }
            None => (first.param, 1),
        };
        let start = self.general(leader)?;
        let start = match counter {
            Some(_) => {
                let word = self.a.low32(start);
                self.a.shift(true, SHL, word, scale.trailing_zeros() as u8)
            }
            None => start,
        };
        for walk in walks.iter().filter(|walk| walk.param != leader && walk.step == first.step) {
            if !self.only_walks(b, walk) {
                continue;
            }
            let base = self.base(MemoryOperands::of(self.f.inst(walk.inst))?.mem.space);
            let own = self.general(walk.param)?;
            let apart = self.a.g2(true, SUB, own, start);
            let base = self.a.add(true, base, apart);
            self.single.led.push(Led { inst: walk.inst, param: walk.param, leader, scale, base });
        }
        Ok(())
    }

    /// A word that the loop counts in, for addresses that grow by `step`.
    fn counter(&self, b: Block, step: i64) -> Option<Counter> {
        let Terminator::BrIf { taken, .. } = self.f.term(b) else { return None };
        let mut counters = self.f.block(b).params.iter().zip(&taken.args).filter_map(|(&param, &next)| {
            let data = self.f.def_inst(next).filter(|data| data.op == Opcode::Iadd)?;
            let by = self.f.as_const(*data.args.get(1)?)? as u32 as i32;
            let scale = step.checked_div(by.into()).filter(|scale| [1, 2, 4, 8].contains(scale))?;
            let fits = data.args[0] == param
                && i64::from(by) * scale == step
                && self.f.ty(param).scalar == Scalar::I32
                && self.forms.of(param) == Form::Uniform
                && [param, next].iter().all(|v| self.is_one(*v) && !self.as_vector[v.index()]);
            fits.then_some(Counter { param, next, scale: scale as u8 })
        });
        counters.next()
    }

    /// Whether a walk's parameter is there for nothing but one access at it.
    fn only_walks(&self, b: Block, walk: &Walk) -> bool {
        let Terminator::BrIf { taken, .. } = self.f.term(b) else { return false };
        let place = self.f.block(b).params.iter().position(|&p| p == walk.param);
        let Some(&next) = place.and_then(|place| taken.args.get(place)) else { return false };
        // The access and the next turn's address; the next turn.
        let few = self.uses.count(walk.param) == 2 && self.uses.count(next) == 1;
        self.f.inst(walk.inst).args[0] == walk.param && few
    }

    /// Ends the block that is written with a jump to another, with parameters of its own, to which the loop's own jumps go.
    pub fn go_on_in(&mut self, b: Block, inner: HostBlock) -> Result<(), Error> {
        let mut args = Vec::new();
        for &p in &self.f.block(b).params {
            if self.single.is_led(p) {
                continue;
            }
            match self.kept(p)? {
                Kept::Const(_) => return Err(Error::Malformed(format!("{p} is a constant"))),
                // Counted further in 64 bits.
                Kept::General(list) if self.single.counts_far(p) => args.push(self.a.low32(list[0])),
                Kept::General(list) | Kept::Splat(list) | Kept::Parts(list) => {
                    args.extend(list.iter().copied())
                }
                Kept::Bits(bits) => args.push(bits),
            }
        }
        args.extend(self.single.fuel.get(&b));
        self.a.jump(inner, &args);
        self.blocks.replace(b, inner);
        self.declare_params(b, inner);
        self.a.switch_to(inner);
        self.forget_block();
        Ok(())
    }

    /// Whether the address of an access is known to be good.
    pub fn is_walked(&self, data: &InstData) -> bool {
        let walks = self.single.walks.get(&self.blocks.current);
        walks.is_some_and(|walks| walks.list.iter().any(|walk| std::ptr::eq(self.f.inst(walk.inst), data)))
    }

    /// The accesses that come before all others that could fault otherwise.
    fn walks(&self, b: Block) -> Vec<Walk> {
        let Terminator::BrIf { taken, .. } = self.f.term(b) else { return Vec::new() };
        let params = &self.f.block(b).params;
        let step = |param: Value| {
            let place = params.iter().position(|&p| p == param)?;
            let (root, step) = self.without_constants(*taken.args.get(place)?);
            (root == param && step.abs() <= MOST_STEP).then_some(step)
        };
        let walk = |inst: Inst, data: &InstData| {
            let (Opcode::Load, Imm::Mem(mem)) = (data.op, data.imm) else { return None };
            let &[address, guard] = &data.args[..] else { return None };
            let (param, more) = self.without_constants(address);
            let offset = more + i64::from(mem.offset);
            let step = step(param)?;
            let aligned = step % i64::from(mem.align.max(1)) == 0;
            let fits = matches!(mem.space, Space::Global(_))
                && wide(self.scalar_of(address))
                && self.forms.of(address) == Form::Uniform
                && self.is_one(address)
                && self.is_single(Some(guard))
                && offset.abs() <= MOST_STEP
                && aligned;
            fits.then_some(Walk { inst, param, offset, step })
        };
        let mut walks = Vec::new();
        for &inst in &self.f.block(b).insts {
            let data = self.f.inst(inst);
            match walk(inst, data) {
                Some(walk) => walks.push(walk),
                None if matches!(data.imm, Imm::Mem(_) | Imm::Atomic(..)) => break,
                None => {}
            }
        }
        walks
    }
}

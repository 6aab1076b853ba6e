//! Single lanes of a chunk: which there are, and what they hold. Loops whose last lanes go on one after another are made of these
//! (`warpjit_ir::passes::lane_loops`).

use foldhash::{HashMap, HashMapExt};
use iced_x86::Code;
use regalloc2::{Block as HostBlock, RegClass};
use warpjit_ir::analysis::Cfg;
use warpjit_ir::{Block, Function, Inst, InstData, Opcode, Terminator, Value};

use super::asm::{Mem, R, With};
use super::code::Flags;
use super::control::CALL_BYTES;
use super::lower::{Kept, Lower};
use super::walks::Walks;
use crate::context::at;
use crate::error::Error;
use crate::flow::Flow;
use crate::operands::{arg, malformed, result, wide};

/// Loops of single lanes. Their turns are so short that counting them in memory would take longer than all else: the count is in a
/// register, from the context and back for each lane.
#[derive(Default)]
pub(super) struct SingleLoops {
    /// Where a lane is picked.
    picks: Vec<Block>,
    /// The loops, and where they lead.
    loops: Vec<(Block, Block)>,
    /// Addresses that loops walk along.
    pub walks: HashMap<Block, Walks>,
    /// Accesses that go along with others.
    pub led: Vec<Led>,
    /// See [`SingleLoops::counts_far`].
    pub far: Vec<Value>,
    /// The fuel in a loop.
    pub fuel: HashMap<Block, R>,
    /// Whether there are such loops in other phases before this function.
    pub before: bool,
}

/// An access whose address is always as far from another parameter of the loop, or from a multiple of it, as at the beginning.
#[derive(Clone, Copy)]
pub(super) struct Led {
    pub inst: Inst,
    /// The parameter that its address is: there is no register for it in the loop.
    pub param: Value,
    pub leader: Value,
    /// What the leader is multiplied by.
    pub scale: u8,
    /// What is added to that.
    pub base: R,
}

impl SingleLoops {
    pub fn new(f: &Function, order: &[Block]) -> SingleLoops {
        let picks_lane = |b: &Block| f.block(*b).insts.iter().any(|&i| f.inst(i).op == Opcode::ChunkMask);
        let picks: Vec<Block> = order.iter().copied().filter(picks_lane).collect();
        let mut loops = Vec::new();
        if !picks.is_empty() {
            let cfg = Cfg::new(f);
            for &b in order {
                let Terminator::BrIf { taken, next, .. } = f.term(b) else { continue };
                let reached =
                    |b: Block| cfg.preds[b.index()].iter().copied().filter(|&p| cfg.is_reachable(p));
                let alone = reached(b).all(|p| p == b || picks.contains(&p) && p != next.block);
                if taken.block == b && next.block != b && alone && reached(next.block).eq([b]) {
                    loops.push((b, next.block));
                }
            }
        }
        SingleLoops {
            picks,
            loops,
            walks: HashMap::new(),
            led: Vec::new(),
            far: Vec::new(),
            fuel: HashMap::new(),
            before: false,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.picks.is_empty()
    }

    /// Whether a word is counted up to in 64 bits, as addresses go along with it: from the parameter of a loop to the next turn's.
    pub fn counts_far(&self, word: Value) -> bool {
        self.far.contains(&word)
    }

    /// Whether there is no register for a parameter in its loop.
    pub fn is_led(&self, param: Value) -> bool {
        self.led.iter().any(|led| led.param == param)
    }

    pub fn is_loop(&self, b: Block) -> bool {
        self.loops.iter().any(|&(head, _)| head == b)
    }
}

impl Lower<'_> {
    /// The fuel among the parameters of a single lane's loop.
    pub fn declare_fuel(&mut self, b: Block, host: HostBlock) {
        if self.single.is_loop(b) {
            let fuel = self.a.param(host, RegClass::Int);
            self.single.fuel.insert(b, fuel);
        }
    }

    /// The fuel among the arguments for a single lane's loop.
    pub fn pass_fuel(&mut self, to: Block, list: &mut Vec<R>) {
        if self.single.is_loop(to) {
            let fuel = match self.single.fuel.get(&to) {
                Some(&fuel) if self.blocks.current == to => fuel,
                _ => self.a.load64g(Mem::at(self.context, at::FUEL)),
            };
            list.push(fuel);
        }
    }

    /// Behind a single lane's loop, what it has left is the fuel.
    pub fn leave_fuel(&mut self, b: Block) {
        let of = self.single.loops.iter().find(|&&(_, next)| next == b);
        if let Some(&fuel) = of.and_then(|(head, _)| self.single.fuel.get(head)) {
            self.a.store64g(Mem::at(self.context, at::FUEL), fuel);
        }
    }

    /// Jumps back in a single lane's loop, or to the next lane, of which there are not many; `false` where it is neither.
    pub fn single_back(&mut self, from: Block, to: Block, target: HostBlock, args: &[R]) -> bool {
        let back = self.blocks.order.is_back_edge(from, to);
        if back && self.single.picks.contains(&to) && !self.single.loops.is_empty() {
            self.a.jump(target, args);
            return true;
        }
        let Some((&fuel, rest)) = args.split_last().filter(|_| from == to && self.single.is_loop(to)) else {
            return false;
        };
        let left = self.a.g2i(true, (Code::Add_rm32_imm32, Code::Add_rm64_imm32), fuel, -1);
        let poll = self.a.cold_block();
        let with = |fuel: R| rest.iter().copied().chain([fuel]).collect::<Vec<R>>();
        self.a.branch(Flags::Negative, (poll, &[]), (target, &with(left)));
        self.a.switch_to(poll);
        self.a.store64g(Mem::at(self.context, at::FUEL), left);
        let stop = self.stop_block();
        let told = self.poll();
        let go_on = self.a.cold_block();
        self.a.branch(told, (stop, &[]), (go_on, &[]));
        self.a.switch_to(go_on);
        let refilled = self.a.load64g(Mem::at(self.context, at::FUEL));
        self.a.jump(target, &with(refilled));
        true
    }
}

impl Lower<'_> {
    pub fn single(&mut self, data: &InstData) -> Result<(), Error> {
        let (r, x) = (result(data)?, arg(data, 0)?);
        match data.op {
            Opcode::ChunkBallot => {
                let bits = self.guard_bits(Some(x))?;
                self.define(r, Kept::General([bits].into()));
            }
            Opcode::ChunkMask => {
                let bits = self.general(x)?;
                // Where traps of accesses by these lanes find them.
                self.a.store64g(Mem::at(self.context, at::SINGLE_LANES), bits);
                let parts = self.masks_of_bits(bits);
                self.define_parts(r, parts.to_vec());
            }
            Opcode::ChunkSpread => self.spread_lanes(r, x)?,
            _ => self.lane_value(data, r, x)?,
        }
        Ok(())
    }

    /// Stores a value's vectors where single lanes' are loaded.
    fn spread_lanes(&mut self, r: Value, x: Value) -> Result<(), Error> {
        let kept = self.kept(x)?;
        if !self.is_one(x) {
            let parts = self.regs(x)?;
            // Calls have the start of the buffer.
            let place = self.buffer_bytes.max(CALL_BYTES).next_multiple_of(64) as i32;
            self.buffer_bytes = place as u32 + 64 * parts.len() as u32;
            for (n, &part) in parts.iter().enumerate() {
                self.a.store64(Mem::stack(place + 64 * n as i32), part);
            }
            self.spreads.insert(r, place);
        }
        self.define(r, kept);
        Ok(())
    }

    fn lane_value(&mut self, data: &InstData, r: Value, x: Value) -> Result<(), Error> {
        let Some(&place) = self.spreads.get(&x) else {
            if !self.is_one(x) {
                return Err(malformed(data));
            }
            let kept = self.kept(x)?;
            self.define(r, kept);
            return Ok(());
        };
        let scalar = self.scalar_of(r);
        let (is_wide, float) = (wide(scalar), Self::is_float(scalar));
        let lane = self.general(arg(data, 1)?)?;
        let place = Mem { index: Some((lane, if is_wide { 8 } else { 4 })), ..Mem::stack(place) };
        match (float || self.as_vector[r.index()], is_wide) {
            (true, true) => {
                let v = self.a.vload(Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, place, With::default());
                self.define(r, Kept::Splat([v].into()));
            }
            (true, false) => {
                let v = self.a.vload(Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, place, With::default());
                self.define(r, Kept::Splat([v].into()));
            }
            (false, true) => {
                let s = self.a.load64g(place);
                self.define(r, Kept::General([s].into()));
            }
            (false, false) => {
                let s = self.a.load32(place);
                self.define(r, Kept::General([s].into()));
            }
        }
        Ok(())
    }

    /// Whether the block that is written is a loop that lanes leave at different times and in the end go on alone.
    /// Places in it that are not known to lie side by side mostly do not: each lane walks on from where it began.
    pub fn lanes_part(&self) -> bool {
        let block = self.blocks.current;
        let counts = |inst: &Inst| self.f.inst(*inst).op == Opcode::ChunkBallot;
        let mut again = false;
        self.f.term(block).for_each_successor(|to| again |= to == block);
        again && self.f.block(block).insts.iter().any(counts)
    }

    /// Whether a guard holds in a lane that single lanes' traps find.
    pub fn is_single(&self, guard: Option<Value>) -> bool {
        guard.and_then(|g| self.f.def_inst(g)).is_some_and(|data| data.op == Opcode::ChunkMask)
    }
}

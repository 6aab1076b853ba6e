//! Executes the body of a block: every instruction before the terminator, for all active lanes.

use super::code::{Access, BlockCode, Kind, Op, SlotLayout};
use super::effects::{
    Env, MAX_LANES, across, addresses, call_pure, fault_of_device, guard, line, load, memory_fault,
    read_modify_write, store,
};
use super::{Code, Fault, FaultKind, Flow, Frame, Profile, Stats, Warp, WarpMemory};
use warpjit_ir_core::eval::{lane_mask, pack};
use warpjit_ir_core::function::{Form, Terminator};
use warpjit_ir_core::types::Scalar;

/// The values of the current block, and settings. Each thread has one.
#[derive(Clone, Debug)]
pub struct Scratch {
    values: Vec<u64>,
    /// The exact limit on a warp's instructions; 0: no limit.
    pub max_steps: u64,
    /// Statistics, if wanted.
    pub stats: Option<Box<Stats>>,
    /// Counts for a profile, if wanted.
    pub profile: Option<Box<Profile>>,
}

impl Scratch {
    /// Makes a scratch for `code`. It contains that code's constants, so it serves no other code.
    pub fn new(code: &Code) -> Scratch {
        let mut values = vec![0; code.scratch_lines * code.lanes];
        for (line, &bits) in values.chunks_exact_mut(code.lanes).zip(&code.constants) {
            line.fill(bits);
        }
        Scratch { values, max_steps: 0, stats: None, profile: None }
    }
}

impl Code {
    /// Executes the current block of a warp: body, then terminator.
    ///
    /// Does nothing for a warp that has ended.
    pub fn run_block(&self, scratch: &mut Scratch, warp: &mut Warp, memory: &mut dyn WarpMemory) -> Flow {
        if warp.ended {
            return Flow::Ended;
        }
        let cond = match self.run_body(scratch, warp, memory) {
            Ok(cond) => cond,
            Err(fault) => return Flow::Fault(fault),
        };
        let block = &self.blocks[warp.block.index()];
        let addresses = match (&block.term, block.term_args[0]) {
            (Terminator::BranchIndirect { .. }, Some(at)) => {
                Some(&scratch.values[at as usize..at as usize + self.lanes])
            }
            _ => None,
        };
        let (active, counted) = (warp.active, block.guest_insts != 0 || block.term_goes_on);
        let counts = self.counts_active(scratch);
        let flow = self.finish(warp, cond, addresses);
        if matches!(flow, Flow::Fault(_)) && counted {
            // The faulting instruction is not counted.
            warp.take_back(active, counts);
        }
        flow
    }

    /// Executes the body of a warp's current block and counts its instructions, including the terminator's. Returns the
    /// lanes where the terminator's condition holds, if it has one.
    ///
    /// A faulting instruction is not counted. Lanes below the faulting lane may have executed their part of it.
    pub fn run_body(
        &self,
        scratch: &mut Scratch,
        warp: &mut Warp,
        memory: &mut dyn WarpMemory,
    ) -> Result<Option<u64>, Fault> {
        let block = &self.blocks[warp.block.index()];
        let left = scratch.max_steps.wrapping_sub(warp.steps);
        let limit = if scratch.max_steps != 0 && u64::from(block.guest_insts) > left {
            left as u32
        } else {
            u32::MAX
        };
        let mut env = Env {
            lanes: self.lanes,
            active: warp.active,
            entered: warp.active,
            mask_form: false,
            cross_lane: block.cross_lane,
            stores: true,
            frame: &mut warp.frame,
            cross: &mut warp.cross,
            memory,
            clock: warp.steps,
        };
        let done = self.run_ops(block, limit, scratch, &mut env);
        let result = match done {
            Ok(()) if limit == u32::MAX => Ok(()),
            Ok(()) => Err((limit, self.timeout(warp, limit))),
            Err((0, fault)) => {
                // It belongs to an instruction that an earlier block has counted.
                warp.take_back(warp.active, self.counts_active(scratch));
                Err((0, fault))
            }
            Err((step, fault)) => Err((step - 1, fault)),
        };
        let counted = match result {
            Ok(()) => block.guest_insts,
            Err((done, _)) => done,
        };
        warp.count(u64::from(counted));
        if scratch.stats.is_some() {
            self.count_lanes(block, counted, scratch, warp);
        }
        if let Some(stats) = &mut scratch.stats {
            if result.is_ok() {
                let groups = stats.groups.iter_mut().zip(&block.groups);
                groups.for_each(|(sum, &n)| *sum += u64::from(n));
            } else {
                let done = block.step_groups.iter().take(counted as usize);
                done.for_each(|&group| stats.groups[usize::from(group)] += 1);
            }
        }
        result.map_err(|(_, fault)| fault)?;
        let cond = match block.term {
            Terminator::BranchIndirect { .. } => None,
            _ => block.term_args[0].map(|at| pack(&scratch.values[at as usize..at as usize + self.lanes])),
        };
        if let Some(profile) = &mut scratch.profile {
            profile.count(warp.block, block, self.lanes, &scratch.values, warp.active, cond);
        }
        if !(block.edges[0].is_empty() && block.edges[1].is_empty()) {
            let taken = warp.active & cond.unwrap_or(u64::MAX);
            let sides = [taken, warp.active & !taken];
            for (copies, lanes) in block.edges.iter().zip(sides) {
                self.copy_edge(scratch, &mut warp.cross, copies, lanes);
            }
        }
        Ok(cond)
    }

    /// Whether the active lanes of every instruction are counted.
    fn counts_active(&self, scratch: &Scratch) -> bool {
        scratch.stats.is_some() && !self.has_lane_register
    }

    /// Counts the lanes of the first `done` instructions of a block, and of instructions that began before it.
    fn count_lanes(&self, block: &BlockCode, done: u32, scratch: &Scratch, warp: &mut Warp) {
        if !self.has_lane_register {
            return warp.count_lanes(done.into());
        }
        let left = block.counted.get(done as usize..).unwrap_or_default();
        for counted in &block.lane_counts {
            let count = match left.is_empty() {
                true => counted.pcs.len(),
                // An instruction that has begun has read its lane mask.
                false => counted.pcs.iter().filter(|pc| !left.contains(pc)).count(),
            } as u64;
            if count > 0 {
                let at = counted.lanes as usize;
                let lanes = pack(&scratch.values[at..at + self.lanes]) & warp.active;
                warp.lane_insts = warp.lane_insts.wrapping_add(count * u64::from(lanes.count_ones()));
                warp.lane_slots = warp.lane_slots.wrapping_add(count * self.lanes as u64);
            }
        }
    }

    /// The fault of a warp that stops after `done` instructions of its block.
    fn timeout(&self, warp: &Warp, done: u32) -> Fault {
        let (kind, pc) = (FaultKind::Timeout, self.pc_after(warp, done));
        Fault { kind, pc, lane: warp.first_lane(), address: None, space: None, store: false }
    }

    /// Copies the arguments of an edge to its parameters, in the lanes of a set.
    pub(super) fn copy_edge(&self, scratch: &Scratch, cross: &mut [u64], copies: &[(u32, u32)], lanes: u64) {
        for &(from, line) in copies {
            let to = line as usize * self.lanes;
            let from = &scratch.values[from as usize..from as usize + self.lanes];
            copy_lanes(&mut cross[to..to + self.lanes], from, lanes);
        }
    }

    /// Runs a mask-form block's body over all lanes; returns the terminator's masks.
    pub(super) fn run_mask_body(
        &self,
        block: &BlockCode,
        scratch: &mut Scratch,
        entered: u64,
        frame: &mut Frame,
        cross: &mut [u64],
        memory: &mut dyn WarpMemory,
    ) -> Result<[Option<u64>; 2], Fault> {
        let active = self.all_lanes();
        let lanes = self.lanes;
        let mask_form = self.form == Form::Mask;
        let mut env = Env {
            lanes,
            active,
            entered,
            mask_form,
            cross_lane: true,
            stores: true,
            frame,
            cross,
            memory,
            clock: 0,
        };
        self.run_ops(block, u32::MAX, scratch, &mut env).map_err(|(_, fault)| fault)?;
        Ok(block.term_args.map(|at| at.map(|at| pack(&scratch.values[at as usize..at as usize + lanes]))))
    }

    /// Runs the operations of the first `limit` guest instructions, and of an instruction that an earlier block has
    /// counted. An error contains the step of the faulting operation.
    fn run_ops(
        &self,
        block: &BlockCode,
        limit: u32,
        scratch: &mut Scratch,
        env: &mut Env,
    ) -> Result<(), (u32, Fault)> {
        let count = block.ops.partition_point(|op| op.step <= limit);
        let ops = &block.ops[..count];
        self.run_list(ops, scratch, env).map_err(|(at, fault)| {
            let step = ops[at].step;
            (step, self.lowest_fault(&ops[at..], fault, scratch, env))
        })
    }

    /// Finds the lowest lane for which a guest instruction faults. Its operation at the start of `rest` has faulted in
    /// the lane of `fault`. The instruction's remaining operations are checked for lower lanes, without storing. So the
    /// lane reported does not depend on how many accesses the instruction was lifted to.
    #[cold]
    fn lowest_fault(&self, rest: &[Op], fault: Fault, scratch: &mut Scratch, env: &mut Env) -> Fault {
        let goes_on = |kind: &Kind| {
            let pure = matches!(kind, Kind::Lanes(..) | Kind::Pure(..) | Kind::Lookup(_) | Kind::Share(_));
            pure || matches!(kind, Kind::Load(..) | Kind::Store(..))
        };
        let own = |op: &&Op| op.pc == rest[0].pc && goes_on(&op.kind);
        let mut ops = &rest[..rest.iter().take_while(own).count()];
        let mut fault = fault;
        while !ops.is_empty() {
            ops = &ops[1..];
            env.entered &= (1 << fault.lane) - 1;
            env.stores = false;
            let Err((at, lower)) = self.run_list(ops, scratch, env) else { break };
            (fault, ops) = (lower, &ops[at..]);
        }
        fault
    }

    /// Runs operations. An error contains the index of the faulting one.
    fn run_list(&self, ops: &[Op], scratch: &mut Scratch, env: &mut Env) -> Result<(), (usize, Fault)> {
        let n = self.lanes;
        let stats = &mut scratch.stats;
        for (at, op) in ops.iter().enumerate() {
            // A result's row comes after its operands' rows.
            let (before, from_dst) = scratch.values.split_at_mut(op.dst as usize);
            match op.kind {
                Kind::Lanes(kernel, imm) => {
                    let [a, b, c] = [op.args[0], op.args[1], op.args[2]].map(|at| line(before, at, n));
                    kernel(&mut from_dst[..n], a, b, c, imm);
                }
                Kind::Get(layout) => get_slot(env.frame, layout, &mut from_dst[..n]),
                Kind::Share(guarded) => {
                    let lanes = guard(env, before, guarded, op.args[1]);
                    let lowest = if lanes == 0 { 0 } else { lanes.trailing_zeros() as usize };
                    let shared = line(before, op.args[0], n)[lowest];
                    from_dst[..n].fill(shared);
                }
                Kind::Set(layout, masked) => {
                    let values = &scratch.values;
                    let lanes = guard(env, values, masked, op.args[1]);
                    set_slot(env.frame, layout, line(values, op.args[0], n), lanes);
                }
                Kind::Load(access, guarded) => {
                    let lanes = guard(env, before, guarded, op.args[1]);
                    load(env, op, access, lanes, before, &mut from_dst[..n]).map_err(|f| (at, f))?;
                    if let Some(stats) = stats {
                        let traffic = &mut stats.traffic[Stats::space_index(access.mem.space)];
                        traffic.0 += bytes_of(access, lanes);
                    }
                }
                Kind::Store(access, guarded) => {
                    let values = &scratch.values;
                    let lanes = guard(env, values, guarded, op.args[2]);
                    store(env, op, access, lanes, values).map_err(|f| (at, f))?;
                    if let Some(stats) = stats {
                        let traffic = &mut stats.traffic[Stats::space_index(access.mem.space)];
                        traffic.1 += bytes_of(access, lanes);
                    }
                }
                Kind::Deny(access, store, guarded) => {
                    let values = &scratch.values;
                    let lanes = guard(env, values, guarded, op.args[2]);
                    let denied = lanes & pack(line(values, op.args[1], n));
                    if denied != 0 {
                        let mut lane_addresses = [0; MAX_LANES];
                        let odd = addresses(access, line(values, op.args[0], n), lanes, &mut lane_addresses);
                        let lane = denied.trailing_zeros().min(odd.unwrap_or(u32::MAX));
                        return Err((at, memory_fault(op, access, lane, &lane_addresses, store)));
                    }
                }
                Kind::Translated(offset) => {
                    let addresses = line(before, op.args[0], n);
                    let offset = i64::from(offset) as u64;
                    from_dst.iter_mut().zip(addresses).for_each(|(out, &a)| *out = a.wrapping_add(offset));
                }
                Kind::Pure(callee, count) => call_pure(env, op, callee, count, before, &mut from_dst[..n]),
                Kind::Lookup(table) => {
                    let indices = line(before, op.args[0], n);
                    from_dst
                        .iter_mut()
                        .zip(indices)
                        .for_each(|(out, &i)| *out = table.entry(i as u32).into());
                }
                Kind::CrossGet(index) => {
                    let at = index as usize * n;
                    from_dst[..n].copy_from_slice(&env.cross[at..at + n]);
                }
                Kind::CrossSet(index) => {
                    let at = index as usize * n;
                    copy_lanes(&mut env.cross[at..at + n], line(&scratch.values, op.args[0], n), env.active);
                }
                Kind::Atomic(access, ..) | Kind::Lock(access, _) | Kind::UnlockStore(access, _) => {
                    let moved = if matches!(op.kind, Kind::UnlockStore(..)) {
                        read_modify_write(env, op, access, &scratch.values, None)
                    } else {
                        read_modify_write(env, op, access, before, Some(&mut from_dst[..n]))
                    };
                    let lanes = moved.map_err(|f| (at, f))?;
                    if let Some(stats) = stats {
                        let bytes = bytes_of(access, lanes);
                        let traffic = &mut stats.traffic[Stats::space_index(access.mem.space)];
                        if !matches!(op.kind, Kind::UnlockStore(..)) {
                            traffic.0 += bytes;
                        }
                        if !matches!(op.kind, Kind::Lock(..)) {
                            traffic.1 += bytes;
                        }
                    }
                }
                Kind::Device(ref site, guarded) => {
                    let lanes = guard(env, &scratch.values, guarded, op.args[0]);
                    if lanes != 0 {
                        env.memory
                            .call_device(site, lanes)
                            .map_err(|fault| (at, fault_of_device(op.pc, fault)))?;
                    }
                }
                _ => across(env, op, before, &mut from_dst[..n]),
            }
        }
        Ok(())
    }
}

/// Bytes that an access moves for a set of lanes.
fn bytes_of(access: Access, lanes: u64) -> u64 {
    u64::from(access.lanes_of(lanes).count_ones()) * u64::from(access.mem.bytes)
}

/// Copies the lanes of a set.
fn copy_lanes(to: &mut [u64], from: &[u64], lanes: u64) {
    if lanes == lane_mask(to.len() as u32) {
        to.copy_from_slice(from);
    } else {
        for (lane, (to, &from)) in to.iter_mut().zip(from).enumerate() {
            *to = if lanes >> lane & 1 != 0 { from } else { *to };
        }
    }
}

fn get_slot(frame: &Frame, layout: SlotLayout, out: &mut [u64]) {
    if layout.uniform {
        out.fill(frame.read(layout.word * 4, layout.scalar, 0));
        return;
    }
    let words = &frame.words()[layout.word as usize..];
    match layout.scalar {
        Scalar::I1 => out.iter_mut().zip(words).for_each(|(out, &w)| *out = u64::from(w & 1)),
        Scalar::I32 | Scalar::F32 => out.iter_mut().zip(words).for_each(|(out, &w)| *out = u64::from(w)),
        Scalar::I64 | Scalar::F64 => {
            let (pairs, _) = words.as_chunks::<2>();
            out.iter_mut().zip(pairs).for_each(|(out, &[lo, hi])| *out = u64::from(lo) | u64::from(hi) << 32);
        }
    }
}

fn set_slot(frame: &mut Frame, layout: SlotLayout, values: &[u64], lanes: u64) {
    if layout.uniform {
        // A uniform slot is written for any mask.
        frame.write(layout.word * 4, layout.scalar, 0, values[0]);
        return;
    }
    let n = values.len();
    let words = &mut frame.words_mut()[layout.word as usize..];
    let all = lanes == lane_mask(n as u32);
    let to_word = |v: u64| if layout.scalar == Scalar::I1 { (v as u32).wrapping_neg() } else { v as u32 };
    match layout.scalar {
        Scalar::I64 | Scalar::F64 => {
            let (pairs, _) = words.as_chunks_mut::<2>();
            for (lane, (pair, &v)) in pairs.iter_mut().zip(values).enumerate() {
                if all || lanes >> lane & 1 != 0 {
                    *pair = [v as u32, (v >> 32) as u32];
                }
            }
        }
        _ if all => words.iter_mut().zip(values).for_each(|(w, &v)| *w = to_word(v)),
        _ => {
            // In groups of eight lanes, because mostly all or none of a group are active.
            for (group, (words, values)) in words.chunks_mut(8).zip(values.chunks(8)).enumerate() {
                match (lanes >> (8 * group)) as u8 {
                    0 => {}
                    0xff => words.iter_mut().zip(values).for_each(|(w, &v)| *w = to_word(v)),
                    some => {
                        for (lane, (w, &v)) in words.iter_mut().zip(values).enumerate() {
                            *w = if some >> lane & 1 != 0 { to_word(v) } else { *w };
                        }
                    }
                }
            }
        }
    }
}

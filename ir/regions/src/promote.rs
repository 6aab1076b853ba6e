//! Turns a region's plan into a function in SSA: slots become values, read once at the start and written at the exits.
//!
//! The result is in SPMD form without a stack: its terminators are `Jump`, `Branch` and `Return`. Block 0 reads the slots; block
//! n + 1 is node n of the plan. Return 0 is the end of the thread, [`FAULT_EXIT`] + n a guest fault.

use super::liveness::{SlotLiveness, SlotSet};
use super::plan::{NodeTerm, Plan};
use super::split::looks_at_quad;
use super::wave::is_wave;
use foldhash::{HashMap, HashMapExt};
use warpjit_ir_core::builder::Builder;
use warpjit_ir_core::entities::{Block, Inst, Slot, Value};
use warpjit_ir_core::exit::ExitKind;
use warpjit_ir_core::function::{BlockCall, Form, Function, GuestFault, Imm, Terminator};
use warpjit_ir_core::graph;
use warpjit_ir_core::opcodes::{IntCC, Opcode};
use warpjit_ir_core::passes::rewrite::single_arguments;
use warpjit_ir_core::types::Type;

/// Exit numbers from here on are guest faults. The region returns at once, with the faulting lanes as the mask of
/// exited lanes.
pub const FAULT_EXIT: u32 = 0x4000_0000;

/// A fault that a region can return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionFault {
    /// Kind.
    pub kind: GuestFault,
    /// Guest address.
    pub pc: u32,
}

/// Builds the function of a region, and the list of its faults by exit number. The slots of `ones` are all ones at its
/// start. With `steps`, each block subtracts its guest instructions from that slot, which holds the steps left.
pub fn promote(
    func: &Function,
    plan: &Plan,
    live: &SlotLiveness,
    ones: &SlotSet,
    steps: Option<Slot>,
) -> (Function, Vec<RegionFault>) {
    let succs = plan.successors();
    let preds = graph::predecessors(&succs);
    let order = graph::reverse_postorder(&succs, 0);
    let slots = func.slots.len();
    let exec = live.exec().filter(|exec| ones.contains(*exec));
    let full = exec.map_or(vec![false; plan.nodes.len()], |exec| still_full(func, plan, &succs, exec));
    let (live_in, written) = node_liveness(func, plan, &order, live, &full, steps);

    let mut out =
        Function::new(format!("{}@{:#x}", func.name, region_pc(func, plan)), Form::Spmd, func.lanes);
    out.slots = func.slots.clone();
    out.lane_mask = func.lane_mask;
    let prologue = out.add_block(region_pc(func, plan));
    for node in &plan.nodes {
        let pc = node.block.map_or(region_pc(func, plan), |b| func.block(b).pc);
        let b = out.add_block(pc);
        if let Some(src) = node.block {
            out.block_mut(b).guest_insts = func.block(src).guest_insts;
        }
    }
    // Lanes of a wave are all active.
    let lanes_vary = plan.nodes.iter().any(|node| node.block.is_some_and(|block| looks_at_quad(func, block)))
        && !is_wave(func);
    let mut entry_state: HashMap<Slot, Value> = HashMap::new();
    for slot in live_in[0].iter().filter(|s| s.index() < slots) {
        let mut b = Builder::new(&mut out, prologue);
        let ty = func.slots[slot.index()].ty;
        let value = match (ones.contains(slot), ty.uniform) {
            (false, _) => b.get(slot),
            (true, true) => b.constant(ty.scalar, u64::MAX),
            (true, false) => {
                let ones = b.constant(ty.scalar, u64::MAX);
                b.splat(ones)
            }
        };
        entry_state.insert(slot, value);
    }

    let mut faults = Vec::new();
    let mut state_out: Vec<HashMap<Slot, Value>> = vec![HashMap::new(); plan.nodes.len()];
    let mut params: Vec<Vec<Slot>> = vec![Vec::new(); plan.nodes.len()];
    let mut undefined: HashMap<Slot, Value> = HashMap::new();
    // Additional blocks, each with the node that it belongs to.
    let mut more: Vec<(Block, usize)> = Vec::new();
    for &n in &order {
        let block = Block::new(n + 1);
        let incoming = preds[n].len() + usize::from(n == 0);
        let mut state = if n == 0 {
            entry_state.clone()
        } else if incoming == 1 {
            state_out[preds[n][0]].clone()
        } else {
            entry_state.clone()
        };
        if incoming > 1 {
            for slot in live_in[n].iter().filter(|s| written.contains(*s)) {
                let ty = func.slots[slot.index()].ty;
                let p = out.add_param(block, ty);
                params[n].push(slot);
                state.insert(slot, p);
            }
        }
        let mut map: HashMap<Value, Value> = HashMap::new();
        if let Some(src) = plan.nodes[n].block {
            let mut entered =
                (lanes_vary && looks_at_quad(func, src)).then_some(Entered { block, mask: None });
            for &inst in &func.block(src).insts {
                copy_inst(func, &mut out, block, inst, &mut map, &mut state, &mut undefined, prologue);
                let data = func.inst(inst);
                if let (Some(entered), Imm::Slot(slot), Some(result)) = (&mut entered, data.imm, data.result)
                {
                    let first = entry_state.get(&slot).copied();
                    let first =
                        first.unwrap_or_else(|| undefined_slot(&mut out, &mut undefined, slot, prologue));
                    let seen = entered.value(&mut out, map[&result], first);
                    map.insert(result, seen);
                }
            }
            if let (Some(steps), taken @ 1..) = (steps, func.block(src).guest_insts) {
                let mut b = Builder::new(&mut out, block);
                let taken = b.i32(taken);
                let left = b.isub(state[&steps], taken);
                state.insert(steps, left);
            }
        }
        // A node without a block takes its guest address from a predecessor.
        let own = plan.nodes[n].block.or_else(|| preds[n].iter().find_map(|&p| plan.nodes[p].block));
        let pc = own.map_or(out.block(block).pc, |b| func.block(b).term_pc);
        // Ends `block` with the given exit.
        let leave = |out: &mut Function, block: Block, exit: usize, cond: Option<Value>| {
            let live_here = exit_liveness(func, plan.exits[exit], live, full[n], steps);
            let mut b = Builder::new(out, block);
            b.pc = pc;
            for slot in live_here.iter().filter(|s| written.contains(*s)) {
                if let Some(&v) = state.get(&slot)
                    && entry_state.get(&slot) != Some(&v)
                {
                    b.set(slot, v);
                }
            }
            Terminator::Return { exit: exit as u32, exited: None, cond }
        };
        // Makes a new block that ends with the given exit.
        let leave_behind = |out: &mut Function, exit: usize, cond: Option<Value>| {
            let outside = out.add_block(pc);
            let term = leave(out, outside, exit, cond);
            let data = out.block_mut(outside);
            (data.term, data.term_pc) = (Some(term), pc);
            outside
        };
        let term = match plan.nodes[n].term {
            NodeTerm::Agree(cond, taken, next, exit) if !out.ty(map[&cond]).uniform => {
                let cond = map[&cond];
                let mut b = Builder::new(&mut out, block);
                b.pc = pc;
                let active =
                    b.push(Opcode::ActiveMask, &[], Imm::None, Some(Type::MASK)).expect("has a result");
                let some = b.iand(cond, active);
                let some = b.any(some);
                let mut all = Block::new(taken + 1);
                if let Some(exit) = exit {
                    let others = b.inot(cond);
                    let others = b.iand(others, active);
                    let others = b.any(others);
                    let outside = leave_behind(&mut out, exit, Some(cond));
                    let agreed = out.add_block(pc);
                    let data = out.block_mut(agreed);
                    data.term =
                        Some(Terminator::Branch { cond: others, taken: outside.into(), next: all.into() });
                    data.term_pc = pc;
                    more.push((agreed, n));
                    all = agreed;
                }
                Terminator::Branch { cond: some, taken: all.into(), next: Block::new(next + 1).into() }
            }
            NodeTerm::Unless(cond, next, exit) => {
                let cond = map[&cond];
                let mut b = Builder::new(&mut out, block);
                b.pc = pc;
                let active =
                    b.push(Opcode::ActiveMask, &[], Imm::None, Some(Type::MASK)).expect("has a result");
                let taking = b.splat(cond);
                let taking = b.iand(taking, active);
                let some = b.any(taking);
                let outside = leave_behind(&mut out, exit, Some(cond));
                Terminator::Branch { cond: some, taken: outside.into(), next: Block::new(next + 1).into() }
            }
            NodeTerm::Limit(next, exit) => {
                let mut b = Builder::new(&mut out, block);
                b.pc = pc;
                let wanted = b.i32(plan.steps(func));
                let steps = steps.expect("limits come with steps");
                let short = b.icmp(IntCC::Slt, state[&steps], wanted);
                let outside = leave_behind(&mut out, exit, None);
                Terminator::Branch { cond: short, taken: outside.into(), next: Block::new(next + 1).into() }
            }
            NodeTerm::Jump(t) => Terminator::Jump(Block::new(t + 1).into()),
            NodeTerm::Branch(_, a, b) | NodeTerm::Agree(_, a, b, _) if a == b => {
                Terminator::Jump(Block::new(a + 1).into())
            }
            NodeTerm::Branch(cond, a, b) | NodeTerm::Agree(cond, a, b, _) => Terminator::Branch {
                cond: map[&cond],
                taken: Block::new(a + 1).into(),
                next: Block::new(b + 1).into(),
            },
            NodeTerm::Fault(kind) => {
                faults.push(RegionFault { kind, pc });
                Terminator::Return { exit: FAULT_EXIT + faults.len() as u32 - 1, exited: None, cond: None }
            }
            NodeTerm::End | NodeTerm::Exit(..) => {
                let (exit, cond) = match plan.nodes[n].term {
                    NodeTerm::Exit(k, cond) => (k, cond),
                    _ => (0, None),
                };
                leave(&mut out, block, exit, cond.map(|c| map[&c]))
            }
        };
        let data = out.block_mut(block);
        data.term = Some(term);
        data.term_pc = pc;
        state_out[n] = state;
    }
    // Unreachable nodes keep their numbers but need a terminator.
    for n in 0..plan.nodes.len() {
        let data = out.block_mut(Block::new(n + 1));
        if data.term.is_none() {
            data.term = Some(Terminator::Return { exit: 0, exited: None, cond: None });
            data.insts.clear();
        }
    }
    let args = |state: &HashMap<Slot, Value>,
                to: usize,
                out: &mut Function,
                undefined: &mut HashMap<Slot, Value>| {
        params[to]
            .iter()
            .map(|s| state.get(s).copied().unwrap_or_else(|| undefined_slot(out, undefined, *s, prologue)))
            .collect::<Vec<Value>>()
    };
    let entry_args = args(&entry_state, 0, &mut out, &mut undefined);
    out.block_mut(prologue).term = Some(Terminator::Jump(BlockCall { block: Block(1), args: entry_args }));
    let own = order.iter().map(|&n| (Block::new(n + 1), n));
    for (block, n) in own.chain(more) {
        let mut term = out.block_mut(block).term.take().expect("set above");
        let outside = plan.nodes.len();
        let mut fill = |call: &mut BlockCall, out: &mut Function| {
            // Only blocks of nodes have parameters.
            if (1..=outside).contains(&call.block.index()) {
                call.args = args(&state_out[n], call.block.index() - 1, out, &mut undefined);
            }
        };
        match &mut term {
            Terminator::Jump(c) => fill(c, &mut out),
            Terminator::Branch { taken, next, .. } => {
                fill(taken, &mut out);
                fill(next, &mut out);
            }
            _ => {}
        }
        out.block_mut(block).term = Some(term);
    }
    single_arguments(&mut out);
    (out, faults)
}

fn region_pc(func: &Function, plan: &Plan) -> u32 {
    plan.nodes[0].block.map_or(0, |b| func.block(b).pc)
}

/// Slots live at an exit. `full`: the lane mask has all lanes there.
fn exit_liveness(
    func: &Function,
    exit: ExitKind,
    live: &SlotLiveness,
    full: bool,
    steps: Option<Slot>,
) -> SlotSet {
    let mut set = match exit {
        ExitKind::Ended => live.live_at_end(),
        ExitKind::Terminator(b) if full => live.live_out_full(func, b),
        ExitKind::Terminator(b) => live.live_out(func, b),
        ExitKind::Enter(b) if full => live.live_in_full(b).clone(),
        ExitKind::Enter(b) => live.live_in(b).clone(),
    };
    if let Some(steps) = steps {
        set.insert(steps);
    }
    set
}

/// For each node: whether a slot still has its initial value after it.
fn still_full(func: &Function, plan: &Plan, succs: &[Vec<usize>], slot: Slot) -> Vec<bool> {
    let writes = |node: usize| {
        let insts = plan.nodes[node].block.map_or(&[][..], |block| &func.block(block).insts);
        insts.iter().any(|&i| func.inst(i).op == Opcode::SlotSet && func.inst(i).imm == Imm::Slot(slot))
    };
    let mut still = vec![true; plan.nodes.len()];
    let mut work: Vec<usize> = (0..plan.nodes.len()).filter(|&n| writes(n)).collect();
    while let Some(n) = work.pop() {
        if std::mem::replace(&mut still[n], false) {
            work.extend(&succs[n]);
        }
    }
    still
}

/// Slots live at the start of each node, and all slots that the region writes. After the nodes of `full`, the lane mask
/// has all lanes.
fn node_liveness(
    func: &Function,
    plan: &Plan,
    order: &[usize],
    live: &SlotLiveness,
    full: &[bool],
    steps: Option<Slot>,
) -> (Vec<SlotSet>, SlotSet) {
    let succs = plan.successors();
    let slots = func.slots.len();
    let mut written = SlotSet::empty(slots);
    // Every block subtracts from it, whether it leads to an exit or not.
    if let Some(steps) = steps {
        written.insert(steps);
    }
    let mut live_in = vec![written.clone(); plan.nodes.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for &n in order.iter().rev() {
            let mut set = match plan.nodes[n].term {
                NodeTerm::End => exit_liveness(func, ExitKind::Ended, live, full[n], steps),
                NodeTerm::Exit(k, _)
                | NodeTerm::Agree(_, _, _, Some(k))
                | NodeTerm::Unless(_, _, k)
                | NodeTerm::Limit(_, k) => exit_liveness(func, plan.exits[k], live, full[n], steps),
                _ => SlotSet::empty(slots),
            };
            for &s in &succs[n] {
                set.union(&live_in[s]);
            }
            if let Some(b) = plan.nodes[n].block {
                for &i in func.block(b).insts.iter().rev() {
                    match (func.inst(i).op, func.inst(i).imm) {
                        (Opcode::SlotSet, Imm::Slot(s)) => {
                            written.insert(s);
                            set.remove(s);
                        }
                        (Opcode::SlotGet, Imm::Slot(s)) => {
                            set.insert(s);
                        }
                        _ => {}
                    }
                }
            }
            changed |= live_in[n].union(&set);
        }
    }
    (live_in, written)
}

fn undefined_slot(
    out: &mut Function,
    undefined: &mut HashMap<Slot, Value>,
    slot: Slot,
    prologue: Block,
) -> Value {
    if let Some(&v) = undefined.get(&slot) {
        return v;
    }
    let mut b = Builder::new(out, prologue);
    let v = b.get(slot);
    undefined.insert(slot, v);
    v
}

/// The lanes that entered the region, for a block in which lanes look at others of their quad. What the others hold is what they held at
/// the region's start.
struct Entered {
    block: Block,
    mask: Option<Value>,
}

impl Entered {
    /// What lanes see of a slot that holds `now` in those that entered and held `first` at the region's start.
    fn value(&mut self, out: &mut Function, now: Value, first: Value) -> Value {
        if now == first {
            return now;
        }
        let mut b = Builder::new(out, self.block);
        let mask = *self.mask.get_or_insert_with(|| {
            b.push(Opcode::ActiveMask, &[], Imm::None, Some(Type::MASK)).expect("has a result")
        });
        b.select(mask, now, first)
    }
}

#[allow(clippy::too_many_arguments)]
fn copy_inst(
    func: &Function,
    out: &mut Function,
    block: Block,
    inst: Inst,
    map: &mut HashMap<Value, Value>,
    state: &mut HashMap<Slot, Value>,
    undefined: &mut HashMap<Slot, Value>,
    prologue: Block,
) {
    let data = func.inst(inst);
    match (data.op, data.imm) {
        (Opcode::SlotGet, Imm::Slot(slot)) => {
            let v =
                state.get(&slot).copied().unwrap_or_else(|| undefined_slot(out, undefined, slot, prologue));
            map.insert(data.result.expect("get has a result"), v);
        }
        (Opcode::SlotSet, Imm::Slot(slot)) => {
            state.insert(slot, map[&data.args[0]]);
        }
        // A uniform value may stand for a varying one.
        (Opcode::Splat, _) => {
            map.insert(data.result.expect("splat has a result"), map[&data.args[0]]);
        }
        _ => {
            let args: Vec<Value> = data.args.iter().map(|a| map[a]).collect();
            let mut ty = data.result.map(|v| func.ty(v));
            // The slot may be uniform or varying at this read.
            if let Some(t) = &mut ty
                && !matches!(data.op, Opcode::Const | Opcode::Load | Opcode::Splat | Opcode::Any)
                && !data.op.is_cross_lane()
            {
                t.uniform = data.op.is_pure()
                    && !data.op.differs_by_lane()
                    && args.iter().all(|a| out.ty(*a).uniform);
            }
            let new = out.make_inst(data.op, &args, data.imm, ty, data.pc);
            out.block_mut(block).insts.push(new);
            if let (Some(old), Some(v)) = (data.result, out.inst(new).result) {
                map.insert(old, v);
            }
        }
    }
}

//! Finds a wave's scalar loads and stores of global memory, which the guest executes once for all lanes.
//!
//! A region runs chunk by chunk, and each chunk repeats the scalar accesses. So a region ends between a scalar load and a store
//! that may change what it reads; then all chunks read the same. Memory that the guest cannot store to, such as kernel arguments,
//! needs no such cut. (What a device answers is kept for the other chunks by `warpjit_backend::ScalarAnswers`.) A scalar store must happen exactly once, after everything before it and before everything after it, so the
//! interpreter executes it.
//!
//! Regions in which one chunk holds the whole wave need no cut: there the program's order is kept.

use std::collections::BTreeSet;
use std::ops::Range;

use foldhash::{HashMap, HashMapExt};
use warpjit_ir_core::entities::{Block, Inst, Slot, Value};
use warpjit_ir_core::eval::eval_scalar;
use warpjit_ir_core::function::{Function, Imm, Terminator};
use warpjit_ir_core::meter::{Meter, Stopped};
use warpjit_ir_core::opcodes::{Opcode, Space};
use warpjit_ir_core::types::Scalar;

/// The scalar loads of a kernel whose memory may change while it runs.
#[derive(Clone, Default, Debug)]
pub struct WaveLoads {
    found: Vec<bool>,
}

impl WaveLoads {
    /// Finds them in a kernel in SPMD form whose lanes never diverge. Nothing stores to the addresses in `read_only`
    /// while it runs.
    ///
    /// # Errors
    /// When the meter's budget is used up or the work is cancelled.
    pub fn find(func: &Function, read_only: &[Range<u64>], meter: &Meter) -> Result<WaveLoads, Stopped> {
        meter.stage("scalar loads")?;
        let mut found = vec![false; func.insts.len()];
        for block in func.block_ids() {
            for &inst in &func.block(block).insts {
                found[inst.index()] = is_of_wave(func, inst, Opcode::Load);
            }
        }
        if !read_only.is_empty() && found.contains(&true) {
            drop_constant(func, read_only, &mut found, meter)?;
        }
        Ok(WaveLoads { found })
    }

    /// Whether an instruction is such a load.
    pub fn contains(&self, inst: Inst) -> bool {
        self.found.get(inst.index()).copied().unwrap_or(false)
    }
}

/// Whether an instruction is a scalar store.
pub fn is_wave_store(func: &Function, inst: Inst) -> bool {
    is_of_wave(func, inst, Opcode::Store)
}

/// Whether an instruction is an access `op` to global memory whose address and value have uniform types.
fn is_of_wave(func: &Function, inst: Inst, op: Opcode) -> bool {
    let data = func.inst(inst);
    let is_uniform = |v: Value| func.ty(v).uniform;
    data.op == op
        && matches!(data.imm, Imm::Mem(m) if matches!(m.space, Space::Global(_)))
        && data.result.is_none_or(is_uniform)
        && data.args.iter().all(|&v| is_uniform(v))
}

/// Slots that hold a known constant whenever a block starts.
type Constants = HashMap<Slot, u64>;

/// Removes loads whose address is a constant within `read_only`.
fn drop_constant(
    func: &Function,
    read_only: &[Range<u64>],
    found: &mut [bool],
    meter: &Meter,
) -> Result<(), Stopped> {
    // With an indirect branch, any block may follow any other.
    if func.block_ids().any(|b| matches!(func.term(b), Terminator::BranchIndirect { .. })) {
        return Ok(());
    }
    let mut known: Vec<Option<Constants>> = vec![None; func.blocks.len()];
    known[func.entry.index()] = Some(Constants::new());
    let mut work = BTreeSet::from([func.entry.index()]);
    while let Some(b) = work.pop_first().map(Block::new) {
        meter.step(1 + func.block(b).insts.len() / 8)?;
        let before = known[b.index()].clone().unwrap_or_default();
        let after = behind(func, b, before, |_, _| {});
        let mut grown = 0;
        func.term(b).for_each_successor(|s| {
            let changed = match &mut known[s.index()] {
                Some(known) => {
                    let count = known.len();
                    known.retain(|slot, bits| after.get(slot) == Some(bits));
                    known.len() != count
                }
                unknown => {
                    grown += after.len();
                    *unknown = Some(after.clone());
                    true
                }
            };
            if changed {
                work.insert(s.index());
            }
        });
        meter.step(after.len() / 8)?;
        meter.hold(grown * size_of::<(Slot, u64)>())?;
    }
    for b in func.block_ids() {
        let before = known[b.index()].take().unwrap_or_default();
        behind(func, b, before, |inst, address| {
            let (Some(m), Some(address)) = (func.mem_access(inst), address) else { return };
            let first = address.wrapping_add_signed(m.offset.into());
            let is_inside =
                |range: &Range<u64>| range.contains(&first) && range.end - first >= u64::from(m.bytes);
            found[inst.index()] &= !read_only.iter().any(is_inside);
        });
    }
    Ok(())
}

/// The constants in slots after a block. Calls `load` for each load whose address is known, with that address.
fn behind(
    func: &Function,
    block: Block,
    mut slots: Constants,
    mut load: impl FnMut(Inst, Option<u64>),
) -> Constants {
    let mut values: HashMap<Value, u64> = HashMap::new();
    for &inst in &func.block(block).insts {
        let data = func.inst(inst);
        let first = data.args.first().and_then(|v| values.get(v)).copied();
        let bits = match (data.op, data.imm) {
            (Opcode::Const, Imm::Bits(bits)) => Some(bits),
            (Opcode::SlotGet, Imm::Slot(slot)) => slots.get(&slot).copied(),
            (Opcode::SlotSet, Imm::Slot(slot)) => {
                match first.filter(|_| func.slots[slot.index()].ty.uniform) {
                    Some(bits) => slots.insert(slot, bits),
                    None => slots.remove(&slot),
                };
                None
            }
            (Opcode::Load, _) => {
                load(inst, first);
                None
            }
            (op, imm) if op.is_pure() && !data.args.is_empty() => {
                let bits: Option<Vec<u64>> = data.args.iter().map(|v| values.get(v).copied()).collect();
                let types: Vec<Scalar> = data.args.iter().map(|&v| func.ty(v).scalar).collect();
                bits.zip(data.result)
                    .and_then(|(bits, v)| eval_scalar(op, &imm, &types, func.ty(v).scalar, &bits))
            }
            _ => None,
        };
        if let Some((v, bits)) = data.result.zip(bits).filter(|(v, _)| func.ty(*v).uniform) {
            values.insert(v, bits);
        }
    }
    slots
}

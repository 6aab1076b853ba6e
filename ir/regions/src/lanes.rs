//! The slot reads and writes of a block, for liveness, with the lanes they concern: only those in the guest's lane mask
//! ([`Function::lane_mask`]), or all.

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use warpjit_ir_core::entities::{Block, Slot, Value};
use warpjit_ir_core::function::{Function, Imm};
use warpjit_ir_core::opcodes::Opcode;

/// A read or write of a slot, or a change of the lane mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    /// Reads it.
    Read(Slot, ReadBy),
    /// Writes it in the lanes of the mask.
    WriteOwn(Slot),
    /// Writes it in all lanes.
    WriteAll(Slot),
    /// The lane mask changes.
    Lanes,
}

/// The lanes in which a read value matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReadBy {
    /// The lanes of the mask.
    Own,
    /// All lanes.
    All,
}

/// In which lanes a result matters: in none, in those of the lane mask during one epoch of the block, or in all. An
/// *epoch* is the code between two changes of the mask.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Use {
    #[default]
    None,
    Own(u32),
    All,
}

impl Use {
    fn and(self, other: Use) -> Use {
        match (self, other) {
            (Use::None, x) | (x, Use::None) => x,
            (a, b) if a == b => a,
            _ => Use::All,
        }
    }
}

/// A mask that only has lanes of the guest's lane mask in an epoch; `all`: it has all of them.
#[derive(Clone, Copy)]
struct Lanes {
    epoch: u32,
    all: bool,
}

/// The events of a block, in order. Without a lane mask `exec`, every read and write concerns all lanes.
pub(super) fn events(func: &Function, block: Block, exec: Option<Slot>) -> Vec<Event> {
    let Some(exec) = exec else { return plain(func, block) };
    let insts = &func.block(block).insts;
    // Forward: find the epoch of each instruction, the masks, and the masked writes, which keep the other lanes'
    // values.
    let mut epoch = 0;
    let mut epochs = Vec::with_capacity(insts.len());
    let mut masks: HashMap<Value, Lanes> = HashMap::new();
    let mut holds: HashMap<Slot, Vec<Value>> = HashMap::new();
    // For each masked write, by instruction: whether its mask is the whole lane mask.
    let mut keeping: HashMap<usize, bool> = HashMap::new();
    let select_of = |v: Value| {
        func.def_inst(v).filter(|data| data.op == Opcode::Select).map(|data| (data.args[0], data.args[2]))
    };
    for (n, &inst) in insts.iter().enumerate() {
        epochs.push(epoch);
        let data = func.inst(inst);
        match (data.op, data.imm, &data.args[..], data.result) {
            (Opcode::SlotGet, Imm::Slot(s), _, Some(v)) => {
                holds.entry(s).or_default().push(v);
                if s == exec {
                    masks.insert(v, Lanes { epoch, all: true });
                }
            }
            (Opcode::SlotSet, Imm::Slot(s), &[v], _) => {
                let before = holds.get(&s).map_or(&[][..], |values| values);
                let (mut from, mut all) = (v, false);
                // Several masked writes may form a chain of selects, and only the last is stored to the slot. Walk back
                // to the slot's old value.
                while !before.contains(&from)
                    && let Some((mask, old)) = select_of(from)
                    && let Some(&lanes) = masks.get(&mask)
                    && lanes.epoch == epoch
                {
                    (from, all) = (old, all || lanes.all);
                }
                if from != v && s != exec && before.contains(&from) {
                    keeping.insert(n, all);
                }
                holds.insert(s, vec![v]);
                epoch += u32::from(s == exec);
            }
            (Opcode::Iand, _, &[a, b], Some(v)) => {
                if let Some(&lanes) = masks.get(&a).or_else(|| masks.get(&b)) {
                    masks.insert(v, Lanes { all: false, ..lanes });
                }
            }
            _ => {}
        }
    }
    // Backward: find in which lanes each value matters.
    let mut uses: HashMap<Value, Use> = HashMap::new();
    // Values that are only stored back to their slot.
    let mut stored: HashSet<Value> = HashSet::new();
    if let Some(term) = &func.block(block).term {
        term.for_each_use(|v| uses.extend([(v, Use::All)]));
    }
    let mut events = Vec::new();
    for (n, &inst) in insts.iter().enumerate().rev() {
        let data = func.inst(inst);
        let own = data.result.map_or(Use::None, |v| uses.get(&v).copied().unwrap_or_default());
        let mut note = |v: Value, by: Use| {
            let of = uses.entry(v).or_default();
            *of = of.and(by);
        };
        match (data.op, data.imm, &data.args[..]) {
            (Opcode::SlotGet, Imm::Slot(s), _) => {
                let by = match own {
                    _ if s == exec || func.slots[s.index()].ty.uniform => Some(ReadBy::All),
                    Use::None => None,
                    Use::Own(of) if of == epochs[n] => Some(ReadBy::Own),
                    _ => Some(ReadBy::All),
                };
                events.extend(by.map(|by| Event::Read(s, by)));
            }
            (Opcode::SlotSet, Imm::Slot(s), &[v]) => match keeping.get(&n) {
                Some(&all) => {
                    stored.insert(v);
                    events.extend(all.then_some(Event::WriteOwn(s)));
                }
                None => {
                    note(v, Use::All);
                    if s == exec {
                        events.push(Event::Lanes);
                    }
                    events.push(Event::WriteAll(s));
                }
            },
            (Opcode::Select, _, &[mask, taken, old]) if masks.contains_key(&mask) => {
                let Lanes { epoch, all } = masks[&mask];
                note(mask, Use::All);
                let kept = data.result.is_some_and(|v| stored.contains(&v));
                if own != Use::None || kept {
                    note(taken, Use::Own(epoch));
                }
                if kept {
                    stored.insert(old);
                }
                if own != Use::None && !(all && own == Use::Own(epoch)) {
                    note(old, own);
                }
            }
            (Opcode::Iand, _, &[a, b]) if masks.contains_key(&a) || masks.contains_key(&b) => {
                for (v, other) in [(a, b), (b, a)] {
                    match masks.get(&other) {
                        Some(lanes) if !masks.contains_key(&v) => note(v, Use::Own(lanes.epoch)),
                        _ => note(v, Use::All),
                    }
                }
            }
            (Opcode::Load | Opcode::Store, _, args) => {
                let (&guard, others) = args.split_last().expect("an address at least");
                match masks.get(&guard) {
                    Some(lanes) => {
                        note(guard, Use::All);
                        others.iter().for_each(|&v| note(v, Use::Own(lanes.epoch)));
                    }
                    None => args.iter().for_each(|&v| note(v, Use::All)),
                }
            }
            (op, _, args) => {
                let by = if op.is_pure() { own } else { Use::All };
                args.iter().for_each(|&v| note(v, by));
            }
        }
    }
    events.reverse();
    events
}

/// The same without a lane mask.
fn plain(func: &Function, block: Block) -> Vec<Event> {
    let of = |inst: &warpjit_ir_core::entities::Inst| match (func.inst(*inst).op, func.inst(*inst).imm) {
        (Opcode::SlotSet, Imm::Slot(s)) => Some(Event::WriteAll(s)),
        (Opcode::SlotGet, Imm::Slot(s)) => Some(Event::Read(s, ReadBy::All)),
        _ => None,
    };
    func.block(block).insts.iter().filter_map(of).collect()
}

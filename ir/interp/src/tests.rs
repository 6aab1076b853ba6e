//! Tests of the interpreter on small functions. The expected results are derived by hand.

mod body;
mod divergence;
mod mask_form;

use std::collections::BTreeMap;

use super::*;
use warpjit_ir_core::function::{Form, Function, SlotInit};
use warpjit_ir_core::opcodes::AtomicOp;
use warpjit_ir_core::types::Type;
use warpjit_ir_core::{Block, Slot};

/// Global memory is mapped from [`BASE`] on, the second page read-only.
const BASE: u64 = 0x1_0000;
const PAGE: usize = 0x1000;

/// Small memory with every space.
struct Flat {
    global: Vec<u8>,
    shared: Vec<u8>,
    local: Vec<Vec<u8>>,
    constants: Vec<u8>,
    locks: BTreeMap<u64, u32>,
    /// Lanes and addresses of global stores and atomics in order.
    log: Vec<(u32, u64)>,
}

impl Flat {
    fn new() -> Flat {
        Flat {
            global: vec![0; 2 * PAGE],
            shared: vec![0; 64],
            local: vec![vec![0; 16]; 64],
            constants: (0..32).collect(),
            locks: BTreeMap::new(),
            log: Vec::new(),
        }
    }

    fn bytes(&mut self, space: Space, lane: u32) -> (&mut Vec<u8>, u64) {
        match space {
            Space::Global(_) => (&mut self.global, BASE),
            Space::Shared => (&mut self.shared, 0),
            Space::Local => (&mut self.local[lane as usize], 0),
            Space::Const(_) => (&mut self.constants, 0),
        }
    }

    fn word(&self, address: u64) -> u32 {
        let at = (address - BASE) as usize;
        u32::from_le_bytes(self.global[at..at + 4].try_into().expect("four bytes"))
    }
}

impl WarpMemory for Flat {
    fn load(&mut self, space: Space, lane: u32, address: u64, bytes: u8) -> Result<u64, Denied> {
        let (memory, base) = self.bytes(space, lane);
        let at = address.wrapping_sub(base);
        if matches!(space, Space::Global(_)) && at >= memory.len() as u64 {
            return Err(Denied);
        }
        let byte = |i: u8| memory.get((at + u64::from(i)) as usize).copied().unwrap_or(0);
        Ok((0..bytes).fold(0, |v, i| v | u64::from(byte(i)) << (8 * i)))
    }

    fn store(&mut self, space: Space, lane: u32, address: u64, bytes: u8, value: u64) -> Result<(), Denied> {
        let (memory, base) = self.bytes(space, lane);
        let at = address.wrapping_sub(base);
        if matches!(space, Space::Global(_)) {
            if at >= PAGE as u64 {
                return Err(Denied);
            }
            for i in 0..bytes {
                memory[at as usize + usize::from(i)] = (value >> (8 * i)) as u8;
            }
            self.log.push((lane, address));
            return Ok(());
        }
        for i in 0..bytes {
            if let Some(byte) = memory.get_mut((at + u64::from(i)) as usize) {
                *byte = (value >> (8 * i)) as u8;
            }
        }
        Ok(())
    }

    fn first_denied(&self, space: Space, address: u64, bytes: u8, store: bool) -> Option<u64> {
        let end = BASE + if store { PAGE as u64 } else { self.global.len() as u64 };
        let global = matches!(space, Space::Global(_));
        global.then(|| (address..address + u64::from(bytes)).find(|at| !(BASE..end).contains(at))).flatten()
    }

    fn lock(&mut self, lane: u32, address: u64) -> bool {
        *self.locks.entry(address).or_insert(lane) == lane
    }

    fn unlock_store(&mut self, lane: u32, address: u64, value: u32) {
        self.locks.remove(&address);
        self.store(Space::Shared, lane, address, 4, u64::from(value)).expect("shared memory");
    }
}

/// An SPMD function of 32 lanes with mask slots p0, p1, p2 and integer slots r0, r1, r2.
fn function() -> (Function, [Slot; 3], [Slot; 3]) {
    let mut func = Function::new("test", Form::Spmd, 32);
    let p = ["p0", "p1", "p2"].map(|name| func.add_slot(name, Type::MASK, SlotInit::Zero));
    let r = ["r0", "r1", "r2"].map(|name| func.add_slot(name, Type::I32, SlotInit::Zero));
    (func, p, r)
}

fn code(func: &Function) -> Code {
    Code::new(func).expect("valid")
}

/// A warp whose slots are set from bits: masks from sets of lanes.
fn warp(func: &Function, code: &Code, launched: u64, masks: &[(Slot, u64)]) -> Warp {
    let mut warp = Warp::new(code, launched, |_, _| 0);
    let (offsets, _) = func.frame_layout();
    for &(slot, mask) in masks {
        for lane in 0..func.lanes {
            let scalar = func.slots[slot.index()].ty.scalar;
            warp.frame.write(offsets[slot.index()], scalar, lane, mask >> lane & 1);
        }
    }
    warp
}

/// A slot's lanes.
fn lanes(func: &Function, warp: &Warp, slot: Slot) -> Vec<u64> {
    let (offsets, _) = func.frame_layout();
    let scalar = func.slots[slot.index()].ty.scalar;
    (0..func.lanes).map(|lane| warp.frame.read(offsets[slot.index()], scalar, lane)).collect()
}

/// Runs until something other than `Next` happens; gives the blocks executed with their active lanes.
fn run(code: &Code, warp: &mut Warp, memory: &mut Flat) -> (Vec<(u32, u64)>, Flow) {
    let mut scratch = Scratch::new(code);
    let mut trace = Vec::new();
    for _ in 0..10_000 {
        trace.push((warp.block.0, warp.active));
        let flow = code.run_block(&mut scratch, warp, memory);
        if flow != Flow::Next {
            return (trace, flow);
        }
    }
    panic!("does not end: {:?}", &trace[..20]);
}

fn fault(flow: Flow) -> Fault {
    match flow {
        Flow::Fault(fault) => fault,
        other => panic!("{other:?} is no fault"),
    }
}

#[test]
fn frames_are_aligned_and_stay_so() {
    for bytes in [0, 4, 128, 4096] {
        let mut frame = Frame::aligned(bytes, 64);
        assert_eq!(frame.as_mut_ptr() as usize % 64, 0);
        assert_eq!(frame.bytes(), bytes);
        frame.words_mut().fill(7);
        let copy = frame.clone();
        assert_eq!(copy.words().as_ptr() as usize % 64, 0);
        assert_eq!(copy.words(), frame.words());
    }
}

#[test]
fn warps_start_with_launch_values() {
    let (mut func, _, _) = function();
    let tid = func.add_slot("tid", Type::I32, SlotInit::Builtin(warpjit_ir_core::Builtin::Tid(1)));
    let id = func.add_slot("id", Type::I32, SlotInit::Builtin(warpjit_ir_core::Builtin::LaneId));
    let entry = func.add_block(8);
    func.block_mut(entry).term = Some(warpjit_ir_core::Terminator::Jump(entry.into()));
    let code = code(&func);
    let value = |which, lane| if which == warpjit_ir_core::Builtin::LaneId { lane } else { 100 + lane };
    let mut warp = Warp::new(&code, 0b1011, value);
    for _ in 0..2 {
        // Lanes that are not launched have them as well.
        assert_eq!(lanes(&func, &warp, tid)[..5], [100, 101, 102, 103, 104]);
        assert_eq!(lanes(&func, &warp, id)[..5], [0, 1, 2, 3, 4]);
        assert_eq!((warp.active, warp.exited, warp.ended), (0b1011, 0xffff_fff4, false));
        warp.frame.words_mut().fill(1);
        (warp.active, warp.steps, warp.block) = (1, 5, Block(9));
        warp.reset(&code, 0b1011, value);
        assert_eq!((warp.block, warp.steps), (entry, 0));
    }
    let mut none = Warp::new(&code, 0, value);
    assert!(none.ended);
    assert_eq!(code.run_block(&mut Scratch::new(&code), &mut none, &mut Flat::new()), Flow::Ended);
}

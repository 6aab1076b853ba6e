//! Helpers for the tests of all lifters: random numbers, the corpus, and a warp that runs lifted code.

#[path = "../tests/common/corpus.rs"]
pub(crate) mod corpus;

use std::collections::HashMap;

use warpjit_ir::interp::{Code, Denied, Fault, FaultKind, Flow, Scratch, Warp, WarpMemory};
use warpjit_ir::verify::verify;
use warpjit_ir::{Builtin, DeviceAccess, Function, Space, TextureTables};

use crate::stage::{LaneWord, StageLayout};

/// xorshift64*
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 33) % limit
    }
}

/// Verifies a function, runs it with 32 lanes and gives the low words of a slot.
pub(crate) fn run_warp(func: &Function, memory: &mut impl WarpMemory, slot: &str) -> Result<Vec<u32>, Fault> {
    verify(func).unwrap();
    let code = Code::new(func).unwrap();
    let builtin =
        |which: Builtin, lane| if which == Builtin::Tid(0) || which == Builtin::LaneId { lane } else { 0 };
    let mut warp = Warp::new(&code, 0xffff_ffff, builtin);
    let mut scratch = Scratch::new(&code);
    scratch.max_steps = 2000;
    loop {
        match code.run_block(&mut scratch, &mut warp, memory) {
            Flow::Next | Flow::Barrier(_) => {}
            Flow::Ended => break,
            Flow::Fault(fault) => return Err(fault),
        }
    }
    let (offsets, _) = func.frame_layout();
    let at = func.slots.iter().position(|data| data.name == slot).unwrap();
    let scalar = func.slots[at].ty.scalar;
    Ok((0..32).map(|lane| warp.frame.read(offsets[at], scalar, lane) as u32).collect())
}

/// Where a warp met what is no instruction.
pub(crate) fn illegal_at(outcome: Result<Vec<u32>, Fault>) -> u32 {
    let fault = outcome.expect_err("a fault");
    assert_eq!(fault.kind, FaultKind::Illegal);
    fault.pc
}

/// Memory of one warp of a graphics stage: local memory, shared memory, and what was stored to global memory.
#[derive(Default)]
pub(crate) struct StageMemory {
    local: HashMap<(u32, u64), u8>,
    shared: HashMap<u64, u8>,
    /// Address and value of each store to global memory, with its lane.
    pub(crate) stores: Vec<(u32, u64, u64)>,
}

impl StageMemory {
    /// The memory before a warp starts: all lanes have work.
    pub(crate) fn new(layout: &StageLayout) -> Self {
        let mut memory = StageMemory::default();
        for lane in 0..32 {
            for &(word, at) in &layout.lane_words {
                memory.set(lane, at, if word == LaneWord::PatchInWarp { 0 } else { u32::MAX });
            }
        }
        memory
    }

    /// Replaces a word of a lane.
    pub(crate) fn set(&mut self, lane: u32, address: u32, value: u32) {
        for (n, byte) in (0..).zip(value.to_le_bytes()) {
            self.local.insert((lane, u64::from(address) + n), byte);
        }
    }

    /// Replaces a lane word.
    pub(crate) fn set_lane_word(&mut self, layout: &StageLayout, lane: u32, word: LaneWord, value: u32) {
        let (_, at) = layout.lane_words.iter().find(|(known, _)| *known == word).expect("is there");
        self.set(lane, *at, value);
    }

    /// A word of a lane.
    pub(crate) fn word(&self, lane: u32, address: u32) -> u32 {
        let byte = |n| self.local.get(&(lane, u64::from(address) + n)).copied().unwrap_or(0);
        u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
    }

    /// A word of shared memory.
    pub(crate) fn shared_word(&self, address: u32) -> u32 {
        let byte = |n| self.shared.get(&(u64::from(address) + n)).copied().unwrap_or(0);
        u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
    }
}

impl WarpMemory for StageMemory {
    fn load(&mut self, space: Space, lane: u32, address: u64, bytes: u8) -> Result<u64, Denied> {
        let byte = |at: u64| match space {
            Space::Local => self.local.get(&(lane, at)).copied().unwrap_or(0),
            Space::Shared => self.shared.get(&at).copied().unwrap_or(0),
            _ => 0,
        };
        Ok((0..u64::from(bytes)).map(|n| u64::from(byte(address + n)) << (8 * n)).sum())
    }

    fn store(&mut self, space: Space, lane: u32, address: u64, bytes: u8, value: u64) -> Result<(), Denied> {
        for n in 0..u64::from(bytes) {
            let byte = (value >> (8 * n)) as u8;
            match space {
                Space::Local => drop(self.local.insert((lane, address + n), byte)),
                Space::Shared => drop(self.shared.insert(address + n, byte)),
                _ => {}
            }
        }
        if matches!(space, Space::Global(_)) {
            self.stores.push((lane, address, value));
        }
        Ok(())
    }
}

/// What a device call may access: local memory, tables, and guest memory from address 0x1000 on.
#[derive(Default)]
pub(crate) struct DeviceMemory {
    local: HashMap<(u32, u32), u32>,
    pub(crate) tables: TextureTables,
    pub(crate) memory: Vec<u8>,
}

impl DeviceMemory {
    /// So many zeros.
    pub(crate) fn new(bytes: usize) -> Self {
        DeviceMemory { memory: vec![0; bytes], ..DeviceMemory::default() }
    }

    fn range(&self, address: u64, bytes: usize) -> Result<std::ops::Range<usize>, u64> {
        let start = address.checked_sub(0x1000).ok_or(address)? as usize;
        let end = start.checked_add(bytes).filter(|&end| end <= self.memory.len()).ok_or(address)?;
        Ok(start..end)
    }
}

impl DeviceAccess for DeviceMemory {
    fn lanes(&self) -> u32 {
        64
    }

    fn local(&self, lane: u32, address: u32) -> u32 {
        self.local.get(&(lane, address)).copied().unwrap_or(0)
    }

    fn set_local(&mut self, lane: u32, address: u32, value: u32) {
        self.local.insert((lane, address), value);
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), u64> {
        let range = self.range(address, bytes.len())?;
        bytes.copy_from_slice(&self.memory[range]);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), u64> {
        let range = self.range(address, bytes.len())?;
        self.memory[range].copy_from_slice(bytes);
        Ok(())
    }

    fn update(&mut self, address: u64, bytes: u8, update: &dyn Fn(u64) -> u64) -> Result<u64, u64> {
        let mut word = [0; 8];
        let bytes = usize::from(bytes);
        self.read(address, &mut word[..bytes])?;
        let old = u64::from_le_bytes(word);
        self.write(address, &update(old).to_le_bytes()[..bytes])?;
        Ok(old)
    }

    fn textures(&self) -> &TextureTables {
        &self.tables
    }
}

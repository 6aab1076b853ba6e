//! Runs the launch files of the corpus through the lifter and the interpreter, with a simple memory of the test's own. So the
//! lifter can be tested without the runtime.
//!
//! `WARPJIT_TESLA` names a folder that holds `tesla` and `tesla-op`; without it `../shared/corpus` beside the worktree is tried.
//! `WARPJIT_TESLA_ONLY` selects the folders whose names contain it.

use std::collections::{BTreeMap, HashMap};

use warpjit_ir::Meter;
use warpjit_ir::interp::{Code, Denied, Fault, FaultKind, Flow, Scratch, Warp, WarpMemory};
use warpjit_ir::verify::verify;
use warpjit_ir::{BarrierSpec, Builtin, Space};

use crate::tesla::lift::{Options, lift};
use crate::tesla::{Chip, Target, abi};
use crate::testing::corpus::{Files, packed, unpacked};

/// One table of a launch file: its header and its keys.
type Table = (String, BTreeMap<String, String>);

fn tables(text: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with('[') {
            tables.push((line.trim_matches(['[', ']']).to_owned(), BTreeMap::new()));
        } else if let (Some((key, value)), Some(table)) = (line.split_once('='), tables.last_mut())
            && !line.starts_with('#')
        {
            let value = value.split(" #").next().unwrap_or("").trim().trim_matches('"');
            table.1.insert(key.trim().to_owned(), value.to_owned());
        }
    }
    tables
}

fn number(text: &str) -> u32 {
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

fn triple(text: &str) -> [u32; 3] {
    let mut parts = text.trim_matches(['[', ']']).split(',').map(|part| number(part.trim()));
    std::array::from_fn(|_| parts.next().unwrap())
}

struct Buffer {
    base: u64,
    data: Vec<u8>,
    read_only: bool,
}

#[derive(Default)]
struct Memory {
    buffers: Vec<Buffer>,
    windows: HashMap<u8, u64>,
    consts: HashMap<u8, Vec<u8>>,
    shared: Vec<u8>,
    local: Vec<Vec<u8>>,
    local_bytes: usize,
    warp: usize,
    locks: HashMap<u64, usize>,
}

impl Memory {
    fn bytes(&mut self, space: Space, lane: u32, address: u64) -> Option<(&mut [u8], usize, bool)> {
        match space {
            Space::Global(n) => {
                let address = address + self.windows.get(&n).copied().unwrap_or(0);
                self.buffers.iter_mut().find_map(|buffer| {
                    let at = address.checked_sub(buffer.base)?;
                    // Whole pages are mapped.
                    (at < buffer.data.len() as u64).then_some((
                        &mut buffer.data[..],
                        at as usize,
                        buffer.read_only,
                    ))
                })
            }
            Space::Shared => Some((&mut self.shared[..], address as usize, false)),
            Space::Local => {
                let at = self.warp * 32 + lane as usize;
                Some((&mut self.local[at][..], address as usize, false))
            }
            Space::Const(n) => {
                let bank = self.consts.entry(n).or_default();
                Some((&mut bank[..], address as usize, true))
            }
        }
    }
}

impl WarpMemory for Memory {
    fn load(&mut self, space: Space, lane: u32, address: u64, bytes: u8) -> Result<u64, Denied> {
        let (memory, at, _) = self.bytes(space, lane, address).ok_or(Denied)?;
        Ok((0..usize::from(bytes))
            .map(|n| u64::from(memory.get(at + n).copied().unwrap_or(0)) << (8 * n))
            .sum())
    }

    fn store(&mut self, space: Space, lane: u32, address: u64, bytes: u8, value: u64) -> Result<(), Denied> {
        let (memory, at, read_only) = self.bytes(space, lane, address).ok_or(Denied)?;
        if read_only {
            return Err(Denied);
        }
        for n in 0..usize::from(bytes) {
            if let Some(byte) = memory.get_mut(at + n) {
                *byte = (value >> (8 * n)) as u8;
            }
        }
        Ok(())
    }

    fn lock(&mut self, _lane: u32, address: u64) -> bool {
        if self.locks.contains_key(&address) {
            return false;
        }
        self.locks.insert(address, self.warp);
        true
    }

    fn unlock_store(&mut self, lane: u32, address: u64, value: u32) {
        self.locks.remove(&address);
        let _ = self.store(Space::Shared, lane, address, 4, value.into());
    }
}

struct Launch {
    code: Code,
    grid: [u32; 3],
    block: [u32; 3],
    params: Vec<u8>,
    target: Target,
}

impl Launch {
    fn run(&self, memory: &mut Memory, shared_bytes: usize) -> Result<(), Fault> {
        for y in 0..self.grid[1] {
            for x in 0..self.grid[0] {
                memory.shared = vec![0; shared_bytes];
                let builtin = |which: Builtin, linear: u32| match which {
                    Builtin::Tid(0) => linear % self.block[0],
                    Builtin::Tid(1) => linear / self.block[0] % self.block[1],
                    Builtin::Tid(_) => linear / self.block[0] / self.block[1],
                    Builtin::Ctaid(n) => [x, y, 0][usize::from(n)],
                    Builtin::Ntid(n) => self.block[usize::from(n)],
                    Builtin::Nctaid(n) => self.grid[usize::from(n)],
                    Builtin::LaneId => linear % 32,
                    Builtin::WarpId => linear / 32,
                    _ => 0,
                };
                let abi = abi::compute(self.target.chip);
                for field in &abi.header {
                    let value = builtin(field.value, 0).to_le_bytes();
                    let at = field.offset as usize;
                    memory.shared[at..at + usize::from(field.bytes)]
                        .copy_from_slice(&value[..usize::from(field.bytes)]);
                }
                let at = abi.params.offset as usize;
                memory.shared[at..at + self.params.len()].copy_from_slice(&self.params);
                self.run_block(memory, builtin)?;
            }
        }
        Ok(())
    }

    fn run_block(&self, memory: &mut Memory, builtin: impl Fn(Builtin, u32) -> u32) -> Result<(), Fault> {
        let threads = self.block.iter().product::<u32>();
        memory.local = vec![vec![0; memory.local_bytes]; threads.next_multiple_of(32) as usize];
        memory.locks.clear();
        let mut scratch = Scratch::new(&self.code);
        scratch.max_steps = 1 << 24;
        let mut warps: Vec<(Warp, Option<BarrierSpec>)> = (0..threads.div_ceil(32))
            .map(|warp| {
                let lanes = (threads - warp * 32).min(32);
                let mask = (1u64 << lanes) - 1;
                (Warp::new(&self.code, mask, |which, lane| builtin(which, warp * 32 + lane)), None)
            })
            .collect();
        while warps.iter().any(|(warp, _)| !warp.ended) {
            // Every warp runs up to a barrier, a few blocks at a time.
            for (index, (warp, waits)) in warps.iter_mut().enumerate() {
                memory.warp = index;
                for _ in 0..64 {
                    if warp.ended || waits.is_some() {
                        break;
                    }
                    match self.code.run_block(&mut scratch, warp, memory) {
                        Flow::Next => {}
                        Flow::Barrier(spec) => *waits = Some(spec),
                        Flow::Ended => break,
                        Flow::Fault(fault) => return Err(fault),
                    }
                }
            }
            if warps.iter().all(|(warp, waits)| warp.ended || waits.is_some()) {
                warps.iter_mut().for_each(|(_, waits)| *waits = None);
            }
        }
        Ok(())
    }
}

fn check(files: &Files) -> Result<(), String> {
    let tables = tables(&String::from_utf8_lossy(&files["launch.toml"]));
    let table = |name: &str| tables.iter().find(|(header, _)| header == name).map(|(_, keys)| keys).unwrap();
    let file = |name: &str| files.get(name).cloned().ok_or_else(|| format!("no file {name}"));
    let (program, launch) = (table("program"), table("launch"));
    assert_eq!(launch["type"], "compute");
    let get = |key: &str| program.get(key).map(|value| number(value));
    let target = Target::compute(Chip::parse(&program["chip"]).ok_or("chip")?);
    let mut memory = Memory { local_bytes: get("local").unwrap_or(0) as usize, ..Memory::default() };
    let mut names = HashMap::new();
    let mut params = Vec::new();
    let (mut expectations, mut expected_fault) = (Vec::new(), None);
    let mut base = 0x1000_0000;
    for (header, keys) in &tables {
        match header.as_str() {
            "buffer" => {
                let mut data = keys.get("data").map(|name| file(name)).transpose()?.unwrap_or_default();
                let bytes = keys.get("bytes").map_or(data.len(), |bytes| number(bytes) as usize);
                data.resize(bytes, 0);
                let address = keys.get("address").map_or(base, |address| u64::from(number(address)));
                base += (bytes as u64).next_multiple_of(4096) + 4096;
                names.insert(keys["name"].clone(), memory.buffers.len());
                let read_only = keys.get("access").is_some_and(|access| access == "r");
                memory.buffers.push(Buffer { base: address, data, read_only });
            }
            "arg" => {
                let bits = if let Some(buffer) = keys.get("buffer") {
                    memory.buffers[names[buffer]].base as u32
                } else if let Some(value) = keys.get("f32") {
                    value.parse::<f32>().map_err(|error| error.to_string())?.to_bits()
                } else {
                    number(&keys["u32"])
                };
                params.extend(bits.to_le_bytes());
            }
            "const" => {
                memory.consts.insert(number(&keys["index"]) as u8, file(&keys["data"])?);
            }
            "global" => {
                let base = memory.buffers[names[&keys["buffer"]]].base;
                memory.windows.insert(number(&keys["index"]) as u8, base);
            }
            "expect" if keys.contains_key("fault") => {
                expected_fault = Some((keys["fault"].clone(), keys.get("pc").map(|pc| number(pc))));
            }
            "expect" => expectations.push(keys),
            _ => {}
        }
    }
    let code = file(&program["file"])?;
    let options = Options {
        name: "kernel",
        target,
        base: 0,
        entry: get("entry").unwrap_or(0),
        registers: get("registers").unwrap_or(128),
        const_banks: &[],
        plan: None,
        mailbox: 0,
    };
    let func = lift(&code, &options, &Meter::unlimited()).expect("no limits");
    if let Err(error) = verify(&func) {
        return Err(error.violations.iter().take(5).map(ToString::to_string).collect::<Vec<_>>().join("\n"));
    }
    let code = Code::new(&func).map_err(|error| format!("{error:?}"))?;
    let launch =
        Launch { code, grid: triple(&launch["grid"]), block: triple(&launch["block"]), params, target };
    let shared = get("shared").unwrap_or(0).max(16 + launch.params.len() as u32) as usize;
    match (launch.run(&mut memory, shared), &expected_fault) {
        (Ok(()), None) => {}
        (Err(fault), Some((kind, pc))) => {
            let name = match fault.kind {
                FaultKind::Memory => "memory",
                FaultKind::Illegal => "illegal",
                FaultKind::Trap => "trap",
                FaultKind::Stack => "stack",
                FaultKind::Timeout => "timeout",
                FaultKind::Texture(..) => "texture",
            };
            if name != kind || pc.is_some_and(|pc| pc != fault.pc) {
                return Err(format!("{fault:?}, want {kind} at {pc:x?}"));
            }
        }
        (outcome, wanted) => return Err(format!("{outcome:x?}, want {wanted:?}")),
    }
    for keys in expectations {
        let wanted = file(&keys["data"])?;
        let offset = keys.get("offset").map_or(0, |offset| number(offset) as usize);
        let got = &memory.buffers[names[&keys["buffer"]]].data[offset..];
        let ulp = keys.get("max_ulp").map_or(0, |ulp| number(ulp));
        for (n, (wanted, got)) in wanted.chunks(4).zip(got.chunks(4)).enumerate() {
            let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
            if word(wanted).abs_diff(word(got)) > ulp {
                return Err(format!("{}[{n}]: {:x}, want {:x}", keys["buffer"], word(got), word(wanted)));
            }
        }
    }
    Ok(())
}

/// Runs the folders that have a launch file, which are `count`.
fn run(folders: &BTreeMap<String, Files>, count: usize) {
    let launches: Vec<_> = folders.iter().filter(|(_, files)| files.contains_key("launch.toml")).collect();
    assert_eq!(launches.len(), count);
    let only = std::env::var("WARPJIT_TESLA_ONLY").unwrap_or_default();
    let mut failures = Vec::new();
    let mut passed = 0;
    for (name, files) in launches.into_iter().filter(|(name, _)| name.contains(&only)) {
        match check(files) {
            Ok(()) => passed += 1,
            Err(reason) => failures.push(format!("{name}: {reason}")),
        }
    }
    eprintln!("{passed} passed");
    assert!(failures.is_empty(), "{passed} passed, {} failed\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn programs_of_one_instruction() {
    run(&packed("tesla-op"), 827);
}

#[test]
fn programs() {
    run(&unpacked("tesla"), 25);
}

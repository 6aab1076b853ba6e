//! Executables: code objects that are loaded, with their symbols.

use crate::chip::Device;
use crate::elf::{Kind, Object, Refused, Relocation, RelocationKind, Symbol, Target};
use crate::kernel::Kernel;
use crate::status::{Result, Status};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use warpjit_runtime::{Access, Memory};

/// A code object in memory.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// Where the object was for the loader: address and length.
    pub source: (u64, u64),
    /// Where it is, how long, and what is added to its own addresses.
    pub base: u64,
    pub bytes: u64,
    pub delta: u64,
    /// Whether kernels have `amd_kernel_code_t`.
    pub old: bool,
    pub symbols: Vec<Symbol>,
    /// Addresses of functions, before `delta` is added.
    pub functions: Vec<u64>,
}

/// An executable.
#[derive(Debug)]
pub(crate) struct Executable {
    memory: Memory,
    pub number: u64,
    pub profile: u32,
    pub rounding: u32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    frozen: bool,
    loaded: Vec<Arc<Loaded>>,
    /// By name: which code object, and which of its symbols.
    names: HashMap<String, (usize, usize)>,
    /// Variables that the program defines, which code objects name.
    external: HashMap<String, u64>,
    /// By number of the code object and the symbol.
    kernels: HashMap<(usize, usize), Arc<Kernel>>,
    /// What could not be resolved when it was loaded: where in which code object.
    open: Vec<(usize, Relocation)>,
}

/// A symbol of an executable, by numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SymbolIndex {
    pub object: usize,
    pub symbol: usize,
}

impl Executable {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is frozen.
    pub fn is_frozen(&self) -> bool {
        self.state().frozen
    }

    /// Loads a code object; its number. What is wrong with it is said by `say`.
    pub fn load(&self, bytes: &[u8], source: u64, device: &Device, say: impl Fn(&str)) -> Result<usize> {
        let mut state = self.state();
        if state.frozen {
            return Err(Status::FROZEN_EXECUTABLE);
        }
        let object = Object::parse(bytes, device).map_err(|refused| match refused {
            Refused::Invalid(reason) => {
                say(&format!("a code object of {} bytes cannot be loaded: {reason}", bytes.len()));
                Status::INVALID_CODE_OBJECT
            }
            Refused::Foreign(reason) => {
                say(&format!("a code object cannot be loaded on {}: {reason}", device.processor));
                Status::INCOMPATIBLE_ARGUMENTS
            }
        })?;
        let size = (object.end - object.start).max(1);
        let base = map_object(&self.memory, bytes, size)?;
        let delta = base.wrapping_sub(object.start);
        let filled = object
            .segments
            .iter()
            .try_for_each(|segment| self.memory.write(segment.address.wrapping_add(delta), segment.data));
        if filled.is_err() {
            let _ = self.memory.unmap(base);
            return Err(Status::OUT_OF_RESOURCES);
        }
        let Object { old, symbols, relocations, functions, .. } = object;
        let number = state.loaded.len();
        let source = (source, bytes.len() as u64);
        let loaded = Loaded { source, base, bytes: size, delta, old, symbols, functions };
        for (index, symbol) in loaded.symbols.iter().enumerate() {
            // The first of a name counts.
            state.names.entry(symbol.name.clone()).or_insert((number, index));
        }
        state.loaded.push(Arc::new(loaded));
        for relocation in relocations {
            if !state.relocate(&self.memory, number, &relocation)? {
                state.open.push((number, relocation));
            }
        }
        Ok(number)
    }

    /// Ends loading: all names must be known.
    pub fn freeze(&self, say: impl Fn(&str)) -> Result<()> {
        let mut state = self.state();
        if state.frozen {
            return Err(Status::FROZEN_EXECUTABLE);
        }
        for (number, relocation) in std::mem::take(&mut state.open) {
            if !state.relocate(&self.memory, number, &relocation)?
                && let Target::Undefined(name, weak) = &relocation.target
                && !weak
            {
                say(&format!("a code object uses {name}, which nobody has defined"));
                return Err(Status::VARIABLE_UNDEFINED);
            }
        }
        state.frozen = true;
        Ok(())
    }

    /// Says where a variable is that code objects name.
    pub fn define(&self, name: &str, address: u64) -> Result<()> {
        let mut state = self.state();
        if state.frozen {
            return Err(Status::FROZEN_EXECUTABLE);
        }
        if state.names.contains_key(name) || state.external.contains_key(name) {
            return Err(Status::VARIABLE_ALREADY_DEFINED);
        }
        state.external.insert(name.to_owned(), address);
        Ok(())
    }

    /// The symbol with a name.
    pub fn find(&self, name: &str) -> Option<SymbolIndex> {
        let state = self.state();
        state.names.get(name).map(|&(object, symbol)| SymbolIndex { object, symbol })
    }

    /// All symbols.
    pub fn symbols(&self) -> Vec<SymbolIndex> {
        let state = self.state();
        let of = |(object, loaded): (usize, &Arc<Loaded>)| {
            (0..loaded.symbols.len()).map(move |symbol| SymbolIndex { object, symbol })
        };
        state.loaded.iter().enumerate().flat_map(of).collect()
    }

    /// The code objects.
    pub fn loaded(&self) -> Vec<Arc<Loaded>> {
        self.state().loaded.clone()
    }

    /// The kernel of a symbol.
    pub fn kernel(&self, index: SymbolIndex) -> Result<Arc<Kernel>> {
        let mut state = self.state();
        let key = (index.object, index.symbol);
        if let Some(kernel) = state.kernels.get(&key) {
            return Ok(kernel.clone());
        }
        let loaded = state.loaded.get(index.object).ok_or(Status::INVALID_EXECUTABLE_SYMBOL)?;
        let symbol = loaded.symbols.get(index.symbol).filter(|symbol| symbol.kind == Kind::Kernel);
        let symbol = symbol.ok_or(Status::INVALID_EXECUTABLE_SYMBOL)?;
        let address = symbol.address.wrapping_add(loaded.delta);
        let kernel = Kernel::read(&self.memory, &symbol.name, address, loaded.clone());
        let kernel = Arc::new(kernel.map_err(|_| Status::INVALID_CODE_OBJECT)?);
        state.kernels.insert(key, kernel.clone());
        Ok(kernel)
    }

    /// The kernel whose descriptor is at an address.
    pub fn kernel_at(&self, address: u64) -> Option<Arc<Kernel>> {
        let index = {
            let state = self.state();
            let holds = |loaded: &Arc<Loaded>| address.wrapping_sub(loaded.base) < loaded.bytes;
            let object = state.loaded.iter().position(holds)?;
            let loaded = &state.loaded[object];
            let own = address.wrapping_sub(loaded.delta);
            let is_it = |symbol: &Symbol| symbol.kind == Kind::Kernel && symbol.address == own;
            SymbolIndex { object, symbol: loaded.symbols.iter().position(is_it)? }
        };
        self.kernel(index).ok()
    }

    /// Whether an address is in one of its code objects.
    pub fn holds(&self, address: u64) -> bool {
        self.state().loaded.iter().any(|loaded| address.wrapping_sub(loaded.base) < loaded.bytes)
    }
}

impl State {
    /// Writes an address where a relocation is; `false` if it is not known.
    fn relocate(&self, memory: &Memory, number: usize, relocation: &Relocation) -> Result<bool> {
        let loaded = &self.loaded[number];
        let target = match &relocation.target {
            Target::Base => Some(loaded.delta),
            Target::Address(address) => Some(address.wrapping_add(loaded.delta)),
            Target::Undefined(name, _) => self.external.get(name).copied().or_else(|| {
                let &(object, symbol) = self.names.get(name)?;
                let other = &self.loaded[object];
                Some(other.symbols[symbol].address.wrapping_add(other.delta))
            }),
        };
        let known = target.is_some();
        let at = relocation.at.wrapping_add(loaded.delta);
        // An address that is not known is 0 until it is, as a weak symbol's may stay.
        let value = target.map_or(0, |target| target.wrapping_add(relocation.addend as u64));
        let (value, bytes) = match relocation.kind {
            RelocationKind::Whole => (value, 8),
            RelocationKind::Relative64 => (value.wrapping_sub(at), 8),
            RelocationKind::Low32 | RelocationKind::Absolute32 => (value, 4),
            RelocationKind::High32 => (value >> 32, 4),
            RelocationKind::Relative32 => (value.wrapping_sub(at), 4),
        };
        memory.write(at, &value.to_le_bytes()[..bytes]).map_err(|_| Status::INVALID_CODE_OBJECT)?;
        Ok(known)
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        for loaded in &self.state().loaded {
            let _ = self.memory.unmap(loaded.base);
        }
    }
}

/// Maps memory for a code object: always at the same address for the same contents, if that is free. Compiled code may depend on addresses,
/// so it is found again on disk by the next process only if they are the same.
pub(crate) fn map_object(memory: &Memory, bytes: &[u8], size: u64) -> Result<u64> {
    /// Where code objects are, and at which multiples they begin: in the range that the memory hands out, far from its start.
    const FIRST: u64 = 0x20_0000_0000;
    const UNIT: u64 = 2 << 20;
    const UNITS: u64 = 1 << 16;
    /// Of large objects only some words count.
    const STEP: usize = 1024;
    let words = bytes.chunks(8).step_by(if bytes.len() < 1 << 20 { 1 } else { STEP / 8 });
    let mut hash = bytes.len() as u64;
    for chunk in words {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    }
    let at = FIRST + hash % UNITS * UNIT;
    memory
        .map(Some(at), size, Access::ReadWrite)
        .or_else(|_| memory.map(None, size, Access::ReadWrite))
        .map_err(|_| Status::OUT_OF_RESOURCES)
}

/// All executables.
#[derive(Debug, Default)]
pub(crate) struct Executables {
    table: RwLock<Table>,
}

#[derive(Debug, Default)]
struct Table {
    made: u64,
    all: HashMap<u64, Arc<Executable>>,
    /// Kernels that packets have named.
    kernels: HashMap<u64, Arc<Kernel>>,
}

/// Bits of a symbol's handle for the symbol and for the code object; its executable is above.
const SYMBOL_BITS: u32 = 24;
const OBJECT_BITS: u32 = 12;

impl Executables {
    /// A new one.
    pub fn make(&self, memory: &Memory, profile: u32, rounding: u32) -> Arc<Executable> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.made += 1;
        let number = table.made;
        let memory = memory.clone();
        let executable = Arc::new(Executable { memory, number, profile, rounding, state: Mutex::default() });
        table.all.insert(number, executable.clone());
        executable
    }

    /// By handle.
    pub fn get(&self, handle: u64) -> Result<Arc<Executable>> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.all.get(&handle).cloned().ok_or(Status::INVALID_EXECUTABLE)
    }

    /// All of them.
    pub fn all(&self) -> Vec<Arc<Executable>> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = table.all.values().cloned().collect();
        all.sort_by_key(|executable| executable.number);
        all
    }

    /// Ends one.
    pub fn remove(&self, handle: u64) -> Result<()> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let executable = table.all.remove(&handle).ok_or(Status::INVALID_EXECUTABLE)?;
        table.kernels.retain(|&address, _| !executable.holds(address));
        drop(table);
        Ok(())
    }

    /// The kernel that a packet names by its descriptor's address.
    pub fn kernel_at(&self, address: u64) -> Option<Arc<Kernel>> {
        if let Some(kernel) = self.table.read().unwrap_or_else(PoisonError::into_inner).kernels.get(&address)
        {
            return Some(kernel.clone());
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let kernel = table.all.values().find_map(|executable| executable.kernel_at(address))?;
        table.kernels.insert(address, kernel.clone());
        Some(kernel)
    }

    /// The handle of a symbol.
    pub fn handle(executable: &Executable, index: SymbolIndex) -> u64 {
        executable.number << (SYMBOL_BITS + OBJECT_BITS)
            | (index.object as u64) << SYMBOL_BITS
            | index.symbol as u64
    }

    /// The symbol with a handle.
    pub fn symbol(&self, handle: u64) -> Result<(Arc<Executable>, Arc<Loaded>, SymbolIndex)> {
        let bad = Status::INVALID_EXECUTABLE_SYMBOL;
        let executable = self.get(handle >> (SYMBOL_BITS + OBJECT_BITS)).map_err(|_| bad)?;
        let object = (handle >> SYMBOL_BITS & ((1 << OBJECT_BITS) - 1)) as usize;
        let symbol = (handle & ((1 << SYMBOL_BITS) - 1)) as usize;
        let loaded = executable.loaded().get(object).cloned().ok_or(bad)?;
        if symbol >= loaded.symbols.len() {
            return Err(bad);
        }
        Ok((executable, loaded, SymbolIndex { object, symbol }))
    }
}

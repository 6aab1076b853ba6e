//! Code objects, executables, symbols. The functions of HSA 1.0 for code objects that are not bound to an executable yet work on a copy of
//! the file.

use super::agents::visit;
use super::{answer, exports, list, put, text};
use crate::elf::{Kind, Object, Refused, Symbol};
use crate::executable::{Executable, Executables, Loaded, SymbolIndex};
use crate::info::{Agent, ISA};
use crate::status::{Result, Status};
use crate::system::{System, system};
use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::sync::{Arc, Mutex, PoisonError};

/// What a reader reads.
#[derive(Clone)]
enum Source {
    /// Memory of the program: address and length.
    Memory(u64, usize),
    File(Arc<Vec<u8>>),
}

/// Readers, and code objects of HSA 1.0, by handle.
struct Readers {
    made: u64,
    all: Option<HashMap<u64, Source>>,
}

static READERS: Mutex<Readers> = Mutex::new(Readers { made: 0x8000, all: None });

fn add_reader(source: Source) -> u64 {
    let mut readers = READERS.lock().unwrap_or_else(PoisonError::into_inner);
    readers.made += 1;
    let number = readers.made;
    readers.all.get_or_insert_default().insert(number, source);
    number
}

fn find_reader(handle: u64) -> Option<Source> {
    let readers = READERS.lock().unwrap_or_else(PoisonError::into_inner);
    readers.all.as_ref()?.get(&handle).cloned()
}

fn remove_reader(handle: u64) -> Option<Source> {
    let mut readers = READERS.lock().unwrap_or_else(PoisonError::into_inner);
    readers.all.as_mut()?.remove(&handle)
}

impl Source {
    /// The bytes.
    ///
    /// # Safety
    /// Memory of the program stays as long as its reader, and the result as long as that.
    unsafe fn bytes(&self) -> Result<&[u8]> {
        match self {
            Source::File(bytes) => Ok(bytes),
            // SAFETY: as the caller promises.
            Source::Memory(start, bytes) => unsafe {
                list(std::ptr::with_exposed_provenance::<u8>(*start as usize), *bytes)
            },
        }
    }

    fn address(&self) -> u64 {
        match self {
            Source::File(bytes) => bytes.as_ptr().addr() as u64,
            Source::Memory(start, _) => *start,
        }
    }
}

/// Reads a part of a file of the program, whose descriptor stays open, from its beginning.
pub(super) fn read_file(descriptor: i32, offset: u64, bytes: Option<usize>) -> Result<u64> {
    if descriptor < 0 {
        return Err(Status::INVALID_FILE);
    }
    // SAFETY: the descriptor is the program's, and is not closed here; one that is not open is an error of each call.
    let mut file = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
    let mut read = || -> std::io::Result<Vec<u8>> {
        let before = file.stream_position()?;
        file.seek(SeekFrom::Start(offset))?;
        let mut out = Vec::new();
        let result = match bytes {
            None => file.read_to_end(&mut out),
            Some(bytes) => (&mut *file).take(bytes as u64).read_to_end(&mut out),
        };
        file.seek(SeekFrom::Start(before))?;
        result.map(|_| out)
    };
    let out = read().map_err(|_| Status::INVALID_FILE)?;
    if out.is_empty() || bytes.is_some_and(|bytes| bytes != out.len()) {
        return Err(Status::INVALID_FILE);
    }
    Ok(add_reader(Source::File(Arc::new(out))))
}

fn executable(system: &System, handle: u64) -> Result<Arc<Executable>> {
    system.executables.get(handle)
}

/// Loads a code object into an executable.
///
/// # Safety
/// As [`Source::bytes`].
unsafe fn load(handle: u64, agent: u64, source: &Source, loaded: *mut u64) -> Result<()> {
    let system = system()?;
    let executable = executable(system, handle)?;
    if Agent::find(system, agent)? == Agent::Host {
        return Err(Status::INVALID_AGENT);
    }
    // SAFETY: as the caller promises.
    let bytes = unsafe { source.bytes() }?;
    let say = |what: &str| system.reporter.say(what);
    let number = executable.load(bytes, source.address(), system.device()?, say)?;
    if loaded.is_null() {
        return Ok(());
    }
    // SAFETY: HSA's rules for the place.
    unsafe { put(loaded, super::loader::handle(&executable, number)) }
}

fn symbol_name(symbol: &Symbol) -> &str {
    &symbol.name
}

/// What `hsa_executable_symbol_get_info` answers; for `code` symbols, which have no addresses, what `hsa_code_symbol_get_info` does.
fn symbol_info(
    symbol: &Symbol,
    loaded: Option<(&Executable, &Loaded, SymbolIndex)>,
    attribute: u32,
) -> Result<Vec<u8>> {
    let word = |value: u32| Ok(value.to_le_bytes().to_vec());
    let long = |value: u64| Ok(value.to_le_bytes().to_vec());
    let flag = |value: bool| Ok(vec![u8::from(value)]);
    let kernel = || match loaded {
        Some((executable, _, index)) if symbol.kind == Kind::Kernel => executable.kernel(index),
        _ => Err(Status::INVALID_ARGUMENT),
    };
    let is = |kind: Kind| if symbol.kind == kind { Ok(()) } else { Err(Status::INVALID_ARGUMENT) };
    let address = || -> Result<u64> {
        let (_, loaded, _) = loaded.ok_or(Status::INVALID_ARGUMENT)?;
        Ok(symbol.address.wrapping_add(loaded.delta))
    };
    match attribute {
        0 => word(match symbol.kind {
            Kind::Variable => 0,
            Kind::Kernel => 1,
            Kind::Function => 2,
        }),
        1 => word(symbol_name(symbol).len() as u32),
        2 => Ok(symbol_name(symbol).as_bytes().to_vec()),
        // No module.
        3 => word(0),
        4 => Ok(Vec::new()),
        20 => long(Agent::Device.handle()),
        21 => is(Kind::Variable).and_then(|()| long(address()?)),
        5 => word(u32::from(symbol.global)),
        17 => flag(true),
        // Variables are the agent's, in global memory.
        6 => is(Kind::Variable).and_then(|()| word(0)),
        7 => is(Kind::Variable).and_then(|()| word(u32::from(!symbol.writable))),
        8 => is(Kind::Variable).and_then(|()| word(symbol.alignment)),
        9 => is(Kind::Variable).and_then(|()| word(symbol.bytes.min(u32::MAX.into()) as u32)),
        10 => is(Kind::Variable).and_then(|()| flag(!symbol.writable)),
        22 => is(Kind::Kernel).and_then(|()| long(address()?)),
        11 => word(kernel()?.kernarg_bytes),
        12 => word(kernel()?.kernarg_alignment),
        13 => word(kernel()?.group_bytes),
        14 => word(kernel()?.private_bytes),
        15 => flag(kernel()?.has_dynamic_stack()),
        18 => is(Kind::Kernel).and_then(|()| word(0)),
        23 => is(Kind::Function).and_then(|()| long(address()?)),
        16 => is(Kind::Function).and_then(|()| word(0)),
        _ => Err(Status::INVALID_ARGUMENT),
    }
}

/// A function that is called for each symbol of an executable.
type VisitSymbol = Option<unsafe extern "C" fn(u64, u64, *mut c_void) -> Status>;

/// # Safety
/// HSA's rules for the function.
unsafe fn each_symbol(handle: u64, all: bool, function: VisitSymbol, data: *mut c_void) -> Result<()> {
    let executable = executable(system()?, handle)?;
    let function = function.ok_or(Status::INVALID_ARGUMENT)?;
    // All symbols are the agent's.
    let indices = if all { executable.symbols() } else { Vec::new() };
    for index in indices {
        // SAFETY: as the caller promises.
        match unsafe { function(handle, Executables::handle(&executable, index), data) } {
            Status::SUCCESS => {}
            other => return Err(other),
        }
    }
    Ok(())
}

/// # Safety
/// HSA's rules for the texts and places.
unsafe fn find_symbol(handle: u64, name: *const c_char, agent: Option<u64>, symbol: *mut u64) -> Result<()> {
    let system = system()?;
    let executable = executable(system, handle)?;
    // SAFETY: as the caller promises.
    let name = unsafe { text(name) }?;
    if let Some(agent) = agent {
        Agent::find(system, agent)?;
    }
    // A name without `.kd` finds the kernel.
    let index = executable.find(name).or_else(|| executable.find(&format!("{name}.kd")));
    let index = index.ok_or(Status::INVALID_SYMBOL_NAME)?;
    // SAFETY: as the caller promises.
    unsafe { put(symbol, Executables::handle(&executable, index)) }
}

/// # Safety
/// HSA's rules for the texts.
unsafe fn define(handle: u64, agent: Option<u64>, name: *const c_char, address: *mut c_void) -> Result<()> {
    let system = system()?;
    let executable = executable(system, handle)?;
    if let Some(agent) = agent {
        Agent::find(system, agent)?;
    }
    if address.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    // SAFETY: as the caller promises.
    executable.define(unsafe { text(name) }?, address.addr() as u64)
}

/// The code object of HSA 1.0 with a handle, taken apart.
///
/// # Safety
/// As [`Source::bytes`].
unsafe fn with_object<T>(handle: u64, then: impl FnOnce(&Object<'_>) -> Result<T>) -> Result<T> {
    let system = system()?;
    let source = find_reader(handle).ok_or(Status::INVALID_CODE_OBJECT)?;
    // SAFETY: as the caller promises.
    let bytes = unsafe { source.bytes() }?;
    let object = Object::parse(bytes, system.device()?).map_err(|refused| match refused {
        Refused::Invalid(_) => Status::INVALID_CODE_OBJECT,
        Refused::Foreign(_) => Status::INCOMPATIBLE_ARGUMENTS,
    })?;
    then(&object)
}

/// Bits of the handle of such an object's symbol for the symbol.
const SYMBOL_BITS: u32 = 32;

/// `hsa_ext_control_directives_t`, of which nothing is read.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ControlDirectives([u64; 36]);

exports! {
    fn hsa_code_object_reader_create_from_file(file: i32, reader: *mut u64) {
        system()?;
        if reader.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let handle = read_file(file, 0, None)?;
        // SAFETY: HSA's rules for the place.
        unsafe { put(reader, handle) }
    }

    fn hsa_code_object_reader_create_from_memory(start: *const c_void, bytes: usize, reader: *mut u64) {
        system()?;
        if start.is_null() || bytes == 0 || reader.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let handle = add_reader(Source::Memory(start.expose_provenance() as u64, bytes));
        // SAFETY: HSA's rules for the place.
        unsafe { put(reader, handle) }
    }

    fn hsa_code_object_reader_destroy(reader: u64) {
        system()?;
        remove_reader(reader).map(|_| ()).ok_or(Status::INVALID_CODE_OBJECT_READER)
    }

    fn hsa_executable_create_alt(profile: u32, rounding: u32, _options: *const c_char, executable: *mut u64) {
        let system = system()?;
        if profile > 1 || rounding > 2 || executable.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let made = system.executables.make(&system.shared.memory, profile, rounding);
        // SAFETY: HSA's rules for the place.
        unsafe { put(executable, made.number) }
    }

    fn hsa_executable_create(profile: u32, state: u32, _options: *const c_char, executable: *mut u64) {
        let system = system()?;
        if profile > 1 || state > 1 || executable.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let made = system.executables.make(&system.shared.memory, profile, 0);
        if state == 1 {
            made.freeze(|_| ())?;
        }
        // SAFETY: HSA's rules for the place.
        unsafe { put(executable, made.number) }
    }

    fn hsa_executable_destroy(executable: u64) { system()?.executables.remove(executable) }

    fn hsa_executable_load_program_code_object(
        handle: u64,
        _reader: u64,
        _options: *const c_char,
        _loaded: *mut u64,
    ) {
        executable(system()?, handle)?;
        // AMD's code objects are for an agent.
        Err(Status::INVALID_CODE_OBJECT)
    }

    fn hsa_executable_load_agent_code_object(
        executable: u64,
        agent: u64,
        reader: u64,
        _options: *const c_char,
        loaded: *mut u64,
    ) {
        system()?.executables.get(executable)?;
        let source = find_reader(reader).ok_or(Status::INVALID_CODE_OBJECT_READER)?;
        // SAFETY: HSA's rule for readers: their memory stays as long as they.
        unsafe { load(executable, agent, &source, loaded) }
    }

    fn hsa_executable_load_code_object(executable: u64, agent: u64, object: u64, _options: *const c_char) {
        system()?.executables.get(executable)?;
        let source = find_reader(object).ok_or(Status::INVALID_CODE_OBJECT)?;
        // SAFETY: a copy of the library's.
        unsafe { load(executable, agent, &source, std::ptr::null_mut()) }
    }

    fn hsa_executable_freeze(handle: u64, _options: *const c_char) {
        let system = system()?;
        executable(system, handle)?.freeze(|what| system.reporter.say(what))
    }

    fn hsa_executable_get_info(handle: u64, attribute: u32, value: *mut c_void) {
        let executable = executable(system()?, handle)?;
        let word = match attribute {
            1 => executable.profile,
            2 => u32::from(executable.is_frozen()),
            3 => executable.rounding,
            _ => return Err(Status::INVALID_ARGUMENT),
        };
        // SAFETY: the place has room for what was asked for.
        unsafe { answer(value, &word.to_le_bytes()) }
    }

    fn hsa_executable_global_variable_define(executable: u64, name: *const c_char, address: *mut c_void) {
        // SAFETY: HSA's rules for the text.
        unsafe { define(executable, None, name, address) }
    }

    fn hsa_executable_agent_global_variable_define(
        executable: u64,
        agent: u64,
        name: *const c_char,
        address: *mut c_void,
    ) {
        // SAFETY: HSA's rules for the text.
        unsafe { define(executable, Some(agent), name, address) }
    }

    fn hsa_executable_readonly_variable_define(
        executable: u64,
        agent: u64,
        name: *const c_char,
        address: *mut c_void,
    ) {
        // SAFETY: HSA's rules for the text.
        unsafe { define(executable, Some(agent), name, address) }
    }

    fn hsa_executable_validate(handle: u64, result: *mut u32) {
        executable(system()?, handle)?;
        // SAFETY: HSA's rules for the place.
        unsafe { put(result, 0) }
    }

    fn hsa_executable_validate_alt(handle: u64, _options: *const c_char, result: *mut u32) {
        executable(system()?, handle)?;
        // SAFETY: HSA's rules for the place.
        unsafe { put(result, 0) }
    }

    fn hsa_executable_get_symbol(
        executable: u64,
        _module: *const c_char,
        name: *const c_char,
        agent: u64,
        _convention: i32,
        symbol: *mut u64,
    ) {
        // SAFETY: HSA's rules for the text and the place.
        unsafe { find_symbol(executable, name, Some(agent), symbol) }
    }

    fn hsa_executable_get_symbol_by_name(
        executable: u64,
        name: *const c_char,
        agent: *const u64,
        symbol: *mut u64,
    ) {
        // SAFETY: HSA's rules for the text and the places.
        unsafe {
            let agent = if agent.is_null() { None } else { Some(*agent) };
            find_symbol(executable, name, agent, symbol)
        }
    }

    fn hsa_executable_symbol_get_info(symbol: u64, attribute: u32, value: *mut c_void) {
        let (executable, loaded, index) = system()?.executables.symbol(symbol)?;
        let bytes = symbol_info(&loaded.symbols[index.symbol], Some((&executable, &loaded, index)), attribute)?;
        // SAFETY: the place has room for what was asked for.
        unsafe { answer(value, &bytes) }
    }

    fn hsa_executable_iterate_symbols(executable: u64, function: VisitSymbol, data: *mut c_void) {
        // SAFETY: HSA's rules for the function.
        unsafe { each_symbol(executable, true, function, data) }
    }

    fn hsa_executable_iterate_program_symbols(executable: u64, function: VisitSymbol, data: *mut c_void) {
        // SAFETY: HSA's rules for the function.
        unsafe { each_symbol(executable, false, function, data) }
    }

    fn hsa_executable_iterate_agent_symbols(
        handle: u64,
        agent: u64,
        function: Option<unsafe extern "C" fn(u64, u64, u64, *mut c_void) -> Status>,
        data: *mut c_void,
    ) {
        let system = system()?;
        let executable = executable(system, handle)?;
        let function = function.ok_or(Status::INVALID_ARGUMENT)?;
        let indices = match Agent::find(system, agent)? {
            Agent::Host => Vec::new(),
            Agent::Device => executable.symbols(),
        };
        for index in indices {
            // SAFETY: HSA's rules for the function.
            match unsafe { function(handle, agent, Executables::handle(&executable, index), data) } {
                Status::SUCCESS => {}
                other => return Err(other),
            }
        }
        Ok(())
    }

    fn hsa_code_object_deserialize(
        start: *mut c_void,
        bytes: usize,
        _options: *const c_char,
        object: *mut u64,
    ) {
        let system = system()?;
        if start.is_null() || bytes == 0 || object.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: HSA's rules for the memory.
        let copy = unsafe { list(start.cast::<u8>().cast_const(), bytes) }?.to_vec();
        Object::parse(&copy, system.device()?).map_err(|_| Status::INVALID_CODE_OBJECT)?;
        // SAFETY: HSA's rules for the place.
        unsafe { put(object, add_reader(Source::File(Arc::new(copy)))) }
    }

    fn hsa_code_object_serialize(
        object: u64,
        allocate: Option<unsafe extern "C" fn(usize, u64, *mut *mut c_void) -> Status>,
        data: u64,
        _options: *const c_char,
        start: *mut *mut c_void,
        bytes: *mut usize,
    ) {
        system()?;
        let source = find_reader(object).ok_or(Status::INVALID_CODE_OBJECT)?;
        let allocate = allocate.ok_or(Status::INVALID_ARGUMENT)?;
        // SAFETY: a copy of the library's.
        let own = unsafe { source.bytes() }?;
        let mut place = std::ptr::null_mut();
        // SAFETY: HSA's rules for the function: it gives room for so many bytes.
        match unsafe { allocate(own.len(), data, &raw mut place) } {
            Status::SUCCESS => {}
            other => return Err(other),
        }
        // SAFETY: as above; HSA's rules for the places.
        unsafe {
            answer(place, own)?;
            put(start, place)?;
            put(bytes, own.len())
        }
    }

    fn hsa_code_object_destroy(object: u64) {
        system()?;
        remove_reader(object).map(|_| ()).ok_or(Status::INVALID_CODE_OBJECT)
    }

    fn hsa_code_object_get_info(object: u64, attribute: u32, value: *mut c_void) {
        // SAFETY: a copy of the library's.
        let old = unsafe { with_object(object, |object| Ok(object.old)) }?;
        let bytes = match attribute {
            0 => {
                let mut version = [0; 64];
                version[..1].copy_from_slice(if old { b"2" } else { b"3" });
                version.to_vec()
            }
            1 => 0_u32.to_le_bytes().to_vec(),
            2 => ISA.to_le_bytes().to_vec(),
            3 => 1_u32.to_le_bytes().to_vec(),
            4 => 0_u32.to_le_bytes().to_vec(),
            5 => 2_u32.to_le_bytes().to_vec(),
            _ => return Err(Status::INVALID_ARGUMENT),
        };
        // SAFETY: the place has room for what was asked for.
        unsafe { answer(value, &bytes) }
    }

    fn hsa_code_object_get_symbol(object: u64, name: *const c_char, symbol: *mut u64) {
        // SAFETY: a copy of the library's; HSA's rules for the text and the place.
        unsafe {
            let name = text(name)?;
            let index = with_object(object, |object| {
                let found = object.symbols.iter().position(|symbol| symbol.name == name);
                found.ok_or(Status::INVALID_SYMBOL_NAME)
            })?;
            put(symbol, object << SYMBOL_BITS | index as u64)
        }
    }

    fn hsa_code_object_get_symbol_from_name(
        object: u64,
        _module: *const c_char,
        name: *const c_char,
        symbol: *mut u64,
    ) {
        // SAFETY: as in `hsa_code_object_get_symbol`.
        match unsafe { hsa_code_object_get_symbol(object, name, symbol) } {
            Status::SUCCESS => Ok(()),
            other => Err(other),
        }
    }

    fn hsa_code_symbol_get_info(symbol: u64, attribute: u32, value: *mut c_void) {
        let index = (symbol & ((1 << SYMBOL_BITS) - 1)) as usize;
        let read = |object: &Object<'_>| {
            let symbol = object.symbols.get(index).ok_or(Status::INVALID_CODE_SYMBOL)?;
            symbol_info(symbol, None, attribute)
        };
        // SAFETY: a copy of the library's.
        let bytes = unsafe { with_object(symbol >> SYMBOL_BITS, read) }.map_err(|status| {
            if status == Status::INVALID_CODE_OBJECT { Status::INVALID_CODE_SYMBOL } else { status }
        })?;
        // SAFETY: the place has room for what was asked for.
        unsafe { answer(value, &bytes) }
    }

    fn hsa_code_object_iterate_symbols(object: u64, function: VisitSymbol, data: *mut c_void) {
        // SAFETY: a copy of the library's.
        let count = unsafe { with_object(object, |object| Ok(object.symbols.len())) }?;
        let function = function.ok_or(Status::INVALID_ARGUMENT)?;
        for index in 0..count as u64 {
            // SAFETY: HSA's rules for the function.
            match unsafe { function(object, object << SYMBOL_BITS | index, data) } {
                Status::SUCCESS => {}
                other => return Err(other),
            }
        }
        Ok(())
    }

    fn hsa_ext_program_create(_model: u32, _profile: u32, _rounding: u32, _options: *const c_char, _program: *mut u64) {
        // There is no finalizer: HSAIL cannot be compiled.
        system()?;
        Err(Status::ERROR)
    }

    fn hsa_ext_program_destroy(_program: u64) {
        system()?;
        Err(Status::ERROR)
    }

    fn hsa_ext_program_add_module(_program: u64, _module: *const c_void) {
        system()?;
        Err(Status::ERROR)
    }

    fn hsa_ext_program_iterate_modules(_program: u64, _function: *const c_void, _data: *mut c_void) {
        system()?;
        Err(Status::ERROR)
    }

    fn hsa_ext_program_get_info(_program: u64, _attribute: u32, _value: *mut c_void) {
        system()?;
        Err(Status::ERROR)
    }

    fn hsa_ext_program_finalize(
        _program: u64,
        isa: u64,
        _convention: i32,
        _control: ControlDirectives,
        _options: *const c_char,
        _kind: u32,
        _object: *mut u64,
    ) {
        system()?;
        if isa != ISA {
            return Err(Status::INVALID_ISA);
        }
        Err(Status::ERROR)
    }
}

/// Calls a function for each of some handles ([`visit`]), which are code objects here.
///
/// # Safety
/// HSA's rules for the function.
pub(super) unsafe fn each_executable(
    function: Option<unsafe extern "C" fn(u64, *mut c_void) -> Status>,
    data: *mut c_void,
) -> Result<()> {
    let all = system()?.executables.all();
    // SAFETY: as the caller promises.
    unsafe { visit(all.into_iter().map(|executable| executable.number), function, data) }
}

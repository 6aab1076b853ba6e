//! Programs: loaded kernels that can be launched.

use std::ffi::{c_char, c_void};

use warpjit_frontend::{Chip, Isa, StageInterface};
use warpjit_runtime::{CancelToken, Engine, Program, ProgramOptions};

use crate::callback::User;
use crate::engine::{warpjit_cancel, warpjit_engine};
use crate::handle::Draft;
use crate::memory::{Space, tell_ranges, warpjit_each_range, warpjit_memory};
use crate::pointers::{array, put, put_handle, put_if, text};
use crate::stage::warpjit_stage;
use crate::status::{Failure, WARPJIT_ERROR_NOT_FOUND, warpjit_status};
use crate::text::{Bytes, warpjit_bytes};
use crate::{entry, handle, object};

/// A kernel that can be launched any number of times, by any thread. It keeps the code that was compiled for it.
pub struct warpjit_program {
    _private: [u8; 0],
}

pub(crate) struct Loaded(pub Program);

object!(Loaded, 7, "warpjit_program", warpjit_program);

/// What loading a program needs besides the bytes. Containers (cubins, fat binaries, AMD code objects) contain most of it.
pub struct warpjit_program_options {
    _private: [u8; 0],
}

object!(Draft<ProgramOptions>, 8, "warpjit_program_options", warpjit_program_options);

/// An instruction set by its name.
pub(crate) fn isa(name: &str) -> Result<Isa, Failure> {
    Isa::parse(name).ok_or_else(|| {
        let known: Vec<_> = Isa::ALL.iter().map(|isa| isa.name()).collect();
        Failure::argument(format!("{name:?} is no instruction set; there are {}", known.join(", ")))
    })
}

fn edit(
    options: *const warpjit_program_options,
    work: impl FnOnce(&mut ProgramOptions),
) -> Result<(), Failure> {
    handle::get::<Draft<ProgramOptions>>(options)?.edit(work);
    Ok(())
}

/// Makes options for a container that says everything itself, or for raw code. `isa`: "tesla", "fermi", "gcn" or "vp1".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_new(
    isa_name: *const c_char,
    options: *mut *mut warpjit_program_options,
) -> warpjit_status {
    entry!({
        put(options, std::ptr::null_mut())?;
        let isa = isa(text(isa_name, "the name of the instruction set")?)?;
        put_handle(options, Draft::new(ProgramOptions::new(isa)))?
    })
}

/// The chip, by its own name or that of a board or console with it ("g80", "gtx280", "ps4", "fiji"). Needed where the container does not
/// name one. It sets the instruction set, too. "g80" has shader processors and a video processor: it means the latter if the options are
/// those of "vp1".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_chip(
    options: *mut warpjit_program_options,
    name: *const c_char,
) -> warpjit_status {
    entry!({
        let name = text(name, "the name of the chip")?;
        let options = handle::get::<Draft<ProgramOptions>>(options)?;
        let chip = match options.now().isa.chip(name) {
            Ok(chip) => chip,
            Err(_) => name.parse::<Chip>()?,
        };
        options.edit(|options| {
            options.isa = chip.isa();
            options.chip = Some(chip);
        })
    })
}

/// Whether to read the bytes as raw code, even if they look like a container.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_raw(
    options: *mut warpjit_program_options,
    raw: bool,
) -> warpjit_status {
    entry!({ edit(options, |options| options.raw = raw)? })
}

/// Which kernel of the container. NULL, the default: the only one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_kernel(
    options: *mut warpjit_program_options,
    name: *const c_char,
) -> warpjit_status {
    entry!({
        let name = if name.is_null() { None } else { Some(text(name, "the kernel's name")?.to_owned()) };
        edit(options, |options| options.kernel = name)?
    })
}

/// Raw code: byte offset of the first instruction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_entry(
    options: *mut warpjit_program_options,
    entry_offset: u32,
) -> warpjit_status {
    entry!({ edit(options, |options| options.entry = entry_offset)? })
}

/// Raw code: registers of a thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_registers(
    options: *mut warpjit_program_options,
    registers: u32,
) -> warpjit_status {
    entry!({ edit(options, |options| options.registers = Some(registers))? })
}

/// Raw code with scalar registers: how many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_sgprs(
    options: *mut warpjit_program_options,
    registers: u32,
) -> warpjit_status {
    entry!({ edit(options, |options| options.sgprs = Some(registers))? })
}

/// Raw code: bytes of shared memory of a block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_shared(
    options: *mut warpjit_program_options,
    bytes: u32,
) -> warpjit_status {
    entry!({ edit(options, |options| options.shared = Some(bytes))? })
}

/// Raw code: bytes of local memory of a thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_local(
    options: *mut warpjit_program_options,
    bytes: u32,
) -> warpjit_status {
    entry!({ edit(options, |options| options.local = Some(bytes))? })
}

/// Raw GCN code: COMPUTE_PGM_RSRC1 and COMPUTE_PGM_RSRC2. With them the program starts as the hardware would start it, in a grid of any
/// size; they replace registers, scalar registers and shared memory. The second says how many words of user data there are
/// (warpjit_launch_set_user_data).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_rsrc(
    options: *mut warpjit_program_options,
    rsrc1: u32,
    rsrc2: u32,
) -> warpjit_status {
    entry!({
        edit(options, |options| {
            options.rsrc1 = Some(rsrc1);
            options.rsrc2 = Some(rsrc2);
        })?
    })
}

/// Raw GCN code with warpjit_program_options_set_rsrc: a word of user data, by number from 0, that is the same in all launches. A jump to an
/// address in such words, as a vertex program calls its fetch shader, is followed when the program is loaded. A launch with another word is
/// an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_known_user_data(
    options: *mut warpjit_program_options,
    number: u32,
    word: u32,
) -> warpjit_status {
    entry!({
        let number = u8::try_from(number).map_err(|_| Failure::argument(format!("user data {number}")))?;
        edit(options, |options| {
            options.known_user_data.retain(|(known, _)| *known != number);
            options.known_user_data.push((number, word));
        })?
    })
}

/// Raw GCN code with warpjit_program_options_set_rsrc, before 1.4: whether the program knows where LDS and scratch are among flat addresses,
/// as HSA's queues tell it. The default: all flat addresses are global, which is faster. From 1.4 on every program knows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_flat_apertures(
    options: *mut warpjit_program_options,
    known: bool,
) -> warpjit_status {
    entry!({ edit(options, |options| options.flat_apertures = known)? })
}

/// warpjit_program_load_at on GCN: guest addresses of `count` functions. Jumps to addresses that are not known when the program is loaded
/// (virtual calls, pointers to functions) may lead to them, besides the addresses that the code itself computes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_jump_targets(
    options: *mut warpjit_program_options,
    addresses: *const u64,
    count: usize,
) -> warpjit_status {
    entry!({
        let addresses = array(addresses, count, "the array of addresses")?.to_vec();
        edit(options, |options| options.jump_targets = addresses)?
    })
}

/// warpjit_program_load_at on GCN: whether the global data share is memory that was mapped at 0xf13000000 (warpjit_memory_map), and
/// keeps what it holds from launch to launch. The default: each launch has one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_data_share_given(
    options: *mut warpjit_program_options,
    given: bool,
) -> warpjit_status {
    entry!({ edit(options, |options| options.data_share_given = given)? })
}

/// warpjit_program_load_at on Tesla and Fermi: guest address of the stage's code segment, which absolute targets count from. The default:
/// it begins where the program does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_segment(
    options: *mut warpjit_program_options,
    address: u64,
) -> warpjit_status {
    entry!({ edit(options, |options| options.segment = Some(address))? })
}

/// warpjit_program_load_at on Tesla and Fermi: how many bytes belong to the program, from its entry on. Branches to addresses that are
/// computed may lead to any instruction among them; without this call they are illegal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_code_bytes(
    options: *mut warpjit_program_options,
    bytes: u32,
) -> warpjit_status {
    entry!({ edit(options, |options| options.code_bytes = Some(bytes))? })
}

/// Raw code of Tesla and Fermi: address of the first byte in the stage's code segment. The entry, absolute targets and the addresses of
/// faults are addresses in the segment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_base(
    options: *mut warpjit_program_options,
    address: u32,
) -> warpjit_status {
    entry!({ edit(options, |options| options.base = address)? })
}

/// Raw Fermi code: a launch writes nothing into c0[].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_c0_given(
    options: *mut warpjit_program_options,
    given: bool,
) -> warpjit_status {
    entry!({ edit(options, |options| options.c0_given = given)? })
}

/// GK104: the constant bank whose words are texture handles. The default is 15.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_texture_handles(
    options: *mut warpjit_program_options,
    bank: u32,
) -> warpjit_status {
    entry!({
        let bank = u8::try_from(bank).map_err(|_| Failure::argument(format!("constant bank {bank}")))?;
        edit(options, |options| options.texture_handles = Some(bank))?
    })
}

/// Raw code: it is a program of a graphics stage with this interface, of which a copy is taken. NULL: a compute program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_options_set_stage(
    options: *mut warpjit_program_options,
    stage: *const warpjit_stage,
) -> warpjit_status {
    entry!({
        let stage = handle::get_or_none::<Draft<StageInterface>>(stage)?;
        let stage = stage.map(|stage| StageInterface::clone(&stage.now()));
        edit(options, |options| options.stage = stage)?
    })
}

/// Loads a program: reads the container or raw words, picks the kernel and lifts it. Nothing is compiled yet. `engine`: its budget is the
/// limit; NULL: the default one. `cancel`: a token that ends it with WARPJIT_ERROR_CANCELLED; may be NULL. The bytes are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_load(
    engine: *const warpjit_engine,
    code: *const u8,
    bytes: usize,
    options: *const warpjit_program_options,
    cancel: *const warpjit_cancel,
    program: *mut *mut warpjit_program,
) -> warpjit_status {
    entry!({
        put(program, std::ptr::null_mut())?;
        let engine = handle::get_or_none::<Engine>(engine)?;
        let options = handle::get::<Draft<ProgramOptions>>(options)?.now();
        let cancel = handle::get_or_none::<CancelToken>(cancel)?;
        let code = array(code, bytes, "the code")?;
        let loaded = match engine {
            Some(engine) => engine.load(code, &options, cancel.as_deref())?,
            None => Program::load_within(code, &options, Default::default(), cancel.as_deref())?,
        };
        put_handle(program, Loaded(loaded))?
    })
}

/// Loads the program whose first instruction is at an address of guest memory. It is raw code; how long it is need not be known: what can be
/// reached is found. The code is read now; what the guest writes there later does not change the program (warpjit_program_is_current,
/// and the cache warpjit_program_cache). `budget_of`: an engine whose budget is the limit; NULL: the default one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_load_at(
    budget_of: *const warpjit_engine,
    memory: *const warpjit_memory,
    address: u64,
    options: *const warpjit_program_options,
    cancel: *const warpjit_cancel,
    program: *mut *mut warpjit_program,
) -> warpjit_status {
    entry!({
        put(program, std::ptr::null_mut())?;
        let engine = handle::get_or_none::<Engine>(budget_of)?;
        let budget = engine.map(|engine| engine.config().budget).unwrap_or_default();
        let memory = handle::get::<Space>(memory)?;
        let options = handle::get::<Draft<ProgramOptions>>(options)?.now();
        let cancel = handle::get_or_none::<CancelToken>(cancel)?;
        let loaded = Program::load_at_within(&memory.0, address, &options, budget, cancel.as_deref())?;
        put_handle(program, Loaded(loaded))?
    })
}

/// Calls a function for each range of guest memory that was read as code when the program was loaded by warpjit_program_load_at, in order
/// of address. Other programs have none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_code_ranges(
    program: *const warpjit_program,
    each: warpjit_each_range,
    user: *mut c_void,
) -> warpjit_status {
    entry!({
        let program = handle::get::<Loaded>(program)?;
        tell_ranges(each, user, program.0.code_ranges().into_iter())?
    })
}

/// Whether guest memory still holds the code that the program was loaded from. True of programs that were not loaded from guest memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_is_current(
    program: *const warpjit_program,
    memory: *const warpjit_memory,
    is_current: *mut bool,
) -> warpjit_status {
    entry!({
        let program = handle::get::<Loaded>(program)?;
        put(is_current, program.0.is_current(&handle::get::<Space>(memory)?.0))?
    })
}

/// About how many bytes of host memory the program takes: its lifted form, and what has been compiled of it so far.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_bytes_used(
    program: *const warpjit_program,
    bytes: *mut usize,
) -> warpjit_status {
    entry!({ put(bytes, handle::get::<Loaded>(program)?.0.bytes_used())? })
}

/// The kernel's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_name(
    program: *const warpjit_program,
    name: *mut *mut warpjit_bytes,
) -> warpjit_status {
    entry!({
        put(name, std::ptr::null_mut())?;
        put_handle(name, Bytes::new(handle::get::<Loaded>(program)?.0.name()))?
    })
}

/// What a kernel needs: registers of a thread, bytes of shared memory of a block and of local memory of a thread, lanes of a warp. Each
/// pointer may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_needs(
    program: *const warpjit_program,
    registers: *mut u32,
    shared_bytes: *mut u32,
    local_bytes: *mut u32,
    lanes: *mut u32,
) -> warpjit_status {
    entry!({
        let program = handle::get::<Loaded>(program)?;
        let image = program.0.image();
        put_if(registers, image.registers);
        put_if(shared_bytes, image.shared_bytes);
        put_if(local_bytes, image.local_bytes);
        put_if(lanes, image.abi.warp_lanes)
    })
}

/// The kernel as it was lifted, before it is compiled: text of the intermediate representation (docs/ir.md).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_ir(
    program: *const warpjit_program,
    ir: *mut *mut warpjit_bytes,
) -> warpjit_status {
    entry!({
        put(ir, std::ptr::null_mut())?;
        let program = handle::get::<Loaded>(program)?;
        put_handle(ir, Bytes::new(program.0.image().function.to_string()))?
    })
}

/// Gets a piece of code: guest address of its first byte (of code that was not loaded from guest memory it counts from the code's first
/// byte), and the bytes, which are valid until the function returns.
pub type warpjit_each_piece =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, address: u64, code: *const u8, bytes: usize)>;

/// Calls a function for each piece of machine code that the program consists of. What a container has of a kernel, and what was read of
/// guest memory, is one or more pieces; warpjit_disassemble lists each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_code(
    program: *const warpjit_program,
    each: warpjit_each_piece,
    user: *mut c_void,
) -> warpjit_status {
    entry!({
        let each = each.ok_or_else(|| Failure::argument("the function is NULL"))?;
        let (program, user) = (handle::get::<Loaded>(program)?, User::new(user, None));
        for piece in program.0.image().code.pieces() {
            let (code, bytes) = (piece.bytes.as_ptr(), piece.bytes.len());
            user.call("the function for code", |user| each(user, piece.address, code, bytes));
        }
    })
}

/// The interface of a program of a graphics stage. WARPJIT_ERROR_NOT_FOUND: it is a compute program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_program_stage(
    program: *const warpjit_program,
    stage: *mut *mut warpjit_stage,
) -> warpjit_status {
    entry!({
        put(stage, std::ptr::null_mut())?;
        let program = handle::get::<Loaded>(program)?;
        let interface = program.0.interface();
        let interface = interface
            .ok_or_else(|| Failure::new(WARPJIT_ERROR_NOT_FOUND, "a compute program has no interface"))?;
        put_handle(stage, Draft::new(interface.clone()))?
    })
}

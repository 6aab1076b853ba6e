//! The assembler, the disassembler, and what there is: kernels in containers, chips.

use std::ffi::{c_char, c_void};

use warpjit_frontend::{Chip, Isa, Stage, container};

use crate::callback::User;
use crate::entry;
use crate::pointers::{array, chip, put, put_handle, put_if, text};
use crate::program::isa;
use crate::stage::{stage_of, warpjit_stage_kind};
use crate::status::{Failure, WARPJIT_ERROR_PROGRAM, c_string, warpjit_status};
use crate::text::{Bytes, warpjit_bytes};

/// A chip by its name and, where it has several, its instruction set.
///
/// # Safety
/// Both are texts; the first may be null.
unsafe fn chip_of(isa_name: *const c_char, chip_name: *const c_char) -> Result<Chip, Failure> {
    // SAFETY: the caller's promise.
    unsafe {
        match isa_name.is_null() {
            true => chip(chip_name),
            false => {
                let isa = isa(text(isa_name, "the name of the instruction set")?)?;
                Ok(isa.chip(text(chip_name, "the name of the chip")?)?)
            }
        }
    }
}

/// Assembles a source or a listing for a chip. The result is raw code. If the text is wrong, the status is WARPJIT_ERROR_PROGRAM, and
/// warpjit_last_error has a line for each mistake, with line and column. `stage`: WARPJIT_STAGE_COMPUTE for kernels. `isa_name` NULL: that of
/// the chip's shader processors; "vp1" of its video processor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_assemble(
    isa_name: *const c_char,
    chip_name: *const c_char,
    stage: warpjit_stage_kind,
    source: *const c_char,
    code: *mut *mut warpjit_bytes,
) -> warpjit_status {
    entry!({
        put(code, std::ptr::null_mut())?;
        let (chip, stage): (_, Stage) = (chip_of(isa_name, chip_name)?, stage_of(stage)?);
        let assembled = chip.target().assemble(text(source, "the source")?, stage)?;
        put_handle(code, Bytes::new(assembled))?
    })
}

/// Lists raw code of a chip, a line for each instruction with its address and words. The first byte is at address `base`. `syntax`: the
/// name of a syntax; NULL: the usual one, which warpjit_assemble reads. `isa_name` as in warpjit_assemble.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_disassemble(
    isa_name: *const c_char,
    chip_name: *const c_char,
    stage: warpjit_stage_kind,
    syntax: *const c_char,
    code: *const u8,
    bytes: usize,
    base: u32,
    listing: *mut *mut warpjit_bytes,
) -> warpjit_status {
    entry!({
        put(listing, std::ptr::null_mut())?;
        let (chip, stage) = (chip_of(isa_name, chip_name)?, stage_of(stage)?);
        let (target, code) = (chip.target(), array(code, bytes, "the code")?);
        let lines = match syntax.is_null() {
            true => target.listing(code, base, stage),
            false => target.listing_in(text(syntax, "the syntax")?, code, base, stage)?,
        };
        put_handle(listing, Bytes::new(lines))?
    })
}

/// Gets a name. It is valid until the function returns.
pub type warpjit_each_name = Option<unsafe extern "C-unwind" fn(user: *mut c_void, name: *const c_char)>;

pub(crate) fn tell_names<'a>(
    each: warpjit_each_name,
    user: *mut c_void,
    names: impl Iterator<Item = &'a str>,
) -> Result<(), Failure> {
    let each = each.ok_or_else(|| Failure::argument("the function is NULL"))?;
    let user = User::new(user, None);
    for name in names {
        let name = c_string(name);
        // SAFETY: a callback with its user pointer.
        user.call("the function for names", |user| unsafe { each(user, name.as_ptr()) });
    }
    Ok(())
}

/// Calls a function for each kernel of a container, in the order of the file. `chip_name`, if it is not NULL, gets the name of the chip that
/// the container names, valid for ever, or NULL. Raw words have one kernel, whose name is empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_kernels(
    code: *const u8,
    bytes: usize,
    each: warpjit_each_name,
    user: *mut c_void,
    chip_name: *mut *const c_char,
) -> warpjit_status {
    entry!({
        let code = array(code, bytes, "the code")?;
        let module = container::load(code, Isa::Tesla)
            .map_err(|error| Failure::new(WARPJIT_ERROR_PROGRAM, error.to_string()))?;
        put_if(chip_name, module.chip.map_or(std::ptr::null(), |chip| known_name(chip.name())));
        tell_names(each, user, module.kernels.iter().map(|kernel| kernel.name.as_str()))?
    })
}

/// Calls a function with the name of each instruction set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_isas(each: warpjit_each_name, user: *mut c_void) -> warpjit_status {
    entry!({ tell_names(each, user, Isa::ALL.iter().map(|isa| isa.name()))? })
}

/// Calls a function with the name of each chip of an instruction set. Boards and consoles have further names, which
/// warpjit_program_options_set_chip knows, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_chips(
    isa_name: *const c_char,
    each: warpjit_each_name,
    user: *mut c_void,
) -> warpjit_status {
    entry!({
        let isa = isa(text(isa_name, "the name of the instruction set")?)?;
        tell_names(each, user, isa.front_end().chips().into_iter())?
    })
}

/// The instruction set of a chip ("tesla", "fermi", "gcn" or "vp1"). The text is valid for ever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_chip_isa(
    chip_name: *const c_char,
    isa_name: *mut *const c_char,
) -> warpjit_status {
    entry!({ put(isa_name, known_name(chip(chip_name)?.isa().name()))? })
}

/// A name of a chip or an instruction set as a C string. There are few, and each is made once.
fn known_name(name: &'static str) -> *const c_char {
    use std::collections::BTreeMap;
    use std::ffi::CString;
    use std::sync::{Mutex, PoisonError};
    static NAMES: Mutex<BTreeMap<&'static str, CString>> = Mutex::new(BTreeMap::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    // The string stays where it is when the map grows, and is never removed.
    names.entry(name).or_insert_with(|| c_string(name)).as_ptr()
}

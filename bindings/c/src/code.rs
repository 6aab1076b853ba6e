//! The assembler and the disassembler.

use std::ffi::c_char;

use warpjit_frontend::Stage;

use crate::entry;
use crate::pointers::{array, chip, put, put_handle, text};
use crate::stage::{stage_of, warpjit_stage_kind};
use crate::status::warpjit_status;
use crate::text::{Bytes, warpjit_bytes};

/// Assembles a source or a listing for a chip. The result is raw code. If the text is wrong, the status is WARPJIT_ERROR_PROGRAM, and
/// warpjit_last_error has a line for each mistake, with line and column. `stage`: WARPJIT_STAGE_COMPUTE for kernels.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_assemble(
    chip_name: *const c_char,
    stage: warpjit_stage_kind,
    source: *const c_char,
    code: *mut *mut warpjit_bytes,
) -> warpjit_status {
    entry!({
        put(code, std::ptr::null_mut())?;
        let (chip, stage): (_, Stage) = (chip(chip_name)?, stage_of(stage)?);
        let assembled = chip.target().assemble(text(source, "the source")?, stage)?;
        put_handle(code, Bytes::new(assembled))?
    })
}

/// Lists raw code of a chip, a line for each instruction with its address and words. The first byte is at address `base`. `syntax`: the
/// name of a syntax; NULL: the usual one, which warpjit_assemble reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_disassemble(
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
        let (chip, stage) = (chip(chip_name)?, stage_of(stage)?);
        let (target, code) = (chip.target(), array(code, bytes, "the code")?);
        let lines = match syntax.is_null() {
            true => target.listing(code, base, stage),
            false => target.listing_in(text(syntax, "the syntax")?, code, base, stage)?,
        };
        put_handle(listing, Bytes::new(lines))?
    })
}

//! Words of guest memory: loads, stores and atomics as guests execute them.

use warpjit_ir::AtomicOp;

use crate::memory::{Space, warpjit_memory};
use crate::pointers::{put, put_if};
use crate::status::{Failure, warpjit_status};
use crate::{entry, handle};

fn word_size(bytes: u32, allowed: &[u8]) -> Result<u8, Failure> {
    let known = allowed.iter().copied().find(|&size| u32::from(size) == bytes);
    known.ok_or_else(|| Failure::argument(format!("a word of {bytes} bytes; possible are {allowed:?}")))
}

/// Loads 1, 2, 4 or 8 bytes as a guest would, zero-extended. An aligned load is atomic.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_load(
    memory: *const warpjit_memory,
    address: u64,
    bytes: u32,
    value: *mut u64,
) -> warpjit_status {
    entry!({
        let memory = handle::get::<Space>(memory)?;
        put(value, memory.0.load(address, word_size(bytes, &[1, 2, 4, 8])?)?)?
    })
}

/// Stores the low 1, 2, 4 or 8 bytes of a value as a guest would. An aligned store is atomic.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_store(
    memory: *const warpjit_memory,
    address: u64,
    bytes: u32,
    value: u64,
) -> warpjit_status {
    entry!({
        let memory = handle::get::<Space>(memory)?;
        memory.0.store(address, word_size(bytes, &[1, 2, 4, 8])?, value)?
    })
}

/// An atomic operation: WARPJIT_ATOMIC_... .
pub type warpjit_atomic = u32;
/// Sum.
pub const WARPJIT_ATOMIC_ADD: warpjit_atomic = 0;
/// Exchange.
pub const WARPJIT_ATOMIC_EXCHANGE: warpjit_atomic = 1;
/// Stores `second` where the word is `value`.
pub const WARPJIT_ATOMIC_COMPARE_AND_SWAP: warpjit_atomic = 2;
/// Unsigned maximum.
pub const WARPJIT_ATOMIC_UMAX: warpjit_atomic = 3;
/// Unsigned minimum.
pub const WARPJIT_ATOMIC_UMIN: warpjit_atomic = 4;
/// Signed maximum.
pub const WARPJIT_ATOMIC_SMAX: warpjit_atomic = 5;
/// Signed minimum.
pub const WARPJIT_ATOMIC_SMIN: warpjit_atomic = 6;
/// Bitwise and.
pub const WARPJIT_ATOMIC_AND: warpjit_atomic = 7;
/// Bitwise or.
pub const WARPJIT_ATOMIC_OR: warpjit_atomic = 8;
/// Bitwise exclusive or.
pub const WARPJIT_ATOMIC_XOR: warpjit_atomic = 9;
/// Sum of floats, by size binary32 or binary64.
pub const WARPJIT_ATOMIC_FADD: warpjit_atomic = 10;
/// Lesser of two floats.
pub const WARPJIT_ATOMIC_FMIN: warpjit_atomic = 11;
/// Greater of two floats.
pub const WARPJIT_ATOMIC_FMAX: warpjit_atomic = 12;
/// Word + 1, or 0 if that is more than `value`.
pub const WARPJIT_ATOMIC_INC: warpjit_atomic = 13;
/// Word - 1, or `value` if that is more.
pub const WARPJIT_ATOMIC_DEC: warpjit_atomic = 14;

/// By number.
const ATOMICS: [AtomicOp; 15] = [
    AtomicOp::Add,
    AtomicOp::Exch,
    AtomicOp::Cas,
    AtomicOp::Umax,
    AtomicOp::Umin,
    AtomicOp::Smax,
    AtomicOp::Smin,
    AtomicOp::And,
    AtomicOp::Or,
    AtomicOp::Xor,
    AtomicOp::Fadd,
    AtomicOp::Fmin,
    AtomicOp::Fmax,
    AtomicOp::Inc,
    AtomicOp::Dec,
];

/// Executes an atomic operation on a word of 4 or 8 bytes, atomic with respect to guests. `old` gets the old value; it may be NULL. A
/// misaligned address is rounded down. `second` matters for WARPJIT_ATOMIC_COMPARE_AND_SWAP only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_atomic(
    memory: *const warpjit_memory,
    address: u64,
    bytes: u32,
    operation: warpjit_atomic,
    value: u64,
    second: u64,
    old: *mut u64,
) -> warpjit_status {
    entry!({
        let memory = handle::get::<Space>(memory)?;
        let operation = ATOMICS
            .get(operation as usize)
            .ok_or_else(|| Failure::argument(format!("{operation} is no atomic operation")))?;
        put_if(old, memory.0.atomic(address, word_size(bytes, &[4, 8])?, *operation, value, second)?)
    })
}

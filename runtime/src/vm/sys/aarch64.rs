//! AArch64: the trampoline into compiled code, the registers in a signal context, and making new code visible to all cores.

use super::FloatMode;
use super::unix::{Call, Entry, warpjit_runtime_recover};
use std::mem::offset_of;
use warpjit_backend::HostRegisters;

/// Bytes that trap: `udf #0`.
pub const TRAP: &[u8] = &[0];

/// The FPCR value of a mode: flush-to-zero is bit 24 (inputs and results).
pub const fn float_control(mode: FloatMode) -> u64 {
    match mode {
        FloatMode::Ieee => 0,
        FloatMode::Flush => 1 << 24,
    }
}

/// The float environment of this thread as it is.
pub fn control() -> u64 {
    let value: u64;
    // SAFETY: reads FPCR.
    unsafe { core::arch::asm!("mrs {}, fpcr", out(reg) value, options(nostack, nomem, preserves_flags)) };
    value
}

/// Gives this thread a float environment.
///
/// # Safety
///
/// It is one that [`control`] has given, and Rust code that computes with floats runs only where it is Rust's.
pub unsafe fn set_control(value: u64) {
    // SAFETY: a value that FPCR has held.
    unsafe { core::arch::asm!("msr fpcr, {}", in(reg) value, options(nostack, preserves_flags)) };
}

core::arch::global_asm!(
    ".text",
    ".p2align 4",
    ".globl warpjit_runtime_enter",
    ".hidden warpjit_runtime_enter",
    ".type warpjit_runtime_enter, %function",
    "warpjit_runtime_enter:",
    ".cfi_startproc",
    "stp x29, x30, [sp, #-176]!",
    ".cfi_def_cfa_offset 176",
    ".cfi_offset x29, -176",
    ".cfi_offset x30, -168",
    "mov x29, sp",
    ".cfi_def_cfa_register x29",
    "stp x19, x20, [sp, #16]",
    "stp x21, x22, [sp, #32]",
    "stp x23, x24, [sp, #48]",
    "stp x25, x26, [sp, #64]",
    "stp x27, x28, [sp, #80]",
    "stp d8, d9, [sp, #96]",
    "stp d10, d11, [sp, #112]",
    "stp d12, d13, [sp, #128]",
    "stp d14, d15, [sp, #144]",
    "str x0, [sp, #160]",
    "mov x9, sp",
    "str x9, [x0, #{sp}]",
    "mrs x9, fpcr",
    "str x9, [x0, #{saved}]",
    "ldr x9, [x0, #{wanted}]",
    "msr fpcr, x9",
    "mov x9, x1",
    "mov x0, x2",
    "mov x1, x3",
    "blr x9",
    "2:",
    "ldr x9, [sp, #160]",
    "ldr x9, [x9, #{saved}]",
    "msr fpcr, x9",
    "ldp x19, x20, [sp, #16]",
    "ldp x21, x22, [sp, #32]",
    "ldp x23, x24, [sp, #48]",
    "ldp x25, x26, [sp, #64]",
    "ldp x27, x28, [sp, #80]",
    "ldp d8, d9, [sp, #96]",
    "ldp d10, d11, [sp, #112]",
    "ldp d12, d13, [sp, #128]",
    "ldp d14, d15, [sp, #144]",
    "ldp x29, x30, [sp], #176",
    ".cfi_def_cfa sp, 0",
    ".cfi_restore x29",
    ".cfi_restore x30",
    "ret",
    ".globl warpjit_runtime_recover",
    ".hidden warpjit_runtime_recover",
    "warpjit_runtime_recover:",
    "b 2b",
    ".cfi_endproc",
    ".size warpjit_runtime_enter, . - warpjit_runtime_enter",
    ".p2align 4",
    ".globl warpjit_runtime_enter_all",
    ".hidden warpjit_runtime_enter_all",
    ".type warpjit_runtime_enter_all, %function",
    "warpjit_runtime_enter_all:",
    ".cfi_startproc",
    // The frame is that of warpjit_runtime_enter: both come back through its end.
    "stp x29, x30, [sp, #-176]!",
    ".cfi_def_cfa_offset 176",
    ".cfi_offset x29, -176",
    ".cfi_offset x30, -168",
    "mov x29, sp",
    ".cfi_def_cfa_register x29",
    "stp x19, x20, [sp, #16]",
    "stp x21, x22, [sp, #32]",
    "stp x23, x24, [sp, #48]",
    "stp x25, x26, [sp, #64]",
    "stp x27, x28, [sp, #80]",
    "stp d8, d9, [sp, #96]",
    "stp d10, d11, [sp, #112]",
    "stp d12, d13, [sp, #128]",
    "stp d14, d15, [sp, #144]",
    "str x0, [sp, #160]",
    "mov x9, sp",
    "str x9, [x0, #{sp}]",
    "mrs x9, fpcr",
    "str x9, [x0, #{saved}]",
    "ldr x9, [x0, #{wanted}]",
    "msr fpcr, x9",
    "mov x19, x0",
    "mov x20, x1",
    "mov x21, x2",
    "mov x22, x3",
    "mov x23, x4",
    "3:",
    "str x22, [x19, #{call}]",
    "ldr x9, [x22, #{word}]",
    "str x9, [x21]",
    "mov x0, x21",
    "ldr x1, [x22, #{frame}]",
    "blr x20",
    "str x0, [x22, #{result}]",
    "ldp x9, x10, [x21, #8]",
    "str x9, [x22, #{words}]",
    "str x10, [x22, #{words} + 8]",
    "add x22, x22, #{size}",
    "ldr x9, [x19, #{result_wanted}]",
    "cmp x0, x9",
    "b.ne 4f",
    "cmp x22, x23",
    "b.lo 3b",
    "4:",
    "b 2b",
    ".cfi_endproc",
    ".size warpjit_runtime_enter_all, . - warpjit_runtime_enter_all",
    call = const offset_of!(Entry, call),
    result_wanted = const offset_of!(Entry, wanted_result),
    frame = const offset_of!(Call, frame),
    word = const offset_of!(Call, word),
    result = const offset_of!(Call, result),
    words = const offset_of!(Call, words),
    size = const size_of::<Call>(),
    sp = const offset_of!(Entry, stack_pointer),
    saved = const offset_of!(Entry, saved_control),
    wanted = const offset_of!(Entry, wanted_control),
);

/// The interrupted instruction.
pub fn pc(context: &libc::ucontext_t) -> usize {
    context.uc_mcontext.pc as usize
}

/// No code for this host asks for registers.
pub fn general(_: &libc::ucontext_t) -> HostRegisters {
    [0; 16]
}

/// The stack pointer of the interrupted code.
pub fn stack_pointer(context: &libc::ucontext_t) -> usize {
    context.uc_mcontext.sp as usize
}

/// Where calls of code leave their return address: in a register first, so nothing is known.
pub fn call_slot(_prologue: &[u8], _stack_pointer: usize) -> Option<usize> {
    None
}

/// Makes the interrupted thread go on at the recovery label with the stack of its entry.
pub fn resume_at_recovery(context: &mut libc::ucontext_t, stack_pointer: usize) {
    context.uc_mcontext.pc = warpjit_runtime_recover as *const () as usize as u64;
    context.uc_mcontext.sp = stack_pointer as u64;
}

/// Makes the interrupted thread go on at another instruction, with its registers as they are.
pub fn resume_at(context: &mut libc::ucontext_t, pc: usize) {
    context.uc_mcontext.pc = pc as u64;
}

/// Makes code that was written visible to execution: cleans the data cache to the point of unification, invalidates the instruction
/// cache, and has other threads refetch.
pub fn publish(code: *const u8, bytes: usize) {
    let ctr: usize;
    // SAFETY: CTR_EL0 is readable at EL0 on Linux.
    unsafe { core::arch::asm!("mrs {}, ctr_el0", out(reg) ctr, options(nomem, nostack, preserves_flags)) };
    let data_line = 4 << ((ctr >> 16) & 15);
    let code_line = 4 << (ctr & 15);
    let lines = |start: *const u8, line: usize| {
        let start = start as usize;
        (start / line * line..start + bytes).step_by(line)
    };
    for line in lines(code, data_line) {
        // SAFETY: cache maintenance by address, of memory that is mapped; it changes no contents.
        unsafe { core::arch::asm!("dc cvau, {}", in(reg) line, options(nostack, preserves_flags)) };
    }
    // SAFETY: a barrier.
    unsafe { core::arch::asm!("dsb ish", options(nostack, preserves_flags)) };
    for line in lines(code, code_line) {
        // SAFETY: as above.
        unsafe { core::arch::asm!("ic ivau, {}", in(reg) line, options(nostack, preserves_flags)) };
    }
    // SAFETY: barriers.
    unsafe { core::arch::asm!("dsb ish", "isb", options(nostack, preserves_flags)) };
    // Other threads may have fetched what stood here before; where the kernel knows the command, it
    // makes them synchronise. Where it does not, they do at the next kernel entry.
    const REGISTER_SYNC_CORE: libc::c_int = 1 << 6;
    const SYNC_CORE: libc::c_int = 1 << 5;
    // SAFETY: membarrier takes numbers only.
    unsafe {
        if libc::syscall(libc::SYS_membarrier, SYNC_CORE, 0, 0) != 0 {
            libc::syscall(libc::SYS_membarrier, REGISTER_SYNC_CORE, 0, 0);
            libc::syscall(libc::SYS_membarrier, SYNC_CORE, 0, 0);
        }
    }
}

//! x86-64: the trampoline, registers in a signal context, code visibility.

use super::FloatMode;
use super::unix::Entry;
use std::mem::offset_of;

/// Bytes that trap: `int3`.
pub const TRAP: &[u8] = &[0xcc];

/// The MXCSR value of a mode: exceptions masked; flush-to-zero is bit 15, denormals-are-zero bit 6.
pub const fn float_control(mode: FloatMode) -> u64 {
    match mode {
        FloatMode::Ieee => 0x1f80,
        FloatMode::Flush => 0x1f80 | 1 << 15 | 1 << 6,
    }
}

unsafe extern "C" {
    /// Saves callee-saved registers and the stack pointer in `entry`, sets the float environment,
    /// calls `code(context, frame)`, restores all.
    pub fn warpjit_runtime_enter(entry: *mut Entry, code: *const u8, context: *mut u8, frame: *mut u8)
    -> u64;
    /// Where the signal handler resumes, with the stack pointer of `entry`. Not callable.
    fn warpjit_runtime_recover();
}

core::arch::global_asm!(
    ".text",
    ".p2align 4",
    ".globl warpjit_runtime_enter",
    ".hidden warpjit_runtime_enter",
    ".type warpjit_runtime_enter, @function",
    "warpjit_runtime_enter:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    // Seven pushes and the return address: the stack is aligned for the call.
    "push rdi",
    "mov [rdi + {sp}], rsp",
    "stmxcsr [rdi + {saved}]",
    "ldmxcsr [rdi + {wanted}]",
    "mov rax, rsi",
    "mov rdi, rdx",
    "mov rsi, rcx",
    "call rax",
    "2:",
    "pop rdi",
    "ldmxcsr [rdi + {saved}]",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".globl warpjit_runtime_recover",
    ".hidden warpjit_runtime_recover",
    "warpjit_runtime_recover:",
    ".cfi_def_cfa rsp, 64",
    "cld",
    "jmp 2b",
    ".cfi_endproc",
    ".size warpjit_runtime_enter, . - warpjit_runtime_enter",
    sp = const offset_of!(Entry, stack_pointer),
    saved = const offset_of!(Entry, saved_control),
    wanted = const offset_of!(Entry, wanted_control),
);

/// The interrupted instruction.
pub fn pc(context: &libc::ucontext_t) -> usize {
    context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize
}

/// Makes the interrupted thread go on at the recovery label with the stack of its entry.
pub fn resume_at_recovery(context: &mut libc::ucontext_t, stack_pointer: usize) {
    let registers = &mut context.uc_mcontext.gregs;
    registers[libc::REG_RIP as usize] = warpjit_runtime_recover as *const () as usize as i64;
    registers[libc::REG_RSP as usize] = stack_pointer as i64;
}

/// Makes code written at one address visible to execution at another: nothing to do here.
pub fn publish(_written: *const u8, _executed: *const u8, _bytes: usize) {}

//! x86-64: the trampoline into compiled code, the registers in a signal context, and making new code visible to all cores.

use super::FloatMode;
use super::unix::{Call, Entry, warpjit_runtime_recover};
use std::mem::offset_of;
use warpjit_backend::HostRegisters;

/// Bytes that trap: `int3`.
pub const TRAP: &[u8] = &[0xcc];

/// The MXCSR value of a mode: exceptions masked; flush-to-zero is bit 15, denormals-are-zero bit 6.
pub const fn float_control(mode: FloatMode) -> u64 {
    match mode {
        FloatMode::Ieee => 0x1f80,
        FloatMode::Flush => 0x1f80 | 1 << 15 | 1 << 6,
    }
}

/// Bits of MXCSR that say what is computed, not what has happened.
pub const SETTINGS: u64 = 0xffc0;

/// The float environment of this thread as it is.
pub fn control() -> u64 {
    let mut value = 0u32;
    // SAFETY: stores MXCSR to the local.
    unsafe { core::arch::asm!("stmxcsr [{}]", in(reg) &mut value, options(nostack, preserves_flags)) };
    value.into()
}

/// Gives this thread a float environment.
///
/// # Safety
///
/// It is one that [`control`] has given, and Rust code that computes with floats runs only where it is Rust's.
pub unsafe fn set_control(value: u64) {
    let value = value as u32;
    // SAFETY: a value that MXCSR has held.
    unsafe { core::arch::asm!("ldmxcsr [{}]", in(reg) &value, options(nostack, preserves_flags)) };
}

/// The frame of all trampolines, which come back through one end. Seven pushes and the return address: the stack is aligned for the call.
macro_rules! begin_frame {
    () => {
        "push rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        mov rbp, rsp
        .cfi_def_cfa_register rbp
        push rbx
        push r12
        push r13
        push r14
        push r15
        push rdi
        mov [rdi + {sp}], rsp"
    };
}

core::arch::global_asm!(
    ".text",
    ".p2align 4",
    ".globl warpjit_runtime_enter",
    ".hidden warpjit_runtime_enter",
    ".type warpjit_runtime_enter, @function",
    "warpjit_runtime_enter:",
    ".cfi_startproc",
    begin_frame!(),
    // Setting it takes longer than looking.
    "stmxcsr [rdi + {saved}]",
    "mov eax, [rdi + {saved}]",
    "xor eax, [rdi + {wanted}]",
    "test eax, 0xffc0",
    "jz 5f",
    "ldmxcsr [rdi + {wanted}]",
    "5:",
    "mov rax, rsi",
    "mov rdi, rdx",
    "mov rsi, rcx",
    "call rax",
    "2:",
    "pop rdi",
    // Always: code that faults may have left another one.
    "ldmxcsr [rdi + {saved}]",
    "4:",
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
    // What the code has set meanwhile is unknown.
    "mov rcx, [rsp]",
    "ldmxcsr [rcx + {saved}]",
    "jmp 2b",
    ".cfi_endproc",
    ".size warpjit_runtime_enter, . - warpjit_runtime_enter",
    ".p2align 4",
    ".globl warpjit_runtime_enter_within",
    ".hidden warpjit_runtime_enter_within",
    ".type warpjit_runtime_enter_within, @function",
    "warpjit_runtime_enter_within:",
    ".cfi_startproc",
    // The frame is that of warpjit_runtime_enter, through whose end this comes back after an exception.
    begin_frame!(),
    "mov rax, rsi",
    "mov rdi, rdx",
    "mov rsi, rcx",
    "call rax",
    "pop rdi",
    "jmp 4b",
    ".cfi_endproc",
    ".size warpjit_runtime_enter_within, . - warpjit_runtime_enter_within",
    ".p2align 4",
    ".globl warpjit_runtime_enter_all",
    ".hidden warpjit_runtime_enter_all",
    ".type warpjit_runtime_enter_all, @function",
    "warpjit_runtime_enter_all:",
    ".cfi_startproc",
    // The frame is that of warpjit_runtime_enter: both come back through its end.
    begin_frame!(),
    // Setting it takes longer than looking.
    "stmxcsr [rdi + {saved}]",
    "mov eax, [rdi + {saved}]",
    "xor eax, [rdi + {wanted}]",
    "test eax, 0xffc0",
    "jz 6f",
    "ldmxcsr [rdi + {wanted}]",
    "6:",
    "mov rbx, rdi",
    "mov r14, rsi",
    "mov r15, rdx",
    "mov r12, rcx",
    "mov r13, r8",
    "3:",
    "mov [rbx + {call}], r12",
    "mov rax, [r12 + {word}]",
    "mov [r15], rax",
    "mov rdi, r15",
    "mov rsi, [r12 + {frame}]",
    "call r14",
    "mov [r12 + {result}], rax",
    "mov rcx, [r15 + 8]",
    "mov [r12 + {words}], rcx",
    "mov rcx, [r15 + 16]",
    "mov [r12 + {words} + 8], rcx",
    "add r12, {size}",
    "cmp rax, [rbx + {result_wanted}]",
    "jne 4f",
    "cmp r12, r13",
    "jb 3b",
    "4:",
    "jmp 2b",
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
    context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize
}

/// General registers of the interrupted code.
pub fn general(context: &libc::ucontext_t) -> HostRegisters {
    use libc::{
        REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RAX, REG_RBP, REG_RBX,
        REG_RCX, REG_RDI, REG_RDX, REG_RSI, REG_RSP,
    };
    let registers = [
        REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10,
        REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
    ];
    registers.map(|register| context.uc_mcontext.gregs[register as usize] as u64)
}

/// The stack pointer of the interrupted code.
pub fn stack_pointer(context: &libc::ucontext_t) -> usize {
    context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize
}

/// Where calls of code leave their return address, by its first instructions (pushes, copies of the stack pointer, `sub rsp`, and
/// `and rsp` before or behind that) and the stack pointer before it was called. `None` where they are others.
pub fn call_slot(prologue: &[u8], stack_pointer: usize) -> Option<usize> {
    let mut sp = stack_pointer.checked_sub(8)?;
    let mut rest = prologue;
    let mut has_room = false;
    loop {
        let word = |a, b, c, d| i32::from_le_bytes([a, b, c, d]) as isize as usize;
        let bytes = match *rest {
            [0x50..=0x57, ..] if !has_room => {
                sp = sp.checked_sub(8)?;
                1
            }
            [0x41, 0x50..=0x57, ..] if !has_room => {
                sp = sp.checked_sub(8)?;
                2
            }
            // mov reg, rsp in both encodings.
            [0x48 | 0x49, 0x89, 0xe0..=0xe7, ..] => 3,
            [0x48 | 0x4c, 0x8b, registers, ..] if registers & 0xc7 == 0xc4 => 3,
            [0x48, 0x83, 0xe4, mask, ..] => {
                sp &= mask as i8 as isize as usize;
                4
            }
            [0x48, 0x81, 0xe4, a, b, c, d, ..] => {
                sp &= word(a, b, c, d);
                7
            }
            [0x48, 0x83, 0xec, size @ 0..=0x7f, ..] if !has_room => {
                sp = sp.checked_sub(usize::from(size))?;
                has_room = true;
                4
            }
            [0x48, 0x81, 0xec, a, b, c, d, ..] if !has_room => {
                sp = sp.checked_sub(word(a, b, c, d))?;
                has_room = true;
                7
            }
            _ => return if has_room { sp.checked_sub(8) } else { None },
        };
        rest = &rest[bytes..];
    }
}

/// Makes the interrupted thread go on at the recovery label with the stack of its entry.
pub fn resume_at_recovery(context: &mut libc::ucontext_t, stack_pointer: usize) {
    let registers = &mut context.uc_mcontext.gregs;
    registers[libc::REG_RIP as usize] = warpjit_runtime_recover as *const () as usize as i64;
    registers[libc::REG_RSP as usize] = stack_pointer as i64;
}

/// Makes the interrupted thread go on at another instruction, with its registers as they are.
pub fn resume_at(context: &mut libc::ucontext_t, pc: usize) {
    context.uc_mcontext.gregs[libc::REG_RIP as usize] = pc as i64;
}

/// Makes code that was written visible to execution: nothing to do here.
pub fn publish(_code: *const u8, _bytes: usize) {}

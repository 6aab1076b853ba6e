//! Accesses to guest memory from Rust that survive a fault.
//!
//! Guest memory can vanish while it is accessed: another thread unmaps it, or the embedder maps and unmaps pages by itself. So
//! Rust code accesses it only through the functions here. Each is a few instructions of assembly between two labels. When one of
//! them raises SIGSEGV or SIGBUS, the signal handler finds its pc between the labels (`is_inside`) and resumes at
//! `failed`, which makes the function return to its caller with a failure.
//!
//! Every word access is single and, where it is aligned, atomic. [`copy`] may move bytes in any order and size.

use std::arch::global_asm;

/// What a guarded access gives.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Outcome {
    /// The value.
    value: u64,
    /// 0 if the access was done.
    failed: u64,
}

impl Outcome {
    #[inline]
    fn get(self) -> Option<u64> {
        (self.failed == 0).then_some(self.value)
    }
}

unsafe extern "C" {
    fn warpjit_guarded_begin();
    fn warpjit_guarded_load1(at: *const u8) -> Outcome;
    fn warpjit_guarded_load2(at: *const u8) -> Outcome;
    fn warpjit_guarded_load4(at: *const u8) -> Outcome;
    fn warpjit_guarded_load8(at: *const u8) -> Outcome;
    fn warpjit_guarded_store1(at: *mut u8, value: u64) -> Outcome;
    fn warpjit_guarded_store2(at: *mut u8, value: u64) -> Outcome;
    fn warpjit_guarded_store4(at: *mut u8, value: u64) -> Outcome;
    fn warpjit_guarded_store8(at: *mut u8, value: u64) -> Outcome;
    fn warpjit_guarded_add4(at: *mut u8, value: u64) -> Outcome;
    fn warpjit_guarded_add8(at: *mut u8, value: u64) -> Outcome;
    fn warpjit_guarded_swap4(at: *mut u8, value: u64) -> Outcome;
    fn warpjit_guarded_swap8(at: *mut u8, value: u64) -> Outcome;
    fn warpjit_guarded_cas4(at: *mut u8, old: u64, new: u64) -> Outcome;
    fn warpjit_guarded_cas8(at: *mut u8, old: u64, new: u64) -> Outcome;
    fn warpjit_guarded_copy(to: *mut u8, from: *const u8, bytes: usize) -> Outcome;
    #[cfg(target_arch = "x86_64")]
    fn warpjit_guarded_copy_near(to: *mut u8, from: *const u8, bytes: usize) -> Outcome;
    fn warpjit_guarded_zero(to: *mut u8, bytes: usize) -> Outcome;
    fn warpjit_guarded_end();
    fn warpjit_guarded_failed();
}

/// One function: its name and its instructions.
macro_rules! guarded {
    ($($name:literal: $($line:literal),+;)+) => {
        global_asm!(
            ".text",
            ".p2align 4",
            ".globl warpjit_guarded_begin",
            ".hidden warpjit_guarded_begin",
            "warpjit_guarded_begin:",
            ".cfi_startproc",
            $(
                ".p2align 4",
                concat!(".globl warpjit_guarded_", $name),
                concat!(".hidden warpjit_guarded_", $name),
                concat!("warpjit_guarded_", $name, ":"),
                $($line,)+
            )+
            ".globl warpjit_guarded_end",
            ".hidden warpjit_guarded_end",
            "warpjit_guarded_end:",
            ".cfi_endproc",
        );
    };
}

#[cfg(target_arch = "x86_64")]
guarded! {
    "load1": "movzx eax, byte ptr [rdi]", "xor edx, edx", "ret";
    "load2": "movzx eax, word ptr [rdi]", "xor edx, edx", "ret";
    "load4": "mov eax, dword ptr [rdi]", "xor edx, edx", "ret";
    "load8": "mov rax, qword ptr [rdi]", "xor edx, edx", "ret";
    "store1": "mov byte ptr [rdi], sil", "xor edx, edx", "ret";
    "store2": "mov word ptr [rdi], si", "xor edx, edx", "ret";
    "store4": "mov dword ptr [rdi], esi", "xor edx, edx", "ret";
    "store8": "mov qword ptr [rdi], rsi", "xor edx, edx", "ret";
    "add4": "mov eax, esi", "lock xadd dword ptr [rdi], eax", "xor edx, edx", "ret";
    "add8": "mov rax, rsi", "lock xadd qword ptr [rdi], rax", "xor edx, edx", "ret";
    "swap4": "mov eax, esi", "xchg dword ptr [rdi], eax", "xor edx, edx", "ret";
    "swap8": "mov rax, rsi", "xchg qword ptr [rdi], rax", "xor edx, edx", "ret";
    "cas4": "mov eax, esi", "mov ecx, edx", "lock cmpxchg dword ptr [rdi], ecx", "xor edx, edx", "ret";
    "cas8": "mov rax, rsi", "mov rcx, rdx", "lock cmpxchg qword ptr [rdi], rcx", "xor edx, edx", "ret";
    "copy": "mov rcx, rdx", "rep movsb", "xor edx, edx", "ret";
    "copy_near": "2: cmp rdx, 64", "jb 3f",
        "movups xmm0, [rsi]", "movups xmm1, [rsi + 16]", "movups xmm2, [rsi + 32]", "movups xmm3, [rsi + 48]",
        "movups [rdi], xmm0", "movups [rdi + 16], xmm1", "movups [rdi + 32], xmm2", "movups [rdi + 48], xmm3",
        "add rsi, 64", "add rdi, 64", "sub rdx, 64", "jmp 2b",
        "3: mov rcx, rdx", "rep movsb", "xor edx, edx", "ret";
    "zero": "mov rcx, rsi", "xor eax, eax", "rep stosb", "xor edx, edx", "ret";
    "failed": "mov edx, 1", "ret";
}

// Acquire and release where the interpreter's atomics are sequentially consistent: exclusive loads and stores that are both.
#[cfg(target_arch = "aarch64")]
guarded! {
    "load1": "ldrb w0, [x0]", "mov x1, #0", "ret";
    "load2": "ldrh w0, [x0]", "mov x1, #0", "ret";
    "load4": "ldr w0, [x0]", "mov x1, #0", "ret";
    "load8": "ldr x0, [x0]", "mov x1, #0", "ret";
    "store1": "strb w1, [x0]", "mov x1, #0", "ret";
    "store2": "strh w1, [x0]", "mov x1, #0", "ret";
    "store4": "str w1, [x0]", "mov x1, #0", "ret";
    "store8": "str x1, [x0]", "mov x1, #0", "ret";
    "add4": "2: ldaxr w2, [x0]", "add w3, w2, w1", "stlxr w4, w3, [x0]", "cbnz w4, 2b", "mov w0, w2", "mov x1, #0", "ret";
    "add8": "2: ldaxr x2, [x0]", "add x3, x2, x1", "stlxr w4, x3, [x0]", "cbnz w4, 2b", "mov x0, x2", "mov x1, #0", "ret";
    "swap4": "2: ldaxr w2, [x0]", "stlxr w4, w1, [x0]", "cbnz w4, 2b", "mov w0, w2", "mov x1, #0", "ret";
    "swap8": "2: ldaxr x2, [x0]", "stlxr w4, x1, [x0]", "cbnz w4, 2b", "mov x0, x2", "mov x1, #0", "ret";
    "cas4": "2: ldaxr w3, [x0]", "cmp w3, w1", "b.ne 3f", "stlxr w4, w2, [x0]", "cbnz w4, 2b", "3: mov w0, w3", "mov x1, #0", "ret";
    "cas8": "2: ldaxr x3, [x0]", "cmp x3, x1", "b.ne 3f", "stlxr w4, x2, [x0]", "cbnz w4, 2b", "3: mov x0, x3", "mov x1, #0", "ret";
    "copy": "4: cmp x2, #8", "b.lo 5f", "ldr x3, [x1], #8", "str x3, [x0], #8", "sub x2, x2, #8", "b 4b",
        "5: cbz x2, 6f", "ldrb w3, [x1], #1", "strb w3, [x0], #1", "sub x2, x2, #1", "b 5b", "6: mov x1, #0", "ret";
    "zero": "4: cmp x1, #8", "b.lo 5f", "str xzr, [x0], #8", "sub x1, x1, #8", "b 4b",
        "5: cbz x1, 6f", "strb wzr, [x0], #1", "sub x1, x1, #1", "b 5b", "6: mov x1, #0", "ret";
    "failed": "mov x1, #1", "ret";
}

/// Whether a pc is in one of the functions here.
pub(super) fn is_inside(pc: usize) -> bool {
    (warpjit_guarded_begin as *const () as usize..warpjit_guarded_end as *const () as usize).contains(&pc)
}

/// Where an interrupted function continues in order to return a failure.
pub(super) fn failed() -> usize {
    warpjit_guarded_failed as *const () as usize
}

/// Loads 1, 2, 4 or 8 bytes, zero-extended, in the host's byte order; `None` if the system does not allow it. Other sizes load
/// nothing.
///
/// # Safety
/// What lies at `at` is guest memory, or nothing: a page of no Rust value. The handlers of signals are installed where the page
/// may be inaccessible. The same holds for all functions here.
#[inline]
pub unsafe fn load(at: *const u8, bytes: u8) -> Option<u64> {
    // SAFETY: as the caller promises; a fault comes back as a failure.
    unsafe {
        match bytes {
            1 => warpjit_guarded_load1(at),
            2 => warpjit_guarded_load2(at),
            4 => warpjit_guarded_load4(at),
            8 => warpjit_guarded_load8(at),
            _ => return Some(0),
        }
    }
    .get()
}

/// Stores the low 1, 2, 4 or 8 bytes; `None` if the system does not allow it. Other sizes store nothing.
///
/// # Safety
/// As for [`load`].
#[inline]
pub unsafe fn store(at: *mut u8, bytes: u8, value: u64) -> Option<()> {
    // SAFETY: as in `load`.
    unsafe {
        match bytes {
            1 => warpjit_guarded_store1(at, value),
            2 => warpjit_guarded_store2(at, value),
            4 => warpjit_guarded_store4(at, value),
            8 => warpjit_guarded_store8(at, value),
            _ => return Some(()),
        }
    }
    .get()
    .map(|_| ())
}

/// Adds to an aligned word of 4 or 8 bytes; the old value.
///
/// # Safety
/// As for [`load`]; aligned.
#[inline]
pub unsafe fn add(at: *mut u8, bytes: u8, value: u64) -> Option<u64> {
    // SAFETY: as in `load`.
    unsafe { if bytes == 8 { warpjit_guarded_add8(at, value) } else { warpjit_guarded_add4(at, value) } }
        .get()
}

/// Replaces an aligned word of 4 or 8 bytes; the old value.
///
/// # Safety
/// As for [`load`]; aligned.
#[inline]
pub unsafe fn swap(at: *mut u8, bytes: u8, value: u64) -> Option<u64> {
    // SAFETY: as in `load`.
    unsafe { if bytes == 8 { warpjit_guarded_swap8(at, value) } else { warpjit_guarded_swap4(at, value) } }
        .get()
}

/// Replaces an aligned word of 4 or 8 bytes by `new` if it is `old`; what it was.
///
/// # Safety
/// As for [`load`]; aligned.
#[inline]
pub unsafe fn compare_and_swap(at: *mut u8, bytes: u8, old: u64, new: u64) -> Option<u64> {
    // SAFETY: as in `load`.
    unsafe {
        if bytes == 8 { warpjit_guarded_cas8(at, old, new) } else { warpjit_guarded_cas4(at, old, new) }
    }
    .get()
}

/// Copies bytes between guest memory and a Rust value, or within guest memory; `None` if the system does not allow all of it.
/// Then some may have been copied. The two do not overlap.
///
/// # Safety
/// As for [`load`], for whichever side is guest memory; the other side is valid for so many bytes.
pub unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) -> Option<()> {
    // Where the target is a little ahead of the source within their pages, `rep movsb` takes seven times as long.
    #[cfg(target_arch = "x86_64")]
    if bytes >= 256 && (1..64).contains(&(to.addr().wrapping_sub(from.addr()) % 4096)) {
        // SAFETY: as in `load`.
        return unsafe { warpjit_guarded_copy_near(to, from, bytes) }.get().map(|_| ());
    }
    // SAFETY: as in `load`.
    unsafe { warpjit_guarded_copy(to, from, bytes) }.get().map(|_| ())
}

/// Makes bytes of guest memory zero; `None` if the system does not allow all of it.
///
/// # Safety
/// As for [`load`].
pub unsafe fn zero(to: *mut u8, bytes: usize) -> Option<()> {
    // SAFETY: as in `load`.
    unsafe { warpjit_guarded_zero(to, bytes) }.get().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm;

    #[test]
    fn copies_at_all_distances() {
        vm::init().unwrap();
        let from: Vec<u8> = (0..3 * 4096_u32).map(|n| (n * 7 + n / 251) as u8).collect();
        for distance in [0, 1, 15, 16, 48, 63, 64, 100, 4095] {
            for bytes in [0, 5, 255, 256, 300, 4096, 5001] {
                let mut to = vec![0; 5 * 4096];
                // So far ahead of the source within its page.
                let at = (from.as_ptr().addr() + distance).wrapping_sub(to.as_ptr().addr()) % 4096;
                // SAFETY: both in the vectors.
                assert_eq!(unsafe { copy(to.as_mut_ptr().add(at), from.as_ptr(), bytes) }, Some(()));
                assert_eq!(to[at..at + bytes], from[..bytes], "{distance} {bytes}");
                assert!(to[..at].iter().chain(&to[at + bytes..]).all(|&byte| byte == 0));
            }
        }
    }

    #[test]
    fn words_and_bytes() {
        vm::init().unwrap();
        let mut words = [0x1122_3344_5566_7788_u64, 5];
        let at = words.as_mut_ptr().cast::<u8>();
        // SAFETY: all in the local array.
        unsafe {
            assert_eq!(load(at, 8), Some(0x1122_3344_5566_7788));
            assert_eq!(load(at.add(8), 4), Some(5));
            assert_eq!(load(at.add(8), 2), Some(5));
            assert_eq!(load(at.add(8), 1), Some(5));
            assert_eq!(add(at.add(8), 4, 0xffff_ffff), Some(5));
            assert_eq!(add(at.add(8), 8, 1), Some(4));
            assert_eq!(swap(at.add(8), 8, 1 << 40), Some(5));
            assert_eq!(swap(at.add(8), 4, 9), Some(0));
            assert_eq!(compare_and_swap(at.add(8), 4, 8, 1), Some(9));
            assert_eq!(compare_and_swap(at.add(8), 4, 9, 1), Some(9));
            assert_eq!(compare_and_swap(at.add(8), 8, 1 << 40 | 1, 7), Some(1 << 40 | 1));
            assert_eq!(store(at, 1, 0xff00), Some(()));
            assert_eq!(store(at.add(4), 2, 0xabcd), Some(()));
            assert_eq!(load(at, 8), Some(0x1122_abcd_5566_7700));
            assert_eq!(copy(at.add(3), at.add(8), 5), Some(()));
            assert_eq!(load(at, 8), Some(0x0000_0000_0766_7700));
            assert_eq!(zero(at.add(1), 2), Some(()));
            assert_eq!(load(at, 8), Some(0x0700_0000));
        }
    }

    #[test]
    fn nothing_there_is_a_failure() {
        vm::init().unwrap();
        let memory = crate::Memory::new().unwrap();
        let at = memory.base().wrapping_add(0x1234_0000);
        let mut out = [1; 64];
        // SAFETY: a page of guest memory that is not mapped.
        unsafe {
            for bytes in [1, 2, 4, 8] {
                assert_eq!((load(at, bytes), store(at, bytes, 1)), (None, None));
            }
            for bytes in [4, 8] {
                assert_eq!((add(at, bytes, 1), swap(at, bytes, 1)), (None, None));
                assert_eq!(compare_and_swap(at, bytes, 0, 1), None);
            }
            assert_eq!(copy(out.as_mut_ptr(), at, 64), None);
            assert_eq!(copy(at, out.as_ptr(), 64), None);
            assert_eq!(zero(at, 64), None);
            // And all is as before.
            assert_eq!(load(out.as_ptr(), 1), Some(1));
        }
    }
}

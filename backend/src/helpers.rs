//! Functions in Rust that compiled code calls through its context: pure functions, the poll when fuel is spent, fused
//! multiply-add for hosts without it.

use warpjit_ir::PureFn;
use warpjit_ir::types::Scalar;

/// Distance between operands in the buffer of [`call_pure`]: 16 lanes of 8 bytes.
pub(crate) const OPERAND_BYTES: u32 = 128;

/// The default [`crate::context::CallPureFn`].
pub(crate) unsafe extern "C" fn call_pure(
    pures: *const &'static PureFn,
    index: u32,
    lanes: u32,
    buffer: *mut u8,
) {
    // SAFETY: compiled code passes the table that its caller put into the context and an index within it.
    let pure = unsafe { *pures.add(index as usize) };
    let environment = HostFloat::enter();
    let count = pure.params.len();
    let mut left = lanes;
    while left != 0 {
        let lane = left.trailing_zeros() as usize;
        left &= left - 1;
        let mut args = [0u64; 4];
        for (k, scalar) in pure.params.iter().enumerate() {
            let bytes = scalar.frame_bytes();
            // SAFETY: the buffer has `OPERAND_BYTES` for each operand, lanes are below 16.
            let at = unsafe { buffer.add(k * OPERAND_BYTES as usize + lane * bytes) };
            args[k] = match scalar {
                // SAFETY: as above.
                Scalar::I64 | Scalar::F64 => unsafe { at.cast::<u64>().read_unaligned() },
                // SAFETY: as above.
                Scalar::I1 => u64::from(unsafe { at.cast::<u32>().read_unaligned() } != 0),
                // SAFETY: as above.
                _ => u64::from(unsafe { at.cast::<u32>().read_unaligned() }),
            };
        }
        let result = (pure.eval)(&args[..count]);
        // The result has space of its own after the operands, because at the start of the buffer it could overwrite
        // operands of later lanes.
        // SAFETY: the buffer has room for a fifth operand.
        let at = unsafe { buffer.add(4 * OPERAND_BYTES as usize + lane * pure.result.frame_bytes()) };
        match pure.result {
            // SAFETY: as above.
            Scalar::I64 | Scalar::F64 => unsafe { at.cast::<u64>().write_unaligned(result) },
            // SAFETY: as above.
            Scalar::I1 => unsafe { at.cast::<u32>().write_unaligned(0u32.wrapping_sub(result as u32 & 1)) },
            // SAFETY: as above.
            _ => unsafe { at.cast::<u32>().write_unaligned(result as u32) },
        }
    }
    environment.leave();
}

/// Sets the float environment that Rust code expects, and restores the previous one.
pub(crate) struct HostFloat {
    #[cfg(target_arch = "x86_64")]
    mxcsr: u32,
}

impl HostFloat {
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn enter() -> HostFloat {
        let mut mxcsr = 0u32;
        let default = 0x1f80u32;
        // SAFETY: stores and loads MXCSR; the default value has every exception masked.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &mut mxcsr, options(nostack));
            if mxcsr & 0xffc0 != default {
                std::arch::asm!("ldmxcsr [{}]", in(reg) &default, options(nostack));
            }
        }
        HostFloat { mxcsr }
    }

    #[cfg(target_arch = "x86_64")]
    pub(crate) fn leave(self) {
        // SAFETY: restores what was there.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &self.mxcsr, options(nostack)) }
    }

    // Region code for AArch64 always runs in the default environment.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn enter() -> HostFloat {
        HostFloat {}
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn leave(self) {}
}

/// Runs Rust code that computes with floats, where compiled code has called.
pub fn in_host_floats<T>(work: impl FnOnce() -> T) -> T {
    let environment = HostFloat::enter();
    let made = work();
    environment.leave();
    made
}

/// Defines a function that sets MXCSR to a value and preserves every register and the flags.
macro_rules! float_control {
    ($(#[$doc:meta])* $name:ident, $value:literal) => {
        $(#[$doc])*
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            std::arch::naked_asm!("push {value}", "ldmxcsr [rsp]", "lea rsp, [rsp + 8]", "ret", value = const $value)
        }

        // Region code for AArch64 always runs in the default environment.
        $(#[$doc])*
        #[cfg(not(target_arch = "x86_64"))]
        pub(crate) unsafe extern "C" fn $name() {}
    };
}

float_control!(
    /// The host flushes denormals ([`crate::FloatEnv::FlushAll`]): exceptions masked, flush-to-zero and
    /// denormals-are-zero.
    flush_denormals, 0x9fc0
);

float_control!(
    /// The host keeps denormals ([`crate::FloatEnv::Default`]): exceptions masked.
    keep_denormals, 0x1f80
);

/// Defines a function that calls another one through the context and preserves every register. With a call that
/// clobbers registers, even a cold one, the register allocator would spill around each back edge. `$x86` and `$arm` are
/// instructions after the call; then the result is in eax or w0, the context in rdi or x9.
macro_rules! preserving {
    ($(#[$doc:meta])* $name:ident, $callee:expr, $x86:literal, $arm:literal $(, $operand:ident = $value:expr)*) => {
        $(#[$doc])*
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name(context: *mut crate::Context) {
            std::arch::naked_asm!(
                "push rax",
                "push rcx",
                "push rdx",
                "push rsi",
                "push r8",
                "push r9",
                "push r10",
                "push r11",
                "push rdi",
                "sub rsp, 256",
                ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
                "movups [rsp + 16 * \\n], xmm\\n",
                ".endr",
                "call qword ptr [rdi + {callee}]",
                ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
                "movups xmm\\n, [rsp + 16 * \\n]",
                ".endr",
                "add rsp, 256",
                "pop rdi",
                $x86,
                "pop r11",
                "pop r10",
                "pop r9",
                "pop r8",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop rax",
                "ret",
                callee = const $callee
                $(, $operand = const $value)*
            )
        }

        // x18 is reserved for the platform.
        $(#[$doc])*
        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name(context: *mut crate::Context) {
            std::arch::naked_asm!(
                "stp x29, x30, [sp, #-176]!",
                "mov x29, sp",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "stp x8, x9, [sp, #80]",
                "stp x10, x11, [sp, #96]",
                "stp x12, x13, [sp, #112]",
                "stp x14, x15, [sp, #128]",
                "stp x16, x17, [sp, #144]",
                "sub sp, sp, #512",
                ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
                "str q\\n, [sp, #16 * \\n]",
                ".endr",
                "ldr x9, [x0, #{callee}]",
                "blr x9",
                "ldr x9, [x29, #16]",
                $arm,
                ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
                "ldr q\\n, [sp, #16 * \\n]",
                ".endr",
                "add sp, sp, #512",
                "ldp x0, x1, [sp, #16]",
                "ldp x2, x3, [sp, #32]",
                "ldp x4, x5, [sp, #48]",
                "ldp x6, x7, [sp, #64]",
                "ldp x8, x9, [sp, #80]",
                "ldp x10, x11, [sp, #96]",
                "ldp x12, x13, [sp, #112]",
                "ldp x14, x15, [sp, #128]",
                "ldp x16, x17, [sp, #144]",
                "ldp x29, x30, [sp], #176",
                "ret",
                callee = const $callee
                $(, $operand = const $value)*
            )
        }
    };
}

preserving!(
    /// Calls the context's poll function and stores what it returns in `Context::stop`, preserving every register.
    poll_preserving, crate::context::at::POLL, "mov dword ptr [rdi + {stop}], eax", "str w0, [x9, #{stop}]",
    stop = crate::context::at::STOP
);

preserving!(
    /// Calls the context's translation ([`crate::Context::each_translation`]), preserving every register.
    translate_preserving, crate::context::at::TRANSLATE, "", ""
);

const SIGN: u64 = 1 << 63;
const QUIET_NAN: u64 = 0x7ff8_0000_0000_0000;
const INFINITY: u64 = 0x7ff0_0000_0000_0000;

/// The default [`crate::context::FmaF64Fn`]: binary64 fused multiply-add in integers, so that neither the host's
/// instructions nor its float environment matter.
pub(crate) extern "C" fn fma_f64(a: u64, b: u64, c: u64, ftz: u32) -> u64 {
    let flush = |x: u64| if ftz != 0 && x & INFINITY == 0 { x & SIGN } else { x };
    let (a, b, c) = (flush(a), flush(b), flush(c));
    let exponent = |x: u64| (x >> 52 & 0x7ff) as i32;
    let nan = |x: u64| x & !SIGN > INFINITY;
    let sign = (a ^ b) & SIGN;
    if nan(a) || nan(b) || nan(c) {
        return QUIET_NAN;
    }
    let infinite = |x: u64| x & !SIGN == INFINITY;
    let zero = |x: u64| x & !SIGN == 0;
    if infinite(a) || infinite(b) {
        let invalid = zero(a) || zero(b) || infinite(c) && c & SIGN != sign;
        return if invalid { QUIET_NAN } else { INFINITY | sign };
    }
    if infinite(c) {
        return c;
    }
    if zero(a) || zero(b) {
        return if zero(c) { if c & SIGN == sign { c } else { 0 } } else { c };
    }
    // Values are m * 2^e.
    let split = |x: u64| {
        let fraction = x & ((1 << 52) - 1);
        match exponent(x) {
            0 => (fraction, -1074),
            e => (fraction | 1 << 52, e - 1075),
        }
    };
    let ((ma, ea), (mb, eb)) = (split(a), split(b));
    let mut product = u128::from(ma) * u128::from(mb);
    let mut product_exp = ea + eb;
    // Top bit of the product to bit 125: room for a carry, and sticky bits are far below the rounding position.
    let shift = product.leading_zeros() as i32 - 2;
    product <<= shift;
    product_exp -= shift;
    let (mut magnitude, mut exp, mut negative) = (product, product_exp, sign != 0);
    if !zero(c) {
        let (mc, ec) = split(c);
        let shift = mc.leading_zeros() as i32 + 64 - 2;
        let (addend, addend_exp) = (u128::from(mc) << shift, ec - shift);
        let sticky_shift = |x: u128, n: i32| {
            if n >= 128 { u128::from(x != 0) } else { x >> n | u128::from(n > 0 && x << (128 - n) != 0) }
        };
        let addend_negative = c & SIGN != 0;
        exp = product_exp.max(addend_exp);
        let p = sticky_shift(product, exp - product_exp);
        let q = sticky_shift(addend, exp - addend_exp);
        if negative == addend_negative {
            magnitude = p + q;
        } else if p == q {
            return 0;
        } else if p > q {
            magnitude = p - q;
        } else {
            magnitude = q - p;
            negative = addend_negative;
        }
    }
    let sign = if negative { SIGN } else { 0 };
    // Rounds the magnitude to units of 2^unit, nearest even.
    let round = |unit: i32| -> u128 {
        let n = unit - exp;
        match n {
            ..=0 => magnitude << -n,
            1..=127 => {
                let (kept, rest, half) = (magnitude >> n, magnitude & ((1 << n) - 1), 1u128 << (n - 1));
                kept + u128::from(rest > half || rest == half && kept & 1 != 0)
            }
            _ => 0,
        }
    };
    let top = 127 - magnitude.leading_zeros() as i32 + exp;
    if ftz != 0 {
        // Tiny after rounding to 53 bits with unbounded exponent.
        let rounded = round(top - 52);
        if top < -1023 || top == -1023 && rounded >> 53 == 0 {
            return sign;
        }
    }
    let unit = (top - 52).max(-1074);
    let mut m = round(unit) as u64;
    let mut unit = unit;
    if m >> 53 != 0 {
        m >>= 1;
        unit += 1;
    }
    if m >> 52 == 0 {
        return sign | m;
    }
    let biased = unit + 1075;
    if biased >= 0x7ff {
        return sign | INFINITY;
    }
    sign | (biased as u64) << 52 | m & ((1 << 52) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_fma_is_exact() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let r = state ^ state >> 29;
            match r >> 60 {
                0 => [0, SIGN, 1, INFINITY, QUIET_NAN, 0x10_0000_0000_0000, 0x3ff0_0000_0000_0000]
                    [r as usize % 7],
                1..=4 => r & !INFINITY | (1023 - 4 + (r >> 53 & 7)) << 52,
                5 => r & !INFINITY | (r >> 40 & 63) << 52,
                6 => r & !INFINITY | (512 + (r >> 40 & 3)) << 52,
                _ => r,
            }
        };
        for _ in 0..200_000 {
            let (a, b, c) = (next(), next(), next());
            let want = f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c));
            let got = f64::from_bits(fma_f64(a, b, c, 0));
            assert!(
                want.to_bits() == got.to_bits() || want.is_nan() && got.is_nan(),
                "{a:x} {b:x} {c:x}: {want:e} {got:e}"
            );
        }
    }
}

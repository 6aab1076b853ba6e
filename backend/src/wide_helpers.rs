//! Functions in Rust that code with 512-bit vectors calls through its context. They preserve every register, so that the caller
//! need not spill around a cold call.

#[cfg(target_arch = "x86_64")]
use warpjit_ir::Space;

#[cfg(target_arch = "x86_64")]
use crate::CONST_BANKS;

/// A function that calls another and preserves every register, AVX-512's too: what a call loses would be spilled around it even
/// where it is cold.
macro_rules! preserving {
    ($(#[$doc:meta])* $name:ident, $callee:literal, $after:literal, $($operands:tt)*) => {
        $(#[$doc])*
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name(context: *mut crate::Context) {
            std::arch::naked_asm!(
                "push rbp",
                "mov rbp, rsp",
                "push rax",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "push r8",
                "push r9",
                "push r10",
                "push r11",
                "sub rsp, 2176",
                "and rsp, -64",
                ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
                "vmovups zmmword ptr [rsp + 64 * \\n], zmm\\n",
                ".endr",
                ".irp n,1,2,3,4,5,6,7",
                "kmovq qword ptr [rsp + 2048 + 8 * \\n], k\\n",
                ".endr",
                "vzeroupper",
                $callee,
                ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
                "vmovups zmm\\n, zmmword ptr [rsp + 64 * \\n]",
                ".endr",
                ".irp n,1,2,3,4,5,6,7",
                "kmovq k\\n, qword ptr [rsp + 2048 + 8 * \\n]",
                ".endr",
                "mov rdi, qword ptr [rbp - 40]",
                $after,
                "lea rsp, [rbp - 72]",
                "pop r11",
                "pop r10",
                "pop r9",
                "pop r8",
                "pop rdi",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop rax",
                "pop rbp",
                "ret",
                $($operands)*
            )
        }
    };
}

preserving!(
    /// As [`crate::helpers::poll_preserving`], for code that uses the registers of AVX-512.
    poll_wide, "call qword ptr [rdi + {poll}]", "mov dword ptr [rdi + {stop}], eax",
    poll = const crate::context::at::POLL, stop = const crate::context::at::STOP
);
preserving!(
    /// [`access_lanes`] for compiled code.
    access_wide, "call {access}", "", access = sym access_lanes
);

preserving!(
    /// Calls the context's `translate`, preserving every register.
    translate_wide, "call qword ptr [rdi + {translate}]", "", translate = const crate::context::at::TRANSLATE
);

preserving!(
    /// [`crate::atomics::atomic_lanes`], preserving every register.
    atomic_wide, "call {atomic}", "", atomic = sym crate::atomics::atomic_lanes
);

/// Only x86-64 has such code.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe extern "C" fn atomic_wide(_: *mut crate::Context) {}

/// Only x86-64 has such code.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe extern "C" fn translate_wide(_: *mut crate::Context) {}

/// Only x86-64 has such code.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe extern "C" fn poll_wide(_: *mut crate::Context) {}

/// Only x86-64 has such code.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe extern "C" fn access_wide(_: *mut crate::Context) {}

/// An access lane by lane as a word: the space as [`crate::encode_space`] says it, bytes, sign, whether it stores, whether addresses
/// are not taken modulo 2^16, and the warp's lanes (a power of two).
pub(crate) fn describe_access(
    space: u32,
    bytes: u8,
    signed: bool,
    store: bool,
    far: bool,
    lanes: u32,
) -> u32 {
    space
        | u32::from(bytes) << 12
        | u32::from(signed) << 16
        | u32::from(store) << 17
        | u32::from(far) << 18
        | lanes.trailing_zeros() << 19
}

/// The lanes whose bits are set, the lowest first.
#[cfg(target_arch = "x86_64")]
fn lanes_in(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = (bits != 0).then_some(bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        lane
    })
}

/// A lane's address, 16 bits of it unless the access is far.
#[cfg(target_arch = "x86_64")]
fn address_of(context: &crate::Context, lane: usize, far: bool) -> usize {
    let address = context.lane_addresses.get(lane, false);
    (if far { address } else { address & 0xffff }) as usize
}

/// Does an access of shared, local or const memory for the lanes of `guard_lanes`, the addresses being in `lane_addresses`, values
/// in `lane_values`. What is out of bounds reads as zero and is not written.
#[cfg(target_arch = "x86_64")]
unsafe extern "C" fn access_lanes(context: *mut crate::Context) {
    // SAFETY: compiled code passes its context, which nothing else uses meanwhile.
    let context = unsafe { &mut *context };
    let word = context.access;
    let space = crate::decode_space(word & 0xfff);
    let bytes = (word >> 12 & 15) as usize;
    let (signed, store, far) = (word >> 16 & 1 != 0, word >> 17 & 1 != 0, word >> 18 & 1 != 0);
    let warp_lanes = 1usize << (word >> 19 & 7);
    let (base, size) = match space {
        Space::Shared => (context.shared_base, context.shared_bytes as usize),
        Space::Local => (context.local_base, context.local_bytes as usize),
        Space::Const(n) => (context.const_banks[usize::from(n) % CONST_BANKS].cast_mut(), 0x1_0008),
        Space::Global(_) => return,
    };
    for lane in lanes_in(context.guard_lanes) {
        let address = address_of(context, lane, far);
        let inside = address + bytes <= size;
        let place = |byte: usize| match space {
            Space::Local => {
                let at = address + byte;
                at / 4 * 4 * warp_lanes + (context.chunk_lane as usize + lane) * 4 + at % 4
            }
            _ => address + byte,
        };
        let wide = bytes == 8;
        if store {
            let value = context.lane_values.get(lane, wide).to_le_bytes();
            let writes = inside && !matches!(space, Space::Const(_));
            for (n, &byte) in value[..bytes].iter().enumerate().filter(|_| writes) {
                // SAFETY: all of the access is inside the space, whose memory the embedder has put into the context.
                unsafe { *base.add(place(n)) = byte };
            }
            continue;
        }
        let mut value = [0u8; 8];
        for (n, byte) in value[..bytes].iter_mut().enumerate().filter(|_| inside) {
            // SAFETY: as above.
            *byte = unsafe { *base.add(place(n)) };
        }
        let mut value = u64::from_le_bytes(value);
        if signed && bytes < 4 {
            let up = 64 - 8 * bytes as u32;
            value = ((value << up) as i64 >> up) as u64;
        }
        context.lane_values.set(lane, wide, value);
    }
}

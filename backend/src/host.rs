//! What is known of the host: which of its instructions code may use.

/// Bytes of a cache line of the host, and of its widest vector.
pub const LINE_BYTES: usize = 64;

/// Which instructions code may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostLevel {
    /// All that the host has.
    Native,
    /// On x86-64, everything that the host has except AVX-512. On other hosts as `Native`.
    Avx2,
    /// On x86-64, SSE4.1 and nothing newer. On other hosts as `Native`.
    Sse41,
}

/// Features of the host that lowering depends on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg(feature = "jit")]
pub(crate) struct Host {
    /// x86-64; else AArch64.
    pub x86: bool,
    /// Fused multiply-add of vectors.
    pub fma: bool,
    /// Leading and trailing zeros, set bits in one instruction.
    pub bit_counts: bool,
}

macro_rules! features {
    ($($name:tt)*) => {
        /// Features of the host that code with vectors of 512 bits may use, all of them. They are part of the key of cached code.
        #[cfg(feature = "jit")]
        pub(crate) const WIDE_FEATURES: &[&str] = &[$($name),*];

        /// Whether this machine has what vectors of 512 bits need: AVX-512 with F, VL, DQ, BW, CD,
        /// VPOPCNTDQ, VBMI and VNNI, and BMI1, BMI2, LZCNT and POPCNT.
        #[cfg(target_arch = "x86_64")]
        pub fn host_has_wide_vectors() -> bool {
            $(std::arch::is_x86_feature_detected!($name))&&*
        }
    };
}

features! {
    "avx512f" "avx512vl" "avx512dq" "avx512bw" "avx512cd" "avx512vpopcntdq" "avx512vbmi" "avx512vnni"
    "bmi1" "bmi2" "lzcnt" "popcnt"
}

/// Only x86-64 has such vectors.
#[cfg(not(target_arch = "x86_64"))]
pub fn host_has_wide_vectors() -> bool {
    false
}

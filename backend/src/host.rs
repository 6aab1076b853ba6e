//! The host: which of its instructions generated code may use ([`HostLevel`], [`host_has_wide_vectors`]), and the size of its cache lines.

/// Bytes of a cache line of the host, and of its widest vector.
pub const LINE_BYTES: usize = 64;

/// Which instructions of the host compiled code may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum HostLevel {
    /// All that this processor has.
    #[default]
    Native,
    /// On x86-64, no AVX-512 (to test what hosts without it get). On other hosts as [`HostLevel::Native`].
    Avx2,
    /// On x86-64, nothing newer than SSE4.1 (to test what older hosts get). On other hosts as [`HostLevel::Native`].
    Sse41,
}

impl HostLevel {
    /// All levels, the newest instructions first.
    pub const ALL: [HostLevel; 3] = [HostLevel::Native, HostLevel::Avx2, HostLevel::Sse41];

    /// The name in options and settings.
    pub fn name(self) -> &'static str {
        match self {
            HostLevel::Native => "native",
            HostLevel::Avx2 => "avx2",
            HostLevel::Sse41 => "sse4.1",
        }
    }

    /// What an option's help says of it.
    pub fn summary(self) -> &'static str {
        match self {
            HostLevel::Native => "All that the processor has",
            HostLevel::Avx2 => "No AVX-512",
            HostLevel::Sse41 => "Nothing newer than SSE4.1",
        }
    }

    /// The level of a name.
    pub fn of_name(name: &str) -> Option<HostLevel> {
        HostLevel::ALL.into_iter().find(|level| level.name() == name)
    }
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

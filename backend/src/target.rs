//! The host that code is made for, as Cranelift and lowering see it.

use cranelift_codegen::isa::{self, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use target_lexicon::{Architecture, Triple};

use crate::error::Error;
use crate::host::{Host, HostLevel, WIDE_FEATURES, host_has_wide_vectors};

/// A host to compile for. Making one takes some microseconds: keep it.
#[derive(Clone)]
pub struct Target {
    isa: OwnedTargetIsa,
    pub(crate) host: Host,
    middle_vectors: bool,
    wide_vectors: bool,
}

impl Target {
    /// This machine.
    pub fn host(level: HostLevel) -> Result<Target, Error> {
        match level {
            HostLevel::Sse41 if cfg!(target_arch = "x86_64") => Target::with_features(Triple::host(), &SSE41),
            HostLevel::Avx2 if cfg!(target_arch = "x86_64") => {
                let mut builder = native()?;
                for feature in AVX512 {
                    builder.set(feature, "false").map_err(|e| Error::Host(e.to_string()))?;
                }
                Target::build(builder)
            }
            _ => {
                let mut target = Target::build(native()?)?;
                target.wide_vectors = host_has_wide_vectors();
                Ok(target)
            }
        }
    }

    /// The machine of a target triple, with the features that every such machine of the level has: on x86-64 AVX2 and
    /// FMA, unless the level is SSE4.1.
    pub fn triple(triple: &str, level: HostLevel) -> Result<Target, Error> {
        let triple: Triple = triple.parse().map_err(|_| Error::Host(format!("no target `{triple}`")))?;
        let features: &[&str] = match (triple.architecture, level) {
            (Architecture::X86_64, HostLevel::Sse41) => &SSE41,
            (Architecture::X86_64, _) => &AVX2,
            _ => &[],
        };
        Target::with_features(triple, features)
    }

    fn with_features(triple: Triple, features: &[&str]) -> Result<Target, Error> {
        let mut builder = isa::lookup(triple).map_err(|e| Error::Host(e.to_string()))?;
        for feature in features {
            builder.enable(feature).map_err(|e| Error::Host(e.to_string()))?;
        }
        Target::build(builder)
    }

    fn build(builder: isa::Builder) -> Result<Target, Error> {
        let isa = {
            let mut flags = settings::builder();
            let verify = if cfg!(debug_assertions) { "true" } else { "false" };
            for (name, value) in [
                // `speed` moves loads before arithmetic and causes spills, which makes warp code much slower.
                ("opt_level", "none"),
                ("regalloc_algorithm", "backtracking"),
                ("enable_verifier", verify),
                ("enable_probestack", "false"),
                ("enable_alias_analysis", "false"),
                ("unwind_info", "false"),
            ] {
                flags.set(name, value).map_err(|e| Error::Host(e.to_string()))?;
            }
            builder.finish(settings::Flags::new(flags)).map_err(|e| Error::Host(e.to_string()))?
        };
        let x86 = match isa.triple().architecture {
            Architecture::X86_64 => true,
            Architecture::Aarch64(_) => false,
            other => return Err(Error::Host(format!("no code for {other}"))),
        };
        let has = |name: &str| isa.isa_flags().iter().any(|v| v.name == name && v.as_bool() == Some(true));
        let host = Host { x86, fma: !x86 || has("has_fma"), bit_counts: !x86 || has("has_lzcnt") };
        let middle_vectors = x86 && has("has_avx2");
        Ok(Target { isa, host, middle_vectors, wide_vectors: false })
    }

    /// Whether a product and a sum rounded once are one instruction of the host.
    pub fn has_fma(&self) -> bool {
        self.host.fma
    }

    /// Whether it has vectors of 256 bits ([`crate::Options::eight_lanes`]).
    pub fn has_middle_vectors(&self) -> bool {
        self.middle_vectors
    }

    /// Whether this is the machine itself and has the AVX-512 features that 512-bit vectors need.
    pub fn has_wide_vectors(&self) -> bool {
        self.wide_vectors
    }

    pub(crate) fn isa(&self) -> &OwnedTargetIsa {
        &self.isa
    }
}

impl Target {
    /// Hashes everything that code for the target depends on, with or without [`crate::Options::wide_vectors`]: the code
    /// generator, the machine, its features, and settings. Code made for one combination cannot be used for another.
    pub fn hash_for(&self, wide_vectors: bool, state: &mut impl std::hash::Hasher) {
        use std::hash::Hash;
        // Cranelift's settings do not name all features that the other generator needs, so these are hashed too.
        let generator: (&str, &[&str]) =
            if wide_vectors { ("avx512", WIDE_FEATURES) } else { ("cranelift", &[]) };
        generator.hash(state);
        (self.isa.name(), self.isa.isa_flags_hash_key(), self.isa.flags()).hash(state);
        self.isa.triple().hash(state);
        self.host.hash(state);
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Target({}, {:?})", self.isa.triple(), self.host)
    }
}

/// The features of this machine.
fn native() -> Result<isa::Builder, Error> {
    cranelift_native::builder().map_err(|e| Error::Host(e.to_owned()))
}

/// The features that [`HostLevel::Avx2`] disables.
const AVX512: [&str; 5] =
    ["has_avx512bitalg", "has_avx512dq", "has_avx512f", "has_avx512vbmi", "has_avx512vl"];
const SSE41: [&str; 3] = ["has_sse3", "has_ssse3", "has_sse41"];
const AVX2: [&str; 10] = [
    "has_sse3",
    "has_ssse3",
    "has_sse41",
    "has_sse42",
    "has_popcnt",
    "has_avx",
    "has_avx2",
    "has_fma",
    "has_bmi1",
    "has_lzcnt",
];

//! Programs: guest code ready to be launched.

use crate::cache::CacheConfig;
use crate::exec::setup::Needs;
use crate::exec::{RowFacts, Tiers};
use crate::memory::window::kinds;
use crate::{Config, Error, HostLevel, Launch, Numerics, Tier};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use warpjit_frontend::Isa;
use warpjit_frontend::image::KernelImage;
use warpjit_ir::passes::fast;
use warpjit_ir::passes::windows::{WINDOWS, Window};
use warpjit_ir::regions::{MOST_WHOLE_LANES, RegionOptions, steps};

/// What [`Program::load`] must know besides the bytes. Containers say most of it themselves.
#[derive(Debug, Clone)]
pub struct ProgramOptions {
    /// Instruction set.
    pub isa: Isa,
    /// Chip; needed where the container does not name one.
    pub chip: Option<String>,
    /// Whether the bytes are words of code whatever they look like.
    pub raw: bool,
    /// Which kernel of the container; may be left out if there is just one.
    pub kernel: Option<String>,
    /// Raw code: byte offset of the first instruction.
    pub entry: u32,
    /// Raw code: registers of a thread.
    pub registers: Option<u32>,
    /// Raw code with scalar registers: how many.
    pub sgprs: Option<u32>,
    /// Raw code: bytes of shared memory of a block.
    pub shared: Option<u32>,
    /// Raw code: bytes of local memory of a thread.
    pub local: Option<u32>,
}

impl ProgramOptions {
    /// Options for a container that says everything itself.
    pub fn new(isa: Isa) -> Self {
        ProgramOptions {
            isa,
            chip: None,
            raw: false,
            kernel: None,
            entry: 0,
            registers: None,
            sgprs: None,
            shared: None,
            local: None,
        }
    }
}

/// Settings that code depends on; each combination is compiled for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Variant {
    pub tier: Tier,
    pub hot_after: u32,
    pub chunk_groups: Option<u8>,
    pub checked_memory: bool,
    pub lockstep: bool,
    pub numerics: Numerics,
    pub host: HostLevel,
    pub count: bool,
    pub keep_registers: bool,
    pub exact_steps: bool,
    /// Kinds of the windows to global memory, where they are not the whole address space.
    pub windows: Option<[Window; WINDOWS]>,
    /// Code looks up the 64-bit addresses of loads and stores.
    pub translate: bool,
    /// Code tells of which guest instruction it is.
    pub pcs: bool,
    /// Code is written down for perf.
    pub perf: bool,
    /// Code is kept as text.
    pub listings: bool,
}

/// See [`Config::hot_after`].
const HOT_AFTER: u32 = 16;

impl Variant {
    pub(crate) fn new(config: &Config, launch: &Launch, translate: bool) -> Self {
        Variant {
            tier: config.tier,
            hot_after: config.hot_after.unwrap_or(HOT_AFTER),
            chunk_groups: config.chunk_groups,
            checked_memory: config.checked_memory,
            lockstep: config.lockstep,
            numerics: config.numerics,
            host: config.host,
            count: config.count,
            keep_registers: launch.capture_registers,
            exact_steps: launch.max_steps != 0,
            windows: kinds(&launch.globals),
            translate,
            pcs: config.observe.needs_pcs(),
            perf: config.observe.perf,
            listings: config.observe.listings,
        }
    }

    pub(crate) fn region_options(&self) -> RegionOptions {
        RegionOptions {
            lockstep: self.lockstep,
            keep_registers: self.keep_registers,
            count: self.count,
            exact_steps: self.exact_steps,
            whole_lanes: match self.chunk_groups {
                Some(groups) if self.wide_vectors() => 4 * u32::from(groups),
                _ => MOST_WHOLE_LANES,
            },
            whole_is_slow: !self.wide_vectors(),
        }
    }

    /// Whether code uses vectors of 512 bits.
    pub(crate) fn wide_vectors(&self) -> bool {
        self.host == HostLevel::Native
            && !self.checked_memory
            && self.chunk_groups.is_none_or(|groups| groups > MOST_NARROW)
            && warpjit_backend::host_has_wide_vectors()
    }
}

/// Most groups of four lanes that are taken with vectors of 128 bits if they are asked for.
pub(crate) const MOST_NARROW: u8 = 4;

/// A kernel, ready to be launched any number of times, from any thread. Clones share all that is compiled.
#[derive(Clone)]
pub struct Program(Arc<Inner>);

/// What code depends on, and where it is kept.
type Settings = (Variant, Option<CacheConfig>);

struct Inner {
    image: KernelImage,
    /// [`steps::most`] of it.
    most_steps: OnceLock<Option<u64>>,
    variants: Mutex<HashMap<Settings, Arc<Tiers>>>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("name", &self.0.image.name).finish_non_exhaustive()
    }
}

impl Program {
    /// Takes a kernel that has been lifted already. The function must be valid
    /// ([`warpjit_ir::verify`]); what frontends lift is.
    pub fn from_image(image: KernelImage) -> Self {
        Program(Arc::new(Inner { image, most_steps: OnceLock::new(), variants: Mutex::default() }))
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.0.image.name
    }

    /// The kernel as it was lifted.
    pub fn image(&self) -> &KernelImage {
        &self.0.image
    }

    /// The bytes of the instruction at a guest address, as far as the code goes.
    pub(crate) fn instruction_bytes(&self, pc: u32) -> Vec<u8> {
        let image = &self.0.image;
        let offset = pc.checked_sub(image.code_address).map_or(usize::MAX, |offset| offset as usize);
        let rest = image.code.get(offset..).unwrap_or(&[]);
        rest[..rest.len().min((image.instruction_bytes)(rest))].to_vec()
    }

    pub(crate) fn needs(&self) -> Needs<'_> {
        let image = &self.0.image;
        Needs {
            name: &image.name,
            abi: &image.abi,
            registers: image.registers,
            shared_bytes: image.shared_bytes,
            local_bytes: image.local_bytes,
            params: image.params.as_deref(),
            consts: &image.consts,
            compiler_bank: image.compiler_bank,
            aliases: &image.aliases,
        }
    }

    /// Whether no warp can take more instructions than a limit: then it needs none.
    pub(crate) fn ends_within(&self, max_steps: u64) -> bool {
        let most = self.0.most_steps.get_or_init(|| steps::most(&self.0.image.function));
        most.is_some_and(|most| most <= max_steps)
    }

    /// The code for some settings, made at first use.
    pub(crate) fn tiers(&self, variant: Variant, cache: Option<&CacheConfig>) -> Result<Arc<Tiers>, Error> {
        let mut variants = self.0.variants.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (variant, cache.cloned());
        if let Some(tiers) = variants.get(&key) {
            return Ok(tiers.clone());
        }
        let mut function = self.0.image.function.clone();
        if variant.numerics == Numerics::Fast {
            fast::run(&mut function);
        }
        let facts = RowFacts::new(&self.0.image.abi);
        let tiers = Arc::new(Tiers::new(function, variant, facts, cache)?);
        variants.insert(key, tiers.clone());
        Ok(tiers)
    }
}

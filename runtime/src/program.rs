//! Programs: loaded kernels that can be launched. A program holds its compiled code, for each combination of settings that code
//! depends on.

use crate::cache::CacheConfig;
use crate::exec::setup::Needs;
use crate::exec::strategy::Strategy;
use crate::exec::{Limits, RowFacts, Tiers};
use crate::fork::{Mutex, Section};
use crate::stage::StageProgram;
use crate::variant::Variant;
use crate::{Budget, CancelToken, CodeListing, Config, Error, Listings, Numerics};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use warpjit_frontend::image::KernelImage;
use warpjit_frontend::{CodeSource, StageInterface};
use warpjit_ir::lane_counts;
use warpjit_ir::passes::fast;
use warpjit_ir::regions::steps;

/// Most instructions times lanes / 4 of a kernel that is compiled for whole warps if that may be faster. It takes some
/// 10 us each.
const MOST_WHOLE: usize = 32_000;

/// A kernel that can be launched any number of times, from any thread. Clones share the compiled code.
///
/// ```
/// use warpjit_runtime::{Isa, Program, ProgramOptions};
///
/// // v_add_f32 v0, v1, v2; s_endpgm
/// let words: Vec<u8> = [0x0200_0501_u32, 0xbf81_0000].into_iter().flat_map(u32::to_le_bytes).collect();
/// let options = ProgramOptions::new(Isa::Gcn).chip(Some("tahiti".parse()?)).raw(true);
/// let program = Program::load(&words, &options)?;
/// assert!(program.bytes_used() > 0);
///
/// // What cannot be loaded says why, and where.
/// let error = Program::load(&words[..6], &options).unwrap_err();
/// assert!(error.to_string().contains("offset 0x6"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Program {
    inner: Arc<Inner>,
    /// How far after the address where it was loaded this program lies.
    shift: u64,
}

/// The settings that code depends on, its cache, and its budget.
type Settings = (Variant, Option<CacheConfig>, Budget);

/// The tiers for some settings, made once.
type Making = OnceLock<Result<Arc<Tiers>, Error>>;

struct Inner {
    image: KernelImage,
    /// What it gives and takes, if it is of a graphics stage.
    stage: Option<Arc<StageProgram>>,
    /// [`steps::most`] of it.
    most_steps: OnceLock<Option<u64>>,
    /// Each is made at first use, outside the lock. A linear search is faster than hashing, because there are few.
    variants: Mutex<Vec<(Settings, Arc<Making>)>>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("name", &self.inner.image.name).finish_non_exhaustive()
    }
}

impl Program {
    /// Makes a program from a kernel that has been lifted already.
    ///
    /// # Errors
    ///
    /// [`Error::Program`] if the function is not valid ([`warpjit_ir::verify`]) or contradicts the rest of the image.
    /// Bounds of slots ([`warpjit_ir::function::SlotData::umax`]) may be wrong: those that cannot be proved are removed.
    pub fn from_image(mut image: KernelImage) -> Result<Self, Error> {
        crate::image::check(&mut image)?;
        Ok(Program::checked(image, None))
    }

    /// The same for a program of a graphics stage: [`KernelImage::stage`] has what the interface names.
    ///
    /// # Errors
    ///
    /// As [`Program::from_image`]; also if the image does not have what the interface names.
    pub fn from_stage_image(mut image: KernelImage, interface: StageInterface) -> Result<Self, Error> {
        crate::image::check(&mut image)?;
        let stage = StageProgram::new(&image, interface)?;
        Ok(Program::checked(image, Some(stage)))
    }

    /// Makes a program from a kernel that a frontend has lifted. Such kernels are valid, which debug builds check.
    /// Their slot bounds can be proved (`are_proved`), except VP1's, which bound results of pure functions.
    pub(crate) fn lifted(
        image: KernelImage,
        are_proved: bool,
        interface: Option<StageInterface>,
    ) -> Result<Self, Error> {
        if cfg!(debug_assertions) {
            match crate::image::check(&mut image.clone()) {
                Ok(unproved) => assert!(unproved == 0 || !are_proved, "{unproved} bounds without a proof"),
                Err(error) => panic!("{error}"),
            }
        }
        let stage = interface.map(|interface| StageProgram::new(&image, interface)).transpose()?;
        Ok(Program::checked(image, stage))
    }

    fn checked(image: KernelImage, stage: Option<StageProgram>) -> Self {
        let (most_steps, variants) = (OnceLock::new(), Mutex::default());
        let inner = Inner { image, stage: stage.map(Arc::new), most_steps, variants };
        Program { inner: Arc::new(inner), shift: 0 }
    }

    /// What the program gives and takes, if it is of a graphics stage.
    pub fn interface(&self) -> Option<&StageInterface> {
        self.inner.stage.as_ref().map(|stage| &stage.interface)
    }

    pub(crate) fn stage(&self) -> Option<&Arc<StageProgram>> {
        self.inner.stage.as_ref()
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.inner.image.name
    }

    /// The guest address of a position: of a `pc` of the kernel's IR ([`KernelImage::function`]). They are the same unless the program
    /// was loaded where it lies in guest memory ([`Program::load_at`]). Faults, profiles and the spans of listings have addresses.
    pub fn address_of(&self, position: u32) -> u64 {
        self.inner.image.code.address_of(position).wrapping_add(self.shift)
    }

    /// The guest memory that was read as code when the program was loaded by [`Program::load_at`], in order of address. It is what the
    /// compiled code depends on: instructions that can be reached, and the words behind them if these are no instructions. Empty for
    /// other programs.
    pub fn code_ranges(&self) -> Vec<Range<u64>> {
        let ranges = self.inner.image.code.ranges().into_iter();
        ranges.map(|range| range.start.wrapping_add(self.shift)..range.end.wrapping_add(self.shift)).collect()
    }

    /// Whether guest memory holds the code that the program was loaded from: compares [`Program::code_ranges`]. For an embedder whose
    /// guest has flushed instruction caches. True of programs that were not loaded from guest memory.
    pub fn is_current(&self, source: &dyn CodeSource) -> bool {
        self.inner.image.code.is_current(source, self.shift)
    }

    /// The same program for the same code at another address, `shift` bytes behind where this one was loaded first. Compiled code is
    /// shared.
    pub(crate) fn moved(&self, shift: u64) -> Program {
        Program { inner: self.inner.clone(), shift }
    }

    /// Bytes of host memory that the program takes: its lifted form, and what has been compiled of it so far. An estimate from the
    /// sizes of its parts; clones and programs that share their code count it each.
    pub fn bytes_used(&self) -> usize {
        let image = &self.inner.image;
        let lifted = size_of::<Inner>() + image.function.bytes() + image.code.bytes_used();
        let variants = self.inner.variants.lock();
        let made = variants.iter().filter_map(|(_, making)| making.get()?.as_ref().ok());
        lifted + made.map(|tiers| tiers.bytes_used()).sum::<usize>()
    }

    /// The kernel as it was lifted. Its `pc`s are positions ([`Program::address_of`]).
    pub fn image(&self) -> &KernelImage {
        &self.inner.image
    }

    /// The bytes of the instruction at a position, as far as the code goes.
    pub(crate) fn instruction_bytes(&self, position: u32) -> Vec<u8> {
        let image = &self.inner.image;
        let rest = image.code.bytes_at(position);
        rest[..rest.len().min((image.instruction_bytes)(rest))].to_vec()
    }

    /// The guest address of the target that a computed jump has, as the interpreter knows it: a position, or an address that is none.
    pub(crate) fn jump_target(&self, target: u64) -> u64 {
        /// What front ends set in addresses that would look like positions.
        const NO_POSITION: u64 = 1 << 63;
        match u32::try_from(target) {
            Ok(position) => self.address_of(position),
            Err(_) if target >> 32 == NO_POSITION >> 32 => target & !NO_POSITION,
            Err(_) => target,
        }
    }

    /// Makes guest addresses of the positions in listings.
    pub(crate) fn with_addresses(&self, mut listings: Listings) -> Listings {
        if self.inner.image.code.file().is_some() {
            return listings;
        }
        let address = |pc: u64| u32::try_from(pc).map_or(pc, |pc| self.address_of(pc));
        listings.interpreted.iter_mut().for_each(|pc| *pc = address(*pc));
        for function in &mut listings.functions {
            let mut listing = CodeListing::clone(function);
            for span in listing.parts.iter_mut().flat_map(|part| &mut part.spans) {
                *span = address(span.start)..address(span.end);
            }
            *function = Arc::new(listing);
        }
        listings
    }

    pub(crate) fn needs(&self) -> Needs<'_> {
        let image = &self.inner.image;
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
            known_user_data: &image.known_user_data,
        }
    }

    /// Whether no warp can execute more than `max_steps` instructions. Then the launch needs no limit.
    pub(crate) fn ends_within(&self, max_steps: u64) -> bool {
        self.most_steps().is_some_and(|most| most <= max_steps)
    }

    /// The most instructions that a warp can execute, if there are no loops.
    pub(crate) fn most_steps(&self) -> Option<u64> {
        let _section = Section::enter();
        *self.inner.most_steps.get_or_init(|| steps::most(&self.inner.image.function))
    }

    /// The tiers for some settings, made at first use. The token can cancel that. Threads that need other settings do
    /// not wait.
    pub(crate) fn tiers(
        &self,
        variant: Variant,
        config: &Config,
        cancel: Option<&CancelToken>,
    ) -> Result<Arc<Tiers>, Error> {
        let _section = Section::enter();
        loop {
            let making = self.making(variant, config);
            let made = making.get_or_init(|| self.make_tiers(variant, config, cancel).map(Arc::new));
            if made.is_err() {
                // Forget the failure, so that the next caller tries again.
                let mut variants = self.inner.variants.lock();
                variants.retain(|(_, other)| !Arc::ptr_eq(other, &making));
            }
            // It may have failed because another launch that was making it was cancelled.
            if !matches!(made, Err(Error::Cancelled)) || cancel.is_some_and(CancelToken::is_cancelled) {
                return made.clone();
            }
        }
    }

    /// The tiers for a strategy other than vectors; `tiers` are those for vectors. `None` if there are none, or if
    /// they would be the same.
    pub(crate) fn other_tiers(
        &self,
        strategy: Strategy,
        variant: Variant,
        tiers: &Tiers,
        config: &Config,
        cancel: Option<&CancelToken>,
    ) -> Option<Arc<Tiers>> {
        let variant = match strategy {
            Strategy::Vectors => return None,
            Strategy::Lanes => variant.lane_by_lane(),
            Strategy::Warps => {
                let (function, stage) = (&self.inner.image.function, &self.inner.image.stage);
                let joined =
                    stage.as_ref().filter(|_| variant.joined).map_or(1, |layout| layout.joined.max(1));
                let lanes = function.lanes * joined;
                let size = function.insts.len() * lanes as usize / 4;
                if tiers.has_whole_warps() || size > MOST_WHOLE {
                    return None;
                }
                variant.whole_warps(lanes)
            }
            Strategy::Narrow if variant.generator().knows_vectors() => variant.narrow(),
            Strategy::Narrow => return None,
        };
        let made = self.tiers(variant, config, cancel).ok()?;
        let is_other =
            strategy != Strategy::Warps || variant.chunk_groups.is_some() || made.has_whole_warps();
        is_other.then_some(made)
    }

    fn making(&self, variant: Variant, config: &Config) -> Arc<Making> {
        let mut variants = self.inner.variants.lock();
        let known = variants.iter().find(|((known, cache, budget), _)| {
            *known == variant && cache.as_ref() == config.code_cache() && *budget == config.budget
        });
        if let Some((_, making)) = known {
            return making.clone();
        }
        let making = Arc::default();
        variants.push(((variant, config.code_cache().cloned(), config.budget), Arc::clone(&making)));
        making
    }

    fn make_tiers(
        &self,
        variant: Variant,
        config: &Config,
        cancel: Option<&CancelToken>,
    ) -> Result<Tiers, Error> {
        let mut function = self.inner.image.function.clone();
        if let (true, Some(layout)) = (variant.joined, &self.inner.image.stage) {
            function.lanes *= layout.joined.max(1);
        }
        if variant.count {
            lane_counts::insert(&mut function);
        }
        if variant.numerics == Numerics::Fast {
            fast::run(&mut function);
        }
        let limits = Limits { budget: config.budget, cancel };
        let facts = RowFacts::new(&self.inner.image.abi, self.inner.image.local_bytes);
        Tiers::new(function, variant, facts, config.code_cache(), limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Launch, Tier};
    use std::sync::mpsc;
    use warpjit_frontend::CodeMap;
    use warpjit_ir::{KernelAbi, ParamSpace, Space};

    fn program() -> Program {
        let text = "function @f spmd lanes 32 {\nblock0 at 0x0 insts 1:\n    leave.exit -> block0\n}\n";
        let function = warpjit_ir::text::parse_function(text, &[]).expect("parses");
        let abi = KernelAbi {
            warp_lanes: 32,
            full_warps: false,
            header: Vec::new(),
            params: ParamSpace { space: Space::Shared, offset: 0, max_bytes: 0, pointer_bytes: 4 },
            segments: Vec::new(),
            max_grid: [1; 3],
            max_block: [32, 1, 1],
            max_threads: 32,
            max_registers: 1,
            max_shared_bytes: 16,
            max_local_bytes: 16,
            barriers: 1,
        };
        Program::from_image(KernelImage::bare(CodeMap::default(), function, abi, |_| 4)).expect("a program")
    }

    #[test]
    fn who_wants_other_settings_does_not_wait() {
        let program = program();
        let variant = |tier| Variant::new(&Config { tier, ..Config::default() }, &Launch::default(), false);
        let (slow, other) = (variant(Tier::Jit), variant(Tier::Interp));
        let config = Config::default();
        let making = program.making(slow, &config);
        let (begin, begun) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            // Reads a file of the cache for as long as it likes.
            scope.spawn(move || {
                let made = making.get_or_init(|| {
                    begin.send(()).expect("heard");
                    ended.recv().expect("told");
                    Err(crate::CompileError::LeftOut.into())
                });
                assert!(made.is_err());
            });
            begun.recv().expect("begins");
            assert!(program.tiers(other, &config, None).is_ok());
            // Who wants the same waits for it.
            let waiting = scope.spawn(|| program.tiers(slow, &config, None));
            end.send(()).expect("heard");
            assert!(waiting.join().expect("ends").is_err());
        });
        // What has failed is tried again.
        assert!(program.tiers(slow, &config, None).is_ok());
        assert!(Arc::ptr_eq(
            &program.tiers(slow, &config, None).unwrap(),
            &program.tiers(slow, &config, None).unwrap()
        ));
    }
}

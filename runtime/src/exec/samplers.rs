//! Compiled samplers: code that serves a texture request of many lanes at once ([`warpjit_frontend::sampling`]).
//!
//! Few different states of textures and samplers occur, so the code for each is kept for the whole process ([`Sampler::of`]). A thread
//! finds the code of a device call by the words of the call's descriptors ([`Samplers::serve`]), also in later launches, without decoding
//! them.
//!
//! The code reads the image in host memory without testing addresses. So each launch first tests once that all of an image may be read. If
//! not, or if the memory is unmapped meanwhile, the device serves the call. It tests each access and reports the fault.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use warpjit_backend::{self as backend, Context, FloatEnv, Generator, Options, TablePointer, Target};
use warpjit_frontend::sampling::{Data, Generated, StateKey, generate};
use warpjit_ir::device::ServeAt;
use warpjit_ir::passes::{dce, fold, gvn, pipeline};
use warpjit_ir::{DeviceFn, DeviceSite};

use crate::fork::{Mutex, Section};
use crate::vm::{self, Code, CodeMemory, FloatMode};
use crate::{Config, HostLevel, Memory, Tier};

/// Vectors of four lanes that code computes side by side, with vectors of 128 bits.
const GROUPS: u8 = 2;
/// The same with vectors of 512 bits, each of which holds four of them.
const WIDE_GROUPS: u8 = 4;
/// Stack that code may use.
const STACK_BYTES: u32 = 1 << 14;
/// [`Samplers::uses_before_compiling`] where not all is to be compiled.
const USES_BEFORE_COMPILING: u32 = 16;
/// The most functions that are kept for all threads.
const MOST_KEPT: usize = 512;
/// Sets of requests that a thread keeps; a power of two.
const SETS: usize = 64;
/// Requests of a set.
const WAYS: usize = 4;
/// Requests of a launch that a thread knows by their names; a power of two.
const FIXED: usize = 32;

/// Machine code of a state.
#[derive(Debug)]
pub struct Sampler {
    key: StateKey,
    level: HostLevel,
    code: Code,
    tables: Vec<TablePointer>,
    /// Those of the key: of the mailbox, and lanes of a warp.
    mailbox_words: usize,
    lanes: usize,
}

impl Sampler {
    /// Compiles the code of a state; `None` if that is impossible. `groups`: the groups of four lanes that it computes side by side, the
    /// fitting number if none is given; which generator makes the code follows from it as for launches.
    pub fn new(key: &StateKey, level: HostLevel, groups: Option<u8>) -> Option<Sampler> {
        let target = Target::host(level).ok()?;
        let generator = Generator::of_host(level, groups, false, false).on(&target);
        let fitting = if generator.knows_vectors() { WIDE_GROUPS } else { GROUPS };
        let mut func = generate(key, target.has_fma())?;
        pipeline(&mut func, &[fold::run, gvn::run, dce::run]);
        let mut options = Options::new(target);
        options.chunk_groups = groups.unwrap_or(fitting).min((key.lanes() / 4) as u8);
        generator.choose(&mut options);
        options.open_loads = true;
        options.eight_lanes =
            groups.is_none() && !options.wide_vectors && options.target.has_middle_vectors();
        options.most_stack_bytes = STACK_BYTES;
        let make =
            |options: &Options| vm::on_new_stack_for_compiler(|| backend::compile_region(&func, options));
        let made = match make(&options) {
            // That generator does not know the code, or its registers do not suffice for it.
            Err(_) if options.eight_lanes => {
                options.eight_lanes = false;
                make(&options)
            }
            made => made,
        };
        let made = made.ok()?;
        // It calls nothing, and its floats are the host's.
        if !made.pures.is_empty() || !made.devices.is_empty() || made.float_env != FloatEnv::Default {
            return None;
        }
        let code = CODE.with_memory(|memory| memory.add(&made.code)).ok()?;
        let tables = made.tables.iter().map(|&table| table.into()).collect();
        let (mailbox_words, lanes) = (key.mailbox_words() as usize, key.lanes() as usize);
        Some(Sampler { key: key.clone(), level, code, tables, mailbox_words, lanes })
    }

    /// Whether somebody has asked for the code of a state.
    fn is_made(key: &StateKey, level: HostLevel) -> bool {
        CODE.kept.lock().get(&(key.clone(), level)).is_some()
    }

    /// The code of a state, compiled now if nobody has asked for it.
    fn of(key: &StateKey, level: HostLevel) -> Option<Arc<Sampler>> {
        let name = (key.clone(), level);
        if let Some(found) = CODE.kept.lock().get(&name) {
            return found;
        }
        // Others may compile the same meanwhile, which does no harm.
        let made = {
            let _section = Section::enter();
            // Compiled code that has called this cannot unwind.
            let make =
                |groups| catch_unwind(AssertUnwindSafe(|| Sampler::new(key, level, groups))).ok().flatten();
            // Code of larger vectors may need more stack than there is.
            make(None).or_else(|| make(Some(GROUPS))).map(Arc::new)
        };
        CODE.kept.lock().put(name, made.clone());
        made
    }

    /// Bytes of code.
    pub fn code_bytes(&self) -> usize {
        self.code.len()
    }
}

/// Code with the image and the data that it reads.
pub struct BoundSampler<'a> {
    sampler: Arc<Sampler>,
    /// Words of its const bank, and room behind them.
    data: Rc<[u32]>,
    image: &'a [u8],
    context: Box<Context>,
}

/// Words behind data, so that what lies behind the last level may be read.
const ROOM: usize = 128;

fn with_room(data: &Data) -> Rc<[u32]> {
    data.words().iter().copied().chain([0; ROOM]).collect()
}

impl std::fmt::Debug for BoundSampler<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.sampler.fmt(f)
    }
}

impl<'a> BoundSampler<'a> {
    /// Code that reads an image in the caller's memory; `None`: this is another state's data, or the image is too small.
    pub fn new(sampler: Arc<Sampler>, generated: &Generated, image: &'a [u8]) -> Option<BoundSampler<'a>> {
        let fits = sampler.key == *generated.key() && image.len() >= generated.data().bytes() as usize;
        let data = with_room(generated.data());
        fits.then(|| BoundSampler { sampler, data, image, context: Box::new(Context::new()) })
    }

    /// Serves lanes, a bit each. Word `n` of the mailbox of lane `l` is at `n * lanes + l`, where a warp has so many lanes.
    ///
    /// # Panics
    ///
    /// The mailbox is too short.
    pub fn run(&mut self, mailbox: &mut [u32], lanes: u64) {
        let words = self.sampler.mailbox_words * self.sampler.lanes;
        assert!(mailbox.len() >= words, "a mailbox of {words} words");
        let frame = mailbox.as_mut_ptr().cast();
        // SAFETY: image, data and mailbox are as long as the code needs them.
        let done = unsafe {
            run(vm::enter, &mut self.context, &self.sampler, self.image.as_ptr(), &self.data, frame, lanes)
        };
        assert!(done, "the image is the caller's");
    }
}

/// What enters code: [`vm::enter`] or [`vm::enter_within`].
type Enter = unsafe fn(*const u8, *mut u8, *mut u8, FloatMode) -> Result<u64, Box<vm::RawFault>>;

/// Runs code for lanes. `false`: some of the image has vanished; then some lanes may have been served.
///
/// # Safety
///
/// `image` has as many readable bytes as the data says that `data` was made with, of the sampler's key, or is guest memory, which may
/// vanish; `frame` has the words of a mailbox that the key needs, for all lanes of a warp, and nobody else uses them. The float environment
/// is as `enter` needs it.
unsafe fn run(
    enter: Enter,
    context: &mut Context,
    sampler: &Sampler,
    image: *const u8,
    data: &[u32],
    frame: *mut u8,
    lanes: u64,
) -> bool {
    context.active = lanes;
    // Code only reads there.
    context.global_base = image.cast_mut();
    context.const_banks[0] = data.as_ptr().cast();
    context.tables = sampler.tables.as_ptr();
    // A loop over levels ends by itself.
    context.fuel = i64::MAX;
    let context = (&raw mut *context).cast();
    // SAFETY: the code was made by the backend for a function that reads the data, the tables and what lies within the bytes of the image,
    // by offsets that are limited before each load, and that reads and writes slots, which are the mailbox. It calls nothing.
    unsafe { enter(sampler.code.start(), context, frame, FloatMode::Ieee) }.is_ok()
}

/// Code of a state for a host; `None`: impossible.
type Made = Option<Arc<Sampler>>;

/// Code that was made, with the time of its last use.
#[derive(Debug, Default)]
struct Kept {
    list: Option<HashMap<(StateKey, HostLevel), (u64, Made)>>,
    time: u64,
}

impl Kept {
    fn get(&mut self, name: &(StateKey, HostLevel)) -> Option<Made> {
        self.time += 1;
        let (used, made) = self.list.as_mut()?.get_mut(name)?;
        *used = self.time;
        Some(made.clone())
    }

    fn put(&mut self, name: (StateKey, HostLevel), made: Made) {
        self.time += 1;
        let list = self.list.get_or_insert_default();
        if list.len() >= MOST_KEPT {
            let mut times: Vec<u64> = list.values().map(|(used, _)| *used).collect();
            times.sort_unstable();
            // A quarter at a time.
            let limit = times[times.len() / 4];
            list.retain(|_, (used, _)| *used > limit);
        }
        list.insert(name, (self.time, made));
    }
}

/// All code of samplers of this process.
struct AllCode {
    kept: Mutex<Kept>,
    memory: Mutex<Option<CodeMemory>>,
}

static CODE: AllCode = AllCode { kept: Mutex::new(Kept { list: None, time: 0 }), memory: Mutex::new(None) };

impl AllCode {
    fn with_memory<T>(&self, work: impl FnOnce(&CodeMemory) -> T) -> T {
        let memory = self.memory.lock().get_or_insert_with(CodeMemory::new).clone();
        work(&memory)
    }
}

/// What a thread knows of a request.
enum State {
    /// Code will be made for it if it comes so many times more.
    New(Box<Generated>, u32),
    /// Code serves it.
    Ready(Ready),
    /// The device serves it.
    Never,
}

/// Code with its data.
struct Ready {
    sampler: Arc<Sampler>,
    data: Rc<[u32]>,
    /// Where the image is, and its bytes.
    address: u64,
    bytes: u32,
    /// Where the host has it in this launch; `None`: some of it cannot be read.
    image: Option<*const u8>,
    launch: u64,
}

/// A request of a thread's device calls.
struct Known {
    words: Vec<u32>,
    state: State,
}

/// A request of a launch that follows from the call ([`ServeAt::fixed`]).
struct Fixed {
    launch: u64,
    /// The function that was called, and its constant.
    callee: &'static DeviceFn,
    params: u64,
    sampler: Arc<Sampler>,
    data: Rc<[u32]>,
    image: *const u8,
}

/// What a thread has for samplers.
struct OfThread {
    context: Box<Context>,
    /// By [`set`], the last that was new first.
    known: Vec<[Option<Known>; WAYS]>,
    /// By [`place_of`].
    fixed: [Option<Fixed>; FIXED],
}

impl OfThread {
    /// A request by its words; a new one becomes what `make` says.
    fn find<'a>(
        known: &'a mut [[Option<Known>; WAYS]],
        words: &[u32],
        make: impl FnOnce() -> State,
    ) -> &'a mut State {
        let set = &mut known[set(words)];
        let is_it = |known: &Option<Known>| known.as_ref().is_some_and(|known| known.words == words);
        let way = set.iter().position(is_it).unwrap_or_else(|| {
            set.rotate_right(1);
            set[0] = None;
            0
        });
        &mut set[way].get_or_insert_with(|| Known { words: words.to_vec(), state: make() }).state
    }
}

thread_local! {
    static OF_THREAD: RefCell<OfThread> = RefCell::new(OfThread {
        context: Box::new(Context::new()),
        known: (0..SETS).map(|_| [const { None }; WAYS]).collect(),
        fixed: [const { None }; FIXED],
    });
}

/// A launch's samplers.
#[derive(Debug, Clone)]
pub struct Samplers {
    /// No two launches have one.
    launch: u64,
    level: HostLevel,
    /// How often a thread sees a request before code is made for it, if there is none yet.
    uses_before_compiling: u32,
}

impl Default for Samplers {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Samplers {
            launch: NEXT.fetch_add(1, Ordering::Relaxed),
            level: HostLevel::Native,
            uses_before_compiling: USES_BEFORE_COMPILING,
        }
    }
}

impl Samplers {
    /// Begins another run: memory may have moved since the last one.
    pub fn begin(&mut self, config: &Config) {
        *self = Samplers::default();
        self.configure(config);
    }

    /// Sets what the configuration says.
    pub fn configure(&mut self, config: &Config) {
        self.level = config.host;
        self.uses_before_compiling = if config.tier == Tier::Jit { 1 } else { USES_BEFORE_COMPILING };
    }

    /// Serves the lanes of a call ([`warpjit_ir::DeviceAccess::serve`]), whose local memory this is, of a warp of so many lanes.
    #[expect(clippy::too_many_arguments, reason = "where a call is, and what it asks for")]
    pub fn serve(
        &self,
        site: &DeviceSite,
        memory: &Memory,
        local: &mut [u8],
        lanes: usize,
        at: ServeAt,
        words: &[u32],
        describe: &mut dyn FnMut() -> Option<Box<dyn Any>>,
    ) -> bool {
        OF_THREAD.with_borrow_mut(|of_thread| {
            let OfThread { context, known, fixed } = of_thread;
            let state = OfThread::find(known, words, || {
                let described = describe().and_then(|any| any.downcast::<Generated>().ok());
                described.map_or(State::Never, |described| State::New(described, self.uses_before_compiling))
            });
            if let State::New(generated, left) = state {
                *left = left.saturating_sub(1);
                if *left > 0 && !Sampler::is_made(generated.key(), self.level) {
                    return false;
                }
                *state = self.made(generated, memory);
            }
            let State::Ready(ready) = state else { return false };
            if ready.launch != self.launch {
                // Another launch may have another memory, and another level of the host.
                if ready.sampler.level != self.level {
                    let Some(sampler) = Sampler::of(&ready.sampler.key, self.level) else { return false };
                    ready.sampler = sampler;
                }
                ready.image = memory.readable(ready.address, ready.bytes.into());
                ready.launch = self.launch;
            }
            let Ready { sampler, data, image: Some(image), .. } = ready else { return false };
            let Some(mailbox) = mailbox_of(sampler, local, lanes, at.mailbox) else { return false };
            // SAFETY: the image is guest memory that could be read (`readable`), and the data is that of the key.
            let done =
                unsafe { run(vm::enter, context, sampler, *image, data, mailbox.as_mut_ptr(), at.lanes) };
            if !done {
                ready.image = None;
            } else if at.fixed {
                let &DeviceSite { callee, params, .. } = site;
                let (launch, sampler, data, image) = (self.launch, sampler.clone(), data.clone(), *image);
                fixed[place_of(params)] = Some(Fixed { launch, callee, params, sampler, data, image });
            }
            done
        })
    }

    /// Serves the lanes of a call as one that this thread has served in this launch; `false`: it knows of none. Compiled code
    /// has called for it, and its float environment is that with which it was entered.
    pub fn serve_again(&self, site: &DeviceSite, local: &mut [u8], lanes: usize, active: u64) -> bool {
        OF_THREAD.with_borrow_mut(|of_thread| {
            let OfThread { context, fixed, .. } = of_thread;
            let place = &mut fixed[place_of(site.params)];
            let is_it = |of: &&Fixed| {
                (of.launch, of.params) == (self.launch, site.params) && std::ptr::eq(of.callee, site.callee)
            };
            let Some(Fixed { sampler, data, image, .. }) = place.as_ref().filter(is_it) else { return false };
            let Some(mailbox) = mailbox_of(sampler, local, lanes, site.mailbox) else { return false };
            // SAFETY: as in `serve`, which has found the request; compiled code calls this, in its float environment.
            let done = unsafe {
                run(vm::enter_within, context, sampler, *image, data, mailbox.as_mut_ptr(), active)
            };
            if !done {
                *place = None;
            }
            done
        })
    }

    /// Code for a request, if it can be made.
    fn made(&self, generated: &Generated, memory: &Memory) -> State {
        let Some(sampler) = Sampler::of(generated.key(), self.level) else { return State::Never };
        let data = generated.data();
        let (address, bytes) = (data.address(), data.bytes());
        let image = memory.readable(address, bytes.into());
        State::Ready(Ready { sampler, data: with_room(data), address, bytes, image, launch: self.launch })
    }
}

/// The words of the mailbox that code needs, if all are in the local memory of a warp of so many lanes.
fn mailbox_of<'a>(
    sampler: &Sampler,
    local: &'a mut [u8],
    lanes: usize,
    address: u32,
) -> Option<&'a mut [u8]> {
    // Words are interleaved between lanes.
    let start = address as usize / 4 * 4 * lanes;
    let bytes = sampler.mailbox_words * 4 * lanes;
    let end = start.checked_add(bytes).filter(|_| sampler.lanes == lanes)?;
    local.get_mut(start..end)
}

/// Where a thread keeps a request that follows from a call, by its constant.
fn place_of(params: u64) -> usize {
    (params.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & (FIXED - 1)
}

/// The set in which a thread keeps a request.
fn set(words: &[u32]) -> usize {
    // Products that do not wait for each other.
    let mut factor = 0x9e37_79b9_7f4a_7c15u64;
    let sum = words.iter().fold(0u64, |sum, &word| {
        factor = factor.wrapping_mul(0x2545_f491_4f6c_dd1d);
        sum.wrapping_add(u64::from(word).wrapping_mul(factor | 1))
    });
    (sum >> 40) as usize & (SETS - 1)
}

#[cfg(test)]
#[path = "samplers_tests.rs"]
mod tests;

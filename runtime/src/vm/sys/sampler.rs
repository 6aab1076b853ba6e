//! Samples what a thread is doing, at the ticks of a timer signal (SIGPROF).
//!
//! If the thread is in compiled code, a sample is the host pc; if it is in a function that compiled code called, the pc of the
//! call; elsewhere the [`Activity`] that the thread last reported. The handler writes to a buffer of its own thread and calls
//! nothing.

use super::arch;
use super::signals;
use super::unix::current_entry;
use crate::Error;
use crate::vm::registry;
use std::cell::Cell;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// What a thread is doing outside compiled code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activity {
    /// Anything else: scheduling, entering code, setting warps up.
    Runtime,
    /// Compiling.
    Compiler,
    /// Interpreting the block of this index.
    Interpreter(u32),
}

/// One sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sample {
    /// In compiled code, at this host address.
    Code(usize),
    /// In a function that compiled code called; the host address is that of the call.
    Helper(usize),
    /// Elsewhere.
    Activity(Activity),
}

/// Samples that a thread can hold between two calls of [`Sampling::take`].
const ROOM: usize = 1 << 15;
/// Words of the stack that are searched for a return address into compiled code.
const MOST_WORDS: usize = 1 << 10;

/// Bytes at the start of code that contain its prologue.
const MOST_PROLOGUE: usize = 64;

const HELPER: u64 = 1 << 62;
const ACTIVITY: u64 = 1 << 63;

impl Activity {
    const COMPILER: u32 = u32::MAX;

    fn encode(self) -> u32 {
        match self {
            Activity::Runtime => 0,
            Activity::Compiler => Self::COMPILER,
            Activity::Interpreter(block) => block + 1,
        }
    }

    fn decode(bits: u32) -> Activity {
        match bits {
            0 => Activity::Runtime,
            Self::COMPILER => Activity::Compiler,
            _ => Activity::Interpreter(bits - 1),
        }
    }
}

impl Sample {
    fn decode(bits: u64) -> Sample {
        match bits {
            ACTIVITY.. => Sample::Activity(Activity::decode(bits as u32)),
            HELPER.. => Sample::Helper((bits & !HELPER) as usize),
            _ => Sample::Code(bits as usize),
        }
    }
}

/// The buffer to which a thread's handler writes.
struct Buffer {
    activity: AtomicU32,
    count: AtomicUsize,
    lost: AtomicU64,
    samples: Box<[AtomicU64]>,
}

thread_local! {
    /// The buffer of the thread that is sampled, or null. Needs no destructor, so a handler may read it.
    static BUFFER: Cell<*const Buffer> = const { Cell::new(std::ptr::null()) };
}

/// Sets what the thread is doing from now on, and returns what it was doing. Very cheap, even while nothing is sampled.
#[inline]
pub fn set_activity(activity: Activity) -> Activity {
    let buffer = BUFFER.get();
    if buffer.is_null() {
        return Activity::Runtime;
    }
    // SAFETY: `Sampling` owns the buffer and makes the pointer null before it goes.
    let before = unsafe { (*buffer).activity.swap(activity.encode(), Ordering::Relaxed) };
    Activity::decode(before)
}

/// Marks our own timers' signals: an address that is unique in the process.
static MARK: u8 = 0;

/// Sampling of the thread that made it, until it is dropped.
pub struct Sampling {
    buffer: Box<Buffer>,
    timer: libc::timer_t,
    /// Belongs to its thread.
    not_send: PhantomData<*const ()>,
}

impl std::fmt::Debug for Sampling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sampling").finish_non_exhaustive()
    }
}

impl Sampling {
    /// Samples this thread so many times a second (of real time; a thread that waits for the processor is sampled once then).
    pub fn start(rate: u32) -> Result<Sampling, Error> {
        install()?;
        let failed = |what: &'static str| Error::os(what, std::io::Error::last_os_error());
        let buffer = Box::new(Buffer {
            activity: AtomicU32::new(0),
            count: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            samples: (0..ROOM).map(|_| AtomicU64::new(0)).collect(),
        });
        let period = 1_000_000_000 / i64::from(rate.clamp(1, 1_000_000));
        // SAFETY: zero is a valid sigevent and itimerspec; pointers are to locals; the timer signals this thread only.
        let timer = unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGPROF;
            event.sigev_value.sival_ptr = (&raw const MARK).cast_mut().cast();
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer: libc::timer_t = std::mem::zeroed();
            if libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer) != 0 {
                return Err(failed("sampling (timer_create)"));
            }
            BUFFER.set(&raw const *buffer);
            let time =
                |ns: i64| libc::timespec { tv_sec: ns / 1_000_000_000, tv_nsec: (ns % 1_000_000_000) as _ };
            let pace = libc::itimerspec { it_interval: time(period), it_value: time(first_sample(period)) };
            if libc::timer_settime(timer, 0, &pace, std::ptr::null_mut()) != 0 {
                let error = failed("sampling (timer_settime)");
                BUFFER.set(std::ptr::null());
                libc::timer_delete(timer);
                return Err(error);
            }
            timer
        };
        Ok(Sampling { buffer, timer, not_send: PhantomData })
    }

    /// Whether it is time for [`Sampling::take`].
    pub fn is_filling(&self) -> bool {
        self.buffer.count.load(Ordering::Relaxed) > ROOM / 2
    }

    /// Passes the samples taken since the last call to `each`. Returns how many were lost because the buffer was full.
    pub fn take(&self, mut each: impl FnMut(Sample)) -> u64 {
        let mut done = 0;
        loop {
            let count = self.buffer.count.load(Ordering::Acquire);
            for sample in &self.buffer.samples[done..count.min(ROOM)] {
                each(Sample::decode(sample.load(Ordering::Relaxed)));
            }
            done = count.min(ROOM);
            // The handler may have added some meanwhile.
            if self.buffer.count.compare_exchange(count, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return self.buffer.lost.swap(0, Ordering::Relaxed);
            }
        }
    }
}

/// Nanoseconds until the first sample. These delays are spread evenly over the period, so that launches shorter than a
/// period get their share of samples, and no part of longer ones is sampled more often.
fn first_sample(period: i64) -> i64 {
    static STARTED: AtomicU32 = AtomicU32::new(1);
    // Multiples of the golden ratio, modulo the period, spread evenly for any number of them.
    let part = STARTED.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9);
    1 + ((i128::from(period) * i128::from(part)) >> 32) as i64
}

impl Drop for Sampling {
    fn drop(&mut self) {
        // SAFETY: our own timer, deleted once. A signal that is still on its way finds no buffer.
        unsafe { libc::timer_delete(self.timer) };
        BUFFER.set(std::ptr::null());
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    }
}

/// The handler that ours replaced.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler, once a process. It is never removed, because a signal may arrive late.
fn install() -> Result<(), Error> {
    static DONE: OnceLock<Result<(), Error>> = OnceLock::new();
    DONE.get_or_init(|| {
        // SAFETY: zero is a valid sigaction; pointers are to locals. The handler reads what is set before it is installed.
        let status = unsafe {
            let mut previous: libc::sigaction = std::mem::zeroed();
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigemptyset(&mut action.sa_mask);
            match libc::sigaction(libc::SIGPROF, std::ptr::null(), &mut previous) {
                0 => {
                    PREVIOUS.get_or_init(|| previous);
                    libc::sigaction(libc::SIGPROF, &action, std::ptr::null_mut())
                }
                failed => failed,
            }
        };
        if status == 0 { Ok(()) } else { Err(Error::os("sampling", std::io::Error::last_os_error())) }
    })
    .clone()
}

/// Takes a sample. Touches the thread's buffer, its stack and the registry of code only.
unsafe extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo; the value is that of our timers where it says so.
    let is_ours = unsafe {
        (*info).si_code == libc::SI_TIMER
            && (*info).si_value().sival_ptr.cast_const() == (&raw const MARK).cast()
    };
    if !is_ours {
        // Unlike a fault, a timer signal that is not ours can simply be ignored.
        if let Some(previous) = PREVIOUS.get().filter(|previous| previous.sa_sigaction != libc::SIG_IGN) {
            // SAFETY: the arguments of this very signal.
            unsafe { signals::call(previous.sa_sigaction, previous.sa_flags, signal, info, context) }
        }
        return;
    }
    let buffer = BUFFER.get();
    if buffer.is_null() {
        return;
    }
    // SAFETY: `Sampling` owns the buffer and makes the pointer null before it goes; the kernel passes a valid context.
    let (buffer, registers) = unsafe { (&*buffer, &*context.cast::<libc::ucontext_t>()) };
    let at = buffer.count.load(Ordering::Relaxed);
    let Some(entry) = buffer.samples.get(at) else {
        buffer.lost.fetch_add(1, Ordering::Relaxed);
        return;
    };
    let pc = arch::pc(registers);
    let sample = if registry::lookup(pc).is_some() {
        pc as u64
    } else if let Some(call) = caller(arch::stack_pointer(registers)) {
        call as u64 | HELPER
    } else {
        u64::from(buffer.activity.load(Ordering::Relaxed)) | ACTIVITY
    };
    entry.store(sample, Ordering::Relaxed);
    buffer.count.store(at + 1, Ordering::Release);
}

/// If a function that compiled code has called is running: the address of the call.
///
/// Where the code's prologue is of a known form, it tells where calls leave their return address. Elsewhere that is the first
/// word on the stack that points into the code; one that an earlier call left behind may be taken for it.
fn caller(stack_pointer: usize) -> Option<usize> {
    let entry = current_entry()?;
    let code = registry::lookup(entry.code as usize)?;
    let top = entry.stack_pointer;
    let words = top.checked_sub(stack_pointer)? / size_of::<usize>();
    let start = std::ptr::with_exposed_provenance::<usize>(stack_pointer);
    // SAFETY: between the interrupted stack pointer and the trampoline's: this thread's own live stack, aligned by the ABI.
    let word = |number: usize| unsafe { start.add(number).read_volatile() };
    // At the start of the code no call has come back yet.
    let call = |value: usize| (value > code.start && value < code.end).then(|| value - 1);
    // SAFETY: code that runs, so it is mapped, and nobody writes it.
    let prologue =
        unsafe { std::slice::from_raw_parts(entry.code, MOST_PROLOGUE.min(code.end - entry.code as usize)) };
    match arch::call_slot(prologue, top) {
        Some(slot) => {
            let number = slot.checked_sub(stack_pointer)? / size_of::<usize>();
            if number < words { call(word(number)) } else { None }
        }
        None => (0..words.min(MOST_WORDS)).find_map(|number| call(word(number))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_survive_their_encoding() {
        for activity in
            [Activity::Runtime, Activity::Compiler, Activity::Interpreter(0), Activity::Interpreter(70_000)]
        {
            assert_eq!(Sample::decode(u64::from(activity.encode()) | ACTIVITY), Sample::Activity(activity));
        }
        assert_eq!(Sample::decode(0x7fff_1234_5678), Sample::Code(0x7fff_1234_5678));
        assert_eq!(Sample::decode(0x7fff_1234_5678 | HELPER), Sample::Helper(0x7fff_1234_5678));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn prologues_tell_where_calls_return_to() {
        // push rbp; mov rbp, rsp; sub rsp, 0x690 (as Cranelift begins).
        let cranelift = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec, 0x90, 0x06, 0, 0, 0x90];
        assert_eq!(arch::call_slot(&cranelift, 0x10000), Some(0x10000 - 8 - 8 - 0x690 - 8));
        // push rbx; push r12; and rsp, -64; sub rsp, 0x40.
        let aligned = [0x53, 0x41, 0x54, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x83, 0xec, 0x40];
        assert_eq!(arch::call_slot(&aligned, 0x10000), Some(0xffc0 - 0x40 - 8));
        // push r15; mov r10, rsp; sub rsp, 0x100; and rsp, -64; mov [rsp + 8], r10 (as the AVX-512 generator begins).
        let behind = [
            0x41, 0x57, 0x4c, 0x8b, 0xd4, 0x48, 0x81, 0xec, 0, 1, 0, 0, 0x48, 0x81, 0xe4, 0xc0, 0xff, 0xff,
            0xff, 0x4c, 0x89, 0x54, 0x24, 0x08,
        ];
        assert_eq!(arch::call_slot(&behind, 0x10000), Some(((0x10000 - 16 - 0x100) & !63) - 8));
        assert_eq!(arch::call_slot(&[0x55, 0x90], 0x10000), None);
        assert_eq!(arch::call_slot(&[0x48, 0x81, 0xec], 0x10000), None);
        assert_eq!(arch::call_slot(&[], 0x10000), None);
    }

    #[test]
    fn work_shorter_than_a_period_is_sampled_in_its_share() {
        let period = 20_000_000;
        let mut firsts: Vec<i64> = (0..100).map(|_| first_sample(period)).collect();
        firsts.sort_unstable();
        assert!(firsts[0] > 0 && firsts[99] <= period, "{firsts:?}");
        for tenth in 0..10 {
            let is_in = |&&first: &&i64| first * 10 / (period + 1) == tenth;
            assert!((5..=15).contains(&firsts.iter().filter(is_in).count()), "{firsts:?}");
        }
        // A millisecond each.
        let mut samples = 0;
        for _ in 0..200 {
            let sampling = Sampling::start(50).expect("a timer");
            let start = std::time::Instant::now();
            while start.elapsed().as_micros() < 1000 {}
            sampling.take(|_| samples += 1);
        }
        assert!(samples > 0);
    }

    #[test]
    fn a_thread_that_works_is_sampled_where_it_says_it_is() {
        let sampling = Sampling::start(5000).expect("a timer");
        assert_eq!(set_activity(Activity::Interpreter(7)), Activity::Runtime);
        let start = std::time::Instant::now();
        let mut counts = std::collections::HashMap::new();
        while counts.get(&Sample::Activity(Activity::Interpreter(7))).copied().unwrap_or(0) < 20 {
            assert!(start.elapsed().as_secs() < 60, "{counts:?}");
            sampling.take(|sample| *counts.entry(sample).or_insert(0) += 1);
        }
        assert_eq!(set_activity(Activity::Runtime), Activity::Interpreter(7));
        assert!(counts.keys().all(|sample| matches!(sample, Sample::Activity(_))), "{counts:?}");
        drop(sampling);
        assert_eq!(set_activity(Activity::Compiler), Activity::Runtime);
    }
}

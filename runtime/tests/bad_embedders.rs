//! What embedders do wrong, or do to launches that run: maps that overlap, host memory that goes away, callbacks that do not come back or
//! panic, code that changes.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use warpjit_frontend::gcn::{Generation, assemble};
use warpjit_runtime::{
    Access, CancelToken, Config, Device, Engine, Error, FaultKind, FileSharing, HostLevel, Isa, Launch,
    Memory, MemoryOptions, OnDrop, PAGE_BYTES, PageFault, Pager, Program, ProgramCache, ProgramOptions,
    QueueOptions, Submission, Tier, WriteWatch,
};

const PAGE: u64 = PAGE_BYTES;
const DATA: u64 = 0x10_0000;
const CODE: u64 = 0x20_0000;
const DEVICE: u64 = 0x80_0000;

fn engines() -> Vec<Engine> {
    let of = |tier, host| Config::default().tier(tier).host(host).threads(2).hot_after(Some(2));
    let configs = [
        of(Tier::Interp, HostLevel::Native),
        of(Tier::Jit, HostLevel::Native),
        of(Tier::Jit, HostLevel::Avx2),
        of(Tier::Auto, HostLevel::Native),
    ];
    configs.into_iter().map(|config| Engine::new(config).unwrap()).collect()
}

fn options() -> ProgramOptions {
    ProgramOptions::new(Isa::Gcn)
        .raw(true)
        .chip(Some(Generation::Gfx8.into()))
        .rsrc1(Some(3 | 2 << 6 | 0xc0 << 12))
        .rsrc2(Some(4 << 1))
}

fn code(text: &str) -> Vec<u8> {
    assemble(text, Generation::Gfx8).unwrap_or_else(|error| panic!("{error}\n{text}")).code
}

/// One wave whose user data are two addresses.
fn launch(one: u64, two: u64) -> Launch {
    let user_data = [one, two].iter().flat_map(|&at| [at as u32, (at >> 32) as u32]).collect();
    Launch::default().grid([1; 3]).block([64, 1, 1]).user_data(user_data)
}

/// Loads the word at the first address, and stores it at the second.
const COPY: &str = "v_mov_b32 v2, s0
    v_mov_b32 v3, s1
    v_mov_b32 v4, s2
    v_mov_b32 v5, s3
    flat_load_dword v6, v[2:3]
    s_waitcnt vmcnt(0) lgkmcnt(0)
    flat_store_dword v[4:5], v6
    s_endpgm";

/// Loads the word at the first address for ever.
const SPIN: &str = "v_mov_b32 v2, s0
    v_mov_b32 v3, s1
    L0:
    flat_load_dword v6, v[2:3] glc
    s_waitcnt vmcnt(0) lgkmcnt(0)
    s_branch L0";

fn program(text: &str) -> Program {
    Program::load(&code(text), &options()).unwrap()
}

struct Silent;

impl Device for Silent {
    fn load(&self, _: u64, _: u8) -> u64 {
        0
    }

    fn store(&self, _: u64, _: u8, _: u64) {}
}

/// Pages of the process.
struct HostPages(*mut u8, usize);

impl HostPages {
    fn new(pages: usize) -> HostPages {
        let (bytes, rights) =
            (pages * PAGE as usize, rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE);
        let flags = rustix::mm::MapFlags::PRIVATE;
        // SAFETY: a new mapping.
        let at = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes, rights, flags) };
        HostPages(at.unwrap().cast(), bytes)
    }

    /// The pages go; nothing else comes there.
    fn vanish(&self) {
        let flags = rustix::mm::MapFlags::PRIVATE | rustix::mm::MapFlags::FIXED;
        let none = rustix::mm::ProtFlags::empty();
        // SAFETY: replaces the mapping of `new`.
        unsafe { rustix::mm::mmap_anonymous(self.0.cast(), self.1, none, flags) }.unwrap();
    }
}

impl Drop for HostPages {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, or of `vanish`.
        unsafe { rustix::mm::munmap(self.0.cast(), self.1) }.unwrap();
    }
}

/// Maps something at an address.
type MapAt<'a> = Box<dyn Fn(u64) -> Result<u64, Error> + 'a>;

/// Maps of all kinds at an address.
fn maps<'a>(memory: &'a Memory, pages: &'a HostPages) -> [(&'static str, MapAt<'a>); 6] {
    let both = Access::ReadWrite;
    let file = rustix::fs::memfd_create("warpjit-test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&file, 2 * PAGE).unwrap();
    let source = memory.map_shared(None, 2 * PAGE, both).unwrap();
    [
        ("map", Box::new(move |at| memory.map(Some(at), 2 * PAGE, both))),
        ("map_shared", Box::new(move |at| memory.map_shared(Some(at), 2 * PAGE, both))),
        (
            "map_file",
            Box::new(move |at| {
                memory.map_file(Some(at), file.as_fd(), 0, 2 * PAGE, both, FileSharing::Shared)
            }),
        ),
        (
            "map_host",
            // SAFETY: the pages live longer than the memory.
            Box::new(move |at| unsafe { memory.map_host(Some(at), pages.0, 2 * PAGE, both) }),
        ),
        ("map_alias", Box::new(move |at| memory.map_alias(Some(at), source, 2 * PAGE, both))),
        ("map_device", Box::new(move |at| memory.map_device(Some(at), 2 * PAGE, Arc::new(Silent)))),
    ]
}

#[test]
fn maps_that_overlap_are_refused_and_change_nothing() {
    let pages = HostPages::new(2);
    let memory = Memory::new().unwrap();
    let maps = maps(&memory, &pages);
    for (first, there) in &maps {
        for (second, more) in &maps {
            assert_eq!(there(DATA).unwrap(), DATA);
            let all: Vec<_> = memory.buffers().collect();
            let is_plain = *first != "map_device";
            if is_plain {
                memory.store(DATA + PAGE, 4, 77).unwrap();
            }
            for at in [DATA - PAGE, DATA, DATA + PAGE] {
                let error = more(at).unwrap_err().to_string();
                let names = |address: u64| error.contains(&format!("{address:#x}"));
                assert!(names(at) && names(DATA), "{second} over {first}: {error}");
            }
            assert!(memory.buffers().eq(all), "{second} over {first}");
            if is_plain {
                assert_eq!(memory.load(DATA + PAGE, 4).unwrap(), 77, "{second} over {first}");
            }
            memory.unmap(DATA).unwrap();
        }
    }
    drop(maps);
    drop(memory);
}

#[test]
fn host_memory_that_goes_away_under_a_launch_is_a_fault() {
    let spin = program(SPIN);
    for engine in engines() {
        for options in [MemoryOptions::new(), MemoryOptions::new().identity()] {
            let pages = HostPages::new(1);
            let memory = Memory::with(&options).unwrap();
            // SAFETY: what is gone is found out by the accesses.
            let at = unsafe { memory.map_host(None, pages.0, PAGE, Access::ReadWrite) }.unwrap();
            std::thread::scope(|scope| {
                let running = scope.spawn(|| engine.run(&spin, &memory, &launch(at, at)));
                // It is in its loop, or about to be: both must end in the fault.
                std::thread::sleep(Duration::from_millis(20));
                assert!(!running.is_finished());
                pages.vanish();
                // In a space of identity, the code of the launch is no segment; elsewhere it is mapped for it.
                let fault = running.join().unwrap().unwrap().fault.unwrap();
                assert_eq!((fault.kind, fault.address), (FaultKind::Memory, Some(at)));
            });
            assert!(memory.load(at, 4).is_err());
            memory.unmap(at).unwrap();
        }
    }
}

/// A device that does not come back before it may.
#[derive(Default)]
struct Stuck {
    may_go: Mutex<bool>,
    changed: Condvar,
    is_inside: AtomicBool,
}

impl Stuck {
    fn wait_until_inside(&self) {
        while !self.is_inside.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
    }

    fn let_go(&self) {
        *self.may_go.lock().unwrap() = true;
        self.changed.notify_all();
    }
}

impl Device for Stuck {
    fn load(&self, _: u64, _: u8) -> u64 {
        self.is_inside.store(true, Ordering::SeqCst);
        let mut may_go = self.may_go.lock().unwrap();
        while !*may_go {
            may_go = self.changed.wait(may_go).unwrap();
        }
        5
    }

    fn store(&self, _: u64, _: u8, _: u64) {}
}

#[test]
fn others_go_on_while_a_callback_does_not_come_back() {
    let (copy, spin) = (program(COPY), program(SPIN));
    for engine in engines() {
        let memory = Memory::new().unwrap();
        memory.map(Some(DATA), PAGE, Access::ReadWrite).unwrap();
        memory.store(DATA, 4, 9).unwrap();
        let device = Arc::new(Stuck::default());
        memory.map_device(Some(DEVICE), PAGE, device.clone()).unwrap();
        let (stuck, other) = (engine.queue(QueueOptions::new()), engine.queue(QueueOptions::new()));
        let submit = |from, to| Submission::launch(&copy, &memory, launch(from, to));
        let ticket = stuck.submit(submit(DEVICE, DATA + 8));
        let next = stuck.submit(submit(DATA, DATA + 16));
        let late = stuck.submit(submit(DATA, DATA + 24).within(Duration::from_millis(30)));
        device.wait_until_inside();
        // Neither the queue nor who waits for a time is stuck.
        assert!(ticket.wait_timeout(Duration::from_millis(5)).is_none());
        assert!(matches!(late.wait(), Err(Error::Deadline)));
        next.cancel();
        assert!(matches!(next.wait(), Err(Error::Cancelled)));
        // Nor are other queues, threads, and changes of the memory.
        assert_eq!(other.submit(submit(DATA, DATA + 32)).wait().unwrap().fault, None);
        assert_eq!(engine.run(&copy, &memory, &launch(DATA, DATA + 40)).unwrap().fault, None);
        let page = memory.map(None, PAGE, Access::ReadWrite).unwrap();
        memory.unmap(page).unwrap();
        memory.unmap(DEVICE).unwrap();
        assert_eq!([8, 16, 24, 32, 40].map(|at| memory.load(DATA + at, 4).unwrap()), [0, 0, 0, 9, 9]);
        // What is cancelled ends when the callback comes back. A queue may be dropped before that.
        ticket.cancel();
        drop(stuck);
        assert!(!ticket.poll());
        device.let_go();
        // The first lane's load is answered; for the next one there is no device any more, unless the launch was stopped before.
        match ticket.wait() {
            Ok(report) => {
                let fault = report.fault.map(|fault| (fault.kind, fault.address, fault.lane));
                let expected = fault == Some((FaultKind::Memory, Some(DEVICE), 1));
                assert!(expected || fault.is_none() && report.cancelled, "{fault:?}");
            }
            Err(error) => assert!(matches!(error, Error::Cancelled), "{error}"),
        }
        assert_eq!(memory.load(DATA + 8, 4).unwrap(), 0);
        // The engine is as before.
        let cancel = CancelToken::new();
        let launch = launch(DATA, DATA).cancel(Some(cancel.clone()));
        std::thread::scope(|scope| {
            let running = scope.spawn(|| engine.run(&spin, &memory, &launch).unwrap());
            std::thread::sleep(Duration::from_millis(5));
            cancel.cancel();
            assert!(running.join().unwrap().cancelled);
        });
    }
}

#[test]
fn queues_dropped_while_their_callback_is_stuck_cancel_the_rest() {
    let copy = program(COPY);
    for engine in engines() {
        let memory = Memory::new().unwrap();
        memory.map(Some(DATA), PAGE, Access::ReadWrite).unwrap();
        memory.store(DATA, 4, 9).unwrap();
        let device = Arc::new(Stuck::default());
        memory.map_device(Some(DEVICE), PAGE, device.clone()).unwrap();
        let queue = engine.queue(QueueOptions::new().on_drop(OnDrop::Cancel));
        let submit = |from, to| Submission::launch(&copy, &memory, launch(from, to));
        let first = queue.submit(submit(DEVICE, DATA + 8));
        let rest: Vec<_> = (0..10).map(|_| queue.submit(submit(DATA, DATA + 16))).collect();
        device.wait_until_inside();
        let start = Instant::now();
        drop(queue);
        assert!(rest.iter().all(|ticket| matches!(ticket.wait(), Err(Error::Cancelled))));
        // Nobody has waited for the callback.
        assert!(!first.poll() && start.elapsed() < Duration::from_secs(10));
        device.let_go();
        let _ = first.wait();
        assert_eq!(memory.load(DATA + 16, 4).unwrap(), 0);
    }
}

struct Panics(&'static str);

impl Pager for Panics {
    fn page_fault(&self, _: &Memory, _: &PageFault) -> bool {
        std::panic::panic_any(self.0)
    }
}

impl WriteWatch for Panics {
    fn before_write(&self, _: u64) {
        std::panic::panic_any(self.0)
    }
}

#[test]
fn panics_of_pagers_and_watches_come_out_where_it_is_waited_for() {
    let copy = program(COPY);
    for engine in engines() {
        let memory = Memory::new().unwrap();
        memory.map(Some(DATA), PAGE, Access::ReadWrite).unwrap();
        let told = |work: &dyn Fn()| {
            let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_err();
            *payload.downcast_ref::<&str>().unwrap()
        };
        let queue = engine.queue(QueueOptions::new());
        let run = |from, to| drop(engine.run(&copy, &memory, &launch(from, to)));
        let wait = |from, to| drop(queue.submit(Submission::launch(&copy, &memory, launch(from, to))).wait());
        memory.set_pager(Some(Arc::new(Panics("of the pager")))).unwrap();
        assert_eq!(told(&|| run(DEVICE, DATA)), "of the pager");
        assert_eq!(told(&|| wait(DEVICE, DATA)), "of the pager");
        memory.set_pager(None).unwrap();
        memory.watch_writes(DATA..DATA + PAGE, Some(Arc::new(Panics("of the watch")))).unwrap();
        assert_eq!(told(&|| run(DATA, DATA + 8)), "of the watch");
        assert_eq!(told(&|| wait(DATA, DATA + 8)), "of the watch");
        memory.watch_writes(DATA..DATA + PAGE, None).unwrap();
        memory.store(DATA, 4, 6).unwrap();
        assert_eq!(engine.run(&copy, &memory, &launch(DATA, DATA + 8)).unwrap().fault, None);
        assert_eq!(memory.load(DATA + 8, 4).unwrap(), 6);
    }
}

/// Adds a number, and then the same number again, while the word at the first address is 0; stores at the second address the sum and how
/// often it goes round.
fn adds(number: u32) -> Vec<u8> {
    code(&format!(
        "v_mov_b32 v2, s0
        v_mov_b32 v3, s1
        v_mov_b32 v4, s2
        v_mov_b32 v5, s3
        v_mov_b32 v6, 0
        v_mov_b32 v7, 0
        L0:
        v_add_u32 v6, vcc, {number:#x}, v6
        v_add_u32 v7, vcc, 1, v7
        flat_store_dwordx2 v[4:5], v[6:7]
        flat_load_dword v8, v[2:3] glc
        s_waitcnt vmcnt(0) lgkmcnt(0)
        v_add_u32 v6, vcc, {number:#x}, v6
        v_cmp_eq_u32 vcc, 0, v8
        s_cbranch_vccnz L0
        flat_store_dwordx2 v[4:5], v[6:7]
        s_waitcnt vmcnt(0) lgkmcnt(0)
        s_endpgm"
    ))
}

#[test]
fn code_that_changes_under_a_launch_is_the_old_one_or_the_new_one() {
    const OLD: u32 = 0x1_0001;
    const NEW: u32 = 0x7_0003;
    for engine in engines() {
        let memory = Memory::new().unwrap();
        memory.map(Some(DATA), PAGE, Access::ReadWrite).unwrap();
        memory.map(Some(CODE), PAGE, Access::ReadWrite).unwrap();
        memory.write(CODE, &adds(OLD)).unwrap();
        let cache = ProgramCache::new(1 << 20);
        let result = || {
            let both = memory.load(DATA + 8, 8).unwrap();
            (both as u32, (both >> 32) as u32)
        };
        let old = cache.get(&memory, CODE, &options()).unwrap();
        let out = |n: u64| DATA + 16 + 8 * n;
        std::thread::scope(|scope| {
            // Some run when the code changes, others begin at that moment.
            let runs: Vec<_> = (0..3)
                .map(|n| {
                    let (engine, old, memory) = (&engine, &old, &memory);
                    scope.spawn(move || {
                        std::thread::sleep(Duration::from_millis(5 * n));
                        let report = engine.run(old, memory, &launch(DATA, out(n))).unwrap();
                        assert_eq!(report.fault, None);
                        let both = memory.load(out(n), 8).unwrap();
                        let (sum, count) = (both as u32, (both >> 32) as u32);
                        assert_eq!(sum, count.wrapping_mul(2 * OLD), "{count} rounds");
                    })
                })
                .collect();
            // At least so often, and until all of them run.
            let all_run =
                || (0..3).all(|n| memory.load(out(n), 8).unwrap() != 0 || runs[n as usize].is_finished());
            let mut times = 0;
            while times < 20 || !all_run() {
                for number in [NEW, OLD, NEW] {
                    memory.write(CODE, &adds(number)).unwrap();
                    std::thread::sleep(Duration::from_micros(300));
                }
                times += 1;
            }
            memory.store(DATA, 4, 1).unwrap();
            runs.into_iter().for_each(|run| run.join().unwrap());
        });
        assert!(!old.is_current(&memory));
        cache.flush();
        let new = cache.get(&memory, CODE, &options()).unwrap();
        assert_eq!(engine.run(&new, &memory, &launch(DATA, DATA + 8)).unwrap().fault, None);
        assert_eq!(result(), (2 * NEW, 1));
        // Who has the old program still has it.
        assert_eq!(engine.run(&old, &memory, &launch(DATA, DATA + 8)).unwrap().fault, None);
        assert_eq!(result(), (2 * OLD, 1));
    }
}

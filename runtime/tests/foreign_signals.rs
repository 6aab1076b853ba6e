//! Tests that signals which are not ours do what they would do without us, and that ours reach us, whoever installed handlers
//! first or later. Each case runs in a child process: this test binary starts itself with an environment variable set.

mod support;

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::time::Duration;

use support::{child, launch, program, run};
use warpjit_runtime::{Config, Engine, Fault, FaultKind, Signals, Tier};

const CASE: &str = "WARPJIT_SIGNAL_CASE";

/// How often a handler of the embedder's was called with a fault of its own, and with one that is none of its own.
static OWN: AtomicUsize = AtomicUsize::new(0);
static OTHERS: AtomicUsize = AtomicUsize::new(0);
/// Where it was called.
static STACK_AT: AtomicUsize = AtomicUsize::new(0);
/// Whether SIGUSR1 and SIGSEGV were blocked while it ran.
static BLOCKED: AtomicI32 = AtomicI32::new(-1);

/// The page that the embedder handles faults of by itself.
static OWN_PAGE: AtomicUsize = AtomicUsize::new(0);

/// Stores to guest memory where nothing is mapped.
const FAULTS: &str = "
    slot s0: i32 tid = tid.x
block0 at 0x8 insts 1:
    v0: i32 = slot.get s0
    store.u32 global0[v0 + 0x7000000], v0 align 1
    jump block1
block1 at 0x10 insts 1:
    leave.exit -> block1
";

fn action(handler: usize, flags: i32) -> libc::sigaction {
    // SAFETY: a zeroed sigaction is valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    action
}

/// Installs an action; gives what was there.
fn install_action(action: &libc::sigaction) -> libc::sigaction {
    install_for(libc::SIGSEGV, action)
}

/// The same for any signal.
fn install_for(signal: i32, action: &libc::sigaction) -> libc::sigaction {
    // SAFETY: a valid action with a handler of the type that its flags name; pointers are to locals.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        assert_eq!(libc::sigaction(signal, action, &mut before), 0);
        before
    }
}

fn install(handler: usize, flags: i32) -> libc::sigaction {
    install_action(&action(handler, flags))
}

fn exit(code: i32) -> ! {
    // SAFETY: ends the process; allowed in a handler.
    unsafe { libc::_exit(code) }
}

unsafe extern "C" fn plain(_: i32) {
    exit(43)
}

/// As the handler of Rust's standard library for what is no overflow of a stack: the default action, and the instruction again.
unsafe extern "C" fn gives_up(_: i32) {
    install(libc::SIG_DFL, 0);
}

unsafe extern "C" fn detailed(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: valid in a SA_SIGINFO handler.
    exit(if unsafe { (*info).si_addr() } as usize == 0x10 { 44 } else { 45 })
}

fn fault() {
    // SAFETY: none; the process is to die here, or a handler makes the page accessible.
    unsafe { std::ptr::without_provenance::<u32>(std::hint::black_box(0x10)).read_volatile() };
}

/// Maps a page without rights that [`fastmem`] gives rights to.
fn own_page() -> *const u32 {
    // SAFETY: a new mapping.
    let page = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            4096,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    OWN_PAGE.store(page as usize, Ordering::SeqCst);
    page.cast()
}

/// Faults on the embedder's page, which its handler makes accessible.
fn touch_own_page() {
    let page = own_page();
    let before = OWN.load(Ordering::SeqCst);
    // SAFETY: mapped, and readable as soon as the handler has run.
    assert_eq!(unsafe { page.read_volatile() }, 0);
    assert_eq!(OWN.load(Ordering::SeqCst), before + 1);
}

/// What a fault on the embedder's own page does; `false` where it is none.
unsafe fn is_own(info: *mut libc::siginfo_t) -> bool {
    let (here, mut set) = (0u8, std::mem::MaybeUninit::uninit());
    STACK_AT.store((&raw const here) as usize, Ordering::SeqCst);
    // SAFETY: system calls with pointers to locals; `info` is valid.
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), set.as_mut_ptr());
        let is = |signal| libc::sigismember(set.as_ptr(), signal);
        BLOCKED.store(is(libc::SIGUSR1) | is(libc::SIGSEGV) << 1, Ordering::SeqCst);
        let page = OWN_PAGE.load(Ordering::SeqCst);
        if page == 0 || (*info).si_addr() as usize & !4095 != page {
            return false;
        }
        libc::mprotect(page as *mut libc::c_void, 4096, libc::PROT_READ);
    }
    OWN.fetch_add(1, Ordering::SeqCst);
    true
}

/// Counts the signals it gets.
unsafe extern "C" fn counting(_: i32) {
    OWN.fetch_add(1, Ordering::SeqCst);
}

/// A handler as emulators have it: it knows its own page and hands nothing else on.
unsafe extern "C" fn fastmem(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the arguments of this signal.
    if !unsafe { is_own(info) } {
        OTHERS.fetch_add(1, Ordering::SeqCst);
        exit(46)
    }
}

static mut BEFORE: std::mem::MaybeUninit<libc::sigaction> = std::mem::MaybeUninit::uninit();

/// The same, but it hands on what it does not know to the handler that it has replaced.
unsafe extern "C" fn chained(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the arguments of this signal; the action was written before this was installed, and has a handler of the type that its
    // flags name.
    unsafe {
        if is_own(info) {
            return;
        }
        OTHERS.fetch_add(1, Ordering::SeqCst);
        let before = (&raw const BEFORE).read().assume_init();
        match before.sa_sigaction {
            libc::SIG_DFL => exit(47),
            handler => {
                let handler: unsafe extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                    std::mem::transmute(handler);
                handler(signal, info, context);
            }
        }
    }
}

/// The same for an embedder that calls the engine.
unsafe extern "C" fn asking(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the arguments of this signal.
    unsafe {
        if is_own(info) {
            return;
        }
        OTHERS.fetch_add(1, Ordering::SeqCst);
        if !warpjit_runtime::handle_signal(signal, info, context) {
            exit(48)
        }
    }
}

fn install_chained(flags: i32) {
    let before = install(chained as *const () as usize, libc::SA_SIGINFO | flags);
    // SAFETY: no signal comes before the next line that could read it.
    unsafe { (&raw mut BEFORE).write(std::mem::MaybeUninit::new(before)) };
}

fn engine() -> Engine {
    Engine::new(Config::default().tier(Tier::Jit).threads(1)).expect("an engine")
}

/// The fault of a guest, in compiled code.
fn guest_fault(engine: &Engine) -> Fault {
    let (report, _) = run(engine, &program(FAULTS), &launch(1, 32), 16).expect("runs");
    assert_eq!(report.stats.not_compiled, None);
    report.fault.expect("a fault")
}

fn guest_faults(engine: &Engine) {
    let fault = guest_fault(engine);
    assert_eq!((fault.kind, fault.pc, fault.address), (FaultKind::Memory, 0x8, Some(0x700_0000)));
}

/// A stack for signals of this thread, of the embedder's.
fn own_stack() -> std::ops::Range<usize> {
    const BYTES: usize = 128 << 10;
    let start = Box::leak(vec![0u8; BYTES].into_boxed_slice()).as_mut_ptr();
    let stack = libc::stack_t { ss_sp: start.cast(), ss_flags: 0, ss_size: BYTES };
    // SAFETY: memory that lives for ever.
    assert_eq!(unsafe { libc::sigaltstack(&stack, std::ptr::null_mut()) }, 0);
    start as usize..start as usize + BYTES
}

/// The child's part.
fn misbehave(case: &str) {
    let fast = |flags| install(fastmem as *const () as usize, libc::SA_SIGINFO | flags);
    let here = 0u8;
    let main_stack = (&raw const here) as usize;
    match case {
        // What ends the process.
        "plain" | "detailed" | "default" | "ignored" | "reset" => {
            match case {
                "plain" => install(plain as *const () as usize, 0),
                "detailed" => install(detailed as *const () as usize, libc::SA_SIGINFO),
                "ignored" => install(libc::SIG_IGN, 0),
                "reset" => fast(libc::SA_RESETHAND),
                _ => install(libc::SIG_DFL, 0),
            };
            let engine = engine();
            guest_faults(&engine);
            if case == "reset" {
                touch_own_page();
                guest_faults(&engine);
                OWN_PAGE.store(0, Ordering::SeqCst);
            }
            fault();
        }
        "sent" | "sent-plain" => {
            install(if case == "sent" { libc::SIG_DFL } else { plain as *const () as usize }, 0);
            let _engine = engine();
            // SAFETY: sends a signal to this thread.
            unsafe { libc::raise(libc::SIGSEGV) };
        }
        "gives-up-twice" | "gives-up-and-faults" => {
            install(gives_up as *const () as usize, 0);
            let _engine = engine();
            // SAFETY: as above.
            unsafe { libc::raise(libc::SIGSEGV) };
            if case == "gives-up-twice" {
                // SAFETY: as above.
                unsafe { libc::raise(libc::SIGSEGV) };
            }
            fault();
        }
        // What does not.
        "gives-up" => {
            install(gives_up as *const () as usize, 0);
            let engine = engine();
            let ours = install_action(&action(libc::SIG_DFL, 0));
            install_action(&ours);
            for _ in 0..2 {
                // SAFETY: as above.
                unsafe { libc::raise(libc::SIGSEGV) };
                // Ours is there without a launch that would look for it.
                let now = install_action(&ours);
                assert_eq!(now.sa_sigaction, ours.sa_sigaction);
                guest_faults(&engine);
                install(gives_up as *const () as usize, 0);
                guest_faults(&engine);
            }
            exit(0)
        }
        "sent-ignored" => {
            install(libc::SIG_IGN, 0);
            let engine = engine();
            for _ in 0..3 {
                // SAFETY: as above.
                unsafe { libc::raise(libc::SIGSEGV) };
                guest_faults(&engine);
            }
            exit(0)
        }
        "before" => {
            fast(0);
            let engine = engine();
            for _ in 0..3 {
                guest_faults(&engine);
                touch_own_page();
            }
            assert_eq!(OTHERS.load(Ordering::SeqCst), 0);
            exit(0)
        }
        "after" | "after-chained" => {
            let engine = engine();
            guest_faults(&engine);
            // Nothing of ours is left.
            std::thread::sleep(Duration::from_micros(50));
            if case == "after" {
                let _ = fast(0);
            } else {
                install_chained(0)
            }
            for _ in 0..3 {
                guest_faults(&engine);
                touch_own_page();
            }
            exit(0)
        }
        // One of the signals besides that of faults of guest memory has been taken from us. The next launch takes it back.
        "after-other" => {
            let engine = engine();
            guest_faults(&engine);
            for (count, signal) in (1..).zip([libc::SIGBUS, libc::SIGILL, libc::SIGFPE]) {
                let theirs = action(counting as *const () as usize, 0);
                let ours = install_for(signal, &theirs);
                std::thread::sleep(Duration::from_micros(50));
                guest_faults(&engine);
                // SAFETY: zero is a valid sigaction; pointers are to locals.
                let there = unsafe {
                    let mut now: libc::sigaction = std::mem::zeroed();
                    libc::sigaction(signal, std::ptr::null(), &mut now);
                    now.sa_sigaction
                };
                assert_eq!(there, ours.sa_sigaction, "signal {signal}");
                // SAFETY: sends a signal to this thread.
                unsafe { libc::raise(signal) };
                assert_eq!(OWN.load(Ordering::SeqCst), count, "what is none of ours is handed on");
            }
            exit(0)
        }
        // Launches follow one another so closely that they do not look each time.
        "at-once" => {
            let engine = engine();
            let kernel = program(FAULTS);
            let memory = engine.memory().expect("memory");
            for round in 0..50 {
                if round % 2 == 1 {
                    fast(0);
                    engine.ensure_handlers().expect("handlers");
                }
                let report = engine.run(&kernel, &memory, &launch(1, 32)).expect("runs");
                assert_eq!(report.fault.map(|fault| fault.pc), Some(0x8));
            }
            exit(0)
        }
        // Both know of each other: what neither knows ends the process, and does not go round.
        "round" => {
            let engine = engine();
            install_chained(0);
            guest_faults(&engine);
            touch_own_page();
            OWN_PAGE.store(0, Ordering::SeqCst);
            fault();
        }
        "asked" => {
            install(asking as *const () as usize, libc::SA_SIGINFO);
            let engine = Engine::new(Config::default().tier(Tier::Jit).threads(2).signals(Signals::Embedder))
                .expect("an engine");
            for round in 1..4 {
                guest_faults(&engine);
                touch_own_page();
                assert_eq!(OTHERS.load(Ordering::SeqCst), round);
            }
            // SAFETY: zero is a valid sigaction; pointers are to locals.
            let there = unsafe {
                let mut now: libc::sigaction = std::mem::zeroed();
                libc::sigaction(libc::SIGSEGV, std::ptr::null(), &mut now);
                now.sa_sigaction
            };
            assert_eq!(there, asking as *const () as usize, "nobody else was installed");
            exit(0)
        }
        // A handler that knows nothing of the engine runs as if it were alone: on its stack, with its mask.
        "own-stack" | "no-stack" | "mask" | "no-defer" => {
            let mut wanted = action(fastmem as *const () as usize, libc::SA_SIGINFO);
            match case {
                "own-stack" => wanted.sa_flags |= libc::SA_ONSTACK,
                "no-defer" => wanted.sa_flags |= libc::SA_NODEFER,
                // SAFETY: a set of zeros is an empty one.
                "mask" => unsafe { assert_eq!(libc::sigaddset(&mut wanted.sa_mask, libc::SIGUSR1), 0) },
                _ => {}
            }
            let stack = own_stack();
            install_action(&wanted);
            let engine = engine();
            for _ in 0..2 {
                guest_faults(&engine);
                touch_own_page();
                let at = STACK_AT.load(Ordering::SeqCst);
                assert_eq!(stack.contains(&at), case == "own-stack");
                assert_eq!(at.abs_diff(main_stack) < 1 << 20, case != "own-stack");
                let blocked = BLOCKED.load(Ordering::SeqCst);
                assert_eq!((blocked & 1 != 0, blocked & 2 != 0), (case == "mask", case != "no-defer"));
            }
            exit(0)
        }
        "threads" => {
            let engine = engine();
            fast(0);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..20 {
                            guest_faults(&engine);
                        }
                    });
                }
            });
            touch_own_page();
            exit(0)
        }
        // Without signals nothing is installed, and guests fault all the same.
        "checked" => {
            fast(0);
            let checked = Config::default().tier(Tier::Jit).threads(1).checked_memory(true);
            let engine = Engine::new(checked).expect("an engine");
            guest_faults(&engine);
            touch_own_page();
            let before = fast(0);
            assert_eq!(before.sa_sigaction, fastmem as *const () as usize);
            assert_eq!(OTHERS.load(Ordering::SeqCst), 0);
            exit(0)
        }
        other => panic!("no case {other}"),
    }
    std::process::exit(1);
}

fn in_child(test: &str, case: &str) -> ExitStatus {
    child(test, CASE, case)
}

#[test]
fn reach_the_handler_that_was_there() {
    if let Ok(case) = std::env::var(CASE) {
        misbehave(&case);
    }
    let run = |case: &str| in_child("reach_the_handler_that_was_there", case);
    assert_eq!(run("plain").code(), Some(43));
    assert_eq!(run("detailed").code(), Some(44));
    assert_eq!(run("sent-plain").code(), Some(43));
    // Where a handler is called once only, or a fault is ignored, the kernel ends the process.
    for case in ["default", "sent", "ignored", "reset", "round", "gives-up-twice", "gives-up-and-faults"] {
        assert_eq!(run(case).signal(), Some(libc::SIGSEGV), "{case}");
    }
}

#[test]
fn ours_and_those_of_the_embedder_get_along() {
    if let Ok(case) = std::env::var(CASE) {
        misbehave(&case);
    }
    let run = |case: &str| in_child("ours_and_those_of_the_embedder_get_along", case);
    for case in [
        "before",
        "after",
        "after-chained",
        "after-other",
        "asked",
        "own-stack",
        "no-stack",
        "mask",
        "no-defer",
        "threads",
        "checked",
        "sent-ignored",
        "gives-up",
        "at-once",
    ] {
        assert_eq!(run(case).code(), Some(0), "{case}");
    }
}

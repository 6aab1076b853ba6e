//! Tests launches from threads and fibers with small stacks: compiled code never touches memory beyond its stack.

mod support;

use std::fmt::Write;

use support::{launch, program, run};
use warpjit_runtime::{Config, Engine, HostLevel, Program, Tier};

/// A stack that a guest's fiber would have.
const SMALL_BYTES: usize = 64 << 10;

/// A program with so many values alive at a time that most are on the stack: it loads them, meets, and stores their combinations.
fn hungry(values: usize) -> Program {
    let mut body = String::from(
        "    slot s0: i32 tid = tid.x\nblock0 at 0x0 insts 4:\n    v0: i32 = slot.get s0\n    v1: ui32 = const 2\n    v2: i32 = ishl v0, v1\n",
    );
    for n in 0..values {
        writeln!(body, "    v{}: i32 = load.u32 global0[v2 + {:#x}] align 4", 3 + n, 0x1_0000 + 128 * n)
            .expect("text");
    }
    // Each is used twice, in opposite orders: none is done with before the first is.
    let mut sum = 3;
    for (next, n) in (3 + values..).zip((0..values).chain((0..values).rev())) {
        let op = if n % 3 == 0 { "ixor" } else { "iadd" };
        writeln!(body, "    v{next}: i32 = {op} v{sum}, v{}", 3 + n).expect("text");
        sum = next;
    }
    writeln!(
        body,
        "    store.u32 global0[v2 + {:#x}], v{sum} align 4\n    jump block1",
        0x1_0000 + 128 * values
    )
    .expect("text");
    body += "block1 at 0x40 insts 1:\n    leave.exit -> block1\n";
    program(&body)
}

fn results(engine: &Engine, kernel: &Program, values: usize) -> Vec<u32> {
    let (report, out) = run(engine, kernel, &launch(1, 32), 32 * (values + 1)).expect("runs");
    assert_eq!(report.fault, None);
    out
}

fn engines() -> Vec<(Config, Engine)> {
    let base = Config::default().threads(1);
    let of = |config: Config| (config.clone(), Engine::new(config).expect("an engine"));
    vec![
        of(base.clone().tier(Tier::Interp)),
        of(base.clone().tier(Tier::Jit)),
        of(base.clone().tier(Tier::Jit).host(HostLevel::Avx2)),
        of(base.clone().tier(Tier::Jit).host(HostLevel::Sse41).chunk_groups(Some(4))),
        of(base.clone().tier(Tier::Jit).checked_memory(true)),
        of(base.tier(Tier::Auto).hot_after(Some(0))),
    ]
}

#[test]
fn threads_with_small_stacks_launch() {
    for values in [40, 200] {
        let kernel = hungry(values);
        let want = results(&engines()[0].1, &kernel, values);
        for (config, engine) in &engines() {
            std::thread::scope(|scope| {
                let small = std::thread::Builder::new().stack_size(SMALL_BYTES);
                let thread =
                    small.spawn_scoped(scope, || results(engine, &kernel, values)).expect("a thread");
                assert_eq!(thread.join().expect("ends"), want, "{config:?}");
            });
        }
    }
}

/// A context as fibers have it: `work` runs on a stack in the midst of other memory, all of which must stay as it was but for the stack.
fn in_a_fiber(work: fn()) {
    static mut MAIN: std::mem::MaybeUninit<libc::ucontext_t> = std::mem::MaybeUninit::uninit();
    static WORK: std::sync::Mutex<Option<fn()>> = std::sync::Mutex::new(None);
    extern "C" fn body() {
        let work = WORK.lock().expect("ours").take().expect("work");
        work();
        // SAFETY: the context that switched here.
        unsafe { libc::setcontext((&raw const MAIN).cast()) };
    }
    const FILL: u8 = 0x5a;
    // No page without rights: below the stack lies a neighbour's memory.
    let mut memory = vec![FILL; 1 << 20];
    let stack = memory.len() - SMALL_BYTES..memory.len();
    *WORK.lock().expect("ours") = Some(work);
    // SAFETY: contexts are filled in before they are used; the stack lives until the fiber is done.
    unsafe {
        let mut fiber: libc::ucontext_t = std::mem::zeroed();
        assert_eq!(libc::getcontext(&mut fiber), 0);
        fiber.uc_stack.ss_sp = memory.as_mut_ptr().add(stack.start).cast();
        fiber.uc_stack.ss_size = stack.len();
        libc::makecontext(&mut fiber, body, 0);
        assert_eq!(libc::swapcontext((&raw mut MAIN).cast(), &fiber), 0);
    }
    assert!(memory[..stack.start].iter().all(|&byte| byte == FILL), "the neighbour's memory");
}

#[test]
fn fibers_launch_and_leave_their_neighbours_alone() {
    in_a_fiber(|| {
        // As much as a test may take of a fiber's stack, and more, is the engine's business.
        let kernel = hungry(200);
        let mut want = Vec::new();
        for (config, engine) in &engines() {
            let out = results(engine, &kernel, 200);
            if want.is_empty() {
                want.clone_from(&out);
            }
            assert_eq!(out, want, "{config:?}");
        }
    });
}

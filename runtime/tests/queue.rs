//! Queues: order, dependencies, cancelling, deadlines, callbacks, batches, and what becomes of work when a queue goes.

mod support;

use std::error::Error as _;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use support::{launch, program, words_of};
use warpjit_ir::{Segment, SegmentSize};
use warpjit_runtime::{
    Access, Arg, Config, DependencyError, Dispatch, Engine, Error, FaultKind, Idle, Launch, LaunchError,
    Memory, OnDrop, Priority, Program, Queue, QueueOptions, SaveToken, Submission, Ticket, Tier,
};

/// Stores argument 1 at argument 0.
const STORE: &str = "
block0 at 0x0 insts 2:
    v0: ui32 = const 0
    v1: i32 = splat v0
    v2: i32 = load.u32 shared[v1 + 0x10] align 4
    v3: i32 = load.u32 shared[v1 + 0x14] align 4
    store.u32 global14[v2 + 0x0], v3 align 4
    jump block1
block1 at 0x28 insts 1:
    leave.exit -> block1
";

/// Adds argument 1 to the word at argument 0, a block with one thread at a time.
const ADD: &str = "
block0 at 0x0 insts 2:
    v0: ui32 = const 0
    v1: i32 = splat v0
    v2: i32 = load.u32 shared[v1 + 0x10] align 4
    v3: i32 = load.u32 shared[v1 + 0x14] align 4
    v4: i32 = atomic.u32 add global14[v2 + 0x0], v3 align 4
    jump block1
block1 at 0x28 insts 1:
    leave.exit -> block1
";

/// Reads the word at argument 0 until it is argument 1.
const SPIN: &str = "
    slot s0: i32 address
    slot s1: i32 wanted
block0 at 0x0 insts 1:
    v0: ui32 = const 0
    v1: i32 = splat v0
    v2: i32 = load.u32 shared[v1 + 0x10] align 4
    v3: i32 = load.u32 shared[v1 + 0x14] align 4
    slot.set s0, v2
    slot.set s1, v3
    jump block1
block1 at 0x10 insts 2:
    v4: i32 = slot.get s0
    v5: i32 = slot.get s1
    v6: i32 = load.u32 global14[v4 + 0x0] align 4
    v7: mask = icmp eq v6, v5
    branch v7, block2, block1
block2 at 0x28 insts 1:
    leave.exit -> block2
";

const OUT: u32 = 0x1_0000;
/// Where word 1 << 20 behind that would be.
const OUT_OF_REACH: u64 = 0x41_0000;

fn all() -> impl Iterator<Item = Config> {
    let tiers = [Tier::Interp, Tier::Jit, Tier::Auto];
    tiers.into_iter().flat_map(|tier| {
        [1, 2].map(|threads| Config::default().tier(tier).threads(threads).hot_after(Some(2)))
    })
}

struct Host {
    engine: Engine,
    memory: Memory,
    store: Program,
    add: Program,
    spin: Program,
}

impl Host {
    fn new(config: Config) -> Host {
        let engine = Engine::new(config).unwrap();
        let memory = engine.memory().unwrap();
        memory.map(Some(OUT.into()), 1 << 16, Access::ReadWrite).unwrap();
        Host { engine, memory, store: program(STORE), add: program(ADD), spin: program(SPIN) }
    }

    fn queue(&self) -> Queue {
        self.engine.queue(QueueOptions::new())
    }

    fn launch(blocks: u32, word: u32, value: u32) -> Launch {
        launch(blocks, 1).args(vec![Arg::u32(OUT + 4 * word), Arg::u32(value)])
    }

    fn store(&self, word: u32, value: u32) -> Submission {
        Submission::launch(&self.store, &self.memory, Self::launch(1, word, value))
    }

    fn add(&self, blocks: u32, word: u32, value: u32) -> Submission {
        Submission::launch(&self.add, &self.memory, Self::launch(blocks, word, value))
    }

    /// Runs until the host or another launch stores `value` there.
    fn spin(&self, blocks: u32, word: u32, value: u32) -> Submission {
        Submission::launch(&self.spin, &self.memory, Self::launch(blocks, word, value))
    }

    fn put(&self, word: u32, value: u32) {
        self.memory.write((OUT + 4 * word).into(), &value.to_le_bytes()).unwrap();
    }

    fn words(&self, count: usize) -> Vec<u32> {
        words_of(&self.memory, count)
    }
}

#[test]
fn submissions_run_in_order_and_submit_does_not_wait() {
    for config in all() {
        let host = Host::new(config);
        let queue = host.queue();
        let gate = queue.submit(host.spin(1, 9, 1));
        let tickets: Vec<_> = (1..=50).map(|n| queue.submit(host.store(0, n))).collect();
        assert!(!gate.poll() && tickets.iter().all(|ticket| !ticket.poll()));
        assert_eq!(host.words(1), [0]);
        host.put(9, 1);
        for (ticket, n) in tickets.iter().zip(1..) {
            let report = ticket.wait().unwrap();
            assert!(report.fault.is_none() && report.stats.blocks == 1);
            assert!(host.words(1)[0] >= n);
        }
        assert_eq!(host.words(1), [50]);
        assert!(gate.poll() && gate.report().unwrap().is_ok());
    }
}

#[test]
fn launches_of_queues_wait_for_each_other_while_they_run() {
    for config in all() {
        for blocks in [1, 5] {
            let host = Host::new(config.clone());
            let (first, second) = (host.queue(), host.queue());
            let waits = first.submit(host.spin(blocks, 0, 7));
            let sets = second.submit(host.store(0, 7));
            assert_eq!(sets.wait().unwrap().fault, None);
            let report = waits.wait().unwrap();
            assert_eq!((report.fault, report.stats.blocks), (None, blocks.into()));
        }
    }
}

#[test]
fn dependencies_hold_across_queues_and_engines() {
    for config in all() {
        let host = Host::new(config.clone());
        let other = Engine::new(config).unwrap();
        let queues = [host.queue(), host.queue(), other.queue(QueueOptions::new())];
        let mut last = queues[0].submit(host.spin(1, 9, 1));
        for n in 1..=30 {
            last = queues[n as usize % 3].submit(host.store(0, n).after(&[last]));
        }
        host.put(9, 1);
        assert_eq!(last.wait().unwrap().fault, None);
        assert_eq!(host.words(1), [30]);
    }
}

#[test]
fn what_depends_on_a_failure_is_not_run() {
    for config in all() {
        let host = Host::new(config);
        let (first, second) = (host.queue(), host.queue());
        let fault = first.submit(host.store(1 << 20, 1));
        let same_queue = first.submit(host.store(1, 5));
        let after = second.submit(host.store(0, 1).after(std::slice::from_ref(&fault)));
        let behind = first.submit(host.store(0, 2).after(std::slice::from_ref(&after)));
        assert!(fault.wait().unwrap().fault.is_some());
        let error = after.wait().unwrap_err();
        let Error::Dependency(DependencyError::Faulted { source }) = &error else { panic!("{error}") };
        assert_eq!((source.kind, source.address), (FaultKind::Memory, Some(OUT_OF_REACH)));
        assert_eq!((error.kind(), error.number("source")), ("Faulted", source.address));
        assert_eq!(error.source().unwrap().downcast_ref(), Some(&**source));
        assert!(error.to_string().contains("memory fault"), "{error}");
        // A failure of a failure is told from the start.
        let error = behind.wait().unwrap_err();
        assert_eq!((error.kind(), error.number("source")), ("Failed", Some(OUT_OF_REACH)));
        assert_eq!(error.source().unwrap().downcast_ref(), Some(&after.wait().unwrap_err()));
        // The queue itself goes on.
        assert_eq!(same_queue.wait().unwrap().fault, None);
        let bad = first.submit(Submission::launch(&host.store, &host.memory, launch(0, 1)));
        assert!(matches!(bad.wait(), Err(Error::Launch(_))));
        let after = second.submit(host.store(0, 3).after(&[bad]));
        let error = after.wait().unwrap_err();
        let Error::Dependency(DependencyError::Failed { source }) = &error else { panic!("{error}") };
        assert!(matches!(&**source, Error::Launch(LaunchError::Size { what: "grid", .. })), "{source}");
        // Its numbers are those of the reason.
        assert_eq!((error.number("found"), error.number("address")), (Some(0), None));
        assert_eq!(host.words(2), [0, 5]);
    }
}

#[test]
fn what_is_cancelled_ends_and_what_has_not_begun_is_done_at_once() {
    for config in all() {
        for blocks in [1, 5] {
            let host = Host::new(config.clone());
            let queue = host.queue();
            let runs = queue.submit(host.spin(blocks, 9, 1));
            let waits = queue.submit(host.store(0, 1));
            let stays = queue.submit(host.store(1, 1));
            waits.cancel();
            assert_eq!(waits.wait().unwrap_err(), Error::Cancelled);
            assert!(!runs.poll());
            runs.cancel();
            assert!(runs.wait().map_or_else(|error| error == Error::Cancelled, |report| report.cancelled));
            assert_eq!(stays.wait().unwrap().fault, None);
            assert_eq!(host.words(2), [0, 1]);
            // What is done stays done.
            stays.cancel();
            assert!(!stays.wait().unwrap().cancelled);
        }
    }
}

#[test]
fn a_deadline_ends_what_runs_and_what_waits() {
    for config in all() {
        for blocks in [1, 5] {
            let host = Host::new(config.clone());
            let queue = host.queue();
            let runs = queue.submit(host.spin(blocks, 9, 1).within(Duration::from_millis(20)));
            let late = |result: Result<warpjit_runtime::Report, Error>| match result {
                Ok(report) => report.cancelled,
                Err(error) => error == Error::Deadline,
            };
            assert!(late(runs.wait()));
            let blocks_others = queue.submit(host.spin(blocks, 9, 1));
            let waits = queue.submit(host.store(0, 1).within(Duration::from_millis(10)));
            assert_eq!(waits.wait().unwrap_err(), Error::Deadline);
            assert!(!blocks_others.poll());
            host.put(9, 1);
            assert_eq!(blocks_others.wait().unwrap().fault, None);
            let ample = queue.submit(host.store(0, 3).within(Duration::from_secs(1000)));
            assert_eq!(ample.wait().unwrap().fault, None);
            assert_eq!(host.words(1), [3]);
        }
    }
}

#[test]
fn callbacks_are_called_before_wait_returns_and_may_submit_and_wait() {
    for config in all() {
        let host = Arc::new(Host::new(config));
        let queue = Arc::new(host.queue());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let own = seen.clone();
        let first = host.store(0, 1).on_complete(move |done| own.lock().unwrap().push(done.is_ok()));
        let first = queue.submit(first);
        first.wait().unwrap();
        assert_eq!(*seen.lock().unwrap(), [true]);
        // It is done: called at once.
        let own = seen.clone();
        first.on_complete(move |_| own.lock().unwrap().push(false));
        assert_eq!(seen.lock().unwrap().len(), 2);
        let (inner_host, inner_queue, own) = (host.clone(), queue.clone(), seen.clone());
        let nested = host.store(0, 2).on_complete(move |_| {
            let ticket = inner_queue.submit(inner_host.store(1, 3));
            own.lock().unwrap().push(ticket.wait().is_ok());
        });
        queue.submit(nested).wait().unwrap();
        assert_eq!(host.words(2), [2, 3]);
        assert_eq!(seen.lock().unwrap().len(), 3);
    }
}

#[test]
fn a_panic_in_a_callback_comes_out_where_it_is_waited_for() {
    for config in all() {
        for blocks in [1, 5] {
            let host = Host::new(config.clone());
            let queue = host.queue();
            let ticket = queue.submit(host.add(blocks, 0, 1).on_complete(|_| panic!("expected")));
            let after = queue.submit(host.add(1, 0, 1).after(std::slice::from_ref(&ticket)));
            // It has ended well: only the function was bad.
            assert_eq!(after.wait().unwrap().fault, None);
            let wait = || std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ticket.wait()));
            assert_eq!(wait().unwrap_err().downcast_ref::<&str>(), Some(&"expected"));
            assert_eq!(wait().unwrap().unwrap().fault, None);
            // In the function that is told of progress, while it runs.
            let progress: warpjit_runtime::Progress = Arc::new(|_, _| panic!("progress"));
            let bad = Host::launch(blocks, 0, 0).progress(Some(progress));
            let ticket = queue.submit(Submission::launch(&host.add, &host.memory, bad));
            let after = queue.submit(host.add(1, 0, 1));
            let wait = || std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ticket.wait()));
            assert_eq!(wait().unwrap_err().downcast_ref::<&str>(), Some(&"progress"));
            assert_eq!(wait().unwrap().unwrap_err(), Error::Panicked);
            assert_eq!(after.wait().unwrap().fault, None);
            assert_eq!(host.words(1), [blocks + 2]);
        }
    }
}

#[test]
fn batches_run_prepared_launches_with_arguments_of_their_own() {
    for config in all() {
        let host = Host::new(config);
        let queue = host.queue();
        let one = host.engine.prepare(&host.store, &host.memory, &Host::launch(1, 0, 0)).unwrap();
        let many = host.engine.prepare(&host.add, &host.memory, &Host::launch(3, 500, 0)).unwrap();
        for turn in 0..3_u32 {
            let args: Vec<[u8; 8]> = (0..300_u32)
                .map(|n| {
                    let mut bytes = [0; 8];
                    bytes[..4].copy_from_slice(&(OUT + 4 * n).to_le_bytes());
                    bytes[4..].copy_from_slice(&(n + turn).to_le_bytes());
                    bytes
                })
                .collect();
            let dispatches: Vec<_> = args
                .iter()
                .enumerate()
                .map(|(n, args)| match n % 10 {
                    0 => Dispatch::of(&many).args(4, &args[4..]).grid([2, 1, 1]),
                    _ => Dispatch::of(&one).args(0, args),
                })
                .collect();
            let ticket = queue.submit_batch(&dispatches).unwrap();
            let report = ticket.wait().unwrap();
            assert_eq!((report.fault, report.stats.blocks), (None, 300 + 30));
            assert_eq!(ticket.dispatches(), 300);
        }
        let words = host.words(501);
        for n in (0..300).filter(|n| n % 10 != 0) {
            assert_eq!(words[n as usize], n + 2);
        }
        let sum: u32 = (0..3).map(|turn| (0..300).step_by(10).map(|n| 2 * (n + turn)).sum::<u32>()).sum();
        assert_eq!(words[500], sum);
        assert!(queue.submit_batch(&[Dispatch::of(&one).args(5, &[0; 4])]).is_err());
        assert!(queue.submit_batch(&[Dispatch::of(&one).user_data(0, &[0])]).is_err());
        assert!(queue.submit_batch(&[Dispatch::of(&one).grid([0, 1, 1])]).is_err());
        assert_eq!(queue.submit_batch(&[]).unwrap().wait().unwrap().stats.blocks, 0);
    }
}

#[test]
fn a_batch_ends_at_its_first_fault() {
    for config in all() {
        let host = Host::new(config);
        let queue = host.queue();
        let one = host.engine.prepare(&host.store, &host.memory, &Host::launch(1, 0, 4)).unwrap();
        let (bad, word) = (0_u32.to_le_bytes(), (OUT + 4).to_le_bytes());
        let batch = [Dispatch::of(&one), Dispatch::of(&one).args(0, &bad), Dispatch::of(&one).args(0, &word)];
        let ticket = queue.submit_batch(&batch).unwrap();
        assert!(ticket.wait().unwrap().fault.is_some());
        assert_eq!((ticket.dispatches(), host.words(2)), (2, vec![4, 0]));
    }
}

#[test]
fn a_submission_of_a_prepared_launch_takes_its_arguments_along() {
    for config in all() {
        let host = Host::new(config);
        let queue = host.queue();
        let mut one = host.engine.prepare(&host.add, &host.memory, &Host::launch(1, 0, 0)).unwrap();
        let gate = queue.submit(host.spin(1, 9, 1));
        for n in 1..=20_u32 {
            one.set_args(4, &n.to_le_bytes()).unwrap();
            one.set_const(2, 0, &n.to_le_bytes()).unwrap();
            queue.submit(Submission::prepared(&one));
        }
        drop(one);
        host.put(9, 1);
        queue.finish();
        assert!(gate.poll());
        assert_eq!(host.words(1), [210]);
    }
}

#[test]
fn a_queue_that_is_dropped_finishes_or_cancels_and_never_waits() {
    for config in all() {
        let host = Host::new(config);
        let queue = host.queue();
        let runs = queue.submit(host.spin(1, 9, 1));
        let waits = queue.submit(host.store(0, 1));
        drop(queue);
        assert!(!runs.poll() && !waits.poll());
        host.put(9, 1);
        assert_eq!((runs.wait().unwrap().fault, waits.wait().unwrap().fault), (None, None));
        let queue = host.engine.queue(QueueOptions::new().on_drop(OnDrop::Cancel));
        host.put(9, 0);
        let runs = queue.submit(host.spin(3, 9, 1));
        let waits = queue.submit(host.store(0, 2));
        drop(queue);
        assert_eq!(waits.wait().unwrap_err(), Error::Cancelled);
        assert!(runs.wait().map_or_else(|error| error == Error::Cancelled, |report| report.cancelled));
        assert_eq!(host.words(1), [1]);
        // All handles of the engine go, too.
        let queue = host.queue();
        let ticket = queue.submit(host.store(0, 3));
        drop((queue, host.engine));
        assert_eq!(ticket.wait().unwrap().fault, None);
    }
}

/// The only thread gets all at once, from a callback of its own: what is of low priority comes last, although it was there first.
/// After a while of waiting even that is served, so a host that stands still may need several tries.
#[test]
fn a_queue_of_higher_priority_goes_first() {
    for config in all().filter(|config| config.threads == 1) {
        let host = Host::new(config);
        let of = |priority| Arc::new(host.engine.queue(QueueOptions::new().priority(priority)));
        let (low, high) = (of(Priority::Low), of(Priority::High));
        let in_order = (1..=10).any(|attempt| {
            let order = Arc::new(Mutex::new(Vec::new()));
            let noted = |name: &'static str, word| -> Vec<Submission> {
                let one = || {
                    let order = order.clone();
                    host.add(1, word, 1).on_complete(move |_| order.lock().unwrap().push(name))
                };
                (0..20).map(|_| one()).collect()
            };
            let work = [(low.clone(), noted("low", 0)), (high.clone(), noted("high", 1))];
            let submit = move |_: &_| {
                for (queue, submissions) in work {
                    submissions.into_iter().for_each(|submission| drop(queue.submit(submission)));
                }
            };
            host.queue().submit(host.store(2, 0).on_complete(submit)).wait().unwrap();
            low.finish();
            high.finish();
            assert_eq!(host.words(2), [20 * attempt; 2]);
            let order = order.lock().unwrap();
            order[..20].iter().all(|name| *name == "high")
        });
        assert!(in_order);
    }
}

#[test]
fn no_queue_starves() {
    for config in all() {
        let host = Host::new(config);
        // These never end by themselves, and take all threads.
        let busy: Vec<_> =
            (0..3).map(|_| host.engine.queue(QueueOptions::new().priority(Priority::High))).collect();
        let spins: Vec<_> = busy.iter().map(|queue| queue.submit(host.spin(4, 9, 1))).collect();
        let low = host.engine.queue(QueueOptions::new().priority(Priority::Low));
        for n in 1..=5 {
            assert_eq!(low.submit(host.store(0, n)).wait().unwrap().fault, None);
        }
        assert!(spins.iter().all(|ticket| !ticket.poll()));
        host.put(9, 1);
        assert!(spins.iter().all(|ticket| ticket.wait().unwrap().stats.blocks == 4));
    }
}

#[test]
fn many_threads_submit_to_many_queues() {
    for config in all() {
        let host = Host::new(config);
        let ended = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for number in 0..4_u32 {
                let (host, ended) = (&host, &ended);
                scope.spawn(move || {
                    let queue = host.queue();
                    let mut tickets = Vec::new();
                    for turn in 0..60 {
                        tickets.push(queue.submit(host.add(1 + turn % 4, number, 1)));
                        if turn % 7 == 0 {
                            tickets
                                .drain(..)
                                .for_each(|ticket| assert!(ticket.wait().unwrap().fault.is_none()));
                        }
                    }
                    queue.finish();
                    ended.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(ended.into_inner(), 4);
        assert_eq!(host.words(4), [150; 4]);
    }
}

#[test]
fn idle_threads_do_as_the_settings_say() {
    for idle in [Idle::Sleep, Idle::Spin(Duration::from_micros(200)), Idle::Adaptive] {
        for config in all() {
            let host = Host::new(config.idle(idle));
            let queue = host.queue();
            for n in 1..=20 {
                queue.submit(host.add(n % 3 + 1, 0, 1)).wait().unwrap();
                host.engine.run(&host.add, &host.memory, &Host::launch(4, 1, 1)).unwrap();
            }
            assert_eq!(host.words(2), [(1..=20).map(|n| n % 3 + 1).sum::<u32>(), 80]);
        }
    }
}

#[test]
fn the_embedder_brings_the_threads() {
    for config in all() {
        let host = Host::new(config.idle(Idle::Embedder));
        let queue = host.queue();
        let first = queue.submit(host.add(5, 0, 1));
        std::thread::sleep(Duration::from_millis(5));
        // Nobody works.
        assert_eq!(host.words(1), [0]);
        while !first.poll() {
            host.engine.work(Duration::ZERO);
        }
        assert_eq!(host.words(1), [5]);
        assert!(!host.engine.work(Duration::from_millis(1)));
        // Who waits works meanwhile; also for another queue.
        let other = host.queue();
        let waits = queue.submit(host.spin(2, 1, 4));
        other.submit(host.store(1, 4));
        assert_eq!(waits.wait().unwrap().fault, None);
        host.engine.run(&host.add, &host.memory, &Host::launch(6, 0, 1)).unwrap();
        assert_eq!(host.words(1), [11]);
        // Threads of the embedder serve until they are told to stop.
        let stop = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while stop.load(Ordering::Relaxed) == 0 {
                        host.engine.work(Duration::from_millis(2));
                    }
                });
            }
            let (tell, told) = mpsc::channel();
            for _ in 0..30 {
                let tell = tell.clone();
                queue.submit(host.add(3, 0, 1).on_complete(move |_| tell.send(()).unwrap()));
            }
            (0..30).for_each(|_| told.recv_timeout(Duration::from_secs(100)).unwrap());
            stop.store(1, Ordering::Relaxed);
        });
        assert_eq!(host.words(1), [101]);
    }
}

#[test]
fn waiting_for_a_while_comes_back() {
    for config in all() {
        let host = Host::new(config);
        let queue = host.queue();
        let ticket = queue.submit(host.spin(1, 9, 1));
        let start = Instant::now();
        assert!(ticket.wait_timeout(Duration::from_millis(3)).is_none());
        assert!(start.elapsed() >= Duration::from_millis(3));
        assert!(ticket.report().is_none());
        host.put(9, 1);
        assert!(ticket.wait_timeout(Duration::from_secs(1000)).unwrap().is_ok());
    }
}

#[test]
fn a_long_chain_of_dependencies_keeps_nothing() {
    let host = Host::new(Config::default().threads(1));
    let queue = host.queue();
    let one = host.engine.prepare(&host.add, &host.memory, &Host::launch(1, 0, 1)).unwrap();
    let mut last = queue.submit(Submission::prepared(&one));
    for _ in 1..200_000 {
        last = queue.submit(Submission::prepared(&one).after(&[last]));
    }
    assert_eq!(last.wait().unwrap().fault, None);
    assert_eq!(host.words(1), [200_000]);
    drop((queue, last));
}

#[test]
fn a_callback_of_what_was_not_run_may_wait_for_what_is_next() {
    for config in all() {
        let host = Host::new(config);
        let (first, second) = (host.queue(), host.queue());
        first.submit(host.spin(1, 9, 1));
        let bad = first.submit(host.store(1 << 20, 1));
        let next = Arc::new(Mutex::new(None::<Ticket>));
        let (tell, told) = mpsc::channel();
        let of_callback = next.clone();
        let callback = move |_: &_| {
            let next = of_callback.lock().unwrap().take().unwrap();
            tell.send(next.wait_timeout(Duration::from_secs(100)).is_some()).unwrap();
        };
        let skipped = second.submit(host.store(0, 1).after(&[bad]).on_complete(callback));
        *next.lock().unwrap() = Some(second.submit(host.store(0, 7)));
        host.put(9, 1);
        assert!(matches!(skipped.wait(), Err(Error::Dependency(_))));
        assert!(told.recv().unwrap());
        assert_eq!(host.words(1), [7]);
    }
}

#[test]
fn finish_waits_for_callbacks() {
    for config in all() {
        let host = Host::new(config);
        let (queue, called) = (host.queue(), Arc::new(AtomicU32::new(0)));
        for n in 1..=3 {
            let called = called.clone();
            let callback = move |_: &_| {
                std::thread::sleep(Duration::from_millis(10));
                called.fetch_add(1, Ordering::Relaxed);
            };
            let ticket = queue.submit(host.store(0, n).on_complete(callback));
            if n == 3 {
                ticket.cancel();
            }
        }
        queue.finish();
        assert_eq!(called.load(Ordering::Relaxed), 3);
    }
}

#[test]
fn a_batch_may_have_any_number_of_launches_of_several_blocks() {
    for threads in [1, 2] {
        let host = Host::new(Config::default().threads(threads));
        let queue = host.queue();
        let two = host.engine.prepare(&host.add, &host.memory, &Host::launch(2, 0, 1)).unwrap();
        let ticket = queue.submit_batch(&vec![Dispatch::of(&two); 20_000]).unwrap();
        let report = ticket.wait().unwrap();
        assert_eq!((report.fault, report.stats.blocks), (None, 40_000));
        assert_eq!(host.words(1), [40_000]);
    }
}

#[test]
fn callbacks_of_one_queue_may_all_finish_it() {
    for config in all().filter(|config| config.threads == 2) {
        let host = Host::new(config);
        let queue = Arc::new(host.queue());
        let inside = Arc::new(AtomicU32::new(0));
        let ended = Arc::new(AtomicU32::new(0));
        let tickets: Vec<Ticket> = (0..2)
            .map(|n| {
                let (queue, inside, ended) = (queue.clone(), inside.clone(), ended.clone());
                host.store(n, 1).on_complete(move |_| {
                    // Both are in their callbacks before either waits.
                    inside.fetch_add(1, Ordering::SeqCst);
                    while inside.load(Ordering::SeqCst) < 2 {
                        std::thread::yield_now();
                    }
                    queue.finish();
                    ended.fetch_add(1, Ordering::SeqCst);
                })
            })
            .collect::<Vec<_>>()
            .into_iter()
            .map(|submission| queue.submit(submission))
            .collect();
        for ticket in tickets {
            ticket.wait().unwrap();
        }
        assert_eq!(ended.load(Ordering::SeqCst), 2);
    }
}

/// A launch that provides a segment of its own at an address that all of them use, so that only one at a time can run.
fn with_segment(body: &str) -> Program {
    let mut image = support::image(body);
    image.abi.segments.push(Segment {
        name: "page",
        address: 0xe000_0000,
        size: SegmentSize::Bytes(64),
        writable: true,
        contents: vec![],
    });
    Program::from_image(image).unwrap()
}

#[test]
fn launches_that_are_not_put_aside_let_those_end_that_have_their_segments() {
    for config in all() {
        let host = Host::new(config);
        let (spin, store) = (with_segment(SPIN), with_segment(STORE));
        let (first, second) = (host.queue(), host.queue());
        let spins = first.submit(Submission::launch(&spin, &host.memory, Host::launch(2, 9, 1)));
        std::thread::sleep(Duration::from_millis(20));
        let launch = Host::launch(1, 0, 7).save(Some(SaveToken::new()));
        let stores = second.submit(Submission::launch(&store, &host.memory, launch));
        std::thread::sleep(Duration::from_millis(20));
        assert!(!spins.poll() && !stores.poll());
        host.put(9, 1);
        assert_eq!(spins.wait().unwrap().stats.blocks, 2);
        assert_eq!(stores.wait().unwrap().fault, None);
        assert_eq!(host.words(1), [7]);
    }
}

//! Tests loops that wait for other threads, and loops that only look like it. The former: locks, tickets, flags, grid-wide
//! barriers, producers and consumers. The latter: walks of lists and trees, queues, sequences of atomics, retried exchanges. With
//! all instruction sets that have global memory and atomics, every tier, all chunk widths, one thread and two.

use std::sync::mpsc;
use std::time::Duration;

use warpjit_runtime::{
    Access, Arg, CancelToken, Config, Engine, Error, FaultKind, HostLevel, Isa, Launch, Memory, Program,
    Report, SaveToken, SavedLaunch, Tier,
};
use warpjit_tests::dialects::{ARGS, program};

/// Where each thread leaves a word, words that all share, and a table.
const OUT: u64 = 0x1_0000;
const SYNC: u64 = 0x3_0000;
const TABLE: u64 = 0x5_0000;
/// Words of each.
const WORDS: usize = 1 << 14;
const SHARED_BYTES: usize = 1024;
/// Times that a launch is saved at most, each time after more regions of code.
const PIECES: usize = 12;
/// What waits for ever is stopped after that.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Leaves the thread's number among all in r7, four times that and OUT in r8, SYNC in r9, the number of all blocks in
/// r30, 0 and 1 in r31 and r32.
const BEGIN: &str = "param r8 0; param r9 1; param r10 3; param r30 4; mul r7 r4 r10; add r7 r7 r1
    shl r10 r7 2; add r8 r8 r10; mov r31 0; mov r32 1\n";

/// A kernel with a launch and what it leaves.
struct Case {
    name: &'static str,
    middle: String,
    grid: u32,
    block: u32,
    table: Vec<u32>,
    /// What OUT and SYNC begin with.
    out: Vec<u32>,
    sync: Vec<u32>,
}

impl Case {
    fn new(name: &'static str, (grid, block): (u32, u32), middle: &str) -> Case {
        Case {
            name,
            middle: middle.to_owned(),
            grid,
            block,
            table: Vec::new(),
            out: Vec::new(),
            sync: Vec::new(),
        }
    }

    fn threads(&self) -> u32 {
        self.grid * self.block
    }

    fn program(&self, isa: Isa) -> Program {
        let source = [BEGIN, &self.middle, "\nexit"].concat();
        program(&source, isa, SHARED_BYTES as u32)
    }

    fn launch(&self, isa: Isa) -> Launch {
        let mut args = [0; ARGS];
        args[..5].copy_from_slice(&[OUT as u32, SYNC as u32, TABLE as u32, self.block, self.grid]);
        let mut shared = vec![0; SHARED_BYTES];
        if isa == Isa::Tesla {
            // The launch puts arguments there.
            args.iter().enumerate().for_each(|(n, arg)| {
                shared[16 + 4 * n..20 + 4 * n].copy_from_slice(&arg.to_le_bytes());
            });
        }
        Launch::default()
            .grid([self.grid, 1, 1])
            .block([self.block, 1, 1])
            .args(args.map(Arg::u32).to_vec())
            .shared(shared)
    }

    /// Runs it; gives the first words of OUT and SYNC, or how it ended.
    fn run(&self, engine: &Engine, program: &Program, launch: Launch) -> Result<[Vec<u32>; 2], String> {
        let memory = self.memory();
        let report = within(TIME_LIMIT, launch, |launch| engine.run(program, &memory, launch));
        let report = report.map_err(|error| error.to_string())?;
        left(&memory, &report)
    }

    /// Runs it in pieces: each is saved after some more regions of code, and continued in the next of the ways, mostly in other
    /// memory.
    fn run_in_pieces(
        &self,
        program: &Program,
        launch: &Launch,
        first: usize,
    ) -> Result<[Vec<u32>; 2], String> {
        let mut memory = self.memory();
        let mut saved: Option<SavedLaunch> = None;
        for piece in 0.. {
            let ways = ways();
            let (_, config) = &ways[(first + piece) % ways.len()];
            let engine = Engine::new(config.clone()).unwrap();
            // At last it runs to its end.
            let save = (piece < PIECES).then(|| SaveToken::after(1 + (first as u64 % 3) + (3 << piece)));
            let mut launch = launch.clone().save(save);
            if piece % 4 == 1 {
                // Without a limit that is reached, code counts its steps.
                launch.save = launch.save.or_else(|| Some(SaveToken::new()));
            }
            let report = within(TIME_LIMIT, launch, |launch| match &saved {
                None => engine.run(program, &memory, launch),
                Some(saved) => engine.resume(program, &memory, launch, saved),
            });
            let report = report.map_err(|error| error.to_string())?;
            let Some(state) = &report.saved else {
                return left(&memory, &report);
            };
            let bytes = match piece % 3 {
                0 => state.to_bytes(),
                _ => state.to_bytes_with(&memory).unwrap(),
            };
            let read = SavedLaunch::from_bytes(&bytes).unwrap();
            if read.has_memory() {
                memory = Memory::new().unwrap();
                read.restore_memory(&memory).unwrap();
            }
            saved = Some(read);
        }
        unreachable!()
    }

    /// The memory that it begins with.
    fn memory(&self) -> Memory {
        let memory = Memory::new().unwrap();
        for (place, words) in [(OUT, &self.out), (SYNC, &self.sync), (TABLE, &self.table)] {
            memory.map(Some(place), 4 * WORDS as u64, Access::ReadWrite).unwrap();
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            memory.write(place, &bytes).unwrap();
        }
        memory
    }

    /// The same everywhere, and right.
    fn holds(&self, right: impl Fn(&[u32], &[u32]) -> bool) {
        for (first, isa) in [Isa::Tesla, Isa::Fermi, Isa::Gcn].into_iter().enumerate() {
            let program = self.program(isa);
            for (way, config) in ways() {
                let engine = Engine::new(config).unwrap();
                let got = self.run(&engine, &program, self.launch(isa));
                let [out, sync] = got.unwrap_or_else(|e| panic!("{}, {isa:?}, {way}: {e}", self.name));
                assert!(
                    right(&out, &sync),
                    "{}, {isa:?}, {way}: {:?} {:?}",
                    self.name,
                    &out[..(self.threads() as usize).min(80)],
                    &sync[..16]
                );
            }
            let got = self.run_in_pieces(&program, &self.launch(isa), first);
            let [out, sync] = got.unwrap_or_else(|e| panic!("{}, {isa:?}, in pieces: {e}", self.name));
            assert!(right(&out, &sync), "{}, {isa:?}, in pieces", self.name);
        }
    }
}

/// The first words of OUT and SYNC after a launch, or how it ended.
fn left(memory: &Memory, report: &Report) -> Result<[Vec<u32>; 2], String> {
    if report.cancelled {
        return Err("it took too long".into());
    }
    if let Some(fault) = &report.fault {
        return Err(format!("{:?}", fault.kind));
    }
    assert_eq!(report.stats.not_compiled, None);
    Ok([OUT, SYNC].map(|place| {
        let mut bytes = vec![0; 4 * WORDS];
        memory.read(place, &mut bytes).unwrap();
        bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }))
}

/// Cancels a launch that takes too long.
fn within<T>(
    time: Duration,
    launch: Launch,
    run: impl FnOnce(&Launch) -> Result<T, Error>,
) -> Result<T, Error> {
    let cancel = CancelToken::new();
    let launch = launch.cancel(Some(cancel.clone()));
    let (done, end) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if end.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout) {
                cancel.cancel();
            }
        });
        let result = run(&launch);
        drop(done);
        result
    })
}

/// Ways to run a kernel.
fn ways() -> Vec<(String, Config)> {
    let plain = Config::default().threads(1);
    let jit = plain.clone().tier(Tier::Jit);
    let host = |host, threads| jit.clone().host(host).threads(threads);
    let mut list = vec![
        ("interp".to_owned(), plain.clone().tier(Tier::Interp)),
        ("interp, 2 threads".to_owned(), plain.clone().tier(Tier::Interp).threads(2)),
        ("jit".to_owned(), jit.clone()),
        ("jit, AVX2".to_owned(), host(HostLevel::Avx2, 2)),
        ("jit, SSE4.1".to_owned(), host(HostLevel::Sse41, 1)),
        ("auto, 2 threads".to_owned(), plain.hot_after(Some(2)).threads(2)),
    ];
    for groups in [None, Some(0), Some(2)] {
        let joined = host(HostLevel::Avx2, 2).join_after(Some(2)).chunk_groups(groups);
        list.push((format!("jit, AVX2, joined, chunk {groups:?}"), joined));
    }
    for groups in [1, 2, 4, 8] {
        let threads = 1 + usize::from(groups % 4 == 0);
        let config = jit.clone().chunk_groups(Some(groups)).threads(threads);
        list.push((format!("jit, chunk {groups}, {threads} threads"), config));
    }
    list
}

/// Each thread counts under a lock that it gets or tries again for.
#[test]
fn a_lock_is_tried_until_it_is_free() {
    let middle = "addi r10 r9 64
        while 0
        cas r11 r9 r31 r32
        ifeq r11 r31
        ldg r12 r10; addi r12 r12 1; stg r10 r12; mov r13 1; exch r14 r9 r31
        endif
        leaveq 0 r13 r32
        repeat 0";
    let case = Case::new("spin lock", (3, 96), &format!("mov r13 0; {middle}"));
    case.holds(|_, sync| sync[0] == 0 && sync[16] == 3 * 96);
    // With an exchange.
    let swapped = format!("mov r13 0; {}", middle.replace("cas r11 r9 r31 r32", "exch r11 r9 r32"));
    Case::new("exchange", (3, 96), &swapped).holds(|_, sync| sync[0] == 0 && sync[16] == 3 * 96);
}

/// One thread of each block holds the lock while it walks a long list, in the midst of which it is put aside.
#[test]
fn who_holds_a_lock_goes_on() {
    let middle = "if r1 r32
        while 0
        cas r11 r9 r31 r32
        leaveq 0 r11 r31
        repeat 0
        param r12 2
        while 1
        ldg r12 r12; addi r13 r13 1; leaveq 1 r12 r31
        repeat 1
        addi r10 r9 64; ldg r14 r10; add r14 r14 r13; stg r10 r14; exch r14 r9 r31
        endif";
    let mut case = Case::new("long critical section", (5, 64), &format!("mov r13 0; {middle}"));
    case.table = list(12_000);
    case.holds(|_, sync| sync[0] == 0 && sync[16] == 5 * 12_000);
}

/// A list of so many words, each the next one's address.
fn list(length: u32) -> Vec<u32> {
    (1..=length).map(|n| if n == length { 0 } else { TABLE as u32 + 4 * n }).collect()
}

/// Threads are served in the order of their tickets, one of each block, or all: each takes its turn within the loop.
#[test]
fn tickets_are_served_in_their_order() {
    let middle = "if r1 r32
        atom r10 r9 r32; addi r11 r9 64
        while 0
        ldg r12 r11; leaveq 0 r12 r10
        repeat 0
        addi r13 r12 1; stg r8 r12; stg r11 r13
        endif";
    Case::new("a ticket for a block", (12, 64), middle).holds(|out, sync| {
        let mut served: Vec<u32> = out[..12 * 64].iter().step_by(64).copied().collect();
        served.sort_unstable();
        sync[16] == 12 && served == (0..12).collect::<Vec<_>>()
    });
    let middle = "mov r13 0; TICKET; addi r11 r9 64
        while 0
        ldg r12 r11
        ifeq r12 r10
        addi r14 r12 1; stg r8 r12; stg r11 r14; mov r13 1
        endif
        leaveq 0 r13 r32
        repeat 0";
    let all = middle.replace("TICKET", "atom r10 r9 r32");
    Case::new("tickets for all", (2, 96), &all).holds(|out, sync| {
        let mut served = out[..192].to_vec();
        served.sort_unstable();
        sync[16] == 192 && served == (0..192).collect::<Vec<_>>()
    });
    // The last lane of the last block is first: lanes of a warp wait for others that code runs behind them.
    let backwards = middle.replace("TICKET", "mul r10 r30 r33; addi r10 r10 0xffffffff; sub r10 r10 r7");
    let backwards = format!("param r33 3; {backwards}");
    Case::new("tickets backwards", (2, 70), &backwards)
        .holds(|out, _| (0..140).zip(out).all(|(thread, &served)| served == 139 - thread));
}

/// Each block waits for the one behind it, whose index is higher: with nothing else in the loop, and counting the turns.
#[test]
fn blocks_wait_for_flags_of_later_blocks() {
    for count in ["", "addi r15 r15 1"] {
        let middle = format!(
            "mov r15 0; shl r10 r4 2; add r10 r9 r10; addi r11 r10 4; addi r12 r30 0xffffffff
            if r4 r12
            while 0
            ldg r13 r11; {count}; leave 0 r31 r13
            repeat 0
            endif
            mov r13 7; stg r10 r13; add r13 r13 r4; stg r8 r13"
        );
        Case::new("flags", (4, 40), &middle).holds(|out, sync| {
            sync[..4].iter().all(|&flag| flag == 7) && (0..160).all(|n| out[n as usize] == 7 + n / 40)
        });
    }
}

/// All blocks meet twice: when all warps of a block have stored, a thread counts the block in and waits for the others.
/// Each block then reads what another has left.
#[test]
fn all_blocks_of_a_grid_meet() {
    for count in ["", "addi r15 r15 1"] {
        let round = |n: u32, more: u32| {
            format!(
                "if r1 r32
                addi r10 r9 {at}; atom r11 r10 r32; addi r12 r30 0xffffffff
                while {n}
                ldg r11 r10; {count}; leave {n} r12 r11
                repeat {n}
                endif
                bar
                addi r16 r4 1; sub r17 r16 r30; ifeq r16 r30; mov r16 0; endif
                param r17 3; mul r16 r16 r17; add r16 r16 r1; shl r16 r16 2; param r17 0; add r16 r16 r17
                addi r16 r16 {from}; ldg r14 r16; addi r14 r14 {more}; addi r18 r8 {to}; stg r18 r14\n",
                at = 64 * n,
                from = 4096 * n,
                to = 4096 * (n + 1)
            )
        };
        let middle = format!("mov r15 0; stg r8 r7; bar\n{}bar\n{}", round(0, 1000), round(1, 1000));
        let (grid, block) = (6, 40);
        Case::new("grid barrier", (grid, block), &middle).holds(|out, _| {
            (0..grid * block).all(|n| {
                let from = (n / block + 2) % grid * block + n % block;
                out[(2048 + n) as usize] == from + 2000
            })
        });
    }
}

/// A warp of a block hands numbers to another one, by a word of shared memory, and waits until each has been taken.
#[test]
fn a_warp_produces_and_another_consumes() {
    let rounds = 4;
    for count in ["", "addi r15 r15 1"] {
        let middle = format!(
            "mov r15 0; mov r10 0x80; mov r16 0; mov r20 {rounds}
            sts r10 0 r31; sts r10 4 r31
            bar
            if r1 r32
            while 0
            addi r16 r16 1; sts r10 0 r16
            while 1
            lds r11 r10 4; {count}; leaveq 1 r11 r16
            repeat 1
            leaveq 0 r16 r20
            repeat 0
            endif
            mov r17 64
            ifeq r1 r17
            mov r18 0
            while 2
            addi r16 r16 1
            while 3
            lds r11 r10 0; {count}; leaveq 3 r11 r16
            repeat 3
            add r18 r18 r11; sts r10 4 r16
            leaveq 2 r16 r20
            repeat 2
            stg r8 r18
            endif"
        );
        Case::new("producer", (2, 96), &middle)
            .holds(|out, _| [64, 160].iter().all(|&n| out[n] == rounds * (rounds + 1) / 2));
    }
}

/// Each thread walks its own way through a list, or a tree, which takes more turns than others wait for.
#[test]
fn lists_and_trees_are_walked() {
    let middle = "mov r10 0; andi r11 r7 15; shl r11 r11 2; param r12 2; add r11 r11 r12
        while 0
        ldg r11 r11; addi r10 r10 1; leaveq 0 r11 r31
        repeat 0
        stg r8 r10";
    let mut case = Case::new("list", (3, 96), middle);
    case.table = list(9000);
    case.holds(|out, _| (0..288).all(|n| out[n as usize] == 9000 - n % 16));
    // Nodes of a tree: what to compare with, and the nodes for less and for others.
    let middle = "param r11 2; mov r10 0
        while 0
        ldg r12 r11; addi r13 r11 8
        if r7 r12
        addi r13 r11 4
        endif
        ldg r11 r13; addi r10 r10 1; leaveq 0 r11 r31
        repeat 0
        stg r8 r10";
    let mut case = Case::new("tree", (4, 64), middle);
    // On the right side it is a list.
    for n in 0..200u32 {
        let node = |n: u32| if n < 200 { TABLE as u32 + 12 * n } else { 0 };
        case.table.extend([n, 0, node(n + 1)]);
    }
    case.holds(|out, _| (0..256).all(|n| out[n as usize] == (n + 2).min(200)));
}

/// Threads take work from a queue until it is empty, and add to rows until they find the end.
#[test]
fn queues_and_rows_with_atomics() {
    let middle = "mov r20 5000; param r13 2; param r14 0
        while 0
        atom r10 r9 r32; leave 0 r21 r10
        shl r10 r10 2; add r11 r14 r10; ldg r12 r11; addi r12 r12 1; stg r11 r12
        repeat 0";
    let middle = format!("mov r21 4999; {middle}");
    Case::new("queue", (3, 96), &middle)
        .holds(|out, sync| sync[0] == 5000 + 288 && out[..5000].iter().all(|&n| n == 1) && out[5000] == 0);
    let middle = "andi r10 r7 7; shl r10 r10 2; param r11 2; add r10 r10 r11
        while 0
        ldg r12 r10; leaveq 0 r12 r31
        shl r12 r12 2; add r12 r12 r9; atom r13 r12 r32; addi r10 r10 32
        repeat 0";
    let mut case = Case::new("rows", (2, 64), middle);
    case.table = (0..8 * 500).map(|n| 1 + n % 5).chain([0; 8]).collect();
    case.holds(|_, sync| sync[1..6].iter().all(|&n| n == 128 * 500 / 5) && sync[6] == 0);
}

/// A sum is made by comparing and exchanging: on a word of each thread's own, and on one for all.
#[test]
fn exchanges_are_tried_again() {
    for (name, address) in [("own words", "add r10 r8 r31"), ("one word", "add r10 r9 r31")] {
        let middle = format!(
            "{address}; mov r15 0; mov r20 40
            while 0
            ldg r11 r10
            while 1
            addi r12 r11 3; cas r13 r10 r11 r12; leaveq 1 r13 r11
            add r11 r13 r31
            repeat 1
            addi r15 r15 1; leaveq 0 r15 r20
            repeat 0"
        );
        let own = name == "own words";
        Case::new(name, (2, 96), &middle).holds(|out, sync| match own {
            true => out[..192].iter().all(|&n| n == 120),
            false => sync[0] == 192 * 120,
        });
    }
}

/// What waits for ever ends where it is cancelled, and where steps are limited.
#[test]
fn waiting_for_ever_can_be_ended() {
    for (name, turn) in [("surely", ""), ("counting", "addi r15 r15 1"), ("storing", "stg r8 r11")] {
        let middle = format!(
            "mov r15 0
            while 0
            ldg r11 r9; {turn}; leave 0 r31 r11
            repeat 0"
        );
        let case = Case::new("for ever", (6, 96), &middle);
        for isa in [Isa::Tesla, Isa::Fermi, Isa::Gcn] {
            let program = case.program(isa);
            for (way, config) in ways() {
                let engine = Engine::new(config).unwrap();
                let limited = case.launch(isa).max_steps(20_000);
                let ended = case.run(&engine, &program, limited);
                assert_eq!(ended, Err(format!("{:?}", FaultKind::Timeout)), "{name}, {isa:?}, {way}");
                let memory = engine.memory().unwrap();
                for place in [OUT, SYNC, TABLE] {
                    memory.map(Some(place), 4 * WORDS as u64, Access::ReadWrite).unwrap();
                }
                let result = within(Duration::from_millis(10), case.launch(isa), |launch| {
                    engine.run(&program, &memory, launch)
                });
                assert!(result.is_ok_and(|report| report.cancelled), "{name}, {isa:?}, {way}");
            }
        }
    }
}

/// A block that faults ends others that wait, and the lowest fault is told.
#[test]
fn a_fault_ends_those_that_wait() {
    let middle = "mov r15 0
        ifeq r4 r32
        mov r11 0x7ffffff0; ldg r11 r11
        endif
        while 0
        ldg r11 r9; addi r15 r15 1; leave 0 r31 r11
        repeat 0";
    let case = Case::new("fault", (2, 32), middle);
    for isa in [Isa::Tesla, Isa::Fermi, Isa::Gcn] {
        let program = case.program(isa);
        // The interpreter takes seconds for what a block may take then.
        for (way, config) in ways().into_iter().filter(|(_, config)| config.tier == Tier::Jit) {
            let engine = Engine::new(config).unwrap();
            let ended = case.run(&engine, &program, case.launch(isa));
            assert_eq!(ended, Err(format!("{:?}", FaultKind::Memory)), "{isa:?}, {way}");
        }
    }
}

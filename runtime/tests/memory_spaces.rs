//! Tests the forms of guest memory with real programs of Tesla (32-bit addresses) and GCN (64-bit): memory of the host and of
//! files, aliases, devices, pagers, watches, recorded stores, small spaces, identity, and changes while launches run.

#![allow(clippy::single_range_in_vec_init)] // Lists of ranges are what is compared.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use warpjit_frontend::gcn::Generation;
use warpjit_frontend::tesla::{Chip, Target};
use warpjit_frontend::{gcn, tesla};
use warpjit_runtime::{
    Access, Arg, Config, Device, Engine, FaultKind, FileSharing, GUARD_BYTES, HostLevel, Isa, Launch, Memory,
    MemoryOptions, PAGE_BYTES, PageFault, Pager, Program, ProgramOptions, Report, Tier, WriteWatch,
};

const PAGE: u64 = PAGE_BYTES;
/// Threads of the launches here: two warps of Tesla, one wave of GCN.
const THREADS: u32 = 64;

/// A program: `to[tid] = from[tid] + 1`, words.
struct Increment {
    program: Program,
    isa: Isa,
}

impl Increment {
    const GCN: &str = "
            v_lshlrev_b32 v1, 2, v0
            v_add_u32 v2, vcc, s0, v1
            v_mov_b32 v3, s1
            v_addc_u32 v3, vcc, 0, v3, vcc
            v_add_u32 v4, vcc, s2, v1
            v_mov_b32 v5, s3
            v_addc_u32 v5, vcc, 0, v5, vcc
            flat_load_dword v6, v[2:3]
            s_waitcnt vmcnt(0) lgkmcnt(0)
            v_add_u32 v6, vcc, 1, v6
            flat_store_dword v[4:5], v6
            s_endpgm
        ";

    fn tesla() -> Self {
        let source = "
            and b32 $r1 $r0 0xffff
            shl b32 $r1 $r1 0x2
            add b32 $r2 b32 s[0x10] $r1
            add b32 $r3 b32 s[0x14] $r1
            ld b32 $r4 g14[$r2]
            mov b32 $r5 0x1
            add b32 $r4 $r4 $r5
            exit st b32 g14[$r3] $r4
        ";
        let code = tesla::assemble(source, Target::compute(Chip::G80)).unwrap().code;
        let options = ProgramOptions::new(Isa::Tesla).chip(Some("g80".parse().unwrap())).registers(Some(8));
        Increment { program: Program::load(&code, &options).unwrap(), isa: Isa::Tesla }
    }

    fn gcn() -> Self {
        Increment { program: gcn_program(Self::GCN), isa: Isa::Gcn }
    }

    /// The program where it lies in memory.
    fn gcn_at(memory: &Memory, address: u64) -> Self {
        memory.write(address, &gcn::assemble(Self::GCN, Generation::Gfx8).unwrap().code).unwrap();
        Increment { program: Program::load_at(memory, address, &gcn_options()).unwrap(), isa: Isa::Gcn }
    }

    fn all() -> [Increment; 2] {
        [Increment::tesla(), Increment::gcn()]
    }

    fn launch(&self, from: u64, to: u64) -> Launch {
        let launch = Launch::default().grid([1; 3]).block([THREADS, 1, 1]);
        match self.isa {
            Isa::Tesla => launch.args(vec![Arg::u32(from as u32), Arg::u32(to as u32)]),
            _ => launch.user_data([from, to].iter().flat_map(|&at| [at as u32, (at >> 32) as u32]).collect()),
        }
    }

    fn run(&self, engine: &Engine, memory: &Memory, from: u64, to: u64) -> Report {
        engine.run(&self.program, memory, &self.launch(from, to)).unwrap()
    }
}

/// A raw program with eight words of user data, and the thread's number in v0.
fn gcn_program(source: &str) -> Program {
    Program::load(&gcn::assemble(source, Generation::Gfx8).unwrap().code, &gcn_options()).unwrap()
}

fn gcn_options() -> ProgramOptions {
    ProgramOptions::new(Isa::Gcn)
        .raw(true)
        .chip(Some(Generation::Gfx8.into()))
        // 16 VGPRs, 24 SGPRs, IEEE.
        .rsrc1(Some(3 | 2 << 6 | 0xc0 << 12))
        .rsrc2(Some(8 << 1))
}

/// Engines of all tiers.
fn engines() -> Vec<Engine> {
    let of = |tier, host, chunk_groups| {
        Config::default().tier(tier).host(host).chunk_groups(chunk_groups).threads(1)
    };
    let configs = [
        of(Tier::Interp, HostLevel::Native, None),
        of(Tier::Jit, HostLevel::Native, None),
        of(Tier::Jit, HostLevel::Avx2, None),
        of(Tier::Jit, HostLevel::Avx2, Some(0)),
        of(Tier::Jit, HostLevel::Sse41, Some(1)),
        of(Tier::Auto, HostLevel::Avx2, None),
        of(Tier::Jit, HostLevel::Native, None).checked_memory(true),
    ];
    configs.into_iter().map(|config| Engine::new(config).unwrap()).collect()
}

fn words(memory: &Memory, at: u64) -> Vec<u32> {
    let mut bytes = vec![0; 4 * THREADS as usize];
    memory.read(at, &mut bytes).unwrap();
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn fill(memory: &Memory, at: u64, first: u32) {
    let bytes: Vec<u8> = (first..first + THREADS).flat_map(u32::to_le_bytes).collect();
    memory.write(at, &bytes).unwrap();
}

fn is_from(found: &[u32], first: u32) -> bool {
    found.iter().copied().eq(first..first + THREADS)
}

/// Host memory of whole pages.
#[repr(align(4096))]
struct Pages(#[allow(dead_code)] [u8; 2 * 4096]);

/// An address that the launch may name: the engine's choice where the space is 32-bit.
const SOURCE: u64 = 0x100_0000;
const TARGET: u64 = 0x200_0000;

#[test]
fn private_host_memory_is_used_in_place() {
    for increment in Increment::all() {
        for engine in engines() {
            let memory = Memory::new().unwrap();
            let mut host = Box::new(Pages([0; 2 * 4096]));
            let pointer = (&raw mut *host).cast::<u8>();
            // SAFETY: the box outlives the launches, and is accessed through this pointer only.
            unsafe { memory.map_host(Some(SOURCE), pointer, 2 * PAGE, Access::ReadWrite) }.unwrap();
            memory.map(Some(TARGET), PAGE, Access::ReadWrite).unwrap();
            assert!(memory.is_careful());
            for thread in 0..THREADS {
                // SAFETY: inside the box.
                unsafe { pointer.cast::<u32>().add(thread as usize + 1000).write_volatile(thread + 7) };
            }
            // From the host's memory, across its pages, to the space's own, and back.
            let report = increment.run(&engine, &memory, SOURCE + 4000, TARGET);
            assert_eq!(report.fault, None);
            assert!(is_from(&words(&memory, TARGET), 8));
            let report = increment.run(&engine, &memory, TARGET, SOURCE);
            assert_eq!(report.fault, None);
            for thread in 0..THREADS {
                // SAFETY: as above.
                let word = unsafe { pointer.cast::<u32>().add(thread as usize).read_volatile() };
                assert_eq!(word, thread + 9);
            }
            // Behind it nothing is mapped.
            let fault = increment.run(&engine, &memory, TARGET, SOURCE + 2 * PAGE - 16).fault.unwrap();
            let at = Some(SOURCE + 2 * PAGE);
            assert_eq!((fault.kind, fault.address, fault.lane), (FaultKind::Memory, at, 4));
            memory.unmap(SOURCE).unwrap();
            let fault = increment.run(&engine, &memory, SOURCE, TARGET).fault.unwrap();
            assert_eq!(fault.address, Some(SOURCE));
        }
    }
}

#[test]
fn files_and_aliases_show_the_same_bytes() {
    let path = std::env::temp_dir().join(format!("warpjit-memory-{}", std::process::id()));
    let file =
        std::fs::File::options().create(true).truncate(true).read(true).write(true).open(&path).unwrap();
    file.set_len(3 * PAGE).unwrap();
    for increment in Increment::all() {
        for engine in engines() {
            let memory = Memory::new().unwrap();
            let shared = FileSharing::Shared;
            memory.map_file(Some(SOURCE), file.as_fd(), PAGE, 2 * PAGE, Access::ReadWrite, shared).unwrap();
            let private = memory
                .map_file(None, file.as_fd(), PAGE, PAGE, Access::ReadWrite, FileSharing::Private)
                .unwrap();
            let mirror = memory.map_alias(None, SOURCE + PAGE, PAGE, Access::ReadOnly).unwrap();
            fill(&memory, SOURCE, 50);
            assert_eq!(increment.run(&engine, &memory, SOURCE, SOURCE + PAGE).fault, None);
            assert!(is_from(&words(&memory, mirror), 51));
            // A private mapping sees the file until it is written, and the file never sees it.
            assert!(is_from(&words(&memory, private), 50));
            assert_eq!(increment.run(&engine, &memory, private, private).fault, None);
            assert!(is_from(&words(&memory, private), 51));
            assert!(is_from(&words(&memory, SOURCE), 50));
            let bytes = std::fs::read(&path).unwrap();
            assert_eq!(bytes[2 * 4096..2 * 4096 + 4], 51_u32.to_le_bytes());
            let fault = increment.run(&engine, &memory, SOURCE, mirror).fault.unwrap();
            assert_eq!((fault.kind, fault.address), (FaultKind::Memory, Some(mirror)));
            assert!(!memory.is_careful(), "none of these needs help");
            // Memory of the space's own, too: that one does.
            let own = memory.map(None, PAGE, Access::ReadWrite).unwrap();
            let second = memory.map_alias(None, own, PAGE, Access::ReadWrite).unwrap();
            assert_eq!(increment.run(&engine, &memory, SOURCE, second).fault, None);
            assert!(is_from(&words(&memory, own), 51) && memory.is_careful());
        }
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn aliases_end_with_their_memory() {
    let memory = Memory::new().unwrap();
    // Of memory of the space, in the window and in a slab, which goes with the last buffer in it.
    for at in [SOURCE, 0x1234_0000_0000] {
        memory.map(Some(at), 2 * PAGE, Access::ReadWrite).unwrap();
        let alias = memory.map_alias(None, at + PAGE, PAGE, Access::ReadWrite).unwrap();
        let second = memory.map_alias(None, alias, PAGE, Access::ReadOnly).unwrap();
        memory.store(alias, 4, 7).unwrap();
        assert_eq!(memory.load(second, 4).unwrap(), 7);
        memory.unmap(at).unwrap();
        for gone in [alias, second] {
            assert!(memory.load(gone, 4).is_err() && memory.store(gone, 4, 1).is_err());
            assert!(memory.map_alias(None, gone, PAGE, Access::ReadOnly).is_err());
        }
        // What takes its place is not shown.
        memory.map(Some(at), 2 * PAGE, Access::ReadWrite).unwrap();
        assert!(memory.load(alias, 4).is_err());
        for mapped in [alias, second, at] {
            memory.unmap(mapped).unwrap();
        }
    }
    // Of private memory of the host, which may be freed after it is unmapped.
    let mut host = Box::new(Pages([3; 2 * 4096]));
    let pointer = (&raw mut *host).cast::<u8>();
    // SAFETY: the box outlives the mapping, and is accessed through this pointer only.
    let shown = unsafe { memory.map_host(None, pointer, 2 * PAGE, Access::ReadWrite) }.unwrap();
    let alias = memory.map_alias(None, shown + PAGE, PAGE, Access::ReadWrite).unwrap();
    assert_eq!(memory.load(alias, 1).unwrap(), 3);
    memory.unmap(shown).unwrap();
    assert!(memory.load(alias, 1).is_err() && memory.write(alias, &[9]).is_err());
    memory.unmap(alias).unwrap();
    assert_eq!(memory.buffers().count(), 0);
    // An alias that goes first leaves the memory as it was.
    let own = memory.map(None, PAGE, Access::ReadWrite).unwrap();
    let alias = memory.map_alias(None, own, PAGE, Access::ReadWrite).unwrap();
    let second = memory.map_alias(None, alias, PAGE, Access::ReadWrite).unwrap();
    memory.unmap(alias).unwrap();
    memory.store(second, 4, 5).unwrap();
    assert_eq!(memory.load(own, 4).unwrap(), 5);
}

/// Registers: a load gives the number of loads so far, plus the offset; stores are noted.
#[derive(Default)]
struct Registers {
    loads: AtomicU32,
    stores: Mutex<Vec<(u64, u8, u64)>>,
}

impl Device for Registers {
    fn load(&self, offset: u64, _: u8) -> u64 {
        self.loads.fetch_add(1, Ordering::SeqCst);
        offset * 10
    }

    fn store(&self, offset: u64, bytes: u8, value: u64) {
        self.stores.lock().unwrap().push((offset, bytes, value));
    }
}

#[test]
fn devices_answer_each_lane_once() {
    for increment in Increment::all() {
        for engine in engines() {
            let memory = Memory::new().unwrap();
            let registers = Arc::new(Registers::default());
            let device = memory.map_device(None, PAGE, registers.clone()).unwrap();
            let own = memory.map(Some(TARGET), PAGE, Access::ReadWrite).unwrap();
            assert_eq!(increment.run(&engine, &memory, device + 16, own).fault, None);
            let expected: Vec<u32> = (0..THREADS).map(|thread| (16 + 4 * thread) * 10 + 1).collect();
            assert_eq!(words(&memory, own), expected);
            assert_eq!(registers.loads.load(Ordering::SeqCst), THREADS);
            fill(&memory, own, 100);
            assert_eq!(increment.run(&engine, &memory, own, device).fault, None);
            let stores = std::mem::take(&mut *registers.stores.lock().unwrap());
            let expected: Vec<_> = (0..u64::from(THREADS)).map(|n| (4 * n, 4, 101 + n)).collect();
            assert_eq!(stores, expected);
            // The last lanes are beyond the device: those before them have stored, once.
            let fault = increment.run(&engine, &memory, own, device + PAGE - 8).fault.unwrap();
            assert_eq!((fault.address, fault.lane), (Some(device + PAGE), 2));
            let stores = std::mem::take(&mut *registers.stores.lock().unwrap());
            assert_eq!(stores, [(PAGE - 8, 4, 101), (PAGE - 4, 4, 102)]);
        }
    }
}

/// Gives each load another number.
#[derive(Default)]
struct Counter(AtomicU32);

impl Device for Counter {
    fn load(&self, offset: u64, _: u8) -> u64 {
        offset + u64::from(self.0.fetch_add(1, Ordering::SeqCst))
    }

    fn store(&self, offset: u64, _: u8, value: u64) {
        self.0.fetch_add((offset + value) as u32, Ordering::SeqCst);
    }
}

/// Programs that load one word in all threads, and store the number that each of them gets: with vector code, with vector code under a
/// condition that threads 8 to 39 fulfil.
fn loads_of_one() -> Vec<(Increment, Vec<u32>)> {
    let all: Vec<u32> = (0..THREADS).map(|thread| 1 + thread).collect();
    let some: Vec<u32> =
        (0..THREADS).map(|thread| if (8..40).contains(&thread) { thread - 7 } else { 0 }).collect();
    let gcn = |guard: &str| {
        let source = format!(
            "
            v_lshlrev_b32 v1, 2, v0
            v_add_u32 v4, vcc, s2, v1
            v_mov_b32 v5, s3
            v_addc_u32 v5, vcc, 0, v5, vcc
            v_mov_b32 v2, s0
            v_mov_b32 v3, s1
            v_mov_b32 v6, -1
            {guard}
            flat_load_dword v6, v[2:3]
            s_waitcnt vmcnt(0) lgkmcnt(0)
            s_mov_b64 exec, -1
            v_add_u32 v6, vcc, 1, v6
            flat_store_dword v[4:5], v6
            s_endpgm
        "
        );
        Increment { program: gcn_program(&source), isa: Isa::Gcn }
    };
    let guard = "
            v_add_u32 v7, vcc, -8, v0
            v_cmp_gt_u32 vcc, 32, v7
            s_mov_b64 exec, vcc
        ";
    let source = "
            and b32 $r1 $r0 0xffff
            shl b32 $r1 $r1 0x2
            mov b32 $r2 b32 s[0x10]
            add b32 $r3 b32 s[0x14] $r1
            ld b32 $r4 g14[$r2]
            mov b32 $r5 0x1
            add b32 $r4 $r4 $r5
            exit st b32 g14[$r3] $r4
        ";
    let code = tesla::assemble(source, Target::compute(Chip::G80)).unwrap().code;
    let options = ProgramOptions::new(Isa::Tesla).chip(Some("g80".parse().unwrap())).registers(Some(8));
    let tesla = Increment { program: Program::load(&code, &options).unwrap(), isa: Isa::Tesla };
    vec![(gcn(""), all.clone()), (gcn(guard), some), (tesla, all)]
}

#[test]
fn devices_answer_each_lane_at_one_address() {
    for (program, expected) in loads_of_one() {
        for engine in engines() {
            let memory = Memory::new().unwrap();
            let device = memory.map_device(None, PAGE, Arc::new(Counter::default())).unwrap();
            let own = memory.map(Some(TARGET), PAGE, Access::ReadWrite).unwrap();
            assert_eq!(program.run(&engine, &memory, device, own).fault, None);
            assert_eq!(words(&memory, own), expected, "{:?}", engine.config());
            // Memory is the same for all.
            memory.store(own, 4, 5).unwrap();
            assert_eq!(program.run(&engine, &memory, own, own + 2048).fault, None);
            let same: Vec<u32> = expected.iter().map(|&n| if n == 0 { 0 } else { 6 }).collect();
            assert_eq!(words(&memory, own + 2048), same);
        }
    }
}

/// Maps what is missing, a page at a time, up to an address.
struct OnDemand {
    end: u64,
    faults: AtomicU32,
}

impl Pager for OnDemand {
    fn page_fault(&self, memory: &Memory, fault: &PageFault) -> bool {
        self.faults.fetch_add(1, Ordering::SeqCst);
        let page = fault.address & !(PAGE - 1);
        if page >= self.end {
            return false;
        }
        match fault.is_mapped {
            true => memory.protect(page..page + PAGE, Access::ReadWrite).is_ok(),
            false => memory.map(Some(page), PAGE, Access::ReadOnly).is_ok(),
        }
    }
}

#[test]
fn pagers_mend_accesses_which_go_on() {
    for increment in Increment::all() {
        for engine in engines() {
            let memory = Memory::new().unwrap();
            let pager = Arc::new(OnDemand { end: TARGET + PAGE, faults: AtomicU32::new(0) });
            memory.set_pager(Some(pager.clone())).unwrap();
            // Across two pages, both to be mapped; then one to be mapped, and to be made writable.
            assert_eq!(increment.run(&engine, &memory, SOURCE + 4000, TARGET).fault, None);
            assert!(words(&memory, TARGET).iter().all(|&word| word == 1));
            assert_eq!(pager.faults.swap(0, Ordering::SeqCst), 4);
            assert_eq!(increment.run(&engine, &memory, SOURCE + 4000, TARGET).fault, None);
            assert_eq!(pager.faults.swap(0, Ordering::SeqCst), 0);
            let fault = increment.run(&engine, &memory, SOURCE, TARGET + PAGE).fault.unwrap();
            assert_eq!((fault.kind, fault.address), (FaultKind::Memory, Some(TARGET + PAGE)));
            memory.set_pager(None).unwrap();
            let fault = increment.run(&engine, &memory, SOURCE + 2 * PAGE, TARGET).fault.unwrap();
            assert_eq!(fault.address, Some(SOURCE + 2 * PAGE));
        }
    }
}

/// Says that it has mended, and has not.
struct Liar;

impl Pager for Liar {
    fn page_fault(&self, _: &Memory, _: &PageFault) -> bool {
        true
    }
}

#[test]
fn a_pager_that_lies_makes_no_endless_loop() {
    for increment in Increment::all() {
        for engine in engines() {
            let memory = Memory::new().unwrap();
            memory.set_pager(Some(Arc::new(Liar))).unwrap();
            let fault = increment.run(&engine, &memory, SOURCE, TARGET).fault.unwrap();
            assert_eq!((fault.kind, fault.address), (FaultKind::Memory, Some(SOURCE)));
        }
    }
}

#[derive(Default)]
struct Noted(Mutex<Vec<u64>>);

impl WriteWatch for Noted {
    fn before_write(&self, page: u64) {
        self.0.lock().unwrap().push(page);
    }
}

#[test]
fn watches_hear_of_the_first_store() {
    for increment in Increment::all() {
        for engine in engines() {
            let memory = Memory::new().unwrap();
            memory.map(Some(SOURCE), 4 * PAGE, Access::ReadWrite).unwrap();
            let watch = Arc::new(Noted::default());
            memory.watch_writes(SOURCE + PAGE..SOURCE + 3 * PAGE, Some(watch.clone())).unwrap();
            let taken = || std::mem::take(&mut *watch.0.lock().unwrap());
            assert_eq!(increment.run(&engine, &memory, SOURCE + PAGE, SOURCE).fault, None);
            assert_eq!(taken(), []);
            assert_eq!(increment.run(&engine, &memory, SOURCE, SOURCE + 2 * PAGE - 64).fault, None);
            assert_eq!(taken(), [SOURCE + PAGE, SOURCE + 2 * PAGE]);
            assert_eq!(increment.run(&engine, &memory, SOURCE, SOURCE + 2 * PAGE - 64).fault, None);
            assert_eq!(taken(), []);
            memory.watch_writes(SOURCE..SOURCE + 4 * PAGE, Some(watch.clone())).unwrap();
            memory.watch_writes(SOURCE..SOURCE + PAGE, None).unwrap();
            for at in [SOURCE, SOURCE + 3 * PAGE] {
                assert_eq!(increment.run(&engine, &memory, SOURCE, at).fault, None);
            }
            assert_eq!(taken(), [SOURCE + 3 * PAGE]);
            assert!(memory.watch_writes(SOURCE..SOURCE + 5 * PAGE, None).is_err());
        }
    }
}

#[test]
fn stores_are_recorded() {
    for increment in Increment::all() {
        for engine in engines() {
            let memory = Memory::new().unwrap();
            memory.map(Some(SOURCE), 8 * PAGE, Access::ReadWrite).unwrap();
            memory.map(Some(TARGET), PAGE, Access::ReadOnly).unwrap();
            let all = 0..1 << 32;
            let taken = || memory.take_dirty(all.clone()).unwrap();
            assert_eq!(taken(), [SOURCE..SOURCE + 8 * PAGE]);
            assert_eq!(taken(), []);
            assert_eq!(increment.run(&engine, &memory, TARGET, SOURCE + 2 * PAGE - 64).fault, None);
            assert_eq!(taken(), [SOURCE + PAGE..SOURCE + 3 * PAGE]);
            // Loads are no stores; stores of the host are.
            assert_eq!(increment.run(&engine, &memory, SOURCE, SOURCE + 7 * PAGE).fault, None);
            memory.store(SOURCE + 5 * PAGE, 4, 1).unwrap();
            memory.write(SOURCE + 3 * PAGE, &[1; 100]).unwrap();
            // SAFETY: mapped memory of the guest, and nothing runs.
            unsafe { memory.base().wrapping_add((SOURCE + PAGE) as usize).write_volatile(1) };
            let pages = [1, 3, 5, 7].map(|n| SOURCE + n * PAGE..SOURCE + (n + 1) * PAGE);
            assert_eq!(taken(), pages);
            // Only a part of them is asked for.
            memory.store(SOURCE, 4, 1).unwrap();
            memory.store(SOURCE + PAGE, 4, 1).unwrap();
            assert_eq!(memory.take_dirty(SOURCE..SOURCE + PAGE).unwrap(), [SOURCE..SOURCE + PAGE]);
            assert_eq!(taken(), [SOURCE + PAGE..SOURCE + 2 * PAGE]);
            memory.unmap(SOURCE).unwrap();
            let fault = increment.run(&engine, &memory, TARGET, SOURCE).fault.unwrap();
            assert_eq!((fault.address, fault.store), (Some(SOURCE), true));
            assert!(memory.take_dirty(1..PAGE).is_err());
        }
    }
}

#[test]
fn many_threads_dirty_many_pages() {
    let memory = Memory::new().unwrap();
    let at = memory.map(None, 256 * PAGE, Access::ReadWrite).unwrap();
    memory.take_dirty(at..at + 256 * PAGE).unwrap();
    let seen = Mutex::new(BTreeSet::new());
    let take = || {
        let found = memory.take_dirty(at..at + 256 * PAGE).unwrap();
        seen.lock().unwrap().extend(found.into_iter().flat_map(|range| range.step_by(PAGE as usize)));
    };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                take();
            }
        });
        let writers: Vec<_> = (0..4)
            .map(|thread| {
                let memory = &memory;
                scope.spawn(move || {
                    for round in 0..20 {
                        for page in (0..256).filter(|page| page % 3 != 1) {
                            memory.store(at + page * PAGE + 8 * thread, 8, round).unwrap();
                        }
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::SeqCst);
    });
    take();
    let written = (0..256).filter(|page| page % 3 != 1).map(|page| at + page * PAGE);
    assert!(seen.into_inner().unwrap().into_iter().eq(written));
}

#[test]
fn a_thousand_small_spaces() {
    let spaces: Vec<Memory> =
        (0..1000).map(|_| Memory::with(&MemoryOptions::new().size(4 << 20)).unwrap()).collect();
    for increment in Increment::all() {
        for engine in engines() {
            for memory in spaces.iter().step_by(250) {
                // Raw programs of GCN find their code above four gigabytes, where a small space has no room.
                let at = memory.map(Some(0x20_0000), PAGE, Access::ReadWrite).unwrap();
                match engine.run(&increment.program, memory, &increment.launch(at, at)) {
                    Ok(report) => {
                        assert_eq!(report.fault, None);
                        assert_eq!(words(memory, at), vec![1; THREADS as usize]);
                        let fault = increment.run(&engine, memory, at, 4 << 20).fault.unwrap();
                        assert_eq!(fault.address, Some(4 << 20));
                    }
                    Err(error) => assert!(
                        increment.isa == Isa::Gcn && error.to_string().contains("addresses below"),
                        "{error}"
                    ),
                }
                memory.unmap(at).unwrap();
            }
        }
    }
    assert!(spaces[0].map(Some(4 << 20), PAGE, Access::ReadWrite).is_err());
    assert!(Memory::with(&MemoryOptions::new().size(1000)).is_err());
    assert!(Memory::with(&MemoryOptions::new().address_bits(31)).is_err());
    assert!(Memory::with(&MemoryOptions::new().identity().size(1 << 20)).is_err());
    let of_tesla = Memory::with(&MemoryOptions::of_chip("g80".parse().unwrap())).unwrap();
    assert!(of_tesla.map(Some(1 << 32), PAGE, Access::ReadWrite).is_err());
}

#[test]
fn guests_reach_host_memory_by_its_own_pointer() {
    let increment = Increment::gcn();
    for engine in engines() {
        let memory = Memory::with(&MemoryOptions::new().identity()).unwrap();
        let own = memory.map(None, PAGE, Access::ReadWrite).unwrap();
        // SAFETY: the library says that the address is the host's.
        unsafe { std::ptr::with_exposed_provenance_mut::<u32>(own as usize).write_volatile(41) };
        let mut host = Box::new(Pages([0; 2 * 4096]));
        let pointer = (&raw mut *host).cast::<u8>();
        let at = pointer.addr() as u64;
        let run = |from, to| engine.run(&increment.program, &memory, &increment.launch(from, to));
        // Not registered yet.
        let report = run(own, at).unwrap();
        let fault = report.fault.unwrap();
        assert_eq!((fault.address, fault.store), (Some(at), true));
        // SAFETY: as in `private_host_memory_is_used_in_place`.
        unsafe { memory.map_host(None, pointer, 2 * PAGE, Access::ReadWrite) }.unwrap();
        // Rust's own memory beside it is not the guest's.
        let beside = Box::new(0_u32);
        let fault = run((&raw const *beside).addr() as u64 & !3, at).unwrap().fault.unwrap();
        assert_eq!(fault.kind, FaultKind::Memory);
        assert_eq!(run(own, at).unwrap().fault, None);
        // SAFETY: inside the box.
        assert_eq!(unsafe { pointer.cast::<u32>().read_volatile() }, 42);
        memory.unmap(at).unwrap();
        assert_eq!(run(at, own).unwrap().fault.unwrap().address, Some(at));
    }
}

#[test]
fn the_highest_bits_of_an_address_are_ignored() {
    let increment = Increment::gcn();
    for engine in engines() {
        let memory = Memory::with(&MemoryOptions::new().ignore_high_bits(16)).unwrap();
        memory.map(Some(SOURCE), PAGE, Access::ReadWrite).unwrap();
        fill(&memory, SOURCE, 5);
        let report = increment.run(&engine, &memory, 0xabcd << 48 | SOURCE, 0x7fff << 48 | SOURCE);
        assert_eq!(report.fault, None);
        assert!(is_from(&words(&memory, SOURCE), 6));
        let plain = Memory::new().unwrap();
        plain.map(Some(SOURCE), PAGE, Access::ReadWrite).unwrap();
        assert!(increment.run(&engine, &plain, 0xabcd << 48 | SOURCE, SOURCE).fault.is_some());
    }
}

/// The bits that a device ignores are those of the sum of address and offset, which may have others than the address.
#[test]
fn ignored_bits_are_those_of_the_sum() {
    let text = |offset: i32| {
        format!(
            "v_mov_b32 v2, s0
            v_mov_b32 v3, s1
            global_load_dword v4, v[2:3], off offset:{offset}
            s_waitcnt vmcnt(0)
            v_mov_b32 v2, s2
            v_mov_b32 v3, s3
            global_store_dword v[2:3], v4, off
            s_endpgm"
        )
    };
    let options = ProgramOptions::new(Isa::Gcn)
        .chip(Some(Generation::Gfx9.into()))
        .rsrc1(Some(3 | 2 << 6 | 0xc0 << 12))
        .rsrc2(Some(8 << 1));
    for ignored in [8, 17, 24, 32] {
        // The bit below those ignored is that of the sum's sign.
        let border = 1_u64 << (63 - ignored);
        for (base, offset) in [(border - 16, 16), (border, -16), (border - 64, 16), (border + 64, -16)] {
            let code = gcn::assemble(&text(offset), Generation::Gfx9).unwrap().code;
            let sum = base.wrapping_add_signed(offset.into());
            let seen = ((sum << ignored) as i64 >> ignored) as u64;
            // Memory has addresses of 48 bits.
            if ((seen << 16) as i64 >> 16) as u64 != seen {
                continue;
            }
            for engine in engines() {
                let memory = Memory::with(&MemoryOptions::new().ignore_high_bits(ignored)).unwrap();
                memory.map(Some(seen & !(PAGE - 1)), PAGE, Access::ReadWrite).unwrap();
                memory.map(Some(TARGET), PAGE, Access::ReadWrite).unwrap();
                memory.map(Some(SOURCE), PAGE, Access::ReadOnly).unwrap();
                memory.write(SOURCE, &code).unwrap();
                let program = Program::load_at(&memory, SOURCE, &options).unwrap();
                memory.store(seen, 4, 0x1234_5678).unwrap();
                let words = [base as u32, (base >> 32) as u32, TARGET as u32, 0, 0, 0, 0, 0];
                let launch = Launch::default().grid([1; 3]).block([THREADS, 1, 1]).user_data(words.to_vec());
                let report = engine.run(&program, &memory, &launch).unwrap();
                let what = format!("{ignored} bits, {base:#x} and {offset}: {:?}", engine.config());
                assert_eq!(report.fault, None, "{what}");
                assert_eq!(memory.load(TARGET, 4).unwrap(), 0x1234_5678, "{what}");
            }
        }
    }
}

/// Guest and host talk through a flag while the launch runs.
#[test]
fn a_kernel_waits_for_the_host() {
    let source = "
        v_mov_b32 v2, s0
        v_mov_b32 v3, s1
        v_mov_b32 v5, 1
        v_mov_b32 v6, 0
        again:
        flat_load_dword v4, v[2:3] glc
        s_waitcnt vmcnt(0) lgkmcnt(0)
        v_cmp_ne_u32 vcc, v4, v6
        s_cbranch_vccz again
        v_add_u32 v2, vcc, 4, v2
        flat_atomic_add v[2:3], v5
        s_endpgm
    ";
    let program = gcn_program(source);
    for engine in engines() {
        let memory = Memory::new().unwrap();
        let at = memory.map(None, PAGE, Access::ReadWrite).unwrap();
        let launch = Launch::default()
            .grid([1; 3])
            .block([THREADS, 1, 1])
            .user_data(vec![at as u32, (at >> 32) as u32]);
        std::thread::scope(|scope| {
            let running = scope.spawn(|| engine.run(&program, &memory, &launch).unwrap());
            std::thread::sleep(Duration::from_millis(20));
            assert!(!running.is_finished());
            memory.update32(at + 4, |old| old + 1000).unwrap();
            memory.store(at, 4, 1).unwrap();
            assert_eq!(running.join().unwrap().fault, None);
        });
        assert_eq!(memory.load(at + 4, 4).unwrap(), u64::from(1000 + THREADS));
    }
}

/// What a kernel reads again and again vanishes: a fault.
/// A range that the embedder has reserved, in which it maps pieces of one file and takes them away again.
struct Reserved {
    base: *mut u8,
    file: std::os::fd::OwnedFd,
}

impl Reserved {
    const BYTES: u64 = 4 << 30;

    fn new() -> Reserved {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let file = rustix::fs::memfd_create("warpjit-test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&file, 16 * PAGE).unwrap();
        let length = (Self::BYTES + 2 * GUARD_BYTES) as usize;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: new addresses.
        let start =
            unsafe { mmap_anonymous(std::ptr::null_mut(), length, ProtFlags::empty(), flags) }.unwrap();
        Reserved { base: start.cast::<u8>().wrapping_add(GUARD_BYTES as usize), file }
    }

    fn map(&self, at: u64, offset: u64, rights: rustix::mm::ProtFlags) {
        let place = self.base.wrapping_add(at as usize).cast();
        let flags = rustix::mm::MapFlags::SHARED | rustix::mm::MapFlags::FIXED;
        // SAFETY: the addresses are this value's.
        unsafe { rustix::mm::mmap(place, PAGE as usize, rights, flags, &self.file, offset) }.unwrap();
    }

    fn take_away(&self, at: u64) {
        let place = self.base.wrapping_add(at as usize).cast();
        let flags =
            rustix::mm::MapFlags::PRIVATE | rustix::mm::MapFlags::FIXED | rustix::mm::MapFlags::NORESERVE;
        // SAFETY: the addresses are this value's.
        unsafe { rustix::mm::mmap_anonymous(place, PAGE as usize, rustix::mm::ProtFlags::empty(), flags) }
            .unwrap();
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let start = self.base.wrapping_sub(GUARD_BYTES as usize).cast();
        // SAFETY: the addresses are this value's, and the memory over them is gone.
        unsafe { rustix::mm::munmap(start, (Self::BYTES + 2 * GUARD_BYTES) as usize) }.unwrap();
    }
}

#[test]
fn an_embedder_maps_a_range_by_itself() {
    use rustix::mm::ProtFlags;
    let both = ProtFlags::READ | ProtFlags::WRITE;
    let range = Reserved::new();
    // SAFETY: the range and its guards are this test's, and outlive the memory.
    let over = |base, bytes| unsafe { Memory::over(base, bytes) };
    let memory = over(range.base, Reserved::BYTES).unwrap();
    assert!(over(range.base, 3 << 30).is_err());
    assert!(over(range.base.wrapping_add(8), Reserved::BYTES).is_err());
    assert!(memory.map(None, PAGE, Access::ReadWrite).is_err());
    assert!(memory.unmap(16 * PAGE).is_err());
    for (number, engine) in engines().iter().enumerate() {
        range.map(8 * PAGE, 2 * PAGE, both);
        for increment in [Increment::tesla(), Increment::gcn_at(&memory, 8 * PAGE)] {
            let [from, to, mirror] = [16 * PAGE, 17 * PAGE, 64 * PAGE];
            range.map(from, 0, both);
            range.map(to, PAGE, both);
            range.map(mirror, PAGE, ProtFlags::READ);
            fill(&memory, from, 100 * number as u32);
            assert_eq!(increment.run(engine, &memory, from, to).fault, None);
            assert!(is_from(&words(&memory, mirror), 100 * number as u32 + 1));
            // What may not be written, what is not there, and what is there no longer.
            let is_fault = |from, to, address| {
                let fault = increment.run(engine, &memory, from, to).fault.unwrap();
                assert_eq!((fault.kind, fault.address), (FaultKind::Memory, Some(address)), "{fault}");
            };
            is_fault(from, mirror, mirror);
            is_fault(32 * PAGE, to, 32 * PAGE);
            range.take_away(from);
            is_fault(from, to, from);
            let mut byte = [0];
            assert!(memory.read(from, &mut byte).is_err());
            range.map(from, PAGE, both);
            assert_eq!(increment.run(engine, &memory, from, from).fault, None);
            assert!(is_from(&words(&memory, mirror), 100 * number as u32 + 2));
        }
    }
}

#[test]
fn memory_that_vanishes_is_a_fault() {
    let source = "
        v_mov_b32 v2, s0
        v_mov_b32 v3, s1
        again:
        flat_load_dword v4, v[2:3] glc
        s_waitcnt vmcnt(0) lgkmcnt(0)
        s_branch again
    ";
    let program = gcn_program(source);
    for engine in engines() {
        let memory = Memory::new().unwrap();
        let at = memory.map(None, 4 * PAGE, Access::ReadWrite).unwrap();
        let launch = Launch::default()
            .grid([1; 3])
            .block([THREADS, 1, 1])
            .user_data(vec![at as u32, (at >> 32) as u32]);
        std::thread::scope(|scope| {
            let running = scope.spawn(|| engine.run(&program, &memory, &launch).unwrap());
            std::thread::sleep(Duration::from_millis(20));
            memory.unmap(at).unwrap();
            let fault = running.join().unwrap().fault.unwrap();
            assert_eq!((fault.kind, fault.address), (FaultKind::Memory, Some(at)));
        });
    }
}

/// The system refuses an access that the table of pages allows, to memory that is not where its address says.
#[test]
fn faults_elsewhere_have_their_guest_address() {
    let increment = Increment::gcn();
    for engine in engines() {
        for at in [SOURCE, 0x1234_5000_0000] {
            let memory = Memory::new().unwrap();
            memory.map(Some(TARGET), PAGE, Access::ReadWrite).unwrap();
            // A page of a file that becomes shorter.
            let file = rustix::fs::memfd_create("warpjit-test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
            rustix::fs::ftruncate(&file, 2 * PAGE).unwrap();
            memory
                .map_file(Some(at), file.as_fd(), 0, 2 * PAGE, Access::ReadWrite, FileSharing::Shared)
                .unwrap();
            assert_eq!(increment.run(&engine, &memory, at + PAGE, TARGET).fault, None);
            rustix::fs::ftruncate(&file, PAGE).unwrap();
            let fault = increment.run(&engine, &memory, at + PAGE - 16, TARGET).fault.unwrap();
            assert_eq!((fault.kind, fault.address, fault.lane), (FaultKind::Memory, Some(at + PAGE), 4));
            // Private memory of the host that goes.
            let (private, rights) =
                (rustix::mm::MapFlags::PRIVATE, rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE);
            // SAFETY: a new mapping. What is gone is no more accessed than the system allows.
            unsafe {
                let host =
                    rustix::mm::mmap_anonymous(std::ptr::null_mut(), 2 * PAGE as usize, rights, private);
                let (host, own) = (host.unwrap(), at + 16 * PAGE);
                memory.map_host(Some(own), host.cast(), 2 * PAGE, Access::ReadWrite).unwrap();
                assert_eq!(increment.run(&engine, &memory, own, TARGET).fault, None);
                let none = rustix::mm::MprotectFlags::empty();
                rustix::mm::mprotect(host.wrapping_byte_add(PAGE as usize), PAGE as usize, none).unwrap();
                let fault = increment.run(&engine, &memory, own + PAGE, TARGET).fault.unwrap();
                assert_eq!((fault.kind, fault.address), (FaultKind::Memory, Some(own + PAGE)));
                rustix::mm::munmap(host, 2 * PAGE as usize).unwrap();
            }
        }
    }
}

/// Stores of lanes that overlap where two mappings meet, far from the window: the highest lane's bytes stay, though what lies in both
/// mappings is stored by the runtime and the rest by compiled code.
#[test]
fn stores_across_two_mappings_keep_the_order_of_lanes() {
    const BORDER: u64 = 0x7654_0000_0000;
    // Down to three bytes below the border: `to[-(tid & 3)] = tid + 1`.
    let program = gcn_program(
        "
        v_and_b32 v1, 3, v0
        v_sub_u32 v2, vcc, s0, v1
        v_mov_b32 v3, s1
        v_subb_u32 v3, vcc, v3, 0, vcc
        v_add_u32 v4, vcc, 1, v0
        flat_store_dword v[2:3], v4
        s_endpgm
        ",
    );
    let at = BORDER - 3;
    let mut expected = [0_u8; 7];
    for thread in 0..THREADS {
        let start = 3 - (thread & 3) as usize;
        expected[start..start + 4].copy_from_slice(&(thread + 1).to_le_bytes());
    }
    for engine in engines() {
        let memory = Memory::new().unwrap();
        memory.map(Some(BORDER - PAGE), PAGE, Access::ReadWrite).unwrap();
        memory.map(Some(BORDER), PAGE, Access::ReadWrite).unwrap();
        let launch = Launch::default().grid([1; 3]).block([THREADS, 1, 1]);
        let launch = launch.user_data(vec![BORDER as u32, (BORDER >> 32) as u32, 0, 0, 0, 0, 0, 0]);
        assert_eq!(engine.run(&program, &memory, &launch).unwrap().fault, None);
        let mut found = [0; 7];
        memory.read(at, &mut found).unwrap();
        assert_eq!(found, expected, "{:?}", engine.config());
    }
}

/// Launches of one memory on several threads, with others that come and go.
#[test]
fn launches_run_side_by_side() {
    for increment in Increment::all() {
        for tier in [Tier::Interp, Tier::Jit] {
            let engine = Engine::new(Config::default().tier(tier).threads(1)).unwrap();
            let memory = Memory::new().unwrap();
            let done = AtomicU64::new(0);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for round in 0..50 {
                            let at = memory.map(None, 2 * PAGE, Access::ReadWrite).unwrap();
                            fill(&memory, at, round);
                            assert_eq!(increment.run(&engine, &memory, at, at + PAGE).fault, None);
                            assert!(is_from(&words(&memory, at + PAGE), round + 1));
                            memory.unmap(at).unwrap();
                            done.fetch_add(1, Ordering::SeqCst);
                        }
                    });
                }
            });
            assert_eq!(done.into_inner(), 200);
            assert_eq!(memory.buffers().count(), 0);
        }
    }
}

struct Panics;

impl Device for Panics {
    fn load(&self, _: u64, _: u8) -> u64 {
        panic!("of the device")
    }

    fn store(&self, _: u64, _: u8, _: u64) {}
}

#[test]
fn a_panic_of_a_device_comes_out_of_the_launch() {
    for increment in Increment::all() {
        for engine in engines() {
            let memory = Memory::new().unwrap();
            let device = memory.map_device(None, PAGE, Arc::new(Panics)).unwrap();
            let own = memory.map(None, PAGE, Access::ReadWrite).unwrap();
            let run = || increment.run(&engine, &memory, device, own);
            let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_err();
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"of the device"));
            // The engine and the memory are as before.
            assert_eq!(increment.run(&engine, &memory, own, own).fault, None);
        }
    }
}

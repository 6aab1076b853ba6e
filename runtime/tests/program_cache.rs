//! The cache of programs in guest memory: what is the same program, what is looked at again, what is dropped.

#![allow(clippy::single_range_in_vec_init)] // Lists of ranges are what is compared.

use std::thread;
use warpjit_frontend::Stage;
use warpjit_runtime::{
    Access, Chip, CodeAt, CodeSource, Config, Engine, Isa, Launch, Memory, Program, ProgramCache,
    ProgramOptions, Tier,
};

const CODE: u64 = 0x5_0000_0000;

fn gcn(text: &str) -> Vec<u8> {
    let chip: Chip = "polaris10".parse().expect("a chip");
    chip.target().assemble(text, Stage::Compute).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn options() -> ProgramOptions {
    let chip = "polaris10".parse().expect("a chip");
    ProgramOptions::new(Isa::Gcn).chip(Some(chip)).sgprs(Some(16))
}

/// Sets `s0`; as long as others, whatever the value.
fn sets(value: u32) -> Vec<u8> {
    gcn(&format!("s_mov_b32 s0, {:#x}\ns_nop 0\ns_endpgm\n", value | 0x1000_0000))
}

/// The low bits of `s0` at the end.
fn result(engine: &Engine, memory: &Memory, program: &Program) -> u64 {
    let launch = Launch::default().grid([1; 3]).block([64, 1, 1]).capture_registers(true);
    let report = engine.run(program, memory, &launch).expect("runs");
    assert_eq!(report.fault, None);
    report.registers["s0"][0] & 0xfff_ffff
}

fn engine() -> Engine {
    Engine::new(Config::default().tier(Tier::Jit).threads(1)).expect("engine")
}

#[test]
fn the_same_bytes_are_one_program() {
    let engine = engine();
    let memory = engine.memory().expect("memory");
    memory.map(Some(CODE), 0x3000, Access::ReadWrite).expect("mapped");
    let cache = ProgramCache::default();
    let code = sets(7);
    // At two places, one over the end of a page.
    let places = [CODE, CODE + 0x1ff8];
    for place in places {
        memory.write(place, &code).expect("written");
    }
    let programs = places.map(|place| cache.get(&memory, place, &options()).expect("loads"));
    assert_eq!(programs.each_ref().map(|program| result(&engine, &memory, program)), [7, 7]);
    for (program, place) in programs.iter().zip(places) {
        assert_eq!(program.code_ranges(), [place..place + code.len() as u64]);
        assert_eq!(
            program.address_of(program.image().function.block(program.image().function.entry).pc),
            place
        );
    }
    let statistics = cache.statistics();
    assert_eq!((statistics.loads, statistics.shared, statistics.programs), (1, 1, 1));
    // It is compiled once: the first launch at the second place finds the code.
    assert_eq!(programs[0].bytes_used(), programs[1].bytes_used());
    let again = cache.get(&memory, places[1], &options()).expect("there");
    assert_eq!((again.code_ranges(), cache.statistics().hits), (programs[1].code_ranges(), 1));
    // A fault has the address of the place where the program was got.
    memory.write(CODE + 0x100, &gcn("s_nop 0\n")).expect("written");
    memory.write(CODE + 0x104, &[0xff; 4]).expect("written");
    memory.write(CODE + 0x200, &gcn("s_nop 0\n")).expect("written");
    memory.write(CODE + 0x204, &[0xff; 4]).expect("written");
    let launch = Launch::default().grid([1; 3]).block([64, 1, 1]);
    for place in [CODE + 0x100, CODE + 0x200] {
        let program = cache.get(&memory, place, &options()).expect("loads");
        let fault = engine.run(&program, &memory, &launch).expect("runs").fault.expect("a fault");
        assert_eq!(fault.pc, place + 4);
    }
    assert_eq!(cache.statistics().loads, 2);
}

#[test]
fn what_depends_on_its_address_or_options_is_no_other_program() {
    let code = gcn("s_getpc_b64 s[0:1]\ns_endpgm\n");
    let cache = ProgramCache::default();
    let memory = [CodeAt { address: 0x1000, bytes: &code }, CodeAt { address: 0x2000, bytes: &code }];
    cache.get(&memory, 0x1000, &options()).expect("loads");
    cache.get(&memory, 0x2000, &options()).expect("loads");
    assert_eq!((cache.statistics().loads, cache.statistics().programs), (2, 2));
    for change in [
        |o: &mut ProgramOptions| o.sgprs = Some(24),
        |o: &mut ProgramOptions| o.chip = "vega10".parse().ok(),
        |o: &mut ProgramOptions| (o.rsrc1, o.rsrc2, o.sgprs) = (Some(0x2c_0043), Some(4), None),
    ] {
        let mut options = options();
        change(&mut options);
        cache.get(&memory, 0x1000, &options).expect("loads");
    }
    assert_eq!((cache.statistics().loads, cache.statistics().shared), (5, 0));
    // The same place, again after another: the program is still there.
    cache.get(&memory, 0x1000, &options()).expect("there");
    assert_eq!(cache.statistics().hits, 1);
}

#[test]
fn segments_share_programs_that_are_at_the_same_offset() {
    let chip: Chip = "gf100".parse().expect("a chip");
    let code = chip.target().assemble("mov b32 $r1 0x5\nexit\n", Stage::Compute).expect("assembles");
    let segments = [0x10_0000, 0x20_0000];
    let memory = segments.map(|segment| CodeAt { address: segment + 0x100, bytes: &code });
    let cache = ProgramCache::default();
    for segment in segments {
        let options =
            ProgramOptions::new(Isa::Fermi).chip(Some(chip)).registers(Some(4)).segment(Some(segment));
        let program = cache.get(&memory, segment + 0x100, &options).expect("loads");
        assert_eq!(program.code_ranges(), [segment + 0x100..segment + 0x100 + code.len() as u64]);
    }
    assert_eq!((cache.statistics().loads, cache.statistics().shared), (1, 1));
}

#[test]
fn changed_code_is_seen_after_an_invalidation_and_no_earlier() {
    let engine = engine();
    let memory = engine.memory().expect("memory");
    memory.map(Some(CODE), 0x2000, Access::ReadWrite).expect("mapped");
    memory.write(CODE, &sets(1)).expect("written");
    memory.write(CODE + 0x1000, &sets(100)).expect("written");
    let cache = ProgramCache::default();
    let at = |place: u64| cache.get(&memory, place, &options()).expect("loads");
    let value = |place: u64| result(&engine, &memory, &at(place));
    assert_eq!((value(CODE), value(CODE + 0x1000)), (1, 100));
    let old = at(CODE);
    memory.write(CODE, &sets(2)).expect("written");
    assert_eq!(value(CODE), 1, "nobody has said so");
    cache.invalidate(CODE + 0x1000..CODE + 0x2000);
    assert_eq!(value(CODE), 1, "it is elsewhere");
    assert_eq!(cache.statistics().confirmed, 0);
    assert_eq!(value(CODE + 0x1000), 100);
    assert_eq!(cache.statistics().confirmed, 1);
    cache.invalidate(CODE + 8..CODE + 9);
    assert_eq!(value(CODE), 2);
    assert_eq!(result(&engine, &memory, &old), 1, "who holds the old program runs it as a whole");
    assert_eq!(cache.statistics().loads, 3);
    // A flush concerns all; what was there before is found again.
    memory.write(CODE, &sets(1)).expect("written");
    cache.flush();
    assert_eq!((value(CODE), value(CODE + 0x1000)), (1, 100));
    let statistics = cache.statistics();
    assert_eq!((statistics.loads, statistics.shared, statistics.confirmed), (3, 1, 2));
    // What is not there any more is an error, and then another program.
    memory.unmap(CODE).expect("was mapped");
    cache.flush();
    assert!(cache.get(&memory, CODE, &options()).is_err());
    memory.map(Some(CODE), 0x2000, Access::ReadWrite).expect("mapped");
    memory.write(CODE, &sets(3)).expect("written");
    assert_eq!(value(CODE), 3);
    cache.clear();
    assert_eq!((cache.statistics().programs, cache.statistics().bytes), (0, 0));
    assert_eq!(value(CODE), 3);
}

#[test]
fn the_programs_that_were_not_used_for_longest_are_dropped() {
    let codes: Vec<_> = (0..8).map(sets).collect();
    let memory: Vec<_> = codes
        .iter()
        .enumerate()
        .map(|(n, code)| CodeAt { address: 0x1000 * n as u64, bytes: code })
        .collect();
    let one = Program::load_at(&memory, 0, &options()).expect("loads").bytes_used();
    // Room for three, with what is kept of places.
    let cache = ProgramCache::new(3 * (one + 4096));
    let get = |n: u64| {
        let before = cache.statistics().loads;
        cache.get(&memory, 0x1000 * n, &options()).expect("loads");
        cache.statistics().loads > before
    };
    let room = 3 * (one + 4096) / (cache_bytes(&memory) + 1);
    assert!((3..8).contains(&room), "{room} programs");
    for n in 0..room as u64 {
        assert!(get(n));
    }
    assert!(!get(0));
    assert_eq!(cache.statistics().evictions, 0);
    assert!(get(7));
    // 1 was the oldest.
    assert_eq!(cache.statistics().evictions, 1);
    assert!(!get(0) && !get(2) && !get(7));
    assert!(get(1));
    assert!(cache.statistics().bytes <= 3 * (one + 4096));
    // One program has a place whatever the limit.
    let none = ProgramCache::new(0);
    for n in [1, 1, 2, 1] {
        none.get(&memory, 0x1000 * n, &options()).expect("loads");
    }
    let statistics = none.statistics();
    assert_eq!((statistics.loads, statistics.hits, statistics.evictions, statistics.programs), (3, 1, 2, 1));
}

/// Bytes of one program in a cache.
fn cache_bytes(memory: &impl CodeSource) -> usize {
    let cache = ProgramCache::default();
    cache.get(memory, 0, &options()).expect("loads");
    cache.statistics().bytes
}

#[test]
fn compiled_code_counts() {
    let engine = engine();
    let memory = engine.memory().expect("memory");
    memory.map(Some(CODE), 0x1000, Access::ReadWrite).expect("mapped");
    memory.write(CODE, &sets(1)).expect("written");
    let cache = ProgramCache::default();
    let program = cache.get(&memory, CODE, &options()).expect("loads");
    let before = program.bytes_used();
    result(&engine, &memory, &program);
    assert!(program.bytes_used() > before + 16);
    cache.get(&memory, CODE, &options()).expect("there");
    assert!(cache.statistics().bytes >= program.bytes_used());
}

/// Threads get and run programs while one changes their code: each result is of one version as a whole, and no older than the last
/// change before the launch.
#[test]
fn threads_share_it() {
    fn is_shared<T: Clone + Send + Sync>(_: &T) {}
    let cache = ProgramCache::default();
    is_shared(&cache);
    let engines = [engine(), engine()];
    let memory = engines[0].memory().expect("memory");
    memory.map(Some(CODE), 0x1000, Access::ReadWrite).expect("mapped");
    // Two constants that belong together.
    let version = |n: u32| {
        gcn(&format!("s_mov_b32 s0, {:#x}\ns_nop 0\ns_sub_u32 s0, s0, {:#x}\ns_endpgm\n", 0x1_0000 + n, n))
    };
    memory.write(CODE, &version(0x4000)).expect("written");
    thread::scope(|scope| {
        for engine in &engines {
            let (cache, memory) = (cache.clone(), &memory);
            scope.spawn(move || {
                for _ in 0..200 {
                    let program = cache.get(memory, CODE, &options()).expect("loads");
                    let launch = Launch::default().grid([1; 3]).block([64, 1, 1]).capture_registers(true);
                    let report = engine.run(&program, memory, &launch).expect("runs");
                    assert_eq!((report.fault, report.registers["s0"][0]), (None, 0x1_0000));
                }
            });
        }
        for n in 0..20 {
            // Not while somebody loads: a guest does not run code that it is writing. So each version has a place of its own, and the
            // entry is a branch, which is one word.
            let place = CODE + 0x100 + 0x40 * n;
            memory.write(place, &version(0x4001 + n as u32)).expect("written");
            let branch = 0xbf82_0000 | ((place - CODE) / 4 - 1) as u32;
            memory.write(CODE, &branch.to_le_bytes()).expect("written");
            cache.flush();
        }
    });
    assert!(cache.statistics().loads >= 1);
    let last = cache.get(&memory, CODE, &options()).expect("loads");
    assert!(last.is_current(&memory));
}

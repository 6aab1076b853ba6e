//! Tests of serialised regions: they read back unchanged, and other bytes are rejected.

use super::super::rows::Make;
use super::super::sample_block::SampleBlock;
use super::regions::{read_site, write_site};
use super::*;
use crate::cache::CacheConfig;
use crate::exec::RowFacts;
use crate::variant::Variant;
use crate::{Config, Launch};
use std::sync::Arc;
use warpjit_backend::{TrapLane, TrapSite};
use warpjit_ir::interp::Code as Interpreted;
use warpjit_ir::interp::Warp;
use warpjit_ir::meter::Usage;
use warpjit_ir::regions::Kernel;
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::{GuestFault, Space};

const BODY: &str = "
    slot s0: i32 tid = tid.x
    slot s1: i32 sum
    slot s2: f32 x
block0 at 0x0 insts 3:
    v0: i32 = slot.get s0
    v1: ui32 = const 2
    v2: i32 = ishl v0, v1
    v3: i32 = load.u32 global0[v2 + 0x10000] align 4
    slot.set s1, v3
    v4: f32 = slot.get s2
    v5: f32 = fadd.ftz v4, v4
    slot.set s2, v5
    v6: mask = icmp ult v3, v0
    branch v6, block1, block2
block1 at 0x20 insts 1:
    v7: i32 = slot.get s0
    store.u32 global0[v7 + 0x20000], v7 align 1
    jump block2
block2 at 0x28 insts 1:
    fault trap
";

fn jit(body: &str, config: &Config) -> Arc<Jit> {
    let text = format!("function @test spmd lanes 32 {{\n{body}\n}}\n");
    let function =
        warpjit_ir::text::parse_function(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    warpjit_ir::verify::verify(&function).unwrap_or_else(|error| panic!("{error}"));
    let variant = Variant::new(config, &Launch::default(), false);
    let kernel = Arc::new(Kernel::new(function, variant.region_options()));
    let (budget, spent) = (config.budget, Usage::default());
    let cache = config.cache.as_ref();
    Arc::new(Jit::new(kernel, variant, RowFacts::default(), cache, budget, spent).expect("a host"))
}

/// Compiles the regions of all blocks for a warp as it starts.
fn compile_all(jit: &Arc<Jit>) {
    let code = Interpreted::new(&jit.kernel.func).expect("valid code");
    let mut warp = Warp::new(&code, u64::MAX >> 32, |_, lane| lane);
    for block in jit.kernel.func.block_ids() {
        warp.block = block;
        jit.region(&warp, None);
    }
    let sample = SampleBlock { frames: &[warp.frame.words()], shared: 0, whole: true, threads: [32, 1, 1] };
    let _ = jit.rows(jit.kernel.func.entry, sample, Make::Now, None);
}

fn bytes_of(jit: &Jit) -> Vec<u8> {
    let mut out = Writer::default();
    out.u64(jit.frame_bytes());
    out.list([].iter(), |_, _: &u8| {});
    out.u8(0);
    out.u8(jit.strategy.load(Ordering::Relaxed));
    let mut list = Vec::new();
    for (number, versions) in jit.versions.iter().enumerate() {
        list.extend(lock(versions).list.iter().map(|code| (Block::new(number), code.clone())));
    }
    list.extend(lock(&jit.rows).list.iter().map(|code| (code.at, code.clone())));
    out.list(list.iter(), |out, (at, code)| Stored::of(*at, code).write(out));
    out.0
}

#[test]
fn regions_are_the_same_when_read() {
    for chunk_groups in [None, Some(2)] {
        are_the_same_when_read(&jit(BODY, &Config { chunk_groups, ..Config::default() }));
    }
}

fn are_the_same_when_read(jit: &Arc<Jit>) {
    compile_all(jit);
    let bytes = bytes_of(jit);
    let contents = jit.read(&bytes).expect("our own bytes");
    assert!(contents.regions.len() >= 2);
    assert!(contents.regions.iter().any(|region| !region.facts.traps.is_empty()));
    assert!(contents.regions.iter().any(|region| !region.facts.assumptions.is_empty()));
    assert!(contents.regions.iter().any(|region| !region.facts.faults.is_empty()));
    assert!(contents.regions.iter().any(|region| region.facts.row.is_some()));
    let mut again = Writer::default();
    again.u64(jit.frame_bytes());
    again.list([].iter(), |_, _: &u8| {});
    again.u8(contents.no_rows.into());
    again.u8(contents.strategy);
    again.list(contents.regions.iter(), |out, region| region.write(out));
    assert_eq!(again.0, bytes);
    for region in &contents.regions {
        let versions = match region.facts.row {
            Some(_) => lock(&jit.rows),
            None => lock(&jit.versions[region.at.index()]),
        };
        let same = versions.list.iter().any(|code| {
            code.code.bytes() == region.code
                && *code.facts.traps == *region.facts.traps
                && *code.facts.exits == *region.facts.exits
                && *code.facts.faults == *region.facts.faults
                && code.facts.assumptions == region.facts.assumptions
                && code.facts.written == region.facts.written
                && code.facts.mode == region.facts.mode
                && code.facts.row == region.facts.row
                && code.facts.returns == region.facts.returns
        });
        assert!(same);
    }
}

/// Two regions, with a barrier between them.
const TWO: &str = "
    slot s0: i32 tid = tid.x
block0 at 0x0 insts 3:
    v0: i32 = slot.get s0
    v1: ui32 = const 2
    v2: i32 = ishl v0, v1
    store.u32 global0[v2 + 0x10000], v0 align 4
    barrier 0 arrive wait -> block1
block1 at 0x18 insts 3:
    v3: i32 = slot.get s0
    v4: i32 = load.u32 global0[v3 + 0x10000] align 1
    store.u32 global0[v3 + 0x20000], v4 align 1
    leave.exit -> block1
";

#[test]
fn a_chain_is_the_same_when_read() {
    let single = jit(TWO, &Config { chunk_groups: Some(0), ..Config::default() });
    compile_all(&single);
    let bytes = single.merged(None);
    let mut contents = single.read(&bytes).expect("our own bytes");
    let chain = single.chains.last().expect("a chain");
    let links: Vec<Block> = chain.links().map(|(at, _)| at).collect();
    assert!(links.len() > 1);
    let [stored] = &mut contents.regions[..] else { panic!("the chain stands for its regions") };
    let (_, first) = chain.links().next().expect("a link");
    assert_eq!((&stored.links, stored.code), (&links, first.code.bytes()));
    let write = |stored: &Stored<'_>| {
        let mut out = Writer::default();
        out.u64(single.frame_bytes());
        out.list([].iter(), |_, _: &u8| {});
        out.u8(0);
        out.u8(0);
        out.list([stored].into_iter(), |out, stored| stored.write(out));
        out.0
    };
    assert!(single.read(&write(stored)).is_some());
    // A link at a block that the kernel has not.
    stored.links.push(Block::new(single.kernel.func.blocks.len()));
    assert!(single.read(&write(stored)).is_none());
    stored.links.pop();
    // With vectors there are versions instead.
    let vectors = jit(TWO, &Config { chunk_groups: Some(2), ..Config::default() });
    assert!(vectors.read(&write(stored)).is_none());
}

/// Changes a list that may be shared.
fn change<T: Clone>(list: &mut Arc<[T]>, by: impl FnOnce(&mut Vec<T>) -> bool) -> bool {
    let mut own = list.to_vec();
    let done = by(&mut own);
    *list = own.into();
    done
}

#[test]
fn what_code_names_must_be_there() {
    let jit = jit(BODY, &Config::default());
    compile_all(&jit);
    let bytes = bytes_of(&jit);
    // Each of these is whole and makes sense, but for the code that it stands beside.
    type Change = fn(&mut Stored<'_>) -> bool;
    let changes: [(&str, Change); 7] = [
        ("an exit less", |region| {
            // The code need not come out at all that there are.
            region.facts.returns[0].exits == region.facts.exits.len() as u32
                && change(&mut region.facts.exits, |exits| exits.pop().is_some())
        }),
        ("a fault less", |region| change(&mut region.facts.faults, |faults| faults.pop().is_some())),
        ("a fault that the kernel has not", |region| {
            change(&mut region.facts.faults, |all| all.iter_mut().map(|fault| fault.pc += 8).count() > 0)
        }),
        ("another kind of fault", |region| {
            change(&mut region.facts.faults, |all| {
                all.iter_mut().map(|fault| fault.kind = GuestFault::Illegal).count() > 0
            })
        }),
        ("code of no function", |region| {
            change(&mut region.facts.returns, |returns| std::mem::take(returns).len() == 1)
        }),
        ("a phase less", |region| region.facts.row.as_mut().is_some_and(|row| row.phases.pop().is_some())),
        ("a fault of a phase less", |region| {
            let returned = region.facts.returns[0].faults as usize;
            region.facts.row.as_mut().is_some_and(|row| {
                let faults = &mut row.phases[0].faults;
                returned == faults.len() && faults.pop().is_some()
            })
        }),
    ];
    let written = |contents: &Contents<'_>| {
        let mut out = Writer::default();
        out.u64(jit.frame_bytes());
        out.list([].iter(), |_, _: &u8| {});
        out.u8(0);
        out.u8(0);
        out.list(contents.regions.iter(), |out, region| region.write(out));
        out.0
    };
    assert!(jit.read(&written(&jit.read(&bytes).expect("our own bytes"))).is_some());
    for (what, change) in changes {
        let regions = jit.read(&bytes).expect("our own bytes").regions.len();
        let mut changed = 0;
        for number in 0..regions {
            let mut contents = jit.read(&bytes).expect("our own bytes");
            if change(&mut contents.regions[number]) {
                changed += 1;
                assert!(jit.read(&written(&contents)).is_none(), "{what}, region {number}");
            }
        }
        assert!(changed > 0, "{what}");
    }
}

#[test]
fn functions_and_tables_that_code_names_must_be_there() {
    // The counts stand before the lists: a list that is shorter or longer is that of other code.
    let jit = jit(BODY, &Config::default());
    compile_all(&jit);
    let bytes = bytes_of(&jit);
    let contents = jit.read(&bytes).expect("our own bytes");
    for list in 0..2 {
        let mut out = Writer::default();
        out.u64(jit.frame_bytes());
        out.list([].iter(), |_, _: &u8| {});
        out.u8(0);
        out.u8(0);
        out.list(contents.regions.iter(), |out, region| {
            let start = out.0.len();
            region.write(out);
            let mut own = Writer::default();
            own.bytes(region.code);
            own.list(region.facts.traps.iter(), |out, (offset, site)| {
                out.u32(*offset);
                write_site(out, site);
            });
            own.list(region.facts.pcs.iter(), |out, (offset, pc)| {
                out.u32(*offset);
                out.u32(*pc);
            });
            let counts = start + 5 + own.0.len();
            out.0[counts + 4 * list] += 1;
        });
        assert!(jit.read(&out.0).is_none(), "{list}");
    }
}

#[test]
fn bytes_of_any_kind_are_read_without_harm() {
    let jit = jit(BODY, &Config::default());
    compile_all(&jit);
    let bytes = bytes_of(&jit);
    for length in 0..bytes.len() {
        assert!(jit.read(&bytes[..length]).is_none(), "{length}");
    }
    assert!(jit.read(&[&bytes[..], &[0]].concat()).is_none());
    // What is read of changed bytes stays within the kernel.
    let blocks = jit.kernel.func.blocks.len();
    for at in 0..bytes.len() {
        for value in [0, 1, 3, 0x7f, 0xff] {
            let mut changed = bytes.clone();
            changed[at] = value;
            let Some(contents) = jit.read(&changed) else { continue };
            for region in contents.regions {
                assert!(region.at.index() < blocks && !region.code.is_empty());
                assert!(region.facts.traps.iter().all(|(offset, _)| (*offset as usize) < region.code.len()));
                assert!(region.facts.traps.iter().all(|(_, site)| site.bytes > 0));
                for &exit in region.facts.exits.iter() {
                    let (ExitKind::Terminator(block) | ExitKind::Enter(block)) = exit else { continue };
                    assert!(block.index() < blocks);
                }
            }
        }
    }
}

#[test]
fn every_kind_of_site_comes_back() {
    let lanes = [
        TrapLane::Lane(13),
        TrapLane::Vector { first: 4 },
        TrapLane::First { guarded: false },
        TrapLane::First { guarded: true },
    ];
    let spaces = [Space::Global(14), Space::Shared, Space::Local, Space::Const(3)];
    for lane in lanes {
        for space in spaces {
            for (store, bytes) in [(false, 1), (true, 16)] {
                let site = TrapSite { pc: 0x1234, lane, space, store, bytes };
                let mut out = Writer::default();
                write_site(&mut out, &site);
                let mut from = Reader(&out.0);
                assert_eq!(read_site(&mut from), Some(site));
                assert!(from.is_empty());
            }
        }
    }
}

#[test]
fn keys_tell_apart_what_code_depends_on() {
    let base = Config::default();
    let configs = [
        Config { checked_memory: true, ..base.clone() },
        Config { chunk_groups: Some(1), ..base.clone() },
        Config { lockstep: true, ..base.clone() },
        Config { count: true, ..base.clone() },
        Config { host: crate::HostLevel::Sse41, ..base.clone() },
        Config { numerics: crate::Numerics::Fast, ..base.clone() },
    ];
    let mut keys: Vec<Key> = configs.iter().map(|config| jit(BODY, config).key()).collect();
    keys.push(jit(BODY, &base).key());
    for changed in [
        ("0x10000", "0x10004"),
        ("icmp ult", "icmp ugt"),
        ("fadd.ftz", "fadd"),
        ("fault trap", "fault illegal"),
    ] {
        keys.push(jit(&BODY.replace(changed.0, changed.1), &base).key());
    }
    for (n, key) in keys.iter().enumerate() {
        assert!(!keys[..n].contains(key), "{n}");
    }
    // A host that has all that Cranelift knows of, but not all that the other generator needs, makes other code.
    let mut other = jit(BODY, &base);
    let here = other.key();
    let known = Arc::get_mut(&mut other).expect("ours alone");
    known.generator = known.generator.other();
    assert_ne!(other.key(), here);
    // Tiers share code.
    let auto = jit(BODY, &Config { tier: Tier::Auto, hot_after: Some(3), ..base.clone() });
    let sync = jit(BODY, &Config { tier: Tier::Jit, ..base });
    assert_eq!(auto.key(), sync.key());
}

#[test]
fn the_strategy_that_was_found_is_kept() {
    let folder = std::env::temp_dir().join(format!("warpjit-strategy-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let config = Config { cache: Some(CacheConfig::new(&folder)), ..Config::default() };
    let one = jit(BODY, &config);
    assert_eq!(one.strategy(), None);
    one.note_strategy(None);
    assert!(!one.is_unsaved());
    one.note_strategy(Some(Strategy::Lanes));
    assert!(one.is_unsaved());
    one.save();
    // Who has found none keeps it; for another host nothing is known.
    let other = jit(BODY, &config);
    assert_eq!(other.strategy(), Some(Strategy::Lanes));
    other.note_strategy(Some(Strategy::Lanes));
    assert!(!other.is_unsaved());
    compile_all(&other);
    other.save();
    assert_eq!(jit(BODY, &config).strategy(), Some(Strategy::Lanes));
    let elsewhere = Config { host: crate::HostLevel::Sse41, ..config.clone() };
    assert_eq!(jit(BODY, &elsewhere).strategy(), None);
    // Another one is found later.
    other.note_strategy(Some(Strategy::Vectors));
    other.save();
    assert_eq!(jit(BODY, &config).strategy(), Some(Strategy::Vectors));
    // A strategy that there is not makes the file one of another kernel.
    let mut out = Writer::default();
    out.u64(one.frame_bytes());
    out.list([].iter(), |_, _: &u8| {});
    out.u8(0);
    let known = out.0.len();
    out.u8(4);
    out.list([].iter(), |_, _: &u8| {});
    assert!(one.read(&out.0).is_some());
    out.0[known] = 5;
    assert!(one.read(&out.0).is_none());
    drop((one, other));
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn those_who_store_at_the_same_time_keep_what_others_have() {
    let folder = std::env::temp_dir().join(format!("warpjit-stored-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let config = Config { cache: Some(CacheConfig::new(&folder)), ..Config::default() };
    let (one, other) = (jit(BODY, &config), jit(BODY, &config));
    let code = Interpreted::new(&one.kernel.func).expect("valid code");
    let mut warp = Warp::new(&code, u64::MAX >> 32, |_, lane| lane);
    // Each compiles what the other has not, and one region for other shapes.
    one.region(&warp, None).expect("code");
    warp.frame.words_mut()[..32].fill(7);
    other.region(&warp, None).expect("code");
    warp.block = Block(2);
    other.region(&warp, None).expect("code");
    one.save();
    other.save();
    drop((one, other));
    let both = jit(BODY, &config);
    assert_eq!(both.loaded(), 3);
    assert_eq!(lock(&both.versions[0]).list.len(), 2);
    assert!(!both.is_unsaved());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn threads_that_save_one_program_keep_all() {
    let folder = std::env::temp_dir().join(format!("warpjit-stored-threads-{}", std::process::id()));
    let config = Config { cache: Some(CacheConfig::new(&folder)), ..Config::default() };
    for _ in 0..20 {
        let _ = std::fs::remove_dir_all(&folder);
        let one = jit(BODY, &config);
        let code = Interpreted::new(&one.kernel.func).expect("valid code");
        // One program is saved by several threads, each after a region of its own.
        std::thread::scope(|scope| {
            for block in one.kernel.func.block_ids() {
                let (one, code) = (&one, &code);
                scope.spawn(move || {
                    let mut warp = Warp::new(code, u64::MAX >> 32, |_, lane| lane);
                    warp.block = block;
                    one.region(&warp, None);
                    one.unsaved.store(true, Ordering::Relaxed);
                    one.save();
                });
            }
        });
        let here: usize = one.versions.iter().map(|versions| lock(versions).list.len()).sum();
        // What is in the file before the program's end.
        let stored = jit(BODY, &config);
        assert_eq!(stored.loaded(), here as u64);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

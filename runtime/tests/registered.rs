//! Much registered memory in spaces whose addresses are the host's: code asks before each access, and reaches what was registered, and
//! nothing beside it, whatever shape the accesses of a wave have. What faults leave behind is the interpreter's.

mod identity_space;

use identity_space::own::Own;
use identity_space::{KINDS, PAGE, Space, chosen, engines};
use std::sync::atomic::{AtomicBool, Ordering};
use warpjit_runtime::{Access, Config, Engine, HostLevel, MemoryOptions, Tier};

/// More kinds of accesses, of groups that code generators make one.
const GROUPS: [(&str, bool); 4] = [
    ("flat_store_dwordx4 v[2:3], v[8:11]", true),
    ("flat_store_dwordx2 v[2:3], v[8:9]", true),
    ("flat_load_dwordx2 v[8:9], v[2:3]", false),
    ("flat_load_sshort v7, v[2:3]", false),
];

fn waiting(text: &str) -> String {
    format!(
        "v_mov_b32 v8, 1
        v_mov_b32 v9, 2
        v_mov_b32 v10, 3
        v_add_u32 v11, vcc, 4, v1
        {text}
        s_waitcnt vmcnt(0) & lgkmcnt(0)"
    )
}

/// Where registered memory ends, other memory of the process begins, and so before it. Two that touch are one for loads; where rights end
/// stores do.
#[test]
fn registered_memory_ends_where_it_ends() {
    for (text, store) in KINDS.into_iter().chain(GROUPS) {
        let space = Space::new(&waiting(text));
        let own = Own::new();
        own.register(&space, 2..4, Access::ReadWrite);
        own.register(&space, 4..5, Access::ReadWrite);
        own.register(&space, 5..6, Access::ReadOnly);
        own.register(&space, 8..9, Access::ReadWrite);
        own.register(&space, 16..48, Access::ReadWrite);
        assert!(!space.memory.is_careful());
        let (start, constant, end) = (own.page(2), own.page(5), own.page(6));
        let border = if store { constant } else { end };
        for engine in engines() {
            let run = |at: u64| space.run(&engine, 1, at, at);
            let config = engine.config();
            for good in [start, own.page(3), own.page(4) - 128, own.page(4), own.page(8), own.page(20)] {
                assert_eq!(run(good), None, "{text}: {config:?}");
            }
            assert_eq!(run(constant), store.then_some((constant, 0, true)), "{text}: {config:?}");
            for bad in [start - PAGE, start - 4, end, own.page(9), own.page(15), own.page(48), 0, !0xff] {
                assert_eq!(run(bad), Some((bad, 0, store)), "{text} at {bad:#x}: {config:?}");
            }
            if text.starts_with("s_") || text.contains("dwordx") {
                continue;
            }
            for lanes in [1, 5, 8, 15, 16, 17, 63] {
                let found = run(border - 4 * lanes);
                assert_eq!(found, Some((border, lanes as u32, store)), "{text}: {config:?}");
            }
        }
        assert_eq!(own.bytes(0..2), vec![0x55; 2 * PAGE as usize], "{text}");
        assert_eq!(own.bytes(5..8), vec![0x55; 3 * PAGE as usize], "{text}");
        assert_eq!(own.bytes(9..16), vec![0x55; 7 * PAGE as usize], "{text}");
        assert_eq!(own.bytes(48..64), vec![0x55; 16 * PAGE as usize], "{text}");
    }
}

/// Accesses that straddle the end, whole groups of them, lanes that take no part, in every engine as in the interpreter: the fault, and
/// what was stored before it.
#[test]
fn faults_leave_what_they_leave_in_the_interpreter() {
    let engines = engines();
    let masked = |text: &str| {
        format!(
            "v_and_b32 v7, 5, v1
            v_cmp_ne_u32 vcc, 4, v7
            s_and_saveexec_b64 s[10:11], vcc
            {}
            s_mov_b64 exec, s[10:11]",
            waiting(text)
        )
    };
    // Each lane's structure of four words, from an address on.
    let structures = |text: &str| {
        format!(
            "v_lshlrev_b32 v6, 4, v1
            v_add_u32 v2, vcc, s0, v6
            v_mov_b32 v3, s1
            v_addc_u32 v3, vcc, 0, v3, vcc
            {}",
            waiting(text)
        )
    };
    for (text, _) in KINDS.into_iter().chain(GROUPS) {
        let vector = !text.starts_with("s_");
        for code in [waiting(text), masked(text), structures(text)] {
            if !vector && code != waiting(text) {
                continue;
            }
            let space = Space::new(&code);
            let own = Own::new();
            own.register(&space, 2..4, Access::ReadWrite);
            own.register(&space, 16..48, Access::ReadWrite);
            let end = own.page(4);
            // Of accesses of several words, of which lanes have some on either side of the end, another lane may be named (docs/design.md,
            // "Faults"). What lanes below have stored of several words depends on the chunk.
            let several = text.contains("dwordx");
            let is_exact = |before: u64| !several || code == structures(text) && before.is_multiple_of(16);
            for before in [4, 6, 8, 12, 15, 16, 20, 64, 100, 250, 256, 260, 500, 1000, 1020, 1024] {
                let mut outcomes = engines.iter().map(|engine| {
                    own.fill(0..5, |n| n as u8);
                    let fault = space.run(engine, 1, end - before, end - before);
                    (fault, own.bytes(0..5), engine)
                });
                let (fault, bytes, _) = outcomes.next().unwrap();
                for (found, left, engine) in outcomes {
                    assert_eq!(found.is_some(), fault.is_some(), "{code}\n{before}: {:?}", engine.config());
                    assert!(left[4 * PAGE as usize..] == bytes[4 * PAGE as usize..]);
                    if is_exact(before) {
                        assert_eq!(found, fault, "{code}\n{before}: {:?}", engine.config());
                    }
                    if !several {
                        assert!(left == bytes, "{code}\n{before}: {:?}", engine.config());
                    }
                }
                assert!(bytes[4 * PAGE as usize..].iter().enumerate().all(|(n, &byte)| byte == n as u8));
            }
        }
    }
}

/// Only lanes from one on lie beyond the end, whichever it is.
#[test]
fn a_lane_beyond_the_end_faults_wherever_it_is() {
    for (text, store) in
        KINDS.into_iter().filter(|(text, _)| text.contains("dword v") && !text.starts_with("s_"))
    {
        let space = Space::new(&waiting(text));
        let own = Own::new();
        own.register(&space, 2..24, Access::ReadWrite);
        for engine in engines() {
            for lane in [1, 15, 16, 31, 32, 44, 48, 63] {
                let end = own.page(24);
                let fault = space.run(&engine, 1, end - 4 * lane, own.page(4));
                assert_eq!(fault, Some((end, lane as u32, store)), "{text}: {:?}", engine.config());
            }
        }
    }
}

/// What may only be read is not stored to, whatever was loaded from there before: windows are shared by accesses.
#[test]
fn loads_open_nothing_for_stores() {
    for store in ["flat_store_dword v[2:3], v1", "flat_store_short v[2:3], v1", "flat_atomic_add v[2:3], v1"]
    {
        for others in [0, 1, 14, 15, 16, 17, 31] {
            let other =
                "flat_load_dword v8, v[4:5]\nv_add_u32 v4, vcc, 4, v4\nv_addc_u32 v5, vcc, 0, v5, vcc\n";
            let load = "flat_load_dword v7, v[2:3]\nflat_load_ushort v9, v[2:3]\n";
            let wait = "s_waitcnt vmcnt(0) & lgkmcnt(0)\n";
            let space = Space::new(&format!("{load}{}{wait}{store}\n{wait}", other.repeat(others)));
            let own = Own::new();
            own.register(&space, 2..3, Access::ReadOnly);
            own.register(&space, 16..48, Access::ReadWrite);
            let before = own.bytes(2..3);
            for engine in engines() {
                let at = own.page(2);
                let fault = space.run(&engine, 1, at, own.page(20));
                assert_eq!(fault, Some((at, 0, true)), "{store}, {others}: {:?}", engine.config());
                assert_eq!(own.bytes(2..3), before, "{store}, {others}: {:?}", engine.config());
            }
        }
    }
}

/// Lanes of one access in several buffers, and a loop that goes from one buffer to another in each turn.
#[test]
fn buffers_alternate() {
    // v7: the lane's number modulo 4; 0 takes the first buffer, others the second. Twenty turns, in each of which the buffers change.
    let text = "v_and_b32 v7, 3, v1
        v_cmp_eq_u32 vcc, 0, v7
        v_cndmask_b32 v12, v4, v2, vcc
        v_cndmask_b32 v13, v5, v3, vcc
        v_cndmask_b32 v4, v2, v4, vcc
        v_cndmask_b32 v5, v3, v5, vcc
        s_mov_b32 s6, 20
        again:
        flat_load_dword v8, v[12:13]
        s_waitcnt vmcnt(0) lgkmcnt(0)
        v_add_u32 v8, vcc, 1, v8
        flat_store_dword v[12:13], v8
        v_mov_b32 v9, v12
        v_mov_b32 v10, v13
        v_mov_b32 v12, v4
        v_mov_b32 v13, v5
        v_mov_b32 v4, v9
        v_mov_b32 v5, v10
        s_sub_u32 s6, s6, 1
        s_cmp_lg_u32 s6, 0
        s_cbranch_scc1 again";
    let space = Space::new(text);
    let own = Own::new();
    own.register(&space, 2..3, Access::ReadWrite);
    own.register(&space, 6..7, Access::ReadWrite);
    own.register(&space, 16..48, Access::ReadWrite);
    let handed_out = space.memory.map(None, PAGE, Access::ReadWrite).unwrap();
    for engine in engines() {
        for (one, two) in [(own.page(2), own.page(6)), (own.page(20), handed_out), (handed_out, own.page(2))]
        {
            space.fill(one, 0..128);
            space.fill(two, 1000..1128);
            assert_eq!(space.run(&engine, 2, one, two), None, "{:?}", engine.config());
            let counted = |from: u32| (from + 10..from + 138).collect::<Vec<u32>>();
            assert_eq!(space.words(one, 128), counted(0), "{:?}", engine.config());
            assert_eq!(space.words(two, 128), counted(1000), "{:?}", engine.config());
        }
    }
}

/// A launch that loops over memory finds it gone, however its accesses look, and nothing is stored there behind.
#[test]
fn memory_goes_while_a_launch_runs() {
    let bodies = [
        // Side by side, uniform, scalar, anywhere, atomics; atomics of which the old value is wanted.
        ("flat_load_dword v7, v[2:3]", false),
        ("flat_store_dword v[2:3], v1", true),
        ("s_load_dword s6, s[0:1], 0x0", false),
        (
            "v_bfrev_b32 v7, v1
            v_lshrrev_b32 v7, 24, v7
            v_and_b32 v7, 0xfc, v7
            v_add_u32 v14, vcc, s0, v7
            v_mov_b32 v15, s1
            v_addc_u32 v15, vcc, 0, v15, vcc
            flat_store_dword v[14:15], v1",
            true,
        ),
        // Structures, of which code tests whether they lie one behind the other.
        (
            "v_lshlrev_b32 v7, 4, v0
            v_and_b32 v7, 0xf0, v7
            v_add_u32 v14, vcc, s0, v7
            v_mov_b32 v15, s1
            v_addc_u32 v15, vcc, 0, v15, vcc
            flat_store_dwordx4 v[14:15], v[8:11]",
            true,
        ),
        ("flat_atomic_add v[2:3], v1", true),
        ("flat_atomic_swap v7, v[2:3], v1 glc", true),
    ];
    let configs = [
        Config::default().tier(Tier::Jit),
        Config::default().tier(Tier::Jit).host(HostLevel::Avx2),
        Config::default().tier(Tier::Jit).chunk_groups(Some(0)),
        Config::default().tier(Tier::Auto).hot_after(Some(1)),
    ];
    for (body, store) in bodies {
        // It says that it runs, and loops for ever.
        let text = format!(
            "v_mov_b32 v9, 1
            s_mov_b32 s10, s0
            again:
            {body}
            s_waitcnt vmcnt(0) & lgkmcnt(0)
            flat_store_dword v[4:5], v9
            s_branch again"
        );
        for config in &configs {
            let space = Space::new(&text);
            let engine = Engine::new(config.clone().threads(1)).unwrap();
            let own = Own::new();
            own.register(&space, 2..4, Access::ReadWrite);
            own.register(&space, 6..7, Access::ReadWrite);
            own.register(&space, 16..48, Access::ReadWrite);
            let (gone, flag) = (own.page(2), own.page(6));
            for turn in 0..2 {
                own.fill(2..7, |_| 0);
                let ended = AtomicBool::new(false);
                let fault = std::thread::scope(|scope| {
                    let run = scope.spawn(|| {
                        let fault = space.run(&engine, 1, gone, flag);
                        ended.store(true, Ordering::SeqCst);
                        fault
                    });
                    while space.memory.load(flag, 4).unwrap() == 0 && !ended.load(Ordering::SeqCst) {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                    // Compiled code has been there for a while.
                    std::thread::sleep(std::time::Duration::from_millis(5));
                    space.memory.unmap(gone).unwrap();
                    run.join().unwrap()
                });
                // Of vectors the lowest lane of the first chunk that finds it gone; all chunks follow.
                let (address, lane, stores) = fault.unwrap();
                assert_eq!(stores, store, "{body}: {config:?}");
                assert!((gone..gone + 256).contains(&address) && lane < 64, "{body}: {fault:?}, {config:?}");
                // Nobody else stores there.
                own.fill(2..4, |_| 0x77);
                own.register(&space, 2..4, Access::ReadOnly);
                if store {
                    let found = space.run(&engine, 1, gone, flag);
                    assert_eq!(found, Some((gone, 0, true)), "{body}: {config:?}, turn {turn}");
                    assert_eq!(own.bytes(2..4), vec![0x77; 2 * PAGE as usize]);
                }
                space.memory.unmap(gone).unwrap();
                own.register(&space, 2..4, Access::ReadWrite);
            }
        }
    }
}

/// A launch that loads and stores loses the right to store: loads go on, no store comes through.
#[test]
fn the_right_to_store_goes_while_a_launch_runs() {
    let text = "v_mov_b32 v9, 1
        again:
        flat_load_dword v7, v[2:3]
        s_waitcnt vmcnt(0) & lgkmcnt(0)
        v_add_u32 v7, vcc, 1, v7
        flat_store_dword v[2:3], v7
        flat_store_dword v[4:5], v9
        s_branch again";
    for engine in engines() {
        let space = Space::new(text);
        let own = Own::new();
        own.register(&space, 2..4, Access::ReadWrite);
        own.register(&space, 6..7, Access::ReadWrite);
        own.register(&space, 16..48, Access::ReadWrite);
        own.fill(2..7, |_| 0);
        let (at, flag) = (own.page(2), own.page(6));
        let (fault, before) = std::thread::scope(|scope| {
            let run = scope.spawn(|| space.run(&engine, 1, at, flag));
            while space.memory.load(flag, 4).unwrap() == 0 {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            space.memory.protect(at..at + PAGE, Access::ReadOnly).unwrap();
            let before = space.words(at, 64);
            (run.join().unwrap(), before)
        });
        let (address, lane, store) = fault.unwrap();
        assert!(store && address == at + 4 * u64::from(lane), "{fault:?}, {:?}", engine.config());
        // Each lane had one store on its way at most, which adds 1.
        let more = |(after, before): (u32, u32)| after.wrapping_sub(before) <= 1;
        assert!(space.words(at, 64).into_iter().zip(before).all(more), "{:?}", engine.config());
    }
}

/// Rights that change between launches and while one runs; windows that an earlier launch has left are nothing to a later one.
#[test]
fn rights_change() {
    let space = Space::new("flat_store_dword v[2:3], v1");
    let other = Space::new("flat_store_dword v[2:3], v1");
    let own = Own::new();
    own.register(&space, 2..4, Access::ReadWrite);
    own.register(&space, 16..48, Access::ReadWrite);
    own.register(&other, 16..48, Access::ReadWrite);
    let at = own.page(2);
    for engine in engines() {
        let config = engine.config();
        for _ in 0..3 {
            assert_eq!(space.run(&engine, 1, at, at), None, "{config:?}");
            space.memory.protect(at..at + PAGE, Access::ReadOnly).unwrap();
            assert_eq!(space.run(&engine, 1, at, at), Some((at, 0, true)), "{config:?}");
            assert_eq!(space.run(&engine, 1, at + PAGE, at), None, "{config:?}");
            space.memory.protect(at..at + PAGE, Access::None).unwrap();
            assert_eq!(space.run(&engine, 1, at, at), Some((at, 0, true)), "{config:?}");
            space.memory.protect(at..at + PAGE, Access::ReadWrite).unwrap();
            // The same engine and the same code in another space, which has not registered this.
            let elsewhere = other.run(&engine, 1, at, at);
            assert_eq!(elsewhere, Some((at, 0, true)), "{config:?}");
            assert_eq!(other.run(&engine, 1, own.page(20), at), None, "{config:?}");
        }
    }
}

/// A program of one space that runs in another, one after the other and side by side.
#[test]
fn spaces_have_windows_of_their_own() {
    let space = Space::new("flat_store_dword v[2:3], v1");
    let other = warpjit_runtime::Memory::with(&MemoryOptions::new().identity()).unwrap();
    let own = Own::new();
    own.register(&space, 2..4, Access::ReadWrite);
    own.register(&space, 16..48, Access::ReadWrite);
    let far = other.map(Some(chosen()), 40 * PAGE, Access::ReadWrite).unwrap();
    for engine in engines() {
        for _ in 0..3 {
            assert_eq!(space.run(&engine, 1, own.page(2), own.page(2)), None);
            let launch = Space::launch(1, far, far);
            assert!(engine.run(&space.program, &other, &launch).unwrap().fault.is_none());
            let launch = Space::launch(1, own.page(2), far);
            let fault = engine.run(&space.program, &other, &launch).unwrap().fault.unwrap();
            assert_eq!(fault.address, Some(own.page(2)), "{:?}", engine.config());
            assert_eq!(space.run(&engine, 1, far, far), Some((far, 0, true)), "{:?}", engine.config());
        }
    }
}

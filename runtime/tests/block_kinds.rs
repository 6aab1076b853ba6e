//! Tests blocks of several sizes in turn on one program: each block class has code of its own, and results do not depend on what
//! ran before.

mod support;

use std::path::Path;
use std::time::Duration;

use support::{program, run};
use warpjit_runtime::{CacheConfig, CodeKind, Config, Engine, Launch, Observe, Program, Tier};

/// Words that a row of threads takes.
const ROW: u32 = 64;
const BLOCK: u32 = 16 * ROW;

/// out[block * 1024 + y * 64 + x] = that index; with `local`, by way of local memory, so that blocks do not run by rows.
fn kernel(local: bool) -> Program {
    let value = match local {
        true => "store.u32 local[v9], v6 align 4\n    v7: i32 = load.u32 local[v9] align 4",
        false => "v7: i32 = iadd v6, v9",
    };
    program(&format!(
        "
    slot s0: i32 tid = tid.x
    slot s1: i32 tidy = tid.y
    slot s2: i32 x = ctaid.x
block0 at 0x8 insts 4:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: i32 = slot.get s2
    v3: ui32 = const 6
    v4: i32 = ishl v1, v3
    v5: i32 = iadd v4, v0
    v10: ui32 = const 10
    v11: i32 = ishl v2, v10
    v6: i32 = iadd v5, v11
    v8: ui32 = const 0
    v9: i32 = splat v8
    {value}
    v12: ui32 = const 2
    v13: i32 = ishl v6, v12
    @0x10 store.u32 global14[v13 + 0x10000], v7 align 4
    jump block1
block1 at 0x18 insts 1:
    leave.exit -> block1
"
    ))
}

const BLOCKS: u32 = 40;

fn launch([x, y]: [u32; 2]) -> Launch {
    Launch::default().grid([BLOCKS, 1, 1]).block([x, y, 1])
}

/// Runs blocks of a size, and checks what they store; gives how many regions and how many pieces of code for rows have
/// been compiled so far.
fn compiled_after(engine: &Engine, kernel: &Program, size: [u32; 2]) -> (usize, usize) {
    let words = BLOCKS * BLOCK;
    let (report, out) = run(engine, kernel, &launch(size), words as usize).unwrap();
    assert_eq!((report.fault, report.stats.not_compiled), (None, None));
    for (at, &got) in (0..words).zip(&out) {
        let stored = at % ROW < size[0] && at % BLOCK / ROW < size[1];
        assert_eq!(got, if stored { at } else { 0 }, "{size:?}");
    }
    let functions = report.listings.map_or(Vec::new(), |listings| listings.functions);
    let rows = functions.iter().filter(|f| matches!(f.kind, CodeKind::Rows { .. })).count();
    (functions.len() - rows, rows)
}

fn engine(tier: Tier) -> Engine {
    engine_in(tier, None)
}

/// In chunks of so many groups of four lanes, or as the host has them.
fn engine_in(tier: Tier, chunk_groups: Option<u8>) -> Engine {
    let observe = Observe::default().listings(true);
    let config = Config::default()
        .tier(tier)
        .threads(1)
        .observe(observe)
        .hot_after(Some(0))
        .chunk_groups(chunk_groups);
    Engine::new(config).unwrap()
}

/// Sizes, those of one kind side by side; warps have 32 lanes.
const KINDS: [&[[u32; 2]]; 5] = [
    // Nothing even in a warp, and lanes without a thread in the last.
    &[[12, 12]],
    &[[16, 4], [16, 16], [16, 2], [16, 12]],
    // Nothing that sixteen lanes have in common.
    &[[8, 8], [8, 16]],
    // `tid.y` the same in all warps.
    &[[32, 1], [64, 1]],
    &[[32, 3], [64, 4]],
];

#[test]
fn each_kind_has_code_for_rows() {
    if !warpjit_backend::host_has_wide_vectors() {
        return;
    }
    let (engine, kernel) = (engine(Tier::Jit), kernel(false));
    for _ in 0..2 {
        for (number, kind) in KINDS.iter().enumerate() {
            for &size in *kind {
                let (_, rows) = compiled_after(&engine, &kernel, size);
                assert!(rows > number, "{size:?}: {rows}");
            }
        }
    }
    assert_eq!(compiled_after(&engine, &kernel, [12, 12]).1, KINDS.len());
}

/// In chunks of eight lanes, blocks twelve and eight wide differ, too.
#[test]
fn each_kind_has_code_for_rows_of_narrow_chunks() {
    let (engine, kernel) = (engine_in(Tier::Jit, Some(2)), kernel(false));
    let sizes = [[12, 12], [8, 8], [4, 16], [64, 4]];
    for turn in 0..2 {
        for (number, &size) in sizes.iter().enumerate() {
            let (_, rows) = compiled_after(&engine, &kernel, size);
            assert_eq!(rows, if turn == 0 { number + 1 } else { sizes.len() }, "{size:?}");
        }
    }
}

#[test]
fn each_kind_has_its_region() {
    let (engine, kernel) = (engine(Tier::Jit), kernel(true));
    // By what a chunk has in common: whole ones of sixteen lanes, or eight.
    let narrow = [[16, 4], [32, 1], [64, 4], [8, 8]];
    let (even, odd) = match warpjit_backend::host_has_wide_vectors() {
        true => (&narrow[..3], &[[12, 12], [8, 8], [4, 16]][..]),
        false => (&narrow[..], &[[12, 12], [4, 16]][..]),
    };
    let kinds = [odd, even];
    for _ in 0..2 {
        for (number, kind) in kinds.iter().enumerate() {
            for &size in kind.iter() {
                let (regions, rows) = compiled_after(&engine, &kernel, size);
                assert!(regions > number && rows == 0, "{size:?}: {regions} and {rows}");
            }
        }
    }
    let most = compiled_after(&engine, &kernel, [12, 12]).0;
    // Of blocks of 12 by 12, not all warps are alike.
    assert!(most < kinds.len() + 6, "{most}");
}

/// Many kinds: at some time there is no more code for each, and all goes on.
#[test]
fn more_kinds_than_there_is_code_for() {
    for local in [false, true] {
        let (engine, kernel) = (engine(Tier::Jit), kernel(local));
        let mut compiled = (0, 0);
        for _ in 0..2 {
            for x in 1..40 {
                compiled = compiled_after(&engine, &kernel, [x, 1 + x % 7]);
            }
        }
        assert!(compiled.0 + compiled.1 <= 9, "{compiled:?}");
    }
}

/// Behind the back of launches: blocks of another kind run by what there is until theirs is ready.
#[test]
fn another_kind_gets_its_code_behind() {
    for local in [false, true] {
        let (engine, kernel) = (engine(Tier::Auto), kernel(local));
        let mut before = 0;
        for size in [[12, 12], [64, 4], [16, 4]] {
            for _ in 0..6 {
                compiled_after(&engine, &kernel, size);
                engine.wait_for_compiler();
            }
            let (regions, rows) = compiled_after(&engine, &kernel, size);
            let now = if local { regions } else { rows };
            // On narrow vectors, the last two may be one kind.
            assert!(now > before || size == [16, 4], "{size:?}: {before}, {now}");
            before = now;
        }
    }
}

/// Code of all kinds is stored, beside that of processes before; none is compiled again.
#[test]
fn the_cache_has_all_kinds() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kinds-{}", std::process::id()));
    let sizes = KINDS.map(|kind| kind[0]);
    for local in [false, true] {
        for (round, size) in [sizes, sizes].as_flattened().iter().enumerate() {
            let cache = Some(CacheConfig::new(&folder));
            let engine = Engine::new(Config::default().threads(1).tier(Tier::Jit).cache(cache)).unwrap();
            let words = (BLOCKS * BLOCK) as usize;
            let (report, _) = run(&engine, &kernel(local), &launch(*size), words).unwrap();
            if round >= sizes.len() {
                assert_eq!(report.stats.compile, Duration::ZERO, "{size:?}");
                assert!(report.stats.cached_regions > 0);
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

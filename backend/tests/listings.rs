//! Tests which instructions the code generators emit for accesses and loops, with and without knowledge of slots, by looking at
//! listings.

use warpjit_backend::{
    BlockRow, HostLevel, Options, Phase, Shape, Successor, Target, compile_phases, compile_region,
};
use warpjit_ir::passes::{dce, fold, gvn, lane_loops, simplify_cfg};
use warpjit_ir::text::parse_function;
use warpjit_ir::{Function, Slot};

const ACCESS: &str = "
function @f mask lanes 32 {
    slot s0: i32 index
    slot s1: ui64 base

block0 at 0x0:
    v3: i32 = slot.get s0
    v4: i64 = zext v3
    v5: ui64 = slot.get s1
    v0: i64 = iadd v4, v5
    v1: i32 = load.u32 global0[v0] align 4
    v2: i32 = iadd v1, v1
    store.u32 global0[v0], v2 align 4
    return 0
}
";

/// A load at the same address without its highest bits, a word further; with a translation of the address or without.
fn ignored(translates: bool) -> String {
    let (translation, place) = match translates {
        true => ("v9: i64 = translate_load.u32 global0[v0 + 0x4] align 1", "v9"),
        false => ("", "v0 + 0x4"),
    };
    let (base_and_index, _) = ACCESS.split_once("    v0: i64").unwrap();
    format!(
        "{base_and_index}
    v6: i64 = iadd v4, v5
    v7: ui64 = const 0x8
    v8: i64 = ishl v6, v7
    v0: i64 = sshr v8, v7
    {translation}
    v1: i32 = load.u32 global0[{place}] align 1
    v2: i32 = iadd v1, v1
    slot.set s0, v2
    return 0
}}
"
    )
}

/// Two words a lane, of vectors of two.
const PAIRS: &str = "
function @f mask lanes 32 {
    slot s0: i32 place

block0 at 0x0:
    v0: i32 = slot.get s0
    v1: i32 = load.u32 global0[v0] align 8
    v2: i32 = load.u32 global0[v0 + 0x4] align 8 part 4
    v3: i32 = iadd v1, v2
    store.u32 global0[v0 + 0x40000], v3 align 8
    return 0
}
";

/// Rows of a sparse matrix: lanes leave the loop at different times, and load an index and the element there.
const INDEXED: &str = "
function @f mask lanes 32 {
    slot s0: i64 place
    slot s1: i32 entries
    slot s2: ui64 elements
    slot s3: i32 sum

block0 at 0x0:
    v0: i64 = slot.get s0
    v1: i32 = slot.get s1
    v2: ui64 = slot.get s2
    v3: i32 = const 0x0
    v4: ui64 = const 0x2
    v5: i64 = const 0x4
    v6: i32 = const 0x1
    v7: mask = active
    v8: mask = icmp ne v1, v3
    v9: mask = iand v7, v8
    br_any v9, block1(v0, v1, v3, v9), block2(v3)

block1(v10: i64, v11: i32, v12: i32, v13: mask) at 0x10:
    v14: i32 = load.u32 global0[v10] align 4 if v13
    v15: i64 = sext v14
    v16: i64 = ishl v15, v4
    v17: i64 = iadd v16, v2
    v18: i32 = load.u32 global0[v17] align 4 if v13
    v19: i32 = iadd v12, v18
    v20: i32 = select v13, v19, v12
    v21: i64 = iadd v10, v5
    v22: i32 = isub v11, v6
    v23: mask = icmp ne v22, v3
    v24: mask = iand v13, v23
    br_any v24, block1(v21, v22, v20, v24), block2(v20)

block2(v25: i32) at 0x20:
    slot.set s3, v25
    return 0
}
";

/// A product of tiles: each sixteen lanes load the same column, and a word of a row of their own.
const TILES: &str = "
function @f mask lanes 32 {
    slot s0: i32 column
    slot s1: i32 row
    slot s2: f32 sum

block0 at 0x0:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: f32 = slot.get s2
    v3: i32 = load.u32 shared[v0 + 0x400] align 1
    v4: i32 = load.u32 shared[v1 + 0x4] align 1
    v5: f32 = bitcast v3
    v6: f32 = bitcast v4
    v7: f32 = fmul v5, v6
    v8: f32 = fadd v7, v2
    slot.set s2, v8
    return 0
}
";

const LOOP: &str = "
function @f mask lanes 32 {
    slot s0: f32 x
    slot s1: uf32 step
    slot s2: ui32 turns

block0 at 0x0:
    v0: f32 = slot.get s0
    v1: uf32 = slot.get s1
    v2: ui32 = slot.get s2
    v3: ui32 = const 0x1
    jump block1(v0, v2)

block1(v4: f32, v5: ui32) at 0x8:
    v6: f32 = fmul v4, v4
    v7: f32 = fadd v6, v1
    v8: ui32 = isub v5, v3
    v9: ui32 = const 0x0
    v10: ui1 = icmp ne v8, v9
    br_if v10, block1(v7, v8), block2

block2 at 0x10:
    slot.set s0, v7
    return 0
}
";

/// What sixteen lanes have more than those before where a shape is that of all lanes.
fn whole(shape: Option<Shape>) -> Option<i32> {
    shape.map(|shape| match shape {
        Shape::Affine(step) | Shape::Packed(step) => 16 * step,
        Shape::Uniform | Shape::Ones => 0,
        Shape::Lines { lanes, apart, .. } => 16 / i32::from(lanes) * apart,
    })
}

/// Cranelift's IR for two groups of lanes, or the AVX-512 generator's code where the host has that, for two vectors.
fn listing(text: &str, wide: bool, shapes: &[Option<Shape>]) -> Option<String> {
    let apart: Vec<Option<i32>> = shapes.iter().map(|shape| whole(*shape)).collect();
    listing_of_parts(text, wide, shapes, &apart)
}

/// As [`listing`], with what each sixteen lanes have more than those before.
fn listing_of_parts(
    text: &str,
    wide: bool,
    shapes: &[Option<Shape>],
    apart: &[Option<i32>],
) -> Option<String> {
    let func = parse_function(text, &[]).expect("parses");
    listing_of(&func, wide, if wide { 8 } else { 2 }, shapes, apart)
}

fn listing_of(
    func: &Function,
    wide: bool,
    groups: u8,
    shapes: &[Option<Shape>],
    apart: &[Option<i32>],
) -> Option<String> {
    warpjit_ir::verify::verify(func).expect("valid");
    let target = match wide {
        true => Target::host(HostLevel::Native),
        // The same everywhere.
        false => Target::triple("x86_64-unknown-linux-gnu", HostLevel::Native),
    };
    let target = target.expect("there is such a target");
    if wide && !target.has_wide_vectors() {
        return None;
    }
    let options = Options {
        chunk_groups: groups,
        wide_vectors: wide,
        list: true,
        apart: apart.to_vec(),
        slot_shapes: shapes.to_vec(),
        ..Options::new(target)
    };
    let made = compile_region(func, &options).expect("compiles").listing;
    Some(if wide { made.assembly } else { made.clif })
}

/// What stands before the first line that starts so.
fn before<'t>(text: &'t str, line: &str) -> &'t str {
    &text[..text.find(&format!("\n{line}")).unwrap_or_else(|| panic!("no {line} in {text}"))]
}

const AFFINE: &[Option<Shape>] = &[Some(Shape::Affine(4))];
const UNIFORM: &[Option<Shape>] = &[Some(Shape::Uniform)];

/// Loads of vectors, and of one word for all lanes, from the guest's memory; those that cannot fault are of registers.
fn loads(clif: &str) -> (usize, usize) {
    (clif.matches("= load.i32x4 v").count(), clif.matches("= load.i32 v").count())
}

#[test]
fn lanes_side_by_side_are_vectors_and_tested_where_nobody_knows() {
    let clif = |shapes| listing(ACCESS, false, shapes).expect("always");
    // Nothing is known: both are there, the vectors behind a test of all addresses, lane by lane where it fails.
    let unknown = clif(&[]);
    assert_eq!(loads(&unknown), (2, 0), "{unknown}");
    assert_eq!(unknown.matches("vany_true").count(), 2, "one for each access: {unknown}");
    let tested = unknown.find("vany_true").expect("just counted");
    assert!(tested < unknown.find("= load.i32x4 v").expect("just counted"), "{unknown}");
    assert_eq!(unknown.matches("= load.f32 v").count(), 8, "{unknown}");
    // Even from lane to lane: no test of that.
    let even = clif(AFFINE);
    assert_eq!(loads(&even), (2, 0), "{even}");
    assert!(!even.contains("vany_true"), "{even}");
    // One for all lanes: a scalar, computed with as one.
    let same = clif(UNIFORM);
    assert_eq!(loads(&same), (0, 1), "{same}");
    assert!(!same.contains("= load.f32 v") && !same.contains("iadd.i32x4"), "{same}");
}

/// Of lanes on a line the first one's address is computed, with or without bits that are ignored and translations: others' only where it
/// tells too little.
#[test]
fn lanes_on_a_line_of_64_bits_have_one_address() {
    for translates in [false, true] {
        let text = ignored(translates);
        let clif = |step| listing(&text, false, &[Some(Shape::Affine(step))]).expect("always");
        let before_lanes = |clif: &str| clif[..clif.find("extractlane").expect("the slow way")].to_owned();
        let side_by_side = before_lanes(&clif(4));
        assert_eq!(loads(&side_by_side).0, 2, "{side_by_side}");
        assert!(!side_by_side.contains("vany_true"), "{side_by_side}");
        // Elsewhere a load for each lane, at a constant distance from the first one's place.
        for step in [8, -4, 1, 40] {
            let apart = before_lanes(&clif(step));
            let places: Vec<&str> = apart
                .lines()
                .filter_map(|line| line.split_once("= load.f32 ").map(|(_, place)| place.trim()))
                .collect();
            let (first, _) = places[0].split_once(['+', '-']).unwrap_or((places[0], ""));
            assert_eq!(places.len(), 8, "{apart}");
            assert!(places.iter().all(|place| place.starts_with(first)), "{places:?}");
        }
        let Some(code) = listing(&text, true, &[Some(Shape::Affine(4))]) else { continue };
        let hot = &code[..code.find("vpmovzxdq").unwrap_or_else(|| panic!("no other way: {code}"))];
        assert!(!["vpaddq", "vpsraq", "vpcmp", "gather"].iter().any(|op| hot.contains(op)), "{code}");
        assert!(hot.contains("vmovdqu32 zmm"), "{code}");
    }
}

#[test]
fn wide_code_has_the_same_three_forms() {
    let Some(unknown) = listing(ACCESS, true, &[]) else { return };
    let [even, same] =
        [AFFINE, UNIFORM].map(|shapes| listing(ACCESS, true, shapes).expect("a host that has it"));
    // Addresses are compared with those that a first lane would have, before anything is loaded lane by lane.
    let tested = unknown.find("vpcmpneqd").unwrap_or_else(|| panic!("no test: {unknown}"));
    assert!(unknown.find("vpgatherqd").is_some_and(|gather| tested < gather), "{unknown}");
    assert!(!even.contains("vpcmpneqd"), "{even}");
    assert!(!same.contains("zmm") && !same.contains("gather"), "{same}");
}

#[test]
fn lines_of_lanes_are_a_vector_each() {
    for (lanes, vector) in [(8, "ymm"), (4, "xmm")] {
        let shape = Shape::Lines { lanes, step: 4, apart: 1000, packed: false };
        let Some(code) = listing(ACCESS, true, &[Some(shape)]) else { return };
        // Lanes' own addresses are made where something is wrong with the first line's, or with the last.
        let hot = &code[..code.find("vpmovzxdq").unwrap_or_else(|| panic!("no other way: {code}"))];
        assert!(!["vpcmp", "gather", "scatter"].iter().any(|op| hot.contains(op)), "{code}");
        let count = |op: &str| hot.lines().filter(|line| line.contains(op) && line.contains(vector)).count();
        // Of two vectors, the first line is loaded and stored; the others take their places in it.
        let others = 2 * (16 / usize::from(lanes) - 1);
        assert_eq!((count("vmovdqu32"), hot.matches("vinserti").count()), (4, others), "{code}");
        assert_eq!(hot.matches("vextracti").count(), others, "{code}");
    }
}

#[test]
fn loops_keep_what_does_not_change_in_front_and_chunks_interleave() {
    let clif = listing(LOOP, false, &[]).expect("always");
    // A uniform value becomes a vector once, for all groups and turns.
    assert_eq!(clif.matches("splat.f32x4").count(), 1, "{clif}");
    let (front, turn) = clif.split_once("block6(").expect("the loop's block");
    assert!(turn.contains("fmul"), "{clif}");
    assert!(front.contains("splat.f32x4"), "{clif}");
    // Each operation for all groups before the next one.
    let ops: Vec<&str> = clif.split_whitespace().filter(|word| ["fmul", "fadd"].contains(word)).collect();
    assert_eq!(ops, ["fmul", "fmul", "fadd", "fadd"], "{clif}");
    // The test is at the loop's end: one branch a turn besides the fuel's.
    let body = before(turn, "          block8");
    assert_eq!(body.matches("brif").count(), 1, "{clif}");

    let Some(code) = listing(LOOP, true, &[]) else { return };
    let (front, turn) = code.split_once("\nblock2:").expect("the loop");
    let turn = before(turn, "block4:");
    assert!(front.contains("vpbroadcastd") && !turn.contains("broadcast"), "{code}");
    let mut ops: Vec<&str> = turn.split_whitespace().filter(|word| word.starts_with('v')).collect();
    ops.sort_unstable();
    assert_eq!(ops, ["vaddps", "vaddps", "vmulps", "vmulps"], "{code}");
}

/// Lanes that know how far they are apart: what is loaded whole needs no mask, what is stored in part does.
#[test]
fn lanes_evenly_apart_are_vectors() {
    let Some(anywhere) = listing(PAIRS, true, &[]) else { return };
    assert_eq!(anywhere.matches("vpscatter").count(), 2, "{anywhere}");
    let apart = listing(PAIRS, true, &[Some(Shape::Affine(8))]).expect("a host that has it");
    // Lanes at their own addresses are for accesses on both sides of 2^32, far from the rest.
    let wrapping =
        apart.split_whitespace().skip_while(|word| *word != "ja").nth(1).expect("the test for that");
    let usual = before(&apart, &format!("{wrapping}:"));
    assert!(
        !usual.contains("gather") && !usual.contains("vpscatter") && !usual.contains("vpextrq"),
        "{apart}"
    );
    let far = |what: &str| apart.matches(what).count();
    assert_eq!((far("vpgather"), far("vpscatter")), (4, 2), "once for each word: {apart}");
    // Where all take part, two vectors of memory for each sixteen lanes, loaded whole, once for both words; the stores leave out what is
    // between, and where some take part loads do, too, once for each word.
    let of_memory = |with: fn(&str) -> bool| {
        let accesses = apart.lines().filter(|line| line.contains("vmovdqu32") && line.contains("[r"));
        accesses.filter(|line| with(line)).count()
    };
    assert_eq!(of_memory(|line| line.contains(", [r") && !line.contains("{k")), 4, "{apart}");
    assert_eq!(of_memory(|line| line.contains("{z}")), 8, "{apart}");
    assert_eq!(of_memory(|line| line.contains("]{k")), 8, "{apart}");
}

/// From the last lane to the first: vectors whose elements change places.
#[test]
fn lanes_in_descending_order_are_vectors() {
    let text = "
function @f mask lanes 32 {
    slot s0: i32 place

block0 at 0x0:
    v0: i32 = slot.get s0
    v1: i32 = load.u32 global0[v0] align 4
    v2: i32 = load.u32 shared[v0] align 4 far
    v3: i32 = iadd v1, v2
    store.u32 global0[v0 + 0x40000], v3 align 4
    return 0
}
";
    let Some(anywhere) = listing(text, true, &[]) else { return };
    assert_eq!(
        (anywhere.matches("vpscatter").count(), anywhere.matches("vpermd").count()),
        (2, 0),
        "{anywhere}"
    );
    let descending = listing(text, true, &[Some(Shape::Affine(-4))]).expect("a host that has it");
    // What is cold stands behind the way out; of two vectors each for two loads and the store.
    let hot = &descending[..descending.find("ret").expect("a way out")];
    assert!(
        !hot.contains("gather") && !hot.contains("vpscatter") && !hot.contains("vpinsrd"),
        "{descending}"
    );
    assert_eq!(hot.matches("vpermd").count(), 6, "{descending}");
}

/// A lane's index is loaded into a general register, and the element right behind; no index goes through a vector.
#[test]
fn elements_at_indices_just_loaded_are_loaded_lane_by_lane() {
    let made = |split: bool| {
        let mut func = parse_function(INDEXED, &[]).expect("parses");
        if split {
            assert!(lane_loops::run(&mut func, |_, head| 6 * u32::from(head.index() == 1)));
            fold::run(&mut func);
            simplify_cfg::run(&mut func);
            gvn::run(&mut func);
            dce::run(&mut func);
        }
        let shapes = [None, None, Some(Shape::Uniform), None];
        listing_of(&func, true, 4, &shapes, &[None, None, Some(0), None])
    };
    let (Some(before), Some(behind)) = (made(false), made(true)) else { return };
    let indices =
        |code: &str| code.lines().filter(|line| line.contains("movsxd") && line.contains("[r")).count();
    assert_eq!(indices(&before), 0, "{before}");
    // One for each of sixteen lanes, one before the loop, and one where a lane goes on alone.
    assert_eq!(indices(&behind), 18, "{behind}");
}

/// Sixteens that know how far they are apart: what all of them load is loaded once, and bounds are tested once for all.
#[test]
fn sixteens_a_known_distance_apart_share_loads_and_tests() {
    let shapes = [Some(Shape::Affine(4)), Some(Shape::Uniform), None];
    // Behind the first return is what runs where something is beyond its bounds.
    let quick = |text: String| text.split_once(" ret\n").map(|(quick, _)| quick.to_owned());
    let listing = |apart: &[Option<i32>]| quick(listing_of_parts(TILES, true, &shapes, apart)?);
    let Some(anywhere) = listing(&[]) else { return };
    let together = listing(&[Some(0), Some(64)]).expect("a host that has it");
    let columns = |text: &str| {
        text.lines().filter(|line| line.contains("vmovdqu32 zmm") && line.contains("+400h]")).count()
    };
    let words = |text: &str| {
        text.lines().filter(|line| line.contains("vpbroadcastd zmm") && line.contains("[r")).count()
    };
    let tests = |text: &str| text.matches("setbe").count();
    assert_eq!((columns(&anywhere), words(&anywhere), tests(&anywhere)), (2, 2, 4), "{anywhere}");
    assert_eq!((columns(&together), words(&together), tests(&together)), (1, 2, 2), "{together}");
}

/// An address that is kept from one phase to the next, and what the next does with it.
const KEEPS: &str = "
function @f mask lanes 32 {
    slot s0: i32 tid
    slot s1: i32 place

block0 at 0x0:
    v0: i32 = slot.get s0
    v1: ui32 = const 0x40
    v2: i32 = iadd v0, v1
    slot.set s1, v2
    return 0
}
";
const LOADS: &str = "
function @f mask lanes 32 {
    slot s0: i32 tid
    slot s1: i32 place

block0 at 0x0:
    v0: i32 = slot.get s1
    v1: i32 = load.u32 global0[v0] align 4
    store.u32 global0[v0 + 0x1000], v1 align 4
    return 0
}
";

/// Between phases, first lanes do where the others follow from them.
#[test]
fn phases_store_only_first_lanes_of_what_is_even() {
    let Ok(target) = Target::host(HostLevel::Native) else { return };
    if !target.has_wide_vectors() {
        return;
    }
    let funcs = [KEEPS, LOADS].map(|text| parse_function(text, &[]).expect("parses"));
    let stores = |by_firsts: Vec<Slot>| {
        let phase = |number: usize, successor, by_firsts| Phase {
            func: &funcs[number],
            chunk_groups: 8,
            slot_shapes: vec![Some(Shape::Affine(4)); 2],
            apart: vec![Some(64); 2],
            by_firsts: vec![by_firsts],
            insts: 1,
            successors: vec![successor],
            checks: Vec::new(),
        };
        let phases = [phase(0, Successor::Next(1), by_firsts), phase(1, Successor::Ended, Vec::new())];
        let row = BlockRow { whole: true, ..BlockRow::default() };
        let options = Options { wide_vectors: true, list: true, ..Options::new(target.clone()) };
        let listing = compile_phases(&phases, &row, &options).expect("compiles").listing.assembly;
        listing.lines().filter(|line| line.contains("vmovdqu32 [r")).count()
    };
    // Without the two vectors of the register there are only those to global memory.
    let (whole, firsts) = (stores(Vec::new()), stores(vec![Slot::new(1)]));
    assert_eq!(whole - firsts, 2, "{whole} {firsts}");
}

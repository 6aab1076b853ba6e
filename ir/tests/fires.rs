//! For each pass: a function that it changes, and one like it that it must leave alone, with the reason.

use warpjit_ir::passes::schedule::{Cost, HostModel};
use warpjit_ir::passes::{self, ALL};
use warpjit_ir::text::parse_function;
use warpjit_ir::verify::verify;
use warpjit_ir::{Function, PureFn, Scalar, Special};

/// A pure function with its operations.
static TWICE: PureFn = PureFn {
    name: "test.twice",
    params: &[Scalar::I32],
    result: Scalar::I32,
    eval: |a| (a[0] << 1) & 0xffff_ffff,
    expand: Some(|b, args, _| Some(b.iadd(args[0], args[0]))),
    fast: None,
    special: None,
};
/// One without.
static CALLED: PureFn = PureFn { name: "test.called", expand: None, ..COPY };
/// One that a code generator knows by itself.
static KNOWN: PureFn = PureFn { name: "test.known", special: Some(Special::Square), ..COPY };
const COPY: PureFn = PureFn {
    name: "",
    params: &[Scalar::I32],
    result: Scalar::I32,
    eval: |a| (a[0] << 1) & 0xffff_ffff,
    expand: Some(|b, args, _| Some(b.iadd(args[0], args[0]))),
    fast: None,
    special: None,
};

/// A host with two units.
const MODEL: HostModel = HostModel {
    vectors: 2,
    registers: 14,
    units: 2,
    dispatched: 3,
    window: 24,
    moves_per_cycle: 2,
    max_wait: 20,
    cost: |op, _| Cost { operations: u32::from(op.is_pure()), latency: 4, divides: 0 },
};

/// A function in mask form whose first block has these lines; a line `blockN(..)` begins another one.
fn function(body: &str) -> Function {
    let mut text = String::from(
        "function @f mask lanes 32 {
    slot s0: i32 a
    slot s1: i32 b
    slot s2: f32 x
    slot s3: f32 y
    slot s4: mask m
    slot s5: ui32 u
    slot s6: i64 w
    slot s7: mask n

block0 at 0x0:\n",
    );
    let mut blocks = 0;
    for line in body.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with("block") {
            blocks += 1;
            text += &format!("\n{line} at {:#x}:\n", 16 * blocks);
        } else {
            text += &format!("    {line}\n");
        }
    }
    text += "}\n";
    let func = parse_function(&text, &[&TWICE, &CALLED, &KNOWN]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify(&func).unwrap_or_else(|e| panic!("{e}\n{text}"));
    func
}

/// Whether a pass changes a function.
fn fires(pass: &str, mut func: Function) -> bool {
    let before = func.to_string();
    let changed = match pass {
        "schedule" => passes::schedule::run(&mut func, &MODEL),
        "lane_loops" => passes::lane_loops::run(&mut func, |_, _| 4),
        _ => ALL.iter().find(|(name, _)| *name == pass).expect("a pass").1(&mut func),
    };
    verify(&func).unwrap_or_else(|e| panic!("after {pass}: {e}\n{func}"));
    assert_eq!(changed, func.to_string() != before, "{pass} says {changed}\n{func}");
    changed
}

/// Two chains of so many sums, one after the other.
fn chains(length: usize) -> String {
    let mut text = String::from("v0: f32 = slot.get s2\nv1: f32 = slot.get s3\n");
    let mut next = 2;
    let mut ends = Vec::new();
    for start in [0, 1] {
        let mut last = start;
        for _ in 0..length {
            text += &format!("v{next}: f32 = fadd v{last}, v{start}\n");
            last = next;
            next += 1;
        }
        ends.push(last);
    }
    text + &format!("v{next}: f32 = fadd v{}, v{}\nslot.set s2, v{next}\nreturn 0\n", ends[0], ends[1])
}

/// So many values that the mask of the lanes that enter chooses.
fn chosen(count: usize) -> String {
    let mut text = String::from("v0: mask = slot.get s4\nv1: i32 = slot.get s0\nv2: i32 = slot.get s1\n");
    for next in 3..count + 3 {
        text += &format!("v{next}: i32 = select v0, v{}, v1\n", next - 1);
    }
    text + &format!("slot.set s1, v{}\nreturn 0\n", count + 2)
}

const ENDS: &str = "
    v0: i32 = slot.get s0
    v1: ui32 = const 0
    v2: mask = active
    v3: ui1 = const 0
    v4: ui32 = const 1
    v5: ui32 = const 9
    jump block1(v2, v1, v0, v3)
    block1(v6: mask, v7: ui32, v8: i32, v9: mask)
    v10: i32 = iadd v8, v8
    v11: mask = icmp ult v10, v0
    v12: mask = iand v6, v11
    v13: ui32 = iadd v7, v4
    v14: ui1 = icmp ult v13, v5
    v15: mask = iand v12, v14
    v16: ui1 = inot v14
    v17: mask = iand v12, v16
    v18: mask = ior v9, v17
    br_any v15, block1(v15, v13, v10, v18), block2
    block2
    slot.set s1, v10, v18
    return 0";

/// An address that has more added if a bit of `v0` is set.
const USUAL: &str = "
    v0: ui32 = slot.get s5
    v1: i32 = slot.get s0
    v2: ui32 = const 0x800000
    v3: ui32 = iand v0, v2
    v4: ui32 = const 0
    v5: ui1 = icmp ne v3, v4
    v6: i32 = slot.get s1
    v7: i32 = select v5, v6, v4
    v8: i32 = imul v7, v2
    v9: i32 = iadd v8, v1
    v10: i64 = zext v9
    v11: mask = icmp ult v1, v0
    v12: i32 = load.u32 global0[v10] align 1 if v11
    slot.set s0, v12
    return 0";

/// Two words of one instruction.
const BOUNDS: &str = "
    v0: ui32 = slot.get s5
    v1: i32 = slot.get s0
    v2: i64 = zext v1
    v3: ui32 = const 4
    v4: mask = icmp ult v1, v0
    v5: i32 = load.u32 global0[v2] align 1 if v4
    v6: i32 = iadd v1, v3
    v7: mask = icmp ult v6, v0
    v8: i32 = load.u32 global0[v2 + 0x4] align 1 if v7
    slot.set s0, v5
    slot.set s1, v8
    return 0";

/// Each lane follows a list; `v4` are the lanes that still do.
const LIST: &str = "
    v0: i32 = slot.get s0
    v1: mask = active
    v2: ui32 = const 0
    jump block1(v1, v0)
    block1(v4: mask, v5: i32)
    v6: i32 = load.u32 global0[v5] align 4 if v4
    v7: i32 = select v4, v6, v5
    v8: mask = icmp ne v7, v2
    v9: mask = iand v4, v8
    br_any v9, block1(v9, v7), block2
    block2
    slot.set s0, v7
    return 0";

const PAIRS: &str = "
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: ui32 = const 4
    v3: ui32 = const 0
    v4: ui32 = const 1
    v5: ui64 = const 32
    jump block1(v0, v1)
    block1(v7: i32, v8: i32)
    v9: i64 = zext v7
    v10: i64 = zext v8
    v11: i64 = ishl v10, v5
    v12: i64 = ior v11, v9
    v13: i32 = load.u32 global0[v12] align 4
    v14: i32 = iadd v7, v2
    v15: mask = icmp ult v14, v2
    v16: i32 = select v15, v4, v3
    v17: i32 = iadd v8, v16
    v19: mask = icmp ne v13, v3
    br_any v19, block1(v14, v17), block2
    block2
    return 0";

const SINK: &str = "
    v0: i32 = slot.get s0
    v1: ui32 = slot.get s5
    v2: ui32 = const 1
    jump block1(v0, v1)
    block1(v3: i32, v8: ui32)
    v4: i32 = imul v3, v3
    v5: i32 = isub v3, v2
    v9: ui32 = isub v8, v2
    v10: ui1 = icmp slt v9, v2
    br_if v10, block2, block1(v5, v9)
    block2
    slot.set s0, v5
    slot.set s1, v4
    slot.set s5, v9
    return 1";

const INVARIANT: &str = "
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    jump block1(v0)
    block1(v2: i32)
    v3: i32 = imul v0, v1
    v4: i32 = iadd v2, v3
    v5: mask = icmp ult v4, v1
    br_any v5, block1(v4), block2
    block2
    slot.set s0, v4
    return 0";

const FLOATS: &str = "
    v0: f32 = slot.get s2
    v1: i32 = bitcast v0
    jump block1(v1)
    block1(v3: i32)
    v4: f32 = bitcast v3
    v5: f32 = fadd v4, v4
    v6: i32 = bitcast v5
    v7: mask = fcmp lt v5, v0
    br_any v7, block1(v6), block2
    block2
    return 0";

const WHOLE: &str = "
    v0: i32 = slot.get s0
    v1: ui32 = slot.get s5
    v2: i64 = slot.get s6
    v3: mask = icmp slt v0, v1
    v4: i32 = slot.get s1
    br_any v3, block1, block2
    block1
    v7: i64 = sext v0
    v8: i64 = iadd v2, v7
    v9: i32 = load.u32 global0[v8] align 4 if v3
    v10: i32 = iadd v9, v4
    store.u32 global0[v8], v10 align 4 if v3
    jump block2
    block2
    return 0";

/// A loop whose lanes store and go on by what all share.
const ADVANCES: &str = "v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: mask = slot.get s4
    v3: i64 = zext v0
    v4: ui32 = slot.get s5
    v5: ui64 = zext v4
    jump block1(v3)
    block1(v6: i64)
    store.u32 global0[v6], v1 align 4 if v2
    v7: i64 = iadd v6, v5
    br_any v2, block1(v7), block2
    block2
    return 0";

/// Pass, whether it fires, why, and the function.
fn cases() -> Vec<(&'static str, bool, &'static str, String)> {
    let with = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    };
    let sum = "v0: f32 = slot.get s2\nv1: f32 = fadd v0, v0\nv2: f32 = fcanon v1, 0x7fffffff\n";
    let masks = "v0: mask = slot.get s4\nv1: i32 = slot.get s0\nv2: i32 = slot.get s1\nv3: i32 = select v0, v1, v2\nstore.u32 global0[v1], v3 align 4 if v0\n";
    let taken = "v0: mask = slot.get s4\nv1: i32 = slot.get s0\nv2: i32 = slot.get s1\nv3: mask = icmp ult v1, v2\nv4: mask = iand v0, v3\n";
    let and_not =
        "v6: mask = ior v4, v5\nv7: mask = inot v6\nv8: mask = iand v0, v7\nslot.set s4, v8\nreturn 0";
    let call = |name: &str| {
        format!("v0: i32 = slot.get s0\nv1: i32 = call.pure @{name}(v0)\nslot.set s0, v1\nreturn 0")
    };
    vec![
        ("advances", true, "all lanes go on by one step", ADVANCES.into()),
        ("advances", false, "each lane has its own step", with(ADVANCES, "v5: ui64 = zext v4", "v5: i64 = zext v1")),
        ("canon", true, "only a comparison meets the NaN", format!("{sum}v3: mask = fcmp lt v2, v0\nslot.set s4, v3\nreturn 0")),
        ("canon", false, "the slot shows its bits", format!("{sum}slot.set s2, v2\nreturn 0")),
        ("classes", true, "a maximum with a number is no NaN", "v0: f32 = slot.get s2\nv1: uf32 = const 0x0\nv2: f32 = fmax v0, v1\nv3: f32 = fcanon v2, 0x7fffffff\nslot.set s2, v3\nreturn 0".into()),
        ("classes", false, "a sum may be one", format!("{sum}slot.set s2, v2\nreturn 0")),
        ("conjunctions", true, "the mask is there twice", format!("{taken}v5: ui32 = slot.get s5\nv6: mask = icmp slt v2, v5\nv7: mask = iand v0, v6\nv8: mask = iand v4, v7\nslot.set s4, v8\nreturn 0")),
        ("conjunctions", false, "it is there once", format!("{taken}slot.set s4, v4\nreturn 0")),
        ("dce", true, "nobody uses the sum", "v0: i32 = slot.get s0\nv1: i32 = iadd v0, v0\nreturn 0".into()),
        ("dce", false, "a load may fault", "v0: i32 = slot.get s0\nv1: i32 = load.u32 global0[v0] align 4\nreturn 0".into()),
        ("demand", true, "the value is stored where the condition holds", format!("{masks}return 0")),
        ("demand", false, "the slot shows it in all lanes", masks.replace("store.u32 global0[v1], v3 align 4 if v0", "slot.set s0, v3") + "return 0"),
        ("ends", true, "a counter of all lanes ends the loop", ENDS.into()),
        ("ends", false, "each lane has its own counter", with(&with(&with(ENDS, "v14: ui1 = icmp ult v13, v5", "v14: mask = icmp ult v10, v5"), "v16: ui1", "v16: mask"), "v3: ui1", "v3: ui1")),
        ("expand", true, "it has operations", call("test.twice")),
        ("expand", false, "it has none", call("test.called")),
        ("expand_but_special", true, "the generator does not know it", call("test.twice")),
        ("expand_but_special", false, "the generator knows it", call("test.known")),
        ("fast", true, "a fused multiply-add is near enough", "v0: f32 = slot.get s2\nv1: f32 = fmad_trunc v0, v0, v0\nv2: f32 = fcanon v1, 0x7fffffff\nslot.set s2, v2\nreturn 0".into()),
        ("fast", false, "integers are exact", INVARIANT.into()),
        ("floats", true, "the parameter is only looked at as a float", FLOATS.into()),
        ("floats", false, "an integer slot shows it, too", with(FLOATS, "v4: f32 = bitcast v3", "slot.set s0, v3\nv4: f32 = bitcast v3")),
        ("fold", true, "nothing is added", "v0: i32 = slot.get s0\nv1: ui32 = const 0\nv2: i32 = iadd v0, v1\nslot.set s0, v2\nreturn 0".into()),
        ("fold_once", true, "nothing is added", "v0: i32 = slot.get s0\nv1: ui32 = const 0\nv2: i32 = iadd v0, v1\nslot.set s0, v2\nreturn 0".into()),
        ("fold_once", false, "nobody knows what is added", "v0: i32 = slot.get s0\nv1: i32 = slot.get s1\nv2: i32 = iadd v0, v1\nslot.set s0, v2\nreturn 0".into()),
        ("fold", false, "nobody knows what is added", "v0: i32 = slot.get s0\nv1: i32 = slot.get s1\nv2: i32 = iadd v0, v1\nslot.set s0, v2\nreturn 0".into()),
        ("gvn", true, "both sums are one", "v0: i32 = slot.get s0\nv1: i32 = iadd v0, v0\nv2: i32 = iadd v0, v0\nslot.set s0, v1\nslot.set s1, v2\nreturn 0".into()),
        ("gvn", false, "between the loads something is stored", "v0: i32 = slot.get s0\nv1: i32 = load.u32 shared[v0] align 1\nstore.u32 shared[v0], v0 align 1\nv2: i32 = load.u32 shared[v0] align 1\nslot.set s0, v1\nslot.set s1, v2\nreturn 0".into()),
        ("lane_loops", true, "each lane follows its own list", LIST.into()),
        ("lane_loops", false, "the order of stores is seen", with(LIST, "v7: i32 = select", "store.u32 global0[v5 + 4], v5 align 4 if v4\nv7: i32 = select")),
        ("entry_mask", true, "one branch tells what all six choose", chosen(6)),
        ("entry_mask", false, "five are too few for two versions", chosen(5)),
        ("entry_mask_stores", true, "the slot holds that already", "v0: i32 = slot.get s0\nslot.set s0, v0\nreturn 0\n".into()),
        ("entry_mask_stores", false, "another slot's value", "v0: i32 = slot.get s1\nslot.set s0, v0\nreturn 0\n".into()),
        ("licm", true, "the product is the same each time", INVARIANT.into()),
        ("licm", false, "a load may fault, and before the loop it would do so earlier", with(INVARIANT, "imul v0, v1", "load.u32 global0[v0] align 4")),
        ("one_lane", true, "behind the branch the lane has the mask", format!("{taken}br_any v4, block1, block2\nblock1\nv9: i32 = select v4, v1, v2\nslot.set s0, v9\njump block2\nblock2\nreturn 0")),
        ("one_lane", false, "there is no mask", "v0: i32 = slot.get s0\nv1: i32 = iadd v0, v0\nslot.set s0, v1\nreturn 0".into()),
        ("pairs", true, "two words are one address", PAIRS.into()),
        ("pairs", false, "they are not put together", with(&with(PAIRS, "v12: i64 = ior v11, v9", "v12: i64 = ixor v11, v9"), "v11: i64 = ishl v10, v5", "v11: i64 = iadd v10, v10")),
        ("permit", true, "a load of global memory", "v0: i64 = slot.get s6\nv1: i32 = load.u32 global0[v0] align 4\nslot.set s0, v1\nreturn 0".into()),
        ("permit", false, "memory of the block is its own", "v0: i32 = slot.get s0\nv1: i32 = load.u32 shared[v0] align 4\nslot.set s0, v1\nreturn 0".into()),
        ("remaining", true, "who is not in the mask cannot be taken from it", format!("{taken}v5: mask = inot v0\n{and_not}")),
        ("remaining", false, "these lanes may be in it", format!("{taken}v5: mask = slot.get s7\n{and_not}")),
        ("schedule", true, "one chain waits for the other", chains(60)),
        ("schedule", false, "the host sees all of the block", chains(5)),
        ("simplify_cfg", true, "a block follows the other", "jump block1\nblock1\nreturn 0".into()),
        ("simplify_cfg", false, "two lead to it", INVARIANT.into()),
        ("sink", true, "only the slot at the exit shows the product", SINK.into()),
        ("sink", false, "the loop needs it", with(SINK, "v5: i32 = isub v3, v2", "v5: i32 = isub v4, v2")),
        ("translate", true, "the address has 64 bits", "v0: i64 = slot.get s6\nv1: i32 = load.u32 global0[v0] align 4\nslot.set s0, v1\nreturn 0".into()),
        ("translate", false, "it has 32", "v0: i32 = slot.get s0\nv1: i32 = load.u32 global0[v0] align 4\nslot.set s0, v1\nreturn 0".into()),
        ("uniform", true, "the operands are the same in all lanes", "v0: ui32 = slot.get s5\nv1: i32 = iadd v0, v0\nslot.set s0, v1\nreturn 0".into()),
        ("uniform", false, "one is not", "v0: ui32 = slot.get s5\nv2: i32 = slot.get s0\nv1: i32 = iadd v0, v2\nslot.set s0, v1\nreturn 0".into()),
        ("usual", true, "a bit that all lanes share may add something", USUAL.into()),
        ("usual", false, "what it adds does not keep lanes from a line", with(USUAL, "select v5, v6, v4", "iadd v4, v4")),
        ("usual", false, "the stride is known as code runs only", with(USUAL, "iadd v8, v1", "imul v1, v0")),
        ("usual", false, "what lanes load is no line", with(USUAL, "v1: i32 = slot.get s0", "v13: i64 = slot.get s6\nv1: i32 = load.u32 global0[v13] align 4")),
        ("usual", true, "each word has a bound", BOUNDS.into()),
        ("usual", false, "both have the same", with(BOUNDS, "align 1 if v7", "align 1 if v4")),
        ("whole", true, "all lanes may have the mask of two accesses", WHOLE.into()),
        ("whole", false, "for one access a second version does not pay", with(WHOLE, "store.u32 global0[v8], v10 align 4 if v3", "slot.set s0, v10")),
    ]
}

#[test]
fn passes_change_what_they_are_for_and_nothing_else() {
    let other =
        |&(pass, expected, _, ref text): &(&str, bool, &str, String)| fires(pass, function(text)) != expected;
    let wrong: Vec<_> = cases().into_iter().filter(other).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_pass_has_one_that_fires_and_one_that_must_not() {
    let cases = cases();
    for name in ALL.iter().map(|(name, _)| *name).chain(["schedule", "lane_loops"]) {
        for fires in [true, false] {
            let found = cases.iter().any(|&(pass, other, ..)| pass == name && other == fires);
            assert!(found, "{name} has no case with fires = {fires}");
        }
    }
}

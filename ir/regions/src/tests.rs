//! Tests of regions, on small kernels in the text format.

use super::SlotFacts;
use super::{ChunkLimits, Kernel, RegionOptions, SlowChunks};
use warpjit_ir_core::entities::{Block, Slot};
use warpjit_ir_core::meter::Meter;
use warpjit_ir_core::opcodes::{Opcode, Space};
use warpjit_ir_core::text::parse_function;
use warpjit_ir_core::verify::verify;
use warpjit_ir_interp::{Code, Denied, FaultKind, Flow, Scratch, Warp, WarpMemory};

const MANDEL: &str = r#"
function @mandel spmd lanes 32 entry block0 {
    slot s0: i32 r0 = tid.x
    slot s1: f32 zx
    slot s2: i32 n
    slot s3: mask c

block0 at 0x0 insts 2:
    v0: i32 = slot.get s0
    v1: f32 = fcvt_from_uint v0
    slot.set s1, v1
    v2: ui32 = const 0x0
    slot.set s2, v2
    @0x8 push.break block4 -> block1

block1 at 0x10 insts 3:
    v10: f32 = slot.get s1
    v11: f32 = fmul.ftz v10, v10
    v12: uf32 = const 0x40800000
    v13: mask = fcmp.ftz gt v11, v12
    slot.set s1, v11
    @0x18 leave.break if v13 -> block2

block2 at 0x20 insts 3:
    v20: i32 = slot.get s2
    v21: ui32 = const 0x1
    v22: i32 = iadd v20, v21
    slot.set s2, v22
    v23: ui32 = const 0x20
    v24: mask = icmp ult v22, v23
    slot.set s3, v24
    branch v24, block1, block3

block3 at 0x30 insts 1:
    leave.break -> block4

block4 at 0x38 insts 2:
    v30: i32 = slot.get s2
    v31: i32 = slot.get s0
    store.u32 global14[v31], v30 align 4
    leave.exit -> block4
}
"#;

#[test]
fn a_loop_with_breaks_is_one_region_to_the_end() {
    let func = parse_function(MANDEL, &[]).expect("parses");
    verify(&func).expect("valid");
    let kernel = Kernel::new(func, RegionOptions::default());
    let region = kernel.region(Block(0), &SlotFacts::none(kernel.func.slots.len())).expect("a region");
    println!("{}\n{}", region.ssa, region.mask);
    verify(&region.ssa).expect("valid SSA");
    verify(&region.mask).expect("valid mask form");
    assert_eq!(region.blocks.len(), 5);
    assert_eq!(region.exits.len(), 1);
}

/// Code that shows a mask as a number before the end: `n` guest instructions of two operations, then that.
fn long_wave(n: usize) -> warpjit_ir_core::function::Function {
    let mut text = String::from(
        "function @wave spmd lanes 64 entry block0 {\n    slot s0: i32 v0 = tid.x\n    slot s1: mask exec lane_mask\n    slot s2: ui32 exec_lo\n\n",
    );
    text += &format!("block0 at 0x0 insts {n}:\n");
    let mut last = String::new();
    for at in 0..n {
        let (a, b) = (2 * at, 2 * at + 1);
        let pc = format!("@{:#x} ", 4 * at);
        text += &format!(
            "    {pc}v{a}: i32 = slot.get s0\n    {pc}v{b}: i32 = iadd v{a}, v{a}\n    {pc}slot.set s0, v{b}\n"
        );
        last = pc;
    }
    text += &format!(
        "    {last}v{0}: i32 = slot.get s0\n    {last}store.u32 global14[v{0}], v{0} align 4\n    jump block1\n\n",
        2 * n
    );
    let v = |k: usize| 2 * n + k;
    text += &format!(
        "block1 at 0x80000 insts 1:\n    v{}: mask = slot.get s1\n    v{}: ui64 = ballot v{}\n    v{}: ui32 = trunc v{}\n    slot.set s2, v{}\n    leave.exit -> block1\n}}\n",
        v(1),
        v(2),
        v(1),
        v(3),
        v(2),
        v(3)
    );
    parse_function(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// What shows registers that nobody looks at keeps no lanes together.
#[test]
fn votes_for_registers_that_nobody_sees_go() {
    let options = RegionOptions { chunks: ChunkLimits::up_to(64), ..RegionOptions::default() };
    let seen = Kernel::new(long_wave(3), RegionOptions { keep_registers: true, ..options });
    assert!(seen.whole_warps());
    assert!(seen.func.to_string().contains("ballot"));
    let unseen = Kernel::new(long_wave(3), options);
    assert!(!unseen.whole_warps());
    let text = unseen.func.to_string();
    assert!(!text.contains("ballot") && !text.contains("slot.set s2"), "{text}");
    // What is stored stays.
    assert!(text.contains("store") && text.matches("iadd").count() == 3, "{text}");
}

/// A kernel that is cut often has not many more slots for that: each region knows all of them, so time would grow with their product.
#[test]
fn values_behind_cuts_share_slots() {
    let rounds = 300;
    let mut text =
        String::from("function @exchange spmd lanes 32 entry block0 {\n    slot s0: i32 r0 = tid.x\n\n");
    text += &format!(
        "block0 at 0x0 insts {rounds}:\n    v0: i32 = slot.get s0\n    v1: ui32 = const 0x4\n    v2: i32 = imul v0, v1\n"
    );
    // Each round stores what the one before has loaded, so that there is a cut between; the address lives through all of them.
    for n in 0..rounds {
        text += &format!(
            "    @{:#x} store.u32 shared[v2], v{} align 4\n    v{}: i32 = load.u32 shared[v2 + 4] align 4\n",
            8 * n,
            n + 2,
            n + 3
        );
    }
    text += &format!("    slot.set s0, v{}\n    leave.exit -> block0\n}}\n", rounds + 2);
    let func = parse_function(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let kernel = Kernel::new(func, RegionOptions::default());
    verify(&kernel.func).expect("valid");
    assert!(kernel.func.blocks.len() >= rounds, "{} parts", kernel.func.blocks.len());
    // The address, and what was loaded last.
    assert!(kernel.func.slots.len() <= 4, "{} slots", kernel.func.slots.len());
    let insts: u32 = kernel.func.blocks.iter().map(|block| block.guest_insts).sum();
    assert_eq!(insts, rounds as u32);
}

/// Cuts lie in the middle of an instruction that stores two words; it counts where it begins, and a limit finds it whole or not at all.
#[test]
fn instructions_that_are_cut_count_where_they_begin() {
    let text = "\
function @halves spmd lanes 32 entry block0 {
    slot s0: i32 r0 = tid.x

block0 at 0x0 insts 4:
    v0: i32 = slot.get s0
    v1: ui32 = const 0x4
    v2: i32 = imul v0, v1
    @0x10 store.u32 global14[v2], v0 align 4
    store.u32 global14[v2 + 4], v1 align 4
    store.u32 global14[v2 + 8], v1 align 4
    @0x18 slot.set s0, v2
    @0x20 leave.exit -> block0
}
";
    let func = parse_function(text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let kernel = Kernel::new(func, RegionOptions { lockstep: true, ..RegionOptions::default() });
    verify(&kernel.func).expect("valid");
    let counts: Vec<u32> = kernel.func.blocks.iter().map(|block| block.guest_insts).collect();
    assert_eq!(counts, [2, 0, 2], "{}", kernel.func);
    let code = Code::new(&kernel.func).expect("valid");
    for (limit, stores, pc) in [(1, 0, 0x10), (2, 3, 0x18), (3, 3, 0x20)] {
        let mut warp = Warp::new(&code, u64::MAX >> 32, |_, lane| lane);
        let mut scratch = Scratch::new(&code);
        scratch.max_steps = limit;
        let mut memory = Stores::default();
        let fault = loop {
            match code.run_block(&mut scratch, &mut warp, &mut memory) {
                Flow::Next => {}
                Flow::Fault(fault) => break fault,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((fault.kind, fault.pc, memory.0), (FaultKind::Timeout, pc, 32 * stores), "{limit}");
        assert_eq!(warp.steps, limit);
    }
}

/// How many words are stored.
#[derive(Default)]
struct Stores(u32);

impl WarpMemory for Stores {
    fn load(&mut self, _: Space, _: u32, _: u64, _: u8) -> Result<u64, Denied> {
        Err(Denied)
    }

    fn store(&mut self, _: Space, _: u32, _: u64, _: u8, _: u64) -> Result<(), Denied> {
        self.0 += 1;
        Ok(())
    }
}

/// However long a block is, no region is much longer than the others.
#[test]
fn long_blocks_become_several_regions() {
    for n in [100, 5000, 20_000] {
        let kernel = Kernel::new(long_wave(n), RegionOptions::default());
        verify(&kernel.func).expect("valid");
        let longest = kernel.func.blocks.iter().map(|block| block.insts.len()).max();
        assert!(longest <= Some(super::sizes::MAX_INSTS), "{longest:?}");
        // All of it is there, in order, once.
        let insts: u32 = kernel.func.blocks.iter().map(|block| block.guest_insts).sum();
        assert_eq!(insts, n as u32 + 1);
        let sums = kernel.func.to_string().matches("iadd").count();
        assert_eq!(sums, n);
        let mut regions = 0;
        let mut next = Some(Block(0));
        while let Some(at) = next {
            let region = kernel.region(at, &SlotFacts::none(kernel.func.slots.len())).expect("a region");
            assert!(region.ssa.insts.len() < 2 * super::sizes::MAX_INSTS);
            regions += 1;
            next = region.exits.iter().find_map(|exit| match exit {
                super::explore::ExitKind::Enter(block) => Some(*block),
                _ => None,
            });
        }
        assert!(regions >= n * 3 / super::sizes::MAX_INSTS, "{regions} for {n}");
    }
}

/// What a wave does under its mask register, and under the lanes launched.
const WAVE: &str = r#"function @w spmd lanes 64 {
    slot s0: mask exec lane_mask
    slot s1: ui32 launched.lo = launched.lo
    slot s2: ui32 launched.hi = launched.hi
    slot s3: i32 v0
    slot s4: i32 v1

block0 at 0x10 insts 2:
    v0: mask = slot.get s0
    v1: i32 = slot.get s3
    v2: i32 = slot.get s4
    v3: i32 = iadd v1, v2
    v4: i32 = select v0, v3, v2
    slot.set s4, v4
    v5: ui32 = slot.get s1
    v6: ui64 = zext v5
    v7: ui32 = slot.get s2
    v8: ui64 = zext v7
    v9: ui64 = const 32
    v10: ui64 = ishl v8, v9
    v11: ui64 = ior v6, v10
    v12: mask = lane_bit v11
    store.u32 shared[v1], v4 align 4 if v12
    leave.exit -> block0
}
"#;

#[test]
fn where_all_lanes_take_part_no_mask_is_left() {
    let func = parse_function(WAVE, &[]).expect("parses");
    verify(&func).expect("valid");
    let kernel =
        Kernel::new(func, RegionOptions { chunks: ChunkLimits::up_to(64), ..RegionOptions::default() });
    let masks = |known: &SlotFacts| {
        let mut region = kernel.region(Block(0), known).expect("a region");
        super::optimize(&mut region, false);
        verify(&region.mask).expect("valid mask form");
        let insts = region.mask.block(region.mask.entry).insts.iter().map(|&i| region.mask.inst(i));
        let uses = |op: Opcode| matches!(op, Opcode::Select | Opcode::LaneBit);
        let guarded =
            |inst: &warpjit_ir_core::function::InstData| inst.op == Opcode::Store && inst.args.len() > 2;
        insts.filter(|inst| uses(inst.op) || guarded(inst)).count()
    };
    let mut known = SlotFacts::none(kernel.func.slots.len());
    assert_eq!(masks(&known), 3);
    (0..3).for_each(|slot| {
        known.ones.insert(Slot::new(slot));
    });
    assert_eq!(masks(&known), 0);
}

/// A wave's loop: v1 is written under exec, and read there only; v2 is, too, but behind the loop by all lanes; v3 in a
/// lane by another's number.
const MASKED: &str = r#"
function @masked spmd lanes 64 entry block0 {
    slot s0: mask exec lane_mask
    slot s1: i32 v0 = tid.x
    slot s2: i32 v1
    slot s3: i32 v2
    slot s4: i32 v3
    slot s5: ui32 n

block0 at 0x0 insts 1:
    jump block1

block1 at 0x8 insts 6:
    v0: mask = slot.get s0
    v1: i32 = slot.get s1
    v2: i32 = iadd v1, v1
    v3: i32 = slot.get s2
    v4: i32 = select v0, v2, v3
    v5: i32 = iadd v4, v1
    v6: i32 = slot.get s3
    v7: i32 = select v0, v5, v6
    v8: i32 = slot.get s4
    v9: i32 = select v0, v7, v8
    store.u32 global0[v1], v9 align 4 if v0
    v10: ui32 = slot.get s5
    v11: ui32 = const 1
    v12: ui32 = isub v10, v11
    v13: ui32 = const 0
    v14: ui1 = icmp eq v12, v13
    slot.set s2, v4
    slot.set s3, v7
    slot.set s4, v9
    slot.set s5, v12
    branch v14, block2, block1

block2 at 0x30 insts 3:
    v20: ui1 = const 1
    v21: mask = splat v20
    slot.set s0, v21
    v22: i32 = slot.get s3
    store.u32 global0[v22], v22 align 4 if v21
    leave.exit -> block2
}
"#;

fn masked() -> warpjit_ir_core::Function {
    let func = parse_function(MASKED, &[]).expect("parses");
    verify(&func).expect("valid");
    func
}

#[test]
fn what_lanes_out_of_the_register_hold_is_live_where_it_is_read() {
    let func = masked();
    let meter = Meter::unlimited();
    let compute = |keep| super::liveness::SlotLiveness::compute(&func, keep, &meter).expect("no limits");
    let live = compute(false);
    let names = |set: &super::liveness::SlotSet| {
        let names = set.iter().filter_map(|s| func.slots.get(s.index())).map(|slot| slot.name.as_str());
        names.collect::<Vec<_>>().join(" ")
    };
    // Lanes that the loop writes do not need what v2 was; others show it behind.
    assert_eq!(names(live.live_in(Block(1))), "exec v0 v2 n");
    assert_eq!(names(live.live_in_full(Block(1))), "exec v0 n");
    assert_eq!(names(live.live_in(Block(2))), "v2");
    // Who looks at all registers at the end sees the old values of all.
    let kept = compute(true);
    assert_eq!(names(kept.live_in(Block(1))), "exec v0 v1 v2 v3 n");
}

/// A wave writes v1 under exec, takes one lane's, whichever that is, and goes on without it.
const SHUFFLED: &str = r#"
function @shuffled spmd lanes 64 entry block0 {
    slot s0: mask exec lane_mask
    slot s1: i32 v0 = tid.x
    slot s2: i32 v1
    slot s3: ui32 s0

block0 at 0x0 insts 1:
    v0: mask = slot.get s0
    v1: i32 = slot.get s1
    v2: i32 = slot.get s2
    v3: i32 = select v0, v1, v2
    slot.set s2, v3
    jump block1

block1 at 0x4 insts 1:
    v4: i32 = slot.get s2
    v5: ui32 = const 5
    v6: ui32 = shuffle v4, v5
    slot.set s3, v6
    jump block2

block2 at 0x8 insts 1:
    v7: i32 = slot.get s1
    v8: ui32 = slot.get s3
    v9: mask = slot.get s0
    store.u32 global0[v7], v8 align 4 if v9
    leave.exit -> block2
}
"#;

#[test]
fn what_one_lane_gives_all_is_live_up_to_there() {
    let func = parse_function(SHUFFLED, &[]).expect("parses");
    verify(&func).expect("valid");
    let live = super::liveness::SlotLiveness::compute(&func, false, &Meter::unlimited()).expect("no limits");
    let names = |set: &super::liveness::SlotSet| {
        let names = set.iter().filter_map(|s| func.slots.get(s.index())).map(|slot| slot.name.as_str());
        names.collect::<Vec<_>>().join(" ")
    };
    // The lane may be one that does not write.
    assert_eq!(names(live.live_in(Block(0))), "exec v0 v1");
    assert_eq!(names(live.live_in_full(Block(0))), "exec v0");
    assert_eq!(names(live.live_in(Block(1))), "exec v0 v1");
    assert_eq!(names(live.live_in(Block(2))), "exec v0 s0");
    assert_eq!(names(&live.live_at_end()), "");
}

/// With limits, loops come out where steps run short, and branches where lanes part; registers that nobody reads again
/// are not written there.
#[test]
fn regions_that_count_steps_are_more_than_blocks() {
    let options =
        RegionOptions { exact_steps: true, chunks: ChunkLimits::up_to(64), ..RegionOptions::default() };
    let kernel = Kernel::new(masked(), options);
    let steps = kernel.steps_slot().expect("steps are counted");
    let region = kernel.region(Block(0), &SlotFacts::none(kernel.func.slots.len())).expect("a region");
    assert_eq!((region.blocks.len(), region.steps), (3, 10));
    assert!(region.exits.contains(&super::explore::ExitKind::Enter(Block(1))), "{:?}", region.exits);
    let text = region.ssa.to_string();
    assert!(text.contains(&format!("slot.set {steps}")) && !text.contains("slot.set s2"), "{text}");

    let kernel = Kernel::new(parse_function(MANDEL, &[]).expect("parses"), options);
    let region = kernel.region(Block(1), &SlotFacts::none(kernel.func.slots.len())).expect("a region");
    let exits = [Block(1), Block(3)].map(super::explore::ExitKind::Terminator);
    // Where some lanes break, or all do; and where the loop begins again.
    assert!(exits.iter().all(|exit| region.exits.contains(exit)), "{:?}", region.exits);
    assert!(region.exits.contains(&super::explore::ExitKind::Enter(Block(1))), "{:?}", region.exits);
    // Without the whole warp, each block is one.
    let kernel = Kernel::new(masked(), RegionOptions { chunks: ChunkLimits::up_to(0), ..options });
    assert_eq!(kernel.steps_slot(), None);
    let region = kernel.region(Block(0), &SlotFacts::none(kernel.func.slots.len())).expect("a region");
    assert_eq!(region.blocks, [Block(0)]);
}

/// A round of a reduction after a store: `between` ends the block of the store, the word is loaded from `address`; then rounds of so many
/// guest instructions that touch registers only.
fn round(lanes: u32, between: &str, address: &str, loop_insts: u32) -> warpjit_ir_core::Function {
    let text = format!(
        "function @round spmd lanes {lanes} entry block0 {{
    slot s0: i32 v0 = tid.x

block0 at 0x0 insts 2:
    v0: i32 = slot.get s0
    store.u32 shared[v0], v0 align 4
    {between}block1

block1 at 0x10 insts 3:
    v1: i32 = {address}
    v2: i32 = load.u32 shared[v1] align 4
    slot.set s0, v2
    jump block2

block2 at 0x20 insts {loop_insts}:
    v3: i32 = slot.get s0
    v4: i32 = iadd v3, v3
    slot.set s0, v4
    v5: mask = icmp ult v4, v3
    branch v5, block2, block3

block3 at 0x400 insts 1:
    leave.exit -> block3
}}
"
    );
    let func = parse_function(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&func).expect("valid");
    func
}

/// Where running all lanes at once is slow: only what lanes read of each other without a barrier, of few lanes, and
/// short loops with limits.
#[test]
fn slow_whole_warps_are_run_where_they_pay() {
    let limits = SlowChunks { max_work: 16_000, max_lanes: 32 };
    let slow = ChunkLimits { slow: Some(limits), ..ChunkLimits::up_to(64) };
    let options = RegionOptions { chunks: slow, ..RegionOptions::default() };
    let is_whole = |options, func| Kernel::new(func, options).whole_warps();
    let (jump, barrier, other, constant) = ("jump ", "barrier 0 arrive wait -> ", "slot.get s0", "const 64");
    assert!(is_whole(options, round(32, jump, other, 5)));
    assert!(!is_whole(options, round(64, jump, other, 5)));
    assert!(!is_whole(options, round(32, barrier, other, 5)));
    assert!(!is_whole(options, round(32, jump, constant, 5)));
    // Where it is not slow, it is enough that there is a store.
    assert!(is_whole(
        RegionOptions { chunks: ChunkLimits::up_to(64), ..options },
        round(64, barrier, other, 5)
    ));
    // Blocks of many instructions do much between two looks at the limit.
    let counted = RegionOptions { exact_steps: true, ..options };
    assert!(is_whole(counted, round(64, barrier, other, 5)));
    assert!(!is_whole(counted, round(64, barrier, other, 50)));
    assert!(!is_whole(
        RegionOptions { chunks: ChunkLimits { whole: 32, ..slow }, ..counted },
        round(64, barrier, other, 5)
    ));
}

/// Two loops with one header: a warp asks until a word is what it counts to, and counts up to 4, or up to what is loaded.
fn asks(next: &str) -> warpjit_ir_core::Function {
    let text = format!(
        "function @asks spmd lanes 32 entry block0 {{
    slot s0: i32 r0 = tid.x
    slot s1: ui32 s1
    slot s2: mask exec lane_mask

block0 at 0x0 insts 1:
    v0: ui32 = const 0x0
    slot.set s1, v0
    jump block1

block1 at 0x8 insts 2:
    v2: i32 = slot.get s0
    v3: ui32 = slot.get s1
    v4: i32 = load.u32 shared[v2] align 4
    v5: mask = icmp eq v4, v3
    v11: ui1 = vote_any v5
    branch v11, {next}

block2 at 0x18 insts 2:
    v6: ui32 = slot.get s1
    v7: ui32 = const 0x1
    v8: ui32 = iadd v6, v7
    slot.set s1, v8
    v9: ui32 = const 0x4
    v10: ui1 = icmp eq v8, v9
    branch v10, block3, block1

block3 at 0x28 insts 1:
    leave.exit -> block3
}}
"
    );
    parse_function(&text, &[]).expect("parses")
}

#[test]
fn of_loops_with_one_header_each_may_wait() {
    for (next, waits) in [("block2, block1", true), ("block2, block2", false)] {
        let func = asks(next);
        verify(&func).expect("valid");
        let options = RegionOptions { chunks: ChunkLimits::up_to(32), ..RegionOptions::default() };
        let kernel = Kernel::new(func, options);
        let facts = SlotFacts::none(kernel.func.slots.len());
        let region = kernel.region(Block(1), &facts).expect("a region");
        assert!(region.blocks.contains(&Block(2)), "{next}: {}", region.mask);
        assert_eq!(region.may_wait, waits, "{next}: {}", region.mask);
    }
}

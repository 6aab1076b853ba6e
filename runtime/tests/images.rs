//! Tests that no image can make compiled code access memory outside the guest's. A case that would crash the process if it failed
//! runs in a child process: this test binary starts itself with an environment variable set.

mod support;

use support::{child, image, launch, settings, told};
use warpjit_frontend::image::{AliasParts, RegisterAlias};
use warpjit_ir::{Builtin, PureFn, Scalar, Segment, SegmentSize, Slot, SlotInit, Terminator};
use warpjit_runtime::{Engine, Error, KernelImage, Launch, Program};

const CASE: &str = "WARPJIT_IMAGE_CASE";

/// Loads an index from memory into a slot that says it is small, meets, and loads with that a word of a const bank.
const LIES: &str = "
    slot s0: i32 tid = tid.x
    slot s1: i32 index umax 0x3f
block0 at 0x0 insts 3:
    v0: i32 = slot.get s0
    v1: ui32 = const 2
    v2: i32 = ishl v0, v1
    v3: i32 = load.u32 global0[v2 + 0x10000] align 4
    slot.set s1, v3
    jump block1
block1 at 0x18 insts 1:
    barrier 0 arrive wait -> block2
block2 at 0x20 insts 2:
    v10: i32 = slot.get s1
    v11: i32 = load.u32 const0[v10] align 1
    v12: i32 = slot.get s0
    v13: ui32 = const 2
    v14: i32 = ishl v12, v13
    store.u32 global0[v14 + 0x10080], v11 align 4
    jump block3
block3 at 0x28 insts 1:
    leave.exit -> block3
";

/// The same with what is known when a warp starts: a number of 2^14 and more for each block in the grid.
const STARTS: &str = "
    slot s0: i32 bid = ctaid.x umax 0x2
    slot s1: i32 tid = tid.x umax 0x1ff
block0 at 0x18 insts 2:
    v10: i32 = slot.get s0
    v13: ui32 = const 14
    v14: i32 = ishl v10, v13
    v16: i32 = slot.get s1
    v23: i32 = imul v16, v16
    v24: ui32 = const 0xff
    v25: i32 = iand v23, v24
    v17: i32 = ior v14, v25
    v11: i32 = load.u32 const0[v17] align 1
    v21: ui32 = const 2
    v22: i32 = ishl v16, v21
    store.u32 global0[v22 + 0x10080], v11 align 4
    jump block1
block1 at 0x28 insts 1:
    leave.exit -> block1
";

/// Runs a kernel on all tiers; every lane must read `want` in the end, what is there or nothing.
fn reads(kernel: KernelImage, launch: &Launch, words: &[u32], want: u32) {
    let program = Program::from_image(kernel).expect("a program");
    for config in settings() {
        let engine = Engine::new(config.clone()).expect("an engine");
        let memory = engine.memory().expect("memory");
        memory.map(Some(0x1_0000), 4096, warpjit_runtime::Access::ReadWrite).expect("mapped");
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.write(0x1_0000, &bytes).expect("there");
        let report = engine.run(&program, &memory, launch).expect("runs");
        let out = support::words_of(&memory, 64);
        assert_eq!((report.fault, out[32]), (None, want), "{}", told(&config));
    }
}

/// What a const bank holds at a place, as addresses are taken modulo 2^16.
fn word_at(address: u32) -> u32 {
    let byte = |at: u32| contents()[(at & 0xffff) as usize];
    u32::from_le_bytes([0, 1, 2, 3].map(|n| byte(address + n)))
}

fn contents() -> Vec<u8> {
    (0..0x1_0000u32).map(|at| (at % 251) as u8).collect()
}

/// An index for each lane, that of the first and others without any order.
fn indices(first: u32) -> Vec<u32> {
    (0..32).map(|lane| first + 4 * (lane * lane * 7 % 32)).collect()
}

fn misbehave(case: &str) {
    let bank = |launch: Launch| launch.consts(vec![(0, contents())]);
    let with_index = |index: u32| reads(image(LIES), &bank(launch(1, 32)), &indices(index), word_at(index));
    match case {
        // What is there, what is behind the bank, what is far from it.
        "inside" => with_index(0x30),
        "behind" => with_index(0x1_0100),
        "far" => with_index(0x7000_0000),
        "starts" => {
            // The last block alone.
            let last = launch(50_000, 32).blocks(Some(49_999..50_000));
            reads(image(STARTS), &bank(last), &[0; 32], word_at(49_999 << 14));
        }
        other => panic!("no case {other}"),
    }
    std::process::exit(0);
}

#[test]
fn bounds_that_are_not_so_let_nobody_out() {
    if let Ok(case) = std::env::var(CASE) {
        misbehave(&case);
    }
    for case in ["inside", "behind", "far", "starts"] {
        let status = child("bounds_that_are_not_so_let_nobody_out", CASE, case);
        assert!(status.success(), "{case}: {status:?}");
    }
}

#[test]
fn bounds_that_are_so_are_kept() {
    let proven = LIES.replace(
        "    slot.set s1, v3\n",
        "    v4: ui32 = const 0x3f\n    v5: i32 = iand v3, v4\n    slot.set s1, v5\n",
    );
    let umax = |program: &Program, slot: usize| program.image().function.slots[slot].umax;
    assert_eq!(umax(&Program::from_image(image(&proven)).expect("a program"), 1), Some(0x3f));
    assert_eq!(umax(&Program::from_image(image(LIES)).expect("a program"), 1), None);
    // A chip with fewer blocks.
    let mut few = image(STARTS);
    few.abi.max_grid = [3, 1, 1];
    assert_eq!(umax(&Program::from_image(few).expect("a program"), 0), Some(2));
    assert_eq!(umax(&Program::from_image(image(STARTS)).expect("a program"), 0), None);
}

#[test]
fn images_that_do_not_make_sense_are_refused() {
    static ADDS: PureFn = PureFn {
        name: "mine.adds",
        params: &[Scalar::I32],
        result: Scalar::I32,
        eval: |args| args[0],
        expand: Some(|_, args, _| Some(args[0])),
        fast: None,
        special: None,
    };
    let known = warpjit_frontend::registry::pures().next().expect("one");
    let mine: &'static PureFn = Box::leak(Box::new(PureFn { name: known.name, expand: None, ..ADDS_LIKE }));
    let call = |callee: &'static PureFn| {
        let text = "
    slot s0: i32 tid = tid.x
block0 at 0x0 insts 1:
    v0: i32 = slot.get s0
    v1: i32 = iadd v0, v0
    slot.set s0, v1
    jump block0
";
        let mut kernel = image(text);
        let inst = kernel.function.blocks[0].insts[1];
        let data = kernel.function.inst_mut(inst);
        data.op = warpjit_ir::Opcode::CallPure;
        data.args.truncate(1);
        data.imm = warpjit_ir::Imm::Pure(callee);
        kernel
    };
    type Change = fn(&mut KernelImage);
    let changes: [(&str, Change); 9] = [
        ("defined", |image| image.function.blocks[0].insts.reverse()),
        ("terminator", |image| image.function.blocks[0].term = None),
        ("s1, which does not exist", |image| image.function.slots.truncate(1)),
        ("SPMD", |image| {
            image.function.blocks[2].term = Some(Terminator::Return { exit: 7, exited: None, cond: None });
        }),
        ("lanes", |image| image.abi.warp_lanes = 64),
        ("shared", |image| image.abi.max_shared_bytes = u32::MAX),
        ("segment 3", |image| image.function.slots[1].init = SlotInit::WarpOffset(3)),
        ("page", |image| {
            let (address, size) = (0x123, SegmentSize::Bytes(64));
            image.abi.segments.push(Segment {
                name: "page",
                address,
                size,
                writable: false,
                contents: vec![],
            });
        }),
        ("slots of its kind", |image| {
            let parts = AliasParts::LaneBits(vec![Slot::new(99)]);
            image.aliases.push(RegisterAlias { name: "m".into(), bits: 32, writable: 1, always: 0, parts });
        }),
    ];
    for (what, change) in changes {
        let mut changed = image(LIES);
        change(&mut changed);
        let error = Program::from_image(changed).expect_err(what);
        assert!(matches!(&error, Error::Program(_)) && error.to_string().contains(what), "{what}: {error}");
    }
    for callee in [&ADDS, mine] {
        let error = Program::from_image(call(callee)).expect_err("no front end's").to_string();
        assert!(error.contains(callee.name), "{error}");
    }
    // One that adds nothing, and has a name of its own.
    let own: &'static PureFn = Box::leak(Box::new(PureFn { name: "mine.plain", expand: None, ..ADDS_LIKE }));
    Program::from_image(call(own)).expect("a program");
}

/// A function that gives its argument.
const ADDS_LIKE: PureFn = PureFn {
    name: "",
    params: &[Scalar::I32],
    result: Scalar::I32,
    eval: |args| args[0],
    expand: None,
    fast: None,
    special: None,
};

#[test]
fn a_chip_says_how_large_its_builtins_get() {
    let abi = support::abi();
    let most = |value| abi.most(value);
    assert_eq!([Builtin::Tid(0), Builtin::Tid(1), Builtin::Tid(2)].map(most), [511, 511, 63]);
    assert_eq!([Builtin::LaneId, Builtin::WarpId, Builtin::LinearTid].map(most), [31, 15, 511]);
    assert_eq!([Builtin::Ctaid(0), Builtin::Nctaid(0), Builtin::Ctaid(2)].map(most), [65534, 65535, 0]);
}

/// Runs a launch of every shape that starts lanes without threads, and looks whether a builtin is larger than is said.
#[test]
fn no_lane_has_more_than_that() {
    let body = "
    slot s0: i32 x = tid.x
    slot s1: i32 y = tid.y
    slot s2: i32 z = tid.z
block0 at 0x0 insts 1:
    leave.exit -> block0
";
    let mut kernel = image(body);
    let most: Vec<u64> = (0..3).map(|axis| kernel.abi.most(Builtin::Tid(axis))).collect();
    kernel.abi.full_warps = true;
    let program = Program::from_image(kernel).expect("a program");
    let engine = support::engine(warpjit_runtime::Tier::Interp, 1);
    for block in [[1, 1, 1], [31, 1, 1], [1, 31, 1], [1, 1, 31], [7, 3, 1], [1, 7, 3], [5, 1, 5], [2, 1, 9]] {
        let launch = Launch::default().grid([1; 3]).block(block).capture_registers(true);
        let memory = engine.memory().expect("memory");
        let report = engine.run(&program, &memory, &launch).expect("runs");
        for (name, most) in ["x", "y", "z"].iter().zip(&most) {
            assert!(report.registers[*name].iter().all(|value| value <= most), "{block:?} {name}");
        }
    }
}

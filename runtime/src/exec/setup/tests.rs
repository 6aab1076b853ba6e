//! Tests of how launches are checked and set up.

use super::banks::CONST_BANKS;
use super::*;
use crate::{Arg, ConstPart};
use warpjit_ir::{Form, KernelAbi, ParamSpace, SlotInit, Type};

fn abi() -> KernelAbi {
    let header = |offset, value| HeaderField { space: Space::Shared, offset, bytes: 2, value };
    KernelAbi {
        warp_lanes: 32,
        full_warps: false,
        header: vec![
            header(2, Builtin::Ntid(0)),
            header(8, Builtin::Nctaid(0)),
            header(12, Builtin::Ctaid(0)),
        ],
        params: ParamSpace { space: Space::Shared, offset: 16, max_bytes: 256, pointer_bytes: 4 },
        segments: Vec::new(),
        max_grid: [65535, 65535, 1],
        max_block: [512, 512, 64],
        max_threads: 512,
        max_registers: 128,
        max_shared_bytes: 16384,
        max_local_bytes: 16384,
        barriers: 16,
    }
}

fn function() -> Function {
    let mut function = Function::new("k", Form::Spmd, 32);
    for (name, ty) in [("r1", Type::I32), ("c0.z", Type::MASK), ("c0.s", Type::MASK)] {
        function.add_slot(name, ty, SlotInit::Zero);
    }
    function.add_slot("c0.c", Type::MASK, SlotInit::Zero);
    function.add_slot("c0.o", Type::MASK, SlotInit::Zero);
    function
}

fn launch() -> Launch {
    Launch { grid: [3, 2, 1], block: [20, 3, 1], ..Launch::default() }
}

fn needs(abi: &KernelAbi) -> Needs<'_> {
    Needs {
        name: "k",
        abi,
        registers: 16,
        shared_bytes: 40,
        local_bytes: 0,
        params: None,
        consts: &[],
        compiler_bank: Some(1),
        aliases: &[],
        known_user_data: &[],
    }
}

fn plan(change: impl FnOnce(&mut Launch, &mut Needs<'_>)) -> Result<Plan, Error> {
    let abi = abi();
    let mut needs = needs(&abi);
    let mut launch = launch();
    change(&mut launch, &mut needs);
    Plan::new(&needs, &function(), &launch, None)
}

fn refusal(change: impl FnOnce(&mut Launch, &mut Needs<'_>)) -> String {
    plan(change).expect_err("refused").to_string()
}

#[test]
fn blocks_and_lanes() {
    let plan = plan(|_, _| ()).unwrap();
    assert_eq!((plan.threads, plan.warps, plan.blocks.clone()), (60, 2, 0..6));
    assert_eq!(plan.coordinates(4), [1, 1, 0]);
    assert_eq!((plan.lane_mask(0), plan.lane_mask(1)), (0xffff_ffff, (1 << 28) - 1));
    let tid = |axis| plan.builtin(Builtin::Tid(axis), 0, 1, 9);
    assert_eq!([tid(0), tid(1), tid(2)], [1, 2, 0]);
    assert_eq!(plan.builtin(Builtin::LinearTid, 0, 1, 9), 41);
    assert_eq!(plan.builtin(Builtin::Ctaid(1), 4, 0, 0), 1);
}

#[test]
fn coordinates_are_quotients_and_remainders() {
    for block in [[1, 1, 1], [7, 1, 1], [1, 7, 1], [1, 1, 7], [5, 3, 2], [1, 4, 3], [4, 1, 3], [8, 8, 1]] {
        let plan = plan(|launch, _| launch.block = block).unwrap();
        let [x, y, _] = block;
        for thread in 0..plan.threads {
            let of = |axis| plan.builtin(Builtin::Tid(axis), 0, thread / plan.lanes, thread % plan.lanes);
            assert_eq!([0, 1, 2].map(of), [thread % x, thread / x % y, thread / (x * y)], "{block:?}");
        }
    }
}

#[test]
fn header_and_arguments() {
    let plan = plan(|launch, _| {
        launch.args = vec![
            Arg::u32(7),
            Arg { bytes: vec![5, 6], align: 2, shared: None },
            Arg::u64(0x0102_0304_0506_0708),
        ];
        launch.dynamic_shared = 10;
    })
    .unwrap();
    assert_eq!(plan.shared.len(), 50);
    let mut shared = vec![0xee; 50];
    plan.init_shared(4, &mut shared);
    assert_eq!(shared[..16], [0, 0, 20, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(shared[16..32], [7, 0, 0, 0, 5, 6, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1]);
    assert!(shared[32..].iter().all(|&byte| byte == 0));
}

#[test]
fn consts_are_padded_and_overridden() {
    let parts: Vec<ConstPart> = [(1, 0, vec![1, 2]), (0, 2, vec![3, 4]), (1, 4, vec![5])]
        .map(|(bank, offset, bytes)| ConstPart { bank, offset, bytes: bytes.into() })
        .into();
    let abi = abi();
    let needs = Needs { consts: &parts, ..needs(&abi) };
    let consts = vec![(0, vec![9, 9, 9]), (1, vec![8, 8, 8, 8, 8, 8])];
    let plan = Plan::new(&needs, &function(), &Launch { consts, ..launch() }, None).unwrap();
    assert_eq!(plan.consts.len(), CONST_BANKS);
    assert!(plan.consts.iter().all(|bank| bank.bytes().len() == CONST_BYTES + SLACK_BYTES));
    assert_eq!(plan.consts[0].bytes()[..5], [9, 9, 9, 4, 0]);
    assert_eq!(plan.consts[1].bytes()[..7], [1, 2, 8, 8, 5, 8, 0], "the compiler's own bank");
}

#[test]
fn named_registers() {
    let plan = plan(|launch, _| launch.registers = vec![("r1".into(), vec![5]), ("c0".into(), vec![0b1010])]);
    let slots = plan.unwrap().slots;
    let values: Vec<(u32, u64)> = slots.iter().map(|(slot, values)| (slot.0, values[0])).collect();
    assert_eq!(values, [(0, 5), (1, 0), (2, 1), (3, 0), (4, 1)]);
    let text =
        |name: &str, values: Vec<u64>| refusal(|launch, _| launch.registers = vec![(name.into(), values)]);
    assert_eq!(text("r9", vec![1]), "launch: register r9: the program has no such register");
    assert_eq!(text("r1", vec![1 << 32]), "launch: register r1: 0x100000000 has more than 32 bits");
    assert_eq!(text("r1", vec![1, 2]), "launch: register r1: 2 values, needs one or one a lane (32)");
    assert_eq!(text("c0", vec![16]), "launch: register c0: 0x10 has more than 4 bits");
}

#[test]
fn refuses_bad_shapes() {
    assert_eq!(
        refusal(|launch, _| launch.grid = [0, 1, 1]),
        "launch: grid [0, 1, 1]: 0 blocks along x, allowed are 1 to 65535"
    );
    assert_eq!(
        refusal(|launch, _| launch.grid = [1, 1, 2]),
        "launch: grid [1, 1, 2]: 2 blocks along z, allowed are 1 to 1"
    );
    assert_eq!(
        refusal(|launch, _| launch.block = [1, 0, 1]),
        "launch: block [1, 0, 1]: 0 threads along y, allowed are 1 to 512"
    );
    assert_eq!(
        refusal(|launch, _| launch.block = [512, 2, 1]),
        "launch: block [512, 2, 1] has 1024 threads, the chip allows 512"
    );
    assert_eq!(refusal(|launch, _| launch.blocks = Some(5..7)), "launch: blocks 5..7 of a grid of 6");
    #[expect(clippy::reversed_empty_ranges, reason = "what a caller may pass by mistake")]
    let backwards = 3..2;
    assert_eq!(refusal(|launch, _| launch.blocks = Some(backwards)), "launch: blocks 3..2 of a grid of 6");
}

#[test]
fn refuses_what_the_chip_has_not() {
    assert_eq!(
        refusal(|_, needs| needs.registers = 129),
        "launch: k needs 129 registers of a thread, the chip has 128"
    );
    assert_eq!(
        refusal(|launch, _| launch.dynamic_shared = 16384),
        "launch: k needs 16424 bytes of shared memory, the chip has 16384"
    );
    assert_eq!(
        refusal(|_, needs| needs.local_bytes = 70000),
        "launch: k needs 70000 bytes of local memory a thread, the chip has 16384"
    );
    assert_eq!(
        refusal(|launch, _| launch.consts = vec![(1, vec![0; 65537])]),
        "launch: const bank c1[]: 65537 bytes, largest is 65536"
    );
    assert_eq!(
        refusal(|launch, _| launch.consts = vec![(18, vec![])]),
        "launch: const bank c18[]: there are 18, 0 to 17"
    );
}

#[test]
fn refuses_bad_arguments() {
    assert_eq!(
        refusal(|launch, _| launch.args = vec![Arg::u64(0); 33]),
        "launch: arguments take 264 bytes, there is room for 256"
    );
    const PARAMS: &[(u32, u32)] = &[(0, 4), (8, 8)];
    let text = |args: Vec<Arg>| {
        refusal(|launch, needs| {
            needs.params = Some(PARAMS);
            launch.args = args;
        })
    };
    assert_eq!(text(vec![Arg::u32(0)]), "launch: too few arguments: k takes 2, these are 1");
    assert_eq!(text(vec![Arg::u32(0); 3]), "launch: too many arguments: k takes 2, these are 3");
    assert_eq!(text(vec![Arg::u32(0); 2]), "launch: argument 1 has 4 bytes, k takes 8 there");
    let placed = plan(|launch, needs| {
        needs.params = Some(PARAMS);
        launch.args = vec![Arg::u32(1), Arg::u64(2)];
    });
    assert_eq!(placed.unwrap().shared[16..26], [1, 0, 0, 0, 0, 0, 0, 0, 2, 0]);
    // A structure lies where the layout says, whatever its alignment; without one it is aligned.
    let structure = |params: Option<&'static [(u32, u32)]>| {
        let planned = plan(|launch, needs| {
            needs.params = params;
            launch.args = vec![Arg::bytes([9], 1), Arg::u32s(&[1, 2])];
        });
        planned.unwrap().shared[16..28].to_vec()
    };
    assert_eq!(structure(Some(&[(0, 1), (2, 8)])), [9, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0]);
    assert_eq!(structure(None), [9, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(
        refusal(|launch, _| launch.args = vec![Arg { bytes: vec![0; 4], align: 3, shared: None }]),
        "launch: argument 0: alignment 3 is not a power of two up to 64"
    );
}

//! Bytes that are no saved launch, or one that cannot be: made from a right one, with the digest made right again.

use super::format::{HEAD, VERSION, seal};
use super::*;
use crate::SaveToken;
use crate::{Engine, KernelImage, Tier};
use warpjit_frontend::CodeMap;
use warpjit_ir::{Builtin, HeaderField, ParamSpace, Segment, SegmentSize, Space};

/// Lanes leave a loop one after the other, each with what it has put into shared, local and its warp's memory; with a bounded
/// register, a 64-bit one, a mask, and a barrier.
const BODY: &str = "
    slot s0: i32 tid = tid.x
    slot s1: i32 bid = ctaid.x
    slot s2: i32 turn
    slot s3: i32 index umax 0xff
    slot s4: i64 wide
    slot s5: mask odd
    slot s6: ui32 scalar
    slot s7: ui32 mine = segment 0
block0 at 0x0 insts 2:
    v0: i32 = slot.get s0
    v1: i32 = const 255
    v2: i32 = iand v0, v1
    slot.set s3, v2
    v3: i64 = zext v2
    slot.set s4, v3
    v4: i32 = const 1
    v5: i32 = iand v0, v4
    v6: mask = icmp eq v5, v4
    slot.set s5, v6
    push.break block3 -> block1
block1 at 0x10 insts 4:
    v30: i32 = slot.get s2
    v31: i32 = const 1
    v32: i32 = iadd v30, v31
    slot.set s2, v32
    v33: ui32 = slot.get s6
    v34: ui32 = const 3
    v35: ui32 = iadd v33, v34
    slot.set s6, v35
    v36: i32 = slot.get s3
    v37: i32 = const 2
    v38: i32 = ishl v36, v37
    v39: i32 = load.u32 shared[v38 + 0x20] align 4
    v40: i32 = iadd v39, v32
    store.u32 shared[v38 + 0x20], v40 align 4
    v41: i32 = const 0
    v42: i32 = load.u32 local[v41 + 0x4] align 4
    v43: i32 = iadd v42, v40
    store.u32 local[v41 + 0x4], v43 align 4
    v44: i32 = slot.get s0
    v45: i32 = const 7
    v46: i32 = iand v44, v45
    v47: mask = icmp ult v46, v32
    v48: ui32 = slot.get s7
    v49: i32 = splat v48
    store.u32 global0[v49 + 0x20000], v32 align 4
    leave.break if v47 -> block2
block2 at 0x30 insts 1:
    jump block1
block3 at 0x38 insts 1:
    barrier 0 arrive wait -> block4
block4 at 0x40 insts 8:
    v120: i32 = slot.get s0
    v121: i32 = slot.get s1
    v122: i32 = const 6
    v123: i32 = ishl v121, v122
    v124: i32 = iadd v123, v120
    v125: i32 = const 2
    v126: i32 = ishl v124, v125
    v127: i32 = const 0
    v128: i32 = load.u32 local[v127 + 0x4] align 4
    v129: i64 = slot.get s4
    v130: i32 = trunc v129
    v131: i32 = iadd v128, v130
    v132: mask = slot.get s5
    v133: i32 = select v132, v131, v128
    v134: ui32 = slot.get s6
    v135: i32 = splat v134
    v136: i32 = iadd v133, v135
    v137: ui32 = slot.get s7
    v138: i32 = splat v137
    v139: i32 = load.u32 global0[v138 + 0x20000] align 4
    v140: i32 = iadd v136, v139
    store.u32 global0[v126 + 0x10000], v140 align 4
    leave.exit -> block4
";

fn program() -> Program {
    program_of(BODY, false)
}

/// A program of that code. `full_warps`: all lanes of a warp are active, also those without threads.
fn program_of(body: &str, full_warps: bool) -> Program {
    let text = format!("function @test spmd lanes 32 {{\n{body}\n}}\n");
    let function = warpjit_ir::text::parse_function(&text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let size = SegmentSize::PerWarp(64);
    let segment = Segment { name: "scratch", address: 0x2_0000, size, writable: true, contents: Vec::new() };
    let field = HeaderField { space: Space::Shared, offset: 2, bytes: 2, value: Builtin::Ctaid(0) };
    let abi = warpjit_ir::KernelAbi {
        warp_lanes: 32,
        full_warps,
        header: vec![field],
        params: ParamSpace { space: Space::Shared, offset: 16, max_bytes: 16, pointer_bytes: 4 },
        segments: vec![segment],
        max_grid: [64, 1, 1],
        max_block: [64, 1, 1],
        max_threads: 64,
        max_registers: 16,
        max_shared_bytes: 1024,
        max_local_bytes: 64,
        barriers: 4,
    };
    let image = KernelImage {
        shared_bytes: 512,
        local_bytes: 8,
        ..KernelImage::bare(CodeMap::default(), function, abi, |_| 8)
    };
    Program::from_image(image).expect("a program")
}

const OUT: u64 = 0x1_0000;
const OUT_BYTES: usize = 3 * 64 * 4;

fn engine(tier: Tier) -> Engine {
    Engine::new(Config { tier, threads: 1, ..Config::default() }).expect("an engine")
}

fn launch() -> Launch {
    Launch { grid: [3, 1, 1], block: [50, 1, 1], ..Launch::default() }
}

fn memory() -> Memory {
    let memory = Memory::new().expect("memory");
    memory.map(Some(OUT), OUT_BYTES as u64, Access::ReadWrite).expect("free");
    memory
}

fn left(memory: &Memory) -> Vec<u8> {
    let mut bytes = vec![0; OUT_BYTES];
    memory.read(OUT, &mut bytes).expect("mapped");
    bytes
}

/// What the launch leaves, and its state after some regions.
fn saved(program: &Program, regions: u64) -> Box<SavedLaunch> {
    let launch = Launch { save: Some(SaveToken::after(regions)), ..launch() };
    let report = engine(Tier::Interp).run(program, &memory(), &launch).expect("runs");
    report.saved.expect("is not at its end yet")
}

/// Continues whatever the bytes say. Guests may do anything then but run for ever.
fn go_on(engine: &Engine, program: &Program, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let saved = SavedLaunch::from_bytes(bytes)?;
    let memory = memory();
    // A loop that starts far from its end ends by itself: all counters are of 32 bits. This ends it sooner.
    let launch = Launch { save: Some(SaveToken::after(400)), ..launch() };
    let report = engine.resume(program, &memory, &launch, &saved)?;
    if let Some(saved) = report.saved {
        // What is made of it can be continued, too.
        let again = SavedLaunch::from_bytes(&saved.to_bytes()).expect("just written");
        let launch = Launch { save: Some(SaveToken::after(20)), ..launch };
        engine.resume(program, &memory, &launch, &again).expect("of this launch");
    }
    Ok(left(&memory))
}

#[test]
fn all_that_is_saved_comes_back() {
    let program = program();
    let whole = memory();
    engine(Tier::Interp).run(&program, &whole, &launch()).expect("runs");
    for regions in 1..120 {
        let memory = memory();
        let launch = Launch { save: Some(SaveToken::after(regions)), ..launch() };
        let report = engine(Tier::Interp).run(&program, &memory, &launch).expect("runs");
        let Some(saved) = report.saved else {
            assert!(regions > 60, "the launch is longer than {regions} regions");
            break;
        };
        let read = SavedLaunch::from_bytes(&saved.to_bytes()).expect("just written");
        assert_eq!(read, *saved);
        let bytes = saved.to_bytes_with(&memory).expect("mapped");
        for tier in [Tier::Interp, Tier::Jit] {
            let read = SavedLaunch::from_bytes(&bytes).expect("just written");
            read.restore_memory(&memory).expect("the same");
            let launch = Launch { save: None, ..launch.clone() };
            let report = engine(tier).resume(&program, &memory, &launch, &read).expect("fits");
            assert!(report.fault.is_none() && report.saved.is_none());
            assert!(left(&memory) == left(&whole), "{regions} regions, {tier:?}");
        }
    }
}

/// Must not be asked.
struct Registers;

impl crate::Device for Registers {
    fn load(&self, _: u64, _: u8) -> u64 {
        panic!("a device was read")
    }

    fn store(&self, _: u64, _: u8, _: u64) {
        panic!("a device was written")
    }
}

#[test]
fn devices_are_not_saved() {
    let program = program();
    let saved = saved(&program, 30);
    let memory = memory();
    let device = memory.map_device(None, 4096, std::sync::Arc::new(Registers)).expect("room");
    let read = SavedLaunch::from_bytes(&saved.to_bytes_with(&memory).expect("mapped")).expect("just written");
    let other = Memory::new().expect("addresses");
    read.restore_memory(&other).expect("the same");
    let without = memory.buffers().filter(|&(at, ..)| at != device);
    assert!(other.buffers().eq(without));
    memory.map(None, 16, Access::None).expect("room");
    assert!(saved.to_bytes_with(&memory).is_err());
}

#[test]
fn foreign_and_cut_bytes_are_refused() {
    let (program, engine) = (program(), engine(Tier::Jit));
    let bytes = saved(&program, 30).to_bytes();
    assert!(go_on(&engine, &program, &bytes).is_ok());
    for length in 0..bytes.len() {
        let result = SavedLaunch::from_bytes(&bytes[..length]);
        assert!(matches!(result, Err(Error::State(_))), "{length} bytes");
        if length >= HEAD {
            let result = SavedLaunch::from_bytes(&seal(&bytes[HEAD..length]));
            assert!(matches!(result, Err(Error::State(_))), "{length} bytes, sealed");
        }
    }
    assert!(SavedLaunch::from_bytes(&seal(&[&bytes[HEAD..], &[0]].concat())).is_err(), "longer");
    for at in 0..bytes.len() {
        let mut wrong = bytes.clone();
        wrong[at] ^= 1 << (at % 8);
        assert!(SavedLaunch::from_bytes(&wrong).is_err(), "byte {at}");
    }
    let mut other = bytes.clone();
    other[8] = VERSION as u8 + 1;
    let error = SavedLaunch::from_bytes(&other).expect_err("another version").to_string();
    assert_eq!(error, "saved launch: its format has version 2, known is 1");
}

/// Every byte of a state is changed in some ways and made to look right. That is an error, or another state that ends or goes on.
#[test]
fn made_up_states_harm_nothing() {
    let program = program();
    let engines = [engine(Tier::Interp), engine(Tier::Jit)];
    let (mut refused, mut accepted) = (0, 0);
    // In the midst of the loop; and where a warp waits at the barrier.
    for regions in [9, 20] {
        let bytes = saved(&program, regions).to_bytes();
        for at in HEAD..bytes.len() {
            for (way, change) in [1, 0x80, 0xff].into_iter().enumerate() {
                let mut rest = bytes[HEAD..].to_vec();
                rest[at - HEAD] ^= change;
                match go_on(&engines[(at + way) % 2], &program, &seal(&rest)) {
                    Ok(_) => accepted += 1,
                    Err(Error::State(_)) => refused += 1,
                    Err(other) => panic!("byte {at}: {other}"),
                }
            }
        }
    }
    // Identity, sizes, indices; and the contents of registers and memory.
    assert!(refused > 300 && accepted > 1000, "{refused} refused, {accepted} accepted");
}

#[test]
fn a_state_is_of_one_program_and_launch() {
    let (program, engine) = (program(), engine(Tier::Interp));
    let saved = saved(&program, 20);
    let mut image = program.image().clone();
    image.function.slots[2].name = "other".into();
    let other = Program::from_image(image).expect("a program");
    let error = |program: &Program, launch: Launch| {
        engine.resume(program, &memory(), &launch, &saved).expect_err("another").to_string()
    };
    assert_eq!(error(&other, launch()), "saved launch: it is of another program");
    let others = [
        Launch { grid: [4, 1, 1], ..launch() },
        Launch { block: [51, 1, 1], ..launch() },
        Launch { dynamic_shared: 4, ..launch() },
        Launch { max_steps: 1000, ..launch() },
        Launch { blocks: Some(0..2), ..launch() },
        Launch { consts: vec![(1, vec![1])], ..launch() },
        Launch { shared: vec![1], ..launch() },
    ];
    for other in others {
        assert_eq!(error(&program, other), "saved launch: it is of another launch of this program");
    }
    // The memory of a launch that is refused is free for the next.
    let same = memory();
    assert!(engine.resume(&other, &same, &launch(), &saved).is_err());
    assert!(engine.resume(&program, &same, &launch(), &saved).is_ok());
}

#[test]
fn a_state_without_memory_restores_none() {
    let program = program();
    let error = saved(&program, 20).restore_memory(&memory()).expect_err("it has none").to_string();
    assert_eq!(error, "saved launch: it has no guest memory");
}

/// A wave: scalars decide its branches, so its lanes never part.
const WAVE: &str = "
    slot s0: ui32 turn
    slot s1: i32 tid = tid.x
    slot s2: i32 bid = ctaid.x
block0 at 0x0 insts 2:
    v0: ui32 = slot.get s0
    v1: ui32 = const 1
    v2: ui32 = iadd v0, v1
    slot.set s0, v2
    v3: ui32 = const 50
    v4: ui1 = icmp ult v2, v3
    branch v4, block1, block2
block1 at 0x10 insts 1:
    barrier 0 arrive wait -> block0
block2 at 0x20 insts 2:
    v5: i32 = slot.get s1
    v6: i32 = const 2
    v7: i32 = ishl v5, v6
    v8: ui32 = slot.get s0
    v9: i32 = splat v8
    v10: i32 = slot.get s2
    v11: i32 = const 8
    v12: i32 = ishl v10, v11
    v13: i32 = iadd v7, v12
    store.u32 global0[v13 + 0x10000], v9 align 4
    leave.exit -> block2
";

/// Code for waves takes it as known that all lanes are active. Where some have ended, the interpreter runs the wave.
#[test]
fn waves_of_which_lanes_have_ended_go_on_without_them() {
    let program = program_of(WAVE, true);
    let right = saved(&program, 20);
    let running = right.state.blocks.iter().position(|block| !block.warps[0].state.ended);
    let block = running.expect("a block that runs");
    let first = right.state.blocks[block].warps[0].state.block;
    for lanes in [1, 0x7fff_ffff, u32::MAX, 0x8000_0000] {
        let mut saved = SavedLaunch { of: right.of, state: right.state.clone(), memory: None };
        let state = &mut saved.state.blocks[block].warps[0].state;
        (state.active, state.exited) = (lanes.into(), (!lanes).into());
        assert_eq!(state.block, first);
        let [interpreted, compiled] = [Tier::Interp, Tier::Jit].map(|tier| {
            let memory = memory();
            let report = engine(tier).resume(&program, &memory, &launch(), &saved).expect("a state");
            assert!(report.fault.is_none() && report.saved.is_none());
            left(&memory)
        });
        assert!(interpreted == compiled, "{lanes:#x}");
        // Each lane stores what it has counted, at its own place, unless it has ended.
        let first = saved.state.blocks[block].index as usize * 64;
        for (lane, word) in interpreted.as_chunks::<4>().0[first..][..32].iter().enumerate() {
            assert_eq!(u32::from_le_bytes(*word), 50 * (lanes >> lane & 1), "{lanes:#x}, lane {lane}");
        }
    }
}

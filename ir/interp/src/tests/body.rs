//! Tests of block bodies: slots, memory, cross-lane operations, instruction counts.

use super::*;
use warpjit_ir_core::function::{BlockCall, Imm, LeaveKind, Terminator};
use warpjit_ir_core::opcodes::{Group, IntCC, MemAccess, Opcode};
use warpjit_ir_core::{Builder, PureFn, Scalar, Value};

const ALL: u64 = 0xffff_ffff;

/// One block and its code; the closure gets mask slots p and integer slots r.
struct Body {
    func: Function,
    p: [Slot; 3],
    r: [Slot; 3],
}

impl Body {
    fn new(build: impl FnOnce(&mut Builder, [Slot; 3], [Slot; 3])) -> Body {
        let (mut func, p, r) = function();
        let block = func.add_block(0);
        let mut b = Builder::new(&mut func, block);
        build(&mut b, p, r);
        b.terminate(Terminator::Leave { kind: LeaveKind::Exit, cond: None, next: block });
        let pcs: std::collections::BTreeSet<u32> = func.insts.iter().map(|i| i.pc).collect();
        func.block_mut(block).guest_insts = pcs.len() as u32;
        Body { func, p, r }
    }

    /// A warp with r0 = lane, r1 = 0, r2 = 1000 + lane, and the masks.
    fn start(&self, launched: u64, masks: [u64; 3]) -> (Code, Warp) {
        let code = code(&self.func);
        let masks: Vec<_> = self.p.into_iter().zip(masks).collect();
        let mut warp = warp(&self.func, &code, launched, &masks);
        let (offsets, _) = self.func.frame_layout();
        for lane in 0..32 {
            warp.frame.write(offsets[self.r[0].index()], Scalar::I32, lane, u64::from(lane));
            warp.frame.write(offsets[self.r[2].index()], Scalar::I32, lane, 1000 + u64::from(lane));
        }
        (code, warp)
    }

    fn run(&self, launched: u64, masks: [u64; 3], memory: &mut Flat) -> (Flow, Warp) {
        let (code, mut warp) = self.start(launched, masks);
        let flow = code.run_block(&mut Scratch::new(&code), &mut warp, memory);
        (flow, warp)
    }

    /// Lanes of r1 after a run without fault.
    fn r1(&self, launched: u64, masks: [u64; 3]) -> Vec<u64> {
        let (flow, warp) = self.run(launched, masks, &mut Flat::new());
        assert_eq!(flow, Flow::Ended);
        lanes(&self.func, &warp, self.r[1])
    }
}

fn access(space: Space, bytes: u8) -> MemAccess {
    MemAccess { space, bytes, signed: false, offset: 0, align: bytes, far: false, align_offset: 0 }
}

const GLOBAL: Space = Space::Global(14);

/// BASE + scale * value.
fn at(b: &mut Builder, value: Value, scale: u32) -> Value {
    let (base, scale) = (b.i32(BASE as u32), b.i32(scale));
    let offset = b.imul(value, scale);
    b.iadd(base, offset)
}

#[test]
fn slot_set_writes_active_lanes_only() {
    let body = Body::new(|b, _, r| {
        let seven = b.i32(7);
        let seven = b.splat(seven);
        b.set(r[1], seven);
    });
    for mask in [0x0000_00f0, 0x8000_0001, ALL] {
        let want: Vec<_> = (0..32).map(|l| if mask >> l & 1 != 0 { 7 } else { 0 }).collect();
        assert_eq!(body.r1(mask, [0; 3]), want);
    }
}

/// Addresses of shared memory wrap at 2^16, but for far ones.
#[test]
fn far_addresses_do_not_wrap() {
    for far in [false, true] {
        let body = Body::new(|b, _, r| {
            let near = MemAccess { far, ..access(Space::Shared, 4) };
            let mem = MemAccess { offset: 0xfff0, ..near };
            let seven = b.i32(7);
            let sixteen = b.i32(16);
            b.store(near, sixteen, seven, None);
            let thirty_two = b.i32(32);
            let loaded = b.load(mem, thirty_two, None);
            b.set(r[1], loaded);
        });
        let want = if far { 0 } else { 7 };
        assert_eq!(body.r1(ALL, [0; 3])[5], want);
    }
}

#[test]
fn slots_of_every_type() {
    let mut func = Function::new("test", Form::Spmd, 64);
    let slots: Vec<_> = Scalar::ALL
        .iter()
        .flat_map(|&s| [Type::varying(s), Type::uniform(s)])
        .map(|ty| (func.add_slot("a", ty, SlotInit::Zero), func.add_slot("b", ty, SlotInit::Zero)))
        .collect();
    let block = func.add_block(0);
    let mut b = Builder::new(&mut func, block);
    for &(from, to) in &slots {
        let v = b.get(from);
        b.set(to, v);
    }
    b.terminate(Terminator::Jump(block.into()));
    let code = code(&func);
    let (offsets, _) = func.frame_layout();
    let active = 0xffff_0000_ffff_00ff;
    for active in [active, u64::MAX] {
        let mut warp = Warp::new(&code, active, |_, _| 0);
        let value = |slot: Slot, lane: u32| {
            (0x0123_4567_89ab_cdef * u64::from(lane + 1) + u64::from(slot.0))
                & func.slots[slot.index()].ty.scalar.bit_mask()
        };
        for &(from, _) in &slots {
            let scalar = func.slots[from.index()].ty.scalar;
            (0..64).for_each(|l| warp.frame.write(offsets[from.index()], scalar, l, value(from, l)));
        }
        assert_eq!(code.run_block(&mut Scratch::new(&code), &mut warp, &mut Flat::new()), Flow::Next);
        for &(from, to) in &slots {
            let ty = func.slots[to.index()].ty;
            if ty.uniform {
                assert_eq!(warp.frame.read(offsets[to.index()], ty.scalar, 0), value(from, 0));
                continue;
            }
            for lane in 0..64 {
                let want = if active >> lane & 1 != 0 { value(from, lane) } else { 0 };
                assert_eq!(warp.frame.read(offsets[to.index()], ty.scalar, lane), want, "{ty} {lane}");
                if ty.scalar == Scalar::I1 {
                    let word = warp.frame.words()[offsets[to.index()] as usize / 4 + lane as usize];
                    assert_eq!(word, (want as u32).wrapping_neg());
                }
            }
        }
    }
}

#[test]
fn loads_and_stores() {
    let body = Body::new(|b, _, r| {
        let lane = b.get(r[0]);
        let value = b.get(r[2]);
        let address = at(b, lane, 4);
        b.store(access(GLOBAL, 4), address, value, None);
        let loaded = b.load(MemAccess { offset: 4, ..access(GLOBAL, 4) }, address, None);
        b.set(r[1], loaded);
    });
    let mut memory = Flat::new();
    let (flow, warp) = body.run(0b1111, [0; 3], &mut memory);
    assert_eq!(flow, Flow::Ended);
    assert_eq!(lanes(&body.func, &warp, body.r[1])[..5], [1001, 1002, 1003, 0, 0]);
    assert_eq!(memory.word(BASE + 12), 1003);
    assert_eq!(memory.log, [(0, BASE), (1, BASE + 4), (2, BASE + 8), (3, BASE + 12)]);
}

#[test]
fn guards_and_inactive_lanes_load_zero() {
    let body = Body::new(|b, p, r| {
        let guard = b.get(p[0]);
        let address = b.get(r[0]);
        // Lanes outside the guard would fault: their addresses are not mapped.
        let base = b.i32(BASE as u32);
        let mapped = b.iadd(base, address);
        let address = b.select(guard, mapped, address);
        let loaded = b.load(MemAccess { align: 1, ..access(GLOBAL, 4) }, address, Some(guard));
        let one = b.i32(1);
        let sum = b.iadd(loaded, one);
        b.store(MemAccess { offset: 64, ..access(GLOBAL, 1) }, address, sum, Some(guard));
        b.set(r[1], sum);
    });
    let mut memory = Flat::new();
    memory.global[4] = 9;
    let (flow, warp) = body.run(0xff, [0xffff_ff10, 0, 0], &mut memory);
    assert_eq!(flow, Flow::Ended);
    assert_eq!(lanes(&body.func, &warp, body.r[1])[..9], [1, 1, 1, 1, 10, 1, 1, 1, 0]);
    assert_eq!(memory.log, [(4, BASE + 68), (5, BASE + 69), (6, BASE + 70), (7, BASE + 71)][..1]);
}

#[test]
fn narrow_and_wide_accesses() {
    for (bytes, signed, want) in [
        (1, false, 0xf1),
        (1, true, 0xffff_fff1),
        (2, false, 0xf2f1),
        (2, true, 0xffff_f2f1),
        (4, false, 0xf4f3_f2f1),
        (8, false, 0xf8f7_f6f5_f4f3_f2f1),
    ] {
        let body = Body::new(|b, _, r| {
            let zero = b.get(r[1]);
            let address = at(b, zero, 1);
            let mem = MemAccess { signed, ..access(GLOBAL, bytes) };
            let loaded = b.load(mem, address, None);
            b.store(MemAccess { offset: 16, ..access(GLOBAL, 8) }, address, loaded, None);
            b.store(MemAccess { offset: 32, ..access(GLOBAL, bytes) }, address, loaded, None);
        });
        let mut memory = Flat::new();
        (0..8).for_each(|i| memory.global[i] = 0xf1 + i as u8);
        assert_eq!(body.run(1, [0; 3], &mut memory).0, Flow::Ended);
        assert_eq!(memory.load(GLOBAL, 0, BASE + 16, 8), Ok(want), "{bytes} {signed}");
        let narrow = want & if bytes == 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 };
        assert_eq!(memory.load(GLOBAL, 0, BASE + 32, 8), Ok(narrow), "{bytes} {signed}");
    }
}

#[test]
fn addresses_wrap_as_their_space_does() {
    let body = Body::new(|b, _, r| {
        let low = b.i32(4);
        let mem = |space, offset| MemAccess { offset, ..access(space, 4) };
        // 4 + 0x10000 is 4 in const memory; 4 - 8 is far beyond shared memory and gives zero.
        let c = b.load(mem(Space::Const(0), 0x1_0000), low, None);
        let s = b.load(mem(Space::Shared, -8), low, None);
        let sum = b.iadd(c, s);
        // Modulo 2^32.
        let high = b.i32(0xffff_fffc);
        let g = b.load(mem(GLOBAL, BASE as i32 + 4), high, None);
        let sum = b.iadd(sum, g);
        // 64-bit addresses do not wrap there.
        let wide = b.i64(BASE.wrapping_sub(1 << 32));
        let w = b.load(mem(GLOBAL, 0), wide, None);
        let sum = b.iadd(sum, w);
        b.set(r[1], sum);
    });
    let mut memory = Flat::new();
    memory.global[0] = 1;
    let (flow, _) = body.run(1, [0; 3], &mut memory);
    let fault = fault(flow);
    assert_eq!((fault.kind, fault.address), (FaultKind::Memory, Some(BASE.wrapping_sub(1 << 32))));
    // The words before it came through.
    let body = Body::new(|b, _, r| {
        let (low, high) = (b.i32(4), b.i32(0xffff_fffc));
        let mem = |space, offset| MemAccess { offset, ..access(space, 4) };
        let c = b.load(mem(Space::Const(0), 0x1_0000), low, None);
        let g = b.load(mem(GLOBAL, BASE as i32 + 4), high, None);
        let sum = b.iadd(c, g);
        b.set(r[1], sum);
    });
    let (_, warp) = body.run(1, [0; 3], &mut memory);
    assert_eq!(lanes(&body.func, &warp, body.r[1])[0], 0x0706_0504 + 1);
}

#[test]
fn local_memory_is_the_lanes_own() {
    let body = Body::new(|b, _, r| {
        let (lane, four) = (b.get(r[0]), b.i32(4));
        b.store(access(Space::Local, 4), four, lane, None);
        let back = b.load(access(Space::Local, 4), four, None);
        b.set(r[1], back);
    });
    assert_eq!(body.r1(ALL, [0; 3]), (0..32).collect::<Vec<_>>());
}

#[test]
fn highest_lane_wins_a_store() {
    let body = Body::new(|b, _, r| {
        let (lane, zero) = (b.get(r[0]), b.i32(8));
        b.store(access(Space::Shared, 4), zero, lane, None);
        let back = b.load(access(Space::Shared, 4), zero, None);
        b.set(r[1], back);
    });
    assert_eq!(body.r1(0x0000_fff0, [0; 3])[4..16], [15; 12]);
}

#[test]
fn faults_name_the_lowest_lane() {
    // Lane l accesses BASE + r1(l).
    let body = |store: bool, align: u8, align_offset: u8| {
        Body::new(move |b, _, r| {
            b.pc = 8;
            let offset = b.get(r[1]);
            let address = at(b, offset, 1);
            b.pc = 16;
            let mem = MemAccess { align, far: false, align_offset, ..access(GLOBAL, 4) };
            if store {
                b.store(mem, address, offset, None);
            } else {
                let v = b.load(mem, address, None);
                b.set(r[2], v);
            }
        })
    };
    let run = |body: &Body, offsets: &[u64], launched| {
        let (code, mut warp) = body.start(launched, [0; 3]);
        let (at, _) = body.func.frame_layout();
        for (lane, &v) in (0..).zip(offsets) {
            warp.frame.write(at[body.r[1].index()], Scalar::I32, lane, v);
        }
        let mut memory = Flat::new();
        let flow = code.run_block(&mut Scratch::new(&code), &mut warp, &mut memory);
        (flow, warp, memory)
    };
    let load = body(false, 4, 0);
    let (flow, warp, _) = run(&load, &[0, 4, 0x2000, 2, 0x3000], 0xff);
    let want = Fault {
        kind: FaultKind::Memory,
        pc: 16,
        lane: 2,
        address: Some(BASE + 0x2000),
        space: Some(GLOBAL),
        store: false,
    };
    assert_eq!(flow, Flow::Fault(want));
    // One instruction came before; it is counted, the faulting one is not.
    assert_eq!((warp.steps, warp.thread_steps, warp.block), (1, 8, Block(0)));
    // Lane 3's misalignment comes first if lane 2 is not active; an inactive lane's address does not matter.
    assert_eq!(
        run(&load, &[0, 4, 0x2000, 2, 0x3000], 0xfb).0,
        Flow::Fault(Fault { lane: 3, address: Some(BASE + 2), ..want })
    );
    assert_eq!(
        run(&load, &[0, 4, 0x2000, 2, 0x3000], 0xf3).0,
        Flow::Fault(Fault { lane: 4, address: Some(BASE + 0x3000), ..want })
    );
    // Read-only memory refuses stores; lanes below have stored.
    let store = body(true, 4, 0);
    let (flow, _, memory) = run(&store, &[0, 4, 0x1000, 8], 0xff);
    assert_eq!(flow, Flow::Fault(Fault { lane: 2, address: Some(BASE + 0x1000), store: true, ..want }));
    assert_eq!(memory.log, [(0, BASE), (1, BASE + 4)]);
    let (flow, _, memory) = run(&store, &[0, 4, 8, 13, 0x1000], 0xff);
    assert_eq!(flow, Flow::Fault(Fault { lane: 3, address: Some(BASE + 13), store: true, ..want }));
    assert_eq!(memory.log, [(0, BASE), (1, BASE + 4), (2, BASE + 8)]);
    // The second word of a 16-byte access: 4 over a multiple of 16.
    let part = body(false, 16, 4);
    assert_eq!(run(&part, &[4, 20, 36], 0x7).0, Flow::Ended);
    assert_eq!(
        run(&part, &[4, 24, 36], 0x7).0,
        Flow::Fault(Fault { lane: 1, address: Some(BASE + 24), ..want })
    );
}

#[test]
fn atomics_run_from_the_lowest_lane() {
    let body = Body::new(|b, p, r| {
        let (guard, lane, zero) = (b.get(p[0]), b.get(r[0]), b.i32(BASE as u32));
        let old = b.atomic(access(GLOBAL, 4), AtomicOp::Add, zero, lane, None, Some(guard));
        b.set(r[1], old);
    });
    let mut memory = Flat::new();
    memory.global[0] = 100;
    let (flow, warp) = body.run(0xff, [0xffff_ff36, 0, 0], &mut memory);
    assert_eq!(flow, Flow::Ended);
    assert_eq!(lanes(&body.func, &warp, body.r[1])[..9], [0, 100, 101, 0, 103, 107, 0, 0, 0]);
    assert_eq!(memory.word(BASE), 112);
    // Compare and swap: of all lanes that expect 0, the lowest wins.
    let body = Body::new(|b, _, r| {
        let (zero, lane, address) = (b.i32(0), b.get(r[2]), b.i32(BASE as u32));
        let old = b.atomic(access(GLOBAL, 4), AtomicOp::Cas, address, zero, Some(lane), None);
        b.set(r[1], old);
    });
    let mut memory = Flat::new();
    let (_, warp) = body.run(0b1110, [0; 3], &mut memory);
    assert_eq!(lanes(&body.func, &warp, body.r[1])[..4], [0, 0, 1001, 1001]);
    // A fault leaves the lanes below done.
    let body = Body::new(|b, _, r| {
        let lane = b.get(r[0]);
        let address = at(b, lane, 0x400);
        let one = b.i32(1);
        b.atomic(access(GLOBAL, 4), AtomicOp::Add, address, one, None, None);
    });
    let mut memory = Flat::new();
    let fault = fault(body.run(0xff, [0; 3], &mut memory).0);
    assert_eq!((fault.lane, fault.address, fault.store), (4, Some(BASE + 0x1000), true));
    assert_eq!(memory.log.len(), 4);
}

#[test]
fn locks() {
    let body = Body::new(|b, p, r| {
        let address = b.i32(8);
        let got = b.push(Opcode::Lock, &[address], Imm::Mem(access(Space::Shared, 4)), Some(Type::MASK));
        let got = got.expect("result");
        b.set(p[0], got);
        let lane = b.get(r[2]);
        let mem = access(Space::Shared, 4);
        b.push(Opcode::UnlockStore, &[address, lane, got], Imm::Mem(mem), None);
    });
    let mut memory = Flat::new();
    let (flow, warp) = body.run(0b1100, [0; 3], &mut memory);
    assert_eq!(flow, Flow::Ended);
    assert_eq!(lanes(&body.func, &warp, body.p[0])[..5], [0, 0, 1, 0, 0]);
    assert!(memory.locks.is_empty());
    assert_eq!(memory.load(Space::Shared, 0, 8, 4), Ok(1002));
}

#[test]
fn votes_look_at_active_lanes() {
    let body = Body::new(|b, p, r| {
        let v = b.get(p[0]);
        let any = b.convert(Opcode::VoteAny, v, Scalar::I1);
        let all = b.convert(Opcode::VoteAll, v, Scalar::I1);
        let ballot = b.convert(Opcode::Ballot, v, Scalar::I64);
        b.set(p[1], any);
        b.set(p[2], all);
        let low = b.convert(Opcode::Trunc, ballot, Scalar::I32);
        b.set(r[1], low);
        let some = b.push(Opcode::Any, &[v], Imm::None, Some(Type::uniform(Scalar::I1))).expect("result");
        let ones = b.convert(Opcode::Bmask, some, Scalar::I32);
        b.set(r[2], ones);
        let active = b.push(Opcode::ActiveMask, &[], Imm::None, Some(Type::MASK)).expect("result");
        b.set(p[0], active);
    });
    for (votes, any, all) in [(0xffff_ff00, 0, 0), (0x0f0, 1, 0), (0x0ff, 1, 1)] {
        let (_, warp) = body.run(0x3c, [votes, 0, 0], &mut Flat::new());
        let first = |slot| lanes(&body.func, &warp, slot)[2];
        assert_eq!((first(body.p[1]), first(body.p[2])), (any, all), "{votes:x}");
        assert_eq!(first(body.r[1]), votes & 0x3c);
        assert_eq!(first(body.r[2]), if any != 0 { ALL } else { 0 });
        assert_eq!(warpjit_ir_core::eval::pack(&lanes(&body.func, &warp, body.p[0])), votes & !0x3c | 0x3c);
    }
}

#[test]
fn lanes_are_read_active_or_not() {
    let body = Body::new(|b, _, r| {
        let lane = b.get(r[2]);
        let one = b.i32(1);
        // Pure operations count for inactive lanes too.
        let next = b.iadd(lane, one);
        let quad = b.same(Opcode::QuadLane, &[next], Imm::Bits(3));
        b.set(r[1], quad);
    });
    assert_eq!(body.r1(0x0011, [0; 3])[..6], [1004, 0, 0, 0, 1008, 0]);
    static DOUBLE: PureFn = PureFn {
        name: "test.double",
        params: &[Scalar::I32],
        result: Scalar::I32,
        eval: |a| a[0] * 2,
        expand: None,
        fast: None,
        special: None,
    };
    let body = Body::new(|b, _, r| {
        let (value, lane) = (b.get(r[2]), b.get(r[0]));
        let value = b.call_pure(&DOUBLE, &[value]);
        let (five, all) = (b.i32(5), b.i32(0xffff_ffe0));
        let index = b.iadd(lane, five);
        let index = b.ior(index, all);
        let other = b.push(Opcode::Shuffle, &[value, index], Imm::None, Some(Type::I32)).expect("result");
        b.set(r[1], other);
    });
    let got = body.r1(0x8000_0011, [0; 3]);
    assert_eq!([got[0], got[1], got[4], got[31]], [2010, 0, 2018, 2008]);
}

#[test]
fn clock_goes_on() {
    let body = Body::new(|b, _, r| {
        b.pc = 0;
        let first = b.push(Opcode::Clock, &[], Imm::None, Some(Type::I32)).expect("result");
        b.pc = 8;
        let second = b.push(Opcode::Clock, &[], Imm::None, Some(Type::I32)).expect("result");
        let passed = b.isub(second, first);
        b.set(r[1], passed);
        b.set(r[2], second);
    });
    let (code, mut warp) = body.start(1, [0; 3]);
    warp.steps = u64::from(u32::MAX);
    let _ = code.run_block(&mut Scratch::new(&code), &mut warp, &mut Flat::new());
    assert_eq!(lanes(&body.func, &warp, body.r[1])[0], 1);
    assert_eq!(lanes(&body.func, &warp, body.r[2])[0], 0);
}

#[test]
fn values_live_from_block_to_block_lane_by_lane() {
    // A value of block 0 and a parameter of block 3, across a divergent branch that gives each side its argument.
    let (mut func, p, r) = function();
    let blocks: Vec<_> = (0..4).map(|n| func.add_block(8 * n)).collect();
    let param = func.add_param(blocks[3], Type::I32);
    let mut b = Builder::new(&mut func, blocks[0]);
    let (cond, lane) = (b.get(p[0]), b.get(r[0]));
    let hundred = b.i32(100);
    let doubled = b.iadd(lane, lane);
    let more = b.iadd(lane, hundred);
    let (taken, next) =
        (BlockCall { block: blocks[3], args: vec![more] }, BlockCall { block: blocks[1], args: vec![] });
    b.terminate(Terminator::Branch { cond, taken, next });
    b.switch_to(blocks[1]);
    b.terminate(Terminator::Jump(BlockCall { block: blocks[3], args: vec![doubled] }));
    b.switch_to(blocks[2]);
    b.terminate(Terminator::Jump(blocks[2].into()));
    b.switch_to(blocks[3]);
    let sum = b.iadd(param, hundred);
    let sum = b.iadd(sum, doubled);
    b.set(r[1], sum);
    b.terminate(Terminator::Leave { kind: LeaveKind::Exit, cond: None, next: blocks[2] });
    let code = code(&func);
    let mut warp = warp(&func, &code, 0xf, &[(p[0], 0b0101)]);
    let (offsets, _) = func.frame_layout();
    (0..4).for_each(|l| warp.frame.write(offsets[r[0].index()], Scalar::I32, l, u64::from(l)));
    let (trace, flow) = run(&code, &mut warp, &mut Flat::new());
    assert_eq!((trace, flow), (vec![(0, 0xf), (3, 0x5), (1, 0xa), (3, 0xa)], Flow::Ended));
    // Taken: l + 100 + 100 + 2l; the rest: 2l + 100 + 2l.
    assert_eq!(lanes(&func, &warp, r[1])[..5], [200, 104, 206, 112, 0]);
}

#[test]
fn counts_and_stops_exactly() {
    // Three instructions a round, at pc 0, 16 and 24 (the jump).
    let (mut func, _, r) = function();
    let block = func.add_block(0);
    let mut b = Builder::new(&mut func, block);
    for pc in [0, 16] {
        b.pc = pc;
        let (v, one) = (b.get(r[1]), b.i32(1));
        let v = b.iadd(v, one);
        b.set(r[1], v);
    }
    b.pc = 24;
    b.terminate(Terminator::Jump(block.into()));
    func.block_mut(block).guest_insts = 3;
    let code = code(&func);
    for (limit, pc, adds) in [(1, 16, 1), (2, 24, 2), (3, 0, 2), (7, 16, 5), (300, 0, 200)] {
        let mut warp = warp(&func, &code, 0b11, &[]);
        let mut scratch = Scratch::new(&code);
        scratch.max_steps = limit;
        let fault = loop {
            if let Flow::Fault(fault) = code.run_block(&mut scratch, &mut warp, &mut Flat::new()) {
                break fault;
            }
        };
        assert_eq!((fault.kind, fault.pc, fault.lane), (FaultKind::Timeout, pc, 0), "{limit}");
        assert_eq!((warp.steps, warp.thread_steps), (limit, 2 * limit));
        assert_eq!(lanes(&func, &warp, r[1])[..3], [adds, adds, 0], "{limit}");
    }
}

/// An instruction that is cut: the second block's first store is of the one at 16, which the first block counts.
#[test]
fn what_has_begun_ends_and_does_not_count_where_it_faults() {
    let (mut func, _, r) = function();
    let blocks = [0, 16].map(|pc| func.add_block(pc));
    let mut b = Builder::new(&mut func, blocks[0]);
    let store = |b: &mut Builder, pc: u32, place: u64| {
        b.pc = pc;
        let (place, value) = (b.i32(place as u32), b.get(r[0]));
        b.store(access(GLOBAL, 4), place, value, None);
    };
    store(&mut b, 8, BASE);
    store(&mut b, 16, BASE + 4);
    b.terminate(Terminator::Jump(blocks[1].into()));
    b.switch_to(blocks[1]);
    store(&mut b, 16, BASE + 8);
    store(&mut b, 24, BASE + 12);
    b.terminate(Terminator::Leave { kind: LeaveKind::Exit, cond: None, next: blocks[1] });
    for (block, counted) in blocks.into_iter().zip([vec![8, 16], vec![24]]) {
        func.block_mut(block).guest_insts = counted.len() as u32;
        func.block_mut(block).counted.0 = counted;
    }
    let run = |func: &Function, limit: u64| {
        let code = code(func);
        let mut warp = warp(func, &code, 0b11, &[]);
        let mut scratch = Scratch::new(&code);
        scratch.max_steps = limit;
        let (offsets, _) = func.frame_layout();
        (0..2).for_each(|lane| warp.frame.write(offsets[r[0].index()], Scalar::I32, lane, 7));
        let mut memory = Flat::new();
        let flow = loop {
            match code.run_block(&mut scratch, &mut warp, &mut memory) {
                Flow::Next => {}
                flow => break flow,
            }
        };
        let words = [0, 4, 8, 12].map(|at| memory.load(GLOBAL, 0, BASE + at, 4).unwrap());
        (flow, warp.steps, warp.thread_steps, words)
    };
    let stops = |limit| match run(&func, limit) {
        (Flow::Fault(fault), steps, threads, words) => {
            assert_eq!((fault.kind, steps, threads), (FaultKind::Timeout, limit, 2 * limit));
            (fault.pc, words)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(stops(1), (16, [7, 0, 0, 0]));
    assert_eq!(stops(2), (24, [7, 7, 7, 0]));
    assert_eq!(run(&func, 3), (Flow::Ended, 3, 6, [7; 4]));
    // The second half faults: the first block has counted what is not executed.
    let place = func.insts.iter().position(|i| i.imm == Imm::Bits(BASE + 8)).unwrap();
    func.insts[place].imm = Imm::Bits(BASE + 0x2000);
    let (flow, steps, threads, _) = run(&func, 0);
    assert!(matches!(flow, Flow::Fault(Fault { kind: FaultKind::Memory, pc: 16, .. })), "{flow:?}");
    assert_eq!((steps, threads), (1, 2));
    // So does a terminator of such an instruction.
    func.insts[place].imm = Imm::Bits(BASE + 8);
    func.block_mut(blocks[1]).insts.truncate(3);
    func.block_mut(blocks[1]).term = Some(Terminator::Fault(warpjit_ir_core::GuestFault::Illegal));
    (func.block_mut(blocks[1]).term_pc, func.block_mut(blocks[1]).guest_insts) = (16, 0);
    func.block_mut(blocks[1]).counted.0.clear();
    let (flow, steps, threads, words) = run(&func, 0);
    assert!(matches!(flow, Flow::Fault(Fault { kind: FaultKind::Illegal, pc: 16, .. })), "{flow:?}");
    assert_eq!((steps, threads, words), (1, 2, [7, 7, 7, 0]));
}

/// An instruction that stores two words, the first of which lane 5 may not, the second lane 2: nothing is stored behind the first fault.
#[test]
fn the_lowest_lane_of_all_words_faults() {
    let body = Body::new(|b, _, r| {
        b.pc = 8;
        let (place, value) = (b.get(r[1]), b.get(r[0]));
        b.store(access(GLOBAL, 4), place, value, None);
        let (four, ten) = (b.i32(4), b.i32(10));
        let next = b.iadd(place, four);
        let more = b.iadd(value, ten);
        b.store(access(GLOBAL, 4), next, more, None);
    });
    let (code, mut warp) = body.start(0xff, [0; 3]);
    let (offsets, _) = body.func.frame_layout();
    let place = |lane: u64| match lane {
        5 => BASE + 0x2000,
        2 => BASE + 0xffc,
        _ => BASE + 8 * lane,
    };
    (0..8).for_each(|lane| {
        warp.frame.write(offsets[body.r[1].index()], Scalar::I32, lane, place(lane.into()));
    });
    let mut memory = Flat::new();
    let flow = code.run_block(&mut Scratch::new(&code), &mut warp, &mut memory);
    let Flow::Fault(fault) = flow else { panic!("{flow:?}") };
    assert_eq!((fault.lane, fault.address, fault.pc), (2, Some(BASE + 0x1000), 8));
    let words = [0, 4, 8, 12, 24, 28].map(|at| memory.load(GLOBAL, 0, BASE + at, 4).unwrap());
    assert_eq!(words, [0, 0, 1, 0, 3, 0]);
}

#[test]
fn a_program_that_ends_in_time_does_not_time_out() {
    let body = Body::new(|b, _, r| {
        let v = b.get(r[0]);
        b.set(r[1], v);
    });
    let (code, mut warp) = body.start(1, [0; 3]);
    let mut scratch = Scratch::new(&code);
    scratch.max_steps = 1;
    assert_eq!(code.run_block(&mut scratch, &mut warp, &mut Flat::new()), Flow::Ended);
    assert_eq!(warp.steps, 1);
}

#[test]
fn statistics() {
    let body = Body::new(|b, p, r| {
        let (v, lane) = (b.get(p[0]), b.get(r[0]));
        b.pc = 8;
        let f = b.bitcast(lane, Scalar::F32);
        let f = b.float(Opcode::Fadd, &[f, f], true);
        let f = b.bitcast(f, Scalar::I32);
        let f = b.select(v, f, lane);
        b.set(r[1], f);
        b.pc = 16;
        let address = at(b, lane, 8);
        let w = b.load(access(GLOBAL, 8), address, Some(v));
        b.pc = 24;
        let zero = b.i32(0);
        b.store(access(Space::Shared, 8), zero, w, None);
        b.pc = 32;
        b.atomic(access(GLOBAL, 4), AtomicOp::Add, address, lane, None, None);
        b.pc = 40;
        let c = b.icmp(IntCC::Eq, lane, zero);
        b.set(p[1], c);
        // The terminator: an exit under a condition.
        b.pc = 48;
    });
    let (code, mut warp) = body.start(0xff, [0x0f, 0, 0]);
    let mut scratch = Scratch::new(&code);
    scratch.stats = Some(Box::default());
    let flow = code.run_block(&mut scratch, &mut warp, &mut Flat::new());
    assert_eq!(flow, Flow::Ended);
    let stats = *scratch.stats.expect("asked for");
    let count = |g| stats.groups[Stats::group_index(g)];
    assert_eq!((count(Group::Float), count(Group::Memory), count(Group::Atomic)), (1, 2, 1));
    assert_eq!(count(Group::Int), 1);
    assert_eq!(stats.traffic, [(4 * 8 + 8 * 4, 8 * 4), (0, 8 * 8), (0, 0), (0, 0)]);
    for (i, group) in Stats::GROUPS.into_iter().enumerate() {
        assert_eq!(Stats::group_index(group), i);
    }
    // Up to a fault: the load at the third instruction is not mapped.
    let (code, mut warp) = body.start(0xff, [ALL; 3]);
    let (offsets, _) = body.func.frame_layout();
    warp.frame.write(offsets[body.r[0].index()], Scalar::I32, 3, 0x1_0000);
    let mut scratch = Scratch::new(&code);
    scratch.stats = Some(Box::default());
    let stop = fault(code.run_block(&mut scratch, &mut warp, &mut Flat::new()));
    assert_eq!((stop.pc, stop.lane, warp.steps), (16, 3, 2));
    let partial = scratch.stats.expect("asked for");
    assert_eq!(partial.groups.iter().sum::<u64>(), 2);
    assert_eq!(partial.groups[Stats::group_index(Group::Float)], 1);
    let mut twice = stats;
    twice.add(&stats);
    assert_eq!(twice.groups[0], 2 * stats.groups[0]);
    assert_eq!(twice.traffic[1], (0, 128));
}

#[test]
fn invalid_functions_are_refused() {
    let (mut func, _, r) = function();
    let block = func.add_block(0);
    assert_eq!(Code::new(&func).err(), Some(InvalidCode::BadTerminator { block }));
    func.block_mut(block).term = Some(Terminator::Jump(Block(7).into()));
    assert_eq!(Code::new(&func).err(), Some(InvalidCode::BadTerminator { block }));
    func.block_mut(block).term = Some(Terminator::Jump(block.into()));
    assert!(Code::new(&func).is_ok());
    let mut b = Builder::new(&mut func, block);
    let v = b.get(r[0]);
    b.push(Opcode::Fadd, &[v, v], Imm::None, Some(Type::I32));
    assert!(matches!(Code::new(&func), Err(InvalidCode::IllTyped { op: "fadd", .. })));
    func.block_mut(block).insts.reverse();
    assert!(matches!(Code::new(&func), Err(InvalidCode::Undefined { .. })));
}

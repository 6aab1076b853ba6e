//! Notes of lane counts: what the interpreter counts for them, and what their sums in slots are.

use warpjit_ir::function::{Form, Function, LeaveKind, SlotInit, Terminator};
use warpjit_ir::interp::{self, Code, Flow, Scratch, Stats, Warp, WarpMemory};
use warpjit_ir::lane_counts::{LaneCount, LaneCounts, add_slots, expand, insert};
use warpjit_ir::text::parse_function;
use warpjit_ir::{Builder, Scalar, Type};

/// No instruction here accesses memory.
struct Nothing;

impl WarpMemory for Nothing {
    fn load(&mut self, _: warpjit_ir::Space, _: u32, _: u64, _: u8) -> Result<u64, interp::Denied> {
        Err(interp::Denied)
    }

    fn store(&mut self, _: warpjit_ir::Space, _: u32, _: u64, _: u8, _: u64) -> Result<(), interp::Denied> {
        Err(interp::Denied)
    }

    fn lock(&mut self, _: u32, _: u64) -> bool {
        false
    }

    fn unlock_store(&mut self, _: u32, _: u64, _: u32) {}
}

/// Five instructions, two of them for the lanes in EXEC at first, one for the lower half, two for none; all lanes are active.
fn function() -> Function {
    let mut func = Function::new("test", Form::Spmd, 64);
    let exec = func.add_slot("exec", Type::MASK, SlotInit::Zero);
    func.lane_mask = Some(exec);
    let own = func.add_slot("lane", Type::I32, SlotInit::Builtin(warpjit_ir::Builtin::LaneId));
    let block = func.add_block(0);
    let mut b = Builder::new(&mut func, block);
    let (lane, half) = (b.get(own), b.i32(32));
    b.pc = 16;
    let lower = b.icmp(warpjit_ir::IntCC::Ult, lane, half);
    b.set(exec, lower);
    b.pc = 32;
    b.terminate(Terminator::Leave { kind: LeaveKind::Exit, cond: None, next: block });
    let data = func.block_mut(block);
    data.guest_insts = 5;
    let at = data.insts.len();
    data.lane_counts = LaneCounts(vec![
        LaneCount { at: 2, lanes: None, pcs: vec![0, 8] },
        LaneCount { at, lanes: Some(lower), pcs: vec![24] },
    ]);
    func
}

fn run(func: &Function, exec: u64) -> (Code, Warp) {
    let code = Code::new(func).expect("valid");
    let mut warp = Warp::new(&code, u64::MAX, |builtin, lane| match builtin {
        warpjit_ir::Builtin::LaneId => lane,
        _ => 0,
    });
    let place = func.frame_layout().0[0];
    (0..64).for_each(|lane| warp.frame.write(place, Scalar::I1, lane, exec >> lane & 1));
    let mut scratch = Scratch::new(&code);
    scratch.stats = Some(Box::<Stats>::default());
    assert_eq!(code.run_block(&mut scratch, &mut warp, &mut Nothing), Flow::Ended);
    (code, warp)
}

#[test]
fn notes_are_counted_by_the_interpreter_and_as_sums_in_slots() {
    let plain = function();
    let mut noted = plain.clone();
    insert(&mut noted);
    let printed = noted.to_string();
    assert_eq!(printed.matches("count_lanes").count(), 2, "{printed}");
    assert_eq!(parse_function(&printed, &[]).map(|func| func.to_string()).as_deref(), Ok(&*printed));
    for exec in [0, 1, 0xff00_0000_0000_00ff, u64::MAX] {
        let lanes = 2 * u64::from(exec.count_ones()) + 32;
        let (_, mut warp) = run(&noted, exec);
        assert_eq!(warp.take_lanes(), (lanes, 3 * 64), "{exec:x}");
        let mut summed = noted.clone();
        let slots = add_slots(&mut summed);
        expand(&mut summed, slots);
        let (_, warp) = run(&summed, exec);
        let [own, all] = slots.map(|slot| summed.frame_layout().0[slot.index()]);
        let sum: u64 = (0..64).map(|lane| warp.frame.read(own, Scalar::I32, lane)).sum();
        assert_eq!((sum, warp.frame.read(all, Scalar::I32, 0)), (lanes, 3), "{exec:x}");
    }
}

/// Whether somebody notes is no part of what a function is.
#[test]
fn notes_change_nothing() {
    let mut other = function();
    other.block_mut(warpjit_ir::Block::new(0)).lane_counts.0.clear();
    assert_eq!(function(), other);
    assert_eq!(function().to_string(), other.to_string());
}

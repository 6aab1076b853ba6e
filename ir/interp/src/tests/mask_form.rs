//! Tests of the interpreter on functions in mask form.

use super::*;
use warpjit_ir_core::function::{BlockCall, Imm, Terminator};
use warpjit_ir_core::opcodes::{IntCC, MemAccess, Opcode};
use warpjit_ir_core::{Builder, Scalar};

#[test]
fn a_loop_under_a_mask() {
    // r1 counts r0's value down; lanes leave the loop one by one; exit 3 with those of entry that ran at all.
    let mut func = Function::new("region", Form::Mask, 32);
    let r0 = func.add_slot("r0", Type::I32, SlotInit::Zero);
    let r1 = func.add_slot("r1", Type::I32, SlotInit::Zero);
    let [entry, head, body, done] = [0, 8, 16, 24].map(|pc| func.add_block(pc));
    let mask = func.add_param(head, Type::MASK);
    let left = func.add_param(head, Type::I32);
    let rounds = func.add_param(head, Type::I32);
    let mut b = Builder::new(&mut func, entry);
    let active = b.push(Opcode::ActiveMask, &[], Imm::None, Some(Type::MASK)).expect("result");
    let (start, zero, one) = (b.get(r0), b.i32(0), b.i32(1));
    let zeros = b.splat(zero);
    b.terminate(Terminator::Jump(BlockCall { block: head, args: vec![active, start, zeros] }));
    b.switch_to(head);
    let more = b.icmp(IntCC::Ne, left, zero);
    let run = b.iand(mask, more);
    b.terminate(Terminator::BrAny { mask: run, taken: body.into(), next: done.into() });
    b.switch_to(body);
    let less = b.isub(left, one);
    let count = b.iadd(rounds, one);
    let (less, count) = (b.select(run, less, left), b.select(run, count, rounds));
    // Parallel: the parameters of `head` change places with themselves only.
    b.terminate(Terminator::Jump(BlockCall { block: head, args: vec![run, less, count] }));
    b.switch_to(done);
    b.push(Opcode::SlotSet, &[rounds, active], Imm::Slot(r1), None);
    let none = b.icmp(IntCC::Eq, rounds, zero);
    b.terminate(Terminator::Return { exit: 3, exited: Some(active), cond: Some(none) });

    let code = code(&func);
    let mut frame = Frame::new(code.frame_bytes());
    for lane in 0..32 {
        frame.write(0, Scalar::I32, lane, u64::from(lane % 5));
    }
    let mut scratch = Scratch::new(&code);
    let exit = run_mask_function(&code, &mut scratch, &mut frame, 0x7e, &mut Flat::new());
    let got: Vec<_> = (0..9).map(|l| frame.read(128, Scalar::I32, l)).collect();
    assert_eq!(got, [0, 1, 2, 3, 4, 0, 1, 0, 0]);
    let want = MaskExit { exit: 3, exited: 0x7e, cond: Some(!0b101_1110 & 0xffff_ffff) };
    assert_eq!(exit, Ok(want));
    // Six blocks are too few.
    scratch.max_steps = 6;
    let stop = run_mask_function(&code, &mut scratch, &mut frame, 0x7e, &mut Flat::new());
    assert_eq!(stop.map_err(|f| f.kind), Err(FaultKind::Timeout));
}

#[test]
fn edges_copy_in_parallel_and_uniform_branches_take_one_way() {
    let mut func = Function::new("region", Form::Mask, 32);
    let r0 = func.add_slot("r0", Type::I32, SlotInit::Zero);
    let [entry, swap, done] = [0, 8, 16].map(|pc| func.add_block(pc));
    let params = [Type::I32, Type::I32, Type::uniform(Scalar::I32)].map(|ty| func.add_param(swap, ty));
    let [x, y, n] = params;
    let mut b = Builder::new(&mut func, entry);
    let (one, two, three) = (b.i32(1), b.i32(2), b.i32(3));
    let (sx, sy) = (b.splat(one), b.splat(two));
    b.terminate(Terminator::Jump(BlockCall { block: swap, args: vec![sx, sy, three] }));
    b.switch_to(swap);
    let m = b.isub(n, one);
    let zero = b.i32(0);
    let again = b.icmp(IntCC::Ne, m, zero);
    let taken = BlockCall { block: swap, args: vec![y, x, m] };
    b.terminate(Terminator::BrIf { cond: again, taken, next: done.into() });
    b.switch_to(done);
    let ten = b.i32(10);
    let high = b.imul(x, ten);
    let both = b.iadd(high, y);
    b.set(r0, both);
    b.terminate(Terminator::Return { exit: 0, exited: None, cond: None });
    let code = code(&func);
    let mut frame = Frame::new(code.frame_bytes());
    let exit = run_mask_function(&code, &mut Scratch::new(&code), &mut frame, 0x0f, &mut Flat::new());
    assert_eq!(exit, Ok(MaskExit { exit: 0, exited: 0, cond: None }));
    // Swapped twice; without a mask all lanes that entered are written.
    assert_eq!(frame.words()[..6], [12, 12, 12, 12, 0, 0]);
}

#[test]
fn effects_happen_under_the_mask_they_name() {
    let mut func = Function::new("region", Form::Mask, 32);
    let p = func.add_slot("p", Type::MASK, SlotInit::Zero);
    let r = func.add_slot("r", Type::I32, SlotInit::Zero);
    let entry = func.add_block(0);
    let mut b = Builder::new(&mut func, entry);
    let (mask, base) = (b.get(p), b.i32(BASE as u32));
    let value = b.get(r);
    let mem = MemAccess {
        space: Space::Global(0),
        bytes: 4,
        signed: false,
        offset: 0,
        align: 4,
        far: false,
        align_offset: 0,
    };
    b.store(mem, base, value, Some(mask));
    let back = b.load(mem, base, Some(mask));
    b.set(r, back);
    b.terminate(Terminator::Return { exit: 0, exited: None, cond: None });
    let code = code(&func);
    let mut frame = Frame::new(code.frame_bytes());
    for lane in 0..32 {
        frame.write(0, Scalar::I1, lane, u64::from(lane == 2 || lane == 5));
        frame.write(128, Scalar::I32, lane, u64::from(lane));
    }
    let mut memory = Flat::new();
    let exit = run_mask_function(&code, &mut Scratch::new(&code), &mut frame, u64::MAX, &mut memory);
    assert!(exit.is_ok());
    assert_eq!(memory.log, [(2, BASE), (5, BASE)]);
    assert_eq!(frame.words()[32..40], [0, 0, 5, 0, 0, 5, 0, 0]);
    // SPMD functions are not for this.
    let (mut func, ..) = function();
    let block = func.add_block(40);
    func.block_mut(block).term = Some(Terminator::QuadOn { next: block });
    let code = super::code(&func);
    let mut frame = Frame::new(code.frame_bytes());
    let exit = run_mask_function(&code, &mut Scratch::new(&code), &mut frame, 1, &mut memory);
    assert_eq!(exit.map_err(|f| (f.kind, f.pc)), Err((FaultKind::Illegal, 40)));
}

//! Tests of the divergence stack: one test for each rule of docs/hardware/divergence.md.

use super::*;
use warpjit_ir_core::Builder;
use warpjit_ir_core::function::{GuestFault, LeaveKind, PushKind, Terminator};

/// A function of blocks that hold a terminator only; block n stands at pc 8n. The condition of a terminator is made of
/// mask slot `p`.
struct Graph {
    func: Function,
    p: [Slot; 3],
    r: [Slot; 3],
}

type Cond = Option<usize>;

impl Graph {
    fn new(blocks: u32) -> Graph {
        let (mut func, p, r) = function();
        for n in 0..blocks {
            let block = func.add_block(8 * n);
            func.block_at.insert(8 * n, block);
        }
        Graph { func, p, r }
    }

    fn end(
        &mut self,
        block: u32,
        cond: Cond,
        term: impl FnOnce(Option<warpjit_ir_core::Value>) -> Terminator,
    ) -> &mut Graph {
        let slot = cond.map(|p| self.p[p]);
        let mut b = Builder::new(&mut self.func, Block(block));
        let value = slot.map(|slot| b.get(slot));
        b.terminate(term(value));
        self.func.block_mut(Block(block)).guest_insts = 1;
        self
    }

    fn jump(&mut self, at: u32, to: u32) -> &mut Graph {
        self.end(at, None, |_| Terminator::Jump(Block(to).into()))
    }

    fn branch(&mut self, at: u32, p: usize, taken: u32, next: u32) -> &mut Graph {
        let (taken, next) = (Block(taken).into(), Block(next).into());
        self.end(at, Some(p), |c| Terminator::Branch { cond: c.expect("condition"), taken, next })
    }

    fn push(&mut self, at: u32, kind: PushKind, target: u32, next: u32) -> &mut Graph {
        self.end(at, None, |_| Terminator::Push { kind, target: Block(target), next: Block(next) })
    }

    fn call(&mut self, at: u32, target: u32, ret: u32) -> &mut Graph {
        self.end(at, None, |_| Terminator::Call { target: Block(target), ret: Block(ret) })
    }

    fn leave(&mut self, at: u32, kind: LeaveKind, cond: Cond, next: u32) -> &mut Graph {
        self.end(at, cond, |cond| Terminator::Leave { kind, cond, next: Block(next) })
    }

    fn exit(&mut self, at: u32) -> &mut Graph {
        self.leave(at, LeaveKind::Exit, None, at)
    }

    /// Tesla's.
    fn join(&mut self, at: u32, next: u32) -> &mut Graph {
        self.end(at, None, |cond| Terminator::Join { cond, next: Block(next), at_target: false })
    }

    /// Fermi's.
    fn join_at_target(&mut self, at: u32, cond: Cond, next: u32) -> &mut Graph {
        self.end(at, cond, |cond| Terminator::Join { cond, next: Block(next), at_target: true })
    }

    fn run(&self, launched: u64, masks: [u64; 3]) -> (Vec<(u32, u64)>, Flow, Warp) {
        let code = code(&self.func);
        let masks: Vec<_> = self.p.into_iter().zip(masks).collect();
        let mut warp = warp(&self.func, &code, launched, &masks);
        let (trace, flow) = run(&code, &mut warp, &mut Flat::new());
        (trace, flow, warp)
    }

    /// Runs to the end of the warp.
    #[track_caller]
    fn expect(&self, launched: u64, masks: [u64; 3], want: &[(u32, u64)]) -> Warp {
        let (trace, flow, warp) = self.run(launched, masks);
        assert_eq!(trace, want, "{trace:x?}");
        assert_eq!(flow, Flow::Ended);
        assert!(warp.ended && warp.active == 0 && warp.stack.is_empty());
        warp
    }

    #[track_caller]
    fn faults(&self, launched: u64, masks: [u64; 3], kind: FaultKind, block: u32, lane: u32) -> Warp {
        let (trace, flow, warp) = self.run(launched, masks);
        let fault = fault(flow);
        assert_eq!((fault.kind, fault.pc, fault.lane), (kind, 8 * block, lane));
        // The warp stands before the instruction, which does not count.
        assert_eq!(warp.block, Block(block));
        assert_eq!(warp.steps, trace.len() as u64 - 1);
        warp
    }
}

#[test]
fn branch() {
    let mut g = Graph::new(3);
    g.branch(0, 0, 1, 2).exit(1).exit(2);
    // All, none (lanes outside the mask do not matter), some: the taken side first.
    g.expect(0xff, [0xff, 0, 0], &[(0, 0xff), (1, 0xff)]);
    g.expect(0xff, [0xff00, 0, 0], &[(0, 0xff), (2, 0xff)]);
    let warp = g.expect(0xff, [0x1f0f, 0, 0], &[(0, 0xff), (1, 0x0f), (2, 0xf0)]);
    assert_eq!(warp.exited, 0xffff_ffff);
    assert_eq!((warp.steps, warp.thread_steps), (3, 16));
}

#[test]
fn join_of_tesla_goes_on_behind_the_instruction() {
    let mut g = Graph::new(6);
    // The entry's target is the joining block 3.
    g.push(0, PushKind::Join, 3, 1).branch(1, 0, 2, 3).jump(2, 3).join(3, 4).exit(4);
    g.jump(5, 5);
    g.expect(0xff, [0x0f, 0, 0], &[(0, 0xff), (1, 0xff), (2, 0x0f), (3, 0x0f), (3, 0xf0), (4, 0xff)]);
    g.expect(0xff, [0, 0, 0], &[(0, 0xff), (1, 0xff), (3, 0xff), (4, 0xff)]);
}

#[test]
fn nested_joins() {
    let mut g = Graph::new(8);
    g.push(0, PushKind::Join, 6, 1).branch(1, 0, 2, 6);
    g.push(2, PushKind::Join, 5, 3).branch(3, 1, 4, 5).jump(4, 5).join(5, 6).join(6, 7).exit(7);
    g.expect(
        0xff,
        [0x0f, 0x33, 0],
        &[
            (0, 0xff),
            (1, 0xff),
            (2, 0x0f),
            (3, 0x0f),
            (4, 0x03),
            (5, 0x03),
            (5, 0x0c),
            (6, 0x0f),
            (6, 0xf0),
            (7, 0xff),
        ],
    );
}

#[test]
fn join_of_fermi_goes_on_at_the_target() {
    let mut g = Graph::new(6);
    // The entry's target is block 5; block 3 joins, on the fall-through.
    g.push(0, PushKind::Join, 5, 1).branch(1, 0, 2, 3).join_at_target(2, None, 0).join_at_target(3, None, 0);
    g.jump(4, 4).exit(5);
    g.expect(0xff, [0x0f, 0, 0], &[(0, 0xff), (1, 0xff), (2, 0x0f), (3, 0xf0), (5, 0xff)]);
}

/// As Mesa's compiler writes an if and else for Tesla: block 2 ends in a join in place of a jump to block 4, which the entry names.
#[test]
fn join_of_tesla_goes_on_behind_the_join_that_the_entry_names() {
    let mut g = Graph::new(6);
    g.push(0, PushKind::Join, 4, 1).branch(1, 0, 3, 2).join(2, 3).jump(3, 4).join(4, 5).exit(5);
    // Both sides, one, the other.
    g.expect(0xff, [0x0f, 0, 0], &[(0, 0xff), (1, 0xff), (3, 0x0f), (4, 0x0f), (2, 0xf0), (5, 0xff)]);
    g.expect(0xff, [0, 0, 0], &[(0, 0xff), (1, 0xff), (2, 0xff), (5, 0xff)]);
    g.expect(0xff, [0xff, 0, 0], &[(0, 0xff), (1, 0xff), (3, 0xff), (4, 0xff), (5, 0xff)]);
}

#[test]
fn guarded_join_of_fermi_is_a_branch_to_the_join_point() {
    let mut g = Graph::new(5);
    g.push(0, PushKind::Join, 4, 1).join_at_target(1, Some(0), 2).join_at_target(2, Some(1), 3);
    g.join_at_target(3, None, 3).exit(4);
    // 0x0f joins first, none at the second, the rest at the third.
    g.expect(0xff, [0x0f, 0x0f, 0], &[(0, 0xff), (1, 0xff), (2, 0xf0), (3, 0xf0), (4, 0xff)]);
    g.expect(0xff, [0x0f, 0xf0, 0], &[(0, 0xff), (1, 0xff), (2, 0xf0), (4, 0xff)]);
    g.expect(0xff, [0xff, 0, 0], &[(0, 0xff), (1, 0xff), (4, 0xff)]);
}

#[test]
fn join_skips_branch_entries_whose_lanes_are_gone() {
    let mut g = Graph::new(7);
    // 1: 0x0f go to 2, the rest waits in a branch entry and stays waiting while 2 splits again; 0x03 reach
    // the join first, then 0x0c exit, then the rest.
    g.push(0, PushKind::Join, 5, 1)
        .branch(1, 0, 2, 4)
        .branch(2, 1, 5, 3)
        .exit(3)
        .jump(4, 5)
        .join(5, 6)
        .exit(6);
    g.expect(
        0xff,
        [0x0f, 0x03, 0],
        &[(0, 0xff), (1, 0xff), (2, 0x0f), (5, 0x03), (3, 0x0c), (4, 0xf0), (5, 0xf0), (6, 0xf3)],
    );
    // Entries of exited lanes cannot come from code; the rule still holds for them.
    let code = code(&g.func);
    let mut warp = warp(&g.func, &code, 0xff, &[]);
    warp.stack = vec![
        Entry { kind: EntryKind::Push(PushKind::Join), target: Block(5), mask: 0xff },
        Entry { kind: EntryKind::Branch, target: Block(3), mask: 0xf0 },
    ];
    (warp.block, warp.active, warp.exited) = (Block(5), 0x0f, 0xffff_fff0);
    assert_eq!(code.finish(&mut warp, None, None), Flow::Next);
    assert_eq!((warp.block, warp.active, warp.stack.len()), (Block(6), 0x0f, 0));
}

#[test]
fn break_from_a_loop() {
    let mut g = Graph::new(4);
    g.push(0, PushKind::Break, 3, 1).leave(1, LeaveKind::Break, Some(0), 2);
    g.leave(2, LeaveKind::Break, Some(1), 1).exit(3);
    let warp = g.expect(0xff, [0x0f, 0xff, 0], &[(0, 0xff), (1, 0xff), (2, 0xf0), (3, 0xff)]);
    assert_eq!(warp.left(LeaveKind::Break), 0);
    // Nobody breaks at the first.
    g.expect(0xff, [0, 0xff, 0], &[(0, 0xff), (1, 0xff), (2, 0xff), (3, 0xff)]);
}

#[test]
fn break_out_of_a_branch() {
    let mut g = Graph::new(6);
    // Loop 1..4 with a join inside: 0x03 break from the taken side.
    g.push(0, PushKind::Break, 5, 1).push(1, PushKind::Join, 4, 2).branch(2, 0, 3, 4);
    g.leave(3, LeaveKind::Break, None, 4).join(4, 5);
    // Not in a loop at all: the others go straight to 5, and end there; then the breakers come.
    g.exit(5);
    g.expect(
        0x0f,
        [0x03, 0, 0],
        &[(0, 0x0f), (1, 0x0f), (2, 0x0f), (3, 0x03), (4, 0x0c), (5, 0x0c), (5, 0x03)],
    );
}

#[test]
fn continue_of_fermi() {
    let mut g = Graph::new(5);
    g.push(0, PushKind::Continue, 3, 1).leave(1, LeaveKind::Continue, Some(0), 2);
    g.leave(2, LeaveKind::Continue, None, 2).exit(3).jump(4, 4);
    g.expect(0xff, [0x0f, 0, 0], &[(0, 0xff), (1, 0xff), (2, 0xf0), (3, 0xff)]);
}

#[test]
fn call_and_return() {
    let mut g = Graph::new(5);
    g.call(0, 2, 1).exit(1).leave(2, LeaveKind::Return, Some(0), 3).leave(3, LeaveKind::Return, None, 3);
    g.jump(4, 4);
    g.expect(0xff, [0x0f, 0, 0], &[(0, 0xff), (2, 0xff), (3, 0xf0), (1, 0xff)]);
    // preret makes an entry of the same kind.
    let mut g = Graph::new(3);
    g.push(0, PushKind::Call, 2, 1).leave(1, LeaveKind::Return, None, 1).exit(2);
    g.expect(0xff, [0; 3], &[(0, 0xff), (1, 0xff), (2, 0xff)]);
}

#[test]
fn return_without_a_call_ends_the_thread() {
    let mut g = Graph::new(2);
    g.leave(0, LeaveKind::Return, Some(0), 1).leave(1, LeaveKind::Return, None, 1);
    let warp = g.expect(0xff, [0x0f, 0, 0], &[(0, 0xff), (1, 0xf0)]);
    assert_eq!((warp.exited, warp.left(LeaveKind::Return)), (0xffff_ffff, 0));
}

#[test]
fn break_inside_a_call_inside_a_loop_unwinds_the_call() {
    let mut g = Graph::new(6);
    // 0 prebreak 5; 1 call 3 (returns to 2); 2 break; 3: some break; 4 return.
    g.push(0, PushKind::Break, 5, 1).call(1, 3, 2).leave(2, LeaveKind::Break, None, 2);
    g.leave(3, LeaveKind::Break, Some(0), 4).leave(4, LeaveKind::Return, None, 4).exit(5);
    g.expect(0xff, [0x0f, 0, 0], &[(0, 0xff), (1, 0xff), (3, 0xff), (4, 0xf0), (2, 0xf0), (5, 0xff)]);
    // All of them break: the call entry goes without effect.
    g.expect(0xff, [0xff, 0, 0], &[(0, 0xff), (1, 0xff), (3, 0xff), (5, 0xff)]);
}

#[test]
fn longjmp() {
    let mut g = Graph::new(5);
    g.push(0, PushKind::Long, 4, 1).call(1, 2, 3).leave(2, LeaveKind::Long, Some(0), 3);
    g.leave(3, LeaveKind::Return, None, 3).exit(4);
    // 0xf0 return to 3, whose `ret` then finds no call entry: those threads end.
    let warp =
        g.expect(0xff, [0x0f, 0, 0], &[(0, 0xff), (1, 0xff), (2, 0xff), (3, 0xf0), (3, 0xf0), (4, 0x0f)]);
    assert_eq!(warp.left(LeaveKind::Long), 0);
}

#[test]
fn exit_of_some_lanes() {
    let mut g = Graph::new(2);
    g.leave(0, LeaveKind::Exit, Some(0), 1).exit(1);
    g.expect(0xff, [0x0f, 0, 0], &[(0, 0xff), (1, 0xf0)]);
    g.expect(0xff, [0, 0, 0], &[(0, 0xff), (1, 0xff)]);
    g.expect(0xff, [0xff, 0, 0], &[(0, 0xff)]);
}

#[test]
fn leaving_without_an_entry_ends_the_warp() {
    let mut g = Graph::new(2);
    g.leave(0, LeaveKind::Break, Some(0), 1).exit(1);
    let warp = g.expect(0xff, [0x0f, 0, 0], &[(0, 0xff), (1, 0xf0)]);
    assert_eq!(warp.left(LeaveKind::Break), 0x0f);
}

#[test]
fn unwinding_meets_waiting_lanes_at_a_join() {
    // Taken side 0x0f joins and waits, the rest exits: Tesla runs the joining block again for those that wait, and its
    // join pops the entry.
    let mut g = Graph::new(5);
    g.push(0, PushKind::Join, 3, 1).branch(1, 0, 3, 2).exit(2).join(3, 4).exit(4);
    g.expect(0xff, [0x0f, 0, 0], &[(0, 0xff), (1, 0xff), (3, 0x0f), (2, 0xf0), (3, 0x0f), (4, 0x0f)]);
    // Fermi pops it and goes to the target.
    let mut g = Graph::new(5);
    g.push(0, PushKind::Join, 4, 1).branch(1, 0, 3, 2).exit(2).join_at_target(3, None, 3).exit(4);
    g.expect(0xff, [0x0f, 0, 0], &[(0, 0xff), (1, 0xff), (3, 0x0f), (2, 0xf0), (4, 0x0f)]);
    // Nobody waits: popped without effect.
    let mut g = Graph::new(4);
    g.push(0, PushKind::Join, 3, 1)
        .push(1, PushKind::Break, 3, 2)
        .leave(2, LeaveKind::Exit, None, 2)
        .join(3, 3);
    g.expect(0xff, [0; 3], &[(0, 0xff), (1, 0xff), (2, 0xff)]);
}

#[test]
fn quads() {
    let mut g = Graph::new(5);
    let (on, pop) = (Terminator::QuadOn { next: Block(2) }, Terminator::QuadPop { next: Block(3) });
    g.leave(0, LeaveKind::Exit, Some(0), 1).end(1, None, |_| on).end(2, None, |_| pop).exit(3).jump(4, 4);
    // Lanes 1 and 8 are alive: their quads run whole, exited lanes too, until the mask is restored.
    g.expect(0x1ff, [0xfd, 0, 0], &[(0, 0x1ff), (1, 0x102), (2, 0xf0f), (3, 0x102)]);
    // Lanes that exit in between stay out, and if none is left the warp unwinds.
    let mut g = Graph::new(4);
    let (on, pop) = (Terminator::QuadOn { next: Block(1) }, Terminator::QuadPop { next: Block(3) });
    g.end(0, None, |_| on).leave(1, LeaveKind::Exit, Some(0), 2).end(2, None, |_| pop).exit(3);
    g.expect(0x3, [0x1, 0, 0], &[(0, 0x3), (1, 0xf), (2, 0xe), (3, 0x2)]);
    g.expect(0x3, [0x3, 0, 0], &[(0, 0x3), (1, 0xf), (2, 0xc)]);
    // Unwinding drops a quad entry.
    g.expect(0x3, [0xf, 0, 0], &[(0, 0x3), (1, 0xf)]);
}

#[test]
fn indirect_branches() {
    let mut g = Graph::new(5);
    let slot = g.r[0];
    let mut b = Builder::new(&mut g.func, Block(0));
    let address = b.get(slot);
    b.terminate(Terminator::BranchIndirect { address });
    g.func.block_mut(Block(0)).guest_insts = 1;
    g.exit(1).exit(2).exit(3).exit(4);
    let start = |targets: [u64; 6]| {
        let code = code(&g.func);
        let mut warp = warp(&g.func, &code, 0x3f, &[]);
        let (offsets, _) = g.func.frame_layout();
        for (lane, target) in (0..).zip(targets) {
            warp.frame.write(offsets[slot.index()], warpjit_ir_core::Scalar::I32, lane, target);
        }
        let (trace, flow) = run(&code, &mut warp, &mut Flat::new());
        (trace, flow, warp)
    };
    let (trace, flow, _) = start([24, 8, 24, 16, 8, 16]);
    assert_eq!((trace, flow), (vec![(0, 0x3f), (3, 0x05), (1, 0x12), (2, 0x28)], Flow::Ended));
    let (trace, ..) = start([32; 6]);
    assert_eq!(trace, [(0, 0x3f), (4, 0x3f)]);
    // Lanes 2 and 4 go astray: the lower one is named, and nothing has happened.
    let (_, flow, warp) = start([8, 8, 12, 8, 4000, 8]);
    let fault = fault(flow);
    assert_eq!((fault.kind, fault.pc, fault.lane), (FaultKind::Illegal, 0, 2));
    assert_eq!(fault.address, Some(12));
    assert_eq!((warp.active, warp.stack.len(), warp.steps), (0x3f, 0, 0));
}

#[test]
fn lanes_decide_together_where_the_condition_is_one() {
    use warpjit_ir_core::exit::ExitKind;
    // A branch on a vote, and one on the mask itself: where lanes stand and which are active after a region has given some lanes.
    for (votes, given, wanted) in [
        (true, 0x10, (1, 0x3f, 0)),
        (true, 0x3f, (1, 0x3f, 0)),
        (true, 0, (2, 0x3f, 0)),
        // Lanes that are not active do not count.
        (true, 0x40, (2, 0x3f, 0)),
        (false, 0x10, (1, 0x10, 1)),
        (false, 0x40, (2, 0x3f, 0)),
    ] {
        let mut g = Graph::new(3);
        let slot = g.p[0];
        let mut b = Builder::new(&mut g.func, Block(0));
        let mut cond = b.get(slot);
        if votes {
            cond = b.vote_any(cond);
        }
        b.terminate(Terminator::Branch { cond, taken: Block(1).into(), next: Block(2).into() });
        g.exit(1).exit(2);
        let code = code(&g.func);
        let mut warp = warp(&g.func, &code, 0x3f, &[]);
        assert_eq!(code.finish_region(&mut warp, ExitKind::Terminator(Block(0)), 0, Some(given)), Flow::Next);
        assert_eq!((warp.block.0, warp.active, warp.stack.len()), wanted, "{votes} {given:#x}");
    }
}

#[test]
fn barrier_returns_to_the_scheduler() {
    let mut g = Graph::new(2);
    let spec = BarrierSpec { index: 3, arrive: true, wait: false, warps: Some(2), from: None };
    g.end(0, None, |_| Terminator::Barrier { spec, next: Block(1) }).exit(1);
    let (trace, flow, mut warp) = g.run(0xff, [0; 3]);
    assert_eq!((trace.len(), flow), (1, Flow::Barrier(spec)));
    assert_eq!((warp.block, warp.active, warp.steps), (Block(1), 0xff, 1));
    let (trace, flow) = run(&code(&g.func), &mut warp, &mut Flat::new());
    assert_eq!((trace, flow), (vec![(1, 0xff)], Flow::Ended));
}

#[test]
fn faults_of_code() {
    let mut g = Graph::new(2);
    g.end(0, None, |_| Terminator::Fault(GuestFault::Trap)).exit(1);
    g.faults(0xf0, [0; 3], FaultKind::Trap, 0, 4);
    let mut g = Graph::new(2);
    g.jump(0, 1).end(1, None, |_| Terminator::Fault(GuestFault::Illegal));
    g.faults(0xf0, [0; 3], FaultKind::Illegal, 1, 4);
}

#[test]
fn stack_holds_1024_entries() {
    // Each round pushes one.
    let mut g = Graph::new(1);
    g.push(0, PushKind::Join, 0, 0);
    let full = g.faults(0xe, [0; 3], FaultKind::Stack, 0, 1);
    assert_eq!((full.stack.len(), full.steps), (1024, 1024));
    // A call alike; a branch only if it pushes.
    let mut g = Graph::new(1);
    g.call(0, 0, 0);
    assert_eq!(g.faults(1, [0; 3], FaultKind::Stack, 0, 0).steps, 1024);
    let mut g = Graph::new(3);
    g.push(0, PushKind::Break, 0, 1).branch(1, 0, 2, 0).jump(2, 0);
    let code = code(&g.func);
    for (mask, flow_is_next) in [(0x0f, false), (0xff, true), (0, true)] {
        let mut warp = warp(&g.func, &code, 0xff, &[(g.p[0], mask)]);
        warp.stack = vec![Entry { kind: EntryKind::Branch, target: Block(0), mask: 0 }; 1024];
        warp.block = Block(1);
        let flow = code.run_block(&mut Scratch::new(&code), &mut warp, &mut Flat::new());
        assert_eq!(flow == Flow::Next, flow_is_next);
        assert_eq!((warp.stack.len(), warp.active), (1024, 0xff));
    }
}

#[test]
fn pops_that_find_nothing() {
    let mut g = Graph::new(2);
    g.join(0, 1).exit(1);
    g.faults(0xf0, [0; 3], FaultKind::Stack, 0, 4);
    // Something else on top.
    for kind in [PushKind::Break, PushKind::Call, PushKind::Continue, PushKind::Long] {
        let mut g = Graph::new(3);
        g.push(0, kind, 2, 1).join(1, 2).exit(2);
        let warp = g.faults(0xf0, [0; 3], FaultKind::Stack, 1, 4);
        assert_eq!((warp.active, warp.stack.len()), (0xf0, 1));
    }
    let mut g = Graph::new(3);
    g.push(0, PushKind::Join, 2, 1).end(1, None, |_| Terminator::QuadPop { next: Block(2) }).exit(2);
    g.faults(0xf0, [0; 3], FaultKind::Stack, 1, 4);
}

#[test]
fn compiled_code_finishes_blocks_alike() {
    // As the driver does: the body's work is done elsewhere, conditions come as sets of lanes.
    let mut g = Graph::new(3);
    g.branch(0, 0, 1, 2).exit(1).exit(2);
    let code = code(&g.func);
    let mut warp = warp(&g.func, &code, 0xff, &[]);
    assert_eq!(code.finish(&mut warp, Some(0xffff_ff03), None), Flow::Next);
    assert_eq!((warp.block, warp.active, warp.steps), (Block(1), 0x03, 0));
    assert_eq!(warp.stack, [Entry { kind: EntryKind::Branch, target: Block(2), mask: 0xfc }]);
    assert_eq!(code.finish(&mut warp, None, None), Flow::Next);
    assert_eq!((warp.block, warp.active), (Block(2), 0xfc));
    assert_eq!(code.finish(&mut warp, None, None), Flow::Ended);
}

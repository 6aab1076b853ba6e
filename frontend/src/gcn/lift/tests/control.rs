//! Tests what changes the program counter: branches, calls, forks.

use warpjit_ir::interp::FaultKind;

use super::{assemble, options, run, run_code, run_from};
use crate::gcn::Generation;

#[test]
fn branches_on_conditions() {
    let text = "
        s_mov_b32 s1, 0
        s_cmp_eq_u32 s0, 0
        s_cbranch_scc0 a
        s_or_b32 s1, s1, 1
    a:
        s_mov_b64 vcc, 0
        s_cbranch_vccz b
        s_or_b32 s1, s1, 2
    b:
        s_mov_b32 vcc_hi, 0x80000000
        s_cbranch_vccz c
        s_or_b32 s1, s1, 4
    c:
        v_cmp_eq_u32 vcc, 63, v0
        s_cbranch_vccnz d
        s_or_b32 s1, s1, 8
    d:
        s_cbranch_execz e
        s_or_b32 s1, s1, 16
    e:
        s_mov_b64 exec, 0
        s_cbranch_execz f
        s_or_b32 s1, s1, 32
    f:
        s_cbranch_execnz g
        s_or_b32 s1, s1, 64
    g:
        s_endpgm
    ";
    run_from(Generation::Gfx6, text, &[("s0", 0)], |ran| assert_eq!(ran.s(1), 1 | 4 | 16 | 64));
    run_from(Generation::Gfx6, text, &[("s0", 3)], |ran| assert_eq!(ran.s(1), 4 | 16 | 64));
}

#[test]
fn uniform_loop() {
    let text = "
        s_mov_b32 s0, 5
        s_mov_b32 s1, 0
    l:
        s_add_u32 s1, s1, s0
        s_sub_u32 s0, s0, 1
        s_cmp_lg_u32 s0, 0
        s_cbranch_scc1 l
        s_endpgm
    ";
    run_from(Generation::Gfx6, text, &[], |ran| assert_eq!((ran.s(0), ran.s(1)), (0, 15)));
}

#[test]
fn calls_and_returns() {
    // A mask lives across the calls; the function is reached by a constant and through memory's like.
    let text = "
        v_cmp_gt_u32 s[20:21], 4, v0
        s_mov_b32 s9, 0
        s_getpc_b64 s[0:1]
    here:
        s_add_u32 s0, s0, sub-here
        s_addc_u32 s1, s1, 0
        s_swappc_b64 s[30:31], s[0:1]
        s_add_u32 s9, s9, 0x100
        s_mov_b64 s[2:3], s[0:1]
        s_cmp_eq_u32 s40, 0
        s_cbranch_scc0 again
        s_xor_b32 s2, s2, s40
    again:
        s_swappc_b64 s[30:31], s[2:3]
        s_add_u32 s9, s9, 0x200
        v_cndmask_b32 v1, 0, 1, s[20:21]
        s_endpgm
    sub:
        s_add_u32 s9, s9, 1
        s_setpc_b64 s[30:31]
    ";
    run_from(Generation::Gfx6, text, &[], |ran| {
        assert_eq!(ran.fault, None);
        assert_eq!(ran.s(9), 0x302);
        assert_eq!((ran.v(1, 3), ran.v(1, 4)), (1, 0));
        assert_eq!(ran.s(31), 1);
    });
    let call = "s_mov_b32 s9, 0\ns_call_b64 s[2:3], f\ns_or_b32 s9, s9, 2\ns_endpgm\nf:\ns_or_b32 s9, s9, 1\ns_setpc_b64 s[2:3]\n";
    let ran = run(Generation::Gfx9, call, &[]);
    assert_eq!((ran.s(9), ran.pair(2)), (3, 0x1_0000_0008));
}

/// Runs a program, and counts its jumps of which it is not known where they go.
fn run_counting(text: &str, registers: &[(&str, u32)]) -> (super::Ran, usize) {
    let code = assemble(Generation::Gfx8, text);
    let lifted =
        super::lift(&super::file(&code), &options(Generation::Gfx8), &warpjit_ir::Meter::unlimited());
    let func = lifted.expect("no limits").function;
    let jumps = func.to_string().matches("branch_indirect").count();
    (super::run_function(func, registers, u64::MAX), jumps)
}

#[test]
fn functions_return_to_their_calls() {
    let program = |inside: &str| {
        format!(
            "
            s_mov_b32 s9, 0
            s_getpc_b64 s[0:1]
        here:
            s_add_u32 s0, s0, sub-here
            s_addc_u32 s1, s1, 0
            s_swappc_b64 s[30:31], s[0:1]
            s_add_u32 s9, s9, 0x100
            s_swappc_b64 s[30:31], s[0:1]
            s_add_u32 s9, s9, 0x200
            s_swappc_b64 s[30:31], s[0:1]
            s_add_u32 s9, s9, 0x400
            s_endpgm
        sub:
            s_lshl_b32 s9, s9, 1
            s_add_u32 s9, s9, 1
            {inside}
            s_setpc_b64 s[30:31]
        "
        )
    };
    // 2 * (2 * (2 * 0 + 1 + 0x100) + 1 + 0x200) + 1 + 0x400
    let copied = "s_mov_b64 s[40:41], s[30:31]\ns_mov_b64 s[30:31], 0\ns_mov_b64 s[30:31], s[40:41]";
    for inside in ["", copied] {
        let (ran, jumps) = run_counting(&program(inside), &[]);
        assert_eq!((ran.fault.map(|fault| fault.kind), ran.s(9), jumps), (None, 0xc07, 0), "{inside}");
    }
    // Half of the address comes from outside: the second return skips the third call.
    let changed = "s_cmp_lg_u32 s9, 0x203\ns_cbranch_scc1 same\ns_add_u32 s30, s30, s50\nsame:";
    let (ran, jumps) = run_counting(&program(changed), &[("s50", 12)]);
    assert_eq!((ran.fault.map(|fault| fault.kind), ran.s(9), jumps > 0), (None, 0x203 + 0x400, true));
}

#[test]
fn jumps_to_anywhere() {
    // The address comes from outside: every block can be it.
    let text = "s_setpc_b64 s[0:1]\ns_endpgm\ns_nop 0\ns_mov_b32 s5, 1\ns_endpgm\n";
    let ran = run(Generation::Gfx8, text, &[("s0", 0xc), ("s1", 1)]);
    assert_eq!(ran.fault.map(|fault| fault.kind), Some(FaultKind::Illegal));
    let ran = run(Generation::Gfx8, text, &[("s0", 0), ("s1", 7)]);
    assert_eq!(ran.fault.map(|fault| fault.kind), Some(FaultKind::Illegal));
}

#[test]
fn faults() {
    let fault = |generation, text: &str| {
        let fault = run(generation, text, &[]).fault.expect("a fault");
        (fault.kind, fault.pc)
    };
    assert_eq!(fault(Generation::Gfx9, "s_nop 0\ns_trap 2\n"), (FaultKind::Trap, 4));
    assert_eq!(fault(Generation::Gfx6, "s_nop 0\n"), (FaultKind::Illegal, 4));
    assert_eq!(fault(Generation::Gfx6, "s_branch 0x100\n"), (FaultKind::Illegal, 0x404));
    assert_eq!(fault(Generation::Gfx6, "s_branch 0x8000\n"), (FaultKind::Illegal, 0xfffe_0004));
    assert_eq!(
        fault(Generation::Gfx8, "s_nop 0\nexp mrt0 v0, v0, v0, v0 done vm\ns_endpgm\n"),
        (FaultKind::Illegal, 4)
    );
    let options = options(Generation::Gfx7);
    let fault = run_code(&[0xff; 8], &options, &[], u64::MAX).fault.expect("a fault");
    assert_eq!((fault.kind, fault.pc), (FaultKind::Illegal, 0));
    assert!(run_code(&[], &options, &[], u64::MAX).fault.is_some());
}

#[test]
fn forks() {
    // Lanes below s0 pass; the smaller side first, a tie runs those that pass first.
    let text = "
        s_mov_b32 s50, 1
        s_mov_b64 s[56:57], exec
        s_getreg_b32 s51, hwreg(HW_REG_MODE, 29, 3)
        v_cmp_gt_u32 s[40:41], s60, v0
        s_cbranch_i_fork s[40:41], t
        s_lshl_b32 s50, s50, 4
        s_or_b32 s50, s50, 1
        v_mov_b32 v1, 1
        s_branch j
    t:
        s_lshl_b32 s50, s50, 4
        s_or_b32 s50, s50, 2
        v_mov_b32 v1, 2
    j:
        s_cbranch_join s51
        s_mov_b64 s[42:43], exec
        s_getreg_b32 s52, hwreg(HW_REG_MODE, 29, 3)
        s_endpgm
    ";
    let lanes = |count: u32| if count == 64 { u64::MAX } else { (1u64 << count) - 1 };
    for (count, order, exec) in [
        (10, 0x121, !lanes(10)),
        (50, 0x112, lanes(50)),
        (32, 0x121, !lanes(32)),
        (0, 0x11, u64::MAX),
        (64, 0x12, u64::MAX),
    ] {
        run_from(Generation::Gfx6, text, &[("s60", count)], |ran| {
            assert_eq!(ran.fault, None);
            assert_eq!((ran.s(50), ran.pair(42), ran.s(52)), (order, exec, 0), "{count}");
            (0..64).for_each(|lane| assert_eq!(ran.v(1, lane), if lane < count { 2 } else { 1 }));
        });
    }
}

#[test]
fn the_entry_can_be_a_target() {
    let text = "s_add_u32 s0, s0, 1\ns_cmp_lt_u32 s0, 5\ns_cbranch_scc1 start-4\ns_endpgm\nstart:\n";
    let text = text.replace("start-4", "-3");
    run_from(Generation::Gfx6, &text, &[("s0", 1)], |ran| assert_eq!(ran.s(0), 5));
    let code = assemble(Generation::Gfx9, "s_endpgm\ns_mov_b32 s0, 3\ns_endpgm\n");
    let mut options = options(Generation::Gfx9);
    options.entry = 4;
    assert_eq!(run_code(&code, &options, &[], u64::MAX).s(0), 3);
}

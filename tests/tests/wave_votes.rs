//! Tests branches on votes of a whole wave, and calls, where compiled code runs fewer lanes at a time than the wave has.
//!
//! The expected results are worked out here from what each lane does.

use warpjit_tests::gcn::one_wave::{SHOW, check, counts, shown};

#[test]
fn a_loop_runs_until_its_last_lane_has_left() {
    // Lane n goes through it n mod 8 + 1 times, and the wave 8 times, which the scalar counts.
    let text = "s_mov_b32 s8, 0
        v_and_b32 v4, 7, v0
        s_mov_b64 s[10:11], exec
    again:
        s_add_u32 s8, s8, 3
        v_subrev_u32 v4, 1, v4
        v_cmp_ne_u32 vcc, -1, v4
        s_and_b64 exec, exec, vcc
        s_cbranch_execnz again
        s_mov_b64 exec, s[10:11]\n";
    check(&(text.to_owned() + SHOW), |n| shown(n, 24));
}

#[test]
fn one_lane_is_enough() {
    let text = "s_mov_b32 s8, 0
        v_cmp_eq_u32 vcc, 63, v0
        s_cbranch_vccz a
        s_or_b32 s8, s8, 1
    a:
        v_cmp_eq_u32 vcc, 0, v0
        s_cbranch_vccz b
        s_or_b32 s8, s8, 2
    b:
        v_cmp_eq_u32 vcc, 64, v0
        s_cbranch_vccz c
        s_or_b32 s8, s8, 4
    c:
        v_cmp_eq_u32 vcc, 64, v0
        s_cbranch_vccnz d
        s_or_b32 s8, s8, 8
    d:
        v_cmp_lt_u32 vcc, 31, v0
        s_cbranch_vccnz e
        s_or_b32 s8, s8, 16
    e:\n";
    check(&(text.to_owned() + SHOW), |n| shown(n, 1 | 2 | 8));
}

#[test]
fn lanes_that_are_not_active_have_no_vote() {
    let text = "s_mov_b32 s8, 0
        s_mov_b64 s[10:11], exec
        s_movk_i32 s12, 0xff
        s_mov_b32 s13, 0
        s_mov_b64 exec, s[12:13]
        v_cmp_lt_u32 vcc, 7, v0
        s_cbranch_vccz a
        s_or_b32 s8, s8, 1
    a:
        v_cmp_lt_u32 vcc, 6, v0
        s_cbranch_vccz b
        s_or_b32 s8, s8, 2
    b:
        s_mov_b64 exec, 0
        s_cbranch_execnz c
        s_or_b32 s8, s8, 4
    c:
        s_mov_b64 exec, s[10:11]\n";
    check(&(text.to_owned() + SHOW), |n| shown(n, 2 | 4));
}

#[test]
fn a_function_with_a_loop_returns_to_both_calls() {
    // Lane n adds up 0 to n mod 4, then 0 to n / 16. The wave goes through the loop four times in each call.
    let text = "s_getpc_b64 s[12:13]
    here:
        s_add_u32 s12, s12, sum-here
        s_addc_u32 s13, s13, 0
        s_mov_b32 s8, 0
        v_mov_b32 v6, 0
        v_and_b32 v4, 3, v0
        s_swappc_b64 s[30:31], s[12:13]
        s_add_u32 s8, s8, 0x100
        v_lshrrev_b32 v4, 4, v0
        s_swappc_b64 s[30:31], s[12:13]
        buffer_store_dword v6, v1, s[4:7], 0 offen
        s_branch end
    sum:
        s_mov_b64 s[14:15], exec
    again:
        s_add_u32 s8, s8, 1
        v_add_u32 v6, v6, v4
        v_subrev_u32 v4, 1, v4
        v_cmp_ne_u32 vcc, -1, v4
        s_and_b64 exec, exec, vcc
        s_cbranch_execnz again
        s_mov_b64 exec, s[14:15]
        s_setpc_b64 s[30:31]
    end:\n";
    let sum = |n: u32| n * (n + 1) / 2;
    check(&(text.to_owned() + SHOW), |n| if n < 64 { sum(n % 4) + sum(n / 16) } else { shown(n, 0x108) });
}

#[test]
fn a_return_to_an_address_from_memory_goes_where_it_says() {
    // The address goes through a vector register, which nobody follows.
    let text = "s_getpc_b64 s[12:13]
    here:
        s_add_u32 s12, s12, more-here
        s_addc_u32 s13, s13, 0
        s_mov_b32 s8, 0
        s_swappc_b64 s[30:31], s[12:13]
        s_add_u32 s8, s8, 0x10
        s_swappc_b64 s[30:31], s[12:13]
        s_add_u32 s8, s8, 0x20
        s_branch end
    more:
        v_mov_b32 v4, s30
        s_mov_b32 s30, 0
        s_lshl_b32 s8, s8, 1
        s_add_u32 s8, s8, 1
        v_readfirstlane_b32 s30, v4
        s_setpc_b64 s[30:31]
    end:\n";
    check(&(text.to_owned() + SHOW), |n| shown(n, 2 * 0x11 + 1 + 0x20));
}

/// A function with one instruction more, called twice with 16 lanes active in it, comes to 32 more, wherever it returns to.
#[test]
fn lanes_of_a_function_are_counted_wherever_it_returns() {
    let text = |more: &str| {
        format!(
            "s_mov_b64 s[10:11], exec
            s_getpc_b64 s[12:13]
        here:
            s_add_u32 s12, s12, double-here
            s_addc_u32 s13, s13, 0
            s_swappc_b64 s[14:15], s[12:13]
            s_swappc_b64 s[14:15], s[12:13]
            v_mov_b32 v5, v4
            s_branch behind
        double:
            s_mov_b32 s8, 0xffff
            s_mov_b32 s9, 0
            s_mov_b64 exec, s[8:9]
            v_add_u32 v4, v0, v0
            {more}
            s_mov_b64 exec, s[10:11]
            s_setpc_b64 s[14:15]
        behind:\n"
        )
    };
    let (few, many) = (counts(&text("")), counts(&text("v_add_u32 v4, v4, v0")));
    for (few, many) in few.iter().zip(&many) {
        assert_eq!(many - few, 32);
    }
}

#[test]
fn few_lanes_are_active_in_phases_that_atomics_end() {
    // In turn k only lane 7 k + 3 is active, then none, then all; the others' registers and what the wave counts stay right.
    let text = "s_mov_b32 s8, 0
        v_mov_b32 v4, 0
        v_mov_b32 v5, 1
        s_mov_b64 s[10:11], exec
    again:
        s_mul_i32 s9, s8, 7
        s_add_u32 s9, s9, 3
        v_cmp_eq_u32 vcc, s9, v0
        s_and_saveexec_b64 s[12:13], vcc
        v_mov_b32 v6, 5
        buffer_atomic_add v6, v1, s[4:7], 0 offen glc
        s_waitcnt vmcnt(0)
        v_add_u32 v4, v6, v4
        s_mov_b64 exec, 0
        buffer_atomic_add v5, v1, s[4:7], 0 offen glc
        s_waitcnt vmcnt(0)
        v_mov_b32 v4, 77
        s_mov_b64 exec, s[12:13]
        buffer_atomic_add v5, v1, s[4:7], 0 offen
        s_add_u32 s8, s8, 1
        s_cmp_lt_u32 s8, 9
        s_cbranch_scc1 again
        v_mov_b32 v3, s8
        v_add_u32 v3, v3, v4
        buffer_store_dword v3, v1, s[4:7], 0 offen offset:256\n";
    // Lane n has its turn k = (n - 3) / 7, in which it finds what the k turns before have added.
    let turn = |n: u32| (n >= 3 && (n - 3).is_multiple_of(7) && (n - 3) / 7 < 9).then(|| (n - 3) / 7);
    check(text, |n| match n {
        0..64 => 1000 + n + 9 + if turn(n).is_some() { 5 } else { 0 },
        64..128 => 9 + turn(n - 64).map_or(0, |k| 1000 + (n - 64) + k),
        _ => 1000 + n,
    });
}

#[test]
fn saved_masks_of_lanes_that_are_not_active_are_empty() {
    // EXEC is saved under EXEC, twice; what was saved becomes EXEC where all lanes are active again, and is a number of lanes.
    let text = "s_mov_b64 s[10:11], exec
        v_cmp_lt_u32 vcc, 40, v0
        s_and_saveexec_b64 s[12:13], vcc
        buffer_atomic_add v0, v1, s[4:7], 0 offen
        v_cmp_gt_u32 vcc, 50, v0
        s_and_saveexec_b64 s[14:15], vcc
        buffer_atomic_add v0, v1, s[4:7], 0 offen
        s_mov_b64 s[16:17], exec
        s_mov_b64 exec, s[10:11]
        v_mov_b32 v4, 0
        v_mov_b32 v5, 1
        s_mov_b64 exec, s[14:15]
        v_add_u32 v4, v4, v5
        s_mov_b64 exec, s[16:17]
        v_add_u32 v4, v4, v5
        s_bcnt1_i32_b64 s8, s[14:15]
        s_mov_b64 exec, s[10:11]
        v_add_u32 v3, s8, v4
        buffer_store_dword v3, v1, s[4:7], 0 offen offset:256\n";
    check(text, |n| match n {
        0..64 => 1000 + n + n * u32::from(n > 40) + n * u32::from((41..50).contains(&n)),
        64..128 => 23 + u32::from(n > 104) + u32::from((105..114).contains(&n)),
        _ => 1000 + n,
    });
}

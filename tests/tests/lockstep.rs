//! Tests code that relies on the lanes of a warp running in lock step: shared memory without barriers, as in programs of the
//! time. Compiled code runs a few lanes at a time, and this must not be visible.

use warpjit::outcome::Status;
use warpjit_runtime::{Config, Tier};
use warpjit_tests::guest::Guest;

/// `$r0` is the thread, `$a1` and `$r2` its word in shared memory from 0x40, `$r1` its word of the buffer.
const START: &str = "and b32 $r0 $r0 0xffff\nshl b32 $r2 $r0 0x2\nlong add b32 $r1 b32 s[0x10] $r2\n\
                     add b32 $r2 $r2 0x40\nshl $a1 $r2 0x0\n";

fn launch(threads: u32, words: &[u32]) -> String {
    let words: Vec<String> = words.iter().map(u32::to_string).collect();
    format!(
        "[launch]\ngrid = [2, 1, 1]\nblock = [{threads}, 1, 1]\ndynamic_shared = 1024\n\
         [[buffer]]\nname = 'out'\nbytes = {}\n[[arg]]\nbuffer = 'out'\n\
         [[expect]]\nbuffer = 'out'\ntype = 'u32'\nu32 = [{}]\n",
        threads * 4,
        words.join(", ")
    )
}

#[track_caller]
fn holds(source: &str, launch: &str) {
    let outcome = Guest::new(source, launch).run_everywhere();
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.to_text(false));
}

#[test]
fn unrolled_reduction_without_barriers() {
    // Each step reads the neighbour's sum of the step before.
    let mut source = format!("{START}st b32 s[$a1+0x0] $r0\n");
    let mut sums: Vec<u32> = (0..32).chain([0; 32]).collect();
    for step in [16, 8, 4, 2, 1] {
        source += &format!(
            "ld $r3 b32 s[$a1+0x0]\nld $r4 b32 s[$a1+{:#x}]\nadd b32 $r3 $r3 $r4\nst b32 s[$a1+0x0] $r3\n",
            step * 4
        );
        let before = sums.clone();
        for lane in 0..32 {
            sums[lane] = before[lane] + before[lane + step];
        }
    }
    source += "ld $r3 b32 s[$a1+0x0]\nst b32 g14[$r1] $r3\nexit nop\n";
    holds(&source, &launch(32, &sums[..32]));
}

#[test]
fn scan_in_a_divergent_loop() {
    // Hillis and Steele's scan, every step under a condition, the distance in a register.
    let source = format!(
        "{START}add b32 $r5 $r0 0x1\nst b32 s[$a1+0x0] $r5\nmov b32 $r6 0x4\nmov b32 $r7 0x80\nbreakaddr #done\n\
         loop:\nsub b32 $r3 $r2 $r6\nshl $a2 $r3 0x0\nmov b32 $r8 0x40\nset $c0 # ge s32 $r3 $r8\n\
         mov b32 $r4 0x0\n(lg $c0) ld $r4 b32 s[$a2+0x0]\nadd b32 $r5 $r5 $r4\nst b32 s[$a1+0x0] $r5\n\
         shl b32 $r6 $r6 0x1\nset $c0 # l u32 $r6 $r7\n(lg $c0) bra #loop\nbreak\n\
         done:\nst b32 g14[$r1] $r5\nexit nop\n"
    );
    let sums: Vec<u32> = (1..=32u32).map(|n| n * (n + 1) / 2).collect();
    holds(&source, &launch(32, &sums));
}

#[test]
fn tagged_histogram() {
    // All lanes add to four counters: each writes the count with its own tag and tries again until its
    // tag is what it reads back.
    let source = format!(
        "{START}and b32 $r3 $r0 0x3\nshl b32 $r3 $r3 0x2\nadd b32 $r3 $r3 0x100\nshl $a2 $r3 0x0\n\
         shl b32 $r4 $r0 0x1b\nmov b32 $r5 0x7ffffff\nmov b32 $r9 0x1\nbreakaddr #done\n\
         again:\nld $r6 b32 s[$a2+0x0]\nand b32 $r6 $r6 $r5\nadd b32 $r6 $r6 $r9\nor b32 $r6 $r6 $r4\n\
         st b32 s[$a2+0x0] $r6\nld $r7 b32 s[$a2+0x0]\nset $c0 # e u32 $r7 $r6\n(lg $c0) break\nbra #again\n\
         done:\nld $r6 b32 s[$a2+0x0]\nand b32 $r6 $r6 $r5\nst b32 g14[$r1] $r6\nexit nop\n"
    );
    holds(&source, &launch(32, &[8; 32]));
}

#[test]
fn exchange_with_a_neighbour_in_two_warps() {
    // Lane n reads what lane 31 - n has written, in both warps of the block.
    let source = format!(
        "{START}st b32 s[$a1+0x0] $r0\nand b32 $r3 $r0 0x1f\nsub b32 $r4 $r0 $r3\nmov b32 $r5 0x1f\n\
         sub b32 $r3 $r5 $r3\nadd b32 $r3 $r3 $r4\nshl b32 $r3 $r3 0x2\nadd b32 $r3 $r3 0x40\nshl $a2 $r3 0x0\n\
         ld $r3 b32 s[$a2+0x0]\nst b32 g14[$r1] $r3\nexit nop\n"
    );
    let wanted: Vec<u32> = (0..64).map(|n| n / 32 * 32 + 31 - n % 32).collect();
    holds(&source, &launch(64, &wanted));
}

#[test]
fn the_highest_lane_wins_a_store() {
    let source =
        format!("{START}st b32 s[0x40] $r0\nmov b32 $r3 b32 s[0x40]\nst b32 g14[$r1] $r3\nexit nop\n");
    holds(&source, &launch(32, &[31; 32]));
    let source = format!("{START}mov b32 $r3 b32 s[0x10]\nst b32 g14[$r3] $r0\nexit nop\n");
    let mut wanted = [0; 32];
    wanted[0] = 31;
    holds(&source, &launch(32, &wanted));
}

#[test]
fn global_memory_is_in_lock_step_where_asked_for() {
    // Each lane stores, then loads its neighbour's word: only lock step makes that the neighbour's number.
    let source = format!(
        "{START}st b32 g14[$r1] $r0\nmov b32 $r6 0x4\nmov b32 $r7 0x7c\nshl b32 $r3 $r0 0x2\nadd b32 $r3 $r3 $r6\n\
         and b32 $r3 $r3 $r7\nlong add b32 $r3 b32 s[0x10] $r3\nld b32 $r4 g14[$r3]\nst b32 g14[$r1] $r4\nexit nop\n"
    );
    let wanted: Vec<u32> = (0..32).map(|n| (n + 1) % 32).collect();
    holds_in_step(&source, &launch(32, &wanted).replace("[2, 1, 1]", "[1, 1, 1]"));
}

/// Runs one warp in lock step, in chunks of all widths.
#[track_caller]
fn holds_in_step(source: &str, launch: &str) {
    let guest = Guest::new(source, launch);
    for tier in [Tier::Interp, Tier::Jit] {
        for chunk_groups in [0, 1, 2, 4].map(Some) {
            let config = Config::default().tier(tier).chunk_groups(chunk_groups).lockstep(true).threads(1);
            let outcome = guest.run(config).unwrap();
            let text = outcome.to_text(false);
            assert_eq!(outcome.status, Status::Ok, "{tier:?} {chunk_groups:?}: {text}\n{source}");
        }
    }
}

/// A warp stores its words, then faults: in the same block of code, or behind a branch that no lane takes. The lanes of
/// all chunks have stored.
#[test]
fn all_lanes_have_stored_before_a_fault() {
    for end in ["trap\nexit nop\n", "set $c0 # e u32 $r0 $r2\n(lg $c0) bra #on\ntrap\non:\nexit nop\n"] {
        let source = format!("{START}st b32 g14[$r1] $r0\n{end}");
        let wanted: Vec<u32> = (0..32).collect();
        let launch = launch(32, &wanted).replace("[2, 1, 1]", "[1, 1, 1]") + "[[expect]]\nfault = 'trap'\n";
        holds_in_step(&source, &launch);
    }
}

/// Sums whose order makes no difference may stand in one region, but not where the second may fault: the first is done in all lanes then.
#[test]
fn all_lanes_have_added_before_an_atomic_faults() {
    // The address of every lane but the first is one where nothing is mapped.
    let source = format!(
        "{START}shl b32 $r3 $r0 0x1c\nadd b32 $r3 $r3 $r1\nred add u32 g14[$r1] $r0\n\
         red add u32 g14[$r3] $r0\nexit nop\n"
    );
    let wanted: Vec<u32> = (0..32).collect();
    let launch =
        launch(32, &wanted).replace("[2, 1, 1]", "[1, 1, 1]") + "[[expect]]\nfault = 'memory'\nlane = 1\n";
    holds_in_step(&source, &launch);
}

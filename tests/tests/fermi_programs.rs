//! Tests Fermi programs whose results follow from docs/hardware/fermi.md: barriers, generic addresses, locks, branch targets in constant
//! memory.

use warpjit_frontend::fermi::Chip;
use warpjit_tests::fermi::{Setup, address_of, code, outcome, run, whole};

#[test]
fn barriers_count() {
    // Threads below 40 hold; three times in a row, with results in the register and the predicate.
    let body = "long set $p0 0x1 lt u32 $r0 0x28\nlong mov b32 $r4 0x0\nlong mov b32 $r6 0x0\nagain:\n\
                long bar popc $p1 $r5 0x1 0x0 $p0\nlong add b32 $r4 $r4 $r5\n\
                long bar and $p1 0x0 0x1 0x0 $p0\nlong $p1 add b32 $r4 $r4 0x1000\n\
                long bar or $p2 0x0 0x1 0x0 $p0\nlong $p2 add b32 $r4 $r4 0x10000\n\
                long bar and $p1 0x0 0x1 0x0 0x1\nlong $p1 add b32 $r4 $r4 0x100000\n\
                long add b32 $r6 $r6 0x1\nlong set $p3 0x1 lt u32 $r6 0x3\nlong $p3 bra #again";
    let got = run(&whole(body), &Setup { threads: 96, blocks: 5, ..Setup::default() });
    assert_eq!(got, vec![3 * (40 + 0x10000 + 0x100000); 96 * 5]);
}

#[test]
fn generic_addresses() {
    // Even threads store to shared memory, odd ones to local memory, through one generic store.
    let body = "long and b32 $r4 $r0 0x1\nlong set $p0 0x1 eq u32 $r4 0x0\nlong shl b32 $r5 $r0 clamp 0x2\n\
                long $p0 add b32 $r6 $r5 c0[0x0]\nlong (not $p0) mov b32 $r6 $lwinbase\n\
                long (not $p0) add b32 $r6 $r6 0x10\nlong add b32 $r7 $r0 0x64\nlong st b32 wb g[$r6] $r7\n\
                long $p0 ld b32 $r4 s[$r5]\nlong (not $p0) ld b32 $r4 ca l[0x10]\n\
                long ld b32 $r8 ca g[$r6]\nlong add b32 $r4 $r4 $r8";
    let got = run(&whole(body), &Setup { threads: 64, blocks: 2, ..Setup::default() });
    let want: Vec<u32> = (0..2).flat_map(|_| (0..64).map(|thread| 2 * (thread + 100))).collect();
    assert_eq!(got, want);
}

#[test]
fn wide_global_addresses() {
    let body = "long mov b32 $r6 $r3\nlong mov b32 $r7 0x0\nlong mov b32 $r8 0x5\n\
                long exch b32 $r9 g[$r6d] $r8\nlong add b32 $r8 $r8 $r0\nlong red add u32 g[$r6d] $r8\n\
                long ld b32 $r4 ca g[$r6d]";
    let got = run(&whole(body), &Setup { threads: 32, blocks: 1, ..Setup::default() });
    assert_eq!(got, (0..32).map(|thread| 10 + thread).collect::<Vec<_>>());
}

#[test]
fn barriers_named_by_registers() {
    // Two pairs of warps, each pair at its own barrier with its own count of threads. The first warp of a pair stores to shared memory
    // what the second one loads.
    let body = "long mov b32 $r10 $r0\nlong shr u32 $r5 $r0 clamp 0x6\nlong add b32 $r6 $r5 0x3\nlong mov b32 $r7 0x40\n\
                long and b32 $r8 $r0 0x3f\nlong shl b32 $r9 $r0 clamp 0x2\nlong set $p0 0x1 lt u32 $r8 0x20\n\
                long $p0 st b32 s[$r9] $r10\nlong bar popc 0x1 0x0 $r6 $r7 0x1\n\
                long (not $p0) ld b32 $r10 s[$r9-0x80]\nlong mov b32 $r4 $r10\n\
                long bar popc 0x1 $r11 $r6 $r7 $p0\nlong shl b32 $r11 $r11 clamp 0x10\nlong add b32 $r4 $r4 $r11";
    let got = run(&whole(body), &Setup { threads: 128, ..Setup::default() });
    let want = |thread: u32| (32 << 16) + if thread & 63 < 32 { thread } else { thread - 32 };
    assert_eq!(got, (0..128).map(want).collect::<Vec<_>>());
    // The register's count and an immediate number; a count of 0 is all threads.
    for (number, count) in [("0x2", "$r7"), ("$r6", "0x0"), ("$r6", "0x80")] {
        let body = format!(
            "long mov b32 $r7 0x80\nlong mov b32 $r6 0xf\nlong set $p0 0x1 lt u32 $r0 0x28\n\
             long bar popc 0x1 $r4 {number} {count} $p0"
        );
        assert_eq!(run(&whole(&body), &Setup { threads: 128, ..Setup::default() }), vec![40; 128]);
    }
}

#[test]
fn atomics_take_generic_addresses() {
    // A third of the threads each: own word of shared memory, of local memory, of global memory.
    let body = "long mul $r5 u32 $r0 u32 0x5556\nlong shr u32 $r5 $r5 clamp 0x10\nlong add $r5 (mul s32 $r5 s32 -0x3) $r0\n\
                long set $p0 0x1 eq u32 $r5 0x0\nlong set $p1 0x1 eq u32 $r5 0x1\nlong shl b32 $r6 $r0 clamp 0x2\n\
                long add b32 $r7 $r6 c0[0x0]\nlong mov b32 $r8 c0[0x4]\nlong selp b32 $r7 $r7 $r3 $p0\n\
                long selp b32 $r7 $r8 $r7 $p1\nlong mov b32 $r9 0x64\nlong st b32 wb g[$r7] $r9\n\
                long red add u32 g[$r7] $r0\nlong ld max u32 $r10 g[$r7] $r0\nlong ld b32 $r11 ca g[$r7]\n\
                long mov b32 $r12 $r11\nlong mov b32 $r14 0x7\nlong cas b32 $r13 g[$r7] $r12 $r14\n\
                long ld b32 $r4 ca g[$r7]\nlong add b32 $r4 $r4 $r10\nlong add b32 $r4 $r4 $r13";
    let got = run(&whole(body), &Setup { threads: 64, ..Setup::default() });
    // 100 + thread before, the same after the maximum, 7 in the end.
    assert_eq!(got, (0..64).map(|thread| 2 * (100 + thread) + 7).collect::<Vec<_>>());
}

#[test]
fn local_memory_of_more_than_64_kib() {
    let body = "long mov b32 $r5 0x12340\nlong add b32 $r6 $r0 0x1\nlong st b32 wb l[$r5] $r6\n\
                long mov b32 $r7 0x2340\nlong ld b32 $r8 ca l[$r7]\nlong ld b32 $r4 ca l[$r5]\n\
                long add b32 $r4 $r4 $r8\nlong add b32 $r9 $r5 c0[0x4]\nlong ld b32 $r10 ca g[$r9]\n\
                long shl b32 $r10 $r10 clamp 0x10\nlong or b32 $r4 $r4 $r10";
    let got = run(&whole(body), &Setup { local: 0x2_0000, ..Setup::default() });
    assert_eq!(got, (1..33).map(|n| n << 16 | n).collect::<Vec<_>>());
}

#[test]
fn addresses_must_be_aligned() {
    for access in ["ld b32 $r4 s[0x2]", "ld b64 $r4d s[0x4]", "st b32 s[0x1] $r0", "ld b32 $r4 ca l[0x6]"] {
        let got = outcome(&code(&whole(&format!("long {access}")), Chip::Gf100), &Setup::default());
        assert_eq!(got, Err("Memory at 0x20".into()), "{access}");
        // Not where the guard leaves it out.
        run(&whole(&format!("long never {access}\nlong $p0 {access}")), &Setup::default());
    }
}

/// Threads of all blocks add one to the first word, each with the lock of the word; `$r4` is the thread's own word plus something.
#[test]
fn locks_of_global_memory() {
    let body = "long mov b32 $r5 c0[0x20]\nlong mov b32 $r8 0x0\nagain:\n\
                long ld lock b32 $p1 $r6 g[$r5]\nlong $p1 add b32 $r6 $r6 0x1\n\
                long $p1 st unlock b32 g[$r5] $r6\nlong (not $p1) bra #again\n\
                long bar popc 0x1 0x0 0x0 0x0 0x1\nlong set $p2 0x1 eq u32 $r2 0x0\nlong ld b32 $r4 ca g[$r3]";
    let got = run(&whole(body), &Setup { threads: 64, blocks: 3, ..Setup::default() });
    // Later blocks still add to the word that thread 0 has stored back.
    assert_eq!(got.iter().sum::<u32>(), 192);
    let missing = "long ld lock b32 $p1 $r6 g[0x10]";
    assert_eq!(outcome(&code(&whole(missing), Chip::Gf100), &Setup::default()), Err("Memory at 0x20".into()));
    // Other sizes than a word.
    let narrow = "long mov b32 $r6 0x7fff\nlong ld lock u8 $p1 $r7 g[$r3+0x1]\nlong $p1 st unlock u16 g[$r3+0x2] $r6\n\
                  long ld lock b32 $p1 $r5 g[$r3]\nlong ld b32 $r4 ca g[$r3]\nlong $p1 st unlock b32 g[$r3] $r5";
    assert_eq!(run(&whole(narrow), &Setup::default()), vec![0x7fff_0000; 32]);
}

/// GK104 says in a predicate whether the store was made.
#[test]
fn locks_of_shared_memory_on_gk104() {
    let sched = "sched 0x20 0x20 0x20 0x20 0x20 0x20 0x20\n";
    let text = format!(
        "{sched}long mov b32 $r0 $tidx\nlong add b32 $r3 (shl $r0 0x2) c0[0x140]\nlong mov b32 $r4 0x0\nagain:\n\
         long ld lock $p1 $r6 s[0x10]\nlong $p1 add b32 $r6 $r6 0x1\n\
         long $p1 st unlock $p2 s[0x10] $r6\nlong (not $p2) bra #again\n\
         {sched}long ld b32 $r4 s[0x10]\nlong st b32 wb g[$r3] $r4\nlong exit\n"
    );
    let got = run(&text, &Setup { chip: Chip::Gk104, ..Setup::default() });
    assert_eq!(got, vec![32; 32]);
}

#[test]
fn targets_in_constant_memory() {
    // Lanes part at `else`, the join point is in c2[]; then a loop whose ends are in c2[], and a call.
    let text = whole(
        "long set $p0 0x1 lt u32 $r0 0x10\nlong mov b32 $r4 0x0\n\
         push:\nlong joinat pcrel c2[0x0]\nlong $p0 bra c2[0x4]\nlong add b32 $r4 $r4 0x1\nlong join nop\n\
         else:\nlong add b32 $r4 $r4 0x2\nlong join nop\n\
         joined:\nlong add b32 $r4 $r4 0x10\nlong mov b32 $r5 0x0\n\
         break:\nlong prebrk pcrel c2[0x8]\n\
         loop:\nlong precont pcrel c2[0xc]\n\
         long set $p1 0x1 ge u32 $r5 $r0\nlong $p1 brk\nlong add b32 $r5 $r5 0x1\nlong cont\n\
         out:\nlong add b32 $r4 $r4 $r5\nlong mov b32 $r6 0x0\n\
         call:\nlong call pcrel c2[0x10]\nlong call c2[0x14]\n\
         preret:\nlong preret pcrel c2[0x18]\nlong mov b32 $r7 0x1c\nlong bra c2[$r7]\n\
         returned:\nlong mov b32 $r8 0x4\nrelative:\nlong bra pcrel c2[$r8+0x1c]\n\
         long mov b32 $r4 0x0\nlast:\nlong mov b32 $r9 0x8\njump:\nlong bra $r9 #base\nlong mov b32 $r4 0x0\n\
         long mov b32 $r4 0x0\nbase:\nlong mov b32 $r4 0x0\nend:\nlong add b32 $r4 $r4 $r6",
    ) + "function:\nlong add b32 $r6 $r6 0x100\nlong ret\n";
    let at = |label| address_of(&text, label);
    let words = [
        at("joined") - (at("push") + 8),
        at("else"),
        at("out") - (at("break") + 8),
        // The loop's head again, from where its entry is pushed.
        (at("loop")).wrapping_sub(at("loop") + 8),
        at("function") - (at("call") + 8),
        at("function"),
        at("returned") - (at("preret") + 8),
        at("function"),
        at("last") - (at("relative") + 8),
    ];
    let bank = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let got = run(&text, &Setup { consts: vec![(2, bank)], ..Setup::default() });
    let want = |lane: u32| 0x10 + lane + if lane < 16 { 2 } else { 1 } + 0x300;
    assert_eq!(got, (0..32).map(want).collect::<Vec<_>>());
}

#[test]
fn long_jumps() {
    // Out of two calls and a loop at once, for half of the lanes; the others come back the ordinary way.
    let text = whole(
        "long mov b32 $r4 0x0\nlong set $p0 0x1 lt u32 $r0 0x10\nlong prelongjmp #away\n\
         long call #outer\nlong add b32 $r4 $r4 0x1000\nlong longjmp\n\
         away:\nlong add b32 $r4 $r4 0x1",
    ) + "outer:\nlong call #inner\nlong add b32 $r4 $r4 0x100\nlong ret\n\
         inner:\nlong $p0 longjmp\nlong add b32 $r4 $r4 0x10\nlong ret\n";
    let got = run(&text, &Setup::default());
    assert_eq!(got, (0..32).map(|lane| if lane < 16 { 1 } else { 0x1111 }).collect::<Vec<_>>());
}

/// What has no effect, and what a launch defines.
#[test]
fn hints_and_special_registers() {
    let body = "long membar cta\nlong membar gl\nlong membar sys\nlong cctl pf1 0x0 g[$r3]\nlong ldu b32 $r5 g[$r3]\n\
                long mov b32 $r4 $r5";
    assert_eq!(run(&whole(body), &Setup::default()), vec![0; 32]);
    let special = |name: &str, threads: u32, blocks: u32| {
        let body = format!("long mov b32 $r4 {name}");
        run(&whole(&body), &Setup { threads, blocks, ..Setup::default() })
    };
    assert_eq!(special("$laneid", 40, 1)[30..36], [30, 31, 0, 1, 2, 3]);
    assert_eq!(special("$ntidx", 40, 2)[0], 40);
    assert_eq!(special("$nctaidx", 40, 3)[79], 3);
    assert_eq!(special("$ctaidx", 40, 3)[79], 1);
    assert_eq!(special("$ntidy", 40, 3)[79], 1);
    assert_eq!(special("$smemsz", 32, 1)[0], 1024);
    assert_eq!(special("$lanemask_lt", 32, 1)[5], 0x1f);
    assert_eq!(special("$lanemask_ge", 32, 1)[5], 0xffff_ffe0);
    // Two readings of the clock.
    let body = "long mov b32 $r5 $clock\nlong mov b32 $r6 $clock\nlong set $p0 0x1 gt u32 $r6 $r5\n\
                long mov b32 $r4 0x0\nlong $p0 mov b32 $r4 0x1";
    assert_eq!(run(&whole(body), &Setup::default()), vec![1; 32]);
}

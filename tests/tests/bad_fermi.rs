//! Tests bad Fermi programs and launches: each ends in the fault or the message that is pinned here, the same in both tiers.
//! Damaged cubins are in `fermi_cubins.rs`.

use warpjit_frontend::fermi::Chip;
use warpjit_runtime::{Engine, Isa, Launch, Program, ProgramOptions};
use warpjit_tests::fermi::{Setup, address_of, code, outcome, whole};

/// Runs a body; the fault and its address, or what thread 0 stores.
fn fault(body: &str, setup: &Setup) -> String {
    match outcome(&code(&whole(body), setup.chip), setup) {
        Err(fault) => fault,
        Ok(words) => format!("ok {}", words[0]),
    }
}

/// The fault of a body whose faulting instruction has the label `here`.
#[track_caller]
fn faults(kind: &str, body: &str, setup: &Setup) {
    let at = address_of(&whole(body), "here");
    assert_eq!(fault(body, setup), format!("{kind} at {at:#x}"), "{body}");
}

#[test]
fn memory() {
    let one = Setup::default();
    for access in [
        // Nothing is mapped; one lane of many; beyond what addresses have.
        "ld b32 $r4 ca g[0x40]",
        "st b32 wb g[0x40] $r4",
        "red add u32 g[0x40] $r4",
        "exch b64 $r6d g[0x40] $r4d",
        "ld lock b32 $p0 $r4 g[0x40]",
        "st unlock b32 g[0x40] $r4",
        "ld b32 $r4 ca g[$r8d]",
        "st b128 wb g[$r8d] $r4q",
        "ld add u32 $r4 g[$r8d] $r0",
        "ldu b32 $r4 g[$r8d]",
        // Misaligned, in each memory.
        "ld b32 $r4 ca g[$r3+0x2]",
        "st u16 wb g[$r3+0x1] $r4",
        "ld b64 $r6d ca g[$r3+0x4]",
        "red add u32 g[$r3+0x1] $r4",
        "ld b128 $r4q s[0x8]",
        "st b64 wb l[0x4] $r4d",
        "ld lock b32 $p0 $r4 s[0x3]",
    ] {
        let body = format!(
            "long mov b32 $r8 $r3\nlong mov b32 $r9 0x100\nlong mov b32 $r4 0x0\nlong mov b32 $r5 0x0\nhere:\nlong {access}"
        );
        if access == "ld lock b32 $p0 $r4 s[0x3]" {
            // The lock is the word's; the load behind it is what is misaligned.
            assert!(fault(&body, &one).starts_with("Memory at"), "{access}");
            continue;
        }
        faults("Memory", &body, &one);
        // Nobody who executes it, nothing that happens.
        let nobody = body.replace(&format!("here:\nlong {access}"), &format!("long $p5 {access}"));
        assert_eq!(fault(&nobody, &one), "ok 0", "{access}");
    }
    let lane = "long mov b32 $r4 0x0\nlong set $p0 0x1 eq u32 $r0 0x13\nlong $p0 mov b32 $r3 0x40\nhere:\nlong ld b32 $r4 ca g[$r3]";
    faults("Memory", lane, &one);
    // Beyond shared, local and constant memory there are zeros.
    for access in ["ld b32 $r4 s[0x10000]", "ld b32 $r4 ca l[0x100000]", "ld b32 $r4 c5[0x7ff0]"] {
        assert_eq!(fault(&format!("long mov b32 $r4 0x1\nlong {access}"), &one), "ok 0", "{access}");
    }
}

#[test]
fn the_stack() {
    let one = Setup::default();
    faults("Stack", "here:\nlong join nop", &one);
    faults("Stack", "here:\nlong quadpop", &one);
    faults("Stack", "deeper:\nhere:\nlong call #deeper", &one);
    faults("Stack", "deeper:\nhere:\nlong joinat #deeper\nlong bra #deeper", &one);
    // The entry on top is no branch and no join.
    faults("Stack", "long prebrk #out\nhere:\nlong join nop\nout:", &one);
    // Leaving to what nobody has pushed ends the thread.
    for way in ["brk", "cont", "longjmp", "ret"] {
        assert_eq!(fault(&format!("long mov b32 $r4 0x7\nlong {way}"), &one), "ok 0", "{way}");
    }
}

#[test]
fn where_there_is_no_code() {
    let one = Setup::default();
    // The fault is at the place that is not there, or at the branch that computes it.
    assert_eq!(fault("long bra abs 0x2000", &one), "Illegal at 0x2000");
    assert_eq!(fault("long bra abs 0x24", &one), "Illegal at 0x24");
    faults("Illegal", "long mov b32 $r5 0x10000\nhere:\nlong bra $r5 abs 0x0", &one);
    faults("Illegal", "long mov b32 $r5 0x4\nhere:\nlong bra $r5 abs 0x20", &one);
    faults("Illegal", "here:\nlong bra c2[0x0]", &Setup { consts: vec![(2, vec![0xff; 4])], ..one.clone() });
    faults("Illegal", "here:\nlong call c2[0x0]", &Setup { consts: vec![(2, vec![0xff; 4])], ..one.clone() });
    // A pushed target counts only when lanes get there.
    let pushed = Setup { consts: vec![(2, vec![0, 0, 1, 0])], ..one.clone() };
    faults("Illegal", "here:\nlong prebrk pcrel c2[0x0]\nlong brk", &pushed);
    assert_eq!(fault("long mov b32 $r4 0x7\nlong prebrk pcrel c2[0x0]", &pushed), "ok 7");
    // Off the end.
    let mut short = code("long mov b32 $r4 0x1\nlong nop\n", Chip::Gf100);
    assert_eq!(outcome(&short, &one), Err("Illegal at 0x10".into()));
    short.extend([0xff; 8]);
    assert_eq!(outcome(&short, &one), Err("Illegal at 0x10".into()));
}

#[test]
fn illegal_and_trap() {
    let one = Setup::default();
    for inst in ["discard", "rtt", "bar read $r4 0x1", "mov b32 $r4 c18[0x0]", "suq dim $r4 img[0x2]"] {
        let assembled = code(&format!("long {inst}\n"), Chip::Gf100);
        assert_eq!(outcome(&assembled, &one), Err("Illegal at 0x0".into()), "{inst}");
    }
    faults("Trap", "here:\nlong bpt trap 0x0", &one);
    assert_eq!(fault("long mov b32 $r4 0x7\nlong bpt drain 0x0\nlong bpt pause 0x0", &one), "ok 7");
}

#[test]
fn waiting_for_ever() {
    // One warp at each of two barriers.
    let apart = "long shr u32 $r5 $r0 wrap 0x5\nlong set $p0 0x1 eq u32 $r5 0x0\n\
                 long $p0 bra #other\nhere:\nlong bar popc 0x1 0x0 0x1 0x0 0x1\nlong exit\n\
                 other:\nlong bar popc 0x1 0x0 0x2 0x0 0x1";
    assert!(fault(apart, &Setup { threads: 64, ..Setup::default() }).starts_with("Barrier at"));
    // More threads wanted than there are, by number and by register.
    faults(
        "Barrier",
        "here:\nlong bar popc 0x1 0x0 0x1 0x80 0x1",
        &Setup { threads: 64, ..Setup::default() },
    );
    let register = "long mov b32 $r5 0x80\nhere:\nlong bar popc 0x1 0x0 0x1 $r5 0x1";
    faults("Barrier", register, &Setup { threads: 64, ..Setup::default() });
    // Time runs out wherever the warp is then.
    assert!(fault("again:\nlong bra #again", &Setup::default()).starts_with("Timeout at"));
    // A lock that nobody gives back.
    let locked = "long set $p2 0x1 eq u32 $r0 0x0\nlong joinat #join\nagain:\nlong ld lock b32 $p0 $r5 s[0x0]\n\
                  long (not $p0) bra #again\nlong join nop\njoin:\nlong mov b32 $r4 0x0";
    assert!(fault(locked, &Setup::default()).starts_with("Timeout at"));
}

#[test]
fn launches() {
    let engine = Engine::new(warpjit_runtime::Config::default()).unwrap();
    let refusal = |registers: Option<u32>, shared: Option<u32>, local: Option<u32>, launch: Launch| {
        let options = ProgramOptions::new(Isa::Fermi)
            .raw(true)
            .chip(Some("gf100".parse().unwrap()))
            .registers(registers)
            .shared(shared)
            .local(local);
        let program = match Program::load(&code("long exit\n", Chip::Gf100), &options) {
            Ok(program) => program,
            Err(error) => return error.to_string(),
        };
        let memory = engine.memory().unwrap();
        engine.run(&program, &memory, &launch).map(drop).unwrap_err().to_string()
    };
    let with = |grid, block| Launch::default().grid(grid).block(block);
    let one = || with([1, 1, 1], [32, 1, 1]);
    let cases = [
        (refusal(Some(64), None, None, one()), "64 registers of a thread, the chip has 63"),
        (refusal(None, Some(0xc001), None, one()), "49153 bytes of shared memory, the chip has 49152"),
        (
            refusal(None, None, Some(0x8_0001), one()),
            "524289 bytes of local memory a thread, the chip has 524288",
        ),
        (refusal(None, None, None, with([65536, 1, 1], [32, 1, 1])), "65536 blocks along x"),
        (refusal(None, None, None, with([1, 1, 1], [1, 1, 65])), "65 threads along z"),
        (refusal(None, None, None, with([1, 1, 1], [1024, 2, 1])), "1024"),
        (refusal(None, None, None, one().consts(vec![(18, vec![0; 4])])), "18"),
    ];
    for (message, wanted) in cases {
        assert!(message.contains(wanted), "{message}, want {wanted}");
    }
}

//! Tests bad guests and launches: each ends in the fault or the message that is pinned here, the same in both tiers. Bad launch
//! files are in `launch_file.rs`, damaged containers in `bad_programs.rs`.

use warpjit_runtime::FaultKind;
use warpjit_tests::guest::Guest;

const ONE_WARP: &str = "[launch]\ngrid = [1, 1, 1]\nblock = [32, 1, 1]\n";

/// A block of `warps` warps.
fn warps(warps: u32) -> String {
    format!("[launch]\ngrid = [1, 1, 1]\nblock = [{}, 1, 1]\n", warps * 32)
}

/// One warp, a buffer of `access` at 0x10000 of one page and nothing mapped behind it.
fn one_page(access: &str) -> String {
    format!("{ONE_WARP}[[buffer]]\nname = 'a'\nbytes = 4096\naddress = 0x10000\naccess = '{access}'\n")
}

/// Sets `$r2` to `good + 4 * lane`, but to `bad` in `lane`.
fn one_lane_of_many(lane: u32, good: u32, bad: u32) -> String {
    format!(
        "and b32 $r0 $r0 0xffff\nshl b32 $r2 $r0 0x2\nadd b32 $r2 $r2 {good:#x}\nmov b32 $r3 {lane:#x}\n\
         set $c0 # e u32 $r0 $r3\nmov b32 $r3 {bad:#x}\n(lg $c0) mov b32 $r2 $r3\n"
    )
}

/// Pins kind, pc and text of the fault.
#[track_caller]
fn faults(guest: &Guest, kind: FaultKind, text: &str) {
    let fault = guest.fault();
    assert_eq!(fault.to_string(), text);
    assert_eq!(fault.kind, kind);
}

#[test]
fn unmapped_load_of_one_lane() {
    let source = one_lane_of_many(19, 0x10000, 0x20000) + "ld b32 $r1 g14[$r2]\nexit nop\n";
    faults(
        &Guest::new(&source, &one_page("rw")),
        FaultKind::Memory,
        "memory fault at pc 0x38, block (0, 0, 0), warp 0, lane 19: load from global 0x20000",
    );
}

#[test]
fn unmapped_store_of_one_lane() {
    let source = one_lane_of_many(31, 0x10000, 0x11000) + "st b32 g14[$r2] $r0\nexit nop\n";
    faults(
        &Guest::new(&source, &one_page("rw")),
        FaultKind::Memory,
        "memory fault at pc 0x38, block (0, 0, 0), warp 0, lane 31: store to global 0x11000",
    );
}

#[test]
fn store_to_read_only_memory() {
    let source =
        one_lane_of_many(7, 0x10000, 0x10400) + "ld b32 $r1 g14[$r2]\nst b32 g14[$r2] $r1\nexit nop\n";
    faults(
        &Guest::new(&source, &one_page("r")),
        FaultKind::Memory,
        "memory fault at pc 0x40, block (0, 0, 0), warp 0, lane 0: store to global 0x10000",
    );
}

#[test]
fn misaligned_access_of_one_lane() {
    let source = one_lane_of_many(5, 0x10000, 0x10002) + "ld b32 $r1 g14[$r2]\nexit nop\n";
    faults(
        &Guest::new(&source, &one_page("rw")),
        FaultKind::Memory,
        "memory fault at pc 0x38, block (0, 0, 0), warp 0, lane 5: load from global 0x10002",
    );
    let source = one_lane_of_many(5, 0x10000, 0x10001) + "st u16 g14[$r2] $r1\nexit nop\n";
    faults(
        &Guest::new(&source, &one_page("rw")),
        FaultKind::Memory,
        "memory fault at pc 0x38, block (0, 0, 0), warp 0, lane 5: store to global 0x10001",
    );
    let source =
        one_lane_of_many(2, 0x10000, 0x10024) + "shl b32 $r2 $r2 0x0\nld b64 $r4d g14[$r2]\nexit nop\n";
    let fault = Guest::new(&source, &one_page("rw")).fault();
    assert_eq!((fault.kind, fault.pc), (FaultKind::Memory, 0x40));
}

#[test]
fn atomic_on_unmapped_memory() {
    let source = one_lane_of_many(9, 0x10000, 0xfff0_0000) + "red add u32 g14[$r2] $r0\nexit nop\n";
    faults(
        &Guest::new(&source, &one_page("rw")),
        FaultKind::Memory,
        "memory fault at pc 0x38, block (0, 0, 0), warp 0, lane 9: store to global 0xfff00000",
    );
}

#[test]
fn null_pointer_and_end_of_the_address_space() {
    for address in ["0x0", "0xfffffffc"] {
        let source = format!("mov b32 $r2 {address}\nld b32 $r1 g14[$r2]\nexit nop\n");
        let fault = Guest::new(&source, &one_page("rw")).fault();
        assert_eq!((fault.kind, fault.pc, fault.lane, fault.store), (FaultKind::Memory, 8, 0, false));
    }
}

#[test]
fn stores_before_a_fault_are_kept() {
    let source = "and b32 $r0 $r0 0xffff\nshl b32 $r2 $r0 0x2\nadd b32 $r2 $r2 0x10000\nst b32 g14[$r2] $r0\n\
                  mov b32 $r3 0x0\nst b32 g14[$r3] $r0\nst b32 g14[$r2] $r3\nexit nop\n";
    let launch = one_page("rw")
        + "[[expect]]\nfault = 'memory'\npc = 0x28\nlane = 0\n\
                                   [[expect]]\nbuffer = 'a'\nu32 = [0, 1, 2, 3]\ntype = 'u32'\n";
    let outcome = Guest::new(source, &launch).run_everywhere();
    assert_eq!(outcome.status as u8, 0, "{}", outcome.to_text(false));
}

#[test]
fn unknown_encodings() {
    let mut guest = Guest::new("nop\nexit nop\n", ONE_WARP);
    // Primary opcode 0, secondary 0 is no instruction of a compute program.
    guest.code[8..16].copy_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0]);
    faults(
        &guest,
        FaultKind::Illegal,
        "illegal fault at pc 0x8, block (0, 0, 0), warp 0, lane 0: 01 00 00 00 00 00 00 00",
    );
    // What only later chips have.
    let mut guest = Guest::new("nop\nexit nop\n", ONE_WARP);
    let vote = [0x01, 0x02, 0x00, 0x10, 0x80, 0x07, 0x00, 0x60];
    guest.code[8..16].copy_from_slice(&vote);
    faults(
        &guest,
        FaultKind::Illegal,
        "illegal fault at pc 0x8, block (0, 0, 0), warp 0, lane 0: 01 02 00 10 80 07 00 60",
    );
}

#[test]
fn graphics_instructions_in_a_compute_program() {
    let mut guest = Guest::new("nop\nexit nop\n", ONE_WARP);
    let discard = [0x03, 0x00, 0x00, 0x00, 0x80, 0x07, 0x00, 0x00];
    guest.code[..8].copy_from_slice(&discard);
    faults(
        &guest,
        FaultKind::Illegal,
        "illegal fault at pc 0x0, block (0, 0, 0), warp 0, lane 0: 03 00 00 00 80 07 00 00",
    );
}

#[test]
fn code_without_an_end() {
    faults(
        &Guest::new("nop\nnop\n", ONE_WARP),
        FaultKind::Illegal,
        "illegal fault at pc 0x10, block (0, 0, 0), warp 0, lane 0",
    );
    // Cut within an instruction.
    let mut guest = Guest::new("nop\nexit nop\n", ONE_WARP);
    guest.code.truncate(12);
    let fault = guest.fault();
    assert_eq!((fault.kind, fault.pc), (FaultKind::Illegal, 8));
}

#[test]
fn branch_out_of_the_code() {
    faults(
        &Guest::new("nop\nbra 0x1000\nexit nop\n", ONE_WARP),
        FaultKind::Illegal,
        "illegal fault at pc 0x1000, block (0, 0, 0), warp 0, lane 0",
    );
    faults(
        &Guest::new("call 0x2000\nexit nop\n", ONE_WARP),
        FaultKind::Illegal,
        "illegal fault at pc 0x2000, block (0, 0, 0), warp 0, lane 0",
    );
    // Half of the lanes.
    let source =
        "and b32 $r1 $r0 0x1\nmov b32 $r2 0x1\nset $c0 # e u32 $r1 $r2\n(lg $c0) bra 0x800\nexit nop\n";
    let fault = Guest::new(source, ONE_WARP).fault();
    assert_eq!((fault.kind, fault.pc, fault.lane), (FaultKind::Illegal, 0x800, 1));
}

#[test]
fn branch_into_an_instruction() {
    // The second word of a long instruction is an instruction of its own there: whatever it is, both
    // tiers agree.
    let source = "bra 0xc\nmov b32 $r1 0x12345678\nexit nop\n";
    let _ = Guest::new(source, ONE_WARP).run_everywhere();
}

#[test]
fn traps_of_one_lane_and_of_the_second_warp() {
    let source = "and b32 $r0 $r0 0xffff\nmov b32 $r1 0x28\nset $c0 # e u32 $r0 $r1\n(e $c0) bra #end\ntrap\nend:\nexit nop\n";
    let fault = Guest::new(source, &warps(2)).fault();
    assert_eq!((fault.kind, fault.pc, fault.warp, fault.lane), (FaultKind::Trap, 0x20, 1, 8));
}

#[test]
fn endless_loops_stop_at_max_steps() {
    let steps = |n: u32| ONE_WARP.replace("[launch]", &format!("[launch]\nmax_steps = {n}"));
    faults(
        &Guest::new("again:\nbra #again\n", &steps(1000)),
        FaultKind::Timeout,
        "timeout fault at pc 0x0, block (0, 0, 0), warp 0, lane 0",
    );
    let body =
        "mov b32 $r1 0x0\nmov b32 $r2 0x1\nagain:\nadd b32 $r1 $r1 $r2\nmul rn f32 $r3 $r1 $r1\nbra #again\n";
    let fault = Guest::new(body, &steps(100_000)).fault();
    assert_eq!(fault.kind, FaultKind::Timeout);
    // Enough is enough.
    let outcome = Guest::new("nop\nnop\nexit nop\n", &steps(3)).run_everywhere();
    assert_eq!(outcome.fault, None);
}

#[test]
fn a_warp_that_spins_on_a_flag_lets_the_others_run() {
    // Warp 0 waits for a word that warp 1 writes.
    let source = "and b32 $r0 $r0 0xffff\nmov b32 $r2 0x10000\nmov b32 $r3 0x20\nmov b32 $r5 0x1\n\
                  set $c0 # ge u32 $r0 $r3\n(lg $c0) bra #write\n\
                  wait:\nld b32 $r1 g14[$r2]\nset $c0 # lg u32 $r1 $r5\n(lg $c0) bra #wait\nexit nop\n\
                  write:\nst b32 g14[$r2] $r5\nexit nop\n";
    let launch = one_page("rw").replace("[32, 1, 1]", "[64, 1, 1]");
    let outcome = Guest::new(source, &launch).run_everywhere();
    assert_eq!(outcome.fault, None);
}

#[test]
fn barrier_deadlocks() {
    // Two warps, each at a barrier of its own.
    let source = "and b32 $r0 $r0 0xffff\nmov b32 $r3 0x20\nset $c0 # ge u32 $r0 $r3\n(lg $c0) bra #other\n\
                  bar inc wait 0x0 all\nexit nop\nother:\nbar inc wait 0x1 all\nexit nop\n";
    let fault = Guest::new(source, &warps(2)).fault();
    assert_eq!((fault.kind, fault.pc, fault.warp, fault.lane), (FaultKind::Barrier, 0x20, 0, 0));
    // A count that can't be reached because a warp has ended.
    let source = "and b32 $r0 $r0 0xffff\nmov b32 $r3 0x20\nset $c0 # ge u32 $r0 $r3\n(lg $c0) ret\n\
                  bar inc wait 0x0 0x2\nexit nop\n";
    let fault = Guest::new(source, &warps(2)).fault();
    assert_eq!((fault.kind, fault.pc, fault.warp), (FaultKind::Barrier, 0x20, 0));
    // One that waits for all living warps opens when the others have ended.
    let source = source.replace("0x0 0x2", "0x0 all");
    assert_eq!(Guest::new(&source, &warps(2)).run_everywhere().fault, None);
}

#[test]
fn divergence_stack_overflow() {
    faults(
        &Guest::new("again:\ncall #again\n", ONE_WARP),
        FaultKind::Stack,
        "stack fault at pc 0x0, block (0, 0, 0), warp 0, lane 0",
    );
    faults(
        &Guest::new("nop\nagain:\njoinat #again\nbra #again\n", ONE_WARP),
        FaultKind::Stack,
        "stack fault at pc 0x8, block (0, 0, 0), warp 0, lane 0",
    );
}

#[test]
fn divergence_stack_underflow() {
    faults(
        &Guest::new("nop\njoin nop\nexit nop\n", ONE_WARP),
        FaultKind::Stack,
        "stack fault at pc 0x8, block (0, 0, 0), warp 0, lane 0",
    );
    let fault = Guest::new("quadpop\nexit nop\n", ONE_WARP).fault();
    assert_eq!((fault.kind, fault.pc), (FaultKind::Stack, 0));
}

#[test]
fn more_than_the_chip_has() {
    let mut many = String::from(ONE_WARP);
    for _ in 0..100 {
        many += "[[arg]]\nu32 = 1\n";
    }
    let refusal = Guest::new("exit nop\n", &many).refusal();
    assert_eq!(refusal, "guest.toml: launch: arguments take 400 bytes, there is room for 256");
    let shared = ONE_WARP.replace("[launch]", "[launch]\ndynamic_shared = 20000");
    let refusal = Guest::new("exit nop\n", &shared).refusal();
    assert_eq!(
        refusal,
        "guest.toml: launch: the program needs 20016 bytes of shared memory, the chip has 16384"
    );
}

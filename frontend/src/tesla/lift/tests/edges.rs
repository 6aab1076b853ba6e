//! Runs programs that reach the limits of the code or of an encoding: the end of the code, branch targets outside it, undefined
//! words.

use warpjit_ir::Meter;
use warpjit_ir::interp::{Denied, Fault, FaultKind, WarpMemory, atomic_result};
use warpjit_ir::{AtomicOp, Space};

use crate::tesla::lift::{Options, lift};
use crate::tesla::{Chip, Target, assemble};
use crate::testing::{illegal_at, run_warp};

/// Const banks; shared memory that counts up; nothing global.
struct Memory<'a>(&'a [(u8, &'a [u8])]);

impl WarpMemory for Memory<'_> {
    fn load(&mut self, space: Space, _: u32, address: u64, bytes: u8) -> Result<u64, Denied> {
        let byte = |at: u64| match space {
            Space::Const(n) => self
                .0
                .iter()
                .find(|(bank, _)| *bank == n)
                .and_then(|(_, bytes)| bytes.get(at as usize))
                .copied()
                .unwrap_or(0),
            _ => at as u8,
        };
        if matches!(space, Space::Global(_)) {
            return Err(Denied);
        }
        Ok((0..u64::from(bytes)).map(|n| u64::from(byte(address + n)) << (8 * n)).sum())
    }

    fn store(&mut self, space: Space, _: u32, _: u64, _: u8, _: u64) -> Result<(), Denied> {
        if matches!(space, Space::Global(_)) { Err(Denied) } else { Ok(()) }
    }

    /// Every word holds 0x8584, and what would be stored comes back in the upper half of what is read.
    fn atomic(
        &mut self,
        _: Space,
        _: u32,
        _: u64,
        bytes: u8,
        op: AtomicOp,
        value: u64,
        new: u64,
    ) -> Result<u64, Denied> {
        Ok(atomic_result(op, bytes, 0x8584, value, new) << 16 & 0xffff_0000 | 0x8584)
    }

    fn lock(&mut self, _: u32, _: u64) -> bool {
        true
    }
}

/// Runs code and gives the lanes of the named slot.
fn run_code(
    code: &[u8],
    chip: Chip,
    banks: &[(u8, &[u8])],
    known: bool,
    slot: &str,
) -> Result<Vec<u32>, Fault> {
    let options = Options {
        name: "test",
        target: Target::compute(chip),
        base: 0,
        entry: 0,
        registers: 8,
        const_banks: if known { banks } else { &[] },
        plan: None,
        mailbox: 0,
    };
    let func = lift(code, &options, &Meter::unlimited()).expect("no limits");
    run_warp(&func, &mut Memory(banks), slot)
}

fn assembled(text: &str, chip: Chip) -> Vec<u8> {
    assemble(text, Target::compute(chip)).unwrap_or_else(|error| panic!("{error}")).code
}

/// Runs a program on G200 and gives `$r1`.
fn run(text: &str) -> Result<Vec<u32>, Fault> {
    run_code(&assembled(text, Chip::G200), Chip::G200, &[], false, "r1")
}

#[test]
fn branch_out_of_the_code() {
    assert_eq!(illegal_at(run("bra 0x1000\n")), 0x1000);
    assert_eq!(illegal_at(run("mov b32 $r1 0x5\n")), 8);
}

#[test]
fn branch_into_an_instruction() {
    assert_eq!(illegal_at(run("bra 0xc\nmov b32 $r1 0x5\nexit nop\n")), 0xc);
    // The second of two short instructions is one.
    assert_eq!(run("bra 0xc\nmov b32 $r1 $r7\nmov b32 $r1 $r7\nexit nop\n").unwrap(), [0; 32]);
}

#[test]
fn unaligned_long_instruction() {
    let mut code = 0x1000_8004u32.to_le_bytes().to_vec();
    code.extend(assembled("exit nop\n", Chip::G200));
    assert_eq!(illegal_at(run_code(&code, Chip::G200, &[], false, "r1")), 4);
}

#[test]
fn lanes_that_do_not_reach_a_fault() {
    // Only lane 3 gets to `texcsaa`, of which nobody knows what it does, and faults there; if nobody does, nothing happens.
    let mut code = assembled("mov b32 $r2 0x3\nset $c0 # e u32 $r0 $r2\n", Chip::G200);
    code.extend(0x8000_0280_f000_0001u64.to_le_bytes());
    code.extend(assembled("exit nop\n", Chip::G200));
    let fault = run_code(&code, Chip::G200, &[], false, "r1").expect_err("a fault");
    assert_eq!((fault.kind, fault.pc, fault.lane), (FaultKind::Illegal, 0x10, 3));
    let mut nobody = code;
    // The immediate is the first instruction's: 0x23 is no lane.
    nobody[2] |= 0x20;
    assert!(run_code(&nobody, Chip::G200, &[], false, "r1").is_ok());
}

#[test]
fn registers_beyond_the_allotted() {
    assert_eq!(
        run("mov b32 $r1 0x5\nlong mov b32 $r20 $r1\nlong add b32 $r1 $r1 $r20\nexit nop\n").unwrap(),
        [5; 32]
    );
}

#[test]
fn post_increment() {
    // Loads 4 bytes from 8 and leaves 12 in the register.
    let text = "mov b32 $r2 0x8\nshl $a1 $r2 0x0\nmov b32 $r1 b32 s[$a1++0x4]\nmov $r1 $a1\nexit nop\n";
    assert_eq!(run(text).unwrap(), [12; 32]);
    let text = "mov b32 $r2 0x8\nshl $a1 $r2 0x0\nlong mov b32 $r1 b32 s[$a1++0x4]\nexit nop\n";
    assert_eq!(run(text).unwrap(), [0x0b0a_0908; 32]);
    // $a0 cannot be stepped.
    let mut code = assembled("long mov b32 $r1 b32 s[$a1++0x4]\nexit nop\n", Chip::G200);
    let word = u64::from_le_bytes(code[..8].try_into().unwrap()) & !(3 << 26) & !(1 << 34);
    code[..8].copy_from_slice(&word.to_le_bytes());
    assert_eq!(illegal_at(run_code(&code, Chip::G200, &[], false, "r1")), 0);
}

#[test]
fn indirect_branch() {
    let text = "and b32 $r2 $r0 0x1\nshl b32 $r2 $r2 0x2\nshl $a1 $r2 0x0\nbra c1[$a1]\n\
                mov b32 $r1 0x5\nexit nop\nmov b32 $r1 0x6\nexit nop\n";
    let code = assembled(text, Chip::G200);
    let mut table = 0x20u32.to_le_bytes().to_vec();
    table.extend(0x30u32.to_le_bytes());
    for known in [false, true] {
        let lanes = run_code(&code, Chip::G200, &[(1, &table)], known, "r1").unwrap();
        assert_eq!(lanes, (0..32).map(|lane| 5 + lane % 2).collect::<Vec<u32>>());
    }
    // To no instruction.
    table[0] = 0x22;
    let fault = run_code(&code, Chip::G200, &[(1, &table)], true, "r1").expect_err("a fault");
    assert_eq!(fault.kind, FaultKind::Illegal);
}

#[test]
fn saturation_that_a_chip_does_not_have() {
    // The bit is there from G200 on and ignored before.
    let text = "mov b32 $r2 0x40400000\nmov b32 $r3 0x3f800000\nmul sat rn f32 $r1 $r2 $r3\nexit nop\n";
    let code = assembled(text, Chip::G200);
    assert_eq!(run_code(&code, Chip::G200, &[], false, "r1").unwrap(), [0x3f80_0000; 32]);
    assert_eq!(run_code(&code, Chip::G80, &[], false, "r1").unwrap(), [0x4040_0000; 32]);
}

#[test]
fn predicated_join_and_exit_take_all_lanes() {
    // Half of the lanes execute the add; all of them end there.
    let text = "mov b32 $r1 0x5\nmov b32 $r2 0x10\nset $c0 # l u32 $r0 $r2\nexit (lg $c0) add b32 $r1 $r1 $r2\nmov b32 $r1 0x0\nexit nop\n";
    let lanes = run(text).unwrap();
    assert_eq!(lanes, (0..32).map(|lane| if lane < 16 { 0x15 } else { 5 }).collect::<Vec<u32>>());
}

/// `$r1 = atom g14[$r2] $r3` with `$r3 = 0x102` and the given size and operation fields.
fn atom(chip: Chip, size: u64, op: u64) -> Result<u32, Fault> {
    let mut code = assembled("mov b32 $r3 0x102\nld add u32 $r1 g14[$r2] $r3\nexit nop\n", Chip::G200);
    let word = u64::from_le_bytes(code[8..16].try_into().unwrap()) & !(7 << 53 | 15 << 34);
    code[8..16].copy_from_slice(&(word | size << 53 | op << 34).to_le_bytes());
    run_code(&code, chip, &[], false, "r1").map(|lanes| lanes[0])
}

#[test]
fn atomics_that_the_table_does_not_have() {
    let kind = |outcome: Result<u32, Fault>| outcome.expect_err("a fault").kind;
    // Byte: the operand is replicated, the old byte comes back; nothing is stored from G200 on.
    assert_eq!(atom(Chip::G92, 0, 0).unwrap(), 0x84);
    assert_eq!(atom(Chip::G92, 1, 0).unwrap(), 0xffff_ff84);
    assert_eq!(atom(Chip::G92, 2, 1).unwrap(), 0x8584);
    assert_eq!(atom(Chip::G200, 3, 0).unwrap(), 0xffff_8584);
    // Words: signed exchange is exchange, the undefined operations leave memory alone.
    assert_eq!(atom(Chip::G92, 7, 1).unwrap(), 0x0102_8584);
    assert_eq!(atom(Chip::G92, 6, 9).unwrap(), 0x8584_8584);
    assert_eq!(atom(Chip::G92, 7, 4).unwrap(), atom(Chip::G200, 7, 4).unwrap());
    // Operation 3 traps, 128 bits and 64 bits before G200 are undefined.
    assert_eq!(kind(atom(Chip::G92, 6, 3)), FaultKind::Trap);
    assert_eq!(kind(atom(Chip::G92, 5, 0)), FaultKind::Illegal);
    assert_eq!(kind(atom(Chip::G92, 4, 6)), FaultKind::Illegal);
    assert_eq!(atom(Chip::G200, 4, 6).unwrap(), 0x8584_8584);
    assert_eq!(kind(atom(Chip::G80, 6, 0)), FaultKind::Illegal);
}

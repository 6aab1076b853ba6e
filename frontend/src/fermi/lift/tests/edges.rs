//! Runs programs that reach the limits of the code or of an encoding: the end of the code, branch targets outside it, undefined
//! words.

use warpjit_ir::Meter;
use warpjit_ir::interp::{Denied, Fault, FaultKind, WarpMemory, atomic_result};
use warpjit_ir::{AtomicOp, Opcode, Space};

use crate::fermi::lift::{Options, lift};
use crate::fermi::{Chip, assemble};
use crate::testing::{illegal_at, run_warp};

/// Const banks whose word at `a` is `bank << 16 | a`; shared and local memory of 256 bytes; nothing global.
struct Memory {
    shared: [u8; 256],
}

impl WarpMemory for Memory {
    fn load(&mut self, space: Space, _: u32, address: u64, bytes: u8) -> Result<u64, Denied> {
        match space {
            Space::Global(_) => Err(Denied),
            Space::Const(bank) => {
                Ok((u64::from(bank) << 16 | address) & u64::MAX >> (64 - 8 * u32::from(bytes)))
            }
            _ => {
                let byte = |at: u64| self.shared.get(at as usize).copied().unwrap_or(0);
                Ok((0..u64::from(bytes)).map(|n| u64::from(byte(address + n)) << (8 * n)).sum())
            }
        }
    }

    fn store(&mut self, space: Space, _: u32, address: u64, bytes: u8, value: u64) -> Result<(), Denied> {
        if matches!(space, Space::Global(_)) {
            return Err(Denied);
        }
        for n in 0..u64::from(bytes) {
            if let Some(byte) = self.shared.get_mut((address + n) as usize) {
                *byte = (value >> (8 * n)) as u8;
            }
        }
        Ok(())
    }

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
        Ok(atomic_result(op, bytes, 0x3f80_0000, value, new))
    }

    fn lock(&mut self, _: u32, _: u64) -> bool {
        true
    }
}

/// Runs code and gives `$r1` of the lanes.
fn run_code(code: &[u8], chip: Chip) -> Result<Vec<u32>, Fault> {
    let options = Options { local_bytes: 256, ..Options::compute("test", chip, 16) };
    let func = lift(code, &options, &Meter::unlimited()).expect("no limits");
    run_warp(&func, &mut Memory { shared: [0; 256] }, "r1")
}

fn assembled(text: &str, chip: Chip) -> Vec<u8> {
    assemble(text, chip).unwrap_or_else(|error| panic!("{error}\n{text}")).code
}

/// Runs a program on GF100 and gives `$r1`.
fn run(text: &str) -> Result<Vec<u32>, Fault> {
    run_code(&assembled(text, Chip::Gf100), Chip::Gf100)
}

/// `$r1` of a program without faults that is the same in all lanes.
fn same(text: &str) -> u32 {
    let lanes = run(&format!("{text}\nexit\n")).unwrap_or_else(|fault| panic!("{fault:?}\n{text}"));
    assert!(lanes.iter().all(|&lane| lane == lanes[0]), "{text}: {lanes:x?}");
    lanes[0]
}

#[test]
fn off_the_code() {
    assert_eq!(illegal_at(run("bra 0x1000\n")), 0x1000);
    assert_eq!(illegal_at(run("long mov b32 $r1 0x5\n")), 8);
    // Into the middle of an instruction.
    assert_eq!(illegal_at(run("long bra 0xc\nlong mov b32 $r1 0x5\nexit\n")), 0xc);
}

#[test]
fn unknown_only_where_somebody_gets_there() {
    // Nobody knows what the second instruction, `texcsaa`, does; only lane 3 executes it.
    let mut code = assembled(
        "long mov b32 $r2 $tidx\nlong set $p0 0x1 eq u32 $r2 0x3\nlong (not $p0) exit\n",
        Chip::Gf100,
    );
    code.extend(0xd000_0000_0000_1c06u64.to_le_bytes());
    code.extend(assembled("exit\n", Chip::Gf100));
    let fault = run_code(&code, Chip::Gf100).expect_err("a fault");
    assert_eq!((fault.kind, fault.pc, fault.lane), (FaultKind::Illegal, 0x18, 3));
}

#[test]
fn hints_stand_where_they_must() {
    let good = "sched 0x28 0x28 0x28 0x28 0x28 0x28 0x28\nmov b32 $r1 0x5\nexit\n";
    let code = assembled(good, Chip::Gk104);
    assert_eq!(run_code(&code, Chip::Gk104).unwrap(), [5; 32]);
    // Without them, in the wrong place, and on a chip that has none.
    assert_eq!(illegal_at(run_code(&assembled("mov b32 $r1 0x5\nexit\n", Chip::Gk104), Chip::Gk104)), 0);
    let twice = [&code[..8], &code[..]].concat();
    assert_eq!(illegal_at(run_code(&twice, Chip::Gk104)), 8);
    assert_eq!(illegal_at(run_code(&code, Chip::Gf100)), 0);
}

#[test]
fn carries_chain() {
    // 0xffffffff:ffffffff + 1, then the carry into a third word.
    let sum =
        "mov b32 $r2 0xffffffff\nadd b32 $r3 $c $r2 0x1\nadd b32 $r3 $c $r2 0x0 $c\nadd b32 $r1 0x0 0x7 $c";
    assert_eq!(same(sum), 8);
    let difference = "mov b32 $r2 0x5\nsub b32 $r3 $c $r2 0x6\nsub b32 $r1 $r2 0x1 $c";
    assert_eq!(same(difference), 3);
    // A product's carry into the next one's addend.
    let mad = "mov b32 $r2 0xffffffff\nadd $r3 $c (mul u32 $r2 u32 0x2) $r2\nadd $r1 (mul high u32 $r2 u32 0x2) 0x0 $c";
    assert_eq!(same(mad), 2);
}

#[test]
fn saturation() {
    let add = |a: &str, b: &str| same(&format!("mov b32 $r2 {a}\nmov b32 $r3 {b}\nadd sat b32 $r1 $r2 $r3"));
    assert_eq!(add("0x7fffffff", "0x1"), 0x7fff_ffff);
    assert_eq!(add("0x80000000", "0xffffffff"), 0x8000_0000);
    assert_eq!(add("0x80000000", "0x7fffffff"), 0xffff_ffff);
    let sub = "mov b32 $r2 0x80000000\nmov b32 $r3 0x1\nsub sat b32 $r1 $r2 $r3";
    assert_eq!(same(sub), 0x8000_0000);
    let nan = "mov b32 $r2 0x7f800000\nadd sat rn f32 $r1 $r2 neg $r2";
    assert_eq!(same(nan), 0);
    assert_eq!(same("mov b32 $r2 0x7f800000\nadd rn f32 $r1 $r2 neg $r2"), 0x7fff_ffff);
}

#[test]
fn shifts_and_fields() {
    let with = |op: &str, count: u32| same(&format!("mov b32 $r2 0x80000001\nmov b32 $r3 {count:#x}\n{op}"));
    assert_eq!(with("shl b32 $r1 $r2 clamp $r3", 32), 0);
    assert_eq!(with("shl b32 $r1 $r2 wrap $r3", 33), 2);
    assert_eq!(with("shr u32 $r1 $r2 clamp $r3", 40), 0);
    assert_eq!(with("shr s32 $r1 $r2 clamp $r3", 40), 0xffff_ffff);
    assert_eq!(with("shr s32 $r1 $r2 wrap $r3", 33), 0xc000_0000);
    // Bit fields: position in bits 0-7, length in 8-15.
    assert_eq!(with("ext u32 $r1 $r2 $r3", 0x041c), 8);
    assert_eq!(with("ext s32 $r1 $r2 $r3", 0x041c), 0xffff_fff8);
    assert_eq!(with("ext s32 $r1 $r2 $r3", 0x081c), 0xffff_fff8);
    assert_eq!(with("ext s32 $r1 $r2 $r3", 0x0828), 0xffff_ffff);
    assert_eq!(with("ext u32 $r1 $r2 $r3", 0x0828), 0);
    assert_eq!(with("ext s32 $r1 $r2 $r3", 0x0004), 0);
    assert_eq!(with("ext u32 $r1 $r2 $r3", 0xff00), 0x8000_0001);
    assert_eq!(with("ext rev u32 $r1 $r2 $r3", 0x0100), 1);
    assert_eq!(with("ins b32 $r1 $r3 0x41e $r2", 0x7), 0xc000_0001);
    assert_eq!(with("bfind u32 $r1 $r2", 0), 31);
    assert_eq!(with("bfind s32 $r1 $r2", 0), 30);
    assert_eq!(with("bfind shiftamt s32 $r1 $r2", 0), 1);
    assert_eq!(with("bfind u32 $r1 $r3", 0), 0xffff_ffff);
    assert_eq!(with("bfind shiftamt u32 $r1 $r3", 0), 0xffff_ffff);
    assert_eq!(with("popc $r1 $r2 not $r3", 1), 1);
}

#[test]
fn permutes_alike_by_register_and_immediate() {
    for selector in [0x3210u32, 0x5432, 0x7654, 0x0123, 0x8329, 0xfedc, 0x4747] {
        let before = "mov b32 $r2 0x81223384\nmov b32 $r4 0xf5667788\n";
        let immediate = same(&format!("{before}prmt b32 $r1 $r2 {selector:#x} $r4"));
        let register = same(&format!("{before}mov b32 $r3 {selector:#x}\nprmt b32 $r1 $r2 $r3 $r4"));
        let want = crate::fermi::numeric::permute(0, 0x8122_3384, selector, 0xf566_7788);
        assert_eq!((immediate, register), (want, want), "{selector:x}");
    }
}

#[test]
fn set_gives_both_combinations() {
    let text = |p: &str| {
        format!(
            "mov b32 $r2 $tidx\nset $p0 0x1 lt u32 $r2 0x8\nset $p1 $p2 lt u32 $r2 0x4 and $p0\n\
             mov b32 $r1 0x0\n{p} mov b32 $r1 0x1\nexit\n"
        )
    };
    let lanes = |p: &str| run(&text(p)).unwrap();
    assert_eq!(lanes("$p1"), (0..32).map(|lane| u32::from(lane < 4)).collect::<Vec<_>>());
    assert_eq!(lanes("$p2"), (0..32).map(|lane| u32::from((4..8).contains(&lane))).collect::<Vec<_>>());
}

#[test]
fn flags_save_and_restore() {
    let text = "mov b32 $r2 $tidx\nset $p3 0x1 lt u32 $r2 0x8\nsub b32 0x0 $c $r2 $r2\nmov $r1 $flags mask 0xffff\nexit\n";
    let flags = run(text).unwrap();
    // Z and C in bits 12 and 14, $p3 in bit 3.
    assert_eq!(flags, (0..32).map(|lane| 0x5000 | if lane < 8 { 8 } else { 0 }).collect::<Vec<u32>>());
    let back = "mov b32 $r2 $tidx\nmov $flags $r2 mask 0x3\nmov b32 $r1 0x0\n$p0 add b32 $r1 $r1 0x1\n$p1 add b32 $r1 $r1 0x2\nexit\n";
    assert_eq!(run(back).unwrap(), (0..32).map(|lane| lane & 3).collect::<Vec<_>>());
}

#[test]
fn branch_of_the_whole_warp() {
    // Half of the lanes pass: nobody jumps.
    let text = |limit: u32| {
        format!(
            "mov b32 $r2 $tidx\nset $p0 0x1 lt u32 $r2 {limit:#x}\nmov b32 $r1 0x0\n\
             $p0 bra allwarp #over\nadd b32 $r1 $r1 0x1\nover:\nadd b32 $r1 $r1 0x2\nexit\n"
        )
    };
    assert_eq!(run(&text(16)).unwrap(), [3; 32]);
    assert_eq!(run(&text(32)).unwrap(), [2; 32]);
    // Where everything behind it has the opposite guard, whether it jumps is the same.
    let guarded = "mov b32 $r2 $tidx\nset $p0 0x1 lt u32 $r2 0x10\nmov b32 $r1 0x0\n$p0 bra allwarp #over\n\
                   (not $p0) add b32 $r1 $r1 0x1\nover:\nadd b32 $r1 $r1 0x2\nexit\n";
    assert_eq!(run(guarded).unwrap(), (0..32).map(|lane| if lane < 16 { 2 } else { 3 }).collect::<Vec<_>>());
}

#[test]
fn votes_and_shuffles() {
    let vote = "mov b32 $r2 $tidx\nset $p0 0x1 lt u32 $r2 0x4\nvote any $r1 $p1 $p0\nexit\n";
    assert_eq!(run(vote).unwrap(), [0xf; 32]);
    let outcome = |op: &str, limit: u32| {
        same(&format!(
            "mov b32 $r2 $tidx\nset $p0 0x1 lt u32 $r2 {limit:#x}\nvote {op} 0x0 $p1 $p0\n\
             mov b32 $r3 0x1\nselp b32 $r1 $r3 0x0 $p1"
        ))
    };
    assert_eq!(["all", "any", "uni"].map(|op| outcome(op, 4)), [0, 1, 0]);
    assert_eq!(["all", "any", "uni"].map(|op| outcome(op, 32)), [1, 1, 1]);
    assert_eq!(["all", "any", "uni"].map(|op| outcome(op, 0)), [0, 0, 1]);
}

#[test]
fn loops_leave_by_the_stack() {
    let text = "mov b32 $r2 $tidx\nmov b32 $r1 0x0\nprebrk #out\nagain:\nset $p0 0x1 ge u32 $r1 $r2\n$p0 brk\n\
                add b32 $r1 $r1 0x1\nbra #again\nout:\nexit\n";
    assert_eq!(run(text).unwrap(), (0..32).collect::<Vec<_>>());
    let long = "mov b32 $r2 $tidx\nmov b32 $r1 0x1\nprelongjmp #out\nset $p0 0x1 lt u32 $r2 0x5\n$p0 longjmp\n\
                add b32 $r1 $r1 0x1\nlongjmp\nout:\nexit\n";
    assert_eq!(run(long).unwrap(), (0..32).map(|lane| if lane < 5 { 1 } else { 2 }).collect::<Vec<_>>());
    let fault = run("brk\nexit\n");
    assert!(fault.is_ok(), "lanes that leave to nowhere end");
    assert_eq!(run("quadpop\nexit\n").expect_err("a fault").kind, FaultKind::Stack);
}

#[test]
fn traps() {
    assert_eq!(run("bpt trap 0x0\nexit\n").expect_err("a fault").kind, FaultKind::Trap);
    assert_eq!(same("mov b32 $r1 0x5\nbpt pause 0x0"), 5);
}

#[test]
fn constants_and_banks() {
    assert_eq!(same("mov b32 $r1 c17[0x40]"), 17 << 16 | 0x40);
    assert_eq!(same("mov b32 $r2 0x8\nld b32 $r1 c3[$r2+0x4]"), 3 << 16 | 0xc);
    assert_eq!(illegal_at(run("mov b32 $r2 0x8\nld b32 $r1 c18[$r2+0x4]\nexit\n")), 8);
}

#[test]
fn special_functions() {
    let of =
        |op: &str, x: f32| f32::from_bits(same(&format!("mov b32 $r2 {:#x}\n{op} f32 $r1 $r2", x.to_bits())));
    assert_eq!(of("rcp", 4.0), 0.25);
    assert_eq!(of("rcp", -0.0), f32::NEG_INFINITY);
    assert_eq!(of("rsqrt", 16.0), 0.25);
    assert_eq!(of("ex2", -3.0), 0.125);
    assert_eq!(of("lg2", 8.0), 3.0);
    assert_eq!(of("cos", 0.0), 1.0);
    assert!(of("rsqrt", -1.0).is_nan() && of("lg2", -1.0).is_nan() && of("sin", f32::INFINITY).is_nan());
    // No denormals.
    assert_eq!(of("rcp", 1e-40), f32::INFINITY);
    assert_eq!(of("ex2", -127.0), 0.0);
    assert_eq!(same("mov b32 $r2 0x40000000\nrcp64h $r1 $r2"), 0x3fe0_0000);
}

#[test]
fn post_scale_and_directed_rounding() {
    assert_eq!(same("mov b32 $r2 0x40400000\nmul mul8 rn f32 $r1 $r2 $r2"), 72f32.to_bits());
    assert_eq!(same("mov b32 $r2 0x40400000\nmul div2 rn f32 $r1 $r2 $r2"), 4.5f32.to_bits());
    assert_eq!(same("mov b32 $r2 0x3f800000\nmov b32 $r3 0x1\nadd rp f32 $r1 $r2 $r3"), 0x3f80_0001);
    assert_eq!(same("mov b32 $r2 0x3f800000\nmov b32 $r3 0x1\nadd ftz rp f32 $r1 $r2 $r3"), 0x3f80_0000);
}

#[test]
fn locked_words() {
    let text = "mov b32 $r2 0x10\nmov b32 $r3 0x7\nld lock b32 $p1 $r1 s[$r2]\n$p1 st unlock b32 s[$r2] $r3\nld b32 $r1 s[$r2]";
    assert_eq!(same(text), 7);
    let narrow = "mov b32 $r2 0x11\nmov b32 $r3 0x1ff\nld lock u8 $p1 $r1 s[$r2]\nst unlock u8 s[$r2] $r3\nld b32 $r1 s[0x10]";
    assert_eq!(same(narrow), 0xff00);
}

/// Instructions under one guard hand each other their results as they are, without what other lanes keep: so a carry between
/// two of them is that of the first sum, and not one of two.
#[test]
fn guarded_instructions_read_each_other() {
    let text = "mov b32 $r2 $tidx\nset $p0 0x1 lt u32 $r2 0x10\nmov b32 $r1 0x100\n\
                (not $p0) add b32 $r3 $c $r2 0xfffffff0\n(not $p0) add b32 $r1 $r2 0x0 $c\nexit\n";
    let want = |lane: u32| if lane < 16 { 0x100 } else { lane + 1 };
    assert_eq!(run(text).unwrap(), (0..32).map(want).collect::<Vec<_>>());
    let code = assembled(text, Chip::Gf100);
    let options = Options::compute("test", Chip::Gf100, 16);
    let func = lift(&code, &options, &Meter::unlimited()).expect("no limits");
    // The carry as a number: 1 where it holds, else 0.
    let constant = |value| func.as_const(value);
    let bits =
        func.blocks.iter().flat_map(|block| &block.insts).map(|&inst| func.inst(inst)).filter(|data| {
            data.op == Opcode::Select
                && constant(data.args[1]) == Some(1)
                && constant(data.args[2]) == Some(0)
        });
    let conditions: Vec<Opcode> =
        bits.filter_map(|data| func.def_inst(data.args[0]).map(|data| data.op)).collect();
    assert_eq!(conditions, [Opcode::Icmp]);
}

//! Tests every operation in every type against the interpreter, bit for bit.

mod common;

use common::{Executable, Random, all_options, context, frame, one_op, read, write};
use warpjit_backend::{HostLevel, Options, Target, compile_region, list_region};
use warpjit_ir::interp::eval::eval_scalar;
use warpjit_ir::opcodes::Sig;
use warpjit_ir::types::Scalar;
use warpjit_ir::{Block, FloatCC, Imm, IntCC, Opcode, PureFn, SlotInit, Terminator, Type, WordTable};

/// Operation, immediate, operand types, result type.
type Case = (Opcode, Imm, Vec<Scalar>, Scalar);

fn immediates(op: Opcode, scalar: Scalar) -> Vec<Imm> {
    match op {
        Opcode::Icmp => IntCC::ALL.iter().map(|&cc| Imm::Int(cc)).collect(),
        Opcode::Fcmp => {
            FloatCC::ALL.iter().flat_map(|&cc| [Imm::FloatCmp(cc, false), Imm::FloatCmp(cc, true)]).collect()
        }
        Opcode::Fadd
        | Opcode::Fsub
        | Opcode::Fmul
        | Opcode::Fdiv
        | Opcode::Fsqrt
        | Opcode::Fma
        | Opcode::Fdemote => vec![Imm::Ftz(false), Imm::Ftz(true)],
        Opcode::Fcanon if scalar == Scalar::F64 => vec![Imm::Bits(0x7fff_ffff_ffff_ffff)],
        Opcode::Fcanon => vec![Imm::Bits(0x7fff_ffff)],
        Opcode::Lookup => vec![Imm::Table(&SHORT), Imm::Table(&LONG)],
        _ => vec![Imm::None],
    }
}

static SHORT: WordTable = WordTable::new(
    "test.short",
    &[0, 1, 0xffff_ffff, 0x8000_0000, 4, 5, 6, 0x7fff_ffff, 8, 9, 10, 11, 12, 13, 14, 0x0123_4567],
);
static LONG: WordTable = WordTable::new("test.long", &LONG_WORDS);
static LONG_WORDS: [u32; 2048] = {
    let mut words = [0; 2048];
    let mut i = 0;
    while i < words.len() {
        words[i] = (i as u32).wrapping_mul(0x9e37_79b9);
        i += 1;
    }
    words
};

fn cases() -> Vec<Case> {
    let mut list = Vec::new();
    for &op in Opcode::ALL {
        if op.is_cross_lane() || op.differs_by_lane() {
            continue;
        }
        let mut add = |args: Vec<Scalar>, result: Scalar| {
            for imm in immediates(op, args[0]) {
                list.push((op, imm, args.clone(), result));
            }
        };
        match op.sig() {
            Sig::Const | Sig::Special => {}
            Sig::Same(n, types) => types.iter().for_each(|&t| add(vec![t; usize::from(n)], t)),
            Sig::Fixed(args, result) => add(args.to_vec(), result),
            Sig::Compare(types) => types.iter().for_each(|&t| add(vec![t; 2], Scalar::I1)),
            Sig::Select => Scalar::ALL.iter().for_each(|&t| add(vec![Scalar::I1, t, t], t)),
            Sig::Convert(pairs) => pairs.iter().for_each(|&(a, b)| add(vec![a], b)),
        }
    }
    list
}

fn flushing(op: Opcode, imm: Imm) -> bool {
    op == Opcode::FmadTrunc || matches!(imm, Imm::Ftz(true) | Imm::FloatCmp(_, true))
}

/// Whether the bits of a NaN result are specified.
fn exact_nan(op: Opcode) -> bool {
    use Opcode::*;
    matches!(op, Fcanon | Fneg | Fabs | Fflush | Select | Bitcast | Splat)
}

fn same(op: Opcode, scalar: Scalar, a: u64, b: u64) -> bool {
    let nan = |x: u64| match scalar {
        Scalar::F32 => f32::from_bits(x as u32).is_nan(),
        Scalar::F64 => f64::from_bits(x).is_nan(),
        _ => false,
    };
    a == b || !exact_nan(op) && nan(a) && nan(b)
}

fn check(
    case: &Case,
    uniform: &[bool],
    constants: &[Option<u64>],
    explicit: bool,
    options: &Options,
    batches: u64,
) {
    let (op, imm, args, result) = case;
    let types: Vec<Type> =
        args.iter().zip(uniform).map(|(&scalar, &uniform)| Type { scalar, uniform }).collect();
    let all_uniform = types.iter().zip(constants).all(|(t, c)| t.uniform || c.is_some());
    let result_ty = Type { scalar: *result, uniform: all_uniform && *op != Opcode::Splat };
    let func = one_op(*op, *imm, &types, result_ty, constants, explicit);
    let code = Executable::compile(&func, options);
    let mut random = Random(*op as u64 * 77 + batches);
    let lanes = if all_uniform { 1 } else { 32 };
    for _ in 0..batches {
        let mut words = frame(&func);
        let inputs: Vec<Vec<u64>> = args
            .iter()
            .enumerate()
            .map(|(k, &scalar)| {
                let one = random.element(scalar);
                (0..32)
                    .map(|lane| {
                        let bits = match constants[k] {
                            Some(bits) => bits,
                            None if uniform[k] => one,
                            None => random.element(scalar),
                        };
                        write(&func, &mut words, k, lane, bits);
                        bits
                    })
                    .collect()
            })
            .collect();
        let mut ctx = context();
        assert_eq!(code.run(&mut ctx, &mut words), 0);
        for lane in 0..lanes {
            let x: Vec<u64> = inputs.iter().map(|l| l[lane]).collect();
            let want = eval_scalar(*op, imm, args, *result, &x).expect("a pure operation");
            let got = read(&func, &words, args.len(), lane);
            assert!(
                same(*op, *result, want, got),
                "{} {imm:?} {types:?} -> {result_ty}, {options:?}, explicit {explicit}, {:?}: {x:x?} gives {got:x}, not {want:x}\n{}",
                op.name(),
                code.code.float_env,
                list_region(&func, options).expect("compiles").clif
            );
        }
    }
}

#[test]
fn operations_on_vectors() {
    for options in all_options() {
        for case in cases() {
            let n = case.2.len();
            check(&case, &vec![false; n], &vec![None; n], false, &options, 12);
            if flushing(case.0, case.1) || matches!(case.0, Opcode::Ffloor | Opcode::Fceil | Opcode::Fpromote)
            {
                check(&case, &vec![false; n], &vec![None; n], true, &options, 12);
            }
        }
    }
}

#[test]
fn operations_on_uniform_values() {
    for options in all_options().into_iter().filter(|o| o.chunk_groups == 2 || o.wide_vectors) {
        for case in cases() {
            let n = case.2.len();
            check(&case, &vec![true; n], &vec![None; n], false, &options, 40);
            if flushing(case.0, case.1) {
                check(&case, &vec![true; n], &vec![None; n], true, &options, 40);
            }
        }
    }
}

#[test]
fn operations_with_some_uniform_operands() {
    for options in all_options().into_iter().filter(|o| o.chunk_groups == 2 || o.wide_vectors) {
        for case in cases().into_iter().filter(|c| c.2.len() > 1) {
            for k in 0..case.2.len() {
                let uniform: Vec<bool> = (0..case.2.len()).map(|i| i == k).collect();
                check(&case, &uniform, &vec![None; case.2.len()], false, &options, 8);
            }
        }
    }
}

/// The way of `fmad_trunc` with branches for products that are very small or large, and without.
#[test]
fn truncating_multiply_add_in_loops() {
    for mut options in all_options() {
        if !options.wide_vectors {
            options.chunk_groups = options.chunk_groups.min(2);
        }
        for explicit in [false, true] {
            let mut func =
                one_op(Opcode::FmadTrunc, Imm::None, &[Type::F32; 3], Type::F32, &[None; 3], explicit);
            let slot = func.add_slot("never", Type::MASK, SlotInit::Zero);
            let again = func.make_inst(Opcode::SlotGet, &[], Imm::Slot(slot), Some(Type::MASK), 0);
            let mask = func.inst(again).result.expect("has a result");
            let end = func.add_block(8);
            func.block_mut(end).term = func.block_mut(Block(0)).term.take();
            let body = func.block_mut(Block(0));
            body.insts.push(again);
            body.term = Some(Terminator::BrAny { mask, taken: Block(0).into(), next: end.into() });
            let code = Executable::compile(&func, &options);
            let mut random = Random(7);
            for batch in 0..4000 {
                let mut words = frame(&func);
                let mut inputs = [[0u64; 32]; 3];
                for (k, line) in inputs.iter_mut().enumerate() {
                    // Now and then special values in a few lanes only; products around the limits of the fast way.
                    for (lane, x) in line.iter_mut().enumerate() {
                        let r = random.next();
                        let near = match (batch % 4, k) {
                            (0, 2) => 127 - 78 + (r >> 8 & 3),
                            (0, _) => 127 - 40 + (r >> 8 & 3),
                            (1, 2) => 250 + (r >> 8 & 3),
                            (1, _) => 190 + (r >> 8 & 3),
                            _ => 127 + (r >> 8 & 15),
                        };
                        *x = r >> 32 & 0x807f_ffff | near << 23;
                        if r & 31 == 0 || batch % 4 == 3 {
                            *x = random.element(Scalar::F32);
                        }
                        if r & 0xe0 == 0 {
                            *x &= 0x8000_0000;
                        }
                        write(&func, &mut words, k, lane, *x);
                    }
                }
                assert_eq!(code.run(&mut context(), &mut words), 0);
                for lane in 0..32 {
                    let x = inputs.map(|line| line[lane]);
                    let want = eval_scalar(Opcode::FmadTrunc, &Imm::None, &[Scalar::F32; 3], Scalar::F32, &x);
                    let (want, got) = (want.expect("pure"), read(&func, &words, 3, lane));
                    assert!(
                        same(Opcode::FmadTrunc, Scalar::F32, want, got),
                        "{options:?} {x:x?} gives {got:x}, not {want:x}"
                    );
                }
            }
        }
    }
}

/// Addends that are known when code is made: zeros, tiny ones, whose sums may show what became of the product, and large ones.
#[test]
fn truncating_multiply_adds_of_constants() {
    let addends: [u32; 11] = [
        0,
        0x8000_0000,
        1,
        0x0080_0000,
        0x8d12_3456,
        0x1c00_0000,
        0x3f80_0000,
        0xbf81_2345,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7fc0_0000,
    ];
    for options in all_options() {
        for (explicit, addend) in [false, true].into_iter().flat_map(|e| addends.map(|a| (e, a))) {
            let consts = [None, None, Some(u64::from(addend))];
            let func = one_op(Opcode::FmadTrunc, Imm::None, &[Type::F32; 3], Type::F32, &consts, explicit);
            let code = Executable::compile(&func, &options);
            let mut random = Random(5);
            for batch in 0..200 {
                let mut words = frame(&func);
                // Products from a little above the addend to less than its last place.
                let exponent = (u64::from(addend >> 23 & 0xff) + 127 + 2) / 2 - batch % 20;
                let mut inputs = [[0; 2]; 32];
                for (lane, factors) in inputs.iter_mut().enumerate() {
                    for (k, x) in factors.iter_mut().enumerate() {
                        let r = random.next();
                        *x = if r & 31 == 0 {
                            random.element(Scalar::F32)
                        } else {
                            r >> 32 & 0x807f_ffff | (exponent + (r >> 8 & 1)) << 23
                        };
                        write(&func, &mut words, k, lane, *x);
                    }
                }
                assert_eq!(code.run(&mut context(), &mut words), 0);
                for (lane, [a, b]) in inputs.into_iter().enumerate() {
                    let x = [a, b, u64::from(addend)];
                    let want = eval_scalar(Opcode::FmadTrunc, &Imm::None, &[Scalar::F32; 3], Scalar::F32, &x);
                    let (want, got) = (want.expect("pure"), read(&func, &words, 3, lane));
                    assert!(
                        same(Opcode::FmadTrunc, Scalar::F32, want, got),
                        "{options:?} {explicit} {x:x?} gives {got:x}, not {want:x}"
                    );
                }
            }
        }
    }
}

/// A chain of multiply-adds, one test for all of which makes do.
#[test]
fn chains_of_truncating_multiply_adds() {
    const LINKS: usize = 5;
    for options in all_options() {
        for explicit in [false, true] {
            // The first as `one_op` makes it, the others of its result; each result has a slot.
            let mut func =
                one_op(Opcode::FmadTrunc, Imm::None, &[Type::F32; 3], Type::F32, &[None; 3], explicit);
            let last = func.block(Block(0)).insts.iter().rev().copied();
            let mut sum = { last }
                .find(|&i| func.inst(i).op == Opcode::FmadTrunc)
                .and_then(|i| func.inst(i).result)
                .expect("made above");
            let factors: Vec<usize> = (0..2 * (LINKS - 1))
                .map(|k| func.add_slot(format!("f{k}"), Type::F32, SlotInit::Zero).index())
                .collect();
            let mut push = |op, args: &[_], imm, ty| {
                let inst = func.make_inst(op, args, imm, ty, 0);
                func.block_mut(Block(0)).insts.push(inst);
                func.inst(inst).result
            };
            let mut get = |slot: usize| {
                let slot = Imm::Slot(warpjit_ir::Slot::new(slot));
                push(Opcode::SlotGet, &[], slot, Some(Type::F32)).expect("has a result")
            };
            let loaded: Vec<_> = factors.iter().map(|&slot| get(slot)).collect();
            let mut chain = Vec::new();
            for pair in loaded.chunks(2) {
                sum = push(Opcode::FmadTrunc, &[pair[0], pair[1], sum], Imm::None, Some(Type::F32))
                    .expect("has a result");
                chain.push(sum);
            }
            let outs: Vec<usize> = chain
                .iter()
                .map(|&sum| {
                    let slot = func.add_slot(format!("s{sum}"), Type::F32, SlotInit::Zero);
                    let inst = func.make_inst(Opcode::SlotSet, &[sum], Imm::Slot(slot), None, 0);
                    func.block_mut(Block(0)).insts.push(inst);
                    slot.index()
                })
                .collect();
            let code = Executable::compile(&func, &options);
            let mut random = Random(11);
            for batch in 0..3000 {
                let mut words = frame(&func);
                let inputs: Vec<usize> = (0..3).chain(factors.iter().copied()).collect();
                let mut lanes = vec![vec![0u64; inputs.len()]; 32];
                for (lane, of_lane) in lanes.iter_mut().enumerate() {
                    for (k, (x, &slot)) in of_lane.iter_mut().zip(&inputs).enumerate() {
                        let r = random.next();
                        // Sums that cancel, that are around 2^-70, 2^-96 and 2^100, and that overflow.
                        let exponent = match batch % 6 {
                            0 => 127,
                            1 => 127 - if k == 2 { 68 } else { 34 } - (r >> 8 & 3),
                            2 => 127 - if k == 2 { 94 } else { 47 } - (r >> 8 & 3),
                            3 => 127 + if k == 2 { 100 } else { 50 } - (r >> 8 & 1),
                            4 => 127 + if k == 2 { 127 } else { 63 } + (r >> 8 & 1),
                            _ => 127 - 60 + (r >> 8 & 127),
                        };
                        let fraction = if batch % 12 < 6 { r >> 32 & 0x80f0_0000 } else { r >> 32 };
                        *x = fraction & 0x807f_ffff | exponent.min(254) << 23;
                        if batch % 3 == 2 && r & 31 == 0 {
                            *x = random.element(Scalar::F32);
                        }
                        if r & 0xe0 == 0 {
                            *x &= 0x8000_0000;
                        }
                        write(&func, &mut words, slot, lane, *x);
                    }
                }
                assert_eq!(code.run(&mut context(), &mut words), 0);
                for (lane, x) in lanes.iter().enumerate() {
                    let mad = |x: [u64; 3]| {
                        eval_scalar(Opcode::FmadTrunc, &Imm::None, &[Scalar::F32; 3], Scalar::F32, &x)
                            .expect("pure")
                    };
                    let mut want = mad([x[0], x[1], x[2]]);
                    for (link, &out) in outs.iter().enumerate() {
                        want = mad([x[3 + 2 * link], x[4 + 2 * link], want]);
                        let got = read(&func, &words, out, lane);
                        assert!(
                            same(Opcode::FmadTrunc, Scalar::F32, want, got),
                            "{options:?}, batch {batch}, link {link}: {got:x}, not {want:x}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn constant_shift_counts() {
    use Opcode::*;
    for options in all_options().into_iter().filter(|o| o.chunk_groups == 1 || o.wide_vectors) {
        for op in [Ishl, Ushr, Sshr, Rotl] {
            for scalar in [Scalar::I32, Scalar::I64] {
                for count in 0..=scalar.bits() + 1 {
                    let case = (op, Imm::None, vec![scalar; 2], scalar);
                    check(&case, &[false; 2], &[None, Some(count.into())], false, &options, 1);
                    check(&case, &[true; 2], &[None, Some(count.into())], false, &options, 3);
                }
            }
        }
    }
}

#[test]
fn flushing_environment_keeps_what_must_not_flush() {
    // A flushing operation beside one that is exact for denormals: the region runs with the host's flushing on x86.
    let target = Target::host(HostLevel::Native).expect("host");
    let options = Options::new(target);
    for (op, args, result) in [
        (Opcode::Ffloor, Scalar::F32, Scalar::F32),
        (Opcode::Fceil, Scalar::F32, Scalar::F32),
        (Opcode::Ftrunc, Scalar::F32, Scalar::F32),
        (Opcode::Fnearest, Scalar::F32, Scalar::F32),
        (Opcode::Ffloor, Scalar::F64, Scalar::F64),
        (Opcode::Fceil, Scalar::F64, Scalar::F64),
        (Opcode::Fpromote, Scalar::F32, Scalar::F64),
        (Opcode::F16ToF32, Scalar::I32, Scalar::F32),
        (Opcode::F32ToF16, Scalar::F32, Scalar::I32),
        (Opcode::Fneg, Scalar::F32, Scalar::F32),
        (Opcode::Fflush, Scalar::F32, Scalar::F32),
        (Opcode::FcvtToSint, Scalar::F32, Scalar::I32),
        (Opcode::FcvtToUint, Scalar::F32, Scalar::I32),
        (Opcode::FcvtFromUint, Scalar::I32, Scalar::F32),
    ] {
        for uniform in [false, true] {
            let ty = |scalar| Type { scalar, uniform };
            let mut func = one_op(op, Imm::None, &[ty(args)], ty(result), &[None], true);
            // Makes the additional operation flush.
            for inst in &mut func.insts {
                if inst.op == Opcode::Fadd {
                    inst.imm = Imm::Ftz(true);
                }
            }
            let code = Executable::compile(&func, &options);
            let mut random = Random(5);
            for _ in 0..60 {
                let mut words = frame(&func);
                let one = random.element(args);
                let x: Vec<u64> = (0..32).map(|_| if uniform { one } else { random.element(args) }).collect();
                (0..32).for_each(|l| write(&func, &mut words, 0, l, x[l]));
                assert_eq!(code.run(&mut context(), &mut words), 0);
                for lane in 0..if uniform { 1 } else { 32 } {
                    let want = eval_scalar(op, &Imm::None, &[args], result, &x[lane..=lane]).expect("pure");
                    let got = read(&func, &words, 1, lane);
                    assert!(
                        same(op, result, want, got),
                        "{}: {:x} gives {got:x}, not {want:x}",
                        op.name(),
                        x[lane]
                    );
                }
            }
        }
    }
}

static MIX: PureFn = PureFn {
    name: "test.mix",
    params: &[Scalar::F32, Scalar::I1, Scalar::I64],
    result: Scalar::F64,
    eval: |a| (f64::from(f32::from_bits(a[0] as u32)) * 1e-310 + a[1] as f64 + (a[2] >> 60) as f64).to_bits(),
    expand: None,
    fast: None,
    special: None,
};
static TRUTH: PureFn = PureFn {
    name: "test.truth",
    params: &[Scalar::I32],
    result: Scalar::I1,
    eval: |a| u64::from(a[0] % 3 == 0),
    expand: None,
    fast: None,
    special: None,
};
/// Makes denormals, for which the host's float environment must be Rust's.
static HALF: PureFn = PureFn {
    name: "test.half",
    params: &[Scalar::F32],
    result: Scalar::F32,
    eval: |a| u64::from((f32::from_bits(a[0] as u32) * 0.5).to_bits()),
    expand: None,
    fast: None,
    special: None,
};

#[test]
fn pure_functions() {
    for options in all_options() {
        for pure in [&MIX, &TRUTH, &HALF] {
            for uniform in [false, true] {
                let case = (Opcode::CallPure, Imm::Pure(pure), pure.params.to_vec(), pure.result);
                let n = pure.params.len();
                check(&case, &vec![uniform; n], &vec![None; n], false, &options, 5);
            }
        }
    }
}

/// Every operation lowers for hosts other than this one.
#[test]
fn lowers_for_all_hosts() {
    for (triple, level) in [
        ("x86_64-unknown-linux-gnu", HostLevel::Native),
        ("x86_64-unknown-linux-gnu", HostLevel::Sse41),
        ("aarch64-unknown-linux-gnu", HostLevel::Native),
    ] {
        let target = Target::triple(triple, level).expect("target");
        for groups in [1, 2] {
            let options = Options { chunk_groups: groups, ..Options::new(target.clone()) };
            for (op, imm, args, result) in cases() {
                for uniform in [false, true] {
                    for explicit in [false, true] {
                        let types: Vec<Type> = args.iter().map(|&scalar| Type { scalar, uniform }).collect();
                        let result = Type { scalar: result, uniform: uniform && op != Opcode::Splat };
                        let func = one_op(op, imm, &types, result, &vec![None; args.len()], explicit);
                        if let Err(e) = compile_region(&func, &options) {
                            panic!("{triple} {level:?}: {}: {e}", func.name);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn lane_bit_gives_each_lane_its_own() {
    let uniform = Type::uniform(Scalar::I64);
    for options in all_options() {
        let func = one_op(Opcode::LaneBit, Imm::None, &[uniform], Type::MASK, &[None], false);
        let code = Executable::compile(&func, &options);
        for bits in [0, 1, 0x8000_0000, 0xdead_beef, 0x1234_5678_9abc_def0, u64::MAX] {
            let mut words = frame(&func);
            write(&func, &mut words, 0, 0, bits);
            assert_eq!(code.run(&mut context(), &mut words), 0);
            for lane in 0..32 {
                assert_eq!(read(&func, &words, 1, lane) & 1, bits >> lane & 1, "{bits:#x} lane {lane}");
            }
        }
    }
}

//! Tests every atomic operation, of 4 and 8 bytes, in every memory, against its definition applied lane after lane.

mod common;

use common::{Executable, Random, all_options, context, frame, read, write};
use warpjit_backend::{Context, FAULT, Options};
use warpjit_ir::interp::atomic_result;
use warpjit_ir::types::Scalar;
use warpjit_ir::{
    AtomicOp, Builder, Form, Function, Imm, MemAccess, Opcode, SlotInit, Space, Terminator, Type,
};

const LANES: usize = 32;
const BYTES: usize = 2048;
const OFFSET: i32 = 16;

#[derive(Clone, Copy, Debug)]
struct Case {
    op: AtomicOp,
    mem: MemAccess,
    wide_address: bool,
    guarded: bool,
    used: bool,
    uniform_value: bool,
}

impl Case {
    fn scalar(self) -> Scalar {
        if self.mem.bytes == 8 { Scalar::I64 } else { Scalar::I32 }
    }
}

/// Slots: address, operand, second operand, guard, result.
fn function(case: Case) -> Function {
    let mut f = Function::new(format!("{case:?}"), Form::Mask, LANES as u32);
    let value = Type { scalar: case.scalar(), uniform: false };
    let address = if case.wide_address { Type::I64 } else { Type::I32 };
    let first = Type { uniform: case.uniform_value, ..value };
    let types = [address, first, value, Type::MASK, value];
    let slots = types.map(|ty| f.add_slot(ty.to_string(), ty, SlotInit::Zero));
    let block = f.add_block(0);
    let mut b = Builder::new(&mut f, block);
    b.pc = 0x40;
    let [address, value, new, guard] = [0, 1, 2, 3].map(|n| b.get(slots[n]));
    let new = case.op.takes_two().then_some(new);
    let old = b.atomic(case.mem, case.op, address, value, new, case.guarded.then_some(guard));
    if case.used {
        b.push(Opcode::SlotSet, &[old], Imm::Slot(slots[4]), None);
    }
    b.terminate(Terminator::Return { exit: 0, exited: None, cond: None });
    f
}

#[derive(Clone, PartialEq, Debug)]
struct Memory {
    bytes: Vec<u8>,
}

impl Memory {
    /// The bytes of a word, if it is there.
    fn word(&mut self, case: Case, lane: usize, address: u64) -> Option<Vec<usize>> {
        let local = |a: usize| a / 4 * 4 * LANES + lane * 4 + a % 4;
        let at = address as usize;
        let inside = at + usize::from(case.mem.bytes) <= size_of_space(case.mem.space);
        inside.then(|| {
            let places = at..at + usize::from(case.mem.bytes);
            places.map(|a| if case.mem.space == Space::Local { local(a) } else { a }).collect()
        })
    }

    /// The old value, or nothing where nothing is.
    fn update(&mut self, case: Case, lane: usize, address: u64, value: u64, new: u64) -> Option<u64> {
        let places = self.word(case, lane, address)?;
        let old = places.iter().rev().fold(0, |sum, &at| sum << 8 | u64::from(self.bytes[at]));
        let after = atomic_result(case.op, case.mem.bytes, old, value, new);
        places.iter().enumerate().for_each(|(n, &at)| self.bytes[at] = (after >> (8 * n)) as u8);
        Some(old)
    }
}

fn size_of_space(space: Space) -> usize {
    if space == Space::Local { BYTES / LANES } else { BYTES }
}

/// What the function of the embedder is given by way of the context.
struct Embedder {
    case: Case,
    memory: *mut Memory,
}

unsafe extern "C" fn global_atomic(context: *mut Context) {
    // SAFETY: code passes its context, and `run` has put this into it.
    let (context, user) = unsafe { (&mut *context, &*(*context).user.cast::<Embedder>()) };
    context.each_atomic(|x| {
        assert_eq!((x.op, x.bytes), (user.case.op, user.case.mem.bytes));
        // SAFETY: nothing else uses the memory meanwhile.
        unsafe { &mut *user.memory }.update(user.case, x.lane as usize, x.address, x.value, x.new)
    });
}

/// Addresses by lane; `bad` has one that none has memory at, or that is not aligned.
fn addresses(case: Case, random: &mut Random, bad: Option<(usize, u64)>) -> Vec<u64> {
    let words = size_of_space(case.mem.space) as u64 / 8 - 2;
    let spread = [1, 3, words][random.below(3)];
    let mut list: Vec<u64> = (0..LANES).map(|_| random.next() % spread * 8).collect();
    if let Some((lane, address)) = bad {
        list[lane] = address;
    }
    list
}

fn check(case: Case, options: &Options, random: &mut Random, bad: Option<(usize, u64)>) {
    let func = function(case);
    let code = Executable::compile(&func, options);
    let mut memory = Memory { bytes: (0..BYTES + 8).map(|_| random.next() as u8).collect() };
    let mut words = frame(&func);
    let at = addresses(case, random, bad);
    let one = random.element(case.scalar());
    let mut operands = vec![[0; 3]; LANES];
    for (lane, [value, new, guard]) in operands.iter_mut().enumerate() {
        *value = if case.uniform_value { one } else { random.element(case.scalar()) };
        (*new, *guard) = (random.element(case.scalar()), random.next() >> 8 & 1);
        if bad.is_some_and(|(l, _)| l == lane) {
            *guard = 1;
        }
        // Compared with what is there now and then.
        if matches!(case.op, AtomicOp::Cas | AtomicOp::Fcas) && lane % 3 == 0 && !case.uniform_value {
            let mut copy = memory.clone();
            *value = copy.update(Case { op: AtomicOp::Nop, ..case }, lane, at[lane] + 16, 0, 0).unwrap_or(0);
        }
        write(&func, &mut words, 0, lane, at[lane]);
        for (slot, v) in [(1, *value), (2, *new), (3, *guard)] {
            write(&func, &mut words, slot, lane, v);
        }
    }
    let mut want = memory.clone();
    let (mut fault, mut olds) = (None, vec![None; LANES]);
    let far = case.mem.far || matches!(case.mem.space, Space::Global(_));
    for lane in 0..LANES {
        let [value, new, guard] = operands[lane];
        if case.guarded && guard == 0 {
            continue;
        }
        let mut address = at[lane].wrapping_add(OFFSET as u64);
        if !case.wide_address {
            address &= if far { 0xffff_ffff } else { 0xffff };
        }
        let aligned = address & (u64::from(case.mem.align) - 1) == 0;
        let old = if aligned { want.update(case, lane, address, value, new) } else { None };
        if old.is_none() && (!aligned || matches!(case.mem.space, Space::Global(_))) {
            fault = Some((lane as u32, address));
            break;
        }
        olds[lane] = Some(old.unwrap_or(0));
    }
    let mut ctx = context();
    let base = memory.bytes.as_mut_ptr();
    (ctx.global_base, ctx.shared_base, ctx.local_base) = (base, base, base);
    (ctx.shared_bytes, ctx.local_bytes) = (BYTES as u32, (BYTES / LANES) as u32);
    let mut embedder = Embedder { case, memory: &raw mut memory };
    ctx.user = (&raw mut embedder).cast();
    ctx.global_atomic = global_atomic;
    let exit = code.run(&mut ctx, &mut words);
    match fault {
        Some((lane, address)) => {
            assert_eq!(exit, FAULT, "{case:?} {options:?}");
            let found = ctx.fault;
            assert_eq!((found.lane, found.address, found.pc), (lane, address, 0x40), "{case:?} {options:?}");
            assert_eq!((found.space(), found.is_store()), (case.mem.space, true), "{case:?} {options:?}");
        }
        None => {
            assert_eq!(exit, 0, "{case:?} {options:?}");
            for (lane, old) in olds.iter().enumerate() {
                if let (Some(old), true) = (*old, case.used) {
                    let got = read(&func, &words, 4, lane);
                    assert_eq!(got, old, "lane {lane} of {case:?} {options:?}");
                }
            }
        }
    }
    assert!(memory == want, "{case:?} {options:?}");
}

fn cases() -> Vec<Case> {
    let mut list = Vec::new();
    for &op in AtomicOp::ALL {
        for bytes in [4, 8] {
            let spaces = [
                (Space::Global(0), false, false),
                (Space::Global(0), true, false),
                (Space::Shared, false, false),
                (Space::Shared, false, true),
                (Space::Local, false, false),
            ];
            for (n, (space, wide_address, far)) in spaces.into_iter().enumerate() {
                for align in [1, bytes] {
                    let mem = MemAccess {
                        space,
                        bytes,
                        signed: false,
                        offset: OFFSET,
                        align,
                        far,
                        align_offset: 0,
                    };
                    for bits in 0..4 {
                        let (guarded, used) = (bits & 1 != 0, bits & 2 != 0);
                        let uniform_value = (n + bits) % 3 == 0;
                        list.push(Case { op, mem, wide_address, guarded, used, uniform_value });
                    }
                }
            }
        }
    }
    list
}

#[test]
fn every_operation_on_every_memory() {
    for (n, options) in all_options().iter().enumerate() {
        let mut random = Random(n as u64);
        for case in cases() {
            check(case, options, &mut random, None);
        }
    }
}

/// A lane that has no memory, or whose address is no multiple: those before it have done theirs.
#[test]
fn lanes_before_the_one_that_faults_have_done_theirs() {
    for (n, options) in all_options().iter().enumerate() {
        let mut random = Random(1000 + n as u64);
        for case in cases() {
            let lane = random.below(LANES);
            let global = matches!(case.mem.space, Space::Global(_));
            if case.mem.align > 1 {
                check(case, options, &mut random, Some((lane, 8 * 3 + 2)));
            }
            if !global {
                // Reads as zero; 16 bits of it are inside where it is not far.
                check(case, options, &mut random, Some((lane, (1 << 20) + BYTES as u64)));
                check(case, options, &mut random, Some((lane, size_of_space(case.mem.space) as u64 - 20)));
            } else if case.wide_address {
                check(case, options, &mut random, Some((lane, 1 << 45)));
                check(case, options, &mut random, Some((lane, u64::MAX - 100)));
            }
        }
    }
}

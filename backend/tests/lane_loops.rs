//! Tests lane serialisation: random loops that lanes leave at different times and whose last lanes run one after another, against
//! the interpreter on the same loops without it.

mod common;

use common::{Executable, Random, all_options, frame, read, write};
use warpjit_backend::{Context, Options};
use warpjit_ir::function::BlockCall;
use warpjit_ir::interp::{Code, Denied, Frame, Scratch, WarpMemory, run_mask_function};
use warpjit_ir::passes::{dce, floats, fold, gvn, lane_loops, simplify_cfg};
use warpjit_ir::verify::verify;
use warpjit_ir::{
    Block, Builder, Form, Function, Imm, IntCC, MemAccess, Opcode, Scalar, SlotInit, Space, Terminator, Type,
    Value,
};

const GLOBAL: usize = 4096;
const TYPES: [Scalar; 4] = [Scalar::I32, Scalar::I64, Scalar::F32, Scalar::I1];

/// Makes the loop: values in scope by type.
struct Maker<'a> {
    b: Builder<'a>,
    random: Random,
    scope: [Vec<Value>; 4],
}

impl Maker<'_> {
    fn pick(&mut self, scalar: Scalar) -> Value {
        let list = &self.scope[place(scalar)];
        list[self.random.below(list.len())]
    }

    /// A value of the scope or a new one.
    fn value(&mut self, scalar: Scalar, inside: Value) -> Value {
        let value = match (scalar, self.random.below(8)) {
            (Scalar::I32, 0..=2) => {
                let op = [Opcode::Iadd, Opcode::Imul, Opcode::Ixor, Opcode::Ishl][self.random.below(4)];
                let (x, y) = (self.pick(scalar), self.pick(scalar));
                self.b.same(op, &[x, y], Imm::None)
            }
            (Scalar::I32, 3) => self.load(inside),
            (Scalar::I32, 4) => {
                let x = self.pick(Scalar::F32);
                // Its bits are those of a number, or of the one NaN.
                let x = self.b.fcanon(x, 0x7fc0_0000);
                self.b.bitcast(x, Scalar::I32)
            }
            (Scalar::I32, 5) => {
                let x = self.pick(Scalar::I64);
                self.b.convert(Opcode::Trunc, x, Scalar::I32)
            }
            (Scalar::I64, 0..=3) => {
                let op = [Opcode::Iadd, Opcode::Isub, Opcode::Imul, Opcode::Ior][self.random.below(4)];
                let (x, y) = (self.pick(scalar), self.pick(scalar));
                self.b.same(op, &[x, y], Imm::None)
            }
            (Scalar::I64, 4 | 5) => {
                let x = self.pick(Scalar::I32);
                let op = [Opcode::Zext, Opcode::Sext][self.random.below(2)];
                self.b.convert(op, x, Scalar::I64)
            }
            (Scalar::F32, 0..=2) => {
                let op = [Opcode::Fadd, Opcode::Fmul, Opcode::Fsub][self.random.below(3)];
                let (x, y) = (self.pick(scalar), self.pick(scalar));
                let sum = self.b.float(op, &[x, y], true);
                self.b.fcanon(sum, 0x7fc0_0000)
            }
            (Scalar::F32, 3 | 4) => {
                let x = self.load(inside);
                self.b.bitcast(x, Scalar::F32)
            }
            (Scalar::F32, 5) => {
                let x = self.pick(Scalar::I32);
                self.b.bitcast(x, Scalar::F32)
            }
            (Scalar::I1, 0..=3) => {
                let (x, y) = (self.pick(Scalar::I32), self.pick(Scalar::I32));
                let cc = IntCC::ALL[self.random.below(IntCC::ALL.len())];
                self.b.icmp(cc, x, y)
            }
            (Scalar::I1, 4 | 5) => {
                let (x, y) = (self.pick(Scalar::I1), self.pick(Scalar::I1));
                self.b.ixor(x, y)
            }
            (_, 6) => {
                let (c, x, y) = (self.pick(Scalar::I1), self.pick(scalar), self.pick(scalar));
                self.b.select(c, x, y)
            }
            _ => self.pick(scalar),
        };
        self.scope[place(scalar)].push(value);
        value
    }

    /// A load by the lanes in the loop, or by some of them, at an address of 32 or of 64 bits.
    fn load(&mut self, inside: Value) -> Value {
        let address = self.pick(Scalar::I32);
        let most = self.b.i32(GLOBAL as u32 / 2 - 4);
        let mut address = self.b.iand(address, most);
        if self.random.below(2) == 0 {
            address = self.b.convert(Opcode::Zext, address, Scalar::I64);
        }
        let guard = match self.random.below(3) {
            0 => {
                let some = self.pick(Scalar::I1);
                self.b.iand(inside, some)
            }
            _ => inside,
        };
        let bytes = [4, 4, 2, 1][self.random.below(4)];
        let mem = MemAccess {
            space: [Space::Global(0), Space::Const(1)][usize::from(self.random.below(5) == 0)],
            bytes,
            signed: self.random.below(2) == 0,
            offset: [0, 4, 64][self.random.below(3)],
            align: 1,
            far: false,
            align_offset: 0,
        };
        let mem = if self.b.func.ty(address).scalar == Scalar::I64 {
            MemAccess { space: Space::Global(0), ..mem }
        } else {
            mem
        };
        let loaded = self.b.load(mem, address, Some(guard));
        let zero = self.b.i32(0);
        // What lanes have that load nothing is nobody's business.
        self.b.select(guard, loaded, zero)
    }
}

fn place(scalar: Scalar) -> usize {
    TYPES.iter().position(|&t| t == scalar).unwrap_or(0)
}

/// Addresses that a loop advances by a constant in each iteration.
struct InductionAddresses {
    /// The steps.
    steps: Vec<i64>,
    /// The loop's parameters.
    params: Vec<Value>,
}

impl InductionAddresses {
    /// Where they begin: from one to three of these per loop, some with the same step.
    fn starts(b: &mut Builder<'_>, random: &mut Random, from: Value) -> (Vec<i64>, Vec<Value>) {
        (0..random.below(4))
            .map(|_| {
                let (more, most, least) =
                    (b.i32(random.below(1000) as u32), b.i32(1023), b.i32(GLOBAL as u32 / 4));
                let sum = b.same(Opcode::Iadd, &[from, more], Imm::None);
                let low = b.iand(sum, most);
                let start = b.same(Opcode::Iadd, &[low, least], Imm::None);
                ([4, 4, 4, 8, -4, 1, 0][random.below(7)], b.convert(Opcode::Zext, start, Scalar::I64))
            })
            .unzip()
    }

    /// Loads along each of them, by the lanes in the loop.
    fn load(&self, m: &mut Maker<'_>, inside: Value) {
        for &param in &self.params {
            let mem = MemAccess {
                space: Space::Global(0),
                bytes: [4, 4, 4, 2, 1][m.random.below(5)],
                signed: m.random.below(2) == 0,
                offset: [0, 0, 4, -4][m.random.below(4)],
                align: 1,
                far: false,
                align_offset: 0,
            };
            let loaded = m.b.load(mem, param, Some(inside));
            m.scope[0].push(loaded);
            if m.random.below(4) == 0 {
                // Its address is wanted besides.
                m.scope[1].push(param);
            }
        }
    }
}

/// Slots 0 to 3 go in, one of each type; slots 4 to 7 come out. Lanes go round as often as slot 8 says, or less.
fn random_loop(seed: u64) -> Function {
    let mut f = Function::new(format!("loop{seed}"), Form::Mask, 32);
    let slot = |f: &mut Function, scalar| f.add_slot("s", Type::varying(scalar), SlotInit::Zero);
    let inputs = TYPES.map(|t| slot(&mut f, t));
    let outputs = TYPES.map(|t| slot(&mut f, t));
    let rounds = slot(&mut f, Scalar::I32);
    let [entry, head, behind] = [0x10, 0x20, 0x30].map(|pc| f.add_block(pc));
    let mut b = Builder::new(&mut f, entry);
    let start = inputs.map(|s| b.get(s));
    let rounds = b.get(rounds);
    let active = b.push(Opcode::ActiveMask, &[], Imm::None, Some(Type::MASK)).expect("has a result");
    let zero = b.i32(0);
    let some = b.icmp(IntCC::Ne, rounds, zero);
    let first = b.iand(active, some);
    let mut random = Random(seed);
    let (steps, starts) = InductionAddresses::starts(&mut b, &mut random, start[0]);
    // Words that turns are counted in: addresses may go along with them, also where they wrap.
    let counts: [(Value, u32); 2] = std::array::from_fn(|_| {
        let start = [0, 0xffff_fffe, 0x7fff_ffff, random.next() as u32][random.below(4)];
        (b.i32(start), [1, 1, 2, u32::MAX][random.below(4)])
    });
    let mut args = vec![first, rounds];
    args.extend(counts.map(|(start, _)| start));
    args.extend(start);
    args.extend(starts);
    let never = BlockCall { block: behind, args: start.to_vec() };
    b.terminate(Terminator::BrAny { mask: first, taken: BlockCall { block: head, args }, next: never });
    let inside = f.add_param(head, Type::MASK);
    let left = f.add_param(head, Type::I32);
    let counted = counts.map(|_| f.add_param(head, Type::I32));
    let params = TYPES.map(|t| f.add_param(head, Type::varying(t)));
    let inductions = InductionAddresses {
        params: steps.iter().map(|_| f.add_param(head, Type::varying(Scalar::I64))).collect(),
        steps,
    };
    let results = TYPES.map(|t| f.add_param(behind, Type::varying(t)));

    let scope = std::array::from_fn(|n| vec![params[n], start[n]]);
    let mut m = Maker { b: Builder::new(&mut f, head), random: Random(random.next()), scope };
    m.scope[0].push(left);
    m.scope[0].extend(counted);
    if m.random.below(4) == 0 {
        m.load(inside);
    }
    inductions.load(&mut m, inside);
    for _ in 0..3 + m.random.below(20) {
        let scalar = TYPES[m.random.below(4)];
        m.value(scalar, inside);
    }
    let new = TYPES.map(|t| m.value(t, inside));
    let new: Vec<Value> = new
        .iter()
        .zip(&params)
        .map(|(&new, &old)| {
            let new = m.b.splat(new);
            m.b.select(inside, new, old)
        })
        .collect();
    let one = m.b.i32(1);
    let fewer = m.b.same(Opcode::Isub, &[left, one], Imm::None);
    let zero = m.b.i32(0);
    let more = m.b.icmp(IntCC::Ne, fewer, zero);
    let early = m.pick(Scalar::I1);
    let odd = m.b.iand(early, more);
    let goes = if m.random.below(2) == 0 { more } else { odd };
    let again = m.b.iand(inside, goes);
    let mut args = vec![again, fewer];
    for (count, (_, step)) in counted.into_iter().zip(counts) {
        let step = m.b.i32(step);
        args.push(m.b.same(Opcode::Iadd, &[count, step], Imm::None));
    }
    args.extend(&new);
    for (&param, &step) in inductions.params.iter().zip(&inductions.steps) {
        let step = m.b.constant(Scalar::I64, step as u64);
        args.push(m.b.same(Opcode::Iadd, &[param, step], Imm::None));
    }
    m.b.terminate(Terminator::BrAny {
        mask: again,
        taken: BlockCall { block: head, args },
        next: BlockCall { block: behind, args: new },
    });

    let mut b = Builder::new(&mut f, behind);
    for (slot, value) in outputs.into_iter().zip(results) {
        let value = b.splat(value);
        b.set(slot, value);
    }
    f.block_mut(behind).term = Some(Terminator::Return { exit: 0, exited: None, cond: None });
    f
}

struct Memory {
    global: Vec<u8>,
    consts: Vec<u8>,
}

impl WarpMemory for Memory {
    fn load(&mut self, space: Space, _: u32, address: u64, bytes: u8) -> Result<u64, Denied> {
        let from = if matches!(space, Space::Const(_)) { &self.consts } else { &self.global };
        let bytes = from.get(address as usize..address as usize + usize::from(bytes)).ok_or(Denied)?;
        Ok(bytes.iter().rev().fold(0, |word, &b| word << 8 | u64::from(b)))
    }

    fn store(&mut self, _: Space, _: u32, _: u64, _: u8, _: u64) -> Result<(), Denied> {
        Err(Denied)
    }
}

/// Refills one turn.
unsafe extern "C" fn refill(context: *mut Context) -> u32 {
    // SAFETY: code passes its context.
    unsafe { (*context).fuel = 1 };
    0
}

fn interpreted(func: &Function, words: &[u32], memory: &mut Memory, active: u64) -> Vec<u32> {
    let code = Code::new(func).expect("valid");
    let mut frame = Frame::new(words.len() * 4);
    frame.words_mut().copy_from_slice(words);
    run_mask_function(&code, &mut Scratch::new(&code), &mut frame, active, memory).expect("no fault");
    frame.words().to_vec()
}

fn compiled(func: &Function, options: &Options, words: &[u32], memory: &mut Memory, active: u64) -> Vec<u32> {
    let code = Executable::compile(func, options);
    let mut words = words.to_vec();
    let mut ctx = Context::new();
    (ctx.active, ctx.fuel, ctx.poll) = (active, 3, refill);
    ctx.global_base = memory.global.as_mut_ptr();
    ctx.const_banks = [memory.consts.as_ptr(); warpjit_backend::CONST_BANKS];
    assert_eq!(code.run(&mut ctx, &mut words), 0, "{}", func.name);
    words
}

#[test]
fn single_lanes_do_what_all_do() {
    let mut split = 0;
    let wide: Vec<Options> = all_options().into_iter().filter(|o| o.wide_vectors).collect();
    for seed in 1..=300 {
        let func = random_loop(seed);
        verify(&func).unwrap_or_else(|e| panic!("{e:?}\n{func}"));
        let mut random = Random(seed ^ 0x77);
        let mut memory = Memory {
            global: (0..GLOBAL + 8).map(|_| random.next() as u8).collect(),
            consts: (0..65544).map(|_| random.next() as u8).collect(),
        };
        let mut parted = func.clone();
        let most = [1, 3, 8, 16, 32][seed as usize % 5];
        if !lane_loops::run(&mut parted, |_, _| most) {
            continue;
        }
        split += 1;
        verify(&parted).unwrap_or_else(|e| panic!("{e:?}\n{parted}"));
        let raw = parted.clone();
        for pass in [fold::run, simplify_cfg::run, dce::run, floats::run, fold::run, gvn::run, dce::run] {
            pass(&mut parted);
            verify(&parted).unwrap_or_else(|e| panic!("{e:?}\n{parted}"));
        }
        lane_loops::sink_casts(&mut parted);
        verify(&parted).unwrap_or_else(|e| panic!("{e:?}\n{parted}"));
        let mut words = frame(&func);
        for lane in 0..32 {
            for (slot, scalar) in TYPES.into_iter().enumerate() {
                write(&func, &mut words, slot, lane, random.element(scalar));
            }
            write(&func, &mut words, 8, lane, random.next() % 9);
        }
        let active = if seed % 3 == 0 { 0x8f0f_fff1 } else { 0xffff_ffff };
        let want = interpreted(&func, &words, &mut memory, active);
        let check = |got: &[u32], what: &str, parted: &Function| {
            for slot in 4..8 {
                for lane in (0..32).filter(|lane| active >> lane & 1 != 0) {
                    let (want, got) = (read(&func, &want, slot, lane), read(&func, got, slot, lane));
                    assert_eq!(got, want, "seed {seed}, {what}, slot {slot}, lane {lane}\n{func}\n{parted}");
                }
            }
        };
        check(&interpreted(&raw, &words, &mut memory, active), "as it is", &raw);
        check(&interpreted(&parted, &words, &mut memory, active), "optimised", &parted);
        for options in &wide {
            check(&compiled(&parted, options, &words, &mut memory, active), "compiled", &parted);
            check(&compiled(&raw, options, &words, &mut memory, active), "compiled as it is", &raw);
        }
    }
    assert!(split > 100, "only {split} loops");
}

#[test]
fn other_loops_stay() {
    let first = (1..50)
        .map(random_loop)
        .find(|f| lane_loops::run(&mut f.clone(), |_, _| 4))
        .expect("one that does not");
    let head = Block(1);
    // It stores.
    let mut stores = first.clone();
    let inside = stores.block(head).params[0];
    let left = stores.block(head).params[1];
    let mem = MemAccess {
        space: Space::Global(0),
        bytes: 4,
        signed: false,
        offset: 0,
        align: 1,
        far: false,
        align_offset: 0,
    };
    Builder::new(&mut stores, head).store(mem, left, left, Some(inside));
    assert!(!lane_loops::run(&mut stores, |_, _| 4));
    // It loads for lanes that have left.
    let mut loads = first.clone();
    Builder::new(&mut loads, head).load(mem, left, None);
    assert!(!lane_loops::run(&mut loads, |_, _| 4));
    // What is used behind it goes on changing in lanes that have left.
    let mut counts = first;
    let slot = counts.add_slot("left", Type::I32, SlotInit::Zero);
    let Some(Terminator::BrAny { taken, next, .. }) = &mut counts.block_mut(head).term else {
        panic!("ends")
    };
    let fewer = taken.args[1];
    let at = next.block;
    let param = counts.add_param(at, Type::I32);
    let zero = Builder::new(&mut counts, Block(0)).i32(0);
    for block in [Block(0), head] {
        let arg = if block == head { fewer } else { zero };
        if let Some(term) = &mut counts.block_mut(block).term {
            term.for_each_call(|call| {
                if call.block == at {
                    call.args.push(arg);
                }
            });
        }
    }
    Builder::new(&mut counts, at).set(slot, param);
    verify(&counts).unwrap_or_else(|e| panic!("{e:?}\n{counts}"));
    assert!(!lane_loops::run(&mut counts, |_, _| 4));
}

//! Tests random regions with memory accesses, masks and loops against the interpreter, run chunk by chunk.

mod common;
#[path = "regions/generator.rs"]
mod generator;
#[path = "regions/line_loops.rs"]
mod line_loops;
#[path = "regions/lines.rs"]
mod lines;
#[path = "regions/sixteens.rs"]
mod sixteens;
#[path = "regions/small_shared.rs"]
mod small_shared;
#[path = "regions/versions.rs"]
mod versions;

use common::{Executable, Random, all_options, frame, read, write};
use generator::random_region;
use warpjit_backend::{
    Context, FAULT, HostLevel, Options, STOPPED, Shape, Target, TrapLane, compile_region, list_region,
};
use warpjit_ir::interp::{Code, Denied, Fault, Frame, Scratch, WarpMemory, run_mask_function};
use warpjit_ir::passes::{conjunctions, dce, fold, pipeline, whole};
use warpjit_ir::text::parse_function;
use warpjit_ir::verify::verify;
use warpjit_ir::{Function, Opcode, Space};

const GLOBAL: usize = 5 * 4096;
const SHARED: usize = 1000;
const LOCAL: usize = 60;

/// The guest's memory: flat for compiled code, and as the interpreter asks for it.
#[derive(Clone, PartialEq)]
struct Memory {
    global: Vec<u8>,
    shared: Vec<u8>,
    local: Vec<u8>,
    consts: Vec<u8>,
    /// How much of `shared` the guest has.
    shared_bytes: u32,
    /// A flag byte a page.
    pages: Vec<u8>,
    lanes: u64,
}

impl Memory {
    fn new(random: &mut Random, lanes: u64, last_page: u8) -> Memory {
        let mut bytes = |n: usize| (0..n).map(|_| random.next() as u8).collect::<Vec<u8>>();
        let (global, shared) = (bytes(GLOBAL + 512), bytes(SHARED + 8));
        let (local, mut consts) = (bytes((LOCAL + 8) * lanes as usize), bytes(65536));
        consts.extend([0; 8]);
        let mut pages = vec![0u8; (1 << 20) + 2];
        // What is behind is not there.
        pages[..GLOBAL / 4096].copy_from_slice(&[3, 3, 3, 3, last_page]);
        Memory { global, shared, local, consts, shared_bytes: SHARED as u32, pages, lanes }
    }

    fn place(&mut self, space: Space, lane: u32, address: u64, byte: u64) -> Option<&mut u8> {
        match space {
            Space::Global(_) => self.global.get_mut((address + byte) as usize),
            Space::Shared => self.shared.get_mut((address + byte) as usize),
            Space::Local => {
                let a = address + byte;
                let at = a / 4 * 4 * self.lanes + u64::from(lane) * 4 + a % 4;
                self.local.get_mut(at as usize)
            }
            Space::Const(_) => self.consts.get_mut((address + byte) as usize),
        }
    }

    fn allowed(&self, space: Space, address: u64, bytes: u8, flag: u8) -> Result<bool, Denied> {
        match space {
            Space::Global(_) => {
                let end = address.wrapping_add(bytes.into());
                let ok = |a: u64| self.pages.get((a >> 12) as usize).is_some_and(|page| page & flag != 0);
                if ok(address) && ok(end.wrapping_sub(1)) { Ok(true) } else { Err(Denied) }
            }
            Space::Shared => Ok(address + u64::from(bytes) <= u64::from(self.shared_bytes)),
            Space::Local => Ok(address + u64::from(bytes) <= LOCAL as u64),
            Space::Const(_) => Ok(true),
        }
    }
}

impl WarpMemory for Memory {
    fn load(&mut self, space: Space, lane: u32, address: u64, bytes: u8) -> Result<u64, Denied> {
        if !self.allowed(space, address, bytes, 1)? {
            return Ok(0);
        }
        let mut value = 0;
        for k in 0..u64::from(bytes) {
            value |= u64::from(*self.place(space, lane, address, k).ok_or(Denied)?) << (8 * k);
        }
        Ok(value)
    }

    fn store(&mut self, space: Space, lane: u32, address: u64, bytes: u8, value: u64) -> Result<(), Denied> {
        if self.allowed(space, address, bytes, 2)? {
            for k in 0..u64::from(bytes) {
                *self.place(space, lane, address, k).ok_or(Denied)? = (value >> (8 * k)) as u8;
            }
        }
        Ok(())
    }

    fn lock(&mut self, _: u32, _: u64) -> bool {
        false
    }

    fn unlock_store(&mut self, _: u32, _: u64, _: u32) {}
}

struct Outcome {
    frame: Vec<u32>,
    memory: Memory,
    result: Result<(u64, u64, u64), Fault>,
}

/// Refills the fuel and leaves nothing in the registers that a callee may change.
unsafe extern "C" fn refill(context: *mut Context) -> u32 {
    // SAFETY: code passes its context. The assembly changes registers that it names.
    unsafe {
        (*context).fuel = 0;
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!(
            "pcmpeqd xmm0, xmm0",
            "movaps xmm1, xmm0",
            "movaps xmm2, xmm0",
            "movaps xmm3, xmm0",
            "movaps xmm4, xmm0",
            "movaps xmm5, xmm0",
            "movaps xmm6, xmm0",
            "movaps xmm7, xmm0",
            "movaps xmm8, xmm0",
            "movaps xmm9, xmm0",
            "movaps xmm10, xmm0",
            "movaps xmm11, xmm0",
            "movaps xmm12, xmm0",
            "movaps xmm13, xmm0",
            "movaps xmm14, xmm0",
            "movaps xmm15, xmm0",
            "mov rax, -1",
            "mov rcx, rax",
            "mov rdx, rax",
            "mov rsi, rax",
            "mov rdi, rax",
            "mov r8, rax",
            "mov r9, rax",
            "mov r10, rax",
            "mov r11, rax",
            clobber_abi("C"),
        );
    }
    0
}

/// Atomics of global memory, on the [`Memory`] that the context names.
unsafe extern "C" fn global_atomic(context: *mut Context) {
    // SAFETY: code passes its context, and `compiled` has put a memory into it.
    let (context, memory) = unsafe { (&mut *context, &mut *(*context).user.cast::<Memory>()) };
    context.each_atomic(|x| {
        memory.atomic(Space::Global(0), x.lane, x.address, x.bytes, x.op, x.value, x.new).ok()
    });
}

fn compiled(func: &Function, options: &Options, words: &[u32], memory: &Memory, active: u64) -> Outcome {
    let code = Executable::compile(func, options);
    let mut frame = words.to_vec();
    let mut memory = memory.clone();
    let mut ctx = Context::new();
    ctx.active = active;
    ctx.fuel = 1;
    ctx.poll = refill;
    ctx.global_base = memory.global.as_mut_ptr();
    ctx.page_table = memory.pages.as_ptr();
    ctx.shared_base = memory.shared.as_mut_ptr();
    ctx.shared_bytes = memory.shared_bytes;
    ctx.local_base = memory.local.as_mut_ptr();
    ctx.local_bytes = LOCAL as u32;
    ctx.const_banks = [memory.consts.as_ptr(); warpjit_backend::CONST_BANKS];
    ctx.global_atomic = global_atomic;
    ctx.user = (&raw mut memory).cast();
    let exit = code.run(&mut ctx, &mut frame);
    let result = if exit == FAULT {
        // As the runtime asks: a lane below one whose address is none may be where nothing is.
        let (bytes, flag) = (ctx.fault.bytes(), if ctx.fault.is_store() { 2 } else { 1 });
        let f =
            ctx.lowest_fault(|at| memory.allowed(Space::Global(0), at, bytes, flag).is_err().then_some(at));
        Err(Fault {
            kind: warpjit_ir::interp::FaultKind::Memory,
            pc: f.pc,
            lane: f.lane,
            address: Some(f.address),
            space: Some(f.space()),
            store: f.is_store(),
        })
    } else {
        Ok((exit, ctx.exited, ctx.cond))
    };
    Outcome { frame, memory, result }
}

fn interpreted(func: &Function, options: &Options, words: &[u32], memory: &Memory, active: u64) -> Outcome {
    let code = Code::new(func).expect("valid");
    let mut frame = Frame::new(words.len() * 4);
    frame.words_mut().copy_from_slice(words);
    let mut memory = memory.clone();
    let lanes = if options.single { 1 } else { 4 * u32::from(options.chunk_groups) };
    let mut result = Ok((0, 0, 0));
    for first in (0..func.lanes).step_by(lanes as usize) {
        let chunk = active & (u64::MAX >> (64 - lanes)) << first;
        if chunk == 0 {
            continue;
        }
        let mut scratch = Scratch::new(&code);
        match (run_mask_function(&code, &mut scratch, &mut frame, chunk, &mut memory), &mut result) {
            (Ok(exit), Ok(all)) => {
                *all = (exit.exit.into(), all.1 | exit.exited, all.2 | exit.cond.unwrap_or(0));
            }
            (Err(fault), _) => {
                result = Err(fault);
                break;
            }
            _ => {}
        }
    }
    Outcome { frame: frame.words().to_vec(), memory, result }
}

/// What each sixteen lanes of the slots with a shape have more than those before, where they are even over all lanes.
const EVEN: [i32; 3] = [16, 0, 64];

/// Random values of all slots, such that those with a shape have it; `apart` is what each sixteen lanes of them have
/// more than those before.
fn inputs(func: &Function, random: &mut Random, apart: [i32; 3]) -> Vec<u32> {
    let mut words = frame(func);
    words.iter_mut().for_each(|w| *w = random.next() as u32);
    let (uni, packed) = (random.next(), random.next());
    // The low half is small enough for a chunk not to carry.
    let packed = packed & 0xffff_0000 | packed & 0xf00;
    // As long as they do not wrap.
    let packed = if apart == EVEN { packed } else { packed & 0x0fff_ffff };
    for lane in 0..32 {
        let value = |first: u64, step: u32, apart: i32| {
            let more = (apart as u32).wrapping_mul(lane as u32 / 16);
            u64::from((first as u32).wrapping_add(step * (lane as u32 % 16)).wrapping_add(more))
        };
        write(func, &mut words, 0, lane, value(0, 1, apart[0]));
        write(func, &mut words, 1, lane, value(uni, 0, apart[1]));
        write(func, &mut words, 2, lane, value(packed, 4, apart[2]));
        for slot in [6, 9] {
            let bit = random.next();
            write(func, &mut words, slot, lane, bit);
        }
    }
    words
}

/// The seeds to try: `count` of them from 1 on, as many as `WARPJIT_RANDOM` says, or the one in `WARPJIT_SEED`.
fn seeds(count: u64) -> std::ops::RangeInclusive<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    match number("WARPJIT_SEED") {
        Some(seed) => seed..=seed,
        None => 1..=number("WARPJIT_RANDOM").unwrap_or(count),
    }
}

fn compare(tame: bool) {
    // Code looks for misaligned lanes before it accesses anything: it may find another lane than the lowest bad one.
    let (mut faults, mut other_lanes, mut atomics) = (0, 0, 0);
    let mut options = all_options();
    // Unmapped pages are found by the table of pages here, not by signals.
    options.retain(|o| tame || !o.wide_vectors);
    let mut count = 0;
    for seed in seeds(400) {
        count += 1;
        let (mut func, shapes) = random_region(seed, tame);
        if seed % 3 == 0 {
            // Versions for where all lanes take part.
            pipeline(&mut func, &[whole::run, fold::run, conjunctions::run, dce::run]);
        }
        verify(&func).expect("valid");
        let mut options = options[seed as usize % options.len()].clone();
        // What has a shape has it in all lanes, or in each sixteen.
        let by_sixteen = options.wide_vectors && options.chunk_groups > 4;
        let apart = match seed / 7 % 3 {
            1 if by_sixteen => {
                // Addresses are mapped up to where the last lane's are as a rule.
                let near = [0, 16, 1, 4, 15];
                let far = [0, 16, 64, 4, -64, 1 << 20, i32::MIN + 5];
                let high = [0, 0x1_0000, 0x30_0000];
                let seed = seed as usize / 21;
                [near[seed % near.len()], far[seed / 3 % far.len()], high[seed % high.len()]]
            }
            _ => EVEN,
        };
        options.apart = match seed / 7 % 3 {
            2 => Vec::new(),
            _ => (0..shapes.len()).map(|slot| apart.get(slot).copied()).collect(),
        };
        options.slot_shapes = shapes;
        options.checked_memory = !options.wide_vectors && (!tame || seed % 2 == 0);
        let mut random = Random(seed ^ 0x5555);
        for _ in 0..3 {
            // Read-only where faults are wanted.
            let memory = Memory::new(&mut random, 32, if tame { 3 } else { 1 });
            let words = inputs(&func, &mut random, apart);
            let active = [0xffff_ffff, random.next() & 0xffff_ffff, 0xff0, 0xf0f0_0000][random.below(4)];
            let got = compiled(&func, &options, &words, &memory, active);
            let want = interpreted(&func, &options, &words, &memory, active);
            let say = || {
                let clif = list_region(&func, &options).expect("compiles").clif;
                let assembly = list_region(&func, &options).expect("compiles").assembly;
                format!("seed {seed} active {active:x} {options:?}\n{func}\n{clif}\n{assembly}")
            };
            if let (Err(a), Err(b)) = (&got.result, &want.result) {
                faults += 1;
                other_lanes += u32::from(a.lane != b.lane);
                assert_eq!((a.pc, a.space, a.store), (b.pc, b.space, b.store), "{}", say());
                if func.insts.iter().any(|inst| inst.op == Opcode::Atomic && inst.pc == a.pc) {
                    atomics += 1;
                    // The lanes before have done theirs.
                    assert_eq!((a.lane, a.address), (b.lane, b.address), "{}", say());
                    assert!(got.memory == want.memory, "{}", say());
                }
                continue;
            }
            assert_eq!(got.result, want.result, "{}", say());
            for (slot, data) in func.slots.iter().enumerate() {
                for lane in 0..32 {
                    let (a, b) = (read(&func, &got.frame, slot, lane), read(&func, &want.frame, slot, lane));
                    assert_eq!(a, b, "{} lane {lane}: {a:x} not {b:x} {}", data.name, say());
                }
            }
            for (name, a, b) in [
                ("global", &got.memory.global, &want.memory.global),
                ("shared", &got.memory.shared, &want.memory.shared),
                ("local", &got.memory.local, &want.memory.local),
            ] {
                if let Some(at) = (0..a.len()).find(|&i| a[i] != b[i]) {
                    panic!("{name} byte {at}: {:x} not {:x}\n{}", a[at], b[at], say());
                }
            }
        }
    }
    assert!(tame || count < 100 || atomics > 5, "{atomics}");
    assert!(tame || count < 100 || faults > 20 && other_lanes * 20 < faults, "{faults} {other_lanes}");
}

#[test]
fn random_regions() {
    compare(true);
}

#[test]
fn random_regions_with_faults() {
    compare(false);
}

const SPIN: &str = "
function @spin mask lanes 32 {
    slot s0: i32 n

block0 at 0x0:
    v0: mask = active
    jump block1

block1 at 0x8:
    v1: i32 = slot.get s0
    v2: ui32 = const 0x1
    v3: i32 = iadd v1, v2
    slot.set s0, v3
    br_any v0, block1, block2

block2 at 0x10:
    return 0
}
";

#[test]
fn fuel_stops_a_loop() {
    let func = parse_function(SPIN, &[]).expect("parses");
    for options in all_options() {
        let code = Executable::compile(&func, &options);
        let mut words = frame(&func);
        let mut ctx = Context { active: 0xff00, fuel: 9, ..Context::new() };
        assert_eq!(code.run(&mut ctx, &mut words), STOPPED);
        assert_eq!(ctx.fuel, -1);
        // Ten iterations of the first chunk that has an active lane; lanes that did not enter are as before.
        assert_eq!(read(&func, &words, 0, 8), 10);
        assert_eq!(read(&func, &words, 0, 0), 0);
    }
}

#[test]
fn chunks_without_lanes_are_skipped() {
    let func = parse_function(SPIN, &[]).expect("parses");
    for options in all_options() {
        let code = Executable::compile(&func, &options);
        let mut words = frame(&func);
        let mut ctx = Context { active: 0, fuel: 9, exited: 5, cond: 5, ..Context::new() };
        assert_eq!(code.run(&mut ctx, &mut words), 0);
        assert_eq!((ctx.exited, ctx.cond, ctx.fuel), (0, 0, 9));
    }
}

#[test]
fn counts_instructions_of_masked_blocks() {
    let (mut func, shapes) = random_region(4, true);
    func.blocks.iter_mut().for_each(|b| b.guest_insts = 0);
    func.blocks[0].guest_insts = 7;
    let active = func.insts[func.blocks[0].insts[0].index()].result;
    for mut options in all_options() {
        options.count = true;
        options.slot_shapes = shapes.clone();
        options.block_masks = vec![active];
        let code = Executable::compile(&func, &options);
        let mut random = Random(3);
        let mut memory = Memory::new(&mut random, 32, 3);
        let mut words = inputs(&func, &mut random, EVEN);
        let mut ctx = Context { active: 0xf0f1, fuel: 100, ..Context::new() };
        ctx.global_base = memory.global.as_mut_ptr();
        ctx.shared_base = memory.shared.as_mut_ptr();
        ctx.shared_bytes = SHARED as u32;
        ctx.local_base = memory.local.as_mut_ptr();
        ctx.local_bytes = LOCAL as u32;
        ctx.const_banks = [memory.consts.as_ptr(); warpjit_backend::CONST_BANKS];
        code.run(&mut ctx, &mut words);
        assert_eq!(ctx.thread_insts, 9 * 7);
    }
}

#[test]
fn regions_hold_no_cross_lane_operations() {
    let options = all_options().remove(0);
    let text = "
function @vote mask lanes 32 {
block0 at 0x0:
    v0: mask = active
    v1: mask = vote_any v0
    return 0
}
";
    let func = parse_function(text, &[]).expect("parses");
    assert!(compile_region(&func, &options).is_err());
    let spmd =
        parse_function(&SPIN.replace("mask lanes", "spmd lanes").replace("br_any v0", "branch v0"), &[]);
    if let Ok(spmd) = spmd {
        assert!(compile_region(&spmd, &options).is_err());
    }
}

#[test]
fn lowers_for_all_hosts() {
    for (triple, level) in [
        ("x86_64-unknown-linux-gnu", HostLevel::Native),
        ("x86_64-unknown-linux-gnu", HostLevel::Sse41),
        ("aarch64-unknown-linux-gnu", HostLevel::Native),
    ] {
        let target = Target::triple(triple, level).expect("target");
        for seed in 0..40 {
            let (func, shapes) = random_region(seed, seed % 2 == 0);
            let mut options = Options::new(target.clone());
            options.chunk_groups = 1 << (seed % 3);
            options.slot_shapes = shapes;
            options.checked_memory = seed % 4 == 0;
            if let Err(e) = compile_region(&func, &options) {
                panic!("{triple} {level:?}: {e}\n{func}");
            }
        }
    }
}

/// An address that depends on one word, and a place in shared memory.
const ONE_WORD: &str = "
function @one_word mask lanes 32 {
    slot s0: i32 word
    slot s1: i32 base
    slot s2: i32 value
    slot s3: mask part
    slot s4: i32 place
    slot s5: i32 loaded

block0 at 0x0:
    v0: i32 = slot.get s1
    v1: i64 = zext v0
    v2: i32 = slot.get s0
    v3: i64 = EXTEND v2
    v4: ui64 = const 0x2
    v5: i64 = ishl v3, v4
    v6: i64 = iadd v1, v5
    v7: mask = slot.get s3
    v8: i32 = load.u32 global0[v6 + 0x8] align 1 if v7
    v9: i32 = slot.get s4
    v10: i32 = load.u32 shared[v9] align 1 far if v7
    v11: i32 = slot.get s2
    v12: i32 = iadd v10, v11
    store.u32 global0[v6], v12 align 1 if v7
    store.u32 shared[v9], v8 align 1 far if v7
    slot.set s2, v8
    slot.set s5, v10
    return 0
}
";

#[test]
fn lanes_that_take_part_are_side_by_side_or_not() {
    let mut random = Random(77);
    for (n, options) in all_options().into_iter().enumerate() {
        for extend in ["zext", "sext"] {
            let func = parse_function(&ONE_WORD.replace("EXTEND", extend), &[]).expect("parses");
            verify(&func).expect("valid");
            let mut options = options.clone();
            options.slot_shapes = vec![None, Some(Shape::Uniform), None, None, None, None];
            for round in 0..60 {
                let memory = Memory::new(&mut random, 32, 3);
                let mut words = frame(&func);
                let part = match round % 4 {
                    0 => u64::from(u32::MAX),
                    // Not the first of sixteen.
                    1 => 0xfffe_fff8,
                    2 => 0xff00_0000 << (round % 8),
                    _ => random.next(),
                } as u32;
                // The first lanes that take part may have the first words there are.
                let lowest = part.trailing_zeros().min(31) as i64;
                let start = match (round / 4 % 3, extend) {
                    (0, _) => -lowest,
                    (1, "sext") => -lowest - 7,
                    _ => random.below(300) as i64,
                };
                let base = 4096 + random.below(64) as u64;
                for lane in 0..32 {
                    let other = match random.below(40) {
                        // One that is elsewhere.
                        0 if round % 2 == 0 => Some(random.below(900) as u64),
                        _ => None,
                    };
                    let in_part = part >> lane & 1 != 0;
                    let even = (start + lane as i64) as u32;
                    let word = if in_part { other.unwrap_or(even.into()) } else { random.next() };
                    write(&func, &mut words, 0, lane, word & 0xffff_ffff);
                    write(&func, &mut words, 1, lane, base);
                    write(&func, &mut words, 2, lane, random.next() & 0xffff_ffff);
                    write(&func, &mut words, 3, lane, in_part.into());
                    // Some are outside.
                    let place =
                        if random.below(8) == 0 { random.next() } else { random.below(1100) as u64 & !3 };
                    write(&func, &mut words, 4, lane, place & 0xffff_ffff);
                }
                let active = if round % 3 == 0 { random.next() & 0xffff_ffff } else { 0xffff_ffff };
                let got = compiled(&func, &options, &words, &memory, active);
                let want = interpreted(&func, &options, &words, &memory, active);
                assert_eq!(got.result, want.result, "options {n}, {extend}, round {round}");
                for slot in [2, 5] {
                    for lane in (0..32).filter(|lane| (active & u64::from(part)) >> lane & 1 != 0) {
                        let (a, b) =
                            (read(&func, &got.frame, slot, lane), read(&func, &want.frame, slot, lane));
                        assert_eq!(a, b, "options {n}, {extend}, round {round}, slot {slot}, lane {lane}");
                    }
                }
                assert!(got.memory == want.memory, "options {n}, {extend}, round {round}: memory");
            }
        }
    }
}

/// One address in each space, by words or double words.
const SPACES: &str = "
function @spaces mask lanes 32 {
    slot s0: i32 place
    slot s1: TYPE first
    slot s2: TYPE second
    slot s3: TYPE third
    slot s4: TYPE fourth

block0 at 0x0:
    v0: i32 = slot.get s0
    v1: TYPE = load.uBITS shared[v0 + 0x10] align 4
    v2: TYPE = load.uBITS const2[v0 + 0x8] align 4
    v3: TYPE = load.uBITS local[v0] align 4
    v4: TYPE = load.uBITS global0[v0 + 0x10] align 4
    v5: TYPE = load.uBITS const3[v0 + 0x10] align 4
    v6: TYPE = load.uBITS shared[v0] align 4
    v7: TYPE = iadd v5, v6
    slot.set s1, v1
    slot.set s2, v2
    slot.set s3, v3
    store.uBITS shared[v0 + 0x18], v4 align 4
    slot.set s4, v7
    return 0
}
";

#[test]
fn an_address_is_another_place_in_each_space() {
    let mut random = Random(4525);
    for (n, options) in all_options().into_iter().enumerate() {
        for (bits, step) in [("32", 4), ("64", 8), ("32", 0), ("64", 0)] {
            let text = SPACES.replace("TYPE", &format!("i{bits}")).replace("BITS", bits);
            let func = parse_function(&text, &[]).expect("parses");
            verify(&func).expect("valid");
            for known in [true, false] {
                let mut options = options.clone();
                let shape = if step == 0 { Shape::Uniform } else { Shape::Affine(step) };
                options.slot_shapes = vec![known.then_some(shape)];
                options.apart = vec![known.then_some(16 * step)];
                let memory = Memory::new(&mut random, 32, 3);
                let mut words = frame(&func);
                let first = 4 * random.below(64) as u64;
                for lane in 0..32 {
                    write(&func, &mut words, 0, lane, first + step as u64 * lane as u64);
                }
                let got = compiled(&func, &options, &words, &memory, 0xffff_ffff);
                let want = interpreted(&func, &options, &words, &memory, 0xffff_ffff);
                let say = format!("options {n}, {bits} bits, step {step}, known {known}");
                assert_eq!(got.result, want.result, "{say}");
                assert!(got.result.is_ok(), "{say}");
                for (slot, lane) in (1..5).flat_map(|slot| (0..32).map(move |lane| (slot, lane))) {
                    let (a, b) = (read(&func, &got.frame, slot, lane), read(&func, &want.frame, slot, lane));
                    assert_eq!(a, b, "{say}, slot {slot}, lane {lane}");
                }
                assert!(got.memory == want.memory, "{say}: memory");
            }
        }
    }
}

const TRAPS: &str = "
function @traps mask lanes 32 {
    slot s0: i32 lane
    slot s1: i32 uni
    slot s2: i32 any

block0 at 0x0:
    v0: i32 = slot.get s0
    v1: ui32 = const 0x2
    v2: i32 = ishl v0, v1
    v3: i32 = slot.get s1
    @0x10 v4: i32 = load.u32 global0[v3] align 4
    @0x18 v5: i32 = load.u32 global0[v2] align 4
    v6: i32 = slot.get s2
    @0x20 store.u32 global0[v6], v5 align 4
    slot.set s2, v4
    return 0
}
";

#[test]
fn traps_know_pc_and_lane() {
    let func = parse_function(TRAPS, &[]).expect("parses");
    let mut options = all_options().remove(1);
    options.slot_shapes = vec![Some(Shape::Affine(1)), Some(Shape::Uniform), None];
    let code = compile_region(&func, &options).expect("compiles");
    assert!(code.traps.is_sorted_by_key(|t| t.0));
    let at = |pc: u32| code.traps.iter().filter(move |t| t.1.pc == pc).map(|t| t.1.lane).collect::<Vec<_>>();
    assert_eq!(at(0x10), [TrapLane::First { guarded: false }]);
    let lanes: Vec<_> = (0..8).map(TrapLane::Lane).collect();
    let vectors = [TrapLane::Vector { first: 0 }, TrapLane::Vector { first: 4 }];
    let mixed = at(0x18);
    assert_eq!(mixed.iter().filter(|l| vectors.contains(l)).count(), 2);
    assert_eq!(mixed.iter().filter(|l| lanes.contains(l)).count(), 8);
    // With all lanes, and with those that take part.
    assert_eq!(at(0x20), [&lanes[..], &lanes[..]].concat());

    let site = |pc, n: usize| code.traps.iter().filter(move |t| t.1.pc == pc).nth(n).expect("a trap").1;
    let mut ctx = Context::new();
    ctx.global_base = std::ptr::without_provenance_mut(0x10_0000);
    (ctx.active, ctx.chunk_lane, ctx.vector_base) = (0xf000, 8, 0x10_0ff8);
    let vector = code.traps.iter().find(|t| t.1.lane == vectors[0]).expect("a trap").1;
    let fault = vector.fault(&ctx, 0x10_1000, &[0; 16]);
    assert_eq!((fault.pc, fault.lane, fault.address, fault.is_store()), (0x18, 10, 0x1000, false));
    assert_eq!(site(0x10, 0).fault(&ctx, 0x10_0004, &[0; 16]).lane, 12);
    let fault = site(0x20, 3).fault(&ctx, 0x10_0004, &[0; 16]);
    assert_eq!((fault.lane, fault.address, fault.is_store(), fault.space()), (11, 4, true, Space::Global(0)));
}

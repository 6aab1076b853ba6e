//! Runs compiled regions in the test process.
#![allow(dead_code)]

use std::ffi::c_void;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use warpjit_backend::{
    Context, Entry, FloatEnv, HostLevel, Options, RegionCode, STOPPED, TablePointer, Target, compile_region,
};
use warpjit_ir::types::Scalar;
use warpjit_ir::{Block, Form, Function, Imm, Opcode, SlotInit, Terminator, Type};

/// Machine code in executable memory.
pub struct Executable {
    at: *mut c_void,
    bytes: usize,
    pub code: RegionCode,
}

impl Executable {
    pub fn new(code: RegionCode) -> Executable {
        let bytes = code.code.len().next_multiple_of(4096);
        // SAFETY: a fresh mapping of our own; the code fits.
        let at = unsafe {
            let at = mmap_anonymous(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
            .expect("mmap");
            std::ptr::copy_nonoverlapping(code.code.as_ptr(), at.cast(), code.code.len());
            mprotect(at, bytes, MprotectFlags::READ | MprotectFlags::EXEC).expect("mprotect");
            at
        };
        Executable { at, bytes, code }
    }

    pub fn compile(func: &Function, options: &Options) -> Executable {
        match compile_region(func, options) {
            Ok(code) => Executable::new(code),
            Err(e) => panic!("{}: {e}", func.name),
        }
    }

    /// Runs the code in the float environment it asks for.
    pub fn run(&self, context: &mut Context, frame: &mut [u32]) -> u64 {
        context.pures = self.code.pures.as_ptr();
        let tables: Vec<TablePointer> = self.code.tables.iter().map(|&t| t.into()).collect();
        context.tables = tables.as_ptr();
        // SAFETY: the mapping holds a region's code; context and frame are what it takes.
        unsafe {
            let entry = std::mem::transmute::<*mut c_void, Entry>(self.at);
            #[cfg(target_arch = "x86_64")]
            {
                let flush = 0x9fc0u32;
                let default = 0x1f80u32;
                if self.code.float_env == FloatEnv::FlushAll {
                    std::arch::asm!("ldmxcsr [{}]", in(reg) &flush);
                }
                let exit = entry(context, frame.as_mut_ptr().cast());
                std::arch::asm!("ldmxcsr [{}]", in(reg) &default);
                exit
            }
            #[cfg(not(target_arch = "x86_64"))]
            {
                assert_eq!(self.code.float_env, FloatEnv::Default);
                entry(context, frame.as_mut_ptr().cast())
            }
        }
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: nothing points into the mapping any more.
        let _ = unsafe { munmap(self.at, self.bytes) };
    }
}

/// Context with all 32 lanes and much fuel.
pub fn context() -> Context {
    Context { active: 0xffff_ffff, fuel: 1 << 40, ..Context::new() }
}

/// Options of each group count, and of one lane after another, and host level: what this host has, AVX2 with FMA where it has more, SSE4.1.
pub fn all_options() -> Vec<Options> {
    let mut list = Vec::new();
    let host = [HostLevel::Native, HostLevel::Sse41].map(|level| Target::host(level).expect("host"));
    let avx2 = warpjit_backend::host_has_wide_vectors()
        .then(|| Target::triple("x86_64-unknown-linux-gnu", HostLevel::Native).expect("target"));
    for target in host.into_iter().chain(avx2) {
        for groups in [1, 2, 4, 8] {
            list.push(Options { chunk_groups: groups, ..Options::new(target.clone()) });
        }
        list.push(Options { chunk_groups: 1, single: true, ..Options::new(target.clone()) });
        if target.has_wide_vectors() {
            for groups in [4, 8] {
                list.push(Options {
                    chunk_groups: groups,
                    wide_vectors: true,
                    ..Options::new(target.clone())
                });
            }
        }
    }
    list
}

/// Frame words of a function.
pub fn frame(func: &Function) -> Vec<u32> {
    vec![0; func.frame_layout().1 as usize / 4]
}

pub fn read(func: &Function, frame: &[u32], slot: usize, lane: usize) -> u64 {
    let word = func.frame_layout().0[slot] as usize / 4;
    match func.slots[slot].ty.scalar {
        Scalar::I1 => u64::from(frame[word + lane] & 1),
        Scalar::I32 | Scalar::F32 => u64::from(frame[word + lane]),
        _ => u64::from(frame[word + 2 * lane]) | u64::from(frame[word + 2 * lane + 1]) << 32,
    }
}

pub fn write(func: &Function, frame: &mut [u32], slot: usize, lane: usize, bits: u64) {
    let word = func.frame_layout().0[slot] as usize / 4;
    match func.slots[slot].ty.scalar {
        Scalar::I1 => frame[word + lane] = 0u32.wrapping_sub(bits as u32 & 1),
        Scalar::I32 | Scalar::F32 => frame[word + lane] = bits as u32,
        _ => {
            frame[word + 2 * lane] = bits as u32;
            frame[word + 2 * lane + 1] = (bits >> 32) as u32;
        }
    }
}

/// A mask-form function with slots `a0`.. of the operand types, then one of the result type, that applies one operation.
///
/// `explicit` adds an operation that must not flush, so that code cannot use the host's flushing.
pub fn one_op(
    op: Opcode,
    imm: Imm,
    args: &[Type],
    result: Type,
    constants: &[Option<u64>],
    explicit: bool,
) -> Function {
    let mut f = Function::new(format!("{}_{imm:?}_{args:?}_{result}", op.name()), Form::Mask, 32);
    let slots: Vec<_> =
        args.iter().enumerate().map(|(i, &t)| f.add_slot(format!("a{i}"), t, SlotInit::Zero)).collect();
    let out = f.add_slot("r", result, SlotInit::Zero);
    let block = f.add_block(0);
    let push = |f: &mut Function, op, args: &[_], imm, ty| {
        let inst = f.make_inst(op, args, imm, ty, 0);
        f.block_mut(block).insts.push(inst);
        f.inst(inst).result
    };
    let mut operands = Vec::new();
    for (i, (&slot, &ty)) in slots.iter().zip(args).enumerate() {
        let v = match constants.get(i).copied().flatten() {
            Some(bits) => push(&mut f, Opcode::Const, &[], Imm::Bits(bits), Some(Type::uniform(ty.scalar))),
            None => push(&mut f, Opcode::SlotGet, &[], Imm::Slot(slot), Some(ty)),
        };
        operands.push(v.expect("has a result"));
    }
    let r = push(&mut f, op, &operands, imm, Some(result)).expect("has a result");
    push(&mut f, Opcode::SlotSet, &[r], Imm::Slot(out), None);
    if explicit {
        let dummy = f.add_slot("dummy", Type::F32, SlotInit::Zero);
        let x = push(&mut f, Opcode::SlotGet, &[], Imm::Slot(dummy), Some(Type::F32)).expect("has a result");
        let y = push(&mut f, Opcode::Fadd, &[x, x], Imm::Ftz(false), Some(Type::F32)).expect("has a result");
        push(&mut f, Opcode::SlotSet, &[y], Imm::Slot(dummy), None);
    }
    f.block_mut(Block(0)).term = Some(Terminator::Return { exit: 0, exited: None, cond: None });
    f
}

/// A generator of numbers: SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Bits of an element, often a special one.
    pub fn element(&mut self, scalar: Scalar) -> u64 {
        let r = self.next();
        let pick = |list: &[u64], r: u64| list[(r >> 32) as usize % list.len()];
        let kind = r % 8;
        let bits = match (scalar, kind) {
            (Scalar::I1, _) => r >> 8,
            (Scalar::I32, 0..=2) => pick(
                &[
                    0,
                    1,
                    2,
                    31,
                    32,
                    33,
                    0x7fff_ffff,
                    0x8000_0000,
                    0xffff_ffff,
                    0xffff,
                    0x1_0000,
                    0x7c00,
                    0xfc01,
                ],
                r,
            ),
            (Scalar::I32, 3) => r >> 8 & 0xff,
            (Scalar::I64, 0..=2) => pick(
                &[
                    0,
                    1,
                    31,
                    32,
                    33,
                    63,
                    64,
                    0x7fff_ffff,
                    0xffff_ffff,
                    1 << 32,
                    i64::MAX as u64,
                    1 << 63,
                    u64::MAX,
                ],
                r,
            ),
            (Scalar::I64, 3) => r >> 8 & 0xff,
            (Scalar::F32, 0) => pick(
                &[
                    0,
                    0x8000_0000,
                    1,
                    0x8000_0001,
                    0x7f_ffff,
                    0x80_0000,
                    0x8080_0000,
                    0x80_0001,
                    0x3f80_0000,
                    0xbf80_0000,
                    0x7f7f_ffff,
                    0x7f80_0000,
                    0xff80_0000,
                    0x7fc0_0000,
                    0x7f80_0001,
                    0xffff_ffff,
                    0x4f00_0000,
                    0xcf00_0000,
                    0x4f7f_ffff,
                    0x5f00_0000,
                    0x477f_efff,
                    0x477f_f000,
                    0x3880_0000,
                    0x3300_0000,
                    0x3f00_0000,
                    0x4b00_0001,
                ],
                r,
            ),
            // Magnitudes whose products are near the smallest normal, or near one, or integers.
            (Scalar::F32, 1) => r >> 32 & 0x807f_ffff | (127 - 64 + (r >> 8 & 3)) << 23,
            (Scalar::F32, 2..=4) => r >> 32 & 0x807f_ffff | (127 - 3 + (r >> 8 & 7)) << 23,
            (Scalar::F32, 5) => u64::from(((r >> 40) as i32 as f32 - 8e6).to_bits()),
            (Scalar::F64, 0) => pick(
                &[
                    0,
                    1 << 63,
                    1,
                    0x10_0000_0000_0000,
                    0xf_ffff_ffff_ffff,
                    0x3ff0_0000_0000_0000,
                    0x7ff0_0000_0000_0000,
                    0xfff0_0000_0000_0000,
                    0x7ff8_0000_0000_0000,
                    0x7ff0_0000_0000_0001,
                    0x41e0_0000_0000_0000,
                    0xc1e0_0000_0020_0000,
                    0x41ef_ffff_ffff_ffff,
                    0x43e0_0000_0000_0000,
                    0x43f0_0000_0000_0000,
                    0x380f_ffff_f000_0000,
                    0x380f_ffff_efff_ffff,
                    0x3810_0000_0000_0000,
                    0x47ef_ffff_f000_0000,
                ],
                r,
            ),
            (Scalar::F64, 1) => r & !(0x7ff << 52) | (1023 - 512 + (r >> 8 & 3)) << 52,
            (Scalar::F64, 2..=4) => r & !(0x7ff << 52) | (1023 - 3 + (r >> 8 & 7)) << 52,
            (Scalar::F64, 5) => r & !(0x7ff << 52) | (1023 - 127 + (r >> 8 & 3)) << 52,
            (Scalar::F64, 6) => (((r >> 8) as i64 as f64) * 1e-3).to_bits(),
            _ => r.rotate_left(17),
        };
        bits & scalar.bit_mask()
    }
}

/// Whether a run ended because of its poll function.
pub fn stopped(exit: u64) -> bool {
    exit == STOPPED
}

//! Tests memory instructions, one or a few at a time: lifts them, runs them in the interpreter, and compares with results
//! computed lane by lane from the formulas of docs/hardware/gcn.md section 5.

mod buffers;
mod flat;
mod formats;
mod gds;
mod images;
mod lds;
mod random;
mod scalar;

use std::cell::RefCell;

use warpjit_ir::Meter;
use warpjit_ir::interp::{Code, Denied, Flow, Scratch, Warp, WarpMemory};
use warpjit_ir::{Builtin, DeviceAccess, DeviceCall, DeviceFault, DeviceSite, Scalar, Space, TextureTables};

use super::emit::access;
use super::{Options, lift};
use crate::gcn::abi::GDS_ADDRESS;
use crate::gcn::{Arg, Format, Generation, Inst, Op, Operand, Type, encode};

/// Where global memory is mapped.
const BASE: u64 = 0x12_3456_7000;
const GLOBAL_BYTES: usize = 0x8000;
const LDS_BYTES: usize = 0x1000;
/// High dwords of the apertures.
const SHARED: u32 = 0x7fff_0001;
const PRIVATE: u32 = 0x7fff_0002;

/// What a wave works on.
#[derive(Clone)]
struct Machine {
    generation: Generation,
    exec: u64,
    /// By name in the vendor's syntax.
    scalars: Vec<(String, u32)>,
    vgprs: Vec<[u32; 64]>,
    global: Vec<u8>,
    lds: Vec<u8>,
    gds: Vec<u8>,
    apertures: bool,
}

/// A small generator of numbers that look random.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 ^ (self.0 >> 13) as u32
    }

    fn below(&mut self, n: u32) -> u32 {
        self.next() % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }

    fn lanes(&mut self, mut f: impl FnMut(&mut Random) -> u32) -> [u32; 64] {
        std::array::from_fn(|_| f(self))
    }
}

impl Machine {
    fn new(generation: Generation, random: &mut Random) -> Machine {
        let mut bytes = |n| (0..n).map(|_| random.next() as u8).collect::<Vec<u8>>();
        let (global, lds) = (bytes(GLOBAL_BYTES), bytes(LDS_BYTES));
        Machine {
            generation,
            exec: u64::from(random.next()) | u64::from(random.next()) << 32 | 1 << 5,
            scalars: vec![("m0".into(), u32::MAX)],
            vgprs: (0..32).map(|_| random.lanes(Random::next)).collect(),
            global,
            gds: lds.clone(),
            lds,
            apertures: false,
        }
    }

    fn set(&mut self, name: impl Into<String>, value: u32) {
        self.scalars.push((name.into(), value));
    }

    fn set_pair(&mut self, first: u8, value: u64) {
        self.set(format!("s{first}"), value as u32);
        self.set(format!("s{}", first + 1), (value >> 32) as u32);
    }

    fn active(&self, lane: usize) -> bool {
        self.exec >> lane & 1 != 0
    }

    /// Runs the instructions; gives the scalar registers afterwards.
    fn run(&mut self, program: &[Inst]) -> Vec<u32> {
        match self.try_run(program) {
            Ok(scalars) => scalars,
            Err(flow) => panic!("{flow:?}"),
        }
    }

    /// Runs the instructions; an error is how they ended otherwise than they should.
    fn try_run(&mut self, program: &[Inst]) -> Result<Vec<u32>, Flow> {
        let mut program: Vec<Inst> = program.to_vec();
        program.push(inst(Op::S_ENDPGM, Format::Sopp));
        for (n, inst) in program.iter_mut().enumerate() {
            (inst.pc, inst.len) = (8 * n as u64, 8);
            inst.generation = self.generation;
            // The device takes the word.
            inst.raw = encode(inst).map_or(0, |(raw, _)| raw);
        }
        let code = vec![0; 8 * program.len()];
        PROGRAM.set(program);
        let options = Options {
            name: "test",
            decode: |_, pc, _| PROGRAM.with_borrow(|program| program.get(pc as usize / 8).copied()),
            chip: self.generation.into(),
            entry: 0,
            vgprs: 32,
            sgprs: 104,
            mode: 0xc0,
            lds_bytes: LDS_BYTES as u32,
            scratch_bytes: 64,
            shared_aperture: if self.apertures { SHARED } else { 0 },
            private_aperture: if self.apertures { PRIVATE } else { 0 },
            preload: &[],
            observed: true,
            jump_targets: &[],
            stage: None,
        };
        let func = lift(&crate::code::Code::of_file(&code, 0, 0), &options, &Meter::unlimited())
            .expect("no limits")
            .function;
        let code = Code::new(&func).unwrap_or_else(|error| panic!("{error}\n{func}"));
        let exec = self.exec;
        let mut warp = Warp::new(&code, u64::MAX, |builtin, lane| match builtin {
            Builtin::Launched(half) => (exec >> (32 * half)) as u32,
            Builtin::LaneId => lane,
            _ => 0,
        });
        let (offsets, _) = func.frame_layout();
        let place = |name: &str| func.slots.iter().position(|slot| slot.name == name).map(|n| offsets[n]);
        for (name, value) in &self.scalars {
            let Some(at) = place(name) else { continue };
            warp.frame.write(at, Scalar::I32, 0, (*value).into());
        }
        for (n, lanes) in self.vgprs.iter().enumerate() {
            let Some(at) = place(&format!("v{n}")) else { continue };
            lanes.iter().zip(0..).for_each(|(&v, lane)| warp.frame.write(at, Scalar::I32, lane, v.into()));
        }
        let mut scratch = Scratch::new(&code);
        let mut memory = Memory {
            global: &mut self.global,
            lds: &mut self.lds,
            gds: &mut self.gds,
            local: vec![[0; 64]; 64],
            tables: TextureTables::default(),
        };
        for _ in 0..1000 {
            match code.run_block(&mut scratch, &mut warp, &mut memory) {
                Flow::Next => {}
                Flow::Ended => break,
                flow => return Err(flow),
            }
        }
        for (n, lanes) in self.vgprs.iter_mut().enumerate() {
            let Some(at) = place(&format!("v{n}")) else { continue };
            lanes
                .iter_mut()
                .zip(0..)
                .for_each(|(v, lane)| *v = warp.frame.read(at, Scalar::I32, lane) as u32);
        }
        Ok((0..104)
            .map(|n| place(&format!("s{n}")).map_or(0, |at| warp.frame.read(at, Scalar::I32, 0) as u32))
            .collect())
    }

    /// Bytes of global memory as a number; outside of it zero.
    fn global_at(&self, address: u64, bytes: u32) -> u64 {
        read(&self.global, address.wrapping_sub(BASE), bytes)
    }

    fn store_global(&mut self, address: u64, bytes: u32, value: u64) {
        write(&mut self.global, address.wrapping_sub(BASE), bytes, value);
    }
}

fn read(memory: &[u8], at: u64, bytes: u32) -> u64 {
    let end = at.saturating_add(bytes.into());
    if end > memory.len() as u64 {
        return 0;
    }
    (at..end).rev().fold(0, |v, i| v << 8 | u64::from(memory[i as usize]))
}

fn write(memory: &mut [u8], at: u64, bytes: u32, value: u64) {
    let end = at.saturating_add(bytes.into());
    if end <= memory.len() as u64 {
        (at..end).for_each(|i| memory[i as usize] = (value >> (8 * (i - at))) as u8);
    }
}

thread_local! {
    static PROGRAM: RefCell<Vec<Inst>> = const { RefCell::new(Vec::new()) };
}

struct Memory<'a> {
    global: &'a mut Vec<u8>,
    lds: &'a mut Vec<u8>,
    gds: &'a mut Vec<u8>,
    /// Words of local memory, of all lanes.
    local: Vec<[u32; 64]>,
    tables: TextureTables,
}

impl Memory<'_> {
    /// The memory that global addresses from `address` on lead to, and the place there.
    fn mapped(&mut self, address: u64, bytes: u8) -> Result<(&mut Vec<u8>, u64), Denied> {
        let (memory, at) = match address.checked_sub(GDS_ADDRESS) {
            Some(at) if at < GLOBAL_BYTES as u64 => (&mut *self.gds, at),
            _ => (&mut *self.global, address.wrapping_sub(BASE)),
        };
        let inside = at <= (memory.len() as u64).saturating_sub(bytes.into());
        if inside { Ok((memory, at)) } else { Err(Denied) }
    }
}

impl WarpMemory for Memory<'_> {
    fn load(&mut self, space: Space, lane: u32, address: u64, bytes: u8) -> Result<u64, Denied> {
        match space {
            Space::Local => Ok(self.local[address as usize / 4][lane as usize].into()),
            Space::Shared => Ok(read(self.lds, address, bytes.into())),
            _ => self.mapped(address, bytes).map(|(memory, at)| read(memory, at, bytes.into())),
        }
    }

    fn store(&mut self, space: Space, lane: u32, address: u64, bytes: u8, value: u64) -> Result<(), Denied> {
        self.load(space, lane, address, bytes)?;
        match space {
            Space::Local => self.local[address as usize / 4][lane as usize] = value as u32,
            Space::Shared => write(self.lds, address, bytes.into(), value),
            _ => {
                let (memory, at) = self.mapped(address, bytes)?;
                write(memory, at, bytes.into(), value);
            }
        }
        Ok(())
    }

    fn call_device(&mut self, site: &DeviceSite, lanes: u64) -> Result<(), DeviceFault> {
        let (params, mailbox) = (site.params, site.mailbox);
        (site.callee.run)(&mut DeviceCall { params, mailbox, lanes, access: self })
    }
}

impl DeviceAccess for Memory<'_> {
    fn lanes(&self) -> u32 {
        64
    }

    fn local(&self, lane: u32, address: u32) -> u32 {
        self.local[address as usize / 4][lane as usize]
    }

    fn set_local(&mut self, lane: u32, address: u32, value: u32) {
        self.local[address as usize / 4][lane as usize] = value;
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), u64> {
        for (byte, address) in bytes.iter_mut().zip(address..) {
            *byte = self.load(access::GLOBAL, 0, address, 1).map_err(|Denied| address)? as u8;
        }
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), u64> {
        for (&byte, address) in bytes.iter().zip(address..) {
            self.store(access::GLOBAL, 0, address, 1, byte.into()).map_err(|Denied| address)?;
        }
        Ok(())
    }

    fn update(&mut self, address: u64, bytes: u8, update: &dyn Fn(u64) -> u64) -> Result<u64, u64> {
        let old = self.load(access::GLOBAL, 0, address, bytes).map_err(|Denied| address)?;
        self.store(access::GLOBAL, 0, address, bytes, update(old)).map_err(|Denied| address)?;
        Ok(old)
    }

    fn textures(&self) -> &TextureTables {
        &self.tables
    }
}

/// An instruction without operands.
fn inst(op: Op, format: Format) -> Inst {
    let srcs = [Arg::new(Operand::Int(0), Type::B32, 1); 4];
    Inst { len: 8, srcs, ..Inst::bare(op, format, Generation::Gfx6) }
}

fn v(number: u8, words: u8) -> Option<Arg> {
    Some(Arg::new(Operand::Vgpr(number), Type::Words, words))
}

fn s(number: u8, words: u8) -> Option<Arg> {
    Some(Arg::new(Operand::Sgpr(number), Type::Words, words))
}

/// `s_mov_b32` of a constant.
fn s_mov(number: u8, value: u32) -> Inst {
    let mut mov = inst(Op::S_MOV_B32, Format::Sop1);
    mov.dst = Some(Arg::new(Operand::Sgpr(number), Type::B32, 1));
    mov.srcs[0] = Arg::new(Operand::Literal(value), Type::B32, 1);
    mov.src_count = 1;
    mov.literal = Some(value);
    mov
}

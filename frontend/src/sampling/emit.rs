//! The builder of sampler code: appends operations to the IR with the arithmetic that the other modules share.

use warpjit_ir::function::Imm;
use warpjit_ir::{Builder, FloatCC, IntCC, MemAccess, Opcode, Scalar, Slot, Space, Type, Value};

use super::key::StateKey;
use super::request::Input;

/// The NaN of blends.
pub(super) const NAN: u64 = 0x7fc0_0000;

/// Appends operations of one sampler's code.
pub(super) struct Emit<'a> {
    pub b: Builder<'a>,
    pub key: &'a StateKey,
    /// Products and sums that are rounded once are cheap.
    pub fused: bool,
    /// A slot for each word of the mailbox.
    pub slots: &'a [Slot],
}

impl Emit<'_> {
    pub fn int(&mut self, n: i32) -> Value {
        self.b.i32(n as u32)
    }

    fn constant(&mut self, address: Value, word: u32, bytes: u8) -> Value {
        let mem = MemAccess {
            space: Space::Const(0),
            bytes,
            signed: false,
            offset: 4 * word as i32,
            far: false,
            align: 1,
            align_offset: 0,
        };
        let scalar = if bytes == 8 { Scalar::I64 } else { Scalar::I32 };
        let ty = Some(Type::uniform(scalar));
        self.b.push(Opcode::Load, &[address], Imm::Mem(mem), ty).expect("has a result")
    }

    /// A word of the data, behind a uniform address.
    pub fn word(&mut self, address: Value, word: u32) -> Value {
        self.constant(address, word, 4)
    }

    /// A word of all levels' data.
    pub fn head(&mut self, word: u32) -> Value {
        let start = self.int(0);
        self.word(start, word)
    }

    /// An f64 of the data.
    pub fn double(&mut self, address: Value, word: u32) -> Value {
        let bits = self.constant(address, word, 8);
        self.b.bitcast(bits, Scalar::F64)
    }

    /// Bytes of an element, at an offset in the image.
    pub fn texel(&mut self, address: Value, byte: u32, bytes: u8) -> Value {
        let mem = MemAccess {
            space: Space::Global(0),
            bytes,
            signed: false,
            offset: byte as i32,
            far: false,
            align: 1,
            align_offset: 0,
        };
        self.b.load(mem, address, None)
    }

    pub fn float(&mut self, bits: Value) -> Value {
        self.b.bitcast(bits, Scalar::F32)
    }

    pub fn bits(&mut self, float: Value) -> Value {
        self.b.bitcast(float, Scalar::I32)
    }

    pub fn fadd(&mut self, a: Value, b: Value) -> Value {
        self.b.float(Opcode::Fadd, &[a, b], false)
    }

    pub fn fsub(&mut self, a: Value, b: Value) -> Value {
        self.b.float(Opcode::Fsub, &[a, b], false)
    }

    pub fn fmul(&mut self, a: Value, b: Value) -> Value {
        self.b.float(Opcode::Fmul, &[a, b], false)
    }

    /// `a * b + c`, rounded once.
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.b.float(Opcode::Fma, &[a, b, c], false)
    }

    pub fn fdiv(&mut self, a: Value, b: Value) -> Value {
        self.b.float(Opcode::Fdiv, &[a, b], false)
    }

    pub fn float_of(&mut self, int: Value) -> Value {
        self.b.convert(Opcode::FcvtFromSint, int, Scalar::F32)
    }

    pub fn icmp(&mut self, cc: IntCC, a: Value, b: Value) -> Value {
        self.b.icmp(cc, a, b)
    }

    pub fn fcmp(&mut self, cc: FloatCC, a: Value, b: Value) -> Value {
        self.b.fcmp(cc, a, b, false)
    }

    /// `value` where the condition holds, else 0.
    pub fn where_holds(&mut self, holds: Value, value: Value) -> Value {
        let mask = self.b.convert(Opcode::Bmask, holds, Scalar::I32);
        self.b.iand(value, mask)
    }

    pub fn clamp(&mut self, x: Value, low: Value, high: Value) -> Value {
        let x = self.b.smax(x, low);
        self.b.smin(x, high)
    }

    pub fn shl(&mut self, x: Value, by: u32) -> Value {
        if by == 0 {
            return x;
        }
        let by = self.b.i32(by);
        self.b.ishl(x, by)
    }

    pub fn shr(&mut self, x: Value, by: u32) -> Value {
        if by == 0 {
            return x;
        }
        let by = self.b.i32(by);
        self.b.ushr(x, by)
    }

    pub fn sar(&mut self, x: Value, by: u32) -> Value {
        if by == 0 {
            return x;
        }
        let by = self.b.i32(by);
        self.b.sshr(x, by)
    }

    pub fn and(&mut self, x: Value, mask: u32) -> Value {
        let mask = self.b.i32(mask);
        self.b.iand(x, mask)
    }

    pub fn splat(&mut self, x: Value) -> Value {
        self.b.splat(x)
    }

    /// The bits of an argument.
    pub fn input(&mut self, input: Input) -> Value {
        match input {
            Input::None => self.int(0),
            Input::Bits(bits) => self.b.i32(bits),
            Input::Word(word) => self.b.get(self.slots[usize::from(word)]),
            Input::Field { word, low, bits, signed } => {
                let word = self.b.get(self.slots[usize::from(word)]);
                let (low, bits) = (u32::from(low), u32::from(bits));
                let high = self.shl(word, 32 - (low + bits).min(32));
                if signed { self.sar(high, 32 - bits) } else { self.shr(high, 32 - bits) }
            }
            Input::Sum(word, add) => {
                let sum = self.sum(word, add);
                self.bits(sum)
            }
            Input::Change { to, from, add } => {
                let (to, from) = (self.sum(to, add), self.sum(from, add));
                let change = self.fsub(to, from);
                self.bits(change)
            }
            Input::Rounded(word) => self.rounded(word),
            Input::Face(word) => {
                let whole = self.rounded(word);
                let (cube, face) = (self.shr(whole, 3), self.and(whole, 7));
                let (six, five) = (self.int(6), self.int(5));
                let faces = self.b.imul(cube, six);
                let face = self.b.smin(face, five);
                self.b.iadd(faces, face)
            }
        }
    }

    fn sum(&mut self, word: u8, add: i8) -> Value {
        let word = self.b.get(self.slots[usize::from(word)]);
        let float = self.float(word);
        if add == 0 {
            return float;
        }
        let add = self.b.f32(add.into());
        self.fadd(float, add)
    }

    fn rounded(&mut self, word: u8) -> Value {
        let word = self.b.get(self.slots[usize::from(word)]);
        let float = self.float(word);
        let nearest = self.b.fnearest(float);
        self.b.convert(Opcode::FcvtToUint, nearest, Scalar::I32)
    }

    /// What two values make, the second with a weight from 0 to 1 that is 0 where `first` holds.
    pub fn blend(&mut self, a: Value, b: Value, weight: Value, first: Option<Value>) -> Value {
        let difference = self.fsub(b, a);
        let part = self.fmul(difference, weight);
        let blend = self.fadd(a, part);
        match first {
            None => blend,
            Some(first) => {
                let blend = self.b.fcanon(blend, NAN);
                self.b.select(first, a, blend)
            }
        }
    }
}

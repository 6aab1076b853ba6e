//! The units of VP1, and what its instructions do.

/// The execution units, in the order of a bundle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Unit {
    /// Opcodes c0 to df.
    Address,
    /// Opcodes 00 to 7f.
    Scalar,
    /// Opcodes 80 to bf.
    Vector,
    /// Opcodes e0 to ff.
    Branch,
}

impl Unit {
    /// All units.
    pub const ALL: [Unit; 4] = [Unit::Address, Unit::Scalar, Unit::Vector, Unit::Branch];

    /// The unit that executes a word.
    pub fn of(word: u32) -> Unit {
        match word >> 24 {
            0x00..=0x7f => Unit::Scalar,
            0x80..=0xbf => Unit::Vector,
            0xc0..=0xdf => Unit::Address,
            _ => Unit::Branch,
        }
    }

    /// The word that stands for an instruction of this unit that a bundle does not have.
    pub fn no_op(self) -> u32 {
        match self {
            Unit::Address => 0xdf00_0000,
            Unit::Scalar => 0x4f00_0000,
            Unit::Vector => 0xbf00_0000,
            Unit::Branch => 0xef00_0000,
        }
    }
}

/// What an instruction does. Operands and variants are in its word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Bytewise product (`bmul`, `bmula` and nameless ones that only drive the bus).
    ByteMul,
    /// Bytewise minimum.
    ByteMin,
    /// Bytewise maximum.
    ByteMax,
    /// Bytewise absolute value.
    ByteAbs,
    /// Bytewise negation.
    ByteNeg,
    /// Bytewise sum.
    ByteAdd,
    /// Bytewise difference.
    ByteSub,
    /// Bytewise shift.
    ByteShift,
    /// Bitwise operation with a byte in all bytes.
    ByteBitop,
    /// Sends multiplied and added bytes to the vector unit.
    BusByteMad,
    /// Sends bytes to the vector unit.
    BusBytes,
    /// Sends immediates to the vector unit.
    BusImm,
    /// Sends a mask to the vector unit and shifts.
    BusMask,
    /// Drives the bus with a product of bytes, nothing else.
    BusMul,
    /// Product of the low halves, signed.
    Mul,
    /// Signed minimum.
    Min,
    /// Signed maximum.
    Max,
    /// Absolute value.
    Abs,
    /// Negation.
    Neg,
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Arithmetic shift.
    Sar,
    /// Logical shift.
    Shr,
    /// Bitwise operation of two sources.
    Bitop,
    /// Loads an immediate.
    MovImm,
    /// Loads the high half.
    SetHigh,
    /// Writes a register of another file.
    MovTo,
    /// Reads a register of another file.
    MovFrom,
    /// Clears the scalar bits of a `$c`.
    ScalarClear,
    /// Nothing.
    ScalarNop,
    /// Minimum.
    VMin,
    /// Maximum.
    VMax,
    /// Absolute value.
    VAbs,
    /// Negation.
    VNeg,
    /// Sum.
    VAdd,
    /// Difference.
    VSub,
    /// Shift.
    VShift,
    /// Bitwise operation of two sources.
    VBitop,
    /// Loads an immediate.
    VMovImm,
    /// Reads all `$vc`.
    VMovFlags,
    /// Median of three.
    VClip,
    /// Smaller absolute value.
    VMinAbs,
    /// Adds 9-bit differences.
    VAdd9,
    /// Permutes components.
    VSwizzle,
    /// Compares an absolute difference.
    VCmpad,
    /// Multiplies and adds with the accumulator's pipeline.
    VMad,
    /// Nothing.
    VNop,
    /// Loads a vector or a word.
    ALoad,
    /// Stores a vector or a word.
    AStore,
    /// Loads bytes at addresses of their own.
    ALoadRaw,
    /// Stores a vector to one cell.
    AStoreRaw,
    /// Adds to the address part.
    AHalfAdd,
    /// Sum.
    AAdd,
    /// Bitwise operation of two sources.
    ABitop,
    /// Loads the low half.
    ASetLow,
    /// Loads the high half.
    ASetHigh,
    /// Starts or awaits a transfer (outside of the processor).
    Dma,
    /// Unknown.
    AUnknown,
    /// Nothing.
    ANop,
    /// Branches or calls, with or without a loop counter.
    Branch,
    /// Returns from a call.
    Return,
    /// Branches to an absolute group.
    BranchAbs,
    /// Loads a loop counter.
    MovLoop,
    /// Stops.
    Exit,
    /// Unknown; sets the loop flag.
    BUnknown,
    /// Nothing.
    BNop,
}

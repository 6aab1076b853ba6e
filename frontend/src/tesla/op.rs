//! What Tesla instructions do: word classes, operations, and what stands around them.

use crate::envydis::ops;

/// Instruction word class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Form {
    /// One word.
    Short,
    /// Two words that hold a 32-bit immediate.
    Imm,
    /// Two words: predicate, `$c` result and three sources.
    Long,
    /// One word of control flow.
    ShortControl,
    /// Two words of control flow.
    Control,
}

/// What a long instruction does after its own work. Both ignore the predicate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum End {
    /// Nothing.
    None,
    /// The threads end.
    Exit,
    /// The threads rejoin at the innermost `joinat`.
    Join,
}

/// A predicate other than "always".
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Predicate {
    /// Condition code, 0x00 (never) to 0x1f; 0x0f and the undefined codes do not occur.
    pub cond: u8,
    /// `$c` number.
    pub creg: u8,
}

ops! {
    /// What an instruction does, apart from its modifiers and types.
    Op;

    /// Integer arithmetic and logic. `lift/topics/int.rs`
    Int {
        /// `add sub subr addc` (`mods.add`), b16 or b32.
        IAdd,
        /// `set` of integers.
        ISet,
        /// `max` of integers.
        IMax,
        /// `min` of integers.
        IMin,
        /// `shl`
        Shl,
        /// `shr`; arithmetic for signed types.
        Shr,
        /// 16 x 16 to 32 bit multiply; each source has its type.
        IMul16,
        /// 24 x 24 bit multiply, low or (`mods.high`) bits 16-47.
        IMul24,
        /// Sum of absolute differences: `|a - b| + c`.
        Sad,
        /// 16-bit multiply and add (`mods.add`): sources a, b, c.
        IMad16,
        /// 24-bit multiply and add (`mods.add`): sources a, b, c.
        IMad24,
        /// `and or xor mov2` (`mods.logic`).
        Logic,
    }

    /// Arithmetic of f32 and f64, and the special-function unit. `lift/topics/float.rs`
    Float {
        /// f32 add.
        FAdd,
        /// f32 multiply.
        FMul,
        /// f32 multiply-add, product truncated: sources a, b, c.
        FMad,
        /// f32 compare.
        FSet,
        /// f32 maximum.
        FMax,
        /// f32 minimum.
        FMin,
        /// Select by the sign of a float: sources a, b, selector.
        Slct,
        /// f64 add.
        DAdd,
        /// f64 multiply.
        DMul,
        /// f64 fused multiply-add.
        DFma,
        /// f64 minimum.
        DMin,
        /// f64 maximum.
        DMax,
        /// f64 compare.
        DSet,
        /// Reciprocal.
        Rcp,
        /// Reciprocal square root.
        Rsqrt,
        /// Logarithm to base 2.
        Lg2,
        /// Sine of a prepared argument.
        Sin,
        /// Cosine of a prepared argument.
        Cos,
        /// Power of 2 of a prepared argument.
        Ex2,
        /// Prepares the argument of sin and cos.
        PreSin,
        /// Prepares the argument of ex2.
        PreEx2,
    }

    /// Conversions. `lift/topics/convert.rs`
    Convert {
        /// Conversion from `srcs[0].ty` to `mods.ty`.
        Cvt,
    }

    /// Moves, loads and stores. `lift/topics/memory.rs`
    Memory {
        /// Move: register, immediate, `s[]`, `a[]`, `p[]`. Type b16 or b32; lane mask in `mods.lanes`.
        Mov,
        /// Load from a constant space.
        LdConst,
        /// Load from shared memory.
        LdShared,
        /// Store to shared memory: sources memory, value. `mods.unlock`.
        StShared,
        /// Load from local memory.
        LdLocal,
        /// Store to local memory: sources memory, value.
        StLocal,
        /// Load from global memory.
        LdGlobal,
        /// Store to global memory: sources memory, value.
        StGlobal,
    }

    /// Atomics and locks. `lift/topics/atomic.rs`
    Atomic {
        /// Load from shared memory and lock the word; `$c` says if that worked.
        LdLock,
        /// Atomic operation without result: sources memory, value.
        Red,
        /// Atomic operation that returns the old value: sources memory, value, and for cas the new value.
        Atom,
    }

    /// Moves between register files, and what looks at other lanes. `lift/topics/special.rs`
    Special {
        /// `mov $r $c`
        MovFromCreg,
        /// `mov $r $a`
        MovFromAreg,
        /// `mov $r $sr`
        MovFromSreg,
        /// `mov $c $r`: the low four bits.
        MovToCreg,
        /// `shl $a src imm`
        ShlToAreg,
        /// `add $a $a imm`
        AddAreg,
        /// `quadop`: sources other, own.
        QuadOp,
        /// `vote any`, `vote all` of the predicate to a `$c`.
        Vote,
    }

    /// What only graphics stages have. `lift/topics/stage.rs`
    Stage {
        /// `ld b32 dst a[]` with an address register.
        LdAttr,
        /// `st b32 o[] src` with an address register: sources memory, value.
        StOut,
        /// Interpolate an attribute: source `v[]`, and a factor in the multiplying forms.
        Interp,
        /// Emit a vertex.
        Emit,
        /// End the primitive.
        Restart,
        /// Kill the fragment.
        Discard,
    }

    /// Textures. `lift/topics/texture.rs`
    Texture {
        /// Texture with automatic level of detail: sources texture, sampler, coordinates, three offsets.
        TexAuto,
        /// Texel fetch.
        TexFetch,
        /// Texture with level bias.
        TexBias,
        /// Texture with explicit level.
        TexLod,
        /// Texture size.
        TexSize,
        /// Cube coordinates for a texture that is no cube.
        TexPrep,
        /// Query of the level.
        TexQueryLod,
        /// Gather four texels.
        TexGather,
    }

    /// What changes the program counter or the divergence stack, waits, or does nothing here. `lift/control.rs`
    Control {
        /// Nothing.
        Nop,
        /// Performance monitor event.
        PmEvent,
        /// Branch.
        Bra,
        /// Branch to an address in a constant space.
        BraIndirect,
        /// Call.
        Call,
        /// Return.
        Ret,
        /// Push the target of `break`.
        BreakAddr,
        /// Leave to the pushed target.
        Break,
        /// Enable all threads of the quad.
        QuadOn,
        /// Undo `quadon`.
        QuadPop,
        /// Barrier: sources number and warp count (count absent with `mods.all`).
        Bar,
        /// Trap.
        Trap,
        /// Push a join point.
        JoinAt,
        /// Breakpoint.
        Brkpt,
        /// Push a return address.
        PreRet,
    }

    /// What nobody knows the meaning of: illegal.
    Unknown {
        /// Multisample fetch.
        TexCsaa,
    }
}

//! What Fermi instructions do: word classes and operations.

use crate::envydis::ops;

/// Instruction word class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Form {
    /// One word.
    Short,
    /// Two words, of class 0 to 6: every row also takes `join` and a guard.
    Long(u8),
    /// Two words, of class 7: control flow.
    Control,
}

ops! {
    /// What an instruction does, apart from its modifiers and types. Sources in the order of [`Inst::srcs`](super::Inst::srcs).
    Op;

    /// Arithmetic of f32, and the special-function unit. `lift/topics/float.rs`
    Float {
        /// f32 minimum if `mods.pred` is true, else maximum.
        FMinMax,
        /// f32 comparison to a register: `mods.compare`, combined with `mods.pred`.
        FSet,
        /// f32 comparison to predicates: `pdst` gets `cmp op p`, `pdst2` gets `!cmp op p`.
        FSetP,
        /// f32 fused multiply-add: a, b, c.
        FFma,
        /// Select by a float: `c cmp 0 ? a : b`.
        FSlct,
        /// f32 add.
        FAdd,
        /// f32 multiply, with `mods.neg` and `mods.scale`.
        FMul,
        /// Prepares the argument of sin and cos (RRO.SINCOS).
        PreSin,
        /// Prepares the argument of ex2 (RRO.EX2).
        PreEx2,
        /// Cosine of a prepared argument.
        Cos,
        /// Sine of a prepared argument.
        Sin,
        /// Power of 2 of a prepared argument.
        Ex2,
        /// Logarithm to base 2.
        Lg2,
        /// Reciprocal.
        Rcp,
        /// Reciprocal square root.
        Rsqrt,
        /// Upper word of an approximate f64 reciprocal, of the upper word of the argument.
        Rcp64h,
        /// The same for the reciprocal square root.
        Rsqrt64h,
    }

    /// Arithmetic of f64. `lift/topics/double.rs`
    Double {
        /// f64 minimum if `mods.pred` is true, else maximum.
        DMinMax,
        /// f64 comparison to a register.
        DSet,
        /// f64 comparison to predicates.
        DSetP,
        /// f64 fused multiply-add.
        DFma,
        /// f64 add.
        DAdd,
        /// f64 multiply.
        DMul,
    }

    /// Integer arithmetic and logic. `lift/topics/int.rs`, `bits.rs`
    Int {
        /// `mad b32`: each source has its type and part (GK104).
        IMadTyped,
        /// Integer minimum if `mods.pred` is true, else maximum.
        IMinMax,
        /// Integer comparison to a register.
        ISet,
        /// Integer comparison to predicates.
        ISetP,
        /// Integer multiply-add: a * b (low or `mods.high` half) and c, joined by `mods.add`.
        IMad,
        /// Bit field insert: value, position and length, base.
        Ins,
        /// Select by an integer: `c cmp 0 ? a : b`; the type is c's.
        ISlct,
        /// `|a - b| + c`
        Sad,
        /// `(a << mods.shift)` and b, joined by `mods.add`.
        IScAdd,
        /// Integer add.
        IAdd,
        /// Integer multiply, low or `mods.high` half; each source has its sign.
        IMul,
        /// Shift right.
        Shr,
        /// Shift left.
        Shl,
        /// Bitwise operation `mods.logic`; `mov2` gives b.
        Logic,
        /// Bit field extract: value, position and length.
        Ext,
        /// Highest bit that is set (signed: that differs from the sign), or -1.
        BFind,
        /// Byte permute: a, selector, c.
        Prmt,
        /// Bits set in a & b.
        Popc,
    }

    /// Conversions. `lift/topics/convert.rs`
    Convert {
        /// Conversion from `srcs[0].ty` to `mods.ty` (F2F, F2I, I2F, I2I).
        Cvt,
    }

    /// Moves between register files, and what is done with predicates and conditions. `lift/topics/special.rs`
    Special {
        /// `$c` condition to a register.
        CSet,
        /// `$c` condition to predicates.
        CSetP,
        /// Two predicates, combined by `mods.logic` and then with `mods.pred`, to a register.
        PSet,
        /// The same to predicates.
        PSetP,
        /// `mods.pred ? a : b`
        Selp,
        /// Move; `mods.lanes`.
        Mov,
        /// `mov $r $sr` (S2R).
        MovFromSreg,
        /// `mov $r [$r or] $flags mask b` (P2R): the last source is the mask, one before it is or'ed in.
        MovFromFlags,
        /// `mov $flags a mask b` (R2P).
        MovToFlags,
        /// The address of the instruction.
        Lepc,
    }

    /// What looks at other lanes. `lift/topics/lanes.rs`
    Lanes {
        /// `quadop`: sources other, own.
        QuadOp,
        /// `vote`: register gets the ballot, predicate the outcome.
        Vote,
        /// Shuffle (GK104): value, lane, clamp and mask; `pdst` says if the source lane was in range.
        Shfl,
    }

    /// Video instructions. `lift/topics/video.rs`
    Video {
        /// Video add: `mods.add`; sources a, b, c.
        VAdd,
        /// Video average (vector forms).
        VAvg,
        /// Video minimum.
        VMin,
        /// Video maximum.
        VMax,
        /// Video absolute difference.
        VAbsDiff,
        /// Video compare to a register.
        VSet,
        /// Video compare to predicates.
        VSetP,
        /// Video shift right.
        VShr,
        /// Video shift left.
        VShl,
        /// Video multiply-add.
        VMad,
        /// Video select by predicate (vector forms).
        VSel,
    }

    /// Loads and stores. `lift/topics/memory.rs`
    Memory {
        /// Load from `g[]`, `s[]` or `l[]`.
        Ld,
        /// Load that is uniform over the warp (GF100).
        Ldu,
        /// Store: memory, value.
        St,
        /// Two loads, to `dst` and `dst2` (GF100): the sources are their addresses, `srcs[1].ty` the second's type.
        LdLdu,
        /// Load from a constant space.
        LdConst,
    }

    /// Atomics and locks. `lift/topics/atomic.rs`
    Atomic {
        /// Atomic operation without result: memory, value.
        Red,
        /// Atomic operation that returns the old value: memory, value, and for cas the new value.
        Atom,
        /// Load and lock the word; `pdst` says if that worked.
        LdLock,
        /// Store and unlock the word.
        StUnlock,
    }

    /// Barriers. `lift/topics/barrier.rs`
    Barrier {
        /// Barrier: number, thread count (0 register: all); `mods.pred`.
        Bar,
    }

    /// What only graphics stages have. `lift/topics/stage.rs`
    Stage {
        /// Interpolates an attribute (graphics): attribute, factor, sample position.
        Interp,
        /// Base address of an input vertex (graphics).
        LdVertex,
        /// Attribute load (graphics).
        LdAttr,
        /// Attribute store (graphics): attribute, value, vertex.
        StAttr,
        /// Attribute address (graphics).
        Al2p,
        /// Pixel information (graphics).
        PixInfo,
        /// Emit, restart (graphics).
        Out,
    }

    /// Textures. `lift/topics/texture.rs`
    Texture {
        /// Texture.
        Tex,
        /// Texel fetch.
        TexFetch,
        /// Gather four texels.
        TexGather,
        /// Query of the level.
        TexQueryLod,
        /// Query of size, type ...
        TexQuery,
        /// Texture with derivatives given.
        TexGrad,
    }

    /// Surfaces. `lift/topics/surface.rs`
    Surface {
        /// Surface load by address (GK104): memory, descriptor.
        SuLdGB,
        /// Surface load (GF100): slot, coordinates.
        SuLdB,
        /// Surface atomic: slot, coordinates, value.
        SuRedP,
        /// Surface store by address (GK104): memory, descriptor, value.
        SuStGB,
        /// Formatted surface store by address (GK104).
        SuStGP,
        /// Surface store (GF100): slot, coordinates, value.
        SuStB,
        /// Formatted surface store (GF100).
        SuStP,
        /// Surface address (GF100).
        SuLea,
    }

    /// What makes addresses of surfaces. `lift/topics/surface_address.rs`
    SurfaceAddress {
        /// `mad b32 sd`: a form that names no types; no source says what it does (GK104).
        IMadSd,
        /// Clamps a surface coordinate (GK104).
        SuClamp,
        /// Bit field merge of surface coordinates (GK104).
        SuBfm,
        /// Effective surface address (GK104).
        SuEau,
    }

    /// What changes the program counter or the divergence stack, ends fragments, or does nothing here. `lift/control.rs`
    Control {
        /// Nothing.
        Nop,
        /// Performance monitor event.
        PmEvent,
        /// Cache control.
        Cctl,
        /// Memory barrier.
        Membar,
        /// Waits for textures (GK104).
        TexBar,
        /// Scheduling hints for the next seven instructions (GK104); no instruction.
        Sched,
        /// Branch: `Target`, or `Const` that holds the address (relative with `mods.pcrel`).
        Bra,
        /// Branch to a register plus an immediate (`BRX`): sources register, base; or `Const` with a register.
        BraIndirect,
        /// Call: as `Bra`.
        Call,
        /// Push a `longjmp` target.
        PreLongjmp,
        /// Push a join point (SSY).
        JoinAt,
        /// Push the target of `brk`.
        PreBrk,
        /// Push the target of `cont`.
        PreCont,
        /// Push a return address.
        PreRet,
        /// End of the thread.
        Exit,
        /// Leave to the pushed target.
        Longjmp,
        /// Return.
        Ret,
        /// Kill the fragment.
        Discard,
        /// Leave to the pushed target.
        Brk,
        /// Leave to the pushed target.
        Cont,
        /// Enable all threads of the quad.
        QuadOn,
        /// Undo `quadon`.
        QuadPop,
        /// Breakpoint.
        Bpt,
    }

    /// What nobody knows the meaning of, and what trap handlers use: illegal.
    Unknown {
        /// `bar read` (B2R).
        BarRead,
        /// Surface query (GF100).
        SuQ,
        /// Multisample position.
        TexCsaa,
        /// Return from trap.
        Rtt,
    }
}

//! Bit layouts of the encodings (docs/hardware/gcn.md section 2). One layout lists the fields of one encoding; decoder and
//! encoder walk the same list.

use super::{Format, Generation};
use crate::bits::Bits;

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    /// Opcode.
    Op,
    /// Nine-bit source, number in the order of source fields.
    Src(u8),
    /// Eight-bit scalar source.
    Ssrc(u8),
    /// Eight-bit vector source.
    Vsrc(u8),
    /// Seven-bit scalar destination.
    Sdst,
    /// Eight-bit vector destination (a scalar one for compares and lane reads).
    Vdst,
    /// Scalar destination of a VOP3b.
    CarryOut,
    /// 16-bit constant.
    Simm,
    /// Literal of setreg_imm32 and of madmk and madak.
    Constant,
    /// Clamp.
    Clamp,
    /// Output modifier.
    Omod,
    /// Absolute values, lowest bit first source.
    Abs,
    /// Negations.
    Neg,
    /// Halves of sources.
    OpSel,
    /// Halves of sources for the high result: the first two.
    OpSelHi,
    /// The third source's bit of `OpSelHi`.
    OpSelHi2,
    /// Negations of the low and of the high half.
    NegLo,
    /// Negations of the high half.
    NegHi,
    /// SDWA or DPP: VGPR of the first source; on 1.4 SDWA the flag that it is an SGPR comes with it.
    SubSrc(u8),
    /// SDWA: second source is an SGPR.
    SubScalar(u8),
    /// SDWA: part of the source.
    SrcSel(u8),
    /// SDWA: sign extension of the source.
    Sext(u8),
    /// SDWA, DPP: negation of one source.
    Neg1(u8),
    /// SDWA, DPP: absolute value of one source.
    Abs1(u8),
    /// SDWA: part of the destination.
    DstSel,
    /// SDWA: what becomes of the rest.
    DstUnused,
    /// SDWA compare on 1.4: destination, and bit 7 that there is one.
    SubDst,
    /// DPP control.
    DppCtrl,
    /// DPP bound control.
    BoundCtrl,
    /// DPP masks: banks, rows.
    BankMask,
    /// DPP row mask.
    RowMask,
    /// Interpolation: attribute.
    Attr,
    /// Interpolation: component.
    Chan,
    /// Interpolation: high half.
    High,
    /// SMEM: data.
    Sdata,
    /// Address pair or resource, in units of two registers.
    Base2,
    /// Resource, in units of four registers.
    Base4,
    /// Sampler, in units of four registers.
    Sampler,
    /// SMRD: immediate flag and offset.
    SmrdOffset,
    /// SMEM: offset; the flags tell what it is.
    SmemOffset,
    /// SMEM: offset is an immediate.
    SmemImm,
    /// SMEM 1.4: there is a scalar offset register.
    SmemSoffsetEn,
    /// SMEM 1.4: it.
    SmemSoffset,
    /// Vector address.
    Addr,
    /// Vector data: destination or source.
    Data,
    /// DS, FLAT: source data.
    Data0,
    /// DS: second data.
    Data1,
    /// DS, FLAT: destination.
    MemDst,
    /// DS offsets.
    DsOffset,
    /// Scalar offset of buffers.
    Soffset,
    /// Unsigned offset.
    Offset,
    /// FLAT 1.4: offset, signed but for flat.
    FlatOffset,
    /// FLAT 1.4: segment.
    Segment,
    /// FLAT 1.4: scalar address.
    Saddr,
    /// A flag of memory instructions.
    Flag(Flag),
    /// MTBUF data format.
    Dfmt,
    /// MTBUF number format.
    Nfmt,
    /// MIMG components.
    Dmask,
    /// Export target.
    Target,
    /// Export components.
    Enable,
}

/// A flag of memory instructions and exports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flag {
    /// GDS.
    Gds,
    /// Globally coherent.
    Glc,
    /// System coherent.
    Slc,
    /// To LDS.
    Lds,
    /// Texture fail.
    Tfe,
    /// Offset register.
    Offen,
    /// Index register.
    Idxen,
    /// 64-bit address.
    Addr64,
    /// Coordinates not normalized.
    Unorm,
    /// Array.
    Da,
    /// 128-bit resource; a16 on 1.4.
    R128,
    /// Level-of-detail warning.
    Lwe,
    /// 16-bit data.
    D16,
    /// Export: halves.
    Compr,
    /// Export: last.
    Done,
    /// Export: valid mask.
    Vm,
}

/// One encoding.
#[derive(Debug)]
pub(super) struct Layout {
    /// Length in bytes without a literal.
    pub(super) len: u8,
    /// Fixed bits.
    pub(super) value: u64,
    /// Which bits are fixed.
    pub(super) mask: u64,
    /// Bits that mean nothing and may be set.
    pub(super) ignored: u64,
    /// The fields.
    pub(super) fields: &'static [(Bits, Field)],
}

const fn at(pos: u8, len: u8) -> Bits {
    Bits::at(pos, len)
}

macro_rules! layout {
    ($name:ident, $len:expr, $value:expr, $mask:expr, $ignored:expr, [$($pos:expr, $bits:expr => $field:expr;)*]) => {
        static $name: Layout = Layout {
            len: $len,
            value: $value,
            mask: $mask,
            ignored: $ignored,
            fields: { use Field::*; use self::Flag as F; let _ = F::Gds; &[$((at($pos, $bits), $field),)*] },
        };
    };
}

layout!(SOP2, 4, 0x8000_0000, 0xc000_0000, 0, [
    23, 7 => Op; 16, 7 => Sdst; 0, 8 => Ssrc(0); 8, 8 => Ssrc(1);
]);
layout!(SOPK, 4, 0xb000_0000, 0xf000_0000, 0, [23, 5 => Op; 16, 7 => Sdst; 0, 16 => Simm;]);
layout!(SOPK_IMM, 8, 0xb000_0000, 0xf000_0000, 0, [
    23, 5 => Op; 16, 7 => Sdst; 0, 16 => Simm; 32, 32 => Constant;
]);
layout!(SOP1, 4, 0xbe80_0000, 0xff80_0000, 0, [8, 8 => Op; 16, 7 => Sdst; 0, 8 => Ssrc(0);]);
layout!(SOPC, 4, 0xbf00_0000, 0xff80_0000, 0, [16, 7 => Op; 0, 8 => Ssrc(0); 8, 8 => Ssrc(1);]);
layout!(SOPP, 4, 0xbf80_0000, 0xff80_0000, 0, [16, 7 => Op; 0, 16 => Simm;]);
layout!(SMRD, 4, 0xc000_0000, 0xf800_0000, 0, [
    22, 5 => Op; 15, 7 => Sdata; 9, 6 => Base2; 0, 9 => SmrdOffset;
]);
layout!(SMEM8, 8, 0xc000_0000, 0xfc00_0000, 0xfff0_0000_0000_e000, [
    18, 8 => Op; 16, 1 => Flag(F::Glc); 17, 1 => SmemImm; 6, 7 => Sdata; 0, 6 => Base2; 32, 20 => SmemOffset;
]);
layout!(SMEM9, 8, 0xc000_0000, 0xfc00_0000, 0x01e0_0000_0000_a000, [
    18, 8 => Op; 16, 1 => Flag(F::Glc); 17, 1 => SmemImm; 14, 1 => SmemSoffsetEn; 6, 7 => Sdata; 0, 6 => Base2;
    32, 21 => SmemOffset; 57, 7 => SmemSoffset;
]);
layout!(VOP1, 4, 0x7e00_0000, 0xfe00_0000, 0, [9, 8 => Op; 17, 8 => Vdst; 0, 9 => Src(0);]);
layout!(VOP2, 4, 0, 0x8000_0000, 0, [25, 6 => Op; 17, 8 => Vdst; 0, 9 => Src(0); 9, 8 => Vsrc(1);]);
layout!(VOP2_K, 8, 0, 0x8000_0000, 0, [
    32, 32 => Constant; 25, 6 => Op; 17, 8 => Vdst; 0, 9 => Src(0); 9, 8 => Vsrc(1);
]);
layout!(VOPC, 4, 0x7c00_0000, 0xfe00_0000, 0, [17, 8 => Op; 0, 9 => Src(0); 9, 8 => Vsrc(1);]);

// SDWA: fields of the short word, then those of the second one.
layout!(VOP1_SDWA8, 8, 0x7e00_00f9, 0xfe00_01ff, 0xc0c0_c000_0000_0000, [
    9, 8 => Op; 17, 8 => Vdst; 32, 8 => SubSrc(0); 40, 3 => DstSel; 43, 2 => DstUnused; 45, 1 => Clamp;
    48, 3 => SrcSel(0); 51, 1 => Sext(0); 52, 1 => Neg1(0); 53, 1 => Abs1(0);
]);
layout!(VOP1_SDWA9, 8, 0x7e00_00f9, 0xfe00_01ff, 0x4040_0000_0000_0000, [
    9, 8 => Op; 17, 8 => Vdst; 32, 8 => SubSrc(0); 40, 3 => DstSel; 43, 2 => DstUnused; 45, 1 => Clamp;
    46, 2 => Omod; 48, 3 => SrcSel(0); 51, 1 => Sext(0); 52, 1 => Neg1(0); 53, 1 => Abs1(0); 55, 1 => SubScalar(0);
]);
layout!(VOP2_SDWA8, 8, 0xf9, 0x8000_01ff, 0xc0c0_c000_0000_0000, [
    25, 6 => Op; 17, 8 => Vdst; 32, 8 => SubSrc(0); 9, 8 => SubSrc(1); 40, 3 => DstSel; 43, 2 => DstUnused;
    45, 1 => Clamp; 48, 3 => SrcSel(0); 51, 1 => Sext(0); 52, 1 => Neg1(0); 53, 1 => Abs1(0);
    56, 3 => SrcSel(1); 59, 1 => Sext(1); 60, 1 => Neg1(1); 61, 1 => Abs1(1);
]);
layout!(VOP2_SDWA9, 8, 0xf9, 0x8000_01ff, 0x4040_0000_0000_0000, [
    25, 6 => Op; 17, 8 => Vdst; 32, 8 => SubSrc(0); 9, 8 => SubSrc(1); 40, 3 => DstSel; 43, 2 => DstUnused;
    45, 1 => Clamp; 46, 2 => Omod; 48, 3 => SrcSel(0); 51, 1 => Sext(0); 52, 1 => Neg1(0); 53, 1 => Abs1(0);
    55, 1 => SubScalar(0);
    56, 3 => SrcSel(1); 59, 1 => Sext(1); 60, 1 => Neg1(1); 61, 1 => Abs1(1); 63, 1 => SubScalar(1);
]);
layout!(VOPC_SDWA8, 8, 0x7c00_00f9, 0xfe00_01ff, 0xc0c0_df00_0000_0000, [
    17, 8 => Op; 32, 8 => SubSrc(0); 9, 8 => SubSrc(1); 45, 1 => Clamp;
    48, 3 => SrcSel(0); 51, 1 => Sext(0); 52, 1 => Neg1(0); 53, 1 => Abs1(0);
    56, 3 => SrcSel(1); 59, 1 => Sext(1); 60, 1 => Neg1(1); 61, 1 => Abs1(1);
]);
layout!(VOPC_SDWA9, 8, 0x7c00_00f9, 0xfe00_01ff, 0x4040_0000_0000_0000, [
    17, 8 => Op; 32, 8 => SubSrc(0); 9, 8 => SubSrc(1); 40, 8 => SubDst;
    48, 3 => SrcSel(0); 51, 1 => Sext(0); 52, 1 => Neg1(0); 53, 1 => Abs1(0); 55, 1 => SubScalar(0);
    56, 3 => SrcSel(1); 59, 1 => Sext(1); 60, 1 => Neg1(1); 61, 1 => Abs1(1); 63, 1 => SubScalar(1);
]);
layout!(VOP1_DPP, 8, 0x7e00_00fa, 0xfe00_01ff, 0x0006_0000_0000_0000, [
    9, 8 => Op; 17, 8 => Vdst; 32, 8 => SubSrc(0); 40, 9 => DppCtrl; 51, 1 => BoundCtrl; 52, 1 => Neg1(0);
    53, 1 => Abs1(0); 56, 4 => BankMask; 60, 4 => RowMask;
]);
layout!(VOP2_DPP, 8, 0xfa, 0x8000_01ff, 0x0006_0000_0000_0000, [
    25, 6 => Op; 17, 8 => Vdst; 32, 8 => SubSrc(0); 9, 8 => Vsrc(1); 40, 9 => DppCtrl; 51, 1 => BoundCtrl;
    52, 1 => Neg1(0); 53, 1 => Abs1(0); 54, 1 => Neg1(1); 55, 1 => Abs1(1); 56, 4 => BankMask; 60, 4 => RowMask;
]);

layout!(VOP3A_OLD, 8, 0xd000_0000, 0xfc00_0000, 0, [
    17, 9 => Op; 0, 8 => Vdst; 8, 3 => Abs; 11, 1 => Clamp; 32, 9 => Src(0); 41, 9 => Src(1); 50, 9 => Src(2);
    59, 2 => Omod; 61, 3 => Neg;
]);
layout!(VOP3B_OLD, 8, 0xd000_0000, 0xfc00_0000, 0, [
    17, 9 => Op; 0, 8 => Vdst; 8, 7 => CarryOut; 32, 9 => Src(0); 41, 9 => Src(1); 50, 9 => Src(2);
    59, 2 => Omod; 61, 3 => Neg;
]);
layout!(VOP3A, 8, 0xd000_0000, 0xfc00_0000, 0x7800, [
    16, 10 => Op; 0, 8 => Vdst; 8, 3 => Abs; 15, 1 => Clamp; 32, 9 => Src(0); 41, 9 => Src(1); 50, 9 => Src(2);
    59, 2 => Omod; 61, 3 => Neg;
]);
layout!(VOP3_OPSEL, 8, 0xd000_0000, 0xfc00_0000, 0, [
    16, 10 => Op; 0, 8 => Vdst; 8, 3 => Abs; 11, 4 => OpSel; 15, 1 => Clamp; 32, 9 => Src(0); 41, 9 => Src(1);
    50, 9 => Src(2); 61, 3 => Neg;
]);
layout!(VOP3B, 8, 0xd000_0000, 0xfc00_0000, 0, [
    16, 10 => Op; 0, 8 => Vdst; 8, 7 => CarryOut; 15, 1 => Clamp; 32, 9 => Src(0); 41, 9 => Src(1); 50, 9 => Src(2);
    59, 2 => Omod; 61, 3 => Neg;
]);
layout!(VOP3_INTERP, 8, 0xd000_0000, 0xfc00_0000, 0x7800, [
    16, 10 => Op; 0, 8 => Vdst; 9, 2 => Abs; 15, 1 => Clamp; 32, 6 => Attr; 38, 2 => Chan; 40, 1 => High;
    41, 9 => Src(0); 50, 9 => Src(1); 59, 2 => Omod; 62, 2 => Neg;
]);
layout!(VOP3P, 8, 0xd380_0000, 0xff80_0000, 0, [
    16, 7 => Op; 0, 8 => Vdst; 8, 3 => NegHi; 11, 3 => OpSel; 15, 1 => Clamp; 32, 9 => Src(0); 41, 9 => Src(1);
    14, 1 => OpSelHi2; 50, 9 => Src(2); 59, 2 => OpSelHi; 61, 3 => NegLo;
]);
layout!(VINTRP_OLD, 4, 0xc800_0000, 0xfc00_0000, 0, [
    16, 2 => Op; 18, 8 => Vdst; 10, 6 => Attr; 8, 2 => Chan; 0, 8 => Vsrc(0);
]);
layout!(VINTRP, 4, 0xd400_0000, 0xfc00_0000, 0, [
    16, 2 => Op; 18, 8 => Vdst; 10, 6 => Attr; 8, 2 => Chan; 0, 8 => Vsrc(0);
]);

layout!(DS_OLD, 8, 0xd800_0000, 0xfc00_0000, 0, [
    18, 8 => Op; 17, 1 => Flag(F::Gds); 0, 16 => DsOffset; 32, 8 => Addr; 40, 8 => Data0; 48, 8 => Data1;
    56, 8 => MemDst;
]);
layout!(DS, 8, 0xd800_0000, 0xfc00_0000, 0x0200_0000, [
    17, 8 => Op; 16, 1 => Flag(F::Gds); 0, 16 => DsOffset; 32, 8 => Addr; 40, 8 => Data0; 48, 8 => Data1;
    56, 8 => MemDst;
]);
layout!(FLAT, 8, 0xdc00_0000, 0xfc00_0000, 0x0080_0000_0200_0000, [
    18, 7 => Op; 17, 1 => Flag(F::Slc); 16, 1 => Flag(F::Glc); 32, 8 => Addr; 40, 8 => Data0; 56, 8 => MemDst;
]);
layout!(FLAT9, 8, 0xdc00_0000, 0xfc00_0000, 0x0080_0000_0200_0000, [
    14, 2 => Segment; 18, 7 => Op; 17, 1 => Flag(F::Slc); 16, 1 => Flag(F::Glc);
    0, 13 => FlatOffset; 48, 7 => Saddr; 32, 8 => Addr; 40, 8 => Data0; 56, 8 => MemDst;
]);
layout!(MUBUF_OLD, 8, 0xe000_0000, 0xfc00_0000, 0x0020_0000_0202_0000, [
    18, 7 => Op; 12, 1 => Flag(F::Offen); 13, 1 => Flag(F::Idxen); 15, 1 => Flag(F::Addr64); 14, 1 => Flag(F::Glc);
    16, 1 => Flag(F::Lds); 0, 12 => Offset; 54, 1 => Flag(F::Slc); 55, 1 => Flag(F::Tfe); 32, 8 => Addr;
    40, 8 => Data; 48, 5 => Base4; 56, 8 => Soffset;
]);
layout!(MUBUF, 8, 0xe000_0000, 0xfc00_0000, 0x0060_0000_0200_8000, [
    18, 7 => Op; 12, 1 => Flag(F::Offen); 13, 1 => Flag(F::Idxen); 14, 1 => Flag(F::Glc);
    16, 1 => Flag(F::Lds); 0, 12 => Offset; 17, 1 => Flag(F::Slc); 55, 1 => Flag(F::Tfe); 32, 8 => Addr;
    40, 8 => Data; 48, 5 => Base4; 56, 8 => Soffset;
]);
layout!(MTBUF_OLD, 8, 0xe800_0000, 0xfc00_0000, 0x0020_0000_0000_0000, [
    16, 3 => Op; 12, 1 => Flag(F::Offen); 13, 1 => Flag(F::Idxen); 15, 1 => Flag(F::Addr64); 14, 1 => Flag(F::Glc);
    0, 12 => Offset; 19, 4 => Dfmt; 23, 3 => Nfmt; 54, 1 => Flag(F::Slc); 55, 1 => Flag(F::Tfe); 32, 8 => Addr;
    40, 8 => Data; 48, 5 => Base4; 56, 8 => Soffset;
]);
layout!(MTBUF, 8, 0xe800_0000, 0xfc00_0000, 0x0020_0000_0000_0000, [
    15, 4 => Op; 12, 1 => Flag(F::Offen); 13, 1 => Flag(F::Idxen); 14, 1 => Flag(F::Glc);
    0, 12 => Offset; 19, 4 => Dfmt; 23, 3 => Nfmt; 54, 1 => Flag(F::Slc); 55, 1 => Flag(F::Tfe); 32, 8 => Addr;
    40, 8 => Data; 48, 5 => Base4; 56, 8 => Soffset;
]);
layout!(MIMG_OLD, 8, 0xf000_0000, 0xfc00_0000, 0xfc00_0000_0000_00ff, [
    18, 7 => Op; 8, 4 => Dmask; 12, 1 => Flag(F::Unorm); 13, 1 => Flag(F::Glc); 14, 1 => Flag(F::Da);
    15, 1 => Flag(F::R128); 16, 1 => Flag(F::Tfe); 17, 1 => Flag(F::Lwe); 25, 1 => Flag(F::Slc); 32, 8 => Addr;
    40, 8 => Data; 48, 5 => Base4; 53, 5 => Sampler;
]);
layout!(MIMG, 8, 0xf000_0000, 0xfc00_0000, 0x7c00_0000_0000_00ff, [
    18, 7 => Op; 8, 4 => Dmask; 12, 1 => Flag(F::Unorm); 13, 1 => Flag(F::Glc); 14, 1 => Flag(F::Da);
    15, 1 => Flag(F::R128); 16, 1 => Flag(F::Tfe); 17, 1 => Flag(F::Lwe); 25, 1 => Flag(F::Slc); 63, 1 => Flag(F::D16);
    32, 8 => Addr; 40, 8 => Data; 48, 5 => Base4; 53, 5 => Sampler;
]);
layout!(EXP_OLD, 8, 0xf800_0000, 0xfc00_0000, 0x03ff_e000, [
    0, 4 => Enable; 4, 6 => Target; 10, 1 => Flag(F::Compr); 11, 1 => Flag(F::Done); 12, 1 => Flag(F::Vm);
    32, 8 => Vsrc(0); 40, 8 => Vsrc(1); 48, 8 => Vsrc(2); 56, 8 => Vsrc(3);
]);
layout!(EXP, 8, 0xc400_0000, 0xfc00_0000, 0x03ff_e000, [
    0, 4 => Enable; 4, 6 => Target; 10, 1 => Flag(F::Compr); 11, 1 => Flag(F::Done); 12, 1 => Flag(F::Vm);
    32, 8 => Vsrc(0); 40, 8 => Vsrc(1); 48, 8 => Vsrc(2); 56, 8 => Vsrc(3);
]);

/// The forms that the second dword of a short vector instruction gives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// As the format says.
    Plain,
    /// With a constant that belongs to the instruction.
    Constant,
    /// Sub-dword addressing.
    Sdwa,
    /// Data-parallel primitives.
    Dpp,
    /// VOP3 with a scalar destination.
    CarryOut,
    /// VOP3 that selects halves.
    OpSel,
    /// VOP3 interpolation.
    Interp,
}

/// The layout of an encoding; `None` where the generation does not have it.
pub(super) fn layout(format: Format, form: Form, generation: Generation) -> Option<&'static Layout> {
    let old = generation.is_old();
    let nine = generation == Generation::Gfx9;
    let pick = |yes: bool, a: &'static Layout, b: &'static Layout| Some(if yes { a } else { b });
    match (format, form) {
        (_, Form::Sdwa | Form::Dpp) if old => None,
        (Format::Sop2, _) => Some(&SOP2),
        (Format::Sopk, Form::Constant) => Some(&SOPK_IMM),
        (Format::Sopk, _) => Some(&SOPK),
        (Format::Sop1, _) => Some(&SOP1),
        (Format::Sopc, _) => Some(&SOPC),
        (Format::Sopp, _) => Some(&SOPP),
        (Format::Smem, _) if old => Some(&SMRD),
        (Format::Smem, _) => pick(nine, &SMEM9, &SMEM8),
        (Format::Vop1, Form::Sdwa) => pick(nine, &VOP1_SDWA9, &VOP1_SDWA8),
        (Format::Vop1, Form::Dpp) => Some(&VOP1_DPP),
        (Format::Vop1, _) => Some(&VOP1),
        (Format::Vop2, Form::Sdwa) => pick(nine, &VOP2_SDWA9, &VOP2_SDWA8),
        (Format::Vop2, Form::Dpp) => Some(&VOP2_DPP),
        (Format::Vop2, Form::Constant) => Some(&VOP2_K),
        (Format::Vop2, _) => Some(&VOP2),
        (Format::Vopc, Form::Sdwa) => pick(nine, &VOPC_SDWA9, &VOPC_SDWA8),
        (Format::Vopc, Form::Dpp) => None,
        (Format::Vopc, _) => Some(&VOPC),
        (Format::Vop3, Form::CarryOut) => pick(old, &VOP3B_OLD, &VOP3B),
        (Format::Vop3, Form::Interp) => Some(&VOP3_INTERP),
        (Format::Vop3, Form::OpSel) => Some(&VOP3_OPSEL),
        (Format::Vop3, _) => pick(old, &VOP3A_OLD, &VOP3A),
        (Format::Vop3p, _) => Some(&VOP3P),
        (Format::Vintrp, _) => pick(old, &VINTRP_OLD, &VINTRP),
        (Format::Ds, _) => pick(old, &DS_OLD, &DS),
        (Format::Flat, _) => pick(nine, &FLAT9, &FLAT),
        (Format::Mubuf, _) => pick(old, &MUBUF_OLD, &MUBUF),
        (Format::Mtbuf, _) => pick(old, &MTBUF_OLD, &MTBUF),
        (Format::Mimg, _) => pick(old, &MIMG_OLD, &MIMG),
        (Format::Exp, _) => pick(old, &EXP_OLD, &EXP),
    }
}

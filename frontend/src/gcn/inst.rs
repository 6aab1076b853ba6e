//! The decoded form of an instruction.

use super::operand::{Arg, Operand, Select, Type};
use super::{Generation, Op};

/// How an instruction is encoded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Format {
    /// Scalar, two sources.
    Sop2,
    /// Scalar, 16-bit constant.
    Sopk,
    /// Scalar, one source.
    Sop1,
    /// Scalar compare.
    Sopc,
    /// Program control.
    Sopp,
    /// Scalar memory (SMRD on 1.0 and 1.1).
    Smem,
    /// Vector, two sources; with SDWA or DPP if [`Inst::sdwa`] or [`Inst::dpp`] is there.
    Vop2,
    /// Vector, one source; as `Vop2`.
    Vop1,
    /// Vector compare; as `Vop2`.
    Vopc,
    /// Vector, long form. This is also the long form of the three above.
    Vop3,
    /// Packed.
    Vop3p,
    /// Interpolation.
    Vintrp,
    /// LDS and GDS.
    Ds,
    /// Flat, global, scratch.
    Flat,
    /// Buffer.
    Mubuf,
    /// Typed buffer.
    Mtbuf,
    /// Image.
    Mimg,
    /// Export.
    Exp,
}

/// Output modifier of float operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Omod {
    /// As it is.
    #[default]
    None,
    /// Times 2.
    Mul2,
    /// Times 4.
    Mul4,
    /// Divided by 2.
    Div2,
}

/// What SDWA does with the bits of the destination outside of the selected part.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unused {
    /// They become zero.
    Pad,
    /// Those above become copies of the result's sign, those below zero.
    Sext,
    /// They stay.
    Preserve,
}

/// Destination side of sub-dword addressing; the source side is in [`Arg::sel`] and [`Arg::sext`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sdwa {
    /// The part of the destination that gets the result. Compares have none: `Dword`.
    pub dst_sel: Select,
    /// What becomes of the rest.
    pub dst_unused: Unused,
}

/// Which lane the first source of a DPP instruction comes from. A row is 16 lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DppCtrl {
    /// For each lane of a quad the lane of that quad.
    QuadPerm([u8; 4]),
    /// Lane i reads lane i + n of its row, n = 1 to 15.
    RowShl(u8),
    /// Lane i reads lane i - n of its row.
    RowShr(u8),
    /// Lane i reads lane (i - n) mod 16 of its row.
    RowRor(u8),
    /// Lane i of the wave reads lane i + 1.
    WaveShl1,
    /// Lane i of the wave reads lane i + 1, the last one lane 0.
    WaveRol1,
    /// Lane i of the wave reads lane i - 1.
    WaveShr1,
    /// Lane i of the wave reads lane i - 1, the first one the last lane.
    WaveRor1,
    /// Lane i reads lane 15 - i of its row.
    RowMirror,
    /// Lane i reads lane 7 - i of its half row.
    RowHalfMirror,
    /// Rows 1 to 3 read the last lane of the row before.
    RowBcast15,
    /// Lanes 32 to 63 read lane 31.
    RowBcast31,
}

impl DppCtrl {
    /// By its code.
    pub fn from_code(code: u32) -> Option<DppCtrl> {
        let low = (code & 15) as u8;
        Some(match code {
            0..=0xff => DppCtrl::QuadPerm(std::array::from_fn(|lane| (code >> (2 * lane) & 3) as u8)),
            0x101..=0x10f => DppCtrl::RowShl(low),
            0x111..=0x11f => DppCtrl::RowShr(low),
            0x121..=0x12f => DppCtrl::RowRor(low),
            0x130 => DppCtrl::WaveShl1,
            0x134 => DppCtrl::WaveRol1,
            0x138 => DppCtrl::WaveShr1,
            0x13c => DppCtrl::WaveRor1,
            0x140 => DppCtrl::RowMirror,
            0x141 => DppCtrl::RowHalfMirror,
            0x142 => DppCtrl::RowBcast15,
            0x143 => DppCtrl::RowBcast31,
            _ => return None,
        })
    }

    /// Its code.
    pub fn code(self) -> u32 {
        match self {
            DppCtrl::QuadPerm(lanes) => {
                lanes.iter().enumerate().map(|(lane, &from)| u32::from(from & 3) << (2 * lane)).sum()
            }
            DppCtrl::RowShl(n) => 0x100 + u32::from(n),
            DppCtrl::RowShr(n) => 0x110 + u32::from(n),
            DppCtrl::RowRor(n) => 0x120 + u32::from(n),
            DppCtrl::WaveShl1 => 0x130,
            DppCtrl::WaveRol1 => 0x134,
            DppCtrl::WaveShr1 => 0x138,
            DppCtrl::WaveRor1 => 0x13c,
            DppCtrl::RowMirror => 0x140,
            DppCtrl::RowHalfMirror => 0x141,
            DppCtrl::RowBcast15 => 0x142,
            DppCtrl::RowBcast31 => 0x143,
        }
    }
}

/// Data-parallel primitives: the first source comes from another lane.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Dpp {
    /// Which lane.
    pub ctrl: DppCtrl,
    /// Rows that are written: bit i is lanes 16 i to 16 i + 15.
    pub row_mask: u8,
    /// Banks that are written: bit i is lanes 4 i to 4 i + 3 of every row.
    pub bank_mask: u8,
    /// The bit that the assembler writes `bound_ctrl:0` if it is one: a source lane that is not there reads as 0.
    /// Without it the destination lane is not written.
    pub bound_ctrl: bool,
}

/// What the address of a [`Format::Flat`] instruction means. On 1.1 and 1.2 always `Flat`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Segment {
    /// LDS, scratch or global by the aperture the address is in.
    #[default]
    Flat,
    /// An offset in scratch.
    Scratch,
    /// A global address.
    Global,
}

/// Operands and modifiers of memory instructions ([`Format::Smem`], `Ds`, `Flat`, `Mubuf`, `Mtbuf`, `Mimg`). What is
/// loaded or returned goes to [`Inst::dst`]. An atomic has a `dst` only if it returns the old value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Mem {
    /// Vector address: DS address, FLAT address (two dwords; one with `saddr` and in scratch), MUBUF and MTBUF index,
    /// offset or both (index first) or 64-bit address, MIMG coordinates. For images [`Arg::words`] is what LLVM shows,
    /// the least that there are: how many are used is in the resource and `da`.
    pub addr: Option<Arg>,
    /// What is stored, or the first operand of an atomic. Compare-and-swap of buffer, flat and image: new value,
    /// then the value to compare with, in one group. DS: the value to compare with.
    pub data: Option<Arg>,
    /// DS only: the second value: of `write2`, of compare-and-swap (the new value) and `mskor`.
    pub data1: Option<Arg>,
    /// Scalar base: the resource of buffers (4 dwords) and images (8 dwords, of which `r128` uses 4), the address pair or
    /// resource of SMEM.
    pub base: Option<Arg>,
    /// Sampler of images.
    pub sampler: Option<Arg>,
    /// Scalar offset in bytes: of MUBUF, MTBUF and SMEM. With a literal (1.1 SMRD) the offset is in dwords.
    pub soffset: Option<Arg>,
    /// Scalar address of global and scratch accesses; `None` for flat ones and where it is `off`.
    pub saddr: Option<Arg>,
    /// Constant offset in bytes: SMEM (already scaled on 1.0 and 1.1), FLAT, MUBUF, MTBUF, and DS with one address
    /// (all 16 bits).
    pub offset: i32,
    /// DS with two addresses: the offsets, not scaled.
    pub offsets: [u8; 2],
    /// DS: GDS in place of LDS.
    pub gds: bool,
    /// Globally coherent; of an atomic: return the old value.
    pub glc: bool,
    /// System-level coherent.
    pub slc: bool,
    /// Load into LDS in place of vector registers.
    pub lds: bool,
    /// A status word follows the data: one more dword than [`Arg::words`] of `dst` says.
    pub tfe: bool,
    /// A vector register holds the offset.
    pub offen: bool,
    /// A vector register holds the index.
    pub idxen: bool,
    /// Two vector registers hold a 64-bit address (1.0 and 1.1).
    pub addr64: bool,
    /// MTBUF: data format.
    pub dfmt: u8,
    /// MTBUF: number format.
    pub nfmt: u8,
    /// MIMG: components that are loaded or stored.
    pub dmask: u8,
    /// MIMG: coordinates are not normalized.
    pub unorm: bool,
    /// MIMG: array.
    pub da: bool,
    /// MIMG: the resource has 4 dwords (1.0 to 1.2); on 1.4 the bit is `a16`.
    pub r128: bool,
    /// MIMG: level-of-detail warning.
    pub lwe: bool,
    /// MIMG: 16-bit data.
    pub d16: bool,
    /// FLAT: which segment.
    pub segment: Segment,
}

/// An export.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Exp {
    /// Target: 0-7 MRT, 8 Z, 9 null, 12-15 position, 32-63 parameter.
    pub target: u8,
    /// Components that are exported.
    pub enable: u8,
    /// Two halves a register.
    pub compr: bool,
    /// The last one.
    pub done: bool,
    /// EXEC is the valid mask.
    pub vm: bool,
}

/// Interpolation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Interp {
    /// Attribute.
    pub attr: u8,
    /// Component: 0 to 3 for x, y, z, w.
    pub chan: u8,
    /// The high half of the attribute (f16 forms).
    pub high: bool,
}

/// Most sources an instruction has, implicit ones included.
pub const MAX_SRCS: usize = 4;

/// A decoded instruction. It is `Copy` and owns nothing.
///
/// What an operation reads or writes without naming it in the text is here all the same, after what is named: the
/// VCC of `v_cndmask_b32_e32`, of carries in and out, of compares and of `v_div_fmas`, and the destination of
/// `v_mac` as third source. Not here: EXEC as mask, SCC, M0, MODE, EXEC of saveexec and cmpx.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Inst {
    /// Byte address.
    pub pc: u64,
    /// Length in bytes: 4 or 8.
    pub len: u8,
    /// The bytes, first one lowest; above `len` bytes zero.
    pub raw: u64,
    /// The generation it was decoded for.
    pub generation: Generation,
    /// The operation.
    pub op: Op,
    /// The encoding.
    pub format: Format,
    /// Vector or scalar destination.
    pub dst: Option<Arg>,
    /// Second, scalar destination: carry out, `v_div_scale`'s flag.
    pub sdst: Option<Arg>,
    pub(super) srcs: [Arg; MAX_SRCS],
    pub(super) src_count: u8,
    /// 16-bit constant of SOPK and SOPP, not extended; `hwreg`, `waitcnt`, message; permissions of `s_atc_probe`.
    pub simm16: u16,
    /// Literal dword: source code 255, the constant of `madmk` and `madak` (also in `srcs`), `s_setreg_imm32`.
    pub literal: Option<u32>,
    /// Where a branch, fork or call with a constant goes.
    pub target_pc: Option<u64>,
    /// Clamp a float result to 0..1, saturate an integer one (1.4).
    pub clamp: bool,
    /// Output modifier.
    pub omod: Omod,
    /// VOP3 on 1.4: source i (bit i) is the high half, bit 3: the destination is. VOP3P: the low result takes the
    /// high half of source i.
    pub op_sel: u8,
    /// VOP3P: the high result takes the high half of source i.
    pub op_sel_hi: u8,
    /// VOP3P: negate source i for the low result. (`v_mad_mix` has [`Arg::neg`] and [`Arg::abs`] instead.)
    pub neg_lo: u8,
    /// VOP3P: negate source i for the high result.
    pub neg_hi: u8,
    /// Sub-dword addressing.
    pub sdwa: Option<Sdwa>,
    /// Cross-lane source.
    pub dpp: Option<Dpp>,
    /// Memory operands.
    pub mem: Mem,
    /// Export; the exported registers are the sources, [`Operand::Off`] where not enabled.
    pub exp: Option<Exp>,
    /// Interpolation.
    pub interp: Option<Interp>,
}

impl Inst {
    /// Whether an integer result stays at the limit that it would go beyond. Chips before 1.2 have no such bit
    /// (docs/hardware/gcn.md section 5).
    pub fn saturates(&self) -> bool {
        self.clamp && self.generation >= Generation::Gfx8
    }

    /// An operation without operands, at 0, of no bytes.
    pub(super) fn bare(op: Op, format: Format, generation: Generation) -> Inst {
        Inst {
            pc: 0,
            len: 0,
            raw: 0,
            generation,
            op,
            format,
            dst: None,
            sdst: None,
            srcs: [Arg::new(Operand::Off, Type::B32, 1); MAX_SRCS],
            src_count: 0,
            simm16: 0,
            literal: None,
            target_pc: None,
            clamp: false,
            omod: Omod::None,
            op_sel: 0,
            op_sel_hi: 0,
            neg_lo: 0,
            neg_hi: 0,
            sdwa: None,
            dpp: None,
            mem: Mem::default(),
            exp: None,
            interp: None,
        }
    }

    /// The sources.
    pub fn srcs(&self) -> &[Arg] {
        &self.srcs[..usize::from(self.src_count)]
    }

    /// Source `index`. Where the operation does not have that many: constant 0.
    pub fn src(&self, index: usize) -> Arg {
        self.srcs().get(index).copied().unwrap_or(Arg::new(Operand::Int(0), Type::B32, 1))
    }

    /// Address of the instruction that follows.
    pub fn next_pc(&self) -> u64 {
        self.pc.wrapping_add(self.len.into())
    }

    /// True for a branch that does not fall through: `s_branch`, `s_setpc`, `s_endpgm` and their like. Calls return
    /// elsewhere than here as far as the instruction knows, so they count too.
    pub fn ends_block_for_all(&self) -> bool {
        matches!(
            self.op,
            Op::S_BRANCH
                | Op::S_SETPC_B64
                | Op::S_SWAPPC_B64
                | Op::S_CALL_B64
                | Op::S_RFE_B64
                | Op::S_RFE_RESTORE_B64
                | Op::S_ENDPGM
                | Op::S_ENDPGM_SAVED
                | Op::S_ENDPGM_ORDERED_PS_DONE
        )
    }
}

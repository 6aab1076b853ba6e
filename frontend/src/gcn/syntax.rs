//! The order of operands and modifiers in an instruction's text. Printer and assembler walk the same lists.

use super::inst::{Format, Inst, Segment};
use super::layout::Flag;
use super::rows::Property;
use super::table::{ArgSlot, Row};
use super::{Generation, Op};

/// An operand of the text; commas stand between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TextOperand {
    /// Destination.
    Dst,
    /// Carry out.
    CarryOut,
    /// Source, by its number in the decoded form, and its slot.
    Src(usize, ArgSlot),
    /// What a slot says of `simm16` or interpolation.
    Constant(ArgSlot),
    /// SMEM: a constant or register or both; MUBUF: register or constant.
    Offset,
    /// Vector address, or `off`.
    Addr,
    /// Vector or scalar data.
    Data,
    /// Second data of DS.
    Data1,
    /// Scalar base.
    Base,
    /// Sampler.
    Sampler,
    /// Scalar address, or `off`.
    Saddr,
    /// Target of an export; no comma follows.
    Target,
}

/// What follows the operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Modifier {
    /// `high`
    High,
    /// `op_sel:[...]`
    OpSel,
    /// `op_sel_hi:[...]`
    OpSelHi,
    /// `neg_lo:[...]`
    NegLo,
    /// `neg_hi:[...]`
    NegHi,
    /// `clamp`
    Clamp,
    /// `mul:2 mul:4 div:2`
    Omod,
    /// `dst_sel:...`
    DstSel,
    /// `dst_unused:...`
    DstUnused,
    /// `src0_sel:...`
    SrcSel(usize),
    /// `quad_perm:[...]` and its like.
    DppCtrl,
    /// `row_mask:...`
    RowMask,
    /// `bank_mask:...`
    BankMask,
    /// `bound_ctrl:0`
    BoundCtrl,
    /// `format:[...]`
    BufferFormat,
    /// `offset:...`
    Offset,
    /// `offset0:...`
    Offset0,
    /// `offset1:...`
    Offset1,
    /// `dmask:...`
    Dmask,
    /// A word that is there or not.
    Flag(Flag),
}

impl Modifier {
    /// True if a word of the text is this modifier.
    pub(super) fn accepts(self, word: &str, generation: Generation) -> bool {
        let name = word.split(':').next().unwrap_or(word);
        match self {
            Modifier::High => name == "high",
            Modifier::OpSel => name == "op_sel",
            Modifier::OpSelHi => name == "op_sel_hi",
            Modifier::NegLo => name == "neg_lo",
            Modifier::NegHi => name == "neg_hi",
            Modifier::Clamp => name == "clamp",
            Modifier::Omod => matches!(name, "mul" | "div"),
            Modifier::DstSel => name == "dst_sel",
            Modifier::DstUnused => name == "dst_unused",
            Modifier::SrcSel(0) => name == "src0_sel",
            Modifier::SrcSel(_) => name == "src1_sel",
            Modifier::DppCtrl => {
                name == "quad_perm"
                    || (name.starts_with("row_") && name != "row_mask")
                    || name.starts_with("wave_")
            }
            Modifier::RowMask => name == "row_mask",
            Modifier::BankMask => name == "bank_mask",
            Modifier::BoundCtrl => name == "bound_ctrl",
            Modifier::BufferFormat => matches!(name, "format" | "dfmt" | "nfmt"),
            Modifier::Offset => name == "offset",
            Modifier::Offset0 => name == "offset0",
            Modifier::Offset1 => name == "offset1",
            Modifier::Dmask => name == "dmask",
            Modifier::Flag(flag) => flag.name(generation) == word,
        }
    }
}

impl Flag {
    /// The word of the text.
    pub(super) fn name(self, generation: Generation) -> &'static str {
        match self {
            Flag::Gds => "gds",
            Flag::Glc => "glc",
            Flag::Slc => "slc",
            Flag::Lds => "lds",
            Flag::Tfe => "tfe",
            Flag::Offen => "offen",
            Flag::Idxen => "idxen",
            Flag::Addr64 => "addr64",
            Flag::Unorm => "unorm",
            Flag::Da => "da",
            Flag::R128 if generation == Generation::Gfx9 => "a16",
            Flag::R128 => "r128",
            Flag::Lwe => "lwe",
            Flag::D16 => "d16",
            Flag::Compr => "compr",
            Flag::Done => "done",
            Flag::Vm => "vm",
        }
    }
}

/// The operands of the text. `inst` needs what decides which there are: format, SDWA, `glc` and the flags of buffers.
pub(super) fn text_operands(row: &Row, inst: &Inst) -> Vec<TextOperand> {
    let mut places = Vec::new();
    match inst.format {
        Format::Smem => {
            if row.srcs.contains(&ArgSlot::Imm7) {
                places.push(TextOperand::Constant(ArgSlot::Imm7));
            } else if matches!(row.dst, Some(ArgSlot::Returned(_))) || row.dst.is_none() && has_data(row) {
                places.push(TextOperand::Data);
            } else if row.dst.is_some() {
                places.push(TextOperand::Dst);
            }
            if row.srcs.iter().any(|slot| matches!(slot, ArgSlot::Base(_))) {
                places.extend([TextOperand::Base, TextOperand::Offset]);
            }
        }
        Format::Ds => {
            if row.dst.is_some() {
                places.push(TextOperand::Dst);
            }
            let mut data = [TextOperand::Data, TextOperand::Data1].into_iter();
            for slot in &row.srcs {
                match slot {
                    ArgSlot::Addr(_) => places.push(TextOperand::Addr),
                    _ => places.extend(data.next()),
                }
            }
        }
        Format::Flat => {
            if matches!(row.dst, Some(slot) if !matches!(slot, ArgSlot::Returned(_)) || inst.mem.glc) {
                places.push(TextOperand::Dst);
            }
            places.push(TextOperand::Addr);
            if has_data(row) {
                places.push(TextOperand::Data);
            }
            if inst.mem.segment != Segment::Flat {
                places.push(TextOperand::Saddr);
            }
        }
        Format::Mubuf | Format::Mtbuf if row.srcs.contains(&ArgSlot::LdsOnly) => {
            places.extend([TextOperand::Base, TextOperand::Offset]);
        }
        Format::Mubuf | Format::Mtbuf if row.srcs.is_empty() && row.dst.is_none() => {}
        Format::Mubuf | Format::Mtbuf | Format::Mimg => {
            let loads = row.dst.is_some() && !matches!(row.dst, Some(ArgSlot::Returned(_)));
            places.push(if loads { TextOperand::Dst } else { TextOperand::Data });
            places.extend([TextOperand::Addr, TextOperand::Base]);
            if inst.format != Format::Mimg {
                places.push(TextOperand::Offset);
            } else if row.srcs.contains(&ArgSlot::Sampler) {
                places.push(TextOperand::Sampler);
            }
        }
        _ => {
            if inst.format == Format::Exp {
                places.push(TextOperand::Target);
            }
            if row.dst.is_some() {
                places.push(TextOperand::Dst);
            }
            if row.carry_out {
                places.push(TextOperand::CarryOut);
            }
            for (index, slot) in row.srcs.iter().copied().enumerate() {
                match slot {
                    ArgSlot::Tied | ArgSlot::Implicit => {}
                    _ if slot.is_arg() => places.push(TextOperand::Src(row.arg(index), slot)),
                    _ => places.push(TextOperand::Constant(slot)),
                }
            }
        }
    }
    places
}

/// True if a memory row has data that is read.
fn has_data(row: &Row) -> bool {
    row.srcs
        .iter()
        .any(|slot| matches!(slot, ArgSlot::Reg(..) | ArgSlot::Halves(_) | ArgSlot::Image | ArgSlot::Gws))
}

/// The modifiers that the text of an instruction can have, in their order.
pub(super) fn modifiers(row: &Row, inst: &Inst) -> Vec<Modifier> {
    use Modifier as M;
    let flag = |flag: Flag| M::Flag(flag);
    match inst.format {
        Format::Smem => vec![flag(Flag::Glc)],
        Format::Vop3 if row.has(Property::OpSel) => vec![M::OpSel, M::Clamp],
        Format::Vop3 => vec![M::High, M::Clamp, M::Omod],
        Format::Vop3p if row.srcs.contains(&ArgSlot::Mix) => vec![M::OpSel, M::OpSelHi, M::Clamp],
        Format::Vop3p => vec![M::OpSel, M::OpSelHi, M::NegLo, M::NegHi, M::Clamp],
        Format::Vopc if inst.sdwa.is_some() => vec![M::Clamp, M::Omod, M::SrcSel(0), M::SrcSel(1)],
        Format::Vop1 | Format::Vop2 if inst.sdwa.is_some() => {
            let mut all = vec![M::Clamp, M::Omod, M::DstSel, M::DstUnused, M::SrcSel(0)];
            if inst.format == Format::Vop2 {
                all.push(M::SrcSel(1));
            }
            all
        }
        Format::Vop1 | Format::Vop2 if inst.dpp.is_some() => {
            vec![M::DppCtrl, M::RowMask, M::BankMask, M::BoundCtrl]
        }
        Format::Ds if row.op == Op::DS_NOP => vec![],
        Format::Ds if row.has(Property::Two) => vec![M::Offset0, M::Offset1, flag(Flag::Gds)],
        Format::Ds => vec![M::Offset, flag(Flag::Gds)],
        Format::Flat => vec![M::Offset, flag(Flag::Glc), flag(Flag::Slc)],
        Format::Mubuf if row.srcs.contains(&ArgSlot::LdsOnly) => {
            vec![M::Offset, flag(Flag::Lds), flag(Flag::Glc), flag(Flag::Slc)]
        }
        Format::Mubuf => vec![
            flag(Flag::Addr64),
            flag(Flag::Idxen),
            flag(Flag::Offen),
            M::Offset,
            flag(Flag::Glc),
            flag(Flag::Slc),
            flag(Flag::Tfe),
            flag(Flag::Lds),
        ],
        Format::Mtbuf => vec![
            M::BufferFormat,
            flag(Flag::Addr64),
            flag(Flag::Idxen),
            flag(Flag::Offen),
            M::Offset,
            flag(Flag::Glc),
            flag(Flag::Slc),
            flag(Flag::Tfe),
        ],
        Format::Mimg => vec![
            M::Dmask,
            flag(Flag::Unorm),
            flag(Flag::Glc),
            flag(Flag::Slc),
            flag(Flag::R128),
            flag(Flag::Tfe),
            flag(Flag::Lwe),
            flag(Flag::Da),
            flag(Flag::D16),
        ],
        Format::Exp => vec![flag(Flag::Done), flag(Flag::Compr), flag(Flag::Vm)],
        _ => vec![],
    }
}

/// What is appended to the name for the encoding.
pub(super) fn suffix(row: &Row, inst: &Inst) -> &'static str {
    match inst.format {
        _ if inst.sdwa.is_some() => {
            // Compares of 1.2 do not say it.
            let silent = inst.format == Format::Vopc && inst.generation == Generation::Gfx8;
            if silent { "" } else { "_sdwa" }
        }
        _ if inst.dpp.is_some() => "_dpp",
        Format::Vop1 | Format::Vop2 | Format::Vopc
            if row.has_long() && (row.dst.is_some() || !row.srcs.is_empty()) =>
        {
            "_e32"
        }
        Format::Vintrp if !inst.generation.is_old() => "_e32",
        Format::Vop3 if row.srcs.is_empty() => "",
        Format::Vop3 if row.format != Format::Vop3 => "_e64",
        Format::Vop3
            if matches!(row.op, Op::V_INTERP_P1_F32 | Op::V_INTERP_P2_F32 | Op::V_INTERP_MOV_F32) =>
        {
            "_e64"
        }
        _ => "",
    }
}

/// The name of the text, without suffix: flat operations are named for their segment.
pub(super) fn name(row: &Row, inst: &Inst) -> String {
    let name = row.name(inst.generation);
    let prefix = match inst.mem.segment {
        Segment::Flat => return name.to_owned(),
        Segment::Scratch => "scratch",
        Segment::Global => "global",
    };
    format!("{prefix}{}", name.strip_prefix("flat").unwrap_or(name))
}

/// Names of hardware registers (docs/hardware/gcn.md section 4).
pub(super) fn hwreg_name(id: u16, generation: Generation) -> Option<&'static str> {
    Some(match id {
        1 => "HW_REG_MODE",
        2 => "HW_REG_STATUS",
        3 => "HW_REG_TRAPSTS",
        4 => "HW_REG_HW_ID",
        5 => "HW_REG_GPR_ALLOC",
        6 => "HW_REG_LDS_ALLOC",
        7 => "HW_REG_IB_STS",
        15 if generation == Generation::Gfx9 => "HW_REG_SH_MEM_BASES",
        _ => return None,
    })
}

/// Names of messages.
pub(super) fn message_name(id: u16, generation: Generation) -> Option<&'static str> {
    let nine = generation == Generation::Gfx9;
    Some(match id {
        1 => "MSG_INTERRUPT",
        2 => "MSG_GS",
        3 => "MSG_GS_DONE",
        4 if !generation.is_old() => "MSG_SAVEWAVE",
        5 if nine => "MSG_STALL_WAVE_GEN",
        6 if nine => "MSG_HALT_WAVES",
        7 if nine => "MSG_ORDERED_PS_DONE",
        8 if nine => "MSG_EARLY_PRIM_DEALLOC",
        9 if nine => "MSG_GS_ALLOC_REQ",
        10 if nine => "MSG_GET_DOORBELL",
        15 => "MSG_SYSMSG",
        _ => return None,
    })
}

/// Operations of geometry messages.
pub(super) const GS_OPS: [&str; 4] = ["GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"];

/// Operations of system messages, from 1.
pub(super) const SYS_OPS: [&str; 4] =
    ["SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD", "SYSMSG_OP_HOST_TRAP_ACK", "SYSMSG_OP_TTRACE_PC"];

/// Operands that index modes name, by bit.
pub(super) const INDEX_MODES: [&str; 4] = ["SRC0", "SRC1", "SRC2", "DST"];

/// Buffer data formats.
pub(super) const DATA_FORMATS: [&str; 16] = [
    "INVALID",
    "8",
    "16",
    "8_8",
    "32",
    "16_16",
    "10_11_11",
    "11_11_10",
    "10_10_10_2",
    "2_10_10_10",
    "8_8_8_8",
    "32_32",
    "16_16_16_16",
    "32_32_32",
    "32_32_32_32",
    "RESERVED_15",
];

/// Buffer number formats; 6 is `SNORM_OGL` on 1.0 and 1.1.
pub(super) const NUMBER_FORMATS: [&str; 8] =
    ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT"];

/// The name of a number format.
pub(super) fn number_format(code: u8, generation: Generation) -> &'static str {
    match code {
        6 if generation.is_old() => "SNORM_OGL",
        _ => NUMBER_FORMATS[usize::from(code & 7)],
    }
}

/// Wait counts in `simm16`: name, position and width of each part. The counter of vector memory has two more bits on
/// 1.4, at 14.
pub(super) const WAIT_COUNTS: [(&str, u16, u16); 3] = [("vmcnt", 0, 4), ("expcnt", 4, 3), ("lgkmcnt", 8, 4)];

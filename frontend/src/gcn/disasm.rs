//! Prints instructions in LLVM's syntax.

use std::fmt::{self, Write as _};

use super::Generation;
use super::inst::{DppCtrl, Inst, Omod, Unused};
use super::operand::{Arg, Operand, Select, Type};
use super::rows::Property;
use super::syntax::{self, GS_OPS, INDEX_MODES, Modifier, SYS_OPS, TextOperand, WAIT_COUNTS};
use super::table::{ArgSlot, Row, table};

impl Inst {
    /// The row of the table it was decoded by.
    pub fn row(&self) -> Option<&'static Row> {
        let rows = table().of_op(self.op).filter(|row| row.code(self.generation).is_some());
        let mut rows = rows
            .filter(|row| row.format == self.format || self.format == super::Format::Vop3 && row.has_long());
        rows.next()
    }
}

impl fmt::Display for Inst {
    /// The text as LLVM's disassembler prints it. Branches show the number of dwords to jump over.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(row) = self.row() else { return f.write_str("??") };
        f.write_str(&syntax::name(row, self))?;
        f.write_str(syntax::suffix(row, self))?;
        let mut separator = " ";
        for operand in syntax::text_operands(row, self) {
            let text = operand_of(operand, self);
            if text.is_empty() {
                continue;
            }
            write!(f, "{separator}{text}")?;
            separator = if operand == TextOperand::Target { " " } else { ", " };
        }
        for modifier in syntax::modifiers(row, self) {
            let text = modifier_text(modifier, row, self);
            if !text.is_empty() {
                write!(f, " {text}")?;
            }
        }
        Ok(())
    }
}

fn operand_of(operand: TextOperand, inst: &Inst) -> String {
    let mem = &inst.mem;
    let plain =
        |arg: &Option<Arg>| arg.as_ref().map_or_else(|| "off".to_owned(), |arg| operand_text(arg, inst));
    match operand {
        TextOperand::Dst => plain(&inst.dst),
        TextOperand::CarryOut => plain(&inst.sdst),
        TextOperand::Src(index, slot) => match (slot, inst.src(index).operand) {
            (ArgSlot::Index, _) if inst.simm16 > 15 => format!("{:#x}", inst.simm16),
            (ArgSlot::Index, _) => index_text(inst.simm16),
            (ArgSlot::K(_), _) => format!("{:#x}", inst.literal.unwrap_or(0)),
            (ArgSlot::Param, Operand::Int(param)) => ["p10", "p20", "p0"]
                .get(param as usize)
                .map_or_else(|| format!("invalid_param_{param}"), |name| (*name).to_owned()),
            _ => source_text(&inst.src(index), inst),
        },
        TextOperand::Constant(slot) => constant_text(slot, inst),
        TextOperand::Offset => offset_text(inst),
        TextOperand::Addr => plain(&mem.addr),
        TextOperand::Data => plain(&mem.data),
        TextOperand::Data1 => plain(&mem.data1),
        TextOperand::Base => plain(&mem.base),
        TextOperand::Sampler => plain(&mem.sampler),
        TextOperand::Saddr => plain(&mem.saddr),
        TextOperand::Target => export_target(inst.exp.map_or(0, |exp| exp.target)),
    }
}

/// The scalar offset of SMEM and buffers.
fn offset_text(inst: &Inst) -> String {
    let mem = &inst.mem;
    if inst.format != super::Format::Smem {
        return mem.soffset.as_ref().map_or(String::new(), |arg| operand_text(arg, inst));
    }
    let constant = || {
        // In dwords on 1.0 and 1.1.
        let offset = if inst.generation.is_old() { mem.offset / 4 } else { mem.offset };
        let sign = if offset < 0 { "-" } else { "" };
        format!("{sign}{:#x}", offset.unsigned_abs())
    };
    match &mem.soffset {
        None => constant(),
        Some(Arg { operand: Operand::Literal(dwords), .. }) => format!("{dwords:#x}"),
        Some(arg) if mem.offset == 0 => operand_text(arg, inst),
        Some(arg) => format!("{} offset:{}", operand_text(arg, inst), constant()),
    }
}

fn export_target(target: u8) -> String {
    match target {
        0..=7 => format!("mrt{target}"),
        8 => "mrtz".into(),
        9 => "null".into(),
        12..=15 => format!("pos{}", target - 12),
        32..=63 => format!("param{}", target - 32),
        _ => format!("invalid_target_{target}"),
    }
}

fn index_text(bits: u16) -> String {
    let names: Vec<_> = (0..4).filter(|bit| bits >> bit & 1 != 0).map(|bit| INDEX_MODES[bit]).collect();
    format!("gpr_idx({})", names.join(","))
}

/// What a slot shows of `simm16` or of the interpolation.
fn constant_text(slot: ArgSlot, inst: &Inst) -> String {
    let simm = inst.simm16;
    match slot {
        ArgSlot::Simm => format!("{simm:#x}"),
        ArgSlot::Optional if simm == 0 => String::new(),
        ArgSlot::Decimal => hex_or_small(simm.into()),
        ArgSlot::Optional => simm.to_string(),
        ArgSlot::Imm7 => hex_or_small(simm.into()),
        ArgSlot::Target => simm.to_string(),
        ArgSlot::Hwreg => hwreg_text(simm, inst.generation),
        ArgSlot::Wait => wait_text(simm, inst.generation),
        ArgSlot::Message => message_text(simm, inst.generation),
        ArgSlot::GprIndex if simm < 16 => index_text(simm),
        ArgSlot::GprIndex => format!("{simm:#x}"),
        ArgSlot::Attr => {
            let interp = inst.interp.unwrap_or_default();
            format!("attr{}.{}", interp.attr, ["x", "y", "z", "w"][usize::from(interp.chan & 3)])
        }
        _ => String::new(),
    }
}

fn hex_or_small(value: u32) -> String {
    if value <= 64 { value.to_string() } else { format!("{value:#x}") }
}

fn hwreg_text(simm: u16, generation: Generation) -> String {
    let (id, offset, size) = (simm & 63, simm >> 6 & 31, (simm >> 11) + 1);
    let mut text = String::from("hwreg(");
    match syntax::hwreg_name(id, generation) {
        Some(name) => text.push_str(name),
        None => text.push_str(&id.to_string()),
    }
    if (offset, size) != (0, 32) {
        // Writing to a string cannot fail.
        let _ = write!(text, ", {offset}, {size}");
    }
    text.push(')');
    text
}

/// The value of a wait count, and its greatest one, which means not to wait.
pub(super) fn wait_count(simm: u16, index: usize, generation: Generation) -> (u16, u16) {
    let (_, position, width) = WAIT_COUNTS[index];
    let ones = (1 << width) - 1;
    let value = simm >> position & ones;
    match (index, generation) {
        (0, Generation::Gfx9) => (value | (simm >> 14) << 4, 63),
        _ => (value, ones),
    }
}

fn wait_text(simm: u16, generation: Generation) -> String {
    let counts: Vec<_> = (0..3).map(|index| (index, wait_count(simm, index, generation))).collect();
    let all = counts.iter().all(|(_, (value, most))| value == most);
    let shown = counts.iter().filter(|(_, (value, most))| all || value != most);
    shown
        .map(|(index, (value, _))| format!("{}({value})", WAIT_COUNTS[*index].0))
        .collect::<Vec<_>>()
        .join(" ")
}

fn message_text(simm: u16, generation: Generation) -> String {
    let (id, op, stream) = (simm & 15, usize::from(simm >> 4 & 7), simm >> 8 & 3);
    if let Some(name) = syntax::message_name(id, generation) {
        let named = match (id, op) {
            (2, 1..4) | (3, 1..4) => Some(format!("sendmsg({name}, {}, {stream})", GS_OPS[op])),
            (3, 0) if stream == 0 => Some(format!("sendmsg({name}, {})", GS_OPS[op])),
            (15, 1..=4) if stream == 0 => Some(format!("sendmsg({name}, {})", SYS_OPS[op - 1])),
            (2 | 3 | 15, _) => None,
            (_, 0) if stream == 0 => Some(format!("sendmsg({name})")),
            _ => None,
        };
        if let Some(text) = named {
            return text;
        }
    }
    if simm & !0x37f == 0 {
        return format!("sendmsg({id}, {op}, {stream})");
    }
    simm.to_string()
}

/// A source with its modifiers.
fn source_text(arg: &Arg, inst: &Inst) -> String {
    let text = operand_text(arg, inst);
    let text = if arg.sext { format!("sext({text})") } else { text };
    let constant = !matches!(arg.operand, Operand::Vgpr(_)) && arg.operand.scalar_code().is_none();
    let special = matches!(
        arg.operand,
        Operand::SharedBase
            | Operand::SharedLimit
            | Operand::PrivateBase
            | Operand::PrivateLimit
            | Operand::PopsExitingWaveId
            | Operand::Vccz
            | Operand::Execz
            | Operand::Scc
            | Operand::LdsDirect
    );
    match (arg.neg, arg.abs) {
        (true, true) => format!("-|{text}|"),
        (false, true) => format!("|{text}|"),
        (true, false) if constant && !special => format!("neg({text})"),
        (true, false) => format!("-{text}"),
        (false, false) => text,
    }
}

/// Name of a special register pair, and of its halves.
fn pair(names: [&'static str; 3], part: u8, words: u8) -> String {
    if words == 2 { names[0].into() } else { names[1 + usize::from(part & 1)].into() }
}

fn group(prefix: &str, first: u8, words: u8) -> String {
    match words {
        0 | 1 => format!("{prefix}{first}"),
        _ => format!("{prefix}[{first}:{}]", u32::from(first) + u32::from(words) - 1),
    }
}

/// An operand without modifiers.
pub(super) fn operand_text(arg: &Arg, inst: &Inst) -> String {
    let words = arg.words;
    let fixed = |text: &str| text.to_owned();
    match arg.operand {
        Operand::Sgpr(n) => group("s", n, words),
        Operand::Vgpr(n) => group("v", n, words),
        Operand::Ttmp(n) => group("ttmp", n, words),
        Operand::FlatScratch(part) => {
            pair(["flat_scratch", "flat_scratch_lo", "flat_scratch_hi"], part, words)
        }
        Operand::XnackMask(part) => pair(["xnack_mask", "xnack_mask_lo", "xnack_mask_hi"], part, words),
        Operand::Vcc(part) => pair(["vcc", "vcc_lo", "vcc_hi"], part, words),
        Operand::Tba(part) => pair(["tba", "tba_lo", "tba_hi"], part, words),
        Operand::Tma(part) => pair(["tma", "tma_lo", "tma_hi"], part, words),
        Operand::Exec(part) => pair(["exec", "exec_lo", "exec_hi"], part, words),
        Operand::M0 => fixed("m0"),
        Operand::SharedBase => fixed("src_shared_base"),
        Operand::SharedLimit => fixed("src_shared_limit"),
        Operand::PrivateBase => fixed("src_private_base"),
        Operand::PrivateLimit => fixed("src_private_limit"),
        Operand::PopsExitingWaveId => fixed("src_pops_exiting_wave_id"),
        Operand::Vccz => fixed("src_vccz"),
        Operand::Execz => fixed("src_execz"),
        Operand::Scc => fixed("src_scc"),
        Operand::LdsDirect => fixed("src_lds_direct"),
        Operand::Off => fixed("off"),
        Operand::Int(value) => value.to_string(),
        Operand::Float(float) => match arg.ty {
            Type::B16 | Type::U16 | Type::I16 => format!("{:#x}", float.bits16()),
            Type::Pk16 => format!("{:#x}", float.bits16()),
            ty => float_text(float as usize, ty).to_owned(),
        },
        Operand::Literal(bits) => literal_text(bits, arg.ty, inst.generation),
    }
}

/// Texts of the inline floats.
pub(super) const FLOATS: [&str; 9] =
    ["0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494"];

fn float_text(index: usize, ty: Type) -> &'static str {
    if index == 8 && ty.bits() == 64 { "0.15915494309189532" } else { FLOATS[index] }
}

/// A literal as LLVM prints it: as a number where an inline constant has the same bits.
fn literal_text(bits: u32, ty: Type, generation: Generation) -> String {
    let floats = if generation.is_old() { 8 } else { 9 };
    let float = |found: &dyn Fn(super::InlineFloat) -> bool| {
        super::InlineFloat::ALL[..floats].iter().position(|float| found(*float)).map(|index| FLOATS[index])
    };
    let integer = |value: i64| (-16..=64).contains(&value).then(|| value.to_string());
    let (value, name) = match ty.bits() {
        64 => (i64::from(bits), None),
        16 => {
            let name = if ty == Type::F16 { float(&|float| u32::from(float.bits16()) == bits) } else { None };
            (i64::from(bits as i16), name)
        }
        _ => (i64::from(bits as i32), float(&|float| float.bits32() == bits)),
    };
    let shown = match ty {
        Type::F16 | Type::B16 | Type::U16 | Type::I16 => bits & 0xffff,
        _ => bits,
    };
    integer(value).or(name.map(str::to_owned)).unwrap_or_else(|| format!("{shown:#x}"))
}

/// A list of bits: `op_sel:[0,1,0]`.
fn bits_text(name: &str, bits: u8, count: usize) -> String {
    let bits: Vec<_> = (0..count).map(|bit| (bits >> bit & 1).to_string()).collect();
    format!("{name}:[{}]", bits.join(","))
}

fn select_text(select: Select) -> String {
    match select {
        Select::Byte(n) => format!("BYTE_{n}"),
        Select::Word(n) => format!("WORD_{n}"),
        Select::Dword => "DWORD".into(),
    }
}

fn modifier_text(modifier: Modifier, row: &Row, inst: &Inst) -> String {
    let none = String::new;
    let word = |yes: bool, text: &str| if yes { text.to_owned() } else { String::new() };
    let mem = &inst.mem;
    let sources = row.srcs.iter().filter(|slot| matches!(slot, ArgSlot::Reg(..) | ArgSlot::Mix)).count();
    let all = (1u8 << sources.min(7)) - 1;
    match modifier {
        Modifier::High => word(inst.interp.is_some_and(|interp| interp.high), "high"),
        Modifier::OpSel if row.has(Property::OpSel) => {
            // The last one is the destination.
            let dst = (inst.op_sel >> 3 & 1) << sources;
            let bits = inst.op_sel & all | dst;
            if bits == 0 { none() } else { bits_text("op_sel", bits, sources + 1) }
        }
        Modifier::OpSel if inst.op_sel & all == 0 => none(),
        Modifier::OpSel => bits_text("op_sel", inst.op_sel, sources),
        Modifier::OpSelHi => {
            let usual = if row.srcs.contains(&ArgSlot::Mix) { 0 } else { all };
            if inst.op_sel_hi & all == usual {
                none()
            } else {
                bits_text("op_sel_hi", inst.op_sel_hi, sources)
            }
        }
        Modifier::NegLo if inst.neg_lo & all == 0 => none(),
        Modifier::NegLo => bits_text("neg_lo", inst.neg_lo, sources),
        Modifier::NegHi if inst.neg_hi & all == 0 => none(),
        Modifier::NegHi => bits_text("neg_hi", inst.neg_hi, sources),
        Modifier::Clamp => word(inst.clamp, "clamp"),
        Modifier::Omod => match inst.omod {
            Omod::None => none(),
            Omod::Mul2 => "mul:2".into(),
            Omod::Mul4 => "mul:4".into(),
            Omod::Div2 => "div:2".into(),
        },
        Modifier::DstSel => {
            inst.sdwa.map_or_else(none, |sdwa| format!("dst_sel:{}", select_text(sdwa.dst_sel)))
        }
        Modifier::DstUnused => {
            let name = match inst.sdwa.map(|sdwa| sdwa.dst_unused) {
                Some(Unused::Pad) => "UNUSED_PAD",
                Some(Unused::Sext) => "UNUSED_SEXT",
                Some(Unused::Preserve) => "UNUSED_PRESERVE",
                None => return none(),
            };
            format!("dst_unused:{name}")
        }
        Modifier::SrcSel(n) => format!("src{n}_sel:{}", select_text(inst.src(n).sel)),
        Modifier::DppCtrl => inst.dpp.map_or_else(none, |dpp| dpp_text(dpp.ctrl)),
        Modifier::RowMask => inst.dpp.map_or_else(none, |dpp| format!("row_mask:{:#x}", dpp.row_mask)),
        Modifier::BankMask => inst.dpp.map_or_else(none, |dpp| format!("bank_mask:{:#x}", dpp.bank_mask)),
        Modifier::BoundCtrl => word(inst.dpp.is_some_and(|dpp| dpp.bound_ctrl), "bound_ctrl:1"),
        Modifier::BufferFormat => buffer_format(mem.dfmt, mem.nfmt, inst.generation),
        Modifier::Offset if mem.offset == 0 => none(),
        Modifier::Offset if row.has(Property::Swizzle) => swizzle_text(mem.offset as u16),
        Modifier::Offset => format!("offset:{}", mem.offset),
        Modifier::Offset0 if mem.offsets[0] == 0 => none(),
        Modifier::Offset0 => format!("offset0:{}", mem.offsets[0]),
        Modifier::Offset1 if mem.offsets[1] == 0 => none(),
        Modifier::Offset1 => format!("offset1:{}", mem.offsets[1]),
        Modifier::Dmask if mem.dmask == 0 => none(),
        Modifier::Dmask => format!("dmask:{:#x}", mem.dmask),
        Modifier::Flag(flag) => {
            word(*super::field_memory::flag_place(flag, &mut inst.clone()), flag.name(inst.generation))
        }
    }
}

fn buffer_format(data: u8, number: u8, generation: Generation) -> String {
    let data_name = format!("BUF_DATA_FORMAT_{}", syntax::DATA_FORMATS[usize::from(data & 15)]);
    let number_name = format!("BUF_NUM_FORMAT_{}", syntax::number_format(number, generation));
    match (data, number) {
        (1, 0) => String::new(),
        (1, _) => format!("format:[{number_name}]"),
        (_, 0) => format!("format:[{data_name}]"),
        _ => format!("format:[{data_name},{number_name}]"),
    }
}

fn dpp_text(ctrl: DppCtrl) -> String {
    match ctrl {
        DppCtrl::QuadPerm([a, b, c, d]) => format!("quad_perm:[{a},{b},{c},{d}]"),
        DppCtrl::RowShl(n) => format!("row_shl:{n}"),
        DppCtrl::RowShr(n) => format!("row_shr:{n}"),
        DppCtrl::RowRor(n) => format!("row_ror:{n}"),
        DppCtrl::WaveShl1 => "wave_shl:1".into(),
        DppCtrl::WaveRol1 => "wave_rol:1".into(),
        DppCtrl::WaveShr1 => "wave_shr:1".into(),
        DppCtrl::WaveRor1 => "wave_ror:1".into(),
        DppCtrl::RowMirror => "row_mirror".into(),
        DppCtrl::RowHalfMirror => "row_half_mirror".into(),
        DppCtrl::RowBcast15 => "row_bcast:15".into(),
        DppCtrl::RowBcast31 => "row_bcast:31".into(),
    }
}

/// The pattern of `ds_swizzle` (docs/hardware/gcn.md section 5).
fn swizzle_text(offset: u16) -> String {
    if offset & 0xff00 == 0x8000 {
        let lane = |n: u16| offset >> (2 * n) & 3;
        return format!("offset:swizzle(QUAD_PERM,{},{},{},{})", lane(0), lane(1), lane(2), lane(3));
    }
    if offset & 0x8000 != 0 {
        return format!("offset:{offset}");
    }
    let (and, or, xor) = (offset & 31, offset >> 5 & 31, offset >> 10);
    if and == 31 && or == 0 && xor.count_ones() == 1 {
        return format!("offset:swizzle(SWAP,{xor})");
    }
    if and == 31 && or == 0 && xor != 0 && (xor + 1).is_power_of_two() {
        return format!("offset:swizzle(REVERSE,{})", xor + 1);
    }
    let group = 32 - and;
    if xor == 0 && and != 31 && group.is_power_of_two() && group > 1 && or < group {
        return format!("offset:swizzle(BROADCAST,{group},{or})");
    }
    let mut mask = String::new();
    for bit in (0..5).rev() {
        let (and, or, xor) = (and >> bit & 1, or >> bit & 1, xor >> bit & 1);
        // A lane bit can be 0, 1, kept or inverted.
        mask.push(match (and, or, xor) {
            (0, 0, 0) | (_, 1, 1) => '0',
            (0, 0, 1) | (_, 1, 0) => '1',
            (_, _, 0) => 'p',
            _ => 'i',
        });
    }
    format!("offset:swizzle(BITMASK_PERM,\"{mask}\")")
}

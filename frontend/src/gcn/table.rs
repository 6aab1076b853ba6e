//! The compiled instruction table, which decoder, encoder, printer and assembler walk.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::operand::Type;
use super::rows::{self, Line, Properties, Property, Registers};
use super::{Chip, Features, Format, Generation, Op};

/// Which registers an operand can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// All that the field can say.
    Any,
    /// No vector register.
    Scalar,
    /// Vector registers only.
    Vector,
}

/// An operand of a row. The words of a row's text are explained in [`super::rows`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ArgSlot {
    /// A register or constant.
    Reg(Type, u8, Class),
    /// That many 16-bit values.
    Halves(u8),
    /// A source in the field of the scalar destination.
    DstField(Type),
    /// A lane mask: VCC or a scalar pair.
    Carry,
    /// The destination, read.
    Tied,
    /// VCC, read, not in the text.
    Implicit,
    /// The constant of madmk and madak.
    K(Type),
    /// The constant of setreg_imm32.
    Imm32,
    /// simm16 in hex.
    Simm,
    /// simm16 in decimal.
    Decimal,
    /// simm16 in decimal if not zero.
    Optional,
    /// The scalar destination field as a number.
    Imm7,
    /// simm16 as branch target.
    Target,
    /// simm16 as hardware register.
    Hwreg,
    /// simm16 as wait counts.
    Wait,
    /// simm16 as message.
    Message,
    /// The second source field of SOPC as index mode.
    Index,
    /// simm16 as index mode.
    GprIndex,
    /// Interpolation attribute.
    Attr,
    /// Interpolation parameter.
    Param,
    /// f32 or half of a register.
    Mix,
    /// Scalar address of that many dwords.
    Base(u8),
    /// Vector address of at least that many dwords; 0: as the format has it.
    Addr(u8),
    /// Image data.
    Image,
    /// Sampler.
    Sampler,
    /// Destination if the old value is returned.
    Returned(u8),
    /// data0 of a GWS operation.
    Gws,
    /// No vector data, LDS is source.
    LdsOnly,
}

impl ArgSlot {
    /// True for slots that are sources of the decoded form (in formats without memory operands).
    pub(super) fn is_arg(self) -> bool {
        matches!(
            self,
            ArgSlot::Reg(..)
                | ArgSlot::DstField(_)
                | ArgSlot::Carry
                | ArgSlot::Tied
                | ArgSlot::Implicit
                | ArgSlot::K(_)
                | ArgSlot::Imm32
                | ArgSlot::Mix
                | ArgSlot::Index
                | ArgSlot::Param
        )
    }
}

/// One operation in one encoding.
#[derive(Debug)]
pub struct Row {
    /// The operation.
    pub op: Op,
    /// The encoding.
    pub format: Format,
    /// Opcode by generation.
    pub codes: [Option<u16>; 4],
    /// Name by generation, without `_e32` and its like.
    pub names: [&'static str; 4],
    /// Operands and options as written in the table.
    pub text: &'static str,
    /// What a chip of these generations must have besides.
    pub features: Features,
    pub(super) dst: Option<ArgSlot>,
    pub(super) carry_out: bool,
    pub(super) srcs: Vec<ArgSlot>,
    /// Registers that it reads without naming them.
    pub reads: Registers,
    /// Registers that it writes without naming them.
    pub writes: Registers,
    properties: Properties,
}

impl Row {
    /// The opcode on that generation.
    pub fn code(&self, generation: Generation) -> Option<u16> {
        self.codes[generation as usize]
    }

    /// The generations that have it.
    pub fn generations(&self) -> impl Iterator<Item = Generation> + '_ {
        Generation::ALL.into_iter().filter(|&generation| self.code(generation).is_some())
    }

    /// Whether a chip has it.
    pub fn is_on(&self, chip: Chip) -> bool {
        self.code(chip.generation()).is_some() && chip.features().contains(self.features)
    }

    /// A chip of that generation that has it.
    pub fn chip(&self, generation: Generation) -> Option<Chip> {
        Chip::kinds().find(|&chip| chip.generation() == generation && self.is_on(chip))
    }

    /// The name on that generation.
    pub fn name(&self, generation: Generation) -> &'static str {
        self.names[generation as usize]
    }

    /// Whether the row has a property.
    pub fn has(&self, property: Property) -> bool {
        self.properties.has(property)
    }

    /// Index in [`super::Inst::srcs`] of the source that is a lane mask.
    pub fn mask_source(&self) -> Option<usize> {
        let mask = |slot: &ArgSlot| matches!(slot, ArgSlot::Carry | ArgSlot::Implicit);
        self.srcs.iter().position(mask).map(|index| self.arg(index))
    }

    /// Whether the destination is a lane mask.
    pub fn writes_mask(&self) -> bool {
        self.dst == Some(ArgSlot::Carry)
    }

    /// Index in [`super::Inst::srcs`] of a lane's number, which a vector instruction takes from a scalar register.
    pub fn lane_source(&self) -> Option<usize> {
        let last = self.srcs.len().checked_sub(1)?;
        let is_scalar = matches!(self.srcs[last], ArgSlot::Reg(_, _, Class::Scalar));
        is_scalar.then(|| self.arg(last))
    }

    /// Index of the source that stands in source field `field`.
    pub(super) fn source(&self, field: usize) -> Option<usize> {
        let encoded = |slot: &ArgSlot| {
            matches!(slot, ArgSlot::Reg(..) | ArgSlot::Carry | ArgSlot::Mix | ArgSlot::Index | ArgSlot::Param)
        };
        self.srcs.iter().enumerate().filter(|(_, slot)| encoded(slot)).nth(field).map(|(index, _)| index)
    }

    /// Index in [`super::Inst::srcs`] of the source in slot `index`.
    pub(super) fn arg(&self, index: usize) -> usize {
        self.srcs[..index].iter().filter(|slot| slot.is_arg()).count()
    }

    /// True if one source at least is a float.
    fn reads_float(&self) -> bool {
        self.srcs.iter().any(|slot| matches!(slot, ArgSlot::Reg(ty, ..) | ArgSlot::K(ty) if ty.is_float()))
    }

    fn writes_float(&self) -> bool {
        matches!(self.dst, Some(ArgSlot::Reg(Type::F16 | Type::F32 | Type::F64, ..)))
    }

    /// True if source `index` has `neg` and `abs`.
    pub(super) fn has_neg(&self, index: usize) -> bool {
        match self.srcs.get(index) {
            Some(ArgSlot::Reg(ty, ..)) => ty.is_float() || self.has(Property::Mods),
            _ => false,
        }
    }

    /// True if source `index` has `sext` in SDWA form.
    pub(super) fn has_sext(&self, index: usize) -> bool {
        matches!(self.srcs.get(index), Some(ArgSlot::Reg(ty, ..)) if !ty.is_float())
    }

    /// True if the long form has `clamp`.
    pub(super) fn has_clamp(&self) -> bool {
        let float = (self.reads_float() || self.writes_float()) && !self.has(Property::Class);
        (float || self.has(Property::Clamp)) && !self.has(Property::NoClamp)
    }

    /// True if the long form has `omod`.
    pub(super) fn has_omod(&self) -> bool {
        (self.writes_float() && !self.has(Property::OpSel) || self.has(Property::Omod))
            && !self.has(Property::NoOmod)
    }

    /// True if an SDWA form exists.
    pub(super) fn has_sdwa(&self, generation: Generation) -> bool {
        let tied = self.srcs.contains(&ArgSlot::Tied) && generation == Generation::Gfx9;
        self.has_dpp_or_sdwa(generation) && !tied
    }

    /// True if a DPP form exists.
    pub(super) fn has_dpp(&self, generation: Generation) -> bool {
        self.has_dpp_or_sdwa(generation) && self.format != Format::Vopc
    }

    fn has_dpp_or_sdwa(&self, generation: Generation) -> bool {
        let wide = |slot: &ArgSlot| match slot {
            ArgSlot::Reg(_, words, class) => *words > 1 || *class != Class::Any,
            ArgSlot::Carry | ArgSlot::Tied => false,
            _ => true,
        };
        !generation.is_old()
            && matches!(self.format, Format::Vop1 | Format::Vop2 | Format::Vopc)
            && !self.srcs.is_empty()
            && !self.srcs.iter().chain(&self.dst).any(wide)
            && !self.has(Property::NoDpp)
    }

    /// True if the operation of a short format has a long form.
    pub(super) fn has_long(&self) -> bool {
        let short = matches!(self.format, Format::Vop1 | Format::Vop2 | Format::Vopc);
        let constant = self.srcs.iter().any(|slot| matches!(slot, ArgSlot::K(_)));
        short && !constant && !self.has(Property::NoLong)
    }

    /// Opcode of the long form of a row of a short format (docs/hardware/gcn.md section 2).
    pub(super) fn long_code(&self, generation: Generation) -> Option<u16> {
        let code = self.code(generation)?;
        if self.format == Format::Vop3 {
            return Some(code);
        }
        if !self.has_long() {
            return None;
        }
        Some(match self.format {
            Format::Vopc => code,
            Format::Vop2 => 0x100 + code,
            _ if generation.is_old() => 0x180 + code,
            _ => 0x140 + code,
        })
    }
}

/// Rows and how to find them.
pub(super) struct Table {
    pub(super) rows: Vec<Row>,
    /// By generation, format and opcode. Long forms of short rows are under `Vop3`.
    /// More than one where chips of a generation differ in what an opcode means.
    by_code: HashMap<(Generation, Format, u16), Vec<usize>>,
    /// By operation.
    by_op: Vec<Vec<usize>>,
    /// By generation and name.
    by_name: HashMap<(Generation, &'static str), Vec<usize>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(Table::new);

/// The table.
pub(super) fn table() -> &'static Table {
    &TABLE
}

/// The row that says what an operation reads and writes: the first one. Rows of one operation differ in encodings and chips only.
pub fn meaning(op: Op) -> &'static Row {
    &TABLE.rows[TABLE.by_op[op as usize][0]]
}

/// All rows.
pub fn rows() -> &'static [Row] {
    &TABLE.rows
}

/// The type and number of dwords of an operand word.
fn parse_type(word: &str) -> Option<(Type, u8)> {
    Some(match word {
        "b16" => (Type::B16, 1),
        "u16" => (Type::U16, 1),
        "i16" => (Type::I16, 1),
        "f16" => (Type::F16, 1),
        "pk16" => (Type::Pk16, 1),
        "pkf16" => (Type::PkF16, 1),
        "b32" => (Type::B32, 1),
        "u32" => (Type::U32, 1),
        "i32" => (Type::I32, 1),
        "f32" => (Type::F32, 1),
        "b64" => (Type::B64, 2),
        "u64" => (Type::U64, 2),
        "i64" => (Type::I64, 2),
        "f64" => (Type::F64, 2),
        "w1" => (Type::B32, 1),
        "w2" => (Type::B64, 2),
        _ => (Type::Words, word.strip_prefix('w')?.parse().ok()?),
    })
}

fn parse_slot(word: &str) -> Option<ArgSlot> {
    let number = |prefix: &str| word.strip_prefix(prefix).and_then(|rest| rest.parse::<u8>().ok());
    let typed = |prefix: &str| word.strip_prefix(prefix).and_then(parse_type);
    if let Some((ty, words)) = parse_type(word) {
        return Some(ArgSlot::Reg(ty, words, Class::Any));
    }
    if let Some((ty, words)) = typed("s:") {
        return Some(ArgSlot::Reg(ty, words, Class::Scalar));
    }
    if let Some((ty, words)) = typed("v:") {
        return Some(ArgSlot::Reg(ty, words, Class::Vector));
    }
    if let Some((ty, _)) = typed("d") {
        return Some(ArgSlot::DstField(ty));
    }
    if let Some((ty, _)) = typed("k") {
        return Some(ArgSlot::K(ty));
    }
    if let Some(count) = number("h") {
        return Some(ArgSlot::Halves(count));
    }
    if let Some(words) = number("base") {
        return Some(ArgSlot::Base(words));
    }
    if let Some(words) = number("addr") {
        return Some(ArgSlot::Addr(words));
    }
    if let Some(words) = number("rtn") {
        return Some(ArgSlot::Returned(words));
    }
    Some(match word {
        "vcc" => ArgSlot::Carry,
        "tied" => ArgSlot::Tied,
        "implicit" => ArgSlot::Implicit,
        "imm32" => ArgSlot::Imm32,
        "k" => ArgSlot::Simm,
        "n" => ArgSlot::Decimal,
        "opt" => ArgSlot::Optional,
        "imm7" => ArgSlot::Imm7,
        "rel" => ArgSlot::Target,
        "hwreg" => ArgSlot::Hwreg,
        "wait" => ArgSlot::Wait,
        "msg" => ArgSlot::Message,
        "idx" => ArgSlot::Index,
        "gpridx" => ArgSlot::GprIndex,
        "attr" => ArgSlot::Attr,
        "param" => ArgSlot::Param,
        "mix" => ArgSlot::Mix,
        "addr" => ArgSlot::Addr(0),
        "img" => ArgSlot::Image,
        "samp" => ArgSlot::Sampler,
        "gws" => ArgSlot::Gws,
        "ldsonly" => ArgSlot::LdsOnly,
        _ => return None,
    })
}

fn parse_row(op: Op, format: Format, codes: [i16; 4], text: &'static str, name: &'static str) -> Row {
    let mut row = Row {
        op,
        format,
        codes: codes.map(|code| u16::try_from(code).ok()),
        names: [name; 4],
        text,
        features: Features::NONE,
        dst: None,
        carry_out: false,
        srcs: Vec::new(),
        reads: Registers::NONE,
        writes: Registers::NONE,
        properties: Properties::default(),
    };
    let (dsts, rest) = text.split_once('=').unwrap_or(("", text));
    for word in dsts.split_whitespace() {
        if let Some(register) = Registers::parse(word) {
            row.writes = row.writes.and(register);
            continue;
        }
        let slot = parse_slot(word);
        assert!(slot.is_some(), "{op:?}: no destination {word}");
        row.carry_out = row.dst.is_some();
        row.dst = row.dst.or(slot);
    }
    for word in rest.split_whitespace() {
        if let Some(names) = word.strip_prefix('@') {
            for (place, name) in row.names.iter_mut().zip(names.split('/')) {
                *place = name;
            }
        } else if let Some(name) = word.strip_prefix('[') {
            let feature = Features::NAMES.iter().find(|(known, _)| name.strip_suffix(']') == Some(known));
            let feature = feature.map(|&(_, feature)| feature);
            row.features = row.features.and(feature.expect("a feature of the table has a name"));
        } else if let Some(slot) = parse_slot(word) {
            row.srcs.push(slot);
        } else if let Some(register) = Registers::parse(word) {
            row.reads = row.reads.and(register);
        } else {
            assert!(row.properties.add(word), "{op:?}: no word {word}");
        }
    }
    row
}

impl Table {
    fn new() -> Table {
        let lists: [(Format, &[Line]); 15] = [
            (Format::Sop2, rows::SOP2),
            (Format::Sopk, rows::SOPK),
            (Format::Sop1, rows::SOP1),
            (Format::Sopc, rows::SOPC),
            (Format::Sopp, rows::SOPP),
            (Format::Smem, rows::SMEM),
            (Format::Vop2, rows::VOP2),
            (Format::Vop1, rows::VOP1),
            (Format::Vop3, rows::VOP3),
            (Format::Vop3p, rows::VOP3P),
            (Format::Vintrp, rows::VINTRP),
            (Format::Ds, rows::DS),
            (Format::Flat, rows::FLAT),
            (Format::Mubuf, rows::MUBUF),
            (Format::Mtbuf, rows::MTBUF),
        ];
        let mut found = Vec::new();
        for (format, lines) in lists {
            let lines = lines.iter();
            found.extend(lines.map(|&(op, codes, text)| parse_row(op, format, codes, text, lower(op))));
        }
        let images = rows::MIMG.iter();
        found.extend(images.map(|&(op, codes, text)| parse_row(op, Format::Mimg, codes, text, lower(op))));
        for &(count, first, codes, text) in rows::VOPC {
            for index in 0..count {
                let op = Op::ALL[usize::from(first as u16 + index)];
                let codes = codes.map(|code| if code < 0 { code } else { code + index as i16 });
                found.push(parse_row(op, Format::Vopc, codes, text, lower(op)));
            }
        }
        found.push(parse_row(Op::EXP, Format::Exp, [0; 4], "= b32 b32 b32 b32", lower(Op::EXP)));
        let mut by_code: HashMap<_, Vec<usize>> = HashMap::new();
        let mut by_name: HashMap<_, Vec<usize>> = HashMap::new();
        let mut by_op = vec![Vec::new(); Op::ALL.len()];
        for (index, row) in found.iter().enumerate() {
            by_op[row.op as usize].push(index);
            for generation in row.generations() {
                if let Some(code) = row.code(generation) {
                    by_code.entry((generation, row.format, code)).or_default().push(index);
                }
                if let (Some(code), true) = (row.long_code(generation), row.has_long()) {
                    by_code.entry((generation, Format::Vop3, code)).or_default().push(index);
                }
                by_name.entry((generation, row.name(generation))).or_default().push(index);
            }
        }
        Table { rows: found, by_code, by_op, by_name }
    }

    /// The row of an opcode. Long forms of the short formats are found under [`Format::Vop3`].
    pub(super) fn find(&self, chip: Chip, format: Format, code: u16) -> Option<&Row> {
        let rows = self.by_code.get(&(chip.generation(), format, code))?;
        rows.iter().map(|&index| &self.rows[index]).find(|row| row.is_on(chip))
    }

    /// The rows of an operation.
    pub(super) fn of_op(&self, op: Op) -> impl Iterator<Item = &Row> {
        self.by_op[op as usize].iter().map(|&index| &self.rows[index])
    }

    /// The rows of a name that a chip has.
    pub(super) fn named(&'static self, chip: Chip, name: &str) -> Vec<&'static Row> {
        let by_name: &HashMap<(Generation, &str), Vec<usize>> = &self.by_name;
        let rows = by_name.get(&(chip.generation(), name)).into_iter().flatten();
        rows.map(|&index| &self.rows[index]).filter(|row| row.is_on(chip)).collect()
    }
}

/// The operation's name in small letters.
fn lower(op: Op) -> &'static str {
    static LOWER: LazyLock<Vec<String>> =
        LazyLock::new(|| Op::ALL.iter().map(|op| op.name().to_ascii_lowercase()).collect());
    &LOWER[op as usize]
}

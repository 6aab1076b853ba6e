//! Decodes instruction words to [`Inst`].

use super::dialect::Fermi;
use super::field::{Field, Number};
use super::operand::{
    BarOp, Cache, MembarLevel, Merge, MinMaxPart, Mods, Operand, PredSrc, PrmtMode, RegWidth, Select, ShflOp,
    Src, TRUE_PRED, VoteOp,
};
use super::table::table;
use super::words::{COMPARISONS, CONDITIONS, add_op, component_mask, select};
use super::{Chip, Form, Inst, MAX_SRCS, Op};
use crate::envydis::{self, AtomOp, DecodeError, LogicOp, Signs, Type, code, lane_mask, rounding};

type Piece = envydis::Piece<Fermi>;

/// Decodes the instruction at byte offset `pc` of `code`. That long instructions stand at multiples of eight is
/// the assembler's business; the decoder takes them anywhere.
pub fn decode(code: &[u8], pc: u32, chip: Chip) -> Result<Inst, DecodeError> {
    decode_at(code, 0, pc, chip)
}

/// Decodes the instruction at address `pc` of a segment of which `code` begins at `base`.
pub fn decode_at(code: &[u8], base: u32, pc: u32, chip: Chip) -> Result<Inst, DecodeError> {
    let at = pc.checked_sub(base).ok_or(DecodeError::Truncated { pc })?;
    let (raw, _) = envydis::fetch::<Fermi>(code, at)?;
    decode_word(raw, pc, chip)
}

/// Decodes an instruction from its words (`word1 << 32 | word0`; word 1 of a short one is not looked at).
pub fn decode_word(raw: u64, pc: u32, chip: Chip) -> Result<Inst, DecodeError> {
    let len = if raw & 8 == 0 { 8 } else { 4 };
    let raw = if len == 4 { raw & 0xffff_ffff } else { raw };
    let undefined = DecodeError::Undefined { pc, len, raw };
    let row = table().find(raw, chip).ok_or(undefined)?;
    let empty =
        Src { operand: Operand::Imm(0), ty: None, select: Select::All, neg: false, abs: false, not: false };
    let mut builder = Builder {
        inst: Inst {
            pc,
            len,
            raw,
            chip,
            row,
            op: row.op,
            guard: None,
            cond: None,
            join: false,
            dst: None,
            dst2: None,
            pdst: None,
            pdst2: None,
            cc_out: false,
            video_lanes: 1,
            mods: Mods::default(),
            unknown: 0,
            srcs: [empty; MAX_SRCS],
            src_count: 0,
        },
        prefix: true,
        operands: 0,
        condition: None,
        ty: None,
        outer_type: None,
        select: None,
        signs: Signs::default(),
        quads: 0,
        words: 0,
    };
    let used = table().walk(row, raw, pc, chip, &mut |piece| builder.piece(piece)).ok_or(undefined)?;
    builder.finish();
    builder.inst.unknown = raw & !used;
    Ok(builder.inst)
}

/// Turns an instruction's text into its meaning.
struct Builder {
    inst: Inst,
    /// Before the mnemonic.
    prefix: bool,
    /// Operands seen after the mnemonic.
    operands: usize,
    /// `$c` condition being read.
    condition: Option<u8>,
    /// The last type named.
    ty: Option<Type>,
    /// The type outside of parentheses.
    outer_type: Option<Type>,
    select: Option<Select>,
    signs: Signs,
    /// Lanes of `quadop` seen.
    quads: usize,
    /// Words kept.
    words: usize,
}

impl Builder {
    fn piece(&mut self, piece: Piece) {
        match piece {
            Piece::Word(name) | Piece::OperandWord(name) if self.prefix => self.prefix_word(name),
            Piece::Word(name) | Piece::OperandWord(name) => self.word(name),
            Piece::Operand(Field::Guard(_), Operand::Pred(num)) => {
                self.inst.guard = Some(PredSrc { num, not: self.signs.not });
                self.signs.not = false;
            }
            Piece::Operand(Field::CcTest, _) => {
                let condition = self.condition.take();
                if self.prefix {
                    self.inst.cond = condition;
                }
            }
            Piece::Operand(field, operand) => self.field(field, operand),
            Piece::Open => self.outer_type = self.ty,
            // The addend of a multiply-add has no type of the factors.
            Piece::Close if !self.prefix => self.ty = self.outer_type,
            Piece::Close => {}
        }
    }

    fn prefix_word(&mut self, name: &'static str) {
        match name {
            "join" => self.inst.join = true,
            "not" => self.signs.not = true,
            _ => {
                if let Some(mask) = lane_mask(name) {
                    self.inst.mods.lanes = mask;
                } else if let Some(code) = code(&CONDITIONS, name) {
                    self.never();
                    self.condition = Some(code);
                } else {
                    self.never();
                    self.prefix = false;
                    self.mnemonic(name);
                }
            }
        }
    }

    /// A condition that no `$c` follows is the guard `never`.
    fn never(&mut self) {
        if self.condition.take().is_some() {
            self.inst.guard = Some(PredSrc { num: TRUE_PRED, not: true });
        }
    }

    /// The first word: for some operations it is a modifier.
    fn mnemonic(&mut self, name: &'static str) {
        let op = self.inst.op;
        let mods = &mut self.inst.mods;
        match op {
            Op::IAdd | Op::IMad | Op::IScAdd => mods.add = add_op(name).unwrap_or_default(),
            Op::Logic => mods.logic = LogicOp::parse(name).unwrap_or_default(),
            Op::Atom | Op::Red => mods.atom = AtomOp::parse(name).unwrap_or_default(),
            Op::FMinMax | Op::DMinMax | Op::IMinMax => mods.pred.not = name == "max",
            _ if op.is_video() => {
                self.inst.video_lanes = match name.as_bytes().last() {
                    Some(b'2') => 2,
                    Some(b'4') => 4,
                    _ => 1,
                };
                let name = name.trim_start_matches('v').trim_end_matches(['2', '4']);
                mods.add = add_op(name).unwrap_or_default();
                mods.lane_mask = (1 << self.inst.video_lanes) - 1;
            }
            _ => {}
        }
    }

    fn word(&mut self, name: &'static str) {
        let first = self.operands == 0;
        let half = match name {
            "u16l" | "s16l" => Some(Select::Half(0)),
            "u16h" | "s16h" => Some(Select::Half(1)),
            _ => None,
        };
        if let Some(ty) = Type::parse(if half.is_some() { &name[..3] } else { name }) {
            if first {
                self.inst.mods.ty.get_or_insert(ty);
            }
            self.ty = Some(ty);
            self.select = half.or(self.select);
            return;
        }
        if self.video_word(name) || self.operation_word(name) {
            return;
        }
        let mods = &mut self.inst.mods;
        if let Some((direction, to_integer)) = rounding(name) {
            *(if to_integer { &mut mods.int_rounding } else { &mut mods.rounding }) = Some(direction);
            return;
        }
        match name {
            "neg" if first && matches!(self.inst.op, Op::FMul | Op::DMul) => mods.neg = true,
            _ if self.signs.word(name) => {}
            "sat" => mods.sat = true,
            "ftz" => mods.ftz = true,
            "fmz" => mods.fmz = true,
            "high" => mods.high = true,
            "rev" => mods.reverse = true,
            "wrap" => mods.wrap = true,
            "shiftamt" => mods.shift_amount = true,
            "ca" => mods.cache = Some(Cache::Ca),
            "cg" => mods.cache = Some(Cache::Cg),
            "cs" => mods.cache = Some(Cache::Cs),
            "cv" => mods.cache = Some(Cache::Cv),
            "wb" => mods.cache = Some(Cache::Wb),
            "wt" => mods.cache = Some(Cache::Wt),
            "lim" => mods.lim = true,
            "allwarp" => mods.allwarp = true,
            "pcrel" => mods.pcrel = true,
            "terminate" => mods.terminate = true,
            "live" => mods.live = true,
            "dall" => mods.dall = true,
            // Said by the operation or the operands.
            "mul" | "shl" | "mask" | "lock" | "unlock" | "ldu" | "read" | "dfp" => {}
            _ => self.keep(name),
        }
    }

    /// Keeps a word that no modifier stands for.
    fn keep(&mut self, name: &'static str) {
        if let Some(slot) = self.inst.mods.words.get_mut(self.words) {
            *slot = name;
            self.words += 1;
        }
    }

    /// Words that mean something of their own in video instructions.
    fn video_word(&mut self, name: &'static str) -> bool {
        let op = self.inst.op;
        if !op.is_video() {
            return false;
        }
        let lanes = self.inst.video_lanes;
        let mods = &mut self.inst.mods;
        if self.operands == 0 && op == Op::VMad {
            match (add_op(name), name) {
                (Some(add), _) => mods.add = add,
                (_, "shr7") => mods.shift_right = 7,
                (_, "shr15") => mods.shift_right = 15,
                _ => return false,
            }
            return true;
        }
        if self.operands == 0 && op != Op::VSetP {
            mods.merge = match name {
                "h1" => Merge::H1,
                "h0" => Merge::H0,
                "b0" => Merge::B0,
                "b2" => Merge::B2,
                "add" => Merge::Add,
                "min" => Merge::Min,
                "max" => Merge::Max,
                "simd_min" => Merge::SimdMin,
                "simd_max" => Merge::SimdMax,
                _ => match component_mask(name) {
                    Some(mask) if lanes != 1 => {
                        mods.lane_mask = mask;
                        return true;
                    }
                    _ => return false,
                },
            };
            return true;
        }
        match select(name, lanes) {
            Some(select) => {
                self.select = Some(select);
                true
            }
            None => false,
        }
    }

    /// Words that mean something of their own in one operation.
    fn operation_word(&mut self, name: &'static str) -> bool {
        let op = self.inst.op;
        let mods = &mut self.inst.mods;
        if op.compares()
            && let Some(code) = code(&COMPARISONS, name)
        {
            mods.compare = code;
            return true;
        }
        match op {
            Op::CSet | Op::CSetP => {
                if let Some(code) = code(&CONDITIONS, name) {
                    mods.compare = code;
                    return true;
                }
            }
            Op::Red | Op::Atom | Op::SuRedP => {
                if let Some(atom) = AtomOp::parse(name) {
                    mods.atom = atom;
                    return true;
                }
            }
            // `mov $r or $flags`
            Op::MovFromFlags if name == "or" => return true,
            Op::QuadOp => return self.quad_word(name),
            Op::FMul if name.starts_with("mul") || name.starts_with("div") => {
                let power = match &name[3..] {
                    "2" => 1,
                    "4" => 2,
                    "8" => 3,
                    _ => 0,
                };
                mods.scale = if name.starts_with("div") { -power } else { power };
                return true;
            }
            Op::Prmt => {
                mods.prmt = match name {
                    "f4e" => PrmtMode::F4e,
                    "b4e" => PrmtMode::B4e,
                    "rc8" => PrmtMode::Rc8,
                    "ecl" => PrmtMode::Ecl,
                    "ecr" => PrmtMode::Ecr,
                    "rc16" => PrmtMode::Rc16,
                    _ => return false,
                };
                return true;
            }
            Op::IMinMax => {
                mods.part = match name {
                    "low" => MinMaxPart::Low,
                    "med" => MinMaxPart::Med,
                    "high" => MinMaxPart::High,
                    _ => return false,
                };
                return true;
            }
            Op::Shl | Op::Shr | Op::VShl | Op::VShr if name == "clamp" => return true,
            Op::Vote => {
                mods.vote = match name {
                    "all" => VoteOp::All,
                    "any" => VoteOp::Any,
                    "uni" => VoteOp::Uni,
                    _ => return false,
                };
                return true;
            }
            Op::Bar => {
                mods.bar = match name {
                    "and" => BarOp::And,
                    "or" => BarOp::Or,
                    "arrive" => BarOp::Arrive,
                    "sync" => BarOp::Sync,
                    "popc" => BarOp::Popc,
                    _ => return false,
                };
                return true;
            }
            Op::Membar => {
                mods.membar = match name {
                    "gl" => MembarLevel::Gl,
                    "sys" => MembarLevel::Sys,
                    _ => MembarLevel::Cta,
                };
                return true;
            }
            Op::Shfl => {
                mods.shfl = match name {
                    "up" => ShflOp::Up,
                    "down" => ShflOp::Down,
                    "bfly" => ShflOp::Bfly,
                    _ => ShflOp::Idx,
                };
                return true;
            }
            // `bra abs`: the address is the operand's.
            Op::Bra | Op::BraIndirect | Op::Call if name == "abs" => return true,
            Op::PSet | Op::PSetP if self.inst.src_count == 1 => {
                if let Some(op) = LogicOp::parse(name) {
                    mods.logic = op;
                    return true;
                }
            }
            _ => {}
        }
        let sets = op.compares() || matches!(op, Op::CSet | Op::CSetP | Op::PSet | Op::PSetP);
        if sets && let Some(op) = LogicOp::parse(name) {
            mods.set_logic = op;
            return true;
        }
        false
    }

    fn quad_word(&mut self, name: &'static str) -> bool {
        let Mods { quad, quad_lane, .. } = &mut self.inst.mods;
        envydis::quad_word(name, quad, quad_lane, &mut self.quads)
    }

    fn field(&mut self, field: Field, mut operand: Operand) {
        // `minmax $p1 f32`: the type comes behind.
        self.operands += usize::from(!matches!(field, Field::PredSrc(_)));
        let op = self.inst.op;
        match (field, &mut operand) {
            (Field::CcOut, _) => self.inst.cc_out = true,
            (Field::CcIn, _) => self.inst.mods.carry_in = true,
            (Field::PredDst(_, second), Operand::Pred(num)) => {
                let num = (*num != TRUE_PRED).then_some(*num);
                if second {
                    self.inst.pdst2 = num;
                } else {
                    self.inst.pdst = num;
                }
            }
            (Field::PredSrc(_), Operand::Pred(num)) => {
                if matches!(op, Op::PSet | Op::PSetP) && self.inst.src_count < 2 {
                    self.source(operand);
                } else {
                    self.inst.mods.pred = PredSrc { num: *num, not: self.signs.not };
                    self.signs.not = false;
                }
            }
            (Field::Part(bits), Operand::Imm(value)) => {
                let part = *value as u8;
                let select = if bits.len() == 1 { Select::Half(part) } else { Select::Byte(part) };
                // Of `f16 $r 0x1` it stands behind the source.
                match self.inst.src_count.checked_sub(1) {
                    Some(last) => self.inst.srcs[usize::from(last)].select = select,
                    None => self.select = Some(select),
                }
            }
            (Field::Shift(_), Operand::Imm(value)) => self.inst.mods.shift = *value as u8,
            (Field::Flags, _) => {}
            (Field::Reg(..) | Field::Vec(..), _) if self.takes_dst() => {
                if self.inst.dst.is_none() {
                    self.inst.dst = Some(operand);
                } else {
                    self.inst.dst2 = Some(operand);
                }
            }
            (Field::Number(_, Number::Signed), Operand::Imm(value)) => {
                if matches!(self.ty, Some(Type::U64 | Type::S64)) {
                    *value = i64::from(*value as u32 as i32) as u64;
                }
                self.source(operand);
            }
            _ => self.source(operand),
        }
    }

    /// True if the next register is a destination.
    fn takes_dst(&self) -> bool {
        let op = self.inst.op;
        let no_dst = op.has_no_dst() || op == Op::Bar && self.inst.row.form == Form::Short;
        match (no_dst, self.inst.dst) {
            (true, _) => false,
            (_, None) => true,
            // `ld .. ldu ..`: the second register follows the first address.
            (_, Some(_)) => op == Op::LdLdu && self.inst.dst2.is_none(),
        }
    }

    fn source(&mut self, operand: Operand) {
        let op = self.inst.op;
        let index = usize::from(self.inst.src_count);
        let mut select = self.select.take();
        let mut ty = self.ty;
        if op.is_video() {
            match index {
                // What the result is merged with has its type.
                2 => ty = self.inst.mods.ty,
                0 | 1 => {
                    select = select.or(match (self.inst.video_lanes, index) {
                        (4, 0) => Some(Select::Bytes([0, 1, 2, 3])),
                        (4, _) => Some(Select::Bytes([4, 5, 6, 7])),
                        (2, 0) => Some(Select::Halves([0, 1])),
                        (2, _) => Some(Select::Halves([2, 3])),
                        _ => None,
                    });
                }
                _ => {}
            }
        }
        if let Some(slot) = self.inst.srcs.get_mut(index) {
            let select = select.unwrap_or_default();
            let Signs { neg, abs, not } = self.signs;
            *slot = Src { operand, ty, select, neg, abs, not };
            self.inst.src_count += 1;
        }
        self.signs = Signs::default();
    }

    /// What only the end of the text decides.
    fn finish(&mut self) {
        let inst = &mut self.inst;
        if matches!(inst.op, Op::LdLock | Op::StUnlock) && inst.mods.ty.is_none() {
            // GK104's name what they access only if the registers do not.
            let value = inst.dst.or(inst.src(1).map(|src| src.operand)).and_then(Operand::as_reg);
            let ty = match value {
                Some((_, RegWidth::B64)) => Type::B64,
                Some((_, RegWidth::B128)) => Type::B128,
                _ => Type::B32,
            };
            inst.mods.ty = Some(ty);
            for src in &mut inst.srcs {
                src.ty = Some(ty);
            }
        }
        if matches!(inst.op, Op::PSet | Op::PSetP) && inst.src_count == 1 {
            // The long form leaves out `and $p0`, the short one `and $p7`.
            let num = if inst.row.form == Form::Short { TRUE_PRED } else { 0 };
            let second = Src { operand: Operand::Pred(num), not: false, ..inst.srcs[0] };
            inst.srcs[1] = second;
            inst.src_count = 2;
        }
    }
}

//! What each word of an instruction's text means: a type, a modifier, or nothing beside what the operation says. A word that means none of
//! these is noted; the table has none.

use super::Builder;
use crate::envydis::{self, AtomOp, LogicOp, Type, code, rounding};
use crate::fermi::Op;
use crate::fermi::modifier::Modifier;
use crate::fermi::operand::{
    BarOp, Cache, MembarLevel, Merge, MinMaxPart, Mods, PrmtMode, Select, ShflOp, VoteOp,
};
use crate::fermi::words::{COMPARISONS, CONDITIONS, add_op, component_mask, select};

impl Builder {
    /// The first word: for some operations it is a modifier.
    pub(super) fn mnemonic(&mut self, name: &'static str) {
        let op = self.inst.op;
        let mods = &mut self.inst.mods;
        match op {
            Op::IAdd | Op::IMad | Op::IScAdd => match add_op(name) {
                Some(add) => mods.add = add,
                None => self.unexplained = Some(name),
            },
            Op::Logic => match LogicOp::parse(name) {
                Some(logic) => mods.logic = logic,
                None => self.unexplained = Some(name),
            },
            // `ld add`, `red add`: the operation comes next.
            Op::Atom | Op::Red if matches!(name, "ld" | "red") => {}
            Op::Atom | Op::Red => match AtomOp::parse(name) {
                Some(atom) => mods.atom = atom,
                None => self.unexplained = Some(name),
            },
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

    /// Any other word.
    pub(super) fn word(&mut self, name: &'static str) {
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
        if self.video_word(name) || self.operation_word(name) || self.list(name) {
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
            // Said by the operation, the operands, or where nothing else is said.
            "mul" | "shl" | "mask" | "lock" | "unlock" | "ldu" | "read" | "sd" | "dfp" | "all" => {}
            _ => self.unexplained = Some(name),
        }
    }

    /// Lists a modifier of this operation.
    fn list(&mut self, name: &'static str) -> bool {
        let Some(modifier) = Modifier::of(self.inst.op, name) else { return false };
        match self.inst.mods.listed.get_mut(self.listed) {
            Some(place) => *place = Some(modifier),
            None => self.unexplained = Some(name),
        }
        self.listed += 1;
        true
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
            // Its condition stands behind the mnemonic.
            Op::TexBar => {
                self.condition = code(&CONDITIONS, name);
                return self.condition.is_some();
            }
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
                    _ => return false,
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
                    "cta" => MembarLevel::Cta,
                    "gl" => MembarLevel::Gl,
                    "sys" => MembarLevel::Sys,
                    _ => return false,
                };
                return true;
            }
            Op::Shfl => {
                mods.shfl = match name {
                    "up" => ShflOp::Up,
                    "down" => ShflOp::Down,
                    "bfly" => ShflOp::Bfly,
                    "idx" => ShflOp::Idx,
                    _ => return false,
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
}

//! What an image instruction does, from its word; docs/hardware/graphics-gcn.md section 6.

use std::sync::LazyLock;

use warpjit_ir::AtomicOp;

use crate::gcn::table::table;
use crate::gcn::{Chip, Format, Generation, Op};

/// What an instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// Reads a texel.
    Load(Form),
    /// Writes a texel.
    Store(Form),
    /// Changes a texel; the flag says that the operand is negated.
    Atomic(AtomicOp, bool),
    /// Filters.
    Sample,
    /// Gives one component of four texels.
    Gather,
    /// Gives one component of four texels in a row.
    GatherRow,
    /// Gives the elements of so many texels in a row, as their bits are, one behind the other.
    GatherRaw(u8),
    /// Gives the level of detail that sampling would take.
    Lod,
    /// Gives sizes.
    Sizes,
}

/// How a texel is read or written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// Converted.
    Converted,
    /// As its bits are.
    Raw,
    /// As its bits are; less than a word is extended by its sign.
    Signed,
}

/// Where a level of detail comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    /// From how coordinates change in the quad.
    Implicit,
    /// From gradients in registers.
    Gradients,
    /// A register: a number for sampling, a mip for loads and stores.
    Given,
    /// 0.
    Zero,
}

/// The operands that an operation has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub(crate) action: Action,
    pub(crate) level: Level,
    pub(crate) offset: bool,
    pub(crate) bias: bool,
    pub(crate) compare: bool,
    /// A register bounds the level of detail from below.
    pub(crate) clamp: bool,
}

impl Shape {
    /// Of an operation; `None` if there is none here.
    pub(crate) fn of(op: Op) -> Option<Shape> {
        let name = op.name().strip_prefix("IMAGE_")?;
        let plain =
            |action, level| Shape { action, level, offset: false, bias: false, compare: false, clamp: false };
        if let Some(atomic) = name.strip_prefix("ATOMIC_") {
            let (op, negate) = atomic_op(atomic)?;
            return Some(plain(Action::Atomic(op, negate), Level::Zero));
        }
        let form = match name.rsplit('_').next() {
            Some("PCK") => Form::Raw,
            Some("SGN") => Form::Signed,
            _ => Form::Converted,
        };
        let level = if name.contains("_MIP") { Level::Given } else { Level::Zero };
        match name {
            "GET_RESINFO" => return Some(plain(Action::Sizes, Level::Given)),
            "GET_LOD" => return Some(plain(Action::Lod, Level::Implicit)),
            "GATHER4H" => return Some(plain(Action::GatherRow, Level::Zero)),
            "GATHER4H_PCK" => return Some(plain(Action::GatherRaw(4), Level::Zero)),
            "GATHER8H_PCK" => return Some(plain(Action::GatherRaw(8), Level::Zero)),
            _ if name.starts_with("LOAD") => return Some(plain(Action::Load(form), level)),
            _ if name.starts_with("STORE") => return Some(plain(Action::Store(form), level)),
            _ => {}
        }
        let mut words = name.split('_');
        let action = match words.next() {
            Some("SAMPLE") => Action::Sample,
            Some("GATHER4") => Action::Gather,
            _ => return None,
        };
        let mut shape = plain(action, if action == Action::Gather { Level::Zero } else { Level::Implicit });
        for word in words {
            match word {
                "O" => shape.offset = true,
                "B" => shape.bias = true,
                "C" => shape.compare = true,
                "CL" => shape.clamp = true,
                "D" | "CD" => shape.level = Level::Gradients,
                "L" => shape.level = Level::Given,
                "LZ" => shape.level = Level::Zero,
                _ => return None,
            }
        }
        // The level of a gather is the view's first unless the instruction says more: then it is found as a sample's.
        if action == Action::Gather && (shape.bias || shape.clamp) {
            shape.level = Level::Implicit;
        }
        Some(shape)
    }

    /// The most address registers that it has, whatever the image.
    pub(crate) fn most_words(&self) -> usize {
        let extra = [self.offset, self.bias, self.compare, self.clamp || self.level == Level::Given];
        let gradients = if self.level == Level::Gradients { 6 } else { 0 };
        match self.action {
            Action::Sizes => 1,
            // Three coordinates, the level and the sample.
            Action::Load(_) | Action::Store(_) | Action::Atomic(..) => {
                4 + usize::from(self.level == Level::Given)
            }
            _ => 3 + gradients + extra.into_iter().filter(|&there| there).count(),
        }
    }

    /// Address registers before the coordinates.
    pub(crate) fn words_before(&self) -> usize {
        [self.offset, self.bias, self.compare].into_iter().filter(|&there| there).count()
    }

    /// Whether it has a sampler.
    pub(crate) fn samples(&self) -> bool {
        self.gathers() || matches!(self.action, Action::Sample | Action::Lod)
    }

    /// Whether it gives several texels without filtering.
    pub(crate) fn gathers(&self) -> bool {
        matches!(self.action, Action::Gather | Action::GatherRow | Action::GatherRaw(_))
    }

    /// Whether it changes memory.
    pub(crate) fn writes(&self) -> bool {
        matches!(self.action, Action::Store(_) | Action::Atomic(..))
    }
}

/// What an atomic does.
fn atomic_op(name: &str) -> Option<(AtomicOp, bool)> {
    Some(match name {
        "SWAP" => (AtomicOp::Exch, false),
        "CMPSWAP" => (AtomicOp::Cas, false),
        "ADD" => (AtomicOp::Add, false),
        "SUB" => (AtomicOp::Add, true),
        "RSUB" => (AtomicOp::Rsub, false),
        "SMIN" => (AtomicOp::Smin, false),
        "UMIN" => (AtomicOp::Umin, false),
        "SMAX" => (AtomicOp::Smax, false),
        "UMAX" => (AtomicOp::Umax, false),
        "AND" => (AtomicOp::And, false),
        "OR" => (AtomicOp::Or, false),
        "XOR" => (AtomicOp::Xor, false),
        "INC" => (AtomicOp::Inc, false),
        "DEC" => (AtomicOp::Dec, false),
        "FCMPSWAP" => (AtomicOp::Fcas, false),
        "FMIN" => (AtomicOp::Fmin, false),
        "FMAX" => (AtomicOp::Fmax, false),
        _ => return None,
    })
}

/// An instruction for the device: its word, with the number of the chip in place of the address register, and in place of the data
/// register whether the call keeps the order of the program. The device needs neither register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word(u64);

impl Word {
    const CHIP: u32 = 32;

    const ORDERED: u32 = 40;

    pub(crate) fn new(raw: u64, chip: Chip, ordered: bool) -> Word {
        let own = u64::from(chip.number()) << Word::CHIP | u64::from(ordered) << Word::ORDERED;
        Word(raw & !(0xffff << Word::CHIP) | own)
    }

    /// Whether lanes may see what other lanes have stored before.
    pub(crate) fn is_ordered(self) -> bool {
        self.bit(Word::ORDERED)
    }

    pub(crate) fn of(params: u64) -> Word {
        Word(params)
    }

    pub(crate) fn params(self) -> u64 {
        self.0
    }

    pub(crate) fn chip(self) -> Chip {
        Chip::numbered((self.0 >> Word::CHIP) as u8)
    }

    fn bit(self, number: u32) -> bool {
        self.0 >> number & 1 != 0
    }

    pub(crate) fn shape(self) -> Option<Shape> {
        /// By generation and opcode.
        static SHAPES: LazyLock<[Vec<Option<Shape>>; 4]> = LazyLock::new(|| {
            Generation::ALL.map(|generation| {
                let chip = Chip::from(generation);
                let row = |code| table().find(chip, Format::Mimg, code);
                (0..128).map(|code| row(code).and_then(|row| Shape::of(row.op))).collect()
            })
        });
        let generation = self.chip().generation() as usize;
        SHAPES.get(generation)?.get(self.0 as usize >> 18 & 0x7f).copied().flatten()
    }

    /// Components that are loaded or stored.
    pub(crate) fn dmask(self) -> u32 {
        self.0 as u32 >> 8 & 15
    }

    pub(crate) fn unnormalized(self) -> bool {
        self.bit(12)
    }

    /// Whether a slice is among the coordinates.
    pub(crate) fn array(self) -> bool {
        self.bit(14)
    }

    /// Whether there are only four words of the image's descriptor (up to 1.2).
    pub(crate) fn short(self) -> bool {
        self.bit(15) && self.chip().generation() != Generation::Gfx9
    }

    /// Whether addresses have 16 bits (1.4).
    pub(crate) fn half_address(self) -> bool {
        self.bit(15) && self.chip().generation() == Generation::Gfx9
    }

    /// Whether data have 16 bits.
    pub(crate) fn half_data(self) -> bool {
        self.bit(63)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_by_name() {
        for &op in Op::ALL {
            let name = op.name();
            let known = name.starts_with("IMAGE_");
            assert_eq!(Shape::of(op).is_some(), known, "{name}");
        }
        let shape = Shape::of(Op::IMAGE_SAMPLE_C_CD_CL_O).unwrap();
        assert_eq!((shape.level, shape.most_words()), (Level::Gradients, 12));
        assert!(shape.offset && shape.compare && shape.clamp && !shape.bias && shape.samples());
        assert_eq!(Shape::of(Op::IMAGE_GATHER4).unwrap().level, Level::Zero);
        assert_eq!(Shape::of(Op::IMAGE_GATHER4_B_CL).unwrap().level, Level::Implicit);
        assert_eq!(Shape::of(Op::IMAGE_LOAD_MIP_PCK_SGN).unwrap().action, Action::Load(Form::Signed));
        let most = Op::ALL.iter().filter_map(|&op| Some(Shape::of(op)?.most_words())).max();
        assert_eq!(most, Some(super::super::ADDRESS_WORDS));
    }

    #[test]
    fn fields() {
        // image_sample v[0:3], v[4:5], s[0:7], s[8:11] dmask:0xf unorm; on a chip.
        let word = Word::new(0xf080_1f00 | 0x0040_0004 << 32, Chip::parse("tonga").unwrap(), false);
        assert_eq!(word.chip().name(), "tonga");
        assert_eq!((word.dmask(), word.unnormalized(), word.array()), (15, true, false));
        assert_eq!(word.shape().unwrap().action, Action::Sample);
    }
}

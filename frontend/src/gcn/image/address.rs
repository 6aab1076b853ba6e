//! Takes the address registers of an image instruction apart; docs/hardware/graphics-gcn.md section 6.

use warpjit_texture::Kind;

use super::ADDRESS_WORDS;
use super::op::{Level, Shape, Word};
use crate::gcn::texel;

/// The operands in a lane's address registers. What an instruction does not have is 0.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Address {
    /// Texels to add to coordinates.
    pub(super) offset: [i32; 3],
    pub(super) bias: f32,
    pub(super) reference: f32,
    /// Changes along x and y.
    pub(super) gradients: [[f32; 3]; 2],
    /// Coordinates of samples, the slice or face among them.
    coordinates: [f32; 3],
    /// A level of detail, or the least one.
    pub(super) level: f32,
    /// Coordinates of other accesses.
    pub(super) texel: [u32; 3],
    slice: u32,
    /// Level of detail of other accesses.
    pub(super) mip: u32,
    /// The sample of other accesses.
    pub(super) sample: u32,
}

/// Registers one after the other.
struct Reader {
    words: [u32; ADDRESS_WORDS],
    next: usize,
    /// Most operands have 16 bits, two in a register.
    half: bool,
}

impl Reader {
    fn word(&mut self) -> u32 {
        let word = self.words.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        word
    }

    /// `count` operands that share registers where they have 16 bits.
    fn group(&mut self, count: usize) -> [u32; 5] {
        let mut group = [0; 5];
        if !self.half {
            group.iter_mut().take(count).for_each(|value| *value = self.word());
            return group;
        }
        for pair in group[..count].chunks_mut(2) {
            let word = self.word();
            for (value, shift) in pair.iter_mut().zip([0, 16]) {
                *value = word >> shift & 0xffff;
            }
        }
        group
    }

    fn float(&self, bits: u32) -> f32 {
        if self.half { float_of(bits as u16) } else { f32::from_bits(bits) }
    }
}

/// The value of a half.
pub(super) fn float_of(half: u16) -> f32 {
    f32::from_bits(texel::from_f16(half.into()))
}

impl Address {
    /// Takes the registers apart. `samples`: an access names a sample, behind all else.
    pub(super) fn read(
        words: [u32; ADDRESS_WORDS],
        shape: &Shape,
        word: Word,
        kind: Kind,
        samples: bool,
    ) -> Address {
        let mut from = Reader { words, next: 0, half: word.half_address() };
        let mut to = Address::default();
        let axes = kind.axes();
        let coordinates = axes + usize::from(kind.has_layers() || kind.is_cube());
        if !shape.samples() {
            let mip = usize::from(shape.level == Level::Given);
            let group = from.group(coordinates + mip + usize::from(samples));
            to.sample = if samples { group[coordinates + mip] } else { 0 };
            to.texel[..axes].copy_from_slice(&group[..axes]);
            to.slice = if coordinates > axes { group[axes] } else { 0 };
            to.mip = if shape.level == Level::Given { group[coordinates] } else { 0 };
            return to;
        }
        if shape.offset {
            let word = from.word();
            to.offset = [0, 8, 16].map(|shift| (word >> shift << 26) as i32 >> 26);
        }
        if shape.bias {
            let bits = from.group(1)[0];
            to.bias = from.float(bits);
        }
        if shape.compare {
            to.reference = f32::from_bits(from.word());
        }
        if shape.level == Level::Gradients {
            for direction in &mut to.gradients {
                let group = from.group(axes);
                direction
                    .iter_mut()
                    .zip(group)
                    .take(axes)
                    .for_each(|(value, bits)| *value = from.float(bits));
            }
        }
        let extra = shape.clamp || shape.level == Level::Given;
        let group = from.group(coordinates + usize::from(extra));
        to.coordinates
            .iter_mut()
            .zip(group)
            .take(coordinates)
            .for_each(|(value, bits)| *value = from.float(bits));
        to.level = if extra { from.float(group[coordinates]) } else { 0.0 };
        to
    }

    /// Where a sample is: coordinates along the axes. Those on a cube's face are 1 to 2 in registers.
    pub(super) fn on_axes(&self, kind: Kind) -> [f32; 3] {
        let [s, t, r] = self.coordinates;
        match kind {
            _ if kind.is_cube() => [s - 1.0, t - 1.0, 0.0],
            Kind::D1 | Kind::D1Array => [s, 0.0, 0.0],
            Kind::D3 => [s, t, r],
            _ => [s, t, 0.0],
        }
    }

    /// The face that a sample of a cube names.
    pub(super) fn face(&self) -> u32 {
        // What is no number, or below 0, is the first.
        (self.coordinates[2].round_ties_even() as u32 & 7).min(5)
    }

    /// The layer of a sample.
    pub(super) fn layer(&self, kind: Kind) -> u32 {
        // What is no number, or below 0, is the first.
        let whole = |x: f32| x.round_ties_even() as u32;
        match kind {
            _ if kind.is_cube() => {
                let slice = whole(self.coordinates[2]);
                6 * (slice >> 3) + self.face()
            }
            Kind::D1Array => whole(self.coordinates[1]),
            Kind::D2Array => whole(self.coordinates[2]),
            _ => 0,
        }
    }

    /// The layer of another access; `None`: there is none.
    pub(super) fn slice(&self, kind: Kind) -> Option<u32> {
        match kind {
            _ if kind.is_cube() => {
                let (cube, face) = (self.slice >> 3, self.slice & 7);
                (face < 6).then_some(6 * cube + face)
            }
            _ => Some(self.slice),
        }
    }
}

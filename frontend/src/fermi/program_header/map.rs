//! The input and output maps of a shader program header: which words of the attribute space a program reads and writes, and for pixel
//! programs how each input is interpolated (docs/hardware/graphics-nv.md section 3.8).

use std::fmt;

use super::address;
use crate::stage::Interpolation;

/// A set of words of the attribute space, which has 256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct WordSet([u32; 8]);

impl WordSet {
    /// Inputs and outputs in the header of a stage other than pixels: a bit for each word, inputs from the beginning of header word 5 on,
    /// outputs from the middle of word 12 on. The last 16 words of the space have no bit.
    pub(super) fn of_header(words: &[u32; 20]) -> (WordSet, WordSet) {
        let mut inputs = WordSet::default();
        inputs.0.copy_from_slice(&words[5..13]);
        inputs.0[7] &= 0xffff;
        let mut outputs = WordSet::default();
        for (number, set) in outputs.0.iter_mut().enumerate() {
            let next = words.get(13 + number).copied().unwrap_or(0);
            *set = words[12 + number] >> 16 | next << 16;
        }
        (inputs, outputs)
    }

    /// Adds the word at a byte address. Addresses beyond the space are dropped.
    pub fn insert(&mut self, address: u32) {
        if let Some(set) = self.0.get_mut((address / 128) as usize) {
            *set |= 1 << (address / 4 % 32);
        }
    }

    /// Whether the word at a byte address is in the set.
    pub fn contains(&self, address: u32) -> bool {
        self.0.get((address / 128) as usize).is_some_and(|set| set >> (address / 4 % 32) & 1 != 0)
    }

    /// Byte addresses of the words, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..0x400).step_by(4).filter(|&address| self.contains(address))
    }
}

impl fmt::Debug for WordSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|address| format!("{address:#x}"))).finish()
    }
}

/// The inputs of a pixel program, ascending.
///
/// Words of the system have a bit, not a kind. Ids and the point size are flat, the position is a plane of what it is. Chosen, as no source
/// says it: clip distances and fog are like attributes without qualifier (perspective), the point coordinate is linear, as drivers read it.
pub(super) fn pixel_inputs(words: &[u32; 20]) -> Vec<(u32, Interpolation)> {
    let mut inputs = Vec::new();
    let mut system = |first: u32, word: usize, bits: std::ops::Range<u32>, interpolation| {
        for (number, bit) in bits.enumerate() {
            if words[word] >> bit & 1 != 0 {
                inputs.push((first + 4 * number as u32, interpolation));
            }
        }
    };
    system(address::PRIMITIVE_ID, 5, 24..27, Interpolation::Constant);
    system(address::POINT_SIZE, 5, 27..28, Interpolation::Constant);
    system(address::POSITION, 5, 28..32, Interpolation::Linear);
    system(address::CLIP_DISTANCE, 14, 16..24, Interpolation::Perspective);
    system(address::POINT_COORDINATE, 14, 24..26, Interpolation::Linear);
    system(address::FOG, 14, 26..27, Interpolation::Perspective);
    // Two bits a component, from the beginning of a header word on.
    for (first, word, components) in
        [(address::GENERIC, 6, 128), (address::COLOUR, 14, 8), (address::TEXTURE_COORDINATE, 15, 40)]
    {
        for component in 0..components {
            let kind = words[word + component / 16] >> (2 * (component % 16)) & 3;
            let interpolation = match kind {
                1 => Interpolation::Constant,
                2 => Interpolation::Perspective,
                3 => Interpolation::Linear,
                _ => continue,
            };
            inputs.push((first + 4 * component as u32, interpolation));
        }
    }
    inputs.sort_by_key(|&(address, _)| address);
    inputs
}

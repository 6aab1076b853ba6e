//! Numbers that stand for contents.
//!
//! Neither is cryptographic. Nothing depends on that: what a cache file holds is checked besides, and code of another kernel
//! with the same frame does no harm but to its guest (docs/unsafe.md).

use std::hash::Hasher;

const ODD: [u64; 4] =
    [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 0xd6e8_feb8_6659_fd93];

/// A number of 128 bits for what is hashed into it; the same in every process of a build.
#[derive(Debug, Clone)]
pub struct Digest {
    state: [u64; 2],
    /// Small numbers wait here until there are 64 bits of them.
    waiting: u64,
    bits: u32,
}

impl Digest {
    /// Of nothing.
    pub fn new() -> Digest {
        Digest { state: [ODD[2], ODD[3]], waiting: 0, bits: 0 }
    }

    fn mix(&mut self, word: u64) {
        let [a, b] = &mut self.state;
        *a = (*a ^ word).wrapping_mul(ODD[0]).rotate_left(29);
        *b = (b.rotate_left(23) ^ word).wrapping_mul(ODD[1]);
    }

    /// Adds the low `bits` bits of a number; the others are 0.
    fn small(&mut self, value: u64, bits: u32) {
        if self.bits + bits > 64 {
            let word = std::mem::take(&mut self.waiting);
            self.mix(word);
            self.bits = 0;
        }
        self.waiting |= value << self.bits;
        self.bits += bits;
    }

    /// The number.
    pub fn value(mut self) -> [u64; 2] {
        let (word, bits) = (self.waiting, self.bits);
        self.mix(word);
        self.mix(bits.into());
        let [a, b] = self.state;
        let fold = |x: u64, y: u64| {
            let product = u128::from(x ^ ODD[3]) * u128::from(y ^ ODD[2]);
            product as u64 ^ (product >> 64) as u64
        };
        [fold(a, b.rotate_left(32)) ^ a, fold(b, a.rotate_left(32)) ^ b]
    }
}

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        self.clone().value()[0]
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        for &byte in rest {
            self.small(byte.into(), 8);
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.small(value.into(), 8);
    }

    fn write_u16(&mut self, value: u16) {
        self.small(value.into(), 16);
    }

    fn write_u32(&mut self, value: u32) {
        self.small(value.into(), 32);
    }

    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    fn write_usize(&mut self, value: usize) {
        // Lengths, mostly small.
        match u8::try_from(value) {
            Ok(value @ 0..=0xfe) => self.small(value.into(), 8),
            _ => {
                self.small(0xff, 8);
                self.mix(value as u64);
            }
        }
    }

    fn write_isize(&mut self, value: isize) {
        // Variants of enums.
        self.write_usize(value as usize);
    }
}

/// A number for bytes, quickly: any change within eight bytes changes it, others all but surely.
pub fn checksum(bytes: &[u8]) -> u64 {
    let mut lanes = ODD;
    let mut add = |block: &[u8; 32]| {
        let (words, _) = block.as_chunks::<8>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane = (*lane ^ u64::from_le_bytes(*word)).wrapping_mul(ODD[0]).rotate_left(29);
        }
    };
    let (blocks, rest) = bytes.as_chunks::<32>();
    blocks.iter().for_each(&mut add);
    let mut last = [0; 32];
    last[..rest.len()].copy_from_slice(rest);
    add(&last);
    let length = bytes.len() as u64;
    lanes.iter().fold(length, |all, lane| (all ^ lane).wrapping_mul(ODD[1]).rotate_left(31))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::Hash;

    fn of(value: &impl Hash) -> [u64; 2] {
        let mut digest = Digest::new();
        value.hash(&mut digest);
        digest.value()
    }

    #[test]
    fn every_bit_changes_a_checksum() {
        let bytes: Vec<u8> = (0..301u32).map(|i| (i * i) as u8).collect();
        let right = checksum(&bytes);
        for bit in 0..bytes.len() * 8 {
            let mut wrong = bytes.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(checksum(&wrong), right, "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert_ne!(checksum(&bytes[..length]), right, "{length} bytes");
        }
        assert_ne!(checksum(&[]), checksum(&[0]));
    }

    #[test]
    fn different_contents_have_different_digests() {
        let mut seen = std::collections::HashSet::new();
        for a in 0..40u32 {
            for b in 0..40usize {
                assert!(seen.insert(of(&(0u8, a, b))));
                assert!(seen.insert(of(&(1u8, a, vec![7u8; b]))));
                assert!(seen.insert(of(&(2u8, u64::from(a), Some(b as u64)))));
            }
        }
        assert_eq!(of(&("text", [1u64, 2])), of(&("text", [1u64, 2])));
        assert_ne!(of(&vec![300usize, 1]), of(&vec![1usize, 300]));
    }
}

//! Digests of contents, by BLAKE3.
//!
//! What compiled code may access without a test follows from its kernel, for example from the bounds of its slots. If somebody
//! could construct two kernels with the same digest, code of one would run for the other and could access memory outside the
//! guest's. So the digest must be collision-resistant.

use std::hash::Hasher;

/// Bytes of a digest.
pub const BYTES: usize = blake3::OUT_LEN;

/// Size of the buffer: as many blocks as BLAKE3 hashes at a time with the widest vectors.
const WAITING: usize = 16 << 10;

/// A hasher that gives the same digest in every process of a build. Different values of a type feed it different bytes:
/// numbers are written in full, except lengths and enum discriminants, which have a short form and a marked long form.
#[derive(Debug, Clone)]
pub struct Digest {
    hasher: blake3::Hasher,
    waiting: Box<[u8; WAITING]>,
    /// Number of bytes in the buffer.
    count: usize,
}

impl Digest {
    /// An empty digest.
    pub fn new() -> Digest {
        Digest { hasher: blake3::Hasher::new(), waiting: Box::new([0; WAITING]), count: 0 }
    }

    /// The digest.
    pub fn value(mut self) -> [u8; BYTES] {
        self.flush();
        *self.hasher.finalize().as_bytes()
    }

    fn flush(&mut self) {
        self.hasher.update(&self.waiting[..self.count]);
        self.count = 0;
    }

    /// Adds a few bytes. Fast, because most of what is hashed are numbers.
    #[inline(always)]
    fn add<const N: usize>(&mut self, bytes: [u8; N]) {
        if self.count + N > WAITING {
            self.flush();
        }
        if let Some(place) = self.waiting[self.count..].first_chunk_mut() {
            *place = bytes;
        }
        self.count += N;
    }
}

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        let value = self.clone().value();
        value.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.count + bytes.len() > WAITING {
            self.flush();
        }
        match self.waiting.get_mut(self.count..self.count + bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.count += bytes.len();
            }
            None => {
                self.hasher.update(bytes);
            }
        }
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.add([value]);
    }

    #[inline]
    fn write_u16(&mut self, value: u16) {
        self.add(value.to_le_bytes());
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.add(value.to_le_bytes());
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.add(value.to_le_bytes());
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        // Lengths, which are mostly small.
        match u8::try_from(value) {
            Ok(value @ 0..=0xfe) => self.write_u8(value),
            _ => {
                self.write_u8(0xff);
                self.write_u64(value as u64);
            }
        }
    }

    #[inline]
    fn write_isize(&mut self, value: isize) {
        // Discriminants of enums.
        self.write_usize(value as usize);
    }
}

/// A digest of bytes together with their key, so that contents under another key do not match.
pub fn checksum(key: &[u8; BYTES], bytes: &[u8]) -> [u8; BYTES] {
    *blake3::keyed_hash(key, bytes).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::Hash;

    fn of(value: &impl Hash) -> [u8; BYTES] {
        let mut digest = Digest::new();
        value.hash(&mut digest);
        digest.value()
    }

    #[test]
    fn it_is_blake3_of_what_is_written() {
        // The digest of nothing, by BLAKE3's test vectors (input_len 0).
        let nothing = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
        let hex: String = Digest::new().value().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, nothing);
        // However it is cut: those vectors' input of 102,400 bytes counts from 0 to 250 over and over.
        let input: Vec<u8> = (0..102_400u32).map(|at| (at % 251) as u8).collect();
        let want = "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085";
        for piece in [1, 7, 4096, 16_384, 16_385, 50_000, 102_400] {
            let mut digest = Digest::new();
            input.chunks(piece).for_each(|bytes| digest.write(bytes));
            let hex: String = digest.value().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, want, "pieces of {piece}");
        }
    }

    #[test]
    fn a_checksum_belongs_to_its_key() {
        let bytes: Vec<u8> = (0..301u32).map(|i| (i * i) as u8).collect();
        let key = [7; BYTES];
        let right = checksum(&key, &bytes);
        assert_ne!(checksum(&[8; BYTES], &bytes), right);
        for bit in 0..bytes.len() * 8 {
            let mut wrong = bytes.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(checksum(&key, &wrong), right, "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert_ne!(checksum(&key, &bytes[..length]), right, "{length} bytes");
        }
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
        assert_ne!(of(&vec![0xffusize]), of(&vec![0xff00usize]));
    }
}

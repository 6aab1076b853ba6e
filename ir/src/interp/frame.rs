//! The frame of a warp: its slots as raw words.

use crate::types::Scalar;

/// Alignment of a frame in bytes, that of the widest vector compiled code uses.
const ALIGN_BYTES: usize = 64;

/// The slots of one warp, slot-major (`frame[slot][lane]`), laid out by [`crate::Function::frame_layout`].
///
/// The words start at a multiple of 64 bytes and stay where they are while the frame lives, also when it is moved.
#[derive(Debug)]
pub struct Frame {
    words: Vec<u32>,
    start: usize,
    len: usize,
}

impl Frame {
    /// A frame of `bytes` bytes (rounded up to words), all zero.
    pub fn new(bytes: usize) -> Frame {
        let len = bytes.div_ceil(4);
        let spare = ALIGN_BYTES / 4;
        let words = vec![0u32; len + spare];
        // `align_offset` may decline, on no host we know; the frame is then merely unaligned.
        let start = words.as_ptr().align_offset(ALIGN_BYTES).min(spare);
        Frame { words, start, len }
    }

    /// The words.
    #[inline]
    pub fn words(&self) -> &[u32] {
        &self.words[self.start..self.start + self.len]
    }

    /// The words.
    #[inline]
    pub fn words_mut(&mut self) -> &mut [u32] {
        &mut self.words[self.start..self.start + self.len]
    }

    /// Where compiled code finds the words. Valid until the frame is dropped.
    pub fn as_mut_ptr(&mut self) -> *mut u32 {
        self.words_mut().as_mut_ptr()
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        self.len * 4
    }

    /// Sets all words to zero.
    pub fn clear(&mut self) {
        self.words_mut().fill(0);
    }

    /// Bits of a lane of the slot at a byte offset; a truth value gives 0 or 1.
    pub fn read(&self, offset: u32, scalar: Scalar, lane: u32) -> u64 {
        let (word, lane) = (offset as usize / 4, lane as usize);
        let words = self.words();
        match scalar {
            Scalar::I1 => u64::from(words[word + lane] & 1),
            Scalar::I32 | Scalar::F32 => u64::from(words[word + lane]),
            Scalar::I64 | Scalar::F64 => {
                u64::from(words[word + 2 * lane]) | u64::from(words[word + 2 * lane + 1]) << 32
            }
        }
    }

    /// Writes a lane of the slot at a byte offset; a truth value is bit 0.
    pub fn write(&mut self, offset: u32, scalar: Scalar, lane: u32, bits: u64) {
        let (word, lane) = (offset as usize / 4, lane as usize);
        let words = self.words_mut();
        match scalar {
            Scalar::I1 => words[word + lane] = if bits & 1 != 0 { u32::MAX } else { 0 },
            Scalar::I32 | Scalar::F32 => words[word + lane] = bits as u32,
            Scalar::I64 | Scalar::F64 => {
                words[word + 2 * lane] = bits as u32;
                words[word + 2 * lane + 1] = (bits >> 32) as u32;
            }
        }
    }
}

impl Clone for Frame {
    fn clone(&self) -> Frame {
        let mut frame = Frame::new(self.bytes());
        frame.words_mut().copy_from_slice(self.words());
        frame
    }
}

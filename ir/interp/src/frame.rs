//! The frame of a warp: an array of words that holds its slots.

use crate::cache_line::CacheAligned;
use warpjit_ir_core::types::Scalar;

/// The slots of one warp, slot-major (`frame[slot][lane]`), laid out by [`warpjit_ir_core::Function::frame_layout`].
///
/// The words keep their address while the frame lives, even if it is moved. They may start at a cache line of the host
/// ([`Frame::aligned`]).
#[derive(Debug)]
pub struct Frame {
    words: CacheAligned<u32>,
    line_bytes: usize,
}

impl Frame {
    /// A frame of `bytes` bytes (rounded up to words), all zero.
    pub fn new(bytes: usize) -> Frame {
        Frame::aligned(bytes, size_of::<u32>())
    }

    /// The same; it starts at a multiple of `line_bytes`, a power of two.
    pub fn aligned(bytes: usize, line_bytes: usize) -> Frame {
        Frame { words: CacheAligned::new(bytes.div_ceil(4), 0, line_bytes), line_bytes }
    }

    /// The words.
    #[inline]
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The words.
    #[inline]
    pub fn words_mut(&mut self) -> &mut [u32] {
        &mut self.words
    }

    /// A pointer to the words, for compiled code. Valid until the frame is dropped.
    pub fn as_mut_ptr(&mut self) -> *mut u32 {
        self.words_mut().as_mut_ptr()
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        self.words.len() * 4
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
        let mut frame = Frame::aligned(self.bytes(), self.line_bytes);
        frame.words_mut().copy_from_slice(self.words());
        frame
    }
}

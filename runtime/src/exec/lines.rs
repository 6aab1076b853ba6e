//! Bytes that lie in lines of the host's cache as they should: a vector that lies in two of them costs two accesses.

use std::ops::{Deref, DerefMut};

/// Bytes of a line, which is also the widest vector.
pub const LINE_BYTES: usize = 64;

/// Bytes of which one starts a line.
///
/// They stay where they are while this lives, also when it is moved.
#[derive(Debug)]
pub struct Lines {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Lines {
    /// `len` bytes, all zero, of which number `first` starts a line, and each [`LINE_BYTES`] further on.
    pub fn new(len: usize, first: usize) -> Lines {
        let bytes = vec![0; len + 2 * LINE_BYTES];
        // `align_offset` may decline, on no host we know; then they lie anywhere.
        let line = bytes.as_ptr().align_offset(LINE_BYTES).min(LINE_BYTES);
        let start = line + (LINE_BYTES - first % LINE_BYTES) % LINE_BYTES;
        Lines { bytes, start, len }
    }
}

impl Deref for Lines {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }
}

impl DerefMut for Lines {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_that_should_starts_a_line() {
        for len in [0, 1, 64, 1000] {
            for first in [0, 1, 36, 63, 64, 100] {
                let mut lines = Lines::new(len, first);
                assert_eq!((lines.as_ptr() as usize + first) % LINE_BYTES, 0, "{len} {first}");
                assert_eq!(lines.len(), len);
                lines.fill(7);
                let moved = Some(lines);
                assert!(moved.is_some_and(|lines| lines.iter().all(|&byte| byte == 7)));
            }
        }
    }
}

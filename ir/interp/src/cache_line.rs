//! Arrays of which a chosen element starts a cache line of the host, because a vector that crosses two lines costs two accesses.
//! How long a line is, the caller says.

use std::ops::{Deref, DerefMut};

/// An array of which a chosen element starts a cache line. The size of an element and the bytes of a line are powers of two; an element is
/// at most a line.
///
/// The elements keep their address while this lives, even if it is moved.
#[derive(Debug)]
pub struct CacheAligned<T> {
    elements: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Copy + Default> CacheAligned<T> {
    /// `len` elements, all zero. Element number `first` starts a line of `line_bytes`.
    pub fn new(len: usize, first: usize, line_bytes: usize) -> CacheAligned<T> {
        let per_line = (line_bytes / size_of::<T>()).max(1);
        let elements = vec![T::default(); len + 2 * per_line];
        // `align_offset` may fail, though on no host we know. Then the alignment is arbitrary.
        let line = elements.as_ptr().align_offset(line_bytes).min(per_line);
        let start = line + (per_line - first % per_line) % per_line;
        CacheAligned { elements, start, len }
    }
}

impl<T> Deref for CacheAligned<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.elements[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for CacheAligned<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.elements[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_that_should_starts_a_line() {
        for len in [0, 1, 64, 1000] {
            for first in [0, 1, 36, 63, 64, 100] {
                let mut lines = CacheAligned::<u8>::new(len, first, 64);
                assert_eq!((lines.as_ptr() as usize + first) % 64, 0, "{len} {first}");
                assert_eq!(lines.len(), len);
                lines.fill(7);
                let moved = Some(lines);
                assert!(moved.is_some_and(|lines| lines.iter().all(|&byte| byte == 7)));
            }
        }
    }
}

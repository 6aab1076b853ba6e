//! Arrays of which a chosen element starts a cache line of the host, because a vector that crosses two lines costs two accesses.

use std::ops::{Deref, DerefMut};

/// Bytes of a cache line, and of the widest vector.
pub const LINE_BYTES: usize = 64;

/// An array of which a chosen element starts a cache line. The size of an element is a power of two, at most a line.
///
/// The elements keep their address while this lives, even if it is moved.
#[derive(Debug)]
pub struct Lines<T> {
    elements: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Copy + Default> Lines<T> {
    /// `len` elements, all zero. Element number `first` starts a line.
    pub fn new(len: usize, first: usize) -> Lines<T> {
        let per_line = LINE_BYTES / size_of::<T>();
        let elements = vec![T::default(); len + 2 * per_line];
        // `align_offset` may fail, though on no host we know. Then the alignment is arbitrary.
        let line = elements.as_ptr().align_offset(LINE_BYTES).min(per_line);
        let start = line + (per_line - first % per_line) % per_line;
        Lines { elements, start, len }
    }
}

impl<T> Deref for Lines<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.elements[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for Lines<T> {
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
                let mut lines = Lines::<u8>::new(len, first);
                assert_eq!((lines.as_ptr() as usize + first) % LINE_BYTES, 0, "{len} {first}");
                assert_eq!(lines.len(), len);
                lines.fill(7);
                let moved = Some(lines);
                assert!(moved.is_some_and(|lines| lines.iter().all(|&byte| byte == 7)));
            }
        }
    }
}

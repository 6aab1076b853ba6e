//! Static tables of 32-bit words that `lookup` reads.

/// A table of 32-bit words that a frontend provides; `lookup @NAME(index)` reads an entry of it.
///
/// The number of entries is a power of two and at least 16: an index is taken modulo it, so that no look-up leaves the
/// table, and 64 bytes may be read from every multiple of 64.
#[derive(Debug)]
pub struct WordTable {
    name: &'static str,
    words: &'static [u32],
}

impl WordTable {
    /// A table; the name is `isa.table`, unique among all frontends.
    ///
    /// # Panics
    /// If the number of words is not allowed. Tables are statics, so that is an error at compile time.
    pub const fn new(name: &'static str, words: &'static [u32]) -> WordTable {
        assert!(words.len().is_power_of_two() && words.len() >= 16 && words.len() <= 1 << 16);
        WordTable { name, words }
    }

    /// Name in the text format.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The entries.
    pub const fn words(&self) -> &'static [u32] {
        self.words
    }

    /// The mask applied to an index.
    pub const fn index_mask(&self) -> u32 {
        self.words.len() as u32 - 1
    }

    /// The entry at an index, taken modulo the length.
    pub fn entry(&self, index: u32) -> u32 {
        self.words[(index & self.index_mask()) as usize]
    }
}

impl PartialEq for WordTable {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for WordTable {}

impl std::hash::Hash for WordTable {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::WordTable;

    #[test]
    fn indices_are_modulo_the_length() {
        static WORDS: [u32; 16] = [7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 99];
        let table = WordTable::new("test.words", &WORDS);
        assert_eq!([0, 15, 16, 0x8000_000f, u32::MAX].map(|i| table.entry(i)), [7, 99, 7, 99, 99]);
    }
}

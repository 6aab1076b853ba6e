//! Random instruction words within programs that are otherwise text, and the shortening of such a program when it fails.

/// An instruction word whose free bits are random.
#[derive(Clone, Copy, Debug)]
pub struct Encoding {
    /// The word.
    pub word: u64,
    free: u64,
}

impl Encoding {
    /// The instruction of `value` in the bits of `mask`, `noise` in all others.
    pub fn new(value: u64, mask: u64, noise: u64) -> Encoding {
        Encoding { word: value | noise & !mask, free: !mask }
    }

    /// Sets a field: those of its bits that are free. `bits` is the field's greatest value.
    pub fn set(&mut self, bits: u64, shift: u32, value: u64) {
        let mask = bits << shift & self.free;
        self.word = self.word & !mask | value << shift & mask;
    }
}

/// Puts words of 8 bytes into assembled code, each for the line of its number; `bytes_at` tells the length of what lies at a place.
pub fn put_words(
    code: &mut [u8],
    lines: &[String],
    words: &[(usize, u64)],
    bytes_at: impl Fn(&[u8], usize) -> usize,
) {
    let mut at = 0;
    let mut words = words.iter().peekable();
    for (number, line) in lines.iter().enumerate() {
        if line.ends_with(':') {
            continue;
        }
        at += match words.next_if(|(line, _)| *line == number) {
            Some((_, word)) => {
                code[at..at + 8].copy_from_slice(&word.to_le_bytes());
                8
            }
            None => bytes_at(code, at),
        };
    }
}

/// Code of 8 bytes an instruction with as many as possible replaced by `nop`, so that it still fails: easier to look at.
pub fn reduced(code: &[u8], nop: u64, mut fails: impl FnMut(usize, &[u8]) -> bool) -> Vec<u8> {
    let mut best = code.to_vec();
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..best.len() - 7).step_by(8) {
            let mut fewer = best.clone();
            fewer[at..at + 8].copy_from_slice(&nop.to_le_bytes());
            if fewer != best && fails(at, &fewer) {
                best = fewer;
                changed = true;
            }
        }
    }
    best
}

/// Place and contents of the first word that two memories have different.
pub fn differing_word(a: &[u8], b: &[u8]) -> Option<(usize, u32, u32)> {
    let at = (0..a.len()).find(|&n| a[n] != b[n])? & !3;
    let word = |data: &[u8]| data[at..][..4].iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
    Some((at, word(a), word(b)))
}

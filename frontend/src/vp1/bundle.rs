//! Finds bundles: which consecutive words execute together.

use super::Unit;

/// Length in words of the bundle that begins at word address `pc`; `word` gives the words of the code, `None` behind its
/// end. 0 where there is no word at all.
///
/// A bundle is the longest run that does not cross a border of four words and whose units come in the order address,
/// scalar, vector, branch, each at most once (docs/hardware/vp1.md section 1).
pub fn bundle_len(pc: u32, word: impl Fn(u32) -> Option<u32>) -> u32 {
    let mut last = None;
    let mut len = 0;
    while len == 0 || pc.wrapping_add(len) & 3 != 0 {
        let Some(word) = word(pc.wrapping_add(len)) else { break };
        let unit = Unit::of(word);
        if last.is_some_and(|last| unit <= last) {
            break;
        }
        last = Some(unit);
        len += 1;
    }
    len
}

/// The bundles of a whole code as (index of the first word, words); the code's first word has the word address `base`.
pub fn bundles(words: &[u32], base: u32) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        let word = |pc: u32| words.get(pc.wrapping_sub(base) as usize).copied();
        let len = bundle_len(base.wrapping_add(start as u32), word) as usize;
        at += len;
        (len != 0).then_some((start, len))
    })
}

//! Parses a listing: address, words and text of each instruction.

/// An instruction of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedLine {
    /// Guest address in bytes.
    pub pc: u64,
    /// Its words, as the listing shows them.
    pub words: String,
    /// The instruction.
    pub text: String,
}

/// Takes a listing apart (`ADDRESS: WORDS  MARKS TEXT`, the addresses in units of `unit` bytes). Lines of another form are left out.
pub fn parse_listing(listing: &str, unit: u32) -> Vec<ListedLine> {
    listing.lines().filter_map(|line| parse_line(line, unit)).collect()
}

fn parse_line(line: &str, unit: u32) -> Option<ListedLine> {
    let (address, rest) = line.split_once(": ")?;
    let pc = u64::from_str_radix(address, 16).ok()?.checked_mul(unit.into())?;
    // Words stand one space apart.
    let is_word = |word: &str| matches!(word.len(), 2..=8) && word.bytes().all(|b| b.is_ascii_hexdigit());
    let mut end = 0;
    for word in rest.split(' ') {
        if !is_word(word) {
            break;
        }
        end += word.len() + 1;
    }
    let (words, text) = rest.split_at_checked(end.min(rest.len()))?;
    // Marks of where branches and calls go.
    let text = text.trim_start();
    let text = ["CB ", "C ", "B "].iter().find_map(|mark| text.strip_prefix(mark)).unwrap_or(text);
    Some(ListedLine { pc, words: words.trim_end().to_owned(), text: text.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_of_all_instruction_sets_are_taken_apart() {
        let text = "
000000d0: c0060c25 00000780   B mul rn f32 $r9 $r6 $r6
000000d8: 30000003          C   add b32 $r1 $r2
0000182c: 860dff0c 0000ffff     s_and_b32 s13, s12, 0xffff
// a heading
00000003: 69438a3b - max $r8 $c3 $r14 0x147
";
        let parsed = parse_listing(text, 1);
        let line = |pc, words: &str, text: &str| ListedLine { pc, words: words.into(), text: text.into() };
        assert_eq!(
            parsed,
            [
                line(0xd0, "c0060c25 00000780", "mul rn f32 $r9 $r6 $r6"),
                line(0xd8, "30000003", "add b32 $r1 $r2"),
                line(0x182c, "860dff0c 0000ffff", "s_and_b32 s13, s12, 0xffff"),
                line(3, "69438a3b", "- max $r8 $c3 $r14 0x147"),
            ]
        );
        assert_eq!(parse_listing("00000003: 69438a3b - exit", 4)[0].pc, 12);
    }
}

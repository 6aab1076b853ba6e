//! Mutates the bytes of valid input.

use warpjit_tests::random::rng::SplitMix;

/// Numbers at borders.
const EDGES: [u64; 14] = [
    0,
    1,
    2,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
    0x1_0000_0000,
    i64::MAX as u64,
    u64::MAX,
];

/// Changes some bytes in one to four places.
pub fn bytes(data: &mut Vec<u8>, random: &mut SplitMix) {
    for _ in 0..1 + random.below(4) {
        if data.is_empty() {
            return;
        }
        let at = random.below(data.len() as u64) as usize;
        match random.below(10) {
            0 | 1 => data[at] ^= 1 << random.below(8),
            2 => data[at] = random.bits() as u8,
            3..=6 => {
                // A number of some width, where such numbers are.
                let width = random.pick(&[1usize, 2, 4, 4, 8]);
                let at = at & !(width - 1);
                let end = (at + width).min(data.len());
                let old = data[at..end].iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
                let new = match random.below(4) {
                    0 => random.pick(&EDGES),
                    1 => old.wrapping_add(random.below(17)).wrapping_sub(8),
                    2 => old << random.below(12),
                    _ => old ^ 1 << random.below(8 * width as u64),
                };
                data[at..end].copy_from_slice(&new.to_le_bytes()[..end - at]);
            }
            7 => data.truncate(at),
            8 => {
                // A part once more, elsewhere.
                let bytes = (1 + random.below(64) as usize).min(data.len() - at);
                let part = data[at..at + bytes].to_vec();
                let to = random.below(data.len() as u64) as usize;
                let end = (to + bytes).min(data.len());
                data[to..end].copy_from_slice(&part[..end - to]);
            }
            _ => {
                let bytes = (1 + random.below(16) as usize).min(data.len() - at);
                drop(data.drain(at..at + bytes));
            }
        }
    }
}

/// Changes lines of a text: numbers, words, whole lines.
pub fn text(text: &str, random: &mut SplitMix) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..1 + random.below(3) {
        if lines.is_empty() {
            break;
        }
        let at = random.below(lines.len() as u64) as usize;
        match random.below(8) {
            0 => drop(lines.remove(at)),
            1 => {
                let line = lines[at].clone();
                let to = random.below(lines.len() as u64) as usize;
                lines.insert(to, line);
            }
            2 => {
                let other = random.below(lines.len() as u64) as usize;
                lines.swap(at, other);
            }
            3 => {
                let mut line = lines[at].clone().into_bytes();
                bytes(&mut line, random);
                lines[at] = String::from_utf8_lossy(&line).into_owned();
            }
            _ => lines[at] = numbers(&lines[at], random),
        }
    }
    lines.join("\n") + "\n"
}

/// A line with one of its numbers changed.
fn numbers(line: &str, random: &mut SplitMix) -> String {
    let starts: Vec<usize> = (0..line.len())
        .filter(|&at| {
            let bytes = line.as_bytes();
            bytes[at].is_ascii_digit() && (at == 0 || !bytes[at - 1].is_ascii_alphanumeric())
        })
        .collect();
    if starts.is_empty() {
        return line.to_owned();
    }
    let start = random.pick(&starts);
    let end = line[start..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(line.len(), |n| start + n);
    let new = match random.below(6) {
        0 => "-1".into(),
        1 => "1.5".into(),
        2 => format!("\"{}\"", &line[start..end]),
        3 => random.below(300).to_string(),
        _ => random.pick(&EDGES[..13]).to_string(),
    };
    format!("{}{new}{}", &line[..start], &line[end..])
}

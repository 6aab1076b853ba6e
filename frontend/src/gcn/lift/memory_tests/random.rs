//! Lifts random words of the memory formats. Whatever decodes must lift to well-formed IR, and must run or fault.

use super::*;

/// The fixed bits of the formats' first dword: of all generations, of the old and of the new ones.
const FORMATS: [(u32, u32); 8] = [
    (0xd800_0000, 0xfc00_0000), // DS
    (0xdc00_0000, 0xfc00_0000), // FLAT
    (0xe000_0000, 0xfc00_0000), // MUBUF
    (0xe800_0000, 0xfc00_0000), // MTBUF
    (0xf000_0000, 0xfc00_0000), // MIMG
    (0xc000_0000, 0xf800_0000), // SMRD
    (0xc000_0000, 0xfc00_0000), // SMEM
    (0xd800_0000, 0xfffe_0000), // DS of few operations
];

#[test]
fn whatever_decodes_lifts() {
    let mut random = Random(60);
    let mut decoded = 0;
    for round in 0..6000 {
        let generation = Generation::ALL[round % 4];
        let (bits, mask) = FORMATS[round / 4 % FORMATS.len()];
        let word = random.next() & !mask | bits;
        let bytes: Vec<u8> = [word, random.next()].iter().flat_map(|w| w.to_le_bytes()).collect();
        let Ok(inst) = crate::gcn::decode(&bytes, 0, generation) else { continue };
        decoded += 1;
        let mut m = Machine::new(generation, &mut random);
        m.apertures = random.below(2) == 0;
        for n in 0..104 {
            // Some pairs are addresses, some resources that are valid.
            let value = match (n % 4, random.below(3)) {
                (_, 0) => random.next(),
                (0, _) => BASE as u32,
                (1, _) => (BASE >> 32) as u32,
                (2, _) => 0x100,
                _ => 10 << 15 | 0xfac,
            };
            m.set(format!("s{n}"), value);
        }
        let _ = m.try_run(&[inst]);
    }
    assert!(decoded > 1500, "{decoded}");
}

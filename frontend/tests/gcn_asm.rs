//! Tests the GCN assembler on the corpus's sources and objects, and on random words of every format.

mod common;
mod gcn_words;

use common::Random;
use common::corpus::{packed, unpacked};
use gcn_words::{FORMATS, opcodes, word};
use object::{Object, ObjectSection, ObjectSymbol, SymbolFlags};
use warpjit_frontend::gcn::{
    Chip, Format, Generation, Op, Operand, Type, assemble, decode, disasm, encode, listing,
};

/// The code of each function of a code object. Kernels of version 2 and Mesa objects (symbol type 10) have a header
/// of 256 bytes before the code.
fn functions(bytes: &[u8]) -> Vec<Vec<u8>> {
    let file = object::File::parse(bytes).unwrap();
    let section = file.section_by_name(".text").unwrap();
    let text = section.data().unwrap();
    let mut functions = Vec::new();
    for symbol in file.dynamic_symbols().chain(file.symbols()) {
        let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { continue };
        let skip = match st_info.0 & 15 {
            10 => 256,
            2 => 0,
            _ => continue,
        };
        let from = (symbol.address() - section.address()) as usize;
        functions.push(text[from + skip..from + symbol.size() as usize].to_vec());
    }
    functions.sort();
    functions.dedup();
    assert!(!functions.is_empty());
    functions
}

#[test]
fn code_objects_of_the_corpus_go_to_text_and_back() {
    let (mut objects, mut count, mut literals, mut unused) = (0, 0, 0, 0);
    for (folder, files) in packed("gcn-asm").into_iter().chain(unpacked("gcn")) {
        for (name, bytes) in files.iter().filter(|(name, _)| name.ends_with(".co")) {
            let place = format!("{folder}/{name}");
            let generation = Chip::parse(name.split('.').next().unwrap()).unwrap();
            objects += 1;
            for code in functions(bytes) {
                let unused_before = unused;
                for line in disasm(&code, 0, generation) {
                    let inst = line.inst.unwrap_or_else(|error| panic!("{place}: {error}"));
                    let (raw, len) = encode(&inst).unwrap_or_else(|| panic!("{place}: {inst}"));
                    if (raw, len) != (line.raw, line.len) {
                        // LLVM writes the offset register of 1.4's scalar loads twice, also where the hardware does not look.
                        let is_scalar_load = inst.to_string().starts_with("s_load_");
                        assert!(is_scalar_load, "{place}: {line}: {raw:#x}");
                        let words = raw.to_le_bytes();
                        let ours = disasm(&words[..usize::from(len)], 0, generation);
                        let ours = ours[0].inst.as_ref().map(|ours| ours.to_string());
                        assert_eq!(ours.ok(), Some(inst.to_string()), "{place}: {line}");
                        unused += 1;
                        continue;
                    }
                    let again = assemble(&inst.to_string(), generation);
                    let again = again.unwrap_or_else(|error| panic!("{place}: {inst}: {error}"));
                    if again.code != line.raw.to_le_bytes()[..usize::from(line.len)] {
                        // Literals that an inline constant could say, and patterns that move the lanes alike.
                        let other = inst.literal.is_some() || inst.op == Op::DS_SWIZZLE_B32;
                        assert!(other, "{place}: {line}: {again:02x?}");
                        literals += 1;
                    }
                    count += 1;
                }
                let again = assemble(&listing(&code, 0x100, generation), generation).unwrap().code;
                assert!(again == code || unused > unused_before, "{place}");
            }
        }
    }
    eprintln!("{objects} objects, {count} instructions, {literals} with literals that have a shorter form");
    assert_eq!(objects, 257);
    assert!(literals * 100 <= count && unused * 1000 <= count, "{unused} with unused bits");
}

#[test]
fn sources_of_the_corpus_assemble_to_its_objects() {
    let (mut count, mut wrong) = (0, String::new());
    for (folder, files) in packed("gcn-asm") {
        for (name, text) in &files {
            let Some(stem) = name.strip_suffix(".s") else { continue };
            let place = format!("{folder}/{name}");
            let generation = Chip::parse(name.split('.').next().unwrap()).unwrap();
            // A source of raw code stands beside `NAME.bin` as `NAME.bin.s`, one of an object as `NAME.s`.
            let wanted = if stem.ends_with(".bin") {
                files[stem].clone()
            } else {
                let file = object::File::parse(&*files[&format!("{stem}.co")]).unwrap();
                file.section_by_name(".text").unwrap().data().unwrap().to_vec()
            };
            count += 1;
            match assemble(std::str::from_utf8(text).unwrap(), generation) {
                Err(errors) => wrong += &format!("{place}: {}\n", errors.to_string().lines().next().unwrap()),
                Ok(assembly)
                    if assembly.code.len() > wanted.len()
                        || assembly.code != wanted[..assembly.code.len()] =>
                {
                    let at = assembly.code.iter().zip(&wanted).position(|(a, b)| a != b).unwrap_or(0) & !3;
                    let show = |code: &[u8]| format!("{:02x?}", &code[at..(at + 8).min(code.len())]);
                    wrong += &format!("{place}: at {at:#x}: {} {}\n", show(&assembly.code), show(&wanted));
                }
                // What follows is padding.
                Ok(assembly) if wanted.len() - assembly.code.len() > 256 => {
                    wrong += &format!("{place}: too short\n");
                }
                Ok(_) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(count, 230);
}

#[test]
fn labels_data_and_directives() {
    let text = "
        .globl start /* a comment
        that goes on */
start:  s_mov_b32 s0, 0x12345678 ; a literal
        s_getpc_b64 s[2:3]
after:  s_add_u32 s2, s2, table-after
        s_cbranch_scc1 start
loop:   s_branch loop // for ever
        s_call_b64 s[4:5], end
        .p2align 4
table:  .long 1, table, -1
        .short 0x1234
        .byte 5, 6
        .section .rodata
        .ascii \"not code\"
        .text
end:    s_endpgm
";
    let assembly = assemble(text, Generation::Gfx9).unwrap();
    let words: Vec<u32> =
        assembly.code.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    assert_eq!(
        words,
        [
            0xbe8000ff, 0x12345678, 0xbe821c00, 0x8002ff02, 0x00000014, 0xbf85fffa, 0xbf82ffff, 0xba840004,
            1, 0x20, 0xffffffff, 0x06051234, 0xbf810000
        ]
    );
    assert_eq!(assembly.labels["table"], 0x20);
}

#[test]
fn errors_say_where_and_why() {
    let cases = [
        ("v_frobnicate v0", "1:1: there is no `v_frobnicate`"),
        ("s_nop 0\n  v_add_f16 v0, v1, v2", "2:3: tahiti has no `v_add_f16`; fiji has"),
        ("s_mov_b64 s[0:1], s2", "1:19: `s2` does not fit here"),
        ("v_mov_b32 v0, v1, v2", "1:19: 2 operands, not 3"),
        ("s_branch nowhere", "1:1: there is no label `nowhere`"),
        ("s_mov_b32 s0, nonsense", "1:1: there is no label `nonsense`"),
        ("v_add_f32 v0, v1, v2 glc", "1:22: `glc` means nothing here"),
        (".frob 1", "1:1: there is no directive `.frob`"),
        ("a: s_nop 0\na: s_nop 1", "2:1: `a` is there already"),
        ("s_load_dword s0, s[2:3], 0x100", "1:1: no encoding says this"),
    ];
    for (text, wanted) in cases {
        assert_eq!(assemble(text, Generation::Gfx6).unwrap_err().to_string(), wanted, "{text}");
    }
}

/// True where LLVM's text does not say all that the bits do.
fn text_is_short(inst: &warpjit_frontend::gcn::Inst) -> bool {
    let literal = inst.literal.is_some();
    // A float constant of a 16-bit integer operand is shown as its bits.
    let narrow = |ty: Type| matches!(ty, Type::B16 | Type::U16 | Type::I16 | Type::Pk16);
    let bits = inst.srcs().iter().any(|src| matches!(src.operand, Operand::Float(_)) && narrow(src.ty));
    // simm16 has bits that the names of its parts do not cover.
    let simm = inst.format == Format::Sopp;
    // Without a long form of the name the short one is taken.
    let nameless = inst.format == Format::Vop3 && inst.srcs().is_empty();
    // `op_sel_hi` of a third source that is not there.
    let third = inst.format == Format::Vop3p && inst.srcs().len() == 2;
    // Several patterns move the lanes alike.
    let swizzle = inst.op == Op::DS_SWIZZLE_B32;
    literal || bits || simm || nameless || third || swizzle
}

#[test]
fn text_of_random_words_assembles_to_the_same_words() {
    let count = std::env::var("GCN_WORDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1000);
    let mut random = Random::new(21);
    let (mut tried, mut exact) = (0u32, 0u32);
    let mut wrong = std::collections::BTreeMap::new();
    for chip in Chip::kinds() {
        let generation = chip.generation();
        for format in FORMATS {
            let codes = opcodes(format, generation);
            for _ in 0..count {
                let Some(word) = word(format, generation, &codes, &mut random) else { continue };
                let Ok(inst) = decode(&word.to_le_bytes(), 0, chip) else { continue };
                // Without the bits that mean nothing.
                let (canonical, len) = encode(&inst).unwrap_or_else(|| panic!("{chip} {word:016x} {inst}"));
                assert_eq!(len, inst.len);
                let again = decode(&canonical.to_le_bytes(), 0, chip).unwrap();
                assert_eq!(again.to_string(), inst.to_string());
                tried += 1;
                let text = inst.to_string();
                let name = format!("{chip} {format:?} {}", text.split(' ').next().unwrap());
                let back = match assemble(&text, chip) {
                    Ok(assembly) => assembly.code,
                    Err(error) => {
                        wrong.entry(name).or_insert(format!("{canonical:016x} `{text}`: {error}"));
                        continue;
                    }
                };
                let bytes = &canonical.to_le_bytes()[..usize::from(len)];
                if back == bytes {
                    exact += 1;
                } else if !text_is_short(&inst) {
                    wrong.entry(name).or_insert(format!("{canonical:016x} `{text}`: {back:02x?}"));
                }
                // The text says at least what it says.
                let other = decode(&back, 0, chip).unwrap();
                let swizzle = inst.op == Op::DS_SWIZZLE_B32;
                // The text of a 16-bit operand does not show the high half of its literal.
                let wide = inst.literal.is_some_and(|literal| literal >> 16 != 0);
                if other.to_string() != text && !swizzle && !wide {
                    let name = format!("{chip} {format:?} text {}", text.split(' ').next().unwrap());
                    wrong.entry(name).or_insert(format!("{canonical:016x} `{text}` became `{other}`"));
                }
            }
        }
    }
    eprintln!("{tried} words, {exact} the same");
    let report: String = wrong.iter().map(|(name, text)| format!("{name}: {text}\n")).collect();
    assert!(wrong.is_empty(), "{} kinds\n{report}", wrong.len());
    assert!(f64::from(exact) > 0.9 * f64::from(tried));
}

#[test]
fn listings_of_noise_assemble_to_the_same_noise() {
    let mut random = Random::new(22);
    for generation in Generation::ALL {
        let code: Vec<u8> = (0..3000).flat_map(|_| (random.next() as u32).to_le_bytes()).collect();
        for len in (0..40).chain([code.len() - 3, code.len()]) {
            let text = listing(&code[..len], 0x100, generation);
            let assembly = assemble(&text, generation).unwrap();
            assert!(assembly.code == code[..len], "{generation} {len}");
        }
    }
}

#[test]
fn broken_text_is_an_error_and_no_panic() {
    let mut random = Random::new(23);
    let pieces = [
        "[",
        "]",
        "(",
        ")",
        "|",
        "-",
        "neg(",
        "sext(",
        ":",
        ",",
        " ",
        "0x",
        "99999999999999999999",
        "s[",
        "v255",
        "off",
        "vcc",
        "\"",
        "é",
        ".long",
        "+",
        "lit",
        "offset:",
        "op_sel:[1,1,1,1,1]",
        "swizzle(",
        "hwreg(",
        "1.5",
        "1e999",
        "glc",
    ];
    for chip in Chip::kinds() {
        let generation = chip.generation();
        for format in FORMATS {
            let codes = opcodes(format, generation);
            for _ in 0..300 {
                let Some(word) = word(format, generation, &codes, &mut random) else { continue };
                let Ok(inst) = decode(&word.to_le_bytes(), 0, chip) else { continue };
                let mut text: Vec<char> = inst.to_string().chars().collect();
                for _ in 0..1 + random.next() % 3 {
                    let at = random.next() as usize % (text.len() + 1);
                    let to = (at + random.next() as usize % 4).min(text.len());
                    let piece = pieces[random.next() as usize % pieces.len()];
                    text.splice(at..to, piece.chars());
                }
                let text: String = text.into_iter().collect();
                // What assembles is an instruction, or data.
                if let Ok(assembly) = assemble(&text, chip) {
                    assert!(assembly.code.len() <= 64, "{text}");
                }
            }
        }
    }
}

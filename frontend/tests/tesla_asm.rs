//! Tests Tesla's assembler: choice of encodings, labels, directives, error messages.

mod common;

use warpjit_frontend::tesla::{Chip, Stage, Target, assemble};

const G200: Target = Target::compute(Chip::G200);

fn words(text: &str) -> Vec<u32> {
    let code = assemble(text, G200).unwrap_or_else(|errors| panic!("{text}\n{errors}")).code;
    code.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn short_forms_come_in_pairs() {
    assert_eq!(words("mov b32 $r1 $r2"), [0x10008404]);
    assert_eq!(words("long mov b32 $r1 $r2"), [0x10000405, 0x0403c780]);
    // The first one would leave `bra` at an odd word.
    assert_eq!(words("mov b32 $r1 $r2\nbra 0x0"), [0x10000405, 0x0403c780, 0x10000003, 0x00000780]);
    assert_eq!(
        words("mov b32 $r1 $r2\nmov b32 $r2 $r1\nl:\nbra #l"),
        [0x10008404, 0x10008208, 0x10001003, 0x00000780]
    );
    // Of three the last grows, and moves the label behind it.
    assert_eq!(
        words("mov b32 $r1 $r2\nmov b32 $r2 $r1\nmov b32 $r1 $r2\nl:\nbra #l"),
        [0x10008404, 0x10008208, 0x10000405, 0x0403c780, 0x10002003, 0x00000780]
    );
}

#[test]
fn labels_directives_and_comments() {
    let text = "
        ; a comment
        start: // another one
            mov b32 $r1 #data   /* within a line */
            bra #start ; behind an instruction
        .align 16
        data: .u32 0x11223344 -1
        .u16 0x5566 0x7788
        .u8 1 2 3 4
        .u64 0xffffffffffffffff
    ";
    let assembly = assemble(text, G200).unwrap();
    assert_eq!(assembly.labels["start"], 0);
    assert_eq!(assembly.labels["data"], 16);
    assert_eq!(
        words(text),
        [
            0x10108005, 0x00000003, 0x10000003, 0x00000780, 0x11223344, 0xffffffff, 0x77885566, 0x04030201,
            0xffffffff, 0xffffffff
        ]
    );
}

#[test]
fn listing_lines() {
    // The words count: here they have bits that the text does not show.
    assert_eq!(
        words("00000000: f0000001 e0001782     join nop [unknown: 00000000 00001000]"),
        [0xf0000001, 0xe0001782]
    );
    assert_eq!(words("join nop [unknown: 00000000 00001000]"), [0xf0000001, 0xe0001782]);
    assert_eq!(words("00000000: ffffffff ffffffff     ??"), [0xffffffff, 0xffffffff]);
    let assembly = assemble("00000100: 10008404              mov b32 $r1 $r2", G200).unwrap();
    assert_eq!((assembly.base, assembly.code.len()), (0x100, 4));
}

#[test]
fn mistakes() {
    let cases = [
        ("mov b32 $r1 $r200", 1, 13, "unexpected `$r200`, wanted"),
        ("\n  frob $r1", 2, 3, "unknown instruction `frob`"),
        ("mov b32 $r1", 1, 12, "unexpected the end of the line"),
        ("mov b32 $r1 $r2 $r3", 1, 17, "unexpected `$r3`, wanted the end of the line"),
        ("mov b32 $r1 s[0x3", 1, 13, "`[` without `]`"),
        ("mov b32 $r1 s[$a9x]", 1, 13, "`s[$a9x]` is no memory operand"),
        ("mov b32 $r1 b32 s[0x3]", 1, 17, "unexpected `s[]` operand, wanted"),
        ("mov b32 $rx $r2", 1, 9, "`$rx` is no operand"),
        ("bra #nowhere", 1, 5, "no label `nowhere`"),
        ("bra 0x2", 1, 5, "unexpected `0x2`, wanted a label or a code address (a multiple of 4)"),
        ("l:\nl: nop", 2, 1, "label `l` stands twice"),
        ("1x: nop", 1, 1, "`1x` cannot be a label"),
        ("long", 1, 1, "`long` needs an instruction"),
        ("bar inc wait 0x10 0xfff", 1, 14, "unexpected `0x10`, wanted a number up to 0xf"),
        ("texfetch all $r0:$r1:$r2:$r3 $t0 $s0 $r0:$r2", 1, 38, "unexpected register vector"),
        ("fma rn f64 $r0d $r2d $r4d $r6", 1, 27, "unexpected `$r6`, wanted a register pair ($r0d)"),
        (".u8 256", 1, 5, "0x100 does not fit into 1 bytes"),
        (".u32 zwei", 1, 6, "`zwei` is no number"),
        (".quad 1", 1, 1, "unknown directive `.quad`"),
        (".align 3", 1, 1, "`.align` needs one power of two up to 4096"),
        (".u32 0\nbra 0x0", 2, 1, "a long instruction must stand at a multiple of 8"),
        ("nop [unknown: xyz]", 1, 5, "`[unknown: ]` wants one or two words in hexadecimal"),
        ("00000000: 10008404              mov b32 $r1 $r3", 1, 33, "the words mean `mov b32 $r1 $r2`"),
        (
            "00000000: 10008404   mov b32 $r1 $r2\n00000008: 10008404   mov b32 $r1 $r2",
            2,
            1,
            "the line before ends at 0x4",
        ),
        ("preret #l\nl:", 1, 1, "g200 has no such instruction; these have: gt215 gt216 gt218"),
        ("emit", 1, 1, "compute programs have no such instruction; these have: geometry"),
        ("emit $r0é", 1, 6, "`$r0é` is no operand"),
    ];
    for (text, line, column, reason) in cases {
        let errors = assemble(text, G200).expect_err(text).0;
        let first = &errors[0];
        assert_eq!((first.line, first.column), (line, column), "{text}: {}", first.reason);
        assert!(first.reason.starts_with(reason), "{text}: {}", first.reason);
    }
    // Every line that is wrong is named.
    let errors = assemble("frob\nnop\nfrob", G200).unwrap_err();
    assert_eq!(errors.to_string(), "1:1: unknown instruction `frob`\n3:1: unknown instruction `frob`");
    // What a chip lacks, others have.
    let errors = assemble("vote any $c0", Target::compute(Chip::G80)).unwrap_err().to_string();
    assert_eq!(errors, "1:1: g80 has no such instruction; these have: g200 mcp77 mcp79 gt215 gt216 gt218");
    let target = Target { chip: Chip::G80, stage: Stage::Fragment };
    let errors = assemble("st b32 g0[$r1] $r2", target).unwrap_err().to_string();
    assert_eq!(errors, "1:1: fragment programs have no such instruction; these have: compute");
}

#[test]
fn mutated_sources_do_no_harm() {
    common::mutate_sources(
        "tests/corpus/tesla",
        &["matmul_tiled/source.txt", "f64_mix/disasm.txt", "gfx_fp_tex_modulate/disasm_gt215.txt"],
        "()[]{}:;/*#$+-.,0x9afrslg \n\tBé∞",
        150,
        |text| assemble(text, G200),
        |_| {},
    );
}

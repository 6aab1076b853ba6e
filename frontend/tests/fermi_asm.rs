//! Tests Fermi's assembler: relative targets, choice of encodings, error messages.

mod common;

use warpjit_frontend::fermi::{Chip, Operand, assemble, decode, listing};

fn words(text: &str) -> Vec<u32> {
    let code = assemble(text, Chip::Gf100).unwrap_or_else(|errors| panic!("{text}\n{errors}")).code;
    code.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn targets_are_relative_to_the_next_instruction() {
    // A forward and a backward branch, by label and by address: docs/hardware/fermi.md section 4.
    let loop_ = "start: long nop\nlong bra #end\nlong bra #start\nend: long exit";
    let by_address = "long nop\nlong bra 0x18\nlong bra 0x0\nlong exit";
    assert_eq!(words(loop_), words(by_address));
    assert_eq!(words(loop_)[2..6], [0x20001de7, 0x40000000, 0xa0001de7, 0x4003ffff]);
    let code = assemble(loop_, Chip::Gf100).unwrap().code;
    assert_eq!(decode(&code, 16, Chip::Gf100).unwrap().target_pc(), Some(0));
    // Absolute ones are not, and a label may be an immediate.
    assert_eq!(words("long nop\nl: long call abs #l")[2..], [0x20000007, 0x10000000]);
    assert_eq!(words("nop\nnop\nl: long mov b32 $r1 #l")[2..], [0x20005de2, 0x18000000]);
    // A short branch counts words from its own end.
    let code = assemble("nop\nl: bra #l", Chip::Gf100).unwrap().code;
    let inst = decode(&code, 4, Chip::Gf100).unwrap();
    assert_eq!((inst.len, inst.target_pc()), (4, Some(4)));
    // `bra $r1 base`: the base is an immediate, relative in the word.
    let code = assemble("long nop\nlong bra $r1 0x40", Chip::Gf100).unwrap().code;
    let inst = decode(&code, 8, Chip::Gf100).unwrap();
    assert_eq!(inst.src(1).unwrap().operand, Operand::Imm(0x40));
    assert_eq!(inst.raw >> 26 & 0xff_ffff, 0x30);
}

#[test]
fn immediates_take_the_first_form_that_holds_them() {
    // 32 bits where there is such a form, else 20.
    assert_eq!(words("long add b32 $r1 $r2 -0x1"), [0xfc205c02, 0x0bffffff]);
    assert_eq!(words("long set $p0 0x1 lt s32 $r1 -0x1"), [0xfc11dc23, 0x188effff]);
    assert_eq!(words("long set b32 $r0 lt f32 $r1 0x3f800000"), [0x00101c00, 0x108ecfe0]);
    assert_eq!(words("long add rn f64 $r0d $r2d -0x4010000000000000"), [0x00201c01, 0x4800effc]);
}

#[test]
fn short_forms_come_in_pairs() {
    assert_eq!(words("mov b32 $r1 $r2\nlong exit").len(), 4);
    assert_eq!(words("mov b32 $r1 $r2\nmov b32 $r2 $r1\nlong exit").len(), 4);
    assert_eq!(words("long mov b32 $r1 $r2"), [0x08005de4, 0x28000000]);
}

#[test]
fn listing_lines() {
    assert_eq!(words("00000000: 00001de7 80000000     exit"), [0x00001de7, 0x80000000]);
    assert_eq!(words("00000000: fffffff7 ffffffff     ??"), [0xfffffff7, 0xffffffff]);
    let assembly = assemble("00000100: 00001de7 80000000     exit", Chip::Gf100).unwrap();
    assert_eq!((assembly.base, assembly.code.len()), (0x100, 8));
    // Targets are relative to where the line says it is.
    let text = "00000100: 00001de7 80000000     exit\nlong bra 0x100";
    assert_eq!(words(text)[2..], [0xc0001de7, 0x4003ffff]);
}

#[test]
fn mistakes() {
    let cases = [
        ("mov b32 $r1 $r64", 1, 13, "unexpected `$r64`"),
        ("\n  frob $r1", 2, 3, "unknown instruction `frob`"),
        ("mov b32 $r1", 1, 12, "unexpected the end of the line"),
        ("ld b32 $r1 ca g[$r1q]", 1, 15, "unexpected `g[]` operand, wanted g[$r0+..] from -0x80000000"),
        ("ld b32 $r1 s[$r2", 1, 12, "`[` without `]`"),
        ("long add b32 $r1 $r2 c32[0x0]", 1, 22, "unexpected `c32[]` operand"),
        ("long add b32 $r1 $r2 c0[0x2]", 1, 22, "unexpected `c0[]` operand"),
        ("long add b32 $r1 $r2 0x1ffffffff", 1, 22, "unexpected `0x1ffffffff`"),
        ("bra #nowhere", 1, 5, "no label `nowhere`"),
        ("long bra 0x2000000", 1, 10, "0x2000000 does not fit"),
        ("bra 0x40000", 1, 5, "0x40000 does not fit"),
        ("add b32 $r1 $r2 $p8", 1, 17, "unexpected `$p8`"),
        ("set $p7 0x1 lt s32 $r1 $r2", 1, 1, ""),
        (".u32 0\nlong exit", 2, 6, "a long instruction must stand at a multiple of 8"),
        ("00000000: 00001de7 80000000     ret", 1, 33, "the words mean `exit`"),
        (
            "shfl idx 0x1 $r0 $r1 $r2 $r3",
            1,
            1,
            "gf100 has no such instruction; these have: gk104 gk107 gk106",
        ),
        ("long sched 0x0 0x0 0x0 0x0 0x0 0x0 0x0", 1, 6, "gf100 has no such instruction"),
        ("ld b32 $rx s[0x0]", 1, 8, "`$rx` is no operand"),
    ];
    for (text, line, column, reason) in cases {
        if reason.is_empty() {
            // $p7 is the register that is written as 0x1.
            assert_eq!(words(text), words(&text.replace("$p7", "0x1")));
            continue;
        }
        let errors = assemble(text, Chip::Gf100).expect_err(text).0;
        let first = &errors[0];
        assert_eq!((first.line, first.column), (line, column), "{text}: {}", first.reason);
        assert!(first.reason.starts_with(reason), "{text}: {}", first.reason);
    }
    let errors = assemble("ldu b32 $r0 g[$r1]", Chip::Gk104).unwrap_err().to_string();
    assert!(errors.starts_with("1:1: gk104 has no such instruction; these have: gf100 "), "{errors}");
}

#[test]
fn mutated_sources_do_no_harm() {
    common::mutate_sources(
        "tests/corpus/fermi",
        &["int64_flags/source.txt", "gk104_shfl/disasm.txt", "gfx_fp_tex_modulate/disasm_gk104.txt"],
        "()[]{}:;/*#$+-.,0x9dqrpsg \n\tBé∞",
        100,
        |text| assemble(text, Chip::Gk104),
        |assembly| assert!(!listing(&assembly.code, assembly.base, Chip::Gk104).is_empty()),
    );
}

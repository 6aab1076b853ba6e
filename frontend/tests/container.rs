//! Tests the readers of text and ELF cubins and raw words. Truncated and mutated files must be refused without a panic.

mod common;
#[path = "common/elf_writer.rs"]
mod elf_writer;

use common::Random;
use elf_writer::{Cubin, cubin};
use warpjit_frontend::container::{ContainerError, load};
use warpjit_frontend::module::{ConstPart, Module, Param};
use warpjit_frontend::tesla::{self, Target, decode};
use warpjit_frontend::{Chip, Isa};

const TEXT: &str = "architecture {sm_13}
abiversion   {1}
modname      {cubin}
sampler {
\tname    = tex
\ttexunit = 0
}
reloc {
\tname    = counter
\tsegname = reloc
\tsegnum  = 14
\toffset  = 8
\tbytes   = 4
}
consts {
\tname    = table
\tsegname = const
\tsegnum  = 0
\toffset  = 16
\tbytes   = 8
}
code {
\tname = first
\tlmem = 32
\tsmem = 28
\treg  = 7
\tbar  = 1
\tconst {
\t\tsegname = const
\t\tsegnum  = 1
\t\toffset  = 4
\t\tbytes   = 6
\t\tmem {
\t\t\t0x11223344 0x00005566
\t\t}
\t}
\tbincode {
\t\t0x10078005 0x00000003
\t\t0x30000003 0x00000780
\t}
\tconstrelocs {
\t\t0x00000001 0x00000001 0x00000004
\t}
}
code {
\tname = second
\tbincode { 0xf0000001 0xe0000781 }
}
";

#[test]
fn text_cubin() {
    let module = load(TEXT.as_bytes(), Isa::Tesla).unwrap();
    assert_eq!((module.isa, module.chip.map(Chip::name)), (Isa::Tesla, Some("g200")));
    let first = module.kernel(Some("first")).unwrap();
    assert_eq!(
        (first.registers, first.shared_bytes, first.local_bytes, first.barriers),
        (Some(7), 28, 32, 1)
    );
    assert_eq!(first.code[..4], [0x05, 0x80, 0x07, 0x10]);
    assert_eq!(first.code.len(), 16);
    assert_eq!(
        first.consts,
        [ConstPart { bank: 1, offset: 4, bytes: vec![0x44, 0x33, 0x22, 0x11, 0x66, 0x55].into() }]
    );
    assert_eq!(module.shared_consts, [ConstPart { bank: 0, offset: 16, bytes: vec![0; 8].into() }]);
    let second = module.kernel(Some("second")).unwrap();
    assert_eq!((second.code.len(), second.registers), (8, None));
    let global = &module.globals[0];
    assert_eq!((global.name.as_str(), global.bank, global.offset, global.bytes), ("counter", 14, 8, 4));
    let symbol = &module.const_symbols[0];
    assert_eq!((symbol.name.as_str(), symbol.bank, symbol.offset, symbol.bytes), ("table", 0, 16, 8));

    let error = module.kernel(None).unwrap_err().to_string();
    assert_eq!(error, "there are several kernels and none is named; kernels: first second");
    let error = module.kernel(Some("third")).unwrap_err().to_string();
    assert_eq!(error, "there is no kernel `third`; kernels: first second");
}

#[test]
fn text_cubin_errors_name_the_line() {
    let cases = [
        ("architecture {sm_13}", "architecture {sm_20}", 1, "architecture `sm_20` is not supported"),
        ("segnum  = 14", "segnum  = x", 11, "`segnum` is `x`, not a number"),
        ("smem = 28", "smem = 99999", 25, "`smem` is 99999, more than 16384"),
        ("0x00005566", "0x0000556g", 34, "`0x0000556g` is no word of mem"),
        ("0x00005566", "", 28, "`mem` holds 4 bytes, `bytes` says 6"),
        ("name = first", "", 22, "`code` without `name`"),
        ("bytes   = 8", "bytes   = 65536", 15, "the segment ends behind 0x10000, the end of a constant bank"),
        (
            "bincode { 0xf0000001 0xe0000781 }",
            "bincode 0xf0000001",
            47,
            "`0xf0000001` stands where `=` or `{` should",
        ),
        ("{ 0xf0000001 0xe0000781 }", "{ 0xf0000001 0xe0000781", 48, "`code` of line 45 is not closed"),
    ];
    for (from, to, line, reason) in cases {
        let text = TEXT.replacen(from, to, 1);
        let error = load(text.as_bytes(), Isa::Tesla).unwrap_err();
        assert_eq!(error, ContainerError::Text { line, reason: reason.into() }, "{from} -> {to}");
    }
}

#[test]
fn raw_words() {
    let module = load(&[1, 0, 0, 0xf0, 0x81, 7, 0, 0xe0], Isa::Tesla).unwrap();
    assert_eq!((module.chip, module.kernels.len()), (None, 1));
    assert_eq!(module.kernel(None).unwrap().code.len(), 8);
    assert_eq!(load(&[], Isa::Tesla), Err(ContainerError::Empty));
    assert_eq!(load(&[0; 7], Isa::Tesla), Err(ContainerError::RaggedWords { len: 7 }));
}

#[test]
fn elf_cubin() {
    for class_64 in [false, true] {
        let module = load(&cubin(&Cubin { class_64, ..Cubin::example() }), Isa::Tesla).unwrap();
        assert_eq!((module.isa, module.chip.map(Chip::name)), (Isa::Tesla, Some("g200")));
        let kernel = module.kernel(None).unwrap();
        assert_eq!(kernel.name, "scale");
        assert_eq!(kernel.entry, 8);
        assert_eq!(kernel.code, Cubin::example().code);
        assert_eq!((kernel.registers, kernel.barriers), (Some(5), 1));
        assert_eq!((kernel.shared_bytes, kernel.local_bytes), (0x120, 0x40));
        assert_eq!(
            module.shared_consts,
            [
                ConstPart { bank: 0, offset: 0, bytes: vec![7; 12].into() },
                ConstPart { bank: 14, offset: 0, bytes: vec![0; 8].into() },
            ]
        );
        assert_eq!(kernel.consts, [ConstPart { bank: 1, offset: 0, bytes: vec![1, 2, 3, 4].into() }]);
        let params = kernel.params.clone().unwrap();
        assert_eq!(params.bytes, 12);
        assert_eq!(
            params.params,
            [Param { offset: 0, bytes: 4 }, Param { offset: 4, bytes: 2 }, Param { offset: 8, bytes: 4 }]
        );
        let symbol = &module.const_symbols[0];
        assert_eq!((symbol.name.as_str(), symbol.bank, symbol.offset, symbol.bytes), ("weights", 0, 4, 8));
        let global = &module.globals[0];
        assert_eq!(
            (global.name.as_str(), global.bank, global.offset, global.bytes),
            ("histogram", 14, 4, 1024)
        );
    }
}

#[test]
fn elf_errors_name_the_offset() {
    let good = Cubin::example();
    let other = cubin(&Cubin { machine: 62, ..good.clone() });
    let error = load(&other, Isa::Tesla).unwrap_err();
    assert_eq!(error, ContainerError::Unsupported { offset: 18, what: "ELF machine 62 (x86-64)".into() });
    let kepler = cubin(&Cubin { sm: 35, ..good.clone() });
    let error = load(&kepler, Isa::Tesla).unwrap_err();
    assert_eq!(error, ContainerError::Unsupported { offset: 48, what: "sm_35".into() });
    let large = load(&cubin(&Cubin { shared_bytes: 0x4004, ..good.clone() }), Isa::Tesla).unwrap_err();
    assert!(
        large.to_string().ends_with("section `.nv.shared.scale` has 0x4004 bytes, more than 0x4000"),
        "{large}"
    );
    let ragged = load(&cubin(&Cubin { code: vec![0; 6], ..good }), Isa::Tesla).unwrap_err();
    assert!(ragged.to_string().ends_with("section `.text.scale` is not a number of words"), "{ragged}");
}

/// Everything decodable of a module, so that nothing behind the container panics either.
fn use_up(module: &Module) {
    for kernel in &module.kernels {
        let mut pc = 0;
        while let Ok(inst) = decode(&kernel.code, pc, Target::compute(tesla::Chip::G200)) {
            pc = inst.next_pc();
        }
    }
}

#[test]
fn cut_files_are_refused() {
    let elf = cubin(&Cubin::example());
    for len in 0..elf.len() {
        if let Ok(module) = load(&elf[..len], Isa::Tesla) {
            // Three bytes are raw words no more than an ELF header.
            assert!(len < 4, "{len}");
            use_up(&module);
        }
    }
    let text = TEXT.trim_end().as_bytes();
    for len in 0..text.len() {
        // Cut before the second kernel it is whole, cut within the first word it is raw.
        if let Ok(module) = load(&text[..len], Isa::Tesla) {
            assert!(module.chip.is_none() || module.kernels.len() == 1, "{len}");
        }
    }
}

#[test]
fn mutated_files_do_no_harm() {
    let mut random = Random::new(1);
    let elf = cubin(&Cubin::example());
    let elf_32 = cubin(&Cubin { class_64: false, ..Cubin::example() });
    for file in [&elf[..], &elf_32[..], TEXT.as_bytes()] {
        for _ in 0..4000 {
            let mut bytes = file.to_vec();
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len());
                bytes[at] = match random.below(3) {
                    0 => random.next() as u8,
                    1 => bytes[at] ^ 1 << random.below(8),
                    _ => [0, 0xff, b'{', b'}', b'=', b'\n', 0x7f, 0x80][random.below(8)],
                };
            }
            if let Ok(module) = load(&bytes, Isa::Tesla) {
                use_up(&module);
            }
        }
    }
}

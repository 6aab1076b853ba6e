//! Shapes of containers: files with many sections, kernels, constants or other entries.

use std::fmt::Write;

use warpjit_frontend::gcn::{Generation, assemble};

use super::elf::{self, ALLOC, EXEC, FIRST, Header, NOBITS, PROGBITS, REL, RELA, SYMBOLS, Section, Symbol};
use super::{Sample, Shape, Text, Unit, fermi, tesla};

const fn shape(of: &'static str, name: &'static str, make: fn(usize) -> Sample) -> Shape {
    Shape { of, name, make, unit: Unit::Entries }
}

pub(super) const SHAPES: &[Shape] = &[
    shape("text cubin", "kernels", text_kernels),
    shape("text cubin", "kernels and constants", text_constants),
    shape("text cubin", "variables", text_variables),
    Shape { unit: Unit::Words, ..shape("text cubin", "switches", text_switches) },
    shape("cubin", "kernels", |count| cubin(count, Many { constants: false, ..Many::kernels() })),
    shape("cubin", "kernels and a bank", |count| cubin(count, Many { constants: true, ..Many::kernels() })),
    shape("cubin", "symbols", |count| cubin(1, Many { symbols: count, ..Many::kernels() })),
    shape("cubin", "relocations", |count| cubin(1, Many { relocations: count, ..Many::kernels() })),
    shape("cubin", "functions", functions),
    shape("fat binary", "entries", fat_binary),
    shape("code object", "kernels", |count| code_object(count, 0)),
    shape("code object", "relocations", |count| code_object(1, count)),
    shape("code object", "symbols", code_object_symbols),
];

/// A launch of a kernel of a container.
fn sample(name: &str, file: Vec<u8>, isa: &str, kernel: &str) -> Sample {
    let launch = "[launch]\ngrid = [1, 1, 1]\nblock = [64, 1, 1]\n";
    Sample::of(name, file, &format!("isa = \"{isa}\"\nkernel = \"{kernel}\"\n{launch}"))
}

/// `exit` of Tesla.
const EXIT: &str = "0xf0000001 0xe0000781";

fn text_kernel(text: &mut String, name: &str, code: &str) {
    let _ = writeln!(text, "code {{\nname = {name}\nreg = 4\nbincode {{ {code} }}\n}}");
}

fn text_kernels(count: usize) -> Sample {
    let mut text = String::from("architecture {sm_13}\n");
    (0..count).for_each(|n| text_kernel(&mut text, &format!("k{n}"), EXIT));
    sample("k.cubin", text.into(), "tesla", "k0")
}

/// Constants that the file gives no contents for, and kernels that may read them all.
fn text_constants(count: usize) -> Sample {
    let mut text = String::from("architecture {sm_13}\n");
    for n in 0..count / 2 {
        let _ = writeln!(
            text,
            "consts {{\nname = c{n}\nsegname = const\nsegnum = 0\noffset = 0\nbytes = 65536\n}}"
        );
        text_kernel(&mut text, &format!("k{n}"), EXIT);
    }
    sample("k.cubin", text.into(), "tesla", "k0")
}

fn text_variables(count: usize) -> Sample {
    let mut text = String::from("architecture {sm_13}\n");
    for n in 0..count {
        let at = 4 * (n % 1024);
        let _ = writeln!(
            text,
            "reloc {{\nname = v{n}\nsegname = reloc\nsegnum = 14\noffset = {at}\nbytes = 4\n}}"
        );
    }
    text_kernel(&mut text, "k", EXIT);
    sample("k.cubin", text.into(), "tesla", "k")
}

/// Jumps through a bank of the compiler's that is full of addresses.
fn text_switches(words: usize) -> Sample {
    let count = (words / 4).min(1 << 14);
    let mut code = Text::default();
    (0..count).for_each(|n| code.add(format!("bra c1[{:#x}]\nmov b32 $r1 $r2", 4 * n)));
    code.add("exit nop");
    let mut text = String::from("architecture {sm_13}\ncode {\nname = k\nreg = 4\n");
    text += "const {\nsegname = const\nsegnum = 1\noffset = 0\nbytes = 65536\nmem {\n";
    (0..1 << 14).for_each(|n| _ = writeln!(text, "{:#010x}", (16 * n + 8) % (16 * count)));
    text += "}\n}\nbincode {\n";
    for word in tesla::code(&code).chunks(4) {
        let _ = writeln!(text, "0x{:08x}", u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    }
    text += "}\n}\n";
    sample("k.cubin", text.into(), "tesla", "k")
}

fn section(name: String, kind: u32, data: Vec<u8>) -> Section {
    Section { name, kind, data, ..Section::default() }
}

/// What there are many of in a cubin.
struct Many {
    /// A bank of constants without contents, for all kernels.
    constants: bool,
    symbols: usize,
    relocations: usize,
}

impl Many {
    fn kernels() -> Many {
        Many { constants: false, symbols: 0, relocations: 0 }
    }
}

const CUBIN: Header = Header { os_abi: 0x33, abi_version: 4, kind: 2, machine: 190, flags: 20 };

fn cubin(kernels: usize, many: Many) -> Sample {
    let (mut sections, mut symbols) = (Vec::new(), Vec::new());
    let code = fermi::code(&fermi::straight(4));
    for n in 0..kernels {
        let name = format!("k{n}");
        symbols.push(Symbol {
            name: name.clone(),
            info: 0x12,
            section: (FIRST + sections.len()) as u16,
            value: 0,
            bytes: code.len() as u64,
        });
        let text = section(format!(".text.{name}"), PROGBITS, code.clone());
        sections.push(Section { flags: ALLOC | EXEC, info: 8 << 24, ..text });
        let bank = section(format!(".nv.constant2.{name}"), PROGBITS, vec![1; 16]);
        sections.push(Section { flags: ALLOC, ..bank });
        let shared = section(format!(".nv.shared.{name}"), NOBITS, Vec::new());
        sections.push(Section { flags: ALLOC, size: 64, ..shared });
    }
    if many.constants {
        let bank = section(".nv.constant3".into(), NOBITS, Vec::new());
        sections.push(Section { flags: ALLOC, size: 0x1_0000, ..bank });
    }
    let variables = FIRST + sections.len();
    sections.push(Section { flags: ALLOC, size: 64, ..section(".nv.global".into(), NOBITS, Vec::new()) });
    for n in 0..many.symbols.max(1) {
        let (name, section) = (format!("v{n}"), variables as u16);
        symbols.push(Symbol { name, info: 0x11, section, value: 4 * (n as u64 % 8), bytes: 4 });
    }
    if many.relocations > 0 {
        let bank = FIRST + sections.len();
        sections.push(Section { flags: ALLOC, ..section(".nv.constant14".into(), PROGBITS, vec![0; 4096]) });
        let symbol = symbols.len() as u64;
        let mut data = Vec::new();
        for n in 0..many.relocations as u64 {
            data.extend_from_slice(&(4 * (n % 1024)).to_le_bytes());
            data.extend_from_slice(&(symbol << 32 | 1).to_le_bytes());
        }
        let table = section(".rel.nv.constant14".into(), REL, data);
        sections.push(Section { link: SYMBOLS, info: bank as u32, entry_bytes: 16, ..table });
    }
    sample("k.cubin", elf::file(&CUBIN, &sections, &symbols), "fermi", "k0")
}

/// Kernels that all call the same functions, each in a section of its own.
fn functions(count: usize) -> Sample {
    let (mut sections, mut symbols) = (Vec::new(), Vec::new());
    let code = fermi::code(&fermi::straight(4));
    let kernels = count / 4;
    for n in 0..count {
        let is_kernel = n < kernels;
        let name = if is_kernel { format!("k{n}") } else { format!("f{n}") };
        let section_number = (FIRST + sections.len()) as u16;
        symbols.push(Symbol {
            name: name.clone(),
            info: if is_kernel { 0x12 } else { 2 },
            section: section_number,
            value: 0,
            bytes: code.len() as u64,
        });
        let text = section(format!(".text.{name}"), PROGBITS, code.clone());
        sections.push(Section { flags: ALLOC | EXEC, info: 8 << 24, ..text });
    }
    for n in 0..count {
        // A kernel calls the first function, each function the next one.
        let to = if n < kernels { kernels } else { n + 1 };
        if to == count {
            continue;
        }
        let mut data = 8_u64.to_le_bytes().to_vec();
        data.extend_from_slice(&((to as u64 + 1) << 32 | 10).to_le_bytes());
        let table = section(format!(".rel{}", sections[n].name), REL, data);
        sections.push(Section { link: SYMBOLS, info: (FIRST + n) as u32, entry_bytes: 16, ..table });
    }
    sample("k.cubin", elf::file(&CUBIN, &sections, &symbols), "fermi", "k0")
}

/// A cubin behind many entries of other kinds and for unknown chips.
fn fat_binary(count: usize) -> Sample {
    let mut body = Vec::new();
    let mut entry = |kind: u16, contents: &[u8]| {
        let mut header = [0; 64];
        header[..2].copy_from_slice(&kind.to_le_bytes());
        header[4] = 64;
        header[8..16].copy_from_slice(&(contents.len() as u64).to_le_bytes());
        body.extend_from_slice(&header);
        body.extend_from_slice(contents);
    };
    let unknown = elf::file(&Header { flags: 0x7f, ..CUBIN }, &[], &[]);
    for n in 0..count {
        if n % 2 == 0 { entry(1, b".version 1.0") } else { entry(2, &unknown) }
    }
    let last = cubin(1, Many::kernels());
    entry(2, &last.files[0].1);
    let mut file = 0xba55_ed50_u32.to_le_bytes().to_vec();
    file.extend_from_slice(&[1, 0, 16, 0]);
    file.extend_from_slice(&(body.len() as u64).to_le_bytes());
    file.extend_from_slice(&body);
    sample("k.fatbin", file, "fermi", "k0")
}

/// An unlinked code object of version 3, as `clang -c` leaves it.
const OBJECT: Header = Header { os_abi: 0x40, abi_version: 1, kind: 1, machine: 224, flags: 0x2a };

fn code_object(kernels: usize, relocations: usize) -> Sample {
    let code = assemble("v_mov_b32_e32 v0, 0\ns_endpgm", Generation::Gfx8).expect("assembles").code;
    object(kernels, code, relocations, 0)
}

fn code_object_symbols(count: usize) -> Sample {
    let code = assemble("v_mov_b32_e32 v0, 0\ns_endpgm", Generation::Gfx8).expect("assembles").code;
    object(1, code, 0, count)
}

fn object(kernels: usize, code: Vec<u8>, relocations: usize, more_symbols: usize) -> Sample {
    // Descriptors first, then code, which follows them at the address of the image.
    let (text, descriptors) = (FIRST as u16 + 1, FIRST as u16);
    let code_at = 64 * kernels as u64;
    let (mut table, mut all_code, mut symbols) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..kernels {
        let at = n as u64 * code.len() as u64;
        let mut descriptor = [0; 64];
        let distance = code_at + at - 64 * n as u64;
        descriptor[16..24].copy_from_slice(&distance.to_le_bytes());
        table.extend_from_slice(&descriptor);
        all_code.extend_from_slice(&code);
        let symbol = |name: String, section, value, bytes, info| Symbol { name, info, section, value, bytes };
        symbols.push(symbol(format!("k{n}"), text, at, code.len() as u64, 0x12));
        symbols.push(symbol(format!("k{n}.kd"), descriptors, 64 * n as u64, 64, 0x11));
    }
    for n in 0..more_symbols {
        symbols.push(Symbol { name: format!("s{n}"), info: 0x12, section: text, value: 0, bytes: 4 });
    }
    let mut sections = vec![
        Section { flags: ALLOC, ..section(".rodata".into(), PROGBITS, table) },
        Section { flags: ALLOC | EXEC, ..section(".text".into(), PROGBITS, all_code) },
        Section { flags: ALLOC, ..section(".rodata.table".into(), PROGBITS, vec![0; 4096]) },
    ];
    let mut data = Vec::new();
    for n in 0..relocations as u64 {
        data.extend_from_slice(&(8 * (n % 512)).to_le_bytes());
        data.extend_from_slice(&(1 << 32 | 3_u64).to_le_bytes());
        data.extend_from_slice(&[0; 8]);
    }
    let table = section(".rela.rodata.table".into(), RELA, data);
    sections.push(Section { link: SYMBOLS, info: FIRST as u32 + 2, entry_bytes: 24, ..table });
    sample("k.o", elf::file(&OBJECT, &sections, &symbols), "gcn", "k0")
}

//! Writes small ELF cubins of compute capability 1.x, because no genuine one was at hand. The layout follows cubins that nvcc 3
//! made for later chips.

/// What goes into the file.
#[derive(Clone)]
pub struct Cubin {
    pub class_64: bool,
    pub machine: u16,
    pub sm: u8,
    pub code: Vec<u8>,
    pub shared_bytes: u64,
}

impl Cubin {
    /// A kernel `scale` with something of everything.
    pub fn example() -> Cubin {
        let words = [0xf0000001_u32, 0xe0000780, 0x10078005, 0x00000003, 0xf0000001, 0xe0000781];
        Cubin {
            class_64: true,
            machine: 190,
            sm: 13,
            code: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
            shared_bytes: 0x120,
        }
    }
}

struct Section {
    name: &'static str,
    kind: u32,
    flags: u64,
    info: u32,
    link: u32,
    entry_size: u64,
    data: Vec<u8>,
    /// Of sections without contents.
    size: Option<u64>,
}

fn section(name: &'static str, kind: u32, data: Vec<u8>) -> Section {
    Section { name, kind, flags: 0, info: 0, link: 0, entry_size: 0, data, size: None }
}

/// A symbol: name, value, size, info byte, section.
type Symbol = (&'static str, u64, u64, u8, u16);

/// The file.
pub fn cubin(cubin: &Cubin) -> Vec<u8> {
    const PROGBITS: u32 = 1;
    const SYMTAB: u32 = 2;
    const STRTAB: u32 = 3;
    const NOBITS: u32 = 8;
    const REL: u32 = 9;
    let wide = cubin.class_64;
    let number = |out: &mut Vec<u8>, value: u64| {
        if wide {
            out.extend_from_slice(&value.to_le_bytes());
        } else {
            out.extend_from_slice(&(value as u32).to_le_bytes());
        }
    };

    // Sections 1 to 11 in the order below.
    let symbols: [Symbol; 4] = [
        ("", 0, 0, 0, 0),
        ("scale", 8, 16, 0x12, 4),
        ("weights", 4, 8, 0x11, 5),
        ("histogram", 0, 1024, 0x11, 11),
    ];
    let mut strings = vec![0];
    let mut symbol_table = Vec::new();
    for (name, value, size, info, shndx) in symbols {
        let at = if name.is_empty() { 0 } else { strings.len() as u32 };
        if !name.is_empty() {
            strings.extend_from_slice(name.as_bytes());
            strings.push(0);
        }
        symbol_table.extend_from_slice(&at.to_le_bytes());
        if wide {
            symbol_table.extend_from_slice(&[info, 0]);
            symbol_table.extend_from_slice(&shndx.to_le_bytes());
        }
        number(&mut symbol_table, value);
        number(&mut symbol_table, size);
        if !wide {
            symbol_table.extend_from_slice(&[info, 0]);
            symbol_table.extend_from_slice(&shndx.to_le_bytes());
        }
    }

    // Parameters: u32 at 0, u16 at 4, u32 at 8; written last to first, as the compiler does.
    let mut info = vec![0x04, 0x0b, 4, 0, 0, 0, 0, 0, 0x03, 0x18, 12, 0];
    for (ordinal, offset, size) in [(2_u16, 8_u16, 4_u32), (1, 4, 2), (0, 0, 4)] {
        info.extend_from_slice(&[0x04, 0x17, 12, 0, 0xff, 0xff, 0xff, 0xff]);
        info.extend_from_slice(&ordinal.to_le_bytes());
        info.extend_from_slice(&offset.to_le_bytes());
        info.extend_from_slice(&(size << 18 | 0x1f000).to_le_bytes());
    }
    let mut relocations = Vec::new();
    number(&mut relocations, 4);
    number(&mut relocations, if wide { 3 << 32 | 1 } else { 3 << 8 | 1 });

    let mut sections = vec![
        section("", 0, Vec::new()),
        section(".shstrtab", STRTAB, Vec::new()),
        section(".strtab", STRTAB, strings),
        Section {
            link: 2,
            info: 1,
            entry_size: if wide { 24 } else { 16 },
            ..section(".symtab", SYMTAB, symbol_table)
        },
        Section {
            flags: 6 | 1 << 20,
            info: 5 << 24 | 1,
            link: 3,
            ..section(".text.scale", PROGBITS, cubin.code.clone())
        },
        Section { flags: 2, ..section(".nv.constant0", PROGBITS, vec![7; 12]) },
        Section { flags: 2, info: 4, ..section(".nv.constant1.scale", PROGBITS, vec![1, 2, 3, 4]) },
        Section { flags: 2, ..section(".nv.constant14", PROGBITS, vec![0; 8]) },
        Section {
            link: 3,
            info: 7,
            entry_size: if wide { 16 } else { 8 },
            ..section(".rel.nv.constant14", REL, relocations)
        },
        Section {
            flags: 3,
            size: Some(cubin.shared_bytes),
            ..section(".nv.shared.scale", NOBITS, Vec::new())
        },
        Section { flags: 3, size: Some(0x40), ..section(".nv.local.scale", NOBITS, Vec::new()) },
        Section { flags: 3, size: Some(1024), ..section(".nv.global", NOBITS, Vec::new()) },
        Section { flags: 2, info: 4, ..section(".nv.info.scale", PROGBITS, info) },
    ];
    let mut names = vec![0];
    let mut name_offsets = Vec::new();
    for section in &sections {
        name_offsets.push(if section.name.is_empty() { 0 } else { names.len() as u32 });
        if !section.name.is_empty() {
            names.extend_from_slice(section.name.as_bytes());
            names.push(0);
        }
    }
    sections[1].data = names;

    let (header_size, entry_size) = if wide { (64_u64, 64_u64) } else { (52, 40) };
    let mut file = vec![0x7f, b'E', b'L', b'F', if wide { 2 } else { 1 }, 1, 1, 0x33, 4];
    file.resize(16, 0);
    file.extend_from_slice(&2_u16.to_le_bytes());
    file.extend_from_slice(&cubin.machine.to_le_bytes());
    file.extend_from_slice(&1_u32.to_le_bytes());
    number(&mut file, 0);
    number(&mut file, 0);
    number(&mut file, header_size);
    file.extend_from_slice(&(u32::from(cubin.sm) << 16 | u32::from(cubin.sm)).to_le_bytes());
    for half in [header_size as u16, 0, 0, entry_size as u16, sections.len() as u16, 1] {
        file.extend_from_slice(&half.to_le_bytes());
    }

    let mut at = header_size + entry_size * sections.len() as u64;
    for (section, name) in sections.iter().zip(name_offsets) {
        file.extend_from_slice(&name.to_le_bytes());
        file.extend_from_slice(&section.kind.to_le_bytes());
        number(&mut file, section.flags);
        number(&mut file, 0);
        number(&mut file, if section.kind == 0 { 0 } else { at });
        number(&mut file, section.size.unwrap_or(section.data.len() as u64));
        file.extend_from_slice(&section.link.to_le_bytes());
        file.extend_from_slice(&section.info.to_le_bytes());
        number(&mut file, 4);
        number(&mut file, section.entry_size);
        at += section.data.len() as u64;
    }
    for section in &sections {
        file.extend_from_slice(&section.data);
    }
    file
}

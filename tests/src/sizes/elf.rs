//! Writes ELF files with many sections, symbols and relocations.

/// Types of sections.
pub(super) const PROGBITS: u32 = 1;
pub(super) const SYMTAB: u32 = 2;
pub(super) const STRTAB: u32 = 3;
pub(super) const RELA: u32 = 4;
pub(super) const NOBITS: u32 = 8;
pub(super) const REL: u32 = 9;

/// Flags of sections.
pub(super) const ALLOC: u64 = 2;
pub(super) const EXEC: u64 = 4;

/// A section; [`Default`] is one without contents.
#[derive(Clone, Default)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) kind: u32,
    pub(super) flags: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) data: Vec<u8>,
    /// Of a section without contents.
    pub(super) size: u64,
    pub(super) entry_bytes: u64,
}

/// A symbol.
pub(super) struct Symbol {
    pub(super) name: String,
    /// Binding and type.
    pub(super) info: u8,
    pub(super) section: u16,
    pub(super) value: u64,
    pub(super) bytes: u64,
}

/// What the header says.
pub(super) struct Header {
    pub(super) os_abi: u8,
    pub(super) abi_version: u8,
    /// `e_type`
    pub(super) kind: u16,
    pub(super) machine: u16,
    pub(super) flags: u32,
}

/// Number of the table of symbols that [`file`] makes.
pub(super) const SYMBOLS: u32 = 1;
/// Number of the first section that [`file`] is given.
pub(super) const FIRST: usize = 4;

/// Puts names one behind the other; gives where each is.
fn strings<'a>(names: impl Iterator<Item = &'a str>) -> (Vec<u8>, Vec<u32>) {
    let mut bytes = vec![0];
    let places = names.map(|name| {
        let at = bytes.len() as u32;
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(0);
        at
    });
    let places = places.collect();
    (bytes, places)
}

/// A little-endian file of 64 bits with these sections from number [`FIRST`] on.
pub(super) fn file(header: &Header, sections: &[Section], symbols: &[Symbol]) -> Vec<u8> {
    const HEADER_BYTES: u64 = 64;
    const ENTRY_BYTES: u64 = 64;
    let (names, places) = strings(symbols.iter().map(|symbol| symbol.name.as_str()));
    let mut table = vec![0; 24];
    for (symbol, at) in symbols.iter().zip(places) {
        table.extend_from_slice(&at.to_le_bytes());
        table.extend_from_slice(&[symbol.info, 0]);
        table.extend_from_slice(&symbol.section.to_le_bytes());
        table.extend_from_slice(&symbol.value.to_le_bytes());
        table.extend_from_slice(&symbol.bytes.to_le_bytes());
    }
    let named = |name: &str, kind| Section { name: name.into(), kind, ..Section::default() };
    let mut all = vec![
        Section::default(),
        Section { data: table, link: 2, info: 1, entry_bytes: 24, ..named(".symtab", SYMTAB) },
        Section { data: names, ..named(".strtab", STRTAB) },
        named(".shstrtab", STRTAB),
    ];
    all.extend_from_slice(sections);
    let (names, places) = strings(all.iter().map(|section| section.name.as_str()));
    all[3].data = names;

    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.extend_from_slice(&[header.os_abi, header.abi_version]);
    file.resize(16, 0);
    file.extend_from_slice(&header.kind.to_le_bytes());
    file.extend_from_slice(&header.machine.to_le_bytes());
    file.extend_from_slice(&1_u32.to_le_bytes());
    for number in [0, 0, HEADER_BYTES] {
        file.extend_from_slice(&number.to_le_bytes());
    }
    file.extend_from_slice(&header.flags.to_le_bytes());
    for half in [HEADER_BYTES as u16, 56, 0, ENTRY_BYTES as u16, all.len() as u16, 3] {
        file.extend_from_slice(&half.to_le_bytes());
    }
    let mut at = HEADER_BYTES + ENTRY_BYTES * all.len() as u64;
    for (section, name) in all.iter().zip(places) {
        file.extend_from_slice(&name.to_le_bytes());
        file.extend_from_slice(&section.kind.to_le_bytes());
        let size = if section.kind == NOBITS { section.size } else { section.data.len() as u64 };
        for number in [section.flags, 0, at, size] {
            file.extend_from_slice(&number.to_le_bytes());
        }
        file.extend_from_slice(&section.link.to_le_bytes());
        file.extend_from_slice(&section.info.to_le_bytes());
        file.extend_from_slice(&4_u64.to_le_bytes());
        file.extend_from_slice(&section.entry_bytes.to_le_bytes());
        at += section.data.len() as u64;
    }
    all.iter().for_each(|section| file.extend_from_slice(&section.data));
    file
}

//! Makes a minimal ELF object in memory that says where code is and what it is called. GDB reads it.

/// Bytes of ELF's structures for 64 bits.
const HEADER: usize = 64;
const SECTION: usize = 64;
const SYMBOL: usize = 24;
/// Sections: none, .text, .symtab, .strtab, .shstrtab.
const SECTIONS: usize = 5;
const SECTION_NAMES: &[u8] = b"\0.text\0.symtab\0.strtab\0.shstrtab\0";
const MACHINE: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };

/// A function in the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Offset of its first byte in the code.
    pub start: u64,
    /// Bytes.
    pub bytes: u64,
}

/// An ELF object whose .text lies, without contents, at `address`.
pub fn object(address: u64, bytes: u64, symbols: &[Symbol]) -> Vec<u8> {
    let mut names = vec![0u8];
    let mut table = vec![0u8; SYMBOL];
    for symbol in symbols {
        // Global, a function, of section 1.
        table.extend((names.len() as u32).to_le_bytes());
        table.extend([1 << 4 | 2, 0]);
        table.extend(1u16.to_le_bytes());
        table.extend(symbol.start.to_le_bytes());
        table.extend(symbol.bytes.to_le_bytes());
        names.extend(symbol.name.bytes().filter(|&byte| byte != 0));
        names.push(0);
    }
    let symbols_at = HEADER + SECTIONS * SECTION;
    let names_at = symbols_at + table.len();
    let section_names_at = names_at + names.len();
    let mut out = Vec::with_capacity(section_names_at + SECTION_NAMES.len());
    // 64 bits, little endian, version 1.
    out.extend(*b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    // Relocatable: symbols count from the start of their section.
    for half in [1, MACHINE, 1, 0] {
        out.extend(half.to_le_bytes());
    }
    for word in [0, 0, HEADER as u64] {
        out.extend(word.to_le_bytes());
    }
    out.extend(0u32.to_le_bytes());
    for half in [HEADER, 0, 0, SECTION, SECTIONS, SECTIONS - 1] {
        out.extend((half as u16).to_le_bytes());
    }
    let mut section =
        |name: u32, kind: u32, flags: u64, at: u64, [place, size, entry]: [usize; 3], link: [u32; 2]| {
            out.extend(name.to_le_bytes());
            out.extend(kind.to_le_bytes());
            for word in [flags, at, place as u64, size as u64] {
                out.extend(word.to_le_bytes());
            }
            out.extend(link[0].to_le_bytes());
            out.extend(link[1].to_le_bytes());
            out.extend(if kind == 0 { 0u64 } else { 1 }.to_le_bytes());
            out.extend((entry as u64).to_le_bytes());
        };
    section(0, 0, 0, 0, [0; 3], [0; 2]);
    // NOBITS, allocated and executable.
    section(1, 8, 6, address, [HEADER, bytes as usize, 0], [0; 2]);
    // SYMTAB: its names are in section 3, the first global symbol is number 1.
    section(7, 2, 0, 0, [symbols_at, table.len(), SYMBOL], [3, 1]);
    section(15, 3, 0, 0, [names_at, names.len(), 0], [0; 2]);
    section(23, 3, 0, 0, [section_names_at, SECTION_NAMES.len(), 0], [0; 2]);
    out.extend(table);
    out.extend(names);
    out.extend(SECTION_NAMES);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

    #[test]
    fn others_read_it() {
        let symbols = [
            Symbol { name: "warpjit::k@0x0#0".to_owned(), start: 0, bytes: 100 },
            Symbol { name: "k:0x8".to_owned(), start: 40, bytes: 12 },
        ];
        let bytes = object(0x7fff_0000_1000, 100, &symbols);
        let file = object::File::parse(&*bytes).unwrap();
        let text = file.section_by_name(".text").unwrap();
        assert_eq!((text.address(), text.size()), (0x7fff_0000_1000, 100));
        let executable = object::elf::SHF_ALLOC | object::elf::SHF_EXECINSTR;
        assert_eq!(
            text.flags(),
            object::SectionFlags::Elf { sh_type: object::elf::SHT_NOBITS, sh_flags: executable.into() }
        );
        let found: Vec<_> = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text).collect();
        assert_eq!(found.len(), 2);
        for (found, symbol) in found.iter().zip(&symbols) {
            assert_eq!(found.name(), Ok(symbol.name.as_str()));
            assert_eq!((found.address(), found.size()), (symbol.start, symbol.bytes));
            assert_eq!(found.section_index(), Some(text.index()));
        }
    }
}

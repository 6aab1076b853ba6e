//! Writes small Fermi cubins like nvcc's: 64-bit ELF files of sections, symbols and relocations.

/// A section.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its name.
    pub name: String,
    kind: u32,
    flags: u64,
    info: u32,
    data: Vec<u8>,
    /// Bytes of a section without contents.
    size: Option<u64>,
}

/// A name for a place in a section.
#[derive(Clone, Debug)]
struct Symbol {
    name: String,
    section: usize,
    value: u64,
}

/// A file in the making.
#[derive(Clone, Debug)]
pub struct Cubin {
    /// Compute capability: 20, 21, 30.
    pub capability: u32,
    /// Its sections, from number 4 on.
    pub sections: Vec<Section>,
    symbols: Vec<Symbol>,
    /// Section, offset, kind, symbol.
    relocations: Vec<(usize, u64, u32, usize)>,
}

const PROGBITS: u32 = 1;
const NOBITS: u32 = 8;
/// Sections before those that the file is made for: none, the two tables of strings, that of symbols.
const FIRST: usize = 4;

impl Cubin {
    /// An empty file.
    pub fn new(capability: u32) -> Cubin {
        Cubin { capability, sections: Vec::new(), symbols: Vec::new(), relocations: Vec::new() }
    }

    /// Adds a section; gives its number.
    pub fn section(&mut self, name: &str, data: &[u8]) -> usize {
        let (name, data) = (name.to_owned(), data.to_vec());
        self.sections.push(Section { name, kind: PROGBITS, flags: 2, info: 0, data, size: None });
        self.sections.len() - 1
    }

    /// Adds a section of zeros that the file does not hold.
    pub fn zeros(&mut self, name: &str, bytes: u64) -> usize {
        let section = self.section(name, &[]);
        self.sections[section].kind = NOBITS;
        self.sections[section].size = Some(bytes);
        section
    }

    /// Adds a kernel's or a function's code with a symbol at its begin; gives the section's number.
    pub fn text(&mut self, name: &str, code: &[u8], registers: u32) -> usize {
        self.text_from(name, code, registers, 0)
    }

    /// The same with the symbol elsewhere.
    pub fn text_from(&mut self, name: &str, code: &[u8], registers: u32, begin: u64) -> usize {
        let section = self.section(&format!(".text.{name}"), code);
        self.sections[section].flags = 6;
        self.sections[section].info = registers << 24;
        self.symbol(name, section, begin);
        section
    }

    /// Names a place; gives the symbol's number.
    pub fn symbol(&mut self, name: &str, section: usize, value: u64) -> usize {
        self.symbols.push(Symbol { name: name.to_owned(), section, value });
        self.symbols.len()
    }

    /// What nvcc says of a kernel's parameters: offset and bytes of each.
    pub fn params(&mut self, name: &str, params: &[(u16, u32)], bytes: u16) -> usize {
        let mut info = vec![0x04, 0x0a, 8, 0, 0, 0, 0, 0, 0x20, 0];
        info.extend(bytes.to_le_bytes());
        info.extend([0x03, 0x19]);
        info.extend(bytes.to_le_bytes());
        for (ordinal, (offset, size)) in (0u16..).zip(params) {
            info.extend([0x04, 0x17, 12, 0, 0, 0, 0, 0]);
            info.extend(ordinal.to_le_bytes());
            info.extend(offset.to_le_bytes());
            info.extend((size << 18 | 0x1f000).to_le_bytes());
        }
        self.section(&format!(".nv.info.{name}"), &info)
    }

    /// Has a symbol's address put into a section.
    pub fn relocate(&mut self, section: usize, offset: u64, kind: u32, symbol: usize) {
        self.relocations.push((section, offset, kind, symbol));
    }

    /// The file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut strings = vec![0];
        let mut symbols = vec![0; 24];
        for symbol in &self.symbols {
            symbols.extend((strings.len() as u32).to_le_bytes());
            symbols.extend([0x12, 0]);
            symbols.extend(((symbol.section + FIRST) as u16).to_le_bytes());
            symbols.extend(symbol.value.to_le_bytes());
            symbols.extend(0u64.to_le_bytes());
            strings.extend(symbol.name.bytes().chain([0]));
        }
        // Name, kind, flags, link, info, bytes of an entry, data, size.
        type Row = (String, u32, u64, u32, u32, u64, Vec<u8>, Option<u64>);
        let table = |name: &str, kind, link, info, entry, data| -> Row {
            (name.to_owned(), kind, 0, link, info, entry, data, None)
        };
        let mut rows = vec![
            table("", 0, 0, 0, 0, Vec::new()),
            table(".shstrtab", 3, 0, 0, 0, Vec::new()),
            table(".strtab", 3, 0, 0, 0, strings),
            table(".symtab", 2, 2, 1, 24, symbols),
        ];
        for s in &self.sections {
            rows.push((s.name.clone(), s.kind, s.flags, 3, s.info, 0, s.data.clone(), s.size));
        }
        for (n, section) in self.sections.iter().enumerate() {
            let own = self.relocations.iter().filter(|relocation| relocation.0 == n);
            let data: Vec<u8> = own
                .flat_map(|&(_, offset, kind, symbol)| {
                    [offset.to_le_bytes(), ((symbol as u64) << 32 | u64::from(kind)).to_le_bytes()].concat()
                })
                .collect();
            if !data.is_empty() {
                rows.push(table(&format!(".rel{}", section.name), 9, 3, (n + FIRST) as u32, 16, data));
            }
        }
        let mut names = vec![0];
        let offsets: Vec<u32> = rows
            .iter()
            .map(|row| {
                let at = names.len() as u32;
                names.extend(row.0.bytes().chain([0]));
                at
            })
            .collect();
        rows[1].6 = names;

        let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0x33, 4];
        file.resize(16, 0);
        file.extend(2u16.to_le_bytes());
        file.extend(190u16.to_le_bytes());
        file.extend(1u32.to_le_bytes());
        let data_bytes: usize = rows.iter().map(|row| row.6.len()).sum();
        file.extend([0; 16]);
        file.extend((64 + data_bytes as u64).to_le_bytes());
        file.extend((self.capability << 16 | self.capability).to_le_bytes());
        for half in [64u16, 0, 0, 64, rows.len() as u16, 1] {
            file.extend(half.to_le_bytes());
        }
        let mut headers = Vec::new();
        for ((_, kind, flags, link, info, entry, data, size), name) in rows.iter().zip(offsets) {
            headers.extend(name.to_le_bytes());
            headers.extend(kind.to_le_bytes());
            for word in [*flags, 0, file.len() as u64, size.unwrap_or(data.len() as u64)] {
                headers.extend(word.to_le_bytes());
            }
            headers.extend(link.to_le_bytes());
            headers.extend(info.to_le_bytes());
            headers.extend(1u64.to_le_bytes());
            headers.extend(entry.to_le_bytes());
            file.extend(data);
        }
        file.extend(headers);
        file
    }
}

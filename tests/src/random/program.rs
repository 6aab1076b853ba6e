//! A random program as a list of items, and its assembly to code.

use std::collections::HashMap;
use std::fmt;

use warpjit_frontend::tesla::{Chip, Target, assemble, listing};

/// Threads' read-only data, 64 bytes each, loaded to `$r0` to `$r15` at the start.
pub const INPUT: u32 = 0x2_0000;
/// Read-only words that all lanes may read.
pub const CONSTANTS: u32 = 0x1_0000;
/// Words that atomics of all lanes count in.
pub const COUNTERS: u32 = 0x3_0000;
/// Words that lanes of a warp read and write as they like, where the launch is in lock step.
pub const COMMON: u32 = 0x3_1000;
/// 256 bytes of each thread: the first half is the program's, the second gets its registers at the end.
pub const OWN: u32 = 0x4_0000;
/// For each width of access an array with an element of each thread.
pub const PLANES: u32 = 0x8_0000;
/// Bytes of the read-only words.
pub const CONSTANTS_BYTES: u32 = 0x1000;
/// Shared memory below belongs to the launch's header and arguments.
pub const SHARED_START: u32 = 0x80;
/// Shared memory of each warp.
pub const SHARED_WARP: u32 = 0x200;
/// The const bank that holds the addresses of a program's jump table.
pub const TABLE_BANK: u32 = 3;

/// A place in the code.
pub type Label = u32;

/// Part of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// An instruction, and the label that is its target.
    Inst {
        /// Its words.
        word: u64,
        /// Its length in bytes.
        len: u8,
        /// Where it goes.
        target: Option<Label>,
    },
    /// A label for the next instruction.
    Label(Label),
}

/// The launch, and what else the program was made for.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The chip.
    pub chip: Chip,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of local memory of a thread.
    pub local: u32,
    /// Accesses of global memory are in lock step.
    pub lockstep: bool,
    /// Instructions of a warp after which it times out.
    pub max_steps: u64,
    /// Registers are given back.
    pub capture: bool,
}

impl Shape {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Blocks of the grid.
    pub fn blocks(&self) -> u32 {
        self.grid.iter().product()
    }

    /// Whether there is one warp only.
    pub fn single_warp(&self) -> bool {
        self.threads() <= 32 && self.blocks() == 1
    }

    /// Where the part of shared memory begins in which threads exchange words.
    pub fn exchange(&self) -> u32 {
        SHARED_START + self.threads().div_ceil(32) * SHARED_WARP
    }

    /// Bytes of each of the arrays at `PLANES`.
    pub fn plane_bytes(&self) -> u32 {
        self.threads() * self.blocks() * 16
    }

    /// Bytes of shared memory that the program uses.
    pub fn shared_bytes(&self) -> u32 {
        self.exchange() + 4 * self.threads()
    }
}

/// A random program.
#[derive(Clone, Debug)]
pub struct RandomProgram {
    /// The launch.
    pub shape: Shape,
    /// What the threads execute between the prologue and the epilogue.
    pub body: Vec<Item>,
    /// Behind the epilogue: what the body calls.
    pub functions: Vec<Item>,
    /// Targets of indirect branches, in `TABLE_BANK`.
    pub table: Vec<Label>,
    /// Both tiers count the same instructions of threads.
    pub countable: bool,
}

/// Code with the addresses of its labels.
#[derive(Clone, Debug)]
pub struct Code {
    /// The words.
    pub bytes: Vec<u8>,
    /// Where the labels are.
    pub labels: HashMap<Label, u32>,
}

/// Assembles lines of text.
///
/// # Panics
///
/// Where a line is wrong: it is part of the test.
pub fn lines(chip: Chip, text: &str) -> Vec<Item> {
    let assembled = |line: &str| {
        let code = assemble(line, Target::compute(chip)).unwrap_or_else(|e| panic!("{line}: {e}")).code;
        let mut word = [0; 8];
        word[..code.len()].copy_from_slice(&code);
        Item::Inst { word: u64::from_le_bytes(word), len: code.len() as u8, target: None }
    };
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(assembled).collect()
}

/// A short `mov $r0 $r0`, which fills the place before a long instruction.
const PADDING: u32 = 0x1000_8000;

/// Puts a branch target into a word.
fn aim(word: u64, address: u32) -> u64 {
    let place = u64::from(address / 4);
    let (low, high) = (place & 0xffff, place >> 16 & 0x3f);
    word & !(0xffff << 11 | 0x3f << 46) | low << 11 | high << 46
}

impl RandomProgram {
    /// The code. A target that is nowhere is address 0.
    pub fn code(&self) -> Code {
        let mut items = prologue(&self.shape);
        items.extend(&self.body);
        items.extend(epilogue(self.shape.chip));
        items.extend(&self.functions);
        let mut labels = HashMap::new();
        let mut places = Vec::new();
        let (mut address, mut waiting) = (0_u32, Vec::new());
        for item in &items {
            match *item {
                Item::Label(label) => waiting.push(label),
                Item::Inst { len, .. } => {
                    address = address.next_multiple_of(len.into());
                    labels.extend(waiting.drain(..).map(|label| (label, address)));
                    places.push((address, *item));
                    address += u32::from(len);
                }
            }
        }
        labels.extend(waiting.drain(..).map(|label| (label, address)));
        let mut bytes = Vec::new();
        for (address, item) in places {
            while bytes.len() < address as usize {
                bytes.extend_from_slice(&PADDING.to_le_bytes());
            }
            let Item::Inst { mut word, len, target } = item else { continue };
            if let Some(target) = target {
                word = aim(word, labels.get(&target).copied().unwrap_or(0));
            }
            bytes.extend_from_slice(&word.to_le_bytes()[..len.into()]);
        }
        Code { bytes, labels }
    }
}

impl fmt::Display for RandomProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.shape)?;
        let code = self.code();
        if !self.table.is_empty() {
            let table: Vec<_> =
                self.table.iter().map(|label| code.labels.get(label).copied().unwrap_or(0)).collect();
            writeln!(f, "c{TABLE_BANK}[]: {table:x?}")?;
        }
        // What all programs begin and end with is left out.
        let bytes = |items: &[Item]| items.iter().map(length).sum::<usize>();
        let start = bytes(&prologue(&self.shape));
        let calls = code.bytes.len() - bytes(&self.functions);
        let end = calls.saturating_sub(bytes(&epilogue(self.shape.chip)));
        for line in listing(&code.bytes, 0, Target::compute(self.shape.chip)).lines() {
            let address = line.get(..8).and_then(|a| usize::from_str_radix(a, 16).ok()).unwrap_or(0);
            if (start..end).contains(&address) || address >= calls {
                writeln!(f, "{line}")?;
            }
        }
        Ok(())
    }
}

fn length(item: &Item) -> usize {
    match item {
        Item::Inst { len, .. } => (*len).into(),
        Item::Label(_) => 0,
    }
}

/// `$r16` is the thread's number in the grid, `$r23` that in the block, `$r17` its own memory, `$r22` the argument,
/// `$a2` its warp's shared memory, `$r0` to `$r15` its input.
fn prologue(shape: &Shape) -> Vec<Item> {
    let [x, y, _] = shape.block;
    let mut text = format!(
        "long and b32 $r16 $r0 0xffff
        shr u32 $r17 $r0 0x10
        and b32 $r17 $r17 0x3ff
        mov b32 $r18 {x}
        long mul $r17 u16 $r17l u16 $r18l
        long add b32 $r16 $r16 $r17\n"
    );
    if shape.block[2] > 1 {
        text += &format!(
            "shr u32 $r17 $r0 0x1a
            mov b32 $r18 {}
            long mul $r17 u16 $r17l u16 $r18l
            long add b32 $r16 $r16 $r17\n",
            x * y
        );
    }
    text += &format!(
        "long mov b32 $r23 $r16
        long mov b32 $r17 u16 s[0xe]
        mov b32 $r18 {}
        long mul $r17 u16 $r17l u16 $r18l
        long mov b32 $r18 u16 s[0xc]
        long add b32 $r17 $r17 $r18
        mov b32 $r18 {}
        long mul $r17 u16 $r17l u16 $r18l
        long add b32 $r16 $r16 $r17
        shl b32 $r17 $r16 0x8
        add b32 $r17 $r17 {OWN:#x}
        shl b32 $r18 $r16 0x6
        add b32 $r18 $r18 {INPUT:#x}
        shr u32 $r20 $r23 0x5
        shl b32 $r20 $r20 0x9
        add b32 $r20 $r20 {SHARED_START:#x}
        shl $a2 $r20 0x0
        ld b128 $r0q g0[$r18]
        add b32 $r20 $r18 0x10
        ld b128 $r4q g0[$r20]
        add b32 $r20 $r18 0x20
        ld b128 $r8q g0[$r20]
        add b32 $r20 $r18 0x30
        ld b128 $r12q g0[$r20]
        long mov b32 $r22 b32 s[0x10]
        mov b32 $r18 {CONSTANTS:#x}
        mov b32 $r19 {COUNTERS:#x}\n",
        shape.grid[0],
        shape.threads()
    );
    lines(shape.chip, &text)
}

/// Stores `$r0` to `$r15` and what the other registers hold.
fn epilogue(chip: Chip) -> Vec<Item> {
    let mut text = String::new();
    for quad in 0..4 {
        text += &format!("add b32 $r20 $r17 {:#x}\nst b128 g0[$r20] $r{}q\n", 0x80 + quad * 0x10, quad * 4);
    }
    for (n, source) in ["$c0", "$c1", "$c2", "$a1", "$a4"].iter().enumerate() {
        text += &format!("mov $r21 {source}\nadd b32 $r20 $r17 {:#x}\nst b32 g0[$r20] $r21\n", 0xc0 + n * 4);
    }
    text += "exit nop\n";
    lines(chip, &text)
}

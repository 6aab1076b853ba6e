//! Makes random Tesla programs: ifs, loops with breaks, calls, returns and quad sections, filled with random encodings of
//! everything that has a defined result: arithmetic of all kinds, flags, address registers, local, shared, const and global
//! memory, atomics, votes, quad operations. Each thread stores its registers and flags at its end.

use warpjit_frontend::tesla::{
    Chip, Form, Inst, Op, Operand, Row, Target, assemble, decode, decode_word, table,
};
use warpjit_runtime::{Arg, GlobalMode, GlobalSpace};

use super::encodings::{Encoding, put_words};
use super::rng::SplitMix;

/// `$r0` to `$r9` are the program's, 10 and 11 count loops, 12 is the thread's own memory, 13 memory that is only read,
/// 14 a word that all threads use.
const FREE: u64 = 10;
const OWN: u8 = 12;
const READ: u8 = 13;
const COMMON: u8 = 14;
/// Registers of a thread.
pub const REGISTERS: u32 = 15;
/// Bytes of each thread's own memory.
pub const OWN_BYTES: u64 = 128;

const CONDITIONS: [&str; 20] = [
    "l", "e", "le", "g", "lg", "ge", "lge", "u", "lu", "eu", "leu", "gu", "lgu", "geu", "o", "c", "a", "s",
    "nc", "na",
];

/// Builds one program: lines of text, in which a nop stands for each random word until the words are put in.
struct Generator {
    random: SplitMix,
    target: Target,
    lines: Vec<String>,
    words: Vec<(usize, u64)>,
    labels: u32,
    functions: Vec<u32>,
    /// Now and then any register is an address.
    wild: bool,
}

impl Generator {
    fn line(&mut self, text: impl Into<String>) {
        self.lines.push(text.into());
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    fn condition(&mut self) -> String {
        format!("({} $c{})", self.random.pick(&CONDITIONS), self.random.below(4))
    }

    fn instructions(&mut self, most: u64) {
        for _ in 0..1 + self.random.below(most) {
            let word = match self.random.below(4) {
                0 => random_small(&mut self.random, self.target),
                _ => random_word(&mut self.random, self.target, self.wild),
            };
            self.words.push((self.lines.len(), word));
            self.line("nop");
        }
    }

    fn block(&mut self, depth: u32, loops: u32) {
        for _ in 0..1 + self.random.below(3) {
            self.instructions(8);
            if depth == 0 {
                continue;
            }
            match self.random.below(8) {
                0..=2 => self.branch(depth, loops),
                3 | 4 if loops < 2 => self.repeat(depth, loops),
                5 => {
                    if let Some(&function) = self.functions.last() {
                        self.line(format!("call #f{function}"));
                    }
                }
                6 => {
                    self.line("quadon");
                    self.instructions(4);
                    self.line("quadpop");
                }
                _ => {}
            }
        }
    }

    fn branch(&mut self, depth: u32, loops: u32) {
        let (other, join) = (self.label(), self.label());
        self.line(format!("joinat #l{join}"));
        let condition = self.condition();
        self.line(format!("{condition} bra #l{other}"));
        self.block(depth - 1, loops);
        if self.random.one_in(4) && loops > 0 {
            let condition = self.condition();
            self.line(format!("{condition} break"));
        }
        self.line(format!("bra #l{join}"));
        self.line(format!("l{other}:"));
        if !self.random.one_in(3) {
            self.block(depth - 1, loops);
        }
        if self.random.one_in(16) {
            let condition = self.condition();
            self.line(format!("{condition} ret"));
        }
        self.line(format!("l{join}:"));
        self.line("join nop");
    }

    fn repeat(&mut self, depth: u32, loops: u32) {
        let (top, end) = (self.label(), self.label());
        let counter = 10 + loops;
        let from = self.random.below(FREE);
        self.line(format!("breakaddr #l{end}"));
        self.line(format!("and b32 $r{counter} $r{from} 0x3"));
        self.line(format!("l{top}:"));
        self.line(format!("set $c3 # e u32 $r{counter} $r127"));
        self.line("(lg $c3) break");
        self.block(depth - 1, loops + 1);
        self.line(format!("add b32 $r{counter} $r{counter} 0xffffffff"));
        self.line(format!("bra #l{top}"));
        self.line(format!("l{end}:"));
    }

    fn program(mut self) -> Vec<u8> {
        // Where the thread is, and the three addresses.
        self.line("and b32 $r9 $r0 0xff");
        self.line(format!("shl b32 $r{OWN} $r9 {:#x}", OWN_BYTES.trailing_zeros()));
        for (register, parameter) in [(OWN, 0x10), (READ, 0x14), (COMMON, 0x18)] {
            if register != OWN {
                self.line(format!("long mov b32 $r{register} b32 s[{parameter:#x}]"));
            } else {
                self.line(format!("long add b32 $r{OWN} b32 s[0x10] $r{OWN}"));
            }
        }
        self.line(format!("ld b128 $r0q g14[$r{OWN}]"));
        self.line(format!("ld b128 $r4q g3[$r{READ}]"));
        let calls = self.random.below(2);
        for _ in 0..calls {
            let function = self.label();
            self.functions.push(function);
        }
        self.block(3, 0);
        // Everything a thread has goes to memory.
        for n in 0..FREE {
            self.line(format!("st b32 g14[$r{OWN}] $r{n}"));
            self.line(format!("add b32 $r{OWN} $r{OWN} 0x4"));
        }
        for n in 0..4 {
            self.line(format!("mov $r0 $c{n}"));
            self.line(format!("mov $r1 $a{}", n + 1));
            self.line(format!("st b32 g14[$r{OWN}] $r0"));
            self.line(format!("add b32 $r{OWN} $r{OWN} 0x4"));
            self.line(format!("st b32 g14[$r{OWN}] $r1"));
            self.line(format!("add b32 $r{OWN} $r{OWN} 0x4"));
        }
        self.line("exit nop");
        for function in std::mem::take(&mut self.functions) {
            self.line(format!("f{function}:"));
            self.block(1, 2);
            self.line("ret");
        }
        let text = self.lines.join("\n");
        let mut code = match assemble(&text, self.target) {
            Ok(assembly) => assembly.code,
            Err(errors) => panic!("{errors}\n{text}"),
        };
        put_words(&mut code, &self.lines, &self.words, |code, at| {
            let inst = decode(code, at as u32, self.target).unwrap_or_else(|error| panic!("{error}\n{text}"));
            usize::from(inst.len)
        });
        code
    }
}

/// Operations that give the same on every run and cannot fault as they are generated.
fn wanted(row: &Row) -> bool {
    use Op::*;
    row.form == Form::Long
        && matches!(
            row.op,
            Mov | MovFromCreg
                | MovFromAreg
                | MovFromSreg
                | MovToCreg
                | ShlToAreg
                | AddAreg
                | IAdd
                | ISet
                | IMax
                | IMin
                | Shl
                | Shr
                | IMul16
                | IMul24
                | Sad
                | IMad16
                | IMad24
                | Logic
                | Cvt
                | FAdd
                | FMul
                | FMad
                | FSet
                | FMax
                | FMin
                | Slct
                | QuadOp
                | DAdd
                | DMul
                | DFma
                | DMin
                | DMax
                | DSet
                | Rcp
                | Rsqrt
                | Lg2
                | Sin
                | Cos
                | Ex2
                | PreSin
                | PreEx2
                | LdConst
                | LdShared
                | StShared
                | LdLocal
                | StLocal
                | LdGlobal
                | StGlobal
                | Red
                | Atom
                | Vote
                | Nop
        )
}

/// A random long instruction that meets the rules of [`acceptable`].
fn random_word(random: &mut SplitMix, target: Target, wild: bool) -> u64 {
    // Each row alike: then conversions, of which there are many, do not crowd out the rest.
    let op = loop {
        let op = random.pick(Op::ALL);
        if table::rows().iter().any(|row| row.op == op && wanted(row) && row.available(target)) {
            break op;
        }
    };
    let rows: Vec<&Row> =
        table::rows().iter().filter(|row| row.op == op && wanted(row) && row.available(target)).collect();
    loop {
        let row = random.pick(&rows);
        let mut word = Encoding::new(row.value, row.mask, random.bits());
        // Plain, most often without predicate, mostly registers as operands.
        word.set(3, 32, 0);
        if random.below(4) != 0 {
            word.set(0x1f, 39, 0xf);
        }
        if random.below(8) != 0 {
            word.set(1, 25, 0);
            word.set(1, 35, 0);
        }
        if random.below(4) != 0 {
            word.set(3, 23, 0);
            word.set(1, 53, 0);
        }
        let half = row.text.contains("hdst>");
        word.set(0x7f, 2, if half { random.below(2 * FREE) } else { random.below(FREE) });
        for shift in [9, 16, 46] {
            if random.below(8) != 0 {
                let most = if row.text.contains("<lsh>") { 2 * FREE } else { FREE };
                let value = random.below(most);
                word.set(0x7f, shift, value);
            }
        }
        let global = matches!(row.op, Op::LdGlobal | Op::StGlobal | Op::Red | Op::Atom);
        if global && !(wild && random.one_in(4)) {
            let register = match row.op {
                Op::LdGlobal => random.pick(&[OWN, READ]),
                Op::StGlobal => OWN,
                _ => random.pick(&[OWN, COMMON]),
            };
            word.word = word.word & !(0x7f << 9) | u64::from(register) << 9;
        }
        if decode_word(word.word, 0, target).is_ok_and(|inst| acceptable(&inst)) {
            return word.word;
        }
    }
}

/// An instruction with an immediate, or two short ones.
fn random_small(random: &mut SplitMix, target: Target) -> u64 {
    if random.one_in(2) {
        return random_of(random, target, Form::Imm);
    }
    random_of(random, target, Form::Short) | random_of(random, target, Form::Short) << 32
}

fn random_of(random: &mut SplitMix, target: Target, form: Form) -> u64 {
    let graphics = |op| matches!(op, Op::Interp | Op::TexAuto | Op::TexFetch);
    let rows: Vec<&Row> = table::rows()
        .iter()
        .filter(|row| row.form == form && !graphics(row.op) && row.available(target))
        .collect();
    loop {
        let row = random.pick(&rows);
        let noise = if form == Form::Short { random.bits() & 0xffff_fffe } else { random.bits() };
        let mut word = Encoding::new(row.value, row.mask, noise);
        if random.below(4) != 0 {
            word.set(1, 25, 0);
            word.set(3, 23, 0);
        }
        // A mov with an immediate has a wider field.
        let bits = if row.op == Op::Mov && form == Form::Imm { 0x7f } else { 0x3f };
        let half = row.text.contains("SHDST") || row.text.contains("LHDST");
        word.set(bits, 2, if half { random.below(2 * FREE) } else { random.below(FREE) });
        let half = row.text.contains("<ssh>") || row.text.contains("<ish>") || row.text.contains("SHSRC");
        for shift in [9, 16] {
            if (shift == 9 || form == Form::Short) && random.below(8) != 0 {
                let value = random.below(if half { 2 * FREE } else { FREE });
                word.set(0x3f, shift, value);
            }
        }
        if decode_word(word.word, 0, target).is_ok_and(|inst| acceptable(&inst)) {
            return word.word;
        }
    }
}

/// Whether the instruction leaves the reserved registers alone and has a defined result.
fn acceptable(inst: &Inst) -> bool {
    let free = |operand: Operand| match operand {
        Operand::Reg { num, width } => {
            let count = width.bytes().div_ceil(4) as u8;
            num % count == 0 && u64::from(num + count) <= FREE
        }
        _ => true,
    };
    let steps = |operand: Operand| match operand {
        Operand::Shared { addr, .. } | Operand::Const { addr, .. } | Operand::Local { addr } => {
            addr.post_increment.is_none() || matches!(addr.areg, 1..=4)
        }
        _ => true,
    };
    inst.dst.is_none_or(free)
        && inst.srcs().iter().all(|src| steps(src.operand) && src.operand != Operand::Sreg(1))
        // $a7 is one a warp.
        && inst.dst != Some(Operand::Areg(7))
        // A lock taken and never freed would stay.
        && !inst.mods.unlock
}

/// Bytes of all memory but the picture.
pub const BYTES: u64 = 32 * OWN_BYTES + 4096;
/// Bytes of a picture that has a row of so many: tiles are four rows high.
pub const TILED_BYTES: u64 = 4 * BYTES;

/// Windows to `base`, where all bytes are, and to a picture behind it; each window is one or the other. Those of wild
/// programs end early, or are missing.
fn windows(random: &mut SplitMix, base: u64, wild: bool) -> Vec<GlobalSpace> {
    let mut list: Vec<GlobalSpace> = (0..16)
        .map(|index| {
            let bytes = if wild { BYTES - random.below(BYTES / 2) } else { BYTES };
            let tiled = GlobalMode::Tiled2d {
                pitch: BYTES as u32,
                width: bytes as u32,
                height: 1 + random.below(4) as u32,
                tile_mode: 0,
            };
            // Accesses of the program itself are through 3 and 14.
            match index != 3 && index != 14 && random.one_in(3) {
                true => GlobalSpace { index, address: base + BYTES, bytes: TILED_BYTES, mode: tiled },
                false => GlobalSpace { index, address: base, bytes, mode: GlobalMode::Linear },
            }
        })
        .collect();
    if wild {
        list.retain(|_| !random.one_in(8));
    }
    list
}

/// Seeds with this bit give programs that may access any address.
pub const WILD: u64 = 1 << 32;
/// Programs of seeds with this bit see global memory through windows.
pub const WINDOWED: u64 = 1 << 33;

/// Whether the program of a seed may access any address.
pub fn is_wild(seed: u64) -> bool {
    seed & WILD != 0
}

/// The program of a seed, and its chip.
///
/// # Panics
///
/// If the generator writes what does not assemble.
pub fn generate(seed: u64) -> (Chip, Vec<u8>) {
    let mut random = SplitMix::new(seed);
    let chip = random.pick(&[Chip::G80, Chip::G92, Chip::G200, Chip::G200, Chip::Gt215]);
    let generator = Generator {
        random,
        target: Target::compute(chip),
        lines: Vec::new(),
        words: Vec::new(),
        labels: 0,
        functions: Vec::new(),
        wild: is_wild(seed),
    };
    let mut code = generator.program();
    if is_wild(seed) {
        // The addresses are set up by the first instructions: without one of them they point somewhere.
        let at = seed as usize / 3 % 10 * 8;
        code[at..at + 8].copy_from_slice(&NOP.to_le_bytes());
    }
    (chip, code)
}

/// A long `nop`.
pub const NOP: u64 = 0xe000_0000_f000_0001;

/// What a program of a seed is run with: contents of memory, [`BYTES`] and [`TILED_BYTES`] of them, windows and arguments for memory at
/// `base`, const banks, threads.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Contents of memory.
    pub data: Vec<u8>,
    /// Windows to it; none: all see everything.
    pub globals: Vec<GlobalSpace>,
    /// The program's own memory, what is only read, what all use.
    pub args: Vec<Arg>,
    /// Const banks.
    pub consts: Vec<(u32, Vec<u8>)>,
    /// Threads of the block.
    pub threads: u32,
}

impl Setting {
    /// The setting of a seed's program.
    pub fn new(seed: u64, base: u64) -> Setting {
        let mut random = SplitMix::new(!seed);
        let mut data = vec![0; (BYTES + TILED_BYTES) as usize];
        // Words of all kinds: small numbers, floats, special values, noise.
        for word in data.chunks_exact_mut(4) {
            let value = match random.below(6) {
                0 => random.below(8) as u32,
                1 => random.pick(&[
                    0x7f80_0000,
                    0xff80_0000,
                    0x7fc0_0000,
                    0x8000_0000,
                    0x0000_0001,
                    0x7f7f_ffff,
                ]),
                2 => (random.below(64) as f32 - 32.0).to_bits(),
                3 => (random.below(1 << 20) as f32 / 1024.0).to_bits(),
                _ => random.bits() as u32,
            };
            word.copy_from_slice(&value.to_le_bytes());
        }
        let globals = match seed & WINDOWED {
            0 => Vec::new(),
            _ => windows(&mut random, base, is_wild(seed)),
        };
        // In windows addresses count from their start.
        let start = if globals.is_empty() { base } else { 0 };
        let arg = |address: u64| Arg::u32(address as u32);
        let args = vec![arg(start), arg(start + 32 * OWN_BYTES), arg(start + 32 * OWN_BYTES + 2048)];
        let consts = (0..16).map(|bank| (bank, data[64 * bank as usize..][..1024].to_vec())).collect();
        Setting { data, globals, args, consts, threads: if seed.is_multiple_of(4) { 29 } else { 32 } }
    }
}

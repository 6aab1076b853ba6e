//! Makes random Fermi programs: ifs, loops with breaks, calls and jumps, filled with random encodings, accesses to all memories,
//! atomics, locks and barriers. Each thread stores its registers and predicates at its end.

use warpjit_frontend::fermi::{Chip, Family, assemble, decode};

use super::words::{FREE, random_word};
use crate::random::encodings::put_words;
use crate::random::rng::Random;

/// Bytes of global memory of a thread. Behind those of all threads stand [`COMMON_BYTES`] that only atomic operations touch.
pub const OWN_BYTES: u32 = 64;
/// See there.
pub const COMMON_BYTES: u32 = 64;
/// Bytes of shared memory, and of a thread's local memory.
pub const SPACE_BYTES: u32 = 256;

/// A program.
#[derive(Clone, Debug)]
pub struct RandomFermi {
    /// The chip.
    pub chip: Chip,
    /// Its code.
    pub code: Vec<u8>,
    /// Threads of its block.
    pub threads: u32,
}

/// The program of a seed.
///
/// # Panics
///
/// If the generator writes what does not assemble.
pub fn program(seed: u64) -> RandomFermi {
    let mut random = Random::new(seed);
    let chip = random.pick(&[Chip::Gf100, Chip::Gk104]);
    // Several warps only where none stores what another one may load.
    let shared = random.chance(60);
    let warps = if shared { 1 } else { 1 + random.below(3) };
    let threads = if random.chance(25) { 32 * warps - 3 } else { 32 * warps };
    let generator = Generator {
        chip,
        shared,
        windows: random.chance(35),
        local: random.chance(60),
        threads,
        random,
        lines: Vec::new(),
        words: Vec::new(),
        bytes: 0,
        labels: 0,
    };
    RandomFermi { chip, code: generator.program(), threads }
}

struct Generator {
    random: Random,
    chip: Chip,
    /// Whether it accesses shared memory, also through its window.
    shared: bool,
    /// Whether it makes generic addresses.
    windows: bool,
    local: bool,
    threads: u32,
    lines: Vec<String>,
    /// Encodings that take the place of lines.
    words: Vec<(usize, u64)>,
    bytes: u32,
    labels: u32,
}

/// An access: type, bytes, registers.
const TYPES: [(&str, u32); 7] =
    [("u8", 1), ("s8", 1), ("u16", 2), ("s16", 2), ("b32", 4), ("b64", 8), ("b128", 16)];
const CONDITIONS: [&str; 22] = [
    "l", "e", "le", "g", "lg", "ge", "lge", "u", "lu", "eu", "leu", "gu", "lgu", "geu", "no", "nc", "ns",
    "na", "a", "s", "c", "o",
];

impl Generator {
    /// A long instruction; GK104 gets its hints where they belong.
    fn line(&mut self, text: impl Into<String>) {
        if self.chip.family() == Family::Gk104 && self.bytes.is_multiple_of(64) {
            self.lines.push("sched 0x20 0x20 0x20 0x20 0x20 0x20 0x20".into());
            self.bytes += 8;
        }
        self.lines.push(format!("long {}", text.into()));
        self.bytes += 8;
    }

    fn place(&mut self, label: u32) {
        self.lines.push(format!("l{label}:"));
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    /// A guard that may fail in some lanes.
    fn guard(&mut self) -> String {
        let number = self.random.below(7);
        if self.random.chance(50) { format!("$p{number}") } else { format!("(not $p{number})") }
    }

    /// A guard, one with a condition of `$c`, or just that.
    fn condition(&mut self) -> String {
        let guard = self.guard();
        let test = self.random.pick(&CONDITIONS);
        match self.random.below(6) {
            0 => format!("{test} $c"),
            1 => format!("{guard} {test} $c"),
            _ => guard,
        }
    }

    fn some_guard(&mut self) -> String {
        if self.random.chance(30) { self.guard() + " " } else { String::new() }
    }

    fn register(&mut self) -> u32 {
        self.random.below(FREE)
    }

    /// A register group as its text.
    fn group(&mut self, bytes: u32) -> String {
        match bytes {
            8 => format!("$r{}d", 2 * self.random.below(FREE / 2)),
            16 => format!("$r{}q", 4 * self.random.below(FREE / 4)),
            _ => format!("$r{}", self.register()),
        }
    }

    fn instructions(&mut self, most: u32) {
        for _ in 0..1 + self.random.below(most) {
            match self.random.below(10) {
                0..=6 => self.word(),
                7 if self.shared && self.chip == Chip::Gf100 && self.random.chance(20) => self.two_loads(),
                7 | 8 => self.access(),
                _ => self.atomic(),
            }
        }
    }

    /// A random encoding; sometimes all lanes of a quad execute it.
    fn word(&mut self) {
        let quad = self.random.chance(5);
        if quad {
            self.line("quadon");
        }
        let word = random_word(&mut self.random, self.chip);
        self.line("nop");
        self.words.push((self.lines.len() - 1, word));
        if quad {
            self.line("quadpop");
        }
    }

    /// GF100's two loads in one instruction.
    fn two_loads(&mut self) {
        let (first, second) = (self.register(), self.register());
        let mut pick = || {
            let (ty, bytes) = TYPES[self.random.below(5) as usize];
            (ty, bytes * self.random.below(8))
        };
        let ((ty, at), (other, from)) = (pick(), pick());
        self.masked_address("", 4);
        let guard = self.some_guard();
        self.line(format!(
            "{guard}ld {ty} $r{first} s[$r13+{at:#x}] ldu {other} $r{second} g[$r14+{from:#x}]"
        ));
    }

    /// `$r13` gets an aligned address from a register: below twice a small space's size, so that some are beyond it.
    fn masked_address(&mut self, guard: &str, bytes: u32) {
        let (from, most) = (self.register(), self.random.pick(&[0x1f, 0x7f, 0xff, 0x1ff]));
        self.line(format!("{guard}and b32 $r13 $r{from} {:#x}", most & !(bytes - 1)));
    }

    /// Where windows are in c0[].
    fn window(&self) -> u32 {
        if self.chip.family() == Family::Gk104 { 0x20 } else { 0 }
    }

    fn param(&self) -> u32 {
        if self.chip.family() == Family::Gk104 { 0x140 } else { 0x20 }
    }

    /// `$r13` gets a generic address, the own global memory's in some lanes.
    fn generic_address(&mut self, bytes: u32) {
        self.line("mov b32 $r13 $r14");
        let mut spaces = Vec::new();
        if self.shared {
            spaces.push(self.window());
        }
        spaces.push(self.window() + 4);
        for window in spaces {
            let guard = self.guard() + " ";
            self.masked_address(&guard, bytes);
            self.line(format!("{guard}add b32 $r13 $r13 c0[{window:#x}]"));
        }
    }

    /// A load or a store.
    fn access(&mut self) {
        let (ty, bytes) = self.random.pick(&TYPES);
        let (guard, data) = (self.some_guard(), self.group(bytes));
        let load = self.random.chance(55);
        let cache = if load {
            self.random.pick(&["ca", "cg", "cs", "cv"])
        } else {
            self.random.pick(&["wb", "cg", "cs", "wt"])
        };
        let place = match self.random.below(6) {
            0 if self.shared => {
                self.masked_address("", bytes);
                let offset = self.random.below(4) * bytes;
                let text = format!("s[$r13+{offset:#x}]");
                let text =
                    if load { format!("ld {ty} {data} {text}") } else { format!("st {ty} {text} {data}") };
                return self.line(guard + &text);
            }
            1 if self.local => {
                self.masked_address("", bytes);
                format!("l[$r13+{:#x}]", self.random.below(4) * bytes)
            }
            2 => {
                let (bank, from) = (1 + self.random.below(17), self.register());
                let offset = self.random.below(64);
                return self.line(format!("{guard}ld {ty} {data} c{bank}[$r{from}+{offset:#x}]"));
            }
            3 if self.windows => {
                self.generic_address(bytes);
                "g[$r13]".into()
            }
            _ => {
                let offset = self.random.below(OWN_BYTES / bytes) * bytes;
                let base = self.random.pick(&["$r14", "$r14d"]);
                if load && self.chip == Chip::Gf100 && self.random.chance(20) {
                    return self.line(format!("{guard}ldu {ty} {data} g[{base}+{offset:#x}]"));
                }
                format!("g[{base}+{offset:#x}]")
            }
        };
        let text = if load {
            format!("ld {ty} {data} {cache} {place}")
        } else {
            format!("st {ty} {cache} {place} {data}")
        };
        self.line(guard + &text);
    }

    /// An atomic operation: on what all threads of a warp share, on the own memory, or through windows.
    fn atomic(&mut self) {
        let place = match self.random.below(3) {
            // Warps have no order among each other.
            0 if self.threads <= 32 => {
                let (param, offset) =
                    (self.param(), self.threads * OWN_BYTES + 8 * self.random.below(COMMON_BYTES / 8));
                self.line(format!("mov b32 $r13 c0[{param:#x}]"));
                self.line(format!("add b32 $r13 $r13 {offset:#x}"));
                "g[$r13]".to_owned()
            }
            1 if self.windows => {
                self.generic_address(8);
                "g[$r13]".to_owned()
            }
            _ => format!("g[$r14+{:#x}]", 8 * self.random.below(OWN_BYTES / 8)),
        };
        let guard = self.some_guard();
        let (to, value) = (self.register(), self.register());
        let wide = 2 * self.random.below(FREE / 2);
        let pair = 2 * self.random.below(FREE / 2 - 1);
        let op = self.random.pick(&["add", "min", "max", "inc", "dec", "and", "or", "xor"]);
        let signed = self.random.pick(&["add", "min", "max"]);
        let text = match self.random.below(10) {
            0 => format!("red {op} u32 {place} $r{value}"),
            1 => format!("red {signed} s32 {place} $r{value}"),
            2 => format!("red add f32 {place} $r{value}"),
            3 => format!("add u64 {place} $r{wide}d"),
            4 => format!("ld {signed} s32 $r{to} {place} $r{value}"),
            5 => format!("ld add f32 $r{to} {place} $r{value}"),
            6 => format!("exch b32 $r{to} {place} $r{value}"),
            7 => format!("exch b64 $r{wide}d {place} $r{pair}d"),
            8 => format!("cas b32 $r{to} {place} $r{pair} $r{}", pair + 1),
            _ => format!("ld {op} u32 $r{to} {place} $r{value}"),
        };
        self.line(guard + &text);
    }

    /// Adds something to a word of shared memory with its lock.
    fn locked(&mut self) {
        let (again, join) = (self.label(), self.label());
        let (to, more) = (self.register(), self.register());
        let place = format!("s[{:#x}]", 4 * self.random.below(SPACE_BYTES / 4));
        let ty = if self.chip.family() == Family::Gk104 { "" } else { "b32 " };
        let made = if self.chip.family() == Family::Gk104 { "$p5 " } else { "" };
        self.line(format!("joinat #l{join}"));
        self.place(again);
        self.line(format!("ld lock {ty}$p5 $r{to} {place}"));
        self.line(format!("$p5 add b32 $r{to} $r{to} $r{more}"));
        self.line(format!("$p5 st unlock {ty}{made}{place} $r{to}"));
        self.line(format!("(not $p5) bra #l{again}"));
        self.line("join nop");
        self.place(join);
    }

    /// A barrier of all threads, with a result of some kind.
    fn barrier(&mut self) {
        let op = self.random.pick(&["popc", "and", "or"]);
        let (to, number) = (self.register(), self.random.below(16));
        let holds = self.random.pick(&["$p0", "not $p1", "$p2", "0x1"]);
        let number = if self.random.chance(30) {
            self.line(format!("mov b32 $r13 {number:#x}"));
            "$r13".to_owned()
        } else {
            format!("{number:#x}")
        };
        let (first, second) = match self.random.below(3) {
            0 => ("0x1".to_owned(), "0x0".to_owned()),
            1 => ("$p3".to_owned(), format!("$r{to}")),
            _ => ("0x1".to_owned(), format!("$r{to}")),
        };
        self.line(format!("bar {op} {first} {second} {number} 0x0 {holds}"));
    }

    fn block(&mut self, depth: u32, in_loop: bool) {
        for _ in 0..1 + self.random.below(2) {
            self.instructions(7);
            if depth == 0 {
                continue;
            }
            match self.random.below(10) {
                0..=2 => self.branch(depth, in_loop),
                3 if !in_loop => self.repeat(depth),
                4 => self.line("call #function"),
                5 => self.call_by_hand(),
                6 => self.jump_over(depth, in_loop),
                7 => self.table(depth, in_loop),
                8 if self.shared => self.locked(),
                _ => self.long_jump(depth),
            }
        }
    }

    fn branch(&mut self, depth: u32, in_loop: bool) {
        let (other, join) = (self.label(), self.label());
        let condition = self.condition();
        self.line(format!("joinat #l{join}"));
        self.line(format!("{condition} bra #l{other}"));
        self.block(depth - 1, in_loop);
        if in_loop {
            let (condition, way) = (self.condition(), self.random.pick(&["brk", "cont"]));
            self.line(format!("{condition} {way}"));
        } else if self.random.chance(10) {
            let condition = self.condition();
            self.line(format!("{condition} exit"));
        }
        self.line("join nop");
        self.place(other);
        self.block(depth - 1, in_loop);
        self.line("join nop");
        self.place(join);
    }

    /// Goes to one of two blocks by a register.
    fn table(&mut self, depth: u32, in_loop: bool) {
        let [table, first, second, join] = [0; 4].map(|_: u32| self.label());
        let from = self.register();
        self.line(format!("and b32 $r13 $r{from} 0x1"));
        self.line("shl b32 $r13 $r13 wrap 0x3");
        self.line(format!("joinat #l{join}"));
        // No hints of GK104 between the two branches.
        while self.bytes % 64 > 40 || self.bytes.is_multiple_of(64) {
            self.line("nop");
        }
        self.line(format!("bra $r13 #l{table}"));
        self.place(table);
        self.line(format!("bra #l{first}"));
        self.line(format!("bra #l{second}"));
        for label in [first, second] {
            self.place(label);
            self.block(depth - 1, in_loop);
            self.line("join nop");
        }
        self.place(join);
    }

    /// A branch that only a whole warp takes.
    fn jump_over(&mut self, depth: u32, in_loop: bool) {
        let over = self.label();
        let guard = self.guard();
        self.line(format!("{guard} bra allwarp #l{over}"));
        self.block(depth - 1, in_loop);
        self.place(over);
    }

    /// Out of a block to its end, for some lanes before the others.
    fn long_jump(&mut self, depth: u32) {
        let out = self.label();
        self.line(format!("prelongjmp #l{out}"));
        self.block(depth - 1, false);
        let condition = self.condition();
        self.line(format!("{condition} longjmp"));
        self.instructions(4);
        self.line("longjmp");
        self.place(out);
    }

    fn call_by_hand(&mut self) {
        let back = self.label();
        self.line(format!("preret #l{back}"));
        self.line("bra #function");
        self.place(back);
    }

    fn repeat(&mut self, depth: u32) {
        let (again, out) = (self.label(), self.label());
        self.line("mov b32 $r12 0x4");
        self.line(format!("prebrk #l{out}"));
        self.place(again);
        self.line(format!("precont #l{again}"));
        self.line("sub b32 $r12 $c $r12 0x1");
        self.line("set $p6 0x1 eq u32 $r12 0x0");
        self.line("$p6 brk");
        self.block(depth - 1, true);
        self.line("cont");
        self.place(out);
    }

    fn program(mut self) -> Vec<u8> {
        let param = self.param();
        self.line("mov b32 $r0 $tidx");
        self.line(format!("add b32 $r14 (shl $r0 {:#x}) c0[{param:#x}]", OWN_BYTES.trailing_zeros()));
        self.line("mov b32 $r15 0x0");
        for n in 1..FREE {
            self.line(format!("ld b32 $r{n} ca g[$r14+{:#x}]", 4 * n));
        }
        self.line("mov $flags $r3 mask 0xffff");
        for _ in 0..1 + self.random.below(2) {
            self.block(2, false);
            self.barrier();
        }
        for n in 0..FREE {
            self.line(format!("st b32 wb g[$r14+{:#x}] $r{n}", 4 * n));
        }
        self.line("mov $r0 $flags mask 0xffff");
        self.line(format!("st b32 wb g[$r14+{:#x}] $r0", 4 * FREE));
        self.line("exit");
        self.lines.push("function:".into());
        self.instructions(6);
        let condition = self.condition();
        self.line(format!("{condition} ret"));
        self.instructions(3);
        self.line("ret");
        self.assembled()
    }

    fn assembled(self) -> Vec<u8> {
        let text: String = self.lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        let mut code = assemble(&text, self.chip).unwrap_or_else(|error| panic!("{error}\n{text}")).code;
        put_words(&mut code, &self.lines, &self.words, |_, _| 8);
        debug_assert!(decode(&code, 0, self.chip).is_ok());
        code
    }
}

//! Makes random kernels that load from addresses computed from a few registers, and computes what each of their threads loads.

use super::{Line, lines};
use crate::random::rng::SplitMix;

/// The register that adds up what is loaded.
pub const SUM: u32 = 12;
/// Registers that are computed, one after the other.
const COMPUTED: std::ops::RangeInclusive<u32> = 19..=27;
/// The turn of the loop, what grows from turn to turn, and registers for numbers, addresses and what is loaded.
const TURN: u32 = 28;
const GROWS: u32 = 29;
const NUMBER: u32 = 30;
const ADDRESS: u32 = 31;
const LOADED: u32 = 32;
/// Arguments that say where the table is.
const TABLE_ARG: u32 = 1;

/// Where words are loaded from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadSpace {
    /// Shared memory.
    Shared,
    /// Constants.
    Constants,
    /// Global memory.
    Global,
}

/// A register and the greatest number in it.
type Known = (u32, u64);

struct Writer<'a> {
    random: &'a mut SplitMix,
    text: String,
    known: Vec<Known>,
    next: u32,
    words: u64,
}

/// A kernel's middle: loads from shared memory anywhere, from constants and a table of so many words below their end.
/// `known` are the registers that it finds.
pub fn random_loads(random: &mut SplitMix, known: &[Known], words: u64) -> String {
    let mut writer = Writer { random, text: String::new(), known: known.to_vec(), next: 0, words };
    writer.all();
    writer.text
}

impl Writer<'_> {
    fn put(&mut self, line: String) {
        self.text += &line;
        self.text.push('\n');
    }

    fn all(&mut self) {
        let loops = self.random.one_in(2);
        if loops {
            let (from, most) = self.random.pick(&self.known);
            let turns = 2 + self.random.below(3);
            // As much more each turn in all threads, or as a register has, so that threads come to lie at other distances.
            let (grows, step) = match self.random.one_in(2) {
                true => {
                    let step = self.random.pick(&[1, 16, 64, 0x400]);
                    (format!("addi r{GROWS} r{GROWS} {step}"), step)
                }
                false => {
                    let (by, most) = self.random.pick(&self.known);
                    (format!("add r{GROWS} r{GROWS} r{by}"), most)
                }
            };
            self.put(format!("addi r{GROWS} r{from} 0"));
            self.put(format!("loop r{TURN}"));
            self.known.extend([(TURN, turns), (GROWS, most + step * turns)]);
            self.some();
            self.put(grows);
            if self.random.one_in(2) {
                self.put("bar".into());
            }
            self.put(format!("again r{TURN} {turns}"));
            return;
        }
        self.some();
    }

    fn some(&mut self) {
        for _ in 0..4 + self.random.below(10) {
            self.compute();
            if self.random.one_in(2) {
                self.load();
            }
        }
        let (limit, (of, _)) = (self.random.below(20), self.random.pick(&self.known));
        self.put(format!("mov r{NUMBER} {limit}"));
        match self.random.below(3) {
            0 => self.put(format!("if r{of} r{NUMBER}")),
            1 => self.put(format!("if r{NUMBER} r{of}")),
            _ => return self.load(),
        }
        self.load();
        self.load();
        self.put("endif".into());
        self.load();
    }

    /// A register, more often one that was computed lately.
    fn any(&mut self) -> Known {
        let from = if self.random.one_in(2) { self.known.len() - 3 } else { 0 };
        self.random.pick(&self.known[from..])
    }

    /// Computes a register from others.
    fn compute(&mut self) {
        let d = COMPUTED.start() + self.next % (COMPUTED.end() - COMPUTED.start() + 1);
        self.next += 1;
        let ((a, most), (b, other)) = (self.any(), self.any());
        let all = u64::from(u32::MAX);
        let (line, most) = match self.random.below(10) {
            0 | 1 => (format!("add r{d} r{a} r{b}"), most + other),
            2 => {
                let n = self.random.pick(&[1, 3, 16, 64, 0x100, 0xffff]);
                (format!("addi r{d} r{a} {n}"), most + n)
            }
            3 | 4 => {
                let by = 1 + self.random.below(6);
                (format!("shl r{d} r{a} {by}"), most << by)
            }
            5 => {
                let by = self.random.pick(&[1, 1, 2, 3, 4, 16]);
                (format!("shr r{d} r{a} {by}"), most >> by)
            }
            6 => {
                let mask = self.random.pick(&[1, 0xf, 0x1f, 0x3f, 0xff, 0xffff, 0xfff0, 0x3c]);
                (format!("andi r{d} r{a} {mask}"), most.min(mask))
            }
            7 if most <= 0xffff => {
                let by = self.random.pick(&[3, 5, 17, 20, 64, 0x100]);
                self.put(format!("mov r{NUMBER} {by}"));
                (format!("mul r{d} r{a} r{NUMBER}"), most * by)
            }
            7 => (format!("xor r{d} r{a} r{b}"), all),
            8 => (format!("min r{d} r{a} r{b}"), most.min(other)),
            _ => (format!("sub r{d} r{a} r{b}"), all),
        };
        self.put(line);
        self.known.retain(|(register, _)| *register != d);
        self.known.push((d, most.min(all)));
    }

    /// Loads from where a register says.
    fn load(&mut self) {
        let (from, most) = self.any();
        let most = 4 * most;
        self.put(format!("shl r{ADDRESS} r{from} 2"));
        let end = 4 * self.words;
        // Only shared memory has an end that one may reach beyond; offsets do not carry.
        let offset = if most < 1 << 20 { self.random.pick(&[0, 4, 64, 0x100, 0x1200]) } else { 0 };
        match self.random.below(4) {
            0 if most + offset < end => self.put(format!("ldc r{LOADED} r{ADDRESS} {offset}")),
            1 if most < end => {
                self.put(format!("param r{NUMBER} {TABLE_ARG}"));
                self.put(format!("add r{ADDRESS} r{ADDRESS} r{NUMBER}"));
                self.put(format!("ldg r{LOADED} r{ADDRESS}"));
            }
            2 => {
                self.put(format!("shl r{ADDRESS} r{ADDRESS} 2"));
                self.put(format!("lds4 r{LOADED} r{ADDRESS} {}", offset & !15));
                (1..4).for_each(|word| self.put(format!("mix r{SUM} r{}", LOADED + word)));
            }
            _ => self.put(format!("lds r{LOADED} r{ADDRESS} {offset}")),
        }
        self.put(format!("mix r{SUM} r{LOADED}"));
    }
}

/// What a thread's sum is behind a kernel that stores nothing: `load` gives a word of a place, `args` are the launch's.
///
/// # Panics
///
/// Where it is wrong: it is part of a test.
pub fn sum_of_loads(
    source: &str,
    registers: &mut [u32; 40],
    args: &[u32],
    load: impl Fn(LoadSpace, u32) -> u32,
) -> u32 {
    let lines: Vec<Line<'_>> = lines(source).collect();
    let (mut at, mut head, mut skips) = (0, 0, false);
    while let Some(line) = lines.get(at) {
        at += 1;
        let n = |n: usize| line.arg(n);
        let r = |which: usize| registers[n(which) as usize];
        let value = match line.op {
            "endif" => {
                skips = false;
                continue;
            }
            _ if skips => continue,
            "if" => {
                skips = r(0) >= r(1);
                continue;
            }
            "bar" => continue,
            "loop" => {
                head = at;
                0
            }
            "again" => {
                if r(0) + 1 < n(1) {
                    at = head;
                }
                r(0) + 1
            }
            "mov" => n(1),
            "param" => args[n(1) as usize],
            "add" => r(1).wrapping_add(r(2)),
            "sub" => r(1).wrapping_sub(r(2)),
            "xor" => r(1) ^ r(2),
            "min" => r(1).min(r(2)),
            "mul" => r(1).wrapping_mul(r(2)),
            "addi" => r(1).wrapping_add(n(2)),
            "andi" => r(1) & n(2),
            "shl" => r(1) << n(2),
            "shr" => r(1) >> n(2),
            "mix" => r(0).wrapping_mul(5).wrapping_add(r(1)),
            "lds" => load(LoadSpace::Shared, r(1).wrapping_add(n(2))),
            "ldc" => load(LoadSpace::Constants, r(1) + n(2)),
            "ldg" => load(LoadSpace::Global, r(1)),
            "lds4" => {
                let from = r(1).wrapping_add(n(2));
                (0..4).for_each(|k| {
                    registers[(n(0) + k) as usize] = load(LoadSpace::Shared, from.wrapping_add(4 * k))
                });
                continue;
            }
            op => panic!("there is no {op} here"),
        };
        registers[n(0) as usize] = value;
    }
    registers[SUM as usize]
}

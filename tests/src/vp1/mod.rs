//! A direct model of VP1, written from docs/hardware/vp1.md: it executes one bundle at a time on plain values. Tests compare lifted code
//! with it.

mod address;
mod bus;
pub mod random;
mod scalar;
mod vector;

use warpjit_frontend::vp1::Chip;

/// The state that programs see.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// `$r0` to `$r30`.
    pub r: [u32; 31],
    /// `$a`.
    pub a: [u32; 32],
    /// `$x`.
    pub x: [u32; 16],
    /// `$m`.
    pub m: [u32; 64],
    /// `$c`.
    pub c: [u32; 4],
    /// `$l`.
    pub l: [u32; 4],
    /// `$v`.
    pub v: [[u8; 16]; 32],
    /// `$vx`.
    pub vx: [u8; 16],
    /// `$va`, 28 bits.
    pub va: [u32; 16],
    /// `$vc`.
    pub vc: [u32; 4],
    /// `$uc0`.
    pub uc0: u32,
    /// `$uc16`.
    pub uc16: u32,
    /// The data store, raw.
    pub ds: Vec<u8>,
    /// Word address of the next bundle.
    pub pc: u32,
    /// Where control goes behind it, if not on.
    pub pending: Option<u32>,
    /// Whether that is where a `ret` goes.
    from_return: bool,
    /// Whether a call in the delay slot of a `ret` has yet to note what it returns to. (Nobody knows when the hardware
    /// does; the lifter cannot know the address before.)
    late_call: bool,
}

/// How a step ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The next bundle follows.
    Next,
    /// With an exit: bits 0 to 16 of its word.
    Exit(u32),
    /// There is no code.
    Illegal,
}

/// The four words of a bundle.
#[derive(Clone, Copy)]
struct Bundle {
    a: u32,
    s: u32,
    v: u32,
    b: u32,
}

/// Bits `at` to `at + len - 1`.
fn bits(word: u32, at: u32, len: u32) -> u32 {
    word >> at & ((1 << len) - 1)
}

/// The same as a signed number.
fn signed(word: u32, at: u32, len: u32) -> i32 {
    (bits(word, at, len) << (32 - len)) as i32 >> (32 - len)
}

/// The processor's bit operation.
fn bitop(code: u32, a: u32, b: u32) -> u32 {
    (0..32).fold(0, |all, bit| {
        let row = 2 * (a >> bit & 1) + (b >> bit & 1);
        all | (code >> row & 1) << bit
    })
}

/// A register's number after mangling by `$c`.
fn mangle(register: u32, c: u32, word: u32, more: u32) -> usize {
    let selector = bits(word, 5, 4);
    (if selector == 4 {
        register & !3 | (register + more + (c >> 4)) & 3
    } else {
        register ^ (c >> selector & 1)
    }) as usize
}

impl State {
    /// All registers by the names that launches and reports have for them, each with a value for each of its lanes.
    pub fn registers(&self) -> Vec<(String, Vec<u64>)> {
        let files: [(&str, &[u32]); 7] = [
            ("r", &self.r),
            ("a", &self.a),
            ("x", &self.x),
            ("m", &self.m),
            ("c", &self.c),
            ("l", &self.l),
            ("vc", &self.vc),
        ];
        let scalars = files.iter().flat_map(|(class, values)| {
            values.iter().enumerate().map(move |(n, &value)| (format!("{class}{n}"), vec![value.into()]))
        });
        let vectors = self.v.iter().enumerate().map(|(n, v)| (format!("v{n}"), v.map(u64::from).to_vec()));
        let others = [
            ("vx", self.vx.map(u64::from).to_vec()),
            ("va", self.va.map(u64::from).to_vec()),
            ("uc0", vec![self.uc0.into()]),
            ("uc16", vec![self.uc16.into()]),
        ];
        scalars.chain(vectors).chain(others.map(|(name, values)| (name.to_owned(), values))).collect()
    }

    /// All zero.
    pub fn new() -> State {
        State {
            r: [0; 31],
            a: [0; 32],
            x: [0; 16],
            m: [0; 64],
            c: [0x8000; 4],
            l: [0; 4],
            v: [[0; 16]; 32],
            vx: [0; 16],
            va: [0; 16],
            vc: [0; 4],
            uc0: 0,
            uc16: 0,
            ds: vec![0; 8192],
            pc: 0,
            pending: None,
            from_return: false,
            late_call: false,
        }
    }

    /// Executes one bundle.
    pub fn step(&mut self, code: &[u32], chip: Chip) -> Step {
        let Some(len) = fetch(code, self.pc) else { return Step::Illegal };
        let mut bundle = Bundle { a: 0xdf00_0000, s: 0x4f00_0000, v: 0xbf00_0000, b: 0xef00_0000 };
        for &word in &code[self.pc as usize..(self.pc + len) as usize] {
            *match word >> 24 {
                0x00..=0x7f => &mut bundle.s,
                0x80..=0xbf => &mut bundle.v,
                0xc0..=0xdf => &mut bundle.a,
                _ => &mut bundle.b,
            } = word;
        }
        if std::mem::take(&mut self.late_call) {
            self.uc0 = self.pc + len;
        }
        let next = self.pending.unwrap_or(self.pc + len);
        let taken = self.taken(bundle.b);
        let old = self.clone();
        let scalar = scalar::run(&old, &bundle, chip);
        // In the order in which later ones win (docs/hardware/vp1.md section 8).
        scalar.write_moves(self);
        address::run(&old, self, &bundle);
        scalar.write(self, &bundle, chip);
        vector::run(&old, self, &bundle);
        self.branch(&old, bundle.b, next, taken, code);
        let exits = bundle.b >> 24 == 0xff;
        let target = match bundle.b >> 24 {
            0xe0..=0xe7 => ((self.pc & !3) as i32 + 4 * signed(bundle.b, 9, 15)) as u32,
            0xea => bits(bundle.b, 0, 16) * 4,
            _ => old.uc0,
        };
        self.pc = next;
        self.pending = taken.then_some(target);
        self.from_return = bundle.b >> 24 == 0xe8;
        if exits { Step::Exit(bits(bundle.b, 0, 17)) } else { Step::Next }
    }

    fn taken(&self, word: u32) -> bool {
        match word >> 24 {
            0xe0..=0xe7 => {
                let bit = self.c[bits(word, 3, 2) as usize] >> bits(word, 5, 4) & 1;
                (bit == 1) != (bits(word, 25, 1) == 1)
            }
            0xe8 | 0xea => true,
            _ => false,
        }
    }

    fn branch(&mut self, old: &State, word: u32, next: u32, taken: bool, code: &[u32]) {
        let opcode = word >> 24;
        let mut count = 0;
        let mut flag = bits(word, 0, 3);
        match opcode {
            0xe1 | 0xe3 | 0xe5 | 0xe7 => {
                let l = old.l[bits(word, 3, 2) as usize];
                count = if l & 0xff != 0 { l - 1 } else { l | l >> 8 };
                self.l[bits(word, 0, 2) as usize] = count;
            }
            0xf0 => {
                count = bits(word, 0, 16);
                flag = bits(word, 19, 2);
                self.l[flag as usize] = count;
            }
            0xea | 0xef | 0xff => flag = 4,
            _ => {}
        }
        if let Some(c) = self.c.get_mut(flag as usize) {
            *c = *c & !0x2000 | u32::from(count & 0xff == 0) << 13;
        }
        if matches!(opcode, 0xe4..=0xe7) && taken {
            if old.pending.is_some() && old.from_return {
                self.late_call = true;
            } else {
                self.uc0 = next + fetch(code, next).unwrap_or(0);
            }
        }
    }
}

impl Default for State {
    fn default() -> State {
        State::new()
    }
}

/// Words of the bundle at a word address.
fn fetch(code: &[u32], pc: u32) -> Option<u32> {
    let kind = |word: u32| match word >> 24 {
        0xc0..=0xdf => 0,
        0x00..=0x7f => 1,
        0x80..=0xbf => 2,
        _ => 3,
    };
    let words = code.get(pc as usize..)?;
    let most = words.len().min(4 - pc as usize % 4);
    let run = words[..most].windows(2).take_while(|pair| kind(pair[0]) < kind(pair[1])).count();
    (most > 0).then_some(run as u32 + 1)
}

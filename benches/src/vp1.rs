//! Programs for VP1, each with the same computation in plain Rust: a scalar loop, and the decoding of 8 x 8 blocks.
//!
//! The decoder takes macroblocks of 16 x 16: four blocks. For each block it computes the inverse transform and adds it to a
//! prediction, clipped to 0 to 255. The transform is two products with a matrix, first over columns, then over rows; vertical
//! accesses to the data store transpose in between. Coefficients and intermediate results have eight bits, as the registers have.

use std::fmt::Write as _;

use warpjit_frontend::vp1::{Chip, assemble, bundles};
use warpjit_runtime::vp1::{Machine, Nobody, Stop};
use warpjit_runtime::{Config, Error};

/// A program with its yardstick.
pub struct Case {
    /// Name.
    pub name: &'static str,
    /// Source of the program.
    pub source: String,
    /// How often its loop runs.
    pub rounds: u32,
    /// What a round does, and how many of it.
    pub unit: (&'static str, u32),
    data_store: Vec<u8>,
    native: fn(&mut Vec<u8>, u32) -> u32,
}

impl Case {
    /// The code.
    ///
    /// # Panics
    ///
    /// If the source is wrong.
    pub fn code(&self) -> Vec<u8> {
        assemble(&self.source, Chip::G80).unwrap_or_else(|errors| panic!("{}: {errors}", self.name)).code
    }

    /// Bundles that a run executes.
    pub fn bundles(&self) -> u64 {
        let assembly = assemble(&self.source, Chip::G80).unwrap_or_default();
        let words: Vec<u32> =
            assembly.code.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        let at = |label: &str| assembly.labels.get(label).copied().unwrap_or(0) as usize;
        let (start, end) = (at("loop"), at("done"));
        let before = bundles(&words[..start], 0).count() as u64;
        let inside = bundles(&words[start..end], start as u32).count() as u64;
        before + inside * u64::from(self.rounds) + 1
    }

    /// A machine that stands at the program's start.
    pub fn machine(&self, config: &Config) -> Result<Machine, Error> {
        let mut machine = Machine::new(&self.code(), Chip::G80, config)?;
        self.reset(&mut machine)?;
        Ok(machine)
    }

    /// Puts a machine to the start.
    pub fn reset(&self, machine: &mut Machine) -> Result<(), Error> {
        machine.set_pc(0);
        machine.set_r(1, 1)?;
        machine.set_r(2, self.rounds)?;
        machine.set_a(0, 0)?;
        machine.data_store_mut().copy_from_slice(&self.data_store);
        Ok(())
    }

    /// Runs the program, which has been put to its start.
    ///
    /// # Panics
    ///
    /// If it does not exit.
    pub fn run(&self, machine: &mut Machine) -> Result<(), Error> {
        let stop = machine.run(None, &mut Nobody)?;
        assert!(matches!(stop, Stop::Exit { code: 0, .. }), "{}: {stop:?}", self.name);
        Ok(())
    }

    /// The same in Rust: `$r1` and the data store in linear order, afterwards.
    pub fn native(&self) -> (u32, Vec<u8>) {
        let mut memory = linear(&self.data_store);
        let result = (self.native)(&mut memory, self.rounds);
        (result, memory)
    }

    /// Whether a machine holds what Rust computes.
    pub fn holds(&self, machine: &Machine) -> bool {
        let (result, memory) = self.native();
        machine.r(1) == result && linear(machine.data_store()) == memory
    }
}

/// All programs; `share` divides how often their loops run.
pub fn cases(share: u32) -> Vec<Case> {
    vec![scalar(20_000_000 / share), decode(40_000 / share)]
}

/// A data store in the order in which horizontal accesses with stride 0 see it.
fn linear(raw: &[u8]) -> Vec<u8> {
    let mut out = vec![0; raw.len()];
    (0..raw.len()).for_each(|address| out[address] = raw[raw_place(address)]);
    out
}

fn raw_place(address: usize) -> usize {
    let (row, column) = (address & !15, address & 15);
    row | (((row >> 5) & 7) + column) & 15
}

fn scalar(rounds: u32) -> Case {
    let source = "
        mov $r4 0x5bd1
        snop
        snop
        snop
loop:   sub $r2 $c0 $r2 0x1
        mul $r3 $r1 $r4
        { xor $r1 $r3 $r2 | bra not $c0 zf #loop }
        add $r1 $r1 $r3
done:   .align
        exit 0x0
    ";
    let native = |_: &mut Vec<u8>, rounds: u32| {
        let (mut r1, mut r2) = (1u32, rounds);
        loop {
            r2 = r2.wrapping_sub(1);
            let r3 = (i32::from(r1 as i16) * 0x5bd1) as u32;
            r1 = (r3 ^ r2).wrapping_add(r3);
            // Keeps the compiler from seeing more than one round at once.
            r1 = std::hint::black_box(r1);
            if r2 == 0 {
                return r1;
            }
        }
    };
    Case {
        name: "scalar",
        source: source.into(),
        rounds,
        unit: ("round", 1),
        data_store: vec![0; 8192],
        native,
    }
}

/// The matrix of the transform in parts of 128, as multiples of four: what immediates of multiplications hold.
const MATRIX: [[i32; 8]; 8] = matrix();

const fn matrix() -> [[i32; 8]; 8] {
    // Half the cosine of n pi / 16, times 128, in fours; n = 0 stands for the constant term.
    const HALF_COSINES: [i32; 9] = [44, 64, 60, 52, 44, 36, 24, 12, 0];
    let mut out = [[0; 8]; 8];
    let mut i = 0;
    while i < 8 {
        let mut k = 0;
        while k < 8 {
            let angle = (2 * i + 1) * k % 32;
            let angle = if angle > 16 { 32 - angle } else { angle };
            out[i][k] = match angle {
                _ if k == 0 => HALF_COSINES[0],
                9..=16 => -HALF_COSINES[16 - angle],
                _ => HALF_COSINES[angle],
            };
            k += 1;
        }
        i += 1;
    }
    out
}

/// Bytes of a macroblock: coefficients, intermediate results, prediction, output.
const MACROBLOCK: usize = 0x400;

fn decode(rounds: u32) -> Case {
    let mut source = String::from("        mov $r5 0x400\n        mov $a1 $r5\n        .align\nloop:\n");
    // Writing to a string cannot fail.
    let mut put = |text: String| {
        let _ = writeln!(source, "        {text}");
    };
    // Eight vectors from v0 on, transformed to v8 on; the loads and stores stand beside the products.
    let mut pass = |load: &dyn Fn(usize) -> String, store: &dyn Fn(usize) -> String| {
        for n in 0..8 {
            put(load(n));
        }
        for (i, row) in MATRIX.iter().enumerate() {
            for (k, &factor) in row.iter().enumerate() {
                let number = if factor < 0 { factor + 256 } else { factor };
                let product = match k {
                    0 => format!("vmul s rd fract 0 hi # s $v{k} s {number:#x}"),
                    7 => format!("vmac s rn fract 0 hi $v{} s $v{k} s {number:#x}", 8 + i),
                    _ => format!("vmac s rd fract 0 hi # s $v{k} s {number:#x}"),
                };
                // What the row before has given is stored beside the first product of this one.
                match (k, i) {
                    (0, 1..) => put(format!("{{ {} | {product} }}", store(i - 1))),
                    _ => put(product),
                }
            }
        }
        put(store(7));
    };
    for half in [0x00, 0x80] {
        pass(&|n| format!("ldvh $v{n} $a0 {:#x}", half + 16 * n), &|n| {
            format!("stvh $v{} $a0 {:#x}", 8 + n, 0x100 + half + 16 * n)
        });
    }
    for half in [0, 8] {
        pass(&|n| format!("ldvv $v{n} $a0 {:#x}", 0x100 + half + n), &|n| {
            format!("stvv $v{} $a0 {:#x}", 8 + n, 0x100 + half + n)
        });
    }
    for n in 0..16 {
        put(format!("ldvh $v16 $a0 {:#x}", 0x200 + 16 * n));
        put(format!("{{ ldvh $v17 $a0 {:#x} | vxor $v18 $v16 0x80 }}", 0x100 + 16 * n));
        put("vadd s $v18 $v18 $v17".into());
        put("vxor $v18 $v18 0x80".into());
        put(format!("stvh $v18 $a0 {:#x}", 0x300 + 16 * n));
    }
    put("sub $r2 $c0 $r2 0x1".into());
    put("{ add $a0 $a0 $a1 | bra not $c0 zf #loop }".into());
    put("snop".into());
    source.push_str("done:   .align\n        exit 0x0\n");
    let mut data_store = vec![0; 8192];
    let mut state = 1u32;
    for address in 0..8192 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let byte = (state >> 24) as u8;
        data_store[raw_place(address)] = match address % MACROBLOCK {
            // Few coefficients are large.
            0..0x100 if address % 8 > 2 => (byte as i8 / 16) as u8,
            0..0x100 => (byte as i8 / 2) as u8,
            0x200..0x300 => byte,
            _ => 0,
        };
    }
    let native = |memory: &mut Vec<u8>, rounds: u32| {
        for round in 0..rounds {
            let at = round as usize * MACROBLOCK % 8192;
            if let Ok(block) = (&mut memory[at..at + MACROBLOCK]).try_into() {
                decode_macroblock(block);
            }
            std::hint::black_box(&mut *memory);
        }
        1
    };
    Case { name: "decode", source, rounds, unit: ("8 x 8 block", 4), data_store, native }
}

/// Eight vectors transformed: each result is a row of the matrix by all of them, rounded and clipped to eight bits.
fn transform(rows: &[[i16; 16]; 8]) -> [[i16; 16]; 8] {
    let mut out = [[0; 16]; 8];
    for (factors, out) in MATRIX.iter().zip(&mut out) {
        for column in 0..16 {
            let products =
                factors.iter().zip(rows).map(|(&factor, row)| factor as i16 as i32 * i32::from(row[column]));
            out[column] = ((products.sum::<i32>() + 64) >> 7).clamp(-128, 127) as i16;
        }
    }
    out
}

fn decode_macroblock(memory: &mut [u8; MACROBLOCK]) {
    let mut all = [[0i16; 16]; 16];
    for (row, values) in all.iter_mut().enumerate() {
        for (column, value) in values.iter_mut().enumerate() {
            *value = i16::from(memory[16 * row + column] as i8);
        }
    }
    for _ in 0..2 {
        // Along columns, then, transposed, along rows.
        let mut turned = [[0i16; 16]; 16];
        for half in [0, 8] {
            let mut rows = [[0; 16]; 8];
            rows.copy_from_slice(&all[half..half + 8]);
            for (row, values) in transform(&rows).iter().enumerate() {
                for (column, &value) in values.iter().enumerate() {
                    turned[column][half + row] = value;
                }
            }
        }
        all = turned;
    }
    for row in 0..16 {
        for column in 0..16 {
            let (residual, place) = (all[row][column], 16 * row + column);
            memory[0x100 + place] = residual as u8;
            let sum = i16::from(memory[0x200 + place]) + residual;
            memory[0x300 + place] = sum.clamp(0, 255) as u8;
        }
    }
}

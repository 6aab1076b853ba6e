//! Tests global memory at 32-bit addresses, which wrap from 2^32 to 0: memory on both sides, and lanes whose addresses cross from
//! one side to the other. All tiers, vector widths and chunk widths are compared with the same computation in Rust.

use warpjit_runtime::{Access, Arg, Config, Engine, HostLevel, Isa, Launch, Program, Tier};
use warpjit_tests::arrays::{engines, program, random};

/// Bytes of each range of memory: at 0, below 2^32 and from there on. The last is no lane's.
const BYTES: u64 = 1 << 14;
const STARTS: [u64; 3] = [0, (1 << 32) - BYTES, 1 << 32];
/// Where lanes of the other array begin: in the middle of the first range.
const OTHER: u32 = 1 << 13;

/// What a thread `(x, y)` does: it takes `bytes` at `x << shift + y << row`, counted from the array's begin, or from
/// there back, and stores them, each word plus one, at the same place of another array, unless the first word has one
/// of the bits of `skipped`.
#[derive(Clone, Copy, Debug)]
struct Case {
    isa: Isa,
    bytes: u32,
    shift: u32,
    row: u32,
    block: [u32; 2],
    back: bool,
    skipped: u32,
    /// Whether the array that is loaded from passes 2^32, and not the other one.
    loads: bool,
}

impl Case {
    fn program(self) -> Program {
        let Case { isa, bytes, shift, row, back, skipped, .. } = self;
        let (width, vector) = match bytes {
            1 => ("u8", "$r4"),
            2 => ("u16", "$r4"),
            4 => ("b32", "$r4"),
            8 => ("b64", "$r4d"),
            _ => ("b128", "$r4q"),
        };
        let sums: String = (4..4 + bytes.div_ceil(4)).map(|r| format!("add b32 $r{r} $r{r} 0x1\n")).collect();
        let place = format!(
            "shl b32 $r1 $r1 {shift:#x}\nshl b32 $r2 $r2 {row:#x}\nadd b32 $r1 $r1 $r2\n{}",
            if back { "xor b32 $r1 $r1 0xffffffff\nadd b32 $r1 $r1 0x1\n" } else { "" }
        );
        let text = match isa {
            Isa::Tesla => format!(
                "cvt u32 $r1 u16 $r0l\ncvt u32 $r2 u16 $r0h\n{place}add b32 $r0 b32 s[0x14] $r1\n\
                 add b32 $r1 b32 s[0x10] $r1\nld {width} {vector} g14[$r1]\n\
                 mov b32 $r2 {skipped:#x}\nand b32 $c0 # $r4 $r2\n{sums}\
                 (e $c0) st {width} g14[$r0] {vector}\nexit nop\n"
            ),
            _ => format!(
                "mov b32 $r1 $tidx\nmov b32 $r2 $tidy\n{place}add b32 $r8 $r1 c0[0x20]\nadd b32 $r10 $r1 c0[0x24]\n\
                 ld {width} {vector} ca g[$r8]\nand b32 $r2 $r4 {skipped:#x}\n\
                 set $p0 0x1 eq s32 $r2 0x0\n{sums}$p0 st {width} wb g[$r10] {vector}\nexit\n"
            ),
        };
        program(&text, isa, None)
    }

    /// The place of a thread's bytes, from the begin of the array.
    fn place(self, thread: u32) -> u32 {
        let (x, y) = (thread % self.block[0], thread / self.block[0]);
        let place = (x << self.shift) + (y << self.row);
        if self.back { place.wrapping_neg() } else { place }
    }

    fn threads(self) -> u32 {
        self.block[0] * self.block[1]
    }

    /// What memory holds behind; no thread stores where another loads.
    fn model(self, memory: &mut Content, from: u32, to: u32) {
        let old = memory.clone();
        for thread in 0..self.threads() {
            let place = |n: u32, of: u32| of.wrapping_add(self.place(thread)).wrapping_add(n);
            let word = |first: u32| {
                let byte = |n: u32| if n < self.bytes { old.byte(place(n, from)) } else { 0 };
                u32::from_le_bytes([0, 1, 2, 3].map(|n| byte(first + n)))
            };
            if word(0) & self.skipped == 0 {
                for n in 0..self.bytes {
                    let sum = word(n & !3).wrapping_add(1).to_le_bytes();
                    *memory.byte_mut(place(n, to)) = sum[n as usize % 4];
                }
            }
        }
    }
}

/// What each of the stretches holds.
#[derive(Clone, PartialEq, Eq)]
struct Content([Vec<u8>; 3]);

impl Content {
    fn new() -> Content {
        let words = |n| random(BYTES as usize / 4, n).into_iter().flat_map(u32::to_le_bytes).collect();
        Content([1, 2, 3].map(words))
    }

    fn place(address: u32) -> (usize, usize) {
        let range = usize::from(u64::from(address) >= BYTES);
        (range, (u64::from(address) - STARTS[range]) as usize)
    }

    fn byte(&self, address: u32) -> u8 {
        let (range, place) = Self::place(address);
        self.0[range][place]
    }

    fn byte_mut(&mut self, address: u32) -> &mut u8 {
        let (range, place) = Self::place(address);
        &mut self.0[range][place]
    }
}

/// Runs a case on memory that holds `content`; gives what it holds behind.
fn run(engine: &Engine, program: &Program, case: Case, content: &Content, arrays: [u32; 2]) -> Content {
    let memory = engine.memory().unwrap();
    for (&start, bytes) in STARTS.iter().zip(&content.0) {
        memory.map(Some(start), BYTES, Access::ReadWrite).unwrap();
        memory.write(start, bytes).unwrap();
    }
    let launch = Launch::default()
        .grid([1; 3])
        .block([case.block[0], case.block[1], 1])
        .args(arrays.map(Arg::u32).to_vec());
    let report = engine.run(program, &memory, &launch).unwrap();
    assert_eq!(report.fault, None, "{case:?}");
    let read = |start: u64| {
        let mut bytes = vec![0; BYTES as usize];
        memory.read(start, &mut bytes).unwrap();
        bytes
    };
    Content(STARTS.map(read))
}

fn cases() -> Vec<Case> {
    let mut list = Vec::new();
    for isa in [Isa::Tesla, Isa::Fermi] {
        for (bytes, shift) in
            [(1, 0), (2, 1), (4, 2), (8, 3), (4, 3), (4, 4), (8, 4), (16, 4), (4, 5), (1, 2)]
        {
            for back in [false, true] {
                for skipped in [0, 3] {
                    for loads in [true, false] {
                        // A row of threads, and rows of eight and four that lie apart.
                        for (block, row) in [([64, 1], 0), ([8, 8], 8), ([4, 16], 7)] {
                            list.push(Case { isa, bytes, shift, row, block, back, skipped, loads });
                        }
                    }
                }
            }
        }
    }
    list
}

#[test]
fn addresses_begin_again_behind_the_last() {
    let mut engines = engines();
    for (name, config) in [
        ("avx2", Config::default().host(HostLevel::Avx2)),
        ("checked", Config::default().checked_memory(true)),
    ] {
        let config = config.tier(Tier::Jit).threads(1);
        engines.push((name.into(), Engine::new(config).unwrap()));
    }
    let content = Content::new();
    for (number, case) in cases().into_iter().enumerate() {
        let program = case.program();
        // The interpreter always, half of the others by turns: compiling is most of the time.
        let by_turns = |n: usize| n == 0 || n % 2 == number % 2;
        // The border is behind no thread's bytes, the first one's, some in the middle, and before all.
        for thread in [0, 1, 5, 17, 40, 63] {
            let border = case.place(thread.min(case.threads() - 1)).wrapping_neg();
            let arrays = if case.loads { [border, OTHER] } else { [OTHER, border] };
            let mut wanted = content.clone();
            case.model(&mut wanted, arrays[0], arrays[1]);
            assert!(wanted != content);
            for (_, (kind, engine)) in engines.iter().enumerate().filter(|(n, _)| by_turns(*n)) {
                let got = run(engine, &program, case, &content, arrays);
                for (n, (got, wanted)) in got.0.iter().zip(&wanted.0).enumerate() {
                    let wrong = got.iter().zip(wanted).position(|(a, b)| a != b);
                    assert_eq!(wrong, None, "{case:?} at {arrays:x?}, {kind}: range {n}");
                }
            }
        }
    }
}

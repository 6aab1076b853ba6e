//! Runs random kernels with barriers, atomics and loops around them on small grids, in the interpreter and as grid-row code: both
//! must leave the same memory. `WARPJIT_RANDOM=n` sets the number of kernels.

mod support;

use std::fmt::Write;

use support::{launch, program, run};
use warpjit_runtime::{Config, Engine, Tier};

const BLOCKS: u32 = 9;
const USUAL: u64 = 60;
/// Registers that hold results: slots from 3 on.
const REGISTERS: u32 = 5;

/// Splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 32) as u32 % n
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }
}

/// A kernel while it is written.
struct Kernel {
    random: Random,
    text: String,
    values: u32,
    blocks: u32,
    /// Where the words that atomics are on begin.
    behind: u32,
}

/// Words that atomics are on: of all threads, then one for each warp.
const SHARED_BY_ALL: u32 = 24;

impl Kernel {
    fn value(&mut self, what: &str) -> String {
        let v = format!("v{}", self.values);
        self.values += 1;
        let ty = match what.split(' ').next() {
            Some("const") => "ui32",
            Some("icmp") => "mask",
            _ => "i32",
        };
        let _ = writeln!(self.text, "    {v}: {ty} = {what}");
        v
    }

    fn begin(&mut self) -> u32 {
        let number = self.blocks;
        self.blocks += 1;
        let _ = writeln!(self.text, "block{number} at {:#x} insts 2:", 8 * number + 8);
        number
    }

    fn end(&mut self, terminator: &str) {
        let _ = writeln!(self.text, "    {terminator}");
    }

    fn constant(&mut self, bits: u32) -> String {
        self.value(&format!("const {bits}"))
    }

    fn register(&mut self) -> u32 {
        3 + self.random.below(REGISTERS)
    }

    /// Something that a thread knows: thread, block, counter or a register.
    fn source(&mut self) -> String {
        let slot = match self.random.below(6) {
            0 => 0,
            1 => 1,
            2 => 2,
            _ => self.register(),
        };
        self.value(&format!("slot.get s{slot}"))
    }

    /// Changes a register.
    fn compute(&mut self) {
        let (a, b) = (self.source(), self.source());
        let result = match self.random.below(8) {
            0 => self.value(&format!("isub {a}, {b}")),
            1 => self.value(&format!("ixor {a}, {b}")),
            2 => self.value(&format!("imul {a}, {b}")),
            3 => {
                let by = 1 + self.random.below(4);
                let by = self.constant(by);
                self.value(&format!("ishl {a}, {by}"))
            }
            4 => {
                let by = 1 + self.random.below(20);
                let by = self.constant(by);
                self.value(&format!("ushr {a}, {by}"))
            }
            5 => {
                let c = self.source();
                let less = self.value(&format!("icmp ult {a}, {b}"));
                self.value(&format!("select {less}, {c}, {a}"))
            }
            _ => self.value(&format!("iadd {a}, {b}")),
        };
        let to = self.register();
        let _ = writeln!(self.text, "    slot.set s{to}, {result}");
    }

    fn computes(&mut self) {
        for _ in 0..self.random.below(4) {
            self.compute();
        }
    }

    fn barrier(&mut self) {
        let own = self.begin();
        self.end(&format!("barrier 0 arrive wait -> block{}", own + 1));
    }

    /// Each thread leaves a word in shared memory, and takes another thread's.
    fn exchange(&mut self) {
        let own = self.begin();
        self.computes();
        let (tid, two) = (self.value("slot.get s0"), self.constant(2));
        let place = self.value(&format!("ishl {tid}, {two}"));
        let word = self.source();
        let _ = writeln!(self.text, "    store.u32 shared[{place} + 0x80], {word} align 4");
        self.end(&format!("jump block{}", own + 1));
        self.barrier();
        let own = self.begin();
        let turned = match self.random.below(4) {
            0 => self.value("slot.get s0"),
            1 => {
                let by = self.random.below(16);
                let (tid, by) = (self.value("slot.get s0"), self.constant(by));
                self.value(&format!("ixor {tid}, {by}"))
            }
            2 => {
                let (tid, by, mask) = (self.value("slot.get s0"), self.source(), self.constant(127));
                let sum = self.value(&format!("iadd {tid}, {by}"));
                self.value(&format!("iand {sum}, {mask}"))
            }
            _ => {
                let by = self.random.below(128);
                let by = self.constant(by);
                self.value(&format!("splat {by}"))
            }
        };
        let two = self.constant(2);
        let place = self.value(&format!("ishl {turned}, {two}"));
        let word = self.value(&format!("load.u32 shared[{place} + 0x80] align 4"));
        let to = self.register();
        let _ = writeln!(self.text, "    slot.set s{to}, {word}");
        self.computes();
        self.end(&format!("jump block{}", own + 1));
        self.barrier();
    }

    /// An atomic in a block of its own: of a word that many threads add to, or whose greatest they find, which nobody
    /// looks at before the end; or of a word of the warp, in global or in shared memory, whose old value each lane
    /// takes.
    fn atomic(&mut self) {
        let own = self.begin();
        let word = self.source();
        let two = self.constant(2);
        if self.random.one_in(2) {
            let op = self.random.below(3);
            let (which, seven) = (self.source(), self.constant(7));
            let which = self.value(&format!("iand {which}, {seven}"));
            let place = self.value(&format!("ishl {which}, {two}"));
            let (name, area) = (["add", "umax", "xor"][op as usize], self.behind + 32 * op);
            self.value(&format!("atomic.u32 {name} global14[{place} + {area:#x}], {word} align 4"));
            self.end(&format!("jump block{}", own + 1));
            return;
        }
        let (tid, five) = (self.value("slot.get s0"), self.constant(5));
        let warp = self.value(&format!("ushr {tid}, {five}"));
        let op = ["add", "exch", "cas", "umin", "inc"][self.random.below(5) as usize];
        let mut operands = word;
        if op == "cas" {
            let other = self.source();
            operands = format!("{operands}, {other}");
        }
        let guard = if self.random.one_in(3) {
            let (a, b) = (self.source(), self.source());
            let less = self.value(&format!("icmp ult {a}, {b}"));
            Some(less)
        } else {
            None
        };
        let condition = guard.as_ref().map_or(String::new(), |guard| format!(" if {guard}"));
        let old = if self.random.one_in(2) {
            let place = self.value(&format!("ishl {warp}, {two}"));
            self.value(&format!("atomic.u32 {op} shared[{place} + 0x280], {operands} align 4{condition}"))
        } else {
            let bid = self.value("slot.get s1");
            let first = self.value(&format!("ishl {bid}, {two}"));
            let index = self.value(&format!("iadd {first}, {warp}"));
            let place = self.value(&format!("ishl {index}, {two}"));
            let area = self.behind + 96;
            self.value(&format!(
                "atomic.u32 {op} global14[{place} + {area:#x}], {operands} align 4{condition}"
            ))
        };
        let to = self.register();
        let kept = match guard {
            Some(guard) => {
                let before = self.value(&format!("slot.get s{to}"));
                self.value(&format!("select {guard}, {old}, {before}"))
            }
            None => old,
        };
        let _ = writeln!(self.text, "    slot.set s{to}, {kept}");
        self.end(&format!("jump block{}", own + 1));
    }

    /// Exchanges, some of them in a loop: of as many turns in all blocks, or more in some.
    fn part(&mut self) {
        let loops = self.random.one_in(2);
        let own = self.begin();
        if loops {
            let zero = self.constant(0);
            let none = self.value(&format!("splat {zero}"));
            let _ = writeln!(self.text, "    slot.set s2, {none}");
        }
        self.end(&format!("jump block{}", own + 1));
        let head = self.blocks;
        for _ in 0..1 + self.random.below(2) {
            if self.random.one_in(2) {
                self.atomic();
            }
            self.exchange();
        }
        if self.random.one_in(3) {
            self.atomic();
        }
        if !loops {
            return;
        }
        let own = self.begin();
        let (counter, one) = (self.value("slot.get s2"), self.constant(1));
        let counter = self.value(&format!("iadd {counter}, {one}"));
        let _ = writeln!(self.text, "    slot.set s2, {counter}");
        let turns = 1 + self.random.below(4);
        let turns = self.constant(turns);
        let turns = match self.random.below(2) {
            0 => turns,
            _ => {
                let (bid, three) = (self.value("slot.get s1"), self.constant(3));
                let more = self.value(&format!("iand {bid}, {three}"));
                self.value(&format!("iadd {more}, {turns}"))
            }
        };
        let again = self.value(&format!("icmp ult {counter}, {turns}"));
        self.end(&format!("branch {again}, block{head}, block{}", own + 1));
    }

    /// Threads of one block end, from one on.
    fn some_end(&mut self, threads: u32) {
        let own = self.begin();
        let (tid, bid) = (self.value("slot.get s0"), self.value("slot.get s1"));
        let (from, which) = (self.random.below(threads - 1) + 1, self.random.below(BLOCKS));
        let (from, which) = (self.constant(from), self.constant(which));
        let late = self.value(&format!("icmp uge {tid}, {from}"));
        let other = self.value(&format!("icmp ne {bid}, {which}"));
        let (zero, one) = (self.constant(0), self.constant(1));
        let late = self.value(&format!("select {late}, {one}, {zero}"));
        let stays = self.value(&format!("select {other}, {zero}, {late}"));
        let ends = self.value(&format!("icmp ne {stays}, {zero}"));
        self.end(&format!("branch {ends}, block{}, block{}", own + 1, own + 2));
        let exit = self.begin();
        self.end(&format!("leave.exit -> block{exit}"));
    }
}

fn kernel(seed: u64, threads: u32, behind: u32) -> String {
    let mut text = String::from(
        "    slot s0: i32 tid = tid.x\n    slot s1: i32 bid = ctaid.x\n    slot s2: i32 counter\n",
    );
    for register in 0..REGISTERS {
        let _ = writeln!(text, "    slot s{}: i32 r{register}", 3 + register);
    }
    let mut kernel = Kernel { random: Random(seed), text, values: 0, blocks: 0, behind };
    for _ in 0..1 + kernel.random.below(3) {
        if kernel.random.one_in(4) {
            kernel.some_end(threads);
        }
        kernel.part();
    }
    let own = kernel.begin();
    let (tid, bid) = (kernel.value("slot.get s0"), kernel.value("slot.get s1"));
    let size = kernel.constant(threads * 4 * REGISTERS);
    let base = kernel.value(&format!("imul {bid}, {size}"));
    let bytes = kernel.constant(4 * REGISTERS);
    let place = kernel.value(&format!("imul {tid}, {bytes}"));
    let place = kernel.value(&format!("iadd {base}, {place}"));
    for register in 0..REGISTERS {
        let word = kernel.value(&format!("slot.get s{}", 3 + register));
        let _ = writeln!(
            kernel.text,
            "    store.u32 global14[{place} + {:#x}], {word} align 4",
            0x10000 + 4 * register
        );
    }
    kernel.end(&format!("jump block{}", own + 1));
    let exit = kernel.begin();
    kernel.end(&format!("leave.exit -> block{exit}"));
    kernel.text
}

#[test]
fn phases_do_what_the_interpreter_does() {
    let count = std::env::var("WARPJIT_RANDOM").ok().and_then(|n| n.parse().ok()).unwrap_or(USUAL);
    for seed in 0..count {
        // Whole warps, one that is not, less than one; shared memory has room for 128 words.
        let threads = [128, 64, 96, 70, 20][seed as usize % 5];
        // Where there are more blocks, a thread takes several at a time.
        let blocks = if seed % 3 == 0 { 7 * BLOCKS } else { BLOCKS };
        let stored = blocks * threads * REGISTERS;
        let text = kernel(seed, threads, 0x10000 + 4 * stored);
        let kernel = program(&text);
        let launch = launch(blocks, threads);
        let words = (stored + SHARED_BY_ALL + 4 * blocks) as usize;
        let once = |tier, threads, chunk_groups| {
            let engine =
                Engine::new(Config::default().tier(tier).threads(threads).chunk_groups(chunk_groups))
                    .expect("engine");
            let (report, out) = run(&engine, &kernel, &launch, words).expect("launch");
            assert_eq!(report.stats.not_compiled, None);
            (report.fault, out)
        };
        let want = once(Tier::Interp, 1, None);
        assert_eq!(want.0, None);
        for (threads, groups) in [(1, None), (2, None), (1, Some(1)), (2, Some(2)), (1, Some(4))] {
            assert!(
                once(Tier::Jit, threads, groups) == want,
                "seed {seed}, {threads} threads, groups {groups:?}:\n{text}"
            );
        }
    }
}

//! Tests kernels whose addresses depend on tid.x, tid.y and tid.z. One loaded program is launched with blocks of many shapes, so
//! that what compiled code assumed of registers in one launch is wrong in later ones. The interpreter and compiled code of all
//! widths are compared with the same computation in Rust.
//!
//! `WARPJIT_RANDOM=N` runs N programs, `WARPJIT_SEED=S` runs the one of that seed alone.

use warpjit_frontend::Isa;
use warpjit_runtime::{Access, Arg, Config, Engine, Launch, Memory, Program, Tier};
use warpjit_tests::dialects::loads::{LoadSpace, SUM, random_loads, sum_of_loads};
use warpjit_tests::dialects::{ARGS, CONSTANTS_BANK, program};
use warpjit_tests::random::rng::SplitMix;
use warpjit_tests::random::seeds::{all_agree, seeds};

#[path = "block_shapes/kernels.rs"]
mod kernels;

use kernels::{BEGIN, Block, END, KERNELS, PARTNER, SHARED_BYTES, Shared, TILE, Thread, word};

/// Guest addresses of what threads leave, of a table, and of constants where there is no bank of them.
const OUT: u64 = 0x10_0000;
const TABLE: u64 = 0x40_0000;
const CONSTANTS: u64 = 0x60_0000;
/// Words of results that are looked at, of the others.
const OUT_WORDS: usize = 8192;
const TABLE_WORDS: usize = 4096;
const MOST_THREADS: u32 = 512;
/// Launches of a program.
const LAUNCHES: usize = 8;

const SHAPES: [[u32; 3]; 20] = [
    [32, 1, 1],
    [16, 16, 1],
    [16, 2, 1],
    [8, 8, 1],
    [4, 4, 4],
    [16, 3, 1],
    [17, 5, 1],
    [1, 64, 1],
    [64, 1, 1],
    [48, 1, 1],
    [16, 1, 4],
    [2, 16, 2],
    [33, 3, 1],
    [16, 4, 2],
    [16, 4, 8],
    [32, 16, 1],
    [16, 32, 1],
    [64, 2, 2],
    [1, 1, 40],
    [7, 1, 1],
];

fn words(memory: u32, count: usize) -> Vec<u8> {
    (0..count).flat_map(|index| word(memory, index).to_le_bytes()).collect()
}

/// Blocks and grids.
#[derive(Clone, Copy, Debug)]
struct Shape {
    block: [u32; 3],
    grid: [u32; 3],
}

/// All places of a box, x first.
fn places(of: [u32; 3]) -> impl Iterator<Item = [usize; 3]> {
    let [x, y, z] = of.map(|n| n as usize);
    (0..z).flat_map(move |c| (0..y).flat_map(move |b| (0..x).map(move |a| [a, b, c])))
}

impl Shape {
    fn random(random: &mut SplitMix, isa: Isa) -> Shape {
        let mut below = |n: u32| 1 + random.below(n.into()) as u32;
        let depth = if isa == Isa::Tesla { 1 } else { below(2) };
        let grid = [below(3), below(2), depth];
        if below(2) == 1 {
            return Shape { block: random.pick(&SHAPES), grid };
        }
        // Whole rows of sixteen most of the time.
        let x = if below(4) > 1 { 1 << (3 + below(3)) } else { below(64) };
        let y = below((MOST_THREADS / x).min(64));
        let z = if below(3) == 1 { below((MOST_THREADS / x / y).min(64)) } else { 1 };
        Shape { block: [x, y, z], grid }
    }

    fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// What tid.x, tid.y and tid.z count for in the number of a thread's partner, and what is added: squares are turned
    /// over, others rotated.
    fn partners(&self) -> [u32; 4] {
        let [x, y, _] = self.block;
        if x == y { [x, 1, x * y, 0] } else { [1, x, x * y, (x + 1) % self.threads()] }
    }

    fn partner(&self, place: [usize; 3], number: usize) -> usize {
        let [x, y, z] = place;
        let side = self.block[0] as usize;
        match self.block[0] == self.block[1] {
            true => (z * side + x) * side + y,
            false => (number + side + 1) % self.threads() as usize,
        }
    }

    fn args(&self) -> [u32; ARGS] {
        let [x, y, _] = self.block;
        let mut args = [0; ARGS];
        args[..3].copy_from_slice(&[OUT as u32, TABLE as u32, CONSTANTS as u32]);
        args[3..8].copy_from_slice(&[x, y, self.threads(), self.grid[0], self.grid[1]]);
        args[8..].copy_from_slice(&self.partners());
        args
    }

    /// What shared memory begins with; on Tesla arguments are in it.
    fn shared(&self, isa: Isa, bytes: usize) -> Vec<u32> {
        let mut shared: Vec<u32> = (0..bytes / 4).map(|index| word(0, index)).collect();
        if isa == Isa::Tesla {
            shared[4..4 + ARGS].copy_from_slice(&self.args());
        }
        shared
    }

    /// What all threads of a launch leave.
    fn wanted(&self, isa: Isa, shared_bytes: usize, model: &dyn Fn(&mut Block)) -> Vec<u32> {
        let blocks = places(self.grid).enumerate().flat_map(|(block_number, block)| {
            let thread = |(number, place)| {
                let partner = self.partner(place, number);
                Thread { place, number, partner, block, block_number, sum: block_number as u32 }
            };
            let threads = places(self.block).enumerate().map(thread).collect();
            let mut shared = self.shared(isa, shared_bytes);
            if isa == Isa::Tesla {
                // And the block.
                shared[3] = (block[0] | block[1] << 16) as u32;
            }
            let mut block = Block { threads, shared: Shared(shared) };
            model(&mut block);
            block.threads.into_iter().map(|thread| thread.sum)
        });
        blocks.collect()
    }

    fn launch(&self, isa: Isa, shared_bytes: usize) -> Launch {
        let bytes = |words: Vec<u32>| words.into_iter().flat_map(u32::to_le_bytes).collect();
        let banks = if isa == Isa::Gcn { vec![] } else { vec![(CONSTANTS_BANK, words(2, TABLE_WORDS))] };
        Launch::default()
            .grid(self.grid)
            .block(self.block)
            .args(self.args().map(Arg::u32).to_vec())
            .consts(banks)
            .shared(bytes(self.shared(isa, shared_bytes)))
    }
}

/// An engine with memory that the table and the constants are in.
struct Host {
    config: Config,
    engine: Engine,
    memory: Memory,
}

impl Host {
    fn new(config: Config) -> Host {
        let engine = Engine::new(config.clone()).unwrap();
        let memory = engine.memory().unwrap();
        memory.map(Some(OUT), 4 * OUT_WORDS as u64, Access::ReadWrite).unwrap();
        for (place, number, count) in [(TABLE, 1, TABLE_WORDS), (CONSTANTS, 2, TABLE_WORDS)] {
            memory.map(Some(place), 4 * count as u64, Access::ReadWrite).unwrap();
            memory.write(place, &words(number, count)).unwrap();
        }
        Host { config, engine, memory }
    }

    /// Runs a launch; gives the share of compiled code, or what is wrong.
    fn check(&mut self, program: &Program, launch: &Launch, wanted: &[u32]) -> Result<f64, String> {
        self.memory.write(OUT, &[0xee; 4 * OUT_WORDS]).unwrap();
        let report = self.engine.run(program, &self.memory, launch).map_err(|e| e.to_string())?;
        if let Some(fault) = report.fault {
            return Err(format!("{fault:?}"));
        }
        let mut bytes = vec![0; 4 * OUT_WORDS];
        self.memory.read(OUT, &mut bytes).unwrap();
        let got = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
        let all = wanted.iter().copied().chain(std::iter::repeat(0xeeee_eeee));
        let wrong: Vec<_> = all.zip(got).enumerate().filter(|(_, (a, b))| a != b).collect();
        match wrong.first() {
            Some((n, (wanted, got))) => {
                Err(format!("{} results are wrong, number {n} is {got:#x}, not {wanted:#x}", wrong.len()))
            }
            None => Ok(report.stats.jit_share),
        }
    }
}

/// The interpreter, compiled code with one thread and with two, and one of the other ways.
fn hosts(random: &mut SplitMix) -> Vec<Host> {
    let jit =
        |threads, chunk_groups| Config::default().tier(Tier::Jit).threads(threads).chunk_groups(chunk_groups);
    let checked = jit(1, None).checked_memory(true);
    let auto = jit(2, None).tier(Tier::Auto).hot_after(Some(1));
    let others =
        [jit(1, Some(1)), jit(2, Some(2)), jit(1, Some(4)), jit(2, Some(8)), jit(1, Some(16)), checked, auto];
    let interpreter = jit(1, None).tier(Tier::Interp);
    let other = others[random.below(others.len() as u64) as usize].clone();
    [interpreter, jit(1, None), jit(2, None), other].map(Host::new).into()
}

/// Assembles the middle of a kernel, which is modelled by a function of it and the launch's arguments, and launches it
/// with some shapes, one after the other; gives the share of compiled code where all is to be compiled.
fn check(
    random: &mut SplitMix,
    isa: Isa,
    middle: &str,
    shared_bytes: usize,
    model: &dyn Fn(&mut Block, &[u32]),
) -> Result<f64, String> {
    let middle = middle.replace("PARTNER", PARTNER);
    let program = program(&[BEGIN, &middle, END].concat(), isa, shared_bytes as u32);
    let mut hosts = hosts(random);
    let mut before = Vec::new();
    let mut compiled = 0.0;
    for _ in 0..LAUNCHES {
        let shape = Shape::random(random, isa);
        let launch = shape.launch(isa, shared_bytes);
        let wanted = shape.wanted(isa, shared_bytes, &|block| model(block, &shape.args()));
        for (n, host) in hosts.iter_mut().enumerate() {
            let share = host.check(&program, &launch, &wanted).map_err(|e| {
                let Config { tier, threads, chunk_groups, checked_memory, .. } = host.config;
                format!(
                    "{isa:?}, {shape:?} behind {before:?}, {tier:?}, {threads} threads, groups {chunk_groups:?}, checked \
                     {checked_memory}, {shared_bytes:#x} bytes: {e}\n{middle}"
                )
            })?;
            compiled += if n == 1 { share / LAUNCHES as f64 } else { 0.0 };
        }
        before.push(shape);
    }
    Ok(compiled)
}

const ISAS: [Isa; 3] = [Isa::Tesla, Isa::Fermi, Isa::Gcn];

/// Runs programs of some seeds, most of which are to be compiled.
fn run(usual: u64, program: impl Fn(u64, &mut SplitMix) -> Result<f64, String>) {
    let seeds = seeds(0, usual);
    let count = seeds.end - seeds.start;
    let compiled = all_agree(seeds, |seed| program(seed, &mut SplitMix::new(seed)));
    assert!(compiled > 0.9 * count as f64, "of {count} programs {compiled} were compiled");
}

#[test]
fn one_program_for_blocks_of_all_shapes() {
    run(15, |seed, random| {
        let kernel = &KERNELS[seed as usize % KERNELS.len()];
        let isa = ISAS[seed as usize / KERNELS.len() % ISAS.len()];
        // All of shared memory, or an end that some threads reach beyond.
        let short = TILE + 16 * random.below(0x200) as usize;
        let bytes = if random.one_in(3) { short } else { SHARED_BYTES };
        check(random, isa, kernel.source, bytes, &|block, _| (kernel.model)(block))
            .map_err(|e| format!("{}: {e}", kernel.name))
    });
}

#[test]
fn loads_from_random_places() {
    run(30, |seed, random| {
        let isa = ISAS[seed as usize % ISAS.len()];
        // Of threads, as `BEGIN` has them, with the greatest there may be.
        let known =
            [(1, 63), (2, 63), (3, 63), (9, 511), (14, 64 * 63), (15, 4 * 63), (16, 68 * 63), (17, 64 * 63)];
        let middle = random_loads(random, &known, TABLE_WORDS as u64);
        let bytes = random.pick(&[SHARED_BYTES, 0x1230, 0x400]);
        check(random, isa, &middle, bytes, &|block, args| {
            block.each(|t, shared| {
                let [x, y, z] = t.place.map(|n| n as u32);
                let mut registers = [0; 40];
                let own = [(1, x), (2, y), (3, z), (9, t.number as u32), (SUM as usize, t.sum)];
                let made = [(14, 64 * y), (15, 4 * x), (16, 64 * y + 4 * x), (17, 64 * x)];
                own.into_iter().chain(made).for_each(|(n, word)| registers[n] = word);
                t.sum = sum_of_loads(&middle, &mut registers, args, |place, address| match place {
                    // Tesla's addresses of shared memory have 16 bits.
                    LoadSpace::Shared if isa == Isa::Tesla => shared.get((address & 0xffff) as usize / 4),
                    LoadSpace::Shared => shared.get(address as usize / 4),
                    LoadSpace::Constants => word(2, address as usize / 4),
                    LoadSpace::Global => word(1, (address - TABLE as u32) as usize / 4),
                });
            });
        })
    });
}

//! Random Fermi programs: compiled code leaves in memory what the interpreter does.
//!
//! A program is a random structure of ifs, loops with breaks and calls, filled with random encodings of arithmetic, flags, predicates,
//! votes, shuffles and shared memory. At its end each thread stores its registers and predicates. `WARPJIT_RANDOM=N` runs N programs,
//! `WARPJIT_SEED=N` the one of that seed.

use warpjit_frontend::fermi::{Chip, Form, Inst, Op, Operand, Row, assemble, decode, decode_word, table};
use warpjit_runtime::{
    Access, Arg, Config, Engine, HostLevel, Isa, Launch, Memory, Program, ProgramOptions, Tier,
};

/// xorshift64*
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 33) % limit
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// `$r0` to `$r11` are the program's, 12 counts loops, 14 is the address of the thread's own memory.
const FREE: u64 = 12;
const OWN_BYTES: u64 = 64;
const NOP: u64 = 0x4000_0000_0000_1de4;

struct Generator {
    random: Random,
    chip: Chip,
    lines: Vec<String>,
    words: Vec<(usize, u64)>,
    labels: u32,
}

impl Generator {
    fn line(&mut self, text: impl Into<String>) {
        self.lines.push(text.into());
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    fn guard(&mut self) -> String {
        let number = self.random.below(7);
        if self.random.below(2) == 0 { format!("$p{number}") } else { format!("(not $p{number})") }
    }

    fn instructions(&mut self, most: u64) {
        for _ in 0..1 + self.random.below(most) {
            let word = random_word(&mut self.random, self.chip);
            self.words.push((self.lines.len(), word));
            self.line("long nop");
        }
    }

    fn block(&mut self, depth: u32, in_loop: bool) {
        for _ in 0..1 + self.random.below(2) {
            self.instructions(8);
            if depth == 0 {
                continue;
            }
            match self.random.below(6) {
                0..=2 => self.branch(depth, in_loop),
                3 if !in_loop => self.repeat(depth),
                4 => self.line("long call #function"),
                _ => {}
            }
        }
    }

    fn branch(&mut self, depth: u32, in_loop: bool) {
        let (other, join) = (self.label(), self.label());
        let guard = self.guard();
        self.line(format!("long joinat #l{join}"));
        self.line(format!("long {guard} bra #l{other}"));
        self.block(depth - 1, in_loop);
        if in_loop {
            let guard = self.guard();
            self.line(format!("long {guard} brk"));
        }
        self.line("long join nop");
        self.line(format!("l{other}:"));
        self.block(depth - 1, in_loop);
        self.line("long join nop");
        self.line(format!("l{join}:"));
    }

    fn repeat(&mut self, depth: u32) {
        let (again, out) = (self.label(), self.label());
        self.line("long mov b32 $r12 0x4");
        self.line(format!("long prebrk #l{out}"));
        self.line(format!("l{again}:"));
        self.line(format!("long precont #l{again}"));
        self.line("long sub b32 $r12 $c $r12 0x1");
        self.line("long set $p6 0x1 eq u32 $r12 0x0");
        self.line("long $p6 brk");
        self.block(depth - 1, true);
        self.line("long cont");
        self.line(format!("l{out}:"));
    }

    fn program(mut self) -> Vec<u8> {
        self.line("long mov b32 $r0 $tidx");
        self.line(format!("long add b32 $r14 (shl $r0 {:#x}) c0[0x20]", OWN_BYTES.trailing_zeros()));
        for n in 1..FREE {
            self.line(format!("long ld b32 $r{n} ca g[$r14+{:#x}]", 4 * n));
        }
        self.line("long mov $flags $r3 mask 0xffff");
        self.block(2, false);
        for n in 0..FREE {
            self.line(format!("long st b32 wb g[$r14+{:#x}] $r{n}", 4 * n));
        }
        self.line("long mov $r0 $flags mask 0xffff");
        self.line(format!("long st b32 wb g[$r14+{:#x}] $r0", 4 * FREE));
        self.line("long exit");
        self.line("function:");
        self.instructions(6);
        self.line("long $p1 ret");
        self.instructions(3);
        self.line("long ret");
        let text: String = self.lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        let mut code = assemble(&text, self.chip).unwrap_or_else(|error| panic!("{error}\n{text}")).code;
        let mut at = 0;
        let mut words = self.words.iter().peekable();
        for (number, line) in self.lines.iter().enumerate() {
            if line.ends_with(':') {
                continue;
            }
            if let Some((_, word)) = words.next_if(|(line, _)| *line == number) {
                code[at..at + 8].copy_from_slice(&word.to_le_bytes());
                at += 8;
                continue;
            }
            at += usize::from(
                decode(&code, at as u32, self.chip).unwrap_or_else(|e| panic!("{e}\n{text}")).len,
            );
        }
        code
    }
}

/// Operations that give the same on every run and cannot fault.
fn wanted(row: &Row) -> bool {
    use Op::*;
    matches!(row.form, Form::Long(_))
        && (row.op.is_video()
            || matches!(
                row.op,
                FMinMax
                    | FSet
                    | FSetP
                    | FFma
                    | FSlct
                    | QuadOp
                    | FAdd
                    | FMul
                    | PreSin
                    | PreEx2
                    | Cos
                    | Sin
                    | Ex2
                    | Lg2
                    | Rcp
                    | Rsqrt
                    | Rcp64h
                    | Rsqrt64h
                    | DMinMax
                    | DSet
                    | DSetP
                    | DFma
                    | DAdd
                    | DMul
                    | IMinMax
                    | ISet
                    | ISetP
                    | IMad
                    | Ins
                    | ISlct
                    | Sad
                    | IScAdd
                    | IAdd
                    | IMul
                    | Shr
                    | Shl
                    | Logic
                    | Ext
                    | BFind
                    | CSet
                    | CSetP
                    | PSet
                    | PSetP
                    | Cvt
                    | Selp
                    | Prmt
                    | Mov
                    | MovFromFlags
                    | MovToFlags
                    | Nop
                    | Vote
                    | Popc
                    | LdConst
            ))
}

fn random_word(random: &mut Random, chip: Chip) -> u64 {
    let op = loop {
        let op = random.pick(Op::ALL);
        if table::rows().iter().any(|row| row.op == op && wanted(row)) {
            break op;
        }
    };
    let rows: Vec<&Row> = table::rows().iter().filter(|row| row.op == op && wanted(row)).collect();
    loop {
        let row = random.pick(&rows);
        let mut word = row.value | random.next() & !row.mask;
        let mut set = |bits: u64, shift: u32, value: u64| {
            let mask = bits << shift & !row.mask;
            word = word & !mask | value << shift & mask;
        };
        // No join; most often no guard; mostly registers as operands, pairs even.
        set(1, 4, 0);
        if random.below(4) != 0 {
            set(15, 10, 7);
        }
        for shift in [14, 20, 49] {
            if random.below(8) != 0 {
                let value = random.below(FREE / 2) * 2;
                set(0x3f, shift, value);
            }
        }
        let kind = random.below(6);
        if kind < 3 {
            set(3, 46, 0);
            let value = random.below(FREE / 2) * 2;
            set(0xf_ffff, 26, value);
        }
        if decode_word(word, 0, chip).is_ok_and(|inst| acceptable(&inst)) {
            return word;
        }
    }
}

fn acceptable(inst: &Inst) -> bool {
    let free = |operand: Operand| match operand {
        Operand::Reg { num: 63, .. } => true,
        Operand::Reg { num, width } => {
            let count = width.bytes().div_ceil(4) as u8;
            num % count == 0 && u64::from(num + count) <= FREE
        }
        Operand::Const { space, .. } => space < 18,
        _ => true,
    };
    inst.dst.is_none_or(free)
        && inst.srcs().iter().all(|src| free(src.operand))
        && inst.pdst != Some(6)
        && inst.pdst2 != Some(6)
}

fn engines() -> Vec<(String, Engine)> {
    let mut engines = Vec::new();
    let mut add = |name: String, config: Config| {
        if let Ok(engine) = Engine::new(Config { threads: 1, ..config }) {
            engines.push((name, engine));
        }
    };
    add("interp".into(), Config { tier: Tier::Interp, ..Config::default() });
    for groups in [1, 2, 4] {
        for host in [HostLevel::Native, HostLevel::Sse41] {
            let config = Config { tier: Tier::Jit, chunk_groups: Some(groups), host, ..Config::default() };
            add(format!("jit {groups} {host:?}"), config);
        }
    }
    add("jit checked".into(), Config { tier: Tier::Jit, checked_memory: true, ..Config::default() });
    engines
}

const BYTES: u64 = 32 * OWN_BYTES;

fn run(engine: &Engine, program: &Program, seed: u64) -> (Option<String>, Vec<u8>) {
    let mut random = Random::new(!seed);
    let mut memory: Memory = engine.memory().unwrap();
    let base = memory.map(None, BYTES, Access::ReadWrite).unwrap();
    let mut data = vec![0; BYTES as usize];
    // Words of all kinds: small numbers, floats, special values, noise.
    for word in data.chunks_exact_mut(4) {
        let value = match random.below(6) {
            0 => random.below(8) as u32,
            1 => random.pick(&[0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x8000_0000, 0x0000_0001, 0x7f7f_ffff]),
            2 => (random.below(64) as f32 - 32.0).to_bits(),
            3 => (random.below(1 << 20) as f32 / 1024.0).to_bits(),
            _ => random.next() as u32,
        };
        word.copy_from_slice(&value.to_le_bytes());
    }
    memory.write(base, &data).unwrap();
    let launch = Launch {
        grid: [1, 1, 1],
        block: [if seed.is_multiple_of(4) { 29 } else { 32 }, 1, 1],
        args: vec![Arg::u32(base as u32)],
        consts: (1..18).map(|bank| (bank, data[64 * bank as usize..][..512].to_vec())).collect(),
        max_steps: 200_000,
        ..Launch::default()
    };
    let report = engine.run(program, &mut memory, &launch).unwrap();
    memory.read(base, &mut data).unwrap();
    (report.fault.map(|fault| format!("{:?} at {:#x}", fault.kind, fault.pc)), data)
}

fn generate(seed: u64) -> (Chip, Vec<u8>) {
    let random = Random::new(seed);
    let chip = Chip::Gf100;
    (chip, Generator { random, chip, lines: Vec::new(), words: Vec::new(), labels: 0 }.program())
}

fn compare(
    engines: &[(String, Engine)],
    seed: u64,
    code: &[u8],
    chip: Chip,
) -> Result<Option<String>, String> {
    let options = ProgramOptions {
        raw: true,
        chip: Some(chip.name().into()),
        registers: Some(16),
        ..ProgramOptions::new(Isa::Fermi)
    };
    let program = Program::load(code, &options).map_err(|error| error.to_string())?;
    let wanted = run(&engines[0].1, &program, seed);
    let others = &engines[1..];
    for n in [seed, seed / others.len() as u64 + seed + 1] {
        let (name, engine) = &others[(n % others.len() as u64) as usize];
        let got = run(engine, &program, seed);
        if wanted.0 != got.0 {
            return Err(format!("seed {seed}, {name}: {:?}, want {:?}", got.0, wanted.0));
        }
        if let Some(at) = (0..got.1.len()).find(|&n| got.1[n] != wanted.1[n]) {
            let word = |data: &[u8]| data[at & !3..][..4].iter().rev().fold(0, |w, b| w << 8 | u32::from(*b));
            return Err(format!(
                "seed {seed}, {name}: lane {} word {}: {:x}, want {:x}",
                at as u64 / OWN_BYTES,
                at as u64 % OWN_BYTES / 4,
                word(&got.1),
                word(&wanted.1)
            ));
        }
    }
    Ok(wanted.0)
}

/// Takes instructions out as long as tiers disagree: what is left is easier to look at.
fn reduce(engines: &[(String, Engine)], seed: u64, code: &[u8], chip: Chip) -> Vec<u8> {
    let mut best = code.to_vec();
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..best.len() - 7).step_by(8) {
            let mut fewer = best.clone();
            fewer[at..at + 8].copy_from_slice(&NOP.to_le_bytes());
            if fewer != best && compare(engines, seed, &fewer, chip).is_err() {
                best = fewer;
                changed = true;
            }
        }
    }
    best
}

#[test]
fn compiled_code_agrees_with_the_interpreter() {
    let engines = engines();
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(seed) = number("WARPJIT_SEED") {
        let (chip, code) = generate(seed);
        if let Err(error) = compare(&engines, seed, &code, chip) {
            let code = reduce(&engines, seed, &code, chip);
            panic!("{error}\n{}", warpjit_frontend::fermi::listing(&code, 0, chip));
        }
        return;
    }
    let count = number("WARPJIT_RANDOM").unwrap_or(60);
    let (mut faults, mut failures) = (0, Vec::new());
    for seed in 1..=count {
        let (chip, code) = generate(seed);
        match compare(&engines, seed, &code, chip) {
            Ok(Some(_)) => faults += 1,
            Ok(None) => {}
            Err(error) => failures.push(error),
        }
    }
    assert!(failures.is_empty(), "{} of {count} differ\n{}", failures.len(), failures.join("\n"));
    assert!(faults * 4 < count, "{faults} of {count} programs fault");
}

//! Compares random programs of GCN's scalar unit among vector code with the direct model.

use warpjit_frontend::Isa;
use warpjit_frontend::gcn::{Generation, assemble};
use warpjit_runtime::{Access, Config, Engine, HostLevel, Launch, Memory, Program, ProgramOptions, Tier};

use super::{Arg, BASE, Item, OFFSET, RESOURCE, State};
use crate::engines::GCN_WAYS;
use crate::random::rng::{Random, SplitMix};

/// Memory that scalar instructions reach, of which a resource describes the first part; results go behind it.
const MEMORY: u64 = 0x20_0000;
const BYTES: usize = 0x200;
const RECORDS: usize = 0x80;
const RESULTS: u64 = 0x21_0000;
/// Scalar and vector registers of which results are compared.
const SCALARS: std::ops::Range<u8> = 8..40;
const VECTORS: u8 = 15;

/// A program, the state it starts with, and how its results are shown.
pub struct ScalarCase {
    generation: Generation,
    program: super::Program,
    start: State,
    /// Whether all registers are compared at the end, or only what the program itself stores.
    captured: bool,
}

/// What a way of running shows: words with their names, in a fixed order.
type Shown = Vec<(String, u32)>;

impl ScalarCase {
    /// The program of a seed.
    pub fn new(seed: u64) -> ScalarCase {
        let mut random = SplitMix::new(seed);
        let generation = Generation::ALL[(seed % 4) as usize];
        let program = super::program(generation, &mut random);
        let mut words = Random::new(seed);
        let mut start = State {
            s: (0..128).map(|_| words.word()).collect(),
            v: (0..16).map(|_| std::array::from_fn(|_| words.word())).collect(),
            scc: false,
            mode: 0,
            memory: (0..BYTES).map(|_| words.bits() as u8).collect(),
            records: RECORDS,
        };
        for lane in 0..64 {
            start.v[1][lane] = lane as u32;
        }
        (start.s[124], start.s[126], start.s[127]) = (0, u32::MAX, u32::MAX);
        let (base, resource) = (usize::from(BASE), usize::from(RESOURCE));
        (start.s[base], start.s[base + 1]) = (MEMORY as u32, 0);
        start.s[usize::from(OFFSET)] = random.below(0x98) as u32;
        // A raw buffer of 32-bit words.
        start.s[resource..resource + 4].copy_from_slice(&[MEMORY as u32, 0, RECORDS as u32, 0x0002_4fac]);
        ScalarCase { generation, program, start, captured: random.one_in(2) }
    }

    /// The lines with what shows their results behind the first `s_endpgm`'s place.
    fn text(&self) -> String {
        let head = "  s_setreg_imm32_b32 hwreg(1, 0, 10), 0\n  s_cmp_lg_u32 0, 0\n";
        let tail = if self.captured {
            let scalars = "  s_cselect_b32 s72, 1, 0\n  s_getreg_b32 s73, hwreg(1, 0, 32)\n";
            let masks = "  s_mov_b64 s[74:75], exec\n  s_mov_b64 s[76:77], vcc\n  s_mov_b32 s78, m0\n";
            format!("{scalars}{masks}  s_endpgm\n")
        } else {
            let mut text = String::from("  s_cselect_b32 s72, 1, 0\n  s_mov_b64 exec, -1\n");
            for (n, (_, place)) in self.stored().iter().enumerate() {
                text += &match place {
                    Arg::S(106) => "  v_mov_b32_e32 v14, vcc_lo\n".to_owned(),
                    Arg::S(107) => "  v_mov_b32_e32 v14, vcc_hi\n".to_owned(),
                    Arg::S(s) => format!("  v_mov_b32_e32 v14, s{s}\n"),
                    Arg::V(v) => format!("  v_mov_b32_e32 v14, v{v}\n"),
                    _ => unreachable!("a register"),
                };
                text += &format!("  s_movk_i32 s73, {:#x}\n", 256 * n);
                text += "  buffer_store_dword v14, v15, s[64:67], s73 offen\n";
            }
            text + "  s_endpgm\n"
        };
        let body = self.program.text();
        format!("{head}{}", body.replacen("  s_endpgm\n", &tail, 1))
    }

    /// What a program that shows few results shows.
    fn stored(&self) -> Vec<(String, Arg)> {
        let all = [Arg::S(8), Arg::S(17), Arg::S(22), Arg::S(31), Arg::S(106), Arg::S(107), Arg::S(72)];
        let scalars = all.map(|arg| (format!("{arg:?}"), arg));
        let vectors = [0, 1, 3, 4, 7, 9].map(|v| (format!("V({v})"), Arg::V(v)));
        scalars.into_iter().chain(vectors).collect()
    }

    /// What the model shows. None if the program takes too long.
    fn model(&self) -> Option<Shown> {
        let mut state = self.start.clone();
        super::run(&self.program, self.generation, &mut state)?;
        state.s[72] = state.scc.into();
        let mut shown = Shown::new();
        if self.captured {
            shown.extend(SCALARS.chain([72]).map(|n| (format!("s{n}"), state.s[usize::from(n)])));
            shown.push(("mode".into(), state.mode));
            for (name, first) in [("exec", 126), ("vcc", 106)] {
                shown.push((format!("{name}_lo"), state.s[first]));
                shown.push((format!("{name}_hi"), state.s[first + 1]));
            }
            shown.push(("m0".into(), state.s[124]));
            for v in 0..VECTORS {
                let lanes = state.v[usize::from(v)];
                shown.extend((0..64).map(|lane| (format!("v{v}[{lane}]"), lanes[lane])));
            }
        } else {
            for (name, place) in self.stored() {
                shown.extend((0..64).map(|lane| {
                    let word = match place {
                        Arg::V(v) => state.v[usize::from(v)][lane],
                        Arg::S(s) => state.s[usize::from(s)],
                        _ => unreachable!("a register"),
                    };
                    (format!("{name}[{lane}]"), word)
                }));
            }
        }
        let words = state.memory.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("four")));
        shown.extend((0..).zip(words).map(|(at, word)| (format!("memory {:#x}", 4 * at), word)));
        Some(shown)
    }

    fn run(&self, tier: Tier, host: HostLevel, groups: Option<u8>) -> Result<(Shown, f64), String> {
        let code = assemble(&self.text(), self.generation).map_err(|errors| format!("{errors:?}"))?;
        let options = ProgramOptions::new(Isa::Gcn)
            .raw(true)
            .chip(Some(self.generation.into()))
            .registers(Some(16))
            .sgprs(Some(80));
        let program = Program::load(&code.code, &options).expect("assembled code is code");
        let mut registers: Vec<(String, Vec<u64>)> = (8..72)
            .map(|n| (format!("s{n}"), vec![self.start.s[n].into()]))
            .chain((0..15).map(|n| (format!("v{n}"), self.start.v[n].iter().map(|&v| v.into()).collect())))
            .collect();
        registers.extend(
            ["vcc_lo", "vcc_hi"].iter().zip(106..).map(|(n, s)| ((*n).into(), vec![self.start.s[s].into()])),
        );
        registers.push(("v15".into(), (0..64).map(|lane| 4 * lane).collect()));
        let results = [RESULTS, 0, 0x1_0000, 0x0002_4fac];
        registers.retain(|(name, _)| !["s64", "s65", "s66", "s67"].contains(&name.as_str()));
        registers.extend((64..).zip(results).map(|(n, word)| (format!("s{n}"), vec![word])));
        let launch = Launch::default()
            .grid([1; 3])
            .block([64, 1, 1])
            .registers(registers)
            .capture_registers(self.captured);
        let config = Config::default().tier(tier).host(host).chunk_groups(groups).threads(1);
        let engine = Engine::new(config).expect("a config that exists");
        let memory = Memory::new().expect("there is address space");
        memory.map(Some(MEMORY), 0x1000, Access::ReadWrite).expect("the address is free");
        memory.map(Some(RESULTS), 0x4000, Access::ReadWrite).expect("the address is free");
        memory.write(MEMORY, &self.start.memory).expect("it is mapped");
        let report = engine.run(&program, &memory, &launch).expect("the launch is right");
        if let Some(fault) = report.fault {
            return Err(format!("{fault:?}"));
        }
        let mut shown = Shown::new();
        if self.captured {
            let registers = &report.registers;
            let one = |name: &str| registers[name][0] as u32;
            shown.extend(SCALARS.chain([72]).map(|n| (format!("s{n}"), one(&format!("s{n}")))));
            let masks = ["mode", "exec_lo", "exec_hi", "vcc_lo", "vcc_hi", "m0"];
            shown.extend(masks.iter().zip(73..).map(|(name, n)| ((*name).into(), one(&format!("s{n}")))));
            for v in 0..VECTORS {
                let name = format!("v{v}");
                let lanes = &registers[&name];
                shown.extend((0..64).map(|lane| (format!("{name}[{lane}]"), lanes[lane] as u32)));
            }
        } else {
            let stored = self.stored();
            let mut bytes = vec![0; 256 * stored.len()];
            memory.read(RESULTS, &mut bytes).expect("it is mapped");
            let words: Vec<u32> =
                bytes.chunks(4).map(|w| u32::from_le_bytes(w.try_into().expect("four"))).collect();
            for (n, (name, _)) in stored.iter().enumerate() {
                shown.extend((0..64).map(|lane| (format!("{name}[{lane}]"), words[64 * n + lane])));
            }
        }
        let mut bytes = vec![0; BYTES];
        memory.read(MEMORY, &mut bytes).expect("it is mapped");
        let words = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("four")));
        shown.extend((0..).zip(words).map(|(at, word)| (format!("memory {:#x}", 4 * at), word)));
        Ok((shown, report.stats.jit_share))
    }

    /// Runs it in all ways; gives the share of compiled code.
    ///
    /// # Errors
    ///
    /// What differs from the model first.
    ///
    /// # Panics
    ///
    /// Where the runtime refuses the program.
    pub fn check(&self) -> Result<f64, String> {
        let Some(wanted) = self.model() else { return Err("the model takes too long".into()) };
        let ways = [(Tier::Interp, HostLevel::Native, None)];
        let compiled = GCN_WAYS.map(|(host, groups)| (Tier::Jit, host, groups));
        let mut least = 1.0f64;
        for (tier, host, groups) in ways.into_iter().chain(compiled) {
            let (got, share) = self.run(tier, host, groups)?;
            if tier == Tier::Jit {
                least = least.min(share);
            }
            let difference = wanted.iter().zip(&got).find(|(a, b)| a != b);
            if let Some(((name, a), (_, b))) = difference {
                return Err(format!("{name}: {a:x} in the model, {b:x} in {tier:?} {host:?} {groups:?}"));
            }
        }
        Ok(least)
    }

    /// The program without lines that it fails without, as text.
    pub fn reduced(mut self) -> String {
        let mut last = self.check().err();
        for step in [16, 8, 4, 2, 1, 1] {
            let mut at = self.program.items.len();
            while at > 0 {
                at = at.saturating_sub(step);
                let whole = self.program.clone();
                let end = (at + step).min(whole.items.len());
                let stays = |item: &Item| matches!(item, Item::Label(_) | Item::End | Item::Return);
                let range = (at..end).filter(|&n| !stays(&whole.items[n])).collect::<Vec<_>>();
                for &n in range.iter().rev() {
                    self.program.items.remove(n);
                }
                match self.check() {
                    Err(text) if !range.is_empty() && !text.contains("too long") => last = Some(text),
                    _ => self.program = whole,
                }
            }
        }
        let registers =
            self.start.s.iter().enumerate().map(|(n, value)| format!("s{n}={value:x} ")).collect::<String>();
        format!("{} captured {}: {last:?}\n{}{registers}", self.generation, self.captured, self.text())
    }
}

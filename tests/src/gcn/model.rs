//! The model of a wave: executes a program from its list of instructions.

use std::collections::HashMap;

use warpjit_frontend::gcn::Generation;

use super::operations::CONDITIONS;
use super::program::{Arg, EXEC, Ins, Item, M0, Program, VCC};
use super::scalar_model::{logic, scalar};

/// What a wave has.
#[derive(Clone, Debug)]
pub struct State {
    /// Scalar registers by the numbers of operands: VCC is 106 and 107, M0 124, EXEC 126 and 127.
    pub s: Vec<u32>,
    /// Vector registers.
    pub v: Vec<[u32; 64]>,
    /// SCC.
    pub scc: bool,
    /// MODE.
    pub mode: u32,
    /// Memory that scalar instructions reach.
    pub memory: Vec<u8>,
    /// Bytes of it that the resource describes.
    pub records: usize,
}

/// Runs a program. None if it takes too long.
pub fn run(program: &Program, generation: Generation, state: &mut State) -> Option<()> {
    let labels: HashMap<u32, usize> = program
        .items
        .iter()
        .enumerate()
        .filter_map(|(at, item)| if let Item::Label(label) = item { Some((*label, at)) } else { None })
        .collect();
    let (mut at, mut back) = (0, 0);
    // What waits at forks: mask and place.
    let mut forks: Vec<(u64, usize)> = Vec::new();
    for _ in 0..20_000 {
        let item = program.items.get(at)?;
        at += 1;
        match item {
            Item::Ins(ins) => state.instruction(ins, generation),
            Item::Label(_) => {}
            Item::Branch(name, to) => {
                let (vcc, exec) = (state.pair(VCC), state.pair(EXEC));
                let taken = match *name {
                    "s_cbranch_scc0" => !state.scc,
                    "s_cbranch_scc1" => state.scc,
                    "s_cbranch_vccz" => vcc == 0,
                    "s_cbranch_vccnz" => vcc != 0,
                    "s_cbranch_execz" => exec == 0,
                    "s_cbranch_execnz" => exec != 0,
                    _ => true,
                };
                if taken {
                    at = labels[to];
                }
            }
            Item::Call { to, direct } => {
                // The sum of a far label's address has no carry.
                state.scc &= direct;
                back = at;
                at = labels[to];
            }
            Item::Return => at = back,
            Item::Fork { pair, to, computed } => {
                state.scc &= !computed;
                let (exec, mask) = (state.pair(EXEC), state.pair(*pair));
                let (pass, fail) = (exec & mask, exec & !mask);
                let target = labels[to];
                if fail == 0 {
                    at = target;
                } else if pass != 0 {
                    let first = pass.count_ones() <= fail.count_ones();
                    let entry = if first { (fail, at) } else { (pass, target) };
                    // The entry is in SGPRs of the program; where code lies is not known here.
                    let base = 4 * forks.len() as u8;
                    state.set_pair(base, entry.0);
                    forks.push(entry);
                    state.mode += 1 << 29;
                    state.set_pair(EXEC, if first { pass } else { fail });
                    at = if first { target } else { at };
                }
            }
            Item::Join { saved } => {
                if state.s[usize::from(*saved)] & 7 != forks.len() as u32 {
                    let (mask, place) = forks.pop()?;
                    state.mode -= 1 << 29;
                    state.set_pair(EXEC, mask);
                    at = place;
                }
            }
            Item::GetReg { dst, id, offset, bits } => {
                let status = u32::from(state.scc)
                    | u32::from(state.pair(EXEC) == 0) << 9
                    | u32::from(state.pair(VCC) == 0) << 10;
                let value = if *id == 1 { state.mode } else { status };
                state.s[usize::from(*dst)] = (u64::from(value >> offset) & ((1 << bits) - 1)) as u32;
            }
            Item::SetReg { value, offset, bits } => {
                let value = state.read(*value, 1, false) as u32;
                let mask = ((1u32 << bits) - 1) << offset;
                state.mode = state.mode & !mask | value << offset & mask;
            }
            Item::End => return Some(()),
        }
    }
    None
}

impl State {
    fn pair(&self, n: u8) -> u64 {
        let n = usize::from(n);
        u64::from(self.s[n]) | u64::from(self.s[n + 1]) << 32
    }

    fn set_pair(&mut self, n: u8, value: u64) {
        let n = usize::from(n);
        (self.s[n], self.s[n + 1]) = (value as u32, (value >> 32) as u32);
    }

    fn set(&mut self, arg: Arg, dwords: u8, value: u64) {
        match arg {
            Arg::S(n) if dwords == 2 => self.set_pair(n, value),
            Arg::S(n) => self.s[usize::from(n)] = value as u32,
            _ => unreachable!("no scalar register"),
        }
    }

    /// A scalar source; `signed` ones of 64 bits extend literals by their sign.
    fn read(&self, arg: Arg, dwords: u8, signed: bool) -> u64 {
        const FLOATS: [f64; 8] = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0];
        let wide = dwords == 2;
        let value = match arg {
            Arg::S(n) if wide => self.pair(n),
            Arg::S(n) => self.s[usize::from(n)].into(),
            Arg::Int(value) => i64::from(value) as u64,
            Arg::Float(n) if wide => FLOATS[usize::from(n)].to_bits(),
            Arg::Float(n) => (FLOATS[usize::from(n)] as f32).to_bits().into(),
            Arg::Literal(value) if signed => value as i32 as i64 as u64,
            Arg::Literal(value) => value.into(),
            Arg::Vccz => (self.pair(VCC) == 0).into(),
            Arg::Execz => (self.pair(EXEC) == 0).into(),
            Arg::Scc => self.scc.into(),
            Arg::V(_) => unreachable!("a vector register"),
        };
        if wide { value } else { value & 0xffff_ffff }
    }

    fn lane(&self, arg: Arg, lane: usize) -> u32 {
        if let Arg::V(n) = arg { self.v[usize::from(n)][lane] } else { self.read(arg, 1, false) as u32 }
    }

    fn index(&self, arg: Arg) -> usize {
        match arg {
            Arg::S(n) | Arg::V(n) => n.into(),
            _ => 0,
        }
    }

    fn instruction(&mut self, ins: &Ins, generation: Generation) {
        let name = ins.name.as_str();
        if let Some(stem) = name.strip_suffix("_saveexec_b64").or(name.strip_suffix("_wrexec_b64")) {
            let exec = self.pair(EXEC);
            let result = logic(stem, self.read(ins.args[1], 2, false), exec).expect("a logic operation");
            self.set(ins.args[0], 2, if name.contains("wrexec") { result } else { exec });
            self.set_pair(EXEC, result);
            self.scc = result != 0;
        } else if name.starts_with("s_movrel") || name.contains("gpr_idx") {
            self.relative(ins);
        } else if name.starts_with("s_load") || name.starts_with("s_buffer") || name.starts_with("s_store") {
            self.memory(ins, generation);
        } else if name.starts_with("s_") {
            self.scalar(ins);
        } else {
            self.vector(ins);
        }
    }

    fn scalar(&mut self, ins: &Ins) {
        let (to, from) = ins.kinds.split_once('=').expect("kinds have it");
        let width = |kinds: &str, n: usize| kinds.as_bytes().get(n).map_or(1, |kind| kind - b'0');
        let signed = ins.name.ends_with("_i64");
        let (old, sources) = if to.is_empty() {
            (0, &ins.args[..])
        } else {
            (self.read(ins.args[0], width(to, 0), false), &ins.args[1..])
        };
        let constant = u64::from(ins.constant);
        let (a, b) = if from == "k" {
            (constant, 0)
        } else {
            let source = |n: usize| sources.get(n).map_or(0, |&arg| self.read(arg, width(from, n), signed));
            (source(0), source(1))
        };
        let (value, scc) = scalar(&ins.name, a, b, old, self.scc).unwrap_or_else(|| panic!("{}", ins.name));
        if let Some(value) = value {
            self.set(ins.args[0], width(to, 0), value);
        }
        self.scc = scc.unwrap_or(self.scc);
    }

    /// What M0 chooses a register for.
    fn relative(&mut self, ins: &Ins) {
        let m0 = self.s[usize::from(M0)];
        let at = |arg: Arg| self.index(arg) + m0 as usize;
        match ins.name.as_str() {
            "s_movrels_b32" => {
                let value = self.s[at(ins.args[1])];
                self.set(ins.args[0], 1, value.into());
            }
            "s_movrels_b64" => {
                let value = self.pair(at(ins.args[1]) as u8);
                self.set(ins.args[0], 2, value);
            }
            "s_movreld_b32" => {
                let place = at(ins.args[0]);
                self.s[place] = self.read(ins.args[1], 1, false) as u32;
            }
            "s_movreld_b64" => {
                let place = at(ins.args[0]) as u8;
                let value = self.read(ins.args[1], 2, false);
                self.set_pair(place, value);
            }
            "s_set_gpr_idx_on" => {
                let index = self.read(ins.args[0], 1, false) as u32 & 0xff;
                self.s[usize::from(M0)] = m0 & !0xf0ff | index | ins.constant << 12;
                self.mode |= 1 << 27;
            }
            "s_set_gpr_idx_idx" => {
                let index = self.read(ins.args[0], 1, false) as u32 & 0xff;
                self.s[usize::from(M0)] = m0 & !0xff | index;
            }
            "s_set_gpr_idx_mode" => self.s[usize::from(M0)] = m0 & !0xf000 | ins.constant << 12,
            _ => self.mode &= !(1 << 27),
        }
    }

    /// Scalar loads and stores: the base is at the memory's begin.
    fn memory(&mut self, ins: &Ins, generation: Generation) {
        let buffer = ins.name.contains("buffer");
        let dwords: usize = ins.name.rsplit_once('x').map_or(1, |(_, count)| count.parse().unwrap_or(1));
        // Constants of 1.0 and 1.1 count dwords.
        let offset = match ins.args.get(2) {
            Some(&register) => self.read(register, 1, false) as usize,
            None if generation <= Generation::Gfx7 => 4 * ins.constant as usize,
            None => ins.constant as usize,
        };
        let first = self.index(ins.args[0]);
        for n in 0..dwords {
            let at = (offset & !3) + 4 * n;
            let inside = !buffer || at + 4 <= self.records & !3;
            if ins.name.contains("store") {
                if inside {
                    self.memory[at..at + 4].copy_from_slice(&self.s[first + n].to_le_bytes());
                }
            } else {
                let word = || u32::from_le_bytes(self.memory[at..at + 4].try_into().expect("four bytes"));
                self.s[first + n] = if inside { word() } else { 0 };
            }
        }
    }

    fn vector(&mut self, ins: &Ins) {
        let exec = self.pair(EXEC);
        let active = |lane: usize| exec >> lane & 1 != 0;
        let name = ins.name.trim_end_matches("_e32").trim_end_matches("_e64");
        match name {
            "v_readlane_b32" => {
                let lane = self.read(ins.args[2], 1, false) as usize & 63;
                let value = self.lane(ins.args[1], lane);
                return self.set(ins.args[0], 1, value.into());
            }
            "v_readfirstlane_b32" => {
                let lane = exec.trailing_zeros() as usize & 63;
                let value = self.lane(ins.args[1], lane);
                return self.set(ins.args[0], 1, value.into());
            }
            "v_writelane_b32" => {
                let (value, lane) =
                    (self.read(ins.args[1], 1, false), self.read(ins.args[2], 1, false) as usize & 63);
                let register = self.index(ins.args[0]);
                self.v[register][lane] = value as u32;
                return;
            }
            _ => {}
        }
        if let Some(rest) = name.strip_prefix("v_cmp") {
            return self.compare(ins, rest);
        }
        // Index mode: sources by bits 0 to 2, the destination by bit 3.
        let m0 = self.s[usize::from(M0)];
        let (index, operands) = if self.mode >> 27 & 1 != 0 { (m0 & 0xff, m0 >> 12) } else { (0, 0) };
        let indexed = |arg: Arg, n: u32| match arg {
            Arg::V(number) if operands >> n & 1 != 0 => Arg::V(number + index as u8),
            other => other,
        };
        let carry_out = name.contains("_co_") || ins.kinds.starts_with("v2=") || ins.kinds.starts_with("v=c");
        let sdst = if ins.kinds.starts_with("v2=") { ins.args[1] } else { Arg::S(VCC) };
        let sources = &ins.args[if ins.kinds.starts_with("v2=") { 2 } else { 1 }..];
        // The mask that is read: the last operand.
        let mask = if ins.kinds.ends_with('2') { self.read(sources[2], 2, false) } else { self.pair(VCC) };
        let (mut carries, mut results) = (0u64, [0u32; 64]);
        for (lane, result) in results.iter_mut().enumerate() {
            let operand = |n: usize| {
                let moved = match name {
                    "v_movrels_b32" => Arg::V((self.index(sources[0]) + m0 as usize) as u8),
                    _ => indexed(sources[n], n as u32),
                };
                self.lane(moved, lane)
            };
            let a = operand(0);
            let b = if sources.len() > 1 { operand(1) } else { 0 };
            let bit = mask >> lane & 1;
            let below = (1u64 << lane) - 1;
            let (wide_a, wide_b) = (u64::from(a), u64::from(b));
            let (value, carry) = match name {
                "v_mov_b32" | "v_movrels_b32" | "v_movreld_b32" => (a, false),
                "v_not_b32" => (!a, false),
                "v_and_b32" => (a & b, false),
                "v_or_b32" => (a | b, false),
                "v_xor_b32" => (a ^ b, false),
                "v_min_i32" => ((a as i32).min(b as i32) as u32, false),
                "v_max_u32" => (a.max(b), false),
                "v_lshlrev_b32" => (b << (a & 31), false),
                "v_lshrrev_b32" => (b >> (a & 31), false),
                "v_ashrrev_i32" => ((b as i32 >> (a & 31)) as u32, false),
                "v_mul_lo_u32" => (a.wrapping_mul(b), false),
                "v_bfi_b32" => (a & b | !a & operand(2), false),
                "v_mbcnt_lo_u32_b32" => ((a & below as u32).count_ones().wrapping_add(b), false),
                "v_mbcnt_hi_u32_b32" => ((a & (below >> 32) as u32).count_ones().wrapping_add(b), false),
                "v_cndmask_b32" => (if bit != 0 { b } else { a }, false),
                _ => match name.split('_').nth(1) {
                    Some("add") => (a.wrapping_add(b), wide_a + wide_b > 0xffff_ffff),
                    Some("addc") => {
                        let sum = wide_a + wide_b + bit;
                        (sum as u32, sum > 0xffff_ffff)
                    }
                    Some("sub") => (a.wrapping_sub(b), a < b),
                    Some("subb") => (a.wrapping_sub(b).wrapping_sub(bit as u32), wide_a < wide_b + bit),
                    Some("subrev") => (b.wrapping_sub(a), b < a),
                    _ => unreachable!("{name}"),
                },
            };
            *result = value;
            carries |= u64::from(carry && active(lane)) << lane;
        }
        let Arg::V(dst) = ins.args[0] else { unreachable!("{name} has a vector destination") };
        let mut dst = usize::from(dst);
        if name == "v_movreld_b32" {
            dst += m0 as usize;
        } else if operands >> 3 & 1 != 0 {
            dst += index as usize;
        }
        (0..64).filter(|&lane| active(lane)).for_each(|lane| self.v[dst][lane] = results[lane]);
        if carry_out {
            self.set(sdst, 2, carries);
        }
    }

    /// `x_lt_u32` and the like behind `v_cmp`; with the `x` EXEC gets the result too.
    fn compare(&mut self, ins: &Ins, rest: &str) {
        let exec = self.pair(EXEC);
        let mut parts = rest.split('_');
        let x = parts.next() == Some("x");
        let condition = parts.next().expect("a condition");
        let bits = CONDITIONS.iter().position(|&c| c == condition).expect("one of the eight");
        let signed = parts.next() == Some("i32");
        let long = ins.kinds.starts_with('2');
        let sources = if long { &ins.args[1..] } else { &ins.args[..] };
        let mut mask = 0;
        for lane in (0..64).filter(|lane| exec >> lane & 1 != 0) {
            let (a, b) = (self.lane(sources[0], lane), self.lane(sources[1], lane));
            let order = if signed { (a as i32).cmp(&(b as i32)) } else { a.cmp(&b) };
            // Less, equal, greater are bits 0 to 2 of the condition's number.
            mask |= ((bits as u64) >> (order as i8 + 1) & 1) << lane;
        }
        self.set(if long { ins.args[0] } else { Arg::S(VCC) }, 2, mask);
        if x {
            self.set_pair(EXEC, mask);
        }
    }
}

//! Makes random GCN programs: scalar instructions among vector ones, in branches, loops, calls and forks.
//!
//! Registers have fixed uses. s0 to s7 are the stack of forks; s8 to s39 hold data; s40 and up hold counters, saved masks and
//! addresses. v0 to v7 hold data, and so do registers up to v14, which indexed accesses reach.

use warpjit_frontend::gcn::Generation;

use super::operations::{CONDITIONS, EXEC_OPERATIONS, LANES, Operation, SCALAR, VECTOR, has};
use super::program::{Arg, EXEC, Ins, Item, M0, Program, VCC};
use crate::random::rng::SplitMix;

/// First registers of loop counters, of saved masks, of saved stack depths.
const COUNTER: u8 = 40;
const SAVED: u8 = 44;
const DEPTH: u8 = 50;
/// The address pair of scalar memory.
pub const BASE: u8 = 56;
/// The offset of scalar memory.
pub const OFFSET: u8 = 58;
/// The resource of scalar buffers.
pub const RESOURCE: u8 = 60;

/// A random program for a generation.
pub fn program(generation: Generation, random: &mut SplitMix) -> Program {
    let lines = 20 + random.below(60) as i32;
    let mut generator = Generator {
        random,
        generation,
        items: Vec::new(),
        left: lines,
        labels: 0,
        functions: Vec::new(),
        inside: false,
    };
    generator.block(0, u64::MAX);
    generator.items.push(Item::End);
    generator.inside = true;
    for label in std::mem::take(&mut generator.functions) {
        generator.items.push(Item::Label(label));
        generator.left = generator.left.max(0) + 6;
        generator.block(2, 6);
        generator.items.push(Item::Return);
    }
    Program { items: generator.items }
}

struct Generator<'a> {
    random: &'a mut SplitMix,
    generation: Generation,
    items: Vec<Item>,
    /// Lines that are still to come.
    left: i32,
    labels: u32,
    functions: Vec<u32>,
    /// In a function.
    inside: bool,
}

impl Generator<'_> {
    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    fn push(&mut self, name: &str, kinds: &'static str, args: Vec<Arg>) {
        self.left -= 1;
        let ins = Ins { name: name.into(), kinds, args, constant: 0, suffix: String::new() };
        self.items.push(Item::Ins(ins));
    }

    fn with_constant(&mut self, name: &str, kinds: &'static str, args: Vec<Arg>, constant: u32) {
        self.push(name, kinds, args);
        if let Some(Item::Ins(ins)) = self.items.last_mut() {
            ins.constant = constant;
        }
    }

    /// A few lines; `depth` is how deep in loops and branches.
    fn block(&mut self, depth: u8, most: u64) {
        let mut here = if most == u64::MAX { i32::MAX } else { 1 + self.random.below(most) as i32 };
        while here > 0 && self.left > 0 {
            here -= 1;
            match self.random.below(if depth < 2 { 30 } else { 24 }) {
                0..=9 => self.scalar(),
                10..=13 => self.vector(),
                14 | 15 => self.lanes(),
                16 | 17 => self.compare(),
                18 => self.exec(),
                19 => self.relative(),
                20 => self.memory(),
                21 => self.hardware(),
                22 => self.skip(depth),
                23 => self.index_mode(),
                24 | 25 => self.divergent_if(depth),
                26 => self.counted_loop(depth),
                27 => self.divergent_loop(depth),
                28 => self.call(),
                _ => self.fork(depth),
            }
        }
    }

    fn operation(&mut self, list: &[Operation]) -> Operation {
        loop {
            let operation = self.random.pick(list);
            if has(operation.2, self.generation) {
                return operation;
            }
        }
    }

    /// A register of so many dwords that may be written.
    fn target(&mut self, dwords: u8) -> u8 {
        match self.random.below(16) {
            0 | 1 => VCC + if dwords == 1 { self.random.below(2) as u8 } else { 0 },
            2 if dwords == 1 && self.random.one_in(3) => M0,
            2 if self.random.one_in(4) => EXEC + if dwords == 1 { self.random.below(2) as u8 } else { 0 },
            _ => 8 + dwords * self.random.below(u64::from(32 / dwords)) as u8,
        }
    }

    fn source(&mut self, dwords: u8, literals: bool) -> Arg {
        match self.random.below(24) {
            0..=3 => Arg::Int(self.random.below(81) as i8 - 16),
            4 => Arg::Float(self.random.below(8) as u8),
            5 | 6 if literals => {
                let bits = self.random.bits() as u32;
                // Constants that fit in line would be encoded so; these do not.
                Arg::Literal(self.random.pick(&[
                    bits | 0x100,
                    0x8000_0000 | bits & 0x7f00_ffff | 0x100,
                    0x0010_0007,
                    0xffff_0000,
                ]))
            }
            7 => self.random.pick(&[Arg::Vccz, Arg::Execz, Arg::Scc]),
            8 | 9 => Arg::S(EXEC),
            10 => Arg::S(VCC),
            11 if dwords == 1 => Arg::S(M0),
            _ => Arg::S(8 + dwords * self.random.below(u64::from(32 / dwords)) as u8),
        }
    }

    fn vgpr(&mut self) -> Arg {
        Arg::V(self.random.below(8) as u8)
    }

    /// Operands of the kinds of an operation.
    fn operands(&mut self, kinds: &str) -> Vec<Arg> {
        let (to, from) = kinds.split_once('=').unwrap_or(("", kinds));
        let mut args = Vec::new();
        for kind in to.chars() {
            args.push(match kind {
                'v' => self.vgpr(),
                kind => Arg::S(self.target(kind as u8 - b'0')),
            });
        }
        let mut literal = false;
        let vector = to.starts_with('v') || from.contains('V');
        for kind in from.chars().filter(|kind| !matches!(kind, 'k' | 'c')) {
            let arg = match kind {
                'V' => self.vgpr(),
                'v' if self.random.one_in(2) => self.vgpr(),
                // Vector instructions take one scalar source, and literals only in their short form.
                'v' => self.source(1, false),
                // Masks are registers.
                '2' if vector => Arg::S(self.random.pick(&[VCC, EXEC, 8, 10, 12, 14, 16, 18])),
                kind => self.source(kind as u8 - b'0', !literal && !vector),
            };
            // There is one literal; another source may be the same.
            literal |= matches!(arg, Arg::Literal(_));
            args.push(arg);
        }
        args
    }

    fn scalar(&mut self) {
        let (name, kinds, _) = self.operation(SCALAR);
        let args = self.operands(kinds);
        let any = self.random.bits() as u32 & 0xffff;
        let constant = self.random.pick(&[any, 1, 0xffff, 0x8000, 0]);
        self.with_constant(name, kinds, args, constant);
    }

    fn vector(&mut self) {
        let (name, kinds, _) = self.operation(VECTOR);
        let args = self.operands(kinds);
        self.push(name, kinds, args);
    }

    fn lanes(&mut self) {
        let (name, kinds, _) = self.operation(LANES);
        let mut args = self.operands(kinds);
        // The lane is in a register or one of the constants.
        if let Some(lane) = args.get_mut(2) {
            *lane = match self.random.below(3) {
                0 => Arg::Int(self.random.below(64) as i8),
                1 => Arg::S(M0),
                _ => Arg::S(8 + self.random.below(32) as u8),
            };
        }
        if name == "v_writelane_b32" && !matches!(args[2], Arg::Int(_)) {
            args[1] = Arg::Int(self.random.below(81) as i8 - 16);
        }
        self.push(name, kinds, args);
    }

    /// A vector compare.
    fn compare(&mut self) {
        let x = if self.random.one_in(8) { "x" } else { "" };
        let (condition, kind) = (self.random.pick(&CONDITIONS), self.random.pick(&["i32", "u32"]));
        let (form, kinds) = self.random.pick(&[("e32", "=cvV"), ("e64", "2=vV")]);
        let args = self.operands(kinds);
        self.push(&format!("v_cmp{x}_{condition}_{kind}_{form}"), kinds, args);
    }

    fn exec(&mut self) {
        if self.random.one_in(2) {
            let pair = Arg::S(8 + 2 * self.random.below(16) as u8);
            let lanes = self.random.pick(&[Arg::Int(-1), pair]);
            self.push("s_mov_b64", "2=2", vec![Arg::S(EXEC), lanes]);
        } else {
            let (name, kinds, _) = self.operation(EXEC_OPERATIONS);
            let args = self.operands(kinds);
            self.push(name, kinds, args);
        }
    }

    /// M0 becomes a small number, then an instruction uses it as index.
    fn relative(&mut self) {
        let wide = self.random.one_in(2);
        let some = Arg::S(8 + self.random.below(32) as u8);
        let (index, constant) = (if wide { 6 } else { 7 }, Arg::Int(2 * self.random.below(4) as i8));
        match self.random.below(3) {
            0 => self.push("s_mov_b32", "1=1", vec![Arg::S(M0), constant]),
            _ => self.push("s_and_b32", "1=11", vec![Arg::S(M0), some, Arg::Int(index)]),
        }
        let pair = 8 + 2 * self.random.below(12) as u8;
        let (dst, other) = (self.target(if wide { 2 } else { 1 }), self.vgpr());
        let dst = if matches!(dst, M0 | EXEC | 127) { 8 } else { dst };
        let scalar = self.source(if wide { 2 } else { 1 }, false);
        match (self.random.below(4), wide) {
            (0, false) => self.push("s_movrels_b32", "1=1", vec![Arg::S(dst), Arg::S(pair + 1)]),
            (1, false) => self.push("s_movreld_b32", "1=1", vec![Arg::S(pair + 1), scalar]),
            (0, true) => self.push("s_movrels_b64", "2=2", vec![Arg::S(dst & !1), Arg::S(pair)]),
            (1, true) => self.push("s_movreld_b64", "2=2", vec![Arg::S(pair), scalar]),
            // 1.4 has the index mode instead.
            _ if self.generation == Generation::Gfx9 => {}
            (2, _) => {
                let from = self.vgpr();
                self.push("v_movrels_b32_e32", "v=V", vec![other, from]);
            }
            _ => {
                let from = self.operands("v=v")[1];
                self.push("v_movreld_b32_e32", "v=v", vec![other, from]);
            }
        }
    }

    /// Vector instructions with M0 behind the registers' numbers.
    fn index_mode(&mut self) {
        if self.generation <= Generation::Gfx7 {
            return;
        }
        let index = self.target(1);
        let index = if matches!(index, M0 | EXEC | 127) { 9 } else { index };
        self.push("s_and_b32", "1=11", vec![Arg::S(index), Arg::S(index), Arg::Int(7)]);
        let operands = self.random.below(16) as u32;
        self.with_constant("s_set_gpr_idx_on", "=1k", vec![Arg::S(index)], operands);
        for _ in 0..1 + self.random.below(3) {
            match self.random.below(8) {
                0 => {
                    let operands = self.random.below(16) as u32;
                    self.with_constant("s_set_gpr_idx_mode", "=k", vec![], operands);
                }
                1 => {
                    let index = Arg::Int(self.random.below(8) as i8);
                    self.push("s_set_gpr_idx_idx", "=1", vec![index]);
                }
                _ => self.vector(),
            }
        }
        self.push("s_set_gpr_idx_off", "=", vec![]);
    }

    /// Scalar loads and stores near the begin of memory, and beyond the end of the buffer.
    fn memory(&mut self) {
        let dwords = 1u8 << self.random.below(4);
        let buffer = self.random.one_in(2);
        let store = self.generation >= Generation::Gfx8 && dwords <= 4 && self.random.one_in(3);
        let name = format!(
            "s_{}{}_dword{}",
            if buffer { "buffer_" } else { "" },
            if store { "store" } else { "load" },
            if dwords > 1 { format!("x{dwords}") } else { String::new() }
        );
        let aligned = dwords.clamp(1, 4);
        let first = 8 + aligned * self.random.below(u64::from(24 / aligned)) as u8;
        let base = Arg::S(if buffer { RESOURCE } else { BASE });
        let offset = self.random.below(48) as u32;
        let offset = if self.generation <= Generation::Gfx7 { offset } else { 4 * offset };
        // Kinds: the first operand's dwords make the text.
        let kinds = match (dwords, buffer) {
            (1, false) => ["1=2k", "1=21"],
            (1, true) => ["1=4k", "1=41"],
            (2, false) => ["2=2k", "2=21"],
            (2, true) => ["2=4k", "2=41"],
            (4, false) => ["4=2k", "4=21"],
            (4, true) => ["4=4k", "4=41"],
            (_, false) => ["8=2k", "8=21"],
            (_, true) => ["8=4k", "8=41"],
        };
        if self.random.one_in(3) && !store {
            self.push(&name, kinds[1], vec![Arg::S(first), base, Arg::S(OFFSET)]);
        } else {
            self.with_constant(&name, kinds[0], vec![Arg::S(first), base], offset);
        }
    }

    /// `s_getreg` and `s_setreg`: rounding and denormals, which no instruction here looks at, and the status.
    fn hardware(&mut self) {
        self.left -= 1;
        let dst = 8 + self.random.below(32) as u8;
        let item = match self.random.below(4) {
            0 => {
                let (offset, bits) = self.random.pick(&[(0, 1), (0, 1), (9, 1), (9, 2), (10, 1)]);
                Item::GetReg { dst, id: 2, offset, bits }
            }
            1 => {
                let (offset, bits) = self.random.pick(&[(0, 8), (4, 4), (0, 32), (29, 3), (7, 25)]);
                Item::GetReg { dst, id: 1, offset, bits }
            }
            _ => {
                let offset = self.random.below(8) as u8;
                let bits = 1 + self.random.below(8 - u64::from(offset)) as u8;
                let value = match self.random.below(2) {
                    0 => Arg::S(dst),
                    _ => Arg::Literal(self.random.bits() as u32),
                };
                Item::SetReg { value, offset, bits }
            }
        };
        self.items.push(item);
    }

    fn branch(&mut self, name: &'static str, to: u32) {
        self.left -= 1;
        self.items.push(Item::Branch(name, to));
    }

    /// A branch of the whole wave round some lines.
    fn skip(&mut self, depth: u8) {
        let label = self.label();
        let conditions = [
            "s_cbranch_scc0",
            "s_cbranch_scc1",
            "s_cbranch_scc0",
            "s_cbranch_scc1",
            "s_cbranch_vccz",
            "s_cbranch_vccnz",
            "s_cbranch_execz",
            "s_cbranch_execnz",
            "s_branch",
        ];
        let name = self.random.pick(&conditions);
        self.branch(name, label);
        self.block(depth + 1, 5);
        self.items.push(Item::Label(label));
    }

    fn save(&self, depth: u8) -> Arg {
        Arg::S(SAVED + 2 * depth)
    }

    /// As compilers do it: lanes that pass, then perhaps the others, then all of them again.
    fn divergent_if(&mut self, depth: u8) {
        if self.inside {
            return;
        }
        let (save, label) = (self.save(depth), self.label());
        let pair = self.random.pick(&[Arg::S(VCC), Arg::S(8), Arg::S(20)]);
        if self.random.below(4) != 0 {
            let args = [vec![pair], self.operands("=vV")].concat();
            let condition = self.random.pick(&CONDITIONS);
            self.push(&format!("v_cmp_{condition}_u32_e64"), "2=vV", args);
        }
        self.push("s_and_saveexec_b64", "2=2", vec![save, pair]);
        let other = self.random.one_in(2);
        if other {
            self.push("s_xor_b64", "2=22", vec![save, Arg::S(EXEC), save]);
        }
        if self.random.one_in(2) {
            self.branch("s_cbranch_execz", label);
        }
        self.block(depth + 1, 6);
        self.items.push(Item::Label(label));
        if other {
            // What the lines left of EXEC does not matter: the others are those in `save`.
            let end = self.label();
            self.push("s_or_saveexec_b64", "2=2", vec![save, save]);
            self.push("s_xor_b64", "2=22", vec![Arg::S(EXEC), Arg::S(EXEC), save]);
            if self.random.one_in(2) {
                self.branch("s_cbranch_execz", end);
            }
            self.block(depth + 1, 4);
            self.items.push(Item::Label(end));
        }
        self.push("s_or_b64", "2=22", vec![Arg::S(EXEC), Arg::S(EXEC), save]);
    }

    fn counted_loop(&mut self, depth: u8) {
        if self.inside {
            return;
        }
        let (counter, label) = (Arg::S(COUNTER + depth), self.label());
        let rounds = Arg::Int(1 + self.random.below(4) as i8);
        self.push("s_mov_b32", "1=1", vec![counter, rounds]);
        self.items.push(Item::Label(label));
        self.block(depth + 1, 8);
        self.with_constant("s_addk_i32", "1=k", vec![counter], 0xffff);
        self.push("s_cmp_lg_u32", "=11", vec![counter, Arg::Int(0)]);
        self.branch("s_cbranch_scc1", label);
    }

    /// Each lane leaves when it is done; at most eight rounds.
    fn divergent_loop(&mut self, depth: u8) {
        if self.inside {
            return;
        }
        let (counter, save, label) = (Arg::S(COUNTER + depth), self.save(depth), self.label());
        let (own, limit) = (self.vgpr(), Arg::Int(3 + self.random.below(6) as i8));
        let leave = self.label();
        self.push("s_mov_b64", "2=2", vec![save, Arg::S(EXEC)]);
        self.push("s_mov_b32", "1=1", vec![counter, Arg::Int(0)]);
        self.push("v_and_b32_e32", "v=vV", vec![own, Arg::Int(7), own]);
        self.items.push(Item::Label(label));
        self.push("s_add_u32", "1=11", vec![counter, counter, Arg::Int(1)]);
        self.block(depth + 1, 5);
        self.push("v_cmp_ne_u32_e32", "=cvV", vec![counter, own]);
        self.push("s_and_b64", "2=22", vec![Arg::S(EXEC), Arg::S(EXEC), Arg::S(VCC)]);
        self.push("s_cmp_ge_u32", "=11", vec![counter, limit]);
        self.branch("s_cbranch_scc1", leave);
        self.branch("s_cbranch_execnz", label);
        self.items.push(Item::Label(leave));
        self.push("s_mov_b64", "2=2", vec![Arg::S(EXEC), save]);
    }

    fn call(&mut self) {
        if self.inside {
            return;
        }
        self.left -= 3;
        let to = match self.functions.len() {
            n if n > 0 && self.random.one_in(2) => self.functions[self.random.below(n as u64) as usize],
            _ => {
                let label = self.label();
                self.functions.push(label);
                label
            }
        };
        let direct = self.generation == Generation::Gfx9 && self.random.one_in(2);
        self.items.push(Item::Call { to, direct });
    }

    /// Both sides of a fork, then the join.
    fn fork(&mut self, depth: u8) {
        if self.inside {
            return;
        }
        self.left -= 4;
        let (save, depth_register) = (self.save(depth), DEPTH + depth);
        let (to, join) = (self.label(), self.label());
        let pair = self.random.pick(&[VCC, 8, 10, 22]);
        let args = [vec![Arg::S(pair)], self.operands("=vV")].concat();
        let condition = self.random.pick(&CONDITIONS);
        self.push(&format!("v_cmp_{condition}_i32_e64"), "2=vV", args);
        self.push("s_mov_b64", "2=2", vec![save, Arg::S(EXEC)]);
        self.items.push(Item::GetReg { dst: depth_register, id: 1, offset: 29, bits: 3 });
        let computed = self.random.one_in(3);
        self.items.push(Item::Fork { pair, to, computed });
        self.block(depth + 1, 4);
        self.items.push(Item::Branch("s_branch", join));
        self.items.push(Item::Label(to));
        self.block(depth + 1, 4);
        self.items.push(Item::Label(join));
        self.items.push(Item::Join { saved: depth_register });
        self.push("s_mov_b64", "2=2", vec![Arg::S(EXEC), save]);
    }
}

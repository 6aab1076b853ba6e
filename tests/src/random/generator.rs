//! Makes random Tesla programs: statements of arithmetic, control flow and memory.

use warpjit_frontend::tesla::{Chip, Row};

use super::alu::{self, Limits};
use super::program::{Item, Label, RandomProgram, Shape, lines};
use super::rng::Random;

/// What a program is mostly made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Every ALU, conversion and special function form.
    Arithmetic,
    /// Control flow of all kinds.
    Divergence,
    /// All memory spaces.
    Memory,
}

impl Family {
    /// All families.
    pub const ALL: [Family; 3] = [Family::Arithmetic, Family::Divergence, Family::Memory];
}

/// Registers that count the loops of the body, by depth, and of each function: what a loop calls leaves its
/// counter alone.
const LOOP_COUNTERS: [&[u32]; 4] = [&[24, 25], &[26], &[27], &[31]];
/// Condition codes that exist, never and always excepted.
const CONDITIONS: [u64; 22] = [
    0x1, 0x2, 0x3, 0x4, 0x5, 0x6, 0x7, 0x8, 0x9, 0xa, 0xb, 0xc, 0xd, 0xe, 0x10, 0x11, 0x12, 0x13, 0x1c, 0x1d,
    0x1e, 0x1f,
];

pub(super) const BRA: u64 = 1;
const CALL: u64 = 2;
const RET: u64 = 3;
const BREAK_ADDR: u64 = 4;
const BREAK: u64 = 5;
const QUAD_ON: u64 = 6;
const QUAD_POP: u64 = 7;
const BAR: u64 = 8;
const JOIN_AT: u64 = 10;
const PRE_RET: u64 = 13;

/// A condition code and the `$c` it looks at.
type Guard = (u64, u64);

/// The state of the generator.
pub struct Generator {
    pub(super) random: Random,
    pub(super) family: Family,
    pub(super) shape: Shape,
    pub(super) items: Vec<Item>,
    rows: Vec<&'static Row>,
    next_row: usize,
    labels: Label,
    /// What can be called, innermost last made.
    callees: Vec<Label>,
    /// Labels that lie somewhere later at the outer level.
    ahead: Vec<Label>,
    table: Vec<Label>,
    budget: u32,
    depth: u32,
    counters: &'static [u32],
    breakable: bool,
    /// Lanes may stand apart from the others for good.
    pub(super) apart: bool,
    /// Lanes may have ended.
    pub(super) ended: bool,
    /// Branches that the rules of joins do not provide for.
    wild: bool,
    /// One lane may fault once.
    pub(super) may_fault: bool,
    in_function: bool,
    /// Join entries that have been pushed and not popped.
    joins: u32,
    /// No lane leaves across a join: on Tesla, those that wait there execute the joining instruction once more, and
    /// compiled code does not count that.
    countable: bool,
}

/// The random program of a seed.
pub fn program(family: Family, seed: u64) -> RandomProgram {
    let mut random = Random::new(seed ^ (family as u64) << 56);
    let chip = random.pick(&[Chip::G80, Chip::G84, Chip::G200, Chip::G200, Chip::Gt215]);
    let shape = shape(&mut random, family, chip);
    let rows = alu::rows(chip);
    let next_row = random.below(rows.len() as u32) as usize;
    let wild = family == Family::Divergence && shape.single_warp() && random.chance(20);
    let may_fault =
        !wild && shape.max_steps == 0 && random.chance(if family == Family::Memory { 35 } else { 8 });
    let generator = Generator {
        random,
        family,
        shape,
        items: Vec::new(),
        rows,
        next_row,
        labels: 0,
        callees: Vec::new(),
        ahead: Vec::new(),
        table: Vec::new(),
        budget: 0,
        depth: 0,
        counters: &[],
        breakable: false,
        apart: false,
        ended: false,
        wild,
        may_fault,
        in_function: false,
        joins: 0,
        countable: !wild,
    };
    generator.whole()
}

/// Blocks that do not fill their warps, and such that do, one and more of them.
fn shape(random: &mut Random, family: Family, chip: Chip) -> Shape {
    let (block, grid) = if random.chance(55) {
        (
            random.pick(&[[32, 1, 1], [32, 1, 1], [8, 4, 1], [3, 5, 1], [7, 1, 1], [1, 1, 1], [5, 3, 2]]),
            [1, 1, 1],
        )
    } else {
        let blocks =
            [[64, 1, 1], [8, 8, 1], [16, 16, 1], [33, 1, 1], [3, 5, 1], [48, 1, 1], [32, 1, 1], [10, 4, 2]];
        (random.pick(&blocks), random.pick(&[[1, 1, 1], [2, 1, 1], [3, 1, 1], [2, 2, 1]]))
    };
    let mut shape = Shape {
        chip,
        grid,
        block,
        local: random.pick(&[0, 16, 40, 64]),
        lockstep: family == Family::Memory && random.chance(25),
        max_steps: 0,
        capture: false,
    };
    if shape.single_warp() {
        shape.capture = random.chance(50);
        if random.chance(10) {
            shape.max_steps = if random.chance(50) { 1 << 40 } else { 60 + u64::from(random.below(300)) };
        }
    }
    shape
}

impl Generator {
    fn whole(mut self) -> RandomProgram {
        let functions = if self.family == Family::Arithmetic { 0 } else { self.random.below(4) };
        let mut code = Vec::new();
        for n in 0..functions {
            self.counters = LOOP_COUNTERS[n as usize + 1];
            self.function();
            code.append(&mut self.items);
        }
        self.counters = LOOP_COUNTERS[0];
        if self.wild || self.random.chance(15) {
            self.ahead = (0..4).map(|_| self.label()).collect();
        }
        self.budget = match self.family {
            Family::Arithmetic => 30,
            _ => 10 + self.random.below(25),
        };
        for _ in 0..3 {
            let count = 3 + self.random.below(6);
            self.statements(count);
            if let Some(label) = self.ahead.pop() {
                self.items.push(Item::Label(label));
            }
        }
        while self.budget > 0 && self.family == Family::Arithmetic {
            self.statements(5);
        }
        for label in std::mem::take(&mut self.ahead) {
            self.items.push(Item::Label(label));
        }
        let table = std::mem::take(&mut self.table);
        let countable = self.countable;
        RandomProgram { shape: self.shape, body: self.items, functions: code, table, countable }
    }

    /// Whether all lanes that run are active together.
    pub(super) fn together(&self) -> bool {
        !self.apart && self.depth <= 1 && !self.in_function
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels += 1;
        self.labels
    }

    pub(super) fn text(&mut self, text: &str) {
        self.items.extend(lines(self.shape.chip, text));
    }

    pub(super) fn control(&mut self, op: u64, guard: Option<Guard>, target: Option<Label>) {
        let (condition, creg) = guard.unwrap_or((0xf, 0));
        let word = op << 28 | 3 | condition << 39 | creg << 44;
        self.items.push(Item::Inst { word, len: 8, target });
    }

    /// An arithmetic instruction, the forms one after the other.
    pub(super) fn arithmetic(&mut self) {
        self.arithmetic_and(0);
    }

    fn arithmetic_and(&mut self, end: u64) {
        let limits = Limits { any_shared: self.shape.single_warp() };
        loop {
            let row = self.rows[self.next_row % self.rows.len()];
            self.next_row += if self.family == Family::Arithmetic { 1 } else { 7 };
            let ends = end == 0 || row.len_bytes() == 8 && !row.text.contains("IMM");
            if ends && let Some(item) = alu::instruction(&mut self.random, row, self.shape.chip, limits, end)
            {
                self.items.push(item);
                return;
            }
        }
    }

    /// A data register.
    pub(super) fn data(&mut self) -> u32 {
        self.random.below(alu::DATA_REGISTERS.into())
    }

    /// A condition on data, the lane's number or something all lanes share. `$r28`, `$r29` are used up.
    pub(super) fn condition(&mut self) -> Guard {
        let creg = u64::from(self.random.below(3));
        let (a, b) = (self.data(), self.data());
        let limit = self.random.below(8);
        let compare = self.random.pick(&["l", "e", "le", "g", "lg", "ge"]);
        let (number, mask) = (self.random.pick(&[16, 23]), self.random.pick(&[7, 3, 15, 31]));
        match self.random.below(10) {
            // What arithmetic has left.
            0..=1 => {
                let condition = self.random.pick(&CONDITIONS);
                let creg = u64::from(self.random.below(4));
                return (condition, creg);
            }
            2..=3 => self.text(&format!(
                "and b32 $r28 $r{a} 0x7\nmov b32 $r29 {limit}\nset $c{creg} # {compare} u32 $r28 $r29"
            )),
            4 => self.text(&format!(
                "and b32 $r28 $r{number} {mask:#x}\nmov b32 $r29 {limit}\nset $c{creg} # {compare} u32 $r28 $r29"
            )),
            5 => self.text(&format!("set $c{creg} # {compare} u32 $r{a} $r{b}")),
            6 => self.text(&format!("set $c{creg} # {compare}u f32 $r{a} $r{b}")),
            7 => self.text(&format!("mov $c{creg} $r{a}")),
            8 => self.text(&format!("mov b32 $r29 {limit}\nset $c{creg} # {compare} s32 $r{a} $r29")),
            _ => self.text(&format!(
                "and b32 $r28 $r22 {mask:#x}\nmov b32 $r29 {limit}\nset $c{creg} # {compare} u32 $r28 $r29"
            )),
        }
        if self.random.chance(70) {
            let condition = self.random.pick(&[5, 2]);
            (condition, creg)
        } else {
            let condition = self.random.pick(&CONDITIONS);
            (condition, creg)
        }
    }

    fn statements(&mut self, count: u32) {
        for _ in 0..count {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            self.depth += 1;
            self.statement();
            self.depth -= 1;
        }
    }

    fn statement(&mut self) {
        let deep = self.depth > 5;
        let control = match self.family {
            Family::Arithmetic => 6,
            Family::Divergence => 60,
            Family::Memory => 15,
        };
        let memory = match self.family {
            Family::Arithmetic => 6,
            Family::Divergence => 8,
            Family::Memory => 65,
        };
        let roll = self.random.below(100);
        if !deep && roll < control {
            self.control_statement();
        } else if (100 - memory..100).contains(&roll) {
            self.memory_statement();
        } else {
            let count = if self.family == Family::Arithmetic { 1 } else { 1 + self.random.below(3) };
            (0..count).for_each(|_| self.arithmetic());
        }
    }

    fn control_statement(&mut self) {
        let single = self.shape.single_warp();
        match self.random.below(30) {
            0..=8 => self.if_joined(),
            9..=10 => self.if_plain(),
            11..=16 => self.counted_loop(),
            17..=19 if !self.callees.is_empty() => {
                let callee = self.random.pick(&self.callees);
                self.control(CALL, None, Some(callee));
            }
            20 => {
                let guard = self.condition();
                let guard = self.random.chance(90).then_some(guard);
                if guard.is_some() || self.depth > 2 {
                    self.ended |= !self.in_function;
                    self.apart |= !self.in_function;
                    self.leaves();
                    self.control(RET, guard, None);
                }
            }
            21..=22 if self.breakable => {
                let guard = self.condition();
                self.leaves();
                self.control(BREAK, Some(guard), None);
            }
            23 => self.exit_of_some(),
            24 => {
                let guard = self.condition();
                self.vote(guard);
            }
            25 => self.quads(),
            26 if single || self.together() => self.exchange(),
            27 if self.shape.chip == Chip::Gt215 => {
                let after = self.label();
                self.control(PRE_RET, None, Some(after));
                self.statements(2);
                let guard = self.condition();
                self.control(RET, Some(guard), None);
                self.statements(1);
                self.control(RET, None, None);
                self.items.push(Item::Label(after));
            }
            28 if self.wild && !self.ahead.is_empty() => self.jump_ahead(),
            29 if self.wild || self.random.chance(20) => self.recursion(),
            _ => self.if_joined(),
        }
    }

    fn function(&mut self) {
        let label = self.label();
        self.items.push(Item::Label(label));
        self.budget = 4 + self.random.below(8);
        self.in_function = true;
        let count = 2 + self.random.below(3);
        self.statements(count);
        self.in_function = false;
        self.apart = self.ended;
        self.control(RET, None, None);
        self.callees.push(label);
    }

    /// A function that calls itself until a counter says no.
    fn recursion(&mut self) {
        let (function, after) = (self.label(), self.label());
        let limit = 1 + self.random.below(4);
        self.text("mov b32 $r30 0x0");
        self.control(CALL, None, Some(function));
        self.control(BRA, None, Some(after));
        self.items.push(Item::Label(function));
        self.arithmetic();
        self.text(&format!(
            "add b32 $r30 $r30 0x1\nand b32 $r28 $r23 0x3\nadd b32 $r28 $r28 {limit}\nset $c3 # ge u32 $r30 $r28"
        ));
        self.control(RET, Some((5, 3)), None);
        self.control(CALL, None, Some(function));
        self.arithmetic();
        self.control(RET, None, None);
        self.items.push(Item::Label(after));
    }

    /// An end of the code's lanes that pass a condition, by the exit modifier.
    fn exit_of_some(&mut self) {
        let after = self.label();
        let guard = self.condition();
        self.ended = true;
        self.apart = true;
        self.countable &= !self.in_function;
        self.leaves();
        self.control(BRA, Some(guard), Some(after));
        self.arithmetic_and(1);
        self.items.push(Item::Label(after));
    }

    fn leaves(&mut self) {
        self.countable &= self.joins == 0;
    }

    fn jump_ahead(&mut self) {
        let label = self.random.pick(&self.ahead);
        let guard = self.condition();
        self.apart = true;
        if self.shape.chip == Chip::G200 && self.random.chance(15) && self.table.is_empty() {
            // By a table: two ways on.
            let next = self.label();
            self.table = vec![next, label];
            self.text("and b32 $r28 $r23 0x1\nshl $a3 $r28 0x2");
            self.items.push(Item::Inst { word: 0x00c0_0000_cc00_0003, len: 8, target: None });
            self.items.push(Item::Label(next));
            return;
        }
        self.control(BRA, Some(guard), Some(label));
    }

    fn if_joined(&mut self) {
        let (other, join) = (self.label(), self.label());
        let has_other = self.random.chance(50);
        self.control(JOIN_AT, None, Some(join));
        self.joins += 1;
        let guard = self.condition();
        self.control(BRA, Some(guard), Some(if has_other { other } else { join }));
        let breakable = self.breakable;
        let count = 1 + self.random.below(3);
        self.statements(count);
        if has_other {
            self.control(BRA, None, Some(join));
            self.items.push(Item::Label(other));
            let count = 1 + self.random.below(3);
            self.statements(count);
        }
        self.breakable = breakable;
        self.joins -= 1;
        self.items.push(Item::Label(join));
        if self.random.chance(50) {
            self.text("join nop");
        } else {
            self.arithmetic_and(2);
        }
    }

    /// A branch that no join follows: lanes stay apart.
    fn if_plain(&mut self) {
        let after = self.label();
        let guard = self.condition();
        self.apart = true;
        self.control(BRA, Some(guard), Some(after));
        let count = 1 + self.random.below(3);
        self.statements(count);
        self.items.push(Item::Label(after));
    }

    fn counted_loop(&mut self) {
        let Some((&counter, rest)) = self.counters.split_first() else { return self.if_joined() };
        let (head, done) = (self.label(), self.label());
        let kind = self.random.below(4);
        self.text(&format!("mov b32 $r{counter} 0x0"));
        match kind {
            0 | 1 => self.control(BREAK_ADDR, None, Some(done)),
            2 => {
                self.joins += 1;
                self.control(JOIN_AT, None, Some(done));
            }
            _ => self.apart = true,
        }
        self.items.push(Item::Label(head));
        let outer = (self.breakable, self.counters);
        self.breakable = if kind == 2 { self.breakable } else { kind < 2 };
        self.counters = rest;
        let count = 1 + self.random.below(4);
        self.statements(count);
        (self.breakable, self.counters) = outer;
        let limit = 1 + self.random.below(4);
        let varying = self.random.chance(60);
        let bound = if varying {
            format!("and b32 $r29 $r23 0x3\nadd b32 $r29 $r29 {limit}")
        } else {
            format!("mov b32 $r29 {limit}")
        };
        self.text(&format!("add b32 $r{counter} $r{counter} 0x1\n{bound}\nset $c3 # l u32 $r{counter} $r29"));
        match kind {
            0 => {
                self.control(BREAK, Some((2, 3)), None);
                self.control(BRA, None, Some(head));
                self.items.push(Item::Label(done));
            }
            1 => {
                self.control(BRA, Some((5, 3)), Some(head));
                self.control(BREAK, None, None);
                self.items.push(Item::Label(done));
            }
            2 => {
                self.control(BRA, Some((5, 3)), Some(head));
                self.joins -= 1;
                self.items.push(Item::Label(done));
                self.text("join nop");
            }
            _ => self.control(BRA, Some((5, 3)), Some(head)),
        }
    }

    fn vote(&mut self, (condition, creg): Guard) {
        if !matches!(self.shape.chip, Chip::G200 | Chip::Gt215) {
            return self.arithmetic();
        }
        let word = 0x6000_0000_1000_0001 | self.random.pick(&[0x200, 0x400]) | condition << 39 | creg << 44;
        let to = u64::from(self.random.below(3));
        self.items.push(Item::Inst { word: word | to << 36, len: 8, target: None });
        if self.random.chance(50) {
            let after = self.label();
            self.control(BRA, Some((5, to)), Some(after));
            self.statements(2);
            self.items.push(Item::Label(after));
        }
    }

    fn quads(&mut self) {
        self.control(QUAD_ON, None, None);
        let count = 1 + self.random.below(3);
        (0..count).for_each(|_| self.arithmetic());
        self.control(QUAD_POP, None, None);
    }

    /// Threads of a block pass words to each other, between barriers.
    fn exchange(&mut self) {
        let start = self.shape.exchange();
        let (from, to) = (self.data(), self.data());
        let mask = (self.shape.threads().next_power_of_two() / 2).max(1) - 1;
        let half = if self.shape.chip == Chip::G80 { "mov b32" } else { "ld" };
        let bar = |generator: &mut Self| {
            generator.items.push(Item::Inst { word: 0x861f_fe03 | BAR << 28, len: 8, target: None });
        };
        bar(self);
        self.text(&format!(
            "shl b32 $r28 $r23 0x2\nadd b32 $r28 $r28 {start:#x}\nshl $a3 $r28 0x0\nst b32 s[$a3] $r{from}"
        ));
        bar(self);
        let load = if half == "ld" {
            format!("ld $r{to} b32 s[$a3]")
        } else {
            format!("long mov b32 $r{to} b32 s[$a3]")
        };
        self.text(&format!(
            "and b32 $r28 $r{from} {mask:#x}\nshl b32 $r28 $r28 0x2\nadd b32 $r28 $r28 {start:#x}\n\
             shl $a3 $r28 0x0\n{load}"
        ));
        bar(self);
    }
}

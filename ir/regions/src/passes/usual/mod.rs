//! Versions accesses for the usual case: what all lanes share is as it mostly is, and all lanes are within bounds.
//!
//! How a device finds memory may depend on bits that are known as the code runs only: of a descriptor, whether it swizzles or adds the
//! lane's number. Then an address is a formula with selections by such bits, in which nobody sees that lanes lie side by side. And each
//! word of an access may have a bound of its own. So accesses are there twice, behind one test: whether the bits are as they make addresses
//! simplest, and all lanes are within all bounds. In the first version the bits are constants, and no bound is left. The second one is as
//! it was, with what only it needs.
//!
//! Which bits: for each uniform truth value that something selects by on the way to an address or a guard, it is tried which of its two
//! values leaves the fewest operations that differ from lane to lane (`assume.rs`). Versions are made where lanes' addresses may then lie on
//! a line whose stride is known: with others each lane is accessed for itself in any case.

mod accesses;
mod assume;
mod sink;

use accesses::{access_of, is_bound, is_candidate, same_instruction};
use assume::{Assuming, Term};
use std::cell::Cell;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use warpjit_ir_core::analysis::Uses;
use warpjit_ir_core::entities::{Block, Inst, Value};
use warpjit_ir_core::function::{BlockCall, Counted, Form, Function, Imm, InstData, Terminator};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::passes::rewrite::Aliases;
use warpjit_ir_core::types::{Scalar, Type};

/// Fewest operations that an assumption must save to be made for an instruction.
const LEAST_GAIN: usize = 2;

/// Most truth values that something is assumed of for an instruction, and most that are tried.
const MOST_ASSUMED: usize = 4;
const MOST_TRIED: usize = 6;

/// Most memory operations that have one test.
const MOST_TOGETHER: usize = 32;

/// Most operations on what is loaded that a version has besides.
const MOST_BETWEEN: usize = 24;

/// Most memory operations of a function that are versioned, and most instructions for which truth values are tried.
const MOST_IN_ALL: usize = 256;
const MOST_TRIALS: usize = 512;

/// Most operations that are looked at for truth values, and how deep in what all lanes share.
const MOST_LOOKED_AT: usize = 64;
const DEPTH_OF_SHARED: u32 = 4;

/// How many operations deep the bound of a bound is searched for.
const BOUND_DEPTH: u32 = 8;

/// Most bytes from an address that an access may be.
const MOST_OFFSET: i64 = 1 << 20;

/// Runs the pass. In SPMD form it does nothing: there, masks are not values.
pub fn run(func: &mut Function) -> bool {
    if func.form == Form::Spmd || !func.insts.iter().any(|data| is_candidate(func, data)) {
        return false;
    }
    let mut pass = Pass {
        uses: Uses::new(func),
        aliases: Aliases::new(func),
        left: MOST_IN_ALL,
        trials: Cell::new(MOST_TRIALS),
        slow: Vec::new(),
    };
    for block in func.block_ids() {
        let mut rest = Some(block);
        while let Some(block) = rest {
            rest = pass.next_version(func, block);
        }
    }
    let Pass { aliases, slow, .. } = pass;
    if slow.is_empty() {
        return false;
    }
    aliases.apply(func);
    sink::run(func, &slow);
    true
}

struct Pass {
    uses: Uses,
    aliases: Aliases,
    /// Memory operations that may still be versioned.
    left: usize,
    /// Instructions for which truth values may still be tried.
    trials: Cell<usize>,
    /// The second versions.
    slow: Vec<Block>,
}

/// The memory operations of a guest's instruction, by their places in a block, and what is assumed for them.
struct Group {
    places: Vec<usize>,
    assumed: Vec<(Value, u64)>,
}

/// Groups that have one test.
struct Range {
    /// Places in the block.
    start: usize,
    end: usize,
    /// Memory operations, and operations on what they load.
    versioned: Vec<usize>,
    assumed: Vec<(Value, u64)>,
}

impl Pass {
    /// Versions the next range of a block. The block behind it.
    fn next_version(&mut self, func: &mut Function, block: Block) -> Option<Block> {
        let insts = func.block(block).insts.clone();
        let mut at = 0;
        while at < insts.len() && self.left > 0 {
            if !is_candidate(func, func.inst(insts[at])) {
                at += 1;
                continue;
            }
            let places = same_instruction(func, &insts, at);
            let next = places.last().map_or(at, |&last| last) + 1;
            if let Some(group) = self.group(func, &insts, places) {
                let range = self.range(func, &insts, group);
                if !range.versioned.is_empty() {
                    return Some(self.make(func, block, &insts, &range));
                }
            }
            at = next;
        }
        None
    }

    /// What is assumed for the memory operations of an instruction; `None` if a version would gain nothing.
    fn group(&self, func: &Function, insts: &[Inst], places: Vec<usize>) -> Option<Group> {
        let first = access_of(func.inst(insts[places[0]]))?;
        let roots = [Some(first.address), first.guard];
        let assumed = self.assumptions(func, roots.into_iter().flatten());
        let guards: HashSet<Value> =
            places.iter().filter_map(|&place| access_of(func.inst(insts[place]))?.guard).collect();
        let bounds = || guards.iter().map(|&guard| self.bounds(func, guard)).collect::<HashSet<_>>();
        let several = guards.len() > 1 && bounds().len() > 1;
        if assumed.is_empty() && !several {
            return None;
        }
        let mut terms = Assuming::new(&assumed);
        let address = terms.term(func, &self.aliases, first.address);
        terms.may_be_line(func, &self.aliases, address).then_some(Group { places, assumed })
    }

    /// The truth values to be assumed for values to become as simple as they can.
    fn assumptions(&self, func: &Function, roots: impl Iterator<Item = Value>) -> Vec<(Value, u64)> {
        let roots: Vec<Value> = roots.map(|v| self.aliases.get(v)).collect();
        let mut tried = self.selectors(func, &roots);
        let mut assumed: Vec<(Value, u64)> = Vec::new();
        if tried.is_empty() || self.trials.get() == 0 {
            return assumed;
        }
        self.trials.set(self.trials.get() - 1);
        let cost = |assumed: &[(Value, u64)]| {
            let mut terms = Assuming::new(assumed);
            let roots: Vec<Term> = roots.iter().map(|&v| terms.term(func, &self.aliases, v)).collect();
            // Where no lane accesses anything, nothing is gained.
            let is_done = roots.last() != Some(&Term::Const(0));
            if is_done { terms.cost(func, &self.aliases, &roots) } else { usize::MAX }
        };
        let start = cost(&assumed);
        let mut least = start;
        while assumed.len() < MOST_ASSUMED {
            let mut best: Option<(usize, Value, u64)> = None;
            tried.retain(|&cond| {
                let mut gains = false;
                for bit in [0, 1] {
                    assumed.push((cond, bit));
                    let now = cost(&assumed);
                    assumed.pop();
                    gains |= now < least;
                    if now < best.map_or(least, |(now, ..)| now) {
                        best = Some((now, cond, bit));
                    }
                }
                gains
            });
            let Some((now, cond, bit)) = best else { break };
            least = now;
            assumed.push((cond, bit));
            tried.retain(|&other| other != cond);
        }
        if least.saturating_add(LEAST_GAIN) > start {
            assumed.clear();
        }
        assumed
    }

    /// Uniform truth values that something selects by on the way to values that differ from lane to lane.
    fn selectors(&self, func: &Function, roots: &[Value]) -> Vec<Value> {
        let mut found = Vec::new();
        let mut seen: HashSet<Value> = HashSet::new();
        let mut work: Vec<(Value, u32)> = roots.iter().map(|&v| (v, DEPTH_OF_SHARED)).collect();
        while let Some((v, depth)) = work.pop() {
            let v = self.aliases.get(v);
            let Some(data) = func.def_inst(v).filter(|data| assume::is_followed(data.op)) else { continue };
            let uniform = func.ty(v).uniform;
            if seen.len() > MOST_LOOKED_AT || uniform && depth == 0 || !seen.insert(v) {
                continue;
            }
            if data.op == Opcode::Select && func.ty(data.args[0]).uniform {
                self.find_simple(func, data.args[0], &mut found);
            }
            let depth = if uniform { depth - 1 } else { depth };
            work.extend(data.args.iter().map(|&arg| (arg, depth)));
        }
        found
    }

    /// The truth values that a uniform one is made of.
    fn find_simple(&self, func: &Function, cond: Value, found: &mut Vec<Value>) {
        let mut work = vec![cond];
        while let Some(v) = work.pop() {
            let v = self.aliases.get(v);
            let data = func.def_inst(v);
            match data {
                _ if found.len() >= MOST_TRIED || work.len() > MOST_TRIED => return,
                Some(data) if matches!(data.op, Opcode::Iand | Opcode::Ior | Opcode::Inot) => {
                    work.extend(&data.args);
                }
                Some(data) if data.op == Opcode::Const => {}
                _ if found.contains(&v) => {}
                _ => found.push(v),
            }
        }
    }

    /// The bounds among a guard's conditions: comparisons of lanes' numbers with one that all share.
    fn bounds(&self, func: &Function, guard: Value) -> Vec<Value> {
        let mut bounds = Vec::new();
        let mut work = vec![guard];
        for _ in 0..MOST_LOOKED_AT {
            let Some(v) = work.pop() else { break };
            let v = self.aliases.get(v);
            match func.def_inst(v) {
                Some(data) if data.op == Opcode::Iand => work.extend(&data.args),
                Some(data) if is_bound(func, v, data) => bounds.push(v),
                _ => {}
            }
        }
        bounds.sort_unstable();
        bounds.dedup();
        bounds
    }

    /// A group and those behind it that may have the same test.
    fn range(&self, func: &Function, insts: &[Inst], first: Group) -> Range {
        let start = first.places[0];
        let mut range = Range { start, end: start, versioned: Vec::new(), assumed: Vec::new() };
        let mut loaded: HashSet<Value> = HashSet::new();
        let (mut accesses, mut between) = (0, 0);
        let mut next = Some(first);
        while let Some(group) = next.take() {
            let contradicts = |&(cond, bit): &(Value, u64)| range.assumed.contains(&(cond, 1 - bit));
            let last = group.places.last().map_or(range.end, |&last| last);
            // What is known only behind what the range loads.
            let own: HashSet<Value> =
                group.places.iter().filter_map(|&place| func.inst(insts[place]).result).collect();
            let mut made = loaded.clone();
            let mut steps: Vec<usize> = Vec::new();
            let mut late = false;
            let mut here = between;
            for (place, &inst) in insts.iter().enumerate().take(last + 1).skip(range.end) {
                let data = func.inst(inst);
                let on_loaded = data.args.iter().any(|arg| made.contains(arg));
                if group.places.contains(&place) {
                    let Some(access) = access_of(data) else { continue };
                    late |= made.contains(&access.address) && !own.contains(&access.address);
                    late |= access.guard.is_some_and(|guard| made.contains(&guard));
                } else if !on_loaded {
                    continue;
                } else {
                    here += 1;
                }
                steps.push(place);
                made.extend(data.result);
            }
            if late
                || accesses > 0 && (here > MOST_BETWEEN || accesses + group.places.len() > MOST_TOGETHER)
                || group.assumed.iter().any(contradicts)
            {
                break;
            }
            for assumed in group.assumed {
                if !range.assumed.contains(&assumed) {
                    range.assumed.push(assumed);
                }
            }
            accesses += group.places.len();
            (between, loaded) = (here, made);
            range.versioned.extend(steps);
            range.end = last + 1;
            let more = (range.end..insts.len()).find(|&place| !func.inst(insts[place]).op.is_pure());
            next = more
                .filter(|&place| is_candidate(func, func.inst(insts[place])))
                .and_then(|place| self.group(func, insts, same_instruction(func, insts, place)));
        }
        self.take_selections(func, insts, &mut range, &mut loaded);
        range
    }

    /// Adds the selections behind a range that only replace what is loaded where a bound does not hold.
    fn take_selections(
        &self,
        func: &Function,
        insts: &[Inst],
        range: &mut Range,
        loaded: &mut HashSet<Value>,
    ) {
        let pure = insts[range.end..].iter().take_while(|&&inst| func.inst(inst).op.is_pure()).count();
        let mut end = range.end;
        let mut steps = Vec::new();
        for (place, &inst) in insts.iter().enumerate().skip(range.end).take(pure) {
            let data = func.inst(inst);
            if data.op == Opcode::Select && loaded.contains(&data.args[1]) && !loaded.contains(&data.args[0])
            {
                steps.push(place);
                loaded.extend(data.result);
                end = place + 1;
            }
        }
        // What stands among them would come before them.
        let taken: HashSet<Value> =
            steps.iter().filter_map(|&place| func.inst(insts[place]).result).collect();
        let waits = |place: usize| {
            func.inst(insts[place]).args.iter().any(|arg| taken.contains(arg) || loaded.contains(arg))
        };
        if (range.end..end).all(|place| steps.contains(&place) || !waits(place)) {
            range.versioned.extend(steps);
            range.end = end;
        }
    }

    /// Makes the two versions of a range. The block behind them.
    fn make(&mut self, func: &mut Function, block: Block, insts: &[Inst], range: &Range) -> Block {
        let versioned: Vec<InstData> =
            range.versioned.iter().map(|&place| func.inst(insts[place]).clone()).collect();
        let pc = func.inst(insts[range.start]).pc;
        let guards = versioned.iter().filter_map(|data| access_of(data)?.guard);
        let mut bounds: Vec<Value> = guards.flat_map(|guard| self.bounds(func, guard)).collect();
        bounds.sort_unstable();
        bounds.dedup();
        let [quick, slow, rest] = [pc, pc, pc].map(|pc| func.add_block(pc));
        // In front of them: all that does not need what is loaded.
        let counted = func.counted_addresses(block);
        let (term, term_pc) = (func.block_mut(block).term.take(), func.block(block).term_pc);
        let is_front = |place: &usize| !range.versioned.contains(place);
        let front = func.block_mut(block);
        front.insts = (0..range.end).filter(is_front).map(|place| insts[place]).collect();
        (front.counted, front.term_pc) = (Counted(counted), pc);
        let behind = func.block_mut(rest);
        (behind.insts, behind.term, behind.term_pc) = (insts[range.end..].to_vec(), term, term_pc);
        let (unusual, words) = self.test(func, block, &range.assumed, &bounds);

        let known = range.assumed.iter().copied().chain(bounds.into_iter().map(|bound| (bound, 1)));
        let mut plain = Assuming::new(&known.collect::<Vec<_>>());
        self.quick_version(func, quick, &versioned, &words, &mut plain);
        let copies = slow_version(func, slow, &versioned);
        // What is loaded, for all that is behind.
        let (mut of_quick, mut of_slow) = (Vec::new(), Vec::new());
        for v in versioned.iter().filter_map(|data| data.result) {
            let inside = versioned.iter().flat_map(|data| &data.args).filter(|&&arg| arg == v).count();
            if self.uses.count(v) as usize == inside {
                continue;
            }
            let ty = func.ty(v);
            let term = plain.term(func, &self.aliases, v);
            of_quick.push(plain.place(func, quick, term, ty.scalar));
            of_slow.push(copies[&v]);
            let param = func.add_param(rest, ty);
            self.aliases.set(v, param);
        }
        for (block, args) in [(quick, of_quick), (slow, of_slow)] {
            func.block_mut(block).term = Some(Terminator::Jump(BlockCall { block: rest, args }));
        }
        let call = |block| BlockCall { block, args: Vec::new() };
        func.block_mut(block).term =
            Some(Terminator::BrIf { cond: unusual, taken: call(slow), next: call(quick) });
        self.left = self.left.saturating_sub(versioned.len());
        self.slow.push(slow);
        rest
    }

    /// The test at the end of a block: whether anything is not as assumed, or a lane is not within bounds. And of words that are within
    /// bounds the most that they can be.
    fn test(
        &self,
        func: &mut Function,
        block: Block,
        assumed: &[(Value, u64)],
        bounds: &[Value],
    ) -> (Value, Vec<(Value, u64)>) {
        let pc = func.block(block).term_pc;
        let mut plain = Assuming::new(assumed);
        let (mut words, mut lines, mut others) = (Vec::new(), Vec::<(Term, Term)>::new(), Vec::new());
        for &bound in bounds {
            let term = plain.term(func, &self.aliases, bound);
            let compared = plain.compared(func, &self.aliases, term);
            match compared.filter(|&(_, limit)| plain.is_uniform(func, limit)) {
                Some((word, limit)) => {
                    let most = plain.upper_bound(func, &self.aliases, limit, BOUND_DEPTH);
                    let word_of_bound = func.def_inst(bound).map(|data| data.args[0]);
                    words.extend(word_of_bound.map(|word| (word, most.saturating_sub(1))));
                    // A word is below some numbers if it is below the least.
                    match lines.iter_mut().find(|(other, _)| *other == word) {
                        Some((_, least)) => *least = plain.least(func, pc, *least, limit),
                        None => lines.push((word, limit)),
                    }
                }
                None => others.push(term),
            }
        }
        others.extend(lines.into_iter().map(|(word, limit)| plain.below(func, pc, word, limit)));
        let inside: Vec<Value> =
            others.into_iter().map(|term| plain.place(func, block, term, Scalar::I1)).collect();
        let mut push = |op, args: &[Value], ty: Type, imm: Imm| {
            let inst = func.make_inst(op, args, imm, Some(ty), pc);
            func.block_mut(block).insts.push(inst);
            Value::new(func.values.len() - 1)
        };
        let one = Type::uniform(Scalar::I1);
        let mut unusual = Vec::new();
        for &(cond, bit) in assumed {
            unusual.push(if bit == 0 { cond } else { push(Opcode::Inot, &[cond], one, Imm::None) });
        }
        let all = inside.into_iter().reduce(|a, b| push(Opcode::Iand, &[a, b], Type::MASK, Imm::None));
        if let Some(all) = all {
            let active = push(Opcode::ActiveMask, &[], Type::MASK, Imm::None);
            let beyond = push(Opcode::Inot, &[all], Type::MASK, Imm::None);
            let beyond = push(Opcode::Iand, &[active, beyond], Type::MASK, Imm::None);
            unusual.push(push(Opcode::Any, &[beyond], one, Imm::None));
        }
        let any = unusual.into_iter().reduce(|a, b| push(Opcode::Ior, &[a, b], one, Imm::None));
        let any = any.unwrap_or_else(|| push(Opcode::Const, &[], one, Imm::Bits(0)));
        (any, words)
    }

    /// The accesses as they are under the assumptions.
    fn quick_version(
        &self,
        func: &mut Function,
        block: Block,
        versioned: &[InstData],
        words: &[(Value, u64)],
        plain: &mut Assuming,
    ) {
        for &(word, most) in words {
            let word = plain.term(func, &self.aliases, word);
            plain.limit(word, most);
        }
        for data in versioned {
            let (Some(access), Imm::Mem(mut mem)) = (access_of(data), data.imm) else {
                plain.again(func, &self.aliases, data);
                continue;
            };
            let mut address = plain.term(func, &self.aliases, access.address);
            let (rest, more) = plain.without_constant(address);
            let offset = i64::from(mem.offset).saturating_add(more);
            if more != 0 && (0..=MOST_OFFSET).contains(&offset) {
                (address, mem.offset) = (rest, offset as i32);
            }
            let mut args = vec![plain.place(func, block, address, Scalar::I64)];
            for &arg in &data.args[1..] {
                let term = plain.term(func, &self.aliases, arg);
                if Some(arg) == access.guard && term == Term::Const(1) {
                    continue;
                }
                let scalar = func.ty(arg).scalar;
                args.push(plain.place(func, block, term, scalar));
            }
            let ty = data.result.map(|r| func.ty(r));
            let new = func.make_inst(data.op, &args, Imm::Mem(mem), ty, data.pc);
            func.block_mut(block).insts.push(new);
            if let (Some(old), Some(new)) = (data.result, func.inst(new).result) {
                plain.set(old, Term::Same(new));
            }
        }
    }
}

/// A version as it was. What its values are copies of.
fn slow_version(func: &mut Function, block: Block, versioned: &[InstData]) -> HashMap<Value, Value> {
    let mut copies: HashMap<Value, Value> = HashMap::new();
    for data in versioned {
        let args: Vec<Value> = data.args.iter().map(|arg| *copies.get(arg).unwrap_or(arg)).collect();
        let ty = data.result.map(|r| func.ty(r));
        let new = func.make_inst(data.op, &args, data.imm, ty, data.pc);
        func.block_mut(block).insts.push(new);
        if let (Some(old), Some(new)) = (data.result, func.inst(new).result) {
            copies.insert(old, new);
        }
    }
    copies
}

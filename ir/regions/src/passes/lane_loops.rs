//! Lane serialisation: when few lanes are left in a loop, runs these one after another in scalar registers.
//!
//! A vector operation costs the same for one lane as for sixteen, and a gather costs far more than one lane's load. So the pass
//! copies a loop of one block, with every value uniform: the copy runs a single lane. The vector loop is left for the copy once
//! the number of lanes in it is at most a limit, which a cost model chooses for the loop. Blocks:
//!
//! ```text
//! enter:  few?  -> rest : loop         loop:  ...; few? -> rest : loop
//! rest:   any?  -> keep : behind       keep:  stores the lanes' values where a single lane's is read
//! pick:   the lowest lane's values     alone: the loop for that lane
//! put:    its results; any left? -> pick : behind
//! ```
//!
//! It is the last pass of a region, for code generators that know the operations on chunks ([`Opcode::ChunkBallot`] and the three
//! after it). A loop qualifies if
//! - it ends in `br_any c`, where `c` becomes its parameter `m`, the lanes in the loop, and `c` implies `m`;
//! - it has no effects (no stores, no slot writes), reads no other lane, and loads only under `m` or at uniform addresses. Then
//!   lanes may run in any order: a guest that uses no barrier may see any part of what others store meanwhile;
//! - each value used after it is the value that a lane had when it left: one that becomes a parameter of the next iteration, and
//!   equals that parameter where `m` does not hold.

use foldhash::{HashMap, HashMapExt};
use warpjit_ir_core::builder::Builder;
use warpjit_ir_core::entities::{Block, Value};
use warpjit_ir_core::function::{BlockCall, Form, Function, Imm, InstData, Terminator};
use warpjit_ir_core::opcodes::{IntCC, Opcode, Space};
use warpjit_ir_core::types::{Scalar, Type};

/// Most instructions of a loop that is copied.
const MOST_INSTS: usize = 400;

/// Runs the pass. `most` gives for each loop, named by its block, how many lanes count as few; 0 leaves the loop as it is. The code
/// generator knows. If the pass changes something, run `fold`, `simplify_cfg`, `gvn` and `dce` after it.
pub fn run(func: &mut Function, most: impl Fn(&Function, Block) -> u32) -> bool {
    if func.form != Form::Mask {
        return false;
    }
    let mut changed = false;
    for head in func.block_ids() {
        let most = most(func, head);
        if most != 0
            && let Some(found) = LaneLoop::at(func, head)
        {
            found.split(func, most);
            changed = true;
        }
    }
    changed
}

/// A loop that can be serialised.
struct LaneLoop {
    head: Block,
    /// The parameter with the lanes in the loop, and its index.
    inside: Value,
    /// The lanes that iterate again.
    again: Value,
    /// The parameters' values in the next iteration.
    args: Vec<Value>,
    /// Where it goes on when no lane is left.
    next: BlockCall,
    /// The values used after the loop, each with the index of the parameter that it becomes.
    kept: Vec<(Value, usize)>,
    /// Truth values that are known where `inside` holds.
    truths: HashMap<Value, bool>,
}

/// What a value is in lanes that are not in the loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outside {
    Truth(bool),
    Is(Value),
}

impl LaneLoop {
    fn at(func: &Function, head: Block) -> Option<LaneLoop> {
        let data = func.block(head);
        let Some(Terminator::BrAny { mask: again, taken, next }) = &data.term else { return None };
        let fits = head != func.entry
            && taken.block == head
            && next.block != head
            && data.insts.len() <= MOST_INSTS
            && !func.ty(*again).uniform;
        if !fits {
            return None;
        }
        let turn: HashMap<Value, Value> =
            data.params.iter().copied().zip(taken.args.iter().copied()).collect();
        let inside = *data.params.iter().find(|p| turn.get(p) == Some(again) && !func.ty(**p).uniform)?;
        let outside = outside_of(func, head, inside);
        let get = |v: Value| outside.get(&v).copied().unwrap_or(Outside::Is(v));
        if get(*again) != Outside::Truth(false) {
            return None;
        }
        for &inst in &data.insts {
            let data = func.inst(inst);
            let guarded = |guard: &Value| get(*guard) == Outside::Truth(false);
            let may = match (data.op, data.imm) {
                (Opcode::Load, Imm::Mem(mem)) => {
                    let ty = data.result.map(|r| func.ty(r))?;
                    mem.space != Space::Local
                        && (data.args.get(1).is_some_and(guarded)
                            || data.args.len() == 1 && ty.uniform && func.ty(data.args[0]).uniform)
                }
                (Opcode::Any, _) => true,
                (Opcode::CallPure | Opcode::ChunkSpread, _) => false,
                (op, _) => op.is_pure() && !op.differs_by_lane(),
            };
            if !may {
                return None;
            }
        }
        let mut kept = Vec::new();
        for value in used_behind(func, head, next) {
            // Outside `inside`, a parameter keeps the value that it had at the start of the last iteration.
            let index = taken.args.iter().position(|&a| a == value)?;
            if func.ty(value).uniform || get(value) != Outside::Is(data.params[index]) {
                return None;
            }
            kept.push((value, index));
        }
        let mut truths = HashMap::new();
        known_if(func, *again, true, &mut truths);
        let truths = data
            .params
            .iter()
            .enumerate()
            .filter_map(|(n, &param)| {
                let known = truths.get(turn.get(&param)?).copied()?;
                let from_start = param == inside || starts_as(func, head, n, known);
                from_start.then_some((param, known))
            })
            .collect();
        Some(LaneLoop {
            head,
            inside,
            again: *again,
            args: taken.args.clone(),
            next: next.clone(),
            kept,
            truths,
        })
    }

    /// Emits the loop for one lane, and the blocks around it.
    fn split(&self, func: &mut Function, most: u32) {
        let head = self.head;
        let (pc, term_pc, guest_insts) =
            (func.block(head).pc, func.block(head).term_pc, func.block(head).guest_insts);
        let mut new = || {
            let block = func.add_block(pc);
            func.block_mut(block).term_pc = term_pc;
            block
        };
        let [enter, rest, keep, pick, alone, put, behind] = std::array::from_fn(|_| new());
        func.block_mut(alone).guest_insts = guest_insts;
        let params = func.block(head).params.clone();
        let kept_types: Vec<Type> = self.kept.iter().map(|&(v, _)| func.ty(v)).collect();

        // A value used after the loop comes from either loop.
        let results: Vec<Value> = kept_types.iter().map(|&ty| func.add_param(behind, ty)).collect();
        let renamed: HashMap<Value, Value> = self.kept.iter().map(|k| k.0).zip(results).collect();
        let rename = |v: Value| renamed.get(&v).copied().unwrap_or(v);
        for block in func.block_ids().filter(|&b| b != head) {
            for inst in func.block(block).insts.clone() {
                func.inst_mut(inst).args.iter_mut().for_each(|a| *a = rename(*a));
            }
            if let Some(term) = &mut func.block_mut(block).term {
                term.map_uses(rename);
                term.for_each_call(|call| {
                    if call.block == head {
                        call.block = enter;
                    }
                });
            }
        }
        let next =
            BlockCall { block: self.next.block, args: self.next.args.iter().map(|&v| rename(v)).collect() };
        Builder::new(func, behind).terminate(Terminator::Jump(next));

        let types: Vec<Type> = params.iter().map(|&p| func.ty(p)).collect();
        let [entered, left] = [enter, rest]
            .map(|block| types.iter().map(|&ty| func.add_param(block, ty)).collect::<Vec<Value>>());
        let index_of = |v: Value| params.iter().position(|&p| p == v).unwrap_or(0);
        let inside = index_of(self.inside);

        self.test_few(func, enter, entered[inside], most, (rest, &entered), &entered);
        self.test_few(func, head, self.again, most, (rest, &self.args), &self.args);

        // Block `rest`: which lanes are left.
        let mut b = Builder::new(func, rest);
        b.pc = 0;
        let lanes = ballot(&mut b, left[inside]);
        let zero = b.i64(0);
        let some = b.icmp(IntCC::Ne, lanes, zero);
        let start: Vec<Value> = self.kept.iter().map(|&(_, index)| left[index]).collect();
        let none = BlockCall { block: behind, args: start.clone() };
        b.terminate(Terminator::BrIf { cond: some, taken: keep.into(), next: none });

        let mut copy = Copy { one: lanes, values: HashMap::new() };
        // Every varying value that the loop reads.
        let mut sources: Vec<(Value, Value)> = params
            .iter()
            .zip(&left)
            .filter(|(p, _)| !self.truths.contains_key(p))
            .map(|(&p, &l)| (p, l))
            .collect();
        sources.extend(self.read_from_before(func).into_iter().map(|v| (v, v)));
        let mut b = Builder::new(func, keep);
        b.pc = 0;
        let found: Vec<(Value, Value)> = sources
            .into_iter()
            .map(|(v, from)| {
                let ty = b.func.ty(from);
                let found = match ty {
                    Type { uniform: true, .. } => from,
                    Type { scalar: Scalar::I1, .. } => ballot(&mut b, from),
                    _ => push(&mut b, Opcode::ChunkSpread, &[from], ty),
                };
                (v, found)
            })
            .collect();
        let mut first = vec![lanes];
        first.extend(&start);
        b.terminate(Terminator::Jump(BlockCall { block: pick, args: first }));

        // Block `pick`: choose the lowest lane.
        let bits = func.add_param(pick, Type::uniform(Scalar::I64));
        let so_far: Vec<Value> = kept_types.iter().map(|&ty| func.add_param(pick, ty)).collect();
        let mut b = Builder::new(func, pick);
        b.pc = 0;
        let number = b.ctz(bits);
        let one = b.i64(1);
        let below = push(&mut b, Opcode::Isub, &[bits, one], Type::uniform(Scalar::I64));
        let others = b.iand(bits, below);
        let bit = b.ixor(bits, others);
        copy.one = push(&mut b, Opcode::ChunkMask, &[bit], Type::MASK);
        let mut turn = Vec::new();
        for (v, found) in found {
            let ty = b.func.ty(v);
            let own = match ty {
                Type { uniform: true, .. } => found,
                Type { scalar: Scalar::I1, .. } => {
                    let own = b.iand(found, bit);
                    let zero = b.i64(0);
                    b.icmp(IntCC::Ne, own, zero)
                }
                _ => push(&mut b, Opcode::ChunkValue, &[found, number], Type::uniform(ty.scalar)),
            };
            match params.contains(&v) {
                true => turn.push((v, own)),
                false => {
                    copy.values.insert(v, own);
                }
            }
        }
        let turn_args = turn.iter().map(|&(_, own)| own).collect();
        b.terminate(Terminator::Jump(BlockCall { block: alone, args: turn_args }));

        // Block `alone`: the loop for that lane.
        for &(v, own) in &turn {
            let param = func.add_param(alone, func.ty(own));
            copy.values.insert(v, param);
        }
        for (&v, &truth) in &self.truths {
            let known = Builder::new(func, pick).bool(truth);
            copy.values.insert(v, known);
        }
        for inst in func.block(head).insts.clone() {
            copy.inst(func, alone, func.inst(inst).clone());
        }
        let args = turn.iter().map(|&(v, _)| copy.get(self.args[index_of(v)])).collect();
        let cond = copy.get(self.again);
        let taken = BlockCall { block: alone, args };
        func.block_mut(alone).term = Some(Terminator::BrIf { cond, taken, next: put.into() });

        // Block `put`: write back the lane's results.
        let mut b = Builder::new(func, put);
        b.pc = 0;
        let all: Vec<Value> = self
            .kept
            .iter()
            .zip(&so_far)
            .map(|(&(v, _), &so_far)| {
                let (own, scalar) = (copy.get(v), b.func.ty(v).scalar);
                push(&mut b, Opcode::Select, &[copy.one, own, so_far], Type::varying(scalar))
            })
            .collect();
        let zero = b.i64(0);
        let some = b.icmp(IntCC::Ne, others, zero);
        let mut following = vec![others];
        following.extend(&all);
        let taken = BlockCall { block: pick, args: following };
        b.terminate(Terminator::BrIf { cond: some, taken, next: BlockCall { block: behind, args: all } });
    }

    /// Ends a block with the test: few lanes go to `rest`, more stay in the loop.
    fn test_few(
        &self,
        func: &mut Function,
        block: Block,
        lanes: Value,
        most: u32,
        rest: (Block, &[Value]),
        again: &[Value],
    ) {
        let mut b = Builder::new(func, block);
        b.pc = 0;
        let bits = ballot(&mut b, lanes);
        let count = b.popcnt(bits);
        let most = b.i64(u64::from(most));
        let cond = b.icmp(IntCC::Ule, count, most);
        let taken = BlockCall { block: rest.0, args: rest.1.to_vec() };
        let next = BlockCall { block: self.head, args: again.to_vec() };
        let term_pc = b.func.block(block).term_pc;
        b.terminate(Terminator::BrIf { cond, taken, next });
        func.block_mut(block).term_pc = term_pc;
    }

    /// Varying values from before the loop that the loop reads.
    fn read_from_before(&self, func: &Function) -> Vec<Value> {
        let mut own: Vec<Value> = func.block(self.head).params.clone();
        let mut read = Vec::new();
        let mut see = |v: Value, own: &[Value]| {
            if !func.ty(v).uniform && !own.contains(&v) && !read.contains(&v) {
                read.push(v);
            }
        };
        for &inst in &func.block(self.head).insts {
            let data = func.inst(inst);
            data.args.iter().for_each(|&v| see(v, &own));
            own.extend(data.result);
        }
        self.args.iter().for_each(|&v| see(v, &own));
        read
    }
}

/// The copy of a loop for one lane.
struct Copy {
    /// The lane, as a mask.
    one: Value,
    /// The copy's value for each value of the loop.
    values: HashMap<Value, Value>,
}

impl Copy {
    fn get(&self, v: Value) -> Value {
        self.values.get(&v).copied().unwrap_or(v)
    }

    fn inst(&mut self, func: &mut Function, block: Block, data: InstData) {
        let Some(result) = data.result else { return };
        let mut args: Vec<Value> = data.args.iter().map(|&a| self.get(a)).collect();
        let ty = Type::uniform(func.ty(result).scalar);
        let mut b = Builder::new(func, block);
        b.pc = data.pc;
        let own = match data.op {
            // For one lane the mask itself is the answer.
            Opcode::Any if args.len() == 1 => args[0],
            Opcode::Any => push(&mut b, Opcode::Iand, &args, ty),
            Opcode::Splat => args[0],
            Opcode::Load => {
                if let Some(guard) = args.get_mut(1) {
                    *guard = match b.func.as_const(*guard) {
                        Some(1) => self.one,
                        _ => push(&mut b, Opcode::Iand, &[self.one, *guard], Type::MASK),
                    };
                }
                match b.push(Opcode::Load, &args, data.imm, Some(ty)) {
                    Some(loaded) => loaded,
                    None => return,
                }
            }
            op => match b.push(op, &args, data.imm, Some(ty)) {
                Some(own) => own,
                None => return,
            },
        };
        self.values.insert(result, own);
    }
}

fn push(b: &mut Builder<'_>, op: Opcode, args: &[Value], ty: Type) -> Value {
    b.push(op, args, Imm::None, Some(ty)).expect("has a result")
}

fn ballot(b: &mut Builder<'_>, mask: Value) -> Value {
    push(b, Opcode::ChunkBallot, &[mask], Type::uniform(Scalar::I64))
}

/// Moves bitcasts out of a loop of one block if only code after the loop uses them. They come from float results that
/// the guest keeps in integer registers.
pub fn sink_casts(func: &mut Function) -> bool {
    let mut uses: HashMap<Value, Vec<Option<Block>>> = HashMap::new();
    for block in func.block_ids() {
        for &inst in &func.block(block).insts {
            func.inst(inst).args.iter().for_each(|&v| uses.entry(v).or_default().push(Some(block)));
        }
        if let Some(term) = &func.block(block).term {
            term.for_each_use(|v| uses.entry(v).or_default().push(None));
        }
    }
    let mut moved = Vec::new();
    for head in func.block_ids() {
        let Some(Terminator::BrIf { taken, next, .. }) = &func.block(head).term else { continue };
        let behind = next.block;
        if taken.block != head || behind == head {
            continue;
        }
        for &inst in &func.block(head).insts {
            let data = func.inst(inst);
            let users = data.result.and_then(|r| uses.get(&r));
            let only = users.is_some_and(|list| list.iter().all(|&b| b == Some(behind)));
            if data.op == Opcode::Bitcast && only {
                moved.push((head, behind, inst));
            }
        }
    }
    for &(from, to, inst) in &moved {
        func.block_mut(from).insts.retain(|&i| i != inst);
        func.block_mut(to).insts.insert(0, inst);
    }
    !moved.is_empty()
}

/// What the block's values are in lanes where `inside` does not hold.
fn outside_of(func: &Function, head: Block, inside: Value) -> HashMap<Value, Outside> {
    let mut known: HashMap<Value, Outside> = HashMap::from_iter([(inside, Outside::Truth(false))]);
    for &inst in &func.block(head).insts {
        let data = func.inst(inst);
        let Some(result) = data.result else { continue };
        let truth = func.ty(result).scalar == Scalar::I1;
        let get = |n: usize| {
            let v = data.args[n];
            let constant = || match (func.ty(v).scalar, func.as_const(v)) {
                (Scalar::I1, Some(bits)) => Outside::Truth(bits & 1 != 0),
                _ => Outside::Is(v),
            };
            known.get(&v).copied().unwrap_or_else(constant)
        };
        let is = match data.op {
            Opcode::Iand | Opcode::Ior if truth => {
                let dominant = Outside::Truth(data.op == Opcode::Ior);
                let neutral = Outside::Truth(data.op == Opcode::Iand);
                match (get(0), get(1)) {
                    (a, b) if a == dominant || b == dominant => Some(dominant),
                    (a, b) if a == neutral => Some(b),
                    (a, b) if b == neutral => Some(a),
                    _ => None,
                }
            }
            Opcode::Inot if truth => match get(0) {
                Outside::Truth(t) => Some(Outside::Truth(!t)),
                Outside::Is(_) => None,
            },
            Opcode::Select => match get(0) {
                Outside::Truth(t) => Some(get(if t { 1 } else { 2 })),
                Outside::Is(_) => None,
            },
            Opcode::Bitcast => match get(0) {
                // The same bits taken back and forth.
                Outside::Is(v) => match func.def_inst(v) {
                    Some(InstData { op: Opcode::Bitcast, args, .. })
                        if func.ty(args[0]).scalar == func.ty(result).scalar =>
                    {
                        Some(Outside::Is(args[0]))
                    }
                    _ => None,
                },
                Outside::Truth(_) => None,
            },
            _ => None,
        };
        if let Some(is) = is {
            known.insert(result, is);
        }
    }
    known
}

/// Values of the block that other blocks use, each once.
fn used_behind(func: &Function, head: Block, next: &BlockCall) -> Vec<Value> {
    let is_own: Vec<bool> = {
        let mut list = vec![false; func.values.len()];
        let results = func.block(head).insts.iter().filter_map(|&i| func.inst(i).result);
        results.chain(func.block(head).params.iter().copied()).for_each(|v| list[v.index()] = true);
        list
    };
    let mut used: Vec<Value> = next.args.iter().copied().filter(|v| is_own[v.index()]).collect();
    for block in func.block_ids().filter(|&b| b != head) {
        for &inst in &func.block(block).insts {
            used.extend(func.inst(inst).args.iter().copied().filter(|v| is_own[v.index()]));
        }
        if let Some(term) = &func.block(block).term {
            term.for_each_use(|v| {
                if is_own[v.index()] {
                    used.push(v);
                }
            });
        }
    }
    used.sort_by_key(|v| v.index());
    used.dedup();
    used
}

/// Adds the truth values that follow from `v` being `truth`.
fn known_if(func: &Function, v: Value, truth: bool, known: &mut HashMap<Value, bool>) {
    if known.insert(v, truth).is_some() {
        return;
    }
    let Some(data) = func.def_inst(v) else { return };
    match (data.op, truth) {
        (Opcode::Iand, true) | (Opcode::Ior, false) => {
            data.args.iter().for_each(|&a| known_if(func, a, truth, known));
        }
        (Opcode::Inot, _) => known_if(func, data.args[0], !truth, known),
        _ => {}
    }
}

/// Whether a parameter of a loop of one block is a constant truth value when the loop is entered.
fn starts_as(func: &Function, head: Block, index: usize, truth: bool) -> bool {
    let mut always = true;
    for block in func.block_ids().filter(|&b| b != head) {
        for call in func.block(block).term.iter().flat_map(|term| term.calls()).filter(|c| c.block == head) {
            let bits = call.args.get(index).and_then(|&a| func.as_const(a));
            always &= bits == Some(u64::from(truth));
        }
    }
    always
}

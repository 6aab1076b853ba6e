//! What values are where some uniform truth values are known: terms, folded as far as constants go.

use foldhash::{HashMap, HashSet, HashSetExt};
use smallvec::SmallVec;
use warpjit_ir_core::entities::{Block, Value};
use warpjit_ir_core::eval::eval_scalar;
use warpjit_ir_core::function::{Function, Imm, InstData};
use warpjit_ir_core::opcodes::{Group, IntCC, Opcode};
use warpjit_ir_core::passes::rewrite::Aliases;
use warpjit_ir_core::types::{Scalar, Type};

/// How many operations deep values are looked at.
const DEPTH: u32 = 24;

/// Most operations that are looked at.
const MOST_OPERATIONS: usize = 400;

/// Most operations of a line.
const MOST_OF_LINE: usize = 32;

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Term {
    /// A constant.
    Const(u64),
    /// A value of the function.
    Same(Value),
    /// An operation that the function does not have: its number in [`Assuming::made`].
    Made(usize),
}

/// Operands of an operation.
pub(super) type Terms = SmallVec<[Term; 4]>;

/// An operation that the function does not have yet.
struct Made {
    data: InstData,
    args: Terms,
    /// The types of operands.
    types: SmallVec<[Scalar; 4]>,
    ty: Type,
    /// The value, once it stands in a block.
    placed: Option<Value>,
}

/// Values under an assumption.
pub(super) struct Assuming {
    terms: HashMap<Value, Term>,
    made: Vec<Made>,
    /// Words and the most that they can be.
    most: Vec<(Term, u64)>,
    left: usize,
}

impl Assuming {
    /// Some values are known.
    pub fn new(known: &[(Value, u64)]) -> Assuming {
        let terms = known.iter().map(|&(v, bits)| (v, Term::Const(bits))).collect();
        Assuming { terms, made: Vec::new(), most: Vec::new(), left: MOST_OPERATIONS }
    }

    /// A word is no more than that.
    pub fn limit(&mut self, word: Term, most: u64) {
        self.most.push((word, most));
    }

    /// From now on a value is this.
    pub fn set(&mut self, v: Value, term: Term) {
        self.terms.insert(v, term);
    }

    /// What a value is.
    pub fn term(&mut self, func: &Function, aliases: &Aliases, v: Value) -> Term {
        self.within(func, aliases, v, DEPTH)
    }

    fn within(&mut self, func: &Function, aliases: &Aliases, v: Value, depth: u32) -> Term {
        let v = aliases.get(v);
        if let Some(&known) = self.terms.get(&v) {
            return known;
        }
        let term = match (func.as_const(v), func.def_inst(v)) {
            (Some(bits), _) => Term::Const(bits),
            (None, Some(data)) if depth > 0 && self.left > 0 && is_followed(data.op) => {
                self.left -= 1;
                let args: Terms =
                    data.args.iter().map(|&arg| self.within(func, aliases, arg, depth - 1)).collect();
                let is_same = |(&term, &arg): (&Term, &Value)| match term {
                    Term::Const(bits) => func.as_const(arg) == Some(bits),
                    term => term == Term::Same(aliases.get(arg)),
                };
                let unchanged = args.iter().zip(&data.args).all(is_same);
                match self.folded(func, aliases, data, &args) {
                    Some(term) => term,
                    None if unchanged => Term::Same(v),
                    None => self.make(func, data, args),
                }
            }
            _ => Term::Same(v),
        };
        self.terms.insert(v, term);
        term
    }

    /// An operation of which operands are something else now.
    pub fn again(&mut self, func: &Function, aliases: &Aliases, data: &InstData) -> Term {
        let args: Terms = data.args.iter().map(|&arg| self.term(func, aliases, arg)).collect();
        let term = match self.folded(func, aliases, data, &args) {
            Some(term) => term,
            None => self.make(func, data, args),
        };
        if let Some(result) = data.result {
            self.set(result, term);
        }
        term
    }

    fn make(&mut self, func: &Function, data: &InstData, args: Terms) -> Term {
        let types = data.args.iter().map(|&arg| func.ty(arg).scalar).collect();
        let ty = data.result.map_or(Type::I32, |r| func.ty(r));
        self.intern(func, data.clone(), args, types, ty)
    }

    fn intern(
        &mut self,
        func: &Function,
        data: InstData,
        args: Terms,
        types: SmallVec<[Scalar; 4]>,
        ty: Type,
    ) -> Term {
        let uniform =
            ty.uniform || is_followed(data.op) && args.iter().all(|&arg| self.is_uniform(func, arg));
        let ty = Type { uniform, ..ty };
        let is_it = |made: &Made| {
            made.data.op == data.op && made.data.imm == data.imm && made.args == args && made.ty == ty
        };
        if let Some(n) = self.made.iter().position(is_it) {
            return Term::Made(n);
        }
        self.made.push(Made { data, args, types, ty, placed: None });
        Term::Made(self.made.len() - 1)
    }

    /// Whether a term is the same in all lanes.
    pub fn is_uniform(&self, func: &Function, term: Term) -> bool {
        match term {
            Term::Const(_) => true,
            Term::Same(v) => func.ty(v).uniform,
            Term::Made(n) => self.made[n].ty.uniform,
        }
    }

    /// What an operation is with these operands, if no operation.
    fn folded(&mut self, func: &Function, aliases: &Aliases, data: &InstData, args: &[Term]) -> Option<Term> {
        let scalar = func.ty(data.result?).scalar;
        let constant = |n: usize| match args.get(n) {
            Some(&Term::Const(bits)) => Some(bits),
            _ => None,
        };
        if !args.is_empty() && is_followed(data.op) {
            let bits: Option<SmallVec<[u64; 4]>> = (0..args.len()).map(constant).collect();
            let types: SmallVec<[Scalar; 4]> = data.args.iter().map(|&arg| func.ty(arg).scalar).collect();
            if let Some(bits) = bits
                && let Some(value) = eval_scalar(data.op, &data.imm, &types, scalar, &bits)
            {
                return Some(Term::Const(value));
            }
        }
        let all = scalar.bit_mask();
        let (a, b) = (constant(0), constant(1));
        let first = || args.first().copied();
        let second = || args.get(1).copied();
        match data.op {
            Opcode::Iadd | Opcode::Ior | Opcode::Ixor if b == Some(0) => first(),
            Opcode::Iadd | Opcode::Ior | Opcode::Ixor if a == Some(0) => second(),
            Opcode::Iadd if scalar == Scalar::I64 => self.constant_last(func, data, args),
            Opcode::Isub if b == Some(0) => first(),
            Opcode::Iand if a == Some(all) => second(),
            Opcode::Iand if b == Some(all) => first(),
            Opcode::Iand | Opcode::Imul if a == Some(0) || b == Some(0) => Some(Term::Const(0)),
            Opcode::Ior if a == Some(all) || b == Some(all) => Some(Term::Const(all)),
            Opcode::Imul if b == Some(1) => first(),
            Opcode::Imul if a == Some(1) => second(),
            Opcode::Ishl | Opcode::Ushr | Opcode::Sshr if a == Some(0) => Some(Term::Const(0)),
            Opcode::Ishl | Opcode::Ushr | Opcode::Sshr if b == Some(0) => first(),
            Opcode::Icmp if data.imm == Imm::Int(IntCC::Ult) && b == Some(0) => Some(Term::Const(0)),
            Opcode::Select => match (a, args) {
                (Some(0), &[_, _, other]) => Some(other),
                (Some(_), &[_, then, _]) => Some(then),
                (None, &[_, then, other]) if then == other => Some(then),
                _ => None,
            },
            Opcode::Zext => self.extended(func, aliases, data, first()?),
            _ => None,
        }
    }

    /// A sum of words, extended, as a sum: if the words are known to be so small that it does not wrap.
    fn extended(&mut self, func: &Function, aliases: &Aliases, data: &InstData, word: Term) -> Option<Term> {
        let sum: Terms = match word {
            Term::Made(n) if self.made[n].data.op == Opcode::Iadd => self.made[n].args.clone(),
            Term::Same(v) => {
                let sum = func.def_inst(v).filter(|sum| sum.op == Opcode::Iadd)?;
                sum.args.iter().map(|&arg| self.known(func, aliases, arg)).collect()
            }
            _ => return None,
        };
        let (word, more) = match sum[..] {
            [word, Term::Const(more)] | [Term::Const(more), word] => (word, more),
            _ => return None,
        };
        let most = self.most.iter().filter(|(limited, _)| *limited == word).map(|&(_, most)| most).min()?;
        if most.checked_add(more)? > u64::from(u32::MAX) {
            return None;
        }
        let ty = Type::varying(Scalar::I64);
        let word = match word {
            Term::Const(_) => return None,
            word => self.intern(
                func,
                data.clone(),
                [word].into_iter().collect(),
                [Scalar::I32].into_iter().collect(),
                ty,
            ),
        };
        Some(self.sum(func, data.pc, word, Term::Const(more)))
    }

    /// A sum of 64 bits with the constant in one of the operands as its last.
    fn constant_last(&mut self, func: &Function, data: &InstData, args: &[Term]) -> Option<Term> {
        let &[a, b] = args else { return None };
        let parts = |terms: &Self, term: Term| match term {
            Term::Made(n) => match (terms.made[n].data.op, &terms.made[n].args[..]) {
                (Opcode::Iadd, &[rest, Term::Const(more)]) => Some((rest, more)),
                _ => None,
            },
            _ => None,
        };
        let (rest, other, more) = match (parts(self, a), parts(self, b)) {
            (Some((rest, more)), _) => (rest, b, more),
            (None, Some((rest, more))) => (a, rest, more),
            _ => return None,
        };
        let rest = match other {
            Term::Const(bits) => {
                return Some(self.sum(func, data.pc, rest, Term::Const(bits.wrapping_add(more))));
            }
            other => self.sum(func, data.pc, rest, other),
        };
        Some(self.sum(func, data.pc, rest, Term::Const(more)))
    }

    fn sum(&mut self, func: &Function, pc: u32, a: Term, b: Term) -> Term {
        let data = InstData { op: Opcode::Iadd, args: SmallVec::new(), imm: Imm::None, result: None, pc };
        let types = [Scalar::I64; 2].into_iter().collect();
        self.intern(func, data, [a, b].into_iter().collect(), types, Type::varying(Scalar::I64))
    }

    /// The smaller of two words.
    pub fn least(&mut self, func: &Function, pc: u32, a: Term, b: Term) -> Term {
        let data = InstData { op: Opcode::Umin, args: SmallVec::new(), imm: Imm::None, result: None, pc };
        let types = [Scalar::I32; 2].into_iter().collect();
        self.intern(func, data, [a, b].into_iter().collect(), types, Type::varying(Scalar::I32))
    }

    /// Whether a word is below another.
    pub fn below(&mut self, func: &Function, pc: u32, a: Term, b: Term) -> Term {
        let imm = Imm::Int(IntCC::Ult);
        let data = InstData { op: Opcode::Icmp, args: SmallVec::new(), imm, result: None, pc };
        let types = [Scalar::I32; 2].into_iter().collect();
        self.intern(func, data, [a, b].into_iter().collect(), types, Type::MASK)
    }

    /// An address without the constant that is added to it.
    pub fn without_constant(&self, address: Term) -> (Term, i64) {
        if let Term::Made(n) = address
            && let (Opcode::Iadd, &[rest, Term::Const(more)]) = (self.made[n].data.op, &self.made[n].args[..])
        {
            return (rest, more as i64);
        }
        (address, 0)
    }

    /// The operands of a comparison of words: whether the first is below the second.
    pub fn compared(&self, func: &Function, aliases: &Aliases, term: Term) -> Option<(Term, Term)> {
        match term {
            Term::Made(n) => {
                let Made { data, args, types, .. } = &self.made[n];
                let is_it = data.op == Opcode::Icmp && data.imm == Imm::Int(IntCC::Ult);
                (is_it && types[0] == Scalar::I32).then(|| (args[0], args[1]))
            }
            Term::Same(v) => {
                let data = func.def_inst(v)?;
                let is_it = data.op == Opcode::Icmp && data.imm == Imm::Int(IntCC::Ult);
                let &[a, b] = &data.args[..] else { return None };
                (is_it && func.ty(a).scalar == Scalar::I32)
                    .then(|| (self.known(func, aliases, a), self.known(func, aliases, b)))
            }
            Term::Const(_) => None,
        }
    }

    /// An unsigned upper bound of a word.
    pub fn upper_bound(&self, func: &Function, aliases: &Aliases, term: Term, depth: u32) -> u64 {
        let all = u64::from(u32::MAX);
        let (data, args): (&InstData, Terms) = match term {
            Term::Const(bits) => return bits,
            Term::Same(v) => match func.def_inst(v) {
                Some(data) => (data, data.args.iter().map(|&arg| self.known(func, aliases, arg)).collect()),
                None => return all,
            },
            Term::Made(n) => (&self.made[n].data, self.made[n].args.clone()),
        };
        if depth == 0 {
            return all;
        }
        let of = |term: Term| self.upper_bound(func, aliases, term, depth - 1);
        match (data.op, &args[..]) {
            (Opcode::Umin, &[a, b]) => of(a).min(of(b)),
            (Opcode::Select, &[fits, then, other]) => {
                let then = self.difference(func, aliases, fits, then).unwrap_or_else(|| of(then));
                then.max(of(other))
            }
            _ => all,
        }
    }

    /// The most that a difference is where it is not negative: `fits` says so.
    fn difference(&self, func: &Function, aliases: &Aliases, fits: Term, rest: Term) -> Option<u64> {
        let operands = |term: Term, op: Opcode| -> Option<(Imm, Terms)> {
            match term {
                Term::Made(n) if self.made[n].data.op == op => {
                    Some((self.made[n].data.imm, self.made[n].args.clone()))
                }
                Term::Same(v) => {
                    let data = func.def_inst(v).filter(|data| data.op == op)?;
                    let args = data.args.iter().map(|&arg| self.known(func, aliases, arg)).collect();
                    Some((data.imm, args))
                }
                _ => None,
            }
        };
        let (Imm::Int(IntCC::Uge), least) = operands(fits, Opcode::Icmp)? else { return None };
        let (_, sum) = operands(rest, Opcode::Iadd)?;
        let (&[whole, Term::Const(least)], &[of, Term::Const(more)]) = (&least[..], &sum[..]) else {
            return None;
        };
        let less = u64::from((more as u32).wrapping_neg());
        (whole == of && less <= least).then(|| u64::from(u32::MAX) - less)
    }

    /// What is known of a value already.
    fn known(&self, func: &Function, aliases: &Aliases, v: Value) -> Term {
        let v = aliases.get(v);
        match (self.terms.get(&v), func.as_const(v)) {
            (Some(&term), _) => term,
            (None, Some(bits)) => Term::Const(bits),
            (None, None) => Term::Same(v),
        }
    }

    /// How many operations that may differ from lane to lane some terms are made of.
    pub fn cost(&self, func: &Function, aliases: &Aliases, terms: &[Term]) -> usize {
        let mut seen: HashSet<Term> = HashSet::new();
        let mut work: Vec<Term> = terms.to_vec();
        let mut operations = 0;
        while let Some(term) = work.pop() {
            if self.is_uniform(func, term) || operations > MOST_OPERATIONS || !seen.insert(term) {
                continue;
            }
            match term {
                Term::Const(_) => {}
                Term::Same(v) => {
                    if let Some(data) = func.def_inst(v).filter(|data| is_followed(data.op)) {
                        operations += 1;
                        work.extend(data.args.iter().map(|&arg| Term::Same(aliases.get(arg))));
                    }
                }
                Term::Made(n) => {
                    operations += 1;
                    work.extend(&self.made[n].args);
                }
            }
        }
        operations
    }

    /// Whether lanes may have a value that lies on a line of known stride: it is made of slots, words that loops carry, and what all lanes
    /// share, and nothing is multiplied by what only running code knows.
    pub fn may_be_line(&self, func: &Function, aliases: &Aliases, term: Term) -> bool {
        let mut work = vec![term];
        for _ in 0..MOST_OF_LINE {
            let Some(term) = work.pop() else { return true };
            if self.is_uniform(func, term) {
                continue;
            }
            let (op, args): (Opcode, Terms) = match term {
                Term::Const(_) => continue,
                Term::Same(v) => match func.def_inst(v) {
                    Some(data) => {
                        (data.op, data.args.iter().map(|&arg| self.known(func, aliases, arg)).collect())
                    }
                    None => continue,
                },
                Term::Made(n) => (self.made[n].data.op, self.made[n].args.clone()),
            };
            let is_const = |n: usize| matches!(args.get(n), Some(Term::Const(_)));
            match op {
                Opcode::SlotGet => {}
                Opcode::Iadd | Opcode::Isub | Opcode::Ior | Opcode::Iand | Opcode::Splat => work.extend(args),
                Opcode::Zext | Opcode::Sext | Opcode::Trunc => work.extend(args),
                Opcode::Ishl | Opcode::Ushr | Opcode::Sshr if is_const(1) => work.extend(args),
                Opcode::Imul if is_const(0) || is_const(1) => work.extend(args),
                _ => return false,
            }
        }
        false
    }

    /// The value of a term at the end of a block. What was put into a block before must be good there.
    pub fn place(&mut self, func: &mut Function, block: Block, term: Term, scalar: Scalar) -> Value {
        let (data, args, types, ty) = match term {
            Term::Const(bits) => {
                let ty = Type::uniform(scalar);
                let pc = func.block(block).pc;
                let inst = func.make_inst(Opcode::Const, &[], Imm::Bits(bits), Some(ty), pc);
                func.block_mut(block).insts.push(inst);
                return Value::new(func.values.len() - 1);
            }
            Term::Same(v) => return v,
            Term::Made(n) => match &self.made[n] {
                Made { placed: Some(v), .. } => return *v,
                Made { data, args, types, ty, .. } => (data.clone(), args.clone(), types.clone(), *ty),
            },
        };
        let args: SmallVec<[Value; 4]> =
            args.iter().zip(types).map(|(&arg, scalar)| self.place(func, block, arg, scalar)).collect();
        let inst = func.make_inst(data.op, &args, data.imm, Some(ty), data.pc);
        func.block_mut(block).insts.push(inst);
        let v = Value::new(func.values.len() - 1);
        if let Term::Made(n) = term {
            self.made[n].placed = Some(v);
        }
        v
    }
}

/// Whether an operation is looked through.
pub(super) fn is_followed(op: Opcode) -> bool {
    let is_made = matches!(op.group(), Group::Int) && !matches!(op, Opcode::Const | Opcode::Lookup);
    is_made || matches!(op, Opcode::Select | Opcode::Zext | Opcode::Sext | Opcode::Trunc)
}

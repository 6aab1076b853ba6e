//! SSA construction while code is emitted (Braun et al., "Simple and Efficient Construction of SSA Form", 2013).

use std::hash::Hash;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use warpjit_ir_core::entities::{Block, Value};
use warpjit_ir_core::function::{Function, Imm, Terminator, ValueDef};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::types::Type;

/// SSA construction for variables `K` of a function that is being emitted. A variable that was never written is zero.
pub struct SsaBuilder<K> {
    types: HashMap<K, Type>,
    defs: HashMap<(K, Block), Value>,
    sealed: HashSet<Block>,
    preds: HashMap<Block, Vec<Block>>,
    open: HashMap<Block, Vec<(K, Value)>>,
    zeros: HashMap<Type, Value>,
    /// Arguments of edges: from, to, index of the parameter, value.
    operands: Vec<(Block, Block, u32, Value)>,
}

impl<K: Copy + Eq + Hash> Default for SsaBuilder<K> {
    fn default() -> Self {
        SsaBuilder {
            types: HashMap::new(),
            defs: HashMap::new(),
            sealed: HashSet::new(),
            preds: HashMap::new(),
            open: HashMap::new(),
            zeros: HashMap::new(),
            operands: Vec::new(),
        }
    }
}

impl<K: Copy + Eq + Hash> SsaBuilder<K> {
    /// Declares a variable; the first declaration counts.
    pub fn declare(&mut self, key: K, ty: Type) {
        self.types.entry(key).or_insert(ty);
    }

    /// Declares that `from`'s terminator leads to `to`. Must be called before `to` is sealed.
    pub fn edge(&mut self, from: Block, to: Block) {
        self.preds.entry(to).or_default().push(from);
    }

    /// Assigns a variable.
    pub fn write(&mut self, key: K, block: Block, value: Value) {
        self.defs.insert((key, block), value);
    }

    /// The zero of a type, made in the function's entry.
    pub fn zero(&mut self, func: &mut Function, ty: Type) -> Value {
        let ty = Type::uniform(ty.scalar);
        if let Some(&v) = self.zeros.get(&ty) {
            return v;
        }
        let inst = func.make_inst(Opcode::Const, &[], Imm::Bits(0), Some(ty), 0);
        let entry = func.entry;
        func.block_mut(entry).insts.insert(0, inst);
        let v = func.inst(inst).result.expect("constant has a result");
        self.zeros.insert(ty, v);
        v
    }

    /// The value at the end of `block` as emitted so far.
    pub fn read(&mut self, func: &mut Function, key: K, block: Block) -> Value {
        if let Some(&v) = self.defs.get(&(key, block)) {
            return v;
        }
        let ty = self.types[&key];
        let value = if !self.sealed.contains(&block) {
            let p = func.add_param(block, ty);
            self.open.entry(block).or_default().push((key, p));
            p
        } else {
            match self.preds.get(&block).map(Vec::as_slice) {
                None | Some([]) => self.zero(func, ty),
                Some(&[pred]) => self.read(func, key, pred),
                Some(_) => {
                    let p = func.add_param(block, ty);
                    // Written before recursing, so that a cycle finds the parameter.
                    self.write(key, block, p);
                    self.add_operands(func, key, block, p);
                    p
                }
            }
        };
        self.write(key, block, value);
        value
    }

    /// Seals `block`: all edges to it have been declared.
    pub fn seal(&mut self, func: &mut Function, block: Block) {
        self.sealed.insert(block);
        for (key, p) in self.open.remove(&block).unwrap_or_default() {
            self.add_operands(func, key, block, p);
        }
    }

    fn add_operands(&mut self, func: &mut Function, key: K, block: Block, param: Value) {
        let ValueDef::Param(_, index) = func.values[param.index()].def else { return };
        for pred in self.preds.get(&block).cloned().unwrap_or_default() {
            let v = self.read(func, key, pred);
            self.operands.push((pred, block, index, v));
        }
    }

    /// Fills in the arguments of all edges. Every block must be sealed.
    pub fn finish(mut self, func: &mut Function) {
        self.operands.sort_by_key(|o| o.2);
        for (pred, block, _, v) in self.operands {
            match &mut func.block_mut(pred).term {
                Some(Terminator::Jump(c)) => c.args.push(v),
                Some(Terminator::BrAny { taken, next, .. } | Terminator::BrIf { taken, next, .. }) => {
                    if taken.block == block {
                        taken.args.push(v);
                    } else {
                        next.args.push(v);
                    }
                }
                // No other terminator has edges in mask form.
                _ => {}
            }
        }
    }
}

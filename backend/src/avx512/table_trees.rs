//! Words of tables in constant memory that are put together by exclusive or, as ciphers and checksums do.
//!
//! Where sixteen words are loaded one by one, each of several vectors of them would be assembled by itself only to be combined with the
//! others. Loads with an operation do that in general registers, and one vector is assembled (docs/performance.md has figures).

use foldhash::HashMap;
use iced_x86::Code;
use warpjit_ir::analysis::Uses;
use warpjit_ir::function::ValueDef;
use warpjit_ir::types::Scalar;
use warpjit_ir::{Block, Function, Imm, Inst, Opcode, Space, Value};

use super::asm::{A, Mem, R, Src, With};
use super::code::Size;
use super::int::{ADD, AND, XOR};
use super::lower::Lower;
use super::scalar::{OR, SHL};
use crate::affine::{Form, Forms};
use crate::error::Error;
use crate::operands::MemoryOperands;

/// Look-ups that make it worth while.
const FEWEST: usize = 2;

/// A value that is the exclusive or of look-ups and others.
#[derive(Clone, Default)]
pub(super) struct Tree {
    lookups: Vec<Inst>,
    others: Vec<Value>,
}

/// The trees of a function, by value, and what is made with them and nowhere else.
#[derive(Default)]
pub(super) struct Trees {
    trees: HashMap<Value, Tree>,
    pub parts: Vec<Value>,
}

impl Trees {
    /// Finds the trees of the blocks of `order`.
    pub fn new(f: &Function, order: &[Block], forms: &Forms, uses: &Uses) -> Trees {
        let mut trees = Trees::default();
        for &b in order {
            let insts = &f.block(b).insts;
            let mut within = vec![false; f.values.len()];
            insts.iter().filter_map(|&i| f.inst(i).result).for_each(|r| within[r.index()] = true);
            // The last ones first: what is a part of one is no tree of its own.
            for &inst in insts.iter().rev() {
                let Some(root) = f.inst(inst).result.filter(|&r| is_xor(f, forms, r)) else { continue };
                if trees.parts.contains(&root) {
                    continue;
                }
                let (mut tree, mut inner) = (Tree::default(), Vec::new());
                let mut work = f.inst(inst).args.to_vec();
                while let Some(v) = work.pop() {
                    let own = within[v.index()] && uses.count(v) == 1;
                    match f.values[v.index()].def {
                        ValueDef::Inst(i) if own && is_xor(f, forms, v) => {
                            inner.push(v);
                            work.extend(&f.inst(i).args);
                        }
                        ValueDef::Inst(i) if own && is_lookup(f, forms, i) => {
                            inner.push(v);
                            tree.lookups.push(i);
                        }
                        _ => tree.others.push(v),
                    }
                }
                if tree.lookups.len() >= FEWEST {
                    trees.parts.extend(inner);
                    trees.trees.insert(root, tree);
                }
            }
        }
        trees
    }

    pub fn of(&self, v: Value) -> Option<&Tree> {
        self.trees.get(&v)
    }
}

fn is_xor(f: &Function, forms: &Forms, v: Value) -> bool {
    let words = f.ty(v).scalar == Scalar::I32 && forms.of(v) == Form::Varying;
    words && f.def_inst(v).is_some_and(|data| data.op == Opcode::Ixor)
}

/// Whether an instruction loads a word of constant memory, from another place in each lane.
fn is_lookup(f: &Function, forms: &Forms, inst: Inst) -> bool {
    let data = f.inst(inst);
    let (Opcode::Load, Imm::Mem(mem), Some(&a)) = (data.op, data.imm, data.args.first()) else {
        return false;
    };
    let words = mem.bytes == 4 && mem.align <= 1 && f.ty(a).scalar == Scalar::I32;
    words && matches!(mem.space, Space::Const(_)) && forms.of(a) == Form::Varying
}

impl Lower<'_> {
    /// Where the lanes of a look-up's vectors lie, from the start of the constant memory: what varies and what does not.
    fn const_places(&mut self, inst: Inst) -> Result<(Vec<R>, i32), Error> {
        let MemoryOperands { mem, address, .. } = MemoryOperands::of(self.f.inst(inst))?;
        let offset = mem.offset as u32;
        let parts = self.regs(address)?.to_vec();
        if self.is_in_bank(address, offset) {
            return Ok((parts, mem.offset));
        }
        let places = parts.iter().map(|&p| {
            let sum = self.a.v3(ADD[0], p, Src::C32(offset));
            self.a.v3(AND[0], sum, Src::C32(0xffff))
        });
        Ok((places.collect(), 0))
    }

    /// Defines the value of a tree.
    pub fn table_tree(&mut self, root: Value, tree: &Tree) -> Result<(), Error> {
        let pc = self.a.pc;
        let mut lookups = Vec::new();
        // In the order of the program.
        for &inst in tree.lookups.iter().rev() {
            let data = self.f.inst(inst);
            let base = self.base(MemoryOperands::of(data)?.mem.space);
            let (places, disp) = self.const_places(inst)?;
            lookups.push((data.pc, base, places, disp));
        }
        let mut vectors = Vec::new();
        for group in 0..self.groups {
            let quarters = [0u8, 1, 2, 3].map(|quarter| {
                let mut sums: Vec<R> = Vec::new();
                for (own, base, places, disp) in &lookups {
                    self.a.pc = *own;
                    for (n, place) in self.four_places(places[group], quarter).into_iter().enumerate() {
                        let word = Mem::indexed(*base, place, 1, *disp);
                        let Some(sum) = sums.get_mut(n) else {
                            sums.push(self.a.load32(word));
                            continue;
                        };
                        let d = self.a.gpr();
                        let args = [A::Reuse(d, *sum, Size::D), A::Mem(word)];
                        self.a.put(Code::Xor_r32_rm32, &args, With::default());
                        *sum = d;
                    }
                }
                self.a.pc = pc;
                self.four_of_general(&sums)
            });
            let mut sum = self.quarters_as_one(quarters);
            for &other in &tree.others {
                let src = self.srcs(other)?[group];
                sum = self.a.v3(XOR[0], sum, src);
            }
            vectors.push(sum);
        }
        self.define_vectors(root, vectors);
        Ok(())
    }

    /// Four words from general registers whose upper halves are zero.
    fn four_of_general(&mut self, words: &[R]) -> R {
        let [low, high] = [0, 2].map(|n| {
            let up = self.a.shift(true, SHL, words[n + 1], 32);
            self.a.g2(true, OR, words[n], up)
        });
        let (first, both) = (self.a.zmm(), self.a.zmm());
        let args = [A::Def(first, Size::X), A::Use(low, Size::Q)];
        self.a.put(Code::EVEX_Vmovq_xmm_rm64, &args, With::default());
        let args = [A::Def(both, Size::X), A::Use(first, Size::X), A::Use(high, Size::Q), A::I8(1)];
        self.a.put(Code::EVEX_Vpinsrq_xmm_xmm_rm64_imm8, &args, With::default());
        both
    }
}

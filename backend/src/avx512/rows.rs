//! Stretches of a block whose accesses to shared memory are tested all at once: behind the test the code comes twice, without tests
//! where all is inside, and with every access done lane by lane where it is not.

use std::ops::Range;
use std::rc::Rc;

use foldhash::{HashMap, HashSet};
use regalloc2::RegClass;
use warpjit_ir::{Block, Imm, Inst, InstData, MemAccess, Opcode, Space, Value};

use super::asm::R;
use super::code::Flags;
use super::lower::{Kept, Known, Lower};
use crate::affine::Form;
use crate::error::Error;
use crate::even_address::is_even;

/// Accesses that make a stretch worth its second version.
const FEWEST: usize = 2;

/// How accesses of shared memory at known rows are done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bounds {
    /// Each is tested.
    Tested,
    /// All are inside.
    Inside,
    /// All are done lane by lane.
    Outside,
}

/// What is known where versions of a stretch part.
pub(super) struct Parting {
    hoisted: HashMap<Value, Rc<[R]>>,
    known: Known,
    accessed: HashSet<Inst>,
}

impl Kept {
    /// The registers that hold it.
    pub fn registers(&self) -> impl Iterator<Item = R> + '_ {
        match self {
            Kept::Const(_) => [].iter(),
            Kept::General(r) | Kept::Splat(r) | Kept::Parts(r) => r.iter(),
            Kept::Bits(r) => std::slice::from_ref(r).iter(),
        }
        .copied()
    }
}

impl Lower<'_> {
    /// Whether an access lies in a row: shared memory, at one place or side by side, the address made before.
    fn in_row(&self, data: &InstData, made: &[Inst]) -> Option<MemAccess> {
        let (Opcode::Load | Opcode::Store, Imm::Mem(mem)) = (data.op, data.imm) else { return None };
        let &a = data.args.first()?;
        let by_vectors = |stride: i32| is_even(mem.bytes, i64::from(stride));
        let even = match self.forms.of(a) {
            Form::Uniform => {
                let value = if data.op == Opcode::Store { data.args.get(1) } else { None };
                value.is_none_or(|&v| self.forms.of(v) == Form::Uniform)
            }
            Form::Affine { stride, .. } => by_vectors(stride),
            Form::Affine16 { stride } => !mem.far && by_vectors(stride),
            _ => false,
        };
        let before = match self.f.values[a.index()].def {
            warpjit_ir::function::ValueDef::Inst(i) => self.f.as_const(a).is_some() || !made.contains(&i),
            warpjit_ir::function::ValueDef::Param(..) => true,
        };
        if self.in_row.is_some() && data.op == Opcode::Load && self.f.as_const(a).is_some() {
            // Needs no test.
            return None;
        }
        let small = mem.offset >= 0 && mem.offset < 1 << 16;
        (mem.space == Space::Shared && even && before && small).then_some(mem)
    }

    /// The stretch that starts at an instruction of a block, if it is worth a second version.
    pub fn row_stretch(&self, block: Block, start: usize) -> Option<Range<usize>> {
        let insts = &self.f.block(block).insts;
        self.in_row(self.f.inst(insts[start]), &[])?;
        let (mut count, mut end) = (0, start);
        for n in start..insts.len() {
            if self.in_row(self.f.inst(insts[n]), &insts[start..n]).is_some() {
                count += 1;
                end = n + 1;
            }
        }
        let end = self.mads_behind(block, end);
        (count >= FEWEST).then_some(start..end)
    }

    /// Values made in a stretch that are used behind it.
    fn live_behind(&self, block: Block, range: &Range<usize>) -> Vec<Value> {
        let f = self.f;
        let insts = &f.block(block).insts;
        let made: Vec<Value> = insts[range.clone()].iter().filter_map(|&i| f.inst(i).result).collect();
        let mut live = Vec::new();
        let mut seen = vec![false; f.values.len()];
        let mut work: Vec<Value> = Vec::new();
        for &b in &self.blocks.order.blocks {
            let own = if b == block { &insts[range.end..] } else { &f.block(b).insts[..] };
            own.iter().for_each(|&i| work.extend(&f.inst(i).args));
            f.term(b).for_each_use(|v| work.push(v));
        }
        while let Some(v) = work.pop() {
            if std::mem::replace(&mut seen[v.index()], true) {
                continue;
            }
            // What is made where it is used needs its operands there.
            if (self.address_only[v.index()] || self.fused[v.index()])
                && let Some(data) = f.def_inst(v)
            {
                work.extend(&data.args);
            }
            if made.contains(&v) {
                live.push(v);
            }
        }
        live.sort_by_key(|v| v.index());
        live
    }

    pub fn known_now(&self) -> Parting {
        Parting { hoisted: self.hoisted.clone(), known: self.known.clone(), accessed: self.accessed.clone() }
    }

    pub fn restore(&mut self, parting: &Parting) {
        self.pairs.forget();
        self.hoisted.clone_from(&parting.hoisted);
        self.known.clone_from(&parting.known);
        self.accessed.clone_from(&parting.accessed);
    }

    /// Parameters of a block for what is kept elsewhere otherwise.
    pub fn params_like(&mut self, block: regalloc2::Block, kept: &Kept) -> Kept {
        let mut params = |r: &[R]| r.iter().map(|r| self.a.param(block, r.class())).collect();
        match kept {
            Kept::Const(bits) => Kept::Const(*bits),
            Kept::General(r) => Kept::General(params(r)),
            Kept::Splat(r) => Kept::Splat(params(r)),
            Kept::Parts(r) => Kept::Parts(params(r)),
            Kept::Bits(r) => Kept::Bits(self.a.param(block, r.class())),
        }
    }

    /// Writes a stretch twice.
    pub fn row_versions(&mut self, block: Block, range: Range<usize>) -> Result<(), Error> {
        let f = self.f;
        let insts: Vec<Inst> = f.block(block).insts[range.clone()].to_vec();
        let mut inside: Option<R> = None;
        let mut tested = Vec::new();
        for (n, &inst) in insts.iter().enumerate() {
            let data = f.inst(inst);
            self.a.pc = data.pc;
            if self.in_row(data, &insts[..n]).is_none() {
                continue;
            }
            if f.as_const(data.args[0]).is_some() && self.kept(data.args[0]).is_err() {
                // A constant of the stretch itself: made at each use.
                let Some(bits) = f.as_const(data.args[0]) else { continue };
                self.define(data.args[0], Kept::Const(bits));
            }
            for row in self.rows_of(data)? {
                if tested.contains(&row.inside) {
                    continue;
                }
                tested.push(row.inside);
                inside = Some(match inside {
                    Some(all) => self.a.g2(false, super::scalar::AND, all, row.inside),
                    None => row.inside,
                });
            }
        }
        let Some(inside) = inside else {
            return insts.iter().try_for_each(|&inst| self.inst(inst));
        };
        self.a.test(false, inside, inside);
        let before = (self.bounds, std::mem::replace(&mut self.known_rows, tested));
        self.versions(block, &range, Flags::NotEqual, |l, quick| {
            l.bounds = if quick { Bounds::Inside } else { Bounds::Outside };
            l.as_it_stands(block, &range)
        })?;
        (self.bounds, self.known_rows) = before;
        Ok(())
    }

    /// Writes the instructions of a stretch.
    pub fn as_it_stands(&mut self, block: Block, range: &Range<usize>) -> Result<(), Error> {
        let mut next = range.start;
        while next < range.end {
            next = self.mads_or_inst(block, next, range.end)?;
        }
        Ok(())
    }

    /// Writes a stretch of a block twice: `write` is asked for what runs where the flags say so, then for the other, which is cold.
    pub fn versions(
        &mut self,
        block: Block,
        range: &Range<usize>,
        condition: Flags,
        mut write: impl FnMut(&mut Self, bool) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let live = self.live_behind(block, range);
        let known = self.known_now();
        let (first, second, end) = (self.a.block(), self.a.cold_block(), self.a.block());
        self.a.branch(condition, (first, &[]), (second, &[]));
        let mut shape: Vec<(Value, Kept)> = Vec::new();
        let mut classes: Option<Vec<RegClass>> = None;
        for version in [first, second] {
            self.a.switch_to(version);
            self.restore(&known);
            write(self, version == first)?;
            shape.clear();
            let mut args = Vec::new();
            for &v in &live {
                // What is not made anywhere is made where it is used.
                let Ok(kept) = self.kept(v) else { continue };
                args.extend(kept.registers());
                shape.push((v, kept));
            }
            let own: Vec<RegClass> = args.iter().map(|r| r.class()).collect();
            if classes.replace(own.clone()).is_some_and(|first| first != own) {
                return Err(Error::Codegen("two versions that leave different values".into()));
            }
            self.a.jump(end, &args);
        }
        self.a.switch_to(end);
        self.restore(&known);
        // Multiply-adds look through what changes no magnitude, at what nothing else uses behind.
        for v in self.f.block(block).insts[range.clone()].iter().filter_map(|&i| self.f.inst(i).result) {
            let kept = &mut self.values[v.index()];
            kept.take_if(|kept| kept.registers().next().is_some());
        }
        for (v, kept) in shape {
            let kept = self.params_like(end, &kept);
            self.define(v, kept);
        }
        Ok(())
    }
}

//! Which words lie along lines of threads: each eight lanes, or each four (or sixteen), grow evenly, and so does what
//! the first of them have from line to line. Threads of blocks that are eight or four wide have such coordinates.
//!
//! These words are vectors as any others. But where an address is made of one, the first lane and the distance from line to line tell where
//! all lanes are.

use warpjit_ir::function::BlockCall;
use warpjit_ir::{Block, Function, Imm, InstData, Opcode, Scalar, Terminator, Value};

use crate::affine::{Form, Forms, initial_gets};
use crate::shape::{Shape, VECTOR_LANES};

/// Values below this do not wrap where they differ by less.
const MOST_EXACT: u32 = 1 << 30;

/// What is known of a word along lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    /// What each lane has more than the one before, within a line.
    pub step: i32,
    /// What each line has more than the one before, modulo 2^32; it is the same for all, but who knows what.
    pub apart: Option<i32>,
}

/// What has been found out of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Not reached yet.
    Nothing,
    Line(Line),
    /// It is along no lines.
    Any,
}

impl Found {
    fn line(self) -> Option<Line> {
        match self {
            Found::Line(line) => Some(line),
            _ => None,
        }
    }

    /// What holds of both: lanes go one way together, so that distances may differ by the way.
    fn meet(self, other: Found) -> Found {
        match (self, other) {
            (Found::Nothing, found) | (found, Found::Nothing) => found,
            (Found::Line(a), Found::Line(b)) if a.step == b.step => {
                Found::Line(Line { step: a.step, apart: a.apart.filter(|_| a.apart == b.apart) })
            }
            _ => Found::Any,
        }
    }
}

/// What is known of all values.
#[derive(Default)]
pub(crate) struct Lines {
    /// Lanes of a line; 0 where there are none.
    pub lanes: u8,
    known: Vec<Found>,
}

impl Lines {
    /// Of a value.
    pub(crate) fn of(&self, v: Value) -> Option<Line> {
        self.known.get(v.index()).and_then(|found| found.line())
    }

    /// Looks at the blocks of `order`; `apart` is what each sixteen lanes have more than those before, of values that are even in them;
    /// `chunk` says how many of these there are, and the same of slots.
    pub(crate) fn new(
        f: &Function,
        order: &[Block],
        forms: &Forms,
        apart: &[Option<i32>],
        shapes: &[Option<Shape>],
        chunk: (usize, &[Option<i32>]),
    ) -> Lines {
        let (groups, of_slots) = chunk;
        let lanes = shapes.iter().find_map(|shape| match shape {
            Some(Shape::Lines { lanes, .. }) => Some(*lanes),
            _ => None,
        });
        // Lines of sixteen are even as they are; from line to line they may be so by distances that nobody knows yet.
        let sixteens = shapes.iter().zip(of_slots).any(|(shape, apart)| {
            shape.zip(*apart).is_some_and(|(shape, apart)| shape != Shape::Ones && apart != shape.apart())
        });
        let Some(lanes) = lanes.or((sixteens && groups > 2).then_some(VECTOR_LANES as u8)) else {
            return Lines::default();
        };
        let mut lines = Lines { lanes, known: vec![Found::Nothing; f.values.len()] };
        let initial = initial_gets(f, order);
        let param = |&p: &Value| lines.known[p.index()] = Found::Any;
        f.block(f.entry).params.iter().for_each(param);
        loop {
            let mut changed = false;
            for &block in order {
                for &inst in &f.block(block).insts {
                    let data = f.inst(inst);
                    let Some(r) = data.result else { continue };
                    let even = || lines.of_even(f, forms, apart, r);
                    let own = || lines.transfer(f, forms, shapes, data, initial[inst.index()]);
                    let found = match data.args.iter().any(|a| lines.known[a.index()] == Found::Nothing) {
                        _ if f.ty(r).scalar != Scalar::I32 => Found::Any,
                        true => Found::Nothing,
                        false => even().or_else(own).map_or(Found::Any, Found::Line),
                    };
                    changed |= lines.lower(r, found);
                }
                let mut edge = |call: &BlockCall| {
                    for (&p, &a) in f.block(call.block).params.iter().zip(&call.args) {
                        let found = match lines.of_even(f, forms, apart, p) {
                            Some(line) => Found::Line(line),
                            None => lines.known[a.index()],
                        };
                        changed |= lines.lower(p, found);
                    }
                };
                match f.term(block) {
                    Terminator::Jump(call) => edge(call),
                    Terminator::BrIf { taken, next, .. } | Terminator::BrAny { taken, next, .. } => {
                        edge(taken);
                        edge(next);
                    }
                    _ => {}
                }
            }
            if !changed {
                return lines;
            }
        }
    }

    /// Moves what is known of a value on; whether it moved.
    fn lower(&mut self, v: Value, to: Found) -> bool {
        let known = &mut self.known[v.index()];
        let new = known.meet(to);
        new != std::mem::replace(known, new)
    }

    /// Of what is even in sixteen lanes, if it is even in all.
    fn of_even(&self, f: &Function, forms: &Forms, apart: &[Option<i32>], v: Value) -> Option<Line> {
        let step = match forms.of(v) {
            _ if f.ty(v).scalar != Scalar::I32 => return None,
            _ if f.ty(v).uniform => return Some(Line { step: 0, apart: Some(0) }),
            Form::Uniform => 0,
            Form::Affine { stride, .. } => stride,
            _ => return None,
        };
        if u32::from(self.lanes) == VECTOR_LANES {
            return apart[v.index()].map(|apart| Line { step, apart: Some(apart) });
        }
        let all = apart[v.index()] == Some(step.wrapping_mul(VECTOR_LANES as i32));
        all.then(|| Line { step, apart: Some(step.wrapping_mul(self.lanes.into())) })
    }

    fn transfer(
        &self,
        f: &Function,
        forms: &Forms,
        shapes: &[Option<Shape>],
        data: &InstData,
        initial: bool,
    ) -> Option<Line> {
        let arg = |n: usize| self.of(*data.args.get(n)?);
        let constant = |n: usize| data.args.get(n).and_then(|&a| f.as_const(a)).map(|bits| bits as i32);
        let both = |sum: fn(i32, i32) -> i32| {
            let (a, b) = (arg(0)?, arg(1)?);
            Some(Line { step: sum(a.step, b.step), apart: a.apart.zip(b.apart).map(|(a, b)| sum(a, b)) })
        };
        let each =
            |line: Line, by: &dyn Fn(i32) -> i32| Line { step: by(line.step), apart: line.apart.map(by) };
        match (data.op, data.imm) {
            (Opcode::SlotGet, Imm::Slot(slot)) => match shapes.get(slot.index()).copied().flatten() {
                Some(Shape::Lines { lanes, step, apart, .. }) if initial && lanes == self.lanes => {
                    Some(Line { step, apart: Some(apart) })
                }
                _ => None,
            },
            (Opcode::Iadd, _) => both(i32::wrapping_add),
            (Opcode::Isub, _) => both(i32::wrapping_sub),
            (Opcode::Ishl, _) => {
                let by = constant(1)? as u32;
                arg(0).map(|line| each(line, &|x| x.wrapping_shl(by)))
            }
            (Opcode::Imul, _) => {
                let (line, by) = match (arg(0)?, arg(1)?) {
                    (line, Line { step: 0, apart: Some(0) }) => (line, constant(1)),
                    (Line { step: 0, apart: Some(0) }, line) => (line, constant(0)),
                    _ => return None,
                };
                match by {
                    Some(by) => Some(each(line, &|x| x.wrapping_mul(by))),
                    None => (line.step == 0).then_some(Line { step: 0, apart: None }),
                }
            }
            // Bits that no lane has both of.
            (Opcode::Ior, _) => self.joined(f, forms, data).and_then(|_| both(i32::wrapping_add)),
            (Opcode::Ushr, _) => {
                let by = constant(1)? as u32 & 31;
                if let Some((_, apart)) = self.packed(f, shapes, data.args[0]) {
                    return (by == 16).then_some(Line { step: 0, apart: Some(apart >> 16) });
                }
                let line = arg(0).filter(|_| self.is_exact(f, forms, data.args[0]))?;
                let (step, apart) = (line.step, line.apart?);
                let low = (1 << by) - 1;
                (step & low == 0 && apart & low == 0)
                    .then_some(Line { step: step >> by, apart: Some(apart >> by) })
            }
            (Opcode::Iand, _) => {
                let (x, mask) = match (constant(0), constant(1)) {
                    (_, Some(mask)) => (data.args[0], mask as u32),
                    (Some(mask), _) => (data.args[1], mask as u32),
                    _ => return None,
                };
                if mask & mask.wrapping_add(1) == 0 && forms.largest(f, x) <= mask {
                    return self.of(x);
                }
                let (step, apart) = self.packed(f, shapes, x)?;
                match mask {
                    0xffff => Some(Line { step, apart: Some(0) }),
                    0xffff_0000 => Some(Line { step: 0, apart: Some(apart) }),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Of an `or` of what is the same in all lanes and what lies below all bits of that: the latter.
    fn joined(&self, f: &Function, forms: &Forms, data: &InstData) -> Option<Value> {
        let is_above = |high: Value, low: Value| {
            let by = f
                .def_inst(high)
                .filter(|data| data.op == Opcode::Ishl)
                .and_then(|data| f.as_const(data.args[1]));
            let same = self.of(high) == Some(Line { step: 0, apart: Some(0) });
            same && by.is_some_and(|by| u64::from(forms.largest(f, low)) < 1 << (by & 31))
        };
        let (a, b) = (data.args[0], data.args[1]);
        if is_above(a, b) {
            return Some(b);
        }
        is_above(b, a).then_some(a)
    }

    /// Whether no lane's value wraps round on the way from the first one's.
    fn is_exact(&self, f: &Function, forms: &Forms, v: Value) -> bool {
        let near = |x: i32| x.unsigned_abs() < MOST_EXACT / 64;
        let small = |line: Line| near(line.step) && line.apart.is_some_and(near);
        let Some(line) = self.of(v) else { return false };
        match f.def_inst(v) {
            _ if forms.largest(f, v) < MOST_EXACT => small(line),
            Some(data) if data.op == Opcode::Ior => {
                self.joined(f, forms, data).is_some_and(|low| self.is_exact(f, forms, low))
            }
            _ => false,
        }
    }

    /// Steps and distances of a slot of two packed coordinates: the high one grows from line to line, the low one within each.
    fn packed(&self, f: &Function, shapes: &[Option<Shape>], v: Value) -> Option<(i32, i32)> {
        self.of(v)?;
        match f.def_inst(v).map(|data| data.imm) {
            Some(Imm::Slot(slot)) => match shapes.get(slot.index()).copied().flatten() {
                Some(Shape::Lines { step, apart, packed: true, .. }) => Some((step, apart)),
                _ => None,
            },
            _ => None,
        }
    }
}

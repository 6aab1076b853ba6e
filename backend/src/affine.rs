//! Finds uniform and affine values: the same in all lanes of a chunk, or growing by a constant stride from lane to lane.
//!
//! Such a value is kept in one scalar register, as the value of the chunk's first lane. An access at such an address is one
//! scalar or vector access instead of one access for each lane.

use warpjit_ir::types::{Scalar, Type};
use warpjit_ir::{Block, Function, Imm, InstData, Opcode, Slot, Space, Terminator, Value};

use crate::shape::Shape;

/// How many operations deep a bound is searched for.
const MOST_DEPTH: u32 = 8;

/// How a value is represented in host registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// Not reached yet.
    Unknown,
    /// A scalar.
    Uniform,
    /// The first lane's value as a scalar. The value of lane `l` is `first + l * stride` modulo 2^32. `packed`: see
    /// [`Shape::Packed`].
    Affine { stride: i32, packed: bool },
    /// As `Affine`, but modulo 2^16.
    Affine16 { stride: i32 },
    /// A vector.
    Varying,
}

impl Form {
    pub(crate) fn affine(stride: i32) -> Form {
        if stride == 0 { Form::Uniform } else { Form::Affine { stride, packed: false } }
    }

    fn meet(self, other: Form) -> Form {
        match (self, other) {
            (Form::Unknown, f) | (f, Form::Unknown) => f,
            (a, b) if a == b => a,
            (Form::Affine { stride: a, .. }, Form::Affine { stride: b, .. }) if a == b => Form::affine(a),
            _ => Form::Varying,
        }
    }
}

/// The representations of all values of a function.
pub(crate) struct Forms {
    forms: Vec<Form>,
    /// Whether the code generator tests bounds that clip a line ([`crate::even_address::Clip`]).
    clips: bool,
}

impl Forms {
    /// Analyses the blocks of `order` (reverse postorder of all that is reachable). `devices`: each lane that loads from global memory
    /// may find something else there, also at one address.
    pub(crate) fn new(func: &Function, order: &[Block], shapes: &[Option<Shape>], devices: bool) -> Forms {
        let mut analysis = Analysis {
            func,
            shapes,
            devices,
            initial: initial_gets(func, order),
            forms: vec![Form::Unknown; func.values.len()],
        };
        for &p in &func.block(func.entry).params {
            analysis.forms[p.index()] = Form::Varying;
        }
        loop {
            let mut changed = false;
            for &block in order {
                for &inst in &func.block(block).insts {
                    let data = func.inst(inst);
                    if let Some(result) = data.result {
                        let form = analysis.transfer(data, func.ty(result));
                        changed |= analysis.lower(result, form);
                    }
                }
                let mut edge = |to: Block, args: &[Value]| {
                    for (&param, &arg) in func.block(to).params.iter().zip(args) {
                        let form =
                            if func.ty(param).uniform { Form::Uniform } else { analysis.forms[arg.index()] };
                        changed |= analysis.lower(param, form);
                    }
                };
                match func.term(block) {
                    Terminator::Jump(c) => edge(c.block, &c.args),
                    Terminator::BrAny { taken, next, .. } | Terminator::BrIf { taken, next, .. } => {
                        edge(taken.block, &taken.args);
                        edge(next.block, &next.args);
                    }
                    _ => {}
                }
            }
            if !changed {
                return Forms { forms: analysis.forms, clips: false };
            }
        }
    }

    /// For a function whose chunks are single lanes: all values are scalars.
    pub(crate) fn single(func: &Function) -> Forms {
        Forms { forms: vec![Form::Uniform; func.values.len()], clips: false }
    }

    /// The same for a code generator that tests bounds which clip a line.
    pub(crate) fn with_clips(self) -> Forms {
        Forms { clips: true, ..self }
    }

    /// Whether such bounds are tested.
    pub(crate) fn has_clips(&self) -> bool {
        self.clips
    }

    pub(crate) fn of(&self, value: Value) -> Form {
        self.forms[value.index()]
    }

    /// An unsigned upper bound of a value, in every lane.
    pub(crate) fn largest(&self, func: &Function, value: Value) -> u32 {
        largest(func, value, MOST_DEPTH)
    }
}

/// For each instruction: whether it reads a slot that certainly still holds its value at entry.
pub(crate) fn initial_gets(func: &Function, order: &[Block]) -> Vec<bool> {
    let mut written = vec![false; func.slots.len()];
    let mut initial = vec![false; func.insts.len()];
    let is = |data: &InstData, op: Opcode| match data.imm {
        Imm::Slot(slot) if data.op == op => Some(slot),
        _ => None,
    };
    let mut entry_once = true;
    for &block in order {
        func.term(block).for_each_successor(|s| entry_once &= s != func.entry);
    }
    if entry_once {
        let mut before = vec![false; func.slots.len()];
        for &inst in &func.block(func.entry).insts {
            let data = func.inst(inst);
            if let Some(slot) = is(data, Opcode::SlotGet) {
                initial[inst.index()] = !before[slot.index()];
            } else if let Some(slot) = is(data, Opcode::SlotSet) {
                before[slot.index()] = true;
            }
        }
    }
    for &block in order {
        for &inst in &func.block(block).insts {
            if let Some(slot) = is(func.inst(inst), Opcode::SlotSet) {
                written[slot.index()] = true;
            }
        }
    }
    for &block in order {
        for &inst in &func.block(block).insts {
            if let Some(slot) = is(func.inst(inst), Opcode::SlotGet) {
                initial[inst.index()] |= !written[slot.index()];
            }
        }
    }
    initial
}

struct Analysis<'a> {
    func: &'a Function,
    shapes: &'a [Option<Shape>],
    devices: bool,
    initial: Vec<bool>,
    forms: Vec<Form>,
}

impl Analysis<'_> {
    /// Lowers a value's representation in the lattice; returns whether it changed.
    fn lower(&mut self, value: Value, form: Form) -> bool {
        let old = self.forms[value.index()];
        let new = old.meet(form);
        self.forms[value.index()] = new;
        new != old
    }

    fn slot_form(&self, slot: Slot, ty: Type) -> Form {
        match self.shapes.get(slot.index()).copied().flatten() {
            Some(Shape::Uniform) => Form::Uniform,
            Some(Shape::Ones) if ty.scalar != Scalar::I1 => Form::Uniform,
            Some(Shape::Affine(stride)) if ty.scalar == Scalar::I32 => Form::affine(stride),
            Some(Shape::Packed(stride)) if ty.scalar == Scalar::I32 && stride != 0 => {
                Form::Affine { stride, packed: true }
            }
            _ => Form::Varying,
        }
    }

    fn transfer(&self, data: &InstData, ty: Type) -> Form {
        if ty.uniform {
            return Form::Uniform;
        }
        let form = |k: usize| self.forms[data.args[k].index()];
        let constant = |k: usize| self.func.as_const(data.args[k]).map(|bits| bits as i32);
        let uniform = |forms: &[Value]| forms.iter().all(|a| self.forms[a.index()] == Form::Uniform);
        if data.args.iter().any(|a| self.forms[a.index()] == Form::Unknown) {
            return Form::Unknown;
        }
        match data.op {
            Opcode::SlotGet => match data.imm {
                Imm::Slot(slot) if data.result.is_some_and(|r| self.is_initial(r)) => {
                    self.slot_form(slot, ty)
                }
                _ => Form::Varying,
            },
            op if op.differs_by_lane() => Form::Varying,
            Opcode::Const | Opcode::Any => Form::Uniform,
            Opcode::Load => match data.imm {
                Imm::Mem(m) if self.devices && matches!(m.space, Space::Global(_)) => Form::Varying,
                Imm::Mem(m) if m.space != Space::Local && uniform(&data.args[..1]) => Form::Uniform,
                _ => Form::Varying,
            },
            op if op.is_translation() && uniform(&data.args[..1]) && !self.devices => Form::Uniform,
            op if !op.is_pure() => Form::Varying,
            _ if uniform(&data.args) => Form::Uniform,
            _ if ty.scalar != Scalar::I32 => Form::Varying,
            Opcode::Iadd | Opcode::Isub => {
                let sign = if data.op == Opcode::Isub { -1 } else { 1i32 };
                match (form(0), form(1)) {
                    (Form::Affine { stride, .. }, Form::Uniform) => Form::affine(stride),
                    (Form::Uniform, Form::Affine { stride, .. }) => Form::affine(stride.wrapping_mul(sign)),
                    (Form::Affine { stride: a, .. }, Form::Affine { stride: b, .. }) => {
                        Form::affine(a.wrapping_add(b.wrapping_mul(sign)))
                    }
                    _ => Form::Varying,
                }
            }
            Opcode::Imul => match (form(0), form(1), constant(0), constant(1)) {
                (Form::Affine { stride, .. }, _, _, Some(c))
                | (_, Form::Affine { stride, .. }, Some(c), _) => Form::affine(stride.wrapping_mul(c)),
                _ => Form::Varying,
            },
            Opcode::Ishl => match (form(0), constant(1)) {
                (Form::Affine { stride, .. }, Some(c)) => Form::affine(stride.wrapping_shl(c as u32)),
                _ => Form::Varying,
            },
            Opcode::Ineg | Opcode::Inot => match form(0) {
                Form::Affine { stride, .. } => Form::affine(stride.wrapping_neg()),
                _ => Form::Varying,
            },
            Opcode::Ushr => match (form(0), constant(1)) {
                (Form::Affine { packed: true, .. }, Some(c)) if c & 31 >= 16 => Form::Uniform,
                _ => Form::Varying,
            },
            Opcode::Iand => {
                let (x, mask) = match (constant(0), constant(1)) {
                    (_, Some(mask)) => (0, mask as u32),
                    (Some(mask), _) => (1, mask as u32),
                    _ => return Form::Varying,
                };
                let low = mask.wrapping_add(1).is_power_of_two() || mask == u32::MAX;
                match form(x) {
                    f @ (Form::Affine { .. } | Form::Affine16 { .. })
                        if low && largest(self.func, data.args[x], MOST_DEPTH) <= mask =>
                    {
                        f
                    }
                    Form::Affine { stride, packed: true } if mask == 0xffff => Form::affine(stride),
                    Form::Affine { packed: true, .. } if mask & 0xffff == 0 => Form::Uniform,
                    Form::Affine { stride, .. } if mask == 0xffff => Form::Affine16 { stride },
                    _ => Form::Varying,
                }
            }
            _ => Form::Varying,
        }
    }

    fn is_initial(&self, result: Value) -> bool {
        match self.func.values[result.index()].def {
            warpjit_ir::function::ValueDef::Inst(i) => self.initial[i.index()],
            warpjit_ir::function::ValueDef::Param(..) => false,
        }
    }
}

/// An unsigned upper bound of the value, in every lane.
fn largest(func: &Function, value: Value, depth: u32) -> u32 {
    let Some(data) = func.def_inst(value) else { return u32::MAX };
    if depth == 0 || func.ty(value).scalar != Scalar::I32 {
        return u32::MAX;
    }
    let arg = |k: usize| largest(func, data.args[k], depth - 1);
    let constant = |k: usize| func.as_const(data.args[k]).map(|bits| bits as u32);
    match (data.op, data.imm) {
        (Opcode::Const, Imm::Bits(bits)) => bits as u32,
        (Opcode::SlotGet, Imm::Slot(slot)) => func.slots[slot.index()].umax.unwrap_or(u32::MAX),
        (Opcode::Splat, _) => arg(0),
        (Opcode::Iand, _) => arg(0).min(arg(1)),
        (Opcode::Iadd, _) => arg(0).saturating_add(arg(1)),
        (Opcode::Imul, _) => arg(0).saturating_mul(arg(1)),
        (Opcode::Ushr, _) => constant(1).map_or(u32::MAX, |c| arg(0) >> (c & 31)),
        (Opcode::Ishl, _) => match constant(1) {
            Some(c) if u64::from(arg(0)) << (c & 31) <= u64::from(u32::MAX) => arg(0) << (c & 31),
            _ => u32::MAX,
        },
        (Opcode::Load, Imm::Mem(m)) if !m.signed && m.bytes < 4 => (1 << (8 * m.bytes)) - 1,
        _ => u32::MAX,
    }
}

#[cfg(test)]
#[path = "affine_tests.rs"]
mod tests;

//! Finds *vector strides*: by how much a value grows from one vector of 16 lanes to the next.
//!
//! A value that is uniform or affine within each vector of a chunk is kept as a scalar. If its vector stride is a known constant, the first
//! vector's scalar tells those of all: an address becomes one register with an offset for each vector. In a 16x16 block, `tid.x` has
//! vector stride 0 and `tid.y` has vector stride 1.

use warpjit_ir::function::BlockCall;
use warpjit_ir::{Block, Function, Imm, InstData, Opcode, Terminator, Value};

use crate::affine::{Form, Forms};

/// What is known of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum VectorStride {
    /// Not reached yet.
    Unknown,
    /// Each sixteen lanes have so much more than those before, modulo 2^32; 0 of all that is no i32.
    Apart(i32),
    /// They differ by who knows what.
    Any,
}

/// For each value that is kept as a scalar: what each sixteen lanes of a chunk have more than those before, modulo 2^32, if that is known;
/// then the first sixteen's scalar tells all. `of_slots` says it of slots where the code begins.
pub(crate) fn vector_strides(
    f: &Function,
    order: &[Block],
    forms: &Forms,
    groups: usize,
    of_slots: &[Option<i32>],
) -> Vec<Option<i32>> {
    let mut found =
        Strides { f, forms, groups, of_slots, known: vec![VectorStride::Unknown; f.values.len()] };
    loop {
        let mut changed = false;
        for &b in order {
            for &inst in &f.block(b).insts {
                let data = f.inst(inst);
                if let Some(r) = data.result {
                    let distance = found.transfer(data, r);
                    changed |= found.lower(r, distance);
                }
            }
            let mut edge = |call: &BlockCall| {
                for (&p, &a) in f.block(call.block).params.iter().zip(&call.args) {
                    let distance = match forms.of(a) {
                        _ if f.ty(p).uniform => VectorStride::Apart(0),
                        // Where scalars meet that differ by lanes, so does what they become.
                        Form::Varying => VectorStride::Any,
                        _ => found.known[a.index()],
                    };
                    changed |= found.lower(p, distance);
                }
            };
            match f.term(b) {
                Terminator::Jump(c) => edge(c),
                Terminator::BrIf { taken, next, .. } | Terminator::BrAny { taken, next, .. } => {
                    edge(taken);
                    edge(next);
                }
                _ => {}
            }
        }
        if !changed {
            break;
        }
    }
    let of = |distance: &VectorStride| match distance {
        VectorStride::Apart(apart) => Some(*apart),
        _ => None,
    };
    found.known.iter().map(of).collect()
}

struct Strides<'a> {
    f: &'a Function,
    forms: &'a Forms,
    groups: usize,
    of_slots: &'a [Option<i32>],
    known: Vec<VectorStride>,
}

impl Strides<'_> {
    /// Moves what is known of a value on; whether it moved.
    fn lower(&mut self, v: Value, to: VectorStride) -> bool {
        let known = &mut self.known[v.index()];
        let new = match (*known, to) {
            (VectorStride::Unknown, to) => to,
            (known, VectorStride::Unknown) => known,
            (known, to) if known == to => known,
            _ => VectorStride::Any,
        };
        new != std::mem::replace(known, new)
    }

    fn transfer(&self, data: &InstData, r: Value) -> VectorStride {
        let (f, form) = (self.f, self.forms.of(r));
        let whole = match form {
            Form::Affine { stride, .. } | Form::Affine16 { stride } => stride.wrapping_mul(16),
            _ => 0,
        };
        if f.ty(r).uniform || self.groups == 1 {
            return VectorStride::Apart(whole);
        }
        if matches!(form, Form::Varying | Form::Unknown) {
            return VectorStride::Any;
        }
        let mut args = Vec::with_capacity(2);
        for a in &data.args {
            match self.known[a.index()] {
                VectorStride::Unknown => return VectorStride::Unknown,
                VectorStride::Apart(apart) => args.push(Some(apart)),
                VectorStride::Any => args.push(None),
            }
        }
        let arg = |n: usize| args.get(n).copied().flatten();
        let constant = |n: usize| data.args.get(n).and_then(|&a| f.as_const(a)).map(|bits| bits as i32);
        let apart = match (data.op, data.imm) {
            (Opcode::SlotGet, Imm::Slot(slot)) => match f.slots[slot.index()].ty.uniform {
                true => Some(0),
                false => self.of_slots.get(slot.index()).copied().flatten(),
            },
            (Opcode::Any | Opcode::VoteAny | Opcode::VoteAll | Opcode::Ballot, _) => Some(0),
            // What is stored or compared besides does not matter.
            (Opcode::Load | Opcode::TranslateLoad | Opcode::TranslateStore, _) => {
                arg(0).filter(|&apart| apart == 0)
            }
            _ if args.iter().all(|&apart| apart == Some(0)) => Some(0),
            _ if f.ty(r).scalar != warpjit_ir::Scalar::I32 => None,
            (Opcode::Iadd, _) => arg(0).zip(arg(1)).map(|(a, b)| a.wrapping_add(b)),
            (Opcode::Isub, _) => arg(0).zip(arg(1)).map(|(a, b)| a.wrapping_sub(b)),
            (Opcode::Ineg | Opcode::Inot, _) => arg(0).map(i32::wrapping_neg),
            (Opcode::Imul, _) => match (constant(0), constant(1)) {
                (_, Some(by)) => arg(0).map(|a| a.wrapping_mul(by)),
                (Some(by), _) => arg(1).map(|b| b.wrapping_mul(by)),
                _ => None,
            },
            (Opcode::Ishl, _) => arg(0).zip(constant(1)).map(|(a, by)| a.wrapping_shl(by as u32)),
            (Opcode::Ushr, _) => match (arg(0), constant(1)) {
                (Some(apart), Some(by)) => self.shifted(data.args[0], apart as u32, by as u32 & 31),
                _ => None,
            },
            (Opcode::Iand, _) => match (constant(0), constant(1)) {
                (_, Some(mask)) => arg(0).and_then(|apart| self.masked(data, 0, apart, mask as u32)),
                (Some(mask), _) => arg(1).and_then(|apart| self.masked(data, 1, apart, mask as u32)),
                _ => None,
            },
            _ => None,
        };
        apart.map_or(VectorStride::Any, VectorStride::Apart)
    }

    /// Of a value shifted right: what never wraps keeps its distances.
    fn shifted(&self, x: Value, apart: u32, by: u32) -> Option<i32> {
        let packed = matches!(self.forms.of(x), Form::Affine { packed: true, .. });
        (packed && apart & 0xffff == 0 && apart & ((1 << by) - 1) == 0).then_some((apart >> by) as i32)
    }

    /// Of some bits of a value.
    fn masked(&self, data: &InstData, n: usize, apart: i32, mask: u32) -> Option<i32> {
        let x = data.args[n];
        let low = mask & mask.wrapping_add(1) == 0;
        if low && self.forms.largest(self.f, x) <= mask {
            return Some(apart);
        }
        match self.forms.of(x) {
            // The halves are told apart.
            Form::Affine { packed: true, .. } if apart & 0xffff == 0 && mask == 0xffff => Some(0),
            Form::Affine { packed: true, .. } if apart & 0xffff == 0 && mask == 0xffff_0000 => Some(apart),
            // All modulo 2^16.
            Form::Affine { packed: false, .. } | Form::Affine16 { .. } if mask == 0xffff => Some(apart),
            _ => None,
        }
    }
}

//! 64-bit addresses that grow evenly from lane to lane: sums of uniform values and of words that do.
//!
//! Such an address is computed once for the chunk, not for each lane. A word's extension to 64 bits grows evenly only as long as
//! the word does not wrap round within the chunk, which is tested where the address is used.

use warpjit_ir::{Function, Imm, InstData, Opcode, Space, Value};

use super::{Lower, Parts};
use crate::Error;
use crate::affine::{Form, Forms};
use crate::clif::{HostIntCC, I32, I64, I64X2, V};

/// Operands looked through.
const DEPTH: u32 = 8;

/// An address of the first lane with what each further lane has more.
pub(super) struct Span {
    /// The first lane's, i64.
    pub first: V,
    /// Whether a word wraps within the chunk (i8): then the others are not what they seem.
    pub wraps: Option<V>,
}

/// The bytes from lane to lane, if the value grows evenly; 0 where it is uniform.
pub(crate) fn step_of(f: &Function, forms: &Forms, v: Value, depth: u32) -> Option<i64> {
    if f.ty(v).uniform || forms.of(v) == Form::Uniform {
        return Some(0);
    }
    let data = f.def_inst(v)?;
    if depth == 0 {
        return None;
    }
    let of = |n: usize| step_of(f, forms, data.args[n], depth - 1);
    match data.op {
        Opcode::Zext | Opcode::Sext => match forms.of(data.args[0]) {
            Form::Affine { stride, .. } => Some(i64::from(stride)),
            Form::Uniform => Some(0),
            _ => None,
        },
        Opcode::Iadd => of(0)?.checked_add(of(1)?),
        Opcode::Isub => of(0)?.checked_sub(of(1)?),
        Opcode::Ishl => {
            let count = f.as_const(data.args[1])?;
            if count < 32 { of(0)?.checked_shl(count as u32) } else { None }
        }
        _ => None,
    }
}

/// The bytes from lane to lane of an access whose lanes lie side by side.
fn access_step(data: &InstData, forms: &Forms, f: &Function) -> Option<()> {
    let (Opcode::Load | Opcode::Store, Imm::Mem(mem)) = (data.op, data.imm) else { return None };
    if !matches!(mem.space, Space::Global(_)) || mem.bytes < 4 {
        return None;
    }
    (step_of(f, forms, data.args[0], DEPTH)? == i64::from(mem.bytes)).then_some(())
}

/// Values that nothing needs but addresses of accesses side by side: they are computed where those are.
pub(crate) fn address_only(f: &Function, forms: &Forms) -> Vec<bool> {
    let mut only: Vec<bool> = (0..f.values.len())
        .map(|n| {
            let v = Value::new(n);
            let is_wide = f.ty(v).scalar == warpjit_ir::Scalar::I64 && !f.ty(v).uniform;
            is_wide && forms.of(v) == Form::Varying && step_of(f, forms, v, DEPTH).is_some()
        })
        .collect();
    // What something else uses is not; then neither is what that is made of.
    let mut work: Vec<Value> = Vec::new();
    for block in &f.blocks {
        for &inst in &block.insts {
            let data = f.inst(inst);
            let address = access_step(data, forms, f).is_some();
            for (n, &arg) in data.args.iter().enumerate() {
                let in_address = data.result.is_some_and(|r| only[r.index()]);
                if !(in_address || address && n == 0) {
                    work.push(arg);
                }
            }
        }
        if let Some(term) = &block.term {
            term.for_each_use(|v| work.push(v));
        }
    }
    while let Some(v) = work.pop() {
        if std::mem::replace(&mut only[v.index()], false)
            && let Some(data) = f.def_inst(v)
        {
            work.extend(&data.args);
        }
    }
    only
}

impl Lower<'_, '_> {
    /// The address as a span, if its lanes are `bytes` apart.
    pub(super) fn span(&mut self, address: Value, bytes: u8) -> Result<Option<Span>, Error> {
        if step_of(self.f, &self.forms, address, DEPTH) != Some(i64::from(bytes)) {
            return Ok(None);
        }
        let mut wraps = None;
        let first = self.first_of(address, &mut wraps)?;
        Ok(Some(Span { first, wraps }))
    }

    fn first_of(&mut self, v: Value, wraps: &mut Option<V>) -> Result<V, Error> {
        if self.is_uniform(v) {
            return self.scalar(v);
        }
        let f = self.f;
        let Some(data) = f.def_inst(v) else {
            return Err(Error::Malformed("an address from nowhere".into()));
        };
        match data.op {
            Opcode::Zext | Opcode::Sext => {
                let word = self.scalar(data.args[0])?;
                let stride = match self.forms.of(data.args[0]) {
                    Form::Affine { stride, .. } => i64::from(stride),
                    _ => 0,
                };
                let extend = |l: &mut Self, w: V| {
                    if data.op == Opcode::Zext { l.e.uextend(I64, w) } else { l.e.sextend(I64, w) }
                };
                let first = extend(self, word);
                if stride != 0 {
                    let last = self.e.iadd_imm(first, (stride * (self.lanes() as i64 - 1)) as u64);
                    let low = self.e.ireduce(I32, last);
                    let want = extend(self, low);
                    let odd = self.e.icmp(HostIntCC::NotEqual, last, want);
                    *wraps = Some(match *wraps {
                        Some(w) => self.e.bor(w, odd),
                        None => odd,
                    });
                }
                Ok(first)
            }
            Opcode::Iadd | Opcode::Isub => {
                let (a, b) = (self.first_of(data.args[0], wraps)?, self.first_of(data.args[1], wraps)?);
                Ok(if data.op == Opcode::Iadd { self.e.iadd(a, b) } else { self.e.isub(a, b) })
            }
            Opcode::Ishl => {
                let a = self.first_of(data.args[0], wraps)?;
                let count = self.f.as_const(data.args[1]).unwrap_or(0);
                Ok(self.e.shl(a, count as u32))
            }
            op => Err(Error::Malformed(format!("{} in an even address", op.name()))),
        }
    }

    /// The vectors of a value that [`address_only`] has left out: made anew.
    pub(super) fn address_parts_of(&mut self, v: Value) -> Result<Parts, Error> {
        let f = self.f;
        if !self.address_only[v.index()] {
            return self.parts(v);
        }
        let Some(data) = f.def_inst(v) else { return self.parts(v) };
        match data.op {
            Opcode::Zext | Opcode::Sext => {
                let words = self.parts(data.args[0])?;
                Ok(words
                    .iter()
                    .flat_map(|&w| {
                        if data.op == Opcode::Sext {
                            return [self.e.swiden_low(w), self.e.swiden_high(w)];
                        }
                        let zero = self.e.imm(crate::clif::I32X4, 0);
                        [[0, 4, 1, 5], [2, 6, 3, 7]].map(|pick| self.e.shuffle_words(I64X2, w, zero, pick))
                    })
                    .collect())
            }
            Opcode::Iadd | Opcode::Isub => {
                let (a, b) = (self.address_parts_of(data.args[0])?, self.address_parts_of(data.args[1])?);
                let pairs = a.iter().zip(b.iter());
                Ok(pairs
                    .map(
                        |(&a, &b)| {
                            if data.op == Opcode::Iadd { self.e.iadd(a, b) } else { self.e.isub(a, b) }
                        },
                    )
                    .collect())
            }
            Opcode::Ishl => {
                let a = self.address_parts_of(data.args[0])?;
                let count = f.as_const(data.args[1]).unwrap_or(0);
                Ok(a.iter().map(|&a| self.e.shl(a, count as u32)).collect())
            }
            _ => self.parts(v),
        }
    }
}

//! Affine 64-bit addresses: sums of uniform values and of extended 32-bit values. The stride is known, or code computes it.
//!
//! Such an address is computed once for the chunk, as the first lane's address and a stride. Extending a value keeps it affine only if it
//! does not wrap within the chunk: a word of 32 bits, or an address without the bits that a device ignores ([`without_ignored`]). Generated code
//! tests that where the address is used.

use warpjit_ir::{Function, Imm, Inst, InstData, MemAccess, Opcode, Scalar, Space, Value};

use crate::affine::{Form, Forms};
use crate::error::Error;

/// How many operands deep an address is analysed.
const DEPTH: u32 = 8;

/// An affine address: the first lane's address. Its stride is known ([`step_of`]) or computed ([`EvenAddress::step`]).
pub(crate) struct Span<R> {
    /// The first lane's address, 64 bits.
    pub first: R,
    /// Nonzero if a 32-bit value in it wraps within the chunk, or ignored bits do. Then the address is not affine.
    pub wraps: Option<R>,
}

/// The stride in bytes, if the value is affine; 0 if it is uniform.
pub(crate) fn step_of(f: &Function, forms: &Forms, v: Value) -> Option<i64> {
    step_within(f, forms, v, DEPTH)
}

fn step_within(f: &Function, forms: &Forms, v: Value, depth: u32) -> Option<i64> {
    if f.ty(v).uniform || forms.of(v) == Form::Uniform {
        return Some(0);
    }
    let data = f.def_inst(v)?;
    if depth == 0 {
        return None;
    }
    let of = |n: usize| step_within(f, forms, data.args[n], depth - 1);
    match data.op {
        Opcode::Zext | Opcode::Sext => match forms.of(data.args[0]) {
            Form::Affine { stride, .. } => Some(i64::from(stride)),
            Form::Uniform => Some(0),
            _ => Clip::of(f, forms, data.args[0]).map(|clip| clip.stride),
        },
        Opcode::Iadd => of(0)?.checked_add(of(1)?),
        Opcode::Ior if is_join(f, data) => of(0)?.checked_add(of(1)?),
        Opcode::Isub => of(0)?.checked_sub(of(1)?),
        Opcode::Ishl => {
            let count = f.as_const(data.args[1])?;
            of(0)?.checked_mul(1i64.checked_shl(count as u32).filter(|_| count < 63)?)
        }
        Opcode::Imul => of(0)?.checked_mul(f.as_const(data.args[1])? as i64),
        Opcode::Sshr => step_within(f, forms, without_ignored(f, data)?.0, depth - 1),
        _ => None,
    }
}

/// The lesser or the greater of a 32-bit value on a line and one that all lanes share. Compilers keep addresses inside a buffer like that.
/// Where the last lane, or the first one, is on the right side of the bound, it is the line.
pub(crate) struct Clip {
    pub line: Value,
    pub stride: i64,
    pub bound: Value,
    /// Smin, Smax, Umin or Umax.
    pub op: Opcode,
}

impl Clip {
    /// What a value is, where code tests such bounds.
    pub(crate) fn of(f: &Function, forms: &Forms, v: Value) -> Option<Clip> {
        let data = f.def_inst(v).filter(|_| forms.has_clips())?;
        let is_one = matches!(data.op, Opcode::Smin | Opcode::Smax | Opcode::Umin | Opcode::Umax);
        let &[a, b] = &data.args[..] else { return None };
        if !is_one || f.ty(v).scalar != Scalar::I32 {
            return None;
        }
        [(a, b), (b, a)].into_iter().find_map(|(line, bound)| match forms.of(line) {
            Form::Affine { stride, .. } if stride != 0 && forms.of(bound) == Form::Uniform => {
                Some(Clip { line, stride: stride.into(), bound, op: data.op })
            }
            _ => None,
        })
    }

    /// Whether it is the lesser one.
    pub(crate) fn is_least(&self) -> bool {
        matches!(self.op, Opcode::Smin | Opcode::Umin)
    }

    /// How its operands are extended: zext or sext.
    fn extension(&self) -> Opcode {
        if matches!(self.op, Opcode::Smin | Opcode::Smax) { Opcode::Sext } else { Opcode::Zext }
    }
}

/// Most operations of a line whose stride code computes: it does so for each access.
const MOST_OPERATIONS: u32 = 32;

/// Whether the values of lanes are on a line, if nothing wraps. Its stride is known ([`step_of`]), or code computes it
/// ([`EvenAddress::step`]): lanes' numbers are multiplied by something that all share.
pub(crate) fn is_line(f: &Function, forms: &Forms, v: Value) -> bool {
    line_within(f, forms, v, DEPTH, &mut MOST_OPERATIONS.clone())
}

fn line_within(f: &Function, forms: &Forms, v: Value, depth: u32, left: &mut u32) -> bool {
    if forms.of(v) == Form::Uniform || step_within(f, forms, v, depth).is_some() {
        return true;
    }
    let Some(rest) = left.checked_sub(1) else { return false };
    *left = rest;
    let Some(data) = f.def_inst(v).filter(|_| depth > 0) else { return false };
    let mut of = |v: Value| line_within(f, forms, v, depth - 1, left);
    match data.op {
        Opcode::Iadd | Opcode::Isub => of(data.args[0]) && of(data.args[1]),
        Opcode::Ishl => f.as_const(data.args[1]).is_some() && of(data.args[0]),
        Opcode::Imul => factor_of(forms, data).is_some_and(|(line, _)| of(line)),
        Opcode::Sshr => without_ignored(f, data).is_some_and(|(whole, _)| of(whole)),
        _ => false,
    }
}

/// The operands of a product of which all lanes share one: that is the second here.
fn factor_of(forms: &Forms, data: &InstData) -> Option<(Value, Value)> {
    let (a, b) = (data.args[0], data.args[1]);
    match [a, b].map(|v| forms.of(v) == Form::Uniform) {
        [false, true] => Some((a, b)),
        [true, false] => Some((b, a)),
        _ => None,
    }
}

/// Whether an access is made from the first lane's address where the stride that code computes is that of lanes side by side.
pub(crate) fn is_tried_as_line(f: &Function, forms: &Forms, address: Value, mem: MemAccess) -> bool {
    mem.bytes.is_multiple_of(mem.align.max(1))
        && step_of(f, forms, address).is_none()
        && is_line(f, forms, address)
}

/// The value of which the highest bits are replaced by the one below them, as devices do that ignore these bits of an address, and how many
/// these are: `x` and `n` of `(x << n) >> n`.
pub(crate) fn without_ignored(f: &Function, data: &InstData) -> Option<(Value, u8)> {
    let count = |data: &InstData| f.as_const(data.args[1]);
    let up = f.def_inst(data.args[0]).filter(|up| data.op == Opcode::Sshr && up.op == Opcode::Ishl)?;
    let n = count(data).filter(|&n| (1..=MOST_IGNORED).contains(&n) && count(up) == Some(n))?;
    Some((up.args[0], n as u8))
}

/// Most bits of an address that are replaced.
const MOST_IGNORED: u64 = 32;

/// Whether an `ior` joins a low and a high word, so that it is their sum.
pub(crate) fn is_join(f: &Function, data: &InstData) -> bool {
    let is_low = |v: Value| f.def_inst(v).is_some_and(|data| data.op == Opcode::Zext);
    let is_high = |v: Value| {
        f.def_inst(v).is_some_and(|data| data.op == Opcode::Ishl && f.as_const(data.args[1]) == Some(32))
    };
    let (a, b) = (data.args[0], data.args[1]);
    data.op == Opcode::Ior && (is_low(a) && is_high(b) || is_high(a) && is_low(b))
}

/// The sum or difference that an operation in an address is: an `ior` there joins words ([`is_join`]).
fn sum_of(op: Opcode) -> Opcode {
    if op == Opcode::Isub { op } else { Opcode::Iadd }
}

/// Whether accesses of `bytes` at this stride are vector accesses: contiguous, or one member of an array of two-element
/// or four-element structures.
pub(crate) fn is_even(bytes: u8, step: i64) -> bool {
    let bytes = i64::from(bytes);
    step == bytes || bytes >= 4 && [2 * bytes, 4 * bytes].contains(&step)
}

/// Whether the lanes are contiguous in descending order.
pub(crate) fn is_descending(bytes: u8, step: i64) -> bool {
    step == -i64::from(bytes)
}

/// Whether [`is_even`] or [`is_descending`] holds and the first lane's alignment implies the alignment of all lanes.
pub(crate) fn is_even_as_first(mem: MemAccess, step: i64) -> bool {
    (is_even(mem.bytes, step) || is_descending(mem.bytes, step)) && step % i64::from(mem.align.max(1)) == 0
}

/// The farthest that lanes on a line may be from each other to be accessed at constant distances from the first: a page has room for the
/// lanes of the largest chunk.
const MOST_AFFINE_STEP: u64 = 64;

/// The stride of an access that code of vectors of 128 bits makes from the first lane's address, if it has one: that of the first lane must
/// tell the alignment of all.
pub(crate) fn affine_step(f: &Function, forms: &Forms, address: Value, mem: MemAccess) -> Option<i64> {
    let step = step_of(f, forms, address)?;
    (step != 0 && step.unsigned_abs() <= MOST_AFFINE_STEP && step % i64::from(mem.align.max(1)) == 0)
        .then_some(step)
}

/// Whether the access is made from the first lane's address: if it has a supported stride ([`affine_step`]; with `wide`, of the generator for
/// AVX-512). `fused`: the operation is a translation of an access behind it.
fn is_affine_access(data: &InstData, forms: &Forms, f: &Function, wide: bool, fused: bool) -> bool {
    let Imm::Mem(mem) = data.imm else { return false };
    if !(matches!(data.op, Opcode::Load | Opcode::Store) || data.op.is_permit() || fused)
        || !matches!(mem.space, Space::Global(_))
    {
        return false;
    }
    if is_tried_as_line(f, forms, data.args[0], mem) {
        return true;
    }
    if !wide {
        return affine_step(f, forms, data.args[0], mem).is_some();
    }
    step_of(f, forms, data.args[0]).is_some_and(|step| is_even_as_first(mem, step))
}

/// The only varying 32-bit value in a 64-bit address.
#[derive(Clone, Copy)]
pub(crate) struct AddressWord {
    pub word: Value,
    /// How it is extended to 64 bits: zext or sext.
    pub extension: Opcode,
    /// By how many bits the extended value is shifted left.
    pub by: u8,
}

/// The varying 32-bit value of an address, if there is exactly one.
pub(crate) fn word_of(f: &Function, forms: &Forms, address: Value) -> Option<AddressWord> {
    word_within(f, forms, address, DEPTH).flatten()
}

/// `None` if the address is computed in another way; `Some(None)` if it is uniform.
fn word_within(f: &Function, forms: &Forms, v: Value, depth: u32) -> Option<Option<AddressWord>> {
    if f.ty(v).uniform || forms.of(v) == Form::Uniform {
        return Some(None);
    }
    let data = f.def_inst(v)?;
    if depth == 0 {
        return None;
    }
    let of = |n: usize| word_within(f, forms, data.args[n], depth - 1);
    match data.op {
        Opcode::Zext | Opcode::Sext => {
            let word = data.args[0];
            let extended = AddressWord { word, extension: data.op, by: 0 };
            (f.ty(word).scalar.bits() == 32).then_some(Some(extended))
        }
        Opcode::Iadd => match (of(0)?, of(1)?) {
            (word, None) | (None, word) => Some(word),
            _ => None,
        },
        Opcode::Isub => match (of(0)?, of(1)?) {
            (word, None) => Some(word),
            _ => None,
        },
        Opcode::Ishl => {
            let count = f.as_const(data.args[1])?;
            match of(0)? {
                Some(word) if count < 8 => Some(Some(AddressWord { by: word.by + count as u8, ..word })),
                Some(_) => None,
                None => Some(None),
            }
        }
        _ => None,
    }
}

/// Bytes that a guest instruction accesses for a lane by `insts[at]` and the accesses that stand beside it in the list.
pub(crate) fn bytes_together(f: &Function, insts: &[Inst], at: usize) -> u8 {
    let access = |n: usize| {
        let data = f.inst(*insts.get(n)?);
        let (Opcode::Load | Opcode::Store, Imm::Mem(mem)) = (data.op, data.imm) else { return None };
        Some((data, mem))
    };
    // Whether an access goes on where the one before it ends.
    let goes_on = |n: usize| {
        let (Some((a, first)), Some((b, next))) = (access(n - 1), access(n)) else { return false };
        (a.op, a.pc, a.args[0], first.space) == (b.op, b.pc, b.args[0], next.space)
            && first.offset.checked_add(first.bytes.into()) == Some(next.offset)
    };
    // No guest has more than four words.
    let first = (at.saturating_sub(3)..at).rev().take_while(|&n| goes_on(n + 1)).last().unwrap_or(at);
    let mut bytes = access(first).map_or(0, |(_, mem)| mem.bytes);
    for n in first + 1..first + 4 {
        match access(n) {
            Some((_, mem)) if goes_on(n) => bytes += mem.bytes,
            _ => break,
        }
    }
    bytes
}

/// The word of an access's address, if lanes side by side, or evenly apart, can be told from it, the steps between them in that word, and
/// the bytes. `together`: those of the guest's instruction ([`bytes_together`]), as far as lanes lie unless the address says else.
pub(crate) fn access_word(
    data: &InstData,
    together: u8,
    forms: &Forms,
    f: &Function,
) -> Option<(Value, u32, u8)> {
    let Imm::Mem(mem) = data.imm else { return None };
    let accesses = matches!(data.op, Opcode::Load | Opcode::Store) || data.op.is_permit();
    if !accesses
        || !matches!(mem.space, Space::Global(_))
        || mem.bytes < 4
        || step_of(f, forms, data.args[0]).is_some()
    {
        return None;
    }
    let AddressWord { word, by, .. } = word_of(f, forms, data.args[0])?;
    // A larger shift means elements of structures.
    let bytes = 1i64.checked_shl(by.into())?;
    let possible = [bytes.max(together.into()), bytes.max(mem.bytes.into())];
    let bytes = possible.into_iter().find(|&bytes| is_even_as_first(mem, bytes))?;
    Some((word, (bytes >> by) as u32, bytes as u8))
}

/// For each value: whether only addresses of contiguous accesses use it. Such values are not computed at their
/// definition but at the access. With `words`, the same holds for addresses with one varying 32-bit value
/// ([`access_word`]) and for strided accesses. `fused`: translations that are done where their access is. `by_line`: other operations that
/// use their operands as addresses.
pub(crate) fn address_only(
    f: &Function,
    forms: &Forms,
    words: bool,
    fused: &[bool],
    by_line: impl Fn(&InstData) -> bool,
) -> Vec<bool> {
    let mut only: Vec<bool> = (0..f.values.len())
        .map(|n| {
            let v = Value::new(n);
            let is_wide = f.ty(v).scalar == Scalar::I64 && !f.ty(v).uniform;
            let made = is_line(f, forms, v) || words && word_of(f, forms, v).is_some();
            is_wide && forms.of(v) == Form::Varying && made
        })
        .collect();
    // A value with another use is not, and neither are its operands.
    let mut work: Vec<Value> = Vec::new();
    for block in &f.blocks {
        for (at, &inst) in block.insts.iter().enumerate() {
            let data = f.inst(inst);
            let together = if words { bytes_together(f, &block.insts, at) } else { 0 };
            let is_fused = data.op.is_translation() && fused.get(inst.index()) == Some(&true);
            let address = is_affine_access(data, forms, f, words, is_fused)
                || words && access_word(data, together, forms, f).is_some();
            let is_by_line = by_line(data);
            for (n, &arg) in data.args.iter().enumerate() {
                let in_address = data.result.is_some_and(|r| only[r.index()]);
                if !(in_address || address && n == 0 || is_by_line) {
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

/// What a code generator provides for affine addresses.
pub(crate) trait EvenAddress<'a> {
    /// A scalar.
    type Reg: Copy;
    /// The vectors of a value.
    type Parts;

    fn func(&self) -> &'a Function;
    fn forms(&self) -> &Forms;
    /// Whether a value was not computed at its definition ([`address_only`]).
    fn left_out(&self, v: Value) -> bool;

    /// The first lane's value.
    fn first_lane(&mut self, v: Value) -> Result<Self::Reg, Error>;
    /// Extends a 32-bit value to 64 bits: zext or sext.
    fn extend(&mut self, op: Opcode, word: Self::Reg) -> Self::Reg;
    /// The last lane's 32-bit value minus the first lane's, given the stride.
    fn reach32(&self, word: Value, stride: i64) -> i64;
    /// Nonzero if the 32-bit value wraps within the chunk, that is, if extending the last lane's value does not give
    /// `first + more`. `first` is the first lane's value, already extended by `op` (zext or sext).
    fn wraps(&mut self, op: Opcode, first: Self::Reg, more: i64) -> Self::Reg;
    fn either(&mut self, a: Self::Reg, b: Self::Reg) -> Self::Reg;
    /// iadd or isub, 64 bits.
    fn sum(&mut self, op: Opcode, a: Self::Reg, b: Self::Reg) -> Self::Reg;
    fn shift_left(&mut self, a: Self::Reg, count: u8) -> Self::Reg;
    /// A product, 64 bits.
    fn product(&mut self, a: Self::Reg, b: Self::Reg) -> Self::Reg;
    /// A constant, 64 bits.
    fn number(&mut self, n: i64) -> Self::Reg;
    /// The number of the last lane whose value the first's tells, where a stride is computed.
    fn last_lane(&self) -> i64;
    /// Replaces so many of the highest bits by the one below them.
    fn drop_ignored(&mut self, a: Self::Reg, count: u8) -> Self::Reg;
    /// The last lane's 64-bit value minus the first lane's, given the stride.
    fn reach64(&self, v: Value, stride: i64) -> i64;
    /// A 64-bit value plus `more`.
    fn further(&mut self, a: Self::Reg, more: i64) -> Self::Reg;
    /// Nonzero if a 64-bit value is negative.
    fn negative(&mut self, a: Self::Reg) -> Self::Reg;
    /// Nonzero if two 64-bit values differ.
    fn differ(&mut self, a: Self::Reg, b: Self::Reg) -> Self::Reg;

    /// The vectors of a value that was computed at its definition. The following methods are the same operations on
    /// vectors.
    fn vectors_of_value(&mut self, v: Value) -> Result<Self::Parts, Error>;
    fn extend_vectors(&mut self, op: Opcode, words: &Self::Parts) -> Self::Parts;
    fn sum_vectors(&mut self, op: Opcode, a: &Self::Parts, b: &Self::Parts) -> Self::Parts;
    fn shift_vectors_left(&mut self, a: &Self::Parts, count: u8) -> Self::Parts;
    fn product_of_vectors(&mut self, a: &Self::Parts, b: &Self::Parts) -> Self::Parts;
    fn drop_ignored_vectors(&mut self, a: &Self::Parts, count: u8) -> Self::Parts;

    /// Emits an affine address.
    fn span(&mut self, address: Value) -> Result<Span<Self::Reg>, Error> {
        let mut wraps = None;
        let first = self.first_of(address, &mut wraps)?;
        Ok(Span { first, wraps })
    }

    /// Emits the first lane's value of an affine value and adds its wrap tests to `wraps`.
    fn first_of(&mut self, v: Value, wraps: &mut Option<Self::Reg>) -> Result<Self::Reg, Error> {
        if self.forms().of(v) == Form::Uniform {
            return self.first_lane(v);
        }
        let f = self.func();
        let Some(data) = f.def_inst(v) else {
            return Err(Error::Malformed("an address from nowhere".into()));
        };
        match data.op {
            Opcode::Zext | Opcode::Sext => {
                let clip = Clip::of(f, self.forms(), data.args[0]);
                let line = clip.as_ref().map_or(data.args[0], |clip| clip.line);
                if let Some(clip) = clip {
                    self.test_clip(&clip, wraps)?;
                }
                let word = self.first_lane(line)?;
                let stride = match self.forms().of(line) {
                    Form::Affine { stride, .. } => i64::from(stride),
                    _ => 0,
                };
                let first = self.extend(data.op, word);
                let more = self.reach32(line, stride);
                if more != 0 {
                    let odd = self.wraps(data.op, first, more);
                    self.add_wrap(wraps, odd);
                }
                Ok(first)
            }
            Opcode::Iadd | Opcode::Isub | Opcode::Ior => {
                let (a, b) = (self.first_of(data.args[0], wraps)?, self.first_of(data.args[1], wraps)?);
                Ok(self.sum(sum_of(data.op), a, b))
            }
            Opcode::Sshr => {
                let Some((whole, count)) = without_ignored(f, data) else {
                    return Err(Error::Malformed("a shift in an even address".into()));
                };
                let all = self.first_of(whole, wraps)?;
                let first = self.drop_ignored(all, count);
                let ends = match step_of(f, self.forms(), whole) {
                    Some(stride) => {
                        let more = self.reach64(whole, stride);
                        (more != 0).then(|| (self.further(all, more), self.further(first, more)))
                    }
                    None => {
                        let (step, lanes) = (self.step(whole)?, self.last_lane());
                        // The last lane tells of those before it only where a stride cannot wrap on the way there.
                        let small = self.drop_ignored(step, 32);
                        let odd = self.differ(small, step);
                        self.add_wrap(wraps, odd);
                        let lanes = self.number(lanes);
                        let more = self.product(step, lanes);
                        Some((self.sum(Opcode::Iadd, all, more), self.sum(Opcode::Iadd, first, more)))
                    }
                };
                if let Some((last, want)) = ends {
                    let last = self.drop_ignored(last, count);
                    let odd = self.differ(last, want);
                    self.add_wrap(wraps, odd);
                }
                Ok(first)
            }
            Opcode::Ishl => {
                let a = self.first_of(data.args[0], wraps)?;
                Ok(self.shift_left(a, f.as_const(data.args[1]).unwrap_or(0) as u8))
            }
            Opcode::Imul => {
                let (line, factor) =
                    factor_of(self.forms(), data).ok_or_else(|| Error::Malformed("no factor".into()))?;
                let (line, factor) = (self.first_of(line, wraps)?, self.first_lane(factor)?);
                Ok(self.product(line, factor))
            }
            op => Err(Error::Malformed(format!("{} in an even address", op.name()))),
        }
    }

    /// Adds the tests that a clipped line is the line in all lanes: it does not wrap, as its bound is compared, and its end is within the
    /// bound.
    fn test_clip(&mut self, clip: &Clip, wraps: &mut Option<Self::Reg>) -> Result<(), Error> {
        let word = self.first_lane(clip.line)?;
        let first = self.extend(clip.extension(), word);
        let more = self.reach32(clip.line, clip.stride);
        let odd = self.wraps(clip.extension(), first, more);
        self.add_wrap(wraps, odd);
        let bound = self.first_lane(clip.bound)?;
        let bound = self.extend(clip.extension(), bound);
        let end = if (more > 0) == clip.is_least() { self.further(first, more) } else { first };
        let (low, high) = if clip.is_least() { (end, bound) } else { (bound, end) };
        // Both are words, so the difference does not wrap.
        let room = self.sum(Opcode::Isub, high, low);
        let odd = self.negative(room);
        self.add_wrap(wraps, odd);
        Ok(())
    }

    /// Emits the stride of a line, modulo 2^64.
    fn step(&mut self, v: Value) -> Result<Self::Reg, Error> {
        let f = self.func();
        if let Some(step) = step_of(f, self.forms(), v) {
            return Ok(self.number(step));
        }
        let Some(data) = f.def_inst(v) else {
            return Err(Error::Malformed("a stride from nowhere".into()));
        };
        match data.op {
            Opcode::Iadd | Opcode::Isub => {
                let (a, b) = (self.step(data.args[0])?, self.step(data.args[1])?);
                Ok(self.sum(data.op, a, b))
            }
            Opcode::Ishl => {
                let a = self.step(data.args[0])?;
                Ok(self.shift_left(a, f.as_const(data.args[1]).unwrap_or(0) as u8))
            }
            Opcode::Imul => {
                let (line, factor) =
                    factor_of(self.forms(), data).ok_or_else(|| Error::Malformed("no factor".into()))?;
                let (step, factor) = (self.step(line)?, self.first_lane(factor)?);
                Ok(self.product(step, factor))
            }
            Opcode::Sshr => match without_ignored(f, data) {
                Some((whole, _)) => self.step(whole),
                None => Err(Error::Malformed("a shift in a stride".into())),
            },
            op => Err(Error::Malformed(format!("{} in a stride", op.name()))),
        }
    }

    /// Adds a test to those of an address.
    fn add_wrap(&mut self, wraps: &mut Option<Self::Reg>, odd: Self::Reg) {
        *wraps = Some(match *wraps {
            Some(before) => self.either(before, odd),
            None => odd,
        });
    }

    /// The vectors of a value; computed here if it was not computed at its definition.
    fn address_parts_of(&mut self, v: Value) -> Result<Self::Parts, Error> {
        let f = self.func();
        let Some(data) = f.def_inst(v).filter(|_| self.left_out(v)) else {
            return self.vectors_of_value(v);
        };
        match data.op {
            Opcode::Zext | Opcode::Sext => {
                let words = self.vectors_of_value(data.args[0])?;
                Ok(self.extend_vectors(data.op, &words))
            }
            Opcode::Iadd | Opcode::Isub | Opcode::Ior => {
                let (a, b) = (self.address_parts_of(data.args[0])?, self.address_parts_of(data.args[1])?);
                Ok(self.sum_vectors(sum_of(data.op), &a, &b))
            }
            Opcode::Sshr => match without_ignored(f, data) {
                Some((whole, count)) => {
                    let whole = self.address_parts_of(whole)?;
                    Ok(self.drop_ignored_vectors(&whole, count))
                }
                None => self.vectors_of_value(v),
            },
            Opcode::Ishl => {
                let a = self.address_parts_of(data.args[0])?;
                Ok(self.shift_vectors_left(&a, f.as_const(data.args[1]).unwrap_or(0) as u8))
            }
            Opcode::Imul => {
                let (a, b) = (self.address_parts_of(data.args[0])?, self.address_parts_of(data.args[1])?);
                Ok(self.product_of_vectors(&a, &b))
            }
            _ => self.vectors_of_value(v),
        }
    }
}

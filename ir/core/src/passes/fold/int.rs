//! Folding rules for integer arithmetic, logic (of truth values too) and shifts.

use super::{Act, Folder};
use crate::entities::Value;
use crate::function::{Imm, InstData};
use crate::opcodes::Opcode;
use crate::types::Scalar;
use smallvec::smallvec;

/// How many operands deep unused bits are searched for.
const DEPTH: u32 = 6;

impl Folder<'_> {
    pub(super) fn int(&mut self, data: &InstData) -> Option<Act> {
        use Opcode::*;
        let scalar = self.scalar(data.result?);
        let mask = scalar.bit_mask();
        match (data.op, data.args.as_slice()) {
            (Iadd, &[a, b]) if scalar == Scalar::I64 => {
                let words = self.scattered(a, b).or_else(|| self.uniform_words(a, b));
                words.or_else(|| self.arithmetic(data.op, &data.args, mask))
            }
            (Iadd | Isub | Imul | Umulhi | Smulhi | Ineg, args) => self.arithmetic(data.op, args, mask),
            (Ior, &[a, b]) if scalar == Scalar::I64 => {
                self.concat(a, b).or_else(|| self.logic(data.op, a, b, mask))
            }
            (Iand | Ior | Ixor, &[a, b]) => self.logic(data.op, a, b, mask),
            (Inot, &[a]) => self.inot(a),
            (Ishl | Ushr | Sshr | Rotl, &[a, b]) => self.shift(data.op, a, b, scalar),
            (Umin | Umax | Smin | Smax, &[a, b]) => self.minmax(data.op, a, b, mask),
            (Bitrev | Bswap, &[a]) => Some(Act::Is(self.is(a, data.op)?[0])),
            _ => None,
        }
    }

    fn arithmetic(&mut self, op: Opcode, args: &[Value], mask: u64) -> Option<Act> {
        use Opcode::*;
        match (op, args) {
            (Iadd, &[a, b]) => {
                if let Some(n) = self.c(b) {
                    if n == 0 {
                        return Some(Act::Is(a));
                    }
                    if let Some((x, m)) = self.is_by(a, Iadd) {
                        return self.by(Iadd, x, n.wrapping_add(m));
                    }
                }
                for (x, y) in [(a, b), (b, a)] {
                    if let Some(&[z]) = self.is(y, Ineg) {
                        return Some(Act::Now(Isub, smallvec![x, z], Imm::None));
                    }
                    // (z - x) + x
                    if let Some((z, w)) = self.is2(y, Isub)
                        && w == x
                    {
                        return Some(Act::Is(z));
                    }
                }
                None
            }
            (Isub, &[a, b]) => {
                if a == b {
                    return Some(Act::Const(0));
                }
                if let Some(n) = self.c(b) {
                    return if n == 0 { Some(Act::Is(a)) } else { self.by(Iadd, a, n.wrapping_neg()) };
                }
                if self.c(a) == Some(0) {
                    return Some(Act::Now(Ineg, smallvec![b], Imm::None));
                }
                if let Some((x, y)) = self.is2(a, Iadd) {
                    if x == b {
                        return Some(Act::Is(y));
                    }
                    if y == b {
                        return Some(Act::Is(x));
                    }
                }
                let &[x] = self.is(b, Ineg)? else { return None };
                Some(Act::Now(Iadd, smallvec![a, x], Imm::None))
            }
            (Ineg, &[a]) => {
                if let Some(&[x]) = self.is(a, Ineg) {
                    return Some(Act::Is(x));
                }
                let (x, y) = self.is2(a, Isub)?;
                Some(Act::Now(Isub, smallvec![y, x], Imm::None))
            }
            (Imul, &[a, b]) => {
                let n = self.c(b)?;
                match n {
                    0 => Some(Act::Const(0)),
                    1 => Some(Act::Is(a)),
                    _ if n == mask => Some(Act::Now(Ineg, smallvec![a], Imm::None)),
                    _ if n.is_power_of_two() => self.by(Ishl, a, u64::from(n.trailing_zeros())),
                    _ => None,
                }
            }
            (Umulhi, &[a, b]) => {
                let n = self.c(b)?;
                let width = u64::from(mask.count_ones());
                match n {
                    0 | 1 => Some(Act::Const(0)),
                    _ if n.is_power_of_two() => self.by(Ushr, a, width - u64::from(n.trailing_zeros())),
                    _ => None,
                }
            }
            (Smulhi, &[a, b]) => {
                let n = self.c(b)?;
                let width = u64::from(mask.count_ones());
                match n {
                    0 => Some(Act::Const(0)),
                    1 => self.by(Sshr, a, width - 1),
                    // Not the least number.
                    _ if n.is_power_of_two() && n <= mask >> 1 => {
                        self.by(Sshr, a, width - u64::from(n.trailing_zeros()))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn logic(&mut self, op: Opcode, a: Value, b: Value, mask: u64) -> Option<Act> {
        use Opcode::*;
        if a == b {
            return Some(if op == Ixor { Act::Const(0) } else { Act::Is(a) });
        }
        // Operands that are each other's complement.
        if self.complements(a, b) {
            return Some(Act::Const(if op == Iand { 0 } else { mask }));
        }
        let (of_a, of_b) = (self.bits(a), self.bits(b));
        if let Some(n) = self.c(b) {
            match op {
                Iand if of_a.clear(!n & mask) => return Some(Act::Is(a)),
                Ior if n & !of_a.ones == 0 => return Some(Act::Is(a)),
                Ior if n == mask => return Some(Act::Const(mask)),
                Ixor if n == 0 => return Some(Act::Is(a)),
                Ixor if n == mask => return Some(Act::Now(Inot, smallvec![a], Imm::None)),
                _ => {}
            }
            if let Some((x, m)) = self.is_by(a, op) {
                let n = match op {
                    Iand => n & m,
                    Ior => n | m,
                    _ => n ^ m,
                };
                return self.by(op, x, n);
            }
            if op == Iand
                && let Some(x) = self.demand(a, n)
            {
                return Some(Act::Now(Iand, smallvec![x, b], Imm::None));
            }
        }
        for (x, y) in [(a, b), (b, a)] {
            let absorbed = match op {
                // x & (x | z), x & (x & z)
                Iand => [Ior, Iand],
                Ior => [Iand, Ior],
                _ => [Ixor, Ixor],
            };
            for (n, inner) in absorbed.into_iter().enumerate() {
                let Some((p, q)) = self.is2(y, inner) else { continue };
                if p != x && q != x {
                    continue;
                }
                let other = if p == x { q } else { p };
                return Some(Act::Is(match (op, n) {
                    (Ixor, _) => other,
                    (_, 0) => x,
                    _ => y,
                }));
            }
            // x | (x ^ z)
            if op == Ior
                && let Some((p, q)) = self.is2(y, Ixor)
                && (p == x || q == x)
            {
                return Some(Act::Now(Ior, smallvec![x, if p == x { q } else { p }], Imm::None));
            }
            // x & (!x & z) and the like
            if op == Iand
                && let Some((p, q)) = self.is2(y, Iand)
                && [p, q].into_iter().any(|z| self.complements(x, z))
            {
                return Some(Act::Const(0));
            }
            if op == Ior
                && let Some((p, q)) = self.is2(y, Ior)
                && [p, q].into_iter().any(|z| self.complements(x, z))
            {
                return Some(Act::Const(mask));
            }
            // x & (!x | z) is x & z; x | (!x & z) is x | z
            let dual = match op {
                Iand => Ior,
                Ior => Iand,
                _ => continue,
            };
            if let Some((p, q)) = self.is2(y, dual) {
                if self.complements(x, p) {
                    return Some(Act::Now(op, smallvec![x, q], Imm::None));
                }
                if self.complements(x, q) {
                    return Some(Act::Now(op, smallvec![x, p], Imm::None));
                }
            }
        }
        if op == Iand {
            // The mask keeps all bits that the other operand can have.
            if of_a.clear(!of_b.ones) {
                return Some(Act::Is(a));
            }
            if of_b.clear(!of_a.ones) {
                return Some(Act::Is(b));
            }
        }
        if op == Ior && scalar_is_word(mask) {
            // The two parts of one value: (x & m) | (x & !m).
            let (x, m) = self.part(a)?;
            let (y, n) = self.part(b)?;
            if x == y {
                return if m | n == mask { Some(Act::Is(x)) } else { self.by(Iand, x, m | n) };
            }
        }
        if op == Ixor
            && let (Some(&[x]), Some(&[y])) = (self.is(a, Inot), self.is(b, Inot))
        {
            return Some(Act::Now(Ixor, smallvec![x, y], Imm::None));
        }
        None
    }

    fn complements(&self, a: Value, b: Value) -> bool {
        if self.is(a, Opcode::Inot) == Some(&[b]) || self.is(b, Opcode::Inot) == Some(&[a]) {
            return true;
        }
        match (self.def(a), self.def(b)) {
            (
                Some(InstData { op: Opcode::Icmp, args: x, imm: Imm::Int(c), .. }),
                Some(InstData { op: Opcode::Icmp, args: y, imm: Imm::Int(d), .. }),
            ) => x == y && c.inverse() == *d,
            (
                Some(InstData { op: Opcode::Fcmp, args: x, imm: Imm::FloatCmp(c, f), .. }),
                Some(InstData { op: Opcode::Fcmp, args: y, imm: Imm::FloatCmp(d, g), .. }),
            ) => x == y && f == g && c.inverse() == *d,
            _ => false,
        }
    }

    /// If `value` is another value restricted to some bits: that value and the bits.
    fn part(&self, value: Value) -> Option<(Value, u64)> {
        if let Some((x, m)) = self.is_by(value, Opcode::Iand) {
            return Some((x, m));
        }
        None
    }

    fn inot(&mut self, a: Value) -> Option<Act> {
        // If the comparison has other uses, keep it, because its complement is cheaper than a second comparison.
        let only = self.uses.count(a) <= 1;
        match self.def(a)?.clone() {
            InstData { op: Opcode::Inot, args, .. } => Some(Act::Is(args[0])),
            _ if !only => None,
            InstData { op: Opcode::Icmp, args, imm: Imm::Int(cc), .. } => {
                Some(Act::Now(Opcode::Icmp, args, Imm::Int(cc.inverse())))
            }
            InstData { op: Opcode::Fcmp, args, imm: Imm::FloatCmp(cc, ftz), .. } => {
                Some(Act::Now(Opcode::Fcmp, args, Imm::FloatCmp(cc.inverse(), ftz)))
            }
            _ => None,
        }
    }

    fn shift(&mut self, op: Opcode, a: Value, b: Value, scalar: Scalar) -> Option<Act> {
        use Opcode::*;
        let mask = scalar.bit_mask();
        let width = u64::from(scalar.bits());
        let Some(count) = self.c(b) else {
            // Counts are taken modulo the width.
            let x = self.demand(b, width - 1)?;
            return Some(Act::Now(op, smallvec![a, x], Imm::None));
        };
        if count >= width {
            return self.by(op, a, count % width);
        }
        let n = count;
        if n == 0 {
            return Some(Act::Is(a));
        }
        let of_a = self.bits(a);
        let inner = [Ishl, Ushr, Sshr]
            .into_iter()
            .find_map(|o| self.is_by(a, o).map(|(x, m)| (o, x, m % width)))
            .filter(|&(_, _, m)| m != 0);
        if scalar == Scalar::I64 {
            match (op, inner) {
                // A low word moved up and, with its sign, down again.
                (Sshr, Some((Ishl, x, 32))) if n <= 32 => {
                    let low = match self.is(x, Zext) {
                        Some(&[low]) => low,
                        _ => self.make(Trunc, &[x], Imm::None, Scalar::I32),
                    };
                    if n == 32 {
                        return Some(Act::Now(Sext, smallvec![low], Imm::None));
                    }
                    let wide = self.make(Sext, &[low], Imm::None, Scalar::I64);
                    return self.by(Ishl, wide, 32 - n);
                }
                (Ushr, None) if n == 32 => {
                    if let Some(high) = self.high_word(a) {
                        return Some(Act::Now(Zext, smallvec![high], Imm::None));
                    }
                }
                _ => {}
            }
        }
        match (op, inner) {
            (Ishl, Some((Ishl, x, m))) | (Ushr, Some((Ushr, x, m))) => {
                if n + m >= width {
                    return Some(Act::Const(0));
                }
                return self.by(op, x, n + m);
            }
            (Sshr, Some((Sshr, x, m))) => return self.by(Sshr, x, (n + m).min(width - 1)),
            (Ishl, Some((Ushr | Sshr, x, m))) if n == m => return self.by(Iand, x, mask << n),
            (Ushr, Some((Ishl, x, m))) if n == m => return self.by(Iand, x, mask >> n),
            (Ushr | Sshr, Some((Ishl, x, m))) => {
                // A shift that loses nothing, and back.
                let highest = if op == Sshr { (mask >> m) >> 1 } else { mask >> m };
                if self.bits(x).clear(mask & !highest) {
                    return match n.cmp(&m) {
                        std::cmp::Ordering::Equal => Some(Act::Is(x)),
                        std::cmp::Ordering::Less => self.by(Ishl, x, m - n),
                        std::cmp::Ordering::Greater => self.by(Ushr, x, n - m),
                    };
                }
                if op == Sshr && n == m && self.sign_extends(x, width - n) {
                    return Some(Act::Is(x));
                }
            }
            _ => {}
        }
        // A field of a value, times a power of two (an index into a table): shifted into place at once.
        if op == Ishl
            && self.uses.count(a) <= 1
            && let Some((x, keep)) = self.is_by(a, Iand)
            && let Some((y, m)) = self.is_by(x, Ushr)
            && self.uses.count(x) <= 1
            && m % width >= n
        {
            let m = m % width - n;
            let shifted = if m == 0 {
                y
            } else {
                let by = self.constant(scalar, m);
                self.make(Ushr, &[y, by], Imm::None, scalar)
            };
            return self.by(Iand, shifted, keep << n);
        }
        if op == Sshr && of_a.clear(mask ^ (mask >> 1)) {
            return Some(Act::Now(Ushr, smallvec![a, b], Imm::None));
        }
        let demanded = match op {
            Ishl => mask >> n,
            Ushr | Sshr => (mask << n) & mask,
            _ => return None,
        };
        let x = self.demand(a, demanded)?;
        Some(Act::Now(op, smallvec![x, b], Imm::None))
    }

    /// Whether all bits of the value from bit `bits - 1` up are equal.
    fn sign_extends(&self, value: Value, bits: u64) -> bool {
        match self.def(value) {
            Some(InstData { op: Opcode::Load, imm: Imm::Mem(mem), .. }) => {
                let loaded = u64::from(mem.bytes) * 8;
                (mem.signed && loaded <= bits) || (!mem.signed && loaded < bits)
            }
            Some(InstData { op: Opcode::Bmask, .. }) => true,
            Some(InstData { op: Opcode::Sshr, args, .. }) => {
                let width = u64::from(self.scalar(value).bits());
                self.c(args[1]).is_some_and(|n| width - n % width <= bits)
            }
            _ => false,
        }
    }

    fn minmax(&mut self, op: Opcode, a: Value, b: Value, mask: u64) -> Option<Act> {
        use Opcode::*;
        if a == b {
            return Some(Act::Is(a));
        }
        let (of_a, of_b) = (self.bits(a), self.bits(b));
        let sign = mask ^ (mask >> 1);
        if matches!(op, Smin | Smax) && !(of_a.clear(sign) && of_b.clear(sign)) {
            return None;
        }
        // Without sign bits, signed and unsigned order agree.
        let (less, more) = if of_a.max <= of_b.min() {
            (a, b)
        } else if of_b.max <= of_a.min() {
            (b, a)
        } else {
            return None;
        };
        Some(Act::Is(if matches!(op, Umin | Smin) { less } else { more }))
    }

    /// A simpler value with the same bits where `demanded` is set.
    pub(super) fn demand(&self, value: Value, demanded: u64) -> Option<Value> {
        let mut at = value;
        for _ in 0..DEPTH {
            match self.demand_once(at, demanded) {
                Some(next) => at = next,
                None => break,
            }
        }
        (at != value).then_some(at)
    }

    fn demand_once(&self, value: Value, demanded: u64) -> Option<Value> {
        use Opcode::*;
        let data = self.def(value)?;
        let width = u64::from(self.scalar(value).bits());
        match (data.op, data.args.as_slice()) {
            (Iand, &[a, b]) => {
                let keeps = |m: Value| self.bits(m).ones & demanded == demanded;
                if keeps(b) { Some(a) } else { keeps(a).then_some(b) }
            }
            (Ior | Ixor, &[a, b]) => {
                if self.bits(b).clear(demanded) {
                    Some(a)
                } else {
                    self.bits(a).clear(demanded).then_some(b)
                }
            }
            (Iadd | Isub, &[a, b]) => {
                // Carries go up only: bits up to the highest demanded one matter.
                let below = u64::MAX.checked_shr(demanded.leading_zeros()).unwrap_or(0);
                if self.bits(b).clear(below) {
                    Some(a)
                } else if data.op == Iadd {
                    self.bits(a).clear(below).then_some(b)
                } else {
                    None
                }
            }
            (Ushr | Sshr, &[a, b]) => {
                // Extension of the low part of a value.
                let n = self.c(b)? % width;
                let (x, m) = self.is_by(a, Ishl)?;
                (n != 0 && m % width == n && demanded >> (width - n) == 0).then_some(x)
            }
            _ => None,
        }
    }
}

/// Whether a type of these bits is an integer and no truth value.
fn scalar_is_word(mask: u64) -> bool {
    mask != 1
}

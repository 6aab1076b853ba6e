//! Float arithmetic and comparison, exact also where the host flushes what must not be or does not what must.
//!
//! In a region where every operation has `ftz` the x86 host flushes (MXCSR.FTZ and DAZ, which detect tiny results after
//! rounding, as the IR asks). In one where few have none, such as those of a division, it does not flush for these
//! ([`Denormals`]). Elsewhere, and on AArch64 (which detects them before), it is done here: operands by
//! their bits, results by computing them once more 2^64 times as large, where nothing is tiny.

use std::rc::Rc;

use warpjit_ir::analysis::{Classes, is_flushed};
use warpjit_ir::passes::canon::nan_bits_seen;
use warpjit_ir::passes::float_env;
use warpjit_ir::{Args, FloatCC, Function, Imm, InstData, Opcode, Value};

use super::{Lower, Parts, arg, malformed, wide};
use crate::clif::{
    Emit, F32, F32X4, F64, F64X2, HostFloatCC, HostIntCC, HostType, I8, I32, I64, I64X2, V, int_of,
};
use crate::code::FloatEnv;
use crate::context::at;
use crate::error::Error;
use crate::flow::Order;

/// What depends on the float format.
pub(crate) struct Format {
    pub exponent: u64,
    pub magnitude: u64,
    pub sign: u64,
    pub min_normal: u64,
    pub one: u64,
    /// 2^64.
    pub scale: u64,
    /// 2^64 times the smallest normal.
    pub scaled_min: u64,
}

const BINARY32: Format = Format {
    exponent: 0x7f80_0000,
    magnitude: 0x7fff_ffff,
    sign: 0x8000_0000,
    min_normal: 0x0080_0000,
    one: 0x3f80_0000,
    scale: 0x5f80_0000,
    scaled_min: 0x2080_0000,
};

const BINARY64: Format = Format {
    exponent: 0x7ff0_0000_0000_0000,
    magnitude: 0x7fff_ffff_ffff_ffff,
    sign: 0x8000_0000_0000_0000,
    min_normal: 0x0010_0000_0000_0000,
    one: 0x3ff0_0000_0000_0000,
    scale: 0x43f0_0000_0000_0000,
    scaled_min: 0x0410_0000_0000_0000,
};

pub(super) fn format(ty: HostType) -> &'static Format {
    format_of(ty.lane_bits() == 64)
}

/// The format of f64 (`wide`) or of f32.
pub(crate) fn format_of(wide: bool) -> &'static Format {
    if wide { &BINARY64 } else { &BINARY32 }
}

/// 2^-126 - 2^-151: what is smaller is tiny after rounding to 24 bits.
pub(crate) const TINY: u64 = (1023 - 127) << 52 | 0x00ff_ffff << 28;

/// How the code of a region or of a row of blocks deals with denormals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Denormals {
    /// The host keeps them, and what flushes does so by code.
    Kept,
    /// The host flushes them throughout.
    Flushed,
    /// The host flushes them except where code turns that off for operations that keep them, within a block.
    Turned,
}

/// What turning the host's treatment of denormals costs, in instructions on a vector.
const TURN_COST: u64 = 30;

/// What flushing by code costs on average, for an operation on one vector, likewise.
const FLUSH_COST: u64 = 8;

/// Most loops round a block that count.
const MOST_DEPTH: u32 = 4;

impl Denormals {
    /// The environment that code begins and ends in.
    pub(crate) fn env(self) -> FloatEnv {
        if self == Denormals::Kept { FloatEnv::Default } else { FloatEnv::FlushAll }
    }

    /// Chooses for functions that are one function of the host, each with its number of vectors. `x86`: whether it is an
    /// x86-64 host. AArch64 detects tiny results before rounding, which the guests do not. So there code flushes results
    /// itself.
    pub(crate) fn choose<'a>(funcs: impl Iterator<Item = (&'a Function, u64)>, x86: bool) -> Denormals {
        let (mut flush, mut keep) = (0, 0);
        let (mut flushing, mut turning) = (0u64, 0u64);
        for (f, vectors) in funcs {
            let order = Order::new(f);
            let depths = order.loop_depths(f);
            for (&b, &depth) in order.blocks.iter().zip(&depths) {
                let times = 8u64.pow(depth.min(MOST_DEPTH));
                let mut now = FloatEnv::FlushAll;
                for env in f.block(b).insts.iter().filter_map(|&i| needed_env(f.inst(i))) {
                    match env {
                        FloatEnv::FlushAll => {
                            flush += 1;
                            flushing = flushing.saturating_add(times * FLUSH_COST * vectors);
                        }
                        FloatEnv::Default => keep += 1,
                    }
                    turning = turning.saturating_add(if env == now { 0 } else { times * TURN_COST });
                    now = env;
                }
                turning =
                    turning.saturating_add(if now == FloatEnv::Default { times * TURN_COST } else { 0 });
            }
        }
        match (flush, keep) {
            (0, _) => Denormals::Kept,
            _ if !x86 => Denormals::Kept,
            (_, 0) => Denormals::Flushed,
            _ if turning < flushing => Denormals::Turned,
            _ => Denormals::Kept,
        }
    }
}

/// What the host must do with denormals for an operation to be right as it is, if that matters.
pub(super) fn needed_env(data: &InstData) -> Option<FloatEnv> {
    if flushes(data) {
        Some(FloatEnv::FlushAll)
    } else {
        needs_default_env(data).then_some(FloatEnv::Default)
    }
}

/// Puts operations together that flush denormals, and others that keep them, in a function of whose operations some do and some do not.
pub(crate) fn group_by_float_env(f: &mut Function) {
    let needs = |data: &InstData| needed_env(data).map(|env| env == FloatEnv::Default);
    float_env::run(f, needs);
}

impl Lower<'_, '_> {
    /// Makes the host treat denormals as `env` says, in code that turns that.
    pub(super) fn turn_to(&mut self, env: FloatEnv) {
        if self.env == env || !self.turns {
            return;
        }
        self.env = env;
        let sig = match self.sigs.turn {
            Some(sig) => sig,
            None => self.preserving_signature(&[]),
        };
        self.sigs.turn = Some(sig);
        let offset = if env == FloatEnv::Default { at::KEEP_DENORMALS } else { at::FLUSH_DENORMALS };
        let callee = self.e.load(I64, self.context, offset);
        self.e.call(sig, callee, &[]);
    }

    /// Whether Cranelift may not move a comparison of scalars to where its result is used: something in between may turn
    /// what the host does with denormals, and that would be seen.
    fn must_stay(&mut self, data: &InstData, a: V) -> Result<bool, Error> {
        if !self.turns || self.e.is_vector(a) {
            return Ok(false);
        }
        let classes = self.classes();
        let both = classes.of(arg(data, 0)?).or(classes.of(arg(data, 1)?));
        Ok(both.may(Classes::DENORMALS))
    }

    /// Vectors of a float operation.
    pub(super) fn float(&mut self, data: &InstData) -> Result<Parts, Error> {
        if data.op == Opcode::FmadTrunc && data.args.len() == 3 && self.mads.is_some() {
            return self.fast_mad(data);
        }
        let args: Args = match data.op {
            // Operations on the bits.
            Opcode::Fneg | Opcode::Fabs | Opcode::Fflush | Opcode::Fcanon | Opcode::Fsignals => {
                data.args.clone()
            }
            _ => data.args.iter().map(|&a| self.before_canon(a)).collect(),
        };
        let parts = self.part_by_part(&args, |l, a| l.float_part(data, a))?;
        let narrow =
            matches!(data.op, Opcode::Fcmp | Opcode::Fsignals) && wide(self.scalar_of(arg(data, 0)?));
        Ok(if narrow { self.narrow_mask(&parts) } else { parts })
    }

    /// What `fcanon` made canonical, for operations to which all NaNs are the same.
    pub(super) fn before_canon(&self, v: Value) -> Value {
        match self.f.def_inst(v) {
            Some(data) if data.op == Opcode::Fcanon => data.args.first().map_or(v, |&a| self.before_canon(a)),
            _ => v,
        }
    }

    /// A float operation on one vector or one scalar.
    pub(super) fn float_part(&mut self, data: &InstData, args: &[V]) -> Result<V, Error> {
        let first = *args.first().ok_or_else(|| malformed(data))?;
        let flush = self.explicit_flush && flushes(data);
        // Scalars stay where floats are: a choice by their bits would take them to the other registers and back.
        let chooses = match data.op {
            Opcode::Fcanon | Opcode::Fflush => true,
            Opcode::Fadd | Opcode::Fsub | Opcode::Fmul | Opcode::Fdiv | Opcode::Fma => flush,
            _ => false,
        };
        if chooses && matches!(self.e.ty(first), F32 | F64) {
            return self.through_vector(args, |l, x| l.float_part(data, x));
        }
        let mut flushed = args.to_vec();
        if flush {
            for (a, &v) in flushed.iter_mut().zip(&data.args) {
                if !is_flushed(self.f, v) {
                    *a = self.e.flush(*a);
                }
            }
        }
        let a = &flushed[..];
        Ok(match (data.op, a) {
            (Opcode::Fadd, &[a, b]) | (Opcode::Fsub, &[a, b]) => {
                let r = if data.op == Opcode::Fadd { self.e.fadd(a, b) } else { self.e.fsub(a, b) };
                // Tiny sums are exact.
                if flush { self.e.flush(r) } else { r }
            }
            (Opcode::Fmul | Opcode::Fdiv, &[a, b]) => {
                let op = |e: &mut Emit<'_>, a, b| {
                    if data.op == Opcode::Fmul { e.fmul(a, b) } else { e.fdiv(a, b) }
                };
                let r = op(&mut self.e, a, b);
                if flush {
                    let scale = self.e.imm_like(a, format(self.e.ty(a)).scale);
                    let large = self.e.fmul(a, scale);
                    let scaled = op(&mut self.e, large, b);
                    self.e.flush_by_scaled(r, scaled)
                } else {
                    r
                }
            }
            (Opcode::Fsqrt, &[a]) => self.e.sqrt(a),
            (Opcode::Fma, &[a, b, c]) => self.fma(a, b, c, flush)?,
            (Opcode::FmadTrunc, &[a, b, c]) => self.fmad_trunc(a, b, c, flush),
            (Opcode::Fneg, &[a]) => self.e.fneg(a),
            (Opcode::Fabs, &[a]) => self.e.fabs(a),
            (Opcode::Ffloor, &[a]) => {
                let a = self.denormals_up(a);
                self.e.floor(a)
            }
            (Opcode::Fceil, &[a]) => {
                let a = self.denormals_up(a);
                self.e.ceil(a)
            }
            (Opcode::Ftrunc, &[a]) => self.e.trunc(a),
            (Opcode::Fnearest, &[a]) => self.e.nearest(a),
            (Opcode::Fcmp, &[a, b]) => {
                let Imm::FloatCmp(cc, _) = data.imm else { return Err(malformed(data)) };
                if self.must_stay(data, a)? {
                    // Of vectors the result is in a register.
                    let word = self.through_vector(&[a, b], |l, x| Ok(l.e.compare(cc, x[0], x[1])))?;
                    let bit = self.e.band_imm(word, 1);
                    return Ok(self.e.ireduce(I8, bit));
                }
                self.e.compare(cc, a, b)
            }
            (Opcode::Fmin | Opcode::Fmax, &[a, b]) => self.extreme(data, a, b)?,
            (Opcode::Fsignals, &[a, b]) => self.signals(data, a, b)?,
            (Opcode::Fflush, _) if self.product_flushes(data)? => {
                let one = self.e.imm_like(first, format(self.e.ty(first)).one);
                self.e.fmul(first, one)
            }
            (Opcode::Fflush, _) => self.e.flush(first),
            (Opcode::Fcanon, &[a]) => {
                let Imm::Bits(bits) = data.imm else { return Err(malformed(data)) };
                let nan = self.e.imm_like(a, bits);
                let unordered = self.e.fcmp(HostFloatCC::Unordered, a, a);
                self.e.sel(unordered, nan, a)
            }
            _ => return Err(malformed(data)),
        })
    }

    /// Whether the host's product with one is what flushing gives: it makes signalling NaNs quiet.
    fn product_flushes(&mut self, data: &InstData) -> Result<bool, Error> {
        if self.env == FloatEnv::Default {
            return Ok(false);
        }
        if !self.classes().of(arg(data, 0)?).may(Classes::SIGNALLING) {
            return Ok(true);
        }
        let f = self.f;
        let seen = self.nan_bits_seen.get_or_insert_with(|| Rc::new(nan_bits_seen(f)));
        Ok(data.result.is_some_and(|r| !seen[r.index()]))
    }

    /// In a flushing environment, denormals as the smallest normals of their sign: rounding to an integer treats both
    /// alike, but the host would see zeros.
    fn denormals_up(&mut self, x: V) -> V {
        if self.env == FloatEnv::Default {
            return x;
        }
        let ty = self.e.ty(x);
        let k = format(ty);
        let bits = self.e.cast(x, int_of(ty));
        let magnitude = self.e.band_imm(bits, k.magnitude);
        let below = self.e.iadd_imm(magnitude, u64::MAX);
        let denormal = self.e.icmp_imm(HostIntCC::UnsignedLessThan, below, k.min_normal - 1);
        let sign = self.e.band_imm(bits, k.sign);
        let normal = self.e.bor_imm(sign, k.min_normal);
        let up = self.e.sel(denormal, normal, bits);
        self.e.cast(up, ty)
    }

    fn fma(&mut self, a: V, b: V, c: V, flush: bool) -> Result<V, Error> {
        let ty = self.e.ty(a);
        if self.e.host.fma {
            let r = self.e.fma(a, b, c);
            if !flush {
                return Ok(r);
            }
            let scale = self.e.imm(ty, format(ty).scale);
            let (a, c) = (self.e.fmul(a, scale), self.e.fmul(c, scale));
            let scaled = self.e.fma(a, b, c);
            return Ok(self.e.flush_by_scaled(r, scaled));
        }
        if ty == F32 {
            return self.through_vector(&[a, b, c], |l, x| l.fma(x[0], x[1], x[2], flush));
        }
        if ty.lane_bits() == 32 {
            let ([al, ah], [bl, bh], [cl, ch]) = (self.e.promote(a), self.e.promote(b), self.e.promote(c));
            let (mut low, mut high) = (self.e.fma_to_odd(al, bl, cl), self.e.fma_to_odd(ah, bh, ch));
            if flush {
                (low, high) = (self.e.flush_tiny(low), self.e.flush_tiny(high));
            }
            return Ok(self.e.demote(low, high));
        }
        // The environment flushes, or the code does: the operation had `ftz`.
        let ftz = flush || self.env == FloatEnv::FlushAll;
        if ty == F64 {
            return Ok(self.call_fma(a, b, c, ftz));
        }
        let mut r = a;
        for lane in 0..2 {
            let x: Vec<V> = [a, b, c].iter().map(|&v| self.e.extract(v, lane)).collect();
            let y = self.call_fma(x[0], x[1], x[2], ftz);
            r = self.e.insert(r, y, lane);
        }
        Ok(r)
    }

    fn call_fma(&mut self, a: V, b: V, c: V, ftz: bool) -> V {
        let sig = match self.sigs.fma {
            Some(sig) => sig,
            None => self.signature(&[I64, I64, I64, I32], Some(I64)),
        };
        self.sigs.fma = Some(sig);
        let callee = self.e.load(I64, self.context, at::FMA_F64);
        let mut args: Vec<V> = [a, b, c].iter().map(|&v| self.e.cast(v, I64)).collect();
        args.push(self.e.imm(I32, u64::from(ftz)));
        let r = self.e.call(sig, callee, &args).unwrap_or(a);
        self.e.cast(r, F64)
    }

    /// a * b cut to 24 bits, plus c with one rounding. In binary64 the product is exact, the cut clears 29 bits,
    /// and rounding the sum twice (to 53, then 24 bits) is harmless since 53 >= 2 * 24 + 2. With c zero the product is not
    /// cut, and it rounds and flushes before the addition: that shows in the sign of a zero result only, so c is
    /// added again at the end.
    fn fmad_trunc(&mut self, a: V, b: V, c: V, flush: bool) -> V {
        let sum = if self.e.is_vector(a) {
            let ([al, ah], [bl, bh], [cl, ch]) = (self.e.promote(a), self.e.promote(b), self.e.promote(c));
            let (mut low, mut high) = (self.e.mad_cut(al, bl, cl), self.e.mad_cut(ah, bh, ch));
            if flush {
                (low, high) = (self.e.flush_tiny(low), self.e.flush_tiny(high));
            }
            self.e.demote(low, high)
        } else {
            let x: Vec<V> = [a, b, c].iter().map(|&v| self.e.fpromote(F64, v)).collect();
            let mut r = self.e.mad_cut(x[0], x[1], x[2]);
            if flush {
                r = self.e.flush_tiny(r);
            }
            self.e.fdemote(F32, r)
        };
        let zero = self.e.imm_like(c, 0);
        let is_zero = self.e.fcmp(HostFloatCC::Equal, c, zero);
        // Adding -0 changes nothing.
        let nothing = self.e.imm_like(c, 0x8000_0000);
        let again = self.e.sel(is_zero, c, nothing);
        self.e.fadd(sum, again)
    }

    /// f32 vectors as f64, denormals kept in any environment.
    pub(super) fn promote_exact(&mut self, x: V) -> [V; 2] {
        let plain = self.e.promote(x);
        if self.env == FloatEnv::Default {
            return plain;
        }
        // What the host took for zeros: their fractions, as integers, times 2^-149.
        let bits = self.e.cast(x, int_of(F32X4));
        let exponent = self.e.band_imm(bits, BINARY32.exponent);
        let zero = self.e.icmp_imm(HostIntCC::Equal, exponent, 0);
        let fraction = self.e.band_imm(bits, 0x7f_ffff);
        let fraction = self.e.band(fraction, zero);
        let (low, high) = (
            self.e.swiden_low(fraction),
            self.e.shuffle_words(int_of(F32X4), fraction, fraction, [2, 3, 2, 3]),
        );
        let high = self.e.swiden_low(high);
        let unit = self.e.imm(F64X2, (1023 - 149) << 52);
        let fix = |l: &mut Self, plain: V, fraction: V| {
            let value = l.e.fcvt_from_sint(F64X2, fraction);
            let value = l.e.fmul(value, unit);
            let (value, plain) = (l.e.cast(value, I64X2), l.e.cast(plain, I64X2));
            let both = l.e.bor(value, plain);
            l.e.cast(both, F64X2)
        };
        [fix(self, plain[0], low), fix(self, plain[1], high)]
    }
}

impl Emit<'_> {
    /// Zero of the same sign for a denormal.
    pub(super) fn flush(&mut self, x: V) -> V {
        let ty = self.ty(x);
        let k = format(ty);
        let bits = self.cast(x, int_of(ty));
        let exponent = self.band_imm(bits, k.exponent);
        let zero = self.icmp_imm(HostIntCC::Equal, exponent, 0);
        let sign = self.band_imm(bits, k.sign);
        let r = self.sel(zero, sign, bits);
        self.cast(r, ty)
    }

    /// Zero of its sign for `r` where the same result, 2^64 times as large, shows that it is tiny.
    fn flush_by_scaled(&mut self, r: V, scaled: V) -> V {
        let ty = self.ty(r);
        let k = format(ty);
        let magnitude = self.fabs(scaled);
        let min = self.imm(ty, k.scaled_min);
        let tiny = self.fcmp(HostFloatCC::LessThan, magnitude, min);
        let bits = self.cast(r, int_of(ty));
        let sign = self.band_imm(bits, k.sign);
        let r = self.sel(tiny, sign, bits);
        self.cast(r, ty)
    }

    /// Zero of its sign for an f64 that would be tiny as f32.
    pub(super) fn flush_tiny(&mut self, x: V) -> V {
        let ty = self.ty(x);
        let magnitude = self.fabs(x);
        let limit = self.imm(ty, TINY);
        let tiny = self.fcmp(HostFloatCC::LessThan, magnitude, limit);
        let bits = self.cast(x, int_of(ty));
        let sign = self.band_imm(bits, BINARY64.sign);
        let r = self.sel(tiny, sign, bits);
        self.cast(r, ty)
    }

    /// Four f32 as f64.
    pub(super) fn promote(&mut self, x: V) -> [V; 2] {
        let high = self.shuffle_words(F32X4, x, x, [2, 3, 2, 3]);
        [self.fvpromote_low(x), self.fvpromote_low(high)]
    }

    /// Two vectors of f64 as f32.
    pub(super) fn demote(&mut self, low: V, high: V) -> V {
        let (low, high) = (self.fvdemote(low), self.fvdemote(high));
        self.shuffle_words(F32X4, low, high, [0, 1, 4, 5])
    }

    /// a * b, cut to 24 bits unless c is zero, plus c, in f64.
    fn mad_cut(&mut self, a: V, b: V, c: V) -> V {
        let ty = self.ty(a);
        let product = self.fmul(a, b);
        let zero = self.imm(ty, 0);
        let is_zero = self.fcmp(HostFloatCC::Equal, c, zero);
        let bits = self.cast(product, int_of(ty));
        let cut = self.band_imm(bits, !0x1fff_ffff);
        let cut = self.sel(is_zero, bits, cut);
        let cut = self.cast(cut, ty);
        self.fadd(cut, c)
    }

    /// a * b + c of f64 that hold f32, rounded to odd: rounding the result once more is rounding once.
    fn fma_to_odd(&mut self, a: V, b: V, c: V) -> V {
        let product = self.fmul(a, b);
        let sum = self.fadd(product, c);
        // The exact error of the sum (Knuth).
        let c_part = self.fsub(sum, product);
        let product_part = self.fsub(sum, c_part);
        let e1 = self.fsub(product, product_part);
        let e2 = self.fsub(c, c_part);
        let error = self.fadd(e1, e2);
        let zero = self.imm(F64X2, 0);
        // False for the NaN that an infinite sum gives.
        let above = self.fcmp(HostFloatCC::GreaterThan, error, zero);
        let below = self.fcmp(HostFloatCC::LessThan, error, zero);
        let inexact = self.bor(above, below);
        let (sum_bits, error_bits) = (self.cast(sum, I64X2), self.cast(error, I64X2));
        // Towards zero, then odd.
        let away = self.bxor(sum_bits, error_bits);
        let away = self.shr(away, 63);
        let cut = self.isub(sum_bits, away);
        let odd = self.bor_imm(cut, 1);
        let r = self.sel(inexact, odd, sum_bits);
        self.cast(r, F64X2)
    }

    fn compare(&mut self, cc: FloatCC, a: V, b: V) -> V {
        use HostFloatCC as H;
        // Not all vector conditions exist, so the others are complements.
        let (host, complement) = match cc {
            FloatCC::Eq => (H::Equal, false),
            FloatCC::Lt => (H::LessThan, false),
            FloatCC::Le => (H::LessThanOrEqual, false),
            FloatCC::Gt => (H::GreaterThan, false),
            FloatCC::Ge => (H::GreaterThanOrEqual, false),
            FloatCC::Ord => (H::Ordered, false),
            FloatCC::Uno => (H::Unordered, false),
            FloatCC::Ne => (H::NotEqual, false),
            FloatCC::Ult if self.host.x86 => (H::UnorderedOrLessThan, false),
            FloatCC::Ule if self.host.x86 => (H::UnorderedOrLessThanOrEqual, false),
            FloatCC::Ugt if self.host.x86 => (H::UnorderedOrGreaterThan, false),
            FloatCC::Uge if self.host.x86 => (H::UnorderedOrGreaterThanOrEqual, false),
            FloatCC::Ult => (H::GreaterThanOrEqual, true),
            FloatCC::Ule => (H::GreaterThan, true),
            FloatCC::Ugt => (H::LessThanOrEqual, true),
            FloatCC::Uge => (H::LessThan, true),
            FloatCC::One | FloatCC::Ueq => {
                let less = self.fcmp(H::LessThan, a, b);
                let greater = self.fcmp(H::GreaterThan, a, b);
                let either = self.bor(less, greater);
                return if cc == FloatCC::Ueq { self.not(either) } else { either };
            }
        };
        let r = self.fcmp(host, a, b);
        if complement { self.not(r) } else { r }
    }
}

/// Whether an operation's result depends on whether the host flushes, although it must not flush.
pub(crate) fn needs_default_env(data: &InstData) -> bool {
    match data.op {
        Opcode::Fadd
        | Opcode::Fsub
        | Opcode::Fmul
        | Opcode::Fdiv
        | Opcode::Fsqrt
        | Opcode::Fma
        | Opcode::Fdemote => data.imm != Imm::Ftz(true),
        Opcode::Fcmp => matches!(data.imm, Imm::FloatCmp(_, false)),
        _ => false,
    }
}

/// Whether an operation flushes.
pub(crate) fn flushes(data: &InstData) -> bool {
    data.op == Opcode::FmadTrunc || matches!(data.imm, Imm::Ftz(true) | Imm::FloatCmp(_, true))
}

//! Emits the addressing along one axis: from coordinates to numbers of texels and their weights, as [`warpjit_texture::sample`] computes them
//! for one lane.

use warpjit_ir::{FloatCC, IntCC, Opcode, Scalar, Value};
use warpjit_texture::sample::{Filter, Rounding, Wrap};

use super::data::level;
use super::emit::Emit;
use super::request::Input;

/// The texels along an axis that a filter takes.
#[derive(Clone, Copy)]
pub(super) struct Taps {
    /// Their numbers, which are always inside; where a border counts, that is said extra.
    pub texels: [Value; 2],
    /// Where they are inside, if there is a border.
    pub inside: [Option<Value>; 2],
    /// Weight of the second, an f32 from 0 to 1, and where it is 0; `None`: it does not count.
    pub weight: Option<(Value, Value)>,
}

/// The data of a level: address in the bank, and sizes.
#[derive(Clone, Copy)]
pub(super) struct LevelData {
    pub at: Value,
    pub size: [Value; 3],
}

/// A coordinate, finite, and either reduced or bounded.
#[derive(Clone, Copy)]
pub(super) enum Coordinate {
    /// An f64, in textures or in texels.
    Wide(Value),
    /// An f32 from -1 to 1 of an axis along which the texture is repeated; where it is not reduced, that is below 0, the second holds.
    Narrow(Value, Value),
}

/// 1.5 * 2^23: from 2^23 on an f32 has no fraction.
pub(super) const POINT: f32 = 12_582_912.0;

/// Wraps that do not look farther than the coordinate says.
fn comes_again(wrap: Wrap) -> bool {
    matches!(wrap, Wrap::Wrap | Wrap::Mirror)
}

impl Emit<'_> {
    /// Whether positions along an axis can be computed in f32: then both factors and the product are exact, and so is all that the sum
    /// rounds.
    fn is_narrow(&self, axis: usize) -> bool {
        let linear = self.key.mag[axis] == Filter::Linear && self.key.min[axis] == Filter::Linear;
        self.fused && self.key.normalized && self.key.even[axis] && linear && !self.key.half_beyond
    }

    /// A coordinate for [`Emit::taps`].
    pub fn coordinate(&mut self, axis: usize, bits: Value) -> Coordinate {
        if !self.is_narrow(axis) {
            return Coordinate::Wide(self.wide_coordinate(axis, bits));
        }
        let magnitude = self.and(bits, 0x7fff_ffff);
        let infinity = self.int(0x7f80_0000);
        let finite = self.icmp(IntCC::Slt, magnitude, infinity);
        let bits = self.where_holds(finite, bits);
        let c = self.float(bits);
        let whole = self.b.ffloor(c);
        let reduced = self.fsub(c, whole);
        // Below 0 by less than 1 the difference would not be exact.
        let first = self.b.f32(-1.0);
        let before = self.fcmp(FloatCC::Eq, whole, first);
        Coordinate::Narrow(self.b.select(before, c, reduced), before)
    }

    /// A coordinate as an f64, in textures (or in texels): finite, and either reduced or bounded.
    fn wide_coordinate(&mut self, axis: usize, bits: Value) -> Value {
        let magnitude = self.and(bits, 0x7fff_ffff);
        let infinity = self.int(0x7f80_0000);
        let finite = self.icmp(IntCC::Slt, magnitude, infinity);
        let wrap = self.key.wrap[axis];
        if self.key.normalized && comes_again(wrap) {
            let bits = self.where_holds(finite, bits);
            let float = self.float(bits);
            let c = self.b.convert(Opcode::Fpromote, float, Scalar::F64);
            if wrap == Wrap::Wrap {
                let whole = self.b.ffloor(c);
                return self.fsub(c, whole);
            }
            let (half, two) = (self.b.f64(0.5), self.b.f64(2.0));
            let halves = self.fmul(half, c);
            let whole = self.b.ffloor(halves);
            let even = self.fmul(two, whole);
            return self.fsub(c, even);
        }
        let farthest = if self.key.normalized { 256f32 } else { (1 << 22) as f32 };
        let farthest = self.int(farthest.to_bits() as i32);
        let bounded = self.b.smin(magnitude, farthest);
        let bounded = self.where_holds(finite, bounded);
        let sign = self.and(bits, 0x8000_0000);
        let sign = self.where_holds(finite, sign);
        let bits = self.b.ior(bounded, sign);
        let float = self.float(bits);
        self.b.convert(Opcode::Fpromote, float, Scalar::F64)
    }

    /// The nearest integer of an f64 below 2^31, of two the even one.
    fn round_even(&mut self, x: Value) -> Value {
        // From 2^52 on a float has no fraction, so that the sum rounds at the point; its lowest bits are the integer.
        let point = self.b.f64((3u64 << 51) as f64);
        let sum = self.fadd(x, point);
        let bits = self.b.bitcast(sum, Scalar::I64);
        self.b.convert(Opcode::Trunc, bits, Scalar::I32)
    }

    /// The texels that a coordinate takes; `minified` says where the filter of minification counts, if it is another one.
    pub fn taps(
        &mut self,
        axis: usize,
        coordinate: Coordinate,
        offset: [Input; 2],
        data: &LevelData,
        minified: Option<Value>,
    ) -> Taps {
        let (mag, min) = (self.key.mag[axis], self.key.min[axis]);
        match minified {
            Some(minified) if mag != min => {
                let linear = self.linear(axis, coordinate, offset, data);
                let nearest = self.nearest(axis, coordinate, offset, data);
                let linearly = if min == Filter::Linear { minified } else { self.b.inot(minified) };
                let (weight, first) = linear.weight.expect("of linear taps");
                let zero = self.b.f32(0.0);
                let one_only = self.b.inot(linearly);
                Taps {
                    texels: [0, 1]
                        .map(|n: usize| self.b.select(linearly, linear.texels[n], nearest.texels[n])),
                    inside: [0, 1].map(|n: usize| match (linear.inside[n], nearest.inside[n]) {
                        (Some(a), Some(b)) => Some(self.b.select(linearly, a, b)),
                        _ => None,
                    }),
                    weight: Some((self.b.select(linearly, weight, zero), self.b.ior(first, one_only))),
                }
            }
            _ if mag == Filter::Linear => self.linear(axis, coordinate, offset, data),
            _ => self.nearest(axis, coordinate, offset, data),
        }
    }

    fn nearest(&mut self, axis: usize, coordinate: Coordinate, offset: [Input; 2], data: &LevelData) -> Taps {
        let Coordinate::Wide(coordinate) = coordinate else { unreachable!("narrow ones are linear") };
        let (word, rounded) = match self.key.rounding {
            Rounding::Trunc => (level::TEXELS, false),
            Rounding::Rounded => (level::POSITIONS, true),
        };
        let texels = self.double(data.at, word + 2 * axis as u32);
        let at = self.fmul(coordinate, texels);
        let mut i = if rounded {
            let position = self.round_even(at);
            self.sar(position, 8)
        } else {
            let whole = self.b.ffloor(at);
            self.round_even(whole)
        };
        let offset = self.moves(offset);
        if let Some(offset) = offset {
            i = self.b.iadd(i, offset);
        }
        let n = data.size[axis];
        let one = self.int(1);
        let last = self.b.isub(n, one);
        let zero = self.int(0);
        i = match self.key.wrap[axis] {
            Wrap::ClampHalfBorder => self.clamp(i, zero, last),
            Wrap::MirrorOnceHalfBorder => {
                let first = self.b.inot(last);
                self.clamp(i, first, last)
            }
            _ => i,
        };
        let (texel, inside) = self.wrapped(axis, i, offset.is_some(), data);
        Taps { texels: [texel; 2], inside: [inside; 2], weight: None }
    }

    /// The position of a linear filter in 1/256.
    fn linear_position(&mut self, axis: usize, coordinate: Coordinate, data: &LevelData) -> Value {
        match coordinate {
            Coordinate::Wide(coordinate) => {
                let positions = self.double(data.at, level::POSITIONS + 2 * axis as u32);
                let at = self.fmul(coordinate, positions);
                let half = self.b.f64(128.0);
                let half_beyond = self.key.half_beyond && axis < 2;
                // Its sum rounds.
                let at = if half_beyond { self.fadd(at, half) } else { at };
                let at = self.fsub(at, half);
                self.round_even(at)
            }
            Coordinate::Narrow(coordinate, before) => {
                let positions = self.shl(data.size[axis], 8);
                let positions = self.float_of(positions);
                let point = self.b.f32(POINT - 128.0);
                let behind = self.fadd(point, positions);
                let point = self.b.select(before, behind, point);
                let sum = self.fma(coordinate, positions, point);
                let (bits, point) = (self.bits(sum), self.b.f32(POINT));
                let point = self.bits(point);
                self.b.isub(bits, point)
            }
        }
    }

    fn linear(&mut self, axis: usize, coordinate: Coordinate, offset: [Input; 2], data: &LevelData) -> Taps {
        let half_beyond = self.key.half_beyond && axis < 2;
        let mut q = self.linear_position(axis, coordinate, data);
        let offset = self.moves(offset);
        if let Some(offset) = offset {
            let offset = self.shl(offset, 8);
            q = self.b.iadd(q, offset);
        }
        let wrap = self.key.wrap[axis];
        if matches!(wrap, Wrap::ClampHalfBorder | Wrap::MirrorOnceHalfBorder) {
            let n = self.shl(data.size[axis], 8);
            let half = self.int(128);
            let end = self.b.isub(n, half);
            let start = self.int(-128);
            if wrap == Wrap::MirrorOnceHalfBorder {
                let from_zero = self.b.iadd(q, half);
                let sign = self.sar(from_zero, 31);
                let flipped = self.b.ixor(from_zero, sign);
                let magnitude = self.b.isub(flipped, sign);
                q = self.b.isub(magnitude, half);
            }
            q = self.clamp(q, start, end);
        }
        let first = self.sar(q, 8);
        let one = self.int(1);
        let moved = offset.is_some() || half_beyond;
        let (texel, inside) = self.wrapped(axis, first, moved, data);
        let (next, next_inside) = if wrap == Wrap::Wrap {
            // Behind the last comes the first.
            let next = self.b.iadd(texel, one);
            if self.key.even[axis] {
                let last = self.b.isub(data.size[axis], one);
                let next = self.b.iand(next, last);
                return self.weighted([texel, next], [None; 2], q);
            }
            let before_end = self.icmp(IntCC::Slt, next, data.size[axis]);
            (self.where_holds(before_end, next), None)
        } else {
            let second = self.b.iadd(first, one);
            self.wrapped(axis, second, moved, data)
        };
        self.weighted([texel, next], [inside, next_inside], q)
    }

    /// Texels of a linear filter at a position.
    fn weighted(&mut self, texels: [Value; 2], inside: [Option<Value>; 2], q: Value) -> Taps {
        let part = self.and(q, 255);
        let zero = self.int(0);
        let none = self.icmp(IntCC::Eq, part, zero);
        let part = self.float_of(part);
        let unit = self.b.f32(1.0 / 256.0);
        let weight = self.fmul(part, unit);
        Taps { texels, inside, weight: Some((weight, none)) }
    }

    /// The sum of offsets, if there are some.
    fn moves(&mut self, offsets: [Input; 2]) -> Option<Value> {
        let given = offsets.into_iter().filter(|offset| !matches!(offset, Input::None | Input::Bits(0)));
        let mut sum = None;
        for offset in given {
            let offset = self.input(offset);
            sum = Some(match sum {
                None => offset,
                Some(sum) => self.b.iadd(sum, offset),
            });
        }
        sum
    }

    /// The texel that a number stands for, and where it is inside if there is a border. `moved`: an offset was added.
    fn wrapped(&mut self, axis: usize, i: Value, moved: bool, data: &LevelData) -> (Value, Option<Value>) {
        let n = data.size[axis];
        let (zero, one) = (self.int(0), self.int(1));
        let last = self.b.isub(n, one);
        let wrap = self.key.wrap[axis];
        let mirrored = |e: &mut Self| {
            let sign = e.sar(i, 31);
            e.b.ixor(i, sign)
        };
        match wrap {
            // Whatever the number is.
            Wrap::Wrap if self.key.even[axis] => (self.b.iand(i, last), None),
            Wrap::Wrap => {
                let i = if moved { self.remainder(axis, i, n, data) } else { i };
                // From -1 to n.
                let sign = self.sar(i, 31);
                let more = self.b.iand(sign, n);
                let i = self.b.iadd(i, more);
                let before_end = self.icmp(IntCC::Slt, i, n);
                (self.where_holds(before_end, i), None)
            }
            Wrap::Mirror => {
                let twice = self.shl(n, 1);
                let i = if moved { self.remainder(axis, i, twice, data) } else { i };
                // From -1 to 2 n.
                let end = self.b.isub(twice, one);
                let back = self.b.isub(end, i);
                let i = self.b.smin(i, back);
                (self.b.smax(i, zero), None)
            }
            Wrap::ClampToEdge => (self.clamp(i, zero, last), None),
            Wrap::MirrorOnceEdge => {
                let i = mirrored(self);
                (self.b.smin(i, last), None)
            }
            Wrap::Border | Wrap::ClampHalfBorder => {
                let texel = self.clamp(i, zero, last);
                (texel, Some(self.icmp(IntCC::Eq, texel, i)))
            }
            Wrap::MirrorOnceBorder | Wrap::MirrorOnceHalfBorder => {
                let i = mirrored(self);
                let texel = self.b.smin(i, last);
                (texel, Some(self.icmp(IntCC::Eq, texel, i)))
            }
        }
    }

    /// The remainder of a number that is not far from 0.
    fn remainder(&mut self, axis: usize, i: Value, period: Value, data: &LevelData) -> Value {
        let part = self.word(data.at, level::PERIOD + axis as u32);
        let part = self.float(part);
        let float = self.float_of(i);
        let quotient = self.fmul(float, part);
        let whole = self.b.ffloor(quotient);
        let whole = self.b.convert(Opcode::FcvtToSint, whole, Scalar::I32);
        let product = self.b.imul(whole, period);
        let rest = self.b.isub(i, product);
        // The quotient may be off by one.
        let sign = self.sar(rest, 31);
        let more = self.b.iand(sign, period);
        let rest = self.b.iadd(rest, more);
        let less = self.b.isub(rest, period);
        let zero = self.int(0);
        let small = self.icmp(IntCC::Slt, less, zero);
        self.b.select(small, rest, less)
    }
}

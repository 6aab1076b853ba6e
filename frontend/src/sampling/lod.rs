//! Emits the choice of levels: from derivatives or a given level of detail to one or two levels and their weights, as
//! [`warpjit_texture::sample`] computes them for one lane.

use warpjit_ir::{FloatCC, IntCC, Opcode, Scalar, Value, WordTable};
use warpjit_texture::sample::{LOG2, Mip, PROBES_LOG2, Ties};

use super::data::head;
use super::emit::Emit;
use super::request::{Input, Level};

/// The greatest level of detail by absolute value.
const LIMIT: i32 = 1 << 23;

static LOGARITHMS: WordTable = WordTable::new("texture.log2", &LOG2);

static OF_PROBES: WordTable = WordTable::new("texture.probes", &PROBES_LOG2);

/// Several probes of each lane.
pub(super) struct Probes {
    /// How many there are.
    pub count: Value,
    /// The change of each coordinate that they are spread along, f32.
    pub along: Vec<Value>,
}

/// Levels and filters of the lanes.
pub(super) struct Selection {
    pub level: Value,
    /// Weight of the level behind it, in 1/256, if levels are mixed.
    pub weight: Option<Value>,
    /// Where the filter of minification counts.
    pub minified: Value,
}

impl Emit<'_> {
    /// A float in 1/256, to nearest even; `nan` of what is no number.
    fn fixed(&mut self, float: Value, nan: i32) -> Value {
        let scale = self.b.f32(256.0);
        let scaled = self.fmul(float, scale);
        let nearest = self.b.fnearest(scaled);
        let whole = self.b.convert(Opcode::FcvtToSint, nearest, Scalar::I32);
        let (low, high) = (self.int(-LIMIT), self.int(LIMIT));
        let whole = self.clamp(whole, low, high);
        if nan == 0 {
            // As conversions have it.
            return whole;
        }
        let (is_nan, nan) = (self.fcmp(FloatCC::Uno, float, float), self.int(nan));
        self.b.select(is_nan, nan, whole)
    }

    /// 128 times the binary logarithm of a float that is at least 0. `plus`: that much more, and somewhere below (or above) all levels where
    /// the float is so small (or infinite).
    fn log2_128(&mut self, x: Value, plus: Option<Value>) -> Value {
        let bits = self.bits(x);
        let index = self.shr(bits, 15);
        let index = self.and(index, 255);
        let entry = self.b.lookup(&LOGARITHMS, index);
        let low = self.and(bits, 0x7fff);
        let sum = self.b.iadd(entry, low);
        let fraction = self.shr(sum, 16);
        let exponent = self.shr(bits, 23);
        let exponent = self.shl(exponent, 7);
        let bias = self.int(-127 * 128);
        let whole = self.b.iadd(exponent, bias);
        if let Some(plus) = plus {
            // Besides what waits for the table.
            let whole = self.b.iadd(whole, plus);
            return self.b.iadd(whole, fraction);
        }
        let log = self.b.iadd(whole, fraction);
        let (normal, infinite) = (self.int(0x0080_0000), self.int(0x7f80_0000));
        let (lowest, highest) = (self.int(-LIMIT), self.int(LIMIT));
        let small = self.icmp(IntCC::Slt, bits, normal);
        let large = self.icmp(IntCC::Sge, bits, infinite);
        let log = self.b.select(small, lowest, log);
        self.b.select(large, highest, log)
    }

    /// The level of detail by changes of coordinates, and the probes, if there may be several. With the sampler's bias where that is small.
    fn of_changes(&mut self, changes: [[Input; 3]; 2]) -> (Value, Option<Probes>) {
        let axes = self.key.kind.axes();
        let changes: [Vec<Value>; 2] = changes.map(|change| {
            change
                .into_iter()
                .take(axes)
                .map(|input| {
                    let bits = self.input(input);
                    self.float(bits)
                })
                .collect()
        });
        let squares = changes.each_ref().map(|change| {
            let mut sum = None;
            for (k, &change) in change.iter().enumerate() {
                let scale = self.head(head::SCALE + k as u32);
                let scale = self.float(scale);
                let texels = self.fmul(change, scale);
                let square = self.fmul(texels, texels);
                sum = Some(match sum {
                    None => square,
                    Some(sum) => self.fadd(sum, square),
                });
            }
            sum.expect("there is an axis")
        });
        let [x, y] = squares;
        let more = self.fcmp(FloatCC::Gt, y, x);
        let most = self.b.select(more, y, x);
        let bias = self.key.small_bias.then(|| self.head(head::BIAS));
        let log = self.log2_128(most, bias);
        let nan = self.fcmp(FloatCC::Uno, x, y);
        let lowest = self.int(-LIMIT);
        if !self.key.probes {
            return (self.b.select(nan, lowest, log), None);
        }
        let short = self.b.select(more, x, y);
        let (unit, one) = (self.b.f32(1.0), self.int(1));
        let long_enough = self.fcmp(FloatCC::Gt, short, unit);
        let short = self.b.select(long_enough, short, unit);
        let ratio = self.fdiv(most, short);
        let root = self.b.float(Opcode::Fsqrt, &[ratio], false);
        let times = self.b.fceil(root);
        let times = self.b.convert(Opcode::FcvtToSint, times, Scalar::I32);
        let most_probes = self.head(head::PROBES);
        let count = self.clamp(times, one, most_probes);
        let count = self.b.select(nan, one, count);
        let index = self.b.isub(count, one);
        let less = self.b.lookup(&OF_PROBES, index);
        let log = self.b.isub(log, less);
        let along = changes[0].iter().zip(&changes[1]).map(|(&x, &y)| self.b.select(more, y, x)).collect();
        (self.b.select(nan, lowest, log), Some(Probes { count, along }))
    }

    /// The level of detail before clamps; `None`: the lowest. Also probes, if there may be several.
    fn detail(&mut self) -> Option<(Value, Option<Probes>)> {
        let request = &self.key.request;
        let mut probes = None;
        let mut lod = match request.level {
            Level::Lowest => return None,
            Level::Given(input) => {
                let bits = self.input(input);
                let float = self.float(bits);
                self.fixed(float, -LIMIT)
            }
            Level::Changes(changes) => {
                let (lod, of_lanes) = self.of_changes(changes);
                if self.key.small_bias {
                    return Some((lod, of_lanes));
                }
                probes = of_lanes;
                lod
            }
        };
        if request.bias != Input::None {
            let bits = self.input(request.bias);
            let float = self.float(bits);
            let bias = self.fixed(float, 0);
            lod = self.b.iadd(lod, bias);
        }
        let bias = self.head(head::BIAS);
        Some((self.b.iadd(lod, bias), probes))
    }

    /// A level of detail after clamps: to the view's levels, and without that, whose sign counts.
    fn clamped(&mut self, lod: Value) -> [Value; 2] {
        let request = &self.key.request;
        if request.clamp == Input::None {
            // All clamps one after the other are one.
            return [(head::USED_LEAST, head::USED_MOST), (head::LEAST, head::MOST)].map(|(least, most)| {
                let (least, most) = (self.head(least), self.head(most));
                self.clamp(lod, least, most)
            });
        }
        let (low, high) = (self.int(-LIMIT), self.int(LIMIT));
        let raw = self.clamp(lod, low, high);
        let (low, high) = (self.head(head::MIN_LOD), self.head(head::MAX_LOD));
        let clamped = self.clamp(raw, low, high);
        let bits = self.input(request.clamp);
        let float = self.float(bits);
        let clamp = self.fixed(float, -LIMIT);
        let clamped = self.b.smax(clamped, clamp);
        let lowest = self.head(head::LOWEST);
        let clamped = self.b.smax(clamped, lowest);
        let (zero, last) = (self.int(0), self.head(head::LAST));
        [self.clamp(clamped, zero, last), clamped]
    }

    /// Levels and filters; `None`: the first level, magnified.
    pub fn selection(&mut self) -> Option<(Selection, Option<Probes>)> {
        let (lod, probes) = self.detail()?;
        let [used, clamped] = self.clamped(lod);
        let zero = self.int(0);
        let minified = self.icmp(IntCC::Sgt, clamped, zero);
        let (level, weight) = match self.key.mip {
            Mip::None => (zero, None),
            Mip::Nearest => {
                let half = self.int(match self.key.ties {
                    Ties::Down => 127,
                    Ties::Up => 128,
                });
                let sum = self.b.iadd(used, half);
                (self.shr(sum, 8), None)
            }
            Mip::Linear => (self.shr(used, 8), Some(self.and(used, 255))),
        };
        Some((Selection { level, weight, minified }, probes))
    }
}

//! Asks for texels that later pixels will take, so that they need not wait for memory: a texture that does not fit into the caches next to
//! the processor takes as long to wait for as all that is computed of it.
//!
//! Warps are quads that mostly follow each other along x of the screen. So the coordinates of later pixels are told by how they change from
//! pixel to pixel. Nothing depends on it, and near places do: positions are rounded in f32, of borders and blocks nobody asks.

use warpjit_ir::function::Imm;
use warpjit_ir::{Opcode, Value};
use warpjit_texture::sample::Wrap;

use super::axis::{LevelData, POINT};
use super::emit::Emit;
use super::texel::Offset;

/// How many pixels later: code computes them for about as long as a word from memory takes. With 16 and with 64 programs wait longer.
const PIXELS: f32 = 24.0;

impl Emit<'_> {
    /// Coordinates of later pixels, if they can be told, and half a row further, where the texels are that earlier rows have not taken.
    pub fn later(&mut self) -> Vec<Value> {
        let Some([along_x, along_y]) = self.key.changes else { return Vec::new() };
        (0..self.key.kind.axes())
            .map(|axis| {
                let [at, x, y] = [self.key.request.at[axis], along_x[axis], along_y[axis]].map(|input| {
                    let bits = self.input(input);
                    self.float(bits)
                });
                let (pixels, half) = (self.b.f32(PIXELS), self.b.f32(0.5));
                let at = self.near_sum(x, pixels, at);
                let at = self.near_sum(y, half, at);
                let whole = match self.key.wrap[axis] {
                    Wrap::Wrap if self.key.normalized && !self.key.even[axis] => self.b.ffloor(at),
                    _ => return at,
                };
                self.fsub(at, whole)
            })
            .collect()
    }

    /// `a * b + c`, rounded anyhow.
    fn near_sum(&mut self, a: Value, b: Value, c: Value) -> Value {
        if self.fused {
            return self.fma(a, b, c);
        }
        let product = self.fmul(a, b);
        self.fadd(product, c)
    }

    /// Asks for the texels of a level at such coordinates.
    pub fn fetch_ahead(&mut self, later: &[Value], start: Offset, data: &LevelData) {
        if later.is_empty() {
            return;
        }
        let mut offset = start;
        for (axis, &at) in later.iter().enumerate() {
            let point = self.b.f32(POINT);
            let sum = match self.key.normalized {
                true => {
                    let texels = self.float_of(data.size[axis]);
                    self.near_sum(at, texels, point)
                }
                false => self.fadd(at, point),
            };
            let (bits, one, zero) = (self.bits(sum), self.int(1), self.int(0));
            let last = self.b.isub(data.size[axis], one);
            let texel = if self.key.even[axis] {
                self.b.iand(bits, last)
            } else {
                let point = self.bits(point);
                let number = self.b.isub(bits, point);
                self.clamp(number, zero, last)
            };
            let part = self.offset(axis, texel, data);
            offset = self.both(offset, part);
        }
        let at = self.image_offset(offset);
        self.b.push(Opcode::Prefetch, &[at], Imm::None, None);
    }
}

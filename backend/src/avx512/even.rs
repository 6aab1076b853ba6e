//! What even addresses of 64 bits are made of here ([`EvenAddress`]).

use iced_x86::Code;
use warpjit_ir::{Function, Opcode, Value};

use super::asm::{R, Src};
use super::code::Size;
use super::lower::Lower;
use crate::affine::Forms;
use crate::error::Error;
use crate::even_address::EvenAddress;

impl<'a> EvenAddress<'a> for Lower<'a> {
    type Reg = R;
    type Parts = Vec<R>;

    fn func(&self) -> &'a Function {
        self.f
    }

    fn forms(&self) -> &Forms {
        &self.forms
    }

    fn left_out(&self, v: Value) -> bool {
        self.address_only[v.index()]
    }

    fn first_lane(&mut self, v: Value) -> Result<R, Error> {
        self.general(v)
    }

    fn extend(&mut self, op: Opcode, word: R) -> R {
        match op {
            Opcode::Zext => self.a.low32(word),
            _ => self.a.g1(Code::Movsxd_r64_rm32, word, Size::Q, Size::D),
        }
    }

    fn reach32(&self, word: Value, stride: i64) -> i64 {
        let apart = i64::from(self.apart[word.index()].unwrap_or(0));
        15 * stride + apart * self.span_groups as i64
    }

    fn wraps(&mut self, op: Opcode, first: R, more: i64) -> R {
        let last = self.a.add_imm(true, first, more);
        let want = self.extend(op, last);
        self.a.g2(true, (Code::Xor_r32_rm32, Code::Xor_r64_rm64), want, last)
    }

    fn either(&mut self, a: R, b: R) -> R {
        self.a.g2(true, super::scalar::OR, a, b)
    }

    fn sum(&mut self, op: Opcode, a: R, b: R) -> R {
        match op {
            Opcode::Iadd => self.a.add(true, a, b),
            _ => self.a.g2(true, super::scalar::SUB, a, b),
        }
    }

    fn shift_left(&mut self, a: R, count: u8) -> R {
        self.a.shift(true, super::scalar::SHL, a, count)
    }

    fn product(&mut self, a: R, b: R) -> R {
        self.a.g2(true, super::scalar::MUL, a, b)
    }

    fn number(&mut self, n: i64) -> R {
        self.a.imm(true, n as u64)
    }

    fn last_lane(&self) -> i64 {
        15 + 16 * self.span_groups as i64
    }

    fn drop_ignored(&mut self, a: R, count: u8) -> R {
        let up = self.a.shift(true, super::scalar::SHL, a, count);
        self.a.shift(true, super::scalar::SAR, up, count)
    }

    fn reach64(&self, v: Value, stride: i64) -> i64 {
        // Where the sixteens' distance is told by nothing else, lanes are on a line over all of the chunk.
        let apart = self.bytes_apart(v).unwrap_or(16 * stride);
        stride.wrapping_mul(15).wrapping_add(apart.wrapping_mul(self.span_groups as i64))
    }

    fn further(&mut self, a: R, more: i64) -> R {
        self.a.add_imm(true, a, more)
    }

    fn negative(&mut self, a: R) -> R {
        self.a.shift(true, super::scalar::SHR, a, 63)
    }

    fn differ(&mut self, a: R, b: R) -> R {
        self.a.g2(true, (Code::Xor_r32_rm32, Code::Xor_r64_rm64), a, b)
    }

    fn vectors_of_value(&mut self, v: Value) -> Result<Vec<R>, Error> {
        Ok(self.regs(v)?.to_vec())
    }

    fn extend_vectors(&mut self, op: Opcode, words: &Vec<R>) -> Vec<R> {
        let code = match op {
            Opcode::Zext => Code::EVEX_Vpmovzxdq_zmm_k1z_ymmm256,
            _ => Code::EVEX_Vpmovsxdq_zmm_k1z_ymmm256,
        };
        let mut out = Vec::new();
        for &w in words {
            out.push(self.a.v2(code, Src::R(w), Size::Z, Size::Y));
            let high = self.a.high_half(w);
            out.push(self.a.v2(code, Src::R(high), Size::Z, Size::Y));
        }
        out
    }

    fn sum_vectors(&mut self, op: Opcode, a: &Vec<R>, b: &Vec<R>) -> Vec<R> {
        let code = match op {
            Opcode::Iadd => Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64,
            _ => Code::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64,
        };
        a.iter().zip(b).map(|(&a, &b)| self.a.v3(code, a, Src::R(b))).collect()
    }

    fn shift_vectors_left(&mut self, a: &Vec<R>, count: u8) -> Vec<R> {
        a.iter().map(|&a| self.a.v2i(Code::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8, a, count)).collect()
    }

    fn product_of_vectors(&mut self, a: &Vec<R>, b: &Vec<R>) -> Vec<R> {
        let code = Code::EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64;
        a.iter().zip(b).map(|(&a, &b)| self.a.v3(code, a, Src::R(b))).collect()
    }

    fn drop_ignored_vectors(&mut self, a: &Vec<R>, count: u8) -> Vec<R> {
        let up = self.shift_vectors_left(a, count);
        up.iter().map(|&a| self.a.v2i(Code::EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8, a, count)).collect()
    }
}

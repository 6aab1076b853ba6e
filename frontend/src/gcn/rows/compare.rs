//! Encoding rows of vector compares. They come in families of sixteen (floats) or eight (integers) with consecutive opcodes.

use super::__;
use crate::gcn::op::Op::{self, *};

/// A family: how many, the first operation, its numbers, the text. The operations and numbers that follow are the
/// next ones.
pub(in crate::gcn) type Family = (u16, Op, [i16; 4], &'static str);

/// All compares.
#[rustfmt::skip]
pub(in crate::gcn) const VOPC: &[Family] = &[
    (1, V_CMP_CLASS_F16, [__, __, 0x14, 0x14], "vcc = f16 u16 class"),
    (1, V_CMPX_CLASS_F16, [__, __, 0x15, 0x15], "vcc exec = f16 u16 class"),
    (1, V_CMP_CLASS_F32, [0x88, 0x88, 0x10, 0x10], "vcc = f32 u32 class"),
    (1, V_CMPX_CLASS_F32, [0x98, 0x98, 0x11, 0x11], "vcc exec = f32 u32 class"),
    (1, V_CMP_CLASS_F64, [0xa8, 0xa8, 0x12, 0x12], "vcc = f64 u32 class"),
    (1, V_CMPX_CLASS_F64, [0xb8, 0xb8, 0x13, 0x13], "vcc exec = f64 u32 class"),
    (16, V_CMP_F_F16, [__, __, 0x20, 0x20], "vcc = f16 f16"),
    (16, V_CMP_F_F32, [0x00, 0x00, 0x40, 0x40], "vcc = f32 f32"),
    (16, V_CMP_F_F64, [0x20, 0x20, 0x60, 0x60], "vcc = f64 f64"),
    (16, V_CMPX_F_F16, [__, __, 0x30, 0x30], "vcc exec = f16 f16"),
    (16, V_CMPX_F_F32, [0x10, 0x10, 0x50, 0x50], "vcc exec = f32 f32"),
    (16, V_CMPX_F_F64, [0x30, 0x30, 0x70, 0x70], "vcc exec = f64 f64"),
    (16, V_CMPS_F_F32, [0x40, 0x40, __, __], "vcc = f32 f32"),
    (16, V_CMPS_F_F64, [0x60, 0x60, __, __], "vcc = f64 f64"),
    (16, V_CMPSX_F_F32, [0x50, 0x50, __, __], "vcc exec = f32 f32"),
    (16, V_CMPSX_F_F64, [0x70, 0x70, __, __], "vcc exec = f64 f64"),
    (8, V_CMP_F_I16, [__, __, 0xa0, 0xa0], "vcc = i16 i16"),
    (8, V_CMP_F_U16, [__, __, 0xa8, 0xa8], "vcc = u16 u16"),
    (8, V_CMP_F_I32, [0x80, 0x80, 0xc0, 0xc0], "vcc = i32 i32"),
    (8, V_CMP_F_U32, [0xc0, 0xc0, 0xc8, 0xc8], "vcc = u32 u32"),
    (8, V_CMP_F_I64, [0xa0, 0xa0, 0xe0, 0xe0], "vcc = i64 i64"),
    (8, V_CMP_F_U64, [0xe0, 0xe0, 0xe8, 0xe8], "vcc = u64 u64"),
    (8, V_CMPX_F_I16, [__, __, 0xb0, 0xb0], "vcc exec = i16 i16"),
    (8, V_CMPX_F_U16, [__, __, 0xb8, 0xb8], "vcc exec = u16 u16"),
    (8, V_CMPX_F_I32, [0x90, 0x90, 0xd0, 0xd0], "vcc exec = i32 i32"),
    (8, V_CMPX_F_U32, [0xd0, 0xd0, 0xd8, 0xd8], "vcc exec = u32 u32"),
    (8, V_CMPX_F_I64, [0xb0, 0xb0, 0xf0, 0xf0], "vcc exec = i64 i64"),
    (8, V_CMPX_F_U64, [0xf0, 0xf0, 0xf8, 0xf8], "vcc exec = u64 u64"),
];

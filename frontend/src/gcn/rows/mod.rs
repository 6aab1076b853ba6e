//! The instruction table as written: one row an operation and encoding, with its opcode on 1.0, 1.1, 1.2 and 1.4 and
//! its operands. [`super::table`] compiles it; decoder, encoder, printer, assembler and the generated documentation
//! all walk the result.
//!
//! The text is `destinations = sources options`, in the order of LLVM's syntax:
//!
//! | word | operand |
//! |---|---|
//! | `b32 u32 i32 f32 b64 u64 i64 f64 b16 u16 i16 f16 pk16 pkf16` | register or constant of that type |
//! | `w1`...`w16` | so many dwords |
//! | `h1`...`h4` | so many 16-bit values: a dword each on 1.2, two a dword on 1.4 |
//! | `s:T`, `v:T` | scalar, vector register only |
//! | `dT` | a source in the field of the destination |
//! | `vcc` | lane mask: VCC in short forms, a scalar pair in the long one |
//! | `tied` | the destination, not in the text; `implicit`: VCC, not in the text |
//! | `kT` | the constant of madmk and madak; `imm32`: of setreg |
//! | `k`, `n`, `opt` | simm16 in hex, in decimal, only if not zero; `imm7`: the destination field as a number |
//! | `rel hwreg wait msg idx gpridx` | simm16 as branch target, hardware register, wait counts, message; index modes |
//! | `attr param` | interpolation |
//! | `mix` | f32, or a half of a register, as `op_sel_hi` says |
//! | `base2 base4` | scalar address pair, resource, with offset |
//! | `addr`, `addrN` | vector address: as the format has it, least number of dwords |
//! | `img` | as many dwords as `dmask` and d16 say; `samp`: a sampler |
//! | `rtnN` | destination of N dwords if the old value is returned |
//! | `gws` | data0 only; `gds`: must be GDS, `nogds`: must not; `two`: two 8-bit offsets; `swizzle`: offset is a pattern |
//!
//! Registers that are used without being named stand beside the operands, before `=` if they are written and after it if they are
//! read: `scc`, `exec`, `m0`, `vccz` (VCC as a mask), `stack` (the registers of the control stack). That EXEC guards what vector
//! instructions write is not said.
//!
//! Properties are single words, which [`super::row_words`] defines. These change forms and text: `clamp`, `noclamp`, `omod`, `noomod`
//! where the long form differs from the rule (clamp where a float is read or written, omod where one is written), `opsel`, `mods`,
//! `class`, `nodpp`, `nolong`, `nolds`, `nod16`. These say what the lifter's analyses have to know: `old`, `lanes`, `mask`, `m0src`,
//! `m0dst`, and of each row of memory operations one of `load`, `store`, `atomic`, `other`.
//!
//! `@a/b/c/d`: names that differ from the operation's. `[mad_mix]` and the like: only chips with these features have it
//! ([`super::Features`]); two rows may share an opcode then.

mod compare;
mod image;
mod lds;
mod memory;
mod scalar;
mod scalar_memory;
mod vector;

use super::Op;

pub(super) use compare::VOPC;
pub(super) use image::MIMG;
pub(super) use lds::DS;
pub(super) use memory::{FLAT, MTBUF, MUBUF};
pub(super) use scalar::{SOP1, SOP2, SOPC, SOPK, SOPP};
pub(super) use scalar_memory::SMEM;
pub(super) use vector::{VINTRP, VOP1, VOP2, VOP3, VOP3P};

/// The generation does not have it.
pub(super) const __: i16 = -1;

/// Operation, opcodes on 1.0, 1.1, 1.2, 1.4, text.
pub(super) type Line = (Op, [i16; 4], &'static str);

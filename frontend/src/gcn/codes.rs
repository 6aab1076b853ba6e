//! Operand codes: which register or constant a source field's number means (docs/hardware/gcn.md section 3).

use super::Generation;
use super::operand::{InlineFloat, Operand};

/// Highest scalar register that a group can reach, whatever names the last ones have.
const LAST_SGPR: u16 = 103;

/// A scalar register or constant by its code below 256, in a place for `words` dwords. Registers of groups are
/// rounded down as the hardware does. `None`: no such operand.
pub(super) fn scalar(code: u16, generation: Generation, words: u8) -> Option<Operand> {
    let part = (code & 1) as u8;
    let align = match words {
        0 | 1 => 1,
        2 => 2,
        _ => 4,
    };
    let group = |operand: Operand| if words > 2 || words == 2 && part != 0 { None } else { Some(operand) };
    let single = |operand: Operand| if words > 2 { None } else { Some(operand) };
    let (old, nine) = (generation.is_old(), generation == Generation::Gfx9);
    let sgprs = if old { 104 } else { 102 };
    match code {
        _ if code < sgprs => {
            let first = code / align * align;
            (first + u16::from(words.max(1)) - 1 <= LAST_SGPR).then_some(Operand::Sgpr(first as u8))
        }
        102 | 103 => group(Operand::FlatScratch(part)),
        104 | 105 if generation == Generation::Gfx7 => group(Operand::FlatScratch(part)),
        104 | 105 if !old => group(Operand::XnackMask(part)),
        106 | 107 => group(Operand::Vcc(part)),
        108..=123 if nine => ttmp(code - 108, align, words, 16),
        112..=123 => ttmp(code - 112, align, words, 12),
        108 | 109 => group(Operand::Tba(part)),
        110 | 111 => group(Operand::Tma(part)),
        124 if words <= 1 => Some(Operand::M0),
        126 | 127 => group(Operand::Exec(part)),
        128..=192 => single(Operand::Int((code - 128) as i8)),
        193..=208 => single(Operand::Int(-((code - 192) as i8))),
        235 if nine => single(Operand::SharedBase),
        236 if nine => single(Operand::SharedLimit),
        237 if nine => single(Operand::PrivateBase),
        238 if nine => single(Operand::PrivateLimit),
        239 if nine => single(Operand::PopsExitingWaveId),
        240..=247 => single(Operand::Float(InlineFloat::ALL[usize::from(code - 240)])),
        248 if !old => single(Operand::Float(InlineFloat::InvTwoPi)),
        251 => single(Operand::Vccz),
        252 => single(Operand::Execz),
        253 => single(Operand::Scc),
        254 if words <= 1 => Some(Operand::LdsDirect),
        _ => None,
    }
}

fn ttmp(number: u16, align: u16, words: u8, count: u16) -> Option<Operand> {
    let first = number / align * align;
    (first + u16::from(words.max(1)) <= count).then_some(Operand::Ttmp(first as u8))
}

/// A vector register in a place for `words` dwords.
pub(super) fn vector(number: u64, words: u8) -> Option<Operand> {
    (number + u64::from(words.max(1)) <= 256).then_some(Operand::Vgpr(number as u8))
}

/// The nine-bit code of an operand; vector registers from 256. `None`: the generation does not have it.
pub(super) fn code(operand: Operand, generation: Generation) -> Option<u16> {
    let (old, nine) = (generation.is_old(), generation == Generation::Gfx9);
    let only = |yes: bool, code: u16| yes.then_some(code);
    match operand {
        Operand::Sgpr(n) => only(u16::from(n) < if old { 104 } else { 102 }, n.into()),
        Operand::Vgpr(n) => Some(256 + u16::from(n)),
        Operand::FlatScratch(part) => match generation {
            Generation::Gfx6 => None,
            Generation::Gfx7 => Some(104 + u16::from(part)),
            _ => Some(102 + u16::from(part)),
        },
        Operand::XnackMask(part) => only(!old, 104 + u16::from(part)),
        Operand::Vcc(part) => Some(106 + u16::from(part)),
        Operand::Tba(part) => only(!nine, 108 + u16::from(part)),
        Operand::Tma(part) => only(!nine, 110 + u16::from(part)),
        Operand::Ttmp(n) if nine => only(n < 16, 108 + u16::from(n)),
        Operand::Ttmp(n) => only(n < 12, 112 + u16::from(n)),
        Operand::M0 => Some(124),
        Operand::Exec(part) => Some(126 + u16::from(part)),
        Operand::Int(n @ 0..=64) => Some(128 + n as u16),
        Operand::Int(n @ -16..=-1) => Some(192 + u16::from(n.unsigned_abs())),
        Operand::Int(_) => None,
        Operand::Float(InlineFloat::InvTwoPi) => only(!old, 248),
        Operand::Float(float) => Some(240 + float as u16),
        Operand::SharedBase => only(nine, 235),
        Operand::SharedLimit => only(nine, 236),
        Operand::PrivateBase => only(nine, 237),
        Operand::PrivateLimit => only(nine, 238),
        Operand::PopsExitingWaveId => only(nine, 239),
        Operand::Vccz => Some(251),
        Operand::Execz => Some(252),
        Operand::Scc => Some(253),
        Operand::LdsDirect => Some(254),
        Operand::Literal(_) => Some(255),
        Operand::Off => None,
    }
}

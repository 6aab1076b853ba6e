//! Words of the listing and their codes, and properties of operations, such as whether one has a destination.

use super::Op;
use super::operand::{AddOp, Select};

/// Codes of `$c` conditions by name.
#[rustfmt::skip]
pub(super) const CONDITIONS: [&str; 24] = [
    "never", "l", "e", "le", "g", "lg", "ge", "lge", "u", "lu", "eu", "leu", "gu", "lgu", "geu", "true", "no", "nc",
    "ns", "na", "a", "s", "c", "o",
];

/// Codes of comparisons by name.
pub(super) const COMPARISONS: [&str; 16] = [
    "false", "lt", "eq", "le", "gt", "ne", "ge", "num", "nan", "ltu", "equ", "leu", "gtu", "neu", "geu",
    "true",
];

/// The lanes of `xz`, `none`.
pub(super) fn component_mask(name: &str) -> Option<u8> {
    if name == "none" {
        return Some(0);
    }
    name.bytes().try_fold(0, |mask, lane| Some(mask | 1 << b"xyzw".iter().position(|known| *known == lane)?))
}

/// What `b1`, `h0`, `b1023` select in video instructions on that many lanes.
pub(super) fn select(name: &str, lanes: u8) -> Option<Select> {
    let digits = name.get(1..)?.bytes().map(|digit| digit.wrapping_sub(b'0'));
    if digits.clone().any(|digit| digit > 7) {
        return None;
    }
    let nth = |n: usize| digits.clone().cycle().nth(n);
    Some(match (lanes, name.as_bytes().first()?) {
        (4, b'b') => Select::Bytes([nth(0)?, nth(1)?, nth(2)?, nth(3)?]),
        (2, b'h') => Select::Halves([nth(0)?, nth(1)?]),
        (1, b'b') => Select::Byte(nth(0)?),
        (1, b'h') => Select::Half(nth(0)?),
        _ => return None,
    })
}

pub(super) fn add_op(name: &str) -> Option<AddOp> {
    Some(match name {
        "add" => AddOp::Add,
        "sub" => AddOp::Sub,
        "subr" => AddOp::Subr,
        "addpo" => AddOp::AddPo,
        _ => return None,
    })
}

impl Op {
    /// Instructions on one, two or four parts of a register.
    pub fn is_video(self) -> bool {
        matches!(
            self,
            Op::VAdd
                | Op::VAvg
                | Op::VMin
                | Op::VMax
                | Op::VAbsDiff
                | Op::VSet
                | Op::VSetP
                | Op::VShr
                | Op::VShl
                | Op::VMad
                | Op::VSel
        )
    }

    /// Instructions whose first register is no destination.
    pub(super) fn has_no_dst(self) -> bool {
        matches!(
            self,
            Op::FSetP
                | Op::DSetP
                | Op::ISetP
                | Op::CSetP
                | Op::PSetP
                | Op::VSetP
                | Op::St
                | Op::StUnlock
                | Op::StAttr
                | Op::Red
                | Op::SuRedP
                | Op::SuStGB
                | Op::SuStGP
                | Op::SuStB
                | Op::SuStP
                | Op::MovToFlags
                | Op::Nop
                | Op::PmEvent
                | Op::Membar
                | Op::TexBar
                | Op::Bra
                | Op::BraIndirect
        )
    }

    /// Instructions with a comparison.
    pub(super) fn compares(self) -> bool {
        matches!(
            self,
            Op::FSet
                | Op::FSetP
                | Op::DSet
                | Op::DSetP
                | Op::ISet
                | Op::ISetP
                | Op::FSlct
                | Op::ISlct
                | Op::VSet
                | Op::VSetP
        )
    }
}

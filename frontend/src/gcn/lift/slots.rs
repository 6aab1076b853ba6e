//! The register slots of a wave's state. Each is created at its first use.

use std::collections::BTreeMap;

use warpjit_ir::{Builtin, Function, Scalar, Slot, SlotInit, Type};

/// First dword of VCC, in [`Operand::scalar_code`](crate::gcn::Operand::scalar_code) order.
pub(super) const VCC: u8 = 106;
/// M0.
pub(super) const M0: u8 = 124;
/// First dword of EXEC.
pub(super) const EXEC: u8 = 126;
/// One more than the largest number of an SGPR.
pub(super) const SGPRS: u8 = 104;
/// One more than the largest number of a scalar register.
pub(super) const SCALARS: u8 = 136;

/// What a slot is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Key {
    Scalar(u8),
    /// The lane view of the pair that begins with this register.
    Mask(u8),
    /// The truth value beside the mask of the pair.
    Truth(u8),
    Vgpr(u8),
    Scc,
    Mode,
    Covered,
    Temp(usize, u8, bool),
    Builtin(Builtin),
}

/// Slots by what they are for.
#[derive(Debug, Default)]
pub(super) struct Slots {
    map: BTreeMap<Key, Slot>,
}

const UI32: Type = Type::uniform(Scalar::I32);

impl Slots {
    fn slot(
        &mut self,
        func: &mut Function,
        key: Key,
        make: impl FnOnce() -> (String, Type, SlotInit),
    ) -> Slot {
        *self.map.entry(key).or_insert_with(|| {
            let (name, ty, init) = make();
            func.add_slot(name, ty, init)
        })
    }

    /// A scalar register.
    pub(super) fn scalar(&mut self, func: &mut Function, code: u8) -> Slot {
        self.slot(func, Key::Scalar(code), || (scalar_name(code), UI32, SlotInit::Zero))
    }

    /// The lane view of a pair.
    pub(super) fn mask(&mut self, func: &mut Function, code: u8) -> Slot {
        let slot = self.slot(func, Key::Mask(code), || (mask_name(code), Type::MASK, SlotInit::Zero));
        if code == EXEC {
            func.lane_mask = Some(slot);
        }
        slot
    }

    /// The truth value that goes with the mask of a pair.
    pub(super) fn truth(&mut self, func: &mut Function, code: u8) -> Slot {
        let name = || format!("{}.any", mask_name(code));
        self.slot(func, Key::Truth(code), || (name(), Type::uniform(Scalar::I1), SlotInit::Zero))
    }

    /// A vector register.
    pub(super) fn vgpr(&mut self, func: &mut Function, number: u8) -> Slot {
        self.slot(func, Key::Vgpr(number), || (format!("v{number}"), Type::I32, SlotInit::Zero))
    }

    /// A register with a launch value.
    pub(super) fn preload_vgpr(&mut self, func: &mut Function, number: u8, init: SlotInit) {
        self.slot(func, Key::Vgpr(number), || (format!("v{number}"), Type::I32, init));
    }

    /// A scalar register with a launch value.
    pub(super) fn preload_scalar(&mut self, func: &mut Function, code: u8, init: SlotInit) {
        self.slot(func, Key::Scalar(code), || (scalar_name(code), UI32, init));
    }

    /// SCC.
    pub(super) fn scc(&mut self, func: &mut Function) -> Slot {
        self.slot(func, Key::Scc, || ("scc".into(), Type::uniform(Scalar::I1), SlotInit::Zero))
    }

    /// The lanes of a fragment that are no helpers.
    pub(super) fn covered(&mut self, func: &mut Function) -> Slot {
        self.slot(func, Key::Covered, || ("covered".into(), Type::MASK, SlotInit::Zero))
    }

    /// MODE.
    pub(super) fn mode(&mut self, func: &mut Function) -> Slot {
        self.slot(func, Key::Mode, || ("mode".into(), UI32, SlotInit::Zero))
    }

    /// A slot that carries a value of type `ty` from one block to the next one.
    pub(super) fn temp(&mut self, func: &mut Function, ty: Type, number: usize) -> Slot {
        let key = Key::Temp(number, ty.scalar as u8, ty.uniform);
        self.slot(func, key, || (format!("t{number}.{ty}"), ty, SlotInit::Zero))
    }

    /// A launch value, one a lane or the same for all.
    pub(super) fn builtin(&mut self, func: &mut Function, builtin: Builtin) -> Slot {
        let uniform = !matches!(builtin, Builtin::Tid(_) | Builtin::LaneId | Builtin::LinearTid);
        let ty = Type { scalar: Scalar::I32, uniform };
        let init = SlotInit::Builtin(builtin);
        let slot = self.slot(func, Key::Builtin(builtin), || (builtin.name().into_owned(), ty, init));
        if builtin == Builtin::LaneId {
            func.slots[slot.index()].umax = Some(63);
        }
        slot
    }
}

/// The name of a scalar register as in the vendor's syntax.
fn scalar_name(code: u8) -> String {
    let half = |name: &str, first: u8| format!("{name}_{}", if code == first { "lo" } else { "hi" });
    match code {
        106 | 107 => half("vcc", 106),
        108..=123 => format!("ttmp{}", code - 108),
        124 => "m0".into(),
        126 | 127 => half("exec", 126),
        128 | 129 => half("tba", 128),
        130 | 131 => half("tma", 130),
        132 | 133 => half("flat_scratch", 132),
        134 | 135 => half("xnack_mask", 134),
        _ => format!("s{code}"),
    }
}

fn mask_name(code: u8) -> String {
    match code {
        EXEC => "exec".into(),
        VCC => "vcc.m".into(),
        _ => format!("{}.m", scalar_name(code)),
    }
}

//! The processor's registers as slots, and their names in the guest's assembly.

use warpjit_ir::{Builtin, Function, Slot, SlotInit, Type};

use crate::image::{AliasParts, RegisterAlias};
use crate::vp1::Chip;

/// Components of a vector.
pub const LANES: u32 = 16;

/// The slots of the state (docs/hardware/vp1.md section 2).
#[derive(Clone, Debug)]
pub struct Slots {
    /// `$r0` to `$r30`.
    pub r: [Slot; 31],
    /// `$a0` to `$a31`.
    pub a: [Slot; 32],
    /// `$x0` to `$x15`.
    pub x: [Slot; 16],
    /// `$m0` to `$m63`.
    pub m: [Slot; 64],
    /// `$c0` to `$c3` without bit 15.
    pub c: [Slot; 4],
    /// `$l0` to `$l3`.
    pub l: [Slot; 4],
    /// `$uc0`: where calls return to.
    pub uc0: Slot,
    /// `$uc16`: bit 0 rounds ties down.
    pub uc16: Slot,
    /// `$v0` to `$v31`.
    pub v: [Slot; 32],
    /// `$vx`.
    pub vx: Slot,
    /// `$va`, 28 bits.
    pub va: Slot,
    /// Sign flags of `$vc0` to `$vc3`.
    pub vc_sign: [Slot; 4],
    /// Zero flags.
    pub vc_zero: [Slot; 4],
    /// Number of the component.
    pub(in crate::vp1::lift) lane: Slot,
    /// Where a pending `ret` goes, or a branch that shares its node: a word address.
    pub target: Slot,
    /// For programs that may be resumed: the address that the last jump through `target` went to.
    pub gone: Slot,
    /// Why the program ended: bits 0 to 16 of the `exit`, or what is not an exit.
    pub exit: Slot,
    /// Number of the block that ended it.
    pub exit_at: Slot,
    /// What was read outside of the processor for the bundle that is resumed.
    pub input: Slot,
    /// Whether anything was.
    pub has_input: Slot,
}

impl Slots {
    pub(in crate::vp1::lift) fn declare(func: &mut Function) -> Slots {
        let word = Type::uniform(warpjit_ir::Scalar::I32);
        let mut add = |name: String, ty: Type, umax: Option<u32>, init: SlotInit| {
            let slot = func.add_slot(name, ty, init);
            func.slots[slot.index()].umax = umax;
            slot
        };
        let zero = SlotInit::Zero;
        let mut file = |class: &str, n: usize, umax| add(format!("{class}{n}"), word, umax, zero);
        Slots {
            r: std::array::from_fn(|n| file("r", n, None)),
            a: std::array::from_fn(|n| file("a", n, None)),
            x: std::array::from_fn(|n| file("x", n, None)),
            m: std::array::from_fn(|n| file("m", n, None)),
            c: std::array::from_fn(|n| file("#c", n, Some(0x7fff))),
            l: std::array::from_fn(|n| file("l", n, Some(0xffff))),
            uc0: file("uc", 0, None),
            uc16: file("uc", 16, None),
            target: file("#target", 0, None),
            gone: file("#gone", 0, None),
            exit: file("#exit", 0, None),
            exit_at: file("#exit_at", 0, None),
            input: file("#input", 0, None),
            has_input: file("#has_input", 0, Some(1)),
            v: std::array::from_fn(|n| add(format!("v{n}"), Type::I32, Some(0xff), zero)),
            vx: add("vx".into(), Type::I32, Some(0xff), zero),
            va: add("va".into(), Type::I32, Some(0x0fff_ffff), zero),
            vc_sign: std::array::from_fn(|n| add(format!("#vc{n}.sign"), Type::MASK, None, zero)),
            vc_zero: std::array::from_fn(|n| add(format!("#vc{n}.zero"), Type::MASK, None, zero)),
            lane: add("#lane".into(), Type::I32, Some(LANES - 1), SlotInit::Builtin(Builtin::LaneId)),
        }
    }
}

/// The bits of `$c` that a program can change.
pub(in crate::vp1::lift) fn flag_bits(chip: Chip) -> u32 {
    // Bits 11, 12 and 14 are always 0, bit 15 is always 1; 6 and 7 are G80's.
    if chip == Chip::G80 { 0x27ff } else { 0x273f }
}

/// Registers whose slots are not called and made as guests know them.
pub fn aliases(slots: &Slots, chip: Chip) -> Vec<RegisterAlias> {
    let c = slots.c.iter().enumerate().map(|(n, &slot)| RegisterAlias {
        name: format!("c{n}"),
        bits: 16,
        writable: flag_bits(chip).into(),
        always: 0x8000,
        parts: AliasParts::Slot(slot),
    });
    let vc = slots.vc_sign.iter().zip(&slots.vc_zero).enumerate().map(|(n, (&sign, &zero))| RegisterAlias {
        name: format!("vc{n}"),
        bits: 32,
        writable: 0xffff_ffff,
        always: 0,
        parts: AliasParts::LaneBits(vec![sign, zero]),
    });
    c.chain(vc).collect()
}

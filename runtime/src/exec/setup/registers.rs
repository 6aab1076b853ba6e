//! Registers that a launch sets or captures, by their names.

use warpjit_frontend::image::{AliasParts, RegisterAlias};
use warpjit_ir::{Function, Scalar, Slot};

use crate::{Error, Launch, LaunchError};

/// Slots by the names of [`Launch::registers`].
pub(super) fn named_slots(
    function: &Function,
    aliases: &[RegisterAlias],
    lanes: u32,
    launch: &Launch,
) -> Result<Vec<(Slot, Vec<u64>)>, Error> {
    let mut slots = Vec::new();
    for (name, values) in &launch.registers {
        slots.extend(register_slots(function, aliases, lanes, name, values)?);
    }
    Ok(slots)
}

/// The slot values for a register's values. The name of a register with parts (`c0` for `c0.z`, `c0.s`, `c0.c`, `c0.o`)
/// sets the parts from its bits, the lowest bit first in that order.
pub fn register_slots(
    function: &Function,
    aliases: &[RegisterAlias],
    lanes: u32,
    name: &str,
    values: &[u64],
) -> Result<Vec<(Slot, Vec<u64>)>, Error> {
    let find = |name: &str| function.slots.iter().position(|slot| slot.name == name).map(Slot::new);
    let own = || name.to_owned();
    let check = |bits: u32| match values.iter().find(|&&value| bits < 64 && value >> bits != 0) {
        Some(&value) => Err(LaunchError::RegisterBits { name: own(), value, bits }),
        None => Ok(()),
    };
    let one = || match values {
        &[value] => Ok(value),
        values => Err(LaunchError::RegisterCount { name: own(), found: values.len(), lanes: 1 }),
    };
    if let Some(alias) = aliases.iter().find(|alias| alias.name == *name) {
        let value = one()?;
        check(alias.bits)?;
        return Ok(alias_slots(alias, value, lanes));
    }
    if values.len() != 1 && values.len() != lanes as usize {
        return Err(LaunchError::RegisterCount { name: own(), found: values.len(), lanes }.into());
    }
    // Slots whose name starts with `#` are internal; the guest has no such register.
    if let Some(slot) = find(name).filter(|_| !name.starts_with('#')) {
        let data = &function.slots[slot.index()];
        check(data.ty.scalar.bits())?;
        let limit = data.umax.map_or(u64::MAX, u64::from);
        if let Some(&value) = values.iter().find(|&&value| value > limit) {
            return Err(LaunchError::RegisterValue { name: own(), value, limit }.into());
        }
        if data.ty.uniform {
            one()?;
        }
        return Ok(vec![(slot, values.to_vec())]);
    }
    let parts: Vec<Slot> = FLAG_PARTS.iter().filter_map(|part| find(&format!("{name}.{part}"))).collect();
    if parts.len() != FLAG_PARTS.len() {
        return Err(LaunchError::NoRegister { name: own() }.into());
    }
    check(FLAG_PARTS.len() as u32)?;
    let of = |bit: usize| values.iter().map(|value| value >> bit & 1).collect();
    Ok(parts.into_iter().enumerate().map(|(bit, part)| (part, of(bit))).collect())
}

/// The slot values of an alias for a value of its register.
fn alias_slots(alias: &RegisterAlias, value: u64, lanes: u32) -> Vec<(Slot, Vec<u64>)> {
    let value = value & alias.writable;
    match &alias.parts {
        AliasParts::Slot(slot) => vec![(*slot, vec![value])],
        AliasParts::LaneBits(masks) => {
            let bit = |bit: u32| if bit < 64 { value >> bit & 1 } else { 0 };
            let of = |mask: usize| (0..lanes).map(|lane| bit(mask as u32 * lanes + lane)).collect();
            masks.iter().enumerate().map(|(mask, &slot)| (slot, of(mask))).collect()
        }
    }
}

/// The register value of an alias. `read` returns a slot's value in a lane.
pub fn alias_value(alias: &RegisterAlias, lanes: u32, read: impl Fn(Slot, u32) -> u64) -> u64 {
    let value = match &alias.parts {
        AliasParts::Slot(slot) => read(*slot, 0),
        AliasParts::LaneBits(masks) => {
            let bits = masks.iter().flat_map(|&mask| (0..lanes).map(move |lane| (mask, lane)));
            let bits = bits.take(64).enumerate();
            bits.fold(0, |all, (bit, (mask, lane))| all | (read(mask, lane) & 1) << bit)
        }
    };
    value & alias.writable | alias.always
}

/// Flags of a condition register, lowest bit first (docs/hardware/tesla.md section 6).
pub const FLAG_PARTS: [&str; 4] = ["z", "s", "c", "o"];

/// How a value of a scalar type is stored in the frame: a truth value is 0 or -1.
pub fn frame_bits(scalar: Scalar, value: u64) -> u64 {
    match scalar {
        Scalar::I1 => {
            if value & 1 != 0 {
                0xffff_ffff
            } else {
                0
            }
        }
        other => value & other.bit_mask(),
    }
}

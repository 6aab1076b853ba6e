//! What operations do beside computing values: memory accesses, atomics, pure functions, cross-lane operations, and their faults.

use super::code::{Access, Kind, Op};
use super::memory::{byte_mask, each_lane};
use super::{Denied, Fault, FaultKind, Frame, WarpMemory};
use warpjit_ir_core::device::DeviceFault;
use warpjit_ir_core::eval::pack;
use warpjit_ir_core::opcodes::{MemAccess, Space};

/// Most lanes of a warp.
pub(super) const MAX_LANES: usize = 64;

/// The lanes of an operation, and what it may access besides the scratch array.
pub(super) struct Env<'a> {
    pub(super) lanes: usize,
    /// Lanes whose values matter: the active ones, or all in mask form.
    pub(super) active: u64,
    /// The lanes that execute. An effect happens in these, restricted to its mask if it has one.
    pub(super) entered: u64,
    pub(super) mask_form: bool,
    pub(super) cross_lane: bool,
    /// Whether stores are executed; if not, only their rights are checked.
    pub(super) stores: bool,
    pub(super) frame: &'a mut Frame,
    pub(super) cross: &'a mut [u64],
    pub(super) memory: &'a mut dyn WarpMemory,
    pub(super) clock: u64,
}

#[inline(always)]
pub(super) fn line(values: &[u64], at: u32, lanes: usize) -> &[u64] {
    &values[at as usize..at as usize + lanes]
}

/// The lanes of an operation with an optional mask; without one, all that entered.
pub(super) fn guard(env: &Env, values: &[u64], guarded: bool, at: u32) -> u64 {
    if guarded { env.entered & pack(line(values, at, env.lanes)) } else { env.entered }
}

/// Final addresses of all lanes, and the lowest lane of the set whose address is misaligned.
pub(super) fn addresses(access: Access, from: &[u64], lanes: u64, out: &mut [u64; MAX_LANES]) -> Option<u32> {
    let MemAccess { space, offset, far, align, align_offset, .. } = access.mem;
    let wrap = match space {
        Space::Global(_) if access.wide_address => u64::MAX,
        Space::Global(_) => 0xffff_ffff,
        Space::Shared | Space::Local if far => 0xffff_ffff,
        Space::Shared | Space::Local | Space::Const(_) => 0xffff,
    };
    // An alignment of 0 counts as 1.
    let low = u64::from(align.max(1)) - 1;
    let mut any = 0;
    for (out, &from) in out.iter_mut().zip(from) {
        *out = from.wrapping_add(offset as u64) & wrap;
        any |= out.wrapping_sub(u64::from(align_offset));
    }
    if any & low == 0 {
        return None;
    }
    let odd = |&lane: &u32| {
        lanes >> lane & 1 != 0 && out[lane as usize].wrapping_sub(u64::from(align_offset)) & low != 0
    };
    (0..from.len() as u32).find(odd)
}

pub(super) fn memory_fault(
    op: &Op,
    access: Access,
    lane: u32,
    addresses: &[u64; MAX_LANES],
    store: bool,
) -> Fault {
    Fault {
        kind: FaultKind::Memory,
        pc: op.pc,
        lane,
        address: Some(addresses[lane as usize]),
        space: Some(access.mem.space),
        store,
    }
}

/// The fault of a device call by the instruction at `pc`.
pub fn fault_of_device(pc: u32, fault: DeviceFault) -> Fault {
    match fault {
        DeviceFault::Memory { lane, address, store } => Fault {
            kind: FaultKind::Memory,
            pc,
            lane,
            address: Some(address),
            space: Some(Space::Global(0)),
            store,
        },
        DeviceFault::Texture { lane, slot, reason, address } => {
            let kind = FaultKind::Texture(slot, reason);
            Fault { kind, pc, lane, address, space: None, store: false }
        }
    }
}

/// The same for an aligned address: reports the first byte that may not be accessed.
fn denied_fault(
    env: &Env,
    op: &Op,
    access: Access,
    lane: u32,
    addresses: &[u64; MAX_LANES],
    store: bool,
) -> Fault {
    let (MemAccess { space, bytes, .. }, address) = (access.mem, addresses[lane as usize]);
    let address = env.memory.first_denied(space, address, bytes, store).unwrap_or(address);
    Fault { address: Some(address), ..memory_fault(op, access, lane, addresses, store) }
}

/// The lanes of `lanes` below the misaligned one, if there is one.
fn lanes_below(lanes: u64, misaligned: Option<u32>) -> u64 {
    misaligned.map_or(lanes, |lane| lanes & ((1 << lane) - 1))
}

impl Access {
    /// The lanes of a set for which memory is accessed.
    pub(super) fn lanes_of(self, lanes: u64) -> u64 {
        if self.once { lanes & lanes.wrapping_neg() } else { lanes }
    }
}

pub(super) fn load(
    env: &mut Env,
    op: &Op,
    access: Access,
    lanes: u64,
    values: &[u64],
    out: &mut [u64],
) -> Result<(), Fault> {
    let lanes = access.lanes_of(lanes);
    let mut at = [0; MAX_LANES];
    let odd = addresses(access, line(values, op.args[0], env.lanes), lanes, &mut at);
    let MemAccess { space, bytes, signed, .. } = access.mem;
    out.fill(0);
    let loaded = env.memory.load_lanes(space, lanes_below(lanes, odd), &at[..env.lanes], bytes, out);
    if let Err(lane) = loaded {
        return Err(denied_fault(env, op, access, lane, &at, false));
    }
    if let Some(lane) = odd {
        return Err(memory_fault(op, access, lane, &at, false));
    }
    match bytes {
        1 if signed => out.iter_mut().for_each(|v| *v = u64::from(*v as i8 as u32)),
        2 if signed => out.iter_mut().for_each(|v| *v = u64::from(*v as i16 as u32)),
        _ => {}
    }
    Ok(())
}

pub(super) fn store(env: &mut Env, op: &Op, access: Access, lanes: u64, values: &[u64]) -> Result<(), Fault> {
    let lanes = access.lanes_of(lanes);
    let mut at = [0; MAX_LANES];
    let n = env.lanes;
    let odd = addresses(access, line(values, op.args[0], n), lanes, &mut at);
    let MemAccess { space, bytes, .. } = access.mem;
    let data = line(values, op.args[1], n);
    let lanes = lanes_below(lanes, odd);
    let denied = |lane: &u32| env.memory.first_denied(space, at[*lane as usize], bytes, true).is_some();
    let stored = match env.stores {
        true => env.memory.store_lanes(space, lanes, &at[..n], bytes, data),
        false => (0..n as u32).filter(|lane| lanes >> lane & 1 != 0).find(denied).map_or(Ok(()), Err),
    };
    match (stored, odd) {
        (Err(lane), _) => Err(denied_fault(env, op, access, lane, &at, true)),
        (Ok(()), Some(lane)) => Err(memory_fault(op, access, lane, &at, true)),
        (Ok(()), None) => Ok(()),
    }
}

/// Executes atomics and locks; returns their lanes.
pub(super) fn read_modify_write(
    env: &mut Env,
    op: &Op,
    access: Access,
    values: &[u64],
    out: Option<&mut [u64]>,
) -> Result<u64, Fault> {
    let mut at = [0; MAX_LANES];
    let n = env.lanes;
    let (guarded, guard_arg) = match op.kind {
        Kind::Atomic(_, atomic, guarded) if atomic.takes_two() => (guarded, 3),
        Kind::Lock(_, guarded) => (guarded, 1),
        Kind::Atomic(_, _, guarded) | Kind::UnlockStore(_, guarded) => (guarded, 2),
        _ => (false, 0),
    };
    let lanes = guard(env, values, guarded, op.args[guard_arg]);
    let odd = addresses(access, line(values, op.args[0], n), lanes, &mut at);
    let mask = byte_mask(access.mem.bytes);
    let (value, new) = (line(values, op.args[1], n), line(values, op.args[2], n));
    let mut none = [0; MAX_LANES];
    let out = out.unwrap_or(&mut none[..n]);
    out.fill(0);
    let result = each_lane(lanes_below(lanes, odd), |lane| {
        let i = lane as usize;
        match op.kind {
            Kind::Atomic(_, atomic, _) => {
                let MemAccess { space, bytes, .. } = access.mem;
                let (value, new) = (value[i] & mask, new[i] & mask);
                let old = env.memory.atomic(space, lane, at[i], bytes, atomic, value, new);
                out[i] = old.map_err(|Denied| lane)? & mask;
            }
            Kind::Lock(..) => {
                let took = match access.mem.space {
                    Space::Global(window) => env.memory.lock_global(window, lane, at[i]),
                    _ => Ok(env.memory.lock(lane, at[i])),
                };
                out[i] = u64::from(took.map_err(|Denied| lane)?);
            }
            _ => match access.mem.space {
                Space::Global(window) => env
                    .memory
                    .unlock_store_global(window, lane, at[i], value[i] as u32)
                    .map_err(|Denied| lane)?,
                _ => env.memory.unlock_store(lane, at[i], value[i] as u32),
            },
        }
        Ok(())
    });
    match result.and(odd.map_or(Ok(()), Err)) {
        Ok(()) => Ok(lanes),
        Err(lane) => Err(memory_fault(op, access, lane, &at, !matches!(op.kind, Kind::Lock(..)))),
    }
}

pub(super) fn call_pure(
    env: &Env,
    op: &Op,
    callee: &'static warpjit_ir_core::PureFn,
    count: u8,
    values: &[u64],
    out: &mut [u64],
) {
    let mask = callee.result.bit_mask();
    // Without cross-lane operations, the results of inactive lanes are never read.
    let lanes = if env.cross_lane || env.mask_form { u64::MAX } else { env.active };
    for (lane, out) in out.iter_mut().enumerate() {
        if lanes >> lane & 1 != 0 {
            let args = op.args.map(|at| values[at as usize + lane]);
            *out = (callee.eval)(&args[..usize::from(count)]) & mask;
        }
    }
}

/// Executes cross-lane operations, and operations that depend on no lane.
pub(super) fn across(env: &mut Env, op: &Op, values: &[u64], out: &mut [u64]) {
    let n = env.lanes;
    let operand = line(values, op.args[0], n);
    match op.kind {
        // In mask form only the given mask matters.
        Kind::Any | Kind::VoteAny => out.fill(u64::from(pack(operand) & env.active != 0)),
        Kind::VoteAll => out.fill(u64::from(!pack(operand) & env.active == 0)),
        Kind::Ballot => out.fill(pack(operand) & env.active),
        Kind::QuadLane(lane) => {
            for (quad, out) in out.chunks_mut(4).enumerate() {
                out.fill(operand[quad * 4 + usize::from(lane)]);
            }
        }
        Kind::Shuffle => {
            let index = line(values, op.args[1], n);
            out.iter_mut().zip(index).for_each(|(out, &i)| *out = operand[i as usize % n]);
        }
        Kind::ActiveMask => {
            out.iter_mut().enumerate().for_each(|(lane, out)| *out = env.entered >> lane & 1);
        }
        Kind::LaneBit => {
            out.iter_mut().enumerate().for_each(|(lane, out)| *out = operand[lane] >> lane & 1);
        }
        Kind::Clock => out.fill((env.clock + u64::from(op.step.saturating_sub(1))) & 0xffff_ffff),
        _ => unreachable!("executed by run_ops"),
    }
}

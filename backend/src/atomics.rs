//! Atomics that compiled code does not execute itself: functions in Rust, called through the context, that execute one for each
//! lane, in the order of lanes. The embedder provides the one for global memory.

use warpjit_ir::interp::atomic_result;
use warpjit_ir::{AtomicOp, DeviceFault, DeviceSite, InstData, MemAccess, Space};

use crate::context::{Context, decode_space, encode_space};
use crate::helpers::HostFloat;

/// What an atomic does in one lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneAtomic {
    /// Lane of the warp.
    pub lane: u32,
    /// Guest address.
    pub address: u64,
    /// 4 or 8.
    pub bytes: u8,
    /// The operation.
    pub op: AtomicOp,
    /// Its operand.
    pub value: u64,
    /// Its second operand.
    pub new: u64,
}

impl LaneAtomic {
    /// The value that it stores if memory holds `old`.
    #[inline(always)]
    fn after(&self, old: u64) -> u64 {
        atomic_result(self.op, self.bytes, old, self.value, self.new)
    }
}

/// An atomic encoded as two words, for [`Context::access`] and [`Context::atomic`].
///
/// The first word holds the space ([`encode_space`]), the bytes, whether addresses are far (not taken modulo 2^16),
/// whether addresses have 64 bits, and the lanes of the warp (a power of two). The second holds the operation and the
/// alignment: what the address is to be a multiple of, with its offset.
pub(crate) fn describe(mem: MemAccess, op: AtomicOp, wide_address: bool, lanes: u32) -> (u32, u32) {
    let number = AtomicOp::ALL.iter().position(|&o| o == op).unwrap_or(0) as u32;
    let access = encode_space(mem.space)
        | u32::from(mem.bytes) << 12
        | u32::from(mem.far) << 18
        | u32::from(wide_address) << 19
        | lanes.trailing_zeros() << 20;
    (access, number | u32::from(mem.align.max(1)) << 8 | u32::from(mem.align_offset) << 16)
}

/// Whether an atomic may fault.
pub(crate) fn may_fault(mem: MemAccess) -> bool {
    matches!(mem.space, Space::Global(_)) || mem.align > 1
}

/// Whether compiled code supports the atomic's space and size.
pub(crate) fn is_possible(data: &InstData, mem: MemAccess, wide_address: bool) -> bool {
    let global = matches!(mem.space, Space::Global(_));
    matches!(mem.bytes, 4 | 8)
        && !matches!(mem.space, Space::Const(_))
        && (global || !wide_address)
        && data.args.len() >= data.atomic_operands()
}

/// Set in [`Context::access`] of a device call; the rest is the number of the call in [`Context::devices`].
const DEVICE: u32 = 1 << 31;

/// What a device call counts as where a fault describes an access.
pub(crate) const DEVICE_ACCESS: MemAccess = MemAccess {
    space: Space::Global(0),
    bytes: 1,
    signed: false,
    offset: 0,
    far: false,
    align: 1,
    align_offset: 0,
};

/// A device call encoded for [`Context::access`]; `sites` are the calls of the region.
pub(crate) fn device_access(sites: &mut Vec<DeviceSite>, site: DeviceSite) -> u32 {
    let number = sites.iter().position(|&known| known == site).unwrap_or_else(|| {
        sites.push(site);
        sites.len() - 1
    });
    DEVICE | number as u32
}

impl Context {
    /// The device call that runs, and the lanes of the warp that call.
    ///
    /// # Safety
    ///
    /// Compiled code that is in a device call has called the caller with this context.
    pub unsafe fn device_call(&self) -> (DeviceSite, u64) {
        let number = (self.access & !DEVICE) as usize;
        // SAFETY: `devices` points to the region's list, and the code knows its length.
        let site = unsafe { *self.devices.add(number) };
        (site, self.guard_lanes << self.chunk_lane)
    }

    /// Ends a device call: with a fault, or with none.
    pub fn end_device_call(&mut self, fault: Option<DeviceFault>) {
        self.odd_lane = 0;
        self.device_fault = fault;
        if let Some(DeviceFault::Memory { lane, address, .. }) = fault {
            self.fault.address = address;
            self.odd_lane = lane.wrapping_sub(self.chunk_lane) + 1;
        }
        if let Some(DeviceFault::Texture { lane, .. }) = fault {
            self.odd_lane = lane.wrapping_sub(self.chunk_lane) + 1;
        }
    }

    /// Executes the atomic described in the context for each lane that takes part, the lowest first. `update` executes
    /// one lane's and returns the old value, or `None` for a fault; after a fault no further lane is executed.
    #[inline]
    pub fn each_atomic(&mut self, update: impl FnMut(&LaneAtomic) -> Option<u64>) {
        let (op, wide) = (self.atomic_op(), self.access >> 12 & 15 == 8);
        // A loop of its own for each of the common operations: `update` is compiled for that one.
        macro_rules! each {
            ($($common:ident)*) => {
                match (op, wide) {
                    $((AtomicOp::$common, false) => self.each_lane(AtomicOp::$common, false, update),)*
                    _ => self.each_lane(op, wide, update),
                }
            };
        }
        each!(Add Cas Exch And Or Xor Umax Umin Smax Smin Inc);
    }

    /// The operation described in the context.
    #[inline]
    fn atomic_op(&self) -> AtomicOp {
        AtomicOp::ALL[(self.atomic & 0xff) as usize % AtomicOp::ALL.len()]
    }

    #[inline(always)]
    fn each_lane(&mut self, op: AtomicOp, wide: bool, mut update: impl FnMut(&LaneAtomic) -> Option<u64>) {
        let (access, atomic) = (self.access, self.atomic);
        let (far, wide_address) = (access >> 18 & 1 != 0, access >> 19 & 1 != 0);
        let (mask, rebase) = match decode_space(access & 0xfff) {
            Space::Global(_) => (u64::MAX, self.rebase),
            _ if far => (0xffff_ffff, 0),
            _ => (0xffff, 0),
        };
        let (low, place) = (u64::from(atomic >> 8 & 0xff).wrapping_sub(1), u64::from(atomic >> 16));
        let bytes = if wide { 8 } else { 4 };
        self.odd_lane = 0;
        let mut left = self.guard_lanes;
        while left != 0 {
            let lane = left.trailing_zeros();
            left &= left - 1;
            let n = lane as usize;
            let address = self.lane_addresses.get(n, wide_address) & mask;
            let one = LaneAtomic {
                lane: self.chunk_lane + lane,
                address: address.wrapping_add(rebase),
                bytes,
                op,
                value: self.lane_values.get(n, wide),
                new: if op.takes_two() { self.lane_others.get(n, wide) } else { 0 },
            };
            let aligned = address.wrapping_sub(place) & low == 0;
            let Some(old) = aligned.then(|| update(&one)).flatten() else {
                self.odd_lane = lane + 1;
                self.fault.address = address;
                return;
            };
            self.lane_values.set(n, wide, old);
        }
    }
}

/// Whether an operation computes with floats.
fn is_of_floats(op: AtomicOp) -> bool {
    use AtomicOp::{Fadd, FaddFtz, Fcas, Fmax, Fmin};
    matches!(op, Fadd | FaddFtz | Fcas | Fmax | Fmin)
}

/// Executes the atomic described in a context. Reads the operands from `lane_values` and `lane_others`, and writes the
/// old values to `lane_values` and the first lane that faults to `odd_lane`.
pub(crate) unsafe extern "C" fn atomic_lanes(context: *mut Context) {
    // SAFETY: compiled code passes its context, which nothing else uses meanwhile.
    let (access, op) = unsafe { ((*context).access, (*context).atomic_op()) };
    if access & DEVICE != 0 {
        // SAFETY: as above. It runs in the code's float environment.
        return unsafe { ((*context).call_device)(context) };
    }
    let space = decode_space(access & 0xfff);
    // Integers of memory that is the block's alone need no float environment, and nobody else's code runs.
    let is_plain = !matches!(space, Space::Global(_)) && !is_of_floats(op);
    let environment = (!is_plain).then(HostFloat::enter);
    match space {
        // SAFETY: the embedder's function takes the context.
        Space::Global(_) => unsafe { ((*context).global_atomic)(context) },
        // SAFETY: as above.
        Space::Shared => unsafe { shared_atomic(&mut *context) },
        // SAFETY: as above.
        Space::Local => unsafe { local_atomic(&mut *context) },
        Space::Const(_) => {}
    }
    if let Some(environment) = environment {
        environment.leave();
    }
}

/// # Safety
///
/// The context's shared memory is there, and nobody else uses it.
unsafe fn shared_atomic(context: &mut Context) {
    let (base, size) = (context.shared_base, u64::from(context.shared_bytes));
    context.each_atomic(|x| {
        if x.address + u64::from(x.bytes) > size {
            // Beyond the end of shared memory: reads as zero.
            return Some(0);
        }
        // SAFETY: all of the access is inside the shared memory that the embedder has put into the context; a block runs on one thread.
        unsafe {
            let place = base.add(x.address as usize);
            Some(if x.bytes == 8 {
                let old = place.cast::<u64>().read_unaligned();
                place.cast::<u64>().write_unaligned(x.after(old));
                old
            } else {
                let old = place.cast::<u32>().read_unaligned();
                place.cast::<u32>().write_unaligned(x.after(old.into()) as u32);
                old.into()
            })
        }
    });
}

/// # Safety
///
/// The context's local memory is that of a warp of as many lanes as is said, and nobody else uses it.
unsafe fn local_atomic(context: &mut Context) {
    let (base, size) = (context.local_base, u64::from(context.local_bytes));
    let lanes = 1usize << (context.access >> 20 & 7);
    context.each_atomic(|x| {
        if x.address + u64::from(x.bytes) > size {
            return Some(0);
        }
        let (mut word, count) = ([0; 8], usize::from(x.bytes));
        let place = |byte: usize| {
            let at = x.address as usize + byte;
            at / 4 * 4 * lanes + x.lane as usize * 4 + at % 4
        };
        for (n, byte) in word.iter_mut().enumerate().take(count) {
            // SAFETY: all of the access is inside the local memory that the embedder has put into the context.
            *byte = unsafe { *base.add(place(n)) };
        }
        let old = u64::from_le_bytes(word);
        for (n, byte) in x.after(old).to_le_bytes().iter().enumerate().take(count) {
            // SAFETY: as above.
            unsafe { *base.add(place(n)) = *byte };
        }
        Some(old)
    });
}

/// The default of [`Context::global_atomic`]: every lane faults.
pub(crate) unsafe extern "C" fn no_global_atomic(context: *mut Context) {
    // SAFETY: called with the context of compiled code.
    unsafe { (*context).each_atomic(|_| None) }
}

//! Host instructions that access guest memory, and the guest fault that a signal at one of them is.

use warpjit_ir::Space;

use crate::context::{Context, FaultKind, FaultRecord};

/// How the trap handler finds the lane that a trap belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrapLane {
    /// This lane of the chunk.
    Lane(u8),
    /// One of the lanes of a contiguous vector access. [`Context::vector_base`] is the host address of the chunk's
    /// first lane.
    Vector {
        /// First lane of this vector in the chunk.
        first: u8,
    },
    /// The lowest lane that takes part: the lowest of [`Context::guard_lanes`] if `guarded`, else the lowest active
    /// one.
    First {
        /// Whether the access has a guard of its own.
        guarded: bool,
    },
    /// The lane that a serialised loop runs: the lowest of [`Context::single_lanes`].
    Single,
    /// One of the lanes of a masked vector access. [`Context::guard_lanes`] holds the guard.
    Run {
        /// First lane of this vector in the chunk.
        first: u8,
        /// How many.
        lanes: u8,
        /// Bytes from lane to lane; negative if the last lane has the lowest address.
        step: i8,
        /// Whether the access has a guard of its own.
        guarded: bool,
        /// The host address of the lane that is lowest in memory. It has no index register.
        place: HostPlace,
    },
    /// One load for several lanes at one address: this lane of the chunk if it takes part, else the first lane of its
    /// 16-lane vector that does. [`Context::guard_lanes`] holds the guard.
    One {
        /// The lane.
        lane: u8,
        /// Whether the access has a guard of its own.
        guarded: bool,
        /// The lane's host address.
        place: HostPlace,
    },
    /// One of the lanes of a gather or scatter. [`Context::lane_addresses`] holds the addresses,
    /// [`Context::guard_lanes`] the guard.
    Gather {
        /// First lane that this instruction accesses.
        first: u8,
        /// Whether the addresses have 64 bits.
        wide: bool,
        /// Whether the access has a guard of its own.
        guarded: bool,
    },
}

/// A host address as an x86-64 memory operand: numbers of general registers and a displacement.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HostPlace {
    /// Base register.
    pub base: u8,
    /// Index register and its scale.
    pub index: Option<(u8, u8)>,
    /// Displacement.
    pub disp: i32,
}

impl HostPlace {
    /// The address if the registers hold these values.
    fn address(&self, registers: &HostRegisters) -> u64 {
        let value = |register: u8| registers[usize::from(register % 16)];
        let index = self.index.map_or(0, |(register, scale)| value(register).wrapping_mul(scale.into()));
        value(self.base).wrapping_add(index).wrapping_add(self.disp as i64 as u64)
    }
}

/// The host's general registers at a trap, in x86-64's numbering; zeros on other hosts.
pub type HostRegisters = [u64; 16];

/// A host instruction that accesses guest memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrapSite {
    /// Guest address of the instruction.
    pub pc: u32,
    /// How to find the lane.
    pub lane: TrapLane,
    /// Space accessed.
    pub space: Space,
    /// Whether it stores.
    pub store: bool,
    /// Bytes accessed by a lane.
    pub bytes: u8,
}

impl TrapSite {
    /// The guest fault that a signal at this instruction stands for. `host_address` is the address that it could not
    /// access.
    pub fn fault(&self, context: &Context, host_address: u64, registers: &HostRegisters) -> FaultRecord {
        let base = context.global_base as u64;
        let chunk = context.chunk_lane;
        let bytes = u64::from(self.bytes);
        let mut address = host_address.wrapping_sub(base);
        let lane = match self.lane {
            TrapLane::Lane(lane) => u32::from(lane),
            TrapLane::Vector { first } => {
                let offset = host_address.wrapping_sub(context.vector_base);
                let lane = (offset / bytes).clamp(u64::from(first), u64::from(first) + 3);
                address = context.vector_base.wrapping_sub(base) + lane * bytes;
                lane as u32
            }
            TrapLane::First { guarded } => {
                let lanes = guard_of(context, guarded);
                if lanes == 0 { 0 } else { lanes.trailing_zeros() }
            }
            TrapLane::Single => context.single_lanes.trailing_zeros() % 64,
            TrapLane::One { lane, guarded, place } => {
                address = place.address(registers).wrapping_sub(base);
                let guard = guard_of(context, guarded);
                let own = guard >> (lane & 48) & 0xffff;
                match guard >> (lane & 63) & 1 {
                    0 if own != 0 => u32::from(lane & 48) + own.trailing_zeros(),
                    _ => lane.into(),
                }
            }
            TrapLane::Run { first, lanes, step, guarded, place } => {
                let step = i64::from(step);
                let mut start = place.address(registers);
                if step < 0 {
                    start = start.wrapping_sub((step * (i64::from(lanes) - 1)) as u64);
                }
                let step = step as u64;
                // Extend the run downwards to the chunk's first lane.
                let start = start.wrapping_sub(base).wrapping_sub(u64::from(first).wrapping_mul(step));
                let place = |lane: u32| start.wrapping_add(u64::from(lane).wrapping_mul(step));
                let range = u32::from(first)..u32::from(first) + u32::from(lanes);
                let lane = lane_on_page(range, guard_of(context, guarded), address, bytes, place);
                address = place(lane);
                lane
            }
            TrapLane::Gather { first, wide, guarded } => {
                let place = |lane: u32| context.lane_addresses.get(lane as usize, wide);
                let lane =
                    lane_on_page(u32::from(first)..64, guard_of(context, guarded), address, bytes, place);
                address = place(lane);
                lane
            }
        };
        FaultRecord {
            kind: FaultKind::Memory,
            pc: self.pc,
            lane: chunk + lane,
            access: FaultRecord::access(self.space, self.store, self.bytes),
            address: context.guest_address(base.wrapping_add(address)),
        }
    }
}

/// The lanes of the chunk that take part in an access.
fn guard_of(context: &Context, guarded: bool) -> u64 {
    if guarded { context.guard_lanes } else { context.active >> context.chunk_lane }
}

/// The lowest lane of a guard that touches the page at which a masked access trapped. The host reports the right page,
/// but not the lane.
fn lane_on_page(
    range: std::ops::Range<u32>,
    guard: u64,
    address: u64,
    bytes: u64,
    place: impl Fn(u32) -> u64,
) -> u32 {
    let page = address & !0xfff;
    let touches = |&lane: &u32| {
        let from = place(lane);
        let last = from.wrapping_add(bytes - 1);
        guard >> lane & 1 != 0 && (from & !0xfff == page || last & !0xfff == page)
    };
    let first = range.start;
    range.filter(|&lane| lane < 64).find(touches).unwrap_or(first)
}

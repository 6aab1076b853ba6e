//! Code properties of a kernel's descriptor: what is in user SGPRs, in this order (docs/hardware/gcn.md section 6.2).

/// The resource of private memory: 4 words.
pub const PRIVATE_BUFFER: u32 = 1 << 0;
/// The address of the dispatch packet.
pub const DISPATCH_POINTER: u32 = 1 << 1;
/// The address of the queue.
pub const QUEUE_POINTER: u32 = 1 << 2;
/// The address of the arguments.
pub const KERNARG_POINTER: u32 = 1 << 3;
/// The number of the dispatch.
pub const DISPATCH_ID: u32 = 1 << 4;
/// Where scratch is for flat accesses.
pub const FLAT_SCRATCH: u32 = 1 << 5;
/// Bytes of private memory of a lane.
pub const PRIVATE_BYTES: u32 = 1 << 6;
/// Version 2: workgroups along x, y, z.
pub const GRID: [u32; 3] = [1 << 7, 1 << 8, 1 << 9];
/// Version 3 and later: waves of 32 lanes, which no GCN chip has.
pub const WAVE32: u32 = 1 << 10;
/// Version 3 and later: functions take scratch that the compiler could not count.
pub const DYNAMIC_STACK: u32 = 1 << 11;

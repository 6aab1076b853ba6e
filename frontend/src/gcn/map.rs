//! The memory map of a program: where a launch places each part of its memory (docs/hardware/gcn.md section 6).

/// Guest address of the first byte of the code (of the loaded image, or of raw words).
pub const CODE_ADDRESS: u64 = 0xf_0000_0000;
/// Guest address of the kernel arguments.
pub const KERNARG_ADDRESS: u64 = 0xf_1000_0000;
/// Guest address of the dispatch packet.
pub const PACKET_ADDRESS: u64 = 0xf_1100_0000;
/// Guest address of the queue.
pub const QUEUE_ADDRESS: u64 = 0xf_1200_0000;
/// Guest address of the scratch memory of all waves. Offsets in FLAT_SCRATCH count from here on 1.1 and 1.2; on 1.4 it
/// holds addresses.
pub const SCRATCH_ADDRESS: u64 = 0xf_2000_0000;
/// Guest address of the global data share, and of the 64 barriers and semaphores behind it.
pub const GDS_ADDRESS: u64 = 0xf_1300_0000;
/// Bytes of the global data share.
pub const GDS_BYTES: u32 = 0x1_0000;
/// Bytes of the barriers and semaphores behind it.
pub const GDS_SYNC_BYTES: u32 = 64 * 8;
/// High dword of flat addresses of LDS. 1.4 keeps the upper half of it in SH_MEM_BASES.
pub const SHARED_APERTURE: u32 = 0x0001_0000;
/// High dword of flat addresses of scratch.
pub const PRIVATE_APERTURE: u32 = 0x0002_0000;
/// Most bytes of kernel arguments. The hardware knows no limit; compilers keep to 4 KiB.
pub const KERNARG_BYTES: u32 = 0x1_0000;

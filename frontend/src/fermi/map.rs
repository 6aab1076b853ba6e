//! The memory map of a program: where a launch places each part of its memory, and the sizes (docs/hardware/fermi.md sections 3 and 6).

/// General registers of a thread.
pub const REGISTERS: u32 = 63;
/// Shared memory of a block.
pub const SHARED_BYTES: u32 = 0xc000;
/// Local memory of a thread.
pub const LOCAL_BYTES: u32 = 0x8_0000;
/// Constant spaces, c0[] to c17[].
pub const BANKS: u32 = 18;
/// Bytes that parameters may take.
pub const PARAM_BYTES: u32 = 0x1000;
/// The bank that belongs to the compiler.
pub const COMPILER_BANK: u32 = 16;
/// Guest address of the variables of a module; their addresses stand in 32 bits.
pub const GLOBAL_ADDRESS: u64 = 0xe000_0000;
/// Bytes that variables may take.
pub const GLOBAL_BYTES: u32 = 0x1000_0000;
/// Generic address of `s[0]`.
pub const SHARED_WINDOW: u32 = 0xfe00_0000;
/// Generic address of `l[0]`.
pub const LOCAL_WINDOW: u32 = 0xff00_0000;
/// Bytes of each of the windows.
pub const WINDOW_BYTES: u32 = 0x0100_0000;
/// Guest address of what barriers count in (`lift/barrier.rs`).
pub const COUNTERS_ADDRESS: u64 = 0xdf00_0000;
/// Bytes of it: for each of 16 barriers three words, and one that fills up.
pub const COUNTERS_BYTES: u32 = 16 * 16;

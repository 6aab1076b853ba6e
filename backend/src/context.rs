//! [`Context`]: everything that compiled code shares with the runtime, apart from the warp's frame. It holds the bases of the
//! guest's memory, the functions that code may call, and the results of a run.

use std::ffi::c_void;
use std::mem::offset_of;
use std::sync::atomic::AtomicU64;

use warpjit_ir::{DeviceFault, DeviceSite, PureFn, Space, WordTable};

use crate::permits::{Permits, Window};
use crate::scalar_answers::ScalarAnswers;

/// Returned by region code instead of an exit number: [`Context::fault`] tells what happened.
pub const FAULT: u64 = u64::MAX;
/// Returned by region code instead of an exit number: [`Context::poll`] asked to stop.
pub const STOPPED: u64 = u64::MAX - 1;
/// Returned by grid-row code: warps of a block have diverged. A warp left its phase by another exit than the warps
/// before it, or with some threads ended. [`Context::phase`], `warp`, `common_exit` and `exit` say where.
pub const PARTED: u64 = u64::MAX - 2;
/// Returned by grid-row code: a block has run for long and may be waiting for other blocks. All its warps are at the
/// start of the phase [`Context::phase`].
pub const SUSPENDED: u64 = u64::MAX - 3;
/// Returned by grid-row code: a warp's slots do not have the lane patterns that its phase requires
/// ([`crate::Phase::checks`]). It has not run the phase; the warps before it have, as in [`PARTED`].
pub const UNFIT: u64 = u64::MAX - 4;

/// Start of the upper half of the sign-extended 48-bit address space, and of the upper window.
pub const UPPER: u64 = 0xffff_8000_0000_0000;

/// Const banks that code can name.
pub const CONST_BANKS: usize = 18;

/// Kind of a fault that code reports itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum FaultKind {
    /// No fault.
    None = 0,
    /// Misaligned, unmapped or write-protected.
    Memory = 1,
}

/// A fault that compiled code, or the signal handler for it, recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct FaultRecord {
    /// What happened.
    pub kind: FaultKind,
    /// Guest address of the instruction.
    pub pc: u32,
    /// Lane of the warp.
    pub lane: u32,
    /// How it accessed memory: [`FaultRecord::space`], [`FaultRecord::bytes`] and [`FaultRecord::is_store`] as one number.
    pub access: u32,
    /// Guest address accessed.
    pub address: u64,
}

impl FaultRecord {
    /// No fault.
    pub const NONE: FaultRecord =
        FaultRecord { kind: FaultKind::None, pc: 0, lane: 0, access: 0, address: 0 };

    /// An access as one number, so that code stores it at once: the space in the low 16 bits ([`encode_space`]), then the bytes in 8, then
    /// whether it stores.
    pub(crate) const fn access(space: Space, store: bool, bytes: u8) -> u32 {
        encode_space(space) | (bytes as u32) << 16 | (store as u32) << 24
    }

    /// The space accessed.
    pub fn space(&self) -> Space {
        decode_space(self.access & 0xffff)
    }

    /// Bytes accessed.
    pub fn bytes(&self) -> u8 {
        (self.access >> 16) as u8
    }

    /// Whether it was a store.
    pub fn is_store(&self) -> bool {
        self.access >> 24 != 0
    }
}

/// In [`Context::fault_lanes`]: lanes of `guard_lanes` below the one that the fault names may fault too. Their
/// addresses are in `lane_addresses`, with 32 bits.
pub(crate) const FAULT_AT_WORDS: u32 = 1;
/// The same, with 64-bit addresses.
pub(crate) const FAULT_AT_DOUBLE_WORDS: u32 = 2;
/// The page table forbids some byte of the access that begins at the address of the fault.
pub(crate) const FAULT_OF_PAGE: u32 = 3;
/// The address of the fault is relative to the host's memory, and the guest may know it under another one
/// ([`Context::guest_address`]). The same is true of the addresses of [`FAULT_AT_DOUBLE_WORDS`].
pub(crate) const FAULT_AT_PLACE: u32 = 4;

/// A space as a number: kind in bits 8 and up, index below.
pub const fn encode_space(space: Space) -> u32 {
    match space {
        Space::Global(n) => n as u32,
        Space::Shared => 0x100,
        Space::Local => 0x200,
        Space::Const(n) => 0x300 | n as u32,
    }
}

/// The inverse of [`encode_space`].
pub const fn decode_space(code: u32) -> Space {
    match code >> 8 {
        0 => Space::Global(code as u8),
        1 => Space::Shared,
        2 => Space::Local,
        _ => Space::Const(code as u8),
    }
}

/// Calls `pures[index]` for the lanes of `lanes` (a bit each, at most 16).
///
/// Operand `k` of the lanes is at byte `k * 128` of `buffer`, 4 or 8 bytes a lane; a truth value is a word, zero or not.
/// The results are written to byte `4 * 128` in the same way, truth values as words of 0 or -1.
pub type CallPureFn =
    unsafe extern "C" fn(pures: *const &'static PureFn, index: u32, lanes: u32, buffer: *mut u8);
/// Called when the fuel is spent. A result other than 0 stops the code; with 0 the callee has refilled
/// [`Context::fuel`].
pub type PollFn = unsafe extern "C" fn(context: *mut Context) -> u32;
/// Fused multiply-add of binary64 bit patterns; `ftz` as for the IR's `fma`.
pub type FmaF64Fn = extern "C" fn(a: u64, b: u64, c: u64, ftz: u32) -> u64;

/// A pointer to the words of a [`WordTable`].
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct TablePointer(*const u32);

impl From<&'static WordTable> for TablePointer {
    fn from(table: &'static WordTable) -> Self {
        TablePointer(table.words().as_ptr())
    }
}

// SAFETY: points to a static that nobody writes.
unsafe impl Send for TablePointer {}
// SAFETY: as above.
unsafe impl Sync for TablePointer {}

/// Everything region code reads and writes besides the warp's frame.
///
/// The embedder fills it in before it enters code. `shared_base` and `local_base` must stay readable and writable
/// for 8 bytes even where their size is 0; each const bank is 64 KiB and 8 bytes of slack.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct Context {
    /// Lanes that enter, a bit each.
    pub active: u64,
    /// Out: lanes whose thread has ended.
    pub exited: u64,
    /// Out: the condition of the exit, a bit a lane.
    pub cond: u64,
    /// Out: the fault, when the code returned [`FAULT`].
    pub fault: FaultRecord,
    /// Out: tells [`Context::lowest_fault`] how to find the lowest faulting lane (`FAULT_AT_WORDS` and so on), or 0.
    pub fault_lanes: u32,
    /// First lane of the chunk that runs.
    pub chunk_lane: u32,
    /// Host address of the first lane of the vector access that runs.
    pub vector_base: u64,
    /// Host address of guest global address 0.
    pub global_base: *mut u8,
    /// A 64-bit address of a load or store with any of these bits set faults. 0 where the code translates addresses
    /// ([`warpjit_ir::passes::translate`]): then all are good.
    pub global_high: u64,
    /// The bits that no address inside the window has set. Atomics and translations test them.
    pub window_high: u64,
    /// First address of the upper window (`UPPER`); 0 if there is none.
    pub upper_start: u64,
    /// Added to an address in the upper window, to reach its memory from `global_base`.
    pub upper_more: u64,
    /// Not 0 if less than 18 GiB on either side of global memory are unmapped. Then an access at a 32-bit index may
    /// reach memory that is not the guest's.
    pub near_guards: u64,
    /// Checked memory: one byte for each 4 KiB page of the first 4 GiB, and two more. Bit 0: readable, bit 1: writable.
    pub page_table: *const u8,
    /// Shared memory of the block.
    pub shared_base: *mut u8,
    /// Its size in bytes, at most 64 KiB.
    pub shared_bytes: u32,
    /// Bytes of local memory of a lane, at most 64 KiB.
    pub local_bytes: u32,
    /// Local memory of the warp, words interleaved between lanes: byte `a` of lane `l` lies at
    /// `(a / 4) * 4 * lanes + l * 4 + a % 4`.
    pub local_base: *mut u8,
    /// Const banks.
    pub const_banks: [*const u8; CONST_BANKS],
    /// The functions that the region calls: [`crate::RegionCode::pures`].
    pub pures: *const &'static PureFn,
    /// The device calls of the region: [`crate::RegionCode::devices`].
    pub devices: *const DeviceSite,
    /// Serves the device call that `access` names for `guard_lanes` ([`Context::device_call`], [`Context::end_device_call`]). The embedder
    /// provides it.
    pub call_device: unsafe extern "C" fn(context: *mut Context),
    /// Out: the fault of a device call, where the code returned [`FAULT`] because of one.
    pub device_fault: Option<DeviceFault>,
    /// Called for each of them; [`Context::new`] sets the backend's own.
    pub call_pure: CallPureFn,
    /// The tables that the region looks up: [`crate::RegionCode::tables`].
    pub tables: *const TablePointer,
    /// Fused multiply-add for hosts without it; [`Context::new`] sets the backend's own.
    pub fma_f64: FmaF64Fn,
    /// Called when `fuel` is negative.
    pub poll: PollFn,
    /// What code calls to call `poll`: it preserves every register. [`Context::new`] sets the backend's own.
    pub poll_preserving: unsafe extern "C" fn(context: *mut Context),
    /// What code calls to make the host flush denormals from then on: it preserves every register. Only on x86-64.
    pub flush_denormals: unsafe extern "C" fn(),
    /// What code calls to make the host keep denormals from then on, likewise.
    pub keep_denormals: unsafe extern "C" fn(),
    /// What `poll` returned.
    pub stop: u32,
    /// Not 0 if another call has taken over the warp's later chunks. Then this call returns after the current chunk
    /// ([`crate::Options::may_wait`]).
    pub split: u32,
    /// Back edges that may still be taken.
    pub fuel: i64,
    /// For the embedder's use.
    pub user: *mut c_void,
    /// Guest instructions executed, summed over lanes (option `count`).
    pub thread_insts: u64,
    /// Scratch words that inactive lanes load from and store to.
    pub scratch: [u64; 2],
    /// Index that inactive lanes use in `x[col[k]]` loops, so that their loads cannot fault: the first lane's index in
    /// the first iteration.
    pub index: u64,
    /// Lanes of the chunk (a bit each) that take part in the access that runs, see [`crate::TrapLane::First`].
    pub guard_lanes: u64,
    /// As `poll_preserving`, but also preserves the AVX-512 registers.
    pub poll_wide: unsafe extern "C" fn(context: *mut Context),
    /// Executes the access that `access` describes for `guard_lanes`, preserving every register.
    pub access_wide: unsafe extern "C" fn(context: *mut Context),
    /// Executes the atomic that `access` and `atomic` describe for `guard_lanes`; [`Context::new`] sets the backend's
    /// own.
    pub atomic_lanes: unsafe extern "C" fn(context: *mut Context),
    /// The same, preserving every register.
    pub atomic_wide: unsafe extern "C" fn(context: *mut Context),
    /// Executes an atomic on global memory ([`Context::each_atomic`]). The embedder provides it.
    pub global_atomic: unsafe extern "C" fn(context: *mut Context),
    /// Translates the addresses of an access to global memory ([`Context::each_translation`]). The embedder provides
    /// it.
    pub translate: unsafe extern "C" fn(context: *mut Context),
    /// Calls `translate`, preserving every register; [`Context::new`] sets the backend's own.
    pub translate_preserving: unsafe extern "C" fn(context: *mut Context),
    /// The same, but also preserves the AVX-512 registers.
    pub translate_wide: unsafe extern "C" fn(context: *mut Context),
    /// Out: one more than the number of the first lane of the chunk whose atomic faulted, 0 if none did. `fault` has
    /// the address.
    pub odd_lane: u32,
    /// The lanes of the chunk (a bit each) that a serialised loop still has to run, the current one lowest; see
    /// [`crate::TrapLane::Single`].
    pub single_lanes: u64,
    /// The operation of an atomic (`atomics::describe`).
    pub atomic: u32,
    /// The description of an access that is executed lane by lane (`wide_helpers::describe_access`,
    /// `atomics::describe`).
    pub access: u32,
    /// Guest addresses of the chunk's lanes, with 32 or 64 bits each.
    pub lane_addresses: LaneWords,
    /// The values that lanes store or have loaded.
    pub lane_values: LaneWords,
    /// Second operands of atomics.
    pub lane_others: LaneWords,
    /// Grid-row code ([`crate::BlockRow`]): the current block's index along the row.
    pub block_x: u32,
    /// One more than the index of the row's last block.
    pub block_end: u32,
    /// A block's linear index minus its index along the row.
    pub linear_more: u32,
    /// The current warp.
    pub warp: *const RowWarp,
    /// One past the last warp of the block.
    pub warps_end: *const RowWarp,
    /// Grid-row code: the number of the current phase.
    pub phase: u32,
    /// How the warps before `warp` left the phase: `4 * exit + c`, where `c` is 0 if the exit has no condition, 1 if it
    /// held, 2 if it did not. Not set for kernels of a single phase in which all threads end.
    pub common_exit: u32,
    /// Out, for [`PARTED`]: the exit of `warp`.
    pub exit: u64,
    /// Guest instructions that each warp of the block has executed in completed phases.
    pub insts: u64,
    /// Guest instructions that one warp of each completed block has executed, summed over these blocks.
    pub row_insts: u64,
    /// Code for a chain ([`crate::compile_chain`]): the link that it starts with.
    pub link: u32,
    /// There: guest instructions that it may still run before it returns at the end of a link.
    pub chain_left: i64,
    /// The initial contents of shared memory. Readable up to the next multiple of 64 bytes.
    pub shared_first: *const u8,
    /// Added to an address in the window, to have the guest's: 0 unless code subtracts where the window begins from each address.
    pub rebase: u64,
    /// How many of the highest bits of an address the device ignores: faults are named without them.
    pub ignored_bits: u32,
    /// Not 0 where a warp has begun a region since the runtime looked: earlier answers to scalar loads are nothing to it.
    pub new_run: u32,
    /// What the runtime has answered to the scalar loads of the region that runs.
    pub scalar_answers: ScalarAnswers,
    /// Where the number is that says in which state the memory is: whoever changes what is mapped gives it another one, that no memory has
    /// had before. Readable as long as code runs.
    pub generation: *const AtomicU64,
    /// What the runtime has answered last to a load at one address.
    pub last_page: LastPage,
    /// The windows of code with permits ([`warpjit_ir::passes::permit`]); null for other code. [`Context::begin_permits`] sets them.
    pub windows: *const Window,
    /// One more than the number of the window that is opened around the access that the runtime is asked for; 0: none is.
    pub permit_site: u32,
    /// What code with permits may access.
    pub permits: Permits,
}

/// A page that the runtime has found for a load outside the window: code that loads there again need not ask.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LastPage {
    /// The state of the memory ([`Context::generation`]) that this is of.
    pub generation: u64,
    /// The page's first address.
    pub start: u64,
    /// What is added to an address in it, to reach its memory from `global_base`.
    pub more: u64,
}

impl LastPage {
    /// No page: no memory is in this state.
    pub(crate) const NONE: LastPage = LastPage { generation: u64::MAX, start: 0, more: 0 };
}

/// A warp of grid-row code; every block of the row reuses it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RowWarp {
    /// Its frame.
    pub frame: *mut u8,
    /// Its lanes that have threads, a bit each.
    pub lanes: u64,
    /// The frame's contents at the start of a block. Never written.
    pub first: *const u8,
}

/// A 32-bit or 64-bit value for each lane of a chunk.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct LaneWords(pub [u64; 64]);

impl LaneWords {
    /// A lane's 64-bit (`wide`) or 32-bit value.
    #[inline]
    pub fn get(&self, lane: usize, wide: bool) -> u64 {
        match wide {
            true => self.0[lane % 64],
            false => self.0[lane / 2 % 64] >> (32 * (lane % 2)) & 0xffff_ffff,
        }
    }

    /// Replaces a lane's 64-bit (`wide`) or 32-bit value.
    #[inline]
    pub fn set(&mut self, lane: usize, wide: bool, value: u64) {
        let shift = 32 * (lane % 2);
        match wide {
            true => self.0[lane % 64] = value,
            false => {
                let both = &mut self.0[lane / 2 % 64];
                *both = *both & !(0xffff_ffff << shift) | (value & 0xffff_ffff) << shift;
            }
        }
    }
}

impl Context {
    /// Maps the upper window, which starts at `UPPER` and is as large as the window, to a host address.
    pub fn map_upper(&mut self, place: *mut u8) {
        self.upper_start = UPPER;
        self.upper_more = (place as u64).wrapping_sub(self.global_base as u64).wrapping_sub(UPPER);
    }

    /// There is no upper window, as in a new context.
    pub fn unmap_upper(&mut self) {
        (self.upper_start, self.upper_more) = (0, 0);
    }

    /// The guest address of a host address at which compiled code accesses global memory.
    pub(crate) fn guest_address(&self, host: u64) -> u64 {
        let from_base = host.wrapping_sub(self.global_base as u64);
        let address = from_base.wrapping_sub(self.upper_more);
        let in_upper = self.upper_start != 0 && (address ^ self.upper_start) & self.window_high == 0;
        if in_upper { address } else { from_base.wrapping_add(self.rebase) }
    }

    /// The guest address of a load or store of global memory, given its distance from `global_base`.
    fn guest_address_of(&self, place: u64) -> u64 {
        let address = self.guest_address((self.global_base as u64).wrapping_add(place));
        // Those of the address were replaced before the access's offset was added.
        let ignored = self.ignored_bits & 63;
        ((address << ignored) as i64 >> ignored) as u64
    }

    /// The fault of code that has returned [`crate::FAULT`]. To be called once, before other code runs in the context.
    ///
    /// The result names the lowest lane that faults. Code tests the alignment and the range of all lanes' addresses
    /// before it accesses memory and records the lowest lane that fails these tests; a lower lane may be unmapped.
    /// `denied` returns the first byte that may not be accessed by an access at an address, if there is one.
    pub fn lowest_fault(&mut self, denied: impl Fn(u64) -> Option<u64>) -> FaultRecord {
        let mut record = self.fault;
        let wide = match std::mem::take(&mut self.fault_lanes) {
            FAULT_AT_WORDS => false,
            FAULT_AT_DOUBLE_WORDS => true,
            FAULT_OF_PAGE => {
                record.address = denied(record.address).unwrap_or(record.address);
                return record;
            }
            FAULT_AT_PLACE => {
                record.address = self.guest_address_of(record.address);
                return record;
            }
            _ => {
                if let Space::Global(_) = record.space() {
                    record.address = record.address.wrapping_add(self.rebase);
                }
                return record;
            }
        };
        let below = 0..record.lane.saturating_sub(self.chunk_lane);
        let taking_part = below.filter(|&lane| self.guard_lanes >> lane & 1 != 0);
        let address_of = |lane: u32| match self.lane_addresses.get(lane as usize, wide) {
            place if wide => self.guest_address_of(place),
            address => address,
        };
        if wide {
            record.address = self.guest_address_of(record.address);
        }
        let mut bad = taking_part.filter_map(|lane| Some((lane, denied(address_of(lane))?)));
        if let Some((lane, address)) = bad.next() {
            (record.lane, record.address) = (self.chunk_lane + lane, address);
        }
        record
    }
}

macro_rules! offsets {
    ($($name:ident = $($field:ident).+;)*) => {
        /// Byte offsets of the fields, for the code generator.
        pub(crate) mod at {
            use super::*;
            $(pub const $name: i32 = offset_of!(Context, $($field).+) as i32;)*
        }
    };
}

offsets! {
    ACTIVE = active;
    EXITED = exited;
    COND = cond;
    FAULT_KIND = fault.kind;
    FAULT_PC = fault.pc;
    FAULT_LANE = fault.lane;
    FAULT_ACCESS = fault.access;
    FAULT_ADDRESS = fault.address;
    FAULT_LANES = fault_lanes;
    CHUNK_LANE = chunk_lane;
    VECTOR_BASE = vector_base;
    GLOBAL_BASE = global_base;
    GLOBAL_HIGH = global_high;
    WINDOW_HIGH = window_high;
    UPPER_START = upper_start;
    UPPER_MORE = upper_more;
    NEAR_GUARDS = near_guards;
    INDEX = index;
    PAGE_TABLE = page_table;
    SHARED_BASE = shared_base;
    SHARED_BYTES = shared_bytes;
    LOCAL_BYTES = local_bytes;
    LOCAL_BASE = local_base;
    CONST_BANKS = const_banks;
    PURES = pures;
    CALL_PURE = call_pure;
    TABLES = tables;
    FMA_F64 = fma_f64;
    POLL = poll;
    POLL_PRESERVING = poll_preserving;
    FLUSH_DENORMALS = flush_denormals;
    KEEP_DENORMALS = keep_denormals;
    STOP = stop;
    SPLIT = split;
    FUEL = fuel;
    THREAD_INSTS = thread_insts;
    SCRATCH = scratch;
    GUARD_LANES = guard_lanes;
    POLL_WIDE = poll_wide;
    ACCESS_WIDE = access_wide;
    ATOMIC_LANES = atomic_lanes;
    ATOMIC_WIDE = atomic_wide;
    TRANSLATE = translate;
    TRANSLATE_PRESERVING = translate_preserving;
    TRANSLATE_WIDE = translate_wide;
    ODD_LANE = odd_lane;
    SINGLE_LANES = single_lanes;
    ATOMIC = atomic;
    ACCESS = access;
    LANE_ADDRESSES = lane_addresses;
    LANE_VALUES = lane_values;
    LANE_OTHERS = lane_others;
    BLOCK_X = block_x;
    BLOCK_END = block_end;
    LINEAR_MORE = linear_more;
    WARP = warp;
    WARPS_END = warps_end;
    PHASE = phase;
    COMMON_EXIT = common_exit;
    EXIT = exit;
    INSTS = insts;
    ROW_INSTS = row_insts;
    LINK = link;
    CHAIN_LEFT = chain_left;
    SHARED_FIRST = shared_first;
    NEW_RUN = new_run;
    GENERATION = generation;
    LAST_PAGE_GENERATION = last_page.generation;
    LAST_PAGE_START = last_page.start;
    LAST_PAGE_MORE = last_page.more;
    WINDOWS = windows;
    PERMIT_SITE = permit_site;
}

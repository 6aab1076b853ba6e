//! What compiled code shares with the runtime: the context it runs on.

use std::ffi::c_void;
use std::mem::offset_of;

use warpjit_ir::{PureFn, Space, WordTable};

/// Returned by region code instead of an exit number: [`Context::fault`] tells what happened.
pub const FAULT: u64 = u64::MAX;
/// Returned by region code instead of an exit number: [`Context::poll`] asked to stop.
pub const STOPPED: u64 = u64::MAX - 1;
/// Returned by code for rows of blocks: a warp came out of a piece elsewhere than those before it, or with threads ended.
/// [`Context::piece`], `warp`, `way` and `exit` tell where.
pub const PARTED: u64 = u64::MAX - 2;
/// Returned by code for rows of blocks: a block has run for long, and others may have to go on first. All its warps stand
/// at [`Context::piece`].
pub const SUSPENDED: u64 = u64::MAX - 3;
/// Returned by code for rows of blocks: a warp has not what its piece asks for ([`crate::Piece::checks`]). It has not run it, and
/// those before it have, as in [`PARTED`].
pub const UNFIT: u64 = u64::MAX - 4;

/// Where the upper half of 48-bit addresses begins, and the upper window: addresses that have this sign.
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
    /// Space accessed, see [`encode_space`].
    pub space: u32,
    /// Guest address accessed.
    pub address: u64,
    /// 1 for a store.
    pub store: u32,
    /// Bytes accessed.
    pub bytes: u32,
}

impl FaultRecord {
    /// No fault.
    pub const NONE: FaultRecord =
        FaultRecord { kind: FaultKind::None, pc: 0, lane: 0, space: 0, address: 0, store: 0, bytes: 0 };

    /// The space accessed.
    pub fn space(&self) -> Space {
        decode_space(self.space)
    }
}

/// In [`Context::fault_lanes`]: lanes of `guard_lanes` below the one that the fault names may fault as well, at the words of `lane_addresses`.
pub(crate) const FAULT_AT_WORDS: u32 = 1;
/// The same at double words.
pub(crate) const FAULT_AT_DOUBLE_WORDS: u32 = 2;
/// The table of page rights does not have all of the access, which begins at the address that the fault names.
pub(crate) const FAULT_OF_PAGE: u32 = 3;
/// The fault names the place of the access, which the guest may know under another address ([`Context::guest_address`]). So do the double words of
/// [`FAULT_AT_DOUBLE_WORDS`].
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

/// The space that [`encode_space`] made `code` of.
pub const fn decode_space(code: u32) -> Space {
    match code >> 8 {
        0 => Space::Global(code as u8),
        1 => Space::Shared,
        2 => Space::Local,
        _ => Space::Const(code as u8),
    }
}

/// Calls `pures[index]` for the lanes of `lanes` (a bit each). Operand `k` of the lanes lies at byte `k * 128` of
/// `buffer`, 4 or 8 bytes a lane (truth values 0 or not); results go to the start of `buffer` in the same way, truth values as
/// words of 0 or -1.
pub type CallPureFn =
    unsafe extern "C" fn(pures: *const &'static PureFn, index: u32, lanes: u32, buffer: *mut u8);
/// Called when the fuel is spent; not 0 stops the code, else the callee has refilled [`Context::fuel`].
pub type PollFn = unsafe extern "C" fn(context: *mut Context) -> u32;
/// Fused multiply-add of binary64 bit patterns; `ftz` as for the IR's `fma`.
pub type FmaF64Fn = extern "C" fn(a: u64, b: u64, c: u64, ftz: u32) -> u64;

/// Where the words of a [`WordTable`] lie.
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
    /// Out: what [`Context::lowest_fault`] has to do, such as `FAULT_AT_WORDS`, or 0.
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
    /// The bits that no address of the window has set: the range that lies at `global_base`. Atomics and translations test them.
    pub window_high: u64,
    /// What all addresses of the upper window have in common (`UPPER`); 0 without one.
    pub upper_start: u64,
    /// What is added to addresses of the upper window to reach them from `global_base`.
    pub upper_more: u64,
    /// Not 0 where less than 18 GiB on each side of global memory are unmapped: an index of 32 bits may reach what is not the guest's.
    pub near_guards: u64,
    /// Checked memory: a byte for each 4 KiB page of the 4 GiB and 2 more; bit 0 readable, bit 1 writable.
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
    /// How it calls them; [`Context::new`] puts the backend's own.
    pub call_pure: CallPureFn,
    /// The tables that the region looks up: [`crate::RegionCode::tables`].
    pub tables: *const TablePointer,
    /// Fused multiply-add for hosts without it; [`Context::new`] puts the backend's own.
    pub fma_f64: FmaF64Fn,
    /// Called when `fuel` is negative.
    pub poll: PollFn,
    /// How code calls it; [`Context::new`] puts the backend's own.
    pub poll_preserving: unsafe extern "C" fn(context: *mut Context),
    /// What `poll` returned.
    pub stop: u32,
    /// Not 0 where another call runs the chunks behind the one that this call is in: it comes out behind that ([`crate::Options::may_wait`]).
    pub split: u32,
    /// Back edges that may still be taken.
    pub fuel: i64,
    /// The embedder's.
    pub user: *mut c_void,
    /// Guest instructions executed, summed over lanes (option `count`).
    pub thread_insts: u64,
    /// Where lanes that do not take part load from and store to.
    pub scratch: [u64; 2],
    /// An index that leads to an element: what lanes load as one that do not take part.
    pub index: u64,
    /// Lanes of the chunk (a bit each) that take part in the access that runs, see [`crate::TrapLane::First`].
    pub guard_lanes: u64,
    /// As `poll_preserving`, preserving the registers of AVX-512, too.
    pub poll_wide: unsafe extern "C" fn(context: *mut Context),
    /// Does the access that `access` describes for `guard_lanes`, preserving every register.
    pub access_wide: unsafe extern "C" fn(context: *mut Context),
    /// Does the atomic that `access` and `atomic` describe for `guard_lanes`; [`Context::new`] puts the backend's own.
    pub atomic_lanes: unsafe extern "C" fn(context: *mut Context),
    /// The same, preserving every register.
    pub atomic_wide: unsafe extern "C" fn(context: *mut Context),
    /// Does an atomic of global memory ([`Context::each_atomic`]). The embedder's, for its memory.
    pub global_atomic: unsafe extern "C" fn(context: *mut Context),
    /// Translates the addresses of an access of global memory ([`Context::each_translation`]). The embedder's, for its memory.
    pub translate: unsafe extern "C" fn(context: *mut Context),
    /// Calls `translate`, preserving every register; [`Context::new`] puts the backend's own.
    pub translate_preserving: unsafe extern "C" fn(context: *mut Context),
    /// The same, preserving the registers of AVX-512, too.
    pub translate_wide: unsafe extern "C" fn(context: *mut Context),
    /// Out: one more than the first lane of the chunk at which an atomic has faulted, the address being in `fault`; 0 if none has.
    pub odd_lane: u32,
    /// The lanes of the chunk (a bit each) that run by themselves, see [`crate::TrapLane::Single`].
    pub single_lanes: u64,
    /// What an atomic does (`atomics::describe`).
    pub atomic: u32,
    /// An access lane by lane as a word (`wide_helpers::describe_access`, `atomics::describe`).
    pub access: u32,
    /// Guest addresses of the chunk's lanes, as words or as double words.
    pub lane_addresses: LaneWords,
    /// What lanes store or have loaded, likewise.
    pub lane_values: LaneWords,
    /// Second operands of atomics, likewise.
    pub lane_others: LaneWords,
    /// Code for rows of blocks ([`crate::BlockRow`]): the block that runs, along the row.
    pub block_x: u32,
    /// Behind the last block of the row.
    pub block_end: u32,
    /// What the linear index of a block has more than its index along the row.
    pub linear_more: u32,
    /// The warp that runs.
    pub warp: *const RowWarp,
    /// Behind the last warp of a block.
    pub warps_end: *const RowWarp,
    /// Code for rows: the piece that runs.
    pub piece: u32,
    /// How the warps before `warp` came out of the piece, as four times the exit plus 0 for no condition, 1 where it held, 2 where it
    /// did not. Of kernels that are one piece at the end of which all threads end nothing is said.
    pub way: u32,
    /// Out, for [`PARTED`]: the exit of `warp`.
    pub exit: u64,
    /// Guest instructions that each warp of the block has executed in pieces behind it.
    pub insts: u64,
    /// Guest instructions that a warp of each block before has executed, summed over these.
    pub row_insts: u64,
    /// What blocks find in shared memory, readable up to the next multiple of 64 bytes of its size.
    pub shared_first: *const u8,
}

/// A warp of the blocks of a row.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RowWarp {
    /// Its frame.
    pub frame: *mut u8,
    /// Its lanes, a bit each.
    pub lanes: u64,
    /// A frame as it is when a block starts; nobody writes it.
    pub first: *const u8,
}

/// A word or a double word for each lane of a chunk.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct LaneWords(pub [u64; 64]);

impl LaneWords {
    /// A lane's double word (`wide`) or word.
    pub fn get(&self, lane: usize, wide: bool) -> u64 {
        match wide {
            true => self.0[lane % 64],
            false => self.0[lane / 2 % 64] >> (32 * (lane % 2)) & 0xffff_ffff,
        }
    }

    /// Replaces a lane's double word (`wide`) or word.
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

unsafe extern "C" fn stop(_: *mut Context) -> u32 {
    1
}

impl Context {
    /// A context without memory, lanes or fuel; its poll function stops.
    pub fn new() -> Context {
        Context {
            active: 0,
            exited: 0,
            cond: 0,
            fault: FaultRecord::NONE,
            fault_lanes: 0,
            chunk_lane: 0,
            vector_base: 0,
            global_base: std::ptr::null_mut(),
            global_high: !0xffff_ffff,
            window_high: !0xffff_ffff,
            upper_start: 0,
            upper_more: 0,
            near_guards: 1,
            page_table: std::ptr::null(),
            shared_base: std::ptr::null_mut(),
            shared_bytes: 0,
            local_bytes: 0,
            local_base: std::ptr::null_mut(),
            const_banks: [std::ptr::null(); CONST_BANKS],
            pures: std::ptr::null(),
            call_pure: crate::helpers::call_pure,
            tables: std::ptr::null(),
            fma_f64: crate::helpers::fma_f64,
            poll: stop,
            poll_preserving: crate::helpers::poll_preserving,
            stop: 0,
            split: 0,
            fuel: 0,
            user: std::ptr::null_mut(),
            thread_insts: 0,
            scratch: [0; 2],
            index: 0,
            guard_lanes: 0,
            poll_wide: crate::wide_helpers::poll_wide,
            access_wide: crate::wide_helpers::access_wide,
            atomic_lanes: crate::atomics::atomic_lanes,
            atomic_wide: crate::wide_helpers::atomic_wide,
            global_atomic: crate::atomics::no_global_atomic,
            translate: crate::translate::no_translation,
            translate_preserving: crate::helpers::translate_preserving,
            translate_wide: crate::wide_helpers::translate_wide,
            odd_lane: 0,
            single_lanes: 0,
            atomic: 0,
            access: 0,
            lane_addresses: LaneWords([0; 64]),
            lane_values: LaneWords([0; 64]),
            lane_others: LaneWords([0; 64]),
            block_x: 0,
            block_end: 0,
            linear_more: 0,
            warp: std::ptr::null(),
            warps_end: std::ptr::null(),
            piece: 0,
            way: 0,
            exit: 0,
            insts: 0,
            row_insts: 0,
            shared_first: std::ptr::null(),
        }
    }
}

impl Context {
    /// Makes addresses from `UPPER` on, as many as the window has, lie at a host address.
    pub fn map_upper(&mut self, place: *mut u8) {
        self.upper_start = UPPER;
        self.upper_more = (place as u64).wrapping_sub(self.global_base as u64).wrapping_sub(UPPER);
    }

    /// The guest address of a host address at which compiled code accesses global memory.
    pub(crate) fn guest_address(&self, host: u64) -> u64 {
        let from_base = host.wrapping_sub(self.global_base as u64);
        let address = from_base.wrapping_sub(self.upper_more);
        let in_upper = self.upper_start != 0 && (address ^ self.upper_start) & self.window_high == 0;
        if in_upper { address } else { from_base }
    }

    /// The guest address of a place at which compiled code accesses global memory, from the window's first byte on.
    fn guest_address_of(&self, place: u64) -> u64 {
        self.guest_address((self.global_base as u64).wrapping_add(place))
    }

    /// The fault of code that has returned [`crate::FAULT`]. To be called once, before other code runs in the context.
    ///
    /// It is of the lowest lane that the access faults for. Code tests the addresses of all lanes before it accesses memory: whether they
    /// are aligned and lie in the address space. It names the lowest lane that fails these tests; a lane below may lie where nothing
    /// is mapped. `denied` gives the first byte that may not be accessed of an access at an address, if there is one.
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
            _ => return record,
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

impl Default for Context {
    fn default() -> Self {
        Context::new()
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
    FAULT_SPACE = fault.space;
    FAULT_ADDRESS = fault.address;
    FAULT_STORE = fault.store;
    FAULT_BYTES = fault.bytes;
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
    PIECE = piece;
    WAY = way;
    EXIT = exit;
    INSTS = insts;
    ROW_INSTS = row_insts;
    SHARED_FIRST = shared_first;
}

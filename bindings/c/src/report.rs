//! Reports: what a launch did.

use std::ffi::{c_char, c_void};

use serde_json::{Value, json};
use warpjit_runtime::{Direction, Fault, FaultKind, Profile, Report};

use crate::callback::User;
use crate::pointers::{array_mut, put, put_handle, put_if, put_sized, text};
use crate::status::{Failure, WARPJIT_ERROR_NOT_FOUND, c_string, warpjit_status};
use crate::text::{Bytes, warpjit_bytes};
use crate::{entry, handle, object};

/// What a launch did.
pub struct warpjit_report {
    _private: [u8; 0],
}

pub(crate) struct Outcome(pub Report);

object!(Outcome, 12, "warpjit_report", warpjit_report);

/// A kind of fault: WARPJIT_FAULT_... .
pub type warpjit_fault_kind = u32;
/// There was no fault.
pub const WARPJIT_FAULT_NONE: warpjit_fault_kind = 0;
/// An address that is not mapped, not writable or not aligned.
pub const WARPJIT_FAULT_MEMORY: warpjit_fault_kind = 1;
/// An instruction that does not exist, or that this program may not execute.
pub const WARPJIT_FAULT_ILLEGAL: warpjit_fault_kind = 2;
/// The guest's trap instruction.
pub const WARPJIT_FAULT_TRAP: warpjit_fault_kind = 3;
/// All living warps of a block wait and no barrier can open.
pub const WARPJIT_FAULT_BARRIER: warpjit_fault_kind = 4;
/// The divergence stack overflowed, or had no matching entry.
pub const WARPJIT_FAULT_STACK: warpjit_fault_kind = 5;
/// The limit of warpjit_launch_set_max_steps was reached.
pub const WARPJIT_FAULT_TIMEOUT: warpjit_fault_kind = 6;
/// What a texture instruction needs is missing or undefined.
pub const WARPJIT_FAULT_TEXTURE: warpjit_fault_kind = 7;

/// Another one, which warpjit_report_fault_text describes.
pub const WARPJIT_FAULT_OTHER: warpjit_fault_kind = 8;

/// The fault that ended a launch: that of the lowest block that faulted. Memory keeps what was stored before.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct warpjit_fault {
    /// What happened; WARPJIT_FAULT_NONE: nothing, and the rest is 0.
    pub kind: warpjit_fault_kind,
    /// The block, by its coordinates in the grid. Of a batch: the warp along x.
    pub block: [u32; 3],
    /// Guest address of the instruction. Of code that was not loaded from guest memory it counts from the code's first byte.
    pub pc: u64,
    /// The guest address that was accessed, if `has_address`.
    pub address: u64,
    /// The warp in the block.
    pub warp: u32,
    /// The lowest lane of the warp that faulted.
    pub lane: u32,
    /// The slot of the texture, sampler or surface, if `has_slot`.
    pub slot: u32,
    /// Illegal: how many of `bytes` there are.
    pub bytes_count: u32,
    /// Illegal: the instruction's bytes, as far as they are in the code.
    pub bytes: [u8; 32],
    /// Memory: name of the address space.
    pub space: [c_char; 16],
    /// Texture: what is wrong.
    pub reason: [c_char; 96],
    /// Whether `address` is known.
    pub has_address: bool,
    /// Whether `slot` is known.
    pub has_slot: bool,
    /// Memory: whether it was a store. Atomics count as stores.
    pub store: bool,
}

/// A text with a zero byte at the end, cut where there is no more room.
fn fixed<const N: usize>(text: &str) -> [c_char; N] {
    let mut out = [0; N];
    let mut bytes = text.len().min(N - 1);
    while !text.is_char_boundary(bytes) {
        bytes -= 1;
    }
    for (to, from) in out.iter_mut().zip(&text.as_bytes()[..bytes]) {
        *to = *from as c_char;
    }
    out
}

fn fault_of(fault: Option<&Fault>) -> warpjit_fault {
    let mut out = warpjit_fault {
        kind: WARPJIT_FAULT_NONE,
        block: [0; 3],
        pc: 0,
        address: 0,
        warp: 0,
        lane: 0,
        slot: 0,
        bytes_count: 0,
        bytes: [0; 32],
        space: [0; 16],
        reason: [0; 96],
        has_address: false,
        has_slot: false,
        store: false,
    };
    let Some(fault) = fault else { return out };
    out.kind = match fault.kind {
        FaultKind::Memory => WARPJIT_FAULT_MEMORY,
        FaultKind::Illegal => WARPJIT_FAULT_ILLEGAL,
        FaultKind::Trap => WARPJIT_FAULT_TRAP,
        FaultKind::Barrier => WARPJIT_FAULT_BARRIER,
        FaultKind::Stack => WARPJIT_FAULT_STACK,
        FaultKind::Timeout => WARPJIT_FAULT_TIMEOUT,
        FaultKind::Texture => WARPJIT_FAULT_TEXTURE,
        _ => WARPJIT_FAULT_OTHER,
    };
    out.block = fault.block;
    out.pc = fault.pc;
    out.address = fault.address.unwrap_or(0);
    out.has_address = fault.address.is_some();
    (out.warp, out.lane) = (fault.warp, fault.lane);
    (out.slot, out.has_slot) = (fault.slot.unwrap_or(0), fault.slot.is_some());
    let count = fault.bytes.len().min(out.bytes.len());
    out.bytes[..count].copy_from_slice(&fault.bytes[..count]);
    out.bytes_count = count as u32;
    out.space = fixed(fault.space.as_deref().unwrap_or(""));
    out.reason = fixed(fault.reason.unwrap_or(""));
    out.store = fault.store;
    out
}

/// The fault that ended the launch. `size` is sizeof(warpjit_fault).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_report_fault(
    report: *const warpjit_report,
    fault: *mut warpjit_fault,
    size: usize,
) -> warpjit_status {
    entry!({
        let report = handle::get::<Outcome>(report)?;
        put_sized(fault, size, &fault_of(report.0.fault.as_ref()))?
    })
}

/// The fault in words, in one line; an empty text if there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_report_fault_text(
    report: *const warpjit_report,
    words: *mut *mut warpjit_bytes,
) -> warpjit_status {
    entry!({
        put(words, std::ptr::null_mut())?;
        let report = handle::get::<Outcome>(report)?;
        let text = report.0.fault.as_ref().map(ToString::to_string).unwrap_or_default();
        put_handle(words, Bytes::new(text))?
    })
}

/// Whether a cancel token has ended the launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_report_is_cancelled(
    report: *const warpjit_report,
    cancelled: *mut bool,
) -> warpjit_status {
    entry!({ put(cancelled, handle::get::<Outcome>(report)?.0.cancelled)? })
}

/// What a launch executed. Counts are exact in the interpreter; see warpjit_config_set_count.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct warpjit_statistics {
    /// Blocks that were run to their end.
    pub blocks: u64,
    /// Warps of these.
    pub warps: u64,
    /// Guest instructions executed by warps.
    pub warp_instructions: u64,
    /// Each instruction that a warp executed, times its lanes.
    pub thread_instructions: u64,
    /// What `thread_instructions` would be if every such instruction had all lanes of the warp.
    pub lane_slots: u64,
    /// Regions loaded from the cache.
    pub cached_regions: u64,
    /// Nanoseconds from start to end, compiling excluded.
    pub run_nanoseconds: u64,
    /// Nanoseconds in which at least one thread of the launch was compiling.
    pub compile_nanoseconds: u64,
    /// Nanoseconds that the engine's compiler thread spent on regions that became ready meanwhile.
    pub compile_behind_nanoseconds: u64,
    /// The interpreter's share of thread instructions, from 0 to 1.
    pub interpreted: f64,
    /// The share of compiled code.
    pub compiled: f64,
    /// Whether instructions were counted. Otherwise the three counts of instructions are estimates.
    pub counted: bool,
    /// Whether the interpreter ran code that should have been compiled, because a limit of the code generator was reached.
    pub not_compiled: bool,
}

/// The statistics. `size` is sizeof(warpjit_statistics).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_report_statistics(
    report: *const warpjit_report,
    statistics: *mut warpjit_statistics,
    size: usize,
) -> warpjit_status {
    entry!({
        let report = handle::get::<Outcome>(report)?;
        let stats = &report.0.stats;
        let nanoseconds = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let all = warpjit_statistics {
            blocks: stats.blocks,
            warps: stats.warps,
            warp_instructions: stats.warp_instructions,
            thread_instructions: stats.thread_instructions,
            lane_slots: stats.lane_slots,
            cached_regions: stats.cached_regions,
            run_nanoseconds: nanoseconds(stats.run),
            compile_nanoseconds: nanoseconds(stats.compile),
            compile_behind_nanoseconds: nanoseconds(stats.compile_behind),
            interpreted: stats.tiers.interpreted,
            compiled: stats.tiers.compiled,
            counted: stats.counted,
            not_compiled: stats.not_compiled.is_some(),
        };
        put_sized(statistics, size, &all)?
    })
}

/// Gets a name and two counts. The name is valid until the function returns.
pub type warpjit_each_count =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, name: *const c_char, first: u64, second: u64)>;

/// Calls a function for what warpjit_config_set_count has counted. `is_traffic` false: for each topic of instructions; `first`: how many
/// warps have executed. true: for each space of memory; `first`: bytes loaded, `second`: bytes stored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_report_counts(
    report: *const warpjit_report,
    is_traffic: bool,
    each: warpjit_each_count,
    user: *mut c_void,
) -> warpjit_status {
    entry!({
        let each = each.ok_or_else(|| Failure::argument("the function is NULL"))?;
        let (report, user) = (handle::get::<Outcome>(report)?, User::new(user, None));
        let stats = &report.0.stats;
        let counts: Vec<(&str, (u64, u64))> = match is_traffic {
            true => stats.traffic.iter().map(|(&name, &bytes)| (name, bytes)).collect(),
            false => stats.groups.iter().map(|(&name, &count)| (name, (count, 0))).collect(),
        };
        for (name, (first, second)) in counts {
            let name = c_string(name);
            user.call("the function for counts", |user| each(user, name.as_ptr(), first, second));
        }
    })
}

/// The values of a register at the end, one a lane (warpjit_launch_set_capture). `count`: in, room in `values`; out, how many there are,
/// of which no more are written than there is room for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_report_register(
    report: *const warpjit_report,
    name: *const c_char,
    values: *mut u64,
    count: *mut usize,
) -> warpjit_status {
    entry!({
        let report = handle::get::<Outcome>(report)?;
        let name = text(name, "the register's name")?;
        let found = report.0.registers.get(name).ok_or_else(|| {
            Failure::new(WARPJIT_ERROR_NOT_FOUND, format!("no register {name} was captured"))
        })?;
        copy_out(found, values, count)?
    })
}

/// Shared memory of the only block at the end (warpjit_launch_set_capture). `bytes`: in, room in `out`; out, how many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_report_shared(
    report: *const warpjit_report,
    out: *mut u8,
    bytes: *mut usize,
) -> warpjit_status {
    entry!({ copy_out(&handle::get::<Outcome>(report)?.0.shared, out, bytes)? })
}

/// Copies as much as there is room for, and says how much there is.
///
/// # Safety
/// `count` is null or can be read and written; `out` has room for so many items.
pub(crate) unsafe fn copy_out<T: Copy>(items: &[T], out: *mut T, count: *mut usize) -> Result<(), Failure> {
    if count.is_null() {
        return Err(Failure::argument("the pointer for the count is NULL"));
    }
    // SAFETY: not null, and the caller's promise.
    unsafe {
        let room = array_mut(out, *count, "the buffer")?;
        let copied = room.len().min(items.len());
        room[..copied].copy_from_slice(&items[..copied]);
        put_if(count, items.len());
    }
    Ok(())
}

/// The profile, as JSON: samples of what threads were doing, and what the interpreter counted of blocks, instructions and accesses.
/// WARPJIT_ERROR_NOT_FOUND if warpjit_config_set_observe did not ask for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_report_profile(
    report: *const warpjit_report,
    profile_json: *mut *mut warpjit_bytes,
) -> warpjit_status {
    entry!({
        put(profile_json, std::ptr::null_mut())?;
        let report = handle::get::<Outcome>(report)?;
        let Some(profile) = &report.0.profile else {
            return Err(Failure::new(WARPJIT_ERROR_NOT_FOUND, "no profile was recorded"));
        };
        put_handle(profile_json, Bytes::new(json_of(profile).to_string()))?
    })
}

fn json_of(profile: &Profile) -> Value {
    let samples = &profile.samples;
    let by_pc = |map: &mut dyn Iterator<Item = (u64, Value)>| -> Value {
        map.map(|(pc, count)| json!({ "pc": pc, "count": count })).collect()
    };
    let blocks = profile.blocks.iter().map(|block| {
        json!({
            "pc": block.pc, "last_pc": block.term_pc, "instructions": block.instructions,
            "executions": block.executions, "lanes": block.lanes, "taken": block.taken, "parted": block.parted,
        })
    });
    let instructions = profile.instructions.iter().map(|(pc, instruction)| {
        json!({ "pc": pc, "executions": instruction.executions, "lanes": instruction.lanes })
    });
    let accesses = profile.accesses.iter().map(|access| {
        let counts = &access.counts;
        json!({
            "pc": access.pc, "space": access.space, "bytes": access.bytes,
            "direction": match access.direction {
                Direction::Load => "load",
                Direction::Store => "store",
                Direction::Atomic => "atomic",
            },
            "contiguous": counts.contiguous, "same": counts.same, "strided": counts.strided,
            "scattered": counts.scattered, "idle": counts.idle, "guarded": counts.guarded,
            "lanes": counts.lanes, "lines": counts.lines, "ideal_lines": counts.ideal_lines,
        })
    });
    json!({
        "lanes": profile.lanes,
        "samples": {
            "compiled": by_pc(&mut samples.compiled.iter().map(|(&pc, &n)| (pc, n.into()))),
            "helpers": by_pc(&mut samples.helpers.iter().map(|(&pc, &n)| (pc, n.into()))),
            "interpreted": by_pc(&mut samples.interpreted.iter().map(|(&pc, &n)| (pc, n.into()))),
            "between": samples.between, "compiling": samples.compiling, "runtime": samples.runtime,
            "lost": samples.lost, "busy_seconds": samples.busy.as_secs_f64(), "failed": samples.failed,
        },
        "blocks": blocks.collect::<Value>(),
        "instructions": instructions.collect::<Value>(),
        "accesses": accesses.collect::<Value>(),
    })
}

/// All code compiled so far for the program with the engine's settings, as text: for each function its name, what it was compiled from,
/// and host instructions. WARPJIT_ERROR_NOT_FOUND if warpjit_config_set_observe did not ask for listings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_report_listings(
    report: *const warpjit_report,
    listing: *mut *mut warpjit_bytes,
) -> warpjit_status {
    entry!({
        put(listing, std::ptr::null_mut())?;
        let report = handle::get::<Outcome>(report)?;
        let Some(listings) = &report.0.listings else {
            return Err(Failure::new(WARPJIT_ERROR_NOT_FOUND, "no listings were kept"));
        };
        let mut lines = String::new();
        for function in &listings.functions {
            lines += &format!("{}: {} bytes\n", function.name, function.bytes);
            for part in &function.parts {
                lines += &format!("{}\n{}", part.outline, part.mask);
            }
            lines += &format!("{}\n", function.host);
        }
        put_handle(listing, Bytes::new(lines))?
    })
}

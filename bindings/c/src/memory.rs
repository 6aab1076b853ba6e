//! Guest memory.

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::BorrowedFd;

use warpjit_runtime::{Access, FileSharing, Memory, MemoryOptions};

use crate::callback::User;
use crate::handle::Draft;
use crate::pointers::{array, array_mut, chip, put, put_handle, put_if};
use crate::status::{Failure, WARPJIT_ERROR_INTERNAL, warpjit_status};
use crate::{entry, handle, object};

/// A guest address space. All calls may be made by any thread, also while launches run in it: a launch sees a change at its next access.
pub struct warpjit_memory {
    _private: [u8; 0],
}

pub(crate) struct Space(pub Memory);

object!(Space, 5, "warpjit_memory", warpjit_memory);

/// The form of an address space.
pub struct warpjit_memory_options {
    _private: [u8; 0],
}

object!(Draft<MemoryOptions>, 6, "warpjit_memory_options", warpjit_memory_options);

/// As an address of a mapping: the library chooses one.
pub const WARPJIT_ANYWHERE: u64 = 0xffff_ffff_ffff_ffff;

/// Bytes on both sides of the range of warpjit_memory_over that must be the caller's, too.
pub const WARPJIT_GUARD_BYTES: u64 = 0x8040_0000;

const _: () = assert!(WARPJIT_GUARD_BYTES == warpjit_runtime::GUARD_BYTES);

/// What guests may do with memory: WARPJIT_ACCESS_... .
pub type warpjit_access = u32;
/// Loads and stores.
pub const WARPJIT_ACCESS_READ_WRITE: warpjit_access = 0;
/// Loads only: a store is a memory fault.
pub const WARPJIT_ACCESS_READ_ONLY: warpjit_access = 1;
/// Nothing: any access is a fault, as if nothing were mapped. The contents stay.
pub const WARPJIT_ACCESS_NONE: warpjit_access = 2;

fn access_of(access: warpjit_access) -> Result<Access, Failure> {
    match access {
        WARPJIT_ACCESS_READ_WRITE => Ok(Access::ReadWrite),
        WARPJIT_ACCESS_READ_ONLY => Ok(Access::ReadOnly),
        WARPJIT_ACCESS_NONE => Ok(Access::None),
        other => Err(Failure::argument(format!("{other} is no access"))),
    }
}

pub(crate) fn wanted_address(address: u64) -> Option<u64> {
    Some(address).filter(|&address| address != WARPJIT_ANYWHERE)
}

fn edit(
    options: *const warpjit_memory_options,
    work: impl FnOnce(MemoryOptions) -> MemoryOptions,
) -> Result<(), Failure> {
    handle::get::<Draft<MemoryOptions>>(options)?.edit(|options| *options = work(options.clone()));
    Ok(())
}

/// Makes options: the usual form, 48-bit sign-extended addresses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_options_new(
    options: *mut *mut warpjit_memory_options,
) -> warpjit_status {
    entry!({ put_handle(options, Draft::new(MemoryOptions::new()))? })
}

/// The form that a chip's addresses have: 32 bits on Tesla, 40 on Fermi, 48 sign-extended on GCN. It replaces all that was set before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_options_set_chip(
    options: *mut warpjit_memory_options,
    name: *const c_char,
) -> warpjit_status {
    entry!({
        let chip = chip(name)?;
        edit(options, |_| MemoryOptions::of_chip(chip))?
    })
}

/// Addresses have so many bits, from 32 to 48. With 48, the highest one is repeated in the bits above; with fewer, there are none above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_options_set_address_bits(
    options: *mut warpjit_memory_options,
    bits: u32,
) -> warpjit_status {
    entry!({ edit(options, |options| options.address_bits(bits))? })
}

/// Only addresses below `bytes` can be mapped, a multiple of 64 KiB up to 4 GiB. The space takes that many of the host's addresses and one
/// megabyte more, and hardly any memory. Code for it looks each page up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_options_set_size(
    options: *mut warpjit_memory_options,
    bytes: u64,
) -> warpjit_status {
    entry!({ edit(options, |options| options.size(bytes))? })
}

/// The device ignores so many of the highest bits of a 64-bit address, up to 32: the address is sign-extended from the bit below them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_options_set_ignored_high_bits(
    options: *mut warpjit_memory_options,
    bits: u32,
) -> warpjit_status {
    entry!({ edit(options, |options| options.ignore_high_bits(bits))? })
}

/// Guest addresses are host addresses, as with unified addressing: memory that is mapped without an address, and host memory
/// (warpjit_memory_map_host), is reached by its own pointer. Anything else is a fault. For guests with 64-bit addresses. This cannot be
/// taken back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_options_set_identity(
    options: *mut warpjit_memory_options,
) -> warpjit_status {
    entry!({ edit(options, MemoryOptions::identity)? })
}

/// Launches look each page up from the start, so that also those that are running see a device, a pager or a watch that comes later. This
/// cannot be taken back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_options_set_careful(
    options: *mut warpjit_memory_options,
) -> warpjit_status {
    entry!({ edit(options, MemoryOptions::careful)? })
}

/// Makes an empty address space. `options` NULL: the usual form, which takes about a terabyte of the host's addresses, and hardly any
/// memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_new(
    options: *const warpjit_memory_options,
    memory: *mut *mut warpjit_memory,
) -> warpjit_status {
    entry!({
        put(memory, std::ptr::null_mut())?;
        let options = handle::get_or_none::<Draft<MemoryOptions>>(options)?;
        let space = match options {
            None => Memory::new()?,
            Some(options) => Memory::with(&options.now())?,
        };
        put_handle(memory, Space(space))?
    })
}

/// Makes a space over a range of host addresses that the caller has reserved, and maps and unmaps by itself. Guest address 0 is `base`; a
/// guest may access what is accessible there, and anything else is a fault. Calls that map, unmap and protect are errors. `bytes` is a
/// power of two, at least 4 GiB; `base` is at a page. It is an error (kind RangePlace) if no process can have these addresses.
///
/// Until the memory is freed, and launches that ran in it have ended, the addresses from `base - WARPJIT_GUARD_BYTES` to `base + bytes +
/// WARPJIT_GUARD_BYTES` hold nothing but what guests may access, and pages without access.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_over(
    base: *mut c_void,
    bytes: u64,
    memory: *mut *mut warpjit_memory,
) -> warpjit_status {
    entry!({
        put(memory, std::ptr::null_mut())?;
        put_handle(memory, Space(Memory::over(base.cast(), bytes)?))?
    })
}

/// Maps `bytes` zeroed bytes at `address`, or with WARPJIT_ANYWHERE at a page that the library chooses. `mapped` gets the address; it may
/// be NULL. A chosen address is never in the first 64 KiB, and a page without rights follows the memory.
///
/// An explicit address need not be at a page. Then whole pages become accessible. Mappings may share a page if they have the same access;
/// they may not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_map(
    memory: *const warpjit_memory,
    address: u64,
    bytes: u64,
    access: warpjit_access,
    mapped: *mut u64,
) -> warpjit_status {
    entry!({
        let memory = handle::get::<Space>(memory)?;
        put_if(mapped, memory.0.map(wanted_address(address), bytes, access_of(access)?)?)
    })
}

/// As warpjit_memory_map, but memory that warpjit_memory_map_alias can show at other addresses without any cost. Address and size are
/// multiples of the host's page size. A child of `fork` shares it with its parent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_map_shared(
    memory: *const warpjit_memory,
    address: u64,
    bytes: u64,
    access: warpjit_access,
    mapped: *mut u64,
) -> warpjit_status {
    entry!({
        let memory = handle::get::<Space>(memory)?;
        put_if(mapped, memory.0.map_shared(wanted_address(address), bytes, access_of(access)?)?)
    })
}

/// Maps `bytes` bytes of a file from byte `offset` on, which are copied nowhere. All are multiples of the host's page size. The descriptor
/// may be closed afterwards. `is_private`: stores of guests are seen in this mapping only, not in the file. Reading beyond the end of the
/// file is a fault.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_map_file(
    memory: *const warpjit_memory,
    address: u64,
    file: c_int,
    offset: u64,
    bytes: u64,
    access: warpjit_access,
    is_private: bool,
    mapped: *mut u64,
) -> warpjit_status {
    entry!({
        let memory = handle::get::<Space>(memory)?;
        if file < 0 {
            return Err(Failure::argument(format!("{file} is no file descriptor")));
        }
        let file = BorrowedFd::borrow_raw(file);
        let sharing = if is_private { FileSharing::Private } else { FileSharing::Shared };
        put_if(
            mapped,
            memory.0.map_file(wanted_address(address), file, offset, bytes, access_of(access)?, sharing)?,
        )
    })
}

/// Maps host memory: guest and host see the same bytes at once. `pointer`, address and size are multiples of the host's page size.
///
/// Shared mappings of the process (of a file, of a memfd, MAP_SHARED | MAP_ANONYMOUS) are as fast as other memory. Anything else makes the
/// space careful (warpjit_memory_is_careful). In a space of warpjit_memory_options_set_identity the address is the pointer, and host memory,
/// of either kind, makes no space careful.
///
/// Until it is unmapped, and launches that ran then have ended, the memory stays mapped for reading, and for writing if `access` says so;
/// while guests run, others access it by atomics or volatile accesses. If it vanishes all the same, accesses of guests are faults, as long
/// as nothing else takes its place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_map_host(
    memory: *const warpjit_memory,
    address: u64,
    pointer: *mut c_void,
    bytes: u64,
    access: warpjit_access,
    mapped: *mut u64,
) -> warpjit_status {
    entry!({
        let memory = handle::get::<Space>(memory)?;
        put_if(mapped, memory.0.map_host(wanted_address(address), pointer.cast(), bytes, access_of(access)?)?)
    })
}

/// Maps the bytes of mapped memory, which begin at guest address `of`, at a second address: stores through one are seen through the other.
/// Addresses and size are multiples of the host's page size, and the memory lies in one mapping.
///
/// Of memory of warpjit_memory_map_shared, shared files and shared host memory, an alias is as fast as other memory. An alias of anything
/// else makes the space careful. Unmapping the memory does not unmap its aliases.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_map_alias(
    memory: *const warpjit_memory,
    address: u64,
    of: u64,
    bytes: u64,
    access: warpjit_access,
    mapped: *mut u64,
) -> warpjit_status {
    entry!({
        let memory = handle::get::<Space>(memory)?;
        put_if(mapped, memory.0.map_alias(wanted_address(address), of, bytes, access_of(access)?)?)
    })
}

/// Changes what guests may do with the pages from `start` to `end`. Both are at pages of the host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_protect(
    memory: *const warpjit_memory,
    start: u64,
    end: u64,
    access: warpjit_access,
) -> warpjit_status {
    entry!({ handle::get::<Space>(memory)?.0.protect(start..end, access_of(access)?)? })
}

/// Unmaps what was mapped at `address`; its pages are faults from then on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_unmap(memory: *const warpjit_memory, address: u64) -> warpjit_status {
    entry!({ handle::get::<Space>(memory)?.0.unmap(address)? })
}

/// Gets a range of addresses, `start` included, `end` not.
pub type warpjit_each_range = Option<unsafe extern "C-unwind" fn(user: *mut c_void, start: u64, end: u64)>;

/// Gets a mapping: its addresses, `start` included, `end` not, and what guests may do there.
pub type warpjit_each_mapping =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, start: u64, end: u64, access: warpjit_access)>;

/// Calls a function for each mapping, in order of address, before it returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_buffers(
    memory: *const warpjit_memory,
    each: warpjit_each_mapping,
    user: *mut c_void,
) -> warpjit_status {
    entry!({
        let each = each.ok_or_else(|| Failure::argument("the function is NULL"))?;
        let (memory, user) = (handle::get::<Space>(memory)?, User::new(user, None));
        for (start, bytes, access) in memory.0.buffers() {
            let access = match access {
                Access::ReadWrite => WARPJIT_ACCESS_READ_WRITE,
                Access::ReadOnly => WARPJIT_ACCESS_READ_ONLY,
                Access::None => WARPJIT_ACCESS_NONE,
                other => {
                    let text = format!("{other:?} is an access without a number");
                    return Err(Failure::new(WARPJIT_ERROR_INTERNAL, text));
                }
            };
            // The last address of a space may be the last of all.
            let end = start.wrapping_add(bytes);
            user.call("the function for mappings", |user| each(user, start, end, access));
        }
    })
}

/// Calls a function for each run of pages of the range from `start` to `end` that have been written since the last call for them, in order
/// of address. The first call tells all that are mapped and that guests may store to: pages that they may only read never count, though
/// warpjit_memory_write may store to them. From then on each first store to a page costs a signal (a few microseconds).
///
/// Stores by guests, by texture units, by warpjit_memory_write and by the caller's code through a pointer into the space are seen. Stores
/// through another mapping of the same bytes (an alias, the file, the caller's own pointer) are not. System calls do not store to a page
/// that has been looked at: they fail with EFAULT, unless warpjit_memory_mark_dirty is called first.
///
/// Memory that cannot be tracked counts as written in each call: private host memory and its aliases; in a space of identity all that the
/// space has not handed out, which is host memory and what is mapped at an address that the caller chose. Devices never count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_take_dirty(
    memory: *const warpjit_memory,
    start: u64,
    end: u64,
    each: warpjit_each_range,
    user: *mut c_void,
) -> warpjit_status {
    entry!({
        if each.is_none() {
            return Err(Failure::argument("the function is NULL"));
        }
        let memory = handle::get::<Space>(memory)?;
        tell_ranges(each, user, memory.0.take_dirty(start..end)?.into_iter())?
    })
}

/// Counts the mapped pages that the range from `start` to `end` touches as written: the next warpjit_memory_take_dirty gives those that
/// guests may store to. Until then stores to them cost no signal, and system calls may store to them (read of a file).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_mark_dirty(
    memory: *const warpjit_memory,
    start: u64,
    end: u64,
) -> warpjit_status {
    entry!({ handle::get::<Space>(memory)?.0.mark_dirty(start..end)? })
}

pub(crate) fn tell_ranges(
    each: warpjit_each_range,
    user: *mut c_void,
    ranges: impl Iterator<Item = std::ops::Range<u64>>,
) -> Result<(), Failure> {
    let each = each.ok_or_else(|| Failure::argument("the function is NULL"))?;
    let user = User::new(user, None);
    for range in ranges {
        // SAFETY: a callback with its user pointer.
        user.call("the function for ranges", |user| unsafe { each(user, range.start, range.end) });
    }
    Ok(())
}

/// Whether code for this memory looks each page up. That is so where accesses need help (devices, pagers, write watches, private host
/// memory, small spaces), and where there are very many mappings. Such code is slower. A launch that is running when a space becomes
/// careful goes on as it is: for it, special pages are not mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_is_careful(
    memory: *const warpjit_memory,
    is_careful: *mut bool,
) -> warpjit_status {
    entry!({
        let memory = handle::get::<Space>(memory)?;
        put(is_careful, memory.0.is_careful() || memory.0.is_coarse())?
    })
}

/// The host address of guest address 0, and how many bytes from there on are laid out as the guest sees them. Mapped memory in this window
/// may be accessed through it, by atomics while guests run. Devices and private host memory are not there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_window(
    memory: *const warpjit_memory,
    base: *mut *mut c_void,
    bytes: *mut u64,
) -> warpjit_status {
    entry!({
        let memory = handle::get::<Space>(memory)?;
        put(base, memory.0.base().cast())?;
        put(bytes, memory.0.window_bytes())?
    })
}

/// Copies guest memory to `out`. All of it must be mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_read(
    memory: *const warpjit_memory,
    address: u64,
    out: *mut c_void,
    bytes: usize,
) -> warpjit_status {
    entry!({
        let memory = handle::get::<Space>(memory)?;
        memory.0.read(address, array_mut(out.cast::<u8>(), bytes, "the buffer")?)?
    })
}

/// Copies `data` to guest memory, whether guests may write there or not. All of it must be mapped. Pages that guests may only read are
/// writable for that moment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_write(
    memory: *const warpjit_memory,
    address: u64,
    data: *const c_void,
    bytes: usize,
) -> warpjit_status {
    entry!({
        let memory = handle::get::<Space>(memory)?;
        memory.0.write(address, array(data.cast::<u8>(), bytes, "the buffer")?)?
    })
}

//! Textures, samplers and surfaces of launches, and tables of a chip's configuration. What a guest has in registers (GCN's descriptors) is
//! not here.

use crate::entry;
use crate::launch::{edit, warpjit_launch};
use crate::pointers::array;
use crate::status::{Failure, warpjit_status};

type Entries = Vec<(u32, [u32; 8])>;

/// Puts an entry into a list, or takes it out.
unsafe fn set_entry(
    launch: *const warpjit_launch,
    slot: u32,
    words: *const u32,
    count: usize,
    list: impl FnOnce(&mut warpjit_runtime::TextureTables) -> &mut Entries,
) -> Result<(), Failure> {
    let entry = match words.is_null() {
        true => None,
        false => {
            let mut entry = [0; 8];
            // SAFETY: the caller's promise.
            entry[..count].copy_from_slice(unsafe { array(words, count, "the words") }?);
            Some(entry)
        }
    };
    edit(launch, |launch| {
        let list = list(&mut launch.textures);
        list.retain(|(known, _)| *known != slot);
        list.extend(entry.map(|entry| (slot, entry)));
    })
}

/// The header of a texture slot (Tesla, Fermi): eight words as the hardware reads them. NULL: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_texture(
    launch: *mut warpjit_launch,
    slot: u32,
    words: *const u32,
) -> warpjit_status {
    entry!({ set_entry(launch, slot, words, 8, |tables| &mut tables.textures)? })
}

/// The sampler of a slot: eight words. NULL: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_sampler(
    launch: *mut warpjit_launch,
    slot: u32,
    words: *const u32,
) -> warpjit_status {
    entry!({ set_entry(launch, slot, words, 8, |tables| &mut tables.samplers)? })
}

/// The surface of a slot: six words. NULL: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_surface(
    launch: *mut warpjit_launch,
    slot: u32,
    words: *const u32,
) -> warpjit_status {
    entry!({ set_entry(launch, slot, words, 6, |tables| &mut tables.surfaces)? })
}

/// Tables of texture headers and samplers in guest memory: address and bytes of each. Slots are bound to their entries by
/// warpjit_launch_bind_texture and warpjit_launch_bind_sampler. Bytes 0: no table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_texture_tables(
    launch: *mut warpjit_launch,
    headers: u64,
    header_bytes: u64,
    samplers: u64,
    sampler_bytes: u64,
) -> warpjit_status {
    entry!({
        let table = |address, bytes| (bytes > 0).then_some((address, bytes));
        edit(launch, |launch| {
            launch.textures.header_table = table(headers, header_bytes);
            launch.textures.sampler_table = table(samplers, sampler_bytes);
        })?
    })
}

fn bind(list: &mut Vec<(u32, u32)>, slot: u32, entry: u32) {
    list.retain(|(known, _)| *known != slot);
    list.push((slot, entry));
}

/// Binds a texture slot to an entry of the table of headers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_bind_texture(
    launch: *mut warpjit_launch,
    slot: u32,
    index: u32,
) -> warpjit_status {
    entry!({ edit(launch, |launch| bind(&mut launch.textures.texture_bindings, slot, index))? })
}

/// Binds a sampler slot to an entry of the table of samplers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_bind_sampler(
    launch: *mut warpjit_launch,
    slot: u32,
    index: u32,
) -> warpjit_status {
    entry!({ edit(launch, |launch| bind(&mut launch.textures.sampler_bindings, slot, index))? })
}

/// Constant bank whose words are texture handles (GK104). The default is 15.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_texture_handles(
    launch: *mut warpjit_launch,
    bank: u32,
) -> warpjit_status {
    entry!({
        let bank = u8::try_from(bank).map_err(|_| Failure::argument(format!("constant bank {bank}")))?;
        edit(launch, |launch| launch.textures.handles = Some(bank))?
    })
}

/// GCN's tiling: 32 words of GB_TILE_MODE and 16 of GB_MACROTILE_MODE, either of which may be NULL, and GB_ADDR_CONFIG. Without this call
/// they are what the chip's driver sets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_tiling(
    launch: *mut warpjit_launch,
    tile_modes: *const u32,
    macrotile_modes: *const u32,
    address_config: u32,
) -> warpjit_status {
    entry!({
        let mut tables = (None, None);
        if !tile_modes.is_null() {
            let mut words = Box::new([0; 32]);
            words.copy_from_slice(array(tile_modes, 32, "the tile modes")?);
            tables.0 = Some(words);
        }
        if !macrotile_modes.is_null() {
            let mut words = Box::new([0; 16]);
            words.copy_from_slice(array(macrotile_modes, 16, "the macrotile modes")?);
            tables.1 = Some(words);
        }
        edit(launch, |launch| {
            launch.textures.tile_modes = tables.0;
            launch.textures.macrotile_modes = tables.1;
            launch.textures.address_config = Some(address_config);
        })?
    })
}

/// Address of the table of border colours in guest memory, 16 bytes each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_launch_set_border_colors(
    launch: *mut warpjit_launch,
    address: u64,
) -> warpjit_status {
    entry!({ edit(launch, |launch| launch.textures.border_colors = Some(address))? })
}

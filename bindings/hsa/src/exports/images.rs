//! Images and samplers.

use super::{exports, list, put};
use crate::image::{self, ALIGNMENT, Description, Layout, Region};
use crate::info::Agent;
use crate::status::{Result, Status};
use crate::system::{System, system};
use std::ffi::c_void;

/// `hsa_ext_image_format_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ImageFormat {
    kind: u32,
    order: u32,
}

/// `hsa_ext_image_descriptor_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ImageDescriptor {
    geometry: u32,
    width: usize,
    height: usize,
    depth: usize,
    array_size: usize,
    format: ImageFormat,
}

/// `hsa_ext_image_region_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ImageRegion {
    offset: [u32; 3],
    range: [u32; 3],
}

impl ImageDescriptor {
    fn description(&self) -> Description {
        Description {
            geometry: self.geometry,
            width: self.width as u64,
            height: self.height as u64,
            depth: self.depth as u64,
            layers: self.array_size as u64,
            kind: self.format.kind,
            order: self.format.order,
        }
    }
}

/// The system, where the agent is the device.
fn device(agent: u64) -> Result<&'static System> {
    let system = system()?;
    match Agent::find(system, agent)? {
        Agent::Device => Ok(system),
        Agent::Host => Err(Status::INVALID_AGENT),
    }
}

/// A value that the program points to.
///
/// # Safety
/// The pointer is null, or leads to a value.
unsafe fn value<T: Copy>(pointer: *const T) -> Result<T> {
    // SAFETY: as the caller promises.
    unsafe { list(pointer, 1) }.map(|list| list[0])
}

/// # Safety
/// HSA's rules for `hsa_ext_image_create_with_layout`.
unsafe fn create(
    agent: u64,
    descriptor: *const ImageDescriptor,
    data: *const c_void,
    access: u32,
    pitches: (usize, usize),
    handle: *mut u64,
) -> Result<()> {
    let system = device(agent)?;
    // SAFETY: as the caller promises.
    let description = unsafe { value(descriptor) }?.description();
    if data.is_null() || handle.is_null() || !(1..=3).contains(&access) {
        return Err(Status::INVALID_ARGUMENT);
    }
    let layout = Layout::new(&description, pitches.0 as u64, pitches.1 as u64)?;
    let data = data.expose_provenance() as u64;
    let image = image::create(&system.shared.memory, system.device()?, &description, layout, data)?;
    // SAFETY: as the caller promises.
    unsafe { put(handle, image) }
}

/// # Safety
/// HSA's rules for `hsa_ext_image_data_get_info_with_layout`.
unsafe fn data_info(
    agent: u64,
    descriptor: *const ImageDescriptor,
    access: u32,
    pitches: (usize, usize),
    info: *mut [usize; 2],
) -> Result<()> {
    device(agent)?;
    // SAFETY: as the caller promises.
    let description = unsafe { value(descriptor) }?.description();
    if !(1..=3).contains(&access) {
        return Err(Status::INVALID_ARGUMENT);
    }
    let layout = Layout::new(&description, pitches.0 as u64, pitches.1 as u64)?;
    // SAFETY: as the caller promises.
    unsafe { put(info, [layout.bytes as usize, ALIGNMENT as usize]) }
}

exports! {
    fn hsa_ext_image_get_capability(agent: u64, geometry: u32, format: *const ImageFormat, mask: *mut u32) {
        device(agent)?;
        // SAFETY: HSA's rules for the format and the place.
        unsafe {
            let format = value(format)?;
            put(mask, image::capabilities(geometry, format.order, format.kind)?)
        }
    }

    fn hsa_ext_image_get_capability_with_layout(
        agent: u64,
        geometry: u32,
        format: *const ImageFormat,
        layout: u32,
        mask: *mut u32,
    ) {
        device(agent)?;
        // Only the linear one is asked for by this function.
        if layout != 1 {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: HSA's rules for the format and the place.
        unsafe {
            let format = value(format)?;
            put(mask, image::capabilities(geometry, format.order, format.kind)?)
        }
    }

    fn hsa_ext_image_data_get_info(
        agent: u64,
        descriptor: *const ImageDescriptor,
        access: u32,
        info: *mut [usize; 2],
    ) {
        // SAFETY: HSA's rules for the function.
        unsafe { data_info(agent, descriptor, access, (0, 0), info) }
    }

    fn hsa_ext_image_data_get_info_with_layout(
        agent: u64,
        descriptor: *const ImageDescriptor,
        access: u32,
        layout: u32,
        row_pitch: usize,
        slice_pitch: usize,
        info: *mut [usize; 2],
    ) {
        if layout != 1 {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: HSA's rules for the function.
        unsafe { data_info(agent, descriptor, access, (row_pitch, slice_pitch), info) }
    }

    fn hsa_ext_image_create(
        agent: u64,
        descriptor: *const ImageDescriptor,
        data: *const c_void,
        access: u32,
        handle: *mut u64,
    ) {
        // SAFETY: HSA's rules for the function.
        unsafe { create(agent, descriptor, data, access, (0, 0), handle) }
    }

    fn hsa_ext_image_create_with_layout(
        agent: u64,
        descriptor: *const ImageDescriptor,
        data: *const c_void,
        access: u32,
        layout: u32,
        row_pitch: usize,
        slice_pitch: usize,
        handle: *mut u64,
    ) {
        if layout != 1 {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: HSA's rules for the function.
        unsafe { create(agent, descriptor, data, access, (row_pitch, slice_pitch), handle) }
    }

    fn hsa_amd_image_create(
        agent: u64,
        descriptor: *const ImageDescriptor,
        layout: *const c_void,
        _data: *const c_void,
        _access: u32,
        handle: *mut u64,
    ) {
        device(agent)?;
        if descriptor.is_null() || layout.is_null() || handle.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // There is no graphics driver that would give such a layout.
        Err(Status::IMAGE_FORMAT_UNSUPPORTED)
    }

    fn hsa_ext_image_destroy(agent: u64, handle: u64) {
        device(agent)?;
        image::destroy(handle, true)
    }

    fn hsa_ext_image_copy(
        agent: u64,
        from: u64,
        from_offset: *const [u32; 3],
        to: u64,
        to_offset: *const [u32; 3],
        range: *const [u32; 3],
    ) {
        device(agent)?;
        // SAFETY: HSA's rules for what the pointers lead to.
        unsafe { image::copy(from, value(from_offset)?, to, value(to_offset)?, value(range)?) }
    }

    fn hsa_ext_image_import(
        agent: u64,
        memory: *const c_void,
        row_pitch: usize,
        slice_pitch: usize,
        handle: u64,
        region: *const ImageRegion,
    ) {
        device(agent)?;
        // SAFETY: HSA's rules for the region.
        let ImageRegion { offset, range } = unsafe { value(region) }?;
        let memory = memory.expose_provenance() as u64;
        image::import(memory, row_pitch as u64, slice_pitch as u64, handle, &Region { offset, range })
    }

    fn hsa_ext_image_export(
        agent: u64,
        handle: u64,
        memory: *mut c_void,
        row_pitch: usize,
        slice_pitch: usize,
        region: *const ImageRegion,
    ) {
        device(agent)?;
        // SAFETY: HSA's rules for the region.
        let ImageRegion { offset, range } = unsafe { value(region) }?;
        let memory = memory.expose_provenance() as u64;
        image::export(handle, memory, row_pitch as u64, slice_pitch as u64, &Region { offset, range })
    }

    fn hsa_ext_image_clear(agent: u64, handle: u64, values: *const [u32; 4], region: *const ImageRegion) {
        let system = device(agent)?;
        // SAFETY: HSA's rules for the values and the region.
        let (values, region) = unsafe { (value(values)?, value(region)?) };
        let ImageRegion { offset, range } = region;
        image::clear(&system.shared.memory, handle, values, &Region { offset, range })
    }

    fn hsa_ext_sampler_create(agent: u64, descriptor: *const [u32; 3], handle: *mut u64) {
        let system = device(agent)?;
        if handle.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: HSA's rules for the descriptor.
        let [coordinates, filter, addressing] = unsafe { value(descriptor) }?;
        let sampler = image::create_sampler(&system.shared.memory, coordinates, filter, addressing)?;
        // SAFETY: HSA's rules for the place.
        unsafe { put(handle, sampler) }
    }

    fn hsa_ext_sampler_destroy(agent: u64, handle: u64) {
        device(agent)?;
        image::destroy(handle, false)
    }
}

/// The functions of the extension's table.
pub(super) fn functions() -> [*const c_void; 13] {
    [
        hsa_ext_image_get_capability as *const c_void,
        hsa_ext_image_data_get_info as *const c_void,
        hsa_ext_image_create as *const c_void,
        hsa_ext_image_destroy as *const c_void,
        hsa_ext_image_copy as *const c_void,
        hsa_ext_image_import as *const c_void,
        hsa_ext_image_export as *const c_void,
        hsa_ext_image_clear as *const c_void,
        hsa_ext_sampler_create as *const c_void,
        hsa_ext_sampler_destroy as *const c_void,
        hsa_ext_image_get_capability_with_layout as *const c_void,
        hsa_ext_image_data_get_info_with_layout as *const c_void,
        hsa_ext_image_create_with_layout as *const c_void,
    ]
}

//! Validates kernel images before they become programs. Memory safety depends on it, because any embedder can construct an image
//! in safe code.
//!
//! Compiled code leaves out tests that an image says always hold. So a program's function must pass the verifier, bounds of its
//! slots are kept only if they are proved ([`keep_proven_bounds`]), and a pure function with an expansion must be a frontend's.

use crate::{Error, ImageError, ProgramError};
use std::ptr;
use warpjit_frontend::image::{AliasParts, KernelImage};
use warpjit_frontend::registry;
use warpjit_ir::analysis::keep_proven_bounds;
use warpjit_ir::function::SlotData;
use warpjit_ir::verify::verify;
use warpjit_ir::{Form, Function, Imm, PureFn, SegmentSize, SlotInit, Terminator, WordTable};

/// Bytes of a page that every host has.
const PAGE_BYTES: u64 = 4096;
/// Most bytes of a warp's frame, because compiled code uses 32-bit offsets.
const MOST_FRAME_BYTES: u64 = 1 << 28;
/// Most bytes of shared memory of a block, and of local memory of a thread. More than 64 KiB, which addresses of these
/// spaces mostly wrap at.
const MOST_SPACE_BYTES: u32 = 1 << 20;

/// Checks an image and removes slot bounds that cannot be proved. Returns how many it removed.
pub(crate) fn check(image: &mut KernelImage) -> Result<usize, Error> {
    let bad = |source: ImageError| Error::from(ProgramError::Image { name: image.name.clone(), source });
    let func = &image.function;
    verify(func).map_err(|error| ProgramError::Invalid { source: error })?;
    if func.form != Form::Spmd
        || func.blocks.iter().any(|b| matches!(b.term, Some(Terminator::Return { .. })))
    {
        return Err(bad(ImageError::MaskForm));
    }
    if func.lanes != image.abi.warp_lanes {
        return Err(bad(ImageError::WarpLanes { found: func.lanes, warp: image.abi.warp_lanes }));
    }
    let bytes = |slot: &SlotData| slot.ty.scalar.frame_bytes() as u64 * u64::from(func.lanes);
    let frame = func.slots.iter().map(bytes).sum::<u64>();
    if frame > MOST_FRAME_BYTES {
        return Err(bad(ImageError::FrameBytes { bytes: frame, limit: MOST_FRAME_BYTES }));
    }
    let spaces = [image.abi.max_shared_bytes, image.abi.max_local_bytes];
    if let Some(bytes) = spaces.into_iter().find(|&most| most > MOST_SPACE_BYTES) {
        return Err(bad(ImageError::SpaceBytes { bytes, limit: MOST_SPACE_BYTES }));
    }
    // Segments must start at a page, because grid-row code loads from read-only ones ahead of the guest, without a
    // test.
    let is_off = |address: u64| !address.is_multiple_of(PAGE_BYTES);
    if let Some(segment) = image.abi.segments.iter().find(|segment| is_off(segment.address)) {
        return Err(bad(ImageError::SegmentStart { segment: segment.name, address: segment.address }));
    }
    for slot in &func.slots {
        let SlotInit::WarpOffset(segment) = slot.init else { continue };
        let size = image.abi.segments.get(usize::from(segment)).map(|segment| segment.size);
        if !matches!(size, Some(SegmentSize::PerWarp(_) | SegmentSize::Ring(_))) {
            return Err(bad(ImageError::WarpSegment { register: slot.name.clone(), segment }));
        }
    }
    for alias in &image.aliases {
        let (slots, is_mask) = match &alias.parts {
            AliasParts::Slot(slot) => (std::slice::from_ref(slot), false),
            AliasParts::LaneBits(slots) => (&slots[..], true),
        };
        let fits = |slot: &SlotData| {
            let is_small = slot.umax.is_none_or(|umax| alias.writable <= umax.into());
            if is_mask { slot.ty.scalar == warpjit_ir::Scalar::I1 } else { slot.ty.uniform && is_small }
        };
        if !slots.iter().all(|slot| func.slots.get(slot.index()).is_some_and(fits)) {
            return Err(bad(ImageError::Alias { register: alias.name.clone() }));
        }
    }
    if let Some(function) = foreign(func) {
        return Err(bad(ImageError::Foreign { function }));
    }
    let abi = &image.abi;
    Ok(keep_proven_bounds(&mut image.function, |slot| match slot.init {
        SlotInit::Zero => 0,
        SlotInit::Builtin(value) => abi.most(value),
        SlotInit::Const(bits) => bits,
        SlotInit::WarpOffset(_) => u64::MAX,
    }))
}

/// Finds a pure function or table that uses a frontend's name without being the frontend's, or a pure function with an
/// expansion that is not a frontend's, because nothing verifies its operations.
fn foreign(func: &Function) -> Option<&'static str> {
    func.insts.iter().find_map(|inst| match inst.imm {
        Imm::Pure(callee) => {
            let adds = callee.expand.is_some() || callee.fast.is_some() || callee.special.is_some();
            let is_known = |known: Option<&'static PureFn>| known.is_some_and(|known| ptr::eq(known, callee));
            let known = registry::pure(callee.name);
            (!is_known(known) && (known.is_some() || adds)).then_some(callee.name)
        }
        Imm::Device(site) => {
            let is_known =
                registry::device(site.callee.name).is_some_and(|known| ptr::eq(known, site.callee));
            (!is_known).then_some(site.callee.name)
        }
        Imm::Table(table) => {
            let is_other = |known: &'static WordTable| !ptr::eq(known, table);
            registry::table(table.name()).is_some_and(is_other).then(|| table.name())
        }
        _ => None,
    })
}

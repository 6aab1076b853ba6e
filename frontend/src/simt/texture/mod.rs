//! Texture instructions of Tesla and Fermi: what one asks for ([`Request`]), the code that calls the texture unit (`lift`), the unit itself
//! (`device`), and what headers and samplers mean (`descriptor`); docs/hardware/textures-nv.md.
//!
//! An instruction's sources go to words of the lane's local memory, its *mailbox*, its results come back there.

mod cube;
mod descriptor;
mod device;
mod generated;
mod lift;
mod query;
mod request;
mod samples;
#[cfg(test)]
mod tests;

use std::ops::Range;

use warpjit_ir::{Function, Imm, KernelAbi};

pub(crate) use device::{FERMI, TESLA};
pub(crate) use lift::Arguments;
pub(crate) use request::{Family, Level, Operation, Query, Request};

/// Bytes of a mailbox.
const MAILBOX_BYTES: u32 = 96;

/// Words of the mailbox: coordinates (or Tesla's sources in order).
const COORDINATES: u32 = 0;
/// Layer, or the word of GF100 that has it.
const LAYER: u32 = 3;
/// What a comparison takes.
const REFERENCE: u32 = 4;
/// Level of detail, or bias.
const LEVEL: u32 = 5;
/// Offsets in texels, one word or two.
const OFFSETS: u32 = 6;
/// GK104's handle.
const HANDLE: u32 = 8;
/// What the coordinates become from pixel to pixel, along x, then along y.
const CHANGES: [u32; 2] = [9, 12];
/// The sample of a fetch, behind the changes.
const SAMPLE: u32 = 15;
/// The four results. They have words of their own: an instruction does not write all the others.
pub(crate) const RESULTS: u32 = 16;
/// Where the changes begin: what they are is subtracted here, because it is not flushed, as the program around may be.
const ORIGIN: u32 = 20;
/// Words of a mailbox that are read where an instruction has written them, or the unit has. The others may be read as well, because of
/// what a descriptor says: they begin as zeros.
const SCRATCH: [Range<u32>; 5] = [0..1, 5..10, 12..13, 15..21, 23..24];
/// Words of arguments in all, the results among them.
const WORDS: usize = 23;

/// Adds a mailbox to the local memory of a program: where it begins.
pub(crate) fn add_mailbox(local_bytes: &mut u32, abi: &mut KernelAbi) -> u32 {
    let mailbox = local_bytes.next_multiple_of(16);
    *local_bytes = mailbox + MAILBOX_BYTES;
    abi.max_local_bytes = abi.max_local_bytes.max(*local_bytes);
    mailbox
}

/// Bytes of a mailbox that need not begin as zeros, if all that a program asks of devices is textures.
pub(crate) fn scratch_of(mailbox: u32, function: &Function) -> impl Iterator<Item = Range<u32>> {
    let asks_others = function.insts.iter().any(|inst| match inst.imm {
        Imm::Device(site) => ![&FERMI, &TESLA].into_iter().any(|unit| std::ptr::eq(site.callee, unit)),
        _ => false,
    });
    let words = if asks_others { [const { 0..0 }; 5] } else { SCRATCH };
    words
        .into_iter()
        .filter(|words| !words.is_empty())
        .map(move |words| mailbox + 4 * words.start..mailbox + 4 * words.end)
}

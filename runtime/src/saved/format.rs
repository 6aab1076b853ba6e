//! Saved launches as bytes. All numbers are little-endian, and every list begins with its length.
//!
//! `WJSTATE\0`, version, digest of the rest, then the rest: identity, blocks that have not started, locked words, segments, blocks,
//! and a byte that says whether buffers of guest memory follow. The digest finds damage; it proves nothing of who wrote it.

use super::{Buffer, Identity, SavedLaunch};
use crate::bytes::{Reader, Writer};
use crate::digest::{BYTES, checksum};
use crate::exec::{Barrier, BlockState, LaunchState, WarpWords};
use crate::{Access, Error, StateError};
use warpjit_ir::Block;
use warpjit_ir::interp::{Entry, EntryKind, WarpState};

const MAGIC: [u8; 8] = *b"WJSTATE\0";
/// Version of the format and of what its numbers mean. Another version is another number here.
pub const VERSION: u32 = 1;
/// Bytes before the rest.
pub const HEAD: usize = MAGIC.len() + 4 + BYTES;
/// Distinguishes the digest from others.
const KEY: [u8; BYTES] = *b"warpjit: a launch that was saved";

/// Puts the head before the rest.
pub fn seal(rest: &[u8]) -> Vec<u8> {
    let mut all = Vec::with_capacity(HEAD + rest.len());
    all.extend(MAGIC);
    all.extend(VERSION.to_le_bytes());
    all.extend(checksum(&KEY, rest));
    all.extend(rest);
    all
}

/// What follows the head, if that is right.
pub fn unseal(bytes: &[u8]) -> Result<&[u8], Error> {
    let mut from = Reader(bytes);
    if from.array() != Some(&MAGIC) {
        return Err(StateError::Foreign.into());
    }
    let Some(version) = from.u32() else { return Err(StateError::Cut.into()) };
    if version != VERSION {
        return Err(StateError::Version { found: version, known: VERSION }.into());
    }
    let Some(digest) = from.array::<BYTES>() else { return Err(StateError::Cut.into()) };
    if *digest != checksum(&KEY, from.0) {
        return Err(StateError::Damaged.into());
    }
    Ok(from.0)
}

pub fn access_code(access: Access) -> u8 {
    match access {
        Access::ReadOnly => 0,
        Access::ReadWrite => 1,
        Access::None => 2,
    }
}

fn access(code: u8) -> Option<Access> {
    [Access::ReadOnly, Access::ReadWrite, Access::None]
        .into_iter()
        .find(|&access| access_code(access) == code)
}

/// Writes everything but guest memory.
pub fn write(to: &mut Writer, saved: &SavedLaunch) {
    to.0.extend(saved.of.program);
    to.0.extend(saved.of.launch);
    let state = &saved.state;
    to.list(state.unstarted.iter(), |to, range| {
        to.u64(range.start);
        to.u64(range.end);
    });
    to.list(state.locks.iter(), |to, &word| to.u64(word));
    to.bytes(&state.segments);
    to.list(state.blocks.iter(), write_block);
}

/// Reads everything, to the end of the bytes.
pub fn read(from: &mut Reader<'_>) -> Option<SavedLaunch> {
    let of = Identity { program: *from.array()?, launch: *from.array()? };
    let unstarted = from.list(|from| Some(from.u64()?..from.u64()?))?;
    let locks = from.list(Reader::u64)?;
    let segments = from.bytes()?.to_vec();
    let blocks = from.list(read_block)?;
    let memory = match from.u8()? {
        0 => None,
        1 => Some(from.list(|from| {
            let (address, code) = (from.u64()?, from.u8()?);
            Some(Buffer { address, access: access(code)?, bytes: from.bytes()?.to_vec() })
        })?),
        _ => return None,
    };
    let state = LaunchState { blocks, unstarted, locks, segments };
    from.is_empty().then_some(SavedLaunch { of, state, memory })
}

/// Writes whether there is a value, then the value.
fn write_option<T>(to: &mut Writer, value: Option<T>, write: impl FnOnce(&mut Writer, T)) {
    to.u8(value.is_some().into());
    if let Some(value) = value {
        write(to, value);
    }
}

fn read_option<'a, T>(
    from: &mut Reader<'a>,
    read: impl FnOnce(&mut Reader<'a>) -> Option<T>,
) -> Option<Option<T>> {
    match from.u8()? {
        0 => Some(None),
        1 => read(from).map(Some),
        _ => None,
    }
}

fn write_block(to: &mut Writer, block: &BlockState) {
    to.u64(block.index);
    write_option(to, block.part, Writer::u32);
    to.list(block.warps.iter(), write_warp);
    to.bytes(&block.shared);
    to.list(block.locks.iter(), |to, &bits| to.u64(bits));
    to.list(block.barriers.iter(), |to, barrier| {
        to.u64(barrier.generation);
        to.list(barrier.arrivals.iter(), |to, &count| to.u32(count));
        write_option(to, barrier.required, Writer::u32);
        to.list(barrier.seen.iter(), |to, &seen| to.u64(seen));
    });
    to.bytes(&block.scratch);
}

fn read_block(from: &mut Reader<'_>) -> Option<BlockState> {
    Some(BlockState {
        index: from.u64()?,
        part: read_option(from, Reader::u32)?,
        warps: from.list(read_warp)?,
        shared: from.bytes()?.to_vec(),
        locks: from.list(Reader::u64)?,
        barriers: from.list(|from| {
            Some(Barrier {
                generation: from.u64()?,
                arrivals: from.list(Reader::u32)?,
                required: read_option(from, Reader::u32)?,
                seen: from.list(Reader::u64)?,
            })
        })?,
        scratch: from.bytes()?.to_vec(),
    })
}

fn write_warp(to: &mut Writer, warp: &WarpWords) {
    let state = &warp.state;
    to.u32(state.block.0);
    [state.active, state.exited].into_iter().chain(state.left).for_each(|lanes| to.u64(lanes));
    to.list(state.stack.iter(), |to, entry| {
        let kind = EntryKind::ALL.iter().position(|kind| *kind == entry.kind).unwrap_or_default();
        to.u8(kind as u8);
        to.u32(entry.target.0);
        to.u64(entry.mask);
    });
    to.u8(state.ended.into());
    to.u64(state.steps);
    to.u64(state.thread_steps);
    write_option(to, warp.waits, |to, (barrier, pc)| {
        to.u8(barrier);
        to.u32(pc);
    });
    to.bytes(&warp.slots);
    to.bytes(&warp.local);
}

fn read_warp(from: &mut Reader<'_>) -> Option<WarpWords> {
    let state = WarpState {
        block: Block(from.u32()?),
        active: from.u64()?,
        exited: from.u64()?,
        left: [from.u64()?, from.u64()?, from.u64()?, from.u64()?],
        stack: from.list(|from| {
            let kind = *EntryKind::ALL.get(usize::from(from.u8()?))?;
            Some(Entry { kind, target: Block(from.u32()?), mask: from.u64()? })
        })?,
        ended: read_option(from, |_| Some(()))?.is_some(),
        steps: from.u64()?,
        thread_steps: from.u64()?,
    };
    let waits = read_option(from, |from| Some((from.u8()?, from.u32()?)))?;
    Some(WarpWords { state, waits, slots: from.bytes()?.to_vec(), local: from.bytes()?.to_vec() })
}

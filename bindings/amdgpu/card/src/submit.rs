//! Submissions: reads what a driver hands over, and gives it to a ring.

use crate::fence::{Fence, nanoseconds};
use crate::file::File;
use crate::info::has_ring;
use crate::ring::{CommandBuffer, Job};
use crate::uapi::{User, array, put_u64, u32_at, u64_at, u64s};
use rustix::io::Errno;
use std::sync::Arc;

/// AMDGPU_CHUNK_ID.
mod chunk {
    pub const IB: u32 = 1;
    pub const FENCE: u32 = 2;
    pub const DEPENDENCIES: u32 = 3;
    pub const SYNCOBJ_IN: u32 = 4;
    pub const SYNCOBJ_OUT: u32 = 5;
    pub const BO_HANDLES: u32 = 6;
    pub const SCHEDULED_DEPENDENCIES: u32 = 7;
    pub const TIMELINE_WAIT: u32 = 8;
    pub const TIMELINE_SIGNAL: u32 = 9;
}

/// DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT.
const WAIT_FOR_SUBMIT: u32 = 2;
/// How long the kernel waits for somebody to submit what a submission waits for.
const SUBMIT_TIME: u64 = 5_000_000_000;
/// Most chunks and command buffers of a submission.
const MOST: u32 = 64;
/// Most words of a chunk.
const MOST_WORDS: u32 = 1 << 16;
/// Most words of a command buffer: as many as a packet that calls one can name.
const MOST_WORDS_OF_BUFFER: u32 = 0xf_ffff;
/// AMDGPU_IB_FLAG_CE: for the constant engine, which is not there.
const CONSTANT_ENGINE: u32 = 1;

/// CS.
pub(crate) fn submit(file: &Arc<File>, arg: &mut [u8], user: &dyn User) -> Result<(), Errno> {
    let (context_id, list, count) = (u32_at(arg, 0), u32_at(arg, 4), u32_at(arg, 8));
    if count == 0 || count > MOST {
        return Err(Errno::INVAL);
    }
    let context = file.context(context_id)?;
    if context.is_lost() {
        return Err(Errno::CANCELED);
    }
    if list != 0 {
        file.check_list(list)?;
    }
    let mut job = Job { waits: Vec::new(), buffers: Vec::new(), user_fence: None };
    let mut ring = None;
    let mut signals = Vec::new();
    for address in u64s(user, u64_at(arg, 16), count)? {
        let mut head = [0; 16];
        user.read(address, &mut head)?;
        let (kind, words, data) = (u32_at(&head, 0), u32_at(&head, 4), u64_at(&head, 8));
        if words > MOST_WORDS {
            return Err(Errno::INVAL);
        }
        let data = array(user, data, words, 4)?;
        let items = |bytes: usize| match data.len() {
            0 => Err(Errno::INVAL),
            all if all < bytes => Err(Errno::INVAL),
            _ => Ok(data.chunks_exact(bytes)),
        };
        match kind {
            chunk::IB => {
                let ib = items(32)?.next().ok_or(Errno::INVAL)?;
                let at = (u32_at(ib, 20), u32_at(ib, 24), u32_at(ib, 28));
                let (kind, instance, number) = at;
                if !has_ring(kind, instance, number) || ring.is_some_and(|ring| ring != (kind, number)) {
                    return Err(Errno::INVAL);
                }
                ring = Some((kind, number));
                if u32_at(ib, 4) & CONSTANT_ENGINE == 0 {
                    let (address, words) = (u64_at(ib, 8) & 0xffff_ffff_ffff, u32_at(ib, 16) / 4);
                    if words > MOST_WORDS_OF_BUFFER {
                        return Err(Errno::INVAL);
                    }
                    let contents = file.surroundings()?.space.words(address, words).ok();
                    job.buffers.push(CommandBuffer { address, words, contents });
                }
            }
            chunk::FENCE => {
                let fence = items(8)?.next().ok_or(Errno::INVAL)?;
                let (buffer, offset) = (file.buffers.get(u32_at(fence, 0))?, u64::from(u32_at(fence, 4)));
                // The kernel wants a page of its own, with the fence in it.
                if buffer.bytes != 4096 || offset > buffer.bytes - 8 || job.user_fence.is_some() {
                    return Err(Errno::INVAL);
                }
                job.user_fence = Some(buffer.offset + offset);
            }
            chunk::DEPENDENCIES | chunk::SCHEDULED_DEPENDENCIES => {
                for dependency in items(24)? {
                    let (kind, instance, number) =
                        (u32_at(dependency, 0), u32_at(dependency, 4), u32_at(dependency, 8));
                    if !has_ring(kind, instance, number) {
                        return Err(Errno::INVAL);
                    }
                    let ring = file.ring(u32_at(dependency, 12), kind, number)?;
                    job.waits.push(ring.fence(u64_at(dependency, 16)).ok_or(Errno::INVAL)?);
                }
            }
            chunk::SYNCOBJ_IN => {
                for item in items(4)? {
                    let found = file.syncobjs.get(u32_at(item, 0))?.find(0);
                    job.waits.extend(found.ok_or(Errno::INVAL)?);
                }
            }
            chunk::TIMELINE_WAIT => {
                for item in items(16)? {
                    let object = file.syncobjs.get(u32_at(item, 0))?;
                    let (flags, point) = (u32_at(item, 4), u64_at(item, 8));
                    let found = match object.find(point) {
                        None if flags & WAIT_FOR_SUBMIT != 0 => {
                            file.bell.wait(nanoseconds() + SUBMIT_TIME, || object.find(point))
                        }
                        found => found,
                    };
                    job.waits.extend(found.ok_or(Errno::INVAL)?);
                }
            }
            chunk::SYNCOBJ_OUT => {
                for item in items(4)? {
                    signals.push((file.syncobjs.get(u32_at(item, 0))?, 0));
                }
            }
            chunk::TIMELINE_SIGNAL => {
                for item in items(16)? {
                    signals.push((file.syncobjs.get(u32_at(item, 0))?, u64_at(item, 8)));
                }
            }
            // All memory stays where it is.
            chunk::BO_HANDLES => {}
            _ => return Err(Errno::INVAL),
        }
    }
    job.waits.retain(|fence: &Fence| !fence.is_signalled());
    let (kind, number) = ring.ok_or(Errno::INVAL)?;
    let ring = file.ring(context_id, kind, number)?;
    let (sequence, fence) = ring.submit(job, &file.surroundings()?).map_err(|_| Errno::NOMEM)?;
    for (object, point) in signals {
        object.attach(point, fence.clone());
    }
    file.bell.ring();
    put_u64(arg, 0, sequence);
    Ok(())
}

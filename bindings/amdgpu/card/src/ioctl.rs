//! Ioctls of an open render node: their numbers, the sizes of their structures, and who answers each.

use crate::fence::endless_or_until;
use crate::file::File;
use crate::info::{self, Heaps};
use crate::submit;
use crate::uapi::{User, put_u32, put_u64, u32_at, u64_at};
use rustix::io::Errno;
use std::sync::Arc;

/// Size of the longest structure of an ioctl that is answered.
const MOST_BYTES: usize = 512;

/// Numbers of ioctls.
mod nr {
    pub const VERSION: u32 = 0x00;
    pub const GEM_CLOSE: u32 = 0x09;
    pub const GET_CAP: u32 = 0x0c;
    pub const SET_CLIENT_CAP: u32 = 0x0d;
    pub const SYNCOBJ_CREATE: u32 = 0xbf;
    pub const SYNCOBJ_DESTROY: u32 = 0xc0;
    pub const SYNCOBJ_WAIT: u32 = 0xc3;
    pub const SYNCOBJ_RESET: u32 = 0xc4;
    pub const SYNCOBJ_SIGNAL: u32 = 0xc5;
    pub const SYNCOBJ_TIMELINE_WAIT: u32 = 0xca;
    pub const SYNCOBJ_QUERY: u32 = 0xcb;
    pub const SYNCOBJ_TRANSFER: u32 = 0xcc;
    pub const SYNCOBJ_TIMELINE_SIGNAL: u32 = 0xcd;
    pub const GEM_CREATE: u32 = 0x40;
    pub const GEM_MMAP: u32 = 0x41;
    pub const CTX: u32 = 0x42;
    pub const BO_LIST: u32 = 0x43;
    pub const CS: u32 = 0x44;
    pub const INFO: u32 = 0x45;
    pub const GEM_METADATA: u32 = 0x46;
    pub const GEM_WAIT_IDLE: u32 = 0x47;
    pub const GEM_VA: u32 = 0x48;
    pub const WAIT_CS: u32 = 0x49;
    pub const GEM_OP: u32 = 0x50;
    pub const GEM_USERPTR: u32 = 0x51;
    pub const WAIT_FENCES: u32 = 0x52;
    pub const VM: u32 = 0x53;
    pub const FENCE_TO_HANDLE: u32 = 0x54;
    pub const SCHED: u32 = 0x55;
}

/// Bytes of the structure of an ioctl, as the kernel knows it. `None`: it is not answered.
fn structure(number: u32) -> Option<usize> {
    Some(match number {
        nr::GEM_MMAP | nr::VM | nr::SYNCOBJ_CREATE | nr::SYNCOBJ_DESTROY => 8,
        nr::GET_CAP | nr::SET_CLIENT_CAP | nr::GEM_WAIT_IDLE | nr::GEM_OP | nr::CTX | nr::SCHED => 16,
        nr::SYNCOBJ_RESET | nr::SYNCOBJ_SIGNAL => 16,
        nr::GEM_CLOSE => 8,
        nr::CS | nr::BO_LIST | nr::WAIT_FENCES | nr::GEM_USERPTR => 24,
        nr::SYNCOBJ_QUERY | nr::SYNCOBJ_TIMELINE_SIGNAL => 24,
        nr::GEM_CREATE
        | nr::INFO
        | nr::WAIT_CS
        | nr::FENCE_TO_HANDLE
        | nr::SYNCOBJ_TRANSFER
        | nr::SYNCOBJ_WAIT => 32,
        nr::GEM_VA | nr::SYNCOBJ_TIMELINE_WAIT => 40,
        nr::VERSION => 64,
        nr::GEM_METADATA => 288,
        _ => return None,
    })
}

impl File {
    /// Answers an ioctl. `request` has the number, and the size and direction of the structure at `argument` as the caller knows it: it may
    /// be shorter than the card's, then what is missing is 0, or longer.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn ioctl(self: &Arc<Self>, request: u32, argument: u64, user: &dyn User) -> Result<(), Errno> {
        let (number, size) = (request & 0xff, (request >> 16 & 0x3fff) as usize);
        let (goes_in, comes_out) = (request >> 30 & 1 != 0, request >> 31 != 0);
        let own = structure(number).ok_or(Errno::INVAL)?;
        let mut bytes = [0; MOST_BYTES];
        if goes_in {
            user.read(argument, &mut bytes[..size.min(own)])?;
        }
        self.answer(number, &mut bytes[..own], user)?;
        if comes_out {
            user.write(argument, &bytes[..size.min(own)])?;
        }
        Ok(())
    }

    fn answer(self: &Arc<Self>, number: u32, arg: &mut [u8], user: &dyn User) -> Result<(), Errno> {
        let (objects, bell) = (&self.syncobjs, &self.bell);
        match number {
            nr::VERSION => version(arg, user),
            nr::GET_CAP => {
                // SYNCOBJ and SYNCOBJ_TIMELINE.
                let has = matches!(u64_at(arg, 0), 0x13 | 0x14);
                put_u64(arg, 8, has.into());
                Ok(())
            }
            nr::SET_CLIENT_CAP | nr::VM | nr::SCHED => Ok(()),
            nr::GEM_CLOSE => self.close(u32_at(arg, 0)),
            nr::SYNCOBJ_CREATE => objects.create(arg),
            nr::SYNCOBJ_DESTROY => objects.destroy(arg),
            nr::SYNCOBJ_WAIT => objects.wait(arg, user, bell, false),
            nr::SYNCOBJ_TIMELINE_WAIT => objects.wait(arg, user, bell, true),
            nr::SYNCOBJ_RESET => objects.set(arg, user, bell, false),
            nr::SYNCOBJ_SIGNAL => objects.set(arg, user, bell, true),
            nr::SYNCOBJ_QUERY => objects.query(arg, user),
            nr::SYNCOBJ_TRANSFER => objects.transfer(arg, bell),
            nr::SYNCOBJ_TIMELINE_SIGNAL => objects.signal_points(arg, user, bell),
            nr::GEM_CREATE => {
                let handle =
                    self.buffers.create(u64_at(arg, 0), u64_at(arg, 8), u64_at(arg, 16), u64_at(arg, 24))?;
                arg.fill(0);
                put_u32(arg, 0, handle);
                Ok(())
            }
            nr::GEM_MMAP => {
                let handle = u32_at(arg, 0);
                let offset = self.buffers.get(handle)?.offset;
                // The program has its own memory mapped already.
                if self.buffers.host.contains(handle) {
                    return Err(Errno::PERM);
                }
                put_u64(arg, 0, offset);
                Ok(())
            }
            nr::GEM_USERPTR => {
                let (address, bytes, flags) = (u64_at(arg, 0), u64_at(arg, 8), u32_at(arg, 16));
                let handle = self.buffers.create_of_program(user, address, bytes, flags)?;
                put_u32(arg, 20, handle);
                Ok(())
            }
            nr::GEM_METADATA => self.metadata(arg),
            nr::GEM_OP => self.buffer_operation(arg, user),
            nr::GEM_VA => self.map(arg),
            nr::GEM_WAIT_IDLE => {
                self.buffers.get(u32_at(arg, 0))?;
                let timeout = endless_or_until(u64_at(arg, 8));
                let is_idle = self.wait_for_all(&self.pending(), timeout);
                arg.fill(0);
                put_u32(arg, 0, u32::from(!is_idle));
                Ok(())
            }
            nr::CTX => self.change_context(arg),
            nr::BO_LIST => self.change_list(arg, user),
            nr::CS => submit::submit(self, arg, user),
            nr::WAIT_CS => self.wait_cs(arg),
            nr::WAIT_FENCES => self.wait_fences(arg, user),
            nr::FENCE_TO_HANDLE => {
                // Of the three kinds the one that needs no descriptor: a synchronisation object.
                if u32_at(arg, 24) != 0 {
                    return Err(Errno::INVAL);
                }
                let fence = self.fence_of(&arg[..24])?;
                let handle = objects.add(Some(fence));
                put_u32(arg, 0, handle);
                Ok(())
            }
            nr::INFO => {
                let card = self.card.settings.memory;
                let heaps = Heaps { sizes: [card, card / 2], used: self.buffers.bytes() };
                info::info(self.card.chip(), heaps, arg, user)
            }
            _ => Err(Errno::INVAL),
        }
    }
}

/// VERSION: three numbers, and three texts of which the caller gets as much as he has room for.
fn version(arg: &mut [u8], user: &dyn User) -> Result<(), Errno> {
    for (at, value) in [(0, 3), (4, 48), (8, 0)] {
        put_u32(arg, at, value);
    }
    for (at, text) in [(16, "amdgpu"), (32, "20150101"), (48, "AMD GPU")] {
        let (room, address) = (u64_at(arg, at), u64_at(arg, at + 8));
        let count = text.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        if count > 0 && address != 0 {
            user.write(address, &text.as_bytes()[..count])?;
        }
        put_u64(arg, at, text.len() as u64);
    }
    Ok(())
}

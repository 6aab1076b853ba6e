//! What a program has when it has opened the render node: buffer objects, addresses, contexts, synchronisation objects. All is reached by
//! ioctls (`ioctl`).

use crate::Card;
use crate::fence::{Bell, Fence, end_for_submission, endless_or_until, lock, nanoseconds};
use crate::info::{COMPUTE, has_ring};
use crate::memory::{AddressSpace, Buffers};
use crate::ring::{Context, Ring, Surroundings};
use crate::syncobj::Syncobjs;
use crate::uapi::{User, array, put_u32, put_u64, u32_at, u64_at};
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

/// An open render node.
pub struct File {
    pub(crate) card: Arc<Card>,
    pub(crate) buffers: Arc<Buffers>,
    pub(crate) syncobjs: Syncobjs,
    pub(crate) bell: Arc<Bell>,
    /// Made when something is mapped first: address spaces are large.
    space: OnceLock<Arc<AddressSpace>>,
    tables: Mutex<Tables>,
}

#[derive(Default)]
struct Tables {
    contexts: BTreeMap<u32, Arc<Context>>,
    rings: BTreeMap<(u32, u32, u32), Arc<Ring>>,
    lists: BTreeSet<u32>,
    /// Last context and list made.
    last: u32,
}

impl File {
    /// An open node of a card.
    ///
    /// # Errors
    /// Where the system has no room for a file.
    pub fn new(card: Arc<Card>) -> Result<Arc<File>, Errno> {
        // The card's memory, and half as much of the host's.
        let buffers = Arc::new(Buffers::new(card.settings.memory / 2 * 3)?);
        Ok(Arc::new(File {
            card,
            buffers,
            syncobjs: Syncobjs::default(),
            bell: Arc::default(),
            space: OnceLock::new(),
            tables: Mutex::default(),
        }))
    }

    /// The file that stands for the node: programs map buffer objects by mapping it.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.buffers.file()
    }

    /// Whether nothing has been made with it, so that somebody else may have it as if newly opened.
    pub fn is_unused(&self) -> bool {
        self.buffers.is_empty() && self.syncobjs.is_empty() && lock(&self.tables).contexts.is_empty()
    }

    fn space(&self) -> Result<&Arc<AddressSpace>, Errno> {
        if let Some(space) = self.space.get() {
            return Ok(space);
        }
        let space = Arc::new(AddressSpace::new(self.card.chip().generation >= 9)?);
        Ok(self.space.get_or_init(|| space))
    }

    pub(crate) fn surroundings(&self) -> Result<Surroundings, Errno> {
        Ok(Surroundings {
            card: self.card.clone(),
            space: self.space()?.clone(),
            buffers: self.buffers.clone(),
            bell: self.bell.clone(),
        })
    }

    pub(crate) fn context(&self, id: u32) -> Result<Arc<Context>, Errno> {
        lock(&self.tables).contexts.get(&id).cloned().ok_or(Errno::INVAL)
    }

    /// A ring of a context, which begins when it is first asked for.
    pub(crate) fn ring(&self, context: u32, kind: u32, number: u32) -> Result<Arc<Ring>, Errno> {
        let mut tables = lock(&self.tables);
        let owner = tables.contexts.get(&context).cloned().ok_or(Errno::INVAL)?;
        let ring = tables.rings.entry((context, kind, number));
        Ok(ring.or_insert_with(|| Arc::new(Ring::new(owner, kind != COMPUTE, number))).clone())
    }

    pub(crate) fn check_list(&self, list: u32) -> Result<(), Errno> {
        if lock(&self.tables).lists.contains(&list) { Ok(()) } else { Err(Errno::NOENT) }
    }

    /// Submissions that have not ended.
    pub(crate) fn pending(&self) -> Vec<Fence> {
        lock(&self.tables).rings.values().flat_map(|ring| ring.pending()).collect()
    }

    /// Waits for the submissions that may use what is about to be unmapped. The kernel unmaps later instead. So it is not waited for ever:
    /// a submission may wait for what the caller does next.
    fn settle(&self) {
        const MOST: u64 = 1_000_000_000;
        self.wait_for_all(&self.pending(), nanoseconds() + MOST);
    }

    pub(crate) fn close(&self, handle: u32) -> Result<(), Errno> {
        self.buffers.get(handle).map_err(|_| Errno::INVAL)?;
        self.settle();
        if let Some(space) = self.space.get() {
            space.forget(self.buffers.file(), handle)?;
        }
        self.buffers.close(handle)
    }

    pub(crate) fn metadata(&self, arg: &mut [u8]) -> Result<(), Errno> {
        const DATA: usize = 28;
        let (handle, operation) = (u32_at(arg, 0), u32_at(arg, 4));
        let buffer = self.buffers.get(handle)?;
        match operation {
            // SET_METADATA
            1 => {
                let count = u32_at(arg, 24) as usize;
                if count > 256 {
                    return Err(Errno::INVAL);
                }
                self.buffers.change(handle, |buffer| {
                    buffer.tiling = u64_at(arg, 16);
                    buffer.metadata = arg[DATA..DATA + count].into();
                })
            }
            // GET_METADATA
            2 => {
                put_u64(arg, 16, buffer.tiling);
                put_u32(arg, 24, buffer.metadata.len() as u32);
                arg[DATA..DATA + buffer.metadata.len()].copy_from_slice(&buffer.metadata);
                Ok(())
            }
            _ => Err(Errno::INVAL),
        }
    }

    /// GEM_OP.
    pub(crate) fn buffer_operation(&self, arg: &[u8], user: &dyn User) -> Result<(), Errno> {
        let buffer = self.buffers.get(u32_at(arg, 0))?;
        match u32_at(arg, 4) {
            // GET_GEM_CREATE_INFO
            0 => {
                let words = [buffer.bytes, 4096, buffer.domains, buffer.flags];
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                user.write(u64_at(arg, 8), &bytes)
            }
            // SET_PLACEMENT
            1 => Ok(()),
            _ => Err(Errno::INVAL),
        }
    }

    /// GEM_VA.
    pub(crate) fn map(&self, arg: &[u8]) -> Result<(), Errno> {
        const PAGE: u64 = 4096;
        /// Pages of a sparse buffer; flags that say nothing of memory that is there.
        const SPARSE: u32 = 1 << 4;
        const KNOWN: u32 = 0x1ff;
        let (handle, operation, flags) = (u32_at(arg, 0), u32_at(arg, 8), u32_at(arg, 12));
        let (address, offset, bytes) = (u64_at(arg, 16), u64_at(arg, 24), u64_at(arg, 32));
        let end = address.checked_add(bytes).ok_or(Errno::INVAL)?;
        let is_whole = address % PAGE == 0 && offset % PAGE == 0 && bytes % PAGE == 0;
        // The end is one that drivers are told, and the beginning is no null pointer.
        let is_inside = address >= 0x20_0000 && end <= self.card.chip().address_end.max(1 << 39);
        if flags & !KNOWN != 0 || bytes == 0 || !is_whole || !is_inside || end > 1 << 40 {
            return Err(Errno::INVAL);
        }
        let space = self.space()?;
        let file = self.buffers.file();
        let backing = || {
            if flags & SPARSE != 0 {
                return Ok(None);
            }
            let buffer = self.buffers.get(handle)?;
            match offset.checked_add(bytes) {
                Some(end) if end <= buffer.bytes => Ok(Some((handle, buffer.offset + offset))),
                _ => Err(Errno::INVAL),
            }
        };
        if matches!(operation, 2..=4) {
            self.settle();
        }
        match operation {
            1 => space.map(file, (address, bytes), backing()?, flags, false),
            2 => space.unmap(file, address, bytes),
            3 => space.clear(file, address, bytes),
            4 => space.map(file, (address, bytes), backing()?, flags, true),
            _ => Err(Errno::INVAL),
        }
    }

    /// CTX.
    pub(crate) fn change_context(&self, arg: &mut [u8]) -> Result<(), Errno> {
        let (operation, id) = (u32_at(arg, 0), u32_at(arg, 8));
        let mut tables = lock(&self.tables);
        match operation {
            // ALLOC_CTX
            1 => {
                tables.last += 1;
                let id = tables.last;
                tables.contexts.insert(id, Arc::default());
                arg.fill(0);
                put_u32(arg, 0, id);
            }
            // FREE_CTX
            2 => {
                tables.contexts.remove(&id).ok_or(Errno::INVAL)?;
                // What it has submitted runs to its end.
                let its = tables.rings.iter().filter(|((context, ..), _)| *context == id);
                its.for_each(|(_, ring)| ring.close());
                tables.rings.retain(|_, ring| !ring.is_finished());
                arg.fill(0);
            }
            // QUERY_STATE, QUERY_STATE2
            3 | 4 => {
                /// A reset, which this context is guilty of.
                const RESET_AND_GUILTY: u64 = 1 | 1 << 2;
                const GUILTY_RESET: u32 = 1;
                let lost = tables.contexts.get(&id).ok_or(Errno::INVAL)?.is_lost();
                arg.fill(0);
                if lost {
                    put_u64(arg, 0, if operation == 4 { RESET_AND_GUILTY } else { 0 });
                    put_u32(arg, 12, if operation == 3 { GUILTY_RESET } else { 0 });
                }
            }
            // GET_STABLE_PSTATE, SET_STABLE_PSTATE
            5 | 6 => {
                tables.contexts.get(&id).ok_or(Errno::INVAL)?;
                arg.fill(0);
            }
            _ => return Err(Errno::INVAL),
        }
        Ok(())
    }

    /// BO_LIST.
    pub(crate) fn change_list(&self, arg: &mut [u8], user: &dyn User) -> Result<(), Errno> {
        let (operation, list, count, bytes) =
            (u32_at(arg, 0), u32_at(arg, 4), u32_at(arg, 8), u32_at(arg, 12));
        if !(8..=64).contains(&bytes) && operation != 1 {
            return Err(Errno::INVAL);
        }
        let check = || {
            let entries = array(user, u64_at(arg, 16), count, bytes as usize)?;
            entries
                .chunks_exact(bytes as usize)
                .try_for_each(|entry| self.buffers.get(u32_at(entry, 0)).map(|_| ()))
        };
        let made = match operation {
            0 => {
                check()?;
                let mut tables = lock(&self.tables);
                tables.last += 1;
                let list = tables.last;
                tables.lists.insert(list);
                list
            }
            1 => {
                lock(&self.tables).lists.remove(&list);
                0
            }
            2 => {
                check()?;
                self.check_list(list)?;
                0
            }
            _ => return Err(Errno::INVAL),
        };
        arg.fill(0);
        put_u32(arg, 0, made);
        Ok(())
    }

    pub(crate) fn wait_for_all(&self, fences: &[Fence], until: u64) -> bool {
        self.bell.wait(until, || fences.iter().all(Fence::is_signalled).then_some(())).is_some()
    }

    /// WAIT_CS.
    pub(crate) fn wait_cs(&self, arg: &mut [u8]) -> Result<(), Errno> {
        let (kind, instance, number) = (u32_at(arg, 16), u32_at(arg, 20), u32_at(arg, 24));
        if !has_ring(kind, instance, number) {
            return Err(Errno::INVAL);
        }
        let ring = self.ring(u32_at(arg, 28), kind, number)?;
        let handle = u64_at(arg, 0);
        let timeout = end_for_submission(endless_or_until(u64_at(arg, 8)));
        let is_done = match handle {
            0 => true,
            _ => self.wait_for_all(&[ring.fence(handle).ok_or(Errno::INVAL)?], timeout),
        };
        arg.fill(0);
        put_u64(arg, 0, u64::from(!is_done));
        Ok(())
    }

    /// The fence that drm_amdgpu_fence names.
    pub(crate) fn fence_of(&self, item: &[u8]) -> Result<Fence, Errno> {
        let (kind, instance, number) = (u32_at(item, 4), u32_at(item, 8), u32_at(item, 12));
        if !has_ring(kind, instance, number) {
            return Err(Errno::INVAL);
        }
        self.ring(u32_at(item, 0), kind, number)?.fence(u64_at(item, 16)).ok_or(Errno::INVAL)
    }

    /// WAIT_FENCES.
    pub(crate) fn wait_fences(&self, arg: &mut [u8], user: &dyn User) -> Result<(), Errno> {
        let (count, all) = (u32_at(arg, 8), u32_at(arg, 12) != 0);
        let timeout = endless_or_until(u64_at(arg, 16));
        let items = array(user, u64_at(arg, 0), count, 24)?;
        let fences: Vec<Fence> =
            items.chunks_exact(24).map(|item| self.fence_of(item)).collect::<Result<_, _>>()?;
        let first = self.bell.wait(timeout, || {
            let ready: Vec<usize> = (0..fences.len()).filter(|&index| fences[index].is_signalled()).collect();
            let done = if all { ready.len() == fences.len() } else { !ready.is_empty() };
            done.then(|| ready.first().copied().unwrap_or(0))
        });
        arg.fill(0);
        put_u32(arg, 0, u32::from(first.is_some()));
        put_u32(arg, 4, first.unwrap_or(0) as u32);
        Ok(())
    }
}

impl Drop for File {
    /// Ends the threads of all rings soon, whatever they do.
    fn drop(&mut self) {
        if let Some(space) = self.space.get() {
            space.ended().cancel();
        }
        lock(&self.tables).rings.values().for_each(|ring| ring.close());
        self.bell.ring();
    }
}

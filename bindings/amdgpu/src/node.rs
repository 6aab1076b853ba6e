//! The process's card, and the descriptors of its render node.

use crate::tree::Tree;
use rustix::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use rustix::io::Errno;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use warpjit_card::settings::Settings;
use warpjit_card::{Card, File, User};

/// What a process has of the card. A child of `fork` makes its own: threads that run submissions are the parent's.
struct Process {
    number: u32,
    card: OnceLock<Option<(Arc<Card>, Tree)>>,
    files: Mutex<Vec<Open>>,
}

/// An open node, by the number of the file behind its descriptors.
struct Open {
    device: u64,
    inode: u64,
    file: Arc<File>,
}

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());

fn process() -> &'static Process {
    let number = std::process::id();
    loop {
        let found = PROCESS.load(Ordering::Acquire);
        // SAFETY: null, or leaked below, so that it lives as long as the process.
        if let Some(process) = unsafe { found.as_ref() }.filter(|process| process.number == number) {
            return process;
        }
        let new = Box::new(Process { number, card: OnceLock::new(), files: Mutex::default() });
        let new = Box::into_raw(new);
        if PROCESS.compare_exchange(found, new, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: made above, and nobody else has seen it.
            drop(unsafe { Box::from_raw(new) });
        }
    }
}

/// The card and the folder of its files; `None` if there is none, which has been said.
fn card() -> Option<&'static (Arc<Card>, Tree)> {
    let process = process();
    let made = process.card.get_or_init(|| {
        let made = Settings::read(|name| std::env::var(name).ok()).and_then(|settings| {
            let tree = Tree::of(settings.chip)?;
            Ok((Card::new(settings), tree))
        });
        match made {
            Ok(made) => {
                // SAFETY: the function is one of this library, which is never unloaded: programs that have preloaded it cannot.
                unsafe { libc::atexit(finish) };
                Some(made)
            }
            Err(error) => {
                eprintln!("warpjit: there is no card: {error}");
                None
            }
        }
    });
    made.as_ref()
}

/// At the end of the process.
extern "C" fn finish() {
    if let Some(Some((card, _))) = process().card.get() {
        // What goes wrong at the end has nobody to be told.
        let _ = catch_unwind(AssertUnwindSafe(|| card.finish()));
    }
}

/// The folder that stands for the pretended files.
pub fn tree() -> Option<&'static Tree> {
    card().map(|(_, tree)| tree)
}

/// Opens the render node.
pub fn open(flags: libc::c_int) -> Result<libc::c_int, Errno> {
    let (card, _) = card().ok_or(Errno::NODEV)?;
    let mut files = process().files.lock().unwrap_or_else(PoisonError::into_inner);
    // Programs open the node a few times to look what it is, and close it, which nobody sees here. So a node with which nothing has been
    // made is given out again.
    let file = match files.iter().find(|open| open.file.is_unused()) {
        Some(open) => open.file.clone(),
        None => {
            let file = File::new(card.clone())?;
            let state = rustix::fs::fstat(file.descriptor())?;
            files.push(Open { device: state.st_dev, inode: state.st_ino, file: file.clone() });
            file
        }
    };
    let new: OwnedFd = if flags & libc::O_CLOEXEC != 0 {
        rustix::io::fcntl_dupfd_cloexec(file.descriptor(), 3)?
    } else {
        let new = rustix::io::fcntl_dupfd_cloexec(file.descriptor(), 3)?;
        rustix::io::fcntl_setfd(new.as_fd(), rustix::io::FdFlags::empty())?;
        new
    };
    Ok(new.into_raw_fd())
}

/// The open node that a descriptor is of.
pub fn file(descriptor: libc::c_int) -> Option<Arc<File>> {
    // SAFETY: null, or leaked in `process`.
    let process = unsafe { PROCESS.load(Ordering::Acquire).as_ref() }?;
    if descriptor < 0 || process.number != std::process::id() {
        return None;
    }
    // SAFETY: it is only asked what it is, which a descriptor that is not open answers with an error.
    let state = rustix::fs::fstat(unsafe { BorrowedFd::borrow_raw(descriptor) }).ok()?;
    let files = process.files.lock().unwrap_or_else(PoisonError::into_inner);
    let found = files.iter().find(|open| open.inode == state.st_ino && open.device == state.st_dev);
    found.map(|open| open.file.clone())
}

/// An ioctl of an open node.
pub fn ioctl(file: &Arc<File>, request: u32, argument: u64) -> Result<(), Errno> {
    let answer = catch_unwind(AssertUnwindSafe(|| file.ioctl(request, argument, &Caller)));
    answer.unwrap_or_else(|_| {
        eprintln!("warpjit: internal error in ioctl {:#x}", request & 0xff);
        Err(Errno::IO)
    })
}

/// The memory of this process.
struct Caller;

/// Below this address nothing is ever mapped (mmap_min_addr).
const FIRST_ADDRESS: u64 = 0x1000;

impl User for Caller {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Errno> {
        if address < FIRST_ADDRESS {
            return if out.is_empty() { Ok(()) } else { Err(Errno::FAULT) };
        }
        // SAFETY: the program that calls an ioctl hands over memory that it may read; a wild pointer ends it as if it had used it itself.
        unsafe { ptr::copy_nonoverlapping(address as *const u8, out.as_mut_ptr(), out.len()) };
        Ok(())
    }

    fn write(&self, address: u64, data: &[u8]) -> Result<(), Errno> {
        if address < FIRST_ADDRESS {
            return if data.is_empty() { Ok(()) } else { Err(Errno::FAULT) };
        }
        // SAFETY: as above, for memory that it may write.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), address as *mut u8, data.len()) };
        Ok(())
    }

    fn file(&self) -> Result<std::fs::File, Errno> {
        let file = std::fs::File::options().read(true).write(true).open("/proc/self/mem");
        file.map_err(|_| Errno::INVAL)
    }
}

//! Alternate stacks for signal handlers, one for each thread.

use crate::Error;

/// The alternate signal stack of this thread. Threads made by Rust have a small one already; other threads may have
/// none.
pub(super) struct AltStack {
    /// The mapping that we made, with a guard page at its start; null if the thread had a stack.
    mapping: *mut libc::c_void,
    bytes: usize,
    /// The thread's previous alternate stack.
    before: libc::stack_t,
}

impl AltStack {
    const STACK_BYTES: usize = 64 << 10;

    /// Makes sure that this thread has an alternate stack that is large enough.
    pub(super) fn ensure() -> Result<Self, Error> {
        // Room for the kernel's signal frame, several KiB with wide vectors, and for the handler.
        const HANDLER_BYTES: usize = 4 << 10;
        // SAFETY: asks for a number; 0 where the kernel does not say.
        let kernel_bytes = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
        let enough_bytes = kernel_bytes.max(2 << 10) + HANDLER_BYTES;
        // SAFETY: system calls with pointers to locals; the mapping is new and given to the kernel whole.
        unsafe {
            let mut old: libc::stack_t = std::mem::zeroed();
            libc::sigaltstack(std::ptr::null(), &mut old);
            if old.ss_flags & libc::SS_DISABLE == 0 && old.ss_size >= enough_bytes {
                return Ok(AltStack { mapping: std::ptr::null_mut(), bytes: 0, before: old });
            }
            let guard = rustix::param::page_size();
            let bytes = guard + Self::STACK_BYTES;
            let mapping = libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if mapping == libc::MAP_FAILED {
                return Err(Error::os("signal stack", std::io::Error::last_os_error()));
            }
            let start = mapping.cast::<u8>().add(guard).cast::<libc::c_void>();
            let stack = libc::stack_t { ss_sp: start, ss_flags: 0, ss_size: Self::STACK_BYTES };
            if libc::mprotect(start, Self::STACK_BYTES, libc::PROT_READ | libc::PROT_WRITE) != 0
                || libc::sigaltstack(&stack, std::ptr::null_mut()) != 0
            {
                let error = std::io::Error::last_os_error();
                libc::munmap(mapping, bytes);
                return Err(Error::os("signal stack", error));
            }
            Ok(AltStack { mapping, bytes, before: old })
        }
    }
}

impl Drop for AltStack {
    fn drop(&mut self) {
        if self.mapping.is_null() {
            return;
        }
        // SAFETY: the thread is ending and in no handler; only our own stack is replaced before it goes.
        unsafe {
            let mut now: libc::stack_t = std::mem::zeroed();
            libc::sigaltstack(std::ptr::null(), &mut now);
            let start = now.ss_sp as usize;
            let own = self.mapping as usize..self.mapping as usize + self.bytes;
            if own.contains(&start) {
                // What it had before may have been too small, but is its own.
                libc::sigaltstack(&self.before, std::ptr::null_mut());
            }
            libc::munmap(self.mapping, self.bytes);
        }
    }
}

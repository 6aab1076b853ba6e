//! Stacks for fibers ([`super::fiber`]).
//!
//! The operating system limits the number of mappings, and each stack needs two: itself and its guard page. So the number of
//! stacks in a process is limited, unused stacks share one mapping, and freed stacks are reused, the last freed one first,
//! because its pages are resident.

use super::pages::page_bytes;
use crate::fork::Mutex;
use corosensei::stack::{Stack as Bounds, StackPointer};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};

/// Bytes of a stack: the largest frame of compiled code, and as much again for its callees and for a signal handler
/// without an alternate stack.
const STACK_BYTES: usize = 2 * warpjit_backend::MOST_STACK_BYTES as usize;
/// Most stacks of a process.
const MOST_STACKS: usize = 1 << 13;
/// Stacks that are mapped at a time.
const SLAB: usize = 64;

/// A stack.
#[derive(Debug)]
pub struct Stack {
    /// Start of its guard page.
    start: usize,
}

#[derive(Debug)]
struct Pool {
    free: Vec<usize>,
    /// The unused stacks of the last mapping: start of the first one, and their number.
    fresh: (usize, usize),
    /// Number of stacks in use.
    taken: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { free: Vec::new(), fresh: (0, 0), taken: 0 });

fn bytes() -> usize {
    STACK_BYTES + page_bytes()
}

impl Stack {
    /// Takes a stack. `None` if the system refuses memory, or if the limit is reached.
    pub fn take() -> Option<Stack> {
        let mut pool = POOL.lock();
        if pool.taken >= MOST_STACKS {
            return None;
        }
        let start = match pool.free.pop() {
            Some(start) => start,
            None => pool.make()?,
        };
        pool.taken += 1;
        Some(Stack { start })
    }
}

impl Pool {
    /// Takes a stack that has never been used.
    fn make(&mut self) -> Option<usize> {
        if self.fresh.1 == 0 {
            // SAFETY: a new mapping where the kernel likes touches nothing that exists.
            let slab = unsafe {
                let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::STACK;
                mmap_anonymous(std::ptr::null_mut(), SLAB * bytes(), ProtFlags::empty(), flags)
            };
            self.fresh = (slab.ok()?.expose_provenance(), SLAB);
        }
        let (start, left) = self.fresh;
        let rights = MprotectFlags::READ | MprotectFlags::WRITE;
        let usable = std::ptr::with_exposed_provenance_mut(start + page_bytes());
        // SAFETY: the pages are of our mapping, behind the guard, and nobody has had them.
        unsafe { mprotect(usable, STACK_BYTES, rights) }.ok()?;
        self.fresh = (start + bytes(), left - 1);
        Some(start)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let mut pool = POOL.lock();
        pool.taken -= 1;
        pool.free.push(self.start);
    }
}

// SAFETY: the pages from `limit` to `base` are this value's alone; the first has no rights, and the others are larger
// than what is asked for.
unsafe impl Bounds for Stack {
    fn base(&self) -> StackPointer {
        StackPointer::new(self.start + bytes()).expect("no mapping ends at address 0")
    }

    fn limit(&self) -> StackPointer {
        StackPointer::new(self.start).expect("no mapping begins at address 0")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_used_again_and_can_be_written_to_their_ends() {
        let stacks: Vec<Stack> = (0..2 * SLAB + 1).map(|_| Stack::take().expect("a stack")).collect();
        let mut starts: Vec<usize> = stacks.iter().map(|stack| stack.start).collect();
        for start in &starts {
            let ends = [start + page_bytes(), start + bytes() - 1];
            for end in ends {
                // SAFETY: this stack is ours, and nothing runs on it.
                unsafe { std::ptr::with_exposed_provenance_mut::<u8>(end).write_volatile(1) };
            }
        }
        starts.sort_unstable();
        assert!(starts.windows(2).all(|pair| pair[0] + bytes() <= pair[1]));
        drop(stacks);
        let again = Stack::take().expect("a stack");
        assert!(starts.contains(&again.start) || POOL.lock().free.is_empty());
    }
}

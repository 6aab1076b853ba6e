//! Makes `fork` safe: parent and child can both go on using the runtime.
//!
//! A child of `fork` has only the thread that forked, and memory as it was at that moment. If another thread held a lock then, or
//! was initialising a shared value, the child would wait for it for ever. Two rules prevent that:
//!
//! - Code changes state shared between threads only in a [`Section`]. Locking a [`Mutex`] of this module begins one. A process
//!   forks only when no other thread is in a section: a handler before the fork waits until all have left, and keeps others out
//!   until the fork is done. So a child finds all locks free and all state consistent. It uses its own copy of the compiled code
//!   ([`crate::vm::CodeMemory`]).
//! - State that belongs to threads is kept for each process ([`PerProcess`]): a child gets new, empty state.
//!
//! Guest code runs outside of sections, so a launch does not delay a fork. Compiling a region is one section, so a fork waits for
//! its end. No function of the embedder is called in a section.
//!
//! The handlers are installed with `pthread_atfork`. A process made by the bare system call does not run them; such a process may
//! only execute another program, which is all the C library allows it too.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{MutexGuard, Once, PoisonError};
use std::time::Duration;

/// Number of threads in a section.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// Number of threads that are forking.
static FORKING: AtomicUsize = AtomicUsize::new(0);
/// Number of forks between the first process and this one.
static GENERATION: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Nesting depth of this thread's sections. Has no destructor, so it can be read in the fork handlers.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Whether this thread has made sure that the handlers are installed.
    static HANDLERS: Cell<bool> = const { Cell::new(false) };
}

/// A number that is different in a child of `fork`, and never changes otherwise.
#[inline]
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// While one exists, other threads that fork wait. Sections may be nested.
#[derive(Debug)]
pub(crate) struct Section(PhantomData<*const ()>);

impl Section {
    /// Begins a section; waits while another thread forks.
    #[inline]
    pub fn enter() -> Section {
        let depth = DEPTH.get();
        if depth == 0 {
            enter_first();
        }
        DEPTH.set(depth + 1);
        Section(PhantomData)
    }
}

/// Calls `f` while no other thread forks: a child finds what `f` changes whole, and the locks free that it takes. For state of those who
/// link the runtime and promise that their objects outlive a fork.
///
/// `f` must not wait for another thread, and must call nothing of the embedder.
pub fn between_forks<T>(f: impl FnOnce() -> T) -> T {
    let _section = Section::enter();
    f()
}

/// Calls a function of the embedder outside of the sections that this thread is in, and enters them again. Nothing shared may be half
/// changed then, and no lock held.
pub(crate) fn outside<T>(f: impl FnOnce() -> T) -> T {
    /// Enters the sections again, even if `f` panics.
    struct Again(usize);

    impl Drop for Again {
        fn drop(&mut self) {
            if self.0 > 0 {
                enter_first();
                DEPTH.set(self.0);
            }
        }
    }

    let again = Again(DEPTH.get());
    if again.0 > 0 {
        DEPTH.set(0);
        INSIDE.fetch_sub(1, Ordering::SeqCst);
    }
    f()
}

impl Drop for Section {
    #[inline]
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

fn enter_first() {
    if !HANDLERS.get() {
        install();
        HANDLERS.set(true);
    }
    loop {
        // With sequential consistency, either the forking thread sees this one, or this one sees that it forks.
        INSIDE.fetch_add(1, Ordering::SeqCst);
        if FORKING.load(Ordering::SeqCst) == 0 {
            return;
        }
        INSIDE.fetch_sub(1, Ordering::SeqCst);
        wait_until(|| FORKING.load(Ordering::SeqCst) == 0);
    }
}

/// Waits by polling, because a fork might leave a lock in any state.
fn wait_until(is_so: impl Fn() -> bool) {
    for _ in 0..100 {
        if is_so() {
            return;
        }
        std::hint::spin_loop();
    }
    while !is_so() {
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// Installs the handlers, once a process; its children have them too.
fn install() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        // SAFETY: the functions take nothing, and do nothing that is not allowed where a process forks: they read and write
        // atomics and a thread-local without a destructor, and sleep. Failure is for want of memory; then there are no handlers.
        unsafe { libc::pthread_atfork(Some(before), Some(behind_in_parent), Some(behind_in_child)) };
    });
}

/// 1 if the calling thread is itself in a section, else 0: a signal handler may fork inside one.
fn own() -> usize {
    usize::from(DEPTH.get() > 0)
}

unsafe extern "C" fn before() {
    FORKING.fetch_add(1, Ordering::SeqCst);
    wait_until(|| INSIDE.load(Ordering::SeqCst) <= own());
}

unsafe extern "C" fn behind_in_parent() {
    FORKING.fetch_sub(1, Ordering::SeqCst);
}

unsafe extern "C" fn behind_in_child() {
    GENERATION.fetch_add(1, Ordering::SeqCst);
    INSIDE.store(own(), Ordering::SeqCst);
    FORKING.store(0, Ordering::SeqCst);
}

/// A lock that is never held where a process forks.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

/// A locked [`Mutex`], with the section that the lock began.
pub(crate) struct Guard<'a, T> {
    // Dropped first.
    value: MutexGuard<'a, T>,
    _section: Section,
}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(std::sync::Mutex::new(value))
    }

    /// The value, which nobody else can name.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks it. Ignores whether a thread panicked while it held the lock.
    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        let section = Section::enter();
        Guard { value: self.0.lock().unwrap_or_else(PoisonError::into_inner), _section: section }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// One value for each process. In a child of `fork` it is made anew, and the parent's value is never touched again,
/// because threads that do not exist in the child may hold parts of it.
pub(crate) struct PerProcess<T>(AtomicPtr<Made<T>>);

struct Made<T> {
    generation: u64,
    value: T,
}

impl<T: Default> PerProcess<T> {
    /// This process's value.
    pub fn get(&self) -> &T {
        // SAFETY: null or a box that is freed by `drop` alone, where nobody borrows this any more.
        let made = unsafe { self.0.load(Ordering::Acquire).as_ref() };
        match made.filter(|made| made.generation == generation()) {
            Some(made) => &made.value,
            None => self.make(),
        }
    }

    #[cold]
    fn make(&self) -> &T {
        let before = self.0.load(Ordering::Acquire);
        // SAFETY: as in `get`.
        if let Some(made) = unsafe { before.as_ref() }.filter(|made| made.generation == generation()) {
            return &made.value;
        }
        let new = Box::into_raw(Box::new(Made { generation: generation(), value: T::default() }));
        match self.0.compare_exchange(before, new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: from a box just now; as in `get`.
            Ok(_) => unsafe { &(*new).value },
            Err(_) => {
                // SAFETY: nobody else has seen it.
                drop(unsafe { Box::from_raw(new) });
                self.make()
            }
        }
    }
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        PerProcess(AtomicPtr::new(std::ptr::null_mut()))
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let made = *self.0.get_mut();
        // SAFETY: null or a box that nobody borrows any more.
        unsafe {
            if !made.is_null() && (*made).generation == generation() {
                drop(Box::from_raw(made));
            }
        }
    }
}

// SAFETY: it owns a value that threads share by reference.
unsafe impl<T: Send + Sync> Sync for PerProcess<T> {}
// SAFETY: it owns the value.
unsafe impl<T: Send> Send for PerProcess<T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Instant;

    /// Forks and gives the child's exit code: what `child` says.
    fn fork(child: impl FnOnce() -> i32) -> i32 {
        // SAFETY: the child calls `child` and ends without running anything of the test harness.
        unsafe {
            match libc::fork() {
                0 => {
                    libc::alarm(20);
                    libc::_exit(child())
                }
                pid => {
                    let mut status = 0;
                    assert_eq!(libc::waitpid(pid, &mut status, 0), pid);
                    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -libc::WTERMSIG(status) }
                }
            }
        }
    }

    #[test]
    fn a_fork_waits_for_sections_and_its_child_finds_locks_free() {
        let lock = Arc::new(Mutex::new(0_u32));
        let (tell, told) = std::sync::mpsc::channel();
        let holder = {
            let lock = lock.clone();
            std::thread::spawn(move || {
                let mut value = lock.lock();
                tell.send(()).unwrap();
                std::thread::sleep(Duration::from_millis(30));
                *value = 7;
            })
        };
        told.recv().unwrap();
        // The value is whole, and the lock can be had.
        assert_eq!(fork(|| *lock.lock() as i32), 7);
        holder.join().unwrap();
        assert_eq!(*lock.lock(), 7);
    }

    #[test]
    fn who_forks_in_a_section_goes_on_in_it() {
        let lock = Mutex::new(1);
        let mut value = lock.lock();
        let code = fork(|| {
            *value += 1;
            let same = *value;
            drop(value);
            let other = Section::enter();
            drop(other);
            *lock.lock() + same
        });
        assert_eq!(code, 4);
    }

    #[test]
    fn many_fork_at_a_time_while_others_lock() {
        let lock = Mutex::new(0_u64);
        let end = Instant::now() + Duration::from_millis(300);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while Instant::now() < end {
                        *lock.lock() += 1;
                    }
                });
            }
            for _ in 0..2 {
                scope.spawn(|| {
                    while Instant::now() < end {
                        assert_eq!(fork(|| i32::from(*lock.lock() == u64::MAX) + 5), 5);
                    }
                });
            }
        });
    }

    #[test]
    fn a_child_has_values_of_its_own() {
        let value: PerProcess<Mutex<Vec<u8>>> = PerProcess::default();
        value.get().lock().push(1);
        assert_eq!(value.get().lock().len(), 1);
        let generation = generation();
        let code = fork(|| {
            let empty = value.get().lock().is_empty();
            value.get().lock().extend([1, 2]);
            i32::from(empty) + 10 * value.get().lock().len() as i32
        });
        assert_eq!(code, 21);
        assert_eq!((value.get().lock().len(), super::generation()), (1, generation));
    }
}

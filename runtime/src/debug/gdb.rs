//! GDB's interface for JIT compilers: a list of object files in memory, and a function at which GDB sets a breakpoint.
//!
//! The names and structures are GDB's (its manual, "JIT Compilation Interface"). They may exist only once in a process, so this
//! does not link together with another compiler that defines them. Therefore it is a feature.

use super::FunctionCode;
use super::elf::{Symbol, object};
use crate::fork::Mutex;
use std::ptr;

#[repr(C)]
struct Entry {
    next: *mut Entry,
    previous: *mut Entry,
    file: *const u8,
    bytes: u64,
}

#[repr(C)]
struct Descriptor {
    version: u32,
    action: u32,
    relevant: *mut Entry,
    first: *mut Entry,
}

const REGISTER: u32 = 1;
const UNREGISTER: u32 = 2;

/// The list that GDB reads. GDB finds it by this name.
#[unsafe(no_mangle)]
static mut __jit_debug_descriptor: Descriptor =
    Descriptor { version: 1, action: 0, relevant: ptr::null_mut(), first: ptr::null_mut() };

/// The function at which GDB sets its breakpoint. GDB finds it by this name.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn __jit_debug_register_code() {
    // SAFETY: no instructions; it only keeps calls of this function from being left out.
    unsafe { std::arch::asm!("", options(nostack, preserves_flags)) };
}

/// Serialises changes of the list.
static LOCK: Mutex<()> = Mutex::new(());

/// Code that GDB knows of, until this is dropped.
#[derive(Debug)]
pub(crate) struct Registration {
    entry: *mut Entry,
    /// The object file that the entry points to.
    _file: Box<[u8]>,
}

// SAFETY: the entry belongs to this value and is touched under the lock only.
unsafe impl Send for Registration {}
// SAFETY: as above; nothing can be done with a shared one.
unsafe impl Sync for Registration {}

impl Registration {
    /// Announces a region to GDB, with one symbol for the whole and one for each range of a guest instruction.
    pub fn new(region: &FunctionCode<'_>) -> Registration {
        let bytes = region.code.len() as u64;
        let mut symbols = vec![Symbol { name: region.name(), start: 0, bytes }];
        for (start, end, pc) in region.pc_ranges() {
            let name = format!("{}:{pc:#x}", region.kernel);
            symbols.push(Symbol { name, start: start.into(), bytes: u64::from(end - start) });
        }
        let file = object(region.code.start() as u64, bytes, &symbols).into_boxed_slice();
        let entry = Box::into_raw(Box::new(Entry {
            next: ptr::null_mut(),
            previous: ptr::null_mut(),
            file: file.as_ptr(),
            bytes: file.len() as u64,
        }));
        let _lock = LOCK.lock();
        // SAFETY: the list and its entries, ours among them, are touched under the lock only.
        unsafe {
            let list = &raw mut __jit_debug_descriptor;
            (*entry).next = (*list).first;
            if let Some(first) = (*list).first.as_mut() {
                first.previous = entry;
            }
            (*list).first = entry;
            tell(entry, REGISTER);
        }
        Registration { entry, _file: file }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let _lock = LOCK.lock();
        // SAFETY: under the lock; the entry was put into the list by `new` and is taken out once.
        unsafe {
            let list = &raw mut __jit_debug_descriptor;
            let Entry { next, previous, .. } = *self.entry;
            match previous.as_mut() {
                Some(previous) => previous.next = next,
                None => (*list).first = next,
            }
            if let Some(next) = next.as_mut() {
                next.previous = previous;
            }
            tell(self.entry, UNREGISTER);
            drop(Box::from_raw(self.entry));
        }
    }
}

/// Tells GDB that an entry was added or removed.
///
/// # Safety
///
/// The caller holds the lock; the entry lives.
unsafe fn tell(entry: *mut Entry, action: u32) {
    let list = &raw mut __jit_debug_descriptor;
    // SAFETY: under the lock. Volatile because the reader is another process.
    unsafe {
        (&raw mut (*list).relevant).write_volatile(entry);
        (&raw mut (*list).action).write_volatile(action);
    }
    __jit_debug_register_code();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::CodeMemory;

    /// Addresses of .text of all files in the list.
    fn listed() -> Vec<u64> {
        use object::{Object, ObjectSection};
        let _lock = LOCK.lock();
        let mut found = Vec::new();
        // SAFETY: under the lock; what the list names lives.
        unsafe {
            let mut at = (*(&raw const __jit_debug_descriptor)).first;
            while let Some(entry) = at.as_ref() {
                let bytes = std::slice::from_raw_parts(entry.file, entry.bytes as usize);
                let file = object::File::parse(bytes).unwrap();
                found.push(file.section_by_name(".text").unwrap().address());
                at = entry.next;
            }
        }
        found
    }

    #[test]
    fn the_list_holds_what_lives() {
        let memory = CodeMemory::new();
        let codes: Vec<_> = (0..3).map(|_| memory.add(&[0xc3]).unwrap()).collect();
        let registered = codes.iter().map(|code| {
            Registration::new(&FunctionCode {
                kernel: "k",
                pc: 0,
                kind: "",
                version: 0,
                code,
                pcs: &[(0, 0)],
            })
        });
        let mut registered: Vec<_> = registered.collect();
        let holds = |number: usize| listed().contains(&(codes[number].start() as u64));
        assert_eq!([holds(0), holds(1), holds(2)], [true; 3]);
        drop(registered.remove(1));
        assert_eq!([holds(0), holds(1), holds(2)], [true, false, true]);
        drop(registered);
        assert_eq!([holds(0), holds(1), holds(2)], [false; 3]);
    }
}

//! Handles: what C holds of an object. A handle looks like a pointer, but is the number of an entry in a table, the entry's generation, and
//! the kind of object. So a handle that was freed, one of another kind, and a pointer that is none are refused, without following it.

use std::any::Any;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use warpjit_runtime::between_forks;

use crate::entry;
use crate::status::{Failure, WARPJIT_ERROR_HANDLE, warpjit_status};

/// An object that C can hold.
pub(crate) trait Object: Any + Send + Sync {
    /// Its number, from 1 to 127; no other kind has it.
    const KIND: u8;
    /// Its name in messages.
    const NAME: &'static str;
    /// The opaque type of its handles.
    type Handle;
}

/// Bits of the number of an entry.
const INDEX_BITS: u32 = 24;
/// Bits of its generation.
const GENERATION_BITS: u32 = 32;
/// Where the kind begins. User space of no host has addresses with such bits.
const KIND_SHIFT: u32 = INDEX_BITS + GENERATION_BITS;

const _: () = assert!(usize::BITS == 64, "handles have 64 bits");

/// A place for an object.
struct Entry {
    /// How many objects it has had.
    generation: u32,
    object: Option<Living>,
}

/// An object that has not been freed.
#[derive(Clone)]
struct Living {
    kind: u8,
    name: &'static str,
    object: Arc<dyn Any + Send + Sync>,
}

struct Table {
    entries: Vec<Entry>,
    /// Entries without an object that can have another one.
    free: Vec<u32>,
}

/// Locked between forks only ([`between_forks`]): a child has the handles of its parent.
static TABLE: RwLock<Table> = RwLock::new(Table { entries: Vec::new(), free: Vec::new() });

/// Makes a handle of an object.
pub(crate) fn make<T: Object>(object: T) -> Result<*mut T::Handle, Failure> {
    let living = Living { kind: T::KIND, name: T::NAME, object: Arc::new(object) };
    between_forks(|| add(living))
}

/// Puts an object into the table. Gives the bits of its handle, as a pointer.
fn add<H>(living: Living) -> Result<*mut H, Failure> {
    let kind = living.kind;
    let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    let index = match table.free.pop() {
        Some(index) => index,
        None => {
            let index = table.entries.len() as u32;
            if index >= 1 << INDEX_BITS {
                return Err(Failure::new(WARPJIT_ERROR_HANDLE, "there are too many handles"));
            }
            table.entries.push(Entry { generation: 0, object: None });
            index
        }
    };
    let entry = &mut table.entries[index as usize];
    entry.object = Some(living);
    let bits = u64::from(index) | u64::from(entry.generation) << INDEX_BITS | u64::from(kind) << KIND_SHIFT;
    Ok(std::ptr::without_provenance_mut(bits as usize))
}

/// The number and the generation of an entry that a handle names.
fn parts(bits: usize) -> (usize, u32) {
    (bits & ((1 << INDEX_BITS) - 1), (bits >> INDEX_BITS) as u32)
}

/// The object that a handle of any kind names.
fn living(table: &Table, bits: usize, wanted: &str) -> Result<Living, Failure> {
    let bad = |reason: String| Err(Failure::new(WARPJIT_ERROR_HANDLE, reason));
    let (index, generation) = parts(bits);
    if bits == 0 {
        return bad(format!("NULL is no {wanted}"));
    }
    let Some(entry) = table.entries.get(index).filter(|_| bits >> KIND_SHIFT != 0) else {
        return bad(format!("{bits:#x} is no handle; a {wanted} is needed"));
    };
    match &entry.object {
        Some(living) if entry.generation == generation && usize::from(living.kind) == bits >> KIND_SHIFT => {
            Ok(living.clone())
        }
        _ => bad(format!("{bits:#x} was freed; a {wanted} is needed")),
    }
}

/// The object that a handle names. It lives as long as the result, even if the handle is freed meanwhile.
pub(crate) fn get<T: Object>(handle: *const T::Handle) -> Result<Arc<T>, Failure> {
    let living = between_forks(|| {
        let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
        living(&table, handle.addr(), T::NAME)
    })?;
    let found = living.name;
    living
        .object
        .downcast()
        .map_err(|_| Failure::new(WARPJIT_ERROR_HANDLE, format!("a {found} where a {} is needed", T::NAME)))
}

/// The same of a handle that may be null.
pub(crate) fn get_or_none<T: Object>(handle: *const T::Handle) -> Result<Option<Arc<T>>, Failure> {
    if handle.is_null() { Ok(None) } else { get(handle).map(Some) }
}

/// Frees a handle. Gives its object back, so that it can be dropped while the table is not locked.
fn remove(bits: usize) -> Result<Arc<dyn Any + Send + Sync>, Failure> {
    between_forks(|| take(bits))
}

fn take(bits: usize) -> Result<Arc<dyn Any + Send + Sync>, Failure> {
    let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    let living = living(&table, bits, "handle")?;
    let (index, _) = parts(bits);
    let entry = &mut table.entries[index];
    entry.object = None;
    // An entry whose generations are used up has no objects any more.
    if let Some(next) = entry.generation.checked_add(1) {
        entry.generation = next;
        table.free.push(index as u32);
    }
    Ok(living.object)
}

/// Frees a handle of any kind. NULL is allowed and does nothing. What the handle named lives on while calls that use it run, and as long as
/// other objects need it: a launch keeps the memory that it runs in.
///
/// A handle that was freed before, or that never was one, is WARPJIT_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_free(handle: *mut c_void) -> warpjit_status {
    entry!({
        if !handle.is_null() {
            drop(remove(handle.addr())?);
        }
    })
}

/// A description that calls change until it is used. Who uses it gets a copy of the moment, so it can be changed meanwhile.
pub(crate) struct Draft<T>(Mutex<Arc<T>>);

impl<T: Clone> Draft<T> {
    pub fn new(value: T) -> Self {
        Draft(Mutex::new(Arc::new(value)))
    }

    fn lock(&self) -> MutexGuard<'_, Arc<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As it is now.
    pub fn now(&self) -> Arc<T> {
        self.lock().clone()
    }

    /// Changes it.
    pub fn edit<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        work(Arc::make_mut(&mut self.lock()))
    }
}

/// Names an object's kind and the type of its handles.
#[macro_export]
#[doc(hidden)]
macro_rules! object {
    ($object:ty, $kind:literal, $name:literal, $handle:ty) => {
        impl $crate::handle::Object for $object {
            const KIND: u8 = $kind;
            const NAME: &'static str = $name;
            type Handle = $handle;
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The handle type of these tests.
    pub enum Opaque {}

    struct Number(u32);
    object!(Number, 126, "number", Opaque);

    struct Other;
    object!(Other, 127, "other object", Opaque);

    #[test]
    fn a_freed_handle_names_nothing_even_when_its_entry_is_used_again() {
        let first = make(Number(1)).unwrap();
        assert_eq!(get::<Number>(first).unwrap().0, 1);
        let kept = get::<Number>(first).unwrap();
        remove(first.addr()).unwrap();
        let second = make(Number(2)).unwrap();
        for _ in 0..2 {
            assert!(get::<Number>(first).is_err_and(|failure| failure.text.contains("was freed")));
            assert!(remove(first.addr()).is_err());
        }
        assert_eq!((kept.0, get::<Number>(second).unwrap().0), (1, 2));
        remove(second.addr()).unwrap();
    }

    #[test]
    fn what_is_no_such_handle_is_refused() {
        let number = make(Number(1)).unwrap();
        let wrong = get::<Other>(number).err().unwrap();
        assert_eq!(wrong.text, "a number where a other object is needed");
        let local = 0_u64;
        for pointer in [std::ptr::null(), (&raw const local).cast(), std::ptr::without_provenance(usize::MAX)]
        {
            assert!(get::<Number>(pointer).is_err_and(|failure| failure.status == WARPJIT_ERROR_HANDLE));
        }
        remove(number.addr()).unwrap();
    }
}

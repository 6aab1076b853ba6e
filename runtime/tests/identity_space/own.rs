//! Memory of a test, some pages of which are registered in a space.

use super::{PAGE, Space};
use warpjit_runtime::Access;

/// Pages of the test.
const PAGES: usize = 64;

#[repr(align(4096))]
struct Pages {
    _bytes: [u8; PAGES * PAGE as usize],
}

/// Memory of the test, some pages of which are registered.
pub struct Own(*mut Pages);

impl Own {
    pub fn new() -> Own {
        Own(Box::into_raw(Box::new(Pages { _bytes: [0x55; PAGES * PAGE as usize] })))
    }

    /// The address of a page.
    pub fn page(&self, number: u64) -> u64 {
        self.0.expose_provenance() as u64 + number * PAGE
    }

    /// Registers pages.
    pub fn register(&self, space: &Space, pages: std::ops::Range<u64>, access: Access) {
        let (at, bytes) = (self.page(pages.start) as usize, (pages.end - pages.start) * PAGE);
        let pointer = std::ptr::with_exposed_provenance_mut(at);
        // SAFETY: the pages live as long as the test's spaces, and are accessed by volatile accesses only.
        unsafe { space.memory.map_host(None, pointer, bytes, access) }.unwrap();
    }

    pub fn bytes(&self, pages: std::ops::Range<u64>) -> Vec<u8> {
        let bytes = self.page(pages.start)..self.page(pages.end);
        // SAFETY: pages of this memory.
        bytes
            .map(|at| unsafe { std::ptr::with_exposed_provenance::<u8>(at as usize).read_volatile() })
            .collect()
    }

    pub fn fill(&self, pages: std::ops::Range<u64>, byte: impl Fn(u64) -> u8) {
        let start = self.page(pages.start);
        for at in start..self.page(pages.end) {
            // SAFETY: as above.
            unsafe {
                std::ptr::with_exposed_provenance_mut::<u8>(at as usize).write_volatile(byte(at - start))
            };
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw`; the spaces are gone.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

//! Mappings of spaces whose addresses are the host's: they lie wherever the system puts them.

use super::reservation::{Backing, Rights};
use crate::Error;
use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap, mmap_anonymous, mremap_fixed, munmap};
use std::ffi::c_void;

/// Maps fresh zeroed pages at a free address of the host: this one, or one that the system chooses.
pub fn map(address: Option<u64>, bytes: u64, rights: Rights) -> Result<u64, Error> {
    map_new(address, |place, flags| {
        // SAFETY: a new mapping that replaces none (`map_new`).
        unsafe { mmap_anonymous(place, bytes as usize, rights.prot(), MapFlags::PRIVATE | flags) }
    })
}

/// Maps pages of something else at a free address of the host.
pub fn map_backing(
    address: Option<u64>,
    bytes: u64,
    rights: Rights,
    backing: &Backing<'_>,
) -> Result<u64, Error> {
    let (prot, bytes) = (rights.prot(), bytes as usize);
    map_new(address, |place, flags| {
        // SAFETY: as in `map`.
        unsafe {
            match *backing {
                Backing::File { file, offset, private } => {
                    let kind = if private { MapFlags::PRIVATE } else { MapFlags::SHARED };
                    mmap(place, bytes, prot, kind | flags, file, offset)
                }
                _ => mmap_anonymous(place, bytes, prot, MapFlags::SHARED | flags),
            }
        }
    })
}

/// Makes a mapping that replaces none.
fn map_new(
    address: Option<u64>,
    map: impl FnOnce(*mut c_void, MapFlags) -> rustix::io::Result<*mut c_void>,
) -> Result<u64, Error> {
    let flags = address.map_or(MapFlags::empty(), |_| MapFlags::FIXED_NOREPLACE);
    let wanted = std::ptr::without_provenance_mut(address.unwrap_or(0) as usize);
    let place = map(wanted, flags).map_err(|error| Error::os("map guest memory", error))?;
    Ok(place.expose_provenance() as u64)
}

/// Unmaps pages that [`map`] or [`map_backing`] has mapped.
pub fn unmap(address: u64, bytes: u64) -> Result<(), Error> {
    // SAFETY: only the space knows them, and accesses of guests to them fault from now on.
    unsafe { munmap(std::ptr::without_provenance_mut(address as usize), bytes as usize) }
        .map_err(|error| Error::os("unmap guest memory", error))
}

/// Takes a free range of the host's addresses, without rights.
pub fn hold(address: u64, bytes: u64) -> Result<(), Error> {
    map_new(Some(address), |place, flags| {
        let flags = flags | MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping that replaces none (`map_new`).
        unsafe { mmap_anonymous(place, bytes as usize, ProtFlags::empty(), flags) }
    })
    .map(|_| ())
}

/// Moves pages that [`map`] or [`map_backing`] has mapped over others that the space holds.
pub fn relocate(from: u64, bytes: u64, to: u64) -> Result<(), Error> {
    let [from, to] = [from, to].map(|at| std::ptr::without_provenance_mut(at as usize));
    let bytes = bytes as usize;
    // SAFETY: both ranges are the space's, and nobody knows the first one yet.
    let place = unsafe { mremap_fixed(from, bytes, bytes, MremapFlags::MAYMOVE, to) };
    let place = place.map_err(|error| Error::os("map guest memory", error))?;
    // Pointers to it are made of its address.
    place.expose_provenance();
    Ok(())
}

/// Takes all rights to such pages away. Nothing else can be mapped there until they are unmapped.
pub fn hide(address: u64, bytes: u64) -> Result<(), Error> {
    let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
    let place = std::ptr::without_provenance_mut(address as usize);
    // SAFETY: the pages are the space's, so what is replaced is nobody else's.
    unsafe { mmap_anonymous(place, bytes as usize, ProtFlags::empty(), flags) }
        .map(|_| ())
        .map_err(|error| Error::os("unmap guest memory", error))
}

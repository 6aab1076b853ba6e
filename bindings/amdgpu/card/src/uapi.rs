//! Structures of the kernel's interface, as bytes: fields are read and written at their offsets.

use rustix::io::Errno;

/// The memory of the program that calls, as the kernel sees it.
pub trait User {
    /// Copies from the program.
    ///
    /// # Errors
    /// EFAULT where nothing is mapped.
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Errno>;

    /// Copies to the program.
    ///
    /// # Errors
    /// EFAULT where nothing is mapped.
    fn write(&self, address: u64, data: &[u8]) -> Result<(), Errno>;

    /// All of it as a file, whose offsets are addresses: for what the card reads and writes after the call (USERPTR).
    ///
    /// # Errors
    /// EINVAL if there is no such thing, which there need not be.
    fn file(&self) -> Result<std::fs::File, Errno> {
        Err(Errno::INVAL)
    }
}

/// The 32-bit field at an offset.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].try_into().map_or(0, u32::from_le_bytes)
}

/// The 64-bit field at an offset.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].try_into().map_or(0, u64::from_le_bytes)
}

/// Sets the 32-bit field at an offset.
pub(crate) fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Sets the 64-bit field at an offset.
pub(crate) fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// Most elements of an array that the program passes.
const MOST: u32 = 1 << 16;

/// An array of elements of so many bytes. More than any driver passes is EINVAL.
pub(crate) fn array(user: &dyn User, address: u64, count: u32, bytes: usize) -> Result<Vec<u8>, Errno> {
    if count > MOST {
        return Err(Errno::INVAL);
    }
    let mut out = vec![0; count as usize * bytes];
    if !out.is_empty() {
        user.read(address, &mut out)?;
    }
    Ok(out)
}

/// An array of 32-bit numbers.
pub(crate) fn u32s(user: &dyn User, address: u64, count: u32) -> Result<Vec<u32>, Errno> {
    Ok(array(user, address, count, 4)?.chunks_exact(4).map(|word| u32_at(word, 0)).collect())
}

/// An array of 64-bit numbers.
pub(crate) fn u64s(user: &dyn User, address: u64, count: u32) -> Result<Vec<u64>, Errno> {
    Ok(array(user, address, count, 8)?.chunks_exact(8).map(|word| u64_at(word, 0)).collect())
}

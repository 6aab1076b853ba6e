//! Reads files without a container: little-endian instruction words and nothing else.

use bytes::Bytes;

use super::limits;
use crate::Isa;
use crate::error::ContainerError;
use crate::module::{Kernel, Module};

/// Takes the bytes as one program at address 0.
pub fn load(bytes: &[u8], isa: Isa) -> Result<Module, ContainerError> {
    if bytes.is_empty() {
        return Err(ContainerError::Empty);
    }
    if !bytes.len().is_multiple_of(4) {
        return Err(ContainerError::RaggedWords { len: bytes.len() as u64 });
    }
    let (len, most) = (bytes.len() as u64, limits::CODE.into());
    if len > most {
        return Err(ContainerError::TooLong { len, most });
    }
    let kernel = Kernel { code: Bytes::copy_from_slice(bytes), ..Kernel::default() };
    Ok(Module { kernels: vec![kernel], ..Module::nothing(isa) })
}

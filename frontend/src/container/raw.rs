//! Raw little-endian words.

use super::{ContainerError, Kernel, Module};
use crate::Isa;

/// Takes the bytes as one program at address 0.
pub fn load(bytes: &[u8], isa: Isa) -> Result<Module, ContainerError> {
    if bytes.is_empty() {
        return Err(ContainerError::Empty);
    }
    if !bytes.len().is_multiple_of(4) {
        return Err(ContainerError::RaggedWords { len: bytes.len() as u64 });
    }
    let kernel = Kernel { code: bytes.to_vec(), ..Kernel::default() };
    Ok(Module {
        isa,
        chip: None,
        kernels: vec![kernel],
        globals: Vec::new(),
        global_memory: None,
        const_symbols: Vec::new(),
    })
}

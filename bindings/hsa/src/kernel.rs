//! Kernels as packets name them: by the address of a descriptor.

use crate::chip::Device;
use crate::executable::Loaded;
use std::sync::{Arc, OnceLock};
use warpjit_frontend::gcn::abi::property;
use warpjit_runtime::{Isa, Memory, Program, ProgramOptions};

/// What functions whose scratch the compiler could not count are given besides, bytes a lane: as much as LLVM counts for calls that it does not know.
const STACK_OF_CALLS: u32 = 16384;

/// A kernel.
#[derive(Debug)]
pub struct Kernel {
    /// Its name, without `.kd`.
    pub name: String,
    /// The address of its descriptor.
    pub object: u64,
    /// The address of its first instruction.
    pub entry: u64,
    pub(crate) rsrc1: u32,
    pub(crate) rsrc2: u32,
    pub(crate) properties: u32,
    pub(crate) private_bytes: u32,
    pub(crate) group_bytes: u32,
    pub(crate) kernarg_bytes: u32,
    pub(crate) kernarg_alignment: u32,
    /// The code object that it is of.
    loaded: Arc<Loaded>,
    program: OnceLock<Result<Program, String>>,
}

impl Kernel {
    /// Reads the descriptor at an address, which is mapped.
    pub(crate) fn read(
        memory: &Memory,
        name: &str,
        object: u64,
        loaded: Arc<Loaded>,
    ) -> Result<Kernel, String> {
        let old = loaded.old;
        let mut bytes = [0; 256];
        let bytes = &mut bytes[..if old { 256 } else { 64 }];
        memory.read(object, bytes).map_err(|error| error.to_string())?;
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        if old && word(0) != 1 {
            return Err(format!("version {} of amd_kernel_code_t", word(0)));
        }
        let base = Kernel {
            name: name.strip_suffix(".kd").unwrap_or(name).to_owned(),
            object,
            entry: object.wrapping_add(long(16)),
            rsrc1: word(48),
            rsrc2: word(52),
            properties: word(56) & 0xffff,
            private_bytes: word(4),
            group_bytes: word(0),
            kernarg_bytes: word(8),
            kernarg_alignment: 16,
            loaded,
            program: OnceLock::new(),
        };
        if !old {
            return Ok(base);
        }
        // amd_kernel_code_t: kernarg_segment_byte_size 72, its alignment as a power of two 101.
        Ok(Kernel {
            properties: word(56) & !(property::WAVE32 | property::DYNAMIC_STACK),
            private_bytes: word(60),
            group_bytes: word(64),
            kernarg_bytes: long(72).min(u32::MAX.into()) as u32,
            kernarg_alignment: 1 << bytes[101].clamp(4, 16),
            ..base
        })
    }

    pub(crate) fn has(&self, property: u32) -> bool {
        self.properties & property != 0
    }

    /// Whether functions take scratch that nobody has counted.
    pub(crate) fn has_dynamic_stack(&self) -> bool {
        self.has(property::DYNAMIC_STACK)
    }

    /// Bytes of a lane's scratch, if the packet says so many.
    pub(crate) fn scratch_bytes(&self, packet: u32) -> u32 {
        let more = if self.has_dynamic_stack() { STACK_OF_CALLS } else { 0 };
        packet.max(self.private_bytes).saturating_add(more)
    }

    /// Bytes of LDS that the registers give it without what the packet says.
    pub(crate) fn own_group_bytes(&self) -> u32 {
        (self.rsrc2 >> 15 & 0x1ff) * 512
    }

    /// Whether waves have scratch.
    pub(crate) fn has_scratch(&self) -> bool {
        self.rsrc2 & 1 != 0
    }

    /// Words of user data.
    pub(crate) fn user_words(&self) -> usize {
        (self.rsrc2 >> 1 & 0x1f) as usize
    }

    /// Whether it knows where LDS and scratch are among flat addresses: before gfx9, programs learn it from the queue.
    pub(crate) fn knows_apertures(&self) -> bool {
        self.has(property::QUEUE_POINTER) || self.has(property::FLAT_SCRATCH)
    }

    /// Addresses of functions of its code object.
    pub(crate) fn jump_targets(&self) -> Vec<u64> {
        self.loaded.functions.iter().map(|at| at.wrapping_add(self.loaded.delta)).collect()
    }

    /// Its program, loaded when it is first asked for.
    pub(crate) fn program(&self, memory: &Memory, device: &Device) -> Result<&Program, String> {
        let made = self.program.get_or_init(|| {
            if self.has(property::WAVE32) {
                return Err("it has waves of 32 lanes".into());
            }
            let options = ProgramOptions::new(Isa::Gcn)
                .chip(Some(device.model()))
                .raw(true)
                .rsrc1(Some(self.rsrc1))
                // What the packet says counts.
                .rsrc2(Some(self.rsrc2))
                .flat_apertures(self.knows_apertures())
                .jump_targets(self.jump_targets())
                .data_share_given(true);
            Program::load_at(memory, self.entry, &options).map_err(|error| error.to_string())
        });
        made.as_ref().map_err(Clone::clone)
    }
}

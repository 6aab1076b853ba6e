//! Parses what describes a kernel to the hardware: the 64-byte descriptor of versions 3 to 6, and the `amd_kernel_code_t` of
//! version 2 and of Mesa (docs/hardware/gcn.md section 6.1).

use super::{File, Symbol, error, number_at, unsupported};
use crate::container::limits;
use crate::error::ContainerError;

/// Bytes of a kernel descriptor.
const DESCRIPTOR_BYTES: usize = 64;
/// Bytes of an `amd_kernel_code_t`.
const CODE_T_BYTES: usize = 256;
/// Property: the wave has 32 lanes.
const WAVE32: u32 = 1 << 10;

/// Property: functions take scratch that the compiler could not count; descriptors from version 5 on (LLVM's AMDGPU
/// usage, "Kernel Descriptor").
const DYNAMIC_STACK: u32 = 1 << 11;
/// What they are given besides, bytes a lane: as much as LLVM counts for calls that it does not know, in versions before.
const STACK_OF_CALLS: u32 = 16384;

/// A kernel's resources.
pub(super) struct Head {
    /// Where it stands in the image.
    pub address: u32,
    /// Address of the first instruction.
    pub entry: u64,
    pub rsrc1: u32,
    pub rsrc2: u32,
    pub properties: u32,
    pub private_bytes: u32,
    pub shared_bytes: u32,
    pub kernarg_bytes: u32,
}

impl Head {
    pub(super) fn read(
        file: &File<'_>,
        symbol: &Symbol<'_>,
        name: &str,
    ) -> Result<Head, super::ContainerError> {
        let size = if file.old { CODE_T_BYTES } else { DESCRIPTOR_BYTES };
        let what = if file.old { "amd_kernel_code_t" } else { "descriptor" };
        let start = usize::try_from(symbol.address).ok();
        let bytes = start.and_then(|start| file.image.get(start..start.checked_add(size)?));
        let Some(bytes) = bytes else {
            let at = symbol.address;
            return error(symbol.at, format!("the {what} of `{name}` at {at:#x} is not within the image"));
        };
        // All offsets are within the size.
        let number = |offset, size| number_at(bytes, offset, size).unwrap_or(0);
        let word = |offset| number(offset, 4) as u32;
        let entry = symbol.address.wrapping_add(number(16, 8));
        let head = if file.old {
            if word(0) != 1 {
                let at = file.offset_of(symbol);
                return unsupported(at, format!("version {} of amd_kernel_code_t", word(0)));
            }
            Head {
                address: symbol.address as u32,
                entry,
                rsrc1: word(48),
                rsrc2: word(52),
                properties: word(56),
                private_bytes: word(60),
                shared_bytes: word(64),
                kernarg_bytes: u32::try_from(number(72, 8)).unwrap_or(u32::MAX),
            }
        } else {
            Head {
                address: symbol.address as u32,
                entry,
                rsrc1: word(48),
                rsrc2: word(52),
                properties: number(56, 2) as u32,
                private_bytes: word(4),
                shared_bytes: word(0),
                kernarg_bytes: word(8),
            }
        };
        head.check(|| file.offset_of(symbol), name)?;
        let dynamic = !file.old && head.properties & DYNAMIC_STACK != 0;
        let more = if dynamic { STACK_OF_CALLS } else { 0 };
        Ok(Head { private_bytes: (head.private_bytes + more).min(limits::SCRATCH), ..head })
    }

    fn check(&self, at: impl Fn() -> u64, name: &str) -> Result<(), ContainerError> {
        let most = [
            ("bytes of LDS", self.shared_bytes, limits::LDS),
            ("bytes of scratch a lane", self.private_bytes, limits::SCRATCH),
            ("bytes of arguments", self.kernarg_bytes, limits::KERNARG),
            ("user SGPRs", self.rsrc2 >> 1 & 0x1f, limits::USER_SGPRS),
        ];
        for (what, wanted, most) in most {
            if wanted > most {
                return error(at(), format!("kernel `{name}` wants {wanted} {what}, more than {most}"));
            }
        }
        if self.properties & WAVE32 != 0 {
            return unsupported(at(), format!("kernel `{name}` with waves of 32 lanes"));
        }
        Ok(())
    }

    /// Vector registers: COMPUTE_PGM_RSRC1 bits 5:0 count in fours.
    pub(super) fn vgprs(&self) -> u32 {
        ((self.rsrc1 & 0x3f) + 1) * 4
    }
}

impl File<'_> {
    /// Where a symbol's contents are in the file, for messages: images are made of segments of it.
    fn offset_of(&self, symbol: &Symbol<'_>) -> u64 {
        let part = self.parts.iter().find(|(part, _)| part.contains(&symbol.address));
        part.map_or(symbol.at, |(part, offset)| offset + (symbol.address - part.start))
    }
}

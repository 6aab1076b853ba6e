//! Emits an instruction that Cranelift does not know, by patching one that it does.
//!
//! AVX-512 can round a product towards zero whatever MXCSR says: `vmulps` with embedded rounding, on 512-bit registers, of which
//! the first 128 bits are used. Cranelift's 128-bit `vpmullq` has the same length and the same operand fields. So lowering emits
//! `vpmullq`, each under a source location of its own ([`mark`]), and [`patch`] rewrites the bytes of the finished code.

use cranelift_codegen::CompiledCode;
use cranelift_codegen::ir::SourceLoc;

/// Source locations from here on are marks. Trap sites have smaller numbers, guest addresses larger ones.
const MARKS: u32 = 0x7000_0000;

/// Length of either instruction.
const BYTES: usize = 6;

/// The source location of the `index`th product.
pub(crate) fn mark(index: u32) -> SourceLoc {
    SourceLoc::new(MARKS + index)
}

/// Whether a source location is a mark.
pub(crate) fn is_mark(loc: SourceLoc) -> bool {
    (MARKS..0x8000_0000).contains(&loc.bits())
}

/// Whether the bytes are a `vpmullq` on three 128-bit registers, all among the first sixteen.
fn is_stand_in(code: &[u8]) -> bool {
    matches!(code, &[0x62, p0, p1, 0x08, 0x40, registers]
        if p0 & 0x1f == 0x12 && p1 & 0x87 == 0x85 && registers >= 0xc0)
}

/// Rewrites the marked instructions of finished code; `false` if one is not the expected instruction.
pub(crate) fn patch(compiled: &CompiledCode, code: &mut [u8]) -> bool {
    let marked = compiled.buffer.get_srclocs_sorted().iter().filter(|l| is_mark(l.loc));
    for location in marked {
        let Some(range) = code.get_mut(location.start as usize..location.end as usize) else { return false };
        // Moves of the register allocator may be under the same mark.
        let mut found =
            (0..(range.len() + 1).saturating_sub(BYTES)).filter(|&at| is_stand_in(&range[at..at + BYTES]));
        let (Some(at), None) = (found.next(), found.next()) else { return false };
        let [_, p0, p1, p2, opcode, _] = &mut range[at..at + BYTES] else { return false };
        // Map 0F, no prefix, W0; 512 bits with rounding towards zero and no exceptions; MULPS.
        *p0 = *p0 & 0xf8 | 1;
        *p1 &= 0x7c;
        *p2 = 0x78;
        *opcode = 0x59;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_are_told_from_other_code() {
        // vpmullq xmm1, xmm2, xmm3 and with xmm8 to xmm15 (llvm-mc).
        assert!(is_stand_in(&[0x62, 0xf2, 0xed, 0x08, 0x40, 0xcb]));
        assert!(is_stand_in(&[0x62, 0x52, 0xb5, 0x08, 0x40, 0xc2]));
        // From memory; vpmulld; masked; on 256 bits.
        assert!(!is_stand_in(&[0x62, 0xf2, 0xed, 0x08, 0x40, 0x0f]));
        assert!(!is_stand_in(&[0x62, 0xf2, 0x6d, 0x08, 0x40, 0xcb]));
        assert!(!is_stand_in(&[0x62, 0xf2, 0xed, 0x09, 0x40, 0xcb]));
        assert!(!is_stand_in(&[0x62, 0xf2, 0xed, 0x28, 0x40, 0xcb]));
    }
}

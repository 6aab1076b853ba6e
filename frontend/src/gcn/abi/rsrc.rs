//! Decodes the registers that say how a program starts: COMPUTE_PGM_RSRC1, COMPUTE_PGM_RSRC2 and COMPUTE_TMPRING_SIZE.
//!
//! Their layouts are from Mesa's `sid.h` and LLVM's AMDGPU guide ("Code Object Format"). What the hardware loads at entry is from
//! the guide's "Initial Kernel Execution State" (docs/hardware/gcn.md section 6, docs/hardware/drivers-amd.md).

use warpjit_ir::{Builtin, WarpRing};

use super::{MOST_SGPRS, Setup};
use crate::error::CodeError;
use crate::gcn::Generation;
use crate::gcn::lift::{Entry, Register};

/// Bytes of a lane's scratch are given in these units, times 64 lanes.
const TMPRING_GRANULE: u32 = 1024;

/// COMPUTE_PGM_RSRC1: registers of a wave, MODE. SPI_SHADER_PGM_RSRC1 of graphics stages has these fields, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rsrc1(pub(super) u32);

impl Rsrc1 {
    /// Vector registers of a lane: VGPRS 5:0, in fours.
    pub(super) fn vgprs(self) -> u32 {
        ((self.0 & 0x3f) + 1) * 4
    }

    /// Scalar registers of a wave: SGPRS 9:6, in eights; on 1.4 in sixteens, counted by two.
    pub(super) fn sgprs(self, generation: Generation) -> u32 {
        let count = self.0 >> 6 & 15;
        if generation == Generation::Gfx9 { (count / 2 + 1) * 16 } else { (count + 1) * 8 }
    }

    /// MODE at the entry: FLOAT_MODE 19:12, DX10_CLAMP 21, IEEE_MODE 23. PRIV and DEBUG_MODE concern trap handlers only.
    pub(super) fn mode(self) -> u32 {
        self.0 >> 12 & 0xff | (self.0 >> 21 & 1) << 8 | (self.0 >> 23 & 1) << 9
    }

    /// Refuses what cannot be had; `kernel`: whose descriptor says it.
    pub(super) fn check(self, generation: Generation, kernel: Option<&str>) -> Result<(), CodeError> {
        /// Results of 16-bit floats are clamped to the largest finite one.
        const FP16_OVFL: u32 = 1 << 26;
        let sgprs = self.sgprs(generation);
        if sgprs > MOST_SGPRS {
            let (kernel, generation) = (kernel.map(str::to_owned), generation.to_string());
            return Err(CodeError::Sgprs { kernel, rsrc1: self.0, sgprs, generation, limit: MOST_SGPRS });
        }
        if generation == Generation::Gfx9 && self.0 & FP16_OVFL != 0 {
            return Err(CodeError::Fp16Overflow { kernel: kernel.map(str::to_owned), rsrc1: self.0 });
        }
        Ok(())
    }
}

/// COMPUTE_PGM_RSRC2: what the hardware loads into registers, LDS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rsrc2(pub(super) u32);

impl Rsrc2 {
    fn bit(self, number: u32) -> bool {
        self.0 >> number & 1 != 0
    }

    /// SCRATCH_EN: the offset of the wave's scratch is loaded.
    pub(super) fn has_scratch(self) -> bool {
        self.bit(0)
    }

    /// Scalar registers that are loaded with words of the launch, from `s0` on.
    pub(super) fn user_sgprs(self) -> u32 {
        self.0 >> 1 & 0x1f
    }

    /// The same of a graphics stage: on 1.4 it can be twice as many, by USER_SGPR_MSB 28.
    pub(super) fn stage_user_sgprs(self, generation: Generation) -> u32 {
        let more = if generation == Generation::Gfx9 { (self.0 >> 28 & 1) << 5 } else { 0 };
        self.user_sgprs() | more
    }

    /// LDS_SIZE 23:15, in 64 dwords; from 1.1 on in 128.
    pub(super) fn lds_bytes(self, generation: Generation) -> u32 {
        let granule = if generation == Generation::Gfx6 { 256 } else { 512 };
        (self.0 >> 15 & 0x1ff) * granule
    }

    /// The exceptions that go to trap handlers, as MODE has them: EXCP_EN 30:24, and on 1.4 EXCP_EN_MSB 14:13.
    pub(super) fn exceptions(self, generation: Generation) -> u32 {
        let more = if generation == Generation::Gfx9 { (self.0 >> 13 & 3) << 19 } else { 0 };
        (self.0 >> 24 & 0x7f) << 12 | more
    }

    /// Adds what the hardware loads by itself: behind the user SGPRs the workgroup's numbers (TGID_X/Y/Z_EN), the workgroup's info
    /// (TG_SIZE_EN) and the offset of the wave's scratch (SCRATCH_EN); in `v0` to `v2` the thread's numbers (TIDIG_COMP_CNT).
    ///
    /// # Errors
    ///
    /// The wave has not so many scalar registers: gives how many are loaded, and how many there are.
    pub(super) fn load_registers(self, setup: &mut Setup, scratch: Entry) -> Result<(), (u32, u32)> {
        let groups =
            (0..3).filter(|&axis| self.bit(7 + axis)).map(|axis| Entry::Builtin(Builtin::Ctaid(axis as u8)));
        let info = self.bit(10).then_some(Entry::GroupInfo);
        let scratch = self.has_scratch().then_some(scratch);
        let mut number = self.user_sgprs();
        for entry in groups.chain(info).chain(scratch) {
            setup.preload.push((Register::Scalar(number as u8), entry));
            number += 1;
        }
        if number > setup.sgprs {
            return Err((number, setup.sgprs));
        }
        // 3 is no defined value.
        let last = (self.0 >> 11 & 3).min(2) as u8;
        let threads = (0..=last).map(|axis| (Register::Vgpr(axis), Entry::Builtin(Builtin::Tid(axis))));
        setup.preload.extend(threads);
        Ok(())
    }
}

/// Words of user data that COMPUTE_PGM_RSRC2 has loaded.
pub fn user_words(rsrc2: u32) -> u32 {
    Rsrc2(rsrc2).user_sgprs()
}

/// Words of user data that SPI_SHADER_PGM_RSRC2 of a graphics stage has loaded.
pub fn stage_user_words(rsrc2: u32, generation: Generation) -> u32 {
    Rsrc2(rsrc2).stage_user_sgprs(generation)
}

/// How COMPUTE_TMPRING_SIZE shares scratch out: WAVES 11:0 at a time, WAVESIZE 24:12 for each in KiB.
pub fn tmpring(register: u32) -> WarpRing {
    WarpRing { warps: register & 0xfff, warp_bytes: (register >> 12 & 0x1fff) * TMPRING_GRANULE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Generation::{Gfx6, Gfx7, Gfx9};

    /// Values as drivers set them, taken apart by hand (docs/hardware/gcn.md section 6.1, docs/hardware/drivers-amd.md).
    #[test]
    fn fields() {
        let rsrc1 = Rsrc1(0x002c_0043);
        assert_eq!((rsrc1.vgprs(), rsrc1.sgprs(Gfx6), rsrc1.sgprs(Gfx9)), (16, 16, 16));
        assert_eq!(rsrc1.mode(), 0x1c0, "denormals of f64 and f16, DX10_CLAMP");
        assert_eq!(Rsrc1(0x00af_03c0).mode(), 0x3f0);
        assert_eq!((Rsrc1(0x3c0).sgprs(Gfx7), Rsrc1(0x3c0).sgprs(Gfx9)), (128, 128));
        assert!(Rsrc1(0x3c0).check(Gfx7, None).is_err());
        assert!(Rsrc1(1 << 26).check(Gfx9, None).is_err());
        assert!(Rsrc1(1 << 26).check(Gfx7, None).is_ok());

        let rsrc2 = Rsrc2(0x0004_008c);
        assert_eq!((rsrc2.user_sgprs(), rsrc2.has_scratch()), (6, false));
        assert_eq!((rsrc2.lds_bytes(Gfx6), rsrc2.lds_bytes(Gfx7)), (8 * 256, 8 * 512));
        assert_eq!(Rsrc2(0x7f00_6000).exceptions(Gfx6), 0x7f000);
        assert_eq!(Rsrc2(0x0100_2000).exceptions(Gfx9), 0x81000);
        assert_eq!(tmpring(0x0001_8020), WarpRing { warps: 32, warp_bytes: 24 * 1024 });
    }

    /// Everything enabled, in the hardware's order.
    #[test]
    fn loaded_registers() {
        let mut setup = super::super::raw::tests::bare();
        let rsrc2 = Rsrc2(1 | 3 << 1 | 7 << 7 | 1 << 10 | 2 << 11);
        rsrc2.load_registers(&mut setup, Entry::WarpOffset(1)).unwrap();
        let group = |axis| Entry::Builtin(Builtin::Ctaid(axis));
        let thread = |axis| (Register::Vgpr(axis), Entry::Builtin(Builtin::Tid(axis)));
        let scalars = [group(0), group(1), group(2), Entry::GroupInfo, Entry::WarpOffset(1)];
        let scalars = (3..).zip(scalars).map(|(number, entry)| (Register::Scalar(number), entry));
        let wanted: Vec<_> = scalars.chain([thread(0), thread(1), thread(2)]).collect();
        assert_eq!(setup.preload, wanted);

        let mut setup = super::super::raw::tests::bare();
        Rsrc2(2 << 1 | 1 << 8).load_registers(&mut setup, Entry::Const(0)).unwrap();
        assert_eq!(setup.preload, [(Register::Scalar(2), group(1)), thread(0)]);
        setup.sgprs = 8;
        assert_eq!(Rsrc2(8 << 1 | 1 << 8).load_registers(&mut setup, Entry::Const(0)), Err((9, 8)));
    }
}

//! Sets up programs without a container, as drivers and consoles have them.
//!
//! If COMPUTE_PGM_RSRC1 and RSRC2 are given, the program starts as the hardware's dispatch would start it: user data in the first
//! scalar registers, then what RSRC2 enables. Without them nothing is set up, and only a single wave with all lanes can run.

use std::sync::Arc;

use warpjit_ir::{Builtin, Segment, SegmentSize, WarpRing};

use super::rsrc::{Rsrc1, Rsrc2};
use super::{
    LANES, PRIVATE_APERTURE, RAW_SGPRS, SCRATCH_GRANULE, SHARED_APERTURE, Setup, code_segment, limits,
};
use crate::error::CodeError;
use crate::gcn::Generation;
use crate::gcn::lift::{Entry, Register};
use crate::image::CodeOptions;

/// MODE of raw code that does not say: round to nearest, denormals of f32 flushed, others kept; what compilers want before 1.4.
const RAW_MODE: u32 = 0xc0;
/// Words of user data that a dispatch has registers for.
const USER_WORDS: u32 = 16;
/// Words ahead of the user data of a stage that is two programs in one.
const SYSTEM_WORDS: u32 = 8;
/// Waves that share a scratch ring out among them where the launch does not say how many.
pub(super) const RING_WAVES: u32 = 32;

/// The setup of raw words. `code` becomes memory of the launch; without, it is in the guest's.
///
/// # Errors
///
/// Options that contradict each other, or ask for what the chip does not have.
pub(in crate::gcn) fn raw(
    generation: Generation,
    code: Option<&Arc<[u8]>>,
    options: &CodeOptions,
) -> Result<Setup, CodeError> {
    let mut abi = limits(generation);
    // There are no arguments: nothing would say where they are.
    abi.segments = code.map(|code| code_segment(code.clone())).into_iter().collect();
    let setup = Setup {
        vgprs: options.registers.unwrap_or(abi.max_registers),
        abi,
        preload: Vec::new(),
        mode: RAW_MODE,
        sgprs: options.sgprs.unwrap_or(RAW_SGPRS),
        params: None,
        shared_bytes: options.shared.unwrap_or(0),
        local_bytes: options.local.unwrap_or(0),
        apertures: (SHARED_APERTURE, PRIVATE_APERTURE),
    };
    match (options.rsrc1, options.rsrc2) {
        (None, None) if !options.known_user_data.is_empty() => Err(CodeError::UserDataWithoutRsrc),
        (None, None) => Ok(setup),
        (Some(rsrc1), Some(rsrc2)) if options.stage.is_some() => {
            staged(generation, setup, (Rsrc1(rsrc1), Rsrc2(rsrc2)), options)
        }
        (Some(rsrc1), Some(rsrc2)) => dispatched(generation, setup, (Rsrc1(rsrc1), Rsrc2(rsrc2)), options),
        _ => Err(CodeError::OneRsrc),
    }
}

/// The setup of a program that a dispatch starts.
fn dispatched(
    generation: Generation,
    setup: Setup,
    (rsrc1, rsrc2): (Rsrc1, Rsrc2),
    options: &CodeOptions,
) -> Result<Setup, CodeError> {
    let users = rsrc2.user_sgprs();
    check_registers(generation, (rsrc1, rsrc2), users, ("a dispatch", USER_WORDS), options)?;
    let (bytes, limit) = (setup.local_bytes, setup.abi.max_local_bytes);
    if bytes > limit {
        return Err(CodeError::Scratch { bytes, limit });
    }
    let mut setup = Setup {
        mode: rsrc1.mode() | rsrc2.exceptions(generation),
        vgprs: rsrc1.vgprs(),
        sgprs: rsrc1.sgprs(generation),
        shared_bytes: rsrc2.lds_bytes(generation),
        apertures: if generation == Generation::Gfx9 || options.flat_apertures {
            setup.apertures
        } else {
            (0, 0)
        },
        ..setup
    };
    let ring = setup.abi.segments.len() as u8;
    if rsrc2.has_scratch() {
        setup.abi.segments.push(scratch_ring(setup.local_bytes));
    } else if setup.local_bytes != 0 {
        return Err(CodeError::NoScratch { rsrc2: rsrc2.0 });
    }
    load_user_data(&mut setup, users, options);
    rsrc2.load_registers(&mut setup, Entry::WarpOffset(ring)).map_err(|(loaded, sgprs)| {
        CodeError::LoadedSgprs { rsrc1: rsrc1.0, rsrc2: rsrc2.0, loaded, sgprs }
    })?;
    Ok(setup)
}

/// The setup of a program of a graphics stage, with its SPI_SHADER_PGM_RSRC1 and RSRC2: registers, MODE and user data. What else the
/// hardware loads is among the stage's inputs, which name their registers.
fn staged(
    generation: Generation,
    setup: Setup,
    (rsrc1, rsrc2): (Rsrc1, Rsrc2),
    options: &CodeOptions,
) -> Result<Setup, CodeError> {
    let users = rsrc2.stage_user_sgprs(generation);
    // What the hardware loads by itself comes the same way: behind the sixteen of up to 1.2, and on 1.4, whose programs that are two in one
    // have 32, ahead of them.
    let limit = 2 * USER_WORDS + if generation == Generation::Gfx9 { SYSTEM_WORDS } else { 0 };
    check_registers(generation, (rsrc1, rsrc2), users, ("a stage", limit), options)?;
    let mut setup = Setup {
        mode: rsrc1.mode(),
        vgprs: rsrc1.vgprs(),
        sgprs: rsrc1.sgprs(generation),
        apertures: if generation == Generation::Gfx9 { setup.apertures } else { (0, 0) },
        ..setup
    };
    if users > setup.sgprs {
        let sgprs = setup.sgprs;
        return Err(CodeError::LoadedSgprs { rsrc1: rsrc1.0, rsrc2: rsrc2.0, loaded: users, sgprs });
    }
    load_user_data(&mut setup, users, options);
    if rsrc2.has_scratch() {
        let register = options.stage.as_ref().and_then(|interface| interface.scratch);
        let register = register.ok_or(CodeError::ScratchOffset { rsrc2: rsrc2.0 })?;
        if u32::from(register) >= setup.sgprs {
            return Err(CodeError::ScratchRegister { register, sgprs: setup.sgprs });
        }
        let ring = setup.abi.segments.len() as u8;
        setup.abi.segments.push(scratch_ring(0));
        setup.preload.retain(|(loaded, _)| *loaded != Register::Scalar(register));
        setup.preload.push((Register::Scalar(register), Entry::WarpOffset(ring)));
    }
    Ok(setup)
}

/// Refuses what is said twice, and what cannot be had. `of` has user SGPRs, `limit` at most.
fn check_registers(
    generation: Generation,
    (rsrc1, rsrc2): (Rsrc1, Rsrc2),
    users: u32,
    (of, limit): (&'static str, u32),
    options: &CodeOptions,
) -> Result<(), CodeError> {
    // RSRC2 of a stage has no LDS size.
    let shared = options.shared.filter(|_| options.stage.is_none());
    for (name, given, by) in [
        ("registers", options.registers, "rsrc1"),
        ("sgprs", options.sgprs, "rsrc1"),
        ("shared", shared, "rsrc2"),
    ] {
        if given.is_some() {
            return Err(CodeError::GivenTwice { name, by });
        }
    }
    rsrc1.check(generation, None)?;
    if users > limit {
        return Err(CodeError::UserSgprs { rsrc2: rsrc2.0, users, of, limit });
    }
    if let Some(&(word, _)) = options.known_user_data.iter().find(|(word, _)| u32::from(*word) >= users) {
        return Err(CodeError::KnownUserData { word, rsrc2: rsrc2.0, users });
    }
    Ok(())
}

/// Loads the first scalar registers with words of the launch, or with those that are known.
fn load_user_data(setup: &mut Setup, users: u32, options: &CodeOptions) {
    let entry = |n: u8| {
        let known = options.known_user_data.iter().find(|(number, _)| *number == n);
        known.map_or(Entry::Builtin(Builtin::UserData(n)), |&(_, word)| Entry::Const(word))
    };
    setup.preload.extend((0..users as u8).map(|n| (Register::Scalar(n), entry(n))));
}

/// Scratch is a buffer of the launch, whose address the program has from a descriptor or a register. Waves share it out by the
/// offsets that they start with.
fn scratch_ring(local_bytes: u32) -> Segment {
    let warp_bytes = (local_bytes * LANES).next_multiple_of(SCRATCH_GRANULE);
    Segment {
        name: "scratch ring",
        address: 0,
        size: SegmentSize::Ring((local_bytes != 0).then_some(WarpRing { warps: RING_WAVES, warp_bytes })),
        writable: true,
        contents: Vec::new(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::stage::StageInterface;

    /// Raw code about which nothing is said.
    pub(in crate::gcn::abi) fn bare() -> Setup {
        raw(Generation::Gfx8, Some(&Arc::from([0; 4])), &CodeOptions { raw: true, ..CodeOptions::default() })
            .unwrap()
    }

    fn error(change: impl FnOnce(&mut CodeOptions)) -> String {
        let mut options = CodeOptions {
            raw: true,
            rsrc1: Some(0x2c_0043),
            rsrc2: Some(0x4_008c),
            ..CodeOptions::default()
        };
        change(&mut options);
        raw(Generation::Gfx8, Some(&Arc::from([0; 4])), &options).unwrap_err().to_string()
    }

    #[test]
    fn contradictions() {
        assert_eq!(error(|o| o.rsrc2 = None), "rsrc1 and rsrc2 go together, only one is given");
        assert_eq!(error(|o| o.registers = Some(4)), "registers is given beside rsrc1, which says it");
        assert_eq!(error(|o| o.sgprs = Some(4)), "sgprs is given beside rsrc1, which says it");
        assert_eq!(error(|o| o.shared = Some(4)), "shared is given beside rsrc2, which says it");
        assert_eq!(error(|o| o.local = Some(4)), "local is given, and rsrc2 0x4008c enables no scratch");
        assert_eq!(
            error(|o| o.local = Some(u32::MAX)),
            "local is 4294967295, a lane has at most 131056 bytes of scratch"
        );
        assert_eq!(error(|o| o.rsrc2 = Some(17 << 1)), "rsrc2 0x22 wants 17 user SGPRs, a dispatch has 16");
        assert_eq!(
            error(|o| (o.rsrc1, o.rsrc2) = (Some(0), Some(8 << 1 | 7 << 7))),
            "rsrc2 0x390 loads 11 SGPRs, rsrc1 0x0 gives a wave 8"
        );
        assert_eq!(error(|o| o.rsrc1 = Some(15 << 6)), "rsrc1 0x3c0 wants 128 SGPRs, fiji has 112");
    }

    #[test]
    fn words_of_a_stage() {
        let words = |generation, count: u32| {
            let options = CodeOptions {
                raw: true,
                stage: Some(StageInterface::default()),
                rsrc1: Some(0x43 | 6 << 6),
                rsrc2: Some((count & 31) << 1 | (count >> 5) << 28),
                ..CodeOptions::default()
            };
            raw(generation, Some(&Arc::from([0; 4])), &options).map(|setup| setup.preload.len())
        };
        assert_eq!(words(Generation::Gfx9, 40), Ok(40));
        let refused = words(Generation::Gfx9, 41).unwrap_err().to_string();
        assert_eq!(refused, "rsrc2 0x10000012 wants 41 user SGPRs, a stage has 40");
        // There the bit is another's.
        assert_eq!(words(Generation::Gfx8, 32 + 9), Ok(9));
    }

    #[test]
    fn scratch_of_a_launch() {
        let setup = |local| {
            let options = CodeOptions {
                raw: true,
                rsrc1: Some(0x43),
                rsrc2: Some(1 | 2 << 1),
                local,
                ..CodeOptions::default()
            };
            raw(Generation::Gfx8, Some(&Arc::from([0; 4])), &options).unwrap()
        };
        assert_eq!(setup(None).abi.segments[1].size, SegmentSize::Ring(None));
        let ring = WarpRing { warps: 32, warp_bytes: 3 * 1024 };
        assert_eq!(setup(Some(36)).abi.segments[1].size, SegmentSize::Ring(Some(ring)));
        assert_eq!(setup(None).preload[2], (Register::Scalar(2), Entry::WarpOffset(1)));
    }
}

//! Agents, caches, instruction sets.

use super::{answer, exports, put, text};
use crate::cells::Cells;
use crate::info::{self, Agent, ISA, WAVEFRONT, extension};
use crate::status::{Result, Status};
use crate::system::system;
use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

/// A function that is called for each handle.
type Visit = Option<unsafe extern "C" fn(u64, *mut c_void) -> Status>;

/// Calls a function for each of some handles, until it gives another status than SUCCESS, which is the result then.
///
/// # Safety
/// HSA's rules for the function.
pub(super) unsafe fn visit(
    handles: impl IntoIterator<Item = u64>,
    function: Visit,
    data: *mut c_void,
) -> Result<()> {
    let function = function.ok_or(Status::INVALID_ARGUMENT)?;
    for handle in handles {
        // SAFETY: as the caller promises.
        match unsafe { function(handle, data) } {
            Status::SUCCESS => {}
            other => return Err(other),
        }
    }
    Ok(())
}

/// Words that programs write to flush what a card has buffered, which has no meaning here.
fn flush_words() -> Result<u64> {
    static WORDS: OnceLock<Option<Cells>> = OnceLock::new();
    let system = system()?;
    let words = WORDS.get_or_init(|| Cells::new(&system.shared.memory, 4096).ok());
    words.as_ref().map(Cells::address).ok_or(Status::OUT_OF_RESOURCES)
}

fn check_isa(isa: u64) -> Result<()> {
    let system = system()?;
    if isa == ISA && system.device.is_some() { Ok(()) } else { Err(Status::INVALID_ISA) }
}

exports! {
    fn hsa_iterate_agents(function: Visit, data: *mut c_void) {
        let system = system()?;
        // SAFETY: HSA's rules for the function.
        unsafe { visit(Agent::all(system).into_iter().map(Agent::handle), function, data) }
    }

    fn hsa_agent_get_info(agent: u64, attribute: u32, value: *mut c_void) {
        let system = system()?;
        let agent = Agent::find(system, agent)?;
        let bytes = info::agent(system, agent, attribute, flush_words)?;
        // SAFETY: the place has room for what was asked for.
        unsafe { answer(value, &bytes) }
    }

    fn hsa_amd_image_get_info_max_dim(agent: u64, attribute: u32, value: *mut c_void) {
        let system = system()?;
        let agent = Agent::find(system, agent)?;
        if !(0x3000..=0x300c).contains(&attribute) {
            return Err(Status::INVALID_ARGUMENT);
        }
        let bytes = info::agent(system, agent, attribute, flush_words)?;
        // SAFETY: the place has room for what was asked for.
        unsafe { answer(value, &bytes) }
    }

    fn hsa_agent_get_exception_policies(agent: u64, profile: u32, mask: *mut u16) {
        Agent::find(system()?, agent)?;
        if profile > 1 {
            return Err(Status::INVALID_ARGUMENT);
        }
        // Exceptions are not told.
        // SAFETY: HSA's rules for the place.
        unsafe { put(mask, 0) }
    }

    fn hsa_agent_iterate_caches(agent: u64, function: Visit, data: *mut c_void) {
        let agent = Agent::find(system()?, agent)?;
        // SAFETY: HSA's rules for the function.
        unsafe { visit(info::caches(agent), function, data) }
    }

    fn hsa_cache_get_info(cache: u64, attribute: u32, value: *mut c_void) {
        let bytes = info::cache(system()?, cache, attribute)?;
        // SAFETY: the place has room for what was asked for.
        unsafe { answer(value, &bytes) }
    }

    fn hsa_agent_extension_supported(number: u16, agent: u64, major: u16, minor: u16, result: *mut bool) {
        let agent = Agent::find(system()?, agent)?;
        let is = agent == Agent::Device && number == extension::IMAGES && (major, minor) == (1, 0);
        // SAFETY: HSA's rules for the place.
        unsafe { put(result, is) }
    }

    fn hsa_agent_major_extension_supported(
        number: u16,
        agent: u64,
        major: u16,
        minor: *mut u16,
        result: *mut bool,
    ) {
        let agent = Agent::find(system()?, agent)?;
        let is = agent == Agent::Device && number == extension::IMAGES && major == 1;
        // SAFETY: HSA's rules for both places.
        unsafe {
            put(minor, 0)?;
            put(result, is)
        }
    }

    fn hsa_isa_from_name(name: *const c_char, isa: *mut u64) {
        let system = system()?;
        // SAFETY: HSA's rules for the text.
        let name = unsafe { text(name) }?;
        let device = system.device.as_ref().ok_or(Status::INVALID_ISA_NAME)?;
        let bare = format!("amdgcn-amd-amdhsa--{}", device.processor);
        if name != device.isa && name != bare {
            return Err(Status::INVALID_ISA_NAME);
        }
        // SAFETY: HSA's rules for the place.
        unsafe { put(isa, ISA) }
    }

    fn hsa_agent_iterate_isas(agent: u64, function: Visit, data: *mut c_void) {
        let agent = Agent::find(system()?, agent)?;
        let isas = (agent == Agent::Device).then_some(ISA);
        // SAFETY: HSA's rules for the function.
        unsafe { visit(isas, function, data) }
    }

    fn hsa_isa_get_info_alt(isa: u64, attribute: u32, value: *mut c_void) {
        check_isa(isa)?;
        let bytes = info::isa(system()?.device()?, attribute)?;
        // SAFETY: the place has room for what was asked for.
        unsafe { answer(value, &bytes) }
    }

    fn hsa_isa_get_info(isa: u64, attribute: u32, index: u32, value: *mut c_void) {
        check_isa(isa)?;
        if index != 0 {
            return Err(Status::INVALID_INDEX);
        }
        let bytes = info::isa(system()?.device()?, attribute)?;
        // SAFETY: the place has room for what was asked for.
        unsafe { answer(value, &bytes) }
    }

    fn hsa_isa_get_exception_policies(isa: u64, profile: u32, mask: *mut u16) {
        check_isa(isa)?;
        if profile > 1 {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: HSA's rules for the place.
        unsafe { put(mask, 0) }
    }

    fn hsa_isa_get_round_method(isa: u64, kind: u32, flush: u32, method: *mut u32) {
        check_isa(isa)?;
        if !matches!(kind, 1 | 2 | 4) || !matches!(flush, 1 | 2) {
            return Err(Status::INVALID_ARGUMENT);
        }
        // Single rounding.
        // SAFETY: HSA's rules for the place.
        unsafe { put(method, 1) }
    }

    fn hsa_isa_iterate_wavefronts(isa: u64, function: Visit, data: *mut c_void) {
        check_isa(isa)?;
        // SAFETY: HSA's rules for the function.
        unsafe { visit([WAVEFRONT], function, data) }
    }

    fn hsa_wavefront_get_info(wavefront: u64, attribute: u32, value: *mut c_void) {
        system()?;
        if wavefront != WAVEFRONT {
            return Err(Status::INVALID_WAVEFRONT);
        }
        if attribute != 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: HSA's rules for the place.
        unsafe { put(value.cast::<u32>(), 64) }
    }

    fn hsa_isa_compatible(code: u64, agent: u64, result: *mut bool) {
        check_isa(code)?;
        check_isa(agent)?;
        // SAFETY: HSA's rules for the place.
        unsafe { put(result, true) }
    }
}

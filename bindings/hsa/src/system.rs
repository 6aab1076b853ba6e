//! What a process has of the library, from `hsa_init` on.

use crate::chip::Device;
use crate::executable::Executables;
use crate::memory::Shared;
use crate::queue::Queues;
use crate::report::Reporter;
use crate::signal;
use crate::status::{Result, Status};
use std::sync::{Mutex, OnceLock, PoisonError};
use warpjit_card::settings::{CHIP, Settings};
use warpjit_card::store_code;
use warpjit_frontend::gcn::abi::{GDS_ADDRESS, GDS_BYTES, GDS_SYNC_BYTES};
use warpjit_runtime::{Access, Engine, Error};

/// The library's state. It is made once, and stays until the process ends.
pub struct System {
    /// The device; `None`: HIP does not know the chip that was asked for.
    pub device: Option<Device>,
    pub(crate) settings: Settings,
    pub(crate) shared: Shared,
    pub(crate) reporter: Reporter,
    pub(crate) executables: Executables,
    pub(crate) queues: Queues,
    /// The process that began with the library.
    process: u32,
    /// Made for the first dispatch: programs that only look for devices need no threads.
    engine: OnceLock<std::result::Result<Engine, Error>>,
}

static SYSTEM: OnceLock<System> = OnceLock::new();
/// How often `hsa_init` was called more than `hsa_shut_down`.
static USERS: Mutex<u32> = Mutex::new(0);

fn users() -> std::sync::MutexGuard<'static, u32> {
    USERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `hsa_init`, with a function that gives the variables of the environment.
///
/// # Errors
/// OUT_OF_RESOURCES if the environment says what is not possible, which is said on standard error, or there is no memory;
/// REFCOUNT_OVERFLOW.
pub fn init(variable: impl Fn(&str) -> Option<String>) -> Result<()> {
    let mut users = users();
    let count = users.checked_add(1).filter(|count| *count < i32::MAX as u32);
    let count = count.ok_or(Status::REFCOUNT_OVERFLOW)?;
    if SYSTEM.get().is_none() {
        let system = System::new(variable)?;
        signal::set_up(&system.shared.memory)?;
        // Nobody else is here: `users` is locked.
        let _ = SYSTEM.set(system);
    }
    *users = count;
    Ok(())
}

/// `hsa_shut_down`.
///
/// # Errors
/// NOT_INITIALIZED.
pub fn shut_down() -> Result<()> {
    let mut users = users();
    *users = users.checked_sub(1).ok_or(Status::NOT_INITIALIZED)?;
    let last = *users == 0;
    drop(users);
    if last && let Some(system) = SYSTEM.get() {
        system.queues.destroy_all();
    }
    Ok(())
}

/// The library's state, if somebody has initialised it.
///
/// # Errors
/// NOT_INITIALIZED.
pub fn system() -> Result<&'static System> {
    let system = SYSTEM.get().ok_or(Status::NOT_INITIALIZED)?;
    if *users() == 0 { Err(Status::NOT_INITIALIZED) } else { Ok(system) }
}

/// The end of the process: statistics are written, if they were asked for, and compiled code is stored for the next start.
pub fn finish() {
    // What a child of `fork` knows is its parent's.
    let Some(system) = SYSTEM.get().filter(|system| system.process == std::process::id()) else { return };
    system.reporter.finish();
    if let Some(Ok(engine)) = system.engine.get() {
        store_code(&system.settings, engine, system.reporter.age());
    }
}

impl System {
    fn new(variable: impl Fn(&str) -> Option<String>) -> Result<System> {
        let settings = Settings::read(&variable).map_err(|error| {
            eprintln!("warpjit: there is no HSA device: {error}");
            Status::OUT_OF_RESOURCES
        })?;
        let device = match variable(CHIP).filter(|chip| !chip.is_empty()) {
            None => Some(Device::usual()),
            Some(_) => Device::of(settings.chip),
        };
        let memory = crate::memory::space().map_err(|error| Status::from(&error))?;
        // The global data share, which keeps what it holds from dispatch to dispatch: grids whose groups wait for one another are begun by
        // a dispatch of its own. Where somebody else has something at its address, only kernels that use it cannot run.
        let bytes = u64::from(GDS_BYTES + GDS_SYNC_BYTES).next_multiple_of(crate::memory::PAGE);
        let _ = memory.map(Some(GDS_ADDRESS), bytes, Access::ReadWrite);
        Ok(System {
            device,
            shared: Shared::new(memory, settings.memory),
            reporter: Reporter::new(device.map_or(settings.chip.name, |device| device.processor), &settings),
            executables: Executables::default(),
            queues: Queues::default(),
            engine: OnceLock::new(),
            process: std::process::id(),
            settings,
        })
    }

    /// The device.
    ///
    /// # Errors
    /// INVALID_AGENT if there is none.
    pub fn device(&self) -> Result<&Device> {
        self.device.as_ref().ok_or(Status::INVALID_AGENT)
    }

    pub(crate) fn engine(&self) -> std::result::Result<&Engine, Error> {
        let made = self.engine.get_or_init(|| self.settings.engine(self.reporter.counts()));
        made.as_ref().map_err(Clone::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each program has (the global data share, code objects, what it allocates) leaves accesses as fast as they are in other spaces.
    /// Memory that is locked makes no space careful.
    #[test]
    fn accesses_are_fast() {
        let system = System::new(|_| None).unwrap();
        let shared = &system.shared;
        crate::executable::map_object(&shared.memory, b"a code object", 3 << 20).unwrap();
        let own = shared.allocate(crate::memory::Pool::Device, 1 << 20).unwrap();
        assert!(!shared.memory.is_careful());
        let others = vec![1_u8; 1 << 18];
        shared.lock(others.as_ptr().addr() as u64, 1 << 18).unwrap();
        assert!(!shared.memory.is_careful());
        shared.unlock(others.as_ptr().addr() as u64).unwrap();
        assert!(!shared.memory.is_careful());
        shared.free(own).unwrap();
    }
}

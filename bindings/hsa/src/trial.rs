//! Code objects and packets as anybody may write them, tried without pointers: what the fuzz targets use.

use crate::elf::Kind;
use crate::executable::Executable;
use crate::signal::Signal;
use crate::status::{Result, Status};
use crate::system::{self, System};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use warpjit_card::settings::{CACHE, CHIP, MEMORY, QUIET, THREADS, TIER};

/// Bytes of a packet.
pub const PACKET_BYTES: usize = 64;
/// Packets of the queues here.
const PACKETS: u32 = 64;

/// The library in this process, as `hsa_init` makes it: on vega10, interpreted by one thread, and silent.
pub struct Trial {
    system: &'static System,
}

/// Code objects that have been loaded together. They go when this is dropped.
pub struct Loaded {
    system: &'static System,
    executable: Arc<Executable>,
    /// Addresses of kernels' descriptors.
    pub kernels: Vec<u64>,
}

/// How a queue has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All packets were processed.
    Done,
    /// Its error callback was called.
    Failed(Status),
    /// A packet waits, or its kernel runs, after the time was over.
    Waits,
    /// Its thread has panicked.
    Panicked,
}

impl Trial {
    /// Begins with the library, if nobody has in this process.
    ///
    /// # Errors
    /// As `hsa_init`.
    pub fn new() -> Result<Trial> {
        let variable = |name: &str| {
            let value = match name {
                CHIP => "vega10",
                CACHE => "",
                THREADS | QUIET => "1",
                // Nothing is compiled in the background of the next trial.
                TIER => "interp",
                MEMORY => "64",
                _ => return None,
            };
            Some(value.to_owned())
        };
        system::init(variable)?;
        Ok(Trial { system: system::system()? })
    }

    /// Loads code objects into one executable, freezes it, and reads its kernels.
    ///
    /// # Errors
    /// The functions' errors.
    pub fn load(&self, objects: &[&[u8]]) -> Result<Loaded> {
        let (system, device) = (self.system, self.system.device()?);
        let executable = system.executables.make(&system.shared.memory, 0, 0);
        let mut loaded = Loaded { system, executable, kernels: Vec::new() };
        let executable = &loaded.executable;
        let say = |text: &str| system.reporter.say(text);
        for object in objects {
            executable.load(object, object.as_ptr().addr() as u64, device, say)?;
        }
        executable.freeze(say)?;
        let objects = executable.loaded();
        for place in executable.symbols() {
            let object = &objects[place.object];
            let symbol = &object.symbols[place.symbol];
            if symbol.kind == Kind::Kernel && executable.kernel(place).is_ok() {
                loaded.kernels.push(symbol.address.wrapping_add(object.delta));
            }
        }
        Ok(loaded)
    }

    /// Memory that kernels may access; zeros.
    ///
    /// # Errors
    /// OUT_OF_RESOURCES.
    pub fn allocate(&self, bytes: u64) -> Result<u64> {
        self.system.shared.allocate(crate::memory::Pool::Device, bytes)
    }

    /// Writes there.
    ///
    /// # Errors
    /// INVALID_ARGUMENT if that is not all memory.
    pub fn write(&self, address: u64, data: &[u8]) -> Result<()> {
        self.system.shared.memory.write(address, data).map_err(|_| Status::INVALID_ARGUMENT)
    }

    /// Ends that.
    ///
    /// # Errors
    /// INVALID_ALLOCATION.
    pub fn free(&self, address: u64) -> Result<()> {
        self.system.shared.free(address)
    }

    /// A signal.
    ///
    /// # Errors
    /// OUT_OF_RESOURCES.
    pub fn signal(&self, value: i64) -> Result<u64> {
        Signal::new(value).map(|signal| signal.handle())
    }

    /// Destroys one.
    pub fn destroy(&self, signal: u64) {
        if let Ok(signal) = Signal::find(signal) {
            signal.destroy();
        }
    }

    /// Has a queue process packets, at most as many as it holds, until all are done, it fails, or the time is over. Then it is destroyed.
    ///
    /// # Errors
    /// OUT_OF_RESOURCES.
    pub fn process(&self, packets: &[[u8; PACKET_BYTES]], time: Duration) -> Result<End> {
        let failed = Arc::new(Mutex::new(None));
        let own = failed.clone();
        let on_error = Box::new(move |status, _| {
            *own.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
        });
        let address = self.system.queues.create(self.system, PACKETS, 0, Some(on_error))?;
        let queue = self.system.queues.get(address)?;
        let count = packets.len().min(PACKETS as usize);
        for (number, packet) in packets[..count].iter().enumerate() {
            queue.put(number, packet);
        }
        queue.ring_bell(count as i64 - 1);
        let began = Instant::now();
        let end = loop {
            if queue.read_index() == count as u64 {
                break End::Done;
            }
            if let Some(status) = *failed.lock().unwrap_or_else(PoisonError::into_inner) {
                break End::Failed(status);
            }
            if began.elapsed() > time {
                break End::Waits;
            }
            std::thread::sleep(Duration::from_micros(100));
        };
        self.system.queues.destroy(address)?;
        Ok(if queue.has_panicked() { End::Panicked } else { end })
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // It is there: nobody else knows it.
        let _ = self.system.executables.remove(self.executable.number);
    }
}

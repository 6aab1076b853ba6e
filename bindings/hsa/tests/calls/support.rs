//! What tests share: the library on vega10, buffers, kernels, packets.

use std::ffi::{CString, c_void};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::sync::{Mutex, Once, OnceLock, PoisonError};
use std::time::Duration;
use warpjit_hsa::exports::*;
use warpjit_hsa::memory::Pool;
use warpjit_hsa::status::Status;
use warpjit_hsa::system;

/// The agents.
pub const HOST: u64 = 0x1000;
pub const DEVICE: u64 = 0x2000;

/// Calls a function of the library; its status.
macro_rules! status {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: tests hand over pointers to values that stay for the call, or what functions must refuse.
        #[allow(unused_unsafe)]
        unsafe { warpjit_hsa::exports::$name($($argument),*) }
    }};
}
pub(crate) use status;

/// Calls a function that must succeed.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {
        assert_eq!(
            $crate::support::status!($name($($argument),*)),
            warpjit_hsa::status::Status::SUCCESS,
            stringify!($name)
        )
    };
}
pub(crate) use call;

/// Where dispatches are recorded, if a test has said it before it began.
pub static RECORD: OnceLock<String> = OnceLock::new();

/// The device, if a test has said it before it began; else vega10.
pub static CHIP: OnceLock<&str> = OnceLock::new();

/// Begins with the library, once for all tests.
pub fn start() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let variable = |name: &str| match name {
            "WARPJIT_EXEC_CHIP" => Some((*CHIP.get().unwrap_or(&"vega10")).to_owned()),
            "WARPJIT_EXEC_CACHE" => Some(String::new()),
            "WARPJIT_EXEC_THREADS" => Some("2".to_owned()),
            "WARPJIT_EXEC_RECORD" => RECORD.get().cloned(),
            "WARPJIT_EXEC_STATS" => std::env::var(name).ok(),
            "WARPJIT_EXEC_MEMORY_MIB" => Some("256".to_owned()),
            _ => None,
        };
        assert_eq!(system::init(variable), Ok(()));
    });
}

/// A file of the corpus.
pub fn corpus(file: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/gcn").join(file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Memory of a pool.
pub struct Buffer(pub *mut u8, usize);

impl Buffer {
    pub fn new(pool: Pool, bytes: usize) -> Buffer {
        start();
        let mut place = std::ptr::null_mut();
        call!(hsa_amd_memory_pool_allocate(pool.handle(), bytes, 0, &raw mut place));
        call!(hsa_amd_agents_allow_access(1, &DEVICE, std::ptr::null(), place));
        Buffer(place.cast(), bytes)
    }

    pub fn with(bytes: &[u8]) -> Buffer {
        let buffer = Buffer::new(Pool::Device, bytes.len());
        buffer.set(0, bytes);
        buffer
    }

    pub fn set(&self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.1);
        // SAFETY: within the buffer, which nothing uses now.
        unsafe { self.0.add(offset).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    pub fn get(&self) -> Vec<u8> {
        // SAFETY: the buffer, which nothing uses now.
        unsafe { std::slice::from_raw_parts(self.0, self.1) }.to_vec()
    }

    pub fn words(&self) -> Vec<u32> {
        self.get().chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    pub fn address(&self) -> u64 {
        self.0.expose_provenance() as u64
    }

    /// Its address as an argument.
    pub fn pointer(&self) -> [u8; 8] {
        self.address().to_le_bytes()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        call!(hsa_amd_memory_pool_free(self.0.cast()));
    }
}

/// A signal.
pub struct Signal(pub u64);

impl Signal {
    pub fn new(value: i64) -> Signal {
        start();
        let mut handle = 0;
        call!(hsa_signal_create(value, 0, std::ptr::null(), &raw mut handle));
        Signal(handle)
    }

    pub fn value(&self) -> i64 {
        hsa_signal_load_scacquire(self.0)
    }

    /// Waits until the value is 0, at most ten seconds.
    pub fn wait(&self) {
        let left = hsa_signal_wait_scacquire(self.0, 0, 0, 10_000_000_000, 0);
        assert_eq!(left, 0, "what the signal stands for was not done");
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        // Tests may have destroyed it.
        let _ = status!(hsa_signal_destroy(self.0));
    }
}

/// A code object that was loaded.
pub struct Executable(pub u64);

impl Executable {
    /// Loads one that must be good.
    pub fn new(bytes: &[u8]) -> Executable {
        let (executable, status) = Executable::load(bytes);
        assert_eq!(status, Status::SUCCESS);
        call!(hsa_executable_freeze(executable.0, std::ptr::null()));
        executable
    }

    /// Tries to load one.
    pub fn load(bytes: &[u8]) -> (Executable, Status) {
        start();
        let (mut executable, mut reader) = (0, 0);
        call!(hsa_executable_create_alt(1, 0, std::ptr::null(), &raw mut executable));
        let start = bytes.as_ptr().cast::<c_void>();
        call!(hsa_code_object_reader_create_from_memory(start, bytes.len(), &raw mut reader));
        let (options, loaded) = (std::ptr::null(), std::ptr::null_mut());
        let status =
            status!(hsa_executable_load_agent_code_object(executable, DEVICE, reader, options, loaded));
        call!(hsa_code_object_reader_destroy(reader));
        (Executable(executable), status)
    }

    pub fn symbol(&self, name: &str) -> u64 {
        let name = CString::new(name).unwrap();
        let mut symbol = 0;
        call!(hsa_executable_get_symbol_by_name(self.0, name.as_ptr(), &DEVICE, &raw mut symbol));
        symbol
    }

    pub fn long(&self, name: &str, attribute: u32) -> u64 {
        let mut value = 0_u64;
        call!(hsa_executable_symbol_get_info(self.symbol(name), attribute, (&raw mut value).cast()));
        value
    }

    pub fn word(&self, name: &str, attribute: u32) -> u32 {
        let mut value = 0_u32;
        call!(hsa_executable_symbol_get_info(self.symbol(name), attribute, (&raw mut value).cast()));
        value
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        call!(hsa_executable_destroy(self.0));
    }
}

/// What a queue's callback was called with.
pub type Errors = Mutex<Vec<Status>>;

unsafe extern "C" fn on_error(status: Status, _queue: *mut c_void, errors: *mut c_void) {
    // SAFETY: the queue's list, which lives longer.
    let errors = unsafe { &*errors.cast::<Errors>() };
    errors.lock().unwrap_or_else(PoisonError::into_inner).push(status);
}

/// A queue.
pub struct Queue {
    pub queue: *mut c_void,
    errors: Box<Errors>,
}

/// A packet, as words.
pub type Packet = [u32; 16];

impl Queue {
    pub fn new(size: u32) -> Queue {
        start();
        let errors = Box::new(Errors::default());
        let mut queue = std::ptr::null_mut();
        let data = (&raw const *errors).cast_mut().cast();
        call!(hsa_queue_create(DEVICE, size, 0, Some(on_error), data, u32::MAX, u32::MAX, &raw mut queue));
        Queue { queue, errors }
    }

    fn field<T: Copy>(&self, offset: usize) -> T {
        // SAFETY: fields of `hsa_queue_t` that do not change.
        unsafe { self.queue.cast::<u8>().add(offset).cast::<T>().read() }
    }

    pub fn doorbell(&self) -> u64 {
        self.field(16)
    }

    /// Writes a packet as soon as there is room, and rings the doorbell.
    pub fn submit(&self, packet: Packet) {
        let size = u64::from(self.field::<u32>(24));
        let base = self.field::<*mut u32>(8);
        // SAFETY: the queue exists.
        let index = unsafe { hsa_queue_add_write_index_screlease(self.queue, 1) };
        // SAFETY: as above.
        while index - unsafe { hsa_queue_load_read_index_scacquire(self.queue) } >= size {
            std::thread::yield_now();
        }
        // SAFETY: the place in the ring is this thread's until its header says that there is a packet.
        unsafe {
            let place = base.add((index % size) as usize * 16);
            for (number, word) in packet.iter().enumerate().skip(1) {
                place.add(number).write(*word);
            }
            (*place.cast::<AtomicU16>().add(1)).store((packet[0] >> 16) as u16, Ordering::Relaxed);
            (*place.cast::<AtomicU16>()).store(packet[0] as u16, Ordering::Release);
        }
        hsa_signal_store_screlease(self.doorbell(), index as i64);
    }

    /// The first error that the callback was called with, within ten seconds.
    pub fn error(&self) -> Status {
        for _ in 0..1000 {
            if let Some(status) = self.errors.lock().unwrap().first() {
                return *status;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the queue has told no error");
    }

    pub fn has_error(&self) -> bool {
        !self.errors.lock().unwrap().is_empty()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        call!(hsa_queue_destroy(self.queue));
    }
}

/// A header with system scopes, and the barrier bit.
pub fn header(kind: u32) -> u32 {
    kind | 1 << 8 | 2 << 9 | 2 << 11
}

fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// Arguments of a kernel, laid out by hand.
pub fn arguments(parts: &[&[u8]]) -> Buffer {
    let mut bytes = vec![0_u8; 512];
    let mut at = 0;
    for part in parts {
        at = usize::next_multiple_of(at, part.len());
        bytes[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    let buffer = Buffer::new(Pool::HostKernarg, bytes.len());
    buffer.set(0, &bytes);
    buffer
}

/// A kernel's dispatch over work-items.
pub struct Dispatch<'a> {
    pub executable: &'a Executable,
    pub kernel: &'a str,
    pub group: [u32; 3],
    pub grid: [u32; 3],
    pub dynamic: u32,
    pub kernarg: &'a Buffer,
}

impl Dispatch<'_> {
    pub fn packet(&self, done: u64) -> Packet {
        let [x, y, z] = self.group;
        let object = self.executable.long(self.kernel, 22);
        let private = self.executable.word(self.kernel, 14);
        let group = self.executable.word(self.kernel, 13) + self.dynamic;
        let [object_low, object_high] = halves(object);
        let [args_low, args_high] = halves(self.kernarg.address());
        let [done_low, done_high] = halves(done);
        let [a, b, c] = self.grid;
        [
            header(2) | 3 << 16,
            x | y << 16,
            z,
            a,
            b,
            c,
            private,
            group,
            object_low,
            object_high,
            args_low,
            args_high,
            0,
            0,
            done_low,
            done_high,
        ]
    }

    /// Runs it in a queue to its end.
    pub fn run(&self, queue: &Queue) {
        let done = Signal::new(1);
        queue.submit(self.packet(done.0));
        done.wait();
        assert!(!queue.has_error());
    }
}

/// A packet that waits for signals: 3 for all, 5 for any.
pub fn barrier(kind: u32, signals: &[u64], done: u64) -> Packet {
    let mut packet = [0; 16];
    packet[0] = header(kind);
    for (number, signal) in signals.iter().enumerate() {
        packet[2 + 2 * number..][..2].copy_from_slice(&halves(*signal));
    }
    packet[14..].copy_from_slice(&halves(done));
    packet
}

/// A packet that waits until `(value & mask)` is as a condition says.
pub fn value_barrier(signal: u64, condition: u32, value: i64, mask: i64, done: u64) -> Packet {
    let mut packet = [0; 16];
    packet[0] = header(0) | 2 << 16;
    packet[2..4].copy_from_slice(&halves(signal));
    packet[4..6].copy_from_slice(&halves(value as u64));
    packet[6..8].copy_from_slice(&halves(mask as u64));
    packet[8] = condition;
    packet[14..].copy_from_slice(&halves(done));
    packet
}

/// A word that callbacks count in.
pub static COUNT: AtomicU32 = AtomicU32::new(0);

//! Queues: rings of packets that programs write, and the threads that process them.
//!
//! A queue is an `amd_queue_t` and its ring, both in memory that the device sees. Packets are processed in order, one after the other, so a
//! packet's barrier bit asks for nothing more. A packet's place in the ring is free when the packet is complete: kernels read their packet.

use crate::cells::Cells;
use crate::clock;
use crate::dispatch::{self, Failure};
use crate::scratch::Scratch;
use crate::signal::{self, Condition, Signal};
use crate::status::{Result, Status};
use crate::system::System;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use warpjit_frontend::gcn::abi::{PRIVATE_APERTURE, SHARED_APERTURE};
use warpjit_runtime::CancelToken;

/// Bytes of `amd_queue_t` and of a packet.
const QUEUE_BYTES: usize = 256;
const PACKET_BYTES: usize = 64;
/// Sizes of queues, in packets.
pub(crate) const LEAST: u32 = 64;
pub(crate) const MOST: u32 = 0x2_0000;

/// Where fields of `amd_queue_t` are.
pub(crate) mod field {
    pub const TYPE: usize = 0;
    pub const FEATURES: usize = 4;
    pub const BASE: usize = 8;
    pub const DOORBELL: usize = 16;
    pub const SIZE: usize = 24;
    pub const NUMBER: usize = 32;
    pub const WRITE_INDEX: usize = 56;
    pub const GROUP_APERTURE: usize = 64;
    pub const PRIVATE_APERTURE: usize = 68;
    pub const MAX_UNIT: usize = 72;
    pub const MAX_WAVE: usize = 76;
    pub const READ_INDEX: usize = 128;
    pub const READ_INDEX_OFFSET: usize = 136;
    pub const TMPRING_SIZE: usize = 140;
    pub const SCRATCH_DESCRIPTOR: usize = 144;
    pub const SCRATCH_ADDRESS: usize = 160;
    pub const SCRATCH_BYTES: usize = 168;
    pub const SCRATCH_LANE_BYTES: usize = 176;
    pub const PROPERTIES: usize = 180;
    pub const INACTIVE: usize = 192;
}

/// Types of packets.
mod packet {
    pub const VENDOR: u16 = 0;
    pub const INVALID: u16 = 1;
    pub const DISPATCH: u16 = 2;
    pub const BARRIER_AND: u16 = 3;
    pub const AGENT_DISPATCH: u16 = 4;
    pub const BARRIER_OR: u16 = 5;
    /// AmdFormat: waits for a value.
    pub const BARRIER_VALUE: u8 = 2;
}

/// Called when a queue cannot go on.
pub(crate) type OnError = Box<dyn Fn(Status, u64) + Send + Sync>;

/// A queue.
pub(crate) struct Queue {
    cells: Cells,
    ring: Cells,
    size: u32,
    doorbell: Signal,
    /// Whether the doorbell is the queue's own.
    owns_doorbell: bool,
    on_error: Option<OnError>,
    /// Whether its thread shall end.
    ending: AtomicBool,
    /// Whether it processes no packets any more.
    inactive: AtomicBool,
    /// Whether its thread has panicked while it processed a packet.
    panicked: AtomicBool,
    cancel: CancelToken,
    pub(crate) scratch: Mutex<Scratch>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// The process that has the thread. A child of `fork` has none of it, and what other threads held when it was made stays locked there.
    process: u32,
    pub(crate) priority: AtomicU32,
    pub(crate) unit_mask: Mutex<Vec<u32>>,
}

/// All queues, by the addresses of their `amd_queue_t`.
#[derive(Default)]
pub(crate) struct Queues {
    all: RwLock<HashMap<u64, Arc<Queue>>>,
    made: AtomicU64,
}

impl Queues {
    /// A new queue with a thread that processes its packets; the address of its `amd_queue_t`.
    pub fn create(
        &self,
        system: &'static System,
        size: u32,
        kind: u32,
        on_error: Option<OnError>,
    ) -> Result<u64> {
        let queue = self.make(system, size, kind, on_error, None)?;
        let own = queue.clone();
        let thread = std::thread::Builder::new().name("hsa queue".into()).spawn(move || own.run(system));
        let thread = thread.map_err(|_| Status::OUT_OF_RESOURCES)?;
        *queue.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        let address = queue.cells.address();
        self.all.write().unwrap_or_else(PoisonError::into_inner).insert(address, queue);
        Ok(address)
    }

    /// A queue whose packets the program processes (`hsa_soft_queue_create`).
    pub fn create_soft(
        &self,
        system: &'static System,
        size: u32,
        kind: u32,
        features: u32,
        doorbell: Signal,
    ) -> Result<u64> {
        let queue = self.make(system, size, kind, None, Some(doorbell))?;
        queue.cells.u32(field::FEATURES).store(features, Ordering::Relaxed);
        let address = queue.cells.address();
        self.all.write().unwrap_or_else(PoisonError::into_inner).insert(address, queue);
        Ok(address)
    }

    fn make(
        &self,
        system: &'static System,
        size: u32,
        kind: u32,
        on_error: Option<OnError>,
        doorbell: Option<Signal>,
    ) -> Result<Arc<Queue>> {
        let memory = &system.shared.memory;
        let ring = Cells::new(memory, size as usize * PACKET_BYTES)?;
        let cells = Cells::new(memory, QUEUE_BYTES)?;
        for place in 0..size as usize {
            ring.u16(place * PACKET_BYTES).store(packet::INVALID, Ordering::Relaxed);
        }
        let owns_doorbell = doorbell.is_none();
        let doorbell = match doorbell {
            Some(doorbell) => doorbell,
            None => Signal::new(-1)?,
        };
        let store = |at: usize, value: u32| cells.u32(at).store(value, Ordering::Relaxed);
        let store64 = |at: usize, value: u64| cells.u64(at).store(value, Ordering::Relaxed);
        /// HSA_QUEUE_FEATURE_KERNEL_DISPATCH.
        const DISPATCHES: u32 = 1;
        /// AMD_QUEUE_PROPERTIES_IS_PTR64.
        const POINTERS_64: u32 = 2;
        store(field::TYPE, kind);
        store(field::FEATURES, DISPATCHES);
        store64(field::BASE, ring.address());
        store64(field::DOORBELL, doorbell.handle());
        store(field::SIZE, size);
        store64(field::NUMBER, self.made.fetch_add(1, Ordering::Relaxed));
        store(field::GROUP_APERTURE, SHARED_APERTURE);
        store(field::PRIVATE_APERTURE, PRIVATE_APERTURE);
        let units = system.device.map_or(1, |device| device.units());
        store(field::MAX_UNIT, units - 1);
        store(field::MAX_WAVE, 39);
        store(field::READ_INDEX_OFFSET, field::READ_INDEX as u32);
        store(field::PROPERTIES, POINTERS_64);
        let inactive = Signal::new(0)?;
        store64(field::INACTIVE, inactive.handle());
        Ok(Arc::new(Queue {
            cells,
            ring,
            size,
            doorbell,
            owns_doorbell,
            on_error,
            ending: AtomicBool::new(false),
            inactive: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
            cancel: CancelToken::new(),
            scratch: Mutex::default(),
            thread: Mutex::default(),
            process: std::process::id(),
            priority: AtomicU32::new(1),
            unit_mask: Mutex::default(),
        }))
    }

    /// By the address of its `amd_queue_t`.
    pub fn get(&self, address: u64) -> Result<Arc<Queue>> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&address).cloned().ok_or(Status::INVALID_QUEUE)
    }

    /// Where the queues' scratch begins.
    pub fn scratch(&self) -> Vec<u64> {
        let all: Vec<_> = self.all.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let of = |queue: &Arc<Queue>| queue.scratch.lock().unwrap_or_else(PoisonError::into_inner).address();
        all.iter().filter_map(of).collect()
    }

    /// Ends one.
    pub fn destroy(&self, address: u64) -> Result<()> {
        let queue = self.all.write().unwrap_or_else(PoisonError::into_inner).remove(&address);
        queue.ok_or(Status::INVALID_QUEUE)?.end();
        Ok(())
    }

    /// Ends all.
    pub fn destroy_all(&self) {
        let all = std::mem::take(&mut *self.all.write().unwrap_or_else(PoisonError::into_inner));
        for queue in all.into_values() {
            queue.end();
        }
    }
}

impl Queue {
    /// The address of its `amd_queue_t`.
    pub fn address(&self) -> u64 {
        self.cells.address()
    }

    /// Processes no more packets.
    pub fn inactivate(&self) {
        self.inactive.store(true, Ordering::Release);
        self.cancel.cancel();
        self.doorbell.wake();
    }

    fn end(&self) {
        if self.process != std::process::id() {
            return;
        }
        self.ending.store(true, Ordering::Release);
        self.inactivate();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic of the thread has been said where it happened.
            let _ = thread.join();
        }
        if self.owns_doorbell {
            self.doorbell.destroy();
        }
        if let Ok(inactive) = Signal::find(self.cells.u64(field::INACTIVE).load(Ordering::Relaxed)) {
            inactive.destroy();
        }
    }

    fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    fn is_active(&self) -> bool {
        !self.inactive.load(Ordering::Acquire)
    }

    /// What the thread does.
    fn run(&self, system: &'static System) {
        let mut index = 0_u64;
        let mut dispatcher = dispatch::Dispatcher::new(self.cancel.clone());
        while !self.is_ending() {
            let at = (index % u64::from(self.size)) as usize * PACKET_BYTES;
            let header = self.ring.u16(at);
            let kind = || header.load(Ordering::Acquire) & 0xff;
            let ready = || self.is_active() && kind() != packet::INVALID;
            if !ready() && !self.doorbell.wait_until(None, || self.is_ending() || ready()) {
                // The program has destroyed the doorbell.
                return;
            }
            if self.is_ending() {
                return;
            }
            let processed =
                std::panic::catch_unwind(AssertUnwindSafe(|| self.process(system, &mut dispatcher, at)));
            let processed = processed.unwrap_or_else(|_| {
                // What the panic has said is on standard error. The program learns that the queue cannot go on.
                self.panicked.store(true, Ordering::Release);
                Err(Failure::new(Status::ERROR, "a packet could not be processed: internal error".into()))
            });
            match processed {
                Ok(()) => {
                    header.store(packet::INVALID, Ordering::Relaxed);
                    index += 1;
                    self.cells.u64(field::READ_INDEX).store(index, Ordering::Release);
                    if let Some(done) = dispatcher.done.take() {
                        done.complete();
                    }
                }
                Err(failure) => {
                    if self.is_ending() {
                        return;
                    }
                    self.fail(system, &failure);
                }
            }
        }
    }

    /// Tells the program that the queue cannot go on.
    fn fail(&self, system: &System, failure: &Failure) {
        if let Some(text) = &failure.text {
            system.reporter.say(text);
        }
        self.inactive.store(true, Ordering::Release);
        if let Some(on_error) = &self.on_error {
            on_error(failure.status, self.address());
        }
    }

    /// Processes the packet at an offset in the ring. Its completion signal is left in the dispatcher.
    fn process(
        &self,
        system: &'static System,
        dispatcher: &mut dispatch::Dispatcher,
        at: usize,
    ) -> std::result::Result<(), Failure> {
        let word = |offset: usize| self.ring.u32(at + offset).load(Ordering::Relaxed);
        let long = |offset: usize| self.ring.u64(at + offset).load(Ordering::Relaxed);
        let header = word(0);
        let completion = Signal::find_any(long(56)).map_err(|status| {
            Failure::new(status, format!("a packet's completion signal {:#x} does not exist", long(56)))
        })?;
        let start = clock::now();
        match header as u16 & 0xff {
            packet::DISPATCH => {
                let packet = dispatch::Packet {
                    address: self.ring.address() + at as u64,
                    dimensions: header >> 16 & 3,
                    group: [word(4) & 0xffff, word(4) >> 16, word(8) & 0xffff],
                    grid: [word(12), word(16), word(20)],
                    private_bytes: word(24),
                    group_bytes: word(28),
                    kernel: long(32),
                    kernarg: long(40),
                };
                dispatcher.run(system, self, &packet)?;
            }
            kind @ (packet::BARRIER_AND | packet::BARRIER_OR) => {
                let mut signals = Vec::new();
                for number in 0..5 {
                    let handle = long(8 + 8 * number);
                    let found = Signal::find_any(handle).map_err(|status| {
                        Failure::new(status, format!("a barrier waits for {handle:#x}, which is no signal"))
                    })?;
                    signals.extend(found);
                }
                self.wait_for(&signals, kind == packet::BARRIER_AND)?;
            }
            packet::VENDOR if (header >> 16) as u8 == packet::BARRIER_VALUE => {
                let handle = long(8);
                let signal = Signal::find(handle).map_err(|status| {
                    Failure::new(status, format!("a barrier waits for {handle:#x}, which is no signal"))
                })?;
                let condition =
                    Condition::new(word(32)).map_err(|_| Failure::packet("condition", word(32)))?;
                let (value, mask) = (long(16) as i64, long(24) as i64);
                self.wait_until(signal, || condition.holds(signal.load(Ordering::Acquire) & mask, value))?;
            }
            packet::VENDOR => return Err(Failure::packet("AmdFormat", header >> 16 & 0xff)),
            packet::AGENT_DISPATCH => return Err(Failure::packet("type", packet::AGENT_DISPATCH.into())),
            other => return Err(Failure::packet("type", other.into())),
        }
        if let Some(signal) = completion {
            signal.set_times(start, clock::now());
        }
        dispatcher.done = completion;
        Ok(())
    }

    /// Waits until something holds that a signal tells, or the queue ends.
    fn wait_until(&self, signal: Signal, holds: impl Fn() -> bool) -> std::result::Result<(), Failure> {
        let over = || !self.is_active();
        loop {
            // The end of the queue rings another bell: look now and then.
            let time = std::time::Duration::from_millis(20);
            if signal.wait_until(Some(time), || holds() || over()) {
                return if over() { Err(Failure::ended()) } else { Ok(()) };
            }
            if !signal.exists() {
                return Err(Failure::new(
                    Status::INVALID_SIGNAL,
                    "a signal was destroyed that a barrier waits for".into(),
                ));
            }
        }
    }

    /// Waits until all or any of the signals are 0.
    fn wait_for(&self, signals: &[Signal], all: bool) -> std::result::Result<(), Failure> {
        if all {
            return signals
                .iter()
                .try_for_each(|signal| self.wait_until(*signal, || signal.load(Ordering::Acquire) == 0));
        }
        let wanted: Vec<_> = signals.iter().map(|signal| (*signal, Condition::Equal, 0)).collect();
        while !wanted.is_empty() {
            if !self.is_active() {
                return Err(Failure::ended());
            }
            let time = std::time::Duration::from_millis(20);
            if signal::wait_any(&wanted, Some(time)).is_some() {
                break;
            }
            if signals.iter().all(|signal| !signal.exists()) {
                let text = "all signals were destroyed that a barrier waits for";
                return Err(Failure::new(Status::INVALID_SIGNAL, text.into()));
            }
        }
        Ok(())
    }

    /// Writes a packet into a place of the ring, its type last.
    pub(crate) fn put(&self, place: usize, packet: &[u8; PACKET_BYTES]) {
        let at = place * PACKET_BYTES;
        for (number, word) in packet.as_chunks::<4>().0.iter().enumerate().skip(1) {
            self.ring.u32(at + 4 * number).store(u32::from_le_bytes(*word), Ordering::Relaxed);
        }
        self.ring.u16(at + 2).store(u16::from_le_bytes([packet[2], packet[3]]), Ordering::Relaxed);
        self.ring.u16(at).store(u16::from_le_bytes([packet[0], packet[1]]), Ordering::Release);
    }

    /// Rings the doorbell.
    pub(crate) fn ring_bell(&self, index: i64) {
        self.doorbell.store(index, Ordering::Release);
    }

    /// How many packets are complete.
    pub(crate) fn read_index(&self) -> u64 {
        self.cells.u64(field::READ_INDEX).load(Ordering::Acquire)
    }

    /// Whether its thread has panicked while it processed a packet.
    pub(crate) fn has_panicked(&self) -> bool {
        self.panicked.load(Ordering::Acquire)
    }

    /// Says in the queue what scratch its kernels have.
    pub(crate) fn note_scratch(&self, address: u64, bytes: u64, lane_bytes: u32, descriptor: [u32; 4]) {
        self.cells.u64(field::SCRATCH_ADDRESS).store(address, Ordering::Relaxed);
        self.cells.u64(field::SCRATCH_BYTES).store(bytes, Ordering::Relaxed);
        self.cells.u32(field::SCRATCH_LANE_BYTES).store(lane_bytes, Ordering::Relaxed);
        let waves = bytes / (u64::from(lane_bytes) * 64).max(1);
        self.cells.u32(field::TMPRING_SIZE).store(waves.min(0xfff) as u32, Ordering::Relaxed);
        for (number, word) in descriptor.into_iter().enumerate() {
            self.cells.u32(field::SCRATCH_DESCRIPTOR + 4 * number).store(word, Ordering::Relaxed);
        }
    }
}

//! Dispatches: from a packet and a kernel's descriptor to a launch.

use crate::kernel::Kernel;
use crate::queue::Queue;
use crate::record;
use crate::scratch;
use crate::signal::{Running, Signal};
use crate::status::Status;
use crate::system::System;
use std::sync::{Arc, PoisonError};
use warpjit_card::fault::describe;
use warpjit_frontend::gcn::abi::{PRIVATE_APERTURE, SCRATCH_ADDRESS, SHARED_APERTURE, property};
use warpjit_runtime::{
    CancelToken, Fault, FaultKind, Launch, Prepared, Program, Report, TextureTables, WarpRing,
};

/// Most bytes of LDS of a workgroup, and most work-items.
pub(crate) const MOST_GROUP_BYTES: u32 = 0x1_0000;
const MOST_ITEMS: u64 = 1024;

/// `hsa_kernel_dispatch_packet_t`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    pub address: u64,
    pub dimensions: u32,
    pub group: [u32; 3],
    /// In work-items.
    pub grid: [u32; 3],
    pub private_bytes: u32,
    pub group_bytes: u32,
    pub kernel: u64,
    pub kernarg: u64,
}

/// Why a queue cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub status: Status,
    /// What is said on standard error.
    pub text: Option<String>,
}

impl Failure {
    pub fn new(status: Status, text: String) -> Failure {
        Failure { status, text: Some(text) }
    }

    /// A packet that says what is not possible.
    pub fn packet(field: &str, value: u32) -> Failure {
        Failure::new(Status::INVALID_PACKET_FORMAT, format!("a packet has {field} {value:#x}"))
    }

    /// The queue was ended.
    pub fn ended() -> Failure {
        Failure { status: Status::INVALID_QUEUE, text: None }
    }
}

/// How a launch was prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    kernel: u64,
    pub group: [u32; 3],
    /// Bytes of LDS besides the kernel's own.
    pub dynamic: u32,
    pub ring: Option<WarpRing>,
}

/// A dispatch as it is launched.
pub(crate) struct Dispatch<'a> {
    pub kernel: &'a Arc<Kernel>,
    program: &'a Program,
    pub shape: Shape,
    /// Workgroups along each axis, and work-items of the last of them, 0 where it is whole.
    pub groups: [u32; 3],
    pub last: [u32; 3],
    /// What waves start with in their first scalar registers.
    pub words: Vec<u32>,
}

/// A launch that was prepared, with the kernel that it is of.
struct Known {
    shape: Shape,
    kernel: Arc<Kernel>,
    prepared: Prepared,
    used: u64,
}

/// What a queue's thread keeps from dispatch to dispatch.
pub(crate) struct Dispatcher {
    cancel: CancelToken,
    known: Vec<Known>,
    count: u64,
    /// The completion signal of the packet that was processed.
    pub done: Option<Signal>,
}

/// Most launches that are kept prepared.
const MOST_KNOWN: usize = 32;

impl Dispatcher {
    /// Of a queue that `cancel` ends.
    pub fn new(cancel: CancelToken) -> Dispatcher {
        Dispatcher { cancel, known: Vec::new(), count: 0, done: None }
    }

    /// Runs a dispatch to its end.
    pub fn run(&mut self, system: &'static System, queue: &Queue, packet: &Packet) -> Result<(), Failure> {
        let Some(kernel) = system.executables.kernel_at(packet.kernel) else {
            let text = format!("a packet names a kernel at {:#x}, where there is none", packet.kernel);
            return Err(Failure::new(Status::INVALID_CODE_OBJECT, text));
        };
        let refused = |status, why: String| {
            Err(Failure::new(status, format!("kernel {} cannot be run: {why}", kernel.name)))
        };
        let mut group = packet.group;
        let mut grid = packet.grid;
        for axis in packet.dimensions.clamp(1, 3) as usize..3 {
            (group[axis], grid[axis]) = (1, 1);
        }
        let items: u64 = group.iter().map(|size| u64::from(*size)).product();
        if group.contains(&0) || items > MOST_ITEMS {
            return refused(Status::INVALID_ARGUMENT, format!("workgroups of {group:?} work-items"));
        }
        if packet.group_bytes > MOST_GROUP_BYTES {
            return refused(Status::INVALID_ALLOCATION, format!("{} bytes of LDS", packet.group_bytes));
        }
        if grid.contains(&0) {
            return Ok(());
        }
        let Ok(device) = system.device() else {
            return refused(Status::INVALID_AGENT, "there is no device".into());
        };
        let memory = &system.shared.memory;
        let program = match kernel.program(memory, device) {
            Ok(program) => program,
            Err(why) => return refused(Status::INVALID_CODE_OBJECT, why),
        };
        let ring = if kernel.has_scratch() {
            let lane_bytes = kernel.scratch_bytes(packet.private_bytes);
            let mut scratch = queue.scratch.lock().unwrap_or_else(PoisonError::into_inner);
            let Ok((ring, new)) = scratch.get(memory, device, lane_bytes) else {
                return refused(Status::OUT_OF_RESOURCES, format!("{lane_bytes} bytes of scratch a lane"));
            };
            if new {
                let descriptor = scratch::descriptor(ring.address);
                queue.note_scratch(ring.address, ring.bytes, ring.ring.warp_bytes / 64, descriptor);
            }
            Some(ring)
        } else {
            None
        };
        let groups: [u32; 3] = std::array::from_fn(|axis| grid[axis].div_ceil(group[axis]));
        let last: [u32; 3] = std::array::from_fn(|axis| grid[axis] % group[axis]);
        let shape = Shape {
            kernel: packet.kernel,
            group,
            dynamic: packet.group_bytes.saturating_sub(kernel.own_group_bytes()),
            ring: ring.map(|ring| ring.ring),
        };
        let words =
            user_data(&kernel, packet, queue, ring.map_or(0, |ring| ring.address), groups, device.is_gfx9());
        let dispatch = Dispatch { kernel: &kernel, program, shape, groups, last, words };
        let folder = system.settings.record_folder(|| kernel.name.clone());
        let recording = folder.and_then(|folder| record::before(system, &dispatch, folder));
        let running = Running::new();
        let result = self.launch(system, &dispatch);
        drop(running);
        if let Some(recording) = recording {
            record::after(system, recording);
        }
        let report = match result {
            Ok(report) => report,
            Err(error) => return refused(Status::OUT_OF_RESOURCES, error.to_string()),
        };
        system.reporter.dispatch(&kernel.name, groups, group, &report);
        if let Some(reason) = &report.stats.not_compiled {
            system.reporter.once(&format!("some code is interpreted: {reason}"));
        }
        if report.cancelled {
            return Err(Failure::ended());
        }
        match &report.fault {
            None => Ok(()),
            Some(fault) => {
                Err(Failure::new(status_of(fault), describe(device.card.name, memory, &kernel.name, fault)))
            }
        }
    }

    fn launch(&mut self, system: &System, dispatch: &Dispatch<'_>) -> Result<Report, warpjit_runtime::Error> {
        let &Dispatch { kernel, program, shape, groups, last, ref words } = dispatch;
        let (engine, memory) = (system.engine()?, &system.shared.memory);
        let cancel = self.cancel.clone();
        let launch = || {
            Launch::default()
                .grid(groups)
                .block(shape.group)
                .last_block(last)
                .dynamic_shared(shape.dynamic)
                .scratch_ring(shape.ring)
                .cancel(Some(cancel))
                .textures(tables(system))
                .user_data(words.clone())
        };
        if last != [0; 3] {
            return engine.run(program, memory, &launch());
        }
        self.count += 1;
        let is_it = |known: &Known| known.shape == shape && Arc::ptr_eq(&known.kernel, kernel);
        let at = match self.known.iter().position(is_it) {
            Some(at) => {
                let known = &mut self.known[at];
                known.prepared.set_user_data(0, words)?;
                known.prepared.set_grid(groups)?;
                at
            }
            None => {
                if self.known.len() >= MOST_KNOWN {
                    let oldest = (0..self.known.len()).min_by_key(|at| self.known[*at].used).unwrap_or(0);
                    self.known.swap_remove(oldest);
                }
                let prepared = engine.prepare(program, memory, &launch())?;
                self.known.push(Known { shape, kernel: kernel.clone(), prepared, used: 0 });
                self.known.len() - 1
            }
        };
        self.known[at].used = self.count;
        self.known[at].prepared.run()
    }
}

/// The tables by which images are read.
fn tables(system: &System) -> TextureTables {
    let Some(device) = &system.device else { return TextureTables::default() };
    let old = !device.is_gfx9();
    TextureTables {
        tile_modes: old.then(|| Box::new(device.card.tile_modes())),
        macrotile_modes: old.then(|| Box::new(device.card.macrotile_modes())),
        address_config: Some(device.card.address_config),
        ..TextureTables::default()
    }
}

/// What a wave starts with in its first scalar registers.
fn user_data(
    kernel: &Kernel,
    packet: &Packet,
    queue: &Queue,
    scratch: u64,
    groups: [u32; 3],
    gfx9: bool,
) -> Vec<u32> {
    let mut words = Vec::with_capacity(16);
    let long = |words: &mut Vec<u32>, value: u64| words.extend([value as u32, (value >> 32) as u32]);
    let lane_bytes = kernel.scratch_bytes(packet.private_bytes);
    if kernel.has(property::PRIVATE_BUFFER) {
        words.extend(scratch::descriptor(scratch));
    }
    if kernel.has(property::DISPATCH_POINTER) {
        long(&mut words, packet.address);
    }
    if kernel.has(property::QUEUE_POINTER) {
        long(&mut words, queue.address());
    }
    if kernel.has(property::KERNARG_POINTER) {
        long(&mut words, packet.kernarg);
    }
    if kernel.has(property::DISPATCH_ID) {
        long(&mut words, 0);
    }
    if kernel.has(property::FLAT_SCRATCH) {
        if gfx9 {
            long(&mut words, scratch);
        } else {
            // Offset from where FLAT_SCRATCH counts, and bytes of a lane.
            words.extend([scratch.saturating_sub(SCRATCH_ADDRESS) as u32, lane_bytes]);
        }
    }
    if kernel.has(property::PRIVATE_BYTES) {
        words.push(lane_bytes);
    }
    for (axis, property) in property::GRID.into_iter().enumerate() {
        if kernel.has(property) {
            words.push(groups[axis]);
        }
    }
    words.resize(kernel.user_words(), 0);
    words
}

/// What HSA calls a fault.
fn status_of(fault: &Fault) -> Status {
    match fault.kind {
        FaultKind::Memory => match fault.address {
            Some(address) if [SHARED_APERTURE, PRIVATE_APERTURE].contains(&((address >> 32) as u32)) => {
                Status::MEMORY_APERTURE_VIOLATION
            }
            _ => Status::MEMORY_FAULT,
        },
        FaultKind::Illegal => Status::ILLEGAL_INSTRUCTION,
        FaultKind::Trap => Status::EXCEPTION,
        _ => Status::ERROR,
    }
}

//! Answers to questions about the system, agents, instruction sets, pools and caches: bytes, as C's types have them.

use crate::chip::Device;
use crate::clock;
use crate::memory::{PAGE, Pool};
use crate::queue;
use crate::status::{Result, Status};
use crate::system::System;

/// An agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Agent {
    /// The host's processor.
    Host,
    /// The pretended device.
    Device,
}

/// Handles, which are no handles of other things.
const HOST: u64 = 0x1000;
const DEVICE: u64 = 0x2000;
/// The device's instruction set, its wavefront, and caches.
pub(crate) const ISA: u64 = 0x3000;
pub(crate) const WAVEFRONT: u64 = 0x4000;
const CACHES: u64 = 0x6000;

/// An answer.
pub(crate) type Answer = Vec<u8>;

fn u32s(values: &[u32]) -> Answer {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn u16s(values: &[u16]) -> Answer {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn u64s(values: &[u64]) -> Answer {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn flags(values: &[bool]) -> Answer {
    values.iter().map(|value| u8::from(*value)).collect()
}

/// A text in so many bytes, with zeros behind it.
fn text(text: &str, bytes: usize) -> Answer {
    let mut out = text.as_bytes().to_vec();
    out.truncate(bytes - 1);
    out.resize(bytes, 0);
    out
}

/// Extensions: bits by their numbers.
pub(crate) mod extension {
    pub const IMAGES: u16 = 1;
    pub const LOADER: u16 = 0x201;
    /// The bitmap of them, 128 bytes.
    pub fn bits() -> Vec<u8> {
        let mut bits = vec![0; 128];
        for number in [IMAGES, LOADER] {
            bits[usize::from(number / 8)] |= 1 << (number % 8);
        }
        bits
    }
}

impl Agent {
    /// By handle.
    pub fn find(system: &System, handle: u64) -> Result<Agent> {
        match handle {
            HOST => Ok(Agent::Host),
            DEVICE if system.device.is_some() => Ok(Agent::Device),
            _ => Err(Status::INVALID_AGENT),
        }
    }

    /// What programs call it by.
    pub fn handle(self) -> u64 {
        match self {
            Agent::Host => HOST,
            Agent::Device => DEVICE,
        }
    }

    /// All there are.
    pub fn all(system: &System) -> Vec<Agent> {
        if system.device.is_some() { vec![Agent::Host, Agent::Device] } else { vec![Agent::Host] }
    }

    /// Its pools.
    pub(crate) fn pools(self) -> &'static [Pool] {
        match self {
            Agent::Host => &crate::memory::HOST_POOLS,
            Agent::Device => &crate::memory::DEVICE_POOLS,
        }
    }
}

/// `hsa_system_get_info`.
pub(crate) fn system(system: &System, attribute: u32) -> Result<Answer> {
    Ok(match attribute {
        0 => u16s(&[1]),
        1 => u16s(&[1]),
        2 => u64s(&[clock::now()]),
        3 => u64s(&[clock::FREQUENCY]),
        4 => u64s(&[u64::MAX]),
        // Little endian, the large machine model.
        5 => u32s(&[0]),
        6 => u32s(&[1]),
        7 => extension::bits(),
        // A text's address: given by the exported function.
        // Memory of the program is the device's only if it is locked.
        0x201 | 0x202 => flags(&[false]),
        _ => {
            let _ = system;
            return Err(Status::INVALID_ARGUMENT);
        }
    })
}

/// The name of the host's processor.
fn host_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name")?.split(':').nth(1));
    line.map_or_else(|| std::env::consts::ARCH.to_owned(), |name| name.trim().to_owned())
}

fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

/// `hsa_agent_get_info`. Addresses of words of the library's own are given by `words`.
pub(crate) fn agent(
    system: &System,
    agent: Agent,
    attribute: u32,
    words: impl Fn() -> Result<u64>,
) -> Result<Answer> {
    match agent {
        Agent::Host => host(system, attribute),
        Agent::Device => device(system, system.device()?, attribute, words),
    }
}

fn host(system: &System, attribute: u32) -> Result<Answer> {
    Ok(match attribute {
        0 | 0xa009 => text(&host_name(), 64),
        1 => text("CPU", 64),
        // No feature; the large machine model; the full profile; rounding to nearest.
        2 => u32s(&[0]),
        3 => u32s(&[1]),
        4 => u32s(&[1]),
        5 | 23 => u32s(&[2]),
        24 => flags(&[false]),
        6 | 8 | 10 | 11 => u32s(&[0]),
        7 => u16s(&[0; 3]),
        9 => u32s(&[0; 3]),
        // Queues, their type, node, type of the device, caches.
        12..=14 => u32s(&[0]),
        15 => u32s(&[0]),
        16 => u32s(&[0]),
        17 => u32s(&[0]),
        18 => u32s(&[32768, 0, 0, 0]),
        // No instruction set.
        19 => u64s(&[0]),
        20 => extension::bits(),
        21 => u16s(&[1]),
        22 => u16s(&[1]),
        0xa000 => u32s(&[0]),
        0xa001 => u32s(&[64]),
        0xa002 => u32s(&[processors()]),
        0xa003 => u32s(&[0]),
        0xa004 => u32s(&[0]),
        0xa005..=0xa008 => u32s(&[0]),
        0xa00a..=0xa00d => u32s(&[0]),
        0xa00e => u64s(&[0, 0]),
        0xa00f => u32s(&[0]),
        0xa010 => flags(&[false]),
        0xa011 => text("CPU-XX", 21),
        0xa012 => u32s(&[0]),
        0xa013 => flags(&[false]),
        0xa014 => u32s(&[0]),
        0x3000..=0x300c => image(attribute, false)?,
        _ => {
            let _ = system;
            return Err(Status::INVALID_ARGUMENT);
        }
    })
}

fn device(
    system: &System,
    device: &Device,
    attribute: u32,
    words: impl Fn() -> Result<u64>,
) -> Result<Answer> {
    /// PCI address: bus 1, device 0, function 0.
    const BDF: u32 = 0x100;
    Ok(match attribute {
        0 => text(device.processor, 64),
        1 => text("AMD", 64),
        // Kernel dispatches; the large machine model; the base profile; rounding to nearest.
        2 => u32s(&[1]),
        3 => u32s(&[1]),
        4 => u32s(&[0]),
        5 | 23 => u32s(&[2]),
        24 => flags(&[true]),
        6 => u32s(&[64]),
        7 => u16s(&[1024; 3]),
        8 => u32s(&[1024]),
        9 => u32s(&[i32::MAX as u32; 3]),
        10 => u32s(&[u32::MAX]),
        11 => u32s(&[32]),
        12 => u32s(&[128]),
        13 => u32s(&[queue::LEAST]),
        14 => u32s(&[queue::MOST]),
        // Many producers; node 1; a GPU.
        15 => u32s(&[0]),
        16 => u32s(&[1]),
        17 => u32s(&[1]),
        18 => u32s(&[16384, device.cache, 0, 0]),
        19 => u64s(&[ISA]),
        20 => extension::bits(),
        21 => u16s(&[1]),
        22 => u16s(&[1]),
        0xa000 => u32s(&[device.card.device_id]),
        0xa001 => u32s(&[64]),
        0xa002 | 0xa014 => u32s(&[device.units()]),
        0xa003 => u32s(&[device.clock]),
        0xa004 => u32s(&[1]),
        0xa005 => u32s(&[4]),
        0xa006 => u32s(&[BDF]),
        0xa007 => u32s(&[device.memory_width]),
        0xa008 => u32s(&[device.memory_clock]),
        0xa009 => text(device.product, 64),
        0xa00a => u32s(&[40]),
        0xa00b => u32s(&[4]),
        0xa00c => u32s(&[device.card.engines]),
        0xa00d => u32s(&[device.card.arrays]),
        0xa00e => {
            let words = words()?;
            u64s(&[words, words + 4])
        }
        0xa00f => u32s(&[0]),
        // Groups of a grid can wait for one another; before gfx9 HIP does not ask.
        0xa010 => flags(&[true]),
        0xa011 => text(&format!("GPU-{:016x}", 0x7761_7270_0000_0000 | u64::from(device.card.device_id)), 21),
        0xa012 => u32s(&[device.card.external_revision]),
        0xa013 => flags(&[false]),
        0x3000..=0x300c => image(attribute, true)?,
        _ => {
            let _ = system;
            return Err(Status::INVALID_ARGUMENT);
        }
    })
}

/// Limits of images; those of the host are 0.
fn image(attribute: u32, any: bool) -> Result<Answer> {
    let values: &[u32] = match attribute {
        0x3000 | 0x3001 => &[16384],
        0x3002 => &[u32::MAX],
        0x3003..=0x3006 => &[16384, 16384],
        0x3007 => &[2048, 2048, 2048],
        0x3008 => &[8192],
        0x3009 => &[128],
        0x300a => &[64],
        0x300b => &[16],
        0x300c => &[256],
        _ => return Err(Status::INVALID_ARGUMENT),
    };
    Ok(if any { u32s(values) } else { vec![0; 4 * values.len()] })
}

/// `hsa_isa_get_info_alt`.
pub(crate) fn isa(device: &Device, attribute: u32) -> Result<Answer> {
    Ok(match attribute {
        0 => u32s(&[device.isa.len() as u32 + 1]),
        1 => text(device.isa, device.isa.len() + 1),
        // One call convention, waves of 64 lanes, 40 of them in a compute unit.
        2 => u32s(&[1]),
        3 => u32s(&[64]),
        4 => u32s(&[40]),
        5 => flags(&[false, true]),
        6 => flags(&[true, false]),
        7 | 8 => flags(&[false, false, true]),
        9 => flags(&[true]),
        12 => u16s(&[1024; 3]),
        13 => u32s(&[1024]),
        14 => u32s(&[i32::MAX as u32; 3]),
        16 => u64s(&[u32::MAX.into()]),
        17 => u32s(&[32]),
        _ => return Err(Status::INVALID_ARGUMENT),
    })
}

/// `hsa_amd_memory_pool_get_info`.
pub(crate) fn pool(system: &System, pool: Pool, attribute: u32) -> Result<Answer> {
    let group = pool == Pool::Group;
    Ok(match attribute {
        0 => u32s(&[pool.segment()]),
        1 => u32s(&[pool.flags()]),
        2 | 16 => u64s(&[pool_bytes(system, pool)]),
        5 => flags(&[!group]),
        6 | 7 => u64s(&[if group { 0 } else { PAGE }]),
        15 => flags(&[pool.is_host()]),
        _ => return Err(Status::INVALID_ARGUMENT),
    })
}

fn pool_bytes(system: &System, pool: Pool) -> u64 {
    match pool {
        Pool::Group => 0x1_0000,
        Pool::Device => system.shared.device_limit,
        // Twice what the device has: all of the machine's, if nothing else was said.
        _ => 2 * system.shared.device_limit,
    }
}

/// `hsa_region_get_info`.
pub(crate) fn region(system: &System, region: Pool, attribute: u32) -> Result<Answer> {
    Ok(match attribute {
        0 | 1 | 5..=7 => pool(system, region, attribute)?,
        2 | 4 => u64s(&[pool_bytes(system, region)]),
        8 => u32s(&[0]),
        0xa000 => flags(&[region != Pool::Group]),
        0xa001 => u64s(&[0]),
        0xa002 => u32s(&[system.device.map_or(0, |device| device.memory_width)]),
        0xa003 => u32s(&[system.device.map_or(0, |device| device.memory_clock)]),
        _ => return Err(Status::INVALID_ARGUMENT),
    })
}

/// `hsa_amd_agent_memory_pool_get_info`.
pub(crate) fn agent_pool(agent: Agent, pool: Pool, attribute: u32) -> Result<Answer> {
    let own = agent.pools().contains(&pool);
    Ok(match attribute {
        // All memory is the host's: who wants it asks for it.
        0 => u32s(&[match pool {
            Pool::Group if !own => 0,
            _ if own || pool.is_host() => 1,
            _ => 2,
        }]),
        1 => u32s(&[u32::from(!own && pool != Pool::Group)]),
        2 if own || pool == Pool::Group => Vec::new(),
        2 => {
            // Latencies and bandwidths are not known; 32- and 64-bit atomics, coherent; PCIe; distance.
            let mut link = u32s(&[0; 4]);
            link.extend([1, 1, 1, 0]);
            link.extend(u32s(&[2, 20]));
            link
        }
        _ => return Err(Status::INVALID_ARGUMENT),
    })
}

/// The caches of an agent: handles.
pub(crate) fn caches(agent: Agent) -> Vec<u64> {
    match agent {
        Agent::Host => vec![CACHES],
        Agent::Device => vec![CACHES + 1, CACHES + 2],
    }
}

/// `hsa_cache_get_info`.
pub(crate) fn cache(system: &System, cache: u64, attribute: u32) -> Result<Answer> {
    let device = system.device.as_ref();
    let (name, level, size) = match (cache.wrapping_sub(CACHES), device) {
        (0, _) => ("host L1".to_owned(), 1, 32768),
        (1, Some(device)) => (format!("{} L1", device.processor), 1, 16384),
        (2, Some(device)) => (format!("{} L2", device.processor), 2, device.cache),
        _ => return Err(Status::INVALID_CACHE),
    };
    Ok(match attribute {
        0 => u32s(&[name.len() as u32 + 1]),
        1 => text(&name, name.len() + 1),
        2 => vec![level],
        3 => u32s(&[size]),
        _ => return Err(Status::INVALID_ARGUMENT),
    })
}

//! Answers about the card: the ioctl INFO.

use crate::chip::Chip;
use crate::fence::card_clock;
use crate::uapi::{User, put_u32, put_u64, u32_at, u64_at};
use rustix::io::Errno;

/// The kind of engine for compute; graphics is 0.
pub(crate) const COMPUTE: u32 = 1;
/// AMDGPU_HW_IP_NUM.
const KINDS: u32 = 9;
/// Rings of each kind, as bits.
const RINGS: [u32; 2] = [1, 3];

/// Whether there is such a ring.
pub(crate) fn has_ring(kind: u32, instance: u32, ring: u32) -> bool {
    instance == 0 && ring < 32 && RINGS.get(kind as usize).is_some_and(|rings| rings >> ring & 1 != 0)
}

/// What is told of memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heaps {
    /// Bytes of the card's memory, and of the host's that the card can use.
    pub sizes: [u64; 2],
    /// Bytes in use of both together.
    pub used: u64,
}

/// Answers INFO.
pub(crate) fn info(chip: &Chip, heaps: Heaps, arg: &[u8], user: &dyn User) -> Result<(), Errno> {
    let (to, bytes, query) = (u64_at(arg, 0), u32_at(arg, 8) as usize, u32_at(arg, 12));
    if bytes == 0 || to == 0 {
        return Err(Errno::INVAL);
    }
    let answer = answer(chip, heaps, query, &arg[16..])?;
    // Of a longer structure than the caller knows he gets the beginning, of a shorter one nothing is written behind it.
    user.write(to, &answer[..answer.len().min(bytes)])
}

fn number(value: u32) -> Vec<u8> {
    value.to_le_bytes().into()
}

fn wide(value: u64) -> Vec<u8> {
    value.to_le_bytes().into()
}

/// The answer to a query, as far as the structure goes. `more`: what the query is about.
fn answer(chip: &Chip, heaps: Heaps, query: u32, more: &[u8]) -> Result<Vec<u8>, Errno> {
    let subject = u32_at(more, 0);
    Ok(match query {
        // ACCEL_WORKING
        0x00 => number(1),
        // HW_IP_INFO, HW_IP_COUNT
        0x02 if subject < KINDS => engine(chip, subject),
        0x03 if subject < KINDS => number(u32::from(subject <= COMPUTE)),
        // TIMESTAMP
        0x05 => wide(card_clock()),
        // FW_VERSION
        0x0e => firmware(chip, subject),
        // NUM_BYTES_MOVED, NUM_EVICTIONS, NUM_VRAM_CPU_PAGE_FAULTS
        0x0f | 0x18 | 0x1e => wide(0),
        // VRAM_USAGE, VIS_VRAM_USAGE, GTT_USAGE
        0x10 | 0x17 => wide(heaps.used.min(heaps.sizes[0])),
        0x11 => wide(heaps.used.saturating_sub(heaps.sizes[0])),
        // GDS_CONFIG
        0x13 => vec![0; 32],
        // VRAM_GTT
        0x14 => [heaps.sizes[0], heaps.sizes[0], heaps.sizes[1]]
            .iter()
            .flat_map(|bytes| bytes.to_le_bytes())
            .collect(),
        // READ_MMR_REG
        0x15 => {
            let count = u32_at(more, 4);
            if count == 0 || count > 128 {
                return Err(Errno::INVAL);
            }
            (subject..subject.saturating_add(count)).flat_map(|at| chip.register(at).to_le_bytes()).collect()
        }
        // DEV_INFO
        0x16 => device(chip),
        // MEMORY: three heaps of total, usable, used, most at a time
        0x19 => {
            let [card, host] = heaps.sizes;
            let (used, more) = (heaps.used.min(card), heaps.used.saturating_sub(card));
            let heap = |bytes: u64, used: u64| [bytes, bytes, used, bytes / 4 * 3];
            let all = [heap(card, used), heap(card, used), heap(host, more)];
            all.iter().flatten().flat_map(|bytes| bytes.to_le_bytes()).collect()
        }
        // VRAM_LOST_COUNTER, RAS_ENABLED_FEATURES
        0x1f => number(0),
        0x20 => wide(0),
        // SENSOR: temperature, load and the like
        0x1d => number(0),
        // VIDEO_CAPS: eight codecs, none of them
        0x21 => vec![0; 8 * 24],
        _ => return Err(Errno::INVAL),
    })
}

fn engine(chip: &Chip, kind: u32) -> Vec<u8> {
    let mut out = vec![0; 32];
    if let Some(rings) = RINGS.get(kind as usize) {
        // Alignment of command buffers: their start, their size.
        for (at, value) in [(0, chip.generation), (4, chip.minor), (16, 32), (20, 32), (24, *rings)] {
            put_u32(&mut out, at, value);
        }
    }
    out
}

fn firmware(chip: &Chip, which: u32) -> Vec<u8> {
    let [me, pfp, mec, feature] = chip.firmware;
    let version = match which {
        4 => me,
        5 => pfp,
        8 => mec,
        _ => 0,
    };
    [version, if version == 0 { 0 } else { feature }].iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// drm_amdgpu_info_device.
fn device(chip: &Chip) -> Vec<u8> {
    let mut out = vec![0; 368];
    let is_9 = chip.generation == 9;
    let words = [
        (0, chip.device_id),
        (4, 1),
        (8, chip.external_revision),
        (12, chip.pci_revision),
        (16, chip.family),
        (20, chip.engines),
        (24, chip.arrays),
        // Frequency of the clock, in kHz.
        (28, 100_000),
        (48, chip.engines * chip.arrays * chip.units),
        (120, (1 << chip.backends) - 1),
        (124, chip.backends),
        // Contexts of the graphics engine.
        (128, 8),
        (160, 4096),
        // Bytes of a fragment of the page table, of a page, of the constant engine's memory.
        (164, 2 << 20),
        (168, 4096),
        (172, 32768),
        (176, chip.memory_type),
        (180, 256),
        (188, u32::from(chip.generation >= 7)),
        // Lanes of a wave, vector registers.
        (240, 64),
        (244, 256),
        (248, chip.units),
        (252, chip.cache_blocks),
        (256, if is_9 { 32 } else { 0 }),
        (260, if is_9 { 1792 } else { 0 }),
        (264, 32),
    ];
    for (at, value) in words {
        put_u32(&mut out, at, value);
    }
    // Clocks in kHz, and addresses.
    for (at, value) in [(32, 1_000_000), (40, 1_000_000), (144, 0x20_0000), (152, chip.address_end)] {
        put_u64(&mut out, at, value);
    }
    for engine in 0..chip.engines as usize {
        for array in 0..chip.arrays as usize {
            put_u32(&mut out, 56 + 16 * engine + 4 * array, (1 << chip.units) - 1);
        }
    }
    out
}

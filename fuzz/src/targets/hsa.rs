//! HSA's library of `warpjit exec`: code objects for its loader, and packets for its queues. Whatever a program hands over, loading ends
//! within a time and memory that its size lets it have, a queue processes a packet, waits, or says by its error callback that it cannot, and
//! nothing panics.

use std::time::{Duration, Instant};

use stats_alloc::{INSTRUMENTED_SYSTEM, Region};
use warpjit_frontend::Isa;
use warpjit_hsa::trial::{End, Loaded, PACKET_BYTES, Trial};
use warpjit_tests::random::rng::SplitMix;

use super::containers::SAMPLES;
use super::{Context, mutate};
use crate::Finding;

/// Bytes that loading may allocate beside what the object's size lets it, and for each byte of it.
const FREE_BYTES: u64 = 24 << 20;
const BYTES_A_BYTE: u64 = 200;
/// What loading may take.
const LOADING: Duration = Duration::from_secs(10);
/// How long a queue may be busy. Kernels of changed objects need not end.
const BUSY: Duration = Duration::from_millis(300);
/// What kernels find behind their arguments.
const DATA_BYTES: u64 = 1 << 16;

/// What dispatches are made of.
struct Bench {
    trial: Trial,
    /// Arguments, then data.
    memory: u64,
    signals: Vec<u64>,
}

impl Bench {
    fn new() -> Option<Bench> {
        let trial = Trial::new().ok()?;
        let memory = trial.allocate(2 * DATA_BYTES).ok()?;
        // Arguments: addresses in the data, and numbers of items.
        let arguments: Vec<u8> = (0..DATA_BYTES / 16)
            .flat_map(|n| {
                [memory + DATA_BYTES + 512 * (n % 32), if n % 3 == 0 { 64 } else { memory + DATA_BYTES }]
            })
            .flat_map(u64::to_le_bytes)
            .collect();
        trial.write(memory, &arguments).ok()?;
        let signals = [0, 1, 1, 3].into_iter().filter_map(|value| trial.signal(value).ok()).collect();
        Some(Bench { trial, memory, signals })
    }

    /// Processes packets, and counts how that ended.
    fn process(
        &self,
        packets: &[[u8; PACKET_BYTES]],
        what: &str,
        context: &mut Context,
    ) -> Result<(), Box<Finding>> {
        let end = match self.trial.process(packets, BUSY) {
            Ok(End::Panicked) => {
                return Err(Box::new(Finding::new("panic", String::from("a queue has panicked"))));
            }
            Ok(End::Done) => "done",
            Ok(End::Failed(_)) => "failed",
            Ok(End::Waits) => "waits",
            Err(_) => "no queue",
        };
        context.coverage.count(what, end);
        Ok(())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.signals.iter().for_each(|&signal| self.trial.destroy(signal));
        let _ = self.trial.free(self.memory);
    }
}

/// A code object that the library's device runs, or one that it must refuse.
fn object(random: &mut SplitMix) -> &'static [u8] {
    let of_gcn: Vec<&[u8]> = SAMPLES
        .iter()
        .filter(|sample| sample.isa == Isa::Gcn && sample.bytes.starts_with(b"\x7fELF"))
        .map(|sample| &sample.bytes[..])
        .collect();
    match of_gcn.is_empty() {
        true => &[],
        false => of_gcn[random.below(of_gcn.len() as u64) as usize],
    }
}

/// Loads code objects, within the limits of what they are.
fn load(bench: &Bench, objects: &[&[u8]], context: &mut Context) -> Result<Option<Loaded>, Box<Finding>> {
    let bytes: usize = objects.iter().map(|object| object.len()).sum();
    let finding = |kind: &str, text: String| {
        let files = objects.iter().enumerate().map(|(n, object)| (format!("object{n}.co"), object.to_vec()));
        Box::new(Finding { kind: kind.into(), text, files: files.collect() })
    };
    let (started, region) = (Instant::now(), Region::new(&INSTRUMENTED_SYSTEM));
    let loaded = bench.trial.load(objects);
    let (took, allocated) = (started.elapsed(), region.change().bytes_allocated as u64);
    if took > LOADING {
        return Err(finding("slow", format!("{bytes} bytes of code objects took {took:?}")));
    }
    if allocated > FREE_BYTES + BYTES_A_BYTE * bytes as u64 {
        return Err(finding("memory", format!("{bytes} bytes of code objects took {allocated} bytes")));
    }
    match loaded {
        Ok(loaded) => {
            context.coverage.count("objects", "loaded");
            Ok(Some(loaded))
        }
        Err(status) => {
            context.coverage.count("objects", format!("{status:?}"));
            Ok(None)
        }
    }
}

/// Code objects of a seed, and dispatches of the kernels that are found in them.
///
/// # Errors
///
/// What does not hold.
pub fn objects(seed: u64, context: &mut Context) -> Result<(), Box<Finding>> {
    let mut random = SplitMix::new(seed);
    let Some(bench) = Bench::new() else { return Ok(()) };
    let mut changed = Vec::new();
    for _ in 0..1 + random.below(4) / 3 {
        let mut bytes = object(&mut random).to_vec();
        if !random.one_in(16) {
            mutate::bytes(&mut bytes, &mut random);
        }
        changed.push(bytes);
    }
    let objects: Vec<&[u8]> = changed.iter().map(|bytes| &bytes[..]).collect();
    let Some(loaded) = load(&bench, &objects, context)? else { return Ok(()) };
    for &kernel in loaded.kernels.iter().take(2) {
        let packet = dispatch(&bench, kernel, &mut random);
        bench.process(&[packet], "dispatches", context)?;
    }
    Ok(())
}

/// Packets of a seed.
///
/// # Errors
///
/// What does not hold.
pub fn packets(seed: u64, context: &mut Context) -> Result<(), Box<Finding>> {
    let mut random = SplitMix::new(seed);
    let Some(bench) = Bench::new() else { return Ok(()) };
    let kernels = load(&bench, &[object(&mut random)], context)?;
    let kernels = kernels.as_ref().map_or(&[][..], |loaded| &loaded.kernels);
    let mut packets = Vec::new();
    for _ in 0..1 + random.below(12) {
        let kernel = match kernels.is_empty() || random.one_in(12) {
            true => number(&bench, &mut random),
            false => random.pick(kernels),
        };
        let mut packet = match random.below(10) {
            0..6 => dispatch(&bench, kernel, &mut random),
            6 | 7 => barrier(&bench, &mut random),
            8 => value_barrier(&bench, &mut random),
            _ => std::array::from_fn(|_| random.bits() as u8),
        };
        if random.one_in(3) {
            let at = 8 * random.below(8) as usize;
            packet[at..at + 8].copy_from_slice(&number(&bench, &mut random).to_le_bytes());
        }
        packets.push(packet);
    }
    bench.process(&packets, "packets", context)
}

/// What a field may hold.
fn number(bench: &Bench, random: &mut SplitMix) -> u64 {
    match random.below(8) {
        0 => 0,
        1 => random.below(70),
        2 => bench.memory + random.below(2 * DATA_BYTES + 64),
        3 => random.pick(&bench.signals),
        4 => random.pick(&[u64::MAX, 1 << 63, u32::MAX.into(), 0x8000_0000, 0xffff_ffff_f000, 1 << 47]),
        5 => 1 << random.below(64),
        _ => random.bits() >> random.below(64),
    }
}

/// A signal that is there, or none.
fn signal(bench: &Bench, random: &mut SplitMix) -> u64 {
    if random.one_in(3) { 0 } else { random.pick(&bench.signals) }
}

fn filled(header: u32, fields: &[(usize, u64, usize)]) -> [u8; PACKET_BYTES] {
    let mut packet = [0; PACKET_BYTES];
    packet[..4].copy_from_slice(&header.to_le_bytes());
    for &(at, value, bytes) in fields {
        packet[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    }
    packet
}

/// A dispatch of few work-items, whose arguments are addresses in the data and small numbers.
fn dispatch(bench: &Bench, kernel: u64, random: &mut SplitMix) -> [u8; PACKET_BYTES] {
    let dimensions = 1 + random.below(3) as u32;
    let group = random.pick(&[1_u64, 7, 64, 64, 128, 256, 1024]);
    let grid = random.pick(&[1_u64, 63, 64, 65, 200, 1000]);
    let (rows, layers) = (1 + random.below(2), 1 + random.below(2));
    filled(
        2 | (random.below(2) as u32) << 8 | dimensions << 16,
        &[
            (4, group, 2),
            (6, random.below(9).min(1), 2),
            (8, 1, 2),
            (12, grid, 4),
            (16, rows, 4),
            (20, layers, 4),
            (24, random.pick(&[0, 0, 0, 16, 1024, 0x10_0000]), 4),
            (28, random.pick(&[0, 0, 256, 0x8000, 0x1_0000]), 4),
            (32, kernel, 8),
            (40, bench.memory + 8 * random.below(0x100), 8),
            (56, signal(bench, random), 8),
        ],
    )
}

fn barrier(bench: &Bench, random: &mut SplitMix) -> [u8; PACKET_BYTES] {
    let mut fields = vec![(56, signal(bench, random), 8)];
    for n in 0..5 {
        let waits_for = if random.one_in(8) { signal(bench, random) } else { bench.signals[0] };
        fields.push((8 + 8 * n, waits_for, 8));
    }
    filled(random.pick(&[3, 5, 0x103]), &fields)
}

fn value_barrier(bench: &Bench, random: &mut SplitMix) -> [u8; PACKET_BYTES] {
    filled(
        2 << 16,
        &[
            (8, random.pick(&bench.signals), 8),
            (16, random.below(3), 8),
            (24, random.pick(&[u64::MAX, 1, 0]), 8),
            (32, random.below(5), 4),
            (56, signal(bench, random), 8),
        ],
    )
}

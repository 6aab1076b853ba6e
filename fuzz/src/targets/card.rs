//! The pretended card of `warpjit exec`: ioctls with arguments of all kinds, and command buffers. Whatever a program sends, ioctls answer
//! within a time, nothing panics, and a ring that waits for ever ends with the file.

use std::cell::RefCell;
use std::fs::File as HostFile;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use warpjit_card::chip::CHIPS;
use warpjit_card::settings::Settings;
use warpjit_card::{Card, Errno, File, User};
use warpjit_frontend::gcn;
use warpjit_runtime::Tier;
use warpjit_tests::random::rng::SplitMix;

use super::Context;
use crate::Finding;

/// Where the program's memory is, and how much there is.
const BASE: u64 = 0x1_0000;
const BYTES: usize = 1 << 16;
/// What the card's memory has: commands, programs, data.
const MEMORY: u64 = 0x20_0000;
const CARD_BYTES: u64 = 1 << 20;
const CODE: u64 = MEMORY + 0x4_0000;
const DATA: u64 = MEMORY + 0x8_0000;
/// What an ioctl may take. Some wait a second for what runs, or five for what is to be submitted.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Numbers of ioctls that are answered, the bytes of their structures, and where they have a time to wait until.
const IOCTLS: [(u32, usize, Option<usize>); 28] = [
    (0x00, 64, None),
    (0x09, 8, None),
    (0x0c, 16, None),
    (0xbf, 8, None),
    (0xc0, 8, None),
    (0xc3, 32, Some(8)),
    (0xc4, 16, None),
    (0xc5, 16, None),
    (0xca, 40, Some(16)),
    (0xcb, 24, None),
    (0xcc, 32, None),
    (0xcd, 24, None),
    (0x40, 32, None),
    (0x40, 32, None),
    (0x41, 8, None),
    (0x42, 16, None),
    (0x42, 16, None),
    (0x43, 24, None),
    (0x44, 24, None),
    (0x44, 24, None),
    (0x45, 32, None),
    (0x46, 288, None),
    (0x47, 16, Some(8)),
    (0x48, 40, None),
    (0x48, 40, None),
    (0x49, 32, Some(8)),
    (0x52, 24, Some(16)),
    (0x54, 32, None),
];

/// The memory of a program.
struct Program(RefCell<Vec<u8>>);

impl Program {
    fn range(address: u64, bytes: usize) -> Result<std::ops::Range<usize>, Errno> {
        let start =
            address.checked_sub(BASE).filter(|start| *start <= BYTES as u64).ok_or(Errno::FAULT)? as usize;
        match start.checked_add(bytes) {
            Some(end) if end <= BYTES => Ok(start..end),
            _ => Err(Errno::FAULT),
        }
    }
}

impl User for Program {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Errno> {
        out.copy_from_slice(&self.0.borrow()[Program::range(address, out.len())?]);
        Ok(())
    }

    fn write(&self, address: u64, data: &[u8]) -> Result<(), Errno> {
        self.0.borrow_mut()[Program::range(address, data.len())?].copy_from_slice(data);
        Ok(())
    }
}

struct Driver {
    card: Arc<Card>,
    file: Arc<File>,
    program: Program,
}

impl Driver {
    fn new(random: &mut SplitMix) -> Result<Driver, Errno> {
        let settings = Settings {
            chip: &CHIPS[random.below(CHIPS.len() as u64) as usize],
            threads: 1,
            tier: random.pick(&[Tier::Interp, Tier::Auto]),
            memory: 64 << 20,
            quiet: true,
            ..Settings::default()
        };
        let card = Card::new(settings);
        let file = File::new(card.clone())?;
        Ok(Driver { card, file, program: Program(RefCell::new(vec![0; BYTES])) })
    }

    /// An ioctl with a structure at the beginning of the program's memory; the structure afterwards.
    fn ioctl(&self, number: u32, structure: &[u8]) -> Result<Vec<u8>, Errno> {
        let mut bytes = structure.to_vec();
        self.program.write(BASE, &bytes)?;
        self.file.ioctl(3 << 30 | (bytes.len() as u32) << 16 | 0x6400 | number, BASE, &self.program)?;
        self.program.read(BASE, &mut bytes)?;
        Ok(bytes)
    }

    /// Memory of the card at [`MEMORY`], a context, and where the memory is in the file.
    fn prepare(&self) -> Result<(u32, u64), Errno> {
        let created = self.ioctl(0x40, &wide(&[CARD_BYTES, 4096, 4, 0]))?;
        let handle = word(&created, 0);
        let at = self.ioctl(0x41, &wide(&[handle.into()]))?;
        self.ioctl(0x48, &wide(&[handle.into(), 1 | 0xe << 32, MEMORY, 0, CARD_BYTES]))?;
        let context = word(&self.ioctl(0x42, &wide(&[1, 0]))?, 0);
        Ok((context, u64::from(word(&at, 0)) | u64::from(word(&at, 4)) << 32))
    }

    /// Submits a command buffer; its number.
    fn submit(&self, context: u32, ring: u32, address: u64, words: usize) -> Result<u64, Errno> {
        let ib = [0, 0, address as u32, (address >> 32) as u32, 4 * words as u32, ring, 0, 0];
        self.program.write(BASE + 0x400, &words_bytes(&ib))?;
        self.program.write(BASE + 0x300, &wide(&[1 | 8 << 32, BASE + 0x400]))?;
        self.program.write(BASE + 0x200, &wide(&[BASE + 0x300]))?;
        let done = self.ioctl(0x44, &wide(&[context.into(), 1, BASE + 0x200]))?;
        Ok(u64::from(word(&done, 0)) | u64::from(word(&done, 4)) << 32)
    }

    /// What went wrong inside, if anything did.
    fn check(&self) -> Result<(), Box<Finding>> {
        match self.card.internal_errors() {
            0 => Ok(()),
            count => Err(Box::new(Finding::new("panic", format!("{count} submissions ended in a panic")))),
        }
    }
}

fn wide(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn words_bytes(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

/// A number that means something now and then.
fn number(random: &mut SplitMix) -> u64 {
    match random.below(10) {
        0..4 => random.below(5),
        4 => random.pick(&[u64::MAX, 1 << 63, u32::MAX.into(), 0x8000_0000, 0xffff_ffff_f000]),
        5 => 0x1000 * random.below(600),
        6 | 7 => BASE + 8 * random.below(BYTES as u64 / 8 + 4),
        8 => MEMORY + 4 * random.below(CARD_BYTES / 4 + 64),
        _ => random.bits() >> random.below(64),
    }
}

/// Ioctls of a seed.
///
/// # Errors
///
/// What does not hold.
pub fn ioctls(seed: u64, context: &mut Context) -> Result<(), Box<Finding>> {
    let mut random = SplitMix::new(seed);
    let Ok(driver) = Driver::new(&mut random) else { return Ok(()) };
    // Arrays that structures point to: small numbers, so that many of them are handles.
    for at in (0..BYTES).step_by(4) {
        let value = number(&mut random) as u32;
        driver.program.0.borrow_mut()[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    if random.one_in(2) {
        let _ = driver.prepare();
    }
    for _ in 0..40 {
        let (number_of, own, timeout) = random.pick(&IOCTLS);
        let number_of = if random.one_in(20) { random.below(256) as u32 } else { number_of };
        let bytes = if random.one_in(10) { random.below(320) as usize } else { own };
        let mut structure: Vec<u8> =
            (0..bytes.div_ceil(8)).flat_map(|_| pair(&mut random).to_le_bytes()).collect();
        structure.truncate(bytes);
        // Nothing waits longer than until now.
        if let Some(place) = timeout.and_then(|at| structure.get_mut(at..at + 8)) {
            place.fill(0);
        }
        let directions = if random.one_in(10) { random.below(4) as u32 } else { 3 };
        let address = if random.one_in(20) { number(&mut random) } else { BASE };
        let _ = driver.program.write(address, &structure);
        // Submitted arrays do not ask for the five seconds that the kernel waits.
        let request = directions << 30 | (bytes as u32) << 16 | 0x6400 | number_of;
        let started = Instant::now();
        let answer = driver.file.ioctl(request, address, &driver.program);
        context.coverage.count("ioctls", if answer.is_ok() { "answered" } else { "refused" });
        if started.elapsed() > TIME_LIMIT {
            let text = format!("ioctl {number_of:#x} took {:?}: {structure:02x?}", started.elapsed());
            return Err(Box::new(Finding::new("slow", text)));
        }
    }
    driver.check()
}

/// Two words of a structure.
fn pair(random: &mut SplitMix) -> u64 {
    if random.one_in(2) { number(random) } else { number(random) & 0xffff_ffff | number(random) << 32 }
}

/// Command buffers of a seed.
///
/// # Errors
///
/// What does not hold.
pub fn packets(seed: u64, context: &mut Context) -> Result<(), Box<Finding>> {
    let mut random = SplitMix::new(seed);
    let Ok(driver) = Driver::new(&mut random) else { return Ok(()) };
    let chip = gcn::Chip::parse(driver.card.chip().name);
    let (Ok((id, place)), Some(chip)) = (driver.prepare(), chip) else { return Ok(()) };
    let words = commands(&mut random);
    let memory = driver.file.descriptor().try_clone_to_owned().map(HostFile::from);
    let Ok(memory) = memory else { return Ok(()) };
    let data: Vec<u8> = (0..0x1000).flat_map(|_| (number(&mut random) as u32).to_le_bytes()).collect();
    let put = |address: u64, bytes: &[u8]| memory.write_all_at(bytes, place + (address - MEMORY));
    let is_put =
        put(MEMORY, &words_bytes(&words)).and(put(DATA, &data)).and(put(CODE, &programs(chip, &mut random)));
    if is_put.is_err() {
        return Ok(());
    }
    let cut = if random.one_in(8) { random.below(words.len() as u64 + 8) as usize } else { words.len() };
    let ring = u32::from(random.one_in(4));
    let Ok(sequence) = driver.submit(id, ring, MEMORY, cut) else { return Ok(()) };
    let started = Instant::now();
    let mut is_done = false;
    while !is_done && started.elapsed() < Duration::from_millis(500) {
        let state = driver.ioctl(0x49, &wide(&[sequence, 0, ring.into(), u64::from(id) << 32]));
        is_done = state.is_ok_and(|state| word(&state, 0) == 0);
        std::thread::sleep(Duration::from_micros(200));
    }
    let lost = driver.ioctl(0x42, &wide(&[4, id.into()])).is_ok_and(|state| word(&state, 0) != 0);
    let end = match (is_done, lost) {
        (false, _) => "waits",
        (true, true) => "lost",
        (true, false) => "done",
    };
    context.coverage.count("command buffers", end);
    driver.check()
}

/// Programs that end, and such that export.
fn programs(chip: gcn::Chip, random: &mut SplitMix) -> Vec<u8> {
    let texts = [
        "s_endpgm\n",
        "v_mov_b32 v1, 1.0\nexp pos0 v1, v0, v1, v1 done\nexp param0 v0, v1, v0, v1\ns_endpgm\n",
        "v_mov_b32 v1, 1.0\nexp mrt0 v1, v0, v1, v1 done vm\ns_endpgm\n",
        "v_cvt_f32_u32 v2, v0\nv_mov_b32 v1, 0.5\nv_mov_b32 v3, 1.0\nexp pos0 v2, v1, v1, v3 done\ns_endpgm\n",
    ];
    let mut bytes = Vec::new();
    for text in texts {
        let code = gcn::assemble(text, chip).map_or_else(|_| vec![0; 4], |assembled| assembled.code);
        bytes.extend(&code);
        bytes.resize(bytes.len().next_multiple_of(256), 0);
    }
    if random.one_in(4) {
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] = random.bits() as u8;
    }
    bytes
}

/// Registers that draws and dispatches look at: of all sets, and more often those that decide.
fn register(random: &mut SplitMix) -> (u8, u32) {
    let byte = match random.below(8) {
        0 => 0xb020 + 4 * random.below(20) as u32,
        1 => 0xb120 + 4 * random.below(20) as u32,
        2 => 0xb800 + 4 * random.below(80) as u32,
        3 => random.pick(&[0x30908, 0x3090c, 0x30920, 0x30928, 0x3092c, 0x8958]),
        4 => 0x28c60 + 4 * random.below(120) as u32,
        5 => random.pick(&[
            0x28000, 0x28008, 0x28038, 0x28040, 0x28048, 0x28050, 0x28058, 0x2805c, 0x28068, 0x28238, 0x2823c,
        ]),
        6 => random.pick(&[
            0x286cc, 0x286d0, 0x286d8, 0x28710, 0x28714, 0x286c4, 0x2870c, 0x28780, 0x28800, 0x28808,
            0x28810, 0x28814, 0x28818, 0x2881c,
        ]),
        _ => 0x28000 + 4 * random.below(0x400) as u32,
    };
    match byte {
        0x8000..0xb000 => (0x68, (byte - 0x8000) / 4),
        0xb000..0x2_8000 => (0x76, (byte - 0xb000) / 4),
        0x2_8000..0x3_0000 => (0x69, (byte - 0x2_8000) / 4),
        _ => (0x79, (byte - 0x3_0000) / 4),
    }
}

/// What registers and packets may hold.
fn value(random: &mut SplitMix) -> u32 {
    match random.below(10) {
        0..3 => random.below(32) as u32,
        3 => (CODE >> 8) as u32 + random.below(5) as u32,
        4 => (DATA >> 8) as u32 + random.below(16) as u32,
        5 => random.pick(&[1.0f32, 0.5, 32.0, -1.0, f32::NAN, 1e30]).to_bits(),
        6 => random.pick(&[u32::MAX, 0x8000_0000, 0xffff, 0x4000_4000]),
        7 => 1 << random.below(32),
        8 => (DATA + 4 * random.below(0x400)) as u32,
        _ => random.bits() as u32,
    }
}

/// State with which draws draw: targets of 64 by 64 pixels in the data, programs that export.
fn usual_state(words: &mut Vec<u32>) {
    let mut set = |op: u32, first: u32, values: &[u32]| {
        words.push(3 << 30 | (values.len() as u32) << 16 | op << 8);
        words.push(first);
        words.extend(values);
    };
    let page = |address: u64| (address >> 8) as u32;
    // Programs: the fourth for vertices, the third for pixels.
    set(0x76, 0x48, &[page(CODE) + 3, 0, 1, 0]);
    set(0x76, 0x08, &[page(CODE) + 2, 0, 1, 0]);
    set(0x79, 0x242, &[4]);
    set(0x68, 0x256, &[4]);
    // Scissors, masks, viewport.
    set(0x69, 0x81, &[0, 0x0040_0040]);
    set(0x69, 0x8e, &[0xf, 0xf]);
    set(0x69, 0x10f, &[32.0f32, 32.0, 32.0, 32.0, 0.5, 0.5].map(f32::to_bits));
    set(0x69, 0x1b1, &[0]);
    set(0x69, 0x1b3, &[2, 2, 0, 0]);
    set(0x69, 0x1c3, &[4, 0, 9]);
    set(0x69, 0x202, &[0xcc << 16 | 1 << 4, 0, 0x1_0000, 0, 0x43f, 0]);
    // A target of 8_8_8_8, linear.
    set(0x69, 0x318, &[page(DATA), 7, 63, 0, 10 << 2, 0]);
}

fn commands(random: &mut SplitMix) -> Vec<u32> {
    let mut words = Vec::new();
    if !random.one_in(3) {
        usual_state(&mut words);
    }
    let ops: [u8; 35] = [
        0x10, 0x11, 0x12, 0x13, 0x15, 0x16, 0x1f, 0x20, 0x22, 0x24, 0x25, 0x26, 0x27, 0x28, 0x2a, 0x2c, 0x2d,
        0x2f, 0x32, 0x34, 0x35, 0x37, 0x38, 0x3f, 0x40, 0x41, 0x43, 0x46, 0x47, 0x48, 0x49, 0x50, 0x51, 0x61,
        0x9f,
    ];
    for _ in 0..1 + random.below(24) {
        let (op, body): (u8, Vec<u32>) = match random.below(40) {
            0..22 => {
                let (op, first) = register(random);
                let count = 1 + random.below(4);
                (op, std::iter::once(first).chain((0..count).map(|_| value(random))).collect())
            }
            22..28 => (0x2d, vec![random.below(40) as u32, 2]),
            28..31 => (0x15, vec![random.below(4) as u32, random.below(3) as u32, 1, value(random)]),
            31..35 => (0x27, vec![random.below(64) as u32, value(random), 0, random.below(64) as u32, 0]),
            // What waits is there seldom: it waits for all of the case's time.
            35 if random.one_in(40) => (0x3c, (0..6).map(|_| value(random)).collect()),
            36 => {
                let length = 1 + random.below(8);
                (random.bits() as u8, (0..length).map(|_| value(random)).collect())
            }
            _ => {
                let length = 1 + random.below(9);
                (random.pick(&ops), (0..length).map(|_| value(random)).collect())
            }
        };
        // Waits of a random kind are none of theirs.
        let op = if op == 0x3c && body.len() != 6 { 0x10 } else { op };
        let flags = u32::from(random.one_in(8));
        words.push(3 << 30 | (body.len() as u32 - 1) << 16 | u32::from(op) << 8 | flags);
        words.extend(body);
    }
    if random.one_in(6) {
        let at = random.below(words.len() as u64) as usize;
        words[at] = value(random);
    }
    words
}

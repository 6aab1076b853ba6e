//! Ioctls as a driver would send them, and as no driver should: the answers are the kernel's.

use std::cell::RefCell;
use std::sync::Arc;

use rustix::io::Errno;
use warpjit_card::settings::Settings;
use warpjit_card::{Card, File, User};

/// The memory of a program: 64 KiB from this address on.
const BASE: u64 = 0x1_0000;
struct Program(RefCell<Vec<u8>>);

impl User for Program {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Errno> {
        let memory = self.0.borrow();
        let start = address.checked_sub(BASE).ok_or(Errno::FAULT)? as usize;
        let end = start.checked_add(out.len()).ok_or(Errno::FAULT)?;
        out.copy_from_slice(memory.get(start..end).ok_or(Errno::FAULT)?);
        Ok(())
    }

    fn write(&self, address: u64, data: &[u8]) -> Result<(), Errno> {
        let mut memory = self.0.borrow_mut();
        let start = address.checked_sub(BASE).ok_or(Errno::FAULT)? as usize;
        let end = start.checked_add(data.len()).ok_or(Errno::FAULT)?;
        memory.get_mut(start..end).ok_or(Errno::FAULT)?.copy_from_slice(data);
        Ok(())
    }
}

struct Driver {
    file: Arc<File>,
    program: Program,
}

/// Where arrays are put.
const ARRAY: u64 = BASE + 0x1000;
/// Numbers of ioctls, with the bytes of their structures.
const VERSION: (u32, usize) = (0x00, 64);
const GEM_CLOSE: (u32, usize) = (0x09, 8);
const GET_CAP: (u32, usize) = (0x0c, 16);
const SYNCOBJ_CREATE: (u32, usize) = (0xbf, 8);
const SYNCOBJ_DESTROY: (u32, usize) = (0xc0, 8);
const SYNCOBJ_WAIT: (u32, usize) = (0xc3, 32);
const SYNCOBJ_RESET: (u32, usize) = (0xc4, 16);
const SYNCOBJ_SIGNAL: (u32, usize) = (0xc5, 16);
const TIMELINE_WAIT: (u32, usize) = (0xca, 40);
const QUERY: (u32, usize) = (0xcb, 24);
const TRANSFER: (u32, usize) = (0xcc, 32);
const TIMELINE_SIGNAL: (u32, usize) = (0xcd, 24);
const GEM_CREATE: (u32, usize) = (0x40, 32);
const GEM_MMAP: (u32, usize) = (0x41, 8);
const CTX: (u32, usize) = (0x42, 16);
const BO_LIST: (u32, usize) = (0x43, 24);
const CS: (u32, usize) = (0x44, 24);
const INFO: (u32, usize) = (0x45, 32);
const METADATA: (u32, usize) = (0x46, 288);
const WAIT_IDLE: (u32, usize) = (0x47, 16);
const GEM_VA: (u32, usize) = (0x48, 40);
const WAIT_CS: (u32, usize) = (0x49, 32);
const GEM_OP: (u32, usize) = (0x50, 16);
const GEM_USERPTR: (u32, usize) = (0x51, 24);
const WAIT_FENCES: (u32, usize) = (0x52, 24);
const FENCE_TO_HANDLE: (u32, usize) = (0x54, 32);

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn wide(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

impl Driver {
    fn new() -> Driver {
        let card = Card::new(Settings { threads: 1, memory: 64 << 20, ..Settings::default() });
        Driver { file: File::new(card).unwrap(), program: Program(RefCell::new(vec![0; 1 << 16])) }
    }

    /// An ioctl with a structure; the structure afterwards.
    fn ioctl(&self, (number, size): (u32, usize), argument: &[u8]) -> Result<Vec<u8>, Errno> {
        let mut bytes = argument.to_vec();
        bytes.resize(size, 0);
        self.program.write(BASE, &bytes)?;
        let request = 3 << 30 | (size as u32) << 16 | u32::from(b'd') << 8 | number;
        self.file.ioctl(request, BASE, &self.program)?;
        self.program.read(BASE, &mut bytes)?;
        Ok(bytes)
    }

    fn put(&self, address: u64, bytes: &[u8]) -> u64 {
        self.program.write(address, bytes).unwrap();
        address
    }

    fn buffer(&self, bytes: u64) -> u32 {
        u32_at(&self.ioctl(GEM_CREATE, &wide(&[bytes, 4096, 4, 0])).unwrap(), 0)
    }

    fn map(&self, buffer: u32, operation: u32, address: u64, bytes: u64) -> Result<Vec<u8>, Errno> {
        self.map_at(buffer, operation, 0xe, address, 0, bytes)
    }

    fn map_at(
        &self,
        buffer: u32,
        operation: u32,
        flags: u32,
        address: u64,
        offset: u64,
        bytes: u64,
    ) -> Result<Vec<u8>, Errno> {
        let argument = [words(&[buffer, 0, operation, flags]), wide(&[address, offset, bytes])].concat();
        self.ioctl(GEM_VA, &argument)
    }

    fn context(&self) -> u32 {
        u32_at(&self.ioctl(CTX, &words(&[1, 0, 0, 0])).unwrap(), 0)
    }

    fn syncobj(&self, flags: u32) -> u32 {
        u32_at(&self.ioctl(SYNCOBJ_CREATE, &words(&[0, flags])).unwrap(), 0)
    }

    /// Submits chunks, (kind, contents) each.
    fn submit(&self, context: u32, chunks: &[(u32, Vec<u8>)]) -> Result<u64, Errno> {
        let (mut at, mut heads, mut pointers) = (ARRAY + 0x1000, ARRAY + 0x800, Vec::new());
        for (kind, contents) in chunks {
            self.put(at, contents);
            self.put(heads, &[words(&[*kind, contents.len() as u32 / 4]), wide(&[at])].concat());
            pointers.push(heads);
            heads += 16;
            at += contents.len() as u64;
        }
        self.put(ARRAY, &wide(&pointers));
        let argument = [words(&[context, 0, chunks.len() as u32, 0]), wide(&[ARRAY])].concat();
        Ok(u64_at(&self.ioctl(CS, &argument)?, 0))
    }

    fn wait_cs(&self, context: u32, number: u64, timeout: u64) -> Result<u64, Errno> {
        let argument = [wide(&[number, timeout]), words(&[1, 0, 0, context])].concat();
        Ok(u64_at(&self.ioctl(WAIT_CS, &argument)?, 0))
    }
}

/// A chunk with a command buffer for the first compute ring.
fn commands(address: u64, words_: u32) -> (u32, Vec<u8>) {
    (1, [words(&[0, 0]), wide(&[address]), words(&[words_ * 4, 1, 0, 0])].concat())
}

/// A packet that writes a word.
fn write_word(address: u64, value: u32) -> Vec<u8> {
    words(&[3 << 30 | 3 << 16 | 0x37 << 8, 5 << 8, address as u32, (address >> 32) as u32, value])
}

#[test]
fn memory_of_the_program() {
    let driver = Driver::new();
    let create = |address: u64, bytes: u64, flags: u32| {
        driver.ioctl(GEM_USERPTR, &[wide(&[address, bytes]), words(&[flags, 0])].concat())
    };
    for (address, bytes, flags, error) in [
        (0x1234_5678, 4096, 9, Errno::INVAL),
        (0x1234_5000, 100, 9, Errno::INVAL),
        (0x1234_5000, 0, 9, Errno::INVAL),
        (u64::MAX - 4095, 8192, 9, Errno::INVAL),
        (0x1234_5000, 4096, 0x19, Errno::INVAL),
        // To write, the program's changes have to be told.
        (0x1234_5000, 4096, 0, Errno::ACCESS),
        (0x1234_5000, 1 << 40, 8, Errno::NOMEM),
        // This program's memory is no file.
        (0x1234_5000, 4096, 8, Errno::INVAL),
    ] {
        assert_eq!(create(address, bytes, flags), Err(error), "{address:x} {bytes:x} {flags}");
    }
    // Nothing is left of it: the first handle is given out.
    assert_eq!(driver.buffer(4096), 1);
}

#[test]
fn the_card_tells_what_it_is() {
    let driver = Driver::new();
    let version = driver.ioctl(VERSION, &[words(&[0; 4]), wide(&[3, ARRAY, 64, 0, 0, 0])].concat()).unwrap();
    assert_eq!((u32_at(&version, 0), u64_at(&version, 16)), (3, 6));
    let mut name = [0; 4];
    driver.program.read(ARRAY, &mut name).unwrap();
    assert_eq!(&name, b"amd\0");
    assert_eq!(u64_at(&driver.ioctl(GET_CAP, &wide(&[0x13])).unwrap(), 8), 1);
    assert_eq!(u64_at(&driver.ioctl(GET_CAP, &wide(&[5])).unwrap(), 8), 0);
    // DEV_INFO, of which the caller knows the first word only.
    driver.put(ARRAY, &[0xff; 8]);
    driver.ioctl(INFO, &[wide(&[ARRAY]), words(&[4, 0x16])].concat()).unwrap();
    let mut device = [0; 8];
    driver.program.read(ARRAY, &mut device).unwrap();
    assert_eq!([u32_at(&device, 0), u32_at(&device, 4)], [0x67df, u32::MAX]);
    for (to, bytes, query) in [(0, 4, 0x16), (ARRAY, 0, 0x16), (ARRAY, 4, 0x99), (ARRAY, 4, 0x01)] {
        let info = driver.ioctl(INFO, &[wide(&[to]), words(&[bytes, query])].concat());
        assert_eq!(info, Err(Errno::INVAL), "{query:#x}");
    }
    let wild = driver.ioctl(INFO, &[wide(&[1 << 40]), words(&[4, 0x16])].concat());
    assert_eq!(wild, Err(Errno::FAULT));
    // No engine of that kind; too many registers.
    assert_eq!(driver.ioctl(INFO, &[wide(&[ARRAY]), words(&[32, 2, 9])].concat()), Err(Errno::INVAL));
    assert_eq!(driver.ioctl(INFO, &[wide(&[ARRAY]), words(&[4, 0x15, 0, 129])].concat()), Err(Errno::INVAL));
    assert_eq!(driver.ioctl((0xa7, 8), &[]), Err(Errno::INVAL));
}

#[test]
fn buffers() {
    let driver = Driver::new();
    let create = |bytes, domains| driver.ioctl(GEM_CREATE, &wide(&[bytes, 4096, domains, 0]));
    assert_eq!(create(0, 4), Err(Errno::INVAL));
    assert_eq!(create(4096, 0x10), Err(Errno::INVAL));
    assert_eq!(create(97 << 20, 4), Err(Errno::NOMEM));
    assert_eq!(create(u64::MAX, 4), Err(Errno::INVAL));
    let buffer = driver.buffer(5000);
    // It takes whole pages.
    driver.ioctl(GEM_OP, &[words(&[buffer, 0]), wide(&[ARRAY])].concat()).unwrap();
    let mut made = [0; 8];
    driver.program.read(ARRAY, &mut made).unwrap();
    assert_eq!(u64::from_le_bytes(made), 8192);
    assert_eq!(driver.ioctl(GEM_OP, &words(&[buffer, 9])), Err(Errno::INVAL));
    for ioctl in [GEM_MMAP, GEM_OP, METADATA, WAIT_IDLE] {
        assert_eq!(driver.ioctl(ioctl, &words(&[99])), Err(Errno::NOENT), "{ioctl:?}");
    }
    assert_eq!(driver.ioctl(GEM_CLOSE, &words(&[99])), Err(Errno::INVAL));

    let data = [words(&[buffer, 1, 0, 0]), wide(&[0x1234]), words(&[8, 5, 6])].concat();
    driver.ioctl(METADATA, &data).unwrap();
    let data = driver.ioctl(METADATA, &words(&[buffer, 2])).unwrap();
    assert_eq!((u64_at(&data, 16), u32_at(&data, 24), u32_at(&data, 32)), (0x1234, 8, 6));
    let long = [words(&[buffer, 1, 0, 0]), wide(&[0]), words(&[257])].concat();
    assert_eq!(driver.ioctl(METADATA, &long), Err(Errno::INVAL));

    assert!(driver.map(buffer, 1, 0x20_0000, 8192).is_ok());
    assert_eq!(driver.map(buffer, 1, 0x20_1000, 4096), Err(Errno::INVAL));
    for (address, offset, bytes) in [
        (0x30_0001, 0, 4096),
        (0x30_0000, 1, 4096),
        (0x30_0000, 0, 0),
        (0x30_0000, 4096, 8192),
        (0x30_0000, 0, 12288),
        (0, 0, 4096),
        (1 << 40, 0, 4096),
        (u64::MAX - 4095, 0, 4096),
    ] {
        let map = driver.map_at(buffer, 1, 0xe, address, offset, bytes);
        assert_eq!(map, Err(Errno::INVAL), "{address:#x} {offset} {bytes}");
    }
    assert_eq!(driver.map_at(buffer, 1, 1 << 20, 0x30_0000, 0, 4096), Err(Errno::INVAL));
    assert_eq!(driver.map(99, 1, 0x30_0000, 4096), Err(Errno::NOENT));
    assert_eq!(driver.map(buffer, 9, 0x30_0000, 4096), Err(Errno::INVAL));
    assert_eq!(driver.map(buffer, 2, 0x30_0000, 4096), Err(Errno::NOENT));
    assert!(driver.map(0, 3, 0x30_0000, 4096).is_ok());
    assert!(driver.ioctl(GEM_CLOSE, &words(&[buffer])).is_ok());
    assert_eq!(driver.map(0, 2, 0x20_0000, 8192), Err(Errno::NOENT));
}

#[test]
fn contexts_and_lists() {
    let driver = Driver::new();
    let context = driver.context();
    assert!(driver.ioctl(CTX, &words(&[4, 0, context])).is_ok());
    for argument in [[2, 0, 99], [3, 0, 99], [4, 0, 99], [9, 0, context]] {
        assert_eq!(driver.ioctl(CTX, &words(&argument)), Err(Errno::INVAL), "{argument:?}");
    }
    assert!(driver.ioctl(CTX, &words(&[2, 0, context])).is_ok());
    assert_eq!(driver.ioctl(CTX, &words(&[2, 0, context])), Err(Errno::INVAL));

    let buffer = driver.buffer(4096);
    driver.put(ARRAY, &words(&[buffer, 0, 99, 0]));
    let list = |operation, list, count, bytes, at| {
        driver.ioctl(BO_LIST, &[words(&[operation, list, count, bytes]), wide(&[at])].concat())
    };
    let made = u32_at(&list(0, 0, 1, 8, ARRAY).unwrap(), 0);
    assert_eq!(list(0, 0, 2, 8, ARRAY), Err(Errno::NOENT));
    assert_eq!(list(0, 0, 1, 4, ARRAY), Err(Errno::INVAL));
    assert_eq!(list(0, 0, u32::MAX, 8, ARRAY), Err(Errno::INVAL));
    assert_eq!(list(0, 0, 1, 8, 0), Err(Errno::FAULT));
    assert!(list(2, made, 1, 8, ARRAY).is_ok());
    assert_eq!(list(2, 77, 1, 8, ARRAY), Err(Errno::NOENT));
    assert!(list(1, made, 0, 0, 0).is_ok());
}

#[test]
fn syncobjs() {
    let driver = Driver::new();
    assert_eq!(driver.ioctl(SYNCOBJ_CREATE, &words(&[0, 2])), Err(Errno::INVAL));
    let (signalled, open) = (driver.syncobj(1), driver.syncobj(0));
    driver.put(ARRAY, &words(&[signalled, open, 99]));
    let wait = |first: u64, count, timeout: u64, flags| {
        let argument = [wide(&[ARRAY + 4 * first, timeout]), words(&[count, flags])].concat();
        driver.ioctl(SYNCOBJ_WAIT, &argument)
    };
    assert!(wait(0, 1, 0, 0).is_ok());
    // Nobody has submitted anything for the second: an error, or time passes.
    assert_eq!(wait(0, 2, 0, 1), Err(Errno::INVAL));
    assert_eq!(wait(0, 2, 0, 1 | 2), Err(Errno::TIME));
    assert_eq!(u32_at(&wait(0, 2, 0, 2).unwrap(), 24), 0);
    assert_eq!(wait(2, 1, 0, 0), Err(Errno::NOENT));
    assert_eq!(wait(0, 0, 0, 0), Err(Errno::INVAL));
    assert_eq!(wait(0, 1, 0, 64), Err(Errno::INVAL));
    assert_eq!(wait(0, u32::MAX, 0, 0), Err(Errno::INVAL));
    let array = |at: u64, count: u32| [wide(&[at]), words(&[count, 0])].concat();
    assert!(driver.ioctl(SYNCOBJ_SIGNAL, &array(ARRAY + 4, 1)).is_ok());
    assert_eq!(u32_at(&wait(1, 1, 0, 0).unwrap(), 24), 0);
    assert!(driver.ioctl(SYNCOBJ_RESET, &array(ARRAY, 2)).is_ok());
    assert_eq!(wait(0, 1, 0, 0), Err(Errno::INVAL));
    assert_eq!(driver.ioctl(SYNCOBJ_RESET, &array(ARRAY, 3)), Err(Errno::NOENT));
    assert_eq!(driver.ioctl(SYNCOBJ_RESET, &array(ARRAY, 0)), Err(Errno::INVAL));

    // A timeline.
    driver.put(ARRAY + 0x100, &wide(&[5]));
    let points = |flags: u32| [wide(&[ARRAY, ARRAY + 0x100]), words(&[1, flags])].concat();
    let wait = |flags: u32| {
        driver.ioctl(TIMELINE_WAIT, &[wide(&[ARRAY, ARRAY + 0x100, 0]), words(&[1, flags])].concat())
    };
    assert_eq!(wait(2), Err(Errno::TIME));
    assert!(driver.ioctl(TIMELINE_SIGNAL, &points(0)).is_ok());
    assert!(wait(0).is_ok());
    driver.put(ARRAY + 0x100, &wide(&[0]));
    assert!(driver.ioctl(QUERY, &points(0)).is_ok());
    let mut value = [0; 8];
    driver.program.read(ARRAY + 0x100, &mut value).unwrap();
    assert_eq!(u64::from_le_bytes(value), 5);
    assert_eq!(driver.ioctl(QUERY, &points(8)), Err(Errno::INVAL));
    let transfer =
        |from, to, point: u64| driver.ioctl(TRANSFER, &[words(&[from, to]), wide(&[point, 0])].concat());
    assert!(transfer(signalled, open, 5).is_ok());
    assert_eq!(transfer(signalled, open, 6), Err(Errno::INVAL));
    assert_eq!(transfer(99, open, 5), Err(Errno::NOENT));
    assert_eq!(driver.ioctl(SYNCOBJ_DESTROY, &words(&[99])), Err(Errno::INVAL));
    assert!(driver.ioctl(SYNCOBJ_DESTROY, &words(&[open])).is_ok());
}

#[test]
fn submissions() {
    let driver = Driver::new();
    let (context, buffer, fence) = (driver.context(), driver.buffer(1 << 16), driver.buffer(4096));
    let at = 0x20_0000;
    driver.map(buffer, 1, at, 1 << 16).unwrap();
    let packet = write_word(at + 0x100, 7);
    let offset = u64_at(&driver.ioctl(GEM_MMAP, &words(&[buffer])).unwrap(), 0);
    rustix::io::pwrite(driver.file.descriptor(), &packet, offset).unwrap();
    let signal = driver.syncobj(0);
    let number =
        driver.submit(context, &[commands(at, 5), (2, words(&[fence, 8])), (5, words(&[signal]))]).unwrap();
    assert_eq!(number, 1);
    // For ever.
    assert_eq!(driver.wait_cs(context, number, u64::MAX), Ok(0));
    let word = |offset: u64| {
        let mut word = [0; 4];
        rustix::io::pread(driver.file.descriptor(), &mut word, offset).unwrap();
        u32::from_le_bytes(word)
    };
    assert_eq!(word(offset + 0x100), 7);
    let fence_at = u64_at(&driver.ioctl(GEM_MMAP, &words(&[fence])).unwrap(), 0);
    assert_eq!(word(fence_at + 8), 1);
    driver.put(ARRAY, &words(&[signal]));
    assert!(driver.ioctl(SYNCOBJ_WAIT, &[wide(&[ARRAY, 0]), words(&[1, 0])].concat()).is_ok());
    assert_eq!(u32_at(&driver.ioctl(WAIT_IDLE, &words(&[buffer])).unwrap(), 0), 0);

    // A submission that waits for one that waits for the host.
    let host = driver.syncobj(0);
    let wait = (8, [words(&[host, 0]), wide(&[3])].concat());
    assert_eq!(driver.submit(context, &[commands(at, 5), wait]), Err(Errno::INVAL));
    let dependency = |number: u64| (3, [words(&[1, 0, 0, context]), wide(&[number])].concat());
    assert_eq!(driver.submit(context, &[commands(at, 5), dependency(2)]), Err(Errno::INVAL));
    let second = driver.submit(context, &[commands(at, 5), dependency(1)]).unwrap();
    let fences = [words(&[context, 1, 0, 0]), wide(&[second])].concat();
    driver.put(ARRAY, &fences);
    let all = driver.ioctl(WAIT_FENCES, &[wide(&[ARRAY]), words(&[1, 1]), wide(&[u64::MAX >> 1])].concat());
    assert_eq!(u32_at(&all.unwrap(), 0), 1);
    let handle = u32_at(&driver.ioctl(FENCE_TO_HANDLE, &fences).unwrap(), 0);
    assert!(driver.ioctl(SYNCOBJ_DESTROY, &words(&[handle])).is_ok());
    assert_eq!(driver.wait_cs(context, 77, 0), Err(Errno::INVAL));
    assert_eq!(driver.wait_cs(99, 1, 0), Err(Errno::INVAL));
}

#[test]
fn bad_submissions() {
    let driver = Driver::new();
    let (context, fence) = (driver.context(), driver.buffer(8192));
    let good = || commands(0x20_0000, 5);
    let ring = |kind, instance, number| {
        (1, [words(&[0, 0]), wide(&[0]), words(&[4, kind, instance, number])].concat())
    };
    for chunks in [
        vec![],
        vec![(2, words(&[fence, 0]))],
        vec![(77, words(&[0])), good()],
        vec![(1, words(&[0; 4]))],
        vec![(1, Vec::new())],
        vec![ring(2, 0, 0)],
        vec![ring(1, 1, 0)],
        vec![ring(1, 0, 2)],
        vec![ring(0, 0, 0), ring(1, 0, 0)],
        // The fence's buffer is not one page.
        vec![good(), (2, words(&[fence, 0]))],
    ] {
        assert_eq!(driver.submit(context, &chunks), Err(Errno::INVAL), "{chunks:?}");
    }
    assert_eq!(driver.submit(context, &[good(), (2, words(&[99, 0]))]), Err(Errno::NOENT));
    assert_eq!(driver.submit(context, &[good(), (4, words(&[99]))]), Err(Errno::NOENT));
    assert_eq!(driver.submit(context, &[good(), (5, words(&[99]))]), Err(Errno::NOENT));
    assert_eq!(driver.submit(99, &[good()]), Err(Errno::INVAL));
    let list = [words(&[context, 55, 1, 0]), wide(&[ARRAY])].concat();
    assert_eq!(driver.ioctl(CS, &list), Err(Errno::NOENT));
    let wild = [words(&[context, 0, 1, 0]), wide(&[1 << 50])].concat();
    assert_eq!(driver.ioctl(CS, &wild), Err(Errno::FAULT));

    // Commands where nothing is: the context is lost, its fence happens all the same, and it takes no more.
    let number = driver.submit(context, &[commands(0x7000_0000, 64)]).unwrap();
    assert_eq!(driver.wait_cs(context, number, u64::MAX >> 1), Ok(0));
    assert_eq!(u64_at(&driver.ioctl(CTX, &words(&[4, 0, context])).unwrap(), 0), 5);
    assert_eq!(driver.submit(context, &[good()]), Err(Errno::CANCELED));
    let other = driver.context();
    assert_eq!(u64_at(&driver.ioctl(CTX, &words(&[4, 0, other])).unwrap(), 0), 0);
}

#[test]
fn structures_of_other_sizes() {
    let driver = Driver::new();
    // Shorter than the card's: what is missing is 0. Longer: the rest is left alone.
    assert!(driver.ioctl((GEM_CREATE.0, 24), &wide(&[4096, 0, 4])).is_ok());
    let long = driver.ioctl((GEM_CREATE.0, 48), &wide(&[4096, 0, 4, 0, 7, 8])).unwrap();
    assert_eq!((u64_at(&long, 32), u64_at(&long, 40)), (7, 8));
    // None at all.
    assert_eq!(driver.ioctl((GEM_CREATE.0, 0), &[]), Err(Errno::INVAL));
    for number in 0..=0xff {
        for size in [0, 4, 8, 16, 511, 0x3fff] {
            // Zeros are nothing that harms.
            let _ = driver.ioctl((number, size), &[]);
        }
    }
}

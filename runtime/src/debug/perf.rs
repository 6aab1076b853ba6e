//! Announces code to Linux perf: `/tmp/perf-PID.map`, which `perf report` reads directly, and `jit-PID.dump`, from which `perf
//! inject --jit` makes object files with the code and its guest addresses.
//!
//! The formats are Linux's (tools/perf/Documentation: jit-interface.txt, jitdump-specification.txt). The process must map the
//! dump executable, because `perf inject` finds it by that event in the recording.

use super::FunctionCode;
use crate::Error;
use crate::fork;
use crate::fork::Mutex;
use rustix::mm::{MapFlags, ProtFlags, mmap};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// "JiTD" as a number in the host's order of bytes.
const MAGIC: u32 = 0x4a69_5444;
const VERSION: u32 = 1;
const HEADER_BYTES: u32 = 40;
const RECORD_HEADER_BYTES: u32 = 16;
const CODE_LOAD: u32 = 0;
const CODE_DEBUG_INFO: u32 = 2;
/// ELF's number of the machine.
const MACHINE: u32 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };

struct Files {
    map: File,
    dump: File,
    /// A unique number for the next piece of code.
    index: u64,
    /// The process that the files belong to. A child of `fork` has files of its own.
    process: u64,
}

static FILES: Mutex<Option<Files>> = Mutex::new(None);

/// Opens both files, once a process.
pub(crate) fn open() -> Result<(), Error> {
    open_into(&mut FILES.lock())
}

fn open_into(files: &mut Option<Files>) -> Result<(), Error> {
    let process = fork::generation();
    if files.as_ref().is_some_and(|files| files.process == process) {
        return Ok(());
    }
    let pid = std::process::id();
    // perf knows the map by this name only.
    let path = format!("/tmp/perf-{pid}.map");
    let map = create(Path::new(&path)).map_err(|error| Error::os("perf map", format!("{path}: {error}")))?;
    let name = format!("jit-{pid}.dump");
    // If /tmp is mounted noexec, the dump could not be mapped and perf would not see it. Then use the current folder.
    let dump = create_dump(&Path::new("/tmp").join(&name)).or_else(|_| create_dump(&PathBuf::from(&name)));
    let dump = dump.map_err(|error| Error::os("jitdump", format!("{name}: {error}")))?;
    *files = Some(Files { map, dump, index: 0, process });
    Ok(())
}

/// Opens a file and truncates it. Others may write to /tmp and can guess the name, so links, files of other users and
/// files with several names are refused.
fn create(path: &Path) -> std::io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags)
        .open(path)?;
    let data = file.metadata()?;
    let is_ours = data.is_file() && data.uid() == rustix::process::geteuid().as_raw() && data.nlink() == 1;
    if !is_ours {
        return Err(std::io::Error::other("belongs to somebody else"));
    }
    file.set_len(0)?;
    Ok(file)
}

/// A dump with its header, mapped.
fn create_dump(path: &Path) -> std::io::Result<File> {
    let mut file = create(path)?;
    let words = [MAGIC, VERSION, HEADER_BYTES, MACHINE, 0, std::process::id()];
    let mut header: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    header.extend(now().to_ne_bytes());
    header.extend(0u64.to_ne_bytes());
    file.write_all(&header)?;
    let protection = ProtFlags::READ | ProtFlags::EXEC;
    // SAFETY: a new mapping where the kernel likes, which nobody reads; it stays until the process ends.
    unsafe {
        mmap(std::ptr::null_mut(), rustix::param::page_size(), protection, MapFlags::PRIVATE, &file, 0)
    }?;
    Ok(file)
}

/// Nanoseconds of the clock that `perf record -k mono` uses.
fn now() -> u64 {
    // SAFETY: zero is a valid timespec; the pointer is to a local.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time);
        time
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Writes a region to both files. Errors are ignored: the profile then lacks the region, but the guest can run.
pub(super) fn announce(region: &FunctionCode<'_>) {
    let mut files = FILES.lock();
    if files.is_none() || open_into(&mut files).is_err() {
        return;
    }
    let Some(files) = files.as_mut() else { return };
    files.index += 1;
    // SAFETY: takes nothing.
    let thread = unsafe { libc::gettid() } as u32;
    let line = map_line(region);
    let records = records(region, files.index, std::process::id(), thread, now());
    let _ = files.map.write_all(line.as_bytes());
    let _ = files.dump.write_all(&records);
}

fn map_line(region: &FunctionCode<'_>) -> String {
    format!("{:x} {:x} {}\n", region.code.start() as usize, region.code.len(), region.name())
}

/// The records of a region: its guest addresses as the lines of a file called like the kernel, then its code.
fn records(region: &FunctionCode<'_>, index: u64, pid: u32, thread: u32, time: u64) -> Vec<u8> {
    let start = region.code.start() as u64;
    let mut out = Vec::new();
    let mut lines: Vec<u8> = Vec::new();
    let mut count = 0u64;
    for (offset, _, pc) in region.pc_ranges() {
        lines.extend((start + u64::from(offset)).to_ne_bytes());
        lines.extend(pc.to_ne_bytes());
        lines.extend(0u32.to_ne_bytes());
        lines.extend(region.kernel.bytes().filter(|&byte| byte != 0));
        lines.push(0);
        count += 1;
    }
    if count > 0 {
        let mut body = start.to_ne_bytes().to_vec();
        body.extend(count.to_ne_bytes());
        body.extend(lines);
        record(&mut out, CODE_DEBUG_INFO, time, &body);
    }
    let mut body: Vec<u8> = [pid, thread].iter().flat_map(|word| word.to_ne_bytes()).collect();
    for word in [start, start, region.code.len() as u64, index] {
        body.extend(word.to_ne_bytes());
    }
    body.extend(region.name().bytes().filter(|&byte| byte != 0));
    body.push(0);
    body.extend(region.code.bytes());
    record(&mut out, CODE_LOAD, time, &body);
    out
}

fn record(out: &mut Vec<u8>, id: u32, time: u64, body: &[u8]) {
    out.extend(id.to_ne_bytes());
    out.extend((RECORD_HEADER_BYTES + body.len() as u32).to_ne_bytes());
    out.extend(time.to_ne_bytes());
    out.extend(body);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::CodeMemory;
    use warpjit_backend::NO_PC;

    fn u32_at(bytes: &[u8], at: usize) -> u32 {
        u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    fn u64_at(bytes: &[u8], at: usize) -> u64 {
        u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
    }

    #[test]
    fn files_that_are_not_ours_are_left_alone() {
        let folder = std::env::temp_dir().join(format!("warpjit-perf-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let (path, precious) = (folder.join("perf.map"), folder.join("precious"));
        std::fs::write(&precious, b"precious").unwrap();
        let is_refused = || {
            let refused = create(&path).is_err();
            assert_eq!(std::fs::read(&precious).unwrap(), b"precious");
            std::fs::remove_file(&path).unwrap();
            refused
        };
        std::os::unix::fs::symlink(&precious, &path).unwrap();
        assert!(is_refused());
        std::fs::hard_link(&precious, &path).unwrap();
        assert!(is_refused());
        // One of an earlier process of that number is emptied.
        std::fs::write(&path, b"old").unwrap();
        create(&path).unwrap().write_all(b"n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"n");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn records_are_as_the_specification_says() {
        let code = CodeMemory::new().add(&[0x90, 0x90, 0x90, 0xc3]).unwrap();
        let pcs = [(0, NO_PC), (1, 0x10), (3, 0x18)];
        let region = FunctionCode { kernel: "k", pc: 0x10, kind: "", version: 2, code: &code, pcs: &pcs };
        let start = code.start() as u64;
        assert_eq!(map_line(&region), format!("{start:x} 4 warpjit::k@0x10#2\n"));
        let bytes = records(&region, 7, 11, 12, 13);
        // JIT_CODE_DEBUG_INFO: header of 16 bytes, address, count, entries of 16 bytes and a name.
        assert_eq!([u32_at(&bytes, 0), u32_at(&bytes, 4)], [2, 16 + 16 + 2 * 18]);
        assert_eq!([u64_at(&bytes, 8), u64_at(&bytes, 16), u64_at(&bytes, 24)], [13, start, 2]);
        assert_eq!((u64_at(&bytes, 32), u32_at(&bytes, 40), u32_at(&bytes, 44)), (start + 1, 0x10, 0));
        assert_eq!(&bytes[48..50], b"k\0");
        assert_eq!((u64_at(&bytes, 50), u32_at(&bytes, 58)), (start + 3, 0x18));
        // JIT_CODE_LOAD behind it: pid, thread, address twice, size, index, name, code.
        let load = &bytes[68..];
        let name = b"warpjit::k@0x10#2\0";
        assert_eq!((u32_at(load, 0), u32_at(load, 4) as usize), (0, 16 + 8 + 32 + name.len() + 4));
        assert_eq!(load.len(), u32_at(load, 4) as usize);
        assert_eq!([u32_at(load, 16), u32_at(load, 20)], [11, 12]);
        assert_eq!([24, 32, 40, 48].map(|at| u64_at(load, at)), [start, start, 4, 7]);
        assert_eq!(&load[56..56 + name.len()], name);
        assert_eq!(load[56 + name.len()..], [0x90, 0x90, 0x90, 0xc3]);
    }
}

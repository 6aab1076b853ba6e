//! What only a process of its own shows: lines on standard error, signals, children of `fork`. Each test starts this program again for itself.
#![cfg(unix)]

// Other tests use the rest.
#[allow(dead_code, unused_imports)]
#[path = "calls/support.rs"]
mod support;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use support::{Buffer, Dispatch, Executable, Queue, Signal, arguments, call, corpus};
use warpjit_hsa::status::Status;

/// Says which test a process is started for.
const ROLE: &str = "WARPJIT_TEST_ROLE";

/// Whether this process was started by the test that has this name.
fn is_child(test: &str) -> bool {
    std::env::var(ROLE).is_ok_and(|role| role == test)
}

/// Starts this program for one test.
fn start(test: &str) -> Child {
    command(test).spawn().unwrap()
}

fn command(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads", "1"]).env(ROLE, test);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// How it ends, within a minute.
fn end(child: &mut Child) -> ExitStatus {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if began.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("the process does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts this program for one test, which must end well; what it says on standard error.
fn good_end(test: &str) -> String {
    let mut child = start(test);
    let status = end(&mut child);
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(status.success(), "{status}: {text}");
    text
}

/// A kernel of the corpus that has begun; `never`: its first instruction jumps to itself.
fn launch(queue: &Queue, never: bool, address: Option<u64>, done: &Signal) -> (Executable, [Buffer; 3]) {
    let executable = Executable::new(&corpus("saxpy/vega10.co"));
    let (x, y) = (Buffer::with(&corpus("saxpy/x.in.bin")), Buffer::with(&corpus("saxpy/y.in.bin")));
    let to = address.map_or(y.pointer(), u64::to_le_bytes);
    let given = arguments(&[&to, &x.pointer(), &2.5_f32.to_le_bytes(), &1000_i32.to_le_bytes()]);
    if never {
        let descriptor = executable.long("saxpy.kd", 22);
        let place = std::ptr::with_exposed_provenance_mut::<u8>(descriptor as usize);
        const JUMP: u32 = 0xbf82_ffff;
        // SAFETY: the descriptor says where the code is; program and device share memory.
        unsafe {
            let offset = place.add(16).cast::<i64>().read_unaligned();
            place.offset(offset as isize).cast::<u32>().write_unaligned(JUMP);
        }
    }
    let (group, grid, dynamic) = ([64, 1, 1], [1000, 1, 1], 0);
    let dispatch =
        Dispatch { executable: &executable, kernel: "saxpy.kd", group, grid, dynamic, kernarg: &given };
    queue.submit(dispatch.packet(done.0));
    (executable, [x, y, given])
}

/// A fault is one line: device, kernel, pc, instruction, block, wave, lane, address.
#[test]
fn faults_are_a_line() {
    let name = "faults_are_a_line";
    if is_child(name) {
        let (queue, done) = (Queue::new(64), Signal::new(1));
        let _all = launch(&queue, false, Some(0x1234_5678_9000), &done);
        assert_eq!(queue.error(), Status::MEMORY_FAULT);
        return;
    }
    let text = good_end(name);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("warpjit:")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    let line = lines[0];
    assert!(line.starts_with("warpjit: gfx900: memory fault in kernel saxpy at pc 0x"), "{line}");
    assert!(line.contains(" (global_load_dword v"), "{line}");
    assert!(line.ends_with("): block (0, 0, 0), wave 0, lane 0: load from global 0x123456789000"), "{line}");
}

/// Statistics tell what a kernel has loaded and stored. saxpy reads and writes a word of one array and reads one of another for each of
/// 1000 items; each of its 16 waves loads 32 bytes of arguments and of its packet.
#[test]
fn statistics_have_bytes() {
    let name = "statistics_have_bytes";
    if is_child(name) {
        let (queue, done) = (Queue::new(64), Signal::new(1));
        let _all = launch(&queue, false, None, &done);
        done.wait();
        warpjit_hsa::system::finish();
        return;
    }
    let file = std::env::temp_dir().join(format!("warpjit-bytes-{}.json", std::process::id()));
    let mut child = command(name).env("WARPJIT_EXEC_STATS", &file).spawn().unwrap();
    assert!(end(&mut child).success());
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let kernel = &json["kernels"][0];
    assert_eq!(kernel["kernel"], "saxpy");
    let numbers = ["dispatches", "bytes_loaded", "bytes_stored"].map(|field| kernel[field].as_u64().unwrap());
    assert_eq!(numbers, [1, 2 * 4000 + 16 * 32, 4000], "{text}");
}

/// Ctrl-C ends a program whose kernel never ends.
#[test]
fn interrupts_end_it() {
    let name = "interrupts_end_it";
    if is_child(name) {
        let (queue, done) = (Queue::new(64), Signal::new(1));
        let _all = launch(&queue, true, None, &done);
        std::thread::sleep(Duration::from_millis(50));
        println!("it runs");
        done.wait();
        unreachable!("the kernel has ended");
    }
    let mut child = start(name);
    let runs =
        BufReader::new(child.stdout.take().unwrap()).lines().any(|line| line.unwrap().contains("it runs"));
    assert!(runs);
    // SAFETY: a signal to a process that this one has started and not waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
    assert_eq!(end(&mut child).signal(), Some(libc::SIGINT));
}

/// Queues whose kernels never end can be destroyed, and the next queue works.
#[test]
fn queues_with_endless_kernels_end() {
    let name = "queues_with_endless_kernels_end";
    if is_child(name) {
        let (queue, done) = (Queue::new(64), Signal::new(1));
        let all = launch(&queue, true, None, &done);
        std::thread::sleep(Duration::from_millis(50));
        drop(queue);
        assert_eq!(done.value(), 1);
        drop(all);
        let (queue, done) = (Queue::new(64), Signal::new(1));
        let _all = launch(&queue, false, None, &done);
        done.wait();
        return;
    }
    good_end(name);
}

/// A child of `fork` ends as programs do, with queues destroyed and the library shut down or without; the parent goes on.
#[test]
fn children_of_fork_end() {
    let name = "children_of_fork_end";
    if is_child(name) {
        let (queue, done) = (Queue::new(64), Signal::new(1));
        let _all = launch(&queue, false, None, &done);
        done.wait();
        for tidy in [false, true] {
            // SAFETY: the child only calls the library and ends.
            let child = unsafe { libc::fork() };
            if child == 0 {
                if tidy {
                    call!(hsa_queue_destroy(queue.queue));
                    call!(hsa_shut_down());
                }
                // SAFETY: what is registered for the end may run.
                unsafe { libc::exit(7) };
            }
            let (began, mut status) = (Instant::now(), 0);
            // SAFETY: the child of this process.
            while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
                assert!(began.elapsed() < Duration::from_secs(20), "the child does not end");
                std::thread::sleep(Duration::from_millis(2));
            }
            assert_eq!(libc::WEXITSTATUS(status), 7);
        }
        let again = Signal::new(1);
        let _more = launch(&queue, false, None, &again);
        again.wait();
        return;
    }
    good_end(name);
}

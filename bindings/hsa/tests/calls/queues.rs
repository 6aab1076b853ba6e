//! Queues, dispatches, code objects.

use crate::support::{
    Buffer, DEVICE, Dispatch, Executable, Queue, Signal, arguments, barrier, call, corpus, header, status,
    value_barrier,
};
use std::ffi::c_void;
use std::time::Duration;
use warpjit_hsa::memory::Pool;
use warpjit_hsa::status::Status;

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// A whole program's work: 1000 values in workgroups of 64, of which the last is not full.
#[test]
fn saxpy() {
    let executable = Executable::new(&corpus("saxpy/vega10.co"));
    let (x, y) = (Buffer::with(&corpus("saxpy/x.in.bin")), Buffer::with(&corpus("saxpy/y.in.bin")));
    let arguments = arguments(&[&y.pointer(), &x.pointer(), &2.5_f32.to_le_bytes(), &1000_i32.to_le_bytes()]);
    let queue = Queue::new(64);
    let dispatch = Dispatch {
        executable: &executable,
        kernel: "saxpy.kd",
        group: [64, 1, 1],
        grid: [1000, 1, 1],
        dynamic: 0,
        kernarg: &arguments,
    };
    dispatch.run(&queue);
    for (one, two) in floats(&y.get()).iter().zip(floats(&corpus("saxpy/y.out.bin"))) {
        assert!((one - two).abs() <= two.abs() * 2.5e-7, "{one} {two}");
    }
}

/// Scratch, in workgroups that are no whole waves.
#[test]
fn scratch() {
    let executable = Executable::new(&corpus("private_sort/vega10.co"));
    assert!(executable.word("private_sort.kd", 14) > 0);
    let (from, to) = (Buffer::with(&corpus("private_sort/in.in.bin")), Buffer::new(Pool::Device, 8064));
    let arguments = arguments(&[&from.pointer(), &to.pointer(), &20_i32.to_le_bytes()]);
    Dispatch {
        executable: &executable,
        kernel: "private_sort.kd",
        group: [32, 1, 1],
        grid: [96, 1, 1],
        dynamic: 0,
        kernarg: &arguments,
    }
    .run(&Queue::new(64));
    let expected = corpus("private_sort/out.out.bin");
    assert_eq!(to.get()[..expected.len()], expected);
}

/// Variables of the program are where the kernel finds them. Those that are local to it have no names for others.
#[test]
fn variables() {
    let executable = Executable::new(&corpus("vars/vega10.co"));
    // Its variables are local to the code object, so programs cannot ask for them.
    let mut symbol = 0;
    let found = status!(hsa_executable_get_symbol_by_name(
        executable.0,
        c"counter".as_ptr(),
        &DEVICE,
        &raw mut symbol
    ));
    assert_eq!(found, Status::INVALID_SYMBOL_NAME);
    let (from, to) = (Buffer::with(&corpus("vars/in.in.bin")), Buffer::new(Pool::Device, 256));
    let arguments = arguments(&[&to.pointer(), &from.pointer()]);
    let dispatch = Dispatch {
        executable: &executable,
        kernel: "vars.kd",
        group: [64, 1, 1],
        grid: [64, 1, 1],
        dynamic: 0,
        kernarg: &arguments,
    };
    let queue = Queue::new(64);
    dispatch.run(&queue);
    let expected = corpus("vars/out.out.bin");
    assert_eq!(to.get(), expected);
}

/// LDS whose size the packet says.
#[test]
fn dynamic_lds() {
    let executable = Executable::new(&corpus("reduce_tree/vega10.co"));
    let values: Vec<u8> = (0..4096_u32).flat_map(u32::to_le_bytes).collect();
    let (from, to) = (Buffer::with(&values), Buffer::new(Pool::Device, 16));
    let lds = 0_u32.to_le_bytes();
    let arguments = arguments(&[&from.pointer(), &to.pointer(), &lds, &4096_i32.to_le_bytes()]);
    Dispatch {
        executable: &executable,
        kernel: "reduce_tree.kd",
        group: [256, 1, 1],
        grid: [1024, 1, 1],
        dynamic: 1024,
        kernarg: &arguments,
    }
    .run(&Queue::new(64));
    assert_eq!(to.words().iter().sum::<u32>(), 4096 * 4095 / 2);
}

/// Barriers wait, in order, and count their signals down.
#[test]
fn barriers() {
    let queue = Queue::new(64);
    let [first, second, all, any, value] = [2, 1, 1, 1, 1].map(Signal::new);
    queue.submit(barrier(3, &[first.0, second.0], all.0));
    queue.submit(barrier(5, &[first.0, second.0], any.0));
    let wanted = Signal::new(0);
    queue.submit(value_barrier(wanted.0, 0, 0x30, 0xf0, value.0));
    warpjit_hsa::exports::hsa_signal_subtract_relaxed(first.0, 2);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!((all.value(), any.value()), (1, 1));
    warpjit_hsa::exports::hsa_signal_store_screlease(second.0, 0);
    all.wait();
    any.wait();
    assert_eq!(value.value(), 1);
    warpjit_hsa::exports::hsa_signal_store_relaxed(wanted.0, 0x1234_5637);
    value.wait();
    let mut times = [0; 2];
    call!(hsa_amd_profiling_get_dispatch_time(crate::support::DEVICE, all.0, &raw mut times));
    assert!(times[1] > times[0] && times[0] > 0);
}

/// Four threads write far more packets than there is room for.
#[test]
fn many_producers() {
    const PACKETS: i64 = 2000;
    let queue = Queue::new(64);
    let done = Signal::new(4 * PACKETS);
    struct Shared<'a>(&'a Queue);
    // SAFETY: any thread may write packets.
    unsafe impl Sync for Shared<'_> {}
    let shared = Shared(&queue);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let Shared(queue) = &shared;
                (0..PACKETS).for_each(|_| queue.submit(barrier(3, &[], done.0)));
            });
        }
    });
    done.wait();
}

/// A fault ends in the queue's callback, and the queue processes no more packets.
#[test]
fn fault() {
    let executable = Executable::new(&corpus("saxpy/vega10.co"));
    let wild = 0x1234_5678_9000_u64.to_le_bytes();
    let arguments = arguments(&[&wild, &wild, &2.5_f32.to_le_bytes(), &1000_i32.to_le_bytes()]);
    let queue = Queue::new(64);
    let (done, next) = (Signal::new(1), Signal::new(1));
    let dispatch = Dispatch {
        executable: &executable,
        kernel: "saxpy.kd",
        group: [64, 1, 1],
        grid: [64, 1, 1],
        dynamic: 0,
        kernarg: &arguments,
    };
    queue.submit(dispatch.packet(done.0));
    queue.submit(barrier(3, &[], next.0));
    assert_eq!(queue.error(), Status::MEMORY_FAULT);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!((done.value(), next.value()), (1, 1));
}

/// Packets that cannot be processed, each in a queue of its own.
#[test]
fn bad_packets() {
    let executable = Executable::new(&corpus("saxpy/vega10.co"));
    let kernarg = arguments(&[]);
    let good = Dispatch {
        executable: &executable,
        kernel: "saxpy.kd",
        group: [64, 1, 1],
        grid: [64, 1, 1],
        dynamic: 0,
        kernarg: &kernarg,
    }
    .packet(0);
    let with = |word: usize, value: u32| {
        let mut packet = good;
        packet[word] = value;
        packet
    };
    let mut unknown = [0; 16];
    unknown[0] = header(9);
    let mut vendor = [0; 16];
    vendor[0] = header(0) | 7 << 16;
    for (packet, status) in [
        (unknown, Status::INVALID_PACKET_FORMAT),
        (vendor, Status::INVALID_PACKET_FORMAT),
        ([header(4), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], Status::INVALID_PACKET_FORMAT),
        (with(8, 0x40), Status::INVALID_CODE_OBJECT),
        (with(1, 2048 | 1 << 16), Status::INVALID_ARGUMENT),
        (with(1, 64), Status::INVALID_ARGUMENT),
        (with(7, 0x1_0001), Status::INVALID_ALLOCATION),
        (with(14, 0x1234), Status::INVALID_SIGNAL),
        (barrier(3, &[64], 0), Status::INVALID_SIGNAL),
        (value_barrier(0, 0, 0, 0, 0), Status::INVALID_SIGNAL),
    ] {
        let queue = Queue::new(64);
        queue.submit(packet);
        assert_eq!(queue.error(), status, "{packet:x?}");
    }
    // A signal that is destroyed while a packet waits for it.
    let queue = Queue::new(64);
    let signal = Signal::new(1);
    queue.submit(barrier(3, &[signal.0], 0));
    std::thread::sleep(Duration::from_millis(5));
    call!(hsa_signal_destroy(signal.0));
    assert_eq!(queue.error(), Status::INVALID_SIGNAL);
}

/// A kernel that never ends is ended with its queue.
#[test]
fn queues_end() {
    let queue = Queue::new(64);
    let never = Signal::new(1);
    queue.submit(barrier(3, &[never.0], 0));
    call!(hsa_queue_inactivate(queue.queue));
    drop(queue);
    let mut queue = std::ptr::null_mut();
    let null = std::ptr::null_mut();
    for (agent, size, status) in [
        (crate::support::HOST, 64, Status::INVALID_QUEUE_CREATION),
        (crate::support::DEVICE, 65, Status::INVALID_ARGUMENT),
        (crate::support::DEVICE, 1 << 30, Status::INVALID_QUEUE_CREATION),
        (7, 64, Status::INVALID_AGENT),
    ] {
        assert_eq!(status!(hsa_queue_create(agent, size, 0, None, null, 0, 0, &raw mut queue)), status);
    }
    assert_eq!(status!(hsa_queue_destroy(null)), Status::INVALID_ARGUMENT);
    assert_eq!(status!(hsa_queue_destroy(64 as *mut c_void)), Status::INVALID_QUEUE);
}

#[test]
fn bad_code_objects() {
    let good = corpus("saxpy/vega10.co");
    for (bytes, status) in [
        (&good[..good.len() / 2], Status::INVALID_CODE_OBJECT),
        (&good[..20], Status::INVALID_CODE_OBJECT),
        (b"no code object".as_slice(), Status::INVALID_CODE_OBJECT),
        (&corpus("saxpy/fiji.co"), Status::INCOMPATIBLE_ARGUMENTS),
        (&corpus("saxpy/tahiti.co"), Status::INVALID_CODE_OBJECT),
    ] {
        assert_eq!(Executable::load(bytes).1, status);
    }
    let executable = Executable::new(&good);
    let mut symbol = 0;
    let find = |name: &std::ffi::CStr, symbol: &mut u64| {
        status!(hsa_executable_get_symbol_by_name(executable.0, name.as_ptr(), std::ptr::null(), symbol))
    };
    assert_eq!(find(c"nothing", &mut symbol), Status::INVALID_SYMBOL_NAME);
    assert_eq!(find(c"saxpy", &mut symbol), Status::SUCCESS);
    assert_eq!(
        status!(hsa_executable_symbol_get_info(symbol, 21, (&raw mut symbol).cast())),
        Status::INVALID_ARGUMENT
    );
    assert_eq!(status!(hsa_executable_freeze(executable.0, std::ptr::null())), Status::FROZEN_EXECUTABLE);
    assert_eq!(status!(hsa_executable_destroy(99_999)), Status::INVALID_EXECUTABLE);
    let place = 64 as *mut c_void;
    let late = status!(hsa_executable_agent_global_variable_define(
        executable.0,
        crate::support::DEVICE,
        c"late".as_ptr(),
        place
    ));
    assert_eq!(late, Status::FROZEN_EXECUTABLE);
}

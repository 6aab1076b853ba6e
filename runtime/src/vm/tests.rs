//! Tests of code memory, entering compiled code, and faults in it.

use super::*;

#[cfg(target_arch = "x86_64")]
mod machine {
    //! Functions `fn(context rdi, frame rsi) -> rax` in bytes.
    /// `mov eax, [rsi]; ret`
    pub const LOAD: &[u8] = &[0x8b, 0x06, 0xc3];
    /// `push rbx; sub rsp, 0x100; mov rbx, 1; mov r12..r15, rbp = 1; mov [rsi], eax` (clobbers, then faults)
    pub const CLOBBER_AND_STORE: &[u8] = &[
        0x53, 0x48, 0x81, 0xec, 0, 1, 0, 0, // push rbx; sub rsp, 0x100
        0xbb, 1, 0, 0, 0, 0x41, 0xbc, 1, 0, 0, 0, 0x41, 0xbd, 1, 0, 0, 0, // ebx r12d r13d
        0x41, 0xbe, 1, 0, 0, 0, 0x41, 0xbf, 1, 0, 0, 0, 0xbd, 1, 0, 0, 0, // r14d r15d ebp
        0x89, 0x06, 0xc3,
    ];
    /// Offset of the faulting store in it.
    pub const STORE_AT: usize = 42;
    /// `ud2`
    pub const ILLEGAL: &[u8] = &[0x0f, 0x0b];
    /// `xor edx, edx; xor ecx, ecx; mov eax, 1; div ecx; ret`
    pub const DIVIDE: Option<&[u8]> = Some(&[0x31, 0xd2, 0x31, 0xc9, 0xb8, 1, 0, 0, 0, 0xf7, 0xf1, 0xc3]);
    /// `sub rsp, 8; mov rax, rdi; mov rdi, rsi; call rax; add rsp, 8; ret`: calls context(frame)
    pub const CALL: &[u8] =
        &[0x48, 0x83, 0xec, 8, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3];
    /// `push rax; stmxcsr [rsp]; pop rax; ret`
    pub const CONTROL: &[u8] = &[0x50, 0x0f, 0xae, 0x1c, 0x24, 0x58, 0xc3];
    /// `ldmxcsr [rsi]; ret`
    pub const SET_CONTROL: &[u8] = &[0x0f, 0xae, 0x16, 0xc3];
}

#[cfg(target_arch = "aarch64")]
mod machine {
    //! Functions `fn(context x0, frame x1) -> x0` in bytes.
    /// `ldr w0, [x1]; ret`
    pub const LOAD: &[u8] = &[0x20, 0x00, 0x40, 0xb9, 0xc0, 0x03, 0x5f, 0xd6];
    /// `sub sp, sp, #256; mov x19, #1; mov x28, #1; str w0, [x1]`
    pub const CLOBBER_AND_STORE: &[u8] =
        &[0xff, 0x03, 0x04, 0xd1, 0x33, 0x00, 0x80, 0xd2, 0x3c, 0x00, 0x80, 0xd2, 0x20, 0x00, 0x00, 0xb9];
    /// Offset of the faulting store in it.
    pub const STORE_AT: usize = 12;
    /// `udf #0`
    pub const ILLEGAL: &[u8] = &[0, 0, 0, 0];
    /// Division by zero does not trap here.
    pub const DIVIDE: Option<&[u8]> = None;
    /// `stp x29, x30, [sp, #-16]!; mov x9, x0; mov x0, x1; blr x9; ldp x29, x30, [sp], #16; ret`
    pub const CALL: &[u8] = &[
        0xfd, 0x7b, 0xbf, 0xa9, 0xe9, 0x03, 0x00, 0xaa, 0xe0, 0x03, 0x01, 0xaa, 0x20, 0x01, 0x3f, 0xd6, 0xfd,
        0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6,
    ];
    /// `mrs x0, fpcr; ret`
    pub const CONTROL: &[u8] = &[0x00, 0x44, 0x3b, 0xd5, 0xc0, 0x03, 0x5f, 0xd6];
}

/// An address that is certainly not mapped while the memory lives.
fn hole() -> (crate::Memory, *mut u8) {
    let memory = crate::Memory::new().unwrap();
    let hole = memory.base().wrapping_add(0x1234_5678);
    (memory, hole)
}

fn run(code: &Code, context: *mut u8, frame: *mut u8) -> Result<u64, Box<RawFault>> {
    init().unwrap();
    // SAFETY: the functions above touch what `frame` names only, and tests keep the code alive.
    unsafe { enter(code.start(), context, frame, FloatMode::Ieee) }
}

#[test]
fn loads_and_faults() {
    let code = CodeMemory::new().add(machine::LOAD).unwrap();
    let mut value = 0x1234_u32;
    assert_eq!(run(&code, std::ptr::null_mut(), (&raw mut value).cast()), Ok(0x1234));
    let (_memory, hole) = hole();
    let fault = run(&code, std::ptr::null_mut(), hole).unwrap_err();
    assert_eq!(
        (fault.pc, fault.address, fault.signal),
        (code.start() as usize, hole as usize, libc::SIGSEGV)
    );
    // And again: the handler is still there.
    let again = run(&code, std::ptr::null_mut(), hole).unwrap_err();
    assert_eq!((again.pc, again.address, again.signal), (fault.pc, fault.address, fault.signal));
    // Its second argument.
    #[cfg(target_arch = "x86_64")]
    assert_eq!(again.registers[6], hole as u64);
}

#[test]
fn guard_pages_on_both_sides() {
    let code = CodeMemory::new().add(machine::LOAD).unwrap();
    let memory = crate::Memory::new().unwrap();
    for offset in [-(1_isize << 31), -1, 1 << 32, (1 << 32) + (1 << 31) + 16] {
        let address = memory.base().wrapping_offset(offset);
        assert_eq!(run(&code, std::ptr::null_mut(), address).unwrap_err().signal, libc::SIGSEGV);
    }
}

#[test]
fn registers_survive_a_fault() {
    let code = CodeMemory::new().add(machine::CLOBBER_AND_STORE).unwrap();
    let (_memory, hole) = hole();
    let words: Vec<u64> = (0..64).collect();
    let mut sum = 0;
    for word in &words {
        let fault = run(&code, std::ptr::null_mut(), hole).unwrap_err();
        assert_eq!(code.offset_of(fault.pc), Some(machine::STORE_AT as u32));
        sum += word;
    }
    assert_eq!(sum, 64 * 63 / 2);
}

#[test]
fn other_exceptions() {
    let memory = CodeMemory::new();
    let code = memory.add(machine::ILLEGAL).unwrap();
    assert_eq!(run(&code, std::ptr::null_mut(), std::ptr::null_mut()).unwrap_err().signal, libc::SIGILL);
    if let Some(bytes) = machine::DIVIDE {
        let code = memory.add(bytes).unwrap();
        assert_eq!(run(&code, std::ptr::null_mut(), std::ptr::null_mut()).unwrap_err().signal, libc::SIGFPE);
    }
}

extern "C" fn nested(hole: *mut u8) -> u64 {
    let code = CodeMemory::new().add(machine::LOAD).unwrap();
    match run(&code, std::ptr::null_mut(), hole) {
        Ok(_) => 0,
        Err(fault) => u64::from(fault.address == hole as usize) + 41,
    }
}

#[test]
fn entries_nest() {
    let memory = CodeMemory::new();
    let call = memory.add(machine::CALL).unwrap();
    let (_memory, hole) = hole();
    assert_eq!(run(&call, nested as *const () as *mut u8, hole), Ok(42));
    // The outer entry is current again.
    let load = memory.add(machine::LOAD).unwrap();
    assert!(run(&load, std::ptr::null_mut(), hole).is_err());
}

#[test]
fn calls_in_a_row() {
    let memory = CodeMemory::new();
    let code = memory.add(machine::LOAD).unwrap();
    init().unwrap();
    let (_memory, hole) = hole();
    let mut values = [7_u32, 7, 8, 7];
    let mut context = [0_u64, 11, 12];
    let mut go = |frames: &[*mut u8]| {
        let mut calls: Vec<Call> =
            (1..).zip(frames).map(|(word, &frame)| Call::new(frame, word, 0)).collect();
        let context = (&raw mut context).cast();
        let mut fault = None;
        // SAFETY: as in `run`.
        let last = unsafe { enter_all(code.start(), context, &mut calls, 7, FloatMode::Flush, &mut fault) };
        assert!(calls[..last].iter().all(|call| call.words == [11, 12]));
        // SAFETY: a local.
        (last, fault.map(|fault| fault.address), calls[last].result, unsafe { context.cast::<u64>().read() })
    };
    let [a, b, c, d] = [0, 1, 2, 3].map(|at| (&raw mut values[at]).cast::<u8>());
    assert_eq!(go(&[a, b, d]), (2, None, 7, 3));
    assert_eq!(go(&[a, c, d]), (1, None, 8, 2), "another result ends it");
    assert_eq!(go(&[a, b, hole, d]), (2, Some(hole as usize), 0, 3), "so does a fault");
    assert_eq!(go(&[hole]), (0, Some(hole as usize), 0, 1));
    assert!(run(&code, std::ptr::null_mut(), hole).is_err(), "and all is as before");
}

#[test]
fn float_environment_is_set_and_restored() {
    let memory = CodeMemory::new();
    let code = memory.add(machine::CONTROL).unwrap();
    init().unwrap();
    let read = |mode| {
        // SAFETY: the function touches registers and its stack only.
        unsafe { enter(code.start(), std::ptr::null_mut(), std::ptr::null_mut(), mode) }.unwrap()
            & 0x0100_ffc0
    };
    let (ieee, flush) = (read(FloatMode::Ieee), read(FloatMode::Flush));
    assert_ne!(ieee, flush);
    assert_eq!(read(FloatMode::Ieee), ieee);
    let tiny = std::hint::black_box(f32::MIN_POSITIVE);
    assert!(tiny / 2.0 > 0.0, "denormals are back");
    let load = memory.add(machine::LOAD).unwrap();
    let (_memory, hole) = hole();
    // SAFETY: as in `run`.
    unsafe { enter(load.start(), std::ptr::null_mut(), hole, FloatMode::Flush) }.unwrap_err();
    assert!(std::hint::black_box(tiny) / 2.0 > 0.0, "after a fault as well");
}

/// Code that faults in the middle of a block may have turned the flushing of denormals off.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_caller_that_flushes_still_does() {
    use std::arch::asm;
    let flushes = 0x9fc0_u32;
    let code = CodeMemory::new().add(machine::SET_CONTROL).unwrap();
    init().unwrap();
    let (mut keeps, mut before, mut after) = (0x1f80_u32, 0_u32, 0_u32);
    // SAFETY: only the float environment changes, and it is put back before anything computes with floats.
    unsafe {
        asm!("stmxcsr [{}]", in(reg) &raw mut before);
        asm!("ldmxcsr [{}]", in(reg) &raw const flushes);
        let _ = enter(code.start(), std::ptr::null_mut(), (&raw mut keeps).cast(), FloatMode::Flush);
        asm!("stmxcsr [{}]", in(reg) &raw mut after);
        asm!("ldmxcsr [{}]", in(reg) &raw const before);
    }
    assert_eq!(after & 0xffc0, flushes);
}

/// What compiled code calls enters other code in the environment that it wants, and finds its own again, also after a fault.
#[test]
fn code_within_code_has_its_own_float_environment() {
    struct Within {
        control: Code,
        load: Code,
        mode: FloatMode,
        hole: *mut u8,
        seen: [u64; 3],
        faults: bool,
    }
    /// Settings, without what has happened.
    fn settings(of: u64) -> u64 {
        of & 0x0100_ffc0
    }
    extern "C" fn called(within: *mut Within) {
        // SAFETY: the caller's, which nobody else uses meanwhile; the functions are those that `run` runs, in this code's environment.
        let within = unsafe { &mut *within };
        let null = std::ptr::null_mut();
        // SAFETY: as above.
        let inside = unsafe { enter_within(within.control.start(), null, null, within.mode) };
        within.seen[0] = settings(inside.unwrap_or(0));
        within.seen[1] = settings(sys::control());
        // SAFETY: as above.
        let loaded = unsafe { enter_within(within.load.start(), null, within.hole, within.mode) };
        within.faults = loaded.is_err();
        within.seen[2] = settings(sys::control());
    }
    let memory = CodeMemory::new();
    init().unwrap();
    let (_memory, hole) = hole();
    let call = memory.add(machine::CALL).unwrap();
    let control = memory.add(machine::CONTROL).unwrap();
    let of = |mode| {
        // SAFETY: as in `float_environment_is_set_and_restored`.
        settings(unsafe { enter(control.start(), std::ptr::null_mut(), std::ptr::null_mut(), mode) }.unwrap())
    };
    let before = of(FloatMode::Ieee);
    for outer in [FloatMode::Ieee, FloatMode::Flush] {
        for mode in [FloatMode::Ieee, FloatMode::Flush] {
            let mut within = Within {
                control: memory.add(machine::CONTROL).unwrap(),
                load: memory.add(machine::LOAD).unwrap(),
                mode,
                hole,
                seen: [0; 3],
                faults: false,
            };
            // SAFETY: the function calls `called` with what it is for, which outlives the call.
            unsafe { enter(call.start(), called as *const () as *mut u8, (&raw mut within).cast(), outer) }
                .unwrap();
            assert_eq!(within.seen, [of(mode), of(outer), of(outer)]);
            assert!(within.faults);
            assert_eq!(of(FloatMode::Ieee), before);
        }
    }
}

#[test]
fn many_threads_fault_at_once() {
    let memory = CodeMemory::new();
    let (_memory, hole) = hole();
    let hole = hole as usize;
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let memory = &memory;
            scope.spawn(move || {
                for round in 0..200 {
                    // Code comes and goes meanwhile.
                    let code = memory.add(machine::LOAD).unwrap();
                    let at = hole + thread * 4096 + round * 4;
                    assert_eq!(run(&code, std::ptr::null_mut(), at as *mut u8).unwrap_err().address, at);
                }
            });
        }
    });
    assert_eq!(memory.used_bytes(), 0);
}

#[test]
fn a_thread_of_c_has_a_signal_stack_too() {
    extern "C" fn body(hole: *mut libc::c_void) -> *mut libc::c_void {
        std::ptr::without_provenance_mut(nested(hole.cast()) as usize)
    }
    let (_memory, hole) = hole();
    // SAFETY: pthreads as documented; `body` does not unwind for this argument.
    let result = unsafe {
        let mut thread = std::mem::zeroed();
        let mut result = std::ptr::null_mut();
        assert_eq!(libc::pthread_create(&mut thread, std::ptr::null(), body, hole.cast()), 0);
        assert_eq!(libc::pthread_join(thread, &mut result), 0);
        result
    };
    assert_eq!(result as usize, 42);
}

#[test]
fn code_memory_is_reused_and_freed() {
    let memory = CodeMemory::new();
    let a = memory.add(&[machine::LOAD, &[0; 200]].concat()).unwrap();
    let b = memory.add(machine::LOAD).unwrap();
    let big = memory.add(&vec![0; 3 << 20]).unwrap();
    assert_eq!(
        lookup(big.start() as usize + (3 << 20) - 1),
        Some(big.start() as usize..big.start() as usize + (3 << 20))
    );
    let page = |code: *const u8| code as usize & !4095;
    let first = a.start();
    drop(a);
    assert_eq!(lookup(first as usize), None);
    let c = memory.add(&[0; 256]).unwrap();
    assert_eq!(page(c.start()), page(first));
    // Small pieces lie in different lines of their pages.
    let places: std::collections::HashSet<usize> =
        (0..30).map(|_| memory.add(machine::LOAD).unwrap().start() as usize % 4096).collect();
    assert!(places.len() == 30 && places.iter().all(|place| place % 64 == 0), "{places:?}");
    drop((b, c, big));
    assert_eq!(memory.used_bytes(), 0);
}

#[test]
fn ten_thousand_pieces_are_told_apart() {
    let memory = CodeMemory::new();
    let mut codes: Vec<Code> = (0..10_000).map(|_| memory.add(machine::LOAD).unwrap()).collect();
    let is_found = |code: &Code| {
        let range = code.start() as usize..code.start() as usize + code.len();
        [range.start, range.end - 1].iter().all(|&pc| lookup(pc) == Some(range.clone()))
            && [range.start - 1, range.end].iter().all(|&pc| lookup(pc).is_none_or(|other| other != range))
    };
    assert!(codes.iter().all(is_found));
    let gone: Vec<usize> = codes.iter().step_by(2).map(|code| code.start() as usize).collect();
    let mut number = 0;
    codes.retain(|_| {
        number += 1;
        number % 2 == 0
    });
    assert!(gone.iter().all(|&pc| lookup(pc).is_none()) && codes.iter().all(is_found));
    // Others take their places; those that are left stay.
    let others: Vec<Code> = (0..5_000).map(|_| memory.add(&[0xcc; 5000]).unwrap()).collect();
    assert!(others.iter().chain(&codes).all(is_found));
    drop((codes, others));
    assert_eq!(memory.used_bytes(), 0);
    // What is no address of any process, too.
    assert!([0, usize::MAX, 1 << 47, 1 << 48, 1 << 63].iter().all(|&pc| lookup(pc).is_none()));
}

#[test]
fn pieces_that_are_added_together_go_together() {
    let memory = CodeMemory::new();
    let mut value = 5_u32;
    let codes = memory.add_all(&[machine::LOAD, &[0; 100], machine::LOAD, &[], machine::ILLEGAL]).unwrap();
    assert!(codes.iter().all(|code| (code.start() as usize).is_multiple_of(64)));
    assert_eq!(codes.iter().map(Code::len).collect::<Vec<_>>()[1..4], [100, machine::LOAD.len(), 0]);
    for code in [&codes[0], &codes[2]] {
        assert_eq!(run(code, std::ptr::null_mut(), (&raw mut value).cast()), Ok(5));
    }
    let fault = run(&codes[4], std::ptr::null_mut(), std::ptr::null_mut()).unwrap_err();
    assert_eq!(codes[4].offset_of(fault.pc), Some(0));
    assert!(codes.iter().filter(|code| code.len() > 0).all(|code| lookup(code.start() as usize).is_some()));
    // One is left.
    let last = codes.into_iter().nth(2).unwrap();
    assert_eq!(run(&last, std::ptr::null_mut(), (&raw mut value).cast()), Ok(5));
    assert!(memory.used_bytes() > 0);
    drop(last);
    assert_eq!(memory.used_bytes(), 0);
    assert!(memory.add_all(&[]).unwrap().is_empty());
    assert_eq!(memory.used_bytes(), 0);
}

/// Rights of the mapping that an address lies in, as the system says.
fn rights(at: usize) -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| {
        let (start, rest) = line.split_once('-').unwrap();
        let end = rest.split(' ').next().unwrap();
        let of = |text: &str| usize::from_str_radix(text, 16).unwrap();
        (of(start)..of(end)).contains(&at)
    });
    line.map_or(String::new(), |line| line.split(' ').nth(1).unwrap().to_owned())
}

#[test]
fn code_is_never_writable_while_it_can_run() {
    let memory = CodeMemory::new();
    let (a, b) = (memory.add(machine::LOAD).unwrap(), memory.add(&[0; 9000]).unwrap());
    for at in [a.start() as usize, b.start() as usize, b.start() as usize + 8999] {
        assert_eq!(rights(at), "r-xp");
    }
    let first = a.start() as usize;
    drop(a);
    assert_eq!(rights(first), "rw-p");
    // All of the text of the process that is code of ours: no other mapping is both, either.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!maps.lines().any(|line| line.split(' ').nth(1).unwrap().starts_with("rwx")));
}

//! Callbacks: that they are called, may fail and panic, and what is dropped when.

use std::sync::atomic::{AtomicU32, Ordering};

use warpjit_c::device::*;

use super::*;

/// What the user pointers of these callbacks name.
struct Registers {
    /// What a load does: panics, fails, works, or works by `update`.
    mode: u32,
    /// The word of the register.
    word: AtomicU32,
    /// How often it was dropped.
    drops: AtomicU32,
    /// Memory that it uses when it is dropped.
    memory: *const warpjit_memory,
}

impl Registers {
    fn new(mode: u32, memory: *const warpjit_memory) -> Registers {
        Registers { mode, word: AtomicU32::new(1000), drops: AtomicU32::new(0), memory }
    }

    fn user(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    fn drops(&self) -> u32 {
        self.drops.load(Ordering::SeqCst)
    }
}

unsafe extern "C-unwind" fn count_drop(user: *mut c_void) {
    // SAFETY: what the test has given.
    let registers = unsafe { &*user.cast::<Registers>() };
    registers.drops.fetch_add(1, Ordering::SeqCst);
    // Callbacks may make any calls: no lock is held.
    let mut value = 0;
    // SAFETY: handles may be anything.
    let status = unsafe {
        warpjit_memory_map(registers.memory, INPUT + 0x10_0000, 4096, WARPJIT_ACCESS_READ_ONLY, &mut value);
        warpjit_memory_unmap(registers.memory, INPUT + 0x10_0000)
    };
    assert!(matches!(status, WARPJIT_OK | WARPJIT_ERROR_MEMORY | WARPJIT_ERROR_HANDLE));
}

unsafe extern "C-unwind" fn load(
    user: *mut c_void,
    offset: u64,
    bytes: u32,
    value: *mut u64,
) -> warpjit_status {
    assert_eq!((offset, bytes), (0, 4));
    // SAFETY: what the test and the library have given.
    unsafe {
        let registers = &*user.cast::<Registers>();
        match registers.mode {
            1 => panic!("no such register"),
            2 => return 77,
            // Bits that are not asked for do not matter.
            _ => value.write(u64::from(registers.word.load(Ordering::SeqCst)) | 1 << 40),
        }
    }
    WARPJIT_OK
}

unsafe extern "C-unwind" fn store(user: *mut c_void, offset: u64, bytes: u32, value: u64) -> warpjit_status {
    assert_eq!((offset, bytes), (0, 4));
    // SAFETY: what the test has given.
    unsafe { (*user.cast::<Registers>()).word.store(value as u32, Ordering::SeqCst) };
    WARPJIT_OK
}

unsafe extern "C-unwind" fn update(
    user: *mut c_void,
    offset: u64,
    bytes: u32,
    apply: warpjit_apply,
    context: *mut c_void,
    old: *mut u64,
) -> warpjit_status {
    assert_eq!((offset, bytes), (0, 4));
    // SAFETY: what the test and the library have given.
    unsafe {
        let word = &(*user.cast::<Registers>()).word;
        let before = word.load(Ordering::SeqCst);
        let new = apply.unwrap()(context, before.into());
        // As often as one likes.
        assert_eq!(apply.unwrap()(context, before.into()), new);
        word.store(new as u32, Ordering::SeqCst);
        old.write(before.into());
    }
    WARPJIT_OK
}

fn device(registers: &Registers) -> warpjit_device {
    let update: Option<
        unsafe extern "C-unwind" fn(
            *mut c_void,
            u64,
            u32,
            warpjit_apply,
            *mut c_void,
            *mut u64,
        ) -> warpjit_status,
    > = if registers.mode == 4 { Some(update) } else { None };
    warpjit_device {
        load: Some(load),
        store: Some(store),
        update,
        drop: Some(count_drop),
        user: registers.user(),
    }
}

#[test]
fn devices_may_fail_and_panic() {
    for tier in TIERS {
        let setup = Setup::new(tier);
        // SAFETY: all pointers are those of locals, which outlive the memory.
        unsafe {
            for mode in 1..=4 {
                let registers = Registers::new(mode, setup.memory);
                let device = device(&registers);
                let status = if mode < 3 { WARPJIT_ERROR_CALLBACK } else { WARPJIT_OK };
                ok(warpjit_memory_map_device(setup.memory, INPUT, 4096, &device, null_mut()));
                assert_eq!(setup.run().0, status);
                match mode {
                    1 => assert!(last_error().contains("no such register"), "{}", last_error()),
                    2 => assert!(last_error().contains("returned 77"), "{}", last_error()),
                    _ => assert_eq!(setup.result(5), 1005),
                }
                // A host's accesses fail in the same way.
                let mut value = 0;
                assert_eq!(warpjit_memory_load(setup.memory, INPUT, 4, &mut value), status);
                let add = WARPJIT_ATOMIC_ADD;
                let mut old = 0;
                assert_eq!(
                    warpjit_memory_atomic(setup.memory, INPUT, 4, add, 7, 0, &mut old),
                    status,
                    "{}",
                    last_error()
                );
                if mode >= 3 {
                    assert_eq!((value, old, registers.word.load(Ordering::SeqCst)), (1000, 1000, 1007));
                }
                assert_eq!(registers.drops(), 0);
                setup.unmap();
                assert_eq!(registers.drops(), 1);
            }
            // Nothing is lost by it.
            setup.map();
            assert_eq!(setup.run().1.unwrap().kind, WARPJIT_FAULT_NONE);
        }
    }
}

#[test]
fn user_pointers_are_dropped_once() {
    let setup = Setup::new(WARPJIT_TIER_INTERPRETER);
    let pages = setup.out & !4095..(setup.out & !4095) + 4096;
    // SAFETY: all pointers are those of locals, which outlive the memory.
    unsafe {
        let freed = made(|out| warpjit_memory_new(null(), out));
        ok(warpjit_free(freed.cast()));
        let all: Vec<_> = (0..7).map(|_| Registers::new(3, setup.memory)).collect();
        // Calls that fail.
        assert_eq!(
            warpjit_memory_map_device(freed, INPUT, 4096, &device(&all[0]), null_mut()),
            WARPJIT_ERROR_HANDLE
        );
        assert_eq!(
            warpjit_memory_map_device(setup.memory, INPUT, 7, &device(&all[1]), null_mut()),
            WARPJIT_ERROR_MEMORY
        );
        let status = warpjit_memory_set_pager(freed, Some(panic_at_fault), all[2].user(), Some(count_drop));
        assert_eq!(status, WARPJIT_ERROR_HANDLE);
        assert_eq!([all[0].drops(), all[1].drops(), all[2].drops()], [1; 3]);
        // A pager and a watch that others replace, and ones that are there to the end.
        for pager in [&all[3], &all[4]] {
            ok(warpjit_memory_set_pager(setup.memory, Some(panic_at_fault), pager.user(), Some(count_drop)));
        }
        for watch in [&all[5], &all[6]] {
            ok(warpjit_memory_watch_writes(
                setup.memory,
                pages.start,
                pages.end,
                Some(panic_at_write),
                watch.user(),
                Some(count_drop),
            ));
        }
        assert_eq!([3, 4, 5, 6].map(|n: usize| all[n].drops()), [1, 0, 1, 0]);
        let progress = Registers::new(3, setup.memory);
        let (user, dropped) = (progress.user(), Some(count_drop as unsafe extern "C-unwind" fn(*mut c_void)));
        ok(warpjit_launch_set_progress(setup.launch, Some(note_progress), user, dropped));
        drop(setup);
        assert!(all.iter().chain([&progress]).all(|one| one.drops() == 1));
    }
}

unsafe extern "C-unwind" fn note_progress(user: *mut c_void, finished: u64, all: u64) {
    assert!(finished <= all && all == 40);
    // SAFETY: what the test has given.
    unsafe { (*user.cast::<Registers>()).word.store(finished as u32, Ordering::SeqCst) };
}

unsafe extern "C-unwind" fn panic_at_progress(_: *mut c_void, _: u64, _: u64) {
    panic!("no progress")
}

#[test]
fn launches_tell_of_their_progress() {
    for tier in TIERS {
        let setup = Setup::new(tier);
        setup.map();
        let registers = Registers::new(3, null());
        // SAFETY: all pointers are those of locals, which outlive the launch.
        unsafe {
            ok(warpjit_launch_set_grid(setup.launch, 40, 1, 1));
            ok(warpjit_launch_set_progress(setup.launch, Some(note_progress), registers.user(), None));
            assert_eq!(setup.run().1.unwrap().kind, WARPJIT_FAULT_NONE);
            assert_eq!(registers.word.load(Ordering::SeqCst), 40);
            ok(warpjit_launch_set_progress(setup.launch, Some(panic_at_progress), null_mut(), None));
            assert_eq!(setup.run().0, WARPJIT_ERROR_CALLBACK);
            assert!(last_error().contains("no progress"), "{}", last_error());
            ok(warpjit_launch_set_progress(setup.launch, None, null_mut(), None));
            assert_eq!(setup.run().1.unwrap().kind, WARPJIT_FAULT_NONE);
        }
    }
}

unsafe extern "C-unwind" fn panic_at_name(_: *mut c_void, _: *const c_char) {
    panic!("no names")
}

#[test]
fn functions_that_are_told_of_things_may_panic() {
    // SAFETY: there are no pointers.
    unsafe {
        assert_eq!(warpjit_isas(Some(panic_at_name), null_mut()), WARPJIT_ERROR_CALLBACK);
        assert!(last_error().contains("no names"), "{}", last_error());
        assert_eq!(warpjit_isas(None, null_mut()), WARPJIT_ERROR_ARGUMENT);
        let mut names: Vec<String> = Vec::new();
        ok(warpjit_isas(Some(push_name), (&raw mut names).cast()));
        assert_eq!(names, ["tesla", "fermi", "gcn", "vp1"]);
    }
}

unsafe extern "C-unwind" fn mend(user: *mut c_void, address: u64, store: bool, is_mapped: bool) -> bool {
    assert_eq!((address, store, is_mapped), (INPUT, false, false));
    // SAFETY: handles may be anything. The second call finds the page mapped by another thread.
    unsafe {
        warpjit_memory_map(user.cast_const().cast(), INPUT, 4096, WARPJIT_ACCESS_READ_WRITE, null_mut())
    };
    true
}

unsafe extern "C-unwind" fn panic_at_fault(_: *mut c_void, _: u64, _: bool, _: bool) -> bool {
    panic!("no pages left")
}

unsafe extern "C-unwind" fn panic_at_write(_: *mut c_void, _: u64) {
    panic!("no writes here")
}

#[test]
fn pagers_and_watches_may_panic() {
    for tier in TIERS {
        let setup = Setup::new(tier);
        // SAFETY: handles may be anything.
        unsafe {
            ok(warpjit_memory_set_pager(setup.memory, Some(panic_at_fault), null_mut(), None));
            assert_eq!(setup.run().0, WARPJIT_ERROR_CALLBACK);
            assert!(last_error().contains("no pages left"));
            ok(warpjit_memory_set_pager(setup.memory, Some(mend), setup.memory.cast(), None));
            assert_eq!(setup.run().1.unwrap().kind, WARPJIT_FAULT_NONE);
            assert_eq!(setup.result(9), 9);
            let page = setup.out & !4095;
            ok(warpjit_memory_watch_writes(
                setup.memory,
                page,
                page + 4096,
                Some(panic_at_write),
                null_mut(),
                None,
            ));
            assert_eq!(setup.run().0, WARPJIT_ERROR_CALLBACK);
            assert!(last_error().contains("no writes here"));
            ok(warpjit_memory_watch_writes(setup.memory, page, page + 4096, None, null_mut(), None));
            assert_eq!(setup.run().1.unwrap().kind, WARPJIT_FAULT_NONE);
        }
    }
}

//! Guest memory.

use super::*;

unsafe extern "C-unwind" fn push_mapping(user: *mut c_void, start: u64, end: u64, access: warpjit_access) {
    // SAFETY: what the test has given.
    unsafe { (*user.cast::<Vec<(u64, u64, warpjit_access)>>()).push((start, end, access)) };
}

#[test]
fn memory_tells_what_it_has_and_what_is_dirty() {
    let setup = Setup::new(WARPJIT_TIER_JIT);
    setup.map();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let user = (&raw mut ranges).cast();
    // SAFETY: all pointers are those of locals.
    unsafe {
        let mut mappings: Vec<(u64, u64, warpjit_access)> = Vec::new();
        ok(warpjit_memory_buffers(setup.memory, Some(push_mapping), (&raw mut mappings).cast()));
        let access = WARPJIT_ACCESS_READ_WRITE;
        assert_eq!(mappings, [(setup.out, setup.out + 256, access), (INPUT, INPUT + 4096, access)]);
        let end = INPUT + 4096;
        ok(warpjit_memory_take_dirty(setup.memory, 0, end, Some(push_range), user));
        ranges.clear();
        assert_eq!(setup.run().1.unwrap().kind, WARPJIT_FAULT_NONE);
        ok(warpjit_memory_take_dirty(setup.memory, 0, end, Some(push_range), user));
        assert_eq!(ranges, [(setup.out, setup.out + 4096)]);
        ranges.clear();
        ok(warpjit_memory_mark_dirty(setup.memory, INPUT + 5, INPUT + 6));
        ok(warpjit_memory_take_dirty(setup.memory, 0, end, Some(push_range), user));
        assert_eq!(ranges, [(INPUT, INPUT + 4096)]);
        let mut old = 0;
        ok(warpjit_memory_atomic(setup.memory, setup.out, 4, WARPJIT_ATOMIC_ADD, 5, 0, &mut old));
        assert_eq!((old, setup.result(0)), (0, 5));
        let mut names: Vec<String> = Vec::new();
        ok(warpjit_chips(c"vp1".as_ptr(), Some(push_name), (&raw mut names).cast()));
        assert!(names.contains(&"g80".into()), "{names:?}");
    }
}

#[test]
fn the_same_bytes_are_at_several_addresses() {
    use std::os::fd::AsRawFd;
    // SAFETY: all pointers are those of locals.
    unsafe {
        let options = made(|out| warpjit_memory_options_new(out));
        ok(warpjit_memory_options_set_chip(options, c"gf100".as_ptr()));
        ok(warpjit_memory_options_set_address_bits(options, 32));
        ok(warpjit_memory_options_set_careful(options));
        let memory = made(|out| warpjit_memory_new(options, out));
        let (first, second, third) = (0x10_0000, 0x20_0000, 0x30_0000);
        let access = WARPJIT_ACCESS_READ_WRITE;
        ok(warpjit_memory_map_shared(memory, first, 8192, access, null_mut()));
        ok(warpjit_memory_map_alias(memory, second, first + 4096, 4096, access, null_mut()));
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("mapped");
        std::fs::write(&path, [7; 4096]).unwrap();
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        ok(warpjit_memory_map_file(memory, third, file.as_raw_fd(), 0, 4096, access, false, null_mut()));
        drop(file);
        ok(warpjit_memory_store(memory, second + 8, 8, 0x0123_4567_89ab_cdef));
        let mut bytes = [0; 8];
        ok(warpjit_memory_read(memory, first + 4096 + 8, bytes.as_mut_ptr().cast(), 8));
        assert_eq!(u64::from_le_bytes(bytes), 0x0123_4567_89ab_cdef);
        ok(warpjit_memory_write(memory, third + 1, [1_u8, 2].as_ptr().cast(), 2));
        assert_eq!(std::fs::read(&path).unwrap()[..4], [7, 1, 2, 7]);
        let (mut base, mut window) = (null_mut(), 0);
        ok(warpjit_memory_window(memory, &mut base, &mut window));
        assert!(window >= third + 4096);
        assert_eq!(base.cast::<u8>().add(third as usize + 2).read(), 2);
        ok(warpjit_memory_protect(memory, third, third + 4096, WARPJIT_ACCESS_NONE));
        assert_eq!(warpjit_memory_store(memory, third, 1, 0), WARPJIT_ERROR_MEMORY);
        let mut is_careful = false;
        ok(warpjit_memory_is_careful(memory, &mut is_careful));
        assert!(is_careful);
        // Beyond 32 bits there is nothing.
        let status = warpjit_memory_map(memory, 1 << 32, 4096, access, null_mut());
        assert_eq!(status, WARPJIT_ERROR_MEMORY);

        // Addresses of the host.
        let unified = made(|out| warpjit_memory_options_new(out));
        ok(warpjit_memory_options_set_identity(unified));
        let identity = made(|out| warpjit_memory_new(unified, out));
        let mut address = 0;
        ok(warpjit_memory_map(identity, WARPJIT_ANYWHERE, 4096, access, &mut address));
        std::ptr::with_exposed_provenance_mut::<u32>(address as usize).write_volatile(99);
        let mut value = 0;
        ok(warpjit_memory_load(identity, address, 4, &mut value));
        assert_eq!(value, 99);

        // A small space, and addresses whose high bits do not matter.
        let small = made(|out| warpjit_memory_options_new(out));
        ok(warpjit_memory_options_set_size(small, 1 << 20));
        ok(warpjit_memory_options_set_ignored_high_bits(small, 8));
        let tiny = made(|out| warpjit_memory_new(small, out));
        ok(warpjit_memory_map(tiny, 0x1_0000, 4096, access, null_mut()));
        assert_eq!(warpjit_memory_map(tiny, 1 << 20, 4096, access, null_mut()), WARPJIT_ERROR_MEMORY);
        for handle in
            [options.cast(), memory.cast(), unified.cast(), identity.cast(), small.cast(), tiny.cast()]
        {
            let handle: *mut c_void = handle;
            ok(warpjit_free(handle));
        }
    }
}

#[test]
fn errors_are_data() {
    let number = |name: &CStr| {
        let mut number = 0;
        // SAFETY: pointers of locals.
        let status = unsafe { warpjit_last_error_number(name.as_ptr(), &mut number) };
        (status == WARPJIT_OK).then_some(number)
    };
    // SAFETY: a text of the library.
    let kind = || unsafe { CStr::from_ptr(warpjit_last_error_kind()) }.to_str().unwrap();
    // SAFETY: all pointers are those of locals.
    unsafe {
        let memory = made(|out| warpjit_memory_new(null(), out));
        let access = WARPJIT_ACCESS_READ_WRITE;
        ok(warpjit_memory_map(memory, 0x10_0000, 0x3000, access, null_mut()));
        let status = warpjit_memory_map(memory, 0x10_2000, 0x1000, access, null_mut());
        assert_eq!((status, kind()), (WARPJIT_ERROR_MEMORY, "Overlap"));
        assert_eq!((number(c"other"), number(c"other_end")), (Some(0x10_0000), Some(0x10_3000)));
        // A question without an answer leaves the error as it is.
        assert_eq!((number(c"colour"), kind(), number(c"address")), (None, "Overlap", Some(0x10_2000)));
        assert!(last_error().contains("overlaps"), "{}", last_error());
        // What is denied names the first byte.
        let mut value = 0;
        assert_eq!(warpjit_memory_load(memory, 0x10_3000, 4, &mut value), WARPJIT_ERROR_MEMORY);
        assert_eq!((kind(), number(c"source")), ("Gone", Some(0x10_3000)));
        // An error of this interface has no kind of the library.
        assert_eq!(warpjit_memory_load(null_mut(), 0, 4, &mut value), WARPJIT_ERROR_HANDLE);
        assert_eq!((kind(), number(c"source")), ("", None));
        let status = warpjit_last_error_number(null(), &mut value);
        assert_eq!(status, WARPJIT_ERROR_ARGUMENT);
        ok(warpjit_free(memory.cast()));
    }
}

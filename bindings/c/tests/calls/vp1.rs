//! The video processor.

use warpjit_c::vp1::*;

use super::*;

unsafe extern "C-unwind" fn read_outside(user: *mut c_void, file: u32, index: u32, value: *mut u32) -> bool {
    assert_eq!((file, index), (8, 5));
    // SAFETY: what the test and the library have given.
    unsafe {
        *user.cast::<u32>() += 1;
        value.write(*user.cast::<u32>());
    }
    true
}

#[test]
fn the_video_processor_asks_for_what_is_outside() {
    let source = c"
    mov $l0 $c0 2
    .align
again:
    mov $r1 $sr5
    { add $r0 $r0 $r1 | bra loop $l0 $c0 $l0 not $c0 lzf #again }
    snop
    mov $v1 0 $r0
    exit intr 0x7
";
    let mut last = 0_u32;
    // SAFETY: all pointers are those of locals.
    unsafe {
        let assembled = made(|out| {
            let (isa, chip) = (c"vp1".as_ptr(), c"g80".as_ptr());
            warpjit_assemble(isa, chip, WARPJIT_STAGE_COMPUTE, source.as_ptr(), out)
        });
        let (mut data, mut size) = (null(), 0);
        ok(warpjit_bytes_get(assembled, &mut data, &mut size));
        let code = std::slice::from_raw_parts(data.cast::<u8>(), size);
        let listing = made(|out| {
            let (isa, chip, stage) = (c"vp1".as_ptr(), c"g80".as_ptr(), WARPJIT_STAGE_COMPUTE);
            warpjit_disassemble(isa, chip, stage, null(), code.as_ptr(), code.len(), 0, out)
        });
        let mut text = null();
        ok(warpjit_bytes_get(listing, &mut text, null_mut()));
        assert!(CStr::from_ptr(text).to_str().unwrap().contains("exit intr"));
        // As a kernel of a launch: the chip's name means the video processor.
        let options = made(|out| warpjit_program_options_new(c"vp1".as_ptr(), out));
        ok(warpjit_program_options_set_chip(options, c"g80".as_ptr()));
        ok(warpjit_program_options_set_raw(options, true));
        ok(warpjit_free(
            made(|out| warpjit_program_load(null(), code.as_ptr(), code.len(), options, null(), out)).cast(),
        ));
        let vp1 = made(|out| warpjit_vp1_new(code.as_ptr(), code.len(), c"g80".as_ptr(), null(), out));
        ok(warpjit_vp1_set_register(vp1, c"r0".as_ptr(), [100].as_ptr(), 1));
        let outside = warpjit_vp1_outside {
            read: Some(read_outside),
            write: None,
            transfer: None,
            user: (&raw mut last).cast(),
        };
        let (mut stop, mut exit_code, mut interrupt) = (9, 0, false);
        ok(warpjit_vp1_run(vp1, 2, &outside, &mut stop, &mut exit_code, &mut interrupt));
        assert_eq!(stop, WARPJIT_VP1_STOP_LIMIT);
        ok(warpjit_vp1_run(vp1, u64::MAX, &outside, &mut stop, &mut exit_code, &mut interrupt));
        assert_eq!((stop, exit_code, interrupt, last), (WARPJIT_VP1_STOP_EXIT, 7, true, 3));
        let (mut values, mut count) = ([0_u64; 16], 16);
        ok(warpjit_vp1_register(vp1, c"v1".as_ptr(), values.as_mut_ptr(), &mut count));
        assert_eq!((count, values[0]), (16, 106));
        assert_eq!(
            warpjit_vp1_register(vp1, c"q7".as_ptr(), values.as_mut_ptr(), &mut count),
            WARPJIT_ERROR_NOT_FOUND
        );
        ok(warpjit_vp1_set_data_store(vp1, 16, [7, 8].as_ptr(), 2));
        assert_eq!(warpjit_vp1_set_data_store(vp1, usize::MAX, [7, 8].as_ptr(), 2), WARPJIT_ERROR_ARGUMENT);
        let (mut store, mut bytes) = ([0_u8; 32], 32);
        ok(warpjit_vp1_data_store(vp1, store.as_mut_ptr(), &mut bytes));
        assert_eq!((store[16], store[17]), (7, 8));
        assert!(bytes > 32);
        let cancel = made(|out| warpjit_cancel_new(out));
        ok(warpjit_vp1_set_cancel(vp1, cancel));
        ok(warpjit_cancel_now(cancel));
        ok(warpjit_vp1_set_pc(vp1, 0));
        ok(warpjit_vp1_run(vp1, u64::MAX, &outside, &mut stop, &mut exit_code, &mut interrupt));
        assert_eq!(stop, WARPJIT_VP1_STOP_CANCELLED);
        for handle in [vp1.cast(), cancel.cast(), listing.cast(), options.cast(), assembled.cast::<c_void>()]
        {
            ok(warpjit_free(handle));
        }
    }
}

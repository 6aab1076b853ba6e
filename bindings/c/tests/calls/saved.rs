//! Saved launches.

use warpjit_c::saved::*;

use super::*;

#[test]
fn a_launch_is_saved_and_goes_on_with_another_engine() {
    let (first, second) = (Setup::new(WARPJIT_TIER_INTERPRETER), Setup::new(WARPJIT_TIER_JIT));
    first.map();
    // SAFETY: all pointers are those of locals; handles may be anything.
    unsafe {
        ok(warpjit_launch_set_grid(first.launch, 40, 1, 1));
        let save = made(|out| warpjit_save_new(5, out));
        ok(warpjit_launch_set_save(first.launch, save));
        let report =
            made(|out| warpjit_engine_run(first.engine, first.program, first.memory, first.launch, out));
        let saved = made(|out| warpjit_report_saved_launch(report, out));
        let (mut blocks, mut has_memory) = (0, true);
        ok(warpjit_saved_launch_info(saved, &mut blocks, &mut has_memory));
        assert!(blocks > 0 && blocks <= 40 && !has_memory, "{blocks}");
        let bytes = made(|out| warpjit_saved_launch_to_bytes(saved, first.memory, out));
        let (mut data, mut size) = (null(), 0);
        ok(warpjit_bytes_get(bytes, &mut data, &mut size));
        let mut other = null_mut();
        for cut in [0, 7, size - 1] {
            let status = warpjit_saved_launch_from_bytes(data.cast(), cut, &mut other);
            assert_eq!((status, other), (WARPJIT_ERROR_STATE, null_mut()));
        }
        ok(warpjit_saved_launch_from_bytes(data.cast(), size, &mut other));
        ok(warpjit_saved_launch_info(other, null_mut(), &mut has_memory));
        assert!(has_memory);
        // A space of its own: what is mapped there comes from the bytes.
        let memory = made(|out| warpjit_memory_new(null(), out));
        ok(warpjit_saved_launch_restore_memory(other, memory));
        ok(warpjit_launch_set_save(first.launch, null()));
        let mut end = null_mut();
        let status =
            warpjit_engine_resume(second.engine, first.program, memory, second.launch, other, &mut end);
        assert_eq!((status, end), (WARPJIT_ERROR_STATE, null_mut()), "another launch");
        ok(warpjit_engine_resume(second.engine, first.program, memory, first.launch, other, &mut end));
        assert_eq!(warpjit_report_saved_launch(end, &mut other), WARPJIT_ERROR_NOT_FOUND);
        let mut value = 0;
        ok(warpjit_memory_load(memory, first.out + 4 * 63, 4, &mut value));
        assert_eq!(value, 63);

        // One that was asked to stop before it begins, and without memory.
        let save = made(|out| warpjit_save_new(0, out));
        ok(warpjit_save_now(save));
        ok(warpjit_launch_set_save(first.launch, save));
        let report =
            made(|out| warpjit_engine_run(second.engine, first.program, first.memory, first.launch, out));
        let saved = made(|out| warpjit_report_saved_launch(report, out));
        assert_eq!(warpjit_saved_launch_restore_memory(saved, memory), WARPJIT_ERROR_STATE);
    }
}

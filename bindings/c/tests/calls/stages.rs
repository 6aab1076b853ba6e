//! Graphics stages and textures.

use warpjit_c::batch::*;
use warpjit_c::queue::*;
use warpjit_c::textures::*;

use super::*;

#[test]
fn a_header_becomes_an_interface() {
    // SAFETY: all pointers are those of locals.
    unsafe {
        // A pixel program that reads one word in perspective, and writes the red and green of target 0.
        let mut words = [0_u32; 20];
        words[0] = 2 | 3 << 5 | 5 << 10;
        words[6] = 2;
        words[18] = 3;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let stage = made(|out| {
            warpjit_stage_from_fermi_header(c"gf100".as_ptr(), bytes.as_ptr(), bytes.len(), 0, 0, out)
        });
        let (mut place, mut at, mut count, mut per) = (9, 9, 9, 9);
        ok(warpjit_stage_get_output(stage, 0, &mut place, &mut at, &mut count));
        assert_eq!((place, at, count), (WARPJIT_OUTPUT_REGISTER, 0, 2));
        let mut inputs = Vec::new();
        while warpjit_stage_get_input(stage, inputs.len(), &mut place, &mut at, &mut count, &mut per)
            == WARPJIT_OK
        {
            inputs.push((place, at, count, per));
        }
        // The word, and the facing, which all programs may read.
        let word = (WARPJIT_INPUT_ADDRESS, 0x80, 1, WARPJIT_PER_PLANE);
        assert_eq!(inputs, [word, (WARPJIT_INPUT_ADDRESS, 0x3fc, 1, WARPJIT_PER_PRIMITIVE)]);
        let mut other = null_mut();
        let status = warpjit_stage_from_fermi_header(c"gf100".as_ptr(), bytes.as_ptr(), 79, 0, 0, &mut other);
        assert_eq!((status, other), (WARPJIT_ERROR_PROGRAM, null_mut()));
        ok(warpjit_free(stage.cast()));
    }
}

#[test]
fn vertices_run_now_and_in_a_queue() {
    // Each vertex has its number as x, y, z and w.
    let source = c"v_cvt_f32_u32 v1, v3\nexp pos0 v1, v1, v1, v1 done\ns_endpgm";
    for tier in TIERS {
        let setup = Setup::new(tier);
        // SAFETY: all pointers are those of locals, which outlive the calls that use them.
        unsafe {
            let code = made(|out| {
                warpjit_assemble(null(), c"fiji".as_ptr(), WARPJIT_STAGE_VERTEX, source.as_ptr(), out)
            });
            let (mut data, mut size) = (null(), 0);
            ok(warpjit_bytes_get(code, &mut data, &mut size));
            let stage = made(|out| warpjit_stage_new(WARPJIT_STAGE_VERTEX, out));
            ok(warpjit_stage_add_input(stage, WARPJIT_INPUT_REGISTER, 3, 1, WARPJIT_PER_VERTEX));
            ok(warpjit_stage_add_output(stage, WARPJIT_OUTPUT_POSITION, 0, 4, false));
            let options = made(|out| warpjit_program_options_new(c"gcn".as_ptr(), out));
            ok(warpjit_program_options_set_chip(options, c"fiji".as_ptr()));
            ok(warpjit_program_options_set_raw(options, true));
            ok(warpjit_program_options_set_stage(options, stage));
            let program = made(|out| warpjit_program_load(null(), data.cast(), size, options, null(), out));
            let same = made(|out| warpjit_program_stage(program, out));
            let (mut place, mut at, mut words) = (9, 9, 9);
            ok(warpjit_stage_get_output(same, 0, &mut place, &mut at, &mut words));
            assert_eq!((place, at, words), (WARPJIT_OUTPUT_POSITION, 0, 4));

            let launch = made(|out| warpjit_launch_new(out));
            let numbers = [5_u32, 6, 700];
            // Rows of five floats, the last of which is somebody else's.
            let mut rows = [[-1_f32; 5]; 3];
            let batch = made(|out| warpjit_batch_new(out));
            ok(warpjit_batch_set_vertices(batch, 3));
            ok(warpjit_batch_add_input(batch, numbers.as_ptr().cast(), 12, 0));
            ok(warpjit_batch_add_output(batch, rows.as_mut_ptr().cast(), size_of_val(&rows), 20));
            let report =
                made(|out| warpjit_engine_run_stage(setup.engine, program, setup.memory, launch, batch, out));
            let expected = numbers.map(|number| {
                let x = number as f32;
                [x, x, x, x, -1.0]
            });
            assert_eq!(rows, expected);
            rows = [[-1.0; 5]; 3];

            let submission =
                made(|out| warpjit_submission_of_stage(program, setup.memory, launch, batch, out));
            let queue = made(|out| warpjit_queue_new(setup.engine, WARPJIT_PRIORITY_LOW, false, out));
            let ticket = made(|out| warpjit_queue_submit(queue, submission, out));
            ok(warpjit_ticket_wait(ticket, u64::MAX, null_mut()));
            assert_eq!(rows, [[-1.0; 5]; 3]);
            ok(warpjit_ticket_take_batch(ticket));
            assert_eq!(rows, expected);
            assert_eq!(warpjit_ticket_take_batch(ticket), WARPJIT_ERROR_ARGUMENT);

            // An array that is too short is an error, and nothing is written.
            ok(warpjit_batch_set_vertices(batch, 4));
            let mut none = null_mut();
            let status =
                warpjit_engine_run_stage(setup.engine, program, setup.memory, launch, batch, &mut none);
            assert_eq!((status, none), (WARPJIT_ERROR_LAUNCH, null_mut()));
            let handles: [*mut c_void; 12] = [
                code.cast(),
                stage.cast(),
                options.cast(),
                program.cast(),
                same.cast(),
                launch.cast(),
                batch.cast(),
                report.cast(),
                submission.cast(),
                queue.cast(),
                ticket.cast(),
                null_mut(),
            ];
            for handle in handles {
                ok(warpjit_free(handle));
            }
        }
    }
}

/// Stores the red of texel (thread, 0) of texture 0.
const FETCH: &CStr = c"
    and b32 $r4 $r0 0xffff
    shl b32 $r5 $r4 0x2
    long add b32 $r5 b32 s[0x10] $r5
    mov b32 $r0 $r4
    mov b32 $r1 0x0
    mov b32 $r2 0x0
    mov b32 $r6 $r4
    texfetch all $r0:$r1:$r2:$r3 $t0 $s0 $r0:$r1:$r2
    exit st b32 g14[$r5] $r0
";

#[test]
fn textures_are_in_launches_or_in_tables() {
    const TEXELS: u64 = 0x1_0000;
    const TABLE: u64 = 0x2_0000;
    for tier in TIERS {
        let setup = Setup::new(tier);
        // SAFETY: all pointers are those of locals.
        unsafe {
            let code = made(|out| {
                warpjit_assemble(null(), c"g80".as_ptr(), WARPJIT_STAGE_COMPUTE, FETCH.as_ptr(), out)
            });
            let (mut data, mut size) = (null(), 0);
            ok(warpjit_bytes_get(code, &mut data, &mut size));
            let options = made(|out| warpjit_program_options_new(c"tesla".as_ptr(), out));
            ok(warpjit_program_options_set_chip(options, c"g80".as_ptr()));
            ok(warpjit_program_options_set_raw(options, true));
            ok(warpjit_program_options_set_registers(options, 8));
            let program = made(|out| warpjit_program_load(null(), data.cast(), size, options, null(), out));
            let shape = made(|out| warpjit_memory_options_new(out));
            ok(warpjit_memory_options_set_chip(shape, c"g80".as_ptr()));
            let memory = made(|out| warpjit_memory_new(shape, out));
            let access = WARPJIT_ACCESS_READ_WRITE;
            ok(warpjit_memory_map(memory, TEXELS, 4096, access, null_mut()));
            ok(warpjit_memory_map(memory, TABLE, 4096, access, null_mut()));
            let mut out = 0;
            ok(warpjit_memory_map(memory, WARPJIT_ANYWHERE, 256, access, &mut out));
            // The red of texel 3 is 1.
            ok(warpjit_memory_store(memory, TEXELS + 12, 4, 0xff));
            // RGBA8, block-linear, 16 by 16, one level.
            let header = [
                0x2c69_2488,
                TEXELS as u32,
                0xc000_5000,
                0x0030_0000,
                0x8000_0010,
                1 << 16 | 16,
                0x0300_0000,
                0,
            ];
            let sampler = [0x0002_6000, 0x0000_00e2, 0x00f0_0000, 0, 0, 0, 0, 0];
            let launch = made(|out| warpjit_launch_new(out));
            ok(warpjit_launch_set_grid(launch, 1, 1, 1));
            ok(warpjit_launch_set_block(launch, 8, 1, 1));
            ok(warpjit_launch_add_arg_u32(launch, out as u32));
            let red = || {
                let report = made(|out| warpjit_engine_run(setup.engine, program, memory, launch, out));
                let mut fault = std::mem::zeroed::<warpjit_fault>();
                ok(warpjit_report_fault(report, &mut fault, size_of::<warpjit_fault>()));
                ok(warpjit_free(report.cast()));
                if fault.kind != WARPJIT_FAULT_NONE {
                    assert_eq!((fault.kind, fault.has_slot, fault.slot), (WARPJIT_FAULT_TEXTURE, true, 0));
                    return None;
                }
                let (mut two, mut three) = (9, 9);
                ok(warpjit_memory_load(memory, out + 8, 4, &mut two));
                ok(warpjit_memory_load(memory, out + 12, 4, &mut three));
                ok(warpjit_memory_store(memory, out + 12, 4, 7));
                Some([two as u32, three as u32].map(f32::from_bits))
            };
            assert_eq!(red(), None);
            ok(warpjit_launch_set_texture(launch, 0, header.as_ptr()));
            ok(warpjit_launch_set_sampler(launch, 0, sampler.as_ptr()));
            assert_eq!(red(), Some([0.0, 1.0]));
            ok(warpjit_launch_set_texture(launch, 0, null()));
            ok(warpjit_launch_set_sampler(launch, 0, null()));
            assert_eq!(red(), None);
            ok(warpjit_memory_write(memory, TABLE + 64, header.as_ptr().cast(), 32));
            ok(warpjit_memory_write(memory, TABLE + 1024 + 32, sampler.as_ptr().cast(), 32));
            ok(warpjit_launch_set_texture_tables(launch, TABLE, 1024, TABLE + 1024, 1024));
            ok(warpjit_launch_bind_texture(launch, 0, 2));
            ok(warpjit_launch_bind_sampler(launch, 0, 1));
            assert_eq!(red(), Some([0.0, 1.0]));
            assert_eq!(warpjit_launch_set_texture_handles(launch, 256), WARPJIT_ERROR_ARGUMENT);
            let misaligned = header.as_ptr().cast::<u8>().add(1).cast();
            assert_eq!(warpjit_launch_set_surface(launch, 0, misaligned), WARPJIT_ERROR_ARGUMENT);
            let handles: [*mut c_void; 6] =
                [code.cast(), options.cast(), program.cast(), shape.cast(), memory.cast(), launch.cast()];
            for handle in handles {
                ok(warpjit_free(handle));
            }
        }
    }
}

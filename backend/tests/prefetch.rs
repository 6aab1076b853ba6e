//! Hints of what is going to be read ([`Opcode::Prefetch`]): which code has them, and that they do nothing else.
//!
//! [`Opcode::Prefetch`]: warpjit_ir::Opcode::Prefetch

mod common;

use common::{Executable, all_options, context, frame, read, write};
use warpjit_backend::{HostLevel, Options, Target, list_region};
use warpjit_ir::Function;
use warpjit_ir::text::parse_function;

/// Asks for two places, and counts one up.
const HINTS: &str = "
function @f mask lanes 32 {
    slot s0: i32 lane

block0 at 0x0:
    v0: i32 = slot.get s0
    prefetch v0
    v1: i32 = const 0x1
    v2: i32 = iadd v0, v1
    prefetch v2
    v3: mask = active
    slot.set s0, v2, v3
    return 0
}
";

fn function() -> Function {
    parse_function(HINTS, &[]).expect("parses")
}

/// Also in vectors of eight lanes, as samplers are.
fn options() -> Vec<Options> {
    let mut list = all_options();
    for level in [HostLevel::Native, HostLevel::Avx2] {
        let target = Target::host(level).expect("host");
        if target.has_middle_vectors() {
            list.push(Options { eight_lanes: true, open_loads: true, ..Options::new(target) });
        }
    }
    list
}

#[test]
fn nothing_is_read() {
    let func = function();
    for options in options() {
        let code = Executable::compile(&func, &options);
        let mut words = frame(&func);
        // There is no memory at any of them: the context names none.
        let place = |lane: usize| (lane as u32).wrapping_mul(0x0765_4321);
        (0..32).for_each(|lane| write(&func, &mut words, 0, lane, place(lane).into()));
        let mut context = context();
        assert_eq!(code.run(&mut context, &mut words), 0, "{options:?}");
        for lane in 0..32 {
            assert_eq!(read(&func, &words, 0, lane), u64::from(place(lane).wrapping_add(1)), "{options:?}");
        }
    }
}

#[test]
fn vectors_ask_for_the_first_and_the_last_of_four_lanes() {
    let func = function();
    for options in options() {
        let groups = usize::from(options.chunk_groups);
        let options = Options { list: true, ..options };
        let text = list_region(&func, &options).expect("compiles").assembly;
        let wanted = match () {
            () if options.eight_lanes => 2 * 4,
            () if options.wide_vectors => 2 * 2 * groups,
            () => 0,
        };
        assert_eq!(text.matches("prefetcht0").count(), wanted, "{options:?}\n{text}");
    }
}

//! Loads that the next warps and blocks go on with, so that the host's memory can be asked for early.
//!
//! Where each thread of a kernel loads its own element, once, a launch is a stream through memory. The host's own prefetchers
//! follow such a stream within a page of four kilobytes and start anew in the next one (Zen 5), and the code of an
//! element is long enough that out-of-order execution alone does not reach over that.

use iced_x86::Code;

use super::asm::{A, Mem, With};
use super::lower::Lower;

/// How far in front of a load memory is asked for: two pages, in which a core of our time does not wait any more.
/// Nothing there need be mapped.
const AHEAD: i32 = 8192;

impl Lower<'_> {
    /// Finds the blocks that run once a thread, in a first phase to which nothing leads back.
    pub fn find_streams(&mut self) {
        let order = &self.blocks.order;
        self.streams = vec![false; self.f.blocks.len()];
        for (&block, depth) in order.blocks.iter().zip(order.loop_depths(self.f)) {
            self.streams[block.index()] = depth == 0;
        }
    }

    /// Asks for memory that lanes of later warps or blocks are going to load, where lanes of this one load side by side.
    pub fn fetch_ahead(&mut self, place: Mem, step: i8) {
        let current = self.blocks.current.index();
        if self.streams.get(current).copied().unwrap_or(false) {
            self.a.put(
                Code::Prefetcht0_m8,
                &[A::Mem(place.plus(AHEAD * i32::from(step.signum())))],
                With::default(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use warpjit_ir::text::parse_function;

    use crate::Options;
    use crate::code::FloatEnv;
    use crate::options::{BlockRow, Phase, Successor};
    use crate::shape::Shape;
    use crate::{HostLevel, Target};

    /// A load, and sums of what it gives until they pass a bound.
    const ONCE: &str = "
function @f mask lanes 32 {
    slot s0: i32 lane

block0 at 0x0:
    v0: i32 = slot.get s0
    v1: i32 = load.u32 global0[v0] align 4
    jump block1(v1)

block1(v2: i32) at 0x8:
    v3: i32 = iadd v2, v1
    v4: mask = icmp ult v3, v0
    br_any v4, block1(v3), block2

block2 at 0x10:
    store.u32 global0[v0], v3 align 4
    return 0
}
";

    /// What is compiled for so many phases, all of one text; behind the last comes what `last` says.
    fn listing(text: &str, phases: usize, last: Successor) -> String {
        let func = parse_function(text, &[]).expect("parses");
        let target =
            Target::triple("x86_64-unknown-linux-gnu", HostLevel::Native).expect("there is such a target");
        let successor = |n: usize| if n + 1 < phases { Successor::Next(n + 1) } else { last };
        let phase = |n: usize| Phase {
            func: &func,
            chunk_groups: 4,
            slot_shapes: vec![Some(Shape::Affine(4))],
            apart: vec![Some(64)],
            by_firsts: Vec::new(),
            insts: 1,
            successors: vec![successor(n)],
            checks: Vec::new(),
        };
        let phases: Vec<Phase<'_>> = (0..phases).map(phase).collect();
        let options: Vec<Options> = phases
            .iter()
            .map(|p| Options {
                chunk_groups: p.chunk_groups,
                list: true,
                slot_shapes: p.slot_shapes.clone(),
                apart: p.apart.clone(),
                ..Options::new(target.clone())
            })
            .collect();
        let row = BlockRow { whole: true, ..BlockRow::default() };
        let made = super::super::compile_phases(&phases, &row, &options, FloatEnv::Default);
        made.expect("compiles").listing.assembly
    }

    #[test]
    fn what_a_thread_loads_once_is_asked_for_early() {
        let count = |text: &str| text.matches("prefetcht0").count();
        assert_eq!(count(&listing(ONCE, 1, Successor::Ended)), 1);
        // Not by later phases, nor by the first if it comes again: they may run many times.
        assert_eq!(count(&listing(ONCE, 2, Successor::Ended)), 1);
        assert_eq!(count(&listing(ONCE, 2, Successor::Next(0))), 0);
        // A load in a loop walks on by itself.
        let again = ONCE.replace("jump block1(v1)", "jump block1(v0)").replace(
            "v3: i32 = iadd v2, v1",
            "v5: i32 = load.u32 global0[v0] align 4\n    v3: i32 = iadd v2, v5",
        );
        assert_eq!(count(&listing(&again, 1, Successor::Ended)), 1);
        let only = again.replace("    v1: i32 = load.u32 global0[v0] align 4\n", "");
        assert_eq!(count(&listing(&only, 1, Successor::Ended)), 0);
    }
}

//! Regions of small kernels written in the text format.

use super::SlotFacts;
use super::{Kernel, RegionOptions};
use crate::entities::Block;
use crate::text::parse_function;
use crate::verify::verify;

const MANDEL: &str = r#"
function @mandel spmd lanes 32 entry block0 {
    slot s0: i32 r0 = tid.x
    slot s1: f32 zx
    slot s2: i32 n
    slot s3: mask c

block0 at 0x0 insts 2:
    v0: i32 = slot.get s0
    v1: f32 = fcvt_from_uint v0
    slot.set s1, v1
    v2: ui32 = const 0x0
    slot.set s2, v2
    @0x8 push.break block4 -> block1

block1 at 0x10 insts 3:
    v10: f32 = slot.get s1
    v11: f32 = fmul.ftz v10, v10
    v12: uf32 = const 0x40800000
    v13: mask = fcmp.ftz gt v11, v12
    slot.set s1, v11
    @0x18 leave.break if v13 -> block2

block2 at 0x20 insts 3:
    v20: i32 = slot.get s2
    v21: ui32 = const 0x1
    v22: i32 = iadd v20, v21
    slot.set s2, v22
    v23: ui32 = const 0x20
    v24: mask = icmp ult v22, v23
    slot.set s3, v24
    branch v24, block1, block3

block3 at 0x30 insts 1:
    leave.break -> block4

block4 at 0x38 insts 2:
    v30: i32 = slot.get s2
    v31: i32 = slot.get s0
    store.u32 global14[v31], v30 align 4
    leave.exit -> block4
}
"#;

#[test]
fn a_loop_with_breaks_is_one_region_to_the_end() {
    let func = parse_function(MANDEL, &[]).expect("parses");
    verify(&func).expect("valid");
    let kernel = Kernel::new(func, RegionOptions::default());
    let region = kernel.region(Block(0), &SlotFacts::none(kernel.func.slots.len())).expect("a region");
    println!("{}\n{}", region.ssa, region.mask);
    verify(&region.ssa).expect("valid SSA");
    verify(&region.mask).expect("valid mask form");
    assert_eq!(region.blocks.len(), 5);
    assert_eq!(region.exits.len(), 1);
}

//! Tests the table that attributes code to guest instructions.

mod common;

use std::collections::BTreeSet;

use common::all_options;
use warpjit_backend::{NO_PC, Options, Shape, compile_region, guest_pc};
use warpjit_ir::text::parse_function;

/// A load, ten products, a store; registers go in and out.
const REGION: &str = "
function @region mask lanes 32 {
    slot s0: i32 lane
    slot s1: i32 out

block0 at 0x40:
    v0: i32 = slot.get s0
    @0x48 v1: i32 = load.u32 global0[v0] align 4
    @0x50 v2: i32 = imul v1, v0
    @0x50 v3: i32 = imul v2, v1
    @0x50 v4: i32 = imul v3, v2
    @0x50 v5: i32 = imul v4, v3
    @0x58 store.u32 global0[v5], v4 align 4
    slot.set s1, v5
    return 0
}
";

#[test]
fn code_knows_its_guest_instruction() {
    let func = parse_function(REGION, &[]).expect("parses");
    for options in all_options() {
        let plain = compile_region(&func, &options).expect("compiles");
        assert!(plain.pcs.is_empty());
        let told = compile_region(&func, &Options { pcs: true, ..options }).expect("compiles");
        // Being observed changes nothing.
        assert_eq!(told.code, plain.code);
        assert!(told.pcs.is_sorted_by(|a, b| a.0 < b.0 && a.1 != b.1), "{:x?}", told.pcs);
        assert_eq!(told.pcs.first().map(|p| p.0), Some(0));
        let seen: BTreeSet<u32> = told.pcs.iter().map(|p| p.1).collect();
        assert!(seen.is_superset(&[0x48, 0x50, 0x58, NO_PC].into()), "{seen:x?}");
        assert!(seen.is_subset(&[0x40, 0x48, 0x50, 0x58, NO_PC].into()), "{seen:x?}");
        // The trap table is another way to know.
        for (offset, site) in &told.traps {
            assert_eq!(guest_pc(&told.pcs, *offset), Some(site.pc));
        }
        // The code that goes from chunk to chunk is of no instruction.
        assert_eq!(guest_pc(&told.pcs, 0), None);
    }
}

#[test]
fn passes_own_work_is_of_the_instruction_around_it() {
    let text = REGION.replace("@0x50 v3", "@0x0 v3").replace("@0x50 v5", "@0x0 v5");
    let func = parse_function(&text, &[]).expect("parses");
    let mut options = all_options().remove(0);
    options.slot_shapes = vec![Some(Shape::Affine(4))];
    let told = compile_region(&func, &Options { pcs: true, ..options }).expect("compiles");
    let seen: BTreeSet<u32> = told.pcs.iter().map(|p| p.1).collect();
    assert!(seen.contains(&0x50) && !seen.contains(&0), "{seen:x?}");
}

#[test]
fn the_first_instruction_of_a_kernel_at_0_is_known() {
    let text = REGION
        .replace("block0 at 0x40", "block0 at 0x0")
        .replace("@0x48", "@0x0")
        .replace("global0", "shared");
    let func = parse_function(&text, &[]).expect("parses");
    for options in all_options() {
        let told = compile_region(&func, &Options { pcs: true, ..options }).expect("compiles");
        let seen: BTreeSet<u32> = told.pcs.iter().map(|p| p.1).collect();
        assert!(seen.is_superset(&[0x0, 0x50, 0x58].into()), "{seen:x?}");
    }
}

#[test]
fn a_table_is_looked_up_by_offset() {
    let pcs = [(0, NO_PC), (4, 0x10), (9, 0x18), (12, NO_PC)];
    let found: Vec<_> = [0, 3, 4, 8, 9, 11, 12, 99].iter().map(|&at| guest_pc(&pcs, at)).collect();
    let (a, b) = (Some(0x10), Some(0x18));
    assert_eq!(found, [None, None, a, a, b, b, None, None]);
    assert_eq!(guest_pc(&[], 5), None);
}

//! Tests of the affine analysis. The expected strides are worked out by hand.

use warpjit_ir::text::parse_function;
use warpjit_ir::{Block, Value};

use super::{Form, Forms};
use crate::shape::Shape;

const CODE: &str = "
function @f mask lanes 32 {
    slot s0: i32 lane
    slot s1: i32 base
    slot s2: i32 any
    slot s3: i32 packed

block0 at 0x0:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: i32 = slot.get s2
    v3: i32 = slot.get s3
    v4: ui32 = const 0x2
    v5: i32 = ishl v0, v4
    v6: i32 = iadd v5, v1
    v7: ui32 = const 0x6
    v8: i32 = imul v6, v7
    v9: i32 = isub v8, v0
    v10: i32 = isub v6, v5
    v11: i32 = iadd v6, v2
    v12: i32 = ineg v5
    v13: ui32 = const 0xffff
    v14: i32 = iand v3, v13
    v15: ui32 = const 0x10
    v16: i32 = ushr v3, v15
    v17: i32 = iand v0, v13
    v18: i32 = ushr v0, v4
    v19: f32 = bitcast v1
    v20: i32 = load.u32 global0[v1] align 4
    v21: i32 = load.u32 global0[v6] align 4
    jump block1(v5, v0, v1)

block1(v30: i32, v31: i32, v32: i32) at 0x8:
    v33: i32 = iadd v30, v1
    v34: i32 = iadd v31, v2
    v35: i32 = iadd v32, v4
    v36: mask = icmp ult v33, v35
    br_any v36, block1(v33, v34, v35), block2

block2 at 0x10:
    return 0
}
";

/// What grows from lane to lane, by how much; worked out by hand.
#[test]
fn forms_of_addresses() {
    let func = parse_function(CODE, &[]).expect("parses");
    warpjit_ir::verify::verify(&func).expect("valid");
    let shapes = [Some(Shape::Affine(1)), Some(Shape::Uniform), None, Some(Shape::Packed(1))];
    let order = [Block::new(0), Block::new(1), Block::new(2)];
    let forms = Forms::new(&func, &order, &shapes, false);
    // The text's numbers, in the order in which values are made.
    let affine = |stride| Form::Affine { stride, packed: false };
    let wanted = [
        (0, affine(1)),
        (1, Form::Uniform),
        (2, Form::Varying),
        (3, Form::Affine { stride: 1, packed: true }),
        (5, affine(4)),
        (6, affine(4)),
        (8, affine(24)),
        (9, affine(23)),
        // Lanes cancel out.
        (10, Form::Uniform),
        (11, Form::Varying),
        (12, affine(-4)),
        (14, affine(1)),
        (16, Form::Uniform),
        // Nothing says that the lane's number is small here.
        (17, Form::Affine16 { stride: 1 }),
        (18, Form::Varying),
        (19, Form::Uniform),
        (20, Form::Uniform),
        (21, Form::Varying),
        // In a loop: the same growth each time, another one, none.
        (30, affine(4)),
        (31, Form::Varying),
        (32, Form::Uniform),
        (33, affine(4)),
        (35, Form::Uniform),
    ];
    for (number, form) in wanted {
        assert_eq!(forms.of(Value::new(number)), form, "v{number}\n{func}");
    }
}

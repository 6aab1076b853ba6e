//! What the table of operations says of other lanes is what [`Opcode::reach`] and [`Opcode::has_lane_order`] say.

use warpjit_ir::{Opcode, Reach};

/// The documentation of an operation ends with `Cross-lane.` if it looks at other lanes, with `Cross-lane (order).` if its lanes have an
/// order.
#[test]
fn documentation_says_which_operations_look_at_other_lanes() {
    for &op in Opcode::ALL {
        let doc = op.doc().split_whitespace().collect::<Vec<_>>().join(" ");
        let reaches = doc.ends_with("Cross-lane.");
        assert_eq!(op.reach() != Reach::Lane, reaches, "{}: {doc}", op.name());
        assert_eq!(op.has_lane_order(), doc.ends_with("Cross-lane (order)."), "{}: {doc}", op.name());
        assert_eq!(op.reach() == Reach::Quad, reaches && doc.contains("quad"), "{}: {doc}", op.name());
        assert_eq!(op.is_cross_lane(), doc.contains("Cross-lane"), "{}: {doc}", op.name());
    }
}

/// What a region of quads, or of a whole warp, can hold.
#[test]
fn a_warp_at_once_can_hold_votes_shuffles_and_quads() {
    let held: Vec<_> = Opcode::ALL.iter().filter(|op| op.is_in_whole_warp()).map(|op| op.name()).collect();
    assert_eq!(held, ["vote_any", "vote_all", "ballot", "quad_lane", "shuffle"]);
}

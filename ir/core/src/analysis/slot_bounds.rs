//! Proves the upper bounds of slots ([`SlotData::umax`]) and removes those that it cannot prove.
//!
//! Code generators leave out an address test if a slot's bound makes it redundant, so a wrong bound would break memory safety. A
//! frontend states bounds from what it knows of the guest, but anyone can make a function. The proof is by induction: a slot is
//! within its bound when a warp starts, and each value written to it is within its bound as long as all slots are within theirs.

use crate::analysis::{Cfg, KnownBits};
use crate::function::{Function, Imm, SlotData};
use crate::opcodes::Opcode;

/// Removes bounds that cannot be proved, and returns how many. `most` gives the largest value that a slot may have when
/// a warp starts. The function must be valid ([`crate::verify`]) and in SPMD form.
pub fn keep_proven_bounds(func: &mut Function, most: impl Fn(&SlotData) -> u64) -> usize {
    let mut taken = 0;
    for slot in &mut func.slots {
        if slot.umax.is_some_and(|umax| u64::from(umax) < most(slot)) {
            slot.umax = None;
            taken += 1;
        }
    }
    if func.slots.iter().all(|slot| slot.umax.is_none()) {
        return taken;
    }
    let order = Cfg::order(func);
    loop {
        let known = KnownBits::new(func, &order);
        let insts = order.iter().flat_map(|&block| &func.block(block).insts);
        let sets = insts.map(|&inst| func.inst(inst)).filter(|data| data.op == Opcode::SlotSet);
        let is_too_large =
            |slot: &SlotData, largest: u64| slot.umax.is_some_and(|umax| largest > umax.into());
        let mut unproven: Vec<usize> = sets
            .filter_map(|data| match (data.imm, data.args.first()) {
                (Imm::Slot(slot), Some(&value)) => {
                    is_too_large(&func.slots[slot.index()], known.get(value).max).then_some(slot.index())
                }
                _ => None,
            })
            .collect();
        unproven.sort_unstable();
        unproven.dedup();
        // Bounds that were proved with the help of these must be proved again.
        for &slot in &unproven {
            func.slots[slot].umax = None;
        }
        taken += unproven.len();
        if unproven.is_empty() {
            return taken;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_function;

    /// Bounds that are left of a function with these instructions, which all start at 0.
    fn left(body: &str) -> Vec<Option<u32>> {
        let text = format!("function @f spmd lanes 32 {{\n{body}\n}}\n");
        let mut func = parse_function(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        crate::verify::verify(&func).unwrap_or_else(|error| panic!("{error}"));
        let before = func.slots.iter().filter(|slot| slot.umax.is_some()).count();
        let taken = keep_proven_bounds(&mut func, |slot| u64::from(slot.name == "large") * 1000);
        let after: Vec<Option<u32>> = func.slots.iter().map(|slot| slot.umax).collect();
        assert_eq!(before - taken, after.iter().flatten().count());
        after
    }

    #[test]
    fn what_is_masked_each_time_round_is_bounded() {
        let body = "
    slot s0: i32 a umax 0xff
    slot s1: i32 b
block0 at 0x0 insts 1:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: i32 = iadd v0, v1
    v3: ui32 = const 0xff
    v4: i32 = iand v2, v3
    slot.set s0, v4
    jump block0
";
        assert_eq!(left(body), [Some(0xff), None]);
        assert_eq!(left(&body.replace("slot.set s0, v4", "slot.set s0, v2")), [None, None]);
    }

    #[test]
    fn bounds_that_rest_on_one_another_fall_together() {
        // The second holds as long as the first does, and that has been told of something that is loaded.
        let body = "
    slot s0: i32 a umax 0xf
    slot s1: i32 b umax 0x1e
block0 at 0x0 insts 1:
    v0: i32 = slot.get s0
    v1: i32 = iadd v0, v0
    slot.set s1, v1
    v2: i32 = load.uN global0[v1] align 1
    slot.set s0, v2
    jump block0
";
        assert_eq!(left(&body.replace("uN", "u8")), [None, None]);
        let wide = body.replace("umax 0xf\n", "umax 0xff\n").replace("umax 0x1e", "umax 0x1fe");
        assert_eq!(left(&wide.replace("uN", "u8")), [Some(0xff), Some(0x1fe)]);
        assert_eq!(left(&wide.replace("uN", "u32")), [None, None]);
    }

    #[test]
    fn what_a_warp_starts_with_counts() {
        let body = "
    slot s0: i32 large umax 999
    slot s1: i32 large umax 1000
block0 at 0x0 insts 1:
    jump block0
";
        assert_eq!(left(body), [None, Some(1000)]);
    }
}

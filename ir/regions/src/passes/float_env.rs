//! Puts operations of a block together that need the same float environment of the host, so that code changes it less often.
//!
//! Comes in: for each operation, whether the host must be in its second environment, in its first one, or whether that does not matter.
//! A block begins and ends in the first one. Goes out: the same instructions in another order. What has an effect, and what reads memory or
//! slots, keeps its order. It depends on the host which operations care, so the pass is in no list.

use foldhash::{HashMap, HashMapExt};
use warpjit_ir_core::entities::{Block, Inst, Value};
use warpjit_ir_core::function::{Function, InstData};

/// How far ahead of the first instruction that is left another one may be taken. What is made early is kept longer.
const WINDOW: usize = 64;

/// Changes saved from which on another order is worth it.
const FEWEST_SAVED: usize = 2;

/// Orders all blocks. `needs`: whether an instruction needs the second environment, or the first; `None` if it may run in either. Says whether
/// something has moved.
pub fn run(func: &mut Function, needs: impl Fn(&InstData) -> Option<bool>) -> bool {
    let mut changed = false;
    for block in func.block_ids() {
        if let Some(better) = better_order(func, block, &needs) {
            func.block_mut(block).insts = better;
            changed = true;
        }
    }
    changed
}

/// How often the environment changes if a block of such needs begins and ends in the first one.
fn changes(needs: impl Iterator<Item = Option<bool>>) -> usize {
    let (count, last) =
        needs.flatten().fold((0, false), |(count, now), next| (count + usize::from(now != next), next));
    count + usize::from(last)
}

fn better_order(
    func: &Function,
    block: Block,
    needs: &impl Fn(&InstData) -> Option<bool>,
) -> Option<Vec<Inst>> {
    let insts = &func.block(block).insts;
    let needs: Vec<Option<bool>> = insts.iter().map(|&inst| needs(func.inst(inst))).collect();
    let before = changes(needs.iter().copied());
    // One change there and one back is the least.
    if before < 2 + FEWEST_SAVED {
        return None;
    }
    let waits_for = dependences(func, insts);
    let mut is_done = vec![false; insts.len()];
    let (mut order, mut first, mut now) = (Vec::with_capacity(insts.len()), 0, false);
    while order.len() < insts.len() {
        while is_done[first] {
            first += 1;
        }
        let end = insts.len().min(first + WINDOW);
        let is_ready = |&at: &usize| !is_done[at] && waits_for[at].iter().all(|&on| is_done[on]);
        let next = (first..end).filter(is_ready).find(|&at| needs[at].is_none_or(|need| need == now));
        let next = next.unwrap_or_else(|| {
            // The first that is left waits for nothing: what it uses comes before it.
            now = !now;
            first
        });
        is_done[next] = true;
        order.push(next);
    }
    let after = changes(order.iter().map(|&at| needs[at]));
    (after + FEWEST_SAVED <= before).then(|| order.into_iter().map(|at| insts[at]).collect())
}

/// For each instruction, those of the list that come before it in every order.
fn dependences(func: &Function, insts: &[Inst]) -> Vec<Vec<usize>> {
    let mut made: HashMap<Value, usize> = HashMap::new();
    let mut last = None;
    let mut all = Vec::with_capacity(insts.len());
    for (at, &inst) in insts.iter().enumerate() {
        let data = func.inst(inst);
        let mut on: Vec<usize> = data.args.iter().filter_map(|arg| made.get(arg).copied()).collect();
        if !data.op.is_pure() {
            on.extend(last.replace(at));
        }
        if let Some(result) = data.result {
            made.insert(result, at);
        }
        all.push(on);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpjit_ir_core::function::Imm;
    use warpjit_ir_core::opcodes::Opcode;
    use warpjit_ir_core::text::parse_function;
    use warpjit_ir_core::verify::verify;

    /// Products keep denormals, sums flush them.
    fn ordered(body: &str) -> (bool, String) {
        let text = format!(
            "function @f mask lanes 32 {{\n    slot s0: f32 a\n    slot s1: f32 b\n\nblock0 pc 0x0:\n{body}\n    return 0\n}}\n"
        );
        let mut func = parse_function(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let needs = |data: &InstData| match (data.op, data.imm) {
            (Opcode::Fmul, _) => Some(true),
            (Opcode::Fadd, Imm::Ftz(true)) => Some(false),
            _ => None,
        };
        let changed = run(&mut func, needs);
        verify(&func).unwrap_or_else(|error| panic!("{error}"));
        (changed, func.to_string())
    }

    fn order(text: &str) -> Vec<&str> {
        let ops = ["fmul", "fadd.ftz", "slot.get", "slot.set"];
        text.lines().filter_map(|line| ops.into_iter().find(|op| line.contains(&format!("{op} ")))).collect()
    }

    #[test]
    fn products_and_sums_that_take_turns_come_together() {
        let (changed, text) = ordered(
            "    v0: f32 = slot.get s0\n    v1: f32 = slot.get s1\n    v2: f32 = fmul v0, v1\n    v3: f32 = fadd.ftz v2, v1\n    \
             v4: f32 = fmul v0, v0\n    v5: f32 = fadd.ftz v4, v3\n    v6: f32 = fmul v1, v1\n    v7: f32 = fadd.ftz v6, v5\n    \
             slot.set s0, v7",
        );
        assert!(changed);
        let wanted =
            ["slot.get", "slot.get", "fmul", "fmul", "fmul", "fadd.ftz", "fadd.ftz", "fadd.ftz", "slot.set"];
        assert_eq!(order(&text), wanted, "{text}");
    }

    #[test]
    fn what_depends_and_what_has_an_effect_keeps_its_order() {
        // Each sum is a factor of the next product.
        let (changed, _) = ordered(
            "    v0: f32 = slot.get s0\n    v2: f32 = fmul v0, v0\n    v3: f32 = fadd.ftz v2, v0\n    v4: f32 = fmul v3, v0\n    \
             v5: f32 = fadd.ftz v4, v3\n    v6: f32 = fmul v5, v0\n    slot.set s0, v6",
        );
        assert!(!changed);
        // Slots are read and written in between.
        let (changed, _) = ordered(
            "    v0: f32 = slot.get s0\n    v2: f32 = fmul v0, v0\n    slot.set s0, v2\n    v3: f32 = slot.get s1\n    \
             v4: f32 = fadd.ftz v3, v3\n    slot.set s1, v4\n    v5: f32 = slot.get s0\n    v6: f32 = fmul v5, v4\n    slot.set s0, v6\n    \
             v7: f32 = slot.get s0\n    v8: f32 = fadd.ftz v7, v6\n    slot.set s1, v8",
        );
        assert!(!changed);
    }
}

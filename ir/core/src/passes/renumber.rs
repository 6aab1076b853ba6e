//! Numbers instructions and values anew, without those that stand in no block any more. Passes leave many of them behind, and every
//! analysis has tables with a place for each.
//!
//! Nobody may keep the number of a value or an instruction across this pass.

use crate::entities::{Inst, Value};
use crate::function::{Function, InstData, ValueData, ValueDef};

/// Runs the pass, if more than half of the instructions stand in no block.
pub fn run(func: &mut Function) -> bool {
    let live: usize = func.blocks.iter().map(|data| data.insts.len()).sum();
    if live * 2 >= func.insts.len() {
        return false;
    }
    let mut to: Vec<Option<Value>> = vec![None; func.values.len()];
    let mut values: Vec<ValueData> = Vec::with_capacity(to.len() / 2);
    let mut kept = 0;
    for block in func.block_ids() {
        let data = func.block(block);
        for (&param, n) in data.params.iter().zip(0..) {
            to[param.index()] = Some(Value::new(values.len()));
            values.push(ValueData { ty: func.ty(param), def: ValueDef::Param(block, n) });
        }
        for &inst in &data.insts {
            if let Some(result) = func.inst(inst).result {
                to[result.index()] = Some(Value::new(values.len()));
                values.push(ValueData { ty: func.ty(result), def: ValueDef::Inst(Inst::new(kept)) });
            }
            kept += 1;
        }
    }
    // A block that cannot be reached may use what is gone.
    let mut known = true;
    for data in &func.blocks {
        let args = data.insts.iter().flat_map(|&inst| &func.inst(inst).args);
        known &= args.into_iter().all(|arg| to[arg.index()].is_some());
        data.term.iter().for_each(|term| term.for_each_use(|v| known &= to[v.index()].is_some()));
    }
    if !known {
        return false;
    }
    let new = |v: Value| to[v.index()].unwrap_or(v);
    let mut insts: Vec<InstData> = Vec::with_capacity(live);
    for data in &mut func.blocks {
        data.params.iter_mut().for_each(|param| *param = new(*param));
        for inst in &mut data.insts {
            let mut own = func.insts[inst.index()].clone();
            own.args.iter_mut().for_each(|arg| *arg = new(*arg));
            own.result = own.result.map(new);
            *inst = Inst::new(insts.len());
            insts.push(own);
        }
        if let Some(term) = &mut data.term {
            term.map_uses(new);
        }
    }
    (func.insts, func.values) = (insts, values);
    true
}

#[cfg(test)]
mod tests {
    use crate::function::Function;
    use crate::passes::dce;
    use crate::text::parse_function;
    use crate::verify::verify;

    fn function(dead: &str, body: &str) -> Function {
        let head = "function @f mask lanes 32 {\nslot s0: i32 r0\nslot s1: i32 r1\nblock0 at 0x0:\n";
        parse_function(&format!("{head}{dead}{body}}}\n"), &[]).unwrap()
    }

    const DEAD: &str = "v0: i32 = slot.get s1
        v1: ui32 = const 3
        v2: i32 = imul v0, v1
        v3: i32 = ixor v2, v1
        v4: i32 = iadd v2, v3
        v5: i32 = isub v4, v3
        v6: i32 = isub v5, v3
        v7: i32 = isub v6, v3
        v8: i32 = isub v7, v3
        v9: i32 = isub v8, v3
        ";

    #[test]
    fn numbers_are_given_in_order() {
        // Arguments of a branch, of a jump back, and what a return names.
        let mut func = function(
            DEAD,
            "v10: i32 = slot.get s0
            jump block1(v10)
        block1(v11: i32) at 0x8:
            v12: i32 = iadd v11, v10
            v13: mask = icmp ult v12, v10
            br_any v13, block1(v12), block2(v12)
        block2(v14: i32) at 0x10:
            slot.set s0, v14
            return 1 exited v13 cond v13",
        );
        dce::run(&mut func);
        assert!(super::run(&mut func));
        verify(&func).unwrap();
        let wanted = function(
            "",
            "v0: i32 = slot.get s0
            jump block1(v0)
        block1(v1: i32) at 0x8:
            v2: i32 = iadd v1, v0
            v3: mask = icmp ult v2, v0
            br_any v3, block1(v2), block2(v2)
        block2(v4: i32) at 0x10:
            slot.set s0, v4
            return 1 exited v3 cond v3",
        );
        assert_eq!((func.insts.len(), func.values.len()), (4, 5));
        assert_eq!(func.to_string(), wanted.to_string());
    }

    #[test]
    fn few_dead_ones_stay() {
        let mut func =
            function("v0: i32 = slot.get s1\n", "v1: i32 = slot.get s0\nslot.set s1, v1\nreturn 0\n");
        dce::run(&mut func);
        assert!(!super::run(&mut func));
        assert_eq!((func.insts.len(), func.values.len()), (3, 2));
    }

    #[test]
    fn what_an_unreachable_block_uses_may_be_gone() {
        let mut func = function(DEAD, "return 0\nblock1 at 0x8:\nslot.set s0, v9\nreturn 0\n");
        func.blocks[0].insts.clear();
        let before = func.clone();
        assert!(!super::run(&mut func));
        assert!(func == before);
    }
}

//! The rules of instructions: operand and result types, immediates, memory accesses.

use super::*;

impl Verifier<'_> {
    pub(super) fn inst(&mut self, block: Block, inst: Inst) {
        let data = self.func.inst(inst);
        let check = self.check_inst(data);
        if check.is_err() {
            self.check(self.inst_name(block, inst), check);
        }
    }

    fn check_inst(&self, data: &InstData) -> Check {
        let func = self.func;
        let op = data.op;
        let args: Vec<Type> = data.args.iter().map(|&a| func.ty(a)).collect();
        let result = data.result.map(|v| func.ty(v));
        let has_result = !matches!(
            op,
            Opcode::Store
                | Opcode::UnlockStore
                | Opcode::CallDevice
                | Opcode::DenyLoad
                | Opcode::DenyStore
                | Opcode::SlotSet
                | Opcode::CountLanes
                | Opcode::PermitLoad
                | Opcode::PermitStore
                | Opcode::Prefetch
        );
        ensure!(result.is_some() == has_result, if has_result { "has a result" } else { "has no result" })?;
        check_imm(op, &data.imm)?;
        let scalars: Vec<Scalar> = args.iter().map(|t| t.scalar).collect();
        check_sig(op.sig(), &scalars, result.map(|t| t.scalar))?;
        match (op, &data.imm) {
            (Opcode::Const, Imm::Bits(bits)) => {
                let mask = result.map_or(0, |t| t.scalar.bit_mask());
                ensure!(bits & !mask == 0, "the constant has bits beyond its type")?;
            }
            (Opcode::Fcanon, Imm::Bits(bits)) => ensure!(
                match result.map(|t| t.scalar) {
                    Some(Scalar::F32) => *bits >> 32 == 0 && f32::from_bits(*bits as u32).is_nan(),
                    _ => f64::from_bits(*bits).is_nan(),
                },
                "the immediate is a NaN of the type",
            )?,
            (Opcode::LaneBit | Opcode::ChunkMask, _) => {
                ensure!(args.iter().all(|t| t.uniform), "takes a uniform value")?;
            }
            (Opcode::QuadLane, Imm::Bits(lane)) => ensure!(*lane < 4, "the lane of a quad is below 4")?,
            _ => {}
        }
        let of_chunks =
            matches!(op, Opcode::ChunkBallot | Opcode::ChunkMask | Opcode::ChunkSpread | Opcode::ChunkValue);
        ensure!(!of_chunks || func.form == Form::Mask, "stands in mask form only")?;
        if op.sig() == Sig::Special {
            self.check_special(data, &args, result)?;
        }
        let Some(result) = result else { return Ok(()) };
        if result.uniform {
            ensure!(
                !matches!(op, Opcode::Atomic | Opcode::Lock) && !op.differs_by_lane(),
                "the result is varying",
            )?;
            ensure!(
                // The guard of a uniform load, or of the translation of a uniform address, may differ between lanes; so may what is stored.
                matches!(op, Opcode::Any | Opcode::Ballot | Opcode::VoteAny | Opcode::VoteAll)
                    || op == Opcode::ChunkBallot
                    || (matches!(op, Opcode::Shuffle | Opcode::ChunkValue) && args[1].uniform)
                    || ((op == Opcode::Load || op.is_translation()) && args[0].uniform)
                    || args.iter().all(|t| t.uniform),
                "a varying operand makes the result varying",
            )?;
        }
        Ok(())
    }

    fn check_special(&self, data: &InstData, args: &[Type], result: Option<Type>) -> Check {
        let scalars: Vec<Scalar> = args.iter().map(|t| t.scalar).collect();
        match (data.op, &data.imm) {
            (Opcode::Any, _) => {
                ensure!(scalars == [Scalar::I1], "takes one truth value")?;
                ensure!(result == Some(Type::uniform(Scalar::I1)), "gives ui1")
            }
            (Opcode::CountLanes, _) => ensure!(scalars == [Scalar::I1], "takes one truth value"),
            (Opcode::Prefetch, _) => ensure!(scalars == [Scalar::I32], "takes an i32"),
            (Opcode::Shuffle | Opcode::ChunkValue, _) => {
                ensure!(
                    data.op == Opcode::Shuffle || result.is_some_and(|t| t.uniform),
                    "the result is uniform",
                )?;
                ensure!(scalars.len() == 2, "takes a value and an index")?;
                ensure!(scalars[0] != Scalar::I1, "a truth value cannot be shuffled")?;
                let index = if data.op == Opcode::Shuffle { Scalar::I32 } else { Scalar::I64 };
                ensure!(scalars[1] == index, format!("the index is an {}", index.name()))?;
                ensure!(
                    result.map(|t| t.scalar) == Some(scalars[0]),
                    "the result has the first operand's type",
                )
            }
            (Opcode::SlotGet, Imm::Slot(slot)) => {
                let ty = self.func.slots[slot.index()].ty;
                ensure!(args.is_empty(), "takes no operands")?;
                let same = result.is_some_and(|r| r.scalar == ty.scalar && (r.uniform || !ty.uniform));
                ensure!(same, format!("the slot is {ty}"))
            }
            (Opcode::SlotSet, Imm::Slot(slot)) => {
                let ty = self.func.slots[slot.index()].ty;
                let most = if self.func.form == Form::Mask { 2 } else { 1 };
                ensure!(!args.is_empty(), "takes a value")?;
                ensure!(args.len() <= most, "takes no mask in SPMD form, at most one in mask form")?;
                ensure!(args[0].scalar == ty.scalar, format!("the slot is {ty}"))?;
                ensure!(
                    !ty.uniform || args.iter().all(|a| a.uniform),
                    "a uniform slot takes uniform values"
                )?;
                ensure!(scalars.get(1).is_none_or(|&s| s == Scalar::I1), "the mask is a truth value")
            }
            (Opcode::CallPure, Imm::Pure(callee)) => {
                ensure!(callee.params.len() <= 4, "a pure function takes at most four arguments")?;
                ensure!(scalars == callee.params, format!("the function takes ({})", names(callee.params)))?;
                ensure!(
                    result.map(|t| t.scalar) == Some(callee.result),
                    format!("the function gives {}", callee.result.name()),
                )
            }
            (Opcode::CallDevice, Imm::Device(site)) => {
                ensure!(scalars.is_empty() || scalars == [Scalar::I1], "takes at most one guard")?;
                ensure!(site.mailbox.is_multiple_of(4), "the mailbox is a multiple of 4")?;
                ensure!(result.is_none(), "gives nothing")
            }
            (op, Imm::Mem(mem)) => check_memory(op, mem, None, args, result),
            (op, Imm::Atomic(mem, atomic)) => check_memory(op, mem, Some(*atomic), args, result),
            _ => Ok(()),
        }
    }
}

fn check_imm(op: Opcode, imm: &Imm) -> Check {
    use Opcode::*;
    let (fits, wanted) = match op {
        Const | Fcanon | QuadLane | CountLanes => (matches!(imm, Imm::Bits(_)), "bits"),
        Icmp => (matches!(imm, Imm::Int(_)), "an integer condition"),
        Fcmp => (matches!(imm, Imm::FloatCmp(..)), "a float condition"),
        Load | Store | Lock | UnlockStore | DenyLoad | DenyStore | TranslateLoad | TranslateStore
        | PermitLoad | PermitStore => (matches!(imm, Imm::Mem(_)), "a memory access"),
        Atomic => (matches!(imm, Imm::Atomic(..)), "a memory access and an atomic operation"),
        SlotGet | SlotSet => (matches!(imm, Imm::Slot(_)), "a slot"),
        CallPure => (matches!(imm, Imm::Pure(_)), "a pure function"),
        CallDevice => (matches!(imm, Imm::Device(_)), "a device"),
        Lookup => (matches!(imm, Imm::Table(_)), "a table"),
        Fadd | Fsub | Fmul | Fdiv | Fsqrt | Fma | FmadTrunc | Fdemote => {
            (matches!(imm, Imm::None | Imm::Ftz(_)), "at most `ftz`")
        }
        _ => (matches!(imm, Imm::None | Imm::Ftz(false)), "none"),
    };
    ensure!(fits, format!("the immediate of {} is {wanted}", op.name()))
}

fn check_sig(sig: Sig, args: &[Scalar], result: Option<Scalar>) -> Check {
    let count = |n: usize| ensure!(args.len() == n, format!("takes {n} operands, not {}", args.len()));
    let gives = |s: Scalar| ensure!(result == Some(s), format!("gives {}", s.name()));
    match sig {
        Sig::Const => count(0),
        Sig::Same(n, list) => {
            count(usize::from(n))?;
            let Some(&first) = args.first() else { return Ok(()) };
            ensure!(list.contains(&first), format!("operands are {}", names(list)))?;
            ensure!(args.iter().all(|&s| s == first), "operands have one type")?;
            gives(first)
        }
        Sig::Fixed(params, to) => {
            ensure!(args == params, format!("operands are ({}), not ({})", names(params), names(args)))?;
            gives(to)
        }
        Sig::Compare(list) => {
            count(2)?;
            ensure!(list.contains(&args[0]), format!("operands are {}", names(list)))?;
            ensure!(args[0] == args[1], "operands have one type")?;
            gives(Scalar::I1)
        }
        Sig::Select => {
            count(3)?;
            ensure!(args[0] == Scalar::I1, "the condition is a truth value")?;
            ensure!(args[1] == args[2], "both values have one type")?;
            gives(args[1])
        }
        Sig::Convert(pairs) => {
            count(1)?;
            let fits = pairs.iter().any(|&(from, to)| args[0] == from && result == Some(to));
            ensure!(fits, "no conversion between these types")
        }
        Sig::Special => Ok(()),
    }
}

fn check_memory(
    op: Opcode,
    mem: &MemAccess,
    atomic: Option<AtomicOp>,
    args: &[Type],
    result: Option<Type>,
) -> Check {
    ensure!(matches!(mem.bytes, 1 | 2 | 4 | 8), "accesses 1, 2, 4 or 8 bytes")?;
    ensure!(mem.align.is_power_of_two(), "the alignment is a power of two")?;
    let far = matches!(mem.space, Space::Shared | Space::Local);
    ensure!(!mem.far || far, "only accesses to shared and local memory are `far`")?;
    let element = if mem.bytes == 8 { Scalar::I64 } else { Scalar::I32 };
    let denies = matches!(op, Opcode::DenyLoad | Opcode::DenyStore);
    let values = match op {
        _ if denies => 1,
        Opcode::Store | Opcode::UnlockStore | Opcode::TranslateStore | Opcode::PermitStore => 1,
        Opcode::Atomic if atomic.is_some_and(AtomicOp::takes_two) => 2,
        Opcode::Atomic => 1,
        _ => 0,
    };
    let count = 1 + values;
    ensure!(
        args.len() == count || args.len() == count + 1,
        format!("takes an address, {values} values and at most one guard"),
    )?;
    let wide = args[0].scalar == Scalar::I64 && matches!(mem.space, Space::Global(_));
    ensure!(args[0].scalar == Scalar::I32 || wide, "the address is an i32, or an i64 in global memory")?;
    if denies {
        ensure!(args[1].scalar == Scalar::I1, "what denies is a truth value")?;
    } else {
        ensure!(
            args[1..count].iter().all(|t| t.scalar == element),
            format!("values of {} bytes are {}", mem.bytes, element.name()),
        )?;
    }
    ensure!(args.get(count).is_none_or(|t| t.scalar == Scalar::I1), "the guard is a truth value")?;
    match op {
        Opcode::Load => {
            ensure!(
                result.map(|t| t.scalar) == Some(element),
                format!("{} bytes load as {}", mem.bytes, element.name()),
            )?;
            let lanes_own = mem.space == Space::Local && result.is_some_and(|t| t.uniform);
            ensure!(!lanes_own, "a load from local memory is varying")
        }
        Opcode::Atomic => {
            ensure!(mem.bytes >= 4, "atomics access 4 or 8 bytes")?;
            ensure!(result.map(|t| t.scalar) == Some(element), format!("gives {}", element.name()))
        }
        Opcode::Lock | Opcode::UnlockStore => {
            let space = matches!(mem.space, Space::Shared | Space::Global(_));
            ensure!(mem.bytes == 4 && space, "locks are words of shared or global memory")?;
            ensure!(op != Opcode::Lock || result.map(|t| t.scalar) == Some(Scalar::I1), "gives i1")
        }
        Opcode::TranslateLoad | Opcode::TranslateStore => {
            ensure!(wide, "translates an i64 of global memory")?;
            ensure!(result.map(|t| t.scalar) == Some(Scalar::I64), "gives i64")?;
            let same = args[0].uniform || !result.is_some_and(|t| t.uniform);
            ensure!(same, "the translation of a varying address is varying")
        }
        Opcode::PermitLoad | Opcode::PermitStore => ensure!(wide, "is asked of an i64 of global memory"),
        _ => Ok(()),
    }
}

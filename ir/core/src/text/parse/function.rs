//! A function's head, slots, blocks and references.

use super::*;

impl Parser<'_> {
    pub(super) fn function(&mut self) -> Result<Function> {
        self.values_used.clear();
        self.blocks_used.clear();
        self.slots_used.clear();
        self.defined.clear();

        self.expect_word("function")?;
        self.expect_sign('@')?;
        let name = self.name("the function's name")?;
        let form = if self.eat_word("spmd") {
            Form::Spmd
        } else if self.eat_word("mask") {
            Form::Mask
        } else {
            return self.expected("`spmd` or `mask`");
        };
        self.expect_word("lanes")?;
        let lanes = self.number32("the number of lanes")?;
        let mut func = Function::new(name, form, lanes);
        if self.eat_word("entry") {
            func.entry = self.block_ref()?;
        }
        self.expect_sign('{')?;
        while self.eat_word("slot") {
            self.slot(&mut func)?;
        }
        while self.eat_word("at") {
            let pc = self.number32("a guest address")?;
            let block = self.block_ref()?;
            func.block_at.insert(pc, block);
        }
        while !self.eat_sign('}') {
            self.block(&mut func)?;
        }
        self.check_references(&func)?;
        self.number_values(&mut func);
        Ok(func)
    }

    fn slot(&mut self, func: &mut Function) -> Result<()> {
        let at = self.at;
        let number = self.entity("s", "a slot")? as usize;
        if number != func.slots.len() {
            return self.error_at(at, format!("expected slot s{}", func.slots.len()));
        }
        self.expect_sign(':')?;
        let ty = self.ty()?;
        let name = self.name("the slot's name")?;
        let init = if self.eat_sign('=') { self.slot_init()? } else { SlotInit::Zero };
        let umax = if self.eat_word("umax") { Some(self.number32("the largest value")?) } else { None };
        if self.eat_word("lane_mask") {
            if let Some(other) = func.lane_mask {
                return self.error_at(at, format!("slot {other} is the lane mask already"));
            }
            func.lane_mask = Some(Slot::new(number));
        }
        func.slots.push(SlotData { name, ty, init, umax });
        Ok(())
    }

    fn slot_init(&mut self) -> Result<SlotInit> {
        if let Token::Number(bits) = *self.peek() {
            self.next();
            return Ok(SlotInit::Const(bits));
        }
        if self.eat_word("segment") {
            let segment = self.number(u8::MAX.into(), "the segment's number")? as u8;
            return Ok(SlotInit::WarpOffset(segment));
        }
        let builtin = match self.peek() {
            Token::Word(w) => Builtin::parse(w),
            _ => None,
        };
        let Some(builtin) = builtin else { return self.expected("a builtin, a number or a segment") };
        self.next();
        Ok(SlotInit::Builtin(builtin))
    }

    fn block(&mut self, func: &mut Function) -> Result<()> {
        let at = self.at;
        let number = self.entity("block", "a block or `}`")? as usize;
        if number != func.blocks.len() {
            return self.error_at(at, format!("expected block{}", func.blocks.len()));
        }
        let block = func.add_block(0);
        if self.eat_sign('(') {
            loop {
                let at = self.at;
                let value = Value(self.entity("v", "a parameter")?);
                self.expect_sign(':')?;
                let ty = self.ty()?;
                let n = func.block(block).params.len() as u32;
                self.define(at, value, ty, ValueDef::Param(block, n))?;
                func.block_mut(block).params.push(value);
                if !self.eat_sign(',') {
                    break;
                }
            }
            self.expect_sign(')')?;
        }
        let at_word = self.at;
        let indirect = self.eat_word("at");
        if !indirect && !self.eat_word("pc") {
            return self.expected("`at` or `pc`");
        }
        let mut pc = self.number32("a guest address")?;
        if indirect && func.block_at.insert(pc, block).is_some() {
            return self.error_at(at_word, format!("there is another block at {pc:#x}"));
        }
        func.block_mut(block).pc = pc;
        if self.eat_word("insts") {
            func.block_mut(block).guest_insts = self.number32("the number of guest instructions")?;
        }
        self.expect_sign(':')?;
        loop {
            if self.eat_sign('@') {
                pc = self.number32("a guest address")?;
            }
            if let Some(term) = self.terminator()? {
                let data = func.block_mut(block);
                data.term = Some(term);
                data.term_pc = pc;
                return Ok(());
            }
            self.inst(func, block, pc)?;
        }
    }

    pub(super) fn define(&mut self, at: usize, value: Value, ty: Type, def: ValueDef) -> Result<()> {
        match self.defined.insert(value, ValueData { ty, def }) {
            None => Ok(()),
            Some(_) => self.error_at(at, format!("{value} is defined twice")),
        }
    }

    /// Every entity named must exist.
    fn check_references(&self, func: &Function) -> Result<()> {
        let values = self.values_used.iter().filter(|(v, _)| !self.defined.contains_key(v));
        let blocks = self.blocks_used.iter().filter(|(b, _)| b.index() >= func.blocks.len());
        let slots = self.slots_used.iter().filter(|(s, _)| s.index() >= func.slots.len());
        let first = values
            .map(|(v, &at)| (at, v.to_string()))
            .chain(blocks.map(|(b, &at)| (at, b.to_string())))
            .chain(slots.map(|(s, &at)| (at, s.to_string())))
            .min();
        match first {
            Some((at, name)) => self.error_at(at, format!("{name} is not defined")),
            None => Ok(()),
        }
    }

    /// Enters the values under their numbers. A number that is not used becomes a constant in no block.
    fn number_values(&mut self, func: &mut Function) {
        let count = self.defined.keys().map(|v| v.index() + 1).max().unwrap_or(0);
        func.values.reserve(count);
        for n in 0..count {
            let data = self.defined.get(&Value::new(n)).copied().unwrap_or_else(|| {
                let ty = Type::uniform(Scalar::I1);
                let inst = func.make_inst(Opcode::Const, &[], Imm::Bits(0), None, 0);
                func.inst_mut(inst).result = Some(Value::new(n));
                ValueData { ty, def: ValueDef::Inst(inst) }
            });
            func.values.push(data);
        }
    }
}

//! An instruction: its operation, operands, and what it names besides.

use super::*;

impl Parser<'_> {
    pub(super) fn inst(&mut self, func: &mut Function, block: Block, pc: u32) -> Result<()> {
        let at = self.at;
        let result = match self.peek_entity("v") {
            Some(_) => {
                let value = Value(self.entity("v", "a value")?);
                self.expect_sign(':')?;
                let ty = self.ty()?;
                self.expect_sign('=')?;
                Some((value, ty))
            }
            None => None,
        };
        let (op, suffix) = self.opcode(result.is_some())?;
        let mut args = Vec::new();
        let imm = self.operands(op, &suffix, &mut args)?;
        // The result is entered when all values are numbered.
        let inst = func.make_inst(op, &args, imm, None, pc);
        if let Some((value, ty)) = result {
            self.define(at, value, ty, ValueDef::Inst(inst))?;
            func.inst_mut(inst).result = Some(value);
        }
        func.block_mut(block).insts.push(inst);
        Ok(())
    }

    /// Parses an operation's name and the suffix after its dot.
    fn opcode(&mut self, has_result: bool) -> Result<(Opcode, String)> {
        if let Token::Word(word) = self.peek().clone() {
            if let Some(op) = Opcode::parse(&word) {
                self.next();
                return Ok((op, String::new()));
            }
            if let Some((name, suffix)) = word.rsplit_once('.')
                && let Some(op) = Opcode::parse(name)
            {
                self.next();
                return Ok((op, suffix.to_string()));
            }
        }
        self.expected(if has_result { "an operation" } else { "an instruction" })
    }

    fn condition<T>(&mut self, parse: fn(&str) -> Option<T>, what: &str) -> Result<T> {
        let found = match self.peek() {
            Token::Word(w) => parse(w),
            _ => None,
        };
        match found {
            Some(cc) => {
                self.next();
                Ok(cc)
            }
            None => self.expected(what),
        }
    }

    fn operands(&mut self, op: Opcode, suffix: &str, args: &mut Vec<Value>) -> Result<Imm> {
        let suffix_at = self.at - 1;
        let is_memory = matches!(
            op,
            Opcode::Load
                | Opcode::Store
                | Opcode::Atomic
                | Opcode::Lock
                | Opcode::UnlockStore
                | Opcode::DenyLoad
                | Opcode::DenyStore
                | Opcode::TranslateLoad
                | Opcode::TranslateStore
                | Opcode::PermitLoad
                | Opcode::PermitStore
        );
        if !suffix.is_empty() && suffix != "ftz" && !is_memory {
            return self.error_at(suffix_at, format!("`{}` takes no `.{suffix}`", op.name()));
        }
        let ftz = suffix == "ftz";
        match op {
            Opcode::Const => Ok(Imm::Bits(self.number(u64::MAX, "the bits of the constant")?)),
            Opcode::Fcanon | Opcode::QuadLane | Opcode::CountLanes => {
                args.push(self.value_ref()?);
                self.expect_sign(',')?;
                Ok(Imm::Bits(self.number(u64::MAX, "a number")?))
            }
            Opcode::Icmp => {
                let cc = self.condition(IntCC::parse, "an integer condition")?;
                self.values(args)?;
                Ok(Imm::Int(cc))
            }
            Opcode::Fcmp => {
                let cc = self.condition(FloatCC::parse, "a float condition")?;
                self.values(args)?;
                Ok(Imm::FloatCmp(cc, ftz))
            }
            Opcode::SlotGet | Opcode::SlotSet => {
                let at = self.at;
                let slot = Slot(self.entity("s", "a slot")?);
                self.slots_used.entry(slot).or_insert(at);
                if self.eat_sign(',') {
                    self.values(args)?;
                }
                Ok(Imm::Slot(slot))
            }
            Opcode::CallPure => {
                self.expect_sign('@')?;
                let at = self.at;
                let name = self.name("the name of a pure function")?;
                let Some(callee) = self.registry.pures.iter().copied().find(|f| f.name == name) else {
                    return self.error_at(at, format!("no pure function is called {name:?}"));
                };
                self.call_args(args)?;
                Ok(Imm::Pure(callee))
            }
            Opcode::CallDevice => {
                self.expect_sign('@')?;
                let at = self.at;
                let name = self.name("the name of a device")?;
                let Some(callee) = self.registry.devices.iter().copied().find(|d| d.name == name) else {
                    return self.error_at(at, format!("no device is called {name:?}"));
                };
                self.expect_sign('(')?;
                let params = self.number(u64::MAX, "the constant")?;
                self.expect_sign(')')?;
                if !self.eat_word("at") {
                    return self.expected("`at`");
                }
                let mailbox = self.number32("an address of local memory")?;
                args.extend(self.optional_value("if")?);
                Ok(Imm::Device(DeviceSite { callee, params, mailbox }))
            }
            Opcode::Lookup => {
                self.expect_sign('@')?;
                let at = self.at;
                let name = self.name("the name of a table")?;
                let Some(table) = self.registry.tables.iter().copied().find(|t| t.name() == name) else {
                    return self.error_at(at, format!("no table is called {name:?}"));
                };
                self.call_args(args)?;
                Ok(Imm::Table(table))
            }
            _ if is_memory => self.memory(op, suffix, suffix_at, args),
            _ => {
                let none = matches!(op.sig(), Sig::Fixed(&[], _));
                if !none {
                    self.values(args)?;
                }
                Ok(if takes_ftz(op) || ftz { Imm::Ftz(ftz) } else { Imm::None })
            }
        }
    }

    /// Values in parentheses.
    fn call_args(&mut self, args: &mut Vec<Value>) -> Result<()> {
        self.expect_sign('(')?;
        if !self.eat_sign(')') {
            self.values(args)?;
            self.expect_sign(')')?;
        }
        Ok(())
    }

    fn memory(&mut self, op: Opcode, suffix: &str, suffix_at: usize, args: &mut Vec<Value>) -> Result<Imm> {
        let (signed, bytes) = match suffix {
            "u8" => (false, 1),
            "s8" => (true, 1),
            "u16" => (false, 2),
            "s16" => (true, 2),
            "u32" => (false, 4),
            "s32" => (true, 4),
            "u64" => (false, 8),
            "s64" => (true, 8),
            _ => return self.error_at(suffix_at, format!("`{}` needs a width as in `.u32`", op.name())),
        };
        let atomic_op = match op {
            Opcode::Atomic => Some(self.condition(AtomicOp::parse, "an atomic operation")?),
            _ => None,
        };
        let space = self.space()?;
        self.expect_sign('[')?;
        args.push(self.value_ref()?);
        let offset = if self.eat_sign('+') {
            self.number(0x7fff_ffff, "the offset")? as i32
        } else if self.eat_sign('-') {
            (self.number(0x8000_0000, "the offset")? as u32).wrapping_neg() as i32
        } else {
            0
        };
        self.expect_sign(']')?;
        if self.eat_sign(',') {
            self.values(args)?;
        }
        self.expect_word("align")?;
        let align = self.number(255, "the alignment")? as u8;
        let align_offset = if self.eat_word("part") { self.number(255, "the place")? as u8 } else { 0 };
        let far = self.eat_word("far");
        while self.eat_word("if") {
            args.push(self.value_ref()?);
        }
        let mem = MemAccess { space, bytes, signed, offset, far, align, align_offset };
        Ok(atomic_op.map_or(Imm::Mem(mem), |op| Imm::Atomic(mem, op)))
    }

    fn space(&mut self) -> Result<Space> {
        let indexed = |n: u64| u8::try_from(n).ok();
        let space = if let Some(n) = self.peek_entity("global") {
            indexed(n).map(Space::Global)
        } else if let Some(n) = self.peek_entity("const") {
            indexed(n).map(Space::Const)
        } else {
            match self.peek() {
                Token::Word(w) if w == "shared" => Some(Space::Shared),
                Token::Word(w) if w == "local" => Some(Space::Local),
                _ => None,
            }
        };
        match space {
            Some(space) => {
                self.next();
                Ok(space)
            }
            None => self.expected("an address space"),
        }
    }
}

/// Whether the operation always says if it flushes denormals.
pub(super) fn takes_ftz(op: Opcode) -> bool {
    use Opcode::*;
    matches!(op, Fadd | Fsub | Fmul | Fdiv | Fsqrt | Fma | FmadTrunc | Fdemote)
}

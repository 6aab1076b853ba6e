//! Parses the text format into functions.

use std::collections::HashMap;

use super::lexer::{Spanned, Token, lex};
use super::{LEAVE_KINDS, PUSH_KINDS};
use crate::abi::Builtin;
use crate::device::{DeviceFn, DeviceSite};
use crate::entities::{Block, Slot, Value};
use crate::function::{
    BarrierSpec, BlockCall, Form, Function, GuestFault, Imm, SlotData, SlotInit, Terminator, ValueData,
    ValueDef,
};
use crate::opcodes::{AtomicOp, FloatCC, IntCC, MemAccess, Opcode, Sig, Space};
use crate::pure::PureFn;
use crate::types::{Scalar, Type};
use crate::word_table::WordTable;

/// Most values, blocks and slots of a parsed function. Numbers may have gaps, so that a short text could
/// otherwise ask for any amount of memory.
const MAX_ENTITIES: u64 = 1 << 18;

/// Text that is no function, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What was expected or is wrong.
    pub message: String,
}

/// What a text may name: the functions of `call.pure` and the tables of `lookup`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Registry<'a> {
    /// Pure functions.
    pub pures: &'a [&'static PureFn],
    /// Tables.
    pub tables: &'a [&'static WordTable],
    /// Devices.
    pub devices: &'a [&'static DeviceFn],
}

impl<'a> From<&'a [&'static PureFn]> for Registry<'a> {
    fn from(pures: &'a [&'static PureFn]) -> Self {
        Registry { pures, tables: &[], devices: &[] }
    }
}

/// Parses a text that holds exactly one function and looks up no table; `call.pure` names are looked up in `pures`.
pub fn parse_function(text: &str, pures: &[&'static PureFn]) -> Result<Function, ParseError> {
    parse_function_in(text, pures.into())
}

/// Parses a text that holds exactly one function.
pub fn parse_function_in(text: &str, registry: Registry<'_>) -> Result<Function, ParseError> {
    let mut parser = Parser::new(text, registry)?;
    let func = parser.function()?;
    match parser.peek() {
        Token::End => Ok(func),
        _ => parser.expected("the end of the text"),
    }
}

/// Parses a text that holds any number of functions.
pub fn parse_functions(text: &str, registry: Registry<'_>) -> Result<Vec<Function>, ParseError> {
    let mut parser = Parser::new(text, registry)?;
    let mut funcs = Vec::new();
    while *parser.peek() != Token::End {
        funcs.push(parser.function()?);
    }
    Ok(funcs)
}

type Result<T, E = ParseError> = std::result::Result<T, E>;

struct Parser<'a> {
    tokens: Vec<Spanned>,
    at: usize,
    registry: Registry<'a>,
    /// First use of each value, block and slot, as an index into `tokens`.
    values_used: HashMap<Value, usize>,
    blocks_used: HashMap<Block, usize>,
    slots_used: HashMap<Slot, usize>,
    /// Where each value was defined, and as what.
    defined: HashMap<Value, ValueData>,
}

impl<'a> Parser<'a> {
    fn new(text: &str, registry: Registry<'a>) -> Result<Self> {
        let tokens = lex(text).map_err(|(message, line, column)| ParseError { line, column, message })?;
        Ok(Parser {
            tokens,
            at: 0,
            registry,
            values_used: HashMap::new(),
            blocks_used: HashMap::new(),
            slots_used: HashMap::new(),
            defined: HashMap::new(),
        })
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.at].token
    }

    fn next(&mut self) -> Token {
        let token = self.tokens[self.at].token.clone();
        // The last token is `End`, which is never passed.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn error_at<T>(&self, at: usize, message: impl Into<String>) -> Result<T> {
        let Spanned { line, column, .. } = self.tokens[at];
        Err(ParseError { line, column, message: message.into() })
    }

    fn expected<T>(&self, what: &str) -> Result<T> {
        self.error_at(self.at, format!("expected {what}, found {}", self.peek().describe()))
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(w) if w == word);
        if found {
            self.next();
        }
        found
    }

    fn eat_sign(&mut self, sign: char) -> bool {
        let found = *self.peek() == Token::Sign(sign);
        if found {
            self.next();
        }
        found
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    fn expect_sign(&mut self, sign: char) -> Result<()> {
        if self.eat_sign(sign) { Ok(()) } else { self.expected(&format!("`{sign}`")) }
    }

    fn arrow(&mut self) -> Result<Block> {
        if *self.peek() != Token::Arrow {
            return self.expected("`->`");
        }
        self.next();
        self.block_ref()
    }

    fn number(&mut self, max: u64, what: &str) -> Result<u64> {
        match *self.peek() {
            Token::Number(n) if n <= max => {
                self.next();
                Ok(n)
            }
            Token::Number(_) => self.error_at(self.at, format!("{what} is at most {max:#x}")),
            _ => self.expected(what),
        }
    }

    fn number32(&mut self, what: &str) -> Result<u32> {
        Ok(self.number(u64::from(u32::MAX), what)? as u32)
    }

    fn name(&mut self, what: &str) -> Result<String> {
        match self.peek().clone() {
            Token::Word(w) | Token::Quoted(w) => {
                self.next();
                Ok(w)
            }
            _ => self.expected(what),
        }
    }

    /// The number of the entity named next, if its name starts with `prefix`.
    fn peek_entity(&self, prefix: &str) -> Option<u64> {
        let Token::Word(word) = self.peek() else { return None };
        let digits = word.strip_prefix(prefix)?;
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        digits.parse().ok()
    }

    fn entity(&mut self, prefix: &str, what: &str) -> Result<u32> {
        match self.peek_entity(prefix) {
            Some(n) if n < MAX_ENTITIES => {
                self.next();
                Ok(n as u32)
            }
            Some(_) => self.error_at(self.at, format!("numbers stay below {MAX_ENTITIES}")),
            None => self.expected(what),
        }
    }

    fn value_ref(&mut self) -> Result<Value> {
        let at = self.at;
        let value = Value(self.entity("v", "a value")?);
        self.values_used.entry(value).or_insert(at);
        Ok(value)
    }

    fn block_ref(&mut self) -> Result<Block> {
        let at = self.at;
        let block = Block(self.entity("block", "a block")?);
        self.blocks_used.entry(block).or_insert(at);
        Ok(block)
    }

    fn values(&mut self, out: &mut Vec<Value>) -> Result<()> {
        loop {
            out.push(self.value_ref()?);
            if !self.eat_sign(',') {
                return Ok(());
            }
        }
    }

    fn block_call(&mut self) -> Result<BlockCall> {
        let block = self.block_ref()?;
        let mut args = Vec::new();
        if self.eat_sign('(') {
            self.values(&mut args)?;
            self.expect_sign(')')?;
        }
        Ok(BlockCall { block, args })
    }

    fn optional_value(&mut self, word: &str) -> Result<Option<Value>> {
        if self.eat_word(word) { Ok(Some(self.value_ref()?)) } else { Ok(None) }
    }

    fn ty(&mut self) -> Result<Type> {
        let found = match self.peek() {
            Token::Word(w) => Scalar::ALL
                .iter()
                .flat_map(|&s| [Type::varying(s), Type::uniform(s)])
                .find(|ty| ty.to_string() == *w),
            _ => None,
        };
        match found {
            Some(ty) => {
                self.next();
                Ok(ty)
            }
            None => self.expected("a type"),
        }
    }

    fn function(&mut self) -> Result<Function> {
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

    fn define(&mut self, at: usize, value: Value, ty: Type, def: ValueDef) -> Result<()> {
        match self.defined.insert(value, ValueData { ty, def }) {
            None => Ok(()),
            Some(_) => self.error_at(at, format!("{value} is defined twice")),
        }
    }

    fn inst(&mut self, func: &mut Function, block: Block, pc: u32) -> Result<()> {
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

    /// The terminator that comes next; nothing if something else does.
    fn terminator(&mut self) -> Result<Option<Terminator>> {
        let Token::Word(word) = self.peek().clone() else { return Ok(None) };
        let (stem, suffix) = word.split_once('.').unwrap_or((&word, ""));
        match word.as_str() {
            "jump" | "branch" | "call" | "join" | "join.target" | "quadon" | "quadpop" | "barrier"
            | "branch_indirect" | "fault" | "br_any" | "br_if" | "return" => {
                self.next();
            }
            _ if stem == "push" => {
                let Some(&(kind, _)) = PUSH_KINDS.iter().find(|(_, n)| *n == suffix) else {
                    return self.expected("`push.join`, `.break`, `.continue`, `.call` or `.long`");
                };
                self.next();
                let target = self.block_ref()?;
                return Ok(Some(Terminator::Push { kind, target, next: self.arrow()? }));
            }
            _ if stem == "leave" => {
                let Some(&(kind, _)) = LEAVE_KINDS.iter().find(|(_, n)| *n == suffix) else {
                    return self.expected("`leave.break`, `.continue`, `.return`, `.long` or `.exit`");
                };
                self.next();
                let cond = self.optional_value("if")?;
                return Ok(Some(Terminator::Leave { kind, cond, next: self.arrow()? }));
            }
            _ => return Ok(None),
        }
        Ok(Some(match word.as_str() {
            "jump" => Terminator::Jump(self.block_call()?),
            "branch" | "br_any" | "br_if" => {
                let cond = self.value_ref()?;
                self.expect_sign(',')?;
                let taken = self.block_call()?;
                self.expect_sign(',')?;
                let next = self.block_call()?;
                match word.as_str() {
                    "branch" => Terminator::Branch { cond, taken, next },
                    "br_any" => Terminator::BrAny { mask: cond, taken, next },
                    _ => Terminator::BrIf { cond, taken, next },
                }
            }
            "call" => {
                let target = self.block_ref()?;
                Terminator::Call { target, ret: self.arrow()? }
            }
            "join" | "join.target" => {
                let cond = self.optional_value("if")?;
                Terminator::Join { cond, next: self.arrow()?, at_target: word == "join.target" }
            }
            "quadon" => Terminator::QuadOn { next: self.arrow()? },
            "quadpop" => Terminator::QuadPop { next: self.arrow()? },
            "barrier" => {
                let index = self.number(255, "the barrier's index")? as u8;
                let arrive = self.eat_word("arrive");
                let wait = self.eat_word("wait");
                let warps =
                    if self.eat_word("warps") { Some(self.number32("the number of warps")?) } else { None };
                let from = if self.eat_word("from") {
                    let at = self.at;
                    let slot = Slot(self.entity("s", "a slot")?);
                    self.slots_used.entry(slot).or_insert(at);
                    Some(slot)
                } else {
                    None
                };
                let spec = BarrierSpec { index, arrive, wait, warps, from };
                Terminator::Barrier { spec, next: self.arrow()? }
            }
            "branch_indirect" => Terminator::BranchIndirect { address: self.value_ref()? },
            "fault" => Terminator::Fault(if self.eat_word("illegal") {
                GuestFault::Illegal
            } else if self.eat_word("trap") {
                GuestFault::Trap
            } else {
                return self.expected("`illegal` or `trap`");
            }),
            _ => Terminator::Return {
                exit: self.number32("the exit's number")?,
                exited: self.optional_value("exited")?,
                cond: self.optional_value("cond")?,
            },
        }))
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

/// Whether the operation always says if it flushes denormals.
pub(super) fn takes_ftz(op: Opcode) -> bool {
    use Opcode::*;
    matches!(op, Fadd | Fsub | Fmul | Fdiv | Fsqrt | Fma | FmadTrunc | Fdemote)
}

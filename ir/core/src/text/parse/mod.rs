//! Parses the text format into functions.

mod function;
mod inst;
mod terminator;

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
use foldhash::{HashMap, HashMapExt};

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
}

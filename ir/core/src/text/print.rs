//! Prints a function in the text format (its `Display`).

use std::fmt::{self, Display, Formatter, Write};

use super::{LEAVE_KINDS, PUSH_KINDS, is_word_char};
use crate::entities::{Block, Value};
use crate::function::{BlockCall, Form, Function, GuestFault, Imm, InstData, SlotInit, Terminator};
use crate::opcodes::{MemAccess, Opcode};
use crate::types::Scalar;

/// A name, bare where it is a word, else quoted.
struct Name<'a>(&'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.starts_with(|c: char| !c.is_ascii_digit()) && self.0.chars().all(is_word_char) {
            return f.write_str(self.0);
        }
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c.is_control() => write!(f, "\\{{{:x}}}", c as u32)?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

impl Display for BlockCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.block)?;
        if self.args.is_empty() {
            return Ok(());
        }
        write!(f, "({})", List(&self.args))
    }
}

struct List<'a>(&'a [Value]);

impl Display for List<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, v) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{v}")?;
        }
        Ok(())
    }
}

struct If(Option<Value>);

impl Display for If {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(v) => write!(f, " if {v}"),
            None => Ok(()),
        }
    }
}

fn name_of<K: PartialEq>(kinds: &[(K, &'static str)], kind: K) -> &'static str {
    kinds.iter().find(|(k, _)| *k == kind).map_or("?", |(_, n)| n)
}

impl Display for Terminator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Terminator::Jump(to) => write!(f, "jump {to}"),
            Terminator::Branch { cond, taken, next } => write!(f, "branch {cond}, {taken}, {next}"),
            Terminator::Push { kind, target, next } => {
                write!(f, "push.{} {target} -> {next}", name_of(&PUSH_KINDS, *kind))
            }
            Terminator::Call { target, ret } => write!(f, "call {target} -> {ret}"),
            Terminator::Leave { kind, cond, next } => {
                write!(f, "leave.{}{} -> {next}", name_of(&LEAVE_KINDS, *kind), If(*cond))
            }
            Terminator::Join { cond, next, at_target } => {
                write!(f, "join{}{} -> {next}", if *at_target { ".target" } else { "" }, If(*cond))
            }
            Terminator::QuadOn { next } => write!(f, "quadon -> {next}"),
            Terminator::QuadPop { next } => write!(f, "quadpop -> {next}"),
            Terminator::Barrier { spec, next } => {
                write!(f, "barrier {}", spec.index)?;
                if spec.arrive {
                    f.write_str(" arrive")?;
                }
                if spec.wait {
                    f.write_str(" wait")?;
                }
                if let Some(n) = spec.warps {
                    write!(f, " warps {n}")?;
                }
                if let Some(slot) = spec.from {
                    write!(f, " from {slot}")?;
                }
                write!(f, " -> {next}")
            }
            Terminator::BranchIndirect { address } => write!(f, "branch_indirect {address}"),
            Terminator::Fault(GuestFault::Illegal) => f.write_str("fault illegal"),
            Terminator::Fault(GuestFault::Trap) => f.write_str("fault trap"),
            Terminator::BrAny { mask, taken, next } => write!(f, "br_any {mask}, {taken}, {next}"),
            Terminator::BrIf { cond, taken, next } => write!(f, "br_if {cond}, {taken}, {next}"),
            Terminator::Return { exit, exited, cond } => {
                write!(f, "return {exit}")?;
                if let Some(v) = exited {
                    write!(f, " exited {v}")?;
                }
                if let Some(v) = cond {
                    write!(f, " cond {v}")?;
                }
                Ok(())
            }
        }
    }
}

fn write_address(f: &mut impl Write, mem: &MemAccess, address: Option<&Value>) -> fmt::Result {
    write!(f, "{}[", mem.space)?;
    match address {
        Some(v) => write!(f, "{v}")?,
        None => f.write_char('?')?,
    }
    if mem.offset != 0 {
        let sign = if mem.offset < 0 { '-' } else { '+' };
        write!(f, " {sign} {:#x}", mem.offset.unsigned_abs())?;
    }
    f.write_char(']')
}

fn write_inst(f: &mut impl Write, func: &Function, inst: &InstData) -> fmt::Result {
    if let Some(v) = inst.result {
        write!(f, "{v}: {} = ", func.ty(v))?;
    }
    f.write_str(inst.op.name())?;
    let args = &inst.args;
    match &inst.imm {
        Imm::None | Imm::Ftz(false) => write!(f, " {}", List(args)),
        Imm::Ftz(true) => write!(f, ".ftz {}", List(args)),
        Imm::Bits(bits) => {
            if !args.is_empty() {
                write!(f, " {},", List(args))?;
            }
            write!(f, " {bits:#x}")?;
            match inst.result.map(|v| func.ty(v).scalar) {
                Some(Scalar::F32) if inst.op == Opcode::Const => {
                    write!(f, "  ; {:?}", f32::from_bits(*bits as u32))
                }
                Some(Scalar::F64) if inst.op == Opcode::Const => write!(f, "  ; {:?}", f64::from_bits(*bits)),
                _ => Ok(()),
            }
        }
        Imm::Int(cc) => write!(f, " {} {}", cc.name(), List(args)),
        Imm::FloatCmp(cc, ftz) => {
            write!(f, "{} {} {}", if *ftz { ".ftz" } else { "" }, cc.name(), List(args))
        }
        Imm::Mem(mem) | Imm::Atomic(mem, _) => {
            write!(f, ".{}{} ", if mem.signed { 's' } else { 'u' }, u32::from(mem.bytes) * 8)?;
            let mut values = 0;
            match inst.op {
                Opcode::Store
                | Opcode::UnlockStore
                | Opcode::DenyLoad
                | Opcode::DenyStore
                | Opcode::TranslateStore
                | Opcode::PermitStore => values = 1,
                Opcode::Atomic => values = 1,
                _ => {}
            }
            if let Imm::Atomic(_, op) = inst.imm {
                write!(f, "{} ", op.name())?;
                if op.takes_two() {
                    values = 2;
                }
            }
            write_address(f, mem, args.first())?;
            for v in args.iter().skip(1).take(values) {
                write!(f, ", {v}")?;
            }
            write!(f, " align {}", mem.align)?;
            if mem.align_offset != 0 {
                write!(f, " part {}", mem.align_offset)?;
            }
            if mem.far {
                f.write_str(" far")?;
            }
            for v in args.iter().skip(1 + values) {
                write!(f, " if {v}")?;
            }
            Ok(())
        }
        Imm::Slot(slot) => {
            write!(f, " {slot}")?;
            for v in args {
                write!(f, ", {v}")?;
            }
            match func.slots.get(slot.index()) {
                Some(data) => write!(f, "  ; {}", data.name.escape_default()),
                None => Ok(()),
            }
        }
        Imm::Pure(callee) => write!(f, " @{}({})", Name(callee.name), List(args)),
        Imm::Device(site) => {
            write!(f, " @{}({:#x}) at {:#x}", Name(site.callee.name), site.params, site.mailbox)?;
            for v in args {
                write!(f, " if {v}")?;
            }
            Ok(())
        }
        Imm::Table(table) => write!(f, " @{}({})", Name(table.name()), List(args)),
    }
}

impl Function {
    /// The text of one instruction, without its guest address.
    pub fn display_inst(&self, inst: &InstData) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write_inst(&mut text, self, inst);
        text.truncate(text.trim_end().len());
        text
    }

    fn write_block(&self, f: &mut Formatter<'_>, block: Block) -> fmt::Result {
        let data = self.block(block);
        write!(f, "\n{block}")?;
        if !data.params.is_empty() {
            f.write_char('(')?;
            for (i, &v) in data.params.iter().enumerate() {
                let comma = if i == 0 { "" } else { ", " };
                write!(f, "{comma}{v}: {}", self.ty(v))?;
            }
            f.write_char(')')?;
        }
        let word = if self.block_at.get(&data.pc) == Some(&block) { "at" } else { "pc" };
        write!(f, " {word} {:#x}", data.pc)?;
        if data.guest_insts != 0 {
            write!(f, " insts {}", data.guest_insts)?;
        }
        f.write_str(":\n")?;
        let mut pc = data.pc;
        let mut line = |pc_now: u32, text: &str| {
            let at = if pc_now == pc { String::new() } else { format!("@{pc_now:#x}") };
            pc = pc_now;
            writeln!(f, "    {at:<8} {text}")
        };
        for &inst in &data.insts {
            let inst = self.inst(inst);
            line(inst.pc, &self.display_inst(inst))?;
        }
        match &data.term {
            Some(term) => line(data.term_pc, &term.to_string()),
            None => line(data.term_pc, "<no terminator>"),
        }
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let form = match self.form {
            Form::Spmd => "spmd",
            Form::Mask => "mask",
        };
        write!(f, "function @{} {form} lanes {}", Name(&self.name), self.lanes)?;
        if self.entry != Block(0) {
            write!(f, " entry {}", self.entry)?;
        }
        f.write_str(" {\n")?;
        for (i, slot) in self.slots.iter().enumerate() {
            write!(f, "    slot s{i}: {} {}", slot.ty, Name(&slot.name))?;
            match slot.init {
                SlotInit::Zero => {}
                SlotInit::Builtin(b) => write!(f, " = {}", b.name())?,
                SlotInit::Const(bits) => write!(f, " = {bits:#x}")?,
                SlotInit::WarpOffset(segment) => write!(f, " = segment {segment}")?,
            }
            if let Some(max) = slot.umax {
                write!(f, " umax {max:#x}")?;
            }
            if self.lane_mask.is_some_and(|slot| slot.index() == i) {
                f.write_str(" lane_mask")?;
            }
            f.write_char('\n')?;
        }
        for (&pc, &block) in &self.block_at {
            if self.blocks.get(block.index()).is_none_or(|b| b.pc != pc) {
                writeln!(f, "    at {pc:#x} {block}")?;
            }
        }
        for block in self.block_ids() {
            self.write_block(f, block)?;
        }
        f.write_str("}\n")
    }
}

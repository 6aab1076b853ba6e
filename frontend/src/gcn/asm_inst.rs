//! Assembles one instruction: mnemonic and operands of a source line to an encoding.

use super::asm::{Expression, LineError, Use};
use super::asm_modifier::{is_modifier, modifier};
use super::asm_operand::{is_register, plain, simm_slot, source};
use super::decode::{decode, finish, long_form, skeleton};
use super::encode::encode_row;
use super::field_memory;
use super::inst::{Format, Inst, Segment};
use super::layout::{Form, layout};
use super::operand::{Arg, InlineFloat, Operand, Type};
use super::syntax::{self, TextOperand};
use super::table::{ArgSlot, Row, table};
use super::{Chip, Generation};

/// An instruction as read.
pub(super) struct Parsed {
    /// What it says; a label counts as zero.
    pub(super) inst: Inst,
    /// The row it is encoded by.
    pub(super) row: &'static Row,
    /// A label or sum that is not known yet.
    pub(super) expression: Option<(Expression, Use)>,
}

/// A word of the text and its column, from 0.
struct Word<'a> {
    text: &'a str,
    column: usize,
}

/// Splits at commas or blanks that are outside of brackets, quotes and bars.
fn split(text: &str, column: usize, commas: bool) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let (mut depth, mut quoted, mut bars) = (0i32, false, false);
    let mut from = 0;
    let mut push = |from: usize, to: usize| {
        let part = &text[from..to];
        let trimmed = part.trim();
        let skipped = part.len() - part.trim_start().len();
        if !trimmed.is_empty() || commas {
            words.push(Word { text: trimmed, column: column + text[..from + skipped].chars().count() });
        }
    };
    for (index, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '|' => bars = !bars,
            _ => {
                let here = if commas { c == ',' } else { c.is_whitespace() };
                if here && depth <= 0 && !quoted && !bars {
                    push(from, index);
                    from = index + c.len_utf8();
                }
            }
        }
    }
    push(from, text.len());
    words
}

/// The text taken apart: operands and modifiers.
struct Text<'a> {
    operands: Vec<Word<'a>>,
    modifiers: Vec<Word<'a>>,
}

fn split_text<'a>(name: &str, rest: &'a str, column: usize) -> Text<'a> {
    let mut text = Text { operands: Vec::new(), modifiers: Vec::new() };
    if rest.trim().is_empty() {
        return text;
    }
    if name == "s_waitcnt" {
        text.operands.push(Word { text: rest.trim(), column });
        return text;
    }
    for piece in split(rest, column, true) {
        let words = split(piece.text, piece.column, false);
        // `-v1`, `- v1` and sums are one operand.
        let sum = words.iter().any(|word| matches!(word.text, "+" | "-"));
        if sum || words.is_empty() {
            text.operands.push(piece);
            continue;
        }
        let mut first = true;
        for word in words {
            let target = name == "exp" && text.operands.len() < 2;
            if is_modifier(word.text) || !first && !target {
                text.modifiers.push(word);
            } else {
                text.operands.push(word);
            }
            first = false;
        }
    }
    text
}

/// Suffixes that choose an encoding.
const SUFFIXES: [(&str, Option<Form>); 4] =
    [("_e32", Some(Form::Plain)), ("_e64", None), ("_sdwa", Some(Form::Sdwa)), ("_dpp", Some(Form::Dpp))];

/// Reads an instruction.
pub(super) fn parse(text: &str, chip: Chip) -> Result<Parsed, LineError> {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let name = name.to_ascii_lowercase();
    let parts = split_text(&name, rest, text[..end].chars().count());
    let mut best: Option<LineError> = None;
    let mut known = false;
    for (row, format, form, segment) in candidates(&name, &parts, chip) {
        known = true;
        match build(row, format, form, segment, &parts, chip) {
            Ok(parsed) => return Ok(parsed),
            // What came furthest says it best.
            Err(error) if best.as_ref().is_none_or(|best| error.0 > best.0) => best = Some(error),
            Err(_) => {}
        }
    }
    if known && let Some(error) = best {
        return Err(error);
    }
    let other = Chip::kinds().find(|other| !candidates(&name, &parts, *other).is_empty());
    Err((
        0,
        match other {
            Some(other) => format!("{chip} has no `{name}`; {other} has"),
            None => format!("there is no `{name}`"),
        },
    ))
}

type Candidate = (&'static Row, Format, Form, Segment);

/// The forms that a name can stand for, in the order in which they are tried.
fn candidates(name: &str, parts: &Text, chip: Chip) -> Vec<Candidate> {
    let generation = chip.generation();
    let mut found = Vec::new();
    let mut add = |name: &str, suffix: Option<Option<Form>>, segment: Segment| {
        for row in table().named(chip, name) {
            let flat = row.format == Format::Flat;
            if segment != Segment::Flat && !flat {
                continue;
            }
            let short = matches!(row.format, Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vintrp);
            let constant = row.srcs.iter().any(|slot| matches!(slot, ArgSlot::K(_) | ArgSlot::Imm32));
            let own = match row.format {
                Format::Vop3 => long_form(row),
                _ if constant => Form::Constant,
                _ => Form::Plain,
            };
            match suffix {
                None => {
                    found.push((row, row.format, own, segment));
                    // Compares of 1.2 have no suffix for SDWA.
                    let selects = parts.modifiers.iter().any(|word| word.text.contains("_sel:"));
                    if row.format == Format::Vopc && selects && row.has_sdwa(generation) {
                        found.insert(0, (row, row.format, Form::Sdwa, segment));
                    }
                    if row.has_long() {
                        found.push((row, Format::Vop3, long_form(row), segment));
                    }
                }
                Some(Some(Form::Plain)) if short => found.push((row, row.format, own, segment)),
                Some(Some(Form::Sdwa)) if row.has_sdwa(generation) => {
                    found.push((row, row.format, Form::Sdwa, segment));
                }
                Some(Some(Form::Dpp)) if row.has_dpp(generation) => {
                    found.push((row, row.format, Form::Dpp, segment));
                }
                Some(None) if row.has_long() || row.format == Format::Vop3 => {
                    found.push((row, Format::Vop3, long_form(row), segment));
                }
                _ => {}
            }
        }
    };
    add(name, None, Segment::Flat);
    for (suffix, form) in SUFFIXES {
        if let Some(stem) = name.strip_suffix(suffix) {
            add(stem, Some(form), Segment::Flat);
        }
    }
    if generation == Generation::Gfx9 {
        for (prefix, segment) in [("global_", Segment::Global), ("scratch_", Segment::Scratch)] {
            if let Some(rest) = name.strip_prefix(prefix) {
                add(&format!("flat_{rest}"), None, segment);
            }
        }
    }
    found
}

fn build(
    row: &'static Row,
    format: Format,
    form: Form,
    segment: Segment,
    parts: &Text,
    chip: Chip,
) -> Result<Parsed, LineError> {
    let generation = chip.generation();
    let mut inst = skeleton(row, format, form, generation);
    inst.mem.segment = segment;
    if format == Format::Vop3p && !row.srcs.contains(&ArgSlot::Mix) {
        inst.op_sel_hi = 7;
    }
    if format == Format::Mtbuf {
        inst.mem.dfmt = 1;
    }
    let allowed = syntax::modifiers(row, &inst);
    for word in &parts.modifiers {
        // SMEM shows a second offset as one.
        let here = allowed.iter().any(|modifier| modifier.accepts(word.text, generation))
            || format == Format::Smem && word.text.starts_with("offset:");
        let known = if here { modifier(word.text, row, &mut inst) } else { None };
        known.ok_or_else(|| (word.column, format!("`{}` means nothing here", word.text)))?;
    }
    // What decides how wide operands are.
    let places = syntax::text_operands(row, &inst);
    let optional = places.last() == Some(&TextOperand::Constant(ArgSlot::Optional));
    let count = parts.operands.len();
    if count != places.len() && !(optional && count + 1 == places.len()) {
        let column = parts.operands.get(places.len()).or(parts.operands.last()).map_or(0, |word| word.column);
        return Err((column, format!("{} operands, not {count}", places.len())));
    }
    if let Some(index) = places.iter().position(|place| *place == TextOperand::Saddr)
        && parts.operands[index].text != "off"
    {
        let words = if segment == Segment::Global { 2 } else { 1 };
        let ty = if words == 2 { Type::U64 } else { Type::U32 };
        inst.mem.saddr = Some(Arg::new(Operand::Off, ty, words));
    }
    let mut expression = None;
    for (place, word) in places.iter().zip(&parts.operands) {
        let fits = operand(*place, word.text, row, &mut inst, &mut expression);
        fits.ok_or_else(|| (word.column, format!("`{}` does not fit here", word.text)))?;
    }
    finish_parsed(&mut inst, row, form);
    let nothing = || (0, "no encoding says this".to_owned());
    let (word, len) = encode_row(&inst, row).ok_or_else(nothing)?;
    // What the fields cannot say is lost in them.
    let again = decode(&word.to_le_bytes()[..usize::from(len)], 0, chip).map_err(|_| nothing())?;
    if expression.is_none() && again.to_string() != inst.to_string() && !unsaid(&inst, row) {
        return Err((0, format!("this would be `{again}`")));
    }
    if expression.is_some() && again.op != inst.op {
        return Err(nothing());
    }
    Ok(Parsed { inst, row, expression })
}

/// True where the text of the encoded instruction may differ though it is the same: images name more address registers
/// than they must.
fn unsaid(inst: &Inst, row: &Row) -> bool {
    inst.format == Format::Mimg && row.srcs.iter().any(|slot| matches!(slot, ArgSlot::Addr(_)))
}

/// Sets what follows from the operands, as the decoder does.
fn finish_parsed(inst: &mut Inst, row: &Row, form: Form) {
    if let Some(exp) = &mut inst.exp {
        let enabled = inst.srcs.iter().enumerate().filter(|(_, arg)| arg.operand != Operand::Off);
        exp.enable = enabled.map(|(index, _)| 1u8 << index).sum();
        return;
    }
    let literal = inst.srcs().iter().find_map(|arg| match arg.operand {
        Operand::Literal(word) => Some(word),
        _ => None,
    });
    if form == Form::Constant {
        // The constant is the only literal.
        let slots = row.srcs.iter().filter(|slot| slot.is_arg());
        let constants =
            inst.srcs().iter().zip(slots).filter(|(_, slot)| matches!(slot, ArgSlot::K(_) | ArgSlot::Imm32));
        let constant = constants.map(|(arg, _)| arg.operand).next();
        inst.literal = match constant {
            Some(Operand::Literal(word)) => Some(word),
            _ => None,
        };
    } else {
        inst.literal = literal;
    }
    finish(inst, row);
    inst.target_pc = None;
    if layout(inst.format, form, inst.generation).is_none() {
        inst.literal = None;
    }
}

/// Reads one operand. `None`: it does not fit.
fn operand(
    place: TextOperand,
    text: &str,
    row: &Row,
    inst: &mut Inst,
    expression: &mut Option<(Expression, Use)>,
) -> Option<()> {
    let generation = inst.generation;
    let memory = |arg: Option<Arg>, inst: &mut Inst, set: fn(&mut Inst, Option<Arg>)| {
        let mut arg = arg?;
        let fits = plain(text, &mut arg, generation, false) && arg.operand != Operand::Off;
        set(inst, Some(arg));
        fits.then_some(())
    };
    match place {
        TextOperand::Dst if inst.format == Format::Exp => None,
        TextOperand::Dst => {
            let arg = match inst.dst {
                Some(arg) => arg,
                None => {
                    let (ty, words) = field_memory::data_type(row.dst?, inst);
                    Arg::new(Operand::Off, ty, words)
                }
            };
            memory(Some(arg), inst, |inst, arg| inst.dst = arg)
        }
        TextOperand::CarryOut => {
            let arg = inst.sdst;
            memory(arg, inst, |inst, arg| inst.sdst = arg)
        }
        TextOperand::Src(index, slot) => {
            let arg = inst.srcs.get_mut(index)?;
            match slot {
                ArgSlot::Index => {
                    inst.simm16 = simm_slot(slot, text, generation)?;
                    arg.operand = Operand::Int((inst.simm16 & 15) as i8);
                    (inst.simm16 < 256).then_some(())
                }
                ArgSlot::Param => {
                    let known = ["p10", "p20", "p0"].iter().position(|name| *name == text)?;
                    arg.operand = Operand::Int(known as i8);
                    Some(())
                }
                ArgSlot::K(_) | ArgSlot::Imm32 => {
                    let mut constant = Arg::new(Operand::Off, arg.ty, 1);
                    if !plain(text, &mut constant, generation, true) {
                        return None;
                    }
                    let bits = match super::asm_operand::number(text) {
                        Some(value) => value as u32,
                        None => u32::try_from(constant.constant()?).ok()?,
                    };
                    arg.operand = Operand::Literal(bits);
                    Some(())
                }
                _ if source(text, arg, generation) => {
                    // Long forms have no literal: the bits are those of an inline constant.
                    if let (Format::Vop3 | Format::Vop3p, Operand::Literal(bits)) = (inst.format, arg.operand)
                        && let Some(float) =
                            InlineFloat::ALL.iter().find(|float| u32::from(float.bits16()) == bits)
                        && matches!(arg.ty, Type::B16 | Type::U16 | Type::I16 | Type::Pk16)
                    {
                        arg.operand = Operand::Float(*float);
                    }
                    (arg.operand != Operand::Off || inst.format == Format::Exp).then_some(())
                }
                ArgSlot::Reg(..) if inst.format != Format::Vop3 && !is_register(text) => {
                    let sum = Expression::parse(text)?;
                    // A single word that is no label is a misspelt operand, but that shows only at the end.
                    *arg = Arg::new(Operand::Literal(0), arg.ty, arg.words);
                    *expression = Some((sum, Use::Literal));
                    Some(())
                }
                _ => None,
            }
        }
        TextOperand::Constant(ArgSlot::Target) => {
            *expression = Some((Expression::parse(text)?, Use::Branch));
            Some(())
        }
        TextOperand::Constant(ArgSlot::Attr) => {
            let (attr, chan) = text.strip_prefix("attr")?.split_once('.')?;
            let interp = inst.interp.get_or_insert_default();
            interp.attr = attr.parse().ok().filter(|attr| *attr < 64)?;
            interp.chan = ["x", "y", "z", "w"].iter().position(|name| *name == chan)? as u8;
            Some(())
        }
        TextOperand::Constant(slot) => {
            inst.simm16 = simm_slot(slot, text, generation)?;
            (slot != ArgSlot::Imm7 || inst.simm16 < 128).then_some(())
        }
        TextOperand::Offset => offset(text, inst),
        TextOperand::Addr => {
            if text == "off" {
                inst.mem.addr = None;
                let none = field_memory::addr_words(row, inst) == 0
                    || inst.mem.segment == Segment::Scratch && inst.mem.saddr.is_some();
                return none.then_some(());
            }
            if inst.mem.segment == Segment::Scratch && inst.mem.saddr.is_some() {
                return None;
            }
            let words = field_memory::addr_words(row, inst);
            let ty = if words == 2 { Type::B64 } else { Type::U32 };
            let mut arg = Arg::new(Operand::Off, ty, words);
            if inst.format == Format::Mimg {
                // As many as the image needs.
                arg.ty = Type::Words;
                let fits = (1..=16).any(|words| {
                    arg.words = words;
                    plain(text, &mut arg, generation, false)
                });
                inst.mem.addr = Some(arg);
                return (fits && arg.operand.vgpr().is_some()).then_some(());
            }
            (words != 0).then_some(())?;
            memory(Some(arg), inst, |inst, arg| inst.mem.addr = arg)
        }
        TextOperand::Data => {
            let slot =
                field_memory::data_slot(row, 0).or(row.srcs.contains(&ArgSlot::Gws).then_some(ArgSlot::Gws));
            let (ty, words) = field_memory::data_type(slot?, inst);
            memory(Some(Arg::new(Operand::Off, ty, words)), inst, |inst, arg| inst.mem.data = arg)?;
            if let Some(slot @ ArgSlot::Returned(_)) = row.dst
                && inst.mem.glc
                && inst.format != Format::Flat
            {
                let (ty, words) = field_memory::data_type(slot, inst);
                inst.dst = Some(Arg::new(inst.mem.data?.operand, ty, words));
            }
            Some(())
        }
        TextOperand::Data1 => {
            let (ty, words) = field_memory::data_type(field_memory::data_slot(row, 1)?, inst);
            memory(Some(Arg::new(Operand::Off, ty, words)), inst, |inst, arg| inst.mem.data1 = arg)
        }
        TextOperand::Base => {
            let words = field_memory::base_words(row, inst.format)?;
            let mut arg = Arg::new(Operand::Off, Type::Words, words);
            let mut fits = plain(text, &mut arg, generation, false) && arg.operand.scalar_code().is_some();
            if !fits && inst.format == Format::Mimg {
                // A resource of four dwords.
                arg.words = 4;
                fits = plain(text, &mut arg, generation, false);
                arg.words = words;
            }
            inst.mem.base = Some(arg);
            fits.then_some(())
        }
        TextOperand::Sampler => {
            let arg = Arg::new(Operand::Off, Type::Words, 4);
            memory(Some(arg), inst, |inst, arg| inst.mem.sampler = arg)
        }
        TextOperand::Saddr if text == "off" => Some(()),
        TextOperand::Saddr => {
            let arg = inst.mem.saddr;
            memory(arg, inst, |inst, arg| inst.mem.saddr = arg)
        }
        TextOperand::Target => {
            let numbered = |prefix: &str, first: u8, most: u8| {
                let number: u8 = text.strip_prefix(prefix)?.parse().ok()?;
                (number <= most).then_some(first + number)
            };
            let target = match text {
                "mrtz" => Some(8),
                "null" => Some(9),
                _ => numbered("mrt", 0, 7)
                    .or_else(|| numbered("pos", 12, 3))
                    .or_else(|| numbered("param", 32, 31))
                    .or_else(|| numbered("invalid_target_", 0, 63)),
            };
            inst.exp.as_mut()?.target = target?;
            Some(())
        }
    }
}

/// The offset of SMEM and the scalar offset of buffers.
fn offset(text: &str, inst: &mut Inst) -> Option<()> {
    let generation = inst.generation;
    let mut arg = Arg::new(Operand::Off, Type::U32, 1);
    if inst.format == Format::Smem {
        if let Some(value) = super::asm_operand::number(text) {
            let value =
                i32::try_from(value).or_else(|_| u32::try_from(value).map(|value| value as i32)).ok()?;
            if !generation.is_old() {
                inst.mem.offset = value;
            } else if (0..256).contains(&value) {
                inst.mem.offset = value * 4;
            } else {
                arg.operand = Operand::Literal(value as u32);
                inst.mem.soffset = Some(arg);
            }
            return Some(());
        }
        // A constant offset that stands with the others is in bytes too.
        let fits = plain(text, &mut arg, generation, false) && arg.operand.scalar_code().is_some();
        inst.mem.soffset = Some(arg);
        return fits.then_some(());
    }
    let fits = plain(text, &mut arg, generation, true) && arg.operand != Operand::Off;
    inst.mem.soffset = Some(arg);
    (fits && !matches!(arg.operand, Operand::Vgpr(_) | Operand::Literal(_))).then_some(())
}

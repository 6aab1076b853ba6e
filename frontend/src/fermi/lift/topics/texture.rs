//! Lifts texture instructions (docs/hardware/textures-nv.md section 6). GF100 takes sources from two groups of registers, GK104 from one
//! list, of which four are in the first group.

use warpjit_ir::{GuestFault, Slot, Value};

use crate::fermi::Family as Encoding;
use crate::fermi::lift::emit::{Emit, constant};
use crate::fermi::modifier::{TexComponent, TexFlag, TexLevel, TexOffset, TexQuery, TexShape};
use crate::fermi::{Chip, Inst, Op, Operand, ZERO_REG};
use crate::isa::Stage;
use crate::simt::texture::{Arguments, FERMI, Family, Level, Operation, Query, RESULTS, Request};

/// Registers of GK104's list in the first group.
const FIRST_GROUP: u8 = 4;

/// The registers that sources are taken from.
struct Sources {
    first: u8,
    second: u8,
    /// One list, first four in the first group.
    list: bool,
    taken: [u8; 2],
}

impl Sources {
    fn of(inst: &Inst) -> Sources {
        // The listing does not show all registers of GK104's.
        let field = |at: u32| (inst.raw >> at & 0x3f) as u8;
        let list = inst.chip.family() == Encoding::Gk104;
        Sources { first: field(20), second: field(26), list, taken: [0; 2] }
    }

    /// The next register of a group.
    fn next(&mut self, group: usize) -> u8 {
        let group = match self.list {
            true => usize::from(self.taken[0] == FIRST_GROUP),
            false => group,
        };
        let base = [self.first, self.second][group];
        let number = self.taken[group];
        self.taken[group] += 1;
        if base == ZERO_REG { ZERO_REG } else { base.saturating_add(number).min(ZERO_REG) }
    }
}

/// Coordinates of an instruction's type, and whether it has layers.
fn shape(inst: &Inst) -> (usize, bool) {
    match inst.mods.get() {
        Some(TexShape::D1) => (1, false),
        Some(TexShape::Array1) => (1, true),
        Some(TexShape::D2) => (2, false),
        Some(TexShape::Array2) => (2, true),
        Some(TexShape::D3 | TexShape::Cube) => (3, false),
        Some(TexShape::ArrayCube) => (3, true),
        None => (0, false),
    }
}

fn operation(inst: &Inst) -> Operation {
    match inst.op {
        Op::TexFetch => Operation::Fetch,
        Op::TexGather => Operation::Gather,
        Op::TexQueryLod => Operation::QueryLevel,
        Op::TexQuery => match inst.mods.get() {
            Some(TexQuery::Size) => Operation::QuerySize,
            Some(TexQuery::Type) => Operation::Query(Query::Type),
            Some(TexQuery::SamplePosition) => Operation::Query(Query::SamplePosition),
            Some(TexQuery::Filter) => Operation::Query(Query::Filter),
            Some(TexQuery::Level) => Operation::Query(Query::Level),
            Some(TexQuery::Wrap) => Operation::Query(Query::Wrap),
            Some(TexQuery::Border) | None => Operation::Query(Query::Border),
        },
        _ => Operation::Sample,
    }
}

fn level(inst: &Inst, stage: Stage) -> Level {
    let level = inst.mods.get();
    match inst.op {
        Op::TexGather | Op::TexQuery => Level::Lowest,
        Op::TexGrad => Level::Changes,
        _ if level == Some(TexLevel::Zero) => Level::Zero,
        Op::TexFetch => Level::Given,
        _ if matches!(level, Some(TexLevel::Given | TexLevel::GivenA)) => Level::Given,
        _ if stage == Stage::Fragment || inst.mods.dall => Level::Changes,
        _ => Level::Lowest,
    }
}

fn family(chip: Chip) -> Family {
    match chip.family() {
        Encoding::Gf100 => Family::Gf100,
        Encoding::Gk104 => Family::Gk104,
    }
}

/// Whether an instruction asks the texture unit.
pub(in crate::fermi::lift) fn is_texture(inst: &Inst) -> bool {
    matches!(inst.op, Op::Tex | Op::TexFetch | Op::TexGather | Op::TexQueryLod | Op::TexQuery | Op::TexGrad)
}

/// Emits a texture instruction.
pub(in crate::fermi::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    if !matches!(
        inst.op,
        Op::Tex | Op::TexFetch | Op::TexGather | Op::TexQueryLod | Op::TexQuery | Op::TexGrad
    ) {
        return e.fault(GuestFault::Illegal);
    }
    let program = e.own.family.program;
    let mods = &inst.mods;
    let stage = program.plan.map_or(Stage::Compute, |plan| plan.interface.stage);
    let mut request = Request::new(family(inst.chip), operation(inst));
    request.level = level(inst, stage);
    request.bias = matches!(mods.get(), Some(TexLevel::Bias | TexLevel::BiasA));
    request.shadow = mods.has(TexFlag::Shadow);
    request.indirect = mods.has(TexFlag::Indirect);
    request.samples = inst.op == Op::TexFetch && mods.has(TexFlag::Samples);
    request.offset_words = match mods.get() {
        None => 0,
        Some(TexOffset::One) => 1,
        Some(TexOffset::Four) => 2,
    };
    request.component = match mods.get() {
        Some(TexComponent::R) | None => 0,
        Some(TexComponent::G) => 1,
        Some(TexComponent::B) => 2,
        Some(TexComponent::A) => 3,
    };
    for src in inst.srcs() {
        match src.operand {
            Operand::Tex(number) => request.texture = number,
            Operand::Sampler(number) => request.sampler = number,
            _ => {}
        }
    }
    let mut arguments = Arguments::default();
    let quad = registers(e, inst, &request, &mut arguments);
    if request.level == Level::Changes && inst.op != Op::TexGrad {
        arguments.quad = quad;
    }
    if request.family == Family::Gk104 && !request.indirect {
        let none = e.b.i32(0);
        let word = constant(program.texture_handles, 4 * i32::from(request.texture), 4, false);
        arguments.handle = Some(e.b.load(word, none, None));
    }
    e.call_texture(&FERMI, request.encode(), program.mailbox, &arguments);
    let Some(Operand::Vec { base, mask, .. }) = inst.dst else { return };
    let wanted = (0..4u8).filter(|component| mask >> component & 1 != 0);
    for (n, component) in (0..).zip(wanted) {
        let value = e.mailbox_word(program.mailbox, RESULTS + u32::from(component));
        e.set_group(base, n, value);
    }
}

/// Reads the sources; the registers of the coordinates.
fn registers(
    e: &mut Emit<'_>,
    inst: &Inst,
    request: &Request,
    arguments: &mut Arguments,
) -> Vec<Option<Slot>> {
    let (axes, layers) = shape(inst);
    let mut sources = Sources::of(inst);
    let list = sources.list;
    let grad = inst.op == Op::TexGrad;
    let offsets = request.offset_words;
    let mut next = |e: &mut Emit<'_>, group: usize| -> Value {
        let register = sources.next(group);
        e.group(register, 0)
    };
    if inst.op == Op::TexQuery {
        if list && request.indirect {
            arguments.handle = Some(next(e, 0));
        }
        arguments.level = Some(next(e, 0));
        return Vec::new();
    }
    if list {
        if request.indirect {
            arguments.handle = Some(next(e, 0));
        }
        // Of GK104's texgrad the word has the offsets in its upper half.
        if layers || grad && offsets > 0 {
            let word = next(e, 0);
            if grad && offsets > 0 {
                let upper = e.ushr_const(word, 16);
                arguments.offsets = vec![upper];
            }
            arguments.layer = Some(word);
        }
    } else if layers || request.indirect {
        arguments.layer = Some(next(e, 0));
    }
    let mut slots = Vec::new();
    for _ in 0..axes {
        let register = sources.next(0);
        slots.push(e.own.family.slots.registers.get(usize::from(register)).copied());
        arguments.coordinates.push(e.group(register, 0));
    }
    let mut next = |e: &mut Emit<'_>, group: usize| -> Value {
        let register = sources.next(group);
        e.group(register, 0)
    };
    if grad {
        if !list && offsets > 0 {
            arguments.offsets = vec![next(e, 0)];
        }
        // dx/dX, dx/dY, dy/dX, dy/dY
        let mut changes = [Vec::new(), Vec::new()];
        for _ in 0..axes {
            for change in &mut changes {
                change.push(next(e, 1));
            }
        }
        // What has no change keeps none.
        for change in &mut changes {
            while change.len() < 3 {
                change.push(e.b.i32(0));
            }
        }
        arguments.changes = Some(changes);
        return slots;
    }
    let samples = inst.mods.has(TexFlag::Samples);
    let given = request.bias || request.level == Level::Given;
    // GK104 has the sample before the level, GF100 behind.
    if list && samples {
        arguments.sample = Some(next(e, 1));
    }
    if given {
        arguments.level = Some(next(e, 1));
    }
    if !list && samples {
        arguments.sample = Some(next(e, 1));
    }
    for _ in 0..offsets {
        arguments.offsets.push(next(e, 1));
    }
    if request.shadow {
        arguments.reference = Some(next(e, 1));
    }
    slots
}

//! Calls the device of images ([`crate::gcn::image`]).

use warpjit_ir::{DeviceSite, Imm, Opcode, Value};

use super::super::buffer::{pack_halves, packs, resource_words};
use super::stored;
use crate::gcn::image::{
    ADDRESS, Action, DATA, DEVICE, Form, Level, QUAD_WORDS, SAMPLER, Shape, WORDS, Word,
};
use crate::gcn::lift::emit::Emit;
use crate::gcn::{Generation, Inst};

/// Bytes of the mailbox, at the start of local memory.
pub(in crate::gcn::lift) const MAILBOX_BYTES: u32 = 4 * WORDS;

/// Leaves the operands in the mailbox, calls, and takes the results.
pub(super) fn call(e: &mut Emit<'_>, inst: &Inst, shape: &Shape) {
    let quads = if shape.level == Level::Implicit { quads(e, inst, shape) } else { Vec::new() };
    let mut words: Vec<(u32, Value)> = (DATA..).zip(quads).collect();
    if let Some(base) = inst.mem.base {
        let short = inst.mem.r128 && inst.generation != Generation::Gfx9;
        let resource = resource_words(e, base, if short { 4 } else { 8 });
        let zero = e.b.i32(0);
        words.extend((0..8).zip(resource.into_iter().chain(std::iter::repeat(zero))));
    }
    if let (Some(sampler), true) = (inst.mem.sampler, shape.samples()) {
        words.extend((SAMPLER..).zip(resource_words(e, sampler, 4)));
    }
    if let Some(addr) = inst.mem.addr {
        words.extend((ADDRESS..).zip(e.src_words(addr, shape.most_words())));
    }
    match (shape.action, inst.mem.data) {
        (Action::Store(_), _) => words.extend((DATA..).zip(stored(e, inst))),
        (Action::Atomic(..), Some(data)) => {
            let count = (inst.mem.dmask & 15).count_ones() as usize;
            words.extend((DATA..).zip(e.src_words(data, count)));
        }
        _ => {}
    }
    let exec = e.exec();
    for (word, value) in words {
        e.set_local(4 * word, value, Some(exec));
    }
    let guard = if shape.writes() { e.store_guard(None) } else { e.exec() };
    let ordered = e.own.behind_stores.contains(&(inst.pc as u32));
    let word = Word::new(inst.raw, e.own.options.chip, ordered);
    let site = DeviceSite { callee: &DEVICE, params: word.params(), mailbox: 0 };
    e.cross(&[guard], |e, args| {
        e.b.push(Opcode::CallDevice, args, Imm::Device(site), None);
        Vec::new()
    });
    results(e, inst, shape);
}

/// The registers of coordinates in the first three lanes of each quad, whatever EXEC is.
fn quads(e: &mut Emit<'_>, inst: &Inst, shape: &Shape) -> Vec<Value> {
    let Some(addr) = inst.mem.addr else { return Vec::new() };
    let first = shape.words_before();
    // Three axes, or two and the slice: a cube's face counts. Halves share registers, and three are in two.
    let halves = inst.mem.r128 && inst.generation == Generation::Gfx9;
    let count = if halves { 2 } else { QUAD_WORDS as usize };
    let coordinates = e.src_words(addr, first + count).split_off(first);
    let moved = e.cross(&coordinates, |e, args| {
        let lane = |e: &mut Emit<'_>, lane| {
            let quad = |&arg| e.b.same(Opcode::QuadLane, &[arg], Imm::Bits(lane));
            args.iter().map(quad).collect::<Vec<_>>()
        };
        [0, 1, 2].into_iter().flat_map(|n| lane(e, n)).collect()
    });
    let zero = e.b.i32(0);
    let whole = |lane: &[Value]| {
        (0..QUAD_WORDS as usize).map(|n| lane.get(n).copied().unwrap_or(zero)).collect::<Vec<_>>()
    };
    moved.chunks(count).flat_map(whole).collect()
}

/// Takes the results from the mailbox to the destination.
fn results(e: &mut Emit<'_>, inst: &Inst, shape: &Shape) {
    if inst.dst.is_none() {
        return;
    }
    let count = match shape.action {
        _ if shape.gathers() => 4,
        Action::Atomic(op, _) => {
            let words = (inst.mem.dmask & 15).count_ones();
            match (op.takes_two(), words) {
                (true, 4..) | (false, 2..) => 2,
                _ => 1,
            }
        }
        _ => (inst.mem.dmask & 15).count_ones(),
    };
    let mut values: Vec<Value> = (0..count).map(|word| e.local(4 * word)).collect();
    let converted = !matches!(
        shape.action,
        Action::Atomic(..) | Action::Load(Form::Raw | Form::Signed) | Action::GatherRaw(_)
    );
    let halves = inst.mem.d16 && converted;
    if halves && packs(inst) {
        values = pack_halves(e, &values);
    }
    if inst.mem.tfe || inst.mem.lwe {
        values.push(e.b.i32(0));
    }
    e.set_dst_words(inst, &values);
}

//! Loads at indices that a load just before has given, each lane's at once: `x[col[k]]`.
//!
//! In loops that lanes leave one after another, each lane loads from places of its own. What it loads from a list of
//! indices needs no way into a vector and out of it again if the element there is loaded right behind: a load into a
//! general register, a load with that as the index, and the next lane. A load in between goes along: `val[k]`.
//!
//! Lanes that do not take part need an index that leads somewhere. Before the loop begins its first lane loads what it
//! loads in the first turn, and its index is put into the context: an element is there from then on, whatever is
//! written to the list of indices meanwhile.
//!
//! An index has 32 bits, so that elements lie in the address space or in its guards as soon as the first does.

use std::ops::Range;
use std::rc::Rc;

use foldhash::HashMap;
use iced_x86::Code;
use regalloc2::Block as HostBlock;
use warpjit_ir::{Block, Inst, InstData, MemAccess, Opcode, Space, Terminator, Value};

use super::asm::{Mem, R, Src};
use super::code::{Flags, Size};
use super::lower::Lower;
use super::rows::Bounds;
use super::scalar::{OR, SUB};
use crate::affine::Form;
use crate::context::at;
use crate::error::Error;
use crate::even_address::{AddressWord, EvenAddress, access_word, step_of, word_of};
use crate::operands::{MemoryOperands, malformed, result, wide};
use crate::trap::{HostPlace, TrapLane};

/// Farthest that an element may be from the first: less than there is beyond the address space on each side.
const MOST_INDEX: u64 = 1 << 34;

/// Such loads of a block.
pub(super) struct Indexed {
    /// All instructions from the first load to the last.
    pub range: Range<usize>,
    /// The loads of the places that lanes have by themselves, first that of the indices.
    own: Vec<usize>,
}

/// What the indices lead to.
struct Elements<'a> {
    data: &'a InstData,
    /// Host address of the first.
    start: R,
    /// Bytes from one to the next.
    scale: u8,
    /// The load of an index as a double word.
    load: (Code, Size),
}

/// A load of the places that lanes have by themselves.
struct Own<'a> {
    data: &'a InstData,
    mem: MemAccess,
    /// Of eight lanes each.
    addresses: [R; 2],
}

/// Loops that begin with such loads, and where they go back to.
pub(super) type IndexedLoops = HashMap<Block, (Rc<Indexed>, HostBlock)>;

impl Lower<'_> {
    /// A load of words by lanes at 64-bit addresses of their own.
    fn own_load(&self, data: &InstData) -> Option<MemoryOperands> {
        if data.op != Opcode::Load || data.args.len() < 2 {
            return None;
        }
        let operands = MemoryOperands::of(data).ok()?;
        let &MemoryOperands { mem, address, .. } = &operands;
        let fits = matches!(mem.space, Space::Global(_))
            && mem.bytes == 4
            && mem.align_offset == 0
            && wide(self.scalar_of(address))
            && self.forms.of(address) == Form::Varying
            && step_of(self.f, &self.forms, address).is_none();
        fits.then_some(operands)
    }

    /// Such loads from an instruction of a block on.
    fn indexed_stretch(&self, block: Block, start: usize) -> Option<Indexed> {
        if self.groups != 1 || !self.one_by_one || self.bounds != Bounds::Tested || !self.lanes_part() {
            return None;
        }
        let insts = &self.f.block(block).insts;
        let data = |n: usize| self.f.inst(insts[n]);
        let first = self.own_load(data(start))?;
        let index = data(start).result?;
        let made_here =
            |v: Value, end: usize| insts[start..end].iter().any(|&inst| self.f.inst(inst).result == Some(v));
        let mut own = vec![start];
        for n in start + 1..insts.len() {
            let data = data(n);
            if let Some(operands) = self.own_load(data).filter(|o| o.guard == first.guard) {
                if self.is_element(data, &operands, index) {
                    return Some(Indexed { range: start..n + 1, own });
                }
                if own.len() > 1
                    || self.address_only[operands.address.index()]
                    || made_here(operands.address, n)
                {
                    return None;
                }
                own.push(n);
            } else if !data.op.is_pure() || matches!(data.op, Opcode::CallPure) {
                return None;
            }
        }
        None
    }

    /// Whether a load's place is told by the index, which nothing else needs.
    fn is_element(&self, data: &InstData, operands: &MemoryOperands, index: Value) -> bool {
        let &MemoryOperands { mem, address, .. } = operands;
        let Some(AddressWord { word, extension, by }) = word_of(self.f, &self.forms, address) else {
            return false;
        };
        let reach = if extension == Opcode::Sext { 1u64 << 31 } else { 1 << 32 };
        word == index
            && by <= 3
            && reach << by <= MOST_INDEX
            && u32::from(mem.align) <= 1 << by
            && self.address_only[address.index()]
            && access_word(data, 0, &self.forms, self.f).is_some()
            && self.uses.count(index) == 1
    }

    /// The stretch at the beginning of a loop that lanes leave at different times, if nothing else accesses memory before.
    fn begins_indexed(&self, block: Block) -> Option<Indexed> {
        let insts = &self.f.block(block).insts;
        let start = insts.iter().position(|&inst| !self.f.inst(inst).op.is_pure())?;
        let Terminator::BrIf { taken, next, .. } = self.f.term(block) else { return None };
        let again = [taken, next].into_iter().find(|call| call.block == block)?;
        let guard = MemoryOperands::of(self.f.inst(insts[start])).ok()?.guard?;
        let place = self.f.block(block).params.iter().position(|&p| p == guard)?;
        // Then there are lanes in each turn.
        let counts = |inst: &Inst| {
            let data = self.f.inst(*inst);
            data.op == Opcode::ChunkBallot && data.args.first() == again.args.get(place)
        };
        let counted = insts.iter().any(counts);
        self.indexed_stretch(block, start).filter(|_| counted)
    }

    /// Before a block is made: makes what such a loop goes back to. It has the lower number, so it stays with the loop.
    pub fn expect_indices(&mut self, block: Block) {
        let before = std::mem::replace(&mut self.blocks.current, block);
        let found = self.begins_indexed(block);
        self.blocks.current = before;
        if let Some(indexed) = found {
            let inner = self.a.block();
            self.indexed.insert(block, (Rc::new(indexed), inner));
        }
    }

    /// Where such a loop begins: finds an index for lanes that do not take part, and starts the loop proper behind
    /// that. The first lane's loads are done in their order, so that it faults here where it would fault there.
    pub fn begin_indices(&mut self, block: Block) -> Result<(), Error> {
        let Some((indexed, inner)) = self.indexed.get(&block).cloned() else { return Ok(()) };
        let data = |n: usize| self.f.inst(self.f.block(block).insts[n]);
        let element = data(indexed.range.end - 1);
        let loads: Vec<&InstData> = indexed.own.iter().map(|&n| data(n)).collect();
        self.a.pc = loads[0].pc;
        let MemoryOperands { mem, guard, .. } = MemoryOperands::of(element)?;
        let base = self.base(mem.space);
        let bits = self.guard_bits(guard)?;
        let guarded = self.note_guard(guard)?;
        let first = self.a.g1(Code::Tzcnt_r64_rm64, bits, Size::Q, Size::Q);
        let first = self.a.splat(true, first);
        let (elements, mut bad) = self.elements(element)?;
        let mut places = Vec::new();
        for &load in &loads {
            let MemoryOperands { mem, address, .. } = MemoryOperands::of(load)?;
            let parts = self.address_parts_of(address)?;
            let &[low, high] = &parts[..] else { return Err(malformed(load)) };
            let place = self.a.v4(Code::EVEX_Vpermi2q_zmm_k1z_zmm_zmmm512b64, first, low, Src::R(high));
            let place = self.a.first64(place);
            let place = self.a.add_imm(true, place, mem.offset.into());
            let beyond = self.bad_bits(place, mem);
            bad = self.a.g2(true, OR, bad, beyond);
            places.push(Mem::indexed(base, place, 1, 0));
        }
        let (load, ready) = (self.a.block(), self.a.block());
        self.a.test(true, bad, bad);
        self.a.branch(Flags::NotEqual, (ready, &[]), (load, &[]));
        self.a.switch_to(load);
        // The lowest of those that take part.
        let one = TrapLane::One { lane: 0, guarded, place: HostPlace::default() };
        let mut load_one = |data: &InstData, place: Mem, (code, size): (Code, Size)| {
            self.a.pc = data.pc;
            let site = self.site(data, one);
            self.a.gload(code, place, size, site)
        };
        let word = (Code::Mov_r32_rm32, Size::D);
        let index = load_one(loads[0], places[0], elements.load);
        for (data, &place) in loads.iter().zip(&places).skip(1) {
            load_one(data, place, word);
        }
        load_one(element, Mem::indexed(elements.start, index, elements.scale, 0), word);
        self.a.store32(Mem::at(self.context, at::INDEX), index);
        self.a.jump(ready, &[]);
        self.a.switch_to(ready);
        self.go_on_in(block, inner)
    }

    /// Writes a stretch twice: with what lanes load at once where all addresses are some, else as it stands.
    pub fn indexed_versions(&mut self, block: Block, indexed: &Indexed) -> Result<(), Error> {
        let f = self.f;
        let data = |n: usize| f.inst(f.block(block).insts[n]);
        let element = data(indexed.range.end - 1);
        let guard = MemoryOperands::of(element)?.guard;
        let mask = self.guard(guard)?[0];
        let masks = self.widen(&[mask]);
        let mut own = Vec::new();
        let mut odd = Vec::new();
        for &n in &indexed.own {
            self.a.pc = data(n).pc;
            let MemoryOperands { mem, address, .. } = MemoryOperands::of(data(n))?;
            let parts = self.address_parts_of(address)?;
            let parts = self.moved(&parts, mem.offset.into());
            odd.extend(self.places_beyond(mem, &parts, &masks));
            let &[low, high] = &parts[..] else { return Err(malformed(data(n))) };
            own.push(Own { data: data(n), mem, addresses: [low, high] });
        }
        let odd = self.any_of(odd).map(|odd| self.a.bits_of(odd)).ok_or_else(|| malformed(element))?;
        let (elements, beyond) = self.elements(element)?;
        let bad = self.a.g2(true, OR, odd, beyond);
        self.a.test(true, bad, bad);
        self.versions(block, &indexed.range, Flags::Equal, |l, quick| {
            if !quick {
                return l.as_it_stands(block, &indexed.range);
            }
            let guarded = l.note_guard(guard)?;
            let loaded = l.lanes_with_indices(&own, &elements, (guarded, &masks))?;
            for (data, words) in own.iter().map(|own| own.data).skip(1).chain([element]).zip(loaded) {
                l.define_vectors(result(data)?, vec![words]);
            }
            let last = indexed.range.end - 1;
            let mut between = indexed.range.clone().filter(|n| *n != last && !indexed.own.contains(n));
            between.try_for_each(|n| l.inst(f.block(block).insts[n]))
        })
    }

    /// Where elements lie, and whether the first is beyond the address space, or that ends too near (0 or not).
    fn elements<'d>(&mut self, data: &'d InstData) -> Result<(Elements<'d>, R), Error> {
        self.a.pc = data.pc;
        let MemoryOperands { mem, address, .. } = MemoryOperands::of(data)?;
        let first = match self.made_with(address, &mut |_, _| None)? {
            Some(first) => self.a.add_imm(true, first, mem.offset.into()),
            None => self.a.imm(true, i64::from(mem.offset) as u64),
        };
        let bad = self.bad_bits(first, mem);
        let near = self.a.load_fixed(true, Mem::at(self.context, at::NEAR_GUARDS));
        let bad = self.a.g2(true, OR, near, bad);
        let base = self.base(mem.space);
        let start = self.a.add(true, base, first);
        let word = word_of(self.f, &self.forms, address).ok_or_else(|| malformed(data))?;
        let load = match word.extension {
            Opcode::Sext => (Code::Movsxd_r64_rm32, Size::Q),
            _ => (Code::Mov_r32_rm32, Size::D),
        };
        Ok((Elements { data, start, scale: 1 << word.by, load }, bad))
    }

    /// Loads of each lane at once; gives the words of all but the indices.
    fn lanes_with_indices(
        &mut self,
        own: &[Own<'_>],
        elements: &Elements<'_>,
        (guarded, masks): (bool, &[R]),
    ) -> Result<Vec<R>, Error> {
        let base = self.base(own[0].mem.space);
        let elsewhere = self.a.add_imm(true, self.context, at::INDEX.into());
        let elsewhere = self.a.g2(true, SUB, elsewhere, base);
        let elsewhere = self.a.splat(true, elsewhere);
        let addresses: Vec<[R; 2]> = own
            .iter()
            .map(|own| [0, 1].map(|h| self.blend(true, masks[h], Src::R(own.addresses[h]), elsewhere)))
            .collect();
        let mut quarters: Vec<Vec<R>> = vec![Vec::new(); own.len()];
        for quarter in 0..4u8 {
            let half = usize::from(quarter / 2);
            let places: Vec<[[R; 2]; 2]> = addresses
                .iter()
                .map(|address| [0, 1].map(|n| self.two_of(address[half], 2 * (quarter % 2) + n)))
                .collect();
            for n in 0..4u8 {
                let lane = TrapLane::One { lane: 4 * quarter + n, guarded, place: HostPlace::default() };
                let place = |of: usize| Mem::indexed(base, places[of].as_flattened()[usize::from(n)], 1, 0);
                let (code, size) = elements.load;
                self.a.pc = own[0].data.pc;
                let site = self.site(own[0].data, lane);
                let index = self.a.gload(code, place(0), size, site);
                let element = Mem::indexed(elements.start, index, elements.scale, 0);
                let others = (1..).zip(&own[1..]).map(|(n, own)| (own.data, place(n)));
                let all: Vec<(&InstData, Mem)> = others.chain([(elements.data, element)]).collect();
                for (words, (data, place)) in quarters.iter_mut().zip(all) {
                    self.a.pc = data.pc;
                    let site = self.site(data, lane);
                    match words.last_mut().filter(|_| n > 0) {
                        Some(words) => *words = self.next_word(*words, n, place, site),
                        None => words.push(self.first_word(place, site)),
                    }
                }
            }
        }
        let whole = |words: Vec<R>| <[R; 4]>::try_from(words).map(|words| self.quarters_as_one(words));
        let whole: Result<Vec<R>, _> = quarters.into_iter().map(whole).collect();
        whole.map_err(|_| malformed(elements.data))
    }
}

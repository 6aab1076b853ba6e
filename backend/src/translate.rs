//! The interface through which compiled code asks the runtime to translate guest addresses outside the window
//! ([`warpjit_ir::passes::translate`]).
//!
//! Compiled code writes a description of the access into the context (`access`, `atomic`), then its lanes' addresses and values,
//! and which lanes take part. The runtime replies with addresses relative to [`Context::global_base`] at which the code finds the
//! memory.

use warpjit_ir::function::ValueDef;
use warpjit_ir::{Block, Function, Imm, InstData, MemAccess, Opcode, Scalar};

use crate::affine::{Form, Forms};
use crate::context::{Context, FAULT_OF_PAGE, LastPage, encode_space};
use crate::even_address::{is_even_as_first, is_tried_as_line, step_of};
use crate::wide_helpers::describe_access;

/// A request to translate one lane's access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneTranslation {
    /// Guest address of the first byte.
    pub address: u64,
    /// Bytes that the lane accesses: 1, 2, 4 or 8.
    pub bytes: u8,
    /// What a store stores; `None` for a load.
    pub value: Option<u64>,
    /// Host address of an eight-byte buffer of this lane, which it may access instead of guest memory.
    pub bounce: *mut u8,
}

/// In [`Context::atomic`] of a translation: the warp loads once, whatever number of chunks it runs in.
pub(crate) const ONCE: u32 = 1;

/// An access encoded as two words, for [`Context::access`] and [`Context::atomic`].
pub(crate) fn describe(mem: MemAccess, store: bool, lanes: u32) -> (u32, u32) {
    let access = describe_access(encode_space(mem.space), mem.bytes, mem.signed, store, false, lanes);
    (access, u32::from(mem.align.max(1)) << 8 | u32::from(mem.align_offset) << 16)
}

/// For each operation: whether it is the translation of one access behind it, with nothing but pure operations in between. Then both are
/// done at once, where the access is: what lies side by side is looked up as a whole.
pub(crate) fn fused(f: &Function, order: &[Block]) -> Vec<bool> {
    let mut fused = vec![false; f.insts.len()];
    let mut uses = vec![0_u32; f.values.len()];
    for &block in order {
        f.block(block).insts.iter().for_each(|&i| f.inst(i).args.iter().for_each(|v| uses[v.index()] += 1));
        f.term(block).for_each_use(|v| uses[v.index()] += 1);
    }
    for &block in order {
        let insts = &f.block(block).insts;
        for (number, &inst) in insts.iter().enumerate() {
            let data = f.inst(inst);
            let Some(place) = data.result.filter(|_| data.op.is_translation()) else { continue };
            let next = insts[number + 1..].iter().map(|&next| f.inst(next)).find(|next| !next.op.is_pure());
            let is_its = |next: &InstData| {
                let (access, guard) = match data.op {
                    Opcode::TranslateLoad => (Opcode::Load, 1),
                    _ => (Opcode::Store, 2),
                };
                next.op == access
                    && next.args[0] == place
                    && next.args[1..guard] == data.args[1..guard]
                    && next.args.get(guard) == data.args.get(guard)
            };
            fused[inst.index()] = uses[place.index()] == 1 && next.is_some_and(is_its);
        }
    }
    fused
}

/// Those that the generator for AVX-512 does with their access: of lanes that lie side by side, or evenly apart.
pub(crate) fn fused_affine(f: &Function, order: &[Block], forms: &Forms) -> Vec<bool> {
    let mut fused = fused(f, order);
    for (fused, data) in fused.iter_mut().zip(&f.insts) {
        let Imm::Mem(mem) = data.imm else { continue };
        *fused &= forms.of(data.args[0]) != Form::Uniform
            && f.ty(data.args[0]).scalar == Scalar::I64
            && (step_of(f, forms, data.args[0]).is_some_and(|step| is_even_as_first(mem, step))
                || is_tried_as_line(f, forms, data.args[0], mem));
    }
    fused
}

/// The translation that is done with an access ([`fused`]).
pub(crate) fn translation_of<'a>(f: &'a Function, fused: &[bool], data: &InstData) -> Option<&'a InstData> {
    let ValueDef::Inst(inst) = f.values[data.args.first()?.index()].def else { return None };
    (fused.get(inst.index()) == Some(&true)).then(|| f.inst(inst))
}

/// Unit in which memory is mapped, at least.
const PAGE: u64 = 4096;

/// The farthest from a page's start that any load is all in it.
pub(crate) const LAST_IN_PAGE: u64 = PAGE - 8;

/// Whether code looks at the page of the answer before ([`LastPage`]) before it asks: a load that is not told by devices, and good at any
/// address.
pub(crate) fn looks_at_last_page(data: &InstData, has_devices: bool) -> bool {
    data.op == Opcode::TranslateLoad && !has_devices && matches!(data.imm, Imm::Mem(mem) if mem.align <= 1)
}

/// Answers requests for translations: the embedder's memory.
pub trait Translator {
    /// The host address at which a lane makes its access; inside, `None` if [`Translator::answer`] makes it. `None` if the access is not
    /// allowed.
    fn find(&mut self, access: &LaneTranslation) -> Option<Option<*mut u8>>;

    /// Makes an access that has no host address: to a device, or to memory in pieces. What a load finds is put into the buffer. Returns
    /// whether it is allowed.
    fn answer(&mut self, access: &LaneTranslation) -> bool;

    /// Stores a value at a guest address that has been translated.
    fn store(&mut self, address: u64, bytes: u8, value: u64);

    /// The state of the memory ([`Context::generation`]), if it says when that changes.
    fn generation(&self) -> Option<u64> {
        None
    }
}

impl Context {
    /// Translates the address of each lane that takes part in the access that compiled code has described, the lowest lane first.
    ///
    /// The first lane that may not access its memory, or whose address is misaligned, faults. Then lower lanes still do
    /// their stores, because lanes execute in order, and higher lanes do nothing. Lower lanes also do theirs before a store that is made
    /// here ([`Translator::answer`]), since it may be to the same bytes.
    pub fn each_translation(&mut self, memory: &mut impl Translator) {
        let (access, alignment) = (self.access, self.atomic);
        let bytes = (access >> 12 & 15) as u8;
        let stores = access >> 17 & 1 != 0;
        let (low, part) = (u64::from(alignment >> 8 & 0xff).wrapping_sub(1), u64::from(alignment >> 16));
        let base = self.global_base as u64;
        self.odd_lane = 0;
        let guard = self.guard_lanes;
        let lanes = |to: u32| {
            let mut left = if to < 64 { guard & ((1 << to) - 1) } else { guard };
            std::iter::from_fn(move || {
                let lane = (left != 0).then_some(left.trailing_zeros());
                left &= left.wrapping_sub(1);
                lane
            })
        };
        let value = |context: &Context, lane: u32| context.lane_values.get(lane as usize, bytes == 8);
        let mut places = [0u64; 64];
        // Lanes whose stores are made: their place is their buffer.
        let mut done = 0u64;
        let once = alignment & ONCE != 0;
        if once {
            let is_new = std::mem::take(&mut self.new_run) != 0;
            self.scalar_answers.at_chunk(self.chunk_lane, is_new);
        }
        // What is found from here on is not older than this.
        let generation = if stores || once { None } else { memory.generation() };
        // Address and place of the lane before. On one page the distance of guest and host is one, if memory is there and no buffer.
        let mut known: Option<(u64, u64)> = None;
        for lane in lanes(64) {
            let n = lane as usize;
            let address = self.lane_addresses.get(n, true).wrapping_add(self.rebase);
            if let Some((before, place)) = known
                && before / PAGE == address / PAGE
                && address % PAGE + u64::from(bytes) <= PAGE
                && address.wrapping_sub(part) & low == 0
            {
                places[n] = place.wrapping_add(address).wrapping_sub(before);
                continue;
            }
            let bounce = std::ptr::from_mut(&mut self.lane_others.0[n]).cast();
            let one = LaneTranslation { address, bytes, value: stores.then(|| value(self, lane)), bounce };
            let aligned = address.wrapping_sub(part) & low == 0;
            if once
                && aligned
                && let Some(known) = self.scalar_answers.find(address, bytes)
            {
                self.lane_others.0[n] = known;
                places[n] = (bounce as u64).wrapping_sub(base);
                continue;
            }
            let found = aligned.then(|| memory.find(&one)).flatten();
            if stores && !matches!(found, Some(Some(_))) {
                for before in lanes(lane).filter(|&before| done >> before & 1 == 0) {
                    let address = self.lane_addresses.get(before as usize, true).wrapping_add(self.rebase);
                    memory.store(address, bytes, value(self, before));
                    let bounce = std::ptr::from_mut(&mut self.lane_others.0[before as usize]) as u64;
                    places[before as usize] = bounce.wrapping_sub(base);
                }
                done |= u64::MAX >> (63 - lane);
            }
            let place = match found {
                Some(None) => memory.answer(&one).then_some(bounce),
                found => found.flatten(),
            };
            let Some(place) = place else {
                self.odd_lane = lane + 1;
                self.fault.address = address;
                self.fault_lanes = if aligned { FAULT_OF_PAGE } else { 0 };
                return;
            };
            places[n] = (place as u64).wrapping_sub(base);
            known = (place != bounce).then_some((address, places[n]));
            if once && place == bounce {
                self.scalar_answers.add(address, bytes, self.lane_others.0[n]);
            }
        }
        for lane in lanes(64) {
            self.lane_addresses.set(lane as usize, true, places[lane as usize]);
        }
        if let (Some(generation), Some((address, place)), 0) = (generation, known, self.rebase % PAGE) {
            let from_code = address.wrapping_sub(self.rebase);
            let (start, more) = (from_code & !(PAGE - 1), place.wrapping_sub(from_code));
            self.last_page = LastPage { generation, start, more };
        }
    }
}

/// A memory in which nothing is mapped.
struct Nothing;

impl Translator for Nothing {
    fn find(&mut self, _: &LaneTranslation) -> Option<Option<*mut u8>> {
        None
    }

    fn answer(&mut self, _: &LaneTranslation) -> bool {
        false
    }

    fn store(&mut self, _: u64, _: u8, _: u64) {}
}

/// The default of [`Context::translate`]: every lane faults.
pub(crate) unsafe extern "C" fn no_translation(context: *mut Context) {
    // SAFETY: called with the context of compiled code.
    unsafe { (*context).each_translation(&mut Nothing) }
}

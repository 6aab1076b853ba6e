//! Graphics stages: where a program's inputs and outputs are, what a wave begins with, and messages of geometry programs.
//!
//! Inputs and outputs of a lane are words of its local memory ([`StageLayout`]), which GCN programs do not have
//! otherwise. A vector register that a launch fills is loaded before the first instruction, in all lanes: helpers have
//! theirs too. EXEC starts as the lanes that are there, of a fragment those that are covered.
//!
//! Helpers run as other lanes do, but stores and atomics on global memory, and exports, are for covered lanes only
//! ([`Emit::store_guard`]).

use std::collections::{BTreeMap, BTreeSet};

use warpjit_ir::{IntCC, Space, Value};

use crate::gcn::lift::analysis::graph::Graph;
use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::emit::access::{access, and};
use crate::gcn::{Inst, Op};
use crate::isa::Stage;
use crate::stage::{
    ExportTarget, InputArea, InputPlace, LaneWord, OutputArea, OutputPlace, Per, StageInterface, StageLayout,
};

/// Bytes of a word.
const WORD: u32 = 4;
/// Words of an attribute's component: its value at the first vertex, and what the two others add.
pub(in crate::gcn::lift) const PLANE_WORDS: u32 = 3;
/// Target of exports: depth, and what follows it.
const MRTZ: u8 = 8;
const POS: u8 = 12;
const PARAM: u8 = 32;

/// Part of an output that a target of exports is written to.
#[derive(Clone, Copy, Debug)]
pub(in crate::gcn::lift) struct ExportPlace {
    /// Local address of the first word, and of the first of those that say what was written.
    pub(in crate::gcn::lift) start: u32,
    pub(in crate::gcn::lift) written: u32,
    pub(in crate::gcn::lift) words: u32,
    /// Compressed exports become four floats.
    pub(in crate::gcn::lift) half: bool,
}

/// A vector register that a launch fills.
#[derive(Clone, Copy, Debug)]
struct Loaded {
    register: u8,
    start: u32,
    /// Tessellation control: the lane has the vertex of its number of so many, each so many bytes.
    by_invocation: Option<(u32, u32)>,
}

/// Where a program of a stage has what.
#[derive(Clone, Debug, Default)]
pub struct Places {
    pub(in crate::gcn::lift) stage: Stage,
    /// Address of the lane word that says whether the lane takes part.
    live: u32,
    invocation: Option<u32>,
    loaded: Vec<Loaded>,
    /// Components of attributes.
    attributes: BTreeMap<(u8, u8), u32>,
    pub(in crate::gcn::lift) exports: BTreeMap<u8, Vec<ExportPlace>>,
    pub(in crate::gcn::lift) alive: Option<u32>,
    geometry: Option<Counters>,
    /// What the runtime is told.
    pub(in crate::gcn::lift) layout: StageLayout,
    /// Where local memory ends.
    pub(in crate::gcn::lift) end: u32,
}

/// Where a geometry program counts.
#[derive(Clone, Copy, Debug)]
struct Counters {
    emitted: u32,
    cuts: u32,
    most: u32,
}

/// Refuses an interface that a GCN program cannot have.
///
/// # Errors
///
/// What is wrong with it.
pub fn check(interface: &StageInterface, vgprs: u32) -> Result<(), String> {
    if interface.stage == Stage::Compute {
        return Err("a compute program has no inputs and outputs of a stage".into());
    }
    for input in &interface.inputs {
        match input.place {
            InputPlace::Register(first) => {
                let count = registers_of(interface, input.per, input.words);
                if u64::from(first) + u64::from(count) > vgprs.into() {
                    return Err(format!(
                        "an input is in v{first} and the {count} from there on, the program has {vgprs}"
                    ));
                }
            }
            InputPlace::Attribute(number) if number < 32 => {}
            InputPlace::Attribute(number) => return Err(format!("there is no attribute {number}")),
            InputPlace::Address(_) => return Err("inputs of gcn programs are registers or attributes".into()),
        }
    }
    for output in &interface.outputs {
        let OutputPlace::Export(target, _) = output.place else {
            return Err("outputs of gcn programs are exports".into());
        };
        if code_of(target).is_none() || !(1..=4).contains(&output.words) {
            return Err(format!("there is no export {target:?} of {} words", output.words));
        }
    }
    Ok(())
}

/// Registers of an input. A geometry program has those of all vertices one after the other.
fn registers_of(interface: &StageInterface, per: Per, words: u32) -> u32 {
    let several = per == Per::Vertex && interface.stage == Stage::Geometry;
    if several { words.saturating_mul(interface.vertices.max(1)) } else { words }
}

/// The number of a target in instructions.
fn code_of(target: ExportTarget) -> Option<u8> {
    match target {
        ExportTarget::Mrt(n) if n < 8 => Some(n as u8),
        ExportTarget::Mrtz => Some(MRTZ),
        ExportTarget::Pos(n) if n < 4 => Some(POS + n as u8),
        ExportTarget::Param(n) if n < 32 => Some(PARAM + n as u8),
        _ => None,
    }
}

impl Places {
    /// Lays out local memory from an address on.
    pub(in crate::gcn::lift) fn new(interface: &StageInterface, graph: &Graph, from: u32) -> Places {
        let mut places = Places { stage: interface.stage, end: from, ..Places::default() };
        let fragment = interface.stage == Stage::Fragment;
        places.live = places.lane_word(if fragment { LaneWord::Covered } else { LaneWord::Present });
        if interface.stage == Stage::TessControl {
            places.invocation = Some(places.lane_word(LaneWord::Invocation));
            places.layout.patches_per_warp = 64 / interface.invocations.clamp(1, 64);
        }
        let read = attributes_of(graph);
        for input in &interface.inputs {
            let area = match input.place {
                InputPlace::Attribute(number) => places.attribute(&read, number, input.words),
                InputPlace::Register(number) => Some(places.register(interface, input, number)),
                InputPlace::Address(_) => None,
            };
            places.layout.inputs.push(area);
        }
        let missing = read.iter().filter(|place| !places.attributes.contains_key(place));
        places.layout.missing =
            missing.map(|&(number, chan)| 16 * u32::from(number) + 4 * u32::from(chan)).collect();
        for output in &interface.outputs {
            let (start, written) = (places.take(output.words), places.take(output.words));
            let area =
                OutputArea { shared: false, start, word_stride: WORD, row_stride: 0, written: Some(written) };
            places.layout.outputs.push(area);
            if let OutputPlace::Export(target, half) = output.place
                && let Some(code) = code_of(target)
            {
                let place = ExportPlace { start, written, words: output.words, half };
                places.exports.entry(code).or_default().push(place);
            }
        }
        if fragment {
            places.alive = Some(places.take(1));
        }
        if interface.stage == Stage::Geometry {
            let most = interface.max_vertices;
            places.geometry = Some(Counters { emitted: places.take(1), cuts: places.take(most), most });
        }
        places.layout.alive = places.alive;
        places.layout.emitted = places.geometry.map(|counters| counters.emitted);
        places.layout.cuts = places.geometry.map(|counters| counters.cuts);
        places
    }

    fn take(&mut self, words: u32) -> u32 {
        let start = self.end;
        self.end = start.saturating_add(words.saturating_mul(WORD));
        start
    }

    fn lane_word(&mut self, word: LaneWord) -> u32 {
        let address = self.take(1);
        self.layout.lane_words.push((word, address));
        address
    }

    /// The area of an attribute, if the program reads any of it. Words behind the fourth are those of the next attribute.
    fn attribute(&mut self, read: &BTreeSet<(u8, u8)>, number: u32, words: u32) -> Option<InputArea> {
        let of = |word: u32| ((number + word / 4) as u8, (word % 4) as u8);
        if !(0..words).any(|word| read.contains(&of(word))) {
            return None;
        }
        let start = self.take(words.saturating_mul(PLANE_WORDS));
        let stride = PLANE_WORDS * WORD;
        (0..words).for_each(|word| _ = self.attributes.insert(of(word), start + word * stride));
        Some(InputArea { start, word_stride: stride, vertex_stride: 0 })
    }

    fn register(
        &mut self,
        interface: &StageInterface,
        input: &crate::stage::StageInput,
        number: u32,
    ) -> InputArea {
        let vertices = match (input.per, interface.stage) {
            (Per::Vertex, Stage::Geometry | Stage::TessControl) => interface.vertices.max(1),
            _ => 1,
        };
        let start = self.take(input.words.saturating_mul(vertices));
        let vertex_stride = input.words * WORD;
        let by_invocation =
            (vertices > 1 && interface.stage == Stage::TessControl).then_some((vertices, vertex_stride));
        for word in 0..registers_of(interface, input.per, input.words) {
            let register = (number + word) as u8;
            self.loaded.push(Loaded { register, start: start + word * WORD, by_invocation });
        }
        InputArea { start, word_stride: WORD, vertex_stride }
    }
}

/// The components of attributes that a program reads.
fn attributes_of(graph: &Graph) -> BTreeSet<(u8, u8)> {
    let insts = graph.nodes().flat_map(|(_, node)| &node.insts);
    insts.filter_map(|inst| inst.interp).map(|interp| (interp.attr, interp.chan)).collect()
}

impl Emit<'_> {
    /// A word of local memory at a constant address.
    pub(in crate::gcn::lift) fn local(&mut self, address: u32) -> Value {
        let zero = self.b.i32(0);
        self.b.load(access(Space::Local, 4, false, address as i32), zero, None)
    }

    /// Replaces it in the lanes of a mask (`None`: in all).
    pub(in crate::gcn::lift) fn set_local(&mut self, address: u32, value: Value, lanes: Option<Value>) {
        let zero = self.b.i32(0);
        self.b.store(access(Space::Local, 4, false, address as i32), zero, value, lanes);
    }

    /// The words of an attribute's component; `None` if the launch gives none.
    pub(in crate::gcn::lift) fn attribute(&mut self, attr: u8, chan: u8) -> Option<[Value; 3]> {
        let address = *self.places?.attributes.get(&(attr, chan))?;
        Some([0, 1, 2].map(|word| self.local(address + word * WORD)))
    }

    /// The lanes that may change memory: EXEC, what else has to hold, and of a fragment those that are covered.
    pub(in crate::gcn::lift) fn store_guard(&mut self, ok: Option<Value>) -> Value {
        let exec = self.exec();
        let covered = self.covered();
        let lanes = and(self, Some(exec), covered);
        and(self, lanes, ok).unwrap_or(exec)
    }

    /// The lanes of a fragment that are no helpers.
    pub(in crate::gcn::lift) fn covered(&mut self) -> Option<Value> {
        self.places.filter(|places| places.stage == Stage::Fragment)?;
        let slot = self.slots.covered(self.core.b.func);
        Some(self.get(slot))
    }

    /// Fills vector registers and EXEC.
    pub(in crate::gcn::lift) fn enter_stage(&mut self, places: &Places) {
        let word = self.local(places.live);
        let zero = self.b.i32(0);
        let live = self.b.icmp(IntCC::Ne, word, zero);
        if places.stage == Stage::Fragment {
            let slot = self.slots.covered(self.core.b.func);
            self.put(slot, live);
        }
        for loaded in &places.loaded {
            let value = match (loaded.by_invocation, places.invocation) {
                (Some((vertices, stride)), Some(invocation)) => {
                    let (number, last) = (self.local(invocation), self.b.i32(vertices - 1));
                    let number = self.b.umin(number, last);
                    let stride = self.b.i32(stride);
                    let at = self.b.imul(number, stride);
                    self.b.load(access(Space::Local, 4, false, loaded.start as i32), at, None)
                }
                _ => self.local(loaded.start),
            };
            let slot = self.slots.vgpr(self.core.b.func, loaded.register);
            self.put(slot, value);
        }
        self.set_exec(live);
    }
}

/// Emits the messages of geometry programs: they count. Vertices themselves are in the ring, which is memory. Messages of other stages, and
/// of streams behind the first, do nothing.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    const GS: u16 = 2;
    let Some(counters) = e.places.and_then(|places| places.geometry) else { return false };
    let (message, stream) = (inst.simm16 & 15, inst.simm16 >> 8 & 3);
    if inst.op != Op::S_SENDMSG || message != GS || stream != 0 {
        return false;
    }
    let (cut, emit) = (inst.simm16 >> 4 & 1 != 0, inst.simm16 >> 5 & 1 != 0);
    let exec = e.exec();
    let most = e.b.i32(counters.most);
    let one = e.b.i32(1);
    if emit {
        let count = e.local(counters.emitted);
        let more = e.b.iadd(count, one);
        let more = e.b.umin(more, most);
        e.set_local(counters.emitted, more, Some(exec));
    }
    if cut {
        let count = e.local(counters.emitted);
        let zero = e.b.i32(0);
        let any = e.b.icmp(IntCC::Ne, count, zero);
        let lanes = e.b.iand(exec, any);
        let last = e.b.isub(count, one);
        let at = e.shl_const(last, 2);
        let set = e.b.i32(u32::MAX);
        e.b.store(access(Space::Local, 4, false, counters.cuts as i32), at, set, Some(lanes));
    }
    true
}

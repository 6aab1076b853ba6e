//! The code that reads inputs and writes outputs.

use warpjit_ir::{Block, Imm, IntCC, LeaveKind, MemAccess, Opcode, Scalar, Space, Terminator, Value};

use super::plan::Input;
use super::{InputSpace, LANES, Plan};
use crate::simt::Emitter;
use crate::stage::{LaneWord, STREAM_SHIFT};
use warpjit_ir::Builtin;

/// A byte address in an attribute space.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At {
    /// Known from the code.
    Known(u32),
    /// Known when the program runs.
    Computed(Value),
}

/// A read of one word of an input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub(crate) space: InputSpace,
    pub(crate) at: At,
    /// Number of the vertex, for inputs that depend on one.
    pub(crate) vertex: Option<Value>,
}

/// A word of the lane's local memory behind the guest's own.
fn word(offset: u32) -> MemAccess {
    MemAccess {
        space: Space::Local,
        bytes: 4,
        signed: false,
        offset: offset as i32,
        align: 4,
        align_offset: 0,
        far: true,
    }
}

/// Where the words of a read are.
struct Found {
    base: Value,
    offset: u32,
    /// Where there is such a word; `None`: everywhere.
    there: Option<Value>,
    /// Where it is a plane; `None`: nowhere.
    plane: Option<Value>,
    /// It is a plane everywhere.
    all_planes: bool,
}

impl<O> Emitter<'_, O> {
    /// A word of the lane's local memory at a known address.
    pub(crate) fn lane_memory(&mut self, at: u32) -> Value {
        let zero = self.b.i32(0);
        self.b.load(word(at), zero, None)
    }

    /// Replaces such a word under the guard.
    pub(crate) fn set_lane_memory(&mut self, at: u32, value: Value) {
        let zero = self.b.i32(0);
        let guard = self.guard;
        self.b.store(word(at), zero, value, guard);
    }

    /// A lane word that the plan has; else 0.
    pub(crate) fn lane_word(&mut self, plan: &Plan, which: LaneWord) -> Value {
        match plan.lane_word(which) {
            Some(at) => self.lane_memory(at),
            None => self.b.i32(0),
        }
    }

    /// The begin of a stage's program: lanes without work end.
    pub(crate) fn stage_prologue(&mut self, plan: &Plan, first: Block) {
        let covered = plan.lane_word(LaneWord::Covered);
        if let (Some(alive), Some(covered)) = (plan.layout.alive, covered)
            && alive != covered
        {
            let value = self.lane_memory(covered);
            self.set_lane_memory(alive, value);
        }
        let present = self.lane_word(plan, LaneWord::Present);
        let zero = self.b.i32(0);
        let absent = self.b.icmp(IntCC::Eq, present, zero);
        self.terminate(Terminator::Leave { kind: LeaveKind::Exit, cond: Some(absent), next: first });
    }

    /// Raises a `memory` fault in lanes whose address is at or beyond the end of its space.
    pub(crate) fn check_end(&mut self, address: Value, end: u32, store: bool) {
        let limit = self.b.i32(end);
        let beyond = self.b.icmp(IntCC::Uge, address, limit);
        let mut args = vec![address, beyond];
        args.extend(self.guard);
        let op = if store { Opcode::DenyStore } else { Opcode::DenyLoad };
        let access = MemAccess { align: 1, ..word(0) };
        self.b.push(op, &args, Imm::Mem(access), None);
    }

    /// Where the word of a read is; `None` if no input has it.
    fn find(&mut self, plan: &Plan, read: Read) -> Option<Found> {
        let zero = self.b.i32(0);
        let inputs = || plan.inputs.iter().filter(|input| input.space == read.space);
        match read.at {
            At::Known(address) => {
                let address = address & !3;
                let input = inputs().find(|input| input.holds(read.space, address))?;
                let offset = input.area.start + (address - input.at) / 4 * input.area.word_stride;
                let (base, there) = match self.vertex_offset(input, read.vertex) {
                    Some((base, there)) => (base, Some(there)),
                    None => (zero, None),
                };
                Some(Found { base, offset, there, plane: None, all_planes: input.plane })
            }
            At::Computed(address) => {
                let (mut base, mut there, mut plane) = (zero, self.b.bool(false), None);
                let mut all_planes = true;
                for input in inputs() {
                    let first = self.b.i32(input.at);
                    let ahead = self.b.isub(address, first);
                    let ahead = self.and_const(ahead, !3);
                    let bytes = self.b.i32(4 * input.words);
                    let mut within = self.b.icmp(IntCC::Ult, ahead, bytes);
                    let mut lane_address = if input.area.word_stride == 4 {
                        ahead
                    } else {
                        let stride = self.b.i32(input.area.word_stride / 4);
                        self.b.imul(ahead, stride)
                    };
                    let start = self.b.i32(input.area.start);
                    lane_address = self.b.iadd(lane_address, start);
                    if let Some((offset, exists)) = self.vertex_offset(input, read.vertex) {
                        lane_address = self.b.iadd(lane_address, offset);
                        within = self.b.iand(within, exists);
                    }
                    base = self.b.select(within, lane_address, base);
                    if input.plane {
                        plane = Some(match plane {
                            None => within,
                            Some(plane) => self.b.ior(plane, within),
                        });
                    }
                    all_planes &= input.plane;
                    there = self.b.ior(there, within);
                }
                let all_planes = all_planes && plane.is_some();
                Some(Found { base, offset: 0, there: Some(there), plane, all_planes })
            }
        }
    }

    /// Distance of a vertex's words from those of the first one, and where there is such a vertex.
    fn vertex_offset(&mut self, input: &Input, vertex: Option<Value>) -> Option<(Value, Value)> {
        let vertices = input.vertices?;
        let vertex = vertex?;
        let stride = self.b.i32(input.area.vertex_stride);
        let offset = self.b.imul(vertex, stride);
        let vertices = self.b.i32(vertices);
        let exists = self.b.icmp(IntCC::Ult, vertex, vertices);
        Some((offset, exists))
    }

    fn found_word(&mut self, found: &Found, n: u32) -> Value {
        self.b.load(word(found.offset + 4 * n), found.base, None)
    }

    fn if_there(&mut self, there: Option<Value>, value: Value) -> Value {
        let Some(there) = there else { return value };
        let zero = self.b.i32(0);
        self.b.select(there, value, zero)
    }

    /// A word of an input as it is; of a plane the value at x = y = 0. 0 where there is none.
    pub(crate) fn input(&mut self, plan: &Plan, read: Read) -> Value {
        let Some(found) = self.find(plan, read) else { return self.b.i32(0) };
        let value = self.found_word(&found, 0);
        self.if_there(found.there, value)
    }

    /// The value of an input of a fragment at a position (`None`: the pixel's centre), before it is multiplied: of a plane there, of
    /// other inputs the word as it is. `nan` are the bits of a NaN that a plane gives.
    pub(crate) fn interpolated(
        &mut self,
        plan: &Plan,
        read: Read,
        position: Option<[Value; 2]>,
        nan: u64,
    ) -> Value {
        let Some(found) = self.find(plan, read) else { return self.b.f32(0.0) };
        let bits = self.found_word(&found, 0);
        let bits = self.if_there(found.there, bits);
        let own = self.b.bitcast(bits, Scalar::F32);
        if found.plane.is_none() && !found.all_planes {
            return own;
        }
        let position = position.unwrap_or_else(|| self.pixel(plan));
        let mut value = own;
        for (n, at) in (1..).zip(position) {
            let slope = self.found_word(&found, n);
            let slope = self.b.bitcast(slope, Scalar::F32);
            value = self.b.float(Opcode::Fma, &[slope, at, value], true);
        }
        let value = self.b.fcanon(value, nan);
        match found.plane {
            Some(plane) => self.b.select(plane, value, own),
            None => value,
        }
    }

    /// The centre of the lane's pixel.
    pub(crate) fn pixel(&mut self, plan: &Plan) -> [Value; 2] {
        [LaneWord::PixelX, LaneWord::PixelY].map(|which| {
            let bits = self.lane_word(plan, which);
            self.b.bitcast(bits, Scalar::F32)
        })
    }

    /// Writes `bytes` (2 or 4) of an output that stays in the lane; what the launch does not ask for is dropped.
    pub(crate) fn set_output(&mut self, plan: &Plan, at: At, bytes: u8, value: Value) {
        for output in &plan.outputs {
            let access = |offset| MemAccess { bytes, align: bytes, ..word(offset) };
            match at {
                At::Known(address) => {
                    let ahead = address.wrapping_sub(output.at);
                    if ahead < 4 * output.words {
                        let zero = self.b.i32(0);
                        let guard = self.guard;
                        self.b.store(access(output.start + ahead), zero, value, guard);
                    }
                }
                At::Computed(address) => {
                    let first = self.b.i32(output.at);
                    let ahead = self.b.isub(address, first);
                    let ahead = self.and_const(ahead, !(u32::from(bytes) - 1));
                    let end = self.b.i32(4 * output.words);
                    let within = self.b.icmp(IntCC::Ult, ahead, end);
                    let guard = Some(self.narrowed(within));
                    self.b.store(access(output.start), ahead, value, guard);
                }
            }
        }
    }

    /// Puts the outputs that are registers where the launch looks for them; before a thread ends.
    pub(crate) fn keep_registers(&mut self, plan: &Plan, mut register: impl FnMut(&mut Self, u32) -> Value) {
        for output in &plan.registers {
            for n in 0..output.words {
                let value = register(self, output.at + n);
                self.set_lane_memory(output.start + 4 * n, value);
            }
        }
    }

    /// The lane is a helper from here on.
    pub(crate) fn discard(&mut self, plan: &Plan) {
        if let Some(alive) = plan.layout.alive {
            let none = self.b.i32(0);
            self.set_lane_memory(alive, none);
        }
    }

    /// Where the lane is covered and not discarded, in a fragment program; `None`: everywhere.
    pub(crate) fn alive(&mut self, plan: &Plan) -> Option<Value> {
        let alive = plan.layout.alive?;
        let word = self.lane_memory(alive);
        let none = self.b.i32(0);
        Some(self.b.icmp(IntCC::Ne, word, none))
    }

    /// The vertex being made becomes the next row, and its words zero. `stream`: the number of its stream.
    pub(crate) fn emit_vertex(&mut self, plan: &Plan, stream: Option<Value>) {
        let Some(rows) = plan.rows else { return };
        let count = self.lane_memory(rows.emitted);
        let most = self.b.i32(plan.interface.max_vertices);
        let room = self.b.icmp(IntCC::Ult, count, most);
        let stride = self.b.i32(rows.stride);
        let row = self.b.imul(count, stride);
        self.under(room, |e| {
            let none = e.b.i32(0);
            let mut address = rows.start;
            for output in &plan.outputs {
                for n in 0..output.words {
                    let value = e.lane_memory(output.start + 4 * n);
                    let guard = e.guard;
                    e.b.store(word(address), row, value, guard);
                    e.set_lane_memory(output.start + 4 * n, none);
                    address += 4;
                }
            }
            let one = e.b.i32(1);
            let next = e.b.iadd(count, one);
            e.set_lane_memory(rows.emitted, next);
            if let (Some(latest), Some(stream)) = (rows.latest, stream) {
                let guard = e.guard;
                let own = e.shl_const(stream, 2);
                e.b.store(word(latest), own, next, guard);
                let flags = e.shl_const(stream, STREAM_SHIFT);
                let address = e.shl_const(count, 2);
                e.b.store(word(rows.cuts), address, flags, guard);
            }
        });
    }

    /// The strip of a stream ends behind its vertex emitted last.
    pub(crate) fn cut_strip(&mut self, plan: &Plan, stream: Option<Value>) {
        let Some(rows) = plan.rows else { return };
        let mut flags = self.b.i32(1);
        let number = match (rows.latest, stream) {
            (Some(latest), Some(stream)) => {
                let own = self.shl_const(stream, 2);
                let number = self.shl_const(stream, STREAM_SHIFT);
                flags = self.b.ior(flags, number);
                self.b.load(word(latest), own, None)
            }
            _ => self.lane_memory(rows.emitted),
        };
        let none = self.b.i32(0);
        let any = self.b.icmp(IntCC::Ne, number, none);
        let address = self.shl_const(number, 2);
        let four = self.b.i32(4);
        let address = self.b.isub(address, four);
        self.under(any, |e| {
            let guard = e.guard;
            e.b.store(word(rows.cuts), address, flags, guard);
        });
    }

    /// The address in shared memory of a word of an output of tessellation control, and in which lanes it exists: of the own outputs of
    /// a lane, or of its patch.
    fn shared_address(&mut self, plan: &Plan, patch: bool, at: At, lane: Value) -> (Value, Value) {
        let span = plan.spans[usize::from(patch)];
        let address = match at {
            At::Known(address) => self.b.i32(address),
            At::Computed(address) => address,
        };
        let first = self.b.i32(span.first);
        let ahead = self.b.isub(address, first);
        let ahead = self.and_const(ahead, !3);
        let bytes = self.b.i32(span.end - span.first);
        let within = self.b.icmp(IntCC::Ult, ahead, bytes);
        let address = if patch {
            let number = self.lane_word(plan, LaneWord::PatchInWarp);
            let row = self.b.imul(number, bytes);
            self.b.iadd(ahead, row)
        } else {
            let lane = self.and_const(lane, LANES - 1);
            let lane = self.shl_const(lane, 2);
            let word = self.shl_const(ahead, LANES.trailing_zeros());
            self.b.iadd(word, lane)
        };
        let start = self.b.i32(span.start);
        (self.b.iadd(address, start), within)
    }

    /// Reads an output of tessellation control: of a lane, or of the own patch.
    pub(crate) fn shared_output(&mut self, plan: &Plan, patch: bool, at: At, lane: Value) -> Value {
        let (address, within) = self.shared_address(plan, patch, at, lane);
        let value = self.b.load(MemAccess { space: Space::Shared, ..word(0) }, address, None);
        self.if_there(Some(within), value)
    }

    /// Writes an output of tessellation control.
    pub(crate) fn set_shared_output(&mut self, plan: &Plan, patch: bool, at: At, value: Value) {
        let lane = self.builtin(Builtin::LaneId);
        let (address, within) = self.shared_address(plan, patch, at, lane);
        let guard = Some(self.narrowed(within));
        self.b.store(MemAccess { space: Space::Shared, ..word(0) }, address, value, guard);
    }
}

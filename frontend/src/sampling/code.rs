//! The code of a sampler as a whole: the level of each lane, a loop over the levels that some lane has, and the results.

use warpjit_ir::function::{BlockCall, Imm, SlotInit, Terminator};
use warpjit_ir::{Block, Builder, Form, Function, IntCC, Opcode, Scalar, Type, Value};
use warpjit_texture::Kind;
use warpjit_texture::sample::Mip;

use super::data::head;
use super::emit::{Emit, NAN};
use super::filter::{Channels, Outcome, Sample, Texels};
use super::key::StateKey;
use super::lod::{Probes, Selection};
use super::request::{Action, Level};

/// The code of a key: a function in mask form whose slots are the words of the mailbox. Const bank 0 has [`super::Data`], global memory
/// is the image, from address 0 on. It may load texels for lanes that are not active: all that it can address is in the image.
///
/// `fused`: the host rounds a product and a sum at once in one instruction. Results are the same with and without.
pub fn generate(key: &StateKey, fused: bool) -> Option<Function> {
    let lanes = u32::from(key.request.lanes);
    if !matches!(lanes, 32 | 64) {
        return None;
    }
    let mut func = Function::new("sampler", Form::Mask, lanes);
    let slots: Vec<_> =
        (0..key.mailbox_words()).map(|n| func.add_slot(format!("w{n}"), Type::I32, SlotInit::Zero)).collect();
    let entry = func.add_block(0);
    let mut emit = Emit { b: Builder::new(&mut func, entry), key, fused, slots: &slots };
    let channels = Channels::of(key);
    match key.request.action {
        Action::Sample => emit.sample(&channels),
        Action::Gather { .. } => emit.gather(&channels),
        Action::Fetch => emit.fetch(&channels),
    }
    Some(func)
}

/// A loop over levels.
struct Loop {
    head: Block,
    next: Block,
    /// Of the head: the level, lanes that are left, values so far.
    level: Value,
    left: Value,
    values: Texels,
}

impl Emit<'_> {
    fn active(&mut self) -> Value {
        self.b.push(Opcode::ActiveMask, &[], Imm::None, Some(Type::MASK)).expect("has a result")
    }

    fn block(&mut self) -> Block {
        self.b.func.add_block(0)
    }

    fn params(&mut self, block: Block, count: usize) -> Texels {
        (0..count).map(|_| self.b.func.add_param(block, Type::F32)).collect()
    }

    /// Begins a loop over the levels that lanes have, with as many values as there are channels (or texels). It goes on in a block for the
    /// lanes of one level, given as a mask.
    fn begin_loop(&mut self, levels: Value, lanes: Value, count: usize) -> (Loop, Value) {
        let (head, body, next) = (self.block(), self.block(), self.block());
        let level = self.b.func.add_param(head, Type::uniform(Scalar::I32));
        let left = self.b.func.add_param(head, Type::MASK);
        let values = self.params(head, count);
        let (zero, none) = (self.int(0), self.b.f32(0.0));
        let none = self.splat(none);
        let mut args = vec![zero, lanes];
        args.extend(vec![none; count]);
        self.b.terminate(Terminator::Jump(BlockCall { block: head, args }));

        self.b.switch_to(head);
        let here = self.icmp(IntCC::Eq, levels, level);
        let here = self.b.iand(left, here);
        let mut args = vec![left];
        args.extend(&values);
        self.b.terminate(Terminator::BrAny {
            mask: here,
            taken: body.into(),
            next: BlockCall { block: next, args },
        });
        self.b.switch_to(body);
        (Loop { head, next, level, left, values }, here)
    }

    /// Ends it with the values of the lanes of that level; gives those of all lanes.
    fn end_loop(&mut self, of: Loop, here: Value, found: &Texels) -> Texels {
        let count = found.len();
        let mut args = vec![{
            let others = self.b.inot(here);
            self.b.iand(of.left, others)
        }];
        for (&value, &old) in found.iter().zip(&of.values) {
            args.push(self.b.select(here, value, old));
        }
        self.b.terminate(Terminator::Jump(BlockCall { block: of.next, args }));

        self.b.switch_to(of.next);
        let left = self.b.func.add_param(of.next, Type::MASK);
        let values = self.params(of.next, count);
        let one = self.int(1);
        let level = self.b.iadd(of.level, one);
        let done = self.block();
        let results = self.params(done, count);
        let mut args = vec![level, left];
        args.extend(&values);
        self.b.terminate(Terminator::BrAny {
            mask: left,
            taken: BlockCall { block: of.head, args },
            next: BlockCall { block: done, args: values },
        });
        self.b.switch_to(done);
        results
    }

    /// What a sample has for all levels.
    fn prepared(&mut self) -> Sample {
        let request = self.key.request;
        let mut at = Vec::new();
        for axis in 0..self.key.kind.axes() {
            let bits = self.input(request.at[axis]);
            at.push(self.coordinate(axis, bits));
        }
        Sample { at, layer: self.layer(), reference: self.reference(), later: self.later() }
    }

    fn sample(&mut self, channels: &Channels) {
        let (selection, probes) = self.selection().unzip();
        let values = match probes.flatten() {
            Some(probes) => self.probed(channels, selection.as_ref(), &probes),
            None => {
                let sample = self.prepared();
                self.sampled(channels, &sample, selection.as_ref(), None)
            }
        };
        self.finish(channels, &values, None);
    }

    /// The means of several probes.
    fn probed(&mut self, channels: &Channels, selection: Option<&Selection>, probes: &Probes) -> Texels {
        let request = self.key.request;
        let (layer, reference) = (self.layer(), self.reference());
        let mut middle = Vec::new();
        for axis in 0..self.key.kind.axes() {
            let bits = self.input(request.at[axis]);
            middle.push(self.float(bits));
        }
        let (zero, one) = (self.int(0), self.int(1));
        let alone = self.icmp(IntCC::Eq, probes.count, one);
        let count = self.float_of(probes.count);
        let twice = self.fadd(count, count);
        let active = self.active();
        let length = channels.list.len();
        let (head, done) = (self.block(), self.block());
        let number = self.b.func.add_param(head, Type::uniform(Scalar::I32));
        let sums = self.params(head, length);
        let means = self.params(done, length);
        let none = self.b.f32(0.0);
        let none = self.splat(none);
        let mut args = vec![zero];
        args.extend(vec![none; length]);
        self.b.terminate(Terminator::Jump(BlockCall { block: head, args }));

        self.b.switch_to(head);
        let lanes_number = self.splat(number);
        let odd = self.shl(lanes_number, 1);
        let odd = self.b.iadd(odd, one);
        let odd = self.float_of(odd);
        let place = self.fsub(odd, count);
        let place = self.fdiv(place, twice);
        let mut at = Vec::new();
        for (axis, (&middle, &along)) in middle.iter().zip(&probes.along).enumerate() {
            let moved = self.fmul(along, place);
            let moved = self.fadd(middle, moved);
            let moved = self.b.select(alone, middle, moved);
            let bits = self.bits(moved);
            at.push(self.coordinate(axis, bits));
        }
        let there = self.icmp(IntCC::Slt, lanes_number, probes.count);
        let lanes = self.b.iand(active, there);
        let sample = Sample { at, layer, reference, later: Vec::new() };
        let values = self.sampled(channels, &sample, selection, Some(lanes));
        let first = self.icmp(IntCC::Eq, lanes_number, zero);
        let mut next = Vec::new();
        for (&sum, &value) in sums.iter().zip(&values) {
            let more = self.fadd(sum, value);
            let more = self.b.select(first, value, more);
            next.push(self.b.select(there, more, sum));
        }
        let number = self.b.iadd(number, one);
        let lanes_number = self.splat(number);
        let left = self.icmp(IntCC::Slt, lanes_number, probes.count);
        let left = self.b.iand(active, left);
        let mut args = vec![number];
        args.extend(&next);
        self.b.terminate(Terminator::BrAny {
            mask: left,
            taken: BlockCall { block: head, args },
            next: BlockCall { block: done, args: next },
        });
        self.b.switch_to(done);
        let mut results = Texels::new();
        for &sum in &means {
            let mean = self.fdiv(sum, count);
            let mean = self.b.fcanon(mean, NAN);
            results.push(self.b.select(alone, sum, mean));
        }
        results
    }

    /// The texels of the levels and with the filters that lanes have; `lanes`: of which some need none.
    fn sampled(
        &mut self,
        channels: &Channels,
        sample: &Sample,
        selection: Option<&Selection>,
        lanes: Option<Value>,
    ) -> Texels {
        let zero = self.int(0);
        let Some(&Selection { level, weight, minified }) = selection else {
            let data = self.level_data(zero);
            return self.filtered(channels, sample, &data, None);
        };
        if self.key.mip == Mip::None {
            let data = self.level_data(zero);
            return self.filtered(channels, sample, &data, Some(minified));
        }
        let lanes = match lanes {
            Some(lanes) => lanes,
            None => self.active(),
        };
        let (of, here) = self.begin_loop(level, lanes, channels.list.len());
        let data = self.level_data(of.level);
        let mut values = self.filtered(channels, sample, &data, Some(minified));
        if let Some(weight) = weight {
            let zero = self.int(0);
            let first_only = self.icmp(IntCC::Eq, weight, zero);
            let mixed = self.b.inot(first_only);
            let mixed = self.b.iand(here, mixed);
            let (second, join) = (self.block(), self.block());
            let joined = self.params(join, values.len());
            self.b.terminate(Terminator::BrAny {
                mask: mixed,
                taken: second.into(),
                next: BlockCall { block: join, args: values.clone() },
            });
            self.b.switch_to(second);
            let one = self.int(1);
            let number = self.b.iadd(of.level, one);
            let data = self.level_data(number);
            let next = self.filtered(channels, sample, &data, Some(minified));
            let weight = self.float_of(weight);
            let unit = self.b.f32(1.0 / 256.0);
            let weight = self.fmul(weight, unit);
            let both = self.mix(&values, &next, (weight, first_only));
            // Lanes without a second level have its values, whatever these are.
            let args =
                both.iter().zip(&values).map(|(&both, &first)| self.b.select(mixed, both, first)).collect();
            self.b.terminate(Terminator::Jump(BlockCall { block: join, args }));
            self.b.switch_to(join);
            values = joined;
        }
        self.end_loop(of, here, &values)
    }

    fn gather(&mut self, channels: &Channels) {
        let Action::Gather { component, .. } = self.key.request.action else { return };
        let sample = self.prepared();
        let selection = self.selection().map(|(selection, _)| selection);
        let zero = self.int(0);
        let outcome = channels.outcomes[usize::from(component & 3)];
        let pick = |texels: Vec<Texels>| -> Texels {
            match outcome {
                Outcome::Channel(channel) => texels.iter().map(|texel| texel[channel]).collect(),
                Outcome::Bits(_) => Texels::new(),
            }
        };
        let values = match selection.filter(|_| self.key.mip != Mip::None) {
            None => {
                let data = self.level_data(zero);
                pick(self.gathered(channels, &sample, &data))
            }
            Some(Selection { level, .. }) => {
                let active = self.active();
                let (of, here) = self.begin_loop(level, active, if channels.list.is_empty() { 0 } else { 4 });
                let data = self.level_data(of.level);
                let values = pick(self.gathered(channels, &sample, &data));
                self.end_loop(of, here, &values)
            }
        };
        let results: Vec<Value> = (0..4)
            .map(|k| match outcome {
                Outcome::Channel(_) => self.bits(values[k]),
                Outcome::Bits(bits) => self.b.i32(bits),
            })
            .collect();
        self.give(&results, 15);
    }

    fn fetch(&mut self, channels: &Channels) {
        let level = match self.key.request.level {
            Level::Given(input) if self.key.kind != Kind::Buffer => Some(input),
            _ => None,
        };
        let Some(level) = level else {
            let zero = self.int(0);
            let data = self.level_data(zero);
            let (values, inside) = self.fetched(channels, &data);
            return self.finish(channels, &values, inside);
        };
        let level = self.input(level);
        let levels = self.head(head::LEVELS);
        let there = self.icmp(IntCC::Ult, level, levels);
        let active = self.active();
        let lanes = self.b.iand(active, there);
        // A value more: whether the texel is inside.
        let count = channels.list.len() + 1;
        let (of, here) = self.begin_loop(level, lanes, count);
        let data = self.level_data(of.level);
        let (mut values, inside) = self.fetched(channels, &data);
        let (one, zero) = (self.b.f32(1.0), self.b.f32(0.0));
        values.push(match inside {
            Some(inside) => self.b.select(inside, one, zero),
            None => self.splat(one),
        });
        let mut values = self.end_loop(of, here, &values);
        let inside = values.pop().map(|inside| {
            let (bits, zero) = (self.bits(inside), self.int(0));
            self.icmp(IntCC::Ne, bits, zero)
        });
        self.finish(channels, &values, inside);
    }

    /// Results of channels; all are 0 where `inside` does not hold.
    fn finish(&mut self, channels: &Channels, values: &Texels, inside: Option<Value>) {
        let results: Vec<Value> = channels
            .outcomes
            .iter()
            .map(|outcome| {
                let bits = match *outcome {
                    Outcome::Channel(channel) => self.bits(values[channel]),
                    Outcome::Bits(bits) => self.b.i32(bits),
                };
                match inside {
                    Some(inside) => self.where_holds(inside, bits),
                    None => bits,
                }
            })
            .collect();
        self.give(&results, self.key.request.results.mask);
    }

    /// Puts results into the mailbox.
    fn give(&mut self, results: &[Value], mask: u8) {
        let active = self.active();
        let mut at = usize::from(self.key.request.results.first);
        let mut put = |e: &mut Self, value: Value| {
            let value = e.splat(value);
            e.b.push(Opcode::SlotSet, &[value, active], Imm::Slot(e.slots[at]), None);
            at += 1;
        };
        for (k, &value) in results.iter().enumerate() {
            if mask >> k & 1 != 0 {
                put(self, value);
            }
        }
        if self.key.request.results.zero_behind {
            let zero = self.int(0);
            put(self, zero);
        }
        self.b.terminate(Terminator::Return { exit: 0, exited: None, cond: None });
    }
}

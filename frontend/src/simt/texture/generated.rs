//! Requests as generated code takes them ([`crate::sampling`]).

use std::any::Any;

use warpjit_ir::DeviceCall;
use warpjit_ir::device::{ServeAt, TextureEntry};
use warpjit_texture::{Sampler, View};

use super::device::coordinates_of;
use super::request::{Family, Level, Operation, Request};
use super::{CHANGES, COORDINATES, LAYER, LEVEL, OFFSETS, ORIGIN, REFERENCE, RESULTS};
use crate::sampling::{self, Action, Generated, Input};

/// Lets generated code serve all lanes of a call, which name one texture. `false`: the device has to.
pub(super) fn serve(
    call: &mut DeviceCall<'_>,
    request: &Request,
    header: &TextureEntry,
    entry: Option<&TextureEntry>,
    describe: impl Fn() -> Option<(View, Sampler)>,
) -> bool {
    let known = matches!(request.operation, Operation::Sample | Operation::Fetch | Operation::Gather);
    if !known || request.samples {
        return false;
    }
    let lanes = call.access.lanes() as u8;
    let mut words = [0; 20];
    (words[0], words[1], words[19]) = (call.params as u32, (call.params >> 32) as u32, lanes.into());
    words[2..10].copy_from_slice(header);
    if let Some(entry) = entry {
        words[10] = 1;
        words[11..19].copy_from_slice(entry);
    }
    let at = serve_at(call, request);
    call.access.serve(at, &words, &mut |_| {
        let (view, sampler) = describe()?;
        let generated = Generated::of(&view, &sampler, request.inputs(&view, &sampler, lanes))?;
        Some(Box::new(generated) as Box<dyn Any>)
    })
}

/// The lanes of a call. Which texture they name is fixed if slots are, and what is in them.
fn serve_at(call: &DeviceCall<'_>, request: &Request) -> ServeAt {
    let tables = call.access.textures();
    let in_memory = tables.header_table.is_some() || tables.sampler_table.is_some();
    let fixed = !request.named_by_lanes() && !in_memory;
    ServeAt { mailbox: call.mailbox, lanes: call.lanes, fixed }
}

fn word(n: u32) -> Input {
    Input::Word(n as u8)
}

impl Request {
    /// Where code finds what [`Request::arguments`] reads of a lane.
    fn inputs(&self, view: &View, sampler: &Sampler, lanes: u8) -> sampling::Request {
        let axes = coordinates_of(view.kind) as u32;
        let three = |first: u32| [0, 1, 2].map(|n| if n < axes { word(first + n) } else { Input::None });
        let action = match self.operation {
            Operation::Fetch => Action::Fetch,
            Operation::Gather => Action::Gather { component: self.component, offsets: None },
            _ => Action::Sample,
        };
        let mut to = sampling::Request::new(lanes, action);
        to.results.first = RESULTS as u8;
        to.offset = self
            .offset
            .map(|offset| if offset == 0 { Input::None } else { Input::Bits(i32::from(offset) as u32) });
        to.at = three(COORDINATES);
        if view.kind.has_layers() {
            to.layer = Input::Field { word: LAYER as u8, low: 0, bits: 16, signed: false };
        }
        to.reference = word(REFERENCE);
        let mut given = word(LEVEL);
        if matches!(self.family, Family::G80 | Family::Tesla) {
            self.inputs_in_order(view, sampler, &mut to, &mut given);
        } else {
            self.inputs_of_offsets(&mut to);
        }
        to.level = match self.level {
            Level::Lowest => sampling::Level::Lowest,
            Level::Zero if self.operation == Operation::Fetch => sampling::Level::Lowest,
            Level::Zero => sampling::Level::Given(Input::Bits(0)),
            Level::Given => sampling::Level::Given(given),
            Level::Changes => sampling::Level::Changes(CHANGES.map(|first| {
                let change = |n| Input::Change { to: (first + n) as u8, from: (ORIGIN + n) as u8, add: 0 };
                [0, 1, 2].map(|n| if n < axes { change(n) } else { Input::None })
            })),
        };
        if matches!(self.operation, Operation::Gather)
            || self.operation == Operation::Fetch && self.level != Level::Given
        {
            to.level = sampling::Level::Lowest;
        }
        if self.bias && self.operation == Operation::Sample {
            to.bias = given;
        }
        to
    }

    fn inputs_of_offsets(&self, to: &mut sampling::Request) {
        let field = |low: u8, bits: u8| Input::Field {
            word: OFFSETS as u8 + low / 32,
            low: low % 32,
            bits,
            signed: true,
        };
        match (self.offset_words, &mut to.action) {
            (0, _) => {}
            (1, Action::Gather { .. }) => to.offset = [field(0, 8), field(8, 8), Input::None],
            (1, _) => to.offset = [0, 4, 8].map(|low| field(low, 4)),
            (_, Action::Gather { offsets, .. }) => {
                *offsets = Some([0, 16, 32, 48].map(|low| [field(low, 8), field(low + 8, 8)]));
            }
            _ => {}
        }
    }

    /// Tesla's sources in order.
    fn inputs_in_order(&self, view: &View, sampler: &Sampler, to: &mut sampling::Request, given: &mut Input) {
        let mut words = (0..u32::from(self.sources.min(4))).map(word);
        let mut next = || words.next().unwrap_or_default();
        to.at = [Input::None; 3];
        to.at[..coordinates_of(view.kind)].fill_with(&mut next);
        to.layer = if view.kind.has_layers() { next() } else { Input::None };
        // What there is none of is 0.
        let or_zero = |input: Input| if input == Input::None { Input::Bits(0) } else { input };
        if sampler.compare.is_some() {
            to.reference = or_zero(next());
        }
        if self.bias || self.level == Level::Given {
            *given = or_zero(next());
        }
    }
}

//! Requests as generated code takes them ([`crate::sampling`]).

use std::any::Any;

use warpjit_ir::device::ServeAt;
use warpjit_ir::{DeviceCall, TextureTables};
use warpjit_texture::sample::{CubeCoordinates, Sampler, Wrap};
use warpjit_texture::{Kind, View};

use super::descriptor::{Border, Image, sampler};
use super::{
    ADDRESS, Action, DATA, Form, Level, QUAD_WORDS, SAMPLER, Shape, Word, fixed_border, force_curve, view,
};
use crate::sampling::{self, Generated, Input};

/// Lanes of a wave.
const LANES: u8 = 64;

/// Words of an instruction, its descriptors and, if the launch has them, tables of tilings.
const ALL_WORDS: usize = 16 + 32 + 16;

/// Adds what a launch says about tilings; gives the number of words that count.
fn add_tables(words: &mut [u32; ALL_WORDS], tables: &TextureTables) -> usize {
    let mut count = 16;
    if let Some(config) = tables.address_config {
        (words[14], words[15]) = (1, config);
    }
    if let Some(modes) = &tables.tile_modes {
        words[14] |= 2;
        words[count..count + 32].copy_from_slice(&modes[..]);
        count += 32;
    }
    if let Some(modes) = &tables.macrotile_modes {
        words[14] |= 4;
        words[count..count + 16].copy_from_slice(&modes[..]);
        count += 16;
    }
    count
}

/// Lets generated code serve a call. `false`: the device has to.
pub(super) fn serve(
    call: &mut DeviceCall<'_>,
    word: Word,
    shape: &Shape,
    image: &[u32; 8],
    first: u32,
) -> bool {
    let loads = shape.action == Action::Load(Form::Converted);
    let samples = matches!(shape.action, Action::Sample | Action::Gather);
    if word.half_address() || word.half_data() || !loads && !samples {
        return false;
    }
    let mut words = [0; ALL_WORDS];
    (words[0], words[1]) = (call.params as u32, (call.params >> 32) as u32);
    words[2..10].copy_from_slice(image);
    if samples {
        words[10..14].copy_from_slice(&call.args::<4>(first, SAMPLER));
    }
    let count = add_tables(&mut words, call.access.textures());
    let of_sampler = [words[10], words[11], words[12], words[13]];
    let at = ServeAt { mailbox: call.mailbox, lanes: call.lanes, fixed: false };
    call.access.serve(at, &words[..count], &mut |tables| {
        let chip = word.chip();
        let image = Image::read(image, chip.generation(), word.short(), word.array()).ok()??;
        let mut view = view(&image, chip, tables).ok()?;
        if samples {
            force_curve(&mut view, &image, &of_sampler);
        }
        // Each lane names a sample.
        if image.samples > 1 {
            return None;
        }
        // Some slices of cubes are none, and quads may lie on several faces.
        if view.kind.is_cube() && (loads || shape.level == Level::Implicit) {
            return None;
        }
        let sampler =
            if samples { samplers(&of_sampler, word, shape, &image, &view)? } else { Sampler::default() };
        let request = request(word, shape, &view);
        Some(Box::new(Generated::of(&view, &sampler, request)?) as Box<dyn Any>)
    })
}

/// The sampler of an instruction; `None` if it has a border whose colour is in memory.
fn samplers(words: &[u32; 4], word: Word, shape: &Shape, image: &Image, view: &View) -> Option<Sampler> {
    let (mut sampler, border) = sampler(words, word.chip().generation());
    if !shape.compare {
        sampler.compare = None;
    }
    sampler.unnormalized |= word.unnormalized();
    let inside = [Wrap::Wrap, Wrap::Mirror, Wrap::ClampToEdge, Wrap::MirrorOnceEdge];
    sampler.border = match border {
        Border::Fixed(components) => fixed_border(image, view, components),
        Border::Entry(_) if sampler.wrap.iter().all(|wrap| inside.contains(wrap)) => [0; 4],
        Border::Entry(_) => return None,
    };
    Some(sampler)
}

/// What is in which address register, as [`super::address::Address::read`] takes it.
fn request(word: Word, shape: &Shape, view: &View) -> sampling::Request {
    let kind = view.kind;
    let axes = kind.axes();
    let coordinates = axes + usize::from(kind.has_layers() || kind.is_cube());
    let mut registers = ADDRESS as u8..;
    let mut next = || registers.next().unwrap_or(u8::MAX);
    let action = match shape.action {
        Action::Gather => {
            sampling::Action::Gather { component: word.dmask().trailing_zeros().min(3) as u8, offsets: None }
        }
        Action::Load(_) => sampling::Action::Fetch,
        _ => sampling::Action::Sample,
    };
    let mut to = sampling::Request::new(LANES, action);
    let gathers = shape.action == Action::Gather;
    to.results = sampling::Results {
        first: 0,
        mask: if gathers { 15 } else { word.dmask() as u8 & 15 },
        zero_behind: true,
    };
    to.cube = CubeCoordinates::Face;
    if !shape.samples() {
        (0..axes).for_each(|axis| to.at[axis] = Input::Word(next()));
        if coordinates > axes {
            to.layer = Input::Word(next());
        }
        if shape.level == Level::Given {
            to.level = sampling::Level::Given(Input::Word(next()));
        }
        return to;
    }
    if shape.offset {
        let word = next();
        to.offset = [0, 8, 16].map(|low| Input::Field { word, low, bits: 6, signed: true });
    }
    if shape.bias {
        to.bias = Input::Word(next());
    }
    if shape.compare {
        to.reference = Input::Word(next());
    }
    let mut changes = [[Input::None; 3]; 2];
    if shape.level == Level::Gradients {
        for direction in &mut changes {
            (0..axes).for_each(|axis| direction[axis] = Input::Word(next()));
        }
    }
    let place: Vec<u8> = (0..coordinates).map(|_| next()).collect();
    // Those on a cube's face are 1 to 2.
    let add = if kind.is_cube() { -1 } else { 0 };
    (0..axes).for_each(|axis| to.at[axis] = Input::Sum(place[axis], add));
    to.layer = match kind {
        _ if kind.is_cube() => Input::Face(place[2]),
        Kind::D1Array => Input::Rounded(place[1]),
        Kind::D2Array => Input::Rounded(place[2]),
        _ => Input::None,
    };
    let level = if shape.clamp || shape.level == Level::Given { Input::Word(next()) } else { Input::None };
    if shape.clamp {
        to.clamp = level;
    }
    if shape.level == Level::Implicit {
        let quad = |lane: u32, axis: usize| (DATA + QUAD_WORDS * lane) as u8 + axis as u8;
        for (n, direction) in (1..).zip(&mut changes) {
            (0..axes).for_each(|axis| {
                direction[axis] = Input::Change { to: quad(n, axis), from: quad(0, axis), add };
            });
        }
    }
    to.level = match shape.level {
        Level::Zero => sampling::Level::Lowest,
        Level::Given => sampling::Level::Given(level),
        Level::Gradients | Level::Implicit => sampling::Level::Changes(changes),
    };
    to
}

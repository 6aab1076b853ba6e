//! What a draw is done with, read from the registers of its context.

use super::Refused;
use super::clip::Clipping;
use super::depth::DepthState;
use super::geometry::Geometry;
use super::registers::Registers;
use super::samples::Samples;
use super::stream::StreamOutput;
use super::target::{self, ColorTarget};
use super::tessellation::Tessellation;
use super::vertices::Vertex;
use crate::chip::Chip;
use warpjit_frontend::gcn::abi::tmpring;
use warpjit_runtime::WarpRing;

/// The program of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Code {
    pub address: u64,
    pub rsrc1: u32,
    pub rsrc2: u32,
    pub user_data: Vec<u32>,
}

/// A rectangle of pixels; the ends are not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub left: i32,
    pub top: i32,
    pub right: i32,
    pub bottom: i32,
}

impl Bounds {
    /// What is in both.
    pub fn and(self, other: Bounds) -> Bounds {
        Bounds {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.min(other.right),
            bottom: self.bottom.min(other.bottom),
        }
    }

    /// Whether nothing is in it.
    pub fn is_empty(self) -> bool {
        self.left >= self.right || self.top >= self.bottom
    }
}

/// From clip space to the screen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Viewport {
    pub scale: [f64; 3],
    pub offset: [f64; 3],
    /// What depths are clamped to.
    pub depths: [f32; 2],
    pub scissor: Bounds,
}

/// Which of a triangle's sides is drawn, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Faces {
    pub cull_front: bool,
    pub cull_back: bool,
    /// Whether a triangle whose corners go clockwise on the screen, with rows going down, is seen from its front.
    pub clockwise_is_front: bool,
    /// Whether the last vertex of a primitive gives flat attributes, and not the first.
    pub last_provokes: bool,
    /// What is drawn of front and back faces.
    pub fill: [Fill; 2],
}

/// What is drawn of a triangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fill {
    Corners,
    Sides,
    All,
}

/// How depths of triangles are moved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DepthBias {
    pub scale: f64,
    pub offset: f64,
    pub clamp: f64,
}

/// What a vertex exports besides its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct VertexExports {
    pub positions: u32,
    pub parameters: u32,
    /// Which position export has point size, layer and viewport.
    pub extra: Option<u32>,
    pub has_point_size: bool,
    pub has_layer: bool,
    pub has_viewport: bool,
    /// Which position exports have distances to planes, and which distances clip and cull.
    pub distances: [Option<u32>; 2],
    pub clip: u8,
    pub cull: u8,
}

/// Everything that a draw is done with.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub primitive: u32,
    pub tessellation: Option<Tessellation>,
    pub geometry: Option<Geometry>,
    pub vertex: Code,
    pub stream: Option<StreamOutput>,
    pub pixel: Code,
    pub exports: VertexExports,
    /// Whether X and Y are those of the screen already.
    pub is_window_space: bool,
    pub viewports: Vec<Viewport>,
    pub clipping: Clipping,
    pub faces: Faces,
    /// Of front and back faces.
    pub bias: [Option<DepthBias>; 2],
    /// Half of a point's size, and of a line's width.
    pub half_point: [f64; 2],
    pub point_limits: [f64; 2],
    pub half_line: f64,
    /// Where in a pixel its centre is: 0 or 0.5.
    pub center: f64,
    /// SPI_PS_INPUT_ENA, SPI_PS_INPUT_ADDR, SPI_PS_INPUT_CNTL of each attribute.
    pub inputs: [u32; 2],
    pub attributes: Vec<u32>,
    /// SPI_INTERP_CONTROL_0, SPI_BARYC_CNTL.
    pub interpolation: u32,
    pub barycentric: u32,
    /// SPI_SHADER_COL_FORMAT, SPI_SHADER_Z_FORMAT.
    pub color_format: u32,
    pub depth_format: u32,
    pub targets: Vec<ColorTarget>,
    /// Whether the second target gets the means of the first.
    pub resolves: bool,
    pub samples: Samples,
    pub depth: DepthState,
    pub border_colors: Option<u64>,
    /// How scratch memory is shared out.
    pub scratch_ring: WarpRing,
}

fn bounds(registers: Registers<'_>, address: u32) -> Bounds {
    let (from, to) = (registers.at(address), registers.at(address + 4));
    let part = |value: u32| (value & 0x7fff) as i32;
    Bounds { left: part(from), top: part(from >> 16), right: part(to), bottom: part(to >> 16) }
}

impl Code {
    /// The program whose registers begin at an address: its place, RSRC1, RSRC2 and the user data.
    pub fn new(registers: Registers<'_>, address: u32, gfx9: bool) -> Code {
        let rsrc2 = registers.at(address + 12);
        let users = rsrc2 >> 1 & 31 | if gfx9 { (rsrc2 >> 28 & 1) << 5 } else { 0 };
        let high = registers.at(address + 4) & 0xff;
        Code {
            address: u64::from(registers.at(address)) << 8 | u64::from(high) << 40,
            rsrc1: registers.at(address + 8),
            rsrc2,
            user_data: (0..users.min(32)).map(|word| registers.at(address + 16 + 4 * word)).collect(),
        }
    }

    /// One of gfx9 that is two programs in one, whose registers are in three places.
    pub fn merged(registers: Registers<'_>, address: u32, rsrc: u32, user_data: u32) -> Code {
        let rsrc2 = registers.at(rsrc + 4);
        let users = rsrc2 >> 1 & 31 | (rsrc2 >> 28 & 1) << 5;
        let high = registers.at(address + 4) & 0xff;
        Code {
            address: u64::from(registers.at(address)) << 8 | u64::from(high) << 40,
            rsrc1: registers.at(rsrc),
            rsrc2,
            user_data: (0..users.min(32)).map(|word| registers.at(user_data + 4 * word)).collect(),
        }
    }

    /// The program with words of its own, as a launch gives user data to it.
    fn with_words(&self, chip: &Chip, user_data: Vec<u32>) -> Result<Code, Refused> {
        let gfx9 = chip.generation >= 9;
        let count = user_data.len() as u32;
        if count > if gfx9 { 40 } else { 31 } {
            return Err(Refused("a program with so many scalar registers"));
        }
        let upper = if gfx9 { (count >> 5) << 28 } else { 0 };
        let others = self.rsrc2 & !(31 << 1 | if gfx9 { 1 << 28 } else { 0 });
        Ok(Code { rsrc2: others | (count & 31) << 1 | upper, user_data, ..self.clone() })
    }

    /// The program with what the hardware loads behind its user data.
    ///
    /// # Errors
    /// There are too many words.
    pub fn with(&self, chip: &Chip, more: &[u32]) -> Result<Code, Refused> {
        self.with_words(chip, [&self.user_data[..], more].concat())
    }

    /// The program with what the hardware loads ahead of its user data.
    ///
    /// # Errors
    /// There are too many words.
    pub fn behind(&self, chip: &Chip, system: &[u32]) -> Result<Code, Refused> {
        self.with_words(chip, [system, &self.user_data[..]].concat())
    }
}

fn viewport(registers: Registers<'_>, number: u32, common: Bounds) -> Viewport {
    let vte = registers.at(0x28818);
    let first = 0x2843c + 24 * number;
    let of = |axis: u32, bit: u32, register: u32, default: f64| match vte >> (2 * axis + bit) & 1 {
        0 => default,
        _ => f64::from(registers.float(register)),
    };
    let mut scissor = common;
    // VPORT_SCISSOR_ENABLE
    if registers.bit(0x28a48, 1) {
        scissor = scissor.and(bounds(registers, 0x28250 + 8 * number));
    }
    let mut depths = [0, 4].map(|at| registers.float(0x282d0 + 8 * number + at));
    // DISABLE_VIEWPORT_CLAMP
    if registers.bit(0x2800c, 16) {
        depths = [f32::NEG_INFINITY, f32::INFINITY];
    }
    Viewport {
        scale: [0, 1, 2].map(|axis| of(axis, 0, first + 8 * axis, 1.0)),
        offset: [0, 1, 2].map(|axis| of(axis, 1, first + 8 * axis + 4, 0.0)),
        depths,
        scissor,
    }
}

fn exports(registers: Registers<'_>) -> VertexExports {
    let control = registers.at(0x2881c);
    let bit = |number: u32| control >> number & 1 != 0;
    let formats = registers.at(0x2870c);
    let positions = (0..4).filter(|n| formats >> (4 * n) & 15 != 0).count() as u32;
    let mut next = 1;
    let mut take = |wanted: bool| {
        wanted.then(|| {
            next += 1;
            next - 1
        })
    };
    let extra = take(bit(21));
    let distances = [take(bit(22)), take(bit(23))];
    VertexExports {
        positions: positions.max(1),
        parameters: (registers.at(0x286c4) >> 1 & 31) + 1,
        extra,
        has_point_size: bit(16),
        has_layer: bit(18),
        has_viewport: bit(19),
        distances,
        clip: control as u8,
        cull: (control >> 8) as u8,
    }
}

fn bias(registers: Registers<'_>, enable: u32, first: u32) -> Option<DepthBias> {
    registers.bit(0x28814, enable).then(|| DepthBias {
        // The register has sixteen times the factor.
        scale: f64::from(registers.float(first)) / 16.0,
        offset: f64::from(registers.float(first + 4)),
        clamp: f64::from(registers.float(0x28b7c)),
    })
}

/// What is not done, of all that registers can ask for.
fn check(registers: Registers<'_>) -> Result<(), Refused> {
    // LS, HS, ES and GS: none, or ES that is no program of tessellation, and GS; and the same with LS and HS.
    if !matches!(registers.at(0x28b54) & 0x3f, 0 | 0x30 | 0x20 | 0x5 | 0x2d | 0x25) {
        return Err(Refused("such an order of programs"));
    }
    // DEPTH_COPY, STENCIL_COPY
    if registers.at(0x28000) & 0xc != 0 {
        return Err(Refused("copies of depths to colours without a program"));
    }
    if registers.at(0x28b94) & 0xe != 0 && registers.at(0x28b98) & !15 != 0 {
        return Err(Refused("stream output of streams behind the first"));
    }
    Ok(())
}

impl State {
    /// Reads all registers.
    ///
    /// # Errors
    /// What is asked for and not done.
    pub fn new(chip: &Chip, registers: Registers<'_>) -> Result<State, Refused> {
        check(registers)?;
        let gfx9 = chip.generation >= 9;
        let mut common = bounds(registers, 0x28030).and(bounds(registers, 0x28204));
        common = common.and(bounds(registers, 0x28240));
        let (clip, mode) = (registers.at(0x28810), registers.at(0x28814));
        let bit = |word: u32, number: u32| word >> number & 1 != 0;
        let exports = exports(registers);
        let viewports = if exports.has_viewport { 16 } else { 1 };
        let sixteenths = |value: u32| f64::from(value & 0xffff) / 16.0;
        let (point, limits) = (registers.at(0x28a00), registers.at(0x28a04));
        let colors = registers.at(0x28080);
        let colors_high = if chip.generation == 6 { 0 } else { registers.at(0x28084) & 0xff };
        let colors = u64::from(colors) << 8 | u64::from(colors_high) << 40;
        let center = if registers.bit(0x28be4, 0) { 0.5 } else { 0.0 };
        Ok(State {
            primitive: registers.at(if chip.generation == 6 { 0x8958 } else { 0x3_0908 }) & 0x3f,
            tessellation: match registers.bit(0x28b54, 2) {
                true => Some(Tessellation::new(chip, registers)?),
                false => None,
            },
            geometry: registers.bit(0x28b54, 5).then(|| Geometry::new(chip, registers)),
            vertex: Code::new(registers, 0xb120, gfx9),
            stream: StreamOutput::new(registers, registers.at(0xb12c)),
            pixel: Code::new(registers, 0xb020, gfx9),
            exports,
            is_window_space: registers.bit(0x28818, 8),
            viewports: (0..viewports).map(|number| viewport(registers, number, common)).collect(),
            clipping: Clipping {
                enabled: !bit(clip, 16),
                near: !bit(clip, 26),
                far: !bit(clip, 27),
                zero_to_one: bit(clip, 19),
            },
            faces: Faces {
                cull_front: bit(mode, 0),
                cull_back: bit(mode, 1),
                clockwise_is_front: bit(mode, 2),
                last_provokes: bit(mode, 19),
                // POLY_MODE, and the kinds of both faces.
                fill: [5, 8].map(|at| match (mode >> 3 & 3, mode >> at & 7) {
                    (1, 0) => Fill::Corners,
                    (1, 1) => Fill::Sides,
                    _ => Fill::All,
                }),
            },
            bias: [bias(registers, 11, 0x28b80), bias(registers, 12, 0x28b88)],
            half_point: [sixteenths(point >> 16), sixteenths(point)],
            point_limits: [sixteenths(limits), sixteenths(limits >> 16)],
            half_line: sixteenths(registers.at(0x28a08)),
            center,
            inputs: [registers.at(0x286cc), registers.at(0x286d0)],
            attributes: (0..registers.at(0x286d8) & 0x3f).map(|n| registers.at(0x28644 + 4 * n)).collect(),
            interpolation: registers.at(0x286d4),
            barycentric: registers.at(0x286e0),
            color_format: registers.at(0x28714),
            depth_format: registers.at(0x28710) & 15,
            targets: target::targets(chip, registers)?,
            resolves: target::is_resolve(registers),
            samples: Samples::new(registers, center),
            depth: DepthState::new(chip, registers)?,
            border_colors: (colors != 0).then_some(colors),
            // SPI_TMPRING_SIZE
            scratch_ring: tmpring(registers.at(0x286e8)),
        })
    }

    /// The number of a primitive as programs see it: that of its patch, or its own.
    pub fn number_of(&self, vertices: &[Vertex], own: u32) -> u32 {
        match (&self.tessellation, vertices.first()) {
            (Some(_), Some(vertex)) => vertex.fourth,
            _ => own,
        }
    }
}

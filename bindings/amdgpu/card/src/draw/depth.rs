//! The depth and stencil tests of a draw.
//!
//! In: the card's DB registers, which say where depths and stencils are and how they are compared, and a fragment (a pixel's sample with
//! its depth). Out: whether the fragment is drawn. What the tests write goes to memory at once.

use super::Refused;
use super::registers::{Registers, tile_mode};
use super::target::{Surface, view};
use crate::chip::Chip;
use crate::memory::AddressSpace;
use warpjit_runtime::Denied;
use warpjit_texture::format::Number;
use warpjit_texture::layout::gcn::{Micro, TileMode};
use warpjit_texture::layout::gfx9;
use warpjit_texture::{Format, Kind, Layout};

/// Formats of DB_Z_INFO.
const FORMATS: [Format; 3] = [
    Format::fields(2, &[(0, 16, Number::Unorm)]),
    Format::fields(4, &[(0, 24, Number::Unorm)]),
    Format::fields(4, &[(0, 32, Number::Float)]),
];
const STENCIL: Format = Format::fields(1, &[(0, 8, Number::Uint)]);

/// What a side of triangles does with stencils.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StencilSide {
    function: u32,
    /// Where the stencil test fails, where both tests pass, where the depth test fails.
    fail: u32,
    pass: u32,
    depth_fail: u32,
    reference: u8,
    mask: u8,
    write_mask: u8,
    operand: u8,
}

/// Depth and stencil of a draw.
#[derive(Debug, Clone)]
pub(super) struct DepthState {
    surface: Option<(Surface, Format)>,
    stencil_surface: Option<Surface>,
    /// What depths are compared by, and whether they are written.
    function: Option<u32>,
    writes: bool,
    stencil: Option<[StencilSide; 2]>,
    /// Between which the depth that is there must be.
    limits: Option<[f32; 2]>,
    /// What all depths and stencils become, whatever is drawn.
    clear: [Option<u32>; 2],
    /// DB_SHADER_CONTROL.
    pub shader: u32,
    /// Bits of a depth's mantissa, by which offsets count.
    pub is_float: bool,
    pub bits: u32,
}

/// A pixel on its way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fragment {
    /// Column, row, layer and sample.
    pub place: [u32; 4],
    pub depth: f32,
    pub is_front: bool,
    /// A stencil of the program's in place of the reference.
    pub stencil: Option<u8>,
}

fn compare<T: PartialOrd>(function: u32, new: T, old: T) -> bool {
    match function & 7 {
        0 => false,
        1 => new < old,
        2 => new == old,
        3 => new <= old,
        4 => new > old,
        5 => new != old,
        6 => new >= old,
        _ => true,
    }
}

impl StencilSide {
    fn new(functions: u32, operations: u32, values: u32) -> StencilSide {
        StencilSide {
            function: functions & 7,
            fail: operations & 15,
            pass: operations >> 4 & 15,
            depth_fail: operations >> 8 & 15,
            reference: values as u8,
            mask: (values >> 8) as u8,
            write_mask: (values >> 16) as u8,
            operand: (values >> 24) as u8,
        }
    }

    fn operate(&self, operation: u32, old: u8, reference: u8) -> u8 {
        let operand = self.operand;
        let new = match operation {
            1 => 0,
            2 => 0xff,
            3 => reference,
            4 => operand,
            5 => old.saturating_add(operand),
            6 => old.saturating_sub(operand),
            7 => !old,
            8 => old.wrapping_add(operand),
            9 => old.wrapping_sub(operand),
            10 => old & operand,
            11 => old | operand,
            12 => old ^ operand,
            13 => !(old & operand),
            14 => !(old | operand),
            15 => !(old ^ operand),
            _ => old,
        };
        new & self.write_mask | old & !self.write_mask
    }
}

fn surfaces(chip: &Chip, registers: Registers<'_>) -> Result<[Option<(Surface, Format)>; 2], Refused> {
    let gfx9 = chip.generation >= 9;
    let (z_info, stencil_info) = if gfx9 { (0x28038, 0x2803c) } else { (0x28040, 0x28044) };
    let (z_info, stencil_info) = (registers.at(z_info), registers.at(stencil_info));
    let word = registers.at(0x28008);
    let layers = [word & 0x7ff, word >> 13 & 0x7ff];
    let z = FORMATS.get((z_info & 3).wrapping_sub(1) as usize).copied();
    let stencil = (stencil_info & 1 != 0).then_some(STENCIL);
    let samples = 1 << (z_info >> 2 & 3);
    if gfx9 {
        let size = registers.at(0x2801c);
        let size = [(size & 0x3fff) + 1, (size >> 16 & 0x3fff) + 1, 1];
        let make = |format: Format, info: u32, base: u32, pitch: u32| {
            let address = u64::from(registers.at(base)) << 8 | u64::from(registers.at(base + 4) & 0xff) << 40;
            let layout = Layout::Gfx9(gfx9::Surface {
                swizzle: (info >> 4 & 31) as u8,
                pitch: (registers.at(pitch) & 0xffff) + 1,
                levels: (z_info >> 16 & 15) + 1,
                gb_addr_config: chip.address_config,
                samples,
                sample: 0,
            });
            let view = view(Kind::D2Array, size, format, layout, address);
            (Surface::new(&view, word >> 26 & 15, layers), format)
        };
        return Ok([
            z.map(|format| make(format, z_info, 0x28050, 0x28068)),
            stencil.map(|format| make(format, stencil_info, 0x28058, 0x2806c)),
        ]);
    }
    let (size, slice) = (registers.at(0x28058), registers.at(0x2805c));
    let pitch = ((size & 0x7ff) + 1) * 8;
    let slice = u64::from((slice & 0x3f_ffff) + 1) * 64;
    let make = |format: Format, info: u32, base: u32| {
        let mode = match chip.generation {
            6 => tile_mode(chip, info >> 20 & 7, format.bytes, samples),
            _ => TileMode { samples, ..depth_mode(registers.at(0x2803c), info) },
        };
        let address = u64::from(registers.at(base)) << 8;
        (Surface::old(address, mode, pitch, slice, format, layers), format)
    };
    Ok([
        z.map(|format| make(format, z_info, 0x28050)),
        stencil.map(|format| make(format, stencil_info, 0x28054)),
    ])
}

/// How depths or stencils are laid out on gfx7 and gfx8, by DB_DEPTH_INFO and their own register.
fn depth_mode(all: u32, own: u32) -> TileMode {
    TileMode {
        array_mode: (all >> 4 & 15) as u8,
        micro: Micro::Depth,
        pipe_config: (all >> 8 & 31) as u8,
        tile_split: 64 << (own >> 13 & 7).min(6),
        bank_width: 1 << (all >> 13 & 3),
        bank_height: 1 << (all >> 15 & 3),
        macro_aspect: 1 << (all >> 17 & 3),
        banks: 2 << (all >> 19 & 3),
        samples: 1,
        thins_out: false,
    }
}

impl DepthState {
    /// By the registers.
    ///
    /// # Errors
    /// What is asked for and not done.
    pub fn new(chip: &Chip, registers: Registers<'_>) -> Result<DepthState, Refused> {
        let [surface, stencil_surface] = surfaces(chip, registers)?;
        let (control, render) = (registers.at(0x28800), registers.at(0x28000));
        let bit = |number: u32| control >> number & 1 != 0;
        let view = registers.at(0x28008);
        let operations = registers.at(0x2842c);
        let front = StencilSide::new(control >> 8, operations, registers.at(0x28430));
        let back = match bit(7) {
            true => StencilSide::new(control >> 20, operations >> 12, registers.at(0x28434)),
            false => front,
        };
        let bits = match &surface {
            Some((_, format)) if format.bytes == 2 => 16,
            _ => 24,
        };
        let is_float = surface.as_ref().is_some_and(|(_, format)| *format == FORMATS[2]);
        let clear_depth = registers.at(0x2802c);
        Ok(DepthState {
            function: (bit(1) && surface.is_some()).then_some(control >> 4 & 7),
            writes: bit(1) && bit(2) && view >> 24 & 1 == 0,
            stencil: (bit(0) && stencil_surface.is_some()).then_some([front, back]).map(|sides| {
                let read_only = view >> 25 & 1 != 0;
                sides.map(|side| if read_only { StencilSide { write_mask: 0, ..side } } else { side })
            }),
            limits: (bit(3) && surface.is_some())
                .then(|| [registers.float(0x28020), registers.float(0x28024)]),
            clear: [
                (render & 1 != 0).then_some(clear_depth),
                (render & 2 != 0).then_some(registers.at(0x28028) & 0xff),
            ],
            surface,
            stencil_surface: stencil_surface.map(|(surface, _)| surface),
            shader: registers.at(0x2880c),
            is_float,
            bits,
        })
    }

    /// Whether there is anything to test or write.
    pub fn is_used(&self) -> bool {
        self.function.is_some() || self.stencil.is_some() || self.limits.is_some()
    }

    /// Whether tests come before the program: they do where nothing the program does can change them.
    pub fn is_early(&self) -> bool {
        // DEPTH_BEFORE_SHADER, else: exports of depth, stencil and coverage, and discarding.
        const AFTER: u32 = 1 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 8;
        self.shader >> 12 & 1 != 0 || self.shader & AFTER == 0
    }

    /// Tests a pixel, and writes its depth and stencil. Gives whether it is drawn.
    pub fn test(&self, space: &AddressSpace, fragment: &Fragment) -> Result<bool, Denied> {
        let [x, y, layer, sample] = fragment.place;
        // A surface with fewer samples has the last for the others.
        let of = |surface: &Surface| [x, y, layer, sample.min(surface.samples() - 1)];
        let old = match &self.surface {
            Some((surface, format)) if self.function.is_some() || self.limits.is_some() => {
                let element = surface.load(space, of(surface))?;
                Some((surface, format, element))
            }
            _ => None,
        };
        if let (Some([low, high]), Some((_, format, element))) = (self.limits, &old) {
            let depth = f32::from_bits(format.decode(element, 0, 0)[0]);
            if !(low..=high).contains(&depth) {
                return Ok(false);
            }
        }
        let mut passes_stencil = true;
        let mut stencil = None;
        if let (Some(sides), Some(surface)) = (&self.stencil, &self.stencil_surface) {
            let side = &sides[usize::from(!fragment.is_front)];
            let element = surface.load(space, of(surface))?;
            let reference = fragment.stencil.unwrap_or(side.reference);
            passes_stencil = compare(side.function, reference & side.mask, element[0] & side.mask);
            stencil = Some((surface, side, element[0], reference));
        }
        let mut passes_depth = true;
        let mut new_depth = None;
        if let (Some(function), Some((surface, format, element))) = (self.function, old) {
            // As it is stored: what is written compares equal.
            let new = format.encode([fragment.depth.to_bits(), 0, 0, 0]).unwrap_or(element);
            let number = |element: &[u8; 16]| f32::from_bits(format.decode(element, 0, 0)[0]);
            passes_depth = compare(function, number(&new), number(&element));
            if self.writes {
                new_depth = Some((surface, format, new));
            }
        }
        if let Some((surface, side, old, reference)) = stencil {
            let operation = match (passes_stencil, passes_depth) {
                (false, _) => side.fail,
                (true, false) => side.depth_fail,
                (true, true) => side.pass,
            };
            let new = match self.clear[1] {
                Some(clear) => clear as u8,
                None => side.operate(operation, old, reference),
            };
            if new != old {
                let mut element = [0; 16];
                element[0] = new;
                surface.store(space, of(surface), &element)?;
            }
        }
        let passes = passes_stencil && passes_depth;
        if passes && let Some((surface, format, mut new)) = new_depth {
            if let Some(clear) = self.clear[0] {
                new = format.encode([clear, 0, 0, 0]).unwrap_or(new);
            }
            surface.store(space, of(surface), &new)?;
        }
        Ok(passes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stencils() {
        let side = StencilSide::new(7, 3 | 5 << 4 | 9 << 8, 0x0f | 0xff << 8 | 0x3c << 16 | 1 << 24);
        assert_eq!((side.fail, side.pass, side.depth_fail), (3, 5, 9));
        assert_eq!(side.operate(3, 0xf0, 0x0f), 0xcc);
        assert_eq!(side.operate(5, 0xff, 0), 0xff);
        assert_eq!(side.operate(8, 0xff, 0), 0xc3);
        assert_eq!(side.operate(0, 0x55, 0), 0x55);
    }

    #[test]
    fn comparisons() {
        let of =
            |new: f32, old: f32| (0..8).filter(|&function| compare(function, new, old)).collect::<Vec<u32>>();
        assert_eq!(of(0.0, 1.0), [1, 3, 5, 7]);
        assert_eq!(of(1.0, 1.0), [2, 3, 6, 7]);
        assert_eq!(of(1.0, 0.0), [4, 5, 6, 7]);
        assert_eq!(of(f32::NAN, 0.0), [5, 7]);
    }
}

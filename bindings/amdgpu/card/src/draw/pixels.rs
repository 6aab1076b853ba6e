//! The pixel program of a draw, and what becomes of its exports.

use super::depth::Fragment;
use super::launch::{Stage, run};
use super::raster::{Area, Values};
use super::state::State;
use super::vertices::Exports;
use super::{Around, Problem};
use warpjit_runtime::stage::{
    Batch, ExportTarget, InputPlace, OutputPlace, Per, Quad, Rows, RowsMut, StageInput, StageInterface,
    StageOutput, Work,
};
use warpjit_texture::{Texel, format};

/// Quads that are shaded at a time.
const MOST_QUADS: usize = 1 << 14;

/// Registers of each input by its bit in SPI_PS_INPUT_ENA.
const REGISTERS: [u32; 16] = [2, 2, 2, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1];
/// Words of a row of attributes: for each of four components the value at the first vertex, and what the other two add.
const ATTRIBUTE_WORDS: usize = 12;

/// Formats of SPI_SHADER_COL_FORMAT.
mod export {
    pub const R: u32 = 1;
    pub const GR: u32 = 2;
    pub const AR: u32 = 3;
    pub const FLOAT_16: u32 = 4;
    pub const UNORM_16: u32 = 5;
    pub const SNORM_16: u32 = 6;
    pub const UINT_16: u32 = 7;
    pub const SINT_16: u32 = 8;
}

/// Pixels that wait for being shaded, in the order of their primitives.
pub(super) struct Pixels<'a> {
    around: &'a Around<'a>,
    state: &'a State,
    exports: &'a Exports,
    interface: StageInterface,
    areas: Vec<Area>,
    quads: Vec<Quad>,
    /// Of each quad: the samples of its pixels that are covered, and the first sample that it is run for.
    covered: Vec<([u32; 4], u32)>,
    /// Samples that have passed all tests.
    pub samples: u64,
    /// Pixels for which the program has run.
    pub invocations: u64,
}

/// Numbers of the colours that are exported, with their formats.
fn colors(state: &State) -> Vec<(u32, u32)> {
    let format = |n: u32| state.color_format >> (4 * n) & 15;
    (0..8).map(|n| (n, format(n))).filter(|(_, format)| *format != 0).collect()
}

fn interface(state: &State) -> StageInterface {
    let mut inputs: Vec<StageInput> = (0..state.attributes.len() as u32)
        .map(|n| StageInput { place: InputPlace::Attribute(n), words: 4, per: Per::Primitive })
        .collect();
    let [enabled, allocated] = state.inputs;
    let mut register = 0;
    for (bit, words) in (0..).zip(REGISTERS) {
        if enabled >> bit & 1 != 0 {
            inputs.push(StageInput { place: InputPlace::Register(register), words, per: Per::Pixel });
        }
        if (allocated | enabled) >> bit & 1 != 0 {
            register += words;
        }
    }
    let output = |target| StageOutput { place: OutputPlace::Export(target, false), words: 4 };
    let mut outputs: Vec<StageOutput> =
        colors(state).iter().map(|(n, _)| output(ExportTarget::Mrt(*n))).collect();
    if state.depth_format != 0 {
        outputs.push(output(ExportTarget::Mrtz));
    }
    StageInterface {
        stage: warpjit_runtime::stage::Stage::Fragment,
        inputs,
        outputs,
        ..StageInterface::default()
    }
}

/// An exported colour as floats or integers.
fn texel(format: u32, words: [u32; 4]) -> Texel {
    let number = match format {
        export::FLOAT_16 => 7,
        export::UNORM_16 => 0,
        export::SNORM_16 => 1,
        export::UINT_16 => 4,
        export::SINT_16 => 5,
        export::R => return [words[0], 0, 0, 0],
        export::GR => return [words[0], words[1], 0, 0],
        export::AR => return [words[0], 0, 0, words[3]],
        _ => return words,
    };
    let mut element = [0; 16];
    element[..4].copy_from_slice(&words[0].to_le_bytes());
    element[4..8].copy_from_slice(&words[1].to_le_bytes());
    // Four components of 16 bits.
    format::gcn(12, number, false).map_or(words, |format| format.decode(&element, 0, 0))
}

impl<'a> Pixels<'a> {
    /// No pixels yet.
    pub fn new(around: &'a Around<'a>, state: &'a State, exports: &'a Exports) -> Pixels<'a> {
        Pixels {
            around,
            state,
            exports,
            interface: interface(state),
            areas: Vec::new(),
            quads: Vec::new(),
            covered: Vec::new(),
            samples: 0,
            invocations: 0,
        }
    }

    /// Adds what an area covers.
    ///
    /// # Errors
    /// As [`Pixels::shade`].
    pub fn add(&mut self, area: Area, inside: super::state::Bounds) -> Result<(), Problem> {
        let is_early = self.state.depth.is_used() && self.state.depth.is_early();
        let shared = area.clone();
        self.areas.push(area);
        let state = self.state;
        shared.quads(inside, &state.samples, |mut quad, mut covered| {
            if is_early {
                for (lane, covered) in (0..).zip(&mut covered) {
                    *covered = self.test(&shared, &quad, lane, *covered, None)?;
                }
            }
            for run in 0..state.samples.runs {
                let (first, of_run) = state.samples.of_run(run);
                let own = covered.map(|covered| covered & of_run);
                quad.mask =
                    (0..4).filter(|lane| own[*lane as usize] != 0).fold(0, |mask, lane| mask | 1 << lane);
                if quad.mask == 0 {
                    continue;
                }
                if self.quads.len() == MOST_QUADS {
                    self.shade()?;
                    self.areas.push(shared.clone());
                }
                quad.primitive = self.areas.len() as u32 - 1;
                self.quads.push(quad);
                self.covered.push((own, first));
            }
            Ok(())
        })
    }

    /// Which of some samples of a pixel of a quad pass the tests of depth and stencil. `exported`: a depth and a stencil of the program's.
    fn test(
        &self,
        area: &Area,
        quad: &Quad,
        lane: u32,
        samples: u32,
        exported: Option<(Option<f32>, Option<u8>)>,
    ) -> Result<u32, Problem> {
        let (depth, stencil) = exported.unwrap_or_default();
        let (x, y) = (quad.x + (lane & 1), quad.y + (lane >> 1));
        let mut passed = 0;
        for sample in (0..self.state.samples.count).filter(|sample| samples >> sample & 1 != 0) {
            let own = || area.depth(&area.values_at(x, y, self.state.samples.position(lane, sample)));
            let fragment = Fragment {
                place: [x, y, area.layer, sample],
                depth: depth.unwrap_or_else(own),
                is_front: area.is_front,
                stencil,
            };
            if self.state.depth.test(self.around.space, &fragment)? {
                passed |= 1 << sample;
            }
        }
        Ok(passed)
    }

    /// Whether nothing depends on the program.
    fn needs_no_program(&self) -> bool {
        const ON_HIER_FAIL_OR_NOOP: u32 = 3 << 9;
        let depth = &self.state.depth;
        self.state.targets.is_empty() && depth.is_early() && depth.shader & ON_HIER_FAIL_OR_NOOP == 0
    }

    /// Shades all that waits, and writes it.
    ///
    /// # Errors
    /// The program fails, or a target is not mapped.
    pub fn shade(&mut self) -> Result<(), Problem> {
        let quads = std::mem::take(&mut self.quads);
        let areas = std::mem::take(&mut self.areas);
        let covered = std::mem::take(&mut self.covered);
        if quads.is_empty() {
            return Ok(());
        }
        if self.state.resolves {
            return self.resolve(&quads, &areas);
        }
        if self.needs_no_program() {
            let samples = covered.iter().flat_map(|(samples, _)| samples);
            self.samples += samples.map(|samples| u64::from(samples.count_ones())).sum::<u64>();
            return Ok(());
        }
        self.invocations += quads.iter().map(|quad| u64::from(quad.mask.count_ones())).sum::<u64>();
        let values: Vec<Values> = quads
            .iter()
            .flat_map(|quad| (0..4).map(move |lane| (quad, lane)))
            .map(|(quad, lane)| {
                areas[quad.primitive as usize].values(quad.x + (lane & 1), quad.y + (lane >> 1))
            })
            .collect();
        let columns = self.columns(&quads, &covered, &areas, &values);
        let mut outputs = vec![vec![0u32; 16 * quads.len()]; self.interface.outputs.len()];
        let mut alive = vec![0; 4 * quads.len()];
        let mut batch = Batch::new(Work::Quads(&quads));
        batch.inputs = columns.iter().map(|column| Rows::from(&column[..])).collect();
        batch.outputs = outputs.iter_mut().map(|rows| RowsMut::from(&mut rows[..])).collect();
        batch.coverage = Some(&mut alive);
        let stage = Stage {
            name: "pixel",
            code: &self.state.pixel,
            shared: None,
            border_colors: self.state.border_colors,
            // Behind user data are the mask of primitives and, with WAVE_CNT_EN, a count.
            scratch: self.state.pixel.user_data.len() as u32 + 1 + (self.state.pixel.rsrc2 >> 7 & 1),
            scratch_ring: self.state.scratch_ring,
        };
        run(self.around, &stage, self.interface.clone(), &mut batch)?;
        self.write(&quads, &covered, &areas, &outputs, &alive)
    }

    /// Writes the means of the first target's samples to the second.
    fn resolve(&self, quads: &[Quad], areas: &[Area]) -> Result<(), Problem> {
        let [from, to] = &self.state.targets[..] else { return Ok(()) };
        for (quad, lane) in quads.iter().flat_map(|quad| (0..4).map(move |lane| (quad, lane))) {
            if quad.mask >> lane & 1 == 0 {
                continue;
            }
            let layer = areas[quad.primitive as usize].layer;
            let [x, y] = [quad.x + (lane & 1), quad.y + (lane >> 1)];
            let mean = from.mean(self.around.space, [x, y, layer])?;
            to.write(self.around.space, [x, y, layer, 0], [mean; 2])?;
        }
        Ok(())
    }

    /// Where in a pixel values are those of its sample, and of its centroid.
    fn positions(&self, lane: u32, (covered, first): ([u32; 4], u32)) -> [[f64; 2]; 2] {
        let samples = &self.state.samples;
        let covered = covered[lane as usize];
        let middle = [self.state.center; 2];
        let all = (1 << samples.count) - 1;
        let centroid = if covered & all == all || covered == 0 {
            middle
        } else {
            samples.position(lane, covered.trailing_zeros())
        };
        [if samples.runs > 1 { samples.position(lane, first) } else { middle }, centroid]
    }

    /// The rows of all inputs, in the order of the interface.
    fn columns(
        &self,
        quads: &[Quad],
        covered: &[([u32; 4], u32)],
        areas: &[Area],
        values: &[Values],
    ) -> Vec<Vec<u32>> {
        let mut columns: Vec<Vec<u32>> =
            self.state.attributes.iter().map(|control| self.attribute(*control, areas)).collect();
        let state = self.state;
        let pixels = || {
            let quads = quads.iter().zip(covered);
            quads.flat_map(|quad| (0..4).map(move |lane| (quad, lane))).zip(values)
        };
        let all_bits = state.barycentric >> 24 & 1 != 0;
        let half = if state.barycentric >> 20 & 1 != 0 { 0.0 } else { 0.5 };
        // POS_FLOAT_LOCATION
        let at_sample = state.barycentric >> 16 & 3 == 2 && state.samples.runs > 1;
        let several = state.samples.count > 1;
        for bit in (0..16).filter(|bit| state.inputs[0] >> bit & 1 != 0) {
            let mut column = Vec::with_capacity(values.len() * REGISTERS[bit as usize] as usize);
            for (((quad, covered), lane), value) in pixels() {
                let area = &areas[quad.primitive as usize];
                let (x, y) = (quad.x + (lane & 1), quad.y + (lane >> 1));
                let float = |value: f64| (value as f32).to_bits();
                let moved;
                let mut value = value;
                let [of_sample, centroid] =
                    if several { self.positions(lane, *covered) } else { [[half; 2]; 2] };
                if several && matches!(bit, 0 | 2 | 4 | 6 | 10) {
                    let position = if matches!(bit, 2 | 6) { centroid } else { of_sample };
                    moved = area.values_at(x, y, position);
                    value = &moved;
                }
                let position = if at_sample { of_sample } else { [half; 2] };
                match bit {
                    0..=2 => column.extend(value.perspective.map(float)),
                    3 => {
                        column.extend(value.perspective.map(|weight| float(weight * value.over_w)));
                        column.push(float(value.over_w));
                    }
                    4..=6 => column.extend(value.linear.map(float)),
                    8 => column.push(float(f64::from(x) + position[0])),
                    9 => column.push(float(f64::from(y) + position[1])),
                    10 => column.push(area.depth(value).to_bits()),
                    11 => column.push(float(1.0 / value.over_w)),
                    12 => column.push(match (area.is_front, all_bits) {
                        (false, _) if !all_bits => (-1.0f32).to_bits(),
                        (false, _) => 0,
                        (true, true) => u32::MAX,
                        (true, false) => 1.0f32.to_bits(),
                    }),
                    // The kind of primitive (triangles are 2), the sample, the layer.
                    13 => column.push(2 | (covered.1 & 15) << 8 | (area.layer & 0x7ff) << 16),
                    14 => column.push(covered.0[lane as usize]),
                    15 => column.push(x & 0xffff | y << 16),
                    _ => column.push(0),
                }
            }
            columns.push(column);
        }
        columns
    }

    /// The rows of an attribute, one for each area.
    fn attribute(&self, control: u32, areas: &[Area]) -> Vec<u32> {
        const ONE: u32 = 0x3f80_0000;
        let offset = control & 0x3f;
        let default = match control >> 8 & 3 {
            0 => [0, 0, 0, 0],
            1 => [0, 0, 0, ONE],
            2 => [ONE, ONE, ONE, 0],
            _ => [ONE; 4],
        };
        let is_flat = control >> 10 & 1 != 0 && self.state.interpolation & 1 != 0;
        let is_sprite = control >> 17 & 1 != 0 && self.state.interpolation >> 1 & 1 != 0;
        let mut rows = Vec::with_capacity(areas.len() * ATTRIBUTE_WORDS);
        for area in areas {
            let [first, second, third] = if offset & 0x20 != 0 {
                [default; 3]
            } else {
                area.corners.map(|vertex| self.exports.parameter(offset & 0x1f, vertex))
            };
            for n in 0..4 {
                if area.is_sprite {
                    rows.extend(if is_sprite { self.sprite(n as u32) } else { [first[n], 0, 0] });
                } else if is_flat {
                    rows.extend([first[n], 0, 0]);
                } else {
                    let start = f32::from_bits(first[n]);
                    let more = |word: u32| (f32::from_bits(word) - start).to_bits();
                    rows.extend([first[n], more(second[n]), more(third[n])]);
                }
            }
        }
        rows
    }

    /// What a point gives to a component of a coordinate that goes over it.
    fn sprite(&self, component: u32) -> [u32; 3] {
        const ONE: u32 = 0x3f80_0000;
        const MINUS_ONE: u32 = 0xbf80_0000;
        let from_top = self.state.interpolation >> 14 & 1 == 0;
        match (self.state.interpolation >> (2 + 3 * component) & 7, from_top) {
            (1, _) => [ONE, 0, 0],
            (2, _) => [0, ONE, 0],
            (3, true) => [0, 0, ONE],
            (3, false) => [ONE, 0, MINUS_ONE],
            _ => [0, 0, 0],
        }
    }

    /// Tests and writes the pixels that are left.
    fn write(
        &mut self,
        quads: &[Quad],
        covered: &[([u32; 4], u32)],
        areas: &[Area],
        outputs: &[Vec<u32>],
        alive: &[u8],
    ) -> Result<(), Problem> {
        let state = self.state;
        let formats = colors(state);
        let has_late_test = state.depth.is_used() && !state.depth.is_early();
        let pixels = quads.iter().zip(covered).flat_map(|quad| (0..4).map(move |lane| (quad, lane)));
        for (number, ((quad, (covered, _)), lane)) in pixels.enumerate() {
            if quad.mask >> lane & 1 == 0 || alive[number] == 0 {
                continue;
            }
            let row = |rows: &Vec<u32>| -> [u32; 4] { std::array::from_fn(|word| rows[4 * number + word]) };
            let of = |export: u32| {
                let export = export as usize;
                match (formats.get(export), outputs.get(export)) {
                    (Some((_, format)), Some(rows)) => texel(*format, row(rows)),
                    _ => [0; 4],
                }
            };
            let area = &areas[quad.primitive as usize];
            let mut samples = covered[lane as usize];
            let (mut depth, mut stencil) = (None, None);
            if let (Some(rows), true) = (outputs.get(formats.len()), state.depth_format != 0) {
                let exported = row(rows);
                // Stencil and coverage alone are in halves.
                let (stencil_word, mask_word) = match state.depth_format {
                    export::UINT_16 => (exported[0] >> 16, exported[1]),
                    _ => (exported[1], exported[2]),
                };
                if state.depth.shader & 1 != 0 {
                    let [low, high] = area.depths;
                    depth = Some(f32::from_bits(exported[0]).max(low).min(high));
                }
                if state.depth.shader >> 1 & 1 != 0 {
                    stencil = Some(stencil_word as u8);
                }
                // MASK_EXPORT_ENABLE
                if state.depth.shader >> 8 & 1 != 0 {
                    samples &= mask_word;
                }
            }
            if state.samples.alpha_to_mask {
                samples &= state.samples.of_alpha(f32::from_bits(of(0)[3]));
            }
            if has_late_test {
                samples = self.test(area, quad, lane, samples, Some((depth, stencil)))?;
            }
            self.samples += u64::from(samples.count_ones());
            if samples == 0 {
                continue;
            }
            let (x, y) = (quad.x + (lane & 1), quad.y + (lane >> 1));
            let count = state.samples.count;
            for target in &state.targets {
                let colors = [of(target.export), of(target.export + 1)];
                for sample in (0..count).filter(|sample| samples >> sample & 1 != 0) {
                    // Targets with more samples than are drawn get each several times, those with fewer get the first.
                    for stored in (sample..target.surface.samples()).step_by(count as usize) {
                        target.write(self.around.space, [x, y, area.layer, stored], colors)?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exported_colors() {
        let bits = [1.0f32, 0.5, 0.0, 1.0].map(f32::to_bits);
        assert_eq!(texel(9, bits), bits);
        assert_eq!(texel(export::GR, [1, 2, 3, 4]), [1, 2, 0, 0]);
        assert_eq!(texel(export::AR, [1, 2, 3, 4]), [1, 0, 0, 4]);
        assert_eq!(texel(export::FLOAT_16, [0x3800_3c00, 0x3c00_0000, 0, 0]), bits);
        assert_eq!(texel(export::UNORM_16, [0xffff, 0, 0, 0])[0], 1.0f32.to_bits());
        assert_eq!(texel(export::UINT_16, [0xffff_0001, 7, 0, 0]), [1, 0xffff, 7, 0]);
        assert_eq!(texel(export::SINT_16, [0xffff, 0, 0, 0])[0], u32::MAX);
    }
}

//! Geometry programs: the program before them leaves vertices in a ring in memory (before gfx9) or in LDS, they leave theirs in a second
//! ring, from which the vertex program exports them.

use super::launch::{Stage, run};
use super::registers::Registers;
use super::state::{Code, State};
use super::vertices::Vertex;
use super::{Around, Problem, Refused};
use crate::chip::Chip;
use warpjit_runtime::stage::{Batch, Emitted, InputPlace, Per, Rows, StageInput, StageInterface, Work};

/// Lanes of a wave.
const WAVE: usize = 64;
/// Scalar registers of gfx9's merged programs ahead of user data.
const SYSTEM: usize = 8;
/// That of them with the offset of scratch memory.
const MERGED_SCRATCH: u32 = 5;

/// What a draw does with geometry programs.
#[derive(Debug, Clone)]
pub(super) struct Geometry {
    /// The program of vertices; on gfx9 that of both, which has an address in its first registers.
    vertices: Code,
    address: [u32; 2],
    primitives: Option<Code>,
    /// Words of a vertex and of a primitive in their rings, and words of the rings.
    vertex_words: u32,
    primitive_words: u32,
    rings: [u64; 2],
    /// Words of a vertex that is emitted.
    emitted_words: u32,
    /// Most vertices that a thread emits, and threads of a primitive.
    most: u32,
    /// How often the program runs for each primitive.
    pub invocations: u32,
    /// The kind of primitives that go out, as VGT_PRIMITIVE_TYPE has them.
    pub kind: u32,
}

/// What geometry programs have emitted: for each vertex where it is in the ring; `None`: a strip ends.
pub(super) type Strips = Vec<Option<u32>>;

impl Geometry {
    /// By the registers.
    pub fn new(chip: &Chip, registers: Registers<'_>) -> Geometry {
        let gfx9 = chip.generation >= 9;
        let (vertices, primitives) = match gfx9 {
            true => (Code::merged(registers, 0xb210, 0xb228, 0xb330), None),
            false => (Code::new(registers, 0xb320, false), Some(Code::new(registers, 0xb220, false))),
        };
        let rings = if chip.generation == 6 { 0x88c8 } else { 0x3_0900 };
        let instances = registers.at(0x28b90);
        Geometry {
            vertices,
            address: [registers.at(0xb208), registers.at(0xb20c)],
            primitives,
            vertex_words: registers.at(0x28aac).max(1),
            primitive_words: registers.at(0x28ab0).max(1),
            // In 256 bytes.
            rings: [0, 4].map(|at| u64::from(registers.at(rings + at)) * 64),
            emitted_words: registers.at(0x28b5c).clamp(1, 1024),
            most: registers.at(0x28b38).clamp(1, 1024),
            invocations: if instances & 1 != 0 { (instances >> 2 & 0x7f).clamp(1, 64) } else { 1 },
            // Points, strips of lines and of triangles.
            kind: [1, 3, 6][(registers.at(0x28a6c) & 63).min(2) as usize],
        }
    }

    /// How many primitives of so many vertices can be under way at a time.
    pub fn most_primitives(&self, vertices: u32) -> Result<u32, Refused> {
        let waves = |ring: u64, words: u32| ring / (WAVE as u64 * u64::from(words));
        let of_vertices = match self.primitives {
            None => 1 << 16,
            Some(_) => waves(self.rings[0], self.vertex_words) * WAVE as u64 / u64::from(vertices.max(1)),
        };
        // On gfx9 a wave may have as few primitives as one.
        let threads = waves(self.rings[1], self.primitive_words)
            * if self.primitives.is_some() { WAVE as u64 } else { 1 };
        let most = of_vertices.min(threads / u64::from(self.invocations)).min(1 << 14) as u32;
        if most == 0 { Err(Refused("geometry programs with so small rings")) } else { Ok(most) }
    }

    /// Runs the programs over primitives of `each` vertices; `first` is the number of the first in the draw.
    ///
    /// # Errors
    /// What keeps them from running, or a fault.
    pub fn run(
        &self,
        around: &Around<'_>,
        state: &State,
        list: &[Vertex],
        each: usize,
        first: u32,
    ) -> Result<Strips, Problem> {
        let mut strips = Strips::new();
        if self.primitives.is_none() {
            return self.run_merged(around, state, list, each, first, strips);
        }
        let mut unique = list.to_vec();
        unique.sort_unstable();
        unique.dedup();
        self.run_vertices(around, state, &unique)?;
        let place = |vertex: &Vertex| {
            let number = unique.binary_search(vertex).unwrap_or(0);
            (number / WAVE * WAVE * self.vertex_words as usize + number % WAVE) as u32
        };
        let threads: Vec<[u32; 8]> = list
            .chunks_exact(each)
            .zip(first..)
            .flat_map(|(vertices, number)| {
                let number = state.number_of(vertices, number);
                let mut offsets = [0; 6];
                offsets.iter_mut().zip(vertices).for_each(|(offset, vertex)| *offset = place(vertex));
                let [a, b, c, d, e, f] = offsets;
                (0..self.invocations).map(move |invocation| [a, b, number, c, d, e, f, invocation])
            })
            .collect();
        let Some(code) = &self.primitives else { return Ok(strips) };
        for (wave, threads) in threads.chunks(WAVE).enumerate() {
            let start = wave * WAVE * self.primitive_words as usize;
            let code = code.with(around.card.chip(), &[4 * start as u32, wave as u32])?;
            let columns: Vec<Vec<u32>> =
                (0..8).map(|n| threads.iter().map(|thread| thread[n]).collect()).collect();
            self.run_threads(around, state, (&code, None), &columns, start, threads.len(), &mut strips)?;
        }
        Ok(strips)
    }

    /// Runs the program of vertices, which writes them to the first ring.
    fn run_vertices(&self, around: &Around<'_>, state: &State, vertices: &[Vertex]) -> Result<(), Problem> {
        let registers = (self.vertices.rsrc1 >> 24 & 3) + 1;
        for (wave, vertices) in vertices.chunks(WAVE).enumerate() {
            let start = (4 * wave * WAVE * self.vertex_words as usize) as u32;
            // Of an evaluation program first the offset of patches, and a word without a meaning.
            let more: &[u32] = if state.tessellation.is_some() { &[0, 0, start] } else { &[start] };
            let code = self.vertices.with(around.card.chip(), more)?;
            let columns = Vertex::columns(vertices);
            let interface = StageInterface {
                stage: warpjit_runtime::stage::Stage::Vertex,
                inputs: (0..registers)
                    .map(|n| StageInput { place: InputPlace::Register(n), words: 1, per: Per::Vertex })
                    .collect(),
                ..StageInterface::default()
            };
            let mut batch = Batch::new(Work::Vertices(vertices.len() as u32));
            let columns = columns[..registers as usize].iter();
            batch.inputs = columns.map(|column| Rows::from(&column[..])).collect();
            let stage = Stage {
                name: "export",
                code: &code,
                shared: None,
                border_colors: state.border_colors,
                scratch: code.user_data.len() as u32,
                scratch_ring: state.scratch_ring,
            };
            run(around, &stage, interface, &mut batch)?;
        }
        Ok(())
    }

    /// Runs a program of primitives for one wave, whose part of the second ring starts at a word, and adds what it emits.
    #[expect(clippy::too_many_arguments, reason = "a wave starts with all of these")]
    fn run_threads(
        &self,
        around: &Around<'_>,
        state: &State,
        (code, shared): (&Code, Option<u32>),
        columns: &[Vec<u32>],
        start: usize,
        threads: usize,
        strips: &mut Strips,
    ) -> Result<(), Problem> {
        // All launches have four registers; a program need not have all others.
        let has = ((code.rsrc1 & 63) + 1) as usize * 4;
        let columns = &columns[..columns.len().min(has)];
        let lanes = columns.first().map_or(0, Vec::len);
        let interface = StageInterface {
            stage: warpjit_runtime::stage::Stage::Geometry,
            vertices: 1,
            invocations: 1,
            max_vertices: self.most,
            inputs: (0..columns.len() as u32)
                .map(|n| StageInput { place: InputPlace::Register(n), words: 1, per: Per::Primitive })
                .collect(),
            ..StageInterface::default()
        };
        let most = self.most as usize;
        let (mut counts, mut cuts) = (vec![0; lanes], vec![0; lanes * most]);
        let mut batch = Batch::new(Work::Primitives(lanes as u32));
        batch.inputs = columns.iter().map(|column| Rows::from(&column[..])).collect();
        batch.emitted = Some(Emitted { counts: &mut counts, cuts: &mut cuts });
        let stage = Stage {
            name: "geometry",
            code,
            shared,
            border_colors: state.border_colors,
            scratch: if shared.is_some() { MERGED_SCRATCH } else { code.user_data.len() as u32 },
            scratch_ring: state.scratch_ring,
        };
        run(around, &stage, interface, &mut batch)?;
        for (lane, count) in counts.iter().enumerate().take(threads) {
            for vertex in 0..(*count as usize).min(most) {
                // Words of sixteen threads stand side by side, vertex by vertex.
                let sixteenth = lane / 16 * 16 * self.emitted_words as usize * most;
                strips.push(Some((start + sixteenth + 16 * vertex + lane % 16) as u32));
                if cuts[lane * most + vertex] != 0 {
                    strips.push(None);
                }
            }
            strips.push(None);
        }
        Ok(())
    }

    /// The same on gfx9: a wave has the vertices of its primitives, too, and they are in LDS.
    fn run_merged(
        &self,
        around: &Around<'_>,
        state: &State,
        list: &[Vertex],
        each: usize,
        first: u32,
        mut strips: Strips,
    ) -> Result<Strips, Problem> {
        // LDS_SIZE in 512 bytes.
        let shared = (self.vertices.rsrc2 >> 19 & 0xff) * 512;
        let words = self.vertex_words.max(1);
        let most_vertices = WAVE.min((shared / (4 * words)) as usize);
        let most_threads = WAVE / self.invocations as usize;
        let (mut rest, mut number, mut wave) = (list, first, 0);
        while rest.len() >= each {
            let mut vertices: Vec<Vertex> = Vec::new();
            let mut taken = 0;
            let mut threads: Vec<[u32; 5]> = Vec::new();
            while taken < most_threads && rest.len() >= each * (taken + 1) {
                let own = &rest[each * taken..each * (taken + 1)];
                let mut more = vertices.clone();
                let offsets: Vec<u32> = own
                    .iter()
                    .map(|vertex| {
                        let at = more.iter().position(|other| other == vertex).unwrap_or_else(|| {
                            more.push(*vertex);
                            more.len() - 1
                        });
                        at as u32 * words
                    })
                    .collect();
                if more.len() > most_vertices {
                    break;
                }
                vertices = more;
                let pair = |n: usize| {
                    offsets.get(n).copied().unwrap_or(0) | offsets.get(n + 1).copied().unwrap_or(0) << 16
                };
                let number = state.number_of(own, number + taken as u32);
                threads.extend(
                    (0..self.invocations).map(|invocation| [pair(0), pair(2), number, invocation, pair(4)]),
                );
                taken += 1;
            }
            if taken == 0 {
                return Err(Refused("geometry programs with so little LDS").into());
            }
            let start = wave * WAVE * self.primitive_words as usize;
            let info =
                vertices.len() as u32 | (threads.len() as u32) << 8 | (wave as u32 & 0xff) << 16 | 1 << 28;
            let mut system = [0; SYSTEM];
            system[..4].copy_from_slice(&[self.address[0], self.address[1], 4 * start as u32, info]);
            let code = self.vertices.behind(around.card.chip(), &system)?;
            let column =
                |n: usize| (0..WAVE).map(|lane| threads.get(lane).map_or(0, |thread| thread[n])).collect();
            let mut columns: Vec<Vec<u32>> = (0..5).map(column).collect();
            columns.extend(Vertex::columns(&vertices).map(|mut column| {
                column.resize(WAVE, 0);
                column
            }));
            self.run_threads(
                around,
                state,
                (&code, Some(shared)),
                &columns,
                start,
                threads.len(),
                &mut strips,
            )?;
            rest = &rest[each * taken..];
            number += taken as u32;
            wave += 1;
        }
        Ok(strips)
    }
}

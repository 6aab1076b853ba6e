//! Lays out the memory of Tesla's and Fermi's stage programs.
//!
//! In: the launch's interface (inputs, outputs) and what the program uses of it ([`Uses`]). Out: a [`Plan`], which says for each input,
//! output and system value at which address of a lane's local memory it is, or of shared memory for tessellation. The emitter
//! (`emit.rs`) reads it to make loads and stores, the launch to fill the inputs and collect the outputs.

use std::collections::BTreeSet;

use super::{InputSpace, LANES};
use crate::error::CodeError;
use crate::isa::Stage;
use crate::stage::{
    InputArea, InputPlace, LaneWord, MOST_STREAMS, OutputArea, OutputPlace, Per, StageInterface, StageLayout,
};

/// What a program uses of its stage.
#[derive(Default, Debug)]
pub(crate) struct Uses {
    /// Words that it reads, by space and byte address.
    pub(crate) words: BTreeSet<(InputSpace, u32)>,
    /// Spaces that it reads at computed addresses.
    pub(crate) computed: BTreeSet<InputSpace>,
    /// It evaluates planes.
    pub(crate) planes: bool,
    /// It discards fragments.
    pub(crate) discards: bool,
    /// It asks for the number of its thread.
    pub(crate) invocation: bool,
    /// Tessellation control: words of outputs, own and of the patch, that it reads.
    pub(crate) outputs: [BTreeSet<u32>; 2],
    /// Tessellation control: it reads them at computed addresses.
    pub(crate) outputs_computed: [bool; 2],
}

impl Uses {
    /// The program reads `words` words of a space, at an address or at a computed one.
    pub(crate) fn reads(&mut self, space: InputSpace, address: Option<u32>, words: u32) {
        match address {
            Some(address) => self.words.extend((0..words).map(|n| (space, (address & !3) + 4 * n))),
            None => drop(self.computed.insert(space)),
        }
    }

    /// The same of outputs of tessellation control; `patch`: of patch space.
    pub(crate) fn reads_output(&mut self, patch: bool, address: Option<u32>, words: u32) {
        let which = usize::from(patch);
        match address {
            Some(address) => self.outputs[which].extend((0..words).map(|n| (address & !3) + 4 * n)),
            None => self.outputs_computed[which] = true,
        }
    }
}

/// An input that the program reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    pub(super) space: InputSpace,
    /// Byte address of the first word in the space.
    pub(super) at: u32,
    pub(super) words: u32,
    /// Three floats a word.
    pub(super) plane: bool,
    /// Vertices that have words of it, where it depends on one.
    pub(super) vertices: Option<u32>,
    pub(super) area: InputArea,
}

impl Input {
    /// Whether a word is among its words.
    pub(super) fn holds(&self, space: InputSpace, address: u32) -> bool {
        self.space == space && address.wrapping_sub(self.at) < 4 * self.words
    }
}

/// Words of an output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    /// Byte address of the first word in the space, or number of the first register.
    pub(super) at: u32,
    pub(super) words: u32,
    /// Byte address in local memory.
    pub(super) start: u32,
}

/// Vertices that a geometry program has emitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub(super) start: u32,
    pub(super) stride: u32,
    pub(super) emitted: u32,
    pub(super) cuts: u32,
    /// With several streams, a word for each: the number of its vertex emitted last, from 1 on.
    pub(super) latest: Option<u32>,
}

/// A range of words of outputs in shared memory.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Span {
    /// Byte address of the first word in its space.
    pub(super) first: u32,
    /// End of the range.
    pub(super) end: u32,
    /// Byte address in shared memory.
    pub(super) start: u32,
}

/// Ends of Fermi's attribute and patch spaces.
const SPACE_END: u32 = 0x400;

/// Registers of a thread, at most.
const MOST_REGISTERS: u32 = 128;

/// Most bytes of a lane that emitted vertices may take.
const MOST_ROWS: u64 = 1 << 24;

/// Where the words of a lane are.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) interface: StageInterface,
    pub(crate) layout: StageLayout,
    /// Bytes of local memory of a lane, the guest's own included.
    pub(crate) local_bytes: u32,
    /// Bytes of shared memory.
    pub(crate) shared_bytes: u32,
    pub(super) inputs: Vec<Input>,
    /// Outputs in local memory, but for registers.
    pub(super) outputs: Vec<Output>,
    pub(super) registers: Vec<Output>,
    pub(super) rows: Option<Rows>,
    /// Tessellation control: own outputs of the lanes, outputs of the patches.
    pub(super) spans: [Span; 2],
    next: u32,
}

impl Plan {
    /// Gives everything a place, behind the guest's `local_bytes` of local memory. `apart`: words of vertices have a space of their
    /// own.
    pub(crate) fn new(
        interface: &StageInterface,
        uses: &Uses,
        local_bytes: u32,
        apart: bool,
    ) -> Result<Plan, CodeError> {
        check(interface)?;
        let mut plan = Plan {
            interface: interface.clone(),
            layout: StageLayout::default(),
            local_bytes: 0,
            shared_bytes: 0,
            inputs: Vec::new(),
            outputs: Vec::new(),
            registers: Vec::new(),
            rows: None,
            spans: [Span::default(); 2],
            next: local_bytes.next_multiple_of(16),
        };
        plan.lane_words(uses);
        plan.inputs(uses, apart)?;
        match interface.stage {
            Stage::TessControl => plan.shared_outputs(uses)?,
            Stage::Geometry => plan.emitted_rows()?,
            _ => plan.own_outputs()?,
        }
        plan.local_bytes = plan.next;
        Ok(plan)
    }

    /// Room for words of a lane.
    fn take(&mut self, words: u32) -> u32 {
        let start = self.next;
        self.next += 4 * words;
        start
    }

    /// Byte address of a lane word.
    pub(super) fn lane_word(&self, word: LaneWord) -> Option<u32> {
        self.layout.lane_words.iter().find(|(known, _)| *known == word).map(|(_, at)| *at)
    }

    fn lane_words(&mut self, uses: &Uses) {
        let stage = self.interface.stage;
        let fragment = stage == Stage::Fragment;
        let wanted = [
            (LaneWord::Present, true),
            (LaneWord::Covered, fragment),
            (LaneWord::PixelX, fragment && uses.planes),
            (LaneWord::PixelY, fragment && uses.planes),
            (LaneWord::Invocation, uses.invocation),
            (LaneWord::PatchInWarp, stage == Stage::TessControl),
        ];
        for (word, _) in wanted.into_iter().filter(|(_, wanted)| *wanted) {
            let at = self.take(1);
            self.layout.lane_words.push((word, at));
        }
        if fragment {
            let covered = self.lane_word(LaneWord::Covered);
            self.layout.alive = if uses.discards { Some(self.take(1)) } else { covered };
            if let (true, Some(alive)) = (uses.discards, self.layout.alive) {
                // All lanes with work write it first.
                self.layout.scratch.push(alive..alive + 4);
            }
        }
    }

    fn inputs(&mut self, uses: &Uses, apart: bool) -> Result<(), CodeError> {
        let stage = self.interface.stage;
        let many = matches!(stage, Stage::Geometry | Stage::TessControl | Stage::TessEval);
        for input in self.interface.inputs.clone() {
            let InputPlace::Address(at) = input.place else {
                return Err(CodeError::InputPlace { places: "at addresses" });
            };
            let space = InputSpace::of(&input, apart);
            let plane = input.per == Per::Plane;
            let vertices = (many && input.per == Per::Vertex).then_some(self.interface.vertices.max(1));
            let mut known = Input { space, at, words: input.words, plane, vertices, area: EMPTY };
            let is_read = uses.computed.contains(&space)
                || uses.words.iter().any(|&(space, address)| known.holds(space, address));
            if !is_read || input.words == 0 {
                self.layout.inputs.push(None);
                continue;
            }
            let word = if plane { 3 } else { 1 };
            let words = input.words * word;
            known.area = InputArea {
                start: self.take(words * vertices.unwrap_or(1)),
                word_stride: 4 * word,
                vertex_stride: 4 * words,
            };
            self.layout.inputs.push(Some(known.area));
            self.inputs.push(known);
        }
        let missing = uses
            .words
            .iter()
            .filter(|&&(space, address)| !self.inputs.iter().any(|input| input.holds(space, address)));
        self.layout.missing = missing.map(|&(_, address)| address).collect();
        Ok(())
    }

    /// The error for an output that is somewhere else than the stage's outputs.
    fn no_such_output(&self) -> CodeError {
        CodeError::NoOutput { stage: self.interface.stage.name() }
    }

    /// Outputs that stay in the lane.
    fn own_outputs(&mut self) -> Result<(), CodeError> {
        for output in self.interface.outputs.clone() {
            let start = self.take(output.words);
            let area = OutputArea { shared: false, start, word_stride: 4, row_stride: 0, written: None };
            self.layout.outputs.push(area);
            match output.place {
                OutputPlace::Address(at) => self.outputs.push(Output { at, words: output.words, start }),
                OutputPlace::Register(at) if self.interface.stage == Stage::Fragment => {
                    self.registers.push(Output { at, words: output.words, start });
                    // Lanes leave it where they end.
                    self.layout.scratch.push(start..start + 4 * output.words);
                }
                _ => return Err(self.no_such_output()),
            }
        }
        Ok(())
    }

    /// Outputs of the vertex being made, and rows of those that were emitted.
    fn emitted_rows(&mut self) -> Result<(), CodeError> {
        let most = self.interface.max_vertices;
        let mut stride = 0;
        let mut places = Vec::new();
        for output in self.interface.outputs.clone() {
            let OutputPlace::Address(at) = output.place else { return Err(self.no_such_output()) };
            let start = self.take(output.words);
            self.outputs.push(Output { at, words: output.words, start });
            places.push(stride);
            stride += 4 * output.words;
        }
        if u64::from(most) * u64::from(stride + 4) > MOST_ROWS {
            return Err(CodeError::EmittedBytes { vertices: most, bytes: stride, limit: MOST_ROWS });
        }
        let emitted = self.take(1);
        let cuts = self.take(most);
        let streams = self.interface.streams;
        let latest = (streams > 1).then(|| self.take(streams));
        let start = self.take(most * stride / 4);
        for at in places {
            let start = start + at;
            let area = OutputArea { shared: false, start, word_stride: 4, row_stride: stride, written: None };
            self.layout.outputs.push(area);
        }
        self.layout.emitted = Some(emitted);
        self.layout.cuts = Some(cuts);
        self.rows = Some(Rows { start, stride, emitted, cuts, latest });
        Ok(())
    }

    /// Outputs of tessellation control: word after word, in each one lane after the other; then those of patches.
    fn shared_outputs(&mut self, uses: &Uses) -> Result<(), CodeError> {
        let invocations = self.interface.invocations.max(1);
        let patches = LANES / invocations;
        self.layout.patches_per_warp = patches;
        let mut spans = [Span::default(); 2];
        for (which, span) in spans.iter_mut().enumerate() {
            let given = self.interface.outputs.iter().filter_map(|output| match output.place {
                OutputPlace::Address(at) if which == 0 => Some((at, at + 4 * output.words)),
                OutputPlace::Patch(at) if which == 1 => Some((at, at + 4 * output.words)),
                _ => None,
            });
            let read = uses.outputs[which].iter().map(|&at| (at, at + 4));
            let all = uses.outputs_computed[which].then_some((0, SPACE_END));
            let (first, end) =
                given.chain(read).chain(all).fold((u32::MAX, 0), |(first, end), (from, to)| {
                    (first.min(from), end.max(to.min(SPACE_END)))
                });
            (span.first, span.end) = (first.min(end), end);
        }
        let [own, patch] = &mut spans;
        let own_bytes = (own.end - own.first) * LANES;
        patch.start = own_bytes;
        self.shared_bytes = own_bytes + (patch.end - patch.first) * patches;
        self.spans = spans;
        let [own, patch] = spans;
        for output in self.interface.outputs.clone() {
            self.layout.outputs.push(match output.place {
                OutputPlace::Address(at) => OutputArea {
                    shared: true,
                    start: own.start + (at - own.first) * LANES,
                    word_stride: 4 * LANES,
                    row_stride: 4,
                    written: None,
                },
                OutputPlace::Patch(at) => OutputArea {
                    shared: true,
                    start: patch.start + (at - patch.first),
                    word_stride: 4,
                    row_stride: patch.end - patch.first,
                    written: None,
                },
                _ => return Err(self.no_such_output()),
            });
        }
        Ok(())
    }
}

const EMPTY: InputArea = InputArea { start: 0, word_stride: 4, vertex_stride: 0 };

/// Refuses sizes that no stage has.
fn check(interface: &StageInterface) -> Result<(), CodeError> {
    let &StageInterface { vertices, invocations, streams, .. } = interface;
    if streams > MOST_STREAMS {
        return Err(CodeError::VertexStreams { streams, limit: MOST_STREAMS });
    }
    if vertices > LANES || invocations > LANES {
        return Err(CodeError::Primitive { vertices, invocations, limit: LANES });
    }
    let inputs = interface.inputs.iter().map(|input| match input.place {
        InputPlace::Address(at) => (false, at, input.words, SPACE_END),
        _ => (false, 0, input.words, SPACE_END),
    });
    let outputs = interface.outputs.iter().map(|output| match output.place {
        OutputPlace::Address(at) | OutputPlace::Patch(at) => (true, at, output.words, SPACE_END),
        OutputPlace::Register(number) => (true, number.saturating_mul(4), output.words, 4 * MOST_REGISTERS),
        OutputPlace::Export(..) => (true, 0, output.words, SPACE_END),
    });
    for (is_output, at, words, end) in inputs.chain(outputs) {
        let inside = u64::from(at) + 4 * u64::from(words) <= end.into();
        if !at.is_multiple_of(4) || !inside {
            return Err(CodeError::StageRange { is_output, words, address: at });
        }
    }
    Ok(())
}

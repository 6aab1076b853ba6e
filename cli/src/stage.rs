//! Runs launch files of graphics stages: what a file says as an interface and a batch of the library.

use warpjit_runtime::stage::{self as stages, Batch, Emitted, Rows, RowsMut, StageInterface, Work};
use warpjit_runtime::{Engine, Error, Launch, Memory, Program, Report};

use crate::launch_file::{LaunchFile, StageLaunch, StageWork};

/// What the program of a launch file gives and takes.
pub fn interface(launch: &StageLaunch) -> StageInterface {
    let input = |input: &crate::launch_file::StageInput| stages::StageInput {
        place: input.place,
        words: input.words,
        per: input.per,
    };
    let output = |output: &crate::launch_file::StageOutput| stages::StageOutput {
        place: output.place,
        words: output.words,
    };
    StageInterface {
        stage: launch.stage,
        vertices: launch.vertices,
        invocations: launch.invocations,
        max_vertices: launch.max_vertices,
        streams: launch.streams,
        inputs: launch.inputs.iter().map(input).collect(),
        outputs: launch.outputs.rows.iter().map(output).collect(),
        ..StageInterface::default()
    }
}

/// Warps of a launch file's batch.
pub fn warps(stage: &StageLaunch, program: &Program) -> u64 {
    let lanes = u64::from(program.image().abi.warp_lanes).max(1);
    match &stage.work {
        StageWork::Count(count, _) if stage.stage == stages::Stage::TessControl => {
            let patches = program.image().stage.as_ref().map_or(1, |layout| layout.patches_per_warp);
            u64::from(count.div_ceil(patches.max(1)))
        }
        StageWork::Count(count, points) => {
            (u64::from(*count) * u64::from(*points) * u64::from(stage.invocations)).div_ceil(lanes)
        }
        StageWork::Quads(quads, _) => (quads.len() as u64 * 4).div_ceil(lanes),
        StageWork::Rect(rect) => (u64::from(rect.width) * u64::from(rect.height)).div_ceil(lanes),
    }
}

/// A buffer of the launch file that has rows of an output: its content before and after.
struct OutputBuffer {
    address: u64,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl OutputBuffer {
    fn read(memory: &Memory, address: u64, bytes: u64) -> Result<OutputBuffer, Error> {
        let mut before = vec![0; bytes as usize];
        memory.read(address, &mut before)?;
        Ok(OutputBuffer { address, after: before.clone(), before })
    }

    /// Puts what has changed into guest memory. The rest may have been stored to by the program itself.
    fn write(&self, memory: &Memory) -> Result<(), Error> {
        if self.before == self.after {
            return Ok(());
        }
        let mut now = vec![0; self.after.len()];
        memory.read(self.address, &mut now)?;
        for ((now, before), after) in now.iter_mut().zip(&self.before).zip(&self.after) {
            *now = if before == after { *now } else { *after };
        }
        memory.write(self.address, &now)
    }
}

/// Runs a launch file's batch once. `addresses` are those of its buffers.
pub fn run(
    file: &LaunchFile,
    stage: &StageLaunch,
    addresses: &[u64],
    (engine, program): (&Engine, &Program),
    memory: &Memory,
    launch: &Launch,
) -> Result<Report, Error> {
    let buffer = |index: usize| OutputBuffer::read(memory, addresses[index], file.buffers[index].bytes);
    let mut outputs =
        stage.outputs.rows.iter().map(|output| buffer(output.buffer)).collect::<Result<Vec<_>, Error>>()?;
    let mut coverage = stage.outputs.coverage.map(buffer).transpose()?;
    let mut emitted = stage.outputs.emitted.map(buffer).transpose()?;
    let words = |bytes: &[u8]| -> Vec<u32> {
        bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
    };
    let mut counts = emitted.as_ref().map_or(Vec::new(), |buffer| words(&buffer.before));
    let work = match &stage.work {
        StageWork::Count(count, points) => match stage.stage {
            stages::Stage::TessControl => Work::Patches(*count),
            stages::Stage::TessEval => Work::Points { patches: *count, points: *points },
            stages::Stage::Geometry => Work::Primitives(*count),
            _ => Work::Vertices(*count),
        },
        StageWork::Quads(quads, None) => Work::Quads(quads),
        StageWork::Quads(quads, Some(image)) => Work::Picture(quads, *image),
        StageWork::Rect(rect) => Work::Rect(*rect),
    };
    let lanes = match stage.work {
        StageWork::Count(count, points) => count as usize * points as usize * stage.invocations as usize,
        _ => 0,
    };
    let mut batch = Batch::new(work);
    batch.inputs = stage.inputs.iter().map(|input| Rows::new(&input.data)).collect();
    batch.outputs = outputs.iter_mut().map(|buffer| RowsMut::new(&mut buffer.after)).collect();
    batch.coverage = coverage.as_mut().map(|buffer| buffer.after.as_mut_slice());
    batch.emitted = emitted.is_some().then(|| {
        let (counts, cuts) = counts.split_at_mut(lanes);
        Emitted { counts, cuts }
    });
    let report = engine.run_stage(program, memory, launch, &mut batch);
    if let Some(buffer) = &mut emitted {
        let after = counts.iter().flat_map(|word| word.to_le_bytes());
        buffer.after.iter_mut().zip(after).for_each(|(byte, after)| *byte = after);
    }
    for buffer in outputs.iter().chain(&coverage).chain(&emitted) {
        buffer.write(memory)?;
    }
    report
}

//! Batches that own their arrays, for what runs later ([`crate::Submission::stage`]).

use super::{Batch, Emitted, Quad, Rect, Rows, RowsMut, Work};

/// What a stage runs over ([`Work`]), with arrays of its own.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum OwnedWork {
    /// [`Work::Vertices`].
    Vertices(u32),
    /// [`Work::Patches`].
    Patches(u32),
    /// [`Work::Points`].
    Points {
        /// Patches.
        patches: u32,
        /// Points of each.
        points: u32,
    },
    /// [`Work::Primitives`].
    Primitives(u32),
    /// [`Work::Quads`].
    Quads(Vec<Quad>),
    /// [`Work::Picture`].
    Picture(Vec<Quad>, Rect),
    /// [`Work::Rect`].
    Rect(Rect),
}

/// An array of rows ([`Rows`]).
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OwnedRows {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Bytes from row to row; 0: rows follow each other.
    pub stride: usize,
}

impl OwnedRows {
    /// Rows that follow each other.
    pub fn new(bytes: Vec<u8>) -> Self {
        OwnedRows { bytes, stride: 0 }
    }

    /// Rows that begin `stride` bytes after each other.
    pub fn every(self, stride: usize) -> Self {
        OwnedRows { stride, ..self }
    }
}

/// A [`Batch`] that owns its arrays.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OwnedBatch {
    /// How many of what.
    pub work: OwnedWork,
    /// [`Batch::inputs`].
    pub inputs: Vec<OwnedRows>,
    /// [`Batch::outputs`], each in an array of its own.
    pub outputs: Vec<OwnedRows>,
    /// [`Batch::coverage`].
    pub coverage: Option<Vec<u8>>,
    /// [`Batch::emitted`]: counts and cuts.
    pub emitted: Option<(Vec<u32>, Vec<u32>)>,
}

impl OwnedBatch {
    /// A batch without inputs and outputs.
    pub fn new(work: OwnedWork) -> Self {
        OwnedBatch { work, inputs: Vec::new(), outputs: Vec::new(), coverage: None, emitted: None }
    }

    /// Adds the rows of the next input.
    pub fn input(mut self, rows: OwnedRows) -> Self {
        self.inputs.push(rows);
        self
    }

    /// Adds the rows of the next output.
    pub fn output(mut self, rows: OwnedRows) -> Self {
        self.outputs.push(rows);
        self
    }

    /// Calls a function with the batch.
    pub fn with<T>(&mut self, run: impl FnOnce(&mut Batch<'_>) -> T) -> T {
        let work = match &self.work {
            OwnedWork::Vertices(count) => Work::Vertices(*count),
            OwnedWork::Patches(count) => Work::Patches(*count),
            OwnedWork::Points { patches, points } => Work::Points { patches: *patches, points: *points },
            OwnedWork::Primitives(count) => Work::Primitives(*count),
            OwnedWork::Quads(quads) => Work::Quads(quads),
            OwnedWork::Picture(quads, rect) => Work::Picture(quads, *rect),
            OwnedWork::Rect(rect) => Work::Rect(*rect),
        };
        let mut batch = Batch::new(work);
        batch.inputs = self.inputs.iter().map(|rows| Rows::new(&rows.bytes).every(rows.stride)).collect();
        batch.outputs = self
            .outputs
            .iter_mut()
            .map(|rows| match rows.stride {
                0 => RowsMut::new(&mut rows.bytes),
                stride => RowsMut::new(&mut rows.bytes).every(stride),
            })
            .collect();
        batch.coverage = self.coverage.as_deref_mut();
        batch.emitted = self.emitted.as_mut().map(|(counts, cuts)| Emitted { counts, cuts });
        run(&mut batch)
    }
}

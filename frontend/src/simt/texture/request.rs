//! [`Request`]: what a texture instruction asks for, as the constant of its device call.

/// Chips whose texture units read the same things differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    /// G80: word 7 of headers has no meaning.
    G80,
    /// G84 to GT218.
    Tesla,
    /// GF100 to GF119.
    Gf100,
    /// GK104: handles in place of slots.
    Gk104,
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    /// Filters.
    Sample,
    /// Reads a texel by integers.
    Fetch,
    /// One component of four texels.
    Gather,
    /// The level of detail.
    QueryLevel,
    /// Sizes and number of levels.
    QuerySize,
    /// What else a header or a sampler says.
    Query(Query),
    /// Face of a cube's direction, and the point on it.
    CubeFace,
}

/// What is asked of a header or a sampler, but for sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Query {
    /// Shape, type of the components, number of samples.
    Type,
    /// Where a sample is in a pixel.
    SamplePosition,
    /// Filters.
    Filter,
    /// Levels of detail.
    Level,
    /// Wrap modes.
    Wrap,
    /// The border's colour.
    Border,
}

/// Where a level of detail comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    /// The lowest: nothing says how coordinates change.
    Lowest,
    /// How the coordinates change.
    Changes,
    /// Zero.
    Zero,
    /// A source.
    Given,
}

/// What a texture instruction asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    pub(crate) family: Family,
    pub(crate) operation: Operation,
    pub(crate) level: Level,
    /// A source is added to the level.
    pub(crate) bias: bool,
    /// Texels are compared with a source (Fermi).
    pub(crate) shadow: bool,
    /// Words of offsets: 0, 1 or 2.
    pub(crate) offset_words: u8,
    /// The word with the layer names texture and sampler, too (GF100).
    pub(crate) indirect: bool,
    /// Component of a gather.
    pub(crate) component: u8,
    /// Sources in order (Tesla); the texture says what each is.
    pub(crate) sources: u8,
    /// The coordinates are a cube's direction (Tesla). If not, a cube array is read as an array of its faces.
    pub(crate) cube: bool,
    pub(crate) texture: u8,
    pub(crate) sampler: u8,
    /// Offsets in the instruction.
    pub(crate) offset: [i8; 3],
    /// A source names the sample that is fetched.
    pub(crate) samples: bool,
}

const FAMILIES: [Family; 4] = [Family::G80, Family::Tesla, Family::Gf100, Family::Gk104];
const OPERATIONS: [Operation; 12] = [
    Operation::Sample,
    Operation::Fetch,
    Operation::Gather,
    Operation::QueryLevel,
    Operation::QuerySize,
    Operation::CubeFace,
    Operation::Query(Query::Type),
    Operation::Query(Query::SamplePosition),
    Operation::Query(Query::Filter),
    Operation::Query(Query::Level),
    Operation::Query(Query::Wrap),
    Operation::Query(Query::Border),
];
const LEVELS: [Level; 4] = [Level::Lowest, Level::Changes, Level::Zero, Level::Given];

impl Request {
    /// A plain request of an operation.
    pub(crate) fn new(family: Family, operation: Operation) -> Request {
        Request {
            family,
            operation,
            level: Level::Lowest,
            bias: false,
            shadow: false,
            offset_words: 0,
            indirect: false,
            component: 0,
            sources: 0,
            cube: false,
            texture: 0,
            sampler: 0,
            offset: [0; 3],
            samples: false,
        }
    }

    /// As a number.
    pub(crate) fn encode(&self) -> u64 {
        let offset = self.offset.map(|offset| u64::from(offset as u8 & 15));
        let operation = OPERATIONS.iter().position(|&known| known == self.operation).unwrap_or(0) as u64;
        self.family as u64
            | (operation & 7) << 2
            | operation >> 3 << 44
            | u64::from(self.samples) << 43
            | (self.level as u64) << 5
            | u64::from(self.bias) << 7
            | u64::from(self.shadow) << 8
            | u64::from(self.indirect) << 9
            | u64::from(self.offset_words) << 10
            | u64::from(self.component) << 12
            | u64::from(self.sources) << 14
            | u64::from(self.texture) << 17
            | u64::from(self.sampler) << 25
            | offset[0] << 30
            | offset[1] << 34
            | offset[2] << 38
            | u64::from(self.cube) << 42
    }

    /// Of a number.
    pub(crate) fn decode(code: u64) -> Request {
        let field = |at: u32, bits: u32| (code >> at & ((1 << bits) - 1)) as u8;
        let offset = |at| (field(at, 4) << 4) as i8 >> 4;
        Request {
            family: FAMILIES[usize::from(field(0, 2))],
            operation: OPERATIONS
                .get(usize::from(field(2, 3) | field(44, 1) << 3))
                .copied()
                .unwrap_or(Operation::QuerySize),
            level: LEVELS[usize::from(field(5, 2))],
            bias: field(7, 1) != 0,
            shadow: field(8, 1) != 0,
            indirect: field(9, 1) != 0,
            offset_words: field(10, 2),
            component: field(12, 2),
            sources: field(14, 3),
            cube: field(42, 1) != 0,
            texture: field(17, 8),
            sampler: field(25, 5),
            offset: [offset(30), offset(34), offset(38)],
            samples: field(43, 1) != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let plain = Request::new(Family::Gk104, Operation::CubeFace);
        let all = Request {
            level: Level::Given,
            bias: true,
            shadow: true,
            offset_words: 2,
            indirect: true,
            component: 3,
            sources: 4,
            cube: true,
            texture: 0xfe,
            sampler: 31,
            offset: [-8, 7, -1],
            samples: true,
            ..plain
        };
        for request in [plain, all, Request::new(Family::G80, Operation::Sample)] {
            assert_eq!(Request::decode(request.encode()), request);
        }
        for operation in OPERATIONS {
            let request = Request { operation, ..all };
            assert_eq!(Request::decode(request.encode()), request);
        }
    }
}

//! Lane patterns: what is known of a slot's values over the lanes of a chunk ([`Shape`]), and for how many lanes it is known
//! ([`SlotShape`]).
//!
//! The runtime reads patterns from frames and gives them to the generators as assumptions of compiled code. With a pattern, code keeps one
//! scalar where it would keep a vector.

/// Lanes of a vector of the widest kind.
pub(crate) const VECTOR_LANES: u32 = 16;

/// The *lane pattern* of a slot at the entry of the region: how its value depends on the lane.
///
/// The caller has checked it in every chunk that has an active lane, for all lanes of the chunk. With
/// [`crate::Options::wide_vectors`] it is the pattern within each 16-lane vector of the chunk, and [`crate::Options::apart`] relates
/// consecutive vectors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// The same in all lanes.
    Uniform,
    /// An i32 with this stride from lane to lane, modulo 2^32.
    Affine(i32),
    /// Two packed 16-bit coordinates: as `Affine`, in inactive lanes too, and the low 16 bits never carry into the high
    /// ones within a chunk.
    Packed(i32),
    /// 2-D affine, as thread coordinates in blocks that are 4 or 8 wide:
    /// `first + (lane % lanes) * step + (lane / lanes) * apart`, modulo 2^32. With `packed`, `apart` is a multiple of
    /// 2^16, the low 16 bits never carry into the high ones, and these never overflow.
    Lines {
        /// Lanes of a row, 4 or 8.
        lanes: u8,
        /// Difference from lane to lane within a row.
        step: i32,
        /// Difference from row to row.
        apart: i32,
        /// Two packed coordinates.
        packed: bool,
    },
    /// All bits are ones: -1, or a mask that holds in all lanes. The region has been cut and optimised for this already
    /// ([`warpjit_ir::regions::SlotFacts::ones`]).
    Ones,
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Shape::Uniform => f.write_str("uniform"),
            Shape::Affine(step) => write!(f, "affine {step}"),
            Shape::Packed(step) => write!(f, "packed {step}"),
            Shape::Lines { lanes, step, apart, packed } => {
                let packed = if *packed { "packed " } else { "" };
                write!(f, "{packed}lines of {lanes}, {step} from lane to lane, {apart} from line to line")
            }
            Shape::Ones => f.write_str("all ones"),
        }
    }
}

impl Shape {
    /// The difference between consecutive 16-lane vectors, if the pattern holds over all of their lanes.
    pub(crate) fn apart(self) -> i32 {
        match self {
            Shape::Uniform | Shape::Ones => 0,
            Shape::Affine(step) | Shape::Packed(step) => step.wrapping_mul(VECTOR_LANES as i32),
            Shape::Lines { lanes, apart, .. } => apart.wrapping_mul(VECTOR_LANES as i32 / i32::from(lanes)),
        }
    }
}

/// The lane pattern of a slot, with the parts of a warp in which it holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SlotShape {
    /// The pattern, within each part or within each 16-lane vector of it.
    pub shape: Shape,
    /// Lanes of a part.
    pub lanes: u32,
    /// If the pattern only holds within each 16-lane vector: the difference between consecutive vectors of a part. For
    /// [`Shape::Packed`] it is a multiple of 2^16, and the sum never wraps.
    pub apart: Option<i32>,
}

impl SlotShape {
    /// A pattern that holds in each part of `lanes` lanes.
    pub fn new(shape: Shape, lanes: u32) -> SlotShape {
        SlotShape { shape, lanes, apart: None }
    }

    /// A pattern that holds within each 16-lane vector, with the given difference between consecutive vectors of a
    /// part.
    pub fn apart(shape: Shape, lanes: u32, apart: i32) -> SlotShape {
        match apart == shape.apart() {
            true => SlotShape::new(shape, lanes),
            false => SlotShape { shape, lanes, apart: Some(apart) },
        }
    }

    /// The difference between consecutive 16-lane vectors in chunks of `chunk_lanes` lanes, if known
    /// ([`crate::Options::apart`]).
    pub fn apart_in(self, chunk_lanes: u32) -> Option<i32> {
        (self.lanes >= chunk_lanes).then(|| self.apart.unwrap_or(self.shape.apart()))
    }

    /// Whether the pattern holds over whole chunks of `chunk_lanes` lanes.
    pub fn is_whole(self, chunk_lanes: u32) -> bool {
        self.lanes >= chunk_lanes && self.apart.is_none()
    }

    /// The strongest pattern that both imply.
    pub fn meet(self, other: SlotShape) -> Option<SlotShape> {
        let shape = match (self.shape, other.shape) {
            (a, b) if a == b => a,
            (Shape::Affine(a) | Shape::Packed(a), Shape::Affine(b) | Shape::Packed(b)) if a == b => {
                Shape::Affine(a)
            }
            _ => return None,
        };
        let lanes = self.lanes.min(other.lanes);
        if (self.apart, other.apart) == (None, None) {
            return Some(SlotShape::new(shape, lanes));
        }
        Some(match (self.apart_in(lanes), other.apart_in(lanes)) {
            (Some(a), Some(b)) if a == b => SlotShape::apart(shape, lanes, a),
            _ => SlotShape::new(shape, lanes.min(VECTOR_LANES)),
        })
    }
}

impl std::fmt::Display for SlotShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SlotShape { shape, lanes, apart } = self;
        match (apart, lanes) {
            (Some(apart), _) => {
                write!(
                    f,
                    "{shape} over {VECTOR_LANES} lanes, each {apart} more than those before over {lanes}"
                )
            }
            // A slot of uniform type.
            (None, 1) => write!(f, "{shape}"),
            (None, _) => write!(f, "{shape} over {lanes} lanes"),
        }
    }
}

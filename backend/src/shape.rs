//! What is known of a slot's values in the lanes of a chunk.

/// Lanes of a vector of the widest kind.
pub(crate) const VECTOR_LANES: u32 = 16;

/// What the caller knows of a slot's values at the entry of the region, and has checked: in all lanes of each chunk that has an active
/// one; with [`Options::wide_vectors`] in each sixteen lanes of it; [`Options::apart`] says what these have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// The same in all lanes.
    Uniform,
    /// An i32 that grows by so much from lane to lane, modulo 2^32.
    Affine(i32),
    /// As `Affine` in all lanes of each chunk with an active lane, active or not, and the low 16 bits never carry into
    /// the high ones within a chunk: two packed coordinates.
    Packed(i32),
    /// Each `lanes` lanes, 8 or 4, grow by `step` from lane to lane, and each of these has `apart` more than the one before, all modulo 2^32.
    /// With `packed`, `apart` is a multiple of 2^16, and the low 16 bits never carry into the high ones, nor those out.
    Lines {
        /// Lanes of a line.
        lanes: u8,
        /// From lane to lane.
        step: i32,
        /// From line to line.
        apart: i32,
        /// Two packed coordinates.
        packed: bool,
    },
    /// Nothing but ones: -1, or a truth value that holds. Code is made of it before it comes here
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
    /// What each sixteen lanes have more than those before them where it is the shape of all these lanes.
    pub(crate) fn apart(self) -> i32 {
        match self {
            Shape::Uniform | Shape::Ones => 0,
            Shape::Affine(step) | Shape::Packed(step) => step.wrapping_mul(VECTOR_LANES as i32),
            Shape::Lines { lanes, apart, .. } => apart.wrapping_mul(VECTOR_LANES as i32 / i32::from(lanes)),
        }
    }
}

/// The shape of a slot in parts of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SlotShape {
    /// The shape, of each part or of each sixteen lanes of it.
    pub shape: Shape,
    /// Lanes of a part.
    pub lanes: u32,
    /// Where the shape is that of each sixteen lanes only: what each of them has more than the sixteen before, within a part. Of
    /// [`Shape::Packed`] it is a multiple of 2^16, and the sum never wraps.
    pub apart: Option<i32>,
}

impl SlotShape {
    /// A shape that each part of so many lanes has.
    pub fn new(shape: Shape, lanes: u32) -> SlotShape {
        SlotShape { shape, lanes, apart: None }
    }

    /// A shape that each sixteen lanes have, of which those of one part have each so much more than the one before.
    pub fn apart(shape: Shape, lanes: u32, apart: i32) -> SlotShape {
        match apart == shape.apart() {
            true => SlotShape::new(shape, lanes),
            false => SlotShape { shape, lanes, apart: Some(apart) },
        }
    }

    /// What each sixteen lanes have more than those before in chunks of so many lanes, if that is known ([`Options::apart`]).
    pub fn apart_in(self, chunk_lanes: u32) -> Option<i32> {
        (self.lanes >= chunk_lanes).then(|| self.apart.unwrap_or(self.shape.apart()))
    }

    /// Whether it is the shape of whole chunks of so many lanes.
    pub fn is_whole(self, chunk_lanes: u32) -> bool {
        self.lanes >= chunk_lanes && self.apart.is_none()
    }

    /// What two have in common.
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
            // A uniform slot has one value for all lanes.
            (None, 1) => write!(f, "{shape}"),
            (None, _) => write!(f, "{shape} over {lanes} lanes"),
        }
    }
}

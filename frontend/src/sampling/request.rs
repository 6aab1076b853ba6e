//! [`Request`]: what an instruction asks a texture for, and where the lanes' arguments are.

use warpjit_texture::sample::CubeCoordinates;

/// Where an argument is: in words of a lane's mailbox.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Input {
    /// The request has none: 0.
    #[default]
    None,
    /// A word.
    Word(u8),
    /// The same bits in all lanes.
    Bits(u32),
    /// Bits of a word.
    Field {
        /// The word.
        word: u8,
        /// The lowest bit.
        low: u8,
        /// Their number, 1 to 32.
        bits: u8,
        /// The highest is a sign.
        signed: bool,
    },
    /// The float in a word, and a number added to it.
    Sum(u8, i8),
    /// The difference of two such floats: `to - from`, after the number was added to both.
    Change {
        /// Word.
        to: u8,
        /// Word.
        from: u8,
        /// Added.
        add: i8,
    },
    /// The integer nearest to the float in a word, of two the even one; 0 of what is negative or no number.
    Rounded(u8),
    /// Of such an integer the face (three bits, 5 at most) and above them the number of a cube, as `6 * cube + face`.
    Face(u8),
}

/// Where the level of detail comes from: [`warpjit_texture::sample::Lod`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Level {
    /// The lowest.
    #[default]
    Lowest,
    /// It is given: a float, but the number of the level of a fetch.
    Given(Input),
    /// By the changes of coordinates along x and along y of the screen.
    Changes([[Input; 3]; 2]),
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Filters.
    Sample,
    /// Reads a texel by integers.
    Fetch,
    /// One component of the four texels of a linear filter.
    Gather {
        /// Which of the results of a sample.
        component: u8,
        /// Offsets along x and y of each.
        offsets: Option<[[Input; 2]; 4]>,
    },
}

/// Where results go.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Results {
    /// The word of the first.
    pub first: u8,
    /// Which of the four there are; they go to words one after the other.
    pub mask: u8,
    /// Whether the word behind them becomes 0.
    pub zero_behind: bool,
}

/// A request of a texture instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// Lanes of a warp, 32 or 64.
    pub lanes: u8,
    /// What is done.
    pub action: Action,
    /// Coordinates: floats, but integers of a fetch.
    pub at: [Input; 3],
    /// Layer.
    pub layer: Input,
    /// What texels are compared with.
    pub reference: Input,
    /// Level of detail.
    pub level: Level,
    /// Added to it.
    pub bias: Input,
    /// It is at least this.
    pub clamp: Input,
    /// Texels that are added to coordinates: integers from -128 to 127.
    pub offset: [Input; 3],
    /// What the coordinates of a cube are.
    pub cube: CubeCoordinates,
    /// Where results go.
    pub results: Results,
}

impl Request {
    /// A request without arguments, whose results go to the first words.
    pub fn new(lanes: u8, action: Action) -> Request {
        Request {
            lanes,
            action,
            at: [Input::None; 3],
            layer: Input::None,
            reference: Input::None,
            level: Level::Lowest,
            bias: Input::None,
            clamp: Input::None,
            offset: [Input::None; 3],
            cube: CubeCoordinates::Direction,
            results: Results { first: 0, mask: 15, zero_behind: false },
        }
    }
}

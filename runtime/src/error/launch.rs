//! Why a launch is refused.

use super::Error;
use super::kinds::Axis;
use warpjit_frontend::error_kinds;

error_kinds! {
    /// What is wrong with the rows of an array of a batch.
    RowsError {
        /// Too few rows.
        #[error("has {found} rows of {row} bytes, the batch needs {wanted}")]
        TooFewRows {
            /// Rows that there are.
            found: u64,
            /// Bytes of a row.
            row: usize,
            /// Rows that the batch needs.
            wanted: u64,
        },
        /// The rows are too narrow.
        #[error("a row of {row} bytes, there are {width}")]
        NarrowRows {
            /// Bytes that are written.
            row: usize,
            /// Bytes that there are.
            width: usize,
        },
        /// The rows overlap.
        #[error("rows of {row} bytes that are {stride} bytes apart")]
        OverlappingRows {
            /// Bytes of a row.
            row: usize,
            /// Bytes from one to the next.
            stride: usize,
        },
    }
}

error_kinds! {
    /// Why a launch is refused.
    LaunchError {
        /// Another number of arguments than the kernel takes.
        #[error("too {} arguments: {name} takes {wanted}, these are {found}", if found < wanted { "few" } else { "many" })]
        ArgumentCount {
            /// The program's name.
            name: String,
            /// How many it takes.
            wanted: usize,
            /// How many were given.
            found: usize,
        },
        /// An argument of another size.
        #[error("argument {number} has {found} bytes, {name} takes {wanted} there")]
        ArgumentSize {
            /// The program's name.
            name: String,
            /// Which argument, from 0.
            number: usize,
            /// Bytes that it takes.
            wanted: u32,
            /// Bytes that were given.
            found: usize,
        },
        /// An alignment that an argument cannot have.
        #[error("argument {number}: alignment {align} is not a power of two up to 64")]
        ArgumentAlign {
            /// Which argument, from 0.
            number: usize,
            /// The alignment.
            align: usize,
        },
        /// Arguments that point to shared memory, of a kernel whose arguments are there.
        #[error("{name} takes no pointers to shared memory")]
        SharedPointers {
            /// The program's name.
            name: String,
        },
        /// More bytes of arguments than the chip has room for.
        #[error("arguments take {bytes} bytes, there is room for {limit}")]
        ArgumentBytes {
            /// How many.
            bytes: usize,
            /// The most.
            limit: u32,
        },
        /// Changed arguments of a prepared launch, beyond those that it has.
        #[error("{bytes} bytes of arguments at {offset}, {limit} bytes were prepared")]
        PreparedArguments {
            /// Where they begin.
            offset: usize,
            /// How many.
            bytes: usize,
            /// Bytes that the launch has.
            limit: usize,
        },
        /// Arguments of a graphics stage.
        #[error("{name} is of a graphics stage, which takes no arguments")]
        StageArguments {
            /// The program's name.
            name: String,
        },
        /// More user data than the program takes.
        #[error("{found} words of user data, {name} takes {limit}")]
        UserData {
            /// The program's name.
            name: String,
            /// Words that were given.
            found: usize,
            /// The most.
            limit: usize,
        },
        /// Changed user data of a prepared launch, beyond what the program takes.
        #[error("user data up to word {end}, the program takes {limit}")]
        PreparedUserData {
            /// The word after the last one.
            end: usize,
            /// Words that the program takes.
            limit: usize,
        },
        /// A word of user data for which the program was not loaded.
        #[error("word {number} of user data is {found:#x}, {name} was loaded for {wanted:#x}")]
        UserDataWord {
            /// The program's name.
            name: String,
            /// Which word.
            number: u8,
            /// Its value.
            found: u32,
            /// The value for which the program was loaded.
            wanted: u32,
        },
        /// No such const bank.
        #[error("const bank c{bank}[]: there are {limit}, 0 to {}", .limit - 1)]
        NoConstBank {
            /// Its number.
            bank: u32,
            /// How many there are.
            limit: usize,
        },
        /// More bytes than a const bank has.
        #[error("const bank c{bank}[]: {bytes} bytes, largest is {limit}")]
        ConstBytes {
            /// Its number.
            bank: u32,
            /// Bytes up to the last one.
            bytes: usize,
            /// The most.
            limit: usize,
        },
        /// A const bank that describes the windows of the launch.
        #[error("const bank c{bank}[]: describes the windows of this launch")]
        ConstOfWindows {
            /// Its number.
            bank: u32,
        },
        /// A size of grid or block that the chip does not allow.
        #[error("{what} {size:?}: {found} {unit} along {axis}, allowed are 1 to {limit}")]
        Size {
            /// `grid` or `block`.
            what: &'static str,
            /// What it consists of.
            unit: &'static str,
            /// The whole size.
            size: [u32; 3],
            /// The axis.
            axis: Axis,
            /// The size along it.
            found: u32,
            /// The most.
            limit: u32,
        },
        /// A grid with a start that ends beyond what the chip allows.
        #[error("grid {grid:?} from {start:?} on ends at {end} along {axis}, allowed are {limit}")]
        GridEnd {
            /// The grid.
            grid: [u32; 3],
            /// Its start.
            start: [u32; 3],
            /// The axis.
            axis: Axis,
            /// Where it ends.
            end: u64,
            /// The most.
            limit: u32,
        },
        /// More threads along an axis than the guest can count.
        #[error("grid {grid:?}: {threads} threads along {axis}, allowed are {limit}")]
        GridThreads {
            /// The grid.
            grid: [u32; 3],
            /// The axis.
            axis: Axis,
            /// Threads along it.
            threads: u64,
            /// The most.
            limit: u32,
        },
        /// A range of blocks that the grid does not have.
        #[error("blocks {start}..{end} of a grid of {total}")]
        Blocks {
            /// The first one.
            start: u64,
            /// The one after the last.
            end: u64,
            /// Blocks of the grid.
            total: u64,
        },
        /// More threads of a block than the chip allows.
        #[error("block {block:?} has {threads} threads, the chip allows {limit}")]
        BlockThreads {
            /// The block's size.
            block: [u32; 3],
            /// Its threads.
            threads: u64,
            /// The most.
            limit: u32,
        },
        /// Last blocks that are larger than the others.
        #[error("the last blocks along {axis} have {found} threads, all others {limit}")]
        LastBlock {
            /// The axis.
            axis: Axis,
            /// Threads of the last blocks along it.
            found: u32,
            /// Threads of the others.
            limit: u32,
        },
        /// A program that needs more than the chip has.
        #[error("{name} needs {found} {unit} {what}, the chip has {limit}")]
        Resource {
            /// The program's name.
            name: String,
            /// Of what.
            what: &'static str,
            /// In which unit.
            unit: &'static str,
            /// How much it needs.
            found: u64,
            /// The most.
            limit: u32,
        },
        /// More bytes for shared memory than the launch has.
        #[error("{found} bytes for shared memory, there are {limit}")]
        SharedBytes {
            /// Bytes that were given.
            found: usize,
            /// Bytes of shared memory.
            limit: usize,
        },
        /// A register that the program does not have.
        #[error("register {name}: the program has no such register")]
        NoRegister {
            /// The register's name.
            name: String,
        },
        /// A value with more bits than the register.
        #[error("register {name}: {value:#x} has more than {bits} bits")]
        RegisterBits {
            /// The register's name.
            name: String,
            /// The value.
            value: u64,
            /// Bits of the register.
            bits: u32,
        },
        /// A value that the register cannot have.
        #[error("register {name}: {value:#x} is more than {limit:#x}")]
        RegisterValue {
            /// The register's name.
            name: String,
            /// The value.
            value: u64,
            /// The most.
            limit: u64,
        },
        /// Another number of values than a register has.
        #[error(
            "register {name}: {found} values, {}",
            if *.lanes == 1 { "a scalar register has one".to_owned() } else { format!("needs one or one a lane ({lanes})") }
        )]
        RegisterCount {
            /// The register's name.
            name: String,
            /// How many were given.
            found: usize,
            /// Lanes that have one each; 1 for a scalar register.
            lanes: u32,
        },
        /// A ring of scratch that has not room for one block.
        #[error("the {segment} has room for {found} warps, a block has {wanted}")]
        RingWarps {
            /// The ring.
            segment: &'static str,
            /// Warps that it has room for.
            found: u32,
            /// Warps of a block.
            wanted: u32,
        },
        /// A ring of scratch whose parts are too small.
        #[error("{name} needs {wanted} bytes of scratch a warp, its ring has {found}")]
        RingBytes {
            /// The program's name.
            name: String,
            /// Bytes of a warp.
            wanted: u32,
            /// Bytes that the ring has for one.
            found: u32,
        },
        /// A program with scratch, of a launch that does not say how it is shared out.
        #[error("{name} uses scratch: the launch has to say how it is shared out")]
        NoRing {
            /// The program's name.
            name: String,
        },
        /// A segment of the launch's own memory cannot be mapped.
        #[error("no room for the {segment}: {source}")]
        Segment {
            /// The segment.
            segment: &'static str,
            /// Why.
            source: Box<Error>,
        },
        /// The launch has memory of its own, and the embedder maps the space by itself.
        #[error(
            "the launch provides the {segment}, which cannot be mapped in a space that the embedder maps by itself"
        )]
        SegmentOfEmbedder {
            /// The segment.
            segment: &'static str,
        },
        /// No such window.
        #[error("global space g{window}[]: there are {limit}, 0 to {}", .limit - 1)]
        NoWindow {
            /// Its number.
            window: u32,
            /// How many there are.
            limit: usize,
        },
        /// A window that is given twice.
        #[error("global space g{window}[]: is given twice")]
        WindowTwice {
            /// Its number.
            window: u32,
        },
        /// A window that 32-bit addresses do not reach.
        #[error("global space g{window}[]: {bytes:#x} bytes at {address:#x} are beyond 32-bit addresses")]
        WindowBeyond {
            /// Its number.
            window: u32,
            /// Where it begins.
            address: u64,
            /// Its size.
            bytes: u64,
        },
        /// A tile mode that there is not.
        #[error("global space g{window}[]: tile mode {found}, largest is {limit}")]
        TileMode {
            /// The window's number.
            window: u32,
            /// The mode.
            found: u32,
            /// The most.
            limit: u32,
        },
        /// A pitch that tiles do not have.
        #[error("global space g{window}[]: pitch {pitch} is not a multiple of {align}")]
        TilePitch {
            /// The window's number.
            window: u32,
            /// The pitch.
            pitch: u32,
            /// What it must be a multiple of.
            align: u32,
        },
        /// A tiled window of a size that does not fit.
        #[error("global space g{window}[]: {width} by {height} is more than the pitch or 65536 allow")]
        TiledSize {
            /// The window's number.
            window: u32,
            /// Its width.
            width: u32,
            /// Its height.
            height: u32,
        },
        /// A tiled window with more rows than its buffer.
        #[error("global space g{window}[]: {rows} rows of {pitch} bytes are more than the {limit} bytes of its buffer")]
        TiledRows {
            /// The window's number.
            window: u32,
            /// Its rows, with those that fill the last tile.
            rows: u64,
            /// Bytes of a row.
            pitch: u32,
            /// Bytes of the buffer.
            limit: u64,
        },
        /// A grid of a graphics stage's program.
        #[error("a {stage} program runs over a batch, not over a grid")]
        NeedsBatch {
            /// The stage's name.
            stage: &'static str,
        },
        /// A batch of a compute program.
        #[error("a compute program runs over a grid, not over a batch")]
        NeedsGrid,
        /// A saved launch of a graphics stage.
        #[error("a program of a graphics stage cannot be continued")]
        StageResumed,
        /// A batch that may be saved.
        #[error("a batch of a graphics stage cannot be saved")]
        StageSaved,
        /// Registers of several warps.
        #[error("registers can be captured of one warp only")]
        CapturedWarps,
        /// Shared memory of several blocks.
        #[error("shared memory can be captured of one block only")]
        CapturedBlocks,
        /// A launch that may be saved, of a program whose blocks depend on one another.
        #[error("{name} passes values between its blocks, so it cannot be saved")]
        PassesValues {
            /// The program's name.
            name: String,
        },
        /// A launch that may be saved, with last blocks of another size.
        #[error("a launch with last groups of another size cannot be saved")]
        SavedParts,
        /// A launch that cannot be prepared.
        #[error("a launch that may be saved, or with last blocks of another size, cannot be prepared")]
        NotPreparable,
        /// A change of a prepared launch that runs.
        #[error("the prepared launch is running")]
        PreparedRuns,
        /// A rectangle that quads do not fill.
        #[error("a rectangle of {width} by {height} pixels at ({x}, {y}): all four are even, and it is not empty")]
        Rect {
            /// Its left side.
            x: u32,
            /// Its upper side.
            y: u32,
            /// Its width.
            width: u32,
            /// Its height.
            height: u32,
        },
        /// Patches without points.
        #[error("patches without points")]
        NoPoints,
        /// A quad at an odd place, or whose mask has too many bits.
        #[error("quad {number} at ({x}, {y}) with mask {mask:#x}: its place is even, and the mask has four bits")]
        Quad {
            /// Which one.
            number: usize,
            /// Its column.
            x: u32,
            /// Its row.
            y: u32,
            /// Its mask.
            mask: u32,
        },
        /// A quad outside of the picture.
        #[error("quad {number} at ({x}, {y}) is outside of the picture, {width} by {height} pixels at ({left}, {top})")]
        QuadOutside {
            /// Which one.
            number: usize,
            /// Its column.
            x: u32,
            /// Its row.
            y: u32,
            /// The picture's left side.
            left: u32,
            /// The picture's upper side.
            top: u32,
            /// The picture's width.
            width: u32,
            /// The picture's height.
            height: u32,
        },
        /// A batch of something else than the stage works on.
        #[error("a batch of {what} for a {stage} program")]
        BatchKind {
            /// What it is of.
            what: &'static str,
            /// The program's stage.
            stage: &'static str,
        },
        /// A batch that is too large.
        #[error("a batch of {found} lanes, there may be {limit}")]
        BatchLanes {
            /// Its lanes.
            found: u64,
            /// The most.
            limit: u64,
        },
        /// Another number of arrays than the interface has.
        #[error(
            "a batch of {inputs} inputs and {outputs} outputs, the program has {wanted_inputs} and {wanted_outputs}"
        )]
        BatchArrays {
            /// Inputs that were given.
            inputs: usize,
            /// Outputs that were given.
            outputs: usize,
            /// Inputs of the program.
            wanted_inputs: usize,
            /// Outputs of the program.
            wanted_outputs: usize,
        },
        /// An array whose rows do not fit.
        #[error("{of}: {source}")]
        Rows {
            /// Which array.
            of: String,
            /// What is wrong with it.
            source: RowsError,
        },
        /// An array for what the stage does not have.
        #[error("{what} of a {stage} program")]
        NotOfStage {
            /// What it is for.
            what: &'static str,
            /// The stage's name.
            stage: &'static str,
        },
        /// Too few bytes for the coverage.
        #[error("coverage has {found} bytes for {wanted} pixels")]
        Coverage {
            /// Bytes that there are.
            found: usize,
            /// Pixels of the batch.
            wanted: u64,
        },
        /// Too small arrays for emitted vertices.
        #[error("{counts} counts and {cuts} flags of emitted vertices, there are {lanes} lanes and {rows} rows")]
        Emitted {
            /// Counts that there are.
            counts: u64,
            /// Flags that there are.
            cuts: u64,
            /// Lanes of the batch.
            lanes: u64,
            /// Rows of the batch.
            rows: u64,
        },
        /// More words of a pixel than a picture has.
        #[error("{found} words of a pixel in a picture, there may be {limit}")]
        PictureWords {
            /// Words of an output.
            found: u32,
            /// The most.
            limit: u32,
        },
    }
}

//! Why a front end refuses a program.

use crate::{Chip, Isa};

crate::error_kinds! {
    /// Why a front end refuses a program: its code, where that lies, what its options and headers say of it.
    CodeError {
        /// This build has no front end for the instruction set.
        #[error("this build leaves {isa} out (cargo feature `{isa}`)")]
        IsaLeftOut {
            /// The instruction set.
            isa: Isa,
        },
        /// No chip has that name.
        #[error("{}", no_chip(*isa, name, known))]
        UnknownChip {
            /// The instruction set that it should have, if one was given.
            isa: Option<Isa>,
            /// The name.
            name: String,
            /// The chips that there are; those of each instruction set, if none was given.
            known: Vec<String>,
        },
        /// The container has code for a chip with other instructions.
        #[error("the code is for {found}, {requested} has other instructions")]
        OtherInstructions {
            /// The container's chip.
            found: Chip,
            /// The chip of the options.
            requested: Chip,
        },
        /// No listing is written in that syntax.
        #[error("{isa} has no syntax {syntax}; syntaxes: {}", known.join(" "))]
        UnknownSyntax {
            /// The instruction set.
            isa: Isa,
            /// The syntax.
            syntax: String,
            /// Those that there are.
            known: Vec<String>,
        },

        /// Code that does not fit behind its base, or begins within a word.
        #[error("{bytes:#x} bytes of code cannot begin at {base:#x}")]
        Base {
            /// Bytes of code.
            bytes: usize,
            /// Where they begin.
            base: u32,
        },
        /// The entry is no instruction of the code.
        #[error("entry {entry:#x} is no instruction of the {bytes:#x} bytes of code{}", from(*base))]
        Entry {
            /// The entry.
            entry: u32,
            /// Bytes of code.
            bytes: usize,
            /// Where they begin.
            base: u32,
        },
        /// The instruction set has no code in guest memory.
        #[error("{isa} has no code in guest memory")]
        NotInMemory {
            /// The instruction set.
            isa: Isa,
        },
        /// An entry that is not in its code segment.
        #[error("entry {entry:#x} is not in the 4 GiB from {segment:#x} on")]
        OutsideSegment {
            /// Guest address of the first instruction.
            entry: u64,
            /// Guest address of the segment.
            segment: u64,
        },
        /// An entry where no instruction can begin.
        #[error("entry {entry:#x} is not at a multiple of {align}")]
        MisalignedEntry {
            /// Guest address of the first instruction.
            entry: u64,
            /// What instructions are aligned to, in bytes.
            align: u32,
        },
        /// Guest memory has no code at the entry.
        #[error("no code can be read at {entry:#x}")]
        UnreadableEntry {
            /// Guest address of the first instruction.
            entry: u64,
        },
        /// The code is in more ranges that are far apart than positions can tell apart.
        #[error("the code is in more than {limit} ranges that are far apart")]
        CodeRanges {
            /// The most ranges.
            limit: usize,
        },
        /// Device variables take more memory than there is for them.
        #[error("device variable `{name}` of {bytes:#x} bytes does not fit in the {limit:#x} bytes for variables")]
        Variable {
            /// The variable's name.
            name: String,
            /// Its size.
            bytes: u32,
            /// Bytes for all variables.
            limit: u64,
        },

        /// A shader program header that is cut.
        #[error("a shader program header has {required} bytes, there are {found}")]
        HeaderBytes {
            /// Bytes of a header.
            required: usize,
            /// Bytes there are.
            found: usize,
        },
        /// A shader program header of no stage.
        #[error("a shader program header of kind {kind}, stage {stage}: there is none")]
        HeaderStage {
            /// The kind that it says: 1 vertices, 2 pixels.
            kind: u32,
            /// The number of the stage that it says.
            stage: u32,
        },

        /// A graphics stage for a kernel of a code object.
        #[error("programs of graphics stages are raw code")]
        StageOfKernel,
        /// A compute program with the interface of a stage.
        #[error("a compute program has no inputs and outputs of a stage")]
        ComputeInterface,
        /// Too many vertex streams.
        #[error("there are {limit} vertex streams at most, not {streams}")]
        VertexStreams {
            /// How many.
            streams: u32,
            /// The most.
            limit: u32,
        },
        /// Too many vertices or threads of a primitive.
        #[error("{vertices} vertices and {invocations} threads are too many: there can be {limit} of each")]
        Primitive {
            /// Vertices of a primitive.
            vertices: u32,
            /// Threads of a primitive.
            invocations: u32,
            /// The most of each.
            limit: u32,
        },
        /// A geometry program that emits too many vertices.
        #[error("a geometry program emits {limit} vertices at most, not {vertices}")]
        EmittedVertices {
            /// How many.
            vertices: u32,
            /// The most.
            limit: u32,
        },
        /// What a geometry program emits takes too much memory.
        #[error("{vertices} vertices of {bytes} bytes are too many")]
        EmittedBytes {
            /// The most vertices that it emits.
            vertices: u32,
            /// Bytes of each.
            bytes: u32,
            /// The most bytes of all, with a word for each vertex.
            limit: u64,
        },
        /// An input that is not where the instruction set has inputs.
        #[error("inputs of this instruction set are {places}")]
        InputPlace {
            /// Where they are.
            places: &'static str,
        },
        /// An output that is not where the instruction set has outputs.
        #[error("outputs of this instruction set are {places}")]
        OutputPlace {
            /// Where they are.
            places: &'static str,
        },
        /// An output that the stage does not have.
        #[error("{stage} programs have no such output")]
        NoOutput {
            /// The stage's name.
            stage: &'static str,
        },
        /// An input or output where there is none, or that is too long.
        #[error("no {} can have {words} words at {address:#x}", if *is_output { "output" } else { "input" })]
        StageRange {
            /// Whether it is an output.
            is_output: bool,
            /// Words of it.
            words: u32,
            /// Where it begins.
            address: u32,
        },
        /// An input in registers that the program does not have.
        #[error("an input is in the {count} registers from v{first} on, the program has {vgprs}")]
        InputRegisters {
            /// The first VGPR.
            first: u32,
            /// How many.
            count: u32,
            /// VGPRs of the program.
            vgprs: u32,
        },
        /// An attribute that no program has.
        #[error("there is no attribute {attribute}")]
        Attribute {
            /// Its number.
            attribute: u32,
        },
        /// An export that no program has.
        #[error("there is no export {target} of {words} words")]
        Export {
            /// The target.
            target: String,
            /// Words of it.
            words: u32,
        },

        /// Only one of RSRC1 and RSRC2.
        #[error("rsrc1 and rsrc2 go together, only one is given")]
        OneRsrc,
        /// Known user data, and nothing that says how much user data there is.
        #[error("known user data is given without rsrc2, which says how many words there are")]
        UserDataWithoutRsrc,
        /// A word of user data is known that is not loaded.
        #[error("word {word} of user data is known, rsrc2 {rsrc2:#x} loads {users}")]
        KnownUserData {
            /// The word's number.
            word: u8,
            /// RSRC2.
            rsrc2: u32,
            /// Words that it loads.
            users: u32,
        },
        /// An option that RSRC1 or RSRC2 says, too.
        #[error("{name} is given beside {by}, which says it")]
        GivenTwice {
            /// The option.
            name: &'static str,
            /// What says it.
            by: &'static str,
        },
        /// More scratch than a lane can have.
        #[error("local is {bytes}, a lane has at most {limit} bytes of scratch")]
        Scratch {
            /// Bytes of a lane.
            bytes: u32,
            /// The most.
            limit: u32,
        },
        /// A size of scratch, and RSRC2 says that there is none.
        #[error("local is given, and rsrc2 {rsrc2:#x} enables no scratch")]
        NoScratch {
            /// RSRC2.
            rsrc2: u32,
        },
        /// Scratch of a stage without a register for its offset.
        #[error("rsrc2 {rsrc2:#x} enables scratch, the interface has no register for its offset")]
        ScratchOffset {
            /// RSRC2.
            rsrc2: u32,
        },
        /// A register for the offset of scratch that a wave does not have.
        #[error("s{register} has the offset of scratch, a wave has {sgprs} SGPRs")]
        ScratchRegister {
            /// The register.
            register: u8,
            /// SGPRs of a wave.
            sgprs: u32,
        },
        /// More SGPRs than a wave can have.
        #[error("{} wants {sgprs} SGPRs, {generation} has {limit}", said_by(kernel, *rsrc1))]
        Sgprs {
            /// The kernel whose descriptor says so; `None`: the options do.
            kernel: Option<String>,
            /// RSRC1.
            rsrc1: u32,
            /// SGPRs of a wave.
            sgprs: u32,
            /// The generation of chips.
            generation: String,
            /// The most SGPRs.
            limit: u32,
        },
        /// FP16_OVFL, which clamps results of 16-bit floats.
        #[error("{} sets FP16_OVFL, which is not supported", said_by(kernel, *rsrc1))]
        Fp16Overflow {
            /// The kernel whose descriptor says so; `None`: the options do.
            kernel: Option<String>,
            /// RSRC1.
            rsrc1: u32,
        },
        /// RSRC2 wants more user SGPRs than there are.
        #[error("rsrc2 {rsrc2:#x} wants {users} user SGPRs, {of} has {limit}")]
        UserSgprs {
            /// RSRC2.
            rsrc2: u32,
            /// User SGPRs.
            users: u32,
            /// What has them: a dispatch or a stage.
            of: &'static str,
            /// The most.
            limit: u32,
        },
        /// More SGPRs are loaded at the start than a wave has.
        #[error("rsrc2 {rsrc2:#x} loads {loaded} SGPRs, rsrc1 {rsrc1:#x} gives a wave {sgprs}")]
        LoadedSgprs {
            /// RSRC1.
            rsrc1: u32,
            /// RSRC2.
            rsrc2: u32,
            /// SGPRs that are loaded.
            loaded: u32,
            /// SGPRs of a wave.
            sgprs: u32,
        },
        /// A kernel's descriptor wants more user SGPRs set up than it has room for.
        #[error("kernel {kernel}: its descriptor wants {users} user SGPRs set up and has room for {limit}")]
        DescriptorUserSgprs {
            /// The kernel.
            kernel: String,
            /// User SGPRs.
            users: u32,
            /// The most.
            limit: u32,
        },
        /// A kernel's descriptor wants more SGPRs set up than a wave has.
        #[error("kernel {kernel}: its descriptor wants {loaded} SGPRs set up and gives a wave {sgprs}")]
        DescriptorSgprs {
            /// The kernel.
            kernel: String,
            /// SGPRs that are loaded.
            loaded: u32,
            /// SGPRs of a wave.
            sgprs: u32,
        },
    }
}

fn no_chip(isa: Option<Isa>, name: &str, known: &[String]) -> String {
    match isa {
        Some(isa) => format!("{isa} has no chip {name}; chips: {}", known.join(" ")),
        None => format!("{name:?} is no chip; there are {}", known.join("; ")),
    }
}

fn said_by(kernel: &Option<String>, rsrc1: u32) -> String {
    match kernel {
        Some(kernel) => format!("kernel {kernel}: its descriptor"),
        None => format!("rsrc1 {rsrc1:#x}"),
    }
}

fn from(base: u32) -> String {
    if base == 0 { String::new() } else { format!(" from {base:#x} on") }
}

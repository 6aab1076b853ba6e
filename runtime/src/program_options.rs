//! What loading a program needs besides its bytes.

use warpjit_frontend::{Chip, Isa, StageInterface};

/// What [`crate::Program::load`] needs besides the bytes. Containers contain most of it.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProgramOptions {
    /// Instruction set.
    pub isa: Isa,
    /// Chip; needed where the container does not name one. [`Chip::parse`] and [`Isa::chip`] read names.
    pub chip: Option<Chip>,
    /// Whether to read the bytes as raw code, even if they look like a container.
    pub raw: bool,
    /// Which kernel of the container; may be left out if there is just one.
    pub kernel: Option<String>,
    /// Raw code: byte offset of the first instruction.
    pub entry: u32,
    /// Raw code: registers of a thread.
    pub registers: Option<u32>,
    /// Raw code with scalar registers: how many.
    pub sgprs: Option<u32>,
    /// Raw code: bytes of shared memory of a block.
    pub shared: Option<u32>,
    /// Raw code: bytes of local memory of a thread.
    pub local: Option<u32>,
    /// Raw GCN code: COMPUTE_PGM_RSRC1. With it and `rsrc2` the program starts as the hardware would start it, in a
    /// grid of any size. They replace `registers`, `sgprs` and `shared`. Without them no registers are set up.
    pub rsrc1: Option<u32>,
    /// Raw GCN code: COMPUTE_PGM_RSRC2. It says how many words of [`crate::Launch::user_data`] there are. If it enables
    /// scratch, the launch must give [`crate::Launch::scratch_ring`], or `local` the bytes of a lane.
    pub rsrc2: Option<u32>,
    /// Raw GCN code with `rsrc2`: words of user data that are the same in all launches, as (number, word). A jump to an address in them,
    /// as a vertex program calls its fetch shader, is followed when the program is loaded. A launch with another word is an error.
    pub known_user_data: Vec<(u8, u32)>,
    /// Raw GCN code with `rsrc2`, before 1.4: whether the program knows where LDS and scratch are among flat addresses
    /// ([`warpjit_frontend::gcn::abi::SHARED_APERTURE`], [`warpjit_frontend::gcn::abi::PRIVATE_APERTURE`]), as HSA's queues tell. Otherwise
    /// all flat addresses are global, which is faster. From 1.4 on every program knows.
    pub flat_apertures: bool,
    /// [`crate::Program::load_at`] on GCN: guest addresses of functions. Jumps to addresses that are not known when the program is loaded
    /// (virtual calls, pointers to functions) may lead to them, besides the addresses that the code itself computes.
    pub jump_targets: Vec<u64>,
    /// [`crate::Program::load_at`] on GCN: the global data share and its barriers and semaphores are memory that the embedder has mapped at
    /// [`warpjit_frontend::gcn::abi::GDS_ADDRESS`], and not of a launch. So they keep what they hold from launch to launch.
    pub data_share_given: bool,
    /// [`crate::Program::load_at`] on Tesla and Fermi: guest address of the stage's code segment, which absolute targets count from. `None`: it
    /// begins where the program does.
    pub segment: Option<u64>,
    /// [`crate::Program::load_at`] on Tesla and Fermi: how many bytes belong to the program, from its entry on, if that is known. Branches to
    /// addresses that are computed may lead to any instruction among them. Without it they are an `illegal` fault.
    pub code_bytes: Option<u32>,
    /// Raw code of Tesla and Fermi: address of the first byte in the stage's code segment. `entry`, absolute targets and the addresses of
    /// faults are addresses in the segment.
    pub base: u32,
    /// Raw Fermi code: a launch writes nothing into c0[].
    pub c0_given: bool,
    /// GK104: the const bank whose words are texture handles; 15 if none is named.
    pub texture_handles: Option<u8>,
    /// Raw code: inputs and outputs, if it is a program of a graphics stage.
    pub stage: Option<StageInterface>,
}

crate::setters::setters! {
    ProgramOptions {
        isa: Isa,
        chip: Option<Chip>,
        raw: bool,
        kernel: Option<String>,
        entry: u32,
        registers: Option<u32>,
        sgprs: Option<u32>,
        shared: Option<u32>,
        local: Option<u32>,
        rsrc1: Option<u32>,
        rsrc2: Option<u32>,
        known_user_data: Vec<(u8, u32)>,
        flat_apertures: bool,
        jump_targets: Vec<u64>,
        data_share_given: bool,
        segment: Option<u64>,
        code_bytes: Option<u32>,
        base: u32,
        c0_given: bool,
        texture_handles: Option<u8>,
        stage: Option<StageInterface>,
    }
}

impl ProgramOptions {
    /// Options for a container that says everything itself.
    pub fn new(isa: Isa) -> Self {
        ProgramOptions {
            isa,
            chip: None,
            raw: false,
            kernel: None,
            entry: 0,
            registers: None,
            sgprs: None,
            shared: None,
            local: None,
            rsrc1: None,
            rsrc2: None,
            known_user_data: Vec::new(),
            flat_apertures: false,
            jump_targets: Vec::new(),
            data_share_given: false,
            segment: None,
            code_bytes: None,
            base: 0,
            c0_given: false,
            texture_handles: None,
            stage: None,
        }
    }
}

//! The SSA IR of warpjit. Frontends lift guest code to it, passes optimise it, the interpreter runs it and the backend compiles
//! it.
//!
//! It has two forms (`docs/ir.md`). In *SPMD form* a branch may depend on the lane, the guest's divergence instructions are
//! terminators, and guest registers are slots ([`function::SlotData`]). In *mask form* every branch is uniform, and every effect
//! names the mask that it happens under.
//!
//! The crate knows no guest ISA and no host.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod abi;
pub mod analysis;
pub mod builder;
pub mod device;
pub mod entities;
pub mod function;
pub mod graph;
pub mod interp;
pub mod lane_counts;
pub mod lines;
pub mod meter;
pub mod opcodes;
pub mod passes;
pub mod pure;
pub mod regions;
pub mod text;
pub mod types;
pub mod verify;
pub mod word_table;

pub use abi::{Builtin, HeaderField, KernelAbi, ParamSpace, Segment, SegmentSize, USER_WORDS, WarpRing};
pub use builder::Builder;
pub use device::{DeviceAccess, DeviceCall, DeviceFault, DeviceFn, DeviceSite, ServeAt, TextureTables};
pub use entities::{Block, Inst, Slot, Value};
pub use function::{
    BarrierSpec, BlockCall, Form, Function, GuestFault, Imm, InstData, LeaveKind, PushKind, SlotInit,
    Terminator,
};
pub use meter::{Budget, Meter, Stopped};
pub use opcodes::{AtomicOp, FloatCC, Group, IntCC, MemAccess, Opcode, Space};
pub use pure::{PureFn, Special};
pub use types::{Scalar, Type};
pub use word_table::WordTable;

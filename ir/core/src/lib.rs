//! What a kernel is in warpjit: the SSA form that front ends lift guest code to.
//!
//! A [`Function`] is a kernel or a lane region, in one of two forms (`docs/ir.md`). In *SPMD form* a branch may depend on the lane, the
//! guest's divergence instructions are terminators, and guest registers are slots ([`function::SlotData`]). In *mask form* every
//! branch is uniform, and every effect names the mask that it happens under.
//!
//! Here are its types and its text ([`text`]), the rules that it must keep ([`verify`]), what each operation computes ([`eval`]), and
//! the analyses and passes that serve any function ([`analysis`], [`passes`]). The crates `warpjit-ir-interp` and `warpjit-ir-regions`
//! build on it. None of them depends on a crate that knows a guest or a host.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod abi;
pub mod analysis;
pub mod builder;
pub mod device;
pub mod entities;
pub mod eval;
pub mod exit;
pub mod function;
pub mod graph;
pub mod lane_counts;
pub mod meter;
pub mod opcodes;
pub mod passes;
pub mod pure;
pub mod text;
pub mod traffic;
pub mod types;
pub mod verify;
pub mod word_table;

pub use abi::{Builtin, HeaderField, KernelAbi, ParamSpace, Segment, SegmentSize, USER_WORDS, WarpRing};
pub use builder::Builder;
pub use device::{DeviceAccess, DeviceCall, DeviceFault, DeviceFn, DeviceSite, ServeAt, TextureTables};
pub use entities::{Block, Inst, Slot, Value};
pub use function::{
    Args, BarrierSpec, BlockCall, Form, Function, GuestFault, Imm, InstData, LeaveKind, PushKind, SlotInit,
    Terminator,
};
pub use meter::{Budget, Meter, Stopped};
pub use opcodes::{AtomicOp, FloatCC, Group, IntCC, MemAccess, Opcode, Reach, Space};
pub use pure::{PureFn, Special};
pub use types::{Scalar, Type};
pub use word_table::WordTable;

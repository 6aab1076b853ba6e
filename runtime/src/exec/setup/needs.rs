//! What a kernel needs of a launch.

use warpjit_frontend::image::RegisterAlias;
use warpjit_ir::KernelAbi;

use crate::ConstPart;

/// What a kernel needs, from its container or from the options of raw code.
#[derive(Debug, Clone)]
pub struct Needs<'a> {
    /// Name for messages.
    pub name: &'a str,
    /// The chip's interface and limits.
    pub abi: &'a KernelAbi,
    /// Registers of a thread.
    pub registers: u32,
    /// Shared memory of its own.
    pub shared_bytes: u32,
    /// Local memory of a thread.
    pub local_bytes: u32,
    /// Offset and bytes of each parameter, from the start of all, if the container says.
    pub params: Option<&'a [(u32, u32)]>,
    /// What the container puts in const banks.
    pub consts: &'a [ConstPart],
    /// The bank in which the container's contents override the launch's.
    pub compiler_bank: Option<u32>,
    /// Registers that do not correspond to one slot each.
    pub aliases: &'a [RegisterAlias],
    /// Words of user data that the code depends on.
    pub known_user_data: &'a [(u8, u32)],
}
